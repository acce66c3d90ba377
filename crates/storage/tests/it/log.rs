//! Damage to the log: what is cut off, and what is refused.

use model::store::NewNodes;
use model::{ErrorCode, GraphStore};
use storage::{NativeStore, OpenOptions};
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
    let path = directory.log();
    let whole = directory.disk().read(&path).unwrap();
    // A tail of zeros may happen to be what was cut off.
    let commits_in = |bytes: &[u8]| lengths.iter().filter(|&&end| bytes.starts_with(&whole[..end])).count() - 1;
    for length in lengths[0]..=whole.len() {
        // What a crash leaves behind the end may be missing, or zeros, or what the disk held before.
        for tail in [&[][..], &[0; 40], &[0xab; 40]] {
            let mut bytes = whole[..length].to_vec();
            bytes.extend_from_slice(tail);
            directory.write(&path, &bytes);
            let store = directory.open();
            assert_eq!(store.read().unwrap().statistics().nodes, nodes_after(commits_in(&bytes)), "{length} bytes");
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

#[test]
fn a_flipped_bit_is_corrupt_wherever_it_is() {
    let (directory, lengths) = store_with_commits();
    let path = directory.log();
    let whole = directory.disk().read(&path).unwrap();
    let seed = seed_or(5);
    let mut random = SeededRandom::new(seed);
    let seal = *lengths.last().unwrap();
    for _ in 0..400 {
        let at = random.index(whole.len());
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << random.below(8);
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
