//! State shared by all versions of an open store: the numbers of files and of edges, and the slots of edge partitions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Error, Result};

use crate::error::StorageError;
use crate::format::{EDGE_NUMBER_LIMIT, PARTITION_SLOTS};

/// Source of the numbers of all new files of an open store.
#[derive(Debug)]
pub struct FileNumbers(AtomicU64);

impl FileNumbers {
    /// Numbers from `next` on.
    pub fn new(next: u64) -> Arc<FileNumbers> {
        Arc::new(FileNumbers(AtomicU64::new(next)))
    }

    /// A number that no file has.
    pub fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next file would get.
    pub fn next(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Says that numbers below this one were given out, by another process.
    pub fn raise(&self, bound: u64) {
        self.0.fetch_max(bound, Ordering::Relaxed);
    }
}

/// The source of numbers for all new edges of an open store. No number is given out twice.
#[derive(Debug)]
pub struct EdgeNumbers(AtomicU64);

impl EdgeNumbers {
    /// Numbers from `next` on.
    pub fn new(next: u64) -> Arc<EdgeNumbers> {
        Arc::new(EdgeNumbers(AtomicU64::new(next)))
    }

    /// Reserves consecutive numbers; gives the first.
    pub fn take(&self, count: u64) -> Result<u64> {
        let next = |first: u64| first.checked_add(count).filter(|&next| next <= EDGE_NUMBER_LIMIT);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).map_err(|_| {
            StorageError::limit(format!("the store has made {EDGE_NUMBER_LIMIT} edges, which is all it can number"))
        })
    }

    /// The number that the next edge would get.
    pub fn next(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Says that numbers below this one were given out.
    pub fn raise(&self, bound: u64) {
        self.0.fetch_max(bound, Ordering::Relaxed);
    }
}

/// Slots that are taken by partitions that some version still has open.
#[derive(Debug, Default)]
pub struct Slots(Mutex<Vec<bool>>);

impl Slots {
    /// The lowest slot that is free.
    pub fn lease(self: &Arc<Slots>) -> Result<SlotLease> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = taken.iter().position(|is_taken| !is_taken).unwrap_or(taken.len());
        if slot >= PARTITION_SLOTS {
            return Err(none_left());
        }
        let length = taken.len().max(slot + 1);
        taken.resize(length, false);
        taken[slot] = true;
        Ok(SlotLease { slots: self.clone(), slot: slot as u16 })
    }

    /// Fails unless `count` slots are free; called before anything is written that needs them.
    pub fn check_free(&self, count: usize) -> Result<()> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = taken.iter().filter(|is_taken| **is_taken).count();
        if taken + count <= PARTITION_SLOTS { Ok(()) } else { Err(none_left()) }
    }

    /// That slot; `None` if it is taken.
    pub fn lease_slot(self: &Arc<Slots>, slot: u16) -> Option<SlotLease> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, length) = (usize::from(slot), taken.len());
        taken.resize(length.max(at + 1), false);
        (!std::mem::replace(&mut taken[at], true)).then(|| SlotLease { slots: self.clone(), slot })
    }
}

fn none_left() -> Error {
    let problem = format!("{PARTITION_SLOTS} edge partitions are open, those that old transactions read included");
    StorageError::limit(problem).with_remedy("end transactions and results that were begun long ago")
}

/// A slot, until this is dropped.
#[derive(Debug)]
pub struct SlotLease {
    slots: Arc<Slots>,
    slot: u16,
}

impl SlotLease {
    /// The slot.
    pub fn slot(&self) -> u16 {
        self.slot
    }
}

impl Drop for SlotLease {
    fn drop(&mut self) {
        let mut taken = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken[usize::from(self.slot)] = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::ErrorCode;

    use super::Slots;
    use crate::format::PARTITION_SLOTS;

    #[test]
    fn all_slots_can_be_taken_and_no_more() {
        let slots = Arc::new(Slots::default());
        slots.check_free(PARTITION_SLOTS).unwrap();
        let mut leases: Vec<_> = (1..PARTITION_SLOTS).map(|_| slots.lease().unwrap()).collect();
        assert!(slots.check_free(1).is_ok() && slots.check_free(2).is_err());
        leases.push(slots.lease().unwrap());
        for error in [slots.check_free(1).unwrap_err(), slots.lease().unwrap_err()] {
            assert_eq!(error.code(), ErrorCode::Limit);
            assert!(error.remedy().contains("end transactions"), "{error:?}");
        }
        leases.pop();
        assert!(slots.check_free(1).is_ok() && slots.lease().is_ok());
    }

    #[test]
    fn the_lowest_free_slot_is_taken() {
        let slots = Arc::new(Slots::default());
        let leases: Vec<_> = (0..3).map(|_| slots.lease().unwrap()).collect();
        assert_eq!(leases.iter().map(|lease| lease.slot()).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(slots.lease_slot(1).is_none());
        drop(leases);
        let high = slots.lease_slot(7).unwrap();
        assert_eq!((high.slot(), slots.lease().unwrap().slot()), (7, 0));
    }
}
