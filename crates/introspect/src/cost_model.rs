//! Models of time: an operation is predicted from the layer below, and by fitted costs of what it touches.
//!
//! The composed model is that of the paper: counts, measured for each call, times the costs of the operations that it is
//! made of. *Amortisation factor* is the measured time over the composed one: below 1 the store is faster than the sum of
//! the parts. The fitted model has a cost for each thing touched, trained on one half of the starts and judged on the other.
//!
//! After: Macko, Margo, Seltzer, "Performance introspection of graph databases", 2013, table 1.

mod least_squares;

use model::Direction;

use crate::measure::{Measurements, Regime, Run, Times};
use crate::operations::{Filter, Layer, Operation, Way};
use crate::subject::{Call, Choice, Counts};

/// Features of the fitted model, in the order of coefficients: names, units as text.
///
/// A use of a block stands for the lines of memory that a list or a property is found by: a list without edges uses one block and others
/// two, properties that lie apart one each.
pub const FEATURES: [&str; 8] =
    ["call", "neighbourhood", "edge", "unique node", "property", "block used", "block missed", "byte read"];
/// Relative errors up to which a prediction is within the model, median and of 90 percent: warm or hot, and cold.
const ERROR_MAX: (f64, f64) = (0.20, 0.60);
const COLD_ERROR_MAX: (f64, f64) = (0.50, 1.50);
/// The model of a statement.
const STATEMENT_FORMULA: &str = "an empty statement, nodes found, and neighbours of each";
/// Factor, above or below 1, up to which an operation takes what the costs of all say.
pub(crate) const FACTOR_MAX: f64 = 1.75;
/// Calls below which nothing is judged.
const CALLS_MIN: usize = 8;

/// An operation predicted from the layer below.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Operation that is predicted.
    pub operation: Operation,
    /// Way in which it was asked for.
    pub way: Way,
    /// State of the caches.
    pub regime: Regime,
    /// Nanoseconds of a call, in the mean of the calls that could be predicted.
    pub measured_ns: f64,
    /// Nanoseconds of a call by the model.
    pub model_ns: f64,
    /// The model.
    pub formula: &'static str,
    /// Number of calls that could be predicted.
    pub calls: usize,
}

impl Prediction {
    /// The measured time over that of the model.
    pub fn factor(&self) -> f64 {
        self.measured_ns / self.model_ns.max(1e-9)
    }
}

/// The layer below, in one way and regime.
struct Below<'a> {
    /// Measurement that costs are taken from.
    found: &'a Measurements,
    /// Measurement whose calls are predicted.
    counted: &'a Measurements,
    way: Way,
    regime: Regime,
}

/// A cost that follows the number of edges: of a neighbourhood, and of each edge.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    neighborhood: f64,
    edge: f64,
}

