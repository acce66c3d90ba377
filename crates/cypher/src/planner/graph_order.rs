//! The order of a pattern's steps: a start for each connected part, then always the step that leaves least to do.
//!
//! Every node is tried as the start of its part, so the cost is about nodes × edges² and more; large patterns are
//! matched as they are written. Every step looks at the interrupt.

use std::sync::Arc;

use model::limits::ORDERED_PATTERN_MAX;
use model::{Direction, Interrupt, Map, Result, Set};

use super::order_cost::Cost;
use super::seek::SeekTarget;
use super::step::{ConditionKind, Planned, Problem, Step};
use crate::binder::tree::EdgeLength;
use crate::optimizer::OptimizerConfig;
use crate::plan::{BinaryOperator, ExpressionKind, SlotId};

/// Parts with more nodes than this try only their first ones as starts.
const STARTS_MAX: usize = 32;
/// Up to this many rows, an unconnected part is scanned for each row rather than joined.
const NESTED_ROWS_MAX: f64 = 1.5;
/// Cost of a search for a shortest path between two nodes, in edges.
const PAIR_COST: f64 = 100.0;
/// A seek that finds more for one row is compared with beginning elsewhere.
pub(super) const SEEK_ROWS_MAX: f64 = 1_000.0;

/// Progress of matching a pattern, and its cost.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) bound: Set<SlotId>,
    /// Bound by what this part will be joined with, so that it must not bind them again.
    pub(super) elsewhere: Set<SlotId>,
    pub(super) edges_done: Vec<bool>,
    pub(super) conditions_done: Vec<bool>,
    pub(super) rows: f64,
    pub(super) cost: Cost,
    pub(super) steps: Vec<Planned>,
}

/// Effect that a step would have.
pub(super) struct Candidate {
    pub(super) step: Step,
    pub(super) rows: f64,
    pub(super) cost: f64,
}

/// Seeks the order for one pattern.
pub(super) struct Order<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) config: &'a OptimizerConfig,
    /// Unconnected parts may be planned by themselves: nothing before them writes.
    pub(super) may_join: bool,
    /// The pattern is matched again and again, for the rows around it.
    pub(super) is_repeated: bool,
    pub(super) interrupt: &'a Interrupt,
}

