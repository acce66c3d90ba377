//! States of the blocks of one file, in memory or not: a byte for each, and the streams that are being read in order.
//!
//! Invariant: a block that is counted is in one of the states from `AHEAD` on; the code that moves it there or away
//! counts it.
//! Cost: a block in memory costs one relaxed load. One that is not costs a read of its size; neighbours that are missed
//! in order are read ahead, in windows that grow.
//! After: Leis et al., "Virtual-Memory Assisted Buffer Management", 2023 (stable addresses, replacement of our own);
//! Wu, "Sequential file prefetching in Linux", 2007 (windows that grow, asked for before they are reached).

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use model::meter::{self, Wait};
use model::platform::MappedFile;
use model::{Error, Result};

use super::cache::BlockCache;
use crate::format::CHECKSUM_BLOCK_BYTES;

/// Not in memory as far as we know.
const ABSENT: u8 = 0;
/// Being given back by the clock.
const LEAVING: u8 = 1;
/// Being asked for; not yet counted, so that nobody may give it back.
const COMING: u8 = 2;
/// Asked for and counted; not yet verified.
const AHEAD: u8 = 3;
/// Verified; not used since the hand of the clock passed.
const IDLE: u8 = 4;
/// Verified and used.
const ACTIVE: u8 = 5;
/// Verified, and kept a while for one other pass that is expected to read it; the states above for one more each.
const WAITING: u8 = 6;
/// Other passes that a block is kept for, at most.
const OTHERS_MAX: u8 = 8;

/// Streams of one file that are remembered.
const STREAMS: usize = 4;
/// The smallest and the largest window of reading ahead, in bytes.
const WINDOW_BYTES: Range<usize> = 32 << 10..1 << 20;
/// Bytes that one call brings in at a time.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes that come together with a block where all files fit into memory, so that it fills soon.
const AROUND_BYTES: usize = 64 << 10;
/// A call that brings in more than this reads through a file rather than at random: its blocks are the first to go.
const SCAN_BYTES: usize = 64 << 10;

/// Blocks that one of several passes that read together has read, as ascending stretches.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Read first by this one, and kept for the others.
    pub(super) first: Vec<Range<usize>>,
    /// Read last by this one.
    pub(super) last: Vec<Range<usize>>,
}

/// The blocks of one file.
pub(super) struct Blocks {
    map: Arc<dyn MappedFile>,
    states: Box<[AtomicU8]>,
    resident: AtomicUsize,
    /// True if what the operating system held of the file before was given back.
    is_trimmed: AtomicBool,
    data_end: usize,
    streams: [AtomicU64; STREAMS],
    next_stream: AtomicUsize,
    cache: Option<Arc<BlockCache>>,
}

/// Progress of a stream of reads in order, packed into a word: the block after the last one that was asked for, and the
/// size of the next window as a power of two.
#[derive(Clone, Copy)]
struct Stream {
    next: usize,
    window: u32,
}

impl Stream {
    fn unpack(word: u64) -> Stream {
        Stream { next: (word >> 8) as usize, window: word as u32 & 0xff }
    }

    fn pack(self) -> u64 {
        (self.next as u64) << 8 | u64::from(self.window)
    }
}

impl Blocks {
    /// The blocks of a map whose first `data_end` bytes are data; none is in memory yet.
    pub(super) fn new(map: Arc<dyn MappedFile>, data_end: usize, cache: Option<Arc<BlockCache>>) -> Arc<Blocks> {
        let states = (0..data_end.div_ceil(CHECKSUM_BLOCK_BYTES)).map(|_| AtomicU8::new(ABSENT)).collect();
        let blocks = Arc::new(Blocks {
            map,
            states,
            resident: AtomicUsize::new(0),
            is_trimmed: AtomicBool::new(false),
            data_end,
            streams: Default::default(),
            next_stream: AtomicUsize::new(0),
            cache,
        });
        if let Some(cache) = &blocks.cache {
            cache.register(&blocks, data_end);
            if !cache.holds_everything() {
                blocks.trim();
            }
        }
        blocks
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.map.bytes()
    }

    /// Counts a use of blocks.
    #[inline]
    pub(super) fn count_use(&self) {
        if let Some(cache) = &self.cache {
            cache.used();
        }
    }

    /// True if all these blocks are in memory, verified, and marked as used.
    #[inline]
    pub(super) fn are_active(&self, first: usize, last: usize) -> bool {
        let is_active = |block: usize| self.states.get(block).is_some_and(|s| s.load(Ordering::Relaxed) == ACTIVE);
        is_active(first) && (first == last || (first + 1..=last).all(is_active))
    }

    #[inline]
    pub(super) fn is_cold(&self) -> bool {
        self.resident.load(Ordering::Relaxed) < self.states.len()
    }

