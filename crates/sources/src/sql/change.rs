//! Changes as statements.

use std::borrow::Cow;

use model::{Column, ColumnData, Result, error};

use crate::connector::{Change, EdgeKeys};
use crate::definition::{EdgeKind, EndNode, NodeKind, Property, Rows};
use crate::sql::catalog::Unwritable;
use crate::sql::conditions::property;
use crate::sql::draft::Draft;
use crate::sql::rows::{equal, given_columns, key_columns, rows_name, table};
use crate::sql::{RowsFacts, Statement, Writer, quote};

/// Rows that one statement inserts where each value is a parameter.
const INSERT_ROWS_MAX: usize = 500;

pub(super) fn change<'q>(writer: &Writer<'_>, change: &Change<'q>) -> Result<Vec<Statement<'q>>> {
    match change {
        Change::InsertNodes { kind, count, properties } => insert_nodes(writer, *kind, *count, properties),
        Change::InsertEdges { kind, sources, targets, properties } => {
            let edges = Edges::of(writer, *kind)?;
            edges.insert(sources, targets, properties)
        }
        Change::UpdateNodes { kind, keys, property: number, values } => {
            let (node, rows) = node_rows(writer, *kind)?;
            let property = property(&node.name, &node.properties, *number)?;
            rows.update((&node.key, keys), &[], (&property.column, values))
        }
        Change::UpdateEdges { kind, edges, property: number, values } => {
            let kind = Edges::of(writer, *kind)?;
            kind.update(edges, *number, values)
        }
        Change::DeleteNodes { kind, keys } => {
            let (node, rows) = node_rows(writer, *kind)?;
            rows.delete(&[(&node.key, *keys)])
        }
        Change::DeleteEdges { kind, edges } => Edges::of(writer, *kind)?.delete(edges),
    }
}

/// A table that is changed.
struct TableRows<'a> {
    writer: &'a Writer<'a>,
    facts: &'a RowsFacts,
    table: String,
}

fn node_rows<'a>(writer: &'a Writer<'a>, kind: usize) -> Result<(&'a NodeKind, TableRows<'a>)> {
    let node = writer.definition.nodes.get(kind);
    let node = node.ok_or_else(|| error!(Internal, "kind {kind} of nodes is changed"))?;
    let table = table(writer.dialect, &node.rows).ok_or_else(|| read_only(&node.name, &node.rows))?;
    let facts = writer.catalog.node(kind);
    check_writable(&node.name, &node.key, &table, facts)?;
    Ok((node, TableRows { writer, facts, table }))
}

/// Fails for what is no table with a key.
fn check_writable(kind: &str, key: &[String], table: &str, facts: &RowsFacts) -> Result<()> {
    match facts.unwritable {
        None => Ok(()),
        Some(Unwritable::View) => Err(error!(ReadOnly, "{kind} cannot be changed: {table} is a view")
            .with_remedy("name the table itself in the definition")),
        Some(Unwritable::NoKey) => {
            let key = key.join(", ");
            Err(error!(ReadOnly, "{kind} cannot be changed: {table} has no unique index on its key ({key})")
                .with_remedy(format!("make one: CREATE UNIQUE INDEX ON {table} ({key})")))
        }
    }
}

fn read_only(kind: &str, rows: &Rows) -> model::Error {
    let what = match rows {
        Rows::Query(_) | Rows::ByKey { .. } => "come from a query",
        Rows::Keys(_) => "are keys of a key-value store",
        Rows::File { .. } => "lie in a file",
        Rows::Table { .. } => "cannot be told apart",
    };
    error!(ReadOnly, "{kind} cannot be changed: its rows {what}").with_remedy("name a table in its definition")
}

