//! Random graphs: Kronecker (R-MAT), with degrees as skewed as those of the web, and Erdős–Rényi, with even degrees.
//!
//! After: Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining", 2004; the Graph 500 parameters.

use model::{Column, ColumnData};

use super::{EdgeGroup, GraphData, NodeGroup};
use crate::random::SeededRandom;

/// Parameters of a Kronecker graph.
#[derive(Clone, Debug)]
pub struct Kronecker {
    /// The graph has two to this power nodes.
    pub scale: u32,
    /// Edges for each node, on average.
    pub edge_factor: usize,
    /// Probabilities of the top left, top right and bottom left quarter of the adjacency matrix.
    pub quarters: [f64; 3],
    /// The same seed gives the same graph.
    pub seed: u64,
}

impl Default for Kronecker {
    fn default() -> Kronecker {
        Kronecker { scale: 10, edge_factor: 16, quarters: [0.57, 0.19, 0.19], seed: 1 }
    }
}

/// A Kronecker graph of `Node`s and `LINK`s, node ids shuffled, parallel edges and self-loops kept. Nodes have `id`
/// (their number); edges have `weight` (0 to 1) and `since` (an integer).
pub fn kronecker(options: &Kronecker) -> GraphData {
    let node_count = 1_u64 << options.scale;
    let edge_count = node_count as usize * options.edge_factor;
    let mut random = SeededRandom::new(options.seed);
    let mut names: Vec<u64> = (0..node_count).collect();
    random.shuffle(&mut names);
    let [a, b, c] = options.quarters;
    let (mut sources, mut targets) = (Vec::with_capacity(edge_count), Vec::with_capacity(edge_count));
    for _ in 0..edge_count {
        let (mut source, mut target) = (0_usize, 0_usize);
        for _ in 0..options.scale {
            let dice = random.unit();
            source = source << 1 | usize::from(dice >= a + b);
            target = target << 1 | usize::from((a..a + b).contains(&dice) || dice >= a + b + c);
        }
        sources.push(names[source]);
        targets.push(names[target]);
    }
    let weight = (0..edge_count).map(|_| random.unit()).collect();
    let since = (0..edge_count).map(|_| 1990 + random.below(35) as i64).collect();
    let edges = EdgeGroup {
        edge_type: "LINK".to_owned(),
        sources,
        targets,
        properties: vec![
            ("weight".to_owned(), Column::new(ColumnData::Float(weight))),
            ("since".to_owned(), Column::new(ColumnData::Int(since))),
        ],
    };
    GraphData { nodes: vec![numbered_nodes(node_count as usize)], edges: vec![edges] }
}

/// `edge_count` edges between ends drawn evenly from `node_count` nodes; parallel edges and self-loops may come.
/// Nodes are `Node`s with `id`; edges are `LINK`s with `weight` (0 to 1).
pub fn erdos_renyi(node_count: usize, edge_count: usize, seed: u64) -> GraphData {
    let mut random = SeededRandom::new(seed);
    let mut ends = || (0..edge_count).map(|_| random.below(node_count as u64)).collect::<Vec<u64>>();
    let (sources, targets) = (ends(), ends());
    let weight = (0..edge_count).map(|_| random.unit()).collect();
    let properties = vec![("weight".to_owned(), Column::new(ColumnData::Float(weight)))];
    let edges = EdgeGroup { edge_type: "LINK".to_owned(), sources, targets, properties };
    GraphData { nodes: vec![numbered_nodes(node_count)], edges: vec![edges] }
}

/// `Node`s with `id`, their number.
pub(super) fn numbered_nodes(count: usize) -> NodeGroup {
    let ids = Column::new(ColumnData::Int((0..count as i64).collect()));
    NodeGroup { count, labels: vec!["Node".to_owned()], properties: vec![("id".to_owned(), ids)] }
}
