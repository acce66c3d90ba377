//! Damage to single blocks of files that have many: a question that meets it ends with an error that names it, one that does
//! not is answered as before, and nothing that is made of such files passes it on.
//!
//! `FUZZ_SECONDS=600 cargo test --release -p knotwork-storage damage` goes on with further blocks for ten minutes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{ErrorCode, GraphStore, Interrupt, ReadView};
use storage::check::check;
use storage::{NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{MemoryDisk, platform};

use crate::vast::{self, PATH, Question, questions};

const BLOCK: usize = 4_096;
/// Damages of each file in a short run.
const DAMAGES: usize = 3;
/// The kinds of files that damage is tried on, and how many blocks they have at least.
const KINDS: [(&str, usize); 7] =
    [("nodes", 150), ("noderun", 100), ("edges", 20), ("props", 100), ("patch", 2), ("keys", 10), ("ordered", 10)];

struct Bench {
    disk: MemoryDisk,
    files: Vec<PathBuf>,
    questions: Vec<Question>,
    answers: Vec<u64>,
    seed: u64,
}

impl Bench {
    fn new(seed: u64) -> Bench {
        let disk = vast::disk(seed);
        let questions = questions(seed);
        let platform = platform(Arc::new(disk.clone()), seed);
        let store = NativeStore::open(Path::new(PATH), OpenOptions::read_only(), platform.clone()).unwrap();
        let view = store.read().unwrap();
        let answers = questions.iter().map(|(_, ask)| ask(&*view).unwrap()).collect();
        drop((view, store));
        assert_eq!(check(&platform, Path::new(PATH), &Interrupt::new()).unwrap(), []);
        let mut files = disk.files();
        files.retain(|path| KINDS.iter().any(|(kind, _)| extension(path) == *kind));
        for (kind, blocks) in KINDS {
            let bytes = files.iter().filter(|path| extension(path) == kind).map(|path| disk.bytes(path).unwrap().len());
            let found = bytes.max().unwrap_or(0) / BLOCK;
            assert!(found >= blocks, "the largest file of kind {kind} has {found} blocks");
        }
        Bench { disk, files, questions, answers, seed }
    }

    /// A copy of the disk with a damaged block of a file; what was done.
    fn damage(&self, path: &Path, random: &mut SeededRandom) -> (MemoryDisk, String) {
        let mut bytes = self.disk.bytes(path).unwrap();
        let block = random.index(bytes.len() / BLOCK);
        let place = block * BLOCK..(block + 1) * BLOCK;
        let before = bytes[place.clone()].to_vec();
        let what = match random.below(5) {
            0 => {
                bytes[place.clone()].fill(0);
                "zeros"
            }
            1 => {
                bytes[place.start + random.index(BLOCK)] ^= 1 << random.below(8);
                "a flipped bit"
            }
            2 => {
                bytes[place.clone()].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
                "garbage"
            }
            3 => {
                let path: &PathBuf = random.pick(&self.files);
                let other = self.disk.bytes(path).unwrap();
                let from = random.index(other.len() / BLOCK) * BLOCK;
                bytes[place.clone()].copy_from_slice(&other[from..from + BLOCK]);
                "a block of a file of this store"
            }
            _ => {
                // A block that a write missed: what stood there before, half of it.
                let from = random.index(bytes.len() / BLOCK) * BLOCK;
                let half = bytes[from..from + BLOCK / 2].to_vec();
                bytes[place.start..place.start + BLOCK / 2].copy_from_slice(&half);
                "half of another block"
            }
        };
        let disk = self.disk.copy();
        if bytes[place.clone()] == before {
            bytes[place.start + random.index(BLOCK)] ^= 1;
        }
        disk.put(path, bytes);
        (disk, format!("FUZZ_SEED={}: {what} in block {block} of {}", self.seed, path.display()))
    }

    /// Asks everything; gives how many questions met the damage.
    fn ask(&self, view: &dyn ReadView, what: &str) -> u64 {
        let mut met = 0;
        for ((question, ask), answer) in self.questions.iter().zip(&self.answers) {
            match ask(view) {
                Ok(found) => assert_eq!(found, *answer, "{what}: the answer to {question} is wrong"),
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::Corrupt, "{what}: {question}: {error}");
                    met += 1;
                }
            }
        }
        met
    }

    /// Opens a damaged disk and asks everything; the damage was met if it does not open.
    fn open_and_ask(&self, disk: &MemoryDisk, what: &str) -> u64 {
        let platform = platform(Arc::new(disk.clone()), self.seed);
        match NativeStore::open(Path::new(PATH), OpenOptions::read_only(), platform) {
            Ok(store) => self.ask(&*store.read().unwrap(), what),
            Err(error) => {
                assert_eq!(error.code(), ErrorCode::Corrupt, "{what}: {error}");
                1
            }
        }
    }

    /// Merges and folds everything; what comes of it is right, or an error as before.
    fn compact(&self, disk: &MemoryDisk, what: &str) -> bool {
        let platform = platform(Arc::new(disk.copy()), self.seed);
        let Ok(store) = NativeStore::open(Path::new(PATH), vast::options(), platform.clone()) else { return true };
        let outcome = store.checkpoint(&Interrupt::new()).and_then(|()| store.compact(&Interrupt::new()));
        drop(store);
        let is_refused = match outcome {
            Ok(()) => false,
            Err(error) => {
                assert!(matches!(error.code(), ErrorCode::Corrupt | ErrorCode::Closed), "{what}: merging: {error}");
                true
            }
        };
        match NativeStore::open(Path::new(PATH), OpenOptions::read_only(), platform) {
            Ok(store) => drop(self.ask(&*store.read().unwrap(), &format!("{what}, after merging"))),
            Err(error) => assert_eq!(error.code(), ErrorCode::Corrupt, "{what}, after merging: {error}"),
        }
        is_refused
    }

    fn backup(&self, disk: &MemoryDisk, what: &str) {
        let platform = platform(Arc::new(disk.clone()), self.seed);
        let copy = Path::new("/stores/copy.knot");
        let outcome = storage::backup::backup(&platform, Path::new(PATH), copy, None, &Interrupt::new());
        let error = outcome.err().unwrap_or_else(|| panic!("{what}: a backup takes the damage along"));
        assert_eq!(error.code(), ErrorCode::Corrupt, "{what}: {error}");
    }
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

