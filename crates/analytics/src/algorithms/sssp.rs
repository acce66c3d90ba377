//! Costs of cheapest paths from one node to every other, where every edge has a cost of at least 0.
//!
//! Claim: the distances are the costs of cheapest paths. Without a weight property every edge costs 1. A negative
//! weight is an error that names the edge.
//! Cost: see `sssp/delta_stepping.rs` and, for streamed rows, `sssp/streamed.rs`; without weights that of a
//! breadth-first search.
//! After: Meyer, Sanders, "Δ-stepping: a parallelizable shortest path algorithm", 2003.

mod delta_stepping;
mod streamed;
mod windowed;

use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use super::bfs;
use crate::algorithm::{About, Follows, JobOf, JobPlan, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::SEARCH;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::column;
use crate::settings::Settings;
use crate::settings::shared::SOURCE_NODE;

/// For each node of a view that has forward rows, the cost of a cheapest path from the source; infinite without one.
pub fn run(view: &GraphView, source: u32, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    if view.forward().has_weights() {
        return delta_stepping::run(view.forward(), source, threads, interrupt);
    }
    Ok(as_costs(&bfs::run(view, source, None, threads, interrupt)?))
}

/// Numbers of edges as costs.
fn as_costs(steps: &[u32]) -> Vec<f64> {
    steps.iter().map(|&step| if step == bfs::UNREACHED { f64::INFINITY } else { f64::from(step) }).collect()
}

/// Checks distances by another method: no edge leads to a node more cheaply than its distance says, and every node
/// reached is the end of an edge that makes up its distance exactly.
pub fn verify(view: &GraphView, source: u32, distances: &[f64]) -> Result<()> {
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

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The node at which it starts.
    pub source: NodeId,
}

/// `algo.sssp`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "sssp",
        aliases: &["algo.dijkstra.distances", "gds.allShortestPaths.delta"],
        description: "Finds what a cheapest path costs from a node to every node that can be reached.",
        settings: &[&SOURCE_NODE],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("cost", "FLOAT")],
        stats: &[column("nodesReached", "INTEGER")],
        shape: Shape::Nodes,
    };

    const JOB: Option<JobOf<Config>> = Some(|graph, config| {
        let source = Value::from(graph.require(config.source, SOURCE_NODE.name)?);
        Ok(JobPlan { settings: vec![("source", source)], names_nodes: false })
    });

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Config> {
        Ok(Config { source: settings.get(&SOURCE_NODE)? })
    }

    fn needs(_config: &Config, _is_weighted: bool) -> Needs {
        let node_bytes = size_of::<f64>() + 3 * size_of::<u32>();
        Needs { sides: Sides::Forward, node_bytes, edge_bytes: 0, executions: &Execution::ALL }
    }

    fn work(_config: &Config, is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::Passes { count: 1, kernel: SEARCH })
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let source = graph.require(config.source, SOURCE_NODE.name)?;
        let costs = match graph.view() {
            Some(view) => self::run(view, source, run.threads, run.interrupt)?,
            None if run.execution == Execution::Windows => windowed::run(graph, source, run)?.to_vec()?,
            None if graph.has_weights() => streamed::run(graph.rows(), source, run.threads, run.interrupt)?,
            None => as_costs(&bfs::distances(graph, source, None, run.threads, run.interrupt)?),
        };
        let reached: Bitmap = costs.iter().map(|cost| cost.is_finite()).collect();
        let stats = vec![Value::Int(reached.count_ones() as i64)];
        Ok(Outcome {
            columns: vec![Column::with_validity(ColumnData::Float(costs), reached)],
            order: RowOrder::ByValue,
            stats,
        })
    }
}
