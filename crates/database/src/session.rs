//! Statements and transactions of one user.
//!
//! Without `BEGIN` each statement is a transaction of its own, and is tried again if another wrote the same first. Within a transaction a statement that fails is undone
//! alone, and the transaction goes on.

mod account;
mod administration;
mod callables;
mod edges;
mod maintenance;
mod own_transactions;
mod profiling;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use cypher::plan::{PlanMode, Prefix};
use exec::identity::{edges_of_parameters, located, rename_parameters};
use exec::profile::Summary;
use exec::{Environment, QueryMemory, Quota, Replanner, Replanning, RunSettings};
use model::limits::{QUERY_STEP_BYTES_MIN, QUERY_STEP_STACK_BYTES, QUERY_STEPS_MAX, SHORT_QUERY_BYTES};
use model::meter;
use model::platform::Clock;
use model::procedure::GraphAccess;
use model::schedule::{Priority, Turn};
use model::{
    Column, Error, ErrorCode, GraphStore, Interrupt, IsolationLevel, PropertyType, ReadView, Result, Value,
    WriteTransaction, error,
};

use crate::Parameters;
use crate::activity::{Registration, terminated};
use crate::administration::{Client, Command};
use crate::attempts::transact;
use crate::compiling::{Text, compile, plan_again};
use crate::database::Database;
use crate::files::FileAccess;
use crate::outlook::Outlook;
use crate::phases::{Phase, Stopwatch};
use crate::plan_cache::{Compiled, Facts};
use crate::plan_report::PlanReport;
use crate::registry::{Registry, Tables};
use crate::result::{Entities, QueryResult, ResultBatch, StatementSummary, hydrate, pieces};
use crate::settings::{Access, Config};
use crate::trace::{Recorder, TraceEvent, TraceKind};
use account::{Account, CountedSink};
use callables::Callables;
use own_transactions::OwnTransactions;

/// A session: runs statements, one at a time.
pub struct Session {
    database: Database,
    transaction: Option<Box<dyn WriteTransaction>>,
    /// The view of a transaction that was begun where nothing can be written.
    reading: Option<Arc<dyn ReadView>>,
    /// The state of what was attached when it was begun.
    generation: u64,
    /// Microseconds since the Unix epoch when it was begun.
    began_us: i64,
    isolation: IsolationLevel,
    interrupt: Interrupt,
    query_memory_max: Option<usize>,
    /// The limit of memory that the statements of its user share.
    quota: Option<Arc<Quota>>,
    timeout: Option<Duration>,
    priority: Priority,
    turn: Arc<Turn>,
    callables: Callables,
    /// Maximum time for which the next statement is tried.
    trial: Option<Duration>,
    /// Clock that time limits are measured by.
    clock: Arc<dyn Clock>,
    /// The part of it that others see.
    registration: Registration,
    /// True if the transaction that is open has run a statement.
    has_run: bool,
    /// Command that the transaction is, carried out as it commits.
    command: Option<Command>,
}

impl Database {
    /// A session for one user.
    pub fn session(&self) -> Session {
        self.session_stopped_by(Interrupt::new())
    }

    /// A session whose statements that flag stops; no other session may have it.
    pub fn session_stopped_by(&self, interrupt: Interrupt) -> Session {
        Session::new(self.clone(), interrupt)
    }
}

/// Takes a result as it is made.
pub trait ResultSink {
    /// True if the statement is to run at all, now that it is compiled. If not, nothing else is called, and the summary
    /// is empty.
    fn admits(&mut self, _outlook: &Outlook) -> bool {
        true
    }
    /// The type of every value of each column besides null, where it is known, before [`ResultSink::columns`].
    fn column_types(&mut self, _types: &Arc<[Option<PropertyType>]>) {}
    /// The names of the columns, once, before the first rows.
    fn columns(&mut self, names: &[Arc<str>]) -> Result<()>;
    /// Further rows. False means that no more are wanted.
    fn rows(&mut self, batch: ResultBatch) -> Result<bool>;
    /// True if it does nothing with rows but keep them, so that the phase `Deliver` is not told apart: that would cost a
    /// short statement two looks at the clock.
    fn only_keeps(&self) -> bool {
        false
    }
}

