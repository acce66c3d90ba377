//! SplitMix64: mixing the bits of integers, and seeded random numbers made of that.
//!
//! Invariant: the results never change, since hashes in files and the results of seeded runs are made of them.
//! After: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.

/// Difference between successive states of a generator.
pub const SPLITMIX_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes the bits of an integer: a bijection in which each bit of the result depends on all bits of the argument.
#[inline]
pub const fn mix64(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// Advances the state of a generator and returns the next 64 random bits.
#[inline]
pub const fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(SPLITMIX_STEP);
    mix64(*state)
}

#[cfg(test)]
mod tests {
    use super::next_random;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut state = 1_234_567;
        let numbers = [(); 3].map(|()| next_random(&mut state));
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
