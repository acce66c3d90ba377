//! The key indexes of a new version: kept, merged with what changed, or built from the segments.

use std::sync::Arc;

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::{Result, Set};

use super::context::BuildContext;
use crate::format::{COLUMN_BLOCK_ROWS, segment_range};
use crate::index::sort::PairSorter;
use crate::index::write::IndexWriter;
use crate::index::{KeyIndex, hash_row, index_hash};
use crate::manifest::IndexEntry;
use crate::segment::Segment;

/// Builds an index from all nodes of the segments.
pub fn build_index(
    context: &BuildContext,
    label: LabelId,
    key: PropertyKeyId,
    segments: &[Option<Arc<Segment>>],
    node_id_bound: u64,
) -> Result<Option<IndexEntry>> {
    let mut sorter = PairSorter::new(context.config.memory_bytes / 8);
    for segment in segments.iter().flatten() {
        let first = segment_range(segment.entry().segment).start;
        let (bits, Some(column)) = (segment.label(label), segment.column(key)) else { continue };
        for start in (0..segment.rows()).step_by(COLUMN_BLOCK_ROWS) {
            context.interrupt.check()?;
            let end = (start + COLUMN_BLOCK_ROWS).min(segment.rows());
            let values = column.range(start as u64..end as u64)?;
            for row in start..end {
                if segment.bit(bits, row)?
                    && let Some(hash) = hash_row(&values, row - start)
                {
                    sorter.push(context, index_hash(hash), NodeId(first + row as u64))?;
                }
            }
        }
    }
    write_index(context, label, key, None, &Set::default(), sorter, node_id_bound)
}

/// Merges the entries of an old index, but for some nodes, with sorted new ones.
pub fn write_index(
    context: &BuildContext,
    label: LabelId,
    key: PropertyKeyId,
    base: Option<&KeyIndex>,
    without: &Set<NodeId>,
    new: PairSorter,
    node_id_bound: u64,
) -> Result<Option<IndexEntry>> {
    let count = new.count() + base.map_or(0, KeyIndex::count);
    let mut writer = IndexWriter::new(context, label, key, count, node_id_bound)?;
    let Some(base) = base else {
        new.finish(|hash, node| writer.push(hash, node))?;
        return writer.finish(context);
    };
    let mut old = base.pairs();
    let mut pending = old.next_pair()?;
    new.finish(|hash, node| {
        while let Some((old_hash, old_node)) = pending.filter(|&(old_hash, _)| old_hash <= hash) {
            if !without.contains(&old_node) {
                writer.push(old_hash, old_node)?;
            }
            pending = old.next_pair()?;
        }
        writer.push(hash, node)
    })?;
    while let Some((hash, node)) = pending {
        if !without.contains(&node) {
            writer.push(hash, node)?;
        }
        pending = old.next_pair()?;
    }
    writer.finish(context)
}
