//! Machines with a service time: each request waits for a processor of the replicas that it needs, and for the network.
//!
//! A model of queues over the simulated ring: a request of a replica takes a processor for a time that depends on its rows; a
//! quorum is there when its second replica has answered; an append takes several such trips, half of them if the place is taken, and
//! the partition of the log takes one append after the other. Threads sleep until the answer is due, in time that runs slower than that of the model,
//! so that what the clients themselves compute counts little.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cluster::tables::{Appended, Fault, Field, LogPage, Page, PageAsk, Place, Row, RowWrite, Slice, Tables};
use model::platform::Clock;
use testing::random::SeededRandom;

use crate::ring::{Client, Ring};

/// Replica whose answer completes a quorum of three.
const QUORUM: usize = 2;

/// Times of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Time on the network, there and back.
    pub(super) trip_ns: u64,
    /// Processor time of a replica for a request, and for each row of it.
    pub(super) request_ns: u64,
    pub(super) row_ns: u64,
    /// Processors of a machine.
    pub(super) processors: usize,
    /// Trips between machines of an append.
    pub(super) append_trips: u32,
    /// Real time for a unit of that of the model.
    pub(super) slower: u32,
}

/// The machines of a ring.
#[derive(Debug)]
pub(super) struct Machines {
    ring: Arc<Ring>,
    costs: Costs,
    start: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: SeededRandom,
    /// Moments at which the processors of each machine are free.
    free_ns: Vec<Vec<u64>>,
    /// Moments at which the partitions of the log are free.
    log_free_ns: BTreeMap<Vec<Field>, u64>,
    /// Last place of each partition of the log that has a record.
    log_taken: BTreeMap<Vec<Field>, i64>,
    work: Vec<Work>,
}

/// Work that a machine has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) requests: u64,
    pub(super) busy_ns: u64,
}

impl Machines {
    #[allow(clippy::disallowed_methods, reason = "threads sleep by the real clock")]
    pub(super) fn new(ring: Arc<Ring>, machines: usize, costs: Costs, seed: u64) -> Arc<Machines> {
        let state = State {
            random: SeededRandom::new(seed),
            free_ns: vec![vec![0; costs.processors]; machines],
            log_free_ns: BTreeMap::new(),
            log_taken: BTreeMap::new(),
            work: vec![Work::default(); machines],
        };
        Arc::new(Machines { ring, costs, start: Instant::now(), state: Mutex::new(state) })
    }

    /// Time of the model.
    pub(super) fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64 / u64::from(self.costs.slower)
    }

    /// Work of each machine so far.
    pub(super) fn work(&self) -> Vec<Work> {
        self.lock().work.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep_until(&self, at_ns: u64) {
        let real = Duration::from_nanos(at_ns.saturating_mul(u64::from(self.costs.slower)));
        std::thread::sleep(real.saturating_sub(self.start.elapsed()));
    }

    /// The moment at which a majority of the replicas has done a request that comes at a moment; `asked` of them are asked.
    fn quorum(&self, state: &mut State, partition: &[Field], rows: usize, asked: usize, from_ns: u64) -> u64 {
        let mut replicas = self.ring.replicas_of(partition);
        state.random.shuffle(&mut replicas);
        let work = self.costs.request_ns + rows as u64 * self.costs.row_ns;
        let arrival = from_ns + self.costs.trip_ns / 2;
        let mut answers: Vec<u64> =
            replicas.into_iter().take(asked).map(|machine| state.serve(machine, arrival, work)).collect();
        answers.sort_unstable();
        answers[QUORUM - 1] + self.costs.trip_ns / 2
    }

    /// Waits for requests at the same time, each with its partition and rows.
    fn requests<'a>(&self, requests: impl Iterator<Item = (&'a [Field], usize)>, asked: usize) {
        let from_ns = self.now_ns();
        let mut state = self.lock();
        let ends = requests.map(|(partition, rows)| self.quorum(&mut state, partition, rows, asked, from_ns));
        let end = ends.max().unwrap_or(from_ns);
        drop(state);
        self.sleep_until(end);
    }

    /// Waits for trips to a partition of the log, which takes no others meanwhile. To append takes all of them, unless a
    /// record is found at the place after half of them; to read takes half.
    fn log_trips(&self, graph: i64, epoch: i64, appended_at: Option<i64>) {
        let partition = vec![Field::Int(graph), Field::Int(epoch)];
        let now_ns = self.now_ns();
        let mut state = self.lock();
        let last = state.log_taken.entry(partition.clone()).or_insert(-1);
        let is_free = appended_at.is_some_and(|place| place > *last);
        *last = appended_at.map_or(*last, |place| place.max(*last));
        let trips = if is_free { self.costs.append_trips } else { self.costs.append_trips / 2 };
        let mut at_ns = state.log_free_ns.get(&partition).copied().unwrap_or_default().max(now_ns);
        for _ in 0..trips {
            at_ns = self.quorum(&mut state, &partition, 1, 3, at_ns);
        }
        state.log_free_ns.insert(partition, at_ns);
        drop(state);
        self.sleep_until(at_ns);
    }
}

