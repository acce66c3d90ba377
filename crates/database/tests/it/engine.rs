//! Databases to ask: a native one through the façade, and any store with the planner and executor right above it.

use cypher::catalog::CompileContext;
use cypher::optimizer::OptimizerConfig;
use cypher::plan::{HorizonId, Plan, PlanMode, Prefix, Statement, explain};
use database::registry::Registry;
use database::{Config, Database, Entities, Error, Parameters, Value};
use exec::{Environment, QueryMemory, ReplanRule, Replanning, RunSettings, SpillSpace, Transactions};
use model::platform::Clock;
use model::procedure::GraphAccess;
use model::{GraphStore, Interrupt, MemoryBudget, ReadView, WriteTransaction, error};

use crate::answer::{Answer, render};
use testing::Folder;
use testing::simulation::MemoryDisk;

/// Something that runs statements.
pub(crate) trait Engine {
    fn run(&mut self, text: &str, parameters: &Parameters) -> Result<Answer, Error>;

    /// Called once the graph of a test is made: a chance to write it into files.
    fn settle(&mut self) {}
}

/// Runs all statements of a text.
pub(crate) fn run_script(engine: &mut dyn Engine, text: &str) -> Result<(), Error> {
    for statement in database::split_statements(text) {
        engine.run(statement, &Parameters::default())?;
    }
    Ok(())
}

/// A native store in a folder of its own.
pub(crate) struct Native {
    folder: Folder,
    database: Option<Database>,
    threads: usize,
    reopens: bool,
    /// The memory limit of a query, if it has one of its own.
    query_memory: Option<usize>,
}

impl Native {
    pub(crate) fn new(threads: usize) -> Native {
        let mut native = Native { folder: Folder::new(), database: None, threads, reopens: false, query_memory: None };
        native.open();
        native
    }

    /// One whose queries may hold so little that everything spills.
    pub(crate) fn spilling(threads: usize) -> Native {
        let mut native = Native { query_memory: Some(0), ..Native::new(threads) };
        native.open();
        native
    }

    /// One that merges everything into files and opens the store anew when it settles.
    pub(crate) fn reopening(threads: usize) -> Native {
        Native { reopens: true, ..Native::new(threads) }
    }

    fn open(&mut self) {
        // The old one must let go of the store first.
        self.database = None;
        let (threads, query_memory_max) = (self.threads, self.query_memory);
        let config = Config { threads, query_memory_max, durability: database::Durability::Off, ..Config::default() };
        self.database = Some(Database::open(&self.folder.join("store.knot"), config).expect("a store can be opened"));
    }

    pub(crate) fn database(&self) -> &Database {
        self.database.as_ref().expect("it is open")
    }
}

impl Engine for Native {
    fn run(&mut self, text: &str, parameters: &Parameters) -> Result<Answer, Error> {
        answer_of(&mut self.database().session(), text, parameters)
    }

    fn settle(&mut self) {
        if self.reopens {
            self.database().checkpoint().expect("a checkpoint can be made");
            self.open();
        }
    }
}

/// The answer of a session.
pub(crate) fn answer_of(session: &mut database::Session, text: &str, parameters: &Parameters) -> Result<Answer, Error> {
    let result = session.query(text, parameters)?;
    let entities = result.entities();
    Ok(Answer {
        columns: result.columns.iter().map(|name| name.to_string()).collect(),
        rows: result.rows().map(|row| row.iter().map(|value| render(value, &entities)).collect()).collect(),
        counters: result.summary.counters,
        plan: result.summary.plan.clone(),
    })
}

/// Planner and executor right above a store.
pub(crate) struct Bare {
    store: Box<dyn GraphStore>,
    registry: Registry,
    pub(crate) settings: RunSettings,
    pub(crate) optimizer: OptimizerConfig,
    /// True if queries may hold so little that everything spills.
    pub(crate) spills: bool,
    /// True if the rest of a plan is made anew at every horizon.
    pub(crate) replans: bool,
    /// The number of times that this was done.
    pub(crate) replanned: usize,
}

impl Bare {
    pub(crate) fn new(store: Box<dyn GraphStore>) -> Bare {
        let (settings, optimizer) = (RunSettings::default(), OptimizerConfig::default());
        Bare {
            store,
            registry: Registry::new(&Config::default(), analytics::ViewCache::new(model::MemoryBudget::unlimited())),
            settings,
            optimizer,
            spills: false,
            replans: false,
            replanned: 0,
        }
    }

    fn compile(
        &self,
        text: &str,
        view: &dyn ReadView,
        seen: &[(HorizonId, u64)],
    ) -> Result<(Prefix, std::sync::Arc<Plan>), Error> {
        let context = CompileContext {
            catalog: &self.registry,
            schema: view.schema(),
            statistics: view.statistics(),
            capabilities: view.capabilities(),
            interrupt: &Interrupt::new(),
            seen,
        };
        match cypher::compile_with(text, &context, &self.optimizer)?.statement {
            Statement::Query(prefix, plan) => Ok((prefix, plan)),
            _ => Err(error!(TransactionState, "this engine has no transactions of several statements")),
        }
    }
}

