//! Rows as table, CSV, JSON or JSON lines, written as they come.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use comfy_table::{Cell, CellAlignment, Table, presets};
use database::rendering;
use database::result::{Entities, ResultBatch};
use database::session::ResultSink;
use database::{Error, ErrorCode, Result, Value};

use crate::arguments::Format;

/// Rows of a table that are laid out together; longer results come in several tables of one width each.
const TABLE_ROWS: usize = 1_000;

/// The format to use when none is asked for.
pub(crate) fn default_format() -> Format {
    if std::io::stdout().is_terminal() { Format::Table } else { Format::Csv }
}

/// Writes rows in one of the formats.
pub(crate) struct Printer<W: Write> {
    format: Format,
    /// The text that stands for null in CSV; an empty field without it.
    null: Option<String>,
    out: W,
    names: Vec<Arc<str>>,
    table: Option<Table>,
    /// Rows so far.
    pub(crate) rows: u64,
    /// True if standard output was closed by its reader.
    pub(crate) closed: bool,
}

impl<W: Write> Printer<W> {
    pub(crate) fn new(format: Format, null: Option<String>, out: W) -> Printer<W> {
        Printer { format, null, out, names: Vec::new(), table: None, rows: 0, closed: false }
    }

    /// Writes what is left, once the statement has ended well: at least a header.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        if self.rows == 0 && !self.names.is_empty() {
            outcome = self.header();
        }
        let outcome = outcome.and_then(|()| match self.format {
            Format::Json if self.rows == 0 && !self.names.is_empty() => self.out.write_all(b"[]\n"),
            _ => self.close(),
        });
        self.settle(outcome).map(|_| ())
    }

    /// Writes what is left of rows that were given before the statement failed.
    pub(crate) fn abandon(&mut self) -> Result<()> {
        let outcome = if self.rows > 0 { self.close() } else { Ok(()) };
        self.settle(outcome).map(|_| ())
    }

    fn close(&mut self) -> std::io::Result<()> {
        match self.format {
            Format::Table => self.print_table()?,
            Format::Json if self.rows > 0 => self.out.write_all(b"\n]\n")?,
            _ => {}
        }
        self.out.flush()
    }

    /// Turns a failed write into an error, and a closed pipe into the wish for no more rows.
    fn settle(&mut self, outcome: std::io::Result<()>) -> Result<bool> {
        match outcome {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(false)
            }
            Err(cause) => Err(Error::new(ErrorCode::File, format!("cannot write the output: {cause}"))),
        }
    }

    fn header(&mut self) -> std::io::Result<()> {
        match self.format {
            Format::Csv => write_csv(&mut self.out, self.names.iter().map(|name| Some(name.to_string())), ""),
            Format::Table => {
                self.table = Some(new_table(&self.names));
                Ok(())
            }
            Format::Json | Format::Jsonl => Ok(()),
        }
    }

    fn row(&mut self, row: &[Value], entities: &Entities) -> std::io::Result<()> {
        if self.rows == 0 {
            self.header()?;
        }
        self.rows += 1;
        match self.format {
            Format::Table => {
                let cells = row.iter().map(|value| cell(value, entities));
                if let Some(table) = &mut self.table {
                    table.add_row(cells.collect::<Vec<_>>());
                }
                if self.rows.is_multiple_of(TABLE_ROWS as u64) { self.print_table() } else { Ok(()) }
            }
            Format::Csv => {
                // An absent value is an empty field, and an empty text one in quotes, as import reads them.
                let fields = row.iter().map(|value| match value {
                    Value::Null => None,
                    other => Some(rendering::text(other, entities)),
                });
                write_csv(&mut self.out, fields, self.null.as_deref().unwrap_or_default())
            }
            Format::Json | Format::Jsonl => self.json_row(row, entities),
        }
    }

    fn json_row(&mut self, row: &[Value], entities: &Entities) -> std::io::Result<()> {
        let entries = self.names.iter().zip(row);
        let object: serde_json::Map<_, _> =
            entries.map(|(name, value)| (name.to_string(), rendering::to_json(value, entities))).collect();
        let object = serde_json::Value::Object(object);
        match self.format {
            Format::Json => write!(self.out, "{}  {object}", if self.rows == 1 { "[\n" } else { ",\n" }),
            _ => writeln!(self.out, "{object}"),
        }
    }

    fn print_table(&mut self) -> std::io::Result<()> {
        let Some(table) = self.table.take() else {
            return Ok(());
        };
        if table.row_count() > 0 || self.rows == 0 {
            writeln!(self.out, "{table}")?;
        }
        self.table = Some(new_table(&self.names));
        Ok(())
    }
}

impl<W: Write> ResultSink for Printer<W> {
    fn columns(&mut self, names: &[Arc<str>]) -> Result<()> {
        self.names = names.to_vec();
        Ok(())
    }

    fn rows(&mut self, batch: ResultBatch) -> Result<bool> {
        if self.closed {
            return Ok(false);
        }
        for row in 0..batch.rows {
            // A row may have thousands of nodes to write out.
            model::interrupt::check_this_thread()?;
            let values: Vec<Value> = batch.columns.iter().map(|column| column.value(row)).collect();
            let outcome = self.row(&values, &batch.entities);
            if !self.settle(outcome)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn new_table(names: &[Arc<str>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
    table
}

fn cell(value: &Value, entities: &Entities) -> Cell {
    let cell = Cell::new(rendering::text(value, entities));
    match value {
        Value::Int(_) | Value::Float(_) => cell.set_alignment(CellAlignment::Right),
        _ => cell,
    }
}

fn write_csv(out: &mut impl Write, fields: impl Iterator<Item = Option<String>>, null: &str) -> std::io::Result<()> {
    let mut line = String::new();
    rendering::push_csv_record(&mut line, fields, b',', null);
    out.write_all(line.as_bytes())
}

/// A count and what is counted: `1 node`, `2 nodes`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
