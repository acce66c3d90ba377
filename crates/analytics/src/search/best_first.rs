//! Best-first search between two nodes: Dijkstra's algorithm, and A* when there is an estimate of what is left.
//!
//! Edges are asked for in batches: when the best node's edges are not there yet, the search runs ahead of itself, in
//! rounds of one batch each, to all nodes that it sees it will come to within the next stretch of cost. They are
//! expanded in due order later, unless the target comes first. The stretch grows as long as most of what was fetched is
//! used. A node whose cost falls after it was
//! expanded is expanded again, so that the path is the cheapest for every estimate that never exceeds the true cost.
//! Cost: two pushes and pops of a binary heap a node; 24 bytes a node met (16 more once edges are fetched) besides what
//! the ground takes; an expansion of the store for each batch of nodes whose edges are not on the ground.
//! After: Dijkstra, 1959; Hart, Nilsson, Raphael, "A formal basis for the heuristic determination of minimum cost
//! paths", 1968; Yoneki, Roy, "A unified graph query layer for multiple databases", 2012 (prefetching).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::course::Course;
use model::error::{Error, Result};
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::ReadView;

use super::ground::{Coordinates, Ground, Reach, Row};
use crate::held::{Held, SearchContext};
use crate::projection::{Projection, Weight, is_cost};
use crate::sphere::Point;

/// Parameters of a search.
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

/// The result of a search.
pub(crate) struct Outcome {
    /// The nodes of a cheapest path and its cost, if there is a path.
    pub(crate) path: Option<(Vec<NodeId>, f64)>,
    /// Number of nodes whose edges were followed; a node expanded again counts again.
    pub(crate) expanded: u64,
    /// Number of batches of nodes that the store was asked to expand.
    pub(crate) batches: u64,
}

/// State of a node that a search has met.
#[derive(Clone, Copy)]
struct State {
    /// Cost of the cheapest path found to it; below every cost if it does not take part.
    cost: f64,
    /// Estimate of what is left.
    estimate: f64,
    /// The slot before it on that path.
    parent: u32,
    /// Twice the search that the state is of, and one more once the node is expanded.
    stamp: u32,
}

const UNMET: State = State { cost: f64::INFINITY, estimate: 0.0, parent: u32::MAX, stamp: 0 };

/// State of a node that was seen before the search comes to it.
#[derive(Clone, Copy)]
struct Ahead {
    /// Cost of the path on which it was seen; not less than that of the cheapest.
    cost: f64,
    /// Estimate of what is left.
    estimate: f64,
    /// The search that saw it, and whether the node is among the chosen or on the horizon.
    search: u32,
    is_listed: bool,
}

const UNSEEN: Ahead = Ahead { cost: f64::INFINITY, estimate: 0.0, search: 0, is_listed: false };

/// The arrays of a search, by slot: kept with the ground, so that another search need not make them.
#[derive(Default)]
pub(crate) struct Scratch {
    states: Vec<State>,
    ahead: Vec<Ahead>,
    /// Entries in order of cost plus estimate, whose bits sort as the numbers do since neither is negative.
    queue: BinaryHeap<(Reverse<u64>, u32)>,
}

impl Scratch {
    /// Bytes that it holds.
    pub(crate) fn byte_count(&self) -> usize {
        size_of::<State>() * self.states.capacity()
            + size_of::<Ahead>() * self.ahead.capacity()
            + size_of::<(u64, u32)>() * self.queue.capacity()
    }
}

/// Expansions between two checks for cancellation.
const CHECK_EXPANSIONS: u64 = 1024;
/// Nodes in one batch, at most; and how many may be in one when enough are ahead already.
const BATCH_NODES_MAX: usize = 1024;
const BATCH_NODES_MIN: usize = 32;
/// The part of what was used that a batch may hold in any case.
const LEAST_SHARE: u64 = 16;
/// The part of what was used that may be ahead of being expanded, where a row costs less than a batch and where it costs
/// more; and how many nodes may be in any case.
const AHEAD_SHARE: u64 = 2;
const AHEAD_SHARE_REMOTE: u64 = 4;
/// The same where the store fetches what lies on the course by itself.
const AHEAD_SHARE_FOLLOWED: u64 = 32;
const AHEAD_NODES_MIN: u64 = 128;
/// Of what parts of what was fetched may lie unused before the stretch of cost no longer grows, and before it shrinks.
const UNUSED: (u64, u64) = (8, 4);
const UNUSED_FOLLOWED: (u64, u64) = (64, 24);
/// Rounds of looking ahead at a time, at most.
const ROUNDS_MAX: usize = 64;
/// A round of fewer nodes than this part of the largest waits for company.
const ROUND_SHARE: usize = 4;
/// Nodes on the horizon, at most; when they are more they are forgotten, and fetched when the search comes to them.
const HORIZON_NODES_MAX: usize = 1 << 14;
/// Nodes that a store far away is told of at a time, at most.
const ANNOUNCED_MAX: usize = 2048;
/// Length of a path relative to the straight line that is assumed before any was seen; that of those that the search
/// comes to first, as a part of those that it sees; the part of the whole path that the first counts as; and the
/// relative error beyond which the store is told.
const DETOUR: f64 = 1.2;
const STRAIGHTER: f64 = 0.88;
const SEEN_SHARE: f64 = 0.25;
const TOLD_SHARE: f64 = 0.15;
/// Searches that share arrays, so that their numbers fit a stamp.
const SEARCHES_MAX: u32 = u32::MAX / 4;

