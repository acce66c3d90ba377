//! Opening a store: lock, manifest, files, and the log replayed into a memtable.

use std::any::Any;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use model::limits::MEMORY_BYTES_MIN;
use model::platform::{Disk, Platform};
use model::{Consumer, MemoryBudget, Result, error};

use super::background::Background;
use super::counters::Counters;
use super::flush::Files;
use super::head::Head;
use super::log::CommitLog;
use super::{Engine, NativeStore, OpenMode, OpenOptions};
use crate::compact::throttle::Throttle;
use crate::error::StorageError;
use crate::file::cache::BlockCache;
use crate::format::{
    BACKUP_NAME, COPYING_NAME, FileKind, HEADER_BYTES, LOCK_NAME, MANIFEST_COPY_NAME, MANIFEST_NAME, MANIFEST_NEW_NAME,
};
use crate::snapshot::Snapshot;
use crate::version::Version;
use crate::wal::replay::replay_all;
use crate::wal::writer::WalWriter;

/// How often the lock is tried, and how long to wait in between.
const LOCK_ATTEMPTS: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

pub(super) fn open(path: &Path, mut options: OpenOptions, platform: Platform) -> Result<NativeStore> {
    let memory = MemoryBudget::new(memory_limit(&options)?);
    options.memtable_bytes_max = options.memtable_bytes_max.min(memory.share(Consumer::Memtable) / 2);
    let cache = BlockCache::new(memory.clone());
    let platform = cache.wrap(platform);
    let disk = &platform.disk;
    let is_new = find(path, options.mode, &platform)?;
    if options.mode != OpenMode::ReadOnly && disk.exists(&path.join(BACKUP_NAME)) {
        let refused = model::error!(ReadOnly, "{} is a backup, it can be opened for reading only", path.display());
        return Err(refused.with_remedy("restore it to another path: knot restore"));
    }
    if is_new {
        create_directory(path, &**disk)?;
    }
    let lock = take_lock(path, options.mode, &**disk)?;
    // Another process may have made the store while this one waited for the lock.
    let version = match options.mode {
        OpenMode::ReadOnly => Version::open_untouched(&platform, path)?,
        _ if is_new && !disk.exists(&path.join(MANIFEST_NAME)) => Version::create(&platform, path)?,
        _ => Version::open(&platform, path)?,
    };
    let mut snapshot = Snapshot::new(version);
    let logs = replay_logs(path, options.mode, &platform, &mut snapshot)?;
    snapshot.version.edge_numbers().raise(snapshot.memtable.edge_number_bound);
    let snapshot = Arc::new(snapshot);
    let counters: Arc<Counters> = Arc::default();
    let version = snapshot.version.clone();
    let waiting = Arc::new(AtomicUsize::new(0));
    let memtable_bytes = snapshot.memtable.bytes;
    let engine = Arc::new(Engine {
        path: path.to_owned(),
        options,
        memory: memory.clone(),
        cache,
        next_node: AtomicU64::new(snapshot.memtable.node_id_bound()),
        memtable_bytes: AtomicUsize::new(0),
        head: Mutex::new(Head::new(snapshot.clone(), logs.sequence, &memory)),
        head_released: Condvar::new(),
        published: Mutex::new(snapshot),
        files: Mutex::new(Files { log: logs.number }),
        log: CommitLog::new(logs.writer, logs.sequence, options.durability, counters.clone()),
        background: Background::default(),
        level0: AtomicUsize::new(version.partitions().iter().filter(|partition| partition.entry().level == 0).count()),
        current: Mutex::new(version),
        compacting: Mutex::new(()),
        throttle: Throttle::new(platform.clock.clone(), options.compaction.bytes_per_second, waiting.clone()),
        waiting,
        counters,
        platform,
        _lock: lock,
    });
    let store = NativeStore(engine);
    store.0.set_memtable_bytes(memtable_bytes);
    store.0.start_threads()?;
    Ok(store)
}

/// The limit that the options name, or else the store's share of the machine's memory.
fn memory_limit(options: &OpenOptions) -> Result<usize> {
    let Some(limit) = options.memory_bytes_max else { return Ok(crate::os::memory_limit()) };
    if limit < MEMORY_BYTES_MIN {
        let least = MEMORY_BYTES_MIN >> 10;
        return Err(error!(Argument, "a memory limit of {limit} bytes is too small, expected {least} KiB or more"));
    }
    Ok(limit)
}

