//! Phases of a statement: the time from its text to its end, each nanosecond in one of them.
//!
//! Cost: a look at the clock where one phase ends and the next begins; a statement that reads by a plan of the cache into memory
//! has one, besides its start and its end.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cypher::CompileTimes;
use model::meter::{self, Wait, Waits};
use model::platform::Clock;

/// Part of the work for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Text to syntax tree.
    Parse,
    /// Names to what they mean.
    Bind,
    /// Choice of operators and their order.
    Plan,
    /// Operators made ready to run.
    Prepare,
    /// Operators at work.
    Run,
    /// Reads of the labels and properties of nodes and edges that stand in the result.
    Records,
    /// Writes made durable and visible.
    Commit,
    /// Attempts that another transaction came before.
    Retry,
    /// The consumer of the rows at work.
    Deliver,
    /// All between: the look into the plan cache, snapshots, accounts.
    Between,
}

const PHASES: usize = 10;

impl Phase {
    /// All of them, in the order of reports.
    pub const ALL: [Phase; PHASES] = [
        Phase::Parse,
        Phase::Bind,
        Phase::Plan,
        Phase::Prepare,
        Phase::Run,
        Phase::Records,
        Phase::Commit,
        Phase::Retry,
        Phase::Deliver,
        Phase::Between,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Parse => "parse",
            Phase::Bind => "bind",
            Phase::Plan => "plan",
            Phase::Prepare => "prepare",
            Phase::Run => "run",
            Phase::Records => "records",
            Phase::Commit => "commit",
            Phase::Retry => "retry",
            Phase::Deliver => "deliver",
            Phase::Between => "between",
        }
    }
}

/// Times of the phases of a statement, on the thread that drives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Nanoseconds of each, waits among them.
    spent_ns: [u64; PHASES],
    /// Apart, since most statements wait for nothing.
    waits: Option<Box<[Waits; PHASES]>>,
    /// True if its plan was found in the plan cache.
    pub is_plan_cached: bool,
}

impl Phases {
    /// Nanoseconds of a phase, without those spent in the queue.
    pub fn ns(&self, phase: Phase) -> u64 {
        self.spent_ns[phase as usize].saturating_sub(self.waited(phase, Wait::Queue))
    }

    /// Nanoseconds of a phase in which its thread worked.
    pub fn worked_ns(&self, phase: Phase) -> u64 {
        let (ns, waited) = (self.spent_ns[phase as usize], self.waits(phase).total());
        debug_assert!(waited <= ns, "a phase waits no longer than it lasts");
        ns.saturating_sub(waited)
    }

    /// Time that its thread waited in a phase.
    pub fn waits(&self, phase: Phase) -> Waits {
        self.waits.as_ref().map_or(Waits::NOTHING, |waits| waits[phase as usize])
    }

    fn waited(&self, phase: Phase, wait: Wait) -> u64 {
        self.waits.as_ref().map_or(0, |waits| waits[phase as usize].of(wait))
    }

    /// Nanoseconds spent in the queue, in all phases.
    pub fn queue_ns(&self) -> u64 {
        Phase::ALL.iter().map(|&phase| self.waited(phase, Wait::Queue)).sum()
    }

    /// Nanoseconds of all phases, and in the queue: the whole.
    pub fn whole_ns(&self) -> u64 {
        self.spent_ns.iter().sum()
    }

    /// Nanoseconds of the phases that make a plan of a text.
    pub fn compile_ns(&self) -> u64 {
        [Phase::Parse, Phase::Bind, Phase::Plan, Phase::Prepare].iter().map(|&phase| self.ns(phase)).sum()
    }

    fn charge(&mut self, phase: Phase, ns: u64, waits: &Waits) {
        self.spent_ns[phase as usize] += ns;
        if *waits != Waits::NOTHING {
            self.waits.get_or_insert_default()[phase as usize].add(waits);
        }
    }

    /// Calls what was spent in `from` so far `to`.
    fn move_all(&mut self, from: Phase, to: Phase) {
        let (ns, waits) = (std::mem::take(&mut self.spent_ns[from as usize]), self.waits(from));
        if let Some(all) = &mut self.waits {
            all[from as usize] = Waits::NOTHING;
        }
        self.charge(to, ns, &waits);
    }
}

/// A watch that is always in some phase.
pub(crate) struct Stopwatch {
    clock: Arc<dyn Clock>,
    current: Cell<Phase>,
    since_ns: Cell<u64>,
    since: Cell<Waits>,
    phases: RefCell<Phases>,
}

