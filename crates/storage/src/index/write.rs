//! Making a key index from pairs of hash and node in order of their hashes.

use model::Result;
use model::id::{LabelId, NodeId, PropertyKeyId};

use super::HASH_BITS;
use crate::bulk::context::BuildContext;
use crate::codec::bits::{Packer, mask_of, pack, width_of};
use crate::codec::bytes::Put;
use crate::file::FileWriter;
use crate::format::FileKind;
use crate::manifest::IndexEntry;

/// Entries in one bucket, about.
const BUCKET_ENTRIES: u64 = 8;

/// Writes one key index.
pub struct IndexWriter {
    file: FileWriter,
    label: LabelId,
    key: PropertyKeyId,
    radix_bits: u32,
    id_bits: u32,
    entries: Packer,
    entries_start: u64,
    ends: Vec<u64>,
    count: u64,
    last: u64,
}

impl IndexWriter {
    /// Begins an index of about `count` entries of nodes below the bound.
    pub fn new(
        context: &BuildContext,
        label: LabelId,
        key: PropertyKeyId,
        count: u64,
        node_id_bound: u64,
    ) -> Result<IndexWriter> {
        let id_bits = 64 - node_id_bound.saturating_sub(1).leading_zeros();
        let buckets = count.div_ceil(BUCKET_ENTRIES).next_power_of_two();
        // The rest of the hash and the id must fit an entry of 64 bits.
        let radix_bits = buckets.trailing_zeros().max((HASH_BITS + id_bits).saturating_sub(64));
        let mut file = context.create(FileKind::Keys)?;
        file.align()?;
        let entries_start = file.position();
        let entries = Packer::new(entry_width(radix_bits, id_bits));
        let ends = Vec::with_capacity((1 << radix_bits) + 1);
        Ok(IndexWriter { file, label, key, radix_bits, id_bits, entries, entries_start, ends, count: 0, last: 0 })
    }

    /// Adds a pair; hashes must not descend.
    pub fn push(&mut self, hash: u64, node: NodeId) -> Result<()> {
        assert!(hash >= self.last, "pairs come in order of their hashes");
        self.last = hash;
        let low_bits = HASH_BITS - self.radix_bits;
        let bucket = (hash >> low_bits) as usize;
        while self.ends.len() <= bucket {
            self.ends.push(self.count);
        }
        self.entries.push((hash & mask_of(low_bits as u8)) << self.id_bits | node.0);
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
        let mut directory = Vec::new();
        directory.put_u32(self.label.0);
        directory.put_u32(self.key.0);
        directory.put_u64(self.count);
        directory.put_u32(self.radix_bits);
        directory.put_u32(self.id_bits);
        directory.put_u32(u32::from(offset_width));
        directory.put_u32(u32::from(entry_width(self.radix_bits, self.id_bits)));
        directory.put_u64(offsets_start);
        directory.put_u64(self.entries_start);
        let file = self.file.finish(&directory)?;
        Ok(Some(IndexEntry { label: self.label, key: self.key, file }))
    }
}

fn entry_width(radix_bits: u32, id_bits: u32) -> u8 {
    width_of(mask_of((HASH_BITS - radix_bits + id_bits) as u8))
}
