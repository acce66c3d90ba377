//! Changes of a version by a flush, a compaction or a bulk load. Edits compose: each is applied to whatever version is
//! current when it comes to its end.
//!
//! Invariant: an edit names files, never places in a list, so that it does not matter what other edits came before it.

use std::ops::Range;

use model::{Map, PropertyKeyId, Result, Schema, Set, Statistics, Subject};

use crate::file::FileEntry;
use crate::manifest::{IndexEntry, Manifest, PartitionEntry, SegmentEntry, UNASSIGNED_SLOT};
use crate::node_run::NodeRunEntry;
use crate::ordered_index::OrderedEntry;

/// A change of the files that make up a store.
#[derive(Clone, Debug, Default)]
pub struct VersionEdit {
    /// Edge partitions that go, by the numbers of their topology files.
    pub removed_partitions: Vec<u64>,
    /// Edge partitions that come, oldest first. They take the place of those that go; if none goes they are the newest.
    pub added_partitions: Vec<PartitionEntry>,
    /// Changed lists of patches.
    pub patches: Vec<PatchEdit>,
    /// Node segments that were written anew, by number; `None` for one without any node.
    pub segments: Vec<(u64, Option<SegmentEntry>)>,
    /// Node segments that hold what runs say of them from now on.
    pub folded: Vec<FoldedSegment>,
    /// Node runs that go, by the numbers of their files.
    pub removed_node_runs: Vec<u64>,
    /// Node runs that come; their ages say how new they are.
    pub added_node_runs: Vec<NodeRunEntry>,
    /// Runs of key indexes that go, by the numbers of their files. If one of them is gone already, its constraint was
    /// dropped meanwhile, and none of those that would come is taken in.
    pub removed_indexes: Vec<u64>,
    /// Runs of key indexes that come; their ages say how new they are.
    pub added_indexes: Vec<IndexEntry>,
    /// Ordered indexes that were made anew: all runs that there are of them go.
    pub renewed_ordered: Vec<(Subject, Vec<PropertyKeyId>)>,
    /// Runs of ordered indexes that go, by the numbers of their files; as with those of key indexes.
    pub removed_ordered: Vec<u64>,
    /// Runs of ordered indexes that come; their ages say how new they are.
    pub added_ordered: Vec<OrderedEntry>,
    /// Names and constraints from now on.
    pub schema: Option<Schema>,
    /// Counts from now on; counted anew where there are none, unless `keeps_counts`.
    pub statistics: Option<Statistics>,
    /// The edit says nothing that was not there before, so that the counts stay.
    pub keeps_counts: bool,
    /// One more than the largest node id ever given out; never lowers what is there.
    pub node_id_bound: u64,
    /// The first write-ahead log that is not in the files.
    pub wal_number: Option<u64>,
}

/// A node segment that was written anew from another and the runs over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldedSegment {
    /// Number of the segment.
    pub segment: u64,
    /// The number of the file that it had. If it has another by now, a bulk load wrote it anew with all runs; it stays.
    pub before: Option<u64>,
    /// The segment from now on.
    pub after: Option<SegmentEntry>,
}

/// A change of the patches of one edge partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchEdit {
    /// The number of the partition's topology file.
    pub partition: u64,
    /// The numbers of the patches that go.
    pub removed: Vec<u64>,
    /// The patch that comes: in the place of those that go, or as the newest if none goes.
    pub added: Option<FileEntry>,
}

impl VersionEdit {
    /// The edit that makes one manifest another: for builds that make a whole new manifest while nothing else changes
    /// the store.
    pub fn difference(old: &Manifest, new: Manifest) -> VersionEdit {
        let mut edit = VersionEdit { node_id_bound: new.node_id_bound, ..VersionEdit::default() };
        let kept: Set<u64> = new.partitions.iter().map(|entry| entry.topology.number).collect();
        let known: Set<u64> = old.partitions.iter().map(|entry| entry.topology.number).collect();
        let numbers = old.partitions.iter().map(|entry| entry.topology.number);
        edit.removed_partitions = numbers.filter(|number| !kept.contains(number)).collect();
        let is_new = |entry: &PartitionEntry| !known.contains(&entry.topology.number);
        edit.added_partitions = new.partitions.into_iter().filter(is_new).collect();
        edit.segments = changed(&old.segments, &new.segments, |entry| entry.segment);
        let index_number = |entry: &IndexEntry| entry.file.number;
        (edit.removed_indexes, edit.added_indexes) = moved(&old.indexes, &new.indexes, index_number);
        let run_number = |entry: &NodeRunEntry| entry.file.number;
        (edit.removed_node_runs, edit.added_node_runs) = moved(&old.node_runs, &new.node_runs, run_number);
        let ordered_number = |entry: &OrderedEntry| entry.file.number;
        (edit.removed_ordered, edit.added_ordered) = moved(&old.ordered, &new.ordered, ordered_number);
        edit.wal_number = Some(new.wal_number);
        edit.schema = Some(new.schema);
        edit
    }

