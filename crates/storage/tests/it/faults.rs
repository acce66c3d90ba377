//! A disk that fails at every possible operation: full from then on, failing once, or losing power.
//!
//! All that was acknowledged stays visible and is there after reopening. A transaction for which a full disk has no room fails
//! alone, and files that could not be written are written when there is room again. A log that could not be written, since
//! the disk failed or cannot take room beforehand, closes the store for writing.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use model::platform::Platform;
use model::store::NewNodes;
use model::{Error, ErrorCode, ErrorDetail, GraphStore, Interrupt};
use storage::levels::Policy;
use storage::{Maintenance, NativeStore, OpenOptions};
use testing::random::seed_or;
use testing::simulation::{FaultyDisk, MemoryDisk, platform};

use crate::numbered::{self, commit_number};

const COMMITS: u64 = 6;
const PATH: &str = "/stores/test.knot";

fn options() -> OpenOptions {
    OpenOptions { memtable_bytes_max: 3_000, ..OpenOptions::create() }
}

/// Outcome of the commits and the checkpoint: the last number acknowledged, and the first error.
struct Run {
    acknowledged: u64,
    error: Option<Error>,
}

/// Commits on a store, some with a flush, then a checkpoint.
fn run(platform: &Platform) -> Run {
    let mut acknowledged = 0;
    let store = match NativeStore::open(Path::new(PATH), options(), platform.clone()) {
        Ok(store) => store,
        Err(error) => return Run { acknowledged, error: Some(error) },
    };
    let mut error = None;
    for number in 1..=COMMITS {
        match commit_number(&store, number) {
            Ok(()) => acknowledged = number,
            Err(found) => {
                error = Some(found);
                break;
            }
        }
    }
    let error = error.or_else(|| store.checkpoint(&Interrupt::new()).err());
    if let Err(refused) = store.write() {
        assert_eq!(refused.code(), ErrorCode::Closed, "{refused:?}");
        assert!(refused.message().contains(PATH), "{refused:?}");
    } else if error.is_some() {
        let found = numbered::check(&*store.read().unwrap());
        assert_eq!(found, acknowledged, "a store that does not refuse writes has what it acknowledged: {error:?}");
    }
    Run { acknowledged, error }
}

/// Opens what is left, checks it, and goes on.
fn check_what_is_left(platform: &Platform, acknowledged: u64, place: &str) {
    let store = NativeStore::open(Path::new(PATH), options(), platform.clone()).unwrap();
    let found = numbered::check(&*store.read().unwrap());
    assert!(found == acknowledged || found == acknowledged + 1, "{place}: {found} found, {acknowledged} acknowledged");
    commit_number(&store, found + 1).unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    assert_eq!(numbered::check(&*store.read().unwrap()), found + 1, "{place}");
    drop(store);
    numbered::check_files(platform, Path::new(PATH));
    let names = platform.disk.list(Path::new(PATH)).unwrap();
    assert_eq!(names.iter().filter(|name| name.ends_with(".wal")).count(), 1, "{place}: {names:?}");
}

/// Runs with a fault at each operation in turn, until the run ends before the fault.
fn check(name: &str, set_fault: impl Fn(&FaultyDisk, u64), code: ErrorCode, loses_power: bool) {
    let seed = seed_or(17);
    for operation in 0.. {
        let place = format!("seed {seed}, {name} at operation {operation}");
        let inner = Arc::new(MemoryDisk::new());
        let disk = FaultyDisk::new(inner.clone());
        set_fault(&disk, operation);
        let Run { acknowledged, error } = run(&platform(Arc::new(disk.clone()), seed));
        let is_past = disk.operation_count() <= operation;
        if let Some(error) = &error {
            assert!([code, ErrorCode::Closed].contains(&error.code()), "{place}: {error:?}");
        }
        if loses_power {
            disk.lose_unsynced(if operation % 3 == 0 { None } else { Some(seed + operation) }).unwrap();
        }
        check_what_is_left(&platform(inner, seed + 1), acknowledged, &place);
        if is_past {
            assert!(error.is_none(), "{place}: {error:?}");
            assert!(operation > 50, "the run has only {operation} operations");
            return;
        }
    }
}

#[test]
fn a_disk_full_at_any_operation_loses_nothing_acknowledged() {
    check("full", FaultyDisk::fill_at, ErrorCode::DiskFull, false);
    let fill = |disk: &FaultyDisk, operation| disk.clone().without_reserve().fill_at(operation);
    check("full, no room taken beforehand", fill, ErrorCode::DiskFull, false);
}

