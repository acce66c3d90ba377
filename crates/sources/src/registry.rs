//! The drivers, a row for each: what definitions, connection strings, help and documents know of a kind of source.
//!
//! Adding a source is a module, a row here, and its code in [`crate::connect`].

/// A driver of sources.
#[derive(Debug)]
pub struct Driver {
    /// Its name in documents.
    pub title: &'static str,
    /// The Cargo feature that brings it; `None` for what is always there.
    pub feature: Option<&'static str>,
    /// Schemes of its URLs; the first is that of URLs made of a connection string.
    pub schemes: &'static [&'static str],
    /// Its names as the `engine` of a definition and as `DBTYPE`; the first is the scheme of URLs made of a definition.
    pub engines: &'static [&'static str],
    /// A URL, as messages and documents show it.
    pub example: &'static str,
    /// The first part of a URL after its scheme.
    pub address: Address,
    /// The kind of its rows.
    pub kind: Kind,
    /// The variable of the environment from which it takes a password that the URL lacks.
    pub password: Option<&'static str>,
}

/// The place of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// A server, `//user@host:port/database`.
    Server,
    /// A file or folder. A path with one of these endings is taken for a URL.
    Path(&'static [&'static str]),
}

/// The form in which a source keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tables, asked in SQL.
    Tables(Quotes),
    /// Keys with values.
    KeyValues,
    /// Files of rows.
    Files,
}

/// Quotes of a dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotes {
    /// The sign around names.
    pub name: char,
    /// True if a backslash in a string hides the sign after it, and strings may stand in double quotes.
    pub has_backslashes: bool,
    /// True if names may stand in backquotes.
    pub has_backquotes: bool,
    /// True if strings may stand between dollar signs.
    pub has_dollars: bool,
}

/// Quotes of PostgreSQL.
pub(crate) const POSTGRES_QUOTES: Quotes =
    Quotes { name: '"', has_backslashes: false, has_backquotes: false, has_dollars: true };
/// Quotes of MySQL and MariaDB.
pub(crate) const MYSQL_QUOTES: Quotes =
    Quotes { name: '`', has_backslashes: true, has_backquotes: true, has_dollars: false };
/// Quotes of SQLite.
pub(crate) const SQLITE_QUOTES: Quotes =
    Quotes { name: '"', has_backslashes: false, has_backquotes: true, has_dollars: false };

/// Quotes of DuckDB.
pub(crate) const DUCKDB_QUOTES: Quotes =
    Quotes { name: '"', has_backslashes: false, has_backquotes: false, has_dollars: true };

impl Quotes {
    /// A name, quoted.
    pub fn quoted(&self, name: &str) -> String {
        let sign = self.name;
        format!("{sign}{}{sign}", name.replace(sign, &format!("{sign}{sign}")))
    }
}

/// All drivers.
pub const DRIVERS: &[Driver] = &[
    Driver {
        title: "PostgreSQL",
        feature: Some("postgres"),
        schemes: &["postgres", "postgresql"],
        engines: &["postgresql", "postgres"],
        example: "postgres://user@host/database",
        address: Address::Server,
        kind: Kind::Tables(POSTGRES_QUOTES),
        password: Some("PGPASSWORD"),
    },
    Driver {
        title: "MySQL, MariaDB",
        feature: Some("mysql"),
        schemes: &["mysql", "mariadb"],
        engines: &["mysql", "mariadb"],
        example: "mysql://user@host/database",
        address: Address::Server,
        kind: Kind::Tables(MYSQL_QUOTES),
        password: Some("MYSQL_PWD"),
    },
    Driver {
        title: "SQLite",
        feature: Some("sqlite"),
        schemes: &["sqlite"],
        engines: &["sqlite"],
        example: "sqlite:file.db",
        address: Address::Path(&["db", "sqlite", "sqlite3"]),
        kind: Kind::Tables(SQLITE_QUOTES),
        password: None,
    },
    Driver {
        title: "DuckDB",
        feature: Some("duckdb"),
        schemes: &["duckdb"],
        engines: &["duckdb"],
        example: "duckdb:file.duckdb",
        address: Address::Path(&["duckdb"]),
        kind: Kind::Tables(DUCKDB_QUOTES),
        password: None,
    },
    Driver {
        title: "Redis",
        feature: Some("redis"),
        schemes: &["redis", "rediss"],
        engines: &["redis"],
        example: "redis://host",
        address: Address::Server,
        kind: Kind::KeyValues,
        password: Some("REDISCLI_AUTH"),
    },
    Driver {
        title: "files",
        feature: None,
        schemes: &["file"],
        engines: &["file"],
        example: "file:folder",
        address: Address::Path(&[]),
        kind: Kind::Files,
        password: None,
    },
];

