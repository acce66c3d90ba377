//! Edge partitions: all edges whose target lies in an interval of node ids, in both directions.
//!
//! - [`ascending`]: ascending sequences at about two bits and a few for each entry.
//! - [`pointer`]: from a node to its run of edges.
//! - [`section`]: the edges of one type.
//! - `loops`: which nodes have self-loops.
//! - [`numbers`]: what edges are known by for good.
//! - [`live`]: the edges of one type without those that patches deleted, with the properties that patches changed.
//! - [`sorted`]: searches in sections whose type has a sort key.
//! - [`stream`]: a section from start to end.
//! - [`runs`]: a section by node, in either direction, for computing.
//! - [`write`]: making the files of a partition from sorted edges.
//!
//! Invariant: within a section edges are sorted by source, then target; where the type had a sort key when the section was
//! written, by source, then sort key, then target. Each is stored once, with its properties at its position in that order.
//! The in-direction, sorted by target, then source (sort key, then source), stores of each edge its source and its rank
//! among the edges of that source.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::id::{EdgeTypeId, PropertyKeyId};
use model::platform::Disk;

use self::patch::{Patch, SectionPatches};
use crate::codec::bytes::Get;
use crate::column::ColumnReader;
use crate::file::StoreFile;
use crate::format::{EDGE_NUMBER_KEY, FileKind, POSITION_BITS, SECTION_BITS};
use crate::manifest::{PartitionEntry, UNASSIGNED_SLOT};
use crate::numbers::{SlotLease, Slots};
use crate::partition::numbers::NumberForm;

pub mod ascending;
pub mod live;
mod loops;
pub mod numbers;
pub mod patch;
pub mod pointer;
pub mod runs;
pub mod section;
pub mod sorted;
pub mod stream;
pub mod write;

pub use live::LiveSection;
pub use section::Section;

/// One immutable edge partition.
#[derive(Debug)]
pub struct Partition {
    entry: PartitionEntry,
    files: Arc<PartitionFiles>,
    patches: Vec<Arc<Patch>>,
    /// By section; empty without patches.
    by_section: Vec<Option<Box<SectionPatches>>>,
}

/// Files of a partition, which stay the same while patches come and the level rises.
#[derive(Debug)]
struct PartitionFiles {
    topology: Arc<StoreFile>,
    properties: Option<Arc<StoreFile>>,
    sections: Vec<Section>,
    lease: SlotLease,
}

impl Partition {
    /// Opens the files of a partition; reads headers and directories only. A partition without a slot gets one, and its
    /// entry says which.
    pub fn open(
        disk: &Arc<dyn Disk>,
        directory: &Path,
        entry: &mut PartitionEntry,
        slots: &Arc<Slots>,
    ) -> Result<Partition> {
        let topology = StoreFile::open(disk, directory, FileKind::Edges, entry.topology)?;
        let mut sections = Vec::new();
        {
            let mut get = topology.directory()?;
            for _ in 0..get.count(1)? {
                let section = Section::open(&topology, &mut get)?;
                if sections.last().is_some_and(|before: &Section| before.edge_type() >= section.edge_type()) {
                    return Err(get.damage("the sections are not in order of their types"));
                }
                sections.push(section);
            }
            number_sections(&mut get, &mut sections, entry.numbers_from)?;
            let edges: u64 = sections.iter().map(Section::edge_count).sum();
            if edges != entry.edges || sections.len() >= 1 << SECTION_BITS || edges >= 1 << POSITION_BITS {
                let problem = format!("the sections hold {edges} edges, the manifest says {}", entry.edges);
                return Err(get.damage(problem));
            }
        }
        let properties = match entry.properties {
            Some(file) => Some(StoreFile::open(disk, directory, FileKind::EdgeProperties, file)?),
            None => None,
        };
        if let Some(file) = &properties {
            open_columns(file, &mut sections)?;
        }
        let lease = match entry.slot {
            UNASSIGNED_SLOT => slots.lease()?,
            slot => match slots.lease_slot(slot) {
                Some(lease) => lease,
                None => return Err(topology.damage(0, format!("two partitions have the slot {slot}"))),
            },
        };
        entry.slot = lease.slot();
        let files = Arc::new(PartitionFiles { topology, properties, sections, lease });
        Partition { entry: entry.clone(), files, patches: Vec::new(), by_section: Vec::new() }
            .with_entry(disk, directory, entry)
    }

