//! Runs of key indexes: what changed nodes add to and take from an index, or a whole index built from the nodes.

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Constraint, Result, Schema};

use super::rewrite::NodeChange;
use crate::build::BuildContext;
use crate::format::COLUMN_BLOCK_ROWS;
use crate::index::indexed_hash;
use crate::index::sort::PairSorter;
use crate::index::write::{IndexShape, IndexWriter, id_bits_of};
use crate::manifest::IndexEntry;
use crate::node_run::layers::Layers;
use crate::version::Version;

/// Nodes looked at together.
const NODES: usize = 4_096;

/// Words of bitmaps looked at together when an index is built.
const WORDS: usize = COLUMN_BLOCK_ROWS / 64;

/// Builds an index from all nodes; its run is the first.
pub fn build_index(
    context: &BuildContext,
    label: LabelId,
    key: PropertyKeyId,
    layers: &Layers,
    node_id_bound: u64,
) -> Result<Option<IndexEntry>> {
    let mut sorter = PairSorter::new(context.config.memory_bytes / 8);
    let mut words = Vec::new();
    let mut nodes = Vec::new();
    for first in (0..node_id_bound.div_ceil(64)).step_by(WORDS) {
        context.interrupt.check()?;
        layers.label_words(&[label], first, WORDS, &mut words)?;
        nodes.clear();
        for (index, &word) in words.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                nodes.push(NodeId((first + index as u64) * 64 + u64::from(word.trailing_zeros())));
                word &= word - 1;
            }
        }
        let values = layers.property(&nodes, key)?;
        for (row, &node) in nodes.iter().enumerate() {
            if let Some(hash) = indexed_hash(&values, row) {
                sorter.push(context, hash, node, false)?;
            }
        }
    }
    write_index(context, None, (label, key), sorter, node_id_bound)
}

/// Writes a run over the runs that a version has of the index of a label and key, if it has any; `None` if the run would
/// say nothing.
pub fn write_index(
    context: &BuildContext,
    base: Option<&Version>,
    (label, key): (LabelId, PropertyKeyId),
    pairs: PairSorter,
    node_id_bound: u64,
) -> Result<Option<IndexEntry>> {
    let newest = base.and_then(|base| base.index_runs(label, key).last());
    let shape = IndexShape {
        label,
        key,
        age: newest.map_or(1, |newest| newest.entry().age + 1),
        count: pairs.count(),
        id_bits: id_bits_of(node_id_bound),
        has_removals: pairs.has_removals(),
        has_filter: newest.is_some(),
    };
    if pairs.count() == 0 {
        return Ok(None);
    }
    let mut writer = IndexWriter::new(context, shape)?;
    pairs.finish(context, |hash, node, is_removed| writer.push(hash, node, is_removed))?;
    writer.finish(context)
}

/// The runs that changes of nodes add to the indexes: `new` is the base with the changes. An index whose constraint is
/// new in the schema is built whole.
pub fn index_changes(
    context: &BuildContext,
    base: &Version,
    new: &Layers,
    schema: &Schema,
    changes: &[NodeChange],
    node_id_bound: u64,
) -> Result<Vec<IndexEntry>> {
    let mut entries = Vec::new();
    for (label, key) in schema.constraints.iter().filter_map(Constraint::lookup_key) {
        if base.manifest().schema.unique(label, key).is_none() {
            entries.extend(build_index(context, label, key, new, node_id_bound)?);
            continue;
        }
        let is_affected = |change: &&NodeChange| {
            change.is_deleted || change.labels.is_some() || change.properties.iter().any(|(at, _)| *at == key)
        };
        let affected: Vec<NodeId> = changes.iter().filter(is_affected).map(|change| change.node).collect();
        let mut pairs = PairSorter::new(context.config.memory_bytes / 8);
        for nodes in affected.chunks(NODES) {
            context.interrupt.check()?;
            let before = hashes(base.layers(), nodes, label, key)?;
            let after = hashes(new, nodes, label, key)?;
            for (row, &node) in nodes.iter().enumerate().filter(|&(row, _)| before[row] != after[row]) {
                if let Some(hash) = before[row] {
                    pairs.push(context, hash, node, true)?;
                }
                if let Some(hash) = after[row] {
                    pairs.push(context, hash, node, false)?;
                }
            }
        }
        entries.extend(write_index(context, Some(base), (label, key), pairs, node_id_bound)?);
    }
    Ok(entries)
}

/// Hashes that an index of a label and key has of nodes; `None` for a node that is not in it.
pub fn hashes(layers: &Layers, nodes: &[NodeId], label: LabelId, key: PropertyKeyId) -> Result<Vec<Option<u64>>> {
    let has_label = layers.have_label(nodes, label)?;
    let values = layers.property(nodes, key)?;
    let hash = |row: usize| if has_label.get(row) { indexed_hash(&values, row) } else { None };
    Ok((0..nodes.len()).map(hash).collect())
}
