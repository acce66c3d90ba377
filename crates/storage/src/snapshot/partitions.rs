//! The edges as sequential streams: each partition of the files without its deleted edges, and the edges made since.

use std::collections::BTreeMap;
use std::ops::Range;

use model::batch::{EdgeBlock, EdgeRuns};
use model::limits::BATCH_ROWS;
use model::store::{EdgeBlockCursor, EdgeIds, EdgePartitions, EdgeRunCursor, EdgeStream, RunScan, runs_by_stream};
use model::{Direction, EdgeId, EdgeTypeId, NodeId, PropertyKeyId, ReadView, Result};

use super::Snapshot;
use crate::format::EdgePlace;
use crate::memtable::edge_id;
use crate::partition::Partition;
use crate::partition::runs::{Lost, PartitionRuns};
use crate::version::PartitionStream;

impl Snapshot {
    /// Edges made since the files were written, by type, source and target.
    fn new_edges(&self, stream: &EdgeStream) -> Vec<(EdgeTypeId, NodeId, NodeId, EdgeId)> {
        let records = self.memtable.edges.iter().zip(0..);
        let mut edges: Vec<_> = records
            .filter(|(edge, _)| {
                !edge.is_deleted
                    && stream.types.as_ref().is_none_or(|types| types.contains(&edge.edge_type))
                    && stream.sources.as_ref().is_none_or(|sources| sources.contains(&edge.source.0))
            })
            .map(|(edge, ordinal)| (edge.edge_type, edge.source, edge.target, edge_id(ordinal)))
            .collect();
        edges.sort_unstable();
        edges
    }

    /// The edges of a partition that were deleted since it was written: positions, or places of the in-direction.
    fn lost_of(&self, partition: &Partition, is_in: bool) -> Result<Lost> {
        let mut lost: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        if self.memtable.base_edges_deleted.is_empty() {
            return Ok(Lost::new());
        }
        for (&edge, _) in self.memtable.edge_changes.iter().filter(|(_, change)| change.is_deleted) {
            let here = |place: &EdgePlace| place.partition == usize::from(partition.slot());
            let Some(place) = EdgePlace::of(EdgeId(edge)).filter(here) else { continue };
            let Some(section) = partition.sections().get(place.section) else { continue };
            let at = if is_in { section.in_place(place.position)? } else { place.position };
            lost.entry(place.section).or_default().push(at);
        }
        lost.values_mut().for_each(|places| places.sort_unstable());
        Ok(lost.into_iter().collect())
    }
}

/// The partitions of the files, and behind them one of the edges made since, if there are any or there are no files.
impl EdgePartitions for Snapshot {
    fn count(&self) -> usize {
        let files = self.version.partitions().len();
        files + usize::from(files == 0 || !self.memtable.edges.is_empty())
    }

    fn interval(&self, partition: usize) -> Range<u64> {
        let bound = self.node_id_bound();
        let interval = self.version.partitions().get(partition).map_or(0..bound, |of| of.interval());
        interval.start.min(bound)..interval.end.min(bound)
    }

    fn edge_count(&self, partition: usize, types: Option<&[EdgeTypeId]>) -> u64 {
        let is_wanted = |edge_type: EdgeTypeId| types.is_none_or(|types| types.contains(&edge_type));
        let Some(of) = self.version.partitions().get(partition) else {
            let edges = self.memtable.edges.iter();
            return edges.filter(|edge| !edge.is_deleted && is_wanted(edge.edge_type)).count() as u64;
        };
        let mut count = 0;
        for section in of.live_sections().filter(|section| is_wanted(section.edge_type())) {
            count += section.edge_count();
        }
        let is_here = |edge: u64| EdgePlace::of(EdgeId(edge)).filter(|place| place.partition == usize::from(of.slot()));
        for (&edge, _) in self.memtable.edge_changes.iter().filter(|(_, change)| change.is_deleted) {
            let section = is_here(edge).and_then(|place| of.sections().get(place.section));
            count -= u64::from(section.is_some_and(|section| is_wanted(section.edge_type())));
        }
        count
    }

    fn stream(&self, partition: usize, stream: &EdgeStream) -> Result<Box<dyn EdgeBlockCursor + '_>> {
        let has_changes = !self.memtable.edge_changes.is_empty();
        let is_new = partition >= self.version.partitions().len();
        let base = if is_new {
            None
        } else {
            let mut stream = stream.clone();
            if has_changes {
                stream.edge_ids = EdgeIds::Include;
            }
            Some(self.version.stream(partition, &stream)?)
        };
        Ok(Box::new(PartitionCursor {
            snapshot: self,
            base,
            has_changes,
            new: if is_new { self.new_edges(stream) } else { Vec::new() },
            next_new: 0,
            keys: stream.keys.clone(),
            edge_ids: stream.edge_ids,
        }))
    }

    fn runs<'a>(&'a self, partition: usize, scan: &'a RunScan<'a>) -> Result<Box<dyn EdgeRunCursor + 'a>> {
        scan.check()?;
        let Some(of) = self.version.partitions().get(partition) else { return runs_by_stream(self, partition, scan) };
        let lost = self.lost_of(of, scan.direction == Direction::In)?;
        let base = self.version.runs(partition, scan, lost);
        Ok(Box::new(RunCursor { snapshot: self, base, slot: of.slot(), keys: &scan.keys }))
    }
}

