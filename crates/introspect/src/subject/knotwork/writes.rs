//! Operations that write, on a copy of the store and on new stores beside it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use database::{Access, Config, Database, StoreCopy};
use model::mix::mix64;
use model::store::{NewEdges, NewNodes};
use model::{
    Column, ColumnData, Direction, EdgeBatch, Error, Expand, Interrupt, NodeBatch, NodeId, NodeScan, ReadView, Result,
    Value, WriteTransaction, error,
};

use super::{Call, KnotworkStore, Start, with};
use crate::generate::{KEY, Rows, load_edges, load_nodes};
use crate::operations::{Operation, Way};
use crate::subject::Counts;

/// Edges of the store, from its first nodes on, that are put into a new one.
const EDGES_MAX: usize = 1_000_000;
/// Interval at which an edge is left for the increment.
const INCREMENT: usize = 10;
/// Edges of a transaction that adds some.
const COMMIT_EDGES: usize = 1_000;
const LABEL: &str = "Node";
const EDGE_TYPE: &str = "LINK";
const PROPERTY: &str = "weight";

/// State of operations that write.
pub(super) struct Writes {
    sample: Sample,
    /// The store that was loaded last.
    loaded: Option<Loaded>,
    /// The copy that takes the place of the store; removed with this.
    copy: StoreCopy,
}

/// Edges between nodes that are numbered from 0 on: those to be loaded at once, and those to be added behind them.
struct Sample {
    nodes: usize,
    bulk: [Vec<i64>; 2],
    increment: [Vec<i64>; 2],
}

/// A new store, removed when this is dropped.
struct Loaded {
    database: Option<Database>,
    path: PathBuf,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.database = None;
        // A store that cannot be removed is named for what it is.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl Writes {
    /// Makes a copy of a store, and takes edges from it.
    pub(super) fn new(path: &Path, config: &Config, view: &dyn ReadView, interrupt: &Interrupt) -> Result<Writes> {
        let sample = Sample::of(view, interrupt)?;
        Ok(Writes { sample, loaded: None, copy: StoreCopy::beside(path, config, interrupt)? })
    }

    /// True if there are edges enough for both parts of an ingest.
    pub(super) fn has_edges(&self) -> bool {
        !self.sample.increment[0].is_empty()
    }

    /// The copy's directory.
    pub(super) fn path(&self) -> &Path {
        self.copy.path()
    }
}

impl Sample {
    fn of(view: &dyn ReadView, interrupt: &Interrupt) -> Result<Sample> {
        let expand = Expand { direction: Direction::Out, ..Expand::default() };
        let (mut scanned, mut nodes, mut edges) =
            (view.scan(&NodeScan::default())?, NodeBatch::default(), EdgeBatch::default());
        let mut pairs: Vec<[NodeId; 2]> = Vec::new();
        while pairs.len() < EDGES_MAX && scanned.next(&mut nodes)? {
            let mut expanded = view.expand(&nodes.nodes, &expand)?;
            while pairs.len() < EDGES_MAX && expanded.next(&mut edges)? {
                interrupt.check()?;
                let sources = edges.inputs.iter().map(|input| nodes.nodes[*input as usize]);
                pairs.extend(sources.zip(edges.neighbors.iter().copied()).map(|(source, target)| [source, target]));
            }
        }
        let mut ends: Vec<NodeId> = pairs.iter().flatten().copied().collect();
        ends.sort_unstable();
        ends.dedup();
        let number = |node: NodeId| ends.binary_search(&node).map_or(0, |place| place as i64);
        let mut sample = Sample { nodes: ends.len(), bulk: Default::default(), increment: Default::default() };
        for (place, [source, target]) in pairs.into_iter().enumerate() {
            let is_last = place % INCREMENT == INCREMENT - 1;
            let [sources, targets] = if is_last { &mut sample.increment } else { &mut sample.bulk };
            sources.push(number(source));
            targets.push(number(target));
        }
        Ok(sample)
    }
}

fn integers(values: Vec<i64>) -> Column {
    Column::new(ColumnData::Int(values))
}

/// Columns of integers with their names.
struct Integers<'a>(&'a [(&'static str, &'a [i64])]);

impl Rows for Integers<'_> {
    fn row_count(&self) -> u64 {
        self.0[0].1.len() as u64
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn columns(&self, rows: Range<u64>) -> Vec<Column> {
        let part = rows.start as usize..rows.end as usize;
        self.0.iter().map(|(_, values)| integers(values[part.clone()].to_vec())).collect()
    }
}

/// A value that no other node is likely to have.
pub(super) fn new_value(start: &Start) -> i64 {
    (mix64(start.node ^ start.target << 32) >> 1).cast_signed()
}

impl KnotworkStore {
    /// Performs an operation that writes.
    pub(super) fn write(&mut self, operation: Operation, way: Way, start: &Start) -> Result<Call> {
        match (operation, way) {
            (Operation::IngestBulk, _) => self.ingest_bulk(),
            (Operation::IngestIncrement, _) => self.ingest_increment(),
            (_, Way::Api) => self.write_by_api(operation, start),
            (_, Way::Cypher) => self.write_by_statement(operation, start),
        }
    }

