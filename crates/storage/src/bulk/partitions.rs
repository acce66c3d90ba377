//! Writing edge partitions from sorted edges of any origin, and the edges of a partition as such an origin.

use std::ops::Range;

use model::id::{EdgeTypeId, PropertyKeyId};
use model::{Column, ColumnData, Result, Schema};

use super::order::{OrderedMerge, Resorted};
use crate::build::BuildContext;
use crate::build::chunk::{
    BoxedSource, CHUNK_EDGES, ChunkSource, EdgeChunk, Merge, TargetFilter, chunk_rows, edge_key,
};
use crate::format::{EDGE_NUMBER_KEY, INTERVAL_END, NODE_ID_LIMIT};
use crate::manifest::PartitionEntry;
use crate::partition::LiveSection;
use crate::partition::stream::{SectionCursor, kept_rows};
use crate::partition::write::PartitionWriter;

/// Sources of the edges of new partitions.
pub struct EdgeSources<'a> {
    /// Their types, in order.
    pub types: Vec<EdgeTypeId>,
    /// The edges of a type whose targets may lie in an interval, oldest first, each source in the order of the type's
    /// sort key; asked once for each type and interval.
    #[expect(clippy::type_complexity, reason = "the type is named nowhere else")]
    pub of_type: Box<dyn FnMut(EdgeTypeId, &Range<u64>) -> Result<Vec<BoxedSource<'a>>> + 'a>,
}

/// Writes a partition of each interval that has edges, which together cover the targets of all edges.
pub fn write_partitions(
    context: &BuildContext,
    intervals: &[Range<u64>],
    level: u8,
    node_id_bound: u64,
    schema: &Schema,
    mut edges: EdgeSources<'_>,
) -> Result<Vec<PartitionEntry>> {
    let mut entries = Vec::new();
    for interval in intervals {
        let mut writer = PartitionWriter::new(context, interval.clone(), node_id_bound)?;
        for &edge_type in &edges.types {
            let mut sources: Vec<BoxedSource<'_>> = Vec::new();
            for inner in (edges.of_type)(edge_type, interval)? {
                sources.push(within(inner, intervals, interval));
            }
            let order = schema.sort_key(edge_type);
            let edges: BoxedSource<'_> = match sources.len() {
                1 => sources.swap_remove(0),
                _ if order.is_empty() => Box::new(Merge::new(sources)),
                _ => Box::new(OrderedMerge::new(sources, order.to_vec())),
            };
            writer.section(edge_type, edges, order)?;
        }
        if let Some(written) = writer.finish()? {
            entries.push(PartitionEntry { level, ..written.entry });
        }
    }
    Ok(entries)
}

/// A single interval takes every target, so it needs no filter.
fn within<'a>(inner: BoxedSource<'a>, intervals: &[Range<u64>], interval: &Range<u64>) -> BoxedSource<'a> {
    if intervals.len() == 1 { inner } else { Box::new(TargetFilter { inner, interval: interval.clone() }) }
}

/// Cuts an interval so that no part has much more than `edges_max` edges or more than `targets_max` targets; `histogram` counts
/// edges by the upper bits of their targets.
pub fn lay_out(whole: Range<u64>, histogram: &[u64], bits: u32, edges_max: u64, targets_max: u64) -> Vec<Range<u64>> {
    let edges: u64 = histogram.iter().sum();
    let wanted = edges.div_ceil(edges_max.max(1)).max(1);
    let share = edges.div_ceil(wanted).max(1);
    let mut intervals = Vec::new();
    let (mut start, mut held, mut by_edges) = (whole.start, 0u64, 1);
    for (slot, count) in histogram.iter().enumerate() {
        let here = (slot as u64) << bits;
        let is_full = held > 0 && held + count > share && by_edges < wanted;
        let is_wide = held > 0 && here + (1 << bits) > start.saturating_add(targets_max);
        if here > start && (is_full || is_wide) {
            intervals.push(start..here);
            (start, held) = (here, 0);
            by_edges += u64::from(is_full);
        }
        held += count;
    }
    intervals.push(start..whole.end);
    intervals
}

