//! Transactions that are larger than memory: they go on in files of their own, are whole or not at all, and others wait for
//! them at their commit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::platform::{Clock, Platform};
use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, ColumnData, Constraint, Direction, EdgeBatch, EdgeId, Error, ErrorCode, Expand, GraphStore, Index,
    Interrupt, IsolationLevel, NodeId, ReadView, SortKey, Subject, Value, WriteTransaction,
};
use storage::{Durability, Maintenance, NativeStore, OpenOptions};
use testing::simulation::{FaultyDisk, MemoryDisk, platform};

use crate::directory::TestDirectory;
use crate::numbered;

/// A transaction outgrows memory with its second call.
fn options() -> OpenOptions {
    OpenOptions { durability: Durability::Off, transaction_bytes_max: Some(1), ..OpenOptions::create() }
}

fn create_nodes(transaction: &mut dyn WriteTransaction, count: usize) -> Vec<NodeId> {
    let label = transaction.label("P").unwrap();
    let key = transaction.property_key("k").unwrap();
    let columns = [Column::new(ColumnData::Int((0..count as i64).collect()))];
    transaction.create_nodes(&NewNodes { count, labels: &[label], keys: &[key], properties: &columns }).unwrap()
}

/// A store that has the names already, so that the first call of a transaction finds nothing written before it.
fn named(directory: &TestDirectory) -> NativeStore {
    let store = directory.open_with(options());
    let mut transaction = store.write().unwrap();
    transaction.label("P").unwrap();
    transaction.property_key("k").unwrap();
    transaction.commit().unwrap();
    store
}

fn create_edges(transaction: &mut dyn WriteTransaction, ends: &[(NodeId, NodeId)], first: i64) -> Vec<EdgeId> {
    let edge_type = transaction.edge_type("E").unwrap();
    let key = transaction.property_key("n").unwrap();
    let (sources, targets): (Vec<NodeId>, Vec<NodeId>) = ends.iter().copied().unzip();
    let columns = [Column::new(ColumnData::Int((first..first + ends.len() as i64).collect()))];
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[key], properties: &columns };
    transaction.create_edges(&new).unwrap()
}

/// The numbers of edges, in the order asked for.
fn numbers(view: &dyn ReadView, edges: &[EdgeId]) -> Vec<Option<i64>> {
    let key = view.schema().property_key("n").unwrap();
    let column = view.edge_properties(edges, &[key]).unwrap().swap_remove(0);
    let number = |value: Value| if let Value::Int(number) = value { Some(number) } else { None };
    column.values().map(number).collect()
}

/// The edges that leave some nodes, by what an expansion says.
fn edges_of(view: &dyn ReadView, nodes: &[NodeId]) -> Vec<EdgeId> {
    let expand = Expand { direction: Direction::Out, edge_ids: EdgeIds::Include, ..Expand::default() };
    let (mut batch, mut edges) = (EdgeBatch::default(), Vec::new());
    let mut cursor = view.expand(nodes, &expand).unwrap();
    while cursor.next(&mut batch).unwrap() {
        edges.extend_from_slice(&batch.edges);
    }
    edges.sort_unstable();
    edges
}

fn count(store: &NativeStore) -> u64 {
    store.read().unwrap().statistics().nodes
}