#[test]
fn nor_does_a_disk_that_fails_once() {
    check("failure", |disk, operation| disk.fail_at(operation, ErrorKind::PermissionDenied), ErrorCode::Io, false);
}

#[test]
fn nor_does_a_power_cut() {
    check("power cut", FaultyDisk::crash_at, ErrorCode::Io, true);
}

#[test]
fn files_are_written_when_there_is_room_again_without_opening_anew() {
    let options = OpenOptions {
        memtable_bytes_max: usize::MAX,
        maintenance: Maintenance::Inline,
        compaction: Policy { level0_edges: 4, fanout: 2, ..Policy::default() },
        ..OpenOptions::create()
    };
    for operation in 0.. {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
        let platform = platform(Arc::new(disk.clone()), 11);
        let store = NativeStore::open(Path::new(PATH), options, platform.clone()).unwrap();
        commit_number(&store, 1).unwrap();
        store.checkpoint(&Interrupt::new()).unwrap();
        commit_number(&store, 2).unwrap();
        let start = disk.operation_count();
        disk.fill_at(start + operation);
        let written = store.compact(&Interrupt::new());
        let is_past = disk.operation_count() <= start + operation;
        if let Err(error) = &written {
            assert_eq!(error.code(), ErrorCode::DiskFull, "operation {operation}: {error:?}");
        }
        disk.mend();
        assert_eq!(numbered::check(&*store.read().unwrap()), 2, "operation {operation}");
        commit_number(&store, 3).unwrap_or_else(|error| panic!("operation {operation}: {error:?} after {written:?}"));
        store.compact(&Interrupt::new()).unwrap();
        assert_eq!(numbered::check(&*store.read().unwrap()), 3, "operation {operation}");
        drop(store);
        let store = NativeStore::open(Path::new(PATH), options, platform.clone()).unwrap();
        assert_eq!(numbered::check(&*store.read().unwrap()), 3, "operation {operation}");
        drop(store);
        numbered::check_files(&platform, Path::new(PATH));
        if is_past {
            assert!(written.is_ok() && operation > 20, "operation {operation}: {written:?}");
            return;
        }
    }
}

/// Flushes and merges of all kinds: `Ok` if there was nothing to fail at any more.
fn flush_and_merge(store: &NativeStore) -> model::Result<()> {
    store.checkpoint(&Interrupt::new())?;
    commit_number(store, 3)?;
    store.compact(&Interrupt::new())
}

#[test]
fn flushes_and_merges_that_fail_leave_no_files() {
    let policy = Policy { level0_edges: 4, fanout: 2, ..Policy::default() };
    let options = OpenOptions { memtable_bytes_max: usize::MAX, compaction: policy, ..OpenOptions::create() };
    let options = OpenOptions { maintenance: Maintenance::Inline, ..options };
    type Fault = fn(&FaultyDisk, u64);
    let faults: [Fault; 2] = [FaultyDisk::fill_at, |disk, at| disk.fail_at(at, ErrorKind::PermissionDenied)];
    for set_fault in faults {
        let mut failed_with_files = 0;
        for operation in 0.. {
            let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
            let platform = platform(Arc::new(disk.clone()), 18);
            let store = NativeStore::open(Path::new(PATH), options, platform.clone()).unwrap();
            commit_number(&store, 1).unwrap();
            store.checkpoint(&Interrupt::new()).unwrap();
            commit_number(&store, 2).unwrap();
            let version = store.version();
            let (start, number) = (disk.operation_count(), version.numbers().next());
            set_fault(&disk, start + operation);
            let written = flush_and_merge(&store);
            let is_past = disk.operation_count() <= start + operation;
            disk.mend();
            drop(version);
            // A failure just behind the moment of replacing the manifest closes the store, and a file that cannot be removed stays:
            // opening tidies up both.
            if store.write().is_ok() && (is_past || written.is_err()) {
                failed_with_files += u64::from(written.is_err() && store.version().numbers().next() > number);
                let left = numbered::leftovers(&platform, Path::new(PATH));
                assert!(left.is_empty(), "operation {operation}, {written:?}: {left:?}");
            }
            if is_past {
                assert!(written.is_ok() && failed_with_files > 40, "{failed_with_files} of {operation}: {written:?}");
                break;
            }
        }
    }
}

