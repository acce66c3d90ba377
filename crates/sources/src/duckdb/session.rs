//! A connection. It answers one statement at a time: rows that are left of a question that is read piece by piece are held
//! here when something else is asked.

use model::{Column, Error, ErrorCode, Map, Result, error};

use super::api::{Answer, Connection, Failure, Statement};
use super::cells::Plan;
use super::column_types::parameter;
use super::inspect::Inspector;
use super::library::library;
use crate::catalog::Inspect;
use crate::relational::answers::{CHANGE_ITS_SOURCES, failed};
use crate::relational::embedded::worker::{Prepared, Session};
use crate::relational::held::Held;
use crate::sql::Form;

/// A connection with what is open of it.
pub(super) struct DuckdbSession<'c> {
    pub(super) connection: &'c Connection,
    pub(super) name: &'c str,
    streams: Map<u64, Held>,
    last_stream: u64,
    /// The rows that the library has not handed over, with the number of the stream that they belong to.
    open: Option<(u64, Rows<'c>)>,
    /// True from the begin of a transaction to its end.
    is_begun: bool,
}

/// The rows of a statement.
struct Rows<'c> {
    answer: Answer<'c>,
    columns: Vec<(String, Plan, Form)>,
    text: String,
}

impl<'c> Rows<'c> {
    fn of(mut answer: Answer<'c>, forms: &[Form], text: &str) -> Rows<'c> {
        let forms = forms.iter().copied().chain(std::iter::repeat(Form::Shown));
        let columns = answer.columns().into_iter().zip(forms);
        let columns = columns.map(|((name, of), form)| (name, Plan::of(&of), form)).collect();
        Rows { answer, columns, text: text.to_owned() }
    }

    /// Some further rows; `None` at the end.
    fn next(&mut self, name: &str) -> Result<Option<Vec<Column>>> {
        let Some(chunk) = self.answer.fetch() else {
            let failure = self.answer.failure();
            return if failure.is_empty() { Ok(None) } else { Err(told(name, &failure, &self.text)) };
        };
        let columns = self.columns.iter().enumerate().map(|(at, (column, plan, form))| {
            plan.read(chunk.vector(at), chunk.rows(), *form).map_err(|value| {
                error!(Definition, "{name}: the column {column} holds {value}")
                    .with_remedy("give its property the type STRING in the definition, or FLOAT if it is a number")
            })
        });
        columns.collect::<Result<_>>().map(Some)
    }

    /// Columns of the right number without rows.
    fn none(&self) -> Vec<Column> {
        self.columns.iter().map(|_| Column::nulls(0)).collect()
    }
}

impl<'c> DuckdbSession<'c> {
    pub(super) fn new(connection: &'c Connection, name: &'c str) -> DuckdbSession<'c> {
        DuckdbSession { connection, name, streams: Map::default(), last_stream: 0, open: None, is_begun: false }
    }

    /// Holds what is left of a stream, so that something else can be asked.
    fn settle(&mut self) -> Result<()> {
        let Some((number, mut rows)) = self.open.take() else { return Ok(()) };
        // Of one that was stopped nothing is kept.
        let Some(held) = self.streams.get_mut(&number) else { return Ok(()) };
        while let Some(batch) = rows.next(self.name)? {
            held.push(batch);
            held.check(self.name)?;
        }
        Ok(())
    }

    fn prepare(&mut self, statement: &Prepared) -> Result<Statement<'c>> {
        self.settle()?;
        let wrong = |failure: Failure| told(self.name, &failure, &statement.text);
        let prepared = self.connection.prepare(&statement.text).map_err(wrong)?;
        let functions = library()?;
        // A condition that can be decided without its values leaves their numbers unused.
        for (at, value) in statement.parameters.iter().take(prepared.parameters()).enumerate() {
            prepared.bind(at, &parameter(functions, value)).map_err(wrong)?;
        }
        Ok(prepared)
    }

    /// The rows of a statement; where they are streamed, nothing else may be asked until their end.
    fn rows(&mut self, statement: &Prepared, is_streaming: bool) -> Result<Rows<'c>> {
        let answer = self.prepare(statement)?.execute(is_streaming);
        let answer = answer.map_err(|failure| told(self.name, &failure, &statement.text))?;
        Ok(Rows::of(answer, &statement.forms, &statement.text))
    }

    /// The rows of a query as strings; null is empty.
    pub(super) fn texts(&mut self, text: &str) -> Result<Vec<Vec<String>>> {
        let mut found = Vec::new();
        let statement = Prepared { text: text.to_owned(), parameters: Vec::new(), forms: Vec::new() };
        self.query(&statement, &mut |columns| {
            let count = columns.first().map_or(0, Column::len);
            let text = |column: &Column, row: usize| match column.value(row) {
                model::Value::Null => String::new(),
                model::Value::String(text) => text.to_string(),
                other => other.to_string(),
            };
            found.extend((0..count).map(|row| columns.iter().map(|column| text(column, row)).collect()));
            Ok(true)
        })?;
        Ok(found)
    }
}