    fn write_by_api(&mut self, operation: Operation, start: &Start) -> Result<Call> {
        let names = self.names.clone();
        let mut transaction = self.opened()?.database.store().write()?;
        let add_node = |transaction: &mut dyn WriteTransaction| {
            transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[], properties: &[] })
        };
        let (ns, metered, ()) = match operation {
            Operation::Commit => {
                add_node(&mut *transaction)?;
                self.timed(|| transaction.commit())?
            }
            Operation::AddEdge => {
                let (edge_type, _) = names.edge_type.ok_or_else(|| error!(Internal, "an edge without a type"))?;
                let (sources, targets) = ([NodeId(start.node)], [NodeId(start.target)]);
                let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
                self.timed(|| transaction.create_edges(&new).map(drop))?
            }
            Operation::SetProperty => {
                let (key, _) = names.integer.ok_or_else(|| error!(Internal, "a property without a key"))?;
                let values = Column::constant(&Value::Int(new_value(start)), 1);
                self.timed(|| transaction.set_node_properties(&[NodeId(start.node)], key, &values))?
            }
            _ => self.timed(|| add_node(&mut *transaction).map(drop))?,
        };
        Ok(Call { ns, rows: 1, checksum: 0, counts: with(Counts::default(), &metered) })
    }

    fn write_by_statement(&mut self, operation: Operation, start: &Start) -> Result<Call> {
        self.opened()?.session.begin()?;
        let is_commit = operation == Operation::Commit;
        let outcome = self.by_statement(if is_commit { Operation::AddNode } else { operation }, start);
        let clock = self.clock.clone();
        let session = &mut self.opened()?.session;
        if !is_commit || outcome.is_err() {
            session.rollback()?;
            return outcome;
        }
        let begin = clock.now_ns();
        session.commit()?;
        Ok(Call { ns: clock.now_ns() - begin, ..outcome? })
    }

    /// Loads the greater part of the sample into a new store.
    fn ingest_bulk(&mut self) -> Result<Call> {
        let mut writes = self.writes.take().ok_or_else(no_copy)?;
        writes.loaded = None;
        let outcome = self.load(&writes);
        let outcome = outcome.map(|(call, loaded)| {
            writes.loaded = Some(loaded);
            call
        });
        self.writes = Some(writes);
        outcome
    }

    fn load(&self, writes: &Writes) -> Result<(Call, Loaded)> {
        let sample = &writes.sample;
        let mut path = writes.path().as_os_str().to_owned();
        path.push(".ingest");
        let path = PathBuf::from(path);
        std::fs::create_dir(&path).map_err(|cause| Error::of_file(&path, &cause))?;
        let mut loaded = Loaded { database: None, path };
        let config = Config { access: Access::ReadWrite, ..self.config.clone() };
        let ids: Vec<i64> = (0..sample.nodes as i64).collect();
        let [sources, targets] = &sample.bulk;
        let nodes = [(KEY, &ids[..])];
        let edges = [("source", &sources[..]), ("target", &targets[..]), (PROPERTY, &sources[..])];
        let (ns, metered, database) = self.timed(|| {
            let database = Database::open_until(&loaded.path, config, &self.interrupt)?;
            load_nodes(&database, LABEL, &Integers(&nodes), &self.interrupt)?;
            load_edges(&database, EDGE_TYPE, [LABEL; 2], &Integers(&edges), &self.interrupt)?;
            database.checkpoint()?;
            Ok(database)
        })?;
        loaded.database = Some(database);
        let (nodes, edges) = (sample.nodes as u64, sources.len() as u64);
        let counts = Counts { unique_nodes: nodes, edges, properties: nodes + edges, passes: 1, ..Counts::default() };
        Ok((Call { ns, rows: edges, checksum: 0, counts: with(counts, &metered) }, loaded))
    }

    /// Adds the rest of the sample to the store that was loaded.
    fn ingest_increment(&mut self) -> Result<Call> {
        if self.writes.as_ref().is_none_or(|writes| writes.loaded.is_none()) {
            self.ingest_bulk()?;
        }
        let writes = self.writes.as_ref().ok_or_else(no_copy)?;
        let database = writes.loaded.as_ref().and_then(|loaded| loaded.database.as_ref()).ok_or_else(no_copy)?;
        let nodes = found(database, writes.sample.nodes)?;
        let [sources, targets] = writes
            .sample
            .increment
            .each_ref()
            .map(|ends| ends.iter().map(|end| nodes[*end as usize]).collect::<Vec<NodeId>>());
        let weights = &writes.sample.increment[0];
        let (ns, metered, commits) = self.timed(|| {
            let mut commits = 0;
            for start in (0..sources.len()).step_by(COMMIT_EDGES) {
                self.interrupt.check()?;
                let range = start..(start + COMMIT_EDGES).min(sources.len());
                let mut transaction = database.store().write()?;
                let (edge_type, key) = (transaction.edge_type(EDGE_TYPE)?, transaction.property_key(PROPERTY)?);
                transaction.create_edges(&NewEdges {
                    edge_type,
                    sources: &sources[range.clone()],
                    targets: &targets[range.clone()],
                    keys: &[key],
                    properties: &[integers(weights[range].to_vec())],
                })?;
                transaction.commit()?;
                commits += 1;
            }
            Ok(commits)
        })?;
        let edges = sources.len() as u64;
        let counts = Counts { edges, properties: edges, passes: commits, ..Counts::default() };
        Ok(Call { ns, rows: edges, checksum: 0, counts: with(counts, &metered) })
    }
}

fn no_copy() -> Error {
    error!(Internal, "a store is written before it was copied")
}

/// The nodes of a store that was loaded, by their keys.
fn found(database: &Database, nodes: usize) -> Result<Vec<NodeId>> {
    let view = database.store().read()?;
    let (label, key) = (view.schema().label(LABEL), view.schema().property_key(KEY));
    let (label, key) = label.zip(key).ok_or_else(|| error!(Internal, "a store was loaded without keys"))?;
    let keys = integers((0..nodes as i64).collect());
    let found = model::store::nodes_of(&view.lookup(label, key, &keys)?);
    found.into_iter().map(|node| node.ok_or_else(|| error!(Internal, "a node that was loaded is not there"))).collect()
}
