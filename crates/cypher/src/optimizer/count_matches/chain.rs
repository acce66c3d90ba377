//! The input of an aggregation taken apart into links, each of which works on one row at a time.

use std::sync::Arc;

use model::{Direction, Set};

use super::pattern::Pattern;
use crate::plan::{Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId};

/// Links from the aggregation down, and the rows they start from.
pub(super) struct Chain {
    pub(super) links: Vec<Link>,
    bottom: Operator,
}

/// One link, and how many rows the planner expects above it.
pub(super) struct Link {
    pub(super) kind: LinkKind,
    rows: f64,
}

pub(super) enum LinkKind {
    /// An edge to a new node.
    Expand {
        from: SlotId,
        direction: Direction,
        types: Vec<Arc<str>>,
        edge: Option<SlotId>,
        to: SlotId,
        distinct_from: Vec<SlotId>,
    },
    /// One of the conditions of a filter.
    Condition(Expression),
    /// A pattern that may be missing.
    Optional { subplan: Operator, slots: Vec<SlotId> },
    /// A pattern that must be there, or must not.
    Test { subplan: Operator, anti: bool },
    /// Anything else, its input cut off.
    Other(Operator),
}

impl Chain {
    /// Takes a plan apart; `None` if it walks no edge.
    pub(super) fn of(plan: &Operator) -> Option<Chain> {
        let mut links = Vec::new();
        let mut plan = plan;
        while let Some(input) = take_link(plan, &mut links) {
            plan = input;
        }
        let walks = |link: &Link| !matches!(link.kind, LinkKind::Condition(_) | LinkKind::Other(_));
        links.iter().any(walks).then(|| Chain { links, bottom: plan.clone() })
    }

    /// The slot and labels of the scan that all starts from, if it is one.
    pub(super) fn scanned(&self) -> Option<(SlotId, &[Arc<str>])> {
        match &self.bottom.kind {
            OperatorKind::NodeScan { input, slot, labels, .. } if matches!(input.kind, OperatorKind::Unit) => {
                Some((*slot, labels))
            }
            _ => None,
        }
    }

    /// The same with a scan and a condition in place of the lookup of a node by a value that is the same throughout, and
    /// the slot of the node.
    pub(super) fn with_scan(mut self) -> Option<(Chain, SlotId)> {
        let OperatorKind::NodeLookup { input, slot, label, key, value } = &self.bottom.kind else { return None };
        if !matches!(input.kind, OperatorKind::Unit) {
            return None;
        }
        let (slot, test) = (*slot, value.condition(*slot, key));
        let rows = self.bottom.estimated_rows;
        self.links.push(Link { kind: LinkKind::Condition(test), rows });
        let kind = OperatorKind::NodeScan { input: input.clone(), slot, labels: vec![label.clone()], choice: None };
        self.bottom = Operator { id: OperatorId(0), estimated_rows: rows, kind };
        Some((self, slot))
    }

    /// Number of rows that the planner expects to be made, those between the links among them.
    pub(super) fn rows_walked(&self) -> f64 {
        let made = self.links.iter().filter(|link| !matches!(link.kind, LinkKind::Condition(_)));
        self.bottom.estimated_rows + made.map(|link| link.rows).sum::<f64>()
    }

    /// Share of rows that the planner expects the conditions on a slot to leave.
    pub(super) fn share_left(&self, slot: SlotId) -> f64 {
        let below = self.links.iter().skip(1).map(|link| link.rows).chain([self.bottom.estimated_rows]);
        let share = |(link, below): (&Link, f64)| match &link.kind {
            LinkKind::Condition(predicate) => {
                let mut used = Set::default();
                predicate.free_slots(&mut used);
                let is_of_slot = used.len() == 1 && used.contains(&slot) && below > 0.0;
                if is_of_slot { (link.rows / below).min(1.0) } else { 1.0 }
            }
            _ => 1.0,
        };
        self.links.iter().zip(below).map(share).product()
    }

    /// The one slot of the row around it that a subplan starts from.
    pub(super) fn argument(&self) -> Option<SlotId> {
        match &self.bottom.kind {
            OperatorKind::Argument { slots } if slots.len() == 1 => slots.first().copied(),
            _ => None,
        }
    }

    /// The same rows without what a pattern counts.
    pub(super) fn without(&self, pattern: &Pattern) -> Operator {
        let mut plan = self.bottom.clone();
        for (at, link) in self.links.iter().enumerate().rev() {
            if pattern.taken.contains(&at) {
                continue;
            }
            let kind = link.kind.on(Box::new(plan));
            plan = Operator { id: OperatorId(0), estimated_rows: link.rows, kind };
        }
        plan
    }

    /// Returns the operator that scans another slot in place of the chain's scan.
    pub(super) fn scan_of(&self, slot: SlotId, labels: Vec<Arc<str>>, rows: f64) -> Operator {
        let input = match &self.bottom.kind {
            OperatorKind::NodeScan { input, .. } => input.clone(),
            _ => Box::new(self.bottom.clone()),
        };
        let kind = OperatorKind::NodeScan { input, slot, labels, choice: None };
        Operator { id: OperatorId(0), estimated_rows: rows, kind }
    }
}

