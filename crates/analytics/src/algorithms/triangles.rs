//! Triangles: for each node, how many pairs of its neighbors are neighbors themselves.
//!
//! Claim: relationships are followed both ways, parallel ones count as one and self-loops not at all. The counts of all
//! nodes sum to three times the number of triangles.
//! Cost: with neighbors ordered by degree, a list has at most √(2·edges) entries. In memory one step for up to 64 pairs of
//! nodes with many neighbors, and one for each pair of others; see `triangles/count.rs`. Streamed, a pass over all rows
//! for every window of lists that fits into memory; see `triangles/streamed.rs`.
//! After: Schank, Wagner, "Finding, counting and listing all triangles in large graphs", 2005 (forward, by degree); Chiba,
//! Nishizeki, "Arboricity and subgraph listing algorithms", 1985 (marks).

mod count;
mod ranked;
mod streamed;
mod windowed;
mod work;

use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::both::Distinct;
use crate::graph::{Execution, Graph, Work};
use crate::graph_view::{GraphView, Sides};
use crate::held::Held;
use crate::procedure::column;
use crate::settings::Settings;
use ranked::Ranked;

/// For each node, its distinct neighbors and the pairs of them that are joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Triads {
    /// Distinct neighbors, without the node itself.
    pub degrees: Vec<u32>,
    /// Pairs of neighbors that an edge joins; where direction matters each direction in which one does counts.
    pub closed: Vec<u64>,
}

/// Counts in a view with both sides, or an undirected one. A directed view counts the directions of joining edges.
pub fn run(view: &GraphView, threads: usize, interrupt: &Interrupt) -> Result<Triads> {
    let ranked = Ranked::new(view, threads, interrupt)?;
    let counted = count::count(&ranked, threads, interrupt)?;
    let mut found = Triads { degrees: vec![0; view.node_count()], closed: vec![0; view.node_count()] };
    for (rank, &node) in ranked.order.iter().enumerate() {
        found.degrees[node as usize] = counted.degrees[rank];
        found.closed[node as usize] = counted.closed[rank];
    }
    Ok(found)
}

/// Counts in a graph, in whatever way it is read; streamed with as much memory for lists as is free.
pub(crate) fn run_in(graph: &Graph<'_>, run: &Run<'_>) -> Result<Triads> {
    if let Some(view) = graph.view() {
        let bytes = count::matrix_bytes(view.node_count(), !view.is_undirected());
        let _matrix = Held::take(run.workspace, "bits of neighbors", bytes)?;
        return self::run(view, run.threads, run.interrupt);
    }
    if run.execution == Execution::Windows {
        return windowed::run(graph, run);
    }
    let wanted = graph.edge_count() as usize * WINDOW_ENTRY_BYTES;
    let bytes = wanted.min(run.workspace.bytes_free() / 4 * 3).max(WINDOW_BYTES_MIN);
    let _window = Held::take(run.workspace, "lists of neighbors", bytes)?;
    let counted = streamed::count(graph, true, bytes, run.threads, run.interrupt)?;
    Ok(Triads { degrees: counted.degrees, closed: counted.closed })
}

/// Bytes of an entry of a list while it is read.
const WINDOW_ENTRY_BYTES: usize = 5;
/// Lists for which there must be memory.
const WINDOW_BYTES_MIN: usize = 1 << 20;
/// Upper bound of the steps of [`verify`].
const VERIFY_STEPS_MAX: u64 = 1 << 28;

/// Checks a result by another method: for nodes at even distances, all if there are few, the neighbors of each neighbor
/// are looked up among the neighbors.
///
/// The view must have both sides or be undirected.
pub fn verify(view: &GraphView, result: &Triads) -> Result<()> {
    let distinct_of = |node: u32, is_directed: bool| {
        let mut distinct = Distinct::default();
        let backward = if view.is_undirected() { &[][..] } else { view.backward().neighbors(node) };
        distinct.set(node, view.forward().neighbors(node), backward, is_directed && !view.is_undirected());
        distinct
    };
    let nodes = view.node_count();
    let work: u64 = (0..nodes as u32)
        .map(|node| view.forward().neighbors(node).iter().map(|&next| view.forward().degree(next)).sum::<u64>())
        .sum();
    let step = (work / VERIFY_STEPS_MAX + 1) as usize;
    let mut marks = vec![false; nodes];
    for node in (0..nodes).step_by(step) {
        let neighbors = distinct_of(node as u32, false).neighbors;
        neighbors.iter().for_each(|&neighbor| marks[neighbor as usize] = true);
        // Seen from both ends: an edge in one direction counts at both, one in both twice at both.
        let mut seen = 0;
        for &neighbor in &neighbors {
            let others = distinct_of(neighbor, true);
            for (at, _) in others.neighbors.iter().enumerate().filter(|(_, other)| marks[**other as usize]) {
                seen += 1 + u64::from(others.mutual.get(at) == Some(&true));
            }
        }
        neighbors.iter().for_each(|&neighbor| marks[neighbor as usize] = false);
        let found = (result.degrees[node] as usize, result.closed[node]);
        let expected = (neighbors.len(), seen / 2);
        if found != expected {
            return Err(model::error!(
                Internal,
                "node {node} has {found:?} neighbors and joined pairs of them, expected {expected:?}"
            ));
        }
    }
    Ok(())
}

/// `algo.triangleCount`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "triangleCount",
        aliases: &["algo.triangles", "gds.triangleCount"],
        description: "Counts for each node the pairs of its neighbors that are neighbors themselves.",
        settings: &[],
        direction: Follows::Always(Direction::Both),
        takes_weights: false,
        yields: &[column("triangleCount", "INTEGER")],
        stats: &[column("globalTriangleCount", "INTEGER"), column("nodeCount", "INTEGER")],
        shape: Shape::Nodes,
    };

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        needs()
    }

    fn work(_config: &(), _is_weighted: bool) -> Option<Work> {
        Some(WORK)
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let closed = run_in(graph, run)?.closed;
        let total: u64 = closed.iter().sum::<u64>() / 3;
        let stats = vec![Value::Int(total.cast_signed()), Value::Int(closed.len() as i64)];
        let counts = ColumnData::Int(closed.into_iter().map(u64::cast_signed).collect());
        Ok(Outcome { columns: vec![Column::new(counts)], order: RowOrder::ByNumber, stats })
    }
}

/// The work of counting.
pub(crate) const WORK: Work = Work::Degrees(work::expected_ns);

/// The needs of counting.
pub(crate) fn needs() -> Needs {
    Needs {
        sides: Sides::ForwardAndBackward,
        node_bytes: 64,
        edge_bytes: 2 * size_of::<u32>() + size_of::<bool>(),
        executions: &Execution::ALL,
    }
}
