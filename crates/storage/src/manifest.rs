//! The manifest: which files make up the store, its names, constraints and counts. Replacing it is the commit point.
//!
//! Invariant: a manifest is written whole under another name, synced, renamed over the old one, and the directory
//! synced; so at any moment exactly one whole manifest is there.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use model::id::{EdgeTypeId, LabelId, PropertyKeyId};
use model::platform::Disk;
use model::schema::Names;
use model::{Result, Rule, Schema, SortKey, Statistics, Subject};

use crate::codec::bytes::{Get, Put};
use crate::error::StorageError;
use crate::file::{FileEntry, check_header, header};
use crate::format::{
    EDGE_NUMBER_LIMIT, FileKind, GENERATION_LIMIT, HEADER_BYTES, MAGIC, MANIFEST_COPY_NAME, MANIFEST_NAME,
    MANIFEST_NEW_NAME, NODE_ID_LIMIT, PARTITION_SLOTS, SEGMENT_BITS, segment_range,
};
use crate::node_run::NodeRunEntry;
use crate::ordered_index::OrderedEntry;
use model::codec::rules;

pub(crate) mod sketches;

/// A node segment as the manifest lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEntry {
    /// Number of the segment, which gives the ids it holds: those of `format::segment_range`.
    pub segment: u64,
    /// Age up to which the changes of its nodes in node runs are in it already.
    pub age: u64,
    /// Its file.
    pub file: FileEntry,
}

/// An edge partition as the manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionEntry {
    /// The number by which edge ids name it; stays the same as long as the partition is there. A partition that was
    /// just written has [`UNASSIGNED_SLOT`] until a version takes it in.
    pub slot: u16,
    /// Approximate number of merges of its edges: 0 for what a flush wrote.
    pub level: u8,
    /// The target ids it holds.
    pub interval: Range<u64>,
    /// Edges in it.
    pub edges: u64,
    /// The file with both directions.
    pub topology: FileEntry,
    /// The file with the property columns, if any edge has a property.
    pub properties: Option<FileEntry>,
    /// Deletions and changes since it was written, oldest first.
    pub patches: Vec<FileEntry>,
    /// The number of its first edge, where its files, of version 2, have no numbers.
    pub numbers_from: u64,
}

/// The slot of a partition that no version has taken in yet.
pub const UNASSIGNED_SLOT: u16 = u16::MAX;

/// A run of a unique key index as the manifest lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// The label of its constraint.
    pub label: LabelId,
    /// The property key of its constraint.
    pub key: PropertyKeyId,
    /// Of two runs of an index the one of the larger age is newer.
    pub age: u64,
    /// Its file.
    pub file: FileEntry,
}

/// Everything that a store's files are, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// Random bits that tell this store from any other.
    pub store_identity: u64,
    /// Counts the manifests of this store.
    pub generation: u64,
    /// Names and constraints.
    pub schema: Schema,
    /// Counts of what is in the files.
    pub statistics: Statistics,
    /// One more than the largest node id ever given out.
    pub node_id_bound: u64,
    /// One more than the largest number that an edge was ever given.
    pub edge_number_bound: u64,
    /// Node segments in order; a segment without any node is not listed.
    pub segments: Vec<SegmentEntry>,
    /// Edge partitions; of two whose intervals overlap the older comes first, and its level is not lower.
    pub partitions: Vec<PartitionEntry>,
    /// Runs of key indexes, those of each constraint in order of their ages.
    pub indexes: Vec<IndexEntry>,
    /// Node runs in order of their ages.
    pub node_runs: Vec<NodeRunEntry>,
    /// Runs of ordered indexes, those of each in order of their ages.
    pub ordered: Vec<OrderedEntry>,
    /// The first write-ahead log that is not yet in the files.
    pub wal_number: u64,
    /// The number of the next file; larger than that of any file here.
    pub next_file_number: u64,
}

impl Manifest {
    /// The manifest of a store without anything.
    pub fn empty(store_identity: u64) -> Manifest {
        Manifest { store_identity, next_file_number: 1, ..Manifest::default() }
    }

