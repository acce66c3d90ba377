//! A section: the edges of one type in a partition, in both directions, with their property columns.

use std::ops::Range;
use std::sync::Arc;

use model::id::{EdgeTypeId, NodeId, PropertyKeyId};
use model::{Column, Result, Value};

use super::pointer::PointerIndex;
use crate::codec::bits::{get, is_width, packed_bytes, unpack};
use crate::codec::bytes::{Get, Put};
use crate::column::ColumnReader;
use crate::file::StoreFile;

/// Entries unpacked at a time.
const UNPACK_ENTRIES: usize = 256;
/// Runs up to this length are read one by one, which is faster than setting up the unpacking.
const SHORT_RUN: u64 = 12;
/// Entries of one run that are asked for ahead; the rest of a long run is read in order.
const ASK_ENTRIES: u64 = 4_096;

/// A packed array of node ids as differences from a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeArray {
    /// The id that stands for 0.
    pub base: u64,
    /// Bits of an entry.
    pub width: u8,
    /// Where the entries start.
    pub start: usize,
}

impl NodeArray {
    /// Adds the array to its file's directory.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.put_u64(self.base);
        out.put_u64(u64::from(self.width));
        out.put_u64(self.start as u64);
    }

    fn take(file: &StoreFile, directory: &mut Get<'_>, count: u64) -> Result<NodeArray> {
        let (base, width, start) = (directory.u64()?, directory.u64()?, directory.u64()?);
        if width > 64 || !is_width(width as u8) {
            return Err(directory.damage(format!("{width} is not a width of packed entries")));
        }
        file.check_range(start, packed_bytes(count as usize, width as u8) as u64, "a list of nodes")?;
        Ok(NodeArray { base, width: width as u8, start: start as usize })
    }

    #[inline]
    fn ensure(&self, file: &StoreFile, run: &Range<u64>) -> Result<()> {
        let width = self.width as usize;
        let first = run.start as usize * width / 8;
        file.ensure(self.start + first, (run.end - run.start) as usize * width / 8 + 8)
    }

    /// Adds the entries of a run to `out`.
    #[inline]
    pub fn append(&self, file: &StoreFile, run: Range<u64>, out: &mut Vec<NodeId>) -> Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        self.ensure(file, &run)?;
        let bytes = &file.bytes()[self.start..];
        if run.end - run.start <= SHORT_RUN {
            out.extend(run.map(|at| NodeId(self.base + get(bytes, self.width, at as usize))));
            return Ok(());
        }
        let mut buffer = [0u64; UNPACK_ENTRIES];
        out.reserve((run.end - run.start) as usize);
        for at in run.clone().step_by(UNPACK_ENTRIES) {
            let part = &mut buffer[..(run.end - at).min(UNPACK_ENTRIES as u64) as usize];
            unpack(bytes, self.width, at as usize, part);
            out.extend(part.iter().map(|&entry| NodeId(self.base + entry)));
        }
        Ok(())
    }

    /// One entry.
    #[inline]
    pub fn at(&self, file: &StoreFile, index: u64) -> Result<u64> {
        self.ensure(file, &(index..index + 1))?;
        Ok(self.base + get(&file.bytes()[self.start..], self.width, index as usize))
    }
}

/// The edges of one type in a partition: sorted by source, then target; a position counts from 0 in that order.
#[derive(Debug)]
pub struct Section {
    file: Arc<StoreFile>,
    edge_type: EdgeTypeId,
    edge_count: u64,
    targets: NodeArray,
    out_index: PointerIndex,
    sources: NodeArray,
    in_index: PointerIndex,
    columns: Vec<(PropertyKeyId, ColumnReader)>,
}

/// The parts of a section that its writer knows.
#[derive(Clone, Debug)]
pub struct SectionParts {
    /// The type of its edges.
    pub edge_type: EdgeTypeId,
    /// How many there are.
    pub edge_count: u64,
    /// Their targets.
    pub targets: NodeArray,
    /// From a source to its targets.
    pub out_index: PointerIndex,
    /// The sources, by target.
    pub sources: NodeArray,
    /// From a target to its sources.
    pub in_index: PointerIndex,
}

impl SectionParts {
    /// Adds the section to its file's directory.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.put_u32(self.edge_type.0);
        out.put_u32(0);
        out.put_u64(self.edge_count);
        self.targets.put(out);
        self.sources.put(out);
        self.out_index.put(out);
        self.in_index.put(out);
    }
}

