//! The account of a statement: its phases, its rows and what its threads counted, and how it gets into its summary and into
//! the statistics of statements.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use cypher::plan::Plan;
use exec::profile::Summary;
use model::meter::{self, Meter};
use model::platform::Clock;
use model::{Interrupt, PropertyType, Result};

use crate::outlook::Outlook;
use crate::phases::Stopwatch;
use crate::plan_report::PlanReport;
use crate::result::{ResultBatch, StatementSummary};
use crate::session::ResultSink;
use crate::statements::{Call, Entry, Statements};

/// The account of one statement, from its text on.
pub(super) struct Account {
    pub(super) watch: Stopwatch,
    /// Counts of this thread when it began.
    before: Meter,
    rows: Cell<u64>,
    spilled_bytes: Cell<u64>,
    /// The sink did not admit it: it was not run.
    is_refused: Cell<bool>,
    /// The statistics that it is counted in, and the shape of its plan, once it is compiled.
    compiled: OnceCell<(Arc<Entry>, u64)>,
}

impl Account {
    pub(super) fn open(clock: Arc<dyn Clock>, now_ns: u64) -> Account {
        Account {
            watch: Stopwatch::start(clock, now_ns),
            before: meter::read(),
            rows: Cell::new(0),
            spilled_bytes: Cell::new(0),
            is_refused: Cell::new(false),
            compiled: OnceCell::new(),
        }
    }

    /// Notes what the statement was compiled to.
    pub(super) fn compiled(&self, entry: &Arc<Entry>, shape: u64) {
        // A statement is compiled once.
        let _ = self.compiled.set((entry.clone(), shape));
    }

    /// Notes what was written to temporary files.
    pub(super) fn spilled(&self, bytes: u64) {
        self.spilled_bytes.set(bytes);
    }

    /// The report of `PROFILE`.
    pub(super) fn report(&self, plan: &Plan, summary: &Summary, has_sources: bool) -> PlanReport {
        PlanReport::profile(plan, summary, &self.watch.phases(), has_sources)
    }

    /// Ends it: the summary tells the times, and the statement is counted, unless it was refused, or only tried and will be
    /// run again.
    pub(super) fn close(
        self,
        statements: &Statements,
        text: &str,
        now_ns: u64,
        interrupt: &Interrupt,
        outcome: Result<StatementSummary>,
    ) -> Result<StatementSummary> {
        let mut counts = meter::read().since(self.before);
        counts.add(&interrupt.take_helped());
        let phases = self.watch.into_phases(now_ns);
        if !self.is_refused.get() && !interrupt.is_trial_over() {
            let plan = self.compiled.get().map(|(_, shape)| *shape);
            let call = Call {
                phases: &phases,
                counts,
                rows: self.rows.get(),
                spilled_bytes: self.spilled_bytes.get(),
                has_failed: outcome.is_err(),
                now_ns,
                plan,
            };
            match self.compiled.get() {
                Some((entry, _)) => statements.count(entry, &call),
                None => statements.count(&statements.entry(text), &call),
            }
        }
        let mut summary = outcome?;
        summary.time_ns = phases.whole_ns();
        (summary.phases, summary.counts) = (phases, counts);
        Ok(summary)
    }
}

/// A sink whose rows are counted.
pub(super) struct CountedSink<'s> {
    pub(super) sink: &'s mut dyn ResultSink,
    pub(super) account: &'s Account,
}

impl ResultSink for CountedSink<'_> {
    fn admits(&mut self, outlook: &Outlook) -> bool {
        let is_admitted = self.sink.admits(outlook);
        self.account.is_refused.set(!is_admitted);
        is_admitted
    }

    fn column_types(&mut self, types: &Arc<[Option<PropertyType>]>) {
        self.sink.column_types(types);
    }

    fn columns(&mut self, names: &[Arc<str>]) -> Result<()> {
        self.sink.columns(names)
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool> {
        let rows = &self.account.rows;
        rows.set(rows.get() + batch.rows as u64);
        self.sink.rows(batch)
    }
}
