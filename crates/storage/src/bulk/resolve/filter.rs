//! A filter that says of most keys that they are not among those on the disk.
//!
//! Cost: one word of memory read a key; of keys that are not there, about one in fifty passes at twelve bits a key.
//! After: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007.

use super::entry::Entry;
use crate::codec::hash::mix;

/// A Bloom filter whose bits for one key lie in one word.
#[derive(Debug)]
pub(super) struct KeyFilter {
    words: Vec<u64>,
}

impl KeyFilter {
    /// A filter of approximately `memory_bytes` bytes.
    pub(super) fn new(memory_bytes: usize) -> KeyFilter {
        KeyFilter { words: vec![0; (memory_bytes / 8).max(64)] }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// The word of a key and its bits in it.
    #[inline]
    fn place(&self, entry: &Entry) -> (usize, u64) {
        // The order of runs and the slots of tables follow the first hash, the filter must not.
        let hash = mix(entry.first ^ u64::from(entry.second).rotate_left(32));
        let word = (u128::from(hash) * self.words.len() as u128) >> 64;
        let bits = 1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63) | 1 << (hash >> 18 & 63);
        (word as usize, bits)
    }

    pub(super) fn insert(&mut self, entry: &Entry) {
        let (word, bits) = self.place(entry);
        self.words[word] |= bits;
    }

    #[inline]
    pub(super) fn may_have(&self, entry: &Entry) -> bool {
        let (word, bits) = self.place(entry);
        self.words[word] & bits == bits
    }
}
