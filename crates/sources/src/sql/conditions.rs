//! Tests of properties: which of them a database answers as Cypher does, and the conditions that they become.

use std::borrow::Cow;
use std::ops::Bound;

use model::{Column, KeyOrder, PropertyKind, Result, Value, error};

use crate::connector::{Condition, Test};
use crate::definition::Property;
use crate::sql::catalog::NUMBER;
use crate::sql::draft::Draft;
use crate::sql::{ColumnFacts, Dialect, RowsFacts, digits, quote};

/// The property of that number.
pub(super) fn property<'d>(kind: &str, properties: &'d [Property], number: usize) -> Result<&'d Property> {
    properties
        .get(number)
        .ok_or_else(|| error!(Internal, "{kind} has {} properties, and number {number} is asked for", properties.len()))
}

/// True if the database compares the values of a property as Cypher compares them after conversion.
pub(super) fn is_compared_alike(property: &Property, facts: &ColumnFacts) -> bool {
    facts.compares && (property.kind.is_none() || property.kind == facts.kind)
}

/// The condition that a test becomes; `None` if the database would not answer it as Cypher does.
pub(super) fn condition(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    alias: &str,
    (property, facts): (&Property, &ColumnFacts),
    test: &Test,
) -> Option<String> {
    let column = quote::column(dialect, alias, &property.column);
    match test {
        Test::Present | Test::Absent if facts.hides_nulls() => return None,
        Test::Present => return Some(format!("{column} IS NOT NULL")),
        Test::Absent => return Some(dialect.is_null(&column)),
        _ if !is_compared_alike(property, facts) => return None,
        _ => {}
    }
    match test {
        Test::OneOf(values) => {
            let fitting = fitting(values, facts)?;
            if fitting.is_empty() {
                return Some("1 = 0".to_owned());
            }
            let values = Cow::Owned(Column::from_values(&fitting));
            Some(dialect.one_of(draft, &column, facts, values, true))
        }
        Test::NoneOf(values) => {
            let fitting = fitting(values, facts)?;
            if fitting.is_empty() {
                return Some(format!("{column} IS NOT NULL"));
            }
            let values = Cow::Owned(Column::from_values(&fitting));
            Some(format!("NOT ({})", dialect.one_of(draft, &column, facts, values, true)))
        }
        Test::Between(lower, upper) => between(draft, dialect, &column, facts, (lower, upper)),
        Test::NotBetween(lower, upper) => not_between(draft, dialect, &column, facts, (lower, upper)),
        Test::StartsWith(_) | Test::EndsWith(_) | Test::Contains(_) => {
            in_text(facts, || text_test(draft, dialect, &column, facts, test))
        }
        Test::NoMatch(test) => in_text(facts, || {
            let matches = text_test(draft, dialect, &column, facts, test)?;
            let is_string = dialect.is_of_kind(&column, Some(PropertyKind::String));
            Some([format!("NOT ({matches})")].into_iter().chain(is_string).collect::<Vec<_>>().join(" AND "))
        }),
        Test::Present | Test::Absent => None,
    }
}

/// The values that a column may equal; `None` if the database's idea of equality is not Cypher's for one of them.
fn fitting(values: &[Value], facts: &ColumnFacts) -> Option<Vec<Value>> {
    let mut fitting = Vec::with_capacity(values.len());
    for value in values {
        match fit(value, facts) {
            Fit::Exactly(Value::List(_) | Value::Map(_)) | Fit::Unknown => return None,
            Fit::Exactly(value) => fitting.push(value),
            Fit::Never => {}
        }
    }
    Some(fitting)
}

/// A test of strings, of a column that has strings.
fn text_test(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    column: &str,
    facts: &ColumnFacts,
    test: &Test,
) -> Option<String> {
    match test {
        // Databases pass or count strings with this letter otherwise.
        Test::StartsWith(text) | Test::EndsWith(text) | Test::Contains(text) if text.contains('\0') => None,
        Test::StartsWith(prefix) => Some(dialect.starts_with(draft, column, facts, prefix)),
        Test::EndsWith(end) => Some(dialect.ends_with(draft, column, end)),
        Test::Contains(part) => Some(dialect.contains(draft, column, part)),
        _ => None,
    }
}

/// A test of strings; `1 = 0` if the column has none.
fn in_text(facts: &ColumnFacts, test: impl FnOnce() -> Option<String>) -> Option<String> {
    match facts.kind {
        // Written as a string, a list would match.
        None if facts.sql_type.ends_with("[]") => Some("1 = 0".to_owned()),
        None | Some(PropertyKind::String) => test(),
        Some(_) if facts.holds_any => None,
        Some(_) => Some("1 = 0".to_owned()),
    }
}

