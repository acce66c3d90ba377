//! Functions of lists, and those that take lists and texts alike.

use model::interrupt::{collected, work};
use model::limits::{BATCH_ROWS, LIST_ELEMENTS_MAX};
use model::value::Nested;
use model::{ColumnData, Error, ErrorCode, ErrorDetail, ErrorKind, Result, Value, error};

use super::{Body, Function, integer, items, mismatch};
use crate::allocations::list_bytes;
use crate::context::EvaluationContext;
use crate::vector::{TextOperand, Vector, View, validity_of};

pub(super) const FUNCTIONS: &[&Function] =
    &[&SIZE, &HEAD, &LAST, &TAIL, &REVERSE, &RANGE, &IS_EMPTY, &EVERY, &MAP_ENTRY];

const SIZE: Function = Function {
    name: "size",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "size(list)",
    description: "The number of elements of a list, or of characters of a string.",
    examples: &[("size([1, null, 3])", "3"), ("size('größe')", "5"), ("size(null)", "null")],
    body: Body::Batch(size),
};

fn size(arguments: &[Vector], rows: usize, _: &EvaluationContext<'_>) -> Result<Vector> {
    if let View::String(texts @ TextOperand::Many(_)) = arguments[0].view() {
        let sizes = (0..rows).map(|row| texts.get(row).chars().count() as i64).collect();
        return Ok(Vector::of(ColumnData::Int(sizes), validity_of(&arguments[0])));
    }
    super::by_rows(arguments, rows, |values| match &values[0] {
        Value::Null => Ok(Value::Null),
        Value::List(items) => Ok(Value::Int(items.len() as i64)),
        Value::String(text) => Ok(Value::Int(text.chars().count() as i64)),
        other => Err(mismatch("size", "a list or a string", other)),
    })
}

const HEAD: Function = Function {
    name: "head",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "head(list)",
    description: "The first element; null for an empty list.",
    examples: &[("head([1, 2])", "1"), ("head([])", "null")],
    body: Body::Strict(|values| Ok(items("head", &values[0])?.first().cloned().unwrap_or_default())),
};

const LAST: Function = Function {
    name: "last",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "last(list)",
    description: "The last element; null for an empty list.",
    examples: &[("last([1, 2])", "2"), ("last([])", "null")],
    body: Body::Strict(|values| Ok(items("last", &values[0])?.last().cloned().unwrap_or_default())),
};

const TAIL: Function = Function {
    name: "tail",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "tail(list)",
    description: "The list without its first element.",
    examples: &[("tail([1, 2, 3])", "[2, 3]"), ("tail([])", "[]")],
    body: Body::Strict(|values| Ok(Value::list(collected(items("tail", &values[0])?.iter().skip(1).cloned())?))),
};

const REVERSE: Function = Function {
    name: "reverse",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "reverse(list)",
    description: "A list or string from end to start.",
    examples: &[("reverse([1, 2])", "[2, 1]"), ("reverse('abc')", "'cba'")],
    body: Body::Strict(|values| match &values[0] {
        Value::List(items) => Ok(Value::list(collected(items.iter().rev().cloned())?)),
        Value::String(text) => {
            let mut reversed = String::with_capacity(text.len());
            for c in text.chars().rev() {
                work(1)?;
                reversed.push(c);
            }
            Ok(Value::from(reversed))
        }
        other => Err(mismatch("reverse", "a list or a string", other)),
    }),
};

const IS_EMPTY: Function = Function {
    name: "isEmpty",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "isEmpty(list)",
    description: "True if a list, map or string is empty.",
    examples: &[("isEmpty([])", "true"), ("isEmpty('a')", "false"), ("isEmpty({})", "true")],
    body: Body::Strict(|values| match &values[0] {
        Value::List(items) => Ok(Value::Bool(items.is_empty())),
        Value::Map(map) => Ok(Value::Bool(map.is_empty())),
        Value::String(text) => Ok(Value::Bool(text.is_empty())),
        other => Err(mismatch("isEmpty", "a list, a map or a string", other)),
    }),
};

