//! A version: everything that one manifest names, opened. What a snapshot reads below its memtable.
//!
//! - [`nodes`]: existence, labels, properties and keys of nodes.
//! - [`edges`]: partitions, edge ids and properties of edges.
//! - [`edit`]: what changes a version into the next.
//! - [`names`]: files name only what the schema has.
//!
//! Invariant: a version never changes. Its files stay on the disk until the last reference to it is gone.
//! Cost: opening reads the headers and directories of its files.

use crate::build::{BuildConfig, BuildContext};
use model::Interrupt;
use model::Sketches;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::platform::{Disk, Platform};
use model::{Consumer, ErrorCode, Index, Result, Set, Statistics};

use crate::error::StorageError;
use crate::file::StoreFile;
use crate::file::cache::{BlockCache, Held};
use crate::format::{FileKind, MANIFEST_NEW_NAME, segment_range};
use crate::index::KeyIndex;
use crate::manifest::{IndexEntry, Manifest};
use crate::node_run::NodeRun;
use crate::node_run::layers::Layers;
use crate::numbers::{EdgeNumbers, FileNumbers, Slots};
use crate::ordered_index::{OrderedEntry, OrderedRun};
use crate::partition::Partition;
use crate::segment::Segment;
use crate::wal::LogName;
use crate::wal::writer::WalWriter;

pub mod edges;
pub mod edit;
mod names;
pub mod nodes;

pub use self::edit::{FoldedSegment, PatchEdit, VersionEdit};
pub use crate::partition::stream::PartitionStream;

/// The opened files of one manifest.
#[derive(Debug)]
pub struct Version {
    directory: PathBuf,
    platform: Platform,
    manifest: Manifest,
    layers: Layers,
    /// In the order of the manifest.
    partitions: Vec<Arc<Partition>>,
    /// By slot, the index of the partition; `NO_PARTITION` where there is none.
    by_slot: Vec<u16>,
    /// All sections, by type and then age.
    places: Vec<edges::Place>,
    indexes: Vec<Arc<KeyIndex>>,
    ordered: Vec<Arc<OrderedRun>>,
    numbers: Arc<FileNumbers>,
    edge_numbers: Arc<EdgeNumbers>,
    slots: Arc<Slots>,
    /// Reads of maps that had failed when all files were last found whole.
    lost_reads: AtomicU64,
    _names: Option<Held>,
}

/// In the table of slots: no partition.
const NO_PARTITION: u16 = u16::MAX;

impl Version {
    /// Makes an empty store in an existing directory that holds none. The caller holds the store's lock.
    pub fn create(platform: &Platform, directory: &Path) -> Result<Arc<Version>> {
        let manifest = Manifest::empty(platform.random.next_u64());
        // The log comes before the manifest that names it. One without a manifest is left from a creation cut short.
        let log = directory.join(FileKind::Wal.file_name(manifest.wal_number));
        if platform.disk.exists(&log) {
            platform.disk.remove(&log).map_err(|error| StorageError::io("remove", &log, error))?;
        }
        let name = LogName::new(manifest.store_identity, manifest.wal_number);
        WalWriter::create(&*platform.disk, directory, name)?;
        manifest.write(&platform.disk, directory)?;
        Version::open(platform, directory)
    }

    /// Opens the current version of a store and removes what interrupted builds left. The caller holds the lock.
    pub fn open(platform: &Platform, directory: &Path) -> Result<Arc<Version>> {
        let manifest = Manifest::read(&platform.disk, directory)?;
        let version = Version::assemble(platform, directory, manifest, None)?;
        version.remove_leftovers()?;
        match Manifest::renew_copy(&*platform.disk, directory) {
            // The store is whole without it, and must open where room is to be made. It is made when there is room.
            Err(error) if error.code() == ErrorCode::DiskFull => {}
            renewed => renewed?,
        }
        Ok(version)
    }

