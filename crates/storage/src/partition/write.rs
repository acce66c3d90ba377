//! Making the files of a partition from sorted edges.
//!
//! Cost: the edges pass once, into the out-direction and the columns; the in-direction is made by counting sort over
//! the targets just written, in as many passes as its scatter buffer needs to stay within the budget.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use model::Result;
use model::id::{EdgeTypeId, PropertyKeyId};
use model::limits::CANCEL_CHECK_EDGES;
use model::platform::Disk;

use super::pointer::PointerIndex;
use super::section::{NodeArray, SectionParts};
use crate::bulk::chunk::{ChunkSource, EdgeChunk};
use crate::bulk::context::BuildContext;
use crate::codec::bits::{Packer, unpack, width_of};
use crate::codec::bytes::Put;
use crate::column::ColumnWriter;
use crate::column::write::put_blocks;
use crate::error::StorageError;
use crate::file::FileWriter;
use crate::format::{FileKind, PADDING_BYTES, POSITION_BITS};
use crate::manifest::{PartitionEntry, UNASSIGNED_SLOT};

/// Below this many edges the in-direction is made by one thread.
const PARALLEL_EDGES: u64 = 1 << 18;
/// Targets read back at a time; a multiple of what is unpacked at a time.
const READ_ENTRIES: usize = 1 << 17;

/// Writes one partition, section by section in order of the edge types.
pub struct PartitionWriter<'a> {
    context: &'a BuildContext,
    interval: Range<u64>,
    node_id_bound: u64,
    topology: FileWriter,
    properties: Option<FileWriter>,
    sections: Vec<SectionParts>,
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
    packer: Packer,
    sources: Vec<u32>,
    degrees: Vec<u32>,
    into: InDirection,
    edges: u64,
    last_key: u64,
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
            columns: Vec::new(),
            sections_with_columns: 0,
            edges: 0,
        })
    }

    /// Writes the edges of one type; gives how many there were.
    pub fn section(&mut self, edge_type: EdgeTypeId, mut edges: Box<dyn ChunkSource + '_>) -> Result<u64> {
        let Some(first) = edges.next()? else { return Ok(0) };
        let target_base = self.interval.start;
        let target_bound = self.interval.end.min(self.node_id_bound).max(target_base + 1);
        let width = width_of(target_bound - 1 - target_base);
        self.topology.align()?;
        let targets = NodeArray { base: target_base, width, start: self.topology.position() as usize };
        let mut out = OutDirection {
            target_base,
            packer: Packer::new(width),
            sources: Vec::new(),
            degrees: Vec::new(),
            into: InDirection::Pairs(Vec::new()),
            edges: 0,
            last_key: 0,
        };
        let mut columns: Vec<(PropertyKeyId, ColumnWriter)> = Vec::new();
        let mut chunk = Some(first);
        let mut next_check = 0;
        while let Some(edges_now) = chunk {
            if out.edges >= next_check {
                next_check = out.edges + CANCEL_CHECK_EDGES as u64;
                self.context.interrupt.check()?;
            }
            self.push_columns(&mut columns, &edges_now, out.edges)?;
            out.push(&edges_now.keys, &mut self.topology)?;
            out.count_densely((target_bound - target_base) as usize);
            chunk = edges.next()?;
        }
        // What the edges came from is not needed any more, and may be large.
        drop(edges);
        if self.edges + out.edges >= 1 << POSITION_BITS {
            return Err(StorageError::limit(format!("a partition of {} edges is too large", self.edges + out.edges)));
        }
        self.finish_columns(columns, out.edges)?;
        let parts = self.finish_topology(edge_type, targets, out)?;
        self.edges += parts.edge_count;
        let count = parts.edge_count;
        self.sections.push(parts);
        Ok(count)
    }

    fn push_columns(
        &mut self,
        writers: &mut Vec<(PropertyKeyId, ColumnWriter)>,
        chunk: &EdgeChunk,
        rows_before: u64,
    ) -> Result<()> {
        for (key, column) in &chunk.columns {
            let sink = match &mut self.properties {
                Some(file) => file,
                none => none.insert(self.context.create(FileKind::EdgeProperties)?),
            };
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

    fn finish_columns(&mut self, mut writers: Vec<(PropertyKeyId, ColumnWriter)>, edges: u64) -> Result<()> {
        let Some(sink) = &mut self.properties else { return Ok(()) };
        writers.sort_by_key(|(key, _)| *key);
        let mut written = Vec::new();
        for (key, mut writer) in writers {
            writer.pad(edges, sink)?;
            if let Some(blocks) = writer.finish(sink)? {
                written.push((key, blocks));
            }
        }
        if !written.is_empty() {
            self.sections_with_columns += 1;
            self.columns.put_u32(self.sections.len() as u32);
            self.columns.put_u32(written.len() as u32);
            for (key, blocks) in written {
                self.columns.put_u32(key.0);
                put_blocks(&blocks, &mut self.columns);
            }
        }
        Ok(())
    }

    fn finish_topology(
        &mut self,
        edge_type: EdgeTypeId,
        targets: NodeArray,
        mut out: OutDirection,
    ) -> Result<SectionParts> {
        let file = &mut self.topology;
        file.write(&std::mem::replace(&mut out.packer, Packer::new(0)).finish(out.edges as usize))?;
        let out_index = PointerIndex::write(out.sources.iter().copied().zip(out.degrees.iter().copied()), file)?;
        let base = u64::from(out.sources[0]);
        let last = u64::from(out.sources[out.sources.len() - 1]);
        let width = width_of(last - base);
        let (in_index, sources) = match std::mem::replace(&mut out.into, InDirection::Pairs(Vec::new())) {
            InDirection::Pairs(pairs) => write_pairs(file, pairs, base, width)?,
            InDirection::Degrees(degrees) => {
                let in_index = PointerIndex::write(out.targets_with_edges(&degrees), file)?;
                file.align()?;
                let sources = NodeArray { base, width, start: file.position() as usize };
                write_in_direction(self.context, file, targets, sources, &out, &degrees)?;
                (in_index, sources)
            }
        };
        Ok(SectionParts { edge_type, edge_count: out.edges, targets, out_index, sources, in_index })
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
        };
        Ok(Some(WrittenPartition { entry, edges_by_type }))
    }
}

