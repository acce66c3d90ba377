//! State of a disk after a power cut: a journal replayed up to a moment, and a part of what was not durable then.
//!
//! The bytes of a file at its last sync are durable, and so are the names of a directory at its last sync. Of the rest
//! anything may be there: writes up to some byte, later writes without earlier ones, sectors of zeros or of what stood
//! there before in between, or of what other files had left on the same blocks, names changed or not, each name's
//! changes in order. That is all that the contract of `Disk` says.
//!
//! The operating system shows more than the disk has, to a process that comes after one that was killed as well:
//! [`Wreck::after_kill`] goes on with what is not durable yet. A sync that failed leaves pages that it shows and will
//! never write, unless somebody writes to them again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::MemoryDisk;
use super::journal::Event;
use crate::random::SeededRandom;

/// Bytes that a disk writes whole or not at all, in the cruellest kind of power cut.
const SECTOR_BYTES: u64 = 512;

/// Bytes that the operating system writes to the disk together, and forgets together when that fails.
const PAGE_BYTES: u64 = 4_096;

/// Bytes at the start of a file that say what it is; stale blocks are those of files that begin alike.
const KIND_BYTES: usize = 14;

/// The numbers of files that the second life of a disk does not see are moved behind all others.
const UNSEEN: u64 = 1 << 40;

/// Part that is left of what was not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Nothing,
    /// Everything: the process was killed, the machine stayed up.
    Everything,
    /// Of each file its writes up to some byte, and name changes up to some moment.
    Prefix,
    /// Any sectors, with zeros where some are missing; any name changes.
    SomeSectors,
    /// Any sectors, with other bytes where some are missing; any name changes.
    SomeSectorsAmongGarbage,
    /// Any sectors, with what another file of the same kind had at that place where some are missing; any name changes.
    SomeSectorsAmongStaleBlocks,
}

/// All kinds of survival.
pub const SURVIVALS: [Survival; 6] = [
    Survival::Nothing,
    Survival::Everything,
    Survival::Prefix,
    Survival::SomeSectors,
    Survival::SomeSectorsAmongGarbage,
    Survival::SomeSectorsAmongStaleBlocks,
];

/// The disk as a journal leaves it so far: what is durable, and what is not yet.
#[derive(Clone, Debug, Default)]
pub struct Wreck {
    files: BTreeMap<u64, File>,
    names: Names,
    /// Changes of names that are not durable, oldest first.
    pending_names: Vec<NameChange>,
}

type Names = BTreeMap<PathBuf, Entry>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    File(u64),
    Directory,
}

#[derive(Clone, Debug, Default)]
struct File {
    /// Content that the disk has.
    durable: Arc<Vec<u8>>,
    /// Content that the operating system shows.
    shown: Arc<Vec<u8>>,
    /// Changes that it will write, oldest first.
    pending: Vec<Change>,
    /// Pages that it shows and takes for written, though the disk does not have them.
    forgotten: BTreeSet<u64>,
}

/// Content in place of a missing sector.
#[derive(Clone, Copy)]
enum Missing<'a> {
    Zeros,
    Garbage,
    Stale(&'a [u8]),
}

/// A change of a file's bytes.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: u64, bytes: Arc<[u8]> },
    SetLength(u64),
}

/// Names that change together, and the directory whose sync makes that durable.
#[derive(Clone, Debug)]
struct NameChange {
    directory: Option<PathBuf>,
    entries: Vec<(PathBuf, Option<Entry>)>,
}

impl Wreck {
    /// A disk all of which is durable; the journal of a [`JournalDisk::over`](super::JournalDisk::over) it goes on from there.
    pub fn of(disk: &MemoryDisk) -> Wreck {
        let mut wreck = Wreck::default();
        for (file, path) in disk.files().into_iter().enumerate() {
            let bytes = disk.bytes(&path).expect("a file that is listed is there");
            let bytes = Arc::new(bytes);
            wreck.files.insert(file as u64, File { durable: bytes.clone(), shown: bytes, ..File::default() });
            wreck.names.insert(path, Entry::File(file as u64));
        }
        wreck.names.extend(disk.directories().into_iter().map(|path| (path, Entry::Directory)));
        wreck
    }