    /// All that several flushes on top of each other have changed of a manifest; `renewed` are the ordered indexes that they
    /// made anew.
    pub fn of_flushes(old: &Manifest, new: &Manifest, renewed: Vec<(Subject, Vec<PropertyKeyId>)>) -> VersionEdit {
        let mut edit = VersionEdit::difference(old, new.clone());
        edit.added_partitions.iter_mut().for_each(|entry| entry.slot = UNASSIGNED_SLOT);
        for entry in &old.partitions {
            let number = entry.topology.number;
            let now = new.partitions.iter().find(|now| now.topology.number == number);
            let patches = now.map_or(&[][..], |now| &now.patches);
            let added = patches.iter().filter(|patch| !entry.patches.contains(patch));
            let patch = |&added: &FileEntry| PatchEdit { partition: number, removed: Vec::new(), added: Some(added) };
            edit.patches.extend(added.map(patch));
        }
        // Indexes made anew have no older runs, and those of dropped indexes go with the schema.
        edit.removed_ordered.clear();
        edit.renewed_ordered = renewed;
        edit.statistics = Some(new.statistics.clone());
        edit
    }

    /// Bytes of the files of nodes and of their key indexes that come.
    pub fn node_bytes(&self) -> u64 {
        let segments = self.segments.iter().filter_map(|(_, entry)| *entry);
        let segments = segments.chain(self.folded.iter().filter_map(|folded| folded.after)).map(|entry| entry.file);
        let runs = self.added_node_runs.iter().map(|entry| entry.file);
        let indexes = self.added_indexes.iter().map(|entry| entry.file);
        segments.chain(runs).chain(indexes).map(|file| file.length).sum()
    }

    /// The manifest that this edit makes of another. The caller counts, numbers and writes it.
    pub fn apply(&self, base: &Manifest) -> Result<Manifest> {
        let mut manifest = base.clone();
        apply_partitions(self, &mut manifest.partitions)?;
        for patch in &self.patches {
            apply_patch(patch, &mut manifest.partitions)?;
        }
        replace(&mut manifest.segments, &self.segments, |entry| entry.segment);
        for folded in &self.folded {
            let at = manifest.segments.iter().position(|entry| entry.segment == folded.segment);
            if at.map(|at| manifest.segments[at].file.number) == folded.before {
                replace(&mut manifest.segments, &[(folded.segment, folded.after)], |entry| entry.segment);
            }
        }
        manifest.segments.sort_by_key(|entry| entry.segment);
        for number in &self.removed_node_runs {
            let at = manifest.node_runs.iter().position(|entry| entry.file.number == *number);
            manifest.node_runs.remove(at.ok_or_else(|| missing(*number))?);
        }
        manifest.node_runs.extend(&self.added_node_runs);
        manifest.node_runs.sort_by_key(|entry| entry.age);
        if let Some(schema) = &self.schema {
            manifest.schema = schema.clone();
        }
        apply_indexes(self, &mut manifest);
        apply_ordered(self, &mut manifest);
        if let Some(statistics) = &self.statistics {
            // The edit may have begun before the sketches were last drawn.
            let sketches = manifest.statistics.sketches.take();
            manifest.statistics = Statistics { sketches, ..statistics.clone() };
        }
        if let Some(number) = self.wal_number {
            manifest.wal_number = number;
        }
        manifest.node_id_bound = manifest.node_id_bound.max(self.node_id_bound);
        Ok(manifest)
    }
}

/// The numbers of the entries that only the old list has, and the entries that only the new one has.
fn moved<E: Clone>(old: &[E], new: &[E], number: impl Fn(&E) -> u64) -> (Vec<u64>, Vec<E>) {
    let before: Set<u64> = old.iter().map(&number).collect();
    let after: Set<u64> = new.iter().map(&number).collect();
    let gone = old.iter().map(&number).filter(|number| !after.contains(number)).collect();
    (gone, new.iter().filter(|entry| !before.contains(&number(entry))).cloned().collect())
}

