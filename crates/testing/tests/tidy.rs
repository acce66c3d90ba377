//! House rules that a machine can hold: sizes, names, headers, words. Each list of exceptions may only shrink.

mod tidy {
    pub(crate) mod functions;
    mod paperwork;
}

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidy::functions::functions;

/// A file longer than this is split by topic.
const FILE_LINES_MAX: usize = 800;
/// A function longer than this does not fit a screen.
const FUNCTION_LINES_MAX: usize = 70;

/// Files that are longer all the same, with the lines that they may have. May only shrink.
const LONG_FILES: &[(&str, usize)] = &[];

/// Functions that are longer all the same (`file::function`), with the lines that they may have. May only shrink.
const LONG_FUNCTIONS: &[(&str, usize)] = &[];

/// Names that say nothing of what is inside.
const BANNED_FILE_NAMES: &[&str] = &["utils", "util", "common", "helpers", "misc", "types", "base", "manager", "mod"];

/// Words that promise work instead of doing it, put together here so that this file passes its own test.
const BANNED_WORDS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("for", " now"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("#[ig", "nore"),
];

/// Crates that reach the operating system only through `model::platform`.
const CORE_CRATES: &[&str] = &["model", "storage", "cypher", "exec", "analytics"];

/// The only file of the core crates that calls the operating system.
const OPERATING_SYSTEM_FILE: &str = "crates/storage/src/os.rs";

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in the folder of crates");
    crates.parent().expect("the folder of crates lies in the root").to_owned()
}

/// All files that are tracked or would be, as paths from the root; without git, all files of the source folders.
fn tracked_files() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .ok()
        .filter(|output| output.status.success());
    let Some(output) = listed else {
        let mut files = Vec::new();
        for folder in ["crates", "docs", "tests", "scripts", "benchmarks", ".ci"] {
            walk(&root().join(folder), &mut files);
        }
        return files;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|file| root().join(file).is_file()).map(str::to_owned).collect()
}

fn walk(folder: &Path, files: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target" && name != ".cache") {
            walk(&path, files);
        } else if let Ok(file) = path.strip_prefix(root()) {
            files.push(file.to_string_lossy().into_owned());
        }
    }
}

/// The Rust files of all crates with their texts.
fn rust_files() -> Vec<(String, String)> {
    let files: Vec<String> =
        tracked_files().into_iter().filter(|file| file.starts_with("crates/") && file.ends_with(".rs")).collect();
    assert!(files.len() > 20, "the crates have Rust files, found {}", files.len());
    files.into_iter().map(|file| (file.clone(), read(&file))).collect()
}

fn read(file: &str) -> String {
    let bytes = std::fs::read(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn assert_none(rule: &str, problems: &[String]) {
    assert!(problems.is_empty(), "{rule}\n{}", problems.join("\n"));
}

/// Holds sizes against a limit and a list of exceptions; prints exceptions that could be lowered or dropped.
fn check_ratchet(rule: &str, sizes: &BTreeMap<String, usize>, max: usize, exceptions: &[(&str, usize)]) {
    let allowed = |name: &str| exceptions.iter().find(|(other, _)| *other == name).map_or(max, |(_, lines)| *lines);
    let too_long: Vec<String> = sizes
        .iter()
        .filter(|(name, lines)| **lines > allowed(name))
        .map(|(name, lines)| format!("{name}: {lines} lines, allowed are {}", allowed(name)))
        .collect();
    for (name, lines) in exceptions {
        match sizes.get(*name) {
            Some(found) if found < lines && *found > max => eprintln!("{rule} {name} could be lowered to {found}"),
            Some(found) if found > &max => {}
            _ => eprintln!("{rule} {name} can be dropped from the list"),
        }
    }
    assert_none(rule, &too_long);
}

#[test]
fn files_are_not_too_long() {
    let sizes = rust_files().into_iter().map(|(file, text)| (file, text.lines().count())).collect();
    check_ratchet("files that are too long:", &sizes, FILE_LINES_MAX, LONG_FILES);
}

#[test]
fn functions_fit_a_screen() {
    let mut sizes = BTreeMap::new();
    for (file, text) in rust_files() {
        for (name, lines) in functions(&text) {
            let size = sizes.entry(format!("{file}::{name}")).or_insert(0);
            *size = lines.max(*size);
        }
    }
    assert!(sizes.len() > 100, "functions were found");
    check_ratchet("functions that are too long:", &sizes, FUNCTION_LINES_MAX, LONG_FUNCTIONS);
}

#[test]
fn every_file_says_what_it_is() {
    let files = rust_files();
    let silent = files.iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(file, _)| file.clone());
    assert_none("files that do not open with //! and a sentence:", &silent.collect::<Vec<_>>());
}

#[test]
fn names_of_files_say_what_is_inside() {
    let is_banned = |file: &String| {
        let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        BANNED_FILE_NAMES.contains(&stem.trim_end_matches(|c: char| c.is_ascii_digit()))
            || stem.chars().any(|c| c.is_uppercase() || c == '-')
    };
    let banned: Vec<String> = rust_files().into_iter().map(|(file, _)| file).filter(is_banned).collect();
    assert_none("names of files that say nothing, or are not snake_case:", &banned);
}

#[test]
fn nothing_is_left_for_later() {
    let mut problems = Vec::new();
    for (file, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            for word in BANNED_WORDS.iter().filter(|word| line.contains(**word)) {
                problems.push(format!("{file}:{}: {word}", number + 1));
            }
        }
    }
    assert_none("words of unfinished work; write an issue instead:", &problems);
}

