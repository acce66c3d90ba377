//! Two measurements compared: ratios of medians with their intervals, judged against the noise between runs of the same.
//!
//! The interval is that of the bootstrap: both sets of times are drawn anew, with replacement, many times. It tells the
//! spread within a run. That between runs of the same program is larger, so a change must also be beyond the *noise floor*:
//! the ratio that nine tenths of operations of the layer do not exceed between the two measurements of the base that differ most,
//! or, without a repetition, from the first to the second half of the calls of a run.
//!
//! After: Efron, "Bootstrap methods: another look at the jackknife", 1979.

mod text;

use model::{Error, ErrorCode, Interrupt, Result};

use crate::random::Stream;
use crate::report::{Stored, StoredRun};

pub use text::to_text;

/// Times drawn anew; the interval of 95 % leaves the outermost 2.5 % of them on both sides.
const RESAMPLES: usize = 400;
const OUTSIDE: usize = RESAMPLES / 40;
/// Calls on both sides below which nothing is judged.
const CALLS_MIN: usize = 8;
/// Smallest noise floor: what is below is of no interest.
const FLOOR_MIN: f64 = 1.02;
/// Ratio of a limit of the machines beyond which the machine is not the same.
const LIMIT_RATIO_MAX: f64 = 1.3;

/// Choices of a comparison.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// Ratio beyond which an operation that became slower fails the comparison: 1.1 is 10 %.
    pub ratio_max: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
}

/// Judgement of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Slower beyond what is allowed.
    Fails,
    /// Slower beyond noise.
    Slower,
    /// Faster beyond noise.
    Faster,
    /// Within noise.
    Same,
    /// Too few calls to judge.
    TooFew,
}

/// An operation in both measurements.
#[derive(Clone, Debug)]
pub struct Change {
    /// Name of the layer.
    pub layer: String,
    /// Operation, way, state of the caches, choice of the starts.
    pub name: [String; 4],
    /// Median of the base in nanoseconds.
    pub base_ns: f64,
    /// Median of the other in nanoseconds.
    pub new_ns: f64,
    /// The new median over that of the base.
    pub ratio: f64,
    /// Interval of 95 % of the ratio.
    pub interval: (f64, f64),
    /// Ratio up to which a change is noise.
    pub floor: f64,
    /// Judgement of it.
    pub verdict: Verdict,
}

/// Two measurements compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names of both.
    pub names: [String; 2],
    /// Operations that are in both, the lowest layer first.
    pub changes: Vec<Change>,
    /// Runs of the base that the other lacks.
    pub only_base: Vec<String>,
    /// Runs that the base lacks.
    pub only_new: Vec<String>,
    /// True if the noise floor is that of a repetition of the base.
    pub is_repeated: bool,
    /// Ratio that is allowed.
    pub ratio_max: f64,
    /// Sentences about what makes the comparison doubtful.
    pub doubts: Vec<String>,
}

impl Comparison {
    /// True if an operation became slower beyond what is allowed, or is no longer there.
    pub fn fails(&self) -> bool {
        !self.only_base.is_empty() || self.changes.iter().any(|change| change.verdict == Verdict::Fails)
    }
}

/// Compares a measurement with its base. `again` are further measurements of the base, for the noise between runs.
pub fn compare(
    base: &Stored,
    new: &Stored,
    again: &[Stored],
    options: &CompareOptions,
    interrupt: &Interrupt,
) -> Result<Comparison> {
    let mut doubts = check_alike(base, new)?;
    for other in again {
        check_alike(base, other)?;
    }
    let floors = Floors::of(base, new, again);
    let mut changes = Vec::new();
    for run in base.runs.iter().filter(|run| run.calls > 0) {
        interrupt.check()?;
        if let Some(other) = twin(new, run) {
            changes.push(change(run, other, floors.of_run(run), options));
        }
    }
    if new.disagreements != base.disagreements {
        doubts.push(format!("answers of calls and statements differ: {}", new.disagreements.join(", ")));
    }
    Ok(Comparison {
        names: [base.name.clone(), new.name.clone()],
        changes,
        only_base: missing(base, new),
        only_new: missing(new, base),
        is_repeated: !again.is_empty(),
        ratio_max: options.ratio_max,
        doubts,
    })
}

