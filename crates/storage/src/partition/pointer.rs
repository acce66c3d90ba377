//! The pointer index: from a node to its run of edges in one direction of a section.
//!
//! Dense: an offset for every id between the first and the last node that has edges. Packed, a lookup is one access;
//! in the encoding of Elias and Fano it is a few, at a quarter of the bytes. Sparse: the nodes that have edges, and their
//! offsets, both in that encoding. Sizes decide which form is written: see [`form_of`].

use std::ops::Range;

use model::Result;

use super::ascending::Ascending;
use crate::codec::bits::{Packer, is_width, packed_bytes, width_of};
use crate::codec::bytes::{Get, Put};
use crate::file::{FileWriter, StoreFile};
use crate::format::NODE_ID_LIMIT;

#[cfg(test)]
mod tests;

const EMPTY: u8 = 0;
const DENSE: u8 = 1;
const DENSE_ASCENDING: u8 = 3;
const SPARSE: u8 = 4;
/// The packed form is taken up to this size: it stays in a processor's cache, where it is three times as fast.
const PACKED_BYTES_MAX: usize = 8 << 20;
/// Multiple of the bytes of the smallest form that is paid for the packed form, and for the dense one.
const PACKED_SHARE: usize = 6;
const DENSE_SHARE: usize = 2;
/// Packed bytes that gather before they are written.
const PIECE_BYTES: usize = 1 << 16;

/// Layout of a pointer index in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerIndex {
    form: u8,
    offset_width: u8,
    first: u64,
    last: u64,
    /// Slots.
    count: usize,
    offsets_start: usize,
    edges: u64,
    /// Of the sparse form: the nodes less the first.
    keys: Ascending,
    /// Of both forms but the packed one: the offsets.
    offsets: Ascending,
}

/// The form for `span` ids, of which `count` have edges.
fn form_of(span: usize, count: usize, edges: u64) -> u8 {
    let packed = packed_bytes(span + 1, width_of(edges));
    let dense = Ascending::bytes_of(span + 1, edges);
    let sparse = Ascending::bytes_of(count, span as u64 - 1) + Ascending::bytes_of(count + 1, edges);
    if packed <= PACKED_BYTES_MAX && packed <= dense.min(sparse).saturating_mul(PACKED_SHARE) {
        DENSE
    } else if dense <= sparse.saturating_mul(DENSE_SHARE) {
        DENSE_ASCENDING
    } else {
        SPARSE
    }
}

impl PointerIndex {
    /// Writes the index of nodes that have edges: they ascend, each with its number of edges; passed over several times.
    pub fn write(nodes: impl Iterator<Item = (u32, u32)> + Clone, file: &mut FileWriter) -> Result<PointerIndex> {
        let Some((first, _)) = nodes.clone().next() else { return Ok(PointerIndex::empty()) };
        let (mut last, mut count, mut edges) = (first, 0usize, 0u64);
        for (node, degree) in nodes.clone() {
            (last, count, edges) = (node, count + 1, edges + u64::from(degree));
        }
        let form = form_of((last - first) as usize + 1, count, edges);
        PointerIndex::write_as(form, nodes, (first, last, count, edges), file)
    }

    /// Writes one of the forms; first and last node, and how many nodes and edges there are, are known.
    fn write_as(
        form: u8,
        nodes: impl Iterator<Item = (u32, u32)> + Clone,
        (first, last, count, edges): (u32, u32, usize, u64),
        file: &mut FileWriter,
    ) -> Result<PointerIndex> {
        let is_sparse = form == SPARSE;
        let mut index = PointerIndex {
            form,
            first: u64::from(first),
            last: u64::from(last),
            count: if is_sparse { count } else { (last - first) as usize + 1 },
            edges,
            ..PointerIndex::empty()
        };
        if is_sparse {
            let keys = nodes.clone().map(|(node, _)| u64::from(node - first));
            index.keys = Ascending::write(keys, count, index.last - index.first, file)?;
        }
        let offsets = Offsets { nodes: nodes.peekable(), key: first, offset: 0, is_sparse }.take(index.count + 1);
        if form == DENSE {
            file.align()?;
            index.offset_width = width_of(edges);
            index.offsets_start = file.position() as usize;
            write_packed(offsets, index.count + 1, index.offset_width, file)?;
        } else {
            index.offsets = Ascending::write(offsets, index.count + 1, edges, file)?;
            (index.offset_width, index.offsets_start) = (index.offsets.low_width(), index.offsets.start());
        }
        Ok(index)
    }

    fn empty() -> PointerIndex {
        let nothing = Ascending::new(0, 0, 0);
        PointerIndex {
            form: EMPTY,
            offset_width: 0,
            first: 0,
            last: 0,
            count: 0,
            offsets_start: 0,
            edges: 0,
            keys: nothing.clone(),
            offsets: nothing,
        }
    }

