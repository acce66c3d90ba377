//! Degree: how many edges each node has, or what they weigh together.
//!
//! Claim: the score of a node is the number of its edges in the direction asked for, parallel edges counted each, or with
//! `weightProperty` the sum of their weights. With `'BOTH'` a self-loop counts once.
//! Cost: one pass over the edges, streamed unless asked otherwise: to make a view would cost more.
//! After: Freeman, "Centrality in social networks: conceptual clarification", 1979.

use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::COUNT;
use crate::graph::{Execution, Graph, Side, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::{column, distribution};
use crate::pull::Pull;
use crate::settings::Settings;

/// The score of each node of a graph that has forward rows.
pub fn run(graph: &Graph<'_>, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let mut scores = vec![0.0; graph.node_count()];
    Pull::new(graph, Side::Forward, threads, interrupt).strengths(&mut scores)?;
    Ok(scores)
}

/// Checks scores by another method: counts at the other ends of the edges, in the backward rows of the same graph.
pub fn verify(view: &GraphView, scores: &[f64]) -> Result<()> {
    let mut counted = vec![0.0; view.node_count()];
    let rows = view.backward();
    for node in 0..view.node_count() as u32 {
        for (at, &from) in rows.neighbors(node).iter().enumerate() {
            counted[from as usize] += if rows.has_weights() { rows.weights(node)[at] } else { 1.0 };
        }
    }
    match (0..scores.len()).find(|&node| (scores[node] - counted[node]).abs() > 1e-9 * counted[node]) {
        Some(node) => {
            Err(model::error!(Internal, "node {node} has degree {}, expected {}", scores[node], counted[node]))
        }
        None => Ok(()),
    }
}

/// `algo.degree`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "degree",
        aliases: &["gds.degree"],
        description: "Counts the relationships of each node, or adds up their weights.",
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

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::Forward,
            node_bytes: size_of::<f64>(),
            edge_bytes: 0,
            executions: &[Execution::Streaming, Execution::Memory],
        }
    }

    fn work(_config: &(), is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::Passes { count: 1, kernel: COUNT })
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let scores = self::run(graph, run.threads, run.interrupt)?;
        let stats = vec![distribution(&scores)];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Float(scores))], order: RowOrder::ByNumber, stats })
    }
}
