//! Number of elements of lists, as far as their expressions tell.

use model::{Map, Value};

use crate::plan::{BinaryOperator, Expression, ExpressionKind, SlotId};

/// Estimated numbers of elements of the lists that slots hold.
pub(super) type Lengths = Map<SlotId, f64>;

/// The element count assumed of a list of which nothing is known.
pub(super) const LIST_LENGTH: f64 = 10.0;
/// The share of elements assumed to be left by a condition.
const FILTERED_SHARE: f64 = 0.5;

/// Estimated number of elements of a list; of null none, of another value one.
pub(super) fn length_of(list: &Expression) -> f64 {
    length_in(list, &Lengths::default())
}

/// The same where the lengths of the lists in some slots are known.
pub(super) fn length_in(list: &Expression, lengths: &Lengths) -> f64 {
    known_length(list, lengths).unwrap_or(LIST_LENGTH)
}

/// The number of elements, where the expression and the slots tell it.
pub(super) fn known_length(list: &Expression, lengths: &Lengths) -> Option<f64> {
    match &list.kind {
        ExpressionKind::List(items) => Some(items.len() as f64),
        ExpressionKind::Literal(Value::List(items)) => Some(items.len() as f64),
        ExpressionKind::Literal(Value::Null) => Some(0.0),
        ExpressionKind::Literal(_) => Some(1.0),
        ExpressionKind::Slot(slot) => lengths.get(slot).copied(),
        ExpressionKind::Function { name, arguments } => of_function(name, arguments, lengths),
        ExpressionKind::Binary { operator: BinaryOperator::Add, left, right } => of_sum(left, right, lengths),
        ExpressionKind::Slice { list, from, to } => of_slice((list, lengths), from.as_deref(), to.as_deref()),
        ExpressionKind::ListComprehension { list, filter, .. } => {
            let share = if filter.is_some() { FILTERED_SHARE } else { 1.0 };
            Some(length_in(list, lengths) * share)
        }
        _ => None,
    }
}

fn of_function(name: &str, arguments: &[Expression], lengths: &Lengths) -> Option<f64> {
    let [first, rest @ ..] = arguments else { return None };
    match (name.to_ascii_lowercase().as_str(), rest) {
        ("range", [end]) => of_range(integer(first)?, integer(end)?, 1),
        ("range", [end, step]) => of_range(integer(first)?, integer(end)?, integer(step)?),
        ("reverse", []) => known_length(first, lengths),
        ("tail", []) => known_length(first, lengths).map(|length| (length - 1.0).max(0.0)),
        _ => None,
    }
}

/// Both ends are elements; a step of 0 is an error when it runs.
fn of_range(start: i64, end: i64, step: i64) -> Option<f64> {
    let (start, end, step) = (i128::from(start), i128::from(end), i128::from(step));
    match (end - start) * step.signum() {
        _ if step == 0 => None,
        ..0 => Some(0.0),
        _ => Some(((end - start) / step + 1) as f64),
    }
}

/// A list and another list, or a list and one more element.
fn of_sum(left: &Expression, right: &Expression, lengths: &Lengths) -> Option<f64> {
    if !is_list(left, lengths) && !is_list(right, lengths) {
        return None;
    }
    let part = |side: &Expression| match &side.kind {
        ExpressionKind::Literal(value) if !matches!(value, Value::List(_)) => 1.0,
        _ => length_in(side, lengths),
    };
    Some(part(left) + part(right))
}

/// True of what can be nothing but a list.
fn is_list(expression: &Expression, lengths: &Lengths) -> bool {
    match &expression.kind {
        ExpressionKind::List(_) | ExpressionKind::Literal(Value::List(_)) => true,
        ExpressionKind::ListComprehension { .. } => true,
        ExpressionKind::Slot(slot) => lengths.contains_key(slot),
        ExpressionKind::Function { name, .. } => name.eq_ignore_ascii_case("range"),
        ExpressionKind::Binary { operator: BinaryOperator::Add, left, right } => {
            is_list(left, lengths) || is_list(right, lengths)
        }
        ExpressionKind::Slice { list, .. } => is_list(list, lengths),
        _ => false,
    }
}