impl Below<'_> {
    fn cost(&self, operation: Operation) -> Option<f64> {
        self.found.cost(operation, self.way, self.regime)
    }

    fn run(&self, operation: Operation) -> Option<&Run> {
        self.found.run(operation, self.way, self.regime)
    }

    /// The cost of asking for neighbours by the number found, as an operation on single neighbourhoods has it.
    fn line(&self, operation: Operation) -> Option<Line> {
        let even = self.run(operation)?;
        // Starts by degree show what large neighbourhoods cost.
        let large = self.found.run_of(operation, self.way, self.regime, Choice::ByDegree);
        let calls = even.calls.iter().chain(large.iter().flat_map(|run| &run.calls));
        let counted = |call: &Call| {
            let counts = &call.counts;
            let edges = if counts.neighborhoods > 0 { counts.edges } else { call.rows };
            ([counts.neighborhoods.max(1) as f64, edges as f64], call.ns.max(1) as f64)
        };
        let mut rows: Vec<([f64; 2], f64)> = calls.map(counted).collect();
        let found = least_squares::solve(2, rows.iter().map(|(row, ns)| (&row[..], *ns, 1.0 / ns)));
        // Relative errors are least near the fastest calls, which where caches are cold are those that found their block
        // in memory. The time of a sum of calls follows their mean.
        trim(&mut rows, |row| row.1);
        let composed = |row: &[f64; 2]| row[0] * found[0] + row[1] * found[1];
        let (measured, model) = rows.iter().fold((0.0, 0.0), |sums, (row, ns)| (sums.0 + ns, sums.1 + composed(row)));
        let scale = if model > 0.0 { measured / model } else { 1.0 };
        Some(Line { neighborhood: found[0] * scale, edge: found[1] * scale })
    }

    /// Counts of a call as the calls of the interface have them: statements do not count what they touch.
    fn counts(&self, operation: Operation, at: usize) -> Option<Counts> {
        let of = |regime| self.counted.run(operation, Way::Api, regime)?.calls.get(at).map(|call| call.counts);
        match self.way {
            Way::Api => of(self.regime),
            Way::Cypher => of(Regime::Hot).or_else(|| of(self.regime)),
        }
    }

    /// The time of hops in both directions from the same start; their mean where the start is one of another graph.
    fn hops(&self, hops: u32, at: usize) -> Option<f64> {
        let operation = Operation::Hops(Direction::Both, hops);
        match hops {
            0 => self.cost(Operation::NodeById),
            _ if std::ptr::eq(self.found, self.counted) => Some(self.run(operation)?.calls.get(at)?.ns as f64),
            _ => self.cost(operation),
        }
    }

    /// The model of a statement: what its profile says that it touches, at the costs of calls.
    fn statement(&self, operation: Operation) -> Option<Box<Model<'_>>> {
        let api = Below { way: Way::Api, ..*self };
        let line = api.line(Operation::Neighbors(Direction::Both, Filter::Plain))?;
        let (node, empty) = (api.cost(Operation::NodeById)?, self.cost(Operation::EmptyStatement)?);
        // Calls that are all the same have more hot than cold ones.
        let counted = self.counted.run(operation, Way::Cypher, Regime::Hot)?;
        Some(Box::new(move |_, at| {
            let Counts { neighborhoods, edges, unique_nodes, .. } = counted.calls.get(at)?.counts;
            let parts = [(neighborhoods, line.neighborhood), (edges, line.edge), (unique_nodes, node)];
            let sum: f64 = parts.iter().map(|(count, cost)| *count as f64 * cost).sum();
            (sum > 0.0).then_some(empty + sum)
        }))
    }

    /// The model of a call, and its formula.
    fn model(&self, operation: Operation) -> Option<(Box<Model<'_>>, &'static str)> {
        Some(match operation {
            Operation::FirstNeighbor(..) => {
                let each = self.cost(Operation::EdgeByText)? + self.cost(Operation::NodeById)?;
                (Box::new(move |_, _| Some(each)), "edge + node")
            }
            Operation::Neighbors(_, filter) => {
                let mut each = self.cost(Operation::EdgeByText)? + self.cost(Operation::NodeById)?;
                let mut formula = "n (node + edge)";
                if filter == Filter::Property {
                    each += self.cost(Operation::EdgeProperty)?;
                    formula = "n (node + edge + property)";
                }
                (Box::new(move |call, _| Some(call.rows.max(1) as f64 * each)), formula)
            }
            Operation::Hops(direction, hops) => {
                let (below, formula) = match hops {
                    1 => (Operation::Neighbors(direction, Filter::Plain), "neighbours"),
                    _ => (Operation::Hops(direction, 1), "1-hop of each node within reach"),
                };
                let line = self.line(below)?;
                let model = move |_: &Call, at| {
                    let counts = self.counts(operation, at)?;
                    Some(counts.neighborhoods as f64 * line.neighborhood + counts.edges as f64 * line.edge)
                };
                (Box::new(model), formula)
            }
            Operation::Clustering => (Box::new(move |_, at| self.hops(2, at)), "2-hop both"),
            Operation::ShortestPath => {
                let model =
                    move |call: &Call, at| u32::try_from(call.counts.path_length).ok().and_then(|k| self.hops(k, at));
                (Box::new(model), "k-hop both, k the path's length")
            }
            Operation::Bfs | Operation::Components | Operation::PageRank => {
                let direction = if operation == Operation::PageRank { Direction::Out } else { Direction::Both };
                let line = self.line(Operation::Neighbors(direction, Filter::Plain))?;
                let model = move |call: &Call, _| {
                    let counts = call.counts;
                    Some(counts.neighborhoods as f64 * line.neighborhood + counts.edges as f64 * line.edge)
                };
                (Box::new(model), "neighbours of each node, for each pass")
            }
            Operation::Triangles => {
                let each = self.cost(Operation::Hops(Direction::Both, 2))?;
                (Box::new(move |call, _| Some(call.counts.neighborhoods as f64 * each)), "2-hop both of each node")
            }
            Operation::Statement(_) => (self.statement(operation)?, STATEMENT_FORMULA),
            Operation::IngestBulk | Operation::IngestIncrement => {
                let [node, edge, property] = [Operation::AddNode, Operation::AddEdge, Operation::SetProperty];
                let (node, edge, property) = (self.cost(node)?, self.cost(edge)?, self.cost(property).unwrap_or(0.0));
                let commit = self.cost(Operation::Commit)?;
                let model = move |call: &Call, _| {
                    let Counts { unique_nodes, edges, properties, passes, .. } = call.counts;
                    let parts = [(unique_nodes, node), (edges, edge), (properties, property), (passes, commit)];
                    Some(parts.iter().map(|(count, cost)| *count as f64 * cost).sum())
                };
                (Box::new(model), "nodes, edges and properties added, and commits")
            }
            _ => return None,
        })
    }
}

