//! Edges of one type as they come from one loader, unsorted and compact.
//!
//! Cost: eight bytes an edge for its ends, and for properties what their encoded blocks take.

use model::id::PropertyKeyId;
use model::{Column, Map, Result};

use crate::column::{Block, BlockHeader, BlockSource, ColumnWriter, MemoryColumn};
use crate::format::COLUMN_BLOCK_ROWS;

/// Edges in one allocation of keys, the first of which begins small: a graph may have very many types.
const KEYS_CHUNK: usize = 1 << 16;

/// Edges of one type, unsorted.
#[derive(Debug, Default)]
pub struct EdgeBuffer {
    keys: Vec<Vec<u64>>,
    columns: Vec<(PropertyKeyId, MemoryColumn, ColumnWriter)>,
    places: Map<PropertyKeyId, usize>,
    rows: u64,
}

impl EdgeBuffer {
    /// Adds edges by their keys (see `chunk::edge_key`) with their property columns.
    pub fn push(&mut self, mut keys: &[u64], columns: &[(PropertyKeyId, &Column)]) -> Result<()> {
        let before = self.rows;
        self.rows += keys.len() as u64;
        while !keys.is_empty() {
            if self.keys.last().is_none_or(|chunk| chunk.len() == KEYS_CHUNK) {
                self.keys.push(if self.keys.is_empty() { Vec::new() } else { Vec::with_capacity(KEYS_CHUNK) });
            }
            let chunk = self.keys.last_mut().expect("a chunk was just made if there was none");
            let count = keys.len().min(KEYS_CHUNK - chunk.len());
            if chunk.capacity() < chunk.len() + count {
                let wanted = (chunk.len() + count).next_power_of_two().min(KEYS_CHUNK);
                chunk.reserve_exact(wanted - chunk.len());
            }
            chunk.extend_from_slice(&keys[..count]);
            keys = &keys[count..];
        }
        for &(key, column) in columns {
            let at = *self.places.entry(key).or_insert_with(|| {
                self.columns.push((key, MemoryColumn::default(), ColumnWriter::default()));
                self.columns.len() - 1
            });
            let (_, memory, writer) = &mut self.columns[at];
            memory.pad(writer, before)?;
            memory.push(writer, column)?;
        }
        Ok(())
    }

    /// Edges held.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Approximate number of bytes held.
    pub fn memory_bytes(&self) -> usize {
        let of_column =
            |(_, memory, writer): &(_, MemoryColumn, ColumnWriter)| memory.memory_bytes() + writer.waiting_bytes();
        let of_keys = self.keys.iter().map(|chunk| chunk.capacity() * 8).sum::<usize>();
        of_keys + self.columns.iter().map(of_column).sum::<usize>()
    }

    /// Ends the stream of edges: keys, and columns of as many rows.
    pub fn seal(self) -> Result<SealedBuffer> {
        let rows = self.rows;
        let mut columns = Vec::new();
        for (key, mut memory, mut writer) in self.columns {
            memory.pad(&mut writer, rows)?;
            memory.seal(writer)?;
            columns.push((key, memory));
        }
        Ok(SealedBuffer { keys: self.keys, columns, rows })
    }
}

/// A buffer that takes no more edges.
#[derive(Debug)]
pub struct SealedBuffer {
    /// The keys, in chunks.
    pub keys: Vec<Vec<u64>>,
    /// The columns; one without any value has no blocks.
    pub columns: Vec<(PropertyKeyId, MemoryColumn)>,
    /// Edges held.
    pub rows: u64,
}

impl SealedBuffer {
    /// Blocks that each column has or would have.
    pub fn block_count(&self) -> usize {
        (self.rows as usize).div_ceil(COLUMN_BLOCK_ROWS)
    }
}

/// One column of several buffers, laid end to end in whole blocks.
#[derive(Debug)]
pub struct JoinedColumn {
    /// The property.
    pub key: PropertyKeyId,
    headers: Vec<BlockHeader>,
    /// For each buffer its column and the first of its blocks.
    parts: Vec<(usize, MemoryColumn)>,
}

impl JoinedColumn {
    /// The columns of `key` in the buffers; those that lack it have empty blocks.
    pub fn join(key: PropertyKeyId, buffers: &mut [SealedBuffer]) -> JoinedColumn {
        let mut joined = JoinedColumn { key, headers: Vec::new(), parts: Vec::new() };
        for buffer in buffers {
            let first = joined.headers.len();
            let count = buffer.block_count();
            match buffer.columns.iter().position(|(mine, column)| *mine == key && column.headers().len() == count) {
                Some(at) => {
                    let (_, column) = buffer.columns.swap_remove(at);
                    joined.headers.extend_from_slice(column.headers());
                    joined.parts.push((first, column));
                }
                None => joined.headers.resize(first + count, BlockHeader::absent(COLUMN_BLOCK_ROWS)),
            }
        }
        joined
    }
}

impl BlockSource for JoinedColumn {
    const IS_IN_MEMORY: bool = true;

    fn headers(&self) -> &[BlockHeader] {
        &self.headers
    }

    #[inline]
    fn block(&self, index: usize) -> Result<Block<'_>> {
        let header = &self.headers[index];
        let part = self.parts.partition_point(|(first, _)| *first <= index);
        match part.checked_sub(1).map(|at| &self.parts[at]) {
            Some((first, column)) if header.length > 0 => column.block(index - first),
            _ => Ok(Block::held(header, &[], std::path::Path::new("memory"))),
        }
    }
}
