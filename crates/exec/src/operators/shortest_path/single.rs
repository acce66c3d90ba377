//! One shortest path: levels from both ends, each node with the place of the node it was met from, until they meet.
//!
//! The side whose next level has fewer edges grows. A meeting ends the search at once: when a side meets a node of the
//! other for the first time, that node is in the other's last level, because all nodes one edge beyond earlier levels
//! have been met by the other already; so no path is shorter.
//!
//! Levels that do not fit into memory are grown by [`super::wide`], which goes on where this search stands.

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, EdgeValue, Expand, NodeId, ReadView, Result};

use super::search::Search;
use crate::adjacency::edge_value;
use crate::memory::Charge;
use crate::visited::{Visited, fits};

/// The levels grown from one end.
pub(super) struct Side {
    pub(super) direction: Direction,
    /// True if it grows against the path.
    pub(super) is_turned: bool,
    pub(super) visited: Visited,
    pub(super) levels: Vec<Level>,
    /// Number of edges that leave the last level, as far as that is known.
    cost: Option<u64>,
}

/// Nodes met at one depth.
#[derive(Default)]
pub(super) struct Level {
    pub(super) nodes: Vec<NodeId>,
    /// For each, the place in the level before of the node it was met from.
    pub(super) parents: Vec<u32>,
}

impl Level {
    fn byte_count(&self) -> usize {
        size_of::<Level>() + 8 * self.nodes.capacity() + 4 * self.parents.capacity()
    }
}

/// A node of the other side that was met, and the place of the node it was met from.
struct Meeting {
    node: NodeId,
    parent: u32,
}

/// The outcome of growing a level.
enum Grown {
    /// All its nodes are new.
    Level,
    /// The other side was met.
    Met(Meeting),
    /// It does not fit into memory, and nothing of it was kept.
    TooLarge,
}

