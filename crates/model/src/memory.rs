//! The memory budget: one limit for everything that a database holds in memory, by named consumer.
//!
//! Fixed consumers ask before they take (`reserve`), or count what they hold already (`charge`). The cache of file
//! blocks is elastic: it takes what the others leave, and gives it back when one of them asks (`Relief`).
//!
//! Invariant: what is reserved never exceeds the limit; what is merely counted can, and then `is_pressed` says so.
//! Cost: a reservation is two atomic additions; the list of those who can give back is locked only under pressure.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::error::Result;

/// The bytes of a size such as `512MiB`, `2 GB` or `1073741824`; `None` if it is none.
pub fn parse_bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    let unit: u32 = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return None,
    };
    let number = digits.parse::<f64>().ok().filter(|number| *number >= 0.0)?;
    Some((number * f64::from(unit)) as usize)
}

/// A user of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consumer {
    /// Writes that are not yet in files.
    Memtable,
    /// Blocks of files.
    BlockCache,
    /// Buffers of flushes and merges.
    Compaction,
    /// Sorting that a query or an index build does.
    Sort,
    /// Hash tables and rows of queries.
    Query,
    /// Directories, checksums and block states of open files.
    OpenFiles,
    /// Buffers and key tables of bulk imports.
    Import,
    /// Graphs that algorithms have read into memory, kept for the next call.
    GraphViews,
    /// Nodes and edges of attached databases and of rings, kept for the next query.
    SourceCache,
    /// Results of algorithms, kept under a name to be mended as the graph changes.
    KeptComputations,
    /// Statistics of the statements that were run.
    Statements,
}

const CONSUMERS: usize = 11;

impl Consumer {
    /// Every consumer, in the order of reports.
    pub const ALL: [Consumer; CONSUMERS] = [
        Consumer::Memtable,
        Consumer::BlockCache,
        Consumer::Compaction,
        Consumer::Sort,
        Consumer::Query,
        Consumer::OpenFiles,
        Consumer::Import,
        Consumer::GraphViews,
        Consumer::SourceCache,
        Consumer::KeptComputations,
        Consumer::Statements,
    ];

    /// Its name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Consumer::Memtable => "memtable",
            Consumer::BlockCache => "block cache",
            Consumer::Compaction => "compaction",
            Consumer::Sort => "sort",
            Consumer::Query => "query",
            Consumer::OpenFiles => "open files",
            Consumer::Import => "import",
            Consumer::GraphViews => "graph views",
            Consumer::SourceCache => "source cache",
            Consumer::KeptComputations => "kept computations",
            Consumer::Statements => "statements",
        }
    }

    /// The part of the limit, in sixteenths, that it plans with. The parts overlap: not all are busy at once, and the
    /// block cache gives way to all.
    fn sixteenths(self) -> usize {
        match self {
            Consumer::Memtable => 4,
            Consumer::BlockCache => 8,
            Consumer::Compaction => 2,
            Consumer::Sort | Consumer::Query | Consumer::Import | Consumer::GraphViews => 8,
            Consumer::OpenFiles | Consumer::Statements => 1,
            Consumer::SourceCache | Consumer::KeptComputations => 4,
        }
    }
}

/// Someone who can give memory back when another asks for it.
pub trait Relief: Send + Sync {
    /// Gives back about `bytes` bytes, if there are as many; returns the number. Called with no lock of the budget held
    /// but from any thread that reserves: it must not reserve, nor wait for a lock that is held while something is
    /// reserved.
    fn give_back(&self, bytes: usize) -> usize;
}

/// Bytes held and the most ever held by one consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The consumer.
    pub consumer: Consumer,
    /// Bytes held now.
    pub used: usize,
    /// The most ever held.
    pub peak: usize,
}

#[derive(Debug, Default)]
struct Gauge {
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl Gauge {
    fn add(&self, bytes: usize) {
        let now = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    fn take(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "more was given back than was taken");
    }

    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// One limit for all that a database holds in memory.
pub struct MemoryBudget {
    limit: usize,
    all: Gauge,
    gauges: [Gauge; CONSUMERS],
    reliefs: Mutex<Vec<Weak<dyn Relief>>>,
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryBudget({} of {} bytes)", self.used(), self.limit)
    }
}

impl MemoryBudget {
    /// A budget of `limit` bytes, of which nothing is used.
    pub fn new(limit: usize) -> Arc<MemoryBudget> {
        let gauges = std::array::from_fn(|_| Gauge::default());
        Arc::new(MemoryBudget { limit, all: Gauge::default(), gauges, reliefs: Mutex::new(Vec::new()) })
    }

