//! The effects of a run: how much it changed, and what each operator gave and cost.

use std::cell::RefCell;

use std::sync::Arc;

use cypher::plan::{OperatorId, Plan};
use model::Map;
use model::meter::{self, Meter, Waits};
use model::platform::Clock;

use crate::memory::QueryMemory;

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
    /// Nanoseconds spent in it, without its inputs and consumers: the sum of all threads.
    pub time_ns: u64,
    /// Its part of the time that passed during the run. Where several threads worked, the time that passed is divided among
    /// their operators in proportion to `time_ns`, so that the parts of all operators add up.
    pub wall_ns: u64,
    /// The part of `wall_ns` that was spent waiting, divided likewise.
    pub wall_waits: Waits,
    /// The most bytes that it held in memory at a time.
    pub memory_peak: u64,
    /// Bytes that it wrote to temporary files.
    pub spilled_bytes: u64,
    /// Its requests to the store, and the sum of the time that its threads waited.
    pub storage: Meter,
}

impl OperatorProfile {
    /// Adds what was measured in another leg of the run.
    fn add(&mut self, other: &OperatorProfile) {
        self.rows += other.rows;
        self.batches += other.batches;
        self.time_ns += other.time_ns;
        self.wall_ns += other.wall_ns;
        self.wall_waits.add(&other.wall_waits);
        self.memory_peak = self.memory_peak.max(other.memory_peak);
        self.spilled_bytes += other.spilled_bytes;
        self.storage.add(&other.storage);
    }

    /// The part of the time that passed in which it computed.
    pub fn wall_cpu_ns(&self) -> u64 {
        let waited = self.wall_waits.total();
        debug_assert!(waited <= self.wall_ns, "an operator waits no longer than it runs");
        self.wall_ns.saturating_sub(waited)
    }
}

/// The rest of a plan that was made anew during a run.
#[derive(Clone, Debug)]
pub struct Replanned {
    /// The plan of the whole statement from then on.
    pub plan: Arc<Plan>,
    /// The operator of that plan whose rows were there.
    pub at: OperatorId,
    /// Number of rows that were expected.
    pub expected: f64,
    /// Number of rows that came.
    pub rows: u64,
}

/// The effects of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Changes that it made.
    pub counters: Counters,
    /// Measurements of each operator, if they were asked for: by the numbers of the plan that it ended with.
    pub profile: Map<OperatorId, OperatorProfile>,
    /// The times that the rest of the plan was made anew.
    pub replanned: Vec<Replanned>,
}

impl Summary {
    /// Adds the measurements of a leg of the run, which has ended.
    pub(crate) fn add(&mut self, profile: Map<OperatorId, OperatorProfile>, memory: &QueryMemory) {
        if profile.is_empty() {
            return;
        }
        for (id, measured) in profile {
            self.profile.entry(id).or_default().add(&measured);
        }
        for (id, figures) in memory.figures() {
            let held = self.profile.entry(id).or_default();
            held.memory_peak = held.memory_peak.max(figures.peak_bytes);
            held.spilled_bytes += figures.spilled_bytes;
        }
    }

    /// Goes over to the plan of which the rest runs. What other operators did than those that are part of it is counted for the
    /// one whose rows are there.
    pub(crate) fn turn(&mut self, done: &Map<OperatorId, OperatorId>, replanned: Replanned) {
        for (id, mut measured) in std::mem::take(&mut self.profile) {
            let now = done.get(&id).copied();
            if now.is_none() {
                (measured.rows, measured.batches) = (0, 0);
            }
            self.profile.entry(now.unwrap_or(replanned.at)).or_default().add(&measured);
        }
        self.replanned.push(replanned);
    }
}

/// Receiver of the time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum At {
    /// Nobody: the consumer of the result is at work, or the run begins or ends.
    #[default]
    Outside,
    /// An operator.
    Operator(OperatorId),
    /// The parts of a pipeline, which measure themselves.
    Parts,
}

impl From<Option<OperatorId>> for At {
    fn from(id: Option<OperatorId>) -> At {
        id.map_or(At::Outside, At::Operator)
    }
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
    current: At,
    /// Time that passed while parts ran, and that is not divided among them yet.
    parts_ns: u64,
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
    pub(crate) fn switch(&self, to: At) -> At {
        let now = self.clock.now_ns();
        let mut state = self.state.borrow_mut();
        let spent = now.saturating_sub(state.since_ns);
        state.since_ns = now;
        let counts = meter::read();
        let asked = counts.since(std::mem::replace(&mut state.since, counts));
        let from = std::mem::replace(&mut state.current, to);
        match from {
            At::Outside => {}
            At::Operator(id) => {
                let profile = state.operators.entry(id).or_default();
                profile.time_ns += spent;
                profile.wall_ns += spent;
                profile.wall_waits.add(&asked.waits);
                profile.storage.add(&asked);
            }
            // The counts are those of the parts that this thread ran.
            At::Parts => state.parts_ns += spent,
        }
        if let At::Operator(id) = to {
            state.operators.entry(id).or_default();
        }
        from
    }

    /// The operator at work.
    pub(crate) fn current(&self) -> Option<OperatorId> {
        if let At::Operator(id) = self.state.borrow().current { Some(id) } else { None }
    }

    /// Counts a batch that an operator gave.
    pub(crate) fn gave(&self, id: OperatorId, rows: usize) {
        let mut state = self.state.borrow_mut();
        let profile = state.operators.entry(id).or_default();
        profile.rows += rows as u64;
        profile.batches += 1;
    }

    /// Adds what parts measured, each on some thread, and divides among their operators the time that has passed at
    /// [`At::Parts`].
    pub(crate) fn add<'m>(&self, parts: impl IntoIterator<Item = &'m Map<OperatorId, OperatorProfile>>) {
        let current = self.state.borrow().current;
        self.switch(current);
        let mut all: Map<OperatorId, OperatorProfile> = Map::default();
        for (&id, profile) in parts.into_iter().flatten() {
            let sum = all.entry(id).or_default();
            sum.rows += profile.rows;
            sum.batches += profile.batches;
            sum.time_ns += profile.time_ns;
            sum.storage.add(&profile.storage);
        }
        let mut state = self.state.borrow_mut();
        let passed = std::mem::take(&mut state.parts_ns);
        divide(&mut all, passed);
        for (id, profile) in all {
            let sum = state.operators.entry(id).or_default();
            sum.rows += profile.rows;
            sum.batches += profile.batches;
            sum.time_ns += profile.time_ns;
            sum.wall_ns += profile.wall_ns;
            sum.wall_waits.add(&profile.wall_waits);
            sum.storage.add(&profile.storage);
        }
    }

    /// Returns the measurements.
    pub(crate) fn finish(self) -> Map<OperatorId, OperatorProfile> {
        self.switch(At::Outside);
        self.state.into_inner().operators
    }
}

/// Divides the time that passed among operators in proportion to the time of their threads.
fn divide(operators: &mut Map<OperatorId, OperatorProfile>, passed_ns: u64) {
    let time: u64 = operators.values().map(|profile| profile.time_ns).sum();
    let mut left = passed_ns;
    for profile in operators.values_mut() {
        profile.wall_ns = meter::share(profile.time_ns, passed_ns, time);
        profile.wall_waits = profile.storage.waits.share(passed_ns, time);
        left -= profile.wall_ns;
    }
    // The rest of rounding, or all where no clock has moved.
    let most = operators.iter_mut().max_by_key(|(id, profile)| (profile.time_ns, std::cmp::Reverse(**id)));
    if let Some((_, profile)) = most {
        profile.wall_ns += left;
    }
}

#[cfg(test)]
mod tests;
