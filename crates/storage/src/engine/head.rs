//! Begin and end of transactions: the newest state, the transactions on older ones, and the writes since those.
//!
//! Committing takes a turn: while it holds the head a transaction is compared with those that committed since it began,
//! moved onto the newest state if that is not the one it began with, and put into the queue of the log. The turn is
//! short: a long log is moved before the turn, and only if the head has not changed by then is that moved state taken.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use model::{ErrorCode, IsolationLevel, MemoryBudget, NodeId, Result, error};

use super::conflicts::Conflicts;
use super::flush::SinceFlush;
use super::indexes::Followers;
use super::turn::{Activity, Turn};
use super::{Engine, lock, lock_waiting};
use crate::error::StorageError;
use crate::format::NODE_ID_LIMIT;
use crate::snapshot::Snapshot;
use crate::transaction::catch_up::Committed;
use crate::transaction::check::no_ids_left;
use crate::transaction::items::{Item, items_of};
use crate::transaction::left::left_of;
use crate::transaction::made::Made;
use crate::transaction::reads::ReadItems;
use crate::transaction::rebase::{Moved, rebase};

/// Bytes of log up to which a transaction is moved within its turn.
const MOVED_IN_TURN_BYTES: usize = 16 << 10;
/// Number of times that a longer one is moved before the turn, in vain, before it is moved within it.
const ATTEMPTS: usize = 3;

/// The state after the last transaction that is in the queue of the log or behind.
#[derive(Debug)]
pub(crate) struct Head {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) sequence: u64,
    /// Counts the times that the files were built anew, as by an import; older transactions cannot commit then.
    pub(super) era: u64,
    /// The files are being built anew: nobody begins or commits.
    pub(super) is_held: bool,
    /// Activity of the transaction that holds the writers' turn: nobody else commits, and the memtable is not flushed.
    pub(super) holder: Option<Arc<Activity>>,
    /// Counts flushes.
    pub(super) flushes: u64,
    /// Number of open transactions that began after each sequence number.
    active: BTreeMap<u64, usize>,
    conflicts: Conflicts,
    /// Number of open serializable transactions that began after each sequence number.
    serializable: BTreeMap<u64, usize>,
    /// Items that serializable transactions may have read and that were changed since; kept only while one is open.
    left: Conflicts,
    /// The records committed since a flush began to write files.
    pub(super) since_flush: Option<SinceFlush>,
    /// Those who build indexes meanwhile.
    pub(super) followers: Followers,
}

impl Head {
    pub(super) fn new(snapshot: Arc<Snapshot>, sequence: u64, memory: &Arc<MemoryBudget>) -> Head {
        Head {
            snapshot,
            sequence,
            era: 0,
            is_held: false,
            holder: None,
            flushes: 0,
            active: BTreeMap::new(),
            conflicts: Conflicts::new(memory),
            serializable: BTreeMap::new(),
            left: Conflicts::new(memory),
            since_flush: None,
            followers: Followers::default(),
        }
    }

    fn enter(&mut self, sequence: u64, isolation: IsolationLevel) {
        *self.active.entry(sequence).or_default() += 1;
        if isolation == IsolationLevel::Serializable {
            *self.serializable.entry(sequence).or_default() += 1;
        }
    }

    fn leave(&mut self, sequence: u64, isolation: IsolationLevel) {
        if leave_one(&mut self.active, sequence) {
            self.conflicts.forget_before(self.active.keys().next().copied());
        }
        if isolation == IsolationLevel::Serializable && leave_one(&mut self.serializable, sequence) {
            self.left.forget_before(self.serializable.keys().next().copied());
        }
    }

    /// Fails if something that was read has changed after a transaction.
    fn check_reads(&self, reads: &ReadItems, since: u64) -> Result<()> {
        if self.sequence == since {
            return Ok(());
        }
        match reads {
            ReadItems::Everything => Err(error!(
                Conflict,
                "the transaction read so much, or was refused a change, that any transaction that committed first matters"
            )),
            ReadItems::Some(_) if !self.left.knows_since(since) => {
                Err(error!(Conflict, "too much was written by others while the transaction was open"))
            }
            ReadItems::Some(items) => match self.left.find_read(items, since) {
                Some(read) => Err(read.conflict(&self.snapshot.memtable.schema)),
                None => Ok(()),
            },
        }
    }
}

