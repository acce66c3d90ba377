//! `Distinct`: one row for each distinct combination of slots, in the order of first appearance.
//!
//! Nodes alone are told apart by a bit for each, everything else by a hash table.
//! When the table of what was seen is as large as it may be, rows that are not in it are put away, parted by hash, and
//! looked at part by part at the end.

use std::sync::Arc;

use cypher::plan::{Operator, SlotId};
use model::{Column, ColumnData, Interrupt, Result};

use crate::chunk::{Chunk, Layout};
use crate::group_table::{GroupTable, hash_rows};
use crate::lowering::{Demand, Lowered, Lowering, columns_of};
use crate::memory::Charge;
use crate::memory::floor_bytes;
use crate::operators::gather;
use crate::rows::{NO_ROW, share_columns};
use crate::runtime::{Flow, Physical, Scope, Sink, Step};
use crate::spill::{LEVELS_MAX, Partitions, in_order};
use crate::visited::Visited;

struct Distinct {
    input: Step,
    columns: Vec<usize>,
}

/// Lowers `Distinct`.
pub(crate) fn lower(lowering: &mut Lowering, input: &Operator, slots: &[SlotId], demand: &Demand) -> Result<Lowered> {
    let mut slots = slots.to_vec();
    slots.extend(lowering.hidden_in(demand));
    let below = Demand { slots: slots.iter().copied().collect(), multiplicity: false, few: demand.few };
    let (input, layout) = gather::lower(lowering, input, &below)?;
    slots.retain(|&slot| layout.column(slot).is_some());
    let columns = columns_of(&layout, &slots)?;
    Ok((Box::new(Distinct { input, columns }), Layout::new(slots)))
}

/// The rows seen of one part of all rows.
struct Pass<'m> {
    charge: Charge<'m>,
    /// The nodes seen, in place of the table.
    nodes: Option<Visited>,
    table: GroupTable,
    level: u32,
    /// Columns that make rows equal; one with the number of the row follows in rows that were put away.
    width: usize,
    /// Takes the rows that are not in the table, from when on it is as large as it may be.
    put_away: Option<Partitions<'m>>,
    groups: Vec<u32>,
    new: Vec<u32>,
}

impl<'m> Pass<'m> {
    fn new(charge: Charge<'m>, level: u32, width: usize) -> Pass<'m> {
        let (groups, new) = (Vec::new(), Vec::new());
        Pass { charge, nodes: None, table: GroupTable::default(), level, width, put_away: None, groups, new }
    }

    /// Takes rows in and gives those that are new, as far as that can be told. `numbers` makes the column of their
    /// numbers if they have none yet.
    fn take(&mut self, chunk: &Chunk, numbers: impl FnOnce() -> Column) -> Result<Option<Chunk>> {
        let keys = &chunk.columns[..self.width];
        if let Some(put_away) = &mut self.put_away {
            let groups = self.table.find(keys, chunk.rows);
            let unknown: Vec<u32> = (0..chunk.rows as u32).filter(|&row| groups[row as usize] == NO_ROW).collect();
            if !unknown.is_empty() {
                let mut chunk = chunk.clone();
                if chunk.columns.len() == self.width {
                    chunk.columns.push(Arc::new(numbers()));
                }
                let rest = chunk.gather(&unknown);
                let hashes = hash_rows(&rest.columns[..self.width], rest.rows);
                put_away.push(&rest, &hashes)?;
            }
            return Ok(None);
        }
        let are_nodes = keys.first().map_or(Ok(false), |key| self.take_nodes(key))?;
        if !are_nodes {
            self.table.insert(keys, chunk.rows, &mut self.groups, &mut self.new);
            if !self.new.is_empty() {
                self.hold()?;
            }
        }
        Ok(match self.new.len() {
            0 => None,
            new if new == chunk.rows => Some(chunk.clone()),
            _ => Some(chunk.gather(&self.new)),
        })
    }

    /// Finds the rows of nodes that are new; false if they are to be looked up in the table, as those of later chunks then are.
    fn take_nodes(&mut self, key: &Column) -> Result<bool> {
        let Some(seen) = &mut self.nodes else { return Ok(false) };
        let nodes = match &key.data {
            ColumnData::Node(nodes) if key.validity.is_none() => nodes.as_slice(),
            _ => &[],
        };
        let is_told = nodes.len() == key.len();
        self.new.clear();
        self.new.extend((0_u32..).zip(nodes).filter(|&(_, &node)| seen.insert(node)).map(|(row, _)| row));
        if is_told && self.charge.try_hold(seen.byte_count()).is_ok() {
            return Ok(true);
        }
        let mut all = Vec::new();
        seen.for_each(&mut |node| {
            all.push(node);
            Ok(())
        })?;
        self.nodes = None;
        let rows = all.len();
        self.table.insert(&[Arc::new(Column::new(ColumnData::Node(all)))], rows, &mut self.groups, &mut Vec::new());
        self.hold()?;
        Ok(is_told)
    }

    fn hold(&mut self) -> Result<()> {
        let bytes = self.table.bytes();
        if let Err(refusal) = self.charge.try_hold(bytes) {
            if self.level == 0 || bytes > floor_bytes(self.charge.memory().limit()) {
                if self.level > LEVELS_MAX {
                    return Err(refusal);
                }
                self.put_away = Some(Partitions::new(self.charge.another(), self.level)?);
            }
            self.charge.count(bytes);
        }
        Ok(())
    }

    /// Finds the new rows among those that were put away.
    fn finish(self, interrupt: &Interrupt, new: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let Pass { put_away, width, level, charge, table, .. } = self;
        let Some(mut parts) = put_away else { return Ok(()) };
        parts.flush(0)?;
        drop(table);
        let rest = charge.another();
        drop(charge);
        for part in parts.parts() {
            let mut pass = Pass::new(rest.another(), level + 1, width);
            part.for_each(interrupt, &mut |_, chunk| {
                if let Some(chunk) = pass.take(&chunk, || Column::nulls(0))? {
                    new(chunk)?;
                }
                Ok(Flow::Continue)
            })?;
            pass.finish(interrupt, new)?;
        }
        Ok(())
    }
}

impl Physical for Distinct {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        let width = self.columns.len();
        let mut pass = Pass::new(scope.runtime.charge("Distinct"), 0, width);
        let mut rows_before = 0;
        let flow = self.input.run(scope, &mut |chunk| {
            interrupt.check()?;
            let chunk = Chunk { rows: chunk.rows, columns: share_columns(&chunk, &self.columns) };
            if rows_before == 0 && matches!(&*chunk.columns, [key] if matches!(key.data, ColumnData::Node(_))) {
                pass.nodes = Some(Visited::new(scope.runtime.view().view()));
            }
            let first = rows_before;
            rows_before += chunk.rows as i64;
            let new =
                pass.take(&chunk, || Column::new(ColumnData::Int((first..first + chunk.rows as i64).collect())))?;
            match new {
                Some(new) => sink(new),
                None => Ok(Flow::Continue),
            }
        })?;
        if flow == Flow::Stop || pass.put_away.is_none() {
            return Ok(flow);
        }
        // Spilled rows came after all that were passed on; they follow in the order in which they came.
        let mut pass = Some(pass);
        in_order(scope, "Distinct", width, sink, &mut |sink| {
            if let Some(pass) = pass.take() {
                pass.finish(interrupt, &mut |chunk| sink(chunk).map(|_| ()))?;
            }
            Ok(Flow::Continue)
        })
    }
}