    /// Every file that the manifest names.
    pub fn files(&self) -> impl Iterator<Item = (FileKind, FileEntry)> + '_ {
        let segments = self.segments.iter().map(|entry| (FileKind::Nodes, entry.file));
        let topologies = self.partitions.iter().map(|entry| (FileKind::Edges, entry.topology));
        let properties = self.partitions.iter().filter_map(|entry| entry.properties);
        let patches = self.partitions.iter().flat_map(|entry| entry.patches.iter().copied());
        let indexes = self.indexes.iter().map(|entry| (FileKind::Keys, entry.file));
        let properties = properties.map(|file| (FileKind::EdgeProperties, file));
        let patches = patches.map(|file| (FileKind::Patch, file));
        let node_runs = self.node_runs.iter().map(|entry| (FileKind::NodeRun, entry.file));
        let ordered = self.ordered.iter().map(|entry| (FileKind::OrderedKeys, entry.file));
        segments.chain(topologies).chain(properties).chain(patches).chain(indexes).chain(node_runs).chain(ordered)
    }

    /// The part of the graph that the file of that number holds, in words; `None` if the manifest does not name it.
    pub fn part_of(&self, number: u64) -> Option<String> {
        if let Some(entry) = self.segments.iter().find(|entry| entry.file.number == number) {
            let range = segment_range(entry.segment);
            return Some(format!("nodes {} to {}", range.start, (range.end - 1).min(self.node_id_bound)));
        }
        if let Some(entry) = self.indexes.iter().find(|entry| entry.file.number == number) {
            let (label, key) = (self.schema.label_name(entry.label), self.schema.property_key_name(entry.key));
            return Some(format!("the key index on :{label}({key}), which can be built anew from the nodes"));
        }
        if self.node_runs.iter().any(|entry| entry.file.number == number) {
            return Some("new nodes, and changes of nodes".to_owned());
        }
        if self.ordered.iter().any(|entry| entry.file.number == number) {
            return Some("an ordered index, which can be built anew".to_owned());
        }
        let edges = |entry: &PartitionEntry| {
            let (start, end) = (entry.interval.start, entry.interval.end.min(self.node_id_bound.max(1)) - 1);
            format!("{} edges that end at nodes {start} to {end}", entry.edges)
        };
        self.partitions.iter().find_map(|entry| {
            let is_patch = entry.patches.iter().any(|file| file.number == number);
            match entry.properties {
                _ if entry.topology.number == number => Some(edges(entry)),
                Some(file) if file.number == number => Some(format!("properties of {}", edges(entry))),
                _ => is_patch.then(|| format!("deletions and changes of {}", edges(entry))),
            }
        })
    }

    /// Reads and checks the manifest of a store.
    pub fn read(disk: &Arc<dyn Disk>, directory: &Path) -> Result<Manifest> {
        let path = directory.join(MANIFEST_NAME);
        if !disk.exists(directory) {
            return Err(not_a_store(directory, "there is no such directory"));
        }
        if !disk.exists(&path) {
            return Err(not_a_store(directory, "the directory holds no file MANIFEST"));
        }
        Manifest::read_file(disk, directory, &path)
    }

    /// Reads and checks the copy of the manifest of a store, which is as new or one newer.
    pub fn read_copy(disk: &Arc<dyn Disk>, directory: &Path) -> Result<Manifest> {
        Manifest::read_file(disk, directory, &directory.join(MANIFEST_COPY_NAME))
    }

    fn read_file(disk: &Arc<dyn Disk>, directory: &Path, path: &Path) -> Result<Manifest> {
        let bytes = disk.read(path).map_err(|error| StorageError::io("read", path, error))?;
        if bytes.len() >= MAGIC.len() && bytes[..MAGIC.len()] != MAGIC {
            return Err(not_a_store(directory, "its MANIFEST is not that of a Knotwork store"));
        }
        let (generation, store_identity) = check_header(&bytes, path, FileKind::Manifest)?;
        if generation >= GENERATION_LIMIT {
            return Err(StorageError::corrupt(path, 16, format!("no manifest has been replaced {generation} times")));
        }
        let end = bytes.len().saturating_sub(4).max(HEADER_BYTES);
        let mut sum = Get::new(&bytes[end..], path, end as u64);
        if sum.u32()? != crc32fast::hash(&bytes[HEADER_BYTES..end]) {
            let problem = "the checksum of the manifest does not match";
            return Err(StorageError::corrupt(path, HEADER_BYTES as u64, problem));
        }
        let mut get = Get::new(&bytes[HEADER_BYTES..end], path, HEADER_BYTES as u64);
        let mut manifest = decode(&mut get)?;
        if get.left() > 0 {
            return Err(get.damage("the manifest has bytes behind its end"));
        }
        manifest.generation = generation;
        manifest.store_identity = store_identity;
        Ok(manifest)
    }

    /// Replaces the manifest of a store: the commit point. All files it names must be durable. If it fails before it is
    /// replaced, what was written of it is removed, and the copy is that of the manifest before as far as the disk allows.
    pub fn write(&self, disk: &Arc<dyn Disk>, directory: &Path) -> Result<()> {
        let mut bytes = header(FileKind::Manifest, self.generation, self.store_identity);
        self.encode(&mut bytes);
        let sum = crc32fast::hash(&bytes[HEADER_BYTES..]);
        bytes.put_u32(sum);
        let disk = &**disk;
        let prepared = prepare(disk, directory, &bytes);
        let (path, new) = (directory.join(MANIFEST_NAME), directory.join(MANIFEST_NEW_NAME));
        let renamed =
            prepared.and_then(|()| disk.rename(&new, &path).map_err(|error| StorageError::io("rename", &new, error)));
        if renamed.is_err() && disk.exists(&new) {
            // The error that is told is the first. Opening does what does not succeed here.
            let _ = disk.remove(&new);
            let _ = Manifest::renew_copy(disk, directory);
        }
        renamed?;
        disk.sync_directory(directory).map_err(|error| StorageError::io("sync", directory, error))
    }

    /// True if the copy of a store's manifest is the beginning of one: a process was killed while it wrote it. It is written anew when the
    /// store is opened, and nothing rests on it meanwhile.
    pub(crate) fn is_copy_unfinished(disk: &dyn Disk, directory: &Path) -> bool {
        let Ok(copy) = disk.read(&directory.join(MANIFEST_COPY_NAME)) else { return false };
        let sources = [MANIFEST_NAME, MANIFEST_NEW_NAME].map(|name| disk.read(&directory.join(name)));
        sources.iter().flatten().any(|bytes| bytes.len() > copy.len() && bytes.starts_with(&copy))
    }

    /// Makes the copy of a store's manifest anew if it is not the same, as after a crash.
    pub fn renew_copy(disk: &dyn Disk, directory: &Path) -> Result<()> {
        let (path, copy) = (directory.join(MANIFEST_NAME), directory.join(MANIFEST_COPY_NAME));
        let bytes = disk.read(&path).map_err(|error| StorageError::io("read", &path, error))?;
        if disk.exists(&copy) && disk.read(&copy).is_ok_and(|copied| copied == bytes) {
            return Ok(());
        }
        write_copy(disk, directory, &bytes)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for names in [&self.schema.labels, &self.schema.edge_types, &self.schema.property_keys] {
            out.put_u32(names.len() as u32);
            names.iter().for_each(|name| out.put_text(name));
        }
        out.put_u32(self.schema.constraints.len() as u32);
        for constraint in &self.schema.constraints {
            rules::put_constraint(constraint, out);
        }
        out.put_u32(self.schema.indexes.len() as u32);
        self.schema.indexes.iter().for_each(|index| rules::put_index(index, out));
        encode_sort_keys(&self.schema.sort_keys, out);
        encode_statistics(&self.statistics, out);
        out.put_u64(self.node_id_bound);
        out.put_u32(self.segments.len() as u32);
        for entry in &self.segments {
            out.put_u64(entry.segment);
            out.put_u64(entry.age);
            encode_file(&entry.file, out);
        }
        out.put_u32(self.partitions.len() as u32);
        self.partitions.iter().for_each(|entry| encode_partition(entry, out));
        out.put_u32(self.indexes.len() as u32);
        for entry in &self.indexes {
            out.put_u32(entry.label.0);
            out.put_u32(entry.key.0);
            out.put_u64(entry.age);
            encode_file(&entry.file, out);
        }
        out.put_u32(self.node_runs.len() as u32);
        for entry in &self.node_runs {
            out.put_u64(entry.age);
            encode_file(&entry.file, out);
        }
        out.put_u32(self.ordered.len() as u32);
        for entry in &self.ordered {
            rules::put_subject(entry.subject, out);
            rules::put_keys(&entry.keys, out);
            out.put_u64(entry.age);
            encode_file(&entry.file, out);
        }
        out.put_u64(self.wal_number);
        out.put_u64(self.next_file_number);
        sketches::put(self.statistics.sketches.as_deref(), out);
        out.put_u64(self.edge_number_bound);
        self.partitions.iter().for_each(|entry| out.put_u64(entry.numbers_from));
    }
}

