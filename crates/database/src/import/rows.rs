//! Runs over the rows of a table with several threads, and splits rows by the text of a column.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use model::{Column, Map, Result, Value};
use sources::files::{Chunk, RowBatch, Table};

use super::Run;

/// Batches that may wait to be taken, for each thread.
const WAITING_PER_THREAD: usize = 4;

/// Rows of one chunk on their way to be taken: a batch, or the chunk's end.
type Parsed = (usize, Option<Result<RowBatch>>);

/// Parses with all threads and gives the batches to `take`, on this thread and in the order of the file.
pub(super) fn in_order(run: &Run<'_>, table: &dyn Table, take: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()> {
    let numbered = Mutex::new(0_usize);
    let next = || -> Result<Option<(usize, Chunk)>> {
        let mut number = numbered.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = table.next_chunk()?;
        *number += 1;
        Ok(chunk.map(|chunk| (*number - 1, chunk)))
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Parsed>(WAITING_PER_THREAD * run.plan.threads.max(1));
        for _ in 0..run.plan.threads.max(1) {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || parse_all(run, table, next, &sender));
        }
        drop(sender);
        take_in_order(receiver, take)
    })
}

/// A worker: until the file ends, or nobody takes any more.
fn parse_all(
    run: &Run<'_>,
    table: &dyn Table,
    next: &(dyn Fn() -> Result<Option<(usize, Chunk)>> + Sync),
    sender: &mpsc::SyncSender<Parsed>,
) {
    let stop = || model::error!(Cancelled, "the import stopped");
    loop {
        let (number, chunk) = match run.interrupt.check().and_then(|()| next()) {
            Ok(Some(numbered)) => numbered,
            Ok(None) => return,
            Err(failure) => {
                let _ = sender.send((0, Some(Err(failure))));
                return;
            }
        };
        let mut send = |batch: RowBatch| sender.send((number, Some(Ok(batch)))).map_err(|_| stop());
        let last = match table.parse(chunk, &mut send) {
            Ok(()) => None,
            Err(failure) => Some(Err(failure)),
        };
        if sender.send((number, last)).is_err() {
            return;
        }
    }
}

fn take_in_order(receiver: mpsc::Receiver<Parsed>, take: &mut dyn FnMut(RowBatch) -> Result<()>) -> Result<()> {
    let mut waiting: BTreeMap<usize, (Vec<RowBatch>, bool)> = BTreeMap::new();
    let mut current = 0;
    for (number, parsed) in receiver {
        match parsed {
            Some(Err(failure)) => return Err(failure),
            Some(Ok(batch)) if number == current => take(batch)?,
            Some(Ok(batch)) => waiting.entry(number).or_default().0.push(batch),
            None => waiting.entry(number).or_default().1 = true,
        }
        while let Some((batches, ended)) = waiting.get_mut(&current) {
            for batch in std::mem::take(batches) {
                take(batch)?;
            }
            if !*ended {
                break;
            }
            waiting.remove(&current);
            current += 1;
        }
    }
    Ok(())
}

/// Runs `work` on every batch, on as many threads as the plan allows, each with its own state.
pub(super) fn in_any_order<S: Send>(
    run: &Run<'_>,
    table: &dyn Table,
    states: Vec<S>,
    work: &(dyn Fn(&mut S, RowBatch) -> Result<()> + Sync),
) -> Result<Vec<S>> {
    // One thread's failure ends the others at their next chunk: the import is lost anyway.
    let failed = AtomicBool::new(false);
    let one = |mut state: S| -> Result<S> {
        let mut chunks = || -> Result<()> {
            while !failed.load(Ordering::Relaxed)
                && let Some(chunk) = table.next_chunk()?
            {
                run.interrupt.check()?;
                table.parse(chunk, &mut |batch| work(&mut state, batch))?;
            }
            Ok(())
        };
        chunks().inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        Ok(state)
    };
    std::thread::scope(|scope| {
        let one = &one;
        let workers: Vec<_> = states.into_iter().map(|state| scope.spawn(move || one(state))).collect();
        let ended: Vec<Result<S>> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        ended.into_iter().collect()
    })
}

/// The rows of a batch by the text of a column, `None` where it has none, in order of first appearance; `None` in place
/// of the rows stands for all of them.
pub(super) fn by_text(column: &Column, rows: usize) -> Vec<(Option<String>, Option<Vec<u32>>)> {
    let mut numbers: Map<Option<String>, usize> = Map::default();
    let mut parts: Vec<(Option<String>, Vec<u32>)> = Vec::new();
    for row in 0..rows {
        let text = match column.value(row) {
            Value::String(text) => Some(text.to_string()),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        let number = *numbers.entry(text.clone()).or_insert_with(|| {
            parts.push((text, Vec::new()));
            parts.len() - 1
        });
        parts[number].1.push(row as u32);
    }
    let whole = parts.len() == 1;
    parts.into_iter().map(|(text, rows)| (text, if whole { None } else { Some(rows) })).collect()
}

/// Some rows of a batch, without its bad ones.
pub(super) fn pick(batch: &RowBatch, rows: &[u32]) -> RowBatch {
    RowBatch {
        columns: batch.columns.iter().map(|column| column.gather(rows)).collect(),
        lines: rows.iter().map(|&row| batch.lines[row as usize]).collect(),
        bad: Vec::new(),
        texts: batch.texts.gather(rows),
    }
}

/// Position in a file before a batch, from which the progress of a batch is computed.
#[derive(Debug, Default)]
pub(super) struct Position(pub(super) AtomicU64);

/// An error that names the file it came from.
pub(super) fn in_file<T>(path: &Path, outcome: Result<T>) -> Result<T> {
    let place = path.display().to_string();
    outcome.map_err(|failure| if failure.message().starts_with(&place) { failure } else { failure.within(&place) })
}
