//! The stores, which hold every kind of file, and one changed file of a kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::platform::Platform;
use model::store::{NewEdges, NewNodes};
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time};
use model::{
    Column, ColumnData, Constraint, EdgeTypeId, GraphStore, Index, Interrupt, LabelId, NodeId, PropertyKeyId, SortKey,
    Subject,
};
use storage::format::{BACKUP_NAME, FileKind, HEADER_BYTES, MANIFEST_COPY_NAME, MANIFEST_NAME};
use storage::{Durability, Maintenance, NativeStore, OpenOptions};
use testing::differential::{apply_to_both, random_operations};
use testing::reference_store::ReferenceStore;
use testing::simulation::{MemoryDisk, platform};

use super::blocks::word;
use super::choices::Choices;
use super::{blocks, fields, logs};
use crate::vast;

/// Nodes of the store whose columns have every encoding.
const NODES: usize = 300;

/// The field that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of that kind.
    File(FileKind),
    /// The copy of the manifest, where the manifest itself is damaged.
    ManifestCopy,
    /// The note of a backup.
    BackupNote,
}

/// All kinds. Sorted runs of a build are not there: only the process that writes them reads them.
pub const KINDS: [Kind; 11] = [
    Kind::File(FileKind::Manifest),
    Kind::File(FileKind::Nodes),
    Kind::File(FileKind::NodeRun),
    Kind::File(FileKind::Edges),
    Kind::File(FileKind::EdgeProperties),
    Kind::File(FileKind::Patch),
    Kind::File(FileKind::Keys),
    Kind::File(FileKind::OrderedKeys),
    Kind::File(FileKind::Wal),
    Kind::ManifestCopy,
    Kind::BackupNote,
];

impl Kind {
    fn of(path: &Path) -> Option<Kind> {
        let name = path.file_name()?.to_str()?;
        match name {
            MANIFEST_NAME => Some(Kind::File(FileKind::Manifest)),
            MANIFEST_COPY_NAME => Some(Kind::ManifestCopy),
            BACKUP_NAME => Some(Kind::BackupNote),
            name => FileKind::parse(name).map(|(kind, _)| Kind::File(kind)),
        }
    }
}

/// A store on a disk of its own.
pub struct Store {
    /// The directory.
    pub path: PathBuf,
    /// The disk.
    pub disk: MemoryDisk,
}

impl Store {
    /// The files of a kind; of logs those that have records.
    pub fn files(&self, kind: Kind) -> Vec<PathBuf> {
        let has_something = |path: &PathBuf| {
            kind != Kind::File(FileKind::Wal) || self.disk.bytes(path).unwrap().windows(4).any(|bytes| bytes == b"KREC")
        };
        let in_store = self.disk.files().into_iter().filter(|path| path.parent() == Some(&self.path));
        in_store.filter(|path| Kind::of(path) == Some(kind)).filter(has_something).collect()
    }
}

/// All stores. Each changed file is one of these.
pub fn stores() -> Vec<Store> {
    let vast = new_store(|platform, path| vast::make_of(platform, path, 5, NODES));
    let backup = backup_of(&vast);
    vec![vast, backup, new_store(random), old()]
}

fn new_store(make: impl FnOnce(&Platform, &Path)) -> Store {
    let (path, disk) = (PathBuf::from(vast::PATH), MemoryDisk::new());
    make(&platform(Arc::new(disk.clone()), 5), &path);
    Store { path, disk }
}

fn backup_of(store: &Store) -> Store {
    let (path, disk) = (PathBuf::from("/backups/a"), store.disk.copy());
    let platform = platform(Arc::new(disk.clone()), 5);
    storage::backup::backup(&platform, &store.path, &path, None, &Interrupt::new()).unwrap();
    Store { path, disk }
}

/// Small nodes and edges with properties of all kinds, rules, sort keys and indexes, in several layers of files and a log.
fn random(platform: &Platform, path: &Path) {
    let options = OpenOptions {
        durability: Durability::Off,
        maintenance: Maintenance::Inline,
        memtable_bytes_max: 200 << 20,
        memory_bytes_max: Some(256 << 20),
        ..OpenOptions::create()
    };
    let store = NativeStore::open(path, options, platform.clone()).unwrap();
    let reference = ReferenceStore::new();
    for (number, transaction) in random_operations(71, 60).iter().enumerate() {
        apply_to_both(&store, &reference, transaction);
        match number {
            20 => store.compact(&Interrupt::new()).unwrap(),
            30 | 40 => store.checkpoint(&Interrupt::new()).unwrap(),
            _ => {}
        }
    }
    drop(reference);
    times(&store);
    store.checkpoint(&Interrupt::new()).unwrap();
    times(&store);
    rules(&store);
}

