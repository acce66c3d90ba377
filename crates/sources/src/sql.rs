//! Questions and changes as statements of SQL, for the dialects of PostgreSQL, MySQL (with MariaDB) and SQLite.
//!
//! - [`catalog`]: the facts that a database states of the columns behind the kinds of a definition.
//! - [`quote`]: names, strings, and the `?` of queries by key.
//! - [`dialect`]: all in which the SQL of databases differs.
//! - `draft`: a statement being put together.
//! - `rows`, `read`, `which`, `within`, `pattern`: questions.
//! - `conditions`: tests of properties, and which of them a database answers as Cypher does.
//! - `change`: changes.
//! - [`rest`]: the operations that a database does not do as Cypher does, done with its rows.
//! - [`convert`]: the conversions that a definition asks for. [`digits`]: numbers with all their digits.
//!
//! A whole batch of keys is one statement, with one parameter for each column of the key where the dialect has arrays.

use std::borrow::Cow;

use model::{Column, PropertyKind, Result, Value};

use crate::connector::{Change, Condition, Question};
use crate::definition::GraphDefinition;

pub mod catalog;
mod change;
mod conditions;
pub mod convert;
pub mod dialect;
pub mod digits;
mod draft;
mod pattern;
pub mod quote;
mod read;
pub mod rest;
mod rows;
mod which;
mod within;

pub use catalog::{Catalog, ColumnFacts, RowsFacts};
pub use dialect::Dialect;
pub use rest::Rest;
#[cfg(feature = "sql")]
pub(crate) use rows::has_loose_ends;

/// Makes statements of questions.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The database's SQL.
    pub dialect: &'static dyn Dialect,
    /// The mapping of the database to the parts of the graph.
    pub definition: &'a GraphDefinition,
    /// The facts known of the columns; may be empty.
    pub catalog: &'a Catalog,
    /// True if `INSERT` may have `RETURNING`.
    pub has_returning: bool,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement<'a> {
    /// Its text.
    pub text: String,
    /// Its parameters, in the order of their numbers.
    pub parameters: Vec<Parameter<'a>>,
    /// The columns of its rows, in order. Empty for a change that answers nothing.
    pub answer: Vec<Answer>,
    /// The operations that are left to be done with its rows.
    pub rest: Rest,
    /// For changes: how many rows it must change; another number means that it cannot be done.
    pub expects: Option<usize>,
}

/// A parameter of a statement.
#[derive(Clone, Debug)]
pub struct Parameter<'a> {
    /// The value that is passed.
    pub value: ParameterValue<'a>,
    /// The type of the value, or of the elements, as the database calls it; empty where it was not needed.
    pub sql_type: String,
}

/// The value of a parameter.
#[derive(Clone, Debug)]
pub enum ParameterValue<'a> {
    /// One value.
    One(Value),
    /// An array with the values of a column (PostgreSQL only).
    Array(Cow<'a, Column>),
}

/// One column of an answer, which may be several of the statement's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The column as messages name it: `table.column`.
    pub name: String,
    /// Number of columns of the statement that it takes: several make lists, none makes nulls.
    pub columns: usize,
    /// The kind that its values are converted to; the one that the database states if `None`.
    pub kind: Option<PropertyKind>,
    /// The form in which its values are read before that.
    pub form: Form,
}

/// The form in which the values of a column are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As properties show them: numbers with digits after the point, and those of unknown length, are the floats next to
    /// them; what is too large for an integer is an error.
    #[default]
    Shown,
    /// The same, but all numbers are floats where they are no integers.
    Float,
    /// The same, but numbers keep all their digits: those that are no integers of 64 bits are strings.
    Digits,
    /// As the database keeps them, so that a value that was read as a key can be asked for again and finds the same
    /// row: numbers with all their digits, moments that the database keeps as strings as these strings.
    Stored,
}

impl Form {
    /// The form in which values are read that are converted to a kind.
    pub fn before(kind: Option<PropertyKind>) -> Form {
        match kind {
            Some(PropertyKind::String | PropertyKind::Integer) => Form::Digits,
            Some(PropertyKind::Float) => Form::Float,
            _ => Form::Shown,
        }
    }
}

impl<'a> Writer<'a> {
    /// The statements that together answer a question: nearly always one.
    ///
    /// Fails with `DEFINITION` if the definition cannot be asked so, with `UNSUPPORTED` if the dialect cannot.
    pub fn question<'q>(&self, question: &Question<'q>) -> Result<Vec<Statement<'q>>> {
        read::question(self, question)
    }

    /// True if the database finds the nodes of a kind for which a condition holds, without many others.
    pub fn finds(&self, kind: usize, condition: &Condition) -> bool {
        read::finds(self, kind, condition).unwrap_or(false)
    }

    /// True if the database puts the nodes of a kind in the order of these properties as `ORDER BY` does.
    pub fn sorts(&self, kind: usize, properties: &[usize]) -> bool {
        read::sorts(self, kind, properties).unwrap_or(false)
    }

    /// The statements that together make a change, in order.
    ///
    /// Fails with `READ_ONLY` if it cannot be made, naming the rows and the reason.
    pub fn change<'q>(&self, change: &Change<'q>) -> Result<Vec<Statement<'q>>> {
        change::change(self, change)
    }
}

/// The name of the table that rows come from, quoted; `None` for other rows.
pub fn table_name(dialect: &'static dyn Dialect, rows: &crate::definition::Rows) -> Option<String> {
    rows::table(dialect, rows)
}

impl Statement<'_> {
    /// For each column of the rows, how its values are read.
    pub fn forms(&self) -> Vec<Form> {
        self.answer.iter().flat_map(|answer| std::iter::repeat_n(answer.form, answer.columns)).collect()
    }

    /// The same with copies of its parameters.
    pub fn into_owned(self) -> Statement<'static> {
        let owned = |parameter: Parameter<'_>| Parameter {
            value: match parameter.value {
                ParameterValue::One(value) => ParameterValue::One(value),
                ParameterValue::Array(values) => ParameterValue::Array(Cow::Owned(values.into_owned())),
            },
            sql_type: parameter.sql_type,
        };
        let parameters = self.parameters.into_iter().map(owned).collect();
        Statement { text: self.text, parameters, answer: self.answer, rest: self.rest, expects: self.expects }
    }
}
