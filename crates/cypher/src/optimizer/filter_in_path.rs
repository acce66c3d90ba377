//! Tests `all(r IN edges WHERE …)` and `none(…)` on each edge while a path is walked, so that paths that would fail are
//! never finished.
//!
//! Before: a filter right above the variable-length expansion that binds the edges; the condition needs nothing that
//! the expansion binds itself. After: that condition is part of the expansion.

use model::Set;

use super::take_input;
use crate::plan::conditions::{add_conjuncts, add_filter, conjunction, edge_filter};
use crate::plan::{Operator, OperatorKind, SlotId};

/// Moves conditions of one filter into the expansion below it.
pub(super) fn push_down(operator: &mut Operator) {
    let OperatorKind::Filter { input, predicate } = &mut operator.kind else { return };
    let OperatorKind::VariableExpand { edges: Some(edges), to, into, filter, .. } = &mut input.kind else { return };
    let bound_here: Set<SlotId> =
        if *into { [*edges].into_iter().collect() } else { [*edges, *to].into_iter().collect() };
    let mut conjuncts = Vec::new();
    add_conjuncts(predicate.clone(), &mut conjuncts);
    let mut kept = Vec::new();
    let mut moved = false;
    for conjunct in conjuncts {
        let pushed = edge_filter(&conjunct, *edges, None).filter(|pushed| {
            let mut slots = Set::default();
            pushed.predicate.free_slots(&mut slots);
            slots.is_disjoint(&bound_here)
        });
        match pushed {
            Some(pushed) => {
                add_filter(filter, pushed);
                moved = true;
            }
            None => kept.push(conjunct),
        }
    }
    if !moved {
        return;
    }
    match conjunction(kept) {
        Some(rest) => *predicate = rest,
        None => *operator = take_input(input),
    }
}
