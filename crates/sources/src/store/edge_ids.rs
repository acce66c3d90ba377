//! The ids of edges, given by a view as it meets them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Consumer, EdgeId, Map, MemoryBudget, NodeId, Reservation, Result};

use super::layout::ListKind;

/// The name of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EdgeName {
    /// Its kind.
    pub(crate) edge: u32,
    /// Its place among the edges that agree in all the rest.
    pub(crate) ordinal: u32,
    /// Its ends.
    pub(crate) source: NodeId,
    pub(crate) target: NodeId,
    /// The number of its own key, if the kind has keys.
    pub(crate) key: u64,
}

/// An edge and where it was met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetEdge {
    pub(crate) name: EdgeName,
    pub(crate) list: ListKind,
    /// The numbers of the keys of the near and the far node.
    pub(crate) near: u64,
    pub(crate) far: u64,
}

/// The edges that a view gave ids to.
pub(crate) struct EdgeNames {
    member: u8,
    inner: Mutex<Inner>,
}

struct Inner {
    numbers: Map<EdgeName, u64>,
    names: Vec<MetEdge>,
    held: Reservation,
}

/// Bytes of an edge: an entry in the map and one in the list.
const EDGE_BYTES: usize = 40 + size_of::<(EdgeName, u64)>() + size_of::<MetEdge>();

impl EdgeNames {
    pub(crate) fn new(member: u8, memory: &Arc<MemoryBudget>) -> EdgeNames {
        let held = memory.empty(Consumer::SourceCache);
        EdgeNames { member, inner: Mutex::new(Inner { numbers: Map::default(), names: Vec::new(), held }) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the ids of edges to `out`.
    pub(crate) fn number(&self, edges: impl ExactSizeIterator<Item = MetEdge>, out: &mut Vec<EdgeId>) -> Result<()> {
        let mut inner = self.inner();
        let inner = &mut *inner;
        inner.held.cover((inner.names.len() + edges.len()) * EDGE_BYTES)?;
        for edge in edges {
            let next = inner.names.len() as u64;
            let number = *inner.numbers.entry(edge.name).or_insert(next);
            if number == next {
                inner.names.push(edge);
            }
            out.push(EdgeId(u64::from(self.member) << 56 | number));
        }
        Ok(())
    }

    /// The edges of ids; `None` for ids that this view did not give.
    pub(crate) fn edges(&self, edges: &[EdgeId]) -> Vec<Option<MetEdge>> {
        let inner = self.inner();
        let edge = |edge: &EdgeId| {
            let number = edge.0 & ((1 << 56) - 1);
            (edge.0 >> 56 == u64::from(self.member)).then(|| inner.names.get(number as usize).copied()).flatten()
        };
        edges.iter().map(edge).collect()
    }
}
