//! The native engine: partitioned adjacency lists, property columns, write-ahead log, snapshots.
//!
//! Modules in reading order:
//! - [`format`]: constants of the file format, and how an edge id names a place.
//! - [`error`]: errors, in detail.
//! - [`os`]: the real disk, clock and randomness; the only file that touches them.
//! - [`file`]: immutable files with checksums.
//! - [`codec`]: packed integers; stable hashes and tagged values, which `model` has.
//! - `lock`: the lock of a store, which its writer holds.
//! - [`manifest`]: the files that make up a store; the commit point.
//! - [`column`]: property columns in encoded blocks.
//! - [`segment`]: nodes of an interval of ids: existence, labels, columns.
//! - [`node_run`]: changes of nodes by flushes, over the segments.
//! - [`partition`]: edges of an interval of target ids, both directions, their columns, and the patches over them.
//! - [`index`]: unique key indexes.
//! - [`tiers`]: the choice of runs to merge.
//! - [`version`]: everything that one manifest names, opened.
//! - [`numbers`]: numbers of files, edges and partition slots, which all versions of an open store share.
//! - [`build`]: a build of files under way, and streams of sorted edges.
//! - [`levels`]: the levels of edge partitions.
//! - [`ordered_index`]: ordered indexes.
//! - `sketch`: sketches of the data for the planner.
//! - [`bulk`]: building files by external sort: import, and the merge of a memtable.
//! - `index_build`: indexes and key indexes of what is there.
//! - [`compact_nodes`]: merging the runs of nodes and of key indexes.
//! - [`wal`]: the write-ahead log.
//! - [`memtable`]: writes since the files were written.
//! - [`history`]: the states of the edges, and the edges that came and went between them.
//! - [`snapshot`]: files and memtable read as one graph.
//! - [`transaction`]: the checks and effects of writing.
//! - [`flush`]: the merge of a memtable into files.
//! - [`compact`]: merging of edge partitions and patches.
//! - [`engine`]: the store itself: opening, turns, commits, checkpoints.
//! - [`layout`]: the purposes of the files, by kind and level.
//! - `problem`: damage to a store, as it is reported.
//! - [`check`]: every checksum and cross-reference.
//! - [`reading`]: a disk on which nothing can be changed, for opening a store to read.
//! - `beside`: a store at one moment, seen beside a process that may write it.
//! - [`recover`]: all that can be read of a damaged store, into a new one.
//! - [`backup`]: a verified copy of a store while it is used, and back.

pub mod backup;
mod beside;
pub mod build;
pub mod bulk;
pub mod check;
pub mod codec;
pub mod column;
pub mod compact;
pub mod compact_nodes;
pub mod engine;
pub mod error;
pub mod file;
mod flush;
pub mod format;
mod history;
pub mod index;
mod index_build;
pub mod layout;
pub mod levels;
mod lock;
pub mod manifest;
mod memtable;
pub mod node_run;
pub mod numbers;
pub mod ordered_index;
pub mod os;
pub mod partition;
mod problem;
mod reading;
pub mod recover;
pub mod segment;
mod sketch;
mod snapshot;
pub mod tiers;
mod transaction;
pub mod version;
mod wal;

pub use engine::{Durability, LEVELS, Maintenance, NativeStore, OpenMode, OpenOptions, StoreStats};
pub use file::cache::CacheStatistics;
pub use wal::torn::{TORN_FILES_MAX, TornLog, kept_files, torn_logs};
