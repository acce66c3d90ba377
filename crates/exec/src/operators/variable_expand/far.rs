//! The distinct ends of paths that have at least two edges: a breadth-first search over nodes and lengths.
//!
//! Up to the least length there is a state for each node and number of edges, with a few paths that lead there; behind it
//! one for each node, with one path. A path grows along an edge that it does not have. A node so reached is an end. One
//! that is only reached along edges which each known path has already is in doubt: it is an end if some other path leads
//! there, for which it is asked by itself ([`super::both_ends`]). A node at the least length or further away is never in
//! doubt, because a shortest walk comes to no node twice.
//!
//! Cost: each edge once for each length below the least one, and once or twice after that; for nodes in doubt, what
//! paths between two known nodes cost. Memory: the states; where it is refused, paths are walked ([`super::walk`]).

use model::store::EdgeIds;
use model::{EdgeBatch, EdgeId, Map, NodeId, Result, Set};

use super::both_ends::Pair;
use super::used::Used;
use super::{Found, VariableExpand};
use crate::adjacency::{edge_value, expansion};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::runtime::{Flow, Runtime, Sink};
use crate::visited::fits;

/// Most paths that are remembered of a state.
const WITNESSES: usize = 4;
/// With more nodes in doubt, walking all paths costs less than asking for each.
const DOUBTS_MAX: usize = 64;
/// Bytes of a node in a set or a table.
const ENTRY_BYTES: usize = 40;
/// Stands for no path.
const NONE: u32 = u32::MAX;

/// An edge of a remembered path.
struct Link {
    edge: EdgeId,
    /// The first edge of the path.
    first: EdgeId,
    parent: u32,
}

/// A node that paths of some length lead to.
struct State {
    node: NodeId,
    /// The last links of paths that lead there; none if each of them might go along an edge twice.
    witnesses: Vec<u32>,
    /// The edge along which all walks come, if there is only one.
    only: Option<EdgeId>,
}

/// A node that was reached with at least the least number of edges: the part of its path that has just as many.
type Reached = (NodeId, u32);

/// The ends of one row.
pub(super) enum Ends {
    /// All were given but those in doubt.
    Given(Flow, Vec<Pair>),
    /// Memory was refused, or too many nodes are in doubt.
    TooMany,
}

/// See the module.
pub(super) struct Far<'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'w Chunk,
    row: u32,
    /// Edges of the row that its paths must not go along.
    used: Used,
    links: Vec<Link>,
    ends: Set<NodeId>,
    doubts: Set<NodeId>,
    charge: Charge<'r>,
}

impl<'w, 'r> Far<'w, 'r> {
    pub(super) fn new(expand: &'w VariableExpand, runtime: &'w Runtime<'r>, chunk: &'w Chunk, row: u32) -> Far<'w, 'r> {
        let charge = runtime.charge("VariableExpand");
        let (links, ends, doubts) = (Vec::new(), Set::default(), Set::default());
        let used = Used::of_row(chunk, &expand.distinct_from, row);
        Far { expand, runtime, chunk, row, used, links, ends, doubts, charge }
    }

    /// Gives the ends of the paths from a node.
    pub(super) fn search(mut self, start: NodeId, sink: &mut Sink<'_>) -> Result<Ends> {
        let mut states = vec![State { node: start, witnesses: vec![NONE], only: None }];
        for _ in 1..self.expand.min {
            match self.longer(&states)? {
                Some(next) => states = next,
                None => return Ok(Ends::TooMany),
            }
        }
        let Some(mut frontier) = self.first_ends(&states)? else { return Ok(Ends::TooMany) };
        drop(states);
        let mut length = self.expand.min;
        loop {
            let ends = frontier.iter().filter(|(_, path)| *path != NONE).map(|(node, _)| *node);
            if self.give(ends.collect(), sink)? == Flow::Stop {
                return Ok(Ends::Given(Flow::Stop, Vec::new()));
            }
            if frontier.is_empty() || length >= self.expand.max {
                break;
            }
            length += 1;
            match self.further(&frontier)? {
                Some(next) => frontier = next,
                None => return Ok(Ends::TooMany),
            }
        }
        let doubts: Vec<NodeId> = self.doubts.difference(&self.ends).copied().collect();
        if doubts.len() > DOUBTS_MAX {
            return Ok(Ends::TooMany);
        }
        let pair = |end| Pair { row: self.row, start, end };
        Ok(Ends::Given(Flow::Continue, doubts.into_iter().map(pair).collect()))
    }

