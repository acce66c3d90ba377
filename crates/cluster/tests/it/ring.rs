//! A wide-column store of several replicas in memory, with all that may go wrong between a client and a majority of them.
//!
//! Writes reach some replicas, late or never; acknowledgements are lost; appends time out before, in the midst of and after
//! their decision; replicas go away and come back; clients are paused, stop for good, and have clocks that differ. The same
//! seed gives the same run, as long as one client runs at a time (see [`turns`]).
//!
//! Of the ring itself is simulated what the port promises: quorums of three replicas, cells by timestamp, repair of what a
//! read finds behind, and one register for each place of the log. The rounds of Paxos are not.

mod canary;
mod consensus;
mod faults;
mod replica;
mod scans;
mod turns;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cluster::Settings;
use cluster::tables::{Appended, Fault, Field, LogPage, Page, PageAsk, Place, Row, RowWrite, Slice, Table, Tables};
use model::platform::Clock;
use testing::random::SeededRandom;
use testing::simulation::PlatformRandom;

pub(crate) use canary::Canary;
use consensus::Consensus;
pub(crate) use faults::{CrashKind, Faults};
use replica::{Replica, StoredRow, live};
use scans::Position;
pub(crate) use turns::Turns;

/// The deletion of a partition, and its rows by key, as all replicas together have them.
type MergedRows<'r> = (i64, BTreeMap<&'r [Field], StoredRow>);

/// Replicas of each row.
const COPIES: usize = 3;
/// Replicas whose answers make a majority.
const QUORUM: usize = 2;
/// Time that an operation takes.
const OPERATION_NS: u64 = 1_000_000;

/// The replicas, and the faults between them and their clients.
#[derive(Debug)]
pub(crate) struct Ring {
    inner: Mutex<Inner>,
    time_ns: AtomicU64,
    pub(crate) turns: Option<Turns>,
}

#[derive(Debug)]
struct Inner {
    random: SeededRandom,
    replicas: Vec<Replica>,
    consensus: Consensus,
    faults: Faults,
    canary: Option<Canary>,
    counts: Counts,
    /// Places at which further pages begin, by the number that stands for them.
    pages: Vec<Position>,
}

/// Numbers of operations and of faults that happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) writes: u64,
    pub(crate) reads: u64,
    pub(crate) slices: u64,
    pub(crate) appends: u64,
    /// Pages of scans that were read, and those that were asked for again after no answer.
    pub(crate) pages: u64,
    pub(crate) lost_pages: u64,
    /// Acknowledgements that were lost, of writes and of appends that were done.
    pub(crate) lost_answers: u64,
    /// Rows that reached a replica late.
    pub(crate) late: u64,
    /// Rows that did not reach a replica.
    pub(crate) lost: u64,
    /// Appends that timed out undecided.
    pub(crate) undecided: u64,
    /// Those of them that were decided later.
    pub(crate) decided_late: u64,
    /// Times that a replica went away.
    pub(crate) outages: u64,
    /// Times that a client was paused.
    pub(crate) pauses: u64,
}

impl Ring {
    /// A ring of so many replicas.
    pub(crate) fn new(seed: u64, replicas: usize, faults: Faults) -> Arc<Ring> {
        Ring::build(seed, replicas, faults, None)
    }

