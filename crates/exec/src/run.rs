//! Running a prepared plan.

use std::sync::Arc;

use cypher::plan::{Plan, PlanMode};
use model::procedure::GraphAccess;
use model::{Column, Result};

use crate::chunk::Chunk;
use crate::prepare::prepare;
use crate::profile::{Profiler, Summary};
use crate::pushing::push_in_batches;
use crate::rows::share_columns;
use crate::runtime::Prepared;
use crate::runtime::{Environment, Flow, Runtime, Scope};
use crate::spill::RowStore;

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
        // A source that is waited for hears that the run is over.
        let _listening = environment.interrupt.listen();
        let mut graph = graph;
        let graph = match &mut graph {
            GraphAccess::Read(view) => GraphAccess::Read(*view),
            GraphAccess::Write(transaction) => GraphAccess::Write(&mut **transaction),
        };
        let runtime = Runtime::new(graph, self, environment);
        let argument = Chunk::default();
        let scope = Scope { runtime: &runtime, argument: &argument };
        // A plan that writes gives its rows after its last write.
        let mut held = RowStore::new(environment.memory.open("the result", None));
        let outcome = self.root.run(scope, &mut |chunk| {
            environment.interrupt.check()?;
            if self.output.is_empty() {
                return Ok(Flow::Continue);
            }
            let columns = share_columns(&chunk, &self.output);
            if self.mode != PlanMode::Read {
                held.push(Chunk { rows: chunk.rows, columns })?;
                return Ok(Flow::Continue);
            }
            Ok(if sink(chunk.rows, &columns)? { Flow::Continue } else { Flow::Stop })
        });
        runtime.lists.release(environment.memory);
        runtime.states.release(environment.memory);
        outcome?;
        held.finish(self.output.len()).for_each(&mut |chunk| {
            push_in_batches(scope, chunk, &mut |chunk| {
                Ok(if sink(chunk.rows, &chunk.columns)? { Flow::Continue } else { Flow::Stop })
            })
        })?;
        let counters = runtime.counters.get();
        let mut profile = runtime.profiler.map(Profiler::finish).unwrap_or_default();
        for (id, figures) in environment.memory.figures() {
            let held = profile.entry(id).or_default();
            (held.memory_peak, held.spilled_bytes) = (figures.peak_bytes, figures.spilled_bytes);
        }
        Ok(Summary { counters, profile })
    }
}
