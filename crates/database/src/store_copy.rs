//! A copy of a store for a work that is to leave the store as it is.

use std::path::{Path, PathBuf};

use model::{Error, Interrupt, Result};
use storage::format::LOCK_NAME;

use crate::database::Database;
use crate::engine::need_files;
use crate::settings::{Access, Config};

/// A copy of a store, removed when it is dropped.
#[derive(Debug)]
pub struct StoreCopy {
    path: PathBuf,
}

impl StoreCopy {
    /// Makes a copy beside a store, of hard links where the file system has them: files of stores never change, and a log with two names
    /// is not extended.
    ///
    /// # Errors
    /// `BUSY` if another process has the store open to write; `CANCELLED`; those of the files.
    pub fn beside(store: &Path, config: &Config, interrupt: &Interrupt) -> Result<StoreCopy> {
        need_files(store, "a copy")?;
        let store = &std::fs::canonicalize(store).map_err(|cause| Error::of_file(store, &cause))?;
        // A process that can open it to write is the only one, and leaves logs that are whole.
        let config = Config { access: Access::ReadWriteExisting, ..config.clone() };
        drop(Database::open_until(store, config, interrupt)?);
        let mut name = store.file_name().unwrap_or_default().to_owned();
        name.push(format!(".copy-{}.knot", std::process::id()));
        let copy = StoreCopy { path: store.with_file_name(name) };
        std::fs::create_dir(&copy.path).map_err(|cause| Error::of_file(&copy.path, &cause))?;
        for file in std::fs::read_dir(store).map_err(|cause| Error::of_file(store, &cause))? {
            let file = file.map_err(|cause| Error::of_file(store, &cause))?;
            let is_file = file.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && file.file_name() != LOCK_NAME {
                let (from, to) = (file.path(), copy.path.join(file.file_name()));
                let copied = std::fs::hard_link(&from, &to).or_else(|_| std::fs::copy(&from, &to).map(drop));
                copied.map_err(|cause| Error::of_file(&to, &cause))?;
            }
        }
        Ok(copy)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        // A copy that cannot be removed is named for what it is.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
