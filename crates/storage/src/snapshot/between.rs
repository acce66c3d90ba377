//! Edges between pairs of nodes.
//!
//! Cost: for each pair a search in the run of the source in the files, for a type with a sort key a pass over the shorter
//! of two runs; in the memtable a walk along the shorter of two lists, or one walk for all pairs of a source.

use std::ops::Range;

use model::id::{EdgeTypeId, NodeId};
use model::{EdgeId, Result};

use super::Snapshot;
use crate::memtable::edge_id;

/// The edges between pairs of nodes.
pub(crate) struct Parallel {
    /// The edges, pair by pair: those of the files, oldest first, then those of the memtable, newest first.
    pub(crate) edges: Vec<EdgeId>,
    /// By pair, the end of its edges.
    ends: Vec<usize>,
}

impl Parallel {
    /// The places in `edges` of those of a pair.
    pub(crate) fn rows(&self, pair: usize) -> Range<usize> {
        let start = pair.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[pair]
    }
}

impl Snapshot {
    /// The edges of a type that are there from a source to a target, for pairs of both that ascend.
    pub(crate) fn edges_between(&self, edge_type: EdgeTypeId, pairs: &[(NodeId, NodeId)]) -> Result<Parallel> {
        let memtable = &self.memtable;
        let mut new: Vec<(usize, EdgeId)> = Vec::new();
        memtable.edges.for_each_between(pairs, |pair, ordinal, link| {
            if !link.is_deleted && link.edge_type == edge_type {
                new.push((pair, edge_id(ordinal)));
            }
        });
        // Stable: those of a pair stay in their order.
        new.sort_by_key(|&(pair, _)| pair);
        let mut new = new.into_iter().peekable();
        let is_there = |edge: EdgeId| memtable.edge_change(edge).is_none_or(|change| !change.is_deleted);
        let mut found = Parallel { edges: Vec::with_capacity(pairs.len()), ends: Vec::with_capacity(pairs.len()) };
        let mut of_files = Vec::new();
        let asked_at_once = self.version.ask_between_max(edge_type);
        for (pair, &(source, target)) in pairs.iter().enumerate() {
            if pair % asked_at_once == 0 {
                self.version.ask_between(edge_type, &pairs[pair..pairs.len().min(pair + asked_at_once)])?;
            }
            of_files.clear();
            self.version.edges_between(edge_type, source, target, &mut of_files)?;
            found.edges.extend(of_files.iter().copied().filter(|&edge| is_there(edge)));
            while let Some((_, edge)) = new.next_if(|&(of, _)| of == pair) {
                found.edges.push(edge);
            }
            found.ends.push(found.edges.len());
        }
        self.sound(found)
    }
}
