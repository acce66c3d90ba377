//! `ShortestPath`: for each row, a shortest path between two bound nodes, or all of them; no row if there is none.
//!
//! A breadth-first search from both ends, a level at a time from the end with the smaller frontier, until the levels
//! meet; then paths are read off the levels ([`search`]). Of several shortest paths the one given first is the same in
//! every run.

mod search;
mod single;

use std::sync::Arc;

use cypher::plan::{OperatorKind, SearchSelector};
use model::{Column, ColumnData, Direction, Result, Value};

use crate::chunk::Chunk;
use crate::edge_filter::EdgeFilter;
use crate::lowering::{Demand, Lowered, Lowering, column_of, keep, misplaced};
use crate::operators::path_search::Pattern;
use crate::rows::{gather_columns, node_at};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use search::Search;

pub(crate) struct ShortestPath {
    input: Step,
    from: usize,
    to: usize,
    direction: Direction,
    types: Vec<Arc<str>>,
    min: u32,
    max: u32,
    all: bool,
    filter: Option<EdgeFilter>,
    /// How the shortest way round is found along undirected edges, which must not go back along the same edge.
    round: Option<Pattern>,
    gives_edges: bool,
    keep: Vec<usize>,
}

/// Lowers `ShortestPath`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::ShortestPath { input, from, to, direction, types, min, max, edges, all, filter, .. } = kind
    else {
        return Err(misplaced(kind));
    };
    let below = EdgeFilter::demand(filter.as_ref(), demand.clone().without([edges]).and_slots([from, to]));
    let (input, layout) = lowering.lower(input, &below)?;
    let (from, to) = (column_of(&layout, *from)?, column_of(&layout, *to)?);
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
    let (direction, types, min, max, all) = (*direction, types.clone(), *min, max.unwrap_or(u32::MAX), *all);
    let operator = ShortestPath { input, from, to, direction, types, min, max, all, filter, round, gives_edges, keep };
    Ok((Box::new(operator), layout))
}

impl ShortestPath {
    fn flush(&self, chunk: &Chunk, rows: &mut Vec<u32>, paths: &mut Vec<Value>, sink: &mut Sink<'_>) -> Result<Flow> {
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let mut columns = gather_columns(chunk, &self.keep, rows);
        let count = rows.len();
        rows.clear();
        let paths = std::mem::take(paths);
        if self.gives_edges {
            columns.push(Arc::new(Column::new(ColumnData::Value(paths))));
        }
        sink(Chunk { rows: count, columns })
    }
}

impl Physical for ShortestPath {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let batch_rows = scope.runtime.environment.settings.batch_rows;
        self.input.run(scope, &mut |chunk| {
            let (mut rows, mut paths) = (Vec::new(), Vec::new());
            for row in 0..chunk.rows {
                let ends = (node_at(&chunk.columns[self.from], row), node_at(&chunk.columns[self.to], row));
                let (Some(from), Some(to)) = ends else { continue };
                let mut search = Search::new(self, scope.runtime, &chunk, row as u32);
                let flow = search.run(from, to, &mut |path| {
                    rows.push(row as u32);
                    paths.push(path);
                    if rows.len() < batch_rows {
                        return Ok(Flow::Continue);
                    }
                    self.flush(&chunk, &mut rows, &mut paths, sink)
                })?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            self.flush(&chunk, &mut rows, &mut paths, sink)
        })
    }
}
