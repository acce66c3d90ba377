//! Verifies a store: every checksum, then the structure and the cross-references of every file, then the log.
//!
//! - [`structure`]: what must hold within and between files.
//!
//! Another process may write the store meanwhile: one moment of it is verified, see [`crate::beside`].
//!
//! Cost: reads every byte of the store twice; holds one count for each node id of a partition, [`LOG_MEMORY_BYTES`] of what the log
//! says, and one record of it, however long.

use std::path::Path;
use std::sync::Arc;

use model::platform::Platform;
use model::{Consumer, ErrorCode, Interrupt, MemoryBudget, Result};

use crate::beside::{Seen, open_current, see};
use crate::engine::Overflow;
use crate::file::cache::BlockCache;
use crate::format::{FileKind, MANIFEST_COPY_NAME, MANIFEST_NAME};
use crate::lock::is_written;
use crate::manifest::Manifest;
pub use crate::problem::Problem;
use crate::problem::{is_forbidden, place_of};
use crate::reading::reading;
use crate::snapshot::Snapshot;
use crate::transaction::made::Made;
use crate::version::Version;
use crate::wal::replay::RecordRoom;
use crate::wal::seen::SeenLogs;

mod structure;
#[cfg(test)]
mod tests;

/// Memory for what the log says of those who read a whole store, and for blocks of files; beyond it they use files without names.
pub(crate) const LOG_MEMORY_BYTES: usize = 64 << 20;

/// Verifies all files of the store in a directory; an empty list means that all is well. Fails only if the store
/// cannot be read at all: if it is none, is of a newer format, or the disk refuses.
pub fn check(platform: &Platform, directory: &Path, interrupt: &Interrupt) -> Result<Vec<Problem>> {
    let memory = &MemoryBudget::new(LOG_MEMORY_BYTES);
    let platform = &BlockCache::new(memory.clone()).wrap(reading(platform));
    let mut problems = Problems { list: Vec::new() };
    let seen = see(platform, directory, &|last| open_current(platform, directory, last));
    let Some(Seen { version, logs }) = problems.take(directory, 0, seen)? else {
        if let Ok(manifest) = Manifest::read(&platform.disk, directory) {
            problems.tell_parts(&manifest);
        }
        return Ok(problems.list);
    };
    // The process that writes makes the copy anew now and then.
    if platform.disk.exists(&directory.join(MANIFEST_COPY_NAME))
        && let Err(error) = Manifest::read_copy(&platform.disk, directory)
        && !is_written(&*platform.disk, directory)
        && !Manifest::is_copy_unfinished(&*platform.disk, directory)
    {
        let (path, offset, message) = place_of(&directory.join(MANIFEST_COPY_NAME), 0, &error);
        problems.add(&path, offset, message);
    }
    let mut is_damaged = false;
    for file in version.files() {
        for block in 0..file.block_count() {
            interrupt.check()?;
            let offset = (block * crate::format::CHECKSUM_BLOCK_BYTES) as u64;
            is_damaged |= problems.take(file.path(), offset, file.verify_block(block))?.is_none();
        }
    }
    // Damaged bytes would only be found wrong again, so the structure is checked of whole files alone.
    if !is_damaged {
        structure::check(&version, interrupt, &mut problems)?;
        check_log(memory, &version, &logs, &mut problems, interrupt)?;
        problems.list.extend(crate::backup::check_note(platform, &version)?);
    }
    problems.tell_parts(version.manifest());
    Ok(problems.list)
}

/// Repeats the log over the files, each record of which must find what it changes.
fn check_log(
    memory: &Arc<MemoryBudget>,
    version: &Arc<Version>,
    logs: &SeenLogs,
    problems: &mut Problems,
    interrupt: &Interrupt,
) -> Result<()> {
    let directory = version.directory();
    let mut snapshot = Snapshot::new(version.clone());
    let mut overflow = Overflow::new(memory, memory.share(Consumer::Memtable), interrupt);
    let made = Made::heard_by(interrupt);
    let log = logs.replay(directory, None, RecordRoom::UNLIMITED, |payload| {
        interrupt.check()?;
        snapshot.apply_checked_record(payload, &made, &mut overflow)
    });
    match (overflow.check(), log) {
        // It tells of the folder for temporary files, and not of the store.
        (Err(error), _) if !Problem::is_of_bytes(&error) => return Err(error),
        (_, Err(error)) if error.code() == ErrorCode::Io && !is_forbidden(&error) => {
            problems.add(directory, 0, error.message());
        }
        (_, log) => drop(problems.take(directory, 0, log)?),
    }
    Ok(())
}

/// Problems found so far.
struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    fn tell_parts(&mut self, manifest: &Manifest) {
        for problem in &mut self.list {
            let name = problem.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            problem.part = part_of(manifest, name);
        }
    }

    fn add(&mut self, file: &Path, offset: u64, message: impl Into<String>) {
        self.list.push(Problem { file: file.to_owned(), offset, message: message.into(), part: String::new() });
    }

    fn manifest(&mut self, version: &Version, message: impl Into<String>) {
        self.add(&version.directory().join(MANIFEST_NAME), 0, message);
    }

    /// The value of a step; damage, and bytes that cannot be read, become a problem and `None`, any other error stays one.
    fn take<T>(&mut self, file: &Path, offset: u64, step: Result<T>) -> Result<Option<T>> {
        match step {
            Ok(value) => Ok(Some(value)),
            Err(error) if Problem::is_of_bytes(&error) => {
                let (file, offset, message) = place_of(file, offset, &error);
                self.list.push(Problem { file, offset, message, part: String::new() });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Describes the content of the file of that name.
fn part_of(manifest: &Manifest, name: &str) -> String {
    let Some((kind, number)) = FileKind::parse(name) else {
        return match name {
            MANIFEST_NAME => "the list of files".to_owned(),
            MANIFEST_COPY_NAME => "a copy of the list of files, which opening for writing makes anew".to_owned(),
            _ => String::new(),
        };
    };
    if kind == FileKind::Wal {
        return "transactions that are not yet merged into files".to_owned();
    }
    manifest.part_of(number).unwrap_or_default()
}
