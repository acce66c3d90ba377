//! Stores whose checksums are right and whose contents are not, as a broken program or an enemy would write them: an error, or
//! some answer, but no panic, no abort, no hang, and no more memory than the store is worth.
//!
//! Fields of every kind of file and of the log are changed, the checksums made anew, and everything that reads a store is run
//! on it. `FUZZ_SECONDS=600 cargo test --release -p knotwork-storage --test hostile` goes on for ten minutes.
#![allow(unsafe_code, reason = "an allocator that counts hands each call on to that of the system")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use model::{ErrorCode, GraphStore, Interrupt};
use storage::check::check;
use storage::recover::recover;
use storage::{NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{MemoryDisk, platform};

#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "it/vast.rs"]
mod vast;

use vast::PATH;

/// Nodes of the store.
const NODES: usize = 480;
/// Changes in a short run.
const CHANGES: u64 = 300;
/// Bytes that may be held at a time: the limit of the store, and what a test holds besides.
const HELD_MAX: usize = 700 << 20;

const BLOCK: usize = 4_096;
const HEADER: usize = 64;
const TRAILER: usize = 64;
const RECORD_MARKER: [u8; 4] = *b"KREC";

/// Counts the bytes that are held.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is handed on as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
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

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Makes the checksums of a file of blocks right.
fn seal_blocks(bytes: &mut [u8]) {
    let trailer = bytes.len() - TRAILER;
    let data_end = word(bytes, trailer + 16) as usize;
    for (number, start) in (0..data_end).step_by(BLOCK).enumerate() {
        let sum = crc32fast::hash(&bytes[start..(start + BLOCK).min(data_end)]);
        bytes[data_end + 4 * number..data_end + 4 * number + 4].copy_from_slice(&sum.to_le_bytes());
    }
    let table = crc32fast::hash(&bytes[data_end..trailer]);
    bytes[trailer + 32..trailer + 36].copy_from_slice(&table.to_le_bytes());
    let sum = crc32fast::hash(&bytes[trailer..bytes.len() - 12]);
    let at = bytes.len() - 12;
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// A number that is at some limit, or near what stands there.
fn odd(before: u64, random: &mut SeededRandom) -> u64 {
    let limits =
        [0, 1, 7, 57, 58, 64, 255, 1 << 16, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 33, 1 << 40, 1 << 60];
    match random.below(5) {
        0 => before.wrapping_add(1),
        1 => before.wrapping_sub(1),
        2 => u64::MAX - random.below(2),
        3 => random.next_u64() >> random.below(64),
        _ => *random.pick(&limits),
    }
}

/// Changes a field of one, four or eight bytes at a place.
fn change_field(bytes: &mut [u8], at: usize, random: &mut SeededRandom) {
    let size = *random.pick(&[1, 4, 4, 8, 8]);
    let at = at.min(bytes.len() - 8);
    let mut before = [0; 8];
    before[..size].copy_from_slice(&bytes[at..at + size]);
    let after = odd(u64::from_le_bytes(before), random).to_le_bytes();
    bytes[at..at + size].copy_from_slice(&after[..size]);
}

/// Changes a file; its checksums stay right.
fn change(path: &Path, bytes: &mut [u8], random: &mut SeededRandom) {
    match extension(path) {
        "wal" => change_log(bytes, random),
        "" => {
            let at = HEADER + random.index(bytes.len() - HEADER - 4);
            change_field(bytes, at.min(bytes.len() - 12), random);
            let end = bytes.len() - 4;
            let sum = crc32fast::hash(&bytes[HEADER..end]);
            bytes[end..].copy_from_slice(&sum.to_le_bytes());
        }
        _ => {
            let trailer = bytes.len() - TRAILER;
            let (start, length, end) = (word(bytes, trailer), word(bytes, trailer + 8), word(bytes, trailer + 16));
            // Most of what leads astray stands in the directory.
            let (start, length) =
                if random.chance(70) { (start, length) } else { (HEADER as u64, end - HEADER as u64) };
            change_field(&mut bytes[..end as usize], (start + random.below(length)) as usize, random);
            seal_blocks(bytes);
        }
    }
}

/// Changes the payload of a record, or its length; where records begin their marker tells.
fn change_log(bytes: &mut [u8], random: &mut SeededRandom) {
    let starts: Vec<usize> = (HEADER..bytes.len() - 24).filter(|&at| bytes[at..at + 4] == RECORD_MARKER).collect();
    let start = *random.pick(&starts);
    let length = word(bytes, start + 8) as usize;
    let end = (start + 24 + length).min(bytes.len());
    if end > start + 33 {
        change_field(&mut bytes[..end], start + 24 + random.index(end - start - 32), random);
    }
    let sum = crc32fast::hash(&bytes[start + 8..end]);
    bytes[start + 4..start + 8].copy_from_slice(&sum.to_le_bytes());
}

/// Runs everything that reads a store; what came of it.
fn run(disk: &MemoryDisk, seed: u64, questions: &[vast::Question]) -> BTreeMap<&'static str, u64> {
    let mut outcomes = BTreeMap::new();
    let mut count = |what: &'static str, outcome: Result<(), model::Error>| {
        let name = match outcome {
            Ok(()) => what,
            Err(error) => {
                assert!(error.code() != ErrorCode::Internal, "{what}: {error}");
                "errors"
            }
        };
        *outcomes.entry(name).or_insert(0) += 1;
    };
    let path = Path::new(PATH);
    let on = |disk: &MemoryDisk| platform(Arc::new(disk.clone()), seed);
    let checked = check(&on(disk), path, &Interrupt::new());
    count("checks", checked.map(drop));
    match NativeStore::open(path, OpenOptions::read_only(), on(disk)) {
        Ok(store) => {
            let view = store.read().unwrap();
            questions.iter().for_each(|(_, ask)| count("answers", ask(&*view).map(drop)));
        }
        Err(error) => count("openings", Err(error)),
    }
    let written = disk.copy();
    if let Ok(store) = NativeStore::open(path, vast::options(), on(&written)) {
        count("checkpoints", store.checkpoint(&Interrupt::new()));
        count("compactions", store.compact(&Interrupt::new()));
    }
    let copied = recover(&on(&disk.copy()), path, Path::new("/stores/new.knot"), &Interrupt::new());
    count("recoveries", copied.map(drop));
    outcomes
}

