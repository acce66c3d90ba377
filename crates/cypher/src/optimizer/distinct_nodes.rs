//! Tells nodes apart before their properties are read, where only distinct values of these are wanted.
//!
//! Before: `count(DISTINCT n.x)`, `min(n.x)`, a group by `n.x` of such, or `DISTINCT n.x`, over rows in which `n` comes again and again.
//! After: the same over distinct nodes, which are told apart by a bit each; and what is below need not give a node twice.
//! Needs: an input that walks relationships, of many rows, of which the expressions use one node and nothing else.

use model::Set;

use super::Use;
use crate::plan::{Aggregate, Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId, SlotKind};
use crate::slots::Slots;

/// Estimated rows from which on an operator more costs less than reading properties again.
const ROWS_MIN: f64 = 256.0;

/// Puts a `Distinct` below one operator.
pub(super) fn tell_apart(operator: &mut Operator, slots: &Slots, of_rule: Use) {
    let (input, node) = match &mut operator.kind {
        OperatorKind::Aggregate { input, keys, aggregates } => {
            let arguments = aggregates.iter().flat_map(|aggregate| &aggregate.arguments);
            let used: Vec<&Expression> = keys.iter().map(|(_, key)| key).chain(arguments).collect();
            if !aggregates.iter().all(Aggregate::ignores_repeats) {
                return;
            }
            let Some(node) = only_node(&used, slots) else { return };
            (input, node)
        }
        OperatorKind::Distinct { input, .. } => {
            let OperatorKind::Project { input, items, .. } = &mut input.kind else { return };
            let used: Vec<&Expression> = items.iter().map(|(_, value)| value).collect();
            let Some(node) = only_node(&used, slots) else { return };
            (input, node)
        }
        _ => return,
    };
    if of_rule == Use::Cheaper && (input.estimated_rows < ROWS_MIN || !may_repeat(input)) {
        return;
    }
    let below = super::take_input(input);
    let estimated_rows = below.estimated_rows;
    let kind = OperatorKind::Distinct { input: Box::new(below), slots: vec![node] };
    **input = Operator { id: OperatorId(0), estimated_rows, kind };
}

/// The one node that expressions use, if they use nothing else, and more of it than itself.
fn only_node(expressions: &[&Expression], slots: &Slots) -> Option<SlotId> {
    let mut used = Set::default();
    expressions.iter().for_each(|expression| expression.free_slots(&mut used));
    let node = used.iter().copied().next().filter(|&slot| used.len() == 1 && slots.kind(slot) == SlotKind::Node)?;
    let is_bare = |expression: &&Expression| matches!(expression.kind, ExpressionKind::Slot(_));
    let is_pure = |expression: &&Expression| !expression.has_subquery() && !expression.is_random();
    (expressions.iter().all(is_pure) && !expressions.iter().all(is_bare)).then_some(node)
}

/// True if the rows of an operator may have a node more than once, in a way that is told from its plan.
fn may_repeat(operator: &Operator) -> bool {
    match &operator.kind {
        OperatorKind::Expand { .. } | OperatorKind::VariableExpand { .. } | OperatorKind::Intersect { .. } => true,
        OperatorKind::Filter { input, .. }
        | OperatorKind::Project { input, .. }
        | OperatorKind::SemiApply { input, .. } => may_repeat(input),
        _ => false,
    }
}
