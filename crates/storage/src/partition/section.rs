//! A section: the edges of one type in a partition, in both directions, with their property columns.

use std::ops::Range;
use std::sync::Arc;

use model::id::{EdgeTypeId, NodeId, PropertyKeyId};
use model::{Column, Result, Value};

use super::loops::Loops;
use super::numbers::{NumberForm, Numbers};
use super::pointer::PointerIndex;
use crate::codec::bits::{Packed, bytes_of, is_width, packed_bytes};
use crate::codec::bytes::{Get, Put};
use crate::column::ColumnReader;
use crate::file::{FileScan, StoreFile};

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
    /// Start of the entries.
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

    /// Adds the entries of a run to `out`.
    #[inline]
    pub fn append(&self, file: &StoreFile, run: Range<u64>, out: &mut Vec<NodeId>) -> Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        let entries = file.packed(self.start, self.width, &(run.start as usize..run.end as usize))?;
        if run.end - run.start <= SHORT_RUN {
            out.extend(run.map(|at| NodeId(self.base.wrapping_add(entries.get(at as usize)))));
            return Ok(());
        }
        let mut buffer = [0u64; UNPACK_ENTRIES];
        out.reserve((run.end - run.start) as usize);
        for at in run.clone().step_by(UNPACK_ENTRIES) {
            let part = &mut buffer[..(run.end - at).min(UNPACK_ENTRIES as u64) as usize];
            entries.unpack(at as usize, part);
            out.extend(part.iter().map(|&entry| NodeId(self.base.wrapping_add(entry))));
        }
        Ok(())
    }

    /// Byte range in the file of the entries of a run.
    pub fn bytes_of(&self, run: &Range<u64>) -> Range<usize> {
        let bytes = bytes_of(self.width, &(run.start as usize..run.end as usize));
        self.start + bytes.start..self.start + bytes.end
    }

    /// Fails unless all entries are node ids of 32 bits, as those of every store are.
    pub fn check_narrow(&self, file: &StoreFile) -> Result<()> {
        if self.width <= 32 && u32::try_from(self.base).is_ok() {
            return Ok(());
        }
        Err(file.damage(self.start, format!("entries of {} bits from {} on are no node ids", self.width, self.base)))
    }

    /// Fills `out` with the entries from `start` on, whose bytes are those of [`NodeArray::bytes_of`] in the pass; see
    /// [`NodeArray::check_narrow`].
    #[inline]
    pub fn unpack(&self, scan: &mut FileScan<'_>, start: u64, out: &mut [u32]) -> Result<()> {
        let bytes = self.bytes_of(&(start..start + out.len() as u64));
        let entries = Packed::part(scan.need(&bytes)?, bytes.start - self.start, self.width);
        entries.unpack_u32(self.base as u32, start as usize, out);
        Ok(())
    }

    /// One entry.
    #[inline]
    pub fn at(&self, file: &StoreFile, index: u64) -> Result<u64> {
        let index = index as usize;
        Ok(self.base.wrapping_add(file.packed(self.start, self.width, &(index..index + 1))?.get(index)))
    }
}

/// The edges of one type in a partition: sorted by source, then sort key, then target; a position counts from 0 in that
/// order. Without a sort key they are sorted by source, then target.
#[derive(Debug)]
pub struct Section {
    file: Arc<StoreFile>,
    edge_type: EdgeTypeId,
    edge_count: u64,
    targets: NodeArray,
    out_index: PointerIndex,
    sources: NodeArray,
    /// By place of the in-direction, how many edges of the same source come before it in the out-direction.
    ranks: NodeArray,
    in_index: PointerIndex,
    sort_keys: Vec<PropertyKeyId>,
    columns: Vec<(PropertyKeyId, ColumnReader)>,
    pub(super) numbers: Numbers,
    loops: Loops,
}

/// The parts of a section that its writer knows.
#[derive(Clone, Debug)]
pub struct SectionParts {
    /// The type of its edges.
    pub edge_type: EdgeTypeId,
    /// By which properties the edges of a node are sorted; none where they are sorted by their other end.
    pub sort_keys: Vec<PropertyKeyId>,
    /// Number of edges.
    pub edge_count: u64,
    /// Their targets.
    pub targets: NodeArray,
    /// From a source to its targets.
    pub out_index: PointerIndex,
    /// The sources, by target.
    pub sources: NodeArray,
    /// The places of the edges among those of their sources, by target.
    pub ranks: NodeArray,
    /// From a target to its sources.
    pub in_index: PointerIndex,
}

