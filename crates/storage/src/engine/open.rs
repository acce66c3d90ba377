//! Opening a store: lock, manifest, files, and the log replayed (see [`super::replay`]).

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};

use model::interrupt::of_this_thread;
use model::limits::MEMORY_BYTES_MIN;
use model::platform::Platform;
use model::{Consumer, MemoryBudget, Result, error};

use super::background::{Background, memtable_bytes_most};
use super::counters::Counters;
use super::flush::Files;
use super::head::Head;
use super::log::CommitLog;
use super::reader::{Newest, Place};
use super::replay::Replay;
use super::{Engine, NativeStore, OpenMode, OpenOptions};
use crate::compact::throttle::Throttle;
use crate::error::StorageError;
use crate::file::cache::BlockCache;
use crate::file::directory::create_directory;
use crate::format::{
    BACKUP_NAME, COPYING_NAME, FileKind, LOCK_NAME, MANIFEST_COPY_NAME, MANIFEST_NAME, MANIFEST_NEW_NAME, SOCKET_NAME,
};
use crate::lock::{Lock, lock_to_write};
use crate::reading::reading;
use crate::snapshot::Snapshot;
use crate::version::Version;
use crate::wal::EMPTY_LOG_BYTES;
use crate::wal::mend::mend;
use crate::wal::replay::RecordRoom;
use crate::wal::torn::TornLog;
use crate::wal::writer::WalWriter;

pub(super) fn open(path: &Path, mut options: OpenOptions, platform: Platform) -> Result<NativeStore> {
    let memory = MemoryBudget::new(memory_limit(&options)?);
    options.memtable_bytes_max = options.memtable_bytes_max.min(memory.share(Consumer::Memtable) / 2);
    let cache = BlockCache::new(memory.clone());
    let (beneath, outside) = (platform.clone(), cache.wrap(platform.clone()));
    let platform = match options.mode {
        OpenMode::ReadOnly => cache.wrap(reading(&platform)),
        OpenMode::Existing | OpenMode::CreateIfMissing => outside.clone(),
    };
    let disk = &platform.disk;
    let is_new = find(path, options.mode, &platform)?;
    if options.mode != OpenMode::ReadOnly && disk.exists(&path.join(BACKUP_NAME)) {
        let refused = model::error!(ReadOnly, "{} is a backup, it can be opened for reading only", path.display());
        return Err(refused.with_remedy("restore it to another path: knot restore"));
    }
    if is_new {
        create_directory(path, &**disk)?;
    }
    let interrupt = &of_this_thread().unwrap_or_default();
    let (most, room) = (memtable_bytes_most(&options, &memory), RecordRoom::within(memory.limit()));
    let replay = Replay { path, platform: &platform, memory: &memory, most, room, interrupt };
    let Opened { snapshot, writer, number, sequence, torn, lock, reader } = match options.mode {
        OpenMode::ReadOnly => open_to_read(&replay)?,
        OpenMode::Existing | OpenMode::CreateIfMissing => open_to_write(&replay, is_new)?,
    };
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
        head: Mutex::new(Head::new(snapshot.clone(), sequence, &memory)),
        head_released: Condvar::new(),
        published: Mutex::new(snapshot),
        files: Mutex::new(Files { log: number }),
        log: CommitLog::new(writer, &platform.disk, sequence, options.durability, counters.clone()),
        background: Background::default(),
        level0: AtomicUsize::new(version.partitions().iter().filter(|partition| partition.entry().level == 0).count()),
        current: Mutex::new(version),
        compacting: Mutex::new(()),
        throttle: Throttle::new(platform.clock.clone(), options.compaction.bytes_per_second, waiting.clone()),
        waiting,
        counters,
        platform,
        outside,
        torn,
        beneath,
        reader: reader.map(Mutex::new),
        _lock: lock,
    });
    let store = NativeStore(engine);
    store.0.set_memtable_bytes(memtable_bytes);
    store.0.start_threads()?;
    Ok(store)
}

/// State of a store that was opened.
struct Opened {
    snapshot: Snapshot,
    writer: Option<WalWriter>,
    /// The number of the last log.
    number: u64,
    /// The last transaction.
    sequence: u64,
    torn: Vec<TornLog>,
    lock: Option<Lock>,
    reader: Option<Place>,
}

/// Opens a store to read: it may be written meanwhile by another process.
fn open_to_read(replay: &Replay<'_>) -> Result<Opened> {
    let newest = replay.newest(None)?;
    let Newest { snapshot, place, sequence, number, torn } = newest.expect("without a state before all is new");
    Ok(Opened { snapshot, writer: None, number, sequence, torn, lock: None, reader: Some(place) })
}

/// Opens a store to write, alone.
fn open_to_write(replay: &Replay<'_>, is_new: bool) -> Result<Opened> {
    let lock = lock_to_write(&*replay.platform.disk, replay.path)?;
    let (version, mut torn) = open_version(replay, is_new)?;
    let mut snapshot = Snapshot::new(version);
    let logs = replay.logs(&mut snapshot)?;
    snapshot.version.edge_numbers().raise(snapshot.memtable.edge_number_bound);
    torn.extend(logs.torn);
    let (writer, number, sequence) = (Some(logs.writer), logs.number, logs.sequence);
    Ok(Opened { snapshot, writer, number, sequence, torn, lock: Some(lock), reader: None })
}

/// The files of the store; made if it is new. Its logs are made ones that were closed first: gives what was cut off of them.
fn open_version(replay: &Replay<'_>, is_new: bool) -> Result<(Arc<Version>, Vec<TornLog>)> {
    let (path, platform) = (replay.path, replay.platform);
    let disk = &platform.disk;
    // Another process may have made the store while this one waited for the lock.
    if is_new && !disk.exists(&path.join(MANIFEST_NAME)) {
        return Ok((Version::create(platform, path)?, Vec::new()));
    }
    // A process that was killed may have left names that are not durable, that of the manifest among them. What it replaced
    // is not removed before they are.
    disk.sync_directory(path).map_err(|error| StorageError::io("sync", path, error))?;
    let torn = mend(platform, path, replay.room, replay.interrupt)?;
    Ok((Version::open(platform, path)?, torn))
}

/// The limit that the options name, or else the store's share of the machine's memory.
fn memory_limit(options: &OpenOptions) -> Result<usize> {
    let Some(limit) = options.memory_bytes_max else { return Ok(crate::os::memory_limit()) };
    if limit < MEMORY_BYTES_MIN {
        let least = MEMORY_BYTES_MIN >> 10;
        return Err(error!(Argument, "a memory limit of {limit} bytes is too small, expected {least} KiB or more")
            .with_remedy("raise the limit, or leave it out"));
    }
    Ok(limit)
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
    // A store whose making was interrupted counts as none; a log without records is such a rest.
    let first_log = FileKind::Wal.file_name(0);
    let is_left = |name: &str| match name {
        LOCK_NAME | SOCKET_NAME | MANIFEST_NEW_NAME | MANIFEST_COPY_NAME => true,
        _ => name == first_log && disk.length(&path.join(name)).is_ok_and(|bytes| bytes <= EMPTY_LOG_BYTES),
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
