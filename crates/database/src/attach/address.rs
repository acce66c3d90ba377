//! Resolution of a string that is to be attached: a URL, a graph definition, a file, or a connection string as Kùzu
//! takes it.
//!
//! A definition has the URL of its graph, without a password; the variable `KNOT_SOURCE_<NAME>_URL` of the environment
//! has it instead, with one. The drivers take other secrets from the environment as the tools of their databases do.

use std::path::Path;

use model::{Result, error};
use sources::connect::connect;
use sources::definition::{GraphDefinition, Rows};
use sources::infer;
use sources::registry::{Address as Place, DRIVERS, Driver, Kind, examples, one_of};
use sources::urls::{encoded, of_path, scheme, without_password};

use super::options::AttachOptions;

/// The source that is to be attached.
pub(super) struct Address {
    pub(super) url: String,
    pub(super) definition: GraphDefinition,
    pub(super) notes: Vec<String>,
}

/// The variable of the environment that holds the URL of a source of that name.
pub fn environment_variable(name: &str) -> String {
    format!("KNOT_SOURCE_{}_URL", name.to_uppercase())
}

pub(super) fn resolve(name: &str, from: &str, options: &AttachOptions) -> Result<Address> {
    let from = from.trim();
    let is_definition = from.starts_with('{') || scheme(from).is_empty() && extension(from) == "json";
    if !is_definition {
        let url = match &options.dbtype {
            Some(dbtype) => of_connection_string(from, dbtype)?,
            None => of_text(from)?,
        };
        return match &options.definition {
            Some(text) => Ok(Address { url, definition: definition(text)?, notes: Vec::new() }),
            None => inferred(url).map_err(|failure| failure.within(&format!("source {name}"))),
        };
    }
    if options.definition.is_some() || options.dbtype.is_some() {
        return Err(error!(Argument, "a graph definition is attached, and DEFINITION or DBTYPE is given besides")
            .with_remedy("attach the URL of the database, with the graph definition as DEFINITION"));
    }
    let definition = definition(from)?;
    let variable = environment_variable(name);
    let url = std::env::var(&variable).ok().or_else(|| definition.url.clone()).or_else(|| files_only(&definition));
    match url {
        Some(url) => Ok(Address { url, definition, notes: Vec::new() }),
        None => Err(error!(Definition, "the graph definition does not say where the graph lies").with_remedy(format!(
            "write `url` into it, set {variable}, or attach the URL with the definition as DEFINITION"
        ))),
    }
}

/// A string that is to be attached, its relative path as one that begins in a folder.
pub(super) fn from_folder(folder: &Path, from: &str, dbtype: Option<&str>) -> String {
    let text = from.trim();
    let named = scheme(text);
    if text.starts_with('{') {
        return text.to_owned();
    }
    let driver = match dbtype {
        Some(dbtype) => Driver::of_engine(dbtype),
        None => Driver::of_scheme(named),
    };
    let is_path = driver.map_or(named.is_empty(), |driver| matches!(driver.address, Place::Path(_)));
    let (start, path) = text.split_at(if named.is_empty() { 0 } else { named.len() + 1 });
    match is_path && !path.starts_with('/') && !path.is_empty() {
        true => format!("{start}{}", folder.join(path).display()),
        false => text.to_owned(),
    }
}

/// A definition from its text or its file.
fn definition(text: &str) -> Result<GraphDefinition> {
    if text.trim_start().starts_with('{') {
        return GraphDefinition::from_json(text);
    }
    let path = Path::new(text.strip_prefix("file://").unwrap_or(text));
    let read = std::fs::read_to_string(path).map_err(|cause| {
        error!(Io, "graph definition {}: {cause}", path.display()).with_remedy("check the path; it is a file of JSON")
    })?;
    let mut definition =
        GraphDefinition::from_json(&read).map_err(|failure| failure.within(&path.display().to_string()))?;
    definition.resolve_paths(path.parent().unwrap_or(Path::new("")));
    Ok(definition)
}

pub(super) fn inferred(url: String) -> Result<Address> {
    let failed = |failure: model::Error| {
        let shown = without_password(&url);
        if failure.message().contains(&shown) { failure } else { failure.within(&shown) }
    };
    let catalog = connect(&url, &GraphDefinition::default()).and_then(|source| source.catalog()).map_err(failed)?;
    let quoted =
        |name: &str| Driver::of_scheme(scheme(&url)).map_or_else(|| name.to_owned(), |driver| driver.quoted(name));
    let infer::Inferred { definition, notes } = infer::definition(&catalog, &quoted);
    if definition.nodes.is_empty() {
        return Err(error!(
            Definition,
            "{}: no table has a primary key, so that none is nodes",
            without_password(&url)
        )
        .with_remedy("write a graph definition, as docs/sources.md shows, and pass it as DEFINITION"));
    }
    Ok(Address { url, definition, notes })
}

/// Files lie where the definition says.
fn files_only(definition: &GraphDefinition) -> Option<String> {
    let mut rows = definition.nodes.iter().map(|kind| &kind.rows).chain(definition.edges.iter().map(|kind| &kind.rows));
    rows.all(|rows| matches!(rows, Rows::File { .. })).then(|| "file:".to_owned())
}