/// Leaves out the slowest of a hundred, which are slow for what else the machine does.
fn trim<T>(calls: &mut Vec<T>, ns: impl Fn(&T) -> f64) {
    calls.sort_by(|a, b| ns(a).total_cmp(&ns(b)));
    calls.truncate(calls.len() - calls.len() / 100);
}

/// The nanoseconds of a call, which has that number among the starts, as a model has them.
type Model<'a> = dyn Fn(&Call, usize) -> Option<f64> + 'a;

/// Predicts all runs that are made of others.
pub fn compose(found: &Measurements) -> Vec<Prediction> {
    compose_from(found, found)
}

/// Predicts the runs of a measurement from costs of another, as those of a generated graph: the paper's figure 9. Counts are those of the
/// calls that are predicted; the hops of a path have the mean time of hops in the graph that costs are from.
pub fn compose_from(costs: &Measurements, found: &Measurements) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for run in found.runs.iter().filter(|run| run.choice == Choice::Uniform) {
        // Algorithms call the store, whoever calls them.
        let way = if run.operation.layer() == Layer::Algorithm { Way::Api } else { run.way };
        let below = Below { found: costs, counted: found, way, regime: run.regime };
        let Some((model, formula)) = below.model(run.operation) else { continue };
        // A subject need not count what the model is made of.
        let modelled = |call: &Call, at| model(call, at).filter(|ns| *ns > 0.0);
        let pair = |(at, call): (usize, &Call)| Some((call.ns as f64, modelled(call, at)?));
        let mut pairs: Vec<(f64, f64)> = run.calls.iter().enumerate().filter_map(pair).collect();
        trim(&mut pairs, |pair| pair.0);
        if pairs.is_empty() {
            continue;
        }
        let calls = pairs.len();
        predictions.push(Prediction {
            operation: run.operation,
            way: run.way,
            regime: run.regime,
            measured_ns: pairs.iter().map(|pair| pair.0).sum::<f64>() / calls as f64,
            model_ns: pairs.iter().map(|pair| pair.1).sum::<f64>() / calls as f64,
            formula,
            calls,
        });
    }
    predictions
}

/// Costs fitted to the calls of the graph layer in one regime.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// State of the caches.
    pub regime: Regime,
    /// Nanoseconds of each of [`FEATURES`].
    pub costs: [f64; FEATURES.len()],
    /// Operations, and the factor between what each takes and what these costs say, half of its calls below.
    pub factors: Vec<(Operation, f64)>,
    /// Number of calls that it was fitted to.
    pub calls: usize,
}

/// Errors of a fit on calls that it was not fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Operation that was predicted.
    pub operation: Operation,
    /// State of the caches.
    pub regime: Regime,
    /// Factor of the operation in the fit.
    pub factor: f64,
    /// Relative error that half of the calls do not exceed.
    pub median_error: f64,
    /// Relative error that 90 percent do not exceed.
    pub p90_error: f64,
    /// Number of calls judged.
    pub calls: usize,
}

