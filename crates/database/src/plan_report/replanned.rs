//! Horizons in reports: where the rest of a plan may be made anew, and where it was.

use cypher::plan::{OperatorId, Plan, explain};
use exec::profile::Replanned;
use serde_json::{Value as Json, json};

/// An operator as `EXPLAIN` shows it, in one line.
fn told(plan: &Plan, at: OperatorId) -> String {
    let row = explain::rows(plan).into_iter().find(|row| row.id == at);
    row.map_or_else(String::new, |row| format!("{} {}", row.operator, row.details).trim_end().to_owned())
}

/// A line on where the rest of a plan may be made anew; nothing if that is nowhere.
pub(super) fn possible(plan: &Plan) -> String {
    let operators: Vec<String> = plan.horizons.iter().map(|(_, at)| told(plan, *at)).collect();
    if operators.is_empty() {
        String::new()
    } else {
        format!("planned anew, if need be, after: {}\n", operators.join("; "))
    }
}

/// A line for each time that the rest of a plan was made anew.
pub(super) fn text(replanned: &[Replanned]) -> String {
    let line = |turn: &Replanned| {
        let (after, expected, rows) = (told(&turn.plan, turn.at), expected(turn.expected), turn.rows);
        format!("planned anew after {after}: {expected} rows were expected, {rows} came\n")
    };
    replanned.iter().map(line).collect()
}

/// The same as JSON.
pub(super) fn json(replanned: &[Replanned]) -> Json {
    let turn = |turn: &Replanned| json!({ "after": told(&turn.plan, turn.at), "estimatedRows": turn.expected, "rows": turn.rows });
    replanned.iter().map(turn).collect()
}

/// A whole number from ten on, one decimal below.
fn expected(rows: f64) -> String {
    if rows >= 10.0 || rows.fract() == 0.0 { format!("{rows:.0}") } else { format!("{rows:.1}") }
}
