//! A disk that cannot read some sectors, and files that somebody cuts short while they are mapped: an error of the statement
//! that meets it, which names the place; never a signal, and never an answer made of what could not be read.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use model::{ErrorCode, GraphStore, Interrupt, ReadView};
use storage::check::check;
use storage::recover::recover;
use storage::{NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{FaultyDisk, platform};

use crate::apart;
use crate::directory::TestDirectory;
use crate::vast::{self, PATH, questions};

const BLOCK: u64 = 4_096;
/// Environment variable with the path of the store of the child process.
const CUT: &str = "KNOTWORK_TEST_CUT_STORE";

fn is_data(path: &Path) -> bool {
    let kinds = ["nodes", "noderun", "edges", "props", "patch", "keys", "ordered"];
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| kinds.contains(&extension))
}

fn names_the_place(error: &model::Error, path: &Path) -> bool {
    error.code() == ErrorCode::Io && error.message().starts_with(&format!("{} at byte ", path.display()))
}

#[test]
fn a_sector_that_cannot_be_read_is_an_error_of_whoever_needs_it() {
    let seed = seed_or(81);
    let mut random = SeededRandom::new(seed);
    let disk = vast::disk(seed);
    let questions = questions(seed);
    let open = |disk: &FaultyDisk| {
        let platform = platform(Arc::new(disk.clone()), seed);
        NativeStore::open(Path::new(PATH), OpenOptions::read_only(), platform)
    };
    let sound = FaultyDisk::new(Arc::new(disk.clone()));
    let answers: Vec<u64> = {
        let store = open(&sound).unwrap();
        let view = store.read().unwrap();
        questions.iter().map(|(_, ask)| ask(&*view).unwrap()).collect()
    };
    let files: Vec<PathBuf> = disk.files().into_iter().filter(|path| is_data(path)).collect();
    let mut met = 0;
    for path in &files {
        let blocks = disk.bytes(path).unwrap().len() as u64 / BLOCK;
        // The first block has the header, the last the trailer: without them the file does not open.
        let middle = [random.below(blocks), random.below(blocks)];
        for (number, block) in [0, middle[0], middle[1], blocks].into_iter().enumerate() {
            let faulty = FaultyDisk::new(Arc::new(disk.clone()));
            // Once the disk fails while the store is open already, and reads again later.
            let before = (number == 2).then(|| open(&faulty).unwrap());
            faulty.fail_reads(path, block * BLOCK..block * BLOCK + 1);
            let what = format!("FUZZ_SEED={seed}: block {block} of {}", path.display());
            let found = check(&platform(Arc::new(faulty.clone()), seed), Path::new(PATH), &Interrupt::new()).unwrap();
            let is_told =
                found.iter().any(|problem| problem.file == *path && problem.message.contains("cannot be read"));
            assert!(is_told, "{what}: the check finds {found:?}");
            let is_mended = before.is_some();
            let store = match before.map_or_else(|| open(&faulty), Ok) {
                Ok(store) => store,
                Err(error) => {
                    assert!(names_the_place(&error, path), "{what}: {error}");
                    met += 1;
                    continue;
                }
            };
            let view = store.read().unwrap();
            for ((question, ask), answer) in questions.iter().zip(&answers) {
                match ask(&*view) {
                    Ok(found) => assert_eq!(found, *answer, "{what}: the answer to {question} is wrong"),
                    Err(error) => {
                        assert!(names_the_place(&error, path), "{what}: {question}: {error}");
                        met += 1;
                    }
                }
            }
            if !is_mended {
                continue;
            }
            // Nothing of the failure is kept.
            faulty.mend_reads();
            for ((question, ask), answer) in questions.iter().zip(&answers).step_by(7) {
                assert_eq!(ask(&*view).unwrap(), *answer, "{what}: {question}, once the disk reads again");
            }
        }
    }
    assert!(met > 4 * files.len(), "{met} questions met a sector that cannot be read");
}

#[test]
fn the_check_goes_on_behind_what_cannot_be_read_and_salvage_brings_back_the_rest() {
    let seed = seed_or(82);
    let disk = vast::disk(seed);
    let faulty = FaultyDisk::new(Arc::new(disk.clone()));
    let files: Vec<PathBuf> = disk.files().into_iter().filter(|path| is_data(path)).collect();
    let mut expected = Vec::new();
    for path in &files {
        let middle = disk.bytes(path).unwrap().len() as u64 / BLOCK / 2;
        faulty.fail_reads(path, middle * BLOCK..middle * BLOCK + 1);
        expected.push((path.clone(), middle * BLOCK));
    }
    let platform = platform(Arc::new(faulty.clone()), seed);
    let found = check(&platform, Path::new(PATH), &Interrupt::new()).unwrap();
    for (path, offset) in &expected {
        let is_told = found.iter().any(|problem| problem.file == *path && problem.offset == *offset);
        assert!(is_told, "byte {offset} of {} is not among {found:?}", path.display());
    }
    let new = Path::new("/stores/new.knot");
    let recovery = recover(&platform, Path::new(PATH), new, &Interrupt::new()).unwrap();
    let nodes = recovery.nodes as usize;
    assert!(nodes > vast::NODES / 2 && recovery.edges > vast::NODES as u64, "{recovery:?}");
    assert!(
        !recovery.losses.is_empty() && recovery.losses.iter().all(|loss| loss.problem.contains("read")),
        "{recovery:?}"
    );
    assert_eq!(check(&platform, new, &Interrupt::new()).unwrap(), []);
}

/// Runs in a process of its own: opens, asks, cuts files under the maps, asks again.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CUT) else { return };
    let path = Path::new(&path);
    let questions = questions(83);
    let store = NativeStore::open(path, OpenOptions::read_only(), storage::os::platform()).unwrap();
    let view = store.read().unwrap();
    let answers: Vec<u64> = questions.iter().map(|(_, ask)| ask(&*view).unwrap()).collect();
    let mut met = 0;
    let mut ask_all = |view: &dyn ReadView| {
        for ((question, ask), answer) in questions.iter().zip(&answers) {
            match ask(view) {
                Ok(found) => assert_eq!(found, *answer, "the answer to {question} is wrong"),
                Err(error) => {
                    assert!(matches!(error.code(), ErrorCode::Io | ErrorCode::Corrupt), "{question}: {error}");
                    assert!(error.message().contains(" at byte "), "{question}: {error}");
                    met += 1;
                }
            }
        }
    };
    ask_all(&*view);
    let mut files: Vec<PathBuf> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| is_data(path));
    files.sort();
    for file in &files {
        let length = std::fs::metadata(file).unwrap().len();
        // All that is read now was in memory and verified before.
        std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length / 3).unwrap();
        ask_all(&*view);
        let others = NativeStore::open(path, OpenOptions::read_only(), storage::os::platform());
        assert!(others.is_err(), "a file that was cut is found when the store is opened");
    }
    assert!(met > files.len(), "{met} questions met files that were cut");
    std::io::stdout().write_all(b"answered\n").unwrap();
}

#[test]
fn files_cut_short_under_an_open_store_are_errors_and_no_signal() {
    let directory = TestDirectory::new();
    vast::make(&directory.platform(), directory.path(), 83);
    let child = apart::command("read_errors::child", &[(CUT, directory.path().as_os_str())])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let told = format!("{}\n{}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success(), "the process ended with {}: {told}", child.status);
    assert!(told.contains("answered"), "{told}");
}