#[test]
fn wrong_contents_under_right_checksums_do_no_harm() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seed = seed_or(91);
    let whole = MemoryDisk::new();
    vast::make_of(&platform(Arc::new(whole.clone()), seed), Path::new(PATH), seed, NODES);
    let questions: Vec<vast::Question> = vast::questions(seed);
    let files: Vec<PathBuf> =
        whole.files().into_iter().filter(|path| !path.ends_with("LOCK") && extension(path) != "copy").collect();
    let kinds: Vec<&str> = files.iter().map(|path| extension(path)).collect();
    for kind in ["", "wal", "nodes", "noderun", "edges", "props", "patch", "keys", "ordered"] {
        assert!(kinds.contains(&kind), "there is a file of the kind {kind:?}");
    }
    let mut total: BTreeMap<&str, u64> = BTreeMap::new();
    let mut done = 0;
    while end.map_or(done < CHANGES, |end| Instant::now() < end) {
        let mut random = SeededRandom::new(seed.wrapping_mul(1_000_003) + done);
        let path: &PathBuf = &files[done as usize % files.len()];
        let disk = whole.copy();
        disk.corrupt(path, |bytes| change(path, bytes, &mut random)).unwrap();
        MOST.store(HELD.load(Ordering::Relaxed), Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&disk, seed, &questions)));
        let what = format!("FUZZ_SEED={seed}: change {done}, of {}", path.display());
        let outcomes = outcome.unwrap_or_else(|_| panic!("{what}: a panic"));
        outcomes.into_iter().for_each(|(name, count)| *total.entry(name).or_default() += count);
        let most = MOST.load(Ordering::Relaxed);
        assert!(most < HELD_MAX, "{what}: {most} bytes were held");
        done += 1;
    }
    assert!(end.is_some() || done == CHANGES);
    assert!(total["errors"] > done / 4, "{done} changes came to {total:?}");
}