fn apply_indexes(edit: &VersionEdit, manifest: &mut Manifest) {
    let has = |number: &u64| manifest.indexes.iter().any(|entry| entry.file.number == *number);
    if edit.removed_indexes.iter().all(has) {
        manifest.indexes.retain(|entry| !edit.removed_indexes.contains(&entry.file.number));
        manifest.indexes.extend(&edit.added_indexes);
    }
    let schema = &manifest.schema;
    manifest.indexes.retain(|entry| schema.unique(entry.label, entry.key).is_some());
    manifest.indexes.sort_by_key(|entry| (entry.label, entry.key, entry.age));
}

fn apply_ordered(edit: &VersionEdit, manifest: &mut Manifest) {
    let renewed = |entry: &OrderedEntry| {
        edit.renewed_ordered.iter().any(|(subject, keys)| entry.subject == *subject && entry.keys == *keys)
    };
    manifest.ordered.retain(|entry| !renewed(entry));
    let has = |number: &u64| manifest.ordered.iter().any(|entry| entry.file.number == *number);
    if edit.removed_ordered.iter().all(has) {
        manifest.ordered.retain(|entry| !edit.removed_ordered.contains(&entry.file.number));
        manifest.ordered.extend(edit.added_ordered.iter().cloned());
    }
    let indexes = &manifest.schema.indexes;
    manifest.ordered.retain(|entry| indexes.iter().any(|index| entry.is_of(index)));
    manifest.ordered.sort_by(|a, b| (a.subject, &a.keys, a.age).cmp(&(b.subject, &b.keys, b.age)));
}

/// The entries that differ, by key; `None` for those that are gone.
fn changed<E: Clone + PartialEq, K: Copy + Eq + std::hash::Hash>(
    old: &[E],
    new: &[E],
    key: impl Fn(&E) -> K,
) -> Vec<(K, Option<E>)> {
    let before: Map<K, &E> = old.iter().map(|entry| (key(entry), entry)).collect();
    let after: Set<K> = new.iter().map(&key).collect();
    let gone = old.iter().map(&key).filter(|key| !after.contains(key)).map(|key| (key, None));
    let come = new.iter().filter(|entry| before.get(&key(entry)).is_none_or(|old| *old != *entry));
    come.map(|entry| (key(entry), Some(entry.clone()))).chain(gone).collect()
}

/// Puts the changed entries in the places of the old ones, new ones at the end.
fn replace<E: Clone, K: PartialEq>(entries: &mut Vec<E>, changes: &[(K, Option<E>)], key: impl Fn(&E) -> K) {
    for (changed, entry) in changes {
        let at = entries.iter().position(|entry| key(entry) == *changed);
        match (at, entry) {
            (Some(at), Some(entry)) => entries[at] = entry.clone(),
            (Some(at), None) => drop(entries.remove(at)),
            (None, Some(entry)) => entries.push(entry.clone()),
            (None, None) => {}
        }
    }
}

fn apply_partitions(edit: &VersionEdit, partitions: &mut Vec<PartitionEntry>) -> Result<()> {
    // The newest of those that go says how new those that come are.
    let mut at = None;
    for number in &edit.removed_partitions {
        let Some(index) = partitions.iter().position(|entry| entry.topology.number == *number) else {
            return Err(missing(*number));
        };
        partitions.remove(index);
        at = Some(at.map_or(index, |at: usize| if index < at { at - 1 } else { index }));
    }
    let at = at.unwrap_or(partitions.len());
    partitions.splice(at..at, edit.added_partitions.iter().cloned());
    raise_levels(partitions);
    Ok(())
}

/// Raises the level of partitions that are older than one of a higher level to at least that level, so that of
/// overlapping partitions the levels never rise towards the newest, which merging relies on.
fn raise_levels(partitions: &mut [PartitionEntry]) {
    if partitions.is_sorted_by(|older, newer| older.level >= newer.level) {
        return;
    }
    for newer in (1..partitions.len()).rev() {
        let (before, rest) = partitions.split_at_mut(newer);
        let newer = &rest[0];
        for older in before.iter_mut().filter(|older| overlaps(&older.interval, &newer.interval)) {
            older.level = older.level.max(newer.level);
        }
    }
}

