//! The canary: journals changed into what a broken store or a lying disk would have left. A harness that does not find
//! each of these would not find the real fault either.

use crate::simulation::{Event, Journal};

/// One way to be broken.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// What is wrong.
    pub name: &'static str,
    /// The journal as it would have been.
    pub change: fn(&Journal) -> Vec<Event>,
}

/// All ways to be broken. Files are told by the ends of their names: `.wal` is the log, `MANIFEST` the commit point.
pub const BROKEN: &[Broken] = &[
    Broken { name: "the log is not synced before a commit is acknowledged", change: without_log_syncs },
    Broken { name: "files are not synced before the manifest names them", change: without_file_syncs },
    Broken { name: "the manifest is not synced before it is renamed", change: without_manifest_syncs },
    Broken { name: "the manifest is renamed before the files it names are synced", change: manifest_before_files },
    Broken { name: "names are not made durable", change: without_directory_syncs },
    Broken { name: "the old log is removed before the manifest is replaced", change: log_removed_early },
    Broken { name: "commits are acknowledged before they are written", change: acknowledged_early },
    Broken { name: "a record of the log is dropped in silence", change: without_a_record },
];

fn ends_with(journal: &Journal, file: u64, end: &str) -> bool {
    journal.paths.get(&file).is_some_and(|path| path.to_string_lossy().ends_with(end))
}

fn is_log(journal: &Journal, file: u64) -> bool {
    ends_with(journal, file, ".wal")
}

fn is_manifest(journal: &Journal, file: u64) -> bool {
    // Its copy is made beside it, and may lack anything.
    let of =
        |path: &std::path::PathBuf| path.to_string_lossy().contains("MANIFEST") && !path.ends_with("MANIFEST.copy");
    journal.paths.get(&file).is_some_and(of)
}

fn kept(journal: &Journal, keep: impl Fn(&Event) -> bool) -> Vec<Event> {
    journal.events.iter().filter(|event| keep(event)).cloned().collect()
}

fn without_log_syncs(journal: &Journal) -> Vec<Event> {
    kept(journal, |event| !matches!(event, Event::Sync { file } if is_log(journal, *file)))
}

fn without_file_syncs(journal: &Journal) -> Vec<Event> {
    kept(
        journal,
        |event| !matches!(event, Event::Sync { file } if !is_log(journal, *file) && !is_manifest(journal, *file)),
    )
}

fn without_manifest_syncs(journal: &Journal) -> Vec<Event> {
    kept(journal, |event| !matches!(event, Event::Sync { file } if is_manifest(journal, *file)))
}

fn without_directory_syncs(journal: &Journal) -> Vec<Event> {
    kept(journal, |event| !matches!(event, Event::SyncDirectory { .. }))
}

/// Every tenth write to a log never happens.
fn without_a_record(journal: &Journal) -> Vec<Event> {
    let mut writes = 0;
    let mut events = journal.events.clone();
    events.retain(|event| {
        let is_write = matches!(event, Event::Write { file, .. } if is_log(journal, *file));
        writes += u32::from(is_write);
        !is_write || !writes.is_multiple_of(10)
    });
    events
}

/// Moves every event that is told forward, before the latest earlier event that is told.
fn moved(events: &[Event], moves: impl Fn(&Event) -> bool, before: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut result: Vec<Event> = Vec::new();
    for event in events {
        let place = result.iter().rposition(&before).filter(|_| moves(event));
        result.insert(place.unwrap_or(result.len()), event.clone());
    }
    result
}

/// Syncs of files come only after the manifest was renamed, and its name is durable.
fn manifest_before_files(journal: &Journal) -> Vec<Event> {
    let is_file_sync = |event: &Event| matches!(event, Event::Sync { file } if !is_log(journal, *file) && !is_manifest(journal, *file));
    let (mut held, mut result) = (Vec::new(), Vec::new());
    let mut is_renamed = false;
    for event in &journal.events {
        if is_file_sync(event) {
            held.push(event.clone());
            continue;
        }
        is_renamed |= matches!(event, Event::Rename { .. });
        result.push(event.clone());
        if is_renamed && matches!(event, Event::SyncDirectory { .. }) {
            result.append(&mut held);
            is_renamed = false;
        }
    }
    result
}

fn log_removed_early(journal: &Journal) -> Vec<Event> {
    let is_log = |event: &Event| matches!(event, Event::Remove { path } if path.to_string_lossy().ends_with(".wal"));
    moved(&journal.events, is_log, |event| matches!(event, Event::Rename { .. }))
}

fn acknowledged_early(journal: &Journal) -> Vec<Event> {
    let is_log_write = |event: &Event| matches!(event, Event::Write { file, .. } if is_log(journal, *file));
    moved(&journal.events, |event| matches!(event, Event::Acknowledged { .. }), is_log_write)
}
