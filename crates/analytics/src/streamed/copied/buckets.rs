//! Entries put into files by intervals of nodes, as they come.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use model::error::Result;

use crate::scratch::plain::{Plain, push};
use crate::scratch::{Lanes, Place, Scratch};

/// An entry of a row: its node, the neighbor, and the bits of its weight (0 without weights, which are not negative).
pub(super) type Entry = (u32, u32, u64);

/// Bytes that are written at a time at the least, if the buffers of a thread allow it.
pub(super) const CHUNK_BYTES_MIN: usize = 4 << 10;
/// Bytes that are written at a time at the most.
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// Entries of one bucket that lie together in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    file: u32,
    start: u64,
    bytes: u32,
}

/// Buckets being filled by several threads.
pub(super) struct Buckets<'a> {
    nodes: Range<u32>,
    /// Nodes of each bucket.
    width: u32,
    has_weights: bool,
    chunk_bytes: usize,
    lanes: Lanes<'a>,
    chunks: Mutex<Vec<Vec<Chunk>>>,
}

/// The entries of a thread that were not yet written, by bucket.
pub(super) type Buffers = Vec<Vec<u8>>;

impl<'a> Buckets<'a> {
    /// At most `count` buckets for nodes, filled by `threads` threads with `buffer_bytes` bytes of buffers each.
    pub(super) fn new(
        place: Place<'a>,
        nodes: Range<u32>,
        count: u32,
        (threads, buffer_bytes): (usize, usize),
        has_weights: bool,
    ) -> Result<Buckets<'a>> {
        let width = (nodes.len() as u32).div_ceil(count.max(1)).max(1);
        let count = (nodes.len() as u32).div_ceil(width) as usize;
        let chunk_bytes = (buffer_bytes / count.max(1)).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        let lanes = Lanes::new(place, threads)?;
        Ok(Buckets { nodes, width, has_weights, chunk_bytes, lanes, chunks: Mutex::new(vec![Vec::new(); count]) })
    }

    /// The buffers of one thread.
    pub(super) fn buffers(&self) -> Buffers {
        let count = (self.nodes.len() as u32).div_ceil(self.width) as usize;
        vec![Vec::new(); count]
    }

    /// Puts an entry away.
    #[inline]
    pub(super) fn put(&self, buffers: &mut Buffers, (node, neighbor, weight): Entry) -> Result<()> {
        let bucket = ((node - self.nodes.start) / self.width) as usize;
        let buffer = &mut buffers[bucket];
        push(node, buffer);
        push(neighbor, buffer);
        if self.has_weights {
            push(weight, buffer);
        }
        if buffer.len() >= self.chunk_bytes { self.write(bucket, buffer) } else { Ok(()) }
    }

    /// Writes what is left in buffers.
    pub(super) fn flush(&self, buffers: &mut Buffers) -> Result<()> {
        buffers.iter_mut().enumerate().try_for_each(|(bucket, buffer)| self.write(bucket, buffer))
    }

    #[cold]
    fn write(&self, bucket: usize, buffer: &mut Vec<u8>) -> Result<()> {
        if !buffer.is_empty() {
            let ((file, start), ()) = self.lanes.append(|file| file.append(buffer))?;
            let chunk = Chunk { file, start, bytes: buffer.len() as u32 };
            self.chunks.lock().unwrap_or_else(PoisonError::into_inner)[bucket].push(chunk);
            buffer.clear();
        }
        Ok(())
    }

    /// The buckets, when all buffers are flushed.
    pub(super) fn finish(self) -> Filled<'a> {
        let Buckets { nodes, width, has_weights, lanes, chunks, .. } = self;
        let chunks = chunks.into_inner().unwrap_or_else(PoisonError::into_inner);
        let starts = nodes.clone().step_by(width as usize);
        let end = |start: u32| start.saturating_add(width).min(nodes.end);
        let buckets = starts.map(|start| start..end(start)).zip(chunks).collect();
        Filled { files: lanes.into_files(), buckets, has_weights }
    }
}

/// Buckets that were filled.
pub(super) struct Filled<'a> {
    files: Vec<Scratch<'a>>,
    /// For each, its nodes and where its entries are.
    pub(super) buckets: Vec<(Range<u32>, Vec<Chunk>)>,
    pub(super) has_weights: bool,
}

impl Filled<'_> {
    fn entry_bytes(&self) -> usize {
        if self.has_weights { 16 } else { 8 }
    }

    /// Number of entries in some chunks.
    pub(super) fn count(&self, chunks: &[Chunk]) -> usize {
        chunks.iter().map(|chunk| chunk.bytes as usize).sum::<usize>() / self.entry_bytes()
    }

    /// Gives each entry of some chunks, of which one at a time is held.
    pub(super) fn each(&self, chunks: &[Chunk], sink: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
        let mut bytes = Vec::new();
        for chunk in chunks {
            bytes.resize(chunk.bytes as usize, 0);
            self.files[chunk.file as usize].read_at(chunk.start, &mut bytes)?;
            for entry in bytes.chunks_exact(self.entry_bytes()) {
                let (node, neighbor) = <(u32, u32)>::read_from(&entry[..8]);
                let weight = if self.has_weights { u64::read_from(&entry[8..]) } else { 0 };
                sink((node, neighbor, weight))?;
            }
        }
        Ok(())
    }
}