    /// A budget that refuses nothing; it only counts.
    pub fn unlimited() -> Arc<MemoryBudget> {
        MemoryBudget::new(usize::MAX / 2)
    }

    /// The most that may be reserved, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes held by all.
    pub fn used(&self) -> usize {
        self.all.used()
    }

    /// The most ever held by all.
    pub fn peak(&self) -> usize {
        self.all.peak.load(Ordering::Relaxed)
    }

    /// Bytes held by one consumer.
    pub fn used_by(&self, consumer: Consumer) -> usize {
        self.gauge(consumer).used()
    }

    /// The usage of each consumer.
    pub fn usage(&self) -> Vec<Usage> {
        let usage = |consumer: Consumer| {
            let gauge = self.gauge(consumer);
            Usage { consumer, used: gauge.used(), peak: gauge.peak.load(Ordering::Relaxed) }
        };
        Consumer::ALL.into_iter().map(usage).collect()
    }

    /// Bytes that a consumer plans with: the size of its buffers and thresholds. No promise that they are free.
    pub fn share(&self, consumer: Consumer) -> usize {
        self.limit / 16 * consumer.sixteenths()
    }

    /// Bytes that the block cache may hold now: what the others leave, but never less than a sixteenth of the limit.
    pub fn cache_bytes_max(&self) -> usize {
        let others = self.used().saturating_sub(self.used_by(Consumer::BlockCache));
        self.limit.saturating_sub(others).max(self.limit / 16)
    }

    /// Bytes that could be taken if those gave way who can: all but what others hold for good and the sixteenth that is left
    /// to the block cache. No promise: what is in use does not give way.
    pub fn bytes_available(&self) -> usize {
        let elastic = [Consumer::BlockCache, Consumer::GraphViews, Consumer::SourceCache];
        let elastic: usize = elastic.into_iter().map(|consumer| self.used_by(consumer)).sum();
        let held = self.used().saturating_sub(elastic);
        self.limit.saturating_sub(held).saturating_sub(self.limit / 16)
    }

    /// True if more is held than the limit, or nearly so without the block cache: memtables should be flushed.
    pub fn is_pressed(&self) -> bool {
        let others = self.used().saturating_sub(self.used_by(Consumer::BlockCache));
        others > self.limit / 16 * 13
    }

    /// Names someone who can give memory back. Asked in the order named.
    pub fn on_pressure(&self, relief: Weak<dyn Relief>) {
        let mut reliefs = self.reliefs.lock().unwrap_or_else(PoisonError::into_inner);
        reliefs.retain(|relief| relief.strong_count() > 0);
        reliefs.push(relief);
    }

    /// Takes bytes, making others give back if need be; a `LIMIT` error that says who wanted what if there are too few.
    pub fn reserve(self: &Arc<Self>, consumer: Consumer, bytes: usize) -> Result<Reservation> {
        let mut reservation = self.empty(consumer);
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// Takes bytes if there are as many without anybody having to do without.
    pub fn try_reserve(self: &Arc<Self>, consumer: Consumer, bytes: usize) -> Option<Reservation> {
        self.take(consumer, bytes).then(|| Reservation { budget: self.clone(), consumer, bytes })
    }

    /// Takes as much as can be had from `least` to `most` bytes, others giving back for it: for buffers that only work faster
    /// the larger they are. Where even the least is not free it is counted beyond the limit, as nothing could go on without.
    pub fn reserve_between(self: &Arc<Self>, consumer: Consumer, least: usize, most: usize) -> Reservation {
        let mut reservation = self.empty(consumer);
        let mut bytes = most;
        while bytes > least {
            if reservation.grow(bytes).is_ok() {
                return reservation;
            }
            bytes /= 2;
        }
        reservation.need(least);
        reservation
    }

    /// Counts bytes that are held already; nobody is asked, and the limit may be passed.
    pub fn charge(self: &Arc<Self>, consumer: Consumer, bytes: usize) -> Reservation {
        let mut reservation = self.empty(consumer);
        reservation.resize(bytes);
        reservation
    }

    /// Counts bytes that are held already, until [`MemoryBudget::release`]; for callers that count many small things.
    pub fn hold(&self, consumer: Consumer, bytes: usize) {
        self.gauge(consumer).add(bytes);
        self.all.add(bytes);
    }

    /// Counts bytes of [`MemoryBudget::hold`] no longer.
    pub fn release(&self, consumer: Consumer, bytes: usize) {
        self.gauge(consumer).take(bytes);
        self.all.take(bytes);
    }

    /// A reservation of nothing, to be grown.
    pub fn empty(self: &Arc<Self>, consumer: Consumer) -> Reservation {
        Reservation { budget: self.clone(), consumer, bytes: 0 }
    }

    fn gauge(&self, consumer: Consumer) -> &Gauge {
        &self.gauges[consumer as usize]
    }

    fn take(&self, consumer: Consumer, bytes: usize) -> bool {
        let fits = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        if self.all.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            return false;
        }
        self.all.peak.fetch_max(self.all.used(), Ordering::Relaxed);
        self.gauge(consumer).add(bytes);
        true
    }

