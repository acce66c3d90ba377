//! Two measurements compared: ratios of medians with their intervals, judged against the noise between runs of the same.
//!
//! The interval is that of the bootstrap: both sets of times are drawn anew, with replacement, many times. It tells the
//! spread within a run. That between runs of the same program is larger, so a change must also be beyond the *noise*
//! ([`noise`]), which is bounded for all operations together. Where a side was measured several times, an operation has
//! changed only if each measurement of the one is on the same side of each measurement of the other.
//!
//! After: Efron, "Bootstrap methods: another look at the jackknife", 1979.

mod noise;
mod text;

use model::{Error, ErrorCode, Interrupt, Result};

use noise::{Noise, Spread};

use crate::report::{Stored, StoredRun};

pub use text::to_text;

/// Times drawn anew; the interval of 95 % leaves the outermost 2.5 % of them on both sides.
const RESAMPLES: usize = 400;
const OUTSIDE: usize = RESAMPLES / 40;
/// Calls on both sides below which nothing is judged.
const CALLS_MIN: usize = 8;
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
    /// Median of the base in nanoseconds. Of several measurements of a side, those two stand here whose medians are nearest.
    pub base_ns: f64,
    /// Median of the other in nanoseconds.
    pub new_ns: f64,
    /// The new median over that of the base.
    pub ratio: f64,
    /// Interval of 95 % of the ratio.
    pub interval: (f64, f64),
    /// Ratio up to which a change is noise.
    pub noise: f64,
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
    /// True if there is a repetition of a side, from which the noise is known.
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

/// Compares measurements with those of the base. The first of each side is named and looked for missing operations; more of
/// them show the noise between runs, and a change must be in all.
///
/// # Errors
/// `ARGUMENT` if a side has no calls, or graphs or machines differ; `CANCELLED`.
pub fn compare(base: &[Stored], new: &[Stored], options: &CompareOptions, interrupt: &Interrupt) -> Result<Comparison> {
    let ([first, ..], [other, ..]) = (base, new) else {
        return Err(Error::new(ErrorCode::Argument, "a comparison needs two measurements"));
    };
    let mut doubts = check_alike(first, other)?;
    for repetition in base[1..].iter().chain(&new[1..]) {
        check_alike(first, repetition)?;
    }
    for side in [base, new] {
        refuse_repeated(side)?;
    }
    let mut runs = Vec::new();
    for run in first.runs.iter().filter(|run| run.calls > 0 && twin(other, run).is_some()) {
        interrupt.check()?;
        let spreads = |side: &[Stored], numbered: usize| -> Vec<Spread> {
            let twins = side.iter().enumerate().filter_map(|(at, of)| Some((at, twin(of, run)?)));
            twins.map(|(at, twin)| Spread::of(twin, options.seed, numbered + at)).collect()
        };
        runs.push(Compared { run, base: spreads(base, 0), new: spreads(new, base.len()) });
    }
    let noise = Noise::of(&runs);
    let changes = runs.iter().map(|held| change(held, &noise, options)).collect();
    if new.iter().any(|new| new.disagreements != first.disagreements) {
        doubts.push(format!("answers of calls and statements differ: {}", other.disagreements.join(", ")));
    }
    Ok(Comparison {
        names: [first.name.clone(), other.name.clone()],
        changes,
        only_base: missing(first, other),
        only_new: missing(other, first),
        is_repeated: base.len().max(new.len()) > 1,
        ratio_max: options.ratio_max,
        doubts,
    })
}

/// Refuses a measurement that is there twice: it would show no noise.
fn refuse_repeated(side: &[Stored]) -> Result<()> {
    let times = |of: &Stored| of.runs.iter().map(|run| run.samples_ns.clone()).collect::<Vec<_>>();
    for (at, measured) in side.iter().enumerate() {
        if let Some(same) = side[..at].iter().find(|earlier| times(earlier) == times(measured)) {
            let message = format!("{} and {} are one measurement", same.name, measured.name);
            let remedy = "give one that was measured again: the noise is what differs between them";
            return Err(Error::new(ErrorCode::Argument, message).with_remedy(remedy));
        }
    }
    Ok(())
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

/// A run in all measurements of both sides.
struct Compared<'a> {
    run: &'a StoredRun,
    base: Vec<Spread>,
    new: Vec<Spread>,
}

fn change(Compared { run, base, new }: &Compared, noise: &Noise, options: &CompareOptions) -> Change {
    let (before, after) = told_pair(base, new);
    let ratio = (after.median_ln - before.median_ln).exp();
    let interval = after.interval_over(before);
    let bound = noise.bound(run, before, after);
    let verdict = match ratio {
        _ if before.calls.min(after.calls) < CALLS_MIN => Verdict::TooFew,
        ratio if ratio > bound.max(options.ratio_max) && interval.0 > 1.0 => Verdict::Fails,
        ratio if ratio > bound && interval.0 > 1.0 => Verdict::Slower,
        ratio if ratio < 1.0 / bound && interval.1 < 1.0 => Verdict::Faster,
        _ => Verdict::Same,
    };
    Change {
        layer: run.layer.clone(),
        name: key(run).map(str::to_owned),
        base_ns: before.median_ln.exp(),
        new_ns: after.median_ln.exp(),
        ratio,
        interval,
        noise: bound,
        verdict,
    }
}

/// Two measurements, one of each side, which stand for all: those whose medians are nearest to each other, so that a change is
/// in all the others too.
fn told_pair<'a>(base: &'a [Spread], new: &'a [Spread]) -> (&'a Spread, &'a Spread) {
    let pairs = base.iter().flat_map(|base| new.iter().map(move |new| (base, new)));
    let difference = |(base, new): &(&Spread, &Spread)| (new.median_ln - base.median_ln).abs();
    let nearest = pairs.min_by(|one, other| difference(one).total_cmp(&difference(other)));
    nearest.expect("a compared run is in both sides")
}

#[cfg(test)]
mod tests;