impl LinkKind {
    /// The link as an operator.
    fn on(&self, input: Box<Operator>) -> OperatorKind {
        match self {
            LinkKind::Expand { from, direction, types, edge, to, distinct_from } => OperatorKind::Expand {
                input,
                from: *from,
                direction: *direction,
                types: types.clone(),
                edge: *edge,
                to: *to,
                into: false,
                distinct_from: distinct_from.clone(),
                choice: None,
            },
            LinkKind::Condition(predicate) => OperatorKind::Filter { input, predicate: predicate.clone() },
            LinkKind::Optional { subplan, slots } => {
                OperatorKind::Optional { input, subplan: Box::new(subplan.clone()), slots: slots.clone() }
            }
            LinkKind::Test { subplan, anti } => {
                OperatorKind::SemiApply { input, subplan: Box::new(subplan.clone()), anti: *anti }
            }
            LinkKind::Other(operator) => {
                let mut kind = operator.kind.clone();
                if let Some(place) = main_input(&mut kind) {
                    *place = input;
                }
                kind
            }
        }
    }

    /// The slots that it reads.
    pub(super) fn uses(&self) -> Set<SlotId> {
        let mut slots = Set::default();
        match self {
            LinkKind::Expand { from, distinct_from, .. } => {
                slots.insert(*from);
                slots.extend(distinct_from);
            }
            LinkKind::Condition(predicate) => predicate.free_slots(&mut slots),
            LinkKind::Optional { subplan, .. } | LinkKind::Test { subplan, .. } => {
                subplan.arguments(&mut |taken| slots.extend(taken.iter().copied()));
            }
            LinkKind::Other(operator) => {
                slots.extend(operator.plain_uses());
                operator.expressions().into_iter().for_each(|expression| expression.free_slots(&mut slots));
                let filter = match &operator.kind {
                    OperatorKind::VariableExpand { filter, .. } | OperatorKind::ShortestPath { filter, .. } => filter,
                    _ => &None,
                };
                if let Some(filter) = filter {
                    slots.remove(&filter.slot);
                }
            }
        }
        slots
    }
}

/// Adds the link or links that an operator is, and gives what is below; `None` if it is none.
fn take_link<'p>(plan: &'p Operator, links: &mut Vec<Link>) -> Option<&'p Operator> {
    // It is computed for each row that comes to it, so that those must be made.
    if plan.is_random_step() {
        return None;
    }
    let rows = plan.estimated_rows;
    let mut push = |kind: LinkKind| links.push(Link { kind, rows });
    match &plan.kind {
        OperatorKind::Expand { input, from, direction, types, edge, to, into: false, distinct_from, choice: None } => {
            let (types, distinct_from) = (types.clone(), distinct_from.clone());
            push(LinkKind::Expand { from: *from, direction: *direction, types, edge: *edge, to: *to, distinct_from });
            Some(input)
        }
        OperatorKind::Filter { input, predicate } => {
            match &predicate.kind {
                ExpressionKind::And(items) => items.iter().for_each(|item| push(LinkKind::Condition(item.clone()))),
                _ => push(LinkKind::Condition(predicate.clone())),
            }
            Some(input)
        }
        OperatorKind::Optional { input, subplan, slots } => {
            push(LinkKind::Optional { subplan: (**subplan).clone(), slots: slots.clone() });
            Some(input)
        }
        OperatorKind::SemiApply { input, subplan, anti } => {
            push(LinkKind::Test { subplan: (**subplan).clone(), anti: *anti });
            Some(input)
        }
        // Slots that are only passed on stay where they are; that others end here matters to nobody.
        OperatorKind::Project { input, items } if items.iter().all(is_passed_on) => Some(input),
        OperatorKind::Expand { input, .. }
        | OperatorKind::Intersect { input, .. }
        | OperatorKind::VariableExpand { input, .. }
        | OperatorKind::Extend { input, .. }
        | OperatorKind::Unwind { input, .. } => {
            let mut operator = Operator { id: OperatorId(0), estimated_rows: rows, kind: plan.kind.clone() };
            if let Some(place) = main_input(&mut operator.kind) {
                **place = Operator { id: OperatorId(0), estimated_rows: 1.0, kind: OperatorKind::Unit };
            }
            push(LinkKind::Other(operator));
            Some(input)
        }
        _ => None,
    }
}

fn is_passed_on(item: &(SlotId, Expression)) -> bool {
    matches!(item.1.kind, ExpressionKind::Slot(slot) if slot == item.0)
}

fn main_input(kind: &mut OperatorKind) -> Option<&mut Box<Operator>> {
    match kind {
        OperatorKind::Expand { input, .. }
        | OperatorKind::Intersect { input, .. }
        | OperatorKind::VariableExpand { input, .. }
        | OperatorKind::Extend { input, .. }
        | OperatorKind::Unwind { input, .. } => Some(input),
        _ => None,
    }
}
