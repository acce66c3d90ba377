//! The operating system behind `model::platform`: files by `std::fs`, mapping by `memmap2`, clock and random seeds.
//!
//! The only file that touches the disk, the clock or randomness. It needs `unsafe` for memory maps.
//!
//! - [`faults`]: reads of maps that fail.
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

#[cfg(unix)]
mod faults;

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::{Advice, UncheckedAdvice};
use model::limits::{MEMORY_BYTES_FALLBACK, MEMORY_BYTES_MIN, MEMORY_SHARE};
use model::mix::{SPLITMIX_STEP, mix64};
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

/// Has the allocator give memory that is free back to the operating system. That of glibc keeps it otherwise, in a heap for each
/// few threads.
pub(crate) fn give_back_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes no pointer, and may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
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

    fn map(&self) -> io::Result<Option<Arc<dyn MappedFile>>> {
        if self.end == 0 {
            return Ok(Some(Arc::new(SystemMap::new(None, Path::new("")))));
        }
        // SAFETY: the file has no name, so that no other process can change it, and its maker writes no more once it is
        // mapped.
        let map = unsafe { Mmap::map(&self.file)? };
        Ok(Some(Arc::new(SystemMap::new(Some(map), Path::new("")))))
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

/// A mapped file; an empty file has no map, a file without a name no path.
struct SystemMap {
    /// Dropped before the map.
    #[cfg(unix)]
    watch: Option<faults::Watch>,
    map: Option<Mmap>,
    path: PathBuf,
}

impl SystemMap {
    fn new(map: Option<Mmap>, path: &Path) -> SystemMap {
        SystemMap {
            #[cfg(unix)]
            watch: map.as_deref().map(faults::Watch::over),
            map,
            path: path.to_owned(),
        }
    }
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
            // A read of the page itself would end with the signal SIGBUS.
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) => Err(unreadable()),
            result => result,
        }
    }

    #[cfg(unix)]
    fn lost(&self) -> Option<(usize, io::Error)> {
        let offset = self.watch.as_ref()?.lost()?;
        Some((offset, unreadable()))
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

/// Fails unless a file is there: to open a pipe would wait for its other end.
fn check_file(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file, but a directory, a pipe or a device"))
}

/// Opens a file to read.
fn open_file(path: &Path) -> io::Result<File> {
    check_file(path)?;
    File::open(path)
}

/// The error of bytes of a map that cannot be read.
#[cfg(unix)]
fn unreadable() -> io::Error {
    io::Error::other("the disk cannot read it, or the file was cut short")
}

impl Disk for SystemDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(Box::new(SystemFile(file)))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        check_file(path)?;
        let file = OpenOptions::new().append(true).open(path)?;
        file.set_len(length)?;
        Ok(Box::new(SystemFile(file)))
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, path: &Path, end: u64) -> io::Result<()> {
        use rustix::io::Errno;
        let file = OpenOptions::new().write(true).open(path)?;
        let keep_size = rustix::fs::FallocateFlags::KEEP_SIZE;
        match rustix::io::retry_on_intr(|| rustix::fs::fallocate(&file, keep_size, 0, end)) {
            // File systems that cannot: what they have room for shows when it is written.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
            taken => Ok(taken?),
        }
    }

    #[cfg(target_os = "linux")]
    fn release(&self, path: &Path) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(file.metadata()?.len())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_file(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_range(&self, path: &Path, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = open_file(path)?;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        let file = open_file(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Arc::new(SystemMap::new(None, path)));
        }
        // SAFETY: published files are never changed or cut by this program. Should others do that, what is read is wrong or
        // zeros: blocks are compared with checksums when they come in, and a page that is gone marks the map (`faults`).
        let map = unsafe { Mmap::map(&file)? };
        Ok(Arc::new(SystemMap::new(Some(map), path)))
    }

    #[cfg(unix)]
    fn lost_reads(&self) -> u64 {
        faults::count()
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
        Ok(Box::new(StoreLock::alone(path)?))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        Ok(Box::new(StoreLock::shared(path)?))
    }

    fn lock_holder(&self, path: &Path) -> Option<String> {
        // The file may be of another program, or of a process that was killed and whose successor could not write it.
        let mut text = String::new();
        open_file(path).and_then(|file| file.take(HOLDER_BYTES_MAX as u64).read_to_string(&mut text)).ok()?;
        let (pid, program) = text.trim_end().split_once(' ')?;
        let pid: u32 = pid.parse().ok()?;
        if pid == std::process::id() {
            return Some("this process".to_owned());
        }
        let is_gone = Path::new("/proc/self").exists() && !Path::new("/proc").join(pid.to_string()).exists();
        (!is_gone).then(|| format!("process {pid} ({program})"))
    }

    #[cfg(unix)]
    fn has_other_names(&self, path: &Path) -> io::Result<bool> {
        fs::metadata(path).map(|metadata| std::os::unix::fs::MetadataExt::nlink(&metadata) > 1)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }
}

