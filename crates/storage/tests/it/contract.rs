//! The contract of all stores, also when the store is opened anew or written to files after every commit.

use std::cell::RefCell;

use model::{GraphStore, Interrupt};
use storage::{Durability, OpenOptions};
use testing::store_contract::{check_store, check_store_disturbed};

use crate::directory::TestDirectory;

/// Action between commits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Reopen,
    Checkpoint,
    CheckpointAndReopen,
}

fn options() -> OpenOptions {
    OpenOptions { durability: Durability::Off, ..OpenOptions::create() }
}

fn check(between: Between) {
    check_within(between, options());
}

fn check_within(between: Between, options: OpenOptions) {
    let directory = RefCell::new(TestDirectory::new());
    let make = || -> Box<dyn GraphStore> {
        directory.replace(TestDirectory::new());
        Box::new(directory.borrow().open_with(options))
    };
    let disturb = |store: Box<dyn GraphStore>| -> Box<dyn GraphStore> {
        drop(store);
        let store = directory.borrow().open_with(options);
        if between == Between::Reopen {
            return Box::new(store);
        }
        store.checkpoint(&Interrupt::new()).unwrap();
        if between == Between::Checkpoint {
            return Box::new(store);
        }
        drop(store);
        Box::new(directory.borrow().open_with(options))
    };
    check_store_disturbed(&make, &disturb);
}

#[test]
fn the_native_store_keeps_the_contract() {
    let directories = RefCell::new(Vec::new());
    check_store(&|| {
        let directory = TestDirectory::new();
        let store = directory.open_with(options());
        directories.borrow_mut().push(directory);
        Box::new(store)
    });
}

#[test]
fn it_does_so_when_opened_anew_after_every_commit() {
    check(Between::Reopen);
}

#[test]
fn it_does_so_when_every_commit_is_written_to_files() {
    check(Between::Checkpoint);
    check(Between::CheckpointAndReopen);
}

#[test]
fn it_does_so_within_a_memory_of_a_few_blocks() {
    check_within(Between::CheckpointAndReopen, OpenOptions { memory_bytes_max: Some(64 << 10), ..options() });
}

#[test]
fn it_does_so_when_every_transaction_is_larger_than_memory() {
    check_within(Between::Reopen, OpenOptions { transaction_bytes_max: Some(1), ..options() });
}
