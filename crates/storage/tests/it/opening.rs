//! What opening refuses, and what it says.

use model::store::NewNodes;
use model::{ErrorCode, GraphStore};
use storage::{NativeStore, OpenMode, OpenOptions};

use crate::directory::TestDirectory;

fn check(directory: &TestDirectory, options: OpenOptions, code: ErrorCode, words: &[&str]) {
    let error = NativeStore::open(directory.path(), options, directory.platform()).unwrap_err();
    assert_eq!(error.code(), code, "{error:?}");
    for word in words {
        assert!(error.message().contains(word), "{error:?} names {word}");
    }
    assert!(error.message().contains(&*directory.path().to_string_lossy()), "{error:?} names the store");
}

#[test]
fn a_path_without_a_store_is_told_what_it_holds() {
    let directory = TestDirectory::new();
    for options in [OpenOptions::default(), OpenOptions::read_only()] {
        check(&directory, options, ErrorCode::NotAStore, &["nothing is there"]);
    }
    assert!(!directory.disk().exists(directory.path()), "a refused open leaves nothing behind");
    directory.write(directory.path(), b"text");
    for options in [OpenOptions::default(), OpenOptions::create()] {
        check(&directory, options, ErrorCode::NotAStore, &["a file is there"]);
    }
    directory.disk().remove(directory.path()).unwrap();
    directory.disk().create_directory(directory.path()).unwrap();
    check(&directory, OpenOptions::default(), ErrorCode::NotAStore, &["empty"]);
    directory.write(&directory.path().join("holiday.jpg"), b"picture");
    for options in [OpenOptions::default(), OpenOptions::create()] {
        check(&directory, options, ErrorCode::NotAStore, &["MANIFEST", "holiday.jpg"]);
    }
    assert_eq!(directory.disk().list(directory.path()).unwrap(), ["holiday.jpg"]);
}

#[test]
fn an_empty_directory_becomes_a_store_if_asked() {
    let directory = TestDirectory::new();
    directory.disk().create_directory(directory.path()).unwrap();
    drop(directory.open());
    drop(directory.open_with(OpenOptions::default()));
}

#[test]
fn a_newer_format_is_refused_as_such() {
    let directory = TestDirectory::new();
    drop(directory.open());
    for path in [directory.path().join("MANIFEST"), directory.log()] {
        let bytes = directory.disk().read(&path).unwrap();
        let mut newer = bytes.clone();
        newer[8] = 99;
        newer[10] = 99;
        directory.write(&path, &newer);
        check(&directory, OpenOptions::create(), ErrorCode::Version, &["99"]);
        directory.write(&path, &bytes);
    }
    drop(directory.open());
}

#[test]
fn the_format_before_the_first_release_is_refused_with_the_way_out() {
    let directory = TestDirectory::new();
    drop(directory.open());
    let path = directory.path().join("MANIFEST");
    let mut bytes = directory.disk().read(&path).unwrap();
    (bytes[8], bytes[10]) = (1, 1);
    directory.write(&path, &bytes);
    check(&directory, OpenOptions::create(), ErrorCode::Version, &["format version 1"]);
    let error = NativeStore::open(directory.path(), OpenOptions::default(), directory.platform()).unwrap_err();
    assert!(error.remedy().contains("knot export"), "{error:?}");
}

#[test]
fn a_lost_log_is_damage() {
    let directory = TestDirectory::new();
    for has_files in [false, true] {
        let store = directory.open();
        add_node(&store);
        if has_files {
            store.checkpoint(&model::Interrupt::new()).unwrap();
        }
        drop(store);
        let (path, bytes) = (directory.log(), directory.disk().read(&directory.log()).unwrap());
        directory.disk().remove(&path).unwrap();
        check(&directory, OpenOptions::create(), ErrorCode::Corrupt, &[".wal"]);
        directory.write(&path, &bytes);
        drop(directory.open());
    }
}

#[test]
fn a_lost_manifest_is_not_taken_for_an_empty_directory() {
    let directory = TestDirectory::new();
    let store = directory.open();
    add_node(&store);
    drop(store);
    directory.disk().remove(&directory.path().join("MANIFEST")).unwrap();
    check(&directory, OpenOptions::create(), ErrorCode::NotAStore, &["MANIFEST", ".wal"]);
}

#[test]
fn a_store_is_open_once() {
    let directory = TestDirectory::new();
    let store = directory.open();
    for options in [OpenOptions::default(), OpenOptions::create(), OpenOptions::read_only()] {
        check(&directory, options, ErrorCode::Busy, &["open"]);
    }
    drop(store);
    drop(directory.open());
}

#[test]
fn readers_share_a_store_and_keep_writers_away() {
    let directory = TestDirectory::new();
    let store = directory.open();
    add_node(&store);
    drop(store);
    let first = directory.open_with(OpenOptions::read_only());
    let second = directory.open_with(OpenOptions::read_only());
    for store in [&first, &second] {
        assert_eq!(store.read().unwrap().statistics().nodes, 1);
    }
    check(&directory, OpenOptions::default(), ErrorCode::Busy, &["open"]);
    drop(first);
    check(&directory, OpenOptions::default(), ErrorCode::Busy, &["open"]);
    drop(second);
    let store = directory.open();
    check(&directory, OpenOptions::read_only(), ErrorCode::Busy, &["open"]);
    drop(store);
}

fn add_node(store: &NativeStore) {
    let mut transaction = store.write().unwrap();
    transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[], properties: &[] }).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn a_store_opened_for_reading_shows_the_log_and_refuses_writes() {
    let directory = TestDirectory::new();
    let store = directory.open();
    add_node(&store);
    drop(store);
    let log = directory.disk().read(&directory.log()).unwrap();
    let store = directory.open_with(OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() });
    assert_eq!(store.read().unwrap().statistics().nodes, 1);
    assert!(!store.capabilities().writes);
    let error = store.write().err().expect("writing is refused");
    assert_eq!(error.code(), ErrorCode::ReadOnly);
    drop(store);
    assert_eq!(directory.disk().read(&directory.log()).unwrap(), log);
}
