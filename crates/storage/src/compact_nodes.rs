//! Compaction of nodes and key indexes: node runs are merged by tiers and folded into segments, runs of an index merged.
//!
//! A job is picked from a version, its files are written beside whatever else happens to the store, and what it did is an
//! edit that is applied to the version that is current then: newer runs that came meanwhile stay newer.
//!
//! Invariant: a job changes nothing that a reader can tell; ids of nodes stay.
//! Cost: a row of a run is written once for each tier of sizes, then once with its segment, when what the runs say of the
//! segment takes a stated share of its bytes.

use std::sync::Arc;

use model::id::{LabelId, PropertyKeyId};
use model::{Index, Interrupt, Result, Set};

use crate::build::BuildConfig;
use crate::build::BuildContext;
use crate::bulk::built::Built;
use crate::format::{SEGMENT_NODES, segment_range};
use crate::index::KeyIndex;
use crate::index::merge::merge_indexes;
use crate::node_run::NodeRun;
use crate::node_run::merge::merge_runs;
use crate::ordered_index::OrderedRun;
use crate::ordered_index::merge::merge_entries;
use crate::segment::write::SegmentWriter;
use crate::tiers::Tiers;
use crate::version::{FoldedSegment, Version, VersionEdit};

mod fold;
#[cfg(test)]
mod tests;

/// When node runs and runs of indexes are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePolicy {
    /// Rules for merging runs with each other.
    pub tiers: Tiers,
    /// Bytes that the runs over a segment must have for it before it is folded.
    pub fold_bytes_min: u64,
    /// Share of the bytes of the segment that they must have as well, as a divisor.
    pub fold_share: u64,
    /// Segments folded by one job, at most.
    pub fold_segments_max: usize,
}

impl Default for NodePolicy {
    fn default() -> NodePolicy {
        NodePolicy { tiers: Tiers::default(), fold_bytes_min: 4 << 20, fold_share: 2, fold_segments_max: 8 }
    }
}

/// One step of compaction. Files are named by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeJob {
    /// Merge these node runs, oldest first, which follow each other in age.
    MergeRuns(Vec<u64>),
    /// Write these segments anew with what the runs over them say.
    Fold(Vec<u64>),
    /// Merge these runs of an index, oldest first, which follow each other in age.
    MergeIndex(LabelId, PropertyKeyId, Vec<u64>),
    /// Merge these runs of an ordered index, oldest first, which follow each other in age.
    MergeOrdered(Index, Vec<u64>),
}

impl NodePolicy {
    /// The step that a version needs most; `None` if all is well.
    pub fn pick(&self, version: &Version) -> Result<Option<NodeJob>> {
        let folds = self.folds(version)?;
        if !folds.is_empty() {
            return Ok(Some(NodeJob::Fold(folds)));
        }
        let runs = version.layers().runs();
        let sizes: Vec<u64> = runs.iter().map(|run| run.entry().file.length).collect();
        if let Some(window) = self.tiers.pick(&sizes) {
            let numbers = runs[window].iter().map(|run| run.entry().file.number);
            return Ok(Some(NodeJob::MergeRuns(numbers.collect())));
        }
        let of = |index: &Arc<KeyIndex>| (index.entry().label, index.entry().key);
        for runs in version.indexes().chunk_by(|a, b| of(a) == of(b)) {
            let sizes: Vec<u64> = runs.iter().map(|run| run.entry().file.length).collect();
            if let Some(window) = self.tiers.pick(&sizes) {
                let (label, key) = of(&runs[0]);
                let numbers = runs[window].iter().map(|run| run.entry().file.number);
                return Ok(Some(NodeJob::MergeIndex(label, key, numbers.collect())));
            }
        }
        for index in &version.manifest().schema.indexes {
            let runs: Vec<_> = version.ordered_runs(index).map(|run| run.entry().file).collect();
            let sizes: Vec<u64> = runs.iter().map(|file| file.length).collect();
            if let Some(window) = self.tiers.pick(&sizes) {
                let numbers = runs[window].iter().map(|file| file.number).collect();
                return Ok(Some(NodeJob::MergeOrdered(index.clone(), numbers)));
            }
        }
        Ok(None)
    }