    /// Opens the files of a manifest; those that `base` has open are shared.
    pub fn assemble(
        platform: &Platform,
        directory: &Path,
        mut manifest: Manifest,
        base: Option<&Version>,
    ) -> Result<Arc<Version>> {
        let disk = &platform.disk;
        let lost_reads = AtomicU64::new(disk.lost_reads());
        let (numbers, edge_numbers, slots) = match base {
            Some(base) => (base.numbers.clone(), base.edge_numbers.clone(), base.slots.clone()),
            None => {
                let edge_numbers = EdgeNumbers::new(manifest.edge_number_bound);
                (FileNumbers::new(manifest.next_file_number), edge_numbers, Arc::default())
            }
        };
        let segments = open_segments(disk, directory, &manifest, base)?;
        let runs = open_runs(disk, directory, &manifest, base)?;
        let layers = Layers::new(segments, runs);
        let mut partitions = Vec::new();
        let schema = &manifest.schema;
        for entry in &mut manifest.partitions {
            let open = base.and_then(|base| base.partition_with(entry.topology.number));
            partitions.push(match open {
                Some(open) if open.entry() == entry => open.clone(),
                Some(open) => Arc::new(open.with_entry(disk, directory, entry)?),
                None => {
                    let partition = Partition::open(disk, directory, entry, &slots)?;
                    names::check_partition(schema, &partition)?;
                    Arc::new(partition)
                }
            });
        }
        let by_slot = by_slot(&partitions);
        let places = edges::places(&partitions);
        let open_index = |&entry: &IndexEntry| {
            let open = base.and_then(|base| base.indexes.iter().find(|open| open.entry() == entry).cloned());
            open.map_or_else(|| KeyIndex::open(disk, directory, entry).map(Arc::new), Ok)
        };
        let indexes = manifest.indexes.iter().map(open_index).collect::<Result<_>>()?;
        let ordered = open_ordered(disk, directory, &manifest, base)?;
        let cache = BlockCache::of(&**disk);
        let names = cache.map(|cache| cache.hold(Consumer::OpenFiles, names::bytes(&manifest.schema)));
        let (directory, platform) = (directory.to_owned(), platform.clone());
        Ok(Arc::new(Version {
            directory,
            platform,
            manifest,
            layers,
            partitions,
            by_slot,
            places,
            indexes,
            ordered,
            numbers,
            edge_numbers,
            slots,
            lost_reads,
            _names: names,
        }))
    }

    /// A build of files on top of this version.
    pub fn build(&self, config: &BuildConfig, interrupt: &Interrupt) -> BuildContext {
        BuildContext::new(&self.platform, &self.directory, (&self.numbers, &self.edge_numbers), config, interrupt)
    }

    /// The version that an edit makes of this one, opened and not written: to look at.
    pub fn with_edit(&self, edit: &VersionEdit) -> Result<Arc<Version>> {
        Version::assemble(&self.platform, &self.directory, edit.apply(&self.manifest)?, Some(self))
    }

    /// Makes what an edit makes of this version, the current one, the current one: writes the manifest, opens it, and lets
    /// go of the files that only `self` names.
    ///
    /// `builds` made the files that the edit adds: they stay from the moment on in which the manifest names them, also if
    /// something fails after it, and go with their builds if it was not replaced. `draw` gives new sketches of the version
    /// that comes, if they are due.
    pub fn publish(
        &self,
        edit: &VersionEdit,
        builds: &[&BuildContext],
        draw: impl FnOnce(&Arc<Version>) -> Option<Sketches>,
    ) -> Result<Arc<Version>> {
        let mut manifest = edit.apply(&self.manifest)?;
        manifest.generation = self.manifest.generation + 1;
        let mut new = Version::assemble(&self.platform, &self.directory, manifest, Some(self))?;
        let fresh = Arc::get_mut(&mut new).expect("nobody else has seen the new version");
        if edit.statistics.is_none() && !edit.keeps_counts {
            let sketches = fresh.manifest.statistics.sketches.take();
            fresh.manifest.statistics = Statistics { sketches, ..fresh.count()? };
        }
        if !edit.keeps_counts
            && let Some(drawn) = draw(&new)
        {
            let fresh = Arc::get_mut(&mut new).expect("sketches refer to no version");
            fresh.manifest.statistics.sketches = Some(Arc::new(drawn));
        }
        let fresh = Arc::get_mut(&mut new).expect("nobody else has seen the new version");
        // A result made of files that could not be read must not take their place.
        self.check_reads()?;
        fresh.manifest.next_file_number = self.numbers.next();
        fresh.manifest.edge_number_bound = self.edge_numbers.next();
        let written = fresh.manifest.write(&self.platform.disk, &self.directory);
        if written.is_ok() || !self.is_current() {
            builds.iter().for_each(|build| build.keep());
        }
        written?;
        let kept: Set<u64> = new.manifest.files().map(|(_, file)| file.number).collect();
        let folded = edit.folded.iter().filter_map(|folded| folded.after).map(|entry| (FileKind::Nodes, entry.file));
        let indexes = edit.added_indexes.iter().map(|entry| (FileKind::Keys, entry.file));
        for (kind, file) in folded.chain(indexes).filter(|(_, file)| !kept.contains(&file.number)) {
            // Changes made meanwhile have made it needless. A file that cannot be removed now is removed when the store
            // is next opened.
            let _ = self.platform.disk.remove(&self.directory.join(kind.file_name(file.number)));
        }
        self.files().filter(|file| !kept.contains(&file.entry().number)).for_each(|file| file.retire());
        Ok(new)
    }

