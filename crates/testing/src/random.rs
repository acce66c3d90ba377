//! Seeded random numbers: the same seed gives the same numbers on every machine and in every version.

use model::mix::next_random;

/// A generator of random numbers that is told its seed.
#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: u64,
}

impl SeededRandom {
    /// The generator of that seed.
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom { state: seed }
    }

    /// Sixty-four random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        next_random(&mut self.state)
    }

    /// A number in `0..bound`; the bound must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below 0");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// An index into something of that length, which must not be 0.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number in `0.0..1.0`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True in `percent` of a hundred calls.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items, of which there must be at least one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// Puts the items in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.index(end + 1));
        }
    }
}

/// The seed of a randomised test: that of the environment variable `FUZZ_SEED` if it is set, so that a failure can be
/// replayed, otherwise `default`.
///
/// # Panics
/// If the variable holds something else than a number.
pub fn seed_or(default: u64) -> u64 {
    match std::env::var("FUZZ_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("FUZZ_SEED is a whole number, found {text:?}")),
        Err(_) => default,
    }
}

#[cfg(test)]
mod tests {
    use super::SeededRandom;

    #[test]
    fn numbers_follow_the_published_sequence() {
        let mut random = SeededRandom::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next_u64(), random.next_u64(), random.next_u64()], expected);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = SeededRandom::new(7);
        for bound in [1, 2, 3, 1000, u64::MAX] {
            assert!((0..100).all(|_| random.below(bound) < bound));
        }
        assert!((0..100).all(|_| (0.0..1.0).contains(&random.unit())));
    }
}
