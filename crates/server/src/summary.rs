//! Summary at the end of a statement: its kind, what it changed, its plan, what is probably not meant.

use bolt::answer::{self, Position, diagnostic_record, place};
use bolt::packstream::encode;
use bolt::{Encoder, Value, Version, own};
use database::result::{Hint, HintKind};
use database::{Counters, Outlook, PlanLine, StatementSummary};

use crate::failure::position;

/// The end of a statement.
pub(crate) struct Ending<'e> {
    pub(crate) version: Version,
    /// For our own client.
    pub(crate) is_own: bool,
    /// The name of the database.
    pub(crate) database: &'e str,
    pub(crate) text: &'e str,
    pub(crate) summary: &'e StatementSummary,
    pub(crate) outlook: Option<Outlook>,
    pub(crate) columns: usize,
    pub(crate) has_rows: bool,
    /// Outside of transactions.
    pub(crate) bookmark: Option<String>,
    pub(crate) wants_hints: bool,
    pub(crate) last_ms: u64,
}

/// The message, in chunks.
pub(crate) fn message(ending: &Ending<'_>) -> Vec<u8> {
    let summary = ending.summary;
    let mut stats = stats(&summary.counters);
    stats.retain(|(_, count)| *count > 0);
    let plan = plan(ending, Words::BOLT);
    let hints = hints(ending);
    let has_statuses = ending.version.has_statuses();
    let fields = 3
        + usize::from(!stats.is_empty())
        + usize::from(plan.is_some())
        + usize::from(has_statuses || !hints.is_empty())
        + usize::from(ending.bookmark.is_some())
        + usize::from(ending.is_own);
    let mut out = Vec::new();
    answer::success(&mut out, |out| {
        out.map(fields);
        out.entry("type", kind(ending));
        out.string("t_last");
        out.int(ending.last_ms as i64);
        out.entry("db", ending.database);
        if !stats.is_empty() {
            write_stats(out, &stats, &summary.counters);
        }
        if let Some((is_profile, plan)) = &plan {
            out.string(if *is_profile { "profile" } else { "plan" });
            encode(out, plan);
        }
        if has_statuses {
            statuses(out, ending, hints);
        } else if !hints.is_empty() {
            out.string("notifications");
            out.list(hints.len());
            notifications(ending).iter().for_each(|notification| encode(out, notification));
        }
        if let Some(bookmark) = &ending.bookmark {
            out.entry("bookmark", bookmark);
        }
        if ending.is_own {
            own_summary(out, summary);
        }
    });
    out
}

/// Figures for our own client, besides those that drivers know.
fn own_summary(out: &mut Encoder<'_>, summary: &StatementSummary) {
    let counters = &summary.counters;
    let numbers = [
        (own::TIME, summary.time_ns),
        (own::MEMORY_PEAK, summary.memory_peak),
        (own::SPILLED, summary.spilled_bytes),
        (own::SORT_KEYS_ADDED, counters.sort_keys_added),
        (own::SORT_KEYS_REMOVED, counters.sort_keys_removed),
    ];
    out.string(own::SUMMARY);
    out.map(numbers.len() + 1 + 2 * usize::from(summary.report.is_some()));
    for (key, number) in numbers {
        out.string(key);
        out.int(number as i64);
    }
    if let Some(report) = &summary.report {
        out.entry(own::PLAN, report.text());
        out.entry(own::PLAN_JSON, &report.json());
    }
    out.string(own::HINTS);
    out.list(summary.hints.len());
    for hint in &summary.hints {
        out.list(3);
        out.string(&hint.message);
        out.int(i64::from(hint.span.start));
        out.int(i64::from(hint.span.end));
    }
}

/// Hints at what is probably not meant, if they are wanted.
fn hints<'e>(ending: &Ending<'e>) -> &'e [Hint] {
    if ending.wants_hints { &ending.summary.hints } else { &[] }
}

