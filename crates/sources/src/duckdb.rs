//! DuckDB files as sources.
//!
//! - [`library`]: the library, loaded when it is needed. [`api`]: what it keeps, each with an owner.
//! - [`column_types`]: types, and our values as parameters. [`cells`]: its values as ours.
//! - [`session`]: a connection. [`inspect`]: the catalog.
//!
//! A file is opened for reading only, so that other programs may read it meanwhile, unless the URL says `?mode=rw`. One
//! transaction answers all questions of a view, so that they are of one moment.

use std::path::PathBuf;
use std::sync::Arc;

use model::{Error, ErrorCode, Result, error};

use crate::catalog::TableColumn;
use crate::connector::Code;
use crate::definition::GraphDefinition;
use crate::relational::embedded::client::EmbeddedClient;
use crate::relational::embedded::worker::Serve;
use crate::relational::embedded::{EmbeddedConnector, Engine};
use crate::sql::{ColumnFacts, Dialect, dialect};
use crate::urls::path_in;

mod api;
mod cells;
mod column_types;
mod inspect;
mod library;
mod session;

pub use library::set_library;

use api::{Database, Settings};
use session::{DuckdbSession, told};

/// The code of the driver.
pub(crate) const CODE: Code = Code {
    open: |url, definition| Ok(Arc::new(connector(url, definition)?)),
    inspect: Some(|url| Ok(Box::new(connector(url, &GraphDefinition::default())?))),
    client: Some(|url| Ok(Box::new(EmbeddedClient::open(parse(url)?)?))),
};

/// Settings of DuckDB that a URL may have. Others would let whoever may attach a file reach files beside it.
const SETTINGS: &[&str] = &["memory_limit", "threads"];

/// A source from a URL: `duckdb:path`, with `?mode=rw` to write, and settings of DuckDB. Opens nothing yet.
fn connector(url: &str, definition: &GraphDefinition) -> Result<EmbeddedConnector<Duckdb>> {
    let engine = parse(url)?;
    Ok(EmbeddedConnector::new(engine, definition))
}

/// Executes statements of SQL in a file that a URL names, which need not exist: to make or change what is then attached. What
/// this program has attached with the same settings sees them.
pub fn execute(url: &str, statements: &str) -> Result<()> {
    let engine = parse(url)?;
    let wrong = |failure: String| told(&engine.name, &failure, "");
    let database = Database::open(&engine.path, &engine.settings)?.map_err(wrong)?;
    let connection = database.connect().map_err(wrong)?;
    connection.run(statements).map_err(wrong)
}

/// A database file, and the way in which it is opened.
#[derive(Clone, Debug, PartialEq)]
struct Duckdb {
    name: String,
    path: PathBuf,
    is_read_only: bool,
    settings: Settings,
}

impl Engine for Duckdb {
    const THREAD: &'static str = "knotwork-duckdb";
    const BEGIN: &'static str = "BEGIN TRANSACTION";
    const BEGIN_WRITING: &'static str = "BEGIN TRANSACTION";
    // A file is opened so unless its URL says otherwise.
    const READ_ONLY: Option<&'static str> = None;
    const DIALECT: &'static dyn Dialect = dialect::DUCKDB;
    // It works in this process: there are no round trips to be spared.
    const FOLLOWS_EDGES: bool = false;
    const HAS_SAVEPOINTS: bool = false;

    fn name(&self) -> &str {
        &self.name
    }

    fn connect(&self, serve: Serve<'_>) -> Result<()> {
        let wrong = |failure: String| told(&self.name, &failure, "");
        if !self.path.exists() {
            return Err(wrong("IO Error: the file does not exist".to_owned()));
        }
        let database = Database::open(&self.path, &self.settings)?.map_err(wrong)?;
        let connection = Arc::new(database.connect().map_err(wrong)?);
        let interrupted = connection.clone();
        serve(&mut DuckdbSession::new(&connection, &self.name), Box::new(move || interrupted.interrupt()));
        Ok(())
    }

    fn facts(column: &TableColumn) -> ColumnFacts {
        column_types::facts(column)
    }

    fn unwritable(&self) -> Option<Error> {
        let refused = || {
            error!(ReadOnly, "{}: opened for reading only", self.name).with_remedy("attach it with ?mode=rw in its URL")
        };
        self.is_read_only.then(refused)
    }

    fn is_conflict(failure: &Error) -> bool {
        failure.code() == ErrorCode::Conflict
    }
}

/// Reads `duckdb:path?settings`; `duckdb://path` is taken too.
fn parse(url: &str) -> Result<Duckdb> {
    let bad = |what: &str| {
        error!(Argument, "{url}: {what}")
            .with_remedy("write it as duckdb:shop.duckdb?mode=rw&memory_limit=1GB&threads=2")
    };
    let rest = url.strip_prefix("duckdb:").unwrap_or(url);
    let (path, given) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(bad("expected a path after duckdb:"));
    }
    let mut settings = Settings::new();
    // A question fetches nothing from elsewhere, and a query of a definition reads no other file.
    settings.insert("autoinstall_known_extensions".into(), "false".into());
    settings.insert("enable_external_access".into(), "false".into());
    let mut is_read_only = true;
    for setting in given.split('&').filter(|setting| !setting.is_empty()) {
        match setting.split_once('=') {
            Some(("mode", "ro")) => is_read_only = true,
            Some(("mode", "rw")) => is_read_only = false,
            Some(("mode", _)) => return Err(bad("the mode is ro or rw")),
            Some((name, value)) if SETTINGS.contains(&name) => {
                settings.insert(name.to_owned(), value.to_owned());
            }
            _ => {
                let known = SETTINGS.join(", ");
                return Err(bad(&format!("there is no setting `{setting}`, only mode, {known}")));
            }
        }
    }
    let mode = if is_read_only { "READ_ONLY" } else { "READ_WRITE" };
    settings.insert("access_mode".into(), mode.into());
    Ok(Duckdb { name: format!("duckdb:{path}"), path: PathBuf::from(path_in(path)), is_read_only, settings })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn urls_name_a_file() {
        for (url, path, is_read_only, settings) in [
            ("duckdb:a/b.duckdb", "a/b.duckdb", true, 3),
            ("duckdb:///a/b.duckdb?mode=rw", "/a/b.duckdb", false, 3),
            ("duckdb:b.db?threads=2&mode=ro", "b.db", true, 4),
        ] {
            let engine = parse(url).unwrap();
            assert_eq!(
                (engine.path.to_str().unwrap(), engine.is_read_only, engine.settings.len()),
                (path, is_read_only, settings),
                "{url}"
            );
        }
        for url in ["duckdb:", "duckdb:a?mode=x", "duckdb:a?b", "duckdb:a?enable_external_access=true"] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
