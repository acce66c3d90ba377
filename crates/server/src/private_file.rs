//! Files that hold secrets.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::{Error, Result};

/// Rights of a file that its owner alone may read.
pub(crate) const PRIVATE: u32 = 0o600;
/// Rights of a file that everybody may read.
pub(crate) const PUBLIC: u32 = 0o644;

/// Writes a file with these rights, as a whole or not at all, and durably.
pub(crate) fn write(path: &Path, text: &str, rights: u32) -> Result<()> {
    let new = beside(path, ".new");
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(rights).open(&new)?;
        // It may have been there with others.
        file.set_permissions(Permissions::from_mode(rights))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        sync_folder(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
    };
    write().map_err(|cause| Error::of_file(path, &cause))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    OpenOptions::new().read(true).open(path)?.sync_all()
}

/// The file beside another, whose name has that at its end.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
