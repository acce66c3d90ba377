//! Weakly connected components: which nodes hang together when edges are followed both ways.
//!
//! Claim: two nodes have the same component exactly if a path of edges, in whatever direction, joins them. A
//! component is named by the smallest node id in it.
//! Cost: close to one pass over the edges, 4 bytes each, and a look at one bit for each. Afforest first links every node
//! with its first two neighbors, which already joins most of a large component, so that for the other edges both ends
//! are nearly always found to be in it at once: a bit for each node says so, which stay in the cache. Where rows of both
//! directions are at hand, the nodes of that component are passed over: their edges to others are seen from there.
//! Streamed, the edges are read once: see `wcc/streamed.rs`.
//! After: Sutton, Ben-Nun, Barak, "Optimizing parallel graph connectivity computation via subgraph sampling", 2018;
//! Beamer, Asanović, Patterson, "The GAP benchmark suite", 2015.

mod streamed;
mod windowed;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use model::Map;
use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, JobOf, JobPlan, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::UNION;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{Csr, GraphView, Sides};
use crate::huge;
use crate::parallel::{even_ranges, map_tasks, ranges_of_equal_work};
use crate::procedure::column;
use crate::settings::Settings;

/// Number of neighbors of every node that are linked first.
const SAMPLED_NEIGHBORS: usize = 2;
/// Pairs of nodes whose names are read before they are linked.
const LINKED_TOGETHER: usize = 64;
/// Nodes looked at to guess the largest component.
const SAMPLED_NODES: usize = 1024;
/// Nodes whose bits one task makes: a multiple of 64.
const TASK_NODES: usize = 1 << 16;
/// Pieces for each thread.
const PIECES_PER_THREAD: usize = 16;
/// Edges below which one thread does all.
const EDGES_PER_THREAD_MIN: usize = 1 << 16;

/// For each node of a view that has forward rows, the smallest number of a node in its component.
pub fn run(view: &GraphView, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let rows = view.forward();
    let node_count = view.node_count();
    let threads = threads.min(view.edge_count() / EDGES_PER_THREAD_MIN + 1);
    let parents: Vec<AtomicU32> = huge::collect((0..node_count as u32).map(AtomicU32::new));
    let even = even_ranges(node_count, PIECES_PER_THREAD * threads, 1);
    let each_range = |ranges: &[Range<usize>], work: &(dyn Fn(Range<usize>) + Sync)| -> Result<()> {
        let done = map_tasks(threads, ranges.to_vec(), |range| {
            interrupt.check()?;
            work(range);
            Ok(())
        });
        done.into_iter().collect()
    };
    let each = |ranges: &[Range<usize>], work: &(dyn Fn(u32) + Sync)| {
        each_range(ranges, &|range| range.for_each(|node| work(node as u32)))
    };

    let steps = SAMPLED_NEIGHBORS as u64 + 1;
    for sample in 0..SAMPLED_NEIGHBORS {
        interrupt.report(sample as u64, steps);
        each_range(&even, &|nodes| link_sampled(nodes, rows, sample, &parents))?;
        each(&even, &|node| compress(node, &parents))?;
    }
    interrupt.report(SAMPLED_NEIGHBORS as u64, steps);
    let backward = view.find_backward();
    let largest = most_frequent(&parents).unwrap_or_default();
    // A bit for each node stays in the cache where a name does not.
    let is_largest = named(largest, &parents, threads);
    each(&ranges_of_equal_work(rows.offsets(), PIECES_PER_THREAD * threads), &|node| {
        if !is_largest.get(node as usize) {
            link_all(node, rows, SAMPLED_NEIGHBORS, &parents);
            if let Some(backward) = backward.filter(|_| !view.is_undirected()) {
                link_all(node, backward, 0, &parents);
            }
        } else if backward.is_none() {
            let neighbors = rows.neighbors(node).iter().skip(SAMPLED_NEIGHBORS);
            let others = neighbors.filter(|&&neighbor| !is_largest.get(neighbor as usize));
            others.for_each(|&neighbor| link(node, neighbor, &parents));
        }
    })?;
    each(&even, &|node| compress(node, &parents))?;
    interrupt.report(steps, steps);
    Ok(parents.into_iter().map(AtomicU32::into_inner).collect())
}

/// The same for a graph that lies in memory or is streamed.
pub fn components(graph: &Graph<'_>, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    match graph.view() {
        Some(view) => run(view, threads, interrupt),
        None => streamed::run(graph.rows(), threads, interrupt),
    }
}

/// Links each of the nodes with its neighbor of that place. The names of many neighbors are read before the first is linked, so
/// that the processor waits for several of them at once and not for each.
fn link_sampled(nodes: Range<usize>, rows: &Csr, place: usize, parents: &[AtomicU32]) {
    let mut pairs = [(0, 0); LINKED_TOGETHER];
    let mut filled = 0;
    for node in nodes {
        let Some(&neighbor) = rows.neighbors(node as u32).get(place) else { continue };
        pairs[filled] = (name(node as u32, parents), name(neighbor, parents));
        filled += 1;
        if filled == LINKED_TOGETHER {
            link_pairs(&pairs, parents);
            filled = 0;
        }
    }
    link_pairs(&pairs[..filled], parents);
}

/// Links what were the parents of two nodes a moment ago.
fn link_pairs(pairs: &[(u32, u32)], parents: &[AtomicU32]) {
    // The first end of a link is read here for all pairs; the code below finds it in the cache.
    let begins = pairs.iter().fold(0, |sum, &(a, b)| sum ^ name(a.max(b), parents));
    std::hint::black_box(begins);
    pairs.iter().filter(|(a, b)| a != b).for_each(|&(a, b)| link_trees(a, b, parents));
}

