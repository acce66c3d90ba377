//! Everything that reads or writes a store, on one whose contents may be anything.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use model::batch::{EdgeBlock, EdgeRuns};
use model::platform::Platform;
use model::store::{Count, EdgeBlockCursor, EdgeIds, EdgeStream, Expand, NewEdges, NewNodes, NodeScan, RunScan};
use model::{
    Column, Direction, EdgeBatch, EdgeRange, EdgeTop, EdgeValue, ErrorCode, GraphStore, IndexBatch, IndexScan,
    Interrupt, KeyOrder, KeyRange, NodeBatch, NodeId, PropertyKeyId, ReadView, Result, Value,
};
use storage::backup::{backup, restore};
use storage::check::check;
use storage::format::EDGE_NUMBER_LIMIT;
use storage::recover::recover;
use storage::{NativeStore, OpenOptions};
use testing::simulation::{MemoryDisk, platform};

use crate::vast;

/// Nodes that are asked for one by one.
const NODES: u64 = 1_000;
/// Rows of one answer that are read: a wrong count must not make the test long.
const ROWS: usize = 20_000;
/// Edges that a store can number, and those that a log adds at the most.
const EDGES: u64 = EDGE_NUMBER_LIMIT + (1 << 32);
/// Memory that the store and what reads it may use.
pub const LIMIT: usize = 32 << 20;

/// Number of answers of each kind, and of errors.
pub type Outcomes = BTreeMap<&'static str, u64>;

struct Tally(Outcomes);

impl Tally {
    fn add<T>(&mut self, what: &'static str, outcome: Result<T>) -> Option<T> {
        match outcome {
            Ok(answer) => {
                *self.0.entry(what).or_insert(0) += 1;
                Some(answer)
            }
            Err(error) => {
                assert!(error.code() != ErrorCode::Internal, "{what}: {error}");
                // Nobody asked for anything yet, so that nothing but the files can be wrong.
                let is_of_files = matches!(
                    error.code(),
                    ErrorCode::Corrupt
                        | ErrorCode::Limit
                        | ErrorCode::Version
                        | ErrorCode::NotAStore
                        | ErrorCode::Unsupported
                );
                let is_backup = error.code() == ErrorCode::ReadOnly && what == "openings to write";
                assert!(is_of_files || is_backup || !what.starts_with("openings"), "{what}: {error}");
                *self.0.entry("errors").or_insert(0) += 1;
                None
            }
        }
    }
}

/// Does everything with the store at a path; each change on a copy of the disk.
pub fn run(disk: &MemoryDisk, path: &Path) -> Outcomes {
    let (mut tally, interrupt) = (Tally(Outcomes::new()), Interrupt::new());
    let on = |disk: &MemoryDisk| platform(Arc::new(disk.clone()), 7);
    tally.add("checks", check(&on(disk), path, &interrupt));
    if let Some(store) = tally.add("openings", open(path, OpenOptions::read_only(), &on(disk)))
        && let Some(view) = tally.add("views", store.read())
    {
        ask(&*view, &mut tally);
    }
    let written = disk.copy();
    if let Some(store) = tally.add("openings to write", open(path, vast::options(), &on(&written))) {
        tally.add("writes", write(&store));
        tally.add("checkpoints", store.checkpoint(&interrupt));
        tally.add("merges", store.compact(&interrupt));
        if let Some(view) = tally.add("views", store.read()) {
            ask(&*view, &mut tally);
        }
    }
    let (copied, copy) = (disk.copy(), Path::new("/copies/a"));
    copied.put_directory(Path::new("/copies"));
    tally.add("recoveries", recover(&on(&copied), path, Path::new("/copies/new.knot"), &interrupt));
    tally.add("restores", restore(&on(&copied), path, Path::new("/copies/restored.knot"), &interrupt));
    tally.add("backups", backup(&on(&copied), path, copy, None, &interrupt));
    tally.0
}

fn open(path: &Path, options: OpenOptions, platform: &Platform) -> Result<NativeStore> {
    NativeStore::open(path, OpenOptions { memory_bytes_max: Some(LIMIT), ..options }, platform.clone())
}