#[test]
fn commits_go_on_when_there_is_room_again_without_opening_anew() {
    let options = OpenOptions { maintenance: Maintenance::Inline, ..options() };
    let mut refused = 0;
    for operation in 0.. {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
        let platform = platform(Arc::new(disk.clone()), 12);
        let store = NativeStore::open(Path::new(PATH), options, platform.clone()).unwrap();
        let place = disk.operation_count() + operation;
        disk.fill_at(place);
        let mut number = 1;
        while number <= COMMITS
            && let written = commit_number(&store, number)
            && written.is_ok()
        {
            number += 1;
        }
        let is_past = disk.operation_count() <= place;
        if number <= COMMITS {
            refused += 1;
            for _ in 0..2 {
                let error = commit_number(&store, number).unwrap_err();
                assert_eq!(error.code(), ErrorCode::DiskFull, "operation {operation}: {error:?}");
            }
            assert_eq!(numbered::check(&*store.read().unwrap()), number - 1, "operation {operation}");
        }
        disk.mend();
        (number..=COMMITS + 1).for_each(|number| {
            commit_number(&store, number).unwrap_or_else(|error| panic!("operation {operation}: {error:?}"));
        });
        drop(store);
        let store = NativeStore::open(Path::new(PATH), options, platform.clone()).unwrap();
        assert_eq!(numbered::check(&*store.read().unwrap()), COMMITS + 1, "operation {operation}");
        drop(store);
        numbered::check_files(&platform, Path::new(PATH));
        if is_past {
            assert!(operation > 20 && refused > 0, "{operation} operations, {refused} refused commits");
            return;
        }
    }
}

#[test]
fn a_commit_that_waits_for_a_flush_that_fails_hears_all_of_its_error() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
    let platform = platform(Arc::new(disk.clone()), 19);
    let store = NativeStore::open(Path::new(PATH), options(), platform).unwrap();
    // Commits write into the log that is there; a flush makes a new one.
    disk.forbid(Path::new(PATH));
    let error = (1..1_000).find_map(|number| commit_number(&store, number).err()).expect("the memtable has a limit");
    assert_eq!((error.code(), error.detail()), (ErrorCode::Io, Some(ErrorDetail::PermissionDenied)), "{error:?}");
    assert!(error.remedy().contains("give this user the right"), "{error:?}");
    disk.allow();
    let found = numbered::check(&*store.read().unwrap());
    store.checkpoint(&Interrupt::new()).unwrap();
    commit_number(&store, found + 1).unwrap();
}

#[test]
fn a_full_disk_keeps_nobody_from_deleting() {
    const NODES: usize = 400;
    let inner = MemoryDisk::new();
    let disk = FaultyDisk::new(Arc::new(inner.clone()));
    let store =
        NativeStore::open(Path::new(PATH), OpenOptions::create(), platform(Arc::new(disk.clone()), 13)).unwrap();
    let make = |count| {
        let mut transaction = store.write()?;
        let nodes = transaction.create_nodes(&NewNodes { count, labels: &[], keys: &[], properties: &[] })?;
        transaction.commit().map(|()| nodes)
    };
    let nodes = make(NODES).unwrap();
    disk.fill_at(0);
    // Uses up the step that was taken last.
    let mut made = 0;
    let error = loop {
        match make(1) {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), ErrorCode::DiskFull, "{error:?}");
    for chunk in nodes.chunks(2) {
        let mut transaction = store.write().unwrap();
        transaction.delete_nodes(chunk).unwrap();
        transaction.commit().unwrap();
        assert_eq!(make(1).unwrap_err().code(), ErrorCode::DiskFull);
    }
    let count = |store: &NativeStore| store.read().unwrap().statistics().nodes;
    assert_eq!(count(&store), made);
    // As after a kill.
    let copy = platform(Arc::new(inner.copy()), 14);
    let reopened = NativeStore::open(Path::new(PATH), OpenOptions::create(), copy).unwrap();
    assert_eq!(count(&reopened), made);
    disk.mend();
    make(7).unwrap();
    assert_eq!(count(&store), made + 7);
}

