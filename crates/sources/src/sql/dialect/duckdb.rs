//! The dialect of DuckDB.

use std::borrow::Cow;

use model::{Column, PropertyKind, Result, Value};

use super::Dialect;
use crate::registry::{DUCKDB_QUOTES, Quotes};
use crate::sql::conditions::is_uuid;
use crate::sql::draft::Draft;
use crate::sql::rows::key_columns;
use crate::sql::{ColumnFacts, ParameterValue, digits};

/// Values that stand in a statement as parameters; more are passed as a list.
const PARAMETERS_MAX: usize = 4;
/// Digits of a decimal number, at most.
const DIGITS_MAX: usize = 38;

/// The type of columns of integers that may have more than 64 bits.
pub(crate) const WHOLE: &str = "HUGEINT";
/// Start of the types of decimal numbers.
const DECIMAL: &str = "DECIMAL";

#[derive(Debug)]
pub(super) struct Duckdb;

impl Dialect for Duckdb {
    fn quotes(&self) -> Quotes {
        DUCKDB_QUOTES
    }

    fn parameter(&self, number: usize) -> Option<String> {
        Some(format!("${number}"))
    }

    fn may_equal(&self, key: &Value, facts: &[&ColumnFacts]) -> bool {
        facts.iter().all(|facts| fit(key, facts).is_some())
    }

    /// A number in digits keeps them all; floats are compared as floats.
    fn cast(&self, parameter: String, value: &Value, sql_type: &str) -> String {
        match (value, sql_type) {
            (Value::String(text), of) if of.starts_with(DECIMAL) => {
                let (_, fraction) = digits::width(text).unwrap_or_default();
                format!("CAST({parameter} AS DECIMAL({DIGITS_MAX}, {fraction}))")
            }
            (Value::String(_), WHOLE | "uuid") => format!("CAST({parameter} AS {sql_type})"),
            _ => parameter,
        }
    }

    /// Rows of several values are put in one column before they are written: all are numbers of its type, else some would
    /// become floats.
    fn assigned(&self, parameter: String, value: &Value, sql_type: &str) -> String {
        match value {
            Value::Null => parameter,
            _ if sql_type.starts_with(DECIMAL) => format!("CAST(CAST({parameter} AS VARCHAR) AS {sql_type})"),
            _ => self.cast(parameter, value, sql_type),
        }
    }

    fn array<'q>(&self, draft: &mut Draft<'q>, values: Cow<'q, Column>, sql_type: &str) -> String {
        let mark = draft.mark(ParameterValue::Array(values), sql_type);
        match sql_type {
            "uuid" => format!("CAST({mark} AS UUID[])"),
            of if of.starts_with(DECIMAL) || of == WHOLE => format!("CAST({mark} AS {of}[])"),
            _ => mark,
        }
    }

    /// A few values are looked up by an index; of more the database makes a table.
    fn one_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expression: &str,
        facts: &ColumnFacts,
        values: Cow<'q, Column>,
        _has_index: bool,
    ) -> String {
        let values = fitting(&values, facts);
        if values.is_empty() {
            return "1 = 0".to_owned();
        }
        if values.len() <= PARAMETERS_MAX {
            return format!("{expression} IN ({})", draft.list(&values, &[&facts.sql_type]));
        }
        let list = draft.array(Cow::Owned(values), &facts.sql_type);
        format!("{expression} IN (SELECT unnest({list}))")
    }

    fn rows_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expressions: &[String],
        facts: &[&ColumnFacts],
        keys: &'q Column,
    ) -> Result<()> {
        let columns = key_columns(keys, facts.len())?;
        let mut kept: Vec<Vec<Value>> = vec![Vec::new(); facts.len()];
        for row in 0..keys.len() {
            let parts = columns.iter().zip(facts).map(|(column, facts)| fit(&column.value(row), facts));
            if let Some(parts) = parts.collect::<Option<Vec<Value>>>() {
                kept.iter_mut().zip(parts).for_each(|(kept, part)| kept.push(part));
            }
        }
        if kept.first().is_none_or(Vec::is_empty) {
            draft.conditions.push("1 = 0".to_owned());
            return Ok(());
        }
        let lists = kept.iter().zip(facts).map(|(values, facts)| {
            format!("unnest({})", draft.array(Cow::Owned(Column::from_values(values)), &facts.sql_type))
        });
        let lists: Vec<String> = lists.collect();
        draft.conditions.push(format!("({}) IN (SELECT {})", expressions.join(", "), lists.join(", ")));
        Ok(())
    }

    fn starts_with(&self, draft: &mut Draft<'_>, column: &str, _facts: &ColumnFacts, prefix: &str) -> String {
        format!("starts_with({column}::VARCHAR, {})", draft.value(Value::string(prefix), ""))
    }

    fn ends_with(&self, draft: &mut Draft<'_>, column: &str, end: &str) -> String {
        format!("suffix({column}::VARCHAR, {})", draft.value(Value::string(end), ""))
    }

    fn contains(&self, draft: &mut Draft<'_>, column: &str, part: &str) -> String {
        format!("contains({column}::VARCHAR, {})", draft.value(Value::string(part), ""))
    }

    fn by_bytes(&self, column: &str) -> String {
        format!("{column} COLLATE C")
    }

    fn elements(&self, array: &str, _facts: &ColumnFacts, alias: &str) -> String {
        format!("\nCROSS JOIN unnest({array}) AS {alias}(value)")
    }

    fn is_loose(&self, end: &ColumnFacts, key: &ColumnFacts) -> bool {
        key.is_loose || end.is_loose || end.kind != key.kind
    }
}