impl<'r> Search<'_, 'r> {
    /// The edges of a shortest path of at least one edge.
    pub(super) fn single(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        from: NodeId,
        to: NodeId,
    ) -> Result<Option<Vec<EdgeValue>>> {
        let mut forth = Side::new(view, from, self.path.direction, false);
        let mut back = Side::new(view, to, self.path.direction.reverse(), true);
        if from == to {
            // The start must be met again to count as the end.
            forth.visited.clear();
        }
        let mut batch = EdgeBatch::default();
        let mut charge = self.runtime.charge("ShortestPath");
        while ((forth.depth() + back.depth()) as u64) < u64::from(self.path.max) {
            if forth.frontier().is_empty() || back.frontier().is_empty() {
                return Ok(None);
            }
            let is_first_way_round = from == to && forth.depth() == 0;
            let goes_forth = is_first_way_round || is_cheaper(view, expand, &mut forth, &mut back)?;
            let (near, far) = if goes_forth { (&mut forth, &back) } else { (&mut back, &forth) };
            let meeting = match self.grow_single(view, expand, (near, far), &mut batch, &mut charge)? {
                Grown::Level => None,
                Grown::Met(meeting) => Some(meeting),
                Grown::TooLarge => return self.single_spilled(view, expand, (forth, back), from == to, charge),
            };
            if let Some(meeting) = meeting {
                let nodes = if goes_forth {
                    join(&forth, &back, &meeting)
                } else {
                    let mut nodes = join(&back, &forth, &meeting);
                    nodes.reverse();
                    nodes
                };
                return self.edges_along(view, expand, &nodes).map(Some);
            }
        }
        Ok(None)
    }

    /// Grows one level, until a node of the other side is met.
    fn grow_single(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        (near, far): (&mut Side, &Side),
        batch: &mut EdgeBatch,
        charge: &mut Charge<'r>,
    ) -> Result<Grown> {
        let expand = self.towards(near.direction, expand);
        let mut next = Level::default();
        let held = far.byte_count() + near.levels.iter().map(Level::byte_count).sum::<usize>();
        let Side { visited, levels, is_turned, .. } = near;
        let frontier = levels.last().map_or(&[][..], |level| &level.nodes);
        let mut cursor = view.expand(frontier, &expand)?;
        while cursor.next(batch)? {
            self.runtime.environment.interrupt.check()?;
            if self.path.filter.is_none() {
                for (&node, &parent) in batch.neighbors.iter().zip(&batch.inputs) {
                    if far.visited.contains(node) {
                        return Ok(Grown::Met(Meeting { node, parent }));
                    }
                    if visited.insert(node) {
                        next.nodes.push(node);
                        next.parents.push(parent);
                    }
                }
            } else {
                for index in self.passing(batch, frontier, expand.direction, *is_turned)? {
                    let (node, parent) = (batch.neighbors[index as usize], batch.inputs[index as usize]);
                    if far.visited.contains(node) {
                        return Ok(Grown::Met(Meeting { node, parent }));
                    }
                    if visited.insert(node) {
                        next.nodes.push(node);
                        next.parents.push(parent);
                    }
                }
            }
            if !fits(charge, held + visited.byte_count() + next.byte_count()) {
                next.nodes.iter().for_each(|&node| visited.remove(node));
                return Ok(Grown::TooLarge);
            }
        }
        drop(cursor);
        levels.push(next);
        near.cost = None;
        Ok(Grown::Level)
    }

    /// An edge between each two nodes of a path: of several, that with the least id.
    pub(super) fn edges_along(&self, view: &dyn ReadView, expand: &Expand, nodes: &[NodeId]) -> Result<Vec<EdgeValue>> {
        let mut edges = Vec::with_capacity(nodes.len().saturating_sub(1));
        for pair in nodes.windows(2) {
            let found = match self.path.direction {
                Direction::Both => match self.edge_between(view, expand, (pair[0], pair[1]), Direction::Out)? {
                    None => self.edge_between(view, expand, (pair[0], pair[1]), Direction::In)?,
                    found => found,
                },
                direction => self.edge_between(view, expand, (pair[0], pair[1]), direction)?,
            };
            let gone = || model::error!(Internal, "an edge of a path that was found is not there any more");
            edges.push(found.ok_or_else(gone)?);
        }
        Ok(edges)
    }

    /// The edge with the least id that leads from one node to another in that direction.
    fn edge_between(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        (first, second): (NodeId, NodeId),
        direction: Direction,
    ) -> Result<Option<EdgeValue>> {
        // Out-edges know their ids, those against the direction have to look for them.
        let (near, far) = if direction == Direction::In { (second, first) } else { (first, second) };
        let types = expand.types.as_deref();
        let capabilities = view.capabilities();
        let is_against = capabilities.expands_against_direction && !capabilities.is_remote && {
            let out = view.degrees(&[near], Direction::Out, types)?[0];
            out > AGAINST_COST && view.degrees(&[far], Direction::In, types)?[0] < out / AGAINST_COST
        };
        let (start, end, way) = if is_against { ([far], near, Direction::In) } else { ([near], far, Direction::Out) };
        let expand = Expand { direction: way, edge_ids: EdgeIds::Include, ..expand.clone() };
        let mut cursor = view.expand(&start, &expand)?;
        let mut batch = EdgeBatch::default();
        let mut best: Option<EdgeValue> = None;
        while cursor.next(&mut batch)? {
            let between: Vec<u32> =
                (0..batch.len() as u32).filter(|&index| batch.neighbors[index as usize] == end).collect();
            if between.is_empty() {
                continue;
            }
            let between = batch.gather(&between);
            for index in self.passing(&between, &start, way, start[0] != first)? {
                let edge = edge_value(&between, index as usize, start[0], way);
                if best.is_none_or(|best| edge.id < best.id) {
                    best = Some(edge);
                }
            }
        }
        Ok(best)
    }
}

/// Cost factor of an edge met against its direction where its id is wanted.
const AGAINST_COST: u64 = 8;

