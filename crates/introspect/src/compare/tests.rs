//! Comparisons of times that were drawn, with and without planted changes.

use model::Interrupt;

use super::{CompareOptions, Comparison, Verdict, compare, to_text};
use crate::random::Stream;
use crate::report::{Limits, Stored, StoredRun};

/// Runs of three layers whose times are spread by some percent around a median.
fn measured(seed: u64, factor: impl Fn(&str) -> f64) -> Stored {
    let mut draws = Stream::new(seed, "compare").draws(0);
    let mut run = |layer: &str, operation: &str, ns: f64| {
        let samples: Vec<f64> =
            (0..200).map(|_| (ns * factor(operation) * (1.0 + 0.1 * draws.normal())).max(1.0)).collect();
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        StoredRun {
            layer: layer.to_owned(),
            operation: operation.to_owned(),
            way: "api".to_owned(),
            regime: "hot".to_owned(),
            starts: "uniform".to_owned(),
            calls: 200,
            p50_ns: sorted[100],
            samples_ns: samples,
            ..StoredRun::default()
        }
    };
    let mut runs: Vec<StoredRun> = (0..12).map(|at| run("micro", &format!("micro {at}"), 500.0)).collect();
    runs.extend((0..12).map(|at| run("graph", &format!("graph {at}"), 5_000.0)));
    let limits = Limits { clock_ns: 20.0, loads: vec![(1e6, 80.0)], ..Limits::default() };
    Stored {
        name: format!("seed {seed}"),
        processor: "one".to_owned(),
        size: (10, 20),
        limits,
        runs,
        ..Stored::default()
    }
}

const OPTIONS: CompareOptions = CompareOptions { ratio_max: 1.1, seed: 7 };

fn compared(base: &Stored, new: &Stored, again: &[Stored]) -> Comparison {
    let base: Vec<Stored> = [base].into_iter().chain(again).cloned().collect();
    compare(&base, std::slice::from_ref(new), &OPTIONS, &Interrupt::new()).expect("they are alike")
}

#[test]
fn the_same_program_does_not_fail() {
    for seed in 0..4 {
        let (base, new) = (measured(seed, |_| 1.0), measured(seed + 100, |_| 1.0));
        let found = compared(&base, &new, &[measured(seed + 200, |_| 1.0)]);
        assert!(!found.fails(), "seed {seed}: {}", to_text(&found, true));
        assert!(!compared(&base, &new, &[]).fails(), "seed {seed}");
    }
}

#[test]
fn a_planted_slowdown_is_found_alone_and_the_lowest_layer_is_named() {
    for seed in 0..3 {
        let slow = |operation: &str| if operation == "micro 3" || operation == "graph 2" { 1.3 } else { 1.0 };
        let found = compared(&measured(seed, |_| 1.0), &measured(seed + 100, slow), &[measured(seed + 200, |_| 1.0)]);
        let failed: Vec<&str> =
            found.changes.iter().filter(|held| held.verdict == Verdict::Fails).map(|held| &*held.name[0]).collect();
        assert_eq!(failed, ["micro 3", "graph 2"], "seed {seed}");
        let change = found.changes.iter().find(|held| held.name[0] == "micro 3").expect("it is there");
        assert!(
            change.interval.0 < 1.3 && 1.25 < change.interval.1 && change.interval.0 > 1.1,
            "seed {seed}: {change:?}"
        );
        let text = to_text(&found, false);
        assert!(
            text.contains("begin with the lowest layer that is slower: micro, micro 3, api, hot, uniform"),
            "{text}"
        );
        assert!(!text.contains("micro 4"), "{text}");
    }
}

#[test]
fn slower_within_what_is_allowed_and_faster_do_not_fail() {
    let shift = |operation: &str| match operation {
        "micro 1" => 1.07,
        "micro 2" => 0.7,
        _ => 1.0,
    };
    let found = compared(&measured(1, |_| 1.0), &measured(2, shift), &[measured(3, |_| 1.0)]);
    let verdict = |name: &str| found.changes.iter().find(|held| held.name[0] == name).map(|held| held.verdict);
    assert_eq!((verdict("micro 1"), verdict("micro 2")), (Some(Verdict::Slower), Some(Verdict::Faster)));
    assert!(!found.fails());
}

#[test]
fn noise_between_runs_hides_what_is_no_larger() {
    let wild = |operation: &str| if operation.ends_with(['1', '3', '5']) { 1.5 } else { 1.0 };
    let found = compared(&measured(1, |_| 1.0), &measured(2, |_| 1.2), &[measured(3, wild)]);
    assert!(
        found.changes.iter().all(|held| held.verdict == Verdict::Same && held.noise > 1.4),
        "{}",
        to_text(&found, true)
    );
}

/// A measurement of the same on a machine that is busy: it is slower or faster as a whole by some percent, and one operation
/// of thirty is disturbed, by up to three times its time.
fn disturbed(seed: u64, factor: impl Fn(&str) -> f64) -> Stored {
    let mut draws = Stream::new(seed, "disturbed").draws(0);
    let whole = 1.0 + 0.03 * draws.normal();
    let mut stored = measured(seed, factor);
    for run in &mut stored.runs {
        let burst = if draws.below(30) == 0 { 1.0 + 2.0 * draws.unit() } else { 1.0 };
        let own = (1.0 + 0.02 * draws.normal()) * whole * burst;
        run.samples_ns.truncate(60);
        run.samples_ns.iter_mut().for_each(|ns| *ns *= own);
        run.p50_ns *= own;
    }
    stored
}

