//! The pointer index: from a node to its run of edges in one direction of a section.
//!
//! Dense: an offset for every id between the first and the last node that has edges; a lookup is one access.
//! Sparse: the nodes that have edges, sorted, and their offsets; a lookup searches from where the id would be if ids
//! were evenly spread. The smaller form is taken, with a bonus for the dense one, which is faster.

use std::ops::Range;

use model::Result;

use crate::codec::bits::{Packer, get, is_width, packed_bytes, unpack, width_of};
use crate::codec::bytes::{Get, Put};
use crate::file::{FileWriter, StoreFile};

const EMPTY: u8 = 0;
const DENSE: u8 = 1;
const SPARSE: u8 = 2;
/// Packed bytes that gather before they are written.
const PIECE_BYTES: usize = 1 << 16;

/// Where a pointer index lies in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerIndex {
    form: u8,
    key_width: u8,
    offset_width: u8,
    first: u64,
    last: u64,
    count: usize,
    keys_start: usize,
    offsets_start: usize,
    edges: u64,
}

impl PointerIndex {
    /// Writes the index of nodes that have edges: they ascend, each with its number of edges; passed over up to thrice.
    pub fn write(nodes: impl Iterator<Item = (u32, u32)> + Clone, file: &mut FileWriter) -> Result<PointerIndex> {
        let Some((first, _)) = nodes.clone().next() else { return Ok(PointerIndex::empty()) };
        let (mut last, mut count, mut edges) = (first, 0usize, 0u64);
        for (node, degree) in nodes.clone() {
            (last, count, edges) = (node, count + 1, edges + u64::from(degree));
        }
        let span = (last - first) as usize + 1;
        let (key_width, offset_width) = (width_of(u64::from(last - first)), width_of(edges));
        let dense_bytes = packed_bytes(span + 1, offset_width);
        let sparse_bytes = packed_bytes(count, key_width) + packed_bytes(count + 1, offset_width);
        let is_sparse = sparse_bytes.saturating_mul(3) < dense_bytes.saturating_mul(2);
        let mut index = PointerIndex {
            form: if is_sparse { SPARSE } else { DENSE },
            key_width,
            offset_width,
            first: u64::from(first),
            last: u64::from(last),
            count: if is_sparse { count } else { span },
            keys_start: 0,
            offsets_start: 0,
            edges,
        };
        file.align()?;
        if is_sparse {
            index.keys_start = file.position() as usize;
            write_packed(nodes.clone().map(|(node, _)| u64::from(node - first)), count, key_width, file)?;
        }
        index.offsets_start = file.position() as usize;
        let offsets = Offsets { nodes: nodes.peekable(), key: first, offset: 0, is_sparse };
        write_packed(offsets.take(index.count + 1), index.count + 1, offset_width, file)?;
        Ok(index)
    }

    fn empty() -> PointerIndex {
        PointerIndex {
            form: EMPTY,
            key_width: 0,
            offset_width: 0,
            first: 0,
            last: 0,
            count: 0,
            keys_start: 0,
            offsets_start: 0,
            edges: 0,
        }
    }

