//! Backups: taken under writers they hold a prefix of the commits; damage, faults and interruptions never leave a half
//! one that opens.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::platform::{Disk, Platform};
use model::{ErrorCode, GraphStore, Interrupt};
use storage::backup::{backup, restore};
use storage::{Durability, NativeStore, OpenOptions};
use testing::differential::{Content, apply_to_both, random_operations};
use testing::random::{SeededRandom, seed_or};
use testing::reference_store::ReferenceStore;
use testing::simulation::{FaultyDisk, MemoryDisk, platform};

use crate::directory::TestDirectory;
use crate::numbered::{self, commit_number};

const STORE: &str = "/stores/a.knot";
const BACKUP: &str = "/backups/a";
const COPY: &str = "/stores/copy.knot";
/// A backup that is there before, and a copy that is made.
const OLDER: &str = "/backups/older";
const NEW: &str = "/backups/new";

fn options() -> OpenOptions {
    OpenOptions { memtable_bytes_max: 20_000, ..OpenOptions::create() }
}

fn open(platform: &Platform, path: &str) -> NativeStore {
    NativeStore::open(Path::new(path), options(), platform.clone()).unwrap()
}

/// A store with `commits` numbered transactions; those behind the middle are in the log.
fn store_with(platform: &Platform, commits: u64) -> NativeStore {
    let store = open(platform, STORE);
    for number in 1..=commits {
        commit_number(&store, number).unwrap();
        if number == commits / 2 {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
    }
    store
}

fn remove(disk: &dyn Disk, path: &str) {
    let path = Path::new(path);
    disk.list(path).unwrap().iter().for_each(|name| disk.remove(&path.join(name)).unwrap());
    disk.remove_directory(path).unwrap();
}

/// Restores a backup, checks the copy, goes on with it, and gives how many numbered transactions it holds.
fn restored_count(platform: &Platform, backup: &str) -> u64 {
    restore(platform, Path::new(backup), Path::new(COPY), &Interrupt::new()).unwrap();
    numbered::check_files(platform, Path::new(COPY));
    let store = open(platform, COPY);
    let found = numbered::check(&*store.read().unwrap());
    commit_number(&store, found + 1).unwrap();
    assert_eq!(numbered::check(&*store.read().unwrap()), found + 1);
    drop(store);
    remove(&*platform.disk, COPY);
    found
}

#[test]
fn what_was_committed_comes_back() {
    for commits in [0, 1, 2, 7] {
        let platform = platform(Arc::new(MemoryDisk::new()), 3);
        let store = store_with(&platform, commits);
        let summary = store.backup(Path::new(BACKUP), None, &Interrupt::new()).unwrap();
        assert!(summary.bytes_copied > 0 && summary.files_linked == 0, "{summary:?}");
        // Commits made later are not in it.
        commit_number(&store, commits + 1).unwrap();
        drop(store);
        numbered::check_files(&platform, Path::new(BACKUP));
        assert_eq!(restored_count(&platform, BACKUP), commits);
        let error = NativeStore::open(Path::new(BACKUP), options(), platform.clone()).err().unwrap();
        assert_eq!(error.code(), ErrorCode::ReadOnly, "{error}");
        let reader = NativeStore::open(Path::new(BACKUP), OpenOptions::read_only(), platform.clone()).unwrap();
        assert_eq!(numbered::check(&*reader.read().unwrap()), commits);
    }
}

#[test]
fn where_a_copy_cannot_go() {
    let directory = TestDirectory::new();
    let (platform, store) = (directory.platform(), directory.open());
    commit_number(&store, 1).unwrap();
    let file = TestDirectory::new();
    directory.write(file.path(), b"text");
    let other = TestDirectory::new();
    drop(other.open());
    let full = TestDirectory::new();
    platform.disk.create_directory(full.path()).unwrap();
    directory.write(&full.path().join("holiday.jpg"), b"picture");
    let check = |to: &Path, words: &str| {
        for error in [
            store.backup(to, None, &Interrupt::new()).unwrap_err(),
            backup(&platform, directory.path(), to, None, &Interrupt::new()).unwrap_err(),
            restore(&platform, directory.path(), to, &Interrupt::new()).unwrap_err(),
        ] {
            assert_eq!(error.code(), ErrorCode::File, "{error}");
            assert!(error.message().contains(words) && !error.remedy().is_empty(), "{error}");
        }
    };
    check(file.path(), "a file is there");
    check(other.path(), "a store is there already");
    check(full.path(), "holiday.jpg");
    check(directory.path(), "cannot lie in");
    check(&directory.path().join("backup"), "cannot lie in");
    check(directory.path().parent().unwrap(), "nor hold it");
    assert_eq!(platform.disk.list(full.path()).unwrap(), ["holiday.jpg"]);
    // Bases must be backups of the same store.
    let to = TestDirectory::new();
    let error = store.backup(to.path(), Some(other.path()), &Interrupt::new()).unwrap_err();
    assert!(error.message().contains("no backup"), "{error}");
    let foreign = TestDirectory::new();
    other.open().backup(foreign.path(), None, &Interrupt::new()).unwrap();
    let error = store.backup(to.path(), Some(foreign.path()), &Interrupt::new()).unwrap_err();
    assert!(error.message().contains("another store"), "{error}");
    assert!(!platform.disk.exists(to.path()));
}

#[test]
fn a_later_backup_shares_the_files_of_its_base() {
    let directory = TestDirectory::new();
    let store = directory.open();
    (1..=4).for_each(|number| commit_number(&store, number).unwrap());
    store.checkpoint(&Interrupt::new()).unwrap();
    let (first, second, copy) = (TestDirectory::new(), TestDirectory::new(), TestDirectory::new());
    let whole = store.backup(first.path(), None, &Interrupt::new()).unwrap();
    commit_number(&store, 5).unwrap();
    let shared = store.backup(second.path(), Some(first.path()), &Interrupt::new()).unwrap();
    assert_eq!(shared.files_linked, whole.files_copied - 1, "all but the log");
    // Each is independent of the other.
    drop(first);
    restore(&second.platform(), second.path(), copy.path(), &Interrupt::new()).unwrap();
    assert_eq!(numbered::check(&*copy.open().read().unwrap()), 5);
}

#[test]
fn a_backup_under_writers_is_a_prefix() {
    let directory = TestDirectory::new();
    let store = directory.open_with(OpenOptions { memtable_bytes_max: 200_000, ..OpenOptions::create() });
    commit_number(&store, 1).unwrap();
    let (acknowledged, is_over) = (AtomicU64::new(1), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 2.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                commit_number(&store, number).unwrap();
                acknowledged.store(number, Ordering::SeqCst);
            }
        });
        for round in 0..16 {
            let (to, copy) = (TestDirectory::new(), TestDirectory::new());
            let before = acknowledged.load(Ordering::SeqCst);
            // By the store itself, and as another process does it.
            let taken = match round % 2 {
                0 => store.backup(to.path(), None, &Interrupt::new()),
                _ => backup(&to.platform(), directory.path(), to.path(), None, &Interrupt::new()),
            };
            let after = acknowledged.load(Ordering::SeqCst);
            let outcome = taken.and_then(|_| restore(&to.platform(), to.path(), copy.path(), &Interrupt::new()));
            if outcome.is_err() {
                is_over.store(true, Ordering::SeqCst);
            }
            outcome.unwrap();
            let found = numbered::check(&*copy.open().read().unwrap());
            numbered::check_files(&copy.platform(), copy.path());
            assert!((before..=after + 1).contains(&found), "round {round}: {before} to {after}, found {found}");
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_backup_under_random_writes_is_a_state_of_the_reference() {
    let seed = seed_or(51);
    let directory = TestDirectory::new();
    let options = OpenOptions { durability: Durability::Off, memtable_bytes_max: 4_000, ..OpenOptions::create() };
    let (store, reference) = (directory.open_with(options), ReferenceStore::new());
    let transactions = random_operations(seed, 24);
    let states = std::sync::Mutex::new(vec![Content::of(&*reference.read().unwrap())]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for transaction in &transactions {
                apply_to_both(&store, &reference, transaction);
                states.lock().unwrap().push(Content::of(&*reference.read().unwrap()));
            }
            is_over.store(true, Ordering::SeqCst);
        });
        while !is_over.load(Ordering::SeqCst) {
            let (to, copy) = (TestDirectory::new(), TestDirectory::new());
            let before = states.lock().unwrap().len();
            store.backup(to.path(), None, &Interrupt::new()).unwrap();
            restore(&to.platform(), to.path(), copy.path(), &Interrupt::new()).unwrap();
            let found = Content::of(&*copy.open().read().unwrap());
            // The state after the transaction that ran meanwhile may still be on its way into the list.
            let is_known = || states.lock().unwrap()[before - 1..].contains(&found);
            while !is_known() && !is_over.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            assert!(is_known(), "seed {seed}: the backup taken after {} transactions is no state", before - 1);
        }
    });
}

