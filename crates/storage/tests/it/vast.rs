//! A store whose files of every kind have many blocks, and questions each of which reads one column or list of them.
//!
//! Labels are mixed, columns have every encoding and nulls, and a second flush leaves node runs, patches and runs of indexes
//! over the files that a compaction made. So damage to one block is met by few questions, and none of them reads the block
//! for another reason.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use model::batch::EdgeRuns;
use model::platform::Platform;
use model::store::{EdgeIds, Expand, NewEdges, NewNodes, NodeScan, RunScan};
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time, Zone};
use model::{
    Column, ColumnData, Constraint, Direction, EdgeBatch, EdgeId, GraphStore, Index, IndexBatch, IndexScan, Interrupt,
    KeyOrder, KeyRange, LabelId, NodeBatch, NodeId, ReadView, Result, Subject, Value, WriteTransaction,
};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, NodeRows};
use storage::version::Version;
use storage::{Durability, Maintenance, NativeStore, OpenOptions};
use testing::random::SeededRandom;
use testing::simulation::MemoryDisk;

pub(crate) const PATH: &str = "/stores/vast.knot";
/// Nodes that are made first.
pub(crate) const NODES: usize = 24_000;
const LABELS: [&str; 6] = ["P", "A", "B", "C", "D", "E"];
/// Makes the value of a node with that number.
type MakeValue = fn(&mut SeededRandom, i64) -> Value;
/// Property keys of nodes and how their values are made; the first is unique.
const KEYS: [(&str, MakeValue); 15] = [
    ("uid", |_, at| Value::Int(at)),
    ("int", |random, _| Value::Int(random.next_u64() as i64 >> 20)),
    ("date", |random, _| Value::Date(Date(random.below(40_000) as i64))),
    ("float", |random, _| Value::Float(random.unit())),
    ("short", |random, _| Value::Float(f64::from(random.unit() as f32))),
    ("one", |_, _| Value::Float(2.5)),
    ("bool", |random, _| Value::Bool(random.chance(50))),
    ("text", |random, _| Value::string(&format!("text {}", random.next_u64()))),
    ("word", |random, _| Value::string(&format!("word {}", random.below(300)))),
    (
        "mixed",
        |random, at| if at % 2 == 0 { Value::Int(at) } else { Value::list(vec![Value::Int(random.below(9) as i64)]) },
    ),
    ("clock", |random, _| Value::LocalTime(LocalTime(random.below(86_400_000_000_000) as i64))),
    ("moment", |random, _| Value::LocalDateTime(LocalDateTime::of_micros(random.next_u64() as i64 >> 8))),
    ("time", |random, _| {
        Value::Time(Time { local: LocalTime(random.below(86_400) as i64 * 1_000_000_000), offset: 3_600 })
    }),
    ("zoned", |random, _| {
        let zone = Zone::parse(["Europe/Stockholm", "+01:00"][random.index(2)]).unwrap();
        Value::DateTime(DateTime { seconds: random.below(1 << 40) as i64, nanosecond: 7, zone })
    }),
    ("span", |random, _| {
        Value::Duration(Duration {
            months: random.below(50) as i64,
            days: 3,
            seconds: random.below(999) as i64,
            nanosecond: 1,
        })
    }),
];

pub(crate) fn options() -> OpenOptions {
    OpenOptions {
        durability: Durability::Off,
        maintenance: Maintenance::Inline,
        memory_bytes_max: Some(256 << 20),
        memtable_bytes_max: 200 << 20,
        ..OpenOptions::create()
    }
}

/// Makes the store, and closes it.
pub(crate) fn make(platform: &Platform, path: &Path, seed: u64) {
    make_of(platform, path, seed, NODES);
}

/// The same with `count` nodes.
pub(crate) fn make_of(platform: &Platform, path: &Path, seed: u64, count: usize) {
    make_with(platform, path, seed, count, &mut |_| {});
}

/// The same; calls `each` whenever the store holds something else.
pub(crate) fn make_with(platform: &Platform, path: &Path, seed: u64, count: usize, each: &mut dyn FnMut(&NativeStore)) {
    let mut random = SeededRandom::new(seed);
    let store = NativeStore::open(path, options(), platform.clone()).unwrap();
    load_nodes(&store, count, &mut random);
    let nodes: Vec<NodeId> = (0..count as u64).map(NodeId).collect();
    let mut commit = |change: &mut dyn FnMut(&mut dyn WriteTransaction)| {
        let mut transaction = store.write().unwrap();
        change(&mut *transaction);
        transaction.commit().unwrap();
        each(&store);
    };
    commit(&mut |transaction| {
        make_rules(transaction);
        make_edges(transaction, &nodes[..count - count / 48], &mut random);
    });
    store.checkpoint(&Interrupt::new()).unwrap();
    store.compact(&Interrupt::new()).unwrap();
    commit(&mut |transaction| {
        change_nodes(transaction, &nodes, &mut random);
        change_edges(transaction, &nodes, &mut random);
    });
    store.checkpoint(&Interrupt::new()).unwrap();
    commit(&mut |transaction| write_log(transaction, &nodes));
}