impl SectionParts {
    /// Adds the section to its file's directory.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.put_u32(self.edge_type.0);
        out.put_u32(self.sort_keys.len() as u32);
        self.sort_keys.iter().for_each(|key| out.put_u32(key.0));
        out.put_u64(self.edge_count);
        self.targets.put(out);
        self.sources.put(out);
        self.ranks.put(out);
        self.out_index.put(out);
        self.in_index.put(out);
    }
}

impl Section {
    /// Reads a section from the directory of its file.
    pub fn open(file: &Arc<StoreFile>, directory: &mut Get<'_>) -> Result<Section> {
        let edge_type = EdgeTypeId(directory.u32()?);
        let sort_keys = (0..directory.count(4)?).map(|_| Ok(PropertyKeyId(directory.u32()?))).collect::<Result<_>>()?;
        let edge_count = directory.u64()?;
        // Every edge takes some bits, here or in a pointer index.
        if edge_count >= 1 << 40 || edge_count / 64 > file.entry().length {
            return Err(directory.damage(format!("a section of {edge_count} edges is too large")));
        }
        let targets = NodeArray::take(file, directory, edge_count)?;
        let sources = NodeArray::take(file, directory, edge_count)?;
        let ranks = NodeArray::take(file, directory, edge_count)?;
        let out_index = PointerIndex::take(file, directory)?;
        let in_index = PointerIndex::take(file, directory)?;
        if out_index.edges() != edge_count || in_index.edges() != edge_count {
            return Err(directory.damage("the two directions of a section differ in their number of edges"));
        }
        let file = file.clone();
        let (columns, loops) = (Vec::new(), Loops::default());
        Ok(Section {
            file,
            edge_type,
            edge_count,
            targets,
            out_index,
            sources,
            ranks,
            in_index,
            sort_keys,
            columns,
            numbers: Numbers { form: NumberForm::Consecutive(0), column: None },
            loops,
        })
    }

    /// Says how the edges are numbered, when the partition is opened.
    pub(super) fn set_number_form(&mut self, form: NumberForm) {
        self.numbers.form = form;
    }

