//! The server's description of the tables and queries of a definition: types, indexes, foreign keys, sizes.
//!
//! - [`columns`]: the facts that follow from types. [`facts`]: those that follow for the kinds of the definition.

use std::sync::{Arc, MutexGuard, PoisonError};

use model::{Column, Map, Result, Value, error};

use super::Shared;
use super::failure::Failure;
use super::session::{Session, Trouble};
use crate::connector::Facts;
use crate::definition::{GraphDefinition, Rows};
use crate::sql::catalog::PointIndex;
use crate::sql::{Catalog, ColumnFacts, Parameter, ParameterValue, Rest, RowsFacts, Statement, dialect, quote};

mod columns;
mod facts;

use columns::{column_facts, point_index, sql_type};
use facts::{edge_facts, node_facts};

/// Rows that are counted, rather than estimated, in tables that the server has no figures of.
const COUNTED_ROWS_MAX: u64 = 2_000_000;

/// The facts known of a source.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) catalog: Catalog,
    pub(super) facts: Facts,
}

/// Columns of the tables, in their order.
const COLUMNS: &str = "SELECT t.n, a.attname::text, a.atttypid::int8, \
    CASE WHEN ty.typtype = 'd' THEN ty.typtypmod ELSE a.atttypmod END, a.attnotnull, \
    CASE WHEN ty.typtype = 'd' THEN base.typname ELSE ty.typname END::text, \
    CASE WHEN ty.typtype = 'd' THEN bn.nspname ELSE tn.nspname END::text, \
    CASE WHEN ty.typtype = 'd' THEN ty.typbasetype ELSE a.atttypid END::int8, \
    element.typname::text, \
    coalesce(co.collcollate IN ('C', 'POSIX') OR co.collname = 'default' \
        AND (SELECT datcollate IN ('C', 'POSIX') FROM pg_database WHERE datname = current_database()), false), \
    coalesce(to_jsonb(co) ->> 'collisdeterministic' = 'false', false) \
    FROM unnest($1::text[]) WITH ORDINALITY AS t(name, n) \
    JOIN pg_attribute a ON a.attrelid = to_regclass(t.name) AND a.attnum > 0 AND NOT a.attisdropped \
    JOIN pg_type ty ON ty.oid = a.atttypid JOIN pg_namespace tn ON tn.oid = ty.typnamespace \
    LEFT JOIN pg_type base ON base.oid = ty.typbasetype LEFT JOIN pg_namespace bn ON bn.oid = base.typnamespace \
    LEFT JOIN pg_type element ON element.oid = ty.typelem AND ty.typcategory = 'A' \
    LEFT JOIN pg_collation co ON co.oid = a.attcollation ORDER BY t.n, a.attnum";

/// Indexes that hold all rows.
const INDEXES: &str = "SELECT t.n, i.indisunique, am.amname::text, \
    array(SELECT coalesce(a.attname::text, '') FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(att, place) \
        LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att AND k.att > 0 \
        WHERE k.place <= i.indnkeyatts ORDER BY k.place), \
    CASE WHEN i.indexprs IS NOT NULL THEN pg_get_indexdef(i.indexrelid, 1, true) END \
    FROM unnest($1::text[]) WITH ORDINALITY AS t(name, n) JOIN pg_index i ON i.indrelid = to_regclass(t.name) \
    JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am am ON am.oid = ic.relam \
    WHERE i.indisvalid AND i.indpred IS NULL ORDER BY t.n, i.indexrelid";

/// The tables themselves.
const TABLES: &str = "SELECT t.n, c.oid::int8, c.reltuples::float8, c.relkind::text \
    FROM unnest($1::text[]) WITH ORDINALITY AS t(name, n) JOIN pg_class c ON c.oid = to_regclass(t.name)";

/// Foreign keys that are enforced.
const FOREIGN_KEYS: &str = "SELECT t.n, c.confrelid::int8, \
    array(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY k(att, place) \
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att ORDER BY k.place), \
    array(SELECT a.attname::text FROM unnest(c.confkey) WITH ORDINALITY k(att, place) \
        JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.att ORDER BY k.place) \
    FROM unnest($1::text[]) WITH ORDINALITY AS t(name, n) JOIN pg_constraint c ON c.conrelid = to_regclass(t.name) \
    WHERE c.contype = 'f' AND c.convalidated";

