//! Keys that do not fit in memory: sorted runs of entries on the disk, found by batches of sorted probes.
//!
//! A run is cut into pieces, files of a few megabytes at most, so that a probe maps no more than one piece at a time.
//! While keys are still added, a filter in memory answers for nearly all keys that no run has.
//! Invariant: no key is in two runs, as each is looked up before it is added.
//! Cost: 16 bytes a key on the disk; a batch of probes is one forward pass over the pieces that it touches.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use model::Result;
use model::platform::MappedFile;

use super::entry::{ENTRY_BYTES, Entry};
use super::filter::KeyFilter;
use crate::build::BuildContext;
use crate::error::StorageError;
use crate::file::{FileWriter, TemporaryFile};
use crate::format::{FileKind, HEADER_BYTES};

/// Runs after which all are merged into one.
const RUNS_MAX: usize = 16;
/// Bytes of a piece of a run at most.
const PIECE_BYTES_MAX: usize = 8 << 20;
/// Bytes read from each run at a time while runs are merged.
const READ_BYTES: usize = 128 << 10;
/// Entries written between two checks for cancellation.
const CHECK_ENTRIES: u64 = 1 << 16;

/// All runs of one table.
#[derive(Debug)]
pub(super) struct KeyRuns {
    runs: Vec<KeyRun>,
    filter: Option<KeyFilter>,
    piece_entries: usize,
    read_bytes: usize,
}

/// Sorted entries in files that follow each other.
#[derive(Debug, Default)]
struct KeyRun {
    pieces: Vec<Piece>,
}

/// One file of a run.
struct Piece {
    file: TemporaryFile,
    first: (u64, u32),
    count: usize,
    /// The bytes, if there is memory to keep them mapped.
    map: Option<Arc<dyn MappedFile>>,
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Piece({}, {} keys)", self.file.path().display(), self.count)
    }
}

impl KeyRuns {
    /// No runs; the filter takes an eighth of `memory_bytes`.
    pub(super) fn new(memory_bytes: usize) -> KeyRuns {
        KeyRuns {
            runs: Vec::new(),
            filter: Some(KeyFilter::new(memory_bytes / 8)),
            piece_entries: (memory_bytes / 16 / ENTRY_BYTES).clamp(256, PIECE_BYTES_MAX / ENTRY_BYTES),
            read_bytes: (memory_bytes / 16 / RUNS_MAX).next_multiple_of(ENTRY_BYTES).min(READ_BYTES),
        }
    }

    /// Bytes held in memory, mapped ones among them.
    pub(super) fn memory_bytes(&self) -> usize {
        let pieces = self.runs.iter().flat_map(|run| &run.pieces);
        let bytes = |piece: &Piece| {
            size_of::<Piece>() + piece.map.as_ref().map_or(0, |_| HEADER_BYTES + piece.count * ENTRY_BYTES)
        };
        self.filter.as_ref().map_or(0, KeyFilter::memory_bytes) + pieces.map(bytes).sum::<usize>()
    }

    /// False if no run can have a key with such hashes.
    #[inline]
    pub(super) fn may_have(&self, entry: &Entry) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_have(entry))
    }

    /// Adds sorted entries, whose keys no run has.
    pub(super) fn push(&mut self, context: &BuildContext, entries: &[Entry]) -> Result<()> {
        let mut writer = RunWriter::new(context, self.piece_entries);
        for entry in entries {
            writer.push(entry)?;
            if let Some(filter) = &mut self.filter {
                filter.insert(entry);
            }
        }
        self.runs.push(writer.finish()?);
        if self.runs.len() >= RUNS_MAX { self.merge(context) } else { Ok(()) }
    }

    /// Merges all runs into one and drops the filter; keeps the run mapped if it takes no more than `mapped_bytes_max`.
    pub(super) fn freeze(&mut self, context: &BuildContext, mapped_bytes_max: usize) -> Result<()> {
        self.filter = None;
        if self.runs.len() > 1 {
            self.merge(context)?;
        }
        let pieces = self.runs.iter_mut().flat_map(|run| &mut run.pieces);
        let mut pieces: Vec<&mut Piece> = pieces.collect();
        let bytes: usize = pieces.iter().map(|piece| HEADER_BYTES + piece.count * ENTRY_BYTES).sum();
        if bytes <= mapped_bytes_max {
            for piece in &mut pieces {
                piece.map = Some(piece.file.map()?);
            }
        }
        Ok(())
    }

    fn merge(&mut self, context: &BuildContext) -> Result<()> {
        let mut writer = RunWriter::new(context, self.piece_entries);
        let read_bytes = self.read_bytes;
        let mut readers: Vec<RunReader> = self
            .runs
            .drain(..)
            .map(|run| RunReader { pieces: run.pieces.into_iter(), piece: None, at: 0, bytes: Vec::new(), read_bytes })
            .collect();
        let mut heads = BinaryHeap::with_capacity(readers.len());
        for (input, reader) in readers.iter_mut().enumerate() {
            heads.extend(reader.next()?.map(|entry| Reverse((entry, input))));
        }
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((entry, input)) = *head;
            writer.push(&entry)?;
            match readers[input].next()? {
                Some(next) => *head = Reverse((next, input)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(head);
                }
            }
        }
        self.runs.push(writer.finish()?);
        Ok(())
    }

    /// Looks up entries whose ids are rows of `out`, and puts the nodes of those that are there; sorts the entries.
    pub(super) fn find(&self, wanted: &mut [Entry], out: &mut [u32]) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        wanted.sort_unstable();
        for run in &self.runs {
            let mut rest = &*wanted;
            for (index, piece) in run.pieces.iter().enumerate() {
                let next = run.pieces.get(index + 1).map(|piece| piece.first);
                let end = next.map_or(rest.len(), |next| rest.partition_point(|entry| entry.key() < next));
                let (here, after) = rest.split_at(end);
                rest = after;
                if here.last().is_some_and(|last| last.key() >= piece.first) {
                    piece.find(here, out)?;
                }
            }
        }
        Ok(())
    }
}

