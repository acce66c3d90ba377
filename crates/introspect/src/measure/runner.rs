//! The passes of a measurement in their order, each within its share of the time.
//!
//! Invariant: of all the time, warm and hot calls may have five eighths. Each pass has half of an equal share of that for itself, which
//! no pass or call before it may use up; what passes leave over goes to those that need more. So every operation has hot figures, unless
//! one call of it takes longer than is left then.

use std::time::Duration;

use model::platform::Clock;
use model::{Error, ErrorCode, Interrupt, Result};

use super::{Cut, LeftOut, MeasureOptions, Measurements, Regime, Run, SweepPoint, Times};
use crate::operations::{Operation, Way};
use crate::subject::{Call, Choice, Counts, Start, Subject, lend_edges};

/// Nodes of the smallest working set of the sweep; each next one is four times as large.
const SWEEP_NODES_MIN: u64 = 256;
/// Calls of a statement whose counts are asked for.
const COUNTED_MAX: usize = 100;
/// Parts of the time, in eighths: warm and hot calls, of which the scan before them takes some; starts by degree and the sweep; cold calls.
const EIGHTHS: u64 = 8;
const WARM_AND_HOT: u64 = 5;
const SCAN: u64 = 2;
const BY_DEGREE: u64 = 1;
const COLD: u64 = 2;

/// Measures a subject.
///
/// # Errors
/// `CANCELLED`, and errors of the subject outside of calls; those of calls stand in their runs.
pub fn measure(
    subject: &mut dyn Subject,
    options: &MeasureOptions,
    clock: &dyn Clock,
    interrupt: &Interrupt,
) -> Result<Measurements> {
    let _listening = interrupt.listen();
    let variants: Vec<(Operation, Way)> = Operation::all()
        .into_iter()
        .chain(subject.statements())
        .flat_map(|operation| [(operation, Way::Api), (operation, Way::Cypher)])
        .filter(|(operation, way)| !operation.is_write() && subject.can(*operation, *way))
        .collect();
    let by_degree = variants.iter().copied().filter(|(operation, way)| is_by_degree(*operation, *way));
    let by_degree: Vec<(Operation, Way)> = by_degree.collect();
    let mut runner = Runner {
        options,
        clock,
        interrupt,
        timer_ns: subject.timer_ns(),
        start_ns: clock.now_ns(),
        end_ns: u64::MAX,
        passes: 0,
        share_ns: 0,
        done: 0,
        total: (variants.len() * 2 + by_degree.len()) as u64,
        runs: Vec::new(),
        cut: Cut::default(),
        given_up: Vec::new(),
        answered: Vec::new(),
    };
    let mut starts = subject.choose(Choice::Uniform, options.calls_max, options.seed)?;
    lend_edges(&mut starts);
    let starts: Vec<Start> = starts.into_iter().enumerate().map(|(turn, start)| Start { turn, ..start }).collect();
    // Cold calls may come last if caches can be emptied; else they are cold only as long as they come first.
    let comes_last = subject.can_cool();
    if !comes_last {
        runner.cold_calls(subject, &variants, &starts, COLD)?;
    }
    let before = if comes_last { 0 } else { COLD };
    runner.warm_and_hot_calls(subject, &variants, &starts, before)?;
    let sweep = runner.calls_by_degree(subject, &by_degree, before + WARM_AND_HOT + BY_DEGREE)?;
    if comes_last {
        runner.cold_calls(subject, &variants, &starts, EIGHTHS)?;
    }
    subject.limit(None);
    let description = subject.describe()?.plain();
    if options.writes {
        runner.write(subject, &starts)?;
    }
    let Runner { mut runs, cut, timer_ns, .. } = runner;
    runs.sort_by_key(|run| place(run, &variants));
    Ok(Measurements { description, runs, sweep, timer_ns, cut })
}

/// Place of a run among all: by regime, then as operations are listed; writes and starts by degree stand at the end.
fn place(run: &Run, variants: &[(Operation, Way)]) -> (bool, bool, bool, usize) {
    let at = variants.iter().position(|variant| *variant == (run.operation, run.way)).unwrap_or(usize::MAX);
    (run.operation.is_write(), run.choice != Choice::Uniform, run.regime != Regime::Cold, at)
}