    pub(super) fn resident_bytes(&self) -> usize {
        self.resident.load(Ordering::Relaxed) * CHECKSUM_BLOCK_BYTES
    }

    /// Largest number of blocks that may be asked for before the first of them is read.
    pub(super) fn ahead_blocks_max(&self) -> usize {
        self.cache.as_ref().map_or(usize::MAX, |cache| cache.capacity() / CHECKSUM_BLOCK_BYTES / 4)
    }

    /// Brings these blocks, which exist, into memory and marks them as used.
    pub(super) fn touch(
        &self,
        first: usize,
        last: usize,
        verify: impl Fn(usize) -> Result<()>,
        failed: impl Fn(usize, io::Error) -> Error,
    ) -> Result<()> {
        let mut is_missing = false;
        for block in first..=last {
            match self.states[block].load(Ordering::Relaxed) {
                ACTIVE => {}
                // If the hand of the clock comes between, the block is missed the next time.
                state if state >= IDLE => drop(self.change(block, state, ACTIVE)),
                _ => is_missing = true,
            }
        }
        if !is_missing {
            return Ok(());
        }
        let arrival = if (last - first + 1) * CHECKSUM_BLOCK_BYTES > SCAN_BYTES { IDLE } else { ACTIVE };
        let step = PIECE_BYTES / CHECKSUM_BLOCK_BYTES;
        for piece in (first..=last).step_by(step) {
            let end = (piece + step).min(last + 1);
            self.ask(self.around(piece..end));
            if end > last {
                self.read_ahead(first, last);
            }
            self.populate(piece..end, &failed)?;
            let _waiting = meter::waiting(Wait::Verify);
            (piece..end).try_for_each(|block| self.arrive(block, arrival, &verify).map(drop))?;
            self.make_room();
        }
        Ok(())
    }

    /// Brings these blocks, which exist, into memory for a pass that does not come back soon: what it finds there is
    /// marked as used, what it brings in itself is not. What it brings in is kept for `others` other passes, and `seen`
    /// says which.
    pub(super) fn pass(
        &self,
        (first, last): (usize, usize),
        (others, seen): (u8, &mut Seen),
        verify: impl Fn(usize) -> Result<()>,
        failed: impl Fn(usize, io::Error) -> Error,
    ) -> Result<()> {
        let is_here = |block: usize| self.states[block].load(Ordering::Relaxed) >= IDLE;
        let arrival = if others == 0 { IDLE } else { WAITING + others.min(OTHERS_MAX) - 1 };
        let mut block = first;
        while block <= last {
            if is_here(block) {
                self.find(block, others, seen);
                block += 1;
                continue;
            }
            let most = (block + PIECE_BYTES / CHECKSUM_BLOCK_BYTES).min(last + 1);
            let end = (block + 1..most).find(|&block| is_here(block)).unwrap_or(most);
            self.ask(block..end);
            self.populate(block..end, &failed)?;
            let _waiting = meter::waiting(Wait::Verify);
            for block in block..end {
                if !self.arrive(block, arrival, &verify)? {
                    self.find(block, others, seen);
                } else if others > 0 {
                    add_block(&mut seen.first, block);
                }
            }
            block = end;
        }
        Ok(())
    }

    /// Waits until blocks can be read; fails with the first that cannot.
    fn populate(&self, blocks: Range<usize>, failed: &impl Fn(usize, io::Error) -> Error) -> Result<()> {
        let _waiting = meter::waiting(Wait::Disk);
        let bytes = self.range(blocks.clone());
        if self.map.populate(bytes.start, bytes.len()).is_ok() {
            return Ok(());
        }
        blocks.into_iter().try_for_each(|block| {
            let bytes = self.range(block..block + 1);
            self.map.populate(bytes.start, bytes.len()).map_err(|error| failed(bytes.start, error))
        })
    }

    /// Place and error of bytes that could not be read although they had been brought in.
    pub(super) fn lost(&self) -> Option<(usize, io::Error)> {
        self.map.lost()
    }

    /// A pass found a block in memory.
    fn find(&self, block: usize, others: u8, seen: &mut Seen) {
        let state = self.states[block].load(Ordering::Relaxed);
        match state {
            IDLE => drop(self.change(block, IDLE, ACTIVE)),
            // A block that waits for passes that have ended meanwhile is used like any other.
            WAITING.. if others == 0 => drop(self.change(block, state, ACTIVE)),
            WAITING if self.change(block, WAITING, IDLE) => add_block(&mut seen.last, block),
            _ if state > WAITING => drop(self.change(block, state, state - 1)),
            _ => {}
        }
    }

    /// The cache that keeps count of all blocks.
    pub(super) fn cache(&self) -> Option<&Arc<BlockCache>> {
        self.cache.as_ref()
    }

