//! Clauses for which it does not matter how often a match comes.

use model::Set;

use crate::binder::tree::BoundClause;
use crate::plan::{Aggregate, SlotId};

/// The slots that a clause reads of the rows before it, if it asks only which combinations of their values there are, and of all.
pub(super) fn slots(clause: &BoundClause) -> Option<Set<SlotId>> {
    let BoundClause::Project(projection) = clause else { return None };
    let mut read = Set::default();
    match &projection.grouping {
        Some(grouping) => {
            let aggregates = &grouping.aggregates;
            if !aggregates.iter().all(Aggregate::ignores_repeats) {
                return None;
            }
            grouping.keys.iter().for_each(|(_, key)| key.free_slots(&mut read));
            aggregates.iter().flat_map(|it| &it.arguments).for_each(|argument| argument.free_slots(&mut read));
        }
        // Of the first few rows of a `DISTINCT` it is not known how many matches they take.
        None if projection.distinct && (projection.limit.is_none() || !projection.order.is_empty()) => {
            projection.items.iter().for_each(|(_, item)| item.free_slots(&mut read));
        }
        None => return None,
    }
    Some(read)
}
