//! Betweenness: on how many of the shortest paths between other nodes a node lies.
//!
//! Claim: the score of v is the sum over pairs of other nodes s, t of σ(s, t through v)/σ(s, t), where σ counts shortest
//! paths, parallel edges making paths of their own; with `'BOTH'` every pair counts once. With weights, which must be
//! greater than 0, paths are cheapest ones; costs that only rounding tells apart differ. With `samplingSize` k only k
//! nodes s, drawn evenly, are looked at, and scores are scaled by n/k: an estimate whose mean is the exact score. With
//! `sourceNodes` it is the nodes named, scaled likewise.
//! Cost: for each s two passes over the edges that s can reach, 4 bytes and one random read of 24 bytes an edge; with
//! weights a search for cheapest paths besides. 32 bytes a node and thread.
//! After: Brandes, "A faster algorithm for betweenness centrality", 2001; Brandes, Pich, "Centrality estimation in large
//! networks", 2007; Madduri, Ediger, Jiang, Bader, Chavarría-Miranda, "A faster parallel algorithm and efficient
//! multithreaded implementations for evaluating betweenness centrality", 2009 (successors instead of predecessors).

mod dependencies;

use model::NodeId;
use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::PATHS;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::many_sources::{add_up, cheapest, distances, threads_expected};
use crate::procedure::{column, distribution};
use crate::random::Random;
use crate::settings::kind::{Integer, Nodes, Seed};
use crate::settings::table::{Fixed, Setting, Unset};
use crate::settings::{Settings, shared};
use dependencies::Dependencies;

/// Parameters of a run.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Number of nodes to search from; all of them if left out.
    pub sampling_size: Option<u64>,
    /// Seed of the random choice of nodes.
    pub seed: u64,
    /// The nodes to search from, by their numbers, if they are not to be drawn.
    pub sources: Option<Vec<u32>>,
}

/// The score of each node of a view that has forward rows.
pub fn run(view: &GraphView, config: &Config, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    refuse_free_edges(view)?;
    let count = view.node_count();
    let size = config.sampling_size.map_or(count, |size| usize::try_from(size).unwrap_or(count).min(count));
    let sources = config.sources.clone().unwrap_or_else(|| Random::new(config.seed).sample(size, count));
    let found = add_up(
        sources.len(),
        1,
        threads,
        interrupt,
        |group, progress| {
            let mut scores = vec![0.0; count];
            let mut dependencies = Dependencies::new(view.forward());
            for &source in &sources[group] {
                if !dependencies.add_from(source, &mut scores, interrupt)? {
                    return Err(too_many_paths(view, source));
                }
                progress.advance(1)?;
            }
            Ok(scores)
        },
        |total, part| total.iter_mut().zip(part).for_each(|(sum, more)| *sum += more),
    )?;
    let mut scores = found.unwrap_or_else(|| vec![0.0; count]);
    let ends = if view.is_undirected() { 2.0 } else { 1.0 };
    let scale = count as f64 / (sources.len().max(1) as f64 * ends);
    scores.iter_mut().for_each(|score| *score *= scale);
    Ok(scores)
}

/// Edges that cost nothing make cycles that cost nothing, along which there are paths without end.
fn refuse_free_edges(view: &GraphView) -> Result<()> {
    let rows = view.forward();
    if !rows.has_weights() {
        return Ok(());
    }
    for node in 0..view.node_count() as u32 {
        if let Some(at) = rows.weights(node).iter().position(|&weight| weight == 0.0) {
            let (from, to) = (view.node(node).0, view.node(rows.neighbors(node)[at]).0);
            return Err(model::error!(
                Argument,
                "an edge between node #{from} and node #{to} has weight 0, betweenness needs weights greater than 0"
            ));
        }
    }
    Ok(())
}

fn too_many_paths(view: &GraphView, source: u32) -> model::Error {
    let node = view.node(source).0;
    model::error!(Limit, "more shortest paths begin at node #{node} than betweenness can count, which is about 1e308")
}