/// A range; `1 = 0` if the bounds are of another kind than the column.
fn between(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    column: &str,
    facts: &ColumnFacts,
    (lower, upper): (&Bound<Value>, &Bound<Value>),
) -> Option<String> {
    let mut conditions = Vec::new();
    let kind = facts.kind.or(kind_of_bound(lower)).or(kind_of_bound(upper));
    let compared = compared(dialect, column, facts, kind);
    for (bound, is_lower) in [(lower, true), (upper, false)] {
        let (value, sign) = match bound {
            Bound::Unbounded => continue,
            Bound::Included(value) => (value, if is_lower { ">=" } else { "<=" }),
            Bound::Excluded(value) => (value, if is_lower { ">" } else { "<" }),
        };
        let (value, sign) = match fit(value, facts) {
            Fit::Exactly(value) => (value, sign),
            Fit::Unknown => return None,
            Fit::Never => match rounded(value, facts.kind, is_lower) {
                Some(rounded) => rounded,
                // Of the column's kind, but nothing that the database could be given.
                None if kind_of_bound(bound) == facts.kind => return None,
                None => return Some("1 = 0".to_owned()),
            },
        };
        // Columns of fewer bits are compared with integers that they cannot hold, too.
        let is_integer = matches!(facts.sql_type.as_str(), "int2" | "int4");
        let sql_type = if is_integer { "int8" } else { &facts.sql_type };
        conditions.push(format!("{compared} {sign} {}", draft.value(value, sql_type)));
    }
    if matches!(upper, Bound::Unbounded) && matches!(facts.sql_type.as_str(), "float8" | "numeric") {
        // NaN is larger than all numbers to PostgreSQL, and compares with nothing in Cypher.
        conditions.push(format!("{column} < 'NaN'"));
    }
    if conditions.is_empty() {
        return Some(format!("{column} IS NOT NULL"));
    }
    conditions.extend(dialect.is_of_kind(column, kind));
    Some(conditions.join(" AND "))
}

/// A range that a value is compared with and does not lie in; `None` where values may be such that do not compare.
fn not_between(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    column: &str,
    facts: &ColumnFacts,
    (lower, upper): (&Bound<Value>, &Bound<Value>),
) -> Option<String> {
    let is_nan = |bound: &Bound<Value>| match bound {
        Bound::Included(Value::Float(x)) | Bound::Excluded(Value::Float(x)) => x.is_nan(),
        _ => false,
    };
    let has_nan = matches!(facts.sql_type.as_str(), "float8" | "numeric") || facts.kind.is_none();
    if has_nan || is_nan(lower) || is_nan(upper) {
        return None;
    }
    let turned = |bound: &Bound<Value>| match bound {
        Bound::Unbounded => None,
        Bound::Included(value) => Some(Bound::Excluded(value.clone())),
        Bound::Excluded(value) => Some(Bound::Included(value.clone())),
    };
    let below = turned(lower).map(|bound| between(draft, dialect, column, facts, (&Bound::Unbounded, &bound)));
    let above = turned(upper).map(|bound| between(draft, dialect, column, facts, (&bound, &Bound::Unbounded)));
    match (below, above) {
        (Some(below), Some(above)) => Some(format!("({} OR {})", below?, above?)),
        (one, other) => one.or(other).unwrap_or_else(|| Some("1 = 0".to_owned())),
    }
}

fn kind_of_bound(bound: &Bound<Value>) -> Option<PropertyKind> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => PropertyKind::ALL.into_iter().find(|kind| kind.holds(value)),
        Bound::Unbounded => None,
    }
}

/// The column as it must stand where its values are put in order: strings go by their bytes in Cypher.
pub(super) fn compared(
    dialect: &'static dyn Dialect,
    column: &str,
    facts: &ColumnFacts,
    kind: Option<PropertyKind>,
) -> String {
    // A column that is read as a string, and orders as one by itself.
    let is_ordered = facts.is_binary || facts.sql_type == "uuid";
    if kind != Some(PropertyKind::String) || is_ordered {
        return column.to_owned();
    }
    dialect.by_bytes(column)
}

