//! The distinct ends of the paths of many rows, where nobody asks which row an end belongs to and the nearest start does not tell:
//! paths of at least two edges, paths that must differ from edges of their row, or in any direction along edges that pass a filter.
//!
//! One search from the starts of all rows ([`super::far`]). A node that stays in doubt is an end if the same search from there, against
//! the direction of paths, comes to a start. Rows are searched in halves where memory is refused, or where fewer searches are
//! needed that way.

use std::ops::Range;
use std::sync::Arc;

use model::{Column, ColumnData, Map, NodeId, Result, Value};

use super::both_ends::{Aim, Pair};
use super::far::{Ends, Far, States};
use super::used::edges_of_row;
use super::{Found, PAIRS, VariableExpand, walk};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::rows::nodes_in;
use crate::runtime::{Flow, Runtime, Scope, Sink};
use crate::size::heap_bytes;
use crate::spill::NodeSet;
use crate::visited::fits;

/// Factor by which the rows of a search become more from one to the next.
const GROWTH: usize = 8;
/// Most rows with edges that their paths must not go along which are searched from together.
const ROWS_MAX: usize = 1 << 16;
/// With more nodes in doubt, walking all paths of a row costs less than asking for each.
const DOUBTS_MAX: usize = 64;

/// Rows that are searched from together.
struct Rows<'r> {
    nodes: Vec<NodeId>,
    /// Values of each row in the columns of edges that its paths must not go along.
    used: Vec<Vec<Value>>,
    /// Bytes of these outside of the vectors.
    bytes: usize,
    charge: Charge<'r>,
}

impl Rows<'_> {
    /// Adds a row; false if no more fit into memory.
    fn add(&mut self, node: NodeId, used: impl Iterator<Item = Value>) -> bool {
        self.nodes.push(node);
        for (column, value) in self.used.iter_mut().zip(used) {
            self.bytes += heap_bytes(&value);
            column.push(value);
        }
        let row = size_of::<NodeId>() + self.used.len() * size_of::<Value>();
        fits(&mut self.charge, self.nodes.capacity() * row + self.bytes)
    }

    /// Takes the rows, as a chunk with values at these places and the nodes that the rows start from.
    fn take(&mut self, columns: &[usize]) -> (Chunk, Vec<NodeId>) {
        let rows = self.nodes.len();
        let nothing = Arc::new(Column::new(ColumnData::Null(rows)));
        let mut chunk = Chunk { rows, columns: vec![nothing; columns.iter().max().map_or(0, |last| last + 1)] };
        for (&column, values) in columns.iter().zip(&mut self.used) {
            chunk.columns[column] = Arc::new(Column::new(ColumnData::Value(std::mem::take(values))));
        }
        self.bytes = 0;
        (chunk, std::mem::take(&mut self.nodes))
    }
}

impl VariableExpand {
    /// Gives the ends of the paths of all rows; some may come twice.
    pub(super) fn run_far(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let charge = runtime.charge("VariableExpand");
        let mut known = NodeSet::new(charge.another(), runtime.view().view());
        let used = vec![Vec::new(); self.distinct_from.len()];
        let mut rows = Rows { nodes: Vec::new(), used, bytes: 0, charge };
        let most = if self.distinct_from.is_empty() { usize::MAX } else { ROWS_MAX };
        let mut wanted = if self.few { 1 } else { most };
        let mut new = Vec::new();
        let flow = self.input.run(scope, &mut |chunk| {
            let (nodes, places) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
            let mut has_room = true;
            if self.distinct_from.is_empty() {
                new.clear();
                known.insert_all(&nodes, &mut new)?;
                known.settle(runtime.view().view())?;
                new.iter().for_each(|&node| has_room &= rows.add(node, std::iter::empty()));
            } else {
                for (place, &node) in nodes.iter().enumerate() {
                    let row = places.as_ref().map_or(place, |rows| rows[place] as usize);
                    has_room &=
                        rows.add(node, self.distinct_from.iter().map(|&column| chunk.columns[column].value(row)));
                }
            }
            if has_room && rows.nodes.len() < wanted {
                return Ok(Flow::Continue);
            }
            wanted = most.min(rows.nodes.len().saturating_mul(GROWTH));
            self.search_far(runtime, &mut rows, sink)
        })?;
        if flow == Flow::Stop { Ok(flow) } else { self.search_far(runtime, &mut rows, sink) }
    }

