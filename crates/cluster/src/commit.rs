//! Commits: transactions that wait together are compared with the records since they began, and appended as one record.
//!
//! The first that waits leads the others. Its append at the next number either puts the record into the log, or finds the
//! record of another process there, which it compares in turn. A transaction is committed by its append. Its commit returns
//! when the rows of its record and of all before it are written, so that whoever begins afterwards sees them.

mod pending;
mod turns;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use model::{Error, ErrorCode, Result, error, meter};

use crate::log::{Log, OwnRows, Records, last_without_gap};
use crate::record::Record;
use crate::ring::Attempt;

use self::turns::Turns;

pub(crate) use pending::{Answer, Doubts, Pending};

/// Bytes of a record beyond which no further transaction joins it, so that it can be appended.
const RECORD_BYTES_MAX: usize = 64 << 10;
/// Transactions of one record at most.
const MEMBERS_MAX: usize = 256;

/// Transactions that wait for their commit.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    turned: Condvar,
    attempts: AtomicU64,
    turns: Turns,
}

#[derive(Debug, Default)]
struct Waiting {
    transactions: Vec<Arc<Pending>>,
    is_led: bool,
}

impl Waiting {
    /// The transactions of the next record: one at least, and as many more as fit.
    fn next_group(&mut self) -> Vec<Arc<Pending>> {
        let mut bytes = 0;
        let fits = |pending: &&Arc<Pending>| {
            bytes += pending.bytes;
            bytes <= RECORD_BYTES_MAX
        };
        let count = self.transactions.iter().take(MEMBERS_MAX).take_while(fits).count().max(1);
        self.transactions.drain(..count.min(self.transactions.len())).collect()
    }
}

/// Ends a lead, also by a panic: no one waits for ever.
struct Lead<'a> {
    queue: &'a Queue,
    group: Vec<Arc<Pending>>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        for pending in &self.group {
            pending.answer_if_none(|| error!(Internal, "the commit ended without an answer"));
        }
        self.queue.lock().is_led = false;
        self.queue.turned.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits a transaction whose long bodies are written: the number of its record.
    pub(crate) fn commit(&self, log: &Log, pending: Arc<Pending>) -> Result<u64> {
        let mut waiting = self.lock();
        waiting.transactions.push(pending.clone());
        loop {
            if let Some(answer) = pending.take_answer() {
                return answer;
            }
            if waiting.is_led {
                let _wait = meter::waiting(meter::Wait::Lock);
                waiting = self.turned.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            waiting.is_led = true;
            drop(waiting);
            let mut lead = Lead { queue: self, group: Vec::new() };
            let start_ns = self.turns.wait(log);
            // Those that came meanwhile join.
            lead.group = self.lock().next_group();
            if let Err(failure) = self.lead(log, &lead.group, start_ns) {
                lead.group.iter().for_each(|pending| pending.answer_if_none(|| failure.clone()));
            }
            drop(lead);
            waiting = self.lock();
        }
    }

    /// Commits a group, and answers its transactions. After an error those without an answer are not committed.
    fn lead(&self, log: &Log, group: &[Arc<Pending>], mut start_ns: u64) -> Result<()> {
        let oldest = group.iter().map(|pending| pending.base).min().unwrap_or_default();
        let mut known = log.records_after(oldest)?;
        // The end of what is compared, not of what this process knows: another thread may have read on meanwhile.
        let mut tail = last_without_gap(&known, oldest);
        loop {
            let members = survivors(log, group, &known)?;
            if members.is_empty() {
                return Ok(());
            }
            let attempt = self.attempts.fetch_add(1, Ordering::Relaxed);
            let record = Arc::new(Record {
                writer: log.writer,
                attempt,
                epoch_records: log.settings.epoch_records,
                members: members.iter().map(|pending| pending.member.clone()).collect(),
            });
            let sequence = tail + 1;
            match log.ring.append(log.epoch(sequence), sequence as i64, &record.encode()) {
                Attempt::Added => {
                    self.turns.ended(log, start_ns, false);
                    log.note(sequence, &record);
                    finish(log, sequence, &record, &members);
                    return Ok(());
                }
                Attempt::Taken(found) => {
                    let found = log.decode(&found)?;
                    log.note(sequence, &found);
                    known.insert(sequence, found);
                    self.turns.ended(log, start_ns, true);
                    start_ns = self.turns.wait(log);
                    known.extend(log.records_after(sequence)?);
                    tail = last_without_gap(&known, sequence);
                }
                Attempt::Sealed => {
                    log.catch_up()?;
                    return Err(crate::log::too_old());
                }
                Attempt::Failed(error) => return Err(error),
                Attempt::Unknown(error) => {
                    let unknown = || outcome_unknown(&error);
                    members.iter().for_each(|pending| pending.answer_if_none(unknown));
                    return Ok(());
                }
            }
        }
    }
}

fn outcome_unknown(cause: &Error) -> Error {
    Error::new(
        ErrorCode::OutcomeUnknown,
        format!("the append of the commit to the log was not answered: {}", cause.message()),
    )
}

/// The transactions that can commit behind the known records and together; the others are answered.
fn survivors(log: &Log, group: &[Arc<Pending>], known: &Records) -> Result<Vec<Arc<Pending>>> {
    let mut members: Vec<Arc<Pending>> = Vec::new();
    for pending in group.iter().filter(|pending| !pending.is_answered()) {
        let later = known.range(pending.base + 1..).flat_map(|(_, record)| &record.members);
        let beside = members.iter().map(|other| &other.member);
        let mut conflict = None;
        for earlier in later.chain(beside) {
            conflict = pending.conflict(earlier, &log.ring)?;
            if conflict.is_some() {
                break;
            }
        }
        match conflict {
            Some(conflict) => pending.answer_if_none(|| conflict),
            None => members.push(pending.clone()),
        }
    }
    Ok(members)
}

/// Writes the rows of a record that is in the log, waits for those before it, and answers.
fn finish(log: &Log, sequence: u64, record: &Record, members: &[Arc<Pending>]) {
    let own: OwnRows = members.iter().map(|one| (one.member.transaction, one.rows.clone())).collect();
    let outcome = log.apply(sequence, record, &own).and_then(|()| log.include(sequence));
    for pending in members {
        pending.answer_with(match &outcome {
            Ok(_) => Ok(sequence),
            Err(cause) => Err(Error::new(
                ErrorCode::OutcomeUnknown,
                format!(
                    "the commit is in the log as record {sequence} and will show, but it is not known when: {}",
                    cause.message()
                ),
            )),
        });
    }
    if let Ok(state) = outcome
        && sequence.is_multiple_of(log.settings.checkpoint_records)
    {
        // One that fails loses nothing: the next is tried, and the log is still there.
        drop(log.write_checkpoint(&state));
    }
}
