//! A directory of its own for each test, removed at its end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use model::platform::{Disk, Platform};
use storage::{NativeStore, OpenOptions};

/// A directory that does not exist yet, removed with all it holds when dropped.
pub(crate) struct TestDirectory {
    path: PathBuf,
    platform: Platform,
}

impl TestDirectory {
    /// A new path.
    pub(crate) fn new() -> TestDirectory {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("knotwork-storage-{}-{number}.knot", std::process::id()));
        let platform = storage::os::platform();
        remove(&*platform.disk, &path);
        TestDirectory { path, platform }
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The real platform.
    pub(crate) fn platform(&self) -> Platform {
        self.platform.clone()
    }

    /// The real disk.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.platform.disk
    }

    /// Opens the store, made if need be.
    pub(crate) fn open(&self) -> NativeStore {
        self.open_with(OpenOptions::create())
    }

    /// Opens the store as asked.
    pub(crate) fn open_with(&self, options: OpenOptions) -> NativeStore {
        NativeStore::open(&self.path, options, self.platform()).unwrap()
    }

    /// The path of the only log in the directory.
    pub(crate) fn log(&self) -> PathBuf {
        let names = self.disk().list(&self.path).unwrap();
        let mut logs = names.into_iter().filter(|name| name.ends_with(".wal"));
        let log = logs.next().expect("a store has a log");
        assert_eq!(logs.next(), None, "a store at rest has one log");
        self.path.join(log)
    }

    /// The bytes of all files.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let names = self.disk().list(&self.path).unwrap();
        let paths = names.iter().map(|name| self.path.join(name));
        paths.map(|path| (path.clone(), self.disk().read(&path).unwrap())).collect()
    }

    /// Makes the files what they were.
    pub(crate) fn restore(&self, files: &[(PathBuf, Vec<u8>)]) {
        for name in self.disk().list(&self.path).unwrap() {
            self.disk().remove(&self.path.join(name)).unwrap();
        }
        files.iter().for_each(|(path, bytes)| self.write(path, bytes));
    }

    /// Replaces the bytes of a file.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) {
        if self.disk().exists(path) {
            self.disk().remove(path).unwrap();
        }
        self.disk().create(path).unwrap().write_all(bytes).unwrap();
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        remove(&*self.platform.disk, &self.path);
    }
}

fn remove(disk: &dyn Disk, path: &Path) {
    if let Ok(names) = disk.list(path) {
        names.iter().for_each(|name| disk.remove(&path.join(name)).unwrap());
        disk.remove_directory(path).unwrap();
    } else if disk.exists(path) {
        disk.remove(path).unwrap();
    }
}
