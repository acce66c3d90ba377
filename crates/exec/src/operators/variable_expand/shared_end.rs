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
/// Number of pairs that decide by which end all are grouped, where one end has less than this share of the other's nodes.
const PAIRS_DECIDE: usize = 1_024;
const PAIRS_DECIDE_SHARE: usize = 8;
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
    let is_turned = has_fewer_ends(&pairs);
    let mut places: Map<NodeId, usize> = Map::default();
    let mut groups: Vec<Group> = Vec::new();
    let mut last = None;
    for pair in pairs {
        let common = if is_turned { pair.end } else { pair.start };
        // Rows of a product come with the same node many times in a row.
        let place = match last {
            Some((node, place)) if node == common => place,
            _ => *places.entry(common).or_insert_with(|| {
                groups.push(Group { common, is_turned, pairs: Vec::new() });
                groups.len() - 1
            }),
        };
        last = Some((common, place));
        groups[place].pairs.push(pair);
    }
    let (groups, small): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| group.pairs.len() >= PAIRS_MIN);
    (groups, small.into_iter().flat_map(|group| group.pairs).collect())
}

/// True if there are fewer ends than starts among pairs. The first pairs decide where the two differ much.
fn has_fewer_ends(pairs: &[Pair]) -> bool {
    let [mut starts, mut ends] = [Set::default(), Set::default()];
    let mut before = None;
    for (place, pair) in pairs.iter().enumerate() {
        if before.map(|before: Pair| before.start) != Some(pair.start) {
            starts.insert(pair.start);
        }
        if before.map(|before: Pair| before.end) != Some(pair.end) {
            ends.insert(pair.end);
        }
        before = Some(*pair);
        let (fewer, more) = (starts.len().min(ends.len()), starts.len().max(ends.len()));
        if place >= PAIRS_DECIDE && more > PAIRS_DECIDE / 2 && fewer < more / PAIRS_DECIDE_SHARE {
            break;
        }
    }
    ends.len() < starts.len()
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

/// Pairs that no path was found for so far, by their other end.
struct Wanted {
    /// In order of the other end.
    pairs: Vec<Pair>,
    /// The other ends, each with the place behind its last pair.
    others: Vec<(NodeId, u32)>,
    /// The ends whose pairs are still wanted, and their number.
    is_wanted: Vec<bool>,
    left: usize,
    /// Ends from here on were asked for by themselves.
    asked: usize,
}

impl Wanted {
    fn of(group: Group) -> Wanted {
        let Group { is_turned, mut pairs, .. } = group;
        let other = |pair: &Pair| if is_turned { pair.start } else { pair.end };
        if !pairs.is_sorted_by_key(other) {
            pairs.sort_unstable_by_key(other);
        }
        let mut others: Vec<(NodeId, u32)> = Vec::with_capacity(pairs.len());
        for (place, pair) in pairs.iter().enumerate() {
            match others.last_mut().filter(|(node, _)| *node == other(pair)) {
                Some((_, end)) => *end = place as u32 + 1,
                None => others.push((other(pair), place as u32 + 1)),
            }
        }
        let left = others.len();
        Wanted { pairs, is_wanted: vec![true; left], left, asked: left, others }
    }

    /// Takes the pairs of an end, if they are wanted.
    fn take(&mut self, place: usize) -> &[Pair] {
        if !std::mem::take(&mut self.is_wanted[place]) {
            return &[];
        }
        self.left -= 1;
        let start = if place == 0 { 0 } else { self.others[place - 1].1 };
        &self.pairs[start as usize..self.others[place].1 as usize]
    }

    /// Takes the pairs of a node.
    fn take_of(&mut self, other: NodeId) -> &[Pair] {
        match self.others.binary_search_by_key(&other, |(node, _)| *node) {
            Ok(place) => self.take(place),
            Err(_) => &[],
        }
    }

    /// Takes the pairs of the next end that is to be asked for by itself.
    fn take_next(&mut self) -> Option<&[Pair]> {
        self.asked = self.asked.checked_sub(1)?;
        Some(self.take(self.asked))
    }
}

/// See the module.
pub(super) struct SharedEnd<'s, 'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'s Chunk,
    search: Search<'w, 'r>,
    wanted: Wanted,
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
        let (wanted, found) = (Wanted::of(group), Found::default());
        let mut shared = SharedEnd { expand, runtime, chunk, search, wanted, found };
        let flow = shared.answer(sink)?;
        searches.keep(shared.search, runtime);
        Ok(flow)
    }

    fn answer(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        self.take_visited()?;
        while self.wanted.left > 0 && !self.search.frontier.is_empty() && self.search.length < self.expand.max {
            let cost = self.next_cost()?;
            while self.search.followed + cost > self.search.allowed && self.wanted.left > 0 {
                if self.ask(sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            if self.wanted.left > 0 {
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

    /// Takes the pairs whose other end the search has met.
    fn take_visited(&mut self) -> Result<()> {
        for place in 0..self.wanted.others.len() {
            if self.wanted.is_wanted[place] && self.search.reach.visited.contains(self.wanted.others[place].0)? {
                self.found.add(self.wanted.take(place));
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
        if search.frontier.len() > self.wanted.left as u64 {
            return self.take_visited();
        }
        for place in 0..self.search.frontier.len() {
            let node = self.search.frontier.get(place)?;
            self.found.add(self.wanted.take_of(node));
        }
        Ok(())
    }

    /// Asks for a few pairs by themselves.
    fn ask(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut pairs = Vec::new();
        for _ in 0..ASKED {
            let Some(next) = self.wanted.take_next() else { break };
            pairs.extend_from_slice(next);
        }
        let (expand, aim) = (self.expand, Aim::Nearest);
        let (flow, edges) = expand.pairs(self.runtime, self.chunk, aim, &pairs, expand.min, sink)?;
        self.search.allowed += EDGES_PER_PAIR_EDGE * edges + EDGES_PER_PAIR * pairs.len() as u64;
        Ok(flow)
    }
}
