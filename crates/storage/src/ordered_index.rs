//! Ordered indexes: the nodes of a label, or the edges of a type, in the order of their values of some properties.
//!
//! An entry is a row of bytes, and entries are ordered as bytes are: the values in an order-preserving form, then the
//! node, or the two ends of the edge (edge ids change when edges are merged, so an index cannot keep them). See
//! [`encoding`]. An index is the entries of the memtable over a list of *runs*, each of which says which entries came
//! and which went since the one before.
//!
//! - [`encoding`]: entries as bytes, and questions as ranges of bytes.
//! - [`run`]: an immutable run: blocks of entries that share prefixes, and the first key of each block in memory.
//! - [`write`]: writing runs. [`sort`]: ordering entries within a budget. [`merge`]: reading of several runs at once.
//! - [`build`]: a whole index from what is there.
//!
//! Invariant: of nodes exactly those that have the label and all the properties are in the index; an entry of an edge
//! says that at least one such edge runs between the two nodes, which the caller looks up.
//! Cost: finding a place is a binary search in memory and the reading of one block for each run.

pub(crate) mod entries;
pub(crate) mod merge;
pub mod run;
pub mod sort;
pub mod write;

pub use model::codec::ordered as encoding;
pub use run::{OrderedEntry, OrderedRun};

#[cfg(test)]
mod tests;