fn extension(text: &str) -> String {
    Path::new(text).extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// A URL, or a file that says by its ending what it is.
pub(crate) fn of_text(text: &str) -> Result<String> {
    if !scheme(text).is_empty() {
        return Ok(text.to_owned());
    }
    let ending = extension(text);
    if let Some(driver) = Driver::of_ending(&ending) {
        return Ok(format!("{}:{}", driver.schemes[0], of_path(text)));
    }
    match ending.as_str() {
        "parquet" | "csv" | "jsonl" => {
            Err(error!(Argument, "{text} is a file of rows, which say not what is the graph")
                .with_remedy("write a graph definition that names the file, and attach that"))
        }
        _ => {
            let examples = one_of(examples(|_| true).chain(["definition.json"]));
            Err(error!(Argument, "expected a URL or a graph definition to attach, found `{}`", without_password(text))
                .with_remedy(format!("write {examples}")))
        }
    }
}

/// A connection string as Kùzu takes it, `dbname=shop host=localhost`, or a URL or path, as a URL.
fn of_connection_string(text: &str, dbtype: &str) -> Result<String> {
    let is_database = |driver: &&Driver| !matches!(driver.kind, Kind::Files);
    let driver = Driver::of_engine(dbtype).filter(is_database).ok_or_else(|| {
        let known = one_of(DRIVERS.iter().filter(is_database).map(|driver| driver.schemes[0]));
        error!(Argument, "unknown DBTYPE {dbtype}, expected {known}")
            .with_remedy("attach a database of one of these, or COPY the data from files")
    })?;
    let scheme_of = driver.schemes[0];
    if !scheme(text).is_empty() {
        return Ok(text.to_owned());
    }
    if matches!(driver.address, Place::Path(_)) {
        return Ok(format!("{scheme_of}:{}", of_path(text)));
    }
    let mut parts: Vec<(&str, &str)> = Vec::new();
    for pair in text.split_whitespace() {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            error!(Argument, "expected name=value in the connection string, found a word without =")
                .with_remedy("write dbname=shop host=localhost user=ann, or a URL")
        })?;
        parts.push((key, value.trim_matches('\'')));
    }
    let mut take = |names: &[&str]| {
        let at = parts.iter().position(|(key, _)| names.iter().any(|name| key.eq_ignore_ascii_case(name)))?;
        Some(parts.remove(at).1)
    };
    let host = take(&["host", "hostaddr", "server"]).unwrap_or("localhost");
    let port = take(&["port"]).map(|port| format!(":{port}")).unwrap_or_default();
    let password = take(&["password"]).map(|password| format!(":{}", encoded(password))).unwrap_or_default();
    let user = take(&["user", "uid"]).map(encoded).unwrap_or_default();
    let at = if user.is_empty() && password.is_empty() { "" } else { "@" };
    let database = take(&["dbname", "database"]).map(|name| format!("/{}", encoded(name))).unwrap_or_default();
    let settings: Vec<String> = parts.iter().map(|(key, value)| format!("{key}={}", encoded(value))).collect();
    let settings = if settings.is_empty() { String::new() } else { format!("?{}", settings.join("&")) };
    let host = if host.starts_with('/') { encoded(host) } else { host.to_owned() };
    Ok(format!("{scheme_of}://{user}{password}{at}{host}{port}{database}{settings}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{from_folder, of_connection_string, of_text};

    #[test]
    fn connection_strings_become_urls() {
        let check = |text, dbtype, expected: &str| {
            let found = match of_connection_string(text, dbtype) {
                Ok(url) => url,
                Err(failure) => failure.message().to_owned(),
            };
            assert_eq!(found, expected);
        };
        check("dbname=shop host=h port=5433 user=ann password=a/b", "postgres", "postgres://ann:a%2Fb@h:5433/shop");
        check("dbname=shop sslmode=require", "POSTGRES", "postgres://localhost/shop?sslmode=require");
        check("postgresql://h/shop", "postgres", "postgresql://h/shop");
        check("shop.db", "sqlite", "sqlite:shop.db");
        check("shop.duckdb", "duckdb", "duckdb:shop.duckdb");
        check("a?b.db", "sqlite", "sqlite:a%3Fb.db");
        check("x", "oracle", "unknown DBTYPE oracle, expected postgres, mysql, sqlite, duckdb or redis");
    }

    #[test]
    fn relative_paths_begin_in_the_folder_of_the_client() {
        let check =
            |text, dbtype, expected: &str| assert_eq!(from_folder(Path::new("/data/ann"), text, dbtype), expected);
        check("shop.db", None, "/data/ann/shop.db");
        check("shop.json", None, "/data/ann/shop.json");
        check("/data/shop.db", None, "/data/shop.db");
        check("sqlite:shop.db", None, "sqlite:/data/ann/shop.db");
        check("sqlite:///data/shop.db", None, "sqlite:///data/shop.db");
        check("postgres://h/shop", None, "postgres://h/shop");
        check("shop.db", Some("sqlite"), "/data/ann/shop.db");
        check("dbname=shop host=h", Some("postgres"), "dbname=shop host=h");
        check("{\"url\": \"x\"}", None, "{\"url\": \"x\"}");
    }

    #[test]
    fn texts_say_what_they_are() {
        assert_eq!(of_text("redis://h").unwrap(), "redis://h");
        assert_eq!(of_text("/data/shop.SQLITE").unwrap(), "sqlite:/data/shop.SQLITE");
        assert!(of_text("shop").is_err() && of_text("people.parquet").is_err());
    }
}