/// Counts one transaction less that began there; true if it was the last of them.
fn leave_one(began: &mut BTreeMap<u64, usize>, sequence: u64) -> bool {
    let Some(count) = began.get_mut(&sequence) else { return false };
    *count -= 1;
    let is_last = *count == 0;
    if is_last {
        began.remove(&sequence);
    }
    is_last
}

/// A transaction as the head knows it: where it began. Dropped, it is over.
pub(crate) struct Start {
    engine: Arc<Engine>,
    pub(super) snapshot: Arc<Snapshot>,
    sequence: u64,
    era: u64,
    flushes: u64,
    isolation: IsolationLevel,
    is_over: bool,
    pub(super) turn: Turn,
    pub(super) activity: Arc<Activity>,
    /// Follower of the commits of others, if it has built indexes.
    pub(super) follower: Option<u64>,
}

/// Output of a transaction at its commit.
pub(crate) struct Written {
    pub(crate) snapshot: Box<Snapshot>,
    pub(crate) log: Vec<u8>,
    /// Positions in the log of operations that change what was there before.
    pub(crate) changes: Vec<usize>,
    pub(crate) claims: Vec<u64>,
    /// Items that it read, if it is serializable.
    pub(crate) reads: Option<ReadItems>,
    /// The names of indexes and constraints that it made.
    pub(crate) built: Vec<Arc<str>>,
}

/// Traces of a transaction for those that are open: its writes, as hashes, and the changes that others may have read.
pub(super) struct Traces {
    written: Box<[u64]>,
    /// None if nobody asks.
    readable: Option<Readable>,
}

/// Hashes of changes of a transaction that others may have read; none if they are too many to tell.
type Readable = Option<Box<[u64]>>;

impl Start {
    /// The store.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The state it began with.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Isolation level of the transaction.
    pub(crate) fn isolation(&self) -> IsolationLevel {
        self.isolation
    }

    /// Takes ids of nodes back that were not used after all, if they are the last that were reserved.
    ///
    /// A bulk load gives ids out beside the reservations of open transactions, which cannot commit after it; what one of
    /// those gives back later may belong to a node that was loaded.
    pub(crate) fn give_back_nodes(&self, first: NodeId, count: u64) {
        use std::sync::atomic::Ordering::Relaxed;
        let head = lock(&self.engine.head);
        if head.era == self.era {
            // If somebody has reserved ids behind them they stay unused.
            let _ = self.engine.next_node.compare_exchange(first.0 + count, first.0, Relaxed, Relaxed);
        }
    }

    /// True if the state is that which it began with, except for merges of files.
    pub(super) fn is_where_it_began(&self, head: &Head) -> bool {
        (self.era, self.sequence, self.flushes) == (head.era, head.sequence, head.flushes)
    }

    /// Makes what the transaction wrote durable, then visible.
    pub(crate) fn commit(&mut self, written: Written) -> Result<()> {
        let engine = self.engine.clone();
        if written.log.is_empty() {
            // The transaction read one moment, and may be ordered after all that came since; but it must not be lost.
            return engine.finish_commits(self.sequence);
        }
        // Nobody makes room while the transaction has the turn.
        if !self.has_turn() {
            engine.wait_to_commit(&written.log)?;
        }
        let wants_files = written.snapshot.wants_files();
        let taken =
            if written.built.is_empty() { self.take_turn(written) } else { self.take_turn_with_indexes(written) };
        let sequence = match taken {
            Ok(sequence) => sequence,
            Err(error) => {
                if error.code() == ErrorCode::Conflict {
                    engine.counters.conflicts.add(1);
                }
                return Err(error);
            }
        };
        engine.finish_commits(sequence)?;
        engine.counters.commits.add(1);
        self.release_turn();
        if wants_files {
            engine.flush_what_wants_files();
        }
        engine.flush_if_full();
        Ok(())
    }