    fn search_far<'r>(&self, runtime: &Runtime<'r>, rows: &mut Rows<'r>, sink: &mut Sink<'_>) -> Result<Flow> {
        let (chunk, nodes) = rows.take(&self.distinct_from);
        if self.min == 0 && self.give_ends(runtime, (&chunk, 0), &nodes, sink)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        self.far_of_rows(runtime, (&chunk, &nodes), 0..nodes.len(), sink)
    }

    /// Gives the ends of paths from the nodes of a chunk's rows.
    fn far_of_rows(
        &self,
        runtime: &Runtime<'_>,
        (chunk, nodes): (&Chunk, &[NodeId]),
        rows: Range<usize>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        if rows.len() <= 1 {
            let mut ends = rows.map(|row| self.far_of_row(runtime, chunk, row as u32, nodes[row], sink));
            return ends.next().unwrap_or(Ok(Flow::Continue));
        }
        let mut far = Far::of_rows(self, runtime, chunk, false);
        let mut starts = States::default();
        for row in rows.clone() {
            far.begin(&mut starts, nodes[row], &edges_of_row(chunk, &self.distinct_from, row as u32));
        }
        match far.search(starts, &mut |ends| self.give_ends(runtime, (chunk, 0), &ends, sink))? {
            Ends::Given(Flow::Stop, _) => Ok(Flow::Stop),
            Ends::Given(Flow::Continue, doubts) if doubts.len() <= rows.len().max(DOUBTS_MAX) => {
                self.give_doubtful(runtime, (chunk, nodes), rows, &doubts, sink)
            }
            _ => {
                let half = rows.start + rows.len() / 2;
                match self.far_of_rows(runtime, (chunk, nodes), rows.start..half, sink)? {
                    Flow::Stop => Ok(Flow::Stop),
                    Flow::Continue => self.far_of_rows(runtime, (chunk, nodes), half..rows.end, sink),
                }
            }
        }
    }

    /// Gives the ends of the paths of one row; some may come twice.
    pub(super) fn far_of_row(
        &self,
        runtime: &Runtime<'_>,
        chunk: &Chunk,
        row: u32,
        start: NodeId,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let mut far = Far::of_row(self, runtime, chunk, row);
        let mut starts = States::default();
        far.begin(&mut starts, start, &[]);
        let min = self.min.max(1);
        match far.search(starts, &mut |ends| self.give_ends(runtime, (chunk, row), &ends, sink))? {
            Ends::Given(Flow::Stop, _) => Ok(Flow::Stop),
            Ends::Given(Flow::Continue, doubts) if doubts.len() <= DOUBTS_MAX => {
                let pairs: Vec<Pair> = doubts.into_iter().map(|end| Pair { row, start, end }).collect();
                Ok(self.pairs(runtime, chunk, Aim::Any, &pairs, min, sink)?.0)
            }
            _ => walk::Walk::new(self, runtime, chunk, vec![row], vec![start], min).run(sink),
        }
    }

    /// Gives those of some nodes that paths of any of the rows lead to.
    fn give_doubtful(
        &self,
        runtime: &Runtime<'_>,
        (chunk, nodes): (&Chunk, &[NodeId]),
        rows: Range<usize>,
        doubts: &[NodeId],
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let mut rows_at: Map<NodeId, Vec<u32>> = Map::default();
        if !doubts.is_empty() {
            rows.for_each(|row| rows_at.entry(nodes[row]).or_default().push(row as u32));
        }
        for &end in doubts {
            if self.is_reached(runtime, chunk, &rows_at, end)?
                && self.give_ends(runtime, (chunk, 0), &[end], sink)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// True if a path of any row leads to a node.
    fn is_reached(
        &self,
        runtime: &Runtime<'_>,
        chunk: &Chunk,
        rows_at: &Map<NodeId, Vec<u32>>,
        end: NodeId,
    ) -> Result<bool> {
        let mut is_found = false;
        let mut likely: Vec<Pair> = Vec::new();
        let add = |likely: &mut Vec<Pair>, start: NodeId| {
            let rows = rows_at.get(&start).into_iter().flatten();
            likely.extend(rows.map(|&row| Pair { row, start, end }));
        };
        let mut far = Far::of_rows(self, runtime, chunk, true);
        let mut starts = States::default();
        far.begin(&mut starts, end, &[]);
        let found = far.search(starts, &mut |nodes| {
            let known = likely.len();
            nodes.into_iter().for_each(|start| add(&mut likely, start));
            let is_free = |pair: &Pair| edges_of_row(chunk, &self.distinct_from, pair.row).is_empty();
            is_found = likely[known..].iter().any(is_free);
            Ok(if is_found { Flow::Stop } else { Flow::Continue })
        })?;
        match found {
            Ends::Given(_, doubts) => doubts.into_iter().for_each(|start| add(&mut likely, start)),
            Ends::TooMany => {
                likely.clear();
                rows_at.keys().for_each(|&start| add(&mut likely, start));
            }
        }
        for pairs in likely.chunks(PAIRS) {
            if is_found {
                break;
            }
            self.pairs(runtime, chunk, Aim::Any, pairs, self.min.max(1), &mut |_| {
                is_found = true;
                Ok(Flow::Stop)
            })?;
        }
        Ok(is_found)
    }

    fn give_ends(
        &self,
        runtime: &Runtime<'_>,
        (chunk, row): (&Chunk, u32),
        ends: &[NodeId],
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        for ends in ends.chunks(runtime.environment.settings.batch_rows.max(1)) {
            let mut found = Found { rows: vec![row; ends.len()], ends: ends.to_vec(), ..Found::default() };
            if self.flush(chunk, &mut found, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}
