//! Random transactions side by side, with sort keys that come and go and files written in between, compared with what
//! the commits say in their order; each edge is known by one element id from its making on, and by none after its end.
//!
//! The writes do not depend on what is read, but for finding the edge that has a number; so those that may commit leave
//! what a run of the committed transactions alone, one after the other, leaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::store::{EdgeIds, Expand, NewEdges, NewNodes, NodeScan};
use model::{
    Column, Direction, EdgeBatch, EdgeId, EdgeValue, ErrorCode, GraphStore, Interrupt, NodeBatch, NodeId, ReadView,
    SortKey, Value, WriteTransaction,
};
use storage::levels::Policy;
use storage::{Durability, Maintenance, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;
use crate::numbered::check_files;

/// A write of a transaction.
#[derive(Clone, Debug)]
enum Step {
    MakeNode { uid: i64, node: NodeId },
    SetNode { uid: i64, value: i64 },
    DeleteNode { uid: i64 },
    MakeEdge { uid: i64, source: i64, target: i64, value: i64 },
    SetEdge { uid: i64, value: i64 },
    DeleteEdge { uid: i64 },
}

/// The graph as it should be: nodes with id and value, edges with ends and value, all by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
struct Graph {
    nodes: BTreeMap<i64, (NodeId, i64)>,
    edges: BTreeMap<i64, (i64, i64, i64)>,
}

impl Graph {
    fn apply(&mut self, step: &Step) {
        match *step {
            Step::MakeNode { uid, node } => {
                self.nodes.insert(uid, (node, 0));
            }
            Step::SetNode { uid, value } => self.nodes.get_mut(&uid).unwrap().1 = value,
            Step::DeleteNode { uid } => {
                self.nodes.remove(&uid).unwrap();
            }
            Step::MakeEdge { uid, source, target, value } => {
                self.edges.insert(uid, (source, target, value));
            }
            Step::SetEdge { uid, value } => self.edges.get_mut(&uid).unwrap().2 = value,
            Step::DeleteEdge { uid } => {
                self.edges.remove(&uid).unwrap();
            }
        }
    }

    fn read(view: &dyn ReadView) -> Graph {
        let mut graph = Graph::default();
        let (Some(uid), Some(value)) = (view.schema().property_key("uid"), view.schema().property_key("value")) else {
            return graph;
        };
        let int = |column: &Column, row: usize| if let Value::Int(x) = column.value(row) { x } else { 0 };
        let scan = NodeScan { keys: vec![uid, value], ..NodeScan::default() };
        let (mut cursor, mut batch) = (view.scan(&scan).unwrap(), NodeBatch::default());
        let mut uids = BTreeMap::new();
        while cursor.next(&mut batch).unwrap() {
            for (row, &node) in batch.nodes.iter().enumerate() {
                graph.nodes.insert(int(&batch.properties[0], row), (node, int(&batch.properties[1], row)));
                uids.insert(node, int(&batch.properties[0], row));
            }
        }
        for direction in [Direction::Out, Direction::In] {
            let mut edges = BTreeMap::new();
            for (uid, source, target, value, _) in edges_of(view, direction) {
                assert!(
                    edges.insert(uid, (uids[&source], uids[&target], value)).is_none(),
                    "edge {uid} is there twice"
                );
            }
            assert!(direction == Direction::Out || edges == graph.edges, "both directions agree");
            graph.edges = edges;
        }
        assert_eq!(view.statistics().edges, graph.edges.len() as u64);
        assert_eq!(view.statistics().nodes, graph.nodes.len() as u64);
        graph
    }
}

/// All edges: number, source, target, value, id.
fn edges_of(view: &dyn ReadView, direction: Direction) -> Vec<(i64, NodeId, NodeId, i64, EdgeId)> {
    let key = |name| view.schema().property_key(name).unwrap();
    let nodes: Vec<NodeId> = (0..view.node_id_bound()).map(NodeId).collect();
    let expand = Expand {
        direction,
        types: None,
        edge_ids: EdgeIds::Include,
        keys: vec![key("uid"), key("value")],
        ranges: Vec::new(),
        top: None,
    };
    let (mut cursor, mut batch) = (view.expand(&nodes, &expand).unwrap(), EdgeBatch::default());
    let mut edges = Vec::new();
    while cursor.next(&mut batch).unwrap() {
        for row in 0..batch.len() {
            let (mut ends, value) = ((nodes[batch.inputs[row] as usize], batch.neighbors[row]), &batch.properties);
            if direction == Direction::In {
                ends = (ends.1, ends.0);
            }
            let int = |at: usize| if let Value::Int(x) = value[at].value(row) { x } else { 0 };
            edges.push((int(0), ends.0, ends.1, int(1), batch.edges[row]));
        }
    }
    edges
}

/// Element ids of edges by their numbers in the test, from the moment that a transaction made them.
#[derive(Clone, Debug, Default)]
struct Identities(BTreeMap<i64, Arc<str>>);

impl Identities {
    /// Compares the edges of a view with what is known, adds those that are new, and looks all of them up by their ids.
    fn check(&mut self, view: &dyn ReadView) {
        let Some(edge_type) = view.schema().edge_type("E") else { return };
        if view.schema().property_key("value").is_none() {
            return;
        }
        let edges = edges_of(view, Direction::Out);
        let values: Vec<EdgeValue> =
            edges.iter().map(|&(_, source, target, _, id)| EdgeValue { id, source, target, edge_type }).collect();
        let live: BTreeMap<i64, EdgeValue> = edges.iter().map(|edge| edge.0).zip(values.iter().copied()).collect();
        for (&uid, id) in live.keys().zip(view.element_ids(&live.values().copied().collect::<Vec<_>>()).unwrap()) {
            assert_eq!(self.0.entry(uid).or_insert_with(|| id.clone()), &id, "edge {uid} has another element id");
        }
        let texts: Vec<&str> = self.0.values().map(|id| &**id).collect();
        for (uid, found) in self.0.keys().zip(view.find_edges(&texts).unwrap()) {
            assert_eq!(found, live.get(uid).copied(), "what the element id of edge {uid} names");
        }
    }
}

/// An open transaction and what it has done.
struct Open {
    transaction: Box<dyn WriteTransaction>,
    steps: Vec<Step>,
    /// The edges that it knows.
    identities: Identities,
    left: u64,
}

struct Run {
    random: SeededRandom,
    next_uid: i64,
}

impl Run {
    fn begin(&mut self, store: &NativeStore) -> Open {
        let identities = Identities::default();
        Open { transaction: store.write().unwrap(), steps: Vec::new(), identities, left: 1 + self.random.below(8) }
    }

    fn uid(&mut self) -> i64 {
        self.next_uid += 1;
        self.next_uid
    }

    /// Does something to the graph that the transaction sees.
    fn step(&mut self, open: &mut Open) {
        let transaction = &mut *open.transaction;
        let graph = Graph::read(transaction.view());
        let uid_key = transaction.property_key("uid").unwrap();
        let value_key = transaction.property_key("value").unwrap();
        let edge_type = transaction.edge_type("E").unwrap();
        let column = |value: i64| Column::from_values(&[Value::Int(value)]);
        let value = 1 + self.random.below(1_000) as i64;
        let nodes: Vec<i64> = graph.nodes.keys().copied().collect();
        let edges: Vec<i64> = graph.edges.keys().copied().collect();
        let kind = if nodes.len() < 3 { 0 } else { self.random.below(100) };
        let step = match kind {
            0..8 => {
                let uid = self.uid();
                let properties = [column(uid), column(0)];
                let new = NewNodes { count: 1, labels: &[], keys: &[uid_key, value_key], properties: &properties };
                let node = transaction.create_nodes(&new).unwrap()[0];
                Step::MakeNode { uid, node }
            }
            8..25 => {
                let uid = nodes[self.random.index(nodes.len())];
                transaction.set_node_properties(&[graph.nodes[&uid].0], value_key, &column(value)).unwrap();
                Step::SetNode { uid, value }
            }
            25..30 => {
                let uid = nodes[self.random.index(nodes.len())];
                if transaction.delete_nodes(&[graph.nodes[&uid].0]).is_err() {
                    return;
                }
                Step::DeleteNode { uid }
            }
            _ if edges.is_empty() || kind < 60 => {
                let uid = self.uid();
                // Few pairs of nodes, so that many edges are parallel.
                let few = nodes.len().min(4);
                let (source, target) = (nodes[self.random.index(few)], nodes[self.random.index(few)]);
                let (sources, targets) = ([graph.nodes[&source].0], [graph.nodes[&target].0]);
                // Some without a value, so that parallel edges have different keys.
                let keys = [uid_key, value_key];
                let count = 1 + self.random.index(2);
                let properties = [column(uid), column(value)];
                let value = if count == 2 { value } else { 0 };
                let (keys, properties) = (&keys[..count], &properties[..count]);
                let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys, properties };
                transaction.create_edges(&new).unwrap();
                Step::MakeEdge { uid, source, target, value }
            }
            _ => {
                let uid = edges[self.random.index(edges.len())];
                let all = edges_of(transaction.view(), Direction::Out);
                let edge = all.into_iter().find(|edge| edge.0 == uid).unwrap().4;
                if kind < 85 {
                    transaction.set_edge_properties(&[edge], value_key, &column(value)).unwrap();
                    Step::SetEdge { uid, value }
                } else {
                    transaction.delete_edges(&[edge]).unwrap();
                    Step::DeleteEdge { uid }
                }
            }
        };
        open.steps.push(step);
        let mut expected = graph;
        expected.apply(open.steps.last().unwrap());
        assert_eq!(Graph::read(open.transaction.view()), expected, "a transaction sees what it did");
        open.identities.check(open.transaction.view());
    }
}

