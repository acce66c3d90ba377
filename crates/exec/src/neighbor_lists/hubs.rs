//! Long lists of neighbors as bits: one look tells whether a node is in such a list, and two of them are compared by words.
//!
//! Cost: at most 16 bytes an entry of the lists, since only lists are kept so of which each bit has a share of nodes.

use super::whole::Whole;
use crate::memory::QueryMemory;
use model::Map;

/// A list has bits if it has one neighbor for as many nodes, or more.
const NODES_PER_NEIGHBOR: usize = 128;
/// Shorter lists have no bits, however few nodes there are.
const NEIGHBORS_MIN: usize = 8;

/// The bits of all long lists.
#[derive(Default)]
pub(super) struct Hubs {
    /// The length from which on a list has bits.
    neighbors_min: usize,
    words_per_row: usize,
    /// For each hub, the place of its row.
    rows: Map<u32, u32>,
    words: Vec<u64>,
}

impl Hubs {
    /// The bits of the long lists of a whole, or none where memory does not suffice; and the bytes that were charged for them.
    pub(super) fn of(whole: &Whole, memory: &QueryMemory) -> (Hubs, usize) {
        let bound = whole.starts.len().saturating_sub(1);
        let neighbors_min = (bound / NODES_PER_NEIGHBOR).max(NEIGHBORS_MIN);
        let hubs: Vec<u32> = (0..bound as u32).filter(|&node| whole.list(node).len() >= neighbors_min).collect();
        let words_per_row = bound.div_ceil(64);
        let bytes = hubs.len() * (words_per_row * size_of::<u64>() + 2 * size_of::<(u32, u32)>());
        if hubs.is_empty() || memory.charge("bits of hubs", bytes).is_err() {
            return (Hubs::none(), 0);
        }
        let mut words = vec![0; hubs.len() * words_per_row];
        for (&hub, row) in hubs.iter().zip(words.chunks_exact_mut(words_per_row)) {
            whole.list(hub).iter().for_each(|&node| row[node as usize / 64] |= 1 << (node % 64));
        }
        let rows = hubs.into_iter().zip(0..).collect();
        (Hubs { neighbors_min, words_per_row, rows, words }, bytes)
    }

    /// No list has bits.
    fn none() -> Hubs {
        Hubs { neighbors_min: usize::MAX, ..Hubs::default() }
    }

    /// The bits of a node's list, if it is so long that it has some.
    #[inline(always)]
    pub(super) fn bits(&self, node: u32, length: usize) -> Option<&[u64]> {
        if length < self.neighbors_min { None } else { self.row(node) }
    }

    fn row(&self, node: u32) -> Option<&[u64]> {
        let row = *self.rows.get(&node)? as usize;
        Some(&self.words[row * self.words_per_row..][..self.words_per_row])
    }
}
