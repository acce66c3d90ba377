//! The queue before the log: commits that wait for the disk wait for it together.
//!
//! Commits gather in a group. A commit that comes while nobody writes takes the group, writes and syncs it for all in
//! it, and wakes them and one of the next group, which gathered meanwhile, to do the same. Groups wait on two
//! conditions in turn, so that nobody is woken for another's sake.
//!
//! Invariant: a snapshot is published only after its record, and all before it, were written, and synced if the
//! durability asks for it; in the order of the log.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use model::Result;
use model::meter::{self, Wait};
use model::platform::Disk;

use super::counters::Counters;
use super::room::LogRoom;
use super::{Durability, lock};
use crate::error::StorageError;
use crate::snapshot::Snapshot;
use crate::wal::writer::WalWriter;
use crate::wal::{GROUP_MARK_BYTES, LogName};

/// The log and the queue before it.
pub(super) struct CommitLog {
    queue: Mutex<Queue>,
    /// Conditions on which the members of even and of odd groups wait.
    waiting: [Condvar; 2],
    file: Mutex<LogFile>,
    durability: Durability,
    counters: Arc<Counters>,
    /// Why nothing more may be written.
    failure: OnceLock<String>,
}

/// Commits that are not in the log yet.
#[derive(Default)]
struct Queue {
    /// Name of the log for which the records are framed; `None` in a store that only reads.
    name: Option<LogName>,
    /// The records of the group that gathers.
    records: Vec<u8>,
    /// The last of them, and the state it leaves.
    last: Option<(u64, Arc<Snapshot>)>,
    commits: u64,
    /// The number of the group that gathers.
    group: u64,
    /// The last transaction of the group before it.
    group_before_ends: u64,
    /// Somebody writes the group before.
    is_written: bool,
    /// The last transaction that is durable and published.
    finished: u64,
    /// The buffer of a group before, kept for its memory.
    spare: Vec<u8>,
    /// The room that the log has; `None` in a store that only reads.
    room: Option<LogRoom>,
}

struct LogFile {
    /// `None` in a store that only reads.
    writer: Option<WalWriter>,
    /// Something was written since the last sync.
    is_dirty: bool,
}

/// A buffer longer than this is not kept.
const SPARE_BYTES_MAX: usize = 1 << 20;

impl std::fmt::Debug for CommitLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CommitLog(finished {})", lock(&self.queue).finished)
    }
}

impl CommitLog {
    /// A log that holds transactions up to `finished`.
    pub(super) fn new(
        writer: Option<WalWriter>,
        disk: &Arc<dyn Disk>,
        finished: u64,
        durability: Durability,
        counters: Arc<Counters>,
    ) -> CommitLog {
        CommitLog {
            queue: Mutex::new(Queue {
                name: writer.as_ref().map(WalWriter::name),
                room: writer.as_ref().map(|writer| LogRoom::of(disk, writer.path(), writer.length())),
                finished,
                group_before_ends: finished,
                ..Queue::default()
            }),
            waiting: Default::default(),
            file: Mutex::new(LogFile { writer, is_dirty: false }),
            durability,
            counters,
            failure: OnceLock::new(),
        }
    }

    /// Why nothing more may be written, if that is so.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Remembers the first failure.
    pub(super) fn fail(&self, error: &model::Error) {
        self.failure.get_or_init(|| error.message().to_owned());
    }

    /// Takes the room that the record of a transaction needs on the disk. The caller holds the head, and enqueues the record
    /// if this does not fail.
    pub(super) fn let_in(&self, payload: &[u8]) -> Result<()> {
        let mut queue = lock(&self.queue);
        let Some(room) = &mut queue.room else { return Ok(()) };
        if !room.is_taken()
            && let Some(writer) = &mut lock(&self.file).writer
        {
            writer.seal_anew()?;
        }
        room.let_in(payload)
    }

    /// Takes the room that is kept for transactions that delete, if it can be had now; else a later commit takes it.
    pub(super) fn take_kept_room(&self) {
        if let Some(room) = &mut lock(&self.queue).room {
            let _ = room.take_kept();
        }
    }

