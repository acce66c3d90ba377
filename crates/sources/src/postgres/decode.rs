//! Rows in the binary format into columns, without an allocation for each value.

use std::sync::Arc;

use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, SECONDS_OF_DAY, Time, Zone};
use model::{Bitmap, Column, ColumnData, PropertyKind, StringColumn, Value};

use super::encode::{EPOCH_DAYS, EPOCH_MICROS};
use crate::sql::convert::document;
use crate::sql::{Form, digits};

/// Numbers of types.
pub(super) mod oid {
    pub(in crate::postgres) const BOOL: u32 = 16;
    pub(in crate::postgres) const BYTEA: u32 = 17;
    pub(in crate::postgres) const CHAR: u32 = 18;
    pub(in crate::postgres) const NAME: u32 = 19;
    pub(in crate::postgres) const INT8: u32 = 20;
    pub(in crate::postgres) const INT2: u32 = 21;
    pub(in crate::postgres) const INT4: u32 = 23;
    pub(in crate::postgres) const TEXT: u32 = 25;
    pub(in crate::postgres) const OID: u32 = 26;
    pub(in crate::postgres) const JSON: u32 = 114;
    pub(in crate::postgres) const FLOAT4: u32 = 700;
    pub(in crate::postgres) const FLOAT8: u32 = 701;
    pub(in crate::postgres) const BPCHAR: u32 = 1042;
    pub(in crate::postgres) const VARCHAR: u32 = 1043;
    pub(in crate::postgres) const DATE: u32 = 1082;
    pub(in crate::postgres) const TIME: u32 = 1083;
    pub(in crate::postgres) const TIMESTAMP: u32 = 1114;
    pub(in crate::postgres) const TIMESTAMPTZ: u32 = 1184;
    pub(in crate::postgres) const INTERVAL: u32 = 1186;
    pub(in crate::postgres) const TIMETZ: u32 = 1266;
    pub(in crate::postgres) const NUMERIC: u32 = 1700;
    pub(in crate::postgres) const UUID: u32 = 2950;
    pub(in crate::postgres) const JSONB: u32 = 3802;
}

/// Arrays whose elements are read.
const ARRAYS: &[u32] = &[
    199, 1000, 1001, 1002, 1003, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1028, 1115, 1182, 1183, 1185, 1187,
    1231, 1270, 2951, 3807,
];

/// True if values of a type are read in binary; others are asked for as text.
pub(super) fn is_read(oid: u32) -> bool {
    plan_of(oid, -1, Form::Shown).is_some()
}

/// The kind that values of a type have, if it is one of properties'.
pub(super) fn kind_of(oid: u32, modifier: i32) -> Option<PropertyKind> {
    Some(match plan_of(oid, modifier, Form::Shown)? {
        Plan::Bool => PropertyKind::Boolean,
        Plan::Int | Plan::WholeNumeric | Plan::Oid => PropertyKind::Integer,
        Plan::Float | Plan::Numeric | Plan::Digits => PropertyKind::Float,
        Plan::Text | Plan::PaddedText | Plan::Hex => PropertyKind::String,
        Plan::Date => PropertyKind::Date,
        Plan::Timestamp => PropertyKind::LocalDateTime,
        Plan::TimestampTz => PropertyKind::DateTime,
        Plan::Time => PropertyKind::LocalTime,
        Plan::TimeTz => PropertyKind::Time,
        Plan::Interval => PropertyKind::Duration,
        Plan::Bytes | Plan::Json | Plan::Jsonb | Plan::Array => return None,
    })
}

/// The way in which values of a type are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Bool,
    Int,
    Oid,
    Float,
    Numeric,
    /// A number without digits after the point that fits into an integer.
    WholeNumeric,
    /// A number with all its digits.
    Digits,
    Text,
    /// A string that is filled up with blanks.
    PaddedText,
    Hex,
    Bytes,
    Json,
    Jsonb,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Array,
}

/// The digits in all and after the point that the modifier of a number says.
pub(super) fn digits_of(modifier: i32) -> Option<(u32, i32)> {
    // It holds both, plus four; those after the point are a number of eleven bits with a sign.
    let packed = modifier.checked_sub(4).filter(|packed| *packed >= 0)?;
    Some(((packed >> 16) as u32, ((packed & 0x7ff) ^ 0x400) - 0x400))
}

