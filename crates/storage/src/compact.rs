//! Compaction: edge partitions that overlap are merged into fewer and larger ones, level by level, in order of age.
//!
//! - [`pick`]: what is to be merged next.
//! - [`merge`]: merging partitions, with their patches resolved, and cutting what grows too large.
//! - [`follow`]: taking over what was changed in the inputs meanwhile.
//! - [`throttle`]: leaving the disk to others.
//!
//! Invariant: merging changes neither the edges that readers see nor the order of parallel edges.
//! Cost: an edge is written once by a flush and about once for each level, log(all edges / edges of a flush) to the base
//! of the fan-out.

use crate::levels::Policy;
use std::sync::Arc;

use model::{Interrupt, Result};

use crate::build::BuildConfig;
use crate::bulk::Built;
use crate::compact::throttle::Throttle;
use crate::partition::patch::Patch;
use crate::partition::patch::write::merge_patches;
use crate::version::{PatchEdit, Version, VersionEdit};

pub mod cut;
pub mod merge;
pub mod pick;
pub mod throttle;

pub use pick::pick;

#[cfg(test)]
mod tests;

/// A merge that is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// Partitions, by the numbers of their topology files, oldest first, into partitions of a level.
    Partitions {
        /// The partitions that are merged.
        inputs: Vec<u64>,
        /// The level of the result.
        level: u8,
    },
    /// Patches of a partition, by their numbers, oldest first.
    Patches {
        /// The number of the partition's topology file.
        partition: u64,
        /// The patches.
        patches: Vec<u64>,
    },
}

/// Merges; the result is to be installed on the base or what became of it.
pub fn run(
    base: &Arc<Version>,
    compaction: &Compaction,
    policy: &Policy,
    config: &BuildConfig,
    throttle: &Throttle,
    interrupt: &Interrupt,
) -> Result<Built> {
    let context = base.build(config, interrupt);
    let edit = match compaction {
        Compaction::Partitions { inputs, level } => VersionEdit {
            removed_partitions: inputs.clone(),
            added_partitions: merge::merge(&context, base, inputs, *level, policy, throttle)?,
            keeps_counts: true,
            ..VersionEdit::default()
        },
        Compaction::Patches { partition: number, patches } => {
            let Some(partition) = base.partition_with(*number) else {
                return Err(model::error!(Internal, "there is no partition {number} to merge patches of"));
            };
            let is_input = |patch: &&Arc<Patch>| patches.contains(&patch.file().entry().number);
            let inputs: Vec<&Patch> = partition.patches().iter().filter(is_input).map(|patch| &**patch).collect();
            let added = Some(merge_patches(&context, partition, &inputs)?);
            let edit = PatchEdit { partition: *number, removed: patches.clone(), added };
            VersionEdit { patches: vec![edit], keeps_counts: true, ..VersionEdit::default() }
        }
    };
    Ok(Built::new(base, context, edit))
}

/// Description of one edge partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Its level.
    pub level: u8,
    /// Its slot.
    pub slot: u16,
    /// The target ids of its edges.
    pub interval: std::ops::Range<u64>,
    /// Edges that are there.
    pub edges: u64,
    /// Edges that were deleted and still take space.
    pub deleted: u64,
    /// Bytes of its files, patches included.
    pub bytes: u64,
    /// Number of patches.
    pub patches: usize,
    /// Bytes of its patches.
    pub patch_bytes: u64,
    /// Edges that are not yet in the order of their type's sort key, which was declared since; merging puts them in order.
    pub unsorted: u64,
}

/// All edge partitions of a version, oldest first where they overlap.
pub fn levels(version: &Version) -> Vec<PartitionInfo> {
    let info = |partition: &Arc<crate::partition::Partition>| {
        let (entry, deleted) = (partition.entry(), partition.deleted());
        PartitionInfo {
            level: entry.level,
            slot: entry.slot,
            interval: entry.interval.clone(),
            edges: entry.edges - deleted,
            deleted,
            bytes: partition.files().map(|file| file.entry().length).sum(),
            patches: entry.patches.len(),
            patch_bytes: entry.patches.iter().map(|file| file.length).sum(),
            unsorted: pick::unsorted_edges(version, partition),
        }
    };
    version.partitions().iter().map(info).collect()
}