fn insert_nodes<'q>(
    writer: &Writer<'_>,
    kind: usize,
    count: usize,
    properties: &[(usize, &'q Column)],
) -> Result<Vec<Statement<'q>>> {
    let (node, rows) = node_rows(writer, kind)?;
    let mut columns: Vec<(&str, Cow<'q, Column>)> = Vec::new();
    for &(number, values) in properties {
        add_column(&mut columns, property(&node.name, &node.properties, number)?, values)?;
    }
    // A column that is null in all rows is left to the table's defaults.
    columns.retain(|(_, values)| !matches!(values.data, ColumnData::Null(_)));
    let answer = (&*node.key, format!("{}.{}", rows_name(&node.name, &node.rows), node.key.join(", ")));
    rows.insert(&columns, count, Some(answer))
}

/// Adds a column with its values; two properties of one column must agree, so the second is refused.
fn add_column<'q, 'd>(
    columns: &mut Vec<(&'d str, Cow<'q, Column>)>,
    property: &'d Property,
    values: &'q Column,
) -> Result<()> {
    if columns.iter().any(|(name, _)| *name == property.column) {
        return Err(error!(ReadOnly, "the column {} is written by two properties", property.column)
            .with_remedy("set one of them; both show what it holds"));
    }
    columns.push((&property.column, Cow::Borrowed(values)));
    Ok(())
}

impl<'a> TableRows<'a> {
    fn type_of(&self, column: &str) -> &'a str {
        &self.facts.column(column).sql_type
    }

    /// `INSERT` of `count` rows. With `answer`, their keys and the name of these.
    fn insert<'q>(
        &self,
        columns: &[(&str, Cow<'q, Column>)],
        count: usize,
        answer: Option<(&[String], String)>,
    ) -> Result<Vec<Statement<'q>>> {
        let (dialect, table) = (self.writer.dialect, &self.table);
        let names: Vec<String> = columns.iter().map(|(name, _)| quote::name(dialect, name)).collect();
        let into = format!("INSERT INTO {table} ({})", names.join(", "));
        let finish = |mut draft: Draft<'q>, text: String, rows: usize| {
            let mut text = text;
            if let (Some((key, name)), true) = (&answer, self.writer.has_returning) {
                let key: Vec<String> = key.iter().map(|column| quote::name(dialect, column)).collect();
                text.push_str(&format!("\nRETURNING {}", key.join(", ")));
                draft.answer_key(key, name.clone());
            }
            Statement { expects: Some(rows), ..draft.finish(&text) }
        };
        if columns.is_empty() {
            let one = || finish(Draft::new(dialect), format!("INSERT INTO {table} {}", dialect.default_row()), 1);
            return Ok((0..count).map(|_| one()).collect());
        }
        let has_arrays = columns.iter().any(|(name, _)| self.type_of(name).ends_with("[]"));
        if dialect.has_arrays() && !has_arrays && !columns.iter().any(|(name, _)| self.type_of(name).is_empty()) {
            let mut draft = Draft::new(dialect);
            let arrays = columns.iter().map(|(name, values)| draft.array(values.clone(), self.type_of(name)));
            let arrays: Vec<String> = arrays.collect();
            let text = format!("{into}\nSELECT * FROM unnest({})", arrays.join(", "));
            return Ok(vec![finish(draft, text, count)]);
        }
        let mut statements = Vec::new();
        for start in (0..count).step_by(INSERT_ROWS_MAX) {
            let end = count.min(start + INSERT_ROWS_MAX);
            let mut draft = Draft::new(dialect);
            let rows: Vec<String> = (start..end)
                .map(|row| {
                    let values =
                        columns.iter().map(|(name, values)| draft.assigned(values.value(row), self.type_of(name)));
                    format!("({})", values.collect::<Vec<_>>().join(", "))
                })
                .collect();
            statements.push(finish(draft, format!("{into}\nVALUES {}", rows.join(",\n  ")), end - start));
        }
        Ok(statements)
    }

    /// `UPDATE` of one column of rows that are found by columns. Only rows in which `only_null` are null.
    fn update<'q>(
        &self,
        (key, keys): (&[String], &'q Column),
        only_null: &[&str],
        (column, values): (&str, &'q Column),
    ) -> Result<Vec<Statement<'q>>> {
        self.update_all(&[(key, keys)], only_null, &[(column, Cow::Borrowed(values))])
    }

    fn update_all<'q>(
        &self,
        keys: &[(&[String], &'q Column)],
        only_null: &[&str],
        columns: &[(&str, Cow<'q, Column>)],
    ) -> Result<Vec<Statement<'q>>> {
        let (dialect, table) = (self.writer.dialect, &self.table);
        let rows = keys.first().map_or(0, |(_, keys)| keys.len());
        let (names, key_values) = self.key_parts(keys)?;
        let nulls: Vec<String> =
            only_null.iter().map(|name| format!("{} IS NULL", quote::name(dialect, name))).collect();
        let has_arrays = columns.iter().any(|(name, _)| self.type_of(name).ends_with("[]"));
        if dialect.has_arrays() && !has_arrays && rows > 0 {
            let mut draft = Draft::new(dialect);
            let mut arrays: Vec<String> = key_values
                .into_iter()
                .zip(&names)
                .map(|(values, name)| draft.array(values, self.type_of(name)))
                .collect();
            let mut sets = Vec::new();
            let mut given: Vec<String> = (0..names.len()).map(|at| format!("key_{at}")).collect();
            for (at, (name, values)) in columns.iter().enumerate() {
                arrays.push(draft.array(values.clone(), self.type_of(name)));
                given.push(format!("value_{at}"));
                sets.push(format!("{} = given.value_{at}", quote::name(dialect, name)));
            }
            let own: Vec<String> = names.iter().map(|name| quote::column(dialect, "held", name)).collect();
            let mut conditions = vec![equal(&own, &given_columns(names.len()))];
            conditions.extend(only_null.iter().map(|name| format!("{} IS NULL", quote::column(dialect, "held", name))));
            let text = format!(
                "UPDATE {table} AS held SET {}\nFROM unnest({}) AS given({})\nWHERE {}",
                sets.join(", "),
                arrays.join(", "),
                given.join(", "),
                conditions.join(" AND ")
            );
            return Ok(vec![Statement { expects: Some(rows), ..draft.finish(&text) }]);
        }
        let mut statements = Vec::with_capacity(rows);
        for row in 0..rows {
            let mut draft = Draft::new(dialect);
            let set = |draft: &mut Draft<'q>, name: &str, values: &Column| {
                format!("{} = {}", quote::name(dialect, name), draft.assigned(values.value(row), self.type_of(name)))
            };
            let sets: Vec<String> = columns.iter().map(|(name, values)| set(&mut draft, name, values)).collect();
            let mut conditions: Vec<String> =
                names.iter().zip(&key_values).map(|(name, values)| set(&mut draft, name, values)).collect();
            conditions.extend(nulls.iter().cloned());
            let text = format!("UPDATE {table} SET {} WHERE {}", sets.join(", "), conditions.join(" AND "));
            statements.push(Statement { expects: Some(1), ..draft.finish(&text) });
        }
        Ok(statements)
    }

    /// `DELETE` of rows that are found by columns.
    fn delete<'q>(&self, keys: &[(&[String], &'q Column)]) -> Result<Vec<Statement<'q>>> {
        let (dialect, table) = (self.writer.dialect, &self.table);
        let rows = keys.first().map_or(0, |(_, keys)| keys.len());
        let (names, key_values) = self.key_parts(keys)?;
        if dialect.has_arrays() && rows > 0 {
            let mut draft = Draft::new(dialect);
            let arrays =
                key_values.into_iter().zip(&names).map(|(values, name)| draft.array(values, self.type_of(name)));
            let arrays: Vec<String> = arrays.collect();
            let given: Vec<String> = (0..names.len()).map(|at| format!("key_{at}")).collect();
            let own: Vec<String> = names.iter().map(|name| quote::column(dialect, "held", name)).collect();
            let text = format!(
                "DELETE FROM {table} AS held\nUSING unnest({}) AS given({})\nWHERE {}",
                arrays.join(", "),
                given.join(", "),
                equal(&own, &given_columns(names.len()))
            );
            return Ok(vec![Statement { expects: Some(rows), ..draft.finish(&text) }]);
        }
        let mut statements = Vec::with_capacity(rows);
        for row in 0..rows {
            let mut draft = Draft::new(dialect);
            let conditions = names.iter().zip(&key_values).map(|(name, values)| {
                format!("{} = {}", quote::name(dialect, name), draft.assigned(values.value(row), self.type_of(name)))
            });
            let conditions: Vec<String> = conditions.collect();
            let text = format!("DELETE FROM {table} WHERE {}", conditions.join(" AND "));
            statements.push(Statement { expects: Some(1), ..draft.finish(&text) });
        }
        Ok(statements)
    }

    /// The columns by which rows are found, with their values.
    #[allow(clippy::type_complexity, reason = "names beside columns")]
    fn key_parts<'q, 'k>(&self, keys: &[(&'k [String], &'q Column)]) -> Result<(Vec<&'k str>, Vec<Cow<'q, Column>>)> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (columns, keys) in keys {
            names.extend(columns.iter().map(String::as_str));
            values.extend(key_columns(keys, columns.len())?);
        }
        Ok((names, values))
    }
}

