//! Edges that are only ever added, and for each node lists of those that start and that end there, newest first.
//!
//! One writer adds while readers read: each reader knows how many edges its snapshot has, and passes over those that came
//! later, which stand at the beginnings of the lists. So a snapshot costs nothing, and adding an edge copies nothing.
//!
//! Invariant: a reader is given an edge's number only after the edge was added, by whatever handed it the snapshot; a list
//! that it finds begins with an edge that is whole, since the beginning is stored last and read first.
//! Cost: an edge takes 64 bytes and its properties, a node with edges 16 to 32 bytes for each direction.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use model::{EdgeTypeId, NodeId};

use super::properties::Properties;

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// An edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) source: NodeId,
    pub(crate) target: NodeId,
    pub(crate) edge_type: EdgeTypeId,
    pub(crate) is_deleted: bool,
}

/// One of the two lists of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Out,
    In,
}

#[derive(Debug, Default)]
struct Slot {
    /// Source and target; node ids have 32 bits.
    ends: AtomicU64,
    /// The edges added before with the same source, and with the same target.
    before: AtomicU64,
    /// Numbers of edges with the same source, and with the same target, that were added before.
    ranks: AtomicU64,
    /// Identity of the edge.
    number: AtomicU64,
    edge_type: AtomicU32,
    properties: OnceLock<Properties>,
}

/// Slots in the first chunk, as a power of two; each chunk has twice as many as the one before it.
const FIRST_CHUNK_BITS: u32 = 3;
const CHUNKS: usize = (32 - FIRST_CHUNK_BITS) as usize;

/// The edges themselves.
#[derive(Debug)]
struct Slots {
    /// The ordinal of the first.
    first: u32,
    len: AtomicU32,
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
}

impl Slots {
    fn new(first: u32) -> Slots {
        Slots { first, len: AtomicU32::new(0), chunks: std::array::from_fn(|_| OnceLock::new()) }
    }

    fn place(index: u32) -> (usize, usize) {
        let number = u64::from(index) + (1 << FIRST_CHUNK_BITS);
        let bits = number.ilog2();
        ((bits - FIRST_CHUNK_BITS) as usize, (number - (1 << bits)) as usize)
    }

    #[inline]
    fn slot(&self, ordinal: u32) -> Option<&Slot> {
        let (chunk, at) = Slots::place(ordinal.checked_sub(self.first)?);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    /// The slot of the next edge.
    fn next_slot(&self, index: u32) -> &Slot {
        let (chunk, at) = Slots::place(index);
        let slots = self.chunks[chunk].get_or_init(|| {
            let count = 1_usize << (chunk as u32 + FIRST_CHUNK_BITS);
            std::iter::repeat_with(Slot::default).take(count).collect()
        });
        &slots[at]
    }
}

/// For each node that has edges, the newest.
#[derive(Debug)]
struct Table {
    /// Node and ordinal, or `FREE`; open addressing with linear probing.
    entries: Box<[AtomicU64]>,
    used: AtomicU32,
}

const FREE: u64 = u64::MAX;
const TABLE_MIN: usize = 16;

impl Table {
    fn new(capacity: usize) -> Table {
        let entries = std::iter::repeat_with(|| AtomicU64::new(FREE)).take(capacity).collect();
        Table { entries, used: AtomicU32::new(0) }
    }

