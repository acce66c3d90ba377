//! Merging sorted runs: a heap of the next row of each run.
//!
//! Rows are picked by number as long as no run needs its next block, then gathered column by column.

use std::cmp::Ordering;
use std::sync::Arc;

use model::edge_range::order_rows;
use model::{Column, Result};

use super::super::decode;
use crate::chunk::Chunk;
use crate::memory::{Extent, SpillFile};
use crate::runtime::Flow;

/// Most rows that are gathered at a time.
const PICKS_MAX: usize = model::limits::BATCH_ROWS * 2;

/// Sorted rows on disk.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Its blocks in order.
    pub(super) blocks: Vec<Extent>,
    /// Bytes that the largest of them takes in memory.
    pub(super) block_bytes: usize,
}

/// The position that the reading of a run has reached.
struct Cursor<'r> {
    run: &'r Run,
    next_block: usize,
    chunk: Chunk,
    row: usize,
    /// Rows of this block that were picked.
    picked: Vec<u32>,
}

/// The merge of some runs.
struct Merge<'r> {
    file: &'r SpillFile,
    cursors: Vec<Cursor<'r>>,
    /// Cursors that have rows, as a binary heap with the first row at the top.
    heap: Vec<usize>,
    /// The first column of the keys.
    keys: usize,
    descending: &'r [bool],
    /// The cursors of the rows picked, in order.
    order: Vec<u32>,
    bytes: Vec<u8>,
}

/// Gives all rows of the runs in order. Each row has `keys` columns, and then a column for each key.
pub(super) fn merge(
    file: &SpillFile,
    runs: &[Run],
    (keys, descending): (usize, &[bool]),
    each: &mut dyn FnMut(Chunk) -> Result<Flow>,
) -> Result<Flow> {
    let cursor = |run| Cursor { run, next_block: 0, chunk: Chunk::default(), row: 0, picked: Vec::new() };
    let cursors: Vec<Cursor<'_>> = runs.iter().map(cursor).collect();
    let (heap, order, bytes) = (Vec::with_capacity(cursors.len()), Vec::new(), Vec::new());
    let mut merge = Merge { file, cursors, heap, keys, descending, order, bytes };
    for cursor in 0..merge.cursors.len() {
        if merge.load(cursor)? {
            merge.heap.push(cursor);
        }
    }
    for place in (0..merge.heap.len() / 2).rev() {
        merge.sift_down(place);
    }
    while let Some(&top) = merge.heap.first() {
        let cursor = &mut merge.cursors[top];
        cursor.picked.push(cursor.row as u32);
        cursor.row += 1;
        let is_exhausted = cursor.row == cursor.chunk.rows;
        merge.order.push(top as u32);
        if is_exhausted || merge.order.len() == PICKS_MAX {
            if each(merge.take_picked())? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            if is_exhausted && !merge.load(top)? {
                let last = merge.heap.len() - 1;
                merge.heap.swap(0, last);
                merge.heap.pop();
            }
        }
        merge.sift_down(0);
    }
    Ok(Flow::Continue)
}

impl Merge<'_> {
    /// Reads the next block of a run; false at its end.
    fn load(&mut self, cursor: usize) -> Result<bool> {
        let cursor = &mut self.cursors[cursor];
        let Some(&block) = cursor.run.blocks.get(cursor.next_block) else { return Ok(false) };
        self.file.read(block, &mut self.bytes)?;
        cursor.chunk = decode(&self.bytes)?;
        cursor.next_block += 1;
        cursor.row = 0;
        Ok(true)
    }

    /// The order of the next rows of two runs.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let (left, right) = (&self.cursors[a], &self.cursors[b]);
        for (key, &descending) in self.descending.iter().enumerate() {
            let (x, y) = (&left.chunk.columns[self.keys + key], &right.chunk.columns[self.keys + key]);
            match order_rows(x, left.row, y, right.row) {
                Ordering::Equal => {}
                order => return if descending { order.reverse() } else { order },
            }
        }
        a.cmp(&b)
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let mut least = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len() && self.compare(self.heap[child], self.heap[least]).is_lt() {
                    least = child;
                }
            }
            if least == place {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }

    /// The rows picked, in order: those of each run are gathered, put end to end, and brought into order.
    fn take_picked(&mut self) -> Chunk {
        let rows = self.order.len();
        let mut starts = Vec::with_capacity(self.cursors.len());
        let mut start = 0;
        for cursor in &self.cursors {
            starts.push(start);
            start += cursor.picked.len() as u32;
        }
        let mut places = Vec::with_capacity(rows);
        for &cursor in &self.order {
            places.push(starts[cursor as usize]);
            starts[cursor as usize] += 1;
        }
        let used: Vec<&Cursor<'_>> = self.cursors.iter().filter(|cursor| !cursor.picked.is_empty()).collect();
        let width = used.first().map_or(0, |cursor| cursor.chunk.columns.len());
        let column = |index: usize| {
            let mut all: Option<Column> = None;
            for cursor in &used {
                let part = cursor.chunk.columns[index].gather(&cursor.picked);
                match &mut all {
                    Some(all) => all.append(&part),
                    None => all = Some(part),
                }
            }
            let all = all.unwrap_or_else(|| Column::nulls(0));
            Arc::new(if used.len() == 1 { all } else { all.gather(&places) })
        };
        let columns = (0..width).map(column).collect();
        self.order.clear();
        self.cursors.iter_mut().for_each(|cursor| cursor.picked.clear());
        Chunk { rows, columns }
    }
}