/// Asks a view everything that it answers.
fn ask(view: &dyn ReadView, tally: &mut Tally) {
    let schema = view.schema();
    let keys: Vec<PropertyKeyId> = (0..schema.property_keys.len() as u32).map(PropertyKeyId).collect();
    let bound = view.node_id_bound();
    expect_counts(view);
    let nodes: Vec<NodeId> = (0..bound.min(NODES)).chain(bound.saturating_sub(3)..bound + 2).map(NodeId).collect();
    let labels: Vec<model::LabelId> = (0..schema.labels.len() as u32).map(model::LabelId).collect();
    for label in [None].into_iter().chain(labels.iter().copied().map(Some)) {
        let scan = NodeScan { labels: label.into_iter().collect(), keys: keys.clone(), ..NodeScan::default() };
        tally.add("scans", scan_nodes(view, &scan));
        tally.add("counts", view.count(&Count::Nodes(scan.labels.clone())));
        for &key in &keys {
            let sketches = view.estimates().sketches.clone();
            let value = sketches.as_deref().and_then(|all| all.values.get(&(label?, key)));
            tally.add("estimates", Ok(value.map(|value| (value.equal_share(), value.below_share(1.0)))));
        }
    }
    for part in nodes.chunks(400) {
        tally.add("labels", view.node_labels(part));
        tally.add("existence", view.nodes_exist(part));
        let properties = tally.add("properties", view.node_properties(part, &keys));
        properties.iter().flatten().for_each(read_column);
        tally.add("all properties", view.all_node_properties(part));
        tally.add("loops", view.loops(part, None));
        labels.iter().for_each(|&label| drop(tally.add("labels", view.has_label(part, label))));
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            tally.add("degrees", view.degrees(part, direction, None));
            ask_edges(view, part, direction, &keys, tally);
        }
    }
    ask_indexes(view, tally);
    ask_partitions(view, &keys, tally);
}

fn scan_nodes(view: &dyn ReadView, scan: &NodeScan) -> Result<()> {
    let (mut cursor, mut batch, mut rows) = (view.scan(scan)?, NodeBatch::default(), 0);
    while rows < ROWS && cursor.next(&mut batch)? {
        rows += batch.nodes.len();
        expect_made(view, batch.nodes.iter().map(|node| node.0));
        batch.properties.iter().for_each(read_column);
    }
    Ok(())
}

/// Reads, prints, compares and hashes every value; no value of time may be out of its bounds.
fn read_column(column: &Column) {
    column.check_time().expect("a value is given out that cannot be written");
    let (mut before, mut hasher) = (Value::Null, DefaultHasher::new());
    for value in column.values() {
        std::hint::black_box((value.to_string(), value.cmp(&before), value.compare(&before)));
        value.hash(&mut hasher);
        before = value;
    }
    std::hint::black_box(hasher.finish());
}

/// Nodes that edges lead to were made: a reader that keeps state for each node has a place for it.
fn expect_made(view: &dyn ReadView, mut nodes: impl Iterator<Item = u64>) {
    let bound = view.node_id_bound();
    assert!(nodes.all(|node| node < bound), "an edge leads to a node that was never made");
}

/// Counts are no more than there can be: planners and algorithms multiply them by bytes, and reserve by them.
fn expect_counts(view: &dyn ReadView) {
    let statistics = view.statistics();
    let nodes = statistics.nodes_by_label.values().copied().chain([statistics.nodes]).max().unwrap_or(0);
    let edges = statistics.edges_by_type.values().copied().chain([statistics.edges]).max().unwrap_or(0);
    assert!(nodes <= view.node_id_bound(), "{nodes} nodes are more than were made");
    assert!(edges <= EDGES, "{edges} edges are more than can be numbered");
}

