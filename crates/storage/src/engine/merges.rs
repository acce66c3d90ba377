//! Merging of files while transactions go on: built without any turn, installed within a short one.
//!
//! A thread that makes new files the store's holds `Engine::current` until the head stands on them; so edits compose,
//! and the head moves from one version to the next that was published.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::{Consumer, EdgeId, Interrupt, MemoryBudget, Reservation, Result, Set};

use super::background::Work;
use super::{Engine, Maintenance, lock};
use crate::build::BuildConfig;
use crate::bulk::Built;
use crate::bulk::follow::Moves;
use crate::compact::{self, Compaction};
use crate::compact_nodes::{self, NodePolicy};
use crate::format::EdgePlace;
use crate::memtable::Memtable;
use crate::snapshot::Snapshot;
use crate::version::Version;

/// Memory that one merge or flush may use for its buffers, in bytes, and what it uses at least.
const MERGE_MEMORY_BYTES: usize = 64 << 20;
const MERGE_MEMORY_BYTES_MIN: usize = 1 << 20;

/// Extent of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Merges that are due by the policy.
    Due,
    /// All edge partitions, into one for each interval.
    All,
}

impl Engine {
    /// Has what is due merged: now, or by the thread for that.
    pub(super) fn compact_if_due(&self) {
        match self.options.maintenance {
            Maintenance::Background => self.ask_for(Work::Compaction),
            // A failure is told to those that wait for merges; the next merge tries again.
            Maintenance::Inline => drop(self.compact(Extent::Due, &Interrupt::new())),
        }
    }

    /// Merges files until no more is due.
    pub(super) fn compact(&self, extent: Extent, interrupt: &Interrupt) -> Result<()> {
        let _turn = lock(&self.compacting);
        loop {
            let start = self.platform.clock.now_ns();
            match self.compact_step(extent, interrupt) {
                Ok(true) => {
                    self.tell_flushed(Work::Compaction, None);
                    self.counters.compactions.add(1);
                    self.counters.compaction_ns.add(self.platform.clock.now_ns() - start);
                }
                Ok(false) => return Ok(()),
                Err(error) => {
                    self.tell_flushed(Work::Compaction, Some(&error));
                    return Err(error);
                }
            }
        }
    }

    /// One merge; false if nothing is to be merged.
    fn compact_step(&self, extent: Extent, interrupt: &Interrupt) -> Result<bool> {
        self.check_open()?;
        if extent == Extent::Due && lock(&self.head).holder.is_some() {
            // The holder of the writers' turn would have to follow; merges are asked for again after it.
            return Ok(false);
        }
        let base = lock(&self.current).clone();
        let Some(mut built) = self.build_merge(&base, extent, interrupt)? else { return Ok(false) };
        // Most of what came meanwhile is taken over before anybody has to wait.
        let now = lock(&self.current).clone();
        built.follow(&now)?;
        drop(now);
        let mut current = lock(&self.current);
        let before = current.clone();
        let version = built.install(&current).inspect_err(|error| self.fail_if_replaced(&before, error))?;
        self.make_current(&mut current, &version);
        self.move_head(&version).inspect_err(|error| self.log.fail(error))?;
        drop(current);
        Ok(true)
    }

    fn build_merge(&self, base: &Arc<Version>, extent: Extent, interrupt: &Interrupt) -> Result<Option<Built>> {
        let (config, _memory) = self.merge_memory();
        let policy = &self.options.compaction;
        let next = match extent {
            Extent::Due => compact::pick(base, policy),
            Extent::All => compact::pick::pick_all(base),
        };
        let Some(next) = next else {
            return compact_nodes::step(base, &NodePolicy::default(), &config, interrupt);
        };
        let built = compact::run(base, &next, policy, &config, &self.throttle, interrupt)?;
        match next {
            Compaction::Partitions { level, .. } => self.counters.add_level_bytes(level, built.edge_bytes()),
            Compaction::Patches { .. } => self.counters.patch_bytes.add(built.edge_bytes()),
        }
        Ok(Some(built))
    }

    /// Memory that a merge or flush may use.
    pub(crate) fn merge_memory(&self) -> (BuildConfig, MergeMemory) {
        merge_memory(&self.memory)
    }

