//! The copy of one side: rows in files, sorted by node and neighbor.

use std::ops::Range;

use model::column::Bitmap;
use model::error::Result;
use model::interrupt::Interrupt;

use super::super::has_any;
use super::buckets::{Buckets, CHUNK_BYTES_MIN, Chunk, Entry, Filled};
use crate::edges::{EdgeSink, EdgeSource};
use crate::parallel::{map_tasks, map_tasks_with};
use crate::rows::{RowBlock, RowSink};
use crate::scratch::plain::{Plain, push};
use crate::scratch::{Lanes, Place, Scratch, Spot};

/// Nodes of a block, at most.
const BLOCK_NODES_MAX: u32 = 1 << 16;
/// Nodes of a bucket, at most.
const BUCKET_NODES_MAX: u32 = 1 << 18;
/// Buckets into which one that is too large is divided.
const DIVIDED: u32 = 16;
/// Bytes of an entry in the buffers of a thread.
const BUFFER_BYTES_PER_ENTRY: usize = 16;

/// The means of copying.
#[derive(Clone, Copy)]
pub(super) struct Means<'a> {
    pub(super) place: Place<'a>,
    pub(super) node_count: u32,
    pub(super) threads: usize,
    /// Entries that the buffers of a thread hold.
    pub(super) buffer_entries: usize,
    pub(super) interrupt: &'a Interrupt,
}

impl Means<'_> {
    /// Entries that a thread sorts at a time: as bytes, as they are sorted, and as they are written.
    fn sorted_max(&self) -> usize {
        (self.buffer_entries / 2).max(1)
    }

    fn buffer_bytes(&self) -> usize {
        self.buffer_entries * BUFFER_BYTES_PER_ENTRY
    }

    fn bucket_count(&self, entries: u64) -> u32 {
        // A few times as many as fit, since nodes have more and less; no more than have a buffer.
        let wanted =
            (4 * entries).div_ceil(self.sorted_max() as u64).max(u64::from(self.node_count / BUCKET_NODES_MAX));
        wanted.clamp(1, (self.buffer_bytes() / CHUNK_BYTES_MIN).max(1) as u64) as u32
    }
}

/// The end of an edge whose row has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Source,
    Target,
    Both,
}

/// The rows of some consecutive nodes. In the file lie where each row begins and the last one ends, 8 bytes each, counted in
/// entries; then neighbors, 4 bytes each; then weights.
struct Piece {
    nodes: Range<u32>,
    spot: Spot,
    entries: u64,
}

/// Rows of all nodes.
pub(super) struct Table<'a> {
    files: Vec<Scratch<'a>>,
    /// In order of their nodes, without gaps.
    pieces: Vec<Piece>,
    has_weights: bool,
}

/// Rows as they are read.
#[derive(Default)]
struct Read {
    offsets: Vec<u64>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
    bytes: Vec<u8>,
}

impl<'a> Table<'a> {
    /// Copies edges into rows of the ends that are named.
    pub(super) fn of(edges: &dyn EdgeSource, key: Key, means: &Means<'a>) -> Result<Table<'a>> {
        let filled = fill(edges, key, means)?;
        let lanes = Lanes::new(means.place, means.threads)?;
        let done = map_tasks(means.threads, (0..filled.buckets.len()).collect(), |bucket| {
            let mut pieces = Vec::new();
            let (nodes, chunks) = &filled.buckets[bucket];
            settle(&filled, nodes.clone(), chunks, means, &lanes, &mut pieces)?;
            Ok(pieces)
        });
        let pieces = done.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        Ok(Table { files: lanes.into_files(), pieces, has_weights: filled.has_weights })
    }

    /// Number of entries of all rows.
    pub(super) fn entries(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.entries).sum()
    }

    /// The same edges, from the neighbors to the nodes.
    pub(super) fn turned(&self) -> Turned<'_, 'a> {
        Turned(self)
    }

    /// Gives the rows of a range of nodes.
    pub(super) fn scan(
        &self,
        nodes: Range<u32>,
        among: Option<&Bitmap>,
        interrupt: &Interrupt,
        sink: &mut RowSink<'_>,
    ) -> Result<()> {
        let mut read = Read::default();
        let first = self.pieces.partition_point(|piece| piece.nodes.end <= nodes.start);
        for piece in self.pieces[first..].iter().take_while(|piece| piece.nodes.start < nodes.end) {
            let mut start = piece.nodes.start.max(nodes.start);
            let end = piece.nodes.end.min(nodes.end);
            while start < end {
                let block = start..end.min(start.saturating_add(BLOCK_NODES_MAX));
                start = block.end;
                interrupt.check()?;
                if among.is_none_or(|among| has_any(among, block.start as usize..block.end as usize)) {
                    self.read(piece, block.clone(), &mut read)?;
                    let Read { offsets, neighbors, weights, .. } = &read;
                    sink(RowBlock { first: block.start, offsets, neighbors, weights })?;
                }
            }
        }
        Ok(())
    }

