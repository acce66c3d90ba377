//! The k cheapest paths between two nodes that pass no node twice.
//!
//! Claim: no other path without a circle costs less than those given, which come in order of cost, and of paths that
//! cost the same in an order that is the same in every run. Paths are told apart by their edges: parallel ones make
//! different paths. Without a weight property every edge costs 1. A negative weight is an error that names the edge,
//! if the search comes to it.
//! Cost: for each node of each path given a search for the best way to leave it there. What is left to the target is
//! known from one search backwards, as far as the source is from it, so that those searches hardly go astray. Edges are
//! fetched once, in batches straight over the store, see `search/nearby.rs`. Those searches tell paths apart by their nodes;
//! the choices among parallel edges are put between their results afterwards, see `search/parallel_edges.rs`.
//! After: Yen, "Finding the k shortest loopless paths in a network", 1971; Lawler, "A procedure for computing the k
//! best solutions to discrete optimization problems", 1972.

use std::cmp::Ordering;

use model::Set;
use model::column::Column;
use model::error::Result;
use model::id::NodeId;
use model::procedure::{ProcedureContext, ProcedureMode, RowSink};
use model::store::{Direction, ReadView};
use model::value::{PathValue, Value};

use super::dijkstra::{self, Ends};
use crate::graph_view::GraphView;
use crate::held::SearchContext;
use crate::procedure::{AlgorithmProcedure, column, signature};
use crate::projection::Projection;
use crate::search::nearby::{Front, Nearby};
use crate::search::parallel_edges;
use crate::settings::Settings;
use crate::settings::kind::Integer;
use crate::settings::shared::{ENDS, MAX_EXPANDED, SEARCH, WEIGHTS};
use crate::settings::table::{Fixed, Setting};

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The ends of paths, the cost of edges, and the expansions after which to give up.
    pub ends: dijkstra::Config,
    /// Upper bound of the number of paths.
    pub k: u64,
}

/// A path: its slots, what it costs to come to each, and the place from which on it was searched for.
#[derive(Clone, Debug)]
struct Way {
    slots: Vec<u32>,
    costs: Vec<f64>,
    left_at: usize,
}

impl Way {
    fn cost(&self) -> f64 {
        *self.costs.last().expect("a path has at least one node")
    }

    fn byte_count(&self) -> usize {
        size_of::<Way>() + size_of_val(&*self.slots) + size_of_val(&*self.costs)
    }

    fn order(&self, other: &Way) -> Ordering {
        let by_cost = self.cost().total_cmp(&other.cost());
        by_cost.then_with(|| self.slots.len().cmp(&other.slots.len())).then_with(|| self.slots.cmp(&other.slots))
    }
}

/// Finds up to k cheapest paths, each with what it costs.
pub fn run(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    context: SearchContext<'_>,
) -> Result<Vec<(PathValue, f64)>> {
    let nodes = over_nodes(view, projection, config, context)?;
    parallel_edges::cheapest(view, projection, config.ends.weight.as_ref(), &nodes, config.k as usize, context)
}

/// The nodes of up to k cheapest paths, no two over the same nodes.
fn over_nodes(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    context: SearchContext<'_>,
) -> Result<Vec<Vec<NodeId>>> {
    let ends = &config.ends;
    let Some(left) = Left::measure(view, projection, ends, context)? else { return Ok(Vec::new()) };
    let mut nearby = Nearby::new(view, projection, projection.direction, ends.weight.as_ref(), context);
    let source = nearby.slot(ends.source);
    let target = nearby.slot(ends.target);
    let mut search = Search { nearby, front: Front::default(), target, left, ends };
    let mut held = context.held();
    let start = Way { slots: vec![source], costs: vec![0.0], left_at: 0 };
    let mut found: Vec<Way> = Vec::new();
    let mut candidates: Vec<Way> = search.best(&start, &Set::default(), f64::INFINITY)?.into_iter().collect();
    while !candidates.is_empty() {
        let way = candidates.remove(0);
        found.push(way.clone());
        let wanted = (config.k - found.len() as u64) as usize;
        if wanted == 0 {
            break;
        }
        for place in way.left_at..way.slots.len() - 1 {
            let shared = &way.slots[..=place];
            let taken: Set<u32> =
                found.iter().filter(|way| way.slots.starts_with(shared)).map(|way| way.slots[place + 1]).collect();
            let limit = candidates.get(wanted - 1).map_or(f64::INFINITY, Way::cost);
            let start = Way { slots: shared.to_vec(), costs: way.costs[..=place].to_vec(), left_at: place };
            if let Some(way) = search.best(&start, &taken, limit)? {
                let at = candidates.partition_point(|other| other.order(&way).is_lt());
                candidates.insert(at, way);
                candidates.truncate(wanted);
                held.resize(found.iter().chain(&candidates).map(Way::byte_count).sum())?;
            }
        }
    }
    let nodes = |way: &Way| way.slots.iter().map(|&slot| search.nearby.node(slot)).collect();
    Ok(found.iter().map(nodes).collect())
}

