//! Sorting the buffers of one type in memory: cut into buckets by source, each bucket radix-sorted by a worker.
//!
//! Cost: two passes over the keys to cut them (12 bytes an edge), then per bucket a few radix passes inside the cache
//! and one random access for each property value.
//! Invariant: edges with equal keys keep the order in which the buffers hold them.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};

use model::id::PropertyKeyId;
use model::{Column, Result, Set};

use super::buffer::{JoinedColumn, SealedBuffer};
use super::order::sort_chunk;
use crate::build::chunk::{BoxedSource, ChunkSource, EdgeChunk};
use crate::column::read::{gather_from, kind_of};
use crate::column::{BlockSource, Kind};
use crate::error::StorageError;
use crate::format::COLUMN_BLOCK_ROWS;

/// Approximate number of edges in one bucket.
const BUCKET_EDGES: u64 = 32_768;
/// Buckets at most.
const BUCKETS_MAX: u64 = 4_096;
/// Bits sorted in one radix pass.
const DIGIT_BITS: u32 = 11;
/// Sorted buckets that may wait for the writer, for each worker.
const WINDOW: usize = 4;

/// The edges of one type, cut into buckets of ascending sources.
pub struct Buckets {
    parts: Vec<Part>,
    columns: Vec<(JoinedColumn, Option<Kind>)>,
    /// The sort key of the type, if it has one.
    order: Vec<PropertyKeyId>,
    count: usize,
    shift: u32,
    target_bits: u32,
}

/// Output of one thread that cuts: keys and rows of bucket `b` are at `starts[b]..starts[b + 1]`.
struct Part {
    starts: Vec<usize>,
    keys: Vec<u64>,
    rows: Vec<u32>,
}

impl Buckets {
    /// Cuts the edges of some buffers; node ids are below the bound.
    pub fn new(mut buffers: Vec<SealedBuffer>, node_id_bound: u64, threads: usize) -> Result<Buckets> {
        let edges: u64 = buffers.iter().map(|buffer| buffer.rows).sum();
        let blocks: usize = buffers.iter().map(SealedBuffer::block_count).sum();
        if blocks * COLUMN_BLOCK_ROWS > u32::MAX as usize {
            return Err(StorageError::limit(format!("{edges} edges of one type do not fit one sort in memory")));
        }
        let id_bits = 64 - node_id_bound.saturating_sub(1).leading_zeros();
        let wanted = edges.div_ceil(BUCKET_EDGES).clamp(1, BUCKETS_MAX).next_power_of_two();
        let shift = id_bits.saturating_sub(wanted.trailing_zeros());
        let count = (node_id_bound.saturating_sub(1) >> shift) as usize + 1;
        let keys: Set<_> = buffers.iter().flat_map(|buffer| buffer.columns.iter().map(|(key, _)| *key)).collect();
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_unstable();
        let columns = keys
            .into_iter()
            .map(|key| JoinedColumn::join(key, &mut buffers))
            .map(|column| {
                let kind = kind_of(column.headers());
                (column, kind)
            })
            .collect();
        let parts = cut(buffers, count, shift, threads);
        Ok(Buckets { parts, columns, order: Vec::new(), count, shift, target_bits: id_bits })
    }

    /// The same edges, those of a source in the order of a sort key.
    #[must_use]
    pub fn ordered(self, order: &[PropertyKeyId]) -> Buckets {
        Buckets { order: order.to_vec(), ..self }
    }

