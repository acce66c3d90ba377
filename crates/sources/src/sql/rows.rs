//! The origin of the rows of a kind, as `FROM` has it, and the columns of keys.

use std::borrow::Cow;

use model::{Column, ColumnData, Result, Value, error};

use crate::definition::{EdgeKind, End, EndNode, NodeKind, Rows};
use crate::sql::draft::Draft;
use crate::sql::{ColumnFacts, Dialect, RowsFacts, Writer, quote};

/// The alias of what is given to a query by key: the columns of keys, `key_0` and so on.
pub(super) const GIVEN: &str = "given";

/// The SQL for all rows that can be read without a key, under an alias.
pub(super) fn all_rows(dialect: &'static dyn Dialect, kind: &str, rows: &Rows, alias: &str) -> Result<String> {
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
pub(super) fn table(dialect: &'static dyn Dialect, rows: &Rows) -> Option<String> {
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

/// The conditions that the rows of nodes are those of an end of edges, by the database's own equality: by that of the key, as
/// foreign keys are. Both stand under an alias.
pub(super) fn meets(
    dialect: &'static dyn Dialect,
    (alias, node, facts): (&str, &NodeKind, &RowsFacts),
    (edge, end): (&str, &End),
) -> Vec<String> {
    let pairs = node.key.iter().zip(&end.columns).map(|(far, near)| {
        let near = quote::column(dialect, edge, near);
        // Blanks at its end count in a text of another type, but not in a key of this one.
        let cast = if facts.column(far).sql_type == "bpchar" { "::bpchar" } else { "" };
        format!("{} = {near}{cast}", quote::column(dialect, alias, far))
    });
    pairs.collect()
}

/// One end of edges as their rows show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndOf<'a> {
    /// Its columns.
    pub(super) end: &'a End,
    /// 0 where edges start, 1 where they end.
    pub(super) side: usize,
    /// The kind of nodes whose rows are joined to those of the edges, so that an end is the key that the database finds:
    /// where it takes values for equal that differ once they are read.
    joined: Option<(&'a NodeKind, &'a RowsFacts)>,
}

impl<'a> EndOf<'a> {
    /// The near and the far end of edges that are followed.
    pub(super) fn of(kind: &'a EdgeKind, direction: model::Direction) -> (EndOf<'a>, EndOf<'a>) {
        let end = |end: &'a End, side: usize| EndOf { end, side, joined: None };
        let (source, target) = (end(&kind.source, 0), end(&kind.target, 1));
        if direction == model::Direction::In { (target, source) } else { (source, target) }
    }

    /// The same end with the rows of its nodes joined to it, if only the database can tell which of them it means.
    pub(super) fn found(self, writer: &Writer<'a>, edge: &EdgeKind, facts: &RowsFacts) -> EndOf<'a> {
        let EndNode::Kind(number) = self.end.node else { return self };
        let Some(node) = writer.definition.nodes.get(number) else { return self };
        let is_own_row = node.rows == edge.rows && node.key == self.end.columns;
        let has_rows = |rows: &Rows| matches!(rows, Rows::Table { .. } | Rows::Query(_));
        if self.end.is_array || is_own_row || !has_rows(&edge.rows) || !has_rows(&node.rows) {
            return self;
        }
        let of_node = writer.catalog.node(number);
        let mut pairs = self.end.columns.iter().zip(&node.key);
        let is_loose = pairs.any(|(near, far)| writer.dialect.is_loose(facts.column(near), of_node.column(far)));
        EndOf { joined: is_loose.then_some((node, of_node)), ..self }
    }

    /// The alias of the rows that are joined to it.
    fn alias(&self) -> String {
        format!("end_{}", self.side)
    }

    /// The columns as expressions; the rows are under the alias `e`, elements of an array as [`EndOf::items`] has them.
    pub(super) fn expressions(&self, dialect: &'static dyn Dialect) -> Vec<String> {
        if self.end.is_array {
            return vec![format!("item_{}.value", self.side)];
        }
        if let Some((node, _)) = self.joined {
            return node.key.iter().map(|name| quote::column(dialect, &self.alias(), name)).collect();
        }
        self.end.columns.iter().map(|name| quote::column(dialect, "e", name)).collect()
    }

    /// Tells whether something is joined to the rows.
    pub(super) fn has_items(&self) -> bool {
        self.end.is_array || self.joined.is_some()
    }

    /// Text that joins the elements of an array, or the rows of its nodes, to the rows.
    pub(super) fn items(&self, dialect: &'static dyn Dialect, facts: &RowsFacts) -> String {
        if let Some((node, of_node)) = self.joined {
            return self.nodes(dialect, node, of_node);
        }
        if !self.end.is_array {
            return String::new();
        }
        let array = quote::column(dialect, "e", &self.end.columns[0]);
        let alias = format!("item_{}", self.side);
        dialect.elements(&array, facts.column(&self.end.columns[0]), &alias)
    }

    /// The rows of its nodes, joined.
    fn nodes(&self, dialect: &'static dyn Dialect, node: &NodeKind, facts: &RowsFacts) -> String {
        let rows = match &node.rows {
            Rows::Query(sql) => quote::subquery(sql),
            rows => table(dialect, rows).unwrap_or_default(),
        };
        let pairs = meets(dialect, (&self.alias(), node, facts), ("e", self.end));
        format!("\nJOIN {rows} AS {} ON {}", self.alias(), pairs.join(" AND "))
    }

    /// The columns as they are selected.
    pub(super) fn selected(&self, facts: &RowsFacts, expressions: Vec<String>) -> Vec<String> {
        let (names, facts) = match self.joined {
            Some((node, facts)) => (&node.key, facts),
            None => (&self.end.columns, facts),
        };
        expressions.into_iter().zip(names).map(|(held, name)| facts.column(name).selected(held)).collect()
    }

    /// Tells whether it is a node of this source, named by its key.
    pub(super) fn is_of_kind(&self) -> bool {
        matches!(self.end.node, EndNode::Kind(_))
    }

    /// The conditions that hold of rows that have this end; empty if all do.
    pub(super) fn present(&self, dialect: &'static dyn Dialect, facts: &RowsFacts) -> Vec<String> {
        let maybe = |name: &&String| self.end.is_array || facts.column(name).is_nullable;
        let names = self.end.columns.iter().filter(maybe);
        let expressions: Vec<String> = if self.end.is_array {
            self.expressions(dialect)
        } else {
            names.map(|name| quote::column(dialect, "e", name)).collect()
        };
        expressions.into_iter().map(|expression| format!("{expression} IS NOT NULL")).collect()
    }

    /// The facts known of the column, or of the elements of the array.
    pub(super) fn facts<'f>(&self, facts: &'f RowsFacts, at: usize) -> Cow<'f, ColumnFacts> {
        if let Some((node, of_node)) = self.joined {
            return Cow::Owned(of_node.column(&node.key[at]).clone());
        }
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

/// Tells whether some edge has an end that only the database can find.
#[cfg(feature = "sql")]
pub(crate) fn has_loose_ends(writer: &Writer<'_>) -> bool {
    writer.definition.edges.iter().enumerate().any(|(number, edge)| {
        let (near, far) = EndOf::of(edge, model::Direction::Out);
        [near, far].into_iter().any(|end| end.found(writer, edge, writer.catalog.edge(number)).joined.is_some())
    })
}

/// The values of a column that are of use as parameters: none is null.
pub(super) fn is_empty(column: &Column) -> bool {
    matches!(column.data, ColumnData::Null(_)) || column.is_empty()
}
