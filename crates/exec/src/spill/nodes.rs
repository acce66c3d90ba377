//! Facts about nodes that a search keeps, whether they fit into memory or not: a set of nodes, or a number for each.
//!
//! Ids below the bound of a store with dense ids are places in pages of bits or numbers; others are found in a hash
//! table on pages. Either gives the answers that a table in memory gives.

mod slots;

use std::collections::hash_map::Entry;

use model::{Map, NodeId, ReadView, Result};

use super::pages::{PAGE_BYTES, Pages};
use crate::memory::Charge;
use crate::visited::{Visited, fits};
use slots::Slots;

/// Bytes of an entry of a table in memory, with what a hash table keeps free.
const ENTRY_BYTES: usize = 24;
/// Entries for which room is made first.
const FIRST_ENTRIES: usize = 3;
/// Entries that are taken from a table in memory at a time, to be sorted.
const BATCH_ENTRIES: usize = 1 << 10;

/// The entry that is kept for each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// That it is there.
    Bit,
    /// A number.
    Number,
}

/// A table of nodes on pages.
pub(crate) struct PagedNodes<'m> {
    charge: Charge<'m>,
    /// Ids below it are dense.
    bound: u64,
    width: Width,
    near: Pages<'m>,
    far: Option<Slots<'m>>,
    /// The nodes of a batch by the pages where they belong.
    order: Vec<(u64, u32)>,
}

