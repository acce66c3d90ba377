//! Findings: rules over measured times, each with a threshold, that say in a sentence what the figures show.
//!
//! - `models`: those over predictions.
//! - `writes`: those over writes.

mod models;
mod writes;

use model::Direction;

use crate::cost_model::{Judgement, Prediction};
use crate::measure::{Measurements, Regime, Times};
use crate::operations::{DIRECTIONS, Filter, Operation, Way};
use crate::subject::Choice;

/// Share of the time of all neighbours from which on the first one costs as much as all.
const FIRST_SHARE_MIN: f64 = 0.85;
/// Mean number of neighbours from which on the first is compared with all.
const FIRST_NEIGHBORS_MIN: f64 = 3.0;
/// Ratio of the directions, for as many neighbours, from which on one is slow.
const DIRECTION_RATIO_MIN: f64 = 2.0;
/// Calls with about as many neighbours in both directions that make a comparison.
const DIRECTION_CALLS_MIN: usize = 5;
/// Ratio of a property to its node from which on properties are expensive.
const PROPERTY_RATIO_MIN: f64 = 3.0;
/// Nanoseconds that a node counts for at least, about those of a read of memory: where ids are dense, its existence costs nothing.
const NODE_NS_MIN: f64 = 150.0;
/// Ratio of a statement, without what an empty one costs, to the calls it needs.
const LANGUAGE_RATIO_MIN: f64 = 2.0;
/// Ratio of neighbouring working sets that makes a step.
const STEP_RATIO_MIN: f64 = 2.0;
/// Nanoseconds that a step has at least: smaller ones are those of the processor's own caches.
const STEP_NS_MIN: f64 = 100.0;
/// Ratio of cold to hot from which on a working set must stay in memory.
const COLD_RATIO_MAX: f64 = 20.0;
/// Ratio of cold to hot below which caches are of no use, where blocks are missed.
const CACHE_RATIO_MIN: f64 = 1.1;
/// Share of calls that miss a block, cold and hot, from which on caches are judged.
const MISSES_MIN: f64 = 0.1;

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The first neighbour costs about as much as all.
    FirstIsAll,
    /// One direction costs much more than the other.
    SlowDirection,
    /// A property costs much more than its node.
    SlowProperty,
    /// Several hops cost as much as their neighbourhoods one by one.
    NoAmortization,
    /// Statements cost much more than the calls they need.
    SlowLanguage,
    /// Reads become slower from a working set of some size on.
    Step,
    /// Cold reads cost very much more than hot ones.
    SlowCold,
    /// Hot reads miss as cold ones do.
    UselessCache,
    /// A commit costs as much as many writes.
    SlowCommit,
    /// An edge that is added costs much more than one that is loaded.
    SlowIncrement,
    /// Times do not follow what is touched.
    OutOfModel,
}

impl Rule {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Rule::FirstIsAll => "first-is-all",
            Rule::SlowDirection => "slow-direction",
            Rule::SlowProperty => "slow-property",
            Rule::NoAmortization => "no-amortization",
            Rule::SlowLanguage => "slow-language",
            Rule::Step => "step",
            Rule::SlowCold => "slow-cold",
            Rule::UselessCache => "useless-cache",
            Rule::SlowCommit => "slow-commit",
            Rule::SlowIncrement => "slow-increment",
            Rule::OutOfModel => "out-of-model",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Operation that it is about.
    pub operation: Operation,
    /// A sentence with figures.
    pub sentence: String,
    /// Figure that was compared.
    pub figure: f64,
    /// The threshold of the rule.
    pub threshold: f64,
}

/// Digits of a time that was measured.
const DIGITS: usize = 3;

/// Measured nanoseconds in a unit that suits them.
pub fn duration_text(ns: f64) -> String {
    database::duration_text(ns, DIGITS)
}

/// A figure with its digits.
fn digits(number: f64) -> String {
    database::number_text(number, DIGITS)
}

