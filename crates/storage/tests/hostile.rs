//! Stores whose checksums are right and whose contents are not, as a broken program or an enemy would write them: an error, or
//! some answer, but no panic, no abort, no hang, and no more memory than a small store is worth.
//!
//! A case is some bytes, which say what is changed in which file; then everything that reads or writes a store is run on it.
//! `FUZZ_SECONDS=600 cargo test --release -p knotwork-storage --test hostile` goes on for ten minutes, `HOSTILE_CASE=…` with
//! `FUZZ_SEED` runs one case alone. The targets in `fuzz/` let a fuzzer choose the bytes.
#![allow(unsafe_code, reason = "an allocator that counts hands each call on to that of the system")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]
#![allow(unreachable_pub, reason = "the modules of a case are shared with the fuzz targets")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use model::platform::Clock;
use model::store::{EdgeIds, Expand};
use model::{ErrorCode, GraphStore, Interrupt};
use storage::format::{FileKind, MANIFEST_COPY_NAME, MANIFEST_NAME};
use storage::{NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{MemoryDisk, platform};

use careless::{CARELESS, Reader};
use case::choices::Choices;
use case::stores::{KINDS, Kind, changed, stores};

#[path = "hostile/careless.rs"]
mod careless;
#[path = "hostile/case.rs"]
mod case;
#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "it/vast.rs"]
mod vast;

/// Cases of each kind in a short run.
const CASES: u64 = 24;
/// Bytes that a case may hold at a time beside the memory limit of the store: what is read whole.
const BESIDES: usize = 32 << 20;
/// The same where a log is changed: the nodes that it may make at least, in two snapshots.
const LOG_BESIDES: usize = 2 << 30;
/// Bytes at which the process ends: an allocation cannot fail with less.
const HELD_END: usize = 3 << 30;
/// A case that takes longer hangs; on a slow machine it takes some seconds.
const SECONDS_MAX: u64 = 120;
/// Names a reader that lacks a check, for a process that must find it.
const CANARY: &str = "HOSTILE_CANARY";
/// Says after how many seconds a case hangs.
const SECONDS: &str = "HOSTILE_SECONDS";
/// Bytes of a case.
const CASE_BYTES: usize = 96;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// The case that runs, for those who end the process, and when it began.
static SEED: AtomicU64 = AtomicU64::new(0);
static CASE: AtomicU64 = AtomicU64::new(0);

/// Counts the bytes that are held.
struct Counting;

// SAFETY: each call is handed on as it came, or refused.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed).saturating_add(layout.size());
        if held > HELD_END {
            tell_case("wants too much memory");
            return std::ptr::null_mut();
        }
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Writes which case runs, past the test's own output, without asking for memory.
fn tell_case(what: &str) {
    let (seed, case) = (SEED.load(Ordering::Relaxed), CASE.load(Ordering::Relaxed));
    // The process ends next; there is nobody to tell that this failed.
    let _ = writeln!(std::io::stderr(), "FUZZ_SEED={seed} HOSTILE_CASE={case} {what}");
}

/// Milliseconds since the test began.
fn now_ms() -> u64 {
    static CLOCK: LazyLock<Arc<dyn Clock>> = LazyLock::new(|| storage::os::platform().clock);
    CLOCK.now_ns() / 1_000_000
}

/// Ends the process when one case does not end.
fn watch() {
    let seconds = number_of(SECONDS).unwrap_or(SECONDS_MAX);
    let (mut case, mut since) = (u64::MAX, now_ms());
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let current = CASE.load(Ordering::Relaxed);
        if current != case {
            (case, since) = (current, now_ms());
        } else if now_ms() - since > seconds * 1_000 {
            tell_case("does not end");
            std::process::abort();
        }
    }
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// The reader of all cases: everything that reads or writes a store, or one that lacks a check.
fn reader() -> Reader {
    let Ok(name) = std::env::var(CANARY) else { return case::reads::run };
    CARELESS.iter().find(|careless| careless.name == name).expect("there is such a reader").reader
}

/// The end of a case: outcomes, or what went wrong.
fn run(
    stores: &[case::stores::Store],
    kind: Kind,
    bytes: &[u8],
    reader: Reader,
) -> Result<case::reads::Outcomes, String> {
    let (number, disk, file) = changed(stores, kind, &mut Choices::new(bytes));
    let held = HELD.load(Ordering::Relaxed);
    MOST.store(held, Ordering::Relaxed);
    let outcome = catch_unwind(AssertUnwindSafe(|| reader(&disk, &stores[number].path)));
    let most = MOST.load(Ordering::Relaxed) - held;
    let besides = if kind == Kind::File(FileKind::Wal) { LOG_BESIDES } else { BESIDES };
    let place = format!("{kind:?} of store {number}, {}", file.display());
    match outcome {
        Err(_) => Err(format!("{place}: a panic, see above")),
        Ok(_) if most > case::reads::LIMIT + besides => Err(format!("{place}: {most} bytes were held")),
        Ok(outcomes) => Ok(outcomes),
    }
}

#[test]
fn wrong_contents_under_right_checksums_do_no_harm() {
    let (seconds, only, seed) = (number_of("FUZZ_SECONDS"), number_of("HOSTILE_CASE"), seed_or(91));
    let (stores, kinds, reader) = (stores(), KINDS.len() as u64, reader());
    SEED.store(seed, Ordering::Relaxed);
    CASE.store(only.unwrap_or(0), Ordering::Relaxed);
    std::thread::spawn(watch);
    let (mut total, mut done, mut failures) = (BTreeMap::<&str, u64>::new(), vec![0; KINDS.len()], Vec::new());
    let begun = now_ms();
    let end = seconds.map(|seconds| begun + seconds * 1_000);
    let (mut slowest, mut largest) = ((0, 0), (0, 0));
    let mut case = only.unwrap_or(0);
    while only.map_or(end.map_or(case < CASES * kinds, |end| now_ms() < end), |only| case == only) {
        CASE.store(case, Ordering::Relaxed);
        let mut random = SeededRandom::new(seed.wrapping_mul(1_000_003).wrapping_add(case));
        let bytes: Vec<u8> = (0..CASE_BYTES).map(|_| random.next_u64() as u8).collect();
        let kind = (case % kinds) as usize;
        let start = now_ms();
        match run(&stores, KINDS[kind], &bytes, reader) {
            Ok(outcomes) => outcomes.into_iter().for_each(|(name, count)| *total.entry(name).or_default() += count),
            Err(failure) => {
                failures.push(format!("FUZZ_SEED={seed} HOSTILE_CASE={case}: {failure}"));
                eprintln!("{}", failures.last().unwrap());
            }
        }
        slowest = slowest.max((now_ms() - start, case));
        largest = largest.max((MOST.load(Ordering::Relaxed), case));
        done[kind] += 1;
        case += 1;
    }
    eprintln!(
        "seed {seed}: {done:?} cases in {} ms, slowest (ms, case) {slowest:?}, most bytes (bytes, case) {largest:?}, {total:?}",
        now_ms() - begun
    );
    assert!(failures.is_empty(), "{} of {case} cases:\n{}", failures.len(), failures.join("\n"));
    if end.is_none() && only.is_none() {
        assert!(done.iter().all(|&done| done == CASES), "each kind has its cases: {done:?}");
        assert!(total["errors"] > case, "changes are noticed: {total:?}");
        assert!(total["merges"] > case / 8 && total["expansions"] > case, "not all are refused at once: {total:?}");
    }
}

/// A process of its own for each reader that lacks a check, which must find it.
#[test]
fn a_check_that_is_missing_is_found() {
    for careless in &CARELESS {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "wrong_contents_under_right_checksums_do_no_harm", "--nocapture"])
            .envs([(CANARY, careless.name), (SECONDS, "2"), ("FUZZ_SECONDS", "4")])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&child.stderr);
        assert!(!child.status.success() && told.contains(careless.told), "{} is not found: {told}", careless.name);
        assert!(told.contains("HOSTILE_CASE="), "{}: the case is named: {told}", careless.name);
    }
}

