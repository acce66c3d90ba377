//! `EXISTS { … }` of a pattern that hangs on one node of the row.
//!
//! Before: a subplan that walks from the node of each row. After: the nodes for which the pattern holds, found once from wherever that
//! costs least, and joined with the rows by a hash table (a semi-join, or an anti-join for `NOT EXISTS`).
//! Needs: all rows are asked for, nothing is written, and no attached database tests conditions. The pattern consists of
//! relationships, paths of variable lengths, and conditions that use the node, and nothing else, of the row.
//! Leaves: `SemiApply` over a `HashJoin` of its argument with distinct nodes, which is kept for all rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Direction, Result, Set, Span};

use super::count_matches::{Read, for_each_reader};
use super::first_match::DOUBT;
use super::{OptimizerConfig, Use};
use crate::binder::tree::{EdgeLength, GraphEdge, GraphNode, QueryGraph};
use crate::plan::conditions::{add_conjuncts, at, has_labels, replace_slot};
use crate::plan::{EdgeFilter, Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId, SlotKind};
use crate::slots::Slots;

/// Plans patterns by themselves.
pub(crate) trait PatternPlanner {
    /// The plan of a pattern; if it does not matter how often a match comes, only one node of the matches is read.
    fn plan(&self, slots: &mut Slots, graph: QueryGraph, read_once: Option<SlotId>) -> Result<Operator>;

    /// Edges of any of the types; all if there are none.
    fn edges(&self, types: &[Arc<str>]) -> f64;
}

/// Work from which on another plan is looked for, in rows.
const WORK_MIN: f64 = 20_000.0;
/// Times by which the other plan must be cheaper: its nodes may be found several times before they are kept, and sizes are estimates.
const ADVANTAGE: f64 = 5.0;
/// Work of a node that a scan reads, in rows of other operators.
const SCANNED_ROW: f64 = 0.25;

/// Rewrites all subplans that the rule fits. True if there were some, and of none of them anything but labels was asked.
pub(super) fn rewrite_all(
    root: &mut Operator,
    slots: &mut Slots,
    planner: &dyn PatternPlanner,
    config: &OptimizerConfig,
) -> bool {
    let (mut rewritten, mut asks_more) = (false, false);
    for_each_reader(root, Read::Whole, &mut |operator, read| {
        if read == Read::Whole
            && let OperatorKind::SemiApply { input, subplan, .. } = &mut operator.kind
            && matches!(input.first().kind, OperatorKind::Unit)
            && let Some(joined) = joined(input.estimated_rows, subplan, slots, (planner, config))
        {
            rewritten = true;
            asks_more |= !asks_only_labels(subplan);
            **subplan = joined;
        }
    });
    rewritten && !asks_more
}

/// True of a pattern of the nodes of which nothing is asked but labels.
fn asks_only_labels(subplan: &Operator) -> bool {
    pattern_of(subplan).is_some_and(|(_, graph)| graph.predicates.is_empty())
}

/// The subplan that takes the place of another for that number of rows; `None` if it would not be cheaper.
fn joined(
    rows: f64,
    subplan: &Operator,
    slots: &mut Slots,
    (planner, config): (&dyn PatternPlanner, &OptimizerConfig),
) -> Option<Operator> {
    let work = |plan: &Operator| work(plan, planner);
    // A subplan stops at its first match, of which there may be none.
    let walked = rows * work(subplan) * (1.0 / subplan.estimated_rows.max(1.0) + 1.0 / DOUBT).min(1.0);
    let is_forced = config.exists_joins == Use::Always;
    if walked < WORK_MIN && !is_forced {
        return None;
    }
    let (outer, mut graph) = pattern_of(subplan)?;
    if slots.kind(outer) != SlotKind::Node {
        return None;
    }
    let found = slots.unnamed(SlotKind::Node);
    rename(&mut graph, outer, found);
    let has_paths = graph.edges.iter().any(|edge| edge.length != EdgeLength::One);
    let plan = planner
        .plan(slots, graph, has_paths.then_some(found))
        .ok()
        .filter(|plan| is_forced || work(plan) * ADVANTAGE <= walked)?;
    let operator = |kind, estimated_rows| Operator { id: OperatorId(0), estimated_rows, kind };
    let nodes = plan.estimated_rows.min(rows);
    let right = Box::new(operator(OperatorKind::Distinct { input: Box::new(plan), slots: vec![found] }, nodes));
    let left = Box::new(operator(OperatorKind::Argument { slots: vec![outer] }, 1.0));
    let slot = |slot| at(Span::default(), ExpressionKind::Slot(slot));
    let on = vec![(slot(outer), slot(found))];
    Some(operator(OperatorKind::HashJoin { left, right, on }, subplan.estimated_rows.min(1.0)))
}

