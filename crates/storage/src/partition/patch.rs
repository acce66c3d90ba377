//! Patches: what was deleted from an edge partition, and which properties changed in it, since it was written.
//!
//! - [`list`]: sorted positions with a resident filter.
//! - [`write`]: making the file of a patch, and one patch of several.
//!
//! Invariant: an edge is deleted by one patch of its partition at most; of several values for one property of one edge the
//! newest patch's counts.
//! Cost: a run of positions without a change is told by a few bits in memory; otherwise one binary search for each patch.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use model::id::PropertyKeyId;
use model::platform::Disk;
use model::{Column, Result, Value};

use crate::codec::bytes::Get;
use crate::column::{ColumnReader, patched};
use crate::file::{FileEntry, StoreFile};
use crate::format::FileKind;
use crate::partition::Section;
use crate::partition::patch::list::SortedList;

pub mod list;
pub mod write;

/// One patch of one partition.
#[derive(Debug)]
pub struct Patch {
    file: Arc<StoreFile>,
    sections: Vec<(usize, Arc<PatchSection>)>,
}

/// Content of a patch for one section.
#[derive(Debug)]
pub struct PatchSection {
    file: Arc<StoreFile>,
    /// Positions of edges that are gone.
    deleted: SortedList,
    /// Their places in the in-direction.
    places: SortedList,
    overlays: Vec<Overlay>,
}

/// One property of some edges.
#[derive(Debug)]
struct Overlay {
    key: PropertyKeyId,
    positions: SortedList,
    /// A row for each position; `None` if all are null.
    values: Option<ColumnReader>,
}

impl Patch {
    /// Opens the patch of a partition with these sections; reads its directory only.
    pub fn open(disk: &Arc<dyn Disk>, directory: &Path, entry: FileEntry, of: &[Section]) -> Result<Patch> {
        let file = StoreFile::open(disk, directory, FileKind::Patch, entry)?;
        let mut sections: Vec<(usize, Arc<PatchSection>)> = Vec::new();
        {
            let mut get = file.directory()?;
            for _ in 0..get.count(16)? {
                let index = get.u32()? as usize;
                let Some(section) = of.get(index) else {
                    return Err(get.damage(format!("the partition has no section {index}")));
                };
                if sections.last().is_some_and(|(before, _)| *before >= index) {
                    return Err(get.damage("the sections of a patch are not in order"));
                }
                sections.push((index, Arc::new(PatchSection::open(&file, &mut get, section.edge_count())?)));
            }
        }
        Ok(Patch { file, sections })
    }

    /// Its file.
    pub fn file(&self) -> &Arc<StoreFile> {
        &self.file
    }

    /// Contents of the patch, by index of the section.
    pub fn sections(&self) -> &[(usize, Arc<PatchSection>)] {
        &self.sections
    }

    /// Edges deleted and properties changed.
    pub fn entries(&self) -> u64 {
        self.sections.iter().map(|(_, section)| section.entries()).sum()
    }
}

impl PatchSection {
    fn open(file: &Arc<StoreFile>, get: &mut Get<'_>, edges: u64) -> Result<PatchSection> {
        let keys = get.count(16)?;
        let (deleted, places) = (SortedList::take(file, get, edges)?, SortedList::take(file, get, edges)?);
        if deleted.count() != places.count() {
            return Err(get.damage("a patch deletes unlike numbers of edges in the two directions"));
        }
        let mut overlays = Vec::with_capacity(keys);
        for _ in 0..keys {
            let (key, has_values) = (PropertyKeyId(get.u32()?), get.u32()?);
            let positions = SortedList::take(file, get, edges)?;
            let values = match has_values {
                0 => None,
                _ => Some(ColumnReader::open(file, get, positions.count())?),
            };
            overlays.push(Overlay { key, positions, values });
        }
        Ok(PatchSection { file: file.clone(), deleted, places, overlays })
    }

    /// Edges deleted and properties changed.
    pub fn entries(&self) -> u64 {
        self.deleted.count() + self.overlays.iter().map(|overlay| overlay.positions.count()).sum::<u64>()
    }

