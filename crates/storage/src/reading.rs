//! A disk on which nothing can be changed, through which a store that is opened for reading only is seen.
//!
//! Replay of a log may build runs of indexes, and files of nodes and edges, for what is too large for memory. These get files
//! without a name in the directory for temporary files, which only this disk shows,
//! under the names they were made with.
//! So what lies in the store is never in their way, and any number of readers do the same beside each other.
//!
//! Invariant: of what the disk beneath offers to change it, only `temporary` is called, and never for a store's directory.

use std::any::Any;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::Map;
use model::platform::{Disk, MappedFile, Platform, TemporaryFile, WriteFile};

/// The same platform with a disk on which nothing can be changed.
pub(crate) fn reading(platform: &Platform) -> Platform {
    let disk = ReadingDisk { inner: platform.disk.clone(), made: Arc::default() };
    Platform { disk: Arc::new(disk), ..platform.clone() }
}

/// The disk. Clones are the same disk.
#[derive(Clone)]
struct ReadingDisk {
    inner: Arc<dyn Disk>,
    made: Arc<Mutex<Map<PathBuf, Made>>>,
}

impl std::fmt::Debug for ReadingDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadingDisk({:?})", self.inner)
    }
}

/// A file that was made here.
#[derive(Clone)]
struct Made {
    file: Arc<Mutex<Box<dyn TemporaryFile>>>,
    length: u64,
}

impl ReadingDisk {
    fn made(&self) -> MutexGuard<'_, Map<PathBuf, Made>> {
        lock(&self.made)
    }

    fn find(&self, path: &Path) -> Option<Made> {
        self.made().get(path).cloned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused<T>(path: &Path) -> io::Result<T> {
    let problem = format!("{} is open for reading only", path.display());
    Err(io::Error::new(ErrorKind::ReadOnlyFilesystem, problem))
}

/// An error of a file that goes by a name in the store, with where it really lies.
fn elsewhere(error: io::Error) -> io::Error {
    let folder = crate::os::temporary_directory();
    io::Error::new(error.kind(), format!("in the folder for temporary files, {}: {error}", folder.display()))
}

impl Made {
    fn bytes(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        lock(&self.file).read_at(start, &mut bytes)?;
        Ok(bytes)
    }

    fn length(&self) -> io::Result<usize> {
        usize::try_from(self.length).map_err(|_| io::ErrorKind::FileTooLarge.into())
    }
}

/// A file that is being written.
struct MadeFile {
    disk: ReadingDisk,
    path: PathBuf,
    file: Arc<Mutex<Box<dyn TemporaryFile>>>,
}

impl Write for MadeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.file).append(bytes).map_err(elsewhere)?;
        if let Some(made) = self.disk.made().get_mut(&self.path) {
            made.length += bytes.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteFile for MadeFile {
    /// Nobody needs the file after the process.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes of a file on a disk that maps no temporary files.
struct Copied(Vec<u8>);

impl MappedFile for Copied {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Disk for ReadingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut made = self.made();
        if made.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(Mutex::new(self.inner.temporary(&crate::os::temporary_directory()).map_err(elsewhere)?));
        made.insert(path.to_owned(), Made { file: file.clone(), length: 0 });
        Ok(Box::new(MadeFile { disk: self.clone(), path: path.to_owned(), file }))
    }

    fn append(&self, path: &Path, _length: u64) -> io::Result<Box<dyn WriteFile>> {
        refused(path)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.find(path) {
            Some(made) => made.bytes(0, made.length()?),
            None => self.inner.read(path),
        }
    }

    fn read_range(&self, path: &Path, start: u64, length: usize) -> io::Result<Vec<u8>> {
        match self.find(path) {
            Some(made) => made.bytes(start, length),
            None => self.inner.read_range(path, start, length),
        }
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        let Some(made) = self.find(path) else { return self.inner.map(path) };
        let map = lock(&made.file).map()?;
        map.map_or_else(|| Ok(Arc::new(Copied(made.bytes(0, made.length()?)?)) as Arc<dyn MappedFile>), Ok)
    }

    fn lost_reads(&self) -> u64 {
        self.inner.lost_reads()
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        self.find(path).map_or_else(|| self.inner.length(path), |made| Ok(made.length))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }

    fn rename(&self, _from: &Path, to: &Path) -> io::Result<()> {
        refused(to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let made = self.made().remove(path);
        made.map_or_else(|| refused(path), |_| Ok(()))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        refused(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        refused(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        refused(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.made().contains_key(path) || self.inner.exists(path)
    }

    fn block_cache(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.inner.block_cache()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        refused(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.inner.lock_shared(path)
    }

    fn lock_holder(&self, path: &Path) -> Option<String> {
        self.inner.lock_holder(path)
    }

    fn temporary(&self, _directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        self.inner.temporary(&crate::os::temporary_directory())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};
    use std::path::Path;

    use super::reading;

    #[test]
    fn what_is_made_is_seen_under_its_name_and_leaves_nothing() {
        let system = crate::os::platform();
        let folder = std::env::temp_dir().join(format!("knotwork-reading-{}", std::process::id()));
        system.disk.create_directory(&folder).unwrap();
        let disk = reading(&system).disk;
        let path = folder.join("00000001.keys");
        let mut file = disk.create(&path).unwrap();
        file.write_all(b"abcdef").unwrap();
        file.sync().unwrap();
        assert_eq!(disk.create(&path).err().map(|error| error.kind()), Some(ErrorKind::AlreadyExists));
        assert_eq!(disk.map(&path).unwrap().bytes(), b"abcdef");
        assert_eq!((disk.read(&path).unwrap(), disk.length(&path).unwrap()), (b"abcdef".to_vec(), 6));
        assert_eq!(disk.read_range(&path, 2, 3).unwrap(), b"cde");
        assert!(disk.exists(&path) && !system.disk.exists(&path));
        disk.remove(&path).unwrap();
        assert!(!disk.exists(&path));
        let refused = [
            disk.remove(&path).err(),
            disk.rename(&path, Path::new("x")).err(),
            disk.append(&path, 0).err(),
            disk.create_directory(&path).err(),
            disk.remove_directory(&folder).err(),
            disk.sync_directory(&folder).err(),
            disk.lock(&path).err(),
        ];
        let kinds = refused.map(|error| error.map(|error| error.kind()));
        assert_eq!(kinds, [Some(ErrorKind::ReadOnlyFilesystem); 7]);
        assert!(disk.list(&folder).unwrap().is_empty());
        system.disk.remove_directory(&folder).unwrap();
    }
}
