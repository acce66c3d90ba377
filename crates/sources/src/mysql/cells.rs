//! Values of MySQL as ours, and ours as parameters.

use ::mysql::consts::{ColumnFlags, ColumnType};
use ::mysql::{Column as SqlColumn, Value as SqlValue};
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_SECOND, Zone, calendar};
use model::{PropertyKind, Value};

use crate::catalog::{ColumnKind, TableColumn};
use crate::relational::cells::Cells;
use crate::sql::catalog::NUMBER;
use crate::sql::{ColumnFacts, Form, digits};

/// The number of the character set that means bytes.
const BINARY: u16 = 63;
/// Collations that order strings by their code points, those with blanks at the end among them.
const BINARY_COLLATIONS: [&str; 2] = ["utf8mb4_nopad_bin", "utf8mb4_0900_bin"];
/// The server's `max_sort_length` in a session: what follows in a string has no part in `ORDER BY`.
pub(super) const SORTED_BYTES: u32 = 4_100;
/// Bytes of a character, at most.
const CHARACTER_BYTES: u32 = 4;
/// Start of the names of collations that can be compared with every string.
const UNICODE: &str = "utf8mb4";

/// The way in which the values of a column of an answer are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Integer,
    Single,
    Double,
    /// Numbers with digits after the point, or with more than integers have.
    Decimal,
    /// Numbers without digits after the point that fit into an integer.
    Whole,
    Bits,
    Time,
    Text,
    Bytes,
    Date,
    DateTime,
    Timestamp,
}

impl Plan {
    pub(super) fn of(column: &SqlColumn) -> Plan {
        match column.column_type() {
            ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => {
                match digits::are_integers(digits_of(column)) {
                    true => Plan::Whole,
                    false => Plan::Decimal,
                }
            }
            ColumnType::MYSQL_TYPE_TIME | ColumnType::MYSQL_TYPE_TIME2 => Plan::Time,
            ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE => Plan::Date,
            ColumnType::MYSQL_TYPE_TIMESTAMP | ColumnType::MYSQL_TYPE_TIMESTAMP2 => Plan::Timestamp,
            ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_DATETIME2 => Plan::DateTime,
            ColumnType::MYSQL_TYPE_JSON => Plan::Text,
            ColumnType::MYSQL_TYPE_BIT => Plan::Bits,
            ColumnType::MYSQL_TYPE_VARCHAR
            | ColumnType::MYSQL_TYPE_VAR_STRING
            | ColumnType::MYSQL_TYPE_STRING
            | ColumnType::MYSQL_TYPE_TINY_BLOB
            | ColumnType::MYSQL_TYPE_MEDIUM_BLOB
            | ColumnType::MYSQL_TYPE_LONG_BLOB
            | ColumnType::MYSQL_TYPE_BLOB
                if column.character_set() == BINARY && column.flags().contains(ColumnFlags::BINARY_FLAG) =>
            {
                Plan::Bytes
            }
            ColumnType::MYSQL_TYPE_TINY
            | ColumnType::MYSQL_TYPE_SHORT
            | ColumnType::MYSQL_TYPE_INT24
            | ColumnType::MYSQL_TYPE_LONG
            | ColumnType::MYSQL_TYPE_LONGLONG
            | ColumnType::MYSQL_TYPE_YEAR => Plan::Integer,
            ColumnType::MYSQL_TYPE_FLOAT => Plan::Single,
            ColumnType::MYSQL_TYPE_DOUBLE => Plan::Double,
            _ => Plan::Text,
        }
    }

    /// Adds a value in a form; fails with the value in words if it has no counterpart.
    #[inline]
    pub(super) fn push(self, value: &SqlValue, form: Form, cells: &mut Cells) -> Result<(), String> {
        match (value, self) {
            (SqlValue::NULL, _) => cells.push(&Value::Null),
            (SqlValue::Int(x), _) => cells.push_int(*x),
            (SqlValue::UInt(x), _) => match (i64::try_from(*x), form) {
                (Ok(x), _) => cells.push_int(x),
                (Err(_), Form::Shown) => return Err(format!("{x}, which is no integer of 64 bits with a sign")),
                (Err(_), Form::Float) => cells.push_float(*x as f64),
                (Err(_), Form::Digits | Form::Stored) => cells.push_text(&x.to_string()),
            },
            (SqlValue::Float(x), _) => cells.push_float(f64::from(*x)),
            (SqlValue::Double(x), _) => cells.push_float(*x),
            // To MySQL bits are a number, and compare as one.
            (SqlValue::Bytes(bytes), Plan::Bits) if form == Form::Stored => {
                let bits = bytes.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
                return Plan::Integer.push(&SqlValue::UInt(bits), form, cells);
            }
            (SqlValue::Bytes(bytes), Plan::Bytes | Plan::Bits) => cells.push(&Value::Bytes(bytes.as_slice().into())),
            (SqlValue::Bytes(bytes), plan) => match std::str::from_utf8(bytes) {
                Ok(text) => push_text(text, plan, form, cells),
                Err(_) => cells.push(&Value::Bytes(bytes.as_slice().into())),
            },
            (SqlValue::Date(year, month, day, hour, minute, second, micros), plan) => {
                let time = [*hour, *minute, *second];
                cells.push(&moment([i64::from(*year), i64::from(*month), i64::from(*day)], time, *micros, plan));
            }
            (SqlValue::Time(is_negative, days, hours, minutes, seconds, micros), _) => {
                let hours = i64::from(*days) * 24 + i64::from(*hours);
                let seconds = (hours * 60 + i64::from(*minutes)) * 60 + i64::from(*seconds);
                let nanos = seconds * NANOS_OF_SECOND + i64::from(*micros) * 1_000;
                if form == Form::Stored {
                    let sign = if *is_negative { "-" } else { "" };
                    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
                    cells.push_text(&format!("{sign}{hours:02}:{minutes:02}:{seconds:02}.{micros:06}"));
                } else {
                    cells.push(&time_of(if *is_negative { -nanos } else { nanos }));
                }
            }
        }
        Ok(())
    }
}

