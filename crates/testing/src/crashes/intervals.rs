//! Promise of a store that syncs its log at intervals: it keeps each step whose record a sync has made durable, and all
//! before it. So a power cut may take the steps since the last sync, newest first, but leaves no hole.

use super::Recording;
use crate::simulation::{Event, Journal};

/// The same recording, in which a step counts as acknowledged once the log that holds it was synced. The store must write a step
/// to its log before the next begins, and nothing else behind the header but what ends a log.
pub fn acknowledged_by_syncs(recording: Recording) -> Recording {
    let Journal { events, paths } = &recording.journal;
    let is_log =
        |file: &u64| paths.get(file).is_some_and(|path| path.extension().is_some_and(|ending| ending == "wal"));
    let (mut begun, mut acknowledged) = (0, 0);
    // The last step written to a log, and that log.
    let mut written: Option<(u64, u64)> = None;
    let mut now = Vec::with_capacity(events.len());
    for event in events {
        now.push(event.clone());
        match event {
            Event::Begun { step } => begun = *step,
            Event::Acknowledged { step } => acknowledged = acknowledged.max(*step),
            Event::Write { file, offset, .. } if *offset > 0 && is_log(file) => written = Some((begun, *file)),
            Event::Sync { file } => {
                if let Some((step, _)) =
                    written.take_if(|(_, log)| log == file).filter(|(step, _)| *step > acknowledged)
                {
                    acknowledged = step;
                    now.push(Event::Acknowledged { step });
                }
            }
            _ => {}
        }
    }
    let journal = Journal { events: now, paths: paths.clone() };
    Recording { journal, ..recording }
}
