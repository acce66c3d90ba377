//! Functions that make a value of one kind out of another, and those that choose between values.

use std::borrow::Cow;

use model::interrupt::work;
use model::{FixedKind, Result, Value, error};

use super::math::random_bits;
use super::{Body, Function, items, mismatch};
use crate::context::EvaluationContext;
use crate::vector::Vector;

pub(super) const FUNCTIONS: &[&Function] = &[
    &COALESCE, &NULL_IF, &VALUE_TYPE, &TO_INTEGER, &TO_INTEGER_OR_NULL, &TO_INTEGER_LIST, &TO_FLOAT, &TO_FLOAT_OR_NULL,
    &TO_FLOAT_LIST, &TO_STRING, &TO_STRING_OR_NULL, &TO_STRING_LIST, &TO_BOOLEAN, &TO_BOOLEAN_OR_NULL,
    &TO_BOOLEAN_LIST, &UUID, &RANDOM_UUID,
];

pub(crate) const COALESCE: Function = Function {
    name: "coalesce",
    arguments_min: 1,
    arguments_max: None,
    usage: "coalesce(value, …)",
    description: "The first argument that is not null; those after it are not evaluated.",
    examples: &[("coalesce(null, 2, 1 / 0)", "2"), ("coalesce(null)", "null")],
    // The compiler makes branches of this call; this says the same for evaluated arguments.
    body: Body::Lenient(|values| Ok(values.iter().find(|value| !value.is_null()).cloned().unwrap_or_default())),
};

const NULL_IF: Function = Function {
    name: "nullIf",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "nullIf(value, other)",
    description: "Null if the two are equal, else the first.",
    examples: &[("nullIf(1, 1.0)", "null"), ("nullIf('a', 'b')", "'a'")],
    body: Body::Lenient(|values| {
        Ok(if values[0].equals(&values[1]) == Some(true) { Value::Null } else { values[0].clone() })
    }),
};

const VALUE_TYPE: Function = Function {
    name: "valueType",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "valueType(value)",
    description: "The type of a value, in the form of `IS ::`; that of a list names the types of its elements.",
    examples: &[
        ("valueType(1.0)", "'FLOAT NOT NULL'"),
        ("valueType([1, 2])", "'LIST<INTEGER NOT NULL> NOT NULL'"),
        ("valueType(['a', null])", "'LIST<STRING> NOT NULL'"),
        ("valueType({a: 1})", "'MAP NOT NULL'"),
        ("valueType([])", "'LIST<NOTHING> NOT NULL'"),
        ("valueType(null)", "'NULL'"),
    ],
    body: Body::Lenient(|values| {
        let (name, can_be_null) = (type_of(&values[0])?, values[0].is_null());
        Ok(Value::from(if can_be_null { name.into_owned() } else { format!("{name} NOT NULL") }))
    }),
};

/// The order in which a type of several names them.
const TYPES: &[&str] = &[
    "BOOLEAN", "STRING", "INTEGER", "FLOAT", "DATE", "LOCAL TIME", "ZONED TIME", "LOCAL DATETIME", "ZONED DATETIME",
    "DURATION", "POINT", "NODE", "RELATIONSHIP", "MAP", "BYTES",
];

/// The type of a value that is not null, without a word on null.
fn type_of(value: &Value) -> Result<Cow<'static, str>> {
    let Value::List(items) = value else { return Ok(Cow::Borrowed(value.type_name())) };
    let mut kinds: Vec<Cow<'static, str>> = Vec::new();
    let mut has_null = false;
    for item in items.iter() {
        work(1)?;
        if item.is_null() {
            has_null = true;
            continue;
        }
        let kind = type_of(item)?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    // Lists come behind what is no list, and paths behind these.
    let rank = |kind: &str| match TYPES.iter().position(|known| *known == kind) {
        Some(place) => place,
        None => TYPES.len() + usize::from(kind == "PATH"),
    };
    kinds.sort_by(|a, b| (rank(a), a).cmp(&(rank(b), b)));
    Ok(Cow::Owned(match (kinds.as_slice(), has_null) {
        ([], false) => "LIST<NOTHING>".to_owned(),
        ([], true) => "LIST<NULL>".to_owned(),
        (kinds, true) => format!("LIST<{}>", kinds.join(" | ")),
        (kinds, false) => format!("LIST<{} NOT NULL>", kinds.join(" NOT NULL | ")),
    }))
}

