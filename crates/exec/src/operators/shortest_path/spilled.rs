//! One shortest path through levels that do not fit into memory: what [`super::single`] does, with the nodes met and the
//! places they were met from in temporary files.
//!
//! It begins with the levels that were grown in memory, grows them in the same order and so finds the same path.

use model::{Direction, EdgeBatch, EdgeValue, Expand, NodeId, ReadView, Result};

use super::search::Search;
use super::single::{self, Frontier, cost_of, is_cheaper};
use crate::memory::Charge;
use crate::spill::{PagedNodes, Records};
use crate::visited::{hold_path, path_bytes};

/// The levels grown from one end.
struct Side<'m> {
    direction: Direction,
    is_turned: bool,
    visited: PagedNodes<'m>,
    /// All nodes met, level by level, each with the place of the one it was met from.
    met: Records<'m, (NodeId, u64)>,
    /// The nodes of the last level.
    frontier: Records<'m, NodeId>,
    depth: u64,
    cost: Option<u64>,
}

/// A node of the other side that was met, and the place of the node it was met from.
struct Meeting {
    node: NodeId,
    parent: u64,
}

impl<'r> Search<'_, 'r> {
    /// The edges of a shortest path of at least one edge, where a search stands at these levels.
    pub(super) fn single_spilled(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        (forth, back): (single::Side, single::Side),
        is_round: bool,
        mut charge: Charge<'r>,
    ) -> Result<Option<Vec<EdgeValue>>> {
        let (mut forth, mut back) = (Side::new(forth, view, &charge)?, Side::new(back, view, &charge)?);
        charge.count(0);
        while forth.depth + back.depth < u64::from(self.path.max) {
            if forth.frontier.is_empty() || back.frontier.is_empty() {
                return Ok(None);
            }
            let is_first_way_round = is_round && forth.depth == 0;
            let goes_forth = is_first_way_round || is_cheaper(view, expand, &mut forth, &mut back)?;
            let (near, far) = if goes_forth { (&mut forth, &mut back) } else { (&mut back, &mut forth) };
            if let Some(meeting) = self.grow_wide(view, expand, near, far)? {
                let length = (near.depth + 1 + far.depth) as usize;
                hold_path(&mut charge, length, path_bytes(length))?;
                let mut nodes = join(near, far, &meeting)?;
                if !goes_forth {
                    nodes.reverse();
                }
                return self.edges_along(view, expand, &nodes).map(Some);
            }
        }
        Ok(None)
    }

    /// Grows one level, until a node of the other side is met.
    fn grow_wide(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        near: &mut Side<'r>,
        far: &mut Side<'r>,
    ) -> Result<Option<Meeting>> {
        let expand = self.towards(near.direction, expand);
        let first = near.met.len() - near.frontier.len();
        let mut next = near.frontier.another();
        let (mut known, mut new) = (Vec::new(), Vec::new());
        let (mut batch, mut buffer, mut place) = (EdgeBatch::default(), Vec::new(), 0);
        while place < near.frontier.len() {
            let nodes = near.frontier.piece(place, &mut buffer)?;
            let mut cursor = view.expand(nodes, &expand)?;
            while cursor.next(&mut batch)? {
                self.runtime.environment.interrupt.check()?;
                self.retain_passing(&mut batch, nodes, expand.direction, near.is_turned)?;
                let parent = |index: usize| first + place + u64::from(batch.inputs[index]);
                far.visited.get_all(&batch.neighbors, &mut known)?;
                if let Some(index) = known.iter().position(Option::is_some) {
                    return Ok(Some(Meeting { node: batch.neighbors[index], parent: parent(index) }));
                }
                new.clear();
                near.visited.put_all(&batch.neighbors, 0, &mut new)?;
                next.extend(&new)?;
                let mut left = new.as_slice();
                for (index, &node) in batch.neighbors.iter().enumerate() {
                    // A node that is new comes in its order, and the first time it stands there it is the one.
                    if left.first() == Some(&node) {
                        near.met.push((node, parent(index)))?;
                        left = &left[1..];
                    }
                }
            }
            place += nodes.len() as u64;
        }
        near.frontier = next;
        near.depth += 1;
        near.cost = None;
        Ok(None)
    }
}

impl<'m> Side<'m> {
    /// Takes over what was grown in memory.
    fn new(side: single::Side, view: &dyn ReadView, charge: &Charge<'m>) -> Result<Side<'m>> {
        let single::Side { direction, is_turned, visited: mut known, levels, .. } = side;
        let mut visited = PagedNodes::set(charge.another(), view);
        visited.insert_set(&mut known)?;
        drop(known);
        let mut met = Records::new(charge.another());
        let mut frontier = Records::new(charge.another());
        let depth = levels.len() as u64 - 1;
        let mut before = 0;
        for (number, level) in levels.into_iter().enumerate() {
            let start = met.len();
            for (&node, &parent) in level.nodes.iter().zip(&level.parents) {
                met.push((node, before + u64::from(parent)))?;
            }
            if number as u64 == depth {
                frontier.extend(&level.nodes)?;
            }
            before = start;
        }
        Ok(Side { direction, is_turned, visited, met, frontier, depth, cost: None })
    }

    /// Adds the nodes from a place up to the start.
    fn climb(&mut self, place: u64, nodes: &mut Vec<NodeId>) -> Result<()> {
        let mut place = place;
        loop {
            let (node, parent) = self.met.get(place)?;
            nodes.push(node);
            if place == 0 {
                return Ok(());
            }
            place = parent;
        }
    }
}

impl Frontier for Side<'_> {
    fn width(&self) -> u64 {
        self.frontier.len()
    }

    fn weigh(&mut self, view: &dyn ReadView, expand: &Expand) -> Result<u64> {
        if let Some(cost) = self.cost {
            return Ok(cost);
        }
        let (mut cost, mut place, mut buffer) = (0, 0, Vec::new());
        while place < self.frontier.len() {
            let nodes = self.frontier.piece(place, &mut buffer)?;
            place += nodes.len() as u64;
            cost += cost_of(view, expand, self.direction, nodes)?;
        }
        self.cost = Some(cost);
        Ok(cost)
    }
}

/// The nodes of the path from the start of one side over a meeting to the start of the other.
fn join(near: &mut Side<'_>, far: &mut Side<'_>, meeting: &Meeting) -> Result<Vec<NodeId>> {
    let mut nodes = vec![meeting.node];
    near.climb(meeting.parent, &mut nodes)?;
    nodes.reverse();
    let mut place = far.met.len() - far.frontier.len();
    let parent = loop {
        let (node, parent) = far.met.get(place)?;
        if node == meeting.node {
            break parent;
        }
        place += 1;
    };
    if place > 0 {
        far.climb(parent, &mut nodes)?;
    }
    Ok(nodes)
}
