//! Scenarios, step by step, each on a store of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use database::{Config, Database, Durability, Error, Parameters, QueryResult};
use testing::Folder;

use crate::effects::{self, Snapshot};
use crate::feature::{Scenario, Step};
use crate::notation::{self, ListOrder, Notation};
use crate::procedure::TableProcedure;

/// Runs a query.
pub(crate) type Query = dyn FnMut(&str, &Parameters) -> Result<QueryResult, Error>;
/// Makes what runs queries on a database.
pub(crate) type Opener = fn(&Database) -> Box<Query>;

/// Result and changes of the last query.
struct Outcome {
    result: Result<QueryResult, Error>,
    changes: BTreeMap<String, i64>,
}

/// The way rows are compared.
#[derive(Clone, Copy)]
struct Comparison {
    in_order: bool,
    lists: ListOrder,
}

/// A scenario that is being run.
struct Run<'a> {
    graphs: &'a Path,
    database: Database,
    query: Box<Query>,
    parameters: Parameters,
    outcome: Option<Outcome>,
    /// True if something was compared: a scenario that asks for nothing would prove nothing.
    compared: bool,
}

/// Runs a scenario; an error says what differs.
pub(crate) fn run(scenario: &Scenario, graphs: &Path, open: Opener) -> Result<(), String> {
    let folder = Folder::new();
    let config =
        Config { threads: 1, durability: Durability::Off, memory_bytes_max: Some(16 << 20), ..Config::default() };
    let database = Database::open(&folder.join("tck.knot"), config).map_err(|error| format!("{error:?}"))?;
    let (query, parameters) = (open(&database), Parameters::default());
    let mut run = Run { graphs, database, query, parameters, outcome: None, compared: false };
    for step in &scenario.steps {
        run.step(step)?;
    }
    match (&run.outcome, run.compared) {
        (Some(Outcome { result: Err(error), .. }), false) => Err(format!("failed: {error:?}")),
        (_, false) => Err("nothing was compared".into()),
        _ => Ok(()),
    }
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let text = step.text.as_str();
        if let Some(signature) = text.strip_prefix("there exists a procedure ") {
            let procedure = TableProcedure::parse(signature, &step.table)?;
            return self.database.register_procedure(procedure).map_err(|error| format!("{error:?}"));
        }
        if let Some(name) = text.strip_prefix("the ").and_then(|text| text.strip_suffix(" graph")) {
            let file = self.graphs.join(name).join(format!("{name}.cypher"));
            let script = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            return database::split_statements(&script).into_iter().try_for_each(|statement| self.prepare(statement));
        }
        match text {
            "an empty graph" | "any graph" => Ok(()),
            "having executed:" => self.prepare(document(step)?),
            "parameters are:" => self.take_parameters(&step.table),
            "executing query:" | "executing control query:" => self.execute(document(step)?),
            "the result should be empty" => self.check_empty(),
            "the result should be, in any order:" => self.check_rows(step, false, ListOrder::Kept),
            "the result should be, in order:" => self.check_rows(step, true, ListOrder::Kept),
            "the result should be (ignoring element order for lists):" => {
                self.check_rows(step, false, ListOrder::Ignored)
            }
            "the result should be, in order (ignoring element order for lists):" => {
                self.check_rows(step, true, ListOrder::Ignored)
            }
            "no side effects" => self.check_changes(&BTreeMap::new()),
            "the side effects should be:" => self.check_changes(&effects::expected(&step.table)?),
            _ => match error_step(text) {
                Some((kind, phase, detail)) => self.check_error(kind, phase, detail),
                None => Err(format!("unknown step: {text}")),
            },
        }
    }

    /// Runs a statement that must succeed.
    fn prepare(&mut self, text: &str) -> Result<(), String> {
        let result = (self.query)(text, &Parameters::default());
        result.map(|_| ()).map_err(|error| format!("the preparation failed: {error:?}"))
    }

    fn take_parameters(&mut self, table: &[Vec<String>]) -> Result<(), String> {
        for row in table {
            let [name, value] = row.as_slice() else { return Err(format!("no parameter: {row:?}")) };
            self.parameters.insert(Arc::from(name.as_str()), notation::parse(value)?.into_value()?);
        }
        Ok(())
    }

    fn execute(&mut self, text: &str) -> Result<(), String> {
        let before = Snapshot::read(&mut self.query)?;
        let result = (self.query)(text, &self.parameters);
        let after = Snapshot::read(&mut self.query)?;
        self.outcome = Some(Outcome { result, changes: before.changes_to(&after) });
        Ok(())
    }

    fn outcome(&mut self) -> Result<&Outcome, String> {
        self.compared = true;
        self.outcome.as_ref().ok_or_else(|| "nothing was executed".to_string())
    }

    fn result(&mut self) -> Result<&QueryResult, String> {
        self.outcome()?.result.as_ref().map_err(|error| format!("failed: {error:?}"))
    }

    fn check_empty(&mut self) -> Result<(), String> {
        match self.result()?.row_count() {
            0 => Ok(()),
            count => Err(format!("expected no rows, found {count}")),
        }
    }

    fn check_rows(&mut self, step: &Step, in_order: bool, lists: ListOrder) -> Result<(), String> {
        let Some((columns, rows)) = step.table.split_first() else { return Err("no table".into()) };
        let expected: Vec<Vec<Notation>> = rows
            .iter()
            .map(|row| row.iter().map(|cell| notation::parse(cell)).collect())
            .collect::<Result<_, String>>()?;
        compare(self.result()?, columns, &expected, Comparison { in_order, lists })
    }

    fn check_changes(&mut self, expected: &BTreeMap<String, i64>) -> Result<(), String> {
        let outcome = self.outcome()?;
        if let Err(error) = &outcome.result {
            return Err(format!("failed: {error:?}"));
        }
        match &outcome.changes {
            found if found == expected => Ok(()),
            found => Err(format!("expected the side effects {expected:?}, found {found:?}")),
        }
    }

    fn check_error(&mut self, kind: &str, phase: &str, detail: &str) -> Result<(), String> {
        let outcome = self.outcome()?;
        let error = match &outcome.result {
            Err(error) => error,
            Ok(result) => return Err(format!("expected {kind} {detail}, found {} rows", result.row_count())),
        };
        let found_detail = error.detail().map_or("none", |detail| detail.name());
        let found = (error.kind().name(), error.phase().name(), found_detail);
        if !outcome.changes.is_empty() {
            return Err(format!("a query that failed left {:?}", outcome.changes));
        }
        if found.0 == kind && (phase == "any time" || found.1 == phase) && (detail == "*" || found.2 == detail) {
            return Ok(());
        }
        Err(format!("expected {:?}, found {found:?}: {error:?}", (kind, phase, detail)))
    }
}

