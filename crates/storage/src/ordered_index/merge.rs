//! Going through several runs, and what the memtable says over them, as through one.

use std::cmp::Ordering;
use std::sync::Arc;

use model::schema::Index;
use model::{KeyOrder, Result};

use super::entries::{OrderedEntries, OrderedRange};
use super::run::{OrderedEntry, OrderedRun, RunCursor};
use super::write::RunWriter;
use crate::build::BuildContext;

/// The entries of an index in a range of keys.
pub(crate) struct Merged<'a> {
    order: KeyOrder,
    /// Oldest first.
    runs: Vec<RunCursor<'a>>,
    entries: Option<&'a OrderedEntries>,
    memory: Option<OrderedRange<'a>>,
    head: Option<(&'a [u8], bool)>,
    present: Vec<u8>,
    /// Kept from step to step so that none allocates.
    spare: Vec<u8>,
    is_removed: bool,
}

impl<'a> Merged<'a> {
    /// The runs, oldest first, and the entries over them.
    pub(crate) fn new(
        runs: impl IntoIterator<Item = &'a OrderedRun>,
        entries: Option<&'a OrderedEntries>,
        order: KeyOrder,
    ) -> Merged<'a> {
        let runs = runs.into_iter().map(|run| RunCursor::new(run, order)).collect();
        Merged {
            order,
            runs,
            entries,
            memory: None,
            head: None,
            present: Vec::new(),
            spare: Vec::new(),
            is_removed: false,
        }
    }

    /// Goes before the first entry of a range of keys.
    pub(crate) fn seek(&mut self, start: &[u8], end: &[u8]) -> Result<()> {
        for run in &mut self.runs {
            run.seek(start, end)?;
        }
        self.memory = self.entries.map(|entries| entries.range(start, end, self.order));
        self.head = self.memory.as_mut().and_then(Iterator::next);
        Ok(())
    }

    /// The next entry that is there; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        while self.step()? {
            if !self.is_removed {
                return Ok(Some(&self.present));
            }
        }
        Ok(None)
    }

    /// Goes to the next key, and takes what the newest says of it.
    fn step(&mut self) -> Result<bool> {
        let mut best: Option<(&[u8], bool)> = None;
        for run in &self.runs {
            best = self.newer(best, run.entry());
        }
        let Some((key, is_removed)) = self.newer(best, self.head) else { return Ok(false) };
        let mut present = std::mem::take(&mut self.spare);
        present.clear();
        present.extend_from_slice(key);
        self.spare = std::mem::replace(&mut self.present, present);
        self.is_removed = is_removed;
        for run in &mut self.runs {
            if run.entry().is_some_and(|(key, _)| key == self.present.as_slice()) {
                run.advance()?;
            }
        }
        if self.head.is_some_and(|(key, _)| key == self.present.as_slice()) {
            self.head = self.memory.as_mut().and_then(Iterator::next);
        }
        Ok(true)
    }

    /// The one of two that comes first; of equal keys the second, which is newer.
    fn newer<'b>(&self, a: Option<(&'b [u8], bool)>, b: Option<(&'b [u8], bool)>) -> Option<(&'b [u8], bool)> {
        let (Some((left, _)), Some((right, _))) = (a, b) else { return a.or(b) };
        let order = match self.order {
            KeyOrder::Ascending => right.cmp(left),
            KeyOrder::Descending => left.cmp(right),
        };
        if order == Ordering::Greater { a } else { b }
    }
}

/// Makes one run of several that follow each other in age, oldest first. Removals are left out if nothing is older.
pub(crate) fn merge_entries(
    context: &BuildContext,
    index: &Index,
    runs: &[Arc<OrderedRun>],
    keeps_removals: bool,
) -> Result<Option<OrderedEntry>> {
    let age = runs.iter().map(|run| run.entry().age).max().unwrap_or(1);
    let mut writer = RunWriter::new(context, index, age)?;
    let mut merged = Merged::new(runs.iter().map(|run| &**run), None, KeyOrder::Ascending);
    merged.seek(&[], &[0xff])?;
    let mut steps = 0u64;
    while merged.step()? {
        if keeps_removals || !merged.is_removed {
            writer.push(&merged.present, merged.is_removed)?;
        }
        steps += 1;
        if steps.is_multiple_of(1 << 14) {
            context.interrupt.check()?;
        }
    }
    writer.finish(context)
}
