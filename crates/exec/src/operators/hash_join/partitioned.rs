//! Joining sides that are on disk, part by part.
//!
//! A part whose right side does not fit is parted again; where that does not help, because too many rows share a key, the
//! right side is taken in as many pieces as it needs, each with all of the left side.
//!
//! Rows come part by part. In a statement that writes, where their order can be seen in what is written, they are put back
//! into the order that a join in memory gives.
//!
//! After: Kitsuregawa, Tanaka, Moto-oka, "Application of hash to data base machine and its architecture", 1983.

use std::sync::Arc;

use cypher::plan::PlanMode;
use model::{Column, ColumnData, Result};

use super::{HashJoin, Matches, ROW_BYTES, Table, equals_nothing};
use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::group_table::hash_rows;
use crate::memory::Charge;
use crate::memory::floor_bytes;
use crate::rows::RowBuffer;
use crate::runtime::{Flow, Scope, Sink};
use crate::size::chunk_bytes;
use crate::spill::{Partition, Partitions, in_order};

/// Number of times that a part is partitioned again: with sixteen parts each time, this is enough for a right side of
/// thousands of times the memory.
const LEVELS_MAX: u32 = 3;
/// Rows put away at a time.
const PIECE_ROWS: usize = 4 * model::limits::BATCH_ROWS;

impl HashJoin {
    /// Puts rows away with their keys behind them, except those that equal nothing.
    pub(super) fn put_away(
        &self,
        scope: Scope<'_, '_>,
        chunk: &Chunk,
        keys: &[CompiledExpression],
        parts: &mut Partitions<'_>,
    ) -> Result<()> {
        let mut start = 0;
        while start < chunk.rows {
            scope.runtime.environment.interrupt.check()?;
            let end = chunk.rows.min(start + PIECE_ROWS);
            let mut piece = chunk.slice(start, end);
            start = end;
            let keys = self.keys(scope, keys, &piece)?;
            let width = piece.columns.len();
            let is_joinable = |row: &u32| !keys.iter().any(|key| equals_nothing(key, *row as usize));
            let rows: Vec<u32> = (0..piece.rows as u32).filter(is_joinable).collect();
            piece.columns.extend(keys.iter().cloned());
            if rows.len() < piece.rows {
                piece = piece.gather(&rows);
            }
            push(&piece, width, parts)?;
        }
        Ok(())
    }

    /// Joins the left side with a right side that is on disk.
    pub(super) fn join_partitioned(
        &self,
        scope: Scope<'_, '_>,
        right: Partitions<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let charge = scope.runtime.charge("HashJoin");
        let mut left = Partitions::new(charge.another(), 0)?;
        let mut rows_before = 0;
        self.left.run(scope, &mut |mut chunk| {
            scope.runtime.environment.interrupt.check()?;
            let numbers = (rows_before..rows_before + chunk.rows as i64).collect();
            rows_before += chunk.rows as i64;
            chunk.columns.push(Arc::new(Column::new(ColumnData::Int(numbers))));
            self.put_away(scope, &chunk, &self.left_keys, &mut left)?;
            Ok(Flow::Continue)
        })?;
        left.flush(0)?;
        if scope.runtime.prepared.mode == PlanMode::Read {
            return self.join_parts(scope, (&left, &right), &charge, sink);
        }
        in_order(scope, "HashJoin", self.left_keep.len() + self.right_keep.len(), sink, &mut |sink| {
            self.join_parts(scope, (&left, &right), &charge, sink)
        })
    }

    fn join_parts(
        &self,
        scope: Scope<'_, '_>,
        (left, right): (&Partitions<'_>, &Partitions<'_>),
        charge: &Charge<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        for part in 0..left.count() {
            let sides = (left.part(part), right.part(part));
            if sides.0.is_empty() || sides.1.is_empty() {
                continue;
            }
            if self.join_part(scope, (&sides.0, &sides.1), left.level(), charge, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn join_part(
        &self,
        scope: Scope<'_, '_>,
        (left, right): (&Partition<'_>, &Partition<'_>),
        level: u32,
        charge: &Charge<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let interrupt = scope.runtime.environment.interrupt;
        let mut held = charge.another();
        let mut buffer = RowBuffer::default();
        let mut parted: Option<Partitions<'_>> = None;
        let flow = right.for_each(interrupt, &mut |_, chunk| {
            if let Some(parts) = &mut parted {
                push(&chunk, self.right_width, parts)?;
                return Ok(Flow::Continue);
            }
            let bytes = chunk_bytes(&chunk) + chunk.rows * ROW_BYTES;
            let is_first = buffer.len() == 0;
            buffer.push(chunk);
            if held.try_grow(bytes).is_ok() {
                return Ok(Flow::Continue);
            }
            held.count(held.bytes() + bytes);
            if is_first || held.bytes() <= floor_bytes(held.memory().limit()) {
                return Ok(Flow::Continue);
            }
            let rows = std::mem::take(&mut buffer).finish(self.right_width);
            let flow = if level < LEVELS_MAX {
                let parts = parted.insert(Partitions::new(charge.another(), level + 1)?);
                push(&rows, self.right_width, parts)?;
                Flow::Continue
            } else {
                self.join_piece(scope, left, rows, sink)?
            };
            held.count(0);
            Ok(flow)
        })?;
        if flow == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let Some(mut right) = parted else {
            return self.join_piece(scope, left, buffer.finish(self.right_width), sink);
        };
        right.flush(0)?;
        let mut again = Partitions::new(charge.another(), level + 1)?;
        left.for_each(interrupt, &mut |_, chunk| {
            push(&chunk, chunk.columns.len() - self.left_keys.len(), &mut again)?;
            Ok(Flow::Continue)
        })?;
        again.flush(0)?;
        self.join_parts(scope, (&again, &right), charge, sink)
    }

    /// Joins rows of the right side with all rows of a part of the left side.
    fn join_piece(
        &self,
        scope: Scope<'_, '_>,
        left: &Partition<'_>,
        right: Chunk,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        if right.rows == 0 {
            return Ok(Flow::Continue);
        }
        let keys: Vec<Arc<Column>> = right.columns[self.right_width..].to_vec();
        let table = Table::new(right, &keys);
        let mut matches = Matches::default();
        left.for_each(scope.runtime.environment.interrupt, &mut |_, chunk| {
            let width = chunk.columns.len() - self.left_keys.len();
            matches.numbers = (scope.runtime.prepared.mode != PlanMode::Read).then_some(width - 1);
            let keys = &chunk.columns[width..];
            self.probe(scope, &table, (&chunk, keys), &mut matches, sink)
        })
    }
}

/// Adds rows whose keys stand from column `width` on.
fn push(chunk: &Chunk, width: usize, parts: &mut Partitions<'_>) -> Result<()> {
    if chunk.rows == 0 {
        return Ok(());
    }
    parts.push(chunk, &hash_rows(&chunk.columns[width..], chunk.rows))
}
