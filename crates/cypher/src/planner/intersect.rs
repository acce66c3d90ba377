//! A node to which several edges lead from bound nodes: found by intersecting what the nodes are adjacent to, all at once,
//! rather than by following one edge and testing the others. A cycle costs no more rows than it has matches.
//!
//! After: Ngo, Ré, Rudra, "Skew strikes back", 2013.

use model::Direction;

use super::graph_order::{Candidate, Order, State};
use super::step::Step;
use super::{Planner, Stream};
use crate::binder::tree::{EdgeLength, GraphEdge, QueryGraph};
use crate::plan::{BoundEdge, IntersectLeg, OperatorKind, SlotId};

/// Cost of a comparison within an intersection, as a share of the cost of following an edge.
const COMPARISON_COST: f64 = 0.25;

impl Order<'_> {
    /// The intersections that can be done now: one for each node with two or more edges from what is bound.
    pub(super) fn intersections(&self, state: &State) -> Vec<Candidate> {
        let graph = self.problem.graph;
        if !self.config.intersections {
            return Vec::new();
        }
        let unbound = (0..graph.nodes.len()).filter(|&node| {
            let slot = graph.nodes[node].slot;
            !state.bound.contains(&slot) && !state.elsewhere.contains(&slot)
        });
        unbound.filter_map(|node| self.intersection(state, node)).collect()
    }

    fn intersection(&self, state: &State, node: usize) -> Option<Candidate> {
        let problem = self.problem;
        let graph = problem.graph;
        let to = graph.nodes[node].slot;
        let leads_here = |&index: &usize| {
            let edge = &graph.edges[index];
            let is_ready = problem.edge_needs[index].is_subset(&state.bound);
            let is_free = !state.edges_done[index] && !state.bound.contains(&edge.slot);
            let is_plain = is_single(edge) && edge.filter.is_none() && !edge.is_selected;
            let from = other_end(edge, to).filter(|from| state.bound.contains(from));
            from.is_some() && is_ready && is_free && is_plain && !state.elsewhere.contains(&edge.slot)
        };
        let edges: Vec<usize> = (0..graph.edges.len()).filter(leads_here).collect();
        let done: Vec<usize> = (0..graph.edges.len()).filter(|&index| state.edges_done[index]).collect();
        if edges.len() < 2 || !can_tell_apart(graph, &edges, &done) {
            return None;
        }
        let mut fan_outs: Vec<f64> = Vec::with_capacity(edges.len());
        for &index in &edges {
            let edge = &graph.edges[index];
            let from = other_end(edge, to)?;
            fan_outs.push(self.fan_out(state, index, from, direction_from(edge, from)));
        }
        fan_outs.sort_by(f64::total_cmp);
        let targets = problem.cost.labelled(problem.labels_of(to)).max(1.0);
        let share: f64 = fan_outs[1..].iter().map(|fan_out| (fan_out / targets).min(1.0)).product();
        let rows = state.rows * fan_outs[0] * share * self.label_share(node);
        let cost = state.rows * (1.0 + COMPARISON_COST * fan_outs[0]);
        Some(Candidate { step: Step::Intersect { node, edges }, rows, cost })
    }
}

/// The end of an edge that is not this node; nothing for a loop and for edges elsewhere.
fn other_end(edge: &GraphEdge, node: SlotId) -> Option<SlotId> {
    match (edge.left == node, edge.right == node) {
        (true, false) => Some(edge.right),
        (false, true) => Some(edge.left),
        _ => None,
    }
}

/// True of a pattern of one edge, whose slot holds that edge.
fn is_single(edge: &GraphEdge) -> bool {
    edge.length == EdgeLength::One && edge.search.is_none()
}

fn direction_from(edge: &GraphEdge, from: SlotId) -> Direction {
    if edge.left == from { edge.direction } else { edge.direction.reverse() }
}

/// True if the nodes of a row tell which edges are the same, as the operator needs it to count without looking at edges.
fn can_tell_apart(graph: &QueryGraph, edges: &[usize], done: &[usize]) -> bool {
    let is_told = |edge: &GraphEdge, bound: &GraphEdge| {
        let is_of_types = edge.types.is_empty()
            || (!bound.types.is_empty() && bound.types.iter().all(|name| edge.types.contains(name)));
        let is_turned_alike = bound.direction != Direction::Both || edge.direction == Direction::Both;
        is_single(bound) && is_of_types && is_turned_alike
    };
    let is_of_same_types = |edge: &GraphEdge, other: &GraphEdge| {
        edge.types.len() == other.types.len() && edge.types.iter().all(|name| other.types.contains(name))
    };
    edges.iter().enumerate().all(|(at, &index)| {
        let edge = &graph.edges[index];
        let apart_from = |&other: &usize, is_told: &dyn Fn(&GraphEdge, &GraphEdge) -> bool| {
            let other = &graph.edges[other];
            !edge.may_equal(other) || is_told(edge, other)
        };
        done.iter().all(|other| apart_from(other, &is_told))
            && edges[..at].iter().all(|other| apart_from(other, &is_of_same_types))
    })
}

impl Planner<'_> {
    /// Adds the operator for a step.
    pub(super) fn intersect(
        &mut self,
        stream: &mut Stream,
        graph: &QueryGraph,
        node: usize,
        edges: &[usize],
        rows: f64,
        before: &[usize],
    ) {
        let node = &graph.nodes[node];
        let (to, labels) = (node.slot, node.labels.clone());
        let mut legs = Vec::with_capacity(edges.len());
        for (at, &index) in edges.iter().enumerate() {
            let edge = &graph.edges[index];
            let from = if edge.left == to { edge.right } else { edge.left };
            let may_equal = |other: &&usize| graph.edges[**other].may_equal(edge);
            let bound = |&other: &usize| {
                let GraphEdge { slot, left, right, direction, .. } = graph.edges[other];
                BoundEdge { edge: slot, left, right, direction }
            };
            legs.push(IntersectLeg {
                from,
                direction: direction_from(edge, from),
                types: edge.types.clone(),
                edge: Some(edge.slot),
                distinct_from: before.iter().filter(may_equal).map(bound).collect(),
                distinct_legs: (0..at).filter(|&other| may_equal(&&edges[other])).collect(),
            });
        }
        stream.bound.insert(to);
        stream.bound.extend(edges.iter().map(|&index| graph.edges[index].slot));
        stream.push(rows, |input| OperatorKind::Intersect { input, to, labels, legs });
    }
}
