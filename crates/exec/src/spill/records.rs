//! A list of records of one size: in memory as far as that goes, its older part in a temporary file.
//!
//! Records are added and taken away at the end and read anywhere, so that it serves as a queue, as a stack and as a list
//! that is sorted at the end.
//!
//! Cost: in memory that of a `Vec`. Behind it a record is written once (again if it is taken away and another comes), and
//! reading at a random place reads a block.

mod sorting;

use std::mem::size_of;

use model::{EdgeValue, NodeId, Result};

use crate::memory::{Charge, SpillFile};

/// Most bytes of records that stay in memory once others are in the file.
const BLOCK_BYTES_MAX: usize = 8 << 10;
/// Most bytes that are written at a time.
const WRITE_BYTES: usize = 64 << 10;
/// Records for which room is made first.
const FIRST_RECORDS: usize = 16;

/// Something of a fixed number of bytes.
pub(crate) trait Record: Copy {
    /// How many bytes.
    const BYTES: usize;
    /// Adds them at the end.
    fn write(&self, out: &mut Vec<u8>);
    /// Takes them from the beginning.
    fn read(bytes: &mut &[u8]) -> Self;
}

impl Record for u64 {
    const BYTES: usize = 8;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(bytes: &mut &[u8]) -> u64 {
        let (word, rest) = bytes.split_first_chunk().expect("as many bytes are read as were written");
        *bytes = rest;
        u64::from_le_bytes(*word)
    }
}

impl Record for NodeId {
    const BYTES: usize = 8;

    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }

    fn read(bytes: &mut &[u8]) -> NodeId {
        NodeId(u64::read(bytes))
    }
}

impl Record for EdgeValue {
    const BYTES: usize = 32;