/// Checks exact scores of a view without weights by another method: all scores together are the nodes inside all shortest
/// paths, which the distances tell.
///
/// The view must have rows of both sides.
pub fn verify(view: &GraphView, scores: &[f64]) -> Result<()> {
    let sums = distances::sums(view, 1, &Interrupt::new(), |distance| distance - 1.0)?;
    let inside: f64 = sums.measures.iter().sum();
    let expected = if view.is_undirected() { inside / 2.0 } else { inside };
    let total: f64 = scores.iter().sum();
    if (total - expected).abs() > 1e-9 * expected.max(1.0) {
        return Err(model::error!(Internal, "betweenness scores sum to {total}, expected {expected}"));
    }
    Ok(())
}

/// Parameters of a call.
pub struct Asked {
    config: Config,
    /// The nodes to search from, if they are named.
    sources: Option<Vec<NodeId>>,
}

static SAMPLING_SIZE: Setting<Integer, Unset> = Setting::new(
    "samplingSize",
    Integer(1),
    Unset("all nodes"),
    "Number of randomly drawn nodes from which to search. Scores are scaled to estimate the exact ones.",
);
static SAMPLING_SEED: Setting<Seed, Fixed<u64>> =
    Setting::new("samplingSeed", Seed, Fixed(0), "Seed of the random numbers that draw nodes.").or(&["randomSeed"]);
static SOURCE_NODES: Setting<Nodes, Unset> =
    shared::source_nodes("all nodes", "Nodes from which to search, instead of a random sample.");

/// `algo.betweenness`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Asked;

    const ABOUT: About = About {
        name: "betweenness",
        aliases: &["gds.betweenness"],
        description: "Scores nodes by the shares of shortest paths between other nodes that lead over them.",
        settings: &[&SAMPLING_SIZE, &SAMPLING_SEED, &SOURCE_NODES],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("score", "FLOAT")],
        stats: &[column("centralityDistribution", "MAP")],
        shape: Shape::Nodes,
    };

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Asked> {
        let config =
            Config { sampling_size: settings.get(&SAMPLING_SIZE)?, seed: settings.get(&SAMPLING_SEED)?, sources: None };
        let sources = settings.get(&SOURCE_NODES)?;
        if sources.is_some() && config.sampling_size.is_some() {
            return Err(settings.refuse("both setting 'sourceNodes' and 'samplingSize' are given"));
        }
        Ok(Asked { config, sources })
    }

    fn needs(_config: &Asked, is_weighted: bool) -> Needs {
        let of_search = if is_weighted { cheapest::NODE_BYTES } else { 0 };
        let each = dependencies::NODE_BYTES + of_search + size_of::<f64>();
        Needs {
            sides: Sides::Forward,
            node_bytes: threads_expected() * each + 2 * size_of::<f64>(),
            edge_bytes: 0,
            executions: &[Execution::Memory],
        }
    }

    fn work(asked: &Asked, is_weighted: bool) -> Option<Work> {
        let given = asked.sources.as_ref().map(|nodes| nodes.len() as u64);
        let nodes = given.or(asked.config.sampling_size);
        (!is_weighted).then_some(Work::PassPerNode { nodes, kernel: PATHS })
    }

    fn run(graph: &Graph<'_>, asked: &Asked, run: &Run<'_>) -> Result<Outcome> {
        let number = |&node: &NodeId| graph.require(node, SOURCE_NODES.name);
        let sources =
            asked.sources.as_ref().map(|nodes| nodes.iter().map(number).collect::<Result<_>>()).transpose()?;
        let config = Config { sources, ..asked.config.clone() };
        let scores = self::run(graph.in_memory_only()?, &config, run.threads, run.interrupt)?;
        let stats = vec![distribution(&scores)];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Float(scores))], order: RowOrder::ByNumber, stats })
    }
}
