//! All paths: a stack of levels, each with the paths that grew from a part of the level below.
//!
//! A part of the topmost level is expanded at a time, so that memory holds a few batches for each level and not all
//! paths at once. A path is its last edge and the place of its beginning in the level below. Where these do not fit into
//! memory, [`super::spilled`] goes on.

use std::cell::Cell;
use std::ops::Range;

use model::store::EdgeIds;
use model::{EdgeBatch, EdgeId, EdgeValue, NodeId, Result, Value};

use super::spilled::SpilledWalk;
use super::{Found, VariableExpand, edge_list};
use crate::adjacency::{edge_value, expansion, is_taken};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::runtime::{Flow, Runtime, Sink};
use crate::size::heap_bytes;
use crate::visited::{fits, is_batch_full};

/// Approximate number of edges in one part of a level, and in the first one where a few paths may be enough.
const PART_EDGES: u64 = 16_384;
const FIRST_PART_EDGES: u64 = 64;

/// Approximate number of edges of paths that are taken before a check whether they fill a batch.
const FOUND_EDGES: usize = 16_384;

/// See the module.
pub(super) struct Walk<'w, 'r> {
    pub(super) expand: &'w VariableExpand,
    pub(super) runtime: &'w Runtime<'r>,
    pub(super) chunk: &'w Chunk,
    /// Fewest edges of a path that is wanted.
    pub(super) min: u32,
    /// The end of all paths that are wanted, where it is not that of their row.
    pub(super) end: Option<NodeId>,
    pub(super) levels: Vec<Level>,
    pub(super) found: Found,
    pub(super) charge: Charge<'r>,
    held: usize,
    /// Approximate number of edges in the next part of a level.
    part_edges: u64,
    /// The running values could be worked out so far.
    pub(super) is_running: Cell<bool>,
}

/// The outcome of growing a part of a level.
enum Grown {
    /// Its paths are a new level.
    Level,
    /// They do not fit into memory, and none of them was kept.
    TooLarge,
    /// The consumer has enough.
    Stop,
}

/// Paths of one length.
#[derive(Default)]
pub(super) struct Level {
    pub(super) rows: Vec<u32>,
    pub(super) nodes: Vec<NodeId>,
    /// The last edge of each path; empty at the bottom.
    pub(super) edges: Vec<EdgeValue>,
    /// The place of each path's beginning in the level below.
    pub(super) parents: Vec<u32>,
    /// The running value of each path, if there is one.
    values: Vec<Value>,
    /// Bytes of these values.
    value_bytes: usize,
    /// Paths before this one have been expanded.
    pub(super) expanded: usize,
}

impl Level {
    fn byte_count(&self) -> usize {
        let edge = std::mem::size_of::<EdgeValue>();
        4 * self.rows.capacity()
            + 8 * self.nodes.capacity()
            + edge * self.edges.capacity()
            + 4 * self.parents.capacity()
            + std::mem::size_of::<Value>() * self.values.capacity()
            + self.value_bytes
            + std::mem::size_of::<Level>()
    }
}

impl<'w, 'r> Walk<'w, 'r> {
    /// Paths of at least `min` edges of rows that start at these nodes.
    pub(super) fn new(
        expand: &'w VariableExpand,
        runtime: &'w Runtime<'r>,
        chunk: &'w Chunk,
        rows: Vec<u32>,
        nodes: Vec<NodeId>,
        min: u32,
    ) -> Walk<'w, 'r> {
        let mut bottom = Level { rows, nodes, ..Level::default() };
        let values = expand.running.as_ref().and_then(|running| running.start(runtime, chunk, &bottom.rows));
        let is_running = Cell::new(values.is_some());
        bottom.values = values.unwrap_or_default();
        let charge = runtime.charge("VariableExpand");
        let (levels, found) = (vec![bottom], Found::default());
        let part_edges = if expand.few { FIRST_PART_EDGES } else { PART_EDGES };
        Walk { expand, runtime, chunk, min, end: None, levels, found, charge, held: 0, part_edges, is_running }
    }

