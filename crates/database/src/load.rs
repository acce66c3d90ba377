//! Tables in memory into a store: columns of nodes and edges, by bulk load if there are many rows, else as a transaction.
//!
//! Both ways give the same store: a key names one node of a label, by a uniqueness constraint that is made if need be, and
//! a load that fails leaves nothing but that constraint.
//!
//! Cost: one pass over the rows; an end of an edge is one look into the keys of its label.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use model::store::{NewEdges, NewNodes};
use model::{Column, Consumer, EdgeTypeId, Interrupt, NodeId, PropertyKeyId, Result, Value, error};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, EdgeRows, KeyRows, NodeRows, RowError};

use crate::database::Database;
use crate::import::keys::stored;
use crate::import::{FieldType, ImportPlan, OnDuplicate, bulk_config};

mod small;

/// Rows from which on a bulk load is faster than a transaction.
const BULK_ROWS_MIN: usize = 20_000;

/// A table in memory, in pieces: all have the same columns.
pub trait TableSource: Sync {
    /// The names of the columns.
    fn names(&self) -> &[String];
    /// Rows in all.
    fn row_count(&self) -> usize;
    /// Number of pieces.
    fn pieces(&self) -> usize;
    /// The number of rows of a piece, which tables without columns do not show otherwise.
    fn piece_rows(&self, index: usize) -> usize;
    /// The columns of a piece, and the number of its first row.
    fn piece(&self, index: usize) -> Result<(usize, Vec<Column>)>;
}

/// The way a table becomes nodes.
#[derive(Clone, Debug, Default)]
pub struct NodeTable {
    /// The labels of all its nodes; the first is that of the key.
    pub labels: Vec<String>,
    /// The column whose values name the nodes; `None` for nodes without a key.
    pub key: Option<String>,
    /// Treatment of a node whose key is taken.
    pub on_duplicate: OnDuplicate,
}

/// Key by which an end of edges is found.
#[derive(Clone, Debug, Default)]
pub struct EndKey {
    /// The label of the node.
    pub label: String,
    /// The property that keeps its key.
    pub property: String,
    /// The column with the keys.
    pub column: String,
}

/// Treatment of an edge of which an end is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// It is an error.
    #[default]
    Error,
    /// It is left out.
    Skip,
    /// The node is made, with its key.
    Create,
}

/// The way a table becomes edges.
#[derive(Clone, Debug, Default)]
pub struct EdgeTable {
    /// The type of all its edges.
    pub edge_type: String,
    /// Key of the nodes where they start.
    pub source: EndKey,
    /// Key of the nodes where they end.
    pub target: EndKey,
    /// Treatment of an end that is not there.
    pub on_missing: OnMissing,
}

/// Counts of what was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// Nodes made.
    pub nodes_created: u64,
    /// Rows of nodes whose key was taken and that updated the node there or were passed over.
    pub nodes_merged: u64,
    /// Edges made.
    pub edges_created: u64,
    /// Rows left out.
    pub rows_skipped: u64,
}

impl Database {
    /// Makes nodes of a table.
    pub fn load_nodes(&self, table: &NodeTable, rows: &dyn TableSource, interrupt: &Interrupt) -> Result<LoadSummary> {
        let Some(label) = table.labels.first() else {
            return Err(error!(Argument, "nodes need a label").with_remedy("name it: label=\"Person\""));
        };
        let key = table.key.as_deref().map(|key| place(rows, key)).transpose()?;
        if let Some(key) = &table.key {
            self.ensure_key(label, key)?;
        }
        if rows.row_count() < BULK_ROWS_MIN {
            return small::nodes(self, table, key, rows, interrupt);
        }
        let plan = ImportPlan { threads: self.config().threads, ..ImportPlan::default() };
        let config = BuildConfig { on_duplicate: table.on_duplicate, ..bulk_config(&plan, self.memory())? };
        self.bulk(config, interrupt, |load| {
            let mut done = LoadSummary::default();
            push_nodes(load, table, key, rows, interrupt, &mut done)?;
            Ok(done)
        })
    }

