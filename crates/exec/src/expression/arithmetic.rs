//! Arithmetic and concatenation.
//!
//! Integer operations are checked: what does not fit 64 bits is an error, never a wrapped number. Floats follow IEEE.

use crate::functions::conversion::as_text;
use std::sync::Arc;

use cypher::plan::BinaryOperator;
use model::interrupt::collected;
use model::limits::LIST_ELEMENTS_MAX;
use model::{ColumnData, Result, StringColumn, Value, error};

use crate::allocations::list_bytes;
use crate::context::EvaluationContext;
use crate::temporal::operators;
use crate::vector::{Operand, TextOperand, Vector, View, common_validity, map, validity_of, zip};

/// Name that a refusal gives to the joining of two lists or strings.
const JOINED: &str = "joining lists or texts";

/// `left operator right` for each row.
pub(crate) fn evaluate(
    operator: BinaryOperator,
    left: &Vector,
    right: &Vector,
    rows: usize,
    context: &EvaluationContext<'_>,
) -> Result<Vector> {
    if let (Some(left), Some(right)) = (left.constant(), right.constant()) {
        note_joined(left, right, context)?;
        return Ok(Vector::Constant(scalar(operator, left, right)?));
    }
    let fast = match (left.view(), right.view()) {
        (View::Null, _) | (_, View::Null) => return Ok(Vector::NULL),
        (View::Int(a), View::Int(b)) => integers(operator, a, b, rows, || common_validity(left, right)),
        (View::Float(a), View::Float(b)) => floats(operator, rows, a, b, |x| x, |x| x),
        (View::Int(a), View::Float(b)) => floats(operator, rows, a, b, |x| x as f64, |x| x),
        (View::Float(a), View::Int(b)) => floats(operator, rows, a, b, |x| x, |x| x as f64),
        (View::String(a), View::String(b)) => texts(operator, rows, a, b, context)?,
        _ => None,
    };
    match fast {
        Some(data) => Ok(Vector::of(data, common_validity(left, right))),
        None => row_by_row(operator, left, right, rows, context),
    }
}

/// `-operand` for each row.
pub(crate) fn negate(operand: &Vector, rows: usize) -> Result<Vector> {
    match operand.view() {
        View::Null => return Ok(Vector::NULL),
        View::Float(a @ Operand::Many(_)) => {
            return Ok(Vector::of(ColumnData::Float(map(rows, a, |x| -x)), validity_of(operand)));
        }
        _ => {}
    }
    if let Some(value) = operand.constant() {
        return Ok(Vector::Constant(negate_value(value)?));
    }
    let values: Vec<Value> = (0..rows).map(|row| negate_value(&operand.value(row))).collect::<Result<_>>()?;
    Ok(Vector::from_values(&values))
}

fn negate_value(value: &Value) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Int(x) => match x.checked_neg() {
            Some(negated) => Ok(Value::Int(negated)),
            None => Err(error!(Arithmetic, "-({x}) does not fit a 64-bit integer")),
        },
        Value::Float(x) => Ok(Value::Float(-x)),
        Value::Duration(x) => match x.checked_neg() {
            Some(negated) => Ok(Value::Duration(negated)),
            None => Err(error!(Arithmetic, "-({x}) does not fit a duration")),
        },
        other => Err(error!(Type, "cannot negate {}: expected a number or duration", other.type_name())),
    }
}

/// Integer operations over whole columns; `None` when some row overflowed or divides by zero, so that the slow way
/// can tell which, and whether that row counts at all.
fn integers(
    operator: BinaryOperator,
    a: Operand<'_, i64>,
    b: Operand<'_, i64>,
    rows: usize,
    validity: impl Fn() -> Option<model::Bitmap>,
) -> Option<ColumnData> {
    let mut failed = false;
    let results = match operator {
        BinaryOperator::Add => zip(rows, a, b, |a, b| flag(a.overflowing_add(b), &mut failed)),
        BinaryOperator::Subtract => zip(rows, a, b, |a, b| flag(a.overflowing_sub(b), &mut failed)),
        BinaryOperator::Multiply => zip(rows, a, b, |a, b| flag(a.overflowing_mul(b), &mut failed)),
        BinaryOperator::Divide => zip(rows, a, b, |a, b| or_flag(a.checked_div(b), &mut failed)),
        BinaryOperator::Modulo => {
            zip(rows, a, b, |a, b| if b == 0 { or_flag(None, &mut failed) } else { a.wrapping_rem(b) })
        }
        BinaryOperator::Power => return Some(ColumnData::Float(zip(rows, a, b, |a, b| (a as f64).powf(b as f64)))),
        _ => return None,
    };
    if failed && validity().is_none() {
        return None;
    }
    if failed {
        return valid_integers(operator, a, b, rows, &validity()?);
    }
    Some(ColumnData::Int(results))
}

