//! A part of the cache under one lock: units with their rows, of which those leave first that were not used lately.
//!
//! After: the clock algorithm (Corbató, 1969).

use model::Map;

use super::unit::{Bounds, Unit};
use crate::packed::Packed;

/// Bytes of a unit beside its rows: its slot, its place in the map, and what allocations round up.
const UNIT_BYTES: usize = 192;

/// Units with their rows.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    places: Map<Unit, u32>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    unit: Unit,
    /// Bounds of the rows, where the unit does not tell them.
    bounds: Option<Bounds>,
    rows: Packed,
    /// True if it was used since the hand last passed.
    is_used: bool,
}

/// Bytes that a unit takes.
pub(super) fn cost(unit: &Unit, bounds: Option<&Bounds>, rows: &Packed) -> usize {
    let of_bounds = if bounds.is_some() { 128 } else { 0 };
    UNIT_BYTES + unit.heap_bytes() + of_bounds + rows.len()
}

impl Slot {
    fn cost(&self) -> usize {
        cost(&self.unit, self.bounds.as_ref(), &self.rows)
    }
}

impl Shelf {
    /// The rows of a unit, within these bounds.
    pub(super) fn get(&mut self, unit: &Unit, bounds: Option<&Bounds>) -> Option<Packed> {
        let place = *self.places.get(unit)?;
        let slot = self.slots[place as usize].as_mut()?;
        if slot.bounds.as_ref() != bounds {
            return None;
        }
        slot.is_used = true;
        Some(slot.rows.clone())
    }

    /// Puts rows, and gives the bytes of those that were there before.
    pub(super) fn put(&mut self, unit: Unit, bounds: Option<Bounds>, rows: Packed) -> usize {
        let freed = self.remove(&unit);
        let slot = Slot { unit: unit.clone(), bounds, rows, is_used: false };
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = Some(slot);
                place
            }
            None => {
                self.slots.push(Some(slot));
                self.slots.len() as u32 - 1
            }
        };
        self.places.insert(unit, place);
        freed
    }

    /// Removes a unit: the bytes that it took.
    pub(super) fn remove(&mut self, unit: &Unit) -> usize {
        let Some(place) = self.places.remove(unit) else { return 0 };
        let freed = self.slots[place as usize].take().map_or(0, |slot| slot.cost());
        if self.places.is_empty() {
            *self = Shelf::default();
        } else {
            self.free.push(place);
        }
        freed
    }

    /// Removes everything: the bytes that it took.
    pub(super) fn clear(&mut self) -> usize {
        let bytes = self.slots.iter().flatten().map(Slot::cost).sum();
        *self = Shelf::default();
        bytes
    }

    /// Removes a unit that was not used lately: the bytes that it took; 0 if there is none.
    pub(super) fn evict(&mut self) -> usize {
        for _ in 0..2 * self.slots.len() {
            self.hand = (self.hand + 1) % self.slots.len();
            let Some(slot) = &mut self.slots[self.hand] else { continue };
            if slot.is_used {
                slot.is_used = false;
                continue;
            }
            let unit = slot.unit.clone();
            return self.remove(&unit);
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::{Shelf, cost};
    use crate::cache::unit::Unit;
    use crate::packed::Packed;
    use crate::tables::{Field, Table};

    fn nothing() -> Packed {
        Packed::new(Table::Node, &[]).unwrap()
    }

    #[test]
    fn units_that_are_used_stay_longer() {
        let mut shelf = Shelf::default();
        for id in 0..10 {
            assert_eq!(shelf.put(Unit::Node(id), None, nothing()), 0);
        }
        let each = cost(&Unit::Node(0), None, &nothing());
        assert_eq!(shelf.put(Unit::Node(3), None, nothing()), each, "it was there before");
        assert!(shelf.get(&Unit::Node(7), None).is_some() && shelf.get(&Unit::Node(70), None).is_none());
        let freed: usize = (0..9).map(|_| shelf.evict()).sum();
        assert_eq!(freed, 9 * each);
        assert!(shelf.get(&Unit::Node(7), None).is_some());
        assert_eq!((shelf.remove(&Unit::Node(7)), shelf.remove(&Unit::Node(7))), (each, 0));
        assert_eq!(shelf.evict(), 0);
    }

    #[test]
    fn other_bounds_are_not_given_out() {
        let bounds = |number| (Bound::Included(Field::Int(number)), Bound::Unbounded);
        let unit = Unit::EntryRange { index: 1, shard: 2, place: 0 };
        let mut shelf = Shelf::default();
        shelf.put(unit.clone(), Some(bounds(1)), nothing());
        assert!(shelf.get(&unit, Some(&bounds(1))).is_some());
        assert!(shelf.get(&unit, Some(&bounds(2))).is_none() && shelf.get(&unit, None).is_none());
        assert_eq!(shelf.clear(), cost(&unit, Some(&bounds(1)), &nothing()));
    }
}