fn document(step: &Step) -> Result<&str, String> {
    step.document.as_deref().ok_or_else(|| format!("the step has no text: {}", step.text))
}

/// Kind, phase and detail of a step like `a SyntaxError should be raised at compile time: UndefinedVariable`.
fn error_step(text: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = text.strip_prefix("a ").or(text.strip_prefix("an "))?.split_once(" should be raised at ")?;
    let (phase, detail) = rest.split_once(": ")?;
    ["compile time", "runtime", "any time"].contains(&phase).then_some((kind, phase, detail))
}

/// Compares a result with a table, whose columns may stand in another order.
fn compare(result: &QueryResult, columns: &[String], rows: &[Vec<Notation>], how: Comparison) -> Result<(), String> {
    let place = |name: &String| result.columns.iter().position(|found| **found == **name);
    let places: Option<Vec<usize>> = columns.iter().map(place).collect();
    let Some(places) = places.filter(|places| places.len() == result.columns.len()) else {
        return Err(format!("expected the columns {columns:?}, found {:?}", result.columns));
    };
    let entities = result.entities();
    let mut found: Vec<String> = result
        .rows()
        .map(|row| row_text(places.iter().map(|place| Notation::of(&row[*place], &entities).canonical(how.lists))))
        .collect();
    let mut expected: Vec<String> =
        rows.iter().map(|row| row_text(row.iter().map(|cell| cell.canonical(how.lists)))).collect();
    if !how.in_order {
        found.sort();
        expected.sort();
    }
    if found == expected {
        return Ok(());
    }
    let list = |rows: &[String]| rows.iter().take(20).map(|row| format!("\n      {row}")).collect::<String>();
    Err(format!("expected {} rows:{}\n    found {}:{}", expected.len(), list(&expected), found.len(), list(&found)))
}

fn row_text(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}