    /// The same partition with another level or other patches. The entry gets its slot.
    pub fn with_entry(&self, disk: &Arc<dyn Disk>, directory: &Path, entry: &mut PartitionEntry) -> Result<Partition> {
        entry.slot = self.slot();
        let mut patches = Vec::with_capacity(entry.patches.len());
        for &file in &entry.patches {
            let open = self.patches.iter().find(|patch| patch.file().entry() == file);
            patches.push(match open {
                Some(open) => open.clone(),
                None => Arc::new(Patch::open(disk, directory, file, &self.files.sections)?),
            });
        }
        let by_section = SectionPatches::by_section(&patches, self.files.sections.len());
        for (section, patches) in self.files.sections.iter().zip(&by_section) {
            if patches.as_ref().is_some_and(|patches| patches.deleted() > section.edge_count()) {
                return Err(self.files.topology.damage(0, "patches delete more edges than a section has"));
            }
        }
        Ok(Partition { entry: entry.clone(), files: self.files.clone(), patches, by_section })
    }

    /// The number by which edge ids name it.
    #[inline]
    pub fn slot(&self) -> u16 {
        self.files.lease.slot()
    }

    /// Entry in the manifest.
    pub fn entry(&self) -> &PartitionEntry {
        &self.entry
    }

    /// The target ids of its edges; those of other partitions may overlap.
    pub fn interval(&self) -> Range<u64> {
        self.entry.interval.clone()
    }

    /// Its files.
    pub fn files(&self) -> impl Iterator<Item = &Arc<StoreFile>> {
        let patches = self.patches.iter().map(|patch| patch.file());
        std::iter::once(&self.files.topology).chain(&self.files.properties).chain(patches)
    }

    /// Deletions and changes since it was written, oldest first.
    pub fn patches(&self) -> &[Arc<Patch>] {
        &self.patches
    }

    /// A section with what was deleted and changed.
    #[inline]
    pub fn live(&self, index: usize) -> Option<LiveSection<'_>> {
        let section = self.files.sections.get(index)?;
        let patches = self.by_section.get(index).and_then(|patches| patches.as_deref());
        Some(LiveSection { section, patches })
    }

    /// Its sections with what was deleted and changed, in order of their edge types.
    pub fn live_sections(&self) -> impl Iterator<Item = LiveSection<'_>> {
        (0..self.files.sections.len()).filter_map(|index| self.live(index))
    }

    /// Number of its edges that are gone.
    pub fn deleted(&self) -> u64 {
        self.by_section.iter().flatten().map(|patches| patches.deleted()).sum()
    }

    /// Its sections, in order of their edge types.
    pub fn sections(&self) -> &[Section] {
        &self.files.sections
    }

    /// The section of a type, with its index.
    pub fn section_of(&self, edge_type: EdgeTypeId) -> Option<(usize, &Section)> {
        let sections = self.sections();
        let index = sections.binary_search_by_key(&edge_type, Section::edge_type).ok()?;
        Some((index, &sections[index]))
    }
}

/// Reads how the edges of each section are numbered. In files of version 2 they are not: then their numbers follow each
/// other, section by section, from the one that the manifest has for the partition.
fn number_sections(get: &mut Get<'_>, sections: &mut [Section], numbers_from: u64) -> Result<()> {
    let is_numbered = get.left() > 0;
    let mut next = numbers_from;
    for section in sections {
        let form = match is_numbered {
            true => NumberForm::take(get, section.edge_count())?,
            false => NumberForm::Consecutive(next as i64),
        };
        next = next.saturating_add(section.edge_count());
        section.set_number_form(form);
    }
    Ok(())
}

/// Reads the directory of a properties file: for each section with columns its index, then key and blocks of each.
fn open_columns(file: &Arc<StoreFile>, sections: &mut [Section]) -> Result<()> {
    let mut get = file.directory()?;
    for _ in 0..get.count(8)? {
        let index = get.u32()? as usize;
        let Some(section) = sections.get_mut(index) else {
            return Err(get.damage(format!("there is no section {index}")));
        };
        for _ in 0..get.count(8)? {
            let key = PropertyKeyId(get.u32()?);
            let column = ColumnReader::open(file, &mut get, section.edge_count())?;
            match key == EDGE_NUMBER_KEY {
                true => section.set_number_column(column),
                false => section.add_column(key, column),
            }
        }
    }
    Ok(())
}
