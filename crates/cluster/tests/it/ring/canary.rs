//! Faults that no ring may have and no client may make: a test that does not find each of them would not find the real one.

/// A fault that a test must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Canary {
    /// Reads ask one replica, below a majority.
    ReadAtOne,
    /// Writes wait for one replica, below a majority.
    WriteAtOne,
    /// A record is marked when its rows are not there yet: the order of a client that applies before it may.
    MarkBeforeRows,
    /// An append replaces the record of another: the log of a client that does not append conditionally.
    AppendOverwrites,
    /// The record of another is taken for empty: a client that does not compare with the winner.
    HidesWinner,
    /// An epoch is dropped and not sealed.
    NeverSeals,
    /// A scan leaves out the last token of its range: a boundary off by one.
    ScanEndsEarly,
    /// A scan has the token before its range too: the same at the other end.
    ScanBeginsEarly,
    /// A page of a scan begins with the last row of the one before.
    RepeatsRow,
    /// A page of a scan that was not answered goes on with the next when it is asked for again.
    SkipsLostPage,
    /// Deleted rows are forgotten at once, as with `gc_grace_seconds = 0`: writes that arrive late bring them back.
    ForgetsDeletions,
}

impl Canary {
    /// Those that histories find.
    pub(crate) const OF_HISTORIES: [Canary; 5] =
        [Canary::ReadAtOne, Canary::WriteAtOne, Canary::MarkBeforeRows, Canary::AppendOverwrites, Canary::HidesWinner];

    /// Those that scans find.
    pub(crate) const OF_SCANS: [Canary; 4] =
        [Canary::ScanEndsEarly, Canary::ScanBeginsEarly, Canary::RepeatsRow, Canary::SkipsLostPage];
}