impl OutDirection {
    fn push(&mut self, keys: &[u64], file: &mut FileWriter) -> Result<()> {
        for &key in keys {
            assert!(key >= self.last_key, "edges come sorted by source, then target");
            self.last_key = key;
            let (source, target) = ((key >> 32) as u32, (key & 0xffff_ffff) - self.target_base);
            self.packer.push(target);
            match &mut self.into {
                InDirection::Pairs(pairs) => pairs.push(key << 32 | key >> 32),
                InDirection::Degrees(degrees) => degrees[target as usize] += 1,
            }
            match self.sources.last() {
                Some(&last) if last == source => *self.degrees.last_mut().expect("one for each source") += 1,
                _ => {
                    self.sources.push(source);
                    self.degrees.push(1);
                }
            }
        }
        self.edges += keys.len() as u64;
        let ready = self.packer.ready();
        file.write(ready)?;
        ready.clear();
        Ok(())
    }

    /// Counts edges by target from now on if the pairs have become larger than the counts of `targets` targets.
    fn count_densely(&mut self, targets: usize) {
        let InDirection::Pairs(pairs) = &self.into else { return };
        if pairs.len() > targets / 2 {
            let mut degrees = vec![0; targets];
            pairs.iter().for_each(|pair| degrees[((pair >> 32) - self.target_base) as usize] += 1);
            self.into = InDirection::Degrees(degrees);
        }
    }

    fn targets_with_edges(&self, degrees: &[u32]) -> impl Iterator<Item = (u32, u32)> + Clone {
        let listed = degrees.iter().enumerate().filter(|(_, degree)| **degree > 0);
        listed.map(|(offset, &degree)| ((self.target_base + offset as u64) as u32, degree))
    }
}

/// Writes the in-direction of few edges: targets with their sources, sorted in memory.
fn write_pairs(file: &mut FileWriter, mut pairs: Vec<u64>, base: u64, width: u8) -> Result<(PointerIndex, NodeArray)> {
    pairs.sort_unstable();
    let runs = pairs.chunk_by(|a, b| a >> 32 == b >> 32);
    let targets: Vec<(u32, u32)> = runs.map(|run| ((run[0] >> 32) as u32, run.len() as u32)).collect();
    let in_index = PointerIndex::write(targets.iter().copied(), file)?;
    file.align()?;
    let sources = NodeArray { base, width, start: file.position() as usize };
    let mut packer = Packer::new(width);
    pairs.iter().for_each(|pair| packer.push((pair & 0xffff_ffff) - base));
    file.write(&packer.finish(pairs.len()))?;
    Ok((in_index, sources))
}

