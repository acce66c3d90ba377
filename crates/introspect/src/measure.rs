//! Measurement of a subject: every operation with cold, warm and hot caches, within limits of time.
//!
//! *Cold* is the first pass after caches were emptied, *warm* a pass after everything was scanned, so that caches are full
//! but not of what is asked for, *hot* the same calls once more. The cost of timing is taken off each call.

use model::platform::Clock;
use model::{Interrupt, Result};

use crate::machine::Effort;
use crate::operations::{Layer, Operation, Way};
use crate::subject::{Call, Choice, Counts, Description, Start, Subject};

/// State of the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// Emptied as far as that goes.
    Cold,
    /// Full, though not of what is asked for.
    Warm,
    /// Full of what is asked for.
    Hot,
}

impl Regime {
    /// All regimes, in the order of measurement.
    pub const ALL: [Regime; 3] = [Regime::Cold, Regime::Warm, Regime::Hot];

    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Regime::Cold => "cold",
            Regime::Warm => "warm",
            Regime::Hot => "hot",
        }
    }
}

/// Limits of a measurement.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// Calls of an operation in one regime.
    pub calls_max: usize,
    /// Calls of an operation after caches were emptied.
    pub cold_calls_max: usize,
    /// Nanoseconds of an operation in one regime, after which no further call is made.
    pub operation_ns_max: u64,
    /// Nanoseconds of all, after which no further operation is measured.
    pub total_ns_max: u64,
    /// Seed of the starts.
    pub seed: u64,
    /// True if operations that write are measured too, on a copy.
    pub writes: bool,
}

impl MeasureOptions {
    /// Limits of that effort.
    pub fn new(effort: Effort) -> MeasureOptions {
        match effort {
            Effort::Quick => MeasureOptions {
                calls_max: 1_000,
                cold_calls_max: 40,
                operation_ns_max: 150_000_000,
                total_ns_max: 42_000_000_000,
                seed: 1,
                writes: false,
            },
            Effort::Full => MeasureOptions {
                calls_max: 10_000,
                cold_calls_max: 200,
                operation_ns_max: 1_000_000_000,
                total_ns_max: 400_000_000_000,
                seed: 1,
                writes: false,
            },
        }
    }
}

/// Calls of an operation in one regime.
#[derive(Clone, Debug)]
pub struct Run {
    /// Operation that was performed.
    pub operation: Operation,
    /// Way in which it was asked for.
    pub way: Way,
    /// State of the caches.
    pub regime: Regime,
    /// Choice of the starts.
    pub choice: Choice,
    /// The calls; call `n` is from start `n` of the choice.
    pub calls: Vec<Call>,
    /// Reason for which there are no more calls.
    pub error: Option<String>,
}

impl Run {
    /// Nanoseconds of the calls, in order of size.
    pub fn times(&self) -> Times {
        Times::of(self.calls.iter().map(|call| call.ns as f64).collect())
    }
}

/// Times in order of size.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<f64>);

impl Times {
    /// Sorts times.
    pub fn of(mut times: Vec<f64>) -> Times {
        times.sort_by(f64::total_cmp);
        Times(times)
    }

    /// Number of times.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// A percentile of the times; 0 without times.
    pub fn percentile(&self, percent: usize) -> f64 {
        let at = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(at).copied().unwrap_or(0.0)
    }

    /// The mean; 0 without times.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    /// The mean without the slowest of a hundred, which the machine's other work makes slow.
    pub fn trimmed_mean(&self) -> f64 {
        let kept = self.0.len() - self.0.len() / 100;
        self.0[..kept].iter().sum::<f64>() / kept.max(1) as f64
    }

    /// Counts of times by powers of two: lower bound in nanoseconds, and number.
    pub fn histogram(&self) -> Vec<(u64, usize)> {
        let mut buckets: Vec<(u64, usize)> = Vec::new();
        for time in &self.0 {
            let bound = 1 << (*time as u64).max(1).ilog2();
            match buckets.last_mut() {
                Some((last, count)) if *last == bound => *count += 1,
                _ => buckets.push((bound, 1)),
            }
        }
        buckets
    }
}

/// A point of the sweep over working sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPoint {
    /// Nodes of the working set.
    pub nodes: u64,
    /// Nanoseconds of a read of a property, half of them below.
    pub ns: f64,
    /// Calls measured.
    pub calls: usize,
}

/// All that was measured of a subject.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// The subject.
    pub description: Description,
    /// Runs, in the order of [`Operation::all`].
    pub runs: Vec<Run>,
    /// Reads of a property from working sets of growing size, hot.
    pub sweep: Vec<SweepPoint>,
    /// Nanoseconds that timing takes, taken off each call.
    pub timer_ns: f64,
    /// Operations that were left out because the time was over.
    pub left_out: usize,
}

impl Measurements {
    /// The run of an operation from evenly chosen starts.
    pub fn run(&self, operation: Operation, way: Way, regime: Regime) -> Option<&Run> {
        self.run_of(operation, way, regime, Choice::Uniform)
    }

    /// The run of an operation from starts of that choice.
    pub fn run_of(&self, operation: Operation, way: Way, regime: Regime, choice: Choice) -> Option<&Run> {
        let is_it = |run: &&Run| (run.operation, run.way, run.regime, run.choice) == (operation, way, regime, choice);
        self.runs.iter().find(is_it).filter(|run| !run.calls.is_empty())
    }

