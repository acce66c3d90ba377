//! All shortest paths between two nodes: levels from both ends until they meet, then the edges between levels that lie on
//! paths, sorted, and the paths read off these.
//!
//! Depths, frontiers and edges between levels are in temporary files where they do not fit; one path must fit.

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, EdgeValue, Expand, NodeId, ReadView, Result, Value};

use super::search::Search;
use crate::adjacency::edge_value;
use crate::memory::Charge;
use crate::operators::variable_expand::edge_list;
use crate::runtime::Flow;
use crate::spill::{NodeNumbers, Record, Records};
use crate::visited::{hold_path, path_bytes};

/// The levels grown from one end.
struct Side<'m> {
    direction: Direction,
    /// True if it grows against the path.
    is_turned: bool,
    /// The level at which each node was met first.
    depths: NodeNumbers<'m>,
    frontier: Records<'m, NodeId>,
    depth: u32,
    /// Number of edges that leave the frontier, or its size where that is not known.
    cost: u64,
}

/// An edge between two levels, by its end on the side of the start and that on the side of the end.
#[derive(Clone, Copy)]
struct Step {
    /// Number of edges that a path has before it.
    level: u64,
    near: NodeId,
    far: NodeId,
    edge: EdgeValue,
}

impl Record for Step {
    const BYTES: usize = 3 * u64::BYTES + EdgeValue::BYTES;

    fn write(&self, out: &mut &mut [u8]) {
        (self.level, (self.near, (self.far, self.edge))).write(out);
    }

    fn read(bytes: &mut &[u8]) -> Step {
        let (level, (near, (far, edge))) = Record::read(bytes);
        Step { level, near, far, edge }
    }
}

/// The direction in which edges between levels are sought.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Towards {
    Start,
    End,
}

/// Tells of nodes whether each is of the level that is sought.
type AreLevel<'l> = dyn FnMut(&[NodeId], &mut Vec<bool>) -> Result<()> + 'l;

/// The place where the levels met.
struct Meeting<'m> {
    nodes: Records<'m, NodeId>,
    forward_depth: u32,
    length: u32,
}

