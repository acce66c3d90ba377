//! Hubs and authorities: a good hub leads to good authorities, and good hubs lead to a good authority.
//!
//! Claim: auth(v) ← Σ hub(u)·w(u, v) over edges u→v, scaled to length 1; then hub(u) ← Σ auth(v)·w(u, v) over edges
//! u→v, scaled to length 1; from 1 for all hubs, until `maxIterations` or until no score changes by `tolerance` or more.
//! Without edges all scores are 0.
//! Cost: per iteration one pass over the in-edges and one over the out-edges, and one random read of 8 bytes an edge in
//! each.
//! After: Kleinberg, "Authoritative sources in a hyperlinked environment", 1999.

use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::SCORE;
use crate::graph::{Execution, Graph, Side, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::column;
use crate::pull::{Pull, largest_change, normalize};
use crate::settings::kind::{Integer, Number};
use crate::settings::table::{Fixed, Setting};
use crate::settings::{Settings, shared};

static MAX_ITERATIONS: Setting<Integer, Fixed<u64>> = shared::max_iterations(20).or(&["hitsIterations"]);
static TOLERANCE: Setting<Number, Fixed<f64>> =
    shared::tolerance(1e-7, "The run stops when an iteration changes no score by this or more.");

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Iterations after which to stop in any case.
    pub max_iterations: u64,
    /// Largest change of a score below which to stop.
    pub tolerance: f64,
}

impl Default for Config {
    fn default() -> Config {
        Config { max_iterations: MAX_ITERATIONS.default.0, tolerance: TOLERANCE.default.0 }
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Hits {
    /// For each node, how good an authority it is; the sum of the squares is 1.
    pub authorities: Vec<f64>,
    /// For each node, how good a hub it is; the sum of the squares is 1.
    pub hubs: Vec<f64>,
    /// Iterations done.
    pub iterations: u64,
    /// True if the last iteration changed no score by the tolerance or more.
    pub did_converge: bool,
}

/// Scores the nodes of a graph that has rows of both sides.
pub fn run(graph: &Graph<'_>, config: &Config, threads: usize, interrupt: &Interrupt) -> Result<Hits> {
    let node_count = graph.node_count();
    let (into, out) =
        (Pull::new(graph, Side::Backward, threads, interrupt), Pull::new(graph, Side::Forward, threads, interrupt));
    let mut found = Hits { authorities: vec![0.0; node_count], hubs: vec![1.0; node_count], ..Hits::default() };
    let mut next = vec![0.0; node_count];
    while found.iterations < config.max_iterations && node_count > 0 && !found.did_converge {
        interrupt.check()?;
        interrupt.step(found.iterations, config.max_iterations)?;
        let mut change: f64 = 0.0;
        into.sums(&found.hubs, &mut next, |_, received| received)?;
        normalize(&mut next);
        change = change.max(largest_change(&found.authorities, &next));
        std::mem::swap(&mut found.authorities, &mut next);
        out.sums(&found.authorities, &mut next, |_, received| received)?;
        normalize(&mut next);
        change = change.max(largest_change(&found.hubs, &next));
        std::mem::swap(&mut found.hubs, &mut next);
        found.did_converge = change < config.tolerance;
        found.iterations += 1;
    }
    interrupt.report(found.iterations, found.iterations);
    Ok(found)
}

/// Checks scores by another method: hubs must be what authorities give when pushed back along the in-edges, and both
/// have length 1 unless there is no edge of any weight.
///
/// The view must have backward rows.
pub fn verify(view: &GraphView, result: &Hits) -> Result<()> {
    let rows = view.backward();
    let mut pushed = vec![0.0; view.node_count()];
    for node in 0..view.node_count() as u32 {
        for (at, &from) in rows.neighbors(node).iter().enumerate() {
            let weight = if rows.has_weights() { rows.weights(node)[at] } else { 1.0 };
            pushed[from as usize] += weight * result.authorities[node as usize];
        }
    }
    let length = |numbers: &[f64]| numbers.iter().map(|number| number * number).sum::<f64>().sqrt();
    let expected = if length(&pushed) == 0.0 { 0.0 } else { 1.0 };
    for (what, numbers) in [("authorities", &result.authorities), ("hubs", &result.hubs)] {
        if (length(numbers) - expected).abs() > 1e-9 {
            return Err(model::error!(Internal, "{what} have length {}, expected {expected}", length(numbers)));
        }
    }
    let scale = if expected == 0.0 { 1.0 } else { length(&pushed) };
    match (0..pushed.len()).find(|&node| (pushed[node] / scale - result.hubs[node]).abs() > 1e-9) {
        Some(node) => {
            let (found, expected) = (result.hubs[node], pushed[node] / scale);
            Err(model::error!(Internal, "node {node} has hub score {found}, expected {expected}"))
        }
        None => Ok(()),
    }
}

/// `algo.hits`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "hits",
        aliases: &["gds.hits"],
        description: "Scores nodes as authorities, to which hubs lead, and as hubs, which lead to authorities.",
        settings: &[&MAX_ITERATIONS, &TOLERANCE],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("auth", "FLOAT"), column("hub", "FLOAT")],
        stats: &[column("ranIterations", "INTEGER"), column("didConverge", "BOOLEAN")],
        shape: Shape::Nodes,
    };

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Config> {
        Ok(Config { max_iterations: settings.get(&MAX_ITERATIONS)?, tolerance: settings.get(&TOLERANCE)? })
    }

    fn needs(_config: &Config, _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::ForwardAndBackward,
            node_bytes: 3 * size_of::<f64>(),
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn work(config: &Config, is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::Passes { count: 2 * config.max_iterations, kernel: SCORE })
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let found = self::run(graph, config, run.threads, run.interrupt)?;
        let stats = vec![Value::Int(found.iterations.cast_signed()), Value::Bool(found.did_converge)];
        let columns = [found.authorities, found.hubs].map(|scores| Column::new(ColumnData::Float(scores)));
        Ok(Outcome { columns: columns.into(), order: RowOrder::ByNumber, stats })
    }
}
