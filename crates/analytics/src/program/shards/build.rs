//! Makes the files of a graph's edges from its rows, in memory of a given size.
//!
//! Cost: one pass over the rows of the graph, whatever way it reads them; then edges are written and read once to be
//! sorted (8 bytes each, 16 with weights) and written once more.

use std::sync::{Mutex, PoisonError};

use model::error::Result;

use super::sort::{EdgeWeight, Keyed, Sorter};
use super::{EdgeSide, Layout, Position, Shards};
use crate::graph::{Graph, RowBlock, Side};
use crate::parallel::map_tasks;
use crate::program::Context;
use crate::scratch::{Scratch, Writer};

/// Bytes of a buffer of a file that is written, at the most and at the least.
const WRITE_BYTES: (usize, usize) = (64, 256 << 10);

/// Keys of edges: by the interval of the sender, then by the receiver, then by the sender.
#[derive(Clone, Copy)]
struct Keys {
    row_shift: u32,
}

impl Keys {
    #[inline]
    fn key(self, sender: u32, receiver: u32) -> u64 {
        let row = u64::from(sender) >> self.row_shift;
        let low = u64::from(sender) & ((1 << self.row_shift) - 1);
        // A shift by 64 happens only where there is one row, number 0.
        row.checked_shl(32 + self.row_shift).unwrap_or(0) | u64::from(receiver) << self.row_shift | low
    }

    /// Row, sender and receiver.
    #[inline]
    fn split(self, key: u64) -> (usize, u32, u32) {
        let row = key.checked_shr(32 + self.row_shift).unwrap_or(0);
        let low = key & ((1 << self.row_shift) - 1);
        let sender = (row << self.row_shift | low) as u32;
        (row as usize, sender, (key >> self.row_shift) as u32)
    }
}

/// The edges and counts that one thread has gathered.
struct Lane<W> {
    /// Edges by side.
    buffers: Vec<Vec<Keyed<W>>>,
    /// For each piece of nodes, over how many edges they receive.
    received: Vec<u64>,
}

/// Writes the edges of a graph, holding about `bytes` bytes.
pub(crate) fn build<'a, W: EdgeWeight>(
    graph: &Graph<'_>,
    layout: Layout,
    bytes: usize,
    run: &Context<'a>,
) -> Result<Shards<'a>> {
    let place = run.place();
    let side_count = if layout.is_both_ways { 2 } else { 1 };
    let sorters: Vec<Sorter<'a>> = (0..side_count).map(|_| Sorter::new(place)).collect::<Result<_>>()?;
    let received = collect::<W>(graph, &layout, bytes / 2, &sorters, run)?;
    let columns = cut(&layout, &received);
    drop(received);
    let sides = map_tasks(run.threads, sorters.into_iter().enumerate().collect(), |(side, sorter)| {
        SideWriter::write::<W>(sorter, side == 1, &layout, &columns, bytes / 2, run)
    });
    Ok(Shards { layout, sides: sides.into_iter().collect::<Result<_>>()?, columns })
}

