//! Statistics that a planner may ask of a store: counts that are cheap to keep current, and sketches drawn now and
//! then.

use std::sync::Arc;

use crate::Map;
use crate::id::{EdgeTypeId, LabelId, PropertyKeyId};

/// Counts of one snapshot. Exact for the native store, except for the sketches; a foreign store may estimate.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Nodes in all.
    pub nodes: u64,
    /// Edges in all.
    pub edges: u64,
    /// Nodes by label; a node of two labels counts in both.
    pub nodes_by_label: Map<LabelId, u64>,
    /// Edges by type.
    pub edges_by_type: Map<EdgeTypeId, u64>,
    /// Sketches drawn when the store was last looked through; a store may have none.
    pub sketches: Option<Arc<Sketches>>,
}

/// Statistics of a store from samples of its edges and nodes. Where a sample held all there was, it was exact then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sketches {
    /// Nodes in all when it was drawn.
    pub nodes: u64,
    /// Edges in all when it was drawn.
    pub edges: u64,
    /// The edges of each type.
    pub edge_types: Map<EdgeTypeId, EdgeSketch>,
    /// The values of each property that nodes of a label have.
    pub values: Map<(LabelId, PropertyKeyId), ValueSketch>,
}

/// Labels that the edges of a type join, and numbers of such edges that nodes have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeSketch {
    /// Edges of the type when it was drawn.
    pub edges: u64,
    /// Number of them that were looked at; if all, the sketch was exact.
    pub sampled: u64,
    /// Edges from nodes of a label to nodes of a label, where `None` stands for any node.
    pub pairs: Map<LabelPair, u64>,
    /// Edges that a pair that is not listed has at most.
    pub unlisted: u64,
    /// Nodes by how many edges of the type start at them: at `k` those with `2^k` up to `2^(k+1)`.
    pub out_degrees: Vec<u64>,
    /// Nodes by how many edges of the type end at them.
    pub in_degrees: Vec<u64>,
}

/// Mean degree of the nodes of a class of a histogram, as a multiple of the least: in large graphs the number of nodes falls about with the
/// square of their degree.
const MEAN_OF_CLASS: f64 = 1.4;

/// The classes of a histogram of degrees as [`EdgeSketch`] has them, by rising degree: number of nodes, and mean degree of each.
pub fn degree_classes(histogram: &[u64]) -> impl DoubleEndedIterator<Item = (f64, f64)> {
    let mean = |exponent: usize| if exponent == 0 { 1.0 } else { (exponent as f64).exp2() * MEAN_OF_CLASS };
    let listed = histogram.iter().enumerate().filter(|&(_, &count)| count > 0);
    listed.map(move |(exponent, &count)| (count as f64, mean(exponent)))
}

/// A label of the source and one of the target; `None` for any.
pub type LabelPair = (Option<LabelId>, Option<LabelId>);

impl EdgeSketch {
    /// The share of the type's edges that start at such a node and end at such a node.
    pub fn share(&self, pair: LabelPair) -> f64 {
        let count = match pair {
            (None, None) => return 1.0,
            pair => self.pairs.get(&pair).map_or(self.unlisted as f64 / 2.0, |&count| count as f64),
        };
        (count / self.edges.max(1) as f64).min(1.0)
    }
}

/// The values of a property of the nodes of a label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueSketch {
    /// Nodes of the label when it was drawn.
    pub nodes: u64,
    /// Number of them that were looked at; if all, the sketch was exact.
    pub sampled: u64,
    /// Nodes of the label that have the property.
    pub present: u64,
    /// Different values.
    pub distinct: u64,
    /// The least and the largest number seen; `None` if there was none.
    pub numbers: Option<(f64, f64)>,
}

impl ValueSketch {
    /// The share of the label's nodes that have one certain value.
    pub fn equal_share(&self) -> f64 {
        self.present_share() / self.distinct.max(1) as f64
    }

    /// The share of the label's nodes that have the property.
    pub fn present_share(&self) -> f64 {
        (self.present as f64 / self.nodes.max(1) as f64).min(1.0)
    }

    /// The largest share of the label's nodes that may lie beyond all numbers that were seen, if `now` nodes carry the label:
    /// what the extremes of a sample leave out on average, or all nodes that came later.
    pub fn beyond_share(&self, now: u64) -> f64 {
        let came = now.saturating_sub(self.nodes) as f64 / now.max(1) as f64;
        came.max(1.0 / (self.sampled as f64 + 1.0))
    }

    /// The share of the label's nodes whose number lies below this one, numbers being taken as evenly spread.
    pub fn below_share(&self, number: f64) -> Option<f64> {
        let (least, largest) = self.numbers?;
        let width = largest - least;
        let share = if width > 0.0 { (number - least) / width } else { 0.5 };
        (!share.is_nan()).then(|| share.clamp(0.0, 1.0))
    }
}

/// The share by which nodes or edges must have changed in number until sketches are drawn anew.
const AGE_SHARE: f64 = 0.2;

impl Sketches {
    /// True if as many nodes and edges say nothing of a store whose counts are these.
    pub fn are_old(&self, statistics: &Statistics) -> bool {
        let moved = |then: u64, now: u64| now.abs_diff(then) as f64 > AGE_SHARE * then as f64;
        moved(self.nodes, statistics.nodes) || moved(self.edges, statistics.edges)
    }
}

impl Statistics {
    /// Nodes that carry the label.
    pub fn label(&self, label: LabelId) -> u64 {
        self.nodes_by_label.get(&label).copied().unwrap_or(0)
    }

    /// Edges of the type.
    pub fn edge_type(&self, edge_type: EdgeTypeId) -> u64 {
        self.edges_by_type.get(&edge_type).copied().unwrap_or(0)
    }
}
