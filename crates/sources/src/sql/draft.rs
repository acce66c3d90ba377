//! A statement being put together: its parts in any order, its parameters as marks that are numbered at the end.

use std::borrow::Cow;

use model::{Column, Value};

use crate::sql::{Answer, Dialect, Form, Parameter, ParameterValue, Rest, Statement};

/// The sign around the number of a parameter until its place in the SQL is known.
const MARK: char = '\u{1}';

/// The parts of a `SELECT`.
#[derive(Clone, Debug)]
pub struct Draft<'q> {
    dialect: &'static dyn Dialect,
    parameters: Vec<Parameter<'q>>,
    /// Queries that stand before it, and whether one of them speaks of itself.
    pub(super) with: Vec<String>,
    pub(super) select: Vec<String>,
    pub(super) is_distinct: bool,
    /// The sources of rows, joined in order.
    pub(super) from: String,
    pub(super) conditions: Vec<String>,
    pub(super) group: Vec<String>,
    pub(super) order: Vec<String>,
    pub(super) limit: Option<u64>,
    pub(super) answer: Vec<Answer>,
    pub(super) rest: Rest,
}

impl<'q> Draft<'q> {
    pub(super) fn new(dialect: &'static dyn Dialect) -> Draft<'q> {
        Draft {
            dialect,
            parameters: Vec::new(),
            with: Vec::new(),
            select: Vec::new(),
            is_distinct: false,
            from: String::new(),
            conditions: Vec::new(),
            group: Vec::new(),
            order: Vec::new(),
            limit: None,
            answer: Vec::new(),
            rest: Rest::default(),
        }
    }

    /// A value as a parameter, as it stands in the text. With a type it is cast, where values do not say their type.
    pub(super) fn value(&mut self, value: Value, sql_type: &str) -> String {
        let dialect = self.dialect;
        let mark = self.mark(ParameterValue::One(value.clone()), sql_type);
        dialect.cast(mark, &value, sql_type)
    }

    /// A value as a parameter, as it is written to a column of a type.
    pub(super) fn assigned(&mut self, value: Value, sql_type: &str) -> String {
        let dialect = self.dialect;
        let mark = self.mark(ParameterValue::One(value.clone()), sql_type);
        dialect.assigned(mark, &value, sql_type)
    }

    /// A column as an array: an expression for `unnest` or `ANY` in PostgreSQL and DuckDB, for `json_each` in SQLite, a list
    /// in MySQL.
    pub(super) fn array(&mut self, values: Cow<'q, Column>, sql_type: &str) -> String {
        let dialect = self.dialect;
        dialect.array(self, values, sql_type)
    }

    /// The values of a column as parameters, lists as rows of them, for columns of these types.
    pub(super) fn list(&mut self, values: &Column, types: &[&str]) -> String {
        let marks: Vec<String> = values.values().map(|value| self.row(&value, types)).collect();
        if marks.is_empty() { "NULL".to_owned() } else { marks.join(", ") }
    }

    /// A value as a parameter, a list as parameters in parentheses.
    fn row(&mut self, value: &Value, types: &[&str]) -> String {
        match (value, types) {
            (Value::List(items), _) => {
                let types = types.iter().copied().chain(std::iter::repeat(""));
                let marks: Vec<String> = items.iter().zip(types).map(|(item, of)| self.row(item, &[of])).collect();
                format!("({})", marks.join(", "))
            }
            (value, [sql_type]) if !self.dialect.can_hold(value, sql_type) => "NULL".to_owned(),
            (value, types) => self.value(value.clone(), types.first().copied().unwrap_or("")),
        }
    }

    pub(super) fn mark(&mut self, value: ParameterValue<'q>, sql_type: &str) -> String {
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
        let distinct = if self.is_distinct { "DISTINCT " } else { "" };
        text.push_str(&format!("SELECT {distinct}{}", self.select.join(", ")));
        if !self.from.is_empty() {
            text.push_str(&format!("\nFROM {}", self.from));
        }
        if !self.conditions.is_empty() {
            text.push_str(&format!("\nWHERE {}", self.conditions.join("\n  AND ")));
        }
        if !self.group.is_empty() {
            text.push_str(&format!("\nGROUP BY {}", self.group.join(", ")));
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
fn numbered<'q>(
    dialect: &'static dyn Dialect,
    text: &str,
    parameters: Vec<Parameter<'q>>,
) -> (String, Vec<Parameter<'q>>) {
    let (mut out, mut placed) = (String::with_capacity(text.len()), Vec::new());
    let mut numbers: Vec<Option<usize>> = vec![None; parameters.len()];
    for (at, piece) in text.split(MARK).enumerate() {
        if at % 2 == 0 {
            out.push_str(piece);
            continue;
        }
        let mark: usize = piece.parse().expect("marks come in pairs around numbers");
        let number = numbers[mark].unwrap_or(placed.len() + 1);
        let numbered = dialect.parameter(number);
        if numbered.is_none() || numbers[mark].is_none() {
            placed.push(parameters[mark].clone());
            numbers[mark] = Some(number);
        }
        out.push_str(numbered.as_deref().unwrap_or("?"));
    }
    (out, placed)
}
