//! Bulk load: a whole graph into one that is new, its rows written directly and seen all at once.
//!
//! - [`names`]: names and rules of the source as the graph has them. [`pieces`]: the rows of a range of nodes.
//! - [`progress`]: what was written so far, and rows of loads that were left.
//!
//! A load begins and ends with a record of the log. In between nobody writes to the graph, and views stay before the first
//! record, so that the rows of the load, which are born with it, are seen when the last one is there. Work is cut into
//! pieces that can be written in any order and again. What a load that died has written is known, and another goes on.
//!
//! Invariants: rows of a load carry its first record as their timestamp, so that those of one that was given up are deleted
//! for good, also where a process still writes them; the progress on the ring is never ahead of the rows.
//! Cost: a node is a row, one for each label and each entry of an index; an edge is three rows. Rows of one partition go
//! together, since nodes are taken in order of their ids, and edges once by source and once by target.

mod names;
mod pieces;
mod progress;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Error, ErrorCode, Interrupt, ReadView, Result, error};

use self::names::Names;
use self::pieces::{Pieces, Writer};
use self::progress::Progress;
use crate::commit::{Answer, Doubts, Pending};
use crate::items::Items;
use crate::record::{Member, Stored, TransactionId};
use crate::state::{Delta, Ids, LoadStep, Loading, State};
use crate::store::ClusterStore;

/// Pieces behind which progress is written.
const STRIDE: u64 = 8;

/// Times of patience with records of others that a load waits before it begins, and before it ends.
const PATIENCES: u64 = 3;

/// A bulk load.
#[derive(Clone, Copy, Debug)]
pub struct LoadPlan {
    /// A number of the source, by which a load that died is known again. Of one number it must give the same nodes and
    /// edges, under the same ids and numbers.
    pub source: u64,
    /// Begins anew where a load was left: its rows are deleted.
    pub restarts: bool,
    /// Threads that write, each of which waits for its rows.
    pub threads: usize,
    /// Nodes of a piece.
    pub piece_nodes: u64,
}

impl LoadPlan {
    /// A plan with four threads and pieces of 1,024 nodes, which goes on where one was left.
    pub fn new(source: u64) -> LoadPlan {
        LoadPlan { source, restarts: false, threads: 4, piece_nodes: 1_024 }
    }
}

/// State that the threads of a load share.
struct Work<'a> {
    store: &'a ClusterStore,
    source: &'a dyn ReadView,
    names: &'a Names,
    loading: Loading,
    pieces: Pieces,
    interrupt: &'a Interrupt,
    next: AtomicU64,
    has_failed: AtomicBool,
    progress: Mutex<Progress>,
    report: &'a (dyn Fn(u64, u64) + Sync),
}

impl ClusterStore {
    /// True if a load was begun and not ended, by whomever.
    ///
    /// # Errors
    /// `CONNECTION` if too few replicas answer.
    pub fn is_loading(&self) -> Result<bool> {
        Ok(self.shared.log.catch_up()?.loading.is_some())
    }

    /// Fails if the graph has content, had some, or somebody was given ids for some. One into which a load was left is new.
    ///
    /// # Errors
    /// `ARGUMENT` if it is not new; `CONNECTION` if too few replicas answer.
    pub fn check_new(&self) -> Result<()> {
        let state = self.shared.log.catch_up()?;
        check_new(self.shared.log.ring.graph, &state)
    }

