//! Node similarity: pairs of nodes that lead to the same neighbors.
//!
//! Claim: nodes are compared by the sets of their neighbors, the weights of parallel edges added. Over the neighbors, with
//! a and b the weights that the two nodes give (1 without weights, 0 for what is no neighbor), the similarity is, for
//! Jaccard, Σ min(a, b)/Σ max(a, b); for overlap, Σ min(a, b)/min(Σ a, Σ b); for cosine, Σ a·b/√(Σ a²·Σ b²). Each node is
//! listed with the `topK` nodes most like it (or `bottomK` least), of those alike by `similarityCutoff` or more; of all
//! these rows the first `topN` (or `bottomN`) may be asked for. Pairs that share nothing are never given. Of equals, those
//! of smaller id come first.
//! Cost: one step for every two edges that meet in a neighbor; 12 bytes a node and thread, a copy of the rows of both
//! sides.
//! After: Jaccard, "Distribution de la flore alpine", 1901; Szymkiewicz, "Une contribution statistique à la géographie
//! floristique", 1934; the accumulator of Moffat, Zobel, "Self-indexing inverted files for fast text retrieval", 1996.

mod sets;

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::{Execution, Graph};
use crate::graph_view::{GraphView, Sides};
use crate::many_sources::{distances, threads_expected};
use crate::parallel::{even_ranges, map_tasks};
use crate::procedure::{column, distribution, node_column};
use crate::settings::Settings;
use crate::settings::kind::{Integer, Number, OneOf};
use crate::settings::table::{Fixed, Setting, Unset};
use sets::Sets;

/// The measure of similarity of two sets of neighbors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The shared part, as a fraction of all that either has.
    #[default]
    Jaccard,
    /// The shared part, as a fraction of the smaller set.
    Overlap,
    /// The cosine of the angle between them.
    Cosine,
}

impl Metric {
    /// The amount that one neighbor adds to the shared part of two nodes.
    #[inline]
    fn shared(self, a: f64, b: f64) -> f64 {
        if self == Metric::Cosine { a * b } else { a.min(b) }
    }

    /// The measure of one set, from its weights.
    fn size(self, weights: impl Iterator<Item = f64>) -> f64 {
        if self == Metric::Cosine { weights.map(|weight| weight * weight).sum() } else { weights.sum() }
    }

    #[inline]
    fn similarity(self, shared: f64, a: f64, b: f64) -> f64 {
        match self {
            Metric::Jaccard => shared / (a + b - shared),
            Metric::Overlap => shared / a.min(b),
            Metric::Cosine => shared / (a * b).sqrt(),
        }
    }
}

/// The number of pairs, and the end of the order from which they are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The most alike.
    Top(usize),
    /// The least alike.
    Bottom(usize),
}

impl Limit {
    fn count(self) -> usize {
        let (Limit::Top(count) | Limit::Bottom(count)) = self;
        count
    }

    /// Keeps that many pairs, in order.
    fn keep(self, pairs: &mut Vec<Pair>) {
        let order = |a: &Pair, b: &Pair| -> Ordering {
            let ascending = a.similarity.total_cmp(&b.similarity);
            let by_similarity = if matches!(self, Limit::Top(_)) { ascending.reverse() } else { ascending };
            by_similarity.then_with(|| (a.node, a.other).cmp(&(b.node, b.other)))
        };
        let count = self.count();
        if count > 0 && count < pairs.len() {
            pairs.select_nth_unstable_by(count - 1, order);
        }
        pairs.truncate(count);
        pairs.sort_unstable_by(order);
    }
}

