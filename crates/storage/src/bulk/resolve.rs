//! From the key of a node to its id, while a bulk load runs.
//!
//! Integers that lie close together index an array; anything else goes to a hash table that keeps 96 bits of two
//! hashes of the key instead of the key, so that two different keys are taken for one with a chance below one in
//! 10^20 for a billion keys; integers are kept exactly. What does not fit in memory goes to sorted runs on the disk.
//!
//! - [`entry`]: a key by its hashes.
//! - [`runs`], [`filter`]: keys on the disk, and what tells in memory that a key is not there.
//!
//! Cost: an array access, or one probe of 16 bytes, or one of a batch of sorted probes; 4 bytes a node, or about 24.

use model::{Column, ColumnData, Result};

use crate::build::BuildContext;
use entry::{ENTRY_BYTES, Entry, Key};
use runs::KeyRuns;

mod entry;
mod filter;
mod runs;

#[cfg(test)]
mod tests;

/// The id that stands for "not there".
pub const MISSING: u32 = u32::MAX;
/// Slots that an array may have beyond eight for each key.
const ARRAY_SLACK: u64 = 1 << 20;
/// Slots of an array that are moved to the hash table at a time, at most.
const ARRAY_STEP_MAX: usize = 1 << 16;
/// Slots of the smallest hash table.
const SLOTS_MIN: usize = 1 << 10;

const EMPTY: Entry = Entry { first: 0, second: 0, id: MISSING };

/// The keys of one group.
#[derive(Debug)]
pub struct KeyTable {
    /// Ids by key, from `base` on; in use until a key lies too far away.
    array: Option<Vec<u32>>,
    base: i64,
    slots: Vec<Entry>,
    /// Keys in the slots.
    slots_used: usize,
    runs: Option<KeyRuns>,
    count: u64,
    memory_bytes_max: usize,
}

impl KeyTable {
    /// A table that may take `memory_bytes_max` bytes of memory.
    pub fn new(memory_bytes_max: usize) -> KeyTable {
        KeyTable {
            array: Some(Vec::new()),
            base: 0,
            slots: Vec::new(),
            slots_used: 0,
            runs: None,
            count: 0,
            memory_bytes_max,
        }
    }

    /// Changes how much memory it may take from now on.
    pub fn set_memory_bytes_max(&mut self, memory_bytes_max: usize) {
        self.memory_bytes_max = memory_bytes_max;
    }

    /// Keys held.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// True if some of the keys lie on the disk.
    pub fn is_on_disk(&self) -> bool {
        self.runs.is_some()
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        let array = self.array.as_ref().map_or(0, |array| array.capacity() * 4);
        array + self.slots.capacity() * ENTRY_BYTES + self.runs.as_ref().map_or(0, KeyRuns::memory_bytes)
    }

    /// Makes room for the keys of a batch, so that nothing goes to the disk between looking them up and adding them.
    pub fn prepare(&mut self, context: &BuildContext, column: &Column) -> Result<()> {
        if self.array.is_some() && !self.fits_array(column) {
            self.hash_all(context)?;
        }
        if self.array.is_none() { self.reserve(context, column.len(), 0) } else { Ok(()) }
    }

    /// Makes the array reach all keys of a column; false if one is no integer or too far away.
    fn fits_array(&mut self, column: &Column) -> bool {
        let rows = 0..column.len();
        let keys: Option<(i64, i64)> = match (&column.data, &column.validity) {
            (ColumnData::Int(values), None) => values.iter().min().copied().zip(values.iter().max().copied()),
            _ => {
                let mut ends: Option<(i64, i64)> = None;
                for row in rows.filter(|&row| !column.is_null(row)) {
                    let Key::Int(x) = Key::of(column, row) else { return false };
                    ends = Some(ends.map_or((x, x), |(low, high)| (low.min(x), high.max(x))));
                }
                ends
            }
        };
        keys.is_none_or(|(low, high)| self.make_room(low, column.len()) && self.make_room(high, column.len()))
    }

