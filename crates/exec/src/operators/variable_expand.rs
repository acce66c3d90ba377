//! `VariableExpand`: for each row, the paths of `min` to `max` edges from a node, no edge twice in one path.
//!
//! Paths grow level by level in batches ([`walk`]), on a stack in a temporary file where they do not fit ([`deep`]). Where
//! only the distinct ends matter, nodes are visited once instead ([`reach`]).

mod reach;
mod running;
mod spilled;
mod walk;

use std::sync::Arc;

use cypher::plan::{OperatorKind, SearchSelector};
use model::{Column, ColumnData, Direction, EdgeValue, NodeId, Result, Value};

use crate::chunk::Chunk;
use crate::edge_filter::EdgeFilter;
use crate::lowering::{Demand, Lowered, Lowering, column_of, columns_of, keep, misplaced};
use crate::operators::path_search::Pattern;
use crate::rows::{gather_columns, node_at};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

pub(crate) struct VariableExpand {
    input: Step,
    from: usize,
    direction: Direction,
    types: Vec<Arc<str>>,
    min: u32,
    max: u32,
    /// The column of the end, if it is bound.
    bound: Option<usize>,
    gives_edges: bool,
    gives_node: bool,
    filter: Option<EdgeFilter>,
    distinct_from: Vec<usize>,
    keep: Vec<usize>,
    /// True if only the distinct ends matter, and visiting each node once finds them all.
    visits_once: bool,
    /// Pattern that finds a way back to the start where the ends are visited once and edges have no direction.
    round: Option<Pattern>,
    /// True if an edge may come twice in one path.
    repeats: bool,
    /// Tells paths that need not be made longer.
    running: Option<running::Running>,
}

/// Lowers `VariableExpand`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::VariableExpand {
        input,
        from,
        direction,
        types,
        min,
        max,
        edges,
        to,
        into,
        filter,
        distinct_from,
        repeats,
        running,
    } = kind
    else {
        return Err(misplaced(kind));
    };
    let mut below = demand.clone().without(edges).and_slots([from]).and_slots(distinct_from);
    below = if *into { below.and_slots([to]) } else { below.without([to]) };
    below = EdgeFilter::demand(filter.as_ref(), below);
    if let Some(running) = running {
        below = below.and_expression(running);
    }
    let (input, layout) = lowering.lower(input, &below)?;
    let from = column_of(&layout, *from)?;
    let bound = if *into { Some(column_of(&layout, *to)?) } else { None };
    let distinct_from = columns_of(&layout, distinct_from)?;
    let plan_filter = filter.as_ref();
    let filter = filter.as_ref().map(|filter| EdgeFilter::compile(lowering, filter, &layout)).transpose()?;
    let running = match running {
        Some(running) => running::Running::compile(lowering, running, &layout)?,
        None => None,
    };
    let gives_edges = edges.is_some_and(|edges| demand.slots.contains(&edges));
    let visits_once = !gives_edges && distinct_from.is_empty() && finds_all_by_visiting_once(demand, *min);
    let round = if visits_once && *min == 1 && *direction == Direction::Both && !repeats {
        Some(Pattern::round(lowering, (types, *max), plan_filter, SearchSelector::Shortest(1), &layout)?)
    } else {
        None
    };
    let (keep, mut layout) = keep(&layout, demand);
    if let Some(edges) = edges.filter(|_| gives_edges) {
        layout.push(edges);
    }
    let gives_node = !into && demand.slots.contains(to);
    if gives_node {
        layout.push(*to);
    }
    let expand = VariableExpand {
        input,
        from,
        direction: *direction,
        types: types.clone(),
        min: *min,
        max: max.unwrap_or(u32::MAX),
        bound,
        gives_edges,
        gives_node,
        filter,
        distinct_from,
        keep,
        visits_once,
        round,
        repeats: *repeats,
        running,
    };
    Ok((Box::new(expand), layout))
}

/// True if each end can be found by its shortest walk alone.
fn finds_all_by_visiting_once(demand: &Demand, min: u32) -> bool {
    // If only the ends matter, it is enough to find each by its shortest walk. A shortest walk to another node comes to
    // no node twice (else the part between could be left out), so it goes along no edge twice and is a path; with it,
    // no longer path to that node is of use, for it has at least `min` edges as soon as `min` is at most 1. The same
    // holds of the shortest way round along directed edges, which comes to no other node twice. Against that, going
    // along an undirected edge and back is a walk but no path, so there the way round is sought by itself; and with a
    // `min` of 2 the shortest walk may be too short.
    !demand.multiplicity && min <= 1
}

/// Paths found: for each the row it belongs to, where it ends, and its edges if they are wanted.
#[derive(Default)]
struct Found {
    rows: Vec<u32>,
    ends: Vec<NodeId>,
    edges: Vec<Value>,
    /// Number of these edges.
    length: usize,
}

impl VariableExpand {
    /// True if a path of a row may end at a node.
    fn is_end(&self, chunk: &Chunk, row: u32, node: NodeId) -> bool {
        self.bound.is_none_or(|bound| node_at(&chunk.columns[bound], row as usize) == Some(node))
    }

    /// Pushes what was found so far.
    fn flush(&self, chunk: &Chunk, found: &mut Found, sink: &mut Sink<'_>) -> Result<Flow> {
        let Found { rows, ends, edges, .. } = std::mem::take(found);
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let mut columns = gather_columns(chunk, &self.keep, &rows);
        if self.gives_edges {
            columns.push(Arc::new(Column::new(ColumnData::Value(edges))));
        }
        if self.gives_node {
            columns.push(Arc::new(Column::new(ColumnData::Node(ends))));
        }
        sink(Chunk { rows: rows.len(), columns })
    }
}

/// A list of edges as a value.
pub(crate) fn edge_list(edges: impl IntoIterator<Item = EdgeValue>) -> Value {
    Value::list(edges.into_iter().map(Value::Edge).collect())
}

impl Physical for VariableExpand {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        self.input.run(scope, &mut |chunk| {
            if self.visits_once {
                reach::Reach::new(self, scope.runtime, &chunk)?.run(sink)
            } else {
                walk::Walk::new(self, scope.runtime, &chunk)?.run(sink)
            }
        })
    }
}
