//! Functions of numbers. Floats follow IEEE: what has no result is NaN.

use std::sync::atomic::{AtomicU64, Ordering};

use model::mix::{SPLITMIX_STEP, mix64};
use model::{ColumnData, Result, Value, error};

use super::{Body, Function, integer, mismatch, number, text};
use crate::context::EvaluationContext;
use crate::vector::Vector;

mod rounding;

pub(super) const FUNCTIONS: &[&Function] = &[
    &ABS, &CEIL, &FLOOR, &ROUND, &SIGN, &IS_NAN, &RAND, &SQRT, &EXP, &LOG, &LOG10, &E, &PI, &SIN, &COS, &TAN, &COT,
    &ASIN, &ACOS, &ATAN, &ATAN2, &DEGREES, &RADIANS, &HAVERSIN,
];

/// A function of one number that gives a float.
const fn of_float(
    name: &'static str,
    usage: &'static str,
    description: &'static str,
    examples: &'static [(&'static str, &'static str)],
    body: fn(f64) -> f64,
) -> Function {
    Function { name, arguments_min: 1, arguments_max: Some(1), usage, description, examples, body: Body::Float(body) }
}

const CEIL: Function = of_float(
    "ceil",
    "ceil(x)",
    "The smallest whole number that is not below x, as a float.",
    &[("ceil(0.1)", "1.0"), ("ceil(2)", "2.0")],
    f64::ceil,
);
const FLOOR: Function = of_float(
    "floor",
    "floor(x)",
    "The largest whole number that is not above x, as a float.",
    &[("floor(0.9)", "0.0"), ("floor(-0.1)", "-1.0")],
    f64::floor,
);
const SQRT: Function = of_float(
    "sqrt",
    "sqrt(x)",
    "The square root; NaN for a negative number.",
    &[("sqrt(256)", "16.0"), ("sqrt(-1)", "NaN")],
    f64::sqrt,
);
const EXP: Function = of_float("exp", "exp(x)", "e to the power of x.", &[("exp(0)", "1.0")], f64::exp);
const LOG: Function = of_float("log", "log(x)", "The natural logarithm.", &[("log(1)", "0.0")], f64::ln);
const LOG10: Function =
    of_float("log10", "log10(x)", "The logarithm to base 10.", &[("log10(1000)", "3.0")], f64::log10);
const SIN: Function = of_float("sin", "sin(x)", "The sine of an angle in radians.", &[("sin(0)", "0.0")], f64::sin);
const COS: Function = of_float("cos", "cos(x)", "The cosine of an angle in radians.", &[("cos(0)", "1.0")], f64::cos);
const TAN: Function = of_float("tan", "tan(x)", "The tangent of an angle in radians.", &[("tan(0)", "0.0")], f64::tan);
const COT: Function =
    of_float("cot", "cot(x)", "The cotangent of an angle in radians.", &[("cot(0)", "Infinity")], |x| x.tan().recip());
const ASIN: Function =
    of_float("asin", "asin(x)", "The angle in radians with that sine.", &[("asin(0)", "0.0")], f64::asin);
const ACOS: Function =
    of_float("acos", "acos(x)", "The angle in radians with that cosine.", &[("acos(1)", "0.0")], f64::acos);
const ATAN: Function =
    of_float("atan", "atan(x)", "The angle in radians with that tangent.", &[("atan(0)", "0.0")], f64::atan);
const DEGREES: Function =
    of_float("degrees", "degrees(x)", "Radians as degrees.", &[("degrees(pi())", "180.0")], f64::to_degrees);
const RADIANS: Function =
    of_float("radians", "radians(x)", "Degrees as radians.", &[("radians(180) = pi()", "true")], f64::to_radians);
const HAVERSIN: Function =
    of_float("haversin", "haversin(x)", "Half the versine of an angle in radians.", &[("haversin(0)", "0.0")], |x| {
        (x / 2.0).sin().powi(2)
    });

const ATAN2: Function = Function {
    name: "atan2",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "atan2(y, x)",
    description: "The angle in radians of the point (x, y).",
    examples: &[("atan2(0, 1)", "0.0")],
    body: Body::Strict(|values| Ok(Value::Float(number("atan2", &values[0])?.atan2(number("atan2", &values[1])?)))),
};

const E: Function = Function {
    name: "e",
    arguments_min: 0,
    arguments_max: Some(0),
    usage: "e()",
    description: "The base of the natural logarithm.",
    examples: &[("e()", "2.718281828459045")],
    body: Body::Strict(|_| Ok(Value::Float(std::f64::consts::E))),
};

