//! A pattern followed from its other end.
//!
//! Before: steps from all nodes, of which little more than the start is read above, so that each row before a later step is another
//! one. After: the same pattern from the node that is farthest from what is read, which is reached last; rows that have the same
//! node are merged on the way.

use std::sync::Arc;

use model::{Direction, Set, Span};

use super::super::count_matches::{cannot_fail, labelled};
use super::operator;
use super::steps::steps_of;
use crate::catalog::CompileContext;
use crate::plan::conditions::{add_conjuncts, has_labels};
use crate::plan::{Expression, ExpressionKind, Operator, OperatorKind, SlotId, SlotKind};
use crate::slots::Slots;

/// The same rows from the other end; `None` if the steps are no such pattern.
pub(super) fn turned(
    plan: &Operator,
    needed: &Set<SlotId>,
    slots: &mut Slots,
    context: &CompileContext<'_>,
) -> Option<Operator> {
    let mut tree = Tree::of(plan, slots)?;
    let from = tree.farthest(needed)?;
    let rows = |labels: &[Arc<str>]| labelled(labels, context).max(1.0);
    let labels = tree.take_labels(from);
    let rows_of_scan = rows(&labels);
    let input = Box::new(operator(1.0, OperatorKind::Unit));
    let kind = OperatorKind::NodeScan { input, slot: from, labels, choice: None };
    let mut reached: Set<SlotId> = [from].into_iter().collect();
    let mut turned = tree.with_conditions(operator(rows_of_scan, kind), &reached);
    let mut order = Vec::new();
    tree.order(from, None, needed, &mut order);
    for (at, leaves) in order {
        let edge = &tree.edges[at];
        let (to, is_back) = if edge.from == leaves { (edge.to, false) } else { (edge.from, true) };
        let fan_out = match is_back {
            true => edge.fan_out * rows(&tree.labels_of(edge.from)) / rows(&tree.labels_of(edge.to)),
            false => edge.fan_out,
        };
        let estimated_rows = turned.estimated_rows * fan_out;
        let kind = OperatorKind::Expand {
            input: Box::new(turned),
            from: leaves,
            direction: if is_back { edge.direction.reverse() } else { edge.direction },
            types: edge.types.clone(),
            edge: Some(edge.slot),
            to,
            into: false,
            distinct_from: edge.differs.iter().copied().filter(|other| reached.contains(other)).collect(),
            choice: None,
        };
        reached.extend([edge.slot, to]);
        turned = tree.with_conditions(operator(estimated_rows, kind), &reached);
    }
    tree.conditions.is_empty().then_some(turned)
}

/// Rows that operators of a plan are expected to make in all.
pub(super) fn work(plan: &Operator) -> f64 {
    plan.estimated_rows + plan.inputs().into_iter().map(work).sum::<f64>()
}

struct Edge {
    from: SlotId,
    to: SlotId,
    direction: Direction,
    types: Vec<Arc<str>>,
    slot: SlotId,
    /// Edges of the pattern that it differs from.
    differs: Vec<SlotId>,
    /// Rows that are expected of one.
    fan_out: f64,
}

/// A pattern that hangs from a scan of nodes.
struct Tree {
    edges: Vec<Edge>,
    /// Conditions, the slots that each reads, and the share of rows that is expected to be left.
    conditions: Vec<(Expression, Set<SlotId>, f64)>,
}

impl Tree {
    fn of(plan: &Operator, slots: &mut Slots) -> Option<Tree> {
        let (steps, bottom) = steps_of(plan.clone());
        let OperatorKind::NodeScan { input, slot: start, labels, choice: None } = &bottom.kind else { return None };
        if !matches!(input.kind, OperatorKind::Unit) {
            return None;
        }
        let mut tree = Tree { edges: Vec::new(), conditions: Vec::new() };
        if !labels.is_empty() {
            tree.add_condition(has_labels(*start, labels.clone(), Span::default()), 1.0);
        }
        let mut below = bottom.estimated_rows;
        for step in steps.into_iter().rev() {
            let share = step.estimated_rows / below.max(f64::MIN_POSITIVE);
            below = step.estimated_rows;
            match step.kind {
                OperatorKind::Expand {
                    from,
                    direction,
                    types,
                    edge,
                    to,
                    into: false,
                    distinct_from,
                    choice: None,
                    ..
                } => {
                    let slot = edge.unwrap_or_else(|| slots.unnamed(SlotKind::Edge));
                    for other in tree.edges.iter_mut().filter(|other| distinct_from.contains(&other.slot)) {
                        other.differs.push(slot);
                    }
                    let differs = distinct_from;
                    tree.edges.push(Edge { from, to, direction, types, slot, differs, fan_out: share });
                }
                OperatorKind::Filter { predicate, .. } => {
                    let mut all = Vec::new();
                    add_conjuncts(predicate, &mut all);
                    let share = share.max(f64::MIN_POSITIVE).powf(1.0 / all.len().max(1) as f64);
                    for condition in all {
                        // It is asked of nodes that no match may have.
                        if !tree.add_condition(condition, share) {
                            return None;
                        }
                    }
                }
                _ => return None,
            }
        }
        // Edges from which one differs must be of the pattern.
        let is_whole = |edge: &Edge| edge.differs.iter().all(|slot| tree.edges.iter().any(|other| other.slot == *slot));
        (tree.edges.len() > 1 && tree.edges.iter().all(is_whole)).then_some(tree)
    }

