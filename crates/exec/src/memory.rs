//! Memory held by one query: an account that draws on the budget of the database and has a limit of its own.
//!
//! An operator that keeps rows opens a [`Charge`] and says how many bytes it holds. Where the account refuses, the
//! operator spills to temporary files or, where it cannot, fails with the refusal, which names the operator, the limit
//! and the remedy. A charge is given back when it is dropped, so that no end of a query leaks.
//!
//! Cost: a change of a charge is one atomic addition; the budget of the database is asked in steps.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cypher::plan::OperatorId;
use model::memory::Reservation;
use model::meter::{self, Wait};
use model::platform::{Disk, TemporaryFile};
use model::procedure::Workspace;
use model::{Column, Consumer, Error, Map, MemoryBudget, Result, error};

use crate::quota::Quota;
use crate::size::column_bytes;

/// Bytes of the budget that a query keeps at hand although it holds less.
const SLACK_BYTES: usize = 4 << 20;

/// Storage of a database for what its queries cannot hold in memory.
#[derive(Debug)]
pub struct SpillSpace {
    disk: Option<Arc<dyn Disk>>,
    /// The first of them that takes a file is used.
    directories: Vec<PathBuf>,
    open_files: AtomicUsize,
}

impl SpillSpace {
    /// Temporary files in the first of these directories that can be written.
    pub fn new(disk: Arc<dyn Disk>, directories: Vec<PathBuf>) -> Arc<SpillSpace> {
        Arc::new(SpillSpace { disk: Some(disk), directories, open_files: AtomicUsize::new(0) })
    }

    /// No place at all: queries that need one fail.
    pub fn none() -> Arc<SpillSpace> {
        Arc::new(SpillSpace { disk: None, directories: Vec::new(), open_files: AtomicUsize::new(0) })
    }

    /// Temporary files that are open now.
    pub fn open_files(&self) -> usize {
        self.open_files.load(Ordering::Relaxed)
    }

    /// A temporary file, gone when it is dropped.
    ///
    /// # Errors
    /// Fails if there is no place for one.
    pub fn temporary(self: &Arc<SpillSpace>) -> Result<Box<dyn TemporaryFile>> {
        let (file, _) = self.open()?;
        Ok(Box::new(CountedFile { file, space: self.clone() }))
    }

    fn open(&self) -> Result<(Box<dyn TemporaryFile>, PathBuf)> {
        let Some(disk) = &self.disk else {
            return Err(error!(
                Limit,
                "the query needs more memory than it may hold, and there is no place to spill to"
            ));
        };
        let mut refusals = Vec::new();
        for directory in &self.directories {
            match disk.temporary(directory) {
                Ok(file) => {
                    self.open_files.fetch_add(1, Ordering::Relaxed);
                    return Ok((file, directory.clone()));
                }
                Err(cause) => refusals.push(spill_failure(directory, "make", &cause)),
            }
        }
        Err(refusals.pop().unwrap_or_else(|| error!(Io, "there is no directory for temporary files")))
    }
}

fn spill_failure(directory: &std::path::Path, verb: &str, cause: &std::io::Error) -> Error {
    let place = directory.display();
    if matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return error!(DiskFull, "a query spills to a temporary file in {place}, and the disk is full").with_remedy(
            "free space there, raise the memory limit of queries, or ask for less; the store is unharmed",
        );
    }
    error!(Io, "cannot {verb} a temporary file in {place}: {cause}")
}

/// Bytes that an operator held and spilled, for profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryFigures {
    /// The most bytes held at a time.
    pub peak_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
}

#[derive(Debug, Default)]
struct OperatorAccount {
    used: AtomicUsize,
    peak: AtomicUsize,
    spilled: AtomicU64,
}

/// The account of one query.
pub struct QueryMemory {
    limit: usize,
    budget: Arc<MemoryBudget>,
    space: Arc<SpillSpace>,
    used: AtomicUsize,
    peak: AtomicUsize,
    spilled: AtomicU64,
    /// Bytes taken from the budget: as much as is used, and a little more.
    reserved: AtomicUsize,
    reservation: Mutex<Reservation>,
    operators: Mutex<Map<OperatorId, Arc<OperatorAccount>>>,
    /// The limit that it shares with other queries.
    quota: Option<Arc<Quota>>,
}

