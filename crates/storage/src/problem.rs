//! Damage to a store: the file, the place and the message of an error about it.

use std::path::{Path, PathBuf};

use model::{Error, ErrorCode, ErrorDetail};

/// Something wrong in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Offset in the file, as near as can be told.
    pub offset: u64,
    /// The problem: what was found and what was expected.
    pub message: String,
    /// Part of the graph that the file holds, in words; empty where that cannot be told.
    pub part: String,
}

impl Problem {
    /// True if an error tells of a place in a file whose bytes are damaged or cannot be read: what lies elsewhere can be read
    /// all the same.
    pub(crate) fn is_of_bytes(error: &Error) -> bool {
        error.code() == ErrorCode::Corrupt || error.code() == ErrorCode::Io && named_place(error).is_some()
    }

    /// The problem that an error of damage tells of; `file` where it names none.
    pub(crate) fn of(file: &Path, error: &Error) -> Problem {
        let (file, offset, message) = place_of(file, 0, error);
        Problem { file, offset, message, part: String::new() }
    }
}

/// True if an error says that this user may not do something: nothing is known of what stands there.
pub(crate) fn is_forbidden(error: &Error) -> bool {
    error.detail() == Some(ErrorDetail::PermissionDenied)
}

/// The place that a message of damage names: `path at byte offset: problem`.
pub(crate) fn place_of(file: &Path, offset: u64, error: &Error) -> (PathBuf, u64, String) {
    named_place(error).unwrap_or_else(|| (file.to_owned(), offset, error.message().to_owned()))
}

fn named_place(error: &Error) -> Option<(PathBuf, u64, String)> {
    let (path, rest) = error.message().split_once(" at byte ")?;
    let (offset, problem) = rest.split_once(": ")?;
    Some((PathBuf::from(path), offset.parse().ok()?, problem.to_owned()))
}
