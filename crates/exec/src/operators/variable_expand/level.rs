//! Edges of the nodes of a level of a search.

use std::ops::ControlFlow;

use model::{EdgeBatch, Expand, NodeId, Result};

use crate::runtime::Runtime;

/// Shows an expansion batch by batch, until one has what is looked for.
pub(super) fn find_edges<T>(
    runtime: &Runtime<'_>,
    nodes: &[NodeId],
    expansion: &Expand,
    mut look: impl FnMut(&EdgeBatch) -> ControlFlow<T>,
) -> Result<Option<T>> {
    let guard = runtime.view();
    let mut cursor = guard.view().expand(nodes, expansion)?;
    let mut batch = EdgeBatch::default();
    while cursor.next(&mut batch)? {
        runtime.environment.interrupt.check()?;
        if let ControlFlow::Break(found) = look(&batch) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
