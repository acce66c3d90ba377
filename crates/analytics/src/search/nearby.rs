//! The part of a graph that searches have met: edges are fetched from the store in batches when they are first needed,
//! and kept for the searches after.
//!
//! [`Nearby`] holds the edges, [`Front`] is one search over them, which may be begun again without being made again.
//! Cost: 16 bytes a node met and 12 an edge fetched; a front 24 bytes a node met.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::batch::EdgeBatch;
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::{Direction, EdgeIds, Expand, ReadView};

use super::slots::Slots;
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
    view: &'a dyn ReadView,
    projection: Projection,
    weight: Option<&'a Weight>,
    expand: Expand,
    slots: Slots,
    /// For each slot where its edges are, once fetched.
    rows: Vec<Row>,
    neighbors: Vec<u32>,
    /// What edges cost; empty for 1 each.
    costs: Vec<f64>,
    buffer: EdgeBatch,
    /// How many batches of nodes the store was asked to expand.
    pub(crate) batches: u64,
}

#[derive(Clone, Copy, Default)]
struct Row {
    first_edge: u32,
    edge_count: u32,
    is_fetched: bool,
    /// Whether the node lacks the labels that were asked for.
    is_out: bool,
}

impl<'a> Nearby<'a> {
    /// Nothing met yet; edges of a projection followed as it says, or the other way round.
    pub(crate) fn new(
        view: &'a dyn ReadView,
        projection: &Projection,
        direction: Direction,
        weight: Option<&'a Weight>,
    ) -> Nearby<'a> {
        let projection = Projection { direction, ..projection.clone() };
        Nearby {
            view,
            weight,
            expand: projection.expand(direction, weight.map_or_else(Vec::new, Weight::keys), EdgeIds::Omit),
            projection,
            slots: Slots::new(view),
            rows: Vec::new(),
            neighbors: Vec::new(),
            costs: Vec::new(),
            buffer: EdgeBatch::default(),
            batches: 0,
        }
    }

    /// The slot of a node, which is taken to take part if it is new.
    pub(crate) fn slot(&mut self, node: NodeId) -> u32 {
        let slot = self.slots.slot(node);
        if slot as usize == self.rows.len() {
            self.rows.push(Row::default());
        }
        slot
    }

    /// The slot of a node that was met.
    pub(crate) fn find(&self, node: NodeId) -> Option<u32> {
        self.slots.find(node)
    }

    #[inline]
    pub(crate) fn node(&self, slot: u32) -> NodeId {
        self.slots.node(slot)
    }

    /// The neighbors of a node whose edges are fetched and that take part, with what each edge costs.
    #[inline]
    pub(crate) fn edges(&self, slot: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let Row { first_edge, edge_count, .. } = self.rows[slot as usize];
        let entries = first_edge as usize..(first_edge + edge_count) as usize;
        let costs = if self.costs.is_empty() { &[][..] } else { &self.costs[entries.clone()] };
        let edges = self.neighbors[entries].iter().enumerate();
        let edges = edges.map(move |(at, &neighbor)| (neighbor, costs.get(at).copied().unwrap_or(1.0)));
        edges.filter(|(neighbor, _)| !self.rows[*neighbor as usize].is_out)
    }

    /// What the cheapest edge from a node to another costs.
    pub(crate) fn cheapest(&self, from: u32, to: u32) -> f64 {
        let costs = self.edges(from).filter(|(neighbor, _)| *neighbor == to).map(|(_, cost)| cost);
        costs.fold(f64::INFINITY, f64::min)
    }

    /// Fetches the edges of some nodes that were just marked as fetched.
    fn fetch(&mut self, wanted: &[u32]) -> Result<()> {
        let nodes: Vec<NodeId> = wanted.iter().map(|&slot| self.slots.node(slot)).collect();
        let known = self.rows.len();
        self.batches += 1;
        let mut cursor = self.view.expand(&nodes, &self.expand)?;
        let mut previous = NONE;
        while cursor.next(&mut self.buffer)? {
            let start = self.neighbors.len();
            if u32::try_from(start + self.buffer.len()).is_err() {
                return Err(model::error!(Limit, "a search has fetched {start} edges, it can hold {}", u32::MAX));
            }
            self.neighbors.extend(self.buffer.neighbors.iter().map(|&node| self.slots.slot(node)));
            if let Some(weight) = self.weight {
                weight.append(&self.buffer.properties, self.buffer.len(), &mut self.costs);
            }
            for (at, &input) in self.buffer.inputs.iter().enumerate() {
                let row = &mut self.rows[wanted[input as usize] as usize];
                if input != previous {
                    previous = input;
                    row.first_edge = (start + at) as u32;
                }
                row.edge_count += 1;
            }
        }
        drop(cursor);
        self.rows.resize(self.slots.len(), Row::default());
        if self.projection.labels.is_some() && self.slots.len() > known {
            let admitted = self.projection.admits(self.view, self.slots.nodes_from(known))?;
            self.rows[known..].iter_mut().zip(admitted).for_each(|(row, admit)| row.is_out = !admit);
        }
        Ok(())
    }

    /// Why an edge of a node has no usable cost.
    fn fault(&self, slot: u32) -> model::Error {
        match self.weight {
            Some(weight) => weight.fault_at(self.view, &self.projection, self.slots.node(slot)),
            None => model::error!(Internal, "an edge without weight costs something else than 1"),
        }
    }
}

