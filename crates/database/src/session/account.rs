//! The account of a statement: its phases, its rows and what its threads counted, and how it gets into its summary and into
//! the statistics of statements.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use model::meter::{self, Meter};
use model::platform::Clock;
use model::{Interrupt, PropertyType, Result};

use crate::Parameters;
use crate::compiling::Text;
use crate::database::Database;
use crate::outlook::Outlook;
use crate::phases::Stopwatch;
use crate::plan_cache::Compiled;
use crate::result::{ResultBatch, StatementSummary};
use crate::session::ResultSink;
use crate::slow_log::Ended;
use crate::statements::Call;
use crate::trace::Recorder;

/// The account of one statement, from its text on.
pub(super) struct Account {
    pub(super) watch: Stopwatch,
    /// Time at which it began, in microseconds since the Unix epoch.
    pub(super) at_us: i64,
    /// Counts of this thread when it began.
    before: Meter,
    rows: Cell<u64>,
    spilled_bytes: Cell<u64>,
    /// The sink did not admit it: it was not run.
    is_refused: Cell<bool>,
    /// Its compiled form, once there is one.
    compiled: OnceCell<Arc<Compiled>>,
    /// Its place in a trace, if there is one.
    recorder: Option<Recorder>,
}

impl Account {
    /// The account of a statement that begins at that time, by the monotonic clock and in microseconds since the Unix epoch.
    #[inline]
    pub(super) fn open(clock: Arc<dyn Clock>, (now_ns, at_us): (u64, i64), recorder: Option<Recorder>) -> Account {
        Account {
            watch: Stopwatch::start(clock, now_ns),
            at_us,
            before: meter::read(),
            rows: Cell::new(0),
            spilled_bytes: Cell::new(0),
            is_refused: Cell::new(false),
            compiled: OnceCell::new(),
            recorder,
        }
    }

    /// Notes what the statement was compiled to.
    pub(super) fn compiled(&self, compiled: &Arc<Compiled>) {
        // A statement is compiled once.
        let _ = self.compiled.set(compiled.clone());
    }

    /// Notes the kind of the statement for the trace.
    pub(super) fn acts(&self, text: &Text) {
        if let Some(recorder) = &self.recorder {
            recorder.is_a(text.trace_kind());
        }
    }

    /// Notes what was written to temporary files.
    pub(super) fn spilled(&self, bytes: u64) {
        self.spilled_bytes.set(bytes);
    }

    /// Ends it: the summary tells the times, and the statement is counted, unless it was refused, or only tried and will be
    /// run again.
    pub(super) fn close(
        self,
        database: &Database,
        (text, parameters): (&str, &Parameters),
        interrupt: &Interrupt,
        outcome: &mut Result<StatementSummary>,
    ) {
        let now_ns = database.clock().now_ns();
        let mut counts = meter::read().since(self.before);
        counts.add(&interrupt.take_helped());
        let phases = self.watch.into_phases(now_ns);
        if !self.is_refused.get() && !interrupt.is_trial_over() {
            if let Some(recorder) = &self.recorder {
                let error = outcome.as_ref().err();
                recorder.write(text, parameters, (phases.whole_ns(), self.rows.get()), error);
            }
            let compiled = self.compiled.get();
            let call = Call {
                phases: &phases,
                counts,
                rows: self.rows.get(),
                spilled_bytes: self.spilled_bytes.get(),
                has_failed: outcome.is_err(),
                now_ns,
                plan: compiled.map(|compiled| compiled.shape),
                expectation: compiled.and_then(|compiled| compiled.expectation),
            };
            let statements = &database.shared.statements;
            let entry = compiled.map_or_else(|| statements.entry(text), |compiled| compiled.entry.clone());
            statements.count(&entry, &call);
            if let Some(log) = database.config().slow_log.as_ref().filter(|log| log.takes(&phases)) {
                let ended = Ended {
                    text: entry.text(),
                    phases: &phases,
                    counts: &counts,
                    rows: call.rows,
                    spilled_bytes: call.spilled_bytes,
                    failure: outcome.as_ref().err(),
                    plan: compiled.map(|compiled| &*compiled.plan),
                };
                log.write(&ended, &database.shared.activity.client_of(interrupt), database.clock().unix_us());
            }
        }
        if let Ok(summary) = outcome {
            summary.time_ns = phases.whole_ns();
            (summary.phases, summary.counts) = (phases, counts);
        }
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
        if let Some(recorder) = &self.account.recorder {
            recorder.sees(&batch);
        }
        self.sink.rows(batch)
    }

    fn only_keeps(&self) -> bool {
        self.sink.only_keeps()
    }
}
