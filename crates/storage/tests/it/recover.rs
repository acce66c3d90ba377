//! Salvage: of a sound store everything comes back; of a damaged one all but what is told as lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::platform::Platform;
use model::store::{EdgeIds, Expand, NewEdges, NewNodes, NodeScan};
use model::{
    Column, ColumnData, Constraint, Direction, EdgeBatch, ErrorCode, GraphStore, Interrupt, NodeBatch, NodeId,
    ReadView, Value,
};
use storage::recover::{Recovery, recover};
use storage::{Durability, NativeStore, OpenOptions};
use testing::differential::{Content, apply_to_both, assert_same, random_operations};
use testing::random::{SeededRandom, seed_or};
use testing::reference_store::ReferenceStore;
use testing::simulation::{FaultyDisk, MemoryDisk, platform};

use crate::directory::TestDirectory;
use crate::index_build::hook::ends_after;
use crate::numbered;

const STORE: &str = "/stores/damaged.knot";
const NEW: &str = "/stores/new.knot";
const NODES: usize = 12_000;

fn open(platform: &Platform, path: &str) -> NativeStore {
    NativeStore::open(Path::new(path), OpenOptions::create(), platform.clone()).unwrap()
}

/// Nodes with a unique number and a name, each with three edges that carry a weight; and some of each in the log.
fn make(platform: &Platform) {
    let store = open(platform, STORE);
    for count in [NODES, 10] {
        let mut transaction = store.write().unwrap();
        let (label, kind) = (transaction.label("A").unwrap(), transaction.edge_type("T").unwrap());
        let keys = ["uid", "name", "w"].map(|name| transaction.property_key(name).unwrap());
        let first = transaction.view().node_id_bound();
        if first == 0 {
            transaction.create_constraint(Constraint::unique("c", label, keys[0]), &model::Interrupt::new()).unwrap();
        }
        let uids = Column::new(ColumnData::Int((first as i64..first as i64 + count as i64).collect()));
        let names: Vec<Value> = uids.values().map(|uid| Value::string(&name_of(&uid))).collect();
        let properties = [uids, Column::from_values(&names)];
        let new = NewNodes { count, labels: &[label], keys: &keys[..2], properties: &properties };
        let nodes = transaction.create_nodes(&new).unwrap();
        for step in [1, 7, 300] {
            let targets: Vec<NodeId> = (0..count).map(|at| nodes[(at + step) % count]).collect();
            let weights = Column::new(ColumnData::Int(nodes.iter().map(|node| node.0 as i64 * step as i64).collect()));
            let new = NewEdges {
                edge_type: kind,
                sources: &nodes,
                targets: &targets,
                keys: &keys[2..],
                properties: &[weights],
            };
            transaction.create_edges(&new).unwrap();
        }
        transaction.commit().unwrap();
        if first == 0 {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
    }
}

fn name_of(uid: &Value) -> String {
    format!("the long name of node {uid}, so that it takes room")
}

/// Names by number, and edges as numbers and weight.
type Found = (BTreeMap<i64, Option<String>>, BTreeSet<(i64, i64, Option<i64>)>);

fn read(view: &dyn ReadView) -> Found {
    let schema = view.schema();
    let key = |name| schema.property_key(name).unwrap();
    let (mut uids, mut nodes) = (BTreeMap::new(), BTreeMap::new());
    let scan = NodeScan { keys: vec![key("uid"), key("name")], ..NodeScan::default() };
    let (mut cursor, mut batch) = (view.scan(&scan).unwrap(), NodeBatch::default());
    let int = |value: Value| if let Value::Int(int) = value { Some(int) } else { None };
    while cursor.next(&mut batch).unwrap() {
        for (row, &node) in batch.nodes.iter().enumerate() {
            let Some(uid) = int(batch.properties[0].value(row)) else { continue };
            uids.insert(node, uid);
            let name = batch.properties[1].value(row);
            nodes.insert(uid, (!name.is_null()).then(|| name.to_string()));
        }
    }
    let mut edges = BTreeSet::new();
    let Some(weight) = schema.property_key("w") else { return (nodes, edges) };
    let expand = Expand {
        direction: Direction::Out,
        types: None,
        edge_ids: EdgeIds::Omit,
        keys: vec![weight],
        ranges: vec![],
        top: None,
    };
    let ids: Vec<NodeId> = uids.keys().copied().collect();
    let (mut cursor, mut batch) = (view.expand(&ids, &expand).unwrap(), EdgeBatch::default());
    while cursor.next(&mut batch).unwrap() {
        for row in 0..batch.len() {
            let source = uids[&ids[batch.inputs[row] as usize]];
            let Some(&target) = uids.get(&batch.neighbors[row]) else { continue };
            edges.insert((source, target, int(batch.properties[0].value(row))));
        }
    }
    (nodes, edges)
}

fn salvage(platform: &Platform) -> Recovery {
    recover(platform, Path::new(STORE), Path::new(NEW), &Interrupt::new()).unwrap()
}

fn remove_new(platform: &Platform) {
    let disk = &platform.disk;
    disk.list(Path::new(NEW)).unwrap().iter().for_each(|name| disk.remove(&Path::new(NEW).join(name)).unwrap());
    disk.remove_directory(Path::new(NEW)).unwrap();
}

#[test]
fn a_sound_store_comes_back_whole() {
    let seed = seed_or(61);
    let (directory, copy) = (TestDirectory::new(), TestDirectory::new());
    let options = OpenOptions { durability: Durability::Off, memtable_bytes_max: 6_000, ..OpenOptions::create() };
    let (store, reference) = (directory.open_with(options), ReferenceStore::new());
    random_operations(seed, 40).iter().for_each(|transaction| apply_to_both(&store, &reference, transaction));
    drop(store);
    let recovery = recover(&directory.platform(), directory.path(), copy.path(), &Interrupt::new()).unwrap();
    assert_eq!(recovery.losses, [], "seed {seed}");
    let (found, expected) = (copy.open().read().unwrap(), reference.read().unwrap());
    assert_same(&*found, &*expected);
    assert_eq!(recovery.nodes as usize, Content::of(&*expected).nodes.len());
}

#[test]
fn what_is_damaged_is_lost_and_told_and_nothing_else() {
    let seed = seed_or(63);
    let mut random = SeededRandom::new(seed);
    let disk = Arc::new(MemoryDisk::new());
    let platform = platform(disk.clone(), seed);
    make(&platform);
    let whole = read(&*open(&platform, STORE).read().unwrap());
    assert_eq!((whole.0.len(), whole.1.len()), (NODES + 10, 3 * NODES + 30));
    let recovery = salvage(&platform);
    assert_eq!(recovery.losses, []);
    assert_eq!(read(&*open(&platform, NEW).read().unwrap()), whole);
    remove_new(&platform);
    for path in disk.files() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "LOCK" || name == "MANIFEST" || name == "MANIFEST.copy" {
            continue;
        }
        let length = platform.disk.length(&path).unwrap() as usize;
        for place in [3, 70, length / 2, length - 10, random.index(length), random.index(length)] {
            let flip = |bytes: &mut Vec<u8>| bytes[place] ^= 0x10;
            disk.corrupt(&path, flip).unwrap();
            let what = format!("seed {seed}: {name} byte {place} of {length}");
            let recovery = salvage(&platform);
            numbered::check_files(&platform, Path::new(NEW));
            let found = read(&*open(&platform, NEW).read().unwrap());
            for (uid, name) in &found.0 {
                let expected = whole.0.get(uid).unwrap_or_else(|| panic!("{what}: node {uid} never was"));
                assert!(name.is_none() || name == expected, "{what}: node {uid} is {name:?}");
            }
            for &(source, target, weight) in &found.1 {
                let with = |weight| whole.1.contains(&(source, target, weight));
                let weights = whole.1.range((source, target, None)..=(source, target, Some(i64::MAX)));
                assert!(with(weight) || weight.is_none() && weights.count() > 0, "{what}: {source} to {target}");
            }
            let is_torn_tail = name.ends_with(".wal");
            assert!(found == whole || is_torn_tail || !recovery.losses.is_empty(), "{what}: the loss is not told");
            let problems = storage::check::check(&platform, Path::new(STORE), &Interrupt::new()).unwrap();
            let names_it = recovery.losses.iter().any(|loss| loss.file == path);
            // Data that only one direction has, or an index, can be read elsewhere.
            assert!(problems.is_empty() || names_it || found == whole, "{what}: {:?}", recovery.losses);
            // Damage to one block leaves most of the rest.
            let is_block = (65_536..length / 2).contains(&place) && !name.ends_with(".wal");
            assert!(!is_block || recovery.nodes + recovery.edges > NODES as u64, "{what}: {:?}", recovery.losses);
            remove_new(&platform);
            disk.corrupt(&path, flip).unwrap();
        }
    }
}

