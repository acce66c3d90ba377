//! Queries as text against the reference store: what the planner makes and the executor runs, with results worked out
//! by hand.
//!
//! Every case runs with full batches and with tiny ones, on a store with dense ids and on one that acts foreign, and
//! with one and several threads: the answers must be the same.

mod aggregation;
mod correlated;
mod counting;
mod cycles;
mod first_matches;
mod joined;
mod known;
mod lists;
mod matching;
mod memory;
mod merging;
mod optimizer;
mod optional;
mod partial_aggregation;
mod paths;
mod projection;
mod random;
mod repeated;
mod searches;
mod shapes;
mod spilled_paths;
mod writing;

use std::sync::Arc;

use cypher::catalog::{Catalog, CompileContext, FunctionSignature};
use cypher::plan::Statement;
use exec::{Counters, Environment, QueryMemory, RunSettings, Summary};
use model::platform::Clock;
use model::procedure::{GraphAccess, ProcedureSignature, Procedures};
use model::{Column, Error, GraphStore, Interrupt, Map, Result, Value};
use testing::ReferenceStore;

/// Functions and procedures as the executor has them.
struct Functions(exec::functions::FunctionCatalog, Procedures);

impl Functions {
    fn new() -> Functions {
        let mut procedures = Procedures::default();
        exec::procedures::procedures().into_iter().for_each(|procedure| procedures.register(procedure));
        Functions(exec::functions::FunctionCatalog::new(), procedures)
    }
}

impl Catalog for Functions {
    fn function(&self, name: &str) -> Option<&FunctionSignature> {
        self.0.function(name)
    }

    fn function_names(&self) -> Vec<&str> {
        self.0.names().to_vec()
    }

    fn procedure(&self, name: &str) -> Option<&ProcedureSignature> {
        self.1.find(name).map(|procedure| procedure.signature())
    }

    fn procedure_names(&self) -> Vec<&str> {
        self.1.iter().map(|procedure| procedure.signature().name).collect()
    }
}

/// A clock that stands still.
#[derive(Debug)]
struct StoppedClock;

