//! `knot introspect`: a store measured in layers.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use client::address::PASSWORD_VARIABLE;
use client::{Address, Graph, Session};
use database::relational::RelationalDatabase;
use database::{Config, Error, ErrorCode, Interrupt, Parameters, QueryResult};
use introspect::SystemClock;
use introspect::machine::{self, Effort};
use introspect::measure::{MeasureOptions, Measurements, measure};
use introspect::report::{Report, Stored, to_json, to_text};
use introspect::subject::Subject;
use introspect::subject::knotwork::KnotworkStore;
use introspect::subject::program::{Limits, Program};
use introspect::subject::server::{CypherServer, Statements};
use introspect::subject::sql::{SqlSubject, TableChoice};
use introspect::subject::workload::{self, Statement};

use self::described::{Described, is_definition};
use super::{bench, import};
use crate::arguments::IntrospectArguments;
use crate::failure::Outcome;
use crate::format::counted;
use crate::{progress, signals, whole_file};

mod described;

/// The name of this system in reports.
const OWN_NAME: &str = "Knotwork";
/// Prefix of a program's command, in the place of a store.
const PROGRAM: &str = "subject:";
/// Time limit of a statement, and of a call of a program.
const QUICK_STATEMENT: Duration = Duration::from_secs(5);
const STATEMENT: Duration = Duration::from_secs(60);
/// Time limit of an answer of a program, which may load its data first.
const ANSWER: Duration = Duration::from_secs(3_600);
/// Bytes of a file of statements.
const QUERIES_BYTES_MAX: u64 = 1 << 20;

pub(super) fn run(arguments: &IntrospectArguments) -> Outcome<()> {
    let memory_bytes_max = match &arguments.memory_limit {
        Some(size) => Some(import::bytes(size)?),
        None => super::memory_limit(None)?,
    };
    [&arguments.json, &arguments.html].into_iter().flatten().try_for_each(|file| check_folder(file))?;
    let workload = workload_of(arguments)?;
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    let report = progress::watch_query(&interrupt, || {
        let (clock, interrupt) = (Arc::new(SystemClock::default()), &interrupt);
        let measuring = Measuring { arguments, workload, memory_bytes_max, clock, interrupt };
        measuring.report()
    })?;
    let json = to_json(&report);
    if let Some(file) = &arguments.json {
        whole_file::write(file, &format!("{json}\n"))?;
    }
    if let Some(file) = &arguments.html {
        bench::write_html(file, &[Stored::read(&json)?])?;
    }
    std::io::stdout().lock().write_all(to_text(&report).as_bytes())?;
    match report.unmeasured() {
        Some(error) if error.code() == ErrorCode::DiskFull => {
            Err(error.with_remedy("free space, then measure again").into())
        }
        Some(error) => Err(error.with_remedy("see who may read and write there, then measure again").into()),
        None => Ok(()),
    }
}

/// The statements of the file or the trace that is given.
fn workload_of(arguments: &IntrospectArguments) -> Result<Option<Vec<Statement>>, Error> {
    let Some(file) = arguments.queries.as_ref().or(arguments.trace.as_ref()) else { return Ok(None) };
    if program_of(&arguments.store).is_some() || relational_of(&arguments.store).is_some() {
        let message = "the statements of a file are Cypher, for stores, servers and described graphs";
        return Err(Error::new(ErrorCode::Argument, message).with_remedy("leave out --queries and --trace"));
    }
    if arguments.trace.is_some() {
        let (found, left_out) =
            workload::of_trace(super::events_of(file)?).map_err(|failure| in_file(failure, file))?;
        if left_out > 0 {
            tell!(
                "{} of {} left out: they write, failed, or are no statements",
                counted(left_out as u64, "event"),
                file.display()
            );
        }
        return Ok(Some(found));
    }
    let size = std::fs::metadata(file).map_err(|cause| Error::of_file(file, &cause))?.len();
    if size > QUERIES_BYTES_MAX {
        let message =
            format!("{} has {size} bytes, and statements of at most {QUERIES_BYTES_MAX} are read", file.display());
        return Err(Error::new(ErrorCode::Argument, message).with_remedy("measure the statements in several files"));
    }
    let text = std::fs::read_to_string(file).map_err(|cause| Error::of_file(file, &cause))?;
    workload::of_text(&text).map(Some).map_err(|failure| in_file(failure, file))
}

