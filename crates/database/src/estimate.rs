//! Estimated time of a statement that is planned: the work of its plan in unit costs, times a factor for this process.
//!
//! The factor is the median, over the statements that ran in this process, of the time they took over that by unit costs. Statements that
//! gave other numbers of rows than were expected do not count: their estimates were wrong for another reason. Until there are
//! [`STATEMENTS_MIN`] of them the factor is 1.
//!
//! The time is that of a run with the plan in the plan cache and the graph in memory, to the last row; waits for disk, log and other
//! transactions are not in it.
//!
//! Cost: a statement that is not explained adds two numbers to its statistics; the median is looked for when a plan is told.

use std::sync::Arc;

use cypher::catalog::Catalog;
use cypher::plan::{OperatorId, OperatorKind, Plan, PlanMode, explain};
use model::ReadView;
use serde_json::{Value as Json, json};

use crate::costs::{self, Rows, Sizes, Unit, Work};
use crate::durations::duration_text;

/// Statements of this process from which on their median is the factor.
pub(crate) const STATEMENTS_MIN: usize = 5;
/// Limits of the factor.
const FACTOR: (f64, f64) = (0.1, 10.0);
/// Factor up to which the rows of a result are as expected.
const ROWS_FACTOR_MAX: f64 = 2.0;
/// Nanoseconds of work from which on plans run on several threads, and the part of a thread that each further one adds.
const PARALLEL_NS_MIN: f64 = 2e6;
const THREAD_SHARE: f64 = 0.8;
/// Longest time that is told, some months: of products of many expectations nothing is left but that they are large.
const NS_MAX: f64 = 1e16;
/// Starts of the names of procedures that list what is known at once, and of those among them that look through data.
const LISTING: [&str; 3] = ["db.", "dbms.", "tx."];
const LOOKING: [&str; 2] = ["db.load", "db.schema"];

/// Factor between unit costs and this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Time over that by unit costs.
    pub factor: f64,
    /// Statements of this process that it was taken from; 0 for the default, which is 1.
    pub statements: usize,
}

impl Calibration {
    /// The median of factors of statements.
    pub(crate) fn of(mut factors: Vec<f64>) -> Calibration {
        let statements = factors.len();
        if statements < STATEMENTS_MIN {
            return Calibration { factor: 1.0, statements: 0 };
        }
        factors.sort_by(f64::total_cmp);
        Calibration { factor: factors[statements / 2].clamp(FACTOR.0, FACTOR.1), statements }
    }
}

/// Estimated time of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeEstimate {
    /// Nanoseconds by the rows that the planner expects; the reason if none can be told.
    pub time_ns: Result<f64, String>,
    /// Nanoseconds by the rows that came, after `PROFILE`.
    pub by_rows_ns: Option<f64>,
    /// Factor that is in both.
    pub calibration: Calibration,
    expected: Work,
    came: Option<Work>,
}

/// Surroundings of a plan whose time is estimated.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) view: &'a dyn ReadView,
    pub(crate) catalog: &'a dyn Catalog,
    pub(crate) calibration: Calibration,
    /// Threads that may run it.
    pub(crate) threads: usize,
    /// The store lies on a ring of machines.
    pub(crate) is_ring: bool,
}

impl TimeEstimate {
    /// The estimate of a plan whose operators send these statements to attached databases, in the order in which plans are shown; with
    /// the rows that came of each operator if it was run.
    pub(crate) fn of(
        plan: &Plan,
        asked: &[Vec<Arc<str>>],
        rows: Option<&dyn Fn(OperatorId) -> f64>,
        around: &Around<'_>,
    ) -> TimeEstimate {
        let sizes = sizes(around.view);
        let expected = costs::of_plan(plan, Rows::Expected, sizes);
        let came = rows.map(|rows| costs::of_plan(plan, Rows::Came(rows), sizes));
        // Also for what is no number any more.
        let time = |work: &Work| (wall_ns(work.ns(), around.threads) * around.calibration.factor).min(NS_MAX);
        let unknown = unknown(plan, asked, around);
        TimeEstimate {
            by_rows_ns: came.as_ref().filter(|_| unknown.is_none()).map(time),
            time_ns: unknown.map_or_else(|| Ok(time(&expected)), Err),
            calibration: around.calibration,
            expected,
            came,
        }
    }

    /// The estimate as a line.
    pub(crate) fn text(&self) -> String {
        let time = match &self.time_ns {
            Err(reason) => return format!("estimated time: unknown ({reason})\n"),
            Ok(time_ns) => time_text(*time_ns),
        };
        let by_rows =
            self.by_rows_ns.map_or_else(String::new, |ns| format!(", {} by the rows that came", time_text(ns)));
        format!("estimated time: {time}{by_rows} ({})\n", self.basis_text())
    }

    fn basis_text(&self) -> String {
        let Calibration { factor, statements } = self.calibration;
        match statements {
            0 => "by default unit costs".to_owned(),
            _ => format!("by unit costs × {factor:.2}, the median of {statements} statements of this process"),
        }
    }