impl<'r> Search<'_, 'r> {
    /// Gives all shortest paths of at least one edge, in the order of their nodes and edges.
    pub(super) fn all(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        (from, to): (NodeId, NodeId),
        give: &mut dyn FnMut(Value) -> Result<Flow>,
    ) -> Result<Flow> {
        let charge = self.runtime.charge("ShortestPath");
        let mut forth = Side::new(&charge, view, from, self.path.direction)?;
        let mut back = Side::new(&charge, view, to, self.path.direction.reverse())?;
        back.is_turned = true;
        if from != to {
            // Otherwise the start must be met again to count as the end.
            forth.depths.put(from, 0)?;
        }
        back.depths.put(to, 0)?;
        match self.meet(view, expand, &mut forth, &mut back, from == to)? {
            None => Ok(Flow::Continue),
            Some(meeting) => {
                let length = meeting.length;
                let steps = self.levels(view, expand, from, (&mut forth, &mut back), meeting)?;
                drop((forth, back));
                let interrupt = self.runtime.environment.interrupt;
                let steps = steps.sorted_by_key(interrupt, |step| (step.level, step.near, step.far, step.edge.id))?;
                enumerate(steps, (from, to), length, charge, give)
            }
        }
    }

    /// Grows levels until they meet.
    fn meet(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        forth: &mut Side<'r>,
        back: &mut Side<'r>,
        is_round: bool,
    ) -> Result<Option<Meeting<'r>>> {
        forth.weigh(view, expand)?;
        back.weigh(view, expand)?;
        while u64::from(forth.depth) + u64::from(back.depth) < u64::from(self.path.max) {
            if forth.frontier.is_empty() || back.frontier.is_empty() {
                return Ok(None);
            }
            let goes_forth = (is_round && forth.depth == 0) || forth.cost <= back.cost;
            let (near, far) = if goes_forth { (&mut *forth, &mut *back) } else { (&mut *back, &mut *forth) };
            let nodes = self.grow(view, expand, near, far)?;
            if !nodes.is_empty() {
                return Ok(Some(Meeting { nodes, forward_depth: forth.depth, length: forth.depth + back.depth }));
            }
            near.weigh(view, expand)?;
        }
        Ok(None)
    }

    /// Grows one level and gives the nodes that the other side has met.
    fn grow(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        near: &mut Side<'r>,
        far: &mut Side<'r>,
    ) -> Result<Records<'r, NodeId>> {
        let expand = self.towards(near.direction, expand);
        let next = near.frontier.another();
        let mut frontier = std::mem::replace(&mut near.frontier, next);
        near.depth += 1;
        let mut met = near.frontier.another();
        let (mut new, mut depths) = (Vec::new(), Vec::new());
        let (mut batch, mut buffer, mut place) = (EdgeBatch::default(), Vec::new(), 0);
        while place < frontier.len() {
            let nodes = frontier.piece(place, &mut buffer)?;
            place += nodes.len() as u64;
            let mut cursor = view.expand(nodes, &expand)?;
            while cursor.next(&mut batch)? {
                self.runtime.environment.interrupt.check()?;
                self.retain_passing(&mut batch, nodes, expand.direction, near.is_turned)?;
                new.clear();
                near.depths.put_all(&batch.neighbors, near.depth, &mut new)?;
                near.frontier.extend(&new)?;
                far.depths.get_all(&new, &mut depths)?;
                for (&node, _) in new.iter().zip(&depths).filter(|(_, depth)| depth.is_some()) {
                    met.push(node)?;
                }
            }
        }
        Ok(met)
    }

    /// The edges between levels that lie on shortest paths.
    fn levels(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        from: NodeId,
        (forth, back): (&mut Side<'r>, &mut Side<'r>),
        meeting: Meeting<'r>,
    ) -> Result<Records<'r, Step>> {
        let Meeting { nodes: mut queue, forward_depth, length } = meeting;
        let met = queue.len();
        let mut steps = queue.another();
        let mut depths = Vec::new();
        let mut seen = NodeNumbers::new(self.runtime.charge("ShortestPath"), view);
        let mut first = 0;
        for depth in (1..=forward_depth).rev() {
            let mut are_level = |nodes: &[NodeId], are: &mut Vec<bool>| -> Result<()> {
                are.clear();
                if depth == 1 {
                    are.extend(nodes.iter().map(|&node| node == from));
                    return Ok(());
                }
                forth.depths.get_all(nodes, &mut depths)?;
                are.extend(depths.iter().map(|&known| known == Some(depth - 1)));
                Ok(())
            };
            let level = (Towards::Start, u64::from(depth - 1));
            first = self.steps(view, expand, (&mut queue, first), level, &mut are_level, &mut seen, &mut steps)?;
        }
        queue.truncate(met)?;
        let mut seen = NodeNumbers::new(self.runtime.charge("ShortestPath"), view);
        first = 0;
        for depth in (1..=length - forward_depth).rev() {
            let mut are_level = |nodes: &[NodeId], are: &mut Vec<bool>| -> Result<()> {
                are.clear();
                back.depths.get_all(nodes, &mut depths)?;
                are.extend(depths.iter().map(|&known| known == Some(depth - 1)));
                Ok(())
            };
            let level = (Towards::End, u64::from(length - depth));
            first = self.steps(view, expand, (&mut queue, first), level, &mut are_level, &mut seen, &mut steps)?;
        }
        Ok(steps)
    }

    /// Adds the edges from the nodes of a queue, from a place on, to those of the next level, and these to the queue; says
    /// where they begin there.
    #[expect(clippy::too_many_arguments, reason = "what one level reads and what it adds to")]
    fn steps(
        &self,
        view: &dyn ReadView,
        expand: &Expand,
        (queue, first): (&mut Records<'r, NodeId>, u64),
        (towards, level): (Towards, u64),
        are_level: &mut AreLevel<'_>,
        seen: &mut NodeNumbers<'r>,
        steps: &mut Records<'r, Step>,
    ) -> Result<u64> {
        let direction = match towards {
            Towards::End => self.path.direction,
            Towards::Start => self.path.direction.reverse(),
        };
        let expand = Expand { direction, edge_ids: EdgeIds::Include, ..expand.clone() };
        let (mut batch, mut buffer, mut place) = (EdgeBatch::default(), Vec::new(), first);
        let mut are = Vec::new();
        let end = queue.len();
        while place < end {
            // The queue grows meanwhile, so what is expanded is taken out of it.
            let piece = queue.piece(place, &mut buffer)?;
            let nodes = piece[..piece.len().min((end - place) as usize).min(PIECE_NODES)].to_vec();
            place += nodes.len() as u64;
            let mut cursor = view.expand(&nodes, &expand)?;
            while cursor.next(&mut batch)? {
                self.runtime.environment.interrupt.check()?;
                self.retain_passing(&mut batch, &nodes, direction, towards == Towards::Start)?;
                are_level(&batch.neighbors, &mut are)?;
                for index in (0..batch.len()).filter(|&index| are[index]) {
                    let (node, neighbor) = (nodes[batch.inputs[index] as usize], batch.neighbors[index]);
                    let edge = edge_value(&batch, index, node, direction);
                    let (near, far) = if towards == Towards::End { (node, neighbor) } else { (neighbor, node) };
                    steps.push(Step { level, near, far, edge })?;
                    if seen.put(neighbor, 0)?.is_none() {
                        queue.push(neighbor)?;
                    }
                }
            }
        }
        Ok(end)
    }
}

