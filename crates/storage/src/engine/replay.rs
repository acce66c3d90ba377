//! The logs that opening finds, repeated: into a memtable as far as there is room for it, into files beyond.
//!
//! A log may be longer than memory has room for: its store was written with a larger limit, or was killed while files could
//! not be written. Files that are made on the way are named by no manifest before all logs are repeated; then one manifest
//! names them, and a new log. A crash before leaves logs and manifest as they were. In a store that is only read no manifest
//! ever names them: they have no names on the disk, and go with the last reader.

use std::path::Path;
use std::sync::Arc;

use model::platform::Platform;
use model::{Error, Interrupt, MemoryBudget, Result};

use super::merges::merge_memory;
use crate::bulk::Built;
use crate::error::StorageError;
use crate::flush;
use crate::format::FileKind;
use crate::problem::Problem;
use crate::snapshot::Snapshot;
use crate::transaction::made::Made;
use crate::version::{Version, VersionEdit};
use crate::wal::LogName;
use crate::wal::replay::{RecordRoom, Replayed, remove_other_logs, replay_all};
use crate::wal::torn::TornLog;
use crate::wal::writer::WalWriter;

/// The logs of a store that was opened.
pub(super) struct Logs {
    /// The one to go on with.
    pub(super) writer: WalWriter,
    /// Its number.
    pub(super) number: u64,
    /// The last transaction.
    pub(super) sequence: u64,
    /// Ends behind their sound parts.
    pub(super) torn: Vec<TornLog>,
}

/// Settings that repeating logs needs.
pub(super) struct Replay<'a> {
    pub(super) path: &'a Path,
    pub(super) platform: &'a Platform,
    pub(super) memory: &'a Arc<MemoryBudget>,
    /// Bytes of the memtable beyond which it is put into files.
    pub(super) most: usize,
    /// Room for one record.
    pub(super) room: RecordRoom,
    /// Heard between records, and while files and indexes are built.
    pub(super) interrupt: &'a Interrupt,
}

/// Writes that memory has no room for while they are repeated: they go to files, and what follows goes on over these.
pub(crate) struct Overflow<'a> {
    memory: &'a Arc<MemoryBudget>,
    /// Bytes of the memtable beyond which it is put into files.
    most: usize,
    interrupt: &'a Interrupt,
    built: Vec<Built>,
    /// True if what files that are damaged cannot be read for stays in memory.
    is_of_salvage: bool,
    /// The error for which something could not be put into files.
    failure: Option<Error>,
}

impl<'a> Overflow<'a> {
    /// Nothing in files yet.
    pub(crate) fn new(memory: &'a Arc<MemoryBudget>, most: usize, interrupt: &'a Interrupt) -> Overflow<'a> {
        Overflow { memory, most, interrupt, built: Vec::new(), is_of_salvage: false, failure: None }
    }

    /// The same, for a store that is damaged: files are written from what older files hold, too. What these cannot tell stays
    /// in memory, whatever it takes.
    pub(crate) fn of_salvage(memory: &'a Arc<MemoryBudget>, most: usize, interrupt: &'a Interrupt) -> Overflow<'a> {
        Overflow { is_of_salvage: true, ..Overflow::new(memory, most, interrupt) }
    }

    /// True if memory has no room for the memtable.
    pub(crate) fn is_due(&self, snapshot: &Snapshot) -> bool {
        snapshot.memtable.bytes > self.most
    }

    /// Puts the memtable into files if memory has no room for it; true if it did.
    pub(crate) fn make_room(&mut self, snapshot: &mut Snapshot) -> Result<bool> {
        if !self.is_due(snapshot) {
            return Ok(false);
        }
        match self.put_into_files(snapshot) {
            Ok(()) => Ok(true),
            Err(error) if self.is_of_salvage && Problem::is_of_bytes(&error) => {
                self.most = usize::MAX;
                Ok(false)
            }
            Err(error) => {
                self.failure = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Fails if something could not be put into files, with the error of that.
    pub(crate) fn check(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// The files that were made.
    pub(super) fn into_built(self) -> Vec<Built> {
        self.built
    }

    /// Goes on over files that hold what the memtable held.
    fn put_into_files(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        snapshot.version.edge_numbers().raise(snapshot.memtable.edge_number_bound);
        let (config, _memory) = merge_memory(self.memory);
        let wal_number = snapshot.version.manifest().wal_number;
        let built = flush::build(&snapshot.version, &snapshot.memtable, wal_number, &config, self.interrupt)?;
        *snapshot = Snapshot::new(built.base.with_edit(&built.edit)?);
        self.built.push(built);
        Ok(())
    }
}

impl Replay<'_> {
    /// Repeats what the log holds that the manifest names, to write; it was closed.
    pub(super) fn logs(&self, snapshot: &mut Snapshot) -> Result<Logs> {
        let disk = &self.platform.disk;
        let base = snapshot.version.clone();
        let (first, identity) = (base.manifest().wal_number, base.manifest().store_identity);
        let (made, mut overflow) =
            (Made::heard_by(self.interrupt), Overflow::new(self.memory, self.most, self.interrupt));
        let Replayed { name, end, torn } = replay_all(&**disk, self.path, (first, identity), self.room, |payload| {
            self.interrupt.check()?;
            snapshot.apply_record(payload, &made, Some(&mut overflow))
        })?;
        let sequence = end.sequence;
        if overflow.built.is_empty() {
            remove_other_logs(&**disk, self.path, first..=name.number)?;
            let writer = WalWriter::resume(disk, self.path, name, &end)?;
            return Ok(Logs { writer, number: name.number, sequence, torn });
        }
        if !snapshot.memtable.is_empty() {
            overflow.put_into_files(snapshot)?;
        }
        let writer = self.new_log(LogName::new(identity, name.number + 1), end.sequence)?;
        let number = writer.name().number;
        *snapshot = Snapshot::new(self.publish(&base, &snapshot.version, &overflow.built, number)?);
        remove_other_logs(&**disk, self.path, number..=number)?;
        Ok(Logs { writer, number, sequence, torn })
    }

    /// An empty log behind those that were repeated.
    fn new_log(&self, name: LogName, sequence: u64) -> Result<WalWriter> {
        let disk = &*self.platform.disk;
        let path = self.path.join(FileKind::Wal.file_name(name.number));
        if disk.exists(&path) {
            disk.remove(&path).map_err(|error| StorageError::io("remove", &path, error))?;
        }
        let mut writer = WalWriter::create(disk, self.path, name)?;
        writer.begin_after(sequence);
        disk.sync_directory(self.path).map_err(|error| StorageError::io("sync", self.path, error))?;
        Ok(writer)
    }

    /// Makes the files the store's, and the new log the one that comes after them.
    fn publish(&self, base: &Arc<Version>, last: &Version, built: &[Built], log: u64) -> Result<Arc<Version>> {
        let renewed = built.iter().flat_map(|built| built.edit.renewed_ordered.iter().cloned()).collect();
        let mut edit = VersionEdit::of_flushes(base.manifest(), last.manifest(), renewed);
        edit.wal_number = Some(log);
        let (config, _memory) = merge_memory(self.memory);
        Built::new(base, base.build(&config, self.interrupt), edit).install_with(built, base)
    }
}
