//! Distances to one end: how many edges a path needs at least from a node, whatever part of the pattern it is in.
//!
//! A breadth-first search from the end along all edges that any part may follow, in the other direction and without
//! asking conditions. It grows only as far as somebody asks, so it is as large as the neighbourhood asked for; what does
//! not fit into memory is in temporary files.

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, Expand, NodeId, ReadView, Result};

use super::pattern::Pattern;
use crate::adjacency::expansion;
use crate::runtime::Runtime;
use crate::spill::{NodeNumbers, Records};

/// See the module.
pub(super) struct Bounds<'b, 'r> {
    runtime: &'b Runtime<'r>,
    expansions: Vec<Expand>,
    depths: NodeNumbers<'r>,
    frontier: Records<'r, NodeId>,
    radius: u32,
    batch: EdgeBatch,
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
pub(super) fn reachable<'r>(pattern: &Pattern, runtime: &Runtime<'r>, start: NodeId) -> Result<Records<'r, NodeId>> {
    let expansions = expansions(pattern, runtime.view().view(), false);
    let mut from_start = Bounds::from(runtime, expansions, start)?;
    let mut nodes = from_start.frontier.another();
    nodes.push(start)?;
    while u64::from(from_start.radius) < pattern.greatest_length() && !from_start.frontier.is_empty() {
        from_start.grow()?;
        nodes.append(&mut from_start.frontier)?;
    }
    Ok(nodes)
}

impl<'b, 'r> Bounds<'b, 'r> {
    pub(super) fn new(pattern: &Pattern, runtime: &'b Runtime<'r>, end: NodeId) -> Result<Bounds<'b, 'r>> {
        let expansions = expansions(pattern, runtime.view().view(), true);
        Bounds::from(runtime, expansions, end)
    }

    fn from(runtime: &'b Runtime<'r>, expansions: Vec<Expand>, node: NodeId) -> Result<Bounds<'b, 'r>> {
        let charge = runtime.charge("PathSearch");
        let mut frontier = Records::new(charge.another());
        frontier.push(node)?;
        let mut depths = NodeNumbers::new(charge, runtime.view().view());
        depths.put(node, 0)?;
        Ok(Bounds { runtime, expansions, depths, frontier, radius: 0, batch: EdgeBatch::default() })
    }

    /// The fewest edges from a node to the end, if that is known to be at most `within`. Otherwise it is more, or there
    /// is no way at all: then `None` is final.
    pub(super) fn distance(&mut self, node: NodeId, within: u64) -> Result<Distance> {
        loop {
            if let Some(depth) = self.depths.get(node)? {
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
        let next = self.frontier.another();
        let mut frontier = std::mem::replace(&mut self.frontier, next);
        self.radius += 1;
        let guard = self.runtime.view();
        let (mut buffer, mut new) = (Vec::new(), Vec::new());
        for expand in &self.expansions {
            let mut place = 0;
            while place < frontier.len() {
                let nodes = frontier.piece(place, &mut buffer)?;
                place += nodes.len() as u64;
                let mut cursor = guard.view().expand(nodes, expand)?;
                while cursor.next(&mut self.batch)? {
                    self.runtime.environment.interrupt.check()?;
                    new.clear();
                    self.depths.put_all(&self.batch.neighbors, self.radius, &mut new)?;
                    self.frontier.extend(&new)?;
                }
            }
        }
        Ok(())
    }
}

/// The distance of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    /// At least this number of edges, and such a way along edges of the pattern exists.
    Exactly(u64),
    /// More than that.
    Above(u64),
    /// There is no way.
    Never,
}
