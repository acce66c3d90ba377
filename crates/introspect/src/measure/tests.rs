//! Measurements of a subject of known costs: regimes, writes, statements, limits of time.

use std::sync::Arc;

use model::platform::Clock;
use model::{Direction, Interrupt};
use testing::simulation::{CountingClock, SetClock};

use super::{Effort, MeasureOptions, Regime, Times, disagreements, measure};
use crate::cost_model::compose;
use crate::operations::{Filter, Layer, Operation, Way};
use crate::subject::Choice;
use crate::subject::synthetic::{STATEMENTS, SlowTime, Synthetic};

#[test]
fn percentiles_and_means() {
    let times = Times::of((1..=200).rev().map(f64::from).collect());
    assert_eq!([50, 90, 99, 100].map(|percent| times.percentile(percent)), [100.0, 180.0, 198.0, 200.0]);
    assert_eq!((times.mean(), times.trimmed_mean(), times.count()), (100.5, 99.5, 200));
    assert_eq!(times.histogram()[..3], [(1, 1), (2, 2), (4, 4)]);
    let none = Times::of(Vec::new());
    assert_eq!((none.percentile(50), none.mean(), none.trimmed_mean()), (0.0, 0.0, 0.0));
}

fn options() -> MeasureOptions {
    MeasureOptions { calls_max: 50, cold_calls_max: 10, ..MeasureOptions::new(Effort::Quick) }
}

#[test]
fn every_operation_is_run_in_each_regime() {
    let mut subject = Synthetic::new(2_000, 5);
    let found = measure(&mut subject, &options(), &CountingClock::default(), &Interrupt::new()).expect("it runs");
    let count = |regime: Regime| found.runs.iter().filter(|run| run.regime == regime).count();
    // 32 operations by calls and 35 by statements, of which 4 read the whole graph; 11 from starts by degree.
    assert_eq!((count(Regime::Cold), count(Regime::Warm), count(Regime::Hot)), (63, 78, 78));
    let neighbors = Operation::Neighbors(Direction::Out, Filter::Plain);
    for (regime, calls) in [(Regime::Cold, 10), (Regime::Warm, 50), (Regime::Hot, 50)] {
        assert_eq!(found.run(neighbors, Way::Api, regime).expect("it was run").calls.len(), calls);
    }
    let by_degree = found.run_of(neighbors, Way::Api, Regime::Hot, Choice::ByDegree);
    assert_eq!(by_degree.expect("it was run").calls.len(), 50);
    assert_eq!(found.sweep.iter().map(|point| point.nodes).collect::<Vec<_>>(), [256, 1_024, 2_000]);
    assert_eq!((found.cut.sentences(), disagreements(&found)), (vec![], vec![]));
}

#[test]
fn writes_are_measured_on_a_copy_where_they_are_wanted() {
    let writes = MeasureOptions { writes: true, ..options() };
    let mut subject = Synthetic::new(2_000, 5);
    let found = measure(&mut subject, &writes, &CountingClock::default(), &Interrupt::new()).expect("it runs");
    let of: Vec<_> = found.runs.iter().filter(|run| run.operation.is_write()).collect();
    // Four single ones in both ways, and two of the whole graph.
    assert_eq!(of.iter().map(|run| run.calls.len()).collect::<Vec<_>>(), [50, 50, 50, 50, 50, 50, 50, 50, 1, 1]);
    assert!(of.iter().all(|run| run.regime == Regime::Hot && run.error.is_none()));
    assert_eq!(disagreements(&found), vec![]);
    let predicted = compose(&found);
    let factor = |operation: Operation| {
        predicted.iter().find(|held| held.operation == operation).expect("it is predicted").factor()
    };
    assert!((factor(Operation::IngestBulk) - 0.5).abs() < 0.025, "{}", factor(Operation::IngestBulk));
    assert!((factor(Operation::IngestIncrement) - 1.0).abs() < 0.05, "{}", factor(Operation::IngestIncrement));
}

