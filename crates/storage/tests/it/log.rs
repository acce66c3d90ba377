//! Damage to the log: what is cut off, and what is refused.

use std::path::PathBuf;

use model::platform::Disk;
use model::store::NewNodes;
use model::{ErrorCode, GraphStore};
use storage::{Maintenance, NativeStore, OpenMode, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;

const COMMITS: u64 = 5;

/// A store of five commits, the first of one node, the next of two, and so on; the length of the log after each.
fn store_with_commits() -> (TestDirectory, Vec<usize>) {
    let directory = TestDirectory::new();
    let store = directory.open();
    let mut lengths = vec![directory.disk().length(&directory.log()).unwrap() as usize];
    for commit in 1..=COMMITS {
        let mut transaction = store.write().unwrap();
        let labels = [transaction.label(&format!("L{commit}")).unwrap()];
        let count = commit as usize;
        transaction.create_nodes(&NewNodes { count, labels: &labels, keys: &[], properties: &[] }).unwrap();
        transaction.commit().unwrap();
        lengths.push(directory.disk().length(&directory.log()).unwrap() as usize);
    }
    drop(store);
    (directory, lengths)
}

fn nodes_after(commits: usize) -> u64 {
    (commits * (commits + 1) / 2) as u64
}

#[test]
fn a_torn_tail_is_cut_and_writing_goes_on() {
    let (directory, lengths) = store_with_commits();
    let (path, files) = (directory.log(), directory.files());
    let whole = directory.disk().read(&path).unwrap();
    // A tail of zeros may happen to be what was cut off.
    let commits_in = |bytes: &[u8]| lengths.iter().filter(|&&end| bytes.starts_with(&whole[..end])).count() - 1;
    for length in (lengths[0]..=whole.len()).step_by(3) {
        // Bytes that a crash leaves behind the end may be missing, or zeros, or old content of the disk.
        for tail in [&[][..], &[0; 40], &[0xab; 40]] {
            let mut bytes = whole[..length].to_vec();
            bytes.extend_from_slice(tail);
            directory.restore(&files);
            directory.write(&path, &bytes);
            for options in [OpenOptions::read_only(), OpenOptions::default()] {
                let store = directory.open_with(options);
                let nodes = store.read().unwrap().statistics().nodes;
                assert_eq!(nodes, nodes_after(commits_in(&bytes)), "{length} bytes, {options:?}");
            }
        }
        let commits = commits_in(&whole[..length]);
        let store = directory.open();
        let mut transaction = store.write().unwrap();
        transaction.create_nodes(&NewNodes { count: 100, labels: &[], keys: &[], properties: &[] }).unwrap();
        transaction.commit().unwrap();
        drop(store);
        assert_eq!(directory.open().read().unwrap().statistics().nodes, nodes_after(commits) + 100);
    }
}

/// Cuts the seal off and flips a bit of a record.
fn tear(directory: &TestDirectory, lengths: &[usize], commit: usize) -> Vec<u8> {
    let path = directory.log();
    let mut bytes = directory.disk().read(&path).unwrap();
    bytes.truncate(*lengths.last().unwrap());
    bytes[lengths[commit] - 1] ^= 4;
    directory.write(&path, &bytes);
    bytes
}

#[test]
fn what_is_cut_off_is_told_and_kept() {
    let (directory, lengths) = store_with_commits();
    let path = directory.log();
    let bytes = tear(&directory, &lengths, COMMITS as usize);
    let tail = bytes.len() - lengths[COMMITS as usize - 1];
    let platform = directory.platform();
    let torn = storage::torn_logs(&platform, directory.path()).unwrap();
    // The mark of the last group is sound.
    assert_eq!(torn.iter().map(|torn| torn.bytes).collect::<Vec<_>>(), [tail as u64 - 16]);
    assert_eq!((&torn[0].log, torn[0].transactions, &torn[0].kept), (&path, 0, &None));
    let before = directory.files();
    assert_eq!(directory.open_with(OpenOptions::read_only()).torn_logs(), torn);
    assert_eq!(directory.files(), before, "reading changes nothing");
    let store = directory.open();
    let kept = store.torn_logs()[0].kept.clone().expect("the bytes are kept");
    assert_eq!(store.torn_logs(), [storage::TornLog { kept: Some(kept.clone()), ..torn[0].clone() }]);
    drop(store);
    assert_eq!(directory.disk().read(&kept).unwrap(), bytes[bytes.len() - torn[0].bytes as usize..]);
    let kept_files = storage::kept_files(directory.disk(), directory.path()).unwrap();
    assert_eq!(kept_files, [(kept, torn[0].bytes)]);
    assert_eq!(directory.open().torn_logs(), [], "a store that was closed has nothing to tell");
    assert_eq!(storage::torn_logs(&platform, directory.path()).unwrap(), []);
}

#[test]
fn whole_transactions_behind_a_damaged_one_are_counted() {
    let directory = TestDirectory::new();
    let options = OpenOptions { durability: storage::Durability::Off, ..OpenOptions::create() };
    let store = directory.open_with(options);
    let mut lengths = Vec::new();
    for _ in 0..4 {
        let mut transaction = store.write().unwrap();
        transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[], properties: &[] }).unwrap();
        transaction.commit().unwrap();
        lengths.push(directory.disk().length(&directory.log()).unwrap() as usize);
    }
    drop(store);
    tear(&directory, &lengths, 1);
    let store = directory.open();
    assert_eq!(store.read().unwrap().statistics().nodes, 1);
    assert_eq!(store.torn_logs()[0].transactions, 2);
    assert!(store.torn_logs()[0].to_string().contains("2 whole transactions"), "{}", store.torn_logs()[0]);
}

