//! Longest paths in a graph without cycles: to each node, the path on which edges weigh most.
//!
//! Claim: no path to the node weighs more. Without a weight property every edge weighs 1. Nodes on a cycle, and those
//! that can be reached from one, have no longest path and no row; the figures tell how many they are.
//! Cost: that of a topological sort, during which the paths are found; 12 bytes a node more.
//! After: Kahn, "Topological sorting of large networks", 1962; Sedgewick, Wayne, "Algorithms", 4th edition, section 4.4.

use model::error::Result;
use model::interrupt::Interrupt;
use model::procedure::RowSink;
use model::store::{Direction, ReadView};
use model::value::Value;

use super::topological_sort::{self, Order};
use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::{Execution, Graph};
use crate::graph_view::{GraphView, Sides};
use crate::long_rows::LongRows;
use crate::procedure::column;
use crate::settings::Settings;

/// No node.
const NONE: u32 = u32::MAX;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct LongestPaths {
    /// The nodes that have a longest path, and for each how many edges the one of most edges has.
    pub order: Order,
    /// For each node what its longest path weighs; 0 for a node that no edge leads to.
    pub costs: Vec<f64>,
    /// For each node the one before it on that path; `u32::MAX` for the first.
    pub parents: Vec<u32>,
}

/// Finds a longest path to each node of a graph that has forward rows.
pub fn run(graph: &Graph<'_>, interrupt: &Interrupt) -> Result<LongestPaths> {
    let (mut costs, mut parents) = (vec![0.0; graph.node_count()], vec![NONE; graph.node_count()]);
    let order = topological_sort::visit(graph, interrupt, &mut |from, to, weight| {
        let over_edge: f64 = costs[from as usize] + weight;
        let parent = &mut parents[to as usize];
        // Of paths that weigh the same, the one over the smallest node, however the rows come.
        if *parent == NONE || over_edge > costs[to as usize] || (over_edge == costs[to as usize] && from < *parent) {
            (costs[to as usize], *parent) = (over_edge, from);
        }
    })?;
    Ok(LongestPaths { order, costs, parents })
}

/// Checks a result by another method: no edge makes the path to a node longer, and the last edge of each path makes up
/// its weight.
///
/// The view must have forward and backward rows.
pub fn verify(view: &GraphView, result: &LongestPaths) -> Result<()> {
    topological_sort::verify(view, &result.order)?;
    let mut is_tight: Vec<bool> = result.parents.iter().map(|&parent| parent == NONE).collect();
    for &node in &result.order.nodes {
        let rows = view.forward();
        for (at, &neighbor) in rows.neighbors(node).iter().enumerate() {
            if result.order.levels[neighbor as usize] == topological_sort::UNORDERED {
                continue;
            }
            let weight = if rows.has_weights() { rows.weights(node)[at] } else { 1.0 };
            let (over_edge, found) = (result.costs[node as usize] + weight, result.costs[neighbor as usize]);
            if over_edge > found {
                return Err(model::error!(Internal, "node {neighbor} is at {found}, expected {over_edge} or more"));
            }
            is_tight[neighbor as usize] |= over_edge == found && result.parents[neighbor as usize] == node;
        }
    }
    match result.order.nodes.iter().find(|&&node| !is_tight[node as usize]) {
        Some(node) => Err(model::error!(Internal, "no edge makes up the longest path to node {node}")),
        None => Ok(()),
    }
}

impl LongestPaths {
    /// Number of nodes of the path to a node.
    fn path_length(&self, target: u32) -> usize {
        let parent = |&node: &u32| Some(self.parents[node as usize]).filter(|&node| node != NONE);
        std::iter::successors(Some(target), parent).count()
    }

    /// The nodes of the path to a node.
    fn path(&self, target: u32) -> Vec<u32> {
        let mut nodes = vec![target];
        while let Some(&parent) = nodes.last().map(|&node| &self.parents[node as usize]).filter(|&&node| node != NONE) {
            nodes.push(parent);
        }
        nodes.reverse();
        nodes
    }

    /// The row of a target.
    fn row(&self, graph: &Graph<'_>, target: u32) -> Vec<Value> {
        let path = self.path(target);
        let list = |value: &dyn Fn(u32) -> Value| Value::list(path.iter().map(|&node| value(node)).collect());
        vec![
            Value::Node(graph.node(path[0])),
            Value::Node(graph.node(target)),
            Value::Float(self.costs[target as usize]),
            list(&|node| Value::Node(graph.node(node))),
            list(&|node| Value::Float(self.costs[node as usize])),
        ]
    }
}

/// `algo.longestPath`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "longestPath",
        aliases: &["algo.longest_path", "gds.dag.longestPath"],
        description: "Finds the path to each node on which relationships weigh most, in a graph without cycles.",
        settings: &[],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[
            column("sourceNode", "NODE"),
            column("targetNode", "NODE"),
            column("totalCost", "FLOAT"),
            column("nodes", "LIST OF NODE"),
            column("costs", "LIST OF FLOAT"),
        ],
        stats: &[column("longestCost", "FLOAT"), column("nodesReached", "INTEGER"), column("nodesLeftOut", "INTEGER")],
        shape: Shape::Rows,
    };

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::Forward,
            node_bytes: 2 * size_of::<u64>() + 5 * size_of::<u32>(),
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let found = self::run(graph, run.interrupt)?;
        let reached = found.order.nodes.len();
        let longest = found.order.nodes.iter().map(|&node| found.costs[node as usize]).fold(0.0, f64::max);
        let left_out = graph.node_count() - reached;
        let stats = vec![Value::Float(longest), Value::Int(reached as i64), Value::Int(left_out as i64)];
        Ok(Outcome { columns: Vec::new(), order: RowOrder::ByNumber, stats })
    }

    fn send(graph: &Graph<'_>, _config: &(), run: &Run<'_>, sink: &mut RowSink<'_>) -> Result<()> {
        let found = self::run(graph, run.interrupt)?;
        let mut rows = LongRows::new(5, run.workspace, sink);
        for &target in &found.order.nodes {
            run.interrupt.check()?;
            let elements = 2 * found.path_length(target);
            if !rows.push(elements, || Ok(found.row(graph, target)))? {
                return Ok(());
            }
        }
        rows.flush().map(drop)
    }
}