/// A few bytes of a log can make many nodes: there is a limit, and it is no more than that of the store or a gigabyte.
#[test]
fn a_log_of_a_few_bytes_cannot_take_all_memory() {
    let (store, log) = (&stores()[0], Kind::File(FileKind::Wal));
    let file = &store.files(log)[0];
    let words = [&[4][..], &9_000u64.to_le_bytes(), &(1u32 << 26).to_le_bytes(), &[0; 8]].concat();
    let disk = store.disk.copy();
    disk.put(file, case::logs::with_payload(&store.disk.bytes(file).unwrap(), &words));
    let options = OpenOptions { memory_bytes_max: Some(case::reads::LIMIT), ..OpenOptions::read_only() };
    let error = NativeStore::open(&store.path, options, platform(Arc::new(disk), 1)).err().unwrap();
    assert_eq!(error.code(), ErrorCode::Limit, "{error}");
}

/// A manifest tells of fewer nodes and edges than its log deletes: counts end at nothing, and whoever multiplies them by bytes
/// gets no number beyond all.
#[test]
fn counts_that_are_too_small_do_not_fall_below_nothing() {
    let (path, disk) = (std::path::PathBuf::from(vast::PATH), MemoryDisk::new());
    let store = NativeStore::open(&path, OpenOptions::create(), platform(Arc::new(disk.clone()), 3)).unwrap();
    let (nodes, edge_type) = case::stores::circle(&store, 1_237);
    store.checkpoint(&Interrupt::new()).unwrap();
    let mut transaction = store.write().unwrap();
    let all = Expand { edge_ids: EdgeIds::Include, ..Expand::default() };
    let edges = case::reads::expand(transaction.view(), &nodes[..1_000], &all).unwrap();
    transaction.delete_edges(&edges.iter().map(|edge| edge.id).collect::<Vec<_>>()).unwrap();
    transaction.delete_nodes(&nodes[1..1_000]).unwrap();
    transaction.commit().unwrap();
    drop(store);
    for told in [0, 1, 998] {
        let disk = disk.copy();
        for name in [MANIFEST_NAME, MANIFEST_COPY_NAME] {
            disk.corrupt(&path.join(name), |manifest| case::stores::tell_counts(manifest, [1_237, 1_237], told))
                .unwrap();
        }
        let store = NativeStore::open(&path, OpenOptions::read_only(), platform(Arc::new(disk.copy()), 1)).unwrap();
        let view = store.read().unwrap();
        let statistics = view.statistics();
        let counts = [statistics.nodes, statistics.edges, statistics.edge_type(edge_type)];
        assert_eq!(counts, [0; 3], "{told} told, {} deleted", edges.len());
        let outcomes = case::reads::run(&disk, &path);
        assert!(outcomes["writes"] == 1 && outcomes["merges"] == 1, "{outcomes:?}");
    }
}

/// The kinds of files are those that the format knows; the stores have files of each.
#[test]
fn every_kind_of_file_is_changed() {
    let source = include_str!("../src/format.rs");
    let kinds = source.split_once("pub enum FileKind {").unwrap().1.split_once("\n}").unwrap().0;
    let variants = kinds.lines().filter_map(|line| line.trim().split_once(" = ").map(|(name, _)| name));
    let mut found = 0;
    for variant in variants.filter(|&variant| variant != "Run") {
        found += 1;
        let is_known = KINDS.iter().any(|kind| format!("{kind:?}") == format!("File({variant})"));
        assert!(is_known, "{variant} is not changed by this test");
    }
    assert_eq!(found + 2, KINDS.len());
    let stores = stores();
    for kind in KINDS {
        assert!(stores.iter().any(|store| !store.files(kind).is_empty()), "there is a file of {kind:?}");
    }
    for (number, store) in stores.iter().enumerate() {
        let outcomes = case::reads::run(&store.disk, &store.path);
        eprintln!("store {number}: {outcomes:?}");
        // A backup is not written to, and a store is not restored.
        assert!(outcomes.get("errors").copied().unwrap_or(0) <= 1, "store {number}: {outcomes:?}");
    }
}
