//! The native engine: partitioned adjacency lists, property columns, write-ahead log, snapshots.
//!
//! Modules in reading order:
//! - [`format`]: constants of the file format, and how an edge id names a place.
//! - [`error`]: what can go wrong, precisely.
//! - [`os`]: the real disk, clock and randomness; the only file that touches them.
//! - [`file`]: immutable files with checksums.
//! - [`codec`]: packed integers, stable hashes, tagged values.
//! - [`manifest`]: which files make up a store; the commit point.
//! - [`column`]: property columns in encoded blocks.
//! - [`segment`]: nodes of an interval of ids: existence, labels, columns.
//! - [`partition`]: edges of an interval of target ids, both directions, and their columns.
//! - [`index`]: unique key indexes.
//! - [`version`]: everything that one manifest names, opened.
//! - [`bulk`]: building files by external sort: import, and the merge of a memtable.
//! - [`check`]: every checksum and cross-reference.

pub mod bulk;
pub mod check;
pub mod codec;
pub mod column;
pub mod error;
pub mod file;
pub mod format;
pub mod index;
pub mod manifest;
pub mod os;
pub mod partition;
pub mod segment;
pub mod version;