    /// The operations of a layer: those that all subjects may have, or the statements that were measured.
    pub fn operations(&self, layer: Layer) -> Vec<Operation> {
        let mut found: Vec<Operation> = Operation::all().into_iter().filter(|held| held.layer() == layer).collect();
        for run in self.runs.iter().filter(|run| layer == Layer::Statement && run.operation.layer() == layer) {
            if !found.contains(&run.operation) {
                found.push(run.operation);
            }
        }
        found
    }

    /// The trimmed mean of an operation, if it was measured.
    pub fn cost(&self, operation: Operation, way: Way, regime: Regime) -> Option<f64> {
        self.run(operation, way, regime).map(|run| run.times().trimmed_mean())
    }
}

/// Nodes of the smallest working set of the sweep; each next one is four times as large.
const SWEEP_NODES_MIN: u64 = 256;

/// Calls of a statement whose counts are asked for.
const COUNTED_MAX: usize = 100;

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
    let by_degree = variants.iter().filter(|(operation, way)| is_by_degree(*operation, *way)).count();
    let end_ns = clock.now_ns().saturating_add(options.total_ns_max);
    let timer_ns = subject.timer_ns();
    let total = (variants.len() * 2 + by_degree) as u64;
    let mut runner =
        Runner { options, clock, interrupt, timer_ns, end_ns, done: 0, total, runs: Vec::new(), left_out: 0 };
    let starts = subject.choose(Choice::Uniform, options.calls_max, options.seed)?;
    let starts: Vec<Start> = starts.into_iter().enumerate().map(|(turn, start)| Start { turn, ..start }).collect();
    for (operation, way) in &variants {
        runner.step()?;
        if operation.is_of_whole_graph() {
            continue;
        }
        if !runner.is_over() {
            subject.cool()?;
        }
        runner.cold(subject, (*operation, *way), &starts)?;
    }
    subject.warm()?;
    for (operation, way) in &variants {
        runner.step()?;
        runner.warm_and_hot(subject, (*operation, *way), &starts)?;
    }
    let sweep = runner.sweep(subject)?;
    let by_degree = subject.choose(Choice::ByDegree, options.calls_max, options.seed)?;
    for (operation, way) in variants.iter().filter(|(operation, way)| is_by_degree(*operation, *way)) {
        runner.step()?;
        for regime in [Regime::Warm, Regime::Hot] {
            runner.run(subject, (*operation, *way), (regime, Choice::ByDegree), &by_degree)?;
        }
    }
    let description = subject.describe()?;
    if options.writes {
        runner.write(subject, &starts)?;
    }
    let Runner { runs, left_out, .. } = runner;
    Ok(Measurements { description, runs, sweep, timer_ns, left_out })
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
    end_ns: u64,
    done: u64,
    total: u64,
    runs: Vec<Run>,
    left_out: usize,
}

impl Runner<'_> {
    fn step(&mut self) -> Result<()> {
        self.done += 1;
        self.interrupt.step(self.done, self.total)
    }

    fn is_over(&self) -> bool {
        self.clock.now_ns() >= self.end_ns
    }

    fn run(
        &mut self,
        subject: &mut dyn Subject,
        (operation, way): (Operation, Way),
        (regime, choice): (Regime, Choice),
        starts: &[Start],
    ) -> Result<()> {
        if self.is_over() {
            self.left_out += 1;
            return Ok(());
        }
        let end_ns = self.clock.now_ns().saturating_add(self.options.operation_ns_max).min(self.end_ns);
        let mut run = Run { operation, way, regime, choice, calls: Vec::new(), error: None };
        for start in starts {
            match subject.perform(operation, way, start) {
                Ok(call) => run.calls.push(self.untimed(call)),
                Err(error) => {
                    self.interrupt.check()?;
                    run.error = Some(error.to_string());
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

    /// The first pass after caches were emptied.
    fn cold(&mut self, subject: &mut dyn Subject, what: (Operation, Way), starts: &[Start]) -> Result<()> {
        let in_regime = (Regime::Cold, Choice::Uniform);
        match subject.starts(what.0, starts) {
            Ok(starts) => {
                let count = starts.len().min(self.options.cold_calls_max);
                self.run(subject, what, in_regime, &starts[..count])
            }
            Err(_) => Ok(()),
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
            if self.is_over() {
                self.left_out += 1;
                break;
            }
            let starts = subject.choose(Choice::Within(nodes.min(all)), self.options.calls_max, self.options.seed)?;
            let mut times = Vec::new();
            for is_measured in [false, true] {
                for start in &starts {
                    let call = subject.perform(operation, way, start)?;
                    if is_measured {
                        times.push(self.untimed(call).ns as f64);
                    }
                }
            }
            let times = Times::of(times);
            points.push(SweepPoint { nodes: nodes.min(all), ns: times.percentile(50), calls: times.count() });
            nodes *= 4;
        }
        Ok(points)
    }
}

/// Operations of which both ways gave different rows, with the number of starts where they did.
pub fn disagreements(measurements: &Measurements) -> Vec<(Operation, usize)> {
    let mut found = Vec::new();
    for run in measurements.runs.iter().filter(|run| run.way == Way::Api && run.regime == Regime::Hot) {
        // Any neighbour may be the first.
        let is_free = matches!(run.operation, Operation::FirstNeighbor(..));
        let Some(other) = measurements.run(run.operation, Way::Cypher, Regime::Hot) else { continue };
        if run.choice != Choice::Uniform {
            continue;
        }
        let differs = |(a, b): &(&Call, &Call)| a.rows != b.rows || (!is_free && a.checksum != b.checksum);
        let count = run.calls.iter().zip(&other.calls).filter(differs).count();
        if count > 0 {
            found.push((run.operation, count));
        }
    }
    found
}

#[cfg(test)]
mod tests;