/// Applies all rules.
pub fn find(found: &Measurements, predictions: &[Prediction], judgements: &[Judgement]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for direction in DIRECTIONS {
        for filter in [Filter::Plain, Filter::Type] {
            findings.extend(first_is_all(found, direction, filter));
        }
    }
    findings.extend(slow_direction(found));
    findings.extend(slow_property(found, Operation::NodeInteger));
    findings.extend(slow_property(found, Operation::NodeString));
    findings.extend(predictions.iter().filter_map(|held| models::no_amortization(found, held)));
    findings.extend(slow_language(found));
    findings.extend(steps(found));
    findings.extend(caches(found));
    findings.extend(writes::slow_commit(found));
    findings.extend(writes::slow_increment(found));
    findings.extend(Regime::ALL.into_iter().filter_map(|regime| models::out_of_model(judgements, regime)));
    findings
}

fn first_is_all(found: &Measurements, direction: Direction, filter: Filter) -> Option<Finding> {
    let (operation, of_all) = (Operation::FirstNeighbor(direction, filter), Operation::Neighbors(direction, filter));
    let (first, all) = (found.cost(operation, Way::Api, Regime::Hot)?, found.cost(of_all, Way::Api, Regime::Hot)?);
    let calls = &found.run(of_all, Way::Api, Regime::Hot)?.calls;
    let neighbors = calls.iter().map(|call| call.rows).sum::<u64>() as f64 / calls.len() as f64;
    let share = first / all;
    if neighbors < FIRST_NEIGHBORS_MIN || share < FIRST_SHARE_MIN {
        return None;
    }
    let sentence = format!(
        "{operation} takes {}, {:.0} % of the {} of all {} of them: the first costs about as much as all",
        duration_text(first),
        100.0 * share,
        duration_text(all),
        digits(neighbors)
    );
    Some(Finding { rule: Rule::FirstIsAll, operation, sentence, figure: share, threshold: FIRST_SHARE_MIN })
}

/// Times by number of neighbours, in powers of two, from starts of all choices.
fn by_degree(found: &Measurements, direction: Direction) -> Vec<Times> {
    let mut buckets: Vec<Vec<f64>> = vec![Vec::new(); u64::BITS as usize];
    for choice in [Choice::Uniform, Choice::ByDegree] {
        let run = found.run_of(Operation::Neighbors(direction, Filter::Plain), Way::Api, Regime::Hot, choice);
        for call in run.iter().flat_map(|run| &run.calls).filter(|call| call.rows > 0) {
            buckets[call.rows.ilog2() as usize].push(call.ns as f64);
        }
    }
    buckets.into_iter().map(Times::of).collect()
}

/// Compares the directions among calls that give about as many neighbours: degrees differ by direction.
fn slow_direction(found: &Measurements) -> Option<Finding> {
    let (out, back) = (by_degree(found, Direction::Out), by_degree(found, Direction::In));
    let pairs = out.iter().zip(&back);
    let enough = pairs.filter(|(a, b)| a.count() >= DIRECTION_CALLS_MIN && b.count() >= DIRECTION_CALLS_MIN);
    let ratios = Times::of(enough.map(|(a, b)| b.percentile(50) / a.percentile(50).max(1.0)).collect());
    if ratios.count() == 0 {
        return None;
    }
    let ratio = ratios.percentile(50);
    let (slow, fast, figure) = if ratio >= DIRECTION_RATIO_MIN {
        (Direction::In, "out", ratio)
    } else if 1.0 / ratio >= DIRECTION_RATIO_MIN {
        (Direction::Out, "in", 1.0 / ratio)
    } else {
        return None;
    };
    let operation = Operation::Neighbors(slow, Filter::Plain);
    let sentence = format!("{operation} takes {} times as long as as many neighbours {fast}", digits(figure));
    Some(Finding { rule: Rule::SlowDirection, operation, sentence, figure, threshold: DIRECTION_RATIO_MIN })
}

