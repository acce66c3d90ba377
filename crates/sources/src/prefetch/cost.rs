//! What a round trip costs, in rows that could be sent in the same time.

use super::Use;

/// Rows that are worth a round trip before any was measured.
const ROWS_DEFAULT: f64 = 512.0;
const ROWS_MIN: f64 = 128.0;
const ROWS_MAX: f64 = 8192.0;
/// How many rows may lie unused for each that was used.
const UNUSED_SHARE: f64 = 1.0;
/// The same on a search's course, before less is fetched.
const UNUSED_ON_COURSE: f64 = 0.5;
/// What an answer's weight is multiplied by at each later one.
const DECAY: f64 = 0.95;

/// A line through the times of answers: so much for the trip, so much for each row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    weight: f64,
    rows: f64,
    time: f64,
    rows_rows: f64,
    rows_time: f64,
}

impl Cost {
    pub(super) fn note(&mut self, rows: u64, ns: u64) {
        let (rows, time) = (rows as f64, ns as f64);
        let sums = [&mut self.weight, &mut self.rows, &mut self.time, &mut self.rows_rows, &mut self.rows_time];
        for (sum, value) in sums.into_iter().zip([1.0, rows, time, rows * rows, rows * time]) {
            *sum = *sum * DECAY + value;
        }
    }

    /// The rows that are sent in the time of a round trip.
    pub(super) fn rows_of_a_trip(&self) -> f64 {
        let spread = self.weight * self.rows_rows - self.rows * self.rows;
        if self.weight < 3.0 || spread <= 0.0 {
            return ROWS_DEFAULT;
        }
        let row = (self.weight * self.rows_time - self.rows * self.time) / spread;
        let trip = (self.time - row * self.rows) / self.weight;
        if row <= 0.0 || trip <= 0.0 { ROWS_DEFAULT } else { (trip / row).clamp(ROWS_MIN, ROWS_MAX) }
    }

    /// The same where it is known which way a search goes, so that little will lie unused. Rows that lie unused when it ends
    /// are about half of those of the last trip: with as many as this these cost as much as all the trips.
    pub(super) fn budget_on_course(&self, usage: Use) -> u64 {
        let (trip, used, unused) = (self.rows_of_a_trip(), usage.used as f64, usage.unused as f64);
        let excess = (unused - UNUSED_ON_COURSE * used).max(0.0);
        ((trip + (2.0 * trip * used).sqrt() - excess).max(0.0) as u64).min(usage.room)
    }

    /// How many rows may be fetched ahead now.
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
}
