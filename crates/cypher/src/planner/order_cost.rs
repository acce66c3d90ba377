//! The cost of an order of a pattern's steps.
//!
//! If it does not matter how often a match comes, rows that are equal in what later steps and the reader need are merged on their
//! way, a path whose edges nobody compares looks at each edge once for each row, and once all that is read is bound the first
//! match of a row suffices.

use model::{Direction, Set};

use super::graph_order::{Candidate, Order, State};
use super::step::{Problem, Step};
use crate::binder::tree::{EdgeLength, GraphEdge};
use crate::optimizer::{DOUBT, FIRST_MATCH_ROWS};
use crate::plan::SlotId;

/// Cost of the steps so far, in rows and edges that are looked at.
#[derive(Clone, Debug)]
pub(super) struct Cost {
    steps: f64,
    /// Rows that there were before the first step.
    rows_before: f64,
    /// The rows that there were when all that is read was bound, and the cost until then.
    read: Option<(f64, f64)>,
}

impl Cost {
    /// Nothing done yet, for this many rows.
    pub(super) fn none(rows_before: f64) -> Cost {
        Cost { steps: 0.0, rows_before, read: None }
    }

    /// The cost of steps that two orders take, and more.
    pub(super) fn both(self, rows: f64, other: &Cost, rows_of_other: f64, more: f64) -> Cost {
        let steps = self.in_all(rows) + other.in_all(rows_of_other) + more;
        Cost { steps, read: None, ..self }
    }

    /// The cost of all steps, which give that many rows.
    pub(super) fn in_all(&self, rows: f64) -> f64 {
        let Some((rows_read, cost_read)) = self.read else { return self.steps };
        let matching = self.steps - cost_read;
        let of_first = matching / (rows / rows_read).max(1.0) + FIRST_MATCH_ROWS * rows_read;
        cost_read + matching.min(of_first + matching / DOUBT)
    }
}

impl Order<'_> {
    /// Notes what a step costs, before it is taken.
    pub(super) fn spend(&self, state: &mut State, candidate: &Candidate) {
        let cost = candidate.cost + candidate.rows;
        let Some(read) = &self.problem.read_once else {
            state.cost.steps += cost;
            return;
        };
        let merged = state.rows.min(self.combinations(state, read));
        let share = if state.rows > 0.0 { merged / state.rows } else { 1.0 };
        let edges_once = match candidate.step {
            Step::Expand { edge, from_left, into } => {
                let searches = if into { merged } else { merged.min(self.searches(state, read, edge, from_left)) };
                searches * self.edges_of_path(state, edge)
            }
            _ => f64::INFINITY,
        };
        state.cost.steps += (cost * share).min(edges_once);
    }

    /// Notes that all that is read is bound, if it is.
    pub(super) fn note_read(&self, state: &mut State) {
        if self.config.first_matches == crate::optimizer::Use::Never || state.cost.read.is_some() {
            return;
        }
        let is_bound = |read: &Set<SlotId>| read.is_subset(&state.bound);
        if self.problem.read_once.as_ref().is_some_and(is_bound) {
            state.cost.read = Some((state.rows.max(1.0), state.cost.steps));
        }
    }

    /// The most searches that find the ends of a path: one for all of its starts, if these are not needed any more.
    fn searches(&self, state: &State, read: &Set<SlotId>, path: usize, from_left: bool) -> f64 {
        let edge = &self.problem.graph.edges[path];
        let to = if from_left { edge.right } else { edge.left };
        let mut in_filter = Set::default();
        if let Some(filter) = &edge.filter {
            filter.predicate.free_slots(&mut in_filter);
            in_filter.retain(|slot| filter.own_slots().all(|own| own != *slot));
        }
        if !in_filter.is_empty() {
            return f64::INFINITY;
        }
        let mut edges_done = state.edges_done.clone();
        edges_done[path] = true;
        let mut bound = state.bound.clone();
        bound.remove(&to);
        self.combinations(&State { bound, edges_done, steps: Vec::new(), ..state.clone() }, read)
    }

    /// The most combinations of values that rows can have in what is still needed of them.
    fn combinations(&self, state: &State, read: &Set<SlotId>) -> f64 {
        let Problem { graph, cost, conditions, .. } = self.problem;
        let undone = || graph.edges.iter().zip(&state.edges_done).filter(|(_, done)| !**done).map(|(edge, _)| edge);
        let untested = || conditions.iter().zip(&state.conditions_done).filter(|(_, done)| !**done);
        let is_needed = |slot: SlotId| {
            read.contains(&slot)
                || undone().any(|edge| edge.left == slot || edge.right == slot)
                || untested().any(|(condition, _)| condition.needs.contains(&slot))
        };
        let nodes = graph.nodes.iter().filter(|node| state.bound.contains(&node.slot) && is_needed(node.slot));
        let of_nodes: f64 = nodes.map(|node| cost.labelled(self.problem.labels_of(node.slot)).max(1.0)).product();
        let edges = graph.edges.iter().zip(&state.edges_done).filter(|(_, done)| **done).map(|(edge, _)| edge);
        let edges = edges.filter(|edge| is_needed(edge.slot) || undone().any(|other| edge.may_equal(other)));
        let values = |edge: &GraphEdge| match edge.length {
            EdgeLength::One => cost.edges(&edge.types).max(1.0),
            _ => f64::INFINITY,
        };
        state.cost.rows_before * of_nodes * edges.map(values).product::<f64>()
    }

    /// True if only the ends of a path are wanted.
    pub(super) fn finds_ends(&self, state: &State, index: usize) -> bool {
        self.problem.read_once.is_some() && self.edges_of_path(state, index).is_finite()
    }

    /// Edges that one row looks at in a search for the ends of paths; no number if the paths themselves are wanted.
    fn edges_of_path(&self, state: &State, index: usize) -> f64 {
        let graph = self.problem.graph;
        let edge = &graph.edges[index];
        // Later edges are compared with all edges of a path.
        let later = (0..graph.edges.len()).filter(|&other| other != index && !state.edges_done[other]);
        let is_compared = later.into_iter().any(|other| graph.edges[other].may_equal(edge));
        if is_compared || !matches!(edge.length, EdgeLength::Variable { .. }) || edge.search.is_some() {
            return f64::INFINITY;
        }
        // Up to the least length, each edge once for each number of edges.
        let times = if let EdgeLength::Variable { min, .. } = edge.length { f64::from(min.max(1)) } else { 1.0 };
        times * self.problem.cost.edges(&edge.types) * if edge.direction == Direction::Both { 2.0 } else { 1.0 }
    }
}