#[test]
fn ids_stay_valid_while_edges_move_into_files() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    for has_sort_key in [false, true] {
        let mut transaction = store.write().unwrap();
        let nodes = create_nodes(&mut *transaction, 4);
        if has_sort_key {
            let (edge_type, key) = (transaction.edge_type("E").unwrap(), transaction.property_key("n").unwrap());
            transaction.set_sort_key(SortKey { edge_type, keys: vec![key] }).unwrap();
        }
        // From the last node to the first, so that no edge lies where it was made.
        let ends: Vec<_> = (0..24).map(|at| (nodes[3 - at / 6], nodes[(at * 7) % 4])).collect();
        let mut edges = Vec::new();
        for (at, ends) in ends.chunks(5).enumerate() {
            edges.extend(create_edges(&mut *transaction, ends, at as i64 * 5));
        }
        let expected: Vec<Option<i64>> = (0..24).map(Some).collect();
        assert_eq!(numbers(transaction.view(), &edges), expected);
        // A change that moves an edge of a sort key moves it between files.
        let key = transaction.property_key("n").unwrap();
        let changed = [edges[3], edges[20]];
        transaction.set_edge_properties(&changed, key, &Column::new(ColumnData::Int(vec![103, -120]))).unwrap();
        transaction.delete_edges(&edges[8..10]).unwrap();
        transaction.set_edge_properties(&changed, key, &Column::new(ColumnData::Int(vec![203, -220]))).unwrap();
        create_nodes(&mut *transaction, 1);
        let mut expected = expected;
        (expected[3], expected[20]) = (Some(203), Some(-220));
        (expected[8], expected[9]) = (None, None);
        assert_eq!(numbers(transaction.view(), &edges), expected, "sort key: {has_sort_key}");
        let exist = transaction.view().edges_exist(&edges).unwrap();
        assert!((0..24).all(|at| exist.get(at) != (8..10).contains(&at)));
        let mut left: Vec<EdgeId> = edges.clone();
        left.drain(8..10);
        left.sort_unstable();
        assert_eq!(edges_of(transaction.view(), &nodes), left);
        transaction.commit().unwrap();
        let view = store.read().unwrap();
        let mut found = numbers(&*view, &edges_of(&*view, &nodes));
        found.sort_unstable();
        expected.retain(Option::is_some);
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
    drop(store);
    numbered::check_files(&directory.platform(), directory.path());
}

#[test]
fn savepoints_go_back_over_files() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let mut transaction = store.write().unwrap();
    let first = transaction.savepoint();
    let nodes = create_nodes(&mut *transaction, 3);
    let edges = create_edges(&mut *transaction, &[(nodes[0], nodes[1]), (nodes[0], nodes[2])], 0);
    let second = transaction.savepoint();
    transaction.delete_edges(&edges[..1]).unwrap();
    create_nodes(&mut *transaction, 2);
    create_edges(&mut *transaction, &[(nodes[1], nodes[2])], 7);
    create_nodes(&mut *transaction, 2);
    transaction.rollback_to(second).unwrap();
    assert_eq!(transaction.view().statistics().nodes, 3);
    assert_eq!(numbers(transaction.view(), &edges), [Some(0), Some(1)]);
    assert_eq!(edges_of(transaction.view(), &nodes), edges);
    create_nodes(&mut *transaction, 1);
    create_nodes(&mut *transaction, 1);
    transaction.rollback_to(first).unwrap();
    assert_eq!(transaction.view().statistics().nodes, 0);
    create_nodes(&mut *transaction, 5);
    transaction.commit().unwrap();
    assert_eq!(count(&store), 5);
}

#[test]
fn what_is_rolled_back_leaves_no_file() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let files = || directory.disk().list(directory.path()).unwrap().len();
    let before = files();
    let mut transaction = store.write().unwrap();
    (0..3).for_each(|_| drop(create_nodes(&mut *transaction, 3)));
    assert!(files() > before);
    drop(transaction);
    assert_eq!((files(), count(&store)), (before, 0));
    let mut transaction = store.write().unwrap();
    create_nodes(&mut *transaction, 2);
    transaction.commit().unwrap();
    assert_eq!(count(&store), 2);
}

#[test]
fn others_read_and_begin_meanwhile_and_wait_at_their_commit() {
    let directory = TestDirectory::new();
    let store = named(&directory);
    let view = store.read().unwrap();
    let mut large = store.write().unwrap();
    (0..2).for_each(|_| drop(create_nodes(&mut *large, 3)));
    let mut small = store.write().unwrap();
    create_nodes(&mut *small, 1);
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let listening = interrupt.listen();
    assert_eq!(small.commit().unwrap_err().code(), ErrorCode::Cancelled);
    drop(listening);
    assert_eq!(store.checkpoint(&interrupt).unwrap_err().code(), ErrorCode::Cancelled);
    let mut late = store.write().unwrap();
    create_nodes(&mut *late, 1);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| late.commit());
        create_nodes(&mut *large, 3);
        assert_eq!(count(&store), 0);
        large.commit().unwrap();
        // The state that it saw is not the one that is there now.
        assert_eq!(waits.join().unwrap().unwrap_err().code(), ErrorCode::Conflict);
    });
    assert_eq!((view.statistics().nodes, count(&store)), (0, 9));
    store.checkpoint(&Interrupt::new()).unwrap();
    assert_eq!(count(&store), 9);
}

/// A clock that goes on by a second whenever it is looked at.
#[derive(Debug, Default)]
struct Seconds(AtomicU64);

