//! Rows that were gathered, pushed into a consumer batch by batch.

use model::Result;

use crate::chunk::Chunk;
use crate::rows::gather_columns;
use crate::runtime::{Flow, Scope, Sink};

/// Pushes these rows of a chunk in batches.
pub(crate) fn push_rows(
    scope: Scope<'_, '_>,
    chunk: &Chunk,
    columns: &[usize],
    rows: &[u32],
    sink: &mut Sink<'_>,
) -> Result<Flow> {
    let environment = &scope.runtime.environment;
    for rows in rows.chunks(environment.settings.batch_rows.max(1)) {
        environment.interrupt.check()?;
        let part = Chunk { rows: rows.len(), columns: gather_columns(chunk, columns, rows) };
        if sink(part)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Pushes a chunk in parts of a batch.
pub(crate) fn push_in_batches(scope: Scope<'_, '_>, chunk: Chunk, sink: &mut Sink<'_>) -> Result<Flow> {
    let batch_rows = scope.runtime.environment.settings.batch_rows.max(1);
    let mut start = 0;
    while start < chunk.rows {
        scope.runtime.environment.interrupt.check()?;
        let end = (start + batch_rows).min(chunk.rows);
        if sink(chunk.slice(start, end))? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        start = end;
    }
    Ok(Flow::Continue)
}
