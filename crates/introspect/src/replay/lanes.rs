//! Sessions of a trace on threads: those that overlapped run side by side, others one after the other.

use std::collections::BTreeMap;

use database::trace::TraceEvent;

use super::end_us;

/// Threads at most. Where more sessions overlapped, the rest is run behind those that end first.
const THREADS_MAX: usize = 256;

/// Number of sessions, and the sessions of each thread, one after the other, their events in the order in which they began.
pub(super) fn lanes(events: Vec<TraceEvent>) -> (usize, Vec<Vec<Vec<TraceEvent>>>) {
    let mut by_session: BTreeMap<u64, Vec<TraceEvent>> = BTreeMap::new();
    for event in events {
        by_session.entry(event.session).or_default().push(event);
    }
    let mut sessions: Vec<(i64, i64, Vec<TraceEvent>)> = by_session
        .into_values()
        .map(|mut events| {
            events.sort_by_key(|event| event.at_us);
            let start = events.first().map_or(0, |event| event.at_us);
            (start, events.iter().map(end_us).max().unwrap_or(start), events)
        })
        .collect();
    sessions.sort_by_key(|(start, ..)| *start);
    let count = sessions.len();
    let mut lanes: Vec<(i64, Vec<Vec<TraceEvent>>)> = Vec::new();
    for (start, end, events) in sessions {
        let free = lanes.iter().position(|(busy_until, _)| *busy_until <= start);
        let least = || lanes.iter().enumerate().min_by_key(|(_, (busy_until, _))| *busy_until).map(|(at, _)| at);
        match free.or_else(|| if lanes.len() >= THREADS_MAX { least() } else { None }) {
            Some(at) => {
                let (busy_until, of_lane) = &mut lanes[at];
                *busy_until = end.max(*busy_until);
                of_lane.push(events);
            }
            None => lanes.push((end, vec![events])),
        }
    }
    (count, lanes.into_iter().map(|(_, of_lane)| of_lane).collect())
}
