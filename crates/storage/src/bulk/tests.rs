//! Builds and rewrites of random graphs against a model that anyone can read.

mod failing_disks;
pub(crate) mod model_graph;

use std::path::Path;
use std::sync::Arc;

use model::{Column, EdgeId, Interrupt, NodeId, PropertyKeyId, Result, Value};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{MemoryDisk, platform};

use crate::build::BuildConfig;

use super::buffer::EdgeBuffer;
use super::{BulkLoad, Changes, EdgePropertyChange, EdgeRows, KeyRows, NewEdgeRows, NodeChange, NodeRows};
use super::{OnDuplicate, rewrite};
use crate::check::check;
use crate::codec::hash::mix;
use crate::partition::numbers::NumberForm;
use crate::version::Version;
use model_graph::{ModelEdge, ModelGraph, ModelNode, assert_same, edges_of, random_value};

const LABELS: [&str; 3] = ["A", "B", "C"];
const TYPES: [&str; 3] = ["T", "U", "V"];
const KEYS: [&str; 4] = ["p", "q", "r", "s"];

pub(crate) fn empty_store(seed: u64) -> Arc<Version> {
    empty_store_on(Arc::new(MemoryDisk::new()), seed)
}

fn empty_store_on(disk: Arc<dyn model::platform::Disk>, seed: u64) -> Arc<Version> {
    let platform = platform(disk, seed);
    let directory = Path::new("store.knot");
    platform.disk.create_directory(directory).unwrap();
    Version::create(&platform, directory).unwrap()
}

fn configs() -> [BuildConfig; 3] {
    let usual = BuildConfig { memory_bytes: 64 << 20, ..BuildConfig::default() };
    [
        usual.clone(),
        // Small enough for many runs and several passes over the targets.
        BuildConfig { memory_bytes: 1 << 19, threads: 1, ..usual.clone() },
        BuildConfig { memory_bytes: 1 << 20, partition_edges_max: 3_000, ..usual },
    ]
}

/// Loads nodes and edges in batches; keys are `key_of(node)`.
pub(crate) fn load(
    base: &Arc<Version>,
    config: BuildConfig,
    graph: &mut ModelGraph,
    random: &mut SeededRandom,
) -> Arc<Version> {
    let mut load = BulkLoad::unchecked(base, config, &Interrupt::new());
    let old = graph.nodes.len();
    let count = 200 + random.index(3_000);
    for batch in 0..3 {
        let labels: Vec<&str> = LABELS.iter().copied().take(1 + batch).collect();
        let names = &KEYS[..2 + batch % 2];
        let rows: Vec<Vec<Value>> =
            (0..count).map(|_| names.iter().map(|name| random_value(random, name, batch)).collect()).collect();
        let columns: Vec<Column> =
            (0..names.len()).map(|at| Column::from_values(rows.iter().map(|row| &row[at]))).collect();
        let first = graph.nodes.len();
        let values: Vec<Value> = (first..first + count).map(key_of).collect();
        let values = Column::from_values(&values);
        let key = Some(KeyRows { group: "all", property: Some("id"), values: &values });
        let added =
            load.push_nodes(&NodeRows { count, labels: &labels, key, names, columns: &columns, origin: 0 }).unwrap();
        assert!(added.errors.is_empty(), "{:?}", added.errors);
        for (at, row) in rows.into_iter().enumerate() {
            let mut node = ModelNode {
                is_there: true,
                labels: labels.iter().map(|x| x.to_string()).collect(),
                ..ModelNode::default()
            };
            names.iter().zip(row).for_each(|(name, value)| node.set(name, value));
            node.set("id", key_of(first + at));
            graph.nodes.push(node);
            assert_eq!(added.nodes[at], Some(NodeId((first + at) as u64)));
        }
    }
    if old > 0 {
        load.bind_group("all", "A", "id").unwrap();
    }
    for _ in 0..2 {
        let mut loader = load.edge_loader().unwrap();
        for _ in 0..6 {
            let edge_type = *random.pick(&TYPES);
            let names = &KEYS[..random.index(KEYS.len())];
            let edges = random_edges(graph, edge_type, names, random);
            graph.edges.extend(edges.iter().cloned());
            // Changes may have taken label or key from a node: then edges reach it by id alone.
            let has_key = |id: u64| {
                let node = &graph.nodes[id as usize];
                node.labels.iter().any(|label| label == "A") && node.properties.contains_key("id")
            };
            let (keyed, others): (Vec<_>, Vec<_>) =
                edges.into_iter().partition(|edge| has_key(edge.source) && has_key(edge.target));
            push_by_key(&mut loader, edge_type, names, &keyed);
            let ids = |of: fn(&ModelEdge) -> u64| others.iter().map(|edge| NodeId(of(edge))).collect::<Vec<_>>();
            let columns: Vec<Column> = names.iter().map(|name| edges_column(&others, name)).collect();
            loader.push_ids(edge_type, &ids(|edge| edge.source), &ids(|edge| edge.target), names, &columns).unwrap();
        }
        loader.finish().unwrap();
    }
    load.finish().unwrap()
}