impl Clock for Seconds {
    fn now_ns(&self) -> u64 {
        1_000_000_000 * self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

#[test]
fn who_waits_for_one_in_which_nothing_is_done_is_told() {
    let directory = TestDirectory::new();
    let clock = Arc::new(Seconds::default());
    let platform = Platform { clock: clock.clone(), ..directory.platform() };
    drop(named(&directory));
    let store = NativeStore::open(directory.path(), options(), platform).unwrap();
    let mut large = store.write().unwrap();
    (0..2).for_each(|_| drop(create_nodes(&mut *large, 3)));
    let small = || {
        let mut small = store.write().unwrap();
        create_nodes(&mut *small, 1);
        small
    };
    let told = |error: Error| {
        assert_eq!(error.code(), ErrorCode::Conflict, "{error:?}");
        assert!(!error.is_outrun() && error.message().contains("has kept all others from committing for"), "{error:?}");
        assert!(error.remedy().starts_with("commit that transaction or roll it back"), "{error:?}");
    };
    // All on the thread that would have to end the large one.
    told(small().commit().unwrap_err());
    told(store.checkpoint(&Interrupt::new()).unwrap_err());
    told(store.write_alone(IsolationLevel::Snapshot).err().unwrap());
    told(store.rebuild(&Interrupt::new(), |base| Ok((base.clone(), ()))).unwrap_err());
    let new = NewNodes { count: 1, labels: &[], keys: &[], properties: &[] };
    told(small().create_nodes(&new).unwrap_err());
    // One in which a statement runs is waited for.
    large.set_at_work(true);
    let interrupt = Interrupt::new();
    interrupt.set_deadline(Some((clock, Duration::from_secs(60))));
    let listening = interrupt.listen();
    assert_eq!(small().commit().unwrap_err().code(), ErrorCode::Timeout);
    drop(listening);
    large.set_at_work(false);
    large.commit().unwrap();
    small().commit().unwrap();
    assert_eq!(count(&store), 7);
}

#[test]
fn one_that_ends_or_goes_back_lets_others_commit() {
    let directory = TestDirectory::new();
    let store = named(&directory);
    let commit_one = || {
        let mut other = store.write().unwrap();
        create_nodes(&mut *other, 1);
        other.commit().unwrap();
    };
    let mut large = store.write().unwrap();
    (0..2).for_each(|_| drop(create_nodes(&mut *large, 3)));
    drop(large);
    commit_one();
    let mut large = store.write().unwrap();
    let start = large.savepoint();
    (0..3).for_each(|_| drop(create_nodes(&mut *large, 3)));
    large.rollback_to(start).unwrap();
    commit_one();
    // It is small again, and commits beside the other.
    create_nodes(&mut *large, 5);
    large.commit().unwrap();
    assert_eq!((count(&store), store.stats().large_commits), (7, 0));
    drop(store);
    numbered::check_files(&directory.platform(), directory.path());
}

#[test]
fn who_outgrows_memory_after_others_committed_is_tried_again_alone() {
    let directory = TestDirectory::new();
    let store = named(&directory);
    for isolation in [IsolationLevel::Snapshot, IsolationLevel::Serializable] {
        let before = count(&store);
        let mut large = store.write_isolated(isolation).unwrap();
        create_nodes(&mut *large, 3);
        let mut other = store.write().unwrap();
        create_nodes(&mut *other, 1);
        other.commit().unwrap();
        let label = large.label("P").unwrap();
        let new = NewNodes { count: 1, labels: &[label], keys: &[], properties: &[] };
        assert_eq!(large.create_nodes(&new).unwrap_err().code(), ErrorCode::Conflict);
        drop(large);
        let mut large = store.write_alone(isolation).unwrap();
        let mut other = store.write().unwrap();
        create_nodes(&mut *other, 1);
        (0..3).for_each(|_| drop(create_nodes(&mut *large, 1)));
        large.commit().unwrap();
        assert_eq!(other.commit().unwrap_err().code(), ErrorCode::Conflict);
        // One that has room after all commits as any other.
        let mut small = store.write_alone(isolation).unwrap();
        create_nodes(&mut *small, 1);
        small.commit().unwrap();
        assert_eq!(count(&store), before + 5);
    }
}

#[test]
fn rules_and_indexes_hold_over_stages() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let mut transaction = store.write().unwrap();
    let (label, key) = (transaction.label("P").unwrap(), transaction.property_key("k").unwrap());
    transaction.create_constraint(Constraint::unique("keys", label, key), &Interrupt::new()).unwrap();
    let index = Index { name: "ordered".into(), subject: Subject::Label(label), keys: vec![key] };
    transaction.create_index(index, &Interrupt::new()).unwrap();
    create_nodes(&mut *transaction, 4);
    let taken = [Column::new(ColumnData::Int(vec![3]))];
    let new = NewNodes { count: 1, labels: &[label], keys: &[key], properties: &taken };
    assert_eq!(transaction.create_nodes(&new).unwrap_err().code(), ErrorCode::Constraint);
    let nodes = transaction.view().lookup(label, key, &taken[0]).unwrap();
    let node = model::store::nodes_of(&nodes)[0].unwrap();
    transaction.delete_nodes(&[node]).unwrap();
    transaction.create_nodes(&new).unwrap();
    create_edges(&mut *transaction, &[], 0);
    transaction.commit().unwrap();
    assert_eq!(count(&store), 4);
    drop(store);
    let store = directory.open_with(options());
    let mut transaction = store.write().unwrap();
    assert_eq!(transaction.create_nodes(&new).unwrap_err().code(), ErrorCode::Constraint);
    drop((transaction, store));
    numbered::check_files(&directory.platform(), directory.path());
}

#[test]
fn a_disk_that_is_full_at_any_operation_undoes_the_transaction_alone() {
    let path = Path::new("/stores/test.knot");
    for operation in 0.. {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
        let platform = platform(Arc::new(disk.clone()), 7);
        let options = OpenOptions { durability: Durability::Full, ..options() };
        let store = NativeStore::open(path, options, platform.clone()).unwrap();
        let start = disk.operation_count();
        let mut transaction = store.write().unwrap();
        let label = transaction.label("P").unwrap();
        let new = NewNodes { count: 2, labels: &[label], keys: &[], properties: &[] };
        disk.fill_at(start + operation);
        let made = (0..3).try_for_each(|_| transaction.create_nodes(&new).map(drop));
        let result = made.and_then(|()| transaction.commit());
        let is_past = disk.operation_count() <= start + operation;
        disk.mend();
        if let Err(error) = &result {
            assert_eq!(error.code(), ErrorCode::DiskFull, "operation {operation}: {error:?}");
        }
        let before = count(&store);
        assert_eq!(before, if result.is_ok() { 6 } else { 0 }, "operation {operation}");
        let left = numbered::leftovers(&platform, path);
        assert!(left.is_empty(), "operation {operation}, {result:?}: {left:?}");
        if is_past {
            assert!(result.is_ok() && operation > 20, "operation {operation}: {result:?}");
            return;
        }
        drop(store);
        let store = NativeStore::open(path, options, platform).unwrap();
        assert!([0, 6].contains(&count(&store)), "operation {operation}");
    }
}

#[test]
fn calls_of_many_rows_do_what_they_do_at_once() {
    const COUNT: usize = 20_000;
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let mut transaction = store.write().unwrap();
    let (label, key) = (transaction.label("P").unwrap(), transaction.property_key("k").unwrap());
    transaction.create_constraint(Constraint::unique("keys", label, key), &Interrupt::new()).unwrap();
    let nodes = create_nodes(&mut *transaction, COUNT);
    // Every node takes the value of another.
    let values = Column::new(ColumnData::Int((0..COUNT as i64).rev().collect()));
    transaction.set_node_properties(&nodes, key, &values).unwrap();
    let looked_up = transaction.view().lookup(label, key, &values).unwrap();
    let found: Vec<NodeId> = model::store::nodes_of(&looked_up).into_iter().flatten().collect();
    assert_eq!(found, nodes);
    let ends: Vec<_> = (0..COUNT).map(|at| (nodes[at * 7 % COUNT], nodes[at * 11 % COUNT])).collect();
    let edges = create_edges(&mut *transaction, &ends, 0);
    let n = transaction.property_key("n").unwrap();
    let doubled = Column::new(ColumnData::Int((0..COUNT as i64).map(|at| 2 * at).collect()));
    transaction.set_edge_properties(&edges, n, &doubled).unwrap();
    let expected: Vec<Option<i64>> = (0..COUNT as i64).map(|at| Some(2 * at)).collect();
    assert_eq!(numbers(transaction.view(), &edges), expected);
    // Some are named twice, far from each other.
    let twice: Vec<EdgeId> = edges[..COUNT / 2].iter().chain(&edges[..100]).copied().collect();
    transaction.delete_edges(&twice).unwrap();
    assert_eq!(transaction.view().statistics().edges, COUNT as u64 / 2);
    let other = transaction.label("Q").unwrap();
    transaction.add_labels(&nodes, &[other]).unwrap();
    transaction.remove_labels(&nodes[..COUNT / 2], &[other]).unwrap();
    assert_eq!(transaction.view().statistics().label(other), COUNT as u64 / 2);
    transaction.delete_edges(&edges[COUNT / 2..]).unwrap();
    let twice: Vec<NodeId> = nodes[..COUNT / 2].iter().chain(&nodes[..100]).copied().collect();
    transaction.delete_nodes(&twice).unwrap();
    assert_eq!(transaction.view().statistics().nodes, COUNT as u64 / 2);
    transaction.commit().unwrap();
    assert_eq!((count(&store), store.read().unwrap().statistics().edges), (COUNT as u64 / 2, 0));
    drop(store);
    numbered::check_files(&directory.platform(), directory.path());
}

#[test]
fn what_is_stopped_on_the_way_goes_back_to_the_savepoint() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let mut transaction = store.write().unwrap();
    create_nodes(&mut *transaction, 3);
    create_nodes(&mut *transaction, 3);
    let savepoint = transaction.savepoint();
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let listening = interrupt.listen();
    let (label, key) = (transaction.label("P").unwrap(), transaction.property_key("k").unwrap());
    let columns = [Column::new(ColumnData::Int((0..20_000).collect()))];
    let new = NewNodes { count: 20_000, labels: &[label], keys: &[key], properties: &columns };
    assert_eq!(transaction.create_nodes(&new).unwrap_err().code(), ErrorCode::Cancelled);
    drop(listening);
    transaction.rollback_to(savepoint).unwrap();
    assert_eq!(transaction.view().statistics().nodes, 6);
    create_nodes(&mut *transaction, 1);
    transaction.commit().unwrap();
    assert_eq!(count(&store), 7);
}

