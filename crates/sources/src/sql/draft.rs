//! A statement being put together: its parts in any order, its parameters as marks that are numbered at the end.

use std::borrow::Cow;

use model::{Column, ColumnData, Value};

use crate::sql::catalog::NUMBER;
use crate::sql::{Answer, Dialect, Form, Parameter, ParameterValue, Rest, Statement, digits};

/// Values that stand in a statement of SQLite as parameters; more are passed as JSON.
const PARAMETERS_MAX: usize = 16_000;
/// Digits of a number, and those after the point, that MySQL can be told.
const NUMBER_DIGITS: (usize, usize) = (65, 30);

/// What stands around the number of a parameter until it is known where it stands in the text.
const MARK: char = '\u{1}';

/// The parts of a `SELECT`.
#[derive(Clone, Debug)]
pub(super) struct Draft<'q> {
    dialect: Dialect,
    parameters: Vec<Parameter<'q>>,
    /// Queries that stand before it, and whether one of them speaks of itself.
    pub(super) with: Vec<String>,
    pub(super) select: Vec<String>,
    /// What rows are taken from, joined in order.
    pub(super) from: String,
    pub(super) conditions: Vec<String>,
    pub(super) order: Vec<String>,
    pub(super) limit: Option<u64>,
    pub(super) answer: Vec<Answer>,
    pub(super) rest: Rest,
}