fn push_by_key(loader: &mut super::EdgeLoader, edge_type: &str, names: &[&str], edges: &[ModelEdge]) {
    let keys = |of: fn(&ModelEdge) -> u64| {
        Column::from_values(&edges.iter().map(|edge| key_of(of(edge) as usize)).collect::<Vec<_>>())
    };
    let columns: Vec<Column> = names.iter().map(|name| edges_column(edges, name)).collect();
    let rows = EdgeRows {
        edge_type,
        source_group: "all",
        sources: &keys(|edge| edge.source),
        target_group: "all",
        targets: &keys(|edge| edge.target),
        names,
        columns: &columns,
        origin: 0,
    };
    assert_eq!(loader.push(&rows).unwrap(), []);
}

fn key_of(node: usize) -> Value {
    if node % 7 == 3 { Value::string(&format!("k{node}")) } else { Value::Int(node as i64 * 2) }
}

fn edges_column(edges: &[ModelEdge], name: &str) -> Column {
    let values: Vec<Value> = edges.iter().map(|edge| edge.properties.get(name).cloned().unwrap_or_default()).collect();
    Column::from_values(&values)
}

fn random_edges(graph: &ModelGraph, edge_type: &str, names: &[&str], random: &mut SeededRandom) -> Vec<ModelEdge> {
    let alive: Vec<u64> = (0..graph.nodes.len() as u64).filter(|&id| graph.nodes[id as usize].is_there).collect();
    (0..random.index(5_000))
        .map(|_| {
            // A few nodes take many edges, so that there are parallel edges and self-loops.
            let end = |random: &mut SeededRandom| {
                let from = if random.chance(30) { &alive[..alive.len().min(12)] } else { &alive[..] };
                *random.pick(from)
            };
            let mut edge = ModelEdge {
                edge_type: edge_type.to_owned(),
                source: end(random),
                target: end(random),
                ..ModelEdge::default()
            };
            for name in names {
                edge.set(name, random_value(random, name, 0));
            }
            edge
        })
        .collect()
}

/// Changes of every kind, to the model and to the store.
fn change(
    base: &Arc<Version>,
    config: &BuildConfig,
    graph: &mut ModelGraph,
    random: &mut SeededRandom,
) -> Arc<Version> {
    rewrite(base, random_changes(base, graph, random), config, &Interrupt::new()).unwrap()
}

