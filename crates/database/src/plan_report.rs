//! Report of `EXPLAIN` and `PROFILE`: the operators of a plan, and what each of them did, as a table and as JSON.

use std::sync::Arc;

use cypher::plan::{OperatorId, Plan, explain};
use exec::OperatorProfile;
use exec::profile::Summary;
use serde_json::{Value as Json, json};

use crate::estimate::{Around, TimeEstimate};
use crate::phases::Phases;
use crate::statements::without_literals_and_texts;
pub use advised::ProfileAdvice;
pub(crate) use findings::picked_scans;
use findings::{Evidence, FACTOR_SHOWN, estimate_factor};
pub(crate) use waterfall::waits_json;

mod advised;
mod findings;
mod replanned;
pub(crate) mod statements;
mod waterfall;

pub use waterfall::{Part, PartKind, Waterfall};

/// One operator of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanLine {
    /// Distance from the root; the inputs of an operator follow it, one deeper.
    pub depth: usize,
    /// Its name.
    pub operator: &'static str,
    /// Description of its work, as Cypher.
    pub details: String,
    /// Number of rows that the planner expects it to give.
    pub estimated_rows: f64,
    /// The statements that it sends to attached databases, each after the name of its source.
    pub statements: Vec<Arc<str>>,
    /// Measurements of the run, after `PROFILE`.
    pub actual: Option<OperatorProfile>,
}

/// A plan as it is told, from the root down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanReport {
    /// The operators.
    pub lines: Vec<PlanLine>,
    /// The time of the statement in parts, after `PROFILE`.
    pub waterfall: Option<Waterfall>,
    /// The time that the statement was expected to take; `None` where another process has made the report.
    pub estimate: Option<TimeEstimate>,
    /// The index, constraint, sort key or rewrite by which the statement would be faster, after `PROFILE`.
    pub advice: Option<ProfileAdvice>,
    /// The times that the rest of the plan was made anew, as JSON.
    replanned: Option<Json>,
    text: String,
    /// The report as JSON, where another process has made it, and there are no lines.
    told: Option<String>,
}

/// The columns of a profile: their heads and their cells.
type Cell = fn(&OperatorProfile) -> String;
const COLUMNS: &[(&str, Cell)] = &[
    ("rows", |actual| actual.rows.to_string()),
    ("time (ms)", |actual| format!("{:.3}", actual.time_ns as f64 / 1e6)),
    ("memory (B)", |actual| actual.memory_peak.to_string()),
    ("spilled (B)", |actual| actual.spilled_bytes.to_string()),
    ("block uses", |actual| actual.storage.block_uses.to_string()),
    ("misses", |actual| actual.storage.block_misses.to_string()),
    ("read (B)", |actual| actual.storage.bytes_read.to_string()),
    ("decoded (B)", |actual| actual.storage.bytes_decoded.to_string()),
];

/// Further columns, where a source is attached.
const SOURCE_COLUMNS: &[(&str, Cell)] = &[
    ("round trips", |actual| actual.storage.round_trips.to_string()),
    ("rows fetched", |actual| actual.storage.rows_fetched.to_string()),
    ("rows used", |actual| actual.storage.rows_used.to_string()),
    ("cache hits", |actual| actual.storage.source_hits.to_string()),
    ("cache misses", |actual| actual.storage.source_misses.to_string()),
];

impl PlanReport {
    /// Nanoseconds of the whole statement; 0 if it was not run.
    pub(crate) fn whole_ns(&self) -> u64 {
        self.waterfall.as_ref().map_or(0, |waterfall| waterfall.whole_ns)
    }

    /// The report of `EXPLAIN`.
    pub(crate) fn explain(plan: &Plan, around: &Around<'_>) -> PlanReport {
        let asked = statements::of(plan, around.view);
        let estimate = TimeEstimate::of(plan, &asked, None, around);
        let lines = lines(plan, asked, &|_| None);
        let text = with_statements(explain::text(plan), &lines) + "\n" + &estimate.text() + &replanned::possible(plan);
        PlanReport { lines, text, estimate: Some(estimate), ..PlanReport::default() }
    }

