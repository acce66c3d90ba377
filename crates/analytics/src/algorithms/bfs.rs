//! Breadth-first search: how many edges lead from a node to every node that can be reached.
//!
//! Claim: the distance of each node is the least number of edges on a path from the source.
//! Cost: at most one look at each edge. Where rows of both directions are at hand, a large frontier is not followed:
//! nodes not yet reached look for a neighbor in it instead and stop at the first, which skips most edges of a graph
//! with hubs. Streamed rows are read level by level: see `bfs/streamed.rs`.
//! After: Beamer, Asanović, Patterson, "Direction-optimizing breadth-first search", 2012, with its α = 15 and β = 18.

mod streamed;
mod windowed;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, JobOf, JobPlan, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::SEARCH;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{Csr, GraphView, Sides};
use crate::huge;
use crate::parallel::{even_ranges, map_tasks};
use crate::procedure::column;
use crate::settings::Settings;
use crate::settings::shared::{MAX_DEPTH, SOURCE_NODE};

/// The distance of a node that is not reached.
pub const UNREACHED: u32 = u32::MAX;

/// A frontier whose edges are more than this part of the edges not yet looked at is searched for, not followed.
const ALPHA: u64 = 15;
/// A shrinking frontier of less than this part of the nodes is followed again.
const BETA: usize = 18;
/// Nodes of a frontier worth a task.
const TASK_NODES_MIN: usize = 256;
/// Tasks for each thread.
const TASKS_PER_THREAD: usize = 8;

/// A search under way.
struct Search<'a> {
    rows: &'a Csr,
    distances: Vec<AtomicU32>,
    threads: usize,
    interrupt: &'a Interrupt,
}

/// For each node of a view that has forward rows, its distance from the source; [`UNREACHED`] if there is no path, or
/// none of at most `depth_max` edges.
pub fn run(
    view: &GraphView,
    source: u32,
    depth_max: Option<u32>,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<u32>> {
    let rows = view.forward();
    let distances: Vec<AtomicU32> = huge::collect((0..view.node_count()).map(|_| AtomicU32::new(UNREACHED)));
    distances[source as usize].store(0, Ordering::Relaxed);
    let search = Search { rows, distances, threads, interrupt };
    let mut frontier = vec![source];
    let mut frontier_edges = rows.degree(source);
    let mut edges_left = rows.edge_count() as u64;
    let mut depth = 0;
    while !frontier.is_empty() && depth_max.is_none_or(|most| depth < most) {
        interrupt.check()?;
        interrupt.step(u64::from(depth), 0)?;
        match view.find_backward() {
            Some(backward) if frontier_edges > edges_left / ALPHA => {
                frontier = search.pull_levels(backward, &frontier, &mut depth, depth_max)?;
                frontier_edges = frontier.iter().map(|&node| rows.degree(node)).sum();
            }
            _ => {
                edges_left = edges_left.saturating_sub(frontier_edges);
                depth += 1;
                (frontier, frontier_edges) = search.push_level(&frontier, depth)?;
            }
        }
    }
    Ok(search.distances.into_iter().map(AtomicU32::into_inner).collect())
}

/// The same for a graph that lies in memory or is streamed.
pub(super) fn distances(
    graph: &Graph<'_>,
    source: u32,
    depth_max: Option<u32>,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<u32>> {
    match graph.view() {
        Some(view) => run(view, source, depth_max, threads, interrupt),
        None => streamed::run(graph.rows(), source, depth_max, threads, interrupt),
    }
}

impl Search<'_> {
    fn distance(&self, node: u32) -> u32 {
        self.distances[node as usize].load(Ordering::Relaxed)
    }

    /// Follows the edges of the frontier; gives the next one and how many edges it has.
    fn push_level(&self, frontier: &[u32], depth: u32) -> Result<(Vec<u32>, u64)> {
        let pieces = (frontier.len() / TASK_NODES_MIN + 1).min(self.threads * TASKS_PER_THREAD);
        let threads = if frontier.len() < TASK_NODES_MIN { 1 } else { self.threads };
        let parts = map_tasks(threads, even_ranges(frontier.len(), pieces, 1), |range| -> Result<_> {
            self.interrupt.check()?;
            let mut found = Vec::new();
            let mut edges = 0;
            for &node in &frontier[range] {
                for &neighbor in self.rows.neighbors(node) {
                    if self.distance(neighbor) == UNREACHED
                        && self.distances[neighbor as usize].swap(depth, Ordering::Relaxed) == UNREACHED
                    {
                        found.push(neighbor);
                        edges += self.rows.degree(neighbor);
                    }
                }
            }
            Ok((found, edges))
        });
        let mut next = (Vec::new(), 0);
        for part in parts {
            let (found, edges) = part?;
            next.0.extend(found);
            next.1 += edges;
        }
        Ok(next)
    }

    /// Lets the nodes not yet reached look for the frontier, level by level, until it is small again.
    fn pull_levels(
        &self,
        backward: &Csr,
        frontier: &[u32],
        depth: &mut u32,
        depth_max: Option<u32>,
    ) -> Result<Vec<u32>> {
        let node_count = self.distances.len();
        let mut members = Bitmap::filled(node_count, false);
        frontier.iter().for_each(|&node| members.set(node as usize, true));
        let mut size = frontier.len();
        let ranges = even_ranges(node_count, self.threads * TASKS_PER_THREAD, 64);
        while size > 0 && depth_max.is_none_or(|most| *depth < most) {
            *depth += 1;
            let parts = map_tasks(self.threads, ranges.clone(), |range| {
                self.interrupt.check()?;
                Ok(self.pull_range(backward, &members, range, *depth))
            });
            let mut words = Vec::with_capacity(node_count.div_ceil(64));
            let before = size;
            size = 0;
            for part in parts {
                let (found_words, found) = part?;
                words.extend(found_words);
                size += found;
            }
            members = Bitmap::from_words(words, node_count);
            if size < before && size < node_count / BETA {
                break;
            }
        }
        Ok((0..node_count as u32).filter(|&node| members.get(node as usize)).collect())
    }

    /// One level for some nodes; gives the bits of those newly reached, and how many they are.
    fn pull_range(&self, backward: &Csr, members: &Bitmap, range: Range<usize>, depth: u32) -> (Vec<u64>, usize) {
        let mut words = vec![0_u64; range.len().div_ceil(64)];
        let mut found = 0;
        for node in range.clone() {
            if self.distance(node as u32) == UNREACHED
                && backward.neighbors(node as u32).iter().any(|&neighbor| members.get(neighbor as usize))
            {
                self.distances[node].store(depth, Ordering::Relaxed);
                words[(node - range.start) / 64] |= 1 << (node % 64);
                found += 1;
            }
        }
        (words, found)
    }
}

/// Checks a result without depth limit by another method: no edge spans more than one step away from the source, and
/// every node reached is the end of an edge from one step nearer.
pub fn verify(view: &GraphView, source: u32, distances: &[u32]) -> Result<()> {
    let mut has_parent = vec![false; view.node_count()];
    has_parent[source as usize] = true;
    if distances[source as usize] != 0 {
        return Err(model::error!(Internal, "the source has distance {}, expected 0", distances[source as usize]));
    }
    for node in 0..view.node_count() as u32 {
        let distance = distances[node as usize];
        if distance == UNREACHED {
            continue;
        }
        for &neighbor in view.forward().neighbors(node) {
            let found = distances[neighbor as usize];
            if found > distance + 1 {
                return Err(model::error!(Internal, "node {neighbor} has distance {found}, expected {}", distance + 1));
            }
            has_parent[neighbor as usize] |= found == distance + 1;
        }
    }
    match (0..distances.len()).find(|&node| distances[node] != UNREACHED && !has_parent[node]) {
        Some(node) => Err(model::error!(Internal, "node {node} is reached from no node one step nearer")),
        None => Ok(()),
    }
}

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The node at which it starts.
    pub source: NodeId,
    /// The largest distance that is looked for.
    pub depth_max: Option<u32>,
}

