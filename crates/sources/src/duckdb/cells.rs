//! Values of DuckDB as ours.

use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_DAY, Time, Zone};
use model::{Column, ColumnData, Value};

use super::api::{Fixed, Type, Vector};
use super::column_types::id;
use super::library::Interval;
use crate::relational::cells::Cells;
use crate::sql::convert::document;
use crate::sql::{Form, digits};

/// Why a value cannot be read: the value, in words.
type Read<T> = Result<T, String>;

/// The way in which the values of a type are read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Plan {
    /// Those of a type without parameters, by its number.
    Plain(u32),
    /// Numbers with digits after the point: how many, and the number of the type that they are kept as. True if all are
    /// integers.
    Decimal {
        scale: u32,
        kept_as: u32,
        is_whole: bool,
    },
    Json,
    /// Words, and the number of the type that their places are kept as.
    Words(Vec<String>, u32),
    List(Box<Plan>),
    /// Lists that all have this length.
    Array(Box<Plan>, usize),
}

impl Plan {
    pub(super) fn of(column: &Type) -> Plan {
        match column.id() {
            id::DECIMAL => {
                let (width, scale, kept_as) = column.decimal();
                Plan::Decimal { scale, kept_as, is_whole: digits::are_integers((width, scale as i32)) }
            }
            id::ENUM => {
                let (words, kept_as) = column.words();
                Plan::Words(words, kept_as)
            }
            id::LIST => Plan::List(Box::new(Plan::of(&column.element(false).0))),
            id::ARRAY => {
                let (of, length) = column.element(true);
                Plan::Array(Box::new(Plan::of(&of)), length)
            }
            id::VARCHAR if column.alias() == "JSON" => Plan::Json,
            plain => Plan::Plain(plain),
        }
    }

    /// The values of a vector as a column, read in a form; fails with the value in words if one has no counterpart.
    pub(super) fn read(&self, vector: Vector<'_>, rows: usize, form: Form) -> Read<Column> {
        // Whole vectors of numbers, the common case, at once.
        if vector.is_full() {
            let data = match self {
                Plan::Plain(id::TINYINT) => Some(ColumnData::Int(ints::<i8>(vector, rows))),
                Plan::Plain(id::SMALLINT) => Some(ColumnData::Int(ints::<i16>(vector, rows))),
                Plan::Plain(id::INTEGER) => Some(ColumnData::Int(ints::<i32>(vector, rows))),
                Plan::Plain(id::BIGINT) => Some(ColumnData::Int(ints::<i64>(vector, rows))),
                Plan::Plain(id::DOUBLE) => Some(ColumnData::Float(vector.all::<f64>(rows).collect())),
                _ => None,
            };
            if let Some(data) = data {
                return Ok(Column::new(data));
            }
        }
        let mut cells = Cells::default();
        for row in 0..rows {
            match self {
                Plan::Plain(id::VARCHAR) if !vector.is_null(row) => match std::str::from_utf8(vector.bytes(row)) {
                    Ok(text) => cells.push_text(text),
                    Err(_) => return Err("a string that is not UTF-8".to_owned()),
                },
                _ => match self.value(vector, row, form)? {
                    Value::Int(x) => cells.push_int(x),
                    Value::Float(x) => cells.push_float(x),
                    other => cells.push(&other),
                },
            }
        }
        Ok(cells.finish())
    }

    fn value(&self, vector: Vector<'_>, row: usize, form: Form) -> Read<Value> {
        if vector.is_null(row) {
            return Ok(Value::Null);
        }
        match self {
            Plan::Plain(of) => plain(*of, vector, row, form),
            Plan::Decimal { scale, kept_as, is_whole } => {
                let number = whole(*kept_as, vector, row).ok_or("a decimal number of a new width")?;
                Ok(decimal(number, *scale, if *is_whole { Form::Digits } else { form }))
            }
            Plan::Json => Ok(document(vector.bytes(row)).ok_or("a document that is not JSON")?),
            Plan::Words(words, kept_as) => {
                let place = whole(*kept_as, vector, row).and_then(|place| usize::try_from(place).ok());
                let word = place.and_then(|place| words.get(place)).ok_or("a word that its type lacks")?;
                Ok(Value::string(word))
            }
            Plan::List(of) => {
                let [start, length] = vector.fixed::<[u64; 2]>(row);
                let elements = vector.elements(false);
                let items = (start..start + length).map(|at| of.value(elements, at as usize, form));
                Ok(Value::list(items.collect::<Read<_>>()?))
            }
            Plan::Array(of, length) => {
                let elements = vector.elements(true);
                let items = (row * length..(row + 1) * length).map(|at| of.value(elements, at, form));
                Ok(Value::list(items.collect::<Read<_>>()?))
            }
        }
    }
}