    /// The report of `PROFILE` of a statement that has come through these phases.
    pub(crate) fn profile(
        plan: &Plan,
        summary: &Summary,
        phases: &Phases,
        around: &Around<'_>,
        has_sources: bool,
    ) -> PlanReport {
        let actual = |id| summary.profile.get(&id).copied().unwrap_or_default();
        let of_sources = if has_sources { SOURCE_COLUMNS } else { &[] };
        let columns = || COLUMNS.iter().chain(of_sources);
        let ids: Vec<OperatorId> = explain::rows(plan).iter().map(|row| row.id).collect();
        let lines = lines(plan, Vec::new(), &|id| Some(actual(id)));
        let heads: Vec<&str> = std::iter::once("off by").chain(columns().map(|(head, _)| *head)).collect();
        let off = |id| ids.iter().position(|&other| other == id).map_or_else(String::new, |at| off_by(&lines[at]));
        let cells = |id| std::iter::once(off(id)).chain(columns().map(|(_, cell)| cell(&actual(id)))).collect();
        let mut waterfall = Waterfall::of(phases, &lines);
        let scans = findings::picked_scans(plan, &ids);
        waterfall.finding = findings::finding(&Evidence { waterfall: &waterfall, lines: &lines, scans });
        // Plans are over dense ids where nothing is attached.
        let is_alone = around.view.capabilities().dense_node_ids;
        let asked = if is_alone { Vec::new() } else { statements::of(plan, around.view) };
        let estimate = TimeEstimate::of(plan, &asked, Some(&|id| actual(id).rows as f64), around);
        let table = explain::text_with(plan, &heads, &cells) + "\n";
        let text = table + &replanned::text(&summary.replanned) + &estimate.text() + &waterfall.text();
        let replanned = (!summary.replanned.is_empty()).then(|| replanned::json(&summary.replanned));
        PlanReport {
            lines,
            waterfall: Some(waterfall),
            text,
            estimate: Some(estimate),
            replanned,
            ..PlanReport::default()
        }
    }

    /// Adds advice.
    pub(crate) fn advise(&mut self, advice: ProfileAdvice) {
        self.text.push_str(&format!("advice: {advice}\n"));
        self.advice = Some(advice);
    }

    /// A plan as JSON, whose details have no literals, and no quoted names: columns are called by the text of their expressions.
    pub(crate) fn without_literals(plan: &Plan) -> Json {
        let mut lines = lines(plan, Vec::new(), &|_| None);
        for line in &mut lines {
            line.details = without_literals_and_texts(&line.details).unwrap_or_default();
        }
        tree(&mut lines.as_slice()).unwrap_or(Json::Null)
    }

    /// A report that another process has made, as a table and as JSON.
    pub fn told(text: String, json: String) -> PlanReport {
        PlanReport { text, told: Some(json), ..PlanReport::default() }
    }

    /// The report as a table.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The report as JSON: `{"plan": {operator, details, estimatedRows, …, children: […]}, "estimatedNs", "estimate"}`, and after
    /// `PROFILE` the `waterfall` and the `finding`. Keys keep their meaning from version to version; new ones may be added.
    pub fn json(&self) -> String {
        if let Some(told) = &self.told {
            return told.clone();
        }
        let mut rest = self.lines.as_slice();
        let plan = tree(&mut rest).unwrap_or(Json::Null);
        let mut told = json!({ "plan": plan });
        if let Some(estimate) = &self.estimate {
            estimate.add_to(&mut told);
        }
        if let Some(waterfall) = &self.waterfall {
            told["waterfall"] = waterfall.json();
            told["finding"] = waterfall.finding.as_str().into();
        }
        if let Some(replanned) = &self.replanned {
            told["replanned"] = replanned.clone();
        }
        if let Some(advice) = &self.advice {
            told["advice"] = json!({
                "statement": advice.statement, "rewrite": advice.rewrite, "premise": advice.premise,
                "predictedNs": advice.after_ns,
            });
        }
        told.to_string()
    }
}

/// The factor by which an estimate is off, where that is much.
fn off_by(line: &PlanLine) -> String {
    match estimate_factor(line) {
        Some((factor, is_more)) if factor >= FACTOR_SHOWN => {
            format!("×{factor:.0} {}", if is_more { "more" } else { "fewer" })
        }
        _ => String::new(),
    }
}

