//! Building the files of a new version by external sort: from an import, or from the changes of a memtable.
//!
//! - [`load`]: the two phases of an import, nodes and edges.
//! - [`rewrite`]: merging the changes of a memtable.
//! - [`resolve`]: from the keys of nodes to their ids.
//! - [`buffer`], [`sort`], [`run`]: edges unsorted, sorted, spilled, merged.
//! - [`edges`]: the edge half of that: a new partition, and patches.
//! - [`built`]: what was built and is to be installed.
//! - [`follow`]: a build brought up to what was committed meanwhile.
//! - [`order`]: edges in the order of a sort key, sorted and merged.
//! - [`partitions`], [`indexes`]: the files of edges and of unique keys.

pub mod buffer;
pub mod built;
pub mod edges;
pub mod follow;
pub mod indexes;
pub mod load;
pub mod order;
pub mod partitions;
pub mod resolve;
pub mod rewrite;
pub mod run;
pub mod sort;
mod stored_keys;

pub use crate::build::OnDuplicate;
pub use built::Built;
pub use load::{BulkLoad, EdgeLoader, EdgeRows, KeyRows, NodeRows, NodesAdded, RowError};
pub use rewrite::{Changes, EdgePropertyChange, NewEdgeRows, NodeChange, build, rewrite};

#[cfg(test)]
pub(crate) mod tests;