/// The terms of an order by a column; `None` if the database would not sort as Cypher does.
pub(super) fn order_of(
    dialect: &'static dyn Dialect,
    column: &str,
    (property, facts): (&Property, &ColumnFacts),
    way: KeyOrder,
) -> Option<Vec<String>> {
    let is_unknown = facts.kind.is_none() && !dialect.orders_unknown();
    if !is_compared_alike(property, facts) || is_unknown || facts.is_cut {
        return None;
    }
    let rank = dialect.rank_of_kind(column, facts.kind).filter(|_| facts.holds_any);
    let is_nullable = facts.is_nullable || rank.is_some();
    let mut terms = terms_of_null(dialect, column, is_nullable, way);
    let sorted = compared(dialect, column, facts, facts.kind);
    terms.extend(rank.into_iter().chain([sorted]).map(|term| term_of(dialect, &term, way)));
    Some(terms)
}

/// The term before others of an order that puts null after all values, where words behind the others do not.
pub(super) fn terms_of_null(
    dialect: &'static dyn Dialect,
    expression: &str,
    is_nullable: bool,
    way: KeyOrder,
) -> Vec<String> {
    // A term that is no column keeps the database from reading the rows in the order of an index.
    let goes_down = way == KeyOrder::Descending;
    let is_needed = is_nullable && dialect.order_of_null(goes_down).is_none();
    let down = if goes_down { " DESC" } else { "" };
    if is_needed { vec![format!("{expression} IS NULL{down}")] } else { Vec::new() }
}

/// An expression as a term of an order.
pub(super) fn term_of(dialect: &'static dyn Dialect, expression: &str, way: KeyOrder) -> String {
    let goes_down = way == KeyOrder::Descending;
    let down = if goes_down { " DESC" } else { "" };
    format!("{expression}{down}{}", dialect.order_of_null(goes_down).unwrap_or_default())
}

/// A value among those of a column.
enum Fit {
    /// This value of the column's type, and no other, equals it.
    Exactly(Value),
    /// No value of the column's type equals it.
    Never,
    /// The database's idea of equality is not Cypher's here.
    Unknown,
}

/// Tells whether a column could hold a value, as a key is kept.
pub(super) fn may_equal(value: &Value, facts: &ColumnFacts) -> bool {
    match value {
        Value::String(text) if facts.sql_type == NUMBER => digits::width(text).is_some(),
        value => !matches!(fit(value, facts), Fit::Never),
    }
}

/// From here on floats stand for several integers each.
const FLOATS_WHOLE: f64 = 9_007_199_254_740_992.0;

fn fit(value: &Value, facts: &ColumnFacts) -> Fit {
    match fit_type(value, facts) {
        // Only the type of the column says that no value equals it.
        Fit::Never if facts.holds_any => Fit::Unknown,
        fit => fit,
    }
}

fn fit_type(value: &Value, facts: &ColumnFacts) -> Fit {
    if matches!(value, Value::Float(x) if x.is_nan()) {
        return Fit::Never;
    }
    let Some(kind) = facts.kind else {
        let is_alike = match value {
            Value::Int(_) | Value::Float(_) => true,
            // A column without a type that is known may take the string of a number for the number.
            Value::String(text) => text.trim().parse::<f64>().is_err(),
            _ => false,
        };
        return if is_alike && facts.sql_type.is_empty() { Fit::Exactly(value.clone()) } else { Fit::Unknown };
    };
    match (kind, value) {
        // Integers of 64 bits may lie in such a column, which are shown as floats.
        (PropertyKind::Float, Value::Float(x)) if facts.holds_any && x.abs() >= FLOATS_WHOLE => Fit::Unknown,
        (PropertyKind::Float, Value::Int(x)) if facts.holds_any && (*x as f64).abs() >= FLOATS_WHOLE => Fit::Unknown,
        (PropertyKind::Integer, Value::Int(x)) => match facts.sql_type.as_str() {
            "int2" if i16::try_from(*x).is_err() => Fit::Never,
            "int4" if i32::try_from(*x).is_err() => Fit::Never,
            _ => Fit::Exactly(value.clone()),
        },
        (PropertyKind::Integer, Value::Float(x)) => match integer(*x) {
            Some(x) => fit(&Value::Int(x), facts),
            None => Fit::Never,
        },
        (PropertyKind::Float, Value::Int(x)) => {
            if integer(*x as f64) == Some(*x) {
                Fit::Exactly(Value::Float(*x as f64))
            } else {
                Fit::Never
            }
        }
        (PropertyKind::String, Value::String(text)) if facts.sql_type == "uuid" => {
            if is_uuid(text) {
                Fit::Exactly(value.clone())
            } else {
                Fit::Never
            }
        }
        // PostgreSQL, whose columns name their types, cannot even be given a string with this letter.
        (PropertyKind::String, Value::String(text)) if text.contains('\0') && !facts.sql_type.is_empty() => Fit::Never,
        (PropertyKind::DateTime, Value::DateTime(x)) if x.zone != model::temporal::Zone::UTC => Fit::Unknown,
        (PropertyKind::DateTime, Value::DateTime(x)) if x.nanosecond % 1_000 != 0 => Fit::Unknown,
        (PropertyKind::LocalDateTime, Value::LocalDateTime(x)) if x.nanosecond % 1_000 != 0 => Fit::Unknown,
        (PropertyKind::LocalTime, Value::LocalTime(x)) if x.0 % 1_000 != 0 => Fit::Unknown,
        (PropertyKind::Time | PropertyKind::Duration, _) => Fit::Unknown,
        (kind, value) if kind.holds(value) => Fit::Exactly(value.clone()),
        _ => Fit::Never,
    }
}

