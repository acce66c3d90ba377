//! Bulk loads on disks that fill up, or cannot read back what the load itself wrote: keys and edges that went to sorted runs.

use std::path::PathBuf;
use std::sync::Arc;

use model::{ErrorCode, Result};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{FaultyDisk, MemoryDisk};

use super::{edges_of, empty_store_on, load_duplicates};
use crate::build::BuildConfig;
use crate::bulk::OnDuplicate;
use crate::format::MANIFEST_COPY_NAME;

/// Loads of each kind that fail, one at a time.
const FAILURES: u64 = 60;

/// Outcome of a load: the answers for its rows, and the edges; with the reads and the operations that it took.
struct Loaded {
    said: Vec<String>,
    edges: String,
    reads: u64,
    operations: u64,
}

/// The files of a disk but for the copy of the manifest, which is made again when there is room.
fn files_of(disk: &MemoryDisk) -> Vec<PathBuf> {
    disk.files().into_iter().filter(|path| !path.ends_with(MANIFEST_COPY_NAME)).collect()
}

/// Loads into a new store on a disk that `fail` has told how to fail, from the read and the operation of these numbers on.
fn load(on_duplicate: OnDuplicate, seed: u64, fail: impl Fn(&FaultyDisk, u64, u64)) -> Result<Loaded> {
    let inner = MemoryDisk::new();
    let disk = FaultyDisk::new(Arc::new(inner.clone()));
    let base = empty_store_on(Arc::new(disk.clone()), seed);
    let (files, reads, operations) = (files_of(&inner), disk.read_count(), disk.operation_count());
    fail(&disk, reads, operations);
    // So little that keys and edges go to the disk.
    let config = BuildConfig { memory_bytes: 1 << 16, threads: 1, on_duplicate, ..BuildConfig::default() };
    let loaded = load_duplicates(&base, config, seed);
    let (reads, operations) = (disk.read_count() - reads, disk.operation_count() - operations);
    disk.mend_reads();
    disk.mend();
    if let Err(error) = &loaded {
        assert_eq!(files_of(&inner), files, "FUZZ_SEED={seed}: files are left over after {error}");
    }
    let (said, version) = loaded?;
    Ok(Loaded { said, edges: format!("{:?}", edges_of(&version)), reads, operations })
}

#[test]
fn a_disk_that_fails_ends_a_load_and_gives_no_wrong_key() {
    let (mut unread, mut full) = (0, 0);
    for (round, on_duplicate) in [OnDuplicate::Error, OnDuplicate::Update].into_iter().enumerate() {
        let seed = seed_or(97) + round as u64;
        let mut random = SeededRandom::new(seed);
        let sound = load(on_duplicate, seed, |_, _, _| {}).unwrap();
        for trial in 0..2 * FAILURES {
            let (read, operation) = (random.below(sound.reads), random.below(sound.operations));
            let is_full = trial % 2 == 0;
            let place = format!("FUZZ_SEED={seed}, {on_duplicate:?}: {trial}, read {read}, operation {operation}");
            let found = load(on_duplicate, seed, |disk, reads, operations| match is_full {
                true => disk.fill_at(operations + operation),
                false => disk.fail_read_or_lose_map_at(reads + read),
            });
            match found {
                Ok(found) => {
                    assert!(found.said == sound.said, "{place}: other keys are known");
                    assert!(found.edges == sound.edges, "{place}: other edges are there");
                }
                Err(error) => {
                    let code = if is_full { ErrorCode::DiskFull } else { ErrorCode::Io };
                    assert_eq!(error.code(), code, "{place}: {error}");
                    let is_of_run = error.message().contains(".run");
                    *(if is_full { &mut full } else { &mut unread }) += u64::from(is_of_run);
                }
            }
        }
    }
    assert!(
        unread > FAILURES / 2 && full > FAILURES / 2,
        "of sorted runs {unread} could not be read, {full} had no room"
    );
}