    /// Goes on by one event.
    pub fn advance(&mut self, event: &Event) {
        match event {
            Event::CreateDirectory { path } => {
                let made: Vec<&Path> = path.ancestors().filter(|path| !is_root(path)).collect();
                for path in made.into_iter().rev() {
                    if self.entry(path).is_none() {
                        self.change_names(path, vec![(path.to_owned(), Some(Entry::Directory))]);
                    }
                }
            }
            Event::RemoveDirectory { path } | Event::Remove { path } => {
                self.change_names(path, vec![(path.clone(), None)]);
            }
            Event::Create { path, file } => {
                self.files.insert(*file, File::default());
                self.change_names(path, vec![(path.clone(), Some(Entry::File(*file)))]);
            }
            Event::Write { file, offset, bytes } => {
                self.file(*file).change(Change::Write { offset: *offset, bytes: bytes.clone() });
            }
            Event::SetLength { file, length } => self.file(*file).change(Change::SetLength(*length)),
            Event::Sync { file } => self.file(*file).sync(),
            Event::SyncFailed { file } => self.file(*file).forget(),
            Event::Rename { from, to } => {
                let entry = self.entry(from);
                self.change_names(to, vec![(from.clone(), None), (to.clone(), entry)]);
            }
            Event::SyncDirectory { path } => self.sync_directory(path),
            Event::Begun { .. } | Event::Acknowledged { .. } => {}
        }
    }

    /// The disk after a power cut at this moment. The seed chooses among what may be left.
    pub fn after_power_cut(&self, survival: Survival, seed: u64) -> MemoryDisk {
        let mut random = SeededRandom::new(seed);
        let mut names = self.names.clone();
        let count = self.pending_names.len();
        let prefix = random.index(count + 1);
        for (number, change) in self.pending_names.iter().enumerate() {
            let is_kept = match survival {
                Survival::Nothing => false,
                Survival::Everything => true,
                Survival::Prefix => number < prefix,
                Survival::SomeSectors | Survival::SomeSectorsAmongGarbage | Survival::SomeSectorsAmongStaleBlocks => {
                    random.chance(50)
                }
            };
            if is_kept {
                change.apply(&mut names);
            }
        }
        let disk = MemoryDisk::new();
        for (path, entry) in &names {
            // A file in a directory whose name was lost cannot be reached.
            let reachable = path.ancestors().skip(1).all(|above| is_root(above) || names.contains_key(above));
            match entry {
                _ if !reachable => {}
                Entry::Directory => disk.put_directory(path),
                Entry::File(file) => disk.put(path, self.left(*file, survival, &mut random)),
            }
        }
        disk
    }

    /// The disk as the next process finds it after this one was killed, and the wreck that goes on from there with what is
    /// not durable; the journal of a [`JournalDisk::over`](super::JournalDisk::over) that disk continues it.
    pub fn after_kill(&self) -> (MemoryDisk, Wreck) {
        let disk = self.after_power_cut(Survival::Everything, 0);
        let mut numbers = BTreeMap::new();
        for (number, path) in disk.files().iter().enumerate() {
            if let Some(Entry::File(file)) = self.entry(path) {
                numbers.insert(file, number as u64);
            }
        }
        let number_of = |file: u64| numbers.get(&file).copied().unwrap_or(UNSEEN + file);
        let moved = |entry: Entry| match entry {
            Entry::File(file) => Entry::File(number_of(file)),
            Entry::Directory => Entry::Directory,
        };
        let change = |change: &NameChange| NameChange {
            directory: change.directory.clone(),
            entries: change.entries.iter().map(|(path, entry)| (path.clone(), entry.map(moved))).collect(),
        };
        let wreck = Wreck {
            files: self.files.iter().map(|(&file, bytes)| (number_of(file), bytes.clone())).collect(),
            names: self.names.iter().map(|(path, &entry)| (path.clone(), moved(entry))).collect(),
            pending_names: self.pending_names.iter().map(change).collect(),
        };
        (disk, wreck)
    }