    /// Adds a transaction. Called in the order of sequence numbers.
    pub(super) fn enqueue(&self, sequence: u64, payload: &[u8], snapshot: Arc<Snapshot>) {
        let mut queue = lock(&self.queue);
        if queue.records.is_empty() {
            queue.records.resize(GROUP_MARK_BYTES, 0);
        }
        let name = queue.name.expect("only a store that writes has transactions");
        name.frame(sequence, payload, &mut queue.records);
        queue.commits += 1;
        let before = queue.last.replace((sequence, snapshot));
        drop(queue);
        drop(before);
    }

    /// Returns once the transaction is as durable as asked and published, having done that for its whole group if need be.
    pub(super) fn finish(&self, sequence: u64, store: &Path, publish: impl FnOnce(Arc<Snapshot>)) -> Result<()> {
        let _waiting = meter::waiting(Wait::Log);
        let mut queue = lock(&self.queue);
        loop {
            if queue.finished >= sequence {
                return Ok(());
            }
            if let Some(cause) = self.failure() {
                return Err(StorageError::Closed { path: store.to_owned(), cause: cause.to_owned() }.into());
            }
            if !queue.is_written {
                break;
            }
            let group = if sequence > queue.group_before_ends { queue.group } else { queue.group - 1 };
            let waiting = &self.waiting[(group % 2) as usize];
            queue = waiting.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let Some((last, snapshot)) = queue.last.take() else {
            return Err(model::error!(Internal, "transaction {sequence} is neither queued nor finished"));
        };
        let spare = std::mem::take(&mut queue.spare);
        let mut records = std::mem::replace(&mut queue.records, spare);
        let commits = std::mem::take(&mut queue.commits);
        let group = queue.group;
        queue.group += 1;
        queue.group_before_ends = last;
        queue.is_written = true;
        drop(queue);

        let result = self.write(&mut records, commits);
        if let Err(error) = &result {
            self.fail(error);
        } else {
            publish(snapshot);
        }
        records.clear();
        let mut queue = lock(&self.queue);
        queue.is_written = false;
        if let Ok(length) = result {
            queue.finished = last;
            if queue.last.is_none()
                && let Some(room) = &mut queue.room
            {
                room.is_written_up_to(length);
            }
        }
        if records.capacity() <= SPARE_BYTES_MAX {
            queue.spare = records;
        }
        let is_next_waiting = queue.last.is_some();
        drop(queue);
        self.waiting[(group % 2) as usize].notify_all();
        let next = &self.waiting[((group + 1) % 2) as usize];
        if result.is_err() {
            next.notify_all();
        } else if is_next_waiting {
            next.notify_one();
        }
        result.map(|_| ())
    }

    /// Writes a group; gives the length of the log.
    fn write(&self, records: &mut [u8], commits: u64) -> Result<u64> {
        let mut file = lock(&self.file);
        let file = &mut *file;
        let writer = file.writer.as_mut().expect("only a store that writes has transactions");
        writer.append(records)?;
        self.counters.log_bytes.add(records.len() as u64);
        self.counters.groups.add(1);
        self.counters.largest_group.at_least(commits);
        match self.durability {
            Durability::Full => {
                writer.sync()?;
                self.counters.syncs.add(1);
            }
            Durability::Relaxed { .. } | Durability::Off => file.is_dirty = true,
        }
        Ok(writer.length())
    }

    /// Makes durable what was written since the last sync.
    pub(super) fn sync(&self) -> Result<()> {
        if self.failure().is_some() {
            return Ok(());
        }
        let mut file = lock(&self.file);
        let file = &mut *file;
        if !std::mem::take(&mut file.is_dirty) {
            return Ok(());
        }
        self.counters.syncs.add(1);
        let result = file.writer.as_mut().map_or(Ok(()), WalWriter::sync);
        if let Err(error) = &result {
            self.fail(error);
        }
        result
    }

    /// Goes on in another log; gives the one before, which is durable, and its room. The queue is empty, and nobody can add to
    /// it.
    pub(super) fn replace(&self, mut writer: WalWriter, room: LogRoom) -> (Option<WalWriter>, Option<LogRoom>) {
        let mut queue = lock(&self.queue);
        let mut file = lock(&self.file);
        if let Some(before) = &file.writer {
            writer.follow(before, queue.finished);
        }
        queue.name = Some(writer.name());
        let room_before = queue.room.replace(room);
        file.is_dirty = false;
        (file.writer.replace(writer), room_before)
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
