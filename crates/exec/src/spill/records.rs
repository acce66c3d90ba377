//! A list of records of one size: in memory as far as that goes, its older part in a temporary file.
//!
//! Records are added and taken away at the end and read anywhere, so that it serves as a queue, as a stack and as a list
//! that is sorted at the end.
//!
//! Cost: in memory that of a `Vec`. Behind it a record is written once (again if it is taken away and another comes) and
//! read with the page that it is on, where this is not in memory: a search that climbs from many places meets the same
//! pages again and again, so a list that is read at random places holds as many as there is room for.

mod sorting;

use std::mem::size_of;

use model::{EdgeValue, NodeId, Result};

use super::pages::{PAGE_BYTES, Pages};
use crate::memory::Charge;

/// Most bytes of the latest records, which stay in memory once others are on pages.
const BLOCK_BYTES_MAX: usize = 8 << 10;
/// Records for which room is made first.
const FIRST_RECORDS: usize = 16;

/// Something of a fixed number of bytes.
pub(crate) trait Record: Copy {
    /// Number of bytes of a record.
    const BYTES: usize;
    /// Puts them at the beginning, and leaves the place behind.
    fn write(&self, out: &mut &mut [u8]);
    /// Takes them from the beginning.
    fn read(bytes: &mut &[u8]) -> Self;
}

impl Record for u64 {
    const BYTES: usize = 8;

    fn write(&self, out: &mut &mut [u8]) {
        let (word, rest) = std::mem::take(out).split_first_chunk_mut().expect("there is a place for each record");
        *word = self.to_le_bytes();
        *out = rest;
    }

    fn read(bytes: &mut &[u8]) -> u64 {
        let (word, rest) = bytes.split_first_chunk().expect("as many bytes are read as were written");
        *bytes = rest;
        u64::from_le_bytes(*word)
    }
}

impl Record for NodeId {
    const BYTES: usize = 8;

    fn write(&self, out: &mut &mut [u8]) {
        self.0.write(out);
    }

    fn read(bytes: &mut &[u8]) -> NodeId {
        NodeId(u64::read(bytes))
    }
}

impl Record for EdgeValue {
    const BYTES: usize = 32;

    fn write(&self, out: &mut &mut [u8]) {
        let EdgeValue { id, source, target, edge_type } = *self;
        [id.0, source.0, target.0, edge_type.0.into()].iter().for_each(|word| word.write(out));
    }

    fn read(bytes: &mut &[u8]) -> EdgeValue {
        let [id, source, target, edge_type] = std::array::from_fn(|_| u64::read(bytes));
        EdgeValue {
            id: model::EdgeId(id),
            source: NodeId(source),
            target: NodeId(target),
            edge_type: model::EdgeTypeId(edge_type as u32),
        }
    }
}

impl<A: Record, B: Record> Record for (A, B) {
    const BYTES: usize = A::BYTES + B::BYTES;

    fn write(&self, out: &mut &mut [u8]) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(bytes: &mut &[u8]) -> (A, B) {
        (A::read(bytes), B::read(bytes))
    }
}

/// See the module.
pub(crate) struct Records<'m, R> {
    charge: Charge<'m>,
    /// Pages of the older records; none while all are in memory.
    pages: Option<Pages<'m>>,
    /// Number of records on pages.
    base: u64,
    /// The records behind those.
    tail: Vec<R>,
    /// The page of the record that was read last.
    page_read: u64,
}

impl<'m, R: Record> Records<'m, R> {
    /// Records of a page.
    const PAGE_RECORDS: u64 = (PAGE_BYTES / R::BYTES) as u64;

    /// No records.
    pub(crate) fn new(charge: Charge<'m>) -> Records<'m, R> {
        Records { charge, pages: None, base: 0, tail: Vec::new(), page_read: 0 }
    }

    /// Another empty list of the same operator.
    pub(crate) fn another<S: Record>(&self) -> Records<'m, S> {
        Records::new(self.charge.another())
    }

