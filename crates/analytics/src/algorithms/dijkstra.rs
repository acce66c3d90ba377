//! Cheapest paths where every edge has a cost of at least 0: between two nodes, or from one node to all.
//!
//! Claim: the path costs no more than any other; the distances are the costs of cheapest paths. Without a weight
//! property every edge costs 1. A negative weight is an error that names the edge.
//! Cost: between two nodes see `search/best_first.rs`; to all nodes see `dijkstra/delta_stepping.rs`, which reads the
//! whole projection into memory first.
//! After: Dijkstra, "A note on two problems in connexion with graphs", 1959.

mod delta_stepping;

use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::procedure::{ProcedureContext, ProcedureMode, RowSink};
use model::store::{Direction, ReadView};
use model::value::Value;

use super::bfs;
use crate::graph_view::{GraphView, Sides};
use crate::procedure::{
    AlgorithmProcedure, StopWatch, column, node_column, send, send_row, signature, transaction, write_property,
};
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

/// For each node of a view that has forward rows, the cost of a cheapest path from the source; infinite without one.
pub fn distances(view: &GraphView, source: u32, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    if view.forward().has_weights() {
        return delta_stepping::run(view.forward(), source, threads, interrupt);
    }
    let steps = bfs::run(view, source, None, threads, interrupt)?;
    Ok(steps.iter().map(|&step| if step == bfs::UNREACHED { f64::INFINITY } else { f64::from(step) }).collect())
}

/// Checks distances by another method: no edge leads to a node more cheaply than its distance says, and every node
/// reached is the end of an edge that makes up its distance exactly.
pub fn verify_distances(view: &GraphView, source: u32, distances: &[f64]) -> Result<()> {
    let mut is_tight = vec![false; view.node_count()];
    is_tight[source as usize] = distances[source as usize] == 0.0;
    for node in 0..view.node_count() as u32 {
        let distance = distances[node as usize];
        for (at, &neighbor) in view.forward().neighbors(node).iter().enumerate() {
            let over_edge =
                distance + if view.forward().has_weights() { view.forward().weights(node)[at] } else { 1.0 };
            let found = distances[neighbor as usize];
            if over_edge < found {
                return Err(model::error!(
                    Internal,
                    "node {neighbor} has distance {found}, expected {over_edge} or less"
                ));
            }
            is_tight[neighbor as usize] |= over_edge == found;
        }
    }
    match (0..distances.len()).find(|&node| distances[node].is_finite() && !is_tight[node]) {
        Some(node) => Err(model::error!(Internal, "no edge makes up the distance of node {node}")),
        None => Ok(()),
    }
}

/// Checks a path by another method: its cost is the distance that is found by relaxing the edges of the whole view
/// (with weights as the search had them), and the steps of the path add up to it.
pub fn verify(view: &GraphView, config: &Config, result: &CheapestPath, interrupt: &Interrupt) -> Result<()> {
    let (Some(source), Some(target)) = (view.index(config.source), view.index(config.target)) else {
        return Err(model::error!(Internal, "an end of the path does not take part"));
    };
    let distances = distances(view, source, 1, interrupt)?;
    verify_distances(view, source, &distances)?;
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
const DISTANCES_KEYS: &[&str] = &[
    "labels", "nodeLabels", "types", "relationshipTypes", "direction", "concurrency", "sourceNode", "source",
    "weightProperty", "defaultWeight",
];
const WRITE_KEYS: &[&str] = &[
    "labels", "nodeLabels", "types", "relationshipTypes", "direction", "concurrency", "sourceNode", "source",
    "weightProperty", "defaultWeight", "writeProperty",
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

/// The view of a call for distances, and the number of its source.
fn build(
    view: &dyn ReadView,
    settings: &Settings<'_>,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<(GraphView, u32)> {
    let projection = Projection::read(settings, view.schema(), settings.direction(Direction::Out)?)?;
    let weight = Weight::read(settings, view.schema())?;
    let source = settings.node(SOURCE, view)?;
    projection.require(view, source, SOURCE[0])?;
    let built = GraphView::build(view, &projection, weight.as_ref(), Sides::Forward, threads, interrupt)?;
    let source = built.index(source).expect("the source was just found to take part");
    Ok((built, source))
}

/// `algo.dijkstra.distances`.
pub const DISTANCES_PROCEDURE: AlgorithmProcedure = AlgorithmProcedure {
    signature: signature(
        "algo.dijkstra.distances",
        &["algo.dijkstra.distances.stream", "algo.sssp"],
        ProcedureMode::Read,
        "Finds what a cheapest path costs from a node to every node that can be reached.",
        &[column("node", "NODE"), column("cost", "FLOAT")],
    ),
    body: stream_distances,
};

fn stream_distances(context: &mut ProcedureContext<'_>, argument: &Value, sink: &mut RowSink<'_>) -> Result<()> {
    let settings = Settings::new("algo.dijkstra.distances", argument, DISTANCES_KEYS)?;
    let threads = settings.threads(context.threads)?;
    let (view, source) = build(context.graph.view(), &settings, threads, context.interrupt)?;
    let costs = distances(&view, source, threads, context.interrupt)?;
    let mut reached: Vec<u32> = (0..costs.len() as u32).filter(|&node| costs[node as usize].is_finite()).collect();
    reached.sort_by(|&a, &b| costs[a as usize].total_cmp(&costs[b as usize]));
    send(reached.len(), sink, |rows| {
        let reached = &reached[rows];
        let costs = reached.iter().map(|&node| costs[node as usize]).collect();
        vec![node_column(reached.iter().map(|&node| view.node(node))), Column::new(ColumnData::Float(costs))]
    })
}

/// `algo.dijkstra.write`.
pub const WRITE_PROCEDURE: AlgorithmProcedure = AlgorithmProcedure {
    signature: signature(
        "algo.dijkstra.write",
        &["algo.dijkstra.distances.write", "algo.sssp.write"],
        ProcedureMode::Write,
        "Writes to a property what a cheapest path costs to each node; removes it from nodes that are not reached.",
        &[
            column("nodePropertiesWritten", "INTEGER"),
            column("preProcessingMillis", "INTEGER"),
            column("computeMillis", "INTEGER"),
            column("writeMillis", "INTEGER"),
        ],
    ),
    body: write,
};

fn write(context: &mut ProcedureContext<'_>, argument: &Value, sink: &mut RowSink<'_>) -> Result<()> {
    let settings = Settings::new("algo.dijkstra.write", argument, WRITE_KEYS)?;
    let property = settings.required_text("writeProperty")?;
    let threads = settings.threads(context.threads)?;
    let (interrupt, mut watch) = (context.interrupt, StopWatch::start(context.clock));
    let (view, source) = build(context.graph.view(), &settings, threads, interrupt)?;
    let built = watch.lap_millis();
    let costs = distances(&view, source, threads, interrupt)?;
    let reached: Bitmap = costs.iter().map(|cost| cost.is_finite()).collect();
    let computed = watch.lap_millis();
    write_property(transaction(context)?, interrupt, property, view.node_count(), |rows| {
        let nodes = rows.clone().map(|row| view.node(row as u32)).collect();
        let values = ColumnData::Float(costs[rows.clone()].to_vec());
        (nodes, Column::with_validity(values, rows.map(|row| reached.get(row)).collect()))
    })?;
    let written = Value::Int(reached.count_ones() as i64);
    send_row(sink, &[written, built, computed, watch.lap_millis()])
}
