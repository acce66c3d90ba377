//! Taking over what happened meanwhile: edges are found again by type, source, target and number, which neither a flush nor
//! a merge changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::id::{EdgeId, EdgeTypeId, NodeId};
use model::{Map, Result, error};

use crate::build::BuildContext;
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
}

impl<'a> Moves<'a> {
    /// From one version to another.
    pub fn new(from: &'a Version, to: &'a Version) -> Moves<'a> {
        Moves { from, to, found: Map::default(), groups: Map::default() }
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
            _ => drop(self.groups.insert(group, after)),
        }
        Ok(found)
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
    let mut contents = BTreeMap::new();
    let mut moves = Moves::new(base, current);
    let gone: Vec<PatchEdit> = gone;
    for PatchEdit { partition, added, .. } in gone {
        let Some(partition) = base.partition_with(partition) else { continue };
        let Some(entry) = added else { continue };
        let patch = Patch::open(&context.platform.disk, &context.directory, entry, partition.sections())?;
        carry(&patch, partition, &mut moves, &mut contents)?;
        context.discard(patch.file().path());
    }
    for (slot, content) in contents {
        let Some(partition) = current.partition_in(slot) else { continue };
        let added = Some(content.write(context, partition)?);
        edit.patches.push(PatchEdit { partition: partition.entry().topology.number, removed: Vec::new(), added });
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
    let mut contents = BTreeMap::new();
    let mut moves = Moves::new(base, &merged);
    for (partition, patch) in newer {
        carry(patch, partition, &mut moves, &mut contents)?;
    }
    for (slot, content) in contents {
        let Some(partition) = merged.partition_in(slot) else { continue };
        let number = partition.entry().topology.number;
        let file = content.write(context, partition)?;
        let is_it = |entry: &&mut PartitionEntry| entry.topology.number == number;
        match edit.added_partitions.iter_mut().find(is_it) {
            Some(entry) => entry.patches.push(file),
            None => return Err(error!(Internal, "an edge of a merged partition is in partition {number}")),
        }
    }
    Ok(())
}

/// Adds what a patch of a partition says to the contents of new patches, by the slots that its edges have moved to.
fn carry(
    patch: &Patch,
    partition: &Partition,
    moves: &mut Moves<'_>,
    contents: &mut BTreeMap<usize, PatchContent>,
) -> Result<()> {
    let slot = usize::from(partition.slot());
    for (index, section) in patch.sections() {
        let mut place_of = |position: u64| {
            let edge = EdgePlace { partition: slot, section: *index, position }.id();
            let gone = || error!(Internal, "edge {} was changed, and is gone", edge.0);
            moves.find(edge)?.and_then(EdgePlace::of).ok_or_else(gone)
        };
        let mut changes = Vec::new();
        section.changes(|key, position, value| changes.push((key, position, value)))?;
        for (key, position, value) in changes {
            let place = place_of(position)?;
            contents.entry(place.partition).or_default().set(place.section, place.position, key, value);
        }
        let mut deleted = Vec::new();
        section.deleted(false, &mut deleted)?;
        for position in deleted {
            let place = place_of(position)?;
            contents.entry(place.partition).or_default().delete(place.section, place.position);
        }
    }
    Ok(())
}
