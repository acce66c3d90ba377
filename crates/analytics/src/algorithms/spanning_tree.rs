//! Spanning trees: of each component the edges of least weight, or of greatest, that hold it together.
//!
//! Claim: no other set of edges that joins what edges join, taken both ways, weighs less (more, if `objective` is
//! 'maximum'). Of edges that weigh the same those between smaller nodes are taken, so that the trees are the same in
//! every run. Without a weight property every edge weighs 1. With `sourceNode` there is only the tree of that node,
//! whose edges are given away from it; otherwise a tree for each component, away from its smallest node.
//! Cost: one pass over the edges, in batches, by one thread: each is sorted together with the forest of those before
//! it. Edges that join what lighter edges of the forest join already, which soon are most, are passed over. About 130
//! bytes a node.
//! After: Kruskal, "On the shortest spanning subtree of a graph and the traveling salesman problem", 1956; Osipov,
//! Sanders, Singler, "The filter-Kruskal minimum spanning tree algorithm", 2009.

use model::column::{Column, ColumnData};
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::JOIN;
use crate::graph::{Execution, Graph, Side, Work};
use crate::graph_view::{GraphView, Sides};
use crate::procedure::{column, node_column};
use crate::settings::Settings;
use crate::settings::kind::{Node, OneOf};
use crate::settings::table::{Fixed, Setting, Unset};

/// Edges of a batch, for each node; and in any case.
const BATCH_EDGES_PER_NODE: usize = 2;
const BATCH_EDGES_MIN: usize = 1 << 16;
/// Weights at which it is known what lighter edges join.
const FILTERS: usize = 4;

/// Parameters of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// The node whose tree is asked for; all trees if `None`.
    pub source: Option<NodeId>,
    /// True if the edges of greatest weight are asked for.
    pub is_maximum: bool,
}

/// An edge, in the order in which edges are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    /// Its weight, negated for the greatest.
    weight: f64,
    low: u32,
    high: u32,
}

impl Edge {
    fn comes_before(&self, other: &Edge) -> bool {
        self.order(other).is_lt()
    }

    fn order(&self, other: &Edge) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then_with(|| (self.low, self.high).cmp(&(other.low, other.high)))
    }
}

/// The edges of a forest, each away from the first node of its tree: source, target and weight, sources before targets.
pub type Forest = Vec<(u32, u32, f64)>;

/// The forest of a graph that has forward rows; of the tree of `source` alone if there is one.
pub fn run(graph: &Graph<'_>, source: Option<u32>, is_maximum: bool, interrupt: &Interrupt) -> Result<Forest> {
    let batch_edges = (BATCH_EDGES_PER_NODE * graph.node_count()).max(BATCH_EDGES_MIN);
    let edges = forest(graph, is_maximum, batch_edges, interrupt)?;
    Ok(away_from_roots(graph.node_count(), &edges, source, is_maximum))
}

fn forest(graph: &Graph<'_>, is_maximum: bool, batch_edges: usize, interrupt: &Interrupt) -> Result<Vec<Edge>> {
    let sign = if is_maximum { -1.0 } else { 1.0 };
    let mut growing = Growing { edges: Vec::new(), parents: Vec::new(), filters: Vec::new(), kept: 0 };
    growing.parents.resize(graph.node_count(), 0);
    let rows = graph.rows();
    let parts = rows.part_count(Side::Forward);
    for part in 0..parts {
        interrupt.report(part as u64, parts as u64);
        rows.scan_part(Side::Forward, part, None, &mut |block| {
            interrupt.check()?;
            for row in 0..block.len() {
                let node = block.first + row as u32;
                let weights = block.weights(row);
                for (at, &other) in block.neighbors(row).iter().enumerate().filter(|(_, other)| **other != node) {
                    let weight = sign * weights.get(at).copied().unwrap_or(1.0);
                    growing.offer(Edge { weight, low: node.min(other), high: node.max(other) });
                }
                if growing.edges.len() >= growing.kept + batch_edges {
                    growing.settle();
                }
            }
            Ok(())
        })?;
    }
    growing.settle();
    Ok(growing.edges)
}

/// A forest to which edges are offered.
struct Growing {
    /// The forest, in order, and behind it the edges offered since.
    edges: Vec<Edge>,
    /// Number of edges of the forest.
    kept: usize,
    parents: Vec<u32>,
    /// Edges of the forest, and for each what the forest up to it joins: a number for each node.
    filters: Vec<(Edge, Vec<u32>)>,
}