/// Changes of every kind, to the model, and what they are to the store.
pub(crate) fn random_changes(base: &Arc<Version>, graph: &mut ModelGraph, random: &mut SeededRandom) -> Changes {
    let mut schema = base.manifest().schema.clone();
    let mut changes = Changes { wal_number: base.manifest().wal_number, ..Changes::default() };
    let ids: Vec<(EdgeId, ModelEdge)> = edges_of(base);
    let mut kept = Vec::new();
    for (id, mut edge) in ids {
        if random.chance(5) {
            changes.deleted_edges.push(id);
            continue;
        }
        if random.chance(5) {
            let name = *random.pick(&KEYS);
            let value = random_value(random, name, 3);
            edge.set(name, value.clone());
            let key = PropertyKeyId(schema.property_keys.intern(name));
            changes.edge_properties.push(EdgePropertyChange { edge: id, key, value });
        }
        kept.push(edge);
    }
    graph.edges = kept;
    let connected: model::Set<u64> = graph.edges.iter().flat_map(|edge| [edge.source, edge.target]).collect();
    for id in 0..graph.nodes.len() as u64 + 50 {
        let is_new = id >= graph.nodes.len() as u64;
        if is_new {
            graph.nodes.push(ModelNode::default());
        }
        let node = &mut graph.nodes[id as usize];
        let is_kept_out = if is_new { random.chance(20) } else { !random.chance(10) || !node.is_there };
        if is_kept_out {
            continue;
        }
        let mut change = NodeChange { node: NodeId(id), ..NodeChange::default() };
        change.is_deleted = !is_new && !connected.contains(&id) && random.chance(30);
        if change.is_deleted {
            *node = ModelNode::default();
            changes.nodes.push(change);
            continue;
        }
        node.is_there = true;
        if is_new || random.chance(30) {
            node.labels = LABELS.iter().filter(|_| random.chance(50)).map(|x| x.to_string()).collect();
            change.labels = Some(node.labels.iter().map(|name| model::LabelId(schema.labels.intern(name))).collect());
        }
        for name in KEYS {
            if random.chance(40) {
                let value = random_value(random, name, 1);
                node.set(name, value.clone());
                change.properties.push((PropertyKeyId(schema.property_keys.intern(name)), value));
            }
        }
        changes.nodes.push(change);
    }
    for _ in 0..3 {
        let edge_type = TYPES[random.index(TYPES.len())];
        let edges = random_edges(graph, edge_type, &KEYS[..2], random);
        let Some(first) = edges.first() else { continue };
        changes.new_edges.push(NewEdgeRows {
            edge_type: model::EdgeTypeId(schema.edge_types.intern(&first.edge_type)),
            sources: edges.iter().map(|edge| NodeId(edge.source)).collect(),
            targets: edges.iter().map(|edge| NodeId(edge.target)).collect(),
            numbers: (base.edge_numbers().take(edges.len() as u64).unwrap()..).take(edges.len()).collect(),
            keys: KEYS[..2].iter().map(|name| PropertyKeyId(schema.property_keys.intern(name))).collect(),
            columns: KEYS[..2].iter().map(|name| edges_column(&edges, name)).collect(),
        });
        graph.edges.extend(edges);
    }
    changes.node_id_bound = graph.nodes.len() as u64;
    changes.schema = schema;
    changes
}

#[test]
fn builds_and_rewrites_agree_with_the_model() {
    for round in 0..6 {
        let seed = seed_or(41) + round;
        let mut random = SeededRandom::new(seed);
        let config = configs()[round as usize % 3].clone();
        let (mut graph, mut version) = (ModelGraph::default(), empty_store(seed));
        for step in 0..4 {
            let name = format!("seed {seed} step {step}");
            version = if step % 2 == 0 {
                load(&version, config.clone(), &mut graph, &mut random)
            } else {
                change(&version, &config, &mut graph, &mut random)
            };
            assert_same(&version, &graph, &name);
            let reopened = Version::open(version.platform(), version.directory()).unwrap();
            assert_same(&reopened, &graph, &format!("{name} reopened"));
            let problems = check(version.platform(), version.directory(), &Interrupt::new()).unwrap();
            assert!(problems.is_empty(), "{name}: {problems:?}");
            let listed = version.platform().disk.list(version.directory()).unwrap().len();
            assert_eq!(listed, version.manifest().files().count() + 3, "{name}: files left over");
        }
    }
}

#[test]
fn texts_that_come_again_stay_with_their_edges_whichever_loader_took_them() {
    const NODES: u64 = 300;
    let base = empty_store(11);
    let mut load = BulkLoad::unchecked(&base, configs()[0].clone(), &Interrupt::new());
    let keys = Column::from_values(&(0..NODES as i64).map(Value::Int).collect::<Vec<_>>());
    let key = Some(KeyRows { group: "all", property: Some("id"), values: &keys });
    let rows = NodeRows { count: NODES as usize, labels: &["A"], key, names: &[], columns: &[], origin: 0 };
    assert_eq!(load.push_nodes(&rows).unwrap().created, NODES);
    // Each loader has other texts, and other numbers of them.
    let loader_of = |source: u64, target: u64| (source + target) % 3;
    let text_of = |source: u64, target: u64| {
        let loader = loader_of(source, target);
        format!("text {} of {loader}", (source * 7 + target) % (5 + 20 * loader))
    };
    let ends: Vec<(u64, u64)> = (0..NODES).flat_map(|source| (0..60).map(move |target| (source, target))).collect();
    let mut loaders: Vec<_> = (0..3).map(|_| load.edge_loader().unwrap()).collect();
    for (number, mut loader) in (0..3).zip(loaders.drain(..)) {
        let mine: Vec<_> =
            ends.iter().copied().filter(|&(source, target)| loader_of(source, target) == number).collect();
        let texts: Vec<Value> = mine.iter().map(|&(source, target)| Value::string(&text_of(source, target))).collect();
        let ids = |of: fn(&(u64, u64)) -> u64| mine.iter().map(|edge| NodeId(of(edge))).collect::<Vec<_>>();
        let columns = [Column::from_values(&texts)];
        loader.push_ids("T", &ids(|edge| edge.0), &ids(|edge| edge.1), &["s"], &columns).unwrap();
        loader.finish().unwrap();
    }
    let version = load.finish().unwrap();
    let edges = edges_of(&version);
    assert_eq!(edges.len(), ends.len());
    for (_, edge) in edges {
        let expected = Value::string(&text_of(edge.source, edge.target));
        assert_eq!(edge.properties.get("s"), Some(&expected), "{} to {}", edge.source, edge.target);
    }
}

