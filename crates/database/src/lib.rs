//! The façade: databases, sessions, transactions, import, export; wires functions and procedures.
//!
//! Modules in reading order:
//! - [`registry`]: the functions and procedures that queries can call.
//! - [`plan_cache`]: compiled statements, kept until the store has changed enough to plan anew.
//! - [`outlook`]: what is known of a statement before it runs.
//! - [`phases`]: the time of a statement by phases.
//! - `statements`: statistics of the statements that were run, for `SHOW STATEMENTS`.
//! - `costs`: the work of a plan in units, and what each costs. [`estimate`]: the time that a plan should take.
//! - [`plan_report`], [`statistics`]: the output of `EXPLAIN` and `PROFILE`, and the planner's statistics as rows.
//! - `attempts`: transactions that are tried again after a conflict.
//! - [`line_log`]: a file of lines of JSON.
//! - [`slow_log`]: statements that took long, in a file.
//! - [`trace`]: statements with their parameters and times, in a file, to be run again.
//! - [`settings`]: how a database is opened and how queries run.
//! - `spark`: algorithms that Spark computes.
//! - [`database`]: a store that is open. `engine`: its files, or a graph on a ring of machines.
//! - `compiling`: texts to statements.
//! - `durations`: times for people.
//! - `effect`: whether a text reads or writes, before it is compiled.
//! - [`session`]: statements and transactions of one user.
//! - `stopping`: a clock that ends statements of another session.
//! - `store_copy`: a copy of a store for a work that is to leave it as it is.
//! - [`advice`]: indexes, constraints, sort keys and rewrites by which statements would be faster. [`advising`]: statements that are run for that.
//! - [`result`]: what a statement gives: columns in batches, with the nodes and edges that stand in them.
//! - [`import`]: files of rows into a store.
//! - `staged_import`: files into a graph on a ring of machines, by way of a store beside it.
//! - [`load`]: tables in memory into a store.
//! - [`export`]: a store into files of rows.
//! - `copy`: `COPY`, which uses both.
//! - `files`: the files that the statements of a session may name.
//! - `attachments`: the sources that are attached.
//! - `attach`: databases that are attached, and copied.
//! - [`relational`]: relational databases asked in their own SQL.
//! - [`rendering`]: single values as text and as JSON.
//! - [`administration`]: databases, users and roles of a server.
//! - [`activity`]: the sessions that are open and what runs in them.
//! - `shape`: the labels and types of a graph with their properties, from a sample.
//! - `picture`: nodes and relationships that stand for labels and types.
//! - `use_clause`: `USE` in front of a statement.
//! - [`tools`]: procedures that tools made for Neo4j call, and those behind `SHOW DATABASES` and the like.
//! - [`array_graph`]: algorithms on edges that come from elsewhere, without a store.

pub mod activity;
pub mod administration;
pub mod advice;
pub mod advising;
pub mod array_graph;
mod attach;
mod attachments;
mod attempts;
mod compiling;
mod copy;
mod costs;
#[allow(clippy::module_inception, reason = "the crate is named for its main part")]
pub mod database;
mod durations;
mod effect;
mod engine;
pub mod estimate;
pub mod export;
mod files;
pub mod import;
pub mod line_log;
pub mod load;
pub mod outlook;
pub mod phases;
mod picture;
pub mod plan_cache;
pub mod plan_report;
pub mod registry;
pub mod relational;
pub mod rendering;
pub mod result;
pub mod session;
pub mod settings;
mod shape;
pub mod slow_log;
mod spark;
#[cfg(feature = "cql")]
mod staged_import;
mod statements;
pub mod statistics;
mod stopping;
mod store_copy;
pub mod tools;
pub mod trace;
mod use_clause;

pub use activity::{METADATA_BYTES_MAX, Neighbors, Site};
pub use administration::{Client, DATABASE_NAME};
pub use analytics::{EdgeArrays, EdgePasses};
pub use array_graph::ArrayGraph;
pub use attach::{
    AttachOptions, Finding, InferredDefinition, Preload, PreloadProgress, PreloadSummary, Severity, check_definition,
    environment_variable, infer_definition, inferable_sources,
};
pub use attachments::Attachment;
pub use database::{Database, StoreInfo};
pub use durations::{duration_text, number_text};
pub use effect::Effect;
pub use engine::is_ring;
pub use estimate::{Calibration, TimeEstimate};
pub use exec::profile::Counters;
pub use exec::{Quota, ReplanRule};
pub use files::FileAccess;
pub use model::memory::parse_bytes;
pub use model::meter::{Wait, Waits};
pub use model::{Error, ErrorCode, Interrupt, IsolationLevel, Priority, Result, Value};
pub use outlook::{Action, Outlook};
pub use phases::{Phase, Phases};
pub use plan_report::{Part, PartKind, PlanLine, PlanReport, ProfileAdvice, Waterfall};
pub use result::{Entities, QueryResult, ResultBatch, StatementSummary};
pub use session::{ResultSink, Session};
pub use settings::{Access, Config, SparkSettings};
pub use slow_log::SlowLog;
#[cfg(feature = "cql")]
pub use staged_import::Staging;
pub use stopping::StoppingClock;
pub use storage::{Durability, StoreStats, TornLog};
pub use store_copy::StoreCopy;
pub use use_clause::{UsedDatabase, used_database};

