//! A file of lines of JSON, to which several processes may add.
//!
//! Invariant: nothing fails because a line cannot be written. Lines that are lost are counted in the next one, and told once.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use model::{Error, Result, error};
use serde_json::{Map, Value as Json};

/// The key of the number of lines that were lost before one.
pub const LOST_BEFORE: &str = "lostBefore";

/// A file of lines of JSON.
#[derive(Debug)]
pub struct LineLog {
    path: PathBuf,
    state: Mutex<State>,
    /// The way to say that lines are lost.
    tell: OnceLock<fn(&str)>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Bytes still to be written of the line with which the file begins.
    head: Vec<u8>,
    /// Lines that could not be written since the last one that was.
    lost: u64,
    /// Lines that could not be written at all.
    lost_in_all: u64,
    /// True if a part of a line stands at the end of the file.
    is_torn: bool,
}

impl LineLog {
    /// Opens a file, which is made if it is missing, with rights for its user alone. Lines are added at its end.
    ///
    /// # Errors
    /// `FILE` if it cannot be written.
    pub fn open(path: &Path) -> Result<LineLog> {
        LineLog::open_headed(path, "")
    }

    /// Opens a file likewise whose first line is a head, which is written again in front of the lines that are added.
    ///
    /// # Errors
    /// As those of [`LineLog::open`]; `ARGUMENT` if the file begins with something else.
    pub fn open_headed(path: &Path, head: &str) -> Result<LineLog> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let of_file = |cause| Error::of_file(path, &cause);
        let mut file = options.open(path).map_err(of_file)?;
        let begun = if head.is_empty() { Begun::Well } else { begun(&mut file, head).map_err(of_file)? };
        let (left, is_torn) = match begun {
            Begun::Well => (head, is_torn(&mut file).map_err(of_file)?),
            Begun::Partly(bytes) => (&head[bytes..], false),
            Begun::Otherwise => {
                let refused = error!(Argument, "{}: its first line is not {head}: nothing is added", path.display());
                return Err(refused.with_remedy("name a new file, or one that begins so"));
            }
        };
        let end = if head.is_empty() { "" } else { "\n" };
        let mut state = State { file, head: [left, end].concat().into(), lost: 0, lost_in_all: 0, is_torn };
        if !state.head.is_empty() {
            // Bytes that cannot be written now are tried again in front of the first line.
            let _ = state.append(b"");
        }
        Ok(LineLog { path: path.to_path_buf(), state: Mutex::new(state), tell: OnceLock::new() })
    }

    /// Says by this function from now on, once, that lines are lost, and how many at the end.
    #[must_use]
    pub fn telling(self, tell: fn(&str)) -> LineLog {
        let _ = self.tell.set(tell);
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line.
    pub fn write(&self, mut line: Map<String, Json>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.lost > 0 {
            line.insert(LOST_BEFORE.into(), state.lost.into());
        }
        let Err(cause) = state.append(format!("{}\n", Json::Object(line)).as_bytes()) else {
            state.lost = 0;
            return;
        };
        state.lost += 1;
        state.lost_in_all += 1;
        let is_first = state.lost_in_all == 1;
        drop(state);
        if let Some(tell) = self.tell.get().filter(|_| is_first) {
            let name = self.path.display();
            tell(&format!(
                "warning: {name}: {cause}: lines are lost, until there is room; the next one counts them (lostBefore)"
            ));
        }
    }
}

impl Drop for LineLog {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(tell) = self.tell.get().filter(|_| state.lost_in_all > 0) {
            let lines = if state.lost_in_all == 1 { "line" } else { "lines" };
            tell(&format!("note: {}: {} {lines} could not be written", self.path.display(), state.lost_in_all));
        }
    }
}

impl State {
    /// Adds bytes, and what must stand before them, all at once, so that lines of several processes do not mix.
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let end = if self.is_torn { &b"\n"[..] } else { b"" };
        let bytes = [end, &self.head, line].concat();
        let written = loop {
            match self.file.write(&bytes) {
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                written => break written,
            }
        };
        let count = *written.as_ref().unwrap_or(&0);
        let of_line = count.saturating_sub(end.len() + self.head.len());
        let of_head = count.saturating_sub(end.len()).min(self.head.len());
        self.head.drain(..of_head);
        self.is_torn = of_line > 0 && of_line < line.len() || self.is_torn && count == 0;
        match written {
            Ok(count) if count == bytes.len() => Ok(()),
            Ok(_) => {
                Err(io::Error::new(ErrorKind::StorageFull, "a part of a line was written only, as on a full disk"))
            }
            Err(cause) => Err(cause),
        }
    }
}

/// The beginning of a file.
enum Begun {
    /// Nothing, or the head.
    Well,
    /// So many bytes of the head, and nothing else.
    Partly(usize),
    Otherwise,
}

fn begun(file: &mut File, head: &str) -> io::Result<Begun> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(Begun::Well);
    }
    let mut first = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    Read::by_ref(file).take(2 * head.len() as u64).read_to_end(&mut first)?;
    if first.len() < head.len() && head.as_bytes().starts_with(&first) {
        return Ok(Begun::Partly(first.len()));
    }
    // Editors of some systems put a mark at the beginning of a file.
    let first = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&first);
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    Ok(if line == head.as_bytes() { Begun::Well } else { Begun::Otherwise })
}

/// True if a file ends within a line.
fn is_torn(file: &mut File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::OpenOptions;
    use std::path::Path;

    use serde_json::Map;

    use super::LineLog;

    #[test]
    fn lines_that_are_lost_are_counted_once() {
        let folder = testing::Folder::new();
        let path = folder.join("log");
        let log = LineLog::open_headed(Path::new("/dev/full"), "{}").unwrap();
        (0..3).for_each(|_| log.write(Map::new()));
        log.state.lock().unwrap().file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        (0..2).for_each(|_| log.write(Map::new()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n{\"lostBefore\":3}\n{}\n");
    }
}
