//! The states of a store's edges, numbered, and the changes between the last of them once somebody asked for a name.
//!
//! A number stands for what was committed, not for the files: flushes and merges move edges and change no state.
//! Invariant: two snapshots with the same history and number have the same edges.
//! Cost: a commit counts; once states are watched it also copies the ends of what it added and deleted, 12 bytes each, the
//! newest million of which are kept.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::store::{EdgeDelta, KnownEnds, Moment, Topology};
use model::{Consumer, EdgeTypeId, MemoryBudget, NodeId, Reservation};

use crate::memtable::Memtable;

/// Changes that are kept, at most.
const CHANGES_MAX: usize = 1 << 20;
/// Share of the memory limit that they may take, as a divisor.
const MEMORY_SHARE: usize = 64;

/// An edge that came or went: type, source and target; node ids have 32 bits.
type Change = (u32, u32, u32);

/// The state that the edges of a snapshot are in.
#[derive(Clone, Debug)]
pub(crate) struct EdgeState {
    history: Arc<History>,
    edges: u64,
    properties: u64,
    /// Counts transactions; none within one.
    commits: Option<u64>,
    /// Goes with `commits`: made anew by the next.
    known_ends: Arc<KnownEnds>,
}

#[derive(Debug)]
struct History {
    store: u64,
    is_watched: AtomicBool,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    /// The state before the first record; none before there was one.
    since: Option<u64>,
    records: VecDeque<Record>,
    changes: usize,
    memory: Option<Reservation>,
}

#[derive(Debug)]
struct Record {
    /// The state after it.
    edges: u64,
    added: Box<[Change]>,
    deleted: Box<[Change]>,
}

impl EdgeState {
    /// The first state of a history of its own.
    pub(crate) fn new() -> EdgeState {
        let store = Moment::next_store();
        let history = History { store, is_watched: AtomicBool::new(false), log: Mutex::default() };
        EdgeState { history: Arc::new(history), edges: 0, properties: 0, commits: Some(0), known_ends: Arc::default() }
    }

    /// The state after this one, the newest, by what a transaction left in its memtable.
    pub(crate) fn after(&self, memtable: &Memtable, memory: &Arc<MemoryBudget>) -> EdgeState {
        let mut next = self.clone();
        next.commits = self.commits.map(|commits| commits + 1);
        next.known_ends = Arc::default();
        next.edges += u64::from(memtable.changed_own_edges());
        next.properties += u64::from(memtable.changed_own_edges() || memtable.own_properties_changed);
        if next.edges > self.edges && self.history.is_watched.load(Ordering::Relaxed) {
            let change = |(edge_type, source, target): (EdgeTypeId, NodeId, NodeId)| -> Change {
                (edge_type.0, source.0 as u32, target.0 as u32)
            };
            let record = Record {
                edges: next.edges,
                added: memtable.edges.own().map(|link| change((link.edge_type, link.source, link.target))).collect(),
                deleted: memtable.own_deleted.iter().copied().map(change).collect(),
            };
            self.history.log().push(record, self.edges, memory);
        }
        next
    }

    /// The same within a transaction, which may change what has no name.
    pub(crate) fn in_transaction(mut self) -> EdgeState {
        self.commits = None;
        self
    }

    /// The name of all that is committed; none within a transaction.
    pub(crate) fn moment(&self) -> Option<Moment> {
        self.commits.map(|number| Moment { store: self.history.store, number })
    }

    /// The place for what is found out about all that is committed; none within a transaction.
    pub(crate) fn known_ends(&self) -> Option<&KnownEnds> {
        self.commits.is_some().then_some(&*self.known_ends)
    }

    /// Its name. From now on changes are kept.
    pub(crate) fn name(&self) -> Topology {
        self.history.is_watched.store(true, Ordering::Relaxed);
        Topology { store: self.history.store, edges: self.edges, properties: self.properties }
    }

    /// Edges that came and went since an earlier state; `None` if that is not known.
    pub(crate) fn since(&self, before: &Topology) -> Option<EdgeDelta> {
        if before.store != self.history.store || before.edges > self.edges {
            return None;
        }
        if before.edges == self.edges {
            return Some(EdgeDelta::default());
        }
        let log = self.history.log();
        if log.since.is_none_or(|since| since > before.edges) {
            return None;
        }
        let start = log.records.partition_point(|record| record.edges <= before.edges);
        let end = log.records.partition_point(|record| record.edges <= self.edges);
        let edge = |&(edge_type, source, target): &Change| {
            (EdgeTypeId(edge_type), NodeId(source.into()), NodeId(target.into()))
        };
        let records = || log.records.range(start..end);
        let added = records().flat_map(|record| record.added.iter().map(edge)).collect();
        let deleted = records().flat_map(|record| record.deleted.iter().map(edge)).collect();
        drop(log);
        Some(EdgeDelta::of(added, deleted))
    }
}

impl History {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn changes(&self) -> usize {
        self.added.len() + self.deleted.len()
    }
}

impl Log {
    /// Adds a record that follows a state, and forgets the oldest as far as there are too many.
    fn push(&mut self, record: Record, before: u64, memory: &Arc<MemoryBudget>) {
        let most = CHANGES_MAX.min(memory.limit() / MEMORY_SHARE / size_of::<Change>());
        self.since.get_or_insert(before);
        self.changes += record.changes();
        self.records.push_back(record);
        while self.changes > most
            && let Some(oldest) = self.records.pop_front()
        {
            self.changes -= oldest.changes();
            self.since = Some(oldest.edges);
        }
        let bytes = self.changes * size_of::<Change>() + self.records.len() * size_of::<Record>();
        self.memory.get_or_insert_with(|| memory.empty(Consumer::Query)).resize(bytes);
    }
}
