//! Reads where the rows of a kind come from.

use std::path::PathBuf;

use model::Result;

use super::fields::{Object, at, choose};
use super::{KeyPattern, Rows, Structure, around_parameters};

/// Keys of a kind of nodes that say where its rows are.
pub(super) const NODE_ROWS: &[&str] = &["table", "schema", "sql", "scan", "file", "keys", "structure"];
/// The same of a kind of edges.
pub(super) const EDGE_ROWS: &[&str] = &[
    "table", "schema", "sql", "reverse", "scan", "file", "keys", "suffix", "structure", "score", "reverse-keys",
    "reverse-suffix", "edge-hash",
];

/// The key of nodes of a key-value store that do not say theirs.
const NODE_PATTERN: &str = "{id}";

const STRUCTURES: &[(&str, Structure)] = &[
    ("hash", Structure::Hash),
    ("flat", Structure::Flat),
    ("set", Structure::Set),
    ("list", Structure::List),
    ("sorted-set", Structure::SortedSet),
    ("any", Structure::Any),
];

pub(super) struct RowsReader {
    /// True if kinds that say nothing lie under keys.
    pub(super) is_key_value: bool,
}

impl RowsReader {
    pub(super) fn node(&self, object: &Object<'_>) -> Result<Rows> {
        if let Some(rows) = relational(object)? {
            return Ok(rows);
        }
        let pattern = match object.text("keys")? {
            Some(pattern) => pattern,
            None if self.is_key_value => NODE_PATTERN,
            None => return Err(nothing_given(object)),
        };
        let structure = match object.get("structure") {
            Some(field) => choose(&field, &STRUCTURES[..2])?,
            None if pattern.contains("{property}") => Structure::Flat,
            None => Structure::Hash,
        };
        Ok(Rows::Keys(KeyPattern { pattern: pattern.into(), structure, score: None, reverse: None, edge_hash: None }))
    }

    /// `of_nodes` gives the key pattern of the nodes where the edges start with a suffix put to it.
    pub(super) fn edge(&self, object: &Object<'_>, of_nodes: impl Fn(&str) -> Result<String>) -> Result<Rows> {
        if let Some(rows) = relational(object)? {
            return Ok(rows);
        }
        object.only_one_of(&["keys", "suffix"])?;
        object.only_one_of(&["reverse-keys", "reverse-suffix"])?;
        let pattern = |keys: &str, suffix: &str| match (object.text(keys)?, object.text(suffix)?) {
            (Some(keys), _) => Ok(Some(keys.to_owned())),
            (None, Some(suffix)) => of_nodes(suffix).map(Some),
            (None, None) => Ok(None),
        };
        let Some(out) = pattern("keys", "suffix")? else { return Err(nothing_given(object)) };
        Ok(Rows::Keys(KeyPattern {
            pattern: out,
            structure: match object.get("structure") {
                Some(field) => choose(&field, STRUCTURES)?,
                None => Structure::Any,
            },
            score: object.text("score")?.map(str::to_owned),
            reverse: pattern("reverse-keys", "reverse-suffix")?,
            edge_hash: object.text("edge-hash")?.map(str::to_owned),
        }))
    }
}

/// Rows of a table, a query or a file.
fn relational(object: &Object<'_>) -> Result<Option<Rows>> {
    object.only_one_of(&["table", "sql", "file", "keys", "suffix"])?;
    let needs = |key: &str, other: &str| match object.get(key) {
        Some(field) => Err(at(&field.place, format_args!("stands only beside `{other}`"))),
        None => Ok(()),
    };
    if !object.has("table") {
        needs("schema", "table")?;
    }
    if !object.has("sql") {
        needs("reverse", "sql")?;
        needs("scan", "sql")?;
    }
    if object.has("table") || object.has("sql") || object.has("file") {
        ["structure", "score", "reverse-keys", "reverse-suffix", "edge-hash"]
            .into_iter()
            .try_for_each(|key| needs(key, "keys"))?;
    }
    if let Some(table) = object.text("table")? {
        let (schema, name) = match (object.text("schema")?, table.split_once('.')) {
            (Some(schema), _) => (Some(schema), table),
            (None, Some((schema, name))) => (Some(schema), name),
            (None, None) => (None, table),
        };
        return Ok(Some(Rows::Table { schema: schema.map(str::to_owned), name: name.to_owned() }));
    }
    if let Some(path) = object.text("file")? {
        return Ok(Some(Rows::File { path: PathBuf::from(path) }));
    }
    let Some(sql) = object.text("sql")? else { return Ok(None) };
    let (reverse, scan) = (object.text("reverse")?, object.text("scan")?);
    if around_parameters(sql).len() == 1 && reverse.is_none() && scan.is_none() {
        return Ok(Some(Rows::Query(sql.to_owned())));
    }
    let text = |sql: &str| sql.to_owned();
    Ok(Some(Rows::ByKey { sql: text(sql), reverse: reverse.map(text), scan: scan.map(text) }))
}

fn nothing_given(object: &Object<'_>) -> model::Error {
    at(&object.place, "expected where the rows come from: one of `table`, `sql`, `file`, `keys`")
}