    /// The edges of one bucket, sorted.
    fn bucket(&self, bucket: usize) -> Result<EdgeChunk> {
        let ranges = || self.parts.iter().map(move |part| (part, part.starts[bucket]..part.starts[bucket + 1]));
        let mut pairs: Vec<(u64, u32)> = Vec::with_capacity(ranges().map(|(_, range)| range.len()).sum());
        for (part, range) in ranges() {
            pairs.extend(part.keys[range.clone()].iter().copied().zip(part.rows[range].iter().copied()));
        }
        sort_pairs(&mut pairs, self.target_bits, self.shift);
        let keys = pairs.iter().map(|&(key, _)| key).collect();
        let mut columns: Vec<(_, Column)> = Vec::with_capacity(self.columns.len());
        for (column, kind) in &self.columns {
            let rows = pairs.iter().map(|&(_, row)| u64::from(row));
            columns.push((column.key, gather_from(column, *kind, rows, pairs.len())?));
        }
        let chunk = EdgeChunk { keys, columns };
        Ok(if self.order.is_empty() { chunk } else { sort_chunk(chunk, &self.order) })
    }

    /// All edges in order, sorted by this thread alone, one bucket after the other.
    pub fn drain(self, mut each: impl FnMut(EdgeChunk) -> Result<()>) -> Result<()> {
        for bucket in 0..self.count {
            let chunk = self.bucket(bucket)?;
            if !chunk.keys.is_empty() {
                each(chunk)?;
            }
        }
        Ok(())
    }

    /// All edges in order: sorted by workers ahead of the reader, or by the reader if there is one bucket.
    pub fn sorted(self, threads: usize) -> BoxedSource<'static> {
        if self.count == 1 { Box::new(self.one_by_one()) } else { Box::new(self.stream(threads)) }
    }

    /// All edges in order, each bucket sorted by this thread when it is asked for.
    pub fn one_by_one(self) -> OneByOne {
        OneByOne { buckets: self, next: 0 }
    }

    /// All edges in order, sorted by workers ahead of the reader.
    fn stream(self, threads: usize) -> SortedEdges {
        let shared = Arc::new(Shared { buckets: self, state: Mutex::default(), changed: Condvar::new() });
        let threads = threads.clamp(1, shared.buckets.count);
        let workers = (0..threads).map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.work(threads * WINDOW))
        });
        let workers = workers.collect();
        SortedEdges { shared, workers }
    }
}

/// Cuts the keys of the buffers into buckets, in parallel if they are many.
fn cut(buffers: Vec<SealedBuffer>, count: usize, shift: u32, threads: usize) -> Vec<Part> {
    // Pieces are chunks of keys with the number of their first row; each thread takes a contiguous share.
    let mut pieces: Vec<(usize, Vec<u64>)> = Vec::new();
    let mut first_block = 0;
    for buffer in buffers {
        let mut row = first_block * COLUMN_BLOCK_ROWS;
        first_block += buffer.block_count();
        for keys in buffer.keys {
            let rows = keys.len();
            pieces.push((row, keys));
            row += rows;
        }
    }
    let share = pieces.len().div_ceil(threads.max(1)).max(1);
    let mut shares: Vec<Vec<(usize, Vec<u64>)>> = Vec::new();
    while !pieces.is_empty() {
        let rest = pieces.split_off(share.min(pieces.len()));
        shares.push(std::mem::replace(&mut pieces, rest));
    }
    // A thread costs more than to cut the edges of a small type.
    if shares.len() <= 1 {
        return shares.into_iter().map(|share| cut_share(share, count, shift)).collect();
    }
    std::thread::scope(|scope| {
        let work: Vec<_> =
            shares.into_iter().map(|share| scope.spawn(move || cut_share(share, count, shift))).collect();
        work.into_iter().map(|thread| thread.join().expect("cutting keys does not panic")).collect()
    })
}

fn cut_share(pieces: Vec<(usize, Vec<u64>)>, count: usize, shift: u32) -> Part {
    let bucket_of = |key: u64| (key >> 32 >> shift) as usize;
    let mut starts = vec![0usize; count + 1];
    for key in pieces.iter().flat_map(|(_, keys)| keys) {
        starts[bucket_of(*key) + 1] += 1;
    }
    for bucket in 0..count {
        starts[bucket + 1] += starts[bucket];
    }
    let mut next = starts.clone();
    let mut keys = vec![0u64; starts[count]];
    let mut rows = vec![0u32; starts[count]];
    for (first, piece) in pieces {
        for (row, key) in (first as u32..).zip(piece) {
            let place = &mut next[bucket_of(key)];
            keys[*place] = key;
            rows[*place] = row;
            *place += 1;
        }
    }
    Part { starts, keys, rows }
}

