//! The work of all fuzz targets: the fuzzer's bytes say what to change in a file of some kind, then everything that reads or writes
//! a store is run on it. The test `hostile` of the storage crate does the same with random bytes.

use std::sync::LazyLock;

use case::choices::Choices;
use case::stores::{Kind, Store, changed, stores};

#[path = "../../crates/storage/tests/hostile/case.rs"]
pub mod case;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../../crates/storage/tests/it/vast.rs"]
mod vast;

static STORES: LazyLock<Vec<Store>> = LazyLock::new(stores);

/// Runs a case.
///
/// # Panics
/// If a change of one file does more than give an error or some answer.
pub fn run(kind: Kind, bytes: &[u8]) {
    let (number, disk, _) = changed(&STORES, kind, &mut Choices::new(bytes));
    case::reads::run(&disk, &STORES[number].path);
}