/// True if the intervals have an id in common.
pub fn overlaps(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

fn apply_patch(patch: &PatchEdit, partitions: &mut [PartitionEntry]) -> Result<()> {
    let Some(entry) = partitions.iter_mut().find(|entry| entry.topology.number == patch.partition) else {
        return Err(missing(patch.partition));
    };
    let mut at = entry.patches.len();
    for number in &patch.removed {
        let Some(index) = entry.patches.iter().position(|file| file.number == *number) else {
            return Err(missing(*number));
        };
        entry.patches.remove(index);
        at = at.min(index);
    }
    entry.patches.splice(at..at, patch.added);
    Ok(())
}

fn missing(number: u64) -> model::Error {
    model::error!(Internal, "an edit names file {number}, which the version does not have")
}

#[cfg(test)]
mod tests {
    use super::{PatchEdit, VersionEdit};
    use crate::file::FileEntry;
    use crate::manifest::{Manifest, PartitionEntry, UNASSIGNED_SLOT};

    fn file(number: u64) -> FileEntry {
        FileEntry { number, length: 1, identity: number }
    }

    fn partition(number: u64, level: u8, start: u64, end: u64) -> PartitionEntry {
        PartitionEntry {
            slot: UNASSIGNED_SLOT,
            level,
            interval: start..end,
            edges: 1,
            topology: file(number),
            properties: None,
            patches: Vec::new(),
            numbers_from: 0,
        }
    }

    /// Numbers and levels after an edit.
    fn check(base: &[PartitionEntry], removed: &[u64], added: &[PartitionEntry], expected: &[(u64, u8)]) {
        let base = Manifest { partitions: base.to_vec(), ..Manifest::default() };
        let edit = VersionEdit {
            removed_partitions: removed.to_vec(),
            added_partitions: added.to_vec(),
            ..VersionEdit::default()
        };
        let found = edit.apply(&base).unwrap().partitions;
        let found: Vec<(u64, u8)> = found.iter().map(|entry| (entry.topology.number, entry.level)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_comes_takes_the_place_of_the_newest_that_goes() {
        let base = [partition(1, 2, 0, 9), partition(2, 1, 0, 9), partition(3, 1, 0, 9), partition(4, 0, 0, 9)];
        check(&base, &[], &[partition(5, 0, 0, 9)], &[(1, 2), (2, 1), (3, 1), (4, 0), (5, 0)]);
        check(&base, &[2, 3], &[partition(5, 2, 0, 9)], &[(1, 2), (5, 2), (4, 0)]);
        check(&base, &[3, 2], &[partition(5, 2, 0, 4), partition(6, 2, 4, 9)], &[(1, 2), (5, 2), (6, 2), (4, 0)]);
        check(&base, &[4], &[], &[(1, 2), (2, 1), (3, 1)]);
        let apart = [partition(1, 0, 0, 4), partition(2, 0, 4, 9), partition(3, 0, 0, 4)];
        check(&apart, &[1, 3], &[partition(4, 1, 0, 4)], &[(2, 0), (4, 1)]);
    }

    #[test]
    fn levels_do_not_rise_towards_the_newest_where_intervals_overlap() {
        let base = [partition(1, 2, 0, 4), partition(2, 0, 4, 9), partition(3, 0, 0, 9)];
        check(&base, &[], &[partition(4, 3, 0, 4)], &[(1, 3), (2, 3), (3, 3), (4, 3)]);
        check(&base[..2], &[], &[partition(4, 3, 0, 4)], &[(1, 3), (2, 0), (4, 3)]);
    }

    #[test]
    fn patches_are_added_and_merged() {
        let base = Manifest { partitions: vec![partition(1, 0, 0, 9)], ..Manifest::default() };
        let edit = |removed: &[u64], added: Option<u64>| VersionEdit {
            patches: vec![PatchEdit { partition: 1, removed: removed.to_vec(), added: added.map(file) }],
            ..VersionEdit::default()
        };
        let mut manifest = base;
        for number in [2, 3, 4] {
            manifest = edit(&[], Some(number)).apply(&manifest).unwrap();
        }
        manifest = edit(&[2, 3], Some(5)).apply(&manifest).unwrap();
        assert_eq!(manifest.partitions[0].patches, [file(5), file(4)]);
        assert!(edit(&[9], None).apply(&manifest).is_err());
    }
}
