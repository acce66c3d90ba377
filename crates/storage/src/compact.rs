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

use std::sync::Arc;

use model::{Interrupt, Result};

use crate::bulk::context::BuildContext;
use crate::bulk::{Built, BulkConfig};
use crate::compact::throttle::Throttle;
use crate::patch::Patch;
use crate::patch::write::merge_patches;
use crate::version::{PatchEdit, Version, VersionEdit};

pub mod cut;
pub mod follow;
pub mod merge;
pub mod pick;
pub mod throttle;

pub use pick::pick;

#[cfg(test)]
mod tests;

/// When and how partitions are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Overlapping partitions of one level that are merged into the next.
    pub fanout: usize,
    /// Edges that a flush writes, about: the size of a partition of level 0.
    pub level0_edges: u64,
    /// Edges in one partition, about, above which a merge cuts its interval.
    pub partition_edges_max: u64,
    /// Partitions of level 0 at which writers wait for a merge.
    pub level0_max: usize,
    /// A partition is rewritten once so many times its deletions and changed properties exceed its edges.
    pub patch_share: u64,
    /// Bytes that merging writes a second, at most; 0 for as many as the disk takes.
    pub bytes_per_second: u64,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            fanout: 4,
            level0_edges: 400_000,
            partition_edges_max: 1 << 28,
            level0_max: 24,
            patch_share: 4,
            bytes_per_second: 0,
        }
    }
}

impl Policy {
    /// The level of a partition of that many edges that was not merged level by level.
    pub fn level_of(&self, edges: u64) -> u8 {
        let (mut level, mut size) = (0, self.level0_edges.max(1));
        while size < edges {
            size = size.saturating_mul(self.fanout.max(2) as u64);
            level += 1;
        }
        level
    }
}

/// What is to be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// Partitions, by the numbers of their topology files, oldest first, into partitions of a level.
    Partitions {
        /// What is merged.
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
    config: &BulkConfig,
    throttle: &Throttle,
    interrupt: &Interrupt,
) -> Result<Built> {
    let context = BuildContext::new(base, config, interrupt);
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

/// What of the edges one level holds.
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
    /// How many patches it has.
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