impl State {
    /// Gives a machine work: the moment at which it is done.
    fn serve(&mut self, machine: usize, arrival_ns: u64, work_ns: u64) -> u64 {
        self.work[machine].requests += 1;
        self.work[machine].busy_ns += work_ns;
        let free = self.free_ns[machine].iter_mut().min().expect("a machine has a processor");
        *free = (*free).max(arrival_ns) + work_ns;
        *free
    }
}

impl Clock for Machines {
    fn now_ns(&self) -> u64 {
        Machines::now_ns(self)
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

/// A process that waits for the machines.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) machines: Arc<Machines>,
    pub(super) client: Arc<Client>,
}

impl Tables for Waiting {
    fn write(&self, rows: &[RowWrite]) -> Result<(), Fault> {
        let mut partitions: BTreeMap<&[Field], usize> = BTreeMap::new();
        rows.iter().for_each(|row| *partitions.entry(&row.partition).or_default() += 1);
        self.machines.requests(partitions.into_iter(), 3);
        self.client.write(rows)
    }

    fn read(&self, slices: &[Slice], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<Row>>, Fault> {
        let answers = self.client.read(slices, is_cancelled)?;
        let requests = slices.iter().zip(&answers).map(|(slice, rows)| (&slice.partition[..], rows.len()));
        self.machines.requests(requests, QUORUM);
        Ok(answers)
    }

    fn scan(&self, pages: &[PageAsk], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Page>, Fault> {
        self.client.scan(pages, is_cancelled)
    }

    fn append(&self, place: Place, record: &[u8]) -> Result<Appended, Fault> {
        self.machines.log_trips(place.graph, place.epoch, Some(place.sequence));
        self.client.append(place, record)
    }

    fn read_place(&self, place: Place) -> Result<Option<Arc<[u8]>>, Fault> {
        self.machines.log_trips(place.graph, place.epoch, None);
        self.client.read_place(place)
    }

    fn follow(&self, graph: i64, epoch: i64, after: i64) -> Result<LogPage, Fault> {
        let page = self.client.follow(graph, epoch, after)?;
        let partition = [Field::Int(graph), Field::Int(epoch)];
        let requests = [(&partition[..], page.records.len()), (&partition[..], page.applied.len())];
        self.machines.requests(requests.into_iter(), QUORUM);
        Ok(page)
    }

    fn seal(&self, graph: i64, epoch: i64) -> Result<(), Fault> {
        self.machines.log_trips(graph, epoch, None);
        self.client.seal(graph, epoch)
    }

    fn pause(&self, attempts: u32) {
        self.wait(u64::from(attempts) * self.machines.costs.trip_ns);
    }

    fn wait(&self, ns: u64) {
        self.machines.sleep_until(self.machines.now_ns() + ns);
    }
}
