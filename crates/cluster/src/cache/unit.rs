//! Units of the cache: rows that are asked for together, and that a record of the log touches or does not.

use std::ops::Bound;
use std::sync::Arc;

use model::codec::hash::{hash_bytes, mix};

use crate::tables::Field;

/// Ids of one unit of the nodes of a label, as a power of two.
pub(crate) const BLOCK_BITS: u32 = 13;
/// Different ranges that are kept of the edges of a node of a type, and of each partition of an index.
pub(crate) const RANGES: u8 = 4;

/// Bounds of the field behind those that a unit names.
pub(crate) type Bounds = (Bound<Field>, Bound<Field>);

/// Rows that are kept together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    /// The versions of a node.
    Node(u64),
    /// The versions of an edge.
    Edge(u64),
    /// The edges of a node in one direction: of a type, or of all.
    Neighbors { is_reversed: bool, node: u64, edge_type: Option<u32> },
    /// Those of a type within bounds of their sort keys; one of a few.
    NeighborRange { is_reversed: bool, node: u64, edge_type: u32, place: u8 },
    /// Events of a label, of neighbouring ids.
    Labelled { label: u32, block: u64 },
    /// Events of an index whose entries begin with these bytes.
    Equal { index: u32, shard: u64, start: Arc<[u8]> },
    /// Events of a partition of an index within bounds; one of a few.
    EntryRange { index: u32, shard: u64, place: u8 },
}

/// Place of a range among the few that are kept.
pub(crate) fn place_of(bounds: &Bounds) -> u8 {
    let hash = |bound: &Bound<Field>| match bound {
        Bound::Included(Field::Bytes(bytes)) => hash_bytes(bytes, 1),
        Bound::Excluded(Field::Bytes(bytes)) => hash_bytes(bytes, 2),
        Bound::Included(Field::Int(number)) => mix(*number as u64 ^ 3),
        Bound::Excluded(Field::Int(number)) => mix(*number as u64 ^ 4),
        Bound::Unbounded => 5,
    };
    let both = mix(hash(&bounds.0).wrapping_mul(31).wrapping_add(hash(&bounds.1)));
    (both % u64::from(RANGES)) as u8
}

impl Unit {
    /// A hash that all units share which one row touches: those of a node and direction, of a partition of an index.
    pub(crate) fn home(&self) -> u64 {
        match self {
            Unit::Node(id) => home(1, *id, 0),
            Unit::Edge(number) => home(2, *number, 0),
            Unit::Neighbors { is_reversed, node, .. } | Unit::NeighborRange { is_reversed, node, .. } => {
                home(3 + u64::from(*is_reversed), *node, 0)
            }
            Unit::Labelled { label, block } => home(5, u64::from(*label), *block),
            Unit::Equal { index, shard, .. } | Unit::EntryRange { index, shard, .. } => {
                home(6, u64::from(*index), *shard)
            }
        }
    }

    /// A hash of the unit.
    pub(crate) fn hash(&self) -> u64 {
        match self {
            Unit::Equal { start, .. } => mix(self.home() ^ hash_bytes(start, 7)),
            _ => self.home(),
        }
    }

    /// Bytes that the unit itself takes outside of its own size.
    pub(crate) fn heap_bytes(&self) -> usize {
        if let Unit::Equal { start, .. } = self { 2 * (start.len() + 16) } else { 0 }
    }
}

fn home(kind: u64, a: u64, b: u64) -> u64 {
    mix(mix(a.wrapping_mul(8).wrapping_add(kind)) ^ b)
}