/// A bound that no value of the column equals, moved to the next value that there is on the side of the range.
fn rounded(value: &Value, kind: Option<PropertyKind>, is_lower: bool) -> Option<(Value, &'static str)> {
    let (above, below) = if is_lower { (">=", ">") } else { ("<", "<=") };
    match (kind?, value) {
        (PropertyKind::Integer, Value::Float(x)) if !x.is_nan() => {
            let whole = if is_lower { x.ceil() } else { x.floor() };
            Some(match (integer(whole), is_lower, *x > 0.0) {
                (Some(whole), true, _) => (Value::Int(whole), ">="),
                (Some(whole), false, _) => (Value::Int(whole), "<="),
                // Beyond all integers on the side of the range, none is in it; on the other side all are.
                (None, true, true) => (Value::Int(i64::MAX), ">"),
                (None, true, false) => (Value::Int(i64::MIN), ">="),
                (None, false, true) => (Value::Int(i64::MAX), "<="),
                (None, false, false) => (Value::Int(i64::MIN), "<"),
            })
        }
        (PropertyKind::Integer, Value::Int(x)) => Some((Value::Int(*x), if is_lower { ">=" } else { "<=" })),
        (PropertyKind::Float, Value::Int(x)) => {
            let near = *x as f64;
            let is_above = near as i128 > i128::from(*x);
            Some((Value::Float(near), if is_above { above } else { below }))
        }
        _ => None,
    }
}

/// Values that are looked for roughly, at most.
const ROUGH_VALUES_MAX: usize = 64;

/// A condition that holds of all numbers whose floats pass a test, and of few others: numbers that the database keeps with
/// more digits than floats have. An index serves it; the rows are tested here.
fn roughly(draft: &mut Draft<'_>, column: &str, sql_type: &str, test: &Test) -> Option<String> {
    let float = |value: &Value| match value {
        Value::Int(x) => Some(*x as f64),
        Value::Float(x) if x.is_finite() => Some(*x),
        _ => None,
    };
    let least = |draft: &mut Draft<'_>, x: f64| draft.value(Value::Float(x.next_down()), sql_type);
    let largest = |draft: &mut Draft<'_>, x: f64| draft.value(Value::Float(x.next_up()), sql_type);
    let is_wide = |x: &f64| x.next_down().is_finite() && x.next_up().is_finite();
    match test {
        Test::OneOf(values) if values.len() <= ROUGH_VALUES_MAX => {
            let near = values.iter().map(|value| {
                let x = float(value).filter(is_wide)?;
                Some(format!("{column} BETWEEN {} AND {}", least(draft, x), largest(draft, x)))
            });
            let near: Vec<String> = near.collect::<Option<_>>()?;
            (!near.is_empty()).then(|| format!("({})", near.join(" OR ")))
        }
        Test::Between(lower, upper) => {
            let bound = |bound: &Bound<Value>| match bound {
                Bound::Included(value) | Bound::Excluded(value) => float(value).filter(is_wide),
                Bound::Unbounded => None,
            };
            let mut ranges = Vec::new();
            if let Some(x) = bound(lower) {
                ranges.push(format!("{column} >= {}", least(draft, x)));
            }
            if let Some(x) = bound(upper) {
                ranges.push(format!("{column} <= {}", largest(draft, x)));
            }
            (!ranges.is_empty()).then(|| ranges.join(" AND "))
        }
        _ => None,
    }
}