/// A plan as a table, and below it the statements of its operators.
fn with_statements(mut text: String, lines: &[PlanLine]) -> String {
    for line in lines.iter().filter(|line| !line.statements.is_empty()) {
        let gap = if line.details.is_empty() { "" } else { " " };
        text.push_str(&format!("\n{}{gap}{}\n", line.operator, line.details));
        line.statements.iter().for_each(|statement| text.push_str(&format!("  {statement}\n")));
    }
    text
}

fn lines(
    plan: &Plan,
    statements: Vec<Vec<Arc<str>>>,
    actual: &dyn Fn(cypher::plan::OperatorId) -> Option<OperatorProfile>,
) -> Vec<PlanLine> {
    let mut statements = statements.into_iter();
    let line = |row: explain::PlanRow| PlanLine {
        statements: statements.next().unwrap_or_default(),
        depth: row.depth,
        operator: row.operator,
        actual: actual(row.id),
        details: row.details,
        estimated_rows: row.estimated_rows,
    };
    explain::rows(plan).into_iter().map(line).collect()
}

/// The first of the lines with those below it, which are taken from `rest`.
fn tree(rest: &mut &[PlanLine]) -> Option<Json> {
    let (first, mut below) = rest.split_first()?;
    let mut children = Vec::new();
    while below.first().is_some_and(|line| line.depth > first.depth) {
        children.extend(tree(&mut below));
    }
    *rest = below;
    let mut node = json!({
        "operator": first.operator,
        "details": first.details,
        "estimatedRows": first.estimated_rows,
    });
    if let (false, Some(fields)) = (first.statements.is_empty(), node.as_object_mut()) {
        let statements: Vec<&str> = first.statements.iter().map(|statement| &**statement).collect();
        fields.insert("statements".into(), statements.into());
    }
    if let (Some(actual), Some(fields)) = (&first.actual, node.as_object_mut()) {
        let storage = &actual.storage;
        fields.insert("rows".into(), actual.rows.into());
        fields.insert("batches".into(), actual.batches.into());
        fields.insert("timeNs".into(), actual.time_ns.into());
        fields.insert("wallNs".into(), actual.wall_ns.into());
        fields.insert("waits".into(), waits_json(&actual.wall_waits));
        if let Some((factor, _)) = estimate_factor(first).filter(|(factor, _)| *factor >= FACTOR_SHOWN) {
            fields.insert("estimateOffBy".into(), factor.into());
        }
        fields.insert("memoryPeakBytes".into(), actual.memory_peak.into());
        fields.insert("spilledBytes".into(), actual.spilled_bytes.into());
        fields.insert(
            "storage".into(),
            json!({
                "blockUses": storage.block_uses,
                "blockMisses": storage.block_misses,
                "bytesRead": storage.bytes_read,
                "bytesDecoded": storage.bytes_decoded,
            }),
        );
        if [storage.round_trips, storage.rows_fetched, storage.rows_used, storage.source_hits] != [0; 4] {
            fields.insert(
                "sources".into(),
                json!({
                    "roundTrips": storage.round_trips,
                    "rowsFetched": storage.rows_fetched,
                    "rowsUsed": storage.rows_used,
                    "cacheHits": storage.source_hits,
                    "cacheMisses": storage.source_misses,
                }),
            );
        }
    }
    if let Some(fields) = node.as_object_mut() {
        fields.insert("children".into(), children.into());
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::{PlanLine, PlanReport};

    #[test]
    fn a_report_is_a_tree_in_json() {
        let line = |depth, operator| PlanLine {
            depth,
            operator,
            details: String::new(),
            estimated_rows: 1.5,
            statements: Vec::new(),
            actual: None,
        };
        let lines = vec![line(0, "Join"), line(1, "Scan"), line(2, "Unit"), line(1, "Unit")];
        let leaf = r#"{"operator":"Unit","details":"","estimatedRows":1.5,"children":[]}"#;
        let expected = format!(
            r#"{{"plan":{{"operator":"Join","details":"","estimatedRows":1.5,"children":[{{"operator":"Scan","details":"","estimatedRows":1.5,"children":[{leaf}]}},{leaf}]}}}}"#
        );
        assert_eq!(PlanReport { lines, ..PlanReport::default() }.json(), expected);
    }
}
