//! `PathSearch`: for each row, the paths that match a pattern of several parts, or those that a selector chooses.
//!
//! All paths come from a walk into the depth that holds nothing but its stack ([`depth_first`]). A selector asks for
//! paths by their length: the walk is repeated with a growing limit, and turns back where the end is known to lie too far
//! away ([`bounds`]). So memory holds one path, however many there are; what is still to be tried at its nodes and the
//! distances to one end are in temporary files where they do not fit.

mod bounds;
mod depth_first;
mod pattern;

use std::sync::Arc;

use cypher::plan::{OperatorKind, SearchSelector};
use model::{Column, ColumnData, EdgeValue, NodeId, Result, Value};

use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowered, Lowering, column_of, columns_of, keep, misplaced};
use crate::operators::variable_expand::edge_list;
use crate::rows::{gather_columns, node_at, nodes_in};
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};
use crate::visited::is_batch_full;
use depth_first::DepthFirst;
pub(crate) use pattern::Pattern;

struct PathSearch {
    input: Step,
    from: usize,
    /// The column of the end, if it is bound.
    bound: Option<usize>,
    pattern: Pattern,
    distinct_from: Vec<usize>,
    gives_edges: bool,
    gives_counts: bool,
    gives_node: bool,
    keep: Vec<usize>,
}

/// Lowers `PathSearch`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::PathSearch { input, from, to, into, pattern, conditions, edges, counts, distinct_from } = kind
    else {
        return Err(misplaced(kind));
    };
    let mut below = demand.clone().without([edges, counts]).and_slots([from]).and_slots(distinct_from);
    below = if *into { below.and_slots([to]) } else { below.without([to]) };
    below = below.and_slots(&pattern::row_slots(pattern, conditions, [*to, *edges, *counts]));
    let (input, layout) = lowering.lower(input, &below)?;
    let from = column_of(&layout, *from)?;
    let bound = if *into { Some(column_of(&layout, *to)?) } else { None };
    let distinct_from = columns_of(&layout, distinct_from)?;
    let whole = [*edges, *counts, *to];
    let pattern = Pattern::compile(lowering, pattern, conditions, &layout, &whole[..if *into { 2 } else { 3 }])?;
    let (keep, mut layout) = keep(&layout, demand);
    let gives = |layout: &mut Layout, slot| {
        let is_wanted = demand.slots.contains(slot);
        if is_wanted {
            layout.push(*slot);
        }
        is_wanted
    };
    let (gives_edges, gives_counts) = (gives(&mut layout, edges), gives(&mut layout, counts));
    let gives_node = !into && gives(&mut layout, to);
    let search = PathSearch { input, from, bound, pattern, distinct_from, gives_edges, gives_counts, gives_node, keep };
    Ok((Box::new(search), layout))
}

/// Paths found: for each the row it belongs to, its end, its edges and how many of them each part has.
#[derive(Default)]
struct Found {
    rows: Vec<u32>,
    ends: Vec<NodeId>,
    edges: Vec<Value>,
    counts: Vec<Value>,
    /// Edges of all of them.
    length: usize,
}

/// A path as a search shows it.
pub(crate) struct PathFound<'p> {
    pub(crate) end: NodeId,
    pub(crate) edges: &'p [EdgeValue],
    pub(crate) counts: &'p [u32],
}

/// Takes paths.
pub(crate) type Give<'g> = dyn FnMut(PathFound<'_>) -> Result<Flow> + 'g;

/// The start of a search and the row it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Place<'c> {
    pub(crate) chunk: &'c Chunk,
    pub(crate) row: u32,
    pub(crate) start: NodeId,
    /// Columns with edges from which those of the path differ.
    pub(crate) distinct_from: &'c [usize],
}

/// Gives the paths of one row that the pattern and its selector want.
pub(crate) fn search(
    pattern: &Pattern,
    runtime: &Runtime<'_>,
    place: Place<'_>,
    end: Option<NodeId>,
    give: &mut Give<'_>,
) -> Result<Flow> {
    let Some(selector) = pattern.selector else {
        return DepthFirst::new(pattern, runtime, place, end)?.all(give);
    };
    if let Some(end) = end {
        return select(pattern, runtime, place, end, selector, give);
    }
    let mut ends = bounds::reachable(pattern, runtime, place.start)?;
    for at in 0..ends.len() {
        if select(pattern, runtime, place, ends.get(at)?, selector, give)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Gives the selected paths to one end: those of the least length first.
fn select(
    pattern: &Pattern,
    runtime: &Runtime<'_>,
    place: Place<'_>,
    end: NodeId,
    selector: SearchSelector,
    give: &mut Give<'_>,
) -> Result<Flow> {
    let (mut left, of_groups) = match selector {
        SearchSelector::Shortest(count) => (count, false),
        SearchSelector::Groups(count) => (count, true),
    };
    let mut search = DepthFirst::new(pattern, runtime, place, Some(end))?;
    let mut length = search.least_length()?;
    while let Some(limit) = length {
        let (mut has_some, mut is_over) = (false, false);
        let (flow, next) = search.of_length(limit, &mut |path| {
            has_some = true;
            let flow = give(path)?;
            is_over = flow == Flow::Stop;
            if !of_groups {
                left -= 1;
            }
            Ok(if left == 0 { Flow::Stop } else { flow })
        })?;
        if is_over {
            return Ok(Flow::Stop);
        }
        if of_groups && has_some {
            left -= 1;
        }
        if left == 0 || flow == Flow::Stop {
            return Ok(Flow::Continue);
        }
        length = next;
    }
    Ok(Flow::Continue)
}

impl PathSearch {
    fn flush(&self, chunk: &Chunk, found: &mut Found, sink: &mut Sink<'_>) -> Result<Flow> {
        let Found { rows, ends, edges, counts, .. } = std::mem::take(found);
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let mut columns = gather_columns(chunk, &self.keep, &rows);
        let mut push = |is_given: bool, data| {
            if is_given {
                columns.push(Arc::new(Column::new(data)));
            }
        };
        push(self.gives_edges, ColumnData::Value(edges));
        push(self.gives_counts, ColumnData::Value(counts));
        push(self.gives_node, ColumnData::Node(ends));
        sink(Chunk { rows: rows.len(), columns })
    }
}

impl Physical for PathSearch {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let batch_rows = runtime.environment.settings.batch_rows;
        self.input.run(scope, &mut |chunk| {
            let mut found = Found::default();
            let (nodes, rows) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
            for (index, &start) in nodes.iter().enumerate() {
                let row = rows.as_ref().map_or(index as u32, |rows| rows[index]);
                let end = match self.bound {
                    None => None,
                    Some(bound) => match node_at(&chunk.columns[bound], row as usize) {
                        None => continue,
                        end => end,
                    },
                };
                let place = Place { chunk: &chunk, row, start, distinct_from: &self.distinct_from };
                let flow = search(&self.pattern, runtime, place, end, &mut |path| {
                    found.rows.push(row);
                    found.ends.push(path.end);
                    if self.gives_edges {
                        found.edges.push(edge_list(path.edges.iter().copied()));
                        found.length += path.edges.len();
                    }
                    if self.gives_counts {
                        found.counts.push(pattern::count_list(path.counts));
                    }
                    if !is_batch_full(found.rows.len(), batch_rows, found.length) {
                        return Ok(Flow::Continue);
                    }
                    self.flush(&chunk, &mut found, sink)
                })?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            self.flush(&chunk, &mut found, sink)
        })
    }
}
