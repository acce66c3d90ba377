//! The distinct ends of paths: a breadth-first search that visits each node once for each row.
//!
//! The nodes visited, and those of a level, are in temporary files where they do not fit into memory.

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, Expand, NodeId, Result};

use super::round::has_way_round;
use super::used::Used;
use super::{Found, VariableExpand};
use crate::adjacency::{edge_value, expansion};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::operators::path_search::{self, Pattern, Place};
use crate::runtime::{Flow, Runtime, Sink};
use crate::spill::{NodeSet, Records};

/// See the module.
pub(super) struct Reach<'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: Chunk,
    /// True if edges are followed from the ends of paths to their starts.
    is_turned: bool,
    found: Found,
    batch: EdgeBatch,
    /// Edges of the row that its paths must not go along.
    used: Used,
    pub(super) visited: NodeSet<'r>,
    /// Nodes of a batch that are new.
    new: Vec<NodeId>,
    /// The edges to follow; `None` if there can be none.
    pub(super) expansion: Option<Expand>,
    pub(super) charge: Charge<'r>,
}

impl<'w, 'r> Reach<'w, 'r> {
    pub(super) fn new(expand: &'w VariableExpand, runtime: &'w Runtime<'r>, chunk: &Chunk) -> Result<Reach<'w, 'r>> {
        Reach::towards(expand, runtime, chunk, false)
    }

    /// A search from the starts of paths or, if turned, from their ends.
    pub(super) fn towards(
        expand: &'w VariableExpand,
        runtime: &'w Runtime<'r>,
        chunk: &Chunk,
        is_turned: bool,
    ) -> Result<Reach<'w, 'r>> {
        let guard = runtime.view();
        let ids = if expand.filter.is_some() { EdgeIds::Include } else { EdgeIds::Omit };
        let direction = if is_turned { expand.direction.reverse() } else { expand.direction };
        let expansion = expansion(guard.view(), direction, &expand.types, ids);
        let charge = runtime.charge("VariableExpand");
        let visited = NodeSet::new(charge.another(), guard.view());
        let (found, batch, new, used) = (Found::default(), EdgeBatch::default(), Vec::new(), Used::default());
        let chunk = chunk.clone();
        Ok(Reach { expand, runtime, chunk, is_turned, found, batch, used, visited, new, expansion, charge })
    }

