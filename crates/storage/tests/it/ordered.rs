//! Ordered indexes that are too large to be made in memory: made as a run, kept by flushes, made again by replay, and
//! given up without a trace.

use std::ops::Bound;

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, ColumnData, Constraint, Direction, EdgeBatch, EdgeId, ErrorCode, Expand, GraphStore, Index, IndexBatch,
    IndexScan, Interrupt, KeyOrder, KeyRange, Map, NodeId, Rule, SortKey, Subject, Value,
};
use storage::manifest::Manifest;
use storage::{Maintenance, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;

const NODES: i64 = 70_000;

/// Nodes with the values 0, 1, 2, … of `a`, and `b` that is `a` modulo 1,000.
fn fill(store: &NativeStore) -> Index {
    let mut transaction = store.write().unwrap();
    let label = transaction.label("P").unwrap();
    let keys = ["a", "b"].map(|key| transaction.property_key(key).unwrap());
    let values = |step: i64| Column::new(ColumnData::Int((0..NODES).map(|at| at % step).collect()));
    let properties = [values(NODES), values(1_000)];
    let new = NewNodes { count: NODES as usize, labels: &[label], keys: &keys, properties: &properties };
    transaction.create_nodes(&new).unwrap();
    transaction.commit().unwrap();
    Index { name: "ba".into(), subject: Subject::Label(label), keys: vec![keys[1], keys[0]] }
}

fn ordered_files(directory: &TestDirectory) -> usize {
    let names = directory.disk().list(directory.path()).unwrap();
    names.iter().filter(|name| name.ends_with(".ordered")).count()
}

/// The nodes whose `b` is this, in order of `a`.
fn found(store: &NativeStore, index: &Index, b: i64, order: KeyOrder) -> Vec<NodeId> {
    let view = store.read().unwrap();
    let equal = vec![Column::from_values([&Value::Int(b)])];
    let scan = IndexScan { index: index.clone(), equal, rows: 1, range: KeyRange::All, order };
    let (mut cursor, mut batch) = (view.index_scan(&scan).unwrap(), IndexBatch::default());
    let mut nodes = Vec::new();
    while cursor.next(&mut batch).unwrap() {
        nodes.extend_from_slice(&batch.nodes);
    }
    nodes
}

fn check(store: &NativeStore, index: &Index) {
    let expected: Vec<NodeId> = (0..NODES / 1_000).map(|at| NodeId((at * 1_000 + 7) as u64)).collect();
    assert_eq!(found(store, index, 7, KeyOrder::Ascending), expected);
    let turned: Vec<NodeId> = expected.into_iter().rev().collect();
    assert_eq!(found(store, index, 7, KeyOrder::Descending), turned);
    assert_eq!(found(store, index, 1_000, KeyOrder::Ascending), []);
}

#[test]
fn a_large_index_is_made_as_a_run_and_outlives_flushes_and_replay() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let index = fill(&store);
    let mut transaction = store.write().unwrap();
    let interrupt = Interrupt::new();
    transaction.create_index(index.clone(), &interrupt).unwrap();
    assert_eq!(interrupt.progress(), (NODES as u64, NODES as u64));
    transaction.commit().unwrap();
    check(&store, &index);
    drop(store);
    // The log says only that the index was made.
    let store = directory.open();
    check(&store, &index);
    store.checkpoint(&Interrupt::new()).unwrap();
    check(&store, &index);
    let mut transaction = store.write().unwrap();
    transaction.set_node_properties(&[NodeId(7)], index.keys[0], &Column::constant(&Value::Int(8), 1)).unwrap();
    transaction.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    assert_eq!(found(&store, &index, 7, KeyOrder::Ascending)[0], NodeId(1_007));
    assert_eq!(found(&store, &index, 8, KeyOrder::Ascending)[..2], [NodeId(7), NodeId(8)]);
    drop(store);
    let store = directory.open();
    assert_eq!(found(&store, &index, 8, KeyOrder::Ascending).len() as i64, NODES / 1_000 + 1);
}

