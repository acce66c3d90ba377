//! A store at one moment, seen beside a process that may write it: a version and the logs behind it.
//!
//! No lock is taken and nothing is written. Files of a store never change, and the operating system keeps what is mapped, also
//! after its name was removed, until the last map of it is gone, be it with its process. So a map is the lease on a file: the
//! writer removes what it does not need when it likes, and room is free again once nobody reads there.
//!
//! Invariant: the manifest named the files of the version before the first log was looked at, and still did after the last.
//! What the logs held then came after those files, and before all that only later files hold.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::platform::Platform;
use model::{Result, error};

use crate::manifest::Manifest;
use crate::version::Version;
use crate::wal::seen::SeenLogs;

/// Number of times that a store is looked at anew because its writer changed it meanwhile.
const ATTEMPTS: u32 = 200;
/// Time between them.
const NAP: Duration = Duration::from_millis(1);

/// A store at one moment.
pub(crate) struct Seen {
    pub(crate) version: Arc<Version>,
    pub(crate) logs: SeenLogs,
}

/// Gives the current version of a store; may share the open files of the one that it gave last.
pub(crate) type Current<'a> = &'a dyn Fn(Option<&Arc<Version>>) -> Result<Arc<Version>>;

/// The store as it is now.
pub(crate) fn see(platform: &Platform, directory: &Path, current: Current<'_>) -> Result<Seen> {
    let generation = || Manifest::read(&platform.disk, directory).map(|manifest| manifest.generation);
    let mut last: Option<Arc<Version>> = None;
    for _ in 0..ATTEMPTS {
        let before = generation()?;
        let version = current(last.as_ref());
        let found = version.as_ref().map_or(before, |version| version.manifest().generation);
        let seen = version.and_then(|version| {
            last = Some(version.clone());
            let names = (version.manifest().wal_number, version.manifest().store_identity);
            let logs = SeenLogs::look(&*platform.disk, directory, names)?;
            Ok(Seen { version, logs })
        });
        // A file that is gone was merged away if there is a new manifest; otherwise it is lost. The process that writes turns to a new
        // version itself only after its manifest is there.
        if generation()? == found {
            return seen;
        }
        std::thread::sleep(NAP);
    }
    let path = directory.display();
    Err(error!(Busy, "{path}: its writer changed the store each of the {ATTEMPTS} times that it was looked at")
        .with_remedy("try again"))
}

/// The current version of a store that another process may have open.
pub(crate) fn open_current(platform: &Platform, directory: &Path, last: Option<&Arc<Version>>) -> Result<Arc<Version>> {
    let manifest = Manifest::read(&platform.disk, directory)?;
    let Some(last) = last else { return Version::assemble(platform, directory, manifest, None) };
    if last.manifest().generation == manifest.generation {
        return Ok(last.clone());
    }
    // The slot of a partition that is still open here may be another's by now; then nothing is shared.
    match Version::assemble(platform, directory, manifest.clone(), Some(last)) {
        Ok(version) => {
            version.numbers().raise(version.manifest().next_file_number);
            version.edge_numbers().raise(version.manifest().edge_number_bound);
            Ok(version)
        }
        Err(_) => Version::assemble(platform, directory, manifest, None),
    }
}