impl Session for DuckdbSession<'_> {
    fn command(&mut self, text: &str) -> Result<()> {
        let statement = Prepared { text: text.to_owned(), parameters: Vec::new(), forms: Vec::new() };
        self.execute(&statement)?;
        self.is_begun = text.starts_with("BEGIN");
        Ok(())
    }

    fn query(&mut self, statement: &Prepared, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()> {
        let mut rows = self.rows(statement, true)?;
        while let Some(batch) = rows.next(self.name)? {
            if !sink(batch)? {
                return Ok(());
            }
        }
        // The number of columns is told even where there are no rows.
        sink(rows.none()).map(|_| ())
    }

    fn execute(&mut self, statement: &Prepared) -> Result<usize> {
        let mut rows = self.rows(statement, false)?;
        Ok(rows.answer.changed())
    }

    fn start(&mut self, statement: &Prepared) -> Result<u64> {
        let rows = self.rows(statement, true)?;
        self.last_stream += 1;
        self.streams.insert(self.last_stream, Held::default());
        self.open = Some((self.last_stream, rows));
        Ok(self.last_stream)
    }

    fn more(&mut self, stream: u64, most: usize) -> Result<(Vec<Column>, usize)> {
        let Some(held) = self.streams.get_mut(&stream) else {
            return Err(error!(Internal, "{}: a stream is read that is not open", self.name));
        };
        let mut all: Vec<Column> = Vec::new();
        let mut count = 0;
        while count < most {
            if let Some(batch) = held.take(most - count) {
                count += batch.first().map_or(0, Column::len);
                match all.is_empty() {
                    true => all = batch,
                    false => all.iter_mut().zip(&batch).for_each(|(all, more)| all.append(more)),
                }
                continue;
            }
            let Some((_, rows)) = self.open.as_mut().filter(|(number, _)| *number == stream) else { break };
            match rows.next(self.name)? {
                Some(batch) => held.push(batch),
                None => {
                    if all.is_empty() {
                        all = rows.none();
                    }
                    self.open = None;
                }
            }
        }
        Ok((all, count))
    }

    fn stop(&mut self, stream: u64) {
        self.streams.remove(&stream);
        self.open.take_if(|(number, _)| *number == stream);
    }

    fn close_streams(&mut self) {
        self.streams.clear();
        self.open = None;
    }

    fn reset(&mut self) -> Result<()> {
        self.close_streams();
        if self.is_begun { self.command("ROLLBACK") } else { Ok(()) }
    }

    fn inspector(&mut self) -> Box<dyn Inspect + '_> {
        Box::new(Inspector { session: self })
    }
}

/// The error for a failure that the library tells, with a code that callers can react to. Its first words say what kind it
/// is of.
pub(super) fn told(name: &str, failure: &str, statement: &str) -> Error {
    let (kind, message) = failure.split_once(" Error: ").unwrap_or(("", failure));
    let is = |part: &str| message.contains(part);
    let code = match kind {
        "IO" if is("Could not set lock") => ErrorCode::Source,
        _ if is("read-only mode") => ErrorCode::ReadOnly,
        _ if is("is a generated column") => ErrorCode::ReadOnly,
        "Catalog" | "Binder" | "Parser" => ErrorCode::Definition,
        "Constraint" => ErrorCode::Constraint,
        "Conversion" | "Mismatch Type" | "Out of Range" => ErrorCode::Type,
        "TransactionContext" | "Transaction" => ErrorCode::Conflict,
        "INTERRUPT" => ErrorCode::Cancelled,
        "Out of Memory" => ErrorCode::Limit,
        "IO" if is("No space left") => ErrorCode::DiskFull,
        _ => ErrorCode::Source,
    };
    // The first line says it; what follows points into the statement, which is told by itself, or into documents.
    let line = message.lines().next().unwrap_or(message);
    let line = [" If this is an unexpected", " See also http", " However, you would"]
        .into_iter()
        .fold(line, |line, more| line.split(more).next().unwrap_or(line));
    let line = if code == ErrorCode::Source && !kind.is_empty() { format!("{kind}: {line}") } else { line.to_owned() };
    let error = failed(code, name, &line, statement);
    match code {
        ErrorCode::ReadOnly if is("is a generated column") => error.with_remedy(CHANGE_ITS_SOURCES),
        ErrorCode::Constraint if is("still referenced by a foreign key") => {
            error.with_remedy("delete what refers to it first, in a transaction of its own: DuckDB asks for that")
        }
        _ if is("Could not set lock") => error.with_remedy(
            "another program has the file open for writing: close it there, or have both open it for reading only",
        ),
        _ if is("by DuckDB itself") => error.with_remedy("close the connection of DuckDB's own package first"),
        _ if is("with other settings") => {
            error.with_remedy("attach it with the same settings, ?mode=rw among them, or detach it first")
        }
        _ if is("does not exist") && statement.is_empty() => {
            error.with_remedy("check the path; a database is never created")
        }
        _ => error,
    }
}