#[test]
fn an_index_that_is_given_up_leaves_nothing() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let index = fill(&store);
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let mut transaction = store.write().unwrap();
    let error = transaction.create_index(index.clone(), &interrupt).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    let unique =
        Constraint { name: "b".into(), subject: index.subject, keys: index.keys[..1].to_vec(), rule: Rule::Key };
    let twice = Constraint { keys: vec![index.keys[0], index.keys[0]], ..unique };
    assert_eq!(
        transaction.create_constraint(twice, &model::Interrupt::new()).unwrap_err().code(),
        ErrorCode::SchemaRule
    );
    let start = transaction.savepoint();
    transaction.create_index(index.clone(), &Interrupt::new()).unwrap();
    assert_eq!(ordered_files(&directory), 1);
    transaction.rollback_to(start).unwrap();
    drop(transaction);
    assert_eq!(ordered_files(&directory), 0, "the file went with what named it");
    let mut transaction = store.write().unwrap();
    transaction.create_index(index.clone(), &Interrupt::new()).unwrap();
    drop(transaction);
    assert_eq!(ordered_files(&directory), 0);
    assert!(store.read().unwrap().schema().indexes.is_empty());
}

/// The nodes in the order of an index, by reading them all.
fn sorted(store: &NativeStore, index: &Index) -> Vec<NodeId> {
    let view = store.read().unwrap();
    let nodes: Vec<NodeId> = (0..view.node_id_bound()).map(NodeId).collect();
    let values = view.node_properties(&nodes, &index.keys).unwrap();
    let mut rows: Vec<(i64, NodeId)> = Vec::new();
    for (row, &node) in nodes.iter().enumerate() {
        if let Value::Int(value) = values[0].value(row) {
            rows.push((value, node));
        }
    }
    rows.sort_unstable();
    rows.into_iter().map(|(_, node)| node).collect()
}

fn by_index(store: &NativeStore, index: &Index) -> Vec<NodeId> {
    let view = store.read().unwrap();
    let scan =
        IndexScan { index: index.clone(), equal: vec![], rows: 1, range: KeyRange::All, order: KeyOrder::Ascending };
    let (mut cursor, mut batch) = (view.index_scan(&scan).unwrap(), IndexBatch::default());
    let mut nodes = Vec::new();
    while cursor.next(&mut batch).unwrap() {
        nodes.extend_from_slice(&batch.nodes);
    }
    nodes
}

fn problems(directory: &TestDirectory) -> Vec<String> {
    let found = storage::check::check(&directory.platform(), directory.path(), &Interrupt::new()).unwrap();
    found.into_iter().map(|problem| problem.message).collect()
}