/// A kind of edges that is changed.
struct Edges<'a> {
    edge: &'a EdgeKind,
    rows: TableRows<'a>,
    /// For a foreign key: whether the row that has it is the node where the edge starts.
    foreign_key: Option<bool>,
}

impl<'a> Edges<'a> {
    fn of(writer: &'a Writer<'a>, kind: usize) -> Result<Edges<'a>> {
        let edge = writer.definition.edges.get(kind);
        let edge = edge.ok_or_else(|| error!(Internal, "kind {kind} of edges is changed"))?;
        let table = table(writer.dialect, &edge.rows).ok_or_else(|| read_only(&edge.name, &edge.rows))?;
        if edge.source.is_array || edge.target.is_array {
            return Err(error!(
                ReadOnly,
                "{} cannot be changed: its edges are elements of an array in {table}", edge.name
            )
            .with_remedy("change the array in the source"));
        }
        let is_row_of = |end: &crate::definition::End| match &end.node {
            EndNode::Kind(number) => {
                let node = writer.definition.nodes.get(*number);
                node.is_some_and(|node| node.rows == edge.rows && node.key == end.columns)
            }
            EndNode::Foreign { .. } => false,
        };
        let foreign_key = match (is_row_of(&edge.source), is_row_of(&edge.target)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        let facts = writer.catalog.edge(kind);
        check_writable(&edge.name, &[], &table, facts)?;
        let rows = TableRows { writer, facts, table };
        Ok(Edges { edge, rows, foreign_key })
    }