/// Nodes that are expanded at a time.
const PIECE_NODES: usize = 2_048;

impl<'m> Side<'m> {
    fn new(charge: &Charge<'m>, view: &dyn ReadView, node: NodeId, direction: Direction) -> Result<Side<'m>> {
        let mut frontier = Records::new(charge.another());
        frontier.push(node)?;
        let depths = NodeNumbers::new(charge.another(), view);
        Ok(Side { direction, is_turned: false, depths, frontier, depth: 0, cost: 1 })
    }

    /// Estimates what growing costs.
    fn weigh(&mut self, view: &dyn ReadView, expand: &Expand) -> Result<()> {
        if view.capabilities().is_remote {
            self.cost = self.frontier.len();
            return Ok(());
        }
        self.cost = 0;
        let (mut buffer, mut place) = (Vec::new(), 0);
        while place < self.frontier.len() {
            let nodes = self.frontier.piece(place, &mut buffer)?;
            place += nodes.len() as u64;
            self.cost += view.degrees(nodes, self.direction, expand.types.as_deref())?.iter().sum::<u64>();
        }
        Ok(())
    }
}

/// Gives the paths through the levels, in the order of their edges.
fn enumerate(
    mut steps: Records<'_, Step>,
    (from, to): (NodeId, NodeId),
    length: u32,
    mut charge: Charge<'_>,
    give: &mut dyn FnMut(Value) -> Result<Flow>,
) -> Result<Flow> {
    let length = length as usize;
    hold_path(&mut charge, length, path_bytes(length) + length * (size_of::<u64>() + size_of::<Step>()))?;
    // For each level, the place of the step taken there; steps of one node stand together.
    let mut places: Vec<u64> = vec![first_of(&mut steps, 0, from)?];
    let mut path: Vec<Step> = Vec::with_capacity(length);
    while let Some(place) = places.last_mut() {
        let level = path.len() as u64;
        let near = path.last().map_or(from, |step| step.far);
        let next = if *place < steps.len() { Some(steps.get(*place)?) } else { None };
        let Some(step) = next.filter(|step| (step.level, step.near) == (level, near)) else {
            places.pop();
            path.pop();
            continue;
        };
        *place += 1;
        if path.len() + 1 == length {
            if step.far == to {
                let edges = path.iter().chain([&step]).map(|step| step.edge);
                if give(edge_list(edges))? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            continue;
        }
        path.push(step);
        places.push(first_of(&mut steps, level + 1, step.far)?);
    }
    Ok(Flow::Continue)
}

/// The place of the first step of a level that does not come from a lesser node.
fn first_of(steps: &mut Records<'_, Step>, level: u64, near: NodeId) -> Result<u64> {
    let (mut start, mut end) = (0, steps.len());
    while start < end {
        let middle = start + (end - start) / 2;
        let step = steps.get(middle)?;
        if (step.level, step.near) < (level, near) {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    Ok(start)
}
