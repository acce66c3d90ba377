//! Distances to one end: how many edges a path needs at least from a node, whatever part of the pattern it is in.
//!
//! A breadth-first search from the end along all edges that any part may follow, in the other direction and without
//! asking conditions. It grows only as far as somebody asks, so its memory is that of the neighbourhood asked for.

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, Expand, Map, NodeId, ReadView, Result};

use super::pattern::Pattern;
use crate::adjacency::expansion;
use crate::memory::Charge;
use crate::runtime::Runtime;
use crate::visited::hold;

/// Bytes of an entry of the table of distances, with what a hash table keeps free.
const ENTRY_BYTES: usize = 32;

/// See the module.
pub(super) struct Bounds<'b, 'r> {
    runtime: &'b Runtime<'r>,
    expansions: Vec<Expand>,
    depths: Map<NodeId, u32>,
    frontier: Vec<NodeId>,
    radius: u32,
    charge: Charge<'r>,
}

/// The edges that any part may follow, without repetition.
fn expansions(pattern: &Pattern, view: &dyn ReadView, is_turned: bool) -> Vec<Expand> {
    let mut known: Vec<(Direction, &[std::sync::Arc<str>])> = Vec::new();
    let mut all = Vec::new();
    for hop in pattern.elements.iter().flat_map(|element| &element.hops) {
        let direction = if is_turned { hop.direction.reverse() } else { hop.direction };
        if known.contains(&(direction, hop.types.as_slice())) {
            continue;
        }
        known.push((direction, &hop.types));
        all.extend(expansion(view, direction, &hop.types, EdgeIds::Omit));
    }
    all
}

/// The nodes at which paths from a node may end, near ones first.
pub(super) fn reachable(pattern: &Pattern, runtime: &Runtime<'_>, start: NodeId) -> Result<Vec<NodeId>> {
    let expansions = expansions(pattern, runtime.view().view(), false);
    let mut from_start = Bounds::from(runtime, expansions, start);
    let mut nodes = vec![start];
    while u64::from(from_start.radius) < pattern.greatest_length() && !from_start.frontier.is_empty() {
        from_start.grow()?;
        nodes.extend_from_slice(&from_start.frontier);
    }
    Ok(super::in_order(nodes))
}

impl<'b, 'r> Bounds<'b, 'r> {
    pub(super) fn new(pattern: &Pattern, runtime: &'b Runtime<'r>, end: NodeId) -> Bounds<'b, 'r> {
        let expansions = expansions(pattern, runtime.view().view(), true);
        Bounds::from(runtime, expansions, end)
    }

    fn from(runtime: &'b Runtime<'r>, expansions: Vec<Expand>, node: NodeId) -> Bounds<'b, 'r> {
        let depths = [(node, 0)].into_iter().collect();
        let charge = runtime.charge("PathSearch");
        Bounds { runtime, expansions, depths, frontier: vec![node], radius: 0, charge }
    }

    /// The fewest edges from a node to the end, if that is known to be at most `within`. Otherwise it is more, or there
    /// is no way at all: then `None` is final.
    pub(super) fn distance(&mut self, node: NodeId, within: u64) -> Result<Distance> {
        loop {
            if let Some(&depth) = self.depths.get(&node) {
                return Ok(Distance::Exactly(depth.into()));
            }
            if self.frontier.is_empty() {
                return Ok(Distance::Never);
            }
            if u64::from(self.radius) >= within {
                return Ok(Distance::Above(self.radius.into()));
            }
            self.grow()?;
        }
    }

    fn grow(&mut self) -> Result<()> {
        let frontier = std::mem::take(&mut self.frontier);
        self.radius += 1;
        let guard = self.runtime.view();
        let mut batch = EdgeBatch::default();
        for expand in &self.expansions {
            let mut cursor = guard.view().expand(&frontier, expand)?;
            while cursor.next(&mut batch)? {
                self.runtime.environment.interrupt.check()?;
                for &node in &batch.neighbors {
                    if let std::collections::hash_map::Entry::Vacant(entry) = self.depths.entry(node) {
                        entry.insert(self.radius);
                        self.frontier.push(node);
                    }
                }
                hold(&mut self.charge, ENTRY_BYTES * self.depths.capacity() + 8 * self.frontier.capacity())?;
            }
        }
        Ok(())
    }
}

/// How far an end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    /// So many edges at least, and there is such a way along edges of the pattern.
    Exactly(u64),
    /// More than that.
    Above(u64),
    /// There is no way.
    Never,
}
