//! The core number of each node: the largest k for which the node is in a part of the graph, its k-core, where every node
//! has at least k neighbors within the part.
//!
//! Claim: relationships are followed both ways, parallel ones count as one and self-loops not at all; a node without
//! neighbors has core number 0.
//! Cost: in memory a copy of the distinct neighbors, then each edge is looked at once, by the end that is peeled off
//! first; levels are worked on by all threads, none waiting within a level. Streamed, each node's number is brought down
//! to what the numbers of its neighbors allow until nothing changes, passing over nodes none of whose neighbors changed.
//! After: Batagelj, Zaveršnik, "An O(m) algorithm for cores decomposition of networks", 2003; Kabir, Madduri, "Parallel
//! k-core decomposition on multicore platforms", 2017; Lü, Zhou, Zhang, Stanley, "The H-index of a network node and its
//! relation to degree and coreness", 2016 (streamed).

mod peel;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use model::column::{Bitmap, Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::both::Distinct;
use crate::graph::work::PEEL;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::huge;
use crate::procedure::column;
use crate::rows::pass::map_pass;
use crate::settings::Settings;

/// The core number of each node of a graph that has both sides, or is undirected.
pub fn run(graph: &Graph<'_>, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    match graph.view() {
        Some(_) => peel::run(graph, threads, interrupt),
        None => lower(graph, threads, interrupt),
    }
}

/// If fewer than this part of the nodes changed, the next pass looks only at their neighbors.
const FEW_CHANGES: usize = 8;

/// Brings numbers down from the degrees, in passes over the rows.
fn lower(graph: &Graph<'_>, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
    let nodes = graph.node_count();
    let pieces = graph.pieces_of_both(threads);
    let numbers: Vec<AtomicU32> = huge::collect((0..nodes).map(|_| AtomicU32::new(u32::MAX)));
    let mut active: Option<Bitmap> = None;
    let mut pass = 0;
    loop {
        interrupt.step(pass, 0)?;
        pass += 1;
        let changed = map_pass((graph.rows(), Sides::ForwardAndBackward), threads, pieces.clone(), |piece| {
            lower_piece(graph, piece, active.as_ref(), &numbers, interrupt)
        });
        let changed = changed.into_iter().collect::<Result<Vec<_>>>()?.concat();
        if changed.is_empty() {
            return Ok(numbers.into_iter().map(AtomicU32::into_inner).collect());
        }
        active = if changed.len() < nodes / FEW_CHANGES {
            Some(graph.neighbors_of(&changed, &pieces, threads, interrupt)?)
        } else {
            None
        };
    }
}

/// One pass for a piece; gives the nodes whose number fell. Numbers that fall meanwhile may be seen or not: they only ever
/// fall, never below what the last pass leaves.
fn lower_piece(
    graph: &Graph<'_>,
    piece: Range<usize>,
    active: Option<&Bitmap>,
    numbers: &[AtomicU32],
    interrupt: &Interrupt,
) -> Result<Vec<u32>> {
    let (mut changed, mut distinct, mut counts) = (Vec::new(), Distinct::default(), Vec::new());
    graph.scan_both(piece, active, interrupt, |node, forward, backward| {
        distinct.set(node, forward, backward, false);
        let before = numbers[node as usize].load(Ordering::Relaxed);
        let most = before.min(distinct.neighbors.len() as u32) as usize;
        counts.clear();
        counts.resize(most + 1, 0_u32);
        for &neighbor in &distinct.neighbors {
            counts[most.min(numbers[neighbor as usize].load(Ordering::Relaxed) as usize)] += 1;
        }
        // The largest k of which k neighbors have at least k.
        let mut at_least = 0;
        let fits = |k: &usize| {
            at_least += counts[*k] as usize;
            at_least >= *k
        };
        let number = (0..=most).rev().find(fits).unwrap_or(0) as u32;
        if number != before {
            numbers[node as usize].store(number, Ordering::Relaxed);
            changed.push(node);
        }
    })?;
    Ok(changed)
}

/// Checks a result by another method: within the nodes of at least its number every node has as many neighbors as its
/// number; and nodes can be taken away in order of their numbers so that none ever has more than its number left.
///
/// The view must have both sides or be undirected.
pub fn verify(view: &GraphView, numbers: &[u32]) -> Result<()> {
    let nodes = view.node_count();
    let neighbors_of = |node: u32| {
        let mut distinct = Distinct::default();
        let backward = if view.is_undirected() { &[][..] } else { view.backward().neighbors(node) };
        distinct.set(node, view.forward().neighbors(node), backward, false);
        distinct.neighbors
    };
    let mut left: Vec<usize> = Vec::with_capacity(nodes);
    for node in 0..nodes as u32 {
        let (neighbors, number) = (neighbors_of(node), numbers[node as usize]);
        let within = neighbors.iter().filter(|&&neighbor| numbers[neighbor as usize] >= number).count();
        if within < number as usize {
            return Err(model::error!(Internal, "node {node} has core number {number}, but {within} neighbors there"));
        }
        left.push(neighbors.len());
    }
    // Take nodes away level by level; a node that stays has more neighbors left than the level.
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    order.sort_by_key(|&node| numbers[node as usize]);
    let mut is_gone = vec![false; nodes];
    for level in order.chunk_by(|a, b| numbers[*a as usize] == numbers[*b as usize]) {
        let number = numbers[level[0] as usize] as usize;
        let mut stack: Vec<u32> = level.iter().copied().filter(|&node| left[node as usize] <= number).collect();
        stack.iter().for_each(|&node| is_gone[node as usize] = true);
        while let Some(node) = stack.pop() {
            for neighbor in neighbors_of(node) {
                left[neighbor as usize] -= 1;
                let is_of_level = numbers[neighbor as usize] as usize == number;
                if is_of_level && left[neighbor as usize] <= number && !is_gone[neighbor as usize] {
                    is_gone[neighbor as usize] = true;
                    stack.push(neighbor);
                }
            }
        }
        if let Some(node) = level.iter().find(|&&node| !is_gone[node as usize]) {
            return Err(model::error!(Internal, "node {node} has core number {number}, and is in a larger core"));
        }
    }
    Ok(())
}

/// `algo.kcore`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "kcore",
        aliases: &["algo.kCore", "gds.kcore"],
        description: "Finds for each node the largest k of which it is in the k-core.",
        settings: &[],
        direction: Follows::Always(Direction::Both),
        takes_weights: false,
        yields: &[column("coreValue", "INTEGER")],
        stats: &[column("degeneracy", "INTEGER")],
        shape: Shape::Nodes,
    };

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::ForwardAndBackward,
            node_bytes: 32,
            edge_bytes: 2 * size_of::<u32>(),
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn work(_config: &(), _is_weighted: bool) -> Option<Work> {
        Some(Work::Passes { count: 1, kernel: PEEL })
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let numbers = self::run(graph, run.threads, run.interrupt)?;
        let most = numbers.iter().copied().max().unwrap_or(0);
        let values = numbers.into_iter().map(i64::from).collect();
        Ok(Outcome {
            columns: vec![Column::new(ColumnData::Int(values))],
            order: RowOrder::ByNumber,
            stats: vec![Value::from(most)],
        })
    }
}
