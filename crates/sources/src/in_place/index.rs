//! From keys to rows: the rows of a file that have a key, found by binary search over sorted keys.
//!
//! Integers are kept as they are, consecutive ones as two numbers. Of other keys a hash is kept: the rows found may
//! then have other keys, and readers compare the keys. Cost: 8 bytes for each key (none if they are consecutive), 4 for
//! each row unless the file is sorted by the key; twice as much while it is built.

use std::hash::BuildHasher;

use model::{Column, ColumnData, Error, Map, Reservation, Result, Value};

/// Rows of a file by their keys.
#[derive(Debug)]
pub(super) struct RowIndex {
    keys: Keys,
    /// The offset of the rows of each key, and the end; `None` if each has one.
    offsets: Option<Vec<u32>>,
    /// The rows; `None` if they are 0, 1, 2, ….
    rows: Option<Vec<u32>>,
    is_exact: bool,
    _memory: Reservation,
}

#[derive(Debug)]
enum Keys {
    Consecutive { first: i64, count: usize },
    Sorted(Vec<i64>),
}

/// Bytes of an entry while the index is built.
const ENTRY_BYTES: usize = 16;

/// Builds an index from keys in the order of their rows.
#[derive(Debug)]
pub(super) struct IndexBuilder {
    entries: Vec<(i64, u32)>,
    is_exact: bool,
    is_sorted: bool,
    memory: Reservation,
}

/// The hash of a key; numbers that are equal have one hash.
fn hash_of(key: &Value) -> i64 {
    Map::<(), ()>::default().hasher().hash_one(key) as i64
}

fn integer_of(key: &Value) -> Option<i64> {
    match key {
        Value::Int(number) => Some(*number),
        Value::Float(number) if *number == number.trunc() && number.abs() < 9e15 => Some(*number as i64),
        _ => None,
    }
}

impl IndexBuilder {
    pub(super) fn new(memory: Reservation) -> IndexBuilder {
        IndexBuilder { entries: Vec::new(), is_exact: true, is_sorted: true, memory }
    }

    /// Adds the keys of rows from `first` on; rows without a key have none.
    pub(super) fn push(&mut self, first: u32, keys: &Column) -> Result<()> {
        self.reserve(keys.len())?;
        match &keys.data {
            ColumnData::Int(numbers) if self.is_exact => {
                for (row, &number) in numbers.iter().enumerate() {
                    if !keys.is_null(row) {
                        self.add(number, first + row as u32);
                    }
                }
            }
            _ => {
                for (row, key) in keys.values().enumerate().filter(|(_, key)| !key.is_null()) {
                    self.push_key(first + row as u32, &key)?;
                }
            }
        }
        Ok(())
    }

    /// Adds one key of a row.
    pub(super) fn push_key(&mut self, row: u32, key: &Value) -> Result<()> {
        if self.entries.len() == self.entries.capacity() {
            self.reserve(1)?;
        }
        if let (true, Some(number)) = (self.is_exact, integer_of(key)) {
            self.add(number, row);
            return Ok(());
        }
        if self.is_exact {
            self.is_exact = false;
            self.is_sorted = false;
            self.entries.iter_mut().for_each(|(key, _)| *key = hash_of(&Value::Int(*key)));
        }
        self.add(hash_of(key), row);
        Ok(())
    }

    fn add(&mut self, key: i64, row: u32) {
        self.is_sorted = self.is_sorted && self.entries.last().is_none_or(|&last| last <= (key, row));
        self.entries.push((key, row));
    }

    fn reserve(&mut self, more: usize) -> Result<()> {
        let needed = self.entries.len() + more;
        if needed > self.entries.capacity() {
            let capacity = needed.max(self.entries.capacity() * 2);
            self.memory.grow((capacity - self.entries.capacity()) * ENTRY_BYTES).map_err(too_small)?;
            self.entries.reserve_exact(capacity - self.entries.len());
        }
        Ok(())
    }

    /// The index.
    pub(super) fn finish(mut self) -> RowIndex {
        if !self.is_sorted {
            self.entries.sort_unstable();
        }
        let entries = &self.entries;
        let distinct = entries.chunk_by(|a, b| a.0 == b.0).count();
        let is_identity = entries.iter().zip(0..).all(|(&(_, row), place)| row == place);
        let rows = (!is_identity).then(|| entries.iter().map(|&(_, row)| row).collect::<Vec<u32>>());
        let offsets = (distinct < entries.len()).then(|| {
            let mut offsets = Vec::with_capacity(distinct + 1);
            let mut at = 0;
            for group in entries.chunk_by(|a, b| a.0 == b.0) {
                offsets.push(at);
                at += group.len() as u32;
            }
            offsets.push(at);
            offsets
        });
        let bounds = entries.first().zip(entries.last()).map(|(first, last)| (first.0, last.0));
        let keys = match bounds {
            Some((first, last)) if self.is_exact && last.wrapping_sub(first) as u64 == distinct as u64 - 1 => {
                Keys::Consecutive { first, count: distinct }
            }
            _ => {
                let mut keys = Vec::with_capacity(distinct);
                keys.extend(entries.chunk_by(|a, b| a.0 == b.0).map(|group| group[0].0));
                Keys::Sorted(keys)
            }
        };
        let held = match &keys {
            Keys::Consecutive { .. } => 0,
            Keys::Sorted(keys) => keys.len() * 8,
        };
        let others = [&offsets, &rows].into_iter().flatten().map(|numbers| numbers.len() * 4).sum::<usize>();
        self.entries = Vec::new();
        self.memory.resize(held + others);
        RowIndex { keys, offsets, rows, is_exact: self.is_exact, _memory: self.memory }
    }
}