    /// Adds the column of the edges' numbers when the partition is opened.
    pub(super) fn set_number_column(&mut self, column: ColumnReader) {
        self.numbers.column = Some(column);
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

    /// Number of edges.
    #[inline]
    pub fn edge_count(&self) -> u64 {
        self.edge_count
    }

    /// By which properties the edges of a node are sorted; none where they are sorted by their other end.
    #[inline]
    pub fn sort_keys(&self) -> &[PropertyKeyId] {
        &self.sort_keys
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

    /// The index and the other ends of one direction.
    pub(super) fn direction(&self, is_in: bool) -> (&PointerIndex, &NodeArray) {
        if is_in { (&self.in_index, &self.sources) } else { (&self.out_index, &self.targets) }
    }

    /// Bytes that a pass over all runs of one direction reads.
    pub fn pass_bytes(&self, is_in: bool) -> usize {
        let array = self.direction(is_in).1.bytes_of(&(0..self.edge_count));
        array.end - array.start
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

    /// Adds the targets of a run of positions to `out`; within one source they ascend, but for a type with a sort key.
    #[inline]
    pub fn targets(&self, run: Range<u64>, out: &mut Vec<NodeId>) -> Result<()> {
        self.targets.append(&self.file, run, out)
    }

    /// Adds the sources of a run of places of the in-direction to `out`; within one target they ascend, but
    /// for a type with a sort key.
    #[inline]
    pub fn sources(&self, in_run: Range<u64>, out: &mut Vec<NodeId>) -> Result<()> {
        self.sources.append(&self.file, in_run, out)
    }

    /// Adds the positions of the edges at `part` of the in-run of a node to `out`, in the same order.
    ///
    /// Cost: a search in the pointer index for each.
    pub fn in_positions(&self, part: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        let mut sources = Vec::with_capacity((part.end - part.start) as usize);
        let mut ranks = Vec::with_capacity(sources.capacity());
        self.sources(part.clone(), &mut sources)?;
        self.ranks.append(&self.file, part, &mut ranks)?;
        out.reserve(sources.len());
        for (&source, &NodeId(rank)) in sources.iter().zip(&ranks) {
            out.push(self.position_of(source, rank)?);
        }
        Ok(())
    }

    /// The position of the edge at a place of the in-direction.
    pub(super) fn in_position(&self, place: u64) -> Result<u64> {
        let source = NodeId(self.sources.at(&self.file, place)?);
        self.position_of(source, self.ranks.at(&self.file, place)?)
    }

    #[inline]
    fn position_of(&self, source: NodeId, rank: u64) -> Result<u64> {
        let run = self.out_run(source)?;
        if rank >= run.end - run.start {
            let problem = format!("node {} has no edge {rank} that its target knows of", source.0);
            return Err(self.file.damage(self.ranks.start, problem));
        }
        Ok(run.start + rank)
    }

    /// The source of the edge at a place of the in-direction.
    pub(super) fn in_source(&self, place: u64) -> Result<u64> {
        self.sources.at(&self.file, place)
    }

    /// The place, in the in-direction, of the edge at a position. Cost: a search in the run of its target.
    pub fn in_place(&self, position: u64) -> Result<u64> {
        let (source, target) = (self.source_at(position)?, self.target_at(position)?);
        let start = self.out_run(source)?.start;
        let rank = position.checked_sub(start).ok_or_else(|| self.directions_differ(source, target))?;
        let run = self.in_run(target)?;
        let candidates = if self.sort_keys.is_empty() {
            let first = self.partition_point(run.clone(), |place| Ok(self.in_source(place)? < source.0))?;
            first..run.end
        } else {
            self.equal_in_key(run.clone(), position)?
        };
        for place in candidates {
            let found = self.in_source(place)?;
            if found == source.0 && self.ranks.at(&self.file, place)? == rank {
                return Ok(place);
            }
            if self.sort_keys.is_empty() && found != source.0 {
                break;
            }
        }
        Err(self.directions_differ(source, target))
    }

    /// The first of a run for which `is_before` does not hold; those for which it does come first.
    pub(super) fn partition_point(
        &self,
        run: Range<u64>,
        mut is_before: impl FnMut(u64) -> Result<bool>,
    ) -> Result<u64> {
        let (mut low, mut high) = (run.start, run.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn directions_differ(&self, source: NodeId, target: NodeId) -> model::Error {
        let problem = format!("the edge from {} to {} is only in one direction", source.0, target.0);
        self.file.damage(self.sources.start, problem)
    }

    /// Adds the positions of all edges from `source` to `target` to `out`, in order. Cost: a search in the run of the
    /// source; for a type with a sort key a pass over the shorter of two runs.
    pub fn between(&self, source: NodeId, target: NodeId, out: &mut Vec<u64>) -> Result<()> {
        let run = self.out_run(source)?;
        if run.is_empty() {
            return Ok(());
        }
        if self.sort_keys.is_empty() {
            let is_before =
                |bound: u64| move |section: &Section, at| Ok(section.targets.at(&section.file, at)? < bound);
            let start = self.partition_point(run.clone(), |at| is_before(target.0)(self, at))?;
            let end = self.partition_point(start..run.end, |at| is_before(target.0 + 1)(self, at))?;
            out.extend(start..end);
            return Ok(());
        }
        let against = self.in_run(target)?;
        let mut nodes = Vec::new();
        if run.end - run.start <= against.end - against.start {
            self.targets(run.clone(), &mut nodes)?;
            out.extend(run.zip(&nodes).filter(|(_, node)| **node == target).map(|(position, _)| position));
            return Ok(());
        }
        self.sources(against.clone(), &mut nodes)?;
        let before = out.len();
        for (place, _) in against.zip(&nodes).filter(|(_, node)| **node == source) {
            out.push(self.in_position(place)?);
        }
        out[before..].sort_unstable();
        Ok(())
    }

    /// True if an edge of the section leads from the node to itself, deleted by now or not. Cost: a search in the run
    /// of the node the first time, a look at a bit from then on.
    #[inline]
    pub fn has_loop(&self, node: NodeId) -> Result<bool> {
        let Some((first, last)) = self.out_index.span() else { return Ok(false) };
        if node.0 < first || node.0 > last {
            return Ok(false);
        }
        let find = || {
            let mut positions = Vec::new();
            self.between(node, node, &mut positions)?;
            Ok(!positions.is_empty())
        };
        self.loops.get_or_find((first, last), node, |bytes| self.file.try_hold(bytes), find)
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

    pub(super) fn column(&self, key: PropertyKeyId) -> Option<&ColumnReader> {
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
