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

#[path = "tck/effects.rs"]
mod effects;
#[path = "tck/feature.rs"]
mod feature;
#[path = "tck/notation.rs"]
mod notation;
#[path = "tck/procedure.rs"]
mod procedure;
#[path = "tck/run.rs"]
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use feature::Scenario;

const TAG: &str = "1.0.0-M23";
/// Scenarios of that version, outlines expanded.
const SCENARIOS: usize = 3_897;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn list_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tck/expected_failures.txt")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// All scenarios, in order of their files.
fn scenarios(kit: &Path) -> Vec<Scenario> {
    let features = kit.join("features");
    assert!(features.is_dir(), "{} is missing: run scripts/tck.sh, which fetches it", features.display());
    let mut files = Vec::new();
    find_files(&features, &mut files);
    files.sort();
    let parse = |file: &PathBuf| {
        let name = file.strip_prefix(&features).expect("it was found below").to_string_lossy().replace('\\', "/");
        feature::parse(&name, &read(file)).unwrap_or_else(|error| panic!("{error}"))
    };
    files.iter().flat_map(parse).collect()
}

fn find_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder was found").flatten() {
        let path = entry.path();
        if path.is_dir() {
            find_files(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "feature") {
            files.push(path);
        }
    }
}

/// Runs scenarios on all processors; gives the failures by their names.
fn run_all(scenarios: &[Scenario], kit: &Path) -> BTreeMap<String, String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let graphs = kit.join("graphs");
    let work = || {
        while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = std::panic::catch_unwind(|| run::run(scenario, &graphs));
            let failure = match outcome {
                Ok(Ok(())) => continue,
                Ok(Err(failure)) => failure,
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().cloned();
                    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                    format!("panicked: {}", text.unwrap_or_default())
                }
            };
            failures.lock().expect("no thread panics with it").insert(scenario.id(), failure);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(work);
        }
    });
    failures.into_inner().expect("no thread panics with it")
}

fn is_updating() -> bool {
    std::env::var_os("UPDATE_TCK").is_some()
}

/// Says something even where the output of tests that pass is not shown.
fn say(text: &str) {
    // If nobody listens, the test is the same.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// The query of a scenario that failed, and why it did.
fn describe(scenario: &Scenario, failure: &str) -> String {
    let documents = scenario.steps.iter().filter_map(|step| step.document.as_ref());
    let texts: String = documents.map(|text| format!("\n    {}", text.replace('\n', "\n    "))).collect();
    format!("== {}{texts}\n  {failure}", scenario.id())
}

#[test]
fn every_scenario_does_what_the_kit_says() {
    let kit = root().join(".cache/tck").join(TAG);
    let mut scenarios = scenarios(&kit);
    assert_eq!(scenarios.len(), SCENARIOS, "scenarios were lost or added");
    let part = std::env::var("TCK").ok().filter(|part| !part.is_empty());
    if let Some(part) = &part {
        scenarios.retain(|scenario| scenario.id().contains(part.as_str()));
    }
    let failures = run_all(&scenarios, &kit);
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
