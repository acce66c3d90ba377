//! A file of lines of JSON, to which several processes may add.
//!
//! Invariant: nothing fails because a line cannot be written. Lines that are lost are counted in the next one.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use model::{Error, Result};
use serde_json::{Map, Value as Json};

/// A file of lines of JSON.
#[derive(Debug)]
pub struct LineLog {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Lines that could not be written since the last one that was.
    lost: u64,
    /// True if a part of a line stands at the end of the file.
    is_torn: bool,
}

impl LineLog {
    /// Opens a file, which is made if it is missing, with rights for its user alone. Lines are added at its end.
    ///
    /// # Errors
    /// `FILE` if it cannot be written.
    pub fn open(path: &Path) -> Result<LineLog> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let of_file = |cause| Error::of_file(path, &cause);
        let mut file = options.open(path).map_err(of_file)?;
        let is_torn = is_torn(&mut file).map_err(of_file)?;
        let state = Mutex::new(State { file, lost: 0, is_torn });
        Ok(LineLog { path: path.to_path_buf(), state })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line.
    pub fn write(&self, mut line: Map<String, Json>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.lost > 0 {
            line.insert("lostBefore".into(), state.lost.into());
        }
        let start = if state.is_torn { "\n" } else { "" };
        let bytes = format!("{start}{}\n", Json::Object(line)).into_bytes();
        // All at once, so that lines of several processes do not mix.
        let written = loop {
            match state.file.write(&bytes) {
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                written => break written.unwrap_or(0),
            }
        };
        if written == bytes.len() {
            (state.lost, state.is_torn) = (0, false);
        } else {
            state.lost += 1;
            state.is_torn |= written > 0;
        }
    }
}

/// True if a file ends within a line.
fn is_torn(file: &mut File) -> std::io::Result<bool> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
