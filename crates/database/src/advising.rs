//! Statements that are run for advice: to learn what they take and whether premises hold, and on a copy of the store to learn what the
//! advice brings.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cypher::plan::PlanMode;
use model::{Interrupt, Map, Result, Value};

use crate::Parameters;
use crate::advice::{
    Advice, Basis, Candidate, Ground, OF_WORKLOAD, Premise, PresentTime, Remedy, WorkloadStatement, recommend,
    without_prefix,
};
use crate::database::Database;
use crate::plan_report::PlanReport;
use crate::result::ResultBatch;
use crate::session::{ResultSink, Session};
use crate::settings::{Access, Config};
use crate::stopping::StoppingClock;
use crate::store_copy::StoreCopy;
use crate::trace::RowHash;

/// Longest time of a run.
const RUN_LIMIT: Duration = Duration::from_secs(60);
/// Longest time of making an index: without a limit the clock would not be looked at.
const NO_LIMIT: Duration = Duration::from_secs(365 * 86_400);
/// Runs of each statement, and the time after which there are no more.
const RUNS_MAX: usize = 7;
const PROFILES_MAX: usize = 3;
const RUNS_NS: u64 = 2_000_000_000;

/// The time of a statement as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VerifiedStatement {
    /// Place of the statement in the workload.
    pub statement: usize,
    /// Nanoseconds without it, beside what was done before it.
    pub before_ns: f64,
    /// Nanoseconds with it.
    pub after_ns: f64,
}

/// A recommendation as measured.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// Nanoseconds that it took to make.
    pub build_ns: f64,
    /// Bytes by which the files grew.
    pub bytes: i64,
    /// Statements for which it was recommended, of those that only read.
    pub times: Vec<VerifiedStatement>,
    /// True if a rewrite gives the same rows, in any order; `None` for others, and for statements that write.
    pub has_same_rows: Option<bool>,
}

impl Verification {
    /// False if its statements take as long as before, or longer; `None` if none was timed.
    pub fn helps(&self, workload: &[WorkloadStatement]) -> Option<bool> {
        let calls = |at: usize| workload.get(at).map_or(0, |statement| statement.calls) as f64;
        let saved = |time: &VerifiedStatement| calls(time.statement) * (time.before_ns - time.after_ns);
        (!self.times.is_empty()).then(|| self.times.iter().map(saved).sum::<f64>() > 0.0)
    }
}

impl Database {
    /// Looks for indexes, constraints, sort keys and rewrites by which statements would be faster. Statements that only read are run, at most
    /// for a minute each; others are only planned. Nothing is changed.
    ///
    /// # Errors
    /// `CANCELLED`, and those of reading the store. A statement with an error is passed over with a remark.
    pub fn advise(&self, workload: &[WorkloadStatement], interrupt: &Interrupt) -> Result<Advice> {
        let view = self.shared.attachments.now().store.read()?;
        let registry = self.registry();
        let ground = Ground { view: &*view, catalog: &*registry, interrupt };
        let mut advice = Advice::default();
        let mut bases = Vec::new();
        for (at, statement) in workload.iter().enumerate() {
            interrupt.step(at as u64, workload.len() as u64)?;
            let (basis, present) = self.present(statement, &ground)?;
            bases.push(basis);
            advice.present.push(present);
        }
        let statements: Vec<_> = workload.iter().zip(&bases).collect();
        let mut check = |premise: &Premise| self.holds(premise, interrupt).map(Some);
        advice.recommendations = recommend(&statements, OF_WORKLOAD, &ground, &mut check)?;
        Ok(advice)
    }

    /// True if nothing speaks against a premise. What cannot be counted within the limits of a run does not hold.
    fn holds(&self, premise: &Premise, interrupt: &Interrupt) -> Result<bool> {
        let mut glance = Glance::default();
        let counted =
            self.runner(RUN_LIMIT, interrupt).run(&premise.counts_against, &Parameters::default(), &mut glance);
        interrupt.check()?;
        Ok(counted.is_ok() && glance.number == Some(0))
    }

    /// A session whose statements end when the interrupt says so.
    fn runner(&self, limit: Duration, interrupt: &Interrupt) -> Session {
        let mut session = self.session();
        session.set_timeout(Some(limit));
        session.time_by(StoppingClock::new(self.shared_clock(), interrupt));
        session
    }

