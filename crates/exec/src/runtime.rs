//! One run of a plan: the graph it works on, and what all its operators share.
//!
//! Rows are pushed: an operator runs its input with a closure that takes each chunk, does its work and passes the
//! result to the closure of its consumer. Cursors and states therefore live on the stack, and one call moves a batch.
//! Invariant: while rows are pushed, nobody writes. Operators that write first run their input to its end, keeping
//! the rows, then write, then push.

pub(crate) mod turn;

use std::any::Any;
use std::cell::{Cell, Ref, RefCell};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cypher::plan::{OperatorId, PlanMode};
use model::platform::Clock;
use model::procedure::{GraphAccess, Procedure, ProcedureContext, ProcedureMode, Procedures, RowSink};
use model::{Column, Interrupt, Map, ReadView, Result, Value, WriteTransaction};

use crate::allocations::AllocationTracker;
use crate::chunk::Chunk;
use crate::context::{EvaluationContext, SubplanId, SubplanRunner};
use crate::known::KnownAnswers;
use crate::memory::{Charge, QueryMemory};
use crate::neighbor_lists::SharedLists;
use crate::parallel::spread::Holding;
use crate::profile::{At, Counters, OperatorProfile, Profiler};
use turn::{HeldRows, Replanner, Rest, Turn};

/// A consumer's answer to whether it wants more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It does.
    Continue,
    /// The consumer has enough; the producer should end.
    Stop,
}

/// Takes the chunks of an operator.
pub(crate) type Sink<'a> = dyn FnMut(Chunk) -> Result<Flow> + 'a;

/// An operator ready to run, any number of times and by several threads at once.
pub(crate) trait Physical: Send + Sync {
    /// Pushes all rows into `sink` until it wants no more; `Stop` if that was so.
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow>;
}

/// An operator with its number in the plan.
pub(crate) struct Step {
    /// Its number, to charge time to.
    pub(crate) id: OperatorId,
    /// The operator that does the work of this step.
    pub(crate) operator: Box<dyn Physical>,
    /// Its rows are passed on in parts, small ones first, since the consumer may have enough of few.
    pub(crate) in_parts: bool,
}

/// Rows of the first part, for each row that they are made for.
const FIRST_PART: usize = 2;

/// Least number of rows of the first part.
const FIRST_PART_MIN: usize = 4;

/// Number of rows that are made first for that many rows, where a few may be enough.
pub(crate) fn first_part(rows: usize) -> usize {
    FIRST_PART_MIN.max(FIRST_PART * rows)
}

/// Sizes of the parts in which rows are passed on: each may be twice as large as the one before.
struct Parts {
    rows: usize,
}

impl Step {
    /// Runs the operator, watching it if a profile is wanted.
    pub(crate) fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        if self.in_parts {
            let mut parts = Parts { rows: first_part(scope.argument.rows) };
            return self.run_watched(scope, &mut |chunk| parts.give(&chunk, sink));
        }
        self.run_watched(scope, sink)
    }

    fn run_watched(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let Some(profiler) = &scope.runtime.profiler else {
            return self.operator.run(scope, sink);
        };
        let consumer = profiler.switch(At::Operator(self.id));
        let flow = self.operator.run(scope, &mut |chunk| {
            profiler.gave(self.id, chunk.rows);
            let producer = profiler.switch(consumer);
            let flow = sink(chunk);
            profiler.switch(producer);
            flow
        });
        profiler.switch(consumer);
        flow
    }
}

impl Parts {
    fn give(&mut self, chunk: &Chunk, sink: &mut Sink<'_>) -> Result<Flow> {
        let mut start = 0;
        loop {
            let end = chunk.rows.min(start + self.rows);
            self.rows = self.rows.saturating_mul(2);
            if sink(chunk.slice(start, end))? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            start = end;
            if start == chunk.rows {
                return Ok(Flow::Continue);
            }
        }
    }
}