    /// Loads all that a view has into a graph that is new: names, rules, nodes, edges and counts are there together, or, if
    /// the load fails, nothing is. `report` is told the pieces that are done and those of all.
    ///
    /// # Errors
    /// `ARGUMENT` if the graph has content or had some, or another source is being loaded; `CONFLICT` if somebody writes to it, or
    /// takes the load over; `READ_ONLY`; `CANCELLED`; `CONNECTION`. Called again with the same source it goes on.
    pub fn load(
        &self,
        source: &dyn ReadView,
        plan: &LoadPlan,
        interrupt: &Interrupt,
        report: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<()> {
        let log = &self.shared.log;
        if log.settings.is_read_only {
            return Err(error!(ReadOnly, "the graph was opened for reading only"));
        }
        let _listening = interrupt.listen();
        let (loading, mut progress, names) = self.enter(source, plan, interrupt)?;
        self.clear_left(&loading, &mut progress, interrupt)?;
        let pieces = Pieces::new(progress.nodes, progress.piece_nodes);
        let work = Work {
            store: self,
            source,
            names: &names,
            loading,
            pieces,
            interrupt,
            next: AtomicU64::new(progress.done),
            has_failed: AtomicBool::new(false),
            progress: Mutex::new(progress),
            report,
        };
        work.run(plan.threads.max(1))?;
        self.end(source, &loading, &names)?;
        // The rest of a load that is there harms nobody.
        drop(log.ring.write(&[progress::forget(log.ring.graph, loading.id)]));
        Ok(())
    }

    /// Begins a load, or goes on with one. A record of another process that stands in the way may be that of a load which was
    /// left before it was marked: whoever waits writes the mark.
    fn enter(
        &self,
        source: &dyn ReadView,
        plan: &LoadPlan,
        interrupt: &Interrupt,
    ) -> Result<(Loading, Progress, Names)> {
        let log = &self.shared.log;
        let until = self.patience_ends();
        for attempt in 1.. {
            interrupt.check()?;
            let state = log.catch_up()?;
            let names = Names::new(source.schema(), &state)?;
            let entered = match state.loading {
                Some(loading) if !plan.restarts => self.left(&loading, plan).map(|progress| (loading, progress)),
                left => self.begin(source, plan, &state, left.as_ref(), &names),
            };
            match entered {
                Err(failure) if failure.code() == ErrorCode::Conflict && log.settings.clock.now_ns() < until => {
                    log.ring.tables.pause(attempt);
                }
                outcome => return outcome.map(|(loading, progress)| (loading, progress, names)),
            }
        }
        Err(error!(Internal, "a load was not begun"))
    }

    /// The progress of a load that was left.
    fn left(&self, loading: &Loading, plan: &LoadPlan) -> Result<Progress> {
        let ring = &self.shared.log.ring;
        match progress::read(ring, loading.id)? {
            Some(progress) if progress.source == plan.source => Ok(progress),
            _ => Err(error!(Argument, "graph {}: an import of something else was begun and not ended", ring.graph)
                .with_remedy("run that one again to go on with it, or pass --restart to begin anew")),
        }
    }

    /// Appends the record with which a load begins. Its progress is on the ring before.
    fn begin(
        &self,
        source: &dyn ReadView,
        plan: &LoadPlan,
        state: &State,
        left: Option<&Loading>,
        names: &Names,
    ) -> Result<(Loading, Progress)> {
        let log = &self.shared.log;
        let graph = log.ring.graph;
        check_new(graph, state)?;
        let block = Ids { nodes: source.node_id_bound(), edges: source.statistics().edges };
        let mut progress = Progress {
            source: plan.source,
            nodes: block.nodes,
            edges: block.edges,
            labels: names.schema.labels.len() as u64,
            indexes: u64::from(names.next_index),
            piece_nodes: plan.piece_nodes.max(1),
            ..Progress::default()
        };
        if let Some(left) = left {
            progress.take_over(left, progress::read(&log.ring, left.id)?);
        }
        let id = TransactionId(log.settings.random.next_u64(), log.settings.random.next_u64());
        log.ring.write(&[progress.row(graph, id)])?;
        let delta = Delta { block, load: Some(LoadStep::Begin(id)), ..Delta::default() };
        self.append(id, delta, state)?;
        match log.catch_up()?.loading.filter(|loading| loading.id == id) {
            Some(loading) if loading.first == Ids::default() => Ok((loading, progress)),
            Some(_) => Err(error!(Internal, "graph {graph}: a load began behind ids that were given out")),
            None => Err(taken_over(graph)),
        }
    }

    /// Appends the record that shows all rows.
    fn end(&self, source: &dyn ReadView, loading: &Loading, names: &Names) -> Result<()> {
        let log = &self.shared.log;
        let until = self.patience_ends();
        for attempt in 1.. {
            let state = log.catch_up()?;
            if state.loading.map(|held| held.id) != Some(loading.id) {
                return Err(taken_over(log.ring.graph));
            }
            let delta = Delta { load: Some(LoadStep::End(loading.id)), ..names.delta(source.statistics(), &state) };
            match self.append(loading.id, delta, &state) {
                // A record that stands in the way was not marked: that of a process which was killed behind it.
                Err(failure) if failure.code() == ErrorCode::Conflict && log.settings.clock.now_ns() < until => {
                    log.ring.tables.pause(attempt);
                }
                outcome => return outcome,
            }
        }
        Err(error!(Internal, "a load was not ended"))
    }

    /// The time until which records of others that stand in the way are waited for.
    fn patience_ends(&self) -> u64 {
        let settings = &self.shared.log.settings;
        settings.clock.now_ns() + PATIENCES * settings.patience_ns
    }

    fn append(&self, id: TransactionId, delta: Delta, state: &State) -> Result<()> {
        let items = Arc::new(Items::default());
        let nothing = || Stored::Inline(Arc::from([]));
        let stored = Stored::Inline(Arc::from(items.encode()));
        let mut bytes = Vec::new();
        delta.encode(&mut bytes);
        let pending = Pending {
            base: state.sequence,
            named_at: u64::MAX,
            member: Arc::new(Member::new(id, delta, stored, nothing(), items)),
            rows: Arc::from([]),
            bytes: bytes.len() + 128,
            doubts: Doubts::default(),
            answer: Mutex::new(Answer::Waiting),
        };
        self.shared.queue.commit(&self.shared.log, Arc::new(pending)).map(drop)
    }

    /// Deletes the rows of loads that this one replaces.
    fn clear_left(&self, loading: &Loading, progress: &mut Progress, interrupt: &Interrupt) -> Result<()> {
        let ring = &self.shared.log.ring;
        for left in std::mem::take(&mut progress.left) {
            left.clear(ring, interrupt)?;
        }
        ring.write(&[progress.row(ring.graph, loading.id)])
    }
}

fn check_new(graph: i64, state: &State) -> Result<()> {
    let (nodes, edges) = (state.statistics.nodes, state.statistics.edges);
    if state.loading.map_or(state.next, |left| left.first) == Ids::default() && nodes + edges == 0 {
        return Ok(());
    }
    let remedy = "import into a new graph, as with ?graph=N behind the address";
    Err(error!(Argument, "graph {graph} is not new: it has {nodes} nodes and {edges} edges, and ids were given out")
        .with_remedy(remedy))
}

fn taken_over(graph: i64) -> Error {
    error!(Conflict, "graph {graph}: another process began or ended the import meanwhile")
        .with_remedy("import into a graph from one process at a time")
}

impl Work<'_> {
    /// Writes all pieces that are left.
    fn run(&self, threads: usize) -> Result<()> {
        std::thread::scope(|scope| {
            let one = || {
                let _helping = self.interrupt.help();
                let outcome = self.write_pieces();
                self.has_failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                outcome
            };
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
            let own = self.write_pieces();
            self.has_failed.fetch_or(own.is_err(), Ordering::Relaxed);
            let mut outcome = own;
            for other in others {
                let ended = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome = outcome.and(ended);
            }
            outcome
        })
    }

    fn write_pieces(&self) -> Result<()> {
        let ring = &self.store.shared.log.ring;
        let mut writer = Writer::new(ring, self.names, self.loading.since);
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.pieces.count() || self.has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.interrupt.check()?;
            self.pieces.write(piece, self.source, &mut writer)?;
            writer.flush()?;
            self.note(piece)?;
        }
    }

    /// Notes that a piece is written. Now and then what is done is written to the ring, and whether the load is still ours is asked.
    fn note(&self, piece: u64) -> Result<()> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = progress.note(piece, STRIDE);
        (self.report)(progress.done, self.pieces.count());
        if !is_due {
            return Ok(());
        }
        let log = &self.store.shared.log;
        if log.catch_up()?.loading.map(|held| held.id) != Some(self.loading.id) {
            return Err(taken_over(log.ring.graph));
        }
        log.ring.write(&[progress.row(log.ring.graph, self.loading.id)])
    }
}
