//! Reading a partition by node, in either direction: runs of 32-bit neighbors, unpacked into the caller's block.
//!
//! The pointer index is read in chunks, from which the runs that are wanted are picked; what they need of the list of
//! neighbors is asked for ahead, all of it or chunk by chunk, and unpacked in one go where runs follow each other.
//! Cost: about a nanosecond for each neighbor and a few for each node, in memory.

use std::ops::Range;

use model::batch::EdgeRuns;
use model::id::PropertyKeyId;
use model::store::{RUN_BLOCK_EDGES, RunScan};
use model::{Bitmap, Column, Direction, Result};

use super::pointer::PointerIndex;
use super::section::NodeArray;
use super::{LiveSection, Partition};
use crate::file::FileScan;

/// Slots of the pointer index read at a time.
const SLOTS: usize = 1 << 14;
/// Neighbors between two runs that are read along with them: less than the disk is slower at two reads than at one.
const GAP_BYTES: usize = 16 << 10;

/// Runs of consecutive slots that are wanted and not empty.
#[derive(Debug, Default)]
struct Chunk {
    nodes: Vec<u32>,
    starts: Vec<u64>,
    ends: Vec<u64>,
}

impl Chunk {
    fn clear(&mut self) {
        self.nodes.clear();
        self.starts.clear();
        self.ends.clear();
    }
}

/// A cursor over the runs of one direction of a section.
#[derive(Debug)]
pub struct SectionRuns<'a> {
    live: LiveSection<'a>,
    index: &'a PointerIndex,
    array: &'a NodeArray,
    is_in: bool,
    among: Option<&'a Bitmap>,
    /// Slots that were not read yet.
    slots: Range<usize>,
    chunk: Chunk,
    /// The chunk after that, already asked for.
    ahead: Chunk,
    /// The next run of the chunk, and where in it to go on.
    at: usize,
    position: u64,
    scan: FileScan<'a>,
    bounds: Vec<u64>,
    listed: Vec<u64>,
    lost: Vec<u64>,
}