/// Runs of a partition of the files, corrected by what the memtable says.
struct RunCursor<'a> {
    snapshot: &'a Snapshot,
    base: PartitionRuns<'a>,
    slot: u16,
    keys: &'a [PropertyKeyId],
}

impl EdgeRunCursor for RunCursor<'_> {
    fn next(&mut self, out: &mut EdgeRuns) -> Result<bool> {
        if !self.base.next(out)? {
            return self.snapshot.sound(false);
        }
        let memtable = &self.snapshot.memtable;
        if !self.keys.is_empty() && memtable.changes_edge_keys(self.keys) {
            let (section, positions) = self.base.positions();
            let base = EdgePlace::base(self.slot.into(), section);
            let edges: Vec<EdgeId> = positions.iter().map(|position| EdgeId(base | position)).collect();
            if edges.iter().any(|edge| memtable.edge_change(*edge).is_some()) {
                out.properties = self.snapshot.columns_of_edges(&edges, self.keys)?;
            }
        }
        self.snapshot.sound_edges(out.nodes.iter().chain(&out.neighbors).map(|&node| node.into()))
    }
}

struct PartitionCursor<'a> {
    snapshot: &'a Snapshot,
    base: Option<PartitionStream<'a>>,
    /// True if edges of the files were deleted or have other properties now.
    has_changes: bool,
    new: Vec<(EdgeTypeId, NodeId, NodeId, EdgeId)>,
    next_new: usize,
    keys: Vec<PropertyKeyId>,
    edge_ids: EdgeIds,
}

impl PartitionCursor<'_> {
    /// Corrects a block of the files by what the memtable says.
    fn correct(&self, block: &mut EdgeBlock) -> Result<()> {
        let memtable = &self.snapshot.memtable;
        let changes = |edge: &EdgeId| memtable.edge_change(*edge);
        if !memtable.base_edges_deleted.is_empty() {
            let is_there = |edge: &EdgeId| changes(edge).is_none_or(|change| !change.is_deleted);
            let rows = 0..block.edges.len() as u32;
            let kept: Vec<u32> = rows.filter(|&row| is_there(&block.edges[row as usize])).collect();
            if kept.len() < block.edges.len() {
                block.sources = kept.iter().map(|&row| block.sources[row as usize]).collect();
                block.targets = kept.iter().map(|&row| block.targets[row as usize]).collect();
                block.edges = kept.iter().map(|&row| block.edges[row as usize]).collect();
                block.properties = block.properties.iter().map(|column| column.gather(&kept)).collect();
            }
        }
        if !self.keys.is_empty() && block.edges.iter().any(|edge| changes(edge).is_some()) {
            block.properties = self.snapshot.columns_of_edges(&block.edges, &self.keys)?;
        }
        if self.edge_ids == EdgeIds::Omit {
            block.edges.clear();
        }
        Ok(())
    }

    fn next_base(&mut self, out: &mut EdgeBlock) -> Result<bool> {
        while let Some(base) = &mut self.base {
            if !base.next(out)? {
                self.base = None;
            } else if !self.has_changes {
                return Ok(true);
            } else {
                self.correct(out)?;
                if !out.sources.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl EdgeBlockCursor for PartitionCursor<'_> {
    fn next(&mut self, out: &mut EdgeBlock) -> Result<bool> {
        if self.next_base(out)? {
            return self.snapshot.sound_edges(out.sources.iter().chain(&out.targets).map(|node| node.0));
        }
        out.clear();
        self.snapshot.sound(())?;
        let rest = &self.new[self.next_new..];
        let Some(&(edge_type, ..)) = rest.first() else { return Ok(false) };
        let mut edges = Vec::new();
        for &(_, source, target, edge) in rest.iter().take(BATCH_ROWS).take_while(|edge| edge.0 == edge_type) {
            out.sources.push(source);
            out.targets.push(target);
            edges.push(edge);
        }
        self.next_new += edges.len();
        out.edge_type = edge_type;
        if !self.keys.is_empty() {
            out.properties = self.snapshot.columns_of_edges(&edges, &self.keys)?;
        }
        if self.edge_ids == EdgeIds::Include {
            out.edges = edges;
        }
        self.snapshot.sound(true)
    }
}
