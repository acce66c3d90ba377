//! A disk that fails at any operation of a step: once, or being full from then on; and files that are damaged.
//!
//! Steps that were acknowledged stay visible and are there after opening again; steps that failed are not visible.
//! After a failed flush the store goes on when the disk works again, or refuses to write until it is opened anew.
//! Damage gives an error or the right answer, never a wrong one.

use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use model::platform::Disk;
use model::{ErrorCode, GraphStore};

use super::verify::{attempt, content_of};
use super::workload::Recording;
use super::{Maintenance, Subject, Violation};
use crate::differential::apply;
use crate::random::SeededRandom;
use crate::simulation::{Event, FaultyDisk, JournalDisk, MemoryDisk, SURVIVALS, Survival, Wreck, platform};

/// Failure of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One operation fails; later ones work.
    Once,
    /// From that operation on there is no space.
    Full,
}

/// Outcome of a step on a failing disk.
enum End {
    /// The fault came after it.
    Past,
    /// The step that was acknowledged last, and whether a step failed, so that it may be there or not.
    Reached { acknowledged: usize, has_failed: bool },
}

/// Repeats the steps of a recording, each from the state before it, on a disk that fails at each operation in turn; then
/// cuts the power, and opens what is left. Gives the number of failures.
///
/// # Errors
/// The first broken promise.
pub fn verify_faults<S: Subject>(subject: &S, recording: &Recording, fault: Fault) -> Result<u64, Violation> {
    let mut wreck = Wreck::default();
    let mut failures = 0;
    for event in &recording.journal.events {
        if let Event::Begun { step } = event {
            let disk = wreck.after_power_cut(Survival::Everything, 0);
            let trial = Trial { subject, recording, fault, before: *step as usize - 1, disk };
            for operation in 0.. {
                let (end, place) = (trial.run(operation), trial.place(operation));
                match end.map_err(|message| Violation { place, message })? {
                    false => break,
                    true => failures += 1,
                }
            }
        }
        wreck.advance(event);
    }
    Ok(failures)
}

struct Trial<'a, S> {
    subject: &'a S,
    recording: &'a Recording,
    fault: Fault,
    /// The step after which the disk was so.
    before: usize,
    disk: MemoryDisk,
}

impl<S: Subject> Trial<'_, S> {
    fn place(&self, operation: u64) -> String {
        let Trial { recording, fault, before, .. } = self;
        format!("FUZZ_SEED={}, {fault:?} at operation {operation} of step {}", recording.seed, before + 1)
    }

    /// False if the step has fewer operations.
    fn run(&self, operation: u64) -> Result<bool, String> {
        let journal_disk = JournalDisk::over(self.disk.copy());
        let disk = FaultyDisk::over(&journal_disk);
        match self.fault {
            Fault::Once => disk.fail_at(operation, ErrorKind::PermissionDenied),
            Fault::Full => disk.fill_at(operation),
        }
        let End::Reached { acknowledged, has_failed } = self.step(&disk, operation)? else { return Ok(false) };
        let allowed = acknowledged..=acknowledged + usize::from(has_failed);
        let mut wreck = Wreck::of(&self.disk);
        journal_disk.journal().events.iter().for_each(|event| wreck.advance(event));
        for survival in [Survival::Everything, SURVIVALS[operation as usize % SURVIVALS.len()]] {
            let left = wreck.after_power_cut(survival, self.recording.seed + operation);
            let platform = platform(Arc::new(left), self.recording.seed + 3);
            let store = attempt("opening what is left", || self.subject.open(&platform))?;
            let content = content_of(&store)?;
            let contents = &self.recording.contents;
            if !allowed.clone().any(|step| contents.get(step) == Some(&content)) {
                return Err(format!("{survival:?} survives: the content is not that after steps {allowed:?}"));
            }
        }
        self.go_on(&wreck, &allowed, operation)?;
        Ok(true)
    }

    /// Opens the store again on what the operating system shows after the failure, and does a step more; then cuts the power.
    /// What the store showed, and the step, are there, whatever the failure made the operating system forget.
    fn go_on(&self, wreck: &Wreck, allowed: &RangeInclusive<usize>, operation: u64) -> Result<(), String> {
        let (disk, mut wreck) = wreck.after_kill();
        let journal_disk = JournalDisk::over(disk);
        let platform_of = |disk: Arc<dyn Disk>| platform(disk, self.recording.seed + 6);
        let store = attempt("opening again", || self.subject.open(&platform_of(Arc::new(journal_disk.clone()))))?;
        let (content, contents) = (content_of(&store)?, &self.recording.contents);
        let Some(before) = allowed.clone().find(|&step| contents.get(step) == Some(&content)) else {
            return Err("opened again, the store holds what it never held".to_owned());
        };
        let Some(next) = self.recording.steps.get(before) else { return Ok(()) };
        attempt("going on after a failure", || apply(&store, next))?;
        journal_disk.journal().events.iter().for_each(|event| wreck.advance(event));
        let survival = SURVIVALS[operation as usize % SURVIVALS.len()];
        let left = wreck.after_power_cut(survival, self.recording.seed + operation);
        drop(store);
        let store =
            attempt("opening after a failure and a power cut", || self.subject.open(&platform_of(Arc::new(left))))?;
        if content_of(&store)? == contents[before + 1] {
            return Ok(());
        }
        Err(format!(
            "after a failure, step {} and a power cut ({survival:?} survives) that step is not there",
            before + 1
        ))
    }

    /// Opens, does the step, and makes a checkpoint, as far as the disk lets it.
    fn step(&self, disk: &FaultyDisk, operation: u64) -> Result<End, String> {
        let platform = platform(Arc::new(disk.clone()), self.recording.seed + 2);
        let reached = |acknowledged, has_failed| Ok(End::Reached { acknowledged, has_failed });
        let store = match self.subject.open(&platform) {
            Ok(store) => store,
            Err(error) => return self.check_code(&error).and_then(|()| reached(self.before, false)),
        };
        if let Err(error) = apply(&store, &self.recording.steps[self.before]) {
            self.check_code(&error)?;
            self.check_shown(&store, self.before)?;
            return reached(self.before, true);
        }
        let checkpoint = self.subject.maintain(&store, &Maintenance::Checkpoint);
        if let Err(error) = checkpoint {
            self.check_code(&error)?;
            self.check_shown(&store, self.before + 1)?;
            disk.mend();
            self.check_goes_on(&store)?;
            return reached(self.before + 1, false);
        }
        drop(store);
        if disk.operation_count() <= operation { Ok(End::Past) } else { reached(self.before + 1, false) }
    }

    fn check_code(&self, error: &model::Error) -> Result<(), String> {
        let is_expected = match (self.fault, error.code()) {
            (_, ErrorCode::Closed) => true,
            (Fault::Once, code) => code == ErrorCode::Io,
            (Fault::Full, code) => code == ErrorCode::DiskFull,
        };
        if is_expected { Ok(()) } else { Err(format!("the error is another: {error:?}")) }
    }

    /// After a failure the store shows what was acknowledged.
    fn check_shown(&self, store: &S::Store, acknowledged: usize) -> Result<(), String> {
        if content_of(store)? == self.recording.contents[acknowledged] {
            return Ok(());
        }
        Err(format!("after a failure the content is not that after step {acknowledged}"))
    }

    /// A store that could not write files does so when the disk works again, or refuses to write.
    fn check_goes_on(&self, store: &S::Store) -> Result<(), String> {
        match store.write().map(drop) {
            Err(error) if error.code() == ErrorCode::Closed => Ok(()),
            Err(error) => Err(format!("a store that failed refuses to write, but with {error:?}")),
            Ok(()) => {
                let checkpoint = self.subject.maintain(store, &Maintenance::Checkpoint);
                checkpoint.map_err(|error| format!("a disk that works again is not written to: {error:?}"))
            }
        }
    }
}

