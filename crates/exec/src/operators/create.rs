//! `Create`: for each row, creates nodes, then edges between slots. All rows are read before the first write.

use cypher::plan::{NewEdge, NewNode, Operator};
use model::Result;

use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering, keep, liveness};
use crate::rows::share_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::writing::change_all;
use crate::writing::creation::{Creation, NullProperties, created_slots};
use crate::writing::hazards::runs_subplan;

struct Create {
    input: Step,
    creation: Creation,
    width: usize,
    keep: Vec<usize>,
    /// True if a property may depend on what other rows create.
    is_opaque: bool,
}

/// Lowers `Create`.
pub(crate) fn lower(
    lowering: &mut Lowering,
    input: &Operator,
    nodes: &[NewNode],
    edges: &[NewEdge],
    demand: &Demand,
) -> Result<Lowered> {
    let mut below = demand.clone().of_every_row().without(&created_slots(nodes, edges));
    liveness::add_creation(nodes, edges, &mut below.slots);
    let (input, mut layout) = lowering.lower(input, &below)?;
    let width = layout.len();
    let creation = Creation::compile(lowering, nodes, edges, &mut layout)?;
    let (keep, layout) = keep(&layout, demand);
    let properties = nodes.iter().map(|node| &node.properties).chain(edges.iter().map(|edge| &edge.properties));
    let is_opaque = properties.flatten().any(runs_subplan);
    Ok((Box::new(Create { input, creation, width, keep, is_opaque }), layout))
}

impl Physical for Create {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut work = |mut chunk: Chunk| {
            self.creation.run(scope, &mut chunk, NullProperties::LeaveOut)?;
            Ok(Chunk { rows: chunk.rows, columns: share_columns(&chunk, &self.keep) })
        };
        change_all((&self.input, self.width, self.is_opaque), scope, "Create", &mut work, sink)
    }
}
