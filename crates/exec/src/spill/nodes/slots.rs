//! A hash table on pages, for ids that are no places: open addressing, the place of an id being the first bits of its hash.
//!
//! A table that is half full is copied into one twice as large. Since places are first bits, both are gone through from
//! the beginning to the end then.

use model::Result;
use model::mix::mix64;

use super::{number_at, put_number};
use crate::memory::Charge;
use crate::spill::pages::{PAGE_BYTES, Pages};

/// Bytes of a slot: an id, its number and one more (0 if the slot is free), four bytes that say nothing.
const SLOT_BYTES: usize = 16;
/// Slots of a page.
const PAGE_SLOTS: u64 = (PAGE_BYTES / SLOT_BYTES) as u64;
/// Bits of the number of slots in the first table: one page.
const FIRST_BITS: u32 = PAGE_SLOTS.ilog2();

/// See the module.
pub(super) struct Slots<'m> {
    charge: Charge<'m>,
    pages: Pages<'m>,
    bits: u32,
    count: u64,
}

impl<'m> Slots<'m> {
    pub(super) fn new(charge: Charge<'m>) -> Slots<'m> {
        Slots::of_bits(charge, FIRST_BITS)
    }

    fn of_bits(charge: Charge<'m>, bits: u32) -> Slots<'m> {
        let pages = Pages::of_table(charge.another());
        Slots { charge, pages, bits, count: 0 }
    }

    /// The page where the slot of an id is, or a little before.
    pub(super) fn page_of(&self, id: u64) -> u64 {
        (mix64(id) >> (64 - self.bits)) / PAGE_SLOTS
    }

    /// The number of an id.
    pub(super) fn get(&mut self, id: u64) -> Result<Option<u32>> {
        Ok(self.find(id)?.1)
    }

    /// Keeps a number for an id that has none yet, and gives that which it has.
    pub(super) fn put(&mut self, id: u64, number: u32) -> Result<Option<u32>> {
        let (mut slot, known) = self.find(id)?;
        if known.is_some() {
            return Ok(known);
        }
        if 2 * (self.count + 1) > 1 << self.bits {
            self.grow()?;
            slot = self.find(id)?.0;
        }
        let (page, at) = place_of(slot);
        let bytes = self.pages.write(page)?;
        bytes[at..at + 8].copy_from_slice(&id.to_le_bytes());
        put_number(bytes, at + 8, number + 1);
        self.count += 1;
        Ok(None)
    }

    /// The slot of an id, or the free one where it belongs, and its number.
    fn find(&mut self, id: u64) -> Result<(u64, Option<u32>)> {
        let mut slot = mix64(id) >> (64 - self.bits);
        loop {
            let (page, mut at) = place_of(slot);
            let bytes = self.pages.read(page)?;
            while at < PAGE_BYTES {
                match entry_at(bytes, at) {
                    None => return Ok((slot, None)),
                    Some((known, number)) if known == id => return Ok((slot, Some(number))),
                    Some(_) => {}
                }
                at += SLOT_BYTES;
                slot += 1;
            }
            slot &= (1 << self.bits) - 1;
        }
    }

    fn grow(&mut self) -> Result<()> {
        let mut larger = Slots::of_bits(self.charge.another(), self.bits + 1);
        let mut entries = Vec::with_capacity(PAGE_SLOTS as usize);
        for page in 0..(1 << self.bits) / PAGE_SLOTS {
            let bytes = self.pages.read(page)?;
            entries.clear();
            entries.extend((0..PAGE_BYTES).step_by(SLOT_BYTES).filter_map(|at| entry_at(bytes, at)));
            for &(id, number) in &entries {
                larger.put(id, number)?;
            }
        }
        *self = larger;
        Ok(())
    }
}

fn place_of(slot: u64) -> (u64, usize) {
    (slot / PAGE_SLOTS, (slot % PAGE_SLOTS) as usize * SLOT_BYTES)
}

fn entry_at(bytes: &[u8], at: usize) -> Option<(u64, u32)> {
    let number = number_at(bytes, at + 8).checked_sub(1)?;
    Some((u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")), number))
}
