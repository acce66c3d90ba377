//! Running a prepared plan.

use std::sync::Arc;

use cypher::plan::{Plan, PlanMode};
use model::procedure::GraphAccess;
use model::{Column, Result};

use crate::chunk::Chunk;
use crate::lowering::{Prepared, prepare};
use crate::profile::{Profiler, Summary};
use crate::rows::share_columns;
use crate::runtime::{Environment, Flow, Runtime, Scope};

/// Takes the rows of a result: their number, and one column for each column of the plan. False means that no more
/// rows are wanted.
pub type ResultSink<'a> = dyn FnMut(usize, &[Arc<Column>]) -> Result<bool> + 'a;

/// Lowers a plan and runs it once; see [`Prepared::run`].
pub fn run(
    plan: &Plan,
    graph: GraphAccess<'_>,
    environment: Environment<'_>,
    sink: &mut ResultSink<'_>,
) -> Result<Summary> {
    prepare(plan)?.run(graph, environment, sink)
}

impl Prepared {
    /// Runs the plan and sends its rows in batches.
    ///
    /// A plan that writes sends its rows after its last write, so that nothing was sent if it fails; to undo what it
    /// wrote before it failed is the caller's task.
    pub fn run(
        &self,
        graph: GraphAccess<'_>,
        environment: Environment<'_>,
        sink: &mut ResultSink<'_>,
    ) -> Result<Summary> {
        let mut graph = graph;
        let graph = match &mut graph {
            GraphAccess::Read(view) => GraphAccess::Read(*view),
            GraphAccess::Write(transaction) => GraphAccess::Write(&mut **transaction),
        };
        let runtime = Runtime::new(graph, self, environment);
        let argument = Chunk::default();
        let scope = Scope { runtime: &runtime, argument: &argument };
        let mut held = Vec::new();
        let outcome = self.root.run(scope, &mut |chunk| {
            environment.interrupt.check()?;
            if self.output.is_empty() {
                return Ok(Flow::Continue);
            }
            let columns = share_columns(&chunk, &self.output);
            if self.mode != PlanMode::Read {
                held.push((chunk.rows, columns));
                return Ok(Flow::Continue);
            }
            Ok(if sink(chunk.rows, &columns)? { Flow::Continue } else { Flow::Stop })
        });
        runtime.lists.release(environment.memory);
        outcome?;
        for (rows, columns) in held {
            if !sink(rows, &columns)? {
                break;
            }
        }
        let counters = runtime.counters.get();
        let profile = runtime.profiler.map(Profiler::finish).unwrap_or_default();
        Ok(Summary { counters, profile })
    }
}