/// The subplan of an expression, ready to run.
pub(crate) trait RowSubplan: Send + Sync {
    /// Runs the subplan for all rows of a chunk; gives a value for each.
    fn run(&self, runtime: &Runtime<'_>, chunk: &Chunk) -> Result<Arc<Column>>;
}

/// A plan ready to run, any number of times and by several threads at once.
pub struct Prepared {
    pub(crate) root: Step,
    /// For each column of the result, the column of the root's rows.
    pub(crate) output: Vec<usize>,
    pub(crate) subplans: Vec<Box<dyn RowSubplan>>,
    pub(crate) mode: PlanMode,
}

/// The surroundings in which an operator runs: the run, and the rows that an `Argument` stands for.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s, 'r> {
    /// The run.
    pub(crate) runtime: &'s Runtime<'r>,
    /// The current rows of the operator or expression around a subplan.
    pub(crate) argument: &'s Chunk,
}

/// Settings that may differ from run to run.
#[derive(Clone, Copy, Debug)]
pub struct RunSettings {
    /// Threads that may be used.
    pub threads: usize,
    /// Approximate number of rows in a batch.
    pub batch_rows: usize,
    /// True if each operator is measured.
    pub profile: bool,
    /// Fewest nodes of a store for which a scan is split over threads.
    pub parallel_nodes_min: u64,
    /// Microseconds since the Unix epoch when the transaction began; `None` if it begins with the statement.
    pub transaction_us: Option<i64>,
    /// Microseconds since the Unix epoch when the statement began; `None` if it begins now.
    pub statement_us: Option<i64>,
}

impl Default for RunSettings {
    fn default() -> RunSettings {
        let batch_rows = model::limits::BATCH_ROWS;
        RunSettings {
            threads: 1,
            batch_rows,
            profile: false,
            parallel_nodes_min: 100_000,
            transaction_us: None,
            statement_us: None,
        }
    }
}

/// Inputs of a run besides the plan and the graph.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// The parameters of the query, by name without `$`.
    pub parameters: &'a Map<Arc<str>, Value>,
    /// Procedures that `CALL` can call.
    pub procedures: &'a Procedures,
    /// To be checked and reported to.
    pub interrupt: &'a Interrupt,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Settings that may differ from run to run.
    pub settings: RunSettings,
    /// Memory held by the query.
    pub memory: &'a QueryMemory,
    /// Begins the transactions of a statement that commits on its own; none within a transaction.
    pub transactions: Option<&'a dyn Transactions>,
    /// Makes the rest of a plan anew where far more or fewer rows have come than expected.
    pub replanner: Option<&'a dyn Replanner>,
}

/// Begins the transactions of a statement that commits on its own.
pub trait Transactions: Sync {
    /// A new transaction; if it is to be alone, nobody else commits before it has ended, where the store can see to it.
    fn begin(&self, is_alone: bool) -> Result<Box<dyn WriteTransaction>>;
    /// A view of what is committed by now.
    fn snapshot(&self) -> Result<Arc<dyn ReadView>>;
}

/// States that operators keep for all parts of a run.
#[derive(Default)]
pub(crate) struct SharedStates {
    by_operator: Mutex<Map<OperatorId, Arc<dyn Any + Send + Sync>>>,
    /// Bytes charged for them.
    charged: AtomicUsize,
    /// Answers of subplans, with what was charged for these.
    pub(crate) known: KnownAnswers,
    /// Lists of neighbors.
    pub(crate) lists: SharedLists,
}

impl SharedStates {
    /// Takes over the bytes of a charge until the run ends.
    pub(crate) fn take_over(&self, charge: Charge<'_>) {
        self.charged.fetch_add(charge.into_bytes(), Ordering::Relaxed);
    }

    /// Gives back what was charged for states that are no longer wanted.
    pub(crate) fn release(&self, memory: &QueryMemory) {
        memory.release(self.charged.swap(0, Ordering::Relaxed));
        self.known.release(memory);
        self.lists.release(memory);
    }
}

