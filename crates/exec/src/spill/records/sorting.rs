//! Records in order: in memory one sort, else runs on pages of a file, merged a few at a time.

use std::mem::size_of;

use model::{Interrupt, Result};

use super::{Record, Records};
use crate::memory::Charge;

/// Runs that are merged at a time.
const FAN_IN: u64 = 8;

/// A run that is being merged: what was read of it, and where the rest begins.
struct Head<R> {
    records: Vec<R>,
    at: usize,
    next: u64,
    end: u64,
}

impl<'m, R: Record> Records<'m, R> {
    /// The same records by a key; those of one key stay in their order.
    pub(crate) fn sorted_by_key<K: Ord>(
        mut self,
        interrupt: &Interrupt,
        key: impl Fn(&R) -> K + Copy,
    ) -> Result<Records<'m, R>> {
        if self.pages.is_none() {
            self.tail.sort_by_key(key);
            return Ok(self);
        }
        let mut charge = self.charge.another();
        let mut length = self.run_length(&mut charge);
        let mut runs = self.runs(length as usize, interrupt, key)?;
        drop(self);
        charge.count(FAN_IN as usize * runs.block() * size_of::<R>());
        while length < runs.len() {
            let mut merged = runs.another();
            for start in (0..runs.len()).step_by((FAN_IN * length) as usize) {
                runs.merge((start, length), &mut merged, interrupt, key)?;
            }
            runs = merged;
            length *= FAN_IN;
        }
        Ok(runs)
    }

    /// Records that can be sorted at a time: as many as there are, or as an eighth of the limit holds, or a block.
    fn run_length(&self, charge: &mut Charge<'_>) -> u64 {
        let most = (charge.memory().limit() / 8 / size_of::<R>()).min(self.len() as usize);
        if most > self.block() && charge.try_hold(most * size_of::<R>()).is_ok() {
            return most as u64;
        }
        charge.count(self.block() * size_of::<R>());
        self.block() as u64
    }

    /// The same records in sorted runs of a given number of records.
    fn runs<K: Ord>(
        &mut self,
        length: usize,
        interrupt: &Interrupt,
        key: impl Fn(&R) -> K + Copy,
    ) -> Result<Records<'m, R>> {
        let mut runs = self.another();
        let (mut run, mut buffer) = (Vec::with_capacity(length), Vec::new());
        let mut place = 0;
        while place < self.len() {
            interrupt.check()?;
            let piece = self.piece(place, &mut buffer)?;
            let piece = &piece[..piece.len().min(length - run.len())];
            place += piece.len() as u64;
            run.extend_from_slice(piece);
            if run.len() == length || place == self.len() {
                run.sort_by_key(key);
                runs.extend(&run)?;
                run.clear();
            }
        }
        Ok(runs)
    }

    /// Merges the next few runs of that length from a place on.
    fn merge<K: Ord>(
        &mut self,
        (start, length): (u64, u64),
        merged: &mut Records<'m, R>,
        interrupt: &Interrupt,
        key: impl Fn(&R) -> K,
    ) -> Result<()> {
        let mut heads = Vec::new();
        for run in 0..FAN_IN {
            let (next, end) = (start + run * length, (start + (run + 1) * length).min(self.len()));
            if next < end {
                let mut head = Head { records: Vec::new(), at: 0, next, end };
                self.fill(&mut head)?;
                heads.push(head);
            }
        }
        // Of equal records that of the earliest run comes first, as `min_by_key` finds it.
        while let Some(place) = (0..heads.len()).min_by_key(|&place| key(&heads[place].records[heads[place].at])) {
            let head = &mut heads[place];
            merged.push(head.records[head.at])?;
            head.at += 1;
            if head.at == head.records.len() {
                interrupt.check()?;
                self.fill(head)?;
                if head.records.is_empty() {
                    heads.remove(place);
                }
            }
        }
        Ok(())
    }

    fn fill(&mut self, head: &mut Head<R>) -> Result<()> {
        let block = self.block();
        let mut buffer = Vec::new();
        let piece = if head.next < head.end { self.piece(head.next, &mut buffer)? } else { &[] };
        let most = piece.len().min((head.end - head.next) as usize).min(block);
        head.records.clear();
        head.records.extend_from_slice(&piece[..most]);
        head.at = 0;
        head.next += most as u64;
        Ok(())
    }
}
