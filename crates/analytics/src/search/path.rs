//! A list of nodes becomes a path with its edges: one expansion of all of them.

use model::batch::EdgeBatch;
use model::error::Result;
use model::id::NodeId;
use model::store::{Direction, EdgeIds, ReadView};
use model::value::{EdgeValue, PathValue};

use crate::projection::{Projection, Weight};

/// The path over these nodes; of parallel edges it takes the first of least weight.
pub(crate) fn path_of(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    nodes: Vec<NodeId>,
) -> Result<PathValue> {
    let steps = nodes.len() - 1;
    let keys = weight.map_or_else(Vec::new, Weight::keys);
    let expand = projection.expand(projection.direction, keys, EdgeIds::Include);
    let mut best: Vec<Option<(f64, EdgeValue)>> = vec![None; steps];
    let mut batch = EdgeBatch::default();
    let mut costs = Vec::new();
    let mut cursor = view.expand(&nodes[..steps], &expand)?;
    while cursor.next(&mut batch)? {
        costs.clear();
        match weight {
            Some(weight) => weight.append(&batch.properties, batch.len(), &mut costs),
            None => costs.resize(batch.len(), 0.0),
        }
        for (row, &cost) in costs.iter().enumerate() {
            let step = batch.inputs[row] as usize;
            if batch.neighbors[row] != nodes[step + 1] || best[step].is_some_and(|(least, _)| least <= cost) {
                continue;
            }
            let is_reversed = match projection.direction {
                Direction::Out => false,
                Direction::In => true,
                Direction::Both => batch.reversed[row],
            };
            let (from, to) = (nodes[step], nodes[step + 1]);
            let (source, target) = if is_reversed { (to, from) } else { (from, to) };
            best[step] = Some((cost, EdgeValue { id: batch.edges[row], source, target, edge_type: batch.types[row] }));
        }
    }
    let mut edges = Vec::with_capacity(steps);
    for (step, found) in best.into_iter().enumerate() {
        let (_, edge) = found.ok_or_else(|| {
            let (from, to) = (nodes[step].0, nodes[step + 1].0);
            model::error!(
                Internal,
                "the edge from node #{from} to node #{to} that a search followed is not found again"
            )
        })?;
        edges.push(edge);
    }
    drop(cursor);
    Ok(PathValue { nodes, edges })
}
