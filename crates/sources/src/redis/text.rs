//! Strings as values. Redis holds strings only: a kind in the definition takes precedence; elsewhere a string is an
//! integer or a float if it is written as one, by itself and not by its neighbours, so that a value is the same
//! whenever it is read.
//!
//! Integers are canonical (`5`, `-3`, but not `05` or `+5`), floats have a point or a signed exponent (`1.5`, `1e-7`,
//! but not `12e4`); all else is a string. Keys are integers or strings, so that each value has one form.

use model::schema::PropertyKind;

use model::{Bitmap, Column, ColumnBuilder, ColumnData, StringColumn, Value};

/// The integer that a string is, written as integers are.
pub(super) fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let is_canonical = match digits {
        [] => false,
        [b'0'] => text.len() == 1,
        [first, ..] => *first != b'0',
    };
    if !is_canonical || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    text.parse().ok()
}

/// The float that a string is, written as floats are.
fn float(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let is_padded = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
    let is_plain = digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !digits.first().is_some_and(u8::is_ascii_digit) || is_padded || !is_plain {
        return None;
    }
    let has_point = digits.contains(&b'.');
    let has_signed_exponent = digits.windows(2).any(|two| matches!(two, [b'e' | b'E', b'+' | b'-']));
    if !has_point && !has_signed_exponent {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The string of a node's key; `None` if no key can have that value.
pub(super) fn key_text(value: &Value, kind: Option<PropertyKind>) -> Option<String> {
    match (value, kind) {
        (Value::Int(number), None | Some(PropertyKind::Integer)) => Some(number.to_string()),
        (Value::String(text), None) if integer(text).is_none() => Some(text.to_string()),
        (Value::String(text), Some(PropertyKind::String)) => Some(text.to_string()),
        _ => None,
    }
}

/// A string as a value of a kind; `None` if it is none.
pub(super) fn convert(text: &str, kind: PropertyKind) -> Option<Value> {
    match kind {
        PropertyKind::Boolean => match text {
            "1" => Some(Value::Bool(true)),
            "0" => Some(Value::Bool(false)),
            text if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
            text if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
            _ => None,
        },
        PropertyKind::String => Some(Value::string(text)),
        other => other.fixed()?.parse(text),
    }
}

/// The way in which the strings of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As the definition says.
    As(PropertyKind),
    /// Numbers are recognised.
    Recognised,
    /// Keys: integers are recognised.
    Key,
    /// Keys that are integers, as the definition says.
    IntegerKey,
}

/// A column built from strings, without a value for each on the way as long as they are of one kind.
#[derive(Debug)]
pub(super) struct TextColumn {
    reading: Reading,
    data: Data,
    validity: Bitmap,
}

#[derive(Debug)]
enum Data {
    Nulls(usize),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Texts(StringColumn),
    Mixed(ColumnBuilder),
}

impl TextColumn {
    pub(super) fn new(reading: Reading) -> TextColumn {
        TextColumn { reading, data: Data::Nulls(0), validity: Bitmap::default() }
    }

    pub(super) fn push_null(&mut self) {
        match &mut self.data {
            Data::Nulls(rows) => *rows += 1,
            Data::Ints(rows) => rows.push(0),
            Data::Floats(rows) => rows.push(0.0),
            Data::Texts(rows) => rows.push(""),
            Data::Mixed(rows) => rows.push(&Value::Null),
        }
        self.validity.push(false);
    }

    /// Adds a string; false, with nothing added, if it does not convert.
    pub(super) fn push(&mut self, text: &str) -> bool {
        match self.reading {
            Reading::As(PropertyKind::Integer) => match text.parse() {
                Ok(number) => self.push_int(number),
                Err(_) => return false,
            },
            Reading::As(PropertyKind::Float) => match text.parse() {
                Ok(number) => self.push_float(number),
                Err(_) => return false,
            },
            Reading::As(PropertyKind::String) => self.push_text(text),
            Reading::As(kind) => match convert(text, kind) {
                Some(value) => self.push_value(&value),
                None => return false,
            },
            Reading::Recognised => match (integer(text), float(text)) {
                (Some(number), _) => self.push_int(number),
                (None, Some(number)) => self.push_float(number),
                (None, None) => self.push_text(text),
            },
            Reading::Key => match integer(text) {
                Some(number) => self.push_int(number),
                None => self.push_text(text),
            },
            Reading::IntegerKey => match integer(text) {
                Some(number) => self.push_int(number),
                None => return false,
            },
        }
        true
    }

    fn push_int(&mut self, number: i64) {
        if let Data::Nulls(nulls) = self.data {
            self.data = Data::Ints(vec![0; nulls]);
        }
        match &mut self.data {
            Data::Ints(rows) => rows.push(number),
            _ => return self.push_value(&Value::Int(number)),
        }
        self.validity.push(true);
    }

    fn push_float(&mut self, number: f64) {
        if let Data::Nulls(nulls) = self.data {
            self.data = Data::Floats(vec![0.0; nulls]);
        }
        match &mut self.data {
            Data::Floats(rows) => rows.push(number),
            _ => return self.push_value(&Value::Float(number)),
        }
        self.validity.push(true);
    }

    fn push_text(&mut self, text: &str) {
        if let Data::Nulls(nulls) = self.data {
            self.data = Data::Texts(std::iter::repeat_n("", nulls).collect());
        }
        match &mut self.data {
            Data::Texts(rows) => rows.push(text),
            _ => return self.push_value(&Value::string(text)),
        }
        self.validity.push(true);
    }

    /// Adds a value to a column that is of another kind so far.
    fn push_value(&mut self, value: &Value) {
        if !matches!(self.data, Data::Mixed(_)) {
            let data = std::mem::replace(&mut self.data, Data::Nulls(0));
            let held = column_of(data, self.validity.clone());
            self.data = Data::Mixed(ColumnBuilder::from(held));
        }
        if let Data::Mixed(rows) = &mut self.data {
            rows.push(value);
        }
        self.validity.push(true);
    }

    pub(super) fn finish(self) -> Column {
        column_of(self.data, self.validity)
    }
}

fn column_of(data: Data, validity: Bitmap) -> Column {
    match data {
        Data::Nulls(rows) => Column::nulls(rows),
        Data::Ints(rows) => Column::with_validity(ColumnData::Int(rows), validity),
        Data::Floats(rows) => Column::with_validity(ColumnData::Float(rows), validity),
        Data::Texts(rows) => Column::with_validity(ColumnData::String(rows), validity),
        Data::Mixed(rows) => rows.finish(),
    }
}

#[cfg(test)]
mod tests {
    use model::schema::PropertyKind;
    use model::{ColumnData, Value};

    use super::{Reading, TextColumn, key_text};

    fn read(reading: Reading, text: &str) -> Option<Value> {
        let mut column = TextColumn::new(reading);
        column.push(text).then(|| column.finish().value(0))
    }

    #[test]
    fn numbers_are_recognised_by_themselves() {
        let check = |text: &str, expected: Value| assert_eq!(read(Reading::Recognised, text), Some(expected), "{text}");
        check("5", Value::Int(5));
        check("-9223372036854775808", Value::Int(i64::MIN));
        check("0.5", Value::Float(0.5));
        check("-1.25e3", Value::Float(-1250.0));
        check("1e-7", Value::Float(1e-7));
        check("1e+20", Value::Float(1e20));
        for text in
            ["05", "+5", "-0", "", "9223372036854775808", "12e4", "1.2.3", "00.5", ".5", "nan", "inf", "5 ", "a"]
        {
            check(text, Value::string(text));
        }
    }

    #[test]
    fn conversions_say_what_does_not_convert() {
        assert_eq!(read(Reading::As(PropertyKind::Integer), "007"), Some(Value::Int(7)));
        assert_eq!(read(Reading::As(PropertyKind::Float), "7"), Some(Value::Float(7.0)));
        assert_eq!(read(Reading::As(PropertyKind::String), "7"), Some(Value::string("7")));
        assert_eq!(read(Reading::As(PropertyKind::Boolean), "1"), Some(Value::Bool(true)));
        assert_eq!(read(Reading::As(PropertyKind::Integer), "x"), None);
        assert_eq!(read(Reading::As(PropertyKind::Date), "x"), None);
    }

    #[test]
    fn each_key_has_one_text() {
        for text in ["5", "05", "x", "-1", "1.5"] {
            for (reading, kind) in
                [(Reading::Key, None), (Reading::As(PropertyKind::String), Some(PropertyKind::String))]
            {
                let value = read(reading, text).unwrap();
                assert_eq!(key_text(&value, kind).as_deref(), Some(text));
            }
        }
        assert_eq!(read(Reading::IntegerKey, "05"), None);
        assert_eq!(key_text(&Value::string("5"), None), None);
        assert_eq!(key_text(&Value::Int(5), Some(PropertyKind::String)), None);
        assert_eq!(key_text(&Value::Float(5.0), None), None);
    }

    #[test]
    fn columns_widen() {
        let mut column = TextColumn::new(Reading::Recognised);
        for text in [None, Some("1"), Some("2.5"), None, Some("x")] {
            match text {
                Some(text) => assert!(column.push(text)),
                None => column.push_null(),
            }
        }
        let expected = [Value::Null, Value::Int(1), Value::Float(2.5), Value::Null, Value::string("x")];
        assert_eq!(column.finish().values().collect::<Vec<_>>(), expected);
        let mut column = TextColumn::new(Reading::Key);
        assert!(column.push("1") && column.push("2"));
        assert!(matches!(column.finish().data, ColumnData::Int(_)));
    }
}