    /// Adds the index to its file's directory.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.form, self.key_width, self.offset_width, 0]);
        out.put_u32(0);
        out.put_u64(self.first);
        out.put_u64(self.last);
        out.put_u64(self.count as u64);
        out.put_u64(self.keys_start as u64);
        out.put_u64(self.offsets_start as u64);
        out.put_u64(self.edges);
    }

    /// Reads the index from its file's directory.
    pub fn take(file: &StoreFile, directory: &mut Get<'_>) -> Result<PointerIndex> {
        let [form, key_width, offset_width, _] = directory.take(4)?.try_into().expect("four bytes were taken");
        directory.u32()?;
        let (first, last, count) = (directory.u64()?, directory.u64()?, directory.u64()? as usize);
        let (keys_start, offsets_start) = (directory.u64()? as usize, directory.u64()? as usize);
        let edges = directory.u64()?;
        let index =
            PointerIndex { form, key_width, offset_width, first, last, count, keys_start, offsets_start, edges };
        let is_sound = form <= SPARSE
            && is_width(key_width)
            && is_width(offset_width)
            && first <= last
            && (count as u64) < 1 << 40
            && (form != DENSE || last - first + 1 == count as u64)
            && (form == EMPTY) == (count == 0);
        if !is_sound {
            return Err(directory.damage("a pointer index contradicts itself"));
        }
        if form == SPARSE {
            file.check_range(keys_start as u64, packed_bytes(count, key_width) as u64, "a pointer index")?;
        }
        if form != EMPTY {
            file.check_range(offsets_start as u64, packed_bytes(count + 1, offset_width) as u64, "a pointer index")?;
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
        let slot = if self.form == DENSE {
            (node - self.first) as usize
        } else {
            match self.find(file, node - self.first)? {
                Ok(slot) => slot,
                Err(_) => return Ok(0..0),
            }
        };
        self.run_of_slot(file, slot)
    }

    #[inline]
    fn run_of_slot(&self, file: &StoreFile, slot: usize) -> Result<Range<u64>> {
        let width = self.offset_width as usize;
        file.ensure(self.offsets_start + slot * width / 8, width / 4 + 8)?;
        let bytes = &file.bytes()[self.offsets_start..];
        let (start, end) = (get(bytes, self.offset_width, slot), get(bytes, self.offset_width, slot + 1));
        if start > end || end > self.edges {
            return Err(file.damage(self.offsets_start, format!("the run {start}..{end} is not within the section")));
        }
        Ok(start..end)
    }

    fn key(&self, file: &StoreFile, slot: usize) -> Result<u64> {
        file.ensure(self.keys_start + slot * self.key_width as usize / 8, 8)?;
        Ok(get(&file.bytes()[self.keys_start..], self.key_width, slot))
    }

    fn offset(&self, file: &StoreFile, slot: usize) -> Result<u64> {
        file.ensure(self.offsets_start + slot * self.offset_width as usize / 8, 8)?;
        Ok(get(&file.bytes()[self.offsets_start..], self.offset_width, slot))
    }

    /// The slot of a key of the sparse form, or where it would be.
    fn find(&self, file: &StoreFile, key: u64) -> Result<std::result::Result<usize, usize>> {
        let guess = self.guess(key);
        // Gallop from the guess until the key is between `low` and `high`.
        let (mut low, mut high, mut step) = (guess, guess, 8);
        while low > 0 && self.key(file, low)? > key {
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 8;
        while high < self.count && self.key(file, high)? <= key {
            low = high;
            high = (high + step).min(self.count);
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match self.key(file, middle)?.cmp(&key) {
                std::cmp::Ordering::Equal => return Ok(Ok(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(Err(low))
    }

    /// The node whose run holds a position below [`PointerIndex::edges`].
    pub fn node_at(&self, file: &StoreFile, position: u64) -> Result<u64> {
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset(file, middle)? <= position {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(self.first + if self.form == DENSE { low as u64 } else { self.key(file, low)? })
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
                Some(key) if self.form == DENSE => Ok(key as usize),
                Some(key) => Ok(self.find(file, key)?.unwrap_or_else(|slot| slot)),
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
        let count = slots.len();
        nodes.clear();
        ends.clear();
        ends.resize(count + 1, 0);
        let width = self.offset_width as usize;
        file.ensure(self.offsets_start + slots.start * width / 8, (count + 1) * width / 8 + 8)?;
        unpack(&file.bytes()[self.offsets_start..], self.offset_width, slots.start, ends);
        let start = ends.remove(0);
        if self.form == DENSE {
            nodes.extend(slots.map(|slot| self.first + slot as u64));
        } else {
            let width = self.key_width as usize;
            file.ensure(self.keys_start + slots.start * width / 8, count * width / 8 + 8)?;
            nodes.resize(count, 0);
            unpack(&file.bytes()[self.keys_start..], self.key_width, slots.start, nodes);
            nodes.iter_mut().for_each(|node| *node += self.first);
        }
        Ok(start)
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
        let slot = if self.form == DENSE { key as usize } else { self.guess(key) };
        if self.form == SPARSE {
            file.will_need(self.keys_start + slot * self.key_width as usize / 8, 8);
        }
        let width = self.offset_width as usize;
        file.will_need(self.offsets_start + slot * width / 8, width / 4 + 8);
    }

    /// The slot of a key of the sparse form if keys were evenly spread.
    fn guess(&self, key: u64) -> usize {
        let span = self.last - self.first;
        (u128::from(key) * (self.count as u128 - 1) / u128::from(span.max(1))) as usize
    }
}

/// The offsets of an index in order, one more than it has slots.
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

/// Writes a packed array of so many entries, a piece at a time.
fn write_packed(entries: impl Iterator<Item = u64>, count: usize, width: u8, file: &mut FileWriter) -> Result<()> {
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
