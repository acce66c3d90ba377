//! A cheapest path between two nodes where every edge has a cost of at least 0.
//!
//! Claim: the path costs no more than any other. Without a weight property every edge costs 1. A negative weight is an
//! error that names the edge.
//! Cost: see `search/best_first.rs`.
//! After: Dijkstra, "A note on two problems in connexion with graphs", 1959.

use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::procedure::{ProcedureContext, ProcedureMode, RowSink};
use model::store::{Direction, ReadView};
use model::value::Value;

use super::sssp;
use crate::graph_view::GraphView;
use crate::procedure::{AlgorithmProcedure, column, send_row, signature};
use crate::projection::{Projection, Weight};
use crate::search::best_first::{self, Problem};
use crate::search::path::path_of;
use crate::settings::{SOURCE, Settings, TARGET};

/// What a run between two nodes is asked for.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where paths start.
    pub source: NodeId,
    /// Where they end.
    pub target: NodeId,
    /// What edges cost; 1 each if `None`.
    pub weight: Option<Weight>,
    /// Expansions after which to give up.
    pub expanded_max: u64,
}

/// What a run between two nodes found.
#[derive(Clone, Debug)]
pub struct CheapestPath {
    /// The nodes of a cheapest path and its cost, if there is a path.
    pub path: Option<(Vec<NodeId>, f64)>,
    /// How many nodes had their edges followed.
    pub expanded: u64,
    /// How many batches of nodes the store was asked to expand.
    pub batches: u64,
}

/// Finds a cheapest path between two nodes, straight over the store.
pub fn run(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    interrupt: &Interrupt,
) -> Result<CheapestPath> {
    let problem = Problem {
        view,
        projection,
        weight: config.weight.as_ref(),
        map: None,
        source: config.source,
        target: config.target,
        expanded_max: config.expanded_max,
    };
    let best_first::Outcome { path, expanded, batches } = best_first::run(&problem, interrupt)?;
    Ok(CheapestPath { path, expanded, batches })
}

/// Checks a path by another method: its cost is the distance that is found by relaxing the edges of the whole view
/// (with weights as the search had them), and the steps of the path add up to it.
pub fn verify(view: &GraphView, config: &Config, result: &CheapestPath, interrupt: &Interrupt) -> Result<()> {
    let (Some(source), Some(target)) = (view.index(config.source), view.index(config.target)) else {
        return Err(model::error!(Internal, "an end of the path does not take part"));
    };
    let distances = sssp::run(view, source, 1, interrupt)?;
    sssp::verify(view, source, &distances)?;
    let expected = distances[target as usize];
    let found = result.path.as_ref().map_or(f64::INFINITY, |(_, cost)| *cost);
    if !(found == expected || (found - expected).abs() <= 1e-12 * expected) {
        return Err(model::error!(Internal, "the path costs {found}, expected {expected}"));
    }
    let Some((nodes, cost)) = &result.path else { return Ok(()) };
    let mut sum = 0.0;
    for step in nodes.windows(2) {
        let (Some(from), Some(to)) = (view.index(step[0]), view.index(step[1])) else {
            return Err(model::error!(Internal, "a node of the path does not take part"));
        };
        let rows = view.forward();
        let costs = (0..).zip(rows.neighbors(from)).filter(|(_, neighbor)| **neighbor == to);
        let costs = costs.map(|(at, _): (usize, _)| if rows.has_weights() { rows.weights(from)[at] } else { 1.0 });
        sum += costs.fold(f64::INFINITY, f64::min);
    }
    if sum != *cost {
        return Err(model::error!(Internal, "the steps of the path cost {sum}, expected {cost}"));
    }
    Ok(())
}

const KEYS: &[&str] = &[
    "labels", "nodeLabels", "types", "relationshipTypes", "direction", "concurrency", "sourceNode", "source",
    "targetNode", "target", "weightProperty", "defaultWeight", "maxExpanded",
];
/// `algo.dijkstra`.
pub const PROCEDURE: AlgorithmProcedure = AlgorithmProcedure {
    signature: signature(
        "algo.dijkstra",
        &["algo.dijkstra.stream", "gds.shortestPath.dijkstra.stream"],
        ProcedureMode::Read,
        "Finds a cheapest path between two nodes; no row if there is none.",
        &[
            column("path", "PATH"),
            column("cost", "FLOAT"),
            column("nodesExpanded", "INTEGER"),
            column("storeBatches", "INTEGER"),
        ],
    ),
    body: stream,
};

fn stream(context: &mut ProcedureContext<'_>, argument: &Value, sink: &mut RowSink<'_>) -> Result<()> {
    let settings = Settings::new("algo.dijkstra", argument, KEYS)?;
    settings.threads(context.threads)?;
    let view = context.graph.view();
    let projection = Projection::read(&settings, view.schema(), settings.direction(Direction::Out)?)?;
    let config = Config {
        source: settings.node(SOURCE, view)?,
        target: settings.node(TARGET, view)?,
        weight: Weight::read(&settings, view.schema())?,
        expanded_max: settings.integer("maxExpanded", 1)?.unwrap_or(u64::MAX),
    };
    projection.require(view, config.source, SOURCE[0])?;
    projection.require(view, config.target, TARGET[0])?;
    let result = run(view, &projection, &config, context.interrupt)?;
    send_path(view, &projection, config.weight.as_ref(), result, sink)
}

/// Sends the one row of a search between two nodes, or none if there is no path.
pub(crate) fn send_path(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    result: CheapestPath,
    sink: &mut RowSink<'_>,
) -> Result<()> {
    let Some((nodes, cost)) = result.path else { return Ok(()) };
    let path = path_of(view, projection, weight, nodes)?;
    let (expanded, batches) = (result.expanded.cast_signed(), result.batches.cast_signed());
    send_row(sink, &[Value::Path(path.into()), Value::Float(cost), Value::Int(expanded), Value::Int(batches)])
}
