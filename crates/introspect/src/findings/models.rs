//! Findings over predictions: from the layer below, and by fitted costs.

use super::{Finding, Rule, digits, duration_text};
use crate::cost_model::{FACTOR_MAX, Judgement, Prediction, error_max};
use crate::measure::{Measurements, Regime};
use crate::operations::{Operation, Way};

/// Amortisation factor of several hops from which on nothing is amortised.
const HOPS_FACTOR_MIN: f64 = 0.9;
/// Mean number of edges that calls follow from which on there is something to amortise.
const HOPS_EDGES_MIN: f64 = 1.0;

/// Tells several hops that cost as much as their neighbourhoods one by one.
pub(super) fn no_amortization(found: &Measurements, held: &Prediction) -> Option<Finding> {
    let is_several = matches!(held.operation, Operation::Hops(_, hops) if hops > 1);
    if !is_several || held.way != Way::Api || held.regime != Regime::Hot || held.factor() < HOPS_FACTOR_MIN {
        return None;
    }
    let calls = &found.run(held.operation, held.way, held.regime)?.calls;
    let edges = calls.iter().map(|call| call.counts.edges as f64).sum::<f64>() / calls.len() as f64;
    if edges < HOPS_EDGES_MIN {
        return None;
    }
    let sentence = format!(
        "{} takes {}, {} times its neighbourhoods one by one ({}): nothing is amortised beyond one hop",
        held.operation,
        duration_text(held.measured_ns),
        digits(held.factor()),
        duration_text(held.model_ns)
    );
    Some(Finding {
        rule: Rule::NoAmortization,
        operation: held.operation,
        sentence,
        figure: held.factor(),
        threshold: HOPS_FACTOR_MIN,
    })
}

/// A measure by which an operation may be out of the model.
#[derive(Clone, Copy, PartialEq)]
enum Miss {
    Median,
    P90,
    Factor,
}

/// The measure by which an operation is out of the model the most: its figure and what is stated.
fn miss_of(held: &Judgement) -> (Miss, f64, f64) {
    let (median, p90) = error_max(held.regime);
    let misses = [
        (Miss::Median, held.median_error, median),
        (Miss::P90, held.p90_error, p90),
        (Miss::Factor, held.factor.max(1.0 / held.factor), FACTOR_MAX),
    ];
    misses.into_iter().fold(misses[0], |worst, miss| if miss.1 / miss.2 > worst.1 / worst.2 { miss } else { worst })
}

/// Tells operations that fitted costs do not predict, the worst first.
pub(super) fn out_of_model(judgements: &[Judgement], regime: Regime) -> Option<Finding> {
    let of_regime: Vec<&Judgement> = judgements.iter().filter(|held| held.regime == regime).collect();
    let missed: Vec<&Judgement> = of_regime.iter().copied().filter(|held| held.is_out_of_model()).collect();
    let excess = |held: &Judgement| {
        let (_, figure, stated) = miss_of(held);
        figure / stated
    };
    let worst = missed.iter().copied().max_by(|a, b| excess(a).total_cmp(&excess(b)))?;
    let (miss, figure, threshold) = miss_of(worst);
    let (median, p90) = error_max(regime);
    let reason = match miss {
        Miss::Median | Miss::P90 => format!(
            "is missed by {:.0} % in the median and {:.0} % at nine tenths of calls, where {:.0} % and {:.0} % are stated",
            100.0 * worst.median_error,
            100.0 * worst.p90_error,
            100.0 * median,
            100.0 * p90
        ),
        Miss::Factor => format!(
            "takes {} times what the costs that all operations share say of it, where {} to {} are stated",
            digits(worst.factor),
            digits(1.0 / FACTOR_MAX),
            digits(FACTOR_MAX)
        ),
    };
    let sentence = format!(
        "fitted costs do not predict {} of {} operations {}: {} {reason}",
        missed.len(),
        of_regime.len(),
        regime.name(),
        worst.operation
    );
    Some(Finding { rule: Rule::OutOfModel, operation: worst.operation, sentence, figure, threshold })
}

#[cfg(test)]
mod tests {
    use model::Direction;

    use super::{no_amortization, out_of_model};
    use crate::cost_model::{Judgement, Prediction};
    use crate::measure::{Measurements, Regime, Run};
    use crate::operations::{Operation, Way};
    use crate::subject::{Call, Choice, Counts};

    const HOPS: Operation = Operation::Hops(Direction::Both, 2);

    fn judgement(factor: f64, median_error: f64, p90_error: f64) -> Judgement {
        Judgement { operation: HOPS, regime: Regime::Cold, factor, median_error, p90_error, calls: 20 }
    }

    #[test]
    fn what_is_out_of_the_model_is_told_by_the_figure_for_which_it_is() {
        for (held, expected, figure) in [
            (judgement(2.1, 0.07, 0.2), "2-hop both takes 2.10 times what the costs", 2.1),
            (judgement(0.25, 0.07, 0.2), "2-hop both takes 0.25 times what the costs", 4.0),
            (judgement(1.0, 0.9, 0.2), "is missed by 90 % in the median and 20 % at nine tenths", 0.9),
            (judgement(1.8, 0.07, 3.0), "is missed by 7 % in the median and 300 % at nine tenths", 3.0),
        ] {
            let found = out_of_model(&[judgement(1.0, 0.1, 0.1), held], Regime::Cold).expect("it is out of the model");
            assert!(found.sentence.contains("1 of 2 operations cold"), "{}", found.sentence);
            assert!(found.sentence.contains(expected), "{}", found.sentence);
            assert!((found.figure - figure).abs() < 1e-9 && found.figure > found.threshold, "{found:?}");
        }
        assert_eq!(out_of_model(&[judgement(1.7, 0.1, 0.1)], Regime::Cold), None);
    }

    #[test]
    fn calls_that_follow_no_edges_have_nothing_to_amortise() {
        let held = Prediction {
            operation: HOPS,
            way: Way::Api,
            regime: Regime::Hot,
            measured_ns: 100.0,
            model_ns: 90.0,
            formula: "",
            calls: 10,
        };
        for (edges, is_found) in [(0, false), (5, true)] {
            let call =
                Call { ns: 100, counts: Counts { neighborhoods: 1, edges, ..Counts::default() }, ..Call::default() };
            let (choice, calls) = (Choice::Uniform, vec![call; 10]);
            let run = Run { operation: HOPS, way: Way::Api, regime: Regime::Hot, choice, calls, error: None };
            let found = Measurements { runs: vec![run], ..Measurements::default() };
            assert_eq!(no_amortization(&found, &held).is_some(), is_found, "{edges}");
        }
    }
}
