//! Orders entries within a budget: in memory, or as sorted runs on the disk that are merged.

use model::Result;

use crate::build::BuildContext;
use crate::build::merge::merge_sorted;
use crate::codec::bytes::Put;
use crate::file::TemporaryFile;
use crate::format::{FileKind, HEADER_BYTES};

/// Bytes of a run read at a time.
const PIECE_BYTES: usize = 256 << 10;
/// Entries that are put in order at once, in some hundredths of a second. Pieces of them are merged at the end: to put all in
/// order at once could take minutes in which nothing is heard.
const PIECE_ENTRIES: usize = 1 << 16;

/// Entries to be sorted.
pub struct EntrySorter {
    bytes: Vec<u8>,
    /// Start and end of each entry; in pieces, each of which is in order but for the last.
    places: Vec<(usize, usize)>,
    bytes_max: usize,
    runs: Vec<SortedRun>,
    count: u64,
}

/// A sorted run on the disk; dropping it removes its file.
struct SortedRun {
    file: TemporaryFile,
    length: u64,
}

impl EntrySorter {
    /// A sorter that holds at most about `bytes_max`.
    pub fn new(bytes_max: usize) -> EntrySorter {
        let (bytes, places, runs) = (Vec::new(), Vec::new(), Vec::new());
        EntrySorter { bytes, places, bytes_max: bytes_max.max(1 << 16), runs, count: 0 }
    }

    /// Entries so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds an entry.
    pub fn push(&mut self, context: &BuildContext, entry: &[u8]) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry);
        self.places.push((start, self.bytes.len()));
        self.count += 1;
        if self.places.len().is_multiple_of(PIECE_ENTRIES) {
            self.sort_last_piece();
        }
        let held = self.bytes.len() + self.places.len() * 16;
        if held >= self.bytes_max { self.spill(context) } else { Ok(()) }
    }

    fn sort_last_piece(&mut self) {
        let bytes = &self.bytes;
        if let Some(piece) = self.places.chunks_mut(PIECE_ENTRIES).next_back() {
            piece.sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
        }
    }

    /// The entries in memory, in pieces that are in order.
    fn pieces(&self) -> Vec<impl Iterator<Item = &[u8]>> {
        let pieces = self.places.chunks(PIECE_ENTRIES);
        pieces.map(|places| places.iter().map(|&(start, end)| &self.bytes[start..end])).collect()
    }

    fn spill(&mut self, context: &BuildContext) -> Result<()> {
        self.sort_last_piece();
        let mut file = context.create(FileKind::Run)?;
        let mut pieces = self.pieces();
        let mut heard = context.heard();
        merge_sorted(
            pieces.len(),
            |piece| Ok(pieces[piece].next()),
            |entry: &[u8]| {
                heard()?;
                let mut length = Vec::with_capacity(4);
                length.put_u32(entry.len() as u32);
                file.write(&length)?;
                file.write(entry)
            },
        )?;
        drop(pieces);
        let length = file.position();
        self.runs.push(SortedRun { file: file.into_temporary()?, length });
        self.bytes.clear();
        self.places.clear();
        Ok(())
    }

    /// Calls `each` with all entries in order; equal ones come as often as they were added.
    pub fn finish(mut self, context: &BuildContext, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.sort_last_piece();
        let mut pieces = self.pieces();
        let mut heard = context.heard();
        let mut each = |entry: &[u8]| {
            heard()?;
            each(entry)
        };
        if self.runs.is_empty() {
            return merge_sorted(pieces.len(), |piece| Ok(pieces[piece].next()), each);
        }
        let mut readers: Vec<Reader<'_>> = self.runs.iter().map(Reader::new).collect();
        let runs = readers.len();
        // The entries in memory are the inputs after the last run.
        let next = |input: usize| match readers.get_mut(input) {
            Some(reader) => reader.next(),
            None => Ok(pieces[input - runs].next().map(<[u8]>::to_vec)),
        };
        merge_sorted(runs + self.places.chunks(PIECE_ENTRIES).len(), next, |entry| each(&entry))
    }
}

/// Reads a sorted run from start to end, piece by piece.
struct Reader<'a> {
    run: &'a SortedRun,
    piece: Vec<u8>,
    /// Start of the next entry in the piece, and end of the piece in the file.
    at: usize,
    end: u64,
}

impl Reader<'_> {
    fn new(run: &SortedRun) -> Reader<'_> {
        Reader { run, piece: Vec::new(), at: 0, end: HEADER_BYTES as u64 }
    }

    /// Sees to it that `bytes` bytes are in the piece from `at` on.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        let left = self.piece.len() - self.at;
        if left >= bytes {
            return Ok(());
        }
        self.piece.drain(..self.at);
        self.at = 0;
        let wanted = (bytes - left).max(PIECE_BYTES).min((self.run.length - self.end) as usize);
        self.piece.extend(self.run.file.read_range(self.end, wanted)?);
        self.end += wanted as u64;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.at == self.piece.len() && self.end == self.run.length {
            return Ok(None);
        }
        self.fill(4)?;
        let length: [u8; 4] = self.piece[self.at..self.at + 4].try_into().expect("a length has four bytes");
        let length = u32::from_le_bytes(length) as usize;
        self.at += 4;
        self.fill(length)?;
        self.at += length;
        Ok(Some(self.piece[self.at - length..self.at].to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use model::Interrupt;
    use testing::random::{SeededRandom, seed_or};

    use super::{EntrySorter, PIECE_ENTRIES};
    use crate::build::BuildConfig;
    use crate::bulk::tests::empty_store;

    #[test]
    fn entries_come_in_order_however_many_pieces_and_runs_they_are() {
        let mut random = SeededRandom::new(seed_or(11));
        for (entries, bytes_max) in [
            (0, 1 << 30),
            (1_000, 1 << 30),
            (PIECE_ENTRIES, 1 << 30),
            (3 * PIECE_ENTRIES + 7, 1 << 30),
            (3 * PIECE_ENTRIES, 3 << 20),
        ] {
            let context = empty_store(1).build(&BuildConfig::default(), &Interrupt::new());
            let mut sorter = EntrySorter::new(bytes_max);
            let mut expected: Vec<Vec<u8>> = Vec::new();
            for _ in 0..entries {
                let entry = random.below(1 << 20).to_string().into_bytes();
                sorter.push(&context, &entry).unwrap();
                expected.push(entry);
            }
            expected.sort();
            let mut found = Vec::new();
            sorter
                .finish(&context, |entry| {
                    found.push(entry.to_vec());
                    Ok(())
                })
                .unwrap();
            assert!(found == expected, "{entries} entries, {bytes_max} bytes");
        }
    }

    #[test]
    fn a_sort_that_nobody_wants_ends() {
        let interrupt = Interrupt::new();
        let context = empty_store(1).build(&BuildConfig::default(), &interrupt);
        let mut sorter = EntrySorter::new(1 << 30);
        (0..2 * PIECE_ENTRIES).for_each(|number| sorter.push(&context, &number.to_le_bytes()).unwrap());
        interrupt.cancel();
        let mut seen = 0;
        let ended = sorter.finish(&context, |_| {
            seen += 1;
            Ok(())
        });
        assert_eq!(ended.unwrap_err().code(), model::ErrorCode::Cancelled);
        assert!(seen < PIECE_ENTRIES, "{seen}");
    }
}