/// A policy that merges files all the time.
fn eager() -> Policy {
    Policy { fanout: 2, level0_edges: 4, partition_edges_max: 12, level0_max: 6, patch_share: 2, ..Policy::default() }
}

/// Declares a sort key of the edges, or takes it back.
fn change_sort_key(store: &NativeStore) {
    let mut transaction = store.write().unwrap();
    let (edge_type, key) = (transaction.edge_type("E").unwrap(), transaction.property_key("value").unwrap());
    transaction.property_key("uid").unwrap();
    match transaction.view().schema().sort_key(edge_type).is_empty() {
        true => transaction.set_sort_key(SortKey { edge_type, keys: vec![key] }).unwrap(),
        false => transaction.drop_sort_key(edge_type).unwrap(),
    }
    transaction.commit().unwrap();
}

/// A backup of the store, restored, knows the same edges by the same ids.
fn check_backup(store: &NativeStore, directory: &TestDirectory, graph: &Graph, identities: &mut Identities) {
    let (backup, copy) = (TestDirectory::new(), TestDirectory::new());
    store.backup(backup.path(), None, &Interrupt::new()).unwrap();
    storage::backup::restore(&directory.platform(), backup.path(), copy.path(), &Interrupt::new()).unwrap();
    let copy = copy.open();
    assert_eq!(Graph::read(&*copy.read().unwrap()), *graph, "restored");
    identities.check(&*copy.read().unwrap());
}