/// Reads, writes, both, or changes of rules.
pub(crate) fn kind(ending: &Ending<'_>) -> &'static str {
    match ending.outlook {
        Some(outlook) if outlook.is_schema => "s",
        Some(outlook) if outlook.plan_writes && ending.columns > 0 => "rw",
        Some(outlook) if outlook.plan_writes => "w",
        _ => "r",
    }
}

/// Counts of changes, by Neo4j's names. Sort keys have none.
pub(crate) fn stats(counters: &Counters) -> Vec<(&'static str, u64)> {
    vec![
        ("nodes-created", counters.nodes_created),
        ("nodes-deleted", counters.nodes_deleted),
        ("relationships-created", counters.edges_created),
        ("relationships-deleted", counters.edges_deleted),
        ("properties-set", counters.properties_set),
        ("labels-added", counters.labels_added),
        ("labels-removed", counters.labels_removed),
        ("constraints-added", counters.constraints_added),
        ("constraints-removed", counters.constraints_removed),
        ("indexes-added", counters.indexes_added),
        ("indexes-removed", counters.indexes_removed),
    ]
}

fn write_stats(out: &mut Encoder<'_>, stats: &[(&str, u64)], counters: &Counters) {
    out.string("stats");
    out.map(stats.len() + 1);
    for (name, count) in stats {
        out.string(name);
        out.int(*count as i64);
    }
    out.string("contains-updates");
    out.bool(counters.contains_updates());
}

/// Names of the parts of a plan that protocols call differently.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    arguments: &'static str,
    rows: &'static str,
}

impl Words {
    /// Those of Bolt.
    pub(crate) const BOLT: Words = Words { arguments: "args", rows: "rows" };
    /// Those of the Query API.
    pub(crate) const HTTP: Words = Words { arguments: "arguments", rows: "records" };
}

/// The plan of a statement that tells it, and true if it was run. The estimated time in nanoseconds and the finding stand at the root.
pub(crate) fn plan(ending: &Ending<'_>, words: Words) -> Option<(bool, Value)> {
    let report = ending.summary.report.as_ref()?;
    let is_profile = report.lines.first()?.actual.is_some();
    let finding = report.waterfall.as_ref().map(|waterfall| waterfall.finding.as_str());
    let estimated_ns = report.estimate.as_ref().and_then(|estimate| estimate.time_ns.as_ref().ok());
    let estimated = estimated_ns.map(|&ns| entry("EstimatedTime", Value::Float(ns)));
    let finding = finding.map(|finding| entry("Finding", Value::String(finding.to_owned())));
    let of_root = estimated.into_iter().chain(finding).collect();
    let mut rest = report.lines.as_slice();
    Some((is_profile, operator(&mut rest, of_root, words)))
}

fn entry(key: &str, value: Value) -> (String, Value) {
    (key.to_owned(), value)
}

fn texts<const N: usize>(entries: [(&str, &str); N]) -> Vec<(String, Value)> {
    entries.into_iter().map(|(key, value)| entry(key, Value::String(value.to_owned()))).collect()
}

fn numbers<const N: usize>(entries: [(&str, u64); N]) -> impl Iterator<Item = (String, Value)> {
    entries.map(|(key, number)| entry(key, Value::Int(number as i64))).into_iter()
}

/// The first of the lines as a map, with further arguments, and those below it, which are taken from `rest`.
fn operator(rest: &mut &[PlanLine], further: Vec<(String, Value)>, words: Words) -> Value {
    let Some((first, below)) = rest.split_first() else { return Value::Map(Vec::new()) };
    let end = below.iter().position(|line| line.depth <= first.depth).unwrap_or(below.len());
    let (mut lines, behind) = below.split_at(end);
    *rest = behind;
    let actual = first.actual.as_ref();
    let mut arguments = texts([("Details", &first.details)]);
    arguments.push(entry("EstimatedRows", Value::Float(first.estimated_rows)));
    arguments.extend(actual.into_iter().flat_map(|actual| {
        let waits = actual.wall_waits.total();
        numbers([("Memory", actual.memory_peak), ("WallTime", actual.wall_ns), ("WaitTime", waits)])
    }));
    arguments.extend(further);
    let mut entries = texts([("operatorType", first.operator)]);
    entries.push(entry("identifiers", Value::List(Vec::new())));
    entries.push(entry(words.arguments, Value::Map(arguments)));
    entries.extend(actual.into_iter().flat_map(|actual| {
        // A use of a block is the nearest to what Neo4j counts as a hit of the database.
        let storage = &actual.storage;
        numbers([
            (words.rows, actual.rows),
            ("dbHits", storage.block_uses),
            ("pageCacheHits", storage.block_uses.saturating_sub(storage.block_misses)),
            ("pageCacheMisses", storage.block_misses),
            ("time", actual.time_ns),
        ])
    }));
    let mut children = Vec::new();
    while !lines.is_empty() {
        children.push(operator(&mut lines, Vec::new(), words));
    }
    entries.push(entry("children", Value::List(children)));
    Value::Map(entries)
}

