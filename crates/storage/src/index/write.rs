//! Making a run of a key index from pairs of hash and node in order of their hashes.

use model::Result;
use model::id::{LabelId, NodeId, PropertyKeyId};

use super::HASH_BITS;
use super::filter::FilterWriter;
use crate::build::BuildContext;
use crate::codec::bits::{Packer, mask_of, pack, width_of};
use crate::codec::bytes::Put;
use crate::file::FileWriter;
use crate::format::FileKind;
use crate::manifest::IndexEntry;

/// Approximate number of entries in one bucket.
const BUCKET_ENTRIES: u64 = 8;

/// An index with more entries gets no filter, which would be held in memory until it is written.
const FILTER_ENTRIES_MAX: u64 = 1 << 24;

/// Properties of a run of an index that are known before its pairs are.
#[derive(Clone, Copy, Debug)]
pub struct IndexShape {
    /// The label of its constraint.
    pub label: LabelId,
    /// The property key of its constraint.
    pub key: PropertyKeyId,
    /// Of two runs of an index the one of the larger age is newer.
    pub age: u64,
    /// Approximate number of pairs.
    pub count: u64,
    /// Bits of the largest node id.
    pub id_bits: u32,
    /// Some pairs may be removals.
    pub has_removals: bool,
    /// A filter says quickly that a hash is not there.
    pub has_filter: bool,
}

/// Bits of the ids below a bound.
pub fn id_bits_of(node_id_bound: u64) -> u32 {
    64 - node_id_bound.saturating_sub(1).leading_zeros()
}

/// Writes one run of a key index.
pub struct IndexWriter {
    file: FileWriter,
    shape: IndexShape,
    radix_bits: u32,
    filter: Option<FilterWriter>,
    entries: Packer,
    entries_start: u64,
    ends: Vec<u64>,
    count: u64,
    last: u64,
}

impl IndexWriter {
    /// Begins a run.
    pub fn new(context: &BuildContext, shape: IndexShape) -> Result<IndexWriter> {
        let buckets = shape.count.div_ceil(BUCKET_ENTRIES).next_power_of_two();
        // The rest of the hash, the id and the mark of a removal must fit an entry of 64 bits.
        let needed = HASH_BITS + shape.id_bits + u32::from(shape.has_removals);
        let radix_bits = buckets.trailing_zeros().max(needed.saturating_sub(64));
        let mut file = context.create(FileKind::Keys)?;
        file.align()?;
        let entries_start = file.position();
        let entries = Packer::new(entry_width(radix_bits, &shape));
        let ends = Vec::with_capacity((1 << radix_bits) + 1);
        let filter = (shape.has_filter && shape.count <= FILTER_ENTRIES_MAX).then(|| FilterWriter::new(shape.count));
        Ok(IndexWriter { file, shape, radix_bits, filter, entries, entries_start, ends, count: 0, last: 0 })
    }

    /// Adds a pair, or that it was removed; hashes must not descend.
    pub fn push(&mut self, hash: u64, node: NodeId, is_removed: bool) -> Result<()> {
        assert!(hash >= self.last, "pairs come in order of their hashes");
        self.last = hash;
        let low_bits = HASH_BITS - self.radix_bits;
        let bucket = (hash >> low_bits) as usize;
        while self.ends.len() <= bucket {
            self.ends.push(self.count);
        }
        let low = hash & mask_of(low_bits as u8);
        self.entries.push(if self.shape.has_removals {
            (low << self.shape.id_bits | node.0) << 1 | u64::from(is_removed)
        } else {
            low << self.shape.id_bits | node.0
        });
        if let Some(filter) = &mut self.filter {
            filter.insert(hash);
        }
        self.count += 1;
        let ready = self.entries.ready();
        if ready.len() >= 1 << 16 {
            self.file.write(ready)?;
            ready.clear();
        }
        Ok(())
    }

    /// Writes buckets and directory; `None`, without a file, if there were no pairs.
    pub fn finish(mut self, context: &BuildContext) -> Result<Option<IndexEntry>> {
        if self.count == 0 {
            let path = self.file.path().to_owned();
            drop(self.file);
            context.discard(&path);
            return Ok(None);
        }
        self.file.write(&self.entries.finish(self.count as usize))?;
        self.ends.resize((1 << self.radix_bits) + 1, self.count);
        let offset_width = width_of(self.count);
        let mut bytes = Vec::new();
        pack(self.ends.iter().copied(), offset_width, &mut bytes);
        self.file.align()?;
        let offsets_start = self.file.position();
        self.file.write(&bytes)?;
        let (mut filter_start, mut filter_bytes) = (0, 0);
        if let Some(filter) = self.filter.take() {
            let bytes = filter.bytes();
            self.file.align()?;
            (filter_start, filter_bytes) = (self.file.position(), bytes.len() as u64);
            self.file.write(&bytes)?;
        }
        let mut directory = Vec::new();
        let IndexShape { label, key, age, id_bits, has_removals, .. } = self.shape;
        directory.put_u32(label.0);
        directory.put_u32(key.0);
        directory.put_u64(self.count);
        directory.put_u32(self.radix_bits);
        directory.put_u32(id_bits);
        directory.put_u32(u32::from(offset_width));
        directory.put_u32(u32::from(entry_width(self.radix_bits, &self.shape)));
        directory.put_u64(offsets_start);
        directory.put_u64(self.entries_start);
        directory.put_u64(u64::from(has_removals));
        directory.put_u64(filter_start);
        directory.put_u64(filter_bytes);
        let file = self.file.finish(&directory)?;
        Ok(Some(IndexEntry { label, key, age, file }))
    }
}

fn entry_width(radix_bits: u32, shape: &IndexShape) -> u8 {
    width_of(mask_of((HASH_BITS - radix_bits + shape.id_bits + u32::from(shape.has_removals)) as u8))
}
