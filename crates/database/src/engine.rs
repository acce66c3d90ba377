//! The store of a database: files on this machine, or a graph on a ring of machines.

#[cfg(feature = "cql")]
mod ring;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::platform::{Disk, Platform};
use model::{Error, GraphStore, Interrupt, MemoryBudget, Result, error};
use storage::layout::Layout;
use storage::{CacheStatistics, NativeStore, OpenMode, OpenOptions, StoreStats, TornLog};

use crate::settings::{Access, Config};

/// The beginning of the address of a graph on a ring.
const RING_SCHEME: &str = "cql://";

/// The store of a database.
pub(crate) enum Engine {
    /// Files in a directory.
    Native(Arc<NativeStore>),
    /// Tables of a wide-column store.
    #[cfg(feature = "cql")]
    Ring(ring::Ring),
}

/// True if a path is the address of a graph on a ring of machines, `cql://HOST/KEYSPACE`.
pub fn is_ring(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with(RING_SCHEME))
}

/// Fails with `UNSUPPORTED` if a path is the address of a ring, and what the verb says needs files.
pub(crate) fn need_files(path: &Path, verb: &str) -> Result<()> {
    if is_ring(path) { Err(no_files(verb)) } else { Ok(()) }
}

fn no_files(verb: &str) -> Error {
    error!(Unsupported, "{verb} works on a store in files, not on a ring of machines").with_remedy(
        "write by Cypher, load a new graph with knot import, and copy with the tools of the wide-column store",
    )
}

impl Engine {
    /// Opens what is at a path or address.
    pub(crate) fn open(platform: &Platform, path: &Path, config: &Config) -> Result<Engine> {
        if is_ring(path) {
            return Engine::open_ring(platform, path, config);
        }
        let mode = match config.access {
            Access::ReadWrite => OpenMode::CreateIfMissing,
            Access::ReadWriteExisting => OpenMode::Existing,
            Access::ReadOnly => OpenMode::ReadOnly,
        };
        let mut options = OpenOptions {
            mode,
            durability: config.durability,
            memory_bytes_max: config.memory_bytes_max,
            ..OpenOptions::default()
        };
        options.compaction.bytes_per_second = config.merge_bytes_per_second;
        Ok(Engine::Native(Arc::new(NativeStore::open(path, options, platform.clone())?)))
    }

    #[cfg(feature = "cql")]
    fn open_ring(platform: &Platform, path: &Path, config: &Config) -> Result<Engine> {
        ring::Ring::open(platform, &path.to_string_lossy(), config).map(Engine::Ring)
    }

    #[cfg(not(feature = "cql"))]
    fn open_ring(_: &Platform, path: &Path, _: &Config) -> Result<Engine> {
        Err(error!(Unsupported, "{}: this program was built without rings of machines", path.display())
            .with_remedy("build it with the feature cql"))
    }

    /// The graph.
    pub(crate) fn graph(&self) -> Arc<dyn GraphStore> {
        match self {
            Engine::Native(store) => store.clone(),
            #[cfg(feature = "cql")]
            Engine::Ring(ring) => ring.store.clone(),
        }
    }

    /// The store in files, to do what the verb says; fails with `UNSUPPORTED` on a ring.
    pub(crate) fn native_to(&self, verb: &str) -> Result<&NativeStore> {
        self.native().ok_or_else(|| no_files(verb))
    }

    /// The store, if it is in files.
    fn native(&self) -> Option<&NativeStore> {
        match self {
            Engine::Native(store) => Some(store),
            #[cfg(feature = "cql")]
            Engine::Ring(_) => None,
        }
    }

    /// The graph, if it is on a ring.
    #[cfg(feature = "cql")]
    pub(crate) fn ring(&self) -> Option<&cluster::ClusterStore> {
        match self {
            Engine::Native(_) => None,
            Engine::Ring(ring) => Some(&ring.store),
        }
    }

    /// The directory, or the address without a password.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Engine::Native(store) => store.path(),
            #[cfg(feature = "cql")]
            Engine::Ring(ring) => &ring.address,
        }
    }

    /// The directory, where there is one.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.native().map(|store| store.path().to_path_buf())
    }

    /// The disk for temporary files.
    pub(crate) fn disk(&self, platform: &Platform) -> Arc<dyn Disk> {
        self.native().map_or(platform, |store| store.platform()).disk.clone()
    }

    /// The budget of memory.
    pub(crate) fn memory(&self) -> &Arc<MemoryBudget> {
        match self {
            Engine::Native(store) => store.memory(),
            #[cfg(feature = "cql")]
            Engine::Ring(ring) => &ring.memory,
        }
    }

    /// Goes on to what other processes have committed: on a ring every view does so by itself.
    pub(crate) fn refresh(&self, interrupt: &Interrupt) -> Result<bool> {
        self.native().map_or(Ok(false), |store| store.refresh(interrupt))
    }

    /// Merges writes into files; on a ring, writes a checkpoint.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        match self {
            Engine::Native(store) => store.checkpoint(&Interrupt::new()),
            #[cfg(feature = "cql")]
            Engine::Ring(ring) => ring.store.checkpoint(),
        }
    }

    /// Merges files; on a ring, purges dead rows, and drops the part of the log that nobody needs.
    pub(crate) fn compact(&self, interrupt: &Interrupt) -> Result<()> {
        match self {
            Engine::Native(store) => store.compact(interrupt),
            #[cfg(feature = "cql")]
            Engine::Ring(ring) => {
                let _listening = interrupt.listen();
                // The purge first: the log tells what died.
                ring.store.purge()?;
                ring.store.trim().map(drop)
            }
        }
    }

    /// Data behind the sound parts of logs.
    pub(crate) fn torn_logs(&self) -> &[TornLog] {
        self.native().map_or(&[], NativeStore::torn_logs)
    }

    /// Counts of what the store in files has done; zeros on a ring.
    pub(crate) fn stats(&self) -> StoreStats {
        self.native().map(NativeStore::stats).unwrap_or_default()
    }

    /// Dead rows of a ring that are not purged.
    pub(crate) fn dead_rows(&self) -> Option<u64> {
        match self {
            Engine::Native(_) => None,
            #[cfg(feature = "cql")]
            Engine::Ring(ring) => Some(ring.store.dead_rows()),
        }
    }

    /// Bytes of unmerged writes, layout and cache of a store in files.
    pub(crate) fn files_info(&self) -> Result<(usize, Layout, CacheStatistics)> {
        match self.native() {
            Some(store) => Ok((store.memtable_bytes(), store.layout()?, store.cache_statistics())),
            None => Ok(Default::default()),
        }
    }
}