impl fmt::Debug for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryMemory({} of {} bytes)", self.used(), self.limit)
    }
}

impl QueryMemory {
    /// An account of a query that may hold `limit` bytes (`None`: what the budget leaves it), and spills to `space`.
    #[inline]
    pub fn new(budget: Arc<MemoryBudget>, limit: Option<usize>, space: Arc<SpillSpace>) -> QueryMemory {
        let limit = limit.unwrap_or_else(|| budget.share(Consumer::Query).max(budget.limit() / 16));
        QueryMemory {
            limit,
            space,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            spilled: AtomicU64::new(0),
            reserved: AtomicUsize::new(0),
            reservation: Mutex::new(budget.empty(Consumer::Query)),
            budget,
            operators: Mutex::default(),
            quota: None,
        }
    }

    /// The same, bounded besides by what other queries of the same user leave.
    #[must_use]
    #[inline]
    pub fn within(mut self, quota: Option<Arc<Quota>>) -> QueryMemory {
        self.quota = quota;
        self
    }

    /// An account without a limit and without a place to spill to.
    pub fn unlimited() -> QueryMemory {
        QueryMemory::new(MemoryBudget::unlimited(), Some(usize::MAX / 2), SpillSpace::none())
    }

    /// True if there is a place for temporary files.
    pub(crate) fn can_spill(&self) -> bool {
        self.space.disk.is_some()
    }

    /// The most that the query may hold, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes held now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes held at a time.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Bytes written to temporary files.
    pub fn spilled(&self) -> u64 {
        self.spilled.load(Ordering::Relaxed)
    }

    /// An empty charge of the operator of that name, counted for `id` too where a profile wants to know.
    pub fn open<'m>(&'m self, operator: &'static str, id: Option<OperatorId>) -> Charge<'m> {
        let account = id.map(|id| lock(&self.operators).entry(id).or_default().clone());
        Charge { memory: self, operator, account, bytes: 0 }
    }

    /// Figures of the operators that were opened with their numbers.
    pub fn figures(&self) -> Map<OperatorId, MemoryFigures> {
        let figures = |account: &OperatorAccount| MemoryFigures {
            peak_bytes: account.peak.load(Ordering::Relaxed) as u64,
            spilled_bytes: account.spilled.load(Ordering::Relaxed),
        };
        lock(&self.operators).iter().map(|(&id, account)| (id, figures(account))).collect()
    }

    /// Counts operators from nothing again: from now on their numbers are those of another plan.
    pub fn forget_figures(&self) {
        lock(&self.operators).clear();
    }

    /// Takes bytes for an operator, or fails with `LIMIT`, naming the operator and the limit. [`Charge`] does it with a
    /// guard.
    pub fn charge(&self, operator: &'static str, bytes: usize) -> Result<()> {
        let now = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let outcome = match &self.quota {
            _ if now > self.limit => Err(self.refusal(operator, bytes)),
            Some(quota) if !quota.take(bytes) => Err(quota.refusal(operator, bytes)),
            quota => self.cover(operator, now).inspect_err(|_| {
                if let Some(quota) = quota {
                    quota.give_back(bytes);
                }
            }),
        };
        match outcome {
            Ok(()) => {
                self.peak.fetch_max(now, Ordering::Relaxed);
            }
            Err(_) => {
                self.used.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
        outcome
    }

    /// Counts bytes that are held in any case; the limit may be passed.
    pub fn count(&self, bytes: usize) {
        let now = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
        if let Some(quota) = &self.quota {
            quota.count(bytes);
        }
        if now > self.reserved.load(Ordering::Relaxed) {
            let mut reservation = lock(&self.reservation);
            let now = self.used();
            if now > reservation.bytes() {
                reservation.resize(now);
                self.reserved.store(reservation.bytes(), Ordering::Relaxed);
            }
        }
    }

    /// Gives bytes back.
    pub fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "a query gives back what it took");
        if let Some(quota) = &self.quota {
            quota.give_back(bytes);
        }
        if self.reserved.load(Ordering::Relaxed) > before.saturating_sub(bytes) + SLACK_BYTES {
            let mut reservation = lock(&self.reservation);
            let left = self.used() + SLACK_BYTES / 4;
            if left < reservation.bytes() {
                reservation.resize(left);
            }
            self.reserved.store(reservation.bytes(), Ordering::Relaxed);
        }
    }

