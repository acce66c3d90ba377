//! Advice: the indexes and sort keys by which statements would be faster, and what they cost.
//!
//! Each candidate is added to a copy of the schema, and the statement is planned again: what the planner would not use is not advised
//! (the hypothetical index of S. Chaudhuri and V. Narasayya, "AutoAdmin What-If Index Analysis Utility", SIGMOD 1998). The time by the new
//! plan is predicted from what the operators of the present plan took ([`prediction`]). Of the candidates that help, the best is chosen, then
//! the best of the rest beside it, as long as one helps.
//!
//! - [`candidate`]: indexes and sort keys that a text could use.
//! - [`prediction`]: the time of a plan from that of another.
//!
//! Cost: a statement that only reads is run a few times; each candidate is one compilation of each statement that names it.

mod candidate;
mod prediction;

use std::sync::Arc;

use cypher::catalog::Catalog;
use cypher::plan::Plan;
use model::{Interrupt, ReadView, Result, Schema, Statistics};

use crate::Parameters;
use crate::compiling::plan_under;
use crate::plan_report::PlanReport;
pub use candidate::Candidate;
use candidate::{candidates, is_used};
pub(crate) use prediction::Basis;
use prediction::predict;

/// Share of the time of a statement that must be saved.
const SAVED_SHARE_MIN: f64 = 0.3;
/// Time of a statement that must be saved at least: less is lost in noise.
const SAVED_NS_MIN: f64 = 20_000.0;
/// Limits of a search for advice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchLimits {
    /// Candidates that are advised.
    advised: usize,
    /// Candidates that are tried, those of one property first.
    tried: usize,
}

/// Limits of a workload, and of a single statement that was profiled, whose user waits for its report.
pub(crate) const OF_WORKLOAD: SearchLimits = SearchLimits { advised: 8, tried: 4_000 };
const OF_PROFILE: SearchLimits = SearchLimits { advised: 1, tried: 60 };
/// Bytes of a text from which on planning it many times takes long.
const PROFILE_TEXT_MAX: usize = 2_000;
/// Rows of an operator from which on `PROFILE` looks for advice.
const PROFILE_ROWS_MIN: u64 = 10_000;

/// A statement of a workload.
#[derive(Clone, Debug)]
pub struct WorkloadStatement {
    /// Its text.
    pub text: String,
    /// Its parameters.
    pub parameters: Parameters,
    /// Number of times that it runs.
    pub calls: u64,
}

/// The time of one statement today, and with an index or sort key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictedTime {
    /// Place of the statement in the workload.
    pub statement: usize,
    /// Nanoseconds today.
    pub before_ns: f64,
    /// Nanoseconds as predicted.
    pub after_ns: f64,
}

/// An index or a sort key that would help.
#[derive(Clone, Debug)]
pub struct Recommendation {
    /// The index or sort key.
    pub candidate: Candidate,
    /// Statements that use it, beside the recommendations before it.
    pub times: Vec<PredictedTime>,
    /// Nodes or relationships in it.
    pub entries: u64,
    /// Bytes that it will take on disk; 0 for a sort key, which is an order of what is there.
    pub bytes: u64,
    /// Nanoseconds that it will take to make.
    pub build_ns: f64,
    /// Nanoseconds by which each write of an entry takes longer.
    pub write_ns: f64,
}

impl Recommendation {
    /// Nanoseconds saved in the whole workload.
    pub fn saved_ns(&self, workload: &[WorkloadStatement]) -> f64 {
        saved_ns(&self.times, &|statement| workload.get(statement).map_or(0, |held| held.calls))
    }
}

/// Nanoseconds saved by statements that run so often.
fn saved_ns(times: &[PredictedTime], calls: &dyn Fn(usize) -> u64) -> f64 {
    times.iter().map(|time| calls(time.statement) as f64 * (time.before_ns - time.after_ns)).sum()
}

/// A statement as it is today.
#[derive(Clone, Debug)]
pub struct PresentTime {
    /// Its nanoseconds; `None` if it could not be planned.
    pub ns: Option<f64>,
    /// True if it was run; otherwise the time is that of the model, since the statement writes, or took too long.
    pub is_measured: bool,
    /// Reason for which it is passed over, or a remark about it.
    pub remark: Option<String>,
}

/// Advice for a workload.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// The statements, in their order.
    pub present: Vec<PresentTime>,
    /// Indexes and sort keys, those that save most first.
    pub recommendations: Vec<Recommendation>,
}

/// The store that advice is for, at one moment.
pub(crate) struct Ground<'g> {
    pub(crate) view: &'g dyn ReadView,
    pub(crate) catalog: &'g dyn Catalog,
    pub(crate) interrupt: &'g Interrupt,
}

impl Ground<'_> {
    /// The plan of a text under a schema; `None` if it is no query.
    pub(crate) fn plan(&self, text: &str, schema: &Schema) -> Result<Option<Arc<Plan>>> {
        plan_under(text, self.catalog, self.view, schema, self.interrupt)
    }

    fn statistics(&self) -> &Statistics {
        self.view.estimates()
    }
}

