//! Cuts a text file into chunks of whole records, so that they can be parsed at the same time.
//!
//! Invariant: a chunk starts at the start of a record; within quotes a line end is not a record's end.
//! Cost: two scans of the bytes for quotes and line ends.

use std::path::Path;
use std::sync::Mutex;

use model::{Interrupt, Result, error};

use super::{ByteSource, Chunk};

/// Approximate bytes of a chunk.
const CHUNK_BYTES: usize = 1 << 20;
/// The longest record, in bytes: what an unclosed quote may swallow before it is called one.
const RECORD_BYTES_MAX: usize = 16 << 20;

/// A text file being cut.
pub(crate) struct TextChunks {
    source: ByteSource,
    state: Mutex<State>,
    quote: Option<u8>,
}

struct State {
    /// The first chunk, once it was read to learn the columns, until it is given out.
    put_back: Option<Chunk>,
    rest: Vec<u8>,
    line: u64,
    ended: bool,
    started: bool,
}

impl TextChunks {
    pub(crate) fn open(path: &Path, quote: Option<u8>, interrupt: &Interrupt) -> Result<TextChunks> {
        let state = State { put_back: None, rest: Vec::new(), line: 1, ended: false, started: false };
        Ok(TextChunks { source: ByteSource::open(path, interrupt)?, state: Mutex::new(state), quote })
    }

    pub(crate) fn progress(&self) -> (u64, u64) {
        self.source.progress()
    }

    /// Gives a chunk back, to be the next one.
    pub(crate) fn put_back(&self, chunk: Option<Chunk>) {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).put_back = chunk;
    }

    /// The next chunk; `None` at the end of the file.
    pub(crate) fn next(&self) -> Result<Option<Chunk>> {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(chunk) = state.put_back.take() {
            return Ok(Some(chunk));
        }
        let mut bytes = std::mem::take(&mut state.rest);
        loop {
            if !state.ended {
                let before = bytes.len();
                bytes.resize(before + CHUNK_BYTES, 0);
                let count = self.source.read(&mut bytes[before..])?;
                bytes.truncate(before + count);
                state.ended = count < CHUNK_BYTES;
            }
            if !state.started {
                state.started = true;
                if bytes.starts_with(b"\xEF\xBB\xBF") {
                    bytes.drain(..3);
                }
                if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
                    return Err(error!(Import, "the file is UTF-16").with_remedy("convert it to UTF-8"));
                }
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            let cut = if state.ended { Some(bytes.len()) } else { self.last_record_end(&bytes) };
            if let Some(cut) = cut {
                state.rest = bytes.split_off(cut);
                let first_line = state.line;
                state.line += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
                return Ok(Some(Chunk::Text { bytes, first_line }));
            }
            if bytes.len() > RECORD_BYTES_MAX {
                let remedy = "close the quote, or pass --quote none if quotes mean nothing in this file";
                return Err(error!(
                    Import,
                    "line {}: a record is longer than 16 MiB: is a quote left open?", state.line
                )
                .with_remedy(remedy));
            }
        }
    }

    /// The end of the last whole record: the position after the last line end that is outside quotes.
    fn last_record_end(&self, bytes: &[u8]) -> Option<usize> {
        let quotes = self.quote.map_or(0, |quote| bytes.iter().filter(|&&byte| byte == quote).count());
        if quotes == 0 {
            return bytes.iter().rposition(|&byte| byte == b'\n').map(|at| at + 1);
        }
        // A doubled quote inside quotes flips twice, so that counting flips is enough.
        let mut inside = false;
        let mut end = None;
        for (at, &byte) in bytes.iter().enumerate() {
            if Some(byte) == self.quote {
                inside = !inside;
            } else if byte == b'\n' && !inside {
                end = Some(at + 1);
            }
        }
        end
    }
}
