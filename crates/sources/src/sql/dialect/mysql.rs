//! The dialect of MySQL and MariaDB.

use std::borrow::Cow;

use model::{Column, PropertyKind, Result, Value};

use super::Dialect;
use crate::registry::{MYSQL_QUOTES, Quotes};
use crate::sql::catalog::NUMBER;
use crate::sql::conditions::may_equal;
use crate::sql::draft::Draft;
use crate::sql::rows::key_columns;
use crate::sql::{ColumnFacts, digits, quote};

/// Digits of a number, and those after the point, that the database can be told.
const NUMBER_DIGITS: (usize, usize) = (65, 30);

#[derive(Debug)]
pub(super) struct MySql;

impl Dialect for MySql {
    fn quotes(&self) -> Quotes {
        MYSQL_QUOTES
    }

    fn default_row(&self) -> &'static str {
        "() VALUES ()"
    }

    fn cast(&self, parameter: String, value: &Value, sql_type: &str) -> String {
        match (number_type(value, sql_type), sql_type.strip_prefix(COLLATE)) {
            (Some(of_number), _) => format!("CAST({parameter} AS {of_number})"),
            (None, Some(collation)) if matches!(value, Value::String(_)) => {
                let character_set = collation.split('_').next().unwrap_or(collation);
                format!("CONVERT({parameter} USING {character_set}) COLLATE {collation}")
            }
            _ => parameter,
        }
    }

    /// A string that is no number is none of a column of numbers; the database would take it for 0.
    fn can_hold(&self, value: &Value, sql_type: &str) -> bool {
        !matches!(value, Value::String(_)) || sql_type != NUMBER || number_type(value, NUMBER).is_some()
    }

    fn may_equal(&self, key: &Value, facts: &[&ColumnFacts]) -> bool {
        facts.iter().all(|facts| may_equal(key, facts))
    }

    /// A parameter of a union is taken for a string until its type is stated.
    fn selected(&self, parameter: String, is_integer: bool) -> String {
        if is_integer { format!("CAST({parameter} AS SIGNED)") } else { parameter }
    }

    fn array<'q>(&self, draft: &mut Draft<'q>, values: Cow<'q, Column>, sql_type: &str) -> String {
        draft.list(&values, &[sql_type])
    }

    fn one_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expression: &str,
        facts: &ColumnFacts,
        values: Cow<'q, Column>,
        _has_index: bool,
    ) -> String {
        let condition = format!("{expression} IN ({})", draft.list(&values, &[&*compared_type(facts)]));
        // Most collations take letters of both cases for equal; the first condition finds, the second decides.
        if is_text(&values, facts) {
            format!("({condition} AND {} IN ({}))", bytes_of(expression), draft.list(&values, &[""]))
        } else {
            condition
        }
    }

    fn rows_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expressions: &[String],
        facts: &[&ColumnFacts],
        keys: &'q Column,
    ) -> Result<()> {
        let types: Vec<Cow<'_, str>> = facts.iter().map(|facts| compared_type(facts)).collect();
        let types: Vec<&str> = types.iter().map(|of| &**of).collect();
        let rows = draft.list(keys, &types);
        draft.conditions.push(format!("({}) IN ({rows})", expressions.join(", ")));
        for ((expression, facts), column) in expressions.iter().zip(facts).zip(key_columns(keys, facts.len())?) {
            if is_text(&column, facts) {
                let values = draft.list(&column, &[""]);
                draft.conditions.push(format!("{} IN ({values})", bytes_of(expression)));
            }
        }
        Ok(())
    }

    fn starts_with(&self, draft: &mut Draft<'_>, column: &str, facts: &ColumnFacts, prefix: &str) -> String {
        let pattern = draft.value(Value::string(&quote::prefix_pattern(prefix)), &compared_type(facts));
        let exact = draft.value(Value::string(prefix), "");
        let start = format!("LEFT({}, OCTET_LENGTH(CONVERT({exact} USING utf8mb4)))", bytes_of(column));
        format!("({column} LIKE {pattern} ESCAPE '!' AND {start} = {exact})")
    }

    fn ends_with(&self, draft: &mut Draft<'_>, column: &str, end: &str) -> String {
        let end = bytes_of(&draft.value(Value::string(end), ""));
        format!("RIGHT({}, OCTET_LENGTH({end})) = {end}", bytes_of(column))
    }

    fn contains(&self, draft: &mut Draft<'_>, column: &str, part: &str) -> String {
        let part = bytes_of(&draft.value(Value::string(part), ""));
        format!("LOCATE({part}, {}) > 0", bytes_of(column))
    }

    /// Days that are none are shown as strings.
    fn is_of_kind(&self, column: &str, kind: Option<PropertyKind>) -> Option<String> {
        is_date(kind).then(|| format!("MONTH({column}) > 0 AND DAYOFMONTH({column}) > 0"))
    }

    /// `IS NULL` holds of the day that is none, too, if the column is never null.
    fn is_null(&self, column: &str) -> String {
        format!("{column} <=> NULL")
    }

    fn order_of_null(&self, _goes_down: bool) -> Option<&'static str> {
        None
    }

    fn rank_of_kind(&self, column: &str, kind: Option<PropertyKind>) -> Option<String> {
        is_date(kind).then(|| format!("(MONTH({column}) = 0 OR DAYOFMONTH({column}) = 0)"))
    }

    fn by_bytes(&self, column: &str) -> String {
        bytes_of(column)
    }

    fn string_of_bytes(&self, expression: String) -> String {
        format!("CONVERT({expression} USING utf8mb4)")
    }

    fn elements(&self, array: &str, facts: &ColumnFacts, alias: &str) -> String {
        let element = if facts.sql_type.is_empty() { "VARCHAR(255)" } else { &facts.sql_type };
        format!("\nJOIN JSON_TABLE({array}, '$[*]' COLUMNS (value {element} PATH '$')) AS {alias}")
    }

    fn is_loose(&self, end: &ColumnFacts, key: &ColumnFacts) -> bool {
        end.is_loose || key.is_loose
    }

    /// A recursive query has the types of its first rows, which may be narrower.
    fn reached(&self, expression: &str, _sql_type: &str, is_alike: bool) -> String {
        let wide = if is_alike { "SIGNED" } else { "CHAR(255)" };
        format!("CAST({expression} AS {wide})")
    }
}

