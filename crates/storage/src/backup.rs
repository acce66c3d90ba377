//! Backup and restore: a verified copy of a store at one moment, while it is used.
//!
//! - [`source`]: the files of one moment: a version and the logs behind it.
//! - [`target`]: the directory that is written, recognisable as unfinished until the very end.
//! - [`note`]: the file `BACKUP`, which says what a backup is one of.
//!
//! A store's files never change, and a version that is open keeps those it names. So a copy takes the files of one
//! version and the sound records of the logs behind it, as [`crate::beside`] sees them. No lock is taken, no writer waits, and
//! another process may have the store open.
//! Every block is compared with its checksum as it is copied.
//!
//! A backup is a directory like a store's, so that it can be checked and opened for reading; the note in it keeps it from
//! being opened for writing.
//!
//! Invariant: the manifest comes last. A copy that was cut short has none, and is not opened.
//! Cost: reads and writes every byte once; files that a base has are read there and linked instead. Memory: a few megabytes,
//! however large the store is.

mod note;
mod source;
mod target;

use std::path::Path;
use std::sync::Arc;

use model::platform::Platform;
use model::{Interrupt, MemoryBudget, Result, error};

use crate::beside::{Current, open_current};
use crate::error::StorageError;
use crate::file::cache::BlockCache;
use crate::file::{FileEntry, StoreFile};
use crate::format::{CHECKSUM_BLOCK_BYTES, FileKind};
use crate::manifest::Manifest;
use crate::reading::reading;
use crate::version::Version;

use note::Note;
pub(crate) use note::check as check_note;
use source::Source;
use target::Target;
pub(crate) use target::{check_free, remove_files};

/// Summary of a backup or a restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopySummary {
    /// Files that were copied, logs among them.
    pub files_copied: u64,
    /// Bytes in them.
    pub bytes_copied: u64,
    /// Files shared with the base.
    pub files_linked: u64,
    /// Bytes in them.
    pub bytes_linked: u64,
    /// Bytes of logs among those copied.
    pub log_bytes: u64,
}

/// Bytes copied between two looks at the interrupt.
const STEP_BYTES: usize = 16 * CHECKSUM_BLOCK_BYTES;
/// Memory for what is read of files that no store of this process holds: each block is needed once.
const MEMORY_BYTES: usize = 8 << 20;

/// The platform through which a copy reads: nothing can be changed, and few blocks are held.
fn source_of(platform: &Platform) -> Platform {
    BlockCache::new(MemoryBudget::new(MEMORY_BYTES)).wrap(reading(platform))
}

/// Copies the store in a directory into a new one, while this or another process uses it. Files that the backup `base`
/// of the same store has are verified there and linked, where both lie on one file system. Reports bytes as progress.
///
/// The copy holds every transaction that was durable when it began, and none in part. If it fails or is cancelled, nothing
/// of it is left.
///
/// # Errors
/// `FILE` if the destination cannot take a backup, `CORRUPT` if the store is damaged, `DISK_FULL`, `CANCELLED`.
pub fn backup(
    platform: &Platform,
    store: &Path,
    destination: &Path,
    base: Option<&Path>,
    interrupt: &Interrupt,
) -> Result<CopySummary> {
    let from = source_of(platform);
    let current = |last: Option<&Arc<Version>>| open_current(&from, store, last);
    backup_of(platform, store, destination, base, interrupt, &current)
}

/// As [`backup`], of the version that `current` gives.
pub(crate) fn backup_of(
    platform: &Platform,
    store: &Path,
    destination: &Path,
    base: Option<&Path>,
    interrupt: &Interrupt,
    current: Current<'_>,
) -> Result<CopySummary> {
    check_apart(store, destination)?;
    let from = source_of(platform);
    let source = Source::take(&from, store, current)?;
    let base = base.map(|base| Base::open(&from, base, source.version.manifest())).transpose()?;
    let note = Note::of(&source, platform.clock.unix_us());
    copy(platform, &source, destination, base.as_ref(), Some(&note), interrupt)
}

/// Copies a backup into a new directory, which then is a store. Every byte is verified.
///
/// # Errors
/// `NOT_A_STORE` if there is no finished backup, `CORRUPT` if it is damaged, `FILE` if the destination cannot take it.
pub fn restore(platform: &Platform, backup: &Path, destination: &Path, interrupt: &Interrupt) -> Result<CopySummary> {
    check_apart(backup, destination)?;
    let from = source_of(platform);
    let source = Source::take(&from, backup, &|last| open_current(&from, backup, last))?;
    if let Some(note) = Note::read(&*from.disk, backup)? {
        note.check(backup, &source)?;
    }
    copy(platform, &source, destination, None, None, interrupt)
}

