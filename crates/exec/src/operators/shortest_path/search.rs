//! The search of one row: one path by [`super::single`], all of them by [`super::all`].

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, Expand, NodeId, Result, Value};

use super::ShortestPath;
use crate::adjacency::{edge_value, expansion};
use crate::chunk::Chunk;
use crate::operators::path_search::{self, Place};
use crate::operators::variable_expand::edge_list;
use crate::runtime::{Flow, Runtime};

/// See the module.
pub(super) struct Search<'s, 'r> {
    pub(super) path: &'s ShortestPath,
    pub(super) runtime: &'s Runtime<'r>,
    pub(super) chunk: &'s Chunk,
    pub(super) row: u32,
}

impl<'s, 'r> Search<'s, 'r> {
    pub(super) fn new(path: &'s ShortestPath, runtime: &'s Runtime<'r>, chunk: &'s Chunk, row: u32) -> Search<'s, 'r> {
        Search { path, runtime, chunk, row }
    }

    /// Gives the paths of the row as lists of edges.
    pub(super) fn run(
        &mut self,
        from: NodeId,
        to: NodeId,
        give: &mut dyn FnMut(Value) -> Result<Flow>,
    ) -> Result<Flow> {
        if from == to && self.path.min == 0 {
            return give(edge_list([]));
        }
        if from == to
            && let Some(round) = &self.path.round
        {
            let place = Place { chunk: self.chunk, row: self.row, start: from, distinct_from: &[] };
            return path_search::search(round, self.runtime, place, Some(to), &mut |path| {
                give(edge_list(path.edges.iter().copied()))
            });
        }
        let guard = self.runtime.view();
        let view = guard.view();
        let Some(forward) = expansion(view, self.path.direction, &self.path.types, EdgeIds::Omit) else {
            return Ok(Flow::Continue);
        };
        if !self.path.all {
            return match self.single(view, &forward, from, to)? {
                Some(edges) => give(edge_list(edges)),
                None => Ok(Flow::Continue),
            };
        }
        self.all(view, &forward, (from, to), give)
    }

    /// The expansion of a level in a direction: the filter, if there is one, asks for edges.
    pub(super) fn towards(&self, direction: Direction, expand: &Expand) -> Expand {
        let edge_ids = if self.path.filter.is_some() { EdgeIds::Include } else { EdgeIds::Omit };
        Expand { direction, edge_ids, ..expand.clone() }
    }

    /// Keeps the edges of a batch that are [`Search::passing`].
    pub(super) fn retain_passing(
        &self,
        batch: &mut EdgeBatch,
        nodes: &[NodeId],
        direction: Direction,
        is_turned: bool,
    ) -> Result<()> {
        if self.path.filter.is_some() {
            let passing = self.passing(batch, nodes, direction, is_turned)?;
            batch.retain(&passing);
        }
        Ok(())
    }

    /// The edges of a batch, expanded from these nodes in that direction, that pass the filter.
    pub(super) fn passing(
        &self,
        batch: &EdgeBatch,
        nodes: &[NodeId],
        direction: Direction,
        is_turned: bool,
    ) -> Result<Vec<u32>> {
        let Some(filter) = &self.path.filter else { return Ok((0..batch.len() as u32).collect()) };
        let near = |index: usize| nodes[batch.inputs[index] as usize];
        let value = |index: usize| edge_value(batch, index, near(index), direction);
        let edges = (0..batch.len()).map(value).collect();
        // The filter sees an edge as the path walks it, also where the search comes from the other end.
        let from = |index: usize| if is_turned { batch.neighbors[index] } else { near(index) };
        filter.passing(self.runtime, self.chunk, &vec![self.row; batch.len()], from, edges)
    }
}
