//! The order of the edges of a type with a sort key: by source, then by the properties of the key, then by target.
//!
//! Cost: sorting the edges of a source compares typed columns; a merge compares columns only where sources are equal.

use std::cmp::Ordering;

use model::edge_range::order_rows;
use model::id::PropertyKeyId;
use model::{Column, Result};

use crate::build::chunk::{CHUNK_EDGES, ChunkSource, EdgeChunk, chunk_rows, gather_picks};

/// The columns of the keys, `None` where no edge of the chunk has a value.
fn columns_of<'a>(chunk: &'a EdgeChunk, order: &[PropertyKeyId]) -> Vec<Option<&'a Column>> {
    let column = |key: &PropertyKeyId| chunk.columns.iter().find(|(mine, _)| mine == key).map(|(_, column)| column);
    order.iter().map(column).collect()
}

fn order_values(a: Option<&Column>, row_of_a: usize, b: Option<&Column>, row_of_b: usize) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => order_rows(a, row_of_a, b, row_of_b),
        (Some(a), None) => a.is_null(row_of_a).cmp(&true),
        (None, Some(b)) => true.cmp(&b.is_null(row_of_b)),
        (None, None) => Ordering::Equal,
    }
}

/// Puts the edges of each source in order; the chunk is sorted by source, and edges that are equal keep their order.
pub fn sort_chunk(chunk: EdgeChunk, order: &[PropertyKeyId]) -> EdgeChunk {
    let columns = columns_of(&chunk, order);
    let mut rows: Vec<u32> = (0..chunk.keys.len() as u32).collect();
    let source_of = |row: u32| chunk.keys[row as usize] >> 32;
    let mut is_sorted = true;
    for run in rows.chunk_by_mut(|&a, &b| source_of(a) == source_of(b)) {
        let compare = |&a: &u32, &b: &u32| {
            let values = columns.iter().map(|column| order_values(*column, a as usize, *column, b as usize));
            let targets = (chunk.keys[a as usize] as u32).cmp(&(chunk.keys[b as usize] as u32));
            values.fold(Ordering::Equal, Ordering::then).then(targets)
        };
        if !run.is_sorted_by(|a, b| compare(a, b) != Ordering::Greater) {
            run.sort_by(compare);
            is_sorted = false;
        }
    }
    if is_sorted { chunk } else { chunk_rows(&chunk, &rows) }
}

/// Edges that are sorted by source, put in another order within each source.
///
/// Cost: holds all edges of one source.
pub struct Resorted<'a> {
    inner: Option<Box<dyn ChunkSource + 'a>>,
    order: Vec<PropertyKeyId>,
    held: EdgeChunk,
}

impl<'a> Resorted<'a> {
    /// The same edges in that order; by target where it names no property.
    pub fn new(inner: Box<dyn ChunkSource + 'a>, order: Vec<PropertyKeyId>) -> Resorted<'a> {
        Resorted { inner: Some(inner), order, held: EdgeChunk::default() }
    }
}

impl ChunkSource for Resorted<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        while let Some(inner) = &mut self.inner {
            let Some(chunk) = inner.next()? else {
                self.inner = None;
                break;
            };
            append_chunk(&mut self.held, chunk);
            // The edges of the last source may go on in the next chunk.
            let last = self.held.keys.last().map_or(0, |key| key >> 32);
            let end = self.held.keys.partition_point(|key| key >> 32 < last);
            if end > 0 {
                let rest: Vec<u32> = (end as u32..self.held.keys.len() as u32).collect();
                let rest = chunk_rows(&self.held, &rest);
                let done: Vec<u32> = (0..end as u32).collect();
                let done = chunk_rows(&self.held, &done);
                self.held = rest;
                return Ok(Some(sort_chunk(done, &self.order)));
            }
        }
        let rest = std::mem::take(&mut self.held);
        Ok((!rest.keys.is_empty()).then(|| sort_chunk(rest, &self.order)))
    }
}

/// Adds the edges of a chunk to another.
fn append_chunk(to: &mut EdgeChunk, chunk: EdgeChunk) {
    if to.keys.is_empty() {
        *to = chunk;
        return;
    }
    let rows = to.keys.len();
    for (key, column) in &chunk.columns {
        let at = to.columns.iter().position(|(mine, _)| mine == key).unwrap_or_else(|| {
            to.columns.push((*key, Column::nulls(rows)));
            to.columns.len() - 1
        });
        to.columns[at].1.append_range(column, 0, column.len());
    }
    to.keys.extend_from_slice(&chunk.keys);
    let rows = to.keys.len();
    for (_, column) in &mut to.columns {
        let missing = rows - column.len();
        column.append_range(&Column::nulls(missing), 0, missing);
    }
}