    /// The bytes of a file after a power cut.
    fn left(&self, number: u64, survival: Survival, random: &mut SeededRandom) -> Vec<u8> {
        let file = &self.files[&number];
        let mut bytes = Vec::clone(&file.durable);
        match survival {
            Survival::Nothing => {}
            Survival::Everything => bytes.clone_from(&file.shown),
            Survival::Prefix => file.keep_prefix(&mut bytes, random),
            Survival::SomeSectors => file.keep_sectors(&mut bytes, Missing::Zeros, random),
            Survival::SomeSectorsAmongGarbage => file.keep_sectors(&mut bytes, Missing::Garbage, random),
            Survival::SomeSectorsAmongStaleBlocks => {
                let kind = |file: &File| file.shown.get(..KIND_BYTES).map(<[u8]>::to_vec);
                let alike = |(other, of): &(&u64, &File)| **other != number && kind(of) == kind(file);
                let others: Vec<&File> = self.files.iter().filter(alike).map(|(_, of)| of).collect();
                let stale: &[u8] = if others.is_empty() { &[] } else { &random.pick(&others).shown };
                file.keep_sectors(&mut bytes, Missing::Stale(stale), random);
            }
        }
        bytes
    }

    fn file(&mut self, file: u64) -> &mut File {
        self.files.entry(file).or_default()
    }

    /// Entry that a name stands for, pending changes included.
    fn entry(&self, path: &Path) -> Option<Entry> {
        let changes = self.pending_names.iter().rev().flat_map(|change| change.entries.iter().rev());
        let pending = changes.filter(|(name, _)| name == path).map(|(_, entry)| *entry).next();
        pending.unwrap_or_else(|| self.names.get(path).copied())
    }

    fn change_names(&mut self, path: &Path, entries: Vec<(PathBuf, Option<Entry>)>) {
        let directory = path.parent().map(Path::to_owned);
        self.pending_names.push(NameChange { directory, entries });
    }

    fn sync_directory(&mut self, path: &Path) {
        let names = &mut self.names;
        self.pending_names.retain(|change| {
            let is_synced = change.directory.as_deref() == Some(path);
            if is_synced {
                change.apply(names);
            }
            !is_synced
        });
    }
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none() || path.as_os_str().is_empty()
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        for (name, entry) in &self.entries {
            match entry {
                Some(entry) => names.insert(name.clone(), *entry),
                None => names.remove(name),
            };
        }
    }
}

impl File {
    fn change(&mut self, change: Change) {
        let shown = Arc::make_mut(&mut self.shown);
        change.apply(shown);
        let mut whole = Vec::new();
        if let Change::Write { offset, bytes } = &change {
            let end = (offset + bytes.len() as u64).max(1);
            for page in offset / PAGE_BYTES..=(end - 1) / PAGE_BYTES {
                // A write to a page writes all of it.
                if self.forgotten.remove(&page) {
                    let start = page * PAGE_BYTES;
                    let bytes = &shown[start as usize..shown.len().min((start + PAGE_BYTES) as usize)];
                    whole.push(Change::Write { offset: start, bytes: Arc::from(bytes) });
                }
            }
        }
        self.pending.push(change);
        self.pending.append(&mut whole);
    }

    fn sync(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let durable = Arc::make_mut(&mut self.durable);
        self.pending.drain(..).for_each(|change| change.apply(durable));
        durable.resize(self.shown.len(), 0);
    }

