//! Opens what can be opened of a damaged store: files that are whole enough, and the log as far as it goes.

use std::any::Any;
use std::path::Path;

use model::platform::Platform;
use model::{ErrorCode, Result};

use super::{Losses, What};
use crate::check::Problem;
use crate::engine::{OpenMode, take_lock};
use crate::format::{FileKind, MANIFEST_NAME, segment_range};
use crate::manifest::Manifest;
use crate::reading::reading;
use crate::snapshot::Snapshot;
use crate::version::Version;
use crate::wal::replay::replay_all;

/// The store as far as it can be read, and its lock.
pub(super) fn open(
    platform: &Platform,
    directory: &Path,
    losses: &mut Losses,
) -> Result<(Snapshot, Box<dyn Any + Send + Sync>)> {
    let platform = &reading(platform);
    // Nothing can be locked there; the manifest says so better.
    if !platform.disk.exists(directory) {
        read_manifest(platform, directory, losses)?;
    }
    let lock = take_lock(directory, OpenMode::ReadOnly, &*platform.disk)?;
    let mut manifest = read_manifest(platform, directory, losses)?;
    let version = loop {
        match Version::assemble(platform, directory, manifest.clone(), None) {
            Ok(version) => break version,
            Err(error) if error.code() == ErrorCode::Corrupt => {
                let problem = Problem::of(directory, &error);
                let name = problem.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let lost = FileKind::parse(name).and_then(|(_, number)| leave_out(&mut manifest, number));
                let Some(lost) = lost else { return Err(error) };
                losses.add(&problem, 1, &What::Text(lost));
            }
            Err(error) => return Err(error),
        }
    };
    let mut snapshot = Snapshot::new(version);
    let (number, identity) = (manifest.wal_number, manifest.store_identity);
    let mut applied = 0u64;
    let log = replay_all(&*platform.disk, directory, number, identity, |payload| {
        // A transaction is taken whole or not at all.
        let before = snapshot.clone();
        let outcome = snapshot.apply_record(payload);
        if outcome.is_err() {
            snapshot = before;
        }
        applied += u64::from(outcome.is_ok());
        outcome
    });
    match log {
        Ok(_) => {}
        Err(error) if error.code() == ErrorCode::Corrupt => {
            let what = What::Text(format!("the transactions of the log after the first {applied}"));
            losses.add(&Problem::of(directory, &error), 1, &what);
        }
        Err(error) => return Err(error),
    }
    Ok((snapshot, lock))
}

/// The manifest, or its copy where it cannot be read.
fn read_manifest(platform: &Platform, directory: &Path, losses: &mut Losses) -> Result<Manifest> {
    let error = match Manifest::read(&platform.disk, directory) {
        Err(error) if matches!(error.code(), ErrorCode::Corrupt | ErrorCode::NotAStore | ErrorCode::Version) => error,
        outcome => return outcome,
    };
    // What is wrong with the copy tells less than what is wrong with the manifest.
    let Ok(manifest) = Manifest::read_copy(&platform.disk, directory) else { return Err(error) };
    let lost = "nothing: the copy of the manifest was read".to_owned();
    losses.add(&Problem::of(&directory.join(MANIFEST_NAME), &error), 1, &What::Text(lost));
    Ok(manifest)
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