#[test]
fn runs_are_merged_and_compared_with_what_they_are_of() {
    let seed = seed_or(43);
    let mut random = SeededRandom::new(seed);
    let directory = TestDirectory::new();
    let store = directory.open_with(OpenOptions { maintenance: Maintenance::Inline, ..OpenOptions::create() });
    let mut transaction = store.write().unwrap();
    let (label, key) = (transaction.label("P").unwrap(), transaction.property_key("v").unwrap());
    let (edge_type, weight) = (transaction.edge_type("E").unwrap(), transaction.property_key("w").unwrap());
    let index = Index { name: "v".into(), subject: Subject::Label(label), keys: vec![key] };
    let of_edges = Index { name: "w".into(), subject: Subject::EdgeType(edge_type), keys: vec![weight] };
    transaction.create_index(index.clone(), &Interrupt::new()).unwrap();
    transaction.create_index(of_edges, &Interrupt::new()).unwrap();
    transaction.commit().unwrap();
    let mut most = 0;
    for round in 0..24 {
        let mut transaction = store.write().unwrap();
        let mut numbers =
            |count: usize| Column::new(ColumnData::Int((0..count).map(|_| random.below(500) as i64).collect()));
        let properties = [numbers(300)];
        let new = NewNodes { count: 300, labels: &[label], keys: &[key], properties: &properties };
        let nodes = transaction.create_nodes(&new).unwrap();
        // Parallel edges with equal values share an entry.
        let (sources, targets) = ([nodes[0]; 40], [nodes[1]; 40]);
        let weights = [Column::new(ColumnData::Int((0..40).map(|at| at % 7).collect()))];
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[weight], properties: &weights };
        let edges = transaction.create_edges(&new).unwrap();
        transaction.set_edge_properties(&edges[..3], weight, &numbers(3)).unwrap();
        let some: Vec<NodeId> = (0..50).map(|at| NodeId((at * 37) % (300 * (round + 1)))).collect();
        transaction.set_node_properties(&some, key, &numbers(50)).unwrap();
        transaction.commit().unwrap();
        store.checkpoint(&Interrupt::new()).unwrap();
        most = most.max(ordered_files(&directory));
        assert_eq!(by_index(&store, &index), sorted(&store, &index), "seed {seed} round {round}");
    }
    assert!(most <= 2 * 12 && ordered_files(&directory) < 24, "48 runs were merged: {most} at most");
    drop(store);
    assert_eq!(problems(&directory), [""; 0]);
    let disk = directory.platform().disk;
    let mut manifest = Manifest::read(&disk, directory.path()).unwrap();
    let kept = manifest.ordered.clone();
    for (place, name) in [(0, "index v"), (kept.len() - 1, "index w")] {
        manifest.ordered = kept.clone();
        manifest.ordered.remove(place);
        manifest.write(&disk, directory.path()).unwrap();
        let found = problems(&directory);
        assert!(found.len() == 1 && found[0].contains(name), "{found:?}");
    }
}

/// The edges that an index answers for each row of equal values and a range, by the row and in the order of the answer.
fn edges_found(store: &NativeStore, scan: &IndexScan) -> Vec<(u32, EdgeId)> {
    let view = store.read().unwrap();
    let (mut cursor, mut batch) = (view.index_scan(scan).unwrap(), IndexBatch::default());
    let mut found = Vec::new();
    while cursor.next(&mut batch).unwrap() {
        found.extend(batch.inputs.iter().copied().zip(batch.edges.iter().map(|edge| edge.id)));
    }
    found
}

/// Number of edges between two nodes, in both directions and from each to itself.
const PARALLEL_EDGES: usize = 60_000;

/// Adds half of the edges; some have equal values.
fn add_parallel(store: &NativeStore, index: &Index, random: &mut SeededRandom) {
    let Subject::EdgeType(edge_type) = index.subject else { panic!("no index of edges") };
    let mut end = || (0..PARALLEL_EDGES / 2).map(|_| NodeId(random.below(2))).collect::<Vec<NodeId>>();
    let (sources, targets) = (end(), end());
    let values = (0..PARALLEL_EDGES / 2).map(|_| random.below(40_000) as i64).collect();
    let columns = [Column::new(ColumnData::Int(values))];
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &index.keys, properties: &columns };
    let mut transaction = store.write().unwrap();
    transaction.create_edges(&new).unwrap();
    transaction.commit().unwrap();
}

/// The edges and their values, by following them from their sources.
fn edges_followed(store: &NativeStore, index: &Index) -> Vec<(i64, EdgeId)> {
    let view = store.read().unwrap();
    let (edge_ids, keys) = (EdgeIds::Include, index.keys.clone());
    let expand = Expand { direction: Direction::Out, edge_ids, keys, ..Expand::default() };
    let (from, mut batch, mut edges) = ([NodeId(0), NodeId(1)], EdgeBatch::default(), Vec::new());
    let mut cursor = view.expand(&from, &expand).unwrap();
    while cursor.next(&mut batch).unwrap() {
        for (row, &edge) in batch.edges.iter().enumerate() {
            let Value::Int(value) = batch.properties[0].value(row) else { panic!("no number") };
            edges.push((value, edge));
        }
    }
    edges.sort_unstable();
    edges
}

