//! The openCypher Technology Compatibility Kit: every scenario, on a native store, with none left out.
//!
//! The kit is not part of this repository; `scripts/tck.sh` fetches it. `expected_failures.txt` names the scenarios that
//! fail (file, number of the scenario in it, row of its examples), and may only shrink: one that passes must leave it.
//! `TCK=<part of a name>` runs only what has it in its name, and tells each failure; `UPDATE_TCK=1` takes what passes
//! from the list, and writes the number into the README.
//!
//! Modules in reading order:
//! - `feature`: feature files as scenarios.
//! - `notation`: the kit's notation of values.
//! - `procedure`: procedures that a scenario makes up.
//! - `effects`: what a query changed.
//! - `run`: scenarios, step by step.
//! - `kit`: the kit on the disk, and a run of all its scenarios.
//!
//! The tests of the crate `client` run the same over Bolt.

#[path = "tck/effects.rs"]
mod effects;
#[path = "tck/feature.rs"]
mod feature;
#[path = "tck/kit.rs"]
mod kit;
#[path = "tck/notation.rs"]
mod notation;
#[path = "tck/procedure.rs"]
mod procedure;
#[path = "tck/run.rs"]
mod run;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use database::{Database, Parameters};
use feature::Scenario;
use kit::{SCENARIOS, TAG, describe, read, root, run_all, say};
use run::Query;

fn list_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tck/expected_failures.txt")
}

fn is_updating() -> bool {
    std::env::var_os("UPDATE_TCK").is_some()
}

/// A session for each query.
fn in_this_process(database: &Database) -> Box<Query> {
    let database = database.clone();
    Box::new(move |text: &str, parameters: &Parameters| database.session().query(text, parameters))
}

#[test]
fn every_scenario_does_what_the_kit_says() {
    let (folder, part) = (kit::folder(), kit::part());
    let scenarios = kit::scenarios(&folder);
    let failures = run_all(&scenarios, &folder, in_this_process);
    say(&format!("TCK {TAG}: {} / {}", scenarios.len() - failures.len(), scenarios.len()));
    let describe = |scenario: &&Scenario| failures.get(&scenario.id()).map(|failure| describe(scenario, failure));
    if part.is_some() {
        scenarios.iter().filter_map(|scenario| describe(&scenario)).for_each(|failure| say(&failure));
    }
    let list = read(&list_file());
    let names = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let expected: BTreeSet<&str> = names.collect();
    assert!(expected.is_empty(), "the list was emptied once, and may only shrink: {expected:?}");
    let passed: Vec<String> = scenarios
        .iter()
        .map(Scenario::id)
        .filter(|id| expected.contains(id.as_str()) && !failures.contains_key(id))
        .collect();
    if is_updating() {
        let kept = list.lines().filter(|line| !passed.iter().any(|id| id == line.trim()));
        let kept: String = kept.map(|line| format!("{line}\n")).collect();
        std::fs::write(list_file(), kept).expect("the list can be written");
    } else {
        assert!(passed.is_empty(), "these pass; UPDATE_TCK=1 takes them from the list:\n{}", passed.join("\n"));
    }
    let is_new = |scenario: &&Scenario| !expected.contains(scenario.id().as_str());
    let new: Vec<String> = scenarios.iter().filter(is_new).filter_map(|scenario| describe(&scenario)).collect();
    assert!(new.is_empty(), "{} scenarios fail that did not before:\n{}", new.len(), new.join("\n"));
    if part.is_none() {
        check_readme(scenarios.len() - failures.len());
    }
}

/// The README says how many pass; `UPDATE_TCK=1` makes it say so.
fn check_readme(passed: usize) {
    let group = |count: usize| match count {
        0..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    };
    let (file, start) = (root().join("README.md"), format!("openCypher TCK {TAG}: "));
    let (text, expected) = (read(&file), format!("{start}{} / {}", group(passed), group(SCENARIOS)));
    let found = text.lines().find(|line| line.starts_with(&start)).unwrap_or_default();
    if is_updating() && !found.is_empty() {
        std::fs::write(&file, text.replace(found, &expected)).expect("the README can be written");
    } else {
        assert_eq!(found, expected, "the README must say how many pass; UPDATE_TCK=1 makes it");
    }
}
