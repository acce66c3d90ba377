//! The types of fields in text files: their names, how a field is read as one, and how a type is inferred.

use model::temporal::{Date, DateTime, LocalDateTime};
use model::{
    Bitmap, Column, ColumnBuilder, ColumnData, Fixed, FixedKind, PropertyKind, Scalar, StringColumn, Value,
    each_stored_vector, with_stored,
};

use super::json_value::{to_value, wide_integer};

/// The type that a field of a text file is read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// `true` or `false`, in any case.
    Bool,
    /// A 64-bit integer.
    Int,
    /// A 64-bit float.
    Float,
    /// The string as it stands.
    String,
    /// A value of another kind, as Cypher writes it; a local date-time also with a space, and a zone `Z` or `+00:00`, which
    /// is dropped.
    Fixed(FixedKind),
    /// Elements of one type between list delimiters.
    List(Box<FieldType>),
    /// As Kùzu writes lists, `[1, 2]`; or like [`FieldType::List`].
    Bracketed(Box<FieldType>),
    /// Any value, as JSON: `[1, "a"]`, `{"$date": "2024-02-29"}`.
    Json,
}

impl FieldType {
    /// The type of a name as in neo4j-admin's headers and on the command line: `int`, `float[]`, `string`, ….
    pub fn of_name(name: &str) -> Option<FieldType> {
        let lower = name.to_ascii_lowercase();
        if let Some(element) = lower.strip_suffix("[]") {
            return FieldType::of_name(element).map(|element| FieldType::List(Box::new(element)));
        }
        Some(match lower.as_str() {
            "int" | "integer" | "long" | "short" | "byte" | "int8" | "int16" | "int32" | "int64" => FieldType::Int,
            "float" | "double" | "float32" | "float64" => FieldType::Float,
            "bool" | "boolean" => FieldType::Bool,
            "string" | "char" | "text" => FieldType::String,
            "timestamp" => FieldType::Fixed(FixedKind::LocalDateTime),
            "json" => FieldType::Json,
            other => FieldType::Fixed(FixedKind::of_field(other)?),
        })
    }

    /// The name as error messages print it.
    pub fn name(&self) -> String {
        match self {
            FieldType::Bool => "boolean".into(),
            FieldType::Int => "int".into(),
            FieldType::Float => "float".into(),
            FieldType::String => "string".into(),
            FieldType::Fixed(kind) => kind.field().unwrap_or_default().into(),
            FieldType::List(element) | FieldType::Bracketed(element) => format!("{}[]", element.name()),
            FieldType::Json => "json".into(),
        }
    }

    /// The type of a field whose values are of a kind.
    pub fn of_kind(kind: PropertyKind) -> FieldType {
        match kind {
            PropertyKind::Boolean => FieldType::Bool,
            PropertyKind::Integer => FieldType::Int,
            PropertyKind::Float => FieldType::Float,
            PropertyKind::String => FieldType::String,
            other => other.fixed().map_or(FieldType::String, FieldType::Fixed),
        }
    }

    /// The type of a value, if a field can have it.
    pub fn of_value(value: &Value) -> Option<FieldType> {
        Some(match value {
            Value::Bool(_) => FieldType::Bool,
            Value::Int(_) => FieldType::Int,
            Value::Float(_) => FieldType::Float,
            Value::String(_) => FieldType::String,
            other => FieldType::Fixed(FixedKind::of_value(other)?),
        })
    }

    /// The narrowest type that reads what two types read.
    pub fn united(&self, other: &FieldType) -> FieldType {
        match (self, other) {
            (one, other) if one == other => one.clone(),
            (FieldType::Int, FieldType::Float) | (FieldType::Float, FieldType::Int) => FieldType::Float,
            _ => FieldType::String,
        }
    }

    /// A type that reads a field that is not of this one, and all that are.
    pub(crate) fn wider(&self, field: &str) -> FieldType {
        let reads_all = *self == FieldType::Int && is_plainly(&FieldType::Float, field);
        if reads_all { FieldType::Float } else { FieldType::String }
    }

