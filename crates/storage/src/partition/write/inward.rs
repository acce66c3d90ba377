//! The in-direction of a section that is being written: for each target the sources of its edges and their ranks.
//!
//! Cost: a counting sort over the targets just written, in as many passes as its scatter buffer needs to stay within the
//! budget. For a type with a sort key each pass also reads the columns of the key once.

use std::cmp::Ordering;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use model::edge_range::order_rows;
use model::limits::CANCEL_CHECK_EDGES;
use model::platform::Disk;
use model::{Column, Result};

use super::{InDirection, OutDirection};
use crate::build::BuildContext;
use crate::codec::bits::{Packed, Packer, width_of};
use crate::column::BlockHeader;
use crate::column::access::Block;
use crate::column::read::{BlockSource, gather};
use crate::error::StorageError;
use crate::file::{FileWriter, TemporaryFile};
use crate::format::{COLUMN_BLOCK_ROWS, FileKind, PADDING_BYTES};
use crate::partition::pointer::PointerIndex;
use crate::partition::section::NodeArray;

/// Below this many edges the in-direction is made by one thread.
const PARALLEL_EDGES: u64 = 1 << 18;
/// Targets read back at a time; a multiple of what is unpacked at a time.
const READ_ENTRIES: usize = 1 << 17;
/// Bytes of ranks that wait in memory until the sources are written.
const RANK_BYTES: usize = 8 << 20;
/// Share of the budget that they take at most, as a divisor.
const RANK_SHARE: usize = 16;
/// Bytes of scatter buffers for an edge, without and with a sort key.
const SCATTER_BYTES: usize = 8;
const SORTED_SCATTER_BYTES: usize = 48;

/// The in-direction as the section's directory names it.
pub(super) struct Inward {
    pub(super) index: PointerIndex,
    pub(super) sources: NodeArray,
    pub(super) ranks: NodeArray,
}

/// Input from which the in-direction is made.
pub(super) struct InwardInput<'a> {
    pub(super) context: &'a BuildContext,
    /// The out-direction, whose targets are in the file.
    pub(super) out: OutDirection,
    pub(super) targets: NodeArray,
    /// The columns of the sort key, first key first; none without a sort key.
    pub(super) keys: Vec<WrittenColumn>,
}

/// A column of the section whose blocks are in a file that is not finished.
pub(super) struct WrittenColumn {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) path: PathBuf,
    /// No headers where no edge has a value.
    pub(super) headers: Vec<BlockHeader>,
}

/// Sources and ranks of some edges, by target.
#[derive(Default)]
struct Scattered {
    sources: Vec<u32>,
    ranks: Vec<u32>,
}

