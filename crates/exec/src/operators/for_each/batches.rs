//! `CALL { … } IN TRANSACTIONS`: the rows are cut into batches, each of which is a transaction of its own.
//!
//! A batch that fails leaves nothing of itself; those that were committed before stay. One that another writer came
//! before is run again.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cypher::plan::{self, OnError, OperatorId, Retry};
use model::meter::{self, Wait};
use model::procedure::GraphAccess;
use model::{Column, ColumnBuilder, Error, ErrorCode, Map, Result, Value};

use super::ForEach;
use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::identity;
use crate::lowering::Lowering;
use crate::operators::limit::row_count;
use crate::profile::{At, Counters, OperatorProfile, Profiler};
use crate::rows::RowBuffer;
use crate::runtime::Prepared;
use crate::runtime::{Environment, Flow, Runtime, Scope};
use crate::spill::{RowStore, StoredRows};

/// Number of rows in a batch if none is given.
const BATCH_ROWS: u64 = 1_000;
/// Number of attempts of a batch where others write the same, if none is given.
const ATTEMPTS: usize = 100;
/// Number of attempts of a batch beside others, before it is tried alone.
const TOGETHER: usize = 2;
/// For how long a batch is tried with `RETRY`, in seconds, if no time is said.
const RETRY_SECONDS: f64 = 30.0;
/// The longest `RETRY`, in seconds: a year.
const RETRY_SECONDS_MAX: f64 = 366.0 * 86_400.0;
/// The first and the longest wait between two tries with `RETRY`, in microseconds; each is twice as long as the one before.
const WAIT_US: (u64, u64) = (1_000, 1_000_000);
/// Longest single sleep in microseconds, so that a cancelled statement ends soon.
const NAP_US_MAX: u64 = 50_000;

/// The division of the rows into batches.
pub(super) struct Batches {
    rows: Option<CompiledExpression>,
    concurrent: Option<Option<CompiledExpression>>,
    on_error: OnError,
    /// `RETRY`, maybe with its seconds.
    retry: Option<Option<CompiledExpression>>,
    reports: bool,
}

impl Batches {
    pub(super) fn compile(lowering: &mut Lowering, batches: &plan::Batches, reports: bool) -> Result<Batches> {
        let nothing = Default::default();
        let mut compile = |expression| lowering.compile(expression, &nothing);
        let rows = batches.rows.as_ref().map(&mut compile).transpose()?;
        let concurrent = match &batches.concurrent {
            None => None,
            Some(None) => Some(None),
            Some(Some(count)) => Some(Some(compile(count)?)),
        };
        let retry = match &batches.retry {
            None => None,
            Some(Retry { seconds: None }) => Some(None),
            Some(Retry { seconds: Some(seconds) }) => Some(Some(compile(seconds)?)),
        };
        Ok(Batches { rows, concurrent, on_error: batches.on_error, retry, reports })
    }

    /// For how many nanoseconds a batch is tried, if a time is set.
    fn retry_ns(&self, scope: Scope<'_, '_>) -> Result<Option<u64>> {
        let Some(seconds) = &self.retry else { return Ok(None) };
        let value = match seconds {
            None => Value::Float(RETRY_SECONDS),
            Some(seconds) => {
                let view = scope.runtime.view();
                seconds.evaluate(&Chunk::unit(), &scope.runtime.evaluation(&view))?.value(0)
            }
        };
        let seconds = match value {
            Value::Int(seconds) => seconds as f64,
            Value::Float(seconds) => seconds,
            _ => f64::NAN,
        };
        if seconds >= 0.0 {
            return Ok(Some((seconds.min(RETRY_SECONDS_MAX) * 1e9) as u64));
        }
        let found = value.type_name();
        Err(model::error!(Argument, "ON ERROR RETRY needs a number of seconds from 0 up, found {value} ({found})"))
    }
}

/// Parameters of a statement by their names.
type Parameters = Map<Arc<str>, Value>;

/// The parameters with the numbers of edges as their ids.
fn numbered_parameters<'r>(scope: Scope<'_, 'r>) -> Result<Cow<'r, Parameters>> {
    let parameters = scope.runtime.environment.parameters;
    let edges = identity::edges_of_parameters(parameters);
    let edges = identity::numbered(&edges, scope.runtime.view().view())?;
    Ok(identity::rename_parameters(parameters, &edges))
}

/// Rows with the numbers of edges as their ids: by these every later view finds them.
pub(super) fn numbered(scope: Scope<'_, '_>, mut chunk: Chunk) -> Result<Chunk> {
    let edges = identity::numbered(&identity::edges_of(&chunk.columns), scope.runtime.view().view())?;
    identity::rename(&mut chunk.columns, &edges);
    Ok(chunk)
}