    fn write(&self, out: &mut Vec<u8>) {
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

    fn write(&self, out: &mut Vec<u8>) {
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
    file: Option<SpillFile>,
    /// How many records are in the file alone.
    base: u64,
    /// The records behind those.
    tail: Vec<R>,
    /// Records of the file that were read last, and the place of the first of them.
    window: (u64, Vec<R>),
    bytes: Vec<u8>,
}

impl<'m, R: Record> Records<'m, R> {
    /// No records.
    pub(crate) fn new(charge: Charge<'m>) -> Records<'m, R> {
        Records { charge, file: None, base: 0, tail: Vec::new(), window: (0, Vec::new()), bytes: Vec::new() }
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

    /// Records that stay in memory once others are in the file.
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
        let (start, window) = &self.window;
        match place.checked_sub(*start).and_then(|at| window.get(at as usize)) {
            Some(record) => Ok(*record),
            None => self.get_from_file(place),
        }
    }

    #[cold]
    fn get_from_file(&mut self, place: u64) -> Result<R> {
        let count = (self.block() / 2) as u64;
        let start = place / count * count;
        let mut window = std::mem::take(&mut self.window.1);
        self.read_file(start, self.base.min(start + count), &mut window)?;
        self.window = (start, window);
        Ok(self.window.1[(place - start) as usize])
    }

    /// The records from a place on, as many as are at hand or fit into `buffer`; none behind the end.
    pub(crate) fn piece<'p>(&'p mut self, place: u64, buffer: &'p mut Vec<R>) -> Result<&'p [R]> {
        if place >= self.base {
            return Ok(self.tail.get((place - self.base) as usize..).unwrap_or(&[]));
        }
        let count = self.block() as u64;
        self.read_file(place, self.base.min(place + count), buffer)?;
        Ok(buffer)
    }

    /// Takes away all records from a place on.
    pub(crate) fn truncate(&mut self, length: u64) -> Result<()> {
        if length >= self.base {
            self.tail.truncate((length - self.base) as usize);
            return Ok(());
        }
        // What comes into the file from here on may be other than what the window shows.
        self.window.1.clear();
        let start = length.saturating_sub(self.block() as u64 / 2);
        let mut tail = std::mem::take(&mut self.tail);
        let outcome = self.read_file(start, length, &mut tail);
        self.tail = tail;
        self.base = start;
        outcome
    }

    fn read_file(&mut self, start: u64, end: u64, out: &mut Vec<R>) -> Result<()> {
        out.clear();
        let Some(file) = self.file.as_ref().filter(|_| start < end) else { return Ok(()) };
        self.bytes.resize((end - start) as usize * R::BYTES, 0);
        file.read_at(start * R::BYTES as u64, &mut self.bytes)?;
        let mut bytes = self.bytes.as_slice();
        out.extend((start..end).map(|_| R::read(&mut bytes)));
        Ok(())
    }

    #[cold]
    fn make_room(&mut self) -> Result<()> {
        let block = self.block();
        let capacity = self.tail.capacity();
        if self.file.is_some() {
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

    /// Writes all but the latest records to the file.
    fn spill(&mut self) -> Result<()> {
        let block = self.block();
        let count = self.tail.len().saturating_sub(block / 2).max(1);
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.charge.spill_file()?),
        };
        let mut written = self.base;
        for records in self.tail[..count].chunks((WRITE_BYTES / R::BYTES).max(1)) {
            self.bytes.clear();
            records.iter().for_each(|record| record.write(&mut self.bytes));
            self.charge.spill_at(file, written * R::BYTES as u64, &self.bytes)?;
            written += records.len() as u64;
        }
        self.base = written;
        self.tail.drain(..count);
        if self.tail.capacity() > block {
            self.tail.shrink_to(block);
            self.bytes = Vec::new();
        }
        // The records, those of a window and the bytes of either.
        self.charge.count(3 * block * size_of::<R>());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use model::{Interrupt, MemoryBudget};
    use testing::random::{SeededRandom, seed_or};
    use testing::simulation::MemoryDisk;

    use super::Records;
    use crate::memory::{QueryMemory, SpillSpace};

    fn with_limit(limit: usize, work: impl FnOnce(&QueryMemory)) {
        let disk = MemoryDisk::new();
        disk.put_directory(&PathBuf::from("spill"));
        let space = SpillSpace::new(Arc::new(disk), vec![PathBuf::from("spill")]);
        let memory = QueryMemory::new(MemoryBudget::new(1 << 30), Some(limit), space.clone());
        work(&memory);
        assert_eq!((memory.used(), space.open_files()), (0, 0));
    }

    #[test]
    fn a_list_in_a_file_is_as_one_in_memory() {
        let first = seed_or(60);
        for seed in first..first + 60 {
            let mut random = SeededRandom::new(seed);
            with_limit(*random.pick(&[0, 100, 5_000, 1 << 20]), |memory| {
                let mut records: Records<'_, (u64, u64)> = Records::new(memory.open("test", None));
                let mut expected: Vec<(u64, u64)> = Vec::new();
                let mut buffer = Vec::new();
                for step in 0..400 {
                    match random.below(8) {
                        0..=3 => {
                            let more: Vec<(u64, u64)> =
                                (0..random.below(40)).map(|_| (random.below(50), step)).collect();
                            records.extend(&more).unwrap();
                            expected.extend(more);
                        }
                        4 => {
                            records.push((step, step)).unwrap();
                            expected.push((step, step));
                        }
                        5 => {
                            let length = random.below(expected.len() as u64 + 1);
                            let length = length.max(expected.len().saturating_sub(30) as u64);
                            records.truncate(length).unwrap();
                            expected.truncate(length as usize);
                        }
                        6 if !expected.is_empty() => {
                            let place = random.below(expected.len() as u64);
                            assert_eq!(records.get(place).unwrap(), expected[place as usize], "FUZZ_SEED={seed}");
                        }
                        _ => {
                            let place = random.below(expected.len() as u64 + 1);
                            let piece = records.piece(place, &mut buffer).unwrap();
                            let same = &expected[place as usize..place as usize + piece.len()];
                            assert_eq!(piece, same, "FUZZ_SEED={seed}");
                            assert_eq!(piece.is_empty(), place as usize == expected.len(), "FUZZ_SEED={seed}");
                        }
                    }
                    assert_eq!(records.len(), expected.len() as u64, "FUZZ_SEED={seed}");
                }
                let mut sorted = records.sorted_by_key(&Interrupt::new(), |record| record.0).unwrap();
                expected.sort_by_key(|record| record.0);
                for (place, record) in expected.iter().enumerate() {
                    assert_eq!(sorted.get(place as u64).unwrap(), *record, "FUZZ_SEED={seed} at {place}");
                }
            });
        }
    }
}
