//! Lists and texts that an expression makes for a batch of rows: how many bytes there are, and when that is too much.
//!
//! Up to an allowance, as large as what work needs in any case, nothing is charged. Beyond it all is charged to the account
//! of the query, before it is made where that can be told, and refused if the query may not hold so much. What an
//! expression gives belongs to the operator that asked for it, which charges what it keeps.
//!
//! Cost: an addition for each list or text; what a node of an expression leaves is looked through if anything was made.

use std::cell::Cell;

use model::{Column, ColumnData, Result, Value};

use crate::memory::QueryMemory;
use crate::size::own_bytes;

/// Bytes that an evaluation may always make; more of them if a quarter of the limit is more.
const FREE_BYTES: usize = 8 << 20;
/// Bytes of a text of a column that becomes a value, besides its characters.
const TEXT_BYTES: usize = 2 * size_of::<usize>();

/// Lists and strings that one thread makes at present.
#[derive(Debug, Default)]
pub struct AllocationTracker {
    bytes: Cell<usize>,
    /// Number of bytes charged: all if there are more than the allowance, else none.
    charged: Cell<usize>,
}

impl AllocationTracker {
    /// Number of bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Counts `bytes` more, made by `maker`, which a refusal names.
    #[inline]
    pub(crate) fn add(&self, memory: &QueryMemory, maker: &'static str, bytes: usize) -> Result<()> {
        let now = self.bytes.get().saturating_add(bytes);
        if now > FREE_BYTES {
            self.charge(memory, maker, now)?;
        }
        self.bytes.set(now);
        Ok(())
    }

    #[cold]
    fn charge(&self, memory: &QueryMemory, maker: &'static str, now: usize) -> Result<()> {
        if now > allowance(memory) {
            memory.charge(maker, now - self.charged.get())?;
            self.charged.set(now);
        }
        Ok(())
    }

    /// Lowers the count to `bytes` if it is higher.
    #[inline]
    pub(crate) fn keep(&self, memory: &QueryMemory, bytes: usize) {
        let bytes = bytes.min(self.bytes.get());
        self.bytes.set(bytes);
        let charged = self.charged.get();
        if charged > 0 {
            let left = if bytes > allowance(memory) { bytes } else { 0 };
            memory.release(charged - left);
            self.charged.set(left);
        }
    }
}

fn allowance(memory: &QueryMemory) -> usize {
    FREE_BYTES.max(memory.limit() / 4)
}

/// Bytes of the lists and texts of a column that nobody else holds.
pub(crate) fn own_bytes_of_column(column: &Column) -> usize {
    match &column.data {
        ColumnData::String(texts) => texts.byte_count() + column.len() * TEXT_BYTES,
        ColumnData::Value(values) => values.iter().map(own_bytes).sum(),
        _ => 0,
    }
}

/// Bytes of a list of `elements` elements, without the bytes that these hold elsewhere.
pub(crate) fn list_bytes(elements: usize) -> usize {
    elements.saturating_mul(size_of::<Value>())
}

/// Bytes of a text that are one unit of work.
pub(crate) const BYTES_OF_WORK: usize = 16;

/// The work that it takes to make or look through a value, its lists by their first level.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / BYTES_OF_WORK,
        Value::Bytes(bytes) => bytes.len() / BYTES_OF_WORK,
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{AllocationTracker, FREE_BYTES};
    use crate::memory::{QueryMemory, SpillSpace};
    use model::{ErrorCode, MemoryBudget};

    #[test]
    fn only_what_is_beyond_the_allowance_is_charged() {
        const MIB: usize = 1 << 20;
        let memory = QueryMemory::new(MemoryBudget::new(1 << 30), Some(20 * MIB), SpillSpace::none());
        let made = AllocationTracker::default();
        made.add(&memory, "range()", FREE_BYTES).unwrap();
        assert_eq!((made.bytes(), memory.used()), (FREE_BYTES, 0));
        made.add(&memory, "range()", MIB).unwrap();
        assert_eq!(memory.used(), FREE_BYTES + MIB);
        let error = made.add(&memory, "range()", 12 * MIB).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Limit);
        assert!(error.message().starts_with("range() needs 12582912 more bytes"), "{}", error.message());
        assert_eq!((made.bytes(), memory.used()), (FREE_BYTES + MIB, FREE_BYTES + MIB));
        made.add(&memory, "range()", 2 * MIB).unwrap();
        made.keep(&memory, FREE_BYTES + 2 * MIB);
        assert_eq!((made.bytes(), memory.used()), (FREE_BYTES + 2 * MIB, FREE_BYTES + 2 * MIB));
        made.keep(&memory, MIB);
        assert_eq!((made.bytes(), memory.used()), (MIB, 0));
        made.keep(&memory, 5 * MIB);
        assert_eq!(made.bytes(), MIB, "nothing is kept that was not made");
        // A large limit allows more.
        let memory = QueryMemory::new(MemoryBudget::new(1 << 30), Some(400 * MIB), SpillSpace::none());
        made.add(&memory, "range()", 98 * MIB).unwrap();
        assert_eq!(memory.used(), 0);
        made.add(&memory, "range()", 2 * MIB).unwrap();
        assert_eq!(memory.used(), 101 * MIB);
        made.keep(&memory, 0);
        assert_eq!(memory.used(), 0);
    }
}