/// For columns of numbers, the width of the span that holds the middle half of their values.
const SPANS: &str = "SELECT t.n, held.name, held.bounds[1 + 3 * cardinality(held.bounds) / 4]::float8 \
        - held.bounds[1 + cardinality(held.bounds) / 4]::float8 \
    FROM unnest($1::text[]) WITH ORDINALITY AS t(name, n) JOIN pg_class c ON c.oid = to_regclass(t.name) \
    JOIN pg_namespace cn ON cn.oid = c.relnamespace \
    CROSS JOIN LATERAL (SELECT s.attname::text AS name, s.histogram_bounds::text::text[] AS bounds FROM pg_stats s \
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = s.attname \
        WHERE s.schemaname = cn.nspname AND s.tablename = c.relname AND NOT s.inherited \
            AND a.atttypid IN (20, 21, 23, 700, 701, 1700)) AS held \
    WHERE cardinality(held.bounds) >= 8";

/// The place of the facts of a kind's rows.
enum Place {
    /// The table of that number.
    Table(usize),
    /// A query.
    Query(RowsFacts),
}

/// A table as the server describes it.
#[derive(Clone, Debug, Default)]
struct Table {
    oid: i64,
    is_view: bool,
    /// Rows, as of the last time that the server looked; less than none if it never did.
    rows: f64,
    columns: Map<String, ColumnFacts>,
    indexes: Vec<IndexOf>,
    foreign_keys: Vec<(i64, Vec<String>, Vec<String>)>,
    spans: Map<String, f64>,
}

#[derive(Clone, Debug)]
struct IndexOf {
    is_unique: bool,
    /// True if it finds equal values.
    is_ordered: bool,
    /// Columns in order; empty for an expression.
    columns: Vec<String>,
    point: Option<PointIndex>,
}

/// Asks the server about all kinds of the definition: three round trips.
pub(super) fn load(shared: &Shared) -> Result<Known> {
    let definition = &*shared.definition;
    let mut names: Vec<String> = Vec::new();
    let mut number_of = |rows: &Rows| -> Option<usize> {
        let name = crate::sql::table_name(dialect::POSTGRES, rows)?;
        Some(names.iter().position(|held| *held == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        }))
    };
    let tables_of: Vec<Option<usize>> = definition
        .nodes
        .iter()
        .map(|node| &node.rows)
        .chain(definition.edges.iter().map(|edge| &edge.rows))
        .map(&mut number_of)
        .collect();
    let mut lease = shared.pool.take()?;
    let loaded = tables(lease.session(), &names).and_then(|mut tables| {
        let queries = queries(lease.session(), definition)?;
        estimate(lease.session(), definition, &names, &mut tables).map(|estimates| (tables, queries, estimates))
    });
    let (tables, mut queries, estimates) = match loaded {
        Ok(loaded) => loaded,
        Err((trouble, statement)) => {
            let is_dead = matches!(trouble, Trouble::Broken(_)) && lease.session().is_used;
            let failed = shared.error(trouble, "its catalog", &statement);
            lease.close();
            if is_dead {
                // It was kept from before; a new one may do.
                shared.pool.close_idle();
                return load(shared);
            }
            return Err(failed);
        }
    };
    let missing = |name: &str| {
        error!(Definition, "{}: there is no table {name}", shared.settings.name).with_remedy(
            "knot source check compares the definition with the source; search_path in the URL names schemas",
        )
    };
    for (number, table) in tables.iter().enumerate() {
        if table.oid == 0 {
            return Err(missing(&names[number]));
        }
    }
    let mut known = Known::default();
    let count = definition.nodes.len();
    let mut places = tables_of.iter().enumerate().map(|(at, number)| match number {
        Some(number) => Place::Table(*number),
        None => Place::Query(queries.remove(&at).unwrap_or_default()),
    });
    for (kind, node) in definition.nodes.iter().enumerate() {
        let place = places.next().expect("every kind has its rows");
        let (facts, mut about) = node_facts(node, &place, &tables, estimates[kind]);
        facts.show(node, &mut about);
        known.catalog.nodes.push(facts);
        known.facts.nodes.push(about);
    }
    for (kind, edge) in definition.edges.iter().enumerate() {
        let place = places.next().expect("every kind has its rows");
        let (facts, about) = edge_facts(definition, edge, &place, &tables, &tables_of, estimates[count + kind]);
        known.catalog.edges.push(facts);
        known.facts.edges.push(about);
    }
    Ok(known)
}

/// The failure, and the statement that failed.
type Failed = (Trouble, String);

fn statement<'a>(text: &str, names: &'a Column) -> Statement<'a> {
    let value = ParameterValue::Array(std::borrow::Cow::Borrowed(names));
    let parameters = vec![Parameter { value, sql_type: "text".to_owned() }];
    Statement { text: text.to_owned(), parameters, answer: Vec::new(), rest: Rest::default(), expects: None }
}

