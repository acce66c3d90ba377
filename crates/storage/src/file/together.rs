//! Blocks that passes over the same edges at the same time keep for each other.
//!
//! A pass alone gives back first what it brought in and has read. Of several that read together the first to read a
//! block leaves it here for the others; the last one says that it may go, and then it is the first to go when any pass
//! needs room. A pass that falls behind by more than half of the memory for blocks finds nothing kept.
//! After: Zukowski, Héman, Nes, Boncz, "Cooperative scans: dynamic bandwidth sharing in a DBMS", 2007.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};

use super::blocks::{Blocks, Seen};

/// Share of the memory for blocks that may wait for passes that are behind, as a divisor.
const WAITING_SHARE: usize = 2;
/// Share of the memory for blocks that may be taken by those that all have read, as a divisor: more of them stay, to be
/// found again.
const PASSED_SHARE: usize = 16;

/// Blocks that passes which read together have read.
#[derive(Default)]
pub(super) struct Together {
    /// Read by some of them.
    waiting: Queue,
    /// Read by all of them.
    passed: Queue,
}

/// Stretches of blocks, the oldest first. Some of a stretch may have gone, or may be used by others.
#[derive(Default)]
struct Queue {
    stretches: VecDeque<(Weak<Blocks>, Range<usize>)>,
    /// Blocks in all of them.
    blocks: usize,
}

impl Queue {
    fn push(&mut self, file: &Arc<Blocks>, blocks: Range<usize>) {
        self.blocks += blocks.len();
        match self.stretches.back_mut() {
            Some((last, range)) if range.end == blocks.start && last.as_ptr() == Arc::as_ptr(file) => {
                range.end = blocks.end;
            }
            _ => self.stretches.push_back((Arc::downgrade(file), blocks)),
        }
    }

    /// Takes `most` blocks from the front, or fewer if the stretch there is shorter.
    fn pop(&mut self, most: usize) -> Option<(Option<Arc<Blocks>>, Range<usize>)> {
        let (file, range) = self.stretches.front_mut()?;
        let blocks = range.start..range.end.min(range.start + most);
        let file = file.upgrade();
        range.start = blocks.end;
        if range.start >= range.end {
            self.stretches.pop_front();
        }
        self.blocks -= blocks.len();
        Some((file, blocks))
    }

    /// Leaves blocks at the front to the clock, until there are at most `most`.
    fn forget(&mut self, most: usize) {
        while self.blocks > most && self.pop(self.blocks - most).is_some() {}
    }

    /// Gives back blocks from the front until `wanted` went, as long as there are more than `least`; returns how many
    /// went.
    fn give_back(&mut self, wanted: usize, least: usize, give_back: impl Fn(&Blocks, Range<usize>) -> usize) -> usize {
        let mut gone = 0;
        while gone < wanted && self.blocks > least {
            let Some((file, blocks)) = self.pop((wanted - gone).min(self.blocks - least)) else { break };
            gone += file.map_or(0, |file| give_back(&file, blocks));
        }
        gone
    }
}

impl Together {
    /// Notes that one of the passes has read blocks of a file; `capacity` blocks may be in memory.
    pub(super) fn add(&mut self, file: &Arc<Blocks>, seen: &mut Seen, capacity: usize) {
        seen.first.drain(..).for_each(|blocks| self.waiting.push(file, blocks));
        seen.last.drain(..).for_each(|blocks| self.passed.push(file, blocks));
        // Blocks whose room nobody needed stay, for the next passes. No more can wait than exist, unless some have
        // gone.
        self.passed.forget(capacity / PASSED_SHARE);
        self.waiting.forget(capacity);
    }

    /// Gives back about `wanted` blocks, at most, that all have read, or that have waited longest if too many wait;
    /// returns how many went.
    pub(super) fn give_back(&mut self, wanted: usize, capacity: usize) -> usize {
        let gone = self.passed.give_back(wanted, 0, Blocks::give_back);
        gone + self.waiting.give_back(wanted - gone, capacity / WAITING_SHARE, Blocks::give_back_waiting)
    }
}
