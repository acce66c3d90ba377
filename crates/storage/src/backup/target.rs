//! The directory that a copy is written to.
//!
//! Invariant: from the first file on until the manifest is there, the file `COPYING` says that the copy is unfinished.

use std::any::Any;
use std::path::{Path, PathBuf};

use model::platform::Platform;
use model::{Result, error};

use super::io;
use super::note::Note;
use crate::error::StorageError;
use crate::file::directory::create_directory;
use crate::format::{
    BACKUP_NAME, COPYING_NAME, FileKind, LOCK_NAME, MANIFEST_COPY_NAME, MANIFEST_NAME, MANIFEST_NEW_NAME, SOCKET_NAME,
};
use crate::manifest::Manifest;

/// A copy under way.
pub(super) struct Target {
    platform: Platform,
    directory: PathBuf,
    /// True if the copy made the directory.
    is_new: bool,
    _lock: Box<dyn Any + Send + Sync>,
}

impl Target {
    /// Makes the directory, or takes an empty one, or one that an unfinished copy left.
    pub(super) fn begin(platform: &Platform, directory: &Path, source: &Path) -> Result<Target> {
        let disk = &platform.disk;
        let is_new = !disk.exists(directory);
        if is_new {
            create_directory(directory, &**disk)?;
        }
        check_free(platform, directory)?;
        let lock_path = directory.join(LOCK_NAME);
        let lock = disk.lock(&lock_path).map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => {
                StorageError::Busy { path: directory.to_owned(), holder: disk.lock_holder(&lock_path) }.into()
            }
            _ => StorageError::io("lock", &lock_path, error),
        })?;
        // The former holder of the lock may have made something meanwhile.
        check_free(platform, directory)?;
        let target = Target { platform: platform.clone(), directory: directory.to_owned(), is_new, _lock: lock };
        let outcome = target.begin_files(source);
        if outcome.is_err() {
            target.abandon();
        }
        outcome.map(|()| target)
    }

    /// Removes what an unfinished copy left, and says that one is under way.
    fn begin_files(&self, source: &Path) -> Result<()> {
        try_remove_files(&self.platform, &self.directory)?;
        let source = std::path::absolute(source).unwrap_or_else(|_| source.to_owned());
        let text = format!("a copy of {}; unfinished as long as this file is here\n", source.display());
        self.write_file(COPYING_NAME, |write| write(text.as_bytes()))?;
        self.sync()
    }

    fn sync(&self) -> Result<()> {
        self.platform.disk.sync_directory(&self.directory).map_err(io("sync", &self.directory))
    }

    /// Writes a file, durable except for its name.
    pub(super) fn write_file(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let path = &self.directory.join(name);
        let mut file = self.platform.disk.create(path).map_err(io("create", path))?;
        fill(&mut |bytes| file.write_all(bytes).map_err(io("write", path)))?;
        file.flush().and_then(|()| file.sync()).map_err(io("sync", path))
    }

    /// Gives a file of another directory a name here; false where the file system cannot do that.
    pub(super) fn link(&self, from: &Path, name: &str) -> Result<bool> {
        match self.platform.disk.link(&from.join(name), &self.directory.join(name)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                Err(StorageError::io("link", &self.directory.join(name), error))
            }
            Err(_) => Ok(false),
        }
    }

    /// Makes the copy a whole one.
    pub(super) fn finish(&self, manifest: &Manifest, note: Option<&Note>) -> Result<()> {
        if let Some(note) = note {
            self.write_file(BACKUP_NAME, |write| write(note.to_text().as_bytes()))?;
        }
        manifest.write(&self.platform.disk, &self.directory)?;
        // The copy is whole now; what is left of the work does no harm if it cannot be removed.
        let _ = self.platform.disk.remove(&self.directory.join(COPYING_NAME));
        Ok(())
    }

    /// Removes everything, as far as that goes.
    pub(super) fn abandon(&self) {
        remove_files(&self.platform, &self.directory, self.is_new);
    }
}

/// Removes the files of a store as far as that goes, and the directory if it is ours as well: the manifest first, so that
/// nothing half is ever opened.
pub(crate) fn remove_files(platform: &Platform, directory: &Path, is_new: bool) {
    if try_remove_files(platform, directory).is_ok() && is_new {
        // A lock is a file of its own; a directory that cannot be removed stays empty.
        let _ = platform.disk.remove(&directory.join(LOCK_NAME));
        let _ = platform.disk.remove_directory(directory);
    }
}

fn try_remove_files(platform: &Platform, directory: &Path) -> Result<()> {
    let disk = &platform.disk;
    let names = disk.list(directory).map_err(io("list", directory))?;
    let is_there = |name: &&str| names.iter().any(|there| there == name);
    let numbered = names.iter().map(String::as_str).filter(|name| FileKind::parse(name).is_some());
    let first = [MANIFEST_NAME, MANIFEST_NEW_NAME, MANIFEST_COPY_NAME, BACKUP_NAME].into_iter().filter(is_there);
    let last = [COPYING_NAME].into_iter().filter(is_there);
    for name in first.chain(numbered).chain(last) {
        let path = directory.join(name);
        disk.remove(&path).map_err(io("remove", &path))?;
    }
    Ok(())
}

/// Fails unless the directory is empty or holds an unfinished copy.
pub(crate) fn check_free(platform: &Platform, directory: &Path) -> Result<()> {
    let shown = directory.display();
    let names = platform.disk.list(directory).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotADirectory => {
            error!(File, "{shown}: a file is there, expected an empty directory or none").with_remedy("name a new path")
        }
        _ => StorageError::io("list", directory, cause),
    })?;
    let has = |name: &str| names.iter().any(|there| there == name);
    if has(COPYING_NAME) && !has(MANIFEST_NAME) {
        return Ok(());
    }
    match names.iter().find(|name| ![LOCK_NAME, SOCKET_NAME].contains(&name.as_str())) {
        None => Ok(()),
        Some(_) if has(MANIFEST_NAME) => {
            let what = if has(BACKUP_NAME) { "a backup" } else { "a store" };
            Err(error!(File, "{shown}: {what} is there already").with_remedy("name a new path"))
        }
        Some(name) => {
            Err(error!(File, "{shown}: the directory is not empty, it holds {name}").with_remedy("name a new path"))
        }
    }
}
