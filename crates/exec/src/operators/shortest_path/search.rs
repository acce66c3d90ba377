//! The search of one row: one path by [`super::single`]; all of them by levels from both ends until they meet, then the
//! edges between levels.

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, EdgeValue, Expand, Map, NodeId, ReadView, Result, Value};

use super::ShortestPath;
use crate::adjacency::{edge_value, expansion};
use crate::chunk::Chunk;
use crate::operators::path_search::{self, Place};
use crate::operators::variable_expand::edge_list;
use crate::runtime::{Flow, Runtime};
use crate::visited::hold;

/// See the module.
pub(super) struct Search<'s, 'r> {
    pub(super) path: &'s ShortestPath,
    pub(super) runtime: &'s Runtime<'r>,
    pub(super) chunk: &'s Chunk,
    pub(super) row: u32,
}

/// The levels grown from one end.
struct Side {
    direction: Direction,
    /// Whether it grows against the path.
    is_turned: bool,
    /// The level at which each node was met first.
    depths: Map<NodeId, u32>,
    frontier: Vec<NodeId>,
    depth: u32,
    /// How many edges leave the frontier, or its size where that is not known.
    cost: u64,
}

/// An edge between two levels, by its end on the side of the start and that on the side of the end.
#[derive(Clone, Copy)]
struct Step {
    near: NodeId,
    far: NodeId,
    edge: EdgeValue,
}

/// Which way edges between levels are sought.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Towards {
    Start,
    End,
}

/// Where the levels met.
struct Meeting {
    nodes: Vec<NodeId>,
    forward_depth: u32,
    length: u32,
}

impl<'s, 'r> Search<'s, 'r> {
    pub(super) fn new(path: &'s ShortestPath, runtime: &'s Runtime<'r>, chunk: &'s Chunk, row: u32) -> Search<'s, 'r> {
        Search { path, runtime, chunk, row }
    }

    /// Gives the paths of the row as lists of edges.
    pub(super) fn run(
        &mut self,
        from: NodeId,
        to: NodeId,
        give: &mut dyn FnMut(Value) -> Result<Flow>,
    ) -> Result<Flow> {
        if from == to && self.path.min == 0 {
            return give(edge_list([]));
        }
        if from == to
            && let Some(round) = &self.path.round
        {
            let place = Place { chunk: self.chunk, row: self.row, start: from, distinct_from: &[] };
            return path_search::search(round, self.runtime, place, Some(to), &mut |path| {
                give(edge_list(path.edges.iter().copied()))
            });
        }
        let guard = self.runtime.view();
        let view = guard.view();
        let Some(forward) = expansion(view, self.path.direction, &self.path.types, EdgeIds::Omit) else {
            return Ok(Flow::Continue);
        };
        if !self.path.all {
            return match self.single(view, &forward, from, to)? {
                Some(edges) => give(edge_list(edges)),
                None => Ok(Flow::Continue),
            };
        }
        let mut forth = Side::new(from, self.path.direction, false);
        let mut back = Side::new(to, self.path.direction.reverse(), true);
        if from == to {
            // The start must be met again to count as the end.
            forth.depths.clear();
        }
        match self.meet(view, &forward, &mut forth, &mut back)? {
            None => Ok(Flow::Continue),
            Some(meeting) => {
                let levels = self.levels(view, &forward, from, (&forth, &back), &meeting)?;
                enumerate(&levels, from, to, give)
            }
        }
    }

    /// Grows levels until they meet.
    fn meet(&self, view: &dyn ReadView, expand: &Expand, forth: &mut Side, back: &mut Side) -> Result<Option<Meeting>> {
        let mut charge = self.runtime.charge("ShortestPath");
        forth.weigh(view, expand)?;
        back.weigh(view, expand)?;
        while u64::from(forth.depth) + u64::from(back.depth) < u64::from(self.path.max) {
            if forth.frontier.is_empty() || back.frontier.is_empty() {
                return Ok(None);
            }
            let goes_forth = forth.depths.is_empty() || forth.cost <= back.cost;
            let (near, far) = if goes_forth { (&mut *forth, &*back) } else { (&mut *back, &*forth) };
            let mut nodes = self.grow(view, expand, near, far)?;
            if !nodes.is_empty() {
                nodes.sort_unstable();
                return Ok(Some(Meeting { nodes, forward_depth: forth.depth, length: forth.depth + back.depth }));
            }
            near.weigh(view, expand)?;
            hold(&mut charge, forth.byte_count() + back.byte_count())?;
        }
        Ok(None)
    }