/// Converts one value that is not null: null if it has the right kind but no such value, `None` if the wrong kind.
type Convert = fn(&Value) -> Option<Value>;

const fn conversion(
    name: &'static str,
    usage: &'static str,
    description: &'static str,
    examples: &'static [(&'static str, &'static str)],
    body: fn(&[Value]) -> Result<Value>,
) -> Function {
    Function { name, arguments_min: 1, arguments_max: Some(1), usage, description, examples, body: Body::Strict(body) }
}

const TO_INTEGER: Function = conversion(
    "toInteger",
    "toInteger(value)",
    "The integer that a number (truncated), string or boolean represents; null if there is none.",
    &[
        ("toInteger('42')", "42"),
        ("toInteger(-2.7)", "-2"),
        ("toInteger('x')", "null"),
        ("toInteger(' 7 ')", "null"),
        ("toInteger(true)", "1"),
    ],
    |values| must("toInteger", "a number, string or boolean", to_integer, &values[0]),
);
const TO_INTEGER_OR_NULL: Function = conversion(
    "toIntegerOrNull",
    "toIntegerOrNull(value)",
    "As `toInteger`, but null for a value of any other kind.",
    &[("toIntegerOrNull('7')", "7"), ("toIntegerOrNull([1])", "null")],
    |values| Ok(to_integer(&values[0]).unwrap_or_default()),
);
const TO_INTEGER_LIST: Function = conversion(
    "toIntegerList",
    "toIntegerList(list)",
    "The elements as `toIntegerOrNull` converts them.",
    &[("toIntegerList(['1', 2.5, 'x'])", "[1, 2, null]")],
    |values| each("toIntegerList", to_integer, &values[0]),
);
const TO_FLOAT: Function = conversion(
    "toFloat",
    "toFloat(value)",
    "The float that a number or string represents; null if there is none.",
    &[
        ("toFloat('1.5')", "1.5"),
        ("toFloat(2)", "2.0"),
        ("toFloat('-Infinity')", "-Infinity"),
        ("toFloat('x')", "null"),
    ],
    |values| must("toFloat", "a number or string", to_float, &values[0]),
);
const TO_FLOAT_OR_NULL: Function = conversion(
    "toFloatOrNull",
    "toFloatOrNull(value)",
    "As `toFloat`, but null for a value of any other kind.",
    &[("toFloatOrNull(1)", "1.0"), ("toFloatOrNull(true)", "null")],
    |values| Ok(to_float(&values[0]).unwrap_or_default()),
);
const TO_FLOAT_LIST: Function = conversion(
    "toFloatList",
    "toFloatList(list)",
    "The elements as `toFloatOrNull` converts them.",
    &[("toFloatList(['1', 2, null])", "[1.0, 2.0, null]")],
    |values| each("toFloatList", to_float, &values[0]),
);
const TO_STRING: Function = conversion(
    "toString",
    "toString(value)",
    "A number, boolean or temporal value as a string.",
    &[("toString(1.0)", "'1.0'"), ("toString(true)", "'true'"), ("toString('a')", "'a'")],
    |values| must("toString", "a string, number, boolean or value of time", to_string, &values[0]),
);
const TO_STRING_OR_NULL: Function = conversion(
    "toStringOrNull",
    "toStringOrNull(value)",
    "As `toString`, but null for a value of any other kind.",
    &[("toStringOrNull(1)", "'1'"), ("toStringOrNull([])", "null")],
    |values| Ok(to_string(&values[0]).unwrap_or_default()),
);
const TO_STRING_LIST: Function = conversion(
    "toStringList",
    "toStringList(list)",
    "The elements as `toStringOrNull` converts them.",
    &[("toStringList([1, 'a', []])", "['1', 'a', null]")],
    |values| each("toStringList", to_string, &values[0]),
);
const TO_BOOLEAN: Function = conversion(
    "toBoolean",
    "toBoolean(value)",
    "The boolean that a string ('true', 'false' in any case) or integer (0 is false) represents; null if there is none.",
    &[("toBoolean('TRUE')", "true"), ("toBoolean(0)", "false"), ("toBoolean('yes')", "null")],
    |values| must("toBoolean", "a boolean, string or integer", to_boolean, &values[0]),
);
const TO_BOOLEAN_OR_NULL: Function = conversion(
    "toBooleanOrNull",
    "toBooleanOrNull(value)",
    "As `toBoolean`, but null for a value of any other kind.",
    &[("toBooleanOrNull('false')", "false"), ("toBooleanOrNull(1.5)", "null")],
    |values| Ok(to_boolean(&values[0]).unwrap_or_default()),
);
const TO_BOOLEAN_LIST: Function = conversion(
    "toBooleanList",
    "toBooleanList(list)",
    "The elements as `toBooleanOrNull` converts them.",
    &[("toBooleanList(['true', 0, 'x'])", "[true, false, null]")],
    |values| each("toBooleanList", to_boolean, &values[0]),
);

