//! Merging runs of a key index: of what two runs say of a pair the newer counts.

use std::sync::Arc;

use model::Result;
use model::id::NodeId;

use super::write::{IndexShape, IndexWriter};
use super::{KeyIndex, Pairs};
use crate::build::BuildContext;
use crate::manifest::IndexEntry;

/// A hash, a node, and whether the pair was removed.
type Entry = (u64, NodeId, bool);

/// All pairs of several runs of one index; where runs say something of the same pair, only the newest is heard.
#[derive(Debug)]
pub struct MergedPairs<'a> {
    /// Oldest first, each with the pair it is at.
    inputs: Vec<(Pairs<'a>, Option<Entry>)>,
}

impl<'a> MergedPairs<'a> {
    /// Runs, oldest first.
    pub fn new(runs: impl Iterator<Item = &'a KeyIndex>) -> Result<MergedPairs<'a>> {
        let mut inputs = Vec::new();
        for run in runs {
            let mut pairs = run.pairs();
            let first = pairs.next_entry()?;
            inputs.push((pairs, first));
        }
        Ok(MergedPairs { inputs })
    }

    /// The next hash and node, in order, and whether the pair was removed.
    pub fn next_entry(&mut self) -> Result<Option<(u64, NodeId, bool)>> {
        let least = self.inputs.iter().filter_map(|(_, head)| head.map(|(hash, node, _)| (hash, node))).min();
        let Some((hash, node)) = least else { return Ok(None) };
        let mut is_removed = false;
        for (pairs, head) in &mut self.inputs {
            if let Some((_, _, removed)) = head.filter(|at| (at.0, at.1) == (hash, node)) {
                is_removed = removed;
                *head = pairs.next_entry()?;
            }
        }
        Ok(Some((hash, node, is_removed)))
    }

    /// The next hash and node that was not removed.
    pub fn next_pair(&mut self) -> Result<Option<(u64, NodeId)>> {
        while let Some((hash, node, is_removed)) = self.next_entry()? {
            if !is_removed {
                return Ok(Some((hash, node)));
            }
        }
        Ok(None)
    }
}

/// Merges runs of one index that follow each other, oldest first; `None` if nothing is left. If no run is older than the
/// first of them, pairs that were removed are left out.
pub fn merge_indexes(context: &BuildContext, inputs: &[Arc<KeyIndex>], is_last: bool) -> Result<Option<IndexEntry>> {
    let (Some(first), Some(newest)) = (inputs.first(), inputs.last()) else { return Ok(None) };
    let entry = first.entry();
    let shape = IndexShape {
        label: entry.label,
        key: entry.key,
        age: newest.entry().age,
        count: inputs.iter().map(|run| run.count()).sum(),
        id_bits: inputs.iter().map(|run| run.id_bits()).max().unwrap_or(0),
        has_removals: !is_last && inputs.iter().any(|run| run.has_removals()),
        has_filter: !is_last,
    };
    let mut writer = IndexWriter::new(context, shape)?;
    let mut pairs = MergedPairs::new(inputs.iter().map(|run| &**run))?;
    let mut count = 0u64;
    while let Some((hash, node, is_removed)) = pairs.next_entry()? {
        count += 1;
        if count.is_multiple_of(1 << 20) {
            context.interrupt.check()?;
        }
        if !(is_removed && is_last) {
            writer.push(hash, node, is_removed)?;
        }
    }
    writer.finish(context)
}
