//! `COPY`: files into nodes or edges by bulk load, and the rows of a query into a file.
//!
//! A file is written beside its place and put there when it is whole, so that a copy that fails leaves what was there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cypher::plan::{CopyPlan, CopyValue, CopyWay};
use model::{Column, ColumnData, Interrupt, PropertyType, Result, Rule, Schema, Span, Subject, Value, error};
use sources::files::{FieldType, Format};

use crate::Parameters;
use crate::copy::writer::FileSink;
use crate::database::Database;
use crate::files::FileAccess;
use crate::import::{EdgeFile, ImportPlan, ImportProgress, NodeFile, OnBadRow, OnDuplicate, ReadOptions};
use crate::result::{Hint, HintKind, ResultBatch, StatementSummary};
use crate::session::{ResultSink, Session};

mod writer;

/// Name of the statement in errors.
const STATEMENT: &str = "COPY";

/// Runs a `COPY` in a session.
pub(crate) fn run(
    session: &mut Session,
    copy: &CopyPlan,
    parameters: &Parameters,
    sink: &mut dyn ResultSink,
) -> Result<StatementSummary> {
    let mut options = Options::of(copy, parameters)?;
    match &copy.way {
        CopyWay::From { name, files } => {
            let access = session.files();
            let read = |file| access.to_read(STATEMENT, &text_of(file, parameters)?);
            let files = files.iter().map(read).collect::<Result<Vec<_>>>()?;
            let plan = options.import_plan(name, files, access, session.database())?;
            options.finish()?;
            copy_from(session, &plan, sink)
        }
        CopyWay::To { query, start, file } => {
            let file = session.files().to_write(STATEMENT, &text_of(file, parameters)?)?;
            let format = options.format(&file)?;
            let has_header = options.flag("header")?.unwrap_or(true);
            let delimiter = options.character(&["delim", "delimiter"])?.unwrap_or(b',');
            options.finish()?;
            let mut rows = FileSink::new(&file, format, delimiter, has_header)?;
            let summary = session.run(query, parameters, &mut rows).map_err(|failure| shifted(failure, *start))?;
            let written = rows.finish()?;
            report(
                sink,
                &[("rows", Value::Int(written as i64)), ("file", Value::string(&file.display().to_string()))],
            )?;
            Ok(summary)
        }
    }
}

/// An error whose place is in a part of the statement that starts there.
fn shifted(failure: model::Error, start: u32) -> model::Error {
    match failure.span() {
        Some(span) => failure.moved_to(Span { start: span.start + start, end: span.end + start }),
        None => failure,
    }
}

fn copy_from(session: &Session, plan: &ImportPlan, sink: &mut dyn ResultSink) -> Result<StatementSummary> {
    if session.in_transaction() {
        return Err(error!(TransactionState, "COPY FROM is a transaction of its own, and one is open")
            .with_remedy("commit or roll it back first, or use LOAD CSV within it"));
    }
    let interrupt: Interrupt = session.interrupt();
    let progress = ImportProgress::default();
    let done = session.database().import(plan, &progress, &interrupt).map_err(|failure| {
        let remedy = in_words_of_copy(failure.remedy());
        failure.with_remedy(remedy)
    })?;
    let mut summary = StatementSummary::default();
    let notes = progress.notes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let hint = |note: String| Hint { kind: HintKind::Note, message: in_words_of_copy(&note), span: Span::default() };
    summary.hints.extend(notes.into_iter().map(hint));
    summary.counters.nodes_created = done.nodes_created;
    summary.counters.edges_created = done.edges_created;
    let count = |number: u64| Value::Int(number as i64);
    let rows = [
        ("nodes", count(done.nodes_created)),
        ("relationships", count(done.edges_created)),
        ("merged", count(done.nodes_merged + done.edges_merged)),
        ("skipped", count(done.rows_skipped)),
    ];
    report(sink, &rows)?;
    Ok(summary)
}

