//! The steps of a pattern as operators.

use std::sync::Arc;

use model::{Result, Set, Span, error};

use super::cost::CostModel;
use super::graph_order::Order;
use super::path_plan::Walk;
use super::seek::{Seek, SeekTarget};
use super::step::{ConditionKind, Lookup, Planned, Problem, ScanUnion, Step};
use super::{Planner, Stream, joined_paths};
use crate::binder::tree::{EdgeLength, GraphEdge, GraphNode, QueryGraph};
use crate::binder::{Hint, HintKind};
use crate::optimizer::nullability::never_null;
use crate::plan::conditions::{at, has_labels};
use crate::plan::{
    BinaryOperator, Expression, ExpressionKind, LookupValue, OperatorKind, QuantifierKind, SlotId, SlotKind,
};

/// Parts of the pattern that have been matched in one stream.
#[derive(Default)]
struct Progress {
    /// Edges that later ones must differ from.
    edges: Vec<usize>,
    /// Paths that have been computed.
    paths: Set<SlotId>,
}

impl Planner<'_> {
    /// Matches a pattern for each row. If it does not matter how often a match comes, only some slots of the matches are read.
    pub(super) fn graph(
        &mut self,
        stream: &mut Stream,
        mut graph: QueryGraph,
        read_once: Option<Set<SlotId>>,
    ) -> Result<()> {
        let read_once = read_once.map(|slots| with_paths(slots, &graph));
        if let Some(read) = read_once.as_ref().filter(|_| self.config.joined_paths) {
            joined_paths::join(&mut graph, read, &stream.bound);
        }
        self.hint_product(stream, &graph);
        self.horizon(stream);
        let mut problem = Problem::new(&graph, CostModel::new(self.context), &stream.labels, &stream.bound);
        if self.config.lookups {
            problem.find_unions();
        }
        problem.read_once = read_once;
        for &number in &problem.unmet {
            let hint = &graph.hints[number];
            let message = match &hint.keys {
                None => format!("no node of the pattern can be found by a scan of {}", hint.subject),
                Some(keys) => {
                    let keys = keys.join(", ");
                    format!("no index on {}({keys}) finds it; the hint is not followed", hint.subject)
                }
            };
            self.unmet.push(Hint { kind: HintKind::Unfollowed, message, span: hint.span });
        }
        let order = Order {
            problem: &problem,
            config: self.config,
            may_join: !stream.writes,
            is_repeated: matches!(stream.operator.first().kind, OperatorKind::Argument { .. }),
            interrupt: self.context.interrupt,
        };
        let steps = order.solve(&stream.bound, stream.rows())?.ok_or_else(|| {
            let span = graph.edges.first().map_or_else(Span::default, |edge| edge.span);
            error!(Unsupported, "relationships of a pattern whose properties depend on each other are not supported")
                .at(span)
        })?;
        self.require_bound_nodes(stream, &graph);
        let mut progress = Progress::default();
        self.steps(stream, &problem, &steps, &mut progress)?;
        let pending: Vec<(SlotId, Expression)> =
            graph.paths.iter().filter(|(slot, _)| !progress.paths.contains(slot)).cloned().collect();
        self.compute_paths(stream, pending, &mut progress);
        for node in &graph.nodes {
            if let Some(labels) = problem.labels.get(&node.slot) {
                stream.labels.insert(node.slot, labels.clone());
            }
        }
        Ok(())
    }

    /// Null is no node: a row drops out if a node that is known already, and that no edge or label tests, is null.
    /// What may be no node at all is asked for its labels, which is an error of anything else.
    fn require_bound_nodes(&mut self, stream: &mut Stream, graph: &QueryGraph) {
        let untested = |slot: SlotId| !graph.edges.iter().any(|edge| edge.left == slot || edge.right == slot);
        let nodes = graph.nodes.iter().filter(|node| stream.bound.contains(&node.slot) && node.labels.is_empty());
        let nodes: Vec<_> = nodes.filter(|node| untested(node.slot)).collect();
        if nodes.is_empty() {
            return;
        }
        let present = never_null(&stream.operator);
        let doubtful = nodes.into_iter().filter(|node| !present.contains(&node.slot));
        let is_there = |node: &GraphNode| {
            let value = at(node.span, ExpressionKind::Slot(node.slot));
            let tested = match self.slots.kind(node.slot) {
                SlotKind::Node => value,
                _ => {
                    let (name, arguments) = (Arc::from("labels"), vec![value]);
                    at(node.span, ExpressionKind::Function { name, arguments })
                }
            };
            at(node.span, ExpressionKind::IsNotNull(Box::new(tested)))
        };
        let predicates: Vec<Expression> = doubtful.map(is_there).collect();
        if !predicates.is_empty() {
            self.filter(stream, predicates);
        }
    }

    fn steps(
        &mut self,
        stream: &mut Stream,
        problem: &Problem<'_>,
        steps: &[Planned],
        progress: &mut Progress,
    ) -> Result<()> {
        for planned in steps {
            self.step(stream, problem, planned, progress)?;
            let mut predicates = Vec::new();
            let mut used = Set::default();
            for &condition in &planned.conditions {
                match &problem.conditions[condition].kind {
                    ConditionKind::Predicate(predicate) => {
                        predicate.free_slots(&mut used);
                        predicates.push(predicate.clone());
                    }
                    ConditionKind::Labels(node) => {
                        let node = &problem.graph.nodes[*node];
                        predicates.push(has_labels(node.slot, node.labels.clone(), node.span));
                    }
                }
            }
            let paths = problem.graph.paths.iter();
            let needed = paths.filter(|(slot, _)| used.contains(slot) && !progress.paths.contains(slot));
            let needed: Vec<(SlotId, Expression)> = needed.cloned().collect();
            self.compute_paths(stream, needed, progress);
            if !predicates.is_empty() {
                self.filter(stream, predicates);
                stream.operator.estimated_rows = planned.rows_left;
            }
        }
        Ok(())
    }

    fn compute_paths(&mut self, stream: &mut Stream, paths: Vec<(SlotId, Expression)>, progress: &mut Progress) {
        if paths.is_empty() {
            return;
        }
        let slots: Vec<SlotId> = paths.iter().map(|(slot, _)| *slot).collect();
        progress.paths.extend(slots.iter().copied());
        stream.bound.extend(slots);
        stream.push(stream.rows(), |input| OperatorKind::Extend { input, items: paths });
    }

    fn step(
        &mut self,
        stream: &mut Stream,
        problem: &Problem<'_>,
        planned: &Planned,
        progress: &mut Progress,
    ) -> Result<()> {
        let graph = problem.graph;
        match &planned.step {
            Step::Begin => {}
            Step::Scan { node } => {
                let union = problem.union_of(*node);
                let node = &graph.nodes[*node];
                let (slot, labels) = (node.slot, node.labels.clone());
                stream.bound.insert(slot);
                if let Some(ScanUnion { any, .. }) = union {
                    let any = any.clone();
                    stream.push(planned.rows, |input| OperatorKind::NodeUnionScan { input, slot, labels, any });
                    return Ok(());
                }
                let choice = None;
                stream.push(planned.rows, |input| OperatorKind::NodeScan { input, slot, labels, choice });
            }
            Step::Lookup { lookup } => {
                let lookup = &problem.lookups[*lookup];
                self.lookup(stream, problem, lookup, graph.nodes[lookup.node].slot, planned.rows);
            }
            Step::Seek { seek } => {
                let seek = &problem.seeks[*seek];
                self.seek(stream, problem, seek, problem.slot_of(seek.target), planned.rows);
            }
            Step::IndexUnion { union } => {
                self.index_union(stream, problem, &problem.index_unions[*union], planned.rows);
            }
            Step::Expand { edge, from_left, into } => {
                self.expand(stream, graph, *edge, *from_left, *into, planned.rows, &progress.edges);
                progress.edges.push(*edge);
            }
            Step::Intersect { node, edges } => {
                self.intersect(stream, graph, *node, edges, planned.rows, &progress.edges);
                progress.edges.extend(edges);
            }
            Step::ShortestPath { edge } => {
                self.shortest_path(stream, &graph.edges[*edge], planned.rows);
            }
            Step::BoundEdge { edge } => {
                self.bound_edge(stream, &graph.edges[*edge])?;
                self.filter_distinct(stream, graph, &[*edge], &progress.edges);
                progress.edges.push(*edge);
            }
            Step::Join { steps, on } => self.join(stream, problem, steps, on, planned.rows, progress)?,
        }
        Ok(())
    }

    /// Finds the node of a lookup, which takes that slot.
    pub(super) fn lookup(
        &mut self,
        stream: &mut Stream,
        problem: &Problem<'_>,
        lookup: &Lookup,
        slot: SlotId,
        rows: f64,
    ) {
        let node = &problem.graph.nodes[lookup.node];
        let value = lookup.value.clone();
        stream.bound.insert(slot);
        let Some((label, key)) = lookup.key.clone() else {
            stream.push(rows, |input| OperatorKind::NodeById { input, slot, value });
            return;
        };
        let others: Vec<Arc<str>> = node.labels.iter().filter(|other| **other != label).cloned().collect();
        stream.push(rows, |input| OperatorKind::NodeLookup { input, slot, label, key, value });
        if !others.is_empty() {
            self.filter(stream, vec![has_labels(slot, others, node.span)]);
        }
    }

    /// Finds the nodes or edges of a seek, which take that slot.
    pub(super) fn seek(&mut self, stream: &mut Stream, problem: &Problem<'_>, seek: &Seek, slot: SlotId, rows: f64) {
        let graph = problem.graph;
        let on_edges = matches!(seek.target, SeekTarget::Edge(_));
        stream.bound.insert(slot);
        if let ([], Some(value)) = (seek.keys.as_slice(), seek.equal.first()) {
            let one_or_any = if seek.is_list { LookupValue::Any } else { LookupValue::One };
            let value = one_or_any(value.clone());
            stream.push(rows, |input| OperatorKind::EdgeById { input, slot, value });
            return;
        }
        stream.push(rows, |input| OperatorKind::IndexSeek {
            input,
            slot,
            on_edges,
            subject: seek.subject.clone(),
            keys: seek.keys.clone(),
            equal: seek.equal.clone(),
            is_list: seek.is_list,
            range: seek.range.clone(),
        });
        if let SeekTarget::Node(node) = seek.target {
            let node = &graph.nodes[node];
            let others: Vec<Arc<str>> = node.labels.iter().filter(|other| **other != seek.subject).cloned().collect();
            if !others.is_empty() {
                self.filter(stream, vec![has_labels(slot, others, node.span)]);
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one step, given by its only caller")]
    fn expand(
        &mut self,
        stream: &mut Stream,
        graph: &QueryGraph,
        index: usize,
        from_left: bool,
        into: bool,
        rows: f64,
        before: &[usize],
    ) {
        let edge = &graph.edges[index];
        let distinct_from: Vec<SlotId> = before
            .iter()
            .map(|&other| &graph.edges[other])
            .filter(|other| other.may_equal(edge))
            .map(|other| other.slot)
            .collect();
        let (from, end) = if from_left { (edge.left, edge.right) } else { (edge.right, edge.left) };
        let direction = if from_left { edge.direction } else { edge.direction.reverse() };
        let types = edge.types.clone();
        // A pattern may end where it starts: then its end is bound, though no step has bound it before.
        let into = into || from == end;
        let to = end;
        stream.bound.extend([to, edge.slot]);
        let walk = Walk { edge, from_left, from, to, into, rows };
        if edge.search.is_some() {
            return self.path_search(stream, walk, distinct_from);
        }
        match edge.length {
            EdgeLength::Variable { .. } => self.variable_expand(stream, walk, distinct_from),
            EdgeLength::Shortest { .. } => self.shortest_from_one(stream, walk),
            EdgeLength::One => {
                let edge = Some(edge.slot);
                stream.push(rows, |input| OperatorKind::Expand {
                    input,
                    from,
                    direction,
                    types,
                    edge,
                    to,
                    into,
                    distinct_from,
                    choice: None,
                });
            }
        }
    }

    fn join(
        &mut self,
        stream: &mut Stream,
        problem: &Problem<'_>,
        steps: &[Planned],
        on: &[usize],
        rows: f64,
        progress: &mut Progress,
    ) -> Result<()> {
        let mut right = Stream::unit();
        right.labels = stream.labels.clone();
        let mut right_progress = Progress::default();
        self.steps(&mut right, problem, steps, &mut right_progress)?;
        let mut pairs = Vec::new();
        for &condition in on {
            let ConditionKind::Predicate(predicate) = &problem.conditions[condition].kind else { continue };
            let ExpressionKind::Binary { left: a, right: b, .. } = &predicate.kind else { continue };
            let a_is_left = problem.needs(a).is_subset(&stream.bound);
            pairs.push(if a_is_left { ((**a).clone(), (**b).clone()) } else { ((**b).clone(), (**a).clone()) });
        }
        // A key that is a path needs it computed on its side.
        for (side, is_left) in [(&mut *stream, true), (&mut right, false)] {
            let mut used = Set::default();
            for (left, right) in &pairs {
                if is_left { left } else { right }.free_slots(&mut used);
            }
            let done = if is_left { &mut *progress } else { &mut right_progress };
            let paths = problem.graph.paths.iter();
            let needed: Vec<(SlotId, Expression)> =
                paths.filter(|(slot, _)| used.contains(slot) && !done.paths.contains(slot)).cloned().collect();
            self.compute_paths(side, needed, done);
        }
        stream.bound.extend(right.bound.iter().copied());
        // The right side is kept in memory, so it should be the smaller one. A subplan must start on the left.
        let starts_alone = matches!(stream.operator.first().kind, OperatorKind::Unit);
        if starts_alone && right.rows() > stream.rows() {
            std::mem::swap(&mut stream.operator, &mut right.operator);
            pairs.iter_mut().for_each(|(left, right)| std::mem::swap(left, right));
        }
        let right_plan = Box::new(right.operator);
        if pairs.is_empty() {
            stream.push(rows, |left| OperatorKind::CrossProduct { left, right: right_plan });
        } else {
            stream.push(rows, |left| OperatorKind::HashJoin { left, right: right_plan, on: pairs });
        }
        self.filter_distinct(stream, problem.graph, &right_progress.edges, &progress.edges);
        progress.edges.append(&mut right_progress.edges);
        progress.paths.extend(right_progress.paths);
        Ok(())
    }

    /// Edges of one clause that were matched apart from each other must still differ.
    fn filter_distinct(&mut self, stream: &mut Stream, graph: &QueryGraph, new: &[usize], before: &[usize]) {
        let mut predicates = Vec::new();
        for &new in new {
            for &other in before {
                let (edge, other) = (&graph.edges[new], &graph.edges[other]);
                if edge.may_equal(other) {
                    predicates.push(self.differs(edge, other));
                }
            }
        }
        if !predicates.is_empty() {
            let rows = stream.rows();
            self.filter(stream, predicates);
            stream.operator.estimated_rows = rows;
        }
    }

    fn differs(&mut self, edge: &GraphEdge, other: &GraphEdge) -> Expression {
        let span = edge.span;
        let slot = |slot: SlotId| at(span, ExpressionKind::Slot(slot));
        let infix = |operator, left, right| {
            at(span, ExpressionKind::Binary { operator, left: Box::new(left), right: Box::new(right) })
        };
        match (edge.length == EdgeLength::One, other.length == EdgeLength::One) {
            (true, true) => infix(BinaryOperator::NotEqual, slot(edge.slot), slot(other.slot)),
            (true, false) => not(infix(BinaryOperator::In, slot(edge.slot), slot(other.slot))),
            (false, true) => not(infix(BinaryOperator::In, slot(other.slot), slot(edge.slot))),
            (false, false) => {
                let each = self.slots.unnamed(SlotKind::Edge);
                let predicate = Box::new(infix(BinaryOperator::In, slot(each), slot(other.slot)));
                let list = Box::new(slot(edge.slot));
                at(span, ExpressionKind::Quantifier { kind: QuantifierKind::None, slot: each, list, predicate })
            }
        }
    }
}

/// Slots, and those from which the paths among them are computed.
fn with_paths(mut slots: Set<SlotId>, graph: &QueryGraph) -> Set<SlotId> {
    for (slot, path) in &graph.paths {
        if slots.remove(slot) {
            path.free_slots(&mut slots);
        }
    }
    slots
}

fn not(expression: Expression) -> Expression {
    at(expression.span, ExpressionKind::Not(Box::new(expression)))
}