/// As `integers`, but looks only at rows that are not null.
fn valid_integers(
    operator: BinaryOperator,
    a: Operand<'_, i64>,
    b: Operand<'_, i64>,
    rows: usize,
    validity: &model::Bitmap,
) -> Option<ColumnData> {
    let results = (0..rows).map(|row| {
        if !validity.get(row) {
            return Some(0);
        }
        match scalar(operator, &Value::Int(a.get(row)), &Value::Int(b.get(row))) {
            Ok(Value::Int(result)) => Some(result),
            _ => None,
        }
    });
    results.collect::<Option<Vec<i64>>>().map(ColumnData::Int)
}

#[inline]
fn flag((result, overflowed): (i64, bool), failed: &mut bool) -> i64 {
    *failed |= overflowed;
    result
}

#[inline]
fn or_flag(result: Option<i64>, failed: &mut bool) -> i64 {
    *failed |= result.is_none();
    result.unwrap_or(0)
}

fn floats<A: Copy, B: Copy>(
    operator: BinaryOperator,
    rows: usize,
    a: Operand<'_, A>,
    b: Operand<'_, B>,
    left: impl Fn(A) -> f64,
    right: impl Fn(B) -> f64,
) -> Option<ColumnData> {
    Some(ColumnData::Float(match operator {
        BinaryOperator::Add => zip(rows, a, b, |a, b| left(a) + right(b)),
        BinaryOperator::Subtract => zip(rows, a, b, |a, b| left(a) - right(b)),
        BinaryOperator::Multiply => zip(rows, a, b, |a, b| left(a) * right(b)),
        BinaryOperator::Divide => zip(rows, a, b, |a, b| left(a) / right(b)),
        BinaryOperator::Modulo => zip(rows, a, b, |a, b| left(a) % right(b)),
        BinaryOperator::Power => zip(rows, a, b, |a, b| left(a).powf(right(b))),
        _ => return None,
    }))
}

fn texts(
    operator: BinaryOperator,
    rows: usize,
    a: TextOperand<'_>,
    b: TextOperand<'_>,
    context: &EvaluationContext<'_>,
) -> Result<Option<ColumnData>> {
    if !matches!(operator, BinaryOperator::Add | BinaryOperator::Concatenate) {
        return Ok(None);
    }
    let total: usize = (0..rows).map(|row| a.get(row).len() + b.get(row).len()).sum();
    // Long texts are joined one by one, where their length is checked.
    if total > LIST_ELEMENTS_MAX {
        return Ok(None);
    }
    context.made(JOINED, total)?;
    let mut results = StringColumn::default();
    let mut joined = String::new();
    for row in 0..rows {
        joined.clear();
        joined.push_str(a.get(row));
        joined.push_str(b.get(row));
        results.push(&joined);
    }
    Ok(Some(ColumnData::String(results)))
}

fn row_by_row(
    operator: BinaryOperator,
    left: &Vector,
    right: &Vector,
    rows: usize,
    context: &EvaluationContext<'_>,
) -> Result<Vector> {
    let one = |row: usize| {
        let (left, right) = (left.value(row), right.value(row));
        note_joined(&left, &right, context)?;
        scalar(operator, &left, &right)
    };
    let values: Vec<Value> = (0..rows).map(one).collect::<Result<_>>()?;
    Ok(Vector::from_values(&values))
}

/// Takes note of the list or text that two values are about to be joined to, if they are.
fn note_joined(left: &Value, right: &Value, context: &EvaluationContext<'_>) -> Result<()> {
    let bytes = match (left, right) {
        (Value::List(_), _) | (_, Value::List(_)) => list_bytes(size_of_joined(left, right)),
        (Value::String(_), _) | (_, Value::String(_)) => size_of_joined(left, right),
        _ => return Ok(()),
    };
    context.made(JOINED, bytes)
}

/// `left operator right` of single values.
pub(crate) fn scalar(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(a), Value::Int(b)) => integer(operator, *a, *b),
        (Value::Int(a), Value::Float(b)) => float(operator, *a as f64, *b, left, right),
        (Value::Float(a), Value::Int(b)) => float(operator, *a, *b as f64, left, right),
        (Value::Float(a), Value::Float(b)) => float(operator, *a, *b, left, right),
        _ => match temporal(operator, left, right) {
            Some(result) => result,
            None => joined(operator, left, right),
        },
    }
}

