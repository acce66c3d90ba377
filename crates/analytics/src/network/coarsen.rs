//! The network whose nodes are the communities of another.
//!
//! Cost: one look at each edge, on all threads; 12 bytes for each pair of communities that an edge joins.

use std::borrow::Cow;

use model::error::Result;
use model::interrupt::Interrupt;

use super::{Neighborhood, Network};
use crate::parallel::{map_tasks, ranges_of_equal_work};

/// Pieces for each thread, each with an array over all communities.
const PIECES_PER_THREAD: usize = 2;

/// Rows of some communities.
#[derive(Default)]
struct Rows {
    degrees: Vec<u64>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
    loops: Vec<f64>,
}

impl Network<'_> {
    /// The network of `count` communities, numbered without gaps.
    pub(crate) fn coarsen(
        &self,
        communities: &[u32],
        count: usize,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<Network<'static>> {
        let (starts, members) = members_of(communities, count);
        let ranges = ranges_of_equal_work(&starts, PIECES_PER_THREAD * threads);
        let parts = map_tasks(threads, ranges, |range| -> Result<Rows> {
            let (mut rows, mut near) = (Rows::default(), Neighborhood::new(count));
            for community in range {
                interrupt.check()?;
                let range = starts[community] as usize..starts[community + 1] as usize;
                self.add_row(community as u32, &members[range], communities, &mut near, &mut rows);
            }
            Ok(rows)
        });
        let (mut offsets, mut end) = (vec![0], 0);
        let mut coarse = Rows::default();
        for part in parts {
            let part = part?;
            offsets.extend(part.degrees.iter().map(|degree| {
                end += degree;
                end
            }));
            coarse.neighbors.extend(part.neighbors);
            coarse.weights.extend(part.weights);
            coarse.loops.extend(part.loops);
        }
        let mut network = Network {
            offsets: Cow::Owned(offsets),
            neighbors: Cow::Owned(coarse.neighbors),
            weights: Cow::Owned(coarse.weights),
            loops: coarse.loops,
            strengths: Vec::new(),
            total: 0.0,
        };
        network.weigh();
        Ok(network)
    }

    /// Adds the row of one community.
    fn add_row(&self, community: u32, members: &[u32], communities: &[u32], near: &mut Neighborhood, rows: &mut Rows) {
        near.clear();
        let mut inside = 0.0;
        for &node in members {
            inside += self.loops[node as usize];
            self.others(node).for_each(|(other, weight)| near.add(communities[other as usize], weight));
        }
        let before = rows.neighbors.len();
        for &other in near.communities() {
            let weight = near.weight(other);
            if other == community {
                inside += weight;
            } else {
                rows.neighbors.push(other);
                rows.weights.push(weight);
            }
        }
        rows.degrees.push((rows.neighbors.len() - before) as u64);
        rows.loops.push(inside);
    }
}

/// The nodes of each community: where they start, and all of them by community.
fn members_of(communities: &[u32], count: usize) -> (Vec<u64>, Vec<u32>) {
    let mut starts = vec![0_u64; count + 1];
    communities.iter().for_each(|&community| starts[community as usize + 1] += 1);
    (0..count).for_each(|community| starts[community + 1] += starts[community]);
    let mut next = starts.clone();
    let mut members = vec![0; communities.len()];
    for (node, &community) in (0..).zip(communities) {
        members[next[community as usize] as usize] = node;
        next[community as usize] += 1;
    }
    (starts, members)
}

/// A partition of a coarse network's nodes as one of those of the network it was made of.
pub(crate) fn unfold(fine: &mut [u32], coarse: &[u32]) {
    fine.iter_mut().for_each(|community| *community = coarse[*community as usize]);
}
