//! The merge of the memtable into files while transactions go on.
//!
//! Under a short turn the log is changed for a new one and the state at that moment kept. Its files are written without any
//! turn. What was committed meanwhile is repeated from its records on the new files, most of it without a turn, the last
//! few records within one, which then makes the new files those that everybody begins with.
//!
//! On a full disk there is no room for a second log, nor any to lose: a flush then has the writers' turn from its beginning,
//! and changes the log only once the files are there, which make the old one, and its room, superfluous. If it fails all is
//! as before: the log goes on, with what is kept behind it for transactions that delete.
//!
//! A crash at any moment leaves a manifest and all logs from the one it names on: those that the files do not hold.

use std::path::Path;
use std::sync::Arc;

use model::platform::Disk;
use model::{Consumer, ErrorCode, Interrupt, MemoryBudget, Reservation, Result};

use super::background::Work;
use super::room::LogRoom;
use super::turn::TurnOfFlush;
use super::{Engine, lock};
use crate::bulk::Built;
use crate::codec::bytes::Get;
use crate::error::StorageError;
use crate::flush;
use crate::format::FileKind;
use crate::snapshot::Snapshot;
use crate::transaction::catch_up::Committed;
use crate::version::Version;
use crate::wal::LogName;
use crate::wal::writer::WalWriter;

/// Records that are repeated within the turn at most, if it can be had so.
const RECORDS_IN_TURN: usize = 16;
/// Rounds of repeating without the turn; commits that come faster than they can be repeated must wait then.
const ROUNDS: usize = 8;

/// State that only one flush, compaction of all, or rebuild has at a time.
#[derive(Debug)]
pub(super) struct Files {
    /// The number of the log that is written now.
    pub(super) log: u64,
}

/// Records of the log that were committed since a flush began to write files.
#[derive(Debug)]
pub(super) struct SinceFlush {
    records: Vec<Arc<Committed>>,
    memory: Reservation,
}

impl SinceFlush {
    fn new(memory: &Arc<MemoryBudget>) -> SinceFlush {
        SinceFlush { records: Vec::new(), memory: memory.empty(Consumer::Memtable) }
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: Arc<Committed>) {
        self.memory.resize(self.memory.bytes() + record.log.len() + size_of::<Committed>());
        self.records.push(record);
    }
}

impl Engine {
    /// Merges all that was committed so far into files.
    pub(super) fn flush(&self, files: &mut Files, interrupt: &Interrupt) -> Result<()> {
        let start = self.platform.clock.now_ns();
        let result = self.try_flush(files, interrupt);
        if !matches!(result, Ok(false)) {
            self.counters.flushes.add(1);
            self.counters.flush_ns.add(self.platform.clock.now_ns() - start);
        }
        lock(&self.head).since_flush = None;
        self.tell_flushed(Work::Flush, result.as_ref().err());
        result.map(|_| ())
    }

    /// False if there was nothing to merge.
    fn try_flush(&self, files: &mut Files, interrupt: &Interrupt) -> Result<bool> {
        {
            let head = lock(&self.head);
            let memtable = &head.snapshot.memtable;
            if memtable.is_empty() {
                return Ok(false);
            }
            head.snapshot.version.check_slots(usize::from(!memtable.edges.is_empty()))?;
        }
        let (snapshot, turn) = self.begin_flush(files)?;
        let number = files.log + u64::from(turn.is_some());
        let (config, mut memory) = self.merge_memory();
        // A flush copies out of the memtable first, which stays as it is for readers.
        memory.need_more(snapshot.memtable.bytes);
        let built = flush::build(&snapshot.version, &snapshot.memtable, number, &config, interrupt)?;
        memory.release();
        self.counters.flushed_bytes.add(built.edge_bytes());
        drop(snapshot);
        let make_log = |_| self.new_log(number, |disk, path| Ok(LogRoom::of_empty(disk, path)));
        let log = turn.as_ref().map(make_log).transpose()?;
        let mut current = lock(&self.current);
        let version = self.install_files(built, &current, log.is_some().then_some(number))?;
        self.make_current(&mut current, &version);
        if let Some((writer, room)) = log {
            files.log = number;
            drop(self.log.replace(writer, room));
        }
        // The files are the store's by now: what cannot be put on them cannot be gone on with.
        self.install(Snapshot::new(version)).inspect_err(|error| self.log.fail(error))?;
        drop(current);
        self.remove_logs_before(files.log);
        if turn.is_some() {
            self.log.take_kept_room();
        }
        Ok(true)
    }

    /// Begins a flush: gives the state to write into files. That is what the logs before the current one lead to, or, where the
    /// disk is full, all that was committed, with the turn to commit: then the log and its room stay until the files are there,
    /// and a flush that fails has taken nothing.
    fn begin_flush(&self, files: &mut Files) -> Result<(Arc<Snapshot>, Option<TurnOfFlush<'_>>)> {
        let mut turn = if self.has_found_disk_full() { self.turn_of_flush() } else { None };
        if turn.is_none() {
            match self.change_log(files) {
                Err(error) if error.code() == ErrorCode::DiskFull => {
                    turn = Some(self.turn_of_flush().ok_or(error)?);
                }
                changed => return Ok((changed?, None)),
            }
        }
        let head = lock(&self.head);
        self.finish_commits(head.sequence)?;
        self.log.sync()?;
        Ok((head.snapshot.clone(), turn))
    }