    /// A value as one of this type, if it is the same in another type: the integer 7 and the string `7`.
    pub fn converted(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (FieldType::Float, Value::Int(_)) | (FieldType::Int, Value::Float(_)) => None,
            (FieldType::String, Value::String(_)) => None,
            (FieldType::String, other) => FieldType::of_value(other).map(|_| Value::string(&other.to_string())),
            (_, Value::String(text)) if is_plainly(self, text) => self.parse(text, b';'),
            _ => None,
        }
    }

    /// The values of a column as of this type, as far as they are the same in it.
    pub fn convert(&self, column: &Column) -> Option<Column> {
        let is_same = match &column.data {
            ColumnData::Int(_) => matches!(self, FieldType::Int | FieldType::Float),
            ColumnData::Float(_) => matches!(self, FieldType::Int | FieldType::Float),
            ColumnData::String(_) => *self == FieldType::String,
            _ => false,
        };
        if is_same {
            return None;
        }
        let mut builder = ColumnBuilder::default();
        for value in column.values() {
            builder.push(&self.converted(&value).unwrap_or(value));
        }
        Some(builder.finish())
    }

    /// Reads one field; `None` if it is not of this type.
    pub fn parse(&self, text: &str, list_delimiter: u8) -> Option<Value> {
        match self {
            FieldType::Bool => bool::parse(text).map(Value::Bool),
            FieldType::Int => text.parse().ok().map(Value::Int),
            FieldType::Float => parse_float(text).map(Value::Float),
            FieldType::String => Some(Value::string(text)),
            FieldType::Fixed(FixedKind::LocalDateTime) => parse_moment(text).map(Value::LocalDateTime),
            FieldType::Fixed(kind) => kind.parse(text),
            FieldType::List(element) => list_of(element, text.split(list_delimiter as char)),
            FieldType::Bracketed(element) => {
                match text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
                    Some(inner) => list_of(element, elements_of(inner)?.into_iter()),
                    None => list_of(element, text.split(list_delimiter as char)),
                }
            }
            FieldType::Json => {
                let json = serde_json::from_str(text).ok().filter(|_| wide_integer(text.as_bytes()).is_none())?;
                to_value(json).ok()
            }
        }
    }

    /// The narrowest type that reads all of these fields; empty fields do not count.
    pub fn infer<'a>(fields: impl Iterator<Item = &'a str>) -> FieldType {
        let mut candidates = vec![
            FieldType::Int,
            FieldType::Float,
            FieldType::Bool,
            FieldType::Fixed(FixedKind::Date),
            FieldType::Fixed(FixedKind::LocalDateTime),
            FieldType::Fixed(FixedKind::DateTime),
        ];
        let mut seen = false;
        for field in fields.filter(|field| !field.is_empty()) {
            seen = true;
            candidates.retain(|candidate| is_plainly(candidate, field));
            if candidates.is_empty() {
                break;
            }
        }
        if seen { candidates.into_iter().next().unwrap_or(FieldType::String) } else { FieldType::String }
    }
}

/// A list of one type.
fn list_of<'t>(element: &FieldType, parts: impl Iterator<Item = &'t str>) -> Option<Value> {
    parts.map(|part| element.parse(part.trim(), b';')).collect::<Option<Vec<_>>>().map(Value::list)
}

/// The elements between commas, some of them in quotes; `None` for lists within lists, and quotes that are left open.
fn elements_of(text: &str) -> Option<Vec<&str>> {
    let (mut elements, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let (element, behind) = match quote {
            Some(quote) => {
                let (element, behind) = rest[1..].split_once(quote)?;
                (element, behind.trim_start())
            }
            None => {
                let (element, behind) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (element.trim_end(), behind)
            }
        };
        if quote.is_none() && element.contains(['[', ']']) {
            return None;
        }
        elements.push(element);
        match behind.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if behind.is_empty() => break,
            None => return None,
        }
    }
    Some(elements)
}

/// True if a field would lose nothing when read as that type: `007` is a string, and so is `+1`.
fn is_plainly(field_type: &FieldType, text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let padded = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") && !digits.starts_with("0e");
    match field_type {
        FieldType::Int => !padded && !text.starts_with('+') && text.parse::<i64>().is_ok(),
        FieldType::Float => {
            let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            !padded && is_number && text.parse::<f64>().is_ok() && !loses_digits(digits)
        }
        // Shorter forms are more often numbers of something else.
        FieldType::Fixed(FixedKind::Date) => Date::parse(text).is_some_and(|date| date.to_string() == text),
        FieldType::Fixed(FixedKind::LocalDateTime) => has_date_and_time(text) && LocalDateTime::parse(text).is_some(),
        FieldType::Fixed(FixedKind::DateTime) => has_date_and_time(text) && DateTime::parse(text).is_some(),
        other => other.parse(text, b';').is_some(),
    }
}

/// Digits that every float keeps, and digits that tell each float from all others.
const FLOAT_DIGITS: (usize, usize) = (15, 17);