impl Section {
    /// Reads a section from the directory of its file.
    pub fn open(file: &Arc<StoreFile>, directory: &mut Get<'_>) -> Result<Section> {
        let edge_type = EdgeTypeId(directory.u32()?);
        directory.u32()?;
        let edge_count = directory.u64()?;
        if edge_count >= 1 << 40 {
            return Err(directory.damage(format!("a section of {edge_count} edges is too large")));
        }
        let targets = NodeArray::take(file, directory, edge_count)?;
        let sources = NodeArray::take(file, directory, edge_count)?;
        let out_index = PointerIndex::take(file, directory)?;
        let in_index = PointerIndex::take(file, directory)?;
        if out_index.edges() != edge_count || in_index.edges() != edge_count {
            return Err(directory.damage("the two directions of a section differ in their number of edges"));
        }
        let file = file.clone();
        Ok(Section { file, edge_type, edge_count, targets, out_index, sources, in_index, columns: Vec::new() })
    }

    /// Adds a property column when the partition is opened.
    pub fn add_column(&mut self, key: PropertyKeyId, column: ColumnReader) {
        self.columns.push((key, column));
    }

    /// The type of its edges.
    #[inline]
    pub fn edge_type(&self) -> EdgeTypeId {
        self.edge_type
    }

    /// How many edges it holds.
    #[inline]
    pub fn edge_count(&self) -> u64 {
        self.edge_count
    }

    /// The file with its topology.
    pub fn file(&self) -> &Arc<StoreFile> {
        &self.file
    }

    /// The index from sources to positions.
    pub fn out_index(&self) -> &PointerIndex {
        &self.out_index
    }

    /// The index from targets to places of the in-direction.
    pub fn in_index(&self) -> &PointerIndex {
        &self.in_index
    }

    /// The positions of the edges that start at a node; empty if there are none.
    #[inline]
    pub fn out_run(&self, source: NodeId) -> Result<Range<u64>> {
        self.out_index.run(&self.file, source.0)
    }

    /// The places, in the in-direction, of the edges that end at a node; empty if there are none.
    #[inline]
    pub fn in_run(&self, target: NodeId) -> Result<Range<u64>> {
        self.in_index.run(&self.file, target.0)
    }

    /// Adds the targets of a run of positions to `out`; within one source they ascend.
    #[inline]
    pub fn targets(&self, run: Range<u64>, out: &mut Vec<NodeId>) -> Result<()> {
        self.targets.append(&self.file, run, out)
    }

    /// Adds the sources of a run of places of the in-direction to `out`; within one target they ascend.
    #[inline]
    pub fn sources(&self, in_run: Range<u64>, out: &mut Vec<NodeId>) -> Result<()> {
        self.sources.append(&self.file, in_run, out)
    }

    /// Adds the positions of the edges at `part` of the in-run of `target` to `out`, in the same order.
    ///
    /// Of parallel edges the first in the in-direction is the first in the out-direction.
    /// Cost: a search in the out-run of each source.
    pub fn in_positions(&self, target: NodeId, part: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        let whole = self.in_run(target)?;
        let mut sources = Vec::with_capacity((part.end - part.start) as usize);
        self.sources(part.clone(), &mut sources)?;
        let mut before: Option<(NodeId, u64)> = None;
        for (place, &source) in part.zip(&sources) {
            let position = match before {
                Some((last, position)) if last == source => position + 1,
                Some(_) => self.first_position(source, target)?,
                None => {
                    let mut first = place;
                    while first > whole.start && self.sources.at(&self.file, first - 1)? == source.0 {
                        first -= 1;
                    }
                    self.first_position(source, target)? + (place - first)
                }
            };
            if position >= self.edge_count {
                return Err(self.directions_differ(source, target));
            }
            out.push(position);
            before = Some((source, position));
        }
        Ok(())
    }

    /// The first position of the edges from `source` to `target`.
    fn first_position(&self, source: NodeId, target: NodeId) -> Result<u64> {
        let run = self.out_run(source)?;
        let position = self.lower_bound(run.clone(), target)?;
        if position >= run.end || self.targets.at(&self.file, position)? != target.0 {
            return Err(self.directions_differ(source, target));
        }
        Ok(position)
    }

    fn directions_differ(&self, source: NodeId, target: NodeId) -> model::Error {
        let problem = format!("the edge from {} to {} is only in one direction", source.0, target.0);
        self.file.damage(self.sources.start, problem)
    }