    /// Makes built files the store's; if that fails, the new log that was made with them goes, unless they are.
    fn install_files(&self, built: Built, current: &Arc<Version>, new_log: Option<u64>) -> Result<Arc<Version>> {
        built.install(current).inspect_err(|error| {
            self.fail_if_replaced(current, error);
            if let Some(number) = new_log.filter(|_| current.is_current()) {
                self.remove_new_log(number);
            }
        })
    }

    /// Makes the log of that number, which is empty, with room behind it. Leaves none if it fails.
    fn new_log(
        &self,
        number: u64,
        room: impl FnOnce(&Arc<dyn Disk>, &Path) -> Result<LogRoom>,
    ) -> Result<(WalWriter, LogRoom)> {
        let disk = &self.platform.disk;
        let path = self.path.join(FileKind::Wal.file_name(number));
        if disk.exists(&path) {
            disk.remove(&path).map_err(|error| StorageError::io("remove", &path, error))?;
        }
        let identity = lock(&self.head).snapshot.version.manifest().store_identity;
        let make = || {
            let writer = WalWriter::create(&**disk, &self.path, LogName::new(identity, number))?;
            let room = room(disk, &path)?;
            // Commits are acknowledged from the new log before any manifest names it.
            disk.sync_directory(&self.path).map_err(|error| StorageError::io("sync", &self.path, error))?;
            Ok((writer, room))
        };
        make().inspect_err(|_: &model::Error| self.remove_new_log(number))
    }

    /// Removes a log that nothing was written to. One that cannot be removed now is when the next is made, or at opening.
    fn remove_new_log(&self, number: u64) {
        let path = self.path.join(FileKind::Wal.file_name(number));
        if self.platform.disk.exists(&path) {
            let _ = self.platform.disk.remove(&path);
        }
    }

    /// Goes on in a new log; gives the state that the logs before it lead to. Without room for it the log goes on as it was.
    pub(super) fn change_log(&self, files: &mut Files) -> Result<Arc<Snapshot>> {
        let number = files.log + 1;
        let (writer, room) = self.new_log(number, LogRoom::of_new)?;
        let mut head = lock(&self.head);
        self.finish_commits(head.sequence)?;
        // The old log is whole before the new one says anything, at every durability.
        self.log.sync()?;
        let (before, room_before) = self.log.replace(writer, room);
        files.log = number;
        head.since_flush = Some(SinceFlush::new(&self.memory));
        let snapshot = head.snapshot.clone();
        drop(head);
        // Until the files are there the old log is all there is of it: damage at its end must not look like a torn write.
        match before.map_or(Ok(()), |mut before| before.seal()) {
            // All of it is durable; only the mark that says so found no room.
            Err(error) if error.code() == ErrorCode::DiskFull => {}
            sealed => sealed.inspect_err(|error| self.log.fail(error))?,
        }
        drop(room_before);
        Ok(snapshot)
    }

    /// Makes new files those that everybody begins with, with what was committed since over them.
    fn install(&self, mut snapshot: Snapshot) -> Result<()> {
        for round in 0.. {
            let mut head = lock(&self.head);
            let empty = || SinceFlush::new(&self.memory);
            let records = head.since_flush.as_mut().map_or_else(empty, |since| std::mem::replace(since, empty()));
            let is_last = records.records.len() <= RECORDS_IN_TURN || round == ROUNDS;
            if !is_last {
                drop(head);
            } else {
                repeat(&mut snapshot, &records.records)?;
                self.finish_commits(head.sequence)?;
                // The same edges, in other places.
                snapshot.edges = head.snapshot.edges.clone();
                let snapshot = Arc::new(snapshot);
                self.set_memtable_bytes(snapshot.memtable.bytes);
                let before = std::mem::replace(&mut head.snapshot, snapshot.clone());
                let published = std::mem::replace(&mut *lock(&self.published), snapshot);
                head.since_flush = None;
                head.flushes += 1;
                drop(head);
                drop((before, published));
                return Ok(());
            }
            repeat(&mut snapshot, &records.records)?;
        }
        Ok(())
    }

    /// Removes logs that the files hold. One that cannot be removed now is removed when the store is next opened.
    pub(super) fn remove_logs_before(&self, number: u64) {
        let Ok(names) = self.platform.disk.list(&self.path) else { return };
        for name in names {
            if matches!(FileKind::parse(&name), Some((FileKind::Wal, other)) if other < number) {
                let _ = self.platform.disk.remove(&self.path.join(&name));
            }
        }
    }

    /// Goes on with files that were built anew, and nothing written since. Nobody begins or commits meanwhile.
    pub(super) fn publish_version(&self, version: Arc<Version>) {
        let snapshot = Arc::new(Snapshot::new(version));
        self.set_memtable_bytes(0);
        let mut head = lock(&self.head);
        head.era += 1;
        // In the turn, so that no transaction of the era before gives ids back that were loaded.
        self.next_node.fetch_max(snapshot.memtable.node_id_bound(), std::sync::atomic::Ordering::Relaxed);
        head.snapshot = snapshot.clone();
        *lock(&self.published) = snapshot;
    }
}

/// Repeats records of the log.
fn repeat(snapshot: &mut Snapshot, records: &[Arc<Committed>]) -> Result<()> {
    let path = Path::new("commits since the flush began");
    records.iter().try_for_each(|record| snapshot.apply_record(&mut Get::new(&record.log, path, 0), &record.made, None))
}
