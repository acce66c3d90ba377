//! A path of fewest edges between two nodes, found from both ends at once.
//!
//! Claim: the path has as few edges as any; among such paths, which one is not defined but the same in every run.
//! Cost: expands whole frontiers, always the one with fewer edges to follow, straight over the store: for a graph in
//! which a node has d edges and a path k, about 2 · d^(k/2) edges instead of d^k. One bit a node id and end where ids
//! are dense, 12 bytes a node met.
//! After: Pohl, "Bi-directional search", 1971.

use std::ops::Range;

use model::batch::EdgeBatch;
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::procedure::{ProcedureContext, ProcedureMode, RowSink};
use model::store::{AccessHint, Direction, EdgeIds, Expand, ReadView};
use model::value::Value;

use crate::graph_view::GraphView;
use crate::held::{Held, SearchContext};
use crate::procedure::{AlgorithmProcedure, column, send_row, signature};
use crate::projection::Projection;
use crate::search::path::path_of;
use crate::search::slots::NodeSet;
use crate::settings::Settings;
use crate::settings::shared::{DIRECTION, ENDS, MAX_DEPTH, SEARCH, SOURCE_NODE, TARGET_NODE};

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The node at which paths start.
    pub source: NodeId,
    /// The node at which paths end.
    pub target: NodeId,
    /// Longest path looked for, in edges.
    pub depth_max: u64,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct ShortestPath {
    /// The nodes of a path of fewest edges, if there is a path.
    pub nodes: Option<Vec<NodeId>>,
    /// Number of nodes whose edges were followed.
    pub expanded: u64,
}

/// Frontiers up to this many nodes have their edges counted exactly when the cheaper end is chosen.
const COUNTED_FRONTIER_MAX: usize = 4096;
/// Nodes in one expansion.
const EXPAND_NODES_MAX: usize = 4096;
/// No parent: the node at which an end begins.
const NO_PARENT: u32 = u32::MAX;

/// One end of the search.
struct End<'a> {
    expand: Expand,
    seen: NodeSet,
    /// All nodes found from this end, level by level, and for each the place of the node it was found from.
    nodes: Vec<NodeId>,
    parents: Vec<u32>,
    frontier: Range<usize>,
    depth: u64,
    /// About how many edges the frontier has.
    frontier_edges: u64,
    expanded: u64,
    held: Held<'a>,
}

impl<'a> End<'a> {
    fn new(
        view: &dyn ReadView,
        projection: &Projection,
        direction: Direction,
        start: NodeId,
        context: SearchContext<'a>,
    ) -> Result<End<'a>> {
        let mut end = End {
            expand: projection.expand(direction, Vec::new(), EdgeIds::Omit),
            seen: NodeSet::new(view),
            nodes: vec![start],
            parents: vec![NO_PARENT],
            frontier: 0..1,
            depth: 0,
            frontier_edges: 0,
            expanded: 0,
            held: context.held(),
        };
        end.seen.insert(start);
        end.weigh(view)?;
        Ok(end)
    }

    /// Finds out about how much work the frontier is.
    fn weigh(&mut self, view: &dyn ReadView) -> Result<()> {
        let frontier = &self.nodes[self.frontier.clone()];
        self.frontier_edges = if frontier.len() <= COUNTED_FRONTIER_MAX && !view.capabilities().is_remote {
            view.degrees(frontier, self.expand.direction, self.expand.types.as_deref())?.iter().sum()
        } else {
            let statistics = view.statistics();
            frontier.len() as u64 * (statistics.edges / statistics.nodes.max(1)).max(1)
        };
        Ok(())
    }

    /// Expands the whole frontier, or until a node is found that the other end has seen; gives that node's place.
    fn advance(
        &mut self,
        view: &dyn ReadView,
        projection: &Projection,
        other: &End<'_>,
        interrupt: &Interrupt,
    ) -> Result<Option<usize>> {
        let level = self.frontier.clone();
        let mut batch = EdgeBatch::default();
        for start in level.clone().step_by(EXPAND_NODES_MAX) {
            let from = self.nodes[start..(start + EXPAND_NODES_MAX).min(level.end)].to_vec();
            self.expanded += from.len() as u64;
            let mut cursor = view.expand(&from, &self.expand)?;
            while cursor.next(&mut batch)? {
                interrupt.check()?;
                let found = self.nodes.len();
                self.held.resize(self.byte_count())?;
                for (&node, &input) in batch.neighbors.iter().zip(&batch.inputs) {
                    if self.seen.insert(node) {
                        self.nodes.push(node);
                        self.parents.push(start as u32 + input);
                    }
                }
                if projection.labels.is_some() {
                    keep_admitted(view, projection, found, &mut self.nodes, &mut self.parents)?;
                }
                if let Some(place) = (found..self.nodes.len()).find(|&place| other.seen.contains(self.nodes[place])) {
                    return Ok(Some(place));
                }
            }
        }
        self.frontier = level.end..self.nodes.len();
        self.depth += 1;
        self.weigh(view)?;
        if view.capabilities().is_remote {
            view.prefetch(&AccessHint::Expand(&self.nodes[self.frontier.clone()], &self.expand));
        }
        Ok(None)
    }

    /// Bytes that it holds.
    fn byte_count(&self) -> usize {
        size_of::<NodeId>() * self.nodes.capacity()
            + 4 * self.parents.capacity()
            + self.seen.byte_count(self.nodes.len())
    }

    /// The nodes from a place back to where this end began.
    fn trace(&self, place: usize) -> Vec<NodeId> {
        let mut nodes = vec![self.nodes[place]];
        let mut parent = self.parents[place];
        while parent != NO_PARENT {
            nodes.push(self.nodes[parent as usize]);
            parent = self.parents[parent as usize];
        }
        nodes
    }
}

