//! The kit on the disk, and a run of all its scenarios.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::feature::{self, Scenario};
use crate::run::{self, Opener};

pub(crate) const TAG: &str = "1.0.0-M23";
/// Scenarios of that version, outlines expanded.
pub(crate) const SCENARIOS: usize = 3_897;

pub(crate) fn root() -> PathBuf {
    // Of the crate `database` as of those beside it.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The folder of the kit.
pub(crate) fn folder() -> PathBuf {
    root().join(".cache/tck").join(TAG)
}

/// All scenarios, in order of their files, or those that `TCK` names.
pub(crate) fn scenarios(kit: &Path) -> Vec<Scenario> {
    let mut all = all_scenarios(kit);
    assert_eq!(all.len(), SCENARIOS, "scenarios were lost or added");
    if let Some(part) = part() {
        all.retain(|scenario| scenario.id().contains(part.as_str()));
    }
    all
}

/// Part of the names of the scenarios that are to run.
pub(crate) fn part() -> Option<String> {
    std::env::var("TCK").ok().filter(|part| !part.is_empty())
}

fn all_scenarios(kit: &Path) -> Vec<Scenario> {
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

/// Runs scenarios on all processors, in the sessions that are opened so; gives the failures by their names.
pub(crate) fn run_all(scenarios: &[Scenario], kit: &Path, open: Opener) -> BTreeMap<String, String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let graphs = kit.join("graphs");
    let work = || {
        while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = std::panic::catch_unwind(|| run::run(scenario, &graphs, open));
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

/// Says something even where the output of tests that pass is not shown.
pub(crate) fn say(text: &str) {
    // If nobody listens, the test is the same.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// The query of a scenario that failed, and why it did.
pub(crate) fn describe(scenario: &Scenario, failure: &str) -> String {
    let documents = scenario.steps.iter().filter_map(|step| step.document.as_ref());
    let texts: String = documents.map(|text| format!("\n    {}", text.replace('\n', "\n    "))).collect();
    format!("== {}{texts}\n  {failure}", scenario.id())
}