    /// A sync failed: nothing of what was to be written is on the disk, and nothing of it will be.
    fn forget(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Change::Write { offset, bytes } if !bytes.is_empty() => {
                    let last = offset + bytes.len() as u64 - 1;
                    self.forgotten.extend(offset / PAGE_BYTES..=last / PAGE_BYTES);
                }
                _ => {}
            }
        }
    }

    fn keep_prefix(&self, bytes: &mut Vec<u8>, random: &mut SeededRandom) {
        let kept = random.index(self.pending.len() + 1);
        self.pending[..kept].iter().for_each(|change| change.apply(bytes));
        if let Some(Change::Write { offset, bytes: torn }) = self.pending.get(kept) {
            write_at(bytes, *offset, &torn[..random.index(torn.len() + 1)]);
        }
    }

    fn keep_sectors(&self, bytes: &mut Vec<u8>, missing: Missing<'_>, random: &mut SeededRandom) {
        for change in &self.pending {
            let Change::Write { offset, bytes: written } = change else {
                if random.chance(50) {
                    change.apply(bytes);
                }
                continue;
            };
            let end = offset + written.len() as u64;
            let mut start = *offset;
            while start < end {
                let next = end.min((start / SECTOR_BYTES + 1) * SECTOR_BYTES);
                let sector = &written[(start - offset) as usize..(next - offset) as usize];
                if random.chance(60) {
                    write_at(bytes, start, sector);
                } else if start >= self.durable.len() as u64 && random.chance(70) {
                    match missing {
                        Missing::Zeros => {}
                        Missing::Garbage => {
                            let garbage: Vec<u8> = sector.iter().map(|_| random.next_u64() as u8).collect();
                            write_at(bytes, start, &garbage);
                        }
                        Missing::Stale(stale) => {
                            let end = stale.len().min(next as usize);
                            write_at(bytes, start, stale.get(start as usize..end).unwrap_or_default());
                        }
                    }
                }
                start = next;
            }
            // The length may be known to the file system before the bytes are there.
            if (bytes.len() as u64) < end && random.chance(30) {
                bytes.resize(end as usize, 0);
            }
        }
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Change::Write { offset, bytes } => write_at(to, *offset, bytes),
            Change::SetLength(length) => to.resize(*length as usize, 0),
        }
    }
}

