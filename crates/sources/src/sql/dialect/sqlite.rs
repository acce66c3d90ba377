//! The dialect of SQLite.

use std::borrow::Cow;

use model::{Column, ColumnData, PropertyKind, Result, Value};

use super::Dialect;
use crate::registry::{Quotes, SQLITE_QUOTES};
use crate::sql::draft::Draft;
use crate::sql::{ColumnFacts, ParameterValue};

/// Values that stand in a statement as parameters; more are passed as JSON.
const PARAMETERS_MAX: usize = 16_000;

#[derive(Debug)]
pub(super) struct Sqlite;

impl Dialect for Sqlite {
    fn quotes(&self) -> Quotes {
        SQLITE_QUOTES
    }

    fn parameter(&self, number: usize) -> Option<String> {
        Some(format!("?{number}"))
    }

    fn version(&self) -> &'static str {
        "SELECT sqlite_version()"
    }

    fn array<'q>(&self, draft: &mut Draft<'q>, values: Cow<'q, Column>, _sql_type: &str) -> String {
        let text = Value::String(json(&values).to_string().into());
        draft.mark(ParameterValue::One(text), "")
    }

    fn one_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expression: &str,
        _facts: &ColumnFacts,
        values: Cow<'q, Column>,
        _has_index: bool,
    ) -> String {
        format!("{expression} IN {}", members(draft, values, 1))
    }

    fn rows_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expressions: &[String],
        facts: &[&ColumnFacts],
        keys: &'q Column,
    ) -> Result<()> {
        let rows = members(draft, Cow::Borrowed(keys), facts.len());
        draft.conditions.push(format!("({}) IN {rows}", expressions.join(", ")));
        Ok(())
    }

    /// `LIKE` takes letters of both cases for equal.
    fn starts_with(&self, draft: &mut Draft<'_>, column: &str, _facts: &ColumnFacts, prefix: &str) -> String {
        let text = draft.value(Value::string(prefix), "");
        format!("(typeof({column}) = 'text' AND substr({column}, 1, length({text})) = {text})")
    }

    /// As bytes, of which zero is one as any other. From the place 0 on, a part of them is all.
    fn ends_with(&self, draft: &mut Draft<'_>, column: &str, end: &str) -> String {
        if end.is_empty() {
            return format!("typeof({column}) = 'text'");
        }
        let bytes = format!("CAST({} AS BLOB)", draft.value(Value::string(end), ""));
        // A part of no bytes is null.
        let end = format!("ifnull(substr(CAST({column} AS BLOB), -length({bytes})), x'')");
        format!("(typeof({column}) = 'text' AND {end} = {bytes})")
    }

    fn contains(&self, draft: &mut Draft<'_>, column: &str, part: &str) -> String {
        let text = draft.value(Value::string(part), "");
        format!("(typeof({column}) = 'text' AND instr({column}, {text}) > 0)")
    }

    /// Columns have no types: values of all kinds may lie in them.
    fn is_of_kind(&self, column: &str, kind: Option<PropertyKind>) -> Option<String> {
        match kind? {
            PropertyKind::Integer | PropertyKind::Float => Some(format!("typeof({column}) IN ('integer', 'real')")),
            PropertyKind::String => Some(format!("typeof({column}) = 'text'")),
            _ => None,
        }
    }

    fn is_exactly(&self, column: &str, kind: PropertyKind) -> Option<String> {
        let stored = match kind {
            PropertyKind::Integer => "integer",
            PropertyKind::Float => "real",
            PropertyKind::String => "text",
            _ => return None,
        };
        Some(format!("typeof({column}) = '{stored}'"))
    }

    fn rank_of_kind(&self, column: &str, _kind: Option<PropertyKind>) -> Option<String> {
        Some(format!("CASE typeof({column}) WHEN 'text' THEN 0 WHEN 'blob' THEN 2 WHEN 'null' THEN 3 ELSE 1 END"))
    }

    fn by_bytes(&self, column: &str) -> String {
        format!("{column} COLLATE BINARY")
    }

    fn elements(&self, array: &str, _facts: &ColumnFacts, alias: &str) -> String {
        format!("\nJOIN json_each({array}) AS {alias}")
    }

    /// The columns of the nodes say how they are compared; values of other types are converted to theirs.
    fn is_loose(&self, end: &ColumnFacts, key: &ColumnFacts) -> bool {
        key.is_loose || end.kind != key.kind
    }
}

/// The list behind `IN` for values, or for rows of them where there are several columns.
fn members<'q>(draft: &mut Draft<'q>, values: Cow<'q, Column>, columns: usize) -> String {
    if !is_kept_by_json(&values) && values.len() * columns <= PARAMETERS_MAX {
        let values_of = if columns > 1 { "VALUES " } else { "" };
        return format!("({values_of}{})", draft.list(&values, &vec![""; columns]));
    }
    let array = draft.array(values, "");
    if columns == 1 {
        return format!("(SELECT value FROM json_each({array}))");
    }
    let parts: Vec<String> = (0..columns).map(|at| format!("json_extract(value, '$[{at}]')")).collect();
    format!("(SELECT {} FROM json_each({array}))", parts.join(", "))
}

/// True if JSON keeps values as they are: SQLite reads floats from strings with an error in the last digit, and JSON
/// has no bytes.
fn is_kept_by_json(column: &Column) -> bool {
    fn is_kept(value: &Value) -> bool {
        match value {
            Value::Float(_) | Value::Bytes(_) => false,
            Value::String(text) => !text.contains('\0'),
            Value::List(items) => items.iter().all(is_kept),
            _ => true,
        }
    }
    matches!(column.data, ColumnData::Int(_)) || column.values().all(|value| is_kept(&value))
}

/// A column as JSON, for `json_each`.
fn json(column: &Column) -> serde_json::Value {
    match &column.data {
        ColumnData::Int(rows) if column.validity.is_none() => rows.iter().copied().collect(),
        _ => column.values().map(|value| json_of(&value)).collect(),
    }
}

fn json_of(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(x) => i64::from(*x).into(),
        Value::Int(x) => (*x).into(),
        Value::Float(x) => (*x).into(),
        Value::String(x) => (&**x).into(),
        Value::List(items) => items.iter().map(json_of).collect(),
        other => other.to_string().into(),
    }
}