/// Type of a parameter that is compared with a column of this collation.
const COLLATE: &str = "collate ";

/// The type of parameters that are compared with a column. A string that the column's character set lacks would make the
/// comparison an error; converted, it finds strings with `?` in its place, which the comparison of the bytes leaves out.
fn compared_type(facts: &ColumnFacts) -> Cow<'_, str> {
    match &*facts.collation {
        "" => Cow::Borrowed(&facts.sql_type),
        collation => Cow::Owned(format!("{COLLATE}{collation}")),
    }
}

/// For a number in digits that is compared with, or written to, a column of numbers: the type that holds just it. As a
/// string, and with a string, it would be compared as a float.
fn number_type(value: &Value, sql_type: &str) -> Option<String> {
    let (NUMBER, Value::String(text)) = (sql_type, value) else { return None };
    let (whole, fraction) = digits::width(text)?;
    let fits = whole + fraction <= NUMBER_DIGITS.0 && fraction <= NUMBER_DIGITS.1;
    fits.then(|| format!("DECIMAL({}, {fraction})", whole + fraction))
}

/// A string as bytes of UTF-8, which compare as Cypher's strings do.
fn bytes_of(expression: &str) -> String {
    format!("CAST(CONVERT({expression} USING utf8mb4) AS BINARY)")
}

fn is_date(kind: Option<PropertyKind>) -> bool {
    matches!(kind, Some(PropertyKind::Date | PropertyKind::LocalDateTime))
}

/// True if values are strings that are compared with strings.
fn is_text(column: &Column, facts: &ColumnFacts) -> bool {
    matches!(facts.kind, None | Some(PropertyKind::String))
        && (0..column.len()).any(|row| matches!(column.value(row), Value::String(_)))
}
