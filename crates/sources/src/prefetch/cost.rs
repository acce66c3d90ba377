//! Cost of a round trip, in rows that could be sent in the same time.

use super::Use;

/// Rows that are worth a round trip before any was measured.
const ROWS_DEFAULT: f64 = 512.0;
const ROWS_MIN: f64 = 128.0;
const ROWS_MAX: f64 = 8192.0;
/// Number of rows that may lie unused for each that was used.
const UNUSED_SHARE: f64 = 1.0;
/// Rows that a round trip on a search's course is worth at the least: what it costs to ask for them and to take them in is not
/// in the times.
const ROWS_MIN_ON_COURSE: f64 = 512.0;
/// Number of unused rows for each used one on a search's course from which on less is fetched, and the one from which
/// on hardly anything is.
const UNUSED_ON_COURSE: (f64, f64) = (0.5, 1.5);
/// The least part of what would be fetched on a course that is.
const LEAST_ON_COURSE: f64 = 0.2;
/// Sizes of answers that are told apart: each is up to twice the one before.
const SIZES: usize = 18;
/// Factor by which the least time of a size is multiplied at each answer that took longer, so that it does not hold for
/// ever.
const FORGETTING: f64 = 1.02;

/// A line through the least times of answers of several sizes: so much for the trip, so much for each row. What took longer
/// had to wait for something else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Rows and nanoseconds.
    least: [Option<(f64, f64)>; SIZES],
}

impl Cost {
    pub(super) fn note(&mut self, rows: u64, ns: u64) {
        let size = (u64::BITS - rows.leading_zeros()) as usize;
        let held = &mut self.least[size.min(SIZES - 1)];
        let answer = (rows as f64, (ns as f64).max(1.0));
        *held = match *held {
            Some((rows, time)) if time * FORGETTING < answer.1 => Some((rows, time * FORGETTING)),
            _ => Some(answer),
        };
    }

    /// The rows that are sent in the time of a round trip.
    pub(super) fn rows_of_a_trip(&self) -> f64 {
        let mut sums = [0.0; 5];
        for (rows, time) in self.least.iter().flatten() {
            // Errors are parts of the times.
            let weight = 1.0 / (time * time);
            for (sum, value) in sums.iter_mut().zip([1.0, *rows, *time, rows * rows, rows * time]) {
                *sum += weight * value;
            }
        }
        let [weight, rows, time, rows_rows, rows_time] = sums;
        let spread = weight * rows_rows - rows * rows;
        if self.least.iter().flatten().count() < 3 || spread <= 0.0 {
            return ROWS_DEFAULT;
        }
        let row = (weight * rows_time - rows * time) / spread;
        let trip = (time - row * rows) / weight;
        if row <= 0.0 || trip <= 0.0 { ROWS_DEFAULT } else { (trip / row).clamp(ROWS_MIN, ROWS_MAX) }
    }

    /// The same where it is known which way a search goes, so that little will lie unused. Rows that lie unused when it ends
    /// are about half of those of the last trip: with as many as this these cost as much as all the trips.
    pub(super) fn budget_on_course(&self, usage: Use) -> u64 {
        let (used, unused) = (usage.used as f64, usage.unused as f64);
        let trip = self.rows_of_a_trip().max(ROWS_MIN_ON_COURSE);
        let (some, many) = UNUSED_ON_COURSE;
        let part = (many - (unused - trip).max(0.0) / used.max(1.0)) / (many - some);
        let rows = (trip + (2.0 * trip * used).sqrt()) * part.clamp(LEAST_ON_COURSE, 1.0);
        (rows as u64).min(usage.room)
    }

    /// Number of rows that may be fetched ahead now.
    pub(super) fn budget(&self, usage: Use) -> u64 {
        let allowed = self.rows_of_a_trip() + UNUSED_SHARE * usage.used as f64;
        ((allowed - usage.unused as f64).max(0.0) as u64).min(usage.room)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, ROWS_DEFAULT};
    use crate::prefetch::Use;

    #[test]
    fn a_trip_is_told_from_its_rows() {
        let mut cost = Cost::default();
        assert_eq!(cost.rows_of_a_trip(), ROWS_DEFAULT);
        for rows in [1, 100, 1_000, 20, 5_000, 3] {
            cost.note(rows, 300_000 + 500 * rows);
        }
        assert!((cost.rows_of_a_trip() - 600.0).abs() < 1.0, "{cost:?}");
        for rows in [1, 100, 1_000, 20, 5_000, 3] {
            cost.note(rows, 9_000_000 + 500 * rows);
        }
        assert!((cost.rows_of_a_trip() - 600.0).abs() < 30.0, "what had to wait tells nothing: {cost:?}");
    }

    #[test]
    fn what_lies_unused_is_not_added_to() {
        let cost = Cost::default();
        for (used, unused, room, expected) in
            [(0, 0, 1 << 20, 512), (1_000, 512, 1 << 20, 1_000), (100, 5_000, 1 << 20, 0), (0, 0, 7, 7)]
        {
            assert_eq!(cost.budget(Use { used, unused, room }), expected);
        }
    }

    #[test]
    fn on_a_course_trips_grow_with_what_was_used() {
        let cost = Cost::default();
        for (used, unused, room, expected) in [
            (0, 0, 1 << 20, 512),
            (10_000, 5_000, 1 << 20, 3_712),
            (10_000, 15_512, 1 << 20, 742),
            (10_000, 90_000, 1 << 20, 742),
            (10_000, 0, 7, 7),
        ] {
            assert_eq!(cost.budget_on_course(Use { used, unused, room }), expected);
        }
    }
}
