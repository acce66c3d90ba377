//! Encodings that are smaller than an array of one width; those of Elias and Fano are the store's, in a mapped file.

use std::sync::Arc;

use model::Result;
use storage::codec::bits::{Packed, Packer, packed_bytes, width_of};
use storage::file::StoreFile;
use storage::file::write::FileWriter;
use storage::partition::ascending::Ascending;

use super::flat::{dense_offsets, slot_in, sparse_offsets};
use super::{Degrees, Index, WRITTEN};

/// Ends a file and maps it.
pub(super) type Open<'a> = &'a dyn Fn(FileWriter) -> Result<Arc<StoreFile>>;

/// Entries of a block, and between two samples.
const BLOCK: usize = 64;

/// Offsets in blocks, each at the width of its largest difference from its first.
pub(super) struct Blocks {
    first: u64,
    slots: usize,
    /// The first offset of each block, and below it the width.
    bases: Vec<u64>,
    starts: Vec<u32>,
    bytes: Vec<u8>,
}

impl Blocks {
    pub(super) fn new(degrees: &Degrees) -> Blocks {
        let (first, offsets) = dense_offsets(degrees);
        let mut index = Blocks { first, slots: offsets.len() - 1, bases: vec![], starts: vec![], bytes: vec![] };
        for block in offsets.chunks(BLOCK) {
            let width = width_of(block[block.len() - 1] - block[0]);
            index.bases.push(block[0] << 6 | u64::from(width));
            index.starts.push(index.bytes.len() as u32);
            let mut packer = Packer::new(width);
            block.iter().for_each(|offset| packer.push(offset - block[0]));
            let packed = packer.finish(block.len());
            // Blocks need no padding but the last.
            index.bytes.extend_from_slice(&packed[..(block.len() * width as usize).div_ceil(8)]);
        }
        index.bytes.resize(index.bytes.len() + packed_bytes(0, 0).max(8), 0);
        index
    }

    fn offset(&self, slot: usize) -> u64 {
        let block = slot / BLOCK;
        let base = self.bases[block];
        (base >> 6) + Packed::new(&self.bytes[self.starts[block] as usize..], (base & 63) as u8).get(slot % BLOCK)
    }
}

impl Index for Blocks {
    fn bytes(&self) -> usize {
        self.bases.len() * 12 + self.bytes.len()
    }
    fn run(&self, node: u64) -> (u64, u64) {
        slot_in(self.first, self.slots, node).map_or((0, 0), |slot| (self.offset(slot), self.offset(slot + 1)))
    }
    fn node_at(&self, position: u64) -> u64 {
        let block = self.bases.partition_point(|base| base >> 6 <= position) - 1;
        let (mut low, mut high) = (block * BLOCK, ((block + 1) * BLOCK).min(self.slots));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset(middle) <= position {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.first + low as u64
    }
}

/// Degrees, each one more than it is, in Elias' gamma code; a sample for each block.
pub(super) struct Gamma {
    first: u64,
    slots: usize,
    offsets: Vec<u64>,
    starts: Vec<u64>,
    words: Vec<u64>,
}

impl Gamma {
    pub(super) fn new(degrees: &Degrees) -> Gamma {
        let (first, offsets) = dense_offsets(degrees);
        let mut index = Gamma { first, slots: offsets.len() - 1, offsets: vec![], starts: vec![], words: vec![] };
        let mut bit = 0u64;
        for (slot, pair) in offsets.windows(2).enumerate() {
            if slot % BLOCK == 0 {
                index.offsets.push(pair[0]);
                index.starts.push(bit);
            }
            let value = pair[1] - pair[0] + 1;
            let width = value.ilog2();
            // As many zeros, a one, and the bits below the highest.
            let code = u128::from((value & !(1 << width)) << 1 | 1) << width;
            let at = (bit / 64) as usize;
            index.words.resize(index.words.len().max(at + 3), 0);
            let shifted = code << (bit % 64);
            index.words[at] |= shifted as u64;
            index.words[at + 1] |= (shifted >> 64) as u64;
            bit += u64::from(2 * width + 1);
        }
        index
    }

