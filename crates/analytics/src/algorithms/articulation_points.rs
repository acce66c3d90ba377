//! Articulation points: the nodes without which a component falls apart, edges taken both ways.
//!
//! Claim: exactly those nodes, each with the number of components that its own component would become.
//! Cost, after: see `blocks.rs`.

use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::blocks::{Blocks, NODE_BYTES, NONE};
use crate::graph::work::LOW_POINTS;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::column;
use crate::settings::Settings;

/// For each node of a graph that has rows of both sides, how many components its own falls into without it; 0 for nodes
/// that are no articulation points.
pub fn run(graph: &Graph<'_>, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let blocks = Blocks::of(graph, interrupt)?;
    let mut pieces = vec![0_u32; graph.node_count()];
    for node in (0..graph.node_count() as u32).filter(|&node| blocks.is_cut_off_by_parent(node)) {
        pieces[blocks.parents[node as usize] as usize] += 1;
    }
    for (node, pieces) in pieces.iter_mut().enumerate().filter(|(_, pieces)| **pieces > 0) {
        match blocks.parents[node] {
            NONE if *pieces == 1 => *pieces = 0,
            NONE => {}
            _ => *pieces += 1,
        }
    }
    Ok(pieces)
}

/// Checks a result by another method: from the neighbors of each node, searches that do not enter it find as many
/// components as it says. Takes time for each node times edges.
///
/// The view must have forward and backward rows.
pub fn verify(view: &GraphView, result: &[u32]) -> Result<()> {
    let around = |node: u32| view.forward().neighbors(node).iter().chain(view.backward().neighbors(node));
    for node in 0..view.node_count() as u32 {
        let mut is_met = vec![false; view.node_count()];
        is_met[node as usize] = true;
        let mut pieces = 0;
        for &start in around(node) {
            let mut stack = vec![start];
            pieces += u32::from(!is_met[start as usize]);
            while let Some(at) = stack.pop() {
                if !std::mem::replace(&mut is_met[at as usize], true) {
                    stack.extend(around(at));
                }
            }
        }
        let (found, expected) = (result[node as usize], if pieces > 1 { pieces } else { 0 });
        if found != expected {
            return Err(model::error!(Internal, "without node {node} there are said to be {found}, found {expected}"));
        }
    }
    Ok(())
}

/// `algo.articulationPoints`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "articulationPoints",
        aliases: &["algo.articulation_points", "gds.articulationPoints"],
        description: "Finds the nodes without which a component falls apart.",
        settings: &[],
        direction: Follows::Always(Direction::Out),
        takes_weights: false,
        yields: &[column("resultingComponents", "INTEGER")],
        stats: &[column("articulationPointCount", "INTEGER")],
        shape: Shape::Nodes,
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
        let pieces = self::run(graph, run.interrupt)?;
        let is_point: Bitmap = pieces.iter().map(|&pieces| pieces > 0).collect();
        let stats = vec![Value::Int(is_point.count_ones() as i64)];
        let pieces = ColumnData::Int(pieces.into_iter().map(i64::from).collect());
        Ok(Outcome { columns: vec![Column::with_validity(pieces, is_point)], order: RowOrder::ByNumber, stats })
    }
}