static SIMILARITY_METRIC: Setting<OneOf<Metric>, Fixed<Metric>> = Setting::new(
    "similarityMetric",
    OneOf(&[(&["JACCARD"], Metric::Jaccard), (&["OVERLAP"], Metric::Overlap), (&["COSINE"], Metric::Cosine)]),
    Fixed(Metric::Jaccard),
    "Measure of similarity.",
);
static TOP_K: Setting<Integer, Unset> = Setting::new(
    "topK",
    Integer(1),
    Unset("10, unless `bottomK` is given"),
    "Number of rows for each node, those of greatest similarity. Excludes `bottomK`.",
);
static BOTTOM_K: Setting<Integer, Unset> = Setting::new(
    "bottomK",
    Integer(1),
    Unset("none"),
    "Number of rows for each node, those of least similarity. Excludes `topK`.",
);
static TOP_N: Setting<Integer, Unset> = Setting::new(
    "topN",
    Integer(1),
    Unset("all rows"),
    "Number of rows in total, those of greatest similarity. Excludes `bottomN`.",
);
static BOTTOM_N: Setting<Integer, Unset> = Setting::new(
    "bottomN",
    Integer(1),
    Unset("all rows"),
    "Number of rows in total, those of least similarity. Excludes `topN`.",
);
static SIMILARITY_CUTOFF: Setting<Number, Fixed<f64>> =
    Setting::new("similarityCutoff", Number::PART, Fixed(0.0), "Least similarity of a row.");
static DEGREE_CUTOFF: Setting<Integer, Fixed<u64>> = Setting::new(
    "degreeCutoff",
    Integer(1),
    Fixed(1),
    "Nodes with fewer distinct neighbors than this are not compared.",
);
static UPPER_DEGREE_CUTOFF: Setting<Integer, Unset> = Setting::new(
    "upperDegreeCutoff",
    Integer(1),
    Unset("no limit"),
    "Nodes with more distinct neighbors than this are not compared.",
);

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The measure.
    pub metric: Metric,
    /// Rows for each node.
    pub of_each: Limit,
    /// Rows in all; all of them if left out.
    pub of_all: Option<Limit>,
    /// The least similarity of a row.
    pub similarity_cutoff: f64,
    /// Nodes of fewer neighbors are not compared.
    pub degree_min: u64,
    /// Nodes of more neighbors are not compared.
    pub degree_max: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            metric: SIMILARITY_METRIC.default.0,
            of_each: Limit::Top(10),
            of_all: None,
            similarity_cutoff: SIMILARITY_CUTOFF.default.0,
            degree_min: DEGREE_CUTOFF.default.0,
            degree_max: u64::MAX,
        }
    }
}

/// Two nodes and how alike they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The node that the row belongs to.
    pub node: u32,
    /// The node that it is compared with.
    pub other: u32,
    /// From 0, exclusive, to 1.
    pub similarity: f64,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Similarities {
    /// The rows: by node, or in the order of `of_all`.
    pub pairs: Vec<Pair>,
    /// Number of nodes that were compared.
    pub nodes_compared: usize,
}

/// Ranges that nodes are cut into.
const RANGES: usize = 256;

/// The neighbors that other nodes share with one node; empty between nodes.
struct Shared {
    amounts: Vec<f64>,
    others: Vec<u32>,
    pairs: Vec<Pair>,
}

/// The comparison of all nodes.
struct Comparison<'a> {
    config: &'a Config,
    sets: Sets,
    /// For each neighbor, the nodes whose sets it is in.
    members: Sets,
    sizes: Vec<f64>,
}