/// A condition that holds of all strings that equal one of the values, and of few others: those with other blanks at the end.
fn but_for_blanks(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    column: &str,
    facts: &ColumnFacts,
    values: &[Value],
) -> String {
    let texts: Vec<Value> = values.iter().filter(|value| matches!(value, Value::String(_))).cloned().collect();
    if texts.is_empty() {
        return "1 = 0".to_owned();
    }
    dialect.one_of(draft, column, facts, Cow::Owned(Column::from_values(&texts)), true)
}

fn integer(x: f64) -> Option<i64> {
    // 2^63 is the first float that is no integer of 64 bits.
    (x.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x)).then_some(x as i64)
}

/// True if a string is in the form in which a `uuid` is printed.
pub(super) fn is_uuid(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

/// A condition as a database tests it.
pub(super) struct Tested {
    /// The condition in SQL, which holds wherever that of Cypher does; nothing where it would leave nothing out.
    text: Option<String>,
    /// True if it holds nowhere else.
    is_exact: bool,
    /// True if it leaves out nearly all for which that of Cypher does not hold.
    is_narrow: bool,
}

impl Tested {
    /// True if the database finds what the condition holds for, without many others.
    pub(super) fn is_found(&self) -> bool {
        self.is_exact || self.is_narrow
    }
}

/// A condition in SQL, as far as the database tests it.
pub(super) fn tested(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    alias: &str,
    rows: (&str, &[Property], &RowsFacts),
    condition: &Condition,
) -> Result<Tested> {
    let parts = match condition {
        Condition::Is { property: number, test } => {
            return one_test(draft, dialect, alias, rows, (*number, test));
        }
        Condition::All(parts) | Condition::Any(parts) => parts,
    };
    let parts = parts.iter().map(|part| tested(draft, dialect, alias, rows, part));
    let parts: Vec<Tested> = parts.collect::<Result<_>>()?;
    match condition {
        Condition::Is { .. } | Condition::All(_) => {
            let (is_exact, is_narrow) = (parts.iter().all(|part| part.is_exact), parts.iter().any(Tested::is_found));
            let texts: Vec<String> = parts.into_iter().filter_map(|part| part.text).collect();
            let text = (!texts.is_empty()).then(|| format!("({})", texts.join(" AND ")));
            Ok(Tested { text, is_exact, is_narrow })
        }
        Condition::Any(_) if parts.is_empty() => {
            Ok(Tested { text: Some("1 = 0".to_owned()), is_exact: true, is_narrow: true })
        }
        Condition::Any(_) => {
            let (is_exact, is_narrow) = (parts.iter().all(|part| part.is_exact), parts.iter().all(Tested::is_found));
            let texts: Option<Vec<String>> = parts.into_iter().map(|part| Some(format!("({})", part.text?))).collect();
            Ok(Tested { text: texts.map(|texts| format!("({})", texts.join(" OR "))), is_exact, is_narrow })
        }
    }
}

fn one_test(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    alias: &str,
    (kind, properties, facts): (&str, &[Property], &RowsFacts),
    (number, test): (usize, &Test),
) -> Result<Tested> {
    let property = property(kind, properties, number)?;
    let facts = facts.column(&property.column);
    if let Some(text) = condition(draft, dialect, alias, (property, facts), test) {
        return Ok(Tested { text: Some(text), is_exact: true, is_narrow: true });
    }
    let column = quote::column(dialect, alias, &property.column);
    let is_rough = facts.is_rounded && property.kind.is_none();
    let rough = match test {
        _ if is_rough => roughly(draft, &column, &facts.sql_type, test),
        Test::OneOf(values) if facts.is_padded() && property.kind.is_none() => {
            Some(but_for_blanks(draft, dialect, &column, facts, values))
        }
        _ => None,
    };
    let is_narrow = rough.is_some();
    // Nothing but its absence holds of null.
    let present = || (*test != Test::Absent).then(|| format!("{column} IS NOT NULL"));
    Ok(Tested { text: rough.or_else(present), is_exact: false, is_narrow })
}

/// Adds the conditions to a draft; those that the database does not answer are left to be tested.
pub(super) fn add_conditions(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    alias: &str,
    rows: (&str, &[Property], &RowsFacts),
    conditions: &[Condition],
) -> Result<Vec<Condition>> {
    let mut left = Vec::new();
    for condition in conditions {
        let tested = tested(draft, dialect, alias, rows, condition)?;
        draft.conditions.extend(tested.text);
        if !tested.is_exact {
            left.push(condition.clone());
        }
    }
    Ok(left)
}