/// A place that keeps what searches have read.
pub(crate) trait Grounds {
    /// Takes out what earlier searches of the kind have read, if nothing has changed since.
    fn take_ground(&self, reach: &Reach<'_>) -> Option<(Ground, Scratch)>;
    /// Keeps what a search has read, as far as there is memory for it.
    fn keep_ground(&self, reach: &Reach<'_>, ground: Ground, scratch: Scratch);
}

/// Finds a cheapest path. With a place to keep things what the search reads is kept there for the next one.
pub(crate) fn run(problem: &Problem<'_>, kept: Option<&impl Grounds>, context: SearchContext<'_>) -> Result<Outcome> {
    let Problem { view, projection, weight, map, .. } = *problem;
    let reach = Reach::new(view, projection, projection.direction, weight, map);
    let mut held = context.held();
    let kept_before = kept.and_then(|kept| kept.take_ground(&reach));
    // Data of earlier searches may be more than this one may hold.
    let kept_before =
        kept_before.filter(|(ground, scratch)| held.resize(ground.byte_count() + scratch.byte_count()).is_ok());
    let (ground, scratch) = kept_before.unwrap_or_else(|| (Ground::new(view), Scratch::default()));
    let mut search = Search::new(problem, &reach, ground, scratch)?;
    let outcome = search.run(context.interrupt, &mut held)?;
    drop(held);
    if let Some(kept) = kept {
        kept.keep_ground(&reach, search.ground, search.scratch);
    }
    Ok(outcome)
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    reach: &'a Reach<'a>,
    ground: Ground,
    scratch: Scratch,
    start: Point,
    goal: Point,
    cost_per_km: f64,
    /// Costs of nodes that it came to without having their edges, and their distances from the start.
    travelled: (f64, f64),
    /// The cost of a kilometre that the store was told.
    told_per_km: f64,
    /// True if the store follows the course that it is told.
    is_followed: bool,
    target: u32,
    /// The stamp of a node that is met, but not expanded.
    open: u32,
    /// The cost ahead for which edges are fetched; 0 before the first are.
    stretch: f64,
    /// The nodes whose edges are being fetched.
    chosen: Vec<u32>,
    /// Nodes seen beyond the edges fetched so far.
    horizon: Vec<u32>,
    /// Nodes whose edges this search fetched, and how many of them it expanded.
    fetched: u64,
    used: u64,
    expanded: u64,
    batches_before: u64,
    /// True if an earlier search left edges on the ground, beyond which this one may come at many places.
    is_warm: bool,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem<'a>, reach: &'a Reach<'a>, ground: Ground, scratch: Scratch) -> Result<Search<'a>> {
        let mut search = Search {
            problem,
            reach,
            batches_before: ground.batches,
            is_warm: !ground.neighbors.is_empty(),
            ground,
            scratch,
            start: Point::NOWHERE,
            goal: Point::NOWHERE,
            cost_per_km: problem.map.map_or(0.0, |map| map.cost_per_km),
            travelled: (0.0, 0.0),
            told_per_km: 0.0,
            is_followed: problem.map.is_some() && reach.is_remote && problem.view.follows_courses(),
            target: 0,
            open: 0,
            stretch: 0.0,
            chosen: Vec::new(),
            horizon: Vec::new(),
            fetched: 0,
            used: 0,
            expanded: 0,
        };
        search.ground.search += 1;
        if search.ground.search > SEARCHES_MAX {
            search.ground.search = 1;
            search.ground.rows.iter_mut().for_each(|row| row.fetched_by = row.fetched_by.min(1));
            search.scratch = Scratch::default();
        }
        search.open = 2 * search.ground.search;
        search.scratch.queue.clear();
        let source = search.ground.slot(problem.source);
        search.target = search.ground.slot(problem.target);
        search.ground.admit(reach)?;
        search.cover();
        if problem.map.is_some() {
            search.goal = search.ground.points[search.target as usize];
            search.start = search.ground.points[source as usize];
            search.estimate(search.target)?;
            // Most networks lead there by a way a quarter longer than the straight one: as if a part of it had been seen.
            let seen_km = SEEN_SHARE * search.start.distance_km(search.goal);
            search.travelled = (DETOUR / STRAIGHTER * search.cost_per_km * seen_km, seen_km);
        }
        let estimate = search.estimate(source)?;
        search.scratch.states[source as usize] = State { cost: 0.0, estimate, parent: u32::MAX, stamp: search.open };
        search.scratch.queue.push((Reverse(estimate.to_bits()), source));
        Ok(search)
    }

    /// Has a state for every node of the ground.
    fn cover(&mut self) {
        if self.scratch.states.len() < self.ground.rows.len() {
            self.scratch.states.resize(self.ground.rows.len(), UNMET);
        }
    }

    fn run(&mut self, interrupt: &Interrupt, held: &mut Held<'_>) -> Result<Outcome> {
        while let Some((_, slot)) = self.scratch.queue.pop() {
            if self.scratch.states[slot as usize].stamp != self.open {
                continue;
            }
            if slot == self.target {
                return Ok(self.finish(true));
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
                held.resize(self.byte_count())?;
            }
            let mut row = self.ground.rows[slot as usize];
            if row.fetched_by == 0 {
                self.fetch_ahead(slot)?;
                held.resize(self.byte_count())?;
                row = self.ground.rows[slot as usize];
            }
            self.expanded += 1;
            self.used += u64::from(row.fetched_by == self.ground.search);
            self.relax(slot, row)?;
        }
        Ok(self.finish(false))
    }

    fn byte_count(&self) -> usize {
        self.ground.byte_count() + self.scratch.byte_count()
    }

    fn finish(&self, is_found: bool) -> Outcome {
        let states = &self.scratch.states;
        let path = is_found.then(|| {
            let mut slots = vec![self.target];
            while let Some(&slot) = slots.last()
                && states[slot as usize].parent != u32::MAX
            {
                slots.push(states[slot as usize].parent);
            }
            let nodes = slots.iter().rev().map(|&slot| self.ground.node(slot)).collect();
            (nodes, states[self.target as usize].cost)
        });
        Outcome { path, expanded: self.expanded, batches: self.ground.batches - self.batches_before }
    }

    /// Offers each neighbor the path over this node.
    #[inline]
    fn relax(&mut self, slot: u32, row: Row) -> Result<()> {
        let state = &mut self.scratch.states[slot as usize];
        state.stamp = self.open + 1;
        let cost = state.cost;
        let edges = row.first_edge as usize..(row.first_edge + row.edge_count) as usize;
        let ground = &self.ground;
        for edge in edges {
            let neighbor = ground.neighbors[edge];
            let mut state = self.scratch.states[neighbor as usize];
            if state.stamp < self.open {
                state = self.meet(neighbor);
                self.scratch.states[neighbor as usize] = state;
            }
            if state.cost == f64::NEG_INFINITY {
                continue;
            }
            let edge_cost = ground.costs.get(edge).copied().unwrap_or(1.0);
            if !is_cost(edge_cost) {
                return Err(self.reach.fault(ground.node(slot), ground.node(neighbor)));
            }
            let new_cost = cost + edge_cost;
            if new_cost < state.cost {
                if state.estimate.is_nan() {
                    return Err(self.no_coordinates(neighbor));
                }
                let entry = (Reverse((new_cost + state.estimate).to_bits()), neighbor);
                self.scratch.states[neighbor as usize] =
                    State { cost: new_cost, parent: slot, stamp: self.open, ..state };
                self.scratch.queue.push(entry);
            }
        }
        Ok(())
    }

    /// The state of a node that no path leads to so far.
    #[inline]
    fn meet(&self, slot: u32) -> State {
        let cost = if self.ground.rows[slot as usize].is_out { f64::NEG_INFINITY } else { f64::INFINITY };
        State { cost, estimate: self.find_estimate(slot), parent: u32::MAX, stamp: self.open }
    }

    /// Lower bound of the cost from a node to the target.
    fn estimate(&self, slot: u32) -> Result<f64> {
        let estimate = self.find_estimate(slot);
        if estimate.is_nan() { Err(self.no_coordinates(slot)) } else { Ok(estimate) }
    }

    /// The same; NaN for a node without coordinates.
    #[inline]
    fn find_estimate(&self, slot: u32) -> f64 {
        match self.ground.points.get(slot as usize) {
            Some(point) => point.distance_km(self.goal) * self.cost_per_km,
            None => 0.0,
        }
    }

    fn no_coordinates(&self, slot: u32) -> Error {
        self.reach.no_coordinates(self.ground.node(slot))
    }

    /// Fetches the edges of a node, and with it those that will be needed next.
    fn fetch_ahead(&mut self, slot: u32) -> Result<()> {
        let (few, many) = if self.is_followed { UNUSED_FOLLOWED } else { UNUSED };
        let unused = self.fetched.saturating_sub(self.used);
        if unused * few <= self.fetched {
            self.stretch *= 2.0;
        } else if unused * many > self.fetched {
            self.stretch /= 2.0;
        }
        let State { cost, estimate, .. } = self.scratch.states[slot as usize];
        let limit = cost + estimate + self.stretch;
        self.scratch.ahead.resize(self.ground.rows.len(), UNSEEN);
        self.chosen.clear();
        self.chosen.push(slot);
        self.scratch.ahead[slot as usize] = Ahead { cost, estimate, search: self.ground.search, is_listed: true };
        self.choose_from_horizon(slot, limit);
        if self.is_warm {
            self.choose_from_queue(limit);
        }
        self.announce_course(slot, cost);
        self.announce(limit + self.stretch);
        let mut largest = 0;
        for _ in 0..ROUNDS_MAX {
            largest = largest.max(self.chosen.len());
            self.fetched += self.chosen.len() as u64;
            self.ground.fetch(self.reach, &self.chosen)?;
            self.cover();
            self.scratch.ahead.resize(self.ground.rows.len(), UNSEEN);
            self.choose_neighbors(limit);
            let is_last = self.batch_nodes_max() == self.batch_nodes_least();
            if is_last || self.chosen.len() * ROUND_SHARE < largest || self.chosen.is_empty() {
                break;
            }
        }
        self.horizon.append(&mut self.chosen);
        if self.horizon.len() > HORIZON_NODES_MAX {
            let beyond = std::mem::take(&mut self.horizon);
            beyond.iter().for_each(|&slot| self.scratch.ahead[slot as usize].is_listed = false);
        }
        if self.stretch == 0.0 {
            let Row { first_edge, edge_count, .. } = self.ground.rows[slot as usize];
            let costs = (first_edge as usize..(first_edge + edge_count) as usize).map(|edge| self.edge_cost(edge));
            self.stretch = costs.filter(|cost| cost.is_finite()).fold(0.0, f64::max);
        }
        Ok(())
    }

    /// Tells a store that is far away over what places the search goes, when that is first known or seen to be different.
    fn announce_course(&mut self, slot: u32, cost: f64) {
        let Some(map) = self.problem.map.filter(|_| self.reach.is_remote && !self.start.is_nowhere()) else { return };
        let distance_km = self.ground.points[slot as usize].distance_km(self.start);
        if distance_km.is_finite() {
            self.travelled = (self.travelled.0 + cost, self.travelled.1 + distance_km);
        }
        let (cost, distance_km) = self.travelled;
        // The search comes soonest to where ways are straighter than they are on the whole.
        let seen_per_km = if distance_km > 0.0 { STRAIGHTER * cost / distance_km } else { 0.0 };
        let cost_per_km = seen_per_km.max(self.cost_per_km);
        if (cost_per_km - self.told_per_km).abs() <= TOLD_SHARE * self.told_per_km {
            return;
        }
        self.told_per_km = cost_per_km;
        self.reach.announce_course(&Course {
            properties: [map.latitude.1, map.longitude.1],
            from: self.start.degrees(),
            to: self.goal.degrees(),
            cost_per_km,
            estimate_per_km: self.cost_per_km,
        });
    }

    /// Tells a store that is far away which nodes will be expanded before a limit, as far as they are known, so that it
    /// can fetch what lies around them along with what it is asked next.
    fn announce(&self, limit: f64) {
        if !self.reach.is_remote {
            return;
        }
        let comes_at = |&slot: &u32| self.known_cost(slot) + self.scratch.ahead[slot as usize].estimate;
        let due = self.horizon.iter().map(|slot| (comes_at(slot), *slot)).filter(|(at, _)| *at <= limit);
        let mut due: Vec<(f64, u32)> = due.collect();
        due.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        due.truncate(ANNOUNCED_MAX);
        let slots = self.chosen.iter().copied().chain(due.into_iter().map(|(_, slot)| slot));
        let nodes: Vec<NodeId> = slots.map(|slot| self.ground.node(slot)).collect();
        self.reach.announce(&nodes);
    }

    fn edge_cost(&self, edge: usize) -> f64 {
        self.ground.costs.get(edge).copied().unwrap_or(1.0)
    }

    /// Upper bound of the nodes of the next batch: those ahead of their expansion are no more than a part of those that
    /// were expanded, or hardly more.
    fn batch_nodes_max(&self) -> usize {
        let share = match (self.reach.is_remote, self.is_followed) {
            (true, true) => AHEAD_SHARE_FOLLOWED,
            (true, false) => AHEAD_SHARE_REMOTE,
            (false, _) => AHEAD_SHARE,
        };
        let may_be_ahead = (self.used / share).max(AHEAD_NODES_MIN);
        let are_ahead = self.fetched.saturating_sub(self.used);
        (may_be_ahead.saturating_sub(are_ahead) as usize).clamp(self.batch_nodes_least(), BATCH_NODES_MAX)
    }

    /// Number of nodes that a batch may hold even if enough are ahead.
    fn batch_nodes_least(&self) -> usize {
        ((self.used / LEAST_SHARE) as usize).clamp(BATCH_NODES_MIN, BATCH_NODES_MAX)
    }

    /// The cost at which the search is known to come to a node.
    fn known_cost(&self, slot: u32) -> f64 {
        let (state, ahead) = (self.scratch.states[slot as usize], self.scratch.ahead[slot as usize]);
        let cost = if state.stamp >= self.open { state.cost } else { f64::INFINITY };
        if ahead.search == self.ground.search { cost.min(ahead.cost) } else { cost }
    }

    /// Chooses the nodes on the horizon that come before a limit, besides the one already chosen.
    fn choose_from_horizon(&mut self, first: u32, limit: f64) {
        let most = self.batch_nodes_max();
        let mut horizon = std::mem::take(&mut self.horizon);
        horizon.retain(|&slot| {
            if slot == first {
                return false;
            }
            let comes_at = self.known_cost(slot) + self.scratch.ahead[slot as usize].estimate;
            let is_due = comes_at <= limit && self.chosen.len() < most;
            if is_due {
                self.chosen.push(slot);
            }
            !is_due
        });
        self.horizon = horizon;
    }

    /// Chooses the nodes in the queue that come before a limit and have no edges.
    fn choose_from_queue(&mut self, limit: f64) {
        let most = self.batch_nodes_max();
        let search = self.ground.search;
        let waiting = self.scratch.queue.iter().filter(|(Reverse(bits), _)| f64::from_bits(*bits) <= limit);
        for &(_, slot) in waiting {
            let ahead = &mut self.scratch.ahead[slot as usize];
            let is_listed = ahead.search == search && ahead.is_listed;
            if is_listed || self.ground.rows[slot as usize].fetched_by != 0 {
                continue;
            }
            if self.chosen.len() >= most {
                break;
            }
            let State { cost, estimate, .. } = self.scratch.states[slot as usize];
            *ahead = Ahead { cost, estimate, search, is_listed: true };
            self.chosen.push(slot);
        }
    }

    /// Replaces the chosen nodes, now that they have edges, by those of their neighbors that come before a limit and have
    /// none yet. Their neighbors beyond the limit go on the horizon.
    fn choose_neighbors(&mut self, limit: f64) {
        let from = std::mem::take(&mut self.chosen);
        let most = self.batch_nodes_max();
        let search = self.ground.search;
        for &slot in &from {
            let Row { first_edge, edge_count, .. } = self.ground.rows[slot as usize];
            let cost_here = self.known_cost(slot);
            for edge in first_edge as usize..(first_edge + edge_count) as usize {
                let neighbor = self.ground.neighbors[edge];
                let cost = cost_here + self.edge_cost(edge);
                let row = self.ground.rows[neighbor as usize];
                if row.fetched_by != 0 || row.is_out {
                    continue;
                }
                let ahead = &mut self.scratch.ahead[neighbor as usize];
                if ahead.search == search && ahead.is_listed {
                    ahead.cost = ahead.cost.min(cost);
                    continue;
                }
                let seen_at = if ahead.search == search { ahead.cost.min(cost) } else { cost };
                let estimate = self.find_estimate(neighbor);
                self.scratch.ahead[neighbor as usize] = Ahead { cost: seen_at, estimate, search, is_listed: true };
                let comes_at = cost + estimate;
                if comes_at <= limit && self.chosen.len() < most {
                    self.chosen.push(neighbor);
                } else {
                    self.horizon.push(neighbor);
                }
            }
        }
    }
}