/// Rows that are put together, at least, before their batches are run, where the input has spilled.
const WAVE_ROWS: usize = 16_384;

/// Number of rows of a batch, number of batches that run at a time, and how long one is tried.
#[derive(Clone, Copy)]
struct Cut {
    rows: usize,
    threads: usize,
    retry_ns: Option<u64>,
}

/// The state of the batches so far.
struct Progress<'m> {
    output: RowStore<'m>,
    batches: usize,
    committed: usize,
    /// One has failed, and no further one is begun.
    is_ended: bool,
    /// There are edges in the rows. Between the views of transactions they have their numbers as ids.
    has_edges: bool,
}

/// The outcome of a batch.
struct Outcome {
    result: Result<Chunk>,
    counters: Counters,
    profile: Map<OperatorId, OperatorProfile>,
}

impl ForEach {
    /// Runs the subplan for all rows, which name edges by their numbers, batch by batch.
    pub(super) fn in_batches<'r>(
        &self,
        scope: Scope<'_, 'r>,
        input: StoredRows<'r>,
        batches: &Batches,
    ) -> Result<StoredRows<'r>> {
        let rows = positive(batches.rows.as_ref(), scope, BATCH_ROWS, "OF … ROWS")? as usize;
        let threads = match &batches.concurrent {
            None => 1,
            Some(count) => {
                let default = scope.runtime.environment.settings.threads.max(1) as u64;
                positive(count.as_ref(), scope, default, "IN … CONCURRENT TRANSACTIONS")? as usize
            }
        };
        let cut = Cut { rows, threads, retry_ns: batches.retry_ns(scope)? };
        let parameters = numbered_parameters(scope)?;
        // Nothing is read of the rows' own moment any more: no batch has to wait for locks that reading it took.
        scope.runtime.view().view().release();
        let output = RowStore::new(scope.runtime.charge("ForEach"));
        let mut progress = Progress { output, batches: 0, committed: 0, is_ended: false, has_edges: false };
        match input.into_chunk() {
            Ok((input, _charge)) => self.wave(scope, &input, (batches, cut, &parameters), &mut progress)?,
            Err(stored) => self.waves(scope, &stored, (batches, cut, &parameters), &mut progress)?,
        }
        let transactions = scope.runtime.environment.transactions;
        scope.runtime.renew(transactions.ok_or_else(outside)?.snapshot()?);
        let width = self.keep.len() + self.added.len() + self.missing + usize::from(batches.reports);
        let output = progress.output.finish(width);
        if !progress.has_edges {
            return Ok(output);
        }
        let mut here = RowStore::new(scope.runtime.charge("ForEach"));
        output.for_each(&mut |mut chunk| {
            let view = scope.runtime.view();
            let edges = identity::located(&identity::edges_of(&chunk.columns), view.view())?;
            identity::rename(&mut chunk.columns, &edges);
            here.push(chunk)?;
            Ok(Flow::Continue)
        })?;
        Ok(here.finish(width))
    }

    /// Runs the batches of rows that lie on disk: as many rows at a time as make whole batches for all threads.
    fn waves(
        &self,
        scope: Scope<'_, '_>,
        stored: &StoredRows<'_>,
        (batches, cut, parameters): (&Batches, Cut, &Parameters),
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let wanted = cut.rows.saturating_mul(cut.threads).max(WAVE_ROWS);
        let mut pending = RowBuffer::default();
        stored.for_each(&mut |chunk| {
            pending.push(chunk);
            if pending.len() >= wanted {
                let rows = std::mem::take(&mut pending).finish(self.width);
                let whole = rows.rows - rows.rows % cut.rows;
                self.wave(scope, &rows.slice(0, whole), (batches, cut, parameters), progress)?;
                pending.push(rows.slice(whole, rows.rows));
            }
            Ok(Flow::Continue)
        })?;
        self.wave(scope, &pending.finish(self.width), (batches, cut, parameters), progress)
    }

    /// Runs the batches of some rows.
    fn wave(
        &self,
        scope: Scope<'_, '_>,
        input: &Chunk,
        (batches, cut, parameters): (&Batches, Cut, &Parameters),
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let ranges: Vec<Range<usize>> =
            (0..input.rows).step_by(cut.rows).map(|start| start..(start + cut.rows).min(input.rows)).collect();
        let outcomes = if progress.is_ended {
            ranges.iter().map(|_| None).collect()
        } else {
            self.run_batches(scope, input, (batches.on_error, cut), &ranges, parameters)
        };
        self.collect(scope, input, batches, (ranges, outcomes), progress)
    }

    /// Runs the batches and returns the outcome of each; `None` for those that were not begun.
    fn run_batches(
        &self,
        scope: Scope<'_, '_>,
        input: &Chunk,
        (on_error, cut): (OnError, Cut),
        ranges: &[Range<usize>],
        parameters: &Parameters,
    ) -> Vec<Option<Outcome>> {
        let environment = Environment { parameters, ..scope.runtime.environment };
        let prepared = scope.runtime.prepared;
        let outcomes: Vec<Mutex<Option<Outcome>>> = ranges.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let profiler = scope.runtime.profiler.as_ref();
        let own = profiler.and_then(Profiler::current);
        let work = || {
            while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < ranges.len())
            {
                let rows = input.slice(ranges[number].start, ranges[number].end);
                let outcome = self.batch_of(own, environment, prepared, &rows, cut.retry_ns);
                let goes_on = match &outcome.result {
                    Ok(_) => true,
                    Err(error) => on_error == OnError::Continue && error.code() != ErrorCode::Cancelled,
                };
                if !goes_on {
                    next.store(ranges.len(), Ordering::Relaxed);
                }
                *outcomes[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            }
        };
        let before = profiler.map(|profiler| profiler.switch(At::Parts));
        std::thread::scope(|scope| {
            for _ in 1..cut.threads.min(ranges.len()) {
                scope.spawn(|| {
                    let _helping = environment.interrupt.help();
                    work();
                });
            }
            work();
        });
        let outcomes = outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap_or_else(PoisonError::into_inner));
        let outcomes: Vec<Option<Outcome>> = outcomes.collect();
        if let (Some(profiler), Some(before)) = (profiler, before) {
            profiler.add(outcomes.iter().flatten().map(|outcome| &outcome.profile));
            profiler.switch(before);
        }
        outcomes
    }

    /// Runs one batch; what it costs besides the operators of the subplan, such as its commit, is charged to `own`.
    fn batch_of(
        &self,
        own: Option<OperatorId>,
        environment: Environment<'_>,
        prepared: &Prepared,
        rows: &Chunk,
        retry_ns: Option<u64>,
    ) -> Outcome {
        let Some(own) = own else { return self.batch(environment, prepared, rows, retry_ns) };
        let watch = Profiler::new(environment.clock);
        watch.switch(At::Operator(own));
        let mut outcome = self.batch(environment, prepared, rows, retry_ns);
        let mut rest = watch.finish().remove(&own).unwrap_or_default();
        for profile in outcome.profile.values() {
            rest.time_ns = rest.time_ns.saturating_sub(profile.time_ns);
            rest.storage = rest.storage.since(profile.storage);
        }
        let held = outcome.profile.entry(own).or_default();
        held.time_ns += rest.time_ns;
        held.storage.add(&rest.storage);
        outcome
    }

    /// Runs one batch and commits it; again, if another writer came first.
    fn batch(&self, environment: Environment<'_>, prepared: &Prepared, rows: &Chunk, retry_ns: Option<u64>) -> Outcome {
        let mut outcome = Outcome { result: Err(outside()), counters: Counters::default(), profile: Map::default() };
        let start_ns = environment.clock.now_ns();
        let mut wait_us = WAIT_US.0;
        for attempt in 1.. {
            outcome.result =
                self.attempt(environment, prepared, rows, attempt > TOGETHER).map(|(chunk, counters, profile)| {
                    outcome.counters = counters;
                    outcome.profile = profile;
                    chunk
                });
            let Err(error) = &outcome.result else { break };
            let goes_on = match retry_ns {
                None => error.is_outrun() && attempt < ATTEMPTS,
                Some(limit) => {
                    let is_in_time = environment.clock.now_ns().saturating_sub(start_ns) + wait_us * 1_000 < limit;
                    error.code() == ErrorCode::Conflict && is_in_time
                }
            };
            if !goes_on || retry_ns.is_some() && !waited(environment, wait_us) {
                break;
            }
            wait_us = (2 * wait_us).min(WAIT_US.1);
        }
        outcome
    }

    fn attempt(
        &self,
        environment: Environment<'_>,
        prepared: &Prepared,
        rows: &Chunk,
        is_alone: bool,
    ) -> Result<(Chunk, Counters, Map<OperatorId, OperatorProfile>)> {
        environment.interrupt.check()?;
        let mut transaction = environment.transactions.ok_or_else(outside)?.begin(is_alone)?;
        let mut rows = rows.clone();
        let edges = identity::located(&identity::edges_of(&rows.columns), transaction.view())?;
        identity::rename(&mut rows.columns, &edges);
        let edges = identity::located(&identity::edges_of_parameters(environment.parameters), transaction.view())?;
        let parameters = identity::rename_parameters(environment.parameters, &edges);
        let environment = Environment { parameters: &parameters, ..environment };
        let runtime = Runtime::new(GraphAccess::Write(&mut *transaction), prepared, environment);
        let mut chunk = self.run_rows(&runtime, &rows)?;
        let counters = runtime.counters.get();
        let profile = runtime.into_profile();
        let edges = identity::numbered(&identity::edges_of(&chunk.columns), transaction.view())?;
        identity::rename(&mut chunk.columns, &edges);
        transaction.commit()?;
        Ok((chunk, counters, profile))
    }

    /// Puts the rows of some batches to those of the ones before.
    fn collect(
        &self,
        scope: Scope<'_, '_>,
        input: &Chunk,
        batches: &Batches,
        (ranges, outcomes): (Vec<Range<usize>>, Vec<Option<Outcome>>),
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        progress.committed += outcomes.iter().flatten().filter(|outcome| outcome.result.is_ok()).count();
        progress.is_ended |= outcomes.iter().any(Option::is_none);
        for (range, outcome) in ranges.into_iter().zip(outcomes) {
            progress.batches += 1;
            let mut status = Status { number: progress.batches, started: outcome.is_some(), error: None };
            let result = outcome.map(|outcome| {
                scope.runtime.add(&outcome.counters);
                outcome.result
            });
            let mut chunk = match result {
                Some(Ok(chunk)) => chunk,
                Some(Err(error))
                    if batches.on_error == OnError::Fail
                        || matches!(error.code(), ErrorCode::Cancelled | ErrorCode::Timeout) =>
                {
                    return Err(told(error, progress.batches, progress.committed));
                }
                failed => {
                    progress.is_ended |= batches.on_error == OnError::Break;
                    status.error = failed.and_then(Result::err).map(|error| error.message().to_string());
                    self.without_result(&input.slice(range.start, range.end))
                }
            };
            progress.has_edges |= !identity::edges_of(&chunk.columns).is_empty();
            if batches.reports {
                chunk.columns.push(Arc::new(status.column(chunk.rows)));
            }
            progress.output.push(chunk)?;
        }
        Ok(())
    }
}

