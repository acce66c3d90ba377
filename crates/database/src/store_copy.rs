//! A copy of a store for a work that is to leave the store as it is.

use std::path::{Path, PathBuf};

use model::{Error, Interrupt, Result};
use storage::format::LOCK_NAME;

use crate::database::Database;
use crate::engine::need_files;
use crate::settings::{Access, Config};

/// Parts of the name of a copy, behind the name of the store: the process that made it stands between them.
const MIDDLE: &str = ".copy-";
const ENDING: &str = ".knot";

/// A copy of a store, removed when it is dropped, or by the next copy of the store if the process was killed.
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
        remove_left_copies(store);
        let mut name = store.file_name().unwrap_or_default().to_owned();
        name.push(format!("{MIDDLE}{}{ENDING}", std::process::id()));
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

/// The process that a file name says made a copy of a store; of what lies beside a copy too.
fn maker(store: &str, name: &str) -> Option<u32> {
    let (pid, rest) = name.strip_prefix(store)?.strip_prefix(MIDDLE)?.split_once(ENDING)?;
    let is_of_copy = rest.is_empty() || rest.starts_with('.');
    pid.parse().ok().filter(|_| is_of_copy && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Removes copies of a store whose processes were killed before they could. A copy that somebody has open stays.
fn remove_left_copies(store: &Path) {
    let (Some(folder), Some(name)) = (store.parent(), store.file_name().and_then(|name| name.to_str())) else { return };
    // On systems whose processes cannot be looked up copies may be in use.
    let is_gone = |pid: u32| {
        let processes = Path::new("/proc");
        processes.join("self").exists() && !processes.join(pid.to_string()).exists()
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let of_copy = entry.file_name().to_str().and_then(|found| maker(name, found));
        if of_copy.is_some_and(is_gone) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = entry.path();
            let lock = storage::os::platform().disk.lock(&path.join(LOCK_NAME));
            if lock.is_ok() {
                // One that cannot be removed is left to its user, as it was.
                let _ = std::fs::remove_dir_all(&path);
            }
        }
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        // A copy that cannot be removed is named for what it is.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use model::Interrupt;

    use super::{StoreCopy, maker};
    use crate::{Access, Config, Database};

    #[test]
    fn names_tell_who_made_a_copy() {
        for (name, expected) in [
            ("s.knot.copy-17.knot", Some(17)),
            ("s.knot.copy-17.knot.ingest", Some(17)),
            ("s.knot.copy-17.knotted", None),
            ("s.knot.copy-+7.knot", None),
            ("s.knot.copy-x.knot", None),
            ("s.knot", None),
            ("other.knot.copy-17.knot", None),
        ] {
            assert_eq!(maker("s.knot", name), expected, "{name}");
        }
    }

    #[test]
    fn copies_of_killed_processes_are_removed_by_the_next_copy() {
        let folder = testing::Folder::new();
        let store = folder.path().join("s.knot");
        drop(Database::open(&store, Config::default()).expect("the store is made"));
        // No process has so large a number.
        let [left, beside] = ["", ".ingest"].map(|end| folder.path().join(format!("s.knot.copy-4194305.knot{end}")));
        let [own, other] =
            [format!("s.knot.copy-{}.knot.kept", std::process::id()), "t.knot.copy-4194305.knot".to_owned()]
                .map(|name| folder.path().join(name));
        for path in [&left, &beside, &own, &other] {
            std::fs::create_dir(path).expect("the folder can be written");
        }
        let in_use = folder.path().join("s.knot.copy-4194306.knot");
        let held =
            Database::open(&in_use, Config { access: Access::ReadWrite, ..Config::default() }).expect("it opens");
        let copy = StoreCopy::beside(&store, &Config::default(), &Interrupt::new()).expect("nobody else has it");
        let is_linux = cfg!(target_os = "linux");
        assert_eq!((left.exists(), beside.exists()), (!is_linux, !is_linux));
        assert!(own.exists() && other.exists() && in_use.exists() && copy.path().exists());
        drop(held);
        drop(copy);
        drop(StoreCopy::beside(&store, &Config::default(), &Interrupt::new()).expect("nobody else has it"));
        assert_eq!(in_use.exists(), !is_linux);
    }
}