#[test]
fn a_turn_that_could_not_begin_is_nobodys() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let mut large = store.write().unwrap();
    (0..2).for_each(|_| drop(create_nodes(&mut *large, 3)));
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let listening = interrupt.listen();
    assert_eq!(store.write_alone(IsolationLevel::Snapshot).err().unwrap().code(), ErrorCode::Cancelled);
    drop((listening, large));
    assert!(store.write_alone(IsolationLevel::Snapshot).is_ok());
    let mut small = store.write().unwrap();
    create_nodes(&mut *small, 1);
    small.commit().unwrap();
    assert_eq!(count(&store), 1);
}

#[test]
fn a_log_longer_than_memory_is_put_into_files_or_stays_as_it_was() {
    let path = Path::new("/stores/test.knot");
    let little = OpenOptions { memtable_bytes_max: 500, maintenance: Maintenance::Inline, ..OpenOptions::create() };
    for operation in 0.. {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
        let platform = platform(Arc::new(disk.clone()), 7);
        let much = OpenOptions { memtable_bytes_max: usize::MAX, ..little };
        let store = NativeStore::open(path, much, platform.clone()).unwrap();
        for _ in 0..30 {
            let mut transaction = store.write().unwrap();
            let nodes = create_nodes(&mut *transaction, 4);
            create_edges(&mut *transaction, &[(nodes[0], nodes[1])], 0);
            transaction.commit().unwrap();
        }
        drop(store);
        let start = disk.operation_count();
        disk.fill_at(start + operation);
        let opened = NativeStore::open(path, little, platform.clone());
        let is_past = disk.operation_count() <= start + operation;
        if let Ok(store) = &opened {
            assert_eq!((count(store), store.memtable_bytes()), (120, 0), "operation {operation}");
        }
        drop(opened);
        disk.mend();
        for options in [little, much] {
            let store = NativeStore::open(path, options, platform.clone()).unwrap();
            let edges = store.read().unwrap().statistics().edges;
            assert_eq!((count(&store), edges), (120, 30), "operation {operation}");
            let mut transaction = store.write().unwrap();
            let nodes = create_nodes(&mut *transaction, 1);
            transaction.delete_nodes(&nodes).unwrap();
            transaction.commit().unwrap();
            drop(store);
            numbered::check_files(&platform, path);
        }
        if is_past {
            assert!(operation > 10, "{operation} operations");
            break;
        }
    }
}