#[test]
fn statements_are_measured_and_predicted_by_what_they_touch() {
    let mut subject = Synthetic::new(2_000, 5).with_statements();
    let found = measure(&mut subject, &options(), &CountingClock::default(), &Interrupt::new()).expect("it runs");
    let operations = found.operations(Layer::Statement);
    let calls = |operation: &Operation| {
        Regime::ALL.map(|regime| found.run(*operation, Way::Cypher, regime).expect("it was run").calls.len())
    };
    assert_eq!(operations.iter().map(ToString::to_string).collect::<Vec<_>>(), STATEMENTS);
    // Only one call of those that are all the same is cold, or warm.
    assert_eq!(operations.iter().map(calls).collect::<Vec<_>>(), [[10, 50, 50], [1, 1, 50]]);
    let predicted = compose(&found);
    for operation in operations {
        let held = predicted.iter().filter(|held| held.operation == operation).collect::<Vec<_>>();
        // The parts of a statement cost 1.3 times those of calls.
        assert!(held.len() == 3 && held.iter().all(|held| (0.7..1.4).contains(&held.factor())), "{held:?}");
    }
}

#[test]
fn reads_are_kept_where_there_can_be_no_copy() {
    let writes = MeasureOptions { writes: true, ..options() };
    let mut subject = Synthetic::new(500, 5).without_copy();
    let found = measure(&mut subject, &writes, &CountingClock::default(), &Interrupt::new()).expect("it runs");
    let failed: Vec<_> = found.runs.iter().filter(|run| run.error.is_some()).collect();
    assert!(found.runs.len() > 200 && failed.len() == 1 && failed[0].operation == Operation::AddNode);
}

#[test]
fn time_ends_an_operation_and_all() {
    let clock = CountingClock::default();
    let short = MeasureOptions { operation_ns_max: 5_000, ..options() };
    let found = measure(&mut Synthetic::new(500, 5), &short, &clock, &Interrupt::new()).expect("it runs");
    assert!(found.runs.iter().all(|run| (1..=5).contains(&run.calls.len())));
    let none = MeasureOptions { total_ns_max: 0, ..options() };
    let found = measure(&mut Synthetic::new(500, 5), &none, &clock, &Interrupt::new()).expect("it runs");
    assert!(found.runs.is_empty() && found.cut.count() > 200, "{}", found.cut.count());
}

#[test]
fn ctrl_c_ends_it() {
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let outcome = measure(&mut Synthetic::new(500, 5), &options(), &CountingClock::default(), &interrupt);
    assert_eq!(outcome.expect_err("it was cancelled").code(), model::ErrorCode::Cancelled);
}

#[test]
fn different_answers_are_told() {
    let mut subject = Synthetic::new(500, 5);
    subject.answers_differ();
    let found = measure(&mut subject, &options(), &CountingClock::default(), &Interrupt::new()).expect("it runs");
    assert_eq!(disagreements(&found), [(Operation::Degree(Direction::In), 50)]);
}

/// A measurement of a graph so large that no call, opening or scan is fast, and the seconds that it took.
fn measured_slowly(change: impl Fn(&mut SlowTime)) -> (super::Measurements, u64) {
    let clock = Arc::new(SetClock::default());
    let mut time = SlowTime {
        clock: clock.clone(),
        hot: 500.0,
        cold: 40_000.0,
        cool_ns: 700_000_000,
        scan_ns: 80_000_000_000,
        stuck: None,
        stuck_after: None,
        can_cool: true,
    };
    change(&mut time);
    let mut subject = Synthetic::new(2_000, 5).with_statements().slow(time);
    let found = measure(&mut subject, &MeasureOptions::new(Effort::Quick), &*clock, &Interrupt::new());
    (found.expect("it runs"), clock.now_ns() / 1_000_000_000)
}