impl Piece {
    /// As above, in this piece alone: one pass forward.
    fn find(&self, wanted: &[Entry], out: &mut [u32]) -> Result<()> {
        let mapped;
        let map = match &self.map {
            Some(map) => map,
            None => {
                mapped = self.file.map()?;
                &mapped
            }
        };
        let entries = map.bytes().get(HEADER_BYTES..).unwrap_or(&[]).as_chunks::<ENTRY_BYTES>().0;
        if entries.len() != self.count {
            let problem = format!("the run has {} keys, {} were written", entries.len(), self.count);
            return Err(StorageError::corrupt(self.file.path(), 0, problem));
        }
        let step = (self.count / wanted.len()).max(1);
        let mut at = 0;
        for want in wanted {
            at = seek(entries, at, step, want.key());
            let Some(bytes) = entries.get(at) else { break };
            let entry = Entry::from_bytes(bytes);
            if entry.key() == want.key() {
                out[want.id as usize] = entry.id;
            }
        }
        match map.lost() {
            Some((offset, error)) => Err(StorageError::unreadable(self.file.path(), offset as u64, error)),
            None => Ok(()),
        }
    }
}

/// The first place from `at` on whose key is not below `key`, by steps that double.
#[inline]
fn seek(entries: &[[u8; ENTRY_BYTES]], at: usize, step: usize, key: (u64, u32)) -> usize {
    let is_below = |place: usize| Entry::from_bytes(&entries[place]).key() < key;
    let (mut low, mut high, mut step) = (at, at, step);
    while high < entries.len() && is_below(high) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    let mut high = high.min(entries.len());
    while low < high {
        let middle = low.midpoint(high);
        if is_below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Writes a run, piece after piece.
struct RunWriter<'a> {
    context: &'a BuildContext,
    piece_entries: usize,
    run: KeyRun,
    open: Option<(FileWriter, (u64, u32), usize)>,
    count: u64,
}

impl<'a> RunWriter<'a> {
    fn new(context: &'a BuildContext, piece_entries: usize) -> RunWriter<'a> {
        RunWriter { context, piece_entries, run: KeyRun::default(), open: None, count: 0 }
    }

    fn push(&mut self, entry: &Entry) -> Result<()> {
        if self.count.is_multiple_of(CHECK_ENTRIES) {
            self.context.interrupt.check()?;
        }
        self.count += 1;
        let (file, _, count) = match &mut self.open {
            Some(open) => open,
            None => self.open.insert((self.context.create(FileKind::Run)?, entry.key(), 0)),
        };
        file.write(&entry.to_bytes())?;
        *count += 1;
        if *count == self.piece_entries { self.end_piece() } else { Ok(()) }
    }

    fn end_piece(&mut self) -> Result<()> {
        if let Some((file, first, count)) = self.open.take() {
            self.run.pieces.push(Piece { file: file.into_temporary()?, first, count, map: None });
        }
        Ok(())
    }

    fn finish(mut self) -> Result<KeyRun> {
        self.end_piece()?;
        Ok(self.run)
    }
}

/// Reads a run from start to end; each piece is removed once it was read.
struct RunReader {
    pieces: std::vec::IntoIter<Piece>,
    piece: Option<Piece>,
    /// Entries of the piece that were read into `bytes`, and bytes of those that were given.
    at: usize,
    bytes: Vec<u8>,
    read_bytes: usize,
}

impl RunReader {
    fn next(&mut self) -> Result<Option<Entry>> {
        loop {
            if let Some(bytes) = self.bytes.last_chunk::<ENTRY_BYTES>() {
                // Entries that were read lie in memory back to front, so that they can be taken from the end.
                let entry = Entry::from_bytes(bytes);
                self.bytes.truncate(self.bytes.len() - ENTRY_BYTES);
                return Ok(Some(entry));
            }
            if self.piece.as_ref().is_none_or(|piece| piece.count == self.at) {
                self.at = 0;
                self.piece = self.pieces.next();
            }
            let Some(piece) = &self.piece else { return Ok(None) };
            let count = (self.read_bytes / ENTRY_BYTES).clamp(1, piece.count - self.at);
            let start = (HEADER_BYTES + self.at * ENTRY_BYTES) as u64;
            self.bytes = piece.file.read_range(start, count * ENTRY_BYTES)?;
            self.bytes.as_chunks_mut::<ENTRY_BYTES>().0.reverse();
            self.at += count;
        }
    }
}
