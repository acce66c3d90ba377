//! Opens what can be opened of a damaged store: files that are whole enough, and the log as far as it goes.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use model::platform::Platform;
use model::{Consumer, Error, ErrorCode, Interrupt, MemoryBudget, Result};

use super::{BATCH, Losses, What};
use crate::check::LOG_MEMORY_BYTES;
use crate::engine::Overflow;
use crate::file::StoreFile;
use crate::file::cache::BlockCache;
use crate::format::{FileKind, MANIFEST_NAME, segment_range};
use crate::lock::lock_against_writers;
use crate::manifest::Manifest;
use crate::problem::{Problem, is_forbidden};
use crate::reading::reading;
use crate::snapshot::Snapshot;
use crate::transaction::made::Made;
use crate::version::Version;
use crate::wal::replay::{RecordRoom, replay_all};

/// A damaged store as far as it can be read.
pub(super) struct Opened {
    pub(super) snapshot: Snapshot,
    /// Nodes and edges that its manifest counts.
    pub(super) nodes_listed: u64,
    pub(super) edges_listed: u64,
    _lock: Box<dyn Any + Send + Sync>,
}

/// Opens a store as far as it can be read. Fails where this user has no right to read: nothing is known of what stands there.
pub(super) fn open(
    platform: &Platform,
    directory: &Path,
    losses: &mut Losses,
    interrupt: &Interrupt,
) -> Result<Opened> {
    let memory = MemoryBudget::new(LOG_MEMORY_BYTES);
    let platform = &BlockCache::new(memory.clone()).wrap(reading(platform));
    // Nothing can be locked there; the manifest says so better.
    if !platform.disk.exists(directory) {
        read_manifest(platform, directory, losses)?;
    }
    let lock = lock_against_writers(&*platform.disk, directory)?;
    let mut manifest = read_manifest(platform, directory, losses)?;
    let (nodes_listed, edges_listed) = (manifest.statistics.nodes, manifest.statistics.edges);
    leave_out_unopened(platform, directory, &mut manifest, losses)?;
    let version = loop {
        match Version::assemble(platform, directory, manifest.clone(), None) {
            Ok(version) => match unreadable_run(&version) {
                None => break version,
                Some((number, problem)) => {
                    let Some(lost) = leave_out(&mut manifest, number) else { break version };
                    losses.add(&problem, 1, &What::Text(lost));
                }
            },
            Err(error) => {
                refuse_if_forbidden(&error)?;
                let problem = Problem::of(directory, &error);
                let name = problem.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let lost = FileKind::parse(name).and_then(|(_, number)| leave_out(&mut manifest, number));
                let Some(lost) = lost else { return Err(error) };
                losses.add(&problem, 1, &What::Text(lost));
            }
        }
    };
    let mut snapshot = Snapshot::new(version);
    repeat_log(platform, &memory, &mut snapshot, losses, interrupt)?;
    Ok(Opened { snapshot, nodes_listed, edges_listed, _lock: lock })
}

/// Repeats what can be repeated of the log.
fn repeat_log(
    platform: &Platform,
    memory: &Arc<MemoryBudget>,
    snapshot: &mut Snapshot,
    losses: &mut Losses,
    interrupt: &Interrupt,
) -> Result<()> {
    let version = snapshot.version.clone();
    let (manifest, directory) = (version.manifest(), version.directory());
    let names = (manifest.wal_number, manifest.store_identity);
    let made = Made::heard_by(interrupt);
    let mut overflow = Overflow::of_salvage(memory, memory.share(Consumer::Memtable), interrupt);
    let (mut applied, mut ended) = (0u64, Ok(()));
    let log = replay_all(&*platform.disk, directory, names, RecordRoom::UNLIMITED, |payload| {
        let mut lost = |error: &Error, what| losses.add(&Problem::of(directory, error), 1, &What::Text(what));
        applied += 1;
        let repeated = interrupt.check();
        // An error is no damage: there is no room for temporary files, or nobody wants the rest.
        ended = repeated.and_then(|()| snapshot.salvage_record(payload, &made, &mut overflow, &mut lost));
        ended.clone()
    });
    ended?;
    if let Err(error) = log {
        refuse_if_forbidden(&error)?;
        let what = What::Text(format!("the transactions of the log after the first {applied}"));
        losses.add(&Problem::of(directory, &error), 1, &what);
    }
    Ok(())
}

/// Fails with an error that is no damage: this user may not read what another may.
fn refuse_if_forbidden(error: &Error) -> Result<()> {
    if !is_forbidden(error) {
        return Ok(());
    }
    Err(error.clone().with_remedy("give this user the right to read all of the store, then run knot recover again"))
}