    /// Adds the index to its file's directory.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.form, self.keys.low_width(), self.offset_width, 0]);
        out.put_u32(0);
        out.put_u64(self.first);
        out.put_u64(self.last);
        out.put_u64(self.count as u64);
        out.put_u64(self.keys.start() as u64);
        out.put_u64(self.offsets_start as u64);
        out.put_u64(self.edges);
    }

    /// Reads the index from its file's directory.
    pub fn take(file: &StoreFile, directory: &mut Get<'_>) -> Result<PointerIndex> {
        let [form, key_width, offset_width, _] = directory.take(4)?.try_into().expect("four bytes were taken");
        directory.u32()?;
        let (first, last, count) = (directory.u64()?, directory.u64()?, directory.u64()? as usize);
        let (keys_start, offsets_start) = (directory.u64()?, directory.u64()?);
        let edges = directory.u64()?;
        let is_sound = matches!(form, EMPTY | DENSE | DENSE_ASCENDING | SPARSE)
            && is_width(offset_width)
            && first <= last
            && last < NODE_ID_LIMIT
            && edges < 1 << 40
            && count as u64 <= NODE_ID_LIMIT
            // So there are no more entries than the file has bits.
            && (form != DENSE || offset_width == width_of(edges) && edges > 0)
            && (!matches!(form, DENSE | DENSE_ASCENDING) || last - first + 1 == count as u64)
            && (form == EMPTY) == (count == 0)
            && keys_start.max(offsets_start) < file.entry().length;
        if !is_sound {
            return Err(directory.damage("a pointer index contradicts itself"));
        }
        let offsets_start = offsets_start as usize;
        let mut index =
            PointerIndex { form, offset_width, first, last, count, offsets_start, edges, ..PointerIndex::empty() };
        if form == SPARSE {
            index.keys = Ascending::new(count, last - first, keys_start as usize);
            file.check_range(keys_start, index.keys.length() as u64, "a pointer index")?;
        }
        if matches!(form, DENSE_ASCENDING | SPARSE) {
            index.offsets = Ascending::new(count + 1, edges, offsets_start);
        }
        let length = match form {
            EMPTY => return Ok(index),
            DENSE => packed_bytes(count + 1, offset_width),
            _ => index.offsets.length(),
        };
        file.check_range(offsets_start as u64, length as u64, "a pointer index")?;
        let widths = (index.keys.low_width(), if form == DENSE { offset_width } else { index.offsets.low_width() });
        if widths != (key_width, offset_width) {
            return Err(directory.damage("a pointer index has widths that do not follow from its size"));
        }
        Ok(index)
    }

    /// The first and the last node that may have edges; `None` if none has.
    pub fn span(&self) -> Option<(u64, u64)> {
        (self.form != EMPTY).then_some((self.first, self.last))
    }

    /// Edges in all.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// The run of a node; empty if it has no edges.
    #[inline]
    pub fn run(&self, file: &StoreFile, node: u64) -> Result<Range<u64>> {
        if node < self.first || node > self.last || self.form == EMPTY {
            return Ok(0..0);
        }
        if self.form == DENSE {
            return self.run_of_slot(file, (node - self.first) as usize);
        }
        let key = node - self.first;
        let slot = if self.form == SPARSE { self.keys.find(file, key)? } else { Some(key as usize) };
        let Some(slot) = slot else { return Ok(0..0) };
        let mut run = [0; 2];
        self.offsets.read(file, slot, &mut run)?;
        let [start, end] = run;
        if start > end || end > self.edges {
            return Err(file.damage(self.offsets_start, format!("the run {start}..{end} is not within the section")));
        }
        Ok(start..end)
    }

    #[inline]
    fn run_of_slot(&self, file: &StoreFile, slot: usize) -> Result<Range<u64>> {
        let offsets = file.packed(self.offsets_start, self.offset_width, &(slot..slot + 2))?;
        let (start, end) = (offsets.get(slot), offsets.get(slot + 1));
        if start > end || end > self.edges {
            return Err(file.damage(self.offsets_start, format!("the run {start}..{end} is not within the section")));
        }
        Ok(start..end)
    }

    fn offset(&self, file: &StoreFile, slot: usize) -> Result<u64> {
        Ok(file.packed(self.offsets_start, self.offset_width, &(slot..slot + 1))?.get(slot))
    }

    /// The node whose run holds a position below [`PointerIndex::edges`].
    pub fn node_at(&self, file: &StoreFile, position: u64) -> Result<u64> {
        let slot = match self.form {
            DENSE => self.packed_slot_at(file, position)?,
            _ => self.offsets.count_below(file, position, true)?.saturating_sub(1).min(self.count.saturating_sub(1)),
        };
        Ok(self.first + if self.form == SPARSE { self.keys.at(file, slot)? } else { slot as u64 })
    }

    fn packed_slot_at(&self, file: &StoreFile, position: u64) -> Result<usize> {
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset(file, middle)? <= position {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The slots of all nodes in a range of ids, for [`PointerIndex::runs`].
    pub fn slots(&self, file: &StoreFile, nodes: Range<u64>) -> Result<Range<usize>> {
        if self.form == EMPTY || nodes.end <= self.first || nodes.start > self.last || nodes.is_empty() {
            return Ok(0..0);
        }
        let slot = |node: u64| -> Result<usize> {
            match node.checked_sub(self.first) {
                None => Ok(0),
                Some(_) if node > self.last => Ok(self.count),
                Some(key) if self.form == SPARSE => self.keys.count_below(file, key, false),
                Some(key) => Ok(key as usize),
            }
        };
        Ok(slot(nodes.start)?..slot(nodes.end)?)
    }

    /// Fills `nodes` and `ends` with the nodes at `slots` and the ends of their runs; gives the start of the first.
    /// Some of the runs may be empty. `slots` must not be empty.
    pub fn runs(
        &self,
        file: &StoreFile,
        slots: Range<usize>,
        nodes: &mut Vec<u64>,
        ends: &mut Vec<u64>,
    ) -> Result<u64> {
        self.bounds(file, slots.clone(), ends)?;
        let start = ends.remove(0);
        self.nodes_at(file, slots, nodes)?;
        Ok(start)
    }

    /// Replaces `out` by where the runs at `slots` start, and where the last one ends; `slots` must not be empty.
    pub fn bounds(&self, file: &StoreFile, slots: Range<usize>, out: &mut Vec<u64>) -> Result<()> {
        let count = slots.len() + 1;
        out.resize(count, 0);
        if self.form == DENSE {
            let entries = slots.start..slots.start + count;
            file.packed(self.offsets_start, self.offset_width, &entries)?.unpack(slots.start, out);
        } else {
            self.offsets.read(file, slots.start, out)?;
        }
        Ok(())
    }

    /// Replaces `out` by the nodes at `slots`.
    pub fn nodes_at(&self, file: &StoreFile, slots: Range<usize>, out: &mut Vec<u64>) -> Result<()> {
        if self.form == SPARSE {
            out.resize(slots.len(), 0);
            self.keys.read(file, slots.start, out)?;
            out.iter_mut().for_each(|node| *node += self.first);
        } else {
            out.clear();
            out.extend(slots.map(|slot| self.first + slot as u64));
        }
        Ok(())
    }

    /// The node of the first slot, where each slot is the next node; `None` where the nodes are listed.
    pub fn first_of_dense(&self) -> Option<u64> {
        (self.form != SPARSE).then_some(self.first)
    }

    /// Slots in all.
    pub fn slot_count(&self) -> usize {
        self.count
    }

    /// Advice that the run of a node will be read.
    pub fn will_need(&self, file: &StoreFile, node: u64) {
        if self.form == EMPTY || !(self.first..=self.last).contains(&node) {
            return;
        }
        let key = node - self.first;
        if self.form == DENSE {
            let width = self.offset_width as usize;
            return file.will_need(self.offsets_start + key as usize * width / 8, width / 4 + 8);
        }
        let slot = if self.form == SPARSE { self.guess(key) } else { key as usize };
        // The place of offsets and keys if they were evenly spread; blocks are large, so that this is mostly near
        // enough.
        let offset = (u128::from(self.edges) * slot as u128 / self.count as u128) as u64;
        let keys = (self.form == SPARSE).then(|| self.keys.places(key, slot));
        let places = keys.into_iter().flatten().chain(self.offsets.places(offset, slot));
        places.for_each(|place| file.will_need(place.start, place.len()));
    }

    /// The slot of a key of the sparse form if keys were evenly spread.
    fn guess(&self, key: u64) -> usize {
        let span = self.last - self.first;
        (u128::from(key) * (self.count as u128 - 1) / u128::from(span.max(1))) as usize
    }
}

/// The offsets of an index in order, one more than it has slots.
#[derive(Clone)]
struct Offsets<I: Iterator<Item = (u32, u32)>> {
    nodes: std::iter::Peekable<I>,
    key: u32,
    offset: u64,
    is_sparse: bool,
}

impl<I: Iterator<Item = (u32, u32)>> Iterator for Offsets<I> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let offset = self.offset;
        let (key, is_sparse) = (self.key, self.is_sparse);
        if let Some((_, degree)) = self.nodes.next_if(|(node, _)| is_sparse || *node == key) {
            self.offset += u64::from(degree);
        }
        self.key = self.key.wrapping_add(1);
        Some(offset)
    }
}

/// Writes a packed array of `count` entries, a piece at a time.
pub(super) fn write_packed(
    entries: impl Iterator<Item = u64>,
    count: usize,
    width: u8,
    file: &mut FileWriter,
) -> Result<()> {
    let mut packer = Packer::new(width);
    for entry in entries {
        packer.push(entry);
        let ready = packer.ready();
        if ready.len() >= PIECE_BYTES {
            file.write(ready)?;
            ready.clear();
        }
    }
    file.write(&packer.finish(count))
}