/// An error that names its file.
fn in_file(failure: Error, file: &Path) -> Error {
    let name = file.display().to_string();
    if failure.message().contains(&name) { failure } else { failure.within(&name) }
}

/// The command of a program that is the subject.
fn program_of(subject: &Path) -> Option<&str> {
    subject.to_str()?.strip_prefix(PROGRAM).map(str::trim).filter(|command| !command.is_empty())
}

/// The address of a server that is the subject.
fn address_of(subject: &Path) -> Option<&str> {
    subject.to_str().filter(|text| Address::is_one(text))
}

/// The address of a relational database that is the subject.
fn relational_of(subject: &Path) -> Option<&str> {
    subject.to_str().filter(|text| RelationalDatabase::is_one(text))
}

/// A session of a server that is measured. It hears Ctrl-C between statements, and within them by their time limit.
struct Asked(Session);

impl Statements for Asked {
    fn set_limit(&mut self, limit: Duration) {
        self.0.set_timeout(Some(limit));
    }

    fn query(&mut self, text: &str, parameters: &Parameters) -> Result<QueryResult, Error> {
        self.0.query(text, parameters)
    }

    fn system(&self) -> Option<(String, String)> {
        // Drivers want a name of Neo4j: our own stands behind it.
        let agent = self.0.graph().server_agent()?;
        let version = agent.split_once(&format!("({OWN_NAME} "))?.1.split(')').next()?;
        Some((OWN_NAME.to_owned(), version.to_owned()))
    }
}

/// The folder that a file or a store lies in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Says that a file cannot be written before anything takes time.
fn check_folder(file: &Path) -> Result<(), Error> {
    let folder = folder_of(file);
    let is_folder = std::fs::metadata(folder).map_err(|cause| Error::of_file(folder, &cause))?.is_dir();
    if is_folder && !file.is_dir() {
        return Ok(());
    }
    let message = format!("{} is no file that can be written", file.display());
    Err(Error::new(ErrorCode::Argument, message).with_remedy("name a file in a folder that is there"))
}

struct Measuring<'a> {
    arguments: &'a IntrospectArguments,
    /// Statements in the place of those that are built in.
    workload: Option<Vec<Statement>>,
    memory_bytes_max: Option<usize>,
    clock: Arc<SystemClock>,
    interrupt: &'a Interrupt,
}

