//! A list of nodes becomes a path with its edges: expansions of a few thousand of them at a time.

use model::batch::EdgeBatch;
use model::error::Result;
use model::id::NodeId;
use model::store::{Direction, EdgeIds, ReadView};
use model::value::{EdgeValue, PathValue};

use crate::projection::{Projection, Weight};

/// Steps whose edges are asked for at a time.
const STEPS: usize = 4_096;

/// The edges of one step, with their weights, 1 each without; the least weight first.
pub(crate) type StepEdges = Vec<(f64, EdgeValue)>;

/// Takes the edges of a step.
pub(crate) type StepSink<'a> = dyn FnMut(&[(f64, EdgeValue)]) -> Result<()> + 'a;

/// Gives `take` the edges of each step between these nodes.
pub(crate) fn for_each_step(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    nodes: &[NodeId],
    take: &mut StepSink<'_>,
) -> Result<()> {
    let starts = (0..nodes.len() - 1).step_by(STEPS);
    for start in starts {
        let end = (start + STEPS).min(nodes.len() - 1);
        let steps = steps_of(view, projection, weight, &nodes[start..=end])?;
        steps.iter().try_for_each(|edges| take(edges))?;
    }
    Ok(())
}

fn steps_of(
    view: &dyn ReadView,
    projection: &Projection,
    weight: Option<&Weight>,
    nodes: &[NodeId],
) -> Result<Vec<StepEdges>> {
    let count = nodes.len() - 1;
    let keys = weight.map_or_else(Vec::new, Weight::keys);
    let expand = projection.expand(projection.direction, keys, EdgeIds::Include);
    let mut steps: Vec<StepEdges> = vec![Vec::new(); count];
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
    let mut edges = Vec::with_capacity(nodes.len() - 1);
    for_each_step(view, projection, weight, &nodes, &mut |of_step| {
        edges.push(of_step[0].1);
        Ok(())
    })?;
    Ok(PathValue { nodes, edges })
}
