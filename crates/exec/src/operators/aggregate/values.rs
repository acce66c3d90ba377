//! The states of one function, and those of its values that were put aside because groups hold too many of them.
//!
//! The values of a `DISTINCT` function are partitioned by the hash of group and value: no value is in two parts, so
//! that each part settles on its own. The values of a percentile are sorted, and the result is picked at its rank.

use std::sync::Arc;

use model::{Column, ColumnData, Interrupt, Result};

use super::Function;
use crate::aggregates::{Aggregator, PieceSink, Ranks, Spread};
use crate::chunk::Chunk;
use crate::group_table::hash_rows;
use crate::memory::Charge;
use crate::memory::floor_bytes;
use crate::rows::int_at;
use crate::runtime::Flow;
use crate::sorting::{Key, sorted_rows};
use crate::spill::{LEVELS_MAX, Partitions, Sorted, Sorter};

/// See the module.
pub(super) struct Values<'m> {
    state: Box<dyn Aggregator>,
    /// Rows of a group, a value and what else the function takes, in the order in which they were put aside.
    aside: Vec<Partitions<'m>>,
}

/// Memory and interrupt that finishing works with.
#[derive(Clone, Copy)]
pub(super) struct Room<'r, 'm> {
    pub(super) charge: &'r Charge<'m>,
    pub(super) interrupt: &'r Interrupt,
}

/// The columns that tell values apart.
const KEYS: usize = 2;

/// The groups in the first column of rows that were put aside.
fn groups_of(chunk: &Chunk) -> Vec<u32> {
    (0..chunk.rows).map(|row| int_at(&chunk.columns[0], row) as u32).collect()
}

impl<'m> Values<'m> {
    /// Those of an aggregator, none put aside.
    pub(super) fn new(state: Box<dyn Aggregator>) -> Values<'m> {
        Values { state, aside: Vec::new() }
    }

    /// The states in memory.
    pub(super) fn state(&mut self) -> &mut dyn Aggregator {
        &mut *self.state
    }

    /// Approximate bytes that the states in memory hold.
    pub(super) fn bytes(&self) -> usize {
        self.state.bytes()
    }

    /// True if values were put aside.
    pub(super) fn has_aside(&self) -> bool {
        !self.aside.is_empty()
    }

    /// Puts all values aside, where that can be done.
    pub(super) fn shed(&mut self, charge: &Charge<'m>) -> Result<()> {
        let spread = self.state.spread();
        if matches!(spread, Spread::Small | Spread::Whole) {
            return Ok(());
        }
        if self.aside.is_empty() {
            self.aside.push(Partitions::new(charge.another(), 0)?);
        }
        let Some(parts) = self.aside.last_mut() else { return Ok(()) };
        self.state.shed(&mut |groups, columns| {
            let groups = Column::new(ColumnData::Int(groups.iter().map(|&group| i64::from(group)).collect()));
            let rows = groups.len();
            let columns = std::iter::once(groups).chain(columns).map(Arc::new).collect();
            let chunk = Chunk { rows, columns };
            match spread {
                Spread::ByHash => parts.push(&chunk, &hash_rows(&chunk.columns[..KEYS], rows)),
                _ => parts.push_to(0, 0, chunk),
            }
        })
    }

    /// Takes in those of another part, whose group `i` is group `groups[i]` here; what was put aside names the same groups
    /// in both.
    pub(super) fn merge(
        &mut self,
        other: Values<'m>,
        groups: &[u32],
        group_count: usize,
        charge: &Charge<'m>,
    ) -> Result<()> {
        if !other.aside.is_empty() {
            // States in memory here come before those that the other spilled.
            self.shed(charge)?;
            self.aside.extend(other.aside);
        }
        self.state.merge(other.state, groups, group_count)
    }

    /// Gives everything away, what was put aside first.
    pub(super) fn give_away(self, interrupt: &Interrupt, piece: &mut PieceSink<'_>) -> Result<()> {
        for mut parts in self.aside {
            parts.flush(0)?;
            for part in parts.parts() {
                part.for_each(interrupt, &mut |_, chunk| {
                    let groups = groups_of(&chunk);
                    piece(&groups, chunk.columns.into_iter().skip(1).map(Arc::unwrap_or_clone).collect())?;
                    Ok(Flow::Continue)
                })?;
            }
        }
        self.state.give_away(piece)
    }

    /// The result of each group.
    pub(super) fn finish(mut self, function: &Function, group_count: usize, room: Room<'_, 'm>) -> Result<Column> {
        if self.aside.is_empty() {
            return self.state.finish(group_count);
        }
        self.shed(room.charge)?;
        self.aside.iter_mut().try_for_each(|parts| parts.flush(0))?;
        match self.state.spread() {
            Spread::ByRank { is_continuous } => by_rank(&self.aside, is_continuous, group_count, room),
            _ => {
                let total = Values::new(function.state()?.settle());
                let mut settling = Settling { total, charge: room.charge.another(), function, group_count, room };
                settling.parts(&self.aside)?;
                drop(self.aside);
                settling.total.finish(function, group_count, room)
            }
        }
    }
}

