//! A cheapest path between two nodes where every edge has a cost of at least 0.
//!
//! Claim: the path costs no more than any other. Without a weight property every edge costs 1. A negative weight is an
//! error that names the edge.
//! Cost: see `search/best_first.rs`.
//! After: Dijkstra, "A note on two problems in connexion with graphs", 1959.

use model::column::Column;
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::procedure::{ProcedureContext, ProcedureMode, RowSink, YieldSpec};
use model::store::ReadView;
use model::value::Value;

use super::sssp;
use crate::graph_view::GraphView;
use crate::held::SearchContext;
use crate::procedure::{SearchProcedure, column, send_row, signature};
use crate::projection::{Projection, Weight};
use crate::search::best_first::{self, Problem};
use crate::search::path::path_of;
use crate::settings::Settings;
use crate::settings::shared::{DIRECTION, ENDS, MAX_EXPANDED, SEARCH, SOURCE_NODE, TARGET_NODE, WEIGHTS};
use crate::view_cache::ViewCache;

/// Parameters of a run between two nodes.
#[derive(Clone, Debug)]
pub struct Config {
    /// The node at which paths start.
    pub source: NodeId,
    /// The node at which paths end.
    pub target: NodeId,
    /// The weight that states the cost of edges; 1 each if `None`.
    pub weight: Option<Weight>,
    /// Expansions after which to give up.
    pub expanded_max: u64,
}

/// The result of a run between two nodes.
#[derive(Clone, Debug)]
pub struct CheapestPath {
    /// The nodes of a cheapest path and its cost, if there is a path.
    pub path: Option<(Vec<NodeId>, f64)>,
    /// Number of nodes whose edges were followed.
    pub expanded: u64,
    /// Number of batches of nodes that the store was asked to expand.
    pub batches: u64,
}

/// Finds a cheapest path between two nodes, straight over the store.
pub fn run(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    context: SearchContext<'_>,
) -> Result<CheapestPath> {
    run_keeping(view, projection, config, None, context)
}

/// The same; what it reads is kept there, and what was kept is not read again.
pub fn run_keeping(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    kept: Option<&ViewCache>,
    context: SearchContext<'_>,
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
    let best_first::Outcome { path, expanded, batches } = best_first::run(&problem, kept, context)?;
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

/// The columns of searches for one path.
pub(super) const PATH_YIELDS: &[YieldSpec] = &[
    column("path", "PATH"),
    column("cost", "FLOAT"),
    column("nodesExpanded", "INTEGER"),
    column("storeBatches", "INTEGER"),
];

/// A call of a search between two nodes, read.
pub(super) struct Ends<'a> {
    pub(super) projection: Projection,
    settings: &'a Settings<'a>,
    view: &'a dyn ReadView,
}

impl<'a> Ends<'a> {
    /// Reads what all such searches share.
    pub(super) fn read(context: &'a ProcedureContext<'_>, settings: &'a Settings<'a>) -> Result<Ends<'a>> {
        settings.threads(context.threads)?;
        let view = context.graph.view();
        let projection = Projection::read(settings, view.schema(), settings.get(&DIRECTION)?)?;
        Ok(Ends { projection, settings, view })
    }

    /// From where to where, and what edges cost.
    pub(super) fn config(&self) -> Result<Config> {
        let source = self.settings.get(&SOURCE_NODE)?;
        self.config_of(source, self.settings.get(&TARGET_NODE)?)
    }

    /// The same between two nodes, which must take part.
    pub(super) fn config_of(&self, source: NodeId, target: NodeId) -> Result<Config> {
        for (node, setting) in [(source, SOURCE_NODE.name), (target, TARGET_NODE.name)] {
            self.projection.require(self.view, node, setting)?;
        }
        Ok(Config {
            source,
            target,
            weight: Weight::read(self.settings, self.view.schema())?,
            expanded_max: self.settings.get(&MAX_EXPANDED)?.unwrap_or(u64::MAX),
        })
    }
}

/// Fails when a search has expanded as many nodes as it may.
pub(super) fn check_expanded(expanded: u64, most: u64) -> Result<()> {
    if expanded < most {
        return Ok(());
    }
    Err(model::error!(Limit, "no path was found within {most} expansions, the setting 'maxExpanded'")
        .with_remedy("raise 'maxExpanded', or leave it out"))
}

/// `algo.dijkstra`.
pub const PROCEDURE: SearchProcedure = SearchProcedure {
    signature: signature(
        "algo.dijkstra",
        &["algo.dijkstra.stream", "gds.shortestPath.dijkstra.stream"],
        ProcedureMode::Read,
        "Finds a cheapest path between two nodes; no row if there is none.",
        PATH_YIELDS,
    ),
    settings: &[SEARCH, ENDS, WEIGHTS, &[&MAX_EXPANDED]],
    body: stream,
    kept: None,
};

fn stream(
    context: &ProcedureContext<'_>,
    settings: &Settings<'_>,
    kept: Option<&ViewCache>,
    sink: &mut RowSink<'_>,
) -> Result<()> {
    let ends = Ends::read(context, settings)?;
    let view = context.graph.view();
    let config = ends.config()?;
    let context = SearchContext::of(context);
    let result = run_keeping(view, &ends.projection, &config, kept, context)?;
    send_path(view, &ends.projection, config.weight.as_ref(), result, context, sink)
}

/// Sends the one row of a search between two nodes, or none if there is no path.
pub(super) fn send_path(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    result: CheapestPath,
    context: SearchContext<'_>,
    sink: &mut RowSink<'_>,
) -> Result<()> {
    let Some((nodes, cost)) = result.path else { return Ok(()) };
    let _held = context.hold_path(&nodes)?;
    let path = path_of(view, projection, weight, nodes)?;
    let (expanded, batches) = (result.expanded.cast_signed(), result.batches.cast_signed());
    send_row(sink, &[Value::Path(path.into()), Value::Float(cost), Value::Int(expanded), Value::Int(batches)])
}

/// Sends one of several paths: path, cost and number; says whether more are wanted.
pub(super) fn send_numbered(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    (nodes, cost): (Vec<NodeId>, f64),
    index: usize,
    context: SearchContext<'_>,
    sink: &mut RowSink<'_>,
) -> Result<bool> {
    let _held = context.hold_path(&nodes)?;
    let path = path_of(view, projection, weight, nodes)?;
    let row = [Value::Path(path.into()), Value::Float(cost), Value::Int(index as i64)];
    sink(row.iter().map(|value| Column::constant(value, 1)).collect())
}
