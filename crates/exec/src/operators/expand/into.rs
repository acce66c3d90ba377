//! `Expand` into nodes that are bound: only the edges between two nodes of each row.
//!
//! Each row goes from the node with fewer edges and compares neighbors, so that a hub on one side costs nothing.

use std::sync::Arc;

use model::{Column, ColumnData, EdgeBatch, EdgeValue, NodeId, ReadView, Result};

use super::Expand;
use crate::adjacency::{edge_value, expansion, is_taken};
use crate::chunk::Chunk;
use crate::rows::{gather_columns, node_at};
use crate::runtime::{Flow, Physical, Scope, Sink};

pub(super) struct ExpandInto {
    pub(super) expand: Expand,
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

impl ExpandInto {
    fn ends(&self, chunk: &Chunk) -> Ends {
        let mut ends = Ends { rows: Vec::new(), from: Vec::new(), to: Vec::new() };
        let (from, to) = (&chunk.columns[self.expand.from], &chunk.columns[self.to]);
        for row in 0..chunk.rows {
            if let (Some(from), Some(to)) = (node_at(from, row), node_at(to, row)) {
                ends.rows.push(row as u32);
                ends.from.push(from);
                ends.to.push(to);
            }
        }
        ends
    }

    /// Which rows to walk from their start, and which from their end.
    fn split(&self, view: &dyn ReadView, ends: &Ends, expand: &model::Expand) -> Result<(Side, Side)> {
        let capabilities = view.capabilities();
        let types = expand.types.as_deref();
        let (mut forth, mut back) = (Side::default(), Side::default());
        if capabilities.is_remote || !capabilities.expands_against_direction {
            forth = Side { rows: ends.rows.clone(), near: ends.from.clone(), far: ends.to.clone() };
            return Ok((forth, back));
        }
        let from_degrees = view.degrees(&ends.from, expand.direction, types)?;
        let to_degrees = view.degrees(&ends.to, expand.direction.reverse(), types)?;
        for (index, &row) in ends.rows.iter().enumerate() {
            if from_degrees[index] <= to_degrees[index] {
                forth.push(row, ends.from[index], ends.to[index]);
            } else {
                back.push(row, ends.to[index], ends.from[index]);
            }
        }
        Ok((forth, back))
    }

    /// Adds the edges of each row of a side that lead from near to far.
    fn find(
        &self,
        scope: Scope<'_, '_>,
        chunk: &Chunk,
        side: &Side,
        expand: &model::Expand,
        found: &mut Vec<(u32, EdgeValue)>,
    ) -> Result<()> {
        if side.rows.is_empty() {
            return Ok(());
        }
        let view = scope.runtime.view();
        let mut cursor = view.view().expand(&side.near, expand)?;
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch)? {
            scope.runtime.environment.interrupt.check()?;
            for index in 0..batch.len() {
                let input = batch.inputs[index] as usize;
                if batch.neighbors[index] != side.far[input] {
                    continue;
                }
                let row = side.rows[input];
                let edge = edge_value(&batch, index, side.near[input], expand.direction);
                let taken = &self.expand.distinct_from;
                if taken.is_empty() || !is_taken(chunk, taken, row as usize, edge.id) {
                    found.push((row, edge));
                }
            }
        }
        Ok(())
    }
}

impl Physical for ExpandInto {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let Expand { input, direction, types, keep, gives_edge, .. } = &self.expand;
        let ids = self.expand.edge_ids();
        input.run(scope, &mut |chunk| {
            let mut found = Vec::new();
            {
                let view = scope.runtime.view();
                let Some(expand) = expansion(view.view(), *direction, types, ids) else { return Ok(Flow::Continue) };
                let against = model::Expand { direction: direction.reverse(), ..expand.clone() };
                let (forth, back) = self.split(view.view(), &self.ends(&chunk), &expand)?;
                self.find(scope, &chunk, &forth, &expand, &mut found)?;
                self.find(scope, &chunk, &back, &against, &mut found)?;
            }
            if found.is_empty() {
                return Ok(Flow::Continue);
            }
            found.sort_by_key(|(row, _)| *row);
            let rows: Vec<u32> = found.iter().map(|(row, _)| *row).collect();
            let mut columns = gather_columns(&chunk, keep, &rows);
            if *gives_edge {
                let edges = found.iter().map(|(_, edge)| *edge).collect();
                columns.push(Arc::new(Column::new(ColumnData::Edge(edges))));
            }
            sink(Chunk { rows: rows.len(), columns })
        })
    }
}