    /// Puts the transaction behind the head; gives its sequence number.
    fn take_turn(&mut self, written: Written) -> Result<u64> {
        let Written { snapshot: own, log, changes, claims, reads, .. } = written;
        let engine = self.engine.clone();
        // Kept beyond the turn, as the root that is replaced.
        let base = self.snapshot.clone();
        let mut items: Option<Vec<Item>> = None;
        let mut moved: Option<(Arc<Snapshot>, Moved)> = None;
        for attempt in 0.. {
            let mut head = self.head_of_era(&engine)?;
            let is_unchanged = Arc::ptr_eq(&head.snapshot, &base);
            if items.is_none() && (!is_unchanged || self.has_company(&head)) {
                items = Some(items_of(&log, &changes, &claims)?);
            }
            let items = items.as_deref().unwrap_or_default();
            let traces = self.traces(&head, items, &log, &own)?;
            if is_unchanged {
                return self.put_behind(&mut head, *own, &log, traces, &[]);
            }
            self.check_conflicts(&head, items, reads.as_ref())?;
            let is_current = |moved: &mut (Arc<Snapshot>, Moved)| Arc::ptr_eq(&moved.0, &head.snapshot);
            if let Some((_, Moved { snapshot, log: new_log })) = moved.take_if(is_current) {
                return self.put_behind(&mut head, snapshot, new_log.as_deref().unwrap_or(&log), traces, &[]);
            }
            engine.counters.moves.add(1);
            if log.len() <= MOVED_IN_TURN_BYTES || attempt == ATTEMPTS {
                let Moved { snapshot, log: new_log } = rebase(&log, &base.memtable.schema, &head.snapshot)?;
                return self.put_behind(&mut head, snapshot, new_log.as_deref().unwrap_or(&log), traces, &[]);
            }
            let onto = head.snapshot.clone();
            drop(head);
            let state = rebase(&log, &base.memtable.schema, &onto)?;
            moved = Some((onto, state));
        }
        Err(error!(Internal, "a transaction was moved forever"))
    }

    /// The head to commit on.
    pub(super) fn head_of_era<'e>(&self, engine: &'e Engine) -> Result<MutexGuard<'e, Head>> {
        let head = engine.head_to_write(self.has_turn())?;
        if self.era != head.era {
            return Err(error!(Conflict, "the store's files were built anew since the transaction began"));
        }
        Ok(head)
    }

    /// Traces that the transaction leaves for others.
    pub(super) fn traces(&self, head: &Head, items: &[Item], log: &[u8], own: &Snapshot) -> Result<Traces> {
        let readable = self.is_read_by_others(head).then(|| left_of(log, &self.snapshot, own)).transpose()?;
        Ok(Traces { written: hashes(items), readable })
    }

    /// Fails with `CONFLICT` if somebody who committed since it began wrote what it wrote, or what it must not have missed.
    pub(super) fn check_conflicts(&self, head: &Head, items: &[Item], reads: Option<&ReadItems>) -> Result<()> {
        if !head.conflicts.knows_since(self.sequence) {
            return Err(error!(Conflict, "too much was written by others while the transaction was open"));
        }
        if let Some(item) = head.conflicts.find(items, self.sequence) {
            return Err(item.conflict(&head.snapshot.memtable.schema));
        }
        reads.map_or(Ok(()), |reads| head.check_reads(reads, self.sequence))
    }

    /// True if nobody has committed since it began.
    pub(super) fn is_newest(&self, head: &Head) -> bool {
        (self.era, self.sequence) == (head.era, head.sequence)
    }

    /// True if other transactions are open.
    fn has_company(&self, head: &Head) -> bool {
        head.active.len() > 1 || head.active.values().any(|&count| count > 1)
    }

    /// True if other transactions are open that are serializable.
    fn is_read_by_others(&self, head: &Head) -> bool {
        let own = usize::from(self.isolation == IsolationLevel::Serializable);
        head.serializable.values().sum::<usize>() > own
    }

    /// Makes a state, in which the indexes `built` are new, the head and queues its record. The transaction is over then.
    pub(super) fn put_behind(
        &mut self,
        head: &mut MutexGuard<'_, Head>,
        mut snapshot: Snapshot,
        log: &[u8],
        traces: Traces,
        built: &[Arc<str>],
    ) -> Result<u64> {
        self.engine.log.let_in(log)?;
        let sequence = head.sequence + 1;
        self.leave(head);
        if !head.active.is_empty() {
            head.conflicts.add(sequence, traces.written);
        }
        match traces.readable {
            None => {}
            Some(Some(hashes)) => head.left.add(sequence, hashes),
            Some(None) => head.left.forget_all(sequence),
        }
        if head.since_flush.is_some() || !head.followers.is_empty() {
            let committed = Arc::new(Committed { log: log.into(), made: Made::of(&snapshot, built) });
            head.followers.push(&committed);
            head.since_flush.iter_mut().for_each(|since| since.push(committed.clone()));
        }
        snapshot.edges = head.snapshot.edges.after(&snapshot.memtable, &self.engine.memory);
        snapshot.memtable.settle();
        let snapshot = Arc::new(snapshot);
        self.engine.set_memtable_bytes(snapshot.memtable.bytes);
        head.sequence = sequence;
        let old = std::mem::replace(&mut head.snapshot, snapshot.clone());
        self.engine.log.enqueue(sequence, log, snapshot);
        // The root that was replaced may be the last reference to much; it goes after the turn.
        self.snapshot = old;
        Ok(sequence)
    }
}