    /// True if the manifest on the disk is that of this version. What failed at its very end may have replaced it.
    pub fn is_current(&self) -> bool {
        let found = Manifest::read(&self.platform.disk, &self.directory);
        found.is_ok_and(|manifest| manifest.generation == self.manifest.generation)
    }

    /// The counts of what the files hold.
    pub fn count(&self) -> Result<Statistics> {
        let (nodes, nodes_by_label) = self.layers.count()?;
        let mut statistics = Statistics { nodes, nodes_by_label, ..Statistics::default() };
        for section in self.partitions.iter().flat_map(|partition| partition.live_sections()) {
            statistics.edges += section.edge_count();
            *statistics.edges_by_type.entry(section.edge_type()).or_default() += section.edge_count();
        }
        Ok(statistics)
    }

    /// Removes files that the manifest does not name: what a build left that did not come to its end.
    fn remove_leftovers(&self) -> Result<()> {
        let disk = &self.platform.disk;
        let named: Set<(FileKind, u64)> = self.manifest.files().map(|(kind, file)| (kind, file.number)).collect();
        let names = disk.list(&self.directory).map_err(|error| StorageError::io("list", &self.directory, error))?;
        for name in names {
            let is_leftover = match FileKind::parse(&name) {
                Some((FileKind::Wal, _)) => false,
                Some(file) => !named.contains(&file),
                None => name == MANIFEST_NEW_NAME,
            };
            if is_leftover {
                let path = self.directory.join(&name);
                disk.remove(&path).map_err(|error| StorageError::io("remove", &path, error))?;
            }
        }
        Ok(())
    }

    /// The memory limit of those who use it.
    pub(crate) fn memory_limit(&self) -> usize {
        let cache = BlockCache::of(&*self.platform.disk);
        cache.map_or_else(crate::os::memory_limit, |cache| cache.budget().limit())
    }

    /// The store's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The platform that it was opened with.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The manifest: the files, and the schema, statistics, node id bound and log number.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// All files that are open.
    pub fn files(&self) -> impl Iterator<Item = &Arc<StoreFile>> {
        let segments = self.segments().iter().flatten().map(|segment| segment.file());
        let runs = self.layers.runs().iter().map(|run| run.file());
        let partitions = self.partitions.iter().flat_map(|partition| partition.files());
        let indexes = self.indexes.iter().map(|index| index.file());
        segments.chain(runs).chain(partitions).chain(indexes).chain(self.ordered.iter().map(|run| run.file()))
    }

    /// Fails if bytes of a file could not be read although they had been brought in, as those of one that somebody cut short:
    /// what was read is wrong, and must not be given out. Cost: a load, as long as no read of this process fails.
    #[inline]
    pub fn check_reads(&self) -> Result<()> {
        let now = self.platform.disk.lost_reads();
        if now == self.lost_reads.load(Ordering::Relaxed) { Ok(()) } else { self.find_lost(now) }
    }