impl InwardInput<'_> {
    /// Writes the in-direction behind the out-direction.
    pub(super) fn write(&self, file: &mut FileWriter, into: InDirection) -> Result<Inward> {
        let (first, last) = (self.out.sources.first(), self.out.sources.last());
        let rank_max = self.out.sources.count_max().saturating_sub(1);
        let mut writer = EntryWriter::new(self.context, first, last, rank_max);
        let (index, start) = match into {
            InDirection::Pairs(pairs) => self.write_pairs(file, pairs, &mut writer)?,
            InDirection::Degrees(degrees) => {
                let index = PointerIndex::write(self.out.targets_with_edges(&degrees), file)?;
                file.align()?;
                let start = file.position() as usize;
                self.write_groups(file, &degrees, &mut writer)?;
                (index, start)
            }
        };
        let base = u64::from(first);
        let (source_width, rank_width) = (width_of(u64::from(last - first)), width_of(u64::from(rank_max)));
        let ranks_start = writer.finish(file, self.out.edges as usize)?;
        let sources = NodeArray { base, width: source_width, start };
        let ranks = NodeArray { base: 0, width: rank_width, start: ranks_start };
        Ok(Inward { index, sources, ranks })
    }

    /// The in-direction of few edges, sorted in memory: for each edge in order its target and source.
    fn write_pairs(
        &self,
        file: &mut FileWriter,
        pairs: Vec<u64>,
        writer: &mut EntryWriter<'_>,
    ) -> Result<(PointerIndex, usize)> {
        let mut ranks = Vec::with_capacity(pairs.len());
        self.out.sources.iter().for_each(|(_, degree)| ranks.extend(0..degree));
        let mut rows: Vec<(u32, u32)> = (0..).zip(&pairs).map(|(row, pair)| ((pair >> 32) as u32, row)).collect();
        rows.sort_unstable();
        if !self.keys.is_empty() {
            let positions: Vec<u64> = (0..pairs.len() as u64).collect();
            let columns = self.read_keys(&positions)?;
            for run in rows.chunk_by_mut(|a, b| a.0 == b.0) {
                run.sort_by(|a, b| order_by(&columns, a.1, b.1));
            }
        }
        let targets: Vec<(u32, u32)> =
            rows.chunk_by(|a, b| a.0 == b.0).map(|run| (run[0].0, run.len() as u32)).collect();
        let index = PointerIndex::write(targets.iter().copied(), file)?;
        file.align()?;
        let start = file.position() as usize;
        for &(_, row) in &rows {
            writer.push(pairs[row as usize] as u32, ranks[row as usize]);
        }
        writer.drain(file)?;
        Ok((index, start))
    }

    /// The in-direction of many edges: group by group of targets, by several threads.
    fn write_groups(&self, file: &mut FileWriter, degrees: &[u32], writer: &mut EntryWriter<'_>) -> Result<()> {
        file.flush()?;
        let config = &self.context.config;
        let written = WrittenTargets {
            disk: self.context.platform.disk.clone(),
            path: file.path().to_owned(),
            targets: self.targets,
        };
        let threads = if self.out.edges < PARALLEL_EDGES { 1 } else { config.threads.max(1) };
        // An eighth of the budget for the scatter buffers of all threads.
        let edge_bytes = if self.keys.is_empty() { SCATTER_BYTES } else { SORTED_SCATTER_BYTES };
        let edges_max = (config.memory_bytes / 8 / edge_bytes / threads).max(1 << 16) as u64;
        let groups = target_groups(degrees, edges_max.min(self.out.edges.div_ceil(threads as u64)));
        for wave in groups.chunks(threads) {
            self.context.interrupt.check()?;
            for part in self.scatter_wave(&written, degrees, wave) {
                let Scattered { sources, ranks } = part?;
                for (sources, ranks) in sources.chunks(CANCEL_CHECK_EDGES).zip(ranks.chunks(CANCEL_CHECK_EDGES)) {
                    sources.iter().zip(ranks).for_each(|(&source, &rank)| writer.push(source, rank));
                    writer.drain(file)?;
                }
            }
        }
        Ok(())
    }

    /// The edges of some groups, each of them by a thread of its own; those of one group by this thread, since a section of a few edges
    /// takes less time than to make one.
    fn scatter_wave(&self, written: &WrittenTargets, degrees: &[u32], wave: &[Range<usize>]) -> Vec<Result<Scattered>> {
        if let [group] = wave {
            return vec![self.scatter(written, degrees, group.clone())];
        }
        std::thread::scope(|scope| {
            let work: Vec<_> =
                wave.iter().map(|group| scope.spawn(|| self.scatter(written, degrees, group.clone()))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().expect("a pass over written targets does not panic")
            };
            work.into_iter().map(join).collect()
        })
    }

    /// One pass over all edges that keeps those whose target is in the group: their sources and ranks, by target.
    fn scatter(&self, written: &WrittenTargets, degrees: &[u32], group: Range<usize>) -> Result<Scattered> {
        let mut places: Vec<u32> = Vec::with_capacity(group.len());
        let mut count = 0u32;
        for &degree in &degrees[group.clone()] {
            places.push(count);
            let too_many = || StorageError::limit("a node has more than 2^32 in-edges");
            count = count.checked_add(degree).ok_or_else(too_many)?;
        }
        let mut all = Scattered { sources: vec![0; count as usize], ranks: vec![0; count as usize] };
        // For a sort key, in the order of positions: where each edge is, and which place it got.
        let (mut positions, mut placed) = (Vec::new(), Vec::new());
        let is_sorted = !self.keys.is_empty();
        let mut reader = TargetReader::new(written, self.out.edges as usize);
        let mut position = 0u64;
        for (source, degree) in self.out.sources.iter() {
            let mut rank = 0;
            while rank < degree {
                let targets = reader.take((degree - rank) as usize)?;
                for &target in targets {
                    let offset = (target as usize).wrapping_sub(group.start);
                    if let Some(place) = places.get_mut(offset) {
                        all.sources[*place as usize] = source;
                        all.ranks[*place as usize] = rank;
                        if is_sorted {
                            positions.push(position);
                            placed.push(*place);
                        }
                        *place += 1;
                    }
                    rank += 1;
                    position += 1;
                }
            }
        }
        if is_sorted {
            return self.sort_by_key(all, &degrees[group], &positions, &placed);
        }
        Ok(all)
    }

    /// Puts the edges of each target in the order of the sort key.
    fn sort_by_key(&self, all: Scattered, degrees: &[u32], positions: &[u64], placed: &[u32]) -> Result<Scattered> {
        let columns = self.read_keys(positions)?;
        let mut rows = vec![0u32; placed.len()];
        (0..).zip(placed).for_each(|(row, &place)| rows[place as usize] = row);
        let mut sorted = Scattered { sources: Vec::with_capacity(rows.len()), ranks: Vec::with_capacity(rows.len()) };
        let mut start = 0;
        for &degree in degrees {
            let run = &mut rows[start..start + degree as usize];
            run.sort_by(|&a, &b| order_by(&columns, a, b));
            for &row in run.iter() {
                let place = placed[row as usize] as usize;
                sorted.sources.push(all.sources[place]);
                sorted.ranks.push(all.ranks[place]);
            }
            start += degree as usize;
        }
        Ok(sorted)
    }

    /// The columns of the sort key at these positions, which ascend.
    fn read_keys(&self, positions: &[u64]) -> Result<Vec<Column>> {
        self.keys.iter().map(|column| column.read(positions)).collect()
    }
}