#[test]
fn the_numbers_of_loaded_edges_follow_each_other_and_take_no_column() {
    let seed = seed_or(43);
    let (mut random, mut graph) = (SeededRandom::new(seed), ModelGraph::default());
    let mut version = empty_store(seed);
    for _ in 0..3 {
        version = load(&version, configs()[0].clone(), &mut graph, &mut random);
    }
    let mut seen = model::Set::default();
    for section in version.partitions().iter().flat_map(|partition| partition.sections()) {
        assert!(matches!(section.number_form(), NumberForm::Consecutive(_)), "seed {seed}");
        for number in section.number_range(0..section.edge_count()).unwrap() {
            assert!(number < version.manifest().edge_number_bound && seen.insert(number), "seed {seed}: {number}");
        }
    }
    assert_eq!(seen.len() as u64, version.manifest().edge_number_bound, "seed {seed}");
}

fn push_keys(load: &mut BulkLoad, keys: &[Value], origin: u64) -> Result<super::NodesAdded> {
    let values = Column::from_values(keys);
    let names = &["n"];
    let columns =
        [Column::from_values(&(0..keys.len() as i64).map(|x| Value::Int(x + origin as i64)).collect::<Vec<_>>())];
    let key = Some(KeyRows { group: "g", property: Some("id"), values: &values });
    load.push_nodes(&NodeRows { count: keys.len(), labels: &["A"], key, names, columns: &columns, origin })
}

#[test]
fn duplicate_and_null_keys_follow_the_policy() {
    let keys = [Value::Int(1), Value::Int(2), Value::Int(1), Value::Null, Value::Float(2.0)];
    for (policy, created, merged, refused, first) in [
        (OnDuplicate::Error, 2, 0, vec![102, 103, 104], Value::Int(100)),
        (OnDuplicate::Skip, 2, 2, vec![103], Value::Int(100)),
        (OnDuplicate::Update, 2, 2, vec![103], Value::Int(102)),
    ] {
        let config = BuildConfig { on_duplicate: policy, ..BuildConfig::default() };
        let mut load = BulkLoad::new(&empty_store(1), config.clone(), &Interrupt::new()).unwrap();
        let mut added = push_keys(&mut load, &keys, 100).unwrap();
        added.errors.sort_by_key(|error| error.row);
        let rows: Vec<u64> = added.errors.iter().map(|error| error.row).collect();
        assert_eq!((added.created, added.merged, rows), (created, merged, refused), "{policy:?}");
        let version = load.finish().unwrap();
        let key = version.manifest().schema.property_key("n").unwrap();
        assert_eq!(version.node_property(&[NodeId(0)], key).unwrap().value(0), first, "{policy:?}");
        // The same keys again, now against what the store has.
        let mut again = BulkLoad::new(&version, config, &Interrupt::new()).unwrap();
        let added = push_keys(&mut again, &keys, 0).unwrap();
        assert_eq!((added.created, added.merged), (0, if policy == OnDuplicate::Error { 0 } else { 4 }), "{policy:?}");
        let version = again.finish().unwrap();
        assert_eq!(version.manifest().statistics.nodes, 2);
        let problems = check(version.platform(), version.directory(), &Interrupt::new()).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
    }
}