#[test]
fn a_full_disk_keeps_nobody_from_deleting_in_a_store_that_is_opened_anew() {
    const NODES: usize = 4_000;
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
    let platform = platform(Arc::new(disk.clone()), 29);
    let open = || NativeStore::open(Path::new(PATH), OpenOptions::create(), platform.clone()).unwrap();
    let make = |store: &NativeStore, count| {
        let mut transaction = store.write()?;
        let nodes = transaction.create_nodes(&NewNodes { count, labels: &[], keys: &[], properties: &[] })?;
        transaction.commit().map(|()| nodes)
    };
    let nodes = make(&open(), NODES).unwrap();
    // Less than what is kept for deleting; a closed store holds no room.
    disk.fill_but_for(64 << 10);
    for chunk in nodes.chunks(500) {
        let store = open();
        let mut transaction = store.write().unwrap();
        transaction.delete_nodes(chunk).unwrap();
        transaction.commit().unwrap();
        assert_eq!(make(&store, 1).unwrap_err().code(), ErrorCode::DiskFull);
    }
    assert_eq!(open().read().unwrap().statistics().nodes, 0);
    disk.mend();
    make(&open(), 1).unwrap();
}

#[test]
fn a_store_whose_files_found_no_room_opens_on_the_full_disk() {
    let options =
        OpenOptions { maintenance: Maintenance::Inline, memtable_bytes_max: usize::MAX, ..OpenOptions::create() };
    let mut failed = 0;
    for operation in 0.. {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
        let platform = platform(Arc::new(disk.clone()), 15);
        let open = || NativeStore::open(Path::new(PATH), options, platform.clone());
        let store = open().unwrap();
        (1..=4).for_each(|number| commit_number(&store, number).unwrap());
        let start = disk.operation_count();
        disk.fill_at(start + operation);
        let written = store.checkpoint(&Interrupt::new());
        let is_past = disk.operation_count() <= start + operation;
        drop(store);
        let place = format!("operation {operation}, {written:?}");
        if written.is_err() {
            failed += 1;
            let store = open().unwrap_or_else(|error| panic!("{place}: {error:?}"));
            assert_eq!(numbered::check(&*store.read().unwrap()), 4, "{place}");
        }
        disk.mend();
        let store = open().unwrap();
        commit_number(&store, 5).unwrap();
        store.checkpoint(&Interrupt::new()).unwrap();
        drop(store);
        assert_eq!(numbered::check(&*open().unwrap().read().unwrap()), 5, "{place}");
        numbered::check_files(&platform, Path::new(PATH));
        if is_past {
            assert!(failed > 10, "{failed} checkpoints failed");
            return;
        }
    }
}

#[test]
fn without_a_free_slot_nothing_is_written_and_nothing_is_lost() {
    let disk = MemoryDisk::new();
    let platform = platform(Arc::new(disk.clone()), 16);
    let options =
        OpenOptions { maintenance: Maintenance::Inline, memtable_bytes_max: usize::MAX, ..OpenOptions::create() };
    let store = NativeStore::open(Path::new(PATH), options, platform.clone()).unwrap();
    let (mut held, mut number) = (Vec::new(), 0);
    let refused = loop {
        number += 1;
        commit_number(&store, number).unwrap();
        if let Err(error) = store.checkpoint(&Interrupt::new()) {
            break error;
        }
        // Each of those who read keeps the partitions open that were there when it began.
        held.push(store.read().unwrap());
        assert!(number <= 4_096, "more partitions are open than there are slots");
    };
    assert_eq!(refused.code(), ErrorCode::Limit, "{refused:?}");
    assert!(refused.message().contains("4096 edge partitions") && refused.remedy().contains("end"), "{refused:?}");
    let files = disk.files().len();
    for _ in 0..3 {
        number += 1;
        commit_number(&store, number).unwrap();
        assert_eq!(store.checkpoint(&Interrupt::new()).unwrap_err().code(), ErrorCode::Limit);
    }
    assert_eq!(disk.files().len(), files, "what cannot be opened is not written");
    // As after a kill.
    let copy =
        NativeStore::open(Path::new(PATH), options, testing::simulation::platform(Arc::new(disk.copy()), 17)).unwrap();
    assert_eq!(numbered::check(&*copy.read().unwrap()), number);
    drop(held);
    store.checkpoint(&Interrupt::new()).unwrap();
    number += 1;
    commit_number(&store, number).unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    assert_eq!(numbered::check(&*store.read().unwrap()), number);
    drop(store);
    numbered::check_files(&platform, Path::new(PATH));
}
