//! Measurements of a subject of known costs: regimes, writes, statements, limits of time.

use model::{Direction, Interrupt};
use testing::simulation::CountingClock;

use super::{Effort, MeasureOptions, Regime, Times, disagreements, measure};
use crate::cost_model::compose;
use crate::operations::{Filter, Layer, Operation, Way};
use crate::subject::Choice;
use crate::subject::synthetic::{STATEMENTS, Synthetic};

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
    assert_eq!((found.left_out, disagreements(&found)), (0, vec![]));
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
    assert!(found.runs.is_empty() && found.left_out > 200, "{}", found.left_out);
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
