//! The nodes that a search has met: a bit for each node where ids are dense, else a hash set.
//!
//! Cost: a bit for each id of the store, in memory that is taken over from the search before; clearing costs what was
//! set, not what could have been.

use std::cell::RefCell;

use model::{NodeId, ReadView, Result, Set};

use crate::memory::Charge;

/// Most words that a thread keeps for its next search.
const SPARE_WORDS_MAX: usize = 1 << 20;
/// Words of a page of memory.
const PAGE_WORDS: usize = 512;
/// Most lists of words that a thread keeps.
const SPARES_MAX: usize = 4;

/// Bytes that a search may hold whatever the limit of its query: what work needs in any case.
const SEARCH_BYTES: usize = 64 << 10;

/// Says that a search holds so many bytes; fails where that is more than a little and more than the query may hold.
pub(crate) fn hold(charge: &mut Charge<'_>, bytes: usize) -> Result<()> {
    if bytes > SEARCH_BYTES {
        return charge.hold(bytes);
    }
    charge.count(bytes);
    Ok(())
}

thread_local! {
    /// Words that are all zero.
    static SPARES: RefCell<Vec<Vec<u64>>> = const { RefCell::new(Vec::new()) };
}

/// See the module.
pub(crate) struct Visited {
    words: Vec<u64>,
    /// The words that are not zero.
    dirty: Vec<u32>,
    /// Nodes whose ids are too large for a bit.
    far: Set<NodeId>,
}

impl Visited {
    /// No node of a view.
    pub(crate) fn new(view: &dyn ReadView) -> Visited {
        let bound = if view.capabilities().dense_node_ids { view.node_id_bound() } else { 0 };
        let count = bound.div_ceil(64) as usize;
        let mut words = SPARES.with_borrow_mut(Vec::pop).unwrap_or_default();
        if words.len() < count {
            // Zeroed memory that is new costs nothing until it is touched.
            words = vec![0; count];
        }
        Visited { words, dirty: Vec::new(), far: Set::default() }
    }

    /// Bytes that it holds at most: of words that were never touched there is no memory.
    pub(crate) fn byte_count(&self) -> usize {
        8 * self.words.len().min(PAGE_WORDS * self.dirty.len()) + 4 * self.dirty.capacity() + 16 * self.far.capacity()
    }

    /// Adds a node; true if it is new.
    #[inline]
    pub(crate) fn insert(&mut self, node: NodeId) -> bool {
        let at = (node.0 >> 6) as usize;
        let Some(word) = self.words.get_mut(at) else { return self.far.insert(node) };
        let bit = 1 << (node.0 & 63);
        if *word & bit != 0 {
            return false;
        }
        if *word == 0 {
            self.dirty.push(at as u32);
        }
        *word |= bit;
        true
    }

    /// Adds nodes, and gives those that are new to `new`.
    pub(crate) fn insert_all(&mut self, nodes: &[NodeId], new: &mut Vec<NodeId>) {
        // Whether a node is new cannot be foretold, so nothing branches on it: each is written, and kept by a longer end.
        let mut end = new.len();
        new.resize(end + nodes.len(), NodeId(0));
        for &node in nodes {
            new[end] = node;
            let at = (node.0 >> 6) as usize;
            let is_new = match self.words.get_mut(at) {
                None => self.far.insert(node),
                Some(word) => {
                    let (before, bit) = (*word, 1 << (node.0 & 63));
                    if before == 0 {
                        self.dirty.push(at as u32);
                    }
                    *word = before | bit;
                    before & bit == 0
                }
            };
            end += usize::from(is_new);
        }
        new.truncate(end);
    }

    /// Whether a node is in it.
    #[inline]
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        match self.words.get((node.0 >> 6) as usize) {
            Some(word) => word & (1 << (node.0 & 63)) != 0,
            None => self.far.contains(&node),
        }
    }

    /// Takes all nodes out.
    pub(crate) fn clear(&mut self) {
        for &at in &self.dirty {
            self.words[at as usize] = 0;
        }
        self.dirty.clear();
        self.far.clear();
    }
}

impl Drop for Visited {
    fn drop(&mut self) {
        if self.words.is_empty() || self.words.len() > SPARE_WORDS_MAX {
            return;
        }
        self.clear();
        let words = std::mem::take(&mut self.words);
        // A thread that ends has no place to keep them any more.
        let _ = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() < SPARES_MAX {
                spares.push(words);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use model::{GraphStore, NodeId};
    use testing::ReferenceStore;

    use super::Visited;

    #[test]
    fn what_was_met_is_told_and_forgotten() {
        let store = ReferenceStore::new();
        let view = store.read().expect("the reference store can be read");
        for round in 0..2 {
            let mut visited = Visited::new(&*view);
            visited.words = vec![0; 2];
            for node in [0, 63, 64, 127, 128, u64::MAX].map(NodeId) {
                assert!(!visited.contains(node), "round {round}");
                assert!(visited.insert(node) && !visited.insert(node) && visited.contains(node));
            }
            let mut new = vec![NodeId(7)];
            visited.insert_all(&[1, 63, 1, 129, 129].map(NodeId), &mut new);
            assert_eq!(new, [7, 1, 129].map(NodeId));
            visited.clear();
            assert!(!visited.contains(NodeId(64)) && visited.words == [0, 0]);
            assert!(visited.insert(NodeId(64)));
        }
    }
}
