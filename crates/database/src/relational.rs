//! A relational database that is asked in its own SQL through the driver of an attached one, for reading alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::platform::Clock;
use model::{Result, Value, error};
use sources::connect;
use sources::registry::{Address, Driver, examples, one_of, password_variables};
use sources::sql::Dialect;
use sources::sql_client::SqlClient;
use sources::urls::{path_in, scheme, without_password};

use crate::attach::url_of;

pub use sources::catalog::{Catalog, ColumnKind, ForeignKey, Table, TableColumn, TableName};
pub use sources::sql_client::SqlAnswer;

/// A relational database and a connection to it.
pub struct RelationalDatabase {
    url: String,
    driver: &'static Driver,
    dialect: &'static dyn Dialect,
    client: Box<dyn SqlClient>,
}

/// URLs of relational databases, and where passwords come from, as parts of a sentence of help.
pub fn relational_addresses() -> (String, String) {
    (one_of(examples(Driver::is_relational)), password_variables(Driver::is_relational))
}

impl RelationalDatabase {
    /// True if a text is a URL of a relational database, or a path that ends as its files do and is no folder.
    pub fn is_one(text: &str) -> bool {
        let driver = match scheme(text) {
            "" if Path::new(text).is_dir() => None,
            "" => Path::new(text).extension().and_then(|ending| Driver::of_ending(&ending.to_str()?.to_lowercase())),
            scheme => Driver::of_scheme(scheme),
        };
        driver.is_some_and(Driver::is_relational)
    }

    /// The database of a URL or path. Servers are connected to by the first statement.
    ///
    /// # Errors
    /// `ARGUMENT` for a text that is neither; those of opening a file.
    pub fn open(text: &str) -> Result<RelationalDatabase> {
        let url = url_of(text)?;
        let driver = Driver::of_scheme(scheme(&url)).filter(|driver| driver.is_relational());
        let driver = driver.ok_or_else(|| {
            let (known, _) = relational_addresses();
            error!(Argument, "{} is no relational database", without_password(&url))
                .with_remedy(format!("write {known}"))
        })?;
        let (client, dialect) = connect::client(&url)?;
        Ok(RelationalDatabase { url, driver, dialect, client })
    }

    /// Its URL without a password.
    pub fn name(&self) -> String {
        without_password(&self.url)
    }

    /// The name of the system, of several that one driver speaks to the one that its version tells.
    pub fn system(&self, version: &str) -> &'static str {
        let mut titles = self.driver.title.split(", ");
        let first = titles.next().unwrap_or_default();
        titles.find(|title| version.contains(title)).unwrap_or(first)
    }

    /// The file that it lies in, unless a server keeps it.
    pub fn file(&self) -> Option<PathBuf> {
        file_of(&self.url)
    }

    /// The file that a URL or path names, unless it is that of a server.
    pub fn file_of(text: &str) -> Option<PathBuf> {
        file_of(&url_of(text).ok()?)
    }

    /// Its tables and views, those alone that may be read.
    pub fn catalog(&self) -> Result<Catalog> {
        connect::inspect(&self.url)?.catalog()
    }

    /// A name as its SQL has it.
    pub fn quoted(&self, name: &str) -> String {
        self.dialect.quotes().quoted(name)
    }

    /// A parameter of a statement by its number from 1 on; `None` where parameters have no number, and each is passed where it stands.
    pub fn parameter(&self, number: usize) -> Option<String> {
        self.dialect.parameter(number)
    }

    /// The statement whose one value is its version.
    pub fn version_statement(&self) -> &'static str {
        self.dialect.version()
    }

    /// The statement whose one value is the bytes of a table, if it tells them.
    pub fn bytes_statement(&self, table: &TableName) -> Option<String> {
        self.dialect.table_bytes(table)
    }

    /// Sends a statement and reads its rows to the last.
    pub fn ask(&mut self, text: &str, parameters: &[Value], clock: &Arc<dyn Clock>) -> Result<SqlAnswer> {
        self.client.ask(text, parameters, clock)
    }

    /// Closes the connection, does something, and connects anew.
    pub fn while_closed(&mut self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        self.client = Box::new(Closed);
        work()?;
        (self.client, _) = connect::client(&self.url)?;
        Ok(())
    }
}

fn file_of(url: &str) -> Option<PathBuf> {
    let scheme = scheme(url);
    Driver::of_scheme(scheme).filter(|driver| driver.address != Address::Server)?;
    let path = url.get(scheme.len() + 1..)?.split('?').next()?;
    Some(PathBuf::from(path_in(path.strip_prefix("//").unwrap_or(path))))
}

/// A connection that was closed.
struct Closed;

impl SqlClient for Closed {
    fn ask(&mut self, _text: &str, _parameters: &[Value], _clock: &Arc<dyn Clock>) -> Result<SqlAnswer> {
        Err(error!(Source, "the database was closed").with_remedy("open it again"))
    }
}

#[cfg(test)]
mod tests {
    use super::RelationalDatabase;

    #[test]
    fn texts_that_name_relational_databases() {
        for (text, expected) in [
            ("postgresql://me@h/d", true),
            ("mysql://me@h/d", true),
            ("sqlite:graph.db", true),
            ("graph.SQLITE", true),
            ("graph.duckdb", true),
            ("graph.knot", false),
            ("bolt://h", false),
            ("redis://h", false),
            ("shop.json", false),
            ("", false),
        ] {
            assert_eq!(RelationalDatabase::is_one(text), expected, "{text}");
        }
    }
}
