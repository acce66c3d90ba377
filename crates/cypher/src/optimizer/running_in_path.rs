//! Gives paths up while they grow by what `allReduce` says of their beginnings.
//!
//! Before: a filter above a variable-length expansion, with `allReduce(x = …, r IN edges | …, condition)` over the edges
//! that the expansion binds. After: the expansion knows it too, and drops a path as soon as the condition is false: no
//! longer path makes it true again. The filter stays and decides, so that what cannot be worked out early does no harm.

use model::{Set, Value};

use crate::plan::conditions::add_conjuncts;
use crate::plan::{Expression, ExpressionKind, Operator, OperatorKind, SlotId};

/// Tells the expansion below one filter.
pub(super) fn push_down(operator: &mut Operator) {
    let OperatorKind::Filter { input, predicate } = &mut operator.kind else { return };
    let mut conjuncts = Vec::new();
    add_conjuncts(predicate.clone(), &mut conjuncts);
    let mut bound = Set::default();
    let Some(expand) = expansion_below(input, &mut bound) else { return };
    let OperatorKind::VariableExpand { edges: Some(edges), running, .. } = &mut expand.kind else { return };
    if running.is_none() {
        *running = conjuncts.iter().find_map(|conjunct| running_over(conjunct, *edges, &bound)).map(Box::new);
    }
}

/// The expansion below filters and computed columns, and the slots bound there and above.
fn expansion_below<'o>(operator: &'o mut Operator, bound: &mut Set<SlotId>) -> Option<&'o mut Operator> {
    bound.extend(operator.defined_slots());
    match &operator.kind {
        OperatorKind::VariableExpand { .. } => Some(operator),
        OperatorKind::Filter { .. } | OperatorKind::Extend { .. } => {
            expansion_below(operator.inputs_mut().swap_remove(0), bound)
        }
        _ => None,
    }
}

/// A condition as the expansion keeps it, its list left empty, if it is `allReduce` over these edges and reads nothing else
/// that was bound with them.
fn running_over(conjunct: &Expression, edges: SlotId, bound: &Set<SlotId>) -> Option<Expression> {
    let mut running = conjunct.clone();
    let ExpressionKind::Reduce { list, predicate: Some(_), .. } = &mut running.kind else { return None };
    if !matches!(list.kind, ExpressionKind::Slot(slot) if slot == edges) {
        return None;
    }
    list.kind = ExpressionKind::Literal(Value::list(Vec::new()));
    let mut read = Set::default();
    running.free_slots(&mut read);
    (read.is_disjoint(bound) && gives_the_same_again(&running)).then_some(running)
}

/// False if evaluating it twice could give different values, or is expensive.
fn gives_the_same_again(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Subquery { .. } => false,
        ExpressionKind::Function { name, .. } if name.to_ascii_lowercase().starts_with("rand") => false,
        _ => expression.operands().into_iter().all(gives_the_same_again),
    }
}
