//! The edge partitions of a new version: those of the base that nothing touches, and merges of old and new edges.

use std::ops::Range;

use model::id::{EdgeId, EdgeTypeId, PropertyKeyId};
use model::{Column, ColumnBuilder, Result, Value};

use super::chunk::{CHUNK_EDGES, ChunkSource, EdgeChunk, Merge, TargetFilter, chunk_rows, edge_key};
use super::context::BuildContext;
use super::rewrite::EdgePropertyChange;
use crate::format::{EdgePlace, INTERVAL_END, PARTITION_BITS};
use crate::manifest::PartitionEntry;
use crate::partition::Section;
use crate::partition::stream::SectionCursor;
use crate::partition::write::PartitionWriter;
use crate::version::Version;

/// A source of sorted edges that lives while the partitions are written.
pub type BoxedSource<'a> = Box<dyn ChunkSource + 'a>;

/// Gives the new edges of a type for an interval of targets.
pub type NewEdges<'a> = Box<dyn FnMut(EdgeTypeId, &Range<u64>) -> Result<Vec<BoxedSource<'a>>> + 'a>;

/// Whether an interval of targets has new edges.
pub type IsTouched<'a> = Box<dyn Fn(&Range<u64>) -> bool + 'a>;

/// What becomes of the edges of a base.
pub struct EdgeChanges<'a> {
    /// Types of new edges.
    pub types: Vec<EdgeTypeId>,
    /// The new edges of a type whose targets may lie in an interval; asked once for each type and interval.
    pub new_edges: NewEdges<'a>,
    /// Whether new edges have targets in an interval.
    pub is_touched: IsTouched<'a>,
    /// Edges that are gone, sorted.
    pub deleted: Vec<EdgeId>,
    /// Changed properties, sorted by edge and key; of equals the last counts.
    pub properties: Vec<EdgePropertyChange>,
}

/// Writes the partitions over the intervals; those of the base that stay as they are are kept.
pub fn write_partitions(
    context: &BuildContext,
    base: &Version,
    intervals: &[Range<u64>],
    node_id_bound: u64,
    mut changes: EdgeChanges<'_>,
) -> Result<Vec<PartitionEntry>> {
    if intervals.len() >= 1 << PARTITION_BITS {
        return Err(crate::error::StorageError::limit(format!("{} partitions are too many", intervals.len())));
    }
    let mut entries = Vec::new();
    for interval in intervals {
        let same = base.partitions().iter().position(|partition| partition.interval() == *interval);
        if let Some(number) = same
            && !(changes.is_touched)(interval)
            && !changes.changes_partition(base.partitions()[number].slot().into())
        {
            entries.push(base.partitions()[number].entry().clone());
            continue;
        }
        let mut writer = PartitionWriter::new(context, interval.clone(), node_id_bound)?;
        for edge_type in types_of(base, &changes.types) {
            let mut sources = changes.base_edges(base, edge_type, interval)?;
            for inner in (changes.new_edges)(edge_type, interval)? {
                sources.push(within(inner, intervals, interval));
            }
            let edges: BoxedSource<'_> = match sources.len() {
                1 => sources.swap_remove(0),
                _ => Box::new(Merge::new(sources)),
            };
            writer.section(edge_type, edges)?;
        }
        entries.extend(writer.finish()?.map(|written| written.entry));
    }
    Ok(entries)
}

/// A single interval takes every target, so it needs no filter.
fn within<'a>(inner: BoxedSource<'a>, intervals: &[Range<u64>], interval: &Range<u64>) -> BoxedSource<'a> {
    if intervals.len() == 1 { inner } else { Box::new(TargetFilter { inner, interval: interval.clone() }) }
}

fn types_of(base: &Version, new: &[EdgeTypeId]) -> Vec<EdgeTypeId> {
    let sections = base.partitions().iter().flat_map(|partition| partition.sections());
    let mut types: Vec<EdgeTypeId> = sections.map(Section::edge_type).chain(new.iter().copied()).collect();
    types.sort_unstable();
    types.dedup();
    types
}

/// Intervals for a new version: those of the base, unless it has none or they hold too many edges.
pub fn lay_out(base: &Version, new_edges: u64, histogram: &[u64], bits: u32, edges_max: u64) -> Vec<Range<u64>> {
    let all = base.manifest().statistics.edges + new_edges;
    let wanted = all.div_ceil(edges_max.max(1)).max(1);
    if !base.partitions().is_empty() && base.partitions().len() as u64 >= wanted {
        return cover(base.partitions().iter().map(|partition| partition.interval()).collect());
    }
    let mut counts = histogram.to_vec();
    spread_base(base, &mut counts, bits);
    let share = counts.iter().sum::<u64>().div_ceil(wanted).max(1);
    let mut intervals = Vec::new();
    let (mut start, mut held) = (0u64, 0u64);
    for (slot, count) in counts.iter().enumerate() {
        if held > 0 && held + count > share && (intervals.len() as u64) + 1 < wanted {
            let end = (slot as u64) << bits;
            intervals.push(start..end);
            (start, held) = (end, 0);
        }
        held += count;
    }
    intervals.push(start..INTERVAL_END);
    intervals
}

/// The intervals, each but the last ending where the next begins, so that they cover all ids.
fn cover(mut intervals: Vec<Range<u64>>) -> Vec<Range<u64>> {
    intervals.sort_by_key(|interval| interval.start);
    let mut start = 0;
    let count = intervals.len();
    for (index, interval) in intervals.iter_mut().enumerate() {
        interval.start = start;
        if index + 1 == count {
            interval.end = INTERVAL_END;
        }
        start = interval.end;
    }
    intervals
}