#[test]
fn a_flipped_bit_in_a_backup_is_found() {
    let seed = seed_or(53);
    let mut random = SeededRandom::new(seed);
    let disk = Arc::new(MemoryDisk::new());
    let platform = platform(disk.clone(), seed);
    store_with(&platform, 6).backup(Path::new(BACKUP), None, &Interrupt::new()).unwrap();
    for path in disk.files().into_iter().filter(|path| path.starts_with(BACKUP) && !path.ends_with("LOCK")) {
        let length = platform.disk.length(&path).unwrap() as usize;
        let places = (0..30).map(|_| random.index(length)).chain(length.saturating_sub(20)..length).chain(0..20);
        for place in places {
            let flip = |bytes: &mut Vec<u8>| bytes[place] ^= 1 << (place % 8);
            disk.corrupt(&path, flip).unwrap();
            let what = format!("seed {seed}: {} byte {place}", path.display());
            let codes = [ErrorCode::Corrupt, ErrorCode::Version, ErrorCode::NotAStore];
            // The copy of the manifest is made anew, not read.
            if !path.ends_with("MANIFEST.copy") {
                let error = restore(&platform, Path::new(BACKUP), Path::new(COPY), &Interrupt::new()).expect_err(&what);
                assert!(codes.contains(&error.code()), "{what}: {error}");
                assert!(!disk.exists(Path::new(COPY)), "{what}: nothing is left");
            }
            match storage::check::check(&platform, Path::new(BACKUP), &Interrupt::new()) {
                Ok(problems) => assert!(!problems.is_empty(), "{what}"),
                Err(error) => assert!(codes.contains(&error.code()), "{what}: {error}"),
            }
            disk.corrupt(&path, flip).unwrap();
        }
    }
    assert_eq!(restored_count(&platform, BACKUP), 6);
}

