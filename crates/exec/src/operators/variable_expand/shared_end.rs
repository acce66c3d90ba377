//! Pairs of nodes that have one end in common, of which only matters whether a path joins them: one breadth-first search
//! from the common node answers all of them.
//!
//! A search that visits all nodes may cost more than asking for a few pairs by themselves ([`super::both_ends`]). So it goes
//! one level further while the edges of that level are few against what pairs cost so far; else a few pairs are asked
//! for, which tells their cost. Neither way takes more than about twice the time of the better one.

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
/// Edges for each pair that may be followed before any pair was asked for by itself.
const EDGES_PER_PAIR: u64 = 16;
/// Edges of this search that cost as much as one of a search for pairs, which keeps paths and not bits.
const EDGES_PER_PAIR_EDGE: u64 = 8;
/// Other ends for which is asked at a time.
const ASKED: usize = 16;

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

/// See the module.
pub(super) struct SharedEnd<'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'w Chunk,
    group: Group,
    reach: Reach<'w, 'r>,
    frontier: Records<'r, NodeId>,
    length: u32,
    /// For each other end that was not reached so far, the pairs it belongs to.
    wanted: Map<NodeId, Vec<Pair>>,
    /// These ends, and perhaps some that were reached meanwhile, in the order in which they are asked for.
    order: Vec<NodeId>,
    /// Edges that the search has followed, and those that it may.
    followed: u64,
    allowed: u64,
    found: Found,
}

impl<'w, 'r> SharedEnd<'w, 'r> {
    pub(super) fn new(
        expand: &'w VariableExpand,
        runtime: &'w Runtime<'r>,
        chunk: &'w Chunk,
        group: Group,
    ) -> Result<SharedEnd<'w, 'r>> {
        let reach = Reach::towards(expand, runtime, chunk, group.is_turned)?;
        let mut frontier = Records::new(reach.charge.another());
        frontier.push(group.common)?;
        let (mut wanted, mut order): (Map<NodeId, Vec<Pair>>, Vec<NodeId>) = (Map::default(), Vec::new());
        for &pair in &group.pairs {
            let other = if group.is_turned { pair.start } else { pair.end };
            let pairs = wanted.entry(other).or_default();
            if pairs.is_empty() {
                order.push(other);
            }
            pairs.push(pair);
        }
        let allowed = EDGES_PER_PAIR * group.pairs.len() as u64;
        let (length, followed, found) = (0, 0, Found::default());
        Ok(SharedEnd {
            expand,
            runtime,
            chunk,
            group,
            reach,
            frontier,
            length,
            wanted,
            order,
            followed,
            allowed,
            found,
        })
    }

    /// Gives each pair that a path joins.
    pub(super) fn run(mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        if self.expand.min == 0 {
            self.reach.visited.insert(self.group.common)?;
            self.take(self.group.common);
        }
        while !self.wanted.is_empty() && !self.frontier.is_empty() && self.length < self.expand.max {
            let cost = self.next_cost()?;
            while self.followed + cost > self.allowed && !self.wanted.is_empty() {
                if self.ask(sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            if !self.wanted.is_empty() {
                self.followed += cost;
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

    /// Edges to follow to the next level.
    fn next_cost(&mut self) -> Result<u64> {
        let Some(expansion) = &self.reach.expansion else { return Ok(0) };
        let is_dear = self.expand.filter.is_some() && expansion.direction == Direction::In;
        let factor = if is_dear { ID_AGAINST_DIRECTION_COST } else { 1 };
        let guard = self.runtime.view();
        let (mut edges, mut place, mut buffer) = (0, 0, Vec::new());
        while place < self.frontier.len() {
            self.runtime.environment.interrupt.check()?;
            let nodes = self.frontier.piece(place, &mut buffer)?;
            place += nodes.len() as u64;
            let degrees = guard.view().degrees(nodes, expansion.direction, expansion.types.as_deref())?;
            edges += degrees.iter().sum::<u64>();
        }
        Ok(factor * edges)
    }

    /// Goes one level further and takes what it reaches.
    fn grow(&mut self) -> Result<()> {
        let row = self.group.pairs[0].row;
        let next = self.frontier.another();
        self.frontier = self.reach.step(row, std::mem::replace(&mut self.frontier, next))?;
        self.length += 1;
        if self.frontier.len() > self.wanted.len() as u64 {
            let wanted: Vec<NodeId> = self.wanted.keys().copied().collect();
            for other in wanted {
                if self.reach.visited.contains(other)? {
                    self.take(other);
                }
            }
            return Ok(());
        }
        for place in 0..self.frontier.len() {
            let node = self.frontier.get(place)?;
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
        // A pair costs something also where no edge leads on.
        self.allowed += EDGES_PER_PAIR_EDGE * (edges + pairs.len() as u64);
        Ok(flow)
    }
}
