//! Cells as values. SQLite keeps any value in any column; what a column declares says what its values mean.

use model::temporal::{Date, LocalDateTime, LocalTime, NANOS_OF_SECOND};
use model::{Column, PropertyKind, Value};
use rusqlite::Statement;
use rusqlite::types::{Value as SqlValue, ValueRef};

use crate::catalog::{ColumnKind, TableColumn};
use crate::relational::cells::Cells;
use crate::sql::{ColumnFacts, Form, digits};

/// The columns of a statement: the values that they hold, and the form in which they are read.
pub(super) struct Decoder {
    columns: Vec<(ColumnKind, Form)>,
}

/// A row that is being read.
pub(super) struct Row<'a, 's>(pub(super) &'a rusqlite::Row<'s>);

impl Decoder {
    pub(super) fn of(statement: &Statement<'_>, forms: &[Form]) -> Decoder {
        let forms = forms.iter().copied().chain(std::iter::repeat(Form::Shown));
        let columns = statement.columns().zip(forms);
        let read = columns.map(|(column, form)| (kind_of(column.decl_type().unwrap_or("")), form));
        Decoder { columns: read.collect() }
    }

    pub(super) fn begin(&self) -> Vec<Cells> {
        self.columns.iter().map(|_| Cells::default()).collect()
    }

    #[inline]
    pub(super) fn push(&self, cells: &mut [Cells], row: Row<'_, '_>) -> rusqlite::Result<()> {
        for (at, ((kind, form), cells)) in self.columns.iter().zip(cells).enumerate() {
            match (row.0.get_ref(at)?, kind) {
                // A text that is none could not be asked for again.
                (ValueRef::Text(bytes), _) if *form == Form::Stored => {
                    let text = std::str::from_utf8(bytes).map_err(|cause| rusqlite::Error::Utf8Error(at, cause))?;
                    cells.push_text(text);
                }
                (ValueRef::Integer(x), _) if *form == Form::Stored => cells.push_int(x),
                (ValueRef::Integer(x), ColumnKind::Decimal) if *form == Form::Digits => cells.push_int(x),
                (ValueRef::Integer(x), ColumnKind::One(PropertyKind::Float) | ColumnKind::Decimal) => {
                    cells.push_float(x as f64);
                }
                (ValueRef::Integer(x), ColumnKind::One(PropertyKind::Boolean)) if x == 0 || x == 1 => {
                    cells.push(&Value::Bool(x == 1));
                }
                (ValueRef::Integer(x), _) => cells.push_int(x),
                (ValueRef::Real(x), _) => cells.push_float(x),
                (ValueRef::Text(bytes), kind) => match (std::str::from_utf8(bytes), kind) {
                    (Ok(text), ColumnKind::One(kind)) => match time_of(text, *kind) {
                        Some(value) => cells.push(&value),
                        None => cells.push_text(text),
                    },
                    (Ok(text), _) => cells.push_text(text),
                    (Err(_), _) => cells.push(&Value::Bytes(bytes.into())),
                },
                (ValueRef::Blob(bytes), _) => cells.push(&Value::Bytes(bytes.into())),
                (ValueRef::Null, _) => cells.push(&Value::Null),
            }
        }
        Ok(())
    }

    pub(super) fn finish(&self, cells: Vec<Cells>) -> Vec<Column> {
        cells.into_iter().map(Cells::finish).collect()
    }
}

/// The value of a string in a column that declares a type of time; one that does not read as such stays a string.
fn time_of(text: &str, kind: PropertyKind) -> Option<Value> {
    let moment = || {
        let with_t = text.replacen(' ', "T", 1);
        LocalDateTime::parse(&with_t)
            .or_else(|| Date::parse(text).map(|date| LocalDateTime::of(date, LocalTime(0))))
            .filter(|_| text.len() >= "2020-01-01".len())
    };
    match kind {
        PropertyKind::LocalDateTime => moment().map(Value::LocalDateTime),
        PropertyKind::Date => {
            moment().filter(|moment| moment.time() == LocalTime(0)).map(|moment| Value::Date(moment.date()))
        }
        PropertyKind::LocalTime => LocalTime::parse(text).map(Value::LocalTime),
        _ => None,
    }
}

/// The kind of values of a declared type, by SQLite's rules and the names of types that people use.
pub(super) fn kind_of(declared: &str) -> ColumnKind {
    let declared = declared.to_ascii_uppercase();
    let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
    let bare = declared.split('(').next().unwrap_or("").trim();
    match bare {
        "" => ColumnKind::Any,
        "DATE" => ColumnKind::One(PropertyKind::Date),
        "TIME" => ColumnKind::One(PropertyKind::LocalTime),
        "NUMERIC" | "DECIMAL" | "NUMBER" | "MONEY" => match digits::declared(&declared) {
            Some(found) if digits::are_integers(found) => ColumnKind::One(PropertyKind::Integer),
            _ => ColumnKind::Decimal,
        },
        _ if has(&["DATETIME", "TIMESTAMP"]) => ColumnKind::One(PropertyKind::LocalDateTime),
        _ if has(&["BOOL"]) => ColumnKind::One(PropertyKind::Boolean),
        _ if has(&["INT"]) => ColumnKind::One(PropertyKind::Integer),
        _ if has(&["CHAR", "CLOB", "TEXT", "JSON"]) => ColumnKind::One(PropertyKind::String),
        _ if has(&["BLOB"]) => ColumnKind::Bytes,
        _ if has(&["REAL", "FLOA", "DOUB"]) => ColumnKind::One(PropertyKind::Float),
        _ => ColumnKind::Any,
    }
}