    /// The plan and the time of a statement today.
    fn present(&self, given: &WorkloadStatement, ground: &Ground<'_>) -> Result<(Option<Basis>, PresentTime)> {
        let statement = &WorkloadStatement { text: without_prefix(&given.text).to_owned(), ..given.clone() };
        let refused = |remark: String| PresentTime { ns: None, is_measured: false, remark: Some(remark) };
        let plan = match ground.plan(&statement.text, ground.view.schema()) {
            Ok(Some(plan)) => plan,
            Ok(None) => return Ok((None, refused("it has no plan that an index could change".to_owned()))),
            Err(failure) => return Ok((None, refused(failure.to_string()))),
        };
        if plan.mode != PlanMode::Read {
            let basis = Basis::estimated(plan, ground.view);
            let remark = Some("it writes, so it was not run: its time is estimated".to_owned());
            return Ok((Some(basis.clone()), PresentTime { ns: Some(basis.total_ns), is_measured: false, remark }));
        }
        match self.measure(statement, ground.interrupt) {
            Ok((report, total_ns)) => {
                let basis = Basis::measured(plan, &report, total_ns, ground.view);
                Ok((Some(basis), PresentTime { ns: Some(total_ns), is_measured: true, remark: None }))
            }
            Err(failure) => {
                ground.interrupt.check()?;
                let basis = Basis::estimated(plan, ground.view);
                let remark = Some(format!("it was not measured ({failure}): its time is estimated"));
                Ok((Some(basis.clone()), PresentTime { ns: Some(basis.total_ns), is_measured: false, remark }))
            }
        }
    }

    /// Runs a statement: the profile that took least of some, and the median of some runs without one.
    fn measure(&self, statement: &WorkloadStatement, interrupt: &Interrupt) -> Result<(PlanReport, f64)> {
        let mut session = self.runner(RUN_LIMIT, interrupt);
        let text = format!("PROFILE {}", statement.text);
        let mut profiles: Vec<PlanReport> = Vec::new();
        let mut spent_ns = 0;
        while profiles.len() < PROFILES_MAX && (spent_ns < RUNS_NS || profiles.is_empty()) {
            let summary = session.run(&text, &statement.parameters, &mut Nowhere)?;
            profiles.push(summary.report.map(|report| *report).unwrap_or_default());
            spent_ns += summary.time_ns;
        }
        let least = profiles.into_iter().min_by_key(PlanReport::whole_ns).unwrap_or_default();
        Ok((least, self.median_ns(statement, interrupt)?))
    }
}

/// A sink that keeps the hash of what it gets, and the number of its first cell.
#[derive(Default)]
struct Glance {
    hash: RowHash,
    number: Option<i64>,
}

impl ResultSink for Glance {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool> {
        self.hash.add(&batch);
        if let (None, Some(column)) = (self.number, batch.columns.first().filter(|_| batch.rows > 0)) {
            self.number = if let Value::Int(number) = column.value(0) { Some(number) } else { None };
        }
        Ok(true)
    }
}

/// A sink that drops what it gets.
struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, _: ResultBatch) -> Result<bool> {
        Ok(true)
    }
}

impl Database {
    /// Carries out the recommendations one after the other, and times their statements before and after each. Meant for a copy of the store:
    /// the indexes stay. Statements that write are not run; a statement is run as a rewrite has it from there on.
    ///
    /// # Errors
    /// `CANCELLED`, and those of making indexes and of the statements.
    pub fn verify_advice(
        &self,
        advice: &Advice,
        workload: &[WorkloadStatement],
        interrupt: &Interrupt,
    ) -> Result<Vec<Verification>> {
        // The first index would merge what is not merged yet, which by itself changes times and bytes.
        self.checkpoint()?;
        let mut written: Vec<WorkloadStatement> = workload.to_vec();
        // As they were before rewrites whose gain is told with what follows.
        let mut before_rewrites: Map<usize, WorkloadStatement> = Map::default();
        let mut verified = Vec::new();
        for recommendation in &advice.recommendations {
            let is_read = |statement: usize| advice.present.get(statement).is_some_and(|present| present.is_measured);
            let times = recommendation.times.iter().map(|time| time.statement);
            let places: Vec<usize> = times.filter(|&statement| is_read(statement)).collect();
            verified.push(match &recommendation.remedy {
                Remedy::Schema(candidate) => {
                    let texts = places.iter().map(|&at| (before_rewrites.remove(&at), &written[at]));
                    let texts: Vec<_> = texts.map(|(before, after)| (before.unwrap_or(after.clone()), after)).collect();
                    self.verify_candidate(candidate, &places, &texts, interrupt)?
                }
                Remedy::Rewrite { statement, text } => {
                    let other = WorkloadStatement { text: text.clone(), ..written[*statement].clone() };
                    let before = std::mem::replace(&mut written[*statement], other);
                    if recommendation.times.is_empty() {
                        before_rewrites.entry(*statement).or_insert_with(|| before.clone());
                    }
                    match is_read(*statement) {
                        true => self.verify_rewrite(*statement, (&before, &written[*statement]), &places, interrupt)?,
                        false => Verification::default(),
                    }
                }
            });
        }
        Ok(verified)
    }

