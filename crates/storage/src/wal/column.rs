//! Columns as the log writes them: the kind, the rows, which of them are null, and then the values of that kind.

use model::temporal::{Date, LocalTime};
use model::{Bitmap, Column, ColumnData, Result, StringColumn};

use crate::codec::bytes::{Get, Put};
use crate::codec::{temporal, value};

const NULL: u8 = 0;
const BOOL: u8 = 1;
const INT: u8 = 2;
const FLOAT: u8 = 3;
const STRING: u8 = 4;
const DATE: u8 = 5;
const LOCAL_DATE_TIME: u8 = 6;
/// Values each with a kind of its own.
const MIXED: u8 = 7;
const LOCAL_TIME: u8 = 8;
const TIME: u8 = 9;
const DATE_TIME: u8 = 10;
const DURATION: u8 = 11;

/// Adds 64-bit words.
pub(super) fn put_words(words: impl ExactSizeIterator<Item = u64>, out: &mut Vec<u8>) {
    out.reserve(words.len() * 8);
    words.for_each(|word| out.put_u64(word));
}

/// Reads `count` 64-bit words.
pub(super) fn words<'a>(get: &mut Get<'a>, count: usize) -> Result<impl Iterator<Item = u64> + use<'a>> {
    let bytes = get.take(count.saturating_mul(8))?;
    Ok(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes are eight"))))
}

/// Adds a column. Its values can be properties: the transaction has seen to that.
pub(super) fn put_column(column: &Column, out: &mut Vec<u8>) {
    let kind = match &column.data {
        ColumnData::Null(_) => NULL,
        ColumnData::Bool(_) => BOOL,
        ColumnData::Int(_) => INT,
        ColumnData::Float(_) => FLOAT,
        ColumnData::String(_) => STRING,
        ColumnData::Date(_) => DATE,
        ColumnData::LocalDateTime(_) => LOCAL_DATE_TIME,
        ColumnData::LocalTime(_) => LOCAL_TIME,
        ColumnData::Time(_) => TIME,
        ColumnData::DateTime(_) => DATE_TIME,
        ColumnData::Duration(_) => DURATION,
        ColumnData::Node(_) | ColumnData::Edge(_) | ColumnData::Value(_) => MIXED,
    };
    out.put_u8(kind);
    out.put_u32(column.len() as u32);
    if kind != MIXED && kind != NULL {
        out.put_u8(u8::from(column.validity.is_some()));
        if let Some(validity) = &column.validity {
            put_words(validity.words().iter().copied(), out);
        }
    }
    match &column.data {
        ColumnData::Null(_) => {}
        ColumnData::Bool(rows) => out.extend(rows.iter().map(|&x| u8::from(x))),
        ColumnData::Int(rows) => put_words(rows.iter().map(|&x| x as u64), out),
        ColumnData::Float(rows) => put_words(rows.iter().map(|&x| x.to_bits()), out),
        ColumnData::String(rows) => rows.iter().for_each(|text| out.put_text(text)),
        ColumnData::Date(rows) => put_words(rows.iter().map(|&x| x.0 as u64), out),
        ColumnData::LocalTime(rows) => put_words(rows.iter().map(|&x| x.0 as u64), out),
        ColumnData::LocalDateTime(rows) => rows.iter().for_each(|&x| temporal::put_local_date_time(x, out)),
        ColumnData::Time(rows) => rows.iter().for_each(|&x| temporal::put_time(x, out)),
        ColumnData::DateTime(rows) => rows.iter().for_each(|&x| temporal::put_date_time(x, out)),
        ColumnData::Duration(rows) => rows.iter().for_each(|&x| temporal::put_duration(x, out)),
        ColumnData::Node(_) | ColumnData::Edge(_) | ColumnData::Value(_) => {
            column.values().for_each(|row| value::encode(&row, out));
        }
    }
}

