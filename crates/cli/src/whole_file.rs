//! Files that are written as a whole or not at all: what was there stays until the new one is complete.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use database::{Error, ErrorCode};

/// Folders of devices, and of names of what a process has open.
const DEVICES: [&str; 2] = ["/dev", "/proc"];

/// Writes a file beside its place, and puts it there. Of one that was there the rights stay.
///
/// # Errors
/// `FILE` or `DISK_FULL`, and nothing has changed.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |cause: std::io::Error| {
        let failure = Error::of_file(path, &cause);
        match failure.code() {
            ErrorCode::DiskFull => failure.with_remedy("free space, then try again; what was there is unchanged"),
            _ => failure,
        }
    };
    let held = std::fs::metadata(path).ok();
    let is_device = DEVICES.iter().any(|folder| path.starts_with(folder));
    if is_device || held.as_ref().is_some_and(|held| !held.is_file()) {
        return std::fs::write(path, text).map_err(failed);
    }
    if held.as_ref().is_some_and(|held| held.permissions().readonly()) {
        return Err(failed(std::io::ErrorKind::PermissionDenied.into()));
    }
    // A link goes on to lead to the file.
    let place = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let write = || -> std::io::Result<()> {
        let (mut file, beside) = Beside::of(&place)?;
        if let Some(held) = held {
            file.set_permissions(held.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        beside.put(&place)
    };
    write().map_err(failed)
}

/// A file that is removed unless it is put in its place.
struct Beside {
    path: PathBuf,
    is_put: bool,
}

impl Beside {
    fn of(place: &Path) -> std::io::Result<(File, Beside)> {
        let name = place.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
        let path = place.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((file, Beside { path, is_put: false }))
    }

    fn put(mut self, place: &Path) -> std::io::Result<()> {
        std::fs::rename(&self.path, place)?;
        self.is_put = true;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_put {
            // The cause of the failure is reported; the unfinished file is of no use.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_else_is_left() {
        let folder = testing::Folder::new();
        let path = folder.join("a.json");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert!(write(&folder.join("none/a.json"), "x").unwrap_err().message().contains("none/a.json"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt, symlink};
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            symlink("a.json", folder.join("link.json")).unwrap();
            write(&folder.join("link.json"), "three").unwrap();
            assert!(std::fs::symlink_metadata(folder.join("link.json")).unwrap().is_symlink());
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
            std::fs::remove_file(folder.join("link.json")).unwrap();
            write(std::path::Path::new("/dev/null"), "x").unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
