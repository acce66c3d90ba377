//! The catalog of a DuckDB file.

use model::Result;

use super::column_types::{COLLATED, kind_of};
use super::session::DuckdbSession;
use crate::catalog::{Catalog, ForeignKey, Inspect, Table, TableColumn, TableName};
use crate::sql::{dialect, quote};

/// Tables and views: schema, name, whether it is a view, rows, and whether strings of it may be compared otherwise than byte
/// by byte, which only the statement that made it says.
const TABLES: &str = "SELECT schema_name, table_name, false, estimated_size, contains(upper(sql), ' COLLATE ') \
    FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal \
    UNION ALL SELECT schema_name, view_name, true, NULL, contains(upper(sql), ' COLLATE ') \
    FROM duckdb_views() WHERE database_name = current_database() AND NOT internal ORDER BY 1, 2";
/// Their columns.
const COLUMNS: &str = "SELECT schema_name, table_name, column_name, data_type, is_nullable FROM duckdb_columns() \
    WHERE database_name = current_database() AND NOT internal ORDER BY 1, 2, column_index";
/// The columns of keys and of foreign keys, one in a row.
const KEYS: &str = "SELECT schema_name, table_name, constraint_index, constraint_type, coalesce(referenced_table, ''), \
    unnest(constraint_column_names), unnest(referenced_column_names) FROM duckdb_constraints() \
    WHERE database_name = current_database() AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY') \
    ORDER BY 1, 2, 3";
/// Indexes: their columns stand in brackets.
const INDEXES: &str = "SELECT schema_name, table_name, is_unique, expressions FROM duckdb_indexes() \
    WHERE database_name = current_database() ORDER BY 1, 2, index_name";

/// A connection that is looked at.
pub(super) struct Inspector<'a, 'c> {
    pub(super) session: &'a mut DuckdbSession<'c>,
}

impl Inspect for Inspector<'_, '_> {
    fn catalog(&mut self) -> Result<Catalog> {
        let default_schema = self.session.texts("SELECT current_schema()")?.concat().concat();
        let mut tables = Vec::new();
        let mut collated = Vec::new();
        for row in self.session.texts(TABLES)? {
            let name = name_of(&default_schema, &row);
            if row[4] == "true" {
                collated.push(name.clone());
            }
            tables.push(Table { name, is_view: row[2] == "true", rows: row[3].parse().ok(), ..Table::default() });
        }
        let has_collations = self.session.texts("SELECT current_setting('default_collation')")?.concat().concat() != "";
        let mut catalog = Catalog { default_schema, tables };
        for row in self.session.texts(COLUMNS)? {
            let name = name_of(&catalog.default_schema, &row);
            // DuckDB does not tell the column that has it.
            let is_collated = row[3] == "VARCHAR" && (has_collations || collated.contains(&name));
            let declared = if is_collated { format!("{}{COLLATED}", row[3]) } else { row[3].clone() };
            let (kind, is_nullable) = (kind_of(&row[3]), row[4] == "true");
            if let Some(table) = named(&mut catalog, &name) {
                table.columns.push(TableColumn { name: row[2].clone(), declared, kind, is_nullable });
            }
        }
        self.add_keys(&mut catalog)?;
        for row in self.session.texts(INDEXES)? {
            let name = name_of(&catalog.default_schema, &row);
            if let Some(table) = named(&mut catalog, &name) {
                add_index(table, row[2] == "true", &row[3]);
            }
        }
        catalog.settle_references();
        Ok(catalog)
    }

    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>> {
        let rows = self.session.texts(&format!("DESCRIBE {sql}"))?;
        let column = |row: Vec<String>| {
            let mut row = row.into_iter();
            let (name, declared) = (row.next().unwrap_or_default(), row.next().unwrap_or_default());
            TableColumn { name, kind: kind_of(&declared), declared, is_nullable: true }
        };
        Ok(rows.into_iter().map(column).collect())
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        Ok(self.session.texts(sql)?.concat().concat().parse().unwrap_or(0))
    }

    fn quote(&self, name: &str) -> String {
        quote::name(dialect::DUCKDB, name)
    }
}

impl Inspector<'_, '_> {
    /// Primary keys, columns that are unique, and foreign keys, each an index too but for the last.
    fn add_keys(&mut self, catalog: &mut Catalog) -> Result<()> {
        let rows = self.session.texts(KEYS)?;
        for rows in rows.chunk_by(|one, other| one[..3] == other[..3]) {
            let texts = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<String>>();
            let (name, kind, columns) = (name_of(&catalog.default_schema, &rows[0]), &*rows[0][3], texts(5));
            let referred = TableName { schema: name.schema.clone(), name: rows[0][4].clone() };
            let Some(table) = named(catalog, &name) else { continue };
            match kind {
                "PRIMARY KEY" => table.primary_key = columns.clone(),
                "UNIQUE" => table.unique.push(columns.clone()),
                _ => {
                    table.foreign_keys.push(ForeignKey { columns, table: referred, referred: texts(6) });
                    continue;
                }
            }
            table.indexes.push(columns);
        }
        Ok(())
    }
}

fn name_of(default_schema: &str, row: &[String]) -> TableName {
    let schema = (row[0] != default_schema).then(|| row[0].clone());
    TableName { schema, name: row[1].clone() }
}

fn named<'c>(catalog: &'c mut Catalog, name: &TableName) -> Option<&'c mut Table> {
    catalog.tables.iter_mut().find(|table| table.name == *name)
}

/// An index on columns; one on anything else is passed over.
fn add_index(table: &mut Table, is_unique: bool, expressions: &str) {
    let inner = expressions.trim_start_matches('[').trim_end_matches(']');
    let columns = inner.split(", ").map(|part| {
        let plain = part.trim_matches('\'');
        let name =
            plain.strip_prefix('"').and_then(|name| name.strip_suffix('"')).map(|name| name.replace("\"\"", "\""));
        let name = name.unwrap_or_else(|| plain.to_owned());
        table.column(&name).map(|column| column.name.clone())
    });
    if let Some(columns) = columns.collect::<Option<Vec<String>>>() {
        if is_unique {
            table.unique.push(columns.clone());
        }
        table.indexes.push(columns);
    }
}
