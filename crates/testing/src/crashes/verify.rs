//! Every moment of a recording: what a power cut leaves is opened, compared, checked, written to, and cut off again.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use model::platform::Platform;
use model::{ErrorCode, GraphStore, Map, ReadView};

use super::workload::Recording;
use super::{Maintenance, Subject};
use crate::differential::{Content, apply, identities_of};
use crate::simulation::{Event, Journal, JournalDisk, MemoryDisk, ReadOnlyDisk, SURVIVALS, Survival, Wreck, platform};

/// Thoroughness of the verification.
#[derive(Clone, Copy, Debug)]
pub struct Verification {
    /// Ways of surviving that are tried at each operation; which ones, changes from operation to operation.
    pub survivals_per_operation: usize,
    /// One in this number of different states is checked file by file, written to, and closed and opened again.
    pub go_on_every: usize,
    /// One in this number of different states is cut off again at every operation of being opened.
    pub cut_again_every: usize,
    /// One in this number of different states that a kill leaves is cut off at every operation of the process that
    /// comes next: by then the writes of the first process are not durable yet, though they are shown.
    pub kill_then_cut_every: usize,
    /// One in this number of different states is opened for reading only, twice at once, on a disk that refuses writes:
    /// nothing is changed, nothing is missing, and the answers are those of a store that is opened to be written.
    pub read_only_every: usize,
    /// One in this number of cuts of a second life is read in every way; the others once, which shows what is there.
    pub read_in_every_way_every: usize,
    /// The ways of surviving.
    pub survivals: &'static [Survival],
    /// Some second lives also make a backup.
    pub backs_up_again: bool,
    /// Events that a broken store would have made in its second life; the canary.
    pub second_life: fn(&Journal) -> Vec<Event>,
}

fn as_it_was(journal: &Journal) -> Vec<Event> {
    journal.events.clone()
}

impl Default for Verification {
    fn default() -> Verification {
        Verification {
            survivals_per_operation: 1,
            go_on_every: 8,
            cut_again_every: 60,
            kill_then_cut_every: 20,
            read_only_every: 8,
            read_in_every_way_every: 4,
            survivals: &SURVIVALS,
            backs_up_again: true,
            second_life: as_it_was,
        }
    }
}

/// Counts of what was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Moments at which the power was cut.
    pub crash_points: u64,
    /// Different states of the disk among what was left.
    pub states: u64,
    /// Power cuts while a store was opened after a power cut.
    pub second_crash_points: u64,
    /// Power cuts in the life of a process that came after one that was killed.
    pub kill_then_cut_points: u64,
    /// States that were opened for reading only.
    pub read_only: u64,
    /// Finished backups that were opened after a power cut.
    pub backups: u64,
    /// Those among them that a second life had made.
    pub backups_of_second_lives: u64,
    /// Bulk loads in the recordings that changed edges which were there before.
    pub updating_loads: u64,
}

impl Tally {
    /// Power cuts after which a store was opened, each on another state of the disk.
    pub fn power_cuts(&self) -> u64 {
        self.states + self.second_crash_points + self.kill_then_cut_points
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.crash_points += other.crash_points;
        self.states += other.states;
        self.second_crash_points += other.second_crash_points;
        self.kill_then_cut_points += other.kill_then_cut_points;
        self.read_only += other.read_only;
        self.backups += other.backups;
        self.backups_of_second_lives += other.backups_of_second_lives;
        self.updating_loads += other.updating_loads;
    }
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Place of the violation, and how to see it again.
    pub place: String,
    /// Description of what was found.
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
    let mut verifier = Verifier {
        subject,
        recording,
        verification: *verification,
        outcomes: Map::default(),
        kills: 0,
        tally: Tally { updating_loads: recording.updating_loads, ..Tally::default() },
    };
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
    /// States that a kill left.
    kills: usize,
    tally: Tally,
}

type Steps = std::ops::RangeInclusive<usize>;

