//! One edge from the node of each row: what an expansion does with a chunk.

use std::sync::Arc;

use model::store::EdgeIds;
use model::{Column, ColumnData, Direction, EdgeBatch, NodeId, Result};

use super::choice::Choice;
use super::used_edges::UsedEdges;
use crate::adjacency::{edge_value, edge_values, expansion, is_taken};
use crate::chunk::Chunk;
use crate::rows::{gather_columns, nodes_in};
use crate::runtime::{Flow, Runtime, Sink, first_part};

/// See the module. Its rows are the columns that it keeps, then the edge and the node if they are read.
pub(crate) struct Hop {
    /// The column of the nodes that edges start from.
    pub(crate) from: usize,
    pub(crate) direction: Direction,
    pub(crate) types: Vec<Arc<str>>,
    pub(crate) gives_edge: bool,
    pub(crate) gives_node: bool,
    /// Columns of edges, or of lists of edges, from which the edge must differ.
    pub(crate) distinct_from: Vec<usize>,
    pub(crate) choice: Option<Choice>,
    /// A few rows may be enough.
    pub(crate) few: bool,
    pub(crate) keep: Vec<usize>,
}

impl Hop {
    pub(super) fn edge_ids(&self) -> EdgeIds {
        if self.gives_edge || !self.distinct_from.is_empty() { EdgeIds::Include } else { EdgeIds::Omit }
    }

    /// The rows of a batch whose edges are not held by the rows they belong to; `None` if all are free.
    fn free(
        &self,
        chunk: &Chunk,
        rows: Option<&[u32]>,
        batch: &EdgeBatch,
        taken: &mut Option<UsedEdges>,
    ) -> Option<Vec<u32>> {
        if let Some(taken) = taken {
            return taken.free(batch);
        }
        if self.distinct_from.is_empty() {
            return None;
        }
        let is_free = |&index: &u32| {
            let input = batch.inputs[index as usize] as usize;
            let row = rows.map_or(input, |rows| rows[input] as usize);
            !is_taken(chunk, &self.distinct_from, row, batch.edges[index as usize])
        };
        let free: Vec<u32> = (0..batch.len() as u32).filter(is_free).collect();
        (free.len() < batch.len()).then_some(free)
    }

    /// The rows of a batch of edges as a chunk, all or those selected, joined with the rows of the input they belong to.
    fn join(
        &self,
        chunk: &Chunk,
        from: &[NodeId],
        rows: Option<&[u32]>,
        batch: &mut EdgeBatch,
        selected: Option<Vec<u32>>,
    ) -> Chunk {
        let count = selected.as_ref().map_or(batch.len(), Vec::len);
        let mut columns = Vec::with_capacity(self.keep.len() + 2);
        if !self.keep.is_empty() {
            let row_of = |index: usize| match (rows, batch.inputs[index]) {
                (Some(rows), input) => rows[input as usize],
                (None, input) => input,
            };
            let origins: Vec<u32> = match &selected {
                Some(selected) => selected.iter().map(|&index| row_of(index as usize)).collect(),
                None if rows.is_none() => std::mem::take(&mut batch.inputs),
                None => (0..batch.len()).map(row_of).collect(),
            };
            columns = gather_columns(chunk, &self.keep, &origins);
            if rows.is_none() && selected.is_none() {
                batch.inputs = origins;
            }
        }
        if self.gives_edge {
            let value = |index: usize| edge_value(batch, index, from[batch.inputs[index] as usize], self.direction);
            let edges = match &selected {
                Some(selected) => selected.iter().map(|&index| value(index as usize)).collect(),
                None => edge_values(batch, from, self.direction),
            };
            columns.push(Arc::new(Column::new(ColumnData::Edge(edges))));
        }
        if self.gives_node {
            let nodes = match &selected {
                Some(selected) => selected.iter().map(|&index| batch.neighbors[index as usize]).collect(),
                None => std::mem::take(&mut batch.neighbors),
            };
            columns.push(Arc::new(Column::new(ColumnData::Node(nodes))));
        }
        Chunk { rows: count, columns }
    }

    /// Gives the rows that the rows of a chunk make.
    pub(crate) fn run(&self, runtime: &Runtime<'_>, chunk: &Chunk, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut batch = EdgeBatch::default();
        let (from, rows) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
        let view = runtime.view();
        let Some(mut expand) = expansion(view.view(), self.direction, &self.types, self.edge_ids()) else {
            return Ok(Flow::Continue);
        };
        let mut first = None;
        if let Some(choice) = &self.choice {
            if !choice.apply(view.view(), &runtime.evaluation(&view), &mut expand) {
                return Ok(Flow::Continue);
            }
            first = choice.labelled_first(view.view(), &from, &mut expand)?;
        }
        // A write between reads may remove an edge from the place that its reference names.
        let tells_ends = view.view().capabilities().dense_node_ids && !runtime.writes() && expand.top.is_none();
        let mut taken = None;
        if !self.distinct_from.is_empty() && !self.gives_edge && tells_ends {
            expand.edge_ids = EdgeIds::Omit;
            let inputs = (&*from, rows.as_deref());
            taken = Some(UsedEdges::of(view.view(), chunk, &self.distinct_from, inputs, &expand)?);
        }
        let mut give = |batch: &mut EdgeBatch| {
            runtime.environment.interrupt.check()?;
            let free = self.free(chunk, rows.as_deref(), batch, &mut taken);
            let joined = self.join(chunk, &from, rows.as_deref(), batch, free);
            if joined.rows > 0 { sink(joined) } else { Ok(Flow::Continue) }
        };
        if let Some(batches) = first {
            for mut batch in batches {
                if give(&mut batch)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            return Ok(Flow::Continue);
        }
        let mut cursor = view.view().expand(&from, &expand)?;
        let mut part = first_part(chunk.rows);
        loop {
            if self.few {
                cursor.limit_batches(part);
                part = part.saturating_mul(2);
            }
            if !cursor.next(&mut batch)? {
                return Ok(Flow::Continue);
            }
            if give(&mut batch)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
    }
}