/// `ARGUMENT` has no remedy of its own: errors of URLs, options and commands each say one.
#[test]
fn errors_of_what_users_pass_have_a_remedy() {
    let (made, mut problems, mut found) = (["error!(", "Error::new("], Vec::new(), 0);
    for (file, text) in rust_files().iter().filter(|(file, _)| file.contains("/src/") && !file.contains("/tests")) {
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        problems.extend(text.match_indices(".with_remedy(\"\")").map(|(at, _)| format!("{file}:{}", line(at))));
        if !["cli", "database", "sources"].iter().any(|name| file.starts_with(&format!("crates/{name}/"))) {
            continue;
        }
        for (at, start) in made.iter().flat_map(|start| text.match_indices(start)) {
            let rest = text[at + start.len()..].trim_start();
            if !rest.starts_with("Argument") && !rest.starts_with("ErrorCode::Argument") {
                continue;
            }
            found += 1;
            // Up to the next error or the end of the function.
            let end = ["error!(", "Error::new(", "\n}\n"].iter().filter_map(|end| rest.find(end)).min();
            if !rest[..end.unwrap_or(rest.len())].contains(".with_remedy(") {
                problems.push(format!("{file}:{}", line(at)));
            }
        }
    }
    assert!(found > 30, "the errors were found: {found}");
    assert_none("errors without a remedy:", &problems);
}

#[test]
fn only_one_file_of_the_core_calls_the_operating_system() {
    let mut problems = Vec::new();
    for (file, text) in rust_files() {
        let krate = file.split('/').nth(1).unwrap_or_default();
        let is_product = file.contains("/src/") && !file.contains("/tests") && file != OPERATING_SYSTEM_FILE;
        if !CORE_CRATES.contains(&krate) || !is_product {
            continue;
        }
        let product = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in product.lines().enumerate() {
            let calls = ["std::fs", "fs::File", "std::net", "std::process::", "SystemTime::now", "Instant::now"];
            if !line.trim_start().starts_with("//") && calls.iter().any(|call| line.contains(call)) {
                problems.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none("calls of the operating system outside of storage/src/os.rs; use model::platform:", &problems);
}

#[test]
fn no_file_names_the_place_where_it_was_written() {
    let places = [concat!("/wo", "rk/"), concat!("/home", "/"), concat!("/Use", "rs/"), concat!("/ro", "ot/")];
    let mut problems = Vec::new();
    for file in tracked_files() {
        let text = read(&file);
        for (number, line) in text.lines().enumerate() {
            if let Some(place) = places.iter().find(|place| line.contains(**place)) {
                problems.push(format!("{file}:{}: {place}", number + 1));
            }
        }
    }
    assert_none("absolute paths of a workplace:", &problems);
}

/// Verifiers and generated graphs find what golden files do not: a wrong answer on a graph that nobody thought of.
#[test]
fn every_algorithm_is_verified_on_generated_graphs() {
    // All generated graphs, or graphs of a test's own from a seed that it prints.
    let generates = ["on_all_graphs(", "seed_or("];
    let tests: Vec<String> = rust_files()
        .into_iter()
        .filter(|(file, text)| {
            file.starts_with("crates/analytics/tests/") && generates.iter().any(|call| text.contains(call))
        })
        .map(|(_, text)| text)
        .collect();
    let folder = "crates/analytics/src/algorithms/";
    let files = tracked_files();
    let names = files.iter().filter_map(|file| file.strip_prefix(folder)?.strip_suffix(".rs"));
    let algorithms: Vec<&str> = names.filter(|name| !name.contains('/')).collect();
    assert!(algorithms.len() > 20, "expected the algorithms in {folder}, found {}", algorithms.len());
    let calls = |text: &str, name: &str| {
        let is_whole = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        text.match_indices(&format!("{name}::verify(")).any(|(at, _)| is_whole(at))
    };
    let is_unverified = |name: &&&str| !tests.iter().any(|text| calls(text, name));
    let missing: Vec<String> = algorithms.iter().filter(is_unverified).map(|name| (*name).to_owned()).collect();
    assert_none(
        "algorithms whose `<name>::verify` no test calls on generated graphs (`on_all_graphs`, `seed_or`):",
        &missing,
    );
}

#[test]
fn every_algorithm_is_registered() {
    let folder = "crates/analytics/src/algorithms/";
    let list = read("crates/analytics/src/algorithms.rs");
    let is_missing = |file: &String| {
        let Some(name) = file.strip_prefix(folder).and_then(|name| name.strip_suffix(".rs")) else { return false };
        !name.contains('/') && !list.contains(&format!("{name}::"))
    };
    let missing: Vec<String> = rust_files().into_iter().map(|(file, _)| file).filter(is_missing).collect();
    assert_none("algorithms that algorithms.rs does not register (as `name::…`):", &missing);
}
