//! The operating system behind `model::platform`: files by `std::fs`, mapping by `memmap2`, clock and random seeds.
//!
//! The only file that touches the disk, the clock or randomness. It needs `unsafe` for memory maps.
#![allow(unsafe_code, reason = "mapping a file is unsafe; see the comment at the call")]
#![allow(clippy::disallowed_methods, reason = "this is the file that the lint points to")]

use std::any::Any;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::{Advice, UncheckedAdvice};
use model::limits::{MEMORY_BYTES_FALLBACK, MEMORY_BYTES_MIN, MEMORY_SHARE};
use model::platform::{Clock, Disk, MappedFile, Platform, Random, TemporaryFile, WriteFile};

/// The real platform.
pub fn platform() -> Platform {
    let start = SystemClock { start: Instant::now() };
    let random = SystemRandom { state: AtomicU64::new(RandomState::new().build_hasher().finish()) };
    Platform { disk: Arc::new(SystemDisk), clock: Arc::new(start), random: Arc::new(random) }
}

/// The memory that a database may use unless told otherwise: a share of [`memory`].
pub fn memory_limit() -> usize {
    let (part, whole) = MEMORY_SHARE;
    memory().map_or(MEMORY_BYTES_FALLBACK, |all| all / whole * part).max(MEMORY_BYTES_MIN)
}

/// Bytes that the machine has, or that the control group of this process allows, whichever is less; where it can be told.
pub fn memory() -> Option<usize> {
    [machine_memory(), group_memory()].into_iter().flatten().min()
}

/// Bytes of memory of this machine, where it tells.
fn machine_memory() -> Option<usize> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()? << 10)
}

/// The least memory limit of the control groups that hold this process, where there is one.
fn group_memory() -> Option<usize> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, kinds, path) = (fields.next()?, fields.next()?, fields.next()?);
        let (root, name) = match kinds.split(',').any(|kind| kind == "memory") {
            true => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            false if number == "0" && kinds.is_empty() => ("/sys/fs/cgroup", "memory.max"),
            false => return None,
        };
        // A group's own limit and those of the groups around it all hold; a container sees its own group as the root.
        let own = Path::new(root).join(path.trim_start_matches('/'));
        let around = own.ancestors().take_while(|folder| folder.starts_with(root));
        let read = |folder: &Path| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        around.filter_map(read).min()
    });
    limits.min().and_then(|limit| usize::try_from(limit).ok())
}

/// The files of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

/// A file being written through its descriptor; callers buffer.
struct SystemFile(File);

impl Write for SystemFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl WriteFile for SystemFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn forget(&mut self) {
        // Advice that fails changes nothing that can be observed.
        let _ = rustix::fs::fadvise(&self.0, 0, None, rustix::fs::Advice::DontNeed);
    }
}

/// The directory for temporary files where the store's own cannot be written.
pub fn temporary_directory() -> PathBuf {
    std::env::temp_dir()
}

/// A file that has no name. Its position is shared: where reads cannot name theirs, one thread at a time moves it.
struct SystemTemporaryFile {
    #[cfg(unix)]
    file: File,
    #[cfg(not(unix))]
    file: std::sync::Mutex<File>,
    end: u64,
}

#[cfg(unix)]
impl TemporaryFile for SystemTemporaryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, start)?;
        self.end = self.end.max(start + bytes.len() as u64);
        Ok(())
    }

    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, start)
    }

    #[cfg(target_os = "linux")]
    fn forget(&self, bytes: Range<u64>) {
        let length = std::num::NonZeroU64::new(bytes.end.saturating_sub(bytes.start));
        if length.is_some() {
            // Advice that fails changes nothing that can be observed.
            let _ = rustix::fs::fadvise(&self.file, bytes.start, length, rustix::fs::Advice::DontNeed);
        }
    }
}

#[cfg(not(unix))]
impl TemporaryFile for SystemTemporaryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        file.write_all(bytes)?;
        self.end = self.end.max(start + bytes.len() as u64);
        Ok(())
    }

    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(out)
    }
}

/// A mapped file; an empty file has no map.
struct SystemMap {
    map: Option<Mmap>,
    path: PathBuf,
}