impl ResultSink for QueryResult {
    fn columns(&mut self, names: &[Arc<str>]) -> Result<()> {
        self.columns = names.to_vec();
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool> {
        self.batches.push(batch);
        Ok(true)
    }

    fn only_keeps(&self) -> bool {
        true
    }
}

impl Session {
    fn new(database: Database, interrupt: Interrupt) -> Session {
        let Config { isolation, query_memory_max, timeout, priority, .. } = *database.config();
        let turn = database.shared.scheduler.turn();
        interrupt.take_turns(turn.clone());
        let transaction = None;
        let generation = 0;
        let clock = database.shared_clock();
        let registration = database.shared.activity.register(&interrupt);
        Session {
            reading: None,
            database,
            transaction,
            generation,
            began_us: 0,
            isolation,
            interrupt,
            query_memory_max,
            quota: None,
            timeout,
            priority,
            turn,
            callables: Callables::default(),
            trial: None,
            clock,
            registration,
            has_run: false,
            command: None,
        }
    }

    /// Says who uses it, for `SHOW TRANSACTIONS` and `SHOW CURRENT USER`.
    pub fn set_client(&mut self, client: Client) {
        self.registration.set_client(client);
    }

    /// Metadata that its user gives of the present or next transaction, for `SHOW TRANSACTIONS`; forgotten with the transaction.
    pub fn set_metadata(&mut self, metadata: Option<Value>) {
        self.registration.set_metadata(metadata);
    }