    #[inline]
    fn start(&self, node: u32) -> usize {
        let shift = 64 - self.entries.len().ilog2();
        (u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
    }

    #[inline]
    fn get(&self, node: u32) -> u32 {
        let mask = self.entries.len() - 1;
        let mut at = self.start(node);
        loop {
            let entry = self.entries[at].load(Ordering::Acquire);
            if entry == FREE {
                return NONE;
            }
            if (entry >> 32) as u32 == node {
                return entry as u32;
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes an edge the newest of a node.
    fn set(&self, node: u32, ordinal: u32) {
        let mask = self.entries.len() - 1;
        let mut at = self.start(node);
        loop {
            let entry = self.entries[at].load(Ordering::Relaxed);
            if entry == FREE || (entry >> 32) as u32 == node {
                if entry == FREE {
                    self.used.fetch_add(1, Ordering::Relaxed);
                }
                self.entries[at].store(u64::from(node) << 32 | u64::from(ordinal), Ordering::Release);
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn has_room(&self, more: usize) -> bool {
        (self.used.load(Ordering::Relaxed) as usize + more) * 2 <= self.entries.len()
    }

    /// The same entries with room for more.
    fn grown(&self, more: usize) -> Table {
        let wanted = (self.used.load(Ordering::Relaxed) as usize + more) * 4;
        let table = Table::new(wanted.next_power_of_two().max(TABLE_MIN));
        for entry in &self.entries {
            let entry = entry.load(Ordering::Relaxed);
            if entry != FREE {
                table.set((entry >> 32) as u32, entry as u32);
            }
        }
        table
    }
}

/// A set of edges as one snapshot sees it. A clone shares everything.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    slots: Arc<Slots>,
    sources: Arc<Table>,
    targets: Arc<Table>,
    /// Number of the edges that are there for this snapshot.
    len: u32,
}

impl Layer {
    /// No edges; the first will have that ordinal.
    pub(super) fn new(first: u32) -> Layer {
        let table = || Arc::new(Table::new(TABLE_MIN));
        Layer { slots: Arc::new(Slots::new(first)), sources: table(), targets: table(), len: 0 }
    }

    pub(super) fn first(&self) -> u32 {
        self.slots.first
    }

    /// One more than the last ordinal.
    pub(super) fn end(&self) -> u32 {
        self.slots.first + self.len
    }

    fn slot(&self, ordinal: u32) -> Option<&Slot> {
        if ordinal < self.end() { self.slots.slot(ordinal) } else { None }
    }

    /// The edge of an ordinal, without whether it was deleted since.
    #[inline]
    pub(super) fn get(&self, ordinal: u32) -> Option<Link> {
        let slot = self.slot(ordinal)?;
        let (source, target) = halves(slot.ends.load(Ordering::Relaxed));
        let edge_type = EdgeTypeId(slot.edge_type.load(Ordering::Relaxed));
        Some(Link { source: NodeId(source.into()), target: NodeId(target.into()), edge_type, is_deleted: false })
    }

    /// The number of the edge of an ordinal.
    #[inline]
    pub(super) fn number(&self, ordinal: u32) -> Option<u64> {
        Some(self.slot(ordinal)?.number.load(Ordering::Relaxed))
    }

    /// The properties that an edge was added with.
    #[inline]
    pub(super) fn properties(&self, ordinal: u32) -> Option<&Properties> {
        self.slot(ordinal)?.properties.get()
    }

    /// The newest edge of a node on a side.
    #[inline]
    pub(super) fn newest(&self, node: NodeId, side: Side) -> u32 {
        let Ok(node) = u32::try_from(node.0) else { return NONE };
        if self.len == 0 {
            return NONE;
        }
        let table = if side == Side::Out { &self.sources } else { &self.targets };
        let mut ordinal = table.get(node);
        while ordinal != NONE && ordinal >= self.end() {
            ordinal = self.before(ordinal, side);
        }
        ordinal
    }

    /// The edge before another in the list of a side.
    #[inline]
    pub(super) fn before(&self, ordinal: u32, side: Side) -> u32 {
        self.slots.slot(ordinal).map_or(NONE, |slot| side.half(slot.before.load(Ordering::Relaxed)))
    }

    /// Number of edges of a node on a side.
    pub(super) fn count(&self, node: NodeId, side: Side) -> u64 {
        match self.newest(node, side) {
            NONE => 0,
            newest => {
                let ranks = self.slots.slot(newest).map_or(0, |slot| slot.ranks.load(Ordering::Relaxed));
                u64::from(side.half(ranks)) + 1
            }
        }
    }

    /// Adds edges. If another snapshot of these edges was added to before, this one gets a copy of its own first.
    pub(super) fn extend(&mut self, count: usize, edges: impl Iterator<Item = (Link, u64, Properties)>) {
        if self.slots.len.load(Ordering::Relaxed) != self.len {
            *self = self.copy();
        }
        for table in [&mut self.sources, &mut self.targets] {
            if !table.has_room(count) {
                *table = Arc::new(table.grown(count));
            }
        }
        edges.for_each(|(link, number, properties)| self.push(link, number, properties));
        self.slots.len.store(self.len, Ordering::Relaxed);
    }

    fn push(&mut self, link: Link, number: u64, properties: Properties) {
        let (source, target) = (link.source.0 as u32, link.target.0 as u32);
        let ordinal = self.end();
        let before =
            [(&self.sources, source, Side::Out), (&self.targets, target, Side::In)].map(|(table, node, side)| {
                let before = table.get(node);
                let rank = self.slots.slot(before).filter(|_| before != NONE);
                (before, rank.map_or(0, |slot| side.half(slot.ranks.load(Ordering::Relaxed)) + 1))
            });
        let slot = self.slots.next_slot(self.len);
        slot.ends.store(joined(source, target), Ordering::Relaxed);
        slot.before.store(joined(before[0].0, before[1].0), Ordering::Relaxed);
        slot.ranks.store(joined(before[0].1, before[1].1), Ordering::Relaxed);
        slot.number.store(number, Ordering::Relaxed);
        slot.edge_type.store(link.edge_type.0, Ordering::Relaxed);
        // The slot is new: nobody has set its properties.
        let _ = slot.properties.set(properties);
        self.sources.set(source, ordinal);
        self.targets.set(target, ordinal);
        self.len += 1;
    }

    /// The same edges, shared with nobody.
    fn copy(&self) -> Layer {
        let mut copy = Layer::new(self.first());
        copy.extend(self.len as usize, self.iter());
        copy
    }

    /// All edges with their numbers and properties, in the order in which they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Link, u64, Properties)> {
        (self.first()..self.end()).filter_map(|ordinal| {
            let properties = self.properties(ordinal).cloned().unwrap_or_default();
            Some((self.get(ordinal)?, self.number(ordinal)?, properties))
        })
    }
}

impl Side {
    #[inline]
    fn half(self, both: u64) -> u32 {
        let (first, second) = halves(both);
        if self == Side::Out { first } else { second }
    }
}

#[inline]
fn halves(both: u64) -> (u32, u32) {
    ((both >> 32) as u32, both as u32)
}

#[inline]
fn joined(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}
