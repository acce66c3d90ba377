//! The catalog of the database that a URL names.

use std::sync::Arc;

use model::{PropertyKind, Result};

use super::Source;
use super::cells::{Plan, kind_of};
use crate::catalog::{Catalog, ColumnKind, ForeignKey, Inspect, Table, TableColumn, TableName};
use crate::sql::{dialect, quote};

/// Tables and views; rows as the server guesses them.
const TABLES: &str = "SELECT TABLE_NAME, TABLE_TYPE, TABLE_ROWS FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') ORDER BY TABLE_NAME";
/// Their columns.
const COLUMNS: &str = "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLLATION_NAME \
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION";
/// The columns of indexes that are read from their beginning.
const INDEXES: &str = "SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS \
    WHERE TABLE_SCHEMA = DATABASE() AND INDEX_TYPE IN ('BTREE', 'HASH') ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX";
/// The columns of foreign keys within the database.
const FOREIGN_KEYS: &str = "SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, \
    REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE \
    WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_SCHEMA = DATABASE() \
    ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION";

/// A source that is looked at.
pub(super) struct Looker<'a>(pub(super) &'a Arc<Source>);

impl Inspect for Looker<'_> {
    fn catalog(&mut self) -> Result<Catalog> {
        let default_schema = self.rows("SELECT DATABASE()")?.concat().concat();
        let tables = self.rows(TABLES)?.iter().map(|row| table(row)).collect();
        let mut catalog = Catalog { default_schema, tables };
        for row in self.rows(COLUMNS)? {
            if let Some(table) = named(&mut catalog, &row[0]) {
                table.columns.push(column(&row));
            }
        }
        for rows in grouped(self.rows(INDEXES)?) {
            if let Some(table) = named(&mut catalog, &rows[0][0]) {
                index(table, &rows);
            }
        }
        for rows in grouped(self.rows(FOREIGN_KEYS)?) {
            let texts = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<String>>();
            let key = ForeignKey { columns: texts(2), table: TableName::of(&rows[0][3]), referred: texts(4) };
            if let Some(table) = named(&mut catalog, &rows[0][0]) {
                table.foreign_keys.push(key);
            }
        }
        catalog.tables.iter_mut().for_each(Table::arrange);
        Ok(catalog)
    }

    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>> {
        let mut session = self.0.session()?;
        let waiting = self.0.wait_for(&session.handle());
        let described = session.described(sql);
        drop(waiting);
        let described = described?;
        self.0.keep(session);
        let column = |(name, plan, decimal): (String, Plan, String)| {
            let (declared, kind) = match plan {
                Plan::Date => ("date", ColumnKind::One(PropertyKind::Date)),
                Plan::DateTime => ("datetime", ColumnKind::One(PropertyKind::LocalDateTime)),
                Plan::Timestamp => ("timestamp", ColumnKind::One(PropertyKind::DateTime)),
                Plan::Decimal => (&*decimal, ColumnKind::Decimal),
                Plan::Whole => (&*decimal, ColumnKind::One(PropertyKind::Integer)),
                Plan::Bits => ("bit", ColumnKind::Bytes),
                Plan::Time => ("time", ColumnKind::One(PropertyKind::LocalTime)),
                Plan::Text => ("text", ColumnKind::One(PropertyKind::String)),
                Plan::Bytes => ("blob", ColumnKind::Bytes),
                Plan::Integer => ("bigint", ColumnKind::One(PropertyKind::Integer)),
                Plan::Single => ("float", ColumnKind::One(PropertyKind::Float)),
                Plan::Double => ("double", ColumnKind::One(PropertyKind::Float)),
            };
            TableColumn { name, declared: declared.to_owned(), kind, is_nullable: true }
        };
        Ok(described.into_iter().map(column).collect())
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        Ok(self.rows(sql)?.concat().concat().parse().unwrap_or(0))
    }

    fn quote(&self, name: &str) -> String {
        quote::name(dialect::MYSQL, name)
    }
}

impl Looker<'_> {
    fn rows(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        let mut session = self.0.session()?;
        let waiting = self.0.wait_for(&session.handle());
        let found = session.texts(sql);
        drop(waiting);
        let rows = match found {
            // A connection that was kept may have died meanwhile.
            Err(failure) if session.is_used && failure.code() == model::ErrorCode::Source => {
                self.0.close_idle();
                session = self.0.session()?;
                session.texts(sql)?
            }
            rows => rows?,
        };
        self.0.keep(session);
        Ok(rows)
    }
}

fn named<'c>(catalog: &'c mut Catalog, name: &str) -> Option<&'c mut Table> {
    catalog.tables.iter_mut().find(|table| table.name.name == name)
}

/// Rows that begin with the same two strings together.
fn grouped(rows: Vec<Vec<String>>) -> Vec<Vec<Vec<String>>> {
    let mut groups: Vec<Vec<Vec<String>>> = Vec::new();
    for row in rows {
        match groups.last_mut() {
            Some(group) if group[0][..2] == row[..2] => group.push(row),
            _ => groups.push(vec![row]),
        }
    }
    groups
}

fn table(row: &[String]) -> Table {
    Table { name: TableName::of(&row[0]), is_view: row[1] == "VIEW", rows: row[2].parse().ok(), ..Table::default() }
}

fn column(row: &[String]) -> TableColumn {
    let declared = if row[5].is_empty() { row[3].clone() } else { format!("{} collate {}", row[3], row[5]) };
    TableColumn { name: row[1].clone(), kind: kind_of(&row[2], &row[3]), declared, is_nullable: row[4] == "YES" }
}

/// An index; one that holds only the start of a string ends there, and keeps nothing unique.
fn index(table: &mut Table, rows: &[Vec<String>]) {
    let whole = |row: &&Vec<String>| row[4].is_empty() && !row[3].is_empty();
    let columns: Vec<String> = rows.iter().take_while(whole).map(|row| row[3].clone()).collect();
    if columns.is_empty() {
        return;
    }
    let is_whole = columns.len() == rows.len();
    if rows[0][1] == "PRIMARY" {
        table.primary_key = columns.clone();
    } else if rows[0][2] == "0" && is_whole {
        table.unique.push(columns.clone());
    }
    table.indexes.push(columns);
}