fn too_small(failure: Error) -> Error {
    failure.within("the index of a file that is read in place").with_remedy(
        "raise the memory limit, sort the file by its key, or PRELOAD the source into a store, which keeps its indexes on disk",
    )
}

impl RowIndex {
    /// The rows that have a key, or its hash.
    pub(super) fn rows(&self, key: &Value) -> impl Iterator<Item = u32> + '_ {
        let wanted = if self.is_exact { integer_of(key) } else { Some(hash_of(key)) };
        let place = wanted.and_then(|wanted| match &self.keys {
            Keys::Consecutive { first, count } => {
                usize::try_from(wanted.checked_sub(*first)?).ok().filter(|place| place < count)
            }
            Keys::Sorted(keys) => keys.binary_search(&wanted).ok(),
        });
        self.at(place).map(|entry| self.row(entry))
    }

    fn at(&self, place: Option<usize>) -> std::ops::Range<u32> {
        match (place, &self.offsets) {
            (None, _) => 0..0,
            (Some(place), None) => place as u32..place as u32 + 1,
            (Some(place), Some(offsets)) => offsets[place]..offsets[place + 1],
        }
    }

    fn row(&self, entry: u32) -> u32 {
        self.rows.as_ref().map_or(entry, |rows| rows[entry as usize])
    }

    /// True if rows that are found have the key, rather than perhaps another of the same hash.
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Rows that have one key, or one hash, together, where there are several.
    pub(super) fn shared(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        let offsets = self.offsets.as_deref().unwrap_or_default();
        offsets
            .windows(2)
            .filter(|two| two[1] - two[0] > 1)
            .map(|two| (two[0]..two[1]).map(|at| self.row(at)).collect())
    }
}

#[cfg(test)]
mod tests {
    use model::{Column, Consumer, MemoryBudget, Value};

    use super::{IndexBuilder, Keys, RowIndex};

    fn index(keys: &[Value]) -> RowIndex {
        let mut builder = IndexBuilder::new(MemoryBudget::unlimited().empty(Consumer::SourceCache));
        let (first, second) = keys.split_at(keys.len() / 2);
        builder.push(0, &Column::from_values(first)).unwrap();
        builder.push(first.len() as u32, &Column::from_values(second)).unwrap();
        builder.finish()
    }

    fn check(keys: &[Value]) -> RowIndex {
        let index = index(keys);
        for key in keys.iter().filter(|key| !key.is_null()) {
            let expected: Vec<u32> = (0..keys.len() as u32).filter(|&row| keys[row as usize] == *key).collect();
            assert_eq!(index.rows(key).collect::<Vec<_>>(), expected, "{key}");
        }
        assert_eq!(index.rows(&Value::Int(99)).count(), 0);
        assert_eq!(index.rows(&Value::string("none")).count(), 0);
        index
    }

    #[test]
    fn rows_are_found_by_their_keys() {
        let ints = |numbers: &[i64]| numbers.iter().map(|&number| Value::Int(number)).collect::<Vec<_>>();
        let index = check(&ints(&[5, 6, 7, 8]));
        assert!(matches!(index.keys, Keys::Consecutive { first: 5, count: 4 }) && index.rows.is_none());
        let index = check(&ints(&[3, -1, 10, 4]));
        assert!(matches!(index.keys, Keys::Sorted(_)) && index.offsets.is_none());
        let index = check(&ints(&[2, 1, 2, 3, 1]));
        assert_eq!(index.shared().collect::<Vec<_>>(), [vec![1, 4], vec![0, 2]]);
        check(&[Value::Int(1), Value::Null, Value::Int(3)]);
        check(&[Value::string("a"), Value::Null, Value::string("b"), Value::string("a")]);
        let mixed = check(&[Value::Int(1), Value::Int(2), Value::string("b"), Value::Int(1)]);
        assert!(!mixed.is_exact());
        check(&[]);
        check(&ints(&[i64::MAX, i64::MIN, 0]));
        assert_eq!(check(&ints(&[1, 5])).rows(&Value::Float(5.0)).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn an_index_that_does_not_fit_says_what_to_do() {
        let budget = MemoryBudget::new(1 << 10);
        let mut builder = IndexBuilder::new(budget.empty(Consumer::SourceCache));
        let keys: Vec<Value> = (0..1_000).map(|number| Value::Int(number * 7)).collect();
        let failure = builder.push(0, &Column::from_values(&keys)).unwrap_err();
        assert_eq!(failure.code(), model::ErrorCode::Limit);
        assert!(failure.remedy().contains("PRELOAD"), "{failure:?}");
    }
}