    /// The properties that some edge has another value of.
    pub fn keys(&self) -> impl Iterator<Item = PropertyKeyId> + '_ {
        self.overlays.iter().map(|overlay| overlay.key)
    }

    /// Its file.
    pub fn file(&self) -> &Arc<StoreFile> {
        &self.file
    }

    /// The lists of deleted edges: positions, or places of the in-direction.
    fn gone(&self, is_in: bool) -> &SortedList {
        if is_in { &self.places } else { &self.deleted }
    }

    fn overlay(&self, key: PropertyKeyId) -> Option<&Overlay> {
        self.overlays.iter().find(|overlay| overlay.key == key)
    }

    /// Gives all changed properties, key, position and value, a stretch of positions at a time.
    pub fn changes(&self, mut each: impl FnMut(PropertyKeyId, u64, Value) -> Result<()>) -> Result<()> {
        let overlays: Vec<(&PatchSection, &Overlay)> = self.overlays.iter().map(|overlay| (self, overlay)).collect();
        let (mut start, mut found) = (0, 0);
        while start < u64::MAX {
            let end = end_of_stretch(&overlays, start)?;
            for (_, overlay) in &overlays {
                let (positions, values) = overlay.stretch(&self.file, start..end)?;
                found += positions.len() as u64;
                for (row, &position) in positions.iter().enumerate() {
                    each(overlay.key, position, values.value(row))?;
                }
            }
            start = end;
        }
        all_found(&overlays, found)
    }

    /// Adds the positions of all deleted edges, or their places in the in-direction, in order.
    pub fn deleted(&self, is_in: bool, out: &mut Vec<u64>) -> Result<()> {
        self.gone(is_in).append(&self.file, 0..u64::MAX, out)
    }
}

/// Changed values taken from a patch at a time.
const STRETCH_VALUES: u64 = 16_384;

/// Fails unless the stretches of overlays held as many values as there are: fewer are found where a list does not ascend.
fn all_found(overlays: &[(&PatchSection, &Overlay)], found: u64) -> Result<()> {
    let held: u64 = overlays.iter().map(|(_, overlay)| overlay.positions.count()).sum();
    match overlays.first().filter(|_| found != held) {
        Some((section, overlay)) => Err(overlay.positions.disorder(&section.file)),
        None => Ok(()),
    }
}

/// The end of the stretch of positions from `start` in which no overlay has more values than are taken at a time.
fn end_of_stretch(overlays: &[(&PatchSection, &Overlay)], start: u64) -> Result<u64> {
    let mut end = u64::MAX;
    for (section, overlay) in overlays {
        end = end.min(overlay.positions.end_of_stretch(&section.file, start, STRETCH_VALUES)?);
    }
    Ok(end)
}

impl Overlay {
    /// The positions of a stretch, and their values.
    fn stretch(&self, file: &StoreFile, stretch: Range<u64>) -> Result<(Vec<u64>, Column)> {
        let indices = self.positions.indices(file, &stretch)?;
        let mut positions = Vec::new();
        self.positions.append(file, stretch, &mut positions)?;
        Ok((positions, self.values(indices)?))
    }

    /// Some of its values, by their indices.
    fn values(&self, indices: Range<u64>) -> Result<Column> {
        let count = (indices.end - indices.start) as usize;
        self.values.as_ref().map_or_else(|| Ok(Column::nulls(count)), |column| column.range(indices))
    }
}

/// All patches of one section, oldest first.
#[derive(Clone, Debug)]
pub struct SectionPatches {
    layers: Vec<Arc<PatchSection>>,
    deleted: u64,
}

impl SectionPatches {
    /// The patches of each section of a partition; empty if there is no patch.
    pub fn by_section(patches: &[Arc<Patch>], sections: usize) -> Vec<Option<Box<SectionPatches>>> {
        if patches.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<Option<Box<SectionPatches>>> = (0..sections).map(|_| None).collect();
        for (index, section) in patches.iter().flat_map(|patch| patch.sections()) {
            let patches =
                all[*index].get_or_insert_with(|| Box::new(SectionPatches { layers: Vec::new(), deleted: 0 }));
            patches.deleted += section.deleted.count();
            patches.layers.push(section.clone());
        }
        all
    }

