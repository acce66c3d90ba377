//! `WITH` and `RETURN` as operators.

use model::{Set, Span};

use super::{Planner, Stream};
use crate::binder::tree::{BoundProjection, Grouping};
use crate::plan::conditions::at;
use crate::plan::{Expression, ExpressionKind, OperatorKind, SlotId, SortKey};

impl Planner<'_> {
    pub(super) fn projection(&mut self, stream: &mut Stream, projection: BoundProjection) {
        let BoundProjection { grouping, mut items, distinct, order, skip, limit, predicate } = projection;
        if stream.ends {
            // Expressions over groups may still need them.
            let mut used = Set::default();
            items.iter().for_each(|(_, value)| value.free_slots(&mut used));
            order.iter().for_each(|key| key.expression.free_slots(&mut used));
            predicate.iter().for_each(|predicate| predicate.free_slots(&mut used));
            stream.imports.retain(|slot| grouping.is_some() && used.contains(slot));
        }
        let kept_imports = if stream.ends { &[] } else { stream.imports.as_slice() };
        let missing = kept_imports.iter().filter(|slot| !items.iter().any(|(output, _)| output == *slot));
        let kept: Vec<_> = missing.map(|&slot| (slot, at(Span::default(), ExpressionKind::Slot(slot)))).collect();
        items.extend(kept);
        let outputs: Vec<SlotId> = items.iter().map(|(slot, _)| *slot).collect();
        let mut live: Option<Vec<SlotId>> = None;
        if let Some(grouping) = grouping {
            live = Some(self.grouping(stream, grouping));
        }
        let mut later = Set::default();
        order.iter().for_each(|key| key.expression.free_slots(&mut later));
        predicate.iter().for_each(|predicate| predicate.free_slots(&mut later));
        let needs_more = later.iter().any(|slot| !outputs.contains(slot));
        let is_identity =
            live.as_ref().is_some_and(|live| same_slots(live, &outputs)) && items.iter().all(is_passed_on);
        let rows = stream.rows();
        stream.know_lengths(&items);
        if needs_more {
            let computed: Vec<(SlotId, Expression)> =
                items.iter().filter(|item| !is_passed_on(item)).cloned().collect();
            if !computed.is_empty() {
                stream.push(rows, |input| OperatorKind::Extend { input, items: computed });
            }
        } else if !is_identity {
            stream.push(rows, |input| OperatorKind::Project { input, items: items.clone() });
        }
        stream.bound.extend(outputs.iter().copied());
        if distinct {
            let slots = outputs.clone();
            stream.push(rows.max(1.0).powf(0.8), |input| OperatorKind::Distinct { input, slots });
        }
        self.order(stream, order, skip, limit);
        if let Some(predicate) = predicate {
            self.filter(stream, vec![predicate]);
        }
        if needs_more {
            let items = items.iter().map(|(slot, value)| {
                let kind = ExpressionKind::Slot(*slot);
                (*slot, Expression { kind, span: value.span })
            });
            let items = items.collect();
            stream.push(stream.rows(), |input| OperatorKind::Project { input, items });
        }
        stream.bound = outputs.into_iter().collect();
        let bound = &stream.bound;
        stream.labels.retain(|slot, _| bound.contains(slot));
        stream.lengths.retain(|slot, _| bound.contains(slot));
    }

    /// Groups rows, and gives the slots that are there then.
    fn grouping(&mut self, stream: &mut Stream, grouping: Grouping) -> Vec<SlotId> {
        let Grouping { mut keys, aggregates } = grouping;
        let mut imports = stream.imports.clone();
        imports.retain(|slot| !keys.iter().any(|(key, _)| key == slot));
        let is_one_group = keys.is_empty();
        if !is_one_group {
            // They are the same for all rows, so they make no further groups.
            keys.extend(imports.drain(..).map(|slot| (slot, at(Span::default(), ExpressionKind::Slot(slot)))));
        }
        let mut slots: Vec<SlotId> = keys.iter().map(|(slot, _)| *slot).collect();
        slots.extend(aggregates.iter().map(|aggregate| aggregate.slot));
        let before = stream.rows();
        let rows = if is_one_group { 1.0 } else { before.max(1.0).sqrt() };
        let collected = aggregates.iter().filter(|aggregate| &*aggregate.function == "collect");
        stream.lengths.extend(collected.map(|aggregate| (aggregate.slot, before / rows)));
        stream.push(rows, |input| OperatorKind::Aggregate { input, keys, aggregates });
        if !imports.is_empty() {
            slots.extend(imports.iter().copied());
            stream.push(rows, |input| OperatorKind::Import { input, slots: imports });
        }
        stream.bound = slots.iter().copied().collect();
        slots
    }

    fn order(&mut self, stream: &mut Stream, keys: Vec<SortKey>, skip: Option<Expression>, limit: Option<Expression>) {
        if !keys.is_empty() {
            stream.push(stream.rows(), |input| OperatorKind::Sort { input, keys });
        }
        if let Some(count) = skip {
            let rows = (stream.rows() - row_count(&count).unwrap_or(0.0)).max(0.0);
            stream.push(rows, |input| OperatorKind::Skip { input, count });
        }
        if let Some(count) = limit {
            let rows = stream.rows().min(row_count(&count).unwrap_or(10.0));
            stream.push(rows, |input| OperatorKind::Limit { input, count });
        }
    }
}

/// A number of rows, if it is known before the query runs.
fn row_count(count: &Expression) -> Option<f64> {
    match &count.kind {
        ExpressionKind::Literal(model::Value::Int(count)) => Some(*count as f64),
        _ => None,
    }
}

/// True of a slot that is passed on as it is.
fn is_passed_on(item: &(SlotId, Expression)) -> bool {
    item.1.as_slot() == Some(item.0)
}

fn same_slots(a: &[SlotId], b: &[SlotId]) -> bool {
    a.len() == b.len() && a.iter().all(|slot| b.contains(slot))
}