#[test]
fn an_index_tells_many_parallel_edges_apart_in_files_and_in_memory() {
    let seed = seed_or(26);
    let mut random = SeededRandom::new(seed);
    for has_sort_key in [false, true] {
        let directory = TestDirectory::new();
        let store = directory.open();
        let mut transaction = store.write().unwrap();
        let (edge_type, key) = (transaction.edge_type("R").unwrap(), transaction.property_key("x").unwrap());
        if has_sort_key {
            transaction.set_sort_key(SortKey { edge_type, keys: vec![key] }).unwrap();
        }
        let nodes = NewNodes { count: 2, labels: &[], keys: &[], properties: &[] };
        transaction.create_nodes(&nodes).unwrap();
        let index = Index { name: "x".into(), subject: Subject::EdgeType(edge_type), keys: vec![key] };
        transaction.create_index(index.clone(), &Interrupt::new()).unwrap();
        transaction.commit().unwrap();
        add_parallel(&store, &index, &mut random);
        store.checkpoint(&Interrupt::new()).unwrap();
        add_parallel(&store, &index, &mut random);
        let all = edges_followed(&store, &index);
        assert_eq!(all.len(), PARALLEL_EDGES);
        let deleted: Vec<EdgeId> = all.iter().map(|(_, edge)| *edge).filter(|_| random.below(3) == 0).collect();
        let mut transaction = store.write().unwrap();
        transaction.delete_edges(&deleted).unwrap();
        transaction.commit().unwrap();
        let left = edges_followed(&store, &index);
        assert_eq!(left.len(), PARALLEL_EDGES - deleted.len());
        check_parallel(&store, &index, &left, seed);
    }
}

/// Compares what an index answers with what is there.
fn check_parallel(store: &NativeStore, index: &Index, edges: &[(i64, EdgeId)], seed: u64) {
    for order in [KeyOrder::Ascending, KeyOrder::Descending] {
        let range = KeyRange::Between(Bound::Included(Value::Int(10_000)), Bound::Excluded(Value::Int(30_000)));
        let scan = IndexScan { index: index.clone(), equal: vec![], rows: 1, range, order };
        let mut found: Vec<EdgeId> = edges_found(store, &scan).into_iter().map(|(_, edge)| edge).collect();
        let value_of: Map<EdgeId, i64> = edges.iter().map(|&(value, edge)| (edge, value)).collect();
        let mut values: Vec<i64> = found.iter().map(|edge| value_of[edge]).collect();
        if order == KeyOrder::Descending {
            values.reverse();
        }
        assert!(values.is_sorted(), "seed {seed}");
        let expected = edges.iter().filter(|(value, _)| (10_000..30_000).contains(value));
        let mut expected: Vec<EdgeId> = expected.map(|(_, edge)| *edge).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "seed {seed}");
    }
    // Rows that ask for the same have the same.
    let asked: Vec<i64> = (0..3_000).map(|row| row % 1_500).collect();
    let equal = vec![Column::new(ColumnData::Int(asked.clone()))];
    let (rows, range, order) = (asked.len(), KeyRange::All, KeyOrder::Ascending);
    let mut found = edges_found(store, &IndexScan { index: index.clone(), equal, rows, range, order });
    let mut expected: Vec<(u32, EdgeId)> = Vec::new();
    for (row, &value) in asked.iter().enumerate() {
        let start = edges.partition_point(|(of, _)| *of < value);
        let same = edges[start..].iter().take_while(|(of, _)| *of == value);
        expected.extend(same.map(|(_, edge)| (row as u32, *edge)));
    }
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "seed {seed}");
}