fn tables(session: &mut Session, names: &[String]) -> Result<Vec<Table>, Failed> {
    let mut tables = vec![Table::default(); names.len()];
    if names.is_empty() {
        return Ok(tables);
    }
    let names: Vec<Value> = names.iter().map(|name| Value::string(name)).collect();
    let names = Column::from_values(&names);
    let texts = [TABLES, COLUMNS, INDEXES, FOREIGN_KEYS, SPANS];
    for text in texts {
        session.queue_bind("", &statement(text, &names)).map_err(|trouble| (trouble, text.to_owned()))?;
        session.wire.output.execute("", 0);
    }
    session.wire.output.sync();
    session.send().map_err(|trouble| (trouble, String::new()))?;
    for text in texts {
        let mut rows = Vec::new();
        let fields = session.read_fields(&[]).map_err(|trouble| (trouble, text.to_owned()))?;
        session
            .read_rows(&fields, |columns| {
                rows.extend((0..columns[0].len()).map(|row| columns.iter().map(|column| column.value(row)).collect()));
                Ok(true)
            })
            .map_err(|trouble| (trouble, text.to_owned()))?;
        rows.into_iter().for_each(|row: Vec<Value>| note(&mut tables, text, &row));
    }
    session.finish().map_err(|trouble| (trouble, String::new()))?;
    Ok(tables)
}

/// Puts a row of the catalog where it belongs.
fn note(tables: &mut [Table], text: &str, row: &[Value]) {
    let int = |at: usize| if let Value::Int(x) = row[at] { x } else { 0 };
    let is_true = |at: usize| matches!(row[at], Value::Bool(true));
    let string = |at: usize| if let Value::String(x) = &row[at] { x.to_string() } else { String::new() };
    let strings = |at: usize| -> Vec<String> {
        let Value::List(items) = &row[at] else { return Vec::new() };
        items.iter().map(|item| if let Value::String(x) = item { x.to_string() } else { String::new() }).collect()
    };
    let table = &mut tables[int(0) as usize - 1];
    match text {
        TABLES => {
            table.oid = int(1);
            table.is_view = matches!(&*string(3), "v" | "m");
            table.rows = if let Value::Float(rows) = row[2] { rows } else { -1.0 };
        }
        COLUMNS => {
            let oid = int(7) as u32;
            let facts = column_facts(oid, int(3) as i32, Some((&string(6), &string(5))), &string(8));
            // Such a collation takes strings for equal that differ; only newer servers have any.
            let is_loose = facts.is_loose || is_true(10);
            let compares = facts.compares && !is_true(10);
            let facts = ColumnFacts { is_nullable: !is_true(4), is_binary: is_true(9), compares, is_loose, ..facts };
            table.columns.insert(string(1), facts);
        }
        INDEXES => {
            let columns = strings(3);
            let method = string(2);
            let point = point_index(&method, &string(4));
            table.indexes.push(IndexOf {
                is_unique: is_true(1),
                is_ordered: method == "btree" || method == "hash" && columns.len() == 1,
                columns: columns.into_iter().take_while(|name| !name.is_empty()).collect(),
                point,
            });
        }
        SPANS => {
            if let Value::Float(span) = row[2] {
                table.spans.insert(string(1), span);
            }
        }
        _ => table.foreign_keys.push((int(1), strings(2), strings(3))),
    }
}

/// Describes the queries of the definition, by their place among all kinds.
fn queries(session: &mut Session, definition: &GraphDefinition) -> Result<Map<usize, RowsFacts>, Failed> {
    let rows = definition.nodes.iter().map(|node| &node.rows).chain(definition.edges.iter().map(|edge| &edge.rows));
    let mut asked: Vec<(usize, usize, String)> = Vec::new();
    for (at, rows) in rows.enumerate() {
        match rows {
            Rows::Query(sql) => asked.push((at, 0, format!("SELECT * FROM {} AS q", quote::subquery(sql)))),
            Rows::ByKey { sql, reverse, scan } => {
                let with = |sql: &str| {
                    quote::with_key(dialect::POSTGRES, sql, "$1")
                        .map_err(|error| (Trouble::Stopped(error), sql.to_owned()))
                };
                asked.push((at, 0, with(sql)?));
                if let Some(reverse) = reverse {
                    asked.push((at, 1, with(reverse)?));
                }
                // It may have columns that the query by key need not repeat.
                if let Some(scan) = scan {
                    asked.push((at, 2, format!("SELECT * FROM {} AS q", quote::subquery(scan))));
                }
            }
            _ => {}
        }
    }
    for (_, _, text) in &asked {
        session.wire.output.parse("", text);
        session.wire.output.describe(b'S', "");
    }
    session.wire.output.sync();
    session.send().map_err(|trouble| (trouble, String::new()))?;
    let mut found: Map<usize, RowsFacts> = Map::default();
    for (at, side, text) in asked {
        let (parameter, fields) = session.read_description().map_err(|trouble| (trouble, text))?;
        let facts = found.entry(at).or_default();
        let columns = if side == 1 { &mut facts.reverse_columns } else { &mut facts.columns };
        for field in fields {
            let of = column_facts(field.oid, field.modifier, None, "");
            columns.entry(field.name).or_insert(of);
        }
        if let Some(held) = facts.parameter.get_mut(side) {
            *held = parameter.and_then(sql_type).unwrap_or_default().to_owned();
        }
    }
    session.finish().map_err(|trouble| (trouble, String::new()))?;
    Ok(found)
}