/// The cost left to the target: exact for nodes near to it, a lower bound for the others.
struct Left<'a> {
    known: Option<(Nearby<'a>, Front)>,
    /// Lower bound of the cost left from a node that is not known.
    least: f64,
}

impl<'a> Left<'a> {
    /// Searches backwards from the target to the source; `None` if no path joins them. Where edges cannot be followed
    /// backwards nothing is known.
    fn measure(
        view: &'a dyn ReadView,
        projection: &Projection,
        ends: &'a dijkstra::Config,
        context: SearchContext<'a>,
    ) -> Result<Option<Left<'a>>> {
        let direction = projection.direction;
        if !view.capabilities().expands_against_direction && direction != Direction::Both {
            return Ok(Some(Left { known: None, least: 0.0 }));
        }
        let mut nearby = Nearby::new(view, projection, direction.reverse(), ends.weight.as_ref(), context);
        let mut front = Front::default();
        front.begin(nearby.slot(ends.target), 0.0);
        while let Some(slot) = front.settle() {
            if nearby.node(slot) == ends.source {
                let least = front.cost(slot);
                return Ok(Some(Left { known: Some((nearby, front)), least }));
            }
            dijkstra::check_expanded(front.expanded, ends.expanded_max)?;
            front.follow(&mut nearby, slot, |_| 0.0, |_| true)?;
        }
        Ok(None)
    }

    fn estimate(&self, node: NodeId) -> f64 {
        let Some((nearby, front)) = &self.known else { return 0.0 };
        match nearby.find(node) {
            Some(slot) if front.is_settled(slot) => front.cost(slot),
            _ => self.least,
        }
    }
}

struct Search<'a> {
    nearby: Nearby<'a>,
    front: Front,
    target: u32,
    left: Left<'a>,
    ends: &'a dijkstra::Config,
}

impl Search<'_> {
    /// The best way on from the end of a path that leaves it by none of the `taken` nodes, passes none of its nodes
    /// again and costs no more than `limit`.
    fn best(&mut self, start: &Way, taken: &Set<u32>, limit: f64) -> Result<Option<Way>> {
        let place = start.slots.len() - 1;
        let (leaves, before) = (start.slots[place], &start.slots[..place]);
        let passed: Set<u32> = before.iter().copied().collect();
        // The estimates come from sums in another order, so that they may exceed the truth by rounding.
        let limit = limit * (1.0 + 1e-9);
        self.front.begin(leaves, start.costs[place]);
        while self.front.least().is_some_and(|least| least <= limit) {
            let Some(slot) = self.front.settle() else { break };
            if slot == self.target {
                let rest = self.front.path(slot);
                let costs = rest.iter().map(|&slot| self.front.cost(slot));
                let costs = start.costs[..place].iter().copied().chain(costs).collect();
                let slots = before.iter().copied().chain(rest.iter().copied()).collect();
                return Ok(Some(Way { slots, costs, left_at: place }));
            }
            dijkstra::check_expanded(self.front.expanded, self.ends.expanded_max)?;
            let left = &self.left;
            self.front.follow(
                &mut self.nearby,
                slot,
                |node| left.estimate(node),
                |met| !passed.contains(&met.slot) && (slot != leaves || !taken.contains(&met.slot)),
            )?;
        }
        Ok(None)
    }
}

