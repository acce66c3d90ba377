//! Number of rows for which a subplan runs at a time that is only asked whether it gives a row.
//!
//! Rows that are answered go on being worked on until all rows of a run are. Where a row takes long, that may be
//! without end, and rows had better run one by one; where it takes next to nothing, most of the time goes into starting
//! the subplan. So a run has twice the rows of the last one while rows are quick, and fewer where they are not.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Nanoseconds for a row, below which more rows run at a time.
const QUICK_NS: u64 = 20_000;
/// Nanoseconds for a row, above which fewer do.
const SLOW_NS: u64 = 100_000;
/// Slow runs of several rows after which that number of rows is not tried again. One may be slow by accident.
const SLOW_MAX: u64 = 2;

/// The number of rows of the next run.
#[derive(Debug)]
pub(super) struct Pace {
    rows: AtomicUsize,
    rows_max: AtomicUsize,
    slow: AtomicU64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { rows: AtomicUsize::new(1), rows_max: AtomicUsize::new(usize::MAX), slow: AtomicU64::new(0) }
    }
}

impl Pace {
    pub(super) fn rows(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }

    /// Takes note of what a run of so many rows took.
    pub(super) fn took(&self, rows: usize, ns: u64) {
        let of_row = ns / rows as u64;
        if of_row < QUICK_NS && rows >= self.rows() {
            let most = self.rows_max.load(Ordering::Relaxed);
            self.rows.store(rows.saturating_mul(2).min(most), Ordering::Relaxed);
        } else if of_row > SLOW_NS && rows > 1 {
            self.slow_down(rows);
        }
    }

    /// Takes note of a run whose rows gave far more than one row each.
    pub(super) fn slow_down(&self, rows: usize) {
        if self.slow.fetch_add(1, Ordering::Relaxed) + 1 >= SLOW_MAX {
            self.rows_max.fetch_min((rows / 2).max(1), Ordering::Relaxed);
        }
        self.rows.store((rows / 4).max(1).min(self.rows_max.load(Ordering::Relaxed)), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn rows_become_more_while_they_are_quick() {
        let pace = Pace::default();
        for expected in [1, 2, 4, 8] {
            assert_eq!(pace.rows(), expected);
            pace.took(pace.rows(), 1_000 * pace.rows() as u64);
        }
        // Neither quick nor slow; the last rows of a batch; slow by accident, then again.
        pace.took(16, 16 * 50_000);
        pace.took(3, 3_000);
        assert_eq!(pace.rows(), 16);
        pace.took(16, 16 * 200_000);
        assert_eq!(pace.rows(), 4);
        pace.took(4, 4_000);
        pace.took(8, 8 * 200_000);
        assert_eq!(pace.rows(), 2);
        for _ in 0..4 {
            pace.took(pace.rows(), 1_000);
        }
        assert_eq!(pace.rows(), 4);
        // A row by itself is as slow as it is.
        pace.took(1, 1 << 40);
        assert_eq!(pace.rows(), 4);
    }
}
