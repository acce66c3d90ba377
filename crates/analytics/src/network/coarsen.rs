//! The network whose nodes are the communities of another.
//!
//! Cost: one look at each edge, on all threads; room for 12 bytes for each entry of the rows, or for each community in
//! each row if these are fewer, of which only as much is touched as pairs of communities are joined.

use std::borrow::Cow;
use std::ops::Range;

use model::error::Result;
use model::interrupt::Interrupt;

use super::{Members, Neighborhood, Network, PIECES_PER_THREAD, Sum};
use crate::parallel::{map_tasks_with, ranges_of_equal_work, split_mut};

/// Rows of some communities, to be filled in.
struct Part<'p> {
    communities: Range<usize>,
    /// The offset of its entries.
    first: u64,
    neighbors: &'p mut [u32],
    weights: &'p mut [f64],
    ends: &'p mut [u64],
    loops: &'p mut [f64],
    strengths: &'p mut [f64],
}

impl Network<'_> {
    /// The network of communities, of which the members are given as well.
    pub(crate) fn coarsen(
        &self,
        communities: &[u32],
        members: &Members,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<Network<'static>> {
        if self.counts_edges() {
            self.coarsen_by::<u32>(communities, members, threads, interrupt)
        } else {
            self.coarsen_by::<f64>(communities, members, threads, interrupt)
        }
    }

    fn coarsen_by<S: Sum>(
        &self,
        communities: &[u32],
        members: &Members,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<Network<'static>> {
        let count = members.count();
        let threads = self.threads(threads);
        let work = members.entries_before(self);
        let ranges = ranges_of_equal_work(&work, PIECES_PER_THREAD * threads);
        let mut starts = vec![0_u64; count];
        let mut room = 0;
        for (community, start) in starts.iter_mut().enumerate() {
            *start = room;
            room += (work[community + 1] - work[community]).min(count as u64 - 1);
        }
        let (mut neighbors, mut weights) = (vec![0; room as usize], vec![0.0; room as usize]);
        let (mut ends, mut loops, mut strengths) = (vec![0; count], vec![0.0; count], vec![0.0; count]);
        let start_of = |community: usize| starts.get(community).copied().unwrap_or(room);
        let rooms: Vec<Range<usize>> =
            ranges.iter().map(|range| start_of(range.start) as usize..start_of(range.end) as usize).collect();
        let entries = split_mut(&mut neighbors, &rooms).into_iter().zip(split_mut(&mut weights, &rooms));
        let nodes = split_mut(&mut loops, &ranges).into_iter().zip(split_mut(&mut strengths, &ranges));
        let parts = ranges.iter().cloned().zip(split_mut(&mut ends, &ranges)).zip(entries.zip(nodes));
        let parts = parts.map(|((communities, ends), ((neighbors, weights), (loops, strengths)))| {
            let first = start_of(communities.start);
            Part { communities, first, neighbors, weights, ends, loops, strengths }
        });
        let parts: Vec<Part<'_>> = parts.collect();
        let mut near: Vec<Neighborhood<S>> = (0..threads).map(|_| Neighborhood::new(count)).collect();
        let done = map_tasks_with(&mut near, parts, |near, part| -> Result<usize> {
            interrupt.check()?;
            Ok(self.fill(part, &starts, communities, members, near))
        });
        let entry_count = done.into_iter().sum::<Result<usize>>()?;
        Ok(Network {
            starts: Cow::Owned(starts),
            ends: Cow::Owned(ends),
            neighbors: Cow::Owned(neighbors),
            weights: Cow::Owned(weights),
            has_own: false,
            loops,
            total: strengths.iter().sum(),
            strengths,
            entry_count,
        })
    }

    /// Fills in rows; gives how many entries they have.
    fn fill<S: Sum>(
        &self,
        part: Part<'_>,
        starts: &[u64],
        communities: &[u32],
        members: &Members,
        near: &mut Neighborhood<S>,
    ) -> usize {
        let mut entry_count = 0;
        for (row, community) in part.communities.enumerate() {
            let mut inside = 0.0;
            for &node in members.of_one(community) {
                inside += self.loops[node as usize] - self.own_in_row(node);
                near.add_row(self, node, communities);
            }
            let start = (starts[community] - part.first) as usize;
            let (mut end, mut outside) = (start, 0.0);
            near.drain(|other, weight| {
                if other as usize == community {
                    inside += weight;
                } else {
                    (part.neighbors[end], part.weights[end]) = (other, weight);
                    outside += weight;
                    end += 1;
                }
            });
            part.ends[row] = part.first + end as u64;
            part.loops[row] = inside;
            part.strengths[row] = inside + outside;
            entry_count += end - start;
        }
        entry_count
    }
}
