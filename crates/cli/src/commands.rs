//! The verbs, one file each.

use std::path::Path;

use database::{Access, Config, Database};

use crate::arguments::{Arguments, Command};
use crate::failure::{Failure, Outcome};
use crate::{format, shell, values};

pub(crate) mod backup;
mod check;
mod compact;
mod demo;
mod export;
mod import;
mod info;
pub(crate) mod query;
mod recover;

/// Runs the command that was asked for.
pub(crate) fn run(arguments: Arguments) -> Outcome<()> {
    match arguments.command {
        Some(Command::Query(arguments)) => query::run(&arguments),
        Some(Command::Import(arguments)) => import::run(&arguments),
        Some(Command::Export(arguments)) => export::run(&arguments),
        Some(Command::Info(arguments)) => info::run(&arguments),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Compact(arguments)) => compact::run(&arguments),
        Some(Command::Backup(arguments)) => backup::run(&arguments),
        Some(Command::Restore(arguments)) => backup::restore(&arguments),
        Some(Command::Recover(arguments)) => recover::run(&arguments),
        Some(Command::Demo(arguments)) => demo::run(&arguments),
        None => {
            let shell = arguments.shell;
            let Some(store) = &shell.store else {
                return Err(Failure::Usage("expected a store or a command".into()));
            };
            let access = if shell.read_only { Access::ReadOnly } else { Access::ReadWrite };
            let database = {
                let (durability, isolation) = (shell.durability, shell.isolation);
                let config = Config { access, durability, isolation, ..Config::default() };
                open_as(store, config, shell.memory_limit.as_deref())?
            };
            let parameters = values::parameters(&shell.parameters)?;
            match &shell.query {
                Some(text) => {
                    let format = shell.format.unwrap_or_else(format::default_format);
                    query::run_text(&mut database.session(), text, &parameters, format, query::Stats::Show)
                }
                None => shell::run(&database, parameters, shell.format),
            }
        }
    }
}

pub(crate) use info::{full_text as info_text, to_text as schema_text};

/// The variable of the environment with the memory limit of databases that are opened without one.
const MEMORY_LIMIT: &str = "KNOTWORK_MEMORY_LIMIT";

/// Opens a store.
fn open(path: &Path, access: Access) -> Outcome<Database> {
    open_as(path, Config { access, ..Config::default() }, None)
}

/// Opens a store so, within a memory limit, if one is given here or by the environment.
fn open_as(path: &Path, config: Config, limit: Option<&str>) -> Outcome<Database> {
    let by_environment = std::env::var(MEMORY_LIMIT).ok().filter(|limit| !limit.is_empty());
    let limit = limit.or(by_environment.as_deref()).map(import::bytes).transpose()?;
    Ok(Database::open(path, Config { memory_bytes_max: limit, ..config })?)
}
