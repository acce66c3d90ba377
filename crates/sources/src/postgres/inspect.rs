//! The whole catalog of a database, for `knot source infer` and `knot source check`.

use std::sync::Arc;

use model::{Result, error};

use super::catalog::point_index;
use super::decode::{self, kind_of, oid};
use super::failure::{Failure, broken};
use super::session::{Session, Trouble};
use super::url::Settings;
use crate::catalog::{Catalog, ColumnKind, ForeignKey, Inspect, Table, TableColumn, TableName};
use crate::sql::{Dialect, quote};

/// A connection through which a database is looked at.
pub struct PostgresInspector {
    session: Session,
    settings: Arc<Settings>,
}

/// Tables that the user may read, of nobody's extension.
const TABLES: &str = "SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, c.reltuples::int8::text \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' \
    AND NOT c.relispartition AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') \
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') \
    ORDER BY n.nspname, c.relname";

const COLUMNS: &str = "SELECT a.attrelid::text, a.attname, format_type(a.atttypid, a.atttypmod), \
    (CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END)::text, \
    (CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)::text, \
    (CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END)::text, (a.attnotnull OR t.typnotnull)::text \
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_class c ON c.oid = a.attrelid \
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY a.attrelid, a.attnum";

const INDEXES: &str = "SELECT i.indrelid::text, i.indisprimary::text, i.indisunique::text, \
    to_json(array(SELECT coalesce(a.attname::text, '') FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(att, place) \
        LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att AND k.att > 0 \
        WHERE k.place <= i.indnkeyatts ORDER BY k.place))::text, am.amname, \
    CASE WHEN i.indexprs IS NOT NULL THEN pg_get_indexdef(i.indexrelid, 1, true) END \
    FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am am ON am.oid = ic.relam \
    WHERE i.indisvalid AND i.indpred IS NULL ORDER BY i.indrelid, i.indexrelid";

const FOREIGN_KEYS: &str = "SELECT c.conrelid::text, c.confrelid::text, \
    to_json(array(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY k(att, place) \
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att ORDER BY k.place))::text, \
    to_json(array(SELECT a.attname::text FROM unnest(c.confkey) WITH ORDINALITY k(att, place) \
        JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.att ORDER BY k.place))::text \
    FROM pg_constraint c WHERE c.contype = 'f' ORDER BY c.conrelid, c.oid";

/// A row of texts; `None` is null.
type Row = Vec<Option<String>>;

impl PostgresInspector {
    /// Connects to the database that a URL names.
    pub fn connect(url: &str) -> Result<PostgresInspector> {
        let settings = Arc::new(Settings::parse(url)?);
        Ok(PostgresInspector { session: Session::open(settings.clone())?, settings })
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>> {
        let found = self.session.texts(sql);
        found.map_err(|trouble| self.failure(trouble, sql))
    }

    fn failure(&self, trouble: Trouble, sql: &str) -> model::Error {
        match trouble {
            Trouble::Refused(failure) => failure.error(&self.settings, "its catalog", sql),
            Trouble::Broken(cause) => broken(&self.settings, "its catalog", sql, &cause),
            _ => error!(Internal, "{}: an answer of texts cannot be read", self.settings.name),
        }
    }
}

impl Inspect for PostgresInspector {
    fn catalog(&mut self) -> Result<Catalog> {
        let default_schema = self.rows("SELECT coalesce(current_schema(), 'public')")?;
        let default_schema = text(&default_schema[0], 0);
        let (mut tables, mut numbers) = (Vec::new(), Vec::new());
        for row in self.rows(TABLES)? {
            let schema = Some(text(&row, 1)).filter(|schema| *schema != default_schema);
            numbers.push(text(&row, 0));
            tables.push(Table {
                name: TableName { schema, name: text(&row, 2) },
                is_view: text(&row, 3) == "v",
                rows: text(&row, 4).parse().ok(),
                ..Table::default()
            });
        }
        let place = |row: &Row, at: usize| numbers.iter().position(|number| *number == text(row, at));
        for row in self.rows(COLUMNS)? {
            if let Some(table) = place(&row, 0) {
                tables[table].columns.push(column(&row));
            }
        }
        for row in self.rows(INDEXES)? {
            if let Some(table) = place(&row, 0) {
                note_index(&mut tables[table], &row);
            }
        }
        for row in self.rows(FOREIGN_KEYS)? {
            let (Some(table), Some(referred)) = (place(&row, 0), place(&row, 1)) else { continue };
            let name = tables[referred].name.clone();
            let (columns, referred) = (names(&row, 2), names(&row, 3));
            tables[table].foreign_keys.push(ForeignKey { columns, table: name, referred });
        }
        tables.iter_mut().for_each(Table::arrange);
        Ok(Catalog { default_schema, tables })
    }

    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>> {
        let fields = self.session.describe(sql).map_err(|trouble| {
            let refused = matches!(trouble, Trouble::Refused(_));
            let failed = self.failure(trouble, sql);
            if refused { error!(Definition, "{}", failed.message()) } else { failed }
        })?;
        let column = |field: decode::Field| TableColumn {
            kind: column_kind(field.oid, field.modifier, 0),
            declared: format!("type {}", field.oid),
            name: field.name,
            is_nullable: true,
        };
        Ok(fields.into_iter().map(column).collect())
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        let rows = self.rows(sql)?;
        let number = rows.first().map_or(String::new(), |row| text(row, 0));
        Ok(number.parse::<f64>().map_or(0, |number| number.max(0.0) as u64))
    }