/// A stable radix sort on the bits that differ within a bucket: the target, and the low bits of the source.
fn sort_pairs(pairs: &mut Vec<(u64, u32)>, target_bits: u32, source_bits: u32) {
    if pairs.len() < 512 {
        pairs.sort_by_key(|&(key, _)| key);
        return;
    }
    let mut other = vec![(0, 0); pairs.len()];
    let digits = |first: u32, bits: u32| {
        let passes = bits.div_ceil(DIGIT_BITS).max(1);
        let width = bits.div_ceil(passes);
        (0..passes).map(move |pass| (first + pass * width, width))
    };
    for (first, width) in digits(0, target_bits).chain(digits(32, source_bits)) {
        let digit_of = |key: u64| (key >> first) as usize & ((1 << width) - 1);
        let mut places = vec![0u32; 1 << width];
        pairs.iter().for_each(|&(key, _)| places[digit_of(key)] += 1);
        if places.iter().any(|&count| count as usize == pairs.len()) {
            continue;
        }
        let mut place = 0;
        for count in &mut places {
            place += std::mem::replace(count, place);
        }
        for &pair in pairs.iter() {
            let place = &mut places[digit_of(pair.0)];
            other[*place as usize] = pair;
            *place += 1;
        }
        std::mem::swap(pairs, &mut other);
    }
}

/// Sorted edges in order, one bucket after the other.
pub struct OneByOne {
    buckets: Buckets,
    next: usize,
}

impl ChunkSource for OneByOne {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        while self.next < self.buckets.count {
            self.next += 1;
            let chunk = self.buckets.bucket(self.next - 1)?;
            if !chunk.keys.is_empty() {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }
}

/// Sorted edges in order, while workers sort what comes next.
pub struct SortedEdges {
    shared: Arc<Shared>,
    workers: Vec<std::thread::JoinHandle<()>>,
}

struct Shared {
    buckets: Buckets,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The next bucket to be sorted.
    next: usize,
    /// The next bucket that the reader wants.
    wanted: usize,
    ready: BTreeMap<usize, Result<EdgeChunk>>,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    fn work(&self, window: usize) {
        loop {
            let mut state = self.lock();
            while !state.is_closed && state.next < self.buckets.count && state.next >= state.wanted + window {
                state = self.changed.wait(state).expect("no holder of this lock panics");
            }
            if state.is_closed || state.next >= self.buckets.count {
                return;
            }
            let bucket = state.next;
            state.next += 1;
            drop(state);
            // A panic must reach the reader, which would otherwise wait for ever.
            let sorted = catch_unwind(AssertUnwindSafe(|| self.buckets.bucket(bucket)))
                .unwrap_or_else(|_| Err(model::error!(Internal, "sorting bucket {bucket} panicked")));
            self.lock().ready.insert(bucket, sorted);
            self.changed.notify_all();
        }
    }
}

impl ChunkSource for SortedEdges {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        let mut state = self.shared.lock();
        while state.wanted < self.shared.buckets.count {
            let wanted = state.wanted;
            let Some(chunk) = state.ready.remove(&wanted) else {
                state = self.shared.changed.wait(state).expect("no holder of this lock panics");
                continue;
            };
            state.wanted += 1;
            self.shared.changed.notify_all();
            let chunk = chunk?;
            if !chunk.keys.is_empty() {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }
}

impl Drop for SortedEdges {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            // A worker passes its panic on as the error of a bucket; there is nothing more to hear from it.
            let _ = worker.join();
        }
    }
}
