//! `knot query`: statements from the command line or standard input, their rows to standard output.

use std::io::{BufWriter, Read};

use database::{Access, Parameters, Session, StatementSummary};

use crate::arguments::{Format, QueryArguments};
use crate::failure::{Failure, Outcome};
use crate::format::{self, Printer, counted};
use crate::{progress, signals, values};

/// Whether counts and times go to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stats {
    /// They do.
    Show,
    /// They do not.
    Hide,
}

pub(super) fn run(arguments: &QueryArguments) -> Outcome<()> {
    let text = match &arguments.query {
        Some(text) if text != "-" => text.clone(),
        _ => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    let database = super::open_as(&arguments.store, &arguments.opening, Access::ReadWriteExisting)?;
    let parameters = values::parameters(&arguments.parameters)?;
    let format = arguments.format.unwrap_or_else(format::default_format);
    let stats = if arguments.no_stats { Stats::Hide } else { Stats::Show };
    run_text(&mut database.session(), &text, &parameters, format, stats)
}

/// Runs all statements of a text, one after the other, until one fails.
pub(crate) fn run_text(
    session: &mut Session,
    text: &str,
    parameters: &Parameters,
    format: Format,
    stats: Stats,
) -> Outcome<()> {
    for statement in database::split_statements(text) {
        run_statement(session, statement, parameters, format, stats)?;
    }
    Ok(())
}

/// Runs one statement.
pub(crate) fn run_statement(
    session: &mut Session,
    statement: &str,
    parameters: &Parameters,
    format: Format,
    stats: Stats,
) -> Outcome<()> {
    let mut printer = Printer::new(format, BufWriter::new(std::io::stdout().lock()));
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
    summary.hints.iter().for_each(|hint| eprintln!("hint: {}", hint.message));
    if stats == Stats::Show {
        eprintln!("{}", stats_line(printer.rows, &summary));
    }
    Ok(())
}

/// What a statement did, in one line.
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