/// Drops the nodes from a place on that do not take part. They stay seen, so they are not asked about again.
fn keep_admitted(
    view: &dyn ReadView,
    projection: &Projection,
    from: usize,
    nodes: &mut Vec<NodeId>,
    parents: &mut Vec<u32>,
) -> Result<()> {
    let admitted = projection.admits(view, &nodes[from..])?;
    let mut kept = from;
    for (at, admit) in admitted.into_iter().enumerate() {
        if admit {
            nodes[kept] = nodes[from + at];
            parents[kept] = parents[from + at];
            kept += 1;
        }
    }
    nodes.truncate(kept);
    parents.truncate(kept);
    Ok(())
}

/// Finds a path of fewest edges.
pub fn run(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    context: SearchContext<'_>,
) -> Result<ShortestPath> {
    if config.source == config.target {
        return Ok(ShortestPath { nodes: Some(vec![config.source]), expanded: 0 });
    }
    let goes_back = view.capabilities().expands_against_direction || projection.direction == Direction::Both;
    let mut near = End::new(view, projection, projection.direction, config.source, context)?;
    let mut far = End::new(view, projection, projection.direction.reverse(), config.target, context)?;
    while !near.frontier.is_empty() && !far.frontier.is_empty() && near.depth + far.depth < config.depth_max {
        context.interrupt.report(near.expanded + far.expanded, 0);
        let from_far = goes_back && far.frontier_edges < near.frontier_edges;
        let (end, other) = if from_far { (&mut far, &near) } else { (&mut near, &far) };
        if let Some(place) = end.advance(view, projection, other, context.interrupt)? {
            let meeting = end.nodes[place];
            let there = other.nodes.iter().rposition(|&node| node == meeting);
            let there = there.expect("the other end has seen the node, and it takes part, so it is in its list");
            let (near_place, far_place) = if from_far { (there, place) } else { (place, there) };
            let mut nodes = near.trace(near_place);
            nodes.reverse();
            nodes.extend(&far.trace(far_place)[1..]);
            return Ok(ShortestPath { nodes: Some(nodes), expanded: near.expanded + far.expanded });
        }
    }
    Ok(ShortestPath { nodes: None, expanded: near.expanded + far.expanded })
}

/// Checks a result without depth limit by another method: a breadth-first search over the whole view finds the target
/// at the same distance, and the view has an edge for every step of the path.
pub fn verify(view: &GraphView, config: &Config, result: &ShortestPath, interrupt: &Interrupt) -> Result<()> {
    let (Some(source), Some(target)) = (view.index(config.source), view.index(config.target)) else {
        return Err(model::error!(Internal, "an end of the path does not take part"));
    };
    let distance = super::bfs::run(view, source, None, 1, interrupt)?[target as usize];
    let expected = (distance != super::bfs::UNREACHED).then_some(distance as usize);
    let found = result.nodes.as_ref().map(|nodes| nodes.len() - 1);
    if found != expected {
        return Err(model::error!(Internal, "the path has {found:?} edges, expected {expected:?}"));
    }
    for step in result.nodes.iter().flat_map(|nodes| nodes.windows(2)) {
        let ends = (view.index(step[0]), view.index(step[1]));
        let (Some(from), Some(to)) = ends else {
            return Err(model::error!(Internal, "a node of the path does not take part"));
        };
        if !view.forward().neighbors(from).contains(&to) {
            return Err(model::error!(Internal, "no edge leads from node #{} to node #{}", step[0].0, step[1].0));
        }
    }
    Ok(())
}

/// `algo.shortest_path`.
pub const PROCEDURE: AlgorithmProcedure = AlgorithmProcedure {
    signature: signature(
        "algo.shortest_path",
        &["algo.shortest_path.stream", "algo.shortestPath", "algo.shortestPath.stream"],
        ProcedureMode::Read,
        "Finds a path of fewest relationships between two nodes; no row if there is none.",
        &[column("path", "PATH"), column("distance", "INTEGER"), column("nodesExpanded", "INTEGER")],
    ),
    settings: &[SEARCH, ENDS, &[&MAX_DEPTH]],
    body: stream,
};

fn stream(context: &ProcedureContext<'_>, settings: &Settings<'_>, sink: &mut RowSink<'_>) -> Result<()> {
    settings.threads(context.threads)?;
    let view = context.graph.view();
    let projection = Projection::read(settings, view.schema(), settings.get(&DIRECTION)?)?;
    let (source, target) = (settings.get(&SOURCE_NODE)?, settings.get(&TARGET_NODE)?);
    projection.require(view, source, SOURCE_NODE.name)?;
    projection.require(view, target, TARGET_NODE.name)?;
    let depth_max = settings.get(&MAX_DEPTH)?.unwrap_or(u64::MAX);
    let context = SearchContext::of(context);
    let result = run(view, &projection, &Config { source, target, depth_max }, context)?;
    let Some(nodes) = result.nodes else { return Ok(()) };
    let distance = Value::Int(nodes.len() as i64 - 1);
    let _held = context.hold_path(&nodes)?;
    let path = path_of(view, &projection, None, nodes)?;
    send_row(sink, &[Value::Path(path.into()), distance, Value::Int(result.expanded.cast_signed())])
}