/// Refuses measurements whose times cannot be compared, and says what makes others doubtful.
fn check_alike(base: &Stored, new: &Stored) -> Result<Vec<String>> {
    let refuse = |message: String, remedy: &str| Err(Error::new(ErrorCode::Argument, message).with_remedy(remedy));
    let has_samples = |stored: &Stored| stored.runs.iter().all(|run| run.calls == 0 || !run.samples_ns.is_empty());
    for stored in [base, new] {
        if stored.runs.iter().all(|run| run.calls == 0) {
            return refuse(format!("{} has no calls to compare", stored.name), "measure again");
        }
        if !has_samples(stored) {
            let message = format!("{} has no times of single calls, so that no interval can be had", stored.name);
            return refuse(message, "measure again with this version of knot introspect --json");
        }
    }
    if base.size != new.size {
        let size = |stored: &Stored| format!("{} nodes and {} edges", stored.size.0, stored.size.1);
        return refuse(format!("the graphs differ: {} and {}", size(base), size(new)), "measure the same graph");
    }
    if base.processor != new.processor {
        let message = format!("the machines differ: '{}' and '{}'", base.processor, new.processor);
        return refuse(message, "measure both on one machine; knot bench report shows both beside their limits");
    }
    let mut doubts = Vec::new();
    let mut doubt = |name: &str, before: Option<f64>, after: Option<f64>| {
        if let (Some(before), Some(after)) = (before, after) {
            let ratio = after / before.max(1e-9);
            if !(1.0 / LIMIT_RATIO_MAX..=LIMIT_RATIO_MAX).contains(&ratio) {
                doubts.push(format!("the machine was not the same: {name} took ×{ratio:.2}"));
            }
        }
    };
    let (before, after) = (&base.limits, &new.limits);
    let load = |limits: &crate::report::Limits| limits.loads.last().map(|load| load.1);
    doubt("a load from memory", load(before), load(after));
    doubt("a look at the clock", Some(before.clock_ns), Some(after.clock_ns));
    let disk = |limits: &crate::report::Limits| limits.disk.as_ref().map(|disk| disk.1);
    doubt("a random read of the disk", disk(before), disk(after));
    Ok(doubts)
}

fn key(run: &StoredRun) -> [&str; 4] {
    [&run.operation, &run.way, &run.regime, &run.starts]
}

fn twin<'a>(of: &'a Stored, run: &StoredRun) -> Option<&'a StoredRun> {
    of.runs.iter().find(|other| other.calls > 0 && key(other) == key(run))
}

fn missing(from: &Stored, to: &Stored) -> Vec<String> {
    let gone = from.runs.iter().filter(|run| run.calls > 0 && twin(to, run).is_none());
    gone.map(|run| key(run).join(", ")).collect()
}

fn change(base: &StoredRun, new: &StoredRun, floor: f64, options: &CompareOptions) -> Change {
    let ratio = ratio_of_medians(&mut base.samples_ns.clone(), &mut new.samples_ns.clone());
    let interval = bootstrap(base, new, options.seed);
    let is_beyond = ratio > floor || ratio < 1.0 / floor;
    let verdict = match ratio {
        _ if base.samples_ns.len().min(new.samples_ns.len()) < CALLS_MIN => Verdict::TooFew,
        ratio if is_beyond && interval.0 > 1.0 && ratio > options.ratio_max => Verdict::Fails,
        _ if is_beyond && interval.0 > 1.0 => Verdict::Slower,
        _ if is_beyond && interval.1 < 1.0 => Verdict::Faster,
        _ => Verdict::Same,
    };
    Change {
        layer: base.layer.clone(),
        name: key(base).map(str::to_owned),
        base_ns: base.p50_ns,
        new_ns: new.p50_ns,
        ratio,
        interval,
        floor,
        verdict,
    }
}

