//! Making patches: from the changes of a memtable, or one of several.

use std::collections::BTreeMap;

use model::id::PropertyKeyId;
use model::{Column, ColumnBuilder, Result, Value};

use super::list::SortedList;
use super::{Overlay, PatchSection, all_found, end_of_stretch};
use crate::build::BuildContext;
use crate::codec::bytes::Put;
use crate::column::ColumnWriter;
use crate::column::write::put_blocks;
use crate::file::{FileEntry, FileWriter};
use crate::format::FileKind;
use crate::memtable::value_bytes;
use crate::partition::{Partition, Section};

/// Content of a new patch.
#[derive(Clone, Debug, Default)]
pub struct PatchContent {
    /// By the index of the section.
    pub sections: BTreeMap<usize, SectionContent>,
    bytes: usize,
}

/// Content of a new patch for one section.
#[derive(Clone, Debug, Default)]
pub struct SectionContent {
    /// Positions of edges that are gone; in order when the patch is written, each once.
    pub deleted: Vec<u64>,
    /// By key, positions and values; in order when the patch is written. Of several for one position the last counts.
    pub overlays: BTreeMap<PropertyKeyId, Vec<(u64, Value)>>,
}

impl PatchContent {
    /// Notes that an edge is gone.
    pub fn delete(&mut self, section: usize, position: u64) {
        self.bytes += size_of::<u64>();
        self.sections.entry(section).or_default().deleted.push(position);
    }

    /// Notes the value of a property; null removes it.
    pub fn set(&mut self, section: usize, position: u64, key: PropertyKeyId, value: Value) {
        self.bytes += size_of::<u64>() + value_bytes(&value);
        let overlays = &mut self.sections.entry(section).or_default().overlays;
        overlays.entry(key).or_default().push((position, value));
    }

    /// Memory that the content takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes a patch of the partition that says this.
    pub fn write(mut self, context: &BuildContext, partition: &Partition) -> Result<FileEntry> {
        let mut writer = PatchWriter::new(context, self.sections.len())?;
        for (&index, content) in &mut self.sections {
            let section = &partition.sections()[index];
            content.deleted.sort_unstable();
            content.deleted.dedup();
            let mut places = Vec::with_capacity(content.deleted.len());
            for &position in &content.deleted {
                places.push(section.in_place(position)?);
            }
            places.sort_unstable();
            writer.section(index, content.overlays.len(), &content.deleted, &places, section)?;
            for (&key, changes) in &mut content.overlays {
                // Stable, so that of several values for one edge the last stays last.
                changes.sort_by_key(|(position, _)| *position);
                let is_last = |at: usize| changes.get(at + 1).is_none_or(|next| next.0 != changes[at].0);
                let (mut positions, mut values) = (Vec::new(), ColumnBuilder::default());
                for at in (0..changes.len()).filter(|&at| is_last(at)) {
                    positions.push(changes[at].0);
                    values.push(&changes[at].1);
                }
                let mut column = ColumnWriter::default();
                column.push(&values.finish(), 0, positions.len(), &mut writer.file)?;
                writer.overlay(key, &positions, column, section)?;
            }
        }
        writer.finish()
    }
}

/// Writes one patch that says what several patches of a partition say, the newest last.
pub fn merge_patches(context: &BuildContext, partition: &Partition, patches: &[&super::Patch]) -> Result<FileEntry> {
    let mut by_section: BTreeMap<usize, Vec<&PatchSection>> = BTreeMap::new();
    for (index, section) in patches.iter().flat_map(|patch| patch.sections()) {
        by_section.entry(*index).or_default().push(section);
    }
    let mut writer = PatchWriter::new(context, by_section.len())?;
    for (&index, layers) in &by_section {
        context.interrupt.check()?;
        let section = &partition.sections()[index];
        let (mut deleted, mut places) = (Vec::new(), Vec::new());
        for layer in layers {
            layer.deleted(false, &mut deleted)?;
            layer.deleted(true, &mut places)?;
        }
        deleted.sort_unstable();
        places.sort_unstable();
        let mut keys: Vec<PropertyKeyId> =
            layers.iter().flat_map(|layer| layer.overlays.iter().map(|overlay| overlay.key)).collect();
        keys.sort_unstable();
        keys.dedup();
        writer.section(index, keys.len(), &deleted, &places, section)?;
        for key in keys {
            merge_overlays(&mut writer, layers, key, section)?;
        }
    }
    writer.finish()
}

/// Merges what the layers say about one property, a stretch of positions at a time.
fn merge_overlays(
    writer: &mut PatchWriter,
    layers: &[&PatchSection],
    key: PropertyKeyId,
    section: &Section,
) -> Result<()> {
    let overlays: Vec<(&PatchSection, &Overlay)> =
        layers.iter().filter_map(|layer| Some((*layer, layer.overlay(key)?))).collect();
    let (mut all, mut column) = (Vec::new(), ColumnWriter::default());
    let (mut start, mut found) = (0, 0);
    while start < section.edge_count() {
        let end = end_of_stretch(&overlays, start)?.min(section.edge_count());
        let mut newest: BTreeMap<u64, Value> = BTreeMap::new();
        for (layer, overlay) in &overlays {
            let (positions, values) = overlay.stretch(&layer.file, start..end)?;
            found += positions.len() as u64;
            newest.extend(positions.into_iter().zip(values.values()));
        }
        let mut values = ColumnBuilder::default();
        newest.values().for_each(|value| values.push(value));
        let values: Column = values.finish();
        column.push(&values, 0, values.len(), &mut writer.file)?;
        all.extend(newest.into_keys());
        start = end;
    }
    all_found(&overlays, found)?;
    writer.overlay(key, &all, column, section)
}

/// The file of a patch while it is written: section by section, and in each key by key.
struct PatchWriter {
    file: FileWriter,
    directory: Vec<u8>,
}

impl PatchWriter {
    fn new(context: &BuildContext, sections: usize) -> Result<PatchWriter> {
        let mut directory = Vec::new();
        directory.put_u32(sections as u32);
        Ok(PatchWriter { file: context.create(FileKind::Patch)?, directory })
    }

    fn section(&mut self, index: usize, keys: usize, deleted: &[u64], places: &[u64], of: &Section) -> Result<()> {
        self.directory.put_u32(index as u32);
        self.directory.put_u32(keys as u32);
        SortedList::write(deleted, of.edge_count(), &mut self.file, &mut self.directory)?;
        SortedList::write(places, of.edge_count(), &mut self.file, &mut self.directory)
    }

    fn overlay(&mut self, key: PropertyKeyId, positions: &[u64], values: ColumnWriter, of: &Section) -> Result<()> {
        let blocks = values.finish(&mut self.file)?;
        self.directory.put_u32(key.0);
        self.directory.put_u32(u32::from(blocks.is_some()));
        SortedList::write(positions, of.edge_count(), &mut self.file, &mut self.directory)?;
        if let Some(blocks) = blocks {
            put_blocks(&blocks, &mut self.directory);
        }
        Ok(())
    }

    fn finish(self) -> Result<FileEntry> {
        self.file.finish(&self.directory)
    }
}