impl Measuring<'_> {
    fn effort(&self) -> Effort {
        if self.arguments.quick { Effort::Quick } else { Effort::Full }
    }

    /// The tables that are named.
    fn tables(&self) -> Result<Option<TableChoice>, Error> {
        self.arguments.tables.as_deref().map(TableChoice::parse).transpose()
    }

    /// Says that an option does not go with a subject before anything takes time.
    fn check_options(&self, store: &Path) -> Result<(), Error> {
        let refused = |message: &str, remedy: &str| {
            Err(Error::new(ErrorCode::Argument, message.to_owned()).with_remedy(remedy.to_owned()))
        };
        let is_relational = |subject: &Path| relational_of(subject).is_some();
        if self.tables()?.is_some()
            && !is_relational(store)
            && !self.arguments.beside.as_deref().is_some_and(is_relational)
        {
            return refused(
                "--tables is for relational databases, whose tables are no graph by themselves",
                "leave it out",
            );
        }
        if !self.arguments.writes {
            return Ok(());
        }
        if is_relational(store) {
            let remedy =
                "leave out --writes, or measure it by the program examples/introspect/sql.py, which copies its tables";
            return refused("writes are measured on a copy, and a relational database is only read", remedy);
        }
        if address_of(store).is_some() || is_definition(store) {
            let whose = if is_definition(store) { "source" } else { "server" };
            let message = format!("writes are measured on a copy, and a {whose}'s data cannot be copied");
            return refused(&message, "leave out --writes, or measure a store");
        }
        Ok(())
    }

    fn report(&self) -> Result<Report, Error> {
        let store = &self.arguments.store;
        self.check_options(store)?;
        // Errors of opening come before anything takes time.
        let subject = self.open(store)?;
        let beside = self.arguments.beside.as_deref().map(|store| self.open(store)).transpose()?;
        let is_elsewhere = program_of(store).is_some() || address_of(store).is_some();
        let file = relational_of(store).map(|text| RelationalDatabase::file_of(text).unwrap_or_default());
        let folder = if is_elsewhere { Path::new(".") } else { folder_of(file.as_deref().unwrap_or(store)) };
        let machine = machine::measure(folder, self.effort(), &*self.clock, self.interrupt)?;
        let mut options = MeasureOptions {
            seed: self.arguments.seed,
            writes: self.arguments.writes,
            ..MeasureOptions::new(self.effort())
        };
        if beside.is_some() {
            options.total_ns_max /= 2;
            options.operation_ns_max /= 2;
        }
        let found = self.measure(subject, &options)?;
        // The other is there to judge what was fitted to reads.
        options.writes = false;
        let other = beside.map(|subject| self.measure(subject, &options)).transpose()?;
        Ok(Report::new(machine, found, other.as_ref()))
    }

    fn open(&self, subject: &Path) -> Result<Box<dyn Subject>, Error> {
        let limit = if self.arguments.quick { QUICK_STATEMENT } else { STATEMENT };
        if let Some(command) = program_of(subject) {
            let limits = Limits { answer: ANSWER, call: limit };
            return Ok(Box::new(Program::start(command, limits, self.interrupt)?));
        }
        if let Some(text) = relational_of(subject) {
            let choice = self.tables()?.unwrap_or_default();
            return Ok(Box::new(SqlSubject::open(text, &choice, self.clock.clone(), limit, self.interrupt)?));
        }
        let config = Config { memory_bytes_max: self.memory_bytes_max, ..Config::default() };
        if is_definition(subject) {
            let place = subject.display().to_string();
            let described = Described::open(subject, config, limit, self.clock.clone(), self.interrupt)?;
            let server = CypherServer::open(described, place, self.clock.clone(), self.interrupt)?;
            return self.with_workload(server.with_limit(limit));
        }
        if let Some(text) = address_of(subject) {
            let address = Address::parse(text, std::env::var(PASSWORD_VARIABLE).ok())?;
            let place = address.to_string();
            let mut session = Graph::connect(address, config, self.interrupt)?.session();
            // Nodes are counted first, and their ids read where they are sparse.
            session.set_timeout(Some(STATEMENT));
            let server = CypherServer::open(Asked(session), place, self.clock.clone(), self.interrupt)?;
            return self.with_workload(server.with_limit(limit));
        }
        let store = KnotworkStore::open(subject, config, self.clock.clone(), limit, self.interrupt)?;
        Ok(match &self.workload {
            Some(workload) => Box::new(store.with_statements(workload.clone())?),
            None => Box::new(store),
        })
    }

    /// A server that is asked the statements given, if there are any.
    fn with_workload<S: Statements + 'static>(&self, server: CypherServer<S>) -> Result<Box<dyn Subject>, Error> {
        Ok(match &self.workload {
            Some(workload) => Box::new(server.with_statements(workload.clone())?),
            None => Box::new(server),
        })
    }

    fn measure(&self, mut subject: Box<dyn Subject>, options: &MeasureOptions) -> Result<Measurements, Error> {
        measure(&mut *subject, options, &*self.clock, self.interrupt)
    }
}
