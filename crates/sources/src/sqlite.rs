//! SQLite databases as sources.
//!
//! - [`session`]: a connection. [`cells`]: cells as values by the declared types of columns. [`inspect`]: the catalog.
//!
//! One read transaction answers all questions of a view, so that they are of one moment. Where the file is not in WAL mode a
//! writer waits until readers have ended, up to its time-out.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::{Error, ErrorCode, Result, error};

use crate::catalog::TableColumn;
use crate::connector::Code;
use crate::definition::GraphDefinition;
use crate::relational::embedded::client::EmbeddedClient;
use crate::relational::embedded::worker::Serve;
use crate::relational::embedded::{EmbeddedConnector, Engine};
use crate::sql::{ColumnFacts, Dialect, dialect};
use crate::urls::path_in;

mod cells;
mod inspect;
mod session;

use session::SqliteSession;

/// Time that a locked file is waited for, if the URL does not state one.
const WAIT: Duration = Duration::from_secs(5);

/// The code of the driver.
pub(crate) const CODE: Code = Code {
    open: |url, definition| Ok(Arc::new(connector(url, definition)?)),
    inspect: Some(|url| Ok(Box::new(connector(url, &GraphDefinition::default())?))),
    client: Some(|url| Ok(Box::new(EmbeddedClient::open(engine(url)?)?))),
};

/// A source from a URL: `sqlite:path`, with `?mode=ro` to read only and `?busy_timeout=ms`. Opens nothing yet.
fn connector(url: &str, definition: &GraphDefinition) -> Result<EmbeddedConnector<Sqlite>> {
    Ok(EmbeddedConnector::new(engine(url)?, definition))
}

fn engine(url: &str) -> Result<Sqlite> {
    let file = parse(url)?;
    let name = format!("sqlite:{}", file.path.display());
    Ok(Sqlite { name, file })
}

/// A database file.
struct Sqlite {
    name: String,
    file: File,
}

/// The file, and the way in which it is opened.
#[derive(Clone, Debug, PartialEq)]
struct File {
    path: PathBuf,
    is_read_only: bool,
    wait: Duration,
}

impl Engine for Sqlite {
    const THREAD: &'static str = "knotwork-sqlite";
    /// Begins to read; a change locks the file.
    const BEGIN: &'static str = "BEGIN";
    /// Locks the file for others who write, waiting for it.
    const BEGIN_WRITING: &'static str = "BEGIN IMMEDIATE";
    const READ_ONLY: Option<&'static str> = Some("PRAGMA query_only = true");
    const DIALECT: &'static dyn Dialect = dialect::SQLITE;
    const FOLLOWS_EDGES: bool = true;
    const HAS_SAVEPOINTS: bool = true;

    fn name(&self) -> &str {
        &self.name
    }

    fn connect(&self, serve: Serve<'_>) -> Result<()> {
        let connection = session::open(&self.name, &self.file)?;
        let handle = connection.get_interrupt_handle();
        serve(&mut SqliteSession::new(&connection, &self.name), Box::new(move || handle.interrupt()));
        Ok(())
    }

    fn facts(column: &TableColumn) -> ColumnFacts {
        cells::facts(column)
    }

    fn unwritable(&self) -> Option<Error> {
        let refused = || error!(ReadOnly, "{}: opened for reading only", self.name).with_remedy("leave ?mode=ro out");
        self.file.is_read_only.then(refused)
    }

    fn is_conflict(failure: &Error) -> bool {
        failure.code() == ErrorCode::Source && failure.message().contains("database is locked")
    }
}

/// The error of a URL that cannot be read.
fn bad(url: &str, what: &str) -> Error {
    error!(Argument, "{url}: {what}").with_remedy("write it as sqlite:shop.db?mode=ro&busy_timeout=5000")
}

/// Reads `sqlite:path?settings`; `sqlite://path` is taken too.
fn parse(url: &str) -> Result<File> {
    let rest = url.strip_prefix("sqlite:").or_else(|| url.strip_prefix("sqlite3:")).unwrap_or(url);
    let (path, settings) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(bad(url, "expected a path after sqlite:"));
    }
    let mut file = File { path: PathBuf::from(path_in(path)), is_read_only: false, wait: WAIT };
    for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
        match setting.split_once('=') {
            Some(("mode", "ro")) => file.is_read_only = true,
            Some(("mode", "rw")) => file.is_read_only = false,
            Some(("busy_timeout", number)) => {
                let number = number.parse().map_err(|_| bad(url, "busy_timeout is a number of milliseconds"))?;
                file.wait = Duration::from_millis(number);
            }
            _ => {
                return Err(bad(url, &format!("there is no setting `{setting}`, only mode and busy_timeout")));
            }
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{WAIT, parse};

    #[test]
    fn urls_name_a_file() {
        for (url, path, is_read_only, wait) in [
            ("sqlite:a/b.db", "a/b.db", false, WAIT),
            ("sqlite:///a/b.db?mode=ro", "/a/b.db", true, WAIT),
            ("sqlite:b.db?busy_timeout=20&mode=rw", "b.db", false, Duration::from_millis(20)),
        ] {
            let file = parse(url).unwrap();
            assert_eq!(
                (file.path.to_str().unwrap(), file.is_read_only, file.wait),
                (path, is_read_only, wait),
                "{url}"
            );
        }
        for url in ["sqlite:", "sqlite:a?mode=x", "sqlite:a?busy_timeout=x", "sqlite:a?b"] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
