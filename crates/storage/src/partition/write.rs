//! Making the files of a partition from sorted edges.
//!
//! Cost: the edges pass once, into the out-direction and the columns; the in-direction is made from what was written, see
//! [`inward`].

mod counts;
mod inward;
mod numbers;

use std::ops::Range;

use model::id::{EdgeTypeId, PropertyKeyId};
use model::limits::CANCEL_CHECK_EDGES;
use model::{Result, error};

use super::numbers::NumberForm;
use super::pointer::PointerIndex;
use super::section::{NodeArray, SectionParts};
use crate::build::BuildContext;
use crate::build::chunk::{ChunkSource, EdgeChunk};
use crate::codec::bits::{Packer, width_of};
use crate::codec::bytes::Put;
use crate::column::ColumnWriter;
use crate::column::write::put_blocks;
use crate::error::StorageError;
use crate::file::FileWriter;
use crate::format::{EDGE_NUMBER_KEY, FileKind, POSITION_BITS};
use crate::manifest::{PartitionEntry, UNASSIGNED_SLOT};
use counts::NodeCounts;
use inward::{Inward, InwardInput, WrittenColumn};
use numbers::NumberWriter;

/// Share of the targets up to which the edges of a section are held as pairs, as a divisor: then counting by target
/// would take as much memory.
const DENSE_SHARE: usize = 4;

/// Writes one partition, section by section in order of the edge types.
pub struct PartitionWriter<'a> {
    context: &'a BuildContext,
    interval: Range<u64>,
    node_id_bound: u64,
    topology: FileWriter,
    properties: Option<FileWriter>,
    sections: Vec<SectionParts>,
    numbers: Vec<NumberForm>,
    columns: Vec<u8>,
    sections_with_columns: u32,
    edges: u64,
}

/// A partition just written.
#[derive(Clone, Debug)]
pub struct WrittenPartition {
    /// Its entry for the manifest.
    pub entry: PartitionEntry,
    /// Edges by type.
    pub edges_by_type: Vec<(EdgeTypeId, u64)>,
}

/// The columns of a section while they are written.
#[derive(Default)]
struct Columns {
    properties: Vec<(PropertyKeyId, ColumnWriter)>,
    numbers: NumberWriter,
}

/// The in-direction of a section while the out-direction is written.
enum InDirection {
    /// Target and source of each edge, while that takes less memory than counting: sections of few edges are many.
    Pairs(Vec<u64>),
    /// Edges by target, from the start of the interval.
    Degrees(Vec<u32>),
}

/// The out-direction of a section while it is written.
struct OutDirection {
    target_base: u64,
    /// Number of targets of the interval.
    targets: u64,
    packer: Packer,
    sources: NodeCounts,
    into: InDirection,
    edges: u64,
    last_key: u64,
    /// The edges of a source are in the order of a sort key, not of their targets.
    is_ordered: bool,
}