/// Reads all edges of the graph and hands them to the sorters; gives how many each piece of nodes receives over.
fn collect<W: EdgeWeight>(
    graph: &Graph<'_>,
    layout: &Layout,
    bytes: usize,
    sorters: &[Sorter<'_>],
    run: &Context<'_>,
) -> Result<Vec<u64>> {
    let capacity = (bytes / (run.threads.max(1) * sorters.len() * size_of::<Keyed<W>>())).max(1);
    let keys = Keys { row_shift: layout.row_shift };
    let pieces = layout.node_count.div_ceil(1 << layout.piece_shift);
    let lanes: Mutex<Vec<Lane<W>>> = Mutex::new(Vec::new());
    let rows = graph.rows();
    let parts: Vec<usize> = (0..rows.part_count(Side::Forward)).collect();
    let done = map_tasks(run.threads, parts, |part| {
        let lane = lanes.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut lane = lane.unwrap_or_else(|| Lane {
            buffers: sorters.iter().map(|_| Vec::with_capacity(capacity)).collect(),
            received: vec![0; pieces],
        });
        let done = rows.scan_part(Side::Forward, part, None, &mut |block| {
            run.interrupt.check()?;
            lane.add(&block, keys, layout.piece_shift, capacity, sorters)
        });
        lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
        done
    });
    done.into_iter().collect::<Result<()>>()?;
    let mut received = vec![0; pieces];
    for lane in lanes.into_inner().unwrap_or_else(PoisonError::into_inner) {
        received.iter_mut().zip(&lane.received).for_each(|(sum, count)| *sum += count);
        for (mut buffer, sorter) in lane.buffers.into_iter().zip(sorters) {
            sorter.put_away(&mut buffer)?;
        }
    }
    Ok(received)
}

impl<W: EdgeWeight> Lane<W> {
    fn add(
        &mut self,
        block: &RowBlock<'_>,
        keys: Keys,
        piece_shift: u32,
        capacity: usize,
        sorters: &[Sorter<'_>],
    ) -> Result<()> {
        for (row, (source, neighbors)) in block.rows().enumerate() {
            let weights = block.weights(row);
            for (at, &neighbor) in neighbors.iter().enumerate() {
                let weight = W::of(weights, at);
                for (side, (sorter, buffer)) in sorters.iter().zip(&mut self.buffers).enumerate() {
                    let (sender, receiver) = if side == 0 { (source, neighbor) } else { (neighbor, source) };
                    self.received[(receiver >> piece_shift) as usize] += 1;
                    if buffer.len() == capacity {
                        sorter.put_away(buffer)?;
                    }
                    buffer.push(Keyed { key: keys.key(sender, receiver), weight });
                }
            }
        }
        Ok(())
    }
}

/// Cuts nodes into columns that receive over about equally many edges and lie in one interval each.
fn cut(layout: &Layout, received: &[u64]) -> Vec<u32> {
    let piece = 1_usize << layout.piece_shift;
    let goal = received.iter().sum::<u64>() / layout.columns_min.max(1) as u64 + 1;
    let mut starts = vec![0];
    let (mut start, mut edges) = (0, 0);
    for (at, &more) in received.iter().enumerate() {
        let (from, to) = (at * piece, ((at + 1) * piece).min(layout.node_count));
        let is_full = to - start > layout.column_nodes_max || (edges > 0 && edges + more > goal);
        if from > start && (is_full || from.is_multiple_of(1 << layout.row_shift)) {
            starts.push(from as u32);
            (start, edges) = (from, 0);
        }
        edges += more;
    }
    if layout.node_count > 0 {
        starts.push(layout.node_count as u32);
    }
    starts
}

/// Writes the sorted edges of one side.
struct SideWriter<'l, 's, 'a> {
    layout: &'l Layout,
    columns: &'l [u32],
    runs: Writer<'s, 'a>,
    senders: Writer<'s, 'a>,
    weights: Option<Writer<'s, 'a>>,
    degrees: Option<Writer<'s, 'a>>,
    starts: Vec<Position>,
    at: Position,
    /// Row and receiver of the run that is being counted.
    current: Option<(usize, u32)>,
    count: u32,
    /// The column of the receiver.
    column: usize,
    /// The row whose senders are being counted, and their counts.
    row: usize,
    sent: Vec<u32>,
}

impl<'a> SideWriter<'_, '_, 'a> {
    fn write<W: EdgeWeight>(
        sorter: Sorter<'_>,
        is_reversed: bool,
        layout: &Layout,
        columns: &[u32],
        bytes: usize,
        run: &Context<'a>,
    ) -> Result<EdgeSide<'a>> {
        let place = run.place();
        let optional = |is_wanted: bool| if is_wanted { place.file().map(Some) } else { Ok(None) };
        let (mut runs, mut senders) = (place.file()?, place.file()?);
        let (mut weights, mut degrees) = (optional(W::BYTES > 0)?, optional(layout.has_degrees)?);
        let buffer = (bytes / 32).clamp(WRITE_BYTES.0, WRITE_BYTES.1);
        let writer = |file| Writer::new(file, buffer);
        let mut writer = SideWriter {
            layout,
            columns,
            runs: writer(&mut runs),
            senders: Writer::new(&mut senders, buffer),
            weights: weights.as_mut().map(|file: &mut Scratch<'a>| Writer::new(file, buffer)),
            degrees: degrees.as_mut().map(|file: &mut Scratch<'a>| Writer::new(file, buffer)),
            starts: Vec::new(),
            at: Position::default(),
            current: None,
            count: 0,
            column: 0,
            row: 0,
            sent: Vec::new(),
        };
        writer.begin_row();
        let keys = Keys { row_shift: layout.row_shift };
        sorter.merge::<W>(bytes / 2, run.interrupt, |entry| {
            let (row, sender, receiver) = keys.split(entry.key);
            if writer.current != Some((row, receiver)) {
                writer.begin_run(row, receiver)?;
            }
            writer.count += 1;
            writer.at.edge += 1;
            if let Some(sent) = writer.sent.get_mut(sender as usize - (row << layout.row_shift)) {
                *sent += 1;
            }
            writer.senders.put(sender)?;
            match &mut writer.weights {
                Some(weights) => weights.put(entry.weight),
                None => Ok(()),
            }
        })?;
        let starts = writer.finish()?;
        Ok(EdgeSide { is_reversed, runs, senders, weights, degrees, starts })
    }

    /// Makes room for the counts of the senders of a row.
    fn begin_row(&mut self) {
        self.sent.clear();
        if self.layout.has_degrees && self.row < self.layout.row_count() {
            self.sent.resize(self.layout.row_nodes(self.row).len(), 0);
        }
    }

    /// Ends the rows before that one.
    fn end_rows(&mut self, row: usize) -> Result<()> {
        while self.row < row {
            if let Some(degrees) = &mut self.degrees {
                self.sent.iter().try_for_each(|&count| degrees.put(count))?;
            }
            self.row += 1;
            self.column = 0;
            self.begin_row();
        }
        Ok(())
    }

    fn end_run(&mut self) -> Result<()> {
        if let Some((_, receiver)) = self.current {
            self.runs.put((receiver, self.count))?;
            self.at.run += 1;
            self.count = 0;
        }
        Ok(())
    }

    fn begin_run(&mut self, row: usize, receiver: u32) -> Result<()> {
        self.end_run()?;
        self.end_rows(row)?;
        self.current = Some((row, receiver));
        while self.columns[self.column + 1] <= receiver {
            self.column += 1;
        }
        let part = row * (self.columns.len() - 1) + self.column;
        self.starts.resize(self.starts.len().max(part + 1), self.at);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Position>> {
        self.end_run()?;
        let rows = self.layout.row_count();
        self.end_rows(rows)?;
        self.starts.resize(rows * (self.columns.len() - 1) + 1, self.at);
        let others = self.weights.iter_mut().chain(&mut self.degrees);
        [&mut self.runs, &mut self.senders].into_iter().chain(others).try_for_each(Writer::flush)?;
        Ok(self.starts)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::interrupt::Interrupt;
    use model::store::Direction;

    use super::{Keys, build};
    use crate::graph::Graph;
    use crate::graph_view::{EdgeList, GraphView, Sides};
    use crate::program::Context;
    use crate::program::shards::{Layout, Shards};
    use crate::scratch::Stream;

    #[test]
    fn keys_are_in_the_order_of_row_receiver_and_sender() {
        for row_shift in [0, 1, 5, 31, 32] {
            let keys = Keys { row_shift };
            let ends = [0, 1, 2, 31, 32, 33, 1 << 31, u32::MAX - 1];
            let mut all: Vec<(usize, u32, u32)> = Vec::new();
            for sender in ends {
                for receiver in ends {
                    let row = (u64::from(sender) >> row_shift) as usize;
                    assert_eq!(keys.split(keys.key(sender, receiver)), (row, sender, receiver));
                    all.push((row, receiver, sender));
                }
            }
            all.sort_unstable();
            assert!(all.is_sorted_by_key(|&(_, receiver, sender)| keys.key(sender, receiver)));
        }
    }

    /// Every edge as (sender, receiver), read part by part.
    fn edges_of(shards: &Shards<'_>, side: usize) -> Vec<(u32, u32)> {
        let side = &shards.sides[side];
        let mut found = Vec::new();
        for part in 0..shards.layout.row_count() * shards.column_count() {
            let nodes = shards.column_nodes(part % shards.column_count());
            let row = shards.layout.row_nodes(part / shards.column_count());
            let mut senders = Stream::of::<u32>(&side.senders, side.edges(part), 12);
            let mut runs = side.runs(part, 24);
            while let Some((receiver, count)) = runs.next::<(u32, u32)>().unwrap() {
                assert!(nodes.contains(&(receiver as usize)));
                for _ in 0..count {
                    let sender = senders.next::<u32>().unwrap().unwrap();
                    assert!(row.contains(&(sender as usize)));
                    found.push((sender, receiver));
                }
            }
            assert_eq!(senders.next::<u32>().unwrap(), None);
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn parts_hold_every_edge_once() {
        let nodes = 50_u32;
        let mut edges: Vec<(u32, u32)> = (0..400_u32).map(|at| (at * 7 % 40, (at * at + 3) % 47)).collect();
        edges.push((3, 3));
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        let list = EdgeList { sources: &sources, targets: &targets, weights: &[] };
        let view = GraphView::from_edges(nodes, &list, Direction::Out, Sides::Forward, 1);
        let graph = Graph::in_memory(Arc::new(view));
        let interrupt = Interrupt::new();
        for (row_shift, piece_shift, columns_min, bytes) in [(6, 6, 1, 1 << 20), (3, 1, 9, 400), (0, 0, 1, 100)] {
            let layout = Layout {
                node_count: nodes as usize,
                row_shift,
                piece_shift,
                column_nodes_max: 1 << row_shift,
                columns_min,
                is_both_ways: true,
                has_degrees: true,
            };
            let shards = build::<()>(&graph, layout, bytes, &Context::in_memory(2, &interrupt)).unwrap();
            let mut expected = edges.clone();
            expected.sort_unstable();
            assert_eq!(edges_of(&shards, 0), expected);
            let mut turned: Vec<(u32, u32)> = edges.iter().map(|&(a, b)| (b, a)).collect();
            turned.sort_unstable();
            assert_eq!(edges_of(&shards, 1), turned);
            let mut degrees = Vec::new();
            shards.sides[0].degrees.as_ref().unwrap().read_values::<u32>(0, nodes as usize, &mut degrees).unwrap();
            let expected = |node| edges.iter().filter(|edge| edge.0 == node).count() as u32;
            assert_eq!(degrees, (0..nodes).map(expected).collect::<Vec<_>>());
        }
    }
}
