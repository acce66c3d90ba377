//! A disk that fails at every possible operation: full from then on, failing once, or losing power.
//!
//! What was acknowledged stays visible and is there after reopening. A log that could not be written closes the store for
//! writing; files that could not be written do not, and are written when there is room again.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use model::platform::Platform;
use model::{Error, ErrorCode, GraphStore, Interrupt};
use storage::compact::Policy;
use storage::{Maintenance, NativeStore, OpenOptions};
use testing::random::seed_or;
use testing::simulation::{FaultyDisk, MemoryDisk, platform};

use crate::numbered::{self, commit_number};

const COMMITS: u64 = 6;
const PATH: &str = "/stores/test.knot";

fn options() -> OpenOptions {
    OpenOptions { memtable_bytes_max: 3_000, ..OpenOptions::create() }
}

/// What the commits and the checkpoint came to: the last number acknowledged, and the first error.
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
        assert_eq!(acknowledged, COMMITS, "a store whose log could not be written refuses writes: {error:?}");
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