    /// Sees to it that the budget of the database knows of `now` bytes.
    fn cover(&self, operator: &'static str, now: usize) -> Result<()> {
        if now <= self.reserved.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut reservation = lock(&self.reservation);
        let outcome = reservation.cover(now);
        self.reserved.store(reservation.bytes(), Ordering::Relaxed);
        outcome.map_err(|error| error.within(operator))
    }

    fn refusal(&self, operator: &'static str, bytes: usize) -> Error {
        let (bytes, used, limit) = (bytes.to_string(), self.used().saturating_sub(bytes), self.limit);
        error!(
            Limit,
            "{operator} needs {bytes} more bytes of memory; the query holds {used} of the {limit} bytes it may hold"
        )
        .with_remedy("raise the memory limit of the query (query_memory_max, --query-memory), or collect, sort and list less at a time")
    }
}

impl Drop for QueryMemory {
    fn drop(&mut self) {
        // Bytes that a procedure has not given back.
        if let Some(quota) = &self.quota {
            quota.give_back(self.used());
        }
    }
}

/// The workspace of a procedure: it may hold as much as its query may, as far as others leave it.
impl Workspace for QueryMemory {
    fn bytes_free(&self) -> usize {
        let used = self.used();
        let at_hand = self.reserved.load(Ordering::Relaxed).saturating_sub(used);
        let left = self.budget.bytes_available().saturating_add(at_hand);
        let left = self.quota.as_ref().map_or(left, |quota| quota.left().min(left));
        self.limit.saturating_sub(used).min(left)
    }

    fn take(&self, what: &'static str, bytes: usize) -> Result<()> {
        self.charge(what, bytes)
    }

    fn give_back(&self, bytes: usize) {
        self.release(bytes);
    }

    fn temporary(&self) -> Result<Box<dyn TemporaryFile>> {
        self.space.temporary()
    }
}

/// A temporary file of a procedure.
struct CountedFile {
    file: Box<dyn TemporaryFile>,
    space: Arc<SpillSpace>,
}

impl TemporaryFile for CountedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let _waiting = meter::waiting(Wait::Spill);
        self.file.append(bytes)
    }

    fn write_at(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        let _waiting = meter::waiting(Wait::Spill);
        self.file.write_at(start, bytes)
    }

    fn read_at(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        let _waiting = meter::waiting(Wait::Spill);
        self.file.read_at(start, out)
    }

    fn forget(&self, bytes: std::ops::Range<u64>) {
        self.file.forget(bytes);
    }
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        self.space.open_files.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory held by one operator; given back when dropped.
#[derive(Debug)]
pub struct Charge<'m> {
    memory: &'m QueryMemory,
    operator: &'static str,
    account: Option<Arc<OperatorAccount>>,
    bytes: usize,
}

