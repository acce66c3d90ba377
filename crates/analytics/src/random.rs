//! Seeded random numbers: the same seed gives the same numbers on every machine, whatever the number of threads.

use model::Set;
use model::mix::next_random;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// A stream of its own for each `key` of a seed, so that work cut in any way draws the same numbers.
    pub(crate) fn of(seed: u64, key: u64) -> Random {
        let mut seeds = Random::new(seed);
        let mixed = seeds.next_u64() ^ key.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        Random { state: Random::new(mixed).next_u64() }
    }

    /// Sixty-four random bits.
    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        next_random(&mut self.state)
    }

    /// A number in `0..bound`, which must not be 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number in `0.0..1.0`.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Puts numbers in random order.
    pub(crate) fn shuffle(&mut self, numbers: &mut [u32]) {
        for end in (1..numbers.len()).rev() {
            numbers.swap(end, self.below(end + 1));
        }
    }

    /// `count` different numbers in `0..bound`, ascending; all of them if there are no more.
    ///
    /// After: Floyd, in Bentley, "Programming pearls: a sample of brilliance", 1987.
    pub(crate) fn sample(&mut self, count: usize, bound: usize) -> Vec<u32> {
        if count >= bound {
            return (0..bound as u32).collect();
        }
        let mut chosen: Set<u32> = Set::default();
        for last in bound - count..bound {
            let drawn = self.below(last + 1) as u32;
            if !chosen.insert(drawn) {
                chosen.insert(last as u32);
            }
        }
        let mut sample: Vec<u32> = chosen.into_iter().collect();
        sample.sort_unstable();
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn samples_are_of_different_numbers_evenly_drawn() {
        let mut times = [0; 10];
        for key in 0..2_000 {
            let sample = Random::of(7, key).sample(3, 10);
            assert!(sample.len() == 3 && sample.is_sorted_by(|a, b| a < b));
            sample.iter().for_each(|&drawn| times[drawn as usize] += 1);
        }
        assert!(times.iter().all(|&count| (500..700).contains(&count)), "expected about 600 of each: {times:?}");
        assert_eq!(Random::new(1).sample(5, 3), [0, 1, 2]);
        assert!(Random::new(1).sample(5, 0).is_empty());
    }

    #[test]
    fn keys_have_streams_of_their_own() {
        let first = |seed, key| Random::of(seed, key).next_u64();
        assert_eq!(first(1, 2), first(1, 2));
        assert!(first(1, 2) != first(1, 3) && first(1, 2) != first(2, 2) && first(0, 0) != 0);
        assert!((0..100).all(|key| Random::of(3, key).below(7) < 7 && Random::of(3, key).unit() < 1.0));
    }
}