const EVERY: Function = Function {
    name: "every",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "every(list, step)",
    description: "Every `step`-th element, from the first on.",
    examples: &[("every([1, 2, 3, 4, 5], 2)", "[1, 3, 5]"), ("every([], 2)", "[]")],
    body: Body::Strict(|values| {
        let step = integer("every", &values[1])?;
        let step = usize::try_from(step).ok().filter(|&step| step > 0);
        let step = step.ok_or_else(|| error!(Argument, "the step of every() has to be at least 1"))?;
        Ok(Value::list(collected(items("every", &values[0])?.iter().step_by(step).cloned())?))
    }),
};

const RANGE: Function = Function {
    name: "range",
    arguments_min: 2,
    arguments_max: Some(3),
    usage: "range(start, end, step)",
    description: "The integers from start to end, both included; the step is 1 if left out.",
    examples: &[("range(1, 4)", "[1, 2, 3, 4]"), ("range(4, 0, -2)", "[4, 2, 0]"), ("range(1, 0)", "[]")],
    body: Body::Batch(|arguments, rows, context| {
        super::by_rows(arguments, rows, |values| super::unless_null(values, |values| range(values, context)))
    }),
};

/// The integers that `range()` gives: they can be made one after the other, without the list.
pub(crate) struct Integers {
    start: i64,
    step: i64,
    /// Number of integers; more than 64 bits hold, for the range over all integers.
    count: i128,
}

impl Integers {
    /// The integers of a call with these arguments: the first, the last, and the step if it is not 1.
    pub(crate) fn of(values: &[Value]) -> Result<Integers> {
        let bound = |value: &Value| {
            let detail = ErrorDetail::InvalidArgumentType;
            integer("range", value).map_err(|error| error.of_kind(ErrorKind::ArgumentError).with_detail(detail))
        };
        let (start, end) = (bound(&values[0])?, bound(&values[1])?);
        let step = values.get(2).map_or(Ok(1), bound)?;
        if step == 0 {
            return Err(error!(Argument::NumberOutOfRange, "the step of range() is 0: expected another integer"));
        }
        let distance = if step > 0 { i128::from(end) - i128::from(start) } else { i128::from(start) - i128::from(end) };
        let count = if distance < 0 { 0 } else { distance / i128::from(step).abs() + 1 };
        Ok(Integers { start, step, count })
    }

    /// Takes the next ones, at most `limit`.
    pub(crate) fn take(&mut self, limit: usize) -> Vec<i64> {
        let count = self.count.min(limit as i128);
        self.count -= count;
        let mut taken = Vec::with_capacity(count as usize);
        for _ in 0..count {
            taken.push(self.start);
            // The step past the last element may overflow, but is not used.
            self.start = self.start.wrapping_add(self.step);
        }
        taken
    }
}

fn range(values: &[Value], context: &EvaluationContext<'_>) -> Result<Value> {
    let mut integers = Integers::of(values)?;
    if integers.count > LIST_ELEMENTS_MAX as i128 {
        let Integers { start, step, count } = integers;
        let message =
            format!("range() from {start} by {step} has {count} elements: a list holds at most {LIST_ELEMENTS_MAX}");
        return Err(Error::new(ErrorCode::Limit, message).with_remedy("ask for a shorter range, or UNWIND it"));
    }
    let count = integers.count as usize;
    let noted = context.made(RANGE.usage, list_bytes(count));
    noted.map_err(|refusal| refusal.within(&format!("a list of {count} elements")))?;
    let mut items = Vec::with_capacity(count);
    while items.len() < count {
        let some = integers.take(BATCH_ROWS);
        work(some.len())?;
        items.extend(some.into_iter().map(Value::Int));
    }
    Ok(Value::List(Nested::flat(items)))
}

const MAP_ENTRY: Function = Function {
    name: "mapEntry",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "mapEntry(key, value)",
    description: "The map of one entry; its key is computed.",
    examples: &[("mapEntry('a' + 'b', 1)", "{ab: 1}"), ("mapEntry('a', null)", "{a: null}")],
    body: Body::Lenient(|values| match &values[0] {
        Value::String(key) => Ok(Value::map([(key.clone(), values[1].clone())])),
        other => Err(mismatch("mapEntry", "a string as the key", other)),
    }),
};
