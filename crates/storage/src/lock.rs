//! The lock of a store: one process holds it to write. Who only reads takes none, and may ask whether somebody writes.

use std::any::Any;
use std::io;
use std::path::Path;
use std::time::Duration;

use model::Result;
use model::platform::Disk;

use crate::error::StorageError;
use crate::format::LOCK_NAME;

/// Number of attempts to take the lock, and the wait between them.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that is held until this is dropped.
pub(crate) type Lock = Box<dyn Any + Send + Sync>;

/// Takes the lock of the store in a directory alone, to write.
pub(crate) fn lock_to_write(disk: &dyn Disk, directory: &Path) -> Result<Lock> {
    take(disk, directory, |path| disk.lock(path))
}

/// Takes it together with others that do, so that nobody writes meanwhile.
pub(crate) fn lock_against_writers(disk: &dyn Disk, directory: &Path) -> Result<Lock> {
    take(disk, directory, |path| disk.lock_shared(path))
}

/// True if a process has the store open to write.
pub(crate) fn is_written(disk: &dyn Disk, directory: &Path) -> bool {
    let lock = disk.lock_shared(&directory.join(LOCK_NAME));
    lock.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Tries some times: a process that is just ending, or a child of this one that has not yet become another program, may
/// hold the lock for a moment.
fn take(disk: &dyn Disk, directory: &Path, lock: impl Fn(&Path) -> io::Result<Lock>) -> Result<Lock> {
    let path = directory.join(LOCK_NAME);
    for attempt in 1.. {
        match lock(&path) {
            Ok(lock) => return Ok(lock),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err(StorageError::io("lock", &path, error));
            }
            Err(_) if attempt < ATTEMPTS => std::thread::sleep(PAUSE),
            Err(_) => break,
        }
    }
    Err(StorageError::Busy { path: directory.to_owned(), holder: disk.lock_holder(&path) }.into())
}
