//! Errors of the store, in detail; each becomes one of the codes of `model::error` at the crate's edge.

use std::io;
use std::path::{Path, PathBuf};

use model::error::{Error, ErrorCode, ErrorDetail};

/// A precise error of the native store.
#[derive(Debug)]
pub enum StorageError {
    /// The operating system refused.
    Io {
        /// Operation that was being done, as a verb phrase: "write", "sync".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The disk cannot read some bytes of a file.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Offset in the file.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Bytes are not what was written.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Offset in the file.
        offset: u64,
        /// The problem: what was found and what was expected.
        problem: String,
    },
    /// The file was written by a newer format.
    Version {
        /// The file.
        path: PathBuf,
        /// The least reader version that the file asks for.
        needed: u16,
        /// The version of this program.
        supported: u16,
    },
    /// The file was written by a format that is no longer read.
    OldVersion {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u16,
        /// The oldest version that this program reads.
        oldest: u16,
    },
    /// The path holds no store.
    NotAStore {
        /// The path.
        path: PathBuf,
        /// Why it is none.
        reason: String,
    },
    /// Another process has the store open.
    Busy {
        /// The store.
        path: PathBuf,
        /// That process, if it can be told.
        holder: Option<String>,
    },
    /// The store refuses work after a failed write.
    Closed {
        /// The store.
        path: PathBuf,
        /// The failure that closed it.
        cause: String,
    },
    /// Something is larger than the format or the budget allows.
    Limit {
        /// The problem: what was found and what is allowed.
        problem: String,
    },
}

impl StorageError {
    /// A failed call of the operating system.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Error {
        StorageError::Io { action, path: path.to_owned(), source }.into()
    }

    /// Bytes at an offset of a file that the disk cannot read.
    pub fn unreadable(path: &Path, offset: u64, source: io::Error) -> Error {
        StorageError::Unreadable { path: path.to_owned(), offset, source }.into()
    }

    /// Damage at an offset of a file.
    pub fn corrupt(path: &Path, offset: u64, problem: impl Into<String>) -> Error {
        StorageError::Corrupt { path: path.to_owned(), offset, problem: problem.into() }.into()
    }

    /// Something too large.
    pub fn limit(problem: impl Into<String>) -> Error {
        StorageError::Limit { problem: problem.into() }.into()
    }

    /// The code that callers see.
    pub fn code(&self) -> ErrorCode {
        match self {
            StorageError::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::DiskFull,
                _ => ErrorCode::Io,
            },
            StorageError::Unreadable { .. } => ErrorCode::Io,
            StorageError::Corrupt { .. } => ErrorCode::Corrupt,
            StorageError::Version { .. } | StorageError::OldVersion { .. } => ErrorCode::Version,
            StorageError::NotAStore { .. } => ErrorCode::NotAStore,
            StorageError::Busy { .. } => ErrorCode::Busy,
            StorageError::Closed { .. } => ErrorCode::Closed,
            StorageError::Limit { .. } => ErrorCode::Limit,
        }
    }
}

impl std::fmt::Display for StorageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StorageError::Io { action, path, source } => write!(f, "cannot {action} {}: {source}", path.display()),
            StorageError::Unreadable { path, offset, source } => {
                write!(f, "{} at byte {offset}: it cannot be read: {source}", path.display())
            }
            StorageError::Corrupt { path, offset, problem } => {
                write!(f, "{} at byte {offset}: {problem}", path.display())
            }
            StorageError::Version { path, needed, supported } => {
                write!(f, "{} needs format version {needed}, this program reads up to {supported}", path.display())
            }
            StorageError::OldVersion { path, found, oldest } => {
                write!(f, "{} has format version {found}, this program reads versions from {oldest} on", path.display())
            }
            StorageError::NotAStore { path, reason } => write!(f, "{}: {reason}", path.display()),
            StorageError::Busy { path, holder } => {
                let holder = holder.as_deref().unwrap_or("another process");
                write!(f, "{} is open in {holder}", path.display())
            }
            StorageError::Closed { path, cause } => {
                write!(f, "{} refuses work after a failed write: {cause}", path.display())
            }
            StorageError::Limit { problem } => f.write_str(problem),
        }
    }
}

impl std::error::Error for StorageError {}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Error {
        let public = Error::new(error.code(), error.to_string());
        match error {
            StorageError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                let remedy = "give this user the right to read and write there; to read alone: knot -r";
                public.with_detail(ErrorDetail::PermissionDenied).with_remedy(remedy)
            }
            StorageError::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                public.with_remedy("open the store for reading only: knot -r")
            }
            StorageError::OldVersion { .. } => {
                public.with_remedy("run knot export of the program that wrote it, then knot import of this one")
            }
            _ => public,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StorageError;
    use model::ErrorCode;
    use std::io;
    use std::path::Path;

    #[test]
    fn a_full_disk_is_told_apart_and_names_the_file() {
        let full = StorageError::io("write", Path::new("a/b"), io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.code(), ErrorCode::DiskFull);
        assert!(full.message().contains("a/b"));
        let other = StorageError::io("sync", Path::new("a"), io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(other.code(), ErrorCode::Io);
        assert!(other.remedy().contains("right"), "{other:?}");
        let other = StorageError::io("lock", Path::new("a"), io::Error::from(io::ErrorKind::ReadOnlyFilesystem));
        assert!(other.remedy().contains("knot -r"), "{other:?}");
    }
}