/// Writes operations that stay in the log, of most kinds.
fn write_log(transaction: &mut dyn WriteTransaction, nodes: &[NodeId]) {
    let keys = ["uid", "int", "weight"].map(|name| transaction.property_key(name).unwrap());
    for part in nodes[..nodes.len() / 12].chunks(100) {
        transaction.set_node_properties(part, keys[1], &Column::constant(&Value::Int(-1), part.len())).unwrap();
    }
    let labels = labels_of(transaction);
    let uids = Column::new(ColumnData::Int((0..5).map(|at| nodes.len() as i64 + at).collect()));
    let properties = [uids, Column::constant(&Value::Int(5), 5)];
    let new = NewNodes { count: 5, labels: &labels[..2], keys: &keys[..2], properties: &properties };
    let made = transaction.create_nodes(&new).unwrap();
    transaction.add_labels(&nodes[..3], &labels[..3]).unwrap();
    transaction.remove_labels(&made[..2], &labels[1..2]).unwrap();
    let edge_type = transaction.edge_type("T").unwrap();
    let weights = Column::constant(&Value::Int(77), 4);
    let new = NewEdges {
        edge_type,
        sources: &made[..4],
        targets: &made[1..],
        keys: &keys[2..],
        properties: std::slice::from_ref(&weights),
    };
    let edges = transaction.create_edges(&new).unwrap();
    transaction.set_edge_properties(&edges[..1], keys[2], &Column::constant(&Value::Int(78), 1)).unwrap();
    transaction.delete_edges(&edges[3..]).unwrap();
    let expand = Expand { edge_ids: EdgeIds::Include, ..Expand::default() };
    let mut batch = EdgeBatch::default();
    transaction.view().expand(&nodes[..9], &expand).unwrap().next(&mut batch).unwrap();
    let old: Vec<EdgeId> = batch.edges.iter().take(4).copied().collect();
    transaction.set_edge_properties(&old, keys[2], &Column::constant(&Value::Int(79), old.len())).unwrap();
    transaction.delete_edges(&old[..1]).unwrap();
    transaction.delete_nodes(&made[4..]).unwrap();
}

/// The same on a new disk in memory.
pub(crate) fn disk(seed: u64) -> MemoryDisk {
    let disk = MemoryDisk::new();
    make(&testing::simulation::platform(Arc::new(disk.clone()), seed), Path::new(PATH), seed);
    disk
}

fn labels_of(transaction: &mut dyn WriteTransaction) -> Vec<LabelId> {
    LABELS.iter().map(|name| transaction.label(name).unwrap()).collect()
}

/// Nodes in segments, as an import makes them: each few with other labels.
fn load_nodes(store: &NativeStore, count: usize, random: &mut SeededRandom) {
    let mut made = 0;
    let interrupt = Interrupt::new();
    let build = |base: &Arc<Version>| {
        let mut load = BulkLoad::new(base, BuildConfig::default(), &interrupt)?;
        while made < count {
            let part = made..(made + 37).min(count);
            let others: Vec<&str> = LABELS[1..].iter().copied().filter(|_| random.chance(40)).collect();
            let labels = [&LABELS[..1], &others].concat();
            let names = KEYS.map(|(name, _)| name);
            let columns: Vec<Column> = (0..KEYS.len()).map(|key| values(key, part.clone(), random)).collect();
            let origin = part.start as u64;
            let rows =
                NodeRows { count: part.len(), labels: &labels, key: None, names: &names, columns: &columns, origin };
            load.push_nodes(&rows)?;
            made = part.end;
        }
        Ok((load.finish()?, ()))
    };
    store.rebuild(&Interrupt::new(), build).unwrap();
}

/// Values of a key for some nodes, by their numbers.
fn values(key: usize, nodes: Range<usize>, random: &mut SeededRandom) -> Column {
    let value = |at: usize| {
        let is_null = key > 0 && random.chance(12);
        if is_null { Value::Null } else { KEYS[key].1(random, at as i64) }
    };
    Column::from_values(&nodes.map(value).collect::<Vec<_>>())
}

fn make_rules(transaction: &mut dyn WriteTransaction) {
    let label = transaction.label(LABELS[0]).unwrap();
    let keys = ["uid", "int"].map(|name| transaction.property_key(name).unwrap());
    let interrupt = Interrupt::new();
    transaction.create_constraint(Constraint::unique("uids", label, keys[0]), &interrupt).unwrap();
    let index = Index { name: "ints".into(), subject: Subject::Label(label), keys: vec![keys[1]] };
    transaction.create_index(index, &interrupt).unwrap();
}

