//! Histogram of times: four buckets for each power of two, so that a quantile is right within a quarter.

/// Nanoseconds that the first bucket takes, as a power of two: about a microsecond.
const FIRST_BITS: u32 = 10;
/// Buckets: up to some minutes; the last takes all above.
const BUCKETS: usize = 112;

/// Counts of times by their length.
#[derive(Clone)]
pub(super) struct Histogram([u32; BUCKETS]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([0; BUCKETS])
    }
}

impl Histogram {
    /// Counts a time.
    pub(super) fn count(&mut self, ns: u64) {
        let bucket = &mut self.0[bucket_of(ns)];
        *bucket = bucket.saturating_add(1);
    }

    /// Adds the counts of another.
    pub(super) fn add(&mut self, other: &Histogram) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    /// An upper bound, by less than a quarter, of the time that a part of all do not exceed.
    pub(super) fn quantile(&self, part: f64) -> u64 {
        let all: u64 = self.0.iter().map(|&count| u64::from(count)).sum();
        let wanted = (part * all as f64).ceil() as u64;
        let mut seen = 0;
        for (bucket, &count) in self.0.iter().enumerate() {
            seen += u64::from(count);
            if seen >= wanted {
                return end_of(bucket);
            }
        }
        0
    }
}

fn bucket_of(ns: u64) -> usize {
    let units = ns >> FIRST_BITS;
    let bucket = match units.checked_ilog2() {
        None | Some(0 | 1) => units,
        Some(bits) => u64::from(bits - 1) * 4 + (units >> (bits - 2) & 3),
    };
    (bucket as usize).min(BUCKETS - 1)
}

/// The longest time of a bucket.
fn end_of(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    let units = if next < 4 { next } else { (4 + next % 4) << (next / 4 - 1) };
    (units << FIRST_BITS) - 1
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, Histogram, bucket_of, end_of};

    #[test]
    fn buckets_follow_one_another_and_are_narrow() {
        for bucket in 0..BUCKETS - 1 {
            assert_eq!((bucket_of(end_of(bucket)), bucket_of(end_of(bucket) + 1)), (bucket, bucket + 1));
            if bucket >= 4 {
                assert!(end_of(bucket) - end_of(bucket - 1) <= end_of(bucket) / 4, "{bucket}");
            }
        }
        assert_eq!((bucket_of(0), bucket_of(u64::MAX)), (0, BUCKETS - 1));
        assert!(end_of(BUCKETS - 2) > 60_000_000_000, "a minute has a bucket");
    }

    #[test]
    fn quantiles_are_close() {
        let mut histogram = Histogram::default();
        (1..=1_000_u64).for_each(|number| histogram.count(number * 1_000_000));
        for (part, exact) in [(0.5, 500_000_000), (0.99, 990_000_000), (1.0, 1_000_000_000)] {
            let found = histogram.quantile(part);
            assert!(found >= exact && found <= exact / 4 * 5, "{part}: {found}");
        }
        assert_eq!(Histogram::default().quantile(0.99), end_of(0));
    }
}