impl<'a> SectionRuns<'a> {
    /// The runs of a section that are asked for, as part of a pass that reads `pass_bytes` bytes in all.
    pub fn new(live: LiveSection<'a>, scan: &RunScan<'a>, pass_bytes: usize) -> Result<SectionRuns<'a>> {
        let section = live.section;
        let is_in = scan.direction == Direction::In;
        let (index, array) = section.direction(is_in);
        array.check_narrow(section.file())?;
        if index.span().is_some_and(|(_, last)| u32::try_from(last).is_err()) {
            return Err(section.file().damage(0, "a pointer index knows nodes of more than 32 bits"));
        }
        let slots = index.slots(section.file(), scan.nodes.clone().unwrap_or(0..u64::MAX))?;
        let mut runs = SectionRuns {
            live,
            index,
            array,
            is_in,
            among: scan.among,
            slots,
            chunk: Chunk::default(),
            ahead: Chunk::default(),
            at: 0,
            position: 0,
            scan: FileScan::new(section.file(), pass_bytes, scan.others),
            bounds: Vec::new(),
            listed: Vec::new(),
            lost: Vec::new(),
        };
        runs.expect()?;
        Ok(runs)
    }

    /// Says what will be read of the neighbors, if that is all of them.
    fn expect(&mut self) -> Result<()> {
        if self.among.is_some() || self.slots.is_empty() || !self.live.section.file().is_cold() {
            return Ok(());
        }
        let (file, last) = (self.live.section.file(), self.slots.end - 1);
        self.index.bounds(file, self.slots.start..self.slots.start + 1, &mut self.bounds)?;
        let start = self.bounds[0];
        self.index.bounds(file, last..last + 1, &mut self.bounds)?;
        let end = self.bounds[1].min(self.live.section.edge_count());
        if start < end {
            self.scan.expect(&self.array.bytes_of(&(start..end)));
        }
        Ok(())
    }

    /// Replaces `out` by about `RUN_BLOCK_EDGES` further edges at most, deleted ones included, and `places` by where
    /// they are in their direction; false, with both empty, at the end.
    fn next(&mut self, out: &mut EdgeRuns, places: &mut Vec<Range<u64>>) -> Result<bool> {
        out.nodes.clear();
        out.ends.clear();
        out.properties.clear();
        places.clear();
        let mut edges = 0;
        while edges < RUN_BLOCK_EDGES {
            if self.at == self.chunk.nodes.len() {
                if !self.refill()? {
                    break;
                }
                continue;
            }
            edges = self.take(edges, out, places);
        }
        // Old content is overwritten, so that it need not be cleared first.
        out.neighbors.resize(edges, 0);
        out.edge_type = self.live.edge_type();
        let mut rest = &mut out.neighbors[..];
        for run in places.iter() {
            let (part, behind) = rest.split_at_mut((run.end - run.start) as usize);
            self.array.unpack(&mut self.scan, run.start, part)?;
            rest = behind;
        }
        Ok(edges > 0)
    }

    /// Adds runs of the chunk to a block that has `edges` edges; returns how many it has then.
    fn take(&mut self, mut edges: usize, out: &mut EdgeRuns, places: &mut Vec<Range<u64>>) -> usize {
        let chunk = &self.chunk;
        let mut place = places.pop().unwrap_or(chunk.starts[self.at]..chunk.starts[self.at]);
        while self.at < chunk.nodes.len() && edges < RUN_BLOCK_EDGES {
            let start = self.position.max(chunk.starts[self.at]);
            let end = chunk.ends[self.at].min(start + (RUN_BLOCK_EDGES - edges) as u64);
            if start != place.end {
                if !place.is_empty() {
                    places.push(place);
                }
                place = start..start;
            }
            place.end = end;
            edges += (end - start) as usize;
            out.nodes.push(chunk.nodes[self.at]);
            out.ends.push(edges as u32);
            self.position = end;
            self.at += usize::from(end == chunk.ends[self.at]);
        }
        places.push(place);
        edges
    }

    /// Goes on to the next chunk that has runs; false at the end.
    fn refill(&mut self) -> Result<bool> {
        std::mem::swap(&mut self.chunk, &mut self.ahead);
        self.at = 0;
        if self.chunk.nodes.is_empty() {
            read_chunk(self)?;
            std::mem::swap(&mut self.chunk, &mut self.ahead);
        }
        self.ahead.clear();
        if self.among.is_some() && self.live.section.file().is_cold() {
            read_chunk(self)?;
            self.announce();
        }
        Ok(!self.chunk.nodes.is_empty())
    }

    /// Asks for what the runs of the chunk ahead need.
    fn announce(&mut self) {
        let mut runs = self.ahead.starts.iter().zip(&self.ahead.ends);
        let bytes = |(&start, &end): (&u64, &u64)| self.array.bytes_of(&(start..end));
        let Some(mut open) = runs.next().map(bytes) else { return };
        for next in runs.map(bytes) {
            if next.start > open.end + GAP_BYTES {
                self.scan.announce(&open);
                open = next;
            } else {
                open.end = next.end;
            }
        }
        self.scan.announce(&open);
    }
}

