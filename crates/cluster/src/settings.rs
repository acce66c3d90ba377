//! Settings of a store.

use std::sync::Arc;

use model::platform::{Clock, Random};
use model::{Capabilities, MemoryBudget};

/// Records in a partition of the log, unless told otherwise.
const EPOCH_RECORDS: u64 = 4_096;
/// Records between two checkpoints, unless told otherwise.
const CHECKPOINT_RECORDS: u64 = 1_024;
/// Time after which the rows of a record that nobody has marked are written by another.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Times that an operation is tried.
const ATTEMPTS: u32 = 8;
/// Rows that a transaction writes at most.
const TRANSACTION_ROWS_MAX: usize = 2_000_000;
/// Bytes of those rows at most.
const TRANSACTION_BYTES_MAX: usize = 256 << 20;

/// Rows of a page of a scan.
const SCAN_ROWS: u32 = 4_096;
/// Time for which a process goes on reading after it has looked for a new horizon.
const LEASE_NS: u64 = 20_000_000_000;
/// Age of the snapshots that a purge in the background leaves alone.
const KEEP_NS: u64 = 600_000_000_000;
/// Dead rows that are purged between two records of progress, at least.
const PURGE_ROWS: u64 = 100_000;

/// Bytes of the cache.
const CACHE_BYTES_MAX: usize = 64 << 20;

/// A fault of the purge that a test must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeFault {
    /// Rows go that died after the horizon.
    AboveHorizon,
    /// Views do not look for a horizon.
    IgnoresHorizon,
    /// Rows go at once, before the leases of other processes have ended.
    WaitsForNobody,
    /// Deletions are older than what they delete.
    DeletesTooEarly,
    /// Of events of which none is needed, only the last goes.
    TakesLastEventAlone,
    /// Bodies of transactions go that may still be appended.
    TakesLiveBodies,
}

/// A fault of the cache that a test must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheFault {
    /// Rows stay that a record of the log touched.
    KeepsTouched,
    /// Rows are kept that were read before a record touched them and came in after it.
    KeepsLateRows,
    /// Views see rows that are later than they are.
    SeesLaterRows,
    /// Rows stay where records were passed over, for a checkpoint.
    KeepsPassedOver,
}

/// Settings of one store.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of the graph within its tables.
    pub graph: i64,
    /// Clock by which waits are measured. It orders nothing.
    pub clock: Arc<dyn Clock>,
    /// Names of transactions, which must differ between processes.
    pub random: Arc<dyn Random>,
    /// Age up to which a snapshot may miss commits of other processes; with 0 it sees all that were acknowledged, at the cost
    /// of a round trip.
    pub staleness_ns: u64,
    /// Time after which the rows of a record that nobody has marked are written by another.
    pub patience_ns: u64,
    /// Records in a partition of the log; the same in all processes.
    pub epoch_records: u64,
    /// Records between two checkpoints.
    pub checkpoint_records: u64,
    /// Times that an operation is tried.
    pub attempts: u32,
    /// Rows that a transaction writes at most.
    pub transaction_rows_max: usize,
    /// Bytes of those rows at most.
    pub transaction_bytes_max: usize,
    /// Rows that a scan of all edges reads with one request at most; fewer where rows are large.
    pub scan_rows: u32,
    /// Writing is refused.
    pub is_read_only: bool,
    /// Bytes of rows that are kept after reading; 0 keeps none.
    pub cache_bytes_max: usize,
    /// The budget of memory to which they are counted, and to which they give way.
    pub memory: Arc<MemoryBudget>,
    /// A fault of the cache, in tests that must find it.
    #[doc(hidden)]
    pub cache_fault: Option<CacheFault>,
    /// Time for which a process goes on reading after it has looked for a new horizon of the purge; the same in all
    /// processes. Whoever purges waits twice as long. With 0 it looks after each reading, and nobody waits.
    pub lease_ns: u64,
    /// Age of the snapshots that a purge in the background leaves alone.
    pub keep_ns: u64,
    /// Time between two looks of the background for something to purge; 0 for no purge in the background.
    pub purge_interval_ns: u64,
    /// Dead rows that are purged between two records of progress, at least.
    pub purge_rows: u64,
    /// A fault of the purge, in tests that must find it.
    #[doc(hidden)]
    pub purge_fault: Option<PurgeFault>,
}

impl Settings {
    /// The default settings of a graph.
    pub fn new(graph: i64, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Settings {
        Settings {
            graph,
            clock,
            random,
            staleness_ns: 0,
            patience_ns: PATIENCE_NS,
            epoch_records: EPOCH_RECORDS,
            checkpoint_records: CHECKPOINT_RECORDS,
            attempts: ATTEMPTS,
            transaction_rows_max: TRANSACTION_ROWS_MAX,
            transaction_bytes_max: TRANSACTION_BYTES_MAX,
            scan_rows: SCAN_ROWS,
            is_read_only: false,
            cache_bytes_max: CACHE_BYTES_MAX,
            memory: MemoryBudget::unlimited(),
            cache_fault: None,
            lease_ns: LEASE_NS,
            keep_ns: KEEP_NS,
            purge_interval_ns: 0,
            purge_rows: PURGE_ROWS,
            purge_fault: None,
        }
    }

    /// The abilities of a store with these settings.
    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities {
            writes: !self.is_read_only,
            dense_node_ids: true,
            expands_against_direction: true,
            looks_up_by_key: true,
            streams_edges: false,
            is_remote: true,
            flexible_schema: true,
        }
    }
}