/// Expands nodes in every way, and asks for the edges that are found.
fn ask_edges(view: &dyn ReadView, nodes: &[NodeId], direction: Direction, keys: &[PropertyKeyId], tally: &mut Tally) {
    let all = Expand { direction, keys: keys.to_vec(), edge_ids: EdgeIds::Include, ..Expand::default() };
    let Some(edges) = tally.add("expansions", expand(view, nodes, &all)) else { return };
    let ids: Vec<_> = edges.iter().map(|edge| edge.id).collect();
    let properties = tally.add("edges", view.edge_properties(&ids, keys));
    properties.iter().flatten().for_each(read_column);
    tally.add("edges", view.edges_exist(&ids));
    tally.add("edges", view.edge_numbers(&ids));
    tally.add("edges", view.all_edge_properties(&ids));
    if let Some(names) = tally.add("element ids", view.element_ids(&edges)) {
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        tally.add("element ids", view.find_edges(&names));
    }
    tally.add("expansions", expand(view, nodes, &Expand { direction, ..Expand::default() }));
    for edge_type in (0..view.schema().edge_types.len() as u32).map(model::EdgeTypeId) {
        let sorted = view.schema().sort_key(edge_type).to_vec();
        let by = if sorted.is_empty() { keys.iter().copied().take(1).collect() } else { sorted };
        let Some(&key) = by.first() else { continue };
        let one = Expand { direction, types: Some(vec![edge_type]), ..Expand::default() };
        let top = EdgeTop { keys: by, descending: true, limit: 2 };
        tally.add("chosen edges", expand(view, nodes, &Expand { top: Some(top), ..one.clone() }));
        let upper = Bound::Included(Value::Int(50));
        let range = EdgeRange { key, lower: Bound::Unbounded, upper };
        tally.add("chosen edges", expand(view, nodes, &Expand { ranges: vec![range], ..one }));
    }
}

/// The edges of nodes.
pub fn expand(view: &dyn ReadView, nodes: &[NodeId], expand: &Expand) -> Result<Vec<EdgeValue>> {
    let (mut cursor, mut batch) = (view.expand(nodes, expand)?, EdgeBatch::default());
    let (mut edges, mut rows) = (Vec::new(), 0);
    while rows < ROWS && cursor.next(&mut batch)? {
        rows += batch.neighbors.len();
        expect_made(view, batch.neighbors.iter().map(|node| node.0));
        batch.properties.iter().for_each(read_column);
        for (row, &id) in batch.edges.iter().enumerate() {
            let (from, to) = (nodes[batch.inputs[row] as usize], batch.neighbors[row]);
            let is_in = expand.direction == Direction::In || batch.reversed.get(row).copied().unwrap_or(false);
            let (source, target) = if is_in { (to, from) } else { (from, to) };
            edges.push(EdgeValue { id, source, target, edge_type: batch.types[row] });
        }
    }
    Ok(edges)
}

fn ask_indexes(view: &dyn ReadView, tally: &mut Tally) {
    let schema = view.schema();
    let values: Vec<Value> =
        (0..600).map(|at| if at < 500 { at } else { at + 1_000_000 - 500 }).map(Value::Int).collect();
    for (label, key) in schema.constraints.iter().filter_map(|constraint| constraint.lookup_key()) {
        tally.add("lookups", view.lookup(label, key, &Column::from_values(&values)));
    }
    let made = schema.constraints.iter().filter_map(|constraint| constraint.index());
    for index in schema.indexes.iter().cloned().chain(made) {
        for order in [KeyOrder::Ascending, KeyOrder::Descending] {
            let between = KeyRange::Between(Bound::Excluded(Value::Int(3)), Bound::Unbounded);
            for range in [KeyRange::All, between, KeyRange::StartsWith("te".into())] {
                let scan = IndexScan { index: index.clone(), equal: vec![], rows: 1, range, order };
                tally.add("index scans", scan_index(view, &scan));
            }
        }
        let equal = vec![Column::from_values(&values)];
        let range = KeyRange::All;
        let scan = IndexScan { index, equal, rows: values.len(), range, order: KeyOrder::Ascending };
        tally.add("index scans", scan_index(view, &scan));
    }
}