/// Reads slots until some run of them is wanted, or all are read; what is wanted comes into `ahead`.
fn read_chunk(runs: &mut SectionRuns<'_>) -> Result<()> {
    let section = runs.live.section;
    let file = section.file();
    runs.ahead.clear();
    while runs.ahead.nodes.is_empty() && !runs.slots.is_empty() {
        let slots = runs.slots.start..runs.slots.end.min(runs.slots.start + SLOTS);
        let first = runs.index.first_of_dense();
        if let (Some(first), Some(among)) = (first, runs.among) {
            let start = first + slots.start as u64;
            let wanted = next_set(among, start..first + slots.end as u64);
            if wanted > start {
                runs.slots.start += (wanted - start) as usize;
                continue;
            }
        }
        runs.slots.start = slots.end;
        let start = slots.start;
        runs.index.bounds(file, slots.clone(), &mut runs.bounds)?;
        if !runs.bounds.is_sorted() || runs.bounds.last().is_some_and(|&end| end > section.edge_count()) {
            return Err(file.damage(0, "the offsets of a pointer index do not ascend"));
        }
        match first {
            Some(first) => {
                let nodes = (first + start as u64) as u32;
                pick(&mut runs.ahead, &runs.bounds, |slot| nodes + slot as u32, runs.among);
            }
            None => {
                runs.index.nodes_at(file, slots, &mut runs.listed)?;
                let listed = &runs.listed;
                pick(&mut runs.ahead, &runs.bounds, |slot| listed[slot] as u32, runs.among);
            }
        }
    }
    Ok(())
}

/// Adds the runs between bounds that are not empty and whose nodes are wanted.
#[inline]
fn pick(chunk: &mut Chunk, bounds: &[u64], node_of: impl Fn(usize) -> u32, among: Option<&Bitmap>) {
    let slots = bounds.len() - 1;
    chunk.nodes.resize(slots, 0);
    chunk.starts.resize(slots, 0);
    chunk.ends.resize(slots, 0);
    let mut count = 0;
    for (slot, ends) in bounds.windows(2).enumerate() {
        let node = node_of(slot);
        chunk.nodes[count] = node;
        chunk.starts[count] = ends[0];
        chunk.ends[count] = ends[1];
        let is_wanted = among.is_none_or(|among| (node as usize) < among.len() && among.get(node as usize));
        // No jump: whether a node has edges cannot be foreseen.
        count += usize::from(is_wanted & (ends[0] < ends[1]));
    }
    chunk.nodes.truncate(count);
    chunk.starts.truncate(count);
    chunk.ends.truncate(count);
}

/// The first node of a range whose bit is set, or the end of the range.
fn next_set(among: &Bitmap, nodes: Range<u64>) -> u64 {
    let end = nodes.end.min(among.len() as u64);
    let mut node = nodes.start;
    while node < end {
        let word = among.words()[(node / 64) as usize] >> (node % 64);
        if word != 0 {
            let found = node + u64::from(word.trailing_zeros());
            return if found < end { found } else { nodes.end };
        }
        node = (node / 64 + 1) * 64;
    }
    nodes.end
}

/// Positions, or places of the in-direction, that are gone besides those that patches name: by section, in order.
pub type Lost = Vec<(usize, Vec<u64>)>;

/// A cursor over the runs of a partition, section by section.
#[derive(Debug)]
pub struct PartitionRuns<'a> {
    partition: &'a Partition,
    scan: &'a RunScan<'a>,
    pass_bytes: usize,
    lost: Lost,
    section: usize,
    runs: Option<SectionRuns<'a>>,
    places: Vec<Range<u64>>,
    positions: Vec<u64>,
}