/// Neither directory may lie in the other.
fn check_apart(from: &Path, to: &Path) -> Result<()> {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (from, to) = (whole(from), whole(to));
    if to.starts_with(&from) || from.starts_with(&to) {
        let (to, from) = (to.display(), from.display());
        return Err(error!(File, "{to}: a copy cannot lie in {from}, nor hold it").with_remedy("name another path"));
    }
    Ok(())
}

fn copy(
    platform: &Platform,
    source: &Source,
    destination: &Path,
    base: Option<&Base>,
    note: Option<&Note>,
    interrupt: &Interrupt,
) -> Result<CopySummary> {
    let target = Target::begin(platform, destination, source.version.directory())?;
    let outcome = fill(&target, source, base, note, interrupt);
    if outcome.is_err() {
        target.abandon();
    }
    outcome
}

fn fill(
    target: &Target,
    source: &Source,
    base: Option<&Base>,
    note: Option<&Note>,
    interrupt: &Interrupt,
) -> Result<CopySummary> {
    let mut summary = CopySummary::default();
    let total = source.bytes();
    let mut done = 0;
    let mut step = |bytes: u64| {
        done += bytes;
        interrupt.report(done, total);
        interrupt.check()
    };
    step(0)?;
    for (kind, entry) in source.version.manifest().files() {
        let name = kind.file_name(entry.number);
        if let Some(base) = base.filter(|base| base.has(kind, entry)) {
            base.verify(kind, entry, &mut step)?;
            if target.link(&base.directory, &name)? {
                summary.files_linked += 1;
                summary.bytes_linked += entry.length;
                continue;
            }
        }
        let file = source.file(kind, entry)?;
        target.write_file(&name, |write| verified_blocks(file, write, &mut step))?;
        summary.files_copied += 1;
        summary.bytes_copied += entry.length;
    }
    for log in &source.logs {
        let name = FileKind::Wal.file_name(log.number);
        target.write_file(&name, |write| {
            log.read(source.version.directory(), |bytes| {
                write(bytes)?;
                step(bytes.len() as u64)
            })
        })?;
        log.check_lost(source.version.directory())?;
        summary.files_copied += 1;
        summary.bytes_copied += log.length;
        summary.log_bytes += log.length;
    }
    target.finish(source.version.manifest(), note)?;
    Ok(summary)
}

/// Hands on all bytes of a file, each block verified just before.
fn verified_blocks(
    file: &StoreFile,
    write: &mut dyn FnMut(&[u8]) -> Result<()>,
    step: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let data_end = file.entry().length as usize - file.end_bytes().len();
    for start in (0..data_end).step_by(STEP_BYTES) {
        let end = (start + STEP_BYTES).min(data_end);
        let blocks = start / CHECKSUM_BLOCK_BYTES..end.div_ceil(CHECKSUM_BLOCK_BYTES);
        blocks.into_iter().try_for_each(|block| file.verify_block(block))?;
        write(file.read(start, end - start)?)?;
        file.check_lost()?;
        step((end - start) as u64)?;
    }
    write(file.end_bytes())?;
    file.check_lost()?;
    step(file.end_bytes().len() as u64)
}

/// An earlier backup, whose files are shared.
struct Base {
    platform: Platform,
    directory: std::path::PathBuf,
    manifest: Manifest,
}

impl Base {
    fn open(platform: &Platform, directory: &Path, store: &Manifest) -> Result<Base> {
        let manifest = Manifest::read(&platform.disk, directory)?;
        let Some(note) = Note::read(&*platform.disk, directory)? else {
            let shown = directory.display();
            return Err(error!(File, "{shown}: the base is no backup").with_remedy("name an earlier backup"));
        };
        if (note.identity, manifest.store_identity) != (store.store_identity, store.store_identity) {
            let shown = directory.display();
            return Err(error!(File, "{shown}: the base is a backup of another store")
                .with_remedy("name an earlier backup of this store, or none"));
        }
        Ok(Base { platform: platform.clone(), directory: directory.to_owned(), manifest })
    }

    fn has(&self, kind: FileKind, entry: FileEntry) -> bool {
        self.manifest.files().any(|file| file == (kind, entry))
    }

    fn verify(&self, kind: FileKind, entry: FileEntry, step: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let file = StoreFile::open(&self.platform.disk, &self.directory, kind, entry)?;
        verified_blocks(&file, &mut |_| Ok(()), step)
    }
}

/// An error for a file beside those of the format.
fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> model::Error {
    move |error| StorageError::io(action, path, error)
}