    /// Notes what the manifest names now.
    pub(super) fn make_current(&self, current: &mut Arc<Version>, version: &Arc<Version>) {
        let level0 = version.partitions().iter().filter(|partition| partition.entry().level == 0).count();
        self.level0.store(level0, Ordering::Relaxed);
        *current = version.clone();
    }

    /// Puts the head on files that hold the same in other places. The caller holds `current`.
    fn move_head(&self, version: &Arc<Version>) -> Result<()> {
        let before = lock(&self.head).snapshot.clone();
        let from = before.version.clone();
        let mut moves = Moves::new(&from, version);
        // Moves known by now are found before the turn.
        moved(&before.memtable, &from, version, &mut moves)?;
        drop(before);
        let mut head = lock(&self.head);
        let memtable = moved(&head.snapshot.memtable, &from, version, &mut moves)?;
        self.finish_commits(head.sequence)?;
        let edges = head.snapshot.edges.clone();
        let snapshot = Arc::new(Snapshot { version: version.clone(), memtable, edges });
        let before = std::mem::replace(&mut head.snapshot, snapshot.clone());
        let published = std::mem::replace(&mut *lock(&self.published), snapshot);
        drop(head);
        drop((before, published));
        Ok(())
    }
}

/// Memory limit up to which memory that a merge has freed is given back at once: with more, the allocator keeps a small part.
const GIVEN_BACK_LIMIT: usize = 256 << 20;

/// Memory that a merge or flush holds. Once it is over, what the allocator keeps of it goes back to the operating system where
/// memory is scarce.
pub(crate) struct MergeMemory {
    held: Reservation,
    is_scarce: bool,
}

impl MergeMemory {
    /// Holds that many bytes besides, whether or not they can be had.
    pub(crate) fn need_more(&mut self, bytes: usize) {
        self.held.need(self.held.bytes() + bytes);
    }

    /// Holds nothing from now on.
    pub(crate) fn release(&mut self) {
        self.held.resize(0);
    }
}

impl Drop for MergeMemory {
    fn drop(&mut self) {
        if self.is_scarce {
            crate::os::give_back_freed_memory();
        }
    }
}

/// Memory that a merge or flush may use: as much of its share of the limit as can be had.
pub(super) fn merge_memory(memory: &Arc<MemoryBudget>) -> (BuildConfig, MergeMemory) {
    let most = MERGE_MEMORY_BYTES.min(memory.share(Consumer::Compaction));
    let held = memory.reserve_between(Consumer::Compaction, MERGE_MEMORY_BYTES_MIN.min(most), most);
    let (memory_bytes, consumer) = (held.bytes(), Consumer::Compaction);
    let config = BuildConfig { memory_bytes, consumer, threads: 1, ..BuildConfig::default() };
    (config, MergeMemory { held, is_scarce: memory.limit() <= GIVEN_BACK_LIMIT })
}

/// A memtable over one version as one over another that holds the same edges.
fn moved(memtable: &Memtable, from: &Version, to: &Version, moves: &mut Moves<'_>) -> Result<Memtable> {
    let mut memtable = memtable.clone();
    if memtable.edge_changes.is_empty() {
        return Ok(memtable);
    }
    let is_gone = |number: u64| to.partition_with(number).is_none();
    let gone = from.partitions().iter().filter(|partition| is_gone(partition.entry().topology.number));
    let gone: Set<usize> = gone.map(|partition| usize::from(partition.slot())).collect();
    let is_moved = |edge: &&u64| EdgePlace::of(EdgeId(**edge)).is_some_and(|place| gone.contains(&place.partition));
    let edges: Vec<u64> = memtable.edge_changes.keys().filter(is_moved).copied().collect();
    let mut changes = Vec::with_capacity(edges.len());
    for edge in edges {
        let found = moves.find(EdgeId(edge))?;
        let found = found.ok_or_else(|| model::error!(Internal, "edge {edge} was changed, and is gone"))?;
        changes.extend(memtable.edge_changes.remove(&edge).map(|change| (found.0, change)));
    }
    memtable.edge_changes.extend(changes);
    Ok(memtable)
}