    /// Gives the ends of rows with these starts.
    pub(super) fn run(mut self, starts: impl IntoIterator<Item = (u32, NodeId)>, sink: &mut Sink<'_>) -> Result<Flow> {
        for (row, start) in starts {
            if self.search(row, start, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.expand.flush(&self.chunk, &mut self.found, sink)
    }

    /// Gives the ends of paths from any of the starts.
    pub(super) fn run_from(mut self, mut starts: Records<'r, NodeId>, sink: &mut Sink<'_>) -> Result<Flow> {
        self.visited.clear(self.runtime.view().view());
        if self.expand.min == 0 {
            let (mut buffer, mut place) = (Vec::new(), 0);
            while place < starts.len() {
                let nodes = starts.piece(place, &mut buffer)?;
                place += nodes.len() as u64;
                self.new.clear();
                self.visited.insert_all(nodes, &mut self.new)?;
                self.visited.settle(self.runtime.view().view())?;
                if self.find(0, nodes, sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
        }
        if self.go_on(0, starts, sink)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        self.expand.flush(&self.chunk, &mut self.found, sink)
    }

    /// Gives ends that were found otherwise.
    pub(super) fn give(mut self, ends: &[NodeId], sink: &mut Sink<'_>) -> Result<Flow> {
        if self.find(0, ends, sink)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        self.expand.flush(&self.chunk, &mut self.found, sink)
    }

    /// The most edges that a path may have.
    pub(super) fn most_edges(&self) -> u32 {
        self.expand.max
    }

    /// Takes the nodes at which a path of the row may end.
    fn find(&mut self, row: u32, nodes: &[NodeId], sink: &mut Sink<'_>) -> Result<Flow> {
        let batch_rows = self.runtime.environment.settings.batch_rows.max(1);
        for nodes in nodes.chunks(batch_rows) {
            match self.expand.bound {
                None => self.found.ends.extend_from_slice(nodes),
                Some(_) => {
                    let is_end = |node: &&NodeId| self.expand.is_end(&self.chunk, row, **node);
                    self.found.ends.extend(nodes.iter().filter(is_end));
                }
            }
            self.found.rows.resize(self.found.ends.len(), row);
            if self.found.rows.len() >= batch_rows
                && self.expand.flush(&self.chunk, &mut self.found, sink)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn search(&mut self, row: u32, start: NodeId, sink: &mut Sink<'_>) -> Result<Flow> {
        self.visited.clear(self.runtime.view().view());
        self.used = Used::of_row(&self.chunk, &self.expand.distinct_from, row);
        let mut frontier = Records::new(self.charge.another());
        frontier.push(start)?;
        if self.expand.min == 0 {
            self.visited.insert(start)?;
            if self.find(row, &[start], sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        if let Some(round) = &self.expand.round {
            // The start was met, but it is an end only if a way leads back to it.
            self.visited.insert(start)?;
            if self.expand.is_end(&self.chunk, row, start) && self.has_way_round(round, row, start)? {
                self.found.rows.push(row);
                self.found.ends.push(start);
            }
        }
        self.go_on(row, frontier, sink)
    }

    /// Searches level by level from the nodes of the first one.
    fn go_on(&mut self, row: u32, mut frontier: Records<'r, NodeId>, sink: &mut Sink<'_>) -> Result<Flow> {
        let (mut length, mut buffer) = (0, Vec::new());
        while !frontier.is_empty() && length < self.expand.max {
            length += 1;
            frontier = self.step(row, frontier)?;
            let mut place = 0;
            while place < frontier.len() {
                let nodes = frontier.piece(place, &mut buffer)?;
                place += nodes.len() as u64;
                if self.find(row, nodes, sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            if self.expand.few && self.expand.flush(&self.chunk, &mut self.found, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    pub(super) fn has_way_round(&self, round: &Pattern, row: u32, start: NodeId) -> Result<bool> {
        if self.expand.filter.is_none()
            && let Some(expansion) = &self.expansion
        {
            let edges = (expansion, &self.used);
            let found = has_way_round(self.runtime, edges, self.expand.max, &mut self.charge.another(), start)?;
            if let Some(is_there) = found {
                return Ok(is_there);
            }
        }
        let place = Place { chunk: &self.chunk, row, start, distinct_from: &self.expand.distinct_from };
        let mut is_found = false;
        path_search::search(round, self.runtime, place, Some(start), &mut |_| {
            is_found = true;
            Ok(Flow::Stop)
        })?;
        Ok(is_found)
    }

    /// The nodes that one more edge leads to for the first time.
    pub(super) fn step(&mut self, row: u32, mut frontier: Records<'r, NodeId>) -> Result<Records<'r, NodeId>> {
        let mut next = frontier.another();
        let Some(expansion) = self.expansion.clone() else { return Ok(next) };
        let with_ids = Expand { edge_ids: EdgeIds::Include, ..expansion.clone() };
        let (mut buffer, mut place) = (Vec::new(), 0);
        while place < frontier.len() {
            let nodes = frontier.piece(place, &mut buffer)?;
            place += nodes.len() as u64;
            if self.used.is_empty() {
                self.follow(row, nodes, &expansion, &mut next)?;
                continue;
            }
            // Ids, which cost more, are read where used edges are.
            let (touched, others): (Vec<NodeId>, Vec<NodeId>) =
                nodes.iter().partition(|node| self.used.touches(**node));
            self.follow(row, &others, &expansion, &mut next)?;
            self.follow(row, &touched, &with_ids, &mut next)?;
        }
        Ok(next)
    }

    /// Adds the nodes that edges from some lead to for the first time.
    fn follow(&mut self, row: u32, nodes: &[NodeId], expansion: &Expand, next: &mut Records<'r, NodeId>) -> Result<()> {
        let (runtime, expand) = (self.runtime, self.expand);
        let guard = runtime.view();
        let view = guard.view();
        let is_plain = expand.filter.is_none() && (self.used.is_empty() || expansion.edge_ids == EdgeIds::Omit);
        let mut cursor = view.expand(nodes, expansion)?;
        while cursor.next(&mut self.batch)? {
            runtime.environment.interrupt.check()?;
            self.new.clear();
            match is_plain {
                true => self.visited.insert_all(&self.batch.neighbors, &mut self.new)?,
                false => self.take_passing(row, nodes, expansion.direction)?,
            }
            self.visited.settle(view)?;
            next.extend(&self.new)?;
        }
        Ok(())
    }

    /// Takes the nodes that edges of the batch lead to for the first time which are not used and pass the filter.
    fn take_passing(&mut self, row: u32, nodes: &[NodeId], direction: Direction) -> Result<()> {
        let batch = &self.batch;
        // An edge to a node that was met already need not be tested.
        let mut indices = Vec::new();
        for (index, &node) in batch.neighbors.iter().enumerate() {
            let is_used = !self.used.is_empty() && self.used.contains(batch.edges[index]);
            if !is_used && !self.visited.contains(node)? {
                indices.push(index);
            }
        }
        if indices.is_empty() {
            return Ok(());
        }
        let from = |index: usize| nodes[batch.inputs[index] as usize];
        let value = |&index: &usize| edge_value(batch, index, from(index), direction);
        let edges = indices.iter().map(value).collect();
        // The filter sees an edge as the path walks it, also where the search comes from the end.
        let starts = |place: usize| {
            let index = indices[place];
            if self.is_turned { batch.neighbors[index] } else { from(index) }
        };
        let rows = vec![row; indices.len()];
        let Some(filter) = &self.expand.filter else {
            for index in indices {
                let node = batch.neighbors[index];
                if self.visited.insert(node)? {
                    self.new.push(node);
                }
            }
            return Ok(());
        };
        for place in filter.passing(self.runtime, &self.chunk, &rows, starts, edges)? {
            let node = batch.neighbors[indices[place as usize]];
            if self.visited.insert(node)? {
                self.new.push(node);
            }
        }
        Ok(())
    }
}