    pub(crate) fn len(&self) -> u64 {
        self.base + self.tail.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records that stay in memory once others are on pages.
    fn block(&self) -> usize {
        let bytes = (self.charge.memory().limit() / 16).clamp(64, BLOCK_BYTES_MAX);
        (bytes / size_of::<R>()).max(2)
    }

    #[inline]
    pub(crate) fn push(&mut self, record: R) -> Result<()> {
        if self.tail.len() == self.tail.capacity() {
            self.make_room()?;
        }
        self.tail.push(record);
        Ok(())
    }

    pub(crate) fn extend(&mut self, records: &[R]) -> Result<()> {
        let mut left = records;
        while !left.is_empty() {
            if self.tail.len() == self.tail.capacity() {
                self.make_room()?;
            }
            let (now, later) = left.split_at(left.len().min(self.tail.capacity() - self.tail.len()));
            self.tail.extend_from_slice(now);
            left = later;
        }
        Ok(())
    }

    /// Adds all records of another list.
    pub(crate) fn append(&mut self, other: &mut Records<'m, R>) -> Result<()> {
        let (mut place, mut buffer) = (0, Vec::new());
        while place < other.len() {
            let piece = other.piece(place, &mut buffer)?;
            place += piece.len() as u64;
            self.extend(piece)?;
        }
        Ok(())
    }

    /// The record at a place.
    #[inline]
    pub(crate) fn get(&mut self, place: u64) -> Result<R> {
        if place >= self.base {
            return Ok(self.tail[(place - self.base) as usize]);
        }
        self.get_from_page(place)
    }

    fn get_from_page(&mut self, place: u64) -> Result<R> {
        let (page, at) = Self::place_on_page(place);
        let pages = self.pages.as_mut().expect("records before those in memory are on pages");
        // A list that is read in order, one way or the other, needs no page again.
        if page.abs_diff(self.page_read) > 1 {
            pages.widen();
        }
        self.page_read = page;
        Ok(R::read(&mut &pages.read(page)?[at..]))
    }

    /// The page of a record, and where it begins there.
    #[inline]
    fn place_on_page(place: u64) -> (u64, usize) {
        (place / Self::PAGE_RECORDS, (place % Self::PAGE_RECORDS) as usize * R::BYTES)
    }

    /// Number of records that stand on a page from a place on, at most `most`.
    fn fit_on_page(place: u64, most: u64) -> u64 {
        most.min(Self::PAGE_RECORDS - place % Self::PAGE_RECORDS)
    }

    /// The records from a place on, as many as are at hand or fit into `buffer`; none behind the end.
    pub(crate) fn piece<'p>(&'p mut self, place: u64, buffer: &'p mut Vec<R>) -> Result<&'p [R]> {
        if place >= self.base {
            return Ok(self.tail.get((place - self.base) as usize..).unwrap_or(&[]));
        }
        let count = self.block() as u64;
        self.read_pages(place, self.base.min(place + count), buffer)?;
        Ok(buffer)
    }

    /// Takes away all records from a place on.
    pub(crate) fn truncate(&mut self, length: u64) -> Result<()> {
        if length >= self.base {
            self.tail.truncate((length - self.base) as usize);
            return Ok(());
        }
        let start = length.saturating_sub(self.block() as u64 / 2);
        let mut tail = std::mem::take(&mut self.tail);
        let outcome = self.read_pages(start, length, &mut tail);
        self.tail = tail;
        self.base = start;
        outcome
    }

    fn read_pages(&mut self, start: u64, end: u64, out: &mut Vec<R>) -> Result<()> {
        out.clear();
        let Some(pages) = &mut self.pages else { return Ok(()) };
        let mut place = start;
        while place < end {
            let (page, at) = Self::place_on_page(place);
            let count = Self::fit_on_page(place, end - place);
            let mut bytes = &pages.read(page)?[at..];
            out.extend((0..count).map(|_| R::read(&mut bytes)));
            place += count;
        }
        Ok(())
    }

    #[cold]
    fn make_room(&mut self) -> Result<()> {
        let block = self.block();
        let capacity = self.tail.capacity();
        if self.pages.is_some() {
            if capacity >= block {
                return self.spill();
            }
            self.tail.reserve_exact(block - self.tail.len());
            return Ok(());
        }
        let wanted = (2 * capacity).max(FIRST_RECORDS.min(block));
        let bytes = wanted * size_of::<R>();
        if wanted <= block {
            self.charge.count(bytes);
        } else if self.charge.try_hold(bytes).is_err() {
            return self.spill();
        }
        self.tail.reserve_exact(wanted - self.tail.len());
        Ok(())
    }

    /// Puts all but the latest records on pages.
    fn spill(&mut self) -> Result<()> {
        let block = self.block();
        let count = self.tail.len().saturating_sub(block / 2).max(1);
        let pages = self.pages.get_or_insert_with(|| Pages::of_list(self.charge.another()));
        let mut left = &self.tail[..count];
        let mut place = self.base;
        while !left.is_empty() {
            let (page, at) = Self::place_on_page(place);
            let (now, later) = left.split_at(Self::fit_on_page(place, left.len() as u64) as usize);
            let mut bytes = &mut pages.write(page)?[at..];
            now.iter().for_each(|record| record.write(&mut bytes));
            place += now.len() as u64;
            left = later;
        }
        self.base = place;
        self.tail.drain(..count);
        if self.tail.capacity() > block {
            self.tail.shrink_to(block);
        }
        // The latest records, and a piece of others that is looked at.
        self.charge.count(2 * block * size_of::<R>());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use model::{Interrupt, MemoryBudget};
    use testing::random::{SeededRandom, seed_or};
    use testing::simulation::{FaultyDisk, MemoryDisk};

    use super::Records;
    use crate::memory::{QueryMemory, SpillSpace};

    fn with_limit<T>(limit: usize, work: impl FnOnce(&QueryMemory) -> T) -> T {
        let disk = MemoryDisk::new();
        disk.put_directory(&PathBuf::from("spill"));
        let space = SpillSpace::new(Arc::new(disk), vec![PathBuf::from("spill")]);
        let memory = QueryMemory::new(MemoryBudget::new(1 << 30), Some(limit), space.clone());
        let outcome = work(&memory);
        assert_eq!((memory.used(), space.open_files()), (0, 0));
        outcome
    }

    /// Three words: they do not fill a page.
    type Triple = (u64, (u64, u64));

    #[test]
    fn a_list_on_pages_is_as_one_in_memory() {
        let first = seed_or(60);
        for seed in first..first + 60 {
            let limit = [0, 10_000, 200_000, 4 << 20][seed as usize % 4];
            let spilled = with_limit(limit, |memory| {
                check(&mut SeededRandom::new(seed), memory, &format!("FUZZ_SEED={seed} limit {limit}"));
                assert!(memory.peak() < limit.max(64 << 10) + (64 << 10), "FUZZ_SEED={seed} holds {}", memory.peak());
                memory.spilled()
            });
            assert!(spilled > 0 || limit > 10_000, "FUZZ_SEED={seed} limit {limit} spills nothing");
        }
    }

    fn check(random: &mut SeededRandom, memory: &QueryMemory, place: &str) {
        let mut records: Records<'_, Triple> = Records::new(memory.open("test", None));
        let mut expected: Vec<Triple> = Vec::new();
        let mut buffer = Vec::new();
        for step in 0..400 {
            let length = expected.len() as u64;
            match random.below(10) {
                0..=2 => {
                    let more = (0..random.below(400)).map(|_| (random.below(50), (step, random.below(1 << 40))));
                    let more: Vec<Triple> = more.collect();
                    records.extend(&more).unwrap();
                    expected.extend(more);
                }
                3 => {
                    records.push((step, (step, step))).unwrap();
                    expected.push((step, (step, step)));
                }
                4 => {
                    // A little is taken away and, now and then, much: what comes after stands where other records stood.
                    let reach = if random.chance(10) { length } else { length.min(300) };
                    let left = length - random.below(reach + 1);
                    records.truncate(left).unwrap();
                    expected.truncate(left as usize);
                }
                5 if random.chance(10) => {
                    records = records.sorted_by_key(&Interrupt::new(), |record| record.0).unwrap();
                    expected.sort_by_key(|record| record.0);
                }
                5..=7 if length > 0 => {
                    // Places near each other, so that some are found in memory, and far ones between.
                    let (near, width) = (random.below(length), 1 + random.below(2_000));
                    for _ in 0..random.below(60) {
                        let at = if random.chance(80) { near + random.below(width) } else { random.below(length) };
                        let at = at.min(length - 1);
                        assert_eq!(records.get(at).unwrap(), expected[at as usize], "{place} step {step} at {at}");
                    }
                }
                _ => {
                    let at = random.below(length + 1) as usize;
                    let piece = records.piece(at as u64, &mut buffer).unwrap();
                    assert_eq!(piece, &expected[at..at + piece.len()], "{place} step {step} at {at}");
                    assert_eq!(piece.is_empty(), at as u64 == length, "{place} step {step} at {at}");
                }
            }
            assert_eq!(records.len(), expected.len() as u64, "{place} step {step}");
        }
        let mut sorted = records.sorted_by_key(&Interrupt::new(), |record| record.0).unwrap();
        expected.sort_by_key(|record| record.0);
        for (at, record) in expected.iter().enumerate() {
            assert_eq!(sorted.get(at as u64).unwrap(), *record, "{place} at {at}");
        }
    }

    #[test]
    fn places_that_are_read_again_are_in_memory() {
        for (limit, places, are_held) in [(1 << 20, 40, true), (1 << 20, 500, false), (0, 40, false), (0, 2, true)] {
            let disk = MemoryDisk::new();
            disk.put_directory(&PathBuf::from("spill"));
            let disk = FaultyDisk::new(Arc::new(disk));
            let space = SpillSpace::new(Arc::new(disk.clone()), vec![PathBuf::from("spill")]);
            let memory = QueryMemory::new(MemoryBudget::new(1 << 30), Some(limit), space);
            let mut records: Records<'_, u64> = Records::new(memory.open("test", None));
            records.extend(&(0..1_000_000).collect::<Vec<u64>>()).unwrap();
            let mut read =
                || (0..places).try_for_each(|at| records.get(at * 1_900).map(|word| assert_eq!(word, at * 1_900)));
            read().unwrap();
            disk.lose_unsynced(None).unwrap();
            assert_eq!(read().is_ok(), are_held, "{places} places within {limit} bytes");
        }
    }
}