/// One run of a plan.
pub(crate) struct Runtime<'a> {
    graph: RefCell<GraphAccess<'a>>,
    /// Read instead of `graph`, once the statement has committed something.
    renewed: RefCell<Option<Arc<dyn ReadView>>>,
    pub(crate) prepared: &'a Prepared,
    pub(crate) environment: Environment<'a>,
    pub(crate) profiler: Option<Profiler<'a>>,
    pub(crate) counters: Cell<Counters>,
    /// The range to which a parallel pipeline is confined: of ids for the scan at its bottom, or of rows that are held.
    pub(crate) morsel: Option<(OperatorId, Range<u64>)>,
    /// Rows that are held so that a pipeline can be run in parts of them.
    pub(crate) holding: Holding<'a>,
    /// States that operators keep for all parts of a run.
    pub(crate) states: Arc<SharedStates>,
    /// The rows with which it begins, if it is the run of the rest of a plan.
    pub(crate) held: Option<Box<dyn HeldRows + 'a>>,
    /// That rest.
    pub(crate) rest: Option<Arc<Rest>>,
    /// The turn that it takes.
    turn: RefCell<Option<Turn<'a>>>,
    /// Number of rows that the operator at work is about to give.
    announced: Cell<Option<u64>>,
    now_us: i64,
    /// Lists and strings that expressions make.
    made: AllocationTracker,
}

/// A borrowed graph.
pub(crate) enum View<'r, 'a> {
    /// The one that the run began with.
    First(Ref<'r, GraphAccess<'a>>),
    /// The one after a commit.
    Renewed(Arc<dyn ReadView>),
}

impl View<'_, '_> {
    /// The graph to read.
    pub(crate) fn view(&self) -> &dyn ReadView {
        match self {
            View::First(graph) => graph.view(),
            View::Renewed(view) => &**view,
        }
    }
}

impl<'a> Runtime<'a> {
    #[inline]
    pub(crate) fn new(graph: GraphAccess<'a>, prepared: &'a Prepared, mut environment: Environment<'a>) -> Runtime<'a> {
        let profiler = environment.settings.profile.then(|| Profiler::new(environment.clock));
        // All parts of a run that goes on in several threads have one present.
        let now_us = environment.settings.statement_us.unwrap_or_else(|| environment.clock.unix_us());
        environment.settings.statement_us = Some(now_us);
        Runtime {
            graph: RefCell::new(graph),
            renewed: RefCell::default(),
            prepared,
            environment,
            profiler,
            counters: Cell::default(),
            morsel: None,
            holding: Holding::default(),
            states: Arc::default(),
            held: None,
            rest: None,
            turn: RefCell::default(),
            announced: Cell::default(),
            now_us,
            made: AllocationTracker::default(),
        }
    }

    /// The state that an operator keeps for all parts of the run, made when it is first asked for.
    pub(crate) fn shared<T: Send + Sync + 'static>(&self, id: OperatorId, make: impl FnOnce() -> T) -> Arc<T> {
        let mut states = self.states.by_operator.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(id).or_insert_with(|| Arc::new(make()));
        Arc::clone(state).downcast().expect("an operator always asks for the same kind of state")
    }

    /// Ends the run, as a failure would, so that the rest of a plan goes on with the rows that are there.
    pub(crate) fn turn(&self, turn: Turn<'a>) -> Result<Flow> {
        *self.turn.borrow_mut() = Some(turn);
        Err(model::error!(Internal, "a run ended at a horizon, and nothing went on"))
    }

    /// Says how many rows an operator is about to give; an operator that is asked for it says so each time, also that it
    /// does not know.
    pub(crate) fn announce(&self, rows: Option<u64>) {
        self.announced.set(rows);
    }

    /// The number of rows that was said last.
    pub(crate) fn announced(&self) -> Option<u64> {
        self.announced.get()
    }

