//! A build of immutable files: its settings, the files it has made, and streams of sorted edges.
//!
//! - [`context`]: a build under way, which removes its files unless they are committed.
//! - [`chunk`]: sorted edges in chunks, and their merge.
//! - [`merge`]: the merge of sorted inputs that ends an external sort.

use model::Consumer;

pub mod chunk;
pub mod context;
pub mod merge;

pub use context::BuildContext;

/// Action for a node whose key is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The row is an error.
    #[default]
    Error,
    /// The row is passed over; edges find the node that is there.
    Skip,
    /// The row's properties that are not null replace those of the node that is there; its labels stay.
    Update,
}

/// Limits and options of a build.
#[derive(Clone, Debug)]
pub struct BuildConfig {
    /// Memory it may use for buffers, in bytes; the caller of the build has reserved it.
    pub memory_bytes: usize,
    /// On whose account it holds memory that grows with the graph.
    pub consumer: Consumer,
    /// Threads it may use.
    pub threads: usize,
    /// Action for a node whose key is taken.
    pub on_duplicate: OnDuplicate,
    /// Edges in one partition, at most, when partitions are laid out anew.
    pub partition_edges_max: u64,
}

impl Default for BuildConfig {
    fn default() -> BuildConfig {
        BuildConfig {
            memory_bytes: model::limits::IMPORT_MEMORY_BYTES,
            consumer: Consumer::Import,
            threads: 2,
            on_duplicate: OnDuplicate::Error,
            partition_edges_max: 1 << 28,
        }
    }
}
