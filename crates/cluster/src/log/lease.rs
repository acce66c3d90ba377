//! Leases of views: a process goes on reading for a while after it has looked for a new horizon of the purge, and looks again
//! when the while is over.
//!
//! Invariants:
//! - A purge takes rows only that were dead at the horizon, when the record of the horizon is in the log, and twice the
//!   lease after that.
//! - What a view has read counts only if its process looked for a horizon less than a lease before, or looks after it, and
//!   the horizon is not later than the view.
//!
//! The while is measured by each process for itself. No clock is compared with another. What has to hold is that no clock
//! runs at less than half the rate of another, and, with a lease of 0, not even that.

use std::sync::atomic::{AtomicU64, Ordering};

use model::{Error, Result, error};

use super::Log;
use crate::settings::PurgeFault;
use crate::state::Purge;

/// The last look for a horizon.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// When it began.
    looked_ns: AtomicU64,
    /// The horizon that was found.
    horizon: AtomicU64,
}

impl Lease {
    /// Notes the horizon of a state.
    pub(super) fn found(&self, horizon: u64) {
        self.horizon.fetch_max(horizon, Ordering::AcqRel);
    }

    /// Notes that what was in the log at that time is known.
    pub(super) fn looked(&self, began_ns: u64) {
        self.looked_ns.fetch_max(began_ns, Ordering::AcqRel);
    }
}

impl Log {
    /// Fails if the graph is purged with another lease than that of this process.
    pub(super) fn check_lease(&self, purge: &Purge) -> Result<()> {
        let (theirs, mine) = (purge.lease_ns, self.settings.lease_ns);
        if purge.horizon == 0 || theirs == mine {
            return Ok(());
        }
        Err(error!(Version, "the graph is purged with a lease of {theirs} ns, this process has one of {mine} ns")
            .with_remedy("open the graph with the settings of the other processes"))
    }

    /// Fails with `CONFLICT` if rows that a view at a record has to see may be gone. To be called when its rows have come in,
    /// also where they were kept in memory.
    pub(crate) fn confirm(&self, at: u64) -> Result<()> {
        if self.settings.purge_fault == Some(PurgeFault::IgnoresHorizon) {
            return Ok(());
        }
        // The time first: a look that ends in between has found the horizon by then.
        let looked = self.lease.looked_ns.load(Ordering::Acquire);
        let horizon = self.lease.horizon.load(Ordering::Acquire);
        if at < horizon {
            return Err(behind(at, horizon));
        }
        if self.settings.clock.now_ns().saturating_sub(looked) < self.settings.lease_ns {
            return Ok(());
        }
        let horizon = self.catch_up()?.purge.horizon;
        if at < horizon { Err(behind(at, horizon)) } else { Ok(()) }
    }
}

fn behind(at: u64, horizon: u64) -> Error {
    error!(
        Conflict,
        "the snapshot is of record {at} of the log, and versions that died by record {horizon} have been purged"
    )
    .with_remedy("begin it again; purges in the background leave snapshots of the last minutes alone")
}