const PI: Function = Function {
    name: "pi",
    arguments_min: 0,
    arguments_max: Some(0),
    usage: "pi()",
    description: "The ratio of a circle's circumference to its diameter.",
    examples: &[("pi()", "3.141592653589793")],
    body: Body::Strict(|_| Ok(Value::Float(std::f64::consts::PI))),
};

const ABS: Function = Function {
    name: "abs",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "abs(x)",
    description: "The distance of a number from zero.",
    examples: &[("abs(-3)", "3"), ("abs(-0.5)", "0.5")],
    body: Body::Strict(|values| match &values[0] {
        Value::Int(x) => match x.checked_abs() {
            Some(distance) => Ok(Value::Int(distance)),
            None => Err(error!(Arithmetic, "abs({x}) does not fit a 64-bit integer")),
        },
        Value::Float(x) => Ok(Value::Float(x.abs())),
        other => Err(mismatch("abs", "a number", other)),
    }),
};

const SIGN: Function = Function {
    name: "sign",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "sign(x)",
    description: "-1, 0 or 1, as the number is negative, zero or positive; null for NaN.",
    examples: &[("sign(-2.5)", "-1"), ("sign(0)", "0")],
    body: Body::Strict(|values| match &values[0] {
        Value::Int(x) => Ok(Value::Int(x.signum())),
        Value::Float(x) if x.is_nan() => Ok(Value::Null),
        Value::Float(x) => Ok(Value::Int(i64::from(*x > 0.0) - i64::from(*x < 0.0))),
        other => Err(mismatch("sign", "a number", other)),
    }),
};

const IS_NAN: Function = Function {
    name: "isNaN",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "isNaN(x)",
    description: "True if the number is NaN.",
    examples: &[("isNaN(0.0 / 0.0)", "true"), ("isNaN(1)", "false")],
    body: Body::Strict(|values| Ok(Value::Bool(number("isNaN", &values[0])?.is_nan()))),
};

const ROUND: Function = Function {
    name: "round",
    arguments_min: 1,
    arguments_max: Some(3),
    usage: "round(x, digits, mode)",
    description: "The number rounded to a number of decimal digits (none if left out), as a float. Mode is one of 'UP', \
                  'DOWN', 'CEILING', 'FLOOR', 'HALF_UP', 'HALF_DOWN', 'HALF_EVEN'; without one, halves are rounded \
                  up, and with digits (not 0) away from zero.",
    examples: &[
        ("round(3.5)", "4.0"),
        ("round(-1.5)", "-1.0"),
        ("round(3.14159, 2)", "3.14"),
        ("round(-1.55, 1)", "-1.6"),
        ("round(-2.5, 0)", "-2.0"),
        ("round(2.5, 0, 'HALF_EVEN')", "2.0"),
        ("round(1.21, 1, 'UP')", "1.3"),
    ],
    body: Body::Strict(round),
};

fn round(values: &[Value]) -> Result<Value> {
    const DIGITS_MAX: i64 = 300;
    let x = number("round", &values[0])?;
    let Some(digits) = values.get(1) else {
        return Ok(Value::Float(rounding::half_up(x)));
    };
    let digits = integer("round", digits)?;
    if !(0..=DIGITS_MAX).contains(&digits) {
        return Err(error!(Argument, "round() to {digits} digits: expected 0 to {DIGITS_MAX}"));
    }
    if digits == 0 && values.len() == 2 {
        return Ok(Value::Float(rounding::half_up(x)));
    }
    let mode = values.get(2).map_or(Ok("HALF_UP"), |mode| text("round", mode))?;
    rounding::decimal(x, digits as usize, mode).map(Value::Float)
}

const RAND: Function = Function {
    name: "rand",
    arguments_min: 0,
    arguments_max: Some(0),
    usage: "rand()",
    description: "A random float, at least 0 and below 1, new for each row.",
    examples: &[("rand() < 1", "true")],
    body: Body::Batch(rand),
};

fn rand(_: &[Vector], rows: usize, context: &EvaluationContext<'_>) -> Result<Vector> {
    const TWO_TO_53: f64 = 9_007_199_254_740_992.0;
    let numbers = (0..rows).map(|_| (random_bits(context.now_us) >> 11) as f64 / TWO_TO_53).collect();
    Ok(Vector::of(ColumnData::Float(numbers), None))
}

/// Sixty-four random bits: a SplitMix64 sequence, moved by the statement's time.
pub(super) fn random_bits(seed: i64) -> u64 {
    static STEP: AtomicU64 = AtomicU64::new(1);
    let step = STEP.fetch_add(1, Ordering::Relaxed);
    mix64((seed as u64).wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(step.wrapping_mul(SPLITMIX_STEP)))
}
