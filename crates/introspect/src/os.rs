//! The operating system: time, the page cache, and files that are read past it.
//!
//! The only file of this crate that opens files to measure them and looks at the clock.
#![allow(clippy::disallowed_methods, reason = "what is measured here is the operating system itself")]

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use model::platform::Clock;

/// Alignment of memory, offsets and lengths that reads past the page cache need.
pub(crate) const ALIGNMENT: usize = 4096;

/// The clock of the machine. It goes on while databases are closed and opened.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    fn unix_us(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as i64)
    }
}

/// Drops the pages of all files of a folder from the page cache; true if the system takes such advice.
pub(crate) fn forget_files(folder: &Path) -> io::Result<bool> {
    let mut is_taken = cfg!(target_os = "linux");
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            is_taken &= forget(&File::open(path)?);
        }
    }
    Ok(is_taken)
}

/// Drops the pages of a file from the page cache; true if the system takes such advice.
pub(crate) fn forget_file(file: &Path) -> io::Result<bool> {
    Ok(forget(&File::open(file)?))
}

#[cfg(target_os = "linux")]
fn forget(file: &File) -> bool {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn forget(_file: &File) -> bool {
    false
}

/// A file without a name, so that it is gone with the process, whatever ends it.
pub(crate) struct ScratchFile {
    /// The file, to write.
    pub(crate) writer: File,
    /// The same file, to read.
    pub(crate) reader: File,
    /// The way in which reads avoid the page cache.
    pub(crate) method: &'static str,
}

impl ScratchFile {
    /// Makes a file in a folder.
    pub(crate) fn new(folder: &Path) -> io::Result<ScratchFile> {
        let path = folder.join(format!(".knot-introspect-{}.tmp", std::process::id()));
        let writer = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let opened = open_direct(&path).map(|reader| (reader, "direct"));
        let opened = opened.or_else(|_| File::open(&path).map(|reader| (reader, "dropped")));
        std::fs::remove_file(&path)?;
        let (reader, mut method) = opened?;
        if method == "dropped" && !forget(&writer) {
            method = "cached";
        }
        Ok(ScratchFile { writer, reader, method })
    }

    /// Drops what was written from the page cache.
    pub(crate) fn forget(&self) {
        forget(&self.writer);
    }
}

#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_path: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads all bytes at a place.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, out: &mut [u8], start: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    file.read_exact_at(out, start)
}

#[cfg(not(unix))]
pub(crate) fn read_at(mut file: &File, out: &mut [u8], start: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(out)
}

/// A line of a file of the system, such as `/proc/loadavg`; empty where there is none.
pub(crate) fn line_of(path: &str, start: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(start));
    line.unwrap_or_default().trim_start_matches([' ', '\t', ':']).trim().to_owned()
}