/// Writes the sources of all edges by target, ascending within each.
fn write_in_direction(
    context: &BuildContext,
    file: &mut FileWriter,
    targets: NodeArray,
    sources: NodeArray,
    out: &OutDirection,
    in_degrees: &[u32],
) -> Result<()> {
    file.flush()?;
    let written = WrittenTargets { disk: context.platform.disk.clone(), path: file.path().to_owned(), targets };
    let threads = if out.edges < PARALLEL_EDGES { 1 } else { context.config.threads.max(1) };
    // An eighth of the budget for the scatter buffers of all threads, four bytes an entry.
    let edges_max = (context.config.memory_bytes / 8 / 4 / threads).max(1 << 16) as u64;
    let groups = target_groups(in_degrees, edges_max.min(out.edges.div_ceil(threads as u64)));
    let mut packer = Packer::new(sources.width);
    for wave in groups.chunks(threads) {
        context.interrupt.check()?;
        let filled: Vec<Result<Vec<u32>>> = std::thread::scope(|scope| {
            let work: Vec<_> = wave
                .iter()
                .map(|group| scope.spawn(|| scatter_sources(&written, out, in_degrees, group.clone())))
                .collect();
            work.into_iter().map(|thread| thread.join().expect("a pass over written targets does not panic")).collect()
        });
        for part in filled {
            for entries in part?.chunks(CANCEL_CHECK_EDGES) {
                entries.iter().for_each(|&source| packer.push(u64::from(source) - sources.base));
                file.write(packer.ready())?;
                packer.ready().clear();
            }
        }
    }
    file.write(&packer.finish(out.edges as usize))
}

/// The targets of a section just written, read back piece by piece: mapping them would hold them in memory.
struct WrittenTargets {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    targets: NodeArray,
}

impl WrittenTargets {
    /// The bytes of up to `READ_ENTRIES` entries from `first`, which must be a multiple of eight.
    fn read(&self, first: usize, count: usize) -> Result<Vec<u8>> {
        let width = self.targets.width as usize;
        let start = self.targets.start + first / 8 * width;
        let read = self.disk.read_range(&self.path, start as u64, (count * width).div_ceil(8) + PADDING_BYTES);
        read.map_err(|error| StorageError::io("read", &self.path, error))
    }
}

/// Cuts the targets into groups of about `edges_max` edges.
fn target_groups(in_degrees: &[u32], edges_max: u64) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut edges) = (0, 0);
    for (target, &degree) in in_degrees.iter().enumerate() {
        if edges > 0 && edges + u64::from(degree) > edges_max {
            groups.push(start..target);
            (start, edges) = (target, 0);
        }
        edges += u64::from(degree);
    }
    groups.push(start..in_degrees.len());
    groups
}

/// One pass over all edges that keeps those whose target is in the group: their sources, by target.
fn scatter_sources(
    written: &WrittenTargets,
    out: &OutDirection,
    in_degrees: &[u32],
    group: Range<usize>,
) -> Result<Vec<u32>> {
    let mut places: Vec<u32> = Vec::with_capacity(group.len());
    let mut count = 0u32;
    for &degree in &in_degrees[group.clone()] {
        places.push(count);
        count = count.checked_add(degree).ok_or_else(|| StorageError::limit("a node has more than 2^32 in-edges"))?;
    }
    let mut sources = vec![0u32; count as usize];
    let mut bytes = Vec::new();
    let (mut buffer, mut filled, mut used) = ([0u64; 512], 0usize, 0usize);
    let (mut position, edges) = (0usize, out.edges as usize);
    for (&source, &degree) in out.sources.iter().zip(&out.degrees) {
        let mut left = degree as usize;
        while left > 0 {
            if used == filled {
                if position % READ_ENTRIES == 0 {
                    bytes = written.read(position, READ_ENTRIES.min(edges - position))?;
                }
                filled = buffer.len().min(edges - position);
                used = 0;
                unpack(&bytes, written.targets.width, position % READ_ENTRIES, &mut buffer[..filled]);
                position += filled;
            }
            let take = left.min(filled - used);
            for &target in &buffer[used..used + take] {
                let offset = (target as usize).wrapping_sub(group.start);
                if let Some(place) = places.get_mut(offset) {
                    sources[*place as usize] = source;
                    *place += 1;
                }
            }
            used += take;
            left -= take;
        }
    }
    Ok(sources)
}
