//! Time and randomness that are the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use model::platform::{Clock, Random};

use crate::random::SeededRandom;

/// A clock that moves by a microsecond each time it is read.
#[derive(Debug, Default)]
pub struct CountingClock {
    microseconds: AtomicU64,
}

impl Clock for CountingClock {
    fn now_ns(&self) -> u64 {
        1_000 * self.microseconds.fetch_add(1, Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        const START_US: i64 = 1_700_000_000_000_000;
        START_US + self.microseconds.fetch_add(1, Ordering::Relaxed) as i64
    }
}

/// A clock that goes on by a nanosecond whenever it is looked at: a time limit of `n` nanoseconds ends a statement at its `n`-th
/// check.
#[derive(Debug, Default)]
pub struct Ticks(AtomicU64);

impl Ticks {
    /// Number of times that it was looked at.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clock for Ticks {
    fn now_ns(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

/// A clock that stands still until it is set.
#[derive(Debug, Default)]
pub struct SetClock(AtomicU64);

impl SetClock {
    /// So much time passes.
    pub fn pass(&self, nanoseconds: u64) {
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

/// Seeded random numbers as a platform gives them.
#[derive(Debug)]
pub struct PlatformRandom {
    random: Mutex<SeededRandom>,
}

impl PlatformRandom {
    /// The numbers of that seed.
    pub fn new(seed: u64) -> PlatformRandom {
        PlatformRandom { random: Mutex::new(SeededRandom::new(seed)) }
    }
}

impl Random for PlatformRandom {
    fn next_u64(&self) -> u64 {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }
}
