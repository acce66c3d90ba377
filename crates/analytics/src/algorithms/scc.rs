//! Strongly connected components: which nodes reach each other along edges.
//!
//! Claim: two nodes have the same component exactly if a path leads from each to the other. A component is named by
//! the smallest node id in it.
//! Cost: in memory, one look at the degrees, then the nodes that the greatest hub reaches and that reach it, found by
//! direction-optimising searches on all threads, which is nearly all the work where there is one giant component; a
//! depth-first search by one thread for what is left, 16 bytes a node. Streamed, see `scc/streamed.rs`.
//! After: Fleischer, Hendrickson, Pınar, "On identifying strongly connected components in parallel", 2000; McLendon,
//! Hendrickson, Plimpton, Rauchwerger, "Finding strongly connected components in distributed graphs", 2005 (trimming);
//! Tarjan, "Depth-first search and linear graph algorithms", 1972.

mod reach;
mod streamed;
mod tarjan;

use std::sync::atomic::{AtomicU32, Ordering};

use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::work::DEPTH_FIRST;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::parallel::{even_ranges, map_tasks};
use crate::procedure::column;
use crate::settings::Settings;

/// The component of a node that has none yet.
const NONE: u32 = u32::MAX;
/// Pieces for each thread.
const PIECES_PER_THREAD: usize = 16;
/// Edges below which one thread does all.
const EDGES_PER_THREAD_MIN: usize = 1 << 16;

/// For each node of a graph that has rows of both sides, the smallest number of a node in its component.
pub fn run(graph: &Graph<'_>, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let threads = threads.min(graph.edge_count() as usize / EDGES_PER_THREAD_MIN + 1);
    if graph.is_undirected() {
        return Err(model::error!(Internal, "strong components were asked for in a graph without directions"));
    }
    match graph.view() {
        Some(view) => in_memory(view, threads, interrupt),
        None => streamed::run(graph, streamed::edges_held_max(graph.node_count()), threads, interrupt),
    }
}

fn in_memory(view: &GraphView, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let (forward, backward) = (view.forward(), view.backward());
    let ranges = even_ranges(view.node_count(), PIECES_PER_THREAD * threads, 1);
    let components: Vec<AtomicU32> = (0..view.node_count()).map(|_| AtomicU32::new(NONE)).collect();
    let hubs = map_tasks(threads, ranges.clone(), |range| {
        let mut hub = (0, 0);
        for node in range.start as u32..range.end as u32 {
            let product = forward.degree(node) * backward.degree(node);
            if product == 0 {
                components[node as usize].store(node, Ordering::Relaxed);
            } else if product > hub.0 {
                hub = (product, node);
            }
        }
        hub
    });
    interrupt.report(1, 4);
    let Some(&(product, hub)) = hubs.iter().max_by_key(|(product, node)| (*product, u32::MAX - node)) else {
        return Ok(Vec::new());
    };
    if product > 0 {
        let search = reach::Search { threads, interrupt };
        let reached = search.run(forward, backward, hub, &|node| !is_done(&components, node))?;
        interrupt.report(2, 4);
        let both = search.run(backward, forward, hub, &|node| reached.has(node))?;
        interrupt.report(3, 4);
        let firsts = map_tasks(threads, ranges.clone(), |range| {
            (range.start as u32..range.end as u32).find(|&node| both.has(node))
        });
        let name = firsts.into_iter().flatten().next().expect("the hub reaches itself");
        map_tasks(threads, ranges, |range| {
            for node in (range.start as u32..range.end as u32).filter(|&node| both.has(node)) {
                components[node as usize].store(name, Ordering::Relaxed);
            }
        });
    }
    let mut components: Vec<u32> = components.into_iter().map(AtomicU32::into_inner).collect();
    tarjan::finish(|node| forward.neighbors(node), &mut components, interrupt)?;
    interrupt.report(4, 4);
    Ok(components)
}

#[inline]
fn is_done(components: &[AtomicU32], node: u32) -> bool {
    components[node as usize].load(Ordering::Relaxed) != NONE
}

/// Checks a result by another method: within each component a search along the edges and one against them find all of
/// its nodes from the one that names it; and components taken as nodes can be put in an order, so that none of them
/// reach each other.
///
/// The view must have forward and backward rows.
pub fn verify(view: &GraphView, components: &[u32]) -> Result<()> {
    for rows in [view.forward(), view.backward()] {
        let mut is_found = vec![false; view.node_count()];
        for start in (0..view.node_count() as u32).filter(|&node| components[node as usize] == node) {
            let mut stack = vec![start];
            is_found[start as usize] = true;
            while let Some(node) = stack.pop() {
                for &neighbor in rows.neighbors(node) {
                    if components[neighbor as usize] == start && !is_found[neighbor as usize] {
                        is_found[neighbor as usize] = true;
                        stack.push(neighbor);
                    }
                }
            }
        }
        if let Some(node) = is_found.iter().position(|found| !found) {
            let name = components[node];
            return Err(model::error!(Internal, "node {node} is not joined within its component {name}"));
        }
    }
    let others = |node: usize| {
        let neighbors = view.forward().neighbors(node as u32).iter();
        neighbors.map(|&neighbor| components[neighbor as usize]).filter(move |&name| name != components[node])
    };
    let mut waiting_for = vec![0_u64; view.node_count()];
    (0..view.node_count()).for_each(|node| others(node).for_each(|name| waiting_for[name as usize] += 1));
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); view.node_count()];
    (0..).zip(components).for_each(|(node, &name)| members[name as usize].push(node));
    let mut ready: Vec<usize> = (0..members.len()).filter(|&name| waiting_for[name] == 0).collect();
    let mut ordered = 0;
    while let Some(name) = ready.pop() {
        ordered += 1;
        for other in members[name].iter().flat_map(|&node| others(node as usize)) {
            waiting_for[other as usize] -= 1;
            if waiting_for[other as usize] == 0 {
                ready.push(other as usize);
            }
        }
    }
    if ordered == members.len() {
        return Ok(());
    }
    Err(model::error!(Internal, "{} components reach each other in a circle", members.len() - ordered))
}

/// `algo.scc`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "scc",
        aliases: &["gds.scc"],
        description: "Finds which nodes reach each other along relationships.",
        settings: &[],
        direction: Follows::Always(Direction::Out),
        takes_weights: false,
        yields: &[column("component", "INTEGER")],
        stats: &[column("componentCount", "INTEGER"), column("largestComponent", "INTEGER")],
        shape: Shape::Nodes,
    };

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        // In memory 16 for the depth-first search; streamed as much, and the few edges that are held at the end.
        Needs {
            sides: Sides::ForwardAndBackward,
            node_bytes: 4 * size_of::<u32>() + streamed::HELD_EDGES_PER_NODE * size_of::<u64>(),
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn work(_config: &(), _is_weighted: bool) -> Option<Work> {
        Some(Work::Passes { count: 1, kernel: DEPTH_FIRST })
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let components = self::run(graph, run.threads, run.interrupt)?;
        let mut sizes = vec![0_i64; components.len()];
        components.iter().for_each(|&name| sizes[name as usize] += 1);
        let count = sizes.iter().filter(|&&size| size > 0).count() as i64;
        let largest = sizes.into_iter().max().unwrap_or(0);
        let names = components.iter().map(|&name| graph.node(name).0.cast_signed()).collect();
        let columns = vec![Column::new(ColumnData::Int(names))];
        Ok(Outcome { columns, order: RowOrder::ByNumber, stats: vec![Value::Int(count), Value::Int(largest)] })
    }
}
