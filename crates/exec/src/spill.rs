//! Rows that do not fit into memory: their bytes, and how they are kept, sorted and parted on disk.
//!
//! - `encoding`: rows as bytes and back.
//! - `store`: rows in their order, in memory or behind it.
//! - `sorter`: the external merge sort.
//! - `numbers`: numbers in their order, each once.
//! - `partitions`: rows parted by the hash of their keys.
//! - `records`: lists of records of one size, for searches.
//! - `pages`, `nodes`: tables of nodes, for searches.
//!
//! Invariant: what goes through a temporary file comes back as it was; an operator that spills gives the rows that it
//! gives in memory.

mod encoding;
mod nodes;
mod numbers;
mod pages;
mod partitions;
mod records;
mod sorter;
mod store;

pub(crate) use encoding::{decode, encode};
pub(crate) use nodes::{NodeNumbers, NodeSet, PagedNodes};
pub(crate) use numbers::SortedNumbers;
pub(crate) use partitions::{LEVELS_MAX, Partition, Partitions};
pub(crate) use records::{Record, Records};
pub(crate) use sorter::{Sorted, Sorter, in_order};
pub(crate) use store::{RowStore, StoredRows};

/// Bytes of a block of a temporary file: a share of the limit, within reason.
pub(crate) fn block_bytes(limit: usize) -> usize {
    (limit / 64).clamp(4 << 10, 256 << 10)
}