    fn insert<'q>(
        &self,
        sources: &'q Column,
        targets: &'q Column,
        properties: &[(usize, &'q Column)],
    ) -> Result<Vec<Statement<'q>>> {
        let edge = self.edge;
        let mut columns: Vec<(&str, Cow<'q, Column>)> = Vec::new();
        let ends = match self.foreign_key {
            None => vec![(&edge.source, sources), (&edge.target, targets)],
            Some(true) => vec![(&edge.target, targets)],
            Some(false) => vec![(&edge.source, sources)],
        };
        for (end, keys) in ends {
            let values = key_columns(keys, end.columns.len())?;
            columns.extend(end.columns.iter().map(String::as_str).zip(values));
        }
        for &(number, values) in properties {
            add_column(&mut columns, property(&edge.name, &edge.properties, number)?, values)?;
        }
        let Some(at_source) = self.foreign_key else {
            columns.retain(|(_, values)| !matches!(values.data, ColumnData::Null(_)));
            let name = format!("{}.{}", rows_name(&edge.name, &edge.rows), edge.key.join(", "));
            let answer = (!edge.key.is_empty()).then_some((&*edge.key, name));
            return self.rows.insert(&columns, sources.len(), answer);
        };
        let (holder, held, keys) =
            if at_source { (&edge.source, &edge.target, sources) } else { (&edge.target, &edge.source, targets) };
        let free: Vec<&str> = held.columns.iter().map(String::as_str).collect();
        self.rows.update_all(&[(&holder.columns, keys)], &free, &columns)
    }

    /// The columns and values by which the rows of edges are found.
    fn found_by<'q>(&self, edges: &EdgeKeys<'q>) -> Vec<(&'a [String], &'q Column)> {
        let edge = self.edge;
        match self.foreign_key {
            Some(true) => vec![(&edge.source.columns, edges.sources)],
            Some(false) => vec![(&edge.target.columns, edges.targets)],
            None if !edge.key.is_empty() => vec![(&edge.key, edges.keys)],
            // If edges stand several times, more rows are found than there are edges, which is refused.
            None => vec![(&edge.source.columns, edges.sources), (&edge.target.columns, edges.targets)],
        }
    }

    fn update<'q>(&self, edges: &EdgeKeys<'q>, number: usize, values: &'q Column) -> Result<Vec<Statement<'q>>> {
        let property = property(&self.edge.name, &self.edge.properties, number)?;
        self.rows.update_all(&self.found_by(edges), &[], &[(&property.column, Cow::Borrowed(values))])
    }

    fn delete<'q>(&self, edges: &EdgeKeys<'q>) -> Result<Vec<Statement<'q>>> {
        let Some(at_source) = self.foreign_key else { return self.rows.delete(&self.found_by(edges)) };
        let held = if at_source { &self.edge.target } else { &self.edge.source };
        let nulls = Column::nulls(edges.sources.len());
        let columns: Vec<(&str, Cow<'q, Column>)> =
            held.columns.iter().map(|name| (name.as_str(), Cow::Owned(nulls.clone()))).collect();
        self.rows.update_all(&self.found_by(edges), &[], &columns)
    }
}