/// Checks paths by another method: they are different, come in order of cost, pass no node twice, their edges make up
/// their costs, and following all paths without a circle that cost no more than the last finds no other that costs less.
/// The work grows with the number of such paths.
pub fn verify(view: &GraphView, config: &Config, found: &[(PathValue, f64)]) -> Result<()> {
    let (Some(source), Some(target)) = (view.index(config.ends.source), view.index(config.ends.target)) else {
        return Err(model::error!(Internal, "an end of the paths does not take part"));
    };
    let rows = view.forward();
    let is_full = found.len() as u64 == config.k;
    let limit = if is_full { found.last().map_or(0.0, |(_, cost)| *cost) } else { f64::INFINITY };
    let mut cheaper = Vec::new();
    let mut open = vec![(vec![source], 0.0)];
    while let Some((path, cost)) = open.pop() {
        let last = *path.last().expect("a path has a node");
        if last == target {
            cheaper.push((path, cost));
            continue;
        }
        for (at, &next) in rows.neighbors(last).iter().enumerate() {
            let weight = if rows.has_weights() { rows.weights(last)[at] } else { 1.0 };
            if !path.contains(&next) && cost + weight <= limit {
                open.push(([&path[..], &[next]].concat(), cost + weight));
            }
        }
    }
    cheaper.sort_by(|a, b| a.1.total_cmp(&b.1));
    let expected: Vec<f64> = cheaper.iter().take(found.len()).map(|(_, cost)| *cost).collect();
    let costs: Vec<f64> = found.iter().map(|(_, cost)| *cost).collect();
    let numbered = |nodes: &[NodeId]| nodes.iter().map(|&node| view.index(node)).collect::<Option<Vec<u32>>>();
    let known: Set<(Vec<u32>, u64)> = cheaper.iter().map(|(path, cost)| (path.clone(), cost.to_bits())).collect();
    let mut different = Set::default();
    let are_paths = found.iter().all(|(path, cost)| {
        let is_new = different.insert((&path.nodes, path.edges.iter().map(|edge| edge.id).collect::<Vec<_>>()));
        is_new && numbered(&path.nodes).is_some_and(|nodes| known.contains(&(nodes, cost.to_bits())))
    });
    if costs == expected && are_paths && (is_full || cheaper.len() == found.len()) {
        return Ok(());
    }
    Err(model::error!(Internal, "paths cost {costs:?}, expected {expected:?} of {} paths", cheaper.len()))
}

/// `algo.yens`.
pub const PROCEDURE: AlgorithmProcedure = AlgorithmProcedure {
    signature: signature(
        "algo.yens",
        &["algo.yens.stream", "gds.shortestPath.yens.stream"],
        ProcedureMode::Read,
        "Finds the k cheapest paths between two nodes that pass no node twice.",
        &[column("path", "PATH"), column("cost", "FLOAT"), column("index", "INTEGER")],
    ),
    settings: &[SEARCH, ENDS, WEIGHTS, &[&MAX_EXPANDED, &K]],
    body: stream,
};

static K: Setting<Integer, Fixed<u64>> = Setting::new("k", Integer(1), Fixed(1), "Largest number of paths.");

fn stream(context: &ProcedureContext<'_>, settings: &Settings<'_>, sink: &mut RowSink<'_>) -> Result<()> {
    let ends = Ends::read(context, settings)?;
    let view = context.graph.view();
    let config = Config { ends: ends.config()?, k: settings.get(&K)? };
    let found = run(view, &ends.projection, &config, SearchContext::of(context))?;
    for (index, (path, cost)) in found.into_iter().enumerate() {
        let row = [Value::Path(path.into()), Value::Float(cost), Value::Int(index as i64)];
        if !sink(row.iter().map(|value| Column::constant(value, 1)).collect())? {
            break;
        }
    }
    Ok(())
}
