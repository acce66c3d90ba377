//! The socket in the directory of a store: other processes of its user write through the one that has it open.
//!
//! Invariant: whoever makes or removes the socket has the lock of the store, so that a socket of somebody who was killed is replaced,
//! and never one that somebody listens on.
//! Cost: one thread that sleeps until somebody connects.

use std::fs::Permissions;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use database::{Access, Database, Interrupt, SOCKET_NAME};
use model::error;

use crate::handover;
use crate::limits::CLOSING_TIME;
use crate::private_file::PRIVATE;
use crate::serve::{Front, LOOK_TIME, Server};
use crate::settings::{Admission, Settings};
pub use crate::socket::reach;
use crate::socket::{Listener, at_short_path};

/// Time for which the front sleeps without clients.
const SLEEP: Duration = Duration::from_secs(3_600);
/// The longest message, which holds a statement and its parameters.
pub const MESSAGE_BYTES_MAX: usize = 256 << 20;
/// Time for which a statement waits for its client to take rows, as one in the same process would without end.
const PATIENCE: Duration = Duration::from_secs(600);

/// Directories of the stores that processes share, by their numbers: a fork has the list of its parent, and none of its stores.
static SHARED: Mutex<Vec<(u32, PathBuf)>> = Mutex::new(Vec::new());

fn shared() -> MutexGuard<'static, Vec<(u32, PathBuf)>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store as the list of those that are shared has it.
fn entry_of(directory: &Path) -> (u32, PathBuf) {
    (std::process::id(), directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf()))
}

/// True if this process has the store of a directory open, and shares it.
pub fn is_shared_here(directory: &Path) -> bool {
    shared().contains(&entry_of(directory))
}

/// A store that other processes reach, until this is dropped.
pub struct Sharing {
    server: Arc<Server>,
    entry: (u32, PathBuf),
    end: Interrupt,
    thread: Option<JoinHandle<()>>,
}

/// Lets other processes of this user write a database through a socket in its directory, which must be open to write here. It has
/// to be dropped before the database can close.
///
/// # Errors
/// Fails if the file system of the store has no sockets, or the database is open to read.
pub fn share(database: &Database) -> model::Result<Sharing> {
    if database.config().access == Access::ReadOnly {
        return Err(error!(ReadOnly, "a store that is open to read is not shared").with_remedy("open it for writing"));
    }
    let directory = database.path().to_path_buf();
    let failed = |cause: &Error| error!(File, "cannot listen on {}: {cause}", directory.join(SOCKET_NAME).display());
    let listener = listen(&directory).map_err(|cause| failed(&cause))?;
    let forever = Duration::from_nanos(u64::MAX);
    let settings = Settings {
        admission: Admission::Everybody,
        message_bytes_max: MESSAGE_BYTES_MAX,
        idle_transaction: forever,
        patience: PATIENCE,
        ..Settings::default()
    };
    let (server, woken) = Server::new(database.clone(), settings, None, None)?;
    server.guests.answer_by(handover::answer);
    let end = Interrupt::new();
    let mut front = Front::new(server.clone(), vec![Listener::Unix(listener)], woken);
    let (told, path, serving) = (end.clone(), directory.join(SOCKET_NAME), server.clone());
    let work = move || {
        while told.check_unpaused().is_ok() {
            front.turn(if front.is_alone() { SLEEP } else { LOOK_TIME });
        }
        // Newcomers wait for the next process that opens the store.
        let _ = std::fs::remove_file(path);
        front.drain(CLOSING_TIME);
        serving.guests.join();
    };
    let thread = std::thread::Builder::new().name("socket".into()).spawn(work).map_err(|cause| failed(&cause))?;
    let entry = entry_of(database.path());
    shared().push(entry.clone());
    Ok(Sharing { server, entry, end, thread: Some(thread) })
}

impl Drop for Sharing {
    fn drop(&mut self) {
        shared().retain(|entry| *entry != self.entry);
        self.end.cancel();
        self.server.wake();
        if let Some(thread) = self.thread.take() {
            // One that has panicked has ended as well.
            let _ = thread.join();
        }
    }
}

/// Listens on the socket of a store whose lock this process holds.
fn listen(directory: &Path) -> Result<UnixListener> {
    let path = directory.join(SOCKET_NAME);
    match std::fs::remove_file(&path) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    let listener = at_short_path(directory, |short| UnixListener::bind(short))?;
    let prepared = std::fs::set_permissions(&path, Permissions::from_mode(PRIVATE));
    if let Err(cause) = prepared.and_then(|()| listener.set_nonblocking(true)) {
        let _ = std::fs::remove_file(&path);
        return Err(cause);
    }
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::path::PathBuf;

    use database::{Access, Config, Database, SOCKET_NAME};

    use super::{reach, share};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("knotwork-share-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_socket_is_private_and_gone_after_the_close() {
        let long = "long".repeat(40);
        for (name, place) in [("short", "a.knot"), ("long", &*format!("{long}/{long}/{long}/a.knot"))] {
            let folder = folder(name);
            let store = folder.join(place);
            std::fs::create_dir_all(store.parent().unwrap()).unwrap();
            let database = Database::open(&store, Config::default()).unwrap();
            let socket = store.join(SOCKET_NAME);
            // Left by a process that was killed.
            std::fs::write(&socket, "").unwrap();
            let sharing = share(&database).unwrap();
            let found = std::fs::metadata(&socket).unwrap();
            assert!(found.file_type().is_socket());
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
            drop(reach(&store).unwrap());
            drop(sharing);
            assert!(!socket.exists() && reach(&store).is_err());
            let held = database.info().unwrap().files;
            assert!(held.iter().all(|(name, _)| name != SOCKET_NAME), "{held:?}");
            drop(database);
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn a_store_that_is_open_to_read_is_not_shared() {
        let folder = folder("read");
        let store = folder.join("a.knot");
        drop(Database::open(&store, Config::default()).unwrap());
        let config = Config { access: Access::ReadOnly, ..Config::default() };
        let database = Database::open(&store, config).unwrap();
        assert_eq!(share(&database).err().map(|error| error.code()), Some(model::ErrorCode::ReadOnly));
        drop(database);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
