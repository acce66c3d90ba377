//! Pairs of nodes that have one end in common, of which only matters whether a path joins them: one breadth-first search
//! from the common node answers all of them.
//!
//! A search that visits all nodes may cost more than asking for a few pairs by themselves ([`super::both_ends`]). So it goes
//! one level further while the edges of that level are few against what pairs cost so far; else a few pairs are asked
//! for, which tells their cost. Neither way takes more than about twice the time of the better one.
//!
//! The next rows often have the same common node, as those of a product do. So some searches are kept, and go on from where
//! they stopped.

use model::{Direction, Map, NodeId, Result, Set};

use super::both_ends::{Aim, Pair};
use super::reach::Reach;
use super::{Found, VariableExpand};
use crate::adjacency::ID_AGAINST_DIRECTION_COST;
use crate::chunk::Chunk;
use crate::runtime::{Flow, Runtime, Sink};
use crate::spill::Records;

/// Fewer pairs than this are asked for by themselves.
const PAIRS_MIN: usize = 4;
/// Edges of this search that cost as much as to ask for a pair by itself from whose ends no edge leads on: some microseconds.
const EDGES_PER_PAIR: u64 = 256;
/// Edges of this search that cost as much as one of a search for pairs, which keeps paths and not bits.
const EDGES_PER_PAIR_EDGE: u64 = 8;
/// Other ends for which is asked at a time.
const ASKED: usize = 16;
/// Searches that are kept for the next rows, if bits for all nodes take no more than these bytes in all of them.
const KEPT_MAX: u64 = 64;
const KEPT_BYTES_MAX: u64 = 16 << 20;

/// Pairs with one end in common.
pub(super) struct Group {
    common: NodeId,
    /// True if the common end is that of the paths, not their start.
    is_turned: bool,
    pairs: Vec<Pair>,
}

/// Groups pairs by the starts or the ends, of whichever there are fewer; gives the pairs that are left too.
pub(super) fn groups(pairs: Vec<Pair>) -> (Vec<Group>, Vec<Pair>) {
    if pairs.len() < PAIRS_MIN {
        return (Vec::new(), pairs);
    }
    let count = |end: fn(&Pair) -> NodeId| pairs.iter().map(end).collect::<Set<NodeId>>().len();
    let is_turned = count(|pair| pair.end) < count(|pair| pair.start);
    let mut places: Map<NodeId, usize> = Map::default();
    let mut groups: Vec<Group> = Vec::new();
    for pair in pairs {
        let common = if is_turned { pair.end } else { pair.start };
        let place = *places.entry(common).or_insert_with(|| {
            groups.push(Group { common, is_turned, pairs: Vec::new() });
            groups.len() - 1
        });
        groups[place].pairs.push(pair);
    }
    let (groups, small): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| group.pairs.len() >= PAIRS_MIN);
    (groups, small.into_iter().flat_map(|group| group.pairs).collect())
}

/// A search from a common node as far as it has come.
struct Search<'w, 'r> {
    common: NodeId,
    is_turned: bool,
    reach: Reach<'w, 'r>,
    frontier: Records<'r, NodeId>,
    length: u32,
    /// Edges that it has followed, and those that it may.
    followed: u64,
    allowed: u64,
}

/// Searches of earlier rows, that of the last ones at the end.
#[derive(Default)]
pub(super) struct Searches<'w, 'r>(Vec<Search<'w, 'r>>);

impl<'w, 'r> Searches<'w, 'r> {
    /// The search from the common node of a group: one that has begun, or a new one.
    fn take(
        &mut self,
        expand: &'w VariableExpand,
        runtime: &'w Runtime<'r>,
        chunk: &Chunk,
        group: &Group,
    ) -> Result<Search<'w, 'r>> {
        let is_same = |search: &Search<'_, '_>| search.common == group.common && search.is_turned == group.is_turned;
        if let Some(place) = self.0.iter().position(is_same) {
            return Ok(self.0.remove(place));
        }
        let mut reach = Reach::towards(expand, runtime, chunk, group.is_turned)?;
        let mut frontier = Records::new(reach.charge.another());
        frontier.push(group.common)?;
        if expand.min == 0 {
            reach.visited.insert(group.common)?;
        }
        let Group { common, is_turned, .. } = *group;
        Ok(Search { common, is_turned, reach, frontier, length: 0, followed: 0, allowed: 0 })
    }

    /// Keeps a search, in place of the one that was not used for longest. Its filter is the same for all rows.
    fn keep(&mut self, search: Search<'w, 'r>, runtime: &Runtime<'_>) {
        let bytes = runtime.view().view().node_id_bound() / 8 + 1;
        let most = (KEPT_BYTES_MAX / bytes).clamp(1, KEPT_MAX) as usize;
        if self.0.len() >= most {
            self.0.remove(0);
        }
        self.0.push(search);
    }
}

