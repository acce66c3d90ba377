//! Orders pairs of hash and node within a budget: in memory, or as sorted runs on the disk that are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::sync::Arc;

use model::Result;
use model::id::NodeId;
use model::platform::MappedFile;

use crate::bulk::context::BuildContext;
use crate::error::StorageError;
use crate::file::FileWriter;
use crate::format::{FileKind, HEADER_BYTES};

/// Bytes of a pair in a run.
const PAIR_BYTES: usize = 16;

/// Pairs of hash and node, to be sorted.
pub struct PairSorter {
    pairs: Vec<(u64, u64)>,
    pairs_max: usize,
    runs: Vec<Run>,
    count: u64,
}

/// A sorted run on the disk; its file is unfinished, so that dropping it removes it.
struct Run {
    _file: FileWriter,
    path: PathBuf,
    map: Arc<dyn MappedFile>,
    count: usize,
}

impl Run {
    fn pair(&self, index: usize) -> Result<(u64, u64)> {
        let start = HEADER_BYTES + index * PAIR_BYTES;
        let Some(bytes) = self.map.bytes().get(start..start + PAIR_BYTES) else {
            return Err(StorageError::corrupt(&self.path, start as u64, "a sorted run is shorter than it was written"));
        };
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a number has eight bytes"));
        Ok((number(0), number(8)))
    }
}

impl PairSorter {
    /// A sorter that holds at most about `memory_bytes`.
    pub fn new(memory_bytes: usize) -> PairSorter {
        PairSorter { pairs: Vec::new(), pairs_max: (memory_bytes / PAIR_BYTES).max(1 << 12), runs: Vec::new(), count: 0 }
    }

    /// Adds a pair.
    pub fn push(&mut self, context: &BuildContext, hash: u64, node: NodeId) -> Result<()> {
        self.pairs.push((hash, node.0));
        self.count += 1;
        if self.pairs.len() == self.pairs_max { self.spill(context) } else { Ok(()) }
    }

    /// Pairs so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn spill(&mut self, context: &BuildContext) -> Result<()> {
        context.interrupt.check()?;
        self.pairs.sort_unstable();
        let mut file = context.create(FileKind::Run)?;
        for (hash, node) in &self.pairs {
            file.write(&hash.to_le_bytes())?;
            file.write(&node.to_le_bytes())?;
        }
        let map = file.map_written()?;
        let path = file.path().to_owned();
        self.runs.push(Run { _file: file, path, map, count: self.pairs.len() });
        self.pairs.clear();
        Ok(())
    }

    /// Calls `each` with all pairs in order.
    pub fn finish(mut self, mut each: impl FnMut(u64, NodeId) -> Result<()>) -> Result<()> {
        self.pairs.sort_unstable();
        let mut heads = BinaryHeap::new();
        let memory = self.runs.len();
        let pair = |input: usize, index: usize| -> Result<Option<(u64, u64)>> {
            match self.runs.get(input) {
                Some(run) if index < run.count => run.pair(index).map(Some),
                Some(_) => Ok(None),
                None => Ok(self.pairs.get(index).copied()),
            }
        };
        for input in 0..=memory {
            heads.extend(pair(input, 0)?.map(|first| Reverse((first, input, 0))));
        }
        while let Some(Reverse(((hash, node), input, index))) = heads.pop() {
            each(hash, NodeId(node))?;
            heads.extend(pair(input, index + 1)?.map(|next| Reverse((next, input, index + 1))));
        }
        Ok(())
    }
}
