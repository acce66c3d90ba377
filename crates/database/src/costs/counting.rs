//! Edges that `CountMatches` follows: those of its trees, each once at most, and none to leaves of which nothing is asked.

use std::sync::Arc;

use cypher::plan::CountedNode;
use model::statistics::EdgeSketch;
use model::{Direction, EdgeTypeId};

use super::{Sizes, Work, add_expression};

/// Longest paths that are told apart: most nodes are nearer to each other.
const LENGTH_MAX: u32 = 8;

/// Work of counting matches.
#[derive(Default)]
pub(super) struct Counted {
    /// Nodes from which edges, or numbers of them, are looked for.
    pub(super) nodes: f64,
    /// Edges that are followed.
    pub(super) edges: f64,
    /// Edges of one node that are compared with each other.
    pub(super) merged: f64,
    /// Conditions on the nodes they lead to.
    pub(super) tests: Work,
}

/// Work of counting the matches of trees from a number of rows.
pub(super) fn counted(trees: &[CountedNode], rows: f64, sizes: Sizes<'_>) -> Counted {
    let mut counted = Counted::default();
    for tree in trees {
        add(&mut counted, tree, (rows, false), sizes);
    }
    counted
}

/// Adds the work of the branches of a pattern node that `reached` nodes match; `by_edges` if edges have led to them.
fn add(counted: &mut Counted, node: &CountedNode, (reached, by_edges): (f64, bool), sizes: Sizes<'_>) {
    counted.nodes += reached;
    if let Some(predicate) = &node.predicate {
        add_expression(&mut counted.tests, predicate, reached, sizes);
    }
    let branches_meet = node.branches.iter().any(|branch| branch.direction == Direction::Both);
    for branch in &node.branches {
        let next = &branch.node;
        let is_bare = next.predicate.is_none() && next.branches.is_empty() && next.nested.is_empty();
        let degree = sizes.degree(&branch.types, branch.direction, by_edges);
        let followed = (reached * degree).min(sizes.edges(&branch.types, branch.direction));
        if is_bare {
            // Numbers of edges are enough, unless one may come by two branches.
            let may_meet = !node.rules.is_empty() && branches_meet;
            counted.merged += if may_meet { followed } else { 0.0 };
            continue;
        }
        counted.edges += followed;
        add(counted, next, (followed.min(sizes.nodes(&next.labels)), true), sizes);
    }
    for nested in &node.nested {
        let tree = CountedNode { predicate: None, ..nested.node.clone() };
        add(counted, &tree, (reached, by_edges), sizes);
    }
}

impl Sizes<'_> {
    fn types(&self, types: &[Arc<str>]) -> Vec<EdgeTypeId> {
        if types.is_empty() {
            return (0..self.schema.edge_types.len() as u32).map(EdgeTypeId).collect();
        }
        types.iter().filter_map(|name| self.schema.edge_type(name)).collect()
    }

    /// Edges of the types, those of both directions twice.
    fn edges(&self, types: &[Arc<str>], direction: Direction) -> f64 {
        let edges: u64 = self.types(types).into_iter().map(|id| self.statistics.edge_type(id)).sum();
        edges as f64 * if direction == Direction::Both { 2.0 } else { 1.0 }
    }

    /// Edges on the paths from one node up to a length, each counted every time it is met, bounded by the edges of the types.
    pub(super) fn within(&self, types: &[Arc<str>], direction: Direction, max: Option<u32>) -> f64 {
        let (first, further) = (self.degree(types, direction, false), self.degree(types, direction, true));
        let of_length = |length: u32| first * further.powi(length as i32 - 1);
        let all: f64 = (1..=max.unwrap_or(LENGTH_MAX).min(LENGTH_MAX)).map(of_length).sum();
        all.min(self.edges(types, direction))
    }

    /// Edges of one node that has any: of one among all such nodes, or of one that an edge leads to, which is the likelier the more it has.
    fn degree(&self, types: &[Arc<str>], direction: Direction, by_edges: bool) -> f64 {
        let of_type = |id: EdgeTypeId| {
            let sketch = self.statistics.sketches.as_ref().and_then(|sketches| sketches.edge_types.get(&id));
            let sides: &[fn(&EdgeSketch) -> &[u64]] = match direction {
                Direction::Out => &[|sketch| &sketch.out_degrees],
                Direction::In => &[|sketch| &sketch.in_degrees],
                Direction::Both => &[|sketch| &sketch.out_degrees, |sketch| &sketch.in_degrees],
            };
            let mean = self.statistics.edge_type(id) as f64 / self.statistics.nodes.max(1) as f64;
            sides.iter().map(|side| sketch.map_or(mean, |sketch| mean_degree(side(sketch), by_edges))).sum::<f64>()
        };
        self.types(types).into_iter().map(of_type).sum()
    }
}

/// The mean of degrees that were counted by powers of two; weighted with themselves, or not.
fn mean_degree(counts: &[u64], weighted: bool) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (power, &count) in counts.iter().enumerate() {
        let degree = if power == 0 { 1.0 } else { 1.5 * 2.0_f64.powi(power as i32) };
        let weight = count as f64 * if weighted { degree } else { 1.0 };
        sum += weight * degree;
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}