fn ints<T: Fixed + Into<i64>>(vector: Vector<'_>, rows: usize) -> Vec<i64> {
    vector.all::<T>(rows).map(Into::into).collect()
}

/// An integer of any width; `None` for a type of none.
fn whole(of: u32, vector: Vector<'_>, row: usize) -> Option<i128> {
    Some(match of {
        id::TINYINT => vector.fixed::<i8>(row).into(),
        id::SMALLINT => vector.fixed::<i16>(row).into(),
        id::INTEGER => vector.fixed::<i32>(row).into(),
        id::BIGINT => vector.fixed::<i64>(row).into(),
        id::UTINYINT => vector.fixed::<u8>(row).into(),
        id::USMALLINT => vector.fixed::<u16>(row).into(),
        id::UINTEGER => vector.fixed::<u32>(row).into(),
        id::UBIGINT => vector.fixed::<u64>(row).into(),
        id::HUGEINT => vector.fixed::<i128>(row),
        _ => return None,
    })
}

fn plain(of: u32, vector: Vector<'_>, row: usize, form: Form) -> Read<Value> {
    const MICROS: i64 = 1_000_000;
    Ok(match of {
        id::BOOLEAN => Value::Bool(vector.fixed::<u8>(row) != 0),
        id::FLOAT => Value::Float(vector.fixed::<f32>(row).into()),
        id::DOUBLE => Value::Float(vector.fixed(row)),
        id::VARCHAR => Value::string(&String::from_utf8_lossy(vector.bytes(row))),
        id::BLOB => Value::Bytes(vector.bytes(row).into()),
        id::DATE => match vector.fixed::<i32>(row) {
            i32::MAX => infinite("", form)?,
            -2_147_483_647 => infinite("-", form)?,
            days => Value::Date(Date(days.into())),
        },
        id::TIME => time(vector.fixed::<i64>(row), 1_000),
        id::TIME_NS => time(vector.fixed::<i64>(row), 1),
        id::TIME_TZ => time_with_offset(vector.fixed(row)),
        id::TIMESTAMP => moment(vector.fixed(row), MICROS, form, Value::LocalDateTime)?,
        id::TIMESTAMP_S => moment(vector.fixed(row), 1, form, Value::LocalDateTime)?,
        id::TIMESTAMP_MS => moment(vector.fixed(row), 1_000, form, Value::LocalDateTime)?,
        id::TIMESTAMP_NS => moment(vector.fixed(row), 1_000_000_000, form, Value::LocalDateTime)?,
        id::TIMESTAMP_TZ => moment(vector.fixed(row), MICROS, form, |at| {
            Value::DateTime(DateTime { seconds: at.seconds, nanosecond: at.nanosecond, zone: Zone::UTC })
        })?,
        id::INTERVAL => {
            let Interval { months, days, micros } = vector.fixed(row);
            Value::Duration(Duration {
                months: months.into(),
                days: days.into(),
                seconds: micros.div_euclid(MICROS),
                nanosecond: (micros.rem_euclid(MICROS) * 1_000) as u32,
            })
        }
        id::UUID => Value::string(&uuid(vector.fixed(row))),
        id::SQLNULL => Value::Null,
        of => match whole(of, vector, row) {
            Some(number) => integer(number, form)?,
            None => return Err(format!("a value of the type with the number {of}, which is not known here")),
        },
    })
}

/// An integer; one of more than 64 bits in its form.
fn integer(number: i128, form: Form) -> Read<Value> {
    match (i64::try_from(number), form) {
        (Ok(x), _) => Ok(Value::Int(x)),
        (Err(_), Form::Shown) => Err(format!("{number}, which is no integer of 64 bits with a sign")),
        (Err(_), Form::Float) => Ok(Value::Float(number as f64)),
        (Err(_), Form::Digits | Form::Stored) => Ok(Value::String(number.to_string().into())),
    }
}

