//! A list of nodes becomes a path with its edges: one expansion of all of them.

use model::batch::EdgeBatch;
use model::error::Result;
use model::id::NodeId;
use model::store::{Direction, EdgeIds, ReadView};
use model::value::{EdgeValue, PathValue};

use crate::projection::{Projection, Weight};

/// The edges of each step between these nodes, with their weights, 1 each without; the least weight first.
pub(crate) fn steps_of(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    nodes: &[NodeId],
) -> Result<Vec<Vec<(f64, EdgeValue)>>> {
    let count = nodes.len() - 1;
    let keys = weight.map_or_else(Vec::new, Weight::keys);
    let expand = projection.expand(projection.direction, keys, EdgeIds::Include);
    let mut steps: Vec<Vec<(f64, EdgeValue)>> = vec![Vec::new(); count];
    let mut batch = EdgeBatch::default();
    let mut costs = Vec::new();
    let mut cursor = view.expand(&nodes[..count], &expand)?;
    while cursor.next(&mut batch)? {
        costs.clear();
        match weight {
            Some(weight) => weight.append(&batch.properties, batch.len(), &mut costs),
            None => costs.resize(batch.len(), 1.0),
        }
        for (row, &cost) in costs.iter().enumerate() {
            let step = batch.inputs[row] as usize;
            if batch.neighbors[row] != nodes[step + 1] {
                continue;
            }
            let is_reversed = match projection.direction {
                Direction::Out => false,
                Direction::In => true,
                Direction::Both => batch.reversed[row],
            };
            let (from, to) = (nodes[step], nodes[step + 1]);
            let (source, target) = if is_reversed { (to, from) } else { (from, to) };
            steps[step].push((cost, EdgeValue { id: batch.edges[row], source, target, edge_type: batch.types[row] }));
        }
    }
    drop(cursor);
    if let Some(step) = steps.iter().position(Vec::is_empty) {
        let (from, to) = (nodes[step].0, nodes[step + 1].0);
        return Err(model::error!(
            Internal,
            "the edge from node #{from} to node #{to} that a search followed is not found again"
        ));
    }
    steps.iter_mut().for_each(|edges| edges.sort_by(|a, b| a.0.total_cmp(&b.0)));
    Ok(steps)
}

/// The path over these nodes; of parallel edges it takes the first of least weight.
pub(crate) fn path_of(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    nodes: Vec<NodeId>,
) -> Result<PathValue> {
    let steps = steps_of(view, projection, weight, &nodes)?;
    Ok(PathValue { nodes, edges: steps.into_iter().map(|edges| edges[0].1).collect() })
}