/// Nodes in batches with many keys that come again, then edges some of which dangle; two groups take turns.
fn load_duplicates(base: &Arc<Version>, config: BuildConfig, seed: u64) -> Result<(Vec<String>, Arc<Version>)> {
    let mut random = SeededRandom::new(seed);
    let mut load = BulkLoad::unchecked(base, config, &Interrupt::new());
    let mut said = Vec::new();
    let key = |random: &mut SeededRandom, group: usize| match (group, random.index(14_000)) {
        (0, number) => Value::string(&format!("key {number}")),
        (_, number) => Value::Int(number as i64),
    };
    let groups = ["text", "number"];
    for batch in 0..30 {
        let group = batch % 2;
        let keys: Vec<Value> = (0..800).map(|_| key(&mut random, group)).collect();
        let values = [Column::from_values(&keys), Column::from_values(&vec![Value::Int(batch as i64); keys.len()])];
        let key = Some(KeyRows { group: groups[group], property: Some("id"), values: &values[0] });
        let labels = &[groups[group]];
        let rows =
            NodeRows { count: 800, labels, key, names: &["n"], columns: &values[1..], origin: batch as u64 * 800 };
        let added = load.push_nodes(&rows)?;
        said.push(format!("{} {} {:?} {:?}", added.created, added.merged, added.errors, added.nodes));
    }
    let mut loader = load.edge_loader()?;
    for batch in 0..10 {
        let keys: Vec<Column> = (0..2)
            .map(|group| Column::from_values(&(0..900).map(|_| key(&mut random, group)).collect::<Vec<_>>()))
            .collect();
        let rows = EdgeRows {
            edge_type: "T",
            source_group: "text",
            sources: &keys[0],
            target_group: "number",
            targets: &keys[1],
            names: &[],
            columns: &[],
            origin: batch * 900,
        };
        said.push(format!("{:?}", loader.push(&rows)?));
    }
    loader.finish()?;
    Ok((said, load.finish()?))
}

#[test]
fn keys_on_the_disk_give_the_answers_of_keys_in_memory() {
    for (round, on_duplicate) in [OnDuplicate::Error, OnDuplicate::Skip, OnDuplicate::Update].into_iter().enumerate() {
        let seed = seed_or(91) + round as u64;
        let usual = BuildConfig { on_duplicate, ..BuildConfig::default() };
        let small = BuildConfig { memory_bytes: 1 << 17, ..usual.clone() };
        let (expected, wide) = load_duplicates(&empty_store(seed), usual.clone(), seed).unwrap();
        let (found, mut narrow) = load_duplicates(&empty_store(seed), small.clone(), seed).unwrap();
        assert_eq!(found, expected, "seed {seed}");
        // And once more, against what the stores have by then.
        let (expected, wide) = load_duplicates(&wide, usual, seed + 100).unwrap();
        let (found, last) = load_duplicates(&narrow, small, seed + 100).unwrap();
        // The version before keeps its files as long as it lives.
        drop(std::mem::replace(&mut narrow, last));
        assert_eq!(found, expected, "seed {seed}");
        assert_eq!(format!("{:?}", edges_of(&narrow)), format!("{:?}", edges_of(&wide)), "seed {seed}");
        let key = wide.manifest().schema.property_key("n").unwrap();
        let nodes: Vec<NodeId> = (0..wide.manifest().node_id_bound).map(NodeId).collect();
        let values = |version: &Version| {
            let column = version.node_property(&nodes, key).unwrap();
            (0..column.len()).map(|row| column.value(row)).collect::<Vec<_>>()
        };
        assert_eq!(values(&narrow), values(&wide), "seed {seed}");
        let problems = check(narrow.platform(), narrow.directory(), &Interrupt::new()).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        let listed = narrow.platform().disk.list(narrow.directory()).unwrap().len();
        assert_eq!(listed, narrow.manifest().files().count() + 3, "files left over");
    }
}