impl<'a> PartitionWriter<'a> {
    /// Begins a partition; every target lies in the interval and below the bound.
    pub fn new(context: &'a BuildContext, interval: Range<u64>, node_id_bound: u64) -> Result<PartitionWriter<'a>> {
        Ok(PartitionWriter {
            context,
            interval,
            node_id_bound,
            topology: context.create(FileKind::Edges)?,
            properties: None,
            sections: Vec::new(),
            numbers: Vec::new(),
            columns: Vec::new(),
            sections_with_columns: 0,
            edges: 0,
        })
    }

    /// Writes the edges of one type, sorted by source, then by the properties of `order`, then by target; gives how many
    /// there were. They have a column of numbers, all of them, or get numbers here in the order in which they come.
    pub fn section(
        &mut self,
        edge_type: EdgeTypeId,
        mut edges: Box<dyn ChunkSource + '_>,
        order: &[PropertyKeyId],
    ) -> Result<u64> {
        let Some(first) = edges.next()? else { return Ok(0) };
        let target_base = self.interval.start;
        let target_bound = self.interval.end.min(self.node_id_bound).max(target_base + 1);
        let width = width_of(target_bound - 1 - target_base);
        self.topology.align()?;
        let targets = NodeArray { base: target_base, width, start: self.topology.position() as usize };
        let mut out = OutDirection {
            target_base,
            targets: target_bound - target_base,
            packer: Packer::new(width),
            sources: NodeCounts::default(),
            into: InDirection::Pairs(Vec::new()),
            edges: 0,
            last_key: 0,
            is_ordered: !order.is_empty(),
        };
        let mut held = self.context.budget().empty(self.context.config.consumer);
        let mut columns = Columns::default();
        let mut chunk = Some(first);
        let mut next_check = 0;
        while let Some(edges_now) = chunk {
            if out.edges >= next_check {
                next_check = out.edges + CANCEL_CHECK_EDGES as u64;
                self.context.interrupt.check()?;
            }
            self.push_columns(&mut columns, &edges_now, out.edges)?;
            out.push(&edges_now.keys, &mut self.topology)?;
            out.count_densely();
            held.need(out.memory_bytes());
            chunk = edges.next()?;
        }
        // The edges are not needed any more, and may be large.
        drop(edges);
        if self.edges + out.edges >= 1 << POSITION_BITS {
            return Err(StorageError::limit(format!("a partition of {} edges is too large", self.edges + out.edges)));
        }
        let (keys, numbers) = self.finish_columns(columns, out.edges, order)?;
        let inner = InwardInput { context: self.context, out, targets, keys };
        let parts = self.finish_topology(edge_type, inner, order)?;
        self.edges += parts.edge_count;
        let count = parts.edge_count;
        self.sections.push(parts);
        self.numbers.push(numbers);
        Ok(count)
    }

    fn push_columns(&mut self, columns: &mut Columns, chunk: &EdgeChunk, rows_before: u64) -> Result<()> {
        for (key, column) in &chunk.columns {
            if *key == EDGE_NUMBER_KEY && !columns.numbers.needs_column(column)? {
                columns.numbers.push_same(column)?;
                continue;
            }
            let sink = match &mut self.properties {
                Some(file) => file,
                none => none.insert(self.context.create(FileKind::EdgeProperties)?),
            };
            if *key == EDGE_NUMBER_KEY {
                columns.numbers.push(column, sink)?;
                continue;
            }
            let writers = &mut columns.properties;
            let at = writers.iter().position(|(mine, _)| mine == key).unwrap_or_else(|| {
                writers.push((*key, ColumnWriter::default()));
                writers.len() - 1
            });
            let writer = &mut writers[at].1;
            writer.pad(rows_before, sink)?;
            writer.push(column, 0, column.len(), sink)?;
        }
        Ok(())
    }

    /// Ends the columns; gives those of the sort key, and the form of the edges' numbers.
    fn finish_columns(
        &mut self,
        columns: Columns,
        edges: u64,
        order: &[PropertyKeyId],
    ) -> Result<(Vec<WrittenColumn>, NumberForm)> {
        let Columns { properties: mut writers, numbers } = columns;
        let disk = &self.context.platform.disk;
        let (form, number_blocks) = match numbers.rows() {
            0 => (NumberForm::Consecutive(self.context.edge_numbers(edges)? as i64), Vec::new()),
            rows if rows == edges => numbers.finish(self.properties.as_mut())?,
            rows => return Err(error!(Internal, "{rows} of {edges} edges to be written have numbers")),
        };
        let Some(sink) = &mut self.properties else {
            // Without a property every edge is equal to every other.
            return Ok((Vec::new(), form));
        };
        writers.sort_by_key(|(key, _)| *key);
        let mut written = Vec::new();
        for (key, mut writer) in writers {
            writer.pad(edges, sink)?;
            if let Some(blocks) = writer.finish(sink)? {
                written.push((key, blocks));
            }
        }
        if form == NumberForm::Column {
            written.push((EDGE_NUMBER_KEY, number_blocks));
        }
        if !order.is_empty() {
            sink.flush()?;
        }
        let column = |key: &PropertyKeyId| WrittenColumn {
            disk: disk.clone(),
            path: sink.path().to_owned(),
            headers: written.iter().find(|(mine, _)| mine == key).map_or_else(Vec::new, |(_, blocks)| blocks.clone()),
        };
        let keys = order.iter().map(column).collect();
        if !written.is_empty() {
            self.sections_with_columns += 1;
            self.columns.put_u32(self.sections.len() as u32);
            self.columns.put_u32(written.len() as u32);
            for (key, blocks) in written {
                self.columns.put_u32(key.0);
                put_blocks(&blocks, &mut self.columns);
            }
        }
        Ok((keys, form))
    }

    fn finish_topology(
        &mut self,
        edge_type: EdgeTypeId,
        mut inner: InwardInput<'_>,
        order: &[PropertyKeyId],
    ) -> Result<SectionParts> {
        let (file, out) = (&mut self.topology, &mut inner.out);
        file.write(&std::mem::replace(&mut out.packer, Packer::new(0)).finish(out.edges as usize))?;
        let out_index = PointerIndex::write(out.sources.iter(), file)?;
        let into = std::mem::replace(&mut out.into, InDirection::Pairs(Vec::new()));
        let Inward { index: in_index, sources, ranks } = inner.write(file, into)?;
        let sort_keys = order.to_vec();
        let (edge_count, targets) = (inner.out.edges, inner.targets);
        Ok(SectionParts { edge_type, sort_keys, edge_count, targets, out_index, sources, ranks, in_index })
    }

    /// Writes directories and trailers; `None` if there were no edges.
    pub fn finish(self) -> Result<Option<WrittenPartition>> {
        if self.sections.is_empty() {
            let path = self.topology.path().to_owned();
            drop(self.topology);
            self.context.discard(&path);
            return Ok(None);
        }
        let mut directory = Vec::new();
        directory.put_u32(self.sections.len() as u32);
        self.sections.iter().for_each(|section| section.put(&mut directory));
        self.numbers.iter().for_each(|form| form.put(&mut directory));
        let topology = self.topology.finish(&directory)?;
        let properties = match self.properties {
            Some(file) if self.sections_with_columns > 0 => {
                let mut directory = Vec::new();
                directory.put_u32(self.sections_with_columns);
                directory.extend_from_slice(&self.columns);
                Some(file.finish(&directory)?)
            }
            Some(file) => {
                let path = file.path().to_owned();
                drop(file);
                self.context.discard(&path);
                None
            }
            None => None,
        };
        let edges_by_type = self.sections.iter().map(|section| (section.edge_type, section.edge_count)).collect();
        let entry = PartitionEntry {
            slot: UNASSIGNED_SLOT,
            level: 0,
            interval: self.interval,
            edges: self.edges,
            topology,
            properties,
            patches: Vec::new(),
            numbers_from: 0,
        };
        Ok(Some(WrittenPartition { entry, edges_by_type }))
    }
}

/// Edges come from the files of a merge, from a log or from a load, which sorts them.
#[cold]
fn disorder() -> model::Error {
    error!(Corrupt, "edges to be written are not in order, or end outside of their interval")
        .with_remedy("run knot check, which tells the file that contradicts itself")
}

impl OutDirection {
    fn push(&mut self, keys: &[u64], file: &mut FileWriter) -> Result<()> {
        for &key in keys {
            let is_next = if self.is_ordered { key >> 32 >= self.last_key >> 32 } else { key >= self.last_key };
            let target = (key & 0xffff_ffff).wrapping_sub(self.target_base);
            if !is_next || target >= self.targets {
                return Err(disorder());
            }
            self.last_key = key;
            let source = (key >> 32) as u32;
            self.packer.push(target);
            match &mut self.into {
                InDirection::Pairs(pairs) => pairs.push(key.rotate_left(32)),
                InDirection::Degrees(degrees) => degrees[target as usize] += 1,
            }
            self.sources.add(source);
        }
        self.edges += keys.len() as u64;
        let ready = self.packer.ready();
        file.write(ready)?;
        ready.clear();
        Ok(())
    }

    /// Counts edges by target from now on if the pairs have become larger than the counts of the targets.
    fn count_densely(&mut self) {
        let InDirection::Pairs(pairs) = &self.into else { return };
        let targets = self.targets as usize;
        if pairs.len() > targets / DENSE_SHARE {
            let mut degrees = vec![0; targets];
            pairs.iter().for_each(|pair| degrees[((pair >> 32) - self.target_base) as usize] += 1);
            self.into = InDirection::Degrees(degrees);
        }
    }

    /// Bytes held that grow with the nodes.
    fn memory_bytes(&self) -> usize {
        let into = match &self.into {
            // Sorting them takes as much again, and a half.
            InDirection::Pairs(pairs) => pairs.len() * 20,
            InDirection::Degrees(degrees) => degrees.len() * 4,
        };
        self.sources.memory_bytes() + into
    }

    fn targets_with_edges(&self, degrees: &[u32]) -> impl Iterator<Item = (u32, u32)> + Clone {
        let listed = degrees.iter().enumerate().filter(|(_, degree)| **degree > 0);
        listed.map(|(offset, &degree)| ((self.target_base + offset as u64) as u32, degree))
    }
}