fn plan_of(oid: u32, modifier: i32, form: Form) -> Option<Plan> {
    Some(match oid {
        oid::BOOL => Plan::Bool,
        oid::INT2 | oid::INT4 | oid::INT8 => Plan::Int,
        oid::OID => Plan::Oid,
        oid::FLOAT4 | oid::FLOAT8 => Plan::Float,
        oid::NUMERIC if digits_of(modifier).is_some_and(digits::are_integers) => Plan::WholeNumeric,
        oid::NUMERIC if matches!(form, Form::Digits | Form::Stored) => Plan::Digits,
        oid::NUMERIC => Plan::Numeric,
        oid::TEXT | oid::VARCHAR | oid::NAME | oid::CHAR | 705 => Plan::Text,
        oid::BPCHAR => Plan::PaddedText,
        oid::UUID => Plan::Hex,
        oid::BYTEA => Plan::Bytes,
        oid::JSON => Plan::Json,
        oid::JSONB => Plan::Jsonb,
        oid::DATE => Plan::Date,
        oid::TIME => Plan::Time,
        oid::TIMETZ => Plan::TimeTz,
        oid::TIMESTAMP => Plan::Timestamp,
        oid::TIMESTAMPTZ => Plan::TimestampTz,
        oid::INTERVAL => Plan::Interval,
        array if ARRAYS.contains(&array) => Plan::Array,
        _ => return None,
    })
}

/// A column of an answer: its type, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) oid: u32,
    pub(super) modifier: i32,
    pub(super) form: Form,
}

/// Reads the body of a description of rows.
pub(super) fn fields(body: &[u8]) -> Option<Vec<Field>> {
    let (count, mut rest) = body.split_at_checked(2)?;
    let count = u16::from_be_bytes([count[0], count[1]]);
    let mut fields = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let end = rest.iter().position(|&byte| byte == 0)?;
        let name = String::from_utf8_lossy(&rest[..end]).into_owned();
        // Table (4), column (2), type (4), size (2), modifier (4), format (2).
        let (about, after) = rest[end + 1..].split_at_checked(18)?;
        let number = |at: usize| u32::from_be_bytes([about[at], about[at + 1], about[at + 2], about[at + 3]]);
        fields.push(Field { name, oid: number(6), modifier: number(12) as i32, form: Form::Shown });
        rest = after;
    }
    Some(fields)
}

/// Columns that are being read.
pub(super) struct Rows {
    columns: Vec<Reader>,
    rows: usize,
}

/// Why a row cannot be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The bytes are not what the type has.
    Garbled,
    /// The value, in words, of the column of that number has no counterpart here.
    Value(usize, String),
    /// The type of the column of that number is not read.
    Type(usize, u32),
}

struct Reader {
    plan: Plan,
    form: Form,
    data: ColumnData,
    validity: Option<Bitmap>,
}

impl Rows {
    /// Nothing yet, in columns of these types.
    pub(super) fn new(fields: &[Field]) -> Result<Rows, Unreadable> {
        let mut columns = Vec::with_capacity(fields.len());
        for (at, field) in fields.iter().enumerate() {
            let plan = plan_of(field.oid, field.modifier, field.form).ok_or(Unreadable::Type(at, field.oid))?;
            columns.push(Reader { plan, form: field.form, data: empty(plan), validity: None });
        }
        Ok(Rows { columns, rows: 0 })
    }

    /// Rows so far.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Takes the columns, and begins anew.
    pub(super) fn take(&mut self) -> Vec<Column> {
        self.rows = 0;
        let take = |reader: &mut Reader| {
            let data = std::mem::replace(&mut reader.data, empty(reader.plan));
            match reader.validity.take() {
                Some(validity) => Column::with_validity(data, validity),
                None => Column::new(data),
            }
        };
        self.columns.iter_mut().map(take).collect()
    }

