//! All golden files, on a native store as it is used; and all that hold for every store, on other stores and in other
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
    check_folder(&folder(area), &mut |step| run(&mut engine, make, step));
}

fn run(engine: &mut Box<dyn Engine>, make: &dyn Fn() -> Box<dyn Engine>, step: Step<'_>) -> Result<String, String> {
    match step {
        Step::Graph(text) => {
            *engine = make();
            run_script(&mut **engine, text).map_err(|error| error.render(text))?;
            engine.settle();
            Ok(String::new())
        }
        Step::Query { text, params } => match engine.run(text, &parameters_of(params)) {
            Ok(answer) => Ok(answer.render()),
            Err(error) => Err(error.render(text)),
        },
    }
}

/// Runs the files that hold everywhere side by side with a native store: same rows, same kinds of errors.
fn check_semantics(order: ScanOrder, make: &dyn Fn() -> Box<dyn Engine>) {
    let native = || -> Box<dyn Engine> { Box::new(Native::new(1)) };
    for area in SEMANTICS {
        let (mut expected, mut found) = (native(), make());
        check_folder(&folder(area), &mut |step| {
            let expected = run(&mut expected, &native, step);
            let found = run(&mut found, make, step);
            assert_eq!(comparable(step, order, &found), comparable(step, order, &expected), "{step:?}");
            expected
        });
    }
}

/// Order in which a store scans nodes: that in which they were made, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanOrder {
    AsMade,
    Any,
}

/// The part of an outcome that does not depend on the store: of errors their kind, of rows without an order the set. If
/// nodes are scanned in any order, `collect` gives lists in any order, so that only the characters of a row can be
/// compared.
fn comparable(step: Step<'_>, order: ScanOrder, outcome: &Result<String, String>) -> Result<Vec<String>, String> {
    let text = match outcome {
        Err(message) => return Err(message.split(':').next().unwrap_or_default().to_string()),
        Ok(text) => text,
    };
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let is_ordered = matches!(step, Step::Query { text, .. } if text.contains("ORDER BY"));
    if order == ScanOrder::Any {
        let sorted = |line: &String| {
            let mut characters: Vec<char> = line.chars().collect();
            characters.sort_unstable();
            characters.into_iter().collect()
        };
        lines = lines.iter().map(sorted).collect();
    }
    if !is_ordered {
        lines.sort();
    }
    Ok(lines)
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
    check_semantics(ScanOrder::AsMade, &|| Box::new(Native::reopening(2)));
}

#[test]
fn reference_store() {
    check_semantics(ScanOrder::AsMade, &|| {
        bare(ReferenceStore::new(), RunSettings::default(), OptimizerConfig::default())
    });
}

#[test]
fn foreign_store_with_small_batches() {
    let settings = RunSettings { batch_rows: 3, ..RunSettings::default() };
    check_semantics(ScanOrder::Any, &|| bare(ReferenceStore::foreign(2), settings, OptimizerConfig::default()));
}

#[test]
fn two_threads_over_few_nodes() {
    let settings = RunSettings { threads: 2, parallel_nodes_min: 1, ..RunSettings::default() };
    check_semantics(ScanOrder::AsMade, &|| {
        bare(ReferenceStore::with_batch_rows(2), settings, OptimizerConfig::default())
    });
}

/// On a real ring, if there is one: see `ring`.
#[cfg(feature = "cql")]
#[test]
fn ring_of_machines() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    let Some(_) = crate::ring::address(1) else { return };
    let host = std::env::var("KNOTWORK_CQL").expect("there is an address");
    let keyspace = format!("knot_golden_{}", std::process::id());
    let config = cluster::cql::CqlConfig { copies: 1, ..cluster::cql::CqlConfig::new(vec![host], keyspace) };
    let tables = Arc::new(cluster::cql::CqlTables::connect(&config).expect("connecting to the ring"));
    let (platform, graphs) = (storage::os::platform(), AtomicI64::new(1));
    check_semantics(ScanOrder::AsMade, &|| {
        let graph = graphs.fetch_add(1, Ordering::Relaxed);
        let settings = cluster::Settings::new(graph, platform.clock.clone(), platform.random.clone());
        Box::new(Bare::new(Box::new(cluster::ClusterStore::open(tables.clone(), settings).expect("opening a graph"))))
    });
    assert!(graphs.into_inner() > 50, "each graph of the files was made");
}

#[test]
fn no_optimizer() {
    check_semantics(ScanOrder::AsMade, &|| {
        bare(ReferenceStore::new(), RunSettings::default(), OptimizerConfig::none())
    });
}
