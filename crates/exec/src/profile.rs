//! The effects of a run: how much it changed, and what each operator gave and cost.

use std::cell::RefCell;

use cypher::plan::OperatorId;
use model::Map;
use model::meter::{self, Meter};
use model::platform::Clock;

/// Numbers of changes that a statement made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Nodes created.
    pub nodes_created: u64,
    /// Nodes deleted.
    pub nodes_deleted: u64,
    /// Edges created.
    pub edges_created: u64,
    /// Edges deleted.
    pub edges_deleted: u64,
    /// Properties set or removed.
    pub properties_set: u64,
    /// Labels added to nodes.
    pub labels_added: u64,
    /// Labels taken from nodes.
    pub labels_removed: u64,
    /// Constraints added.
    pub constraints_added: u64,
    /// Constraints dropped.
    pub constraints_removed: u64,
    /// Indexes added, except those of constraints.
    pub indexes_added: u64,
    /// Indexes dropped, except those of constraints.
    pub indexes_removed: u64,
    /// Sort keys declared.
    pub sort_keys_added: u64,
    /// Sort keys taken back.
    pub sort_keys_removed: u64,
}

impl Counters {
    /// True if a node or an edge was deleted.
    pub fn has_deletions(&self) -> bool {
        self.nodes_deleted + self.edges_deleted > 0
    }

    /// Adds what another part of the statement changed.
    pub(crate) fn add(&mut self, other: &Counters) {
        self.nodes_created += other.nodes_created;
        self.nodes_deleted += other.nodes_deleted;
        self.edges_created += other.edges_created;
        self.edges_deleted += other.edges_deleted;
        self.properties_set += other.properties_set;
        self.labels_added += other.labels_added;
        self.labels_removed += other.labels_removed;
        self.constraints_added += other.constraints_added;
        self.constraints_removed += other.constraints_removed;
        self.indexes_added += other.indexes_added;
        self.indexes_removed += other.indexes_removed;
        self.sort_keys_added += other.sort_keys_added;
        self.sort_keys_removed += other.sort_keys_removed;
    }

    /// True if anything was changed.
    pub fn contains_updates(&self) -> bool {
        *self != Counters::default()
    }
}

/// Measurements of one operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperatorProfile {
    /// Rows it gave.
    pub rows: u64,
    /// Batches in which it gave them.
    pub batches: u64,
    /// Nanoseconds spent in it, without its inputs and consumers.
    pub time_ns: u64,
    /// The most bytes that it held in memory at a time.
    pub memory_peak: u64,
    /// Bytes that it wrote to temporary files.
    pub spilled_bytes: u64,
    /// Its requests to the store.
    pub storage: Meter,
}

/// The effects of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Changes that it made.
    pub counters: Counters,
    /// Measurements of each operator, if they were asked for.
    pub profile: Map<OperatorId, OperatorProfile>,
}

/// Charges time to the operator that is at work.
#[derive(Debug)]
pub(crate) struct Profiler<'a> {
    clock: &'a dyn Clock,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    operators: Map<OperatorId, OperatorProfile>,
    current: Option<OperatorId>,
    since_ns: u64,
    /// The counts of the thread at that time.
    since: Meter,
}

impl<'a> Profiler<'a> {
    pub(crate) fn new(clock: &'a dyn Clock) -> Profiler<'a> {
        Profiler {
            clock,
            state: RefCell::new(State { since_ns: clock.now_ns(), since: meter::read(), ..State::default() }),
        }
    }

    /// Charges the time since the last switch to the operator at work, and puts another one to work.
    pub(crate) fn switch(&self, to: Option<OperatorId>) -> Option<OperatorId> {
        let now = self.clock.now_ns();
        let mut state = self.state.borrow_mut();
        let spent = now.saturating_sub(state.since_ns);
        state.since_ns = now;
        let counts = meter::read();
        let asked = counts.since(std::mem::replace(&mut state.since, counts));
        let from = std::mem::replace(&mut state.current, to);
        if let Some(id) = from {
            let profile = state.operators.entry(id).or_default();
            profile.time_ns += spent;
            profile.storage.add(&asked);
        }
        if let Some(id) = to {
            state.operators.entry(id).or_default();
        }
        from
    }

    /// The operator at work.
    pub(crate) fn current(&self) -> Option<OperatorId> {
        self.state.borrow().current
    }

    /// Counts a batch that an operator gave.
    pub(crate) fn gave(&self, id: OperatorId, rows: usize) {
        let mut state = self.state.borrow_mut();
        let profile = state.operators.entry(id).or_default();
        profile.rows += rows as u64;
        profile.batches += 1;
    }

    /// Adds what a helper thread measured.
    pub(crate) fn add(&self, other: &Map<OperatorId, OperatorProfile>) {
        let mut state = self.state.borrow_mut();
        for (&id, profile) in other {
            let sum = state.operators.entry(id).or_default();
            sum.rows += profile.rows;
            sum.batches += profile.batches;
            sum.time_ns += profile.time_ns;
            sum.storage.add(&profile.storage);
        }
    }

    /// Returns the measurements.
    pub(crate) fn finish(self) -> Map<OperatorId, OperatorProfile> {
        self.switch(None);
        self.state.into_inner().operators
    }
}