fn link_all(node: u32, rows: &Csr, from: usize, parents: &[AtomicU32]) {
    rows.neighbors(node).iter().skip(from).for_each(|&neighbor| link(node, neighbor, parents));
}

/// The name of a node's component as far as it is known: its parent.
#[inline]
fn name(node: u32, parents: &[AtomicU32]) -> u32 {
    parents[node as usize].load(Ordering::Relaxed)
}

/// Joins the trees of two nodes.
#[inline]
fn link(a: u32, b: u32, parents: &[AtomicU32]) {
    link_trees(name(a, parents), name(b, parents), parents);
}

/// Joins the trees in which two nodes are, which may be roots: the root with the larger number gets the smaller one for its
/// parent.
#[inline]
fn link_trees(mut a: u32, mut b: u32, parents: &[AtomicU32]) {
    let parent = |node: u32| name(node, parents);
    while a != b {
        let (low, high) = (a.min(b), a.max(b));
        let above = parent(high);
        if above == low {
            return;
        }
        if above == high {
            let hooked = parents[high as usize].compare_exchange(high, low, Ordering::Relaxed, Ordering::Relaxed);
            if hooked.is_ok() {
                return;
            }
        }
        a = parent(parent(high));
        b = parent(low);
    }
}

/// Makes a node's parent the root of its tree.
#[inline]
fn compress(node: u32, parents: &[AtomicU32]) {
    let parent = |node: u32| name(node, parents);
    while parent(node) != parent(parent(node)) {
        parents[node as usize].store(parent(parent(node)), Ordering::Relaxed);
    }
}

/// The component met most often among nodes at even distances.
fn most_frequent(parents: &[AtomicU32]) -> Option<u32> {
    let step = (parents.len() / SAMPLED_NODES).max(1);
    let mut counts: Map<u32, usize> = Map::default();
    for parent in parents.iter().step_by(step) {
        *counts.entry(parent.load(Ordering::Relaxed)).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(component, count)| (count, component)).map(|(component, _)| component)
}

/// A bit for each node: whether it is in that component as far as is known.
fn named(component: u32, parents: &[AtomicU32], threads: usize) -> Bitmap {
    let words = map_tasks(threads, parents.chunks(TASK_NODES).collect(), |names: &[AtomicU32]| {
        let word = |names: &[AtomicU32]| {
            let bit = |name: &AtomicU32| u64::from(name.load(Ordering::Relaxed) == component);
            names.iter().zip(0..).fold(0, |word, (name, at)| word | bit(name) << at)
        };
        names.chunks(64).map(word).collect::<Vec<u64>>()
    });
    Bitmap::from_words(words.concat(), parents.len())
}

/// Checks a result by another method: both ends of every edge are in one component, and a search along edges from the
/// node that names a component, both ways, finds all of its nodes.
///
/// The view must have forward and backward rows.
pub fn verify(view: &GraphView, components: &[u32]) -> Result<()> {
    let mut is_found = vec![false; view.node_count()];
    for start in 0..view.node_count() as u32 {
        if components[start as usize] != start {
            continue;
        }
        let mut stack = vec![start];
        is_found[start as usize] = true;
        while let Some(node) = stack.pop() {
            for &neighbor in view.forward().neighbors(node).iter().chain(view.backward().neighbors(node)) {
                if components[neighbor as usize] != start {
                    let found = components[neighbor as usize];
                    return Err(model::error!(Internal, "an edge joins nodes of components {start} and {found}"));
                }
                if !is_found[neighbor as usize] {
                    is_found[neighbor as usize] = true;
                    stack.push(neighbor);
                }
            }
        }
    }
    match is_found.iter().position(|found| !found) {
        Some(node) => Err(model::error!(Internal, "no path joins node {node} with the others of its component")),
        None => Ok(()),
    }
}

/// `algo.wcc`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "wcc",
        aliases: &["gds.wcc"],
        description: "Finds which nodes hang together when relationships are followed both ways.",
        settings: &[],
        direction: Follows::Always(Direction::Out),
        takes_weights: false,
        yields: &[column("component", "INTEGER")],
        stats: &[column("componentCount", "INTEGER")],
        shape: Shape::Nodes,
    };

    const JOB: Option<JobOf<()>> = Some(|_, ()| Ok(JobPlan { names_nodes: true, ..JobPlan::default() }));

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        Needs { sides: Sides::Forward, node_bytes: size_of::<u32>(), edge_bytes: 0, executions: &Execution::ALL }
    }

    fn figures_bytes(_config: &(), _is_weighted: bool) -> Option<usize> {
        Some(size_of::<u32>())
    }

    fn work(_config: &(), _is_weighted: bool) -> Option<Work> {
        Some(Work::Passes { count: 1, kernel: UNION })
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let (mut names, mut count) = (Vec::new(), 0);
        let mut take = |node: u32, name: u32| {
            count += i64::from(name == node);
            if run.gives_values {
                names.push(graph.node(name).0.cast_signed());
            }
        };
        if run.execution == Execution::Windows {
            windowed::run(graph, run)?.each(|node, name| {
                take(node, name);
                Ok(())
            })?;
        } else {
            let components = components(graph, run.threads, run.interrupt)?;
            (0..).zip(components).for_each(|(node, name)| take(node, name));
        }
        let columns = vec![Column::new(ColumnData::Int(names))];
        Ok(Outcome { columns, order: RowOrder::ByNumber, stats: vec![Value::Int(count)] })
    }
}
