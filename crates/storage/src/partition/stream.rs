//! Reading the sections of a partition from start to end, in blocks of edges.

use std::ops::Range;

use model::Result;
use model::batch::EdgeBlock;
use model::id::{EdgeId, EdgeTypeId, NodeId, PropertyKeyId};
use model::store::{EdgeIds, EdgeStream};

use super::{Partition, Section};
use crate::format::EdgePlace;

/// Approximate number of edges in one block.
const BLOCK_EDGES: u64 = 8_192;
/// Slots of the pointer index read at a time.
const SLOTS: usize = 1_024;

/// A cursor over sorted edges of one section, whose blocks are ranges of positions.
#[derive(Debug)]
pub struct SectionCursor<'a> {
    section: &'a Section,
    slots: Range<usize>,
    nodes: Vec<u64>,
    ends: Vec<u64>,
    at: usize,
    position: u64,
}

impl<'a> SectionCursor<'a> {
    /// The edges of a section whose sources are in the range.
    pub fn new(section: &'a Section, sources: Range<u64>) -> Result<SectionCursor<'a>> {
        let slots = section.out_index().slots(section.file(), sources)?;
        Ok(SectionCursor { section, slots, nodes: Vec::new(), ends: Vec::new(), at: 0, position: 0 })
    }

    /// Adds up to about `edges_max` further edges to `sources` and `targets`; gives their positions, empty at the end.
    pub fn next(&mut self, edges_max: u64, sources: &mut Vec<NodeId>, targets: &mut Vec<NodeId>) -> Result<Range<u64>> {
        let mut start = None;
        let mut count = 0;
        while count < edges_max {
            if self.at == self.ends.len() && !self.refill()? {
                break;
            }
            start.get_or_insert(self.position);
            let take = (self.ends[self.at] - self.position).min(edges_max - count);
            sources.resize(sources.len() + take as usize, NodeId(self.nodes[self.at]));
            self.position += take;
            count += take;
            if self.position == self.ends[self.at] {
                self.at += 1;
            }
        }
        let run = start.map_or(0..0, |start| start..start + count);
        self.section.targets(run.clone(), targets)?;
        Ok(run)
    }

    fn refill(&mut self) -> Result<bool> {
        if self.slots.is_empty() {
            return Ok(false);
        }
        let part = self.slots.start..self.slots.end.min(self.slots.start + SLOTS);
        self.slots.start = part.end;
        let section = self.section;
        let start = section.out_index().runs(section.file(), part, &mut self.nodes, &mut self.ends)?;
        let last = self.ends.last().copied().unwrap_or(start);
        let is_ascending = self.ends.first().is_none_or(|&first| start <= first) && self.ends.is_sorted();
        if !is_ascending || last > section.edge_count() {
            return Err(section.file().damage(0, "the offsets of a pointer index do not ascend"));
        }
        self.position = start;
        self.at = 0;
        Ok(true)
    }
}

/// A cursor over the edges of a partition, section by section.
#[derive(Debug)]
pub struct PartitionStream<'a> {
    partition: &'a Partition,
    types: Option<Vec<EdgeTypeId>>,
    sources: Range<u64>,
    keys: Vec<PropertyKeyId>,
    edge_ids: EdgeIds,
    section: usize,
    cursor: Option<SectionCursor<'a>>,
    lost: Vec<u64>,
}

impl<'a> PartitionStream<'a> {
    /// The edges of a partition that `stream` asks for.
    pub fn new(partition: &'a Partition, stream: &EdgeStream) -> PartitionStream<'a> {
        PartitionStream {
            partition,
            types: stream.types.clone(),
            sources: stream.sources.clone().unwrap_or(0..u64::MAX),
            keys: stream.keys.clone(),
            edge_ids: stream.edge_ids,
            section: 0,
            cursor: None,
            lost: Vec::new(),
        }
    }

    /// Clears `block` and fills it with further edges of one type; false, with `block` empty, at the end.
    pub fn next(&mut self, block: &mut EdgeBlock) -> Result<bool> {
        block.clear();
        loop {
            let Some(live) = self.partition.live(self.section) else { return Ok(false) };
            let section = live.section;
            if self.types.as_ref().is_some_and(|types| !types.contains(&section.edge_type())) {
                self.section += 1;
                continue;
            }
            if self.cursor.is_none() {
                self.cursor = Some(SectionCursor::new(section, self.sources.clone())?);
            }
            let Some(cursor) = &mut self.cursor else { continue };
            let run = cursor.next(BLOCK_EDGES, &mut block.sources, &mut block.targets)?;
            if run.is_empty() {
                self.cursor = None;
                self.section += 1;
                continue;
            }
            block.edge_type = section.edge_type();
            if self.edge_ids == EdgeIds::Include {
                let base = EdgePlace::base(self.partition.slot().into(), self.section);
                block.edges.extend(run.clone().map(|position| EdgeId(base | position)));
            }
            for &key in &self.keys {
                block.properties.push(live.property_range(key, run.clone())?);
            }
            if let Some(patches) = live.patches {
                patches.lost(&run, false, &mut self.lost)?;
                if !self.lost.is_empty() {
                    leave_out(block, run.start, &self.lost);
                    if block.sources.is_empty() {
                        block.clear();
                        continue;
                    }
                }
            }
            return Ok(true);
        }
    }
}

/// Takes the edges at the lost positions out of a block of positions from `start` on.
fn leave_out(block: &mut EdgeBlock, start: u64, lost: &[u64]) {
    let kept = kept_rows(block.sources.len(), start, lost);
    let rows = || kept.iter().map(|&row| row as usize);
    block.sources = rows().map(|row| block.sources[row]).collect();
    block.targets = rows().map(|row| block.targets[row]).collect();
    if !block.edges.is_empty() {
        block.edges = rows().map(|row| block.edges[row]).collect();
    }
    block.properties.iter_mut().for_each(|column| *column = column.gather(&kept));
}

/// The rows of a run of positions from `start` on that are not among the lost positions, which ascend and are in the run.
pub fn kept_rows(rows: usize, start: u64, lost: &[u64]) -> Vec<u32> {
    let mut lost = lost.iter().peekable();
    (0..rows as u32).filter(|&row| lost.next_if(|&&position| position == start + u64::from(row)).is_none()).collect()
}