impl Side {
    fn new(view: &dyn ReadView, node: NodeId, direction: Direction, is_turned: bool) -> Side {
        let mut visited = Visited::new(view);
        visited.insert(node);
        let levels = vec![Level { nodes: vec![node], parents: vec![0] }];
        Side { direction, is_turned, visited, levels, cost: None }
    }

    fn byte_count(&self) -> usize {
        self.visited.byte_count() + self.levels.iter().map(Level::byte_count).sum::<usize>()
    }

    fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    fn frontier(&self) -> &[NodeId] {
        self.levels.last().map_or(&[], |level| &level.nodes)
    }
}

impl Frontier for Side {
    fn width(&self) -> u64 {
        self.frontier().len() as u64
    }

    fn weigh(&mut self, view: &dyn ReadView, expand: &Expand) -> Result<u64> {
        if let Some(cost) = self.cost {
            return Ok(cost);
        }
        let cost = cost_of(view, expand, self.direction, self.frontier())?;
        self.cost = Some(cost);
        Ok(cost)
    }
}

/// The last level of a side.
pub(super) trait Frontier {
    /// Number of nodes it has.
    fn width(&self) -> u64;
    /// Number of edges that leave it, or its width where counting is expensive.
    fn weigh(&mut self, view: &dyn ReadView, expand: &Expand) -> Result<u64>;
}

/// Number of edges that leave nodes, or number of the nodes where counting is expensive.
pub(super) fn cost_of(view: &dyn ReadView, expand: &Expand, direction: Direction, nodes: &[NodeId]) -> Result<u64> {
    if view.capabilities().is_remote {
        return Ok(nodes.len() as u64);
    }
    let ways: &[Direction] = match direction {
        // A loop counts twice so, which is cheaper than to look for it.
        Direction::Both => &[Direction::Out, Direction::In],
        Direction::Out => &[Direction::Out],
        Direction::In => &[Direction::In],
    };
    let mut cost = 0;
    for &way in ways {
        cost += view.degrees(nodes, way, expand.types.as_deref())?.iter().sum::<u64>();
    }
    Ok(cost)
}

/// True if the first side has fewer edges to follow. The edges of a side are not counted if it has more nodes than the
/// other has edges.
pub(super) fn is_cheaper<F: Frontier>(
    view: &dyn ReadView,
    expand: &Expand,
    forth: &mut F,
    back: &mut F,
) -> Result<bool> {
    let (forth_nodes, back_nodes) = (forth.width(), back.width());
    let (small, large_nodes) =
        if forth_nodes <= back_nodes { (&mut *forth, back_nodes) } else { (&mut *back, forth_nodes) };
    let is_plain = small.weigh(view, expand)? <= large_nodes;
    if is_plain {
        return Ok(forth_nodes <= back_nodes);
    }
    Ok(forth.weigh(view, expand)? <= back.weigh(view, expand)?)
}

/// The nodes of the path from the start of one side over a meeting to the start of the other.
fn join(near: &Side, far: &Side, meeting: &Meeting) -> Vec<NodeId> {
    let mut nodes = vec![meeting.node];
    climb(near, near.levels.len(), meeting.parent, &mut nodes);
    nodes.reverse();
    let last = far.levels.last();
    let place = last.and_then(|level| level.nodes.iter().position(|&node| node == meeting.node));
    let place = place.expect("the first node met is in the last level of the other side");
    let parent = last.map_or(0, |level| level.parents[place]);
    climb(far, far.levels.len() - 1, parent, &mut nodes);
    nodes
}

/// Adds the nodes from a place of the level below `level` up to the start.
fn climb(side: &Side, level: usize, place: u32, nodes: &mut Vec<NodeId>) {
    let mut place = place as usize;
    for level in side.levels[..level].iter().rev() {
        nodes.push(level.nodes[place]);
        place = level.parents[place] as usize;
    }
}
