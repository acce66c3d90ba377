//! Refusals of opening, and their messages.

use model::store::NewNodes;
use model::{ErrorCode, GraphStore, Interrupt};
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
    for options in [OpenOptions::default(), OpenOptions::create()] {
        check(&directory, options, ErrorCode::Busy, &["open"]);
    }
    drop(store);
    drop(directory.open());
}

#[test]
fn readers_share_a_store_with_each_other_and_a_writer() {
    let directory = TestDirectory::new();
    let store = directory.open();
    add_node(&store);
    drop(store);
    let first = directory.open_with(OpenOptions::read_only());
    let store = directory.open();
    let second = directory.open_with(OpenOptions::read_only());
    add_node(&store);
    for reader in [&first, &second] {
        assert_eq!(reader.read().unwrap().statistics().nodes, 1);
        assert!(reader.refresh(&Interrupt::new()).unwrap());
        assert_eq!(reader.read().unwrap().statistics().nodes, 2);
    }
    check(&directory, OpenOptions::default(), ErrorCode::Busy, &["open"]);
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

#[test]
fn the_lock_survives_the_removal_of_its_file() {
    let directory = TestDirectory::new();
    let store = directory.open();
    directory.disk().remove(&directory.path().join("LOCK")).unwrap();
    for options in [OpenOptions::default(), OpenOptions::create()] {
        check(&directory, options, ErrorCode::Busy, &["open"]);
    }
    drop(store);
    let reader = directory.open_with(OpenOptions::read_only());
    assert!(!directory.disk().exists(&directory.path().join("LOCK")), "a reader makes no file");
    drop(reader);
    drop(directory.open());
}

#[cfg(unix)]
#[test]
fn copies_made_of_hard_links_go_their_own_ways() {
    let nodes = |directory: &TestDirectory, added: u64| {
        let store = directory.open();
        (0..added).for_each(|_| add_node(&store));
        store.read().unwrap().statistics().nodes
    };
    for was_closed in [true, false] {
        let (first, second) = (TestDirectory::new(), TestDirectory::new());
        nodes(&first, 3);
        if !was_closed {
            let mut log = first.disk().read(&first.log()).unwrap();
            log.truncate(log.len() - 16);
            first.write(&first.log(), &log);
        }
        first.disk().create_directory(second.path()).unwrap();
        for name in first.disk().list(first.path()).unwrap() {
            first.disk().link(&first.path().join(&name), &second.path().join(&name)).unwrap();
        }
        assert_eq!(nodes(&first, 1), 4);
        assert_eq!(second.open_with(OpenOptions::read_only()).read().unwrap().statistics().nodes, 3);
        assert_eq!(nodes(&second, 2), 5, "closed: {was_closed}");
        // The lock file, too, is of both, until it is replaced.
        let store = first.open();
        check(&second, OpenOptions::default(), ErrorCode::Busy, &["open"]);
        second.disk().remove(&second.path().join("LOCK")).unwrap();
        assert_eq!(nodes(&second, 1), 6);
        add_node(&store);
        drop(store);
        assert_eq!((nodes(&first, 0), nodes(&second, 0)), (5, 6));
        for directory in [first, second] {
            let problems = storage::check::check(&directory.platform(), directory.path(), &model::Interrupt::new());
            assert_eq!(problems.unwrap(), []);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_refused_and_not_waited_for() {
    for name in ["MANIFEST", "LOCK"] {
        let directory = TestDirectory::new();
        drop(directory.open());
        let path = directory.path().join(name);
        directory.disk().remove(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        check(&directory, OpenOptions::default(), ErrorCode::Io, &[name, "not a file"]);
        if name == "MANIFEST" {
            check(&directory, OpenOptions::read_only(), ErrorCode::Io, &[name, "not a file"]);
        } else {
            drop(directory.open_with(OpenOptions::read_only()));
        }
    }
}

/// A store whose process ended between the commit of two large indexes and the manifest that names their files.
fn store_with_large_indexes_in_its_log() -> testing::simulation::MemoryDisk {
    use model::platform::Disk;
    const NODES: usize = 70_000;
    let disk = testing::simulation::JournalDisk::new();
    let platform = testing::simulation::platform(std::sync::Arc::new(disk.clone()), 3);
    let path = std::path::Path::new("/stores/test.knot");
    let store = NativeStore::open(path, OpenOptions::create(), platform).unwrap();
    let mut transaction = store.write().unwrap();
    let (label, key) = (transaction.label("P").unwrap(), transaction.property_key("k").unwrap());
    let numbers = (0..NODES as i64).map(model::Value::Int).collect::<Vec<_>>();
    let values = [model::Column::from_values(&numbers)];
    transaction.create_nodes(&NewNodes { count: NODES, labels: &[label], keys: &[key], properties: &values }).unwrap();
    transaction.commit().unwrap();
    store.checkpoint(&model::Interrupt::new()).unwrap();
    let mut transaction = store.write().unwrap();
    let subject = model::Subject::Label(label);
    let index = model::Index { name: "byk".into(), subject, keys: vec![key] };
    transaction.create_index(index, &model::Interrupt::new()).unwrap();
    transaction.create_constraint(model::Constraint::unique("one", label, key), &model::Interrupt::new()).unwrap();
    let start = disk.position();
    transaction.commit().unwrap();
    store.checkpoint(&model::Interrupt::new()).unwrap();
    drop(store);
    let events = disk.journal().events;
    let is_commit_point =
        |event: &testing::simulation::Event| matches!(event, testing::simulation::Event::Rename { .. });
    let end = start + events[start..].iter().position(is_commit_point).expect("the indexes go into files");
    let mut wreck = testing::simulation::Wreck::default();
    events[..end].iter().for_each(|event| wreck.advance(event));
    let left = wreck.after_kill().0;
    // The files of the flush that was cut short stand where replay would make its own.
    for number in 1..40 {
        for kind in ["ordered", "keys"] {
            let name = path.join(format!("{number:08}.{kind}"));
            if !left.exists(&name) {
                left.put(&name, b"left".to_vec());
            }
        }
    }
    left
}

#[test]
fn large_indexes_in_a_log_are_read_on_a_medium_that_refuses_writes() {
    use testing::simulation::ReadOnlyDisk;
    let disk = store_with_large_indexes_in_its_log();
    let path = std::path::Path::new("/stores/test.knot");
    let files = || {
        let inside = disk.files().into_iter().filter(|file| file.starts_with(path));
        inside.map(|file| (disk.bytes(&file).unwrap(), file)).collect::<Vec<_>>()
    };
    let before = files();
    let medium = ReadOnlyDisk::new(std::sync::Arc::new(disk.clone()));
    let platform = testing::simulation::platform(std::sync::Arc::new(medium.clone()), 4);
    let open = || NativeStore::open(path, OpenOptions::read_only(), platform.clone()).unwrap();
    let (first, second) = (open(), open());
    assert_eq!(storage::check::check(&platform, path, &model::Interrupt::new()).unwrap(), []);
    for store in [&first, &second] {
        let view = store.read().unwrap();
        let (label, key) = (view.schema().label("P").unwrap(), view.schema().property_key("k").unwrap());
        let wanted = model::Column::from_values(&[model::Value::Int(69_999), model::Value::Int(70_000)]);
        let found = model::store::nodes_of(&view.lookup(label, key, &wanted).unwrap());
        assert_eq!(found, [Some(model::NodeId(69_999)), None]);
        assert!(view.schema().indexes.iter().any(|index| &*index.name == "byk"));
        assert_eq!(view.schema().constraints.len(), 1);
    }
    assert_eq!(medium.refused(), 0, "nothing tried to change the store");
    drop((first, second));
    let new = std::path::Path::new("/salvaged.knot");
    let outside = testing::simulation::platform(std::sync::Arc::new(disk.clone()), 5);
    let recovery = storage::recover::recover(&outside, path, new, &model::Interrupt::new()).unwrap();
    assert_eq!((recovery.nodes, recovery.losses), (70_000, Vec::new()));
    assert!(files() == before, "nothing in the store was changed");
}
