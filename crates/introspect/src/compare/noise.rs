//! Noise between measurements of the same: a bound that no operation of all exceeds, but in one comparison of twenty.
//!
//! The bound holds for all operations together: of two hundred, each at its own 95 %, ten would come out slower where nothing
//! changed. Differences of logarithms of medians between measurements of one side are the sample. Each is divided by its
//! scale, which is the median difference within its layer, way and caches, joined with the spread of its own calls. The
//! quotients of all operations have one tail, heavy since a machine that is disturbed slows a few calls by much; that tail
//! is a Pareto distribution, whose exponent is fitted to the tenth of quotients that are largest. With several measurements on
//! both sides a false change must come about in all of them, so that the bound for each is lower.
//!
//! Source: Hill, "A simple general approach to inference about the tail of a distribution", 1975.

use super::{CALLS_MIN, Compared, OUTSIDE, RESAMPLES};
use crate::random::Stream;
use crate::report::StoredRun;

/// Comparisons of the same in which an operation may come out as changed.
const FALSE_SHARE: f64 = 0.05;
/// The median of the absolute value of a normal variable with deviation 1.
const NORMAL_MEDIAN: f64 = 0.6745;
/// Differences of all operations that count beside those of a group, so that a small group has a scale too.
const COMMON_WEIGHT: f64 = 8.0;
/// Scale below which nothing is of interest: 1 %.
const SCALE_MIN: f64 = 0.01;
/// Exponents of a tail: from one heavier than any seen to one that is nearly normal.
const EXPONENTS: std::ops::RangeInclusive<f64> = 2.0..=8.0;
/// Share of the quotients that make the tail, and their number at the least.
const TAIL_SHARE: usize = 10;
const TAIL_MIN: usize = 5;
/// The absolute value of a normal variable with deviation 1 that a tenth exceeds: where the tail begins if nothing is known.
const NORMAL_TENTH: f64 = 1.645;

/// The median of the times of a run, with its spread.
pub(super) struct Spread {
    pub(super) calls: usize,
    /// Logarithm of the median in nanoseconds.
    pub(super) median_ln: f64,
    /// Logarithms of the medians of the first and the second half of the calls.
    halves_ln: [f64; 2],
    /// Logarithms of medians of times that were drawn anew.
    drawn_ln: Vec<f64>,
    deviation: f64,
}

impl Spread {
    /// The spread of a run of the measurement with a number.
    pub(super) fn of(run: &StoredRun, seed: u64, number: usize) -> Spread {
        let name = [&*run.operation, &run.way, &run.regime, &run.starts, &number.to_string()].join(",");
        let stream = Stream::new(seed, &name);
        let times = &run.samples_ns;
        let drawn = (0..RESAMPLES as u64).map(|number| {
            let mut draws = stream.draws(number);
            let mut drawn: Vec<f64> = times.iter().map(|_| times[draws.below(times.len() as u64) as usize]).collect();
            median_ln(&mut drawn)
        });
        let drawn_ln: Vec<f64> = drawn.collect();
        let mean = drawn_ln.iter().sum::<f64>() / RESAMPLES as f64;
        let squares: f64 = drawn_ln.iter().map(|ln| (ln - mean) * (ln - mean)).sum();
        let (first, second) = times.split_at(times.len() / 2);
        Spread {
            calls: times.len(),
            median_ln: median_ln(&mut times.clone()),
            halves_ln: [first, second].map(|half| median_ln(&mut half.to_vec())),
            drawn_ln,
            deviation: (squares / RESAMPLES as f64).sqrt(),
        }
    }

    /// The interval of 95 % of the ratio to another median.
    pub(super) fn interval_over(&self, base: &Spread) -> (f64, f64) {
        let mut differences: Vec<f64> =
            self.drawn_ln.iter().zip(&base.drawn_ln).map(|(new, base)| new - base).collect();
        differences.sort_by(f64::total_cmp);
        (differences[OUTSIDE].exp(), differences[RESAMPLES - 1 - OUTSIDE].exp())
    }
}

/// The logarithm of the median of times in nanoseconds.
fn median_ln(times: &mut [f64]) -> f64 {
    match times.len() {
        0 => 0.0,
        count => times.select_nth_unstable_by(count / 2, f64::total_cmp).1.max(1e-3).ln(),
    }
}

/// A difference between two measurements of one run, and the deviation that the spread of calls gives it.
#[derive(Clone, Copy)]
struct Difference {
    group: usize,
    ln: f64,
    deviation: f64,
}

/// The noise of a comparison.
pub(super) struct Noise {
    groups: Vec<[String; 3]>,
    /// Usual difference of each group.
    scales: Vec<f64>,
    /// Scales up to which differences are noise.
    quotient_max: f64,
}

