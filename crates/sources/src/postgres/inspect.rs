//! All tables of a database, for those who write definitions and compare them.

use model::{Column, Map, PropertyKind, Result, Value, error};

use super::decode::{Field, digits_of, kind_of, oid};
use super::session::{Session, Trouble};
use super::{PostgresConnector, Shared};
use crate::catalog::{Catalog, ColumnKind, ForeignKey, Inspect, Table, TableColumn, TableName};
use crate::sql::{Rest, Statement, dialect, quote};

/// Tables and views that may be read, those of extensions and parts of larger tables left out.
const TABLES: &str = "SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text IN ('v', 'm'), \
    c.reltuples::float8, n.nspname = current_schema(), coalesce(current_schema()::text, '') \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition \
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' AND has_table_privilege(c.oid, 'SELECT') \
    AND NOT EXISTS (SELECT 1 FROM pg_depend d \
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') \
    ORDER BY n.nspname, c.relname";

/// Their columns, types of domains resolved.
const COLUMNS: &str = "SELECT a.attrelid::int8, a.attname::text, format_type(a.atttypid, a.atttypmod), \
    CASE WHEN ty.typtype = 'd' THEN ty.typbasetype ELSE ty.oid END::int8, \
    CASE WHEN ty.typtype = 'd' THEN ty.typtypmod ELSE a.atttypmod END, a.attnotnull OR ty.typnotnull, \
    CASE WHEN ty.typcategory = 'A' THEN ty.typelem ELSE 0 END::int8 \
    FROM pg_attribute a JOIN pg_type ty ON ty.oid = a.atttypid JOIN pg_class c ON c.oid = a.attrelid \
    JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY a.attrelid, a.attnum";

/// Indexes that hold all rows: whether they are of the primary key, and unique, and their columns up to an expression.
const INDEXES: &str = "SELECT i.indrelid::int8, i.indisprimary, i.indisunique, \
    array(SELECT coalesce(a.attname::text, '') FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(att, place) \
        LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att AND k.att > 0 \
        WHERE k.place <= i.indnkeyatts ORDER BY k.place) \
    FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am am ON am.oid = ic.relam \
    WHERE i.indisvalid AND i.indpred IS NULL AND am.amname IN ('btree', 'hash') ORDER BY i.indrelid, i.indexrelid";

/// Foreign keys.
const FOREIGN_KEYS: &str = "SELECT c.conrelid::int8, c.confrelid::int8, \
    array(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY k(att, place) \
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att ORDER BY k.place), \
    array(SELECT a.attname::text FROM unnest(c.confkey) WITH ORDINALITY k(att, place) \
        JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.att ORDER BY k.place) \
    FROM pg_constraint c WHERE c.contype = 'f' AND c.conparentid = 0 ORDER BY c.conrelid, c.oid";

/// A source that is looked at.
pub(super) struct Looker<'a>(pub(super) &'a Shared);

impl Inspect for Looker<'_> {
    fn catalog(&mut self) -> Result<Catalog> {
        let (mut catalog, mut places) = (Catalog::default(), Map::default());
        for row in self.rows(TABLES)? {
            let (id, is_default) = (int(&row[0]), row[5] == Value::Bool(true));
            catalog.default_schema = text(&row[6]);
            let schema = (!is_default).then(|| text(&row[1]));
            let rows = if let Value::Float(rows) = row[4] { rows } else { -1.0 };
            places.insert(id, catalog.tables.len());
            catalog.tables.push(Table {
                name: TableName { schema, name: text(&row[2]) },
                is_view: row[3] == Value::Bool(true),
                rows: (rows >= 0.0).then_some(rows as u64),
                ..Table::default()
            });
        }
        let mut table_rows = |rows: Vec<Vec<Value>>, note: &mut dyn FnMut(&mut Table, &[Value])| {
            for row in rows {
                if let Some(place) = places.get(&int(&row[0])) {
                    note(&mut catalog.tables[*place], &row);
                }
            }
        };
        table_rows(self.rows(COLUMNS)?, &mut |table, row| table.columns.push(column(row)));
        table_rows(self.rows(INDEXES)?, &mut index);
        let keys = self.rows(FOREIGN_KEYS)?;
        for row in &keys {
            let ends = places.get(&int(&row[0])).zip(places.get(&int(&row[1])));
            if let Some((from, to)) = ends {
                let table = catalog.tables[*to].name.clone();
                let key = ForeignKey { columns: texts(&row[2]), table, referred: texts(&row[3]) };
                catalog.tables[*from].foreign_keys.push(key);
            }
        }
        catalog.tables.iter_mut().for_each(Table::arrange);
        Ok(catalog)
    }

    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>> {
        let (fields, _) = self.ask(&format!("SELECT * FROM ({sql}\n) AS q LIMIT 0"))?;
        let column = |field: Field| {
            let kind = kind(field.oid, field.modifier, 0);
            let declared = match kind {
                ColumnKind::One(kind) => kind.name().to_lowercase(),
                ColumnKind::Bytes => "bytea".into(),
                ColumnKind::Json => "json".into(),
                ColumnKind::Decimal => match digits_of(field.modifier) {
                    Some((digits, scale)) => format!("numeric({digits},{scale})"),
                    None => "numeric".into(),
                },
                _ => format!("of the type with the number {}", field.oid),
            };
            TableColumn { name: field.name, declared, kind, is_nullable: true }
        };
        Ok(fields.into_iter().map(column).collect())
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        let rows = self.rows(sql)?;
        match rows.first().and_then(|row| row.first()) {
            Some(Value::Int(number)) => Ok(u64::try_from(*number).unwrap_or(0)),
            other => Err(error!(Source, "{}: expected a number, found {other:?}", self.0.settings.name)),
        }
    }

    fn quote(&self, name: &str) -> String {
        quote::name(dialect::POSTGRES, name)
    }
}

