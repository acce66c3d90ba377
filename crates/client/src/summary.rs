//! The end of a statement, as its server tells it.

use bolt::message::{Map, get, text};
use bolt::{Value, own};
use database::result::{Hint, HintKind};
use database::{Counters, PlanReport, StatementSummary};
use model::Span;

fn number(map: &[(String, Value)], key: &str) -> u64 {
    match get(map, key) {
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

fn map<'m>(held: &'m [(String, Value)], key: &str) -> &'m [(String, Value)] {
    match get(held, key) {
        Some(Value::Map(map)) => map,
        _ => &[],
    }
}

fn list<'m>(held: &'m [(String, Value)], key: &str) -> &'m [Value] {
    match get(held, key) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

/// The summary of a statement.
pub(crate) fn summary_of(end: &Map) -> StatementSummary {
    let (stats, own) = (map(end, "stats"), map(end, own::SUMMARY));
    let count = |key: &str| number(stats, key);
    let counters = Counters {
        nodes_created: count("nodes-created"),
        nodes_deleted: count("nodes-deleted"),
        edges_created: count("relationships-created"),
        edges_deleted: count("relationships-deleted"),
        properties_set: count("properties-set"),
        labels_added: count("labels-added"),
        labels_removed: count("labels-removed"),
        constraints_added: count("constraints-added"),
        constraints_removed: count("constraints-removed"),
        indexes_added: count("indexes-added"),
        indexes_removed: count("indexes-removed"),
        sort_keys_added: number(own, own::SORT_KEYS_ADDED),
        sort_keys_removed: number(own, own::SORT_KEYS_REMOVED),
    };
    let plan = ["profile", "plan"].iter().map(|key| map(end, key)).find(|plan| !plan.is_empty());
    let report = match (text(own, own::PLAN), plan) {
        (Some(table), _) => {
            Some(PlanReport::told(table.to_owned(), text(own, own::PLAN_JSON).unwrap_or("{}").to_owned()))
        }
        (None, Some(plan)) => {
            let mut lines = String::new();
            push_operator(&mut lines, plan, 0);
            Some(PlanReport::told(lines, "{}".to_owned()))
        }
        (None, None) => None,
    };
    StatementSummary {
        counters,
        plan: report.as_ref().map(|report| report.text().to_owned()),
        report: report.map(Box::new),
        hints: if own.is_empty() { foreign_hints(end) } else { hints(list(own, own::HINTS)) },
        memory_peak: number(own, own::MEMORY_PEAK),
        spilled_bytes: number(own, own::SPILLED),
        time_ns: if own.is_empty() { number(end, "t_last") * 1_000_000 } else { number(own, own::TIME) },
        ..StatementSummary::default()
    }
}

fn hints(told: &[Value]) -> Vec<Hint> {
    let hint = |item: &Value| match item {
        Value::List(parts) => match parts.as_slice() {
            [Value::String(message), Value::Int(start), Value::Int(end)] => {
                let (start, end) = (u32::try_from(*start).ok()?, u32::try_from(*end).ok()?);
                Some(Hint { kind: HintKind::Note, message: message.clone(), span: Span { start, end } })
            }
            _ => None,
        },
        _ => None,
    };
    told.iter().filter_map(hint).collect()
}

/// The notifications of another server, in either form.
fn foreign_hints(end: &Map) -> Vec<Hint> {
    let told = list(end, "statuses").iter().chain(list(end, "notifications"));
    let hint = |item: &Value| match item {
        Value::Map(entries) => {
            // The status of the outcome itself has no such text.
            let message = text(entries, "description")?.to_owned();
            Some(Hint { kind: HintKind::Note, message, span: Span::default() })
        }
        _ => None,
    };
    told.filter_map(hint).collect()
}

/// Levels of a plan that are shown.
const PLAN_DEPTH_MAX: usize = 256;

/// An operator of the plan of another server, and below it its inputs.
fn push_operator(lines: &mut String, operator: &[(String, Value)], depth: usize) {
    let details = text(map(operator, "args"), "Details").unwrap_or_default();
    let name = text(operator, "operatorType").unwrap_or_default();
    lines.push_str(&"  ".repeat(depth));
    lines.push_str(format!("{name} {details}").trim_end());
    if get(operator, "rows").is_some() {
        lines.push_str(&format!(" (rows {}, db hits {})", number(operator, "rows"), number(operator, "dbHits")));
    }
    lines.push('\n');
    for child in list(operator, "children") {
        if let (Value::Map(child), true) = (child, depth < PLAN_DEPTH_MAX) {
            push_operator(lines, child, depth + 1);
        }
    }
}
