//! The part of a graph that searches have met: edges are fetched from the store in batches when they are first needed,
//! and kept for the searches after.
//!
//! [`Nearby`] holds the edges, [`Front`] is one search over them, which may be begun again without being made again.
//! Cost: see `ground.rs`; a front 24 bytes a node met.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::Set;
use model::error::Result;
use model::id::NodeId;
use model::store::{Direction, ReadView};

use super::ground::{Ground, Reach, Row};
use crate::held::{Held, SearchContext};
use crate::projection::{Projection, Weight, is_cost};

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;
/// Nodes fetched ahead of being needed: a share of those that were, in these bounds.
const AHEAD_SHARE: u64 = 2;
const AHEAD_MIN: u64 = 8;
const AHEAD_MAX: u64 = 1024;
/// Expansions between two checks for cancellation.
const CHECK_EXPANSIONS: u64 = 256;

/// Edges fetched so far, followed one way.
pub(crate) struct Nearby<'a> {
    reach: Reach<'a>,
    ground: Ground,
    context: SearchContext<'a>,
    /// Memory of the edges, and of the search that follows them.
    held: Held<'a>,
}

impl<'a> Nearby<'a> {
    /// Nothing met yet; edges of a projection followed as it says, or the other way round.
    pub(crate) fn new(
        view: &'a dyn ReadView,
        projection: &Projection,
        direction: Direction,
        weight: Option<&'a Weight>,
        context: SearchContext<'a>,
    ) -> Nearby<'a> {
        let reach = Reach::new(view, projection, direction, weight, None);
        Nearby { reach, ground: Ground::new(view), context, held: context.held() }
    }

    /// The slot of a node, which is taken to take part if it is new.
    pub(crate) fn slot(&mut self, node: NodeId) -> u32 {
        let slot = self.ground.slot(node);
        self.ground.admit_all();
        slot
    }

    /// The slot of a node that was met.
    pub(crate) fn find(&self, node: NodeId) -> Option<u32> {
        self.ground.find(node)
    }

    #[inline]
    pub(crate) fn node(&self, slot: u32) -> NodeId {
        self.ground.node(slot)
    }

    /// Number of batches of nodes that the store was asked to expand.
    pub(crate) fn batches(&self) -> u64 {
        self.ground.batches
    }

    /// The neighbors of a node whose edges are fetched and that take part, with what each edge costs.
    #[inline]
    pub(crate) fn edges(&self, slot: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let Ground { rows, neighbors, costs, .. } = &self.ground;
        let Row { first_edge, edge_count, .. } = rows[slot as usize];
        let entries = first_edge as usize..(first_edge + edge_count) as usize;
        let costs = if costs.is_empty() { &[][..] } else { &costs[entries.clone()] };
        let edges = neighbors[entries].iter().enumerate();
        let edges = edges.map(move |(at, &neighbor)| (neighbor, costs.get(at).copied().unwrap_or(1.0)));
        edges.filter(|(neighbor, _)| !rows[*neighbor as usize].is_out)
    }

    /// The cost of the cheapest edge from a node to another.
    pub(crate) fn cheapest(&self, from: u32, to: u32) -> f64 {
        let costs = self.edges(from).filter(|(neighbor, _)| *neighbor == to).map(|(_, cost)| cost);
        costs.fold(f64::INFINITY, f64::min)
    }
}

/// A search that settles nodes in order of what it costs to come to them.
#[derive(Default)]
pub(crate) struct Front {
    states: Vec<State>,
    /// Entries in order of cost and estimate, whose bits sort as the numbers do since none is negative.
    queue: BinaryHeap<(Reverse<u64>, u32)>,
    round: u32,
    /// Number of nodes whose edges were followed, in all searches.
    pub(crate) expanded: u64,
}

/// A neighbor that is met over a settled node.
pub(crate) struct Met {
    pub(crate) slot: u32,
    pub(crate) node: NodeId,
    /// The cost of that path to it.
    pub(crate) cost: f64,
    /// The cost of the cheapest path found so far; infinite if there is none.
    pub(crate) known: f64,
}

#[derive(Clone, Copy)]
struct State {
    cost: f64,
    parent: u32,
    /// The search that the state is of.
    round: u32,
    is_settled: bool,
}

const UNMET: State = State { cost: f64::INFINITY, parent: NONE, round: 0, is_settled: false };

impl Front {
    /// Begins a search at a node, which has that cost already.
    pub(crate) fn begin(&mut self, slot: u32, cost: f64) {
        self.round += 1;
        self.queue.clear();
        self.meet(slot, NONE, cost, 0.0);
    }