/// Largest errors, median and of 90 percent, with which a prediction is within the model.
pub fn error_max(regime: Regime) -> (f64, f64) {
    if regime == Regime::Cold { COLD_ERROR_MAX } else { ERROR_MAX }
}

impl Judgement {
    /// True if the errors are larger than the model states, or the operation takes another time than its counts explain.
    pub fn is_out_of_model(&self) -> bool {
        let (median, p90) = error_max(self.regime);
        let is_explained = (1.0 / FACTOR_MAX..=FACTOR_MAX).contains(&self.factor);
        self.median_error > median || self.p90_error > p90 || !is_explained
    }
}

fn features(call: &Call) -> [f64; FEATURES.len()] {
    let counts = &call.counts;
    let counted = [
        counts.neighborhoods, counts.edges, counts.unique_nodes, counts.properties, counts.block_uses,
        counts.block_misses, counts.bytes_read,
    ];
    let mut features = [1.0; FEATURES.len()];
    counted.iter().zip(&mut features[1..]).for_each(|(count, feature)| *feature = *count as f64);
    features
}

impl Fit {
    /// Nanoseconds that a call of an operation should take.
    pub fn predict(&self, operation: Operation, call: &Call) -> f64 {
        self.factor(operation) * self.counted(call)
    }

    /// Nanoseconds of what a call touched, by the costs that are common to all operations.
    fn counted(&self, call: &Call) -> f64 {
        features(call).iter().zip(self.costs).map(|(count, cost)| count * cost).sum()
    }

    fn factor(&self, operation: Operation) -> f64 {
        self.factors.iter().find(|(known, _)| *known == operation).map_or(1.0, |(_, factor)| *factor)
    }

    /// The factors of operations, from the calls that the costs were fitted to.
    fn factors_of(&self, found: &Measurements) -> Vec<(Operation, f64)> {
        let mut ratios: Vec<(Operation, Vec<f64>)> = Vec::new();
        for run in fitted_runs(found, self.regime) {
            let of_run = trained(run).map(|call| call.ns.max(1) as f64 / self.counted(call).max(1.0));
            match ratios.iter_mut().find(|(known, _)| *known == run.operation) {
                Some((_, ratios)) => ratios.extend(of_run),
                None => ratios.push((run.operation, of_run.collect())),
            }
        }
        let median = |ratios: Vec<f64>| Times::of(ratios).percentile(50);
        ratios.into_iter().map(|(operation, ratios)| (operation, median(ratios))).collect()
    }
}

/// Calls of a run that costs are fitted to: every other one.
fn trained(run: &Run) -> impl Iterator<Item = &Call> {
    run.calls.iter().step_by(2)
}

/// Runs that costs are fitted to: neighbourhoods, by calls.
fn fitted_runs(found: &Measurements, regime: Regime) -> impl Iterator<Item = &Run> {
    let is_fitted = move |run: &&Run| {
        run.way == Way::Api && run.regime == regime && run.operation.layer() == Layer::Graph && !run.calls.is_empty()
    };
    found.runs.iter().filter(is_fitted)
}

/// Fits the costs of a regime to every other start; `None` if there is too little.
pub fn fit(found: &Measurements, regime: Regime) -> Option<Fit> {
    let mut rows: Vec<([f64; FEATURES.len()], f64, f64)> = Vec::new();
    for run in fitted_runs(found, regime) {
        let trained: Vec<&Call> = trained(run).collect();
        // Each operation counts the same, however many calls it had time for.
        let share = (trained.len() as f64).sqrt();
        rows.extend(trained.iter().map(|call| {
            let ns = call.ns.max(1) as f64;
            (features(call), ns, 1.0 / (ns * share))
        }));
    }
    if rows.len() < CALLS_MIN * FEATURES.len() {
        return None;
    }
    let solved = least_squares::solve(FEATURES.len(), rows.iter().map(|(row, ns, weight)| (&row[..], *ns, *weight)));
    let mut costs = [0.0; FEATURES.len()];
    costs.copy_from_slice(&solved);
    let fit = Fit { regime, costs, factors: Vec::new(), calls: rows.len() };
    Some(Fit { factors: fit.factors_of(found), ..fit })
}

