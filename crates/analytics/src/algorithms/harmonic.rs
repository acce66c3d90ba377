//! Harmonic centrality: closeness that needs no care for nodes which cannot reach one another.
//!
//! Claim: the score of a node is the sum of 1/d over the other nodes from which a path leads to it, with d the cost of a
//! cheapest such path, divided by n − 1; paths of no cost add nothing. Without weights every edge costs 1.
//! Cost: without weights see `many_sources/breadth.rs`; with weights a search for cheapest paths from every node.
//! After: Marchiori, Latora, "Harmony in the small-world", 2000; Boldi, Vigna, "Axioms for centrality", 2014.

use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};

use super::closeness;
use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::SEARCH_OF_MANY;
use crate::graph::{Graph, Work};
use crate::graph_view::GraphView;
use crate::many_sources::distances;
use crate::procedure::{column, distribution};
use crate::settings::Settings;

fn inverse(distance: f64) -> f64 {
    if distance > 0.0 { 1.0 / distance } else { 0.0 }
}

/// The score of each node of a view that has forward rows, and better backward rows too.
pub fn run(view: &GraphView, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let others = view.node_count().saturating_sub(1).max(1) as f64;
    let sums = distances::sums(view, threads, interrupt, inverse)?;
    Ok(sums.measures.into_iter().map(|sum| sum / others).collect())
}

/// Checks some of the scores by another method: one search for each of the nodes, against the edges.
///
/// The view must have backward rows.
pub fn verify(view: &GraphView, scores: &[f64]) -> Result<()> {
    let others = view.node_count().saturating_sub(1).max(1) as f64;
    for node in distances::some_nodes(view) {
        let expected: f64 = distances::costs_to(view, node).into_iter().map(inverse).sum::<f64>() / others;
        let found = scores[node as usize];
        if (found - expected).abs() > 1e-9 * expected {
            return Err(model::error!(Internal, "node {node} has harmonic centrality {found}, expected {expected}"));
        }
    }
    Ok(())
}

/// `algo.harmonic`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "harmonic",
        aliases: &["gds.closeness.harmonic"],
        description: "Scores nodes by the mean of the inverse distances from all other nodes.",
        settings: &[],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("score", "FLOAT")],
        stats: &[column("centralityDistribution", "MAP")],
        shape: Shape::Nodes,
    };

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), is_weighted: bool) -> Needs {
        closeness::needs(is_weighted)
    }

    fn work(_config: &(), is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::PassPerNode { nodes: None, kernel: SEARCH_OF_MANY })
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let scores = self::run(graph.in_memory_only()?, run.threads, run.interrupt)?;
        let stats = vec![distribution(&scores)];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Float(scores))], order: RowOrder::ByNumber, stats })
    }
}
