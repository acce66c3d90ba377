//! Leaving the disk to others: merging keeps to a rate, and steps back while commits wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use model::platform::Clock;
use model::{Interrupt, Result};

use crate::build::chunk::{BoxedSource, ChunkSource, EdgeChunk};

/// The longest sleep between two looks at the interrupt.
const NAP: Duration = Duration::from_millis(5);
/// Longest time that one chunk of edges waits for commits.
const PATIENCE_NS: u64 = 20_000_000;

/// Limit on the speed of merging. Shared by all merges of one store.
#[derive(Debug)]
pub struct Throttle {
    clock: Arc<dyn Clock>,
    bytes_per_second: u64,
    /// Commits that wait for the disk.
    waiting: Arc<AtomicUsize>,
    /// The moment up to which what was merged so far is paid for.
    paid_ns: AtomicU64,
}

impl Throttle {
    /// A limit in bytes a second, 0 for none; `waiting` counts commits that wait for the disk.
    pub fn new(clock: Arc<dyn Clock>, bytes_per_second: u64, waiting: Arc<AtomicUsize>) -> Throttle {
        Throttle { clock, bytes_per_second, waiting, paid_ns: AtomicU64::new(0) }
    }

    /// Waits until `bytes` more bytes may be written.
    pub fn spend(&self, bytes: u64, interrupt: &Interrupt) -> Result<()> {
        interrupt.check()?;
        let start = self.clock.now_ns();
        while self.waiting.load(Ordering::Relaxed) > 0 && self.clock.now_ns() < start + PATIENCE_NS {
            std::thread::sleep(Duration::from_millis(1));
            interrupt.check()?;
        }
        if self.bytes_per_second == 0 {
            return Ok(());
        }
        let cost = (u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second)) as u64;
        let paid = self.paid_ns.load(Ordering::Relaxed).max(start) + cost;
        self.paid_ns.store(paid, Ordering::Relaxed);
        loop {
            let now = self.clock.now_ns();
            if now >= paid {
                return Ok(());
            }
            std::thread::sleep(NAP.min(Duration::from_nanos(paid - now)));
            interrupt.check()?;
        }
    }
}

/// A stream of edges that keeps to a rate.
pub struct Throttled<'a> {
    /// The edges.
    pub inner: BoxedSource<'a>,
    /// The rate.
    pub throttle: &'a Throttle,
    /// Interrupt that can stop it.
    pub interrupt: &'a Interrupt,
}

impl ChunkSource for Throttled<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        let chunk = self.inner.next()?;
        if let Some(chunk) = &chunk {
            // Targets and sources take about four bytes each, a value of a property about eight.
            let bytes = chunk.keys.len() * 8 * (1 + chunk.columns.len());
            self.throttle.spend(bytes as u64, self.interrupt)?;
        }
        Ok(chunk)
    }
}
