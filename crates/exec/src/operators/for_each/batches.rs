//! `CALL { … } IN TRANSACTIONS`: the rows are cut into batches, each of which is a transaction of its own.
//!
//! A batch that fails leaves nothing of itself; those that were committed before stay. One that another writer came
//! before is run again.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cypher::plan::{self, OnError, OperatorId};
use model::procedure::GraphAccess;
use model::{Column, ColumnBuilder, Error, ErrorCode, Map, Result, Value};

use super::ForEach;
use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::{Lowering, Prepared};
use crate::operators::limit::row_count;
use crate::profile::{Counters, OperatorProfile};
use crate::rows::RowBuffer;
use crate::runtime::{Environment, Runtime, Scope};

/// How many rows make a batch if nothing is said.
const BATCH_ROWS: u64 = 1_000;
/// How often a batch is tried where others write the same.
const ATTEMPTS: usize = 100;

/// How the rows are cut.
pub(super) struct Batches {
    rows: Option<CompiledExpression>,
    concurrent: Option<Option<CompiledExpression>>,
    on_error: OnError,
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
        Ok(Batches { rows, concurrent, on_error: batches.on_error, reports })
    }
}

/// What became of a batch.
struct Outcome {
    result: Result<Chunk>,
    counters: Counters,
    profile: Map<OperatorId, OperatorProfile>,
}

impl ForEach {
    /// Runs the subplan for all rows, batch by batch.
    pub(super) fn in_batches(&self, scope: Scope<'_, '_>, input: &Chunk, batches: &Batches) -> Result<Chunk> {
        let size = positive(batches.rows.as_ref(), scope, BATCH_ROWS, "OF … ROWS")? as usize;
        let threads = match &batches.concurrent {
            None => 1,
            Some(count) => {
                let default = scope.runtime.environment.settings.threads.max(1) as u64;
                positive(count.as_ref(), scope, default, "IN … CONCURRENT TRANSACTIONS")? as usize
            }
        };
        let ranges: Vec<Range<usize>> =
            (0..input.rows).step_by(size).map(|start| start..(start + size).min(input.rows)).collect();
        let outcomes = self.run_batches(scope, input, batches, &ranges, threads);
        let transactions = scope.runtime.environment.transactions;
        scope.runtime.renew(transactions.ok_or_else(outside)?.snapshot()?);
        self.collect(scope, input, batches, ranges, outcomes)
    }

    /// What became of each batch; nothing of those that were not begun.
    fn run_batches(
        &self,
        scope: Scope<'_, '_>,
        input: &Chunk,
        batches: &Batches,
        ranges: &[Range<usize>],
        threads: usize,
    ) -> Vec<Option<Outcome>> {
        let (environment, prepared) = (scope.runtime.environment, scope.runtime.prepared);
        let outcomes: Vec<Mutex<Option<Outcome>>> = ranges.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < ranges.len())
            {
                let rows = input.slice(ranges[number].start, ranges[number].end);
                let outcome = self.batch(environment, prepared, &rows);
                let goes_on = match &outcome.result {
                    Ok(_) => true,
                    Err(error) => batches.on_error == OnError::Continue && error.code() != ErrorCode::Cancelled,
                };
                if !goes_on {
                    next.store(ranges.len(), Ordering::Relaxed);
                }
                *outcomes[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(ranges.len()) {
                scope.spawn(work);
            }
            work();
        });
        outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Runs one batch and commits it; again, if another writer came first.
    fn batch(&self, environment: Environment<'_>, prepared: &Prepared, rows: &Chunk) -> Outcome {
        let mut outcome = Outcome { result: Err(outside()), counters: Counters::default(), profile: Map::default() };
        for _ in 0..ATTEMPTS {
            outcome.result = self.attempt(environment, prepared, rows).map(|(chunk, counters, profile)| {
                outcome.counters = counters;
                outcome.profile = profile;
                chunk
            });
            match &outcome.result {
                Err(error) if error.code() == ErrorCode::Conflict => {}
                _ => break,
            }
        }
        outcome
    }

    fn attempt(
        &self,
        environment: Environment<'_>,
        prepared: &Prepared,
        rows: &Chunk,
    ) -> Result<(Chunk, Counters, Map<OperatorId, OperatorProfile>)> {
        environment.interrupt.check()?;
        let mut transaction = environment.transactions.ok_or_else(outside)?.begin()?;
        let runtime = Runtime::new(GraphAccess::Write(&mut *transaction), prepared, environment);
        let chunk = self.run_rows(&runtime, rows)?;
        let counters = runtime.counters.get();
        let profile = runtime.into_profile();
        transaction.commit()?;
        Ok((chunk, counters, profile))
    }

    /// Puts the rows of all batches together.
    fn collect(
        &self,
        scope: Scope<'_, '_>,
        input: &Chunk,
        batches: &Batches,
        ranges: Vec<Range<usize>>,
        outcomes: Vec<Option<Outcome>>,
    ) -> Result<Chunk> {
        let mut output = RowBuffer::default();
        let committed = outcomes.iter().flatten().filter(|outcome| outcome.result.is_ok()).count();
        for (number, (range, outcome)) in ranges.into_iter().zip(outcomes).enumerate() {
            let mut status = Status { number: number + 1, started: outcome.is_some(), error: None };
            let result = outcome.map(|outcome| {
                scope.runtime.add(&outcome.counters, &outcome.profile);
                outcome.result
            });
            let mut chunk = match result {
                Some(Ok(chunk)) => chunk,
                Some(Err(error))
                    if batches.on_error == OnError::Fail
                        || matches!(error.code(), ErrorCode::Cancelled | ErrorCode::Timeout) =>
                {
                    return Err(told(error, number + 1, committed));
                }
                failed => {
                    status.error = failed.and_then(Result::err).map(|error| error.message().to_string());
                    self.without_result(&input.slice(range.start, range.end))
                }
            };
            if batches.reports {
                chunk.columns.push(Arc::new(status.column(chunk.rows)));
            }
            output.push(chunk);
        }
        Ok(output.finish(self.keep.len() + self.added.len() + self.missing + usize::from(batches.reports)))
    }
}

/// What `REPORT STATUS` tells of a transaction.
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