/// Parts of values that are parted by hash, being taken in one by one.
struct Settling<'s, 'm> {
    /// The result of the parts so far.
    total: Values<'m>,
    charge: Charge<'m>,
    function: &'s Function,
    group_count: usize,
    room: Room<'s, 'm>,
}

impl<'m> Settling<'_, 'm> {
    fn parts(&mut self, sources: &[Partitions<'m>]) -> Result<()> {
        let Some(level) = sources.first().map(Partitions::level) else { return Ok(()) };
        let groups: Vec<u32> = (0..self.group_count as u32).collect();
        for part in 0..sources[0].count() {
            if sources.iter().all(|source| source.part(part).is_empty()) {
                continue;
            }
            if let Some(part) = self.part(sources, part, level)? {
                self.total.state.merge(part.settle(), &groups, self.group_count)?;
                self.look()?;
                continue;
            }
            let mut deeper = Partitions::new(self.room.charge.another(), level + 1)?;
            for source in sources {
                source.part(part).for_each(self.room.interrupt, &mut |_, chunk| {
                    deeper.push(&chunk, &hash_rows(&chunk.columns[..KEYS], chunk.rows))?;
                    Ok(Flow::Continue)
                })?;
            }
            deeper.flush(0)?;
            self.parts(&[deeper])?;
        }
        Ok(())
    }

    /// The states of one part; `None` if they do not fit and can be parted again.
    fn part(&self, sources: &[Partitions<'m>], part: usize, level: u32) -> Result<Option<Box<dyn Aggregator>>> {
        let mut state = self.function.state()?;
        let mut charge = self.room.charge.another();
        let limit = charge.memory().limit();
        for source in sources {
            let flow = source.part(part).for_each(self.room.interrupt, &mut |_, chunk| {
                state.absorb(&groups_of(&chunk), self.group_count, &chunk.columns[1..])?;
                let bytes = state.bytes();
                match charge.try_hold(bytes) {
                    Err(refusal) if bytes > floor_bytes(limit) => {
                        if level >= LEVELS_MAX {
                            return Err(refusal);
                        }
                        return Ok(Flow::Stop);
                    }
                    Err(_) => charge.count(bytes),
                    Ok(()) => {}
                }
                Ok(Flow::Continue)
            })?;
            if flow == Flow::Stop {
                return Ok(None);
            }
        }
        Ok(Some(state))
    }

    /// Accounts for the total, whose values may have to be put aside in turn.
    fn look(&mut self) -> Result<()> {
        if self.charge.try_hold(self.total.bytes()).is_err() {
            self.total.shed(self.room.charge)?;
            self.charge.hold(self.total.bytes())?;
        }
        Ok(())
    }
}

/// The percentiles of values that were put aside.
fn by_rank(sources: &[Partitions<'_>], is_continuous: bool, group_count: usize, room: Room<'_, '_>) -> Result<Column> {
    let mut ranks = Ranks::new(is_continuous, group_count);
    let mut sorter = Sorter::new(room.charge.another(), KEYS, usize::MAX);
    // Without other groups only values are compared.
    let first_key = usize::from(group_count == 1);
    let keys = |chunk: &Chunk| {
        let key = |column: usize| Key { column: chunk.columns[column].clone(), descending: false };
        Ok((first_key..KEYS).map(key).collect())
    };
    for source in sources {
        source.part(0).for_each(room.interrupt, &mut |_, mut chunk| {
            for row in 0..chunk.rows {
                ranks.count(int_at(&chunk.columns[0], row) as usize, || chunk.columns[KEYS].value(row));
            }
            chunk.columns.truncate(KEYS);
            sorter.push(chunk, &keys, room.interrupt)?;
            Ok(Flow::Continue)
        })?;
    }
    let mut pass = |chunk: &Chunk, row: usize| {
        ranks.pass(int_at(&chunk.columns[0], row) as usize, || chunk.columns[1].value(row));
    };
    match sorter.finish(&keys, room.interrupt)? {
        Sorted::InMemory(chunk, _charge) => {
            let order = sorted_rows(&keys(&chunk)?, chunk.rows, room.interrupt)?;
            order.iter().for_each(|&row| pass(&chunk, row as usize));
        }
        Sorted::Runs(runs) => {
            runs.push(&[0, 1], room.interrupt, &mut |chunk| {
                (0..chunk.rows).for_each(|row| pass(&chunk, row));
                Ok(Flow::Continue)
            })?;
        }
    }
    Ok(ranks.finish())
}
