//! A filter before a run of a key index: says of most hashes that are not in the run that they are not.
//!
//! A Bloom filter in blocks of 32 bytes: a hash sets one bit in each of the eight words of its block, so that a question
//! costs one access to memory. At twelve bits an entry about one miss in two hundred gets through.

use crate::format::PADDING_BYTES;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 32;
/// Bits for each entry.
const ENTRY_BITS: u64 = 12;
/// Odd numbers, one for each word of a block.
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// A filter that is being filled.
#[derive(Debug)]
pub(super) struct FilterWriter {
    words: Vec<u32>,
}

impl FilterWriter {
    /// A filter for approximately `count` entries.
    pub(super) fn new(count: u64) -> FilterWriter {
        let blocks = (count * ENTRY_BITS).div_ceil(BLOCK_BYTES as u64 * 8).max(1);
        FilterWriter { words: vec![0; blocks as usize * 8] }
    }

    pub(super) fn insert(&mut self, hash: u64) {
        let (block, bits) = split(hash, self.words.len() as u64 / 8);
        let words = &mut self.words[block * 8..block * 8 + 8];
        words.iter_mut().zip(SALTS).for_each(|(word, salt)| *word |= bit(bits, salt));
    }

    /// The filter as it is written.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(bytes.len() + PADDING_BYTES, 0);
        bytes
    }
}

/// The block of a hash.
#[inline]
pub(super) fn block_of(hash: u64, blocks: u64) -> usize {
    split(hash, blocks).0
}

/// False if the hash is not among the entries; `block` is that of the hash.
#[inline]
pub(super) fn may_have(block: &[u8], hash: u64) -> bool {
    let (_, bits) = split(hash, 1);
    let mut missing = 0;
    for (word, salt) in block.chunks_exact(4).zip(SALTS) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        missing |= bit(bits, salt) & !word;
    }
    missing == 0
}

#[inline]
fn split(hash: u64, blocks: u64) -> (usize, u32) {
    // The hash has 48 bits, which the multiplication spreads over all.
    let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((((mixed >> 32) * blocks) >> 32) as usize, (mixed ^ mixed >> 17) as u32)
}

#[inline]
fn bit(bits: u32, salt: u32) -> u32 {
    1 << (bits.wrapping_mul(salt) >> 27)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, FilterWriter, block_of, may_have};
    use crate::codec::hash::hash_int;
    use crate::index::index_hash;

    #[test]
    fn what_is_there_passes_and_little_else() {
        let hash = |x: i64| index_hash(hash_int(x));
        let count = 20_000;
        let mut filter = FilterWriter::new(count as u64);
        (0..count).for_each(|x| filter.insert(hash(x)));
        let bytes = filter.bytes();
        let blocks = (bytes.len() / BLOCK_BYTES) as u64;
        let passes = |x: i64| {
            let at = block_of(hash(x), blocks) * BLOCK_BYTES;
            may_have(&bytes[at..at + BLOCK_BYTES], hash(x))
        };
        assert!((0..count).all(passes));
        let wrong = (count..2 * count).filter(|&x| passes(x)).count();
        assert!(wrong < count as usize / 50, "{wrong} of {count} misses get through");
    }
}