/// Makes the store's directory, durably: the names of the directories that were not there before, too.
fn create_directory(path: &Path, disk: &dyn Disk) -> Result<()> {
    let above = |path: &Path| {
        path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent }.to_owned())
    };
    let mut changed = vec![above(path)];
    changed
        .extend(path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty() && !disk.exists(path)).map(above));
    disk.create_directory(path).map_err(|error| StorageError::io("create", path, error))?;
    for directory in changed.into_iter().flatten() {
        match disk.sync_directory(&directory) {
            // A directory that may be passed through but not opened cannot be synced.
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => {
                return Err(StorageError::io("sync", &directory, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes the store's lock: alone to write, together with others to read. A process that is just ending, or a child of this
/// one that has not yet become another program, may hold it for a moment.
fn take_lock(path: &Path, mode: OpenMode, disk: &dyn Disk) -> Result<Box<dyn Any + Send + Sync>> {
    let lock_path = path.join(LOCK_NAME);
    for attempt in 1.. {
        let taken = match mode {
            OpenMode::ReadOnly => disk.lock_shared(&lock_path),
            OpenMode::Existing | OpenMode::CreateIfMissing => disk.lock(&lock_path),
        };
        match taken {
            Ok(lock) => return Ok(lock),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err(StorageError::io("lock", &lock_path, error));
            }
            Err(_) if attempt < LOCK_ATTEMPTS => std::thread::sleep(LOCK_PAUSE),
            Err(_) => break,
        }
    }
    Err(StorageError::Busy { path: path.to_owned(), holder: disk.lock_holder(&lock_path) }.into())
}

/// True if a store is to be made; fails if something else than a store is there.
fn find(path: &Path, mode: OpenMode, platform: &Platform) -> Result<bool> {
    let disk = &platform.disk;
    let not_a_store = |reason: String| StorageError::NotAStore { path: path.to_owned(), reason };
    if !disk.exists(path) {
        return match mode {
            OpenMode::CreateIfMissing => Ok(true),
            _ => Err(not_a_store("nothing is there, a directory with a store was expected".to_owned()).into()),
        };
    }
    let names = match disk.list(path) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(not_a_store("a file is there, a directory with a store was expected".to_owned()).into());
        }
        Err(error) => return Err(StorageError::io("list", path, error)),
    };
    if names.iter().any(|name| name == MANIFEST_NAME) {
        return Ok(false);
    }
    // What the making of a store leaves if it is interrupted counts as nothing: a log without records, for one.
    let first_log = FileKind::Wal.file_name(0);
    let is_left = |name: &str| match name {
        LOCK_NAME | MANIFEST_NEW_NAME | MANIFEST_COPY_NAME => true,
        _ => name == first_log && disk.length(&path.join(name)).is_ok_and(|bytes| bytes <= HEADER_BYTES as u64),
    };
    if names.iter().any(|name| name == COPYING_NAME) {
        let reason = "an unfinished backup or restore is there; run it again, or remove the directory";
        return Err(not_a_store(reason.to_owned()).into());
    }
    let mut others = names.iter().filter(|name| !is_left(name));
    match (others.next(), mode) {
        (Some(name), _) => {
            let reason = format!("the directory holds no file {MANIFEST_NAME}, but {name}");
            Err(not_a_store(reason).into())
        }
        (None, OpenMode::CreateIfMissing) => Ok(true),
        (None, _) => Err(not_a_store("the directory is empty".to_owned()).into()),
    }
}

/// The logs of a store that was opened.
struct Logs {
    /// The one to go on with, if the store is to be written.
    writer: Option<WalWriter>,
    /// Its number.
    number: u64,
    /// The last transaction.
    sequence: u64,
}

/// Repeats what the logs hold, from the one that the manifest names on: a flush that did not come to its end left several.
fn replay_logs(path: &Path, mode: OpenMode, platform: &Platform, snapshot: &mut Snapshot) -> Result<Logs> {
    let disk = &*platform.disk;
    let manifest = snapshot.version.manifest();
    let (first, identity) = (manifest.wal_number, manifest.store_identity);
    let (number, end) = replay_all(disk, path, first, identity, |payload| snapshot.apply_record(payload))?;
    let sequence = end.sequence;
    if mode == OpenMode::ReadOnly {
        return Ok(Logs { writer: None, number, sequence });
    }
    remove_other_logs(path, first..=number, disk)?;
    let path = path.join(FileKind::Wal.file_name(number));
    Ok(Logs { writer: Some(WalWriter::resume(disk, &path, identity, &end)?), number, sequence })
}

/// Removes logs that the files hold, which a flush could not remove.
fn remove_other_logs(path: &Path, needed: RangeInclusive<u64>, disk: &dyn Disk) -> Result<()> {
    let names = disk.list(path).map_err(|error| StorageError::io("list", path, error))?;
    for name in names {
        if let Some((FileKind::Wal, other)) = FileKind::parse(&name)
            && !needed.contains(&other)
        {
            let path = path.join(&name);
            disk.remove(&path).map_err(|error| StorageError::io("remove", &path, error))?;
        }
    }
    Ok(())
}
