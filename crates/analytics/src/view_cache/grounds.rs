//! Data that searches have read, kept for the next search of the same kind.
//!
//! A search takes the kept data out, so that it is its own as long as it runs, and puts it back when it is done;
//! searches that run at the same time have one each. Data of a source that may be read again only after some time is
//! dropped when it is older than a view allows.

use model::id::{EdgeTypeId, LabelId, PropertyKeyId};
use model::memory::{Consumer, Reservation};
use model::store::{Direction, Moment};

use super::ViewCache;
use crate::search::best_first::{Grounds, Scratch};
use crate::search::ground::{Ground, Reach};

/// The selection that a ground is of.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    labels: Option<Vec<LabelId>>,
    types: Option<Vec<EdgeTypeId>>,
    direction: Direction,
    /// The property of the weights, and the value for a missing one; `None` without weights.
    weight: Option<(Option<PropertyKeyId>, Option<u64>)>,
    /// Latitude and longitude.
    map: Option<(PropertyKeyId, PropertyKeyId)>,
}

impl Key {
    fn of(reach: &Reach<'_>) -> Key {
        Key {
            labels: reach.projection.labels.clone(),
            types: reach.projection.types.clone(),
            direction: reach.projection.direction,
            weight: reach.weight.map(|weight| (weight.key, weight.default.map(f64::to_bits))),
            map: reach.map.map(|map| (map.latitude.1, map.longitude.1)),
        }
    }
}

/// A ground that no search has out.
pub(super) struct KeptGround {
    key: Key,
    moment: Moment,
    ground: Ground,
    scratch: Scratch,
    held: Reservation,
    last_used: u64,
}

impl Grounds for ViewCache {
    fn take_ground(&self, reach: &Reach<'_>) -> Option<(Ground, Scratch)> {
        let moment = reach.view.moment()?;
        let key = Key::of(reach);
        let since_ns = reach.view.freshness().since_ns;
        let found = {
            let mut grounds = self.lock_grounds();
            grounds.retain(|kept| kept.moment != moment || kept.ground.oldest_ns >= since_ns);
            let fits = |kept: &KeptGround| kept.moment == moment && kept.key == key;
            let at = grounds.iter().rposition(fits)?;
            grounds.swap_remove(at)
        };
        Some((found.ground, found.scratch))
    }

    /// In place of what was read at earlier moments.
    fn keep_ground(&self, reach: &Reach<'_>, mut ground: Ground, scratch: Scratch) {
        let Some(moment) = reach.view.moment() else { return };
        ground.oldest_ns = ground.oldest_ns.min(reach.view.freshness().oldest_ns);
        let bytes = ground.byte_count() + scratch.byte_count();
        let share = self.budget.share(Consumer::GraphViews);
        if bytes > share {
            return;
        }
        // Dropped entries give their memory back before anything is reserved, and no lock is held meanwhile.
        let is_needless =
            |kept: &mut KeptGround| kept.moment.store == moment.store && kept.moment.number < moment.number;
        let needless: Vec<KeptGround> = self.lock_grounds().extract_if(.., is_needless).collect();
        drop(needless);
        let held: usize = self.lock_grounds().iter().map(|kept| kept.held.bytes()).sum();
        if held + bytes > share {
            self.give_back_grounds(held + bytes - share);
        }
        let Some(held) = self.budget.try_reserve(Consumer::GraphViews, bytes) else { return };
        let kept = KeptGround { key: Key::of(reach), moment, ground, scratch, held, last_used: self.now() };
        self.lock_grounds().push(kept);
    }
}

impl ViewCache {
    /// Drops grounds, those that were not used for longest first, until `bytes` bytes are free; returns the number of
    /// bytes freed.
    pub(super) fn give_back_grounds(&self, bytes: usize) -> usize {
        let mut given = 0;
        let mut dropped = Vec::new();
        {
            let mut grounds = self.lock_grounds();
            while given < bytes {
                let Some((at, _)) = grounds.iter().enumerate().min_by_key(|(_, kept)| kept.last_used) else { break };
                let oldest = grounds.swap_remove(at);
                given += oldest.held.bytes();
                dropped.push(oldest);
            }
        }
        drop(dropped);
        given
    }
}
