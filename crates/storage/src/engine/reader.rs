//! A store that is only read: how it is opened, and moves on to what another process has committed since.
//!
//! As long as the manifest is the same, only the records behind those that were repeated are, over the state before; a new
//! manifest means new files, those that are still named shared with the state before, and its logs from their beginning.
//!
//! Invariant: a reader sees all transactions up to some one, which was acknowledged when it looked or a later one.

use std::sync::Arc;

use model::platform::Platform;
use model::{ErrorCode, Interrupt, Result};

use super::background::memtable_bytes_most;
use super::replay::{Overflow, Replay};
use super::{Engine, NativeStore, lock};
use crate::beside::{Seen, open_current, see};
use crate::bulk::Built;
use crate::history::EdgeState;
use crate::lock::is_written;
use crate::manifest::Manifest;
use crate::reading::reading;
use crate::snapshot::Snapshot;
use crate::transaction::made::Made;
use crate::version::Version;
use crate::wal::seen::LogPlace;
use crate::wal::torn::TornLog;

/// Number of times that a log is read anew that its writer cut meanwhile.
const ATTEMPTS: u32 = 5;

/// State of a store at which a reader stands.
#[derive(Debug)]
pub(super) struct Place {
    /// The files of its manifest.
    version: Arc<Version>,
    /// The disk they are read from.
    platform: Platform,
    log: LogPlace,
    /// Some of what the logs hold is in files without a name.
    has_files: bool,
}

/// The newest state.
pub(super) struct Newest {
    pub(super) snapshot: Snapshot,
    pub(super) place: Place,
    /// The last transaction.
    pub(super) sequence: u64,
    /// The last log.
    pub(super) number: u64,
    pub(super) torn: Vec<TornLog>,
}

impl Replay<'_> {
    /// The newest state, from the one before if there is one; none if that is the newest.
    pub(super) fn newest(&self, before: Option<(&Place, &Snapshot)>) -> Result<Option<Newest>> {
        let mut attempt = 1;
        loop {
            match self.look(before) {
                // Bytes that were not durable may be cut off and written again.
                Err(error)
                    if matches!(error.code(), ErrorCode::Corrupt | ErrorCode::Io)
                        && attempt < ATTEMPTS
                        && is_written(&*self.platform.disk, self.path) => {}
                newest => return newest,
            }
            attempt += 1;
        }
    }

    fn look(&self, before: Option<(&Place, &Snapshot)>) -> Result<Option<Newest>> {
        // Files that this process made have numbers that are others' in a later version.
        let base = before.filter(|(place, _)| !place.has_files).map(|(place, _)| &place.version);
        let current = |tried: Option<&Arc<Version>>| match before {
            Some((place, _)) if place.version.manifest().generation == self.generation()? => Ok(place.version.clone()),
            Some((place, _)) => {
                let tried = tried.filter(|tried| !Arc::ptr_eq(tried, &place.version));
                open_current(self.platform, self.path, tried.or(base))
            }
            None => open_current(self.platform, self.path, tried),
        };
        let Seen { version, logs } = see(self.platform, self.path, &current)?;
        let before = before.filter(|(place, _)| Arc::ptr_eq(&place.version, &version) && logs.hold(&place.log));
        let mut snapshot = match before {
            Some((_, before)) => Snapshot { edges: EdgeState::new(), ..before.clone() },
            None => Snapshot::new(version.clone()),
        };
        let (made, mut overflow) =
            (Made::heard_by(self.interrupt), Overflow::new(self.memory, self.most, self.interrupt));
        let from = before.map(|(place, _)| place.log);
        let replayed = logs.replay(self.path, from, self.room, |payload| {
            self.interrupt.check()?;
            snapshot.apply_record(payload, &made, Some(&mut overflow))
        })?;
        let log = replayed.place();
        if from.is_some_and(|from| from.is_at(&log)) {
            return Ok(None);
        }
        let built = overflow.into_built();
        built.iter().for_each(Built::keep);
        snapshot.version.edge_numbers().raise(snapshot.memtable.edge_number_bound);
        let has_files = !built.is_empty() || before.is_some_and(|(place, _)| place.has_files);
        // Of a log that is being written the end may be half there.
        let torn = match replayed.torn.is_empty() || !is_written(&*self.platform.disk, self.path) {
            true => replayed.torn,
            false => Vec::new(),
        };
        let (sequence, number) = (replayed.end.sequence, replayed.name.number);
        let platform = before.map_or(self.platform, |(place, _)| &place.platform).clone();
        let place = Place { version, platform, log, has_files };
        Ok(Some(Newest { snapshot, place, sequence, number, torn }))
    }

    fn generation(&self) -> Result<u64> {
        Manifest::read(&self.platform.disk, self.path).map(|manifest| manifest.generation)
    }
}

impl NativeStore {
    /// Moves a store that is only read on to what is committed by now: what begins to read from now on sees all that was
    /// acknowledged before the call. True if there was anything new. A store that is written is always at its newest state.
    ///
    /// # Errors
    /// As opening; the store then stays at the state where it was.
    pub fn refresh(&self, interrupt: &Interrupt) -> Result<bool> {
        let engine = &*self.0;
        let Some(reader) = &engine.reader else { return Ok(false) };
        let mut place = lock(reader);
        let before = lock(&engine.published).clone();
        let platform = match place.has_files {
            true => engine.cache.wrap(reading(&engine.beneath)),
            false => place.platform.clone(),
        };
        let replay = Replay {
            path: &engine.path,
            platform: &platform,
            memory: &engine.memory,
            most: memtable_bytes_most(&engine.options, &engine.memory),
            room: engine.record_room(),
            interrupt,
        };
        let Some(newest) = replay.newest(Some((&place, &before)))? else { return Ok(false) };
        engine.stand_on(Arc::new(newest.snapshot));
        *place = newest.place;
        Ok(true)
    }
}

impl Engine {
    /// Has everybody read that state from now on.
    fn stand_on(&self, snapshot: Arc<Snapshot>) {
        let mut current = lock(&self.current);
        let mut head = lock(&self.head);
        self.set_memtable_bytes(snapshot.memtable.bytes);
        *current = snapshot.version.clone();
        let before = std::mem::replace(&mut head.snapshot, snapshot.clone());
        let published = std::mem::replace(&mut *lock(&self.published), snapshot);
        drop((head, current));
        drop((before, published));
    }
}
