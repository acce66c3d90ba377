//! Choice of the next merge: levels with too many overlapping partitions, partitions with too large patches, patches;
//! then partitions that are older than the sort key of their edges.
//!
//! Invariant: what is merged is whole in age: no partition that overlaps it and is not merged is newer than one of
//! those merged and older than another.

use std::ops::Range;
use std::sync::Arc;

use super::Compaction;
use crate::levels::Policy;
use crate::partition::{Partition, Section};
use crate::tiers::Tiers;
use crate::version::Version;
use crate::version::edit::overlaps;

/// Rules for merging patches of one partition.
const PATCH_TIERS: Tiers = Tiers { fan: 4, least_bytes: 64 << 10, runs_max: 6 };

/// The next merge; `None` if all is well.
pub fn pick(version: &Version, policy: &Policy) -> Option<Compaction> {
    let highest = version.partitions().iter().map(|partition| partition.entry().level).max()?;
    let merge = (0..=highest).find_map(|level| pick_level(version, policy, level));
    merge.or_else(|| pick_patched(version, policy)).or_else(|| pick_patches(version)).or_else(|| pick_unsorted(version))
}

/// Edges of a partition whose type has a sort key by now that they are not in the order of.
pub(super) fn unsorted_edges(version: &Version, partition: &Partition) -> u64 {
    let is_unsorted = |section: &&Section| {
        let order = version.manifest().schema.sort_key(section.edge_type());
        !order.is_empty() && section.sort_keys() != order
    };
    partition.sections().iter().filter(is_unsorted).map(Section::edge_count).sum()
}

/// A partition that was written before a sort key was declared, to be put in its order.
fn pick_unsorted(version: &Version) -> Option<Compaction> {
    let unsorted = version.partitions().iter().find(|partition| unsorted_edges(version, partition) > 0)?;
    Some(Compaction::Partitions { inputs: numbers(&[unsorted]), level: unsorted.entry().level })
}

/// Everything in one: what is left has one partition for each interval, without patches; `None` if it is so already.
pub fn pick_all(version: &Version) -> Option<Compaction> {
    let partitions = version.partitions();
    for group in groups(partitions.iter().collect()) {
        let is_due =
            |partition: &&Arc<Partition>| !partition.patches().is_empty() || unsorted_edges(version, partition) > 0;
        if group.len() > 1 || group.iter().any(is_due) {
            let level = group.iter().map(|partition| partition.entry().level).max().unwrap_or_default();
            let level = if group.len() > 1 { level.saturating_add(1) } else { level };
            return Some(Compaction::Partitions { inputs: numbers(&group), level });
        }
    }
    None
}

fn numbers(partitions: &[&Arc<Partition>]) -> Vec<u64> {
    partitions.iter().map(|partition| partition.entry().topology.number).collect()
}

fn live_edges(partitions: &[&Arc<Partition>]) -> u64 {
    partitions.iter().map(|partition| partition.entry().edges - partition.deleted()).sum()
}

fn pick_level(version: &Version, policy: &Policy, level: u8) -> Option<Compaction> {
    let of_level = |level| version.partitions().iter().filter(move |partition| partition.entry().level == level);
    let group = groups(of_level(level).collect()).into_iter().find(|group| depth(group) >= policy.fanout.max(2))?;
    // Older partitions that are no larger are merged along: keeping them apart gains nothing.
    let (mut inputs, mut level_out) = (group, level.saturating_add(1));
    let whole = span(&inputs);
    for older in level.saturating_add(1)..=u8::MAX {
        let here: Vec<_> = of_level(older).filter(|partition| overlaps(&partition.interval(), &whole)).collect();
        let is_inside = |partition: &&Arc<Partition>| {
            whole.start <= partition.interval().start && partition.interval().end <= whole.end
        };
        if !here.iter().all(is_inside) || live_edges(&here) > live_edges(&inputs) {
            break;
        }
        if !here.is_empty() {
            level_out = level_out.max(older);
            inputs.splice(0..0, here);
        }
    }
    Some(Compaction::Partitions { inputs: numbers(&inputs), level: level_out })
}

/// End of the last interval of a group, and its partitions with their ages.
type Group<'a> = (u64, Vec<(usize, &'a Arc<Partition>)>);

/// Partitions in groups, those of one group connected by overlaps, each in order of age.
fn groups(partitions: Vec<&Arc<Partition>>) -> Vec<Vec<&Arc<Partition>>> {
    let mut by_start: Vec<(usize, &Arc<Partition>)> = partitions.into_iter().enumerate().collect();
    by_start.sort_by_key(|(_, partition)| partition.interval().start);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (age, partition) in by_start {
        let interval = partition.interval();
        match groups.last_mut() {
            Some((end, group)) if interval.start < *end => {
                *end = (*end).max(interval.end);
                group.push((age, partition));
            }
            _ => groups.push((interval.end, vec![(age, partition)])),
        }
    }
    let in_order = |(_, mut group): (u64, Vec<(usize, _)>)| {
        group.sort_by_key(|(age, _)| *age);
        group.into_iter().map(|(_, partition)| partition).collect()
    };
    groups.into_iter().map(in_order).collect()
}

/// The most partitions of a group that have an id in common.
fn depth(group: &[&Arc<Partition>]) -> usize {
    let at_start_of = |partition: &&Arc<Partition>| {
        let start = partition.interval().start;
        group.iter().filter(|other| other.interval().contains(&start)).count()
    };
    group.iter().map(at_start_of).max().unwrap_or(0)
}

/// The ids from the first to the last interval.
pub(super) fn span(group: &[&Arc<Partition>]) -> Range<u64> {
    let start = group.iter().map(|partition| partition.interval().start).min().unwrap_or(0);
    let end = group.iter().map(|partition| partition.interval().end).max().unwrap_or(0);
    start..end
}

/// A partition that is worth rewriting since much of it was deleted or changed.
fn pick_patched(version: &Version, policy: &Policy) -> Option<Compaction> {
    let is_worn = |partition: &&Arc<Partition>| {
        let entries: u64 = partition.patches().iter().map(|patch| patch.entries()).sum();
        entries.saturating_mul(policy.patch_share.max(1)) > partition.entry().edges
    };
    let worn = version.partitions().iter().find(is_worn)?;
    Some(Compaction::Partitions { inputs: numbers(&[worn]), level: worn.entry().level })
}

fn pick_patches(version: &Version) -> Option<Compaction> {
    version.partitions().iter().find_map(|partition| {
        let files: Vec<_> = partition.patches().iter().map(|patch| patch.file().entry()).collect();
        let sizes: Vec<u64> = files.iter().map(|file| file.length).collect();
        let patches = files[PATCH_TIERS.pick(&sizes)?].iter().map(|file| file.number).collect();
        Some(Compaction::Patches { partition: partition.entry().topology.number, patches })
    })
}