impl Clock for StoppedClock {
    fn now_ns(&self) -> u64 {
        0
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

/// The rows of a result, each as its values with commas between, and what changed.
type Answer = (Vec<String>, Summary);

fn compile(view: &dyn model::ReadView, text: &str) -> Result<Arc<cypher::plan::Plan>> {
    let catalog = Functions::new();
    let (schema, statistics, capabilities) = (view.schema(), view.statistics(), view.capabilities());
    let interrupt = Interrupt::new();
    let context =
        CompileContext { catalog: &catalog, schema, statistics, capabilities, interrupt: &interrupt, seen: &[] };
    match cypher::compile(text, &context)? {
        Statement::Query(_, plan) => Ok(plan),
        _ => panic!("{text} is not a query"),
    }
}

/// Runs one query with that memory.
pub(crate) fn run_with(
    store: &dyn GraphStore,
    text: &str,
    parameters: &Map<Arc<str>, Value>,
    settings: RunSettings,
    memory: &QueryMemory,
) -> Result<Answer> {
    let catalog = Functions::new();
    let view = store.read()?;
    let plan = compile(&*view, text)?;
    let environment = Environment {
        parameters,
        procedures: &catalog.1,
        interrupt: &Interrupt::new(),
        clock: &StoppedClock,
        settings,
        memory,
        transactions: None,
        replanner: None,
    };
    let mut rows = Vec::new();
    let mut sink = |count: usize, columns: &[Arc<Column>]| {
        for row in 0..count {
            let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(values.join(", "));
        }
        Ok(true)
    };
    let prepared = exec::prepare(&plan)?;
    let summary = if plan.mode == cypher::plan::PlanMode::Read {
        prepared.run(GraphAccess::Read(&*view), environment, &mut sink)?
    } else {
        let mut transaction = store.write()?;
        let summary = prepared.run(GraphAccess::Write(&mut *transaction), environment, &mut sink)?;
        transaction.commit()?;
        summary
    };
    Ok((rows, summary))
}

/// The answer of a query in batches of that many rows, and the number of rows that all its operators gave.
pub(crate) fn rows_given(store: &dyn GraphStore, query: &str, batch_rows: usize) -> (Vec<String>, u64) {
    let settings = RunSettings { batch_rows, profile: true, ..RunSettings::default() };
    let (rows, summary) = run_with(store, query, &Map::default(), settings, &QueryMemory::unlimited())
        .unwrap_or_else(|error| panic!("{}\n{query}", error.render(query)));
    (rows, summary.profile.values().map(|operator| operator.rows).sum())
}

/// Runs one query; what only reads also with hardly any memory, and half of the variants write so.
fn execute(
    store: &dyn GraphStore,
    text: &str,
    parameters: &Map<Arc<str>, Value>,
    settings: RunSettings,
) -> Result<Answer> {
    let run = |memory: &QueryMemory| run_with(store, text, parameters, settings, memory);
    let writes = compile(&*store.read()?, text)?.mode != cypher::plan::PlanMode::Read;
    if writes && !settings.batch_rows.is_multiple_of(2) {
        return memory::with_tiny(run);
    }
    let answer = run(&QueryMemory::unlimited());
    if !writes {
        memory::with_tiny(|tiny| memory::compare(text, &answer, &run(tiny)));
    }
    answer
}

/// The ways in which every case runs.
fn variants() -> Vec<(ReferenceStore, RunSettings)> {
    let settings = |batch_rows, threads| {
        let parallel_nodes_min = if threads > 1 { 0 } else { u64::MAX };
        RunSettings { batch_rows, threads, parallel_nodes_min, profile: threads > 1, ..RunSettings::default() }
    };
    vec![
        (ReferenceStore::new(), settings(2_048, 1)),
        (ReferenceStore::with_batch_rows(2), settings(1, 1)),
        (ReferenceStore::with_batch_rows(1), settings(3, 3)),
        (ReferenceStore::foreign(3), settings(2, 1)),
    ]
}

/// Runs statements, parted by semicolons at line ends, and gives the answer of the last.
fn answer(
    store: &ReferenceStore,
    script: &str,
    parameters: &Map<Arc<str>, Value>,
    settings: RunSettings,
) -> Result<Answer> {
    let mut last = Err(model::error!(Internal, "no statement"));
    for statement in script.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()) {
        last = Ok(execute(store, statement, parameters, settings)?);
    }
    last
}

/// The rows of one query on an empty store.
pub(crate) fn rows_of(query: &str) -> Vec<String> {
    let store = ReferenceStore::new();
    let found = run_with(&store, query, &Map::default(), RunSettings::default(), &QueryMemory::unlimited());
    found.unwrap_or_else(|error| panic!("{}\n{query}", error.render(query))).0
}

fn check_with(script: &str, parameters: &[(&str, Value)], expected: &[&str], is_ordered: bool) {
    let parameters = parameters.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect();
    let mut expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    if !is_ordered {
        expected.sort();
    }
    for (number, (store, settings)) in variants().into_iter().enumerate() {
        let (mut rows, _) = answer(&store, script, &parameters, settings)
            .unwrap_or_else(|error| panic!("variant {number}: {}\n{script}", error.render(script)));
        if !is_ordered {
            rows.sort();
        }
        assert_eq!(rows, expected, "variant {number}: {script}");
    }
}

/// Checks the rows of the last statement, in any order.
fn check(script: &str, expected: &[&str]) {
    check_with(script, &[], expected, false);
}

/// Checks the rows of the last statement, in order.
fn check_ordered(script: &str, expected: &[&str]) {
    check_with(script, &[], expected, true);
}

/// Checks what the last statement changed.
fn check_counters(script: &str, expected: Counters) {
    for (number, (store, settings)) in variants().into_iter().enumerate() {
        let (_, summary) = answer(&store, script, &Map::default(), settings)
            .unwrap_or_else(|error| panic!("variant {number}: {}\n{script}", error.render(script)));
        assert_eq!(summary.counters, expected, "variant {number}: {script}");
    }
}

/// Checks that the last statement fails with that code, and that the others do not.
fn check_error(script: &str, code: &str) {
    for (number, (store, settings)) in variants().into_iter().enumerate() {
        let outcome: Result<Answer, Error> = answer(&store, script, &Map::default(), settings);
        let error = match outcome {
            Ok((rows, _)) => panic!("variant {number}: expected {code}, got {rows:?}: {script}"),
            Err(error) => error,
        };
        assert_eq!(error.code().name(), code, "variant {number}: {error:?}: {script}");
    }
}
