//! From the key of a node to its id, while a bulk load runs.
//!
//! Integers that lie close together index an array; anything else goes to a hash table that keeps 96 bits of two
//! hashes of the key instead of the key, so that two different keys are taken for one with a chance below one in
//! 10^20 for a billion keys; integers are kept exactly.
//! Cost: an array access, or one probe of 16 bytes; 4 bytes a node, or about 24.

use model::{Column, ColumnData, Result, Value};

use crate::codec::hash::{hash_bytes, hash_float, hash_int, hash_text, hash_value, integer_of, mix};
use crate::codec::value::encode;
use crate::error::StorageError;

/// The id that stands for "not there".
pub const MISSING: u32 = u32::MAX;
/// Slots that an array may have beyond eight for each key.
const ARRAY_SLACK: u64 = 1 << 20;

/// One slot of the hash table: two hashes and the id.
#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u64,
    second: u32,
    id: u32,
}

const EMPTY: Slot = Slot { first: 0, second: 0, id: MISSING };

/// A key as the tables know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Int(i64),
    Hashed(u64, u32),
}

impl Key {
    fn of(column: &Column, row: usize) -> Key {
        match &column.data {
            ColumnData::Int(values) => Key::Int(values[row]),
            ColumnData::String(texts) => {
                let text = texts.get(row);
                Key::Hashed(hash_text(text), hash_bytes(text.as_bytes(), 0x5eed) as u32)
            }
            ColumnData::Float(values) => Key::of_float(values[row]),
            _ => match column.value(row) {
                Value::Int(x) => Key::Int(x),
                Value::Float(x) => Key::of_float(x),
                Value::String(x) => Key::Hashed(hash_text(&x), hash_bytes(x.as_bytes(), 0x5eed) as u32),
                value => {
                    let mut bytes = Vec::new();
                    encode(&value, &mut bytes);
                    Key::Hashed(hash_value(&value), hash_bytes(&bytes, 0x5eed) as u32)
                }
            },
        }
    }

    fn of_float(x: f64) -> Key {
        integer_of(x).map_or_else(|| Key::Hashed(hash_float(x), mix(x.to_bits()) as u32), Key::Int)
    }

    /// The two hashes; for integers the first alone tells them apart.
    #[inline]
    fn hashes(self) -> (u64, u32) {
        match self {
            Key::Int(x) => (hash_int(x), 0),
            Key::Hashed(first, second) => (first, second | 1),
        }
    }
}

/// The keys of one group.
#[derive(Debug)]
pub struct KeyTable {
    /// Ids by key, from `base` on; in use until a key lies too far away.
    array: Option<Vec<u32>>,
    base: i64,
    slots: Vec<Slot>,
    count: u64,
    memory_bytes_max: usize,
}

impl KeyTable {
    /// A table that may take so much memory.
    pub fn new(memory_bytes_max: usize) -> KeyTable {
        KeyTable { array: Some(Vec::new()), base: 0, slots: Vec::new(), count: 0, memory_bytes_max }
    }