    /// Adds a row from the body of its message.
    #[inline]
    pub(super) fn push(&mut self, body: &[u8]) -> Result<(), Unreadable> {
        let mut rest = body.get(2..).ok_or(Unreadable::Garbled)?;
        let row = self.rows;
        for (at, reader) in self.columns.iter_mut().enumerate() {
            let (length, after) = rest.split_first_chunk::<4>().ok_or(Unreadable::Garbled)?;
            let length = i32::from_be_bytes(*length);
            if length < 0 {
                reader.push_null(row);
                rest = after;
                continue;
            }
            let (value, after) = after.split_at_checked(length as usize).ok_or(Unreadable::Garbled)?;
            reader.push(value).map_err(|reason| match reason {
                Some(value) => Unreadable::Value(at, value),
                None => Unreadable::Garbled,
            })?;
            if let Some(validity) = &mut reader.validity {
                validity.push(true);
            }
            rest = after;
        }
        self.rows += 1;
        Ok(())
    }
}

fn empty(plan: Plan) -> ColumnData {
    match plan {
        Plan::Bool => ColumnData::Bool(Vec::new()),
        Plan::Int | Plan::Oid | Plan::WholeNumeric => ColumnData::Int(Vec::new()),
        Plan::Float | Plan::Numeric => ColumnData::Float(Vec::new()),
        Plan::Text | Plan::PaddedText | Plan::Hex => ColumnData::String(StringColumn::default()),
        Plan::Date => ColumnData::Date(Vec::new()),
        Plan::Time => ColumnData::LocalTime(Vec::new()),
        Plan::TimeTz => ColumnData::Time(Vec::new()),
        Plan::Timestamp => ColumnData::LocalDateTime(Vec::new()),
        Plan::TimestampTz => ColumnData::DateTime(Vec::new()),
        Plan::Interval => ColumnData::Duration(Vec::new()),
        Plan::Bytes | Plan::Json | Plan::Jsonb | Plan::Array | Plan::Digits => ColumnData::Value(Vec::new()),
    }
}

impl Reader {
    fn push_null(&mut self, row: usize) {
        if let ColumnData::Value(rows) = &mut self.data {
            return rows.push(Value::Null);
        }
        self.data.push_fillers(1);
        self.validity.get_or_insert_with(|| Bitmap::filled(row, true)).push(false);
    }

    /// Adds a value; fails with the value in words, or nothing where the bytes are not of the type.
    #[inline]
    fn push(&mut self, bytes: &[u8]) -> Result<(), Option<String>> {
        match (&mut self.data, self.plan) {
            (ColumnData::Int(rows), Plan::Int) => rows.push(integer(bytes)?),
            (ColumnData::Float(rows), Plan::Float) => rows.push(float(bytes)?),
            (ColumnData::String(rows), Plan::Text) => rows.push(text(bytes)?),
            (ColumnData::String(rows), Plan::PaddedText) => rows.push(text(bytes)?.trim_end_matches(' ')),
            (ColumnData::String(rows), Plan::Hex) => rows.push(uuid(bytes, &mut [0; 36])?),
            (ColumnData::Bool(rows), _) => rows.push(bytes.first().ok_or(None)? != &0),
            (ColumnData::Int(rows), Plan::Oid) => rows.push(i64::from(u32::from_be_bytes(fixed(bytes)?))),
            (ColumnData::Int(rows), _) => rows.push(whole_numeric(bytes)?),
            (ColumnData::Float(rows), _) => rows.push(numeric(bytes)?),
            (ColumnData::Date(rows), _) => rows.push(date(bytes)?),
            (ColumnData::LocalTime(rows), _) => rows.push(time(bytes)?),
            (ColumnData::Time(rows), _) => rows.push(time_with_offset(bytes)?),
            (ColumnData::LocalDateTime(rows), _) => rows.push(timestamp(bytes)?),
            (ColumnData::DateTime(rows), _) => rows.push(moment(bytes)?),
            (ColumnData::Duration(rows), _) => rows.push(interval(bytes)?),
            (ColumnData::Value(rows), plan) => rows.push(value(bytes, plan, self.form)?),
            _ => return Err(None),
        }
        Ok(())
    }
}

type Read<T> = Result<T, Option<String>>;

fn fixed<const N: usize>(bytes: &[u8]) -> Read<[u8; N]> {
    bytes.try_into().map_err(|_| None)
}

#[inline]
fn integer(bytes: &[u8]) -> Read<i64> {
    Ok(match bytes.len() {
        4 => i64::from(i32::from_be_bytes(fixed(bytes)?)),
        8 => i64::from_be_bytes(fixed(bytes)?),
        _ => i64::from(i16::from_be_bytes(fixed(bytes)?)),
    })
}