impl Comparison<'_> {
    /// Adds up what other nodes share with a node.
    fn collect(&self, node: u32, shared: &mut Shared, interrupt: &Interrupt) -> Result<()> {
        let (neighbors, weights) = self.sets.row(node);
        for (at, &neighbor) in neighbors.iter().enumerate() {
            interrupt.check()?;
            let (others, other_weights) = self.members.row(neighbor);
            if weights.is_empty() {
                others.iter().for_each(|&other| shared.add(other, 1.0));
            } else {
                for (&other, &weight) in others.iter().zip(other_weights) {
                    shared.add(other, self.config.metric.shared(weights[at], weight));
                }
            }
        }
        Ok(())
    }

    /// Appends the rows of a node.
    fn compare(&self, node: u32, shared: &mut Shared, rows: &mut Vec<Pair>, interrupt: &Interrupt) -> Result<()> {
        self.collect(node, shared, interrupt)?;
        let size = self.sizes[node as usize];
        for other in shared.others.drain(..) {
            let amount = std::mem::take(&mut shared.amounts[other as usize]);
            if amount > 0.0 && other != node {
                let similarity = self.config.metric.similarity(amount, size, self.sizes[other as usize]);
                if similarity >= self.config.similarity_cutoff {
                    shared.pairs.push(Pair { node, other, similarity });
                }
            }
        }
        self.config.of_each.keep(&mut shared.pairs);
        rows.append(&mut shared.pairs);
        Ok(())
    }
}

impl Shared {
    #[inline]
    fn add(&mut self, other: u32, amount: f64) {
        let sum = &mut self.amounts[other as usize];
        if *sum == 0.0 {
            self.others.push(other);
        }
        *sum += amount;
    }
}

/// Compares the nodes of a view that has forward rows.
pub fn run(view: &GraphView, config: &Config, threads: usize, interrupt: &Interrupt) -> Result<Similarities> {
    let count = view.node_count();
    let sets = Sets::of_rows(view.forward(), config.degree_min..=config.degree_max, threads);
    let members = sets.transposed();
    let sizes = (0..count as u32).map(|node| config.metric.size(sets.weights_of(node))).collect();
    let nodes_compared = (0..count as u32).filter(|&node| !sets.row(node).0.is_empty()).count();
    let comparison = Comparison { config, sets, members, sizes };
    let idle: Mutex<Vec<Shared>> = Mutex::new(Vec::new());
    let done = map_tasks(threads, even_ranges(count, RANGES, 1), |range| -> Result<Vec<Pair>> {
        let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut shared =
            kept.unwrap_or_else(|| Shared { amounts: vec![0.0; count], others: Vec::new(), pairs: Vec::new() });
        let mut rows = Vec::new();
        interrupt.report(range.start as u64, count as u64);
        for node in range {
            comparison.compare(node as u32, &mut shared, &mut rows, interrupt)?;
        }
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(shared);
        Ok(rows)
    });
    let mut pairs = done.into_iter().collect::<Result<Vec<_>>>()?.concat();
    if let Some(limit) = config.of_all {
        limit.keep(&mut pairs);
    }
    Ok(Similarities { pairs, nodes_compared })
}

/// Checks rows by another method: for some nodes, all other nodes are compared by merging the two sets; the node's rows
/// must be the best of these. Only for results without a limit of all rows.
///
/// The view must have forward rows.
pub fn verify(view: &GraphView, config: &Config, result: &Similarities) -> Result<()> {
    let sets = Sets::of_rows(view.forward(), config.degree_min..=config.degree_max, 1);
    let of = |node: u32| -> Vec<(u32, f64)> { sets.row(node).0.iter().copied().zip(sets.weights_of(node)).collect() };
    for node in distances::some_nodes(view) {
        let set = of(node);
        let mut expected = Vec::new();
        for other in (0..view.node_count() as u32).filter(|&other| other != node) {
            let compared = of(other);
            let common = set.iter().filter_map(|a| {
                compared.binary_search_by_key(&a.0, |b| b.0).ok().map(|at| config.metric.shared(a.1, compared[at].1))
            });
            let shared: f64 = common.sum();
            let sizes = [&set, &compared].map(|set| config.metric.size(set.iter().map(|entry| entry.1)));
            let similarity = config.metric.similarity(shared, sizes[0], sizes[1]);
            if shared > 0.0 && similarity >= config.similarity_cutoff {
                expected.push(Pair { node, other, similarity });
            }
        }
        config.of_each.keep(&mut expected);
        let found: Vec<&Pair> = result.pairs.iter().filter(|pair| pair.node == node).collect();
        let is_alike = |(a, b): (&&Pair, &Pair)| (a.similarity - b.similarity).abs() < 1e-9;
        if found.len() != expected.len() || !found.iter().zip(&expected).all(is_alike) {
            return Err(model::error!(Internal, "node {node} has rows {found:?}, expected {expected:?}"));
        }
    }
    Ok(())
}

