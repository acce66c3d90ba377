//! The distinct ends of the paths of all rows, where nobody asks which row an end belongs to: one breadth-first search from all
//! starts at once.
//!
//! A node is an end if the nearest start is near enough. Where it matters from which start a path comes, [`origins`] keeps account of
//! it: in any direction, and where paths must differ from the edge that led to their start.
//!
//! Cost: each edge once, or four times, however many rows there are. Memory: the starts, and the nodes visited.
//! Where a few ends may be enough, the first rows are searched from at once, and then more and more at a time.

use std::sync::Arc;

use model::{Column, ColumnData, EdgeValue, Map, NodeId, Result};

use super::origins::Start;
use super::reach::Reach;
use super::{VariableExpand, origins};
use crate::chunk::Chunk;
use crate::edge_filter::EdgeFilter;
use crate::rows::{edge_at, nodes_in};
use crate::runtime::{Flow, Runtime, Scope, Sink};
use crate::spill::{NodeSet, Records};
use crate::visited::fits;

/// Factor by which the starts of a search become more from one to the next.
const GROWTH: u64 = 8;
/// Approximate bytes of a start whose edge is known.
const START_BYTES: usize = 144;

/// Starts that are searched from together.
struct Starts<'r> {
    known: NodeSet<'r>,
    /// Those that no search has begun from.
    new: Records<'r, NodeId>,
}

impl VariableExpand {
    /// True if a search from all starts at once finds the ends that are wanted.
    pub(super) fn searches_together(&self) -> bool {
        let is_alike = self.filter.as_ref().is_none_or(EdgeFilter::is_same_for_all_rows);
        let tells_used = !self.repeats || self.distinct_from.is_empty();
        self.only_ends && self.bound.is_none() && self.keep.is_empty() && is_alike && tells_used
    }

    /// Gives the ends of the paths of all rows; some may come twice.
    pub(super) fn run_together(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let has_filter = self.filter.is_some();
        match self.distinct_from.as_slice() {
            [] if self.visits_once() && (self.round.is_none() || !has_filter) => self.run_from_nodes(scope, sink),
            [edge] if self.visits_once() && !has_filter => self.run_behind(*edge, scope, sink),
            _ => self.run_far(scope, sink),
        }
    }

    fn run_from_nodes(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let charge = runtime.charge("VariableExpand");
        let known = NodeSet::new(charge.another(), runtime.view().view());
        let mut starts = Starts { known, new: Records::new(charge.another()) };
        let mut wanted = if self.few { 1 } else { u64::MAX };
        let mut new = Vec::new();
        let flow = self.input.run(scope, &mut |chunk| {
            let (nodes, _) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
            new.clear();
            starts.known.insert_all(&nodes, &mut new)?;
            starts.known.settle(runtime.view().view())?;
            starts.new.extend(&new)?;
            if starts.new.len() < wanted {
                return Ok(Flow::Continue);
            }
            wanted = starts.new.len().saturating_mul(GROWTH);
            let rest = starts.new.another();
            self.search_from(runtime, std::mem::replace(&mut starts.new, rest), sink)
        })?;
        if flow == Flow::Stop || starts.new.is_empty() {
            return Ok(flow);
        }
        drop(starts.known);
        self.search_from(runtime, starts.new, sink)
    }

    fn search_from<'r>(
        &self,
        runtime: &Runtime<'r>,
        mut starts: Records<'r, NodeId>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let mut reach = Reach::new(self, runtime, &Chunk::unit())?;
        if self.round.is_none() {
            return reach.run_from(starts, sink);
        }
        let (mut buffer, mut place) = (Vec::new(), 0);
        if starts.len() > 1 && fits(&mut reach.charge, starts.len() as usize * START_BYTES) {
            let mut all = Vec::with_capacity(starts.len() as usize);
            while (all.len() as u64) < starts.len() {
                all.extend(starts.piece(all.len() as u64, &mut buffer)?.iter().copied().map(Start::free));
            }
            if let Some(ends) = origins::ends(runtime, &reach, self.min, &all)? {
                return reach.give(&ends, sink);
            }
        }
        while place < starts.len() {
            let nodes = starts.piece(place, &mut buffer)?;
            place += nodes.len() as u64;
            let reach = Reach::new(self, runtime, &Chunk::unit())?;
            if reach.run(nodes.iter().map(|&node| (0, node)), sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// The same of paths that must differ from what a column holds: the edges that led to their starts. Rows of which it holds
    /// something else are searched one by one.
    fn run_behind(&self, column: usize, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let mut charge = runtime.charge("VariableExpand");
        let mut starts: Map<NodeId, Start> = Map::default();
        let mut wanted = if self.few { 1 } else { usize::MAX };
        let flow = self.input.run(scope, &mut |chunk| {
            let (nodes, rows) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
            let mut others = Vec::new();
            for (place, &node) in nodes.iter().enumerate() {
                let row = rows.as_ref().map_or(place as u32, |rows| rows[place]);
                match edge_at(&chunk.columns[column], row as usize) {
                    Some(edge) if edge.source == node || edge.target == node => {
                        let behind = Start::behind(node, edge);
                        starts.entry(node).and_modify(|start| start.add(edge)).or_insert(behind);
                    }
                    _ => others.push((row, node)),
                }
            }
            if !others.is_empty() && Reach::new(self, runtime, &chunk)?.run(others, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            if starts.len() < wanted && fits(&mut charge, starts.len() * START_BYTES) {
                return Ok(Flow::Continue);
            }
            if wanted < usize::MAX {
                wanted = starts.len().saturating_mul(GROWTH as usize);
            }
            self.search_behind(column, runtime, starts.drain().map(|(_, start)| start).collect(), sink)
        })?;
        if flow == Flow::Stop || starts.is_empty() {
            return Ok(flow);
        }
        self.search_behind(column, runtime, starts.into_values().collect(), sink)
    }

    fn search_behind(
        &self,
        column: usize,
        runtime: &Runtime<'_>,
        starts: Vec<Start>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let reach = Reach::new(self, runtime, &Chunk::unit())?;
        if let Some(ends) = origins::ends(runtime, &reach, self.min, &starts)? {
            return reach.give(&ends, sink);
        }
        let rows: Vec<(NodeId, Option<EdgeValue>)> =
            starts.iter().flat_map(|start| start.rows().map(|edge| (start.node, edge))).collect();
        let nothing = Arc::new(Column::new(ColumnData::Null(rows.len())));
        let mut columns = vec![nothing; column + 1];
        columns[column] = Arc::new(origins::used_column(rows.iter().map(|(_, edge)| *edge)));
        let chunk = Chunk { rows: rows.len(), columns };
        Reach::new(self, runtime, &chunk)?.run((0..).zip(rows.into_iter().map(|(node, _)| node)), sink)
    }
}
