//! Rows that cannot be imported: the first one stops the import, or all are written to a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use model::{Error, ErrorCode, Result, error};
use sources::files::BadRow;

use super::OnBadRow;

/// Takes bad rows from all threads.
pub(crate) struct BadRows {
    sink: Mutex<Sink>,
}

struct Sink {
    writer: Option<csv::Writer<std::fs::File>>,
    place: String,
    /// Bad rows that were written down, by file.
    counts: BTreeMap<PathBuf, u64>,
    /// The bad row with the lowest line, when bad rows stop the import.
    first: Option<(u64, Error)>,
}

impl BadRows {
    pub(crate) fn new(choice: &OnBadRow) -> Result<BadRows> {
        let mut sink = Sink { writer: None, place: String::new(), counts: BTreeMap::new(), first: None };
        if let OnBadRow::Skip(path) = choice {
            sink.place = path.display().to_string();
            let writer = csv::Writer::from_path(path).map_err(|cause| error!(File, "{}: {cause}", sink.place))?;
            sink.writer = Some(writer);
            sink.write(&["file", "line", "column", "reason", "text"])?;
        }
        Ok(BadRows { sink: Mutex::new(sink) })
    }

    /// Writes rows down, or fails with the first of them.
    pub(crate) fn take(&self, file: &Path, rows: &[BadRow]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (path, file) = (file, file.display().to_string());
        let mut sink = self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for row in rows {
            if sink.writer.is_some() {
                *sink.counts.entry(path.to_path_buf()).or_default() += 1;
                let line = row.line.to_string();
                sink.write(&[&file, &line, row.column.as_deref().unwrap_or(""), &row.reason, &row.text])?;
            } else if sink.first.as_ref().is_none_or(|(line, _)| row.line < *line) {
                sink.first = Some((row.line, to_error(&file, row)));
            }
        }
        match &sink.first {
            Some(_) => Err(error!(Import, "a bad row stopped the import")),
            None => Ok(()),
        }
    }

    /// The error to report when an import failed: the bad row with the lowest line, if there was one.
    pub(crate) fn cause_of(&self, failure: Error) -> Error {
        let mut sink = self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        sink.first.take().map_or(failure, |(_, error)| error)
    }

    pub(crate) fn finish(&self) -> Result<()> {
        let mut sink = self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let place = sink.place.clone();
        match &mut sink.writer {
            Some(writer) => writer.flush().map_err(|cause| error!(File, "{place}: {cause}")),
            None => Ok(()),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner).counts.values().sum()
    }

    pub(crate) fn count_of(&self, file: &Path) -> u64 {
        self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner).counts.get(file).copied().unwrap_or(0)
    }
}

impl Sink {
    fn write(&mut self, fields: &[&str]) -> Result<()> {
        let place = &self.place;
        match &mut self.writer {
            Some(writer) => writer.write_record(fields).map_err(|cause| error!(File, "{place}: {cause}")),
            None => Ok(()),
        }
    }
}

fn to_error(file: &str, row: &BadRow) -> Error {
    let column = row.column.as_ref().map_or_else(String::new, |name| format!(" column '{name}':"));
    let usual = "mend the row, or pass --skip-bad FILE to leave bad rows out; the store is as it was";
    Error::new(ErrorCode::Import, format!("{file}: line {}:{column} {}", row.line, row.reason))
        .with_remedy(row.remedy.as_deref().unwrap_or(usual))
}
