//! Sets of neighbors: rows in ascending order, parallel edges put together.

use std::ops::{Range, RangeInclusive};

use crate::graph_view::Csr;
use crate::parallel::{map_tasks, ranges_of_equal_work};

/// Pieces that rows are cut into.
const PIECES: usize = 64;

/// For each node, a set of nodes, each with a weight if the rows have weights.
pub(super) struct Sets {
    offsets: Vec<u64>,
    members: Vec<u32>,
    weights: Vec<f64>,
}

impl Sets {
    /// The sets of rows whose number of different neighbors is in a range; nothing for others.
    pub(super) fn of_rows(rows: &Csr, degrees: RangeInclusive<u64>, threads: usize) -> Sets {
        let parts =
            map_tasks(threads, ranges_of_equal_work(rows.offsets(), PIECES), |nodes| part(rows, nodes, &degrees));
        let mut sets = Sets { offsets: vec![0], members: Vec::new(), weights: Vec::new() };
        for part in parts {
            let before = sets.members.len() as u64;
            sets.offsets.extend(part.offsets[1..].iter().map(|offset| before + offset));
            sets.members.extend(part.members);
            sets.weights.extend(part.weights);
        }
        sets
    }

    /// For each node, the nodes whose sets it is in.
    pub(super) fn transposed(&self) -> Sets {
        let count = self.offsets.len() - 1;
        let mut offsets = vec![0_u64; count + 1];
        self.members.iter().for_each(|&member| offsets[member as usize + 1] += 1);
        for node in 0..count {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let (mut members, mut weights) = (vec![0; self.members.len()], vec![0.0; self.weights.len()]);
        for node in 0..count as u32 {
            let (row, row_weights) = self.row(node);
            for (at, &member) in row.iter().enumerate() {
                let place = &mut next[member as usize];
                members[*place as usize] = node;
                if let Some(&weight) = row_weights.get(at) {
                    weights[*place as usize] = weight;
                }
                *place += 1;
            }
        }
        Sets { offsets, members, weights }
    }

    /// The set of a node, ascending, and its weights; none if the rows have none.
    #[inline]
    pub(super) fn row(&self, node: u32) -> (&[u32], &[f64]) {
        let entries = self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize;
        let weights = if self.weights.is_empty() { &[][..] } else { &self.weights[entries.clone()] };
        (&self.members[entries], weights)
    }

    /// The weight of each node of a set; 1 if the rows have none.
    pub(super) fn weights_of(&self, node: u32) -> impl Iterator<Item = f64> + '_ {
        let (members, weights) = self.row(node);
        (0..members.len()).map(move |at| weights.get(at).copied().unwrap_or(1.0))
    }
}

/// The sets of some rows, offsets from 0.
fn part(rows: &Csr, nodes: Range<usize>, degrees: &RangeInclusive<u64>) -> Sets {
    let mut sets = Sets { offsets: vec![0], members: Vec::new(), weights: Vec::new() };
    let mut entries: Vec<(u32, f64)> = Vec::new();
    for node in nodes {
        entries.clear();
        let neighbors = rows.neighbors(node as u32);
        if rows.has_weights() {
            entries.extend(neighbors.iter().copied().zip(rows.weights(node as u32).iter().copied()));
        } else {
            entries.extend(neighbors.iter().map(|&neighbor| (neighbor, 1.0)));
        }
        // Stable, so that the weights of parallel edges are always added in one order.
        entries.sort_by_key(|entry| entry.0);
        entries.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        if degrees.contains(&(entries.len() as u64)) {
            sets.members.extend(entries.iter().map(|entry| entry.0));
            if rows.has_weights() {
                sets.weights.extend(entries.iter().map(|entry| entry.1));
            }
        }
        sets.offsets.push(sets.members.len() as u64);
    }
    sets
}