/// See the module.
pub(super) struct SharedEnd<'s, 'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'s Chunk,
    search: Search<'w, 'r>,
    /// For each other end that was not reached so far, the pairs it belongs to.
    wanted: Map<NodeId, Vec<Pair>>,
    /// These ends, and perhaps some that were reached meanwhile, in the order in which they are asked for.
    order: Vec<NodeId>,
    found: Found,
}

impl<'s, 'w, 'r> SharedEnd<'s, 'w, 'r> {
    /// Gives each pair of a group that a path joins.
    pub(super) fn run(
        (expand, runtime): (&'w VariableExpand, &'w Runtime<'r>),
        chunk: &'s Chunk,
        group: Group,
        searches: &mut Searches<'w, 'r>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let mut search = searches.take(expand, runtime, chunk, &group)?;
        search.allowed += EDGES_PER_PAIR * group.pairs.len() as u64;
        let (mut wanted, mut order): (Map<NodeId, Vec<Pair>>, Vec<NodeId>) = (Map::default(), Vec::new());
        for &pair in &group.pairs {
            let other = if group.is_turned { pair.start } else { pair.end };
            let pairs = wanted.entry(other).or_default();
            if pairs.is_empty() {
                order.push(other);
            }
            pairs.push(pair);
        }
        let mut shared = SharedEnd { expand, runtime, chunk, search, wanted, order, found: Found::default() };
        let flow = shared.answer(sink)?;
        searches.keep(shared.search, runtime);
        Ok(flow)
    }

    fn answer(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        self.take_visited()?;
        while !self.wanted.is_empty() && !self.search.frontier.is_empty() && self.search.length < self.expand.max {
            let cost = self.next_cost()?;
            while self.search.followed + cost > self.search.allowed && !self.wanted.is_empty() {
                if self.ask(sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            if !self.wanted.is_empty() {
                self.search.followed += cost;
                self.grow()?;
            }
            if self.flush(sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.flush(sink)
    }

    fn flush(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        self.expand.flush(self.chunk, &mut self.found, sink)
    }

    /// Takes the pairs with this other end, if they are wanted.
    fn take(&mut self, other: NodeId) {
        for pair in self.wanted.remove(&other).into_iter().flatten() {
            self.found.rows.push(pair.row);
            self.found.ends.push(pair.end);
        }
    }

    /// Takes the pairs whose other end the search has met.
    fn take_visited(&mut self) -> Result<()> {
        let wanted: Vec<NodeId> = self.wanted.keys().copied().collect();
        for other in wanted {
            if self.search.reach.visited.contains(other)? {
                self.take(other);
            }
        }
        Ok(())
    }

    /// Edges to follow to the next level.
    fn next_cost(&mut self) -> Result<u64> {
        let Search { reach, frontier, .. } = &mut self.search;
        let Some(expansion) = &reach.expansion else { return Ok(0) };
        let is_dear = self.expand.filter.is_some() && expansion.direction == Direction::In;
        let factor = if is_dear { ID_AGAINST_DIRECTION_COST } else { 1 };
        let guard = self.runtime.view();
        let (mut edges, mut place, mut buffer) = (0, 0, Vec::new());
        while place < frontier.len() {
            self.runtime.environment.interrupt.check()?;
            let nodes = frontier.piece(place, &mut buffer)?;
            place += nodes.len() as u64;
            let degrees = guard.view().degrees(nodes, expansion.direction, expansion.types.as_deref())?;
            edges += degrees.iter().sum::<u64>();
        }
        Ok(factor * edges)
    }

    /// Goes one level further and takes what it reaches.
    fn grow(&mut self) -> Result<()> {
        let search = &mut self.search;
        let next = search.frontier.another();
        // Of the rows with which it began the first will do: its filter is the same for all.
        search.frontier = search.reach.step(0, std::mem::replace(&mut search.frontier, next))?;
        search.length += 1;
        if search.frontier.len() > self.wanted.len() as u64 {
            return self.take_visited();
        }
        for place in 0..self.search.frontier.len() {
            let node = self.search.frontier.get(place)?;
            self.take(node);
        }
        Ok(())
    }

    /// Asks for a few pairs by themselves.
    fn ask(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut pairs = Vec::new();
        for _ in 0..ASKED {
            let Some(other) = self.order.pop() else { break };
            pairs.extend(self.wanted.remove(&other).into_iter().flatten());
        }
        let (expand, aim) = (self.expand, Aim::Nearest);
        let (flow, edges) = expand.pairs(self.runtime, self.chunk, aim, &pairs, expand.min, sink)?;
        self.search.allowed += EDGES_PER_PAIR_EDGE * edges + EDGES_PER_PAIR * pairs.len() as u64;
        Ok(flow)
    }
}