fn scan_index(view: &dyn ReadView, scan: &IndexScan) -> Result<()> {
    let (mut cursor, mut batch, mut rows) = (view.index_scan(scan)?, IndexBatch::default(), 0);
    while rows < ROWS && cursor.next(&mut batch)? {
        rows += batch.inputs.len().max(1);
    }
    Ok(())
}

fn ask_partitions(view: &dyn ReadView, keys: &[PropertyKeyId], tally: &mut Tally) {
    let stream = EdgeStream { keys: keys.to_vec(), edge_ids: EdgeIds::Include, ..EdgeStream::default() };
    tally.add("streams", stream_all(view, &stream));
    let Some(partitions) = view.edge_partitions() else { return };
    for partition in 0..partitions.count() {
        tally.add("counts", Ok(partitions.edge_count(partition, None)));
        tally.add("streams", partitions.stream(partition, &stream).and_then(|cursor| read_blocks(view, cursor)));
        for direction in [Direction::Out, Direction::In] {
            let scan = RunScan { direction, ..RunScan::default() };
            let read = || {
                let (mut cursor, mut runs, mut rows) = (partitions.runs(partition, &scan)?, EdgeRuns::default(), 0);
                while rows < ROWS && cursor.next(&mut runs)? {
                    rows += runs.runs().map(|(_, neighbors)| neighbors.len()).sum::<usize>().max(1);
                    expect_made(view, runs.nodes.iter().chain(&runs.neighbors).map(|&node| node.into()));
                }
                Ok(())
            };
            tally.add("runs", read());
        }
    }
}

fn stream_all(view: &dyn ReadView, stream: &EdgeStream) -> Result<()> {
    view.all_edges(stream)?.map_or(Ok(()), |cursor| read_blocks(view, cursor))
}

fn read_blocks(view: &dyn ReadView, mut cursor: Box<dyn EdgeBlockCursor + '_>) -> Result<()> {
    let (mut block, mut rows) = (EdgeBlock::default(), 0);
    while rows < ROWS && cursor.next(&mut block)? {
        rows += block.sources.len().max(1);
        expect_made(view, block.sources.iter().chain(&block.targets).map(|node| node.0));
        block.properties.iter().for_each(read_column);
    }
    Ok(())
}

/// Changes and deletes what is there, and adds to it.
fn write(store: &NativeStore) -> Result<()> {
    let mut transaction = store.write()?;
    let label = transaction.label("P")?;
    let keys = [transaction.property_key("int")?, transaction.property_key("weight")?];
    let edge_type = transaction.edge_type("T")?;
    let old: Vec<NodeId> = (0..20).map(NodeId).collect();
    let exist = transaction.view().nodes_exist(&old)?;
    let old: Vec<NodeId> = old.into_iter().enumerate().filter(|&(at, _)| exist.get(at)).map(|(_, node)| node).collect();
    let new = NewNodes {
        count: 3,
        labels: &[label],
        keys: &keys[..1],
        properties: &[Column::constant(&Value::Int(1_000_000_007), 3)],
    };
    let made = transaction.create_nodes(&new)?;
    let targets: Vec<NodeId> = old.iter().map(|_| made[0]).collect();
    let properties = [Column::constant(&Value::Int(4), old.len())];
    let new = NewEdges { edge_type, sources: &old, targets: &targets, keys: &keys[1..], properties: &properties };
    transaction.create_edges(&new)?;
    transaction.set_node_properties(&old, keys[0], &Column::constant(&Value::Int(6), old.len()))?;
    transaction.add_labels(&old, &[label])?;
    for direction in [Direction::Out, Direction::In] {
        let all = Expand { direction, edge_ids: EdgeIds::Include, ..Expand::default() };
        let edges = expand(transaction.view(), &old[..old.len() / 2], &all)?;
        let mut ids: Vec<_> = edges.iter().map(|edge| edge.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let (changed, deleted) = ids.split_at(ids.len() / 2);
        transaction.set_edge_properties(changed, keys[1], &Column::constant(&Value::Int(2), changed.len()))?;
        transaction.delete_edges(deleted)?;
    }
    transaction.commit()
}
