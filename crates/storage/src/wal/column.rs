//! Columns as the log writes them: the kind, the rows, which of them are null, and then the values of that kind.

use model::{
    Bitmap, Column, ColumnData, Fixed, FixedKind, Result, Stored, StringColumn, each_stored_vector, with_stored,
};

use crate::codec::bytes::{Get, Put};
use crate::codec::stored::kind_of_log_tag;
use crate::codec::value;

// Kinds of a fixed size have theirs in `model::codec::stored`.
const NULL: u8 = 0;
const STRING: u8 = 4;
/// Values each with a kind of its own.
const MIXED: u8 = 7;

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
    fn tag_of<T: Stored>(_: &[T]) -> u8 {
        T::LOG_TAG
    }
    let tag = each_stored_vector!(&column.data, {
        ColumnData::Null(_) => NULL,
        ColumnData::String(_) => STRING,
        ColumnData::Node(_) | ColumnData::Edge(_) | ColumnData::Value(_) => MIXED,
    }, rows => tag_of(rows));
    out.put_u8(tag);
    out.put_u32(column.len() as u32);
    if tag != MIXED && tag != NULL {
        out.put_u8(u8::from(column.validity.is_some()));
        if let Some(validity) = &column.validity {
            put_words(validity.words().iter().copied(), out);
        }
    }
    each_stored_vector!(&column.data, {
        ColumnData::Null(_) => {}
        ColumnData::String(rows) => rows.iter().for_each(|text| out.put_text(text)),
        ColumnData::Node(_) | ColumnData::Edge(_) | ColumnData::Value(_) => {
            column.values().for_each(|row| value::encode(&row, out));
        }
    }, rows => {
        out.reserve(rows.len() * 8);
        rows.iter().for_each(|x| x.put(out));
    });
}

/// A column as [`put_column`] wrote it.
pub(super) fn column(get: &mut Get<'_>) -> Result<Column> {
    let tag = get.u8()?;
    let kind = kind_of_log_tag(tag);
    let rows = get.count(match (tag, kind) {
        (NULL, _) => 0,
        (STRING, _) => 4,
        (_, Some(kind)) => with_stored!(kind, { FixedKind::Node | FixedKind::Edge => 1, }, T => T::BYTES_MIN),
        _ => 1,
    })?;
    if tag == NULL {
        return Ok(Column::nulls(rows));
    }
    if tag == MIXED {
        let values = (0..rows).map(|_| value::decode(get)).collect::<Result<Vec<_>>>()?;
        return Ok(Column::new(ColumnData::Value(values)));
    }
    let validity = match get.u8()? {
        0 => None,
        _ => Some(Bitmap::from_words(words(get, rows.div_ceil(64))?.collect(), rows)),
    };
    let data = match kind {
        _ if tag == STRING => {
            let mut texts = StringColumn::default();
            for _ in 0..rows {
                texts.push(get.text()?);
            }
            ColumnData::String(texts)
        }
        Some(kind) => with_stored!(kind, { FixedKind::Node | FixedKind::Edge => ColumnData::Null(rows), }, T => {
            T::vector((0..rows).map(|_| T::take(get)).collect::<Result<_>>()?)
        }),
        None => return Err(get.damage(format!("no kind of column has the number {tag}"))),
    };
    Ok(Column { data, validity })
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
        let mut kinds = vec![
            vec![Value::Bool(true), Value::Bool(false)],
            vec![Value::Int(i64::MIN), Value::Int(7)],
            vec![Value::Float(-0.5), Value::Float(f64::INFINITY)],
            vec![Value::string(""), Value::string("Grüße")],
            vec![Value::Bytes([1, 2, 3].into()), list.clone()],
            vec![Value::Int(1), list],
        ];
        let scalars = testing::scalars::scalar_values();
        kinds.extend(scalars.chunk_by(|a, b| a.type_name() == b.type_name()).map(<[Value]>::to_vec));
        assert_eq!(kinds.len(), 6 + 8, "values of time, identifiers and points");
        for values in kinds {
            check(&values);
            check(&[values[0].clone(), Value::Null, values[1].clone()]);
        }
        check(&[Value::Null]);
    }
}
