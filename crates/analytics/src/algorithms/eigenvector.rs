//! Eigenvector centrality: a node is as important as the nodes that lead to it are together.
//!
//! Claim: x is iterated by x(v) ← x(v) + Σ x(u)·w(u, v) over edges u→v and scaled to length 1, from the same score for
//! each node (or each of `sourceNodes`, 0 for others), until `maxIterations` or until no score changes by `tolerance` or
//! more. The summand x(v) leaves the eigenvectors as they are and lets graphs converge whose scores would swing without
//! it, as those of two sides.
//! Cost: per iteration one pass over the in-edges and one random read of 8 bytes an edge.
//! After: Bonacich, "Power and centrality: a family of measures", 1987; von Mises, Pollaczek-Geiringer, "Praktische
//! Verfahren der Gleichungsauflösung", 1929.

use model::column::{Column, ColumnData};
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::SCORE;
use crate::graph::{Execution, Graph, Side, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::{column, distribution};
use crate::pull::{Pull, largest_change, normalize};
use crate::settings::kind::{Integer, Nodes, Number};
use crate::settings::table::{Fixed, Setting, Unset};
use crate::settings::{Settings, shared};

static MAX_ITERATIONS: Setting<Integer, Fixed<u64>> = shared::max_iterations(100);
static TOLERANCE: Setting<Number, Fixed<f64>> =
    shared::tolerance(1e-7, "The run stops when an iteration changes no score by this or more.");
static SOURCE_NODES: Setting<Nodes, Unset> =
    shared::source_nodes("all nodes", "Nodes that have a score before the first iteration.");

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Iterations after which to stop in any case.
    pub max_iterations: u64,
    /// Largest change of a score below which to stop.
    pub tolerance: f64,
    /// The nodes that have a score in the beginning; empty for all.
    pub sources: Vec<NodeId>,
}

impl Default for Config {
    fn default() -> Config {
        Config { max_iterations: MAX_ITERATIONS.default.0, tolerance: TOLERANCE.default.0, sources: Vec::new() }
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Eigenvector {
    /// For each node, its score; the sum of the squares is 1.
    pub scores: Vec<f64>,
    /// Iterations done.
    pub iterations: u64,
    /// True if the last iteration changed no score by the tolerance or more.
    pub did_converge: bool,
}

/// Scores the nodes of a graph that has backward rows.
pub fn run(graph: &Graph<'_>, config: &Config, threads: usize, interrupt: &Interrupt) -> Result<Eigenvector> {
    let node_count = graph.node_count();
    let mut scores = vec![if config.sources.is_empty() { 1.0 } else { 0.0 }; node_count];
    for &source in &config.sources {
        scores[graph.require(source, SOURCE_NODES.name)? as usize] = 1.0;
    }
    normalize(&mut scores);
    let mut next = vec![0.0; node_count];
    let pull = Pull::new(graph, Side::Backward, threads, interrupt);
    let mut found = Eigenvector::default();
    while found.iterations < config.max_iterations && node_count > 0 && !found.did_converge {
        interrupt.check()?;
        interrupt.step(found.iterations, config.max_iterations)?;
        pull.sums(&scores, &mut next, |node, received| scores[node] + received)?;
        normalize(&mut next);
        found.did_converge = largest_change(&scores, &next) < config.tolerance;
        std::mem::swap(&mut scores, &mut next);
        found.iterations += 1;
    }
    interrupt.report(found.iterations, found.iterations);
    found.scores = scores;
    Ok(found)
}

/// Checks scores by another method: that they have length 1, and, if they converged, that pushed along the edges they
/// only grow by one factor for all.
///
/// The view must have forward rows.
pub fn verify(view: &GraphView, config: &Config, result: &Eigenvector) -> Result<()> {
    if result.scores.is_empty() {
        return Ok(());
    }
    let squares: f64 = result.scores.iter().map(|score| score * score).sum();
    if (squares - 1.0).abs() > 1e-9 || result.scores.iter().any(|&score| score < 0.0) {
        return Err(model::error!(Internal, "squares of scores sum to {squares}, expected 1"));
    }
    if !result.did_converge {
        return Ok(());
    }
    let rows = view.forward();
    let mut pushed = result.scores.clone();
    for node in 0..view.node_count() as u32 {
        for (at, &neighbor) in rows.neighbors(node).iter().enumerate() {
            let weight = if rows.has_weights() { rows.weights(node)[at] } else { 1.0 };
            pushed[neighbor as usize] += weight * result.scores[node as usize];
        }
    }
    let length = pushed.iter().map(|score| score * score).sum::<f64>().sqrt();
    let residual =
        result.scores.iter().zip(&pushed).map(|(score, pushed)| (pushed / length - score).abs()).fold(0.0, f64::max);
    let allowed = 10.0 * config.tolerance;
    if residual > allowed {
        return Err(model::error!(Internal, "one more iteration changes a score by {residual}, expected {allowed}"));
    }
    Ok(())
}

/// `algo.eigenvector`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "eigenvector",
        aliases: &["gds.eigenvector"],
        description: "Scores nodes by the scores of the nodes that lead to them.",
        settings: &[&MAX_ITERATIONS, &TOLERANCE, &SOURCE_NODES],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("score", "FLOAT")],
        stats: &[
            column("ranIterations", "INTEGER"),
            column("didConverge", "BOOLEAN"),
            column("centralityDistribution", "MAP"),
        ],
        shape: Shape::Nodes,
    };

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Config> {
        Ok(Config {
            max_iterations: settings.get(&MAX_ITERATIONS)?,
            tolerance: settings.get(&TOLERANCE)?,
            sources: settings.get(&SOURCE_NODES)?.unwrap_or_default(),
        })
    }

    fn needs(_config: &Config, _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::Backward,
            node_bytes: 2 * size_of::<f64>(),
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn work(config: &Config, is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::Passes { count: config.max_iterations, kernel: SCORE })
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let found = self::run(graph, config, run.threads, run.interrupt)?;
        let stats = vec![
            Value::Int(found.iterations.cast_signed()),
            Value::Bool(found.did_converge),
            distribution(&found.scores),
        ];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Float(found.scores))], order: RowOrder::ByNumber, stats })
    }
}