    fn quote(&self, name: &str) -> String {
        quote::name(Dialect::Postgres, name)
    }
}

fn text(row: &Row, at: usize) -> String {
    row.get(at).cloned().flatten().unwrap_or_default()
}

fn names(row: &Row, at: usize) -> Vec<String> {
    serde_json::from_str(&text(row, at)).unwrap_or_default()
}

fn column(row: &Row) -> TableColumn {
    let number = |at: usize| text(row, at).parse::<i64>().unwrap_or(0);
    TableColumn {
        name: text(row, 1),
        declared: text(row, 2),
        kind: column_kind(number(3) as u32, number(4) as i32, number(5) as u32),
        is_nullable: text(row, 6) != "true",
    }
}

/// What the values of a type are; `element` is the type of an array's elements.
fn column_kind(number: u32, modifier: i32, element: u32) -> ColumnKind {
    match number {
        oid::JSON | oid::JSONB => ColumnKind::Json,
        oid::BYTEA => ColumnKind::Bytes,
        oid::NUMERIC if kind_of(number, modifier) == Some(model::PropertyKind::Float) => ColumnKind::Decimal,
        _ => match (kind_of(number, modifier), kind_of(element, -1)) {
            (Some(kind), _) => ColumnKind::One(kind),
            (None, Some(kind)) if decode::is_read(number) => ColumnKind::List(kind),
            _ => ColumnKind::Other,
        },
    }
}

fn note_index(table: &mut Table, row: &Row) {
    let (is_primary, is_unique) = (text(row, 1) == "true", text(row, 2) == "true");
    let point = point_index(&text(row, 4), &text(row, 5));
    let columns = point.map_or_else(|| names(row, 3), |point| point.columns.to_vec());
    // An expression ends what can be said of an index in columns.
    let is_whole = !columns.iter().any(String::is_empty);
    if is_primary {
        table.primary_key.clone_from(&columns);
    } else if is_unique && is_whole {
        table.unique.push(columns.clone());
    }
    let columns: Vec<String> = columns.into_iter().take_while(|name| !name.is_empty()).collect();
    if !columns.is_empty() {
        table.indexes.push(columns);
    }
}

impl Session {
    /// All rows that a statement without parameters gives, as texts.
    fn texts(&mut self, sql: &str) -> Result<Vec<Row>, Trouble> {
        self.wire.output.query(sql);
        self.send()?;
        let (mut rows, mut failure) = (Vec::new(), None);
        loop {
            let (tag, range) = self.wire.next()?;
            let body = self.wire.body(range);
            match tag {
                b'D' => rows.push(row_of(body)),
                b'E' => failure = Some(Failure::parse(body)),
                b'Z' => return failure.map_or(Ok(rows), |failure| Err(Trouble::Refused(failure))),
                _ => {}
            }
        }
    }

    /// The fields that a query gives, without running it.
    fn describe(&mut self, sql: &str) -> Result<Vec<decode::Field>, Trouble> {
        self.wire.output.parse("", sql);
        self.wire.output.describe(b'S', "");
        self.wire.output.sync();
        self.send()?;
        let found = self.read_fields();
        self.finish()?;
        found
    }
}

/// A row in the text format.
fn row_of(body: &[u8]) -> Row {
    let (mut row, mut rest) = (Vec::new(), body.get(2..).unwrap_or_default());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = i32::from_be_bytes(*length);
        let (value, next) = after.split_at_checked(length.max(0) as usize).unwrap_or((after, &[]));
        row.push((length >= 0).then(|| String::from_utf8_lossy(value).into_owned()));
        rest = next;
    }
    row
}