/// `+` and its kin of values of time; `None` if these are none, or are elements of a list.
fn temporal(operator: BinaryOperator, left: &Value, right: &Value) -> Option<Result<Value>> {
    match (left, right) {
        (Value::Duration(_), _) | (_, Value::Duration(_)) => operators::apply(operator, left, right),
        _ => None,
    }
}

fn joined(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value> {
    match (operator, left, right) {
        (BinaryOperator::Add, ..)
        | (BinaryOperator::Concatenate, Value::String(_), Value::String(_))
        | (BinaryOperator::Concatenate, Value::List(_), Value::List(_)) => concatenate(operator, left, right),
        _ => Err(mismatch(operator, left, right)),
    }
}

fn integer(operator: BinaryOperator, a: i64, b: i64) -> Result<Value> {
    if b == 0 && matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo) {
        return Err(error!(Arithmetic, "{a} {} 0 has no result: division by zero", operator.symbol()));
    }
    let result = match operator {
        BinaryOperator::Add => a.checked_add(b),
        BinaryOperator::Subtract => a.checked_sub(b),
        BinaryOperator::Multiply => a.checked_mul(b),
        BinaryOperator::Divide => a.checked_div(b),
        BinaryOperator::Modulo => Some(a.wrapping_rem(b)),
        BinaryOperator::Power => return Ok(Value::Float((a as f64).powf(b as f64))),
        _ => return Err(mismatch(operator, &Value::Int(a), &Value::Int(b))),
    };
    match result {
        Some(result) => Ok(Value::Int(result)),
        None => Err(error!(Arithmetic, "{a} {} {b} does not fit a 64-bit integer", operator.symbol())),
    }
}

fn float(operator: BinaryOperator, a: f64, b: f64, left: &Value, right: &Value) -> Result<Value> {
    Ok(Value::Float(match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        BinaryOperator::Multiply => a * b,
        BinaryOperator::Divide => a / b,
        BinaryOperator::Modulo => a % b,
        BinaryOperator::Power => a.powf(b),
        _ => return Err(mismatch(operator, left, right)),
    }))
}

fn concatenate(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value> {
    check_size(left, right)?;
    let list = |items: &mut dyn Iterator<Item = &Value>| collected(items.cloned()).map(Value::list);
    let text = |value: &Value| as_text(value).ok_or_else(|| mismatch(operator, left, right));
    match (left, right) {
        (Value::List(a), Value::List(b)) => list(&mut a.iter().chain(b.iter())),
        (Value::List(a), element) => list(&mut a.iter().chain([element])),
        (element, Value::List(b)) => list(&mut [element].into_iter().chain(b.iter())),
        (Value::String(a), b) => Ok(Value::String(Arc::from(format!("{a}{}", text(b)?)))),
        (a, Value::String(b)) => Ok(Value::String(Arc::from(format!("{}{b}", text(a)?)))),
        _ => Err(mismatch(operator, left, right)),
    }
}

/// Fails if the two together are too long. A few dozen doublings would fill any memory.
fn check_size(left: &Value, right: &Value) -> Result<()> {
    let total = size_of_joined(left, right);
    if total <= LIST_ELEMENTS_MAX {
        return Ok(());
    }
    let unit = if matches!((left, right), (Value::List(_), _) | (_, Value::List(_))) { "elements" } else { "bytes" };
    Err(error!(Limit, "joining makes a value of {total} {unit}: at most {LIST_ELEMENTS_MAX} fit"))
}

/// Elements, or bytes, of two values together.
fn size_of_joined(left: &Value, right: &Value) -> usize {
    let size = |value: &Value| match value {
        Value::List(items) => items.len(),
        Value::String(text) => text.len(),
        _ => 1,
    };
    size(left).saturating_add(size(right))
}

fn mismatch(operator: BinaryOperator, left: &Value, right: &Value) -> model::Error {
    let expected = match operator {
        BinaryOperator::Add => "numbers, strings, lists, or a duration and a value of time",
        BinaryOperator::Concatenate => "two strings or two lists",
        _ => "numbers, or a duration",
    };
    error!(Type, "cannot compute {} {} {}: expected {expected}", left.type_name(), operator.symbol(), right.type_name())
}
