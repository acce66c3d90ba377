//! Closeness: how near a node is to the nodes that lead to it.
//!
//! Claim: with r the number of other nodes from which a path leads to the node, and s the sum of the costs of cheapest
//! such paths, the score is r/s, and with `useWassermanFaust` r/s · r/(n − 1), which does not favour nodes of small
//! components; 0 where s is 0. Without weights every edge costs 1.
//! Cost: without weights see `many_sources/breadth.rs`; with weights a search for cheapest paths from every node.
//! After: Bavelas, "Communication patterns in task-oriented groups", 1950; Wasserman, Faust, "Social network analysis",
//! 1994, section 5.2.

use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::SEARCH_OF_MANY;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::many_sources::distances::{self, Sums};
use crate::procedure::{column, distribution};
use crate::settings::Settings;
use crate::settings::kind::Flag;
use crate::settings::table::{Fixed, Setting};

/// The formula of the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formula {
    /// The inverse of the mean distance.
    #[default]
    Plain,
    /// That, times the share of nodes from which a path leads to the node.
    WassermanFaust,
}

impl Formula {
    /// The score of a node to which paths lead from `sources` of the others, of that total length.
    fn score(self, sources: u32, total: f64, node_count: usize) -> f64 {
        if total <= 0.0 {
            return 0.0;
        }
        let sources = f64::from(sources);
        match self {
            Formula::Plain => sources / total,
            Formula::WassermanFaust => sources / total * (sources / (node_count - 1) as f64),
        }
    }
}

/// The score of each node of a view that has forward rows, and better backward rows too.
pub fn run(view: &GraphView, formula: Formula, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let count = view.node_count();
    let Sums { measures, sources } = distances::sums(view, threads, interrupt, |distance| distance)?;
    Ok(measures.iter().zip(sources).map(|(&total, sources)| formula.score(sources, total, count)).collect())
}

/// Checks some of the scores by another method: one search for each of the nodes, against the edges.
///
/// The view must have backward rows.
pub fn verify(view: &GraphView, formula: Formula, scores: &[f64]) -> Result<()> {
    for node in distances::some_nodes(view) {
        let costs = distances::costs_to(view, node);
        let reached: Vec<f64> = costs.into_iter().filter(|cost| cost.is_finite()).collect();
        let expected = formula.score(reached.len() as u32 - 1, reached.iter().sum(), scores.len());
        let found = scores[node as usize];
        if (found - expected).abs() > 1e-9 * expected {
            return Err(model::error!(Internal, "node {node} has closeness {found}, expected {expected}"));
        }
    }
    Ok(())
}

/// The needs of all algorithms that search from every node.
pub(super) fn needs(is_weighted: bool) -> Needs {
    Needs {
        sides: if is_weighted { Sides::Forward } else { Sides::ForwardAndBackward },
        node_bytes: distances::node_bytes(is_weighted),
        edge_bytes: 0,
        executions: &[Execution::Memory],
    }
}

static USE_WASSERMAN_FAUST: Setting<Flag, Fixed<bool>> = Setting::new(
    "useWassermanFaust",
    Flag,
    Fixed(false),
    "Scales each score by the part of all other nodes that reach the node (Wasserman and Faust).",
);

/// `algo.closeness`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Formula;

    const ABOUT: About = About {
        name: "closeness",
        aliases: &["gds.closeness"],
        description: "Scores nodes by the inverse of their mean distance from the nodes that lead to them.",
        settings: &[&USE_WASSERMAN_FAUST],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("score", "FLOAT")],
        stats: &[column("centralityDistribution", "MAP")],
        shape: Shape::Nodes,
    };

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Formula> {
        let improved = settings.get(&USE_WASSERMAN_FAUST)?;
        Ok(if improved { Formula::WassermanFaust } else { Formula::Plain })
    }

    fn needs(_config: &Formula, is_weighted: bool) -> Needs {
        needs(is_weighted)
    }

    fn work(_config: &Formula, is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::PassPerNode { nodes: None, kernel: SEARCH_OF_MANY })
    }

    fn run(graph: &Graph<'_>, config: &Formula, run: &Run<'_>) -> Result<Outcome> {
        let scores = self::run(graph.in_memory_only()?, *config, run.threads, run.interrupt)?;
        let stats = vec![distribution(&scores)];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Float(scores))], order: RowOrder::ByNumber, stats })
    }
}
