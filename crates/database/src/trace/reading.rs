//! Reader of a trace.
//!
//! Invariant: a line that is cut off is left out where its writer was killed or its disk was full: at the end, before the head of another
//! recording, and before a line that counts lost ones. Other damage is an error.

use std::io::{BufRead, BufReader};
use std::path::Path;

use model::{Error, Result, error};
use serde_json::Value as Json;

use super::{FORM, TraceEvent, TraceKind, parameters};
use crate::line_log::LOST_BEFORE;

/// The sign that some editors put at the beginning of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reader of a trace: its events, in the order in which they ended.
pub struct Trace {
    name: String,
    reader: BufReader<std::fs::File>,
    line: usize,
    is_begun: bool,
    is_over: bool,
    /// The error of a line that is cut off, until what follows says whether it may be.
    torn: Option<Error>,
    torn_lines: u64,
    lost: u64,
    /// Numbers of sessions, by their writer and their number there.
    sessions: model::Map<(String, u64), u64>,
}

impl Trace {
    /// Opens a trace.
    ///
    /// # Errors
    /// `FILE` if it cannot be read.
    pub fn open(path: &Path) -> Result<Trace> {
        let file = std::fs::OpenOptions::new().read(true).open(path);
        let file = file.map_err(|cause| Error::of_file(path, &cause))?;
        Ok(Trace {
            name: path.display().to_string(),
            reader: BufReader::new(file),
            line: 0,
            is_begun: false,
            is_over: false,
            torn: None,
            torn_lines: 0,
            lost: 0,
            sessions: model::Map::default(),
        })
    }

    /// Gaps of the part that was read: a sentence for each reason.
    pub fn gaps(&self) -> Vec<String> {
        let counted = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("{}: 1 {one}", self.name)),
            _ => Some(format!("{}: {count} {many}", self.name)),
        };
        let torn = counted(self.torn_lines, "line is cut off, and left out", "lines are cut off, and left out");
        let lost = counted(
            self.lost,
            "statement is missing, which could not be written as it was recorded",
            "statements are missing, which could not be written as they were recorded",
        );
        torn.into_iter().chain(lost).collect()
    }

    fn failure(&self, reason: &str) -> Error {
        error!(Argument, "{}, line {}: {reason}", self.name, self.line)
            .with_remedy("give a file that --record of this version wrote")
    }

    /// The next line; `None` at the end.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let count = self.reader.read_until(b'\n', &mut bytes);
        if count.map_err(|cause| Error::of_file(Path::new(&self.name), &cause))? == 0 {
            return Ok(None);
        }
        self.line += 1;
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        Ok(Some(bytes.trim_ascii_end().to_vec()))
    }

    /// Sees that there was a trace at all.
    fn end(&mut self) -> Result<()> {
        self.is_over = true;
        if self.is_begun {
            return Ok(());
        }
        Err(error!(Argument, "{} is no trace: it is empty", self.name)
            .with_remedy("give a file that --record of this version wrote"))
    }

    /// The content of a line; `None` for one that is empty or cut off.
    fn content(&mut self, text: &[u8]) -> Result<Option<Json>> {
        if text.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice::<Json>(text) {
            Ok(line) => {
                let lost = line.get(LOST_BEFORE).and_then(Json::as_u64).unwrap_or_default();
                self.lost += lost;
                match self.torn.take() {
                    Some(torn) if lost == 0 && line.get("form").is_none() => Err(torn),
                    _ => Ok(Some(line)),
                }
            }
            Err(cause) if cause.is_eof() && self.is_begun => {
                self.torn_lines += 1;
                let torn = self.failure(&format!("no JSON: {cause}"));
                self.torn.get_or_insert(torn);
                Ok(None)
            }
            Err(cause) => Err(self.failure(&format!("no JSON: {cause}"))),
        }
    }

    fn event(&mut self, line: &Json) -> Result<Option<TraceEvent>> {
        if let Some(form) = line.get("form") {
            self.is_begun = form.as_str() == Some(FORM);
            let reason = format!("expected the form '{FORM}', found {form}");
            return if self.is_begun { Ok(None) } else { Err(self.failure(&reason)) };
        }
        if !self.is_begun {
            return Err(self.failure(&format!("expected a first line with the form '{FORM}'")));
        }
        let number = |key: &str| line.get(key).and_then(Json::as_u64);
        let text = |key: &str| line.get(key).and_then(Json::as_str).unwrap_or_default();
        let missing = |key: &str| self.failure(&format!("'{key}' is missing or of another type"));
        let kind = TraceKind::of_name(text("kind"));
        let read = line.get("parameters").map(parameters::of_json).transpose();
        let parameters = read.map_err(|reason| self.failure(&reason))?.unwrap_or_default();
        let hash = u64::from_str_radix(text("hash"), 16).unwrap_or_default();
        let session = (text("writer").to_owned(), number("session").ok_or_else(|| missing("session"))?);
        let ns = number("ns").ok_or_else(|| missing("ns"))?;
        let at_us = line.get("atUs").and_then(Json::as_i64).ok_or_else(|| missing("atUs"))?;
        let next = self.sessions.len() as u64 + 1;
        Ok(Some(TraceEvent {
            at_us,
            session: *self.sessions.entry(session).or_insert(next),
            kind,
            text: text("statement").to_owned(),
            parameters,
            ns,
            rows: number("rows").unwrap_or_default(),
            hash,
            error: line.get("error").and_then(Json::as_str).map(str::to_owned),
        }))
    }
}

impl Iterator for Trace {
    type Item = Result<TraceEvent>;

    fn next(&mut self) -> Option<Result<TraceEvent>> {
        while !self.is_over {
            let event = match self.next_line() {
                Ok(Some(text)) => self.content(&text).and_then(|line| line.map_or(Ok(None), |line| self.event(&line))),
                Ok(None) => self.end().map(|()| None),
                Err(failure) => {
                    self.is_over = true;
                    Err(failure)
                }
            };
            if let Some(event) = event.transpose() {
                return Some(event);
            }
        }
        None
    }
}
