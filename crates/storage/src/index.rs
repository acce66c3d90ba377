//! Unique key indexes: from the value of a property to the node that has it, for one label and key.
//!
//! Entries are pairs of 48 bits of the value's hash and a node id, sorted; the high bits of the hash are not stored but
//! say in which bucket an entry lies.
//!
//! An index is a list of *runs*: each says which pairs came and which went since the one before.
//!
//! Cost: a lookup is an access to the bucket table and one to the entries; the caller compares the node's value. A run
//! that does not have the hash is passed over by one access to its [`filter`], except for the oldest, which has none.
//! [`write`] makes runs, [`merge`] makes one of several, [`sort`] orders the pairs within a budget.

use std::path::Path;
use std::sync::Arc;

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::platform::Disk;
use model::{Column, ColumnData, Result};

use crate::codec::bits::{is_width, mask_of, packed_bytes, width_of};
use crate::codec::hash::{hash_float, hash_int, hash_text, hash_value};
use crate::file::StoreFile;
use crate::format::FileKind;
use crate::manifest::IndexEntry;

mod filter;
pub mod merge;
pub mod sort;
pub mod write;

/// Bits of a value's hash that an index knows.
pub const HASH_BITS: u32 = 48;

/// The part of a hash that an index knows.
#[inline]
pub fn index_hash(hash: u64) -> u64 {
    hash >> (64 - HASH_BITS)
}

/// One immutable run of a key index.
#[derive(Debug)]
pub struct KeyIndex {
    file: Arc<StoreFile>,
    entry: IndexEntry,
    count: u64,
    radix_bits: u32,
    id_bits: u32,
    offset_width: u8,
    offsets_start: usize,
    entry_width: u8,
    entries_start: usize,
    /// 1 if the lowest bit of an entry says that the pair was removed, else 0.
    mark_bits: u32,
    filter_start: usize,
    /// Blocks of the filter; 0 if there is none.
    filter_blocks: u64,
}

impl KeyIndex {
    /// Opens an index; reads header and directory only.
    pub fn open(disk: &Arc<dyn Disk>, directory: &Path, entry: IndexEntry) -> Result<KeyIndex> {
        let file = StoreFile::open(disk, directory, FileKind::Keys, entry.file)?;
        let mut get = file.directory()?;
        let (label, key) = (LabelId(get.u32()?), PropertyKeyId(get.u32()?));
        let (count, radix_bits, id_bits) = (get.u64()?, get.u32()?, get.u32()?);
        let (offset_width, entry_width) = (get.u32()? as u8, get.u32()? as u8);
        let (offsets_start, entries_start) = (get.u64()?, get.u64()?);
        let (mark_bits, filter_start, filter_bytes) = (get.u64()?, get.u64()?, get.u64()?);
        let is_sound = (label, key) == (entry.label, entry.key)
            && radix_bits <= 40
            && count < 1 << 40
            && mark_bits <= 1
            && id_bits <= 32
            && HASH_BITS - radix_bits + id_bits + mark_bits as u32 <= u32::from(entry_width)
            && is_width(offset_width)
            && (count == 0 || offset_width >= width_of(count))
            && is_width(entry_width);
        if !is_sound {
            return Err(get.damage("the directory of a key index contradicts itself"));
        }
        let offsets = packed_bytes((1 << radix_bits) + 1, offset_width) as u64;
        file.check_range(offsets_start, offsets, "the buckets of a key index")?;
        let entries = packed_bytes(count as usize, entry_width) as u64;
        file.check_range(entries_start, entries, "the entries of a key index")?;
        let filter_blocks = filter_bytes / filter::BLOCK_BYTES as u64;
        if filter_blocks > 0 {
            file.check_range(filter_start, filter_bytes, "the filter of a key index")?;
        }
        let (offsets_start, entries_start) = (offsets_start as usize, entries_start as usize);
        Ok(KeyIndex {
            file,
            entry,
            count,
            radix_bits,
            id_bits,
            offset_width,
            offsets_start,
            entry_width,
            entries_start,
            mark_bits: mark_bits as u32,
            filter_start: filter_start as usize,
            filter_blocks,
        })
    }

    /// Entry in the manifest.
    pub fn entry(&self) -> IndexEntry {
        self.entry
    }

    /// Its file.
    pub fn file(&self) -> &Arc<StoreFile> {
        &self.file
    }

    /// Entries in all, removals included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bits of the largest node id.
    pub fn id_bits(&self) -> u32 {
        self.id_bits
    }

