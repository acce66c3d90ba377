//! Cutting of the result of a merge: along the intervals that deeper levels have, so that the tree stays a tree.

use std::ops::Range;
use std::sync::Arc;

use model::{Result, Set};

use crate::levels::Policy;
use crate::partition::Partition;
use crate::version::Version;
use crate::version::edit::overlaps;

/// Counters of a histogram of targets.
const SLOTS: u64 = 1 << 16;
/// Slots of a pointer index read at a time.
const POINTERS: usize = 1_024;

/// The intervals of the partitions that hold the edges of the inputs, whose intervals lie in `whole`.
pub fn cut(
    base: &Version,
    inputs: &[&Arc<Partition>],
    whole: Range<u64>,
    level: u8,
    policy: &Policy,
    targets_max: u64,
) -> Result<Vec<Range<u64>>> {
    let edges: u64 = inputs.iter().map(|partition| partition.entry().edges - partition.deleted()).sum();
    let bound = whole.end.min(base.node_id_bound()).max(whole.start + 1);
    // Few edges are held as such, not counted by target.
    let targets = (bound - whole.start).min(edges);
    if edges <= policy.partition_edges_max && targets <= targets_max {
        return Ok(vec![whole]);
    }
    let width = (bound - whole.start).div_ceil(SLOTS);
    let counts = histogram(inputs, &(whole.start..bound), width)?;
    let merged: Set<u64> = inputs.iter().map(|partition| partition.entry().topology.number).collect();
    let deeper = base.partitions().iter().map(|partition| partition.entry()).filter(|entry| {
        entry.level >= level && overlaps(&entry.interval, &whole) && !merged.contains(&entry.topology.number)
    });
    let mut known: Vec<u64> = deeper.flat_map(|entry| [entry.interval.start, entry.interval.end]).collect();
    known.retain(|&id| id > whole.start && id < bound);
    known.sort_unstable();
    known.dedup();
    Ok(cut_along(&counts, width, whole, &known, policy.partition_edges_max, targets_max))
}

/// Cuts where a part would grow beyond its share or beyond `targets_max`, or a known cut comes once it has half of that.
fn cut_along(
    counts: &[u64],
    width: u64,
    whole: Range<u64>,
    known: &[u64],
    edges_max: u64,
    targets_max: u64,
) -> Vec<Range<u64>> {
    let edges: u64 = counts.iter().sum();
    let share = edges.div_ceil(edges.div_ceil(edges_max.max(1)).max(1));
    let mut intervals = Vec::new();
    let (mut start, mut held, mut known) = (whole.start, 0u64, known.iter().peekable());
    for (slot, &count) in counts.iter().enumerate() {
        let here = whole.start + slot as u64 * width;
        let mut at = None;
        while let Some(&id) = known.next_if(|&&id| id <= here) {
            let id = id.max(start);
            let is_half = 2 * held >= share || 2 * (id - start) >= targets_max && held > 0;
            at = (is_half && id > start).then_some(id).or(at);
        }
        let is_wide = here + width > start.saturating_add(targets_max);
        if at.is_none() && held > 0 && (held + count > share + share / 4 || is_wide) {
            at = Some(here);
        }
        if let Some(at) = at {
            intervals.push(start..at);
            (start, held) = (at, 0);
        }
        held += count;
    }
    intervals.push(start..whole.end);
    intervals
}

/// Edges by target, those that patches deleted included, `width` ids to a counter.
fn histogram(inputs: &[&Arc<Partition>], ids: &Range<u64>, width: u64) -> Result<Vec<u64>> {
    let mut counts = vec![0u64; (ids.end - ids.start).div_ceil(width) as usize];
    let (mut nodes, mut ends) = (Vec::new(), Vec::new());
    for section in inputs.iter().flat_map(|partition| partition.sections()) {
        let index = section.in_index();
        for start in (0..index.slot_count()).step_by(POINTERS) {
            let slots = start..(start + POINTERS).min(index.slot_count());
            let mut at = index.runs(section.file(), slots, &mut nodes, &mut ends)?;
            for (&node, &end) in nodes.iter().zip(&ends) {
                if let Some(count) = counts.get_mut((node.saturating_sub(ids.start) / width) as usize) {
                    *count += end.saturating_sub(at);
                }
                at = end;
            }
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::cut_along;

    fn check(counts: &[u64], known: &[u64], edges_max: u64, expected: &[u64]) {
        check_wide(counts, known, edges_max, u64::MAX, expected);
    }

    fn check_wide(counts: &[u64], known: &[u64], edges_max: u64, targets_max: u64, expected: &[u64]) {
        let intervals = cut_along(counts, 10, 0..1_000, known, edges_max, targets_max);
        let mut ends: Vec<u64> = intervals.iter().map(|interval| interval.end).collect();
        assert_eq!((intervals[0].start, ends.pop()), (0, Some(1_000)));
        assert!(intervals.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].start < pair[0].end));
        assert_eq!(ends, expected);
    }

    #[test]
    fn parts_have_about_their_share_and_old_cuts_are_kept() {
        check(&[1; 10], &[], 100, &[]);
        check(&[10; 10], &[], 50, &[60]);
        check(&[10; 10], &[47], 50, &[47]);
        check(&[10; 10], &[11, 48], 50, &[48]);
        check(&[10; 12], &[], 25, &[30, 60, 90]);
        check(&[100, 0, 0, 1], &[], 10, &[10]);
        check(&[0, 0, 100], &[], 10, &[]);
        check_wide(&[10; 10], &[], 1_000, 40, &[40, 80]);
        check_wide(&[10; 10], &[25, 72], 1_000, 40, &[25, 60]);
        check_wide(&[0, 0, 0, 0, 10, 10], &[], 1_000, 20, &[50]);
    }
}
