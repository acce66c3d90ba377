//! Orders pairs of hash and node within a budget: in memory, or as sorted runs on the disk that are merged.

use model::Result;
use model::id::NodeId;

use crate::build::BuildContext;
use crate::build::merge::merge_sorted;
use crate::file::TemporaryFile;
use crate::format::{FileKind, HEADER_BYTES};

/// Bytes of a pair in a run.
const PAIR_BYTES: usize = 16;
/// Pairs of a run read at a time.
const PIECE_PAIRS: usize = 1 << 13;

/// Pairs of hash and node, to be sorted.
pub struct PairSorter {
    pairs: Vec<(u64, u64)>,
    pairs_max: usize,
    runs: Vec<Run>,
    count: u64,
    has_removals: bool,
}

/// A sorted run on the disk; dropping it removes its file.
struct Run {
    file: TemporaryFile,
    count: usize,
}

/// Reads a run from start to end, piece by piece.
struct RunReader<'a> {
    run: &'a Run,
    bytes: Vec<u8>,
    at: usize,
}

impl RunReader<'_> {
    fn next(&mut self) -> Result<Option<(u64, u64)>> {
        if self.at == self.run.count {
            return Ok(None);
        }
        let piece = self.at % PIECE_PAIRS;
        if piece == 0 {
            let length = PIECE_PAIRS.min(self.run.count - self.at) * PAIR_BYTES;
            let start = (HEADER_BYTES + self.at * PAIR_BYTES) as u64;
            self.bytes = self.run.file.read_range(start, length)?;
        }
        self.at += 1;
        let bytes = &self.bytes[piece * PAIR_BYTES..(piece + 1) * PAIR_BYTES];
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a number has eight bytes"));
        Ok(Some((number(0), number(8))))
    }
}

impl PairSorter {
    /// A sorter that holds at most about `memory_bytes`.
    pub fn new(memory_bytes: usize) -> PairSorter {
        PairSorter {
            pairs: Vec::new(),
            pairs_max: (memory_bytes / PAIR_BYTES).max(1 << 12),
            runs: Vec::new(),
            count: 0,
            has_removals: false,
        }
    }

    /// Adds a pair, or that it was removed.
    pub fn push(&mut self, context: &BuildContext, hash: u64, node: NodeId, is_removed: bool) -> Result<()> {
        self.pairs.push((hash, node.0 << 1 | u64::from(is_removed)));
        self.count += 1;
        self.has_removals |= is_removed;
        if self.pairs.len() == self.pairs_max { self.spill(context) } else { Ok(()) }
    }

    /// Pairs so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// True if some pair was removed.
    pub fn has_removals(&self) -> bool {
        self.has_removals
    }

    fn spill(&mut self, context: &BuildContext) -> Result<()> {
        context.interrupt.check()?;
        self.pairs.sort_unstable();
        let mut file = context.create(FileKind::Run)?;
        for (hash, node) in &self.pairs {
            file.write(&hash.to_le_bytes())?;
            file.write(&node.to_le_bytes())?;
        }
        self.runs.push(Run { file: file.into_temporary()?, count: self.pairs.len() });
        self.pairs.clear();
        Ok(())
    }

    /// Calls `each` with all pairs in order, and whether each was removed.
    pub fn finish(mut self, mut each: impl FnMut(u64, NodeId, bool) -> Result<()>) -> Result<()> {
        self.pairs.sort_unstable();
        let mut readers: Vec<RunReader<'_>> =
            self.runs.iter().map(|run| RunReader { run, bytes: Vec::new(), at: 0 }).collect();
        let mut memory = self.pairs.iter().copied();
        // The pairs in memory are the input after the last run.
        let next = |input: usize| match readers.get_mut(input) {
            Some(reader) => reader.next(),
            None => Ok(memory.next()),
        };
        merge_sorted(self.runs.len() + 1, next, |(hash, node)| each(hash, NodeId(node >> 1), node & 1 == 1))
    }
}
