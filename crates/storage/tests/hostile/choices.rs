//! The bytes that say what to change: random ones in the test, those of the fuzzer in its targets.

/// Choices read from bytes; zeros once they are used up.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    /// The choices that those bytes say.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { bytes }
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        first
    }

    /// Eight bytes.
    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// A number below a bound, which is not 0; takes no more bytes than it needs.
    pub fn below(&mut self, bound: usize) -> usize {
        let bytes = (usize::BITS - (bound - 1).leading_zeros()).div_ceil(8);
        let word = (0..bytes).fold(0, |word, _| word << 8 | usize::from(self.byte()));
        word % bound
    }

    /// One of the items, of which there is one at least.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
