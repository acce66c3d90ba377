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
/// Pairs that are put in order at once, in some hundredths of a second; pieces of them are merged at the end.
const SORTED_PAIRS: usize = 1 << 19;

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
        if self.pairs.len().is_multiple_of(SORTED_PAIRS) {
            self.sort_last_piece();
        }
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

    fn sort_last_piece(&mut self) {
        if let Some(piece) = self.pairs.chunks_mut(SORTED_PAIRS).next_back() {
            piece.sort_unstable();
        }
    }

    /// The pairs in memory, in pieces that are in order.
    fn pieces(&self) -> Vec<impl Iterator<Item = (u64, u64)>> {
        self.pairs.chunks(SORTED_PAIRS).map(|piece| piece.iter().copied()).collect()
    }

    fn spill(&mut self, context: &BuildContext) -> Result<()> {
        self.sort_last_piece();
        let mut file = context.create(FileKind::Run)?;
        let mut pieces = self.pieces();
        let mut heard = context.heard();
        merge_sorted(
            pieces.len(),
            |piece| Ok(pieces[piece].next()),
            |(hash, node): (u64, u64)| {
                heard()?;
                file.write(&hash.to_le_bytes())?;
                file.write(&node.to_le_bytes())
            },
        )?;
        drop(pieces);
        self.runs.push(Run { file: file.into_temporary()?, count: self.pairs.len() });
        self.pairs.clear();
        Ok(())
    }

    /// Calls `each` with all pairs in order, and whether each was removed.
    pub fn finish(
        mut self,
        context: &BuildContext,
        mut each: impl FnMut(u64, NodeId, bool) -> Result<()>,
    ) -> Result<()> {
        self.sort_last_piece();
        let mut readers: Vec<RunReader<'_>> =
            self.runs.iter().map(|run| RunReader { run, bytes: Vec::new(), at: 0 }).collect();
        let (runs, mut pieces, mut heard) = (readers.len(), self.pieces(), context.heard());
        // The pairs in memory are the inputs after the last run.
        let next = |input: usize| match readers.get_mut(input) {
            Some(reader) => reader.next(),
            None => Ok(pieces[input - runs].next()),
        };
        merge_sorted(runs + self.pairs.chunks(SORTED_PAIRS).len(), next, |(hash, node)| {
            heard()?;
            each(hash, NodeId(node >> 1), node & 1 == 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use model::{Interrupt, NodeId};
    use testing::random::{SeededRandom, seed_or};

    use super::{PAIR_BYTES, PairSorter, SORTED_PAIRS};
    use crate::build::BuildConfig;
    use crate::bulk::tests::empty_store;

    #[test]
    fn pairs_come_in_order_however_many_pieces_and_runs_they_are() {
        let mut random = SeededRandom::new(seed_or(12));
        for (pairs, pairs_max) in [
            (1_000, usize::MAX),
            (SORTED_PAIRS, usize::MAX),
            (2 * SORTED_PAIRS + 3, usize::MAX),
            (SORTED_PAIRS + 9, SORTED_PAIRS / 3),
        ] {
            let context = empty_store(1).build(&BuildConfig::default(), &Interrupt::new());
            let mut sorter = PairSorter::new(pairs_max.saturating_mul(PAIR_BYTES));
            let mut expected: Vec<(u64, u64)> = Vec::new();
            for node in 0..pairs as u64 {
                let hash = random.below(1 << 16);
                sorter.push(&context, hash, NodeId(node), false).unwrap();
                expected.push((hash, node));
            }
            expected.sort_unstable();
            let mut found = Vec::new();
            sorter
                .finish(&context, |hash, node, is_removed| {
                    assert!(!is_removed);
                    found.push((hash, node.0));
                    Ok(())
                })
                .unwrap();
            assert!(found == expected, "{pairs} pairs, {pairs_max} at once");
        }
    }
}