impl Engine for Bare {
    fn run(&mut self, text: &str, parameters: &Parameters) -> Result<Answer, Error> {
        let view = self.store.read()?;
        let (prefix, plan) = self.compile(text, &*view, &[])?;
        let columns = plan.columns.iter().map(|(name, _)| name.to_string()).collect();
        let mut answer = Answer { columns, ..Answer::default() };
        if prefix == Prefix::Explain {
            return Ok(Answer { plan: Some(explain::text(&plan)), ..answer });
        }
        let prepared = exec::prepare(&plan)?;
        let (interrupt, clock) = (Interrupt::new(), StoppedClock);
        let own = OwnTransactions(&*self.store);
        let memory = if self.spills { hardly_any_memory() } else { QueryMemory::unlimited() };
        let this = &*self;
        let compile = move |view: &dyn ReadView, seen: &[_]| this.compile(text, view, seen).map(|(_, plan)| Some(plan));
        let rule = ReplanRule { factor: 1.0, work_min: 0.0 };
        let replanning = Replanning { plan: &plan, rule, compile: &compile, rests: None };
        let environment = Environment {
            parameters,
            procedures: &self.registry.procedures,
            interrupt: &interrupt,
            clock: &clock,
            settings: self.settings,
            memory: &memory,
            transactions: None,
            replanner: self.replans.then_some(&replanning as _),
        };
        let mut kept = Vec::new();
        let mut keep = |rows: usize, columns: &[std::sync::Arc<model::Column>]| {
            kept.push((columns.to_vec(), rows));
            Ok(true)
        };
        let summary = if plan.mode == PlanMode::Batches {
            let environment = Environment { transactions: Some(&own), ..environment };
            let summary = prepared.run(GraphAccess::Read(&*view), environment, &mut keep)?;
            collect(&mut answer, &kept, &*self.store.read()?)?;
            summary
        } else if plan.mode == PlanMode::Read {
            let summary = prepared.run(GraphAccess::Read(&*view), environment, &mut keep)?;
            collect(&mut answer, &kept, &*view)?;
            summary
        } else {
            let mut transaction = self.store.write()?;
            let summary = prepared.run(GraphAccess::Write(&mut *transaction), environment, &mut keep)?;
            collect(&mut answer, &kept, transaction.view())?;
            transaction.commit()?;
            summary
        };
        answer.counters = summary.counters;
        self.replanned += summary.replanned.len();
        Ok(answer)
    }
}

/// An account of which everything is refused, with a disk in memory to spill to.
fn hardly_any_memory() -> QueryMemory {
    let (disk, folder) = (MemoryDisk::new(), std::path::PathBuf::from("spill"));
    disk.put_directory(&folder);
    QueryMemory::new(MemoryBudget::unlimited(), Some(0), SpillSpace::new(std::sync::Arc::new(disk), vec![folder]))
}

/// The transactions of a statement that commits on its own.
struct OwnTransactions<'s>(&'s dyn GraphStore);

impl Transactions for OwnTransactions<'_> {
    fn begin(&self, _is_alone: bool) -> Result<Box<dyn WriteTransaction>, Error> {
        self.0.write()
    }

    fn snapshot(&self) -> Result<std::sync::Arc<dyn ReadView>, Error> {
        self.0.read()
    }
}

type Batches = [(Vec<std::sync::Arc<model::Column>>, usize)];

fn collect(answer: &mut Answer, batches: &Batches, view: &dyn ReadView) -> Result<(), Error> {
    for (columns, rows) in batches {
        let mut columns = columns.clone();
        let entities = Entities::of_columns(&mut columns, view)?;
        let cell = |row: usize| columns.iter().map(|column| render(&column.value(row), &entities)).collect();
        answer.rows.extend((0..*rows).map(cell));
    }
    Ok(())
}

/// A clock that is right once in a while.
#[derive(Debug)]
struct StoppedClock;

impl Clock for StoppedClock {
    fn now_ns(&self) -> u64 {
        0
    }

    fn unix_us(&self) -> i64 {
        1_700_000_000_000_000
    }
}

/// Parameters from a map in Cypher's notation; none from an empty text.
pub(crate) fn parameters_of(text: &str) -> Parameters {
    if text.trim().is_empty() {
        return Parameters::default();
    }
    let database = Native::new(1);
    let result = database.database().session().query(&format!("RETURN {text} AS p"), &Parameters::default());
    match result.expect("parameters are a map").single() {
        Some(Value::Map(map)) => map.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        other => panic!("parameters are a map, found {other:?}"),
    }
}