    /// Does some work for which no operator is charged.
    pub(crate) fn outside_of_operators<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.profiler.as_ref().map(|profiler| profiler.switch(At::Outside));
        let result = work();
        if let (Some(profiler), Some(before)) = (&self.profiler, before) {
            profiler.switch(before);
        }
        result
    }

    /// The graph, for reading. Held no longer than a push.
    pub(crate) fn view(&self) -> View<'_, 'a> {
        match &*self.renewed.borrow() {
            Some(view) => View::Renewed(view.clone()),
            None => View::First(self.graph.borrow()),
        }
    }

    /// From now on this is what is read.
    pub(crate) fn renew(&self, view: Arc<dyn ReadView>) {
        *self.renewed.borrow_mut() = Some(view);
    }

    /// Adds the changes of a run for a part of the rows.
    pub(crate) fn add(&self, counters: &Counters) {
        let mut sum = self.counters.get();
        sum.add(counters);
        self.counters.set(sum);
    }

    /// Ends the run: its graph, what each operator did, and the turn that it took.
    #[inline]
    pub(crate) fn into_parts(self) -> (GraphAccess<'a>, Map<OperatorId, OperatorProfile>, Option<Turn<'a>>) {
        let profile = self.profiler.map(Profiler::finish).unwrap_or_default();
        (self.graph.into_inner(), profile, self.turn.into_inner())
    }

    /// Ends the run: what each operator did.
    pub(crate) fn into_profile(self) -> Map<OperatorId, OperatorProfile> {
        self.profiler.map(Profiler::finish).unwrap_or_default()
    }

    /// The context in which expressions are evaluated.
    pub(crate) fn evaluation<'r>(&'r self, view: &'r View<'_, '_>) -> EvaluationContext<'r> {
        EvaluationContext {
            view: view.view(),
            parameters: self.environment.parameters,
            interrupt: self.environment.interrupt,
            now_us: self.now_us,
            transaction_us: self.environment.settings.transaction_us.unwrap_or(self.now_us),
            clock: self.environment.clock,
            has_deleted: self.counters.get().has_deletions(),
            subplans: self,
            memory: self.environment.memory,
            made: &self.made,
        }
    }

    /// Writes. No rows may be on their way meanwhile.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut Writer<'_>) -> Result<T>) -> Result<T> {
        let mut graph = self.graph.borrow_mut();
        let GraphAccess::Write(transaction) = &mut *graph else {
            return Err(model::error!(ReadOnly, "the statement writes, but the transaction only reads"));
        };
        let mut counters = self.counters.get();
        let result = work(&mut Writer { transaction: &mut **transaction, counters: &mut counters });
        self.counters.set(counters);
        result
    }

    /// Calls a procedure on the graph, with the right to write if the run has it.
    pub(crate) fn call(&self, procedure: &dyn Procedure, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let Environment { interrupt, clock, settings, .. } = self.environment;
        let threads = settings.threads.max(1);
        let workspace = self.environment.memory;
        if procedure.signature().mode == ProcedureMode::Read {
            let view = self.view();
            let graph = GraphAccess::Read(view.view());
            return procedure.call(
                &mut ProcedureContext { graph, interrupt, threads, clock, workspace },
                arguments,
                sink,
            );
        }
        self.write(|writer| {
            let graph = GraphAccess::Write(&mut *writer.transaction);
            procedure.call(&mut ProcedureContext { graph, interrupt, threads, clock, workspace }, arguments, sink)
        })
    }

    /// An empty charge of the operator at work, to say there what it holds.
    pub(crate) fn charge(&self, operator: &'static str) -> Charge<'a> {
        let id = self.profiler.as_ref().and_then(Profiler::current);
        self.environment.memory.open(operator, id)
    }

    /// True if the run may write.
    pub(crate) fn writes(&self) -> bool {
        self.prepared.mode == PlanMode::Batches || matches!(&*self.graph.borrow(), GraphAccess::Write(_))
    }
}

/// A transaction, and the count of what was done to it.
pub(crate) struct Writer<'w> {
    /// The transaction.
    pub(crate) transaction: &'w mut dyn WriteTransaction,
    /// Changes made so far.
    pub(crate) counters: &'w mut Counters,
}

impl SubplanRunner for Runtime<'_> {
    fn run(&self, subplan: SubplanId, chunk: &Chunk) -> Result<Arc<Column>> {
        self.prepared.subplans[subplan.0].run(self, chunk)
    }
}
