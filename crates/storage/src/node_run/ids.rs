//! The sorted ids of the rows of a run: from an id to its row, and back.
//!
//! Ids are grouped by their bits above the lowest sixteen. A group whose ids follow each other without a gap (as those
//! of new nodes do) takes no bytes; a sparse one is a sorted list, a dense one a bitmap with ranks.
//!
//! Cost: a look for an id is one access to a table in memory and, for the groups with bytes, a search among at most
//! 4,096 numbers or two words of a bitmap. The table takes four bytes for each 65,536 ids between the first and the last.

use std::ops::Range;

use model::Result;

use crate::codec::bytes::{Get, Put};
use crate::column::write::BlockSink;
use crate::file::{FileWriter, StoreFile};
use crate::format::NODE_ID_LIMIT;

/// Bits of an id within its group.
pub const GROUP_BITS: u32 = 16;
/// Ids of a group.
const GROUP_IDS: usize = 1 << GROUP_BITS;
/// A group of fewer ids is a list: then a list takes fewer bytes than a bitmap.
const LIST_IDS_MAX: usize = 4_096;
/// Ids between two ranks of a bitmap.
const RANK_IDS: usize = 512;
const BITMAP_BYTES: usize = GROUP_IDS / 8;
const RANK_BYTES: usize = GROUP_IDS / RANK_IDS * 2;
/// Bytes of a group in a directory.
const GROUP_BYTES: usize = 20;

/// Encoding of the ids of a group.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// They follow each other from here on.
    Range { first: u64 },
    /// Two bytes each, ascending.
    List { start: usize },
    /// A bit each, then ranks.
    Bitmap { start: usize },
}

#[derive(Clone, Copy, Debug)]
struct Group {
    number: u64,
    /// The row of its first id.
    first_row: u64,
    count: u64,
    form: Form,
}

/// Writes ids that ascend.
#[derive(Debug, Default)]
pub struct IdWriter {
    /// The lowest bits of the ids of the group at hand.
    pending: Vec<u16>,
    number: u64,
    groups: Vec<(u64, u32, u32, u64)>,
}

impl IdWriter {
    /// Adds an id, larger than any before.
    #[inline]
    pub fn push(&mut self, id: u64, file: &mut FileWriter) -> Result<()> {
        if id >> GROUP_BITS != self.number {
            self.end_group(file)?;
            self.number = id >> GROUP_BITS;
        }
        debug_assert!(self.pending.last().is_none_or(|&last| last < id as u16), "ids ascend");
        self.pending.push(id as u16);
        Ok(())
    }

    fn end_group(&mut self, file: &mut FileWriter) -> Result<()> {
        let (Some(&first), Some(&last)) = (self.pending.first(), self.pending.last()) else { return Ok(()) };
        let count = self.pending.len();
        let (form, place) = if usize::from(last - first) + 1 == count {
            (0, u64::from(first))
        } else if count < LIST_IDS_MAX {
            let bytes: Vec<u8> = self.pending.iter().flat_map(|id| id.to_le_bytes()).collect();
            (1, file.put(&bytes)?)
        } else {
            (2, file.put(&bitmap_of(&self.pending))?)
        };
        self.groups.push((self.number, count as u32, form, place));
        self.pending.clear();
        Ok(())
    }

    /// Ends the last group and adds the list of groups to the directory.
    pub fn finish(mut self, file: &mut FileWriter, directory: &mut Vec<u8>) -> Result<()> {
        self.end_group(file)?;
        directory.put_u32(self.groups.len() as u32);
        for (number, count, form, place) in self.groups {
            directory.put_u32(number as u32);
            directory.put_u32(count);
            directory.put_u32(form);
            directory.put_u64(place);
        }
        Ok(())
    }
}

fn bitmap_of(ids: &[u16]) -> Vec<u8> {
    let mut words = vec![0u64; GROUP_IDS / 64];
    ids.iter().for_each(|&id| words[usize::from(id) / 64] |= 1 << (id % 64));
    let mut bytes = Vec::with_capacity(BITMAP_BYTES + RANK_BYTES);
    words.iter().for_each(|&word| bytes.put_u64(word));
    let mut rank = 0u32;
    for part in words.chunks(RANK_IDS / 64) {
        // Before the last part of a group there are fewer than 65,536 ids.
        bytes.extend_from_slice(&(rank as u16).to_le_bytes());
        rank += part.iter().map(|word| word.count_ones()).sum::<u32>();
    }
    bytes
}

/// The ids of the rows of a run.
#[derive(Debug)]
pub struct IdSet {
    groups: Vec<Group>,
    /// For each group number from that of the first group on: one more than its index, or 0.
    table: Vec<u32>,
    rows: u64,
}

