//! The canary: journals changed into what a broken store or a lying disk would have left. A harness that does not find
//! each of these would not find the real fault either.

use crate::simulation::{Event, Journal};

/// One way to be broken.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// Description of the defect.
    pub name: &'static str,
    /// The life in which it is.
    pub life: Life,
    /// The journal as it would have been.
    pub change: fn(&Journal) -> Vec<Event>,
}

/// Life of a store that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The one that is recorded.
    First,
    /// That of the process which comes after one that was killed.
    Second,
}

/// All ways to be broken. Files are told by the ends of their names: `.wal` is the log, `MANIFEST` the commit point.
pub const BROKEN: &[Broken] = &[
    Broken {
        name: "the log is not synced before a commit is acknowledged",
        life: Life::First,
        change: without_log_syncs,
    },
    Broken {
        name: "files are not synced before the manifest names them",
        life: Life::First,
        change: without_file_syncs,
    },
    Broken {
        name: "the manifest is not synced before it is renamed",
        life: Life::First,
        change: without_manifest_syncs,
    },
    Broken {
        name: "the manifest is renamed before the files it names are synced",
        life: Life::First,
        change: manifest_before_files,
    },
    Broken { name: "names are not made durable", life: Life::First, change: without_directory_syncs },
    Broken {
        name: "the old log is removed before the manifest is replaced",
        life: Life::First,
        change: log_removed_early,
    },
    Broken { name: "commits are acknowledged before they are written", life: Life::First, change: acknowledged_early },
    Broken { name: "a record of the log is dropped in silence", life: Life::First, change: without_a_record },
    Broken {
        name: "a sync of the log that failed is taken for one that did not",
        life: Life::First,
        change: failed_log_sync,
    },
    Broken {
        name: "a block of the log keeps what an older log left there",
        life: Life::First,
        change: with_stale_blocks,
    },
    Broken { name: "opening does not sync what a killed process wrote", life: Life::Second, change: without_log_syncs },
    Broken { name: "opening does not sync the names it finds", life: Life::Second, change: without_directory_syncs },
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

/// Every fifth sync of a log fails, and nobody hears of it; later ones work.
fn failed_log_sync(journal: &Journal) -> Vec<Event> {
    let mut syncs = 0;
    let change = |event: &Event| match event {
        Event::Sync { file } if is_log(journal, *file) => {
            syncs += 1;
            if syncs % 5 == 0 { Event::SyncFailed { file: *file } } else { event.clone() }
        }
        _ => event.clone(),
    };
    journal.events.iter().map(change).collect()
}

/// Writes to a log do not reach the disk where the log before it, which is as long, has left its blocks.
fn with_stale_blocks(journal: &Journal) -> Vec<Event> {
    let mut older: Option<(u64, Vec<u8>)> = None;
    let mut current: Option<(u64, Vec<u8>)> = None;
    let mut events = journal.events.clone();
    for event in &mut events {
        let Event::Write { file, offset, bytes } = event else { continue };
        if !is_log(journal, *file) {
            continue;
        }
        if current.as_ref().is_none_or(|(number, _)| number != file) {
            older = current.replace((*file, Vec::new()));
        }
        let (start, end) = (*offset as usize, *offset as usize + bytes.len());
        let (_, written) = current.as_mut().expect("a log was just put there");
        written.resize(written.len().max(end), 0);
        written[start..end].copy_from_slice(bytes);
        if let Some((_, stale)) = &older
            && start > 0
            && let Some(stale) = stale.get(start..end)
        {
            *bytes = std::sync::Arc::from(stale);
        }
    }
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