/// Damages the files that a recording leaves in `count` ways, one after the other. Gives how many were noticed.
///
/// # Errors
/// The first wrong answer, and any error that does not speak of damage.
pub fn verify_damage<S: Subject>(subject: &S, recording: &Recording, count: u64) -> Result<u64, Violation> {
    let mut wreck = Wreck::default();
    recording.journal.events.iter().for_each(|event| wreck.advance(event));
    let disk = wreck.after_power_cut(Survival::Everything, 0);
    let mut files = disk.files();
    files.retain(|path| disk.bytes(path).is_ok_and(|bytes| !bytes.is_empty()));
    let mut noticed = 0;
    for number in 0..count {
        let mut random = SeededRandom::new(recording.seed.wrapping_mul(1_000_003) + number);
        let damaged = disk.copy();
        let path = random.pick(&files);
        let what = damage(&damaged, path, &mut random);
        let violation = |message| Violation { place: format!("FUZZ_SEED={}, {what}", recording.seed), message };
        let platform = platform(Arc::new(damaged), recording.seed + 4);
        let content = attempt("opening", || subject.open(&platform)).and_then(|store| content_of(&store));
        match content {
            Ok(content) if content == *recording.contents.last().expect("there is a first content") => {}
            Ok(_) => return Err(violation("the answer is wrong".to_owned())),
            Err(text) => {
                // A read for a comparison panics with the error that it was given.
                let is_told = ["CORRUPT", "VERSION", "NOT_A_STORE"].iter().any(|code| text.contains(code));
                if !is_told {
                    return Err(violation(text));
                }
                noticed += 1;
            }
        }
    }
    Ok(noticed)
}

/// Damages a file; what was done.
fn damage(disk: &MemoryDisk, path: &Path, random: &mut SeededRandom) -> String {
    let mut bytes = disk.bytes(path).expect("the file is there");
    let at = random.index(bytes.len());
    // The end of a log that is gone cannot be told from one that a crash kept from being written.
    let kinds = if path.extension().is_some_and(|extension| extension == "wal") { 3..10 } else { 0..10 };
    let what = match kinds.start + random.below(kinds.end - kinds.start) {
        0 => {
            bytes.truncate(at);
            "cut"
        }
        1 => {
            let end = bytes.len().min(at + 64);
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
            "garbage"
        }
        2 => {
            let end = bytes.len().min(at + 512);
            bytes[at..end].fill(0);
            "zeros"
        }
        _ => {
            bytes[at] ^= 1 << random.below(8);
            "a flipped bit"
        }
    };
    disk.put(path, bytes);
    format!("{what} at byte {at} of {}", path.display())
}