/// Takes a backup with a fault at each operation in turn, then takes it again.
fn check_faults(name: &str, set_fault: impl Fn(&FaultyDisk, u64), code: ErrorCode, loses_power: bool) {
    let seed = seed_or(57);
    for operation in 0.. {
        let place = format!("seed {seed}, {name} at operation {operation} of the backup");
        let inner = Arc::new(MemoryDisk::new());
        let sound = platform(inner.clone(), seed);
        let store = store_with(&sound, 4);
        let disk = FaultyDisk::new(inner.clone());
        let faulty = platform(Arc::new(disk.clone()), seed);
        set_fault(&disk, operation);
        let taken = backup(&faulty, Path::new(STORE), Path::new(BACKUP), None, &Interrupt::new());
        let is_past = disk.operation_count() <= operation;
        if loses_power {
            disk.lose_unsynced(if operation % 3 == 0 { None } else { Some(seed + operation) }).unwrap();
        } else if taken.is_err() && name == "full" {
            assert!(!inner.exists(Path::new(BACKUP)), "{place}: nothing is left");
        }
        match (&taken, NativeStore::open(Path::new(BACKUP), OpenOptions::read_only(), sound.clone())) {
            (_, Ok(reader)) => assert_eq!(numbered::check(&*reader.read().unwrap()), 4, "{place}"),
            (Ok(_), Err(error)) => panic!("{place}: the backup was taken, but: {error}"),
            (Err(found), Err(error)) => {
                assert_eq!(found.code(), code, "{place}: {found}");
                assert_eq!(error.code(), ErrorCode::NotAStore, "{place}: {error}");
                let again = backup(&sound, Path::new(STORE), Path::new(BACKUP), None, &Interrupt::new());
                again.unwrap_or_else(|error| panic!("{place}: a second attempt fails: {error}"));
            }
        }
        numbered::check_files(&sound, Path::new(BACKUP));
        assert_eq!(numbered::check(&*store.read().unwrap()), 4, "{place}");
        if is_past {
            assert!(operation > 20, "the backup has only {operation} operations");
            return;
        }
    }
}