/// A bound below zero counts from the end. Of a list whose length is not known, no more than its bounds say.
fn of_slice(
    (list, lengths): (&Expression, &Lengths),
    from: Option<&Expression>,
    to: Option<&Expression>,
) -> Option<f64> {
    let length = length_in(list, lengths);
    let place = |bound: f64| if bound < 0.0 { (length + bound).max(0.0) } else { bound.min(length) };
    let from = from.map_or(Some(0.0), |bound| integer(bound).map(|bound| place(bound as f64)));
    let to = to.map_or(Some(length), |bound| integer(bound).map(|bound| place(bound as f64)));
    match (from, to) {
        (Some(from), Some(to)) => Some((to - from).max(0.0)),
        _ => None,
    }
}

/// The value of an integer that stands there.
fn integer(expression: &Expression) -> Option<i64> {
    match &expression.kind {
        ExpressionKind::Literal(Value::Int(value)) => Some(*value),
        ExpressionKind::Negate(inner) => integer(inner)?.checked_neg(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{length_of, of_range};
    use crate::plan::conditions::at;
    use crate::plan::{BinaryOperator, Expression, ExpressionKind};
    use model::{Span, Value};

    fn expression(kind: ExpressionKind) -> Expression {
        at(Span::default(), kind)
    }

    fn number(value: i64) -> Expression {
        expression(ExpressionKind::Literal(Value::Int(value)))
    }

    fn parameter() -> Expression {
        expression(ExpressionKind::Parameter("list".into()))
    }

    fn range(start: i64, end: i64) -> Expression {
        let (name, arguments) = ("range".into(), vec![number(start), number(end)]);
        expression(ExpressionKind::Function { name, arguments })
    }

    fn sum(left: Expression, right: Expression) -> Expression {
        let (left, right) = (Box::new(left), Box::new(right));
        expression(ExpressionKind::Binary { operator: BinaryOperator::Add, left, right })
    }

    fn slice(list: Expression, from: Option<i64>, to: Option<i64>) -> Expression {
        let [from, to] = [from, to].map(|bound| bound.map(|bound| Box::new(number(bound))));
        expression(ExpressionKind::Slice { list: Box::new(list), from, to })
    }

    #[test]
    fn ranges_are_as_long_as_they_say() {
        for (start, end, step, length) in [
            (1, 10, 1, 10.0),
            (1, 10, 3, 4.0),
            (10, 1, -3, 4.0),
            (1, 10, -1, 0.0),
            (10, 1, 1, 0.0),
            (1, 0, 5, 0.0),
            (5, 5, -2, 1.0),
            (i64::MIN, i64::MAX, 1, 18_446_744_073_709_551_616.0),
        ] {
            assert_eq!(of_range(start, end, step), Some(length), "{start}..{end} by {step}");
        }
        assert_eq!(of_range(1, 2, 0), None);
    }

    #[test]
    fn lists_made_of_lists_are_as_long_as_these() {
        assert_eq!(length_of(&parameter()), 10.0);
        assert_eq!(length_of(&expression(ExpressionKind::Literal(Value::Null))), 0.0);
        assert_eq!(length_of(&sum(range(1, 100), number(7))), 101.0);
        assert_eq!(length_of(&sum(range(1, 100), parameter())), 110.0);
        assert_eq!(length_of(&sum(parameter(), number(1))), 10.0);
        assert_eq!(length_of(&slice(range(1, 100), Some(10), Some(30))), 20.0);
        assert_eq!(length_of(&slice(range(1, 100), Some(-5), None)), 5.0);
        assert_eq!(length_of(&slice(range(1, 100), None, Some(-5))), 95.0);
        assert_eq!(length_of(&slice(range(1, 100), Some(30), Some(10))), 0.0);
        assert_eq!(length_of(&slice(parameter(), None, Some(3))), 3.0);
        assert_eq!(length_of(&slice(parameter(), None, Some(1000))), 10.0);
    }
}