    /// True if the transaction that is open was told to end by `TERMINATE TRANSACTIONS`. It ends when it is used again.
    pub fn is_terminated(&self) -> bool {
        self.registration.is_terminated()
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The tables that `LOAD FROM` knows in the statements that are run from now on.
    pub fn set_tables(&mut self, tables: Option<Arc<Tables>>) {
        self.callables.set_tables(tables);
    }

    /// The files that statements may name from now on; all that the process reaches if nothing is said. Callers that let in others
    /// than the owner of the process refuse statements whose [`Action`](crate::Action) is `Attach` too, in
    /// [`ResultSink::admits`].
    pub fn set_files(&mut self, files: FileAccess) {
        self.callables.set_files(files);
    }

    /// The files that statements may name.
    pub(crate) fn files(&self) -> &FileAccess {
        self.callables.files()
    }

    /// Functions and procedures that the next statement can call.
    fn registry(&self) -> Arc<Registry> {
        self.callables.registry(self.database.registry())
    }

    /// The flag that stops the running statement, from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// True if a transaction was begun.
    pub fn in_transaction(&self) -> bool {
        self.transaction.is_some() || self.reading.is_some()
    }

    /// Sets the isolation of transactions that begin from now on; the one that is open stays what it is.
    pub fn set_isolation(&mut self, isolation: IsolationLevel) {
        self.isolation = isolation;
    }

    /// The memory limit in bytes of the statements that are run from now on; `None` for half of the database's limit.
    pub fn set_query_memory(&mut self, bytes: Option<usize>) {
        self.query_memory_max = bytes;
    }

    /// A limit of memory that the statements which are run from now on share with those of other sessions.
    pub fn set_quota(&mut self, quota: Option<Arc<Quota>>) {
        self.quota = quota;
    }

    /// The account of the memory of a statement.
    fn query_memory(&self) -> QueryMemory {
        let (budget, spill) = (self.database.memory().clone(), self.database.shared.spill.clone());
        QueryMemory::new(budget, self.query_memory_max, spill).within(self.quota.clone())
    }

    /// Sets the time limit of statements that are run from now on; `None` for no limit. A statement that exceeds it
    /// fails with `TIMEOUT` and leaves no trace.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// The clock by which time limits are measured; that of the database if nothing is said. Every look at the time is a
    /// moment at which the statement can be stopped.
    pub fn time_by(&mut self, clock: Arc<dyn Clock>) {
        self.clock = clock;
    }

    /// Sets the priority of statements that are run from now on, relative to those of other sessions.
    pub fn set_priority(&mut self, priority: Priority) {
        self.priority = priority;
    }

    /// Begins a transaction. If what it writes is written by another that commits first, its `commit` fails with
    /// `CONFLICT`, and it can be tried again; so too if it is serializable, writes, and what it has read was changed.
    /// It waits for a bulk load that is under way, and can be cancelled meanwhile.
    pub fn begin(&mut self) -> Result<()> {
        self.recorded(TraceKind::Begin, Session::begin_listening)
    }

    /// Makes the transaction's writes durable and visible. It waits for a transaction that has the writers' turn, and can be
    /// cancelled meanwhile: then nothing of it is committed.
    pub fn commit(&mut self) -> Result<()> {
        self.recorded(TraceKind::Commit, Session::commit_listening)
    }

    /// Begins or ends a transaction, which a trace is to show.
    fn recorded(&mut self, kind: TraceKind, work: fn(&mut Session) -> Result<()>) -> Result<()> {
        let (at_us, start_ns) = (self.database.clock().unix_us(), self.database.clock().now_ns());
        let interrupt = self.interrupt_anew();
        let _listening = interrupt.listen();
        let outcome = work(self);
        if let Some(recording) = &self.database.config().recording {
            let ns = self.database.clock().now_ns().saturating_sub(start_ns);
            recording.write(&TraceEvent::of_transaction(kind, at_us, self.registration.number(), ns, &outcome));
        }
        outcome
    }

    /// The flag, lowered: the time limit of the statement before is none of what comes now.
    fn interrupt_anew(&self) -> Interrupt {
        self.interrupt.reset();
        self.interrupt.clone()
    }

    fn begin_listening(&mut self) -> Result<()> {
        if self.in_transaction() {
            return Err(error!(TransactionState, "a transaction is open already").with_remedy("commit or roll it back"));
        }
        let attached = self.database.shared.attachments.now();
        match self.database.config().access {
            Access::ReadOnly => self.reading = Some(attached.store.read()?),
            _ => self.transaction = Some(attached.store.write_isolated(self.isolation)?),
        }
        self.generation = attached.generation;
        self.began_us = self.database.clock().unix_us();
        (self.has_run, self.command) = (false, None);
        self.registration.begin(self.database.clock());
        Ok(())
    }

    fn commit_listening(&mut self) -> Result<()> {
        if !self.in_transaction() {
            return Err(no_transaction("commit"));
        }
        let (transaction, command) = (self.leave_transaction(), self.command.take());
        if self.registration.finish() {
            return Err(terminated());
        }
        match (command, transaction) {
            (Some(command), transaction) => {
                drop(transaction);
                self.carry_out(&command)
            }
            (None, Some(transaction)) => transaction.commit(),
            (None, None) => Ok(()),
        }
    }

    /// Undoes the transaction's writes.
    pub fn rollback(&mut self) -> Result<()> {
        self.recorded(TraceKind::Rollback, Session::rollback_here)
    }

    fn rollback_here(&mut self) -> Result<()> {
        if !self.in_transaction() {
            return Err(no_transaction("roll back"));
        }
        self.leave_transaction();
        self.registration.finish();
        self.command = None;
        Ok(())
    }

    /// Ends the transaction that is open, without committing it.
    fn leave_transaction(&mut self) -> Option<Box<dyn WriteTransaction>> {
        self.reading = None;
        self.transaction.take()
    }

    /// The moment of a store at which a session reads: that of its transaction if nothing can be written, otherwise the present.
    /// `None` in a transaction that may write, which has a view of its own.
    fn snapshot(&self, store: &dyn GraphStore) -> Result<Option<Arc<dyn ReadView>>> {
        match (&self.transaction, &self.reading) {
            (Some(_), _) => Ok(None),
            (None, Some(reading)) => Ok(Some(reading.clone())),
            (None, None) => store.read().map(Some),
        }
    }

    /// The view of a [`Session::snapshot`], or that of the transaction without one.
    fn view<'a>(&'a self, snapshot: Option<&'a dyn ReadView>) -> Result<&'a dyn ReadView> {
        let view = snapshot.or_else(|| self.transaction.as_ref().map(|transaction| transaction.view()));
        view.ok_or_else(|| error!(Internal, "a session without a view"))
    }

    /// Runs one statement and holds its whole result.
    pub fn query(&mut self, text: &str, parameters: &Parameters) -> Result<QueryResult> {
        let mut rows = QueryResult::default();
        let summary = self.run(text, parameters, &mut rows)?;
        Ok(QueryResult { summary, ..rows })
    }

    /// Runs one statement and gives its rows to a sink as they are made; the rows of a statement that writes, after it
    /// has been committed.
    pub fn run(&mut self, text: &str, parameters: &Parameters, sink: &mut dyn ResultSink) -> Result<StatementSummary> {
        if text.len() <= SHORT_QUERY_BYTES {
            return self.run_here(text, parameters, sink);
        }
        // The plan of a long text may be deep, and so what recurses over it.
        let steps = (text.len() / QUERY_STEP_BYTES_MIN).min(QUERY_STEPS_MAX);
        stacker::grow(steps * QUERY_STEP_STACK_BYTES, || self.run_here(text, parameters, sink))
    }

    /// Runs one statement as [`Session::run`] does, but only for so long: `None` if it takes longer. It has then left no
    /// trace, and what it has given to the sink is void.
    pub fn run_briefly(
        &mut self,
        text: &str,
        parameters: &Parameters,
        sink: &mut dyn ResultSink,
        limit: Duration,
    ) -> Result<Option<StatementSummary>> {
        self.trial = Some(limit);
        let outcome = self.run(text, parameters, sink);
        self.trial = None;
        let is_over = self.interrupt.is_trial_over();
        self.interrupt.set_trial(None);
        match outcome {
            Err(_) if is_over => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    fn run_here(&mut self, text: &str, parameters: &Parameters, sink: &mut dyn ResultSink) -> Result<StatementSummary> {
        let clock = self.database.shared_clock();
        let (start, at_us) = (clock.now_ns(), clock.unix_us());
        let _timed = meter::timed_by(clock.clone());
        let account = Account::open(clock.clone(), (start, at_us), self.recorder(at_us));
        let mut outcome = self.run_on(&account, start, text, parameters, sink);
        account.close(&self.database, (text, parameters), &self.interrupt, &mut outcome);
        outcome
    }

    /// The place in a trace of what begins at that time, if there is one.
    fn recorder(&self, at_us: i64) -> Option<Recorder> {
        let recording = self.database.config().recording.clone()?;
        Some(Recorder::new(recording, self.registration.number(), at_us))
    }

    fn run_on(
        &mut self,
        account: &Account,
        start: u64,
        text: &str,
        parameters: &Parameters,
        sink: &mut dyn ResultSink,
    ) -> Result<StatementSummary> {
        let turn = self.turn.clone();
        let _at_work = turn.begin(self.priority, start, self.timeout);
        self.interrupt.reset();
        // Help outside of statements, before, is none of this one.
        self.interrupt.take_helped();
        self.interrupt.set_deadline(self.timeout.map(|limit| (self.clock.clone(), limit)));
        self.interrupt.set_trial(self.trial.map(|limit| (self.clock.clone(), limit)));
        // All work for the statement on this thread can be cancelled, from the first look at the text on.
        let interrupt = self.interrupt.clone();
        let _listening = interrupt.listen();
        let started = self.registration.start(text, start, account.at_us);
        if started.is_err() {
            self.leave_transaction();
            started?;
        }
        self.set_at_work(true);
        let outcome = self.run_listening(account, text, parameters, &mut CountedSink { sink, account });
        self.set_at_work(false);
        if self.registration.end() && outcome.is_err() {
            self.leave_transaction();
            self.registration.finish();
            return Err(terminated());
        }
        outcome
    }

    /// Says to the transaction that is open whether a statement runs in it.
    fn set_at_work(&mut self, is_at_work: bool) {
        if let Some(transaction) = &mut self.transaction {
            transaction.set_at_work(is_at_work);
        }
    }

    fn run_listening(
        &mut self,
        account: &Account,
        text: &str,
        parameters: &Parameters,
        sink: &mut dyn ResultSink,
    ) -> Result<StatementSummary> {
        // Within a transaction the plan rests on what the transaction sees.
        let attached = self.database.shared.attachments.now();
        let has_sources = !attached.sources().is_empty();
        let snapshot = self.snapshot(&*attached.store)?;
        let registry = self.registry();
        let view = self.view(snapshot.as_deref())?;
        let (is_exact, generation) = match &snapshot {
            Some(_) => (true, attached.generation),
            None => (false, self.generation),
        };
        let facts = Facts { is_exact, generation, tables: registry.tables_fingerprint() };
        let caches = (&self.database.shared.plans, &*self.database.shared.statements);
        let compiled = compile(caches, &*registry, text, view, (facts, &self.interrupt), &account.watch);
        let compiled = compiled.map_err(Error::when_compiled)?;
        if let Text::Query(compiled) = &compiled {
            account.compiled(compiled);
        }
        account.acts(&compiled);
        if !sink.admits(&compiled.outlook()) {
            return Ok(StatementSummary::default());
        }
        self.check_alone(&compiled)?;
        match compiled {
            Text::Begin => self.begin_listening().map(|()| StatementSummary::default()),
            Text::Commit => {
                // It ends the transaction, so that it cannot be run again in another way.
                self.interrupt.set_trial(None);
                account.watch.during(Phase::Commit, || self.commit_listening()).map(|()| StatementSummary::default())
            }
            Text::Rollback => self.rollback_here().map(|()| StatementSummary::default()),
            Text::Maintenance(work) => {
                account.watch.switch(Phase::Run);
                // It would keep files that are merged away.
                drop(snapshot);
                self.maintain(&work, parameters, sink)
            }
            Text::Administration(command) => self.administer(account, &command, parameters),
            Text::Copy(copy) => {
                account.watch.switch(Phase::Run);
                crate::copy::run(self, &copy, parameters, sink)
            }
            Text::Source(statement) => {
                account.watch.switch(Phase::Run);
                // It may last, and what it changes is not in the snapshot.
                drop(snapshot);
                crate::attach::statement::run(self, &statement, parameters, sink)
            }
            Text::Query(compiled) => {
                self.interrupt.check_unpaused().map(|()| sink.column_types(&compiled.plan.column_types)).and_then(
                    |()| {
                        self.run_query(account, (text, &compiled, &registry), parameters, (snapshot, has_sources), sink)
                    },
                )
            }
        }
    }

    fn explain(&self, compiled: &Compiled, snapshot: Option<&dyn ReadView>) -> Result<StatementSummary> {
        let registry = self.registry();
        let around = self.around(self.view(snapshot)?, &*registry, compiled);
        Ok(StatementSummary::of_plan(Some(PlanReport::explain(&compiled.plan, &around)), compiled.hints.clone()))
    }

    fn run_query(
        &mut self,
        account: &Account,
        (text, compiled, registry): (&str, &Compiled, &Registry),
        parameters: &Parameters,
        (snapshot, has_sources): (Option<Arc<dyn ReadView>>, bool),
        sink: &mut dyn ResultSink,
    ) -> Result<StatementSummary> {
        if compiled.prefix == Prefix::Explain {
            return self.explain(compiled, snapshot.as_deref());
        }
        if let Some((name, span)) = compiled.parameters.iter().find(|(name, _)| !parameters.contains_key(name)) {
            return Err(error!(Parameter, "parameter ${name} has no value").at(*span).when_compiled());
        }
        parameters.values().try_for_each(Value::check_extent)?;
        let (database, isolation) = (&self.database, self.isolation);
        let memory = self.query_memory();
        let transaction_us = self.in_transaction().then_some(self.began_us);
        if self.reading.is_some() && compiled.plan.mode != PlanMode::Read {
            return Err(error!(ReadOnly, "the statement writes, and the store was opened for reading only")
                .with_remedy("open it for writing"));
        }
        let (interrupt, memory_account) = (&self.interrupt, &memory);
        let watch = &account.watch;
        let again = |view: &dyn ReadView, seen: &_| plan_again(text, registry, (view, compiled.facts, interrupt), seen);
        // Writes may not leave the facts as they were.
        let rests = (compiled.plan.mode == PlanMode::Read).then_some(&compiled.rests);
        let (plan, rule) = (&*compiled.plan, self.database.config().replan);
        let replanner = Replanning { plan, rule, compile: &again, rests };
        let run = Run {
            replanner: &replanner,
            watch,
            database,
            registry,
            compiled,
            parameters,
            isolation,
            interrupt,
            memory: memory_account,
            statement_us: account.at_us,
            transaction_us,
        };
        let transaction = self.transaction.as_deref_mut();
        let summary = run.in_its_mode(snapshot, transaction, &compiled.names, has_sources, sink);
        let (memory_peak, spilled_bytes) = (memory.peak() as u64, memory.spilled());
        account.spilled(spilled_bytes);
        let summary = summary?;
        let report = match compiled.prefix {
            Prefix::Profile => Some(self.profile(account, (text, compiled), &summary, has_sources)?),
            _ => None,
        };
        let counters = summary.counters;
        let hints = compiled.hints.clone();
        Ok(StatementSummary { counters, memory_peak, spilled_bytes, ..StatementSummary::of_plan(report, hints) })
    }
}

fn no_transaction(verb: &str) -> model::Error {
    error!(TransactionState, "there is no transaction to {verb}").with_remedy("begin one first")
}

fn give(names: &[Arc<str>], batches: Vec<ResultBatch>, sink: &mut dyn ResultSink) -> Result<()> {
    sink.columns(names)?;
    for batch in batches {
        if !sink.rows(batch)? {
            break;
        }
    }
    Ok(())
}

/// Name, in messages, of the holder of a statement's rows until it is committed.
const KEPT_ROWS: &str = "the result, which is kept until the statement is committed,";

/// One run of one statement.
struct Run<'a> {
    watch: &'a Stopwatch,
    replanner: &'a dyn Replanner,
    database: &'a Database,
    registry: &'a Registry,
    compiled: &'a Compiled,
    parameters: &'a Parameters,
    isolation: IsolationLevel,
    interrupt: &'a Interrupt,
    memory: &'a QueryMemory,
    /// Time at which the statement began, in microseconds since the Unix epoch.
    statement_us: i64,
    /// The same of the transaction, if one is open.
    transaction_us: Option<i64>,
}

impl Run<'_> {
    fn environment<'e>(&'e self, parameters: &'e Parameters) -> Environment<'e> {
        let settings = RunSettings {
            threads: if self.compiled.is_parallel { self.database.config().threads } else { 1 },
            profile: self.compiled.prefix == Prefix::Profile,
            transaction_us: self.transaction_us,
            statement_us: Some(self.statement_us),
            ..RunSettings::default()
        };
        Environment {
            parameters,
            procedures: &self.registry.procedures,
            interrupt: self.interrupt,
            clock: self.database.clock(),
            settings,
            memory: self.memory,
            transactions: None,
            replanner: Some(self.replanner),
        }
    }

    /// The parameters, with the edges in them as a view knows them: results have given them their numbers as ids.
    fn parameters_of(&self, view: &dyn ReadView) -> Result<Cow<'_, Parameters>> {
        let edges = located(&edges_of_parameters(self.parameters), view)?;
        Ok(rename_parameters(self.parameters, &edges))
    }

