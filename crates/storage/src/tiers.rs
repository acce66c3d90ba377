//! Choice of the sorted runs that are merged: those of about the same size that follow each other in age.
//!
//! A run's *tier* is the logarithm of its size to the base of the fan. Once as many runs as the fan has of one tier
//! stand together, with none of a higher tier between, they and what smaller ones lie between become one run, of a
//! higher tier as a rule; so an entry is written once for each tier, about log(all / one flush) times.

use std::ops::Range;

/// Rules for merging runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// Runs of a tier that are merged.
    pub fan: usize,
    /// Bytes of a run up to which it is of the lowest tier.
    pub least_bytes: u64,
    /// More runs than this are merged whatever their sizes.
    pub runs_max: usize,
}

impl Default for Tiers {
    fn default() -> Tiers {
        Tiers { fan: 4, least_bytes: 1 << 20, runs_max: 16 }
    }
}

impl Tiers {
    fn tier(&self, bytes: u64) -> u32 {
        let mut tier = 0;
        let mut limit = self.least_bytes.max(1);
        while bytes > limit {
            tier += 1;
            limit = limit.saturating_mul(self.fan as u64);
        }
        tier
    }

    /// The runs to merge next, by their places; `sizes` are in bytes, oldest first.
    pub fn pick(&self, sizes: &[u64]) -> Option<Range<usize>> {
        let tiers: Vec<u32> = sizes.iter().map(|&size| self.tier(size)).collect();
        let highest = tiers.iter().copied().max()?;
        for tier in 0..=highest {
            // From the first run of the tier since one of a higher tier, and how many.
            let (mut first, mut count) = (0, 0);
            for (at, &other) in tiers.iter().enumerate() {
                if other > tier {
                    count = 0;
                } else if other == tier {
                    first = if count == 0 { at } else { first };
                    count += 1;
                    if count == self.fan {
                        return Some(first..at + 1);
                    }
                }
            }
        }
        if sizes.len() <= self.runs_max.max(2) {
            return None;
        }
        let cost = |start: &usize| sizes[*start..start + self.fan].iter().sum::<u64>();
        let start = (0..=sizes.len() - self.fan.min(sizes.len())).min_by_key(cost)?;
        Some(start..start + self.fan)
    }
}

#[cfg(test)]
mod tests {
    use super::Tiers;

    fn check(sizes: &[u64], expected: Option<std::ops::Range<usize>>) {
        let tiers = Tiers { fan: 4, least_bytes: 10, runs_max: 8 };
        assert_eq!(tiers.pick(sizes), expected, "{sizes:?}");
    }

    #[test]
    fn runs_of_a_size_are_merged_with_what_lies_between() {
        check(&[], None);
        check(&[5, 5, 5], None);
        check(&[5, 5, 5, 5], Some(0..4));
        check(&[900, 5, 5, 5, 5], Some(1..5));
        check(&[40, 40, 40, 5, 5, 5], None);
        check(&[40, 40, 5, 40, 5, 40], Some(0..6));
        check(&[900, 40, 40, 900, 40, 40], None);
        check(&[5, 900, 5, 900, 5, 900, 5, 900], Some(1..8));
        check(&[9_000, 900, 40, 5, 900, 40, 5, 40, 5], Some(5..9));
    }

    #[test]
    fn a_run_is_written_about_once_for_each_tier() {
        let tiers = Tiers { fan: 4, least_bytes: 10, runs_max: 16 };
        let (mut sizes, mut written, mut most) = (Vec::new(), 0, 0);
        for _ in 0..4_096 {
            sizes.push(10);
            written += 10;
            while let Some(window) = tiers.pick(&sizes) {
                let merged: u64 = sizes[window.clone()].iter().sum();
                written += merged;
                sizes.splice(window, [merged]);
            }
            most = most.max(sizes.len());
        }
        assert!(written <= 10 * 4_096 * 7 && most <= 18, "{written} bytes written, {most} runs at most");
    }
}
