//! Files that several threads write at a time.

use std::sync::{Mutex, PoisonError};

use model::error::Result;

use super::{Place, Scratch};

/// The position of a record: the number of a file, and an offset.
pub(crate) type Spot = (u32, u64);

/// Files to which threads append whole records, each to one of its own at a time.
pub(crate) struct Lanes<'a> {
    free: Mutex<Vec<(u32, Scratch<'a>)>>,
}

impl<'a> Lanes<'a> {
    /// As many as threads will write at a time.
    pub(crate) fn new(at: Place<'a>, count: usize) -> Result<Lanes<'a>> {
        let files: Result<Vec<_>> = (0..count as u32).map(|number| Ok((number, at.file()?))).collect();
        Ok(Lanes { free: Mutex::new(files?) })
    }

    /// Lets a thread append a record; tells where it is.
    pub(crate) fn append<R>(&self, write: impl FnOnce(&mut Scratch<'a>) -> Result<R>) -> Result<(Spot, R)> {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, mut file) =
            free().pop().ok_or_else(|| model::error!(Internal, "more threads write records than have files"))?;
        let start = file.length();
        let done = write(&mut file);
        free().push((number, file));
        Ok(((number, start), done?))
    }

    /// The files, by number.
    pub(crate) fn into_files(self) -> Vec<Scratch<'a>> {
        let mut files = self.free.into_inner().unwrap_or_else(PoisonError::into_inner);
        files.sort_unstable_by_key(|(number, _)| *number);
        files.into_iter().map(|(_, file)| file).collect()
    }
}
