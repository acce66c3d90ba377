//! Every moment of a recording: what a power cut leaves is opened, compared, checked, written to, and cut off again.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use model::platform::Platform;
use model::{GraphStore, Map};

use super::workload::Recording;
use super::{Maintenance, Subject};
use crate::differential::{Content, apply};
use crate::simulation::{Event, JournalDisk, MemoryDisk, SURVIVALS, Survival, Wreck, platform};

/// How thorough to be.
#[derive(Clone, Copy, Debug)]
pub struct Verification {
    /// Ways of surviving that are tried at each operation; which ones, changes from operation to operation.
    pub survivals_per_operation: usize,
    /// Of so many different states, one is checked file by file, written to, and closed and opened again.
    pub go_on_every: usize,
    /// Of so many different states, one is cut off again at every operation of being opened.
    pub cut_again_every: usize,
}

impl Default for Verification {
    fn default() -> Verification {
        Verification { survivals_per_operation: 1, go_on_every: 8, cut_again_every: 40 }
    }
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Moments at which the power was cut.
    pub crash_points: u64,
    /// Different states of the disk among what was left.
    pub states: u64,
    /// Power cuts while a store was opened after a power cut.
    pub second_crash_points: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.crash_points += other.crash_points;
        self.states += other.states;
        self.second_crash_points += other.second_crash_points;
    }
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Where, and how to see it again.
    pub place: String,
    /// What was found.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Cuts the power before each operation of a recording, and after the last.
///
/// # Errors
/// The first broken promise.
pub fn verify<S: Subject>(subject: &S, recording: &Recording, verification: &Verification) -> Result<Tally, Violation> {
    let mut verifier =
        Verifier { subject, recording, verification: *verification, outcomes: Map::default(), tally: Tally::default() };
    let mut wreck = Wreck::default();
    let (mut acknowledged, mut begun) = (0, 0);
    for (position, event) in recording.journal.events.iter().enumerate() {
        match event {
            Event::Begun { step } => begun = *step as usize,
            Event::Acknowledged { step } => acknowledged = *step as usize,
            _ => verifier.cut(&wreck, position, acknowledged..=begun)?,
        }
        wreck.advance(event);
    }
    verifier.cut(&wreck, recording.journal.events.len(), acknowledged..=begun)?;
    Ok(verifier.tally)
}

struct Verifier<'a, S> {
    subject: &'a S,
    recording: &'a Recording,
    verification: Verification,
    /// For each state of a disk that was opened, the steps after which the content is that which was found.
    outcomes: Map<u64, Vec<usize>>,
    tally: Tally,
}

type Steps = std::ops::RangeInclusive<usize>;