    /// Makes an index, a constraint or a sort key, and times statements before and after, each in its text of before and of after.
    fn verify_candidate(
        &self,
        candidate: &Candidate,
        places: &[usize],
        texts: &[(WorkloadStatement, &WorkloadStatement)],
        interrupt: &Interrupt,
    ) -> Result<Verification> {
        // Files are sorted as they are merged, which by itself makes reading faster: so both times are of merged files.
        let sorts = candidate.is_sort_key();
        if sorts {
            self.compact(interrupt)?;
        }
        let before = texts.iter().map(|(before, _)| self.median_ns(before, interrupt));
        let before: Vec<f64> = before.collect::<Result<_>>()?;
        let bytes_before = file_bytes(self.path());
        let mut build_ns = self.make(&candidate.statement(), interrupt)?;
        if sorts {
            let start_ns = self.clock().now_ns();
            self.compact(interrupt)?;
            build_ns += self.clock().now_ns().saturating_sub(start_ns) as f64;
        }
        let bytes = file_bytes(self.path()) - bytes_before;
        let mut times = Vec::new();
        for ((&statement, (_, after)), before_ns) in places.iter().zip(texts).zip(before) {
            let after_ns = self.median_ns(after, interrupt)?;
            times.push(VerifiedStatement { statement, before_ns, after_ns });
        }
        Ok(Verification { build_ns, bytes, times, has_same_rows: None })
    }

    /// Runs a statement in both texts.
    fn verify_rewrite(
        &self,
        statement: usize,
        (before, after): (&WorkloadStatement, &WorkloadStatement),
        places: &[usize],
        interrupt: &Interrupt,
    ) -> Result<Verification> {
        let hash = |statement: &WorkloadStatement| -> Result<RowHash> {
            let mut glance = Glance::default();
            let mut session = self.runner(RUN_LIMIT, interrupt);
            let run = session.run(without_prefix(&statement.text), &statement.parameters, &mut glance);
            interrupt.check()?;
            run.map(|_| glance.hash)
        };
        let has_same_rows = Some(hash(before)? == hash(after)?);
        let mut times = Vec::new();
        if !places.is_empty() {
            let before_ns = self.median_ns(before, interrupt)?;
            let after_ns = self.median_ns(after, interrupt)?;
            times.push(VerifiedStatement { statement, before_ns, after_ns });
        }
        Ok(Verification { times, has_same_rows, ..Verification::default() })
    }

    /// Makes an index or sort key, whose files are then written. Gives the nanoseconds of the statement.
    fn make(&self, statement: &str, interrupt: &Interrupt) -> Result<f64> {
        let mut session = self.runner(NO_LIMIT, interrupt);
        let summary = session.run(statement, &Default::default(), &mut Nowhere);
        interrupt.check()?;
        let time_ns = summary?.time_ns as f64;
        self.checkpoint()?;
        Ok(time_ns)
    }

    /// Median nanoseconds of a statement.
    fn median_ns(&self, statement: &WorkloadStatement, interrupt: &Interrupt) -> Result<f64> {
        let mut session = self.runner(RUN_LIMIT, interrupt);
        let (mut times, mut spent_ns) = (Vec::new(), 0);
        while times.len() < RUNS_MAX && (spent_ns < RUNS_NS || times.is_empty()) {
            let summary = session.run(&statement.text, &statement.parameters, &mut Nowhere);
            interrupt.check()?;
            let time_ns = summary?.time_ns;
            times.push(time_ns);
            spent_ns += time_ns;
        }
        times.sort_unstable();
        Ok(times[times.len() / 2] as f64)
    }
}

/// Carries out advice on a copy of a store, made beside it and removed afterwards, and gives what it brought. No process may write the
/// store as the copy is made.
///
/// # Errors
/// `BUSY` if another process writes the store; `CANCELLED`; those of the files and of the statements.
pub fn verify_on_copy(
    store: &Path,
    config: Config,
    advice: &Advice,
    workload: &[WorkloadStatement],
    interrupt: &Interrupt,
) -> Result<Vec<Verification>> {
    let copy = StoreCopy::beside(store, &config, interrupt)?;
    let config = Config { access: Access::ReadWriteExisting, ..config };
    let database = Database::open_until(copy.path(), config, interrupt)?;
    let verified = database.verify_advice(advice, workload, interrupt);
    drop(database);
    verified
}

/// Bytes of the files of a store.
fn file_bytes(folder: &Path) -> i64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(|file| file.is_file()).map(|file| file.len() as i64).sum()
}