fn mix_labels(transaction: &mut dyn WriteTransaction, nodes: &[NodeId], labels: &[LabelId], random: &mut SeededRandom) {
    for &label in &labels[1..] {
        let some: Vec<NodeId> = nodes.iter().copied().filter(|_| random.chance(40)).collect();
        transaction.add_labels(&some, &[label]).unwrap();
        let others: Vec<NodeId> = nodes.iter().copied().filter(|_| random.chance(20)).collect();
        transaction.remove_labels(&others, &[label]).unwrap();
    }
}

fn make_edges(transaction: &mut dyn WriteTransaction, nodes: &[NodeId], random: &mut SeededRandom) {
    let key = transaction.property_key("weight").unwrap();
    let name = transaction.property_key("label").unwrap();
    for kind in ["T", "U"] {
        let edge_type = transaction.edge_type(kind).unwrap();
        let mut sources: Vec<NodeId> = nodes.iter().chain(nodes).copied().collect();
        sources.sort_unstable();
        let targets: Vec<NodeId> = sources.iter().map(|_| *random.pick(nodes)).collect();
        let weights = Column::new(ColumnData::Int(sources.iter().map(|_| random.next_u64() as i64 >> 16).collect()));
        let names: Vec<Value> = sources.iter().map(|_| Value::string(&format!("edge {}", random.next_u64()))).collect();
        let properties = [weights, Column::from_values(&names)];
        let new =
            NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[key, name], properties: &properties };
        transaction.create_edges(&new).unwrap();
    }
}

fn change_nodes(transaction: &mut dyn WriteTransaction, nodes: &[NodeId], random: &mut SeededRandom) {
    let labels = labels_of(transaction);
    let living = nodes.len() - nodes.len() / 80;
    transaction.delete_nodes(&nodes[living..]).unwrap();
    let changed: Vec<NodeId> = nodes[..living].iter().copied().filter(|_| random.chance(60)).collect();
    mix_labels(transaction, &changed, &labels, random);
    for (name, make) in &KEYS[1..] {
        let key = transaction.property_key(name).unwrap();
        let values: Vec<Value> =
            changed.iter().map(|_| if random.chance(9) { Value::Null } else { make(random, 1) }).collect();
        transaction.set_node_properties(&changed, key, &Column::from_values(&values)).unwrap();
    }
    let uid = transaction.property_key("uid").unwrap();
    let moved: Vec<Value> = changed.iter().map(|node| Value::Int(node.0 as i64 + 1_000_000)).collect();
    transaction.set_node_properties(&changed, uid, &Column::from_values(&moved)).unwrap();
}

fn change_edges(transaction: &mut dyn WriteTransaction, nodes: &[NodeId], random: &mut SeededRandom) {
    let key = transaction.property_key("weight").unwrap();
    let expand = Expand { edge_ids: EdgeIds::Include, ..Expand::default() };
    let mut edges: Vec<EdgeId> = Vec::new();
    let (view, mut batch) = (transaction.view(), EdgeBatch::default());
    let mut cursor = view.expand(&nodes[..nodes.len() - nodes.len() / 48], &expand).unwrap();
    while cursor.next(&mut batch).unwrap() {
        edges.extend_from_slice(&batch.edges);
    }
    drop(cursor);
    // More than that would be merged into the partition at once.
    edges.retain(|_| random.chance(6));
    let (gone, changed) = edges.split_at(edges.len() / 3);
    transaction.delete_edges(gone).unwrap();
    let weights = Column::new(ColumnData::Int(changed.iter().map(|_| random.next_u64() as i64 >> 16).collect()));
    transaction.set_edge_properties(changed, key, &weights).unwrap();
}

/// A question and how it is answered: by a number that tells answers apart.
pub(crate) type Question = (String, Box<dyn Fn(&dyn ReadView) -> Result<u64>>);