#[test]
fn torn_ends_do_not_pile_up() {
    let directory = TestDirectory::new();
    for _ in 0..2 * storage::TORN_FILES_MAX {
        drop(directory.open());
        let mut bytes = directory.disk().read(&directory.log()).unwrap();
        bytes.extend_from_slice(b"left by a crash");
        directory.write(&directory.log(), &bytes);
        assert_eq!(directory.open().torn_logs().len(), 1);
    }
    let kept = storage::kept_files(directory.disk(), directory.path()).unwrap();
    assert_eq!(kept.len(), storage::TORN_FILES_MAX);
}

/// A store killed in the middle of a flush has two logs; when the first one lost its end, which was durable, that is told.
#[test]
fn a_log_that_lost_its_end_is_corrupt_when_another_follows_it() {
    let disk = testing::simulation::MemoryDisk::new();
    let journal = testing::simulation::JournalDisk::over(disk);
    let platform = testing::simulation::platform(std::sync::Arc::new(journal.clone()), 1);
    let store = std::path::Path::new("/stores/test.knot");
    let commit = |native: &NativeStore| {
        let mut transaction = native.write().unwrap();
        transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[], properties: &[] }).unwrap();
        transaction.commit().unwrap();
    };
    let native = NativeStore::open(store, OpenOptions::create(), platform).unwrap();
    commit(&native);
    let manifest = journal.read(&store.join("MANIFEST")).unwrap();
    let first = journal.read(&store.join("00000000.wal")).unwrap();
    native.checkpoint(&model::Interrupt::new()).unwrap();
    commit(&native);
    // As if the flush had been cut short after a commit that came while it wrote files.
    let second = journal.read(&store.join("00000001.wal")).unwrap();
    for length in (64..=first.len()).rev() {
        let left = testing::simulation::MemoryDisk::new();
        left.put_directory(std::path::Path::new("/stores"));
        left.put_directory(store);
        left.put(&store.join("MANIFEST"), manifest.clone());
        left.put(&store.join("00000000.wal"), first[..length].to_vec());
        left.put(&store.join("00000001.wal"), second.clone());
        let platform = testing::simulation::platform(std::sync::Arc::new(left), 2);
        let opened = NativeStore::open(store, OpenOptions::default(), platform);
        match opened {
            Ok(store) if length == first.len() => assert_eq!(store.read().unwrap().statistics().nodes, 2),
            Ok(_) => panic!("{length} of {} bytes: the log is not whole", first.len()),
            Err(error) => {
                assert_eq!(error.code(), ErrorCode::Corrupt, "{length}");
                assert!(error.message().contains("00000000.wal at byte"), "{error:?}");
            }
        }
    }
}

#[test]
fn a_flipped_bit_is_corrupt_wherever_it_is() {
    let (directory, lengths) = store_with_commits();
    let (path, files) = (directory.log(), directory.files());
    let whole = directory.disk().read(&path).unwrap();
    let seed = seed_or(5);
    let mut random = SeededRandom::new(seed);
    let seal = *lengths.last().unwrap();
    for _ in 0..400 {
        let at = random.index(whole.len());
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << random.below(8);
        directory.restore(&files);
        directory.write(&path, &bytes);
        let opened = NativeStore::open(directory.path(), OpenOptions::default(), directory.platform());
        match opened {
            Ok(store) => {
                // Behind the last record stands only the mark that says so.
                assert!(at >= seal, "seed {seed}: the flipped bit at byte {at} went unnoticed");
                assert_eq!(store.read().unwrap().statistics().nodes, nodes_after(COMMITS as usize));
            }
            Err(error) => {
                let is_version = (8..12).contains(&at) && error.code() == ErrorCode::Version;
                assert!(error.code() == ErrorCode::Corrupt || is_version, "seed {seed}, byte {at}: {error:?}");
                assert!(error.message().contains(".wal"), "{error:?}");
                assert!(at < seal, "seed {seed}: byte {at} belongs to no record: {error:?}");
            }
        }
    }
}

