//! Directories of a store.

use std::io;
use std::path::Path;

use model::platform::Disk;
use model::{Error, Result};

use crate::error::StorageError;

/// Makes a directory, durably: its own name, and those of the directories above it.
pub(crate) fn create_directory(path: &Path, disk: &dyn Disk) -> Result<()> {
    let above = |path: &Path| {
        path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent }.to_owned())
    };
    disk.create_directory(path).map_err(|error| not_created(path, disk, error))?;
    // Those that are there may have been made by a process that was killed before it came here.
    let directories = path.ancestors().filter(|path| !path.as_os_str().is_empty()).filter_map(above);
    for (number, directory) in directories.enumerate() {
        match disk.sync_directory(&directory) {
            // A directory that may be passed through but not opened cannot be synced; nor can all those above, which may
            // lie on file systems of other kinds.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error)
                if number > 0
                    && matches!(
                        error.kind(),
                        io::ErrorKind::InvalidInput | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::Unsupported
                    ) => {}
            outcome => outcome.map_err(|error| StorageError::io("sync", &directory, error))?,
        }
    }
    Ok(())
}

/// The error of a directory that cannot be made. A name that is taken, though nothing is there, is that of a symbolic link.
fn not_created(path: &Path, disk: &dyn Disk, error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::AlreadyExists || disk.exists(path) {
        return StorageError::io("create", path, error);
    }
    let reason = "a symbolic link in this path leads to nothing".to_owned();
    Error::from(StorageError::NotAStore { path: path.to_owned(), reason })
        .with_remedy("make the directory that the link names, or remove the link")
}
