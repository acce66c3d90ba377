//! The memory of check and salvage of a store whose log is many times what they may hold, each in a process of its own whose memory
//! can be measured.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use model::store::NewNodes;
use model::{Column, ColumnData, GraphStore, Interrupt};
use storage::{Durability, NativeStore, OpenOptions};

use crate::apart::{number_in, output_of, status};
use crate::directory::TestDirectory;

const PATH: &str = "KNOTWORK_TEST_CHECKED_STORE";
const WAY: &str = "KNOTWORK_TEST_CHECKED_WAY";
/// Bytes that may be held: what check and salvage take for the log; buffers of files, a segment of the new store, and what the
/// allocator keeps.
const MOST: usize = (64 << 20) + (64 << 20);
/// Transactions, and the nodes of each, with texts of that length.
const TRANSACTIONS: usize = 160;
const NODES: usize = 4_000;
const TEXT_BYTES: usize = 400;

/// The work of the child; nothing when run as a test.
#[test]
fn child() {
    let (Some(path), Ok(way)) = (std::env::var_os(PATH), std::env::var(WAY)) else { return };
    let path = Path::new(&path);
    let (platform, interrupt) = (storage::os::platform(), Interrupt::new());
    let before = status("RssAnon").unwrap_or(0);
    let (most, is_done) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                most.fetch_max(status("RssAnon").unwrap_or(0), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        if way == "check" {
            let problems = storage::check::check(&platform, path, &interrupt).unwrap();
            assert!(problems.is_empty(), "{problems:?}");
        } else {
            let recovery =
                storage::recover::recover(&platform, path, &path.with_extension("recovered"), &interrupt).unwrap();
            assert_eq!((recovery.nodes, recovery.losses), ((TRANSACTIONS * NODES) as u64, vec![]));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    println!("\nheld {}", most.into_inner().saturating_sub(before));
}

fn fill(path: &Path) -> usize {
    let options = OpenOptions {
        durability: Durability::Off,
        memtable_bytes_max: usize::MAX,
        memory_bytes_max: Some(4 << 30),
        ..OpenOptions::create()
    };
    let store = NativeStore::open(path, options, storage::os::platform()).unwrap();
    for number in 0..TRANSACTIONS {
        let mut transaction = store.write().unwrap();
        let (label, key) = (transaction.label("P").unwrap(), transaction.property_key("text").unwrap());
        let texts: Vec<String> = (0..NODES).map(|row| format!("{number} {row} {}", "x".repeat(TEXT_BYTES))).collect();
        let columns = [Column::new(ColumnData::String(texts.iter().map(String::as_str).collect()))];
        let new = NewNodes { count: NODES, labels: &[label], keys: &[key], properties: &columns };
        transaction.create_nodes(&new).unwrap();
        transaction.commit().unwrap();
    }
    store.memtable_bytes()
}

#[test]
fn a_long_log_is_checked_and_salvaged_within_the_memory_for_it() {
    let directory = TestDirectory::new();
    let bytes = fill(directory.path());
    assert!(bytes > 2 * MOST, "{bytes} bytes are in the log alone");
    for way in ["check", "recover"] {
        let variables = [(PATH, directory.path().as_os_str()), (WAY, way.as_ref())];
        let held = number_in(&output_of("memory_check::child", &variables), "held", 1);
        let most = MOST >> 10;
        assert!(held <= most, "{way}: {held} KiB were held of a log of {} KiB, at most {most} may be", bytes >> 10);
    }
    std::fs::remove_dir_all(directory.path().with_extension("recovered")).unwrap();
}