    #[cold]
    fn find_lost(&self, now: u64) -> Result<()> {
        self.files().try_for_each(|file| file.check_lost())?;
        self.lost_reads.store(now, Ordering::Relaxed);
        Ok(())
    }

    /// Source of the numbers of new files.
    pub fn numbers(&self) -> &Arc<FileNumbers> {
        &self.numbers
    }

    /// Fails unless `partitions` more edge partitions can be open.
    pub(crate) fn check_slots(&self, partitions: usize) -> Result<()> {
        self.slots.check_free(partitions)
    }

    /// The source of numbers for new edges.
    pub fn edge_numbers(&self) -> &Arc<EdgeNumbers> {
        &self.edge_numbers
    }

    /// The runs of an ordered index, oldest first.
    pub fn ordered_runs(&self, index: &Index) -> impl Iterator<Item = &Arc<OrderedRun>> {
        self.ordered.iter().filter(move |run| run.entry().is_of(index))
    }

    /// The runs of all key indexes, those of each in order of their ages.
    pub fn indexes(&self) -> &[Arc<KeyIndex>] {
        &self.indexes
    }
}

/// The indexes of partitions by their slots.
fn by_slot(partitions: &[Arc<Partition>]) -> Vec<u16> {
    let mut by_slot = Vec::new();
    for (index, partition) in partitions.iter().enumerate() {
        let slot = usize::from(partition.slot());
        by_slot.resize(by_slot.len().max(slot + 1), NO_PARTITION);
        by_slot[slot] = index as u16;
    }
    by_slot
}

/// Fails if a segment has nodes beyond those that the manifest tells of: scans would leave them out.
fn check_bound(segment: &Segment, bound: u64) -> Result<()> {
    let end = segment_range(segment.entry().segment).start + segment.rows() as u64;
    if end > bound {
        return Err(segment.file().damage(0, format!("rows reach node {end}, the manifest's bound is {bound}")));
    }
    Ok(())
}

/// Opens the node segments; those that `base` has open are shared.
fn open_segments(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    manifest: &Manifest,
    base: Option<&Version>,
) -> Result<Vec<Option<Arc<Segment>>>> {
    let mut segments: Vec<Option<Arc<Segment>>> = Vec::new();
    for &entry in &manifest.segments {
        let open = base.and_then(|base| base.segments().get(entry.segment as usize)?.clone());
        let segment = match open.filter(|open| open.entry() == entry) {
            Some(open) => open,
            None => {
                let segment = Segment::open(disk, directory, entry)?;
                names::check_segment(&manifest.schema, &segment)?;
                check_bound(&segment, manifest.node_id_bound)?;
                Arc::new(segment)
            }
        };
        let at = entry.segment as usize;
        segments.resize(segments.len().max(at + 1), None);
        segments[at] = Some(segment);
    }
    Ok(segments)
}

/// Opens the node runs, likewise.
fn open_runs(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    manifest: &Manifest,
    base: Option<&Version>,
) -> Result<Vec<Arc<NodeRun>>> {
    let mut runs = Vec::new();
    for &entry in &manifest.node_runs {
        let open = base.and_then(|base| base.layers.runs().iter().find(|open| open.entry() == entry).cloned());
        runs.push(match open {
            Some(open) => open,
            None => {
                let run = NodeRun::open(disk, directory, entry)?;
                names::check_run(&manifest.schema, &run)?;
                Arc::new(run)
            }
        });
    }
    Ok(runs)
}

/// Opens the runs of ordered indexes; those that `base` has open are shared.
fn open_ordered(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    manifest: &Manifest,
    base: Option<&Version>,
) -> Result<Vec<Arc<OrderedRun>>> {
    let open = |entry: &OrderedEntry| {
        let open = base.and_then(|base| base.ordered.iter().find(|open| open.entry() == entry).cloned());
        open.map_or_else(|| OrderedRun::open(disk, directory, entry).map(Arc::new), Ok)
    };
    manifest.ordered.iter().map(open).collect()
}