/// The facts of a column that statements need.
pub(super) fn facts(column: &TableColumn) -> ColumnFacts {
    let kind = match column.kind {
        ColumnKind::One(kind) => Some(kind),
        ColumnKind::Decimal => Some(PropertyKind::Float),
        _ => None,
    };
    let as_stored = matches!(kind, None | Some(PropertyKind::Integer | PropertyKind::Float | PropertyKind::String));
    // A collation that takes other texts for equal is written behind the type.
    let has_collation = column.declared.contains("COLLATE");
    let is_decimal = column.kind == ColumnKind::Decimal;
    let is_rounded = is_decimal && digits::are_rounded(digits::declared(&column.declared));
    let is_text = matches!(kind, None | Some(PropertyKind::String));
    // In a column of any other type SQLite takes the string of a number for the number.
    let declared = column.declared.to_ascii_uppercase();
    let keeps_text =
        kind != Some(PropertyKind::String) || ["CHAR", "CLOB", "TEXT"].iter().any(|part| declared.contains(part));
    ColumnFacts {
        sql_type: String::new(),
        kind,
        compares: as_stored && keeps_text && !has_collation && !is_rounded && column.kind != ColumnKind::Bytes,
        is_binary: !has_collation,
        is_cut: false,
        collation: String::new(),
        is_nullable: column.is_nullable,
        as_text: false,
        is_rounded,
        is_shown_otherwise: is_decimal || !as_stored,
        is_loose: has_collation && is_text,
        is_wide: false,
        holds_any: true,
    }
}

/// A value as SQLite keeps it.
pub(super) fn to_sql(value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::Null,
        Value::Bool(x) => SqlValue::Integer(i64::from(*x)),
        Value::Int(x) => SqlValue::Integer(*x),
        Value::Float(x) => SqlValue::Real(*x),
        Value::String(text) => SqlValue::Text(text.to_string()),
        Value::Bytes(bytes) => SqlValue::Blob(bytes.to_vec()),
        // As SQLite's own functions write them: with seconds.
        Value::LocalDateTime(at) => SqlValue::Text(format!("{} {}", Value::Date(at.date()), time_text(at.time()))),
        Value::LocalTime(time) => SqlValue::Text(time_text(*time)),
        other => SqlValue::Text(other.to_string()),
    }
}

fn time_text(time: LocalTime) -> String {
    let (seconds, nanos) = (time.0 / NANOS_OF_SECOND, time.0 % NANOS_OF_SECOND);
    let text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match format!("{nanos:09}").trim_end_matches('0') {
        "" => text,
        fraction => format!("{text}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use model::PropertyKind;

    use super::{kind_of, time_of};
    use crate::catalog::ColumnKind;

    #[test]
    fn declared_types_say_what_values_are() {
        for (declared, kind) in [
            ("INTEGER", ColumnKind::One(PropertyKind::Integer)),
            ("smallint", ColumnKind::One(PropertyKind::Integer)),
            ("NVARCHAR(160)", ColumnKind::One(PropertyKind::String)),
            ("NUMERIC(10,2)", ColumnKind::Decimal),
            ("decimal(18,0)", ColumnKind::One(PropertyKind::Integer)),
            ("NUMERIC(19)", ColumnKind::Decimal),
            ("DATETIME", ColumnKind::One(PropertyKind::LocalDateTime)),
            ("date", ColumnKind::One(PropertyKind::Date)),
            ("double precision", ColumnKind::One(PropertyKind::Float)),
            ("boolean", ColumnKind::One(PropertyKind::Boolean)),
            ("", ColumnKind::Any),
            ("BLOB", ColumnKind::Bytes),
        ] {
            assert_eq!(kind_of(declared), kind, "{declared}");
        }
    }

    #[test]
    fn texts_in_columns_of_time_are_times_where_they_read_as_such() {
        for (text, kind, value) in [
            ("2009-01-01 00:00:00", PropertyKind::LocalDateTime, Some("2009-01-01T00:00:00")),
            ("2009-01-02", PropertyKind::LocalDateTime, Some("2009-01-02T00:00:00")),
            ("2009-01-02 10:30:00.5", PropertyKind::LocalDateTime, Some("2009-01-02T10:30:00.500000000")),
            ("2009-01-02", PropertyKind::Date, Some("2009-01-02")),
            ("2009-01-02 00:00:00", PropertyKind::Date, Some("2009-01-02")),
            ("2009-01-02 01:00:00", PropertyKind::Date, None),
            ("soon", PropertyKind::Date, None),
            ("2009", PropertyKind::Date, None),
            ("10:30", PropertyKind::LocalTime, Some("10:30:00")),
        ] {
            let found = time_of(text, kind).map(|value| value.to_string());
            let same = |a: &str, b: &str| {
                a.trim_end_matches(":00").trim_end_matches('0') == b.trim_end_matches(":00").trim_end_matches('0')
            };
            match (&found, value) {
                (Some(found), Some(value)) => assert!(same(found, value), "{text}: {found}, {value}"),
                (found, value) => assert_eq!(found.as_deref(), value, "{text}"),
            }
        }
    }
}
