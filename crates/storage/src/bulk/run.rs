//! Sorted runs on the disk: what a loader writes when the budget is used up.
//!
//! A run holds, type after type, chunks of sorted edges: their keys, then the encoded blocks of their columns. Its
//! directory stays in memory; dropping the run removes its file.

use std::ops::Range;

use model::id::{EdgeTypeId, PropertyKeyId};
use model::{Result, Schema};

use super::buffer::SealedBuffer;
use super::sort::Buckets;
use crate::build::BuildContext;
use crate::build::chunk::{ChunkSource, EdgeChunk};
use crate::column::BlockSource;
use crate::column::encode::encode_block;
use crate::column::read::range;
use crate::column::{Block, BlockHeader};
use crate::file::{FileWriter, TemporaryFile};
use crate::format::{COLUMN_BLOCK_ROWS, FileKind};

/// A sorted run.
pub struct Run {
    file: TemporaryFile,
    chunks: Vec<RunChunk>,
}

struct RunChunk {
    edge_type: EdgeTypeId,
    start: u64,
    length: usize,
    rows: usize,
    columns: Vec<(PropertyKeyId, BlockHeader)>,
}

impl Run {
    /// Sorts buffers, a list for each type in order of the types, and writes them.
    pub fn write(
        context: &BuildContext,
        buffers: Vec<(EdgeTypeId, SealedBuffer)>,
        node_id_bound: u64,
        schema: &Schema,
    ) -> Result<Run> {
        let mut file = context.create(FileKind::Run)?;
        let mut chunks = Vec::new();
        let mut scratch = Vec::new();
        for (edge_type, buffer) in buffers {
            let buckets = Buckets::new(vec![buffer], node_id_bound, 1)?.ordered(schema.sort_key(edge_type));
            buckets.drain(|chunk| {
                context.interrupt.check()?;
                for start in (0..chunk.keys.len()).step_by(COLUMN_BLOCK_ROWS) {
                    let end = (start + COLUMN_BLOCK_ROWS).min(chunk.keys.len());
                    chunks.push(put(&mut file, edge_type, &chunk, start..end, &mut scratch)?);
                }
                Ok(())
            })?;
        }
        Ok(Run { file: file.into_temporary()?, chunks })
    }

    /// The types that the run has edges of.
    pub fn types(&self) -> impl Iterator<Item = EdgeTypeId> + '_ {
        self.chunks.iter().map(|chunk| chunk.edge_type)
    }

    /// The edges of one type.
    pub fn edges(&self, edge_type: EdgeTypeId) -> RunEdges<'_> {
        let start = self.chunks.partition_point(|chunk| chunk.edge_type < edge_type);
        let end = self.chunks.partition_point(|chunk| chunk.edge_type <= edge_type);
        RunEdges { run: self, chunks: &self.chunks[start..end] }
    }
}

/// Writes some edges of a chunk.
fn put(
    file: &mut FileWriter,
    edge_type: EdgeTypeId,
    chunk: &EdgeChunk,
    range: Range<usize>,
    scratch: &mut Vec<u8>,
) -> Result<RunChunk> {
    scratch.clear();
    chunk.keys[range.clone()].iter().for_each(|key| scratch.extend_from_slice(&key.to_le_bytes()));
    let mut columns = Vec::with_capacity(chunk.columns.len());
    for (key, column) in &chunk.columns {
        let offset = scratch.len() as u64;
        let mut header = encode_block(column, range.start, range.end, scratch);
        header.offset = offset;
        if header.present > 0 {
            columns.push((*key, header));
        }
    }
    let (start, length, rows) = (file.position(), scratch.len(), range.len());
    file.write(scratch)?;
    Ok(RunChunk { edge_type, start, length, rows, columns })
}

/// The edges of one type of a run.
pub struct RunEdges<'a> {
    run: &'a Run,
    chunks: &'a [RunChunk],
}

impl RunEdges<'_> {
    /// True if the run has no edges of the type.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }
}

/// One block that was read into memory.
struct LoadedBlock<'a> {
    header: [BlockHeader; 1],
    bytes: &'a [u8],
    path: &'a std::path::Path,
}

impl BlockSource for LoadedBlock<'_> {
    fn headers(&self) -> &[BlockHeader] {
        &self.header
    }

    fn block(&self, index: usize) -> Result<Block<'_>> {
        Ok(Block::held(&self.header[index], self.bytes, self.path))
    }
}

impl ChunkSource for RunEdges<'_> {
    fn next(&mut self) -> Result<Option<EdgeChunk>> {
        let Some((chunk, rest)) = self.chunks.split_first() else { return Ok(None) };
        self.chunks = rest;
        let path = self.run.file.path();
        let bytes = self.run.file.read_range(chunk.start, chunk.length)?;
        let (keys, _) = bytes.split_at(chunk.rows * 8);
        let keys = keys.chunks_exact(8).map(|key| u64::from_le_bytes(key.try_into().expect("a key has eight bytes")));
        let mut columns = Vec::with_capacity(chunk.columns.len());
        for (key, header) in &chunk.columns {
            let start = header.offset as usize;
            let block = LoadedBlock { header: [*header], bytes: &bytes[start..start + header.length as usize], path };
            columns.push((*key, range(&block, header.encoding.kind(), 0..chunk.rows as u64)?));
        }
        Ok(Some(EdgeChunk { keys: keys.collect(), columns }))
    }
}