/// Writes beyond memory in one transaction: makes nodes and edges, reads, changes and deletes some, goes back to a
/// savepoint.
fn write_beyond_memory(store: &NativeStore) -> model::Result<()> {
    let mut transaction = store.write()?;
    let (label, key) = (transaction.label("P")?, transaction.property_key("k")?);
    let (edge_type, number) = (transaction.edge_type("E")?, transaction.property_key("n")?);
    let columns = [Column::new(ColumnData::Int((0..500).collect()))];
    let new = NewNodes { count: 500, labels: &[label], keys: &[key], properties: &columns };
    let mut nodes = transaction.create_nodes(&new)?;
    let old: Vec<NodeId> = (0..nodes[0].0.min(500)).map(NodeId).collect();
    nodes.extend(old);
    let targets: Vec<NodeId> = nodes.iter().rev().copied().collect();
    let numbers = [Column::new(ColumnData::Int((0..nodes.len() as i64).collect()))];
    let edges = NewEdges { edge_type, sources: &nodes, targets: &targets, keys: &[number], properties: &numbers };
    let made = transaction.create_edges(&edges)?;
    let kept = transaction.savepoint();
    transaction.delete_edges(&made[..made.len() / 2])?;
    transaction.rollback_to(kept)?;
    transaction.set_edge_properties(&made, number, &Column::constant(&Value::Int(7), made.len()))?;
    let found = transaction.view().edge_properties(&made, &[number])?;
    assert!(found[0].values().all(|value| value == Value::Int(7)), "a transaction reads what it wrote");
    transaction.delete_edges(&made[..100])?;
    transaction.set_node_properties(&nodes, key, &Column::constant(&Value::Int(9), nodes.len()))?;
    transaction.commit()
}

