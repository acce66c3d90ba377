//! The records of a file of separated values as they are: strings, one record at a time, for `LOAD CSV`.

use std::io::Read;
use std::path::{Path, PathBuf};

use model::{Interrupt, Result, error};

use super::{ByteSource, file_error};

/// The records of a file, in order. Compressed files (`.gz`, `.zst`) are unpacked on the way.
pub struct Records {
    reader: csv::Reader<ByteSource>,
    path: PathBuf,
    record: csv::StringRecord,
    interrupt: Interrupt,
}

impl Read for ByteSource {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        ByteSource::read(self, buffer).map_err(|failure| std::io::Error::other(failure.message().to_owned()))
    }
}

impl Records {
    /// Opens a file whose fields are separated by that byte and may be quoted by `"`. A pipe is waited for until the
    /// interrupt says otherwise.
    pub fn open(path: &Path, delimiter: u8, interrupt: &Interrupt) -> Result<Records> {
        let source = ByteSource::open(path, interrupt)?;
        let reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(source);
        let (path, record) = (path.to_path_buf(), csv::StringRecord::new());
        Ok(Records { reader, path, record, interrupt: interrupt.clone() })
    }

    /// The line on which the next record starts, from 1, and its fields; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<(u64, impl Iterator<Item = &str>)>> {
        let found = self.reader.read_record(&mut self.record).map_err(|failure| self.failed(failure))?;
        let line = self.record.position().map_or(0, csv::Position::line);
        let start = line == 1;
        let fields = self.record.iter().enumerate();
        let fields = fields.map(
            move |(at, field)| {
                if start && at == 0 { field.strip_prefix('\u{feff}').unwrap_or(field) } else { field }
            },
        );
        Ok(found.then_some((line, fields)))
    }

    fn failed(&self, failure: csv::Error) -> model::Error {
        if let Err(stopped) = self.interrupt.check() {
            return stopped;
        }
        let line = failure.position().map_or_else(String::new, |at| format!(", line {}", at.line()));
        let place = format!("{}{line}", self.path.display());
        match failure.into_kind() {
            csv::ErrorKind::Io(cause) if cause.get_ref().is_some() => error!(File, "{cause}"),
            csv::ErrorKind::Io(cause) => file_error(&self.path, &cause),
            csv::ErrorKind::Utf8 { .. } => error!(Import, "{place}: the text is not UTF-8"),
            other => error!(Import, "{place}: {other:?}"),
        }
    }
}
