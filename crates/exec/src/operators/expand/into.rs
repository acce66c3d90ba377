//! `Expand` into nodes that are bound: only the edges between two nodes of each row.
//!
//! The rows of a chunk mostly share the node on one side (the corner from which a triangle was opened). Each such node is
//! expanded once for the chunk, and its neighbors are looked up among the nodes that its rows ask for.
//!
//! Once a good part of all edges has been followed so, sorted lists of the neighbors of all nodes are searched instead.
//!
//! Cost: the edges of the distinct nodes of the cheaper side, or of the node with fewer edges in each row, whichever is
//! less; a hash lookup for each edge. With lists, a binary search for each row.

use std::sync::Arc;

use model::store::EdgeIds;
use model::{Column, ColumnData, Direction, EdgeBatch, EdgeValue, Map, NodeId, ReadView, Result};

use super::hop::Hop;
use crate::adjacency::{ID_AGAINST_DIRECTION_COST, edge_value, expansion, is_taken};
use crate::chunk::Chunk;
use crate::neighbor_lists::{ListKind, Lists, Numbers};
use crate::rows::{gather_columns, node_at};
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};

pub(super) struct ExpandInto {
    pub(super) input: Step,
    pub(super) hop: Hop,
    /// The column of the bound end.
    pub(super) to: usize,
}

/// The rows of a chunk in which both ends are there, with their ends.
struct Ends {
    rows: Vec<u32>,
    from: Vec<NodeId>,
    to: Vec<NodeId>,
}

/// The ends of some rows as one side sees them: go from `near`, look for `far`.
#[derive(Default)]
struct Side {
    rows: Vec<u32>,
    near: Vec<NodeId>,
    far: Vec<NodeId>,
}

impl Side {
    fn push(&mut self, row: u32, near: NodeId, far: NodeId) {
        self.rows.push(row);
        self.near.push(near);
        self.far.push(far);
    }
}

/// Nodes without repetition, and which of them each row has.
struct Distinct {
    nodes: Vec<NodeId>,
    of_row: Vec<u32>,
}

impl Distinct {
    fn of(rows: &[NodeId]) -> Distinct {
        let mut distinct = Distinct { nodes: Vec::new(), of_row: Vec::with_capacity(rows.len()) };
        let mut numbers: Map<NodeId, u32> = Map::default();
        for (index, &node) in rows.iter().enumerate() {
            let number = if index > 0 && rows[index - 1] == node {
                distinct.of_row[index - 1]
            } else {
                *numbers.entry(node).or_insert_with(|| {
                    distinct.nodes.push(node);
                    distinct.nodes.len() as u32 - 1
                })
            };
            distinct.of_row.push(number);
        }
        distinct
    }
}

/// A chunk of fewer rows is not worth lists of all nodes.
const LISTED_ROWS_MIN: usize = 64;

/// The cost of expanding each node of a side.
fn costs(view: &dyn ReadView, side: &Distinct, expand: &model::Expand) -> Result<Vec<u64>> {
    let mut costs = view.degrees(&side.nodes, expand.direction, expand.types.as_deref())?;
    if expand.edge_ids == EdgeIds::Include && expand.direction == Direction::In {
        costs.iter_mut().for_each(|cost| *cost *= ID_AGAINST_DIRECTION_COST);
    }
    Ok(costs)
}

impl ExpandInto {
    fn ends(&self, chunk: &Chunk) -> Ends {
        let mut ends = Ends { rows: Vec::new(), from: Vec::new(), to: Vec::new() };
        let (from, to) = (&chunk.columns[self.hop.from], &chunk.columns[self.to]);
        for row in 0..chunk.rows {
            if let (Some(from), Some(to)) = (node_at(from, row), node_at(to, row)) {
                ends.rows.push(row as u32);
                ends.from.push(from);
                ends.to.push(to);
            }
        }
        ends
    }

