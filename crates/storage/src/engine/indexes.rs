//! Commits of transactions that have built indexes, while others have gone on to commit: each follows what they commit, brings
//! what it built up to date in rounds without any turn, and takes the turn for the last few records only.
//!
//! A transaction follows others from the moment at which it begins to build, if nobody has committed since it began; else from
//! its commit on, where it builds a second time on the newest state. So it does if more has been committed than it may
//! hold in memory; after some attempts nobody else commits while it builds.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::interrupt::check_this_thread;
use model::{Consumer, MemoryBudget, Reservation, Result, error};

use super::head::{Start, Written};
use super::lock;
use crate::snapshot::Snapshot;
use crate::transaction::catch_up::{CatchUp, Committed};
use crate::transaction::items::items_of;
use crate::transaction::rebase::{Moved, rebase, rebase_made};

/// Records, and bytes of them, that are repeated within the turn at most, if it can be had so.
const RECORDS_IN_TURN: usize = 16;
const BYTES_IN_TURN: usize = 16 << 10;
/// Rounds of repeating without the turn; commits that come faster than they can be repeated must wait then.
const ROUNDS: usize = 16;
/// Times that a transaction builds anew at its commit before others must wait while it does.
const BUILDS: usize = 2;
/// Share of the memory limit that the records may take which one transaction follows, as a divisor. Repeated they take
/// up to ten times as much.
const MEMORY_SHARE: usize = 64;

/// Those who follow what is committed.
#[derive(Debug, Default)]
pub(super) struct Followers {
    next: u64,
    followers: BTreeMap<u64, Follower>,
}

/// Commits since somebody began to follow, not fetched yet.
#[derive(Debug)]
struct Follower {
    committed: Vec<Arc<Committed>>,
    /// Bytes of all records since it began.
    bytes: usize,
    bytes_max: usize,
    memory: Reservation,
}

impl Followers {
    pub(super) fn is_empty(&self) -> bool {
        self.followers.is_empty()
    }

    /// One more, from now on; its number.
    fn add(&mut self, memory: &Arc<MemoryBudget>) -> u64 {
        self.next += 1;
        let bytes_max = memory.limit() / MEMORY_SHARE;
        let memory = memory.empty(Consumer::Memtable);
        self.followers.insert(self.next, Follower { committed: Vec::new(), bytes: 0, bytes_max, memory });
        self.next
    }

    /// Notes what was committed. A follower that has too much is lost.
    pub(super) fn push(&mut self, committed: &Arc<Committed>) {
        let bytes = committed.log.len() + size_of::<Committed>();
        self.followers.retain(|_, follower| {
            follower.bytes += bytes;
            follower.memory.resize(follower.memory.bytes() + bytes);
            follower.committed.push(committed.clone());
            follower.bytes <= follower.bytes_max
        });
    }

    /// Commits since the last call; `None` if the follower is lost.
    fn fetch(&mut self, number: u64) -> Option<Vec<Arc<Committed>>> {
        let follower = self.followers.get_mut(&number)?;
        follower.memory.resize(0);
        Some(std::mem::take(&mut follower.committed))
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.followers.remove(&number);
    }
}

impl Start {
    /// Follows what others commit, if nobody has committed since the transaction began.
    pub(crate) fn follow(&mut self) {
        let engine = self.engine().clone();
        let mut head = lock(&engine.head);
        if self.follower.is_none() && self.is_newest(&head) {
            self.follower = Some(head.followers.add(&engine.memory));
        }
    }

    /// Takes the turn for a transaction that has built indexes; gives its sequence number.
    pub(super) fn take_turn_with_indexes(&mut self, written: Written) -> Result<u64> {
        let Written { snapshot: own, log, changes, claims, reads, built } = written;
        let engine = self.engine().clone();
        // Kept beyond the turn, as the root that is replaced.
        let base = self.snapshot.clone();
        let items = items_of(&log, &changes, &claims)?;
        let catch_up = |snapshot: &Snapshot, since: &Snapshot| {
            CatchUp::new(snapshot.clone(), &log, &since.memtable.schema, &engine.memory)
        };
        let _under_way = self.under_way();
        let (mut following, mut builds) = (catch_up(&own, &base)?, 0);
        for round in 0.. {
            let mut head = self.head_of_era(&engine)?;
            let traces = self.traces(&head, &items, &log, &own)?;
            if Arc::ptr_eq(&head.snapshot, &base) {
                return self.put_behind(&mut head, *own, &log, traces, &built);
            }
            self.check_conflicts(&head, &items, reads.as_ref())?;
            let Some(committed) = self.follower.and_then(|follower| head.followers.fetch(follower)) else {
                engine.counters.moves.add(1);
                let newest = head.snapshot.clone();
                if builds == BUILDS {
                    self.keep_turn(&mut head);
                }
                builds += 1;
                self.follower = Some(head.followers.add(&engine.memory));
                drop(head);
                following = catch_up(&rebase(&log, &base.memtable.schema, &newest)?.snapshot, &newest)?;
                continue;
            };
            let bytes: usize = committed.iter().map(|committed| committed.log.len()).sum();
            if round < ROUNDS && (committed.len() > RECORDS_IN_TURN || bytes > BYTES_IN_TURN) {
                drop(head);
                for one in committed {
                    check_this_thread()?;
                    following.repeat(&[one])?;
                }
                continue;
            }
            following.repeat(&committed)?;
            let made = following.made(&built);
            let Moved { snapshot, log: new_log } = rebase_made(&log, &base.memtable.schema, &head.snapshot, &made)?;
            return self.put_behind(&mut head, snapshot, new_log.as_deref().unwrap_or(&log), traces, &built);
        }
        Err(error!(Internal, "a transaction was moved forever"))
    }
}