#[test]
fn bursts_of_a_busy_machine_are_no_change_where_both_sides_are_measured_twice() {
    let seed = 4242;
    let (mut failed, mut found) = (0, 0);
    for round in 0..20 {
        let at = seed + 100 * round;
        let side = |from: u64, slow: f64| -> Vec<Stored> {
            let factor = |operation: &str| if operation == "micro 3" { slow } else { 1.0 };
            (from..from + 2).map(|number| disturbed(at + number, factor)).collect()
        };
        let compared =
            |slow| compare(&side(0, 1.0), &side(10, slow), &OPTIONS, &Interrupt::new()).expect("they are alike");
        failed += usize::from(compared(1.0).fails());
        let verdict = compared(2.5).changes.into_iter().find(|held| held.name[0] == "micro 3").map(|held| held.verdict);
        found += usize::from(verdict == Some(Verdict::Fails));
    }
    assert!(failed <= 2, "seed {seed}: {failed} of 20 comparisons of the same failed");
    assert!(found >= 17, "seed {seed}: {found} of 20 operations that take 2.5 times as long were found");
}

#[test]
fn a_change_is_in_all_measurements_of_the_new() {
    let slow = |operation: &str| if operation == "micro 3" { 1.4 } else { 1.0 };
    let base = [measured(1, |_| 1.0), measured(2, |_| 1.0)];
    let verdict = |new: [Stored; 2]| {
        let found = compare(&base, &new, &OPTIONS, &Interrupt::new()).expect("they are alike");
        let change = found.changes.into_iter().find(|held| held.name[0] == "micro 3").expect("it is there");
        (change.verdict, change.ratio)
    };
    let (both, ratio) = verdict([measured(3, slow), measured(4, slow)]);
    assert!(both == Verdict::Fails && (1.3..1.45).contains(&ratio), "{ratio}");
    let (one, ratio) = verdict([measured(3, slow), measured(4, |_| 1.0)]);
    assert!(one == Verdict::Same, "{one:?} {ratio}");
}

#[test]
fn more_operations_have_more_noise_together() {
    let bound = |operations: usize| {
        let cut = |mut stored: Stored| {
            stored.runs.truncate(operations);
            stored
        };
        let (base, new) = (cut(measured(1, |_| 1.0)), cut(measured(2, |_| 1.0)));
        compared(&base, &new, &[cut(measured(3, |_| 1.0))]).changes[0].noise
    };
    assert!(bound(24) > 1.02 && bound(24) < 1.2, "{}", bound(24));
    assert!(bound(2) > 1.05, "two operations say little of the noise: {}", bound(2));
}

#[test]
fn the_same_seed_gives_the_same_intervals() {
    let (base, new) = (measured(1, |_| 1.0), measured(2, |_| 1.0));
    let intervals = || compared(&base, &new, &[]).changes.iter().map(|held| held.interval).collect::<Vec<_>>();
    assert_eq!(intervals(), intervals());
}

#[test]
fn what_is_gone_fails_and_few_calls_are_not_judged() {
    let base = measured(1, |_| 1.0);
    let mut new = measured(2, |_| 3.0);
    new.runs.remove(0);
    new.runs[0].samples_ns.truncate(7);
    let found = compared(&base, &new, &[]);
    assert_eq!(found.only_base, ["micro 0, api, hot, uniform"]);
    assert_eq!(found.changes[0].verdict, Verdict::TooFew);
    assert!(found.fails() && to_text(&found, false).contains("no longer there: micro 0, api, hot, uniform"));
}

#[test]
fn what_cannot_be_compared_is_refused_and_what_is_doubtful_told() {
    let base = measured(1, |_| 1.0);
    let told = |change: &dyn Fn(&mut Stored)| {
        let mut new = measured(2, |_| 1.0);
        change(&mut new);
        let failure =
            compare(std::slice::from_ref(&base), &[new], &OPTIONS, &Interrupt::new()).expect_err("they are not alike");
        assert!(!failure.remedy().is_empty());
        failure.message().to_owned()
    };
    assert_eq!(told(&|new| new.size = (10, 21)), "the graphs differ: 10 nodes and 20 edges and 10 nodes and 21 edges");
    assert_eq!(told(&|new| new.processor = "two".to_owned()), "the machines differ: 'one' and 'two'");
    assert!(told(&|new| new.runs[2].samples_ns.clear()).contains("has no times of single calls"));
    assert_eq!(told(&|new| new.runs.clear()), "seed 2 has no calls to compare");
    let mut busy = measured(2, |_| 1.0);
    busy.limits.loads[0].1 = 160.0;
    assert_eq!(compared(&base, &busy, &[]).doubts, ["the machine was not the same: a load from memory took ×2.00"]);
    let interrupt = Interrupt::new();
    interrupt.cancel();
    assert!(compare(&[base], &[busy], &OPTIONS, &interrupt).is_err());
}

#[test]
fn a_measurement_given_twice_is_refused() {
    let options = CompareOptions { ratio_max: 1.1, seed: 1 };
    let side = |seeds: &[u64]| seeds.iter().map(|&seed| measured(seed, |_| 1.0)).collect::<Vec<Stored>>();
    for (base, new) in [(&[1, 1][..], &[2][..]), (&[1], &[2, 3, 2]), (&[1, 2, 3, 1], &[4, 5])] {
        let error = compare(&side(base), &side(new), &options, &Interrupt::new()).expect_err("one is there twice");
        assert!(error.to_string().contains("are one measurement"), "{error}");
    }
    assert!(compare(&side(&[1, 2]), &side(&[1, 3]), &options, &Interrupt::new()).is_ok());
}