/// The order of two rows by columns, one after the other.
fn order_by(columns: &[Column], a: u32, b: u32) -> Ordering {
    let orders = columns.iter().map(|column| order_rows(column, a as usize, column, b as usize));
    orders.fold(Ordering::Equal, Ordering::then)
}

impl WrittenColumn {
    /// The values at these positions, which ascend.
    fn read(&self, positions: &[u64]) -> Result<Column> {
        let block_of = |position: u64| position as usize / COLUMN_BLOCK_ROWS;
        let mut all = Column::nulls(0);
        for run in positions.chunk_by(|&a, &b| block_of(a) == block_of(b)) {
            let index = block_of(run[0]);
            let values = match self.headers.get(index) {
                None => Column::nulls(run.len()),
                Some(header) => {
                    let bytes = match header.length {
                        0 => Vec::new(),
                        length => self
                            .disk
                            .read_range(&self.path, header.offset, length as usize)
                            .map_err(|error| StorageError::io("read", &self.path, error))?,
                    };
                    let block = ReadBlock { header: [*header], bytes: &bytes, path: &self.path };
                    let rows: Vec<u64> =
                        run.iter().map(|position| position - (index * COLUMN_BLOCK_ROWS) as u64).collect();
                    gather(&block, header.encoding.kind(), &rows)?
                }
            };
            if all.is_empty() {
                all = values;
            } else {
                all.append(&values);
            }
        }
        Ok(all)
    }
}

/// One block that was read into memory.
struct ReadBlock<'a> {
    header: [BlockHeader; 1],
    bytes: &'a [u8],
    path: &'a std::path::Path,
}

impl BlockSource for ReadBlock<'_> {
    fn headers(&self) -> &[BlockHeader] {
        &self.header
    }

    fn block(&self, index: usize) -> Result<Block<'_>> {
        Ok(Block::held(&self.header[index], self.bytes, self.path))
    }
}

/// Writes sources at once and keeps ranks until all sources are written: in memory, then in a file of their own.
struct EntryWriter<'a> {
    context: &'a BuildContext,
    base: u32,
    sources: Packer,
    ranks: Packer,
    ranks_bytes_max: usize,
    spilled: Option<(FileWriter, u64)>,
}