impl IdSet {
    /// Reads the list of groups from a directory.
    pub fn open(file: &StoreFile, get: &mut Get<'_>) -> Result<IdSet> {
        let mut groups: Vec<Group> = Vec::new();
        let mut rows = 0;
        for _ in 0..get.count(GROUP_BYTES)? {
            let (number, count, form, place) = (u64::from(get.u32()?), u64::from(get.u32()?), get.u32()?, get.u64()?);
            let is_next = groups.last().is_none_or(|before| before.number < number);
            if !is_next || number >= NODE_ID_LIMIT >> GROUP_BITS || count == 0 || count > GROUP_IDS as u64 {
                return Err(get.damage(format!("group {number} of {count} ids does not follow the one before")));
            }
            let form = match form {
                0 if place.checked_add(count).is_some_and(|end| end <= GROUP_IDS as u64) => {
                    Form::Range { first: place }
                }
                1 => {
                    file.check_range(place, count * 2, "a list of ids")?;
                    Form::List { start: place as usize }
                }
                2 => {
                    file.check_range(place, (BITMAP_BYTES + RANK_BYTES) as u64, "a bitmap of ids")?;
                    Form::Bitmap { start: place as usize }
                }
                _ => return Err(get.damage(format!("no group of ids has the form {form} at {place}"))),
            };
            groups.push(Group { number, first_row: rows, count, form });
            rows += count;
        }
        let (first, last) =
            (groups.first().map_or(0, |group| group.number), groups.last().map_or(0, |group| group.number));
        let mut table = vec![0; (last - first + 1) as usize];
        for (index, group) in groups.iter().enumerate() {
            table[(group.number - first) as usize] = index as u32 + 1;
        }
        Ok(IdSet { groups, table, rows })
    }

    /// Number of ids.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The numbers of the groups that have ids: the ids without their lowest [`GROUP_BITS`] bits.
    pub fn groups(&self) -> impl Iterator<Item = u64> + '_ {
        self.groups.iter().map(|group| group.number)
    }

    #[inline]
    fn group(&self, number: u64) -> Option<&Group> {
        let first = self.groups.first()?.number;
        let index = *self.table.get(usize::try_from(number.checked_sub(first)?).ok()?)?;
        self.groups.get((index as usize).wrapping_sub(1))
    }

    /// The row of an id, if it is there.
    #[inline]
    pub fn row_of(&self, file: &StoreFile, id: u64) -> Result<Option<u64>> {
        let Some(group) = self.group(id >> GROUP_BITS) else { return Ok(None) };
        let low = id & (GROUP_IDS as u64 - 1);
        match group.form {
            Form::Range { first } => {
                let place = low.wrapping_sub(first);
                Ok(if place < group.count { Some(group.first_row + place) } else { None })
            }
            _ => {
                let (rank, is_there) = rank_in(file, group, low as u16)?;
                Ok(is_there.then_some(group.first_row + rank))
            }
        }
    }

    /// The rows of the ids in a range.
    pub fn rows_in(&self, file: &StoreFile, ids: Range<u64>) -> Result<Range<u64>> {
        let start = self.rank(file, ids.start)?;
        Ok(start..self.rank(file, ids.end)?.max(start))
    }

    /// Number of ids that are smaller.
    fn rank(&self, file: &StoreFile, id: u64) -> Result<u64> {
        let number = id >> GROUP_BITS;
        let index = self.groups.partition_point(|group| group.number < number);
        let Some(group) = self.groups.get(index) else { return Ok(self.rows) };
        if group.number > number {
            return Ok(group.first_row);
        }
        let low = id & (GROUP_IDS as u64 - 1);
        let rank = match group.form {
            Form::Range { first } => low.saturating_sub(first).min(group.count),
            _ => rank_in(file, group, low as u16)?.0,
        };
        Ok(group.first_row + rank)
    }

    /// Replaces `out` by the ids of some rows.
    pub fn read(&self, file: &StoreFile, rows: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        let mut row = rows.start;
        let mut index = self.groups.partition_point(|group| group.first_row + group.count <= row);
        while row < rows.end {
            let Some(group) = self.groups.get(index) else {
                return Err(file.damage(0, format!("row {row} of a run of {} rows has no id", self.rows)));
            };
            let end = rows.end.min(group.first_row + group.count);
            read_group(file, group, row - group.first_row..end - group.first_row, out)?;
            row = end;
            index += 1;
        }
        Ok(())
    }
}

/// Number of ids of a group that are smaller, and whether the id is there.
fn rank_in(file: &StoreFile, group: &Group, low: u16) -> Result<(u64, bool)> {
    match group.form {
        Form::Range { first } => {
            let place = u64::from(low).wrapping_sub(first);
            Ok((u64::from(low).saturating_sub(first).min(group.count), place < group.count))
        }
        Form::List { start } => {
            let ids = file.read(start, group.count as usize * 2)?;
            let (mut from, mut to) = (0, ids.len() / 2);
            while from < to {
                let middle = (from + to) / 2;
                if id_at(ids, middle) < low {
                    from = middle + 1;
                } else {
                    to = middle;
                }
            }
            Ok((from as u64, from < ids.len() / 2 && id_at(ids, from) == low))
        }
        Form::Bitmap { start } => {
            let bytes = file.read(start, BITMAP_BYTES + RANK_BYTES)?;
            let (low, part) = (usize::from(low), usize::from(low) / RANK_IDS);
            let mut rank = u64::from(rank_at(bytes, part));
            for index in part * (RANK_IDS / 64)..low / 64 {
                rank += u64::from(word_at(bytes, index).count_ones());
            }
            let word = word_at(bytes, low / 64);
            rank += u64::from((word & ((1 << (low % 64)) - 1)).count_ones());
            Ok((rank, word >> (low % 64) & 1 == 1))
        }
    }
}