    /// Makes edges of a table.
    pub fn load_edges(&self, table: &EdgeTable, rows: &dyn TableSource, interrupt: &Interrupt) -> Result<LoadSummary> {
        let places = (place(rows, &table.source.column)?, place(rows, &table.target.column)?);
        for end in [&table.source, &table.target] {
            self.ensure_key(&end.label, &end.property)?;
        }
        let rows = &self.with_keys_of_nodes(table, places, rows)?;
        if rows.row_count() < BULK_ROWS_MIN {
            return small::edges(self, table, places, rows, interrupt);
        }
        let plan = ImportPlan { threads: self.config().threads, ..ImportPlan::default() };
        let config = BuildConfig { on_duplicate: OnDuplicate::Skip, ..bulk_config(&plan, self.memory())? };
        self.bulk(config, interrupt, |load| {
            let mut done = LoadSummary::default();
            for (end, place) in [(&table.source, places.0), (&table.target, places.1)] {
                load.bind_group(&group(end), &end.label, &end.property)?;
                if table.on_missing == OnMissing::Create {
                    push_ends(load, end, place, rows, interrupt, &mut done)?;
                }
            }
            done.nodes_merged = 0;
            push_edges(load, table, places, rows, interrupt, &mut done, plan.threads)?;
            Ok(done)
        })
    }

    /// The rows with ends of the type that the keys of their nodes have.
    fn with_keys_of_nodes<'r>(
        &self,
        table: &EdgeTable,
        places: (usize, usize),
        rows: &'r dyn TableSource,
    ) -> Result<Converted<'r>> {
        let view = self.own_store().read()?;
        let mut types = Vec::new();
        for (end, place) in [(&table.source, places.0), (&table.target, places.1)] {
            types.extend(stored(&*view, &end.label, &end.property)?.map(|kind| (place, kind)));
        }
        let is_new = types.is_empty() && table.source.label == table.target.label;
        if let (true, OnMissing::Create, 1..) = (is_new, table.on_missing, rows.pieces()) {
            let (_, columns) = rows.piece(0)?;
            let kind = |place: usize| columns[place].values().find_map(|value| FieldType::of_value(&value));
            if let Some((source, target)) =
                kind(places.0).zip(kind(places.1)).filter(|(source, target)| source != target)
            {
                let (label, source, target) = (&table.source.label, source.name(), target.name());
                return Err(error!(
                    Import,
                    "the ends are keys of {label}, but the sources are {source}, the targets {target}"
                )
                .with_remedy("convert one of the columns, so that both are of one type"));
            }
        }
        Ok(Converted { rows, types })
    }

    /// Makes the uniqueness constraint by which keys name nodes, if it is not there.
    fn ensure_key(&self, label: &str, key: &str) -> Result<()> {
        let view = self.store().read()?;
        let schema = view.schema();
        let found = schema.label(label).zip(schema.property_key(key));
        if found.is_some_and(|(label, key)| schema.unique(label, key).is_some()) {
            return Ok(());
        }
        drop(view);
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let (label, key) = (quoted(label), quoted(key));
        let text = format!("CREATE CONSTRAINT IF NOT EXISTS FOR (n:{label}) REQUIRE n.{key} IS UNIQUE");
        self.session().query(&text, &Default::default()).map(|_| ())
    }

    fn bulk(
        &self,
        config: BuildConfig,
        interrupt: &Interrupt,
        work: impl FnOnce(&mut BulkLoad) -> Result<LoadSummary>,
    ) -> Result<LoadSummary> {
        let _held = self.memory().charge(Consumer::Import, config.memory_bytes);
        self.rebuild(interrupt, |base| {
            let mut load = BulkLoad::new(base, config, interrupt)?;
            let summary = work(&mut load)?;
            Ok((load.finish()?, summary))
        })
    }
}

/// A table with some columns converted to the types of the keys that they name.
struct Converted<'r> {
    rows: &'r dyn TableSource,
    types: Vec<(usize, FieldType)>,
}

impl TableSource for Converted<'_> {
    fn names(&self) -> &[String] {
        self.rows.names()
    }

    fn row_count(&self) -> usize {
        self.rows.row_count()
    }

    fn pieces(&self) -> usize {
        self.rows.pieces()
    }

    fn piece_rows(&self, index: usize) -> usize {
        self.rows.piece_rows(index)
    }

    fn piece(&self, index: usize) -> Result<(usize, Vec<Column>)> {
        let (origin, mut columns) = self.rows.piece(index)?;
        for (place, kind) in &self.types {
            if let Some(converted) = kind.convert(&columns[*place]) {
                columns[*place] = converted;
            }
        }
        Ok((origin, columns))
    }
}

/// The place of a column.
fn place(rows: &dyn TableSource, name: &str) -> Result<usize> {
    rows.names().iter().position(|held| held == name).ok_or_else(|| {
        error!(Argument, "the table has no column {name}, only {}", rows.names().join(", "))
            .with_remedy("name the column that the table has")
    })
}

/// The keys of one label and property are one group.
fn group(end: &EndKey) -> String {
    format!("{}\u{0}{}", end.label, end.property)
}