/// Approximate number of rows of each kind: of tables that the server has figures of, these; of small others, counted.
fn estimate(
    session: &mut Session,
    definition: &GraphDefinition,
    names: &[String],
    tables: &mut [Table],
) -> Result<Vec<u64>, Failed> {
    let rows = definition.nodes.iter().map(|node| &node.rows).chain(definition.edges.iter().map(|edge| &edge.rows));
    let mut estimates = Vec::new();
    for rows in rows {
        let from = match rows {
            Rows::Table { .. } => crate::sql::table_name(dialect::POSTGRES, rows).unwrap_or_default(),
            Rows::Query(sql) | Rows::ByKey { scan: Some(sql), .. } => format!("{} AS q", quote::subquery(sql)),
            _ => {
                estimates.push(0);
                continue;
            }
        };
        let number = names.iter().position(|name| *name == from);
        if let Some(table) = number.map(|number| &tables[number])
            && (table.rows >= 0.0 || table.oid == 0)
        {
            estimates.push(table.rows.max(0.0) as u64);
            continue;
        }
        let guess = guess(session, &from)?;
        let counted = match number {
            Some(number) if guess <= COUNTED_ROWS_MAX => {
                let counted = count(session, &from)?;
                tables[number].rows = counted as f64;
                counted
            }
            _ => guess,
        };
        estimates.push(counted);
    }
    Ok(estimates)
}

/// The rows that the server's planner expects.
fn guess(session: &mut Session, from: &str) -> Result<u64, Failed> {
    let text = format!("EXPLAIN (FORMAT JSON) SELECT 1 FROM {from}");
    let found = session.first_text(&text).map_err(|trouble| (trouble, text))?;
    let plan: serde_json::Value = serde_json::from_str(&found).unwrap_or_default();
    Ok(plan[0]["Plan"]["Plan Rows"].as_f64().unwrap_or(0.0) as u64)
}

fn count(session: &mut Session, from: &str) -> Result<u64, Failed> {
    let text = format!("SELECT count(*)::text FROM {from}");
    let found = session.first_text(&text).map_err(|trouble| (trouble, text))?;
    Ok(found.parse().unwrap_or(0))
}

impl Session {
    /// Reads what a statement's description says: the type of its parameter, and its fields.
    fn read_description(&mut self) -> Result<(Option<u32>, Vec<super::decode::Field>), Trouble> {
        let mut parameter = None;
        loop {
            let (tag, range) = self.wire.next()?;
            let body = self.wire.body(range);
            match tag {
                b't' => parameter = body.get(2..6).map(|oid| u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]])),
                b'T' => return Ok((parameter, super::decode::fields(body).unwrap_or_default())),
                b'n' => return Ok((parameter, Vec::new())),
                b'E' => return Err(Trouble::Refused(Box::new(Failure::parse(body)))),
                _ => {}
            }
        }
    }

    /// The one string that a statement without parameters gives.
    fn first_text(&mut self, text: &str) -> Result<String, Trouble> {
        self.wire.output.query(text);
        self.send()?;
        let (mut found, mut failure) = (String::new(), None);
        loop {
            let (tag, range) = self.wire.next()?;
            let body = self.wire.body(range);
            match tag {
                b'D' => found.push_str(&String::from_utf8_lossy(body.get(6..).unwrap_or_default())),
                b'E' => failure = Some(Failure::parse(body)),
                b'Z' => return failure.map_or(Ok(found), |failure| Err(Trouble::Refused(Box::new(failure)))),
                _ => {}
            }
        }
    }
}

impl Shared {
    /// The facts known of the source; asked for once, and again after [`Shared::forget`]. The server is waited for
    /// without the lock: a thread that finds an error forgets the known facts, and others that wait are told to stop.
    pub(super) fn known(&self) -> Result<Arc<Known>> {
        if let Some(known) = &*self.held() {
            return Ok(known.clone());
        }
        let known = Arc::new(load(self)?);
        *self.held() = Some(known.clone());
        Ok(known)
    }

    /// Asks anew the next time: the tables were seen to be others.
    pub(super) fn forget(&self) {
        *self.held() = None;
    }

    fn held(&self) -> MutexGuard<'_, Option<Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