/// Writes a manifest under its first name, and its copy, which are durable then with all names in the directory.
fn prepare(disk: &dyn Disk, directory: &Path, bytes: &[u8]) -> Result<()> {
    // First, so that a disk without room for it leaves the copy that is there.
    write_anew(disk, &directory.join(MANIFEST_NEW_NAME), bytes)?;
    // Before the manifest, so that a store or a backup is never without; a crash leaves one newer than the manifest.
    write_copy(disk, directory, bytes)?;
    // The names of the files that the manifest lists must be durable before the manifest is.
    disk.sync_directory(directory).map_err(|error| StorageError::io("sync", directory, error))
}

/// Writes the copy of a manifest that is durable itself. A crash may leave a part of it, or none.
fn write_copy(disk: &dyn Disk, directory: &Path, bytes: &[u8]) -> Result<()> {
    write_anew(disk, &directory.join(MANIFEST_COPY_NAME), bytes)
}

/// Writes a file, durable but for its name, in place of one that may be there.
fn write_anew(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<()> {
    if disk.exists(path) {
        disk.remove(path).map_err(|error| StorageError::io("remove", path, error))?;
    }
    let mut file = disk.create(path).map_err(|error| StorageError::io("create", path, error))?;
    file.write_all(bytes).map_err(|error| StorageError::io("write", path, error))?;
    file.flush().and_then(|()| file.sync()).map_err(|error| StorageError::io("sync", path, error))
}

fn not_a_store(directory: &Path, reason: &str) -> model::Error {
    StorageError::NotAStore { path: directory.to_owned(), reason: reason.to_owned() }.into()
}

fn encode_partition(entry: &PartitionEntry, out: &mut Vec<u8>) {
    out.put_u32(u32::from(entry.slot));
    out.put_u32(u32::from(entry.level));
    out.put_u64(entry.interval.start);
    out.put_u64(entry.interval.end);
    out.put_u64(entry.edges);
    encode_file(&entry.topology, out);
    // File numbers start at 1, so that 0 can say that there is none.
    encode_file(&entry.properties.unwrap_or(FileEntry { number: 0, length: 0, identity: 0 }), out);
    out.put_u32(entry.patches.len() as u32);
    entry.patches.iter().for_each(|file| encode_file(file, out));
}

fn encode_file(file: &FileEntry, out: &mut Vec<u8>) {
    out.put_u64(file.number);
    out.put_u64(file.length);
    out.put_u64(file.identity);
}

fn encode_sort_keys(sort_keys: &[SortKey], out: &mut Vec<u8>) {
    out.put_u32(sort_keys.len() as u32);
    for sort_key in sort_keys {
        out.put_u32(sort_key.edge_type.0);
        out.put_u32(sort_key.keys.len() as u32);
        sort_key.keys.iter().for_each(|key| out.put_u32(key.0));
    }
}

fn encode_statistics(statistics: &Statistics, out: &mut Vec<u8>) {
    out.put_u64(statistics.nodes);
    out.put_u64(statistics.edges);
    let mut labels: Vec<(u32, u64)> =
        statistics.nodes_by_label.iter().map(|(label, &count)| (label.0, count)).collect();
    let mut types: Vec<(u32, u64)> = statistics.edges_by_type.iter().map(|(kind, &count)| (kind.0, count)).collect();
    for counts in [&mut labels, &mut types] {
        counts.sort_unstable();
        out.put_u32(counts.len() as u32);
        for &(id, count) in counts.iter() {
            out.put_u32(id);
            out.put_u64(count);
        }
    }
}

fn decode(get: &mut Get<'_>) -> Result<Manifest> {
    let mut manifest = Manifest::default();
    let schema = &mut manifest.schema;
    for names in [&mut schema.labels, &mut schema.edge_types, &mut schema.property_keys] {
        decode_names(get, names)?;
    }
    for _ in 0..get.count(18)? {
        manifest.schema.constraints.push(rules::constraint(get)?);
    }
    for _ in 0..get.count(17)? {
        manifest.schema.indexes.push(rules::index(get)?);
    }
    decode_sort_keys(get, &mut manifest.schema)?;
    manifest.statistics = decode_statistics(get)?;
    manifest.node_id_bound = get.u64()?;
    if manifest.node_id_bound > NODE_ID_LIMIT {
        return Err(get.damage(format!("a store of {} nodes is too large", manifest.node_id_bound)));
    }
    for _ in 0..get.count(40)? {
        let entry = SegmentEntry { segment: get.u64()?, age: get.u64()?, file: decode_file(get)? };
        let is_next = manifest.segments.last().is_none_or(|before| before.segment < entry.segment);
        if !is_next || entry.segment >= NODE_ID_LIMIT >> SEGMENT_BITS {
            return Err(get.damage(format!("the node segment {} is out of order", entry.segment)));
        }
        manifest.segments.push(entry);
    }
    for _ in 0..get.count(84)? {
        manifest.partitions.push(decode_partition(get)?);
    }
    for _ in 0..get.count(40)? {
        let (label, key) = (LabelId(get.u32()?), PropertyKeyId(get.u32()?));
        manifest.indexes.push(IndexEntry { label, key, age: get.u64()?, file: decode_file(get)? });
    }
    for _ in 0..get.count(32)? {
        let entry = NodeRunEntry { age: get.u64()?, file: decode_file(get)? };
        if manifest.node_runs.last().is_some_and(|before| before.age >= entry.age) {
            return Err(get.damage(format!("the node run of age {} is not in order", entry.age)));
        }
        manifest.node_runs.push(entry);
    }
    for _ in 0..get.count(45)? {
        let (subject, keys) = (rules::subject(get)?, rules::keys(get)?);
        manifest.ordered.push(OrderedEntry { subject, keys, age: get.u64()?, file: decode_file(get)? });
    }
    manifest.wal_number = get.u64()?;
    manifest.next_file_number = get.u64()?;
    manifest.statistics.sketches = sketches::get(get)?.map(Arc::new);
    decode_numbers(get, &mut manifest)?;
    check_names(&manifest, get)?;
    bound_counts(&mut manifest);
    Ok(manifest)
}

/// Lowers counts that exceed what the files can hold, so that code that reserves room by them takes no more than that.
/// The check of a store counts, and tells the difference.
fn bound_counts(manifest: &mut Manifest) {
    let held = manifest.partitions.iter().fold(0u64, |edges, entry| edges.saturating_add(entry.edges));
    // Each edge has a number of its own.
    let held = held.min(manifest.edge_number_bound);
    let counts = &mut manifest.statistics;
    counts.nodes = counts.nodes.min(manifest.node_id_bound);
    counts.edges = counts.edges.min(held);
    counts.nodes_by_label.values_mut().for_each(|count| *count = (*count).min(counts.nodes));
    counts.edges_by_type.values_mut().for_each(|count| *count = (*count).min(counts.edges));
}

/// Reads how edges are numbered. In version 2 they are not: then their numbers follow each other in the order of the
/// partitions, so that every reader of the manifest gives them the same.
fn decode_numbers(get: &mut Get<'_>, manifest: &mut Manifest) -> Result<()> {
    if get.left() == 0 {
        for entry in &mut manifest.partitions {
            entry.numbers_from = manifest.edge_number_bound;
            manifest.edge_number_bound = manifest.edge_number_bound.saturating_add(entry.edges);
        }
    } else {
        manifest.edge_number_bound = get.u64()?;
        for entry in &mut manifest.partitions {
            entry.numbers_from = get.u64()?;
        }
    }
    if manifest.edge_number_bound > EDGE_NUMBER_LIMIT {
        return Err(get.damage(format!("{} edges are more than can be numbered", manifest.edge_number_bound)));
    }
    Ok(())
}

/// Fails unless all that the manifest itself says of labels, types and properties has names.
fn check_names(manifest: &Manifest, get: &Get<'_>) -> Result<()> {
    let schema = &manifest.schema;
    let is_subject = |subject: Subject| match subject {
        Subject::Label(label) => schema.labels.name(label.0).is_some(),
        Subject::EdgeType(edge_type) => schema.edge_types.name(edge_type.0).is_some(),
    };
    let are_keys = |keys: &[PropertyKeyId]| keys.iter().all(|key| schema.property_keys.name(key.0).is_some());
    let is_rule = |rule: Rule| match rule {
        Rule::Ends { from, to } => is_subject(Subject::Label(from)) && is_subject(Subject::Label(to)),
        _ => true,
    };
    let is_sound = schema.constraints.iter().all(|of| is_subject(of.subject) && are_keys(&of.keys) && is_rule(of.rule))
        && schema.indexes.iter().all(|of| is_subject(of.subject) && are_keys(&of.keys))
        && schema.sort_keys.iter().all(|of| is_subject(Subject::EdgeType(of.edge_type)) && are_keys(&of.keys))
        && manifest.indexes.iter().all(|of| is_subject(Subject::Label(of.label)) && are_keys(&[of.key]))
        && manifest.ordered.iter().all(|of| is_subject(of.subject) && are_keys(&of.keys));
    if is_sound { Ok(()) } else { Err(get.damage("a rule or an index names a label, type or property without a name")) }
}

fn decode_names(get: &mut Get<'_>, names: &mut Names) -> Result<()> {
    for number in 0..get.count(4)? as u32 {
        let name = get.text()?;
        if names.intern(name) != number {
            return Err(get.damage(format!("the name {name} is there twice")));
        }
    }
    Ok(())
}

fn decode_sort_keys(get: &mut Get<'_>, schema: &mut Schema) -> Result<()> {
    for _ in 0..get.count(12)? {
        let edge_type = EdgeTypeId(get.u32()?);
        let mut keys = Vec::new();
        for _ in 0..get.count(4)? {
            keys.push(PropertyKeyId(get.u32()?));
        }
        let added = schema.add_sort_key(SortKey { edge_type, keys });
        added.map_err(|error| get.damage(format!("a sort key is wrong: {}", error.message())))?;
    }
    Ok(())
}

fn decode_statistics(get: &mut Get<'_>) -> Result<Statistics> {
    let mut statistics = Statistics { nodes: get.u64()?, edges: get.u64()?, ..Statistics::default() };
    for _ in 0..get.count(12)? {
        statistics.nodes_by_label.insert(LabelId(get.u32()?), get.u64()?);
    }
    for _ in 0..get.count(12)? {
        statistics.edges_by_type.insert(EdgeTypeId(get.u32()?), get.u64()?);
    }
    Ok(statistics)
}

fn decode_partition(get: &mut Get<'_>) -> Result<PartitionEntry> {
    let (slot, level) = (get.u32()?, get.u32()?);
    if slot as usize >= PARTITION_SLOTS || level > u32::from(u8::MAX) {
        return Err(get.damage(format!("a partition has slot {slot} and level {level}")));
    }
    let interval = get.u64()?..get.u64()?;
    if interval.start >= interval.end {
        return Err(get.damage(format!("the interval {}..{} is empty", interval.start, interval.end)));
    }
    let (edges, topology, properties) = (get.u64()?, decode_file(get)?, decode_file(get)?);
    let mut patches = Vec::new();
    for _ in 0..get.count(24)? {
        patches.push(decode_file(get)?);
    }
    Ok(PartitionEntry {
        slot: slot as u16,
        level: level as u8,
        interval,
        edges,
        topology,
        properties: (properties.number != 0).then_some(properties),
        patches,
        numbers_from: 0,
    })
}

fn decode_file(get: &mut Get<'_>) -> Result<FileEntry> {
    Ok(FileEntry { number: get.u64()?, length: get.u64()?, identity: get.u64()? })
}
