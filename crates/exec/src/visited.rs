//! The nodes that a search has met: a bit for each node where ids are dense, else a hash set.
//!
//! Cost: a bit for each id of the store, in memory that is taken over from the search before; clearing costs what was
//! set, not what could have been.

use std::cell::RefCell;

use model::{EdgeValue, NodeId, ReadView, Result, Set, Value};

use crate::memory::Charge;

/// Most words that a thread keeps for its next search.
const SPARE_WORDS_MAX: usize = 1 << 20;
/// Words of a page of memory.
const PAGE_WORDS: usize = 512;
/// Most lists of words that a thread keeps.
const SPARES_MAX: usize = 4;

/// Bytes that a search may hold whatever the limit of its query: what work needs in any case.
const SEARCH_BYTES: usize = 64 << 10;

/// Sets the reservation of a search to `bytes`; fails if that is more than a little and more than the query may hold.
pub(crate) fn hold(charge: &mut Charge<'_>, bytes: usize) -> Result<()> {
    if bytes > SEARCH_BYTES {
        return charge.hold(bytes);
    }
    charge.count(bytes);
    Ok(())
}

/// True if a search may hold that many bytes, for what spills otherwise; they are held then. Up to `SEARCH_BYTES` are
/// never refused, unless the limit of the query is lower.
pub(crate) fn fits(charge: &mut Charge<'_>, bytes: usize) -> bool {
    if bytes == charge.bytes() {
        return true;
    }
    if bytes <= SEARCH_BYTES.min(charge.memory().limit()) {
        charge.count(bytes);
        return true;
    }
    charge.try_hold(bytes).is_ok()
}

/// Sets the reservation for a path of `length` edges to `bytes`: a path cannot spill, because it is a row or about to
/// become one.
pub(crate) fn hold_path(charge: &mut Charge<'_>, length: usize, bytes: usize) -> Result<()> {
    hold(charge, bytes).map_err(|refusal| refusal.within(&format!("a path of {length} relationships")))
}

/// Bytes of a path of `length` edges while it is made: its nodes, its edges, and the list of these.
pub(crate) fn path_bytes(length: usize) -> usize {
    length * (size_of::<NodeId>() + size_of::<EdgeValue>() + size_of::<Value>())
}

/// True if paths on their way to the next operator fill a batch: by their number, or by the bytes of their edges.
pub(crate) fn is_batch_full(rows: usize, batch_rows: usize, edges: usize) -> bool {
    rows >= batch_rows || edges * size_of::<Value>() >= BATCH_BYTES
}

/// Bytes of paths from which on a batch of them is passed on.
const BATCH_BYTES: usize = 128 << 10;

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
        // A prediction whether a node is new would often fail, so nothing branches on it: each is written, and a longer
        // end keeps it.
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

    /// True if a node is in it.
    #[inline]
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        match self.words.get((node.0 >> 6) as usize) {
            Some(word) => word & (1 << (node.0 & 63)) != 0,
            None => self.far.contains(&node),
        }
    }

    /// Takes a node out.
    pub(crate) fn remove(&mut self, node: NodeId) {
        match self.words.get_mut((node.0 >> 6) as usize) {
            Some(word) => *word &= !(1 << (node.0 & 63)),
            None => {
                self.far.remove(&node);
            }
        }
    }

    /// Shows all nodes, those with a bit in order.
    pub(crate) fn for_each(&mut self, each: &mut dyn FnMut(NodeId) -> Result<()>) -> Result<()> {
        // A word that became zero again may have been noted twice.
        self.dirty.sort_unstable();
        self.dirty.dedup();
        for &at in &self.dirty {
            let mut left = self.words[at as usize];
            while left != 0 {
                each(NodeId(u64::from(at) << 6 | u64::from(left.trailing_zeros())))?;
                left &= left - 1;
            }
        }
        self.far.iter().try_for_each(|&node| each(node))
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
            visited.remove(NodeId(64));
            assert!(!visited.contains(NodeId(64)) && visited.insert(NodeId(64)));
            visited.insert_all(&[u64::MAX, 127, 3].map(NodeId), &mut Vec::new());
            let mut all = Vec::new();
            let mut each = |node| {
                all.push(node);
                Ok(())
            };
            visited.for_each(&mut each).expect("nothing fails");
            assert_eq!(all, [3, 64, 127, u64::MAX].map(NodeId));
            visited.clear();
        }
    }
}