impl Growing {
    /// Takes an edge unless the forest joins its ends by edges that come before it.
    #[inline]
    fn offer(&mut self, edge: Edge) {
        let is_joined = self.filters.iter().rev().find(|(last, _)| last.comes_before(&edge));
        if is_joined.is_none_or(|(_, joined)| joined[edge.low as usize] != joined[edge.high as usize]) {
            self.edges.push(edge);
        }
    }

    /// Makes a forest of all edges.
    fn settle(&mut self) {
        self.edges.sort_unstable_by(Edge::order);
        (0..).zip(&mut self.parents).for_each(|(node, parent)| *parent = node);
        let parents = &mut self.parents;
        self.edges.retain(|edge| {
            let (a, b) = (root(parents, edge.low), root(parents, edge.high));
            parents[a.max(b) as usize] = a.min(b);
            a != b
        });
        self.kept = self.edges.len();
        self.filters.clear();
        (0..).zip(&mut self.parents).for_each(|(node, parent)| *parent = node);
        let mut done = 0;
        for filter in 1..=FILTERS {
            let end = self.kept * filter / FILTERS;
            if end == done {
                continue;
            }
            for edge in &self.edges[done..end] {
                let (a, b) = (root(&mut self.parents, edge.low), root(&mut self.parents, edge.high));
                self.parents[a.max(b) as usize] = a.min(b);
            }
            let joined = (0..self.parents.len() as u32).map(|node| root(&mut self.parents, node)).collect();
            self.filters.push((self.edges[end - 1], joined));
            done = end;
        }
    }
}

/// The root of a node's tree; the way to it is halved.
fn root(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        parents[node as usize] = parents[parents[node as usize] as usize];
        node = parents[node as usize];
    }
    node
}

/// The edges of a forest as they lead away from the first nodes of its trees.
fn away_from_roots(node_count: usize, edges: &[Edge], source: Option<u32>, is_maximum: bool) -> Forest {
    let mut starts = vec![0_u32; node_count + 1];
    for edge in edges {
        starts[edge.low as usize + 1] += 1;
        starts[edge.high as usize + 1] += 1;
    }
    (0..node_count).for_each(|node| starts[node + 1] += starts[node]);
    let mut next = starts.clone();
    let mut ends = vec![(0, 0.0); 2 * edges.len()];
    for edge in edges {
        let weight = if is_maximum { -edge.weight } else { edge.weight };
        for (from, to) in [(edge.low, edge.high), (edge.high, edge.low)] {
            ends[next[from as usize] as usize] = (to, weight);
            next[from as usize] += 1;
        }
    }
    let mut is_met = vec![false; node_count];
    let mut forest: Forest = Vec::with_capacity(edges.len());
    let roots = source.map_or(0..node_count as u32, |source| source..source + 1);
    for tree in roots {
        if std::mem::replace(&mut is_met[tree as usize], true) {
            continue;
        }
        let (mut node, mut place) = (tree, forest.len());
        loop {
            for &(to, weight) in &ends[starts[node as usize] as usize..starts[node as usize + 1] as usize] {
                if !std::mem::replace(&mut is_met[to as usize], true) {
                    forest.push((node, to, weight));
                }
            }
            let Some(&(_, target, _)) = forest.get(place) else { break };
            (node, place) = (target, place + 1);
        }
    }
    forest
}

/// Checks the forest of a whole graph by another method: it joins what the edges join, without a circle, and no edge of
/// the graph is lighter (heavier) than one on the way between its ends in the forest.
///
/// The view must have forward rows.
pub fn verify(view: &GraphView, is_maximum: bool, forest: &Forest) -> Result<()> {
    let node_count = view.node_count();
    // For each node the one before it, the weight of the edge from there, and how far it is from the root.
    let mut above = vec![(NONE, 0.0, 0_u32); node_count];
    for &(source, target, weight) in forest {
        if above[target as usize].0 != NONE {
            return Err(model::error!(Internal, "two edges of the forest lead to node {target}"));
        }
        above[target as usize] = (source, weight, above[source as usize].2 + 1);
    }
    let worse = |a: f64, b: f64| if is_maximum { a.min(b) } else { a.max(b) };
    for node in 0..node_count as u32 {
        let rows = view.forward();
        for (at, &other) in rows.neighbors(node).iter().enumerate() {
            let weight = if rows.has_weights() { rows.weights(node)[at] } else { 1.0 };
            let (mut a, mut b, mut worst) = (node, other, if is_maximum { f64::INFINITY } else { f64::NEG_INFINITY });
            while a != b {
                let deeper = if above[a as usize].2 >= above[b as usize].2 { &mut a } else { &mut b };
                let (source, weight, _) = above[*deeper as usize];
                if source == NONE {
                    return Err(model::error!(Internal, "the forest does not join nodes {node} and {other}"));
                }
                (*deeper, worst) = (source, worse(worst, weight));
            }
            let gains = if is_maximum { weight > worst } else { weight < worst };
            if gains && node != other {
                return Err(model::error!(
                    Internal,
                    "the edge of weight {weight} between nodes {node} and {other} is better than one of {worst}"
                ));
            }
        }
    }
    Ok(())
}

