//! Dialects of SQL: all in which statements for databases differ, a file for each.

use std::borrow::Cow;
use std::fmt::Debug;

use model::{Column, PropertyKind, Result, Value};

use crate::catalog::TableName;
use crate::registry::Quotes;
use crate::sql::ColumnFacts;
use crate::sql::draft::Draft;

pub(crate) mod duckdb;
mod mysql;
mod postgres;
mod sqlite;

/// PostgreSQL: `$1`, arrays as parameters, `LATERAL`.
pub const POSTGRES: &dyn Dialect = &postgres::Postgres;
/// MySQL and MariaDB: `?`, a parameter for each value, backquotes.
pub const MYSQL: &dyn Dialect = &mysql::MySql;
/// SQLite: `?1`, JSON for arrays.
pub const SQLITE: &dyn Dialect = &sqlite::Sqlite;
/// DuckDB: `$1`, lists as parameters.
pub const DUCKDB: &dyn Dialect = &duckdb::Duckdb;

/// A dialect of SQL. The defaults are those of a database that takes a parameter for each value.
pub trait Dialect: Debug + Send + Sync {
    /// Its quotes.
    fn quotes(&self) -> Quotes;

    /// A parameter by its number; `None` where parameters have none, and each is passed where it stands.
    fn parameter(&self, _number: usize) -> Option<String> {
        None
    }

    /// The statement whose one value is the version of the database.
    fn version(&self) -> &'static str {
        "SELECT version()"
    }

    /// The statement whose one value is how many bytes a table takes with its indexes; `None` where the database does not say.
    fn table_bytes(&self, _table: &TableName) -> Option<String> {
        None
    }

    /// True if arrays are parameters, which `unnest` makes rows of: any number of keys is one statement.
    fn has_arrays(&self) -> bool {
        false
    }

    /// True if rows are joined with a query that speaks of them.
    fn has_lateral(&self) -> bool {
        false
    }

    /// True if values of columns of unknown type are put in order as Cypher does.
    fn orders_unknown(&self) -> bool {
        true
    }

    /// The words of a term of an order that put null after all values, or before them if it goes down, so that an index still
    /// has the order; `None` if there are none.
    fn order_of_null(&self, goes_down: bool) -> Option<&'static str> {
        Some(if goes_down { " NULLS FIRST" } else { " NULLS LAST" })
    }

    /// The SQL after the table in an `INSERT` of a row without values.
    fn default_row(&self) -> &'static str {
        "DEFAULT VALUES"
    }

    /// A parameter of that value, cast to the type of the column that it is compared with, where it needs be.
    fn cast(&self, parameter: String, _value: &Value, _sql_type: &str) -> String {
        parameter
    }

    /// The same for a column that it is written to.
    fn assigned(&self, parameter: String, value: &Value, sql_type: &str) -> String {
        self.cast(parameter, value, sql_type)
    }

    /// False for a value that no column of that type holds, though the database takes it for another.
    fn can_hold(&self, _value: &Value, _sql_type: &str) -> bool {
        true
    }

    /// False for a key that none of the columns holds that it is compared with, though the database may find it there.
    fn may_equal(&self, _key: &Value, _facts: &[&ColumnFacts]) -> bool {
        true
    }

    /// A parameter as it is selected.
    fn selected(&self, parameter: String, _is_integer: bool) -> String {
        parameter
    }

    /// A column as an array: an expression for `unnest` or `ANY`, or what stands for it.
    fn array<'q>(&self, draft: &mut Draft<'q>, values: Cow<'q, Column>, sql_type: &str) -> String;

    /// The condition that an expression equals one of the values, none of which is null.
    fn one_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expression: &str,
        facts: &ColumnFacts,
        values: Cow<'q, Column>,
        has_index: bool,
    ) -> String;

    /// Adds to a draft that several expressions equal one of the keys.
    fn rows_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expressions: &[String],
        facts: &[&ColumnFacts],
        keys: &'q Column,
    ) -> Result<()>;

    /// The condition that a string starts with a prefix.
    fn starts_with(&self, draft: &mut Draft<'_>, column: &str, facts: &ColumnFacts, prefix: &str) -> String;

    /// The condition that a string ends with another.
    fn ends_with(&self, draft: &mut Draft<'_>, column: &str, end: &str) -> String;

    /// The condition that a string contains another.
    fn contains(&self, draft: &mut Draft<'_>, column: &str, part: &str) -> String;

    /// The condition that a value is of a kind, where values of other kinds may lie beside it.
    fn is_of_kind(&self, _column: &str, _kind: Option<PropertyKind>) -> Option<String> {
        None
    }

    /// The condition that a value is null.
    fn is_null(&self, column: &str) -> String {
        format!("{column} IS NULL")
    }

    /// Expression to sort by first, so that values of other kinds than the column's come where `ORDER BY` of Cypher has them.
    fn rank_of_kind(&self, _column: &str, _kind: Option<PropertyKind>) -> Option<String> {
        None
    }

    /// A column of strings as it must stand to be put in order by bytes.
    fn by_bytes(&self, column: &str) -> String;

    /// The string of such an expression, as it is read.
    fn string_of_bytes(&self, expression: String) -> String {
        expression
    }

    /// The condition that a value is exactly of a kind, where values of other kinds may lie beside it.
    fn is_exactly(&self, _column: &str, _kind: PropertyKind) -> Option<String> {
        None
    }

    /// Text that joins the elements of an array to the rows.
    fn elements(&self, array: &str, facts: &ColumnFacts, alias: &str) -> String;

    /// True if the database may take an end's value and a key for equal that differ once they are read.
    fn is_loose(&self, end: &ColumnFacts, key: &ColumnFacts) -> bool;

    /// A column of a key as it stands among the rows that are reached; as a string where not all keys are of the same
    /// types.
    fn reached(&self, expression: &str, _sql_type: &str, _is_alike: bool) -> String {
        expression.to_owned()
    }

    /// The same, back from a string; `None` where it stays as it is.
    fn value_of_text(&self, _expression: &str, _sql_type: &str) -> Option<String> {
        None
    }
}
