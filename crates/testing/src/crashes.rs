//! Power cuts at every operation of a run: a store is recorded on a [`JournalDisk`](crate::simulation::JournalDisk) while it works, and opened
//! again on what a power cut at each moment would have left.
//!
//! - [`workload`]: what the store does while it is recorded.
//! - [`verify`]: every moment of a recording, with what may be left then.
//! - [`faults`]: a disk that fails, or is full, at each operation; damaged files.
//! - [`read_errors`]: a disk that cannot read a page.
//! - [`intervals`]: what a store owes that syncs its log at intervals.
//! - [`broken`]: recordings of stores that skip what they must not skip, each of which must be found out.
//!
//! The promise that is held: every acknowledged step is there, the step that was under way is there whole or not at all,
//! nothing else is; the store opens by itself, its files are in order, and it goes on.

pub mod broken;
pub mod faults;
pub mod intervals;
pub mod read_errors;
pub mod verify;
pub mod workload;

use model::platform::Platform;
use model::{GraphStore, Result};

use crate::differential::RandomTransaction;

pub use verify::{Tally, Verification, Violation};
pub use workload::{FinishedBackup, Recording, Workload};

/// A kind of store that can be put through power cuts.
pub trait Subject: Sync {
    /// The store, open.
    type Store: GraphStore;

    /// Opens the one store of a platform's disk, made if need be.
    fn open(&self, platform: &Platform) -> Result<Self::Store>;

    /// Opens the store for reading only.
    fn open_reading(&self, platform: &Platform) -> Result<Self::Store>;

    /// Does what is asked besides transactions.
    fn maintain(&self, store: &Self::Store, maintenance: &Maintenance) -> Result<()>;

    /// Opens the backup of that number for reading.
    fn open_backup(&self, platform: &Platform, number: u64) -> Result<Self::Store>;

    /// Problems of the files of the store, which is closed.
    fn problems(&self, platform: &Platform) -> Result<Vec<String>>;
}

/// Maintenance of a store, which is done besides transactions.
#[derive(Clone, Debug)]
pub enum Maintenance {
    /// All writes go into files.
    Checkpoint,
    /// The files are put in order.
    Compact,
    /// The new nodes and edges of a transaction, loaded in bulk.
    BulkLoad(RandomTransaction),
    /// A copy is made under that number, on the same disk.
    Backup(u64),
}
