//! Files that were built and are not part of the store yet.

use std::sync::Arc;

use model::Result;

use super::edges::PlacedEdges;
use super::follow::follow;
use crate::build::BuildContext;
use crate::sketch;
use crate::version::{Version, VersionEdit};

/// The outcome of a build. Dropped before it is installed, its files are removed.
#[derive(Debug)]
pub struct Built {
    /// The version that it was built on, or that it was made to follow.
    pub base: Arc<Version>,
    /// Changes to the version.
    pub edit: VersionEdit,
    /// Places of the new edges, if they were asked for.
    pub placed: PlacedEdges,
    pub(super) context: BuildContext,
}

impl Built {
    /// The outcome of a build on a version.
    pub fn new(base: &Arc<Version>, context: BuildContext, edit: VersionEdit) -> Built {
        Built { base: base.clone(), edit, placed: Vec::new(), context }
    }

    /// Takes over what flushes and merges changed since the base. Done before the writer's turn is taken, the rest that
    /// [`Built::install`] has to do is little.
    pub fn follow(&mut self, current: &Arc<Version>) -> Result<()> {
        if !Arc::ptr_eq(&self.base, current) {
            follow(&self.context, &mut self.edit, &self.base, current)?;
            self.base = current.clone();
        }
        Ok(())
    }

    /// Lets the files stay where nothing removes them: in a store that is only read they have no names.
    pub(crate) fn keep(&self) {
        self.context.keep();
    }

    /// Makes the files part of the store, whose current version is `current`.
    pub fn install(self, current: &Arc<Version>) -> Result<Arc<Version>> {
        self.install_with(&[], current)
    }

    /// The same for an edit that names the files of other builds too.
    pub(crate) fn install_with(mut self, others: &[Built], current: &Arc<Version>) -> Result<Arc<Version>> {
        self.follow(current)?;
        current.check_slots(self.edit.added_partitions.len())?;
        let contexts: Vec<&BuildContext> = others.iter().chain([&self]).map(|built| &built.context).collect();
        current.publish(&self.edit, &contexts, sketch::renewed)
    }

    /// Bytes of the edge files that come: partitions of one level, or patches.
    pub fn edge_bytes(&self) -> u64 {
        let files = |entry: &crate::manifest::PartitionEntry| {
            entry.topology.length
                + entry.properties.map_or(0, |file| file.length)
                + entry.patches.iter().map(|file| file.length).sum::<u64>()
        };
        let patches = self.edit.patches.iter().filter_map(|patch| patch.added).map(|file| file.length);
        self.edit.added_partitions.iter().map(files).sum::<u64>() + patches.sum::<u64>()
    }
}