/// A run in which one round of a hundred changes the sort key, or none does.
fn check(seed: u64, rounds: usize, maintenance: Maintenance, memtable_bytes_max: usize) {
    for sort_key_percent in [0, 2] {
        check_with(seed, rounds, maintenance, memtable_bytes_max, sort_key_percent);
    }
}

fn check_with(seed: u64, rounds: usize, maintenance: Maintenance, memtable_bytes_max: usize, sort_key_percent: u64) {
    let directory = TestDirectory::new();
    let options = OpenOptions {
        durability: Durability::Off,
        maintenance,
        memtable_bytes_max,
        compaction: eager(),
        ..OpenOptions::create()
    };
    let mut store = directory.open_with(options);
    let mut run = Run { random: SeededRandom::new(seed), next_uid: 0 };
    let mut identities = Identities::default();
    if sort_key_percent > 0 {
        change_sort_key(&store);
    }
    let mut graph = Graph::default();
    let mut open: Vec<Open> = Vec::new();
    let (mut committed, mut refused) = (0, 0);
    for round in 0..rounds {
        if open.len() < 4 && run.random.chance(40) {
            open.push(run.begin(&store));
        }
        if !open.is_empty() {
            let at = run.random.index(open.len());
            run.step(&mut open[at]);
            open[at].left -= 1;
            if open[at].left == 0 {
                let Open { transaction, steps, identities: own, .. } = open.swap_remove(at);
                match transaction.commit() {
                    Ok(()) => {
                        committed += 1;
                        for (uid, id) in own.0 {
                            assert_eq!(identities.0.entry(uid).or_insert_with(|| id.clone()), &id, "seed {seed}");
                        }
                        steps.iter().for_each(|step| graph.apply(step));
                    }
                    Err(error) => {
                        refused += 1;
                        assert_eq!(error.code(), ErrorCode::Conflict, "seed {seed}, round {round}: {error:?}");
                    }
                }
                assert_eq!(Graph::read(&*store.read().unwrap()), graph, "seed {seed}, round {round}: {steps:?}");
                identities.check(&*store.read().unwrap());
            }
        }
        if run.random.chance(sort_key_percent) {
            change_sort_key(&store);
        }
        if run.random.chance(3) {
            store.checkpoint(&Interrupt::new()).unwrap();
            assert_eq!(Graph::read(&*store.read().unwrap()), graph, "seed {seed}, round {round}, after a checkpoint");
            identities.check(&*store.read().unwrap());
        }
        if run.random.chance(2) {
            open.clear();
            drop(store);
            store = directory.open_with(options);
            assert_eq!(Graph::read(&*store.read().unwrap()), graph, "seed {seed}, round {round}, after reopening");
            identities.check(&*store.read().unwrap());
        }
    }
    assert!(committed > rounds / 20 && refused > 0, "seed {seed}: {committed} committed, {refused} refused");
    drop(open);
    check_backup(&store, &directory, &graph, &mut identities);
    store.compact(&Interrupt::new()).unwrap();
    identities.check(&*store.read().unwrap());
    drop(store);
    check_files(&directory.platform(), directory.path());
}

#[test]
fn transactions_side_by_side_leave_what_the_committed_ones_say() {
    for seed in [1, 2, 3].map(seed_or) {
        check(seed, 400, Maintenance::Inline, usize::MAX);
    }
}

#[test]
fn also_when_every_few_commits_are_written_to_files() {
    for seed in [11, 12, 13].map(seed_or) {
        check(seed, 400, Maintenance::Inline, 6_000);
    }
}

#[test]
fn also_when_a_thread_does_that() {
    for seed in [21, 22, 23].map(seed_or) {
        check(seed, 400, Maintenance::Background, 4_000);
    }
}