/// Adds the edges of the base to a histogram of targets, as if each partition's were evenly spread.
fn spread_base(base: &Version, counts: &mut Vec<u64>, bits: u32) {
    for partition in base.partitions() {
        let interval = partition.interval();
        let end = interval.end.min(base.node_id_bound()).max(interval.start + 1);
        let (first, last) = ((interval.start >> bits) as usize, ((end - 1) >> bits) as usize);
        counts.resize(counts.len().max(last + 1), 0);
        let share = partition.entry().edges / (last - first + 1) as u64;
        counts[first..=last].iter_mut().for_each(|count| *count += share);
    }
}

impl EdgeChanges<'_> {
    fn changes_partition(&self, slot: usize) -> bool {
        let is_here = |edge: EdgeId| EdgePlace::of(edge).is_some_and(|place| place.partition == slot);
        self.deleted.iter().any(|&edge| is_here(edge)) || self.properties.iter().any(|change| is_here(change.edge))
    }

    /// The edges of the base of a type, with their changes, whose targets lie in the interval.
    fn base_edges<'b>(
        &self,
        base: &'b Version,
        edge_type: EdgeTypeId,
        interval: &Range<u64>,
    ) -> Result<Vec<BoxedSource<'b>>> {
        let mut sources: Vec<BoxedSource<'b>> = Vec::new();
        for partition in base.partitions() {
            let have = partition.interval();
            if have.start >= interval.end || have.end <= interval.start {
                continue;
            }
            let Some((index, section)) = partition.section_of(edge_type) else { continue };
            let first = EdgePlace::base(partition.slot().into(), index);
            let range = EdgeId(first)..EdgeId(first + section.edge_count());
            let low = self.deleted.partition_point(|&edge| edge < range.start);
            let high = self.deleted.partition_point(|&edge| edge < range.end);
            let deleted = self.deleted[low..high].iter().map(|edge| edge.0 - first).collect();
            let low = self.properties.partition_point(|change| change.edge < range.start);
            let high = self.properties.partition_point(|change| change.edge < range.end);
            let edges = SectionEdges::new(section, deleted, &self.properties[low..high], first)?;
            let is_inside = interval.start <= have.start && have.end <= interval.end;
            sources.push(if is_inside {
                Box::new(edges)
            } else {
                Box::new(TargetFilter { inner: Box::new(edges), interval: interval.clone() })
            });
        }
        Ok(sources)
    }
}

/// The edges of a section with changes applied.
pub struct SectionEdges<'a> {
    section: &'a Section,
    cursor: SectionCursor<'a>,
    deleted: Vec<u64>,
    /// By key, the changed positions in order.
    overlays: Vec<(PropertyKeyId, Vec<(u64, Value)>)>,
}

impl<'a> SectionEdges<'a> {
    /// All edges of a section but those at the deleted positions; changes are sorted by edge and name ids from `first`.
    pub fn new(
        section: &'a Section,
        deleted: Vec<u64>,
        changes: &[EdgePropertyChange],
        first: u64,
    ) -> Result<SectionEdges<'a>> {
        let mut overlays: Vec<(PropertyKeyId, Vec<(u64, Value)>)> =
            section.keys().map(|key| (key, Vec::new())).collect();
        for change in changes {
            let at = overlays.iter().position(|(key, _)| *key == change.key).unwrap_or_else(|| {
                overlays.push((change.key, Vec::new()));
                overlays.len() - 1
            });
            overlays[at].1.push((change.edge.0 - first, change.value.clone()));
        }
        Ok(SectionEdges { section, cursor: SectionCursor::new(section, 0..u64::MAX)?, deleted, overlays })
    }
}

impl ChunkSource for SectionEdges<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        loop {
            let (mut sources, mut targets) = (Vec::new(), Vec::new());
            let run = self.cursor.next(CHUNK_EDGES as u64, &mut sources, &mut targets)?;
            if run.is_empty() {
                return Ok(None);
            }
            let keys = sources.iter().zip(&targets).map(|(&source, &target)| edge_key(source, target)).collect();
            let mut columns = Vec::with_capacity(self.overlays.len());
            for (key, changes) in &self.overlays {
                let column = self.section.property_range(*key, run.clone())?;
                columns.push((*key, overlaid(column, run.start, changes)));
            }
            let chunk = EdgeChunk { keys, columns };
            let low = self.deleted.partition_point(|&position| position < run.start);
            let high = self.deleted.partition_point(|&position| position < run.end);
            if low == high {
                return Ok(Some(chunk));
            }
            let gone = &self.deleted[low..high];
            let is_kept = |row: &u32| gone.binary_search(&(run.start + u64::from(*row))).is_err();
            let rows: Vec<u32> = (0..chunk.keys.len() as u32).filter(is_kept).collect();
            if !rows.is_empty() {
                return Ok(Some(chunk_rows(&chunk, &rows)));
            }
        }
    }
}

/// A run of values from position `start` on with the changes that lie in it; of several for one position the last.
fn overlaid(column: Column, start: u64, changes: &[(u64, Value)]) -> Column {
    let end = start + column.len() as u64;
    let low = changes.partition_point(|(position, _)| *position < start);
    let high = changes.partition_point(|(position, _)| *position < end);
    if low == high {
        return column;
    }
    let mut changes = changes[low..high].iter().peekable();
    let mut builder = ColumnBuilder::default();
    for row in 0..column.len() {
        let mut value = None;
        while let Some((_, newer)) = changes.next_if(|(position, _)| *position == start + row as u64) {
            value = Some(newer);
        }
        match value {
            Some(value) => builder.push(value),
            None => builder.push(&column.value(row)),
        }
    }
    builder.finish()
}