#[test]
fn a_damaged_block_is_told_or_not_met_and_never_passed_on() {
    let clock = storage::os::platform().clock;
    let seconds = std::env::var("FUZZ_SECONDS").ok().map(|text| text.parse::<u64>().expect("FUZZ_SECONDS is a number"));
    let end = seconds.map(|seconds| clock.now_ns() + seconds * 1_000_000_000);
    let bench = Bench::new(seed_or(71));
    let mut met: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut refused, mut tried) = (0, 0);
    for round in 0.. {
        let mut random = SeededRandom::new(bench.seed.wrapping_mul(1_000_003) + round as u64);
        for path in &bench.files {
            let (disk, what) = bench.damage(path, &mut random);
            let platform = platform(Arc::new(disk.clone()), bench.seed);
            let problems = check(&platform, Path::new(PATH), &Interrupt::new()).unwrap();
            assert!(problems.iter().any(|problem| problem.file == *path), "{what}: the check finds {problems:?}");
            *met.entry(extension(path)).or_default() += bench.open_and_ask(&disk, &what);
            if round == 0 {
                bench.backup(&disk, &what);
                refused += u64::from(bench.compact(&disk, &what));
            }
            tried += 1;
        }
        if end.map_or(round + 1 == DAMAGES, |end| clock.now_ns() > end) {
            break;
        }
    }
    assert!(tried >= DAMAGES * KINDS.len(), "{tried} blocks were damaged");
    assert!(KINDS.iter().all(|(kind, _)| met[kind] > 0), "some question meets the damage of each kind: {met:?}");
    assert!(refused > 0, "some merge meets damage");
}

#[test]
fn every_block_of_labels_and_existence_is_verified() {
    // The states of node runs are small: their blocks alone, one by one, with the questions that read nothing else.
    let bench = Bench::new(seed_or(72));
    let path = bench.files.iter().find(|path| extension(path) == "noderun").unwrap();
    let length = bench.disk.bytes(path).unwrap().len();
    let mut met = 0;
    let is_of_labels = |question: &str| question.starts_with("nodes of") || ["labels", "existence"].contains(&question);
    for block in 0..length / BLOCK {
        let disk = bench.disk.copy();
        disk.corrupt(path, |bytes| bytes[block * BLOCK..(block + 1) * BLOCK].fill(0)).unwrap();
        let platform = platform(Arc::new(disk), bench.seed);
        let Ok(store) = NativeStore::open(Path::new(PATH), OpenOptions::read_only(), platform) else { continue };
        let view = store.read().unwrap();
        for ((question, ask), answer) in bench.questions.iter().zip(&bench.answers) {
            if !is_of_labels(question) {
                continue;
            }
            match ask(&*view) {
                Ok(found) => assert_eq!(found, *answer, "zeros in block {block} of {length}: {question}"),
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::Corrupt, "{error}");
                    met += 1;
                }
            }
        }
    }
    assert!(met >= 8, "{met} questions met damage");
}