    /// The first position in a source's run whose target is not below `target`.
    fn lower_bound(&self, run: Range<u64>, target: NodeId) -> Result<u64> {
        let (mut low, mut high) = (run.start, run.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.targets.at(&self.file, middle)? < target.0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The positions of all edges from `source` to `target`. Cost: a search in the run of the source.
    pub fn between(&self, source: NodeId, target: NodeId) -> Result<Range<u64>> {
        let run = self.out_run(source)?;
        let start = self.lower_bound(run.clone(), target)?;
        let end = self.lower_bound(start..run.end, NodeId(target.0 + 1))?;
        Ok(start..end)
    }

    /// The place, in the in-direction, of the edge at a position. Cost: a search in the runs of both its ends.
    pub fn in_place(&self, position: u64) -> Result<u64> {
        let (source, target) = (self.source_at(position)?, self.target_at(position)?);
        let rank = position - self.first_position(source, target)?;
        let run = self.in_run(target)?;
        let (mut low, mut high) = (run.start, run.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.sources.at(&self.file, middle)? < source.0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let place = low + rank;
        if place >= run.end || self.sources.at(&self.file, place)? != source.0 {
            return Err(self.directions_differ(source, target));
        }
        Ok(place)
    }

    /// The source of the edge at a position. Cost: a search in the pointer index.
    pub fn source_at(&self, position: u64) -> Result<NodeId> {
        self.out_index.node_at(&self.file, position).map(NodeId)
    }

    /// The target of the edge at a position.
    #[inline]
    pub fn target_at(&self, position: u64) -> Result<NodeId> {
        self.targets.at(&self.file, position).map(NodeId)
    }

    /// The property columns, by key.
    pub fn columns(&self) -> &[(PropertyKeyId, ColumnReader)] {
        &self.columns
    }

    fn column(&self, key: PropertyKeyId) -> Option<&ColumnReader> {
        self.columns.iter().find(|(at, _)| *at == key).map(|(_, column)| column)
    }

    /// The property keys that some edge here has.
    pub fn keys(&self) -> impl Iterator<Item = PropertyKeyId> + '_ {
        self.columns.iter().map(|(key, _)| *key)
    }

    /// One property of the edges at these positions, in any order.
    pub fn property(&self, key: PropertyKeyId, positions: &[u64]) -> Result<Column> {
        self.column(key).map_or_else(|| Ok(Column::nulls(positions.len())), |column| column.read(positions))
    }

    /// One property of a run of positions.
    pub fn property_range(&self, key: PropertyKeyId, run: Range<u64>) -> Result<Column> {
        let rows = (run.end - run.start) as usize;
        self.column(key).map_or_else(|| Ok(Column::nulls(rows)), |column| column.range(run))
    }

    /// One property of one edge.
    pub fn property_at(&self, key: PropertyKeyId, position: u64) -> Result<Value> {
        self.column(key).map_or(Ok(Value::Null), |column| column.value(position))
    }

    /// Begins to read what the out-edges of these nodes need, once their pointers are there: waits for pointers alone,
    /// of which many are read at once. Useless where the file is not cold.
    pub fn ask_out<'n>(&self, nodes: impl Iterator<Item = &'n NodeId> + Clone) -> Result<()> {
        ask(&self.file, &self.out_index, &self.targets, nodes)
    }

    /// Likewise for in-edges.
    pub fn ask_in<'n>(&self, nodes: impl Iterator<Item = &'n NodeId> + Clone) -> Result<()> {
        ask(&self.file, &self.in_index, &self.sources, nodes)
    }

    /// Advice that the out-edges of a node will be read soon.
    pub fn will_need_out(&self, node: NodeId) {
        self.out_index.will_need(&self.file, node.0);
    }

    /// Advice that the in-edges of a node will be read soon.
    pub fn will_need_in(&self, node: NodeId) {
        self.in_index.will_need(&self.file, node.0);
    }
}

fn ask<'n>(
    file: &StoreFile,
    index: &PointerIndex,
    array: &NodeArray,
    nodes: impl Iterator<Item = &'n NodeId> + Clone,
) -> Result<()> {
    nodes.clone().for_each(|node| index.will_need(file, node.0));
    for node in nodes {
        let run = index.run(file, node.0)?;
        if !run.is_empty() {
            let (start, entries) = (run.start as usize, (run.end - run.start).min(ASK_ENTRIES) as usize);
            let width = array.width as usize;
            file.will_need(array.start + start * width / 8, entries * width / 8 + 8);
        }
    }
    Ok(())
}