/// Calls that a fit is judged on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Those that it was not fitted to.
    HeldOut,
    /// All, of another subject.
    All,
}

/// Judges a fit on the calls of a measurement.
pub fn judge(fit: &Fit, found: &Measurements, judged: Judged) -> Vec<Judgement> {
    let (first, step) = if judged == Judged::HeldOut { (1, 2) } else { (0, 1) };
    let mut judgements = Vec::new();
    for run in fitted_runs(found, fit.regime).filter(|run| run.choice == Choice::Uniform) {
        let errors = run.calls.iter().skip(first).step_by(step).map(|call| {
            let ns = call.ns.max(1) as f64;
            (fit.predict(run.operation, call) - ns).abs() / ns
        });
        let errors = Times::of(errors.collect());
        if errors.count() < CALLS_MIN {
            continue;
        }
        judgements.push(Judgement {
            operation: run.operation,
            regime: run.regime,
            factor: fit.factor(run.operation),
            median_error: errors.percentile(50),
            p90_error: errors.percentile(90),
            calls: errors.count(),
        });
    }
    judgements
}

#[cfg(test)]
mod tests {
    use model::{Direction, Interrupt};
    use testing::simulation::CountingClock;

    use super::{Judged, compose, compose_from, fit, judge};
    use crate::machine::Effort;
    use crate::measure::{MeasureOptions, Measurements, Regime, measure};
    use crate::operations::{Filter, Operation, Way};
    use crate::subject::synthetic::{Fault, Synthetic};

    fn measured(mut subject: Synthetic) -> Measurements {
        let options = MeasureOptions { calls_max: 200, cold_calls_max: 60, ..MeasureOptions::new(Effort::Quick) };
        measure(&mut subject, &options, &CountingClock::default(), &Interrupt::new()).expect("it runs")
    }

    fn is_near(found: f64, expected: f64, tolerance: f64) -> bool {
        (found / expected - 1.0).abs() < tolerance
    }

    #[test]
    fn fitted_costs_are_those_that_were_planted() {
        let subject = Synthetic::new(3_000, 5);
        let costs = subject.costs;
        let found = measured(subject);
        let hot = fit(&found, Regime::Hot).expect("there are enough calls");
        let planted = [costs.call, costs.neighborhood, costs.edge, costs.unique_node, costs.property, costs.block];
        for (name, (fitted, planted)) in super::FEATURES.iter().zip(hot.costs.iter().zip(planted)) {
            assert!(is_near(*fitted, planted, 0.05), "{name}: {fitted}, planted {planted}");
        }
        let judgements = judge(&hot, &found, Judged::HeldOut);
        assert_eq!(judgements.len(), 15);
        assert!(judgements.iter().all(|held| held.median_error < 0.03 && !held.is_out_of_model()), "{judgements:?}");
    }

    #[test]
    fn blocks_that_are_missed_have_their_cost() {
        let subject = Synthetic::new(10_000, 5);
        let miss = subject.costs.miss;
        let cold = fit(&measured(subject), Regime::Cold).expect("there are enough calls");
        // Each miss reads 4 KiB: the two share its cost.
        let found = cold.costs[6] + 4096.0 * cold.costs[7];
        assert!(is_near(found, miss, 0.05), "{:?}", cold.costs);
    }

    #[test]
    fn costs_of_one_graph_predict_another() {
        let hot = fit(&measured(Synthetic::new(2_000, 5)), Regime::Hot).expect("there are enough calls");
        let other = judge(&hot, &measured(Synthetic::new(4_000, 9)), Judged::All);
        assert_eq!(other.len(), 15);
        assert!(other.iter().all(|held| held.median_error < 0.05), "{other:?}");
    }

    #[test]
    fn what_does_not_fit_is_out_of_model() {
        let found = measured(Synthetic::new(2_000, 5).with(&[Fault::SlowIn]));
        let hot = fit(&found, Regime::Hot).expect("there are enough calls");
        let judgements = judge(&hot, &found, Judged::HeldOut);
        let of = |operation: Operation| judgements.iter().find(|held| held.operation == operation).expect("judged");
        assert!(of(Operation::Neighbors(Direction::In, Filter::Plain)).is_out_of_model());
    }

