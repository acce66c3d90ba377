//! Taking over what happened meanwhile: edges are found again by type, source, target and number, which neither a flush nor
//! a merge changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::id::{EdgeId, EdgeTypeId, NodeId};
use model::{Map, Result, error};

use crate::build::BuildContext;
use crate::file::FileEntry;
use crate::format::EdgePlace;
use crate::manifest::PartitionEntry;
use crate::partition::Partition;
use crate::partition::patch::Patch;
use crate::partition::patch::write::PatchContent;
use crate::version::{PatchEdit, Version, VersionEdit};

/// Parallel edges: their type, source and target.
type Group = (EdgeTypeId, NodeId, NodeId);

/// Finds the edges of one version again in another that holds the same edges in other files.
pub struct Moves<'a> {
    from: &'a Version,
    to: &'a Version,
    /// Ids found so far.
    found: Map<u64, EdgeId>,
    /// The edges between two ends, as they are now, by number.
    groups: Map<Group, Map<u64, EdgeId>>,
    /// Number of ids in the groups.
    grouped: usize,
}

/// Edges found that are kept while patches are carried over.
const FOUND_MAX: usize = 1 << 16;

impl<'a> Moves<'a> {
    /// From one version to another.
    pub fn new(from: &'a Version, to: &'a Version) -> Moves<'a> {
        Moves { from, to, found: Map::default(), groups: Map::default(), grouped: 0 }
    }

    /// The id that an edge has now; `None` if it is not there. Cost: a search in each partition of the other version.
    pub fn find(&mut self, edge: EdgeId) -> Result<Option<EdgeId>> {
        if let Some(&found) = self.found.get(&edge.0) {
            return Ok(Some(found));
        }
        let Some((source, target, edge_type)) = self.from.edge(edge)? else { return Ok(None) };
        let number = self.from.edge_numbers_of(&[edge])?[0];
        let group = (edge_type, source, target);
        if let Some(after) = self.groups.get(&group) {
            return Ok(after.get(&number).copied());
        }
        let after = by_number(self.to, group)?;
        let found = after.get(&number).copied();
        match found {
            Some(found) if after.len() == 1 => drop(self.found.insert(edge.0, found)),
            _ => {
                self.grouped += after.len();
                self.groups.insert(group, after);
            }
        }
        Ok(found)
    }

    /// Forgets what was found, if it is much.
    fn forget(&mut self) {
        if self.found.len() + self.grouped > FOUND_MAX {
            (self.found, self.groups, self.grouped) = (Map::default(), Map::default(), 0);
        }
    }
}

/// The parallel edges of a version by their numbers.
fn by_number(version: &Version, (edge_type, source, target): Group) -> Result<Map<u64, EdgeId>> {
    let mut edges = Vec::new();
    version.edges_between(edge_type, source, target, &mut edges)?;
    Ok(version.edge_numbers_of(&edges)?.into_iter().zip(edges).collect())
}

/// Makes an edit, built on `base`, one that fits `current`, which came of the base by edits of other kinds.
pub fn follow(context: &BuildContext, edit: &mut VersionEdit, base: &Arc<Version>, current: &Version) -> Result<()> {
    follow_merges(context, edit, base, current)?;
    follow_flushes(context, edit, base, current)
}

/// Patches of partitions that were merged meanwhile go to what they became.
fn follow_merges(context: &BuildContext, edit: &mut VersionEdit, base: &Version, current: &Version) -> Result<()> {
    let is_gone = |patch: &PatchEdit| current.partition_with(patch.partition).is_none();
    if !edit.patches.iter().any(is_gone) {
        return Ok(());
    }
    let (gone, kept) = std::mem::take(&mut edit.patches).into_iter().partition(is_gone);
    edit.patches = kept;
    let mut carried = Carried::new(context, current);
    let mut moves = Moves::new(base, current);
    let gone: Vec<PatchEdit> = gone;
    for PatchEdit { partition, added, .. } in gone {
        let Some(partition) = base.partition_with(partition) else { continue };
        let Some(entry) = added else { continue };
        let patch = Patch::open(&context.platform.disk, &context.directory, entry, partition.sections())?;
        carried.take(&patch, partition, &mut moves)?;
        context.discard(patch.file().path());
    }
    for (partition, file) in carried.finish()? {
        edit.patches.push(PatchEdit { partition, removed: Vec::new(), added: Some(file) });
    }
    Ok(())
}