/// Nodes and edges with values of time, each kind in a column of its own.
fn times(store: &NativeStore) {
    let day = |at: usize| at as i64 * 86_400;
    let columns = [
        ColumnData::Date((0..9).map(|at| Date(day(at))).collect()),
        ColumnData::LocalTime((0..9).map(|at| LocalTime(day(at))).collect()),
        ColumnData::Time((0..9).map(|at| Time { local: LocalTime(day(at)), offset: 3_600 }).collect()),
        ColumnData::LocalDateTime((0..9).map(|at| LocalDateTime { seconds: day(at), nanosecond: 7 }).collect()),
        ColumnData::DateTime((0..9).map(|at| DateTime { seconds: day(at), ..DateTime::default() }).collect()),
        ColumnData::Duration((0..9).map(|at| Duration { days: day(at), ..Duration::default() }).collect()),
    ]
    .map(Column::new);
    let mut transaction = store.write().unwrap();
    let names = ["date", "clock", "time", "moment", "zoned", "span"];
    let keys = names.map(|name| transaction.property_key(name).unwrap());
    let edge_type = transaction.edge_type("THEN").unwrap();
    let new = NewNodes { count: 9, labels: &[], keys: &keys, properties: &columns };
    let nodes = transaction.create_nodes(&new).unwrap();
    let new = NewEdges { edge_type, sources: &nodes, targets: &nodes, keys: &keys, properties: &columns };
    transaction.create_edges(&new).unwrap();
    transaction.commit().unwrap();
}

/// Nodes, each with an edge to the next, and the edges' type.
pub fn circle(store: &NativeStore, count: usize) -> (Vec<NodeId>, EdgeTypeId) {
    let mut transaction = store.write().unwrap();
    let edge_type = transaction.edge_type("NEXT").unwrap();
    let nodes = transaction.create_nodes(&NewNodes { count, labels: &[], keys: &[], properties: &[] }).unwrap();
    let targets: Vec<NodeId> = nodes.iter().cycle().skip(1).take(count).copied().collect();
    let new = NewEdges { edge_type, sources: &nodes, targets: &targets, keys: &[], properties: &[] };
    transaction.create_edges(&new).unwrap();
    transaction.commit().unwrap();
    (nodes, edge_type)
}

/// Writes another number of nodes and edges into a manifest that tells of `before`.
pub fn tell_counts(manifest: &mut Vec<u8>, before: [u64; 2], told: u64) {
    let counts = before.map(u64::to_le_bytes).concat();
    let at = manifest.windows(16).position(|bytes| bytes == counts).expect("the manifest tells the counts");
    manifest[at..at + 16].copy_from_slice(&[told; 2].map(u64::to_le_bytes).concat());
    reseal(manifest);
}

/// Every operation of the log that makes or drops a rule.
fn rules(store: &NativeStore) {
    let interrupt = Interrupt::new();
    let mut transaction = store.write().unwrap();
    let labels: [LabelId; 2] = ["Here", "There"].map(|name| transaction.label(name).unwrap());
    let keys: [PropertyKeyId; 2] = ["one", "two"].map(|name| transaction.property_key(name).unwrap());
    let edge_type: EdgeTypeId = transaction.edge_type("LEADS").unwrap();
    let ends = Constraint::ends("leads", edge_type, labels[0], labels[1]);
    transaction.create_constraint(ends, &interrupt).unwrap();
    let pair = Constraint { keys: keys.to_vec(), ..Constraint::unique("pair", labels[0], keys[0]) };
    transaction.create_constraint(pair, &interrupt).unwrap();
    for name in ["index", "gone"] {
        let keys = if name == "gone" { vec![keys[1]] } else { vec![keys[0]] };
        let index = Index { name: name.into(), subject: Subject::EdgeType(edge_type), keys };
        transaction.create_index(index, &interrupt).unwrap();
    }
    transaction.drop_index("gone").unwrap();
    transaction.drop_constraint("pair").unwrap();
    transaction.set_sort_key(SortKey { edge_type, keys: keys.to_vec() }).unwrap();
    transaction.drop_sort_key(edge_type).unwrap();
    transaction.set_sort_key(SortKey { edge_type, keys: vec![keys[1]] }).unwrap();
    transaction.commit().unwrap();
}

