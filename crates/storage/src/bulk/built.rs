//! Files that were built and are not part of the store yet.

use std::sync::Arc;

use model::Result;

use super::context::BuildContext;
use crate::version::{Version, VersionEdit};

/// The outcome of a build. Dropped before it is installed, its files are removed.
#[derive(Debug)]
pub struct Built {
    /// The version on which it was built.
    pub base: Arc<Version>,
    /// What it changes.
    pub edit: VersionEdit,
    context: BuildContext,
}

impl Built {
    /// What a build on a version came to.
    pub fn new(base: &Arc<Version>, context: BuildContext, edit: VersionEdit) -> Built {
        Built { base: base.clone(), edit, context }
    }

    /// Makes the files part of the store, whose current version is `current`: the base, or what compactions made of it.
    pub fn install(self, current: &Version) -> Result<Arc<Version>> {
        // If publishing fails it may still have replaced the manifest; the next opening removes what is not needed then.
        self.context.commit();
        current.publish(&self.edit)
    }
}
