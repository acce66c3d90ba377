//! Random numbers by place: each is a function of a seed, a name and a number, so that any part can be made alone.
//!
//! After: Hörmann, Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", 1996 (Zipf).

use model::mix::{SPLITMIX_STEP, mix64, next_random};

/// A sequence of random numbers that is read at any place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream(u64);

impl Stream {
    /// The sequence of a name under a seed.
    pub(crate) fn new(seed: u64, name: &str) -> Stream {
        let of_name = name.bytes().fold(SPLITMIX_STEP, |hash, byte| mix64(hash ^ u64::from(byte)));
        Stream(mix64(of_name ^ mix64(seed.wrapping_add(SPLITMIX_STEP))))
    }

    /// Sixty-four random bits.
    #[inline]
    pub(crate) fn at(self, number: u64) -> u64 {
        mix64(self.0.wrapping_add(number.wrapping_add(1).wrapping_mul(SPLITMIX_STEP)))
    }

    /// A number below `bound`.
    #[inline]
    pub(crate) fn below(self, number: u64, bound: u64) -> u64 {
        below(self.at(number), bound)
    }

    /// Draws at a place, for what needs several.
    pub(crate) fn draws(self, number: u64) -> Draws {
        Draws(self.at(number))
    }
}

/// Maps random bits to a number below `bound`.
#[inline]
fn below(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

/// Random numbers one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// Sixty-four random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        next_random(&mut self.0)
    }

    /// A number from 0 up to 1, without 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `bound`.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        below(self.bits(), bound)
    }

    /// A number of the normal distribution with mean 0 and deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Rounds of the network: four make a random permutation of random functions; two more make up for short halves.
const ROUNDS: u64 = 6;

/// A permutation of the numbers below a bound: a Feistel network over the next even number of bits, walked until it is below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    stream: Stream,
    half_bits: u32,
    bound: u64,
}

impl Permutation {
    pub(crate) fn new(stream: Stream, bound: u64) -> Permutation {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        Permutation { stream, half_bits: bits.div_ceil(2).max(1), bound }
    }

    /// The number that another is mapped to; both are below the bound.
    pub(crate) fn apply(&self, number: u64) -> u64 {
        let mut found = number;
        loop {
            found = self.network(found);
            if found < self.bound {
                return found;
            }
        }
    }

    fn network(&self, number: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for round in 0..ROUNDS {
            let mixed = self.stream.at((right << 3) | round) & mask;
            (left, right) = (right, left ^ mixed);
        }
        (left << self.half_bits) | right
    }
}

/// Ranks from 0 on of which rank `k` comes with a frequency of `(k + 1)` to the power of minus `exponent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    count: f64,
    exponent: f64,
    at_first: f64,
    at_end: f64,
    squeeze: f64,
}

impl Zipf {
    /// `count` ranks; the exponent is above 0.
    pub(crate) fn new(count: u64, exponent: f64) -> Zipf {
        let mut zipf = Zipf { count: count as f64, exponent, at_first: 0.0, at_end: 0.0, squeeze: 0.0 };
        zipf.at_first = zipf.integral(1.5) - 1.0;
        zipf.at_end = zipf.integral(zipf.count + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - 2_f64.powf(-exponent));
        zipf
    }

    /// The integral of the density up to `x`.
    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { x.ln() } else { (x.powf(power) - 1.0) / power }
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { area.exp() } else { (1.0 + power * area).max(0.0).powf(1.0 / power) }
    }

    /// A rank below the count.
    pub(crate) fn draw(&self, draws: &mut Draws) -> u64 {
        loop {
            let area = self.at_end + draws.unit() * (self.at_first - self.at_end);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.squeeze || area >= self.integral(rank + 0.5) - rank.powf(-self.exponent) {
                return rank as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Permutation, Stream, Zipf};

    #[test]
    fn permutations_hit_each_number_once() {
        for bound in [1, 2, 3, 7, 64, 1_000, 4_097] {
            let permutation = Permutation::new(Stream::new(5, "places"), bound);
            let mut found: Vec<u64> = (0..bound).map(|number| permutation.apply(number)).collect();
            let is_moved = found.iter().enumerate().any(|(at, &to)| at as u64 != to);
            assert!(bound < 64 || is_moved, "{bound}");
            found.sort_unstable();
            assert_eq!(found, (0..bound).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn zipf_has_the_frequencies_of_its_exponent() {
        for exponent in [0.6, 1.0, 1.5] {
            let zipf = Zipf::new(100, exponent);
            let mut draws = Stream::new(3, "zipf").draws(0);
            let mut counts = [0_u32; 100];
            (0..200_000).for_each(|_| counts[zipf.draw(&mut draws) as usize] += 1);
            let sum: f64 = (1..=100).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in [1, 2, 10] {
                let expected = 200_000.0 * f64::from(rank).powf(-exponent) / sum;
                let found = f64::from(counts[rank as usize - 1]);
                assert!((found / expected - 1.0).abs() < 0.08, "rank {rank} of {exponent}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn names_and_seeds_give_other_numbers() {
        let numbers = [Stream::new(1, "a"), Stream::new(2, "a"), Stream::new(1, "b")].map(|stream| stream.at(7));
        assert_eq!(numbers[0], Stream::new(1, "a").at(7));
        assert!(numbers[0] != numbers[1] && numbers[0] != numbers[2] && numbers[1] != numbers[2]);
    }
}