    pub(super) fn run(mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        if self.min == 0 {
            self.find(0..self.levels[0].nodes.len());
            if self.flush(sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        while let Some(level) = self.levels.last() {
            if level.expanded == level.nodes.len() || self.levels.len() as u64 > u64::from(self.expand.max) {
                self.drop_level();
                continue;
            }
            if let Some(hop) = &self.expand.last_hop
                && self.levels.len() == hop.prefix() + 1
            {
                if self.expand.few && self.flush(sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                let paths = self.next_paths();
                if hop.run(&self, paths, sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                continue;
            }
            match self.grow(sink)? {
                Grown::Level => {}
                Grown::TooLarge => return SpilledWalk::new(self)?.run(sink),
                Grown::Stop => return Ok(Flow::Stop),
            }
        }
        self.flush(sink)
    }

    /// Takes the next batch of paths of the topmost level, which are expanded then.
    fn next_paths(&mut self) -> Range<usize> {
        let most = self.runtime.environment.settings.batch_rows.max(1).min(self.part_edges as usize);
        self.part_edges = PART_EDGES.min(2 * self.part_edges);
        let top = self.levels.len() - 1;
        let level = &mut self.levels[top];
        let start = level.expanded;
        level.expanded = level.nodes.len().min(start + most);
        start..level.expanded
    }

    fn drop_level(&mut self) {
        if let Some(level) = self.levels.pop()
            && !self.levels.is_empty()
        {
            self.held -= level.byte_count();
        }
    }

    fn flush(&mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        self.expand.flush(self.chunk, &mut self.found, sink)
    }

    /// Takes those paths of the topmost level that are long enough and end in the right place.
    fn find(&mut self, paths: Range<usize>) {
        let length = self.levels.len() as u64 - 1;
        if length < u64::from(self.min) {
            return;
        }
        for path in paths {
            let level = &self.levels[self.levels.len() - 1];
            let (row, node) = (level.rows[path], level.nodes[path]);
            if self.end.map_or_else(|| self.expand.is_end(self.chunk, row, node), |end| end == node) {
                self.found.rows.push(row);
                self.found.ends.push(node);
                if self.expand.gives_edges {
                    let edges = self.edges_of(path);
                    self.found.edges.push(edges);
                    self.found.length += length as usize;
                }
            }
        }
    }

    /// The edges of a path of the topmost level, in walking order.
    fn edges_of(&self, path: usize) -> Value {
        let mut edges = Vec::with_capacity(self.levels.len() - 1);
        let mut path = path;
        for level in self.levels[1..].iter().rev() {
            edges.push(level.edges[path]);
            path = level.parents[path] as usize;
        }
        edges.reverse();
        edge_list(edges)
    }

    /// True if a path of the topmost level goes along an edge already.
    fn contains(&self, path: usize, edge: EdgeId) -> bool {
        let mut path = path;
        for level in self.levels[1..].iter().rev() {
            if level.edges[path].id == edge {
                return true;
            }
            path = level.parents[path] as usize;
        }
        false
    }

    /// Expands the next part of the topmost level to a new level.
    fn grow(&mut self, sink: &mut Sink<'_>) -> Result<Grown> {
        let guard = self.runtime.view();
        let view = guard.view();
        let expand = self.expand;
        let Some(expansion) = expansion(view, expand.direction, &expand.types, EdgeIds::Include) else {
            self.drop_level();
            return Ok(Grown::Level);
        };
        let top = self.levels.len() - 1;
        let start = self.levels[top].expanded;
        let mut end = self.levels[top].nodes.len().min(start + self.runtime.environment.settings.batch_rows.max(1));
        if !view.capabilities().is_remote {
            let degrees =
                view.degrees(&self.levels[top].nodes[start..end], expand.direction, expansion.types.as_deref())?;
            let mut edges = 0;
            let fits = degrees.iter().take_while(|&&degree| {
                edges += degree;
                edges <= self.part_edges
            });
            end = start + fits.count().max(1);
            self.part_edges = PART_EDGES.min(2 * self.part_edges);
        }
        self.levels[top].expanded = end;
        let nodes: Vec<NodeId> = self.levels[top].nodes[start..end].to_vec();
        let mut cursor = view.expand(&nodes, &expansion)?;
        let mut batch = EdgeBatch::default();
        let mut next = Level::default();
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            self.take(&batch, &nodes, start, &mut next)?;
            if !fits(&mut self.charge, self.held + next.byte_count()) {
                self.levels[top].expanded = start;
                return Ok(Grown::TooLarge);
            }
        }
        drop(cursor);
        let paths = next.nodes.len();
        self.held += next.byte_count();
        self.levels.push(next);
        let batch_rows = self.runtime.environment.settings.batch_rows.max(1);
        // Of long paths a few are taken at a time.
        let few = if expand.gives_edges { FOUND_EDGES / self.levels.len() } else { batch_rows };
        let few = few.clamp(1, batch_rows);
        for from in (0..paths).step_by(few) {
            self.find(from..paths.min(from + few));
            let is_full = is_batch_full(self.found.rows.len(), batch_rows, self.found.length);
            if (is_full || expand.few) && self.flush(sink)? == Flow::Stop {
                return Ok(Grown::Stop);
            }
        }
        Ok(Grown::Level)
    }

    /// Leaves out edges that make paths which the running value gives up, and adds the values of the others to a level.
    fn give_up(&self, batch: &EdgeBatch, nodes: &[NodeId], start: usize, indices: &mut Vec<usize>, next: &mut Level) {
        let Some(running) = self.expand.running.as_ref().filter(|_| self.is_running.get() && !indices.is_empty())
        else {
            return;
        };
        let top = &self.levels[self.levels.len() - 1];
        let path = |&index: &usize| start + batch.inputs[index] as usize;
        let rows: Vec<u32> = indices.iter().map(|index| top.rows[path(index)]).collect();
        let values: Vec<Value> = indices.iter().map(|index| top.values[path(index)].clone()).collect();
        let edge =
            |&index: &usize| edge_value(batch, index, nodes[batch.inputs[index] as usize], self.expand.direction);
        let edges = indices.iter().map(edge).collect();
        match running.grow(self.runtime, self.chunk, &rows, &values, edges) {
            Some(grown) => {
                let known = next.values.len();
                next.values.extend(grown.going.iter().map(|&at| grown.values.value(at as usize)));
                next.value_bytes += next.values[known..].iter().map(heap_bytes).sum::<usize>();
                *indices = grown.going.iter().map(|&at| indices[at as usize]).collect();
            }
            None => self.is_running.set(false),
        }
    }

    /// Adds to a level the paths that a batch of edges makes.
    fn take(&self, batch: &EdgeBatch, nodes: &[NodeId], start: usize, next: &mut Level) -> Result<()> {
        let top = &self.levels[self.levels.len() - 1];
        let mut indices = Vec::with_capacity(batch.len());
        for index in 0..batch.len() {
            let path = start + batch.inputs[index] as usize;
            let edge = batch.edges[index];
            if (self.expand.repeats || !self.contains(path, edge))
                && !is_taken(self.chunk, &self.expand.distinct_from, top.rows[path] as usize, edge)
            {
                indices.push(index);
            }
        }
        let value =
            |&index: &usize| edge_value(batch, index, nodes[batch.inputs[index] as usize], self.expand.direction);
        if let Some(filter) = &self.expand.filter
            && !indices.is_empty()
        {
            let row = |&index: &usize| top.rows[start + batch.inputs[index] as usize];
            let rows: Vec<u32> = indices.iter().map(row).collect();
            let edges = indices.iter().map(value).collect();
            let from = |place: usize| nodes[batch.inputs[indices[place]] as usize];
            let passing = filter.passing(self.runtime, self.chunk, &rows, from, edges)?;
            indices = passing.into_iter().map(|place| indices[place as usize]).collect();
        }
        self.give_up(batch, nodes, start, &mut indices, next);
        for index in indices {
            let path = start + batch.inputs[index] as usize;
            next.rows.push(top.rows[path]);
            next.nodes.push(batch.neighbors[index]);
            next.edges.push(value(&index));
            next.parents.push(path as u32);
        }
        Ok(())
    }
}