/// The store of the oldest format that is read.
fn old() -> Store {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder = folders.find_map(|folder| Some(folder.join("tests/fixtures/format-v2")).filter(|path| path.is_dir()));
    let (path, disk) = (PathBuf::from(vast::PATH), MemoryDisk::new());
    for entry in std::fs::read_dir(folder.expect("there is a store of the oldest format")).unwrap() {
        let entry = entry.unwrap();
        disk.put(&path.join(entry.file_name()), std::fs::read(entry.path()).unwrap());
    }
    [Path::new("/stores"), &path].into_iter().for_each(|folder| disk.put_directory(folder));
    Store { path, disk }
}

/// A copy of the disk of one of the stores with a file of the kind changed; which, the choices say. Gives the store's
/// number, the copy and the file.
pub fn changed(stores: &[Store], kind: Kind, choices: &mut Choices<'_>) -> (usize, MemoryDisk, PathBuf) {
    let with: Vec<usize> = (0..stores.len()).filter(|&store| !stores[store].files(kind).is_empty()).collect();
    let number = choices.pick(&with);
    let store = &stores[number];
    let files = store.files(kind);
    let file = files[choices.below(files.len())].clone();
    let before = store.disk.bytes(&file).unwrap();
    let disk = store.disk.copy();
    let after = match kind {
        Kind::File(FileKind::Wal) => logs::change(&before, choices),
        Kind::File(FileKind::Manifest) => changed_manifest(&before, choices),
        Kind::ManifestCopy => {
            disk.corrupt(&store.path.join(MANIFEST_NAME), |bytes| bytes[HEADER_BYTES] ^= 1).unwrap();
            changed_manifest(&before, choices)
        }
        Kind::BackupNote => changed_note(&before, choices),
        Kind::File(_) => {
            let other = store.disk.bytes(&files[choices.below(files.len())]).unwrap();
            let after = blocks::change(&before, &other, choices);
            [MANIFEST_NAME, MANIFEST_COPY_NAME].iter().for_each(|name| {
                disk.corrupt(&store.path.join(name), |manifest| note_length(manifest, &before, after.len())).unwrap();
            });
            after
        }
    };
    disk.put(&file, after);
    (number, disk, file)
}

fn changed_manifest(before: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut header = before[..HEADER_BYTES].to_vec();
    let mut body = before[HEADER_BYTES..before.len() - 4].to_vec();
    if choices.below(32) == 0 {
        fields::change(&mut header, false, choices);
        blocks::seal_header(&mut header);
    } else {
        fields::change(&mut body, true, choices);
    }
    seal_manifest([header, body].concat())
}

fn seal_manifest(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = crc32fast::hash(&bytes[HEADER_BYTES..]);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Makes the checksum of a changed manifest right.
fn reseal(manifest: &mut Vec<u8>) {
    manifest.truncate(manifest.len() - 4);
    *manifest = seal_manifest(std::mem::take(manifest));
}

/// Writes the new length of a file into the manifest.
fn note_length(manifest: &mut Vec<u8>, before: &[u8], length: usize) {
    let entry = [word(before, 16), before.len() as u64, word(before, 24)].map(u64::to_le_bytes).concat();
    let at = manifest.windows(entry.len()).position(|bytes| bytes == entry).expect("the manifest names the file");
    manifest[at + 8..at + 16].copy_from_slice(&(length as u64).to_le_bytes());
    reseal(manifest);
}

fn changed_note(before: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let text = String::from_utf8(before.to_vec()).unwrap();
    let mut bytes = text.as_bytes()[..text.rfind("sum ").unwrap()].to_vec();
    fields::change(&mut bytes, true, choices);
    let sum = format!("sum {:08x}\n", crc32fast::hash(&bytes));
    bytes.extend_from_slice(sum.as_bytes());
    bytes
}