/// A record of a store that was killed, before the last group: the mark of the next group says that it was durable.
#[test]
fn a_flipped_bit_in_a_log_that_was_not_closed_is_corrupt_up_to_the_last_group() {
    let (directory, lengths) = store_with_commits();
    let path = directory.log();
    let whole = directory.disk().read(&path).unwrap();
    let last = lengths[lengths.len() - 2];
    for at in (lengths[0]..last).step_by(7) {
        let mut bytes = whole[..lengths[lengths.len() - 1]].to_vec();
        bytes[at] ^= 4;
        directory.write(&path, &bytes);
        let opened = NativeStore::open(directory.path(), OpenOptions::default(), directory.platform());
        assert_eq!(opened.err().map(|error| error.code()), Some(ErrorCode::Corrupt), "byte {at}");
    }
}

#[test]
fn the_limit_that_a_transaction_was_written_with_is_one_that_opens_its_log() {
    const TEXT: usize = 3 << 20;
    // Nobody changes the files while they are copied.
    let maintenance = Maintenance::Inline;
    let options = OpenOptions { memory_bytes_max: Some(8 << 20), maintenance, ..OpenOptions::create() };
    let directory = TestDirectory::new();
    let store = directory.open_with(options);
    for commit in 1..=3 {
        let mut transaction = store.write().unwrap();
        let key = transaction.property_key("text").unwrap();
        let values = [model::Column::from_values(&[model::Value::string(&"x".repeat(TEXT))])];
        transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[key], properties: &values }).unwrap();
        transaction.commit().unwrap();
        // The state that a killed process leaves.
        let other = TestDirectory::new();
        drop(other.open());
        let beside = |path: PathBuf| other.path().join(path.file_name().unwrap());
        let files: Vec<_> = directory.files().into_iter().map(|(path, bytes)| (beside(path), bytes)).collect();
        other.restore(&files);
        for mode in [OpenMode::ReadOnly, OpenMode::Existing] {
            let store = other.open_with(OpenOptions { mode, ..options });
            assert_eq!(store.read().unwrap().statistics().nodes, commit, "{mode:?}");
        }
    }
}

#[test]
fn a_record_that_memory_has_no_room_for_is_told_with_the_limit_that_has_it() {
    const TEXT: usize = 3 << 20;
    let directory = TestDirectory::new();
    let store = directory.open();
    for length in [1, TEXT] {
        let mut transaction = store.write().unwrap();
        let key = transaction.property_key("text").unwrap();
        let values = [model::Column::from_values(&[model::Value::string(&"x".repeat(length))])];
        transaction.create_nodes(&NewNodes { count: 1, labels: &[], keys: &[key], properties: &values }).unwrap();
        transaction.commit().unwrap();
    }
    drop(store);
    let (path, files) = (directory.log(), directory.files());
    let open = |mut options: OpenOptions, limit: usize| {
        options.memory_bytes_max = Some(limit);
        NativeStore::open(directory.path(), options, directory.platform())
    };
    let whole = directory.disk().read(&path).unwrap();
    let unsealed = &whole[..whole.len() - 16];
    for bytes in [&whole[..], unsealed] {
        for options in [OpenOptions::read_only(), OpenOptions::default()] {
            directory.restore(&files);
            directory.write(&path, bytes);
            let error = open(options, 2 << 20).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Limit, "{error}");
            assert!(error.message().contains(&*path.to_string_lossy()), "{error}");
            assert!(error.remedy().contains("memory limit of 13 MiB or more"), "{error:?}");
            let store = open(options, 13 << 20).unwrap();
            assert_eq!(store.read().unwrap().statistics().nodes, 2);
        }
    }
    // One that is damaged is torn off, whatever its length.
    let mut damaged = unsealed.to_vec();
    let middle = damaged.len() - TEXT / 2;
    damaged[middle] ^= 1;
    for options in [OpenOptions::read_only(), OpenOptions::default()] {
        directory.restore(&files);
        directory.write(&path, &damaged);
        let store = open(options, 2 << 20).unwrap();
        assert_eq!(store.read().unwrap().statistics().nodes, 1);
        assert_eq!(store.torn_logs().len(), 1);
    }
}