    /// Adds a condition that can fail for no node; false if it may.
    fn add_condition(&mut self, condition: Expression, share: f64) -> bool {
        let mut read = Set::default();
        condition.free_slots(&mut read);
        let cannot_fail = read.iter().any(|slot| cannot_fail(&condition, *slot));
        self.conditions.push((condition, read, share));
        cannot_fail
    }

    /// Edges of a node, by their places, and the nodes they lead to.
    fn edges_of(&self, node: SlotId) -> impl Iterator<Item = (usize, SlotId)> {
        self.edges.iter().enumerate().filter_map(move |(at, edge)| match (edge.from == node, edge.to == node) {
            (true, _) => Some((at, edge.to)),
            (_, true) => Some((at, edge.from)),
            _ => None,
        })
    }

    /// The node that is farthest from all that are read; `None` if these are not all nodes of the pattern.
    fn farthest(&self, needed: &Set<SlotId>) -> Option<SlotId> {
        let mut far: Vec<SlotId> = needed.iter().copied().collect();
        far.sort_unstable();
        if far.is_empty() || !far.iter().all(|&slot| self.edges_of(slot).next().is_some()) {
            return None;
        }
        let mut next = 0;
        while next < far.len() {
            for (_, node) in self.edges_of(far[next]) {
                if !far.contains(&node) {
                    far.push(node);
                }
            }
            next += 1;
        }
        far.last().copied()
    }

    /// The edges in an order in which each leaves a node that is reached, with that node; those that lead to what is read come last.
    fn order(&self, node: SlotId, by: Option<usize>, needed: &Set<SlotId>, order: &mut Vec<(usize, SlotId)>) {
        let mut next: Vec<(usize, SlotId)> = self.edges_of(node).filter(|(at, _)| Some(*at) != by).collect();
        next.sort_by_key(|&(at, to)| (self.leads_to(to, at, needed), at));
        for (at, to) in next {
            order.push((at, node));
            self.order(to, Some(at), needed, order);
        }
    }

    /// True if an edge leads to a node that is read, directly or by others.
    fn leads_to(&self, node: SlotId, by: usize, needed: &Set<SlotId>) -> bool {
        let further = || self.edges_of(node).any(|(at, to)| at != by && self.leads_to(to, at, needed));
        needed.contains(&node) || further()
    }

    /// The labels that conditions ask of a node.
    fn labels_of(&self, node: SlotId) -> Vec<Arc<str>> {
        let labels = self.conditions.iter().filter_map(|(condition, ..)| labels_asked(condition, node));
        labels.flatten().cloned().collect()
    }

    fn take_labels(&mut self, node: SlotId) -> Vec<Arc<str>> {
        let labels = self.labels_of(node);
        self.conditions.retain(|(condition, ..)| labels_asked(condition, node).is_none());
        labels
    }

    /// Rows for which all conditions hold that can be asked of them.
    fn with_conditions(&mut self, rows: Operator, reached: &Set<SlotId>) -> Operator {
        let is_known = |(_, read, _): &(Expression, Set<SlotId>, f64)| read.iter().all(|slot| reached.contains(slot));
        let (now, later) = std::mem::take(&mut self.conditions).into_iter().partition(is_known);
        self.conditions = later;
        now.into_iter().fold(rows, |rows, (predicate, _, share)| {
            let estimated_rows = rows.estimated_rows * share;
            operator(estimated_rows, OperatorKind::Filter { input: Box::new(rows), predicate })
        })
    }
}

fn labels_asked(condition: &Expression, node: SlotId) -> Option<&Vec<Arc<str>>> {
    match &condition.kind {
        ExpressionKind::HasLabels { object, labels } => {
            matches!(object.kind, ExpressionKind::Slot(slot) if slot == node).then_some(labels)
        }
        _ => None,
    }
}
