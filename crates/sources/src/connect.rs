//! From a URL to the database that it names: one arm for each driver, behind its feature.

use std::sync::Arc;

use model::{Error, Result, error, secrets};

use crate::catalog::Inspect;
use crate::connector::Connector;
use crate::definition::GraphDefinition;

/// The schemes of URLs, and the Cargo feature with the driver of each; files need none.
const SCHEMES: &[(&str, &str)] = &[
    ("postgres", "postgres"),
    ("postgresql", "postgres"),
    ("mysql", "mysql"),
    ("mariadb", "mysql"),
    ("sqlite", "sqlite"),
    ("redis", "redis"),
    ("rediss", "redis"),
    ("file", ""),
];

/// The database that a URL names, with what of it is which part of the graph. Nothing need be connected yet.
pub fn connect(url: &str, definition: &GraphDefinition) -> Result<Arc<dyn Connector>> {
    match scheme(url) {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok(Arc::new(crate::postgres::PostgresConnector::open(url, definition)?)),
        // A path without a scheme is a folder with files, or a file.
        "file" | "" => Ok(Arc::new(crate::in_place::InPlaceConnector::open(url, definition)?)),
        #[cfg(feature = "redis")]
        "redis" | "rediss" => Ok(Arc::new(crate::redis::RedisConnector::open(url, definition)?)),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Ok(Arc::new(crate::mysql::MysqlConnector::open(url, definition)?)),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Arc::new(crate::sqlite::SqliteConnector::new(url, Arc::new(definition.clone()))?)),
        other => Err(no_driver(other)),
    }
}

/// A connection to the relational database that a URL names, to look at its tables.
pub fn inspect(url: &str) -> Result<Box<dyn Inspect>> {
    match scheme(url) {
        "redis" | "rediss" | "file" => Err(error!(Unsupported, "only relational databases tell their tables")
            .with_remedy("write a graph definition, as docs/sources.md shows, and pass it as DEFINITION")),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => {
            Ok(Box::new(crate::postgres::PostgresConnector::open(url, &GraphDefinition::default())?))
        }
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Ok(Box::new(crate::mysql::MysqlConnector::open(url, &GraphDefinition::default())?)),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Box::new(crate::sqlite::SqliteConnector::new(url, Arc::default())?)),
        other => Err(no_driver(other)),
    }
}

/// The part of a URL before its colon, in lower case is what it should be; empty if there is none.
pub fn scheme(url: &str) -> &str {
    let is_name = |name: &str| name.len() > 1 && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    url.split_once(':').map_or("", |(name, _)| if is_name(name) { name } else { "" })
}

/// A name as the SQL of the database at a URL has it.
pub fn quoted(url: &str, name: &str) -> String {
    let mark = if matches!(scheme(url), "mysql" | "mariadb") { "`" } else { "\"" };
    format!("{mark}{}{mark}", name.replace(mark, &mark.repeat(2)))
}

/// The URL as it may be shown: without a password.
pub fn without_password(url: &str) -> String {
    let shown = match url.split_once("://") {
        Some((scheme, rest)) => match secrets::login(rest) {
            Some(("", _, place)) => format!("{scheme}://{}", &place[1..]),
            Some((user, _, place)) => format!("{scheme}://{user}{place}"),
            None => url.to_owned(),
        },
        None => url.to_owned(),
    };
    let (address, settings) = shown.split_once('?').unwrap_or((&shown, ""));
    let is_secret = |setting: &&str| secrets::is_secret(setting.split('=').next().unwrap_or(""));
    let settings: Vec<&str> =
        settings.split('&').filter(|setting| !setting.is_empty() && !is_secret(setting)).collect();
    if settings.is_empty() { address.to_owned() } else { format!("{address}?{}", settings.join("&")) }
}

fn no_driver(scheme: &str) -> Error {
    match SCHEMES.iter().find(|(name, _)| *name == scheme) {
        Some((_, feature)) => error!(Unsupported, "this build has no driver for {scheme}")
            .with_remedy(format!("build it with the feature {feature}: cargo build --features {feature}")),
        None => {
            let known: Vec<&str> = SCHEMES.iter().map(|(name, _)| *name).collect();
            let found = if scheme.is_empty() { "no scheme".to_owned() } else { format!("the scheme {scheme}") };
            error!(Argument, "expected a URL of {}, found {found}", known.join(", "))
                .with_remedy("write it as postgres://user@host/database, sqlite:file.db or redis://host")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{connect, scheme, without_password};
    use crate::definition::GraphDefinition;

    #[test]
    fn passwords_are_not_shown() {
        for (url, expected) in [
            (
                "postgres://ann:secret@db.example:5432/shop?sslmode=require",
                "postgres://ann@db.example:5432/shop?sslmode=require",
            ),
            ("redis://:secret@host", "redis://host"),
            ("mysql://host/shop?password=x", "mysql://host/shop"),
            ("sqlite:/data/a@b.db", "sqlite:/data/a@b.db"),
            ("mysql://u:S3c@r3/tPw@127.0.0.1:3306/shop", "mysql://u@127.0.0.1:3306/shop"),
            ("mysql://u:pa?ss@host/shop?sslmode=require", "mysql://u@host/shop?sslmode=require"),
            ("postgres://ann@host/a@b", "postgres://ann@host/a@b"),
        ] {
            assert_eq!(without_password(url), expected);
        }
    }

    #[test]
    fn a_scheme_without_a_driver_names_the_feature() {
        assert_eq!([scheme("redis://h"), scheme("C:\\x"), scheme("plain.json")], ["redis", "", ""]);
        let error = connect("gopher://h", &GraphDefinition::default()).err().expect("nobody drives a gopher");
        assert!(error.message().ends_with("found the scheme gopher"), "{error}");
    }
}