impl<'m> Charge<'m> {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The account that it draws on.
    pub fn memory(&self) -> &'m QueryMemory {
        self.memory
    }

    /// Ends the charge without giving its bytes back; the caller releases them later.
    #[must_use]
    pub(crate) fn into_bytes(mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }

    /// Another charge of the same operator.
    #[must_use]
    pub fn another(&self) -> Charge<'m> {
        Charge { memory: self.memory, operator: self.operator, account: self.account.clone(), bytes: 0 }
    }

    /// Sets the reservation to exactly `bytes`; if they are refused, the old one stays. The little that work always
    /// needs is not refused: 16 to 64 KiB, by the limit.
    pub fn hold(&mut self, bytes: usize) -> Result<()> {
        match self.try_hold(bytes) {
            Err(refusal) if bytes > floor_bytes(self.memory.limit) => Err(refusal),
            Err(_) => {
                self.count(bytes);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Reserves `bytes` more, as [`Charge::hold`] does.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.hold(self.bytes + bytes)
    }

    /// Holds what these columns take more, as [`Charge::hold`] does.
    pub fn grow_for(&mut self, columns: &[Arc<Column>]) -> Result<()> {
        self.grow(columns.iter().map(|column| column_bytes(column)).sum())
    }

    /// Sets the reservation to exactly `bytes`, for operators that spill instead: even the smallest amount may be
    /// refused.
    pub(crate) fn try_hold(&mut self, bytes: usize) -> Result<()> {
        match bytes.checked_sub(self.bytes) {
            Some(more) if more > 0 => self.memory.charge(self.operator, more)?,
            Some(_) => {}
            None => self.memory.release(self.bytes - bytes),
        }
        self.set(bytes);
        Ok(())
    }

    /// Reserves `bytes` more, as [`Charge::try_hold`] does.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> Result<()> {
        self.try_hold(self.bytes + bytes)
    }

    /// Sets the reservation to exactly `bytes`, regardless of the limit: for the little that work always needs.
    pub fn count(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.memory.count(more),
            None => self.memory.release(self.bytes - bytes),
        }
        self.set(bytes);
    }

    fn set(&mut self, bytes: usize) {
        if let Some(account) = &self.account {
            let now = if bytes >= self.bytes {
                account.used.fetch_add(bytes - self.bytes, Ordering::Relaxed) + (bytes - self.bytes)
            } else {
                account.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed) - (self.bytes - bytes)
            };
            account.peak.fetch_max(now, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    /// A temporary file for the operator.
    pub(crate) fn spill_file(&self) -> Result<SpillFile> {
        let space = self.memory.space.clone();
        let (file, directory) = space.open()?;
        Ok(SpillFile { file, directory, space, end: 0 })
    }

    /// Writes bytes at the end of a temporary file, and says where they stand.
    pub(crate) fn spill(&self, file: &mut SpillFile, bytes: &[u8]) -> Result<Extent> {
        let _waiting = meter::waiting(Wait::Spill);
        file.file.append(bytes).map_err(|cause| spill_failure(&file.directory, "write", &cause))?;
        let extent = Extent { start: file.end, length: bytes.len() };
        file.end += bytes.len() as u64;
        self.count_spilled(bytes.len());
        Ok(extent)
    }

    /// Writes bytes at a place of a temporary file that is not written in any other way.
    pub(crate) fn spill_at(&self, file: &mut SpillFile, start: u64, bytes: &[u8]) -> Result<()> {
        let _waiting = meter::waiting(Wait::Spill);
        file.file.write_at(start, bytes).map_err(|cause| spill_failure(&file.directory, "write", &cause))?;
        self.count_spilled(bytes.len());
        Ok(())
    }

    fn count_spilled(&self, bytes: usize) {
        self.memory.spilled.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(account) = &self.account {
            account.spilled.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.count(0);
    }
}

/// A temporary file of one operator.
pub(crate) struct SpillFile {
    file: Box<dyn TemporaryFile>,
    directory: PathBuf,
    space: Arc<SpillSpace>,
    end: u64,
}

/// A place in a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    start: u64,
    length: usize,
}

impl SpillFile {
    /// Reads what stands there.
    pub(crate) fn read(&self, extent: Extent, out: &mut Vec<u8>) -> Result<()> {
        out.resize(extent.length, 0);
        self.read_at(extent.start, out)
    }

    /// Fills `out` with what stands from `start` on.
    pub(crate) fn read_at(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let _waiting = meter::waiting(Wait::Spill);
        self.file.read_at(start, out).map_err(|cause| spill_failure(&self.directory, "read", &cause))
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.space.open_files.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes that an operator may hold in any case once its rows are on disk: less would make it read and write in crumbs.
pub(crate) fn floor_bytes(limit: usize) -> usize {
    limit.clamp(16 << 10, 64 << 10)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{QueryMemory, Quota, SpillSpace};
    use cypher::plan::OperatorId;
    use model::procedure::Workspace;
    use model::{ErrorCode, MemoryBudget};

    #[test]
    fn charges_are_given_back_whatever_happens() {
        let budget = MemoryBudget::new(64 << 20);
        let memory = QueryMemory::new(budget.clone(), Some(1_000_000), SpillSpace::none());
        let mut sort = memory.open("Sort", Some(OperatorId(3)));
        sort.hold(600_000).unwrap();
        let mut join = memory.open("HashJoin", None);
        let error = join.grow(500_000).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Limit);
        let expected =
            "HashJoin needs 500000 more bytes of memory; the query holds 600000 of the 1000000 bytes it may hold";
        assert_eq!(error.message(), expected);
        assert!(error.remedy().contains("--query-memory"), "{}", error.remedy());
        join.count(700_000);
        assert_eq!((memory.used(), budget.used() >= 1_300_000), (1_300_000, true));
        join.another().hold(10_000).unwrap();
        join.another().try_hold(10_000).unwrap_err();
        drop(join);
        drop(sort);
        assert_eq!((memory.used(), memory.peak()), (0, 1_310_000));
        assert_eq!(memory.figures()[&OperatorId(3)].peak_bytes, 600_000);
        drop(memory);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn queries_of_one_user_share_a_quota() {
        let budget = MemoryBudget::new(64 << 20);
        let quota = Quota::new("ann", 1_000_000);
        let query = |quota: Option<&Arc<Quota>>| {
            QueryMemory::new(budget.clone(), Some(2_000_000), SpillSpace::none()).within(quota.cloned())
        };
        let (first, second, others) = (query(Some(&quota)), query(Some(&quota)), query(None));
        let mut sort = first.open("Sort", None);
        sort.hold(600_000).unwrap();
        let error = second.open("HashJoin", None).hold(500_000).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Limit);
        let expected = "HashJoin needs 500000 more bytes of memory; the queries of the user 'ann' hold 600000 of the 1000000 bytes \
                        that they may hold together";
        assert_eq!(error.message(), expected);
        assert_eq!((second.used(), quota.used(), second.bytes_free()), (0, 600_000, 400_000));
        others.open("HashJoin", None).hold(1_500_000).unwrap();
        // Bytes that are merely counted may pass the limit, and are given back like all else.
        second.count(900_000);
        assert_eq!((quota.used(), first.bytes_free()), (1_500_000, 0));
        sort.hold(100_000).unwrap();
        assert_eq!(quota.used(), 1_000_000);
        drop(sort);
        // A procedure that keeps what it took.
        first.take("PageRank", 50_000).unwrap();
        drop((first, second, others));
        assert_eq!((quota.used(), budget.used()), (0, 0));
    }

    #[test]
    fn what_is_free_is_what_others_leave() {
        let budget = MemoryBudget::new(16_000_000);
        let memory = QueryMemory::new(budget.clone(), Some(10_000_000), SpillSpace::none());
        let other = QueryMemory::new(budget.clone(), None, SpillSpace::none());
        assert_eq!(memory.bytes_free(), 10_000_000);
        other.take("PageRank", 7_000_000).unwrap();
        // A sixteenth is for the blocks of files, which give way otherwise.
        assert_eq!(memory.bytes_free(), 8_000_000);
        let blocks = budget.charge(model::Consumer::BlockCache, 9_000_000);
        assert_eq!(memory.bytes_free(), 8_000_000);
        drop(blocks);
        memory.take("PageRank", 5_000_000).unwrap();
        assert_eq!(memory.bytes_free(), 3_000_000);
        memory.give_back(2_000_000);
        assert_eq!(memory.bytes_free(), 5_000_000, "what is at hand is free too");
        memory.give_back(3_000_000);
        other.give_back(7_000_000);
    }

    #[test]
    fn the_budget_of_the_database_refuses_too() {
        let budget = MemoryBudget::new(1_000_000);
        let memory = QueryMemory::new(budget.clone(), Some(1 << 30), SpillSpace::none());
        let mut charge = memory.open("Distinct", None);
        let error = charge.hold(2_000_000).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Limit);
        assert!(error.message().starts_with("Distinct: query asked for"), "{}", error.message());
        charge.hold(900_000).unwrap();
        charge.hold(10).unwrap();
        drop(charge);
        drop(memory);
        assert_eq!((budget.used(), budget.peak()), (0, 900_000));
    }
}