impl Driver {
    /// The driver of a scheme. A path without a scheme is a folder with files, or a file.
    pub fn of_scheme(scheme: &str) -> Option<&'static Driver> {
        let scheme = if scheme.is_empty() { "file" } else { scheme };
        DRIVERS.iter().find(|driver| driver.schemes.contains(&scheme))
    }

    /// The driver with that name of an engine, in capitals or not.
    pub fn of_engine(name: &str) -> Option<&'static Driver> {
        DRIVERS.iter().find(|driver| driver.engines.iter().any(|engine| engine.eq_ignore_ascii_case(name)))
    }

    /// The driver of files with that ending.
    pub fn of_ending(ending: &str) -> Option<&'static Driver> {
        DRIVERS.iter().find(|driver| matches!(driver.address, Address::Path(endings) if endings.contains(&ending)))
    }

    /// The driver that a definition means that names none.
    pub(crate) fn by_default(is_key_value: bool) -> &'static Driver {
        DRIVERS.iter().find(|driver| driver.is_key_value() == is_key_value).expect("there are drivers of both kinds")
    }

    /// True if it keeps keys with values.
    pub(crate) fn is_key_value(&self) -> bool {
        matches!(self.kind, Kind::KeyValues)
    }

    /// True if its tables are asked in SQL.
    pub fn is_relational(&self) -> bool {
        matches!(self.kind, Kind::Tables(_))
    }

    /// A name as its SQL has it.
    pub fn quoted(&self, name: &str) -> String {
        match self.kind {
            Kind::Tables(quotes) => quotes.quoted(name),
            _ => name.to_owned(),
        }
    }
}

/// The schemes of all drivers.
pub(crate) fn schemes() -> Vec<&'static str> {
    DRIVERS.iter().flat_map(|driver| driver.schemes).copied().collect()
}

/// URLs of some of the drivers, as examples.
pub fn examples(is_wanted: impl Fn(&Driver) -> bool) -> impl Iterator<Item = &'static str> {
    DRIVERS.iter().filter(move |driver| is_wanted(driver)).map(|driver| driver.example)
}

/// The variables of the environment that passwords of some of the drivers are taken from.
pub fn password_variables(is_wanted: impl Fn(&Driver) -> bool) -> String {
    let drivers = DRIVERS.iter().filter(move |driver| is_wanted(driver));
    drivers.filter_map(|driver| driver.password).collect::<Vec<_>>().join(", ")
}

/// Names as a sentence has them: `a, b or c`.
pub fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, DRIVERS, Driver};
    use crate::urls::scheme;

    const MANUAL: &str = include_str!("../../../docs/sources.md");
    const SCHEMA: &str = include_str!("../../../docs/graph-definition.schema.json");

    #[test]
    fn rows_are_told_apart_and_their_names_lead_back_to_them() {
        for driver in DRIVERS {
            let found = |by: Option<&'static Driver>| assert_eq!(by.map(|found| found.title), Some(driver.title));
            driver.schemes.iter().for_each(|scheme| found(Driver::of_scheme(scheme)));
            driver.engines.iter().for_each(|engine| found(Driver::of_engine(&engine.to_uppercase())));
            assert!(driver.schemes.contains(&driver.engines[0]), "{}: a definition becomes a URL", driver.title);
            assert!(driver.schemes.contains(&scheme(driver.example)), "{}", driver.example);
            if let Address::Path(endings) = driver.address {
                endings.iter().for_each(|ending| found(Driver::of_ending(ending)));
            }
        }
    }

    #[test]
    fn documents_name_all_drivers() {
        let engines: Vec<&str> = DRIVERS.iter().flat_map(|driver| driver.engines).copied().collect();
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        assert_eq!(schema["properties"]["engine"]["enum"], serde_json::json!(engines), "graph-definition.schema.json");
        for driver in DRIVERS {
            let feature = driver.feature.map_or("none".to_owned(), |feature| format!("`{feature}`"));
            let row = format!("| {} | {feature} | `{}:", driver.title, driver.engines[0]);
            assert!(MANUAL.contains(&row), "the table of docs/sources.md has a row that begins with {row}");
            let is_named = |name: &&str| MANUAL.contains(&format!("`{name}`"));
            assert!(driver.engines.iter().all(&is_named) || driver.is_relational());
            assert!(driver.password.iter().all(is_named), "docs/sources.md names the variable of {}", driver.title);
        }
    }
}