/// The values that a column may hold, as they are compared with it: it would convert the others, or fail.
fn fitting(values: &Column, facts: &ColumnFacts) -> Column {
    let values: Vec<Value> = values.values().filter_map(|value| fit(&value, facts)).collect();
    Column::from_values(&values)
}

fn fit(value: &Value, facts: &ColumnFacts) -> Option<Value> {
    let of = &*facts.sql_type;
    match (facts.kind, value) {
        (_, Value::Null) => None,
        (_, Value::Float(x)) if x.is_nan() => None,
        (Some(PropertyKind::Float), Value::Int(_) | Value::Float(_) | Value::String(_)) if of.starts_with(DECIMAL) => {
            exact(value, of)
        }
        (Some(PropertyKind::Float), Value::Int(x)) => Some(Value::Float(*x as f64)),
        (Some(PropertyKind::Integer), Value::Int(x)) if of == WHOLE => Some(Value::String(x.to_string().into())),
        (Some(PropertyKind::Integer), Value::String(text)) if of == WHOLE => {
            text.parse::<i128>().ok().map(|_| value.clone())
        }
        (Some(PropertyKind::String), Value::String(text)) if of == "uuid" => is_uuid(text).then(|| value.clone()),
        (Some(kind), value) => kind.holds(value).then(|| value.clone()),
        (None, Value::Bytes(_)) => Some(value.clone()),
        (None, _) if of.is_empty() => Some(value.clone()),
        (None, _) => None,
    }
}

/// A number in digits, if a decimal type has room for them.
fn exact(value: &Value, sql_type: &str) -> Option<Value> {
    let text = match value {
        Value::Float(x) => format!("{x}"),
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    };
    let (whole, fraction) = digits::width(&text)?;
    let (all, scale) = digits::declared(sql_type)?;
    let (all, scale) = (all as usize, usize::try_from(scale).ok()?);
    (fraction <= scale && whole <= all - scale || whole == 1 && all == scale && fraction <= scale)
        .then(|| Value::String(text.into()))
}

#[cfg(test)]
mod tests {
    use model::Value;

    use super::exact;

    #[test]
    fn numbers_that_a_type_has_no_room_for_equal_none_of_it() {
        let fits = |value: Value| exact(&value, "DECIMAL(5,2)").is_some();
        assert!(fits(Value::Int(999)) && fits(Value::Float(1.25)) && fits(Value::string("-999.99")));
        assert!(!fits(Value::Int(1_000)) && !fits(Value::Float(1.005)) && !fits(Value::string("x")));
        assert!(exact(&Value::Float(0.5), "DECIMAL(2,2)").is_some());
    }
}
