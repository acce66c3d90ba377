//! A disk that cannot read a page: before the store is opened, or from then on, while it is asked and written to.
//!
//! The answer is right, or an error of the disk; a transaction is there whole or not at all; and all is as it was when the
//! disk reads again.

use std::path::PathBuf;
use std::sync::Arc;

use model::ErrorCode;

use super::verify::{attempt, content_of};
use super::workload::Recording;
use super::{Maintenance, Subject, Violation};
use crate::differential::apply;
use crate::random::SeededRandom;
use crate::simulation::{Event, FaultyDisk, MemoryDisk, Survival, Wreck, platform};

/// Makes pages unreadable, one after the other, `count` times, under a recording's store as it was before its last step,
/// which is done then. Gives how often that was noticed.
///
/// # Errors
/// The first wrong answer, and any error that does not speak of the disk.
pub fn verify_read_errors<S: Subject>(subject: &S, recording: &Recording, count: u64) -> Result<u64, Violation> {
    let last = recording.steps.len() as u64;
    let mut wreck = Wreck::default();
    let is_last = |event: &Event| matches!(event, Event::Begun { step } if *step == last);
    recording.journal.events.iter().take_while(|event| !is_last(event)).for_each(|event| wreck.advance(event));
    let disk = wreck.after_power_cut(Survival::Everything, 0);
    let pages = disk.pages();
    let mut noticed = 0;
    for number in 0..count {
        let mut random = SeededRandom::new(recording.seed.wrapping_mul(1_000_003) + number);
        let (path, start) = random.pick(&pages);
        let is_open = random.below(2) == 0;
        let trial = Trial { subject, recording, disk: disk.copy(), path, start: *start };
        noticed += u64::from(trial.run(is_open).map_err(|message| {
            let moment = if is_open { "while the store is open" } else { "before the store is opened" };
            let place =
                format!("FUZZ_SEED={}, the page at byte {start} of {} {moment}", recording.seed, path.display());
            Violation { place, message }
        })?);
    }
    Ok(noticed)
}

/// True of the error that a disk gives which cannot read.
fn is_of_disk(text: String) -> Result<bool, String> {
    if text.contains("IO: ") { Ok(true) } else { Err(text) }
}

struct Trial<'a, S> {
    subject: &'a S,
    recording: &'a Recording,
    disk: MemoryDisk,
    path: &'a PathBuf,
    /// The first byte that cannot be read.
    start: u64,
}

impl<S: Subject> Trial<'_, S> {
    /// True if somebody was told.
    fn run(&self, is_open: bool) -> Result<bool, String> {
        let faulty = FaultyDisk::new(Arc::new(self.disk.clone()));
        let platform = platform(Arc::new(faulty.clone()), self.recording.seed + 8);
        let fail = || faulty.fail_reads(self.path, self.start..self.start + 1);
        let open = || self.subject.open(&platform);
        let mut is_noticed = false;
        if !is_open {
            fail();
        }
        let store = match open() {
            Ok(store) => store,
            Err(error) if !is_open && error.code() == ErrorCode::Io => {
                faulty.mend_reads();
                is_noticed = true;
                attempt("opening when the disk reads again", open)?
            }
            Err(error) => return Err(format!("opening fails: {error:?}")),
        };
        if is_open {
            fail();
        }
        let [before, after] = self.ends();
        // Reading for a comparison panics with the error that it was given.
        match content_of(&store) {
            Ok(content) if content == self.recording.contents[before] => {}
            Ok(_) => return Err("the answer is wrong".to_owned()),
            Err(text) => is_noticed = is_of_disk(text)?,
        }
        let kept = attempt("the step", || apply(&store, &self.recording.steps[before]))
            .and_then(|_| attempt("a checkpoint", || self.subject.maintain(&store, &Maintenance::Checkpoint)));
        if let Err(text) = &kept {
            is_noticed = is_of_disk(text.clone())?;
        }
        faulty.mend_reads();
        let found = content_of(&store)?;
        let is_allowed = [before, after].iter().any(|&step| self.recording.contents[step] == found);
        if !is_allowed || kept.is_ok() && found != self.recording.contents[after] {
            return Err(format!("the store holds something else when the disk reads again, after {kept:?}"));
        }
        drop(store);
        let store = attempt("opening again", open)?;
        if content_of(&store)? != found {
            return Err("opened again, the store holds something else".to_owned());
        }
        Ok(is_noticed)
    }

    /// The numbers of the states before and after the last step.
    fn ends(&self) -> [usize; 2] {
        let last = self.recording.steps.len();
        [last - 1, last]
    }
}