/// A hint as Neo4j knows it.
struct Known {
    code: &'static str,
    status: &'static str,
    title: &'static str,
    category: &'static str,
    severity: &'static str,
}

/// The code, status, title, category and severity that Neo4j has for a kind of hint.
const fn known(kind: HintKind) -> Known {
    const UNKNOWN: &str = "The query names something that the store has never seen.";
    let (code, status, title, category, severity) = match kind {
        HintKind::UnknownLabel => ("UnknownLabelWarning", "01N50", UNKNOWN, "UNRECOGNIZED", "WARNING"),
        HintKind::UnknownType => ("UnknownRelationshipTypeWarning", "01N51", UNKNOWN, "UNRECOGNIZED", "WARNING"),
        HintKind::UnknownProperty => ("UnknownPropertyKeyWarning", "01N52", UNKNOWN, "UNRECOGNIZED", "WARNING"),
        HintKind::Product => {
            let title = "The query pairs parts of a pattern that have nothing in common.";
            ("CartesianProduct", "03N90", title, "PERFORMANCE", "INFORMATION")
        }
        HintKind::Unfollowed => {
            ("HintUnfulfillableIndex", "01N31", "A hint to the planner is not followed.", "HINT", "WARNING")
        }
        HintKind::Note => ("GenericNote", "03N00", "The statement did what is told here.", "GENERIC", "INFORMATION"),
    };
    Known { code, status, title, category, severity }
}

impl Known {
    fn code(&self) -> String {
        format!("Neo.ClientNotification.Statement.{}", self.code)
    }
}

/// The hints of a statement as notifications.
pub(crate) fn notifications(ending: &Ending<'_>) -> Vec<Value> {
    let notification = |hint: &Hint| {
        let Position { offset, line, column } = position(ending.text, hint.span.start as usize);
        let place = [("offset", offset), ("line", line), ("column", column)];
        let known = known(hint.kind);
        let mut entries = texts([
            ("code", &known.code()),
            ("title", known.title),
            ("description", &hint.message),
            ("severity", known.severity),
            ("category", known.category),
        ]);
        let place = place.map(|(key, number)| entry(key, Value::Int(number)));
        entries.push(entry("position", Value::Map(place.to_vec())));
        Value::Map(entries)
    };
    hints(ending).iter().map(notification).collect()
}

/// The status objects of GQL: that of the outcome, and one for each hint.
fn statuses(out: &mut Encoder<'_>, ending: &Ending<'_>, hints: &[Hint]) {
    out.string("statuses");
    out.list(1 + hints.len());
    let (status, description) = match (ending.columns, ending.has_rows) {
        (0, _) => ("00001", "note: successful completion - omitted result"),
        (_, true) => ("00000", "note: successful completion"),
        (_, false) => ("02000", "note: no data"),
    };
    out.map(3);
    out.entry("gql_status", status);
    out.entry("status_description", description);
    out.string("diagnostic_record");
    out.map(3);
    diagnostic_record(out);
    for hint in hints {
        let known = known(hint.kind);
        let sort = if known.severity == "WARNING" { "warn" } else { "info" };
        out.map(6);
        out.entry("gql_status", known.status);
        out.entry("status_description", &format!("{sort}: {}", hint.message));
        out.entry("description", &hint.message);
        out.entry("neo4j_code", &known.code());
        out.entry("title", known.title);
        out.string("diagnostic_record");
        out.map(6);
        diagnostic_record(out);
        out.entry("_severity", known.severity);
        out.entry("_classification", known.category);
        out.string("_position");
        place(out, position(ending.text, hint.span.start as usize));
    }
}
