//! The queue before the log: commits that wait for the disk wait for it together.
//!
//! Invariant: a snapshot is published only after its record, and all before it, were written and synced.

use std::path::Path;
use std::sync::{Arc, Mutex};

use model::Result;

use super::{Durability, lock};
use crate::error::StorageError;
use crate::snapshot::Snapshot;
use crate::wal::writer::WalWriter;
use crate::wal::{GROUP_MARK_BYTES, frame};

/// The log and the queue before it.
pub(super) struct CommitLog {
    queue: Mutex<Queue>,
    file: Mutex<LogFile>,
    /// Why nothing more may be written.
    failure: Mutex<Option<String>>,
}

/// Commits that are not in the log yet.
#[derive(Default)]
struct Queue {
    records: Vec<u8>,
    /// The last of them, and the state it leaves.
    last: Option<(u64, Arc<Snapshot>)>,
}

struct LogFile {
    /// `None` in a store that only reads.
    writer: Option<WalWriter>,
    /// The last transaction that is durable and published.
    finished: u64,
    /// The buffer of the queue before, kept for its memory.
    spare: Vec<u8>,
}

/// A buffer longer than this is not kept.
const SPARE_BYTES_MAX: usize = 1 << 20;

impl std::fmt::Debug for CommitLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CommitLog(finished {})", lock(&self.file).finished)
    }
}

impl CommitLog {
    /// A log that holds transactions up to `finished`.
    pub(super) fn new(writer: Option<WalWriter>, finished: u64) -> CommitLog {
        CommitLog {
            queue: Mutex::default(),
            file: Mutex::new(LogFile { writer, finished, spare: Vec::new() }),
            failure: Mutex::default(),
        }
    }

    /// Why nothing more may be written, if that is so.
    pub(super) fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Remembers the first failure.
    pub(super) fn fail(&self, error: &model::Error) {
        lock(&self.failure).get_or_insert_with(|| error.message().to_owned());
    }

    /// Adds a transaction. Called in the order of sequence numbers.
    pub(super) fn enqueue(&self, sequence: u64, payload: &[u8], snapshot: Arc<Snapshot>) {
        let mut queue = lock(&self.queue);
        if queue.records.is_empty() {
            queue.records.resize(GROUP_MARK_BYTES, 0);
        }
        frame(sequence, payload, &mut queue.records);
        queue.last = Some((sequence, snapshot));
    }

    /// Returns once the transaction is durable and published, having done that for all that are queued if need be.
    pub(super) fn finish(
        &self,
        sequence: u64,
        durability: Durability,
        store: &Path,
        publish: impl FnOnce(Arc<Snapshot>),
    ) -> Result<()> {
        let mut file = lock(&self.file);
        if file.finished >= sequence {
            return Ok(());
        }
        if let Some(cause) = self.failure() {
            return Err(StorageError::Closed { path: store.to_owned(), cause }.into());
        }
        let spare = std::mem::take(&mut file.spare);
        let (mut records, last) = {
            let mut queue = lock(&self.queue);
            (std::mem::replace(&mut queue.records, spare), queue.last.take())
        };
        let Some((last, snapshot)) = last else {
            return Err(model::error!(Internal, "transaction {sequence} is neither queued nor finished"));
        };
        if let Err(error) = file.write(&mut records, durability) {
            self.fail(&error);
            return Err(error);
        }
        file.finished = last;
        publish(snapshot);
        records.clear();
        if records.capacity() <= SPARE_BYTES_MAX {
            file.spare = records;
        }
        Ok(())
    }

    /// Goes on in another log. The queue is empty, and no transaction has begun.
    pub(super) fn replace(&self, writer: WalWriter) {
        lock(&self.file).writer = Some(writer);
    }
}

impl Drop for CommitLog {
    /// Seals the log of a store that is closed in good order.
    fn drop(&mut self) {
        if self.failure().is_none()
            && let Some(writer) = &mut lock(&self.file).writer
        {
            // A log that could not be sealed is read as that of a store that was killed.
            let _ = writer.seal();
        }
    }
}

impl LogFile {
    fn write(&mut self, records: &mut [u8], durability: Durability) -> Result<()> {
        let writer = self.writer.as_mut().expect("only a store that writes has transactions");
        writer.append(records)?;
        match durability {
            Durability::Full => writer.sync(),
            Durability::Off => Ok(()),
        }
    }
}
