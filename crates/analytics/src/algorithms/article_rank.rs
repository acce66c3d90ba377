//! ArticleRank: PageRank in which a node of few edges does not give all it has to the few nodes it leads to.
//!
//! Claim: score(v) = (1 − d) + d·Σ score(u)·w(u, v)/(W(u) + W̄) over edges u→v, where W(u) is the weight of all edges of u
//! and W̄ its mean over all nodes; with `sourceNodes` the first term is for these nodes only.
//! Cost: see `pagerank/general.rs`.
//! After: Li, Willett, "ArticleRank: a PageRank-based alternative to numbers of citations for analysing citation
//! networks", 2009.

use model::column::{Column, ColumnData};
use model::error::Result;
use model::store::{Direction, ReadView};
use model::value::Value;

use super::pagerank::general::{self, Formula};
use super::pagerank::{self, Config, PageRank, Personalized};
use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::SCORE;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::{column, distribution};
use crate::settings::Settings;

/// Checks ranks by another method: as [`general::verify`] does.
pub fn verify(view: &GraphView, config: &Config, sources: &[(u32, f64)], result: &PageRank) -> Result<()> {
    general::verify(view, Formula::ArticleRank, config, sources, result)
}

/// `algo.articleRank`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Personalized;

    const ABOUT: About = About {
        name: "articleRank",
        aliases: &["gds.articleRank"],
        description: "Ranks nodes as PageRank does, but lets nodes with few relationships give less.",
        settings: pagerank::WALK,
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("score", "FLOAT")],
        stats: &[
            column("ranIterations", "INTEGER"),
            column("didConverge", "BOOLEAN"),
            column("centralityDistribution", "MAP"),
        ],
        shape: Shape::Nodes,
    };

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Personalized> {
        pagerank::read_walk(settings)
    }

    fn needs(_config: &Personalized, _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::Backward,
            node_bytes: general::NODE_BYTES,
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn work(config: &Personalized, is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::Passes { count: config.config.max_iterations, kernel: SCORE })
    }

    fn run(graph: &Graph<'_>, config: &Personalized, run: &Run<'_>) -> Result<Outcome> {
        let sources = config.source_numbers(graph)?;
        let found = general::run(graph, Formula::ArticleRank, &config.config, &sources, run.threads, run.interrupt)?;
        let stats = vec![
            Value::Int(found.iterations.cast_signed()),
            Value::Bool(found.did_converge),
            distribution(&found.scores),
        ];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Float(found.scores))], order: RowOrder::ByNumber, stats })
    }
}