/// Nodes, edges, and the sums of their numbers.
fn sums(store: &NativeStore) -> (u64, u64, i64, i64) {
    let view = store.read().unwrap();
    let sum = |column: &Column| column.values().map(|v| if let Value::Int(v) = v { v } else { 0 }).sum::<i64>();
    let nodes: Vec<NodeId> = (0..view.node_id_bound()).map(NodeId).collect();
    let (key, number) = (view.schema().property_key("k").unwrap(), view.schema().property_key("n").unwrap());
    let edges = edges_of(&*view, &nodes);
    let values =
        [&view.node_properties(&nodes, &[key]).unwrap()[0], &view.edge_properties(&edges, &[number]).unwrap()[0]]
            .map(sum);
    (view.statistics().nodes, edges.len() as u64, values[0], values[1])
}

#[test]
fn a_read_that_fails_undoes_the_transaction_alone() {
    let path = Path::new("/stores/test.knot");
    let origin = MemoryDisk::new();
    let open = |disk: &FaultyDisk| {
        let options = OpenOptions { memory_bytes_max: Some(1 << 20), maintenance: Maintenance::Inline, ..options() };
        NativeStore::open(path, options, platform(Arc::new(disk.clone()), 7)).unwrap()
    };
    let store = open(&FaultyDisk::new(Arc::new(origin.clone())));
    write_beyond_memory(&store).unwrap();
    let before = sums(&store);
    drop(store);
    let mut ended = 0;
    let mut after = None;
    for read in 0.. {
        let disk = FaultyDisk::new(Arc::new(origin.copy()));
        let store = open(&disk);
        let start = disk.read_count();
        // The first time nothing fails.
        disk.fail_read_at(if read == 0 { u64::MAX } else { start + read - 1 });
        let result = write_beyond_memory(&store);
        let is_past = read > 0 && disk.read_count() < start + read;
        disk.mend_reads();
        match &result {
            Ok(()) => assert_eq!(sums(&store), *after.get_or_insert_with(|| sums(&store)), "read {read}"),
            Err(error) => {
                assert_eq!(error.code(), ErrorCode::Io, "read {read}: {error:?}");
                assert_eq!(sums(&store), before, "read {read}: {error:?}");
                write_beyond_memory(&store).unwrap_or_else(|error| panic!("read {read}, once more: {error:?}"));
                ended += 1;
            }
        }
        drop(store);
        let store = open(&disk);
        assert_eq!(Some(sums(&store)), after, "read {read}, opened again");
        drop(store);
        numbered::check_files(&platform(Arc::new(disk.clone()), 7), path);
        if is_past {
            assert!(ended > 20, "{ended} of {read} reads ended the transaction");
            return;
        }
    }
}
