//! Reads properties after a limit rather than before it.
//!
//! Before: a `Top` above a projection. After: properties that the sort does not need are read above the `Top`.

use model::Set;

use crate::plan::{Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId};

/// Splits the projection below one `Top`.
pub(super) fn defer(operator: &mut Operator) {
    let rows = operator.estimated_rows;
    let OperatorKind::Top { input, keys, .. } = &mut operator.kind else { return };
    let mut needed = Set::default();
    keys.iter().for_each(|key| key.expression.free_slots(&mut needed));
    if let OperatorKind::Extend { items, .. } = &mut input.kind {
        let (late, early): (Vec<_>, Vec<_>) = items.drain(..).partition(|item| deferrable(item, &needed).is_some());
        *items = early;
        if !late.is_empty() {
            put_above(operator, rows, |input| OperatorKind::Extend { input, items: late });
        }
        return;
    }
    let OperatorKind::Project { items, .. } = &mut input.kind else { return };
    if !items.iter().any(|item| deferrable(item, &needed).is_some()) {
        return;
    }
    let mut below: Vec<(SlotId, Expression)> = Vec::new();
    let mut above = Vec::new();
    for item in items.drain(..) {
        let span = item.1.span;
        match deferrable(&item, &needed) {
            Some(object) => {
                if !below.iter().any(|(slot, _)| *slot == object) {
                    below.push((object, Expression { kind: ExpressionKind::Slot(object), span }));
                }
                above.push(item);
            }
            None => {
                above.push((item.0, Expression { kind: ExpressionKind::Slot(item.0), span }));
                below.retain(|(slot, _)| *slot != item.0);
                below.push(item);
            }
        }
    }
    *items = below;
    put_above(operator, rows, |input| OperatorKind::Project { input, items: above });
}

fn put_above(operator: &mut Operator, rows: f64, make: impl FnOnce(Box<Operator>) -> OperatorKind) {
    let unit = Operator { id: OperatorId(0), estimated_rows: rows, kind: OperatorKind::Unit };
    let top = std::mem::replace(operator, unit);
    operator.kind = make(Box::new(top));
}

/// The slot whose property the item is, if the sort does not need it.
fn deferrable(item: &(SlotId, Expression), needed: &Set<SlotId>) -> Option<SlotId> {
    let ExpressionKind::Property { object, .. } = &item.1.kind else { return None };
    match object.kind {
        ExpressionKind::Slot(slot) if !needed.contains(&item.0) => Some(slot),
        _ => None,
    }
}