/// All target ids, those still to come included.
pub fn everything() -> Range<u64> {
    0..INTERVAL_END
}

/// The edges of a section that are there, with their properties and numbers.
pub struct LiveEdges<'a> {
    live: LiveSection<'a>,
    cursor: SectionCursor<'a>,
    keys: Vec<PropertyKeyId>,
    lost: Vec<u64>,
    /// The position of the next edge.
    next: u64,
}

/// Approximate bytes of properties in one chunk.
const CHUNK_BYTES: u64 = 4 << 20;

impl<'a> LiveEdges<'a> {
    /// The edges of a section.
    pub fn new(live: LiveSection<'a>) -> Result<LiveEdges<'a>> {
        let cursor = SectionCursor::new(live.section, 0..u64::MAX)?;
        Ok(LiveEdges { live, cursor, keys: live.keys(), lost: Vec::new(), next: 0 })
    }
}

/// The edges of a section that are there, in the order of the type's sort key of now.
pub fn live_edges<'a>(live: LiveSection<'a>, schema: &Schema) -> Result<BoxedSource<'a>> {
    let order = schema.sort_key(live.edge_type());
    let has_moved = || live.patches.is_some_and(|patches| patches.keys().any(|key| order.contains(&key)));
    let is_ordered = live.section.sort_keys() == order && !has_moved();
    let edges = Box::new(LiveEdges::new(live)?);
    Ok(if is_ordered { edges } else { Box::new(Resorted::new(edges, order.to_vec())) })
}

impl ChunkSource for LiveEdges<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        loop {
            let (mut sources, mut targets) = (Vec::new(), Vec::new());
            let row_bytes = self.live.row_bytes(&self.keys, self.next).max(1);
            let edges = (CHUNK_BYTES / row_bytes).clamp(1, CHUNK_EDGES as u64);
            let run = self.cursor.next(edges, &mut sources, &mut targets)?;
            if run.is_empty() {
                return Ok(None);
            }
            self.next = run.end;
            if sources.iter().chain(&targets).any(|node| node.0 >= NODE_ID_LIMIT) {
                return Err(self.live.section.file().damage(0, "an edge joins nodes whose ids are too large"));
            }
            let keys = sources.iter().zip(&targets).map(|(&source, &target)| edge_key(source, target)).collect();
            let mut columns = Vec::with_capacity(self.keys.len());
            for &key in &self.keys {
                columns.push((key, self.live.property_range(key, run.clone())?));
            }
            let numbers = self.live.section.number_range(run.clone())?.into_iter().map(|number| number as i64);
            columns.push((EDGE_NUMBER_KEY, Column::new(ColumnData::Int(numbers.collect()))));
            let chunk = EdgeChunk { keys, columns };
            self.lost.clear();
            if let Some(patches) = self.live.patches {
                patches.lost(&run, false, &mut self.lost)?;
            }
            if self.lost.is_empty() {
                return Ok(Some(chunk));
            }
            let rows = kept_rows(chunk.keys.len(), run.start, &self.lost);
            if !rows.is_empty() {
                return Ok(Some(chunk_rows(&chunk, &rows)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lay_out;

    fn check(histogram: &[u64], edges_max: u64, targets_max: u64, expected: &[u64]) {
        let intervals = lay_out(0..1_000, histogram, 4, edges_max, targets_max);
        let mut ends: Vec<u64> = intervals.iter().map(|interval| interval.end).collect();
        assert_eq!((intervals[0].start, ends.pop()), (0, Some(1_000)));
        assert!(intervals.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(ends, expected);
    }

    #[test]
    fn parts_have_few_edges_and_few_targets() {
        check(&[5; 8], 100, u64::MAX, &[]);
        check(&[5; 8], 20, u64::MAX, &[64]);
        check(&[5; 8], 100, 32, &[32, 64, 96]);
        check(&[5; 8], 20, 32, &[32, 64, 96]);
        check(&[0, 0, 0, 5, 5], 100, 32, &[64]);
    }
}
