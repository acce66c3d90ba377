//! Where the rows of a kind come from, as `FROM` has it, and the columns of keys.

use std::borrow::Cow;

use model::{Column, ColumnData, Result, Value, error};

use crate::definition::{EdgeKind, End, EndNode, NodeKind, Rows};
use crate::sql::draft::Draft;
use crate::sql::{ColumnFacts, Dialect, RowsFacts, Writer, quote};

/// The alias of what is given to a query by key: the columns of keys, `key_0` and so on.
pub(super) const GIVEN: &str = "given";

/// What may be read of rows without a key, under an alias.
pub(super) fn all_rows(dialect: Dialect, kind: &str, rows: &Rows, alias: &str) -> Result<String> {
    let text = match rows {
        Rows::Table { .. } => table(dialect, rows).unwrap_or_default(),
        Rows::Query(sql) => quote::subquery(sql),
        Rows::ByKey { scan: Some(scan), .. } => quote::subquery(scan),
        Rows::ByKey { scan: None, .. } => {
            return Err(error!(Definition, "{kind} has a query by key and none for all rows: it cannot be scanned")
                .with_remedy("add a query for all rows (scan) to its definition, or begin with keys"));
        }
        Rows::Keys(_) => return Err(not_sql(kind, "keys of a key-value store")),
        Rows::File { .. } => return Err(not_sql(kind, "a file")),
    };
    Ok(format!("{text} AS {alias}"))
}

fn not_sql(kind: &str, what: &str) -> model::Error {
    error!(Definition, "{kind} takes its rows from {what}, which a relational database has not")
}

/// A table's name in full; `None` for other rows.
pub(super) fn table(dialect: Dialect, rows: &Rows) -> Option<String> {
    match rows {
        Rows::Table { schema: Some(schema), name } => {
            Some(format!("{}.{}", quote::name(dialect, schema), quote::name(dialect, name)))
        }
        Rows::Table { schema: None, name } => Some(quote::name(dialect, name)),
        _ => None,
    }
}

/// The rows as messages name them.
pub(super) fn rows_name(kind: &str, rows: &Rows) -> String {
    match rows {
        Rows::Table { schema: Some(schema), name } => format!("{schema}.{name}"),
        Rows::Table { schema: None, name } => name.clone(),
        _ => kind.to_owned(),
    }
}

/// The names of the columns in which keys are given.
pub(super) fn given_columns(arity: usize) -> Vec<String> {
    (0..arity).map(|at| format!("{GIVEN}.key_{at}")).collect()
}

/// The columns of keys of several columns; of one column, the keys themselves.
pub(super) fn key_columns<'q>(keys: &'q Column, arity: usize) -> Result<Vec<Cow<'q, Column>>> {
    if arity == 1 {
        return Ok(vec![Cow::Borrowed(keys)]);
    }
    let mut columns: Vec<Vec<Value>> = vec![Vec::with_capacity(keys.len()); arity];
    for row in 0..keys.len() {
        match keys.value(row) {
            Value::List(items) if items.len() == arity => {
                columns.iter_mut().zip(items.iter()).for_each(|(column, item)| column.push(item.clone()));
            }
            other => return Err(error!(Internal, "a key of {arity} columns is {other}")),
        }
    }
    Ok(columns.iter().map(|values| Cow::Owned(Column::from_values(values))).collect())
}

/// Keys as rows `given(key_0, ...)`, for a dialect that joins arrays.
pub(super) fn unnest<'q>(draft: &mut Draft<'q>, keys: &'q Column, types: &[&str], alias: &str) -> Result<String> {
    let columns = key_columns(keys, types.len())?;
    let arrays: Vec<String> =
        columns.into_iter().zip(types).map(|(column, sql_type)| draft.array(column, sql_type)).collect();
    let names: Vec<String> = (0..types.len()).map(|at| format!("key_{at}")).collect();
    Ok(format!("unnest({}) AS {alias}({})", arrays.join(", "), names.join(", ")))
}

