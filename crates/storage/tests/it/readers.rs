//! Readers beside a writer: each sees whole transactions, up to some one, and all that were acknowledged before it looked.
//!
//! On a disk in memory a reader looks at every step that the writer makes on the disk, and the writer works between any two
//! steps of a reader. With real processes, see [`processes`].

mod processes;

use std::any::Any;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use model::platform::{Disk, MappedFile, Platform, TemporaryFile, WriteFile};
use model::{ErrorCode, GraphStore, Interrupt};
use storage::{Maintenance, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{MemoryDisk, platform};

use crate::directory::TestDirectory;
use crate::numbered;

const STORE: &str = "store.knot";

type Work = Box<dyn FnMut() + Send>;

/// A disk that has something done before each of its operations, though not before those that this leads to.
#[derive(Clone)]
struct WatchedDisk {
    inner: Arc<dyn Disk>,
    work: Arc<Mutex<Option<Work>>>,
}

impl std::fmt::Debug for WatchedDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WatchedDisk")
    }
}

impl WatchedDisk {
    fn new(inner: Arc<dyn Disk>) -> WatchedDisk {
        WatchedDisk { inner, work: Arc::default() }
    }

    fn set(&self, work: Option<Work>) {
        *self.work.lock().unwrap() = work;
    }

    fn step(&self) -> &dyn Disk {
        let work = self.work.lock().unwrap().take();
        if let Some(mut work) = work {
            work();
            self.set(Some(work));
        }
        &*self.inner
    }

    fn file(&self, file: Box<dyn WriteFile>) -> Box<dyn WriteFile> {
        Box::new(WatchedFile { disk: self.clone(), file })
    }
}

struct WatchedFile {
    disk: WatchedDisk,
    file: Box<dyn WriteFile>,
}

impl Write for WatchedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.step();
        // In two pieces, as an operating system may.
        let first = bytes.len().div_ceil(2);
        self.file.write_all(&bytes[..first])?;
        self.disk.step();
        self.file.write_all(&bytes[first..]).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl WriteFile for WatchedFile {
    fn sync(&mut self) -> io::Result<()> {
        self.disk.step();
        self.file.sync()
    }
}

