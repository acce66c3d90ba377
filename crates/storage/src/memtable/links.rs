//! Edges that are only ever added, and for each node lists of those that start and that end there, newest first.
//!
//! One writer adds while readers read: each reader knows how many edges its snapshot has, and passes over those that came
//! later, which stand at the beginnings of the lists. So a snapshot costs nothing, and adding an edge copies nothing.
//!
//! Invariant: a reader is given an edge's number only after the edge was added, by whatever handed it the snapshot; a list
//! that it finds begins with an edge that is whole, since the beginning is stored last and read first.
//! Cost: an edge takes 64 bytes and its properties, a node with edges 32 to 64 bytes for each direction.

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
const FIRST_CHUNK_BITS: u32 = 2;
const CHUNKS: usize = (32 - FIRST_CHUNK_BITS) as usize;

/// The edges themselves.
#[derive(Debug)]
struct Slots {
    /// The ordinal of the first.
    first: u32,
    len: AtomicU32,
    few: Chunk,
    /// The chunks behind the first. Most transactions have none, and make and drop nothing for them.
    more: OnceLock<Box<[Chunk; CHUNKS - 1]>>,
}

type Chunk = OnceLock<Box<[Slot]>>;

impl Slots {
    fn new(first: u32) -> Slots {
        Slots { first, len: AtomicU32::new(0), few: OnceLock::new(), more: OnceLock::new() }
    }

    fn place(index: u32) -> (usize, usize) {
        let number = u64::from(index) + (1 << FIRST_CHUNK_BITS);
        let bits = number.ilog2();
        ((bits - FIRST_CHUNK_BITS) as usize, (number - (1 << bits)) as usize)
    }

    #[inline]
    fn slot(&self, ordinal: u32) -> Option<&Slot> {
        let (chunk, at) = Slots::place(ordinal.checked_sub(self.first)?);
        let chunk = match chunk {
            0 => &self.few,
            _ => self.more.get()?.get(chunk - 1)?,
        };
        chunk.get()?.get(at)
    }

    /// The slot of the next edge.
    fn next_slot(&self, index: u32) -> &Slot {
        let (chunk, at) = Slots::place(index);
        let held = match chunk {
            0 => &self.few,
            _ => &self.more.get_or_init(|| Box::new([const { Chunk::new() }; CHUNKS - 1]))[chunk - 1],
        };
        let slots = held.get_or_init(|| {
            let count = 1_usize << (chunk as u32 + FIRST_CHUNK_BITS);
            std::iter::repeat_with(Slot::default).take(count).collect()
        });
        &slots[at]
    }
}

/// For each node that has edges, the newest. Open addressing with linear probing.
#[derive(Debug)]
struct Table {
    entries: Box<[Entry]>,
    used: AtomicU32,
}

#[derive(Debug)]
struct Entry {
    /// Node and ordinal of its newest edge, or `FREE`.
    newest: AtomicU64,
    /// Number of edges. Only the writer reads it: snapshots may have fewer.
    count: AtomicU32,
}

const FREE: u64 = u64::MAX;
/// Entries of a table at first. Most transactions add an edge or two.
const TABLE_MIN: usize = 4;

impl Table {
    fn new(capacity: usize) -> Table {
        let free = || Entry { newest: AtomicU64::new(FREE), count: AtomicU32::new(0) };
        let entries = std::iter::repeat_with(free).take(capacity).collect();
        Table { entries, used: AtomicU32::new(0) }
    }

    #[inline]
    fn start(&self, node: u32) -> usize {
        let shift = 64 - self.entries.len().ilog2();
        (u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
    }

    /// The entry of a node, or a free one for it, and what it says is newest.
    #[inline]
    fn find(&self, node: u32, order: Ordering) -> (&Entry, u64) {
        let mask = self.entries.len() - 1;
        let mut at = self.start(node);
        loop {
            let entry = &self.entries[at];
            let newest = entry.newest.load(order);
            if newest == FREE || (newest >> 32) as u32 == node {
                return (entry, newest);
            }
            at = (at + 1) & mask;
        }
    }

    /// The newest edge of a node.
    #[inline]
    fn get(&self, node: u32) -> u32 {
        match self.find(node, Ordering::Acquire).1 {
            FREE => NONE,
            newest => newest as u32,
        }
    }

    /// The entry of a node, its newest edge, and how many it has.
    #[inline]
    fn entry(&self, node: u32) -> (&Entry, u32, u32) {
        match self.find(node, Ordering::Relaxed) {
            (entry, FREE) => (entry, NONE, 0),
            (entry, newest) => (entry, newest as u32, entry.count.load(Ordering::Relaxed)),
        }
    }

    /// Makes an edge the newest of a node, whose entry that is.
    #[inline]
    fn set(&self, entry: &Entry, node: u32, ordinal: u32, count: u32) {
        if count == 1 {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
        entry.count.store(count, Ordering::Relaxed);
        entry.newest.store(joined(node, ordinal), Ordering::Release);
    }

    fn has_room(&self, more: usize) -> bool {
        (self.used.load(Ordering::Relaxed) as usize + more) * 2 <= self.entries.len()
    }

    /// The same entries with room for more.
    fn grown(&self, more: usize) -> Table {
        let wanted = (self.used.load(Ordering::Relaxed) as usize + more) * 4;
        let table = Table::new(wanted.next_power_of_two().max(TABLE_MIN));
        for held in &self.entries {
            let newest = held.newest.load(Ordering::Relaxed);
            if newest != FREE {
                let (entry, _) = table.find((newest >> 32) as u32, Ordering::Relaxed);
                entry.newest.store(newest, Ordering::Relaxed);
                entry.count.store(held.count.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        table.used.store(self.used.load(Ordering::Relaxed), Ordering::Relaxed);
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
        let (from, before_out, outgoing) = self.sources.entry(source);
        let (to, before_in, incoming) = self.targets.entry(target);
        let slot = self.slots.next_slot(self.len);
        slot.ends.store(joined(source, target), Ordering::Relaxed);
        slot.before.store(joined(before_out, before_in), Ordering::Relaxed);
        slot.ranks.store(joined(outgoing, incoming), Ordering::Relaxed);
        slot.number.store(number, Ordering::Relaxed);
        slot.edge_type.store(link.edge_type.0, Ordering::Relaxed);
        // The slot is new: nobody has set its properties.
        let _ = slot.properties.set(properties);
        self.sources.set(from, source, ordinal, outgoing + 1);
        self.targets.set(to, target, ordinal, incoming + 1);
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
