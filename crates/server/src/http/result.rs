//! The document that a statement is answered with: columns, rows, and what Neo4j's Query API tells of it.

use std::sync::Arc;
use std::time::Duration;

use bolt::Failure;
use model::temporal::{DateTime, Zone};

use super::json;
use crate::summary::{self, Ending, Words};

/// A transaction that stays open behind an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Its name.
    pub(crate) id: String,
    /// Time for which it stays open without a request.
    pub(crate) idle: Duration,
}

/// Parts of a document besides rows.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// True if the counters of changes are wanted.
    pub(crate) has_counters: bool,
    /// The transaction, if it stays open.
    pub(crate) transaction: Option<Told>,
    /// True if the end waits until something else was done.
    pub(crate) is_held: bool,
}

/// Begins a document: the columns, and the list of rows, which is left open.
pub(crate) fn begin(out: &mut Vec<u8>, names: &[Arc<str>]) {
    out.extend_from_slice(b"{\"data\":{\"fields\":");
    json::list(out, names.iter(), |out, name| json::text(out, name));
    out.extend_from_slice(b",\"values\":[");
}

/// Ends the list of rows, and tells the rest of the statement; the document is left open.
pub(crate) fn tell(out: &mut Vec<u8>, ending: &Ending<'_>, shape: &Shape) {
    out.extend_from_slice(b"]},\"queryType\":");
    json::text(out, summary::kind(ending));
    if shape.has_counters {
        let counters = &ending.summary.counters;
        let stats = summary::stats(counters);
        let mut entries: Vec<(String, bolt::Value)> =
            stats.iter().map(|(name, count)| (camel(name), bolt::Value::Int(*count as i64))).collect();
        entries.push(("systemUpdates".to_owned(), bolt::Value::Int(0)));
        entries.push(("containsUpdates".to_owned(), bolt::Value::Bool(counters.contains_updates())));
        entries.push(("containsSystemUpdates".to_owned(), bolt::Value::Bool(false)));
        out.extend_from_slice(b",\"counters\":");
        json::document(out, &bolt::Value::Map(entries));
    }
    if let Some((is_profile, plan)) = summary::plan(ending, Words::HTTP) {
        out.extend_from_slice(if is_profile { b",\"profiledQueryPlan\":" } else { b",\"queryPlan\":" });
        json::document(out, &plan);
    }
    let notifications = summary::notifications(ending);
    if !notifications.is_empty() {
        out.extend_from_slice(b",\"notifications\":");
        json::list(out, notifications.iter(), json::document);
    }
}

/// A name such as `nodes-created` as `nodesCreated`.
fn camel(name: &str) -> String {
    let mut parts = name.split('-');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (initial, rest) = part.split_at(1);
        name + &initial.to_ascii_uppercase() + rest
    })
}

/// The bookmark of a document.
pub(crate) fn bookmark(out: &mut Vec<u8>, bookmark: &str) {
    out.extend_from_slice(b"\"bookmarks\":[");
    json::text(out, bookmark);
    out.push(b']');
}

/// The transaction that stays open behind a document, and the moment until which it does without a request.
pub(crate) fn transaction(out: &mut Vec<u8>, told: &Told, now_us: i64) {
    let until_us = now_us.saturating_add(i64::try_from(told.idle.as_micros()).unwrap_or(i64::MAX));
    let until = moment(until_us);
    out.extend_from_slice(b"\"transaction\":");
    json::object(out, [("id", told.id.as_str()), ("expires", &until)].into_iter(), json::text);
}

/// A moment in UTC to the second, with all its parts, as readers of instants want it.
fn moment(unix_us: i64) -> String {
    let seconds = unix_us.div_euclid(1_000_000).min(253_402_300_799);
    let local = DateTime { seconds, nanosecond: 0, zone: Zone::UTC }.local();
    let time = local.time().0 / 1_000_000_000;
    format!("{}T{:02}:{:02}:{:02}Z", local.date(), time / 3_600, time / 60 % 60, time % 60)
}

/// Errors of a document.
pub(crate) fn errors(out: &mut Vec<u8>, failure: &Failure) {
    out.extend_from_slice(b"\"errors\":[");
    json::object(out, [("code", failure.code.as_str()), ("message", &failure.message)].into_iter(), json::text);
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::{Duration, Told, camel, transaction};

    #[test]
    fn names_and_moments_are_those_of_the_query_api() {
        assert_eq!(camel("nodes-created"), "nodesCreated");
        assert_eq!(camel("contains-system-updates"), "containsSystemUpdates");
        let mut out = Vec::new();
        transaction(&mut out, &Told { id: "a1".into(), idle: Duration::from_secs(60) }, 1_764_138_600_000_000);
        assert_eq!(out, br#""transaction":{"id":"a1","expires":"2025-11-26T06:31:00Z"}"#);
        out.clear();
        transaction(&mut out, &Told { id: "a1".into(), idle: Duration::MAX }, 0);
        assert!(out.ends_with(br#""9999-12-31T23:59:59Z"}"#), "{}", String::from_utf8_lossy(&out));
    }
}
