//! Writing on a disk that has become full: whatever found no room before, each commit ends at once, with success or with
//! `DISK_FULL`; a transaction that only deletes succeeds; and writing goes on when there is room again, without reopening.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::store::NewNodes;
use model::{Column, ErrorCode, GraphStore, Index, Interrupt, NodeId, Result, Subject, Value};
use storage::levels::Policy;
use storage::{Maintenance, NativeStore, OpenOptions};
use testing::simulation::{FaultyDisk, MemoryDisk, platform};

use crate::numbered;

const PATH: &str = "/stores/test.knot";
const MEMTABLE_BYTES: usize = 3_000;
/// Time within which each call must end. Threads of the store try again what found no room up to a minute later: a call
/// that waits for that instead of for what it asked for takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

fn options(maintenance: Maintenance) -> OpenOptions {
    let compaction = Policy { level0_edges: 4, fanout: 2, ..Policy::default() };
    OpenOptions { memtable_bytes_max: MEMTABLE_BYTES, maintenance, compaction, ..OpenOptions::create() }
}

/// The outcome of a call, which must end in time: success, or `DISK_FULL`.
#[allow(clippy::disallowed_methods, reason = "threads wait for each other by the real clock")]
fn within_patience<T>(place: &str, call: impl FnOnce() -> Result<T>) -> Option<T> {
    let start = Instant::now();
    let outcome = call();
    assert!(start.elapsed() < PATIENCE, "{place}: took {:?}", start.elapsed());
    outcome.inspect_err(|error| assert_eq!(error.code(), ErrorCode::DiskFull, "{place}: {error:?}")).ok()
}

fn create(store: &NativeStore, count: usize, text: &str) -> Result<Vec<NodeId>> {
    let mut transaction = store.write()?;
    let (label, key) = (transaction.label("T")?, transaction.property_key("s")?);
    let values = Column::constant(&Value::string(text), count);
    let new = NewNodes { count, labels: &[label], keys: &[key], properties: &[values] };
    let nodes = transaction.create_nodes(&new)?;
    transaction.commit().map(|()| nodes)
}

fn delete(store: &NativeStore, nodes: &[NodeId]) -> Result<()> {
    let mut transaction = store.write()?;
    transaction.delete_nodes(nodes)?;
    transaction.commit()
}

fn create_index(store: &NativeStore) -> Result<()> {
    let mut transaction = store.write()?;
    let (label, key) = (transaction.label("T")?, transaction.property_key("s")?);
    transaction.create_index(
        Index { name: "texts".into(), subject: Subject::Label(label), keys: vec![key] },
        &Interrupt::new(),
    )?;
    transaction.commit()
}

fn count(store: &NativeStore) -> u64 {
    store.read().unwrap().statistics().nodes
}

/// Fills a store, with a disk that is full from an operation on, by everything that writes files; then compares what the
/// commits said with what is there, now, when there is room again, and after opening anew. True if all went well before
/// the disk was full.
fn is_past(maintenance: Maintenance, operation: u64) -> bool {
    let place = format!("{maintenance:?}, full at operation {operation}");
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
    let platform = platform(Arc::new(disk.clone()), 21);
    let open = || NativeStore::open(Path::new(PATH), options(maintenance), platform.clone()).unwrap();
    let store = open();
    let mut left = create(&store, 20, "in a file").unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    left.extend(create(&store, 20, "in memory").unwrap());
    let full_at = disk.operation_count() + operation;
    disk.fill_at(full_at);
    within_patience(&place, || create_index(&store));
    within_patience(&place, || store.checkpoint(&Interrupt::new()));
    // So much that the memtable must be in files before more is let in.
    let long = "x".repeat(MEMTABLE_BYTES);
    for _ in 0..6 {
        left.extend(within_patience(&place, || create(&store, 2, &long)).unwrap_or_default());
    }
    within_patience(&place, || store.compact(&Interrupt::new()));
    let is_past = disk.operation_count() <= full_at;
    for round in 0..4 {
        let gone: Vec<NodeId> = left.drain(..5).collect();
        let deleted = within_patience(&place, || delete(&store, &gone));
        assert!(deleted.is_some(), "{place}: deletion {round} was refused");
        left.extend(within_patience(&place, || create(&store, 2, &long)).unwrap_or_default());
        within_patience(&place, || store.checkpoint(&Interrupt::new()));
    }
    assert_eq!(count(&store), left.len() as u64, "{place}");
    disk.mend();
    left.extend(create(&store, 3, &long).unwrap_or_else(|error| panic!("{place}: with room again: {error:?}")));
    store.compact(&Interrupt::new()).unwrap();
    left.extend(create(&store, 1, &long).unwrap());
    assert_eq!(count(&store), left.len() as u64, "{place}");
    drop(store);
    let store = open();
    assert_eq!(count(&store), left.len() as u64, "{place}");
    delete(&store, &left).unwrap();
    assert_eq!(count(&store), 0, "{place}");
    drop(store);
    numbered::check_files(&platform, Path::new(PATH));
    is_past
}

#[test]
fn writing_ends_and_deleting_goes_on_wherever_the_disk_became_full() {
    let operations = (0..).find(|&operation| is_past(Maintenance::Inline, operation)).unwrap_or_default();
    assert!(operations > 100, "only {operations} operations");
    // Threads of the store do what they do in an order of their own.
    (0..operations).step_by(7).for_each(|operation| {
        is_past(Maintenance::Background, operation);
    });
}

#[test]
fn a_commit_hears_of_a_flush_that_fails_before_it_has_begun_to_wait() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
    let platform = platform(Arc::new(disk.clone()), 22);
    let store = NativeStore::open(Path::new(PATH), options(Maintenance::Background), platform).unwrap();
    create(&store, 1, "first").unwrap();
    disk.fill_but_for(1 << 20);
    let long = "x".repeat(MEMTABLE_BYTES);
    let refused = (0..2_000).filter(|_| within_patience("many commits", || create(&store, 1, &long)).is_none()).count();
    assert!(refused > 1_900, "{refused} commits were refused");
}