    /// Divides the rows into those walked from their start and those walked from their end.
    fn split(&self, view: &dyn ReadView, ends: Ends, expand: &model::Expand) -> Result<(Side, Side)> {
        let capabilities = view.capabilities();
        let Ends { rows, from, to } = ends;
        if capabilities.is_remote || !capabilities.expands_against_direction {
            return Ok((Side { rows, near: from, far: to }, Side::default()));
        }
        let (starts, stops) = (Distinct::of(&from), Distinct::of(&to));
        let against = model::Expand { direction: expand.direction.reverse(), ..expand.clone() };
        let (forth, back) = (costs(view, &starts, expand)?, costs(view, &stops, &against)?);
        let of_row = |index: usize| (forth[starts.of_row[index] as usize], back[stops.of_row[index] as usize]);
        let by_row: u64 = (0..rows.len()).map(of_row).map(|(forth, back)| forth.min(back)).sum();
        let (all_forth, all_back) = (forth.iter().sum::<u64>(), back.iter().sum::<u64>());
        if all_forth <= all_back.min(by_row) {
            return Ok((Side { rows, near: from, far: to }, Side::default()));
        }
        if all_back <= by_row {
            return Ok((Side::default(), Side { rows, near: to, far: from }));
        }
        let (mut walk_forth, mut walk_back) = (Side::default(), Side::default());
        for (index, &row) in rows.iter().enumerate() {
            let (forth, back) = of_row(index);
            if forth <= back {
                walk_forth.push(row, from[index], to[index]);
            } else {
                walk_back.push(row, to[index], from[index]);
            }
        }
        Ok((walk_forth, walk_back))
    }

    /// Adds the edges of each row of a side that lead from near to far.
    fn find(
        &self,
        scope: Scope<'_, '_>,
        chunk: &Chunk,
        side: &Side,
        expand: &model::Expand,
        found: &mut Found,
    ) -> Result<u64> {
        if side.rows.is_empty() {
            return Ok(0);
        }
        let near = Distinct::of(&side.near);
        let wanted = Wanted::of(side, &near);
        let view = scope.runtime.view();
        let mut cursor = view.view().expand(&near.nodes, expand)?;
        let mut batch = EdgeBatch::default();
        let mut walked = 0;
        let taken = &self.hop.distinct_from;
        while !found.is_full() && cursor.next(&mut batch)? {
            scope.runtime.environment.interrupt.check()?;
            walked += batch.len() as u64;
            for index in 0..batch.len() {
                let input = batch.inputs[index];
                let mut next = wanted.first(input, batch.neighbors[index]);
                if next == NO_ROW {
                    continue;
                }
                let edge = edge_value(&batch, index, near.nodes[input as usize], expand.direction);
                while next != NO_ROW {
                    let row = side.rows[next as usize];
                    if taken.is_empty() || !is_taken(chunk, taken, row as usize, edge.id) {
                        found.edges.push((row, edge));
                    }
                    next = wanted.next[next as usize];
                }
                if found.is_full() {
                    break;
                }
            }
        }
        Ok(walked)
    }

    /// The same, by the lists of all nodes.
    fn find_listed(&self, chunk: &Chunk, ends: &Ends, listed: &mut Listed<'_>, found: &mut Found) {
        let Listed { lists, numbers } = listed;
        let lists = lists.reader();
        let taken = &self.hop.distinct_from;
        let with_edges = self.hop.edge_ids() == EdgeIds::Include;
        for (index, &row) in ends.rows.iter().enumerate() {
            if found.is_full() {
                return;
            }
            let (from, to) = (ends.from[index], ends.to[index]);
            let (number, wanted) = (numbers.number(from), numbers.number(to));
            let places = if with_edges { lists.places(number, wanted) } else { 0..lists.edge_count(number, wanted) };
            for place in places {
                let edge = if with_edges { lists.edge(place, from, to) } else { EdgeValue::default() };
                if taken.is_empty() || !is_taken(chunk, taken, row as usize, edge.id) {
                    found.edges.push((row, edge));
                }
            }
        }
    }

    /// The edges of each row of a chunk, in the order of the rows; `None` if they are too many to be held.
    fn found<'m>(
        &self,
        scope: Scope<'_, 'm>,
        chunk: &Chunk,
        way: &mut Way<'m>,
    ) -> Result<Option<Vec<(u32, EdgeValue)>>> {
        let Hop { direction, types, .. } = &self.hop;
        let mut found = Found { edges: Vec::new(), edges_max: if chunk.rows > 1 { FOUND_MAX } else { usize::MAX } };
        let view = scope.runtime.view();
        let Some(expand) = expansion(view.view(), *direction, types, self.hop.edge_ids()) else {
            return Ok(Some(Vec::new()));
        };
        let against = model::Expand { direction: direction.reverse(), ..expand.clone() };
        let ends = self.ends(chunk);
        let is_large = chunk.rows >= LISTED_ROWS_MIN;
        if is_large && way.listed.is_none() {
            way.listed = Some(Listed::new(&self.hop, scope.runtime));
        }
        let mut by_lists = false;
        if let Some(listed) = way.listed.as_mut().filter(|_| is_large)
            && listed.are_all_there(scope.runtime, std::mem::take(&mut way.walked))?
        {
            self.find_listed(chunk, &ends, listed, &mut found);
            by_lists = true;
        }
        if !by_lists {
            let (forth, back) = self.split(view.view(), ends, &expand)?;
            way.walked += self.find(scope, chunk, &forth, &expand, &mut found)?;
            way.walked += self.find(scope, chunk, &back, &against, &mut found)?;
        }
        if found.is_full() {
            return Ok(None);
        }
        found.edges.sort_by_key(|(row, _)| *row);
        Ok(Some(found.edges))
    }
}