/// Manner in which a store is looked at that was opened after a power cut.
struct Look {
    is_first_life: bool,
    /// The next step is done in it.
    goes_on: bool,
    read: fn(&dyn ReadView) -> Content,
}

impl Look {
    const FIRST_LIFE: Look = Look { is_first_life: true, goes_on: false, read: Content::of };
}

/// Counts of the attempts in one second life.
struct SecondLife {
    /// Moments at which the power was cut.
    points: u64,
    /// Number of times that the backup it made was opened.
    backups: u64,
}

impl SecondLife {
    fn of_backups(&self) -> Tally {
        Tally { backups: self.backups, backups_of_second_lives: self.backups, ..Tally::default() }
    }
}

impl<S: Subject> Verifier<'_, S> {
    /// Cuts the power at one moment, in some ways.
    fn cut(&mut self, wreck: &Wreck, position: usize, allowed: Steps) -> Result<(), Violation> {
        for way in 0..self.verification.survivals_per_operation {
            let survivals = self.verification.survivals;
            let survival = survivals[(position + way) % survivals.len()];
            let seed = self.recording.seed.wrapping_mul(31).wrapping_add((position * 7 + way) as u64);
            let disk = wreck.after_power_cut(survival, seed);
            self.tally.crash_points += 1;
            let examined = self.examine(wreck, survival, disk.copy(), &allowed);
            let examined = examined.and_then(|is_new| self.examine_backups(&disk, position, is_new));
            examined.map_err(|message| Violation { place: self.place(position, survival, seed, &allowed), message })?;
        }
        Ok(())
    }

    /// Opens the backups that were finished by then: in some states, and always just after one was finished.
    fn examine_backups(&mut self, disk: &MemoryDisk, position: usize, is_new: bool) -> Result<(), String> {
        const OPERATIONS_JUST_AFTER: usize = 8;
        let is_sample = is_new && (self.tally.states as usize).is_multiple_of(self.verification.go_on_every);
        for backup in self.recording.backups.iter().filter(|backup| backup.position <= position) {
            if is_sample || position - backup.position < OPERATIONS_JUST_AFTER {
                let platform = platform(Arc::new(disk.copy()), self.recording.seed + 5);
                let number = backup.number;
                let store = attempt("opening a backup", || self.subject.open_backup(&platform, number))?;
                if content_of(&store)? != self.recording.contents[backup.step] {
                    return Err(format!("backup {number} does not hold the content after step {}", backup.step));
                }
                self.tally.backups += 1;
            }
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

    /// Opens what is left; the content must be that after one of the allowed steps. True if that state is a new one.
    fn examine(
        &mut self,
        wreck: &Wreck,
        survival: Survival,
        disk: MemoryDisk,
        allowed: &Steps,
    ) -> Result<bool, String> {
        let fingerprint = disk.fingerprint();
        let is_new = !self.outcomes.contains_key(&fingerprint);
        if is_new {
            self.tally.states += 1;
            let number = self.tally.states as usize;
            let Verification { cut_again_every, kill_then_cut_every, go_on_every, .. } = self.verification;
            if survival == Survival::Everything {
                self.kills += 1;
                if self.kills.is_multiple_of(kill_then_cut_every) {
                    let cuts = self.second_life(wreck.after_kill(), *allowed.start(), allowed)?;
                    self.tally.kill_then_cut_points += cuts.points;
                    self.tally += cuts.of_backups();
                }
            } else if number.is_multiple_of(cut_again_every) {
                let life = (disk.copy(), Wreck::of(&disk));
                let matching = self.open(disk.copy(), &Look::FIRST_LIFE, allowed)?;
                let least = matching.iter().find(|step| allowed.contains(step)).copied();
                let cuts = self.second_life(life, least.unwrap_or(*allowed.start()), allowed)?;
                self.tally.second_crash_points += cuts.points;
                self.tally += cuts.of_backups();
            }
            let before = disk.copy();
            let look = Look { goes_on: number.is_multiple_of(go_on_every), ..Look::FIRST_LIFE };
            let matching = self.open(disk, &look, allowed)?;
            if number.is_multiple_of(self.verification.read_only_every) {
                self.read_only(&before, &matching)?;
                self.tally.read_only += 1;
            }
            self.outcomes.insert(fingerprint, matching);
        }
        let matching = &self.outcomes[&fingerprint];
        if matching.iter().any(|step| allowed.contains(step)) {
            return Ok(is_new);
        }
        Err(match (matching.first(), matching.last()) {
            (Some(first), Some(last)) => format!("the store holds the content after steps {first} to {last}"),
            _ => "the store holds what it never held".to_owned(),
        })
    }

    /// The steps whose content the store has; in the first life of a store also its element ids, those that a later life
    /// gives are its own.
    fn open(&self, disk: MemoryDisk, look: &Look, allowed: &Steps) -> Result<Vec<usize>, String> {
        let platform = platform(Arc::new(disk), self.recording.seed + 1);
        let store = attempt("opening", || self.subject.open(&platform))?;
        let content = attempt("reading", || Ok((look.read)(&*store.read()?)))?;
        let mut matching = self.matching(&content);
        if look.is_first_life {
            let identities = attempt("reading element ids", || Ok(identities_of(&*store.read()?)))?;
            let has_content = !matching.is_empty();
            matching.retain(|&step| self.recording.identities[step] == identities);
            if has_content && matching.is_empty() {
                return Err("the edges have other element ids than before".to_owned());
            }
        }
        if look.goes_on
            && let Some(&step) = matching.iter().find(|step| allowed.contains(step))
        {
            self.go_on(store, &platform, step)?;
        }
        Ok(matching)
    }

    /// Opens the store twice at once for reading only. A store that is not there yet is none.
    fn read_only(&self, disk: &MemoryDisk, expected: &[usize]) -> Result<(), String> {
        let fingerprint = disk.fingerprint();
        let medium = ReadOnlyDisk::new(Arc::new(disk.clone()));
        let platform = platform(Arc::new(medium.clone()), self.recording.seed + 7);
        let opened = [self.subject.open_reading(&platform), self.subject.open_reading(&platform)];
        for store in opened {
            match store {
                Ok(store) if self.matching(&content_of(&store)?) == expected => {}
                Ok(_) => return Err("opened for reading only, the store holds something else".to_owned()),
                // Nothing was ever acknowledged from it.
                Err(error) if error.code() == ErrorCode::NotAStore && expected.contains(&0) => {}
                Err(error) => return Err(format!("opening for reading only fails: {error:?}")),
            }
        }
        if medium.refused() > 0 {
            return Err(format!(
                "whoever opened the store for reading only tried to change it {} times",
                medium.refused()
            ));
        }
        if disk.fingerprint() == fingerprint { Ok(()) } else { Err("reading changed the store".to_owned()) }
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

    /// Opens what is left, does the next step and makes a backup, cutting the power at each operation of that. Until the store
    /// is open it may be as it was after any step from `least` on; from then on what it showed is there.
    fn second_life(&self, life: (MemoryDisk, Wreck), least: usize, allowed: &Steps) -> Result<SecondLife, String> {
        let (disk, mut wreck) = life;
        let seed = self.recording.seed;
        let journal_disk = JournalDisk::over(disk);
        let platform = platform(Arc::new(journal_disk.clone()), seed + 2);
        let store = attempt("opening", || self.subject.open(&platform))?;
        let matching = self.matching(&content_of(&store)?);
        let Some(&before) = matching.iter().find(|step| allowed.contains(step)) else {
            return Err("the store holds what it never held".to_owned());
        };
        journal_disk.acknowledge(before as u64);
        if let Some(next) = self.recording.steps.get(before) {
            journal_disk.begin(before as u64 + 1);
            attempt("going on", || apply(&store, next))?;
            if !self.recording.is_durable {
                attempt("a checkpoint", || self.subject.maintain(&store, &Maintenance::Checkpoint))?;
            }
            journal_disk.acknowledge(before as u64 + 1);
            attempt("a checkpoint", || self.subject.maintain(&store, &Maintenance::Checkpoint))?;
        }
        let backup = self.back_up(&store, &journal_disk)?;
        drop(store);
        let journal = journal_disk.journal();
        let events = (self.verification.second_life)(&journal);
        let (mut after, mut points, mut backups) = (least..=before, 0, 0);
        for (position, event) in events.iter().enumerate() {
            match event {
                Event::Begun { step } => after = *after.start()..=*step as usize,
                Event::Acknowledged { step } => after = *step as usize..=*step as usize,
                _ => {
                    let left = self.cut_second_life(&wreck, &events, position, &after)?;
                    backups += self.find_backup(&left, backup.as_ref(), position, *after.end())?;
                    points += 1;
                }
            }
            wreck.advance(event);
        }
        let left = self.cut_second_life(&wreck, &events, events.len(), &after)?;
        backups += self.find_backup(&left, backup.as_ref(), events.len(), *after.end())?;
        Ok(SecondLife { points: points + 1, backups })
    }

    /// Makes a backup in some of the second lives; the operations that it took.
    fn back_up(&self, store: &S::Store, disk: &JournalDisk) -> Result<Option<Range<usize>>, String> {
        const SECOND_LIVES: u64 = 3;
        if !self.verification.backs_up_again || !self.tally.states.is_multiple_of(SECOND_LIVES) {
            return Ok(None);
        }
        let start = disk.position();
        let number = self.number_of_backup();
        attempt("a backup", || self.subject.maintain(store, &Maintenance::Backup(number)))?;
        Ok(Some(start..disk.position()))
    }

    fn number_of_backup(&self) -> u64 {
        self.recording.backups.len() as u64 + 1
    }

    /// A backup that is finished holds what the store held, and one that is not finished does not open, or holds that; the
    /// number of backups opened.
    fn find_backup(
        &self,
        left: &MemoryDisk,
        made: Option<&Range<usize>>,
        position: usize,
        step: usize,
    ) -> Result<u64, String> {
        let Some(made) = made.filter(|made| made.start <= position) else { return Ok(0) };
        let platform = platform(Arc::new(left.copy()), self.recording.seed + 6);
        let place = format!("at event {position} of a second life, of which {made:?} made a backup");
        match self.subject.open_backup(&platform, self.number_of_backup()) {
            Ok(store) if content_of(&store)? == self.recording.contents[step] => Ok(1),
            Ok(_) => Err(format!("{place}: the backup does not hold the content after step {step}")),
            Err(error) if position >= made.end => Err(format!("{place}: opening the backup fails: {error:?}")),
            Err(_) => Ok(0),
        }
    }

    fn cut_second_life(
        &self,
        wreck: &Wreck,
        events: &[Event],
        position: usize,
        after: &Steps,
    ) -> Result<MemoryDisk, String> {
        let survival = SURVIVALS[position % SURVIVALS.len()];
        let left = wreck.after_power_cut(survival, self.recording.seed + position as u64);
        let before = events.get(position).map_or_else(|| "the end".to_owned(), |event| format!("{event:?}"));
        let shown: String = before.chars().take(200).collect();
        let place = format!("at event {position} of a second life (before {shown}), {survival:?} survives");
        let is_sample = position.is_multiple_of(self.verification.read_in_every_way_every);
        let look =
            Look { is_first_life: false, goes_on: false, read: if is_sample { Content::of } else { Content::once } };
        let matching = self.open(left.copy(), &look, after).map_err(|text| format!("{place}: {text}"))?;
        if matching.iter().any(|step| after.contains(step)) {
            return Ok(left);
        }
        Err(format!("{place}: found the content after {matching:?}, expected {after:?}"))
    }
}

pub(super) fn content_of(store: &dyn GraphStore) -> Result<Content, String> {
    attempt("reading", || Ok(Content::of(&*store.read()?)))
}

/// Returns the result of a call; an error or a panic as a message.
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