/// Check and salvage that are stopped at any look leave what they read as it was, and nothing beside it.
#[test]
fn check_and_salvage_are_stopped_at_any_moment() {
    let disk = Arc::new(MemoryDisk::new());
    let platform = platform(disk.clone(), seed_or(66));
    make(&platform);
    let before = disk.files();
    let checked = |interrupt: &Interrupt| storage::check::check(&platform, Path::new(STORE), interrupt).map(drop);
    let salvaged = |interrupt: &Interrupt| {
        recover(&platform, Path::new(STORE), Path::new(NEW), interrupt).map(|recovery| assert_eq!(recovery.losses, []))
    };
    type Work<'a> = &'a dyn Fn(&Interrupt) -> model::Result<()>;
    for (name, work) in [("check", &checked as Work<'_>), ("salvage", &salvaged)] {
        let (mut looks, mut stopped) = (1, 0);
        while let Err(error) = work(&ends_after(looks)) {
            assert_eq!(error.code(), ErrorCode::Timeout, "{name}, {looks} looks: {error}");
            assert_eq!(disk.files(), before, "{name}, {looks} looks");
            (looks, stopped) = (looks + 1 + looks / 2, stopped + 1);
        }
        assert!(stopped > 3, "{name} was stopped {stopped} times");
    }
    remove_new(&platform);
    assert_eq!(disk.files(), before);
}

#[test]
fn what_cannot_be_salvaged_is_refused() {
    let disk = Arc::new(MemoryDisk::new());
    let platform = platform(disk.clone(), 1);
    make(&platform);
    let check = |code: ErrorCode| {
        let error = recover(&platform, Path::new(STORE), Path::new(NEW), &Interrupt::new()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    };
    let store = open(&platform, STORE);
    check(ErrorCode::Busy);
    drop(store);
    drop(open(&platform, NEW));
    check(ErrorCode::File);
    remove_new(&platform);
    for name in ["MANIFEST", "MANIFEST.copy"] {
        disk.corrupt(&Path::new(STORE).join(name), |bytes| bytes[100] ^= 1).unwrap();
    }
    check(ErrorCode::Corrupt);
    assert!(!platform.disk.exists(Path::new(NEW)), "nothing is left of what was refused");
}

#[test]
fn what_this_user_may_not_read_is_no_damage() {
    let inner = MemoryDisk::new();
    make(&platform(Arc::new(inner.clone()), 2));
    let disk = FaultyDisk::new(Arc::new(inner.clone()));
    let platform = platform(Arc::new(disk.clone()), 2);
    let mut refused = 0;
    let is_read =
        |path: &&PathBuf| path.starts_with(STORE) && !path.ends_with("LOCK") && !path.ends_with("MANIFEST.copy");
    for path in inner.files().iter().filter(is_read) {
        disk.forbid(path);
        let outcome = recover(&platform, Path::new(STORE), Path::new(NEW), &Interrupt::new());
        let checked = storage::check::check(&platform, Path::new(STORE), &Interrupt::new());
        disk.allow();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        refused += 1;
        let error = outcome.expect_err(&name);
        assert_eq!(error.code(), ErrorCode::Io, "{name}: {error}");
        assert!(error.message().contains(&name) && error.message().contains("denied"), "{name}: {error}");
        assert!(error.remedy().contains("right to read"), "{name}: {error:?}");
        assert!(!platform.disk.exists(Path::new(NEW)), "{name}: nothing is left of what was refused");
        assert!(checked.is_err_and(|error| error.message().contains("denied")), "{name}: check tells no damage");
    }
    assert!(refused > 5, "{refused} files");
    assert_eq!(salvage(&platform).losses, []);
}

#[test]
fn a_damaged_manifest_is_read_from_its_copy() {
    let disk = Arc::new(MemoryDisk::new());
    let platform = platform(disk.clone(), 1);
    make(&platform);
    let whole = read(&*open(&platform, STORE).read().unwrap());
    let manifest = Path::new(STORE).join("MANIFEST");
    let bytes = platform.disk.read(&manifest).unwrap();
    type Damage<'d> = &'d dyn Fn(&mut Vec<u8>);
    let damage: [Damage<'_>; 5] = [
        &|bytes| bytes[2] ^= 1,
        &|bytes| bytes[9] ^= 0x40,
        &|bytes| bytes[90] ^= 1,
        &|bytes| bytes.truncate(100),
        &|bytes| bytes.clear(),
    ];
    for change in damage {
        disk.corrupt(&manifest, change).unwrap();
        let refused = NativeStore::open(Path::new(STORE), OpenOptions::default(), platform.clone());
        assert!(refused.is_err(), "a damaged manifest is told, not passed over");
        let recovery = salvage(&platform);
        assert_eq!(recovery.losses.len(), 1);
        assert_eq!(recovery.losses[0].file, manifest);
        assert_eq!(read(&*open(&platform, NEW).read().unwrap()), whole);
        remove_new(&platform);
        disk.corrupt(&manifest, |now| now.clone_from(&bytes)).unwrap();
    }
    platform.disk.remove(&manifest).unwrap();
    assert_eq!(
        read(
            &*{
                salvage(&platform);
                open(&platform, NEW)
            }
            .read()
            .unwrap()
        ),
        whole
    );
}

#[test]
fn a_copy_of_the_manifest_that_a_crash_left_behind_is_made_anew() {
    let disk = Arc::new(MemoryDisk::new());
    let platform = platform(disk.clone(), 1);
    make(&platform);
    let [manifest, copy] = ["MANIFEST", "MANIFEST.copy"].map(|name| Path::new(STORE).join(name));
    let read = |path: &Path| platform.disk.read(path).unwrap();
    assert_eq!(read(&manifest), read(&copy));
    let problems = || storage::check::check(&platform, Path::new(STORE), &Interrupt::new()).unwrap();
    for length in [0, 20, 100] {
        disk.corrupt(&copy, |bytes| bytes.truncate(length)).unwrap();
        assert_eq!(problems(), [], "a process that was killed while it wrote the copy did no harm");
        drop(open(&platform, STORE));
        assert_eq!(read(&manifest), read(&copy));
    }
    disk.corrupt(&copy, |bytes| bytes[70] ^= 1).unwrap();
    assert_eq!(problems().iter().map(|problem| problem.file.as_path()).collect::<Vec<_>>(), [copy.as_path()]);
    drop(open(&platform, STORE));
    assert_eq!(read(&manifest), read(&copy));
}
