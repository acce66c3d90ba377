//! Sorted edges in chunks, from whatever they come, and the merge of several such streams.
//!
//! Cost: a merge of `k` streams compares with a tournament over `k` heads and gathers columns chunk by chunk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use model::id::PropertyKeyId;
use model::{Column, ColumnData, Fixed, NodeId, Result, each_stored_vector};

/// Edges in one merged chunk, at most.
pub const CHUNK_EDGES: usize = 16_384;

/// An edge as one integer that sorts by source, then target. Node ids are below 2^32.
#[inline]
pub fn edge_key(source: NodeId, target: NodeId) -> u64 {
    source.0 << 32 | target.0
}

/// Edges of one type, sorted by key.
#[derive(Clone, Debug, Default)]
pub struct EdgeChunk {
    /// Source and target of each edge, as [`edge_key`] makes them.
    pub keys: Vec<u64>,
    /// The properties that some edge of the chunk has.
    pub columns: Vec<(PropertyKeyId, Column)>,
}

/// A stream of edges of one type, sorted by key over all its chunks.
pub trait ChunkSource {
    /// The next chunk, never empty; `None` at the end.
    fn next(&mut self) -> Result<Option<EdgeChunk>>;
}

/// A stream of sorted edges of whatever kind.
pub type BoxedSource<'a> = Box<dyn ChunkSource + 'a>;

/// No edges.
pub struct NoEdges;

impl ChunkSource for NoEdges {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        Ok(None)
    }
}

/// Only the edges whose target lies in an interval.
pub struct TargetFilter<'a> {
    /// The edges.
    pub inner: Box<dyn ChunkSource + 'a>,
    /// The interval.
    pub interval: Range<u64>,
}

impl ChunkSource for TargetFilter<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        while let Some(chunk) = self.inner.next()? {
            let is_inside = |key: u64| self.interval.contains(&(key & 0xffff_ffff));
            if chunk.keys.iter().all(|&key| is_inside(key)) {
                return Ok(Some(chunk));
            }
            let rows: Vec<u32> =
                (0..chunk.keys.len() as u32).filter(|&row| is_inside(chunk.keys[row as usize])).collect();
            if !rows.is_empty() {
                return Ok(Some(chunk_rows(&chunk, &rows)));
            }
        }
        Ok(None)
    }
}

/// Some rows of a chunk.
pub fn chunk_rows(chunk: &EdgeChunk, rows: &[u32]) -> EdgeChunk {
    EdgeChunk {
        keys: rows.iter().map(|&row| chunk.keys[row as usize]).collect(),
        columns: chunk.columns.iter().map(|(key, column)| (*key, column.gather(rows))).collect(),
    }
}

/// Merges sorted streams; edges with equal keys keep the order of the streams.
pub struct Merge<'a> {
    inputs: Vec<Input<'a>>,
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    is_started: bool,
}

struct Input<'a> {
    source: Box<dyn ChunkSource + 'a>,
    chunk: EdgeChunk,
    at: usize,
}

impl<'a> Merge<'a> {
    /// A merge of any number of streams.
    pub fn new(sources: Vec<Box<dyn ChunkSource + 'a>>) -> Merge<'a> {
        let inputs = sources.into_iter().map(|source| Input { source, chunk: EdgeChunk::default(), at: 0 });
        Merge { inputs: inputs.collect(), heads: BinaryHeap::new(), is_started: false }
    }

    fn refill(&mut self, index: usize) -> Result<()> {
        let input = &mut self.inputs[index];
        if let Some(chunk) = input.source.next()? {
            input.at = 0;
            self.heads.push(Reverse((chunk.keys[0], index)));
            input.chunk = chunk;
        }
        Ok(())
    }
}

impl ChunkSource for Merge<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        if let [only] = &mut self.inputs[..] {
            return only.source.next();
        }
        if !self.is_started {
            self.is_started = true;
            (0..self.inputs.len()).try_for_each(|index| self.refill(index))?;
        }
        let (mut keys, mut picks) = (Vec::new(), Vec::new());
        let mut exhausted = None;
        while keys.len() < CHUNK_EDGES && exhausted.is_none() {
            let Some(Reverse((_, index))) = self.heads.pop() else { break };
            // The stream gives everything up to the head of the next one.
            let limit = self.heads.peek().map(|&Reverse((key, other))| (key, other));
            let input = &mut self.inputs[index];
            let rest = &input.chunk.keys[input.at..];
            let belongs = |&&key: &&u64| limit.is_none_or(|limit| (key, index) < limit);
            let count = rest[..rest.len().min(CHUNK_EDGES - keys.len())].iter().take_while(belongs).count();
            keys.extend_from_slice(&rest[..count]);
            picks.extend((input.at..input.at + count).map(|row| (index as u32, row as u32)));
            input.at += count;
            match input.chunk.keys.get(input.at) {
                Some(&key) => self.heads.push(Reverse((key, index))),
                // The rows picked so far are in this chunk, so they are gathered before it goes.
                None => exhausted = Some(index),
            }
        }
        let columns = self.gather(&picks);
        exhausted.map_or(Ok(()), |index| self.refill(index))?;
        Ok((!keys.is_empty()).then_some(EdgeChunk { keys, columns }))
    }
}

impl Merge<'_> {
    /// The columns of the picked rows: pairs of input and row.
    fn gather(&self, picks: &[(u32, u32)]) -> Vec<(PropertyKeyId, Column)> {
        let keys = self.inputs.iter().flat_map(|input| input.chunk.columns.iter().map(|(key, _)| *key));
        let mut keys: Vec<PropertyKeyId> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        let column_of =
            |key: PropertyKeyId, input: &Input<'_>| input.chunk.columns.iter().position(|(mine, _)| *mine == key);
        keys.into_iter()
            .map(|key| {
                let columns: Vec<Option<&Column>> = self
                    .inputs
                    .iter()
                    .map(|input| column_of(key, input).map(|at| &input.chunk.columns[at].1))
                    .collect();
                (key, gather_picks(&columns, picks))
            })
            .collect()
    }
}

/// Rows of several columns, each named by the index of its column and its row there; a missing column has nulls.
pub(crate) fn gather_picks(columns: &[Option<&Column>], picks: &[(u32, u32)]) -> Column {
    let first = columns.first().copied().flatten();
    let picked = first.and_then(|column| {
        each_stored_vector!(&column.data, {
            ColumnData::Null(_) | ColumnData::String(_) | ColumnData::Value(_) => None,
            ColumnData::Node(_) | ColumnData::Edge(_) => None,
        }, rows => gather_alike(rows, columns, picks))
    });
    if let Some(column) = picked {
        return column;
    }
    let mut out = Column::nulls(0);
    let missing = Column::nulls(1);
    for rows in picks.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1) {
        let (input, row) = (rows[0].0 as usize, rows[0].1 as usize);
        match columns[input] {
            Some(column) => out.append_range(column, row, row + rows.len()),
            None => rows.iter().for_each(|_| out.append_range(&missing, 0, 1)),
        }
    }
    out
}

/// The same of columns that are all of one kind, without nulls; `None` if they are not.
fn gather_alike<T: Fixed>(_: &[T], columns: &[Option<&Column>], picks: &[(u32, u32)]) -> Option<Column> {
    let rows = columns.iter().map(|column| match *column {
        Some(Column { data, validity: None }) => T::rows(data),
        _ => None,
    });
    let lists: Vec<&[T]> = rows.collect::<Option<_>>()?;
    let rows = picks.iter().map(|&(input, row)| lists[input as usize][row as usize]);
    Some(Column::new(T::vector(rows.collect())))
}