/// Questions each of which reads one column or list.
pub(crate) fn questions(seed: u64) -> Vec<Question> {
    let mut all: Vec<Question> = vec![
        ("labels".into(), Box::new(|view| each_part(view, |part| hash(&view.node_labels(part)?)))),
        ("existence".into(), Box::new(|view| each_part(view, |part| hash(view.nodes_exist(part)?.words())))),
        ("key index".into(), Box::new(move |view| look_up(view, seed))),
        ("ordered index".into(), Box::new(scan_index)),
    ];
    for name in LABELS {
        all.push((
            format!("nodes of {name}"),
            Box::new(move |view| {
                scan(
                    view,
                    NodeScan { labels: vec![view.schema().label(name).unwrap()], keys: vec![], ..NodeScan::default() },
                )
            }),
        ));
        all.push((
            format!("has {name}"),
            Box::new(move |view| {
                let label = view.schema().label(name).unwrap();
                each_part(view, |part| hash(view.has_label(part, label)?.words()))
            }),
        ));
    }
    for (name, _) in KEYS {
        all.push((
            format!("all {name}"),
            Box::new(move |view| {
                let key = view.schema().property_key(name).unwrap();
                scan(view, NodeScan { keys: vec![key], ..NodeScan::default() })
            }),
        ));
        all.push((
            format!("some {name}"),
            Box::new(move |view| {
                let key = view.schema().property_key(name).unwrap();
                let mut random = SeededRandom::new(seed);
                let nodes: Vec<NodeId> = (0..600).map(|_| NodeId(random.below(view.node_id_bound()))).collect();
                hash_columns(&view.node_properties(&nodes, &[key])?)
            }),
        ));
    }
    for direction in [Direction::Out, Direction::In] {
        for key in [None, Some("weight"), Some("label")] {
            all.push((format!("edges {direction:?} {key:?}"), Box::new(move |view| expand(view, direction, key))));
        }
        all.push((
            format!("degrees {direction:?}"),
            Box::new(move |view| each_part(view, |part| hash(&view.degrees(part, direction, None)?))),
        ));
        all.push((format!("runs {direction:?}"), Box::new(move |view| runs(view, direction))));
    }
    all
}

fn hash(answer: &(impl Hash + ?Sized)) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    answer.hash(&mut hasher);
    Ok(hasher.finish())
}

fn hash_columns(columns: &[Column]) -> Result<u64> {
    hash(&columns.iter().flat_map(|column| column.values()).collect::<Vec<_>>())
}

fn each_part(view: &dyn ReadView, answer: impl Fn(&[NodeId]) -> Result<u64>) -> Result<u64> {
    // A bound that is damaged may be far behind the last node.
    let nodes: Vec<NodeId> = (0..view.node_id_bound().min(2 * NODES as u64)).map(NodeId).collect();
    let answers: Vec<u64> = nodes.chunks(3_000).map(answer).collect::<Result<_>>()?;
    hash(&answers)
}

fn scan(view: &dyn ReadView, scan: NodeScan) -> Result<u64> {
    let (mut cursor, mut batch, mut answers) = (view.scan(&scan)?, NodeBatch::default(), Vec::new());
    while cursor.next(&mut batch)? {
        answers.push((hash(&batch.nodes)?, hash_columns(&batch.properties)?));
    }
    hash(&answers)
}

fn look_up(view: &dyn ReadView, seed: u64) -> Result<u64> {
    let (label, key) = (view.schema().label("P").unwrap(), view.schema().property_key("uid").unwrap());
    let mut random = SeededRandom::new(seed);
    let uid = |random: &mut SeededRandom| {
        random.below(view.node_id_bound() + 50) as i64 + if random.chance(50) { 1_000_000 } else { 0 }
    };
    let uids = Column::new(ColumnData::Int((0..3_000).map(|_| uid(&mut random)).collect()));
    hash_columns(&[view.lookup(label, key, &uids)?])
}

fn scan_index(view: &dyn ReadView) -> Result<u64> {
    let index = view.schema().indexes[0].clone();
    let scan = IndexScan { index, equal: vec![], rows: 1, range: KeyRange::All, order: KeyOrder::Ascending };
    let (mut cursor, mut batch, mut answers) = (view.index_scan(&scan)?, IndexBatch::default(), Vec::new());
    while cursor.next(&mut batch)? {
        answers.push(hash(&batch.nodes)?);
    }
    hash(&answers)
}

fn expand(view: &dyn ReadView, direction: Direction, key: Option<&str>) -> Result<u64> {
    let keys = key.map(|key| view.schema().property_key(key).unwrap()).into_iter().collect();
    let expand = Expand { direction, keys, ..Expand::default() };
    each_part(view, |part| {
        let (mut cursor, mut batch, mut answers) = (view.expand(part, &expand)?, EdgeBatch::default(), Vec::new());
        while cursor.next(&mut batch)? {
            answers.push((hash(&batch.inputs)?, hash(&batch.neighbors)?, hash_columns(&batch.properties)?));
        }
        hash(&answers)
    })
}

fn runs(view: &dyn ReadView, direction: Direction) -> Result<u64> {
    let partitions = view.edge_partitions().unwrap();
    let scan = RunScan { direction, ..RunScan::default() };
    // In any order: merges change in which files edges lie.
    let mut sum = 0u64;
    for partition in 0..partitions.count() {
        let (mut cursor, mut runs) = (partitions.runs(partition, &scan)?, EdgeRuns::default());
        while cursor.next(&mut runs)? {
            for (node, neighbors) in runs.runs() {
                for neighbor in neighbors {
                    sum = sum.wrapping_add(hash(&(runs.edge_type, node, *neighbor))?);
                }
            }
        }
    }
    Ok(sum)
}
