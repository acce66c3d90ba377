//! Arrays read at any place: plain, and packed at one width as the store has them.

use storage::codec::bits::{self, pack, width_of};

use super::{Degrees, Index};

/// The offsets of every node from the first to the last, and the end.
pub(super) fn dense_offsets(degrees: &Degrees) -> (u64, Vec<u64>) {
    let first = degrees.first().map_or(0, |(node, _)| *node);
    let last = degrees.last().map_or(0, |(node, _)| *node);
    let mut offsets = vec![0; (last - first) as usize + 2];
    degrees.iter().for_each(|(node, degree)| offsets[(node - first) as usize + 1] = u64::from(*degree));
    let mut sum = 0;
    offsets.iter_mut().for_each(|offset| {
        sum += *offset;
        *offset = sum;
    });
    (u64::from(first), offsets)
}

/// The offsets of the nodes that have edges, and the end.
pub(super) fn sparse_offsets(degrees: &Degrees) -> Vec<u64> {
    let ends = degrees.iter().scan(0, |sum, (_, degree)| {
        *sum += u64::from(*degree);
        Some(*sum)
    });
    std::iter::once(0).chain(ends).collect()
}

pub(super) fn slot_in(first: u64, slots: usize, node: u64) -> Option<usize> {
    node.checked_sub(first).map(|slot| slot as usize).filter(|slot| *slot < slots)
}

/// Eight bytes for every node.
pub(super) struct PlainDense {
    first: u64,
    offsets: Vec<u64>,
}

impl PlainDense {
    pub(super) fn new(degrees: &Degrees) -> PlainDense {
        let (first, offsets) = dense_offsets(degrees);
        PlainDense { first, offsets }
    }
}

impl Index for PlainDense {
    fn bytes(&self) -> usize {
        self.offsets.len() * 8
    }
    fn run(&self, node: u64) -> (u64, u64) {
        let slot = slot_in(self.first, self.offsets.len() - 1, node);
        slot.map_or((0, 0), |slot| (self.offsets[slot], self.offsets[slot + 1]))
    }
    fn node_at(&self, position: u64) -> u64 {
        self.first + self.offsets.partition_point(|offset| *offset <= position) as u64 - 1
    }
}

/// Four bytes of id and eight of offset for every node with edges.
pub(super) struct PlainSparse {
    nodes: Vec<u32>,
    offsets: Vec<u64>,
}

impl PlainSparse {
    pub(super) fn new(degrees: &Degrees) -> PlainSparse {
        PlainSparse { nodes: degrees.iter().map(|(node, _)| *node).collect(), offsets: sparse_offsets(degrees) }
    }
}

impl Index for PlainSparse {
    fn bytes(&self) -> usize {
        self.nodes.len() * 4 + self.offsets.len() * 8
    }
    fn run(&self, node: u64) -> (u64, u64) {
        let slot = self.nodes.binary_search(&(node as u32));
        slot.map_or((0, 0), |slot| (self.offsets[slot], self.offsets[slot + 1]))
    }
    fn node_at(&self, position: u64) -> u64 {
        u64::from(self.nodes[self.offsets.partition_point(|offset| *offset <= position) - 1])
    }
}

/// A packed array.
struct Packed {
    width: u8,
    bytes: Vec<u8>,
}

impl Packed {
    fn new(entries: impl ExactSizeIterator<Item = u64>, max: u64) -> Packed {
        let (width, mut bytes) = (width_of(max), Vec::new());
        pack(entries, width, &mut bytes);
        Packed { width, bytes }
    }

    fn get(&self, index: usize) -> u64 {
        bits::Packed::new(&self.bytes, self.width).get(index)
    }
}

/// Number of the first `count` entries that are not above a value; they ascend.
fn count_up_to(count: usize, value: u64, get: impl Fn(usize) -> u64) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if get(middle) <= value {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The dense form of the store.
pub(super) struct PackedDense {
    first: u64,
    slots: usize,
    offsets: Packed,
}

impl PackedDense {
    pub(super) fn new(degrees: &Degrees) -> PackedDense {
        let (first, offsets) = dense_offsets(degrees);
        let (slots, max) = (offsets.len() - 1, offsets[offsets.len() - 1]);
        PackedDense { first, slots, offsets: Packed::new(offsets.into_iter(), max) }
    }
}

impl Index for PackedDense {
    fn bytes(&self) -> usize {
        self.offsets.bytes.len()
    }
    fn run(&self, node: u64) -> (u64, u64) {
        let slot = slot_in(self.first, self.slots, node);
        slot.map_or((0, 0), |slot| (self.offsets.get(slot), self.offsets.get(slot + 1)))
    }
    fn node_at(&self, position: u64) -> u64 {
        self.first + count_up_to(self.slots, position, |slot| self.offsets.get(slot)) as u64 - 1
    }
}

/// The sparse form of the store, searched by halving.
pub(super) struct PackedSparse {
    first: u64,
    slots: usize,
    keys: Packed,
    offsets: Packed,
}

impl PackedSparse {
    pub(super) fn new(degrees: &Degrees) -> PackedSparse {
        let (first, last) = (degrees[0].0, degrees[degrees.len() - 1].0);
        let offsets = sparse_offsets(degrees);
        let max = offsets[degrees.len()];
        let keys = degrees.iter().map(|(node, _)| u64::from(node - first));
        PackedSparse {
            first: u64::from(first),
            slots: degrees.len(),
            keys: Packed::new(keys, u64::from(last - first)),
            offsets: Packed::new(offsets.into_iter(), max),
        }
    }
}

impl Index for PackedSparse {
    fn bytes(&self) -> usize {
        self.keys.bytes.len() + self.offsets.bytes.len()
    }
    fn run(&self, node: u64) -> (u64, u64) {
        let Some(key) = node.checked_sub(self.first) else { return (0, 0) };
        match count_up_to(self.slots, key, |slot| self.keys.get(slot)).checked_sub(1) {
            Some(slot) if self.keys.get(slot) == key => (self.offsets.get(slot), self.offsets.get(slot + 1)),
            _ => (0, 0),
        }
    }
    fn node_at(&self, position: u64) -> u64 {
        self.first + self.keys.get(count_up_to(self.slots, position, |slot| self.offsets.get(slot)) - 1)
    }
}