/// The text of an import, with the options of `COPY` in place of those of the command line.
fn in_words_of_copy(text: &str) -> String {
    let words = [
        ("--on-duplicate skip or update", "on_duplicate = 'skip' or 'update'"),
        ("--skip-bad FILE", "skip_bad = 'FILE'"),
        ("--on-duplicate skip", "on_duplicate = 'skip'"),
        ("--source and --target", "source = 'column' and target = 'column'"),
        ("--edge-key", "edge_key"),
    ];
    let text = match text.split_once("pass --edge-key ") {
        Some((before, _)) => format!("{before}write edge_key = 'PROPERTY', or edge_key = '' for their ends alone"),
        None => text.to_owned(),
    };
    words.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// Gives one row.
pub(crate) fn report(sink: &mut dyn ResultSink, row: &[(&str, Value)]) -> Result<()> {
    let names: Vec<Arc<str>> = row.iter().map(|(name, _)| Arc::from(*name)).collect();
    sink.columns(&names)?;
    let columns = row.iter().map(|(_, value)| Arc::new(Column::new(ColumnData::Value(vec![value.clone()])))).collect();
    sink.rows(ResultBatch { columns, rows: 1, entities: Default::default() })?;
    Ok(())
}

/// The text that names a file.
pub(crate) fn text_of(file: &CopyValue, parameters: &Parameters) -> Result<Arc<str>> {
    match value_of(file, parameters)? {
        Value::String(text) => Ok(text),
        other => Err(error!(Type, "expected the name of a file as text, found {}", other.type_name())),
    }
}

/// A value as it stands, or that of the parameter.
pub(crate) fn value_of(value: &CopyValue, parameters: &Parameters) -> Result<Value> {
    match value {
        CopyValue::Literal(value) => Ok(value.clone()),
        CopyValue::Parameter(name) => {
            parameters.get(name).cloned().ok_or_else(|| error!(Parameter, "the parameter ${name} is not given"))
        }
    }
}

/// Options that are not used yet.
struct Options(Vec<(Arc<str>, Value, Span)>);

impl Options {
    fn of(copy: &CopyPlan, parameters: &Parameters) -> Result<Options> {
        let value =
            |(name, value, span): &(Arc<str>, CopyValue, Span)| Ok((name.clone(), value_of(value, parameters)?, *span));
        copy.options.iter().map(value).collect::<Result<_>>().map(Options)
    }

    /// All have been used, or the first that was not is an error.
    fn finish(self) -> Result<()> {
        match self.0.first() {
            Some((name, _, span)) => Err(error!(Argument, "COPY has no option {name} here").at(*span).with_remedy(
                "from files: format, delim, quote, header, names, types, key, from, to, source, target, edge_key, on_duplicate, skip_bad; \
                 to a file: format, delim, header",
            )),
            None => Ok(()),
        }
    }

    fn take(&mut self, names: &[&str]) -> Option<(Value, Span)> {
        let at = self.0.iter().position(|(name, ..)| names.contains(&&**name))?;
        let (_, value, span) = self.0.remove(at);
        Some((value, span))
    }

    fn text(&mut self, names: &[&str]) -> Result<Option<String>> {
        match self.take(names) {
            None => Ok(None),
            Some((Value::String(text), _)) => Ok(Some(text.to_string())),
            Some((other, span)) => Err(error!(Type, "expected a text, found {}", other.type_name()).at(span)),
        }
    }

    fn flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.take(&[name]) {
            None => Ok(None),
            Some((Value::Bool(is_so), _)) => Ok(Some(is_so)),
            Some((other, span)) => Err(error!(Type, "expected true or false, found {}", other.type_name()).at(span)),
        }
    }

    fn character(&mut self, names: &[&str]) -> Result<Option<u8>> {
        match self.take(names) {
            None => Ok(None),
            Some((Value::String(text), _)) if &*text == "\\t" => Ok(Some(b'\t')),
            Some((Value::String(text), _)) if text.len() == 1 => Ok(Some(text.as_bytes()[0])),
            Some((other, span)) => Err(error!(Argument, "{} is one character, found {other}", names[0])
                .with_remedy(format!("write it as {} = ';'", names[0]))
                .at(span)),
        }
    }

    fn format(&mut self, file: &Path) -> Result<Format> {
        let named = self.text(&["format", "file_format"])?;
        let format = match &named {
            Some(name) => Format::of_name(name),
            None => Format::of_path(file),
        };
        let known = format.filter(|format| matches!(format, Format::Csv | Format::JsonLines | Format::Parquet));
        known.ok_or_else(|| {
            let found = named.map_or_else(|| file.display().to_string(), |name| format!("the format {name}"));
            error!(Argument, "COPY cannot write {found}").with_remedy("write a .csv, .jsonl or .parquet file")
        })
    }

    /// The plan of importing files as nodes of a label or, if ends or a known type say so, edges of a type.
    fn import_plan(
        &mut self,
        name: &Arc<str>,
        files: Vec<PathBuf>,
        access: &FileAccess,
        database: &Database,
    ) -> Result<ImportPlan> {
        let mut plan =
            ImportPlan { read: self.read_options()?, threads: database.config().threads, ..ImportPlan::default() };
        let has_header = self.flag("header")?;
        plan.read.has_header = has_header;
        if let Some(file) = self.text(&["skip_bad"])? {
            plan.on_bad_row = OnBadRow::Skip(access.to_write(STATEMENT, &file)?);
        }
        plan.on_duplicate = match self.text(&["on_duplicate"])?.as_deref() {
            None | Some("error") => OnDuplicate::Error,
            Some("skip") => OnDuplicate::Skip,
            Some("update") => OnDuplicate::Update,
            Some(other) => {
                return Err(error!(Argument, "expected error, skip or update for on_duplicate, found {other}")
                    .with_remedy("leave it out: a node that is there is an error then"));
            }
        };
        let (from, to, key) = (self.text(&["from"])?, self.text(&["to"])?, self.text(&["key"])?);
        let (source, target) = (self.text(&["source"])?, self.text(&["target"])?);
        let edge_key = self.text(&["edge_key"])?;
        plan.edge_keys.extend(edge_key.map(|key| (name.to_string(), Some(key).filter(|key| !key.is_empty()))));
        let view = database.store().read()?;
        let schema = view.schema();
        let is_edge = from.is_some() || to.is_some() || schema.means_edges(name);
        plan.read.declared = declared(schema, name, is_edge);
        if has_header == Some(false) && plan.read.header.is_none() && plan.read.declared.is_empty() {
            return Err(error!(Argument, "COPY needs the names of the columns of a file without a header")
                .with_remedy("write names = 'id,name,age'"));
        }
        for path in files {
            if is_edge {
                let (source_label, target_label) = (from.clone(), to.clone());
                let (source, target) = (source.clone(), target.clone());
                let edge_type = Some(name.to_string());
                plan.edges.push(EdgeFile { path, edge_type, source_label, target_label, source, target, read: None });
            } else {
                plan.nodes.push(NodeFile { path, labels: vec![name.to_string()], key: key.clone(), read: None });
            }
        }
        Ok(plan)
    }

    fn read_options(&mut self) -> Result<ReadOptions> {
        let mut read = ReadOptions::default();
        if let Some(name) = self.text(&["format", "file_format"])? {
            let unknown = || {
                error!(Argument, "unknown format {name}, expected csv, jsonl, parquet, snap, dimacs or co")
                    .with_remedy("leave it out: the name of the file says the format")
            };
            read.format = Some(Format::of_name(&name).ok_or_else(unknown)?);
        }
        read.delimiter = self.character(&["delim", "delimiter"])?;
        if let Some(quote) = self.character(&["quote"])? {
            read.quote = Some(quote);
        }
        let names = self.text(&["names"])?;
        read.header = names.map(|names| names.split(',').map(|name| name.trim().to_owned()).collect());
        if let Some(types) = self.text(&["types"])? {
            for pair in types.split(',') {
                let found = pair
                    .split_once(':')
                    .and_then(|(column, kind)| Some((column.trim().to_owned(), FieldType::of_name(kind.trim())?)));
                let unknown = || {
                    error!(Argument, "the option types has column:type for each column, found {pair}")
                        .with_remedy("write types = 'age:int,name:text'")
                };
                read.types.push(found.ok_or_else(unknown)?);
            }
        }
        Ok(read)
    }
}

/// The columns that a table declares: of one of relationships, the ends first.
fn declared(schema: &Schema, name: &str, is_edge: bool) -> Vec<(String, Option<FieldType>)> {
    let subject = match is_edge {
        true => schema.edge_type(name).map(Subject::EdgeType),
        false => schema.label(name).map(Subject::Label),
    };
    let Some(subject) = subject else { return Vec::new() };
    let typed = schema.constraints.iter().filter(|held| held.subject == subject).filter_map(|held| match held.rule {
        Rule::Type(of) => {
            let field_type = match of {
                PropertyType::One(kind) => FieldType::of_kind(kind),
                PropertyType::List(kind) => FieldType::Bracketed(Box::new(FieldType::of_kind(kind))),
            };
            Some((schema.property_key_name(*held.keys.first()?).to_owned(), Some(field_type)))
        }
        _ => None,
    });
    let has_ends =
        schema.constraints.iter().any(|held| held.subject == subject && matches!(held.rule, Rule::Ends { .. }));
    let ends = if has_ends { &["from", "to"][..] } else { &[] };
    ends.iter().map(|end| ((*end).to_owned(), None)).chain(typed).collect()
}