    /// Reads rows of a piece.
    fn read(&self, piece: &Piece, nodes: Range<u32>, out: &mut Read) -> Result<()> {
        let (file, start) = (&self.files[piece.spot.0 as usize], piece.spot.1);
        let skipped = u64::from(nodes.start - piece.nodes.start);
        values(file, start + 8 * skipped, nodes.len() + 1, &mut out.bytes, &mut out.offsets)?;
        let (from, to) = (out.offsets[0], out.offsets[nodes.len()]);
        let neighbors = start + 8 * (piece.nodes.len() as u64 + 1);
        values(file, neighbors + 4 * from, (to - from) as usize, &mut out.bytes, &mut out.neighbors)?;
        if self.has_weights {
            let weights = neighbors + 4 * piece.entries;
            values(file, weights + 8 * from, (to - from) as usize, &mut out.bytes, &mut out.weights)?;
        }
        Ok(())
    }
}

/// Reads plain values from a byte on.
fn values<T: Plain>(file: &Scratch<'_>, start: u64, count: usize, bytes: &mut Vec<u8>, out: &mut Vec<T>) -> Result<()> {
    bytes.resize(count * T::BYTES, 0);
    file.read_at(start, bytes)?;
    out.clear();
    out.extend(bytes.chunks_exact(T::BYTES).map(T::read_from));
    Ok(())
}

/// Puts the entries of all edges into buckets.
fn fill<'a>(edges: &dyn EdgeSource, key: Key, means: &Means<'a>) -> Result<Filled<'a>> {
    let entries = if key == Key::Both { 2 * edges.edge_count() } else { edges.edge_count() };
    let (count, has_weights) = (means.bucket_count(entries), edges.has_weights());
    let per_thread = (means.threads, means.buffer_bytes());
    let buckets = Buckets::new(means.place, 0..means.node_count, count, per_thread, has_weights)?;
    let mut buffers = vec![buckets.buffers(); means.threads.max(1)];
    let done = map_tasks_with(&mut buffers, (0..edges.task_count()).collect(), |buffers, task| {
        edges.scan(task, &mut |sources, targets, weights| {
            for (at, (&source, &target)) in sources.iter().zip(targets).enumerate() {
                let weight = weights.get(at).map_or(0, |weight| weight.to_bits());
                if key != Key::Target {
                    buckets.put(buffers, (source, target, weight))?;
                }
                // An edge from a node to itself is one entry of an undirected row.
                if key == Key::Target || (key == Key::Both && source != target) {
                    buckets.put(buffers, (target, source, weight))?;
                }
            }
            Ok(())
        })
    });
    done.into_iter().collect::<Result<()>>()?;
    buffers.iter_mut().try_for_each(|buffers| buckets.flush(buffers))?;
    Ok(buckets.finish())
}

/// Sorts the entries of some nodes and writes their rows; those that do not fit into memory are divided first, as far as
/// the row of one node.
fn settle<'a>(
    filled: &Filled<'a>,
    nodes: Range<u32>,
    chunks: &[Chunk],
    means: &Means<'a>,
    lanes: &Lanes<'a>,
    pieces: &mut Vec<Piece>,
) -> Result<()> {
    means.interrupt.check()?;
    let count = filled.count(chunks);
    if count > means.sorted_max() && nodes.len() > 1 {
        let per_thread = (1, means.buffer_bytes());
        let parts = Buckets::new(means.place, nodes, DIVIDED, per_thread, filled.has_weights)?;
        let mut buffers = parts.buffers();
        filled.each(chunks, &mut |entry| parts.put(&mut buffers, entry))?;
        parts.flush(&mut buffers)?;
        drop(buffers);
        let parts = parts.finish();
        for (nodes, chunks) in &parts.buckets {
            settle(&parts, nodes.clone(), chunks, means, lanes, pieces)?;
        }
        return Ok(());
    }
    let mut entries: Vec<Entry> = Vec::with_capacity(count);
    filled.each(chunks, &mut |entry| {
        entries.push(entry);
        Ok(())
    })?;
    entries.sort_unstable();
    let mut bytes = Vec::with_capacity(8 * (nodes.len() + 1) + 12 * count);
    let mut at = 0;
    for node in nodes.clone() {
        push(at as u64, &mut bytes);
        at += entries[at..].iter().take_while(|entry| entry.0 == node).count();
    }
    push(at as u64, &mut bytes);
    entries.iter().for_each(|entry| push(entry.1, &mut bytes));
    if filled.has_weights {
        entries.iter().for_each(|entry| push(entry.2, &mut bytes));
    }
    let (spot, ()) = lanes.append(|file| file.append(&bytes))?;
    pieces.push(Piece { nodes, spot, entries: count as u64 });
    Ok(())
}

/// A table as edges from the neighbors to the nodes.
pub(super) struct Turned<'t, 'a>(&'t Table<'a>);