/// The parameters of a query, by name without `$`.
pub type Parameters = model::Map<std::sync::Arc<str>, Value>;

/// The name of the socket, in the directory of a store, by which other processes reach the one that writes it.
pub use storage::format::SOCKET_NAME;

/// Something wrong that [`check`] found.
pub use storage::check::Problem;

/// Verifies every checksum and cross-reference of the store in a directory; an empty list means that all is well.
pub fn check(path: &std::path::Path, interrupt: &Interrupt) -> Result<Vec<Problem>> {
    engine::need_files(path, "a check")?;
    storage::check::check(&storage::os::platform(), path, interrupt)
}

/// Torn ends of the logs of a store, as they stand, and the files in which earlier ones were kept, with their lengths.
pub type TornEnds = (Vec<TornLog>, Vec<(std::path::PathBuf, u64)>);

/// The bytes behind the sound parts of the logs of the store in a directory; see [`storage::torn_logs`].
///
/// # Errors
/// If the store cannot be read, or a log is damaged where it was durable.
pub fn torn_logs(path: &std::path::Path) -> Result<TornEnds> {
    let platform = storage::os::platform();
    Ok((storage::torn_logs(&platform, path)?, storage::kept_files(&*platform.disk, path)?))
}

/// The result of a salvage, and what was lost.
pub use storage::recover::{Loss, Recovery};

/// Copies all that can be read of a damaged store into a new one; see [`storage::recover`].
pub fn recover(damaged: &std::path::Path, new: &std::path::Path, interrupt: &Interrupt) -> Result<Recovery> {
    engine::need_files(damaged, "a salvage")?;
    storage::recover::recover(&storage::os::platform(), damaged, new, interrupt)
}

/// Summary of a backup or a restore.
pub use storage::backup::CopySummary;

/// Copies the store in a directory into a new one, also while another process uses it; see [`storage::backup`].
pub fn backup(
    store: &std::path::Path,
    destination: &std::path::Path,
    base: Option<&std::path::Path>,
    interrupt: &Interrupt,
) -> Result<CopySummary> {
    engine::need_files(store, "a backup")?;
    storage::backup::backup(&storage::os::platform(), store, destination, base, interrupt)
}

/// Copies a backup into a new directory, which then is a store; every byte is verified.
pub fn restore(backup: &std::path::Path, store: &std::path::Path, interrupt: &Interrupt) -> Result<CopySummary> {
    storage::backup::restore(&storage::os::platform(), backup, store, interrupt)
}

/// The statements of a text: what stands between semicolons, outside of strings, names and comments.
pub fn split_statements(text: &str) -> Vec<&str> {
    let spans = cypher::script::split_statements(text);
    spans.into_iter().map(|span| &text[span.start as usize..span.end as usize]).collect()
}

/// True if a string ends within a statement, so that more lines should follow.
pub fn is_unfinished(text: &str) -> bool {
    cypher::script::is_unfinished(text)
}

/// A statement that begins or ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionVerb {
    /// `BEGIN`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`.
    Rollback,
}

/// The longest text that is looked at as a statement of a transaction.
const VERB_BYTES_MAX: usize = 256;

/// Effect of a text on a transaction, if it is a statement of one, as [`Session::run`] takes it.
pub fn transaction_verb(text: &str) -> Option<TransactionVerb> {
    if text.len() > VERB_BYTES_MAX {
        return None;
    }
    match cypher::parser::parse(text).ok()?.kind {
        cypher::ast::StatementKind::Begin => Some(TransactionVerb::Begin),
        cypher::ast::StatementKind::Commit => Some(TransactionVerb::Commit),
        cypher::ast::StatementKind::Rollback => Some(TransactionVerb::Rollback),
        _ => None,
    }
}

/// The first whole number in a text of JSON that 64 bits cannot hold, which a parser of JSON would round.
pub fn wide_integer(text: &str) -> Option<&str> {
    sources::files::json_value::wide_integer(text.as_bytes())
}

/// Names a file that has the library of DuckDB in it, which is loaded when a file of DuckDB is attached: the module of DuckDB's
/// package for Python is one.
#[cfg(feature = "duckdb")]
pub fn set_duckdb_library(file: &std::path::Path) {
    sources::duckdb::set_library(file);
}