/// Merges streams that are in the order of a sort key; edges that are equal keep the order of the streams.
pub struct OrderedMerge<'a> {
    inputs: Vec<Input<'a>>,
    order: Vec<PropertyKeyId>,
}

struct Input<'a> {
    source: Box<dyn ChunkSource + 'a>,
    chunk: EdgeChunk,
    /// For each key of the order its column in the chunk.
    places: Vec<Option<usize>>,
    at: usize,
    is_started: bool,
}

impl<'a> OrderedMerge<'a> {
    /// A merge of any number of streams.
    pub fn new(sources: Vec<Box<dyn ChunkSource + 'a>>, order: Vec<PropertyKeyId>) -> OrderedMerge<'a> {
        let input =
            |source| Input { source, chunk: EdgeChunk::default(), places: Vec::new(), at: 0, is_started: false };
        OrderedMerge { inputs: sources.into_iter().map(input).collect(), order }
    }

    /// The order of a row of one input and a row of another.
    fn compare(&self, a: (usize, usize), b: (usize, usize)) -> Ordering {
        let (left, right) = (&self.inputs[a.0], &self.inputs[b.0]);
        let (x, y) = (left.chunk.keys[a.1], right.chunk.keys[b.1]);
        let by_source = (x >> 32).cmp(&(y >> 32));
        if by_source != Ordering::Equal {
            return by_source;
        }
        for (&left_place, &right_place) in left.places.iter().zip(&right.places) {
            let of_left = left_place.map(|place| &left.chunk.columns[place].1);
            let of_right = right_place.map(|place| &right.chunk.columns[place].1);
            let by_value = order_values(of_left, a.1, of_right, b.1);
            if by_value != Ordering::Equal {
                return by_value;
            }
        }
        (x as u32).cmp(&(y as u32)).then(a.0.cmp(&b.0))
    }

    /// Gets the next chunk of every input that is used up; those at their end are empty.
    fn refill(&mut self) -> Result<()> {
        for input in &mut self.inputs {
            if input.at == input.chunk.keys.len() && (!input.is_started || !input.chunk.keys.is_empty()) {
                input.is_started = true;
                input.at = 0;
                input.chunk = input.source.next()?.unwrap_or_default();
                let columns = &input.chunk.columns;
                let place = |key: &PropertyKeyId| columns.iter().position(|(mine, _)| mine == key);
                input.places = self.order.iter().map(place).collect();
            }
        }
        Ok(())
    }

    /// The input whose next edge comes first, except for `without`.
    fn first(&self, without: Option<usize>) -> Option<usize> {
        let is_left = |&index: &usize| self.inputs[index].at < self.inputs[index].chunk.keys.len();
        let candidates = (0..self.inputs.len()).filter(|index| Some(*index) != without).filter(is_left);
        candidates.min_by(|&a, &b| self.compare((a, self.inputs[a].at), (b, self.inputs[b].at)))
    }
}

impl ChunkSource for OrderedMerge<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        self.refill()?;
        let (mut keys, mut picks) = (Vec::new(), Vec::new());
        while keys.len() < CHUNK_EDGES {
            let Some(index) = self.first(None) else { break };
            // The stream gives everything up to the head of the next one.
            let limit = self.first(Some(index)).map(|other| (other, self.inputs[other].at));
            let (start, all) = (self.inputs[index].at, self.inputs[index].chunk.keys.len());
            let most = all.min(start + CHUNK_EDGES - keys.len());
            let mut end = start + 1;
            while end < most && limit.is_none_or(|limit| self.compare((index, end), limit) == Ordering::Less) {
                end += 1;
            }
            let input = &mut self.inputs[index];
            keys.extend_from_slice(&input.chunk.keys[start..end]);
            picks.extend((start..end).map(|row| (index as u32, row as u32)));
            input.at = end;
            if end == all {
                // The rows picked so far are in this chunk, so they are gathered before it goes.
                break;
            }
        }
        let mut names: Vec<PropertyKeyId> =
            self.inputs.iter().flat_map(|input| input.chunk.columns.iter().map(|(key, _)| *key)).collect();
        names.sort_unstable();
        names.dedup();
        let chunks: Vec<&EdgeChunk> = self.inputs.iter().map(|input| &input.chunk).collect();
        let columns = names.into_iter().map(|key| {
            let columns: Vec<Option<&Column>> =
                chunks.iter().map(|chunk| columns_of(chunk, &[key]).swap_remove(0)).collect();
            (key, gather_picks(&columns, &picks))
        });
        let columns = columns.collect();
        Ok((!keys.is_empty()).then_some(EdgeChunk { keys, columns }))
    }
}