impl MappedFile for SystemMap {
    fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }

    #[cfg(unix)]
    fn advise_random(&self) {
        if let Some(map) = &self.map {
            // Advice that fails changes nothing that can be observed.
            let _ = map.advise(Advice::Random);
        }
    }

    #[cfg(unix)]
    fn evict(&self, ranges: &[Range<usize>]) {
        let Some(map) = &self.map else { return };
        for range in ranges {
            // SAFETY: the map is of a file and never written through, so a page that is dropped and touched again has
            // the bytes of the file again.
            let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len()) };
        }
        // A file that was removed meanwhile leaves the page cache with its last map.
        #[cfg(target_os = "linux")]
        if let Ok(file) = File::open(&self.path) {
            for range in ranges {
                let length = std::num::NonZeroU64::new(range.len() as u64);
                let _ = rustix::fs::fadvise(&file, range.start as u64, length, rustix::fs::Advice::DontNeed);
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn populate(&self, start: usize, length: usize) -> io::Result<()> {
        let Some(map) = &self.map else { return Ok(()) };
        match map.advise_range(Advice::PopulateRead, start, length.min(map.len().saturating_sub(start))) {
            // Older kernels do not know this advice.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }

    #[cfg(unix)]
    fn will_need(&self, start: usize, length: usize) {
        if let Some(map) = &self.map
            && start < map.len()
        {
            // Advice that fails changes nothing that can be observed.
            let _ = map.advise_range(Advice::WillNeed, start, length.min(map.len() - start));
        }
    }
}

impl Disk for SystemDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(Box::new(SystemFile(file)))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        let file = OpenOptions::new().append(true).open(path)?;
        file.set_len(length)?;
        Ok(Box::new(SystemFile(file)))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn read_range(&self, path: &Path, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Arc::new(SystemMap { map: None, path: path.to_owned() }));
        }
        // SAFETY: published files are never changed or cut by this program, and the store's lock keeps other
        // processes of it away; readers compare the length with the manifest before they touch the map.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Arc::new(SystemMap { map: Some(map), path: path.to_owned() }))
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        fs::metadata(path).map(|metadata| metadata.len())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            // A name that is not Unicode is none of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn temporary(&self, directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        let file = tempfile::tempfile_in(directory)?;
        #[cfg(not(unix))]
        let file = std::sync::Mutex::new(file);
        Ok(Box::new(SystemTemporaryFile { file, end: 0 }))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        lock_with(path, File::try_lock)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        lock_with(path, File::try_lock_shared)
    }

    fn lock_holder(&self, path: &Path) -> Option<String> {
        // The file may be of another program, or of a process that was killed and whose successor could not write it.
        let text = fs::read_to_string(path).ok().filter(|text| text.len() <= HOLDER_BYTES_MAX)?;
        let (pid, command) = text.trim_end().split_once(' ')?;
        let pid: u32 = pid.parse().ok()?;
        if pid == std::process::id() {
            return Some("this process".to_owned());
        }
        let is_gone = Path::new("/proc/self").exists() && !Path::new("/proc").join(pid.to_string()).exists();
        (!is_gone).then(|| format!("process {pid} ({command})"))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }
}

/// Opens the file of a lock, made if need be, and tries to take it.
fn lock_with(path: &Path, take: fn(&File) -> Result<(), fs::TryLockError>) -> io::Result<Box<dyn Any + Send + Sync>> {
    let writable = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    // Where nothing can be written, what is there, or else the directory, can be locked as well.
    let file = match writable {
        Err(error) if is_read_only(&error) => {
            File::open(path).or_else(|_| File::open(path.parent().unwrap_or(path)))?
        }
        outcome => outcome?,
    };
    match take(&file) {
        Ok(()) => {
            describe_holder(&file);
            Ok(Box::new(file))
        }
        Err(fs::TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Bytes of the longest description of a lock's holder.
const HOLDER_BYTES_MAX: usize = 512;

/// Writes into a lock who holds it, for the message to whoever comes in vain. The lock holds without it.
fn describe_holder(mut file: &File) {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    let command: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(100).collect();
    let mut text = format!("{} {command}", std::process::id());
    // Written over what the holder before left, with spaces for the rest: to cut the file takes file systems a millisecond.
    let before = file.metadata().map_or(0, |metadata| metadata.len() as usize);
    if before > HOLDER_BYTES_MAX {
        let _ = file.set_len(0);
    } else {
        text.extend(std::iter::repeat_n(' ', before.saturating_sub(text.len() + 1)));
    }
    text.push('\n');
    let _ = file.write_all(text.as_bytes());
}

/// The monotonic clock of the operating system.
#[derive(Debug)]
struct SystemClock {
    start: Instant,
}

impl Clock for SystemClock {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn unix_us(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
    }
}

/// A splitmix64 sequence from a seed that the operating system gave.
#[derive(Debug)]
struct SystemRandom {
    state: AtomicU64,
}

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        crate::codec::hash::mix(self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed))
    }
}