/// The lock of a store: that of its directory, which nobody can remove or give a second name while the store is there, and
/// that of the file, which older versions of this program take, and file systems know that lock no directories.
struct StoreLock {
    _directory: Option<File>,
    file: Option<File>,
    /// Bytes of the description in the file.
    described: usize,
    /// The process that took it. A fork has the same open files, and must let go of nothing.
    process: u32,
}

/// Number of times that the file of a lock is opened anew because somebody removed or replaced it meanwhile.
const LOCK_FILES_MAX: usize = 100;

impl StoreLock {
    /// The lock of a writer; the file is made if need be.
    fn alone(path: &Path) -> io::Result<StoreLock> {
        let _directory = lock_directory(path, File::try_lock)?;
        for _ in 0..LOCK_FILES_MAX {
            if path.exists() {
                check_file(path)?;
            }
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            file.try_lock().map_err(would_block)?;
            if is_at(&file, path)? {
                let described = describe_holder(&file);
                return Ok(StoreLock { _directory, file: Some(file), described, process: std::process::id() });
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// The lock of a reader; nothing is made or written.
    fn shared(path: &Path) -> io::Result<StoreLock> {
        let _directory = lock_directory(path, File::try_lock_shared)?;
        let file = match open_file(path) {
            Ok(file) => Some(file),
            // Nobody has written the store since it came here, or its last writer keeps others from reading the file.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => None,
            Err(error) => return Err(error),
        };
        if let Some(file) = &file {
            file.try_lock_shared().map_err(would_block)?;
        } else if _directory.is_none() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "neither the directory nor a file in it can be locked",
            ));
        }
        Ok(StoreLock { _directory, file, described: 0, process: std::process::id() })
    }
}

impl Drop for StoreLock {
    /// Takes the description back, and lets go: the store is nobody's. Without the latter a process that was forked meanwhile, and has
    /// the same files, would have the lock until it ends.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        if let Some(file) = self.file.as_mut().filter(|_| self.described > 0) {
            let blank = [&vec![b' '; self.described - 1][..], b"\n"].concat();
            // A description that stays names a process that is gone, and is not believed.
            let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&blank));
        }
        for file in self.file.iter().chain(&self._directory) {
            // Closing it does the same, in most cases.
            let _ = file.unlock();
        }
    }
}

fn would_block(error: fs::TryLockError) -> io::Error {
    match error {
        fs::TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        fs::TryLockError::Error(error) => error,
    }
}

/// Locks the directory of a file, where that can be done.
fn lock_directory(path: &Path, take: fn(&File) -> Result<(), fs::TryLockError>) -> io::Result<Option<File>> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(directory) = File::open(directory) else { return Ok(None) };
    match take(&directory) {
        Ok(()) => Ok(Some(directory)),
        Err(fs::TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        // Network file systems lock only what is open for writing; then the lock of the file has to do.
        Err(fs::TryLockError::Error(_)) => Ok(None),
    }
}

/// True if that is the file at the path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match fs::metadata(path) {
        Ok(there) => Ok(identity(there) == identity(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// An open file cannot be removed or replaced.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Bytes of the longest description of a lock's holder.
const HOLDER_BYTES_MAX: usize = 512;

/// Writes into a lock who holds it, for the message to processes that come in vain; returns the number of bytes. The
/// lock holds without it. Only the program is named: what stands on a command line may be confidential.
fn describe_holder(mut file: &File) -> usize {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let program: String = program.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
    let mut text = format!("{} {program}", std::process::id());
    // Written over what the holder before left, with spaces for the rest: to cut the file takes file systems a millisecond.
    let before = file.metadata().map_or(0, |metadata| metadata.len() as usize);
    if before > HOLDER_BYTES_MAX {
        let _ = file.set_len(0);
    } else {
        text.extend(std::iter::repeat_n(' ', before.saturating_sub(text.len() + 1)));
    }
    text.push('\n');
    let _ = file.write_all(text.as_bytes());
    text.len()
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
        mix64(self.state.fetch_add(SPLITMIX_STEP, Ordering::Relaxed))
    }
}