/// Waits, in short naps; false if the statement was cancelled meanwhile.
fn waited(environment: Environment<'_>, wait_us: u64) -> bool {
    let _waiting = meter::waiting(Wait::Lock);
    let mut left = wait_us;
    while left > 0 && environment.interrupt.check().is_ok() {
        let nap = left.min(NAP_US_MAX);
        std::thread::sleep(Duration::from_micros(nap));
        left -= nap;
    }
    left == 0
}

/// The report of `REPORT STATUS` on a transaction.
struct Status {
    number: usize,
    started: bool,
    error: Option<String>,
}

impl Status {
    fn column(&self, rows: usize) -> Column {
        let name = if self.started { Value::string(&format!("transaction-{}", self.number)) } else { Value::Null };
        let error = self.error.as_deref().map_or(Value::Null, Value::string);
        let committed = Value::Bool(self.started && self.error.is_none());
        let entries = [
            ("transactionId", name),
            ("started", Value::Bool(self.started)),
            ("committed", committed),
            ("errorMessage", error),
        ];
        let map = Value::map(entries.map(|(key, value)| (Arc::from(key), value)));
        let mut builder = ColumnBuilder::default();
        (0..rows).for_each(|_| builder.push(&map));
        builder.finish()
    }
}

/// Says what of the statement has happened nevertheless.
fn told(error: Error, number: usize, committed: usize) -> Error {
    let remedy = format!("transaction {number} was undone; {committed} others are committed and stay");
    error.with_remedy(remedy)
}

fn outside() -> Error {
    model::error!(
        TransactionState,
        "CALL {{ … }} IN TRANSACTIONS commits on its own, so it cannot run within a transaction"
    )
    .with_remedy("commit or roll back the transaction that is open, and run the query by itself")
}

fn positive(count: Option<&CompiledExpression>, scope: Scope<'_, '_>, default: u64, place: &str) -> Result<u64> {
    let Some(count) = count else { return Ok(default) };
    match row_count(count, scope, place)? {
        0 => Err(model::error!(Argument, "{place} needs a number from 1 up, found 0")),
        count => Ok(count),
    }
}