/// A limit given by one of two settings.
fn limit(
    settings: &Settings<'_>,
    top: &'static Setting<Integer, Unset>,
    bottom: &'static Setting<Integer, Unset>,
) -> Result<Option<Limit>> {
    let read = |setting: &'static Setting<Integer, Unset>| -> Result<Option<usize>> {
        Ok(settings.get(setting)?.map(|count| usize::try_from(count).unwrap_or(usize::MAX)))
    };
    match (read(top)?, read(bottom)?) {
        (Some(_), Some(_)) => {
            let (top, bottom) = (top.name, bottom.name);
            Err(settings.refuse(&format!("'{top}' and '{bottom}' exclude each other, give one of them")))
        }
        (Some(count), None) => Ok(Some(Limit::Top(count))),
        (None, Some(count)) => Ok(Some(Limit::Bottom(count))),
        (None, None) => Ok(None),
    }
}

/// `algo.nodeSimilarity`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "nodeSimilarity",
        aliases: &["gds.nodeSimilarity"],
        description: "Finds pairs of nodes that lead to the same neighbors, and how alike they are.",
        settings: &[
            &SIMILARITY_METRIC, &TOP_K, &BOTTOM_K, &TOP_N, &BOTTOM_N, &SIMILARITY_CUTOFF, &DEGREE_CUTOFF,
            &UPPER_DEGREE_CUTOFF,
        ],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: true,
        yields: &[column("node1", "NODE"), column("node2", "NODE"), column("similarity", "FLOAT")],
        stats: &[
            column("nodesCompared", "INTEGER"),
            column("similarityPairs", "INTEGER"),
            column("similarityDistribution", "MAP"),
        ],
        shape: Shape::Pairs,
    };

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Config> {
        let default = Config::default();
        Ok(Config {
            metric: settings.get(&SIMILARITY_METRIC)?,
            of_each: limit(settings, &TOP_K, &BOTTOM_K)?.unwrap_or(default.of_each),
            of_all: limit(settings, &TOP_N, &BOTTOM_N)?,
            similarity_cutoff: settings.get(&SIMILARITY_CUTOFF)?,
            degree_min: settings.get(&DEGREE_CUTOFF)?,
            degree_max: settings.get(&UPPER_DEGREE_CUTOFF)?.unwrap_or(default.degree_max),
        })
    }

    fn needs(config: &Config, is_weighted: bool) -> Needs {
        let row_bytes = 2 * size_of::<Pair>() + 3 * size_of::<u64>();
        let of_shared = threads_expected() * (size_of::<f64>() + size_of::<u32>());
        let entry_bytes = size_of::<u32>() + if is_weighted { size_of::<f64>() } else { 0 };
        Needs {
            sides: Sides::Forward,
            node_bytes: of_shared + 3 * size_of::<u64>() + config.of_each.count().min(1 << 20) * row_bytes,
            edge_bytes: 3 * entry_bytes,
            executions: &[Execution::Memory],
        }
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let Similarities { pairs, nodes_compared } =
            self::run(graph.in_memory_only()?, config, run.threads, run.interrupt)?;
        let similarities: Vec<f64> = pairs.iter().map(|pair| pair.similarity).collect();
        let stats =
            vec![Value::Int(nodes_compared as i64), Value::Int(pairs.len() as i64), distribution(&similarities)];
        let columns = vec![
            node_column(pairs.iter().map(|pair| graph.node(pair.node))),
            node_column(pairs.iter().map(|pair| graph.node(pair.other))),
            Column::new(ColumnData::Float(similarities)),
        ];
        Ok(Outcome { columns, order: RowOrder::ByNumber, stats })
    }
}
