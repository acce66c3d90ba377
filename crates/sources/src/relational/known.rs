//! The facts that a catalog states of the kinds of a definition: for statements, and for the planner.

use model::{ErrorCode, Map, Result};

use crate::catalog::{Catalog, Inspect, Table, TableColumn};
use crate::connector::{Facts, KindFacts};
use crate::definition::{EdgeKind, End, EndNode, GraphDefinition, NodeKind, Property, Rows, around_parameters};
use crate::sql;
use crate::sql::catalog::Unwritable;
use crate::sql::{ColumnFacts, RowsFacts};

/// Rows of a query, of which nothing is known.
const ROWS_UNKNOWN: u64 = 1_000;

/// The facts known of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// For statements.
    pub(crate) catalog: sql::Catalog,
    /// For those who plan.
    pub(crate) facts: Facts,
}

/// Asks the database for all that is of use. What is not there is left out: the question that needs it will fail, and say so.
pub(crate) fn know(
    definition: &GraphDefinition,
    source: &mut dyn Inspect,
    column_facts: &dyn Fn(&TableColumn) -> ColumnFacts,
) -> Result<Known> {
    let catalog = source.catalog()?;
    let mut known = Known::default();
    for (number, kind) in definition.nodes.iter().enumerate() {
        let columns = columns(&catalog, &kind.rows, source, column_facts)?;
        let table = table_of(&catalog, &kind.rows);
        let by_key = table.is_none_or(|table| table.is_indexed(&kind.key));
        let unwritable = table.and_then(|table| Unwritable::of(table.is_view, has_key(table, &kind.key)));
        known.catalog.nodes.push(RowsFacts {
            columns,
            has_index: [by_key, by_key],
            unwritable,
            ..RowsFacts::default()
        });
        let mut facts = node_facts(&catalog, kind);
        known.catalog.node(number).show(kind, &mut facts);
        known.facts.nodes.push(facts);
    }
    for kind in &definition.edges {
        let mut rows =
            RowsFacts { columns: columns(&catalog, &kind.rows, source, column_facts)?, ..RowsFacts::default() };
        if let Rows::ByKey { reverse: Some(reverse), .. } = &kind.rows {
            rows.reverse_columns = query_columns(reverse, source, column_facts)?;
        }
        rows.unwritable = table_of(&catalog, &kind.rows).and_then(|table| Unwritable::of(table.is_view, true));
        let facts = edge_facts(&catalog, definition, kind);
        rows.has_index = [facts.by_end.0, facts.by_end.1];
        known.catalog.edges.push(rows);
        known.facts.edges.push(facts);
    }
    Ok(known)
}

fn columns(
    catalog: &Catalog,
    rows: &Rows,
    source: &mut dyn Inspect,
    column_facts: &dyn Fn(&TableColumn) -> ColumnFacts,
) -> Result<Map<String, ColumnFacts>> {
    match rows {
        Rows::Table { .. } => {
            let columns = table_of(catalog, rows).map_or(&[][..], |table| &table.columns);
            Ok(columns.iter().map(|column| (column.name.clone(), column_facts(column))).collect())
        }
        Rows::ByKey { sql, scan: Some(scan), .. } => {
            // It may have columns that the query by key need not repeat.
            let mut columns = query_columns(scan, source, column_facts)?;
            columns.extend(query_columns(sql, source, column_facts)?);
            Ok(columns)
        }
        Rows::Query(sql) | Rows::ByKey { sql, .. } => query_columns(sql, source, column_facts),
        Rows::Keys(_) | Rows::File { .. } => Ok(Map::default()),
    }
}

fn query_columns(
    sql: &str,
    source: &mut dyn Inspect,
    column_facts: &dyn Fn(&TableColumn) -> ColumnFacts,
) -> Result<Map<String, ColumnFacts>> {
    let sql = around_parameters(sql).join("NULL");
    match source.columns(sql.trim().trim_end_matches(';')) {
        Ok(columns) => Ok(columns.iter().map(|column| (column.name.clone(), column_facts(column))).collect()),
        Err(failure) if failure.code() == ErrorCode::Definition => Ok(Map::default()),
        Err(failure) => Err(failure),
    }
}

fn table_of<'c>(catalog: &'c Catalog, rows: &Rows) -> Option<&'c Table> {
    match rows {
        Rows::Table { schema, name } => catalog.find(schema.as_deref(), name),
        _ => None,
    }
}

/// True if no two rows have the same values in all of these columns.
fn has_key(table: &Table, columns: &[String]) -> bool {
    let is_within = |unique: &Vec<String>| !unique.is_empty() && unique.iter().all(|column| columns.contains(column));
    is_within(&table.primary_key) || table.unique.iter().any(is_within)
}

fn node_facts(catalog: &Catalog, kind: &NodeKind) -> KindFacts {
    let Some(table) = table_of(catalog, &kind.rows) else {
        return KindFacts { rows: ROWS_UNKNOWN, ..KindFacts::default() };
    };
    KindFacts { rows: table.rows.unwrap_or(ROWS_UNKNOWN), ..property_facts(table, &kind.properties) }
}

/// The properties that an index finds, and those that are unique.
fn property_facts(table: &Table, properties: &[Property]) -> KindFacts {
    let number = |column: &String| properties.iter().position(|property| property.column == *column);
    let indexed = table.indexes.iter().map(|columns| columns.iter().map_while(number).collect::<Vec<usize>>());
    let mut indexed: Vec<Vec<usize>> = indexed.filter(|numbers| !numbers.is_empty()).collect();
    indexed.sort();
    indexed.dedup();
    let is_unique = |property: &&Property| table.is_unique(std::slice::from_ref(&property.column));
    let unique = properties.iter().filter(is_unique).filter_map(|property| number(&property.column)).collect();
    KindFacts { indexed, unique, ..KindFacts::default() }
}

fn edge_facts(catalog: &Catalog, definition: &GraphDefinition, kind: &EdgeKind) -> KindFacts {
    let end_exists = |end: &End| match &end.node {
        EndNode::Kind(number) => exists(catalog, &definition.nodes[*number], kind, end),
        EndNode::Foreign { .. } => false,
    };
    let ends_exist = (end_exists(&kind.source), end_exists(&kind.target));
    match (&kind.rows, table_of(catalog, &kind.rows)) {
        (_, Some(table)) => {
            let by = |end: &End| !end.is_array && table.is_indexed(&end.columns);
            KindFacts {
                rows: table.rows.unwrap_or(ROWS_UNKNOWN),
                by_end: (by(&kind.source), by(&kind.target)),
                ends_exist,
                ..property_facts(table, &kind.properties)
            }
        }
        (Rows::ByKey { reverse, .. }, None) => {
            KindFacts { rows: ROWS_UNKNOWN, by_end: (true, reverse.is_some()), ..KindFacts::default() }
        }
        (_, None) => KindFacts { rows: ROWS_UNKNOWN, by_end: (true, true), ..KindFacts::default() },
    }
}

/// True if the database keeps the nodes at an end from going missing: it is the row itself, or a foreign key holds.
fn exists(catalog: &Catalog, node: &NodeKind, edge: &EdgeKind, end: &End) -> bool {
    let Some((edges, nodes)) = table_of(catalog, &edge.rows).zip(table_of(catalog, &node.rows)) else { return false };
    let is_own_row = edges.name == nodes.name && end.columns == node.key;
    let is_kept = edges
        .foreign_keys
        .iter()
        .any(|key| key.table == nodes.name && key.columns == end.columns && key.referred == node.key);
    !end.is_array && (is_own_row || is_kept)
}