/// True if a float would hold another number: of a whole one beyond 64 bits, of one with more digits than a float has, and
/// of one so small or large that it is rounded.
fn loses_digits(digits: &str) -> bool {
    let mantissa = digits.split(['e', 'E']).next().unwrap_or(digits);
    if mantissa.len() == digits.len() && !digits.contains('.') && digits.parse::<i64>().is_err() {
        return true;
    }
    let of = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let all = of(mantissa);
    let kept = all.trim_matches('0');
    let Ok(number) = digits.parse::<f64>() else { return true };
    let is_short = kept.len() <= FLOAT_DIGITS.0 && number.is_normal() && number.is_finite();
    if kept.is_empty() || is_short {
        return false;
    }
    let printed = format!("{number:.*e}", kept.len() - 1);
    kept.len() > FLOAT_DIGITS.1 || of(printed.split('e').next().unwrap_or_default()) != kept
}

fn has_date_and_time(text: &str) -> bool {
    text.len() > 12 && text.as_bytes()[4] == b'-' && text.contains(':')
}

/// A number beyond the range of floats is none; the words for infinity are.
fn parse_float(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() || !text.contains(|c: char| c.is_ascii_digit())).then_some(number)
}

fn parse_moment(text: &str) -> Option<LocalDateTime> {
    let plain = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).or_else(|| text.strip_suffix("+0000"));
    let plain = plain.unwrap_or(text);
    LocalDateTime::parse(plain)
}

/// Builds one column of a text file, without a value for each field on the way. An empty field is null.
pub(crate) struct FieldBuilder {
    field_type: FieldType,
    list_delimiter: u8,
    data: ColumnData,
    lists: ColumnBuilder,
    validity: Bitmap,
}

impl FieldBuilder {
    pub(crate) fn new(field_type: &FieldType, list_delimiter: u8) -> FieldBuilder {
        let data = match field_type {
            FieldType::Bool => ColumnData::Bool(Vec::new()),
            FieldType::Int => ColumnData::Int(Vec::new()),
            FieldType::Float => ColumnData::Float(Vec::new()),
            FieldType::String => ColumnData::String(StringColumn::default()),
            FieldType::Fixed(kind) => with_stored!(kind, {
                FixedKind::Node | FixedKind::Edge => ColumnData::Null(0),
            }, T => T::vector(Vec::new())),
            FieldType::List(_) | FieldType::Bracketed(_) | FieldType::Json => ColumnData::Null(0),
        };
        let field_type = field_type.clone();
        FieldBuilder { field_type, list_delimiter, data, lists: ColumnBuilder::default(), validity: Bitmap::default() }
    }

    /// Checks that a field reads as the column's type. The reason says what was found and expected.
    pub(crate) fn check(&self, field: &[u8]) -> Result<(), String> {
        let Ok(text) = std::str::from_utf8(field) else {
            return Err("the text is not UTF-8: convert the file, as with iconv -f LATIN1 -t UTF-8".to_string());
        };
        if text.is_empty() || self.field_type == FieldType::String {
            return Ok(());
        }
        match self.field_type.parse(text, self.list_delimiter) {
            Some(_) => Ok(()),
            None => Err(format!("expected {}, found '{}'", self.field_type.name(), shortened(text))),
        }
    }

    /// Adds a field; false, with a null added, if it does not read as the column's type.
    #[inline]
    pub(crate) fn push(&mut self, field: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(field) else {
            self.push_null();
            return false;
        };
        if text.is_empty() {
            self.push_null();
            return true;
        }
        let read = each_stored_vector!(&mut self.data, {
            ColumnData::Float(rows) => parse_float(text).map(|x| rows.push(x)).is_some(),
            ColumnData::LocalDateTime(rows) => parse_moment(text).map(|x| rows.push(x)).is_some(),
            ColumnData::String(rows) => {
                rows.push(text);
                true
            }
            ColumnData::Null(_) | ColumnData::Value(_) | ColumnData::Node(_) | ColumnData::Edge(_) => {
                let list = self.field_type.parse(text, self.list_delimiter);
                list.map(|list| self.lists.push(&list)).is_some()
            }
        }, rows => push_parsed(rows, text));
        if read {
            self.validity.push(true);
        } else {
            self.push_null();
        }
        read
    }

