//! Processes that read a store beside one that writes it, all killed at random.
//!
//! The writer is that of [`crate::kills`]. Readers of this process know what it acknowledged; those in processes of their own
//! only check that what they see is whole, and that nothing is lost again. `READER_ROUNDS=200` kills more often.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use model::{GraphStore, Interrupt};
use storage::{NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::apart;
use crate::directory::TestDirectory;
use crate::kills::{self, WRITERS};
use crate::numbered;

const PATH: &str = "KNOTWORK_TEST_READ_STORE";
const ROUNDS: u64 = 25;

/// The work of a reader in a process of its own; nothing when run as a test.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let open = || NativeStore::open(path.as_ref(), OpenOptions::read_only(), storage::os::platform()).unwrap();
    let (mut store, mut before) = (open(), vec![0; WRITERS]);
    for round in 1.. {
        if round % 16 == 0 {
            store = open();
        } else {
            store.refresh(&Interrupt::new()).unwrap();
        }
        let found = kills::check(&*store.read().unwrap());
        assert!(found.iter().zip(&before).all(|(now, before)| now >= before), "{found:?} after {before:?}");
        before = found;
    }
}

/// The number of the last transaction of each writer that was acknowledged.
type Acknowledged = Arc<[AtomicI64; WRITERS]>;

fn numbers(of: &Acknowledged) -> Vec<i64> {
    of.iter().map(|number| number.load(Ordering::SeqCst)).collect()
}

/// Looks at the store again and again until it is told to end; gives the number of looks.
fn read(directory: &TestDirectory, seed: u64, acknowledged: &Acknowledged, is_over: &AtomicBool) -> u64 {
    let (mut random, mut looks) = (SeededRandom::new(seed), 0);
    let mut store = directory.open_with(OpenOptions::read_only());
    while !is_over.load(Ordering::Relaxed) {
        let least = numbers(acknowledged);
        if random.chance(10) {
            store = directory.open_with(OpenOptions::read_only());
        } else {
            store.refresh(&Interrupt::new()).unwrap();
        }
        let found = kills::check(&*store.read().unwrap());
        assert!(found.iter().zip(&least).all(|(found, least)| found >= least), "{found:?} of {least:?}, seed {seed}");
        if random.chance(2) {
            numbered::check_files(&directory.platform(), directory.path());
        }
        looks += 1;
    }
    looks
}

/// Ends the readers, also if the test fails.
struct EndsReaders<'a>(&'a AtomicBool);

impl Drop for EndsReaders<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Kills a process that goes on until it is killed.
fn kill(mut child: Child, what: &str) {
    assert_eq!(child.try_wait().unwrap(), None, "{what} ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
}

fn start_reader(directory: &TestDirectory) -> Child {
    apart::command("readers::processes::child", &[(PATH, directory.path().as_os_str())]).spawn().unwrap()
}

/// Runs the writer until it is killed, some time after its first commit.
fn write(directory: &TestDirectory, acknowledged: &Acknowledged, delay: Duration) {
    let mut child = kills::start(directory);
    let out = BufReader::new(child.stdout.take().unwrap());
    let (first, has_committed) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for line in out.lines().map_while(std::result::Result::ok) {
                let mut words = line.split(' ');
                if let (Some("acknowledged"), Some(writer), Some(number)) = (words.next(), words.next(), words.next()) {
                    let number = number.parse().unwrap();
                    acknowledged[writer.parse::<usize>().unwrap()].fetch_max(number, Ordering::SeqCst);
                    first.send(()).unwrap_or_default();
                }
            }
        });
        has_committed.recv().unwrap();
        std::thread::sleep(delay);
        kill(child, "the writer");
    });
}

#[test]
fn readers_and_a_writer_that_are_killed_see_all_that_was_acknowledged() {
    let seed = seed_or(4_900);
    let rounds = std::env::var("READER_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("it is a number"));
    eprintln!("seed {seed}, {rounds} rounds");
    let directory = TestDirectory::new();
    let store = directory.open_with(kills::options());
    kills::make(&store);
    drop(store);
    let (acknowledged, is_over) = (Acknowledged::default(), AtomicBool::new(false));
    let mut random = SeededRandom::new(seed);
    std::thread::scope(|scope| {
        let work = |number: u64| {
            let (directory, acknowledged, is_over) = (&directory, &acknowledged, &is_over);
            move || read(directory, seed + number, acknowledged, is_over)
        };
        let _ends = EndsReaders(&is_over);
        let readers = [scope.spawn(work(1)), scope.spawn(work(2))];
        let mut others = vec![start_reader(&directory)];
        for _ in 0..rounds {
            write(&directory, &acknowledged, Duration::from_micros(random.below(150_000)));
            if random.chance(50) {
                kill(others.remove(0), "a reader");
                others.push(start_reader(&directory));
            }
            assert!(readers.iter().all(|reader| !reader.is_finished()), "seed {seed}: a reader failed");
        }
        others.into_iter().for_each(|other| kill(other, "a reader"));
        is_over.store(true, Ordering::Relaxed);
        let looks: Vec<u64> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        eprintln!("{rounds} rounds, looks {looks:?}, transactions {:?}", numbers(&acknowledged));
        assert!(looks.iter().all(|&looks| looks > rounds / 2), "looks {looks:?}");
    });
    drop(directory.open_with(kills::options()));
    let left = numbered::leftovers(&directory.platform(), directory.path());
    assert!(left.is_empty(), "{left:?}");
    let maps = directory.disk().read("/proc/self/maps".as_ref()).unwrap_or_default();
    let name = directory.path().file_name().unwrap().to_string_lossy().into_owned();
    let held = String::from_utf8_lossy(&maps).lines().filter(|line| line.contains(&name)).count();
    assert_eq!(held, 0, "files of the store are still held");
}
