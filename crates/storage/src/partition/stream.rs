//! Reading the sections of a partition from start to end, in blocks of edges.

use std::ops::Range;

use model::Result;
use model::batch::EdgeBlock;
use model::id::{EdgeId, EdgeTypeId, NodeId, PropertyKeyId};
use model::store::{EdgeIds, EdgeStream};

use super::{Partition, Section};
use crate::format::EdgePlace;

/// Edges in one block, about.
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
        if start > last || last > section.edge_count() || !self.ends.is_sorted() {
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
        }
    }

    /// Clears `block` and fills it with further edges of one type; false, with `block` empty, at the end.
    pub fn next(&mut self, block: &mut EdgeBlock) -> Result<bool> {
        block.clear();
        loop {
            let Some(section) = self.partition.sections().get(self.section) else { return Ok(false) };
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
                block.properties.push(section.property_range(key, run.clone())?);
            }
            return Ok(true);
        }
    }
}
