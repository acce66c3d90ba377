//! Edges chosen by ranges and by order, for stores that only know how to expand.
//!
//! [`Chooser`] filters and cuts batches, [`Choosing`] does so with a cursor, [`expand_chosen`] with a view.

use std::cmp::Ordering;

use super::{EdgeCursor, Expand, ReadView};
use crate::batch::EdgeBatch;
use crate::column::Column;
use crate::edge_range::{EdgeRange, EdgeTop, order_rows};
use crate::error::Result;
use crate::id::{NodeId, PropertyKeyId};
use crate::limits::BATCH_ROWS;

/// Takes batches of an expansion without ranges and top, and keeps the rows that an expansion with them has.
#[derive(Debug)]
pub struct Chooser {
    ranges: Vec<(usize, EdgeRange)>,
    top: Option<(Vec<usize>, EdgeTop)>,
    keys: usize,
    /// Candidates of the present input.
    held: EdgeBatch,
    /// Rows of a batch.
    rows: Vec<u32>,
}

impl Chooser {
    /// The expansion whose batches are to be pushed, and what chooses among them.
    pub fn new(expand: &Expand) -> (Expand, Chooser) {
        let mut plain = Expand { ranges: Vec::new(), top: None, ..expand.clone() };
        let mut place = |key: PropertyKeyId| {
            plain.keys.iter().position(|&other| other == key).unwrap_or_else(|| {
                plain.keys.push(key);
                plain.keys.len() - 1
            })
        };
        let ranges = expand.ranges.iter().map(|range| (place(range.key), range.clone())).collect();
        let top = expand.top.clone().map(|top| (top.keys.iter().map(|&key| place(key)).collect(), top));
        (plain, Chooser { ranges, top, keys: expand.keys.len(), held: EdgeBatch::default(), rows: Vec::new() })
    }

    /// Leaves of a batch only the rows in all ranges. For expansions without top.
    pub fn retain(&mut self, batch: &mut EdgeBatch) {
        self.rows.clear();
        self.rows.extend(0..batch.len() as u32);
        self.ranges.iter().for_each(|(at, range)| range.retain(&batch.properties[*at], &mut self.rows));
        batch.properties.truncate(self.keys);
        if self.rows.len() < batch.len() {
            batch.retain(&self.rows);
        }
    }

    /// Adds to `out` the chosen rows of a batch, as far as they are known by now.
    pub fn push(&mut self, batch: &EdgeBatch, out: &mut EdgeBatch) {
        let mut rows: Vec<u32> = (0..batch.len() as u32).collect();
        self.ranges.iter().for_each(|(at, range)| range.retain(&batch.properties[*at], &mut rows));
        if self.top.is_none() {
            let mut chosen = batch.gather(&rows);
            chosen.properties.truncate(self.keys);
            return out.append(&chosen);
        }
        for rows in rows.chunk_by(|&a, &b| batch.inputs[a as usize] == batch.inputs[b as usize]) {
            if self.held.inputs.first().is_some_and(|&input| input != batch.inputs[rows[0] as usize]) {
                self.finish(out);
            }
            self.held.append(&batch.gather(rows));
            self.cut(BATCH_ROWS);
        }
    }

    /// Adds to `out` what the last input still has. To be called once all is pushed.
    pub fn finish(&mut self, out: &mut EdgeBatch) {
        self.cut(0);
        let mut chosen = std::mem::take(&mut self.held);
        if !chosen.is_empty() {
            chosen.properties.truncate(self.keys);
            out.append(&chosen);
        }
    }

    /// Leaves the first candidates only, once there are more than `more` beyond the limit.
    fn cut(&mut self, more: usize) {
        let Some((places, top)) = &self.top else { return };
        if self.held.len() <= top.limit.saturating_add(more) {
            return;
        }
        let columns: Vec<&Column> = places.iter().map(|&at| &self.held.properties[at]).collect();
        let mut rows: Vec<u32> = (0..self.held.len() as u32).collect();
        rows.sort_by(|&a, &b| {
            let orders = columns.iter().map(|column| order_rows(column, a as usize, column, b as usize));
            let order = orders.fold(Ordering::Equal, Ordering::then);
            if top.descending { order.reverse() } else { order }
        });
        rows.truncate(top.limit);
        self.held = self.held.gather(&rows);
    }
}

/// A cursor that keeps of the edges of another those that are chosen.
#[derive(Debug)]
pub struct Choosing<C> {
    inner: C,
    chooser: Chooser,
    batch: EdgeBatch,
    /// Chosen edges, and the first of them that was not handed out.
    chosen: EdgeBatch,
    at: usize,
    is_done: bool,
}

impl<C: EdgeCursor> Choosing<C> {
    /// The chosen edges of a cursor over the expansion that [`Chooser::new`] gave.
    pub fn new(inner: C, chooser: Chooser) -> Choosing<C> {
        Choosing { inner, chooser, batch: EdgeBatch::default(), chosen: EdgeBatch::default(), at: 0, is_done: false }
    }
}

impl<C: EdgeCursor> EdgeCursor for Choosing<C> {
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        out.clear();
        while self.at == self.chosen.len() && !self.is_done {
            self.at = 0;
            self.chosen.clear();
            if self.inner.next(&mut self.batch)? {
                self.chooser.push(&self.batch, &mut self.chosen);
            } else {
                self.chooser.finish(&mut self.chosen);
                self.is_done = true;
            }
        }
        let end = self.chosen.len().min(self.at + BATCH_ROWS);
        if self.at == 0 && end == self.chosen.len() {
            std::mem::swap(out, &mut self.chosen);
            self.chosen.clear();
        } else {
            let rows: Vec<u32> = (self.at as u32..end as u32).collect();
            *out = self.chosen.gather(&rows);
            self.at = end;
        }
        Ok(!out.is_empty())
    }
}

/// Expands with ranges and top on a view that knows how to expand without them. For stores that have nothing better.
///
/// Cost: all edges of the input are read, and all that are chosen are held.
pub fn expand_chosen<'a, V: ReadView + ?Sized>(
    view: &V,
    from: &[NodeId],
    expand: &Expand,
) -> Result<Box<dyn EdgeCursor + 'a>> {
    let (plain, mut chooser) = Chooser::new(expand);
    let (mut batch, mut chosen) = (EdgeBatch::default(), Vec::new());
    let mut out = EdgeBatch::default();
    let mut cursor = view.expand(from, &plain)?;
    while cursor.next(&mut batch)? {
        chooser.push(&batch, &mut out);
        if out.len() >= BATCH_ROWS {
            chosen.push(std::mem::take(&mut out));
        }
    }
    chooser.finish(&mut out);
    chosen.push(out);
    chosen.reverse();
    Ok(Box::new(Chosen { batches: chosen, at: 0 }))
}

/// Batches handed out one after the other.
struct Chosen {
    /// In reverse order.
    batches: Vec<EdgeBatch>,
    /// The first row of the last batch not handed out.
    at: usize,
}

impl EdgeCursor for Chosen {
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        out.clear();
        while let Some(batch) = self.batches.last() {
            let end = batch.len().min(self.at + BATCH_ROWS);
            if self.at < end {
                let rows: Vec<u32> = (self.at as u32..end as u32).collect();
                *out = batch.gather(&rows);
                self.at = end;
                return Ok(true);
            }
            self.batches.pop();
            self.at = 0;
        }
        Ok(false)
    }
}
