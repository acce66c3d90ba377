//! Rows being merged: a hash table of them with the number that each stands for, and what does not fit into memory, parted by hash.

use std::sync::Arc;

use model::{Column, ColumnData, Interrupt, Result};

use crate::chunk::Chunk;
use crate::group_table::{GroupTable, hash_rows};
use crate::memory::{Charge, floor_bytes};
use crate::rows::int_at;
use crate::runtime::Flow;
use crate::spill::{LEVELS_MAX, Partitions};

/// Rows, the columns that are compared, and the number of rows that each stands for; `None` if that is one, or if nobody counts.
pub(super) struct Weighted {
    pub(super) rows: usize,
    pub(super) keys: Vec<Arc<Column>>,
    pub(super) weights: Option<Arc<Column>>,
}

/// See the module.
pub(super) struct Table<'m> {
    charge: Charge<'m>,
    width: usize,
    counts: bool,
    table: GroupTable,
    /// For each row of the table, the number that it stands for.
    numbers: Vec<i64>,
    level: u32,
    put_away: Option<Partitions<'m>>,
    groups: Vec<u32>,
    new: Vec<u32>,
}

impl<'m> Table<'m> {
    /// An empty table of rows of so many columns, with numbers if they count.
    pub(super) fn new(charge: Charge<'m>, width: usize, counts: bool) -> Table<'m> {
        Table::at_level(charge, width, counts, 0)
    }

    fn at_level(charge: Charge<'m>, width: usize, counts: bool, level: u32) -> Table<'m> {
        let (table, numbers, groups, new) = (GroupTable::default(), Vec::new(), Vec::new(), Vec::new());
        Table { charge, width, counts, table, numbers, level, put_away: None, groups, new }
    }

    /// Number of different rows in memory.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// True if rows were put away.
    pub(super) fn has_put_away(&self) -> bool {
        self.put_away.is_some()
    }

    /// Adds rows. They are in the table even if memory for them is refused, which is the error.
    pub(super) fn add(&mut self, rows: &Weighted) -> Result<()> {
        self.table.insert(&rows.keys, rows.rows, &mut self.groups, &mut self.new);
        if self.counts {
            self.numbers.resize(self.table.len(), 0);
            for (row, &group) in self.groups.iter().enumerate() {
                self.numbers[group as usize] += rows.weights.as_ref().map_or(1, |weights| int_at(weights, row));
            }
        }
        self.charge.try_hold(self.bytes())
    }

    fn bytes(&self) -> usize {
        self.table.bytes() + self.numbers.len() * size_of::<i64>()
    }

    /// Adds rows, and puts away what does not fit into memory.
    pub(super) fn add_all(&mut self, rows: &Weighted) -> Result<()> {
        if self.put_away.is_some() {
            return self.put_away(rows);
        }
        let Err(refusal) = self.add(rows) else { return Ok(()) };
        let bytes = self.bytes();
        if self.level > 0 && bytes <= floor_bytes(self.charge.memory().limit()) {
            self.charge.count(bytes);
            return Ok(());
        }
        if self.level > LEVELS_MAX {
            return Err(refusal);
        }
        self.put_away = Some(Partitions::new(self.charge.another(), self.level)?);
        let merged = self.take();
        self.charge.count(0);
        self.put_away(&merged)
    }

    fn put_away(&mut self, rows: &Weighted) -> Result<()> {
        let Some(parts) = &mut self.put_away else { return Ok(()) };
        let hashes = hash_rows(&rows.keys, rows.rows);
        let mut columns = rows.keys.clone();
        if self.counts {
            let ones = || Arc::new(Column::new(ColumnData::Int(vec![1; rows.rows])));
            columns.push(rows.weights.clone().unwrap_or_else(ones));
        }
        parts.push(&Chunk { rows: rows.rows, columns }, &hashes)
    }

    /// Takes the rows out of the table in memory, which are held still.
    fn take(&mut self) -> Weighted {
        let table = std::mem::take(&mut self.table);
        let numbers = std::mem::take(&mut self.numbers);
        let rows = table.len();
        let keys = table.into_keys(self.width).into_iter().map(Arc::new).collect();
        Weighted { rows, keys, weights: self.counts.then(|| Arc::new(Column::new(ColumnData::Int(numbers)))) }
    }

    /// The rows in memory.
    pub(super) fn into_rows(mut self) -> Weighted {
        self.take()
    }

    /// Gives all rows, those that were put away part by part.
    pub(super) fn give(
        mut self,
        interrupt: &Interrupt,
        each: &mut dyn FnMut(Weighted) -> Result<Flow>,
    ) -> Result<Flow> {
        let in_memory = self.take();
        let Some(mut parts) = self.put_away.take() else { return each(in_memory) };
        parts.flush(0)?;
        for part in parts.parts() {
            let mut table = Table::at_level(self.charge.another(), self.width, self.counts, self.level + 1);
            part.for_each(interrupt, &mut |_, mut chunk| {
                let weights = if self.counts { chunk.columns.pop() } else { None };
                table.add_all(&Weighted { rows: chunk.rows, keys: chunk.columns, weights })?;
                Ok(Flow::Continue)
            })?;
            if table.give(interrupt, each)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}