    fn take_or_relieve(&self, consumer: Consumer, bytes: usize) -> Result<()> {
        // Others may take what was given back; a few rounds settle it or show that there is too little.
        for _ in 0..4 {
            if self.take(consumer, bytes) {
                return Ok(());
            }
            let missing = self.used().saturating_add(bytes).saturating_sub(self.limit);
            if self.relieve(missing) == 0 && missing > 0 {
                break;
            }
        }
        if self.take(consumer, bytes) { Ok(()) } else { Err(self.refusal(consumer, bytes)) }
    }

    /// Makes others give back `bytes` bytes; returns the number that they did.
    fn relieve(&self, bytes: usize) -> usize {
        let reliefs: Vec<_> = {
            let reliefs = self.reliefs.lock().unwrap_or_else(PoisonError::into_inner);
            reliefs.iter().filter_map(Weak::upgrade).collect()
        };
        let mut given = 0;
        for relief in reliefs {
            if given < bytes {
                given += relief.give_back(bytes - given);
            }
        }
        given
    }

    fn refusal(&self, consumer: Consumer, bytes: usize) -> crate::Error {
        let free = self.limit.saturating_sub(self.used());
        let held: Vec<String> = self
            .usage()
            .iter()
            .filter(|usage| usage.used > 0)
            .map(|usage| format!("{} {}", usage.consumer.name(), size(usage.used)))
            .collect();
        let held = if held.is_empty() { String::new() } else { format!("; held: {}", held.join(", ")) };
        let (name, asked, free, limit) = (consumer.name(), size(bytes), size(free), size(self.limit));
        crate::error!(Limit, "{name} asked for {asked}, {free} of the memory limit of {limit} are free{held}")
            .with_remedy("raise the memory limit (--memory-limit), ask for less, or run fewer queries at once")
    }
}

/// A size as people read it.
fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..0x10_0000 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", bytes as f64 / 1048576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1073741824.0),
    }
}

/// Bytes taken from a budget, given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<MemoryBudget>,
    consumer: Consumer,
    bytes: usize,
}

impl Reservation {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The budget they were taken from.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// Takes more, as [`MemoryBudget::reserve`] does.
    pub fn grow(&mut self, more: usize) -> Result<()> {
        self.budget.take_or_relieve(self.consumer, more)?;
        self.bytes += more;
        Ok(())
    }

    /// Holds at least `bytes` from here on. What is missing is reserved in steps, so that the common case reserves
    /// nothing.
    #[inline]
    pub fn cover(&mut self, bytes: usize) -> Result<()> {
        if bytes <= self.bytes {
            return Ok(());
        }
        self.cover_in_steps(bytes)
    }

    #[cold]
    fn cover_in_steps(&mut self, bytes: usize) -> Result<()> {
        let missing = bytes - self.bytes;
        let step = missing.max((bytes / 8).min(1 << 20));
        if step > missing && self.budget.take(self.consumer, step) {
            self.bytes += step;
            return Ok(());
        }
        self.grow(missing)
    }

    /// Holds exactly `bytes` from here on, others giving memory back for the growth. If they cannot, it is counted
    /// beyond the limit, for callers that cannot go on without it.
    pub fn need(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 || self.grow(more).is_err() {
            self.resize(bytes);
        }
    }