/// Names and columns except those at these places.
fn others<'r>(rows: &'r dyn TableSource, columns: &[Column], but: &[usize]) -> (Vec<&'r str>, Vec<Column>) {
    let kept = rows.names().iter().zip(columns).enumerate().filter(|(at, _)| !but.contains(at));
    kept.map(|(_, (name, column))| (name.as_str(), column.clone())).unzip()
}

fn first_error(errors: Vec<RowError>) -> Result<()> {
    match errors.into_iter().min_by_key(|error| error.row) {
        Some(RowError { row, reason, .. }) => Err(error!(Import, "row {row}: {reason}")),
        None => Ok(()),
    }
}

fn push_nodes(
    load: &mut BulkLoad,
    table: &NodeTable,
    key: Option<usize>,
    rows: &dyn TableSource,
    interrupt: &Interrupt,
    done: &mut LoadSummary,
) -> Result<()> {
    let labels: Vec<&str> = table.labels.iter().map(String::as_str).collect();
    let key_group = table.key.as_ref().map(|key| format!("{}\u{0}{key}", labels[0]));
    for piece in 0..rows.pieces() {
        let (origin, columns) = rows.piece(piece)?;
        let but: Vec<usize> = key.into_iter().collect();
        let (names, properties) = others(rows, &columns, &but);
        let key = key.zip(key_group.as_deref()).map(|(place, group)| KeyRows {
            group,
            property: table.key.as_deref(),
            values: &columns[place],
        });
        let count = rows.piece_rows(piece);
        let batch =
            NodeRows { count, labels: &labels, key, names: &names, columns: &properties, origin: origin as u64 };
        let added = load.push_nodes(&batch)?;
        first_error(added.errors)?;
        done.nodes_created += added.created;
        done.nodes_merged += added.merged;
        interrupt.report((origin + count) as u64, rows.row_count() as u64);
    }
    Ok(())
}

/// Makes the nodes that edges name and that are not there.
fn push_ends(
    load: &mut BulkLoad,
    end: &EndKey,
    place: usize,
    rows: &dyn TableSource,
    interrupt: &Interrupt,
    done: &mut LoadSummary,
) -> Result<()> {
    let (group, labels) = (group(end), [end.label.as_str()]);
    for piece in 0..rows.pieces() {
        let (origin, columns) = rows.piece(piece)?;
        let values = &columns[place];
        let key = Some(KeyRows { group: &group, property: Some(&end.property), values });
        let (count, origin) = (values.len(), origin as u64);
        let added = load.push_nodes(&NodeRows { count, labels: &labels, key, names: &[], columns: &[], origin })?;
        first_error(added.errors)?;
        done.nodes_created += added.created;
        interrupt.check()?;
    }
    Ok(())
}

fn push_edges(
    load: &mut BulkLoad,
    table: &EdgeTable,
    places: (usize, usize),
    rows: &dyn TableSource,
    interrupt: &Interrupt,
    done: &mut LoadSummary,
    threads_max: usize,
) -> Result<()> {
    let (source_group, target_group) = (group(&table.source), group(&table.target));
    let (next, taken, skipped) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let threads = rows.pieces().clamp(1, threads_max.max(1));
    let loaders = (0..threads).map(|_| load.edge_loader()).collect::<Result<Vec<_>>>()?;
    let work = |mut loader: storage::bulk::EdgeLoader| -> Result<()> {
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= rows.pieces() {
                return loader.finish();
            }
            let (origin, columns) = rows.piece(piece)?;
            let (names, properties) = others(rows, &columns, &[places.0, places.1]);
            let batch = EdgeRows {
                edge_type: &table.edge_type,
                source_group: &source_group,
                sources: &columns[places.0],
                target_group: &target_group,
                targets: &columns[places.1],
                names: &names,
                columns: &properties,
                origin: origin as u64,
            };
            let errors = loader.push(&batch)?;
            let missed = errors.len() as u64;
            if table.on_missing != OnMissing::Skip {
                first_error(errors)?;
            }
            skipped.fetch_add(missed, Ordering::Relaxed);
            let count = columns[places.0].len() as u64;
            let so_far = taken.fetch_add(count - missed, Ordering::Relaxed) + count;
            interrupt.report(so_far, rows.row_count() as u64);
        }
    };
    let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
        let running: Vec<_> = loaders.into_iter().map(|loader| scope.spawn(|| work(loader))).collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, Result<()>>| {
            thread.join().unwrap_or_else(|_| Err(error!(Internal, "a thread that loads edges panicked")))
        };
        running.into_iter().map(ended).collect()
    });
    outcomes.into_iter().collect::<Result<()>>()?;
    done.edges_created = taken.into_inner();
    done.rows_skipped = skipped.into_inner();
    Ok(())
}