#[test]
fn a_million_text_keys_fit_the_least_budget() {
    const NODES: u64 = 1_000_000;
    let column = |numbers: &mut dyn Iterator<Item = u64>| {
        Column::from_values(&numbers.map(|i| Value::string(&format!("user {}", mix(i)))).collect::<Vec<_>>())
    };
    let build = |memory_bytes: usize| {
        let config = BuildConfig { memory_bytes, ..BuildConfig::default() };
        let mut load = BulkLoad::new(&empty_store(5), config, &Interrupt::new()).unwrap();
        for first in (0..NODES).step_by(50_000) {
            let values = column(&mut (first..first + 50_000));
            let key = Some(KeyRows { group: "g", property: None, values: &values });
            let rows = NodeRows { count: 50_000, labels: &["A"], key, names: &[], columns: &[], origin: 0 };
            assert_eq!(load.push_nodes(&rows).unwrap().created, 50_000);
        }
        let mut loader = load.edge_loader().unwrap();
        for batch in 0..10 {
            let ends = |salt: u64| column(&mut (0..20_000).map(|i| mix(batch * 20_000 + i + salt) % NODES));
            let rows = EdgeRows {
                edge_type: "T",
                source_group: "g",
                sources: &ends(0),
                target_group: "g",
                targets: &ends(1 << 40),
                names: &[],
                columns: &[],
                origin: 0,
            };
            assert_eq!(loader.push(&rows).unwrap(), []);
        }
        loader.finish().unwrap();
        let edges = edges_of(&load.finish().unwrap());
        edges.into_iter().map(|(_, edge)| (edge.source, edge.target)).collect::<Vec<_>>()
    };
    let mut expected: Vec<(u64, u64)> = (0..200_000).map(|i| (mix(i) % NODES, mix(i + (1 << 40)) % NODES)).collect();
    expected.sort_unstable();
    for memory_bytes in [BuildConfig::default().memory_bytes, model::limits::IMPORT_MEMORY_BYTES_MIN] {
        let mut found = build(memory_bytes);
        found.sort_unstable();
        assert!(found == expected, "{memory_bytes} bytes");
    }
}

#[test]
fn dangling_edges_name_row_side_and_value() {
    let mut load = BulkLoad::new(&empty_store(1), BuildConfig::default(), &Interrupt::new()).unwrap();
    push_keys(&mut load, &[Value::Int(1), Value::Int(2)], 0).unwrap();
    let mut loader = load.edge_loader().unwrap();
    let sources = Column::from_values(&[Value::Int(1), Value::Int(7), Value::Int(2)]);
    let targets = Column::from_values(&[Value::Int(2), Value::Int(1), Value::Null]);
    let rows = EdgeRows {
        edge_type: "T",
        source_group: "g",
        sources: &sources,
        target_group: "g",
        targets: &targets,
        names: &[],
        columns: &[],
        origin: 10,
    };
    let errors: Vec<String> =
        loader.push(&rows).unwrap().into_iter().map(|error| format!("{}: {}", error.row, error.reason)).collect();
    assert_eq!(errors, ["11: the source 7 of the edge is no node of group g", "12: the target of the edge is null"]);
    loader.finish().unwrap();
    assert_eq!(load.finish().unwrap().manifest().statistics.edges, 1);
}

#[test]
fn a_build_that_is_dropped_leaves_nothing() {
    let base = empty_store(3);
    let mut load = BulkLoad::new(&base, BuildConfig::default(), &Interrupt::new()).unwrap();
    push_keys(&mut load, &[Value::Int(1)], 0).unwrap();
    let mut loader = load.edge_loader().unwrap();
    loader.push_ids("T", &[NodeId(0)], &[NodeId(0)], &[], &[]).unwrap();
    drop(loader);
    drop(load);
    assert_eq!(base.platform().disk.list(base.directory()).unwrap(), ["00000000.wal", "MANIFEST", "MANIFEST.copy"]);
}

#[test]
fn a_buffer_of_few_edges_takes_little_memory() {
    let mut buffer = EdgeBuffer::default();
    let mut expected: Vec<u64> = Vec::new();
    for count in [1, 2, 5, 100, 60_000, 1, 70_000, 200_000] {
        let keys: Vec<u64> = (0..count).map(|at| expected.len() as u64 + at).collect();
        buffer.push(&keys, &[]).unwrap();
        expected.extend(keys);
        let (held, least) = (buffer.memory_bytes(), expected.len() * 8);
        assert!((least..=2 * least + 8).contains(&held), "{held} bytes for {} edges", expected.len());
    }
    let sealed = buffer.seal().unwrap();
    assert_eq!(sealed.keys.concat(), expected);
    assert!(sealed.keys[..sealed.keys.len() - 1].iter().all(|chunk| chunk.len() == 1 << 16));
}
