//! All cheapest paths between two nodes; or from one node a cheapest path to each that can be reached.
//!
//! Claim: between two nodes, every path without a circle that costs as little as any, each once. Paths are told apart by
//! their nodes: of parallel edges the cheapest is taken. Costs are compared as they add up from the source, without
//! tolerance. Without a target, one cheapest path to each node, the nearest first. Without a weight property every edge
//! costs 1. A negative weight is an error that names the edge, if the search comes to it.
//! Cost: the nodes no farther than the target have their edges followed, in batches straight over the store, see
//! `search/nearby.rs`; without a target only as far as rows are asked for. There may be very many paths: they are made
//! one after the other, as they are asked for.
//! After: Dijkstra, "A note on two problems in connexion with graphs", 1959.

use model::Set;
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::procedure::{ProcedureContext, ProcedureMode, RowSink};
use model::store::ReadView;

use super::dijkstra::{self, Config, Ends};
use super::sssp;
use crate::graph_view::GraphView;
use crate::held::SearchContext;
use crate::procedure::{AlgorithmProcedure, column, signature};
use crate::projection::Projection;
use crate::search::nearby::{Front, Nearby};
use crate::settings::Settings;
use crate::settings::kind::Node;
use crate::settings::shared::{MAX_EXPANDED, SEARCH, SOURCE_NODE, WEIGHTS};
use crate::settings::table::{Setting, Unset};

/// Takes the nodes of a path and its cost; says whether more are wanted.
pub type PathSink<'a> = dyn FnMut(Vec<NodeId>, f64) -> Result<bool> + 'a;

/// Bytes of the nodes before a node, about: a list with room for a few.
const BEFORE_BYTES: usize = size_of::<Vec<u32>>() + 16;

/// Finds all cheapest paths between two nodes.
pub fn run(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    context: SearchContext<'_>,
    sink: &mut PathSink<'_>,
) -> Result<()> {
    let mut nearby = Nearby::new(view, projection, projection.direction, config.weight.as_ref(), context);
    let (source, target) = (nearby.slot(config.source), nearby.slot(config.target));
    let mut front = Front::default();
    front.begin(source, 0.0);
    // For each slot those from which a cheapest path comes to it.
    let mut before: Vec<Vec<u32>> = Vec::new();
    let mut held = context.held();
    while let Some(least) = front.least() {
        if front.is_settled(target) && least > front.cost(target) {
            break;
        }
        let Some(slot) = front.settle() else { break };
        dijkstra::check_expanded(front.expanded, config.expanded_max)?;
        front.follow(
            &mut nearby,
            slot,
            |_| 0.0,
            |met| {
                let at = met.slot as usize;
                if at >= before.len() {
                    before.resize((at + 1).next_power_of_two(), Vec::new());
                }
                if met.cost < met.known {
                    before[at].clear();
                }
                if met.cost <= met.known && !before[at].contains(&slot) {
                    before[at].push(slot);
                }
                true
            },
        )?;
        held.resize(before.len() * BEFORE_BYTES)?;
    }
    if !front.is_settled(target) {
        return Ok(());
    }
    let cost = front.cost(target);
    walk_back(&before, source, target, context.interrupt, &mut |slots| {
        sink(slots.iter().rev().map(|&slot| nearby.node(slot)).collect(), cost)
    })
}

/// Every path from the target back to the source that passes no node twice, as a list that begins with the target.
fn walk_back(
    before: &[Vec<u32>],
    source: u32,
    target: u32,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&[u32]) -> Result<bool>,
) -> Result<()> {
    let mut path = vec![target];
    let mut nexts = vec![0_usize];
    let mut is_on_path: Set<u32> = Set::from_iter([target]);
    while let (Some(&slot), Some(next)) = (path.last(), nexts.last_mut()) {
        let is_start = slot == source;
        if is_start {
            interrupt.check()?;
            if !sink(&path)? {
                return Ok(());
            }
        }
        let choices = before.get(slot as usize).map_or(&[][..], Vec::as_slice);
        match choices.get(*next).filter(|_| !is_start) {
            Some(&choice) => {
                *next += 1;
                if is_on_path.insert(choice) {
                    path.push(choice);
                    nexts.push(0);
                }
            }
            None => {
                is_on_path.remove(&slot);
                path.pop();
                nexts.pop();
            }
        }
    }
    Ok(())
}

