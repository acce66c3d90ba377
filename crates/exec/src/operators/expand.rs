//! `Expand`: for each row, the edges of a node and the nodes they lead to.
//!
//! Three ways to run: to nodes that are new; into nodes that are bound ([`into`]); and counted ([`counted`]), when the
//! consumer only wants to know how many there are.

pub(crate) mod choice;
pub(crate) mod degree_count;
mod into;
mod used_edges;

use std::sync::Arc;

use cypher::plan::{Operator, OperatorKind};
use model::store::EdgeIds;
use model::{Column, ColumnData, Direction, EdgeBatch, NodeId, Result};

use crate::adjacency::{edge_value, edge_values, expansion, is_taken};
use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering, column_of, columns_of, keep, misplaced};
use crate::parallel::spread::Spread;
use crate::rows::{gather_columns, nodes_in};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use choice::Choice;
use used_edges::UsedEdges;

struct Expand {
    input: Step,
    from: usize,
    direction: Direction,
    types: Vec<Arc<str>>,
    gives_edge: bool,
    gives_node: bool,
    distinct_from: Vec<usize>,
    choice: Option<Choice>,
    keep: Vec<usize>,
}

/// Lowers `Expand`.
pub(crate) fn lower(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::Expand { input, from, direction, types, edge, to, into, distinct_from, choice } = &plan.kind
    else {
        return Err(misplaced(&plan.kind));
    };
    let mut below = demand.clone().without(edge).and_slots([from]).and_slots(distinct_from);
    below = if *into { below.and_slots([to]) } else { below.without([to]) };
    let is_spread = lowering.spread.take_if(|spread| spread.expand == plan.id).is_some();
    let (mut input, layout) = lowering.lower(input, &below)?;
    let from = column_of(&layout, *from)?;
    if is_spread {
        input = Spread::over(input, plan.id, from, *direction, types.clone());
    }
    let distinct_from = columns_of(&layout, distinct_from)?;
    let bound = if *into { Some(column_of(&layout, *to)?) } else { None };
    let (keep, mut layout) = keep(&layout, demand);
    let gives_edge = edge.is_some_and(|edge| demand.slots.contains(&edge));
    if let Some(edge) = edge.filter(|_| gives_edge) {
        layout.push(edge);
    }
    let gives_node = !into && demand.slots.contains(to);
    if gives_node {
        layout.push(*to);
    }
    let types = types.clone();
    let direction = *direction;
    let choice = choice.as_deref().map(|choice| Choice::compile(lowering, choice)).transpose()?;
    let expand = Expand { input, from, direction, types, gives_edge, gives_node, distinct_from, choice, keep };
    match bound {
        Some(to) => Ok((Box::new(into::ExpandInto { expand, to }), layout)),
        None => Ok((Box::new(expand), layout)),
    }
}

impl Expand {
    fn edge_ids(&self) -> EdgeIds {
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
}

impl Physical for Expand {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let mut batch = EdgeBatch::default();
        self.input.run(scope, &mut |chunk| {
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
                taken = Some(UsedEdges::of(view.view(), &chunk, &self.distinct_from, inputs, &expand)?);
            }
            let mut give = |batch: &mut EdgeBatch| {
                runtime.environment.interrupt.check()?;
                let free = self.free(&chunk, rows.as_deref(), batch, &mut taken);
                let joined = self.join(&chunk, &from, rows.as_deref(), batch, free);
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
            while cursor.next(&mut batch)? {
                if give(&mut batch)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        })
    }
}