impl<'a> EntryWriter<'a> {
    fn new(context: &'a BuildContext, base: u32, last: u32, rank_max: u32) -> EntryWriter<'a> {
        let sources = Packer::new(width_of(u64::from(last - base)));
        let ranks = Packer::new(width_of(u64::from(rank_max)));
        let ranks_bytes_max = RANK_BYTES.min(context.config.memory_bytes / RANK_SHARE);
        EntryWriter { context, base, sources, ranks, ranks_bytes_max, spilled: None }
    }

    #[inline]
    fn push(&mut self, source: u32, rank: u32) {
        self.sources.push(u64::from(source - self.base));
        self.ranks.push(u64::from(rank));
    }

    fn drain(&mut self, file: &mut FileWriter) -> Result<()> {
        file.write(self.sources.ready())?;
        self.sources.ready().clear();
        let ready = self.ranks.ready();
        if ready.len() >= self.ranks_bytes_max {
            let (spill, _) = match &mut self.spilled {
                Some(spilled) => spilled,
                none => {
                    let spill = self.context.create(FileKind::Run)?;
                    let start = spill.position();
                    none.insert((spill, start))
                }
            };
            spill.write(ready)?;
            ready.clear();
        }
        Ok(())
    }

    /// Ends the sources and writes the ranks behind them; gives where those start.
    fn finish(self, file: &mut FileWriter, count: usize) -> Result<usize> {
        file.write(&self.sources.finish(count))?;
        file.align()?;
        let start = file.position() as usize;
        if let Some((spill, first)) = self.spilled {
            let end = spill.position();
            let spill: TemporaryFile = spill.into_temporary()?;
            for at in (first..end).step_by(RANK_BYTES) {
                file.write(&spill.read_range(at, (end - at).min(RANK_BYTES as u64) as usize)?)?;
            }
        }
        file.write(&self.ranks.finish(count))?;
        Ok(start)
    }
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

/// Hands out the written targets in order.
struct TargetReader<'a> {
    written: &'a WrittenTargets,
    bytes: Vec<u8>,
    buffer: [u64; 512],
    filled: usize,
    used: usize,
    position: usize,
    edges: usize,
}

impl<'a> TargetReader<'a> {
    fn new(written: &'a WrittenTargets, edges: usize) -> TargetReader<'a> {
        TargetReader { written, bytes: Vec::new(), buffer: [0; 512], filled: 0, used: 0, position: 0, edges }
    }

    /// Up to `count` further targets, at least one; there must be some left.
    #[inline]
    fn take(&mut self, count: usize) -> Result<&[u64]> {
        if self.used == self.filled {
            let place = self.position % READ_ENTRIES;
            if place == 0 {
                self.bytes = self.written.read(self.position, READ_ENTRIES.min(self.edges - self.position))?;
            }
            self.filled = self.buffer.len().min(self.edges - self.position);
            self.used = 0;
            Packed::new(&self.bytes, self.written.targets.width).unpack(place, &mut self.buffer[..self.filled]);
            self.position += self.filled;
        }
        let start = self.used;
        self.used = self.filled.min(start + count);
        Ok(&self.buffer[start..self.used])
    }
}

/// Cuts the targets that have edges into groups of about `edges_max` edges, and not many more targets.
fn target_groups(in_degrees: &[u32], edges_max: u64) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut edges) = (0, 0);
    for (target, &degree) in in_degrees.iter().enumerate() {
        let is_wide = (target - start) as u64 >= edges_max.saturating_mul(2);
        if edges == 0 {
            start = target;
        } else if edges + u64::from(degree) > edges_max || is_wide {
            groups.push(start..target);
            (start, edges) = (target, 0);
        }
        edges += u64::from(degree);
    }
    if edges > 0 {
        groups.push(start..in_degrees.len());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::target_groups;

    fn check(degrees: &[u32], edges_max: u64, expected: &[std::ops::Range<usize>]) {
        assert_eq!(target_groups(degrees, edges_max), expected);
    }

    #[test]
    fn groups_hold_all_edges_and_stay_within_their_size() {
        check(&[], 4, &[]);
        check(&[0, 0, 0], 4, &[]);
        check(&[1, 1, 1, 1], 4, std::slice::from_ref(&(0..4)));
        check(&[0, 0, 3, 2, 9, 0, 1], 4, &[2..3, 3..4, 4..5, 6..7]);
        check(&[1, 0, 0, 0, 0, 1], 2, &[0..4, 5..6]);
    }
}