fn slow_property(found: &Measurements, operation: Operation) -> Option<Finding> {
    let property = found.cost(operation, Way::Api, Regime::Hot)?;
    let node = found.cost(Operation::NodeById, Way::Api, Regime::Hot)?;
    let ratio = property / node.max(NODE_NS_MIN);
    let sentence = format!(
        "{operation} takes {}, {} times as long as the node itself ({}, counted as {} at least)",
        duration_text(property),
        digits(ratio),
        duration_text(node),
        duration_text(NODE_NS_MIN)
    );
    let finding =
        Finding { rule: Rule::SlowProperty, operation, sentence, figure: ratio, threshold: PROPERTY_RATIO_MIN };
    (ratio >= PROPERTY_RATIO_MIN).then_some(finding)
}

fn slow_language(found: &Measurements) -> Option<Finding> {
    let empty = found.cost(Operation::EmptyStatement, Way::Cypher, Regime::Hot)?;
    let operations = Operation::all().into_iter().filter(|operation| {
        matches!(operation, Operation::Neighbors(_, Filter::Plain | Filter::Property) | Operation::Hops(_, 2 | 3))
    });
    let ratio = |operation: Operation| {
        let api = found.cost(operation, Way::Api, Regime::Hot)?;
        let statement = found.cost(operation, Way::Cypher, Regime::Hot)?;
        Some((operation, (statement - empty).max(0.0) / api, statement, api))
    };
    let (operation, figure, statement, api) = operations.filter_map(ratio).max_by(|a, b| a.1.total_cmp(&b.1))?;
    if figure < LANGUAGE_RATIO_MIN {
        return None;
    }
    let sentence = format!(
        "{operation} takes {} by a statement and {} by calls: beyond an empty statement ({}), {} times as long",
        duration_text(statement),
        duration_text(api),
        duration_text(empty),
        digits(figure)
    );
    Some(Finding { rule: Rule::SlowLanguage, operation, sentence, figure, threshold: LANGUAGE_RATIO_MIN })
}

fn steps(found: &Measurements) -> Vec<Finding> {
    let is_step = |pair: &&[crate::measure::SweepPoint]| {
        pair[1].ns / pair[0].ns.max(1.0) >= STEP_RATIO_MIN && pair[1].ns - pair[0].ns >= STEP_NS_MIN
    };
    let finding = |pair: &[crate::measure::SweepPoint]| Finding {
        rule: Rule::Step,
        operation: Operation::NodeInteger,
        sentence: format!(
            "{} takes {} from a working set of {} nodes and {} from {}: a cache ends between the two",
            Operation::NodeInteger,
            duration_text(pair[0].ns),
            pair[0].nodes,
            duration_text(pair[1].ns),
            pair[1].nodes
        ),
        figure: pair[1].ns / pair[0].ns.max(1.0),
        threshold: STEP_RATIO_MIN,
    };
    found.sweep.windows(2).filter(is_step).map(finding).collect()
}