    fn next(&self, bit: &mut u64) -> u64 {
        let at = (*bit / 64) as usize;
        let both = u128::from(self.words[at]) | u128::from(self.words[at + 1]) << 64;
        let code = (both >> (*bit % 64)) as u64;
        let width = code.trailing_zeros();
        *bit += u64::from(2 * width + 1);
        (1 << width | code >> (width + 1) & ((1 << width) - 1)) - 1
    }
}

impl Index for Gamma {
    fn bytes(&self) -> usize {
        (self.offsets.len() + self.starts.len() + self.words.len()) * 8
    }
    fn run(&self, node: u64) -> (u64, u64) {
        let Some(slot) = slot_in(self.first, self.slots, node) else { return (0, 0) };
        let (mut start, mut bit) = (self.offsets[slot / BLOCK], self.starts[slot / BLOCK]);
        (0..slot % BLOCK).for_each(|_| start += self.next(&mut bit));
        (start, start + self.next(&mut bit))
    }
    fn node_at(&self, position: u64) -> u64 {
        let block = self.offsets.partition_point(|offset| *offset <= position) - 1;
        let (mut end, mut bit, mut slot) = (self.offsets[block], self.starts[block], block * BLOCK);
        loop {
            end += self.next(&mut bit);
            if end > position {
                return self.first + slot as u64;
            }
            slot += 1;
        }
    }
}

/// The offsets of every node, as the store writes them for large sections.
pub(super) struct EliasFanoDense {
    file: Arc<StoreFile>,
    first: u64,
    slots: usize,
    offsets: Ascending,
}

impl EliasFanoDense {
    pub(super) fn new(degrees: &Degrees, mut scratch: FileWriter, open: Open<'_>) -> Result<EliasFanoDense> {
        let (first, offsets) = dense_offsets(degrees);
        let (slots, max) = (offsets.len() - 1, offsets[offsets.len() - 1]);
        let offsets = Ascending::write(offsets.into_iter(), slots + 1, max, &mut scratch)?;
        Ok(EliasFanoDense { file: open(scratch)?, first, slots, offsets })
    }
}

impl Index for EliasFanoDense {
    fn bytes(&self) -> usize {
        self.offsets.length()
    }
    fn run(&self, node: u64) -> (u64, u64) {
        let Some(slot) = slot_in(self.first, self.slots, node) else { return (0, 0) };
        let mut run = [0; 2];
        self.offsets.read(&self.file, slot, &mut run).expect(WRITTEN);
        (run[0], run[1])
    }
    fn node_at(&self, position: u64) -> u64 {
        self.first + self.offsets.count_below(&self.file, position, true).expect(WRITTEN) as u64 - 1
    }
}

/// The nodes with edges, and their offsets, as the store writes them for sections with few sources.
pub(super) struct EliasFanoSparse {
    file: Arc<StoreFile>,
    first: u64,
    last: u64,
    keys: Ascending,
    offsets: Ascending,
}

impl EliasFanoSparse {
    pub(super) fn new(degrees: &Degrees, mut scratch: FileWriter, open: Open<'_>) -> Result<EliasFanoSparse> {
        let (first, last, count) = (degrees[0].0, degrees[degrees.len() - 1].0, degrees.len());
        let keys = degrees.iter().map(|(node, _)| u64::from(node - first));
        let keys = Ascending::write(keys, count, u64::from(last - first), &mut scratch)?;
        let offsets = sparse_offsets(degrees);
        let max = offsets[count];
        let offsets = Ascending::write(offsets.into_iter(), count + 1, max, &mut scratch)?;
        Ok(EliasFanoSparse { file: open(scratch)?, first: u64::from(first), last: u64::from(last), keys, offsets })
    }
}

impl Index for EliasFanoSparse {
    fn bytes(&self) -> usize {
        self.keys.length() + self.offsets.length()
    }
    fn run(&self, node: u64) -> (u64, u64) {
        if node < self.first || node > self.last {
            return (0, 0);
        }
        let key = node - self.first;
        let Some(slot) = self.keys.find(&self.file, key).expect(WRITTEN) else { return (0, 0) };
        let mut run = [0; 2];
        self.offsets.read(&self.file, slot, &mut run).expect(WRITTEN);
        (run[0], run[1])
    }
    fn node_at(&self, position: u64) -> u64 {
        let slot = self.offsets.count_below(&self.file, position, true).expect(WRITTEN) - 1;
        self.first + self.keys.at(&self.file, slot).expect(WRITTEN)
    }
}