impl<'a> PartitionRuns<'a> {
    /// The runs of a partition that are asked for, without the edges that are lost; part of a pass of `pass_bytes`
    /// bytes.
    pub fn new(partition: &'a Partition, scan: &'a RunScan<'a>, pass_bytes: usize, lost: Lost) -> PartitionRuns<'a> {
        PartitionRuns {
            partition,
            scan,
            pass_bytes,
            lost,
            section: 0,
            runs: None,
            places: Vec::new(),
            positions: Vec::new(),
        }
    }

    /// Replaces `out` by further edges of one type; false, with `out` empty, at the end.
    pub fn next(&mut self, out: &mut EdgeRuns) -> Result<bool> {
        loop {
            let Some(live) = self.partition.live(self.section) else {
                out.clear();
                return Ok(false);
            };
            if self.scan.types.as_ref().is_some_and(|types| !types.contains(&live.edge_type())) {
                self.section += 1;
                continue;
            }
            if self.runs.is_none() {
                self.runs = Some(SectionRuns::new(live, self.scan, self.pass_bytes)?);
            }
            let Some(runs) = &mut self.runs else { continue };
            if !runs.next(out, &mut self.places)? {
                self.runs = None;
                self.section += 1;
                continue;
            }
            self.find_positions(live)?;
            for &key in &self.scan.keys {
                out.properties.push(self.property(live, key)?);
            }
            self.leave_out(live, out)?;
            if !out.is_empty() {
                return Ok(true);
            }
        }
    }

    /// The section, and the positions of the edges of the last block; only where properties are asked for.
    pub fn positions(&self) -> (usize, &[u64]) {
        (self.section, &self.positions)
    }

    fn find_positions(&mut self, live: LiveSection<'_>) -> Result<()> {
        self.positions.clear();
        if self.scan.keys.is_empty() {
            return Ok(());
        }
        if self.scan.direction == Direction::Out {
            self.positions.extend(self.places.iter().cloned().flatten());
            return Ok(());
        }
        self.places.iter().try_for_each(|part| live.section.in_positions(part.clone(), &mut self.positions))
    }

    fn property(&self, live: LiveSection<'_>, key: PropertyKeyId) -> Result<Column> {
        match &self.places[..] {
            [run] if self.scan.direction == Direction::Out => live.property_range(key, run.clone()),
            _ => live.property(key, &self.positions),
        }
    }

    /// Takes lost edges out of the block that lies at the places.
    fn leave_out(&mut self, live: LiveSection<'_>, out: &mut EdgeRuns) -> Result<()> {
        let more = self.lost.iter().find(|(section, _)| *section == self.section).map(|(_, lost)| &lost[..]);
        let Some(runs) = &mut self.runs else { return Ok(()) };
        if more.is_none() && live.patches.is_none() {
            return Ok(());
        }
        let mut rows: Vec<u32> = Vec::new();
        let mut first = 0;
        for run in &self.places {
            runs.lost.clear();
            if let Some(patches) = live.patches {
                patches.lost(run, runs.is_in, &mut runs.lost)?;
            }
            if let Some(more) = more {
                let start = more.partition_point(|&place| place < run.start);
                let end = start + more[start..].partition_point(|&place| place < run.end);
                runs.lost.extend_from_slice(&more[start..end]);
                runs.lost.sort_unstable();
                runs.lost.dedup();
            }
            rows.extend(runs.lost.iter().map(|&place| first + (place - run.start) as u32));
            first += (run.end - run.start) as u32;
        }
        if !rows.is_empty() {
            take_out(out, &rows);
            if !self.positions.is_empty() {
                let mut at = 0..;
                self.positions.retain(|_| at.next().is_some_and(|row| rows.binary_search(&row).is_err()));
            }
        }
        Ok(())
    }
}

/// Takes rows, which ascend, out of a block, and with them the nodes that have none left.
fn take_out(out: &mut EdgeRuns, rows: &[u32]) {
    let edges = out.neighbors.len() as u32;
    let mut rest = rows.iter().peekable();
    let kept: Vec<u32> = (0..edges).filter(|row| rest.next_if_eq(&row).is_none()).collect();
    out.neighbors = kept.iter().map(|&row| out.neighbors[row as usize]).collect();
    out.properties.iter_mut().for_each(|column| *column = column.gather(&kept));
    let (mut count, mut before) = (0, 0);
    for at in 0..out.nodes.len() {
        let end = out.ends[at] - rows.partition_point(|&row| row < out.ends[at]) as u32;
        if end > before {
            (out.nodes[count], out.ends[count]) = (out.nodes[at], end);
            count += 1;
        }
        before = end;
    }
    out.nodes.truncate(count);
    out.ends.truncate(count);
}
