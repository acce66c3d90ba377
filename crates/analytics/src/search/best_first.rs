//! Best-first search between two nodes: Dijkstra's algorithm, and A* when there is an estimate of what is left.
//!
//! Edges are asked for in batches: when the best node's edges are not there yet, the search runs ahead of itself, in
//! rounds of one batch each, to all nodes that it sees it will come to within the next stretch of cost. They are
//! expanded in due order later, unless the target comes first. The stretch grows as long as most of what was fetched is
//! used. A node whose cost falls after it was
//! expanded is expanded again, so that the path is the cheapest for every estimate that never exceeds the true cost.
//! Cost: two pushes and pops of a binary heap a node; 40 bytes a node met and 12 an edge fetched (36 more a node with
//! coordinates); an expansion of the store for each batch of nodes.
//! After: Dijkstra, 1959; Hart, Nilsson, Raphael, "A formal basis for the heuristic determination of minimum cost
//! paths", 1968; Yoneki, Roy, "A unified graph query layer for multiple databases", 2012 (prefetching).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::batch::EdgeBatch;
use model::error::{Error, Result};
use model::id::{NodeId, PropertyKeyId};
use model::interrupt::Interrupt;
use model::store::{AccessHint, EdgeIds, Expand, ReadView};

use super::slots::Slots;
use crate::projection::{Projection, Weight, append_numbers, is_cost};
use crate::sphere::Point;

/// What a search is asked for.
pub(crate) struct Problem<'a> {
    pub(crate) view: &'a dyn ReadView,
    pub(crate) projection: &'a Projection,
    pub(crate) weight: Option<&'a Weight>,
    pub(crate) map: Option<Coordinates<'a>>,
    pub(crate) source: NodeId,
    pub(crate) target: NodeId,
    /// Expansions after which to give up.
    pub(crate) expanded_max: u64,
}

