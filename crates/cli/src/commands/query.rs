//! `knot query`: statements from the command line or standard input, their rows to standard output.

use std::io::{BufWriter, Read};

use client::Session;
use database::{Access, Error, ErrorCode, Interrupt, Parameters, StatementSummary};
use model::Span;

use crate::arguments::{Format, QueryArguments};
use crate::failure::{Failure, Outcome, not_utf8};
use crate::format::{self, Printer, counted};
use crate::{progress, signals, values};

/// Hints of a statement that are shown.
const HINTS_MAX: usize = 20;

/// Counts and times, which may go to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stats {
    /// They do.
    Show,
    /// They do not.
    Hide,
}

/// The form in which rows are printed.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) format: Format,
    /// The text that stands for null in CSV.
    pub(crate) null: Option<String>,
    pub(crate) stats: Stats,
}

/// A text of statements, of which those before a place have been run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script<'t> {
    pub(crate) text: &'t str,
    /// The line at which the statements to run begin.
    pub(crate) start: usize,
    /// Statements before that.
    pub(crate) statements: usize,
    /// True if errors say which statement it was.
    pub(crate) is_numbered: bool,
}

impl<'t> Script<'t> {
    /// A whole text.
    pub(crate) fn whole(text: &'t str) -> Script<'t> {
        Script { text, start: 0, statements: 0, is_numbered: database::split_statements(text).len() > 1 }
    }

    /// An error of a statement that begins there, as one of the text.
    fn failure(&self, error: Error, number: usize, start: usize) -> Failure {
        let error = match error.span() {
            Some(span) => {
                let moved = start as u32;
                error.moved_to(Span { start: span.start + moved, end: span.end + moved })
            }
            None => error,
        };
        if !self.is_numbered {
            return Failure::Error(error, Some(self.text.to_owned()));
        }
        let at = error.span().map_or(start, |span| span.start as usize).min(self.text.len());
        let line = self.text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Failure::Error(error.within(&format!("statement {number}, line {line}")), Some(self.text.to_owned()))
    }
}

pub(super) fn run(arguments: &QueryArguments) -> Outcome<()> {
    let text = given_text(arguments.query.as_deref())?;
    let graph = super::reach(&arguments.store, &arguments.opening, Access::ReadWriteExisting)?;
    let parameters = values::parameters(&arguments.parameters)?;
    let format = arguments.format.unwrap_or_else(format::default_format);
    let stats = if arguments.no_stats { Stats::Hide } else { Stats::Show };
    let manner = Manner { format, null: arguments.null.clone(), stats };
    let mut session = graph.session();
    run_text(&mut session, Script::whole(&text), &parameters, &manner)?;
    ended(&session)
}

/// The statements of the command line, or of standard input.
pub(super) fn given_text(query: Option<&str>) -> Outcome<String> {
    match query {
        Some(text) if text != "-" => Ok(text.to_owned()),
        _ => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes)?;
            String::from_utf8(bytes).map_err(|cause| not_utf8(cause.as_bytes()))
        }
    }
}

/// Fails if a transaction is open at the end of the input: what it wrote is lost.
pub(crate) fn ended(session: &Session) -> Outcome<()> {
    if !session.in_transaction() {
        return Ok(());
    }
    let message = "the input ends in an open transaction, which was rolled back";
    Err(Error::new(ErrorCode::TransactionState, message).with_remedy("end it with COMMIT, or with ROLLBACK").into())
}

/// Runs all statements of a text that have not been run, one after the other, until one fails; gives how many.
pub(crate) fn run_text(
    session: &mut Session,
    script: Script<'_>,
    parameters: &Parameters,
    manner: &Manner,
) -> Outcome<usize> {
    let rest = &script.text[script.start..];
    let statements = database::split_statements(rest);
    for (index, statement) in statements.iter().enumerate() {
        let start = script.start + (statement.as_ptr() as usize - rest.as_ptr() as usize);
        let outcome = run_statement(session, statement, parameters, manner);
        outcome.map_err(|failure| match failure {
            Failure::Error(error, _) => script.failure(error, script.statements + index + 1, start),
            other => other,
        })?;
        if signals::was_asked() && index + 1 < statements.len() {
            let number = script.statements + index + 1;
            return Err(Error::new(ErrorCode::Cancelled, format!("cancelled behind statement {number}")).into());
        }
    }
    Ok(statements.len())
}

/// Runs one statement.
fn run_statement(session: &mut Session, statement: &str, parameters: &Parameters, manner: &Manner) -> Outcome<()> {
    let format = manner.format;
    let mut printer = Printer::new(format, manner.null.clone(), BufWriter::new(std::io::stdout().lock()));
    settle(session)?;
    let cancelling = signals::cancel_with(session.interrupt());
    let interrupt = session.interrupt();
    let outcome = progress::watch_query(&interrupt, || session.run(statement, parameters, &mut printer));
    drop(cancelling);
    let finished = if outcome.is_ok() { printer.finish() } else { printer.abandon() };
    let summary = outcome.map_err(|failure| Failure::Error(failure, Some(statement.to_string())))?;
    finished?;
    if printer.closed {
        return Err(Failure::OutputClosed);
    }
    if let Some(report) = &summary.report {
        use std::io::Write;
        let mut out = std::io::stdout().lock();
        match format {
            Format::Json | Format::Jsonl => writeln!(out, "{}", report.json())?,
            Format::Table | Format::Csv => write!(out, "{}", report.text())?,
        }
        out.flush()?;
    }
    summary.hints.iter().take(HINTS_MAX).for_each(|hint| tell!("hint: {}", hint.message));
    if let Some(more) = summary.hints.len().checked_sub(HINTS_MAX).filter(|more| *more > 0) {
        tell!("hint: {more} hints more of this statement are not shown");
    }
    if manner.stats == Stats::Show {
        tell!("{}", stats_line(printer.rows, &summary));
    }
    Ok(())
}

/// Sees that the session has a place: the process that had the store may have ended. Ctrl-C ends that.
pub(crate) fn settle(session: &mut Session) -> Result<(), Error> {
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    session.settle(&interrupt)
}

/// Summary of a statement, in one line.
fn stats_line(rows: u64, summary: &StatementSummary) -> String {
    let counters = &summary.counters;
    let mut parts = vec![counted(rows, "row")];
    let changes = [
        (counters.nodes_created, "node", "created"),
        (counters.nodes_deleted, "node", "deleted"),
        (counters.edges_created, "edge", "created"),
        (counters.edges_deleted, "edge", "deleted"),
        (counters.properties_set, "propert", "set"),
        (counters.labels_added, "label", "added"),
        (counters.labels_removed, "label", "removed"),
        (counters.constraints_added, "constraint", "added"),
        (counters.constraints_removed, "constraint", "dropped"),
        (counters.indexes_added, "index", "added"),
        (counters.indexes_removed, "index", "dropped"),
        (counters.sort_keys_added, "sort key", "added"),
        (counters.sort_keys_removed, "sort key", "dropped"),
    ];
    for (count, noun, done) in changes.into_iter().filter(|(count, ..)| *count > 0) {
        parts.push(match noun {
            "propert" => format!("{count} propert{} {done}", if count == 1 { "y" } else { "ies" }),
            _ => format!("{} {done}", counted(count, noun)),
        });
    }
    format!("{} in {:.3} ms", parts.join(", "), summary.time_ns as f64 / 1e6)
}