    /// Number of edges that are gone.
    #[inline]
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    /// Contents of the patches, oldest first.
    pub fn layers(&self) -> &[Arc<PatchSection>] {
        &self.layers
    }

    /// The keys of properties that changed, some perhaps twice.
    pub fn keys(&self) -> impl Iterator<Item = PropertyKeyId> + '_ {
        self.layers.iter().flat_map(|layer| layer.overlays.iter().map(|overlay| overlay.key))
    }

    /// True if some edge of the run may be gone; `is_in` for a run of the in-direction.
    #[inline]
    pub fn may_have_lost(&self, run: &Range<u64>, is_in: bool) -> bool {
        self.deleted > 0 && self.layers.iter().any(|layer| layer.gone(is_in).may_hold(run))
    }

    /// Number of edges of the run that are gone.
    pub fn count_lost(&self, run: &Range<u64>, is_in: bool) -> Result<u64> {
        let mut count = 0;
        if self.may_have_lost(run, is_in) {
            for layer in &self.layers {
                count += layer.gone(is_in).count_in(&layer.file, run)?;
            }
        }
        Ok(count)
    }

    /// Replaces `out` by the positions of the run's edges that are gone, or their places in the in-direction, in order.
    pub fn lost(&self, run: &Range<u64>, is_in: bool, out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        if self.may_have_lost(run, is_in) {
            for layer in &self.layers {
                layer.gone(is_in).append(&layer.file, run.clone(), out)?;
            }
            if self.layers.len() > 1 {
                // Each edge is deleted by one patch; a damaged one must not make it count twice.
                out.sort_unstable();
                out.dedup();
            }
        }
        Ok(())
    }

    /// True if the edge at a position is gone.
    pub fn is_lost(&self, position: u64) -> Result<bool> {
        Ok(self.count_lost(&(position..position + 1), false)? > 0)
    }

    /// The column of a property of the edges at these positions, with what changed.
    pub fn overlaid(&self, key: PropertyKeyId, positions: &[u64], mut column: Column) -> Result<Column> {
        for layer in &self.layers {
            let Some(overlay) = layer.overlay(key) else { continue };
            let (mut rows, mut indices) = (Vec::new(), Vec::new());
            for (row, &position) in positions.iter().enumerate() {
                if let Some(index) = overlay.positions.find(&layer.file, position)? {
                    rows.push(row);
                    indices.push(index);
                }
            }
            if !rows.is_empty() {
                let values = match &overlay.values {
                    Some(values) => values.read(&indices)?,
                    None => Column::nulls(indices.len()),
                };
                column = patched_by(column, &rows, &values);
            }
        }
        Ok(column)
    }

    /// The column of a property of a run of positions, with what changed.
    pub fn overlaid_range(&self, key: PropertyKeyId, run: &Range<u64>, mut column: Column) -> Result<Column> {
        for layer in &self.layers {
            let Some(overlay) = layer.overlay(key).filter(|overlay| overlay.positions.may_hold(run)) else { continue };
            let indices = overlay.positions.indices(&layer.file, run)?;
            let mut positions = Vec::new();
            overlay.positions.append(&layer.file, run.clone(), &mut positions)?;
            let rows: Vec<usize> = positions.iter().map(|position| (position - run.start) as usize).collect();
            column = patched_by(column, &rows, &overlay.values(indices)?);
        }
        Ok(column)
    }
}

/// The column with other values in some rows, which ascend.
fn patched_by(column: Column, rows: &[usize], values: &Column) -> Column {
    let values: Vec<Value> = values.values().collect();
    let patches: Vec<(usize, &Value)> = rows.iter().copied().zip(&values).collect();
    patched(column, &patches)
}