fn write_at(to: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let (start, end) = (offset as usize, offset as usize + bytes.len());
    if bytes.is_empty() {
        return;
    }
    if to.len() < end {
        to.resize(end, 0);
    }
    to[start..end].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use model::platform::Disk;

    use super::super::JournalDisk;
    use super::{SURVIVALS, Survival, Wreck};

    fn wreck_of(disk: &JournalDisk) -> Wreck {
        let mut wreck = Wreck::default();
        disk.journal().events.iter().for_each(|event| wreck.advance(event));
        wreck
    }

    /// The bytes of a file that each kind of power cut leaves, over many seeds; `None` where the file is gone.
    fn outcomes(disk: &JournalDisk, path: &str, survival: Survival) -> Vec<Option<Vec<u8>>> {
        let wreck = wreck_of(disk);
        let mut found: Vec<_> =
            (0..200).map(|seed| wreck.after_power_cut(survival, seed).read(Path::new(path)).ok()).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn what_was_synced_is_always_there() {
        let disk = JournalDisk::new();
        disk.create_directory(Path::new("/d")).unwrap();
        disk.sync_directory(Path::new("/")).unwrap();
        let mut file = disk.create(Path::new("/d/f")).unwrap();
        file.write_all(b"abc").unwrap();
        file.sync().unwrap();
        disk.sync_directory(Path::new("/d")).unwrap();
        for survival in SURVIVALS {
            assert_eq!(outcomes(&disk, "/d/f", survival), [Some(b"abc".to_vec())], "{survival:?}");
        }
    }

    #[test]
    fn of_what_was_not_synced_any_part_may_be_there() {
        let disk = JournalDisk::new();
        let mut file = disk.create(Path::new("/f")).unwrap();
        file.write_all(b"ab").unwrap();
        file.sync().unwrap();
        file.write_all(b"cd").unwrap();
        let some = |text: &[u8]| Some(text.to_vec());
        assert_eq!(outcomes(&disk, "/f", Survival::Nothing), [None]);
        assert_eq!(outcomes(&disk, "/f", Survival::Everything), [some(b"abcd")]);
        assert_eq!(outcomes(&disk, "/f", Survival::Prefix), [None, some(b"ab"), some(b"abc"), some(b"abcd")]);
        assert_eq!(outcomes(&disk, "/f", Survival::SomeSectors), [None, some(b"ab"), some(b"ab\0\0"), some(b"abcd")]);
        assert!(outcomes(&disk, "/f", Survival::SomeSectorsAmongGarbage).len() > 5);
    }

    #[test]
    fn the_next_process_sees_what_a_power_cut_still_takes() {
        let disk = JournalDisk::new();
        let mut file = disk.create(Path::new("/f")).unwrap();
        disk.sync_directory(Path::new("/")).unwrap();
        file.write_all(b"ab").unwrap();
        let (left, mut wreck) = wreck_of(&disk).after_kill();
        assert_eq!(left.read(Path::new("/f")).unwrap(), b"ab");
        let next = JournalDisk::over(left);
        next.create(Path::new("/a")).unwrap().sync().unwrap();
        next.journal().events.iter().for_each(|event| wreck.advance(event));
        let after = |wreck: &Wreck| wreck.after_power_cut(Survival::Nothing, 0).read(Path::new("/f")).unwrap();
        assert_eq!(after(&wreck), b"");
        next.append(Path::new("/f"), 2).unwrap().sync().unwrap();
        next.journal().events.iter().for_each(|event| wreck.advance(event));
        assert_eq!(after(&wreck), b"ab");
    }

    #[test]
    fn what_a_failed_sync_forgot_is_shown_and_never_written() {
        let disk = JournalDisk::new();
        let mut file = disk.create(Path::new("/f")).unwrap();
        disk.sync_directory(Path::new("/")).unwrap();
        file.write_all(&[1; 5_000]).unwrap();
        disk.sync_failed(Path::new("/f"));
        // The second page is written to again, so that all of it is written.
        file.write_all(&[2; 10]).unwrap();
        file.sync().unwrap();
        let wreck = wreck_of(&disk);
        let shown = [&[1; 5_000][..], &[2; 10]].concat();
        let written = [&[0; 4_096][..], &[1; 904], &[2; 10]].concat();
        assert_eq!(wreck.after_kill().0.read(Path::new("/f")).unwrap(), shown);
        for survival in [Survival::Nothing, Survival::Prefix, Survival::SomeSectors] {
            assert_eq!(wreck.after_power_cut(survival, 5).read(Path::new("/f")).unwrap(), written, "{survival:?}");
        }
    }

    #[test]
    fn a_block_that_was_not_written_may_hold_what_an_older_file_left() {
        let disk = JournalDisk::new();
        disk.create(Path::new("/old")).unwrap().write_all(&[7; 2_000]).unwrap();
        let mut file = disk.create(Path::new("/f")).unwrap();
        disk.sync_directory(Path::new("/")).unwrap();
        file.write_all(&[7; 512]).unwrap();
        file.sync().unwrap();
        file.write_all(&[8; 512]).unwrap();
        let found = outcomes(&disk, "/f", Survival::SomeSectorsAmongStaleBlocks);
        assert!(found.contains(&Some(vec![7; 1_024])), "{found:?}");
    }

    #[test]
    fn a_later_write_may_survive_an_earlier_one() {
        let disk = JournalDisk::new();
        let mut file = disk.create(Path::new("/f")).unwrap();
        disk.sync_directory(Path::new("/")).unwrap();
        file.write_all(&[1; 512]).unwrap();
        file.write_all(&[2; 512]).unwrap();
        let expected: Vec<u8> = [[0; 512], [2; 512]].concat();
        assert!(outcomes(&disk, "/f", Survival::SomeSectors).contains(&Some(expected)));
    }

    #[test]
    fn a_rename_is_whole_or_absent_and_a_lost_directory_takes_its_files_with_it() {
        let disk = JournalDisk::new();
        for name in ["/old", "/new"] {
            let mut file = disk.create(Path::new(name)).unwrap();
            file.write_all(name.as_bytes()).unwrap();
            file.sync().unwrap();
        }
        disk.sync_directory(Path::new("/")).unwrap();
        disk.rename(Path::new("/new"), Path::new("/old")).unwrap();
        for survival in [Survival::Prefix, Survival::SomeSectors] {
            let expected = [Some(b"/new".to_vec()), Some(b"/old".to_vec())];
            assert_eq!(outcomes(&disk, "/old", survival), expected);
        }
        disk.create_directory(Path::new("/d")).unwrap();
        disk.create(Path::new("/d/f")).unwrap().sync().unwrap();
        disk.sync_directory(Path::new("/d")).unwrap();
        assert_eq!(outcomes(&disk, "/d/f", Survival::Nothing), [None]);
        assert_eq!(outcomes(&disk, "/d/f", Survival::SomeSectors), [None, Some(Vec::new())]);
    }
}