    /// Grows one level and gives the nodes that the other side has met.
    fn grow(&self, view: &dyn ReadView, expand: &Expand, near: &mut Side, far: &Side) -> Result<Vec<NodeId>> {
        let ids = if self.path.filter.is_some() { EdgeIds::Include } else { EdgeIds::Omit };
        let expand = Expand { direction: near.direction, edge_ids: ids, ..expand.clone() };
        let frontier = std::mem::take(&mut near.frontier);
        near.depth += 1;
        let mut met = Vec::new();
        let mut cursor = view.expand(&frontier, &expand)?;
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            let mut visit = |node: NodeId| {
                if let std::collections::hash_map::Entry::Vacant(entry) = near.depths.entry(node) {
                    entry.insert(near.depth);
                    near.frontier.push(node);
                    if far.depths.contains_key(&node) {
                        met.push(node);
                    }
                }
            };
            if self.path.filter.is_none() {
                batch.neighbors.iter().for_each(|&node| visit(node));
            } else {
                for index in self.passing(&batch, &frontier, near.direction, near.is_turned)? {
                    visit(batch.neighbors[index as usize]);
                }
            }
        }
        Ok(met)
    }

    /// The edges of a batch, expanded from these nodes in that direction, that pass the filter.
    pub(super) fn passing(
        &self,
        batch: &EdgeBatch,
        nodes: &[NodeId],
        direction: Direction,
        is_turned: bool,
    ) -> Result<Vec<u32>> {
        let Some(filter) = &self.path.filter else { return Ok((0..batch.len() as u32).collect()) };
        let near = |index: usize| nodes[batch.inputs[index] as usize];
        let value = |index: usize| edge_value(batch, index, near(index), direction);
        let edges = (0..batch.len()).map(value).collect();
        // The filter sees an edge as the path walks it, also where the search comes from the other end.
        let from = |index: usize| if is_turned { batch.neighbors[index] } else { near(index) };
        filter.passing(self.runtime, self.chunk, &vec![self.row; batch.len()], from, edges)
    }

    /// The edges between levels that lie on shortest paths, level by level from the start.
    fn levels(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        from: NodeId,
        (forth, back): (&Side, &Side),
        meeting: &Meeting,
    ) -> Result<Vec<Vec<Step>>> {
        let mut start_half = Vec::new();
        let mut nodes = meeting.nodes.clone();
        let met = nodes.clone();
        for depth in (1..=meeting.forward_depth).rev() {
            let is_level = |node: NodeId| {
                if depth == 1 { node == from } else { forth.depths.get(&node) == Some(&(depth - 1)) }
            };
            let steps = self.steps(view, expand, (&nodes, Towards::Start), &is_level)?;
            nodes = distinct(steps.iter().map(|step| step.near));
            start_half.push(steps);
        }
        start_half.reverse();
        nodes = met;
        for depth in (1..=meeting.length - meeting.forward_depth).rev() {
            let is_level = |node: NodeId| back.depths.get(&node) == Some(&(depth - 1));
            let steps = self.steps(view, expand, (&nodes, Towards::End), &is_level)?;
            nodes = distinct(steps.iter().map(|step| step.far));
            start_half.push(steps);
        }
        Ok(start_half)
    }

    /// The edges from nodes to those of the next level.
    fn steps(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        (nodes, towards): (&[NodeId], Towards),
        is_level: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<Step>> {
        let direction = match towards {
            Towards::End => self.path.direction,
            Towards::Start => self.path.direction.reverse(),
        };
        let expand = Expand { direction, edge_ids: EdgeIds::Include, ..expand.clone() };
        let mut steps = Vec::new();
        let mut cursor = view.expand(nodes, &expand)?;
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            for index in self.passing(&batch, nodes, direction, towards == Towards::Start)? {
                let index = index as usize;
                let (node, neighbor) = (nodes[batch.inputs[index] as usize], batch.neighbors[index]);
                if is_level(neighbor) {
                    let edge = edge_value(&batch, index, node, direction);
                    let (near, far) = if towards == Towards::End { (node, neighbor) } else { (neighbor, node) };
                    steps.push(Step { near, far, edge });
                }
            }
        }
        steps.sort_by_key(|step| (step.near, step.far, step.edge.id));
        Ok(steps)
    }
}

impl Side {
    fn new(node: NodeId, direction: Direction, is_turned: bool) -> Side {
        let depths = [(node, 0)].into_iter().collect();
        Side { direction, is_turned, depths, frontier: vec![node], depth: 0, cost: 1 }
    }

    /// Bytes held, with what a hash table keeps free.
    fn byte_count(&self) -> usize {
        24 * self.depths.capacity() + 8 * self.frontier.capacity()
    }

    /// Estimates what growing costs.
    fn weigh(&mut self, view: &dyn ReadView, expand: &Expand) -> Result<()> {
        self.cost = if view.capabilities().is_remote {
            self.frontier.len() as u64
        } else {
            view.degrees(&self.frontier, self.direction, expand.types.as_deref())?.iter().sum()
        };
        Ok(())
    }
}

fn distinct(nodes: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Gives the paths through the levels, in the order of their edges.
fn enumerate(
    levels: &[Vec<Step>],
    from: NodeId,
    to: NodeId,
    give: &mut dyn FnMut(Value) -> Result<Flow>,
) -> Result<Flow> {
    // For each level, the place of the step taken there; steps of one node stand together.
    let mut places: Vec<usize> = vec![first_of(&levels[0], from)];
    let mut path: Vec<Step> = Vec::with_capacity(levels.len());
    while let Some(place) = places.last_mut() {
        let level = path.len();
        let near = path.last().map_or(from, |step| step.far);
        let Some(step) = levels[level].get(*place).filter(|step| step.near == near) else {
            places.pop();
            path.pop();
            continue;
        };
        *place += 1;
        if level + 1 == levels.len() {
            if step.far == to {
                let edges = path.iter().chain([step]).map(|step| step.edge);
                if give(edge_list(edges))? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            continue;
        }
        path.push(*step);
        places.push(first_of(&levels[level + 1], step.far));
    }
    Ok(Flow::Continue)
}

fn first_of(steps: &[Step], near: NodeId) -> usize {
    steps.partition_point(|step| step.near < near)
}
