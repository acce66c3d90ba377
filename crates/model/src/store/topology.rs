//! The state of a view, and of its edges alone, named, so that what was made of them can be kept and mended.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::id::{EdgeTypeId, NodeId};
use crate::mix::mix64;

/// Names the state of all that a view reads: as long as a store is open, two views with equal names read the same, save
/// that a store that may answer from what it read earlier may answer from what it read at different times.
///
/// Different names say nothing. A name means nothing to another process, or after the store was opened anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The store, as long as it is open: a number of [`Moment::next_store`].
    pub store: u64,
    /// The state, among those of the store.
    pub number: u64,
}

impl Moment {
    /// A number that no other store of this process has.
    pub fn next_store() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// The name of several states together; none if one has none.
    pub fn joined(moments: impl IntoIterator<Item = Option<Moment>>) -> Option<Moment> {
        let mut joined = Moment { store: u64::MAX, number: 0 };
        for moment in moments {
            let moment = moment?;
            // Two independent mixes: that both meet by chance is as likely as that memory fails.
            joined.store = mix64(joined.store ^ mix64(moment.store).rotate_left(1)) ^ moment.number;
            joined.number =
                mix64(joined.number.wrapping_add(mix64(moment.number ^ 0x5851_F42D_4C95_7F2D)) ^ moment.store);
        }
        Some(joined)
    }
}

/// Age of the data that a view gives out, by the clock of the store. By default the data is as new as can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// When the oldest of what was given out so far was read.
    pub oldest_ns: u64,
    /// Oldest time of reading that is given out: data that was read before this is not.
    pub since_ns: u64,
}

impl Default for Freshness {
    fn default() -> Freshness {
        Freshness { oldest_ns: u64::MAX, since_ns: 0 }
    }
}

/// Names the state of the edges of a view: as long as a store is open, two views with equal names have equal edges.
///
/// Different names say nothing. Nodes are not covered: those without edges may come and go, and labels and properties of
/// nodes may change, under the same name. A name means nothing to another process, or after the store was opened anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topology {
    /// The store, as long as it is open and its edges have one history: an import begins another.
    pub store: u64,
    /// The state of the edges: which there are, their types and ends. Later states have larger numbers.
    pub edges: u64,
    /// The state of the properties of the edges: with equal `edges` and equal `properties` their values are equal too.
    pub properties: u64,
}

impl Topology {
    /// True if the edges are surely the same: which there are, their types and ends. Their properties may differ.
    pub fn has_same_edges(&self, other: &Topology) -> bool {
        (self.store, self.edges) == (other.store, other.edges)
    }
}

/// The edges that came and went between two states, as type, source and target; each list in that order. What came and
/// went again is in neither; parallel edges are listed as often as there are more, or fewer, of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeDelta {
    /// Edges that came.
    pub added: Vec<(EdgeTypeId, NodeId, NodeId)>,
    /// Edges that went.
    pub deleted: Vec<(EdgeTypeId, NodeId, NodeId)>,
}

impl EdgeDelta {
    /// Edges that came and went, in any order.
    pub fn of(
        mut added: Vec<(EdgeTypeId, NodeId, NodeId)>,
        mut deleted: Vec<(EdgeTypeId, NodeId, NodeId)>,
    ) -> EdgeDelta {
        added.sort_unstable();
        deleted.sort_unstable();
        let mut delta = EdgeDelta::default();
        let mut gone = deleted.into_iter().peekable();
        for edge in added {
            while let Some(before) = gone.next_if(|other| *other < edge) {
                delta.deleted.push(before);
            }
            if gone.next_if_eq(&edge).is_none() {
                delta.added.push(edge);
            }
        }
        delta.deleted.extend(gone);
        delta
    }

    /// True if the edges are the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.deleted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{EdgeDelta, EdgeTypeId, NodeId};

    #[test]
    fn what_came_and_went_is_in_neither_list() {
        let edge = |source, target| (EdgeTypeId(0), NodeId(source), NodeId(target));
        let delta = EdgeDelta::of(
            vec![edge(5, 5), edge(1, 2), edge(1, 2), edge(3, 4)],
            vec![edge(9, 9), edge(1, 2), edge(0, 0), edge(5, 5), edge(5, 5)],
        );
        assert_eq!(delta.added, [edge(1, 2), edge(3, 4)]);
        assert_eq!(delta.deleted, [edge(0, 0), edge(5, 5), edge(9, 9)]);
    }
}