    /// The segments over which runs say much.
    fn folds(&self, version: &Version) -> Result<Vec<u64>> {
        let layers = version.layers();
        let mut folds = Vec::new();
        if layers.runs().is_empty() {
            return Ok(folds);
        }
        for segment in 0..layers.row_bound().div_ceil(SEGMENT_NODES) {
            let mut over = 0;
            for run in layers.runs_over(segment) {
                let rows = run.ids().rows_in(run.file(), segment_range(segment))?;
                let share = u128::from(run.entry().file.length) * u128::from(rows.end - rows.start);
                over += (share / u128::from(run.rows().max(1))) as u64;
            }
            let under = layers.segment(segment).map_or(0, |segment| segment.entry().file.length);
            if over >= self.fold_bytes_min.max(under / self.fold_share.max(1)).max(1) {
                folds.push(segment);
                if folds.len() == self.fold_segments_max.max(1) {
                    break;
                }
            }
        }
        Ok(folds)
    }
}

/// Writes the files of the step that a version needs most; `None` if all is well.
pub fn step(
    version: &Arc<Version>,
    policy: &NodePolicy,
    config: &BuildConfig,
    interrupt: &Interrupt,
) -> Result<Option<Built>> {
    policy.pick(version)?.map(|job| run(version, &job, config, interrupt)).transpose()
}

/// Writes the files of a step, to be installed on the version that is current then.
pub fn run(version: &Arc<Version>, job: &NodeJob, config: &BuildConfig, interrupt: &Interrupt) -> Result<Built> {
    let context = version.build(config, interrupt);
    let mut edit = VersionEdit { keeps_counts: true, ..VersionEdit::default() };
    match job {
        NodeJob::MergeRuns(numbers) => {
            let layers = version.layers();
            let inputs = named(layers.runs(), numbers, |run: &NodeRun| run.entry().file.number)?;
            edit.added_node_runs.extend(merge_runs(&context, layers, &inputs)?);
            edit.removed_node_runs = numbers.clone();
        }
        NodeJob::Fold(segments) => fold(&context, version, segments, &mut edit)?,
        NodeJob::MergeIndex(label, key, numbers) => {
            let runs = version.index_runs(*label, *key);
            let inputs = named(runs, numbers, |run: &KeyIndex| run.entry().file.number)?;
            let is_last = runs.first().map(|oldest| oldest.entry()) == inputs.first().map(|first| first.entry());
            edit.added_indexes.extend(merge_indexes(&context, &inputs, is_last)?);
            edit.removed_indexes = numbers.clone();
        }
        NodeJob::MergeOrdered(index, numbers) => {
            let runs: Vec<Arc<OrderedRun>> = version.ordered_runs(index).cloned().collect();
            let inputs = named(&runs, numbers, |run: &OrderedRun| run.entry().file.number)?;
            let is_last = runs.first().map(|oldest| oldest.entry()) == inputs.first().map(|first| first.entry());
            edit.added_ordered.extend(merge_entries(&context, index, &inputs, !is_last)?);
            edit.removed_ordered = numbers.clone();
        }
    }
    Ok(Built::new(version, context, edit))
}

/// The files with these numbers.
fn named<T>(files: &[Arc<T>], numbers: &[u64], number: impl Fn(&T) -> u64) -> Result<Vec<Arc<T>>> {
    let find = |wanted: &u64| {
        let found = files.iter().find(|file| number(file) == *wanted).cloned();
        found.ok_or_else(|| model::error!(Internal, "a merge names file {wanted}, which the version does not have"))
    };
    numbers.iter().map(find).collect()
}

/// Folds segments, and lets go of the runs that then say nothing to any segment.
fn fold(context: &BuildContext, version: &Version, segments: &[u64], edit: &mut VersionEdit) -> Result<()> {
    let layers = version.layers();
    let age = layers.age();
    let mut folded: Set<u64> = Set::default();
    for &segment in segments {
        let after = SegmentWriter::folded(context, segment, layers)?.finish(context, age)?;
        let before = layers.segment(segment).map(|segment| segment.entry().file.number);
        edit.folded.push(FoldedSegment { segment, before, after });
        folded.insert(segment);
    }
    for run in layers.runs() {
        let mut is_needed = false;
        let mut numbers: Vec<u64> = run
            .ids()
            .groups()
            .map(|group| group >> (crate::format::SEGMENT_BITS - crate::node_run::ids::GROUP_BITS))
            .collect();
        numbers.dedup();
        for segment in numbers {
            is_needed |= !folded.contains(&segment) && run.entry().age > layers.age_of(segment);
        }
        if !is_needed {
            edit.removed_node_runs.push(run.entry().file.number);
        }
    }
    Ok(())
}