impl Inspect for PostgresConnector {
    fn catalog(&mut self) -> Result<Catalog> {
        Looker(&self.shared).catalog()
    }

    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>> {
        Looker(&self.shared).columns(sql)
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        Looker(&self.shared).number(sql)
    }

    fn quote(&self, name: &str) -> String {
        quote::name(dialect::POSTGRES, name)
    }
}

impl Looker<'_> {
    fn rows(&self, text: &str) -> Result<Vec<Vec<Value>>> {
        self.ask(text).map(|(_, rows)| rows)
    }

    /// The fields and rows of a query without parameters.
    fn ask(&self, text: &str) -> Result<(Vec<Field>, Vec<Vec<Value>>)> {
        let mut lease = self.0.pool.take()?;
        match ask(lease.session(), text) {
            Ok(answer) => Ok(answer),
            Err(trouble) => {
                let is_dead = matches!(trouble, Trouble::Broken(_)) && lease.session().is_used;
                let failed = self.0.error(trouble, "its catalog", text);
                lease.close();
                if is_dead {
                    // It was kept from before; a new one may do.
                    self.0.pool.close_idle();
                    return self.ask(text);
                }
                Err(failed)
            }
        }
    }
}

fn ask(session: &mut Session, text: &str) -> Result<(Vec<Field>, Vec<Vec<Value>>), Trouble> {
    let statement = Statement {
        text: text.to_owned(),
        parameters: Vec::new(),
        answer: Vec::new(),
        rest: Rest::default(),
        expects: None,
    };
    session.queue_bind("", &statement)?;
    session.wire.output.execute("", 0);
    session.wire.output.sync();
    session.send()?;
    let fields = session.read_fields(&[])?;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    session.read_rows(&fields, |columns: Vec<Column>| {
        let count = columns.first().map_or(0, Column::len);
        rows.extend((0..count).map(|row| columns.iter().map(|column| column.value(row)).collect()));
        Ok(true)
    })?;
    session.finish()?;
    Ok((fields, rows))
}

fn column(row: &[Value]) -> TableColumn {
    TableColumn {
        name: text(&row[1]),
        declared: text(&row[2]),
        kind: kind(int(&row[3]) as u32, int(&row[4]) as i32, int(&row[6]) as u32),
        is_nullable: row[5] != Value::Bool(true),
    }
}

fn index(table: &mut Table, row: &[Value]) {
    let all = texts(&row[3]);
    let columns: Vec<String> = all.iter().take_while(|name| !name.is_empty()).cloned().collect();
    if columns.is_empty() {
        return;
    }
    if row[1] == Value::Bool(true) {
        table.primary_key = columns.clone();
    } else if row[2] == Value::Bool(true) && columns.len() == all.len() {
        table.unique.push(columns.clone());
    }
    table.indexes.push(columns);
}

/// The kind of values of a type; `element` is the type of an array's elements.
fn kind(of: u32, modifier: i32, element: u32) -> ColumnKind {
    match (of, kind_of(of, modifier)) {
        (_, Some(kind)) if of == oid::NUMERIC && kind == PropertyKind::Float => ColumnKind::Decimal,
        (_, Some(kind)) => ColumnKind::One(kind),
        (oid::BYTEA, _) => ColumnKind::Bytes,
        (oid::JSON | oid::JSONB, _) => ColumnKind::Json,
        _ => kind_of(element, -1).map_or(ColumnKind::Other, ColumnKind::List),
    }
}

fn int(value: &Value) -> i64 {
    if let Value::Int(x) = value { *x } else { 0 }
}

fn text(value: &Value) -> String {
    if let Value::String(x) = value { x.to_string() } else { String::new() }
}

fn texts(value: &Value) -> Vec<String> {
    if let Value::List(items) = value { items.iter().map(text).collect() } else { Vec::new() }
}
