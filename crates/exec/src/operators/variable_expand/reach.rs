//! The distinct ends of paths: a breadth-first search that visits each node once for each row.

use model::store::EdgeIds;
use model::{EdgeBatch, Expand, NodeId, Result};

use super::{Found, VariableExpand};
use crate::adjacency::{edge_value, expansion};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::operators::path_search::{self, Pattern, Place};
use crate::rows::nodes_in;
use crate::runtime::{Flow, Runtime, Sink};
use crate::visited::{Visited, hold};

/// See the module.
pub(super) struct Reach<'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'w Chunk,
    starts: Vec<(u32, NodeId)>,
    found: Found,
    batch: EdgeBatch,
    visited: Visited,
    /// The edges to follow; `None` if there can be none.
    expansion: Option<Expand>,
    charge: Charge<'r>,
}

impl<'w, 'r> Reach<'w, 'r> {
    pub(super) fn new(expand: &'w VariableExpand, runtime: &'w Runtime<'r>, chunk: &'w Chunk) -> Result<Reach<'w, 'r>> {
        let (nodes, rows) = nodes_in(&chunk.columns[expand.from], "the start of a pattern")?;
        let rows = rows.unwrap_or_else(|| (0..chunk.rows as u32).collect());
        let starts = rows.into_iter().zip(nodes.iter().copied()).collect();
        let guard = runtime.view();
        let ids = if expand.filter.is_some() { EdgeIds::Include } else { EdgeIds::Omit };
        let expansion = expansion(guard.view(), expand.direction, &expand.types, ids);
        let visited = Visited::new(guard.view());
        let (found, batch) = (Found::default(), EdgeBatch::default());
        let charge = runtime.charge("VariableExpand");
        Ok(Reach { expand, runtime, chunk, starts, found, batch, visited, expansion, charge })
    }

    pub(super) fn run(mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        for (row, start) in std::mem::take(&mut self.starts) {
            if self.search(row, start, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.expand.flush(self.chunk, &mut self.found, sink)
    }

    /// Takes the nodes at which a path of the row may end.
    fn find(&mut self, row: u32, nodes: &[NodeId], sink: &mut Sink<'_>) -> Result<Flow> {
        let batch_rows = self.runtime.environment.settings.batch_rows.max(1);
        for nodes in nodes.chunks(batch_rows) {
            match self.expand.bound {
                None => self.found.ends.extend_from_slice(nodes),
                Some(_) => {
                    let is_end = |node: &&NodeId| self.expand.is_end(self.chunk, row, **node);
                    self.found.ends.extend(nodes.iter().filter(is_end));
                }
            }
            self.found.rows.resize(self.found.ends.len(), row);
            if self.found.rows.len() >= batch_rows
                && self.expand.flush(self.chunk, &mut self.found, sink)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn search(&mut self, row: u32, start: NodeId, sink: &mut Sink<'_>) -> Result<Flow> {
        self.visited.clear();
        let mut frontier = vec![start];
        if self.expand.min == 0 {
            self.visited.insert(start);
            if self.find(row, &frontier, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        if let Some(round) = &self.expand.round {
            // The start was met, but it is an end only if a way leads back to it.
            self.visited.insert(start);
            if self.expand.is_end(self.chunk, row, start) && self.has_way_round(round, row, start)? {
                self.found.rows.push(row);
                self.found.ends.push(start);
            }
        }
        let mut length = 0;
        while !frontier.is_empty() && length < self.expand.max {
            length += 1;
            frontier = self.step(row, &frontier)?;
            if self.find(row, &frontier, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            // The start is an end if an edge leads back to it, but it has been expanded already.
            frontier.retain(|&node| node != start);
        }
        Ok(Flow::Continue)
    }

    fn has_way_round(&self, round: &Pattern, row: u32, start: NodeId) -> Result<bool> {
        let place = Place { chunk: self.chunk, row, start, distinct_from: &[] };
        let mut is_found = false;
        path_search::search(round, self.runtime, place, Some(start), &mut |_| {
            is_found = true;
            Ok(Flow::Stop)
        })?;
        Ok(is_found)
    }

    /// The nodes that one more edge leads to for the first time.
    fn step(&mut self, row: u32, frontier: &[NodeId]) -> Result<Vec<NodeId>> {
        let Some(expansion) = &self.expansion else { return Ok(Vec::new()) };
        let guard = self.runtime.view();
        let expand = self.expand;
        let mut next = Vec::new();
        let mut cursor = guard.view().expand(frontier, expansion)?;
        while cursor.next(&mut self.batch)? {
            self.runtime.environment.interrupt.check()?;
            let batch = &self.batch;
            let visited = &mut self.visited;
            match &expand.filter {
                None => visited.insert_all(&batch.neighbors, &mut next),
                Some(filter) => {
                    // An edge to a node that was met already need not be tested.
                    let is_new = |&index: &usize| !visited.contains(batch.neighbors[index]);
                    let indices: Vec<usize> = (0..batch.len()).filter(is_new).collect();
                    if indices.is_empty() {
                        continue;
                    }
                    let from = |index: usize| frontier[batch.inputs[index] as usize];
                    let value = |&index: &usize| edge_value(batch, index, from(index), expand.direction);
                    let edges = indices.iter().map(value).collect();
                    let starts = |place: usize| from(indices[place]);
                    let rows = vec![row; indices.len()];
                    let passing = filter.passing(self.runtime, self.chunk, &rows, starts, edges)?;
                    let ends = passing.into_iter().map(|place| batch.neighbors[indices[place as usize]]);
                    next.extend(ends.filter(|&node| visited.insert(node)));
                }
            }
            hold(&mut self.charge, self.visited.byte_count() + 8 * (frontier.len() + next.capacity()))?;
        }
        Ok(next)
    }
}
