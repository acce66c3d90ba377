//! Topological sort: the nodes in an order in which every edge leads onwards.
//!
//! Claim: every node comes after all nodes that edges lead to it from. Nodes on a cycle, and those that can be reached
//! from one, have no place in such an order and are left out; the figures tell how many. With each node comes the
//! number of edges on the longest path that leads to it, by which the order goes first, and then by node.
//! Cost: one look at each edge, by one thread. Streamed: a pass over all rows to count, and then over the rows of each
//! level of the order, which in a deep graph are many small reads.
//! After: Kahn, "Topological sorting of large networks", 1962.

use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::LAYER;
use crate::graph::{Execution, Graph, RowBlock, Side, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::column;
use crate::settings::Settings;

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// The nodes that have a place, in order.
    pub nodes: Vec<u32>,
    /// For each node, how many edges the longest path to it has; [`UNORDERED`] for nodes on a cycle or behind one.
    pub levels: Vec<u32>,
}

/// The level of a node that has no place.
pub const UNORDERED: u32 = u32::MAX;

/// Orders the nodes of a graph that has forward rows.
pub fn run(graph: &Graph<'_>, interrupt: &Interrupt) -> Result<Order> {
    visit(graph, interrupt, &mut |_, _, _| ())
}

/// The same, and hands on each edge that leads from a node in order, with its weight or 1, when all edges to that node
/// have been handed on.
pub(super) fn visit(graph: &Graph<'_>, interrupt: &Interrupt, edge: &mut dyn FnMut(u32, u32, f64)) -> Result<Order> {
    let node_count = graph.node_count();
    let rows = graph.rows();
    let mut waiting_for = vec![0_u64; node_count];
    for part in 0..rows.part_count(Side::Forward) {
        rows.scan_part(Side::Forward, part, None, &mut |block| {
            interrupt.check()?;
            block.neighbors.iter().for_each(|&neighbor| waiting_for[neighbor as usize] += 1);
            Ok(())
        })?;
    }
    let mut order = Order { nodes: Vec::new(), levels: vec![UNORDERED; node_count] };
    let mut level: Vec<u32> = (0..node_count as u32).filter(|&node| waiting_for[node as usize] == 0).collect();
    for depth in 0.. {
        interrupt.report(order.nodes.len() as u64, node_count as u64);
        interrupt.check()?;
        level.iter().for_each(|&node| order.levels[node as usize] = depth);
        let mut next = Vec::new();
        let mut follow = |block: RowBlock<'_>, row: usize| {
            let weights = block.weights(row);
            for (at, &neighbor) in block.neighbors(row).iter().enumerate() {
                edge(block.first + row as u32, neighbor, weights.get(at).copied().unwrap_or(1.0));
                waiting_for[neighbor as usize] -= 1;
                if waiting_for[neighbor as usize] == 0 {
                    next.push(neighbor);
                }
            }
        };
        match graph.view() {
            Some(view) => {
                let block = |node: u32| view.forward().block(node as usize..node as usize + 1);
                level.iter().for_each(|&node| follow(block(node), 0));
            }
            None if level.is_empty() => {}
            None => {
                let mut among = Bitmap::filled(node_count, false);
                level.iter().for_each(|&node| among.set(node as usize, true));
                rows.scan(Side::Forward, 0..node_count, Some(&among), &mut |block| {
                    interrupt.check()?;
                    let wanted = (0..block.len()).filter(|row| among.get(block.first as usize + row));
                    wanted.for_each(|row| follow(block, row));
                    Ok(())
                })?;
            }
        }
        order.nodes.append(&mut level);
        if next.is_empty() {
            break;
        }
        next.sort_unstable();
        level = next;
    }
    Ok(order)
}

/// Checks a result by another method: every node comes once, no edge leads to a node from one that comes after it or
/// has no place, the level of a node is one more than the greatest of those before it, and each node without a place
/// has an edge from another one, so that all of them are on cycles or behind one.
///
/// The view must have backward rows.
pub fn verify(view: &GraphView, result: &Order) -> Result<()> {
    let mut places = vec![None; view.node_count()];
    for (place, &node) in result.nodes.iter().enumerate() {
        if places[node as usize].replace(place).is_some() {
            return Err(model::error!(Internal, "node {node} comes twice"));
        }
    }
    for node in 0..view.node_count() as u32 {
        let before = view.backward().neighbors(node);
        let Some(place) = places[node as usize] else {
            if before.iter().all(|&other| places[other as usize].is_some()) {
                return Err(model::error!(Internal, "node {node} has no place though all nodes before it have"));
            }
            continue;
        };
        let is_after = |other: &u32| places[*other as usize].is_some_and(|earlier| earlier < place);
        if let Some(other) = before.iter().find(|other| !is_after(other)) {
            return Err(model::error!(Internal, "an edge leads from node {other} to node {node}, which comes before"));
        }
        let level = before.iter().map(|&other| result.levels[other as usize] + 1).max().unwrap_or(0);
        if level != result.levels[node as usize] {
            return Err(model::error!(
                Internal,
                "node {node} has level {}, expected {level}",
                result.levels[node as usize]
            ));
        }
    }
    Ok(())
}

/// `algo.topologicalSort`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "topologicalSort",
        aliases: &["algo.topological_sort", "gds.dag.topologicalSort"],
        description: "Gives the nodes in an order in which every relationship leads onwards; those on cycles, or behind \
                      one, are left out.",
        settings: &[],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: false,
        yields: &[column("maxDistanceFromSource", "INTEGER")],
        stats: &[column("nodesSorted", "INTEGER"), column("nodesLeftOut", "INTEGER"), column("levelCount", "INTEGER")],
        shape: Shape::Nodes,
    };

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::Forward,
            node_bytes: size_of::<u64>() + 4 * size_of::<u32>(),
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn work(_config: &(), _is_weighted: bool) -> Option<Work> {
        Some(Work::Passes { count: 1, kernel: LAYER })
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let Order { nodes, levels } = self::run(graph, run.interrupt)?;
        let has_place: Bitmap = levels.iter().map(|&level| level != UNORDERED).collect();
        let level_count = nodes.last().map_or(0, |&node| levels[node as usize] + 1);
        let stats = [nodes.len() as i64, (levels.len() - nodes.len()) as i64, i64::from(level_count)];
        let levels = ColumnData::Int(levels.into_iter().map(i64::from).collect());
        Ok(Outcome {
            columns: vec![Column::with_validity(levels, has_place)],
            order: RowOrder::Given(nodes),
            stats: stats.map(Value::Int).to_vec(),
        })
    }
}