#[inline]
fn float(bytes: &[u8]) -> Read<f64> {
    Ok(match bytes.len() {
        8 => f64::from_be_bytes(fixed(bytes)?),
        _ => f64::from(f32::from_be_bytes(fixed(bytes)?)),
    })
}

#[inline]
fn text(bytes: &[u8]) -> Read<&str> {
    std::str::from_utf8(bytes).map_err(|_| Some("a text that is not UTF-8".to_owned()))
}

fn uuid<'t>(bytes: &[u8], out: &'t mut [u8; 36]) -> Read<&'t str> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes: [u8; 16] = fixed(bytes)?;
    let mut at = 0;
    for (number, byte) in bytes.iter().enumerate() {
        if matches!(number, 4 | 6 | 8 | 10) {
            out[at] = b'-';
            at += 1;
        }
        out[at] = DIGITS[usize::from(byte >> 4)];
        out[at + 1] = DIGITS[usize::from(byte & 15)];
        at += 2;
    }
    std::str::from_utf8(out).map_err(|_| None)
}

fn date(bytes: &[u8]) -> Read<Date> {
    match i32::from_be_bytes(fixed(bytes)?) {
        i32::MAX => Err(Some("the date infinity".to_owned())),
        i32::MIN => Err(Some("the date -infinity".to_owned())),
        days => Ok(Date(i64::from(days) + EPOCH_DAYS)),
    }
}

fn time(bytes: &[u8]) -> Read<LocalTime> {
    let micros = i64::from_be_bytes(fixed(bytes)?);
    if micros >= SECONDS_OF_DAY * 1_000_000 {
        return Err(Some("the time of day 24:00".to_owned()));
    }
    Ok(LocalTime(micros * 1_000))
}

fn time_with_offset(bytes: &[u8]) -> Read<Time> {
    let (micros, offset) = bytes.split_at_checked(8).ok_or(None)?;
    Ok(Time { local: time(micros)?, offset: -i32::from_be_bytes(fixed(offset)?) })
}

fn timestamp(bytes: &[u8]) -> Read<LocalDateTime> {
    let micros = i64::from_be_bytes(fixed(bytes)?);
    let shown = |sign: &str| Some(format!("the timestamp {sign}infinity"));
    match micros {
        i64::MAX => Err(shown("")),
        i64::MIN => Err(shown("-")),
        micros => Ok(LocalDateTime::of_micros(micros.checked_add(EPOCH_MICROS).ok_or_else(|| shown("near "))?)),
    }
}

fn moment(bytes: &[u8]) -> Read<DateTime> {
    let at = timestamp(bytes)?;
    Ok(DateTime { seconds: at.seconds, nanosecond: at.nanosecond, zone: Zone::UTC })
}

fn interval(bytes: &[u8]) -> Read<Duration> {
    let (micros, rest) = bytes.split_at_checked(8).ok_or(None)?;
    let (days, months) = rest.split_at_checked(4).ok_or(None)?;
    let micros = i64::from_be_bytes(fixed(micros)?);
    Ok(Duration {
        months: i64::from(i32::from_be_bytes(fixed(months)?)),
        days: i64::from(i32::from_be_bytes(fixed(days)?)),
        seconds: micros.div_euclid(1_000_000),
        nanosecond: (micros.rem_euclid(1_000_000) * 1_000) as u32,
    })
}

/// A number that is an integer of 64 bits.
fn whole_numeric(bytes: &[u8]) -> Read<i64> {
    match numeric_digits(bytes)? {
        Value::Int(number) => Ok(number),
        other => Err(Some(format!("the number {}", other.to_string().trim_matches('\'')))),
    }
}