    /// Number of blocks that may be in memory.
    pub(super) fn capacity_blocks(&self) -> usize {
        self.cache.as_ref().map_or(usize::MAX, |cache| cache.capacity() / CHECKSUM_BLOCK_BYTES)
    }

    /// Number of the blocks that are not in memory.
    pub(super) fn count_absent(&self, blocks: Range<usize>) -> usize {
        self.states[blocks].iter().filter(|state| state.load(Ordering::Relaxed) <= LEAVING).count()
    }

    /// Asks for those of the blocks that are not in memory, counts them, and adds them to `brought`.
    pub(super) fn bring(&self, blocks: Range<usize>, brought: &mut VecDeque<Range<usize>>) {
        self.ask_each(blocks, |part| match brought.back_mut() {
            Some(last) if last.end == part.start => last.end = part.end,
            _ => brought.push_back(part),
        });
    }

    /// Gives back those of the blocks that were not used since they were brought in; tells how many.
    pub(super) fn give_back(&self, blocks: Range<usize>) -> usize {
        self.give_back_if(blocks, |state| state == IDLE)
    }

    /// Gives back those of the blocks that wait for other passes; tells how many.
    pub(super) fn give_back_waiting(&self, blocks: Range<usize>) -> usize {
        self.give_back_if(blocks, |state| state >= WAITING)
    }

    fn give_back_if(&self, blocks: Range<usize>, may_go: impl Fn(u8) -> bool) -> usize {
        self.trim();
        let mut ranges = Vec::new();
        for block in blocks {
            let state = self.states[block].load(Ordering::Relaxed);
            if may_go(state) && self.change(block, state, LEAVING) {
                add_block(&mut ranges, block);
            }
        }
        let gone = self.leave(&ranges);
        if let Some(cache) = &self.cache {
            cache.left(gone);
            cache.went(gone);
        }
        gone
    }

    /// Begins to read those of these blocks, which exist, that are not in memory.
    pub(super) fn will_need(&self, first: usize, last: usize) {
        // Most are asked for again and again; what comes beside them is not worth a look then.
        if self.states[first..=last].iter().all(|state| state.load(Ordering::Relaxed) > LEAVING) {
            return;
        }
        if self.ask(self.around(first..last + 1)) > 0 {
            self.make_room();
        }
    }

    /// The blocks to read when these are missing: these alone, or with their neighbours where everything fits in memory.
    fn around(&self, blocks: Range<usize>) -> Range<usize> {
        if self.cache.as_ref().is_some_and(|cache| !cache.holds_everything()) {
            return blocks;
        }
        let group = AROUND_BYTES / CHECKSUM_BLOCK_BYTES;
        blocks.start / group * group..blocks.end.next_multiple_of(group).min(self.states.len())
    }

    /// Asks for those of the blocks that are not in memory, and counts them; tells how many there were.
    fn ask(&self, blocks: Range<usize>) -> usize {
        self.ask_each(blocks, |_| {})
    }

    /// Likewise, and names each stretch of them.
    fn ask_each(&self, blocks: Range<usize>, mut each: impl FnMut(Range<usize>)) -> usize {
        let mut asked = 0;
        let mut start = blocks.start;
        while start < blocks.end {
            let mut end = start;
            while end < blocks.end && self.take(end) {
                end += 1;
            }
            if end > start {
                asked += end - start;
                self.resident.fetch_add(end - start, Ordering::Relaxed);
                if let Some(cache) = &self.cache {
                    cache.came(end - start);
                }
                self.states[start..end].iter().for_each(|state| state.store(AHEAD, Ordering::Relaxed));
                let bytes = self.range(start..end);
                self.map.will_need(bytes.start, bytes.len());
                each(start..end);
            }
            start = end + 1;
        }
        asked
    }

    /// Moves a block from absent to being asked for; false if it is somewhere else.
    fn take(&self, block: usize) -> bool {
        loop {
            match self.states[block].load(Ordering::Relaxed) {
                ABSENT if self.change(block, ABSENT, COMING) => return true,
                ABSENT => {}
                // It takes the clock some microseconds; what it gives back now must not be what we ask for next.
                LEAVING => std::thread::yield_now(),
                _ => return false,
            }
        }
    }

    /// Waits for a block and verifies it; false if somebody has.
    fn arrive(&self, block: usize, arrival: u8, verify: impl Fn(usize) -> Result<()>) -> Result<bool> {
        loop {
            match self.states[block].load(Ordering::Relaxed) {
                IDLE.. => return Ok(false),
                AHEAD => {
                    verify(block)?;
                    if self.change(block, AHEAD, arrival) {
                        if let Some(cache) = &self.cache {
                            cache.missed();
                        }
                        return Ok(true);
                    }
                }
                COMING => std::thread::yield_now(),
                // The clock took it before it was used: the memory is very small.
                _ => drop(self.ask(block..block + 1)),
            }
        }
    }

