//! Bridges: the edges without which a component falls apart, edges taken both ways.
//!
//! Claim: exactly those edges, each with the number of nodes on either side. Parallel edges, also those that lead
//! opposite ways, are no bridges.
//! Cost, after: see `blocks.rs`.

use model::column::Column;
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::blocks::{Blocks, NODE_BYTES, NONE};
use crate::graph::work::LOW_POINTS;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::{column, node_column};
use crate::settings::Settings;

/// An edge without which a component falls apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bridge {
    /// Its ends, the smaller number first.
    pub ends: [u32; 2],
    /// Number of nodes left together at each end.
    pub sizes: [u32; 2],
}

/// The bridges of a graph that has rows of both sides, in order.
pub fn run(graph: &Graph<'_>, interrupt: &Interrupt) -> Result<Vec<Bridge>> {
    let blocks = Blocks::of(graph, interrupt)?;
    let mut sizes = vec![1_u32; graph.node_count()];
    for &node in blocks.order.iter().rev() {
        let parent = blocks.parents[node as usize];
        if parent != NONE {
            sizes[parent as usize] += sizes[node as usize];
        }
    }
    let mut bridges = Vec::new();
    let mut all = 0;
    for &node in &blocks.order {
        let parent = blocks.parents[node as usize];
        if parent == NONE {
            all = sizes[node as usize];
        } else if blocks.is_under_bridge(node) {
            let behind = sizes[node as usize];
            bridges.push(if node < parent {
                Bridge { ends: [node, parent], sizes: [behind, all - behind] }
            } else {
                Bridge { ends: [parent, node], sizes: [all - behind, behind] }
            });
        }
    }
    bridges.sort_unstable();
    Ok(bridges)
}

/// Checks a result by another method: for each pair of nodes that an edge joins, a search that leaves one such edge out
/// finds the other end unless there is a bridge, and otherwise as many nodes as it says. Takes time for each edge times
/// edges.
///
/// The view must have forward and backward rows.
pub fn verify(view: &GraphView, result: &[Bridge]) -> Result<()> {
    let around = |node: u32| view.forward().neighbors(node).iter().chain(view.backward().neighbors(node)).copied();
    let reached = |start: u32, ends: [u32; 2]| {
        let mut is_met = vec![false; view.node_count()];
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut is_met[node as usize], true) {
                continue;
            }
            let over = ends.contains(&node).then(|| ends[usize::from(node == ends[0])]);
            let mut left_out = over;
            stack.extend(around(node).filter(|&other| {
                let is_it = left_out == Some(other);
                left_out = left_out.filter(|_| !is_it);
                !is_it
            }));
        }
        is_met
    };
    let mut expected = Vec::new();
    for a in 0..view.node_count() as u32 {
        let mut others: Vec<u32> = around(a).filter(|&b| a < b).collect();
        others.sort_unstable();
        others.dedup();
        for b in others {
            let (from_a, from_b) = (reached(a, [a, b]), reached(b, [a, b]));
            if !from_a[b as usize] {
                let count = |met: &[bool]| met.iter().filter(|met| **met).count() as u32;
                expected.push(Bridge { ends: [a, b], sizes: [count(&from_a), count(&from_b)] });
            }
        }
    }
    if result == expected {
        return Ok(());
    }
    Err(model::error!(Internal, "{} bridges were found, expected {}: {expected:?}", result.len(), expected.len()))
}

/// `algo.bridges`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "bridges",
        aliases: &["gds.bridges"],
        description: "Finds the relationships without which a component falls apart.",
        settings: &[],
        direction: Follows::Always(Direction::Out),
        takes_weights: false,
        yields: &[column("from", "NODE"), column("to", "NODE"), column("remainingSizes", "LIST OF INTEGER")],
        stats: &[column("bridgeCount", "INTEGER")],
        shape: Shape::Rows,
    };

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::ForwardAndBackward,
            node_bytes: NODE_BYTES,
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn work(_config: &(), _is_weighted: bool) -> Option<Work> {
        Some(Work::Passes { count: 1, kernel: LOW_POINTS })
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let bridges = self::run(graph, run.interrupt)?;
        let ends = |at: usize| node_column(bridges.iter().map(|bridge| graph.node(bridge.ends[at])));
        let sizes = bridges.iter().map(|bridge| bridge.sizes.map(|size| Value::Int(i64::from(size))).to_vec());
        let sizes: Vec<Value> = sizes.map(Value::list).collect();
        let columns = vec![ends(0), ends(1), Column::from_values(&sizes)];
        Ok(Outcome { columns, order: RowOrder::ByNumber, stats: vec![Value::Int(bridges.len() as i64)] })
    }
}