    /// Adds the estimate to a report as JSON.
    pub(crate) fn add_to(&self, report: &mut Json) {
        let Some(fields) = report.as_object_mut() else { return };
        fields.insert("estimatedNs".into(), self.time_ns.as_ref().ok().copied().into());
        let Calibration { factor, statements } = self.calibration;
        let basis = if statements == 0 { "default" } else { "statements" };
        let mut estimate = json!({ "basis": basis, "factor": factor, "statements": statements });
        match &self.time_ns {
            Ok(_) => estimate["units"] = units(&self.expected),
            Err(reason) => estimate["unknown"] = reason.as_str().into(),
        }
        if let (Some(came), Some(by_rows_ns)) = (&self.came, self.by_rows_ns) {
            fields.insert("estimatedNsByRows".into(), by_rows_ns.into());
            estimate["unitsByRows"] = units(came);
        }
        fields.insert("estimate".into(), estimate);
    }
}

fn units(work: &Work) -> Json {
    work.units().map(|(name, count)| (name.to_owned(), Json::from(count))).collect::<serde_json::Map<_, _>>().into()
}

fn sizes(view: &dyn ReadView) -> Sizes<'_> {
    Sizes { schema: view.schema(), statistics: view.estimates() }
}

/// The time that passes while several threads do such work.
fn wall_ns(work_ns: f64, threads: usize) -> f64 {
    let divided = (work_ns - PARALLEL_NS_MIN).max(0.0);
    work_ns - divided + divided / (1.0 + THREAD_SHARE * threads.saturating_sub(1) as f64)
}

/// The reason for which no time can be told.
fn unknown(plan: &Plan, asked: &[Vec<Arc<str>>], around: &Around<'_>) -> Option<String> {
    if around.is_ring {
        return Some("the store lies on other machines".to_owned());
    }
    if let Some((at, statement)) = asked.iter().enumerate().find_map(|(at, all)| Some((at, all.first()?))) {
        let source = statement.split(": ").next().unwrap_or_default();
        let operator = explain::rows(plan).get(at).map_or("an operator", |row| row.operator);
        return Some(format!("{operator} asks the source {source}"));
    }
    let mut reason = None;
    plan.root.each(&mut |operator| {
        if let OperatorKind::Call { procedure, .. } = &operator.kind
            && !is_listing(procedure)
        {
            reason.get_or_insert_with(|| call_text(procedure, around.catalog));
        }
    });
    reason
}

/// The call of a procedure as its user wrote it, and where its estimate is.
fn call_text(procedure: &str, catalog: &dyn Catalog) -> String {
    let estimate = format!("{procedure}.estimate");
    match procedure {
        "db.loadCsv" => "LOAD CSV".to_owned(),
        "db.loadFrom" => "LOAD FROM".to_owned(),
        _ if catalog.procedure(&estimate).is_some() => format!("CALL {procedure}: see {estimate}"),
        _ => format!("CALL {procedure}"),
    }
}

fn is_listing(procedure: &str) -> bool {
    let starts = |names: &[&str]| names.iter().any(|start| procedure.starts_with(start));
    starts(&LISTING) && !starts(&LOOKING) || procedure.ends_with(".estimate")
}

/// Longest time that is told as it is.
const TOLD_NS_MAX: f64 = 1e13;
/// Digits of a time that is estimated.
const DIGITS: usize = 2;

/// An estimated time as people read it.
fn time_text(ns: f64) -> String {
    if ns < TOLD_NS_MAX { duration_text(ns, DIGITS) } else { "more than two hours".to_owned() }
}

/// Expectation of a plan, by which its runs calibrate estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expectation {
    /// Nanoseconds of its operators by unit costs.
    pub(crate) run_ns: f64,
    /// Rows that it gives.
    rows: f64,
}

impl Expectation {
    /// The expectation of a plan; `None` if its runs tell nothing of unit costs, as of one that writes, calls procedures or may ask sources.
    pub(crate) fn of(plan: &Plan, view: &dyn ReadView) -> Option<Expectation> {
        if plan.mode != PlanMode::Read || !view.capabilities().dense_node_ids {
            return None;
        }
        let mut calls = false;
        plan.root.each(&mut |operator| calls |= matches!(operator.kind, OperatorKind::Call { .. }));
        let work = costs::of_plan(plan, Rows::Expected, sizes(view));
        (!calls).then(|| Expectation { run_ns: work.ns() - Unit::Statement.ns(), rows: plan.root.estimated_rows })
    }

    /// True if the rows of a run are about those that were expected.
    pub(crate) fn is_met(&self, rows: u64) -> bool {
        let (rows, expected) = ((rows as f64).max(1.0), self.rows.max(1.0));
        (expected / ROWS_FACTOR_MAX..=expected * ROWS_FACTOR_MAX).contains(&rows)
    }
}

#[cfg(test)]
mod tests;
