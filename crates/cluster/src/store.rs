//! A graph on a wide-column store.

use std::sync::Arc;

use model::store::Moment;
use model::{Capabilities, GraphStore, ReadView, Result, WriteTransaction, error};

use crate::bodies::Numbers;
use crate::commit::Queue;
use crate::ids::Blocks;
use crate::log::Log;
use crate::overlay::Overlay;
use crate::purge::{Background, Purged, Purger};
use crate::reader::Reader;
use crate::ring::Ring;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::tables::Tables;
use crate::transaction::Transaction;
use crate::view::View;

/// A graph on a wide-column store, as one process sees it. Any number of processes may have the same graph open.
#[derive(Debug)]
pub struct ClusterStore {
    pub(crate) shared: Arc<Shared>,
    _background: Option<Background>,
}

impl ClusterStore {
    /// Opens a graph, which is empty if nobody has written it. The newest checkpoint is read, and the log behind it.
    pub fn open(tables: Arc<dyn Tables>, settings: Settings) -> Result<ClusterStore> {
        let ring = Ring { tables, graph: settings.graph, attempts: settings.attempts };
        let log = Arc::new(Log::new(ring, settings));
        log.load_checkpoint()?;
        log.catch_up()?;
        let (queue, blocks, names) = (Queue::default(), Blocks::default(), Numbers::default());
        let shared = Arc::new(Shared { log, queue, blocks, names, number: Moment::next_store() });
        let background = Background::start(&shared)?;
        Ok(ClusterStore { shared, _background: background })
    }

    /// Writes a checkpoint of the state now.
    pub fn checkpoint(&self) -> Result<()> {
        let state = self.shared.log.catch_up()?;
        self.shared.log.write_checkpoint(&state)
    }

    /// Writes a checkpoint, and drops the epochs of the log that nobody needs: the number of them. A process that sleeps
    /// meanwhile goes on with the checkpoint; its open transactions end with `CONFLICT`.
    pub fn trim(&self) -> Result<u64> {
        self.shared.log.trim()
    }

    /// Purges what was dead when the call began: versions of nodes and edges, events of labels and values, entries of dropped
    /// indexes, and bodies of transactions that were never appended. Views and transactions that began before fail with
    /// `CONFLICT` when they read on after a while. Waits for twice [`Settings::lease_ns`] if there is something to purge. A
    /// purge that fails or is killed is continued by the next, of any process.
    pub fn purge(&self) -> Result<Purged> {
        let upto = self.shared.log.catch_up()?.sequence;
        self.purge_to(upto)
    }

    /// Purges what was dead as of a record of the log, or of the last one, and so leaves later views alone.
    pub fn purge_to(&self, upto: u64) -> Result<Purged> {
        if self.shared.log.settings.is_read_only {
            return Err(error!(ReadOnly, "the graph was opened for reading only"));
        }
        let last = self.shared.log.catch_up()?.sequence;
        Purger::new(&self.shared, &|_| Ok(())).run(upto.min(last))
    }

    /// Rows that are dead and not purged, as the last record that this process knows tells it.
    pub fn dead_rows(&self) -> u64 {
        self.shared.log.state().dead.rows
    }

    /// Number of the last record of the log that a view would see now.
    pub fn sequence(&self) -> Result<u64> {
        Ok(self.shared.log.follow()?.sequence)
    }

    /// Bytes of rows that are kept in memory.
    pub fn cache_bytes(&self) -> usize {
        self.shared.log.cache.bytes()
    }

    fn view(&self, is_transaction: bool) -> Result<View> {
        let state = self.shared.log.follow()?;
        let log = &self.shared.log;
        let reader = Reader { ring: log.ring.clone(), cache: log.cache.clone(), log: log.clone(), at: state.seen() };
        let own = Overlay::new(&state);
        let (capabilities, store) = (self.capabilities(), self.shared.number);
        let (memory, scan_rows) = (log.settings.memory.clone(), log.settings.scan_rows.max(1));
        Ok(View { reader, state, own, capabilities, store, is_transaction, memory, scan_rows })
    }
}

impl GraphStore for ClusterStore {
    fn capabilities(&self) -> Capabilities {
        self.shared.log.settings.capabilities()
    }

    fn read(&self) -> Result<Arc<dyn ReadView>> {
        Ok(Arc::new(self.view(false)?))
    }

    fn write(&self) -> Result<Box<dyn WriteTransaction>> {
        if self.shared.log.settings.is_read_only {
            return Err(error!(ReadOnly, "the graph was opened for reading only"));
        }
        let view = self.view(true)?;
        if view.state.loading.is_some() {
            return Err(error!(
                Busy,
                "graph {} is being loaded, or was left by an import that ended", view.reader.ring.graph
            )
            .with_remedy("wait for the import, run it again to go on with it, or pass it --restart"));
        }
        Ok(Box::new(Transaction::new(self.shared.clone(), view)))
    }
}