/// The ratio of the medians of two sets of times.
fn ratio_of_medians(base: &mut [f64], new: &mut [f64]) -> f64 {
    let middle = |times: &mut [f64]| match times.len() {
        0 => 1.0,
        count => *times.select_nth_unstable_by(count / 2, f64::total_cmp).1,
    };
    let below = middle(base).max(1e-9);
    middle(new) / below
}

/// The interval of 95 % of the ratio of medians.
fn bootstrap(base: &StoredRun, new: &StoredRun, seed: u64) -> (f64, f64) {
    let stream = Stream::new(seed, &key(base).join(","));
    let mut ratios: Vec<f64> = (0..RESAMPLES as u64)
        .map(|number| {
            let mut draws = stream.draws(number);
            let mut draw = |times: &[f64]| -> Vec<f64> {
                times.iter().map(|_| times[draws.below(times.len() as u64) as usize]).collect()
            };
            let (mut base, mut new) = (draw(&base.samples_ns), draw(&new.samples_ns));
            ratio_of_medians(&mut base, &mut new)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    (ratios[OUTSIDE], ratios[RESAMPLES - 1 - OUTSIDE])
}

/// Noise floors by layer, way and state of the caches.
struct Floors(Vec<([String; 3], f64)>);

impl Floors {
    fn of(base: &Stored, new: &Stored, again: &[Stored]) -> Floors {
        let mut floors = Floors(Vec::new());
        let bases: Vec<&Stored> = [base].into_iter().chain(again).collect();
        for (at, one) in bases.iter().enumerate() {
            for other in &bases[at + 1..] {
                let pairs = one.runs.iter().filter_map(|run| Some((run, &twin(other, run)?.samples_ns[..])));
                floors.raise(pairs.map(|(run, other)| (run, &run.samples_ns[..], other)));
            }
        }
        if again.is_empty() {
            for stored in [base, new] {
                let halves = stored.runs.iter().map(|run| (run, run.samples_ns.split_at(run.samples_ns.len() / 2)));
                floors.raise(halves.map(|(run, (first, second))| (run, first, second)));
            }
        }
        floors
    }

    /// Raises each floor to the ratio that nine tenths of the pairs of times do not exceed.
    fn raise<'a>(&mut self, pairs: impl Iterator<Item = (&'a StoredRun, &'a [f64], &'a [f64])>) {
        let mut ratios: Vec<([String; 3], Vec<f64>)> = Vec::new();
        for (run, one, other) in pairs.filter(|(_, one, other)| one.len().min(other.len()) >= CALLS_MIN) {
            let ratio = ratio_of_medians(&mut one.to_vec(), &mut other.to_vec());
            let ratio = ratio.max(1.0 / ratio.max(1e-9));
            let key = Floors::key(run);
            match ratios.iter_mut().find(|(held, _)| *held == key) {
                Some((_, held)) => held.push(ratio),
                None => ratios.push((key, vec![ratio])),
            }
        }
        for (key, mut held) in ratios {
            held.sort_by(f64::total_cmp);
            let floor = held[(held.len() * 9).div_ceil(10) - 1].max(FLOOR_MIN);
            match self.0.iter_mut().find(|(of, _)| *of == key) {
                Some((_, raised)) => *raised = raised.max(floor),
                None => self.0.push((key, floor)),
            }
        }
    }

    fn key(run: &StoredRun) -> [String; 3] {
        [run.layer.clone(), run.way.clone(), run.regime.clone()]
    }

    fn of_run(&self, run: &StoredRun) -> f64 {
        let key = Floors::key(run);
        self.0.iter().find(|(held, _)| *held == key).map_or(FLOOR_MIN, |(_, floor)| *floor)
    }
}

#[cfg(test)]
mod tests;