    /// The same, on which clients take turns.
    pub(crate) fn build(seed: u64, replicas: usize, faults: Faults, turns: Option<Turns>) -> Arc<Ring> {
        assert!(replicas >= COPIES, "a row has {COPIES} copies");
        let inner = Inner {
            random: SeededRandom::new(seed),
            replicas: (0..replicas).map(|_| Replica::default()).collect(),
            consensus: Consensus::default(),
            faults,
            canary: None,
            counts: Counts::default(),
            pages: Vec::new(),
        };
        Arc::new(Ring { inner: Mutex::new(inner), time_ns: AtomicU64::new(1), turns })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment later than all before.
    pub(crate) fn moment(&self) -> u64 {
        self.time_ns.fetch_add(1, Ordering::Relaxed)
    }

    /// Numbers of operations and of faults so far.
    pub(crate) fn counts(&self) -> Counts {
        let pauses = self.turns.as_ref().map_or(0, Turns::pauses);
        Counts { pauses, ..self.inner().counts }
    }

    /// Lets a call run without turns, before or after those of clients.
    pub(crate) fn alone<T>(&self, call: impl FnOnce() -> T) -> T {
        let turns = self.turns.as_ref().map(Turns::suspend);
        let result = call();
        drop(turns);
        result
    }

    /// The replicas of a partition.
    pub(crate) fn replicas_of(&self, partition: &[Field]) -> Vec<usize> {
        self.inner().replicas_of(partition)
    }

    /// Begins faults.
    pub(crate) fn trouble(&self, faults: Faults, canary: Option<Canary>) {
        let mut inner = self.inner();
        (inner.faults, inner.canary) = (faults, canary);
    }

    /// Takes some replicas away, until the ring is calm.
    pub(crate) fn take_away(&self, count: usize) {
        let mut inner = self.inner();
        inner.replicas.iter_mut().take(count).for_each(|replica| replica.is_up = false);
        inner.faults.return_chance = 0;
    }

    /// Ends all faults: what is late arrives, and all replicas are there.
    pub(crate) fn calm(&self) {
        let mut inner = self.inner();
        inner.faults = Faults::NONE;
        inner.canary = None;
        inner.replicas.iter_mut().for_each(|replica| {
            replica.is_up = true;
            replica.receive_all();
        });
    }

    /// Number of the rows of a graph in a table, as all replicas together have them.
    pub(crate) fn rows(&self, graph: i64, table: Table) -> usize {
        let inner = self.inner();
        let mut partitions: BTreeMap<&[Field], MergedRows<'_>> = BTreeMap::new();
        for ((_, key), partition) in inner
            .replicas
            .iter()
            .flat_map(|replica| &replica.partitions)
            .filter(|((of, key), _)| *of == table && key[0] == Field::Int(graph))
        {
            let (deleted, rows) = partitions.entry(key).or_insert((i64::MIN, BTreeMap::new()));
            *deleted = partition.deleted.max(*deleted);
            partition.rows.iter().for_each(|(key, row)| rows.entry(key).or_default().merge(row));
        }
        for ((of, key), partition) in inner.replicas.iter().flat_map(|replica| &replica.partitions) {
            if let Some((_, rows)) = partitions.get_mut(&key[..]).filter(|_| *of == table) {
                rows.iter_mut().for_each(|(key, row)| row.shadow(partition.struck(key)));
            }
        }
        let cells = table.shape().cells.len();
        let live = |(deleted, rows): MergedRows<'_>| {
            rows.into_iter().filter(|(key, row)| live(key.to_vec(), row, deleted, cells).is_some()).count()
        };
        partitions.into_values().map(live).sum()
    }

    /// A process that uses the ring, with a clock of its own.
    pub(crate) fn client(self: &Arc<Ring>, number: usize) -> Arc<Client> {
        Arc::new(Client {
            ring: self.clone(),
            number,
            operations: AtomicU64::new(0),
            crash: Mutex::new(None),
            has_ended: AtomicBool::new(false),
        })
    }
}

/// A process.
#[derive(Debug)]
pub(crate) struct Client {
    ring: Arc<Ring>,
    number: usize,
    operations: AtomicU64,
    /// The operation, counted from the first, at which it ends.
    crash: Mutex<Option<(u64, CrashKind)>>,
    has_ended: AtomicBool,
}

/// A clock that runs as all others, from a moment of its own.
#[derive(Debug)]
struct SkewedClock {
    ring: Arc<Ring>,
    skew_ns: u64,
}