/// The manifest, or its copy where it cannot be read.
fn read_manifest(platform: &Platform, directory: &Path, losses: &mut Losses) -> Result<Manifest> {
    let error = match Manifest::read(&platform.disk, directory) {
        Err(error)
            if matches!(
                error.code(),
                ErrorCode::Corrupt | ErrorCode::NotAStore | ErrorCode::Version | ErrorCode::Io
            ) =>
        {
            error
        }
        outcome => return outcome,
    };
    refuse_if_forbidden(&error)?;
    let copy = Manifest::read_copy(&platform.disk, directory);
    copy.as_ref().map_or_else(refuse_if_forbidden, |_| Ok(()))?;
    // An error of the copy says less than the error of the manifest.
    let Ok(manifest) = copy else { return Err(error) };
    let lost = "nothing: the copy of the manifest was read".to_owned();
    losses.add(&Problem::of(&directory.join(MANIFEST_NAME), &error), 1, &What::Text(lost));
    Ok(manifest)
}

/// A node run of most of whose rows it cannot be told which nodes they are, with the reason: without it older runs and
/// segments say what these nodes were.
fn unreadable_run(version: &Version) -> Option<(u64, Problem)> {
    version.layers().runs().iter().find_map(|run| {
        let (mut lost, mut cause, mut ids) = (0, None, Vec::new());
        for start in (0..run.rows()).step_by(BATCH) {
            let end = (start + BATCH as u64).min(run.rows());
            if let Err(error) = run.ids().read(run.file(), start..end, &mut ids) {
                lost += end - start;
                cause = Some(error);
            }
        }
        let cause = cause.filter(|_| lost > run.rows() / 2)?;
        Some((run.file().entry().number, Problem::of(run.file().path(), &cause)))
    })
}

/// Takes out of the manifest all files that cannot be opened, whatever the reason but the rights of this user: header, trailer or table of checksums.
fn leave_out_unopened(
    platform: &Platform,
    directory: &Path,
    manifest: &mut Manifest,
    losses: &mut Losses,
) -> Result<()> {
    let files: Vec<_> = manifest.files().collect();
    for (kind, entry) in files {
        let Err(error) = StoreFile::open(&platform.disk, directory, kind, entry) else { continue };
        refuse_if_forbidden(&error)?;
        let path = directory.join(kind.file_name(entry.number));
        // Its edges may have been left out before its properties.
        if let Some(lost) = leave_out(manifest, entry.number) {
            losses.add(&Problem::of(&path, &error), 1, &What::Text(lost));
        }
    }
    Ok(())
}

/// Takes a file out of a manifest; says what is lost by that. `None` if the manifest does not name it.
fn leave_out(manifest: &mut Manifest, number: u64) -> Option<String> {
    if let Some(at) = manifest.segments.iter().position(|entry| entry.file.number == number) {
        let range = segment_range(manifest.segments.remove(at).segment);
        return Some(format!("the nodes with ids {} to {}, and their edges", range.start, range.end - 1));
    }
    if let Some(at) = manifest.node_runs.iter().position(|entry| entry.file.number == number) {
        manifest.node_runs.remove(at);
        return Some(
            "new nodes and their edges, and changes of nodes: deleted nodes are back, old values too".to_owned(),
        );
    }
    if let Some(at) = manifest.ordered.iter().position(|entry| entry.file.number == number) {
        manifest.ordered.remove(at);
        return Some("nothing but an index, which is built anew".to_owned());
    }
    if let Some(at) = manifest.indexes.iter().position(|entry| entry.file.number == number) {
        manifest.indexes.remove(at);
        return Some("nothing but an index, which is built anew".to_owned());
    }
    if let Some(at) = manifest.partitions.iter().position(|entry| entry.topology.number == number) {
        let entry = manifest.partitions.remove(at);
        let (start, end) = (entry.interval.start, entry.interval.end - 1);
        return Some(format!("{} edges that end at nodes {start} to {end}", entry.edges));
    }
    for entry in &mut manifest.partitions {
        if entry.properties.is_some_and(|file| file.number == number) {
            entry.properties = None;
            return Some(format!("the properties of {} edges", entry.edges));
        }
        if let Some(at) = entry.patches.iter().position(|file| file.number == number) {
            entry.patches.remove(at);
            return Some("deletions and changes of edges: deleted edges are back, old values too".to_owned());
        }
    }
    None
}