impl Start {
    /// The transaction is over.
    fn leave(&mut self, head: &mut Head) {
        head.leave(self.sequence, self.isolation);
        if let Some(follower) = self.follower.take() {
            head.followers.remove(follower);
        }
        self.is_over = true;
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        if !self.is_over {
            let engine = self.engine.clone();
            self.leave(&mut lock(&engine.head));
        }
        self.release_turn();
    }
}

fn hashes(items: &[Item]) -> Box<[u64]> {
    items.iter().map(Item::hash).collect()
}

impl Engine {
    /// The head, once nobody builds files anew and nobody else has the writers' turn.
    pub(super) fn head_to_write(&self, has_turn: bool) -> Result<MutexGuard<'_, Head>> {
        let (mut head, mut began_ns) = (lock_waiting(&self.head), None);
        while head.is_held || (head.holder.is_some() && !has_turn) {
            let began_ns = *began_ns.get_or_insert_with(|| self.platform.clock.now_ns());
            head = self.wait_at(head)?;
            if !has_turn {
                self.check_holder(&head, began_ns)?;
            }
        }
        self.check_open()?;
        Ok(head)
    }

    /// Begins a transaction.
    pub(super) fn begin(self: &Arc<Self>, isolation: IsolationLevel) -> Result<Start> {
        let mut head = lock_waiting(&self.head);
        while head.is_held {
            head = self.wait_at(head)?;
        }
        self.check_open()?;
        let sequence = head.sequence;
        head.enter(sequence, isolation);
        let (snapshot, era, flushes) = (head.snapshot.clone(), head.era, head.flushes);
        drop(head);
        let (engine, activity) = (self.clone(), Arc::default());
        let (is_over, turn, follower) = (false, Turn::Others, None);
        Ok(Start { engine, snapshot, sequence, era, flushes, isolation, is_over, turn, activity, follower })
    }

    /// The budget of all that is held in memory.
    pub(crate) fn memory(&self) -> &Arc<MemoryBudget> {
        &self.memory
    }

    /// Reserves ids for `count` nodes, which nobody else gets; returns the first of them.
    pub(crate) fn reserve_nodes(&self, count: u64) -> Result<NodeId> {
        use std::sync::atomic::Ordering::Relaxed;
        let end = |first: u64| first.checked_add(count).filter(|&end| end <= NODE_ID_LIMIT);
        match self.next_node.fetch_update(Relaxed, Relaxed, end) {
            Ok(first) => Ok(NodeId(first)),
            Err(_) => Err(no_ids_left()),
        }
    }

    /// Fails with `CLOSED` after a failed write.
    pub(super) fn check_open(&self) -> Result<()> {
        match self.log.failure() {
            None => Ok(()),
            Some(cause) => Err(StorageError::Closed { path: self.path.clone(), cause: cause.to_owned() }.into()),
        }
    }

    /// Waits until the transaction with that sequence number is durable and visible.
    pub(super) fn finish_commits(&self, sequence: u64) -> Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        self.waiting.fetch_add(1, Relaxed);
        let result = self.log.finish(sequence, &self.path, |snapshot| {
            let old = std::mem::replace(&mut *lock(&self.published), snapshot);
            drop(old);
        });
        self.waiting.fetch_sub(1, Relaxed);
        result
    }
}
