//! Runs a pipeline in parts by several threads and passes its rows on in the order in which one thread would give them.
//!
//! Not an operator of plans: it stands over a pipeline that begins with the scan of many nodes, where what follows takes
//! rows one after the other. Where the scan turns out to be small, rows pass straight through.
//!
//! Cost: a lock for each chunk. Once enough is held, threads wait until it was passed on; only that of the part being passed
//! on may always hand over one chunk.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use cypher::plan::Operator;
use model::Result;

use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowering};
use crate::memory::Charge;
use crate::parallel::{self, ScanPipeline};
use crate::profile::At;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::size::chunk_bytes;

/// Rows that parts may hold together.
const AHEAD_ROWS_MAX: usize = 1 << 18;
/// Bytes that they may hold together, if an eighth of what the query may hold is not less.
const AHEAD_BYTES_MAX: usize = 64 << 20;
/// Into how many parts the ids are cut.
const PARTS: u64 = 32;

struct Gather {
    input: Step,
    pipeline: ScanPipeline,
}

/// Lowers a plan so that it is run in parts, if it is a pipeline that can be.
pub(crate) fn lower(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<(Step, Layout)> {
    let (input, layout) = lowering.lower(plan, demand)?;
    match parallel::scan_pipeline(plan) {
        // A scan alone is faster than what hands its rows over.
        Some(pipeline) if !pipeline.is_scan_alone(plan) => {
            let id = input.id;
            Ok((Step { id, operator: Box::new(Gather { input, pipeline }), in_parts: false }, layout))
        }
        _ => Ok((input, layout)),
    }
}

/// Rows that the parts have given and that were not passed on yet.
struct State<'m> {
    parts: Vec<Part>,
    /// The next part to be begun.
    next: usize,
    /// The part being passed on.
    current: usize,
    ahead_rows: usize,
    /// The bytes of these rows.
    charge: Charge<'m>,
    stopped: bool,
}

impl State<'_> {
    fn holds_enough(&self) -> bool {
        let bytes_max = AHEAD_BYTES_MAX.min(self.charge.memory().limit() / 8);
        self.ahead_rows > AHEAD_ROWS_MAX || self.charge.bytes() > bytes_max
    }
}

#[derive(Default)]
struct Part {
    /// Each with its bytes.
    chunks: VecDeque<(Chunk, usize)>,
    outcome: Option<Result<()>>,
}

/// The meeting point of the threads.
struct Exchange<'m> {
    state: Mutex<State<'m>>,
    changed: Condvar,
}

impl<'m> Exchange<'m> {
    fn lock(&self) -> MutexGuard<'_, State<'m>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<'m>>) -> MutexGuard<'a, State<'m>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the next part.
    fn begin(&self) -> Option<usize> {
        let mut state = self.lock();
        if state.stopped || state.next == state.parts.len() {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    /// Hands a chunk of a part over; waits while too much is held, unless nothing is there to be passed on.
    fn put(&self, part: usize, chunk: Chunk) -> Flow {
        let bytes = chunk_bytes(&chunk);
        let mut state = self.lock();
        let is_awaited = |state: &State<'_>| part == state.current && state.parts[part].chunks.is_empty();
        while !state.stopped && state.holds_enough() && !is_awaited(&state) {
            state = self.wait(state);
        }
        if state.stopped {
            return Flow::Stop;
        }
        state.ahead_rows += chunk.rows;
        let held = state.charge.bytes() + bytes;
        state.charge.count(held);
        state.parts[part].chunks.push_back((chunk, bytes));
        if part == state.current {
            self.changed.notify_all();
        }
        Flow::Continue
    }

    fn end(&self, part: usize, outcome: Result<()>) {
        self.lock().parts[part].outcome = Some(outcome);
        self.changed.notify_all();
    }

    /// The next chunk in order; nothing at the end.
    fn take(&self) -> Result<Option<Chunk>> {
        let mut state = self.lock();
        loop {
            let current = state.current;
            let Some(part) = state.parts.get_mut(current) else { return Ok(None) };
            if let Some((chunk, bytes)) = part.chunks.pop_front() {
                let is_full = state.holds_enough();
                state.ahead_rows -= chunk.rows;
                let left = state.charge.bytes() - bytes;
                state.charge.count(left);
                if is_full {
                    self.changed.notify_all();
                }
                return Ok(Some(chunk));
            }
            match part.outcome.take() {
                Some(outcome) => {
                    outcome?;
                    state.current += 1;
                    self.changed.notify_all();
                }
                None => state = self.wait(state),
            }
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

/// Stops the threads whatever way the passing on of rows ends.
struct StopAtEnd<'e, 'm>(&'e Exchange<'m>);

impl Drop for StopAtEnd<'_, '_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Physical for Gather {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let Some(ranges) = parallel::ranges(runtime, &self.pipeline, PARTS) else {
            return self.input.operator.run(scope, sink);
        };
        let guard = runtime.view();
        let view = guard.view();
        let parts = ranges.iter().map(|_| Part::default()).collect();
        let state =
            State { parts, next: 0, current: 0, ahead_rows: 0, charge: runtime.charge("Gather"), stopped: false };
        let exchange = Exchange { state: Mutex::new(state), changed: Condvar::new() };
        // The time of this thread is that of those it waits for.
        let before = runtime.profiler.as_ref().map(|profiler| profiler.switch(At::Parts));
        let part_of = parallel::Parts::new(runtime, view, self.pipeline.scan(), None);
        let work_through = || {
            let _helping = runtime.environment.interrupt.help();
            while let Some(part) = exchange.begin() {
                let range: Range<u64> = ranges[part].clone();
                let outcome = part_of.run(range, Some(self.input.id), &|scope| {
                    let put = |chunk| {
                        // It may have to wait for the consumer.
                        let producer = scope.runtime.profiler.as_ref().map(|profiler| profiler.switch(At::Outside));
                        let flow = exchange.put(part, chunk);
                        if let (Some(profiler), Some(producer)) = (&scope.runtime.profiler, producer) {
                            profiler.switch(producer);
                        }
                        Ok(flow)
                    };
                    self.input.operator.run(scope, &mut { put }).map(|_| ())
                });
                exchange.end(part, outcome);
            }
        };
        let workers = runtime.environment.settings.threads.min(ranges.len());
        runtime.environment.interrupt.use_threads(workers);
        let flow = std::thread::scope(|threads| {
            let _stop = StopAtEnd(&exchange);
            for _ in 0..workers {
                threads.spawn(work_through);
            }
            while let Some(chunk) = exchange.take()? {
                runtime.environment.interrupt.check()?;
                if sink(chunk)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        });
        part_of.finish(runtime);
        if let (Some(profiler), Some(before)) = (&runtime.profiler, before) {
            profiler.switch(before);
        }
        flow
    }
}