    /// Counts exactly `bytes` from here on; nothing is refused.
    pub fn resize(&mut self, bytes: usize) {
        if bytes >= self.bytes {
            self.budget.hold(self.consumer, bytes - self.bytes);
        } else {
            self.budget.release(self.consumer, self.bytes - bytes);
        }
        self.bytes = bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{Consumer, MemoryBudget, Relief, Reservation, parse_bytes};
    use crate::ErrorCode;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("1073741824", Some(1 << 30)),
            (" 2 GB ", Some(2_000_000_000)),
            ("1.5kib", Some(1_536)),
            ("512M", Some(512 << 20)),
            ("12b", Some(12)),
            ("", None),
            ("MiB", None),
            ("-1 MB", None),
            ("3 TB", None),
            ("nan GB", None),
        ] {
            assert_eq!(parse_bytes(text), bytes, "{text}");
        }
    }

    struct Cache(Mutex<Reservation>);

    impl Relief for Cache {
        fn give_back(&self, bytes: usize) -> usize {
            let mut held = self.0.lock().unwrap();
            let given = bytes.min(held.bytes());
            let left = held.bytes() - given;
            held.resize(left);
            given
        }
    }

    #[test]
    fn what_is_taken_is_given_back() {
        let budget = MemoryBudget::new(1_000);
        let query = budget.reserve(Consumer::Query, 600).unwrap();
        assert!(budget.try_reserve(Consumer::Sort, 401).is_none());
        let sort = budget.try_reserve(Consumer::Sort, 400).unwrap();
        assert_eq!((budget.used(), budget.used_by(Consumer::Sort)), (1_000, 400));
        drop(query);
        drop(sort);
        assert_eq!((budget.used(), budget.peak()), (0, 1_000));
    }

    #[test]
    fn a_refusal_names_who_asked_for_what() {
        let budget = MemoryBudget::new(4 << 20);
        let _held = budget.reserve(Consumer::Memtable, 3 << 20).unwrap();
        let error = budget.reserve(Consumer::Query, 2 << 20).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Limit);
        let expected =
            "query asked for 2.0 MiB, 1.0 MiB of the memory limit of 4.0 MiB are free; held: memtable 3.0 MiB";
        assert_eq!(error.message(), expected);
        assert_eq!(budget.used(), 3 << 20);
    }

    #[test]
    fn the_cache_gives_way() {
        let budget = MemoryBudget::new(1_600);
        let cache = Arc::new(Cache(Mutex::new(budget.charge(Consumer::BlockCache, 1_600))));
        let relief: Arc<dyn Relief> = cache.clone();
        budget.on_pressure(Arc::downgrade(&relief));
        let mut query = budget.reserve(Consumer::Query, 1_000).unwrap();
        assert_eq!(budget.used_by(Consumer::BlockCache), 600);
        assert!(query.cover(900).is_ok());
        assert!(query.cover(1_700).is_err());
        assert_eq!(query.bytes(), 1_000);
        assert_eq!(budget.cache_bytes_max(), 600);
        assert!(!budget.is_pressed());
        query.cover(1_550).unwrap();
        assert!(budget.is_pressed());
        assert_eq!(budget.cache_bytes_max(), 100);
    }

    #[test]
    fn a_buffer_is_as_large_as_may_be() {
        let budget = MemoryBudget::new(1_000);
        let cache = Arc::new(Cache(Mutex::new(budget.charge(Consumer::BlockCache, 500))));
        let relief: Arc<dyn Relief> = cache.clone();
        budget.on_pressure(Arc::downgrade(&relief));
        let query = budget.reserve(Consumer::Query, 400).unwrap();
        for (least, most, expected) in [(10, 600, 600), (10, 1_000, 500), (10, 100_000, 390), (700, 5_000, 700)] {
            assert_eq!(budget.reserve_between(Consumer::Compaction, least, most).bytes(), expected);
        }
        drop(query);
    }

    #[test]
    fn counted_bytes_may_pass_the_limit() {
        let budget = MemoryBudget::new(100);
        let mut memtable = budget.charge(Consumer::Memtable, 150);
        assert!(budget.is_pressed());
        memtable.resize(10);
        assert_eq!(budget.used(), 10);
    }
}
