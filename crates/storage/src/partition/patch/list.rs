//! Sorted positions in a file, with a filter in memory that tells most runs which hold none.

use std::ops::Range;

use model::Result;

use crate::codec::bits::{Packer, is_width, packed_bytes, width_of};
use crate::codec::bytes::{Get, Put};
use crate::file::{FileWriter, StoreFile};

/// Bits of a filter, at most.
const FILTER_BITS_MAX: u64 = 1 << 16;

/// Positions in order, packed.
#[derive(Debug)]
pub struct SortedList {
    count: u64,
    width: u8,
    start: usize,
    /// All positions are below it.
    bound: u64,
    filter: Filter,
}

/// A bit for each stretch of `1 << shift` positions: whether one of them is in the list.
#[derive(Debug)]
struct Filter {
    shift: u32,
    words: Vec<u64>,
}

impl Filter {
    fn new(bound: u64, count: u64) -> Filter {
        let bits = (8 * count).next_power_of_two().clamp(64, FILTER_BITS_MAX);
        let mut shift = 0;
        while bound >> shift > bits {
            shift += 1;
        }
        let words = if count == 0 { 0 } else { ((bound >> shift) / 64 + 1) as usize };
        Filter { shift, words: vec![0; words] }
    }

    fn add(&mut self, position: u64) {
        let bit = position >> self.shift;
        self.words[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    #[inline]
    fn may_hold(&self, run: &Range<u64>) -> bool {
        if self.words.is_empty() || run.is_empty() {
            return false;
        }
        let end = (self.words.len() as u64) << 6;
        let (first, last) = (run.start >> self.shift, ((run.end - 1) >> self.shift).min(end - 1));
        if first >= end {
            return false;
        }
        let (low, high) = ((first / 64) as usize, (last / 64) as usize);
        let from = u64::MAX << (first % 64);
        let to = u64::MAX >> (63 - last % 64);
        if low == high {
            return self.words[low] & from & to != 0;
        }
        self.words[low] & from != 0 || self.words[high] & to != 0 || self.words[low + 1..high].iter().any(|&x| x != 0)
    }
}

impl SortedList {
    /// Writes positions, which ascend and are below the bound; adds the list to its file's directory.
    pub fn write(positions: &[u64], bound: u64, file: &mut FileWriter, directory: &mut Vec<u8>) -> Result<()> {
        debug_assert!(positions.is_sorted_by(|a, b| a < b), "positions ascend");
        let width = width_of(bound.saturating_sub(1));
        let mut filter = Filter::new(bound, positions.len() as u64);
        let mut packer = Packer::new(width);
        for &position in positions {
            filter.add(position);
            packer.push(position);
        }
        file.align()?;
        let start = file.position();
        if !positions.is_empty() {
            file.write(&packer.finish(positions.len()))?;
        }
        directory.put_u64(positions.len() as u64);
        directory.put_u64(u64::from(width));
        directory.put_u64(start);
        directory.put_u32(filter.shift);
        directory.put_u32(filter.words.len() as u32);
        filter.words.iter().for_each(|&word| directory.put_u64(word));
        Ok(())
    }

    /// Reads a list of positions below the bound from its file's directory.
    pub fn take(file: &StoreFile, directory: &mut Get<'_>, bound: u64) -> Result<SortedList> {
        let (count, width, start) = (directory.u64()?, directory.u64()?, directory.u64()?);
        let shift = directory.u32()?;
        let words = directory.count(8)?;
        let is_sound = count <= bound
            && is_width(width.min(255) as u8)
            && width <= 64
            && shift < 64
            && (count == 0) == (words == 0)
            && (words == 0 || words as u64 == (bound >> shift) / 64 + 1);
        if !is_sound {
            return Err(directory.damage("a list of positions contradicts itself"));
        }
        if count > 0 {
            file.check_range(start, packed_bytes(count as usize, width as u8) as u64, "a list of positions")?;
        }
        let mut filter = Filter { shift, words: Vec::with_capacity(words) };
        for _ in 0..words {
            filter.words.push(directory.u64()?);
        }
        Ok(SortedList { count, width: width as u8, start: start as usize, bound, filter })
    }

    /// Number of positions.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// False if no position of the run is in the list; true says little.
    #[inline]
    pub fn may_hold(&self, run: &Range<u64>) -> bool {
        self.filter.may_hold(run)
    }

    /// The position at an index.
    pub fn at(&self, file: &StoreFile, index: u64) -> Result<u64> {
        let index = index as usize;
        Ok(file.packed(self.start, self.width, &(index..index + 1))?.get(index))
    }

    /// The index of the first position that is not below `position`.
    fn lower_bound(&self, file: &StoreFile, position: u64) -> Result<u64> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(file, middle)? < position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The indices of the positions of a run.
    pub fn indices(&self, file: &StoreFile, run: &Range<u64>) -> Result<Range<u64>> {
        let start = self.lower_bound(file, run.start)?;
        // Runs are short as a rule, and few of their positions are here.
        let mut end = start;
        while end < self.count && end < start + 8 {
            if self.at(file, end)? >= run.end {
                return self.checked(file, start..end, run);
            }
            end += 1;
        }
        self.checked(file, start..self.lower_bound(file, run.end)?, run)
    }

    /// The end of the longest stretch of positions from `start` in which no more than `most` are in the list.
    pub fn end_of_stretch(&self, file: &StoreFile, start: u64, most: u64) -> Result<u64> {
        let beyond = self.indices(file, &(start..u64::MAX))?.start + most;
        if beyond >= self.count {
            return Ok(u64::MAX);
        }
        // Damage under a right checksum must not send the reader back.
        let end = self.at(file, beyond)?;
        if end > start { Ok(end) } else { Err(self.disorder(file)) }
    }

    /// The indices, which are no more than the run has positions where the list is in order.
    fn checked(&self, file: &StoreFile, indices: Range<u64>, run: &Range<u64>) -> Result<Range<u64>> {
        let most = run.end.saturating_sub(run.start);
        let is_sound = indices.start <= indices.end && indices.end - indices.start <= most;
        if is_sound { Ok(indices) } else { Err(self.disorder(file)) }
    }

    /// The error of a list that does not ascend.
    #[cold]
    pub fn disorder(&self, file: &StoreFile) -> model::Error {
        file.damage(self.start, "a list of positions is not in order")
    }

    /// Number of positions of a run that are in the list.
    pub fn count_in(&self, file: &StoreFile, run: &Range<u64>) -> Result<u64> {
        if !self.may_hold(run) {
            return Ok(0);
        }
        let indices = self.indices(file, run)?;
        Ok(indices.end - indices.start)
    }

    /// Adds the positions of a run, in order.
    pub fn append(&self, file: &StoreFile, run: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        if !self.may_hold(&run) {
            return Ok(());
        }
        let mut least = run.start;
        for index in self.indices(file, &run)? {
            let position = self.at(file, index)?;
            if position < least || position >= run.end.min(self.bound) {
                return Err(self.disorder(file));
            }
            least = position + 1;
            out.push(position);
        }
        Ok(())
    }

    /// The index of a position, if it is here.
    pub fn find(&self, file: &StoreFile, position: u64) -> Result<Option<u64>> {
        if !self.may_hold(&(position..position + 1)) {
            return Ok(None);
        }
        let index = self.lower_bound(file, position)?;
        Ok((index < self.count && self.at(file, index)? == position).then_some(index))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use model::ErrorCode;
    use model::platform::Disk;
    use testing::simulation::MemoryDisk;

    use super::{Filter, SortedList};
    use crate::codec::bits::{Packer, width_of};
    use crate::file::{FileWriter, StoreFile};
    use crate::format::FileKind;

    /// A file that holds these positions, in this order.
    fn list_of(positions: &[u64]) -> (Arc<StoreFile>, SortedList) {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let directory = Path::new("/list");
        disk.create_directory(directory).unwrap();
        let bound = positions.iter().max().unwrap() + 1;
        let width = width_of(bound - 1);
        let (mut packer, mut filter) = (Packer::new(width), Filter::new(bound, positions.len() as u64));
        for &position in positions {
            packer.push(position);
            filter.add(position);
        }
        let mut writer = FileWriter::create(&disk, directory, FileKind::Patch, 1, 7).unwrap();
        let (count, start) = (positions.len() as u64, writer.position() as usize);
        writer.write(&packer.finish(positions.len())).unwrap();
        let entry = writer.finish(&[]).unwrap();
        let file = StoreFile::open(&disk, directory, FileKind::Patch, entry).unwrap();
        (file, SortedList { count, width, start, bound, filter })
    }

    /// The positions, taken a stretch of at most three at a time, as patches are read.
    fn by_stretches((file, list): &(Arc<StoreFile>, SortedList)) -> model::Result<Vec<u64>> {
        let (mut found, mut start) = (Vec::new(), 0);
        while start < u64::MAX {
            let end = list.end_of_stretch(file, start, 3)?;
            assert!(end > start, "a stretch leads on");
            list.append(file, start..end, &mut found)?;
            start = end;
        }
        Ok(found)
    }

    #[test]
    fn stretches_hold_each_position_once() {
        for positions in [vec![0], vec![0, 1, 2], vec![5, 6, 7, 8], (0..100).map(|x| x * x).collect()] {
            assert_eq!(by_stretches(&list_of(&positions)).unwrap(), positions);
        }
    }

    /// A reader that took the position behind a stretch for its end went round for ever. Positions that are not found are
    /// told by their number.
    #[test]
    fn a_list_out_of_order_is_damage_and_ends() {
        let back = vec![10, 11, 12, 3, 4, 5, 6, 7, 8];
        let again = vec![0, 1, 2, 3, 4, 5, 0, 1, 2, 3];
        for wrong in [back, vec![9; 9], again, (0..40).rev().collect()] {
            match by_stretches(&list_of(&wrong)) {
                Ok(found) => assert!(found.len() < wrong.len(), "{wrong:?}: {found:?}"),
                Err(error) => assert_eq!(error.code(), ErrorCode::Corrupt, "{wrong:?}: {error}"),
            }
        }
        assert!(by_stretches(&list_of(&[9; 9])).is_err(), "the reader would not lead on");
    }

    fn check(bound: u64, positions: &[u64]) {
        let mut filter = Filter::new(bound, positions.len() as u64);
        positions.iter().for_each(|&position| filter.add(position));
        let starts = (0..bound.min(300)).chain((0..50).map(|part| bound / 50 * part));
        for start in starts.chain([bound - 1]) {
            for length in [1, 2, 63, 64, 65, 1_000, bound] {
                let run = start..start + length;
                let is_here = positions.iter().any(|position| run.contains(position));
                assert!(filter.may_hold(&run) || !is_here, "{run:?} of {bound}");
            }
        }
        assert!(!filter.may_hold(&(5..5)));
        assert_eq!(filter.may_hold(&(0..u64::MAX)), !positions.is_empty());
    }

    #[test]
    fn a_filter_misses_nothing() {
        check(10, &[]);
        check(1, &[0]);
        check(200, &[0, 63, 64, 199]);
        check(1 << 33, &[1 << 32, (1 << 33) - 1]);
        check(1_000_000, &(0..5_000).map(|x| x * 17).collect::<Vec<_>>());
    }

    #[test]
    fn a_filter_of_few_positions_is_small_and_sharp() {
        let mut filter = Filter::new(1 << 20, 4);
        [5, 70_000, 500_000, 1_000_000].into_iter().for_each(|position| filter.add(position));
        assert!(filter.words.len() <= 2);
        assert!(!filter.may_hold(&(200_000..201_000)) && filter.may_hold(&(69_000..71_000)));
    }
}