/// A search that settles nodes in order of what it costs to come to them.
#[derive(Default)]
pub(crate) struct Front {
    states: Vec<State>,
    /// Entries in order of cost and estimate, whose bits sort as the numbers do since none is negative.
    queue: BinaryHeap<(Reverse<u64>, u32)>,
    round: u32,
    /// How many nodes had their edges followed, in all searches.
    pub(crate) expanded: u64,
}

/// A neighbor that is met over a settled node.
pub(crate) struct Met {
    pub(crate) slot: u32,
    pub(crate) node: NodeId,
    /// What it costs to come to it that way.
    pub(crate) cost: f64,
    /// What the cheapest path found so far costs; infinite if there is none.
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

    /// What the cheapest path found to a node costs; infinite before one is.
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
        interrupt: &Interrupt,
        estimate: impl Fn(NodeId) -> f64,
        mut may: impl FnMut(&Met) -> bool,
    ) -> Result<()> {
        if self.expanded.is_multiple_of(CHECK_EXPANSIONS) {
            interrupt.check()?;
            interrupt.report(self.expanded, 0);
        }
        if !nearby.rows[slot as usize].is_fetched {
            let wanted = self.with_next(&mut nearby.rows, slot);
            nearby.fetch(&wanted)?;
        }
        self.expanded += 1;
        let cost = self.cost(slot);
        for (neighbor, edge_cost) in nearby.edges(slot) {
            if !is_cost(edge_cost) {
                return Err(nearby.fault(slot));
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

    /// A node and those that will be settled next, of which the edges are not there; they are marked as fetched.
    fn with_next(&self, rows: &mut [Row], slot: u32) -> Vec<u32> {
        let most = (self.expanded / AHEAD_SHARE).clamp(AHEAD_MIN, AHEAD_MAX) as usize;
        let waiting = self.queue.iter().filter(|(_, slot)| !rows[*slot as usize].is_fetched);
        let mut waiting: Vec<(u64, u32)> = waiting.map(|&(Reverse(bits), slot)| (bits, slot)).collect();
        if waiting.len() > most {
            waiting.select_nth_unstable(most);
            waiting.truncate(most);
        }
        waiting.sort_unstable();
        waiting.insert(0, (0, slot));
        waiting.retain(|(_, slot)| !std::mem::replace(&mut rows[*slot as usize].is_fetched, true));
        waiting.into_iter().map(|(_, slot)| slot).collect()
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