/// Work of a plan of which only distinct rows are wanted, in rows that its operators give.
fn work(plan: &Operator, planner: &dyn PatternPlanner) -> f64 {
    work_and_share(plan, planner).0
}

/// The work of a plan, and the share of the rows it is expected to give that are left if its paths are searched for their ends.
fn work_and_share(plan: &Operator, planner: &dyn PatternPlanner) -> (f64, f64) {
    let inputs = plan.inputs().into_iter().map(|input| work_and_share(input, planner));
    let (below, share) = inputs.fold((0.0, 1.0), |(all, share), (work, its)| (all + work, f64::min(share, its)));
    let rows = plan.estimated_rows * share;
    match &plan.kind {
        OperatorKind::NodeScan { .. } => (below + rows * SCANNED_ROW, share),
        OperatorKind::VariableExpand { direction, types, min, .. } => {
            // One search for the ends of all rows looks at each edge once, and up to the least length once for each number of edges.
            let ways = if *direction == Direction::Both { 2.0 } else { 1.0 };
            let found = rows.min(f64::from((*min).max(1)) * ways * planner.edges(types));
            (below + found, if rows > 0.0 { share * found / rows } else { share })
        }
        _ => (below + rows, share),
    }
}

/// The pattern that a subplan matches, and the node of the row that it starts from; `None` if it does more, or starts from more.
fn pattern_of(subplan: &Operator) -> Option<(SlotId, QueryGraph)> {
    let mut graph = QueryGraph::default();
    let (mut distinct, mut plan) = (Vec::new(), subplan);
    let outer = loop {
        match &plan.kind {
            OperatorKind::Filter { input, predicate } => {
                add_conjuncts(predicate.clone(), &mut graph.predicates);
                plan = input;
            }
            OperatorKind::Expand { input, from, direction, types, edge, to, distinct_from, choice: None, .. } => {
                distinct.push(distinct_from.clone());
                graph.edges.push(edge_of((*edge)?, (*from, *to), *direction, types));
                plan = input;
            }
            OperatorKind::VariableExpand { input, from, direction, types, edges, to, distinct_from, .. } => {
                distinct.push(distinct_from.clone());
                let edge = edge_of((*edges)?, (*from, *to), *direction, types);
                graph.edges.push(path_of(edge, &plan.kind)?);
                plan = input;
            }
            OperatorKind::Intersect { input, to, labels, legs } => {
                for leg in legs.iter().rev() {
                    let other_legs = leg.distinct_legs.iter().map(|&other| legs[other].edge);
                    let told = leg.distinct_from.iter().map(|bound| Some(bound.edge)).chain(other_legs);
                    distinct.push(told.collect::<Option<Vec<SlotId>>>()?);
                    graph.edges.push(edge_of(leg.edge?, (leg.from, *to), leg.direction, &leg.types));
                }
                graph.predicates.extend((!labels.is_empty()).then(|| has_labels(*to, labels.clone(), Span::default())));
                plan = input;
            }
            OperatorKind::NodeLookup { input, slot, label, key, value } => {
                graph.predicates.push(has_labels(*slot, vec![label.clone()], Span::default()));
                graph.predicates.push(value.condition(*slot, key));
                plan = input;
            }
            OperatorKind::Argument { slots } => match slots.as_slice() {
                [outer] => break *outer,
                _ => return None,
            },
            _ => return None,
        }
    };
    // From the first to the last, as they are walked.
    graph.edges.reverse();
    distinct.reverse();
    if !are_of_one_clause(&graph.edges, &distinct) {
        return None;
    }
    let ends: BTreeSet<SlotId> = graph.edges.iter().flat_map(|edge| [edge.left, edge.right]).collect();
    graph.nodes = ends.into_iter().map(|slot| GraphNode { slot, labels: Vec::new(), span: Span::default() }).collect();
    take_labels(&mut graph);
    let known = |slot: &SlotId| {
        graph.nodes.iter().any(|node| node.slot == *slot) || graph.edges.iter().any(|edge| edge.slot == *slot)
    };
    let is_of_pattern = |predicate: &Expression| {
        let mut used = Set::default();
        predicate.free_slots(&mut used);
        used.iter().all(known) && !predicate.has_subquery() && !predicate.is_random()
    };
    let fits = graph.nodes.iter().any(|node| node.slot == outer) && graph.predicates.iter().all(is_of_pattern);
    fits.then_some((outer, graph))
}