impl EdgeSource for Turned<'_, '_> {
    fn task_count(&self) -> usize {
        self.0.pieces.len()
    }

    fn edge_count(&self) -> u64 {
        self.0.entries()
    }

    fn has_weights(&self) -> bool {
        self.0.has_weights
    }

    fn scan(&self, task: usize, sink: &mut EdgeSink<'_>) -> Result<()> {
        let piece = &self.0.pieces[task];
        let mut read = Read::default();
        self.0.read(piece, piece.nodes.clone(), &mut read)?;
        let rows = piece.nodes.clone().zip(read.offsets.windows(2));
        let nodes: Vec<u32> = rows.flat_map(|(node, ends)| (ends[0]..ends[1]).map(move |_| node)).collect();
        sink(&read.neighbors, &nodes, &read.weights)
    }
}

#[cfg(test)]
mod tests {
    use model::Interrupt;
    use model::procedure::Unaccounted;

    use super::{Key, Means, Table};
    use crate::graph_view::EdgeList;
    use crate::random::Random;
    use crate::scratch::Place;

    /// For each node its entries, sorted.
    type Rows = Vec<Vec<(u32, u64)>>;

    fn scanned(table: &Table<'_>, nodes: u32, step: u32) -> Rows {
        let mut rows: Rows = vec![Vec::new(); nodes as usize];
        for start in (0..nodes).step_by(step as usize) {
            let mut next = start;
            let end = (start + step).min(nodes);
            let scan = table.scan(start..end, None, &Interrupt::new(), &mut |block| {
                assert_eq!(block.first, next);
                next += block.len() as u32;
                for (row, neighbors) in block.rows() {
                    let weights = block.weights((row - block.first) as usize);
                    let entries = neighbors.iter().enumerate();
                    let entries = entries.map(|(at, &other)| (other, weights.get(at).map_or(0, |x| x.to_bits())));
                    rows[row as usize].extend(entries);
                }
                Ok(())
            });
            scan.expect("files in memory can be read");
            assert_eq!(next, end);
        }
        rows
    }

    #[test]
    fn rows_are_those_of_the_edges_whatever_the_memory_and_threads() {
        let seed = 5;
        let mut random = Random::new(seed);
        let mut draw = |bound: u32| random.below(bound as usize) as u32;
        for (nodes, edges) in [(1, 50), (7, 0), (300, 20_000), (40_000, 9_000)] {
            // Half of the edges have an end at a hub, whose row alone is larger than the buffers.
            let end = |draw: &mut dyn FnMut(u32) -> u32| if draw(2) == 0 { nodes / 2 } else { draw(nodes) };
            let sources: Vec<u32> = (0..edges).map(|_| end(&mut draw)).collect();
            let targets: Vec<u32> = (0..edges).map(|_| draw(nodes)).collect();
            let all: Vec<f64> = (0..edges).map(|at| f64::from(at % 17) / 3.0).collect();
            for (weights, buffer_entries, threads) in [(&all[..], 64, 1), (&[][..], 500, 2), (&all[..], 1 << 20, 2)] {
                let list = EdgeList { sources: &sources, targets: &targets, weights };
                let (place, interrupt) = (Place::Memory(&Unaccounted), &Interrupt::new());
                let means = Means { place, node_count: nodes, threads, buffer_entries, interrupt };
                let mut expected: [Rows; 3] = std::array::from_fn(|_| vec![Vec::new(); nodes as usize]);
                for at in 0..sources.len() {
                    let (source, target) = (sources[at], targets[at]);
                    let weight = weights.get(at).map_or(0, |x| x.to_bits());
                    expected[0][source as usize].push((target, weight));
                    expected[1][target as usize].push((source, weight));
                    expected[2][source as usize].push((target, weight));
                    if source != target {
                        expected[2][target as usize].push((source, weight));
                    }
                }
                for (key, mut expected) in [Key::Source, Key::Target, Key::Both].into_iter().zip(expected) {
                    expected.iter_mut().for_each(|row| row.sort_unstable());
                    let table = Table::of(&list, key, &means).expect("files in memory can be written");
                    assert_eq!(scanned(&table, nodes, nodes), expected, "seed {seed}, {nodes} nodes");
                    assert_eq!(scanned(&table, nodes, nodes.div_ceil(3)), expected, "seed {seed}, {nodes} nodes");
                    let small = edges as usize > 20 * buffer_entries;
                    assert!(!small || table.pieces.len() > 10, "{} pieces", table.pieces.len());
                    if key != Key::Both {
                        let turned = Table::of(&table.turned(), Key::Source, &means).expect("likewise");
                        let back = Table::of(&turned.turned(), Key::Source, &means).expect("likewise");
                        assert_eq!(scanned(&back, nodes, nodes), expected, "seed {seed}, {nodes} nodes, turned twice");
                    }
                }
            }
        }
    }
}