/// Operations of a regime that have figures, from starts that are all alike.
fn with_figures(found: &super::Measurements, regime: Regime) -> usize {
    let has = |run: &&super::Run| run.regime == regime && run.choice == Choice::Uniform && !run.calls.is_empty();
    found.runs.iter().filter(has).count()
}

#[test]
fn cold_calls_leave_the_time_of_hot_ones() {
    let (found, seconds) = measured_slowly(|_| ());
    // 37 operations by statements, 32 by calls.
    assert_eq!((with_figures(&found, Regime::Hot), with_figures(&found, Regime::Warm)), (69, 69));
    let cold = with_figures(&found, Regime::Cold);
    assert!((10..60).contains(&cold) && seconds <= 47, "{cold} cold ones, {seconds} s");
    let told = found.cut.sentences().join("; ");
    assert!(told.contains("cold calls of ") && told.contains("more were left out"), "{told}");
    assert!(told.contains("the scan before warm calls was ended"), "{told}");
    // A call that takes longer than is left has a row that says so.
    let failed = found.runs.iter().filter(|run| run.regime == Regime::Cold && run.calls.is_empty()).count();
    assert_eq!(found.cut.left_out.len() + failed, 65 - cold);
}

#[test]
fn caches_that_cannot_be_emptied_are_cold_first_and_hot_calls_have_their_time() {
    let (found, seconds) = measured_slowly(|time| time.can_cool = false);
    assert_eq!(with_figures(&found, Regime::Hot), 69);
    let cold = with_figures(&found, Regime::Cold);
    assert!((5..60).contains(&cold) && seconds <= 47, "{cold} cold ones, {seconds} s");
    assert!(found.runs[0].regime == Regime::Cold && found.cut.count() > 5);
}

#[test]
fn an_operation_that_gives_no_answer_is_told_and_the_others_have_figures() {
    for can_cool in [true, false] {
        let stuck = Operation::Hops(Direction::Both, 3);
        let (found, seconds) = measured_slowly(|time| {
            (time.stuck, time.can_cool, time.hot) = (Some(stuck), can_cool, 50.0);
        });
        assert_eq!(with_figures(&found, Regime::Hot), 67);
        assert!(seconds <= 47, "{seconds} s");
        let of: Vec<&super::Run> = found.runs.iter().filter(|run| run.operation == stuck).collect();
        let is_told = |run: &&super::Run| {
            run.calls.is_empty() && run.error.as_ref().is_some_and(|text| text.contains("no answer"))
        };
        assert!(of.len() >= 4 && of.iter().all(is_told), "{of:?}");
        // It is waited for once in each way, and with cold caches that come first.
        assert!(of.iter().filter(|run| run.regime == Regime::Hot).count() == 2);
    }
}

#[test]
fn figures_of_a_fast_subject_are_not_cut() {
    let (found, seconds) = measured_slowly(|time| {
        (time.hot, time.cold, time.cool_ns, time.scan_ns) = (1.0, 1.0, 1_000_000, 100_000_000);
    });
    assert_eq!(Regime::ALL.map(|regime| with_figures(&found, regime)), [65, 69, 69]);
    assert!(found.cut.sentences().is_empty() && seconds < 20, "{:?}, {seconds} s", found.cut);
}

#[test]
fn a_call_that_gives_no_answer_is_waited_for_once() {
    let (found, seconds) = measured_slowly(|time| (time.hot, time.stuck_after) = (1.0, Some(7)));
    let stuck = Operation::Hops(Direction::Out, 2);
    let of = |regime: Regime| found.run(stuck, Way::Api, regime).expect("there are calls");
    assert_eq!((of(Regime::Warm).calls.len(), of(Regime::Hot).calls.len()), (7, 7));
    assert!(of(Regime::Warm).error.is_some() && of(Regime::Hot).error.is_none() && seconds <= 47, "{seconds} s");
}