fn push_text(text: &str, plan: Plan, form: Form, cells: &mut Cells) {
    let is_exact = matches!(form, Form::Digits | Form::Stored) || plan == Plan::Whole;
    match plan {
        Plan::Decimal | Plan::Whole if is_exact => match digits::number(text) {
            Some(number) => cells.push(&number),
            None => cells.push_text(text),
        },
        Plan::Decimal => match text.parse() {
            Ok(number) => cells.push_float(number),
            Err(_) => cells.push_text(text),
        },
        _ => cells.push_text(text),
    }
}

/// The digits of a column of numbers, in all and after the point.
fn digits_of(column: &SqlColumn) -> (u32, i32) {
    let is_signed = !column.flags().contains(ColumnFlags::UNSIGNED_FLAG);
    let scale = column.decimals();
    // Its width counts the sign and the point.
    let digits = column.column_length().saturating_sub(u32::from(is_signed) + u32::from(scale > 0));
    (digits, i32::from(scale))
}

/// The type of a column of numbers as it is declared.
pub(super) fn declared_decimal(column: &SqlColumn) -> String {
    let (digits, scale) = digits_of(column);
    format!("decimal({digits},{scale})")
}

/// A date, with its time where the column has one. The day that is none stays a string.
fn moment([year, month, day]: [i64; 3], [hour, minute, second]: [u8; 3], micros: u32, plan: Plan) -> Value {
    if month == 0 || day == 0 {
        return Value::string(&format!("{year:04}-{month:02}-{day:02}"));
    }
    let date = Date(calendar::days_of(year, month, day));
    let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
    let at = LocalDateTime::of(date, LocalTime(seconds * NANOS_OF_SECOND + i64::from(micros) * 1_000));
    match plan {
        Plan::Date => Value::Date(date),
        // The session's clocks show UTC.
        Plan::Timestamp => {
            Value::DateTime(DateTime { seconds: at.seconds, nanosecond: at.nanosecond, zone: Zone::UTC })
        }
        _ => Value::LocalDateTime(at),
    }
}

/// A time of day; what is none, as MySQL allows, is a duration.
fn time_of(nanos: i64) -> Value {
    if (0..=LocalTime::MAX.0).contains(&nanos) {
        return Value::LocalTime(LocalTime(nanos));
    }
    Value::Duration(Duration {
        seconds: nanos.div_euclid(NANOS_OF_SECOND),
        nanosecond: nanos.rem_euclid(NANOS_OF_SECOND) as _,
        ..Duration::default()
    })
}

/// The kind of values of a declared type: the type's name and the whole declaration.
pub(super) fn kind_of(name: &str, declared: &str) -> ColumnKind {
    match name.to_ascii_lowercase().as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "year" => {
            ColumnKind::One(PropertyKind::Integer)
        }
        "float" | "double" | "real" => ColumnKind::One(PropertyKind::Float),
        "decimal" | "numeric" => match digits::declared(declared) {
            Some(found) if digits::are_integers(found) => ColumnKind::One(PropertyKind::Integer),
            _ => ColumnKind::Decimal,
        },
        "date" => ColumnKind::One(PropertyKind::Date),
        "datetime" => ColumnKind::One(PropertyKind::LocalDateTime),
        "timestamp" => ColumnKind::One(PropertyKind::DateTime),
        "time" => ColumnKind::One(PropertyKind::LocalTime),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set" | "uuid" => {
            ColumnKind::One(PropertyKind::String)
        }
        "json" => ColumnKind::Json,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "bit" => ColumnKind::Bytes,
        _ if declared.contains("char") => ColumnKind::One(PropertyKind::String),
        _ => ColumnKind::Other,
    }
}