/// A number with `scale` digits after the point.
fn decimal(number: i128, scale: u32, form: Form) -> Value {
    let text = digits_of(number, scale);
    match form {
        Form::Digits | Form::Stored => digits::number(&text).unwrap_or(Value::String(text.into())),
        Form::Shown | Form::Float => Value::Float(text.parse().unwrap_or(f64::NAN)),
    }
}

fn digits_of(number: i128, scale: u32) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", number.unsigned_abs(), width = scale as usize + 1);
    match digits.split_at(digits.len() - scale as usize) {
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

/// A time of day from a count of units of `nanos` nanoseconds; 24:00, which is out of range here, is a string.
fn time(units: i64, nanos: i64) -> Value {
    let nanos = units.saturating_mul(nanos);
    if (0..NANOS_OF_DAY).contains(&nanos) {
        return Value::LocalTime(LocalTime(nanos));
    }
    let seconds = nanos / 1_000_000_000;
    Value::String(format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60).into())
}

/// A time of day, above the offset of its zone from the greatest, in seconds.
fn time_with_offset(bits: u64) -> Value {
    const OFFSET_BITS: u32 = 24;
    const OFFSET_MAX: i32 = 16 * 60 * 60 - 1;
    let micros = (bits >> OFFSET_BITS) as i64;
    match time(micros, 1_000) {
        Value::LocalTime(local) => {
            let offset = OFFSET_MAX - (bits & ((1 << OFFSET_BITS) - 1)) as i32;
            Value::Time(Time { local, offset })
        }
        none => none,
    }
}

/// A timestamp from a count of units, `of_second` to a second.
fn moment(units: i64, of_second: i64, form: Form, value: impl FnOnce(LocalDateTime) -> Value) -> Read<Value> {
    match units {
        i64::MAX => return infinite("", form),
        -9_223_372_036_854_775_807 => return infinite("-", form),
        _ => {}
    }
    let nanosecond = units.rem_euclid(of_second) * (1_000_000_000 / of_second);
    Ok(value(LocalDateTime { seconds: units.div_euclid(of_second), nanosecond: nanosecond as u32 }))
}

/// A date or moment before or after all others: a string where strings are asked for.
fn infinite(sign: &str, form: Form) -> Read<Value> {
    match form {
        Form::Digits => Ok(Value::String(format!("{sign}infinity").into())),
        Form::Shown | Form::Float | Form::Stored => Err("a day or moment that is infinite".to_owned()),
    }
}

/// A UUID, whose highest bit is turned so that they compare as numbers with a sign.
fn uuid(number: i128) -> String {
    let hex = format!("{:032x}", number as u128 ^ 1 << 127);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use model::Value;

    use super::{decimal, digits_of, time, time_with_offset, uuid};
    use crate::sql::Form;

    #[test]
    fn decimal_numbers_keep_their_digits() {
        for (number, scale, text) in [
            (0, 2, "0.00"),
            (-5, 2, "-0.05"),
            (12_345, 2, "123.45"),
            (7, 0, "7"),
            (i128::MIN / 2, 3, "-85070591730234615865843651857942052.864"),
        ] {
            assert_eq!(digits_of(number, scale), text);
        }
        assert_eq!(decimal(900_719_925_474_099_300, 2, Form::Stored), Value::Int(9_007_199_254_740_993));
        assert_eq!(decimal(12_340, 4, Form::Digits), Value::string("1.234"));
        assert_eq!(decimal(12_340, 4, Form::Shown), Value::Float(1.234));
    }

    #[test]
    fn times_of_day_are_told_from_what_is_none() {
        assert_eq!(time(86_399_999_999, 1_000).to_string(), "23:59:59.999999");
        assert_eq!(time(86_400_000_000, 1_000), Value::string("24:00:00"));
        let bits = (9_000_000_000_u64 << 24) | (57_599 - 19_800);
        assert_eq!(time_with_offset(bits).to_string(), "02:30+05:30");
        assert_eq!(uuid(i128::MIN), "00000000-0000-0000-0000-000000000000");
    }
}