fn read_group(file: &StoreFile, group: &Group, places: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
    let base = group.number << GROUP_BITS;
    match group.form {
        Form::Range { first } => out.extend((base + first + places.start)..(base + first + places.end)),
        Form::List { start } => {
            let ids = file.read(start, group.count as usize * 2)?;
            for at in places.start as usize..places.end as usize {
                if at > 0 && id_at(ids, at - 1) >= id_at(ids, at) {
                    return Err(file.damage(start, "a list of ids does not ascend"));
                }
                out.push(base + u64::from(id_at(ids, at)));
            }
        }
        Form::Bitmap { start } => {
            let bytes = file.read(start, BITMAP_BYTES + RANK_BYTES)?;
            // Bits are counted, so that ids follow those of the rows before whatever the ranks say.
            let (mut skip, mut left) = (places.start, places.end - places.start);
            for index in 0..GROUP_IDS / 64 {
                let mut word = word_at(bytes, index);
                let ones = u64::from(word.count_ones());
                if skip >= ones {
                    skip -= ones;
                    continue;
                }
                while word != 0 && left > 0 {
                    if skip > 0 {
                        skip -= 1;
                    } else {
                        out.push(base + index as u64 * 64 + u64::from(word.trailing_zeros()));
                        left -= 1;
                    }
                    word &= word - 1;
                }
            }
            if left > 0 {
                return Err(file.damage(start, format!("a bitmap of ids has {left} fewer than its directory says")));
            }
        }
    }
    Ok(())
}

#[inline]
fn id_at(list: &[u8], index: usize) -> u16 {
    u16::from_le_bytes([list[index * 2], list[index * 2 + 1]])
}

#[inline]
fn word_at(bitmap: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(bitmap[index * 8..index * 8 + 8].try_into().expect("a word has eight bytes"))
}

#[inline]
fn rank_at(bitmap: &[u8], part: usize) -> u16 {
    let at = BITMAP_BYTES + part * 2;
    u16::from_le_bytes([bitmap[at], bitmap[at + 1]])
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use model::platform::Disk;
    use testing::random::{SeededRandom, seed_or};
    use testing::simulation::MemoryDisk;

    use super::{IdSet, IdWriter};
    use crate::file::{FileWriter, StoreFile};
    use crate::format::FileKind;

    fn check(ids: &[u64]) {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let directory = Path::new("ids.knot");
        disk.create_directory(directory).unwrap();
        let mut file = FileWriter::create(&disk, directory, FileKind::NodeRun, 1, 7).unwrap();
        let mut writer = IdWriter::default();
        ids.iter().for_each(|&id| writer.push(id, &mut file).unwrap());
        let mut bytes = Vec::new();
        writer.finish(&mut file, &mut bytes).unwrap();
        let entry = file.finish(&bytes).unwrap();
        let file = StoreFile::open(&disk, directory, FileKind::NodeRun, entry).unwrap();
        let set = IdSet::open(&file, &mut file.directory().unwrap()).unwrap();
        assert_eq!(set.rows(), ids.len() as u64);
        let mut found = Vec::new();
        for rows in [0..ids.len(), ids.len() / 3..ids.len() / 2, ids.len()..ids.len()] {
            set.read(&file, rows.start as u64..rows.end as u64, &mut found).unwrap();
            assert_eq!(found, ids[rows]);
        }
        let around = ids.iter().flat_map(|&id| [id.saturating_sub(1), id, id + 1, id + 70_000]);
        for id in around.chain([0, (1 << 32) - 1]) {
            let place = ids.binary_search(&id);
            assert_eq!(set.row_of(&file, id).unwrap(), place.ok().map(|row| row as u64), "row of {id}");
            let before = place.unwrap_or_else(|row| row) as u64;
            assert_eq!(set.rows_in(&file, 0..id).unwrap(), 0..before, "ids before {id}");
        }
    }

    #[test]
    fn every_form_of_group_is_read_back() {
        check(&[]);
        check(&[0]);
        check(&[(1 << 32) - 1]);
        check(&(0..65_536).collect::<Vec<u64>>());
        check(&(65_000..140_000).collect::<Vec<u64>>());
        check(&(0..140_000).step_by(3).collect::<Vec<u64>>());
        check(&(1..1_000_000).step_by(977).collect::<Vec<u64>>());
        let mut random = SeededRandom::new(seed_or(3));
        let mut ids: Vec<u64> = (0..9_000).map(|_| random.below(1 << 18)).collect();
        ids.extend((0..300).map(|_| random.below(1 << 32)));
        ids.extend(1 << 30..(1 << 30) + 5_000);
        ids.sort_unstable();
        ids.dedup();
        check(&ids);
    }
}