/// Applies the patches that came meanwhile to partitions that this edit removes to those that it adds.
fn follow_flushes(
    context: &BuildContext,
    edit: &mut VersionEdit,
    base: &Arc<Version>,
    current: &Version,
) -> Result<()> {
    let mut newer: Vec<(&Arc<Partition>, &Arc<Patch>)> = Vec::new();
    for &number in &edit.removed_partitions {
        let (Some(old), Some(now)) = (base.partition_with(number), current.partition_with(number)) else {
            return Err(error!(Internal, "partition {number} was merged twice"));
        };
        let is_new = |patch: &&Arc<Patch>| !old.entry().patches.contains(&patch.file().entry());
        newer.extend(now.patches().iter().filter(is_new).map(|patch| (old, patch)));
    }
    if newer.is_empty() {
        return Ok(());
    }
    let merged = base.with_edit(edit)?;
    let mut carried = Carried::new(context, &merged);
    let mut moves = Moves::new(base, &merged);
    for (partition, patch) in newer {
        carried.take(patch, partition, &mut moves)?;
    }
    for (number, file) in carried.finish()? {
        let is_it = |entry: &&mut PartitionEntry| entry.topology.number == number;
        match edit.added_partitions.iter_mut().find(is_it) {
            Some(entry) => entry.patches.push(file),
            None => return Err(error!(Internal, "an edge of a merged partition is in partition {number}")),
        }
    }
    Ok(())
}

/// Contents of patches of one version, on their way into patches of another. A patch is written whenever enough is there, so
/// that the memory taken does not depend on the size of the patches.
struct Carried<'a> {
    context: &'a BuildContext,
    to: &'a Version,
    /// Contents of new patches, by the slots that their edges have moved to.
    contents: BTreeMap<usize, PatchContent>,
    /// Memory that they take.
    bytes: usize,
    /// Memory that they may take.
    bytes_max: usize,
    /// Partitions and their new patches, oldest first.
    written: Vec<(u64, FileEntry)>,
}

impl<'a> Carried<'a> {
    fn new(context: &'a BuildContext, to: &'a Version) -> Carried<'a> {
        // Sorting and encoding take four times as much.
        let bytes_max = (context.config.memory_bytes / 8).clamp(1 << 20, 32 << 20);
        Carried { context, to, contents: BTreeMap::new(), bytes: 0, bytes_max, written: Vec::new() }
    }

    /// Takes over what a patch of a partition says.
    fn take(&mut self, patch: &Patch, partition: &Partition, moves: &mut Moves<'_>) -> Result<()> {
        let slot = usize::from(partition.slot());
        for (index, section) in patch.sections() {
            let mut place_of = |position: u64| {
                let edge = EdgePlace { partition: slot, section: *index, position }.id();
                let gone = || error!(Internal, "edge {} was changed, and is gone", edge.0);
                moves.forget();
                moves.find(edge)?.and_then(EdgePlace::of).ok_or_else(gone)
            };
            section.changes(|key, position, value| {
                let place = place_of(position)?;
                self.add(place.partition, |content| content.set(place.section, place.position, key, value))
            })?;
            let mut deleted = Vec::new();
            section.deleted(false, &mut deleted)?;
            for position in deleted {
                let place = place_of(position)?;
                self.add(place.partition, |content| content.delete(place.section, place.position))?;
            }
        }
        Ok(())
    }

    /// Adds to the content for a slot; writes the largest content if all of them are more than is to be held.
    fn add(&mut self, slot: usize, add: impl FnOnce(&mut PatchContent)) -> Result<()> {
        let content = self.contents.entry(slot).or_default();
        let before = content.bytes();
        add(content);
        self.bytes += content.bytes() - before;
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        let largest = self.contents.iter().max_by_key(|(_, content)| content.bytes()).map(|(&slot, _)| slot);
        largest.map_or(Ok(()), |slot| self.write(slot))
    }

    fn write(&mut self, slot: usize) -> Result<()> {
        self.context.interrupt.check()?;
        let Some(content) = self.contents.remove(&slot) else { return Ok(()) };
        self.bytes -= content.bytes();
        let Some(partition) = self.to.partition_in(slot) else { return Ok(()) };
        self.written.push((partition.entry().topology.number, content.write(self.context, partition)?));
        Ok(())
    }

    /// Writes what is left; partitions and their new patches, oldest first.
    fn finish(mut self) -> Result<Vec<(u64, FileEntry)>> {
        while let Some(slot) = self.contents.keys().next().copied() {
            self.write(slot)?;
        }
        Ok(self.written)
    }
}
