//! The join of the rows around a subplan with rows that do not depend on them.
//!
//! The subplan runs for every chunk of outer rows, or for every single one. What comes with them is little, so the hash
//! table is made of it, and the right side streams by without being kept. From the second run on the right side is kept for
//! the rest of the statement instead, if the statement does not write and the memory is there.
//! Cost: the right side is read at most [`STREAMED_RUNS`] + 1 times, however many outer rows there are; once for each
//! chunk of them if it cannot be kept.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cypher::plan::{OperatorId, PlanMode};
use model::Result;

use super::{HashJoin, Matches, ROW_BYTES, Table};
use crate::rows::RowBuffer;
use crate::runtime::{Flow, Physical, Scope, Sink};
use crate::size::chunk_bytes;

/// Runs for which the right side is read anew: there may be no more. To keep the rows of a scan costs about as much as to read them four
/// times, but where the right side is a search for few nodes each run costs far more than its rows.
const STREAMED_RUNS: usize = 1;
/// The kept side takes no more than this part of what the query may hold.
const KEPT_SHARE: usize = 4;

/// A join that is run again and again.
pub(super) struct Repeated {
    pub(super) id: OperatorId,
    pub(super) join: HashJoin,
}

/// The right side, once it is kept for all runs of a statement.
#[derive(Default)]
struct Kept {
    runs: AtomicUsize,
    table: Mutex<Progress>,
}

#[derive(Default)]
enum Progress {
    #[default]
    NotMade,
    Made(Arc<Table>),
    TooLarge,
}

impl Repeated {
    /// The right side in memory, if it is or can be now.
    fn kept(&self, scope: Scope<'_, '_>) -> Result<Option<Arc<Table>>> {
        // A statement that writes may see other rows in each run.
        if scope.runtime.prepared.mode != PlanMode::Read {
            return Ok(None);
        }
        let kept = scope.runtime.shared(self.id, Kept::default);
        if kept.runs.fetch_add(1, Ordering::Relaxed) < STREAMED_RUNS {
            return Ok(None);
        }
        let mut progress = kept.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Progress::NotMade = &*progress {
            *progress = self.read_right(scope)?.map_or(Progress::TooLarge, Progress::Made);
        }
        Ok(match &*progress {
            Progress::Made(table) => Some(Arc::clone(table)),
            _ => None,
        })
    }

    /// Reads the right side into memory; `None` if there is too much of it.
    fn read_right(&self, scope: Scope<'_, '_>) -> Result<Option<Arc<Table>>> {
        let mut charge = scope.runtime.charge("HashJoin");
        let bytes_max = charge.memory().limit() / KEPT_SHARE;
        let mut buffer = RowBuffer::default();
        let flow = self.join.right.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            let bytes = chunk_bytes(&chunk) + chunk.rows * ROW_BYTES;
            if charge.bytes() + bytes > bytes_max || charge.try_grow(bytes).is_err() {
                return Ok(Flow::Stop);
            }
            buffer.push(chunk);
            Ok(Flow::Continue)
        })?;
        if flow == Flow::Stop {
            return Ok(None);
        }
        let rows = buffer.finish(self.join.right_width);
        let keys = self.join.keys(scope, &self.join.right_keys, &rows)?;
        scope.runtime.states.take_over(charge);
        Ok(Some(Arc::new(Table::new(rows, &keys))))
    }
}

impl Physical for Repeated {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        if let Some(right) = self.kept(scope)? {
            return self.join.probe_left(scope, &right, sink);
        }
        let join = &self.join;
        let mut charge = scope.runtime.charge("HashJoin");
        let mut buffer = RowBuffer::default();
        let flow = join.left.run(scope, &mut |chunk| {
            if charge.try_grow(chunk_bytes(&chunk) + chunk.rows * ROW_BYTES).is_err() {
                return Ok(Flow::Stop);
            }
            buffer.push(chunk);
            Ok(Flow::Continue)
        })?;
        if flow == Flow::Stop {
            drop((buffer, charge));
            return join.run(scope, sink);
        }
        if buffer.len() == 0 {
            return Ok(Flow::Continue);
        }
        let rows = buffer.finish(join.left_width);
        let keys = join.keys(scope, &join.left_keys, &rows)?;
        let left = Table::new(rows, &keys);
        let mut matches = Matches { keeps_left: true, ..Matches::default() };
        join.right.run(scope, &mut |chunk| {
            scope.runtime.environment.interrupt.check()?;
            let keys = join.keys(scope, &join.right_keys, &chunk)?;
            join.probe(scope, &left, (&chunk, &keys), &mut matches, sink)
        })
    }
}
