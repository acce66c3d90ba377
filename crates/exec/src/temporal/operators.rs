//! Arithmetic of values of time: moved by durations, durations added, and durations times numbers.

use cypher::plan::BinaryOperator;
use model::temporal::Duration;
use model::{Error, Result, Value, error};

/// `left operator right`; `None` if the operator means nothing for values of these kinds.
pub(crate) fn apply(operator: BinaryOperator, left: &Value, right: &Value) -> Option<Result<Value>> {
    use BinaryOperator as Op;
    Some(match (operator, left, right) {
        (Op::Add, Value::Duration(a), Value::Duration(b)) => {
            a.checked_add(*b).map(Value::Duration).ok_or_else(too_long)
        }
        (Op::Subtract, Value::Duration(a), Value::Duration(b)) => {
            a.checked_sub(*b).map(Value::Duration).ok_or_else(too_long)
        }
        (Op::Add, moment, Value::Duration(duration)) | (Op::Add, Value::Duration(duration), moment) => {
            moved(moment, *duration)?.ok_or_else(|| outside(moment, "+", *duration))
        }
        (Op::Subtract, moment, Value::Duration(duration)) => match duration.checked_neg() {
            Some(back) => moved(moment, back)?.ok_or_else(|| outside(moment, "-", *duration)),
            None => Err(too_long()),
        },
        (Op::Multiply, Value::Duration(x), Value::Int(factor))
        | (Op::Multiply, Value::Int(factor), Value::Duration(x)) => {
            x.times(*factor).map(Value::Duration).ok_or_else(too_long)
        }
        (Op::Multiply, Value::Duration(x), Value::Float(factor))
        | (Op::Multiply, Value::Float(factor), Value::Duration(x)) => {
            x.scaled(*factor).map(Value::Duration).ok_or_else(too_long)
        }
        (Op::Divide, Value::Duration(_), Value::Int(0)) => {
            Err(error!(Arithmetic, "{left} / 0 has no result: division by zero"))
        }
        (Op::Divide, Value::Duration(x), Value::Int(divisor)) => {
            x.divided_by(*divisor).map(Value::Duration).ok_or_else(too_long)
        }
        (Op::Divide, Value::Duration(x), Value::Float(divisor)) => {
            x.scaled(1.0 / divisor).map(Value::Duration).ok_or_else(too_long)
        }
        _ => return None,
    })
}

/// The moment later by a duration; the inner `None` if it lies beyond the years, the outer if it is no moment.
fn moved(moment: &Value, duration: Duration) -> Option<Option<Value>> {
    Some(match moment {
        Value::Date(x) => x.checked_add(duration).map(Value::Date),
        Value::LocalTime(x) => Some(Value::LocalTime(x.wrapping_add(duration))),
        Value::Time(x) => Some(Value::Time(x.wrapping_add(duration))),
        Value::LocalDateTime(x) => x.checked_add(duration).map(Value::LocalDateTime),
        Value::DateTime(x) => x.checked_add(duration).map(Value::DateTime),
        _ => return None,
    })
}

fn outside(moment: &Value, sign: &str, duration: Duration) -> Error {
    error!(Arithmetic, "{moment} {sign} {duration} is outside the years -999999999 to 999999999")
}

/// A duration does not fit.
pub(crate) fn too_long() -> Error {
    error!(Arithmetic, "a duration has months, days and seconds of 64 bits each: this one does not fit")
}