impl Order<'_> {
    /// The steps that match the whole pattern, if there is an order in which everything is bound before it is used.
    pub(super) fn solve(&self, bound: &Set<SlotId>, rows: f64) -> Result<Option<Vec<Planned>>> {
        let problem = self.problem;
        let mut state = State {
            bound: bound.clone(),
            elsewhere: Set::default(),
            edges_done: vec![false; problem.graph.edges.len()],
            conditions_done: vec![false; problem.conditions.len()],
            rows,
            cost: Cost::none(rows),
            steps: Vec::new(),
        };
        self.take(&mut state, Candidate { step: Step::Begin, rows, cost: 0.0 });
        let part_of = self.connected();
        loop {
            self.complete(&mut state)?;
            let parts = self.parts(&state, &part_of);
            if parts.is_empty() {
                break;
            }
            state = self.start(state, &parts)?;
        }
        Ok(state.edges_done.iter().all(|done| *done).then_some(state.steps))
    }

    /// True if the best order is sought.
    fn reorders(&self) -> bool {
        let graph = self.problem.graph;
        self.config.reorder_patterns && graph.nodes.len() + graph.edges.len() <= ORDERED_PATTERN_MAX
    }

    /// Takes steps as long as something bound leads further.
    fn complete(&self, state: &mut State) -> Result<()> {
        while let Some(candidate) = self.best(state) {
            self.interrupt.check()?;
            self.take(state, candidate);
        }
        Ok(())
    }

    fn best(&self, state: &State) -> Option<Candidate> {
        if let Some(hinted) = self.problem.hinted.iter().find_map(|step| self.hinted(state, step)) {
            return Some(hinted);
        }
        let mut candidates = self.candidates(state);
        if !self.reorders() {
            return if candidates.is_empty() { None } else { Some(candidates.swap_remove(0)) };
        }
        let score = |candidate: &Candidate| candidate.cost + self.rows_left(state, candidate);
        candidates
            .into_iter()
            .map(|candidate| (score(&candidate), candidate))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, candidate)| candidate)
    }

    /// A step that a hint wants, if it can be done now.
    fn hinted(&self, state: &State, step: &Step) -> Option<Candidate> {
        let graph = self.problem.graph;
        match step {
            Step::Seek { seek } => self.seek(state, *seek),
            Step::Lookup { lookup } => self.lookup(state, *lookup),
            // For each of many rows a scan is worse than a join with one, which is chosen where a part is begun.
            Step::Scan { node } if state.rows <= NESTED_ROWS_MAX => {
                let slot = graph.nodes[*node].slot;
                let is_free = !state.bound.contains(&slot) && !state.elsewhere.contains(&slot);
                let rows = state.rows * self.problem.cost.labelled(&graph.nodes[*node].labels);
                is_free.then(|| Candidate { step: step.clone(), rows, cost: state.rows })
            }
            _ => None,
        }
    }

    /// Rows after a step and the conditions that it makes testable.
    fn rows_left(&self, state: &State, candidate: &Candidate) -> f64 {
        let mut next = State { steps: Vec::new(), ..state.clone() };
        let step = candidate.step.clone();
        self.take(&mut next, Candidate { step, rows: candidate.rows, cost: 0.0 });
        next.rows
    }

    fn candidates(&self, state: &State) -> Vec<Candidate> {
        let problem = self.problem;
        let mut candidates = Vec::new();
        for (index, edge) in problem.graph.edges.iter().enumerate() {
            let is_ready = problem.edge_needs[index].is_subset(&state.bound);
            let is_elsewhere = [edge.left, edge.right, edge.slot].iter().any(|slot| state.elsewhere.contains(slot));
            if state.edges_done[index] || !is_ready || is_elsewhere {
                continue;
            }
            if state.bound.contains(&edge.slot) {
                let (rows, cost) = (state.rows, 0.0);
                candidates.insert(0, Candidate { step: Step::BoundEdge { edge: index }, rows, cost });
                continue;
            }
            candidates.extend(self.walk(state, index));
        }
        // Without reordering, an edge that leads on comes first.
        if self.reorders() {
            candidates.extend(self.intersections(state));
        }
        candidates.extend((0..problem.lookups.len()).filter_map(|index| self.lookup(state, index)));
        for index in 0..problem.seeks.len() {
            // A seek that finds many rows may cost more than a start elsewhere.
            if problem.seeks[index].rows <= SEEK_ROWS_MAX {
                candidates.extend(self.seek(state, index));
            }
        }
        let narrow = (0..problem.index_unions.len()).filter(|&index| problem.index_unions[index].is_narrow());
        candidates.extend(narrow.filter_map(|index| self.index_union(state, index)));
        candidates
    }

    /// A lookup, if it can be done now.
    fn lookup(&self, state: &State, index: usize) -> Option<Candidate> {
        let lookup = &self.problem.lookups[index];
        let slot = self.problem.graph.nodes[lookup.node].slot;
        let is_free = !state.bound.contains(&slot) && !state.elsewhere.contains(&slot);
        if !self.config.lookups || !is_free || !lookup.needs.is_subset(&state.bound) {
            return None;
        }
        // An id is found even faster than a unique property.
        let cost = if lookup.key.is_some() { state.rows } else { 0.9 * state.rows };
        Some(Candidate { step: Step::Lookup { lookup: index }, rows: state.rows * lookup.rows(), cost })
    }

    /// A seek, if it can be done now.
    fn seek(&self, state: &State, index: usize) -> Option<Candidate> {
        let seek = &self.problem.seeks[index];
        // An entry of the index costs more than one of a scan or a lookup.
        let (rows, cost) = (state.rows * seek.rows, 2.0 * state.rows + state.rows * seek.rows);
        let is_possible = self.can_find(state, seek.target, &seek.needs);
        is_possible.then_some(Candidate { step: Step::Seek { seek: index }, rows, cost })
    }

    /// A union of what indexes find, if it can be done now.
    fn index_union(&self, state: &State, index: usize) -> Option<Candidate> {
        let union = &self.problem.index_unions[index];
        let (rows, cost) = (state.rows * union.rows, state.rows * union.cost());
        let is_possible = self.can_find(state, union.target, &union.needs);
        is_possible.then_some(Candidate { step: Step::IndexUnion { union: index }, rows, cost })
    }

    /// True if indexes may bind a node or edge now, for values that need these slots.
    fn can_find(&self, state: &State, target: SeekTarget, needs: &Set<SlotId>) -> bool {
        let graph = self.problem.graph;
        let slots = match target {
            SeekTarget::Node(node) => vec![graph.nodes[node].slot],
            SeekTarget::Edge(edge) => {
                let edge = &graph.edges[edge];
                vec![edge.slot, edge.left, edge.right]
            }
        };
        let is_free = |slot: &SlotId| !state.bound.contains(slot) && !state.elsewhere.contains(slot);
        self.config.lookups && needs.is_subset(&state.bound) && slots.iter().all(is_free)
    }

    /// The ways to follow one edge pattern from what is bound.
    fn walk(&self, state: &State, index: usize) -> Vec<Candidate> {
        let problem = self.problem;
        let edge = &problem.graph.edges[index];
        let (left, right) = (state.bound.contains(&edge.left), state.bound.contains(&edge.right));
        if let EdgeLength::Shortest { .. } = edge.length {
            let candidate =
                Candidate { step: Step::ShortestPath { edge: index }, rows: state.rows, cost: PAIR_COST * state.rows };
            if left && right {
                return vec![candidate];
            }
            return self.shortest_from_one(state, index, left, right).into_iter().collect();
        }
        let into = left && right;
        let mut candidates = Vec::new();
        for from_left in [true, false] {
            let (is_bound, from, to) =
                if from_left { (left, edge.left, edge.right) } else { (right, edge.right, edge.left) };
            // A search of several parts goes the way it is written.
            if !is_bound || !from_left && edge.search.is_some() {
                continue;
            }
            let direction = if from_left { edge.direction } else { edge.direction.reverse() };
            let fan_out = self.fan_out(state, index, from, direction);
            let targets = problem.cost.labelled(problem.labels_of(to)).max(1.0);
            let is_path = matches!(edge.length, EdgeLength::Variable { .. });
            let rows = if into { state.rows * (fan_out / targets).min(1.0) } else { state.rows * fan_out };
            let walked = if into && !is_path { state.rows } else { state.rows * (1.0 + fan_out) };
            let cost = walked * problem.cost.direction_factor(direction);
            candidates.push(Candidate { step: Step::Expand { edge: index, from_left, into }, rows, cost });
        }
        candidates
    }

    /// Shortest paths from one bound end to all nodes, where that is cheaper than to find the other end first.
    fn shortest_from_one(&self, state: &State, index: usize, left: bool, right: bool) -> Option<Candidate> {
        let problem = self.problem;
        let edge = &problem.graph.edges[index];
        if !edge.is_selected || !(left || right) {
            return None;
        }
        let (to, direction) = if left { (edge.right, edge.direction) } else { (edge.left, edge.direction.reverse()) };
        let nodes = problem.cost.labelled(problem.labels_of(to)).max(1.0);
        let is_alone = |needs: &Set<SlotId>| {
            needs.contains(&to) && needs.iter().all(|slot| *slot == to || state.bound.contains(slot))
        };
        let conditions = problem.conditions.iter().enumerate();
        let alone =
            conditions.filter(|(place, condition)| !state.conditions_done[*place] && is_alone(&condition.needs));
        let ends = nodes * alone.map(|(_, condition)| condition.selectivity).product::<f64>();
        let edges = problem.cost.labelled(&[]) * problem.cost.degree(&[], direction, &edge.types);
        let step = Step::Expand { edge: index, from_left: left, into: false };
        let (rows, cost) = (state.rows * nodes, state.rows * edges);
        (ends * PAIR_COST >= edges).then_some(Candidate { step, rows, cost })
    }

    pub(super) fn fan_out(&self, state: &State, index: usize, from: SlotId, direction: Direction) -> f64 {
        let edge = &self.problem.graph.edges[index];
        let labels: &[Arc<str>] = self.problem.labels_of(from);
        debug_assert!(direction == edge.direction || direction == edge.direction.reverse());
        self.problem.cost.fan_out(edge, direction, labels, self.finds_ends(state, index))
    }

    /// Takes a step, and tests every condition that can be tested then.
    fn take(&self, state: &mut State, candidate: Candidate) {
        self.spend(state, &candidate);
        let graph = self.problem.graph;
        match &candidate.step {
            Step::Begin => {}
            Step::Scan { node } => {
                state.bound.insert(graph.nodes[*node].slot);
                self.mark_labels(state, *node);
                if let Some(union) = self.problem.union_of(*node) {
                    state.conditions_done[union.condition] = true;
                }
            }
            Step::Lookup { lookup } => {
                let lookup = &self.problem.lookups[*lookup];
                state.bound.insert(graph.nodes[lookup.node].slot);
                state.conditions_done[lookup.condition] = true;
                if lookup.key.is_some() {
                    self.mark_labels(state, lookup.node);
                }
            }
            Step::Seek { seek } => {
                let seek = &self.problem.seeks[*seek];
                seek.conditions.iter().for_each(|&condition| state.conditions_done[condition] = true);
                self.found(state, seek.target);
            }
            Step::IndexUnion { union } => {
                let union = &self.problem.index_unions[*union];
                state.conditions_done[union.condition] = true;
                self.found(state, union.target);
            }
            Step::Expand { edge, .. } | Step::ShortestPath { edge } | Step::BoundEdge { edge } => {
                let index = *edge;
                let edge = &graph.edges[index];
                state.bound.extend([edge.left, edge.right, edge.slot]);
                state.bound.extend(edge.search.iter().map(|search| search.counts));
                state.edges_done[index] = true;
            }
            Step::Intersect { node, edges } => {
                state.bound.insert(graph.nodes[*node].slot);
                for &edge in edges {
                    state.bound.insert(graph.edges[edge].slot);
                    state.edges_done[edge] = true;
                }
                self.mark_labels(state, *node);
            }
            Step::Join { on, .. } => on.iter().for_each(|&condition| state.conditions_done[condition] = true),
        }
        let mut rows = candidate.rows;
        let mut conditions = Vec::new();
        for (index, condition) in self.problem.conditions.iter().enumerate() {
            if !state.conditions_done[index] && condition.needs.is_subset(&state.bound) {
                state.conditions_done[index] = true;
                rows *= condition.selectivity;
                conditions.push(index);
            }
        }
        state.rows = rows;
        self.note_read(state);
        state.steps.push(Planned { step: candidate.step, rows: candidate.rows, conditions, rows_left: rows });
    }

    /// Marks what an index binds. The ends of an edge are read from it in the next step.
    fn found(&self, state: &mut State, target: SeekTarget) {
        state.bound.insert(self.problem.slot_of(target));
        if let SeekTarget::Node(node) = target {
            self.mark_labels(state, node);
        }
    }

    /// The share of what is reached as a node that carries its labels.
    pub(super) fn label_share(&self, node: usize) -> f64 {
        let is_of_node = |condition: &&super::step::Condition| matches!(condition.kind, ConditionKind::Labels(labelled) if labelled == node);
        self.problem.conditions.iter().find(is_of_node).map_or(1.0, |condition| condition.selectivity)
    }

    fn mark_labels(&self, state: &mut State, node: usize) {
        for (index, condition) in self.problem.conditions.iter().enumerate() {
            if matches!(condition.kind, ConditionKind::Labels(labelled) if labelled == node) {
                state.conditions_done[index] = true;
            }
        }
    }

    /// For each node the first node of its connected part.
    fn connected(&self) -> Vec<usize> {
        let graph = self.problem.graph;
        let positions: Map<SlotId, usize> =
            graph.nodes.iter().enumerate().rev().map(|(index, node)| (node.slot, index)).collect();
        let mut part_of: Vec<usize> = (0..graph.nodes.len()).collect();
        for edge in &graph.edges {
            let (Some(&left), Some(&right)) = (positions.get(&edge.left), positions.get(&edge.right)) else { continue };
            let (kept, merged) = (part_of[left].min(part_of[right]), part_of[left].max(part_of[right]));
            if kept != merged {
                part_of.iter_mut().filter(|part| **part == merged).for_each(|part| *part = kept);
            }
        }
        part_of
    }

    /// The unbound nodes, by connected part.
    fn parts(&self, state: &State, part_of: &[usize]) -> Vec<Vec<usize>> {
        let mut places: Map<usize, usize> = Map::default();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for (index, node) in self.problem.graph.nodes.iter().enumerate() {
            if state.bound.contains(&node.slot) {
                continue;
            }
            let place = *places.entry(part_of[index]).or_insert(parts.len());
            match parts.get_mut(place) {
                Some(nodes) => nodes.push(index),
                None => parts.push(vec![index]),
            }
        }
        parts
    }

    /// Starts the part that leaves the fewest rows, at the node that costs least; the first one, if parts stay in order.
    fn start(&self, state: State, parts: &[Vec<usize>]) -> Result<State> {
        let has_many = state.rows > NESTED_ROWS_MAX;
        if self.may_join && self.config.hash_joins && (has_many || self.is_repeated) {
            let empty = State {
                bound: Set::default(),
                elsewhere: state.elsewhere.union(&state.bound).copied().collect(),
                edges_done: state.edges_done.clone(),
                conditions_done: state.conditions_done.clone(),
                rows: 1.0,
                cost: Cost::none(1.0),
                steps: Vec::new(),
            };
            if let Some(part) = self.cheapest(&empty, parts)? {
                let on = self.join_conditions(&state, &part);
                // For one row at a time, nothing but equal keys makes a join better than a scan.
                if has_many || !on.is_empty() {
                    return Ok(self.join(state, part, on));
                }
            }
        }
        let nested = self.cheapest(&state, parts)?;
        Ok(nested.unwrap_or(state))
    }

    /// The part, begun where it costs least, that leaves the fewest rows; the first one, if parts stay in order.
    fn cheapest(&self, base: &State, parts: &[Vec<usize>]) -> Result<Option<State>> {
        let mut best: Option<State> = None;
        for nodes in parts {
            let starts = if self.reorders() { nodes.len().min(STARTS_MAX) } else { 1 };
            let is_hinted = |node: &&usize| {
                self.problem.hinted.iter().any(|step| matches!(step, Step::Scan { node: of } if of == *node))
            };
            let cheapest = match nodes.iter().find(is_hinted) {
                Some(&node) => Some(self.from(base, node)?),
                None => {
                    let tried = nodes[..starts].iter().map(|&node| self.from(base, node));
                    let tried: Vec<State> = tried.chain(self.seeks_into(base, nodes)).collect::<Result<_>>()?;
                    tried.into_iter().min_by(|a, b| a.cost.in_all(a.rows).total_cmp(&b.cost.in_all(b.rows)))
                }
            };
            let Some(part) = cheapest else { continue };
            if best.as_ref().is_none_or(|best| part.rows < best.rows) {
                best = Some(part);
            }
            if !self.reorders() {
                break;
            }
        }
        Ok(best)
    }

    /// The states after each seek that finds something of a part, and all that follows from it.
    fn seeks_into<'s>(&'s self, base: &'s State, nodes: &'s [usize]) -> impl Iterator<Item = Result<State>> + 's {
        let graph = self.problem.graph;
        let is_of_part = move |target: SeekTarget| match target {
            SeekTarget::Node(node) => nodes.contains(&node),
            SeekTarget::Edge(edge) => nodes.iter().any(|&node| graph.nodes[node].slot == graph.edges[edge].left),
        };
        let (seeks, unions) = (&self.problem.seeks, &self.problem.index_unions);
        let seeks = (0..seeks.len()).filter(move |&index| is_of_part(seeks[index].target));
        let unions = (0..unions.len()).filter(move |&index| is_of_part(unions[index].target));
        let found = seeks.filter_map(|index| self.seek(base, index));
        let found = found.chain(unions.filter_map(|index| self.index_union(base, index)));
        found.map(|candidate| {
            let mut state = base.clone();
            self.take(&mut state, candidate);
            self.complete(&mut state).map(|()| state)
        })
    }

    /// The state after a scan and all that follows from it.
    fn from(&self, base: &State, node: usize) -> Result<State> {
        self.interrupt.check()?;
        let mut state = base.clone();
        let before = state.rows;
        let nodes = match self.problem.union_of(node) {
            Some(union) => union.rows,
            None => self.problem.cost.labelled(&self.problem.graph.nodes[node].labels),
        };
        let rows = before * nodes;
        self.take(&mut state, Candidate { step: Step::Scan { node }, rows, cost: before });
        self.complete(&mut state)?;
        Ok(state)
    }

    /// The conditions by which a part that was planned by itself is joined.
    fn join_conditions(&self, state: &State, part: &State) -> Vec<usize> {
        let conditions = self.problem.conditions.iter().enumerate();
        let joining = conditions.filter(|(index, condition)| {
            !part.conditions_done[*index] && self.joins(condition, &state.bound, &part.bound)
        });
        joining.map(|(index, _)| index).collect()
    }

    /// Joins a part that was planned by itself.
    fn join(&self, state: State, part: State, on: Vec<usize>) -> State {
        let selectivity: f64 = on.iter().map(|&index| self.problem.conditions[index].selectivity).product();
        let mut joined = State {
            bound: state.bound.union(&part.bound).copied().collect(),
            elsewhere: state.elsewhere,
            edges_done: part.edges_done,
            conditions_done: part.conditions_done,
            rows: state.rows,
            cost: state.cost.both(state.rows, &part.cost, part.rows, part.rows),
            steps: state.steps,
        };
        let rows = state.rows * part.rows * selectivity;
        self.take(&mut joined, Candidate { step: Step::Join { steps: part.steps, on }, rows, cost: 0.0 });
        joined
    }

    /// True of an equality of something on the left with something on the right.
    fn joins(&self, condition: &super::step::Condition, left: &Set<SlotId>, right: &Set<SlotId>) -> bool {
        let ConditionKind::Predicate(predicate) = &condition.kind else { return false };
        let ExpressionKind::Binary { operator: BinaryOperator::Equal, left: a, right: b } = &predicate.kind else {
            return false;
        };
        let (a, b) = (self.problem.needs(a), self.problem.needs(b));
        let is_side = |needs: &Set<SlotId>, bound: &Set<SlotId>| !needs.is_empty() && needs.is_subset(bound);
        (is_side(&a, left) && is_side(&b, right)) || (is_side(&b, left) && is_side(&a, right))
    }
}