    #[inline]
    fn state(&self, slot: u32) -> State {
        match self.states.get(slot as usize) {
            Some(state) if state.round == self.round => *state,
            _ => UNMET,
        }
    }

    fn meet(&mut self, slot: u32, parent: u32, cost: f64, estimate: f64) {
        if slot as usize >= self.states.len() {
            self.states.resize((slot as usize + 1).next_power_of_two(), UNMET);
        }
        self.states[slot as usize] = State { cost, parent, round: self.round, is_settled: false };
        self.queue.push((Reverse((cost + estimate).to_bits()), slot));
    }

    /// The cost of the cheapest path found to a node; infinite before one is.
    #[inline]
    pub(crate) fn cost(&self, slot: u32) -> f64 {
        self.state(slot).cost
    }

    pub(crate) fn is_settled(&self, slot: u32) -> bool {
        self.state(slot).is_settled
    }

    /// The least cost plus estimate of a node not yet settled.
    pub(crate) fn least(&mut self) -> Option<f64> {
        while let Some(&(Reverse(bits), slot)) = self.queue.peek() {
            if !self.state(slot).is_settled {
                return Some(f64::from_bits(bits));
            }
            self.queue.pop();
        }
        None
    }

    /// Settles the next node.
    pub(crate) fn settle(&mut self) -> Option<u32> {
        self.least()?;
        let (_, slot) = self.queue.pop()?;
        self.states[slot as usize].is_settled = true;
        Some(slot)
    }

    /// Follows the edges of a settled node to those that it `may` enter. The estimates must be consistent, so that a
    /// settled node is never met more cheaply.
    pub(crate) fn follow(
        &mut self,
        nearby: &mut Nearby<'_>,
        slot: u32,
        estimate: impl Fn(NodeId) -> f64,
        mut may: impl FnMut(&Met) -> bool,
    ) -> Result<()> {
        if self.expanded.is_multiple_of(CHECK_EXPANSIONS) {
            nearby.context.interrupt.check()?;
            nearby.context.interrupt.report(self.expanded, 0);
            nearby.held.resize(nearby.ground.byte_count() + self.byte_count())?;
        }
        if nearby.ground.rows[slot as usize].fetched_by == 0 {
            let wanted = self.with_next(&nearby.ground.rows, slot);
            nearby.ground.fetch(&nearby.reach, &wanted)?;
            nearby.held.resize(nearby.ground.byte_count() + self.byte_count())?;
        }
        self.expanded += 1;
        let cost = self.cost(slot);
        for (neighbor, edge_cost) in nearby.edges(slot) {
            if !is_cost(edge_cost) {
                return Err(nearby.reach.fault(nearby.node(slot), nearby.node(neighbor)));
            }
            let node = nearby.node(neighbor);
            let met = Met { slot: neighbor, node, cost: cost + edge_cost, known: self.cost(neighbor) };
            if may(&met) && met.cost < met.known {
                let estimate = estimate(node);
                if estimate < f64::INFINITY {
                    self.meet(neighbor, slot, met.cost, estimate);
                }
            }
        }
        Ok(())
    }

    /// A node and those that will be settled next, of which the edges are not there.
    fn with_next(&self, rows: &[Row], slot: u32) -> Vec<u32> {
        let most = (self.expanded / AHEAD_SHARE).clamp(AHEAD_MIN, AHEAD_MAX) as usize;
        let waiting = self.queue.iter().filter(|(_, next)| *next != slot && rows[*next as usize].fetched_by == 0);
        let mut waiting: Vec<(u64, u32)> = waiting.map(|&(Reverse(bits), slot)| (bits, slot)).collect();
        if waiting.len() > most {
            waiting.select_nth_unstable(most);
            waiting.truncate(most);
        }
        waiting.sort_unstable();
        let mut met = Set::default();
        waiting.retain(|(_, slot)| met.insert(*slot));
        std::iter::once(slot).chain(waiting.into_iter().map(|(_, slot)| slot)).collect()
    }

    /// Bytes that it holds.
    fn byte_count(&self) -> usize {
        size_of::<State>() * self.states.capacity() + size_of::<(u64, u32)>() * self.queue.capacity()
    }

    /// The slots of the path to a node, from where the search began.
    pub(crate) fn path(&self, slot: u32) -> Vec<u32> {
        let mut path = vec![slot];
        while let Some(&slot) = path.last()
            && self.state(slot).parent != NONE
        {
            path.push(self.state(slot).parent);
        }
        path.reverse();
        path
    }
}
