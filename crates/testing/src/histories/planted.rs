//! Faults that a test puts between a store and those who use it: a check of histories that does not find each of them would
//! not find the real fault either.

use super::AnomalyKind;

/// A fault of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// A write that is acknowledged and not done.
    Lost,
    /// A write that hits another list of the keeper.
    Misplaced,
    /// A transaction that is refused and yet done.
    Undone,
    /// A read of a state that is older than what was acknowledged.
    Stale,
    /// A transaction that is done in two parts, between which others read.
    Torn,
}

impl Planted {
    /// All faults.
    pub const ALL: [Planted; 5] = [Planted::Lost, Planted::Misplaced, Planted::Undone, Planted::Stale, Planted::Torn];

    /// The anomalies as which it is found.
    pub fn anomalies(self) -> &'static [AnomalyKind] {
        use AnomalyKind::*;
        match self {
            Planted::Lost => &[LostAppend, Internal],
            Planted::Misplaced => &[Garbage, Internal, LostAppend],
            Planted::Undone => &[AbortedRead],
            Planted::Stale => &[StaleRead, LostAppend, ReadSkew],
            Planted::Torn => &[ReadSkew, IntermediateRead, AbortedRead],
        }
    }
}
