//! The distinct ends of paths that have at least two edges, or must differ from edges of several rows: a breadth-first search over
//! nodes and lengths, from one start or from many.
//!
//! Up to the least length there is a state for each node and number of edges, with a few paths that lead there; behind it
//! one for each node, with one path. A path grows along an edge that it does not have. A node so reached is an end. One
//! that is only reached along edges which each known path has already is in doubt: it is an end if some other path leads
//! there, for which it is asked by itself ([`super::both_ends`]). From one start, a node at the least length or further away is never
//! in doubt, because a shortest walk comes to no node twice. Edges that the paths of a row must not go along are the beginning of its
//! paths.
//!
//! Cost: each edge once for each length below the least one, and once or twice after that; for nodes in doubt, what
//! paths between two known nodes cost. Memory: the states; where it is refused, paths are walked ([`super::walk`]).

use model::store::EdgeIds;
use model::{EdgeBatch, EdgeId, EdgeValue, Map, NodeId, Result, Set};

use super::VariableExpand;
use super::used::Used;
use crate::adjacency::{edge_value, expansion};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::runtime::{Flow, Runtime};
use crate::visited::fits;

/// Most paths that are remembered of a state.
const WITNESSES: usize = 4;
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

/// States of one length.
#[derive(Default)]
pub(super) struct States {
    all: Vec<State>,
    places: Map<NodeId, u32>,
}

impl States {
    /// The state of a node, all walks to which go along an edge so far.
    fn at(&mut self, node: NodeId, only: Option<EdgeId>) -> &mut State {
        let place = *self.places.entry(node).or_insert_with(|| {
            self.all.push(State { node, witnesses: Vec::new(), only });
            self.all.len() as u32 - 1
        });
        &mut self.all[place as usize]
    }

    /// True if no further path to a node would be remembered.
    fn is_full(&self, node: NodeId) -> bool {
        let state = self.places.get(&node).map(|&place| &self.all[place as usize]);
        state.is_some_and(|state| state.only.is_none() && state.witnesses.len() == WITNESSES)
    }
}

/// A node that was reached with at least the least number of edges: the part of its path that has just as many.
type Reached = (NodeId, u32);

/// The ends of some rows.
pub(super) enum Ends {
    /// All were given but those in doubt.
    Given(Flow, Vec<NodeId>),
    /// Memory was refused.
    TooMany,
}

/// See the module.
pub(super) struct Far<'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'w Chunk,
    /// The row that the filter reads.
    row: u32,
    /// True if edges are followed from the ends of paths to their starts.
    is_turned: bool,
    /// Edges that no path must go along.
    used: Used,
    links: Vec<Link>,
    ends: Set<NodeId>,
    doubts: Set<NodeId>,
    charge: Charge<'r>,
}

impl<'w, 'r> Far<'w, 'r> {
    /// A search for the ends of one row.
    pub(super) fn of_row(
        expand: &'w VariableExpand,
        runtime: &'w Runtime<'r>,
        chunk: &'w Chunk,
        row: u32,
    ) -> Far<'w, 'r> {
        let used = Used::of_row(chunk, &expand.distinct_from, row);
        Far { row, used, ..Far::of_rows(expand, runtime, chunk, false) }
    }

    /// A search for the ends of rows that one filter suits or, if turned, for their starts.
    pub(super) fn of_rows(
        expand: &'w VariableExpand,
        runtime: &'w Runtime<'r>,
        chunk: &'w Chunk,
        is_turned: bool,
    ) -> Far<'w, 'r> {
        let charge = runtime.charge("VariableExpand");
        let (links, ends, doubts) = (Vec::new(), Set::default(), Set::default());
        Far { expand, runtime, chunk, row: 0, is_turned, used: Used::default(), links, ends, doubts, charge }
    }

    /// Adds a node that paths start from, which must not go along some edges.
    pub(super) fn begin(&mut self, starts: &mut States, node: NodeId, used: &[EdgeValue]) {
        let nearest = used.iter().rev().find(|edge| edge.source == node || edge.target == node);
        let state = starts.at(node, nearest.map(|edge| edge.id));
        state.only = state.only.filter(|only| used.iter().any(|edge| edge.id == *only));
        match used {
            [] => state.witnesses = vec![NONE],
            [first, ..] if state.witnesses.first() != Some(&NONE) && state.witnesses.len() < WITNESSES => {
                let mut parent = NONE;
                for edge in used {
                    self.links.push(Link { edge: edge.id, first: first.id, parent });
                    parent = self.links.len() as u32 - 1;
                }
                state.witnesses.push(parent);
            }
            _ => {}
        }
    }

    /// Gives the ends of the paths from these nodes, each once.
    pub(super) fn search(mut self, starts: States, give: &mut dyn FnMut(Vec<NodeId>) -> Result<Flow>) -> Result<Ends> {
        let min = self.expand.min.max(1);
        let bytes = self.byte_count(starts.all.len());
        if !fits(&mut self.charge, bytes) {
            return Ok(Ends::TooMany);
        }
        let mut states = starts.all;
        for _ in 1..min {
            match self.longer(&states)? {
                Some(next) => states = next,
                None => return Ok(Ends::TooMany),
            }
        }
        let Some(mut frontier) = self.first_ends(&states)? else { return Ok(Ends::TooMany) };
        drop(states);
        let mut length = min;
        loop {
            let ends = frontier.iter().filter(|(_, path)| *path != NONE).map(|(node, _)| *node);
            if give(ends.collect())? == Flow::Stop {
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
        Ok(Ends::Given(Flow::Continue, self.doubts.difference(&self.ends).copied().collect()))
    }

    /// Approximate bytes that are held with that many states or reached nodes.
    fn byte_count(&self, made: usize) -> usize {
        let entries = made + self.ends.capacity() + self.doubts.capacity();
        self.links.capacity() * size_of::<Link>() + made * WITNESSES * size_of::<u32>() + entries * ENTRY_BYTES
    }

    /// The states that one more edge leads to; `None` if memory is refused.
    fn longer(&mut self, states: &[State]) -> Result<Option<Vec<State>>> {
        let mut next = States::default();
        let is_done = self.follow(
            states,
            |state| state.node,
            |far, state, node, edge| {
                if next.is_full(node) {
                    return next.all.len();
                }
                let path = far.usable(state, edge);
                if path.is_none() && state.only == Some(edge) {
                    return next.all.len();
                }
                let known = next.at(node, Some(edge));
                known.only = known.only.filter(|only| *only == edge);
                if let Some(parent) = path {
                    far.remember(known, parent, edge);
                }
                next.all.len()
            },
        )?;
        Ok(is_done.then_some(next.all))
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
                if far.ends.contains(&node) {
                    return next.len();
                }
                match far.usable(state, edge) {
                    Some(parent) => {
                        far.ends.insert(node);
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
        let direction = if self.is_turned { expand.direction.reverse() } else { expand.direction };
        let Some(expansion) = expansion(view, direction, &expand.types, EdgeIds::Include) else {
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
                        let edges = edges.map(|index| edge_value(&batch, index, near(index), direction));
                        // The filter sees an edge as the path walks it, also where the search comes from the end.
                        let walked_from = |index| if self.is_turned { batch.neighbors[index] } else { near(index) };
                        let rows = vec![self.row; batch.len()];
                        filter.passing(runtime, chunk, &rows, walked_from, edges.collect())?
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
                let bytes = self.byte_count(made);
                if !fits(&mut self.charge, bytes) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