/// True for a declared type whose longest strings the server compares to their ends where it sorts them.
fn is_sorted_whole(declared: &str) -> bool {
    let length = declared.split_once('(').filter(|(name, _)| matches!(*name, "char" | "varchar"));
    let length = length.and_then(|(_, rest)| rest.split(')').next()?.parse::<u32>().ok());
    length.is_some_and(|length| length <= SORTED_BYTES / CHARACTER_BYTES) || declared.starts_with("uuid")
}

/// The facts of a column that statements need.
pub(super) fn facts(column: &TableColumn) -> ColumnFacts {
    let kind = match column.kind {
        ColumnKind::One(kind) => Some(kind),
        ColumnKind::Decimal => Some(PropertyKind::Float),
        ColumnKind::Json | ColumnKind::Other => Some(PropertyKind::String),
        _ => None,
    };
    let is_decimal = column.kind == ColumnKind::Decimal;
    let is = |names: &[&str]| names.iter().any(|name| column.declared.starts_with(name));
    // Numbers of four bytes are not what they are once read; lists of words are ordered by their numbers; a year is compared
    // with 24 as with 2024.
    let is_own = is(&["float", "enum", "set", "bit", "uuid", "year"]);
    let collation = column.declared.rsplit_once(" collate ").map_or("", |(_, collation)| collation);
    let is_alike = matches!(
        kind,
        Some(
            PropertyKind::Integer
                | PropertyKind::Float
                | PropertyKind::String
                | PropertyKind::Date
                | PropertyKind::LocalDateTime
        )
    );
    let is_number = is_decimal || kind == Some(PropertyKind::Integer) || is(&["bit"]);
    ColumnFacts {
        sql_type: if is_number { NUMBER.to_owned() } else { String::new() },
        kind,
        compares: is_alike && !is_own && column.kind != ColumnKind::Json,
        // Values of fixed length are ordered with blanks that are not read.
        is_binary: BINARY_COLLATIONS.contains(&collation) && !is(&["char"]),
        is_cut: kind == Some(PropertyKind::String) && !is_sorted_whole(&column.declared),
        collation: if collation.starts_with(UNICODE) { String::new() } else { collation.to_owned() },
        is_nullable: column.is_nullable,
        as_text: false,
        is_rounded: is_decimal && digits::are_rounded(digits::declared(&column.declared)),
        is_shown_otherwise: is_decimal || kind == Some(PropertyKind::LocalTime) || is(&["bit"]),
        is_wide: is(&["bigint", "serial"]) && column.declared.contains("unsigned"),
        // The day that is none is a string.
        holds_any: matches!(kind, Some(PropertyKind::Date | PropertyKind::LocalDateTime)),
        // Blanks at the end count for nothing even where capitals do.
        is_loose: kind == Some(PropertyKind::String) && !is(&["enum", "set", "uuid", "json"]),
    }
}

/// A value as MySQL takes it.
pub(super) fn to_sql(value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::NULL,
        Value::Bool(x) => SqlValue::Int(i64::from(*x)),
        Value::Int(x) => SqlValue::Int(*x),
        Value::Float(x) => SqlValue::Double(*x),
        Value::String(text) => SqlValue::Bytes(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => SqlValue::Bytes(bytes.to_vec()),
        Value::Date(date) => date_of(LocalDateTime::of(*date, LocalTime(0))).unwrap_or_else(|| text_of(value)),
        Value::LocalDateTime(at) => date_of(*at).unwrap_or_else(|| text_of(value)),
        Value::DateTime(at) => {
            let utc = LocalDateTime { seconds: at.seconds, nanosecond: at.nanosecond };
            date_of(utc).unwrap_or_else(|| text_of(value))
        }
        // As ISO has them MySQL does not read them.
        Value::LocalTime(_) | Value::Duration(_) => time_text(value).map_or_else(|| text_of(value), SqlValue::Bytes),
        other => text_of(other),
    }
}

/// A time as MySQL writes it; `None` for durations with months or days, which are no time.
fn time_text(value: &Value) -> Option<Vec<u8>> {
    let nanos = match value {
        Value::LocalTime(time) => time.0,
        Value::Duration(x) if x.months == 0 && x.days == 0 => {
            x.seconds.checked_mul(NANOS_OF_SECOND)?.checked_add(i64::from(x.nanosecond))?
        }
        _ => return None,
    };
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let (seconds, micros) = (nanos / 1_000_000_000, nanos % 1_000_000_000 / 1_000);
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    Some(format!("{sign}{hours:02}:{minutes:02}:{:02}.{micros:06}", seconds % 60).into_bytes())
}

fn text_of(value: &Value) -> SqlValue {
    SqlValue::Bytes(value.to_string().into_bytes())
}

fn date_of(at: LocalDateTime) -> Option<SqlValue> {
    let (year, month, day) = at.date().year_month_day();
    let seconds = at.seconds.rem_euclid(86_400);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let year = u16::try_from(year).ok().filter(|year| *year <= 9_999)?;
    Some(SqlValue::Date(year, month as u8, day as u8, hour as u8, minute as u8, second as u8, at.nanosecond / 1_000))
}
