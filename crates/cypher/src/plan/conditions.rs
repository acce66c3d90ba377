//! Conditions taken apart, put together, and moved to the edges of a path.

use std::sync::Arc;

use model::{Set, Span, Value};

use super::{BinaryOperator, EdgeFilter, Expression, ExpressionKind, LookupValue, QuantifierKind, SlotId};

/// An expression at a place.
pub(crate) fn at(span: Span, kind: ExpressionKind) -> Expression {
    Expression { kind, span }
}

/// The condition that the node or edge in a slot carries labels, or a type.
pub(crate) fn has_labels(slot: SlotId, labels: Vec<Arc<str>>, span: Span) -> Expression {
    let object = Box::new(at(span, ExpressionKind::Slot(slot)));
    at(span, ExpressionKind::HasLabels { object, labels })
}

/// Adds an expression to a list of which all must be true; conjunctions are taken apart.
pub(crate) fn add_conjuncts(expression: Expression, conjuncts: &mut Vec<Expression>) {
    match expression.kind {
        ExpressionKind::And(items) => items.into_iter().for_each(|item| add_conjuncts(item, conjuncts)),
        _ => {
            let membership = membership(&expression);
            conjuncts.push(membership.unwrap_or(expression));
        }
    }
}

/// A disjunction of equalities of one property with constants as `IN`, for which lookups and seeks exist.
fn membership(expression: &Expression) -> Option<Expression> {
    let ExpressionKind::Or(items) = &expression.kind else { return None };
    let mut of: Option<&Expression> = None;
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        let ExpressionKind::Binary { operator, left, right } = &item.kind else { return None };
        let property = match operator {
            BinaryOperator::Equal if is_constant(left) => {
                values.push((**left).clone());
                right
            }
            BinaryOperator::Equal if is_constant(right) => {
                values.push((**right).clone());
                left
            }
            BinaryOperator::In => {
                let ExpressionKind::List(elements) = &right.kind else { return None };
                if !elements.iter().all(is_constant) {
                    return None;
                }
                values.extend(elements.iter().cloned());
                left
            }
            _ => return None,
        };
        let known = *of.get_or_insert(property);
        let is_same = match (property_of_slot(known), id_of_slot(known)) {
            (None, None) => false,
            slots => slots == (property_of_slot(property), id_of_slot(property)),
        };
        if !is_same {
            return None;
        }
    }
    let (element, list) = (Box::new(of?.clone()), Box::new(at(expression.span, ExpressionKind::List(values))));
    Some(at(expression.span, ExpressionKind::Binary { operator: BinaryOperator::In, left: element, right: list }))
}

/// `slot.key`.
pub(crate) fn property_of_slot(expression: &Expression) -> Option<(SlotId, &Arc<str>)> {
    match &expression.kind {
        ExpressionKind::Property { object, key } => match object.kind {
            ExpressionKind::Slot(slot) => Some((slot, key)),
            _ => None,
        },
        _ => None,
    }
}

/// `id(slot)`.
pub(crate) fn id_of_slot(expression: &Expression) -> Option<SlotId> {
    match &expression.kind {
        ExpressionKind::Function { name, arguments } if name.eq_ignore_ascii_case("id") => match arguments.as_slice() {
            [Expression { kind: ExpressionKind::Slot(slot), .. }] => Some(*slot),
            _ => None,
        },
        _ => None,
    }
}

/// True of what has one value throughout and cannot fail.
fn is_constant(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Literal(_) | ExpressionKind::Parameter { .. } => true,
        ExpressionKind::Negate(inner) => matches!(inner.kind, ExpressionKind::Literal(Value::Float(_))),
        _ => false,
    }
}

/// The conjunction of expressions, or nothing.
pub(crate) fn conjunction(mut expressions: Vec<Expression>) -> Option<Expression> {
    if expressions.len() < 2 {
        return expressions.pop();
    }
    let span = expressions.iter().map(|expression| expression.span).reduce(Span::to).unwrap_or_default();
    Some(at(span, ExpressionKind::And(expressions)))
}

/// Adds a condition to those on each edge of a path.
pub(crate) fn add_filter(known: &mut Option<EdgeFilter>, mut added: EdgeFilter) {
    *known = match known.take() {
        None => Some(added),
        Some(known) => {
            replace_slot(&mut added.predicate, added.slot, known.slot);
            let both = conjunction(vec![known.predicate.clone(), added.predicate]);
            both.map(|predicate| EdgeFilter { predicate, ..known })
        }
    };
}

/// The condition on each edge that `all(…)` or `none(…)` over the edges of a path puts.
pub(crate) fn edge_filter(predicate: &Expression, edges: SlotId, path: Option<SlotId>) -> Option<EdgeFilter> {
    let ExpressionKind::Quantifier { kind, slot, list, predicate } = &predicate.kind else { return None };
    let is_edges = match &list.kind {
        ExpressionKind::Slot(slot) => *slot == edges,
        ExpressionKind::Function { name, arguments } if name.eq_ignore_ascii_case("relationships") => {
            matches!(arguments.as_slice(), [Expression { kind: ExpressionKind::Slot(slot), .. }] if Some(*slot) == path)
        }
        _ => false,
    };
    let mut slots = Set::default();
    predicate.used_slots(&mut slots);
    if !is_edges || slots.contains(&edges) || path.is_some_and(|path| slots.contains(&path)) || predicate.has_subquery()
    {
        return None;
    }
    let each = match kind {
        QuantifierKind::All => (**predicate).clone(),
        QuantifierKind::None => at(predicate.span, ExpressionKind::Not(predicate.clone())),
        QuantifierKind::Any | QuantifierKind::Single => return None,
    };
    Some(EdgeFilter { slot: *slot, from: None, to: None, predicate: each })
}

/// Puts one slot in the place of another; subqueries must not use it.
pub(crate) fn replace_slot(expression: &mut Expression, from: SlotId, to: SlotId) {
    if let ExpressionKind::Slot(slot) = &mut expression.kind
        && *slot == from
    {
        *slot = to;
    }
    expression.operands_mut().into_iter().for_each(|operand| replace_slot(operand, from, to));
}

impl LookupValue {
    /// The same as a condition on a property of a node.
    pub(crate) fn condition(&self, node: SlotId, key: &Arc<str>) -> Expression {
        let (operator, value) = match self {
            LookupValue::One(value) => (BinaryOperator::Equal, value),
            LookupValue::Any(value) => (BinaryOperator::In, value),
        };
        let span = value.span;
        let object = Box::new(at(span, ExpressionKind::Slot(node)));
        let left = Box::new(at(span, ExpressionKind::Property { object, key: key.clone() }));
        at(span, ExpressionKind::Binary { operator, left, right: Box::new(value.clone()) })
    }
}
