//! Breadth-first search over rows that are streamed: level by level, reading only what the frontier, or what was not yet
//! reached, touches.
//!
//! Cost: 4 bytes a node and 3 bits. A level reads the blocks that hold edges of the frontier or, if it is large, those of
//! the edges that lead to nodes not yet reached.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use model::column::Bitmap;
use model::error::Result;
use model::interrupt::Interrupt;

use super::UNREACHED;
use crate::graph::{RowBlock, Rows, Side};
use crate::graph_view::Sides;
use crate::huge;
use crate::rows::pass::map_pass;

/// A frontier of more than this part of the nodes touches nearly every block: then those not reached look for it.
const PULL_SHARE: usize = 64;

/// Bits that several threads set.
struct SharedBits(Vec<AtomicU64>);

impl SharedBits {
    fn new(length: usize) -> SharedBits {
        SharedBits((0..length.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    fn set(&self, at: u32) {
        self.0[at as usize / 64].fetch_or(1 << (at % 64), Ordering::Relaxed);
    }

    fn into_bitmap(self, length: usize) -> Bitmap {
        Bitmap::from_words(self.0.into_iter().map(AtomicU64::into_inner).collect(), length)
    }
}

/// A search under way.
struct Search<'a> {
    rows: &'a dyn Rows,
    distances: Vec<AtomicU32>,
    threads: usize,
    interrupt: &'a Interrupt,
}

/// For each node, its distance from the source; [`UNREACHED`] if there is no path, or none of at most `depth_max` edges.
pub(super) fn run(
    rows: &dyn Rows,
    source: u32,
    depth_max: Option<u32>,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<u32>> {
    let node_count = rows.node_count();
    let distances: Vec<AtomicU32> = huge::collect((0..node_count).map(|_| AtomicU32::new(UNREACHED)));
    distances[source as usize].store(0, Ordering::Relaxed);
    let search = Search { rows, distances, threads, interrupt };
    let mut frontier = Bitmap::filled(node_count, false);
    frontier.set(source as usize, true);
    let (mut size, mut depth) = (1, 0);
    while size > 0 && depth_max.is_none_or(|most| depth < most) {
        interrupt.check()?;
        interrupt.step(u64::from(depth), 0)?;
        depth += 1;
        (frontier, size) = if size > node_count / PULL_SHARE && size > 1 {
            search.pull_level(&frontier, depth)?
        } else {
            search.push_level(&frontier, depth)?
        };
    }
    Ok(search.distances.into_iter().map(AtomicU32::into_inner).collect())
}

impl Search<'_> {
    #[inline]
    fn is_unreached(&self, node: u32) -> bool {
        self.distances[node as usize].load(Ordering::Relaxed) == UNREACHED
    }

    /// Follows the edges of the frontier; gives the next one and its size.
    fn push_level(&self, frontier: &Bitmap, depth: u32) -> Result<(Bitmap, usize)> {
        let (next, size) = (SharedBits::new(frontier.len()), AtomicUsize::new(0));
        let parts = (0..self.rows.part_count(Side::Forward)).collect();
        let done = map_pass((self.rows, Sides::Forward), self.threads, parts, |part| {
            let mut found = 0;
            self.rows.scan_part(Side::Forward, part, Some(frontier), &mut |block| {
                self.interrupt.check()?;
                for (_, neighbors) in block.rows().filter(|(node, _)| frontier.get(*node as usize)) {
                    for &neighbor in neighbors.iter().filter(|&&neighbor| self.is_unreached(neighbor)) {
                        if self.distances[neighbor as usize].swap(depth, Ordering::Relaxed) == UNREACHED {
                            next.set(neighbor);
                            found += 1;
                        }
                    }
                }
                Ok(())
            })?;
            size.fetch_add(found, Ordering::Relaxed);
            Ok(())
        });
        done.into_iter().collect::<Result<()>>()?;
        Ok((next.into_bitmap(frontier.len()), size.into_inner()))
    }

    /// Lets the nodes not yet reached look for the frontier; gives the next one and its size.
    fn pull_level(&self, frontier: &Bitmap, depth: u32) -> Result<(Bitmap, usize)> {
        let unreached: Bitmap = (0..frontier.len() as u32).map(|node| self.is_unreached(node)).collect();
        let (next, size) = (SharedBits::new(frontier.len()), AtomicUsize::new(0));
        let parts = self.rows.part_count(Side::Backward);
        let done = map_pass((self.rows, Sides::Backward), self.threads, (0..parts).collect(), |part| {
            let mut found = 0;
            let mut look = |block: RowBlock<'_>| {
                self.interrupt.check()?;
                for (node, neighbors) in block.rows().filter(|(node, _)| unreached.get(*node as usize)) {
                    if neighbors.iter().any(|&neighbor| frontier.get(neighbor as usize)) && self.is_unreached(node) {
                        // A row may arrive in pieces on several threads: the first thread to reach the node counts it.
                        if self.distances[node as usize].swap(depth, Ordering::Relaxed) == UNREACHED {
                            next.set(node);
                            found += 1;
                        }
                    }
                }
                Ok(())
            };
            self.rows.scan_part(Side::Backward, part, Some(&unreached), &mut look)?;
            size.fetch_add(found, Ordering::Relaxed);
            Ok(())
        });
        done.into_iter().collect::<Result<()>>()?;
        Ok((next.into_bitmap(frontier.len()), size.into_inner()))
    }
}
