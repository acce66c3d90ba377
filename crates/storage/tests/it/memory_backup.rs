//! The memory of backups and restores of a store many times as large, each in a process of its own whose memory can be measured.

use std::path::Path;

use model::store::NewNodes;
use model::{Column, ColumnData, GraphStore, Interrupt};
use storage::backup::{backup, restore};
use storage::{Durability, NativeStore, OpenOptions};

use crate::apart::{number_in, output_of, status};
use crate::directory::TestDirectory;

const PATH: &str = "KNOTWORK_TEST_BACKUP_STORE";
const WAY: &str = "KNOTWORK_TEST_BACKUP_WAY";
/// The memory limit of the store that is open.
const LIMIT: usize = 8 << 20;
/// Bytes that a copy may hold besides: buffers of files, tables of checksums, and what the allocator keeps.
const BESIDES: usize = 16 << 20;
/// Nodes of a transaction, with texts of that length: it fits into a quarter of the limit, as opening demands.
const NODES: usize = 2_500;
const TEXT_BYTES: usize = 400;
/// Transactions whose nodes lie in files, and such whose nodes lie in the log.
const IN_FILES: usize = 96;
const IN_LOG: usize = 24;

/// The work of the child; nothing when run as a test.
#[test]
fn child() {
    let (Some(path), Ok(way)) = (std::env::var_os(PATH), std::env::var(WAY)) else { return };
    let path = Path::new(&path);
    let (platform, to) = (storage::os::platform(), path.with_extension("copied"));
    let copied = match &*way {
        "open" => {
            let options = OpenOptions { memory_bytes_max: Some(LIMIT), ..OpenOptions::read_only() };
            let store = NativeStore::open(path, options, platform).unwrap();
            let before = status("VmHWM").unwrap_or(0);
            (before, store.backup(&to, None, &Interrupt::new()))
        }
        "apart" => (status("VmHWM").unwrap_or(0), backup(&platform, path, &to, None, &Interrupt::new())),
        _ => (status("VmHWM").unwrap_or(0), restore(&platform, path, &to, &Interrupt::new())),
    };
    let (before, summary) = (copied.0, copied.1.unwrap());
    println!("\ncopied {}", summary.bytes_copied);
    println!("log {}", summary.log_bytes);
    println!("held {}", status("VmHWM").map_or(0, |most| most - before));
}

fn fill(path: &Path) {
    let options = OpenOptions {
        durability: Durability::Off,
        memtable_bytes_max: usize::MAX,
        memory_bytes_max: Some(2 << 30),
        ..OpenOptions::create()
    };
    let store = NativeStore::open(path, options, storage::os::platform()).unwrap();
    for number in 0..IN_FILES + IN_LOG {
        let mut transaction = store.write().unwrap();
        let (label, key) = (transaction.label("P").unwrap(), transaction.property_key("text").unwrap());
        let text = |row: usize| {
            format!("{number} {row} {}", char::from(b'a' + (row % 26) as u8).to_string().repeat(TEXT_BYTES))
        };
        let texts: Vec<String> = (0..NODES).map(text).collect();
        let columns = [Column::new(ColumnData::String(texts.iter().map(String::as_str).collect()))];
        let new = NewNodes { count: NODES, labels: &[label], keys: &[key], properties: &columns };
        transaction.create_nodes(&new).unwrap();
        transaction.commit().unwrap();
        if number + 1 == IN_FILES {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
    }
}

/// Runs the child; gives the bytes that were copied, those of logs, and the KiB that it came to hold.
fn copy(way: &str, path: &Path) -> [usize; 3] {
    let text = output_of("memory_backup::child", &[(PATH, path.as_os_str()), (WAY, way.as_ref())]);
    ["copied", "log", "held"].map(|name| number_in(&text, name, 1))
}

#[test]
fn copies_hold_a_small_part_of_what_they_copy() {
    let directory = TestDirectory::new();
    fill(directory.path());
    let copied = directory.path().with_extension("copied");
    for way in ["open", "apart", "restore"] {
        let from =
            if way == "restore" { directory.path().with_extension("backup") } else { directory.path().to_owned() };
        let [bytes, log, held] = copy(way, &from);
        assert!(bytes > 4 * (LIMIT + BESIDES) && log > BESIDES, "{way}: {bytes} bytes, {log} of them of logs");
        let most = (LIMIT + BESIDES) >> 10;
        assert!(held <= most, "{way}: {held} KiB were held to copy {} KiB, at most {most} may be", bytes >> 10);
        if way == "apart" {
            std::fs::rename(&copied, directory.path().with_extension("backup")).unwrap();
        } else {
            std::fs::remove_dir_all(&copied).unwrap();
        }
    }
    std::fs::remove_dir_all(directory.path().with_extension("backup")).unwrap();
}
