//! Orders entries within a budget: in memory, or as sorted runs on the disk that are merged.

use model::Result;

use crate::build::BuildContext;
use crate::build::merge::merge_sorted;
use crate::codec::bytes::Put;
use crate::file::TemporaryFile;
use crate::format::{FileKind, HEADER_BYTES};

/// Bytes of a run read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Entries to be sorted.
pub struct EntrySorter {
    bytes: Vec<u8>,
    ends: Vec<usize>,
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
        EntrySorter {
            bytes: Vec::new(),
            ends: Vec::new(),
            bytes_max: bytes_max.max(1 << 16),
            runs: Vec::new(),
            count: 0,
        }
    }

    /// Entries so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds an entry.
    pub fn push(&mut self, context: &BuildContext, entry: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(entry);
        self.ends.push(self.bytes.len());
        self.count += 1;
        let held = self.bytes.len() + self.ends.len() * 16;
        if held >= self.bytes_max { self.spill(context) } else { Ok(()) }
    }

    fn sorted(&self) -> Vec<(usize, usize)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut places: Vec<(usize, usize)> = starts.zip(self.ends.iter().copied()).collect();
        places.sort_unstable_by(|a, b| self.bytes[a.0..a.1].cmp(&self.bytes[b.0..b.1]));
        places
    }

    fn spill(&mut self, context: &BuildContext) -> Result<()> {
        context.interrupt.check()?;
        let mut file = context.create(FileKind::Run)?;
        for (start, end) in self.sorted() {
            let mut length = Vec::with_capacity(4);
            length.put_u32((end - start) as u32);
            file.write(&length)?;
            file.write(&self.bytes[start..end])?;
        }
        let length = file.position();
        self.runs.push(SortedRun { file: file.into_temporary()?, length });
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }

    /// Calls `each` with all entries in order; equal ones come as often as they were added.
    pub fn finish(self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let places = self.sorted();
        if self.runs.is_empty() {
            return places.iter().try_for_each(|&(start, end)| each(&self.bytes[start..end]));
        }
        let mut readers: Vec<Reader<'_>> = self.runs.iter().map(Reader::new).collect();
        let mut memory = places.iter().map(|&(start, end)| self.bytes[start..end].to_vec());
        // The entries in memory are the input after the last run.
        let next = |input: usize| match readers.get_mut(input) {
            Some(reader) => reader.next(),
            None => Ok(memory.next()),
        };
        merge_sorted(self.runs.len() + 1, next, |entry| each(&entry))
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