#[test]
fn a_backup_on_a_disk_that_fills_leaves_nothing() {
    check_faults("full", FaultyDisk::fill_at, ErrorCode::DiskFull, false);
}

#[test]
fn a_backup_on_a_disk_that_fails_once_is_whole_or_none() {
    check_faults("failure", |disk, at| disk.fail_at(at, ErrorKind::PermissionDenied), ErrorCode::Io, false);
}

#[test]
fn a_backup_in_a_power_cut_is_whole_or_none() {
    check_faults("power cut", FaultyDisk::crash_at, ErrorCode::Io, true);
}

/// Copies with each read failing in turn; gives how many reads there were, and how many of them ended the copy.
fn check_reads(what: &str, copy: impl Fn(&Platform) -> model::Result<()>) -> (u64, u64) {
    let seed = seed_or(59);
    let origin = MemoryDisk::new();
    drop(store_with(&platform(Arc::new(origin.clone()), seed), 4));
    let sound = platform(Arc::new(origin.clone()), seed);
    backup(&sound, Path::new(STORE), Path::new(OLDER), None, &Interrupt::new()).unwrap();
    let mut failed = 0;
    for read in 0.. {
        let place = format!("seed {seed}, {what}: read {read} fails");
        let inner = origin.copy();
        let copies = || inner.files().into_iter().filter(|path| path.starts_with("/backups")).collect::<Vec<_>>();
        let before = copies();
        let disk = FaultyDisk::new(Arc::new(inner.clone()));
        disk.fail_read_at(read);
        let copied = copy(&platform(Arc::new(disk.clone()), seed));
        let is_past = disk.read_count() <= read;
        disk.mend_reads();
        let sound = platform(Arc::new(inner.clone()), seed);
        if let Err(error) = &copied {
            assert_eq!(error.code(), ErrorCode::Io, "{place}: {error}");
            assert!(error.message().contains("/stores/a.knot") || error.message().contains(OLDER), "{place}: {error}");
            assert_eq!(copies(), before, "{place}: something is left");
            failed += 1;
            copy(&sound).unwrap_or_else(|error| panic!("{place}: a second attempt fails: {error}"));
        }
        let reader = NativeStore::open(Path::new(NEW), OpenOptions::read_only(), sound.clone()).unwrap();
        assert_eq!(numbered::check(&*reader.read().unwrap()), 4, "{place}");
        numbered::check_files(&sound, Path::new(NEW));
        if is_past {
            return (read, failed);
        }
    }
    unreachable!("some read is past the last")
}

#[test]
fn a_read_that_fails_leaves_no_copy() {
    let (from, older, new) = (Path::new(STORE), Path::new(OLDER), Path::new(NEW));
    let interrupt = Interrupt::new();
    let all = [
        check_reads("backup", |platform| backup(platform, from, new, None, &interrupt).map(drop)),
        check_reads("with a base", |platform| backup(platform, from, new, Some(older), &interrupt).map(drop)),
        check_reads("restore", |platform| restore(platform, older, new, &interrupt).map(drop)),
        check_reads("by the open store", |platform| {
            NativeStore::open(from, options(), platform.clone())?.backup(new, None, &interrupt).map(drop)
        }),
    ];
    assert!(
        all.iter().all(|(reads, failed)| *reads >= 20 && *failed >= *reads / 2),
        "reads, and those that ended a copy: {all:?}"
    );
}

#[test]
fn a_cancelled_copy_leaves_nothing() {
    let platform = platform(Arc::new(MemoryDisk::new()), 3);
    let store = store_with(&platform, 4);
    let cancelled = Interrupt::new();
    cancelled.cancel();
    let error = store.backup(Path::new(BACKUP), None, &cancelled).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    assert!(!platform.disk.exists(Path::new(BACKUP)));
    store.backup(Path::new(BACKUP), None, &Interrupt::new()).unwrap();
    let error = restore(&platform, Path::new(BACKUP), Path::new(COPY), &cancelled).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    assert!(!platform.disk.exists(Path::new(COPY)));
}
