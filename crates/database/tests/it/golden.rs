//! All golden files, on a native store as it is used; and all that do not show a plan, on other stores and in other
//! ways of running: the answers are the same.

use std::path::PathBuf;

use cypher::optimizer::OptimizerConfig;
use exec::RunSettings;
use testing::ReferenceStore;
use testing::golden::{Step, check_folder};

use crate::engine::{Bare, Engine, Native, parameters_of, run_script};

/// Areas whose answers hold for every store and every way of running.
const SEMANTICS: &[&str] = &["cypher", "errors"];

fn folder(area: &str) -> PathBuf {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in a folder");
    crates.parent().expect("the folder of crates lies in the root").join("tests/golden").join(area)
}

/// Runs the files of an area, each of their graphs on a new engine.
fn check(area: &str, make: &dyn Fn() -> Box<dyn Engine>) {
    let mut engine = make();
    check_folder(&folder(area), &mut |step| match step {
        Step::Graph(text) => {
            engine = make();
            run_script(&mut *engine, text).map_err(|error| error.render(text))?;
            engine.settle();
            Ok(String::new())
        }
        Step::Query { text, params } => match engine.run(text, &parameters_of(params)) {
            Ok(answer) => Ok(answer.render()),
            Err(error) => Err(error.render(text)),
        },
    });
}

/// Runs the files that hold everywhere; only the native store as it is used may rewrite them.
fn check_semantics(make: &dyn Fn() -> Box<dyn Engine>) {
    if std::env::var_os("UPDATE_GOLDEN").is_none() {
        SEMANTICS.iter().for_each(|area| check(area, make));
    }
}

fn bare(store: ReferenceStore, settings: RunSettings, optimizer: OptimizerConfig) -> Box<dyn Engine> {
    let mut engine = Bare::new(Box::new(store));
    (engine.settings, engine.optimizer) = (settings, optimizer);
    Box::new(engine)
}

#[test]
fn native_store() {
    for area in ["cypher", "errors", "plans", "analytics"] {
        check(area, &|| Box::new(Native::new(1)));
    }
}

#[test]
fn native_store_of_files_only() {
    check_semantics(&|| Box::new(Native::reopening(2)));
}

#[test]
fn reference_store() {
    check_semantics(&|| bare(ReferenceStore::new(), RunSettings::default(), OptimizerConfig::default()));
}

#[test]
fn foreign_store_with_small_batches() {
    let settings = RunSettings { batch_rows: 3, ..RunSettings::default() };
    check_semantics(&|| bare(ReferenceStore::foreign(2), settings, OptimizerConfig::default()));
}

#[test]
fn two_threads_over_few_nodes() {
    let settings = RunSettings { threads: 2, parallel_nodes_min: 1, ..RunSettings::default() };
    check_semantics(&|| bare(ReferenceStore::with_batch_rows(2), settings, OptimizerConfig::default()));
}

#[test]
fn no_optimizer() {
    check_semantics(&|| bare(ReferenceStore::new(), RunSettings::default(), OptimizerConfig::none()));
}