/// Edges of rows that are given together, from which on fewer rows are looked at at a time: between two nodes there may be
/// very many.
const FOUND_MAX: usize = 1 << 18;

/// Edges that were found, with their rows.
struct Found {
    edges: Vec<(u32, EdgeValue)>,
    edges_max: usize,
}

impl Found {
    fn is_full(&self) -> bool {
        self.edges.len() > self.edges_max
    }
}

/// State of the search, from one chunk to the next.
struct Way<'m> {
    listed: Option<Listed<'m>>,
    /// Edges followed without lists.
    walked: u64,
    /// Rows that are looked at at a time.
    rows_max: usize,
}

/// Lists of neighbors.
struct Listed<'m> {
    lists: Lists<'m>,
    numbers: Numbers,
}

impl<'m> Listed<'m> {
    fn new(hop: &Hop, runtime: &Runtime<'m>) -> Listed<'m> {
        let mut types = hop.types.clone();
        types.sort_unstable();
        types.dedup();
        let with_edges = hop.edge_ids() == EdgeIds::Include;
        let kind = ListKind { direction: hop.direction, types, labels: Vec::new(), with_edges };
        Listed { lists: Lists::new(runtime, &kind), numbers: Numbers::of(runtime.view().view()) }
    }

    /// True if the lists of all nodes are there, which are read once enough edges were followed without them.
    fn are_all_there(&mut self, runtime: &Runtime<'_>, walked: u64) -> Result<bool> {
        self.lists.prepare_whole(runtime, &mut self.numbers, walked)
    }
}

/// The end of a chain of rows.
const NO_ROW: u32 = u32::MAX;

/// The rows of a side by the pair of nodes that they ask for: a chain for each pair.
struct Wanted {
    firsts: Map<(u32, NodeId), u32>,
    next: Vec<u32>,
}

impl Wanted {
    fn of(side: &Side, near: &Distinct) -> Wanted {
        let mut wanted = Wanted { firsts: Map::default(), next: vec![NO_ROW; side.rows.len()] };
        wanted.firsts.reserve(side.rows.len());
        for index in (0..side.rows.len()).rev() {
            let pair = (near.of_row[index], side.far[index]);
            if let Some(later) = wanted.firsts.insert(pair, index as u32) {
                wanted.next[index] = later;
            }
        }
        wanted
    }

    fn first(&self, near: u32, far: NodeId) -> u32 {
        self.firsts.get(&(near, far)).copied().unwrap_or(NO_ROW)
    }
}

impl Physical for ExpandInto {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let Hop { keep, gives_edge, .. } = &self.hop;
        let mut way = Way { listed: None, walked: 0, rows_max: usize::MAX };
        self.input.run(scope, &mut |chunk| {
            let mut start = 0;
            while start < chunk.rows {
                scope.runtime.environment.interrupt.check()?;
                let end = chunk.rows.min(start.saturating_add(way.rows_max));
                let part = if end - start == chunk.rows { chunk.clone() } else { chunk.slice(start, end) };
                let Some(found) = self.found(scope, &part, &mut way)? else {
                    way.rows_max = ((end - start) / 2).max(1);
                    continue;
                };
                start = end;
                if found.len() < FOUND_MAX / 8 {
                    way.rows_max = way.rows_max.saturating_mul(2);
                }
                if found.is_empty() {
                    continue;
                }
                let rows: Vec<u32> = found.iter().map(|(row, _)| *row).collect();
                let mut columns = gather_columns(&part, keep, &rows);
                if *gives_edge {
                    let edges = found.iter().map(|(_, edge)| *edge).collect();
                    columns.push(Arc::new(Column::new(ColumnData::Edge(edges))));
                }
                if sink(Chunk { rows: rows.len(), columns })? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        })
    }
}