/// `algo.bfs`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "bfs",
        aliases: &["gds.bfs"],
        description: "Finds all nodes that can be reached from a node, and over how few relationships.",
        settings: &[&SOURCE_NODE, &MAX_DEPTH],
        direction: Follows::Chosen(Direction::Out),
        takes_weights: false,
        yields: &[column("distance", "INTEGER")],
        stats: &[column("nodesReached", "INTEGER"), column("maxDistance", "INTEGER")],
        shape: Shape::Nodes,
    };

    const JOB: Option<JobOf<Config>> = Some(|graph, config| {
        let source = Value::from(graph.require(config.source, SOURCE_NODE.name)?);
        let depth_max = config.depth_max.map_or(Value::Null, Value::from);
        Ok(JobPlan { settings: vec![("source", source), ("depth_max", depth_max)], names_nodes: false })
    });

    fn read(settings: &Settings<'_>, _view: &dyn ReadView) -> Result<Config> {
        let depth_max = settings.get(&MAX_DEPTH)?.map(|depth| depth.min(u64::from(UNREACHED - 1)) as u32);
        Ok(Config { source: settings.get(&SOURCE_NODE)?, depth_max })
    }

    fn needs(_config: &Config, _is_weighted: bool) -> Needs {
        // The distance, the frontiers, and the result.
        let node_bytes = 2 * size_of::<u32>() + size_of::<i64>();
        Needs { sides: Sides::ForwardAndBackward, node_bytes, edge_bytes: 0, executions: &Execution::ALL }
    }

    fn figures_bytes(_config: &Config, _is_weighted: bool) -> Option<usize> {
        // The distance, and bits: the frontier, the next one, what is not reached yet. Lists of a frontier are short.
        Some(size_of::<u32>() + 1)
    }

    fn work(_config: &Config, _is_weighted: bool) -> Option<Work> {
        Some(Work::Passes { count: 1, kernel: SEARCH })
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let source = graph.require(config.source, SOURCE_NODE.name)?;
        let mut found = Found { gives_values: run.gives_values, ..Found::default() };
        if run.execution == Execution::Windows {
            windowed::run(graph, source, config.depth_max, run)?.each(|_, distance| {
                found.take(distance);
                Ok(())
            })?;
        } else {
            let distances = distances(graph, source, config.depth_max, run.threads, run.interrupt)?;
            distances.into_iter().for_each(|distance| found.take(distance));
        }
        let stats = vec![Value::Int(found.count), Value::from(found.farthest)];
        let reached: Bitmap = found.steps.iter().map(|&distance| distance != i64::from(UNREACHED)).collect();
        let columns = vec![Column::with_validity(ColumnData::Int(found.steps), reached)];
        Ok(Outcome { columns, order: RowOrder::ByValue, stats })
    }
}

/// Figures of the distances, gathered one by one.
#[derive(Default)]
struct Found {
    gives_values: bool,
    count: i64,
    farthest: u32,
    steps: Vec<i64>,
}

impl Found {
    fn take(&mut self, distance: u32) {
        if distance != UNREACHED {
            self.count += 1;
            self.farthest = self.farthest.max(distance);
        }
        if self.gives_values {
            self.steps.push(i64::from(distance));
        }
    }
}