    /// Makes the array reach a key of a batch; false if that would waste too much.
    fn make_room(&mut self, x: i64, rows: usize) -> bool {
        let Some(array) = &mut self.array else { return false };
        if array.is_empty() {
            self.base = x;
        }
        let length = array.len() as u64;
        let (low, high) = (self.base.min(x), (self.base as i128 + length as i128 - 1).max(i128::from(x)));
        let span = (high - i128::from(low) + 1) as u128;
        let allowed = ((self.count + rows as u64) * 8 + ARRAY_SLACK).min(self.memory_bytes_max as u64 / 4);
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
            if span as usize > array.capacity() {
                let wanted = (length * 2).min(allowed).max(span as u64);
                array.reserve_exact((wanted - length) as usize);
            }
            array.resize(span as usize, MISSING);
        }
        true
    }

    /// Moves all keys from the array to the hash table, from the end, so that the array shrinks as the table grows.
    fn hash_all(&mut self, context: &BuildContext) -> Result<()> {
        let mut array = self.array.take().unwrap_or_default();
        self.count = 0;
        let step = (self.memory_bytes_max / ENTRY_BYTES / 16).clamp(1 << 8, ARRAY_STEP_MAX);
        while !array.is_empty() {
            let start = array.len().saturating_sub(step);
            let used = array[start..].iter().filter(|id| **id != MISSING).count();
            self.reserve(context, used, array.capacity() * 4)?;
            for (offset, &id) in array.iter().enumerate().skip(start).filter(|(_, id)| **id != MISSING) {
                self.insert_hashed(Key::Int(self.base.wrapping_add(offset as i64)).entry(id));
            }
            array.truncate(start);
            array.shrink_to_fit();
        }
        Ok(())
    }

    /// Makes room for `rows` keys in the hash table: there, or by moving what it holds to the disk. More than the limit
    /// is taken only if one batch alone needs it.
    fn reserve(&mut self, context: &BuildContext, rows: usize, bytes_besides: usize) -> Result<()> {
        let slots_for = |keys: usize| (keys * 4 / 3 + 1).next_power_of_two().max(SLOTS_MIN);
        let mut needed = slots_for(self.slots_used + rows);
        if needed <= self.slots.len() {
            return Ok(());
        }
        let bytes_besides = bytes_besides + self.runs.as_ref().map_or(self.memory_bytes_max / 8, KeyRuns::memory_bytes);
        // While the table grows, the old slots are there besides the new ones.
        let is_too_much = (self.slots.len() + needed) * ENTRY_BYTES + bytes_besides > self.memory_bytes_max;
        if is_too_much && self.slots_used * ENTRY_BYTES > self.memory_bytes_max / 32 {
            self.spill(context)?;
            needed = slots_for(rows);
        }
        if needed > self.slots.len() {
            let old = std::mem::replace(&mut self.slots, vec![EMPTY; needed]);
            for entry in old.into_iter().filter(|entry| entry.id != MISSING) {
                let place = self.probe(&entry);
                self.slots[place] = entry;
            }
        }
        Ok(())
    }

    /// Moves what the hash table holds to the disk.
    fn spill(&mut self, context: &BuildContext) -> Result<()> {
        let slots = self.slots.len();
        self.slots.retain(|entry| entry.id != MISSING);
        self.slots.sort_unstable();
        if !self.slots.is_empty() {
            let memory = self.memory_bytes_max;
            self.runs.get_or_insert_with(|| KeyRuns::new(memory)).push(context, &self.slots)?;
        }
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        self.slots_used = 0;
        Ok(())
    }

    /// Moves everything to the disk, for others that need the memory more.
    pub fn spill_all(&mut self, context: &BuildContext) -> Result<()> {
        self.hash_all(context)?;
        self.spill(context)?;
        self.slots = Vec::new();
        Ok(())
    }

    /// Says that no key will be added any more. A table that is on the disk in part goes there as a whole, to be found
    /// by one pass; its bytes stay mapped if they are no more than `mapped_bytes_max`.
    pub fn freeze(&mut self, context: &BuildContext, mapped_bytes_max: usize) -> Result<()> {
        if self.runs.is_some() {
            self.spill_all(context)?;
        }
        self.runs.as_mut().map_or(Ok(()), |runs| runs.freeze(context, mapped_bytes_max))
    }

    /// Gives the key of a row to a node, unless it has one in memory: then that one's id comes back. The batch must
    /// have been prepared, and its keys not have been found on the disk.
    pub fn insert(&mut self, column: &Column, row: usize, id: u32) -> Option<u32> {
        let key = Key::of(column, row);
        let Some(array) = &mut self.array else { return self.insert_hashed(key.entry(id)) };
        let Key::Int(x) = key else { unreachable!("a prepared array has room for the keys of the batch") };
        let slot = &mut array[x.wrapping_sub(self.base) as usize];
        if *slot != MISSING {
            return Some(*slot);
        }
        *slot = id;
        self.count += 1;
        None
    }

    fn insert_hashed(&mut self, entry: Entry) -> Option<u32> {
        let place = self.probe(&entry);
        let slot = &mut self.slots[place];
        if slot.id != MISSING {
            return Some(slot.id);
        }
        *slot = entry;
        self.slots_used += 1;
        self.count += 1;
        None
    }

    /// The slot that holds a key, or the empty one where it belongs.
    #[inline]
    fn probe(&self, entry: &Entry) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = entry.first as usize & mask;
        loop {
            let slot = &self.slots[place];
            if slot.id == MISSING || slot.key() == entry.key() {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    /// The node of a key in memory.
    #[inline]
    fn find_key(&self, key: Key) -> u32 {
        match (&self.array, key) {
            (Some(array), Key::Int(x)) => {
                usize::try_from(x.wrapping_sub(self.base)).ok().and_then(|at| array.get(at)).copied().unwrap_or(MISSING)
            }
            (Some(_), Key::Hashed(..)) => MISSING,
            (None, _) if self.slots.is_empty() => MISSING,
            (None, key) => self.slots[self.probe(&key.entry(0))].id,
        }
    }

    /// Replaces `out` by the nodes of all rows; `MISSING` where there is none.
    pub fn find_all(&self, column: &Column, out: &mut Vec<u32>) -> Result<()> {
        out.clear();
        match (&self.array, &column.data, &column.validity) {
            (Some(array), ColumnData::Int(values), None) => {
                let base = self.base;
                out.extend(
                    values.iter().map(|&x| array.get(x.wrapping_sub(base) as u64 as usize).copied().unwrap_or(MISSING)),
                );
            }
            _ => out.extend((0..column.len()).map(|row| match column.is_null(row) {
                true => MISSING,
                false => self.find_key(Key::of(column, row)),
            })),
        }
        let Some(runs) = &self.runs else { return Ok(()) };
        let missing = (0..column.len()).filter(|&row| out[row] == MISSING && !column.is_null(row));
        let wanted = missing.map(|row| Key::of(column, row).entry(row as u32));
        let mut wanted: Vec<Entry> = wanted.filter(|entry| runs.may_have(entry)).collect();
        runs.find(&mut wanted, out)
    }
}