/// Finds a cheapest path from one node to each that can be reached, itself first.
pub fn run_from(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    context: SearchContext<'_>,
    sink: &mut PathSink<'_>,
) -> Result<()> {
    let mut nearby = Nearby::new(view, projection, projection.direction, config.weight.as_ref(), context);
    let mut front = Front::default();
    front.begin(nearby.slot(config.source), 0.0);
    while let Some(slot) = front.settle() {
        let nodes = front.path(slot).iter().map(|&slot| nearby.node(slot)).collect();
        if !sink(nodes, front.cost(slot))? {
            break;
        }
        dijkstra::check_expanded(front.expanded, config.expanded_max)?;
        front.follow(&mut nearby, slot, |_| 0.0, |_| true)?;
    }
    Ok(())
}

/// Checks the paths between two nodes by another method: following every edge that lies on a cheapest path, as distances
/// over the whole view say, finds as many, and those given are different and cost what the distance says. The work grows
/// with the number of paths.
pub fn verify(view: &GraphView, config: &Config, found: &[(Vec<NodeId>, f64)], interrupt: &Interrupt) -> Result<()> {
    let (Some(source), Some(target)) = (view.index(config.source), view.index(config.target)) else {
        return Err(model::error!(Internal, "an end of the paths does not take part"));
    };
    let rows = view.forward();
    let distances = sssp::run(view, source, 1, interrupt)?;
    let mut expected = Set::default();
    let mut open = if distances[target as usize].is_finite() { vec![vec![source]] } else { Vec::new() };
    while let Some(path) = open.pop() {
        let last = *path.last().expect("a path has a node");
        if last == target {
            expected.insert(path.iter().map(|&node| view.node(node)).collect::<Vec<NodeId>>());
            continue;
        }
        for (at, &next) in rows.neighbors(last).iter().enumerate() {
            let weight = if rows.has_weights() { rows.weights(last)[at] } else { 1.0 };
            let is_on_cheapest = distances[last as usize] + weight == distances[next as usize];
            if is_on_cheapest && distances[next as usize] <= distances[target as usize] && !path.contains(&next) {
                open.push([&path[..], &[next]].concat());
            }
        }
    }
    let different: Set<Vec<NodeId>> = found.iter().map(|(nodes, _)| nodes.clone()).collect();
    if different == expected && different.len() == found.len() {
        return Ok(());
    }
    Err(model::error!(Internal, "{} paths were found, expected {}", found.len(), expected.len()))
}

/// `algo.allShortestPaths`.
pub const PROCEDURE: AlgorithmProcedure = AlgorithmProcedure {
    signature: signature(
        "algo.allShortestPaths",
        &[
            "algo.allShortestPaths.stream", "algo.all_shortest_paths", "algo.all_shortest_paths.stream",
            "gds.allShortestPaths.dijkstra.stream",
        ],
        ProcedureMode::Read,
        "Finds all cheapest paths between two nodes; without a target, one to each node that can be reached.",
        &[column("path", "PATH"), column("cost", "FLOAT"), column("index", "INTEGER")],
    ),
    settings: &[SEARCH, &[&SOURCE_NODE, &TARGET_NODE], WEIGHTS, &[&MAX_EXPANDED]],
    body: stream,
};

static TARGET_NODE: Setting<Node, Unset> =
    Setting::new("targetNode", Node, Unset("every node that can be reached"), "Node where paths end.").or(&["target"]);

fn stream(context: &ProcedureContext<'_>, settings: &Settings<'_>, sink: &mut RowSink<'_>) -> Result<()> {
    let ends = Ends::read(context, settings)?;
    let view = context.graph.view();
    let mut index = 0;
    let (source, target) = (settings.get(&SOURCE_NODE)?, settings.get(&TARGET_NODE)?);
    let config = ends.config_of(source, target.unwrap_or(source))?;
    let context = SearchContext::of(context);
    let mut send = |nodes, cost| {
        index += 1;
        let weight = config.weight.as_ref();
        dijkstra::send_numbered(view, &ends.projection, weight, (nodes, cost), index - 1, context, sink)
    };
    let search = if target.is_some() { run } else { run_from };
    search(view, &ends.projection, &config, context, &mut send)
}
