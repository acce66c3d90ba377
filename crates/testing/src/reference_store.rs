//! A naive store in memory that anyone can read, with which every other store is compared.
//!
//! Invariant: a committed state never changes; snapshots, transactions and savepoints share states by `Arc` and copy
//! on write.
//! Cost: the first write after a snapshot or savepoint copies the whole graph; constraints are checked by full scans.

mod partitions;
mod state;
mod transaction;
mod view;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use model::limits::BATCH_ROWS;
use model::{Capabilities, GraphStore, ReadView, Result, WriteTransaction};

use state::State;
use transaction::ReferenceTransaction;
use view::ReferenceView;

/// A property graph in `BTreeMap`s, for tests.
#[derive(Debug)]
pub struct ReferenceStore {
    options: Options,
    shared: Arc<Shared>,
    calls: Arc<AtomicU64>,
}

/// State that a store shares with its transactions.
#[derive(Debug, Default)]
struct Shared {
    current: Mutex<Arc<State>>,
    is_writing: Mutex<bool>,
    write_ended: Condvar,
}

impl Shared {
    fn current(&self) -> MutexGuard<'_, Arc<State>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_writing(&self) -> MutexGuard<'_, bool> {
        self.is_writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Scheme by which ids are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ids {
    /// 0, 1, 2, …
    Dense,
    /// Scattered over all 64 bits, as those of a foreign store may be.
    Sparse,
}

#[derive(Clone, Copy, Debug)]
struct Options {
    ids: Ids,
    batch_rows: usize,
    capabilities: Capabilities,
}

impl Default for ReferenceStore {
    fn default() -> ReferenceStore {
        ReferenceStore::new()
    }
}

impl ReferenceStore {
    /// An empty store with dense ids, all capabilities of a local store, and full batches.
    pub fn new() -> ReferenceStore {
        ReferenceStore::with_batch_rows(BATCH_ROWS)
    }

    /// Like [`ReferenceStore::new`], with cursors that return at most `batch_rows` rows at a time: small batches bring
    /// to light what forgets that the edges of one node may be split.
    pub fn with_batch_rows(batch_rows: usize) -> ReferenceStore {
        let capabilities = Capabilities {
            writes: true,
            dense_node_ids: true,
            expands_against_direction: true,
            looks_up_by_key: true,
            streams_edges: true,
            is_remote: false,
            flexible_schema: true,
        };
        ReferenceStore::with_options(Options { ids: Ids::Dense, batch_rows, capabilities })
    }

    /// An empty store that acts as a foreign one: sparse ids, and no capability but writing what it is given (see
    /// [`ReferenceStore::read_only`]).
    pub fn foreign(batch_rows: usize) -> ReferenceStore {
        let capabilities = Capabilities { writes: true, flexible_schema: true, ..Capabilities::default() };
        ReferenceStore::with_options(Options { ids: Ids::Sparse, batch_rows, capabilities })
    }

    fn with_options(options: Options) -> ReferenceStore {
        assert!(options.batch_rows > 0, "a batch holds at least one row");
        ReferenceStore { options, shared: Arc::default(), calls: Arc::default() }
    }

    /// The same store, filled as it is, that refuses writes from here on.
    #[must_use]
    pub fn read_only(mut self) -> ReferenceStore {
        self.options.capabilities.writes = false;
        self
    }

    /// Number of calls so far of the methods of views that read data: with a remote store they would be round trips.
    pub fn call_count(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn view_of(&self, state: Arc<State>) -> ReferenceView {
        ReferenceView { state, options: self.options, calls: self.calls.clone() }
    }
}

impl GraphStore for ReferenceStore {
    fn capabilities(&self) -> Capabilities {
        self.options.capabilities
    }

    fn read(&self) -> Result<Arc<dyn ReadView>> {
        let state = self.shared.current().clone();
        Ok(Arc::new(self.view_of(state)))
    }

    fn write(&self) -> Result<Box<dyn WriteTransaction>> {
        if !self.options.capabilities.writes {
            return Err(model::error!(ReadOnly, "this reference store was made read-only"));
        }
        let mut is_writing = self.shared.is_writing();
        while *is_writing {
            is_writing = self.shared.write_ended.wait(is_writing).unwrap_or_else(PoisonError::into_inner);
        }
        *is_writing = true;
        drop(is_writing);
        let state = self.shared.current().clone();
        Ok(Box::new(ReferenceTransaction::new(self.shared.clone(), self.view_of(state))))
    }
}

#[cfg(test)]
mod tests;