/// True for operations whose cost follows the degree of their start.
fn is_by_degree(operation: Operation, way: Way) -> bool {
    way == Way::Api && matches!(operation, Operation::Neighbors(..) | Operation::Hops(_, 1))
}

struct Runner<'a> {
    options: &'a MeasureOptions,
    clock: &'a dyn Clock,
    interrupt: &'a Interrupt,
    timer_ns: f64,
    start_ns: u64,
    /// End of the part of the time that is under way.
    end_ns: u64,
    /// Passes that are to come in this part, and the time that each has for itself.
    passes: u64,
    share_ns: u64,
    done: u64,
    total: u64,
    runs: Vec<Run>,
    cut: Cut,
    /// Operations of which a call took all its time, and the words for that.
    given_up: Vec<(Operation, Way, String)>,
    /// Operations of which a call took all its time after others, and the number of those: the next pass has no more.
    answered: Vec<(Operation, Way, Choice, usize)>,
}

impl Runner<'_> {
    fn step(&mut self) -> Result<()> {
        self.done += 1;
        self.interrupt.step(self.done, self.total)
    }

    /// The time that there is up to so many eighths of all.
    fn until(&self, eighths: u64) -> u64 {
        let part = u128::from(self.options.total_ns_max) * u128::from(eighths) / u128::from(EIGHTHS);
        self.start_ns.saturating_add(part as u64)
    }

    fn is_over(&self) -> bool {
        self.clock.now_ns() >= self.end_ns
    }

    /// Nanoseconds that are left of this part.
    fn left_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.clock.now_ns())
    }

    /// Begins a part of the time in which there are so many passes.
    fn begin(&mut self, until: u64, passes: usize) {
        self.end_ns = self.until(until);
        self.passes = passes as u64;
        self.share_ns = self.left_ns() / (2 * self.passes.max(1));
    }

    /// Time in which a pass makes calls, and the time that one of its calls may take.
    fn times_of_pass(&self) -> (u64, u64) {
        let left = self.left_ns();
        let equal = left / (2 * (self.passes + 1));
        let pass = self.options.operation_ns_max.min(self.share_ns.max(equal));
        let free = left.saturating_sub(self.passes.saturating_mul(self.share_ns));
        (pass, free.max(self.share_ns).min(left))
    }

    fn run(
        &mut self,
        subject: &mut dyn Subject,
        (operation, way): (Operation, Way),
        (regime, choice): (Regime, Choice),
        starts: &[Start],
    ) -> Result<()> {
        self.passes = self.passes.saturating_sub(1);
        let mut run = Run { operation, way, regime, choice, calls: Vec::new(), error: None };
        if let Some((_, _, cause)) = self.given_up.iter().find(|held| (held.0, held.1) == (operation, way)) {
            run.error = Some(cause.clone());
            self.runs.push(run);
            return Ok(());
        }
        if self.is_over() {
            self.cut.left_out.push(LeftOut { operation, way, regime, choice });
            return Ok(());
        }
        let (pass_ns, call_ns) = match operation.is_write() {
            true => (self.options.operation_ns_max, None),
            false => {
                let (pass, call) = self.times_of_pass();
                (pass, Some(Duration::from_millis((call / 1_000_000).max(1))))
            }
        };
        subject.limit(call_ns);
        let end_ns = self.clock.now_ns().saturating_add(pass_ns).min(self.end_ns);
        let what = (operation, way, choice);
        let answered = self.answered.iter().find(|held| (held.0, held.1, held.2) == what);
        for start in starts.iter().take(answered.map_or(usize::MAX, |held| held.3)) {
            match subject.perform(operation, way, start) {
                Ok(call) => run.calls.push(self.untimed(call)),
                Err(error) => {
                    self.interrupt.check()?;
                    self.note_failure(&mut run, &error);
                    break;
                }
            }
            if self.clock.now_ns() >= end_ns {
                break;
            }
        }
        self.runs.push(run);
        self.interrupt.check()
    }

    /// An operation that took all its time at once will do so again, unless that was for cold caches.
    fn note_failure(&mut self, run: &mut Run, error: &Error) {
        let cause = error.to_string();
        if error.code() == ErrorCode::Timeout && run.regime != Regime::Cold {
            match run.calls.len() {
                0 => self.given_up.push((run.operation, run.way, cause.clone())),
                calls => self.answered.push((run.operation, run.way, run.choice, calls)),
            }
        }
        run.error = Some(cause);
    }

    /// The first passes after caches were emptied, up to so many eighths of the time.
    fn cold_calls(
        &mut self,
        subject: &mut dyn Subject,
        variants: &[(Operation, Way)],
        starts: &[Start],
        until: u64,
    ) -> Result<()> {
        self.begin(until, variants.iter().filter(|(operation, _)| !operation.is_of_whole_graph()).count());
        for what in variants {
            self.step()?;
            if what.0.is_of_whole_graph() {
                continue;
            }
            let Ok(starts) = subject.starts(what.0, starts) else { continue };
            if !self.is_over() {
                subject.cool()?;
            }
            let count = starts.len().min(self.options.cold_calls_max);
            self.run(subject, *what, (Regime::Cold, Choice::Uniform), &starts[..count])?;
        }
        Ok(())
    }

    /// The scan, and two passes of each operation after it. Those of the whole graph come last: they take the most time.
    fn warm_and_hot_calls(
        &mut self,
        subject: &mut dyn Subject,
        variants: &[(Operation, Way)],
        starts: &[Start],
        before: u64,
    ) -> Result<()> {
        self.end_ns = self.until(before + SCAN);
        self.scan(subject)?;
        self.begin(before + WARM_AND_HOT, 2 * variants.len());
        let mut ordered = variants.to_vec();
        ordered.sort_by_key(|(operation, _)| operation.is_of_whole_graph());
        for what in ordered {
            self.step()?;
            self.warm_and_hot(subject, what, starts)?;
        }
        Ok(())
    }

    /// Scans everything, as far as there is time.
    fn scan(&mut self, subject: &mut dyn Subject) -> Result<()> {
        subject.limit(Some(Duration::from_nanos(self.left_ns())));
        match subject.warm() {
            Err(error) if error.code() == ErrorCode::Timeout => {
                self.interrupt.check()?;
                self.cut.is_scan_ended = true;
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// The pass after everything was scanned, and the one after that. Where all calls are the same, the second has as many as
    /// there is time for.
    fn warm_and_hot(&mut self, subject: &mut dyn Subject, what: (Operation, Way), starts: &[Start]) -> Result<()> {
        let starts = match subject.starts(what.0, starts) {
            Ok(starts) => starts,
            Err(cause) => {
                let (regime, choice, error) = (Regime::Hot, Choice::Uniform, Some(cause.to_string()));
                self.runs.push(Run { operation: what.0, way: what.1, regime, choice, calls: Vec::new(), error });
                self.passes = self.passes.saturating_sub(2);
                return Ok(());
            }
        };
        self.run(subject, what, (Regime::Warm, Choice::Uniform), &starts)?;
        let is_statement = matches!(what.0, Operation::Statement(_));
        let hot = match &starts[..] {
            [start] if is_statement => vec![start.clone(); self.options.calls_max],
            _ => starts,
        };
        self.run(subject, what, (Regime::Hot, Choice::Uniform), &hot)?;
        if is_statement { self.count(subject, what.0, &hot) } else { Ok(()) }
    }

    /// Adds to hot calls of a statement the counts of what they touch, as far as there is time.
    fn count(&mut self, subject: &mut dyn Subject, operation: Operation, starts: &[Start]) -> Result<()> {
        let end_ns = self.clock.now_ns().saturating_add(self.options.operation_ns_max).min(self.end_ns);
        let run = self.runs.iter_mut().rfind(|run| run.operation == operation && run.regime == Regime::Hot);
        let Some(run) = run else { return Ok(()) };
        let mut known: Option<(usize, Counts)> = None;
        for (call, start) in run.calls.iter_mut().zip(starts).take(COUNTED_MAX) {
            let again = known.filter(|(turn, _)| *turn == start.turn).map(|(_, counts)| counts);
            let counted = match again {
                Some(counts) => Some(counts),
                None => subject.count(operation, start).unwrap_or(None),
            };
            self.interrupt.check()?;
            let Some(counts) = counted else { break };
            known = Some((start.turn, counts));
            let Counts { block_uses, block_misses, bytes_read, .. } = call.counts;
            call.counts = Counts { block_uses, block_misses, bytes_read, ..counts };
            if self.clock.now_ns() >= end_ns {
                break;
            }
        }
        Ok(())
    }

    /// The sweep, and passes from starts by degree, up to so many eighths of the time.
    fn calls_by_degree(
        &mut self,
        subject: &mut dyn Subject,
        variants: &[(Operation, Way)],
        until: u64,
    ) -> Result<Vec<SweepPoint>> {
        self.begin(until, 2 * variants.len());
        let sweep = self.sweep(subject)?;
        if variants.is_empty() {
            return Ok(sweep);
        }
        subject.limit(None);
        let starts = subject.choose(Choice::ByDegree, self.options.calls_max, self.options.seed)?;
        for what in variants {
            self.step()?;
            for regime in [Regime::Warm, Regime::Hot] {
                self.run(subject, *what, (regime, Choice::ByDegree), &starts)?;
            }
        }
        Ok(sweep)
    }

    /// Measures writes on a copy, for which there is time beyond that of the reads.
    fn write(&mut self, subject: &mut dyn Subject, starts: &[Start]) -> Result<()> {
        // Reads are kept where there can be no copy.
        if let Err(error) = subject.copy() {
            self.interrupt.check()?;
            let (operation, regime, error) = (Operation::AddNode, Regime::Hot, Some(error.to_string()));
            let (way, choice) = (Way::Api, Choice::Uniform);
            self.runs.push(Run { operation, way, regime, choice, calls: Vec::new(), error });
            return Ok(());
        }
        self.end_ns = self.clock.now_ns().saturating_add(self.options.total_ns_max);
        for operation in Operation::all().into_iter().filter(|operation| operation.is_write()) {
            let starts = if operation.is_of_whole_graph() { &starts[..1] } else { starts };
            for way in [Way::Api, Way::Cypher] {
                if subject.can(operation, way) {
                    self.run(subject, (operation, way), (Regime::Hot, Choice::Uniform), starts)?;
                }
            }
        }
        Ok(())
    }

    fn untimed(&self, call: Call) -> Call {
        Call { ns: call.ns.saturating_sub(self.timer_ns as u64).max(1), ..call }
    }

    /// Reads a property from working sets of growing size, twice; the second time counts.
    fn sweep(&mut self, subject: &mut dyn Subject) -> Result<Vec<SweepPoint>> {
        let (operation, way) = (Operation::NodeInteger, Way::Api);
        let all = subject.describe()?.nodes;
        let mut points = Vec::new();
        let mut nodes = SWEEP_NODES_MIN;
        while subject.can(operation, way) && points.last().is_none_or(|point: &SweepPoint| point.nodes < all) {
            self.interrupt.check()?;
            let times = match self.working_set(subject, nodes.min(all)) {
                Err(error) if error.code() == ErrorCode::Timeout => None,
                outcome => outcome?,
            };
            let Some(times) = times else {
                self.interrupt.check()?;
                self.cut.is_sweep_ended = true;
                break;
            };
            points.push(SweepPoint { nodes: nodes.min(all), ns: times.percentile(50), calls: times.count() });
            nodes *= 4;
        }
        Ok(points)
    }

    /// Times of reads from so many nodes; `None` if the time ended before.
    fn working_set(&mut self, subject: &mut dyn Subject, nodes: u64) -> Result<Option<Times>> {
        let (operation, way) = (Operation::NodeInteger, Way::Api);
        if self.is_over() {
            return Ok(None);
        }
        subject.limit(Some(Duration::from_nanos(self.left_ns())));
        let starts = subject.choose(Choice::Within(nodes), self.options.calls_max, self.options.seed)?;
        let mut times = Vec::new();
        for is_measured in [false, true] {
            for start in &starts {
                let call = subject.perform(operation, way, start)?;
                if is_measured {
                    times.push(self.untimed(call).ns as f64);
                }
                if self.is_over() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(Times::of(times)))
    }
}
