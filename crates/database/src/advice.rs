//! Advice: the indexes, constraints, sort keys and rewrites by which statements would be faster, and what they cost.
//!
//! Each candidate is added to a copy of the schema, and the statement is planned again: what the planner would not use is not advised
//! (the hypothetical index of S. Chaudhuri and V. Narasayya, "AutoAdmin What-If Index Analysis Utility", SIGMOD 1998). The time by the new
//! plan is predicted from what the operators of the present plan took ([`prediction`]). Of the candidates that help, the best is chosen, then
//! the best of the rest beside it, as long as one helps.
//!
//! - [`candidate`]: indexes, constraints and sort keys that a text could use.
//! - [`prediction`]: the time of a plan from that of another.
//! - [`rewrite`]: other texts of a statement, and what must hold of the data.
//! - [`search`]: the choice of the best.
//!
//! Cost: a statement that only reads is run a few times; each candidate is one compilation of each statement that names it.

mod candidate;
mod prediction;
mod rewrite;
mod search;

use std::sync::Arc;

use cypher::catalog::Catalog;
use cypher::plan::Plan;
use model::{Interrupt, ReadView, Result, Schema, Statistics};

use crate::Parameters;
use crate::compiling::plan_under;
use crate::plan_report::{PlanReport, ProfileAdvice};
pub use candidate::Candidate;
pub(crate) use prediction::Basis;
pub(crate) use rewrite::Premise;
pub(crate) use search::Check;
use search::Search;

/// Share of the time of a statement that must be saved.
const SAVED_SHARE_MIN: f64 = 0.3;
/// Time of a statement that must be saved at least: less is lost in noise.
const SAVED_NS_MIN: f64 = 20_000.0;
/// Limits of a search for advice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchLimits {
    /// Steps that are advised: a candidate, a rewrite, or a rewrite with the index that it needs.
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

/// The time of one statement today, and with a remedy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictedTime {
    /// Place of the statement in the workload.
    pub statement: usize,
    /// Nanoseconds today.
    pub before_ns: f64,
    /// Nanoseconds as predicted.
    pub after_ns: f64,
}

/// One thing to do about statements.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// An index, a constraint or a sort key.
    Schema(Candidate),
    /// Another text of a statement.
    Rewrite {
        /// Place of the statement in the workload.
        statement: usize,
        /// Its other text.
        text: String,
    },
}

impl Remedy {
    /// The statement that makes an index, a constraint or a sort key; the other text of a statement.
    pub fn statement(&self) -> String {
        match self {
            Remedy::Schema(candidate) => candidate.statement(),
            Remedy::Rewrite { text, .. } => text.clone(),
        }
    }

    /// The index, constraint or sort key.
    pub fn candidate(&self) -> Option<&Candidate> {
        match self {
            Remedy::Schema(candidate) => Some(candidate),
            Remedy::Rewrite { .. } => None,
        }
    }

    /// Its kind in one word, as exported JSON has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Remedy::Schema(Candidate::Index { .. }) => "index",
            Remedy::Schema(Candidate::Unique { .. }) => "constraint",
            Remedy::Schema(Candidate::SortKey { .. }) => "sortKey",
            Remedy::Rewrite { .. } => "rewrite",
        }
    }
}

/// An index, a constraint, a sort key or a rewrite that would help.
#[derive(Clone, Debug)]
pub struct Recommendation {
    /// Remedy that is recommended.
    pub remedy: Remedy,
    /// Condition on the data under which it may be taken, in words. It holds today.
    pub premise: Option<String>,
    /// Statements that it makes faster, beside the recommendations before it. None for a rewrite whose gain is told with the index
    /// that follows.
    pub times: Vec<PredictedTime>,
    /// Nodes or relationships in it; 0 for a rewrite.
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
    /// Indexes, constraints, sort keys and rewrites, those that save most first.
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

/// Recommendations for a workload, those that save most first.
pub(crate) fn recommend(
    statements: &[(&WorkloadStatement, &Option<Basis>)],
    limits: SearchLimits,
    ground: &Ground<'_>,
    check: &mut Check<'_>,
) -> Result<Vec<Recommendation>> {
    Search::new(statements, limits, ground).run(limits, check)
}

/// The best single remedy for a statement that was profiled.
pub(crate) fn of_profile(
    text: &str,
    plan: &Arc<Plan>,
    report: &PlanReport,
    ground: &Ground<'_>,
) -> Result<Option<ProfileAdvice>> {
    let rows = |line: &crate::PlanLine| line.actual.map_or(0, |actual| actual.rows);
    let is_large = report.lines.iter().map(rows).max().is_some_and(|most| most >= PROFILE_ROWS_MIN);
    if !is_large || text.len() > PROFILE_TEXT_MAX {
        return Ok(None);
    }
    let basis = Basis::measured(plan.clone(), report, report.whole_ns() as f64, ground.view);
    let bare = without_prefix(text).trim();
    let statement = WorkloadStatement { text: bare.to_owned(), parameters: Parameters::default(), calls: 1 };
    // A user waits: premises are told, not looked at.
    let chosen = recommend(&[(&statement, &Some(basis))], OF_PROFILE, ground, &mut |_| Ok(None))?;
    let Some(after_ns) = chosen.iter().flat_map(|found| &found.times).map(|time| time.after_ns).reduce(f64::min) else {
        return Ok(None);
    };
    let premises: Vec<&str> = chosen.iter().filter_map(|found| found.premise.as_deref()).collect();
    let mut advice = ProfileAdvice { statement: None, rewrite: None, premise: None, after_ns };
    advice.premise = (!premises.is_empty()).then(|| premises.join(" and "));
    for found in &chosen {
        match &found.remedy {
            Remedy::Schema(candidate) => advice.statement = Some(candidate.statement()),
            Remedy::Rewrite { text, .. } => advice.rewrite = Some(text.clone()),
        }
    }
    Ok(Some(advice))
}

/// A statement without `EXPLAIN` or `PROFILE`.
pub(crate) fn without_prefix(text: &str) -> &str {
    let bare = text.trim_start();
    let word = bare.split(char::is_whitespace).next().unwrap_or_default();
    let is_prefix = ["EXPLAIN", "PROFILE"].iter().any(|prefix| word.eq_ignore_ascii_case(prefix));
    if is_prefix { &bare[word.len()..] } else { text }
}