/// Compares cold calls with the same calls hot.
fn caches(found: &Measurements) -> Option<Finding> {
    let operation = Operation::Neighbors(Direction::Out, Filter::Plain);
    let cold = found.run(operation, Way::Api, Regime::Cold)?;
    let hot = found.run(operation, Way::Api, Regime::Hot)?;
    let misses = |calls: &[crate::subject::Call]| {
        calls.iter().filter(|call| call.counts.block_misses > 0).count() as f64 / calls.len().max(1) as f64
    };
    let same = &hot.calls[..hot.calls.len().min(cold.calls.len())];
    let hot_ns = Times::of(same.iter().map(|call| call.ns as f64).collect()).mean();
    let cold_ns = cold.times().mean();
    let figure = cold_ns / hot_ns.max(1.0);
    let (cold_text, hot_text) = (duration_text(cold_ns), duration_text(hot_ns));
    if figure < CACHE_RATIO_MIN && misses(&cold.calls) >= MISSES_MIN && misses(same) >= MISSES_MIN {
        let sentence = format!(
            "{operation} takes {cold_text} cold and {hot_text} hot, and {:.0} % of the hot calls miss blocks: \
             what was read is read again",
            100.0 * misses(same)
        );
        return Some(Finding { rule: Rule::UselessCache, operation, sentence, figure, threshold: CACHE_RATIO_MIN });
    }
    if figure < COLD_RATIO_MAX {
        return None;
    }
    let sentence = format!(
        "{operation} takes {cold_text} cold and {hot_text} hot, {} times: what is asked for must be in memory",
        digits(figure)
    );
    Some(Finding { rule: Rule::SlowCold, operation, sentence, figure, threshold: COLD_RATIO_MAX })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::{Direction, Interrupt};
    use testing::simulation::CountingClock;

    use super::{Finding, Rule, duration_text, find};
    use crate::cost_model::{Judged, compose, fit, judge};
    use crate::machine::Effort;
    use crate::measure::{MeasureOptions, Regime, measure};
    use crate::operations::Operation;
    use crate::subject::synthetic::{Fault, Synthetic};

    fn findings(faults: &[Fault]) -> Vec<Finding> {
        let mut subject = Synthetic::new(2_000, 5).with(faults);
        let options =
            MeasureOptions { calls_max: 120, cold_calls_max: 60, writes: true, ..MeasureOptions::new(Effort::Quick) };
        let found = measure(&mut subject, &options, &CountingClock::default(), &Interrupt::new()).expect("it runs");
        let judgements: Vec<_> = [Regime::Warm, Regime::Hot]
            .into_iter()
            .flat_map(|regime| judge(&fit(&found, regime).expect("there are calls"), &found, Judged::HeldOut))
            .collect();
        find(&found, &compose(&found), &judgements)
    }

    fn rules(faults: &[Fault]) -> BTreeSet<Rule> {
        findings(faults).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        assert_eq!(findings(&[]), []);
    }

    /// Each fault is named; a fault that also breaks the model may be told as that too.
    #[test]
    fn planted_faults_are_named_and_no_others() {
        for (fault, expected) in [
            (Fault::FirstIsAll, Rule::FirstIsAll),
            (Fault::SlowIn, Rule::SlowDirection),
            (Fault::SlowProperty, Rule::SlowProperty),
            (Fault::NoAmortization, Rule::NoAmortization),
            (Fault::SlowStatements, Rule::SlowLanguage),
            (Fault::Cliff(1_024), Rule::Step),
            (Fault::UselessCache, Rule::UselessCache),
            (Fault::SlowDisk, Rule::SlowCold),
            (Fault::SlowCommit, Rule::SlowCommit),
            (Fault::SlowIncrement, Rule::SlowIncrement),
        ] {
            let mut found = rules(&[fault]);
            assert!(found.remove(&expected), "{fault:?}: {found:?}");
            found.remove(&Rule::OutOfModel);
            assert_eq!(found, BTreeSet::new(), "{fault:?}");
        }
        assert_eq!(rules(&[Fault::FirstIsAll, Fault::Cliff(256)]), BTreeSet::from([Rule::FirstIsAll, Rule::Step]));
    }

    #[test]
    fn a_finding_has_its_figures() {
        let found = findings(&[Fault::Cliff(1_024)]);
        assert_eq!((found.len(), found[0].operation), (1, Operation::NodeInteger));
        assert!(found[0].sentence.contains("working set of 1024 nodes"), "{}", found[0].sentence);
        assert!((found[0].figure - 4.0).abs() < 0.2, "{}", found[0].figure);
        let found = findings(&[Fault::SlowIn]);
        let slow = found.iter().find(|finding| finding.rule == Rule::SlowDirection).expect("it is found");
        assert!(matches!(slow.operation, Operation::Neighbors(Direction::In, _)), "{slow:?}");
        assert!((slow.figure - 3.0).abs() < 0.3, "{}", slow.figure);
    }

    #[test]
    fn durations_have_three_digits() {
        let texts = [0.5, 7.0, 480.4, 1_234.0, 56_789.0, 999_400.0, 2_500_000.0, 3.2e9].map(duration_text);
        assert_eq!(texts, ["0.50 ns", "7 ns", "480 ns", "1.23 µs", "56.8 µs", "999 µs", "2.50 ms", "3.20 s"]);
    }
}
