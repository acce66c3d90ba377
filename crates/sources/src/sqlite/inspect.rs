//! The catalog of a SQLite database.

use model::Result;
use rusqlite::Params;

use super::cells::kind_of;
use super::session::{SqliteSession, failure};
use crate::catalog::{Catalog, ForeignKey, Inspect, Table, TableColumn, TableName};

/// A connection that is looked at.
pub(super) struct Inspector<'a, 'c> {
    pub(super) session: &'a mut SqliteSession<'c>,
}

impl Inspect for Inspector<'_, '_> {
    fn catalog(&mut self) -> Result<Catalog> {
        let sql = "SELECT name, type FROM pragma_table_list \
                   WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                   ORDER BY name";
        let names = self.rows(sql, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let tables = names.into_iter().map(|(name, kind)| self.table(name, kind == "view"));
        let mut catalog = Catalog { default_schema: "main".into(), tables: tables.collect::<Result<_>>()? };
        catalog.settle_references();
        Ok(catalog)
    }

    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>> {
        let prepared = self.session.connection.prepare(sql).map_err(|cause| self.failure(sql, &cause))?;
        let columns = prepared.columns().map(|column| {
            let declared = column.decl_type().unwrap_or("").to_owned();
            let kind = kind_of(&declared);
            TableColumn { name: column.name().to_owned(), declared, kind, is_nullable: true }
        });
        Ok(columns.collect())
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        let number: i64 =
            self.session.connection.query_row(sql, [], |row| row.get(0)).map_err(|cause| self.failure(sql, &cause))?;
        Ok(u64::try_from(number).unwrap_or(0))
    }

    fn quote(&self, name: &str) -> String {
        crate::sql::quote::name(crate::sql::dialect::SQLITE, name)
    }
}

impl Inspector<'_, '_> {
    fn failure(&self, sql: &str, cause: &rusqlite::Error) -> model::Error {
        failure(self.session.name, sql, cause)
    }

    fn rows<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let all = || {
            let mut prepared = self.session.connection.prepare_cached(sql)?;
            let rows = prepared.query_map(parameters, read)?;
            rows.collect::<rusqlite::Result<Vec<T>>>()
        };
        all().map_err(|cause| self.failure(sql, &cause))
    }

    fn table(&self, name: String, is_view: bool) -> Result<Table> {
        let mut table = Table { name: TableName::of(&name), is_view, ..Table::default() };
        let definition = self.rows("SELECT coalesce(sql, '') FROM sqlite_schema WHERE name = ?1", [&name], |row| {
            row.get::<_, String>(0)
        })?;
        let definition = definition.into_iter().next().unwrap_or_default().to_ascii_uppercase();
        // SQLite does not say which column has the collation, so it is assumed of all strings of the table.
        let has_collation = definition.contains("COLLATE") && !definition.contains("COLLATE BINARY");
        let has_rowid = !definition.contains("WITHOUT ROWID");
        let sql = "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?1) WHERE hidden <> 1 ORDER BY cid";
        let columns = self.rows(sql, [&name], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?, row.get::<_, i64>(3)?))
        })?;
        let mut key: Vec<(i64, String)> =
            columns.iter().filter(|column| column.3 > 0).map(|column| (column.3, column.0.clone())).collect();
        key.sort();
        table.primary_key = key.into_iter().map(|(_, name)| name).collect();
        // The only primary key that is never null by itself, unless the table is kept by its key.
        let is_rowid = |declared: &str| table.primary_key.len() == 1 && declared.eq_ignore_ascii_case("INTEGER");
        let described = columns.into_iter().map(|(name, declared, not_null, place)| {
            let kind = kind_of(&declared);
            let is_nullable = !(not_null || place > 0 && (!has_rowid || is_rowid(&declared)));
            let declared = if has_collation { format!("{declared} COLLATE") } else { declared };
            TableColumn { name, declared, kind, is_nullable }
        });
        table.columns = described.collect();
        if !is_view {
            self.keys(&name, &mut table)?;
            table.rows = self.row_count(&name, has_rowid);
        }
        table.arrange();
        Ok(table)
    }

    /// Foreign keys and indexes.
    fn keys(&self, name: &str, table: &mut Table) -> Result<()> {
        if !table.primary_key.is_empty() {
            table.indexes.push(table.primary_key.clone());
        }
        let sql = "SELECT name, \"unique\" FROM pragma_index_list(?1) WHERE partial = 0 ORDER BY seq DESC";
        let indexes = self.rows(sql, [name], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
        for (index, is_unique) in indexes {
            let sql = "SELECT name FROM pragma_index_xinfo(?1) WHERE key = 1 ORDER BY seqno";
            let columns = self.rows(sql, [&index], |row| row.get::<_, Option<String>>(0))?;
            let count = columns.len();
            let columns: Vec<String> = columns.into_iter().map_while(|column| column).collect();
            if is_unique && columns.len() == count && columns != table.primary_key {
                table.unique.push(columns.clone());
            }
            if !columns.is_empty() && !table.indexes.contains(&columns) {
                table.indexes.push(columns);
            }
        }
        let sql = "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?1) ORDER BY id, seq";
        let keys = self.rows(sql, [name], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, Option<String>>(3)?,
            ))
        })?;
        let mut last = None;
        for (id, to, from, referred) in keys {
            if last != Some(id) {
                let table_name = TableName::of(&to);
                table.foreign_keys.push(ForeignKey { columns: Vec::new(), table: table_name, referred: Vec::new() });
                last = Some(id);
            }
            if let Some(key) = table.foreign_keys.last_mut() {
                key.columns.push(from);
                key.referred.extend(referred);
            }
        }
        // A key that names no columns refers to the primary key.
        for key in table.foreign_keys.iter_mut().filter(|key| key.referred.is_empty()) {
            let sql = "SELECT name FROM pragma_table_xinfo(?1) WHERE pk > 0 ORDER BY pk";
            key.referred = self.rows(sql, [&key.table.name], |row| row.get(0))?;
        }
        Ok(())
    }

    /// Rows, about: the largest row number is found at once, where rows have one.
    fn row_count(&self, name: &str, has_rowid: bool) -> Option<u64> {
        let table = self.quote(name);
        let what = if has_rowid { "coalesce(max(rowid), 0)" } else { "count(*)" };
        let count = self.rows(&format!("SELECT {what} FROM {table}"), [], |row| row.get::<_, i64>(0)).ok()?;
        count.first().and_then(|count| u64::try_from(*count).ok())
    }
}
