//! References that an expression may make after a projection: groups know their keys and aggregates, nothing else.

use model::{Error, ErrorDetail, Result, Set, error};

use crate::plan::conditions::at;
use crate::plan::explain::expression::fingerprint;
use crate::plan::{Expression, ExpressionKind, PathStep, SlotId};
use crate::slots::Slots;

/// Names that can be seen after the columns of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visible {
    /// The columns and the variables before them.
    All,
    /// The columns alone, after `DISTINCT`.
    Outputs,
    /// The columns and aggregates of the groups.
    Groups,
}

/// Replaces variables and their properties by the keys that hold them, in an expression with aggregates.
/// Fails where anything else of the rows is used: of a group of rows there is no single value of it.
pub(super) fn use_keys(
    value: &mut Expression,
    keys: &[(SlotId, Expression)],
    aggregates: &Set<SlotId>,
    slots: &Slots,
) -> Result<()> {
    let keys: Vec<(SlotId, &Expression)> = keys.iter().map(|(slot, key)| (*slot, key)).collect();
    let mut locals = Vec::new();
    replace_by_keys(value, &keys, aggregates, &mut locals, slots)
}

/// As `use_keys`, where the columns can be used by their names too.
pub(super) fn use_outputs_or_keys(
    value: &mut Expression,
    outputs: &[(SlotId, &Expression)],
    keys: &[(SlotId, Expression)],
    aggregates: &Set<SlotId>,
    slots: &Slots,
) -> Result<()> {
    let keys: Vec<(SlotId, &Expression)> = keys.iter().map(|(slot, key)| (*slot, key)).collect();
    let mut locals: Vec<SlotId> = outputs.iter().map(|(slot, _)| *slot).collect();
    let before = value.clone();
    replace_by_keys(value, &keys, aggregates, &mut locals, slots).map_err(|error| {
        // A slot that no column is made of is not visible; a visible one that is not a group key has no single value.
        let mut made_of: Set<SlotId> = locals.iter().copied().chain(aggregates.iter().copied()).collect();
        keys.iter().for_each(|(_, key)| key.free_slots(&mut made_of));
        let mut used = Set::default();
        before.free_slots(&mut used);
        if used.is_subset(&made_of) { error } else { error.with_detail(ErrorDetail::UndefinedVariable) }
    })
}

fn replace_by_keys(
    value: &mut Expression,
    keys: &[(SlotId, &Expression)],
    aggregates: &Set<SlotId>,
    locals: &mut Vec<SlotId>,
    slots: &Slots,
) -> Result<()> {
    let is_leaf = is_variable_or_property(value);
    if is_leaf {
        let text = fingerprint(value);
        if let Some((slot, _)) = keys.iter().find(|(_, key)| is_variable_or_property(key) && fingerprint(key) == text) {
            *value = at(value.span, ExpressionKind::Slot(*slot));
            return Ok(());
        }
    }
    match &value.kind {
        ExpressionKind::Slot(slot) if aggregates.contains(slot) || locals.contains(slot) => return Ok(()),
        ExpressionKind::Slot(slot) => return Err(not_grouped(value, *slot, slots)),
        ExpressionKind::Path { .. } | ExpressionKind::Subquery { .. } => {
            let mut used = Set::default();
            value.free_slots(&mut used);
            let is_kept = |slot: &SlotId| {
                let is_key = keys.iter().any(|(key, value)| key == slot && is_slot(value, *slot));
                is_key || locals.contains(slot) || aggregates.contains(slot)
            };
            return match used.iter().find(|slot| !is_kept(slot)) {
                Some(slot) => Err(not_grouped(value, *slot, slots)),
                None => Ok(()),
            };
        }
        _ => {}
    }
    let mark = locals.len();
    match &value.kind {
        ExpressionKind::ListComprehension { slot, .. } | ExpressionKind::Quantifier { slot, .. } => locals.push(*slot),
        ExpressionKind::Reduce { accumulator, slot, .. } => locals.extend([*accumulator, *slot]),
        _ => {}
    }
    for operand in value.operands_mut() {
        replace_by_keys(operand, keys, aggregates, locals, slots)?;
    }
    locals.truncate(mark);
    Ok(())
}

fn is_slot(value: &Expression, slot: SlotId) -> bool {
    matches!(value.kind, ExpressionKind::Slot(found) if found == slot)
}

fn is_variable_or_property(value: &Expression) -> bool {
    match &value.kind {
        ExpressionKind::Slot(_) => true,
        ExpressionKind::Property { object, .. } => is_variable_or_property(object),
        _ => false,
    }
}

fn not_grouped(value: &Expression, slot: SlotId, slots: &Slots) -> Error {
    let name = slots.name(slot);
    let message = format!("`{name}` stands beside an aggregate function, but rows are not grouped by it");
    let remedy = format!("return {name}, or the property used, as a column of its own, or pass it on by a WITH before");
    error!(Semantic::AmbiguousAggregationExpression, "{message}").at(value.span).with_remedy(remedy)
}

/// Replaces every part that computes the same as a column by that column.
pub(super) fn use_outputs(value: &mut Expression, outputs: &[(SlotId, &Expression)]) {
    if !matches!(value.kind, ExpressionKind::Literal(_) | ExpressionKind::Parameter(_)) {
        let text = fingerprint(value);
        if let Some((slot, _)) = outputs.iter().find(|(_, output)| fingerprint(output) == text) {
            *value = at(value.span, ExpressionKind::Slot(*slot));
            return;
        }
    }
    value.operands_mut().into_iter().for_each(|operand| use_outputs(operand, outputs));
}

/// Fails if the expression uses what is neither a column nor an aggregate.
pub(super) fn check_visible(
    value: &Expression,
    outputs: &[(SlotId, &Expression)],
    aggregates: &Set<SlotId>,
    visibility: Visible,
    slots: &Slots,
) -> Result<()> {
    let mut used = Set::default();
    value.free_slots(&mut used);
    let is_visible = |slot: &SlotId| outputs.iter().any(|(output, _)| output == slot) || aggregates.contains(slot);
    let Some(hidden) = used.iter().filter(|slot| !is_visible(slot)).min() else { return Ok(()) };
    let name = slots.name(*hidden);
    let after = if visibility == Visible::Groups { "an aggregation" } else { "DISTINCT" };
    let place = place_of(value, *hidden).unwrap_or(value.span);
    let error =
        error!(Semantic::UndefinedVariable, "variable `{name}` cannot be used after {after} that does not return it")
            .at(place);
    Err(error.with_remedy(format!("add {name}, or the expression that uses it, to the columns")))
}

fn place_of(value: &Expression, slot: SlotId) -> Option<model::Span> {
    let is_here = match &value.kind {
        ExpressionKind::Slot(found) => *found == slot,
        ExpressionKind::Path { start, steps } => {
            *start == slot || steps.contains(&PathStep::Edge(slot)) || steps.contains(&PathStep::Edges(slot))
        }
        _ => false,
    };
    if is_here { Some(value.span) } else { value.operands().into_iter().find_map(|operand| place_of(operand, slot)) }
}
