//! `ShortestPath`: for each row, a shortest path between two bound nodes, or all of them; no row if there is none. With one
//! bound node, the shortest paths to all others ([`from_one`]).
//!
//! A breadth-first search from both ends, a level at a time from the end with the smaller frontier, until the levels
//! meet; then paths are read off the levels ([`single`], [`all`]). Of several shortest paths the one given first is the
//! same in every run, whether the levels fit into memory or not.

mod all;
mod from_one;
mod search;
mod single;
mod spilled;

use std::sync::Arc;

use cypher::plan::{OperatorKind, SearchSelector};
use model::{Column, ColumnData, Direction, NodeId, Result, Value};

use crate::chunk::Chunk;
use crate::edge_filter::EdgeFilter;
use crate::lowering::{Demand, Lowered, Lowering, column_of, keep, misplaced};
use crate::operators::path_search::Pattern;
use crate::rows::{gather_columns, node_at};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::visited::is_batch_full;
use search::Search;

pub(crate) struct ShortestPath {
    input: Step,
    from: usize,
    /// The column of the end, if it is bound.
    bound: Option<usize>,
    direction: Direction,
    types: Vec<Arc<str>>,
    min: u32,
    max: u32,
    all: bool,
    filter: Option<EdgeFilter>,
    /// Pattern that finds the shortest way round along undirected edges, which must not go back along the same edge.
    round: Option<Pattern>,
    gives_edges: bool,
    gives_node: bool,
    keep: Vec<usize>,
}

/// Paths found: the rows they belong to, their ends and their edges.
#[derive(Default)]
struct Found {
    rows: Vec<u32>,
    ends: Vec<NodeId>,
    paths: Vec<Value>,
    /// Edges of all of them.
    length: usize,
}

/// Lowers `ShortestPath`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::ShortestPath { input, from, to, direction, types, min, max, edges, all, filter, into } = kind
    else {
        return Err(misplaced(kind));
    };
    let below = demand.clone().without([edges]).and_slots([from]);
    let below = if *into { below.and_slots([to]) } else { below.without([to]) };
    let (input, layout) = lowering.lower(input, &EdgeFilter::demand(filter.as_ref(), below))?;
    let from = column_of(&layout, *from)?;
    let bound = if *into { Some(column_of(&layout, *to)?) } else { None };
    let plan_filter = filter.as_ref();
    let filter = filter.as_ref().map(|filter| EdgeFilter::compile(lowering, filter, &layout)).transpose()?;
    let round = match direction {
        Direction::Both => {
            let selector = if *all { SearchSelector::Groups(1) } else { SearchSelector::Shortest(1) };
            Some(Pattern::round(lowering, (types, *max), plan_filter, selector, &layout)?)
        }
        Direction::Out | Direction::In => None,
    };
    let (keep, mut layout) = keep(&layout, demand);
    let gives_edges = demand.slots.contains(edges);
    if gives_edges {
        layout.push(*edges);
    }
    let gives_node = !into && demand.slots.contains(to);
    if gives_node {
        layout.push(*to);
    }
    let (direction, types, min, max, all) = (*direction, types.clone(), *min, max.unwrap_or(u32::MAX), *all);
    let operator = ShortestPath {
        input,
        from,
        bound,
        direction,
        types,
        min,
        max,
        all,
        filter,
        round,
        gives_edges,
        gives_node,
        keep,
    };
    Ok((Box::new(operator), layout))
}

impl ShortestPath {
    fn flush(&self, chunk: &Chunk, found: &mut Found, sink: &mut Sink<'_>) -> Result<Flow> {
        let Found { rows, ends, paths, .. } = std::mem::take(found);
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let mut columns = gather_columns(chunk, &self.keep, &rows);
        if self.gives_edges {
            columns.push(Arc::new(Column::new(ColumnData::Value(paths))));
        }
        if self.gives_node {
            columns.push(Arc::new(Column::new(ColumnData::Node(ends))));
        }
        sink(Chunk { rows: rows.len(), columns })
    }
}

impl Physical for ShortestPath {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let batch_rows = scope.runtime.environment.settings.batch_rows;
        self.input.run(scope, &mut |chunk| {
            let mut found = Found::default();
            for row in 0..chunk.rows {
                let Some(from) = node_at(&chunk.columns[self.from], row) else { continue };
                let mut search = Search::new(self, scope.runtime, &chunk, row as u32);
                let mut give = |end: NodeId, path: Value| {
                    found.rows.push(row as u32);
                    found.ends.push(end);
                    found.length += if let Value::List(edges) = &path { edges.len() } else { 0 };
                    found.paths.push(path);
                    if !is_batch_full(found.rows.len(), batch_rows, found.length) {
                        return Ok(Flow::Continue);
                    }
                    self.flush(&chunk, &mut found, sink)
                };
                let flow = match self.bound {
                    None => search.to_all_from(from, &mut give)?,
                    Some(bound) => match node_at(&chunk.columns[bound], row) {
                        None => continue,
                        Some(to) => search.run(from, to, &mut |path| give(to, path))?,
                    },
                };
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            self.flush(&chunk, &mut found, sink)
        })
    }
}