fn edge_of(slot: SlotId, (left, right): (SlotId, SlotId), direction: Direction, types: &[Arc<str>]) -> GraphEdge {
    GraphEdge {
        slot,
        left,
        right,
        direction,
        types: types.to_vec(),
        length: EdgeLength::One,
        filter: None,
        clause: 0,
        repeats: false,
        search: None,
        is_selected: false,
        span: Span::default(),
    }
}

/// The path that an operator follows along such edges; `None` if it does more.
fn path_of(edge: GraphEdge, kind: &OperatorKind) -> Option<GraphEdge> {
    let OperatorKind::VariableExpand { min, max, filter, repeats, running: None, .. } = kind else { return None };
    let mut used = Set::default();
    filter.iter().for_each(|filter| filter.predicate.free_slots(&mut used));
    for own in filter.iter().flat_map(EdgeFilter::own_slots) {
        used.remove(&own);
    }
    let length = EdgeLength::Variable { min: *min, max: *max };
    used.is_empty().then(|| GraphEdge { length, filter: filter.clone(), repeats: *repeats, ..edge })
}

/// True if each edge is told apart from just those before it that edges of one clause are told apart from.
fn are_of_one_clause(edges: &[GraphEdge], distinct: &[Vec<SlotId>]) -> bool {
    edges.iter().zip(distinct).enumerate().all(|(number, (edge, told))| {
        let expected: Set<SlotId> =
            edges[..number].iter().filter(|other| other.may_equal(edge)).map(|other| other.slot).collect();
        expected == told.iter().copied().collect()
    })
}

/// Turns tests of labels into labels of nodes, by which these can be found.
fn take_labels(graph: &mut QueryGraph) {
    let nodes = &mut graph.nodes;
    graph.predicates.retain(|predicate| {
        let ExpressionKind::HasLabels { object, labels } = &predicate.kind else { return true };
        let ExpressionKind::Slot(slot) = object.kind else { return true };
        let Some(node) = nodes.iter_mut().find(|node| node.slot == slot) else { return true };
        node.labels.extend(labels.iter().cloned());
        false
    });
}

/// Puts another node in the place of one.
fn rename(graph: &mut QueryGraph, from: SlotId, to: SlotId) {
    let change = |slot: &mut SlotId| {
        if *slot == from {
            *slot = to;
        }
    };
    graph.nodes.iter_mut().for_each(|node| change(&mut node.slot));
    for edge in &mut graph.edges {
        change(&mut edge.left);
        change(&mut edge.right);
    }
    graph.predicates.iter_mut().for_each(|predicate| replace_slot(predicate, from, to));
}