    /// True if entries may be removals.
    pub fn has_removals(&self) -> bool {
        self.mark_bits == 1
    }

    /// False if the run says nothing of a hash (of [`index_hash`]).
    #[inline]
    fn may_have(&self, hash: u64) -> Result<bool> {
        if self.filter_blocks == 0 {
            return Ok(true);
        }
        let at = self.filter_start + filter::block_of(hash, self.filter_blocks) * filter::BLOCK_BYTES;
        Ok(filter::may_have(self.file.read(at, filter::BLOCK_BYTES)?, hash))
    }

    /// Calls `found` with every node of which the run says that its value has, or no longer has (`true`), that hash.
    #[inline]
    pub fn candidates(&self, hash: u64, mut found: impl FnMut(NodeId, bool)) -> Result<()> {
        let hash = index_hash(hash);
        if !self.may_have(hash)? {
            return Ok(());
        }
        let low_bits = HASH_BITS - self.radix_bits;
        let (bucket, rest) = ((hash >> low_bits) as usize, hash & mask_of(low_bits as u8));
        let (start, end) = self.bucket(bucket)?;
        let entries = self.file.packed(self.entries_start, self.entry_width, &(start..end))?;
        for at in start..end {
            let entry = entries.get(at);
            let pair = entry >> self.mark_bits;
            if pair >> self.id_bits == rest {
                found(NodeId(pair & mask_of(self.id_bits as u8)), entry & u64::from(self.mark_bits) == 1);
            }
        }
        Ok(())
    }

    fn bucket(&self, bucket: usize) -> Result<(usize, usize)> {
        let offsets = self.file.packed(self.offsets_start, self.offset_width, &(bucket..bucket + 2))?;
        let (start, end) = (offsets.get(bucket) as usize, offsets.get(bucket + 1) as usize);
        if start > end || end as u64 > self.count {
            let problem = format!("bucket {bucket} of a key index is {start}..{end} of {}", self.count);
            return Err(self.file.damage(self.offsets_start, problem));
        }
        Ok((start, end))
    }

    /// All entries; hashes ascend, and nodes of the same hash.
    pub fn pairs(&self) -> Pairs<'_> {
        Pairs { index: self, bucket: 0, at: 0, end: 0 }
    }
}

/// A cursor over all entries of an index.
#[derive(Debug)]
pub struct Pairs<'a> {
    index: &'a KeyIndex,
    bucket: usize,
    at: usize,
    end: usize,
}

impl Pairs<'_> {
    /// The next pair of hash and node and whether it was removed; `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<(u64, NodeId, bool)>> {
        let index = self.index;
        while self.at == self.end {
            if index.count == 0 || self.bucket == 1 << index.radix_bits {
                return Ok(None);
            }
            (self.at, self.end) = index.bucket(self.bucket)?;
            self.bucket += 1;
        }
        let low_bits = HASH_BITS - index.radix_bits;
        let entry = index.file.packed(index.entries_start, index.entry_width, &(self.at..self.at + 1))?.get(self.at);
        self.at += 1;
        let pair = entry >> index.mark_bits;
        let hash = (self.bucket as u64 - 1) << low_bits | pair >> index.id_bits;
        let is_removed = entry & u64::from(index.mark_bits) == 1;
        Ok(Some((hash, NodeId(pair & mask_of(index.id_bits as u8)), is_removed)))
    }
}

/// The hash of each row of a column; `None` where it is null.
pub fn hash_column(column: &Column) -> Vec<Option<u64>> {
    (0..column.len()).map(|row| hash_row(column, row)).collect()
}

/// The hash of one row; `None` if it is null.
#[inline]
pub fn hash_row(column: &Column, row: usize) -> Option<u64> {
    if column.is_null(row) {
        return None;
    }
    Some(match &column.data {
        ColumnData::Int(values) => hash_int(values[row]),
        ColumnData::Float(values) => hash_float(values[row]),
        ColumnData::String(texts) => hash_text(texts.get(row)),
        _ => hash_value(&column.value(row)),
    })
}

/// The hash by which an index knows a row; `None` for values that no index has: null, and what does not equal itself,
/// such as NaN, and so is never found and never taken.
#[inline]
pub fn indexed_hash(column: &Column, row: usize) -> Option<u64> {
    let equals_itself = match &column.data {
        ColumnData::Float(values) => !values[row].is_nan(),
        ColumnData::Value(values) => values[row].equals(&values[row]) == Some(true),
        _ => true,
    };
    if equals_itself { hash_row(column, row).map(index_hash) } else { None }
}