impl Noise {
    /// The noise of runs: between the measurements of a side, or, where each side has one, between the halves of calls.
    pub(super) fn of(runs: &[Compared]) -> Noise {
        let mut groups: Vec<[String; 3]> = Vec::new();
        let (mut between, mut within) = (Vec::new(), Vec::new());
        for Compared { run, base, new } in runs {
            let key = group_key(run);
            let group = groups.iter().position(|held| *held == key).unwrap_or(groups.len());
            if group == groups.len() {
                groups.push(key);
            }
            for side in [base, new] {
                add_pairs(&mut between, group, side);
                add_halves(&mut within, group, side);
            }
        }
        let differences = if between.is_empty() { within } else { between };
        let scales = scales(groups.len(), &differences);
        let repetitions = runs.iter().map(|held| held.base.len().min(held.new.len())).max().unwrap_or(1);
        let quotient_max = quotient_max(&scales, &differences, runs.len(), repetitions);
        Noise { groups, scales, quotient_max }
    }

    /// The ratio of two medians of a run up to which they differ by noise.
    pub(super) fn bound(&self, run: &StoredRun, base: &Spread, new: &Spread) -> f64 {
        let key = group_key(run);
        let scale = self.groups.iter().position(|held| *held == key).map_or(SCALE_MIN, |group| self.scales[group]);
        (self.quotient_max * joined(scale, base.deviation.hypot(new.deviation))).exp()
    }
}

fn group_key(run: &StoredRun) -> [String; 3] {
    [run.layer.clone(), run.way.clone(), run.regime.clone()]
}

/// The scale of a difference: that of its group and that of its calls.
fn joined(scale: f64, deviation: f64) -> f64 {
    scale.hypot(deviation)
}

fn add_pairs(to: &mut Vec<Difference>, group: usize, side: &[Spread]) {
    let judged: Vec<&Spread> = side.iter().filter(|spread| spread.calls >= CALLS_MIN).collect();
    for (at, one) in judged.iter().enumerate() {
        for other in &judged[at + 1..] {
            let (ln, deviation) = (one.median_ln - other.median_ln, one.deviation.hypot(other.deviation));
            to.push(Difference { group, ln: ln.abs(), deviation });
        }
    }
}

fn add_halves(to: &mut Vec<Difference>, group: usize, side: &[Spread]) {
    for spread in side.iter().filter(|spread| spread.calls >= 2 * CALLS_MIN) {
        // A median of half the calls varies by √2 as much, and two of them differ by √2 more.
        let ln = (spread.halves_ln[0] - spread.halves_ln[1]).abs();
        to.push(Difference { group, ln, deviation: 2.0 * spread.deviation });
    }
}

/// The usual difference of each group, drawn towards that of all where a group has few.
fn scales(groups: usize, differences: &[Difference]) -> Vec<f64> {
    let usual = |group: Option<usize>| {
        let of = differences.iter().filter(|held| group.is_none_or(|group| held.group == group));
        let mut of: Vec<f64> = of.map(|held| held.ln).collect();
        of.sort_by(f64::total_cmp);
        (of.get(of.len() / 2).map_or(0.0, |median| median / NORMAL_MEDIAN), of.len() as f64)
    };
    let (common, _) = usual(None);
    let of_group = |group| {
        let (own, count) = usual(Some(group));
        ((own * count + common * COMMON_WEIGHT) / (count + COMMON_WEIGHT)).max(SCALE_MIN)
    };
    (0..groups).map(of_group).collect()
}

/// The quotient of difference and scale that one of `operations` exceeds by chance in one comparison of twenty.
///
/// With `repetitions` on both sides, a false change needs as many disturbances. They count as half independent: what
/// disturbs a machine lasts.
fn quotient_max(scales: &[f64], differences: &[Difference], operations: usize, repetitions: usize) -> f64 {
    let quotient = |held: &Difference| held.ln / joined(scales[held.group], held.deviation);
    let quotients = differences.iter().map(quotient).collect();
    let independent = (repetitions as f64 + 0.5) / 1.5;
    let share = (FALSE_SHARE / operations.max(1) as f64).powf(1.0 / independent);
    Tail::of(quotients).exceeded_by(share)
}

/// The largest of a sample, as a Pareto distribution.
struct Tail {
    start: f64,
    /// Share of the sample beyond the start.
    share: f64,
    exponent: f64,
}

impl Tail {
    fn of(mut quotients: Vec<f64>) -> Tail {
        quotients.sort_by(f64::total_cmp);
        let count = (quotients.len() / TAIL_SHARE).max(TAIL_MIN);
        let Some(at) = quotients.len().checked_sub(count + 1) else {
            return Tail { start: NORMAL_TENTH, share: 0.1, exponent: *EXPONENTS.start() };
        };
        // A sample without differences is one of few calls, not of a machine without noise.
        let start = quotients[at].max(1.0);
        let logarithms: f64 = quotients[at + 1..].iter().map(|quotient| (quotient / start).max(1.0).ln()).sum();
        let exponent = (count as f64 / logarithms.max(1e-9)).clamp(*EXPONENTS.start(), *EXPONENTS.end());
        Tail { start, share: count as f64 / quotients.len() as f64, exponent }
    }

    /// The value that so small a share exceeds.
    fn exceeded_by(&self, share: f64) -> f64 {
        self.start * (self.share / share).max(1.0).powf(1.0 / self.exponent)
    }
}