impl<S: Subject> Verifier<'_, S> {
    /// Cuts the power at one moment, in some ways.
    fn cut(&mut self, wreck: &Wreck, position: usize, allowed: Steps) -> Result<(), Violation> {
        for way in 0..self.verification.survivals_per_operation {
            let survival = SURVIVALS[(position + way) % SURVIVALS.len()];
            let seed = self.recording.seed.wrapping_mul(31).wrapping_add((position * 7 + way) as u64);
            let disk = wreck.after_power_cut(survival, seed);
            self.tally.crash_points += 1;
            self.examine(disk, &allowed)
                .map_err(|message| Violation { place: self.place(position, survival, seed, &allowed), message })?;
        }
        Ok(())
    }

    fn place(&self, position: usize, survival: Survival, seed: u64, allowed: &Steps) -> String {
        let events = &self.recording.journal.events;
        let next = events.get(position).map_or_else(|| "the end".to_owned(), |event| self.text(event));
        let before = position.checked_sub(1).map_or_else(|| "the beginning".to_owned(), |at| self.text(&events[at]));
        format!(
            "FUZZ_SEED={}, power cut at event {position} of {} (after {before}, before {next}), {survival:?} survives \
             (seed {seed}), {} steps acknowledged, {} begun",
            self.recording.seed,
            events.len(),
            allowed.start(),
            allowed.end()
        )
    }

    fn text(&self, event: &Event) -> String {
        let path =
            |file: &u64| self.recording.journal.paths.get(file).map_or("?".into(), |path| path.display().to_string());
        match event {
            Event::Write { file, offset, bytes } => {
                format!("write {} bytes at {offset} of {}", bytes.len(), path(file))
            }
            Event::SetLength { file, length } => format!("set length {length} of {}", path(file)),
            Event::Sync { file } => format!("sync {}", path(file)),
            other => format!("{other:?}"),
        }
    }

    /// Opens what is left; the content must be that after one of the allowed steps.
    fn examine(&mut self, disk: MemoryDisk, allowed: &Steps) -> Result<(), String> {
        let fingerprint = disk.fingerprint();
        if !self.outcomes.contains_key(&fingerprint) {
            self.tally.states += 1;
            let number = self.tally.states as usize;
            if number.is_multiple_of(self.verification.cut_again_every) {
                self.cut_again(&disk, allowed)?;
            }
            let matching = self.open(disk, number.is_multiple_of(self.verification.go_on_every), allowed)?;
            self.outcomes.insert(fingerprint, matching);
        }
        let matching = &self.outcomes[&fingerprint];
        if matching.iter().any(|step| allowed.contains(step)) {
            return Ok(());
        }
        Err(match (matching.first(), matching.last()) {
            (Some(first), Some(last)) => format!("the store holds the content after steps {first} to {last}"),
            _ => "the store holds what it never held".to_owned(),
        })
    }

    /// The steps whose content the store has.
    fn open(&self, disk: MemoryDisk, goes_on: bool, allowed: &Steps) -> Result<Vec<usize>, String> {
        let platform = platform(Arc::new(disk), self.recording.seed + 1);
        let store = attempt("opening", || self.subject.open(&platform))?;
        let content = content_of(&store)?;
        let matching = self.matching(&content);
        if goes_on && let Some(&step) = matching.iter().find(|step| allowed.contains(step)) {
            self.go_on(store, &platform, step)?;
        }
        Ok(matching)
    }

    fn matching(&self, content: &Content) -> Vec<usize> {
        let contents = self.recording.contents.iter().enumerate();
        contents.filter(|(_, other)| *other == content).map(|(step, _)| step).collect()
    }

    /// Checks the files, does the step after `step`, goes into files, and opens again.
    fn go_on(&self, store: S::Store, platform: &Platform, step: usize) -> Result<(), String> {
        drop(store);
        self.check_files(platform)?;
        let store = attempt("opening again", || self.subject.open(platform))?;
        let mut expected = &self.recording.contents[step];
        if let Some(next) = self.recording.steps.get(step) {
            attempt("going on", || apply(&store, next))?;
            expected = &self.recording.contents[step + 1];
        }
        if content_of(&store)? != *expected {
            return Err(format!("going on from step {step} leads elsewhere"));
        }
        attempt("a checkpoint", || self.subject.maintain(&store, &Maintenance::Checkpoint))?;
        drop(store);
        self.check_files(platform)?;
        let store = attempt("opening a third time", || self.subject.open(platform))?;
        if content_of(&store)? == *expected { Ok(()) } else { Err(format!("step {step} is gone after a checkpoint")) }
    }

    fn check_files(&self, platform: &Platform) -> Result<(), String> {
        let problems = attempt("checking the files", || self.subject.problems(platform))?;
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    /// Opens what is left and does the next step, cutting the power at each operation of that.
    fn cut_again(&mut self, disk: &MemoryDisk, allowed: &Steps) -> Result<(), String> {
        let seed = self.recording.seed;
        let journal_disk = JournalDisk::over(disk.copy());
        let platform_of = |disk: Arc<dyn model::platform::Disk>, number: u64| platform(disk, seed + number);
        let recorded = platform_of(Arc::new(journal_disk.clone()), 2);
        let store = attempt("opening", || self.subject.open(&recorded))?;
        let matching = self.matching(&content_of(&store)?);
        let Some(&before) = matching.iter().find(|step| allowed.contains(step)) else {
            return Err("the store holds what it never held".to_owned());
        };
        if let Some(next) = self.recording.steps.get(before) {
            journal_disk.begin(before as u64 + 1);
            attempt("going on", || apply(&store, next))?;
            attempt("a checkpoint", || self.subject.maintain(&store, &Maintenance::Checkpoint))?;
            journal_disk.acknowledge(before as u64 + 1);
        }
        drop(store);
        let (mut wreck, mut after) = (Wreck::of(disk), before..=before);
        for (position, event) in journal_disk.journal().events.iter().enumerate() {
            let survival = SURVIVALS[position % SURVIVALS.len()];
            let place = format!("at event {position} of a second life ({event:?}), {survival:?} survives");
            match event {
                Event::Begun { step } => after = before..=*step as usize,
                Event::Acknowledged { step } => after = *step as usize..=*step as usize,
                _ => {
                    let left = wreck.after_power_cut(survival, seed + position as u64);
                    let matching = self.open(left, false, &after).map_err(|text| format!("{place}: {text}"))?;
                    if !matching.iter().any(|step| after.contains(step)) {
                        return Err(format!("{place}: found the content after {matching:?}, expected {after:?}"));
                    }
                    self.tally.second_crash_points += 1;
                }
            }
            wreck.advance(event);
        }
        Ok(())
    }
}

pub(super) fn content_of(store: &dyn GraphStore) -> Result<Content, String> {
    attempt("reading", || Ok(Content::of(&*store.read()?)))
}

/// What a call gives; an error or a panic as a text.
pub(super) fn attempt<T>(what: &str, call: impl FnOnce() -> model::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(format!("{what} fails: {error:?}")),
        Err(panic) => Err(format!("{what} panics: {}", panic_text(&*panic))),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?")
}