impl Clock for SkewedClock {
    fn now_ns(&self) -> u64 {
        self.skew_ns + self.ring.time_ns.load(Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

impl Client {
    /// Settings of a graph for this process. Its clock differs from those of others by hours.
    pub(crate) fn settings(&self, graph: i64, seed: u64) -> Settings {
        let seed = seed.wrapping_mul(1_000).wrapping_add(self.number as u64);
        let skew_ns = SeededRandom::new(seed).below(10_000_000_000_000);
        let clock = Arc::new(SkewedClock { ring: self.ring.clone(), skew_ns });
        let mut settings = Settings::new(graph, clock, Arc::new(PlatformRandom::new(seed)));
        settings.patience_ns = 20 * OPERATION_NS;
        settings
    }

    /// Ends the process at an operation, counted from now.
    pub(crate) fn crash_at(&self, operation: u64, kind: CrashKind) {
        let at = self.operations.load(Ordering::Relaxed) + operation;
        *self.crash.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, kind));
    }

    /// Number of operations so far.
    pub(crate) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// True if it has ended by a crash.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Begins an operation: the state of the ring, and how the process ends in it, if it does.
    fn begin(&self) -> Result<(MutexGuard<'_, Inner>, Option<CrashKind>), Fault> {
        if let Some(turns) = &self.ring.turns {
            turns.take(self.number);
        }
        self.ring.time_ns.fetch_add(OPERATION_NS, Ordering::Relaxed);
        if self.has_ended() {
            return Err(ended());
        }
        let operation = self.operations.fetch_add(1, Ordering::Relaxed) + 1;
        let crash = *self.crash.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = crash.filter(|(at, _)| *at == operation).map(|(_, kind)| kind);
        if kind.is_some() {
            self.has_ended.store(true, Ordering::Relaxed);
        }
        if kind == Some(CrashKind::Before) {
            return Err(ended());
        }
        let mut inner = self.ring.inner();
        inner.pass();
        Ok((inner, kind))
    }
}

fn ended() -> Fault {
    Fault::Ended("the process was killed".to_owned())
}

/// The answer of an operation, unless the process ended in it.
fn answer<T>(kind: Option<CrashKind>, outcome: Result<T, Fault>) -> Result<T, Fault> {
    if kind.is_some() { Err(ended()) } else { outcome }
}

impl Tables for Client {
    fn write(&self, rows: &[RowWrite]) -> Result<(), Fault> {
        let (mut inner, kind) = self.begin()?;
        let count = if kind == Some(CrashKind::Half) { rows.len() / 2 } else { rows.len() };
        let outcome = inner.write(&rows[..count]);
        answer(kind, outcome)
    }

    fn read(&self, slices: &[Slice], _is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<Row>>, Fault> {
        let (mut inner, kind) = self.begin()?;
        let outcome = inner.read(slices);
        answer(kind, outcome)
    }

    fn scan(&self, pages: &[PageAsk], _is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Page>, Fault> {
        let (mut inner, kind) = self.begin()?;
        let outcome = inner.scan(pages);
        answer(kind, outcome)
    }

    fn append(&self, place: Place, record: &[u8]) -> Result<Appended, Fault> {
        let (mut inner, kind) = self.begin()?;
        let outcome = inner.append(place, record);
        answer(kind, outcome)
    }

    fn read_place(&self, place: Place) -> Result<Option<Arc<[u8]>>, Fault> {
        let (mut inner, kind) = self.begin()?;
        let outcome = inner.read_place(place);
        answer(kind, outcome)
    }

    fn follow(&self, graph: i64, epoch: i64, after: i64) -> Result<LogPage, Fault> {
        let (mut inner, kind) = self.begin()?;
        let outcome = inner.follow(graph, epoch, after);
        answer(kind, outcome)
    }

    fn seal(&self, graph: i64, epoch: i64) -> Result<(), Fault> {
        let (mut inner, kind) = self.begin()?;
        let outcome = inner.seal(graph, epoch);
        answer(kind, outcome)
    }

    fn pause(&self, attempts: u32) {
        self.ring.time_ns.fetch_add(u64::from(attempts) * OPERATION_NS, Ordering::Relaxed);
    }

    fn wait(&self, ns: u64) {
        self.ring.time_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

/// Rows of a part of the log behind a sequence number.
fn behind(table: Table, graph: i64, epoch: i64, after: i64) -> Slice {
    Slice::new(table, vec![Field::Int(graph), Field::Int(epoch)], Vec::new())
        .between(Bound::Excluded(Field::Int(after)), Bound::Unbounded)
}

fn int(field: &Field) -> i64 {
    match field {
        Field::Int(number) => *number,
        Field::Bytes(_) => panic!("a sequence number is an integer"),
    }
}

impl Inner {
    fn follow(&mut self, graph: i64, epoch: i64, after: i64) -> Result<LogPage, Fault> {
        let slices = [behind(Table::Log, graph, epoch, after), behind(Table::Applied, graph, epoch, after)];
        // The marks first: a record that is marked is then seen too.
        let applied = self.read(&slices[1..])?.remove(0);
        let records = self.read(&slices[..1])?.remove(0);
        let record = |row: Row| match &row.cells[0] {
            Some(Field::Bytes(bytes)) => (int(&row.clustering[0]), bytes.clone()),
            other => panic!("a record is bytes, found {other:?}"),
        };
        Ok(LogPage {
            records: records.into_iter().map(record).collect(),
            applied: applied.iter().map(|row| int(&row.clustering[0])).collect(),
            is_sealed: self.consensus.is_sealed(graph, epoch),
        })
    }
}
