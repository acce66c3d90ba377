//! The verbs, one file each.

use std::path::Path;
use std::sync::Arc;

use client::address::PASSWORD_VARIABLE;
use client::{Address, Graph};
use database::trace::{Recording, Trace, TraceEvent};
use database::{Access, Config, Database, Error, ErrorCode, Interrupt, SlowLog};

use crate::arguments::{self, Command, OpeningArguments};
use crate::failure::{Failure, Outcome};
use crate::signals;

mod advise;
pub(crate) mod backup;
mod bench;
mod check;
mod compact;
mod demo;
mod export;
mod generate;
mod import;
mod info;
mod introspect;
pub(crate) mod query;
mod recover;
mod replay;
mod serve;
mod source;

/// Runs a command.
pub(crate) fn run(command: Command) -> Outcome<()> {
    match command {
        Command::Query(arguments) => query::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Compact(arguments) => compact::run(&arguments),
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Restore(arguments) => backup::restore(&arguments),
        Command::Recover(arguments) => recover::run(&arguments),
        Command::Source(command) => source::run(&command),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Introspect(arguments) => introspect::run(&arguments),
        Command::Advise(arguments) => advise::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Bench(command) => bench::run(&command),
        Command::Demo(arguments) => demo::run(&arguments),
    }
}

/// A store that is not there is made only where the name says that a store is meant, and no command that is mistyped.
pub(crate) fn check_new_store(path: &Path) -> Outcome<()> {
    let is_store = path.extension().is_some_and(|extension| extension == "knot");
    if is_store || database::is_ring(path) || path.exists() {
        return Ok(());
    }
    let name = path.display().to_string();
    let guess =
        arguments::command_like(&name).map_or_else(String::new, |command| format!(" (did you mean {command}?)"));
    Err(Failure::Usage(format!(
        "there is no command and no store '{name}'{guess}; the name of a new store ends in .knot"
    )))
}

pub(crate) use info::{full_text as info_text, to_text as schema_text};

/// The variable of the environment with the memory limit of databases that are opened without one.
const MEMORY_LIMIT: &str = "KNOTWORK_MEMORY_LIMIT";

/// Opens a store as the defaults and the environment say.
fn open(path: &Path, access: Access) -> Outcome<Database> {
    let memory_bytes_max = memory_limit(None)?;
    let database = open_with(path, Config { access, memory_bytes_max, ..Config::default() })?;
    tell_torn(&database);
    Ok(database)
}

/// Says what a crash left behind the end of the log, or what was damaged there.
fn tell_torn(database: &Database) {
    for torn in database.torn_logs() {
        tell!("warning: {torn}; see docs/backup-and-recovery.md");
    }
}

/// Opens a store to serve it, as the command line says. Clients have Spark compute only if a flag names it: its memory is beyond
/// the limits of the database.
fn open_to_serve(path: &Path, opening: &OpeningArguments) -> Outcome<Database> {
    let spark = opening.spark.are_given().then(|| opening.spark.settings());
    let config = Config { spark, ..configuration(opening, Access::ReadWrite)? };
    let database = open_with(path, config).map_err(|failure| with_a_way_to_read(path, failure))?;
    tell_torn(&database);
    signals::cancellable(|interrupt| source::attach(&database, &opening.attach, interrupt))?;
    Ok(database)
}

/// True if the graph is on a server.
pub(crate) fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(Address::is_one)
}

/// The graph of a store or a server, as the command line says, to run statements. A store that another process has open is written
/// through that.
pub(crate) fn reach(path: &Path, opening: &OpeningArguments, access: Access) -> Outcome<Graph> {
    signals::cancellable(|interrupt| reach_until(path, opening, access, interrupt))
}

fn reach_until(path: &Path, opening: &OpeningArguments, access: Access, interrupt: &Interrupt) -> Outcome<Graph> {
    let config = configuration(opening, access)?;
    let graph = match path.to_str().filter(|text| Address::is_one(text)) {
        Some(_) if opening.read_only => {
            let message = "-r opens a store to read, and a server has its own open".to_owned();
            return Err(Failure::Usage(message));
        }
        Some(text) => Graph::connect(Address::parse(text, std::env::var(PASSWORD_VARIABLE).ok())?, config, interrupt)?,
        None => Graph::open(path, config, interrupt).map_err(|failure| with_a_way_to_read(path, failure))?,
    };
    match graph.database() {
        Some(database) => tell_torn(&database),
        None if opening.slow_log.is_some() => {
            tell!("warning: --slow-log is for the process that has the store open, and that is {}", graph.place());
        }
        None => {}
    }
    if opening.record.is_some() && graph.database().is_none() {
        tell!("warning: --record is for the process that has the store open, and that is {}", graph.place());
    }
    if !opening.attach.is_empty() {
        source::attach(&graph.database_to("--attach")?, &opening.attach, interrupt)?;
    }
    Ok(graph)
}

/// The configuration that the command line says.
fn configuration(opening: &OpeningArguments, access: Access) -> Outcome<Config> {
    let slow_log = opening.slow_log.as_ref().map(|file| SlowLog::open(file, opening.slow_time)).transpose()?;
    let recording = opening.record.as_deref().map(Recording::open).transpose()?;
    Ok(Config {
        access: if opening.read_only { Access::ReadOnly } else { access },
        durability: opening.durability,
        isolation: opening.isolation,
        memory_bytes_max: memory_limit(opening.memory_limit.as_deref())?,
        query_memory_max: opening.query_memory.as_deref().map(import::bytes).transpose()?,
        timeout: opening.timeout,
        priority: opening.priority,
        slow_log: slow_log.map(|log| Arc::new(log.telling(tell_loss))),
        recording: recording.map(|recording| Arc::new(recording.telling(tell_loss))),
        spark: Some(opening.spark.settings()),
        merge_bytes_per_second: opening.merge_rate.as_deref().map_or(Ok(0), import::bytes)? as u64,
        ..Config::default()
    })
}

/// Says that lines of a log or a trace are lost.
fn tell_loss(message: &str) {
    tell!("{message}");
}

/// The events of a trace. At their end it says what is missing of them.
fn events_of(trace: &Path) -> Result<impl Iterator<Item = Result<TraceEvent, Error>>, Error> {
    let mut trace = Trace::open(trace)?;
    Ok(std::iter::from_fn(move || {
        let event = trace.next();
        if event.is_none() {
            trace.gaps().iter().for_each(|gap| tell!("note: {gap}"));
        }
        event
    }))
}

/// Opens a store, which may have much to repeat; Ctrl-C ends that.
fn open_with(path: &Path, config: Config) -> Result<Database, Error> {
    signals::cancellable(|interrupt| Database::open_until(path, config, interrupt))
}

/// An error of opening a store to write it: where the store can be read it says how.
fn with_a_way_to_read(path: &Path, failure: Error) -> Error {
    let reading = || open_with(path, Config { access: Access::ReadOnly, ..Config::default() });
    match failure.code() {
        ErrorCode::Io if reading().is_ok() => {
            failure.with_remedy("the store can be read: pass -r, or let this user write its directory")
        }
        _ => failure,
    }
}

/// The memory limit given here, or by the environment.
fn memory_limit(given: Option<&str>) -> Outcome<Option<usize>> {
    let by_environment = std::env::var(MEMORY_LIMIT).ok().filter(|limit| !limit.is_empty());
    given.or(by_environment.as_deref()).map(import::bytes).transpose()
}
