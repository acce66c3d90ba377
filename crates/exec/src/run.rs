//! Running a prepared plan.

use std::sync::Arc;

use cypher::plan::{Plan, PlanMode};
use model::procedure::GraphAccess;
use model::{Column, Result};

use crate::chunk::Chunk;
use crate::prepare::prepare;
use crate::profile::{Replanned, Summary};
use crate::pushing::push_in_batches;
use crate::rows::share_columns;
use crate::runtime::Prepared;
use crate::runtime::turn::{HeldRows, Rest, Turn};
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
        let kept = (self.mode != PlanMode::Read).then(|| RowStore::new(environment.memory.open("the result", None)));
        self.leg(shorter(graph), environment, Start { rest: None, held: None, summary: Summary::default(), kept }, sink)
    }

    /// Runs the plan, or the rest of one, up to its end or to a horizon, behind which the rest goes on as the next leg.
    fn leg<'a>(
        &'a self,
        graph: GraphAccess<'a>,
        environment: Environment<'a>,
        start: Start<'a>,
        sink: &mut ResultSink<'_>,
    ) -> Result<Summary> {
        let Start { rest, held, mut summary, mut kept } = start;
        let mut runtime = Runtime::new(graph, self, environment);
        (runtime.held, runtime.rest) = (held, rest);
        runtime.counters.set(summary.counters);
        let argument = Chunk::default();
        let scope = Scope { runtime: &runtime, argument: &argument };
        let mut given = 0;
        let outcome = self.root.run(scope, &mut |chunk| {
            environment.interrupt.check()?;
            given += chunk.rows;
            if self.output.is_empty() {
                return Ok(Flow::Continue);
            }
            let columns = share_columns(&chunk, &self.output);
            if let Some(kept) = &mut kept {
                kept.push(Chunk { rows: chunk.rows, columns })?;
                return Ok(Flow::Continue);
            }
            Ok(if sink(chunk.rows, &columns)? { Flow::Continue } else { Flow::Stop })
        });
        runtime.states.release(environment.memory);
        if outcome.is_ok() {
            if let Some(kept) = kept {
                kept.finish(self.output.len()).for_each(&mut |chunk| {
                    push_in_batches(scope, chunk, &mut |chunk| {
                        Ok(if sink(chunk.rows, &chunk.columns)? { Flow::Continue } else { Flow::Stop })
                    })
                })?;
            }
            summary.counters = runtime.counters.get();
            let (_, profile, _) = runtime.into_parts();
            summary.add(profile, environment.memory);
            return Ok(summary);
        }
        summary.counters = runtime.counters.get();
        let (graph, profile, turn) = runtime.into_parts();
        let Some(Turn { rest, held, rows }) = turn.filter(|_| given == 0) else { return outcome.map(|_| summary) };
        summary.add(profile, environment.memory);
        let Rest { plan, at, expected, .. } = &*rest;
        summary.turn(&rest.done, Replanned { plan: plan.clone(), at: *at, expected: *expected, rows });
        // The figures of the operators before are in the summary.
        environment.memory.forget_figures();
        rest.prepared.leg(
            shorter(graph),
            environment,
            Start { rest: Some(rest.clone()), held: Some(held), summary, kept },
            sink,
        )
    }
}

/// The state in which a leg begins.
struct Start<'a> {
    /// The rest of a plan that it runs.
    rest: Option<Arc<Rest>>,
    /// The rows that are there.
    held: Option<Box<dyn HeldRows + 'a>>,
    /// The effects so far.
    summary: Summary,
    /// The rows of the result so far of a plan that writes, which are given when nothing is written any more.
    kept: Option<RowStore<'a>>,
}

/// The same graph, borrowed for no longer than it is used here.
#[allow(clippy::needless_match, reason = "a transaction alone can be borrowed for less, not the whole")]
fn shorter<'s, 'l: 's>(graph: GraphAccess<'l>) -> GraphAccess<'s> {
    match graph {
        GraphAccess::Read(view) => GraphAccess::Read(view),
        GraphAccess::Write(transaction) => GraphAccess::Write(transaction),
    }
}