impl Stopwatch {
    /// A watch that has gone since that time, between phases.
    pub(crate) fn start(clock: Arc<dyn Clock>, now_ns: u64) -> Stopwatch {
        Stopwatch {
            clock,
            current: Cell::new(Phase::Between),
            since_ns: Cell::new(now_ns),
            since: Cell::new(meter::waits()),
            phases: RefCell::default(),
        }
    }

    /// Ends a phase and begins another; returns the one before.
    pub(crate) fn switch(&self, to: Phase) -> Phase {
        let now = self.clock.now_ns();
        let waits = meter::waits();
        let ns = now.saturating_sub(self.since_ns.replace(now));
        let waited = waits.since(self.since.replace(waits));
        let from = self.current.replace(to);
        self.phases.borrow_mut().charge(from, ns, &waited);
        from
    }

    /// Does some work in a phase.
    pub(crate) fn during<T>(&self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let before = self.switch(phase);
        let result = work();
        self.switch(before);
        result
    }

    /// Divides time of the phase under way that a compilation took.
    pub(crate) fn compiled(&self, times: CompileTimes) {
        let current = self.current.get();
        self.switch(current);
        let mut phases = self.phases.borrow_mut();
        let nothing = Waits::NOTHING;
        for (phase, ns) in [(Phase::Parse, times.parse_ns), (Phase::Bind, times.bind_ns), (Phase::Plan, times.plan_ns)]
        {
            let ns = ns.min(phases.worked_ns(current));
            phases.spent_ns[current as usize] -= ns;
            phases.charge(phase, ns, &nothing);
        }
    }

    /// Notes that the plan was found in the cache.
    pub(crate) fn found_plan(&self) {
        self.phases.borrow_mut().is_plan_cached = true;
    }

    /// Notes that what was run and committed so far was in vain, and is tried again after a while between phases.
    pub(crate) fn in_vain(&self) {
        self.switch(Phase::Between);
        let mut phases = self.phases.borrow_mut();
        [Phase::Run, Phase::Records, Phase::Commit].into_iter().for_each(|phase| phases.move_all(phase, Phase::Retry));
    }

    /// Times up to that moment, which is the end.
    pub(crate) fn into_phases(self, now_ns: u64) -> Phases {
        let ns = now_ns.saturating_sub(self.since_ns.get());
        let mut phases = self.phases.into_inner();
        phases.charge(self.current.get(), ns, &meter::waits().since(self.since.get()));
        phases
    }

    /// Times so far.
    pub(crate) fn phases(&self) -> Phases {
        let current = self.current.get();
        self.switch(current);
        self.phases.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cypher::CompileTimes;
    use model::meter::{self, Wait};
    use model::platform::Clock;
    use testing::simulation::SetClock;

    use super::{Phase, Stopwatch};

    #[test]
    fn every_nanosecond_is_in_one_phase() {
        let clock = Arc::new(SetClock::default());
        let _timed = meter::timed_by(clock.clone());
        let watch = Stopwatch::start(clock.clone(), 0);
        clock.pass(100);
        watch.compiled(CompileTimes { parse_ns: 10, bind_ns: 20, plan_ns: 30 });
        watch.during(Phase::Prepare, || clock.pass(7));
        watch.switch(Phase::Run);
        clock.pass(50);
        {
            let _waiting = meter::waiting(Wait::Queue);
            clock.pass(5);
        }
        watch.in_vain();
        clock.pass(3);
        watch.during(Phase::Commit, || {
            clock.pass(1);
            let _waiting = meter::waiting(Wait::Log);
            clock.pass(1_000);
        });
        watch.during(Phase::Deliver, || clock.pass(9));
        let phases = watch.phases();
        let expected = [
            (Phase::Parse, 10),
            (Phase::Bind, 20),
            (Phase::Plan, 30),
            (Phase::Prepare, 7),
            (Phase::Run, 0),
            (Phase::Records, 0),
            (Phase::Commit, 1_001),
            (Phase::Retry, 50),
            (Phase::Deliver, 9),
            (Phase::Between, 43),
        ];
        for (phase, ns) in expected {
            assert_eq!(phases.ns(phase), ns, "{}", phase.name());
        }
        assert_eq!((phases.worked_ns(Phase::Commit), phases.waits(Phase::Commit).of(Wait::Log)), (1, 1_000));
        assert_eq!((phases.queue_ns(), phases.compile_ns(), phases.whole_ns()), (5, 67, 1_175));
        assert_eq!(clock.now_ns(), 1_175);
    }
}
