//! Sorted edges in chunks, from whatever they come, and the merge of several such streams.
//!
//! Cost: a merge of `k` streams compares with a tournament over `k` heads and gathers columns chunk by chunk.

use std::collections::BinaryHeap;
use std::cmp::Reverse;
use std::ops::Range;

use model::id::PropertyKeyId;
use model::{Column, NodeId, Result};

use crate::column::append_range;

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

impl EdgeChunk {
    /// Adds rows of another chunk.
    fn append(&mut self, other: &EdgeChunk, rows: Range<usize>) {
        let before = self.keys.len();
        self.keys.extend_from_slice(&other.keys[rows.clone()]);
        for (key, column) in &other.columns {
            let at = self.columns.iter().position(|(mine, _)| mine == key).unwrap_or_else(|| {
                self.columns.push((*key, Column::nulls(before)));
                self.columns.len() - 1
            });
            append_range(&mut self.columns[at].1, column, rows.start, rows.end);
        }
        for (_, column) in &mut self.columns {
            let missing = self.keys.len() - column.len();
            append_range(column, &Column::nulls(missing), 0, missing);
        }
    }
}

/// A stream of edges of one type, sorted by key over all its chunks.
pub trait ChunkSource: Send {
    /// The next chunk, never empty; `None` at the end.
    fn next(&mut self) -> Result<Option<EdgeChunk>>;
}

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
            let rows: Vec<u32> = (0..chunk.keys.len() as u32).filter(|&row| is_inside(chunk.keys[row as usize])).collect();
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
        let mut out = EdgeChunk::default();
        while out.keys.len() < CHUNK_EDGES {
            let Some(Reverse((_, index))) = self.heads.pop() else { break };
            // The stream gives everything up to the head of the next one.
            let limit = self.heads.peek().map(|&Reverse((key, other))| (key, other));
            let input = &mut self.inputs[index];
            let rest = &input.chunk.keys[input.at..];
            let room = CHUNK_EDGES - out.keys.len();
            let belongs = |&key: &u64| limit.is_none_or(|limit| (key, index) < limit);
            let count = rest[..rest.len().min(room)].iter().take_while(|key| belongs(key)).count();
            out.append(&input.chunk, input.at..input.at + count);
            input.at += count;
            if input.at < input.chunk.keys.len() {
                self.heads.push(Reverse((input.chunk.keys[input.at], index)));
            } else {
                self.refill(index)?;
            }
        }
        Ok((!out.keys.is_empty()).then_some(out))
    }
}