    /// Keys held.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.array.as_ref().map_or(0, |array| array.capacity() * 4) + self.slots.capacity() * size_of::<Slot>()
    }

    /// Gives the key of a row to a node, unless it has one: then that one's id comes back.
    pub fn insert(&mut self, column: &Column, row: usize, id: u32) -> Result<Option<u32>> {
        let key = Key::of(column, row);
        if self.array.is_some() {
            match key {
                Key::Int(x) if self.make_room(x) => {
                    let array = self.array.as_mut().expect("the array is in use");
                    let slot = &mut array[x.wrapping_sub(self.base) as usize];
                    if *slot != MISSING {
                        return Ok(Some(*slot));
                    }
                    *slot = id;
                    self.count += 1;
                    return Ok(None);
                }
                _ => self.hash_all()?,
            }
        }
        self.insert_hashed(key, id)
    }

    /// Makes the array reach a key; false if that would waste too much.
    fn make_room(&mut self, x: i64) -> bool {
        let Some(array) = &mut self.array else { return false };
        if array.is_empty() {
            self.base = x;
        }
        let length = array.len() as u64;
        let (low, high) = (self.base.min(x), (self.base as i128 + length as i128 - 1).max(i128::from(x)));
        let span = (high - i128::from(low) + 1) as u128;
        let allowed = (self.count.max(1) * 8 + ARRAY_SLACK).min(self.memory_bytes_max as u64 / 4);
        if span > u128::from(allowed) {
            return false;
        }
        if x < self.base {
            // Room for as much again below, so that descending keys do not move the array each time.
            let extra = ((self.base.wrapping_sub(x)) as u64).max(length).min(allowed - length);
            let base = self.base.saturating_sub(extra as i64).min(x);
            let shift = self.base.wrapping_sub(base) as usize;
            array.splice(0..0, std::iter::repeat_n(MISSING, shift));
            self.base = base;
        } else if span as u64 > length {
            array.resize(span as usize, MISSING);
        }
        true
    }

    /// Moves all keys from the array to the hash table.
    fn hash_all(&mut self) -> Result<()> {
        let array = self.array.take().unwrap_or_default();
        self.count = 0;
        for (offset, &id) in array.iter().enumerate().filter(|(_, id)| **id != MISSING) {
            self.insert_hashed(Key::Int(self.base.wrapping_add(offset as i64)), id)?;
        }
        Ok(())
    }

    fn insert_hashed(&mut self, key: Key, id: u32) -> Result<Option<u32>> {
        if (self.count + 1) * 4 > self.slots.len() as u64 * 3 {
            self.grow()?;
        }
        let (first, second) = key.hashes();
        let place = self.probe(first, second);
        let slot = &mut self.slots[place];
        if slot.id != MISSING {
            return Ok(Some(slot.id));
        }
        *slot = Slot { first, second, id };
        self.count += 1;
        Ok(None)
    }

    fn grow(&mut self) -> Result<()> {
        let capacity = (self.slots.len() * 2).max(1 << 10);
        let bytes = capacity * size_of::<Slot>();
        if bytes > self.memory_bytes_max {
            let problem = format!(
                "the keys of {} nodes need {} MiB of memory, {} MiB are allowed for them",
                self.count,
                bytes >> 20,
                self.memory_bytes_max >> 20
            );
            return Err(StorageError::limit(problem).with_remedy("raise the memory limit of the import"));
        }
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; capacity]);
        for slot in old.into_iter().filter(|slot| slot.id != MISSING) {
            let place = self.probe(slot.first, slot.second);
            self.slots[place] = slot;
        }
        Ok(())
    }

    /// The slot that holds a key, or the empty one where it belongs.
    #[inline]
    fn probe(&self, first: u64, second: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = first as usize & mask;
        loop {
            let slot = &self.slots[place];
            if slot.id == MISSING || (slot.first == first && slot.second == second) {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    #[inline]
    fn find_key(&self, key: Key) -> u32 {
        match (&self.array, key) {
            (Some(array), Key::Int(x)) => {
                usize::try_from(x.wrapping_sub(self.base)).ok().and_then(|at| array.get(at)).copied().unwrap_or(MISSING)
            }
            (Some(_), Key::Hashed(..)) => MISSING,
            (None, _) if self.slots.is_empty() => MISSING,
            (None, key) => {
                let (first, second) = key.hashes();
                self.slots[self.probe(first, second)].id
            }
        }
    }

    /// The node of one row; `MISSING` if there is none.
    pub fn find(&self, column: &Column, row: usize) -> u32 {
        if column.is_null(row) { MISSING } else { self.find_key(Key::of(column, row)) }
    }

    /// Replaces `out` by the nodes of all rows.
    pub fn find_all(&self, column: &Column, out: &mut Vec<u32>) {
        out.clear();
        match (&self.array, &column.data, &column.validity) {
            (Some(array), ColumnData::Int(values), None) => {
                let base = self.base;
                out.extend(
                    values.iter().map(|&x| array.get(x.wrapping_sub(base) as u64 as usize).copied().unwrap_or(MISSING)),
                );
            }
            _ => out.extend((0..column.len()).map(|row| self.find(column, row))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyTable, MISSING};
    use crate::codec::hash::mix;
    use model::{Column, Value};

    fn check(keys: &[Value]) {
        let column = Column::from_values(keys);
        let mut table = KeyTable::new(1 << 26);
        for row in 0..keys.len() {
            let expected = keys[..row].iter().position(|key| *key == keys[row]).map(|id| id as u32);
            assert_eq!(table.insert(&column, row, row as u32).unwrap(), expected, "{}", keys[row]);
        }
        let mut found = Vec::new();
        table.find_all(&column, &mut found);
        for (row, key) in keys.iter().enumerate() {
            assert_eq!(found[row], keys.iter().position(|other| other == key).unwrap() as u32);
        }
        let absent = Column::from_values(&[Value::Int(987_654_321_987), Value::string("nobody"), Value::Null]);
        table.find_all(&absent, &mut found);
        assert_eq!(found, [MISSING; 3]);
    }

    #[test]
    fn every_kind_of_key_is_found_again() {
        check(&(0..500).map(|i| Value::Int(i * 3 - 700)).collect::<Vec<_>>());
        check(&(0..500).rev().map(|i| Value::Int(i * 3)).collect::<Vec<_>>());
        check(&(0..500).map(|i| Value::Int(mix(i) as i64)).collect::<Vec<_>>());
        check(&(0..500).map(|i| Value::string(&format!("k{}", i % 400))).collect::<Vec<_>>());
        check(&[Value::Int(1), Value::Float(1.0), Value::Float(1.5), Value::string("1"), Value::Bool(true)]);
        check(&[Value::Int(i64::MIN), Value::Int(i64::MAX), Value::Int(0)]);
    }

    #[test]
    fn a_table_that_outgrows_its_memory_says_so() {
        let keys: Vec<Value> = (0..5_000).map(|i| Value::Int(mix(i) as i64)).collect();
        let column = Column::from_values(&keys);
        let mut table = KeyTable::new(1 << 15);
        let error = (0..keys.len()).find_map(|row| table.insert(&column, row, row as u32).err());
        assert_eq!(error.map(|error| error.code()), Some(model::ErrorCode::Limit));
    }
}
