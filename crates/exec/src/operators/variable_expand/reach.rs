//! The distinct ends of paths: a breadth-first search that visits each node once for each row.

use model::store::EdgeIds;
use model::{EdgeBatch, NodeId, Result, Set};

use super::{Found, VariableExpand};
use crate::adjacency::{edge_value, expansion};
use crate::chunk::Chunk;
use crate::rows::nodes_in;
use crate::runtime::{Flow, Runtime, Sink};

/// See the module.
pub(super) struct Reach<'w, 'r> {
    expand: &'w VariableExpand,
    runtime: &'w Runtime<'r>,
    chunk: &'w Chunk,
    starts: Vec<(u32, NodeId)>,
    found: Found,
}

/// The nodes that the search of one row has seen.
#[derive(Default)]
struct Visited(Set<NodeId>);

impl<'w, 'r> Reach<'w, 'r> {
    pub(super) fn new(expand: &'w VariableExpand, runtime: &'w Runtime<'r>, chunk: &'w Chunk) -> Result<Reach<'w, 'r>> {
        let (nodes, rows) = nodes_in(&chunk.columns[expand.from], "the start of a pattern")?;
        let rows = rows.unwrap_or_else(|| (0..chunk.rows as u32).collect());
        let starts = rows.into_iter().zip(nodes.iter().copied()).collect();
        Ok(Reach { expand, runtime, chunk, starts, found: Found::default() })
    }

    pub(super) fn run(mut self, sink: &mut Sink<'_>) -> Result<Flow> {
        for (row, start) in std::mem::take(&mut self.starts) {
            if self.search(row, start, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.expand.flush(self.chunk, &mut self.found, sink)
    }

    fn find(&mut self, row: u32, node: NodeId, sink: &mut Sink<'_>) -> Result<Flow> {
        if self.expand.is_end(self.chunk, row, node) {
            self.found.rows.push(row);
            self.found.ends.push(node);
            if self.found.rows.len() >= self.runtime.environment.settings.batch_rows {
                return self.expand.flush(self.chunk, &mut self.found, sink);
            }
        }
        Ok(Flow::Continue)
    }

    fn search(&mut self, row: u32, start: NodeId, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut visited = Visited::default();
        let mut frontier = vec![start];
        if self.expand.min == 0 {
            visited.0.insert(start);
            if self.find(row, start, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        let mut length = 0;
        while !frontier.is_empty() && length < self.expand.max {
            length += 1;
            frontier = self.step(row, &frontier, &mut visited)?;
            for &node in &frontier {
                if self.find(row, node, sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            // The start is an end if an edge leads back to it, but it has been expanded already.
            frontier.retain(|&node| node != start);
        }
        Ok(Flow::Continue)
    }

    /// The nodes that one more edge leads to for the first time.
    fn step(&self, row: u32, frontier: &[NodeId], visited: &mut Visited) -> Result<Vec<NodeId>> {
        let guard = self.runtime.view();
        let expand = self.expand;
        let ids = if expand.filter.is_some() { EdgeIds::Include } else { EdgeIds::Omit };
        let Some(expansion) = expansion(guard.view(), expand.direction, &expand.types, ids) else {
            return Ok(Vec::new());
        };
        let mut next = Vec::new();
        let mut cursor = guard.view().expand(frontier, &expansion)?;
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            let mut visit = |node: NodeId| {
                if visited.0.insert(node) {
                    next.push(node);
                }
            };
            match &expand.filter {
                None => batch.neighbors.iter().for_each(|&node| visit(node)),
                Some(filter) => {
                    let from = |index: usize| frontier[batch.inputs[index] as usize];
                    let value = |index: usize| edge_value(&batch, index, from(index), expand.direction);
                    let edges = (0..batch.len()).map(value).collect();
                    let passing = filter.passing(self.runtime, self.chunk, &vec![row; batch.len()], edges)?;
                    passing.into_iter().for_each(|index| visit(batch.neighbors[index as usize]));
                }
            }
        }
        Ok(next)
    }
}