/// No node.
const NONE: u32 = u32::MAX;

static SOURCE_NODE: Setting<Node, Unset> =
    Setting::new("sourceNode", Node, Unset("a tree for each component"), "Root of the only tree that is wanted.")
        .or(&["source"]);
/// True for the greatest weight.
static OBJECTIVE: Setting<OneOf<bool>, Fixed<bool>> = Setting::new(
    "objective",
    OneOf(&[(&["minimum"], false), (&["maximum"], true)]),
    Fixed(false),
    "Objective for the total weight of a tree.",
);

/// `algo.spanningTree`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "spanningTree",
        aliases: &["algo.spanning_tree", "gds.spanningTree"],
        description: "Finds the relationships of least weight that hold together what hangs together.",
        settings: &[&SOURCE_NODE, &OBJECTIVE],
        direction: Follows::Always(Direction::Out),
        takes_weights: true,
        yields: &[column("source", "NODE"), column("target", "NODE"), column("weight", "FLOAT")],
        stats: &[
            column("totalWeight", "FLOAT"),
            column("effectiveNodeCount", "INTEGER"),
            column("relationshipCount", "INTEGER"),
        ],
        shape: Shape::Pairs,
    };

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Config> {
        let is_maximum = settings.get(&OBJECTIVE)?;
        Ok(Config { source: settings.get(&SOURCE_NODE)?, is_maximum })
    }

    fn needs(_config: &Config, _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::Forward,
            node_bytes: (BATCH_EDGES_PER_NODE + 1) * size_of::<Edge>() + (FILTERS + 4) * size_of::<u32>() + 48,
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn work(_config: &Config, is_weighted: bool) -> Option<Work> {
        (!is_weighted).then_some(Work::Passes { count: 1, kernel: JOIN })
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let source = config.source.map(|source| graph.require(source, SOURCE_NODE.name)).transpose()?;
        let forest = self::run(graph, source, config.is_maximum, run.interrupt)?;
        let total = forest.iter().fold(0.0, |total, (_, _, weight)| total + weight);
        let node_count = if source.is_some() { forest.len() + 1 } else { graph.node_count() };
        let stats = vec![Value::Float(total), Value::Int(node_count as i64), Value::Int(forest.len() as i64)];
        let columns = vec![
            node_column(forest.iter().map(|(source, _, _)| graph.node(*source))),
            node_column(forest.iter().map(|(_, target, _)| graph.node(*target))),
            Column::new(ColumnData::Float(forest.iter().map(|(_, _, weight)| *weight).collect())),
        ];
        Ok(Outcome { columns, order: RowOrder::ByNumber, stats })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::Interrupt;
    use model::store::Direction;
    use testing::random::{SeededRandom, seed_or};

    use super::forest;
    use crate::{EdgeList, Graph, GraphView, Sides};

    /// However the edges are cut into batches, the forest is the one of all edges at once.
    #[test]
    fn batches_of_any_size_give_the_same_forest() {
        let seed = seed_or(41);
        let mut random = SeededRandom::new(seed);
        for (nodes, edges) in [(1, 2), (5, 9), (60, 70), (60, 600)] {
            let mut sources: Vec<u32> = (0..edges).map(|_| random.below(nodes) as u32).collect();
            sources.sort_unstable();
            let targets: Vec<u32> = (0..edges).map(|_| random.below(nodes) as u32).collect();
            let weights: Vec<f64> = (0..edges).map(|_| random.below(20) as f64).collect();
            let list = EdgeList { sources: &sources, targets: &targets, weights: &weights };
            let view = GraphView::from_edges(nodes as u32, &list, Direction::Out, Sides::Forward, 1);
            let graph = Graph::in_memory(Arc::new(view));
            for is_maximum in [false, true] {
                let expected = forest(&graph, is_maximum, usize::MAX / 2, &Interrupt::new()).unwrap();
                for batch_edges in [1, 10, 100] {
                    let found = forest(&graph, is_maximum, batch_edges, &Interrupt::new()).unwrap();
                    assert_eq!(found, expected, "{nodes} nodes, batches of {batch_edges}, FUZZ_SEED={seed}");
                }
            }
        }
    }
}