    /// Adds a field that was quoted: if it is empty, the empty string in a column of strings, the empty list in one of lists.
    #[inline]
    pub(crate) fn push_quoted(&mut self, field: &[u8]) -> bool {
        if !field.is_empty() {
            return self.push(field);
        }
        match (&mut self.data, &self.field_type) {
            (ColumnData::String(rows), _) => rows.push(""),
            (_, FieldType::List(_) | FieldType::Bracketed(_)) => self.lists.push(&Value::list(Vec::new())),
            _ => return self.push(field),
        }
        self.validity.push(true);
        true
    }

    fn push_null(&mut self) {
        match &mut self.data {
            ColumnData::Null(_) => self.lists.push(&Value::Null),
            data => data.push_fillers(1),
        }
        self.validity.push(false);
    }

    pub(crate) fn finish(self) -> Column {
        match self.field_type {
            FieldType::List(_) | FieldType::Bracketed(_) | FieldType::Json => self.lists.finish(),
            _ => Column::with_validity(self.data, self.validity),
        }
    }
}

/// Adds a field that reads as a value of the kind.
#[inline]
fn push_parsed<T: Scalar>(rows: &mut Vec<T>, text: &str) -> bool {
    T::parse(text).map(|x| rows.push(x)).is_some()
}

/// A field as an error message shows it.
pub(crate) fn shortened(text: &str) -> String {
    if text.chars().count() <= 40 { text.to_string() } else { text.chars().take(37).collect::<String>() + "..." }
}

#[cfg(test)]
mod tests {
    use super::FieldType;
    use model::{FixedKind, Value};

    #[test]
    fn lists_in_brackets() {
        let lists = |text: &str| FieldType::Bracketed(Box::new(FieldType::String)).parse(text, b';');
        let list = |items: &[&str]| Some(Value::list(items.iter().map(|item| Value::string(item)).collect()));
        assert_eq!(lists("[a, b c ,d]"), list(&["a", "b c", "d"]));
        assert_eq!(lists("['a, b', \"it's\" , don't]"), list(&["a, b", "it's", "don't"]));
        assert_eq!(lists("[]"), list(&[]));
        assert_eq!(lists("a;b"), list(&["a", "b"]));
        for wrong in ["[[a],[b]]", "['a]", "['a' b]"] {
            assert_eq!(lists(wrong), None, "{wrong}");
        }
        let numbers = FieldType::Bracketed(Box::new(FieldType::Int));
        assert_eq!(numbers.parse("[1, -2]", b';'), Some(Value::list(vec![Value::Int(1), Value::Int(-2)])));
        assert_eq!(numbers.parse("[1,x]", b';'), None);
    }

    #[test]
    fn types_are_inferred_without_loss() {
        let infer = |fields: &[&str]| FieldType::infer(fields.iter().copied());
        assert_eq!(infer(&["1", "", "-2"]), FieldType::Int);
        assert_eq!(infer(&["1", "2.5"]), FieldType::Float);
        assert_eq!(infer(&["007"]), FieldType::String);
        assert_eq!(infer(&["true", "FALSE"]), FieldType::Bool);
        assert_eq!(infer(&["2001-02-28"]), FieldType::Fixed(FixedKind::Date));
        assert_eq!(infer(&["2001-02-28T01:02:03"]), FieldType::Fixed(FixedKind::LocalDateTime));
        assert_eq!(infer(&["2001-02-28T01:02:03Z", "2001-02-28 01:02+01:00"]), FieldType::Fixed(FixedKind::DateTime));
        assert_eq!(infer(&["2001-123"]), FieldType::String);
        assert_eq!(infer(&["1", "x"]), FieldType::String);
        assert_eq!(infer(&["", ""]), FieldType::String);
        assert_eq!(infer(&["nan"]), FieldType::String);
        assert_eq!(infer(&["12345678901234567890"]), FieldType::String);
        assert_eq!(infer(&["9223372036854775807", "1"]), FieldType::Int);
        assert_eq!(infer(&["0.12345678901234567890"]), FieldType::String);
        assert_eq!(
            infer(&["0.30000000000000004", "1e300", "0.10000000000000001", "0.000", "-1.50e-300"]),
            FieldType::Float
        );
        for rounded in ["90071992547409.93", "9007199254740993.0", "1e400", "1e-400", "5.5e-324", "0.12345678901234567"]
        {
            assert_eq!(infer(&["1.5", rounded]), FieldType::String, "{rounded}");
        }
        assert_eq!(FieldType::Float.parse("1e400", b';'), None);
        assert_eq!(FieldType::Float.parse("-inf", b';'), Some(Value::Float(f64::NEG_INFINITY)));
    }
}