    fn give(&self, ends: Vec<NodeId>, sink: &mut Sink<'_>) -> Result<Flow> {
        for ends in ends.chunks(self.runtime.environment.settings.batch_rows.max(1)) {
            let (rows, ends) = (vec![self.row; ends.len()], ends.to_vec());
            let mut found = Found { rows, ends, ..Found::default() };
            if self.expand.flush(self.chunk, &mut found, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// The states that one more edge leads to; `None` if memory is refused.
    fn longer(&mut self, states: &[State]) -> Result<Option<Vec<State>>> {
        let mut next: Vec<State> = Vec::new();
        let mut places: Map<NodeId, u32> = Map::default();
        let is_done = self.follow(
            states,
            |state| state.node,
            |far, state, node, edge| {
                let path = far.usable(state, edge);
                if path.is_none() && state.only == Some(edge) {
                    return next.len();
                }
                let place = *places.entry(node).or_insert_with(|| {
                    next.push(State { node, witnesses: Vec::new(), only: Some(edge) });
                    next.len() as u32 - 1
                });
                let known = &mut next[place as usize];
                known.only = known.only.filter(|only| *only == edge);
                if let Some(parent) = path {
                    far.remember(known, parent, edge);
                }
                next.len()
            },
        )?;
        Ok(is_done.then_some(next))
    }

    /// A remembered path of a state that does not have an edge.
    fn usable(&self, state: &State, edge: EdgeId) -> Option<u32> {
        state.witnesses.iter().copied().find(|&path| self.expand.repeats || !self.contains(path, edge))
    }

    fn contains(&self, path: u32, edge: EdgeId) -> bool {
        let links = std::iter::successors(self.links.get(path as usize), |link| self.links.get(link.parent as usize));
        links.into_iter().any(|link| link.edge == edge)
    }

    /// Remembers one more path to a state, if it begins or ends otherwise than those that are known.
    fn remember(&mut self, state: &mut State, parent: u32, edge: EdgeId) {
        let first = self.links.get(parent as usize).map_or(edge, |link| link.first);
        let known = || state.witnesses.iter().map(|&path| &self.links[path as usize]);
        if state.witnesses.len() < WITNESSES
            && (known().all(|link| link.first != first) || known().all(|link| link.edge != edge))
        {
            state.witnesses.push(self.links.len() as u32);
            self.links.push(Link { edge, first, parent });
        }
    }

    /// The nodes that paths of the least length lead to, and those that might be; `None` if memory is refused.
    fn first_ends(&mut self, states: &[State]) -> Result<Option<Vec<Reached>>> {
        let mut next: Vec<Reached> = Vec::new();
        let is_done = self.follow(
            states,
            |state| state.node,
            |far, state, node, edge| {
                match far.usable(state, edge) {
                    Some(parent) if far.ends.insert(node) => {
                        let first = far.links.get(parent as usize).map_or(edge, |link| link.first);
                        next.push((node, far.links.len() as u32));
                        far.links.push(Link { edge, first, parent });
                    }
                    None if state.only != Some(edge) => far.doubt(node, &mut next),
                    _ => {}
                }
                next.len()
            },
        )?;
        Ok(is_done.then_some(next))
    }

    fn doubt(&mut self, node: NodeId, next: &mut Vec<Reached>) {
        if !self.ends.contains(&node) && self.doubts.insert(node) {
            next.push((node, NONE));
        }
    }

    /// The nodes that one more edge leads to for the first time; `None` if memory is refused.
    fn further(&mut self, frontier: &[Reached]) -> Result<Option<Vec<Reached>>> {
        let mut next: Vec<Reached> = Vec::new();
        // A node that was in doubt and is not any longer was reached by a path as well, which grows by itself.
        let still: Vec<Reached> =
            frontier.iter().filter(|(node, path)| *path != NONE || !self.ends.contains(node)).copied().collect();
        let is_done = self.follow(
            &still,
            |reached| reached.0,
            |far, &(_, path), node, edge| {
                if far.ends.contains(&node) {
                    return next.len();
                }
                // An edge that the path has behind the least length leads to an end that is known.
                if path != NONE && (far.expand.repeats || !far.contains(path, edge)) {
                    far.ends.insert(node);
                    next.push((node, path));
                } else {
                    far.doubt(node, &mut next);
                }
                next.len()
            },
        )?;
        Ok(is_done.then_some(next))
    }

    /// Shows each edge from these that passes the filter, with what it starts from; `each` gives the number of what it
    /// made so far. False if memory is refused.
    fn follow<T>(
        &mut self,
        from: &[T],
        node_of: impl Fn(&T) -> NodeId,
        mut each: impl FnMut(&mut Self, &T, NodeId, EdgeId) -> usize,
    ) -> Result<bool> {
        let (runtime, expand, chunk) = (self.runtime, self.expand, self.chunk);
        let guard = runtime.view();
        let view = guard.view();
        let Some(expansion) = expansion(view, expand.direction, &expand.types, EdgeIds::Include) else {
            return Ok(true);
        };
        let mut batch = EdgeBatch::default();
        for from in from.chunks(runtime.environment.settings.batch_rows.max(1)) {
            let nodes: Vec<NodeId> = from.iter().map(&node_of).collect();
            let mut cursor = view.expand(&nodes, &expansion)?;
            while cursor.next(&mut batch)? {
                runtime.environment.interrupt.check()?;
                let near = |index: usize| nodes[batch.inputs[index] as usize];
                let passing: Vec<u32> = match &expand.filter {
                    None => (0..batch.len() as u32).collect(),
                    Some(filter) => {
                        let edges = 0..batch.len();
                        let edges = edges.map(|index| edge_value(&batch, index, near(index), expand.direction));
                        filter.passing(runtime, chunk, &vec![self.row; batch.len()], near, edges.collect())?
                    }
                };
                let mut made = 0;
                for index in passing.into_iter().map(|index| index as usize) {
                    if self.used.contains(batch.edges[index]) {
                        continue;
                    }
                    let start = &from[batch.inputs[index] as usize];
                    made = each(self, start, batch.neighbors[index], batch.edges[index]);
                }
                let entries = made + self.ends.capacity() + self.doubts.capacity();
                let bytes = self.links.capacity() * size_of::<Link>()
                    + made * WITNESSES * size_of::<u32>()
                    + entries * ENTRY_BYTES;
                if !fits(&mut self.charge, bytes) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