    /// Asserts, in debug builds, that the values of the columns are of the types that the plan stated.
    fn assert_types(&self, columns: &[Arc<Column>]) {
        if cfg!(debug_assertions) {
            let plan = &self.compiled.plan;
            for (place, column) in columns.iter().enumerate() {
                let is_told = column.values().all(|value| plan.is_as_told(place, &value));
                assert!(is_told, "a column is not {:?} as told: {:?}", plan.column_types[place], column.data);
            }
        }
    }

    /// Runs the statement on a snapshot, or in the transaction that is open, and gives its rows.
    fn in_its_mode(
        &self,
        snapshot: Option<Arc<dyn ReadView>>,
        transaction: Option<&mut (dyn WriteTransaction + 'static)>,
        names: &[Arc<str>],
        has_sources: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<Summary> {
        let (summary, batches) = match (self.compiled.plan.mode, snapshot) {
            (PlanMode::Read, Some(snapshot)) => {
                sink.columns(names)?;
                return self.read(&*snapshot, sink);
            }
            (PlanMode::Read, None) => {
                sink.columns(names)?;
                let transaction = transaction.ok_or_else(|| no_transaction("read"))?;
                return self.read_or_undo(transaction, has_sources, sink);
            }
            (PlanMode::Batches, Some(snapshot)) => self.in_batches(&*snapshot)?,
            (PlanMode::Batches, None) => {
                let place = "CALL { … } IN TRANSACTIONS";
                let error = error!(TransactionState, "{place} commits on its own, but a transaction is open");
                return Err(error.with_remedy("commit or roll it back first"));
            }
            (_, Some(snapshot)) => {
                drop(snapshot);
                self.write_and_commit()?
            }
            (_, None) => self.write_or_undo(transaction.ok_or_else(|| no_transaction("write"))?)?,
        };
        self.watch.during(Phase::Deliver, || give(names, batches, sink))?;
        Ok(summary)
    }

    fn read(&self, view: &dyn ReadView, sink: &mut dyn ResultSink) -> Result<Summary> {
        let parameters = self.parameters_of(view)?;
        self.watch.switch(Phase::Run);
        self.compiled.prepared.run(GraphAccess::Read(view), self.environment(&parameters), &mut |rows, columns| {
            self.assert_types(columns);
            for mut columns in pieces(columns, rows) {
                let rows = columns.first().map_or(rows, |column| column.len());
                let entities = self.entities(&mut columns, view)?;
                let batch = ResultBatch { columns, rows, entities };
                let wants_more = match sink.only_keeps() {
                    true => sink.rows(batch)?,
                    false => self.watch.during(Phase::Deliver, || sink.rows(batch))?,
                };
                if !wants_more {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// The nodes and edges that stand in columns.
    fn entities(&self, columns: &mut [Arc<Column>], view: &dyn ReadView) -> Result<Entities> {
        if !Entities::may_stand_in(columns) {
            return Ok(Entities::default());
        }
        self.watch.during(Phase::Records, || Entities::of_columns(columns, view))
    }

    fn hydrate(&self, kept: Vec<(Vec<Arc<Column>>, usize)>, view: &dyn ReadView) -> Result<Vec<ResultBatch>> {
        self.watch.during(Phase::Records, || hydrate(kept, view))
    }

    /// Runs a statement that only reads within a transaction. To a source a question that fails may be the end of its
    /// transaction, unless it is undone.
    fn read_or_undo(
        &self,
        transaction: &mut dyn WriteTransaction,
        has_sources: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<Summary> {
        let savepoint = has_sources.then(|| transaction.savepoint());
        let summary = self.read(transaction.view(), sink);
        if let (Err(_), Some(savepoint)) = (&summary, savepoint) {
            transaction.rollback_to(savepoint)?;
        }
        summary
    }

    /// Runs a statement that begins and commits transactions itself, over the rows of a snapshot.
    fn in_batches(&self, snapshot: &dyn ReadView) -> Result<(Summary, Vec<ResultBatch>)> {
        let transactions = OwnTransactions { database: self.database, isolation: self.isolation };
        let parameters = self.parameters_of(snapshot)?;
        let environment = Environment { transactions: Some(&transactions), ..self.environment(&parameters) };
        let mut kept: Vec<(Vec<Arc<Column>>, usize)> = Vec::new();
        let mut charge = self.memory.open(KEPT_ROWS, None);
        self.watch.switch(Phase::Run);
        let summary = self.compiled.prepared.run(GraphAccess::Read(snapshot), environment, &mut |rows, columns| {
            charge.grow_for(columns)?;
            kept.push((columns.to_vec(), rows));
            Ok(true)
        })?;
        let view = self.database.store().read()?;
        Ok((summary, self.hydrate(kept, &*view)?))
    }

    /// Runs a statement as a transaction of its own; again, if another that committed first had written the same.
    fn write_and_commit(&self) -> Result<(Summary, Vec<ResultBatch>)> {
        transact(self.database, self.isolation, self.interrupt, Some(self.watch), |transaction| self.write(transaction))
    }

    /// Runs a statement that writes within a transaction; if it fails, it is undone alone.
    fn write_or_undo(&self, transaction: &mut dyn WriteTransaction) -> Result<(Summary, Vec<ResultBatch>)> {
        let savepoint = transaction.savepoint();
        match self.write(transaction) {
            Ok(done) => Ok(done),
            Err(failure) => match transaction.rollback_to(savepoint) {
                Ok(()) => Err(failure),
                Err(kept) if kept.code() == ErrorCode::Unsupported => {
                    Err(failure.with_remedy("roll back the whole transaction: the source cannot undo a part of it"))
                }
                Err(lost) => Err(lost),
            },
        }
    }

    /// Runs a statement that writes; its rows are kept until it is known to have succeeded.
    fn write(&self, transaction: &mut dyn WriteTransaction) -> Result<(Summary, Vec<ResultBatch>)> {
        let mut kept: Vec<(Vec<Arc<Column>>, usize)> = Vec::new();
        let mut charge = self.memory.open(KEPT_ROWS, None);
        let parameters = self.parameters_of(transaction.view())?;
        let graph = GraphAccess::Write(&mut *transaction);
        self.watch.switch(Phase::Run);
        let summary = self.compiled.prepared.run(graph, self.environment(&parameters), &mut |rows, columns| {
            self.assert_types(columns);
            charge.grow_for(columns)?;
            kept.push((columns.to_vec(), rows));
            Ok(true)
        })?;
        Ok((summary, self.hydrate(kept, transaction.view())?))
    }
}