/// Where the nodes lie, for estimates; and for the cost of edges, if there is no weight.
#[derive(Clone, Copy)]
pub(crate) struct Coordinates<'a> {
    pub(crate) latitude: (&'a str, PropertyKeyId),
    pub(crate) longitude: (&'a str, PropertyKeyId),
    /// What a kilometre costs at least.
    pub(crate) cost_per_km: f64,
}

/// What a search found.
pub(crate) struct Outcome {
    /// The nodes of a cheapest path and its cost, if there is a path.
    pub(crate) path: Option<(Vec<NodeId>, f64)>,
    /// How many nodes had their edges followed; a node expanded again counts again.
    pub(crate) expanded: u64,
    /// How many batches of nodes the store was asked to expand.
    pub(crate) batches: u64,
}

/// A node that the search has met.
#[derive(Clone, Copy)]
struct State {
    /// Cost of the cheapest path found to it; below every cost if it does not take part.
    cost: f64,
    /// Estimate of what is left; NaN before it is needed.
    estimate: f64,
    /// Cost of the path on which it was seen ahead; not less than that of the cheapest.
    cost_ahead: f64,
    /// The slot before it on that path.
    parent: u32,
    /// Its edges, once fetched.
    first_edge: u32,
    edge_count: u32,
    has_edges: bool,
    /// Whether it is among the chosen or on the horizon.
    is_ahead: bool,
    is_closed: bool,
}

const NEW: State = State {
    cost: f64::INFINITY,
    estimate: f64::NAN,
    cost_ahead: f64::INFINITY,
    parent: u32::MAX,
    first_edge: 0,
    edge_count: 0,
    has_edges: false,
    is_ahead: false,
    is_closed: false,
};

/// Expansions between two checks for cancellation.
const CHECK_EXPANSIONS: u64 = 1024;
/// Nodes in one batch, at most; and how many may be in one when enough are ahead already.
const BATCH_NODES_MAX: usize = 1024;
const BATCH_NODES_MIN: usize = 32;
/// Nodes that may in any case be fetched ahead of being expanded.
const AHEAD_NODES_MIN: u64 = 256;
/// Rounds of looking ahead at a time, at most.
const ROUNDS_MAX: usize = 64;
/// A round of fewer nodes than this part of the largest waits for company.
const ROUND_SHARE: usize = 4;
/// Nodes on the horizon, at most; when they are more they are forgotten, and fetched when the search comes to them.
const HORIZON_NODES_MAX: usize = 1 << 14;

/// Finds a cheapest path.
pub(crate) fn run(problem: &Problem<'_>, interrupt: &Interrupt) -> Result<Outcome> {
    Search::new(problem)?.run(interrupt)
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    expand: Expand,
    slots: Slots,
    states: Vec<State>,
    points: Vec<Point>,
    goal: Point,
    /// Entries in order of cost plus estimate, whose bits sort as the numbers do since neither is negative.
    queue: BinaryHeap<(Reverse<u64>, u32)>,
    neighbors: Vec<u32>,
    costs: Vec<f64>,
    /// How far ahead in cost edges are fetched; 0 before the first are.
    stretch: f64,
    /// The nodes whose edges are being fetched.
    chosen: Vec<u32>,
    /// Nodes seen beyond the edges fetched so far.
    horizon: Vec<u32>,
    buffer: EdgeBatch,
    fetched: u64,
    expanded: u64,
    batches: u64,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem<'a>) -> Result<Search<'a>> {
        let keys = problem.weight.map_or_else(Vec::new, Weight::keys);
        let mut search = Search {
            problem,
            expand: problem.projection.expand(problem.projection.direction, keys, EdgeIds::Omit),
            slots: Slots::new(problem.view),
            states: Vec::new(),
            points: Vec::new(),
            goal: Point::NOWHERE,
            queue: BinaryHeap::new(),
            neighbors: Vec::new(),
            costs: Vec::new(),
            stretch: 0.0,
            chosen: Vec::new(),
            horizon: Vec::new(),
            buffer: EdgeBatch::default(),
            fetched: 0,
            expanded: 0,
            batches: 0,
        };
        let source = search.slots.slot(problem.source);
        let target = search.slots.slot(problem.target);
        search.admit()?;
        if problem.map.is_some() {
            search.goal = search.points[target as usize];
            search.estimate(target)?;
        }
        let estimate = search.estimate(source)?;
        search.states[source as usize].cost = 0.0;
        search.queue.push((Reverse(estimate.to_bits()), source));
        Ok(search)
    }

    fn run(mut self, interrupt: &Interrupt) -> Result<Outcome> {
        let target = self.slots.slot(self.problem.target);
        while let Some((_, slot)) = self.queue.pop() {
            let state = self.states[slot as usize];
            if state.is_closed {
                continue;
            }
            if slot == target {
                return Ok(self.finish(Some(target)));
            }
            if self.expanded >= self.problem.expanded_max {
                let most = self.problem.expanded_max;
                return Err(model::error!(
                    Limit,
                    "no path was found within {most} expansions, the setting 'maxExpanded'"
                )
                .with_remedy("raise 'maxExpanded', or leave it out"));
            }
            if self.expanded.is_multiple_of(CHECK_EXPANSIONS) {
                interrupt.check()?;
                interrupt.report(self.expanded, 0);
            }
            if !state.has_edges {
                self.fetch_ahead(slot)?;
            }
            self.states[slot as usize].is_closed = true;
            self.expanded += 1;
            self.relax(slot)?;
        }
        Ok(self.finish(None))
    }

    fn finish(self, target: Option<u32>) -> Outcome {
        let path = target.map(|target| {
            let mut slots = vec![target];
            while let Some(&slot) = slots.last()
                && self.states[slot as usize].parent != u32::MAX
            {
                slots.push(self.states[slot as usize].parent);
            }
            (slots.iter().rev().map(|&slot| self.slots.node(slot)).collect(), self.states[target as usize].cost)
        });
        Outcome { path, expanded: self.expanded, batches: self.batches }
    }

    /// Offers each neighbor the path over this node.
    #[inline]
    fn relax(&mut self, slot: u32) -> Result<()> {
        let State { cost, first_edge, edge_count, .. } = self.states[slot as usize];
        for edge in first_edge as usize..(first_edge + edge_count) as usize {
            let neighbor = self.neighbors[edge];
            let edge_cost = self.edge_cost(slot, edge);
            if !is_cost(edge_cost) {
                return Err(self.fault(slot, neighbor));
            }
            let new_cost = cost + edge_cost;
            if new_cost < self.states[neighbor as usize].cost {
                let estimate = self.estimate(neighbor)?;
                let state = &mut self.states[neighbor as usize];
                state.cost = new_cost;
                state.parent = slot;
                state.is_closed = false;
                self.queue.push((Reverse((new_cost + estimate).to_bits()), neighbor));
            }
        }
        Ok(())
    }

    /// What an edge out of a node costs.
    #[inline]
    fn edge_cost(&self, slot: u32, edge: usize) -> f64 {
        match (self.problem.weight, self.problem.map) {
            (Some(_), _) => self.costs[edge],
            (None, Some(_)) => self.points[slot as usize].distance_km(self.points[self.neighbors[edge] as usize]),
            (None, None) => 1.0,
        }
    }

    /// What it costs at least from a node to the target.
    #[inline]
    fn estimate(&mut self, slot: u32) -> Result<f64> {
        let estimate = self.find_estimate(slot);
        if estimate.is_nan() { Err(self.no_coordinates(slot)) } else { Ok(estimate) }
    }

    /// The same; NaN for a node without coordinates.
    #[inline]
    fn find_estimate(&mut self, slot: u32) -> f64 {
        let Some(map) = &self.problem.map else { return 0.0 };
        let estimate = &mut self.states[slot as usize].estimate;
        if estimate.is_nan() {
            *estimate = self.points[slot as usize].distance_km(self.goal) * map.cost_per_km;
        }
        *estimate
    }

    /// Fetches the edges of a node, and with it those that will be needed next.
    fn fetch_ahead(&mut self, slot: u32) -> Result<()> {
        if self.expanded * 4 >= self.fetched * 3 {
            self.stretch *= 2.0;
        } else if self.expanded * 2 < self.fetched {
            self.stretch /= 2.0;
        }
        let State { cost, estimate, .. } = self.states[slot as usize];
        let limit = cost + if self.problem.map.is_some() { estimate } else { 0.0 } + self.stretch;
        self.chosen.clear();
        self.chosen.push(slot);
        self.states[slot as usize].is_ahead = true;
        self.states[slot as usize].cost_ahead = cost;
        self.choose_from_horizon(slot, limit);
        let mut largest = 0;
        for _ in 0..ROUNDS_MAX {
            largest = largest.max(self.chosen.len());
            self.fetched += self.chosen.len() as u64;
            self.batches += 1;
            self.fetch()?;
            self.choose_neighbors(limit);
            let is_last = self.batch_nodes_max() == BATCH_NODES_MIN;
            if is_last || self.chosen.len() * ROUND_SHARE < largest || self.chosen.is_empty() {
                break;
            }
        }
        self.horizon.append(&mut self.chosen);
        if self.horizon.len() > HORIZON_NODES_MAX {
            let beyond = std::mem::take(&mut self.horizon);
            beyond.iter().for_each(|&slot| self.states[slot as usize].is_ahead = false);
        }
        if self.stretch == 0.0 {
            let State { first_edge, edge_count, .. } = self.states[slot as usize];
            let costs =
                (first_edge as usize..(first_edge + edge_count) as usize).map(|edge| self.edge_cost(slot, edge));
            self.stretch = costs.filter(|cost| cost.is_finite()).fold(0.0, f64::max);
        }
        Ok(())
    }

    /// How many nodes the next batch may hold: no more are ahead of their expansion than were expanded, or hardly.
    fn batch_nodes_max(&self) -> usize {
        let may_be_ahead = self.expanded.max(AHEAD_NODES_MIN);
        let are_ahead = self.fetched.saturating_sub(self.expanded);
        (may_be_ahead.saturating_sub(are_ahead) as usize).clamp(BATCH_NODES_MIN, BATCH_NODES_MAX)
    }

    /// Chooses the nodes on the horizon that come before a limit, besides the one already chosen.
    fn choose_from_horizon(&mut self, first: u32, limit: f64) {
        let has_map = self.problem.map.is_some();
        let most = self.batch_nodes_max();
        let (states, chosen) = (&mut self.states, &mut self.chosen);
        self.horizon.retain(|&slot| {
            let state = &states[slot as usize];
            let comes_at = state.cost_ahead.min(state.cost) + if has_map { state.estimate } else { 0.0 };
            if slot == first {
                return false;
            }
            let is_due = comes_at <= limit && chosen.len() < most;
            if is_due {
                chosen.push(slot);
            }
            !is_due
        });
    }

    /// Replaces the chosen nodes, now that they have edges, by those of their neighbors that come before a limit and have
    /// none. The other neighbors go on the horizon.
    fn choose_neighbors(&mut self, limit: f64) {
        let from = std::mem::take(&mut self.chosen);
        let most = self.batch_nodes_max();
        for &slot in &from {
            let State { cost_ahead, cost, first_edge, edge_count, .. } = self.states[slot as usize];
            let cost_here = cost_ahead.min(cost);
            for edge in first_edge as usize..(first_edge + edge_count) as usize {
                let neighbor = self.neighbors[edge];
                let cost = cost_here + self.edge_cost(slot, edge);
                let state = &mut self.states[neighbor as usize];
                if state.has_edges || state.cost == f64::NEG_INFINITY {
                    continue;
                }
                state.cost_ahead = state.cost_ahead.min(cost);
                if state.is_ahead {
                    continue;
                }
                state.is_ahead = true;
                let comes_at = cost + self.find_estimate(neighbor);
                if comes_at <= limit && self.chosen.len() < most {
                    self.chosen.push(neighbor);
                } else {
                    self.horizon.push(neighbor);
                }
            }
        }
    }

    /// Fetches the edges of the chosen nodes, and what must be known of the nodes at their other ends.
    fn fetch(&mut self) -> Result<()> {
        let nodes: Vec<NodeId> = self.chosen.iter().map(|&slot| self.slots.node(slot)).collect();
        let view = self.problem.view;
        let mut cursor = view.expand(&nodes, &self.expand)?;
        for &slot in &self.chosen {
            self.states[slot as usize].has_edges = true;
        }
        let mut previous = u32::MAX;
        while cursor.next(&mut self.buffer)? {
            let start = self.neighbors.len();
            self.neighbors.extend(self.buffer.neighbors.iter().map(|&node| self.slots.slot(node)));
            if let Some(weight) = self.problem.weight {
                weight.append(&self.buffer.properties, self.buffer.len(), &mut self.costs);
            }
            for (row, &input) in self.buffer.inputs.iter().enumerate() {
                let state = &mut self.states[self.chosen[input as usize] as usize];
                if input != previous {
                    previous = input;
                    state.first_edge = edge_number(start + row)?;
                }
                state.edge_count += 1;
            }
        }
        drop(cursor);
        self.admit()
    }

    /// Takes in the nodes met since the last time: whether they take part, and where they lie.
    fn admit(&mut self) -> Result<()> {
        let start = self.states.len();
        self.states.resize(self.slots.len(), NEW);
        let fresh = self.slots.nodes_from(start);
        if fresh.is_empty() {
            return Ok(());
        }
        let view = self.problem.view;
        if self.problem.projection.labels.is_some() {
            let admitted = self.problem.projection.admits(view, fresh)?;
            for (state, admit) in self.states[start..].iter_mut().zip(admitted) {
                if !admit {
                    state.cost = f64::NEG_INFINITY;
                }
            }
        }
        if view.capabilities().is_remote {
            view.prefetch(&AccessHint::Expand(fresh, &self.expand));
        }
        if let Some(map) = &self.problem.map {
            let columns = view.node_properties(fresh, &[map.latitude.1, map.longitude.1])?;
            let (mut latitudes, mut longitudes) = (Vec::new(), Vec::new());
            append_numbers(&columns[0], f64::NAN, &mut latitudes);
            append_numbers(&columns[1], f64::NAN, &mut longitudes);
            self.points.extend(latitudes.iter().zip(longitudes).map(|(&lat, lon)| Point::from_degrees(lat, lon)));
        }
        Ok(())
    }

    /// Why an edge between two nodes has no usable cost.
    fn fault(&self, slot: u32, neighbor: u32) -> Error {
        match self.problem.weight {
            Some(weight) => weight.fault_at(self.problem.view, self.problem.projection, self.slots.node(slot)),
            None => self.no_coordinates(neighbor),
        }
    }

    fn no_coordinates(&self, slot: u32) -> Error {
        let (node, Some(map)) = (self.slots.node(slot), &self.problem.map) else {
            return model::error!(Internal, "a search without coordinates asked for them");
        };
        for ((name, key), most) in [(map.latitude, 90), (map.longitude, 360)] {
            let value = match self.problem.view.node_properties(&[node], &[key]) {
                Ok(columns) => columns[0].value(0),
                Err(error) => return error,
            };
            let mut number = Vec::new();
            append_numbers(&model::Column::constant(&value, 1), f64::NAN, &mut number);
            if value.is_null() {
                return model::error!(Argument, "node #{} has no property '{name}', which the search needs", node.0)
                    .with_remedy("set it, or name other properties by 'latitudeProperty' and 'longitudeProperty'");
            }
            if number[0].is_nan() || number[0].abs() > f64::from(most) {
                let expected = format!("expected degrees between -{most} and {most}");
                return model::error!(Argument, "node #{} has {value} in property '{name}', {expected}", node.0);
            }
        }
        model::error!(Internal, "node #{} has coordinates that were not seen", node.0)
    }
}

fn edge_number(count: usize) -> Result<u32> {
    u32::try_from(count)
        .map_err(|_| model::error!(Limit, "a search has fetched {count} edges, it can hold {}", u32::MAX))
}