fn must(function: &str, expected: &str, convert: Convert, value: &Value) -> Result<Value> {
    convert(value).ok_or_else(|| mismatch(function, expected, value))
}

fn each(function: &str, convert: Convert, value: &Value) -> Result<Value> {
    let converted = items(function, value)?.iter().map(|item| convert(item).unwrap_or_default());
    Ok(Value::list(converted.collect()))
}

fn to_integer(value: &Value) -> Option<Value> {
    match value {
        Value::Int(x) => Some(Value::Int(*x)),
        Value::Float(x) => Some(whole(*x)),
        Value::Bool(x) => Some(Value::Int(i64::from(*x))),
        Value::String(text) => Some(match text.parse::<i64>() {
            Ok(x) => Value::Int(x),
            Err(_) => parse_float(text).map_or(Value::Null, whole),
        }),
        _ => None,
    }
}

/// A float without its fraction; null if that is no 64-bit integer.
fn whole(x: f64) -> Value {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if (-TWO_TO_63..TWO_TO_63).contains(&x) { Value::Int(x as i64) } else { Value::Null }
}

/// The float that a text writes in digits, or names as it is printed.
fn parse_float(text: &str) -> Option<f64> {
    let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "+Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ if has_digits => text.parse().ok(),
        _ => None,
    }
}

fn to_float(value: &Value) -> Option<Value> {
    match value {
        Value::Int(x) => Some(Value::Float(*x as f64)),
        Value::Float(x) => Some(Value::Float(*x)),
        Value::String(text) => Some(parse_float(text.trim()).map_or(Value::Null, Value::Float)),
        _ => None,
    }
}

fn to_string(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        other => as_text(other).map(Value::from),
    }
}

fn to_boolean(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(x) => Some(Value::Bool(*x)),
        Value::Int(x) => Some(Value::Bool(*x != 0)),
        Value::String(text) => Some(match text.trim().to_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::Null,
        }),
        _ => None,
    }
}

const UUID: Function = Function {
    name: "uuid",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "uuid(text)",
    description: "The universally unique identifier (RFC 9562) that a string writes; `uuid(randomUUID())` is a new one.",
    examples: &[
        ("toString(uuid('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'))", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
        ("valueType(uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'))", "'UUID NOT NULL'"),
    ],
    body: Body::Strict(|values| match &values[0] {
        Value::Uuid(_) => Ok(values[0].clone()),
        Value::String(text) => FixedKind::Uuid.parse(text).ok_or_else(|| {
            error!(Argument, "uuid: '{text}' is no universally unique identifier")
                .with_remedy("write 32 hexadecimal digits, as in 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'")
        }),
        other => Err(mismatch("uuid", "STRING or UUID", other)),
    }),
};

const RANDOM_UUID: Function = Function {
    name: "randomUUID",
    arguments_min: 0,
    arguments_max: Some(0),
    usage: "randomUUID()",
    description: "A random identifier of 36 characters, new for each row.",
    examples: &[("size(randomUUID())", "36")],
    body: Body::Batch(random_uuid),
};

fn random_uuid(_: &[Vector], rows: usize, context: &EvaluationContext<'_>) -> Result<Vector> {
    let uuids = (0..rows).map(|_| {
        let (high, low) = (random_bits(context.now_us), random_bits(context.now_us));
        // Version 4, variant 1 of RFC 9562.
        let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
        Value::from(format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        ))
    });
    Ok(Vector::from_values(&uuids.collect::<Vec<_>>()))
}

/// A value as it reads when joined to a text.
pub(crate) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        other => FixedKind::of_value(other).map(|_| other.to_string()),
    }
}