/// A number of any length with all its digits: an integer, or a string. Those that are none are strings, too.
fn numeric_digits(bytes: &[u8]) -> Read<Value> {
    let (header, groups) = bytes.split_first_chunk::<8>().ok_or(None)?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let (count, weight, sign) = (usize::from(word(0)), i32::from(word(2) as i16), word(4));
    match sign {
        0xc000 => return Ok(Value::string("NaN")),
        0xd000 => return Ok(Value::string("Infinity")),
        0xf000 => return Ok(Value::string("-Infinity")),
        _ => {}
    }
    // Groups of four digits; the first is worth 10000^weight.
    let groups: Vec<u16> =
        groups.chunks_exact(2).take(count).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    if groups.len() < count {
        return Err(None);
    }
    let group =
        |worth: i32| usize::try_from(weight - worth).ok().and_then(|at| groups.get(at)).copied().unwrap_or_default();
    let mut text = String::with_capacity(4 * count + 8);
    if sign == 0x4000 {
        text.push('-');
    }
    text.push('0');
    (0..=weight).rev().for_each(|worth| text.push_str(&format!("{:04}", group(worth))));
    let last = weight - count as i32 + 1;
    if last < 0 {
        text.push('.');
        (last..0).rev().for_each(|worth| text.push_str(&format!("{:04}", group(worth))));
    }
    digits::number(&text).ok_or(None)
}

/// A number of any length, as the float next to it.
fn numeric(bytes: &[u8]) -> Read<f64> {
    let (header, digits) = bytes.split_first_chunk::<8>().ok_or(None)?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let (count, weight, sign) = (usize::from(word(0)), word(2) as i16, word(4));
    match sign {
        0xc000 => return Ok(f64::NAN),
        0xd000 => return Ok(f64::INFINITY),
        0xf000 => return Ok(f64::NEG_INFINITY),
        _ => {}
    }
    let digits = digits.chunks_exact(2).take(count).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    // Each digit counts to ten thousand; the first is worth 10000^weight.
    let exponent = 4 * (i32::from(weight) + 1 - count as i32);
    let exact = (count <= 4).then(|| digits.clone().fold(0_u64, |sum, digit| sum * 10_000 + u64::from(digit)));
    let size = match exact {
        // Both are exact as floats, so one operation rounds once.
        Some(mantissa) if mantissa < 1 << 53 && (0..=22).contains(&exponent) => {
            mantissa as f64 * POWERS[exponent as usize]
        }
        Some(mantissa) if mantissa < 1 << 53 && (-22..0).contains(&exponent) => {
            mantissa as f64 / POWERS[-exponent as usize]
        }
        _ => {
            let mut text = String::with_capacity(4 * count + 8);
            digits.for_each(|digit| text.push_str(&format!("{digit:04}")));
            text.push_str(&format!("e{exponent}"));
            text.parse().map_err(|_| None)?
        }
    };
    Ok(if sign == 0x4000 { -size } else { size })
}

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// One value of a type that has no column of its own.
fn value(bytes: &[u8], plan: Plan, form: Form) -> Read<Value> {
    Ok(match plan {
        Plan::Bytes => Value::Bytes(Arc::from(bytes)),
        Plan::Json => json(bytes)?,
        // The first byte is the version of the format.
        Plan::Jsonb => json(bytes.get(1..).ok_or(None)?)?,
        Plan::Array => array(bytes, form)?,
        Plan::Bool => Value::Bool(bytes.first().ok_or(None)? != &0),
        Plan::Int => Value::Int(integer(bytes)?),
        Plan::Oid => Value::Int(i64::from(u32::from_be_bytes(fixed(bytes)?))),
        Plan::Float => Value::Float(float(bytes)?),
        Plan::Numeric => Value::Float(numeric(bytes)?),
        Plan::WholeNumeric => Value::Int(whole_numeric(bytes)?),
        Plan::Digits => numeric_digits(bytes)?,
        Plan::Text => Value::string(text(bytes)?),
        Plan::PaddedText => Value::string(text(bytes)?.trim_end_matches(' ')),
        Plan::Hex => Value::string(uuid(bytes, &mut [0; 36])?),
        Plan::Date => Value::Date(date(bytes)?),
        Plan::Time => Value::LocalTime(time(bytes)?),
        Plan::TimeTz => Value::Time(time_with_offset(bytes)?),
        Plan::Timestamp => Value::LocalDateTime(timestamp(bytes)?),
        Plan::TimestampTz => Value::DateTime(moment(bytes)?),
        Plan::Interval => Value::Duration(interval(bytes)?),
    })
}

fn json(bytes: &[u8]) -> Read<Value> {
    document(bytes).ok_or_else(|| Some("a document that is not JSON".to_owned()))
}