    #[test]
    fn composed_costs_keep_the_mean_where_some_calls_find_their_block_in_memory() {
        let mut found = measured(Synthetic::new(3_000, 5));
        let neighbors = Operation::Neighbors(Direction::Out, Filter::Plain);
        for run in found.runs.iter_mut().filter(|run| run.regime == Regime::Cold) {
            for (at, call) in run.calls.iter_mut().enumerate() {
                call.ns = if at % 2 == 0 { 300 } else { 300_000 };
            }
        }
        let mean = found.cost(neighbors, Way::Api, Regime::Cold).expect("it was measured");
        let composed = compose(&found);
        let hop = composed.iter().find(|held| {
            (held.operation, held.way, held.regime) == (Operation::Hops(Direction::Out, 1), Way::Api, Regime::Cold)
        });
        let model = hop.expect("it is predicted").model_ns;
        assert!(is_near(model, mean, 0.1), "{model}, neighbours took {mean}");
    }

    #[test]
    fn a_graph_is_predicted_with_the_costs_of_another() {
        let (small, large) = (measured(Synthetic::new(2_000, 5)), measured(Synthetic::new(4_000, 9)));
        let mut slow = Synthetic::new(4_000, 9);
        slow.costs.neighborhood *= 2.0;
        slow.costs.edge *= 2.0;
        slow.costs.call *= 2.0;
        slow.costs.unique_node *= 2.0;
        let factor = |of: &Measurements, operation: Operation| {
            let found = compose_from(&small, of);
            let is_it = |held: &&super::Prediction| {
                (held.operation, held.way, held.regime) == (operation, Way::Api, Regime::Hot)
            };
            found.iter().find(is_it).expect("it is predicted").factor()
        };
        // Degrees out are all alike, from which the share of an edge cannot be told.
        let one_hop = Operation::Hops(Direction::Both, 1);
        let own = factor(&small, one_hop);
        let (other, slower) = (factor(&large, one_hop), factor(&measured(slow), one_hop));
        assert!(is_near(other, own, 0.05) && is_near(slower / other, 2.0, 0.05), "{own} {other} {slower}");
    }

    #[test]
    fn operations_are_composed_of_those_below() {
        let subject = Synthetic::new(3_000, 5);
        let costs = subject.costs;
        let found = measured(subject);
        let composed = compose(&found);
        let of = |operation: Operation, way: Way| {
            let is_it =
                |held: &&super::Prediction| (held.operation, held.way, held.regime) == (operation, way, Regime::Hot);
            composed.iter().find(is_it).expect("it is predicted")
        };
        // Each node of a Barabási–Albert graph but the first has five edges out.
        let neighbors = of(Operation::Neighbors(Direction::Out, Filter::Plain), Way::Api);
        let each = 2.0 * costs.call + costs.edge_by_id + costs.node;
        assert!(is_near(neighbors.model_ns, 5.0 * each, 0.02), "{neighbors:?}");
        let took = costs.call + costs.neighborhood + 2.0 * costs.block + 5.0 * (costs.edge + costs.unique_node);
        assert!(is_near(neighbors.factor(), took / (5.0 * each), 0.03), "{neighbors:?}");
        assert!(is_near(of(Operation::FirstNeighbor(Direction::In, Filter::Plain), Way::Api).model_ns, each, 0.02));
        // The cost of a call is paid once for all neighbourhoods.
        let two = of(Operation::Hops(Direction::Out, 2), Way::Api);
        assert!(two.factor() < 0.7, "{two:?}");
        let clustering = of(Operation::Clustering, Way::Api);
        assert!(is_near(clustering.factor(), 1.0, 0.02), "{clustering:?}");
        let path = of(Operation::ShortestPath, Way::Cypher);
        let without_statement = (path.measured_ns - costs.statement) / 1.3;
        assert!(is_near(path.model_ns, without_statement, 0.05) && path.calls > 100, "{path:?}");
        assert_eq!(composed.iter().filter(|held| held.regime == Regime::Hot).count(), 33);
    }
}