/// Chooses candidates one after the other, each beside those before it.
pub(crate) fn recommend(
    statements: &[(&WorkloadStatement, &Option<Basis>)],
    limits: SearchLimits,
    ground: &Ground<'_>,
) -> Result<Vec<Recommendation>> {
    let (held, statistics) = (ground.view.schema(), ground.statistics());
    let mut schema = held.clone();
    let mut present: Vec<f64> =
        statements.iter().map(|(_, basis)| basis.as_ref().map_or(0.0, |basis| basis.total_ns)).collect();
    let mut left: Vec<(Candidate, Vec<usize>)> = Vec::new();
    for (at, (statement, basis)) in statements.iter().enumerate() {
        if basis.is_none() {
            continue;
        }
        for candidate in candidates(&statement.text, held, statistics) {
            match left.iter_mut().find(|(known, _)| *known == candidate) {
                Some((_, places)) => places.push(at),
                None => left.push((candidate, vec![at])),
            }
        }
    }
    left.sort_by_key(|(candidate, _)| candidate.keys().len());
    left.truncate(limits.tried);
    let mut chosen: Vec<Recommendation> = Vec::new();
    while chosen.len() < limits.advised {
        let mut best: Option<(f64, usize, Vec<PredictedTime>)> = None;
        for (place, (candidate, places)) in left.iter().enumerate() {
            ground.interrupt.check()?;
            let Some(with) = candidate.added_to(&schema) else { continue };
            let mut times = Vec::new();
            for &at in places {
                let (statement, Some(basis)) = (statements[at].0, statements[at].1) else { continue };
                let after_ns = time_with(candidate, &statement.text, basis, &with, ground)?;
                let before_ns = present[at];
                if after_ns.is_some_and(|after_ns| helps(before_ns, after_ns)) {
                    times.push(PredictedTime { statement: at, before_ns, after_ns: after_ns.unwrap_or(before_ns) });
                }
            }
            let saved = saved_ns(&times, &|at| statements[at].0.calls) - writing_ns(candidate, statements);
            let is_better = best.as_ref().is_none_or(|(most, held, _)| {
                // Of two that save about the same the one with fewer properties is the smaller, and serves more.
                let is_shorter = candidate.keys().len() < left[*held].0.keys().len();
                saved > if is_shorter { most * 0.9 } else { most * 1.02 }
            });
            if !times.is_empty() && saved > 0.0 && is_better {
                best = Some((saved, place, times));
            }
        }
        let Some((_, place, times)) = best else { break };
        let (candidate, _) = left.swap_remove(place);
        if let Some(with) = candidate.added_to(&schema) {
            schema = with;
        }
        times.iter().for_each(|time| present[time.statement] = time.after_ns);
        chosen.push(prediction::costs(candidate, times, held, statistics));
    }
    Ok(chosen)
}

fn helps(before_ns: f64, after_ns: f64) -> bool {
    let saved = before_ns - after_ns;
    saved >= SAVED_NS_MIN && saved >= SAVED_SHARE_MIN * before_ns
}

/// The time of a statement with a candidate; `None` if its plan would not use it.
fn time_with(
    candidate: &Candidate,
    text: &str,
    basis: &Basis,
    schema: &Schema,
    ground: &Ground<'_>,
) -> Result<Option<f64>> {
    let Some(plan) = ground.plan(text, schema)? else { return Ok(None) };
    Ok(is_used(candidate, &plan).then(|| predict(basis, &plan, candidate, ground.view)))
}

/// Nanoseconds that the writes of a workload take longer for an index or sort key.
fn writing_ns(candidate: &Candidate, statements: &[(&WorkloadStatement, &Option<Basis>)]) -> f64 {
    let of_one = |(statement, basis): &(&WorkloadStatement, &Option<Basis>)| {
        let rows = basis.as_ref().map_or(0.0, |basis| basis.rows_written(candidate));
        statement.calls as f64 * rows * prediction::write_ns(candidate)
    };
    statements.iter().map(of_one).sum()
}

/// The best single candidate for a statement that was profiled, with its time as predicted.
pub(crate) fn of_profile(
    text: &str,
    plan: &Arc<Plan>,
    report: &PlanReport,
    ground: &Ground<'_>,
) -> Result<Option<(String, f64)>> {
    let rows = |line: &crate::PlanLine| line.actual.map_or(0, |actual| actual.rows);
    let is_large = report.lines.iter().map(rows).max().is_some_and(|most| most >= PROFILE_ROWS_MIN);
    if !is_large || text.len() > PROFILE_TEXT_MAX {
        return Ok(None);
    }
    let basis = Basis::measured(plan.clone(), report, report.whole_ns() as f64, ground.view);
    let statement = WorkloadStatement { text: text.to_owned(), parameters: Parameters::default(), calls: 1 };
    let chosen = recommend(&[(&statement, &Some(basis))], OF_PROFILE, ground)?;
    Ok(chosen.first().and_then(|found| Some((found.candidate.statement(), found.times.first()?.after_ns))))
}
