//! Stores of every format version that was released, kept in `tests/fixtures`: each opens, holds what it held, and can be
//! written and merged.
//!
//! `UPDATE_FIXTURES=1 cargo test -p knotwork-storage --test it fixtures` writes the one of the current version anew, as
//! long as that version is not released. Afterwards a fixture never changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::store::NewNodes;
use model::{GraphStore, Interrupt};
use storage::format::FORMAT_VERSION;
use storage::{Maintenance, NativeStore, OpenOptions};
use testing::differential::{Content, apply_to_both, random_operations};
use testing::reference_store::ReferenceStore;
use testing::simulation::{MemoryDisk, platform};

use crate::numbered;

const STORE: &str = "/stores/fixture.knot";
/// File beside those of the store that holds its content as text.
const CONTENT: &str = "content.txt";
/// Fixtures stay small: they are kept for ever.
const BYTES_MAX: usize = 300_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn to_text(content: &Content) -> String {
    let sections = [("nodes", &content.nodes), ("edges", &content.edges), ("constraints", &content.constraints)];
    let section = |(name, lines): (&str, &Vec<String>)| format!("{name}\n{}\n", lines.join("\n"));
    sections.into_iter().map(section).collect()
}

/// Writes the fixture of the current version: a store whose files were written by several merges, and a log.
fn write(path: &Path) {
    let disk = Arc::new(MemoryDisk::new());
    let platform = platform(disk.clone(), 2);
    let maintenance = Maintenance::Inline;
    let options = OpenOptions { memtable_bytes_max: 20_000, maintenance, ..OpenOptions::create() };
    let store = NativeStore::open(Path::new(STORE), options, platform.clone()).unwrap();
    let reference = ReferenceStore::new();
    for (number, transaction) in random_operations(71, 36).iter().enumerate() {
        apply_to_both(&store, &reference, transaction);
        if number == 12 {
            store.compact(&Interrupt::new()).unwrap();
        } else if [20, 28].contains(&number) {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
    }
    let content = to_text(&Content::of(&*reference.read().unwrap()));
    drop(store);
    let _ = std::fs::remove_dir_all(path);
    std::fs::create_dir_all(path).unwrap();
    std::fs::write(path.join(CONTENT), content).unwrap();
    for name in platform.disk.list(Path::new(STORE)).unwrap().iter().filter(|name| *name != "LOCK") {
        let bytes = platform.disk.read(&Path::new(STORE).join(name)).unwrap();
        std::fs::write(path.join(name), bytes).unwrap();
    }
}

fn check(path: &Path) {
    let place = path.display();
    let disk = Arc::new(MemoryDisk::new());
    let platform = platform(disk, 3);
    platform.disk.create_directory(Path::new(STORE)).unwrap();
    let mut bytes = 0;
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let content = std::fs::read(entry.path()).unwrap();
        bytes += content.len();
        if entry.file_name() != CONTENT {
            let to = Path::new(STORE).join(entry.file_name());
            platform.disk.create(&to).unwrap().write_all(&content).unwrap();
        }
    }
    assert!(bytes < BYTES_MAX, "{place}: {bytes} bytes are too many to keep");
    let expected = std::fs::read_to_string(path.join(CONTENT)).unwrap();
    let content = |store: &NativeStore| to_text(&Content::of(&*store.read().unwrap()));
    let open = |options| {
        NativeStore::open(Path::new(STORE), options, platform.clone()).unwrap_or_else(|error| {
            panic!("{place} does not open: {error}; if its version is not released, UPDATE_FIXTURES=1 writes it anew")
        })
    };
    assert_eq!(content(&open(OpenOptions::read_only())), expected, "{place}: opened for reading");
    numbered::check_files(&platform, Path::new(STORE));
    let store = open(OpenOptions::default());
    assert_eq!(content(&store), expected, "{place}: opened for writing");
    let mut transaction = store.write().unwrap();
    transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[], properties: &[] }).unwrap();
    transaction.commit().unwrap();
    store.compact(&Interrupt::new()).unwrap();
    let with_one_more = content(&store);
    assert_eq!(with_one_more.lines().count(), expected.lines().count() + 1, "{place}: written to");
    drop(store);
    assert_eq!(content(&open(OpenOptions::default())), with_one_more, "{place}: opened again");
    numbered::check_files(&platform, Path::new(STORE));
}

#[test]
fn stores_of_every_released_version_open() {
    let current = folder().join(format!("format-v{FORMAT_VERSION}"));
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        write(&current);
    }
    let mut fixtures: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    fixtures.retain(|path| path.is_dir());
    fixtures.sort();
    assert!(fixtures.contains(&current), "the current version has a fixture");
    fixtures.iter().for_each(|path| check(path));
}
