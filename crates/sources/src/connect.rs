//! From a URL to the database that it names.

use std::sync::Arc;

use model::{Error, Result, error};

use crate::catalog::Inspect;
use crate::connector::{Code, Connector};
use crate::definition::GraphDefinition;
use crate::registry::{Driver, examples, one_of, schemes};
use crate::sql::{Dialect, dialect};
use crate::sql_client::SqlClient;
use crate::urls::{check_password, scheme};

/// The database that a URL names, with what of it is which part of the graph. Nothing need be connected yet.
pub fn connect(url: &str, definition: &GraphDefinition) -> Result<Arc<dyn Connector>> {
    (code(driver(url)?)?.open)(url, definition)
}

/// A connection to the relational database that a URL names, to look at its tables.
pub fn inspect(url: &str) -> Result<Box<dyn Inspect>> {
    let driver = driver(url)?;
    if !driver.is_relational() {
        return Err(error!(Unsupported, "only relational databases tell their tables")
            .with_remedy("write a graph definition, as docs/sources.md shows, and pass it as DEFINITION"));
    }
    let inspect = code(driver)?.inspect.ok_or_else(|| error!(Unsupported, "{} tells no tables", driver.title))?;
    inspect(url)
}

/// A connection to the relational database that a URL names, to ask it in its SQL, and that SQL.
pub fn client(url: &str) -> Result<(Box<dyn SqlClient>, &'static dyn Dialect)> {
    let driver = driver(url)?;
    let dialect = match driver.engines[0] {
        "postgresql" => dialect::POSTGRES,
        "mysql" => dialect::MYSQL,
        "sqlite" => dialect::SQLITE,
        "duckdb" => dialect::DUCKDB,
        _ => return Err(not_relational(driver)),
    };
    let open = code(driver)?.client.ok_or_else(|| not_relational(driver))?;
    Ok((open(url)?, dialect))
}

fn not_relational(driver: &Driver) -> Error {
    let examples = one_of(examples(Driver::is_relational));
    error!(Unsupported, "{} is asked in no SQL", driver.title)
        .with_remedy(format!("give a relational database: {examples}"))
}

fn driver(url: &str) -> Result<&'static Driver> {
    let scheme = scheme(url);
    let driver = Driver::of_scheme(scheme).ok_or_else(|| unknown_scheme(scheme))?;
    check_password(url)?;
    Ok(driver)
}

/// The code of a driver; fails in a build without its feature.
fn code(driver: &Driver) -> Result<Code> {
    match driver.engines[0] {
        #[cfg(feature = "postgres")]
        "postgresql" => Ok(crate::postgres::CODE),
        #[cfg(feature = "mysql")]
        "mysql" => Ok(crate::mysql::CODE),
        #[cfg(feature = "duckdb")]
        "duckdb" => Ok(crate::duckdb::CODE),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(crate::sqlite::CODE),
        #[cfg(feature = "redis")]
        "redis" => Ok(crate::redis::CODE),
        "file" => Ok(crate::in_place::CODE),
        _ => {
            let feature = driver.feature.unwrap_or_default();
            Err(error!(Unsupported, "this build has no driver for {}", driver.title)
                .with_remedy(format!("build it with the feature {feature}: cargo build --features {feature}")))
        }
    }
}

fn unknown_scheme(scheme: &str) -> Error {
    error!(Argument, "expected a URL of {}, found the scheme {scheme}", schemes().join(", "))
        .with_remedy(format!("write it as {}", one_of(examples(|_| true))))
}

#[cfg(test)]
mod tests {
    use super::connect;
    use crate::definition::GraphDefinition;

    #[test]
    fn a_scheme_without_a_driver_is_named() {
        let error = connect("gopher://h", &GraphDefinition::default()).err().expect("nobody drives a gopher");
        assert!(error.message().ends_with("found the scheme gopher"), "{error}");
    }
}