/// A column as [`put_column`] wrote it.
pub(super) fn column(get: &mut Get<'_>) -> Result<Column> {
    let kind = get.u8()?;
    let rows = get.count(match kind {
        NULL => 0,
        INT | FLOAT | DATE | LOCAL_TIME => 8,
        LOCAL_DATE_TIME | TIME | DATE_TIME => 12,
        DURATION => 28,
        STRING => 4,
        _ => 1,
    })?;
    if kind == NULL {
        return Ok(Column::nulls(rows));
    }
    if kind == MIXED {
        let values = (0..rows).map(|_| value::decode(get)).collect::<Result<Vec<_>>>()?;
        return Ok(Column::new(ColumnData::Value(values)));
    }
    let validity = match get.u8()? {
        0 => None,
        _ => Some(Bitmap::from_words(words(get, rows.div_ceil(64))?.collect(), rows)),
    };
    let data = match kind {
        BOOL => ColumnData::Bool(get.take(rows)?.iter().map(|&byte| byte != 0).collect()),
        INT => ColumnData::Int(words(get, rows)?.map(|word| word as i64).collect()),
        FLOAT => ColumnData::Float(words(get, rows)?.map(f64::from_bits).collect()),
        STRING => {
            let mut texts = StringColumn::default();
            for _ in 0..rows {
                texts.push(get.text()?);
            }
            ColumnData::String(texts)
        }
        DATE => ColumnData::Date(words(get, rows)?.map(|word| Date(word as i64)).collect()),
        LOCAL_TIME => ColumnData::LocalTime(words(get, rows)?.map(|word| LocalTime(word as i64)).collect()),
        LOCAL_DATE_TIME => ColumnData::LocalDateTime(each(get, rows, temporal::local_date_time)?),
        TIME => ColumnData::Time(each(get, rows, temporal::time)?),
        DATE_TIME => ColumnData::DateTime(each(get, rows, temporal::date_time)?),
        DURATION => ColumnData::Duration(each(get, rows, temporal::duration)?),
        _ => return Err(get.damage(format!("no kind of column has the number {kind}"))),
    };
    let column = Column { data, validity };
    column.check_time().map_err(|error| get.damage(error.message()))?;
    Ok(column)
}

fn each<T>(get: &mut Get<'_>, rows: usize, read: impl Fn(&mut Get<'_>) -> Result<T>) -> Result<Vec<T>> {
    (0..rows).map(|_| read(get)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time};
    use model::{Column, ErrorCode, Value};

    use super::{Get, column, put_column};

    fn check(values: &[Value]) {
        let mut bytes = Vec::new();
        put_column(&Column::from_values(values), &mut bytes);
        let mut get = Get::new(&bytes, Path::new("test"), 0);
        let found = column(&mut get).unwrap();
        assert_eq!(get.left(), 0);
        assert_eq!(found.values().collect::<Vec<_>>(), values);
        for length in 0..bytes.len() {
            let cut = column(&mut Get::new(&bytes[..length], Path::new("test"), 0));
            assert!(cut.is_err(), "{length} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn values_of_time_out_of_their_bounds_are_damage() {
        let wrong: [Value; 6] = [
            Date(i64::MAX).into(),
            LocalTime(-1).into(),
            Time { local: LocalTime(0), offset: -64_801 }.into(),
            LocalDateTime { seconds: i64::MIN, nanosecond: 0 }.into(),
            DateTime { seconds: i64::MAX, ..DateTime::default() }.into(),
            Duration { nanosecond: 1_000_000_000, ..Duration::default() }.into(),
        ];
        for value in wrong {
            let problem = value.check_time().unwrap_err();
            for other in [Value::Null, Value::Int(1)] {
                let mut bytes = Vec::new();
                put_column(&Column::from_values(&[other, value.clone()]), &mut bytes);
                let error = column(&mut Get::new(&bytes, Path::new("test"), 0)).expect_err(problem.message());
                assert_eq!(error.code(), ErrorCode::Corrupt, "{error}");
                assert!(error.message().contains(problem.message()), "{error} tells of {problem}");
            }
        }
    }

    #[test]
    fn every_kind_of_column_comes_back() {
        let list = Value::list(vec![Value::Int(1), Value::string("x"), Value::list(vec![])]);
        let kinds = [
            vec![Value::Bool(true), Value::Bool(false)],
            vec![Value::Int(i64::MIN), Value::Int(7)],
            vec![Value::Float(-0.5), Value::Float(f64::INFINITY)],
            vec![Value::string(""), Value::string("Grüße")],
            vec![Value::Date(Date(-3)), Value::Date(Date(20_000))],
            vec![LocalDateTime::of_micros(-1).into(), LocalDateTime::MAX.into()],
            vec![LocalTime(0).into(), LocalTime::MAX.into()],
            vec![Time { local: LocalTime(7), offset: -64_800 }.into(), Time::default().into()],
            vec![DateTime::default().into(), DateTime::parse("2015-07-21T21[Europe/Stockholm]").unwrap().into()],
            vec![Duration::parse("P-1Y2DT-3.5S").unwrap().into(), Duration::default().into()],
            vec![Value::Bytes([1, 2, 3].into()), list.clone()],
            vec![Value::Int(1), list],
        ];
        for values in kinds {
            check(&values);
            check(&[values[0].clone(), Value::Null, values[1].clone()]);
        }
        check(&[Value::Null]);
    }
}