impl<'m> PagedNodes<'m> {
    /// An empty set.
    pub(crate) fn set(charge: Charge<'m>, view: &dyn ReadView) -> PagedNodes<'m> {
        PagedNodes::new(charge, dense_bound(view), Width::Bit)
    }

    fn new(charge: Charge<'m>, bound: u64, width: Width) -> PagedNodes<'m> {
        let near = Pages::of_table(charge.another());
        PagedNodes { charge, bound, width, near, far: None, order: Vec::new() }
    }

    /// Calls `work` for each node of a batch, those of one page one after the other, and those that are one node in their
    /// order.
    fn by_page(
        &mut self,
        nodes: &[NodeId],
        mut work: impl FnMut(&mut PagedNodes<'m>, usize) -> Result<()>,
    ) -> Result<()> {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(nodes.iter().enumerate().map(|(index, &node)| (self.page_of(node), index as u32)));
        order.sort_unstable();
        for &(_, index) in &order {
            work(self, index as usize)?;
        }
        self.order = order;
        Ok(())
    }

    fn page_of(&self, node: NodeId) -> u64 {
        if node.0 >= self.bound {
            return self.far.as_ref().map_or(u64::MAX, |far| far.page_of(node.0));
        }
        match self.width {
            Width::Bit => bit_of(node).0,
            Width::Number => number_of(node).0,
        }
    }

    /// Keeps a number for those nodes that have none yet, and gives these to `new`.
    pub(crate) fn put_all(&mut self, nodes: &[NodeId], number: u32, new: &mut Vec<NodeId>) -> Result<()> {
        let mut are_new = vec![false; nodes.len()];
        self.by_page(nodes, |paged, index| {
            are_new[index] = paged.put(nodes[index], number)?.is_none();
            Ok(())
        })?;
        new.extend(nodes.iter().zip(are_new).filter_map(|(&node, is_new)| is_new.then_some(node)));
        Ok(())
    }

    /// The number of each node, if it has one.
    pub(crate) fn get_all(&mut self, nodes: &[NodeId], numbers: &mut Vec<Option<u32>>) -> Result<()> {
        numbers.clear();
        numbers.resize(nodes.len(), None);
        self.by_page(nodes, |paged, index| {
            numbers[index] = paged.get(nodes[index])?;
            Ok(())
        })
    }

    /// Adds a node; true if it is new.
    pub(crate) fn insert(&mut self, node: NodeId) -> Result<bool> {
        Ok(self.put(node, 0)?.is_none())
    }

    /// True if a node is there.
    pub(crate) fn contains(&mut self, node: NodeId) -> Result<bool> {
        Ok(self.get(node)?.is_some())
    }

    /// Adds all nodes of a set.
    pub(crate) fn insert_set(&mut self, set: &mut Visited) -> Result<()> {
        set.for_each(&mut |node| self.insert(node).map(|_| ()))
    }

    fn get(&mut self, node: NodeId) -> Result<Option<u32>> {
        if node.0 >= self.bound {
            return self.far.as_mut().map_or(Ok(None), |far| far.get(node.0));
        }
        Ok(match self.width {
            Width::Bit => {
                let (page, at, bit) = bit_of(node);
                (self.near.read(page)?[at] & bit != 0).then_some(0)
            }
            Width::Number => {
                let (page, at) = number_of(node);
                number_at(self.near.read(page)?, at).checked_sub(1)
            }
        })
    }

    /// Keeps a number for a node that has none yet, and gives that which it has.
    fn put(&mut self, node: NodeId, number: u32) -> Result<Option<u32>> {
        if node.0 >= self.bound {
            let far = self.far.get_or_insert_with(|| Slots::new(self.charge.another()));
            return far.put(node.0, number);
        }
        let known = self.get(node)?;
        if known.is_none() {
            match self.width {
                Width::Bit => {
                    let (page, at, bit) = bit_of(node);
                    self.near.write(page)?[at] |= bit;
                }
                Width::Number => {
                    let (page, at) = number_of(node);
                    put_number(self.near.write(page)?, at, number + 1);
                }
            }
        }
        Ok(known)
    }
}

/// The page of a node, the place of its byte there, and its bit.
fn bit_of(node: NodeId) -> (u64, usize, u8) {
    let byte = node.0 / 8;
    (byte / PAGE_BYTES as u64, byte as usize % PAGE_BYTES, 1 << (node.0 % 8))
}

/// The page of a node, and the place of its number there.
fn number_of(node: NodeId) -> (u64, usize) {
    let numbers = PAGE_BYTES as u64 / 4;
    (node.0 / numbers, (node.0 % numbers) as usize * 4)
}

fn number_at(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(page[at..at + 4].try_into().expect("four bytes"))
}

fn put_number(page: &mut [u8], at: usize, number: u32) {
    page[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

fn dense_bound(view: &dyn ReadView) -> u64 {
    if view.capabilities().dense_node_ids { view.node_id_bound() } else { 0 }
}

/// A number for each node of a search.
pub(crate) struct NodeNumbers<'m> {
    charge: Charge<'m>,
    bound: u64,
    kind: Kind<'m>,
}

enum Kind<'m> {
    Memory(Map<NodeId, u32>),
    Paged(Box<PagedNodes<'m>>),
}

impl<'m> NodeNumbers<'m> {
    /// No nodes.
    pub(crate) fn new(charge: Charge<'m>, view: &dyn ReadView) -> NodeNumbers<'m> {
        NodeNumbers { charge, bound: dense_bound(view), kind: Kind::Memory(Map::default()) }
    }

    /// The number of a node, if it has one.
    #[inline]
    pub(crate) fn get(&mut self, node: NodeId) -> Result<Option<u32>> {
        match &mut self.kind {
            Kind::Memory(map) => Ok(map.get(&node).copied()),
            Kind::Paged(paged) => paged.get(node),
        }
    }

    /// The number of each node, if it has one.
    pub(crate) fn get_all(&mut self, nodes: &[NodeId], numbers: &mut Vec<Option<u32>>) -> Result<()> {
        match &mut self.kind {
            Kind::Memory(map) => {
                numbers.clear();
                numbers.extend(nodes.iter().map(|node| map.get(node).copied()));
                Ok(())
            }
            Kind::Paged(paged) => paged.get_all(nodes, numbers),
        }
    }

    /// Keeps a number for those nodes that have none yet, and gives these to `new`, in their order.
    pub(crate) fn put_all(&mut self, nodes: &[NodeId], number: u32, new: &mut Vec<NodeId>) -> Result<()> {
        for (index, &node) in nodes.iter().enumerate() {
            if let Kind::Paged(paged) = &mut self.kind {
                return paged.put_all(&nodes[index..], number, new);
            }
            if self.put(node, number)?.is_none() {
                new.push(node);
            }
        }
        Ok(())
    }

    /// Keeps a number below `u32::MAX` for a node that has none yet, and gives that which it has.
    #[inline]
    pub(crate) fn put(&mut self, node: NodeId, number: u32) -> Result<Option<u32>> {
        if let Kind::Memory(map) = &mut self.kind {
            if map.len() < map.capacity() {
                return Ok(put_into(map, node, number));
            }
            self.make_room()?;
        }
        match &mut self.kind {
            Kind::Memory(map) => Ok(put_into(map, node, number)),
            Kind::Paged(paged) => paged.put(node, number),
        }
    }

    #[cold]
    fn make_room(&mut self) -> Result<()> {
        let Kind::Memory(map) = &mut self.kind else { return Ok(()) };
        let wanted = (2 * map.capacity()).max(FIRST_ENTRIES);
        if fits(&mut self.charge, wanted * ENTRY_BYTES) {
            map.reserve(wanted - map.len());
            return Ok(());
        }
        let mut paged = PagedNodes::new(self.charge.another(), self.bound, Width::Number);
        let mut entries = std::mem::take(map).into_iter();
        let mut batch: Vec<(NodeId, u32)> = Vec::new();
        loop {
            batch.clear();
            batch.extend(entries.by_ref().take(BATCH_ENTRIES));
            if batch.is_empty() {
                break;
            }
            batch.sort_unstable();
            for &(node, number) in &batch {
                paged.put(node, number)?;
            }
        }
        drop(entries);
        self.charge.count(0);
        self.kind = Kind::Paged(Box::new(paged));
        Ok(())
    }
}

fn put_into(map: &mut Map<NodeId, u32>, node: NodeId, number: u32) -> Option<u32> {
    match map.entry(node) {
        Entry::Occupied(entry) => Some(*entry.get()),
        Entry::Vacant(entry) => {
            entry.insert(number);
            None
        }
    }
}

/// The nodes that a search has met.
pub(crate) struct NodeSet<'m> {
    charge: Charge<'m>,
    kind: SetKind<'m>,
}

enum SetKind<'m> {
    Memory(Visited),
    Paged(Box<PagedNodes<'m>>),
}

impl<'m> NodeSet<'m> {
    /// No nodes.
    pub(crate) fn new(charge: Charge<'m>, view: &dyn ReadView) -> NodeSet<'m> {
        NodeSet { charge, kind: SetKind::Memory(Visited::new(view)) }
    }

    /// Adds a node; true if it is new. [`NodeSet::settle`] is to be called now and then.
    #[inline]
    pub(crate) fn insert(&mut self, node: NodeId) -> Result<bool> {
        match &mut self.kind {
            SetKind::Memory(visited) => Ok(visited.insert(node)),
            SetKind::Paged(paged) => paged.insert(node),
        }
    }

    /// Adds nodes, and gives those that are new to `new`. [`NodeSet::settle`] is to be called now and then.
    pub(crate) fn insert_all(&mut self, nodes: &[NodeId], new: &mut Vec<NodeId>) -> Result<()> {
        match &mut self.kind {
            SetKind::Memory(visited) => visited.insert_all(nodes, new),
            SetKind::Paged(paged) => paged.put_all(nodes, 0, new)?,
        }
        Ok(())
    }

    /// True if a node is in it.
    #[inline]
    pub(crate) fn contains(&mut self, node: NodeId) -> Result<bool> {
        match &mut self.kind {
            SetKind::Memory(visited) => Ok(visited.contains(node)),
            SetKind::Paged(paged) => paged.contains(node),
        }
    }

    /// Says what is held, and leaves memory if that is too much.
    pub(crate) fn settle(&mut self, view: &dyn ReadView) -> Result<()> {
        let SetKind::Memory(visited) = &mut self.kind else { return Ok(()) };
        if fits(&mut self.charge, visited.byte_count()) {
            return Ok(());
        }
        let mut paged = PagedNodes::set(self.charge.another(), view);
        paged.insert_set(visited)?;
        self.kind = SetKind::Paged(Box::new(paged));
        self.charge.count(0);
        Ok(())
    }

    /// Takes all nodes out.
    pub(crate) fn clear(&mut self, view: &dyn ReadView) {
        match &mut self.kind {
            SetKind::Memory(visited) => visited.clear(),
            SetKind::Paged(_) => self.kind = SetKind::Memory(Visited::new(view)),
        }
    }
}

#[cfg(test)]
mod tests;
