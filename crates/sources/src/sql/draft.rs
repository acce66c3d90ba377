//! A statement being put together: its parts in any order, its parameters as marks that are numbered at the end.

use std::borrow::Cow;

use model::{Column, ColumnData, Value};

use crate::sql::{Answer, Dialect, Parameter, ParameterValue, Rest, Statement};

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
        let mark = self.mark(ParameterValue::One(value), sql_type);
        match self.dialect {
            Dialect::Postgres if !sql_type.is_empty() => format!("{mark}::{sql_type}"),
            _ => mark,
        }
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
            Dialect::MySql => {
                let marks: Vec<String> = values.values().map(|value| self.row(&value)).collect();
                if marks.is_empty() { "NULL".to_owned() } else { marks.join(", ") }
            }
        }
    }

    /// A value as a parameter, a list as parameters in parentheses.
    fn row(&mut self, value: &Value) -> String {
        match value {
            Value::List(items) => {
                let marks: Vec<String> = items.iter().map(|item| self.row(item)).collect();
                format!("({})", marks.join(", "))
            }
            value => self.mark(ParameterValue::One(value.clone()), ""),
        }
    }

    fn mark(&mut self, value: ParameterValue<'q>, sql_type: &str) -> String {
        self.parameters.push(Parameter { value, sql_type: sql_type.to_owned() });
        format!("{MARK}{}{MARK}", self.parameters.len() - 1)
    }

    /// Adds a column to the answer.
    pub(super) fn answer(&mut self, expressions: Vec<String>, name: String, kind: Option<model::PropertyKind>) {
        self.answer.push(Answer { name, columns: expressions.len(), kind });
        self.select.extend(expressions);
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
