//! Code shared by the operators that follow edges: types by name, edges as values, and the check for edges that a row
//! holds already.

use std::sync::Arc;

use model::store::EdgeIds;
use model::{Column, Direction, EdgeBatch, EdgeId, EdgeTypeId, EdgeValue, Expand, LabelId, NodeId, ReadView};

use crate::chunk::Chunk;
use crate::rows::{edge_at, holds_edge};

/// Cost factor of following an edge against its direction where its id is wanted: that takes a search in the run of its
/// source.
pub(crate) const ID_AGAINST_DIRECTION_COST: u64 = 8;

/// The ids of labels; `None` if the store has never seen one of them, so that no node carries all.
pub(crate) fn label_ids(view: &dyn ReadView, labels: &[Arc<str>]) -> Option<Vec<LabelId>> {
    labels.iter().map(|label| view.schema().label(label)).collect()
}

/// The edges that a pattern follows, resolved against a store.
pub(crate) fn expansion(
    view: &dyn ReadView,
    direction: Direction,
    types: &[Arc<str>],
    edge_ids: EdgeIds,
) -> Option<Expand> {
    let types = match types {
        [] => None,
        names => {
            let mut ids: Vec<EdgeTypeId> = names.iter().filter_map(|name| view.schema().edge_type(name)).collect();
            ids.sort_unstable();
            ids.dedup();
            if ids.is_empty() {
                return None;
            }
            Some(ids)
        }
    };
    Some(Expand { direction, types, edge_ids, ..Expand::default() })
}

/// The edge in a row of a batch that was expanded from `from`.
#[inline]
pub(crate) fn edge_value(batch: &EdgeBatch, row: usize, from: NodeId, direction: Direction) -> EdgeValue {
    let to = batch.neighbors[row];
    let against = match direction {
        Direction::Out => false,
        Direction::In => true,
        Direction::Both => batch.reversed[row],
    };
    let (source, target) = if against { (to, from) } else { (from, to) };
    let id = batch.edges.get(row).copied().unwrap_or(EdgeId(u64::MAX));
    EdgeValue { id, source, target, edge_type: batch.types[row] }
}

/// All edges of a batch that was expanded from these nodes, ids included.
pub(crate) fn edge_values(batch: &EdgeBatch, from: &[NodeId], direction: Direction) -> Vec<EdgeValue> {
    let parts = batch.inputs.iter().zip(&batch.neighbors).zip(&batch.types).zip(&batch.edges);
    let ends = parts.map(|(((&input, &to), &edge_type), &id)| (id, from[input as usize], to, edge_type));
    let forth = |(id, source, target, edge_type)| EdgeValue { id, source, target, edge_type };
    match direction {
        Direction::Out => ends.map(forth).collect(),
        Direction::In => ends.map(|(id, target, source, edge_type)| forth((id, source, target, edge_type))).collect(),
        Direction::Both => {
            (0..batch.len()).map(|row| edge_value(batch, row, from[batch.inputs[row] as usize], direction)).collect()
        }
    }
}

/// True if an edge is among those that the columns of a row hold, singly or in lists.
pub(crate) fn is_taken(chunk: &Chunk, columns: &[usize], row: usize, edge: EdgeId) -> bool {
    columns.iter().any(|&column| holds_edge(&chunk.columns[column], row, edge))
}

/// Number of the edges held by the columns of a row that expanding `from` would meet.
pub(crate) fn taken_count(chunk: &Chunk, columns: &[usize], row: usize, from: NodeId, expand: &Expand) -> u64 {
    columns.iter().map(|&column| count_met(&chunk.columns[column], row, from, expand)).sum()
}

fn count_met(column: &Column, row: usize, from: NodeId, expand: &Expand) -> u64 {
    if let Some(edge) = edge_at(column, row) {
        return u64::from(is_met(&edge, from, expand));
    }
    match column.value(row) {
        model::Value::List(items) => {
            let met = |item: &&model::Value| matches!(item, model::Value::Edge(edge) if is_met(edge, from, expand));
            items.iter().filter(met).count() as u64
        }
        _ => 0,
    }
}

/// True if the expansion of a node meets an edge, ranges aside.
pub(crate) fn is_met(edge: &EdgeValue, from: NodeId, expand: &Expand) -> bool {
    let touches = match expand.direction {
        Direction::Out => edge.source == from,
        Direction::In => edge.target == from,
        Direction::Both => edge.source == from || edge.target == from,
    };
    touches && expand.types.as_ref().is_none_or(|types| types.contains(&edge.edge_type))
}
