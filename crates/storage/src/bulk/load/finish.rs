//! The end of a bulk load: runs and buffers become partitions, keys become indexes, and the manifest names them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::id::EdgeTypeId;
use model::{Constraint, Map, Result, Rule, Schema};

use super::{BulkLoad, Loaded, TypedProperty};
use crate::build::BuildContext;
use crate::build::chunk::BoxedSource;
use crate::bulk::buffer::SealedBuffer;
use crate::bulk::edges::write_edge_changes;
use crate::bulk::indexes::write_index;
use crate::bulk::partitions::{EdgeSources, everything, lay_out, write_partitions};
use crate::bulk::rewrite::HISTOGRAM_BITS;
use crate::bulk::run::Run;
use crate::bulk::sort::Buckets;
use crate::index_build::ordered::build_run;
use crate::levels::Policy;
use crate::manifest::{IndexEntry, PartitionEntry, SegmentEntry};
use crate::sketch;
use crate::snapshot::Snapshot;
use crate::version::{Version, VersionEdit};

impl BulkLoad {
    /// Writes the files and makes them the store's current version. All loaders must be finished.
    pub fn finish(mut self) -> Result<Arc<Version>> {
        self.end_nodes()?;
        let (mut added_partitions, mut patches, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let mut manifest = self.base.manifest().clone();
        manifest.node_id_bound = self.next_node;
        manifest.schema = self.schema.clone();
        if let Some(shared) = self.shared.take() {
            if shared.open_loaders.load(Ordering::Relaxed) > 0 {
                return Err(model::error!(Internal, "a bulk load was finished before its edge loaders"));
            }
            manifest.schema = shared.schema.lock().expect("no holder of this lock panics").clone();
            let mut loaded = std::mem::take(&mut *shared.done.lock().expect("no holder of this lock panics"));
            let is_kept = |typed: &&TypedProperty| !typed.is_unsure.load(Ordering::Relaxed);
            kept.extend(shared.typed.iter().filter(is_kept).map(|typed| typed.constraint.clone()));
            // The keys of nodes are not needed any more, and are large.
            drop(shared);
            let changes = std::mem::take(&mut loaded.changes);
            patches = write_edge_changes(&self.context, &self.base, Vec::new(), changes)?;
            added_partitions = self.write_edges(loaded, &manifest.schema)?;
        }
        self.groups.clear();
        manifest.segments = sorted(std::mem::take(&mut self.segments));
        manifest.indexes.extend(self.finish_indexes()?);
        self.spill_updates()?;
        manifest.node_runs.append(&mut self.update_runs);
        let mut edit = VersionEdit::difference(self.base.manifest(), manifest);
        edit.added_partitions = added_partitions;
        edit.patches = patches;
        finish_ordered(&self.context, &self.base, &kept, &mut edit)?;
        self.base.check_slots(edit.added_partitions.len())?;
        self.base.publish(&edit, &[&self.context], sketch::renewed)
    }

    fn write_edges(&self, loaded: Loaded, schema: &Schema) -> Result<Vec<PartitionEntry>> {
        let Loaded { buffers, mut runs, histogram, changes: _ } = loaded;
        let edges: u64 = histogram.iter().sum();
        if edges == 0 {
            return Ok(Vec::new());
        }
        let config = &self.context.config;
        let (edges_max, targets_max) = (config.partition_edges_max, self.context.targets_max(self.next_node));
        let intervals = lay_out(everything(), &histogram, HISTOGRAM_BITS, edges_max, targets_max);
        let level = Policy::default().level_of(edges / intervals.len() as u64);
        let mut in_memory: BTreeMap<EdgeTypeId, Vec<SealedBuffer>> = BTreeMap::new();
        buffers.into_iter().for_each(|(edge_type, buffer)| in_memory.entry(edge_type).or_default().push(buffer));
        if intervals.len() > 1 {
            // Several partitions read the edges several times, which only runs can be.
            for (edge_type, buffers) in std::mem::take(&mut in_memory) {
                for buffer in buffers {
                    runs.push(Run::write(&self.context, vec![(edge_type, buffer)], self.next_node, schema)?);
                }
            }
        }
        let mut types: Vec<EdgeTypeId> = runs.iter().flat_map(Run::types).chain(in_memory.keys().copied()).collect();
        types.sort_unstable();
        types.dedup();
        let (runs, node_id_bound, threads) = (&runs, self.next_node, config.threads.max(1));
        let of_type = |edge_type: EdgeTypeId, _: &Range<u64>| {
            let mut sources: Vec<BoxedSource<'_>> = Vec::new();
            for run in runs {
                let edges = run.edges(edge_type);
                if !edges.is_empty() {
                    sources.push(Box::new(edges));
                }
            }
            if let Some(buffers) = in_memory.remove(&edge_type) {
                let buckets = Buckets::new(buffers, node_id_bound, threads)?.ordered(schema.sort_key(edge_type));
                sources.push(buckets.sorted(threads));
            }
            Ok(sources)
        };
        let sources = EdgeSources { types, of_type: Box::new(of_type) };
        write_partitions(&self.context, &intervals, level, node_id_bound, schema, sources)
    }

    /// The runs of indexes that new nodes add.
    fn finish_indexes(&mut self) -> Result<Vec<IndexEntry>> {
        let mut entries = Vec::new();
        for build in std::mem::take(&mut self.constraints) {
            let of = (build.label, build.key);
            entries.extend(write_index(&self.context, Some(&self.base), of, build.pairs, self.next_node)?);
        }
        Ok(entries)
    }
}

/// Builds the ordered indexes of the new version anew, and looks whether it keeps the rules that rows alone do not show,
/// save for those that it is known to keep.
fn finish_ordered(context: &BuildContext, base: &Version, kept: &[Constraint], edit: &mut VersionEdit) -> Result<()> {
    let manifest = edit.apply(base.manifest())?;
    let may_break = |rule: &Constraint| rule.is_mandatory() || matches!(rule.rule, Rule::Type(_));
    let is_checked = |rule: &Constraint| may_break(rule) && !kept.contains(rule);
    if manifest.schema.indexes.is_empty() && !manifest.schema.constraints.iter().any(is_checked) {
        return Ok(());
    }
    let version = Version::assemble(&context.platform, &context.directory, manifest, Some(base))?;
    let snapshot = Snapshot::new(version);
    let schema = snapshot.memtable.schema.clone();
    for constraint in schema.constraints.iter().filter(|rule| is_checked(rule)) {
        snapshot.check_rule_of_all(constraint, &context.interrupt)?;
    }
    for index in &schema.indexes {
        edit.renewed_ordered.push((index.subject, index.keys.clone()));
        edit.added_ordered.extend(build_run(
            context,
            &snapshot,
            index,
            schema.owner(index),
            context.config.memory_bytes / 8,
        )?);
    }
    Ok(())
}

fn sorted(entries: Map<u64, SegmentEntry>) -> Vec<SegmentEntry> {
    let mut entries: Vec<SegmentEntry> = entries.into_values().collect();
    entries.sort_by_key(|entry| entry.segment);
    entries
}