    /// If the blocks continue a stream, asks for the next window once half of the last one is used up.
    fn read_ahead(&self, first: usize, last: usize) {
        let smallest = (WINDOW_BYTES.start / CHECKSUM_BLOCK_BYTES).max(1);
        for slot in &self.streams {
            let word = slot.load(Ordering::Relaxed);
            let stream = Stream::unpack(word);
            let window = 1usize << stream.window;
            // A stream that has no window yet continues exactly at its end.
            let back = if stream.window == 0 { 0 } else { window };
            if word == 0 || first > stream.next || last + 1 + back < stream.next {
                continue;
            }
            if stream.window > 0 && last + window / 2 < stream.next {
                return;
            }
            let largest = (WINDOW_BYTES.end / CHECKSUM_BLOCK_BYTES).min(self.ahead_blocks_max().max(1));
            let grown = (window * 2).clamp(smallest, largest.max(smallest)).ilog2();
            let start = stream.next.max(last + 1);
            let end = (start + (1 << grown)).min(self.states.len());
            let moved = Stream { next: end.max(start), window: grown }.pack();
            // Another thread that moved the stream has asked for the window.
            let is_ours = slot.compare_exchange(word, moved, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if is_ours && start < end {
                self.ask(start..end);
            }
            return;
        }
        let slot = self.next_stream.fetch_add(1, Ordering::Relaxed) % STREAMS;
        self.streams[slot].store(Stream { next: last + 1, window: 0 }.pack(), Ordering::Relaxed);
    }

    fn make_room(&self) {
        if let Some(cache) = &self.cache {
            cache.make_room();
        }
    }

    fn change(&self, block: usize, from: u8, to: u8) -> bool {
        self.states[block].compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn range(&self, blocks: Range<usize>) -> Range<usize> {
        blocks.start * CHECKSUM_BLOCK_BYTES..(blocks.end * CHECKSUM_BLOCK_BYTES).min(self.data_end)
    }

    /// Gives back, once, what the operating system has in its page cache of blocks that are not counted, from when the
    /// file was written: it maps such pages along with their neighbours. A block that comes meanwhile is read again.
    fn trim(&self) {
        if self.is_trimmed.swap(true, Ordering::Relaxed) {
            return;
        }
        let is_absent = |&block: &usize| self.states[block].load(Ordering::Relaxed) == ABSENT;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        (0..self.states.len()).filter(is_absent).for_each(|block| add_block(&mut ranges, block));
        let bytes: Vec<Range<usize>> = ranges.into_iter().map(|range| self.range(range)).collect();
        self.map.evict(&bytes);
    }

    /// The hand of the clock passes from block `hand` on: what was used gets a second chance, what was not goes, until
    /// `wanted` have gone, or `steps`, which is counted down, is 0. Returns how many went, and the position of the
    /// hand: at the end of the file, or before.
    pub(super) fn sweep(&self, hand: usize, wanted: usize, steps: &mut usize) -> (usize, usize) {
        if self.resident.load(Ordering::Relaxed) == 0 {
            return (0, self.states.len());
        }
        self.trim();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let (mut at, mut gone) = (hand, 0);
        while at < self.states.len() && gone < wanted && *steps > 0 {
            let state = self.states[at].load(Ordering::Relaxed);
            if state >= ACTIVE {
                self.change(at, state, IDLE);
            } else if (state == IDLE || state == AHEAD) && self.change(at, state, LEAVING) {
                gone += 1;
                add_block(&mut ranges, at);
            }
            *steps -= usize::from(state >= AHEAD);
            at += 1;
        }
        self.leave(&ranges);
        (gone, at)
    }

    /// Gives the pages of leaving blocks back; tells how many there were.
    fn leave(&self, blocks: &[Range<usize>]) -> usize {
        let gone = blocks.iter().map(Range::len).sum();
        if gone > 0 {
            let bytes: Vec<Range<usize>> = blocks.iter().map(|range| self.range(range.clone())).collect();
            self.map.evict(&bytes);
            self.resident.fetch_sub(gone, Ordering::Relaxed);
            blocks.iter().cloned().flatten().for_each(|block| self.states[block].store(ABSENT, Ordering::Relaxed));
        }
        gone
    }
}

/// Adds a block to ascending stretches of blocks.
fn add_block(ranges: &mut Vec<Range<usize>>, block: usize) {
    match ranges.last_mut() {
        Some(last) if last.end == block => last.end = block + 1,
        _ => ranges.push(block..block + 1),
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if let Some(cache) = &self.cache {
            cache.left(*self.resident.get_mut());
            cache.closed(self.data_end);
        }
    }
}
