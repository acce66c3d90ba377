//! An operating system that lives in memory and fails on purpose, so that what a store does then can be tested.

pub mod clock;
pub mod disk;
pub mod journal;
pub mod memory;
pub mod power_cut;
pub mod reading;
pub mod slow;

use std::sync::Arc;

use model::platform::{Disk, Platform};

pub use clock::{CountingClock, PlatformRandom, SetClock, Ticks};
pub use disk::FaultyDisk;
pub use journal::{Event, Journal, JournalDisk};
pub use memory::MemoryDisk;
pub use power_cut::{SURVIVALS, Survival, Wreck};
pub use reading::ReadOnlyDisk;
pub use slow::{Delays, SlowClock, SlowDisk};

/// Bytes of a file that are read together.
pub const PAGE_BYTES: u64 = 4_096;

/// A platform on that disk, with a clock that ticks when it is read and random numbers of that seed.
pub fn platform(disk: Arc<dyn Disk>, seed: u64) -> Platform {
    Platform { disk, clock: Arc::new(CountingClock::default()), random: Arc::new(PlatformRandom::new(seed)) }
}
