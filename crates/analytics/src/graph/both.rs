//! Rows of both sides at once: for each node where its edges lead and where edges come from, however they are read.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use model::column::Bitmap;
use model::error::Result;
use model::interrupt::Interrupt;

use super::{Graph, Rows, Side};
use crate::parallel::map_tasks;

/// Pieces for each thread, at least.
const PIECES_PER_THREAD: usize = 16;

/// Whole rows of consecutive nodes, gathered from the blocks of a scan.
#[derive(Default)]
struct Gathered {
    offsets: Vec<usize>,
    neighbors: Vec<u32>,
}

impl Gathered {
    /// Reads the rows of a range; those that the scan leaves out are empty.
    fn read(
        &mut self,
        rows: &dyn Rows,
        side: Side,
        nodes: Range<usize>,
        among: Option<&Bitmap>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let Gathered { offsets, neighbors } = self;
        offsets.clear();
        neighbors.clear();
        offsets.push(0);
        rows.scan(side, nodes.clone(), among, &mut |block| {
            interrupt.check()?;
            offsets.resize(block.first as usize - nodes.start + 1, neighbors.len());
            let before = neighbors.len();
            neighbors.extend_from_slice(block.neighbors);
            offsets.extend((0..block.len()).map(|row| before + block.range(row).end));
            Ok(())
        })?;
        offsets.resize(nodes.len() + 1, neighbors.len());
        Ok(())
    }

    fn row(&self, at: usize) -> &[u32] {
        &self.neighbors[self.offsets[at]..self.offsets[at + 1]]
    }
}

impl Graph<'_> {
    /// The nodes in ranges for [`Graph::scan_both`]: work for `threads` threads, and each no more than their buffers
    /// hold.
    pub(crate) fn pieces_of_both(&self, threads: usize) -> Vec<Range<usize>> {
        let streamed = if self.view().is_some() { 0 } else { self.edge_count() / self.buffer_entries() };
        self.rows().pieces(Side::Forward, PIECES_PER_THREAD * threads + streamed as usize)
    }

    /// Gives each node of a range, of those `among`, with where its edges lead and where edges come from. The second is
    /// empty where direction does not matter, since both are the same. Rows in memory must be there for both sides.
    pub(crate) fn scan_both(
        &self,
        nodes: Range<usize>,
        among: Option<&Bitmap>,
        interrupt: &Interrupt,
        mut sink: impl FnMut(u32, &[u32], &[u32]),
    ) -> Result<()> {
        let is_wanted = |node: usize| among.is_none_or(|among| among.get(node));
        if let Some(view) = self.view() {
            interrupt.check()?;
            let backward = if self.is_undirected() { None } else { Some(view.backward()) };
            for node in nodes.filter(|&node| is_wanted(node)) {
                let back = backward.map_or(&[][..], |rows| rows.neighbors(node as u32));
                sink(node as u32, view.forward().neighbors(node as u32), back);
            }
            return Ok(());
        }
        let (mut forward, mut backward) = (Gathered::default(), Gathered::default());
        forward.read(self.rows(), Side::Forward, nodes.clone(), among, interrupt)?;
        if !self.is_undirected() {
            backward.read(self.rows(), Side::Backward, nodes.clone(), among, interrupt)?;
        }
        for node in nodes.clone().filter(|&node| is_wanted(node)) {
            let at = node - nodes.start;
            let back = if self.is_undirected() { &[][..] } else { backward.row(at) };
            sink(node as u32, forward.row(at), back);
        }
        Ok(())
    }

    /// The nodes that have one of some nodes for a neighbor, on either side.
    pub(crate) fn neighbors_of(
        &self,
        nodes: &[u32],
        pieces: &[Range<usize>],
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<Bitmap> {
        let count = self.node_count();
        let mut among = Bitmap::filled(count, false);
        nodes.iter().for_each(|&node| among.set(node as usize, true));
        let words: Vec<AtomicU64> = (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let done = map_tasks(threads, pieces.to_vec(), |piece| {
            self.scan_both(piece, Some(&among), interrupt, |_, forward, backward| {
                for &neighbor in forward.iter().chain(backward) {
                    let (word, bit) = (&words[neighbor as usize / 64], 1 << (neighbor % 64));
                    // Most bits are set already, and a look is cheaper than a write.
                    if word.load(Ordering::Relaxed) & bit == 0 {
                        word.fetch_or(bit, Ordering::Relaxed);
                    }
                }
            })
        });
        done.into_iter().collect::<Result<()>>()?;
        Ok(Bitmap::from_words(words.into_iter().map(AtomicU64::into_inner).collect(), count))
    }
}

/// The distinct neighbors of a node other than itself, ascending, and for each whether edges lead both ways.
#[derive(Default)]
pub(crate) struct Distinct {
    /// The neighbors.
    pub(crate) neighbors: Vec<u32>,
    /// As many flags; empty if direction does not matter.
    pub(crate) mutual: Vec<bool>,
    keys: Vec<u64>,
}

impl Distinct {
    /// Takes the rows of one node; direction is told apart only if asked for.
    pub(crate) fn set(&mut self, node: u32, forward: &[u32], backward: &[u32], is_directed: bool) {
        self.neighbors.clear();
        self.mutual.clear();
        if !is_directed {
            self.neighbors.extend(forward.iter().chain(backward).filter(|&&neighbor| neighbor != node));
            if !self.neighbors.is_sorted() {
                // Rows are a few sorted runs as a rule, which this sort finds.
                self.neighbors.sort();
            }
            self.neighbors.dedup();
            return;
        }
        self.keys.clear();
        for (side, neighbors) in [forward, backward].into_iter().enumerate() {
            let others = neighbors.iter().filter(|&&neighbor| neighbor != node);
            self.keys.extend(others.map(|&neighbor| u64::from(neighbor) << 1 | side as u64));
        }
        self.keys.sort();
        for run in self.keys.chunk_by(|a, b| a >> 1 == b >> 1) {
            self.neighbors.push((run[0] >> 1) as u32);
            self.mutual.push(run[0] & 1 == 0 && run[run.len() - 1] & 1 == 1);
        }
    }
}
