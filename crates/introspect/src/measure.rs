//! Measurement of a subject: every operation with cold, warm and hot caches, within limits of time.
//!
//! *Cold* is the first pass after caches were emptied, *warm* a pass after everything was scanned, so that caches are full
//! but not of what is asked for, *hot* the same calls once more. The cost of timing is taken off each call.
//!
//! - `runner`: the passes in their order, each within its share of the time.
//! - `cut`: what there was no time for.

mod cut;
mod runner;

use crate::machine::Effort;
use crate::operations::{Layer, Operation, Way};
use crate::subject::{Call, Choice, Description};

pub use cut::{Cut, LeftOut};
pub use runner::measure;

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
    /// Runs and passes that were left out or ended because the time was over.
    pub cut: Cut,
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
