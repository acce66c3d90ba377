//! A pass through a part of a file from start to end, that asks for what comes next well ahead and lives on its own blocks.
//!
//! If the files do not fit into memory, a pass that took the place of whatever was used longest ago would push out what
//! the next pass begins with, and so find nothing there ever. Therefore it gives back first what it brought in itself
//! and has read; what was there before stays and is found again. So of data that fits by two thirds each pass reads one
//! third. Blocks that nobody passes over any more must not stay for ever: for each block brought in the hand of the
//! clock moves so far that it comes around once in a pass at most; what was not used in that time goes. If far less
//! fits than a pass reads the hand comes around in two passes: what found room must still be there when the next pass
//! comes by. If other passes read the same, the blocks that were read are left to all of them together.
//! After: Chou and DeWitt, "An Evaluation of Buffer Management Strategies", 1985 (most recently used for loops).

use std::collections::VecDeque;
use std::ops::Range;

use model::Result;

use super::StoreFile;
use super::blocks::Seen;
use crate::format::CHECKSUM_BLOCK_BYTES;

/// Bytes that are asked for ahead of what is read; asked for in halves.
const AHEAD_BYTES: usize = 4 << 20;
/// Share of the memory for blocks that one part of a pass may have asked for and not read, as a divisor.
const AHEAD_SHARE: usize = 64;
/// Blocks that are asked for by one call: systems cut what is larger.
const ASK_BLOCKS: usize = (1 << 20) / CHECKSUM_BLOCK_BYTES;

/// A pass through a part of a file.
#[derive(Debug)]
pub struct FileScan<'a> {
    file: &'a StoreFile,
    /// Blocks below were asked for.
    asked: usize,
    /// End of the blocks that are expected to be read, without a gap.
    end: usize,
    /// Blocks below were read.
    used: usize,
    /// Blocks that this pass brought in and has not given back, in order.
    brought: VecDeque<Range<usize>>,
    /// Other passes that read the same at about the same place.
    others: u8,
    seen: Seen,
    /// Blocks of the whole pass, all files together.
    pass_blocks: usize,
    /// Steps of the clock's hand that are due, times the blocks that are brought in while it comes around.
    steps: u64,
}

impl<'a> FileScan<'a> {
    /// A part of a pass that reads `pass_bytes` bytes in all, here and elsewhere, while `others` other passes read the
    /// same.
    pub fn new(file: &'a StoreFile, pass_bytes: usize, others: u8) -> FileScan<'a> {
        let pass_blocks = pass_bytes / CHECKSUM_BLOCK_BYTES + 1;
        let (brought, seen) = (VecDeque::new(), Seen::default());
        FileScan { file, asked: 0, end: 0, used: 0, brought, others, seen, pass_blocks, steps: 0 }
    }

    fn blocks_of(&self, bytes: &Range<usize>) -> Range<usize> {
        let end = bytes.end.div_ceil(CHECKSUM_BLOCK_BYTES).min(self.file.block_count());
        bytes.start / CHECKSUM_BLOCK_BYTES..end
    }

    /// Says that these bytes will be read from start to end.
    pub fn expect(&mut self, bytes: &Range<usize>) {
        let blocks = self.blocks_of(bytes);
        self.asked = self.asked.max(blocks.start);
        self.end = blocks.end;
    }

    /// Asks for bytes that will be read soon, behind those asked for before.
    pub fn announce(&mut self, bytes: &Range<usize>) {
        if self.file.is_cold() {
            let blocks = self.blocks_of(bytes);
            self.ask(blocks);
        }
    }

    /// Bytes in memory, verified; they start in or behind the last block that was read.
    pub fn need(&mut self, bytes: &Range<usize>) -> Result<&'a [u8]> {
        let found = self.file.passed(bytes)?;
        let blocks = self.blocks_of(bytes);
        let first = blocks.start.max(self.used);
        if self.file.is_cold() {
            let half = self.ahead_blocks() / 2;
            if self.asked < self.end && blocks.end + half >= self.asked {
                self.ask(self.asked..(blocks.end + 2 * half).min(self.end));
            }
            self.ask(first..blocks.end);
        }
        if first < blocks.end {
            self.used = blocks.end;
            self.file.pass(first, blocks.end - 1, self.others, &mut self.seen)?;
            if let Some(cache) = self.file.blocks.cache().filter(|_| self.others > 0) {
                cache.together().add(&self.file.blocks, &mut self.seen, self.file.blocks.capacity_blocks());
            }
        }
        Ok(found)
    }

    /// Blocks that may be asked for and unread; even.
    fn ahead_blocks(&self) -> usize {
        let most = self.file.blocks.capacity_blocks() / AHEAD_SHARE;
        (AHEAD_BYTES / CHECKSUM_BLOCK_BYTES).min(most).max(2) & !1
    }

    fn ask(&mut self, blocks: Range<usize>) {
        let blocks = blocks.start.max(self.asked.min(blocks.end))..blocks.end;
        self.asked = self.asked.max(blocks.end);
        for start in blocks.clone().step_by(ASK_BLOCKS) {
            let part = start..(start + ASK_BLOCKS).min(blocks.end);
            let missing = self.file.blocks.count_absent(part.clone());
            if missing > 0 {
                self.make_room(missing);
                self.file.blocks.bring(part, &mut self.brought);
                if self.others > 0 {
                    self.brought.clear();
                }
            }
        }
    }

    /// Sees to it that `missing` blocks find room.
    fn make_room(&mut self, missing: usize) {
        let Some(cache) = self.file.blocks.cache() else { return };
        let mut wanted = cache.blocks_over(missing);
        if wanted == 0 {
            return;
        }
        self.steps += missing as u64 * cache.held_blocks() as u64;
        let is_little = 2 * self.file.blocks.capacity_blocks() < self.pass_blocks;
        let blocks_a_turn = if is_little { 2 * self.pass_blocks } else { self.pass_blocks } as u64;
        let steps = self.steps / blocks_a_turn;
        if steps >= ASK_BLOCKS as u64 / 4 {
            self.steps -= steps * blocks_a_turn;
            wanted = wanted.saturating_sub(cache.step(steps as usize, wanted));
        }
        wanted -= self.give_back(wanted);
        if wanted > 0 {
            wanted -= cache.together().give_back(wanted, self.file.blocks.capacity_blocks());
        }
        if wanted > 0 {
            cache.evict(wanted);
        }
    }

    /// Gives back about `wanted` blocks, at most, of those that this pass brought in and has read; returns how many
    /// went.
    fn give_back(&mut self, wanted: usize) -> usize {
        let mut gone = 0;
        while gone < wanted {
            let Some(front) = self.brought.front_mut() else { break };
            // The last block read may be read on.
            let end = front.end.min(self.used.saturating_sub(1)).min(front.start + wanted - gone);
            if end <= front.start {
                break;
            }
            let blocks = front.start..end;
            front.start = end;
            if front.start == front.end {
                self.brought.pop_front();
            }
            gone += self.file.blocks.give_back(blocks);
        }
        gone
    }
}

impl Drop for FileScan<'_> {
    /// Leaves the room that it needed to those that go on with the pass.
    fn drop(&mut self) {
        if let Some(cache) = self.file.blocks.cache() {
            let wanted = cache.blocks_over(self.ahead_blocks());
            self.give_back(wanted);
        }
    }
}