/// An array, of several dimensions as lists of lists.
fn array(bytes: &[u8], form: Form) -> Read<Value> {
    let number = |at: usize| -> Read<u32> { Ok(u32::from_be_bytes(fixed(bytes.get(at..at + 4).ok_or(None)?)?)) };
    let (dimensions, element) = (number(0)? as usize, number(8)?);
    if dimensions == 0 {
        return Ok(Value::list(Vec::new()));
    }
    let plan = plan_of(element, -1, form).filter(|plan| *plan != Plan::Array);
    let plan = plan.ok_or_else(|| Some(format!("an array of the type {element}")))?;
    let sizes: Vec<usize> =
        (0..dimensions).map(|at| number(12 + 8 * at).map(|size| size as usize)).collect::<Read<_>>()?;
    let mut rest = bytes.get(12 + 8 * dimensions..).ok_or(None)?;
    let count: usize = sizes.iter().product();
    let mut values = Vec::with_capacity(count.min(rest.len()));
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>().ok_or(None)?;
        match usize::try_from(i32::from_be_bytes(*length)) {
            Err(_) => {
                values.push(Value::Null);
                rest = after;
            }
            Ok(length) => {
                let (item, after) = after.split_at_checked(length).ok_or(None)?;
                values.push(value(item, plan, form)?);
                rest = after;
            }
        }
    }
    // From the innermost dimension outwards.
    for &size in sizes.iter().skip(1).rev() {
        values = values.chunks(size.max(1)).map(|part| Value::list(part.to_vec())).collect();
    }
    Ok(Value::list(values))
}

#[cfg(test)]
mod tests {
    use super::{array, digits_of, numeric, numeric_digits, uuid, whole_numeric};
    use crate::sql::Form;

    fn digits(count: u16, weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let words = [count, weight as u16, sign, 0].into_iter().chain(digits.iter().copied());
        words.flat_map(u16::to_be_bytes).collect()
    }

    #[test]
    fn numbers_are_the_nearest_floats() {
        let check = |bytes: Vec<u8>, expected: f64| assert_eq!(numeric(&bytes).unwrap().to_bits(), expected.to_bits());
        check(digits(0, 0, 0, &[]), 0.0);
        check(digits(1, 0, 0, &[42]), 42.0);
        check(digits(2, 0, 0x4000, &[1, 2_500]), -1.25);
        check(digits(1, -1, 0, &[1_000]), 0.1);
        check(digits(5, 4, 0, &[9_223, 3_720, 3_685, 4_775, 8_070]), 92_233_720_368_547_758_070.0);
        check(digits(1, 3, 0, &[5]), 5e12);
        assert!(numeric(&digits(0, 0, 0xc000, &[])).unwrap().is_nan());
    }

    #[test]
    fn texts_of_uuids_and_arrays() {
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(uuid(&bytes, &mut [0; 36]).unwrap(), "00010203-0405-0607-0809-0a0b0c0d0e0f");
        let words: [u32; 11] = [2, 0, 23, 1, 1, 2, 1, 4, 7, 4, 8];
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        assert_eq!(array(&bytes, Form::Shown).unwrap().to_string(), "[[7, 8]]");
    }

    #[test]
    fn numbers_keep_all_their_digits() {
        let check = |bytes: Vec<u8>, expected: &str| {
            assert_eq!(numeric_digits(&bytes).unwrap().to_string().trim_matches('\''), expected);
        };
        check(digits(0, 0, 0, &[]), "0");
        check(digits(4, 3, 0, &[9_007, 1_992, 5_474, 993]), "9007199254740993");
        check(digits(2, 0, 0x4000, &[1, 2_500]), "-1.25");
        check(digits(1, -2, 0, &[70]), "0.0000007");
        check(digits(1, 3, 0, &[5]), "5000000000000");
        check(digits(5, 4, 0, &[9_223, 3_720, 3_685, 4_775, 8_070]), "92233720368547758070");
        check(digits(0, 0, 0xc000, &[]), "NaN");
        assert_eq!(whole_numeric(&digits(4, 3, 0x4000, &[9_007, 1_992, 5_474, 993])).unwrap(), -9_007_199_254_740_993);
        assert!(whole_numeric(&digits(0, 0, 0xc000, &[])).is_err());
        assert_eq!([digits_of(-1), digits_of(4 + (20 << 16) + 2)], [None, Some((20, 2))]);
        assert_eq!(digits_of(4 + (3 << 16) + 0x7fe), Some((3, -2)));
    }
}