impl Disk for WatchedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.step().create(path).map(|file| self.file(file))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        self.step().append(path, length).map(|file| self.file(file))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.step().read(path)
    }

    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        self.step().map(path)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        self.step().length(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.step().list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step().rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step().remove(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.step().create_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.step().remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.step().sync_directory(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.step().exists(path)
    }

    fn temporary(&self, directory: &Path) -> io::Result<Box<dyn TemporaryFile>> {
        self.inner.temporary(directory)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.step().lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.inner.lock_shared(path)
    }
}

/// A writer that does one thing after another: it commits, in memory or by files of its own, flushes, merges, opens anew.
struct Writer {
    platform: Platform,
    store: Option<NativeStore>,
    random: SeededRandom,
    begun: Arc<AtomicU64>,
    acknowledged: Arc<AtomicU64>,
}

impl Writer {
    fn new(disk: Arc<dyn Disk>, seed: u64) -> Writer {
        let (begun, acknowledged) = (Arc::default(), Arc::default());
        let random = SeededRandom::new(seed);
        let mut writer = Writer { platform: platform(disk, seed), store: None, random, begun, acknowledged };
        writer.open();
        writer
    }

    fn open(&mut self) {
        self.store = None;
        let options = OpenOptions {
            maintenance: Maintenance::Inline,
            memtable_bytes_max: 4_000 << self.random.below(6),
            transaction_bytes_max: self.random.chance(40).then_some(1),
            ..OpenOptions::create()
        };
        self.store = Some(NativeStore::open(Path::new(STORE), options, self.platform.clone()).unwrap());
    }

    fn work(&mut self) {
        let store = self.store.as_ref().unwrap();
        match self.random.below(20) {
            0..=13 => {
                let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
                numbered::commit_number(store, number).unwrap();
                self.acknowledged.store(number, Ordering::Relaxed);
            }
            14..=16 => store.checkpoint(&Interrupt::new()).unwrap(),
            17 => store.compact(&Interrupt::new()).unwrap(),
            _ => self.open(),
        }
    }
}

fn memory() -> Arc<dyn Disk> {
    let disk = MemoryDisk::new();
    disk.put_directory(Path::new("."));
    Arc::new(disk)
}

fn read_only(platform: &Platform) -> NativeStore {
    NativeStore::open(Path::new(STORE), OpenOptions::read_only(), platform.clone()).unwrap()
}

/// Number of transactions seen by a store that was opened or moved on after `least` were acknowledged.
fn seen(store: &NativeStore, least: u64, most: u64, place: &str) -> u64 {
    let found = numbered::check(&*store.read().unwrap());
    assert!((least..=most).contains(&found), "{found} seen, {least} acknowledged, {most} begun: {place}");
    assert!(store.torn_logs().is_empty(), "{place}");
    found
}

#[test]
fn a_reader_at_every_step_of_a_writer_sees_all_that_was_acknowledged() {
    let seed = seed_or(49);
    eprintln!("seed {seed}");
    let mut looks = 0;
    for case in 0..6 {
        let memory = memory();
        let disk = WatchedDisk::new(memory.clone());
        let mut writer = Writer::new(Arc::new(disk.clone()), seed + case);
        let (begun, acknowledged) = (writer.begun.clone(), writer.acknowledged.clone());
        let beside = platform(memory, seed);
        let mut reader = read_only(&beside);
        let mut random = SeededRandom::new(seed + case);
        let count = Arc::new(AtomicU64::new(0));
        let counted = count.clone();
        disk.set(Some(Box::new(move || {
            let step = counted.fetch_add(1, Ordering::Relaxed);
            let (least, most) = (acknowledged.load(Ordering::Relaxed), begun.load(Ordering::Relaxed));
            let place = format!("seed {seed}, case {case}, step {step}");
            if random.chance(20) {
                reader = read_only(&beside);
            } else {
                reader.refresh(&Interrupt::new()).unwrap_or_else(|error| panic!("{place}: {error:?}"));
            }
            seen(&reader, least, most, &place);
            if random.chance(3) {
                numbered::check_files(&beside, Path::new(STORE));
            }
        })));
        (0..25).for_each(|_| writer.work());
        disk.set(None);
        looks += count.load(Ordering::Relaxed);
    }
    assert!(looks > 1_000, "only {looks} looks");
}

#[test]
fn a_writer_between_any_steps_of_a_reader_is_no_damage() {
    let seed = seed_or(50);
    eprintln!("seed {seed}");
    for case in 0..20 {
        let memory = memory();
        let mut writer = Writer::new(memory.clone(), seed + case);
        let (begun, acknowledged) = (writer.begun.clone(), writer.acknowledged.clone());
        let disk = WatchedDisk::new(memory);
        let beside = platform(Arc::new(disk.clone()), seed);
        let mut reader = read_only(&beside);
        let mut random = SeededRandom::new(seed + case);
        let mut budget = 40;
        disk.set(Some(Box::new(move || {
            if budget > 0 && random.chance(25) {
                budget -= 1;
                writer.work();
            }
        })));
        let (mut random, mut floor) = (SeededRandom::new(seed + case + 1), 0);
        for round in 0..30 {
            let place = format!("seed {seed}, case {case}, round {round}");
            let least = acknowledged.load(Ordering::Relaxed);
            match random.below(8) {
                0 => (reader, floor) = (read_only(&beside), least),
                1 => numbered::check_files(&beside, Path::new(STORE)),
                2 => {
                    let copy = Path::new("copy.knot");
                    storage::backup::backup(&beside, Path::new(STORE), copy, None, &Interrupt::new()).unwrap();
                    let kept = NativeStore::open(copy, OpenOptions::read_only(), beside.clone()).unwrap();
                    seen(&kept, least, begun.load(Ordering::Relaxed), &place);
                    drop(kept);
                    disk.list(copy).unwrap().iter().for_each(|name| disk.remove(&copy.join(name)).unwrap());
                    disk.remove_directory(copy).unwrap();
                }
                _ => {
                    reader.refresh(&Interrupt::new()).unwrap_or_else(|error| panic!("{place}: {error:?}"));
                    floor = least;
                }
            }
            seen(&reader, floor, begun.load(Ordering::Relaxed), &place);
        }
        disk.set(None);
        let least = acknowledged.load(Ordering::Relaxed);
        reader.refresh(&Interrupt::new()).unwrap();
        assert_eq!(seen(&reader, least, least, "the writer rests"), least);
        assert!(!reader.refresh(&Interrupt::new()).unwrap(), "nothing is new");
    }
}

#[test]
fn a_log_that_was_just_made_hides_nothing_of_the_one_before() {
    let memory = memory();
    let disk = WatchedDisk::new(memory.clone());
    let store = NativeStore::open(
        Path::new(STORE),
        OpenOptions { maintenance: Maintenance::Inline, ..OpenOptions::create() },
        platform(Arc::new(disk.clone()), 1),
    );
    let store = Arc::new(store.unwrap());
    numbered::commit_number(&store, 1).unwrap();
    let beside = platform(memory.clone(), 1);
    let reader = read_only(&beside);
    let (writer, next_log) = (store.clone(), Path::new(STORE).join("00000001.wal"));
    let looks = Arc::new(AtomicU64::new(0));
    let (counted, mut newest) = (looks.clone(), 1);
    disk.set(Some(Box::new(move || {
        // The flush that makes the log takes the writers' turn only once it is there.
        if newest < 4 && memory.exists(&next_log) {
            newest += 1;
            numbered::commit_number(&writer, newest).unwrap();
            reader.refresh(&Interrupt::new()).unwrap();
            assert_eq!(numbered::check(&*reader.read().unwrap()), newest);
            counted.fetch_add(1, Ordering::Relaxed);
        }
    })));
    store.checkpoint(&Interrupt::new()).unwrap();
    disk.set(None);
    assert_eq!(looks.load(Ordering::Relaxed), 3);
}

#[test]
fn a_snapshot_stays_where_it_was() {
    let directory = TestDirectory::new();
    let store = directory.open();
    numbered::commit_number(&store, 1).unwrap();
    let reader = directory.open_with(OpenOptions::read_only());
    let before = reader.read().unwrap();
    numbered::commit_number(&store, 2).unwrap();
    store.compact(&Interrupt::new()).unwrap();
    assert_eq!(numbered::check(&*reader.read().unwrap()), 1, "nothing moves by itself");
    assert!(reader.refresh(&Interrupt::new()).unwrap());
    assert_eq!((numbered::check(&*before), numbered::check(&*reader.read().unwrap())), (1, 2));
    assert!(!store.refresh(&Interrupt::new()).unwrap(), "who writes is at the newest state");
    let error = NativeStore::open(directory.path(), OpenOptions::default(), directory.platform()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Busy);
}

#[test]
fn what_is_too_large_for_the_memory_of_a_reader_is_read_all_the_same() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let options = OpenOptions { memtable_bytes_max: 1_000, ..OpenOptions::read_only() };
    numbered::commit_number(&store, 1).unwrap();
    let reader = directory.open_with(options);
    for number in 2..60 {
        numbered::commit_number(&store, number).unwrap();
        if number % 23 == 0 {
            store.checkpoint(&Interrupt::new()).unwrap();
        }
        assert!(reader.refresh(&Interrupt::new()).unwrap());
        assert_eq!(numbered::check(&*reader.read().unwrap()), number);
    }
}