/// `a.x = b.x AND a.y = b.y`.
pub(super) fn equal(left: &[String], right: &[String]) -> String {
    let pairs: Vec<String> = left.iter().zip(right).map(|(left, right)| format!("{left} = {right}")).collect();
    pairs.join(" AND ")
}

/// One end of edges as their rows show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndOf<'a> {
    /// Its columns.
    pub(super) end: &'a End,
    /// 0 where edges start, 1 where they end.
    pub(super) side: usize,
}

impl<'a> EndOf<'a> {
    /// The near and the far end of edges that are followed.
    pub(super) fn of(kind: &'a EdgeKind, direction: model::Direction) -> (EndOf<'a>, EndOf<'a>) {
        let (source, target) = (EndOf { end: &kind.source, side: 0 }, EndOf { end: &kind.target, side: 1 });
        if direction == model::Direction::In { (target, source) } else { (source, target) }
    }

    /// The columns as expressions; the rows are under the alias `e`, elements of an array as [`EndOf::items`] has them.
    pub(super) fn expressions(&self, dialect: Dialect) -> Vec<String> {
        if self.end.is_array {
            return vec![format!("item_{}.value", self.side)];
        }
        self.end.columns.iter().map(|name| quote::column(dialect, "e", name)).collect()
    }

    /// For an array: what joins its elements to the rows.
    pub(super) fn items(&self, dialect: Dialect, facts: &RowsFacts) -> String {
        if !self.end.is_array {
            return String::new();
        }
        let array = quote::column(dialect, "e", &self.end.columns[0]);
        let alias = format!("item_{}", self.side);
        match dialect {
            Dialect::Postgres => format!("\nCROSS JOIN LATERAL unnest({array}) AS {alias}(value)"),
            Dialect::Sqlite => format!("\nJOIN json_each({array}) AS {alias}"),
            Dialect::MySql => {
                let known = &facts.column(&self.end.columns[0]).sql_type;
                let element = if known.is_empty() { "VARCHAR(255)" } else { known };
                format!("\nJOIN JSON_TABLE({array}, '$[*]' COLUMNS (value {element} PATH '$')) AS {alias}")
            }
        }
    }

    /// What holds of rows that have this end; empty if all do.
    pub(super) fn present(&self, dialect: Dialect, facts: &RowsFacts) -> Vec<String> {
        let maybe = |name: &&String| self.end.is_array || facts.column(name).is_nullable;
        let names = self.end.columns.iter().filter(maybe);
        let expressions: Vec<String> = if self.end.is_array {
            self.expressions(dialect)
        } else {
            names.map(|name| quote::column(dialect, "e", name)).collect()
        };
        expressions.into_iter().map(|expression| format!("{expression} IS NOT NULL")).collect()
    }

    /// What is known of the column, or of the elements of the array.
    pub(super) fn facts<'f>(&self, facts: &'f RowsFacts, at: usize) -> Cow<'f, ColumnFacts> {
        let column = facts.column(&self.end.columns[at]);
        match (self.end.is_array, column.sql_type.strip_suffix("[]")) {
            (true, Some(element)) => Cow::Owned(ColumnFacts { sql_type: element.to_owned(), ..column.clone() }),
            _ => Cow::Borrowed(column),
        }
    }

    /// The kind of nodes that stands here; fails for nodes of other parts of the graph.
    pub(super) fn node<'d>(&self, writer: &Writer<'d>, edge: &str) -> Result<(usize, &'d NodeKind)> {
        match &self.end.node {
            EndNode::Kind(kind) => writer
                .definition
                .nodes
                .get(*kind)
                .map(|node| (*kind, node))
                .ok_or_else(|| error!(Definition, "{edge} ends at kind {kind} of nodes, which is not there")),
            EndNode::Foreign { label, .. } => {
                Err(error!(Unsupported, "{edge} ends at :{label}, which is not in this source: it is asked by keys"))
            }
        }
    }
}

/// The values of a column that are of use as parameters: none is null.
pub(super) fn is_empty(column: &Column) -> bool {
    matches!(column.data, ColumnData::Null(_)) || column.is_empty()
}