impl<'q> Draft<'q> {
    pub(super) fn new(dialect: Dialect) -> Draft<'q> {
        Draft {
            dialect,
            parameters: Vec::new(),
            with: Vec::new(),
            select: Vec::new(),
            from: String::new(),
            conditions: Vec::new(),
            order: Vec::new(),
            limit: None,
            answer: Vec::new(),
            rest: Rest::default(),
        }
    }

    /// A value as a parameter, as it stands in the text. With a type it is cast, where values do not say their type.
    pub(super) fn value(&mut self, value: Value, sql_type: &str) -> String {
        let of_number = self.number_type(&value, sql_type);
        let mark = self.mark(ParameterValue::One(value), sql_type);
        match (self.dialect, of_number) {
            (Dialect::Postgres, _) if !sql_type.is_empty() => format!("{mark}::{sql_type}"),
            (_, Some(of_number)) => format!("CAST({mark} AS {of_number})"),
            _ => mark,
        }
    }

    /// For a number in digits that is compared with, or written to, a column of numbers of MySQL: the type that holds just
    /// it. As a text, and with a text, MySQL would compare it as a float.
    fn number_type(&self, value: &Value, sql_type: &str) -> Option<String> {
        let (Dialect::MySql, NUMBER, Value::String(text)) = (self.dialect, sql_type, value) else { return None };
        let (whole, fraction) = digits::width(text)?;
        let fits = whole + fraction <= NUMBER_DIGITS.0 && fraction <= NUMBER_DIGITS.1;
        fits.then(|| format!("DECIMAL({}, {fraction})", whole + fraction))
    }

    /// A column as an array: an expression for `unnest` or `ANY` in PostgreSQL, for `json_each` in SQLite, a list in MySQL.
    pub(super) fn array(&mut self, values: Cow<'q, Column>, sql_type: &str) -> String {
        match self.dialect {
            Dialect::Postgres => {
                let mark = self.mark(ParameterValue::Array(values), sql_type);
                if sql_type.is_empty() { mark } else { format!("{mark}::{sql_type}[]") }
            }
            Dialect::Sqlite => {
                let text = Value::String(json(&values).to_string().into());
                self.mark(ParameterValue::One(text), "")
            }
            Dialect::MySql => self.list(&values, &[sql_type]),
        }
    }

    /// The values of a column as parameters, lists as rows of them, for columns of these types.
    fn list(&mut self, values: &Column, types: &[&str]) -> String {
        let marks: Vec<String> = values.values().map(|value| self.row(&value, types)).collect();
        if marks.is_empty() { "NULL".to_owned() } else { marks.join(", ") }
    }

    /// The list behind `IN` for values of columns of these types: rows of them where there are several columns.
    pub(super) fn members(&mut self, values: Cow<'q, Column>, types: &[&str]) -> String {
        match (self.dialect, types) {
            (Dialect::MySql, _) => format!("({})", self.list(&values, types)),
            (Dialect::Sqlite, _) if !is_kept_by_json(&values) && values.len() * types.len() <= PARAMETERS_MAX => {
                let values_of = if types.len() > 1 { "VALUES " } else { "" };
                format!("({values_of}{})", self.list(&values, types))
            }
            (_, [_]) => format!("(SELECT value FROM json_each({}))", self.array(values, "")),
            (_, several) => {
                let parts: Vec<String> =
                    (0..several.len()).map(|at| format!("json_extract(value, '$[{at}]')")).collect();
                format!("(SELECT {} FROM json_each({}))", parts.join(", "), self.array(values, ""))
            }
        }
    }

    /// A value as a parameter, a list as parameters in parentheses. A text that is no number is none of a column of
    /// numbers; MySQL would take it for 0.
    fn row(&mut self, value: &Value, types: &[&str]) -> String {
        match (value, types) {
            (Value::List(items), _) => {
                let types = types.iter().copied().chain(std::iter::repeat(""));
                let marks: Vec<String> = items.iter().zip(types).map(|(item, of)| self.row(item, &[of])).collect();
                format!("({})", marks.join(", "))
            }
            (Value::String(_), [NUMBER])
                if self.dialect == Dialect::MySql && self.number_type(value, NUMBER).is_none() =>
            {
                "NULL".to_owned()
            }
            (value, types) => self.value(value.clone(), types.first().copied().unwrap_or("")),
        }
    }

    fn mark(&mut self, value: ParameterValue<'q>, sql_type: &str) -> String {
        self.parameters.push(Parameter { value, sql_type: sql_type.to_owned() });
        format!("{MARK}{}{MARK}", self.parameters.len() - 1)
    }

    /// Adds a column to the answer.
    pub(super) fn answer(&mut self, expressions: Vec<String>, name: String, kind: Option<model::PropertyKind>) {
        self.answer.push(Answer { name, columns: expressions.len(), kind, form: Form::before(kind) });
        self.select.extend(expressions);
    }

    /// Adds the columns of a key, which are read so that they can be asked for again.
    pub(super) fn answer_key(&mut self, expressions: Vec<String>, name: String) {
        self.answer(expressions, name, None);
        self.answer.iter_mut().next_back().expect("it was added above").form = Form::Stored;
    }

    /// The `SELECT`, with its marks.
    pub(super) fn select_text(&self) -> String {
        let mut text = String::new();
        if !self.with.is_empty() {
            text.push_str(&format!("WITH RECURSIVE {}\n", self.with.join(",\n")));
        }
        text.push_str(&format!("SELECT {}", self.select.join(", ")));
        if !self.from.is_empty() {
            text.push_str(&format!("\nFROM {}", self.from));
        }
        if !self.conditions.is_empty() {
            text.push_str(&format!("\nWHERE {}", self.conditions.join("\n  AND ")));
        }
        if !self.order.is_empty() {
            text.push_str(&format!("\nORDER BY {}", self.order.join(", ")));
        }
        if let Some(limit) = self.limit {
            text.push_str(&format!("\nLIMIT {limit}"));
        }
        text
    }

    /// The statement whose text this is.
    pub(super) fn finish(self, text: &str) -> Statement<'q> {
        let (text, parameters) = numbered(self.dialect, text, self.parameters);
        Statement { text, parameters, answer: self.answer, rest: self.rest, expects: None }
    }

    /// The `SELECT` as a statement.
    pub(super) fn finish_select(self) -> Statement<'q> {
        let text = self.select_text();
        self.finish(&text)
    }
}

/// Replaces marks by what the dialect writes. Parameters are put in the order of the text; those of conditions that came to
/// nothing are left out.
fn numbered<'q>(dialect: Dialect, text: &str, parameters: Vec<Parameter<'q>>) -> (String, Vec<Parameter<'q>>) {
    let (mut out, mut placed) = (String::with_capacity(text.len()), Vec::new());
    let mut numbers: Vec<Option<usize>> = vec![None; parameters.len()];
    let mut parameters: Vec<Option<Parameter<'q>>> = parameters.into_iter().map(Some).collect();
    for (at, piece) in text.split(MARK).enumerate() {
        if at % 2 == 0 {
            out.push_str(piece);
            continue;
        }
        let mark: usize = piece.parse().expect("marks come in pairs around numbers");
        if dialect == Dialect::MySql {
            out.push('?');
            placed.extend(parameters[mark].clone());
            continue;
        }
        let number = *numbers[mark].get_or_insert_with(|| {
            placed.extend(parameters[mark].take());
            placed.len()
        });
        out.push_str(&format!("{}{number}", if dialect == Dialect::Postgres { '$' } else { '?' }));
    }
    (out, placed)
}

/// Tells whether JSON keeps values as they are: SQLite reads floats from texts with an error in the last digit, and JSON has no
/// bytes.
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
