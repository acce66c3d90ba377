//! `ATTACH`, `DETACH` and `PRELOAD`. They belong to no transaction.

use cypher::plan::SourceStatement;
use model::{Column, Result, Value, error};
use sources::urls::scheme;

use super::address::from_folder;
use super::{AttachOptions, Preload, PreloadProgress};
use crate::Parameters;
use crate::copy::{report, value_of};
use crate::result::StatementSummary;
use crate::session::{ResultSink, Session};

/// Runs one of them in a session.
pub(crate) fn run(
    session: &mut Session,
    statement: &SourceStatement,
    parameters: &Parameters,
    sink: &mut dyn ResultSink,
) -> Result<StatementSummary> {
    if session.in_transaction() {
        return Err(error!(
            TransactionState,
            "ATTACH, DETACH and PRELOAD are no part of a transaction, and one is open"
        )
        .with_remedy("commit or roll it back first"));
    }
    let database = session.database().clone();
    let mut summary = StatementSummary::default();
    match statement {
        SourceStatement::Attach { from, name, options } => {
            let Value::String(from) = value_of(from, parameters)? else {
                return Err(error!(Type, "ATTACH needs a URL or a graph definition as text"));
            };
            let mut options = AttachOptions::of(options, parameters)?;
            let name = name.as_deref().map_or_else(|| name_of(&from), str::to_owned);
            let mut from = from.to_string();
            if let Some(folder) = session.files().base() {
                from = from_folder(folder, &from, options.dbtype.as_deref());
                options.definition = options.definition.map(|text| from_folder(folder, &text, None));
            }
            let made = database.attach(&name, &from, &options)?;
            let row = [
                ("name", Value::string(&made.name)),
                ("labels", list(&made.labels)),
                ("relationshipTypes", list(&made.edge_types)),
                ("notes", list(&made.notes)),
            ];
            report(sink, &row)?;
        }
        SourceStatement::Detach { name, span, if_exists } => match database.detach(name) {
            Err(failure) if failure.code() == model::ErrorCode::NotFound && *if_exists => {}
            outcome => outcome.map_err(|failure| failure.at(*span))?,
        },
        SourceStatement::Preload { name, span, nodes, types } => {
            // Unknown names are told before anything is read.
            database.shared.attachments.now().source(name).map_err(|failure| failure.at(*span))?;
            let what = Preload { nodes: nodes.clone(), edge_types: types.clone() };
            let interrupt = session.interrupt();
            let done = database.preload(name, &what, &PreloadProgress::default(), &interrupt)?;
            summary.counters.nodes_created = done.nodes;
            summary.counters.edges_created = done.edges;
            let count = |number: u64| Value::Int(number as i64);
            let row =
                [("nodes", count(done.nodes)), ("relationships", count(done.edges)), ("skipped", count(done.skipped))];
            report(sink, &row)?;
        }
    }
    Ok(summary)
}

pub(super) fn list<T: AsRef<str>>(names: &[T]) -> Value {
    Value::list(names.iter().map(|name| Value::string(name.as_ref())).collect())
}

/// The name of what is attached without one: that of the database or file.
fn name_of(from: &str) -> String {
    if from.trim_start().starts_with('{') {
        return "source".to_owned();
    }
    let path = if scheme(from).is_empty() { from } else { from.split_once(':').map_or(from, |(_, path)| path) };
    let path = path.split('?').next().unwrap_or("");
    let last = path.rsplit(['/', '\\']).next().unwrap_or("");
    let stem = last.split('.').next().unwrap_or("");
    stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect()
}

/// Rows in columns.
pub(super) fn columns(rows: &[Vec<Value>], width: usize) -> Vec<Column> {
    exec::procedures::columns_of(rows, width)
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn sources_are_named_after_databases() {
        let names = ["postgres://a@h:5/shop?x=y", "sqlite:/tmp/my shop.db", "people.json", "{\"nodes\": []}"];
        assert_eq!(names.map(name_of), ["shop", "my_shop", "people", "source"]);
    }
}
