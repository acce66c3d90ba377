//! Imports between the top-level modules of a crate, read from its source text.
//!
//! Counted are paths that begin with `crate::` (through re-exports of the crate's root too), and `super::` in the file of a
//! top-level module. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names of modules, each with those that it imports from.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// The imports between the top-level modules of the crate in a folder.
pub(crate) fn imports(folder: &Path) -> Imports {
    let source = folder.join("src");
    let root = ["lib.rs", "main.rs"].iter().map(|name| source.join(name)).find(|file| file.exists());
    let root = product(&read(&root.expect("a crate has lib.rs or main.rs")));
    let modules: BTreeSet<String> = root.lines().filter_map(declared).collect();
    let mut homes: BTreeMap<String, String> = modules.iter().map(|name| (name.clone(), name.clone())).collect();
    for line in statements(&root, "pub use ") {
        let line = line.trim_start_matches("crate::");
        let Some((module, names)) = line.split_once("::").filter(|(module, _)| modules.contains(*module)) else {
            continue;
        };
        for name in words(names).filter(|name| name.starts_with(char::is_uppercase)) {
            homes.entry(name.to_owned()).or_insert_with(|| module.to_owned());
        }
    }
    let mut imports = Imports::new();
    for file in files(&source) {
        let Some(module) = module_of(&source, &file).filter(|module| modules.contains(module)) else { continue };
        let text = product(&read(&file));
        let is_top = file.parent() == Some(source.as_path());
        let mut names = after(&text, "crate::");
        if is_top {
            names.extend(after(&text, "super::"));
        }
        let found = imports.entry(module.clone()).or_default();
        found.extend(names.iter().filter_map(|name| homes.get(name)).filter(|home| **home != module).cloned());
    }
    imports
}

/// Pairs of modules that import from each other.
pub(crate) fn mutual_pairs(imports: &Imports) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    for (module, others) in imports {
        for other in others.iter().filter(|other| *other > module) {
            if imports.get(other).is_some_and(|back| back.contains(module)) {
                pairs.insert((module.clone(), other.clone()));
            }
        }
    }
    pairs
}

/// The number of modules in the largest set of which each reaches each; 0 if there is no circle.
pub(crate) fn largest_circle(imports: &Imports) -> usize {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let size = |module: &String| {
        let others = &reach[module];
        others.iter().filter(|other| reach.get(**other).is_some_and(|back| back.contains(module))).count()
    };
    imports.keys().map(size).max().unwrap_or(0)
}

fn reached<'i>(imports: &'i Imports, from: &String) -> BTreeSet<&'i String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = imports.get(from).into_iter().flatten().collect();
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(imports.get(module).into_iter().flatten());
        }
    }
    found
}

/// The name in `mod name;` or `pub mod name;`.
fn declared(line: &str) -> Option<String> {
    let rest = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    Some(rest.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
}

/// The top-level module that a file belongs to.
fn module_of(source: &Path, file: &Path) -> Option<String> {
    let first = file.strip_prefix(source).ok()?.components().next()?.as_os_str().to_string_lossy().into_owned();
    Some(first.trim_end_matches(".rs").to_owned())
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The Rust files below a folder, without those of tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("the folder can be read on").path()) {
        let stem = path.file_stem().unwrap_or_default();
        if stem == "tests" {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The text without comments and without the tests at its end.
fn product(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// Text after each `keyword` at the beginning of a line, up to the semicolon.
fn statements<'t>(text: &'t str, keyword: &str) -> Vec<&'t str> {
    let starts = text.match_indices(keyword).filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
    starts.filter_map(|(at, _)| text[at + keyword.len()..].split(';').next()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The names that follow `prefix` in paths: one, or the first of each path in braces.
fn after(text: &str, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices(prefix) {
        // `super::super::` and `my_crate::` are other paths.
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(inside) => names.extend(firsts(inside)),
            None => names.extend(words(rest).next().map(str::to_owned)),
        }
    }
    names
}

/// The first name of each path of a list in braces, whose opening brace is gone.
fn firsts(text: &str) -> Vec<String> {
    let (mut depth, mut names, mut is_first) = (0, Vec::new(), true);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_first = true,
            _ if is_first && (c.is_alphanumeric() || c == '_') => {
                names.extend(words(rest).next().map(str::to_owned));
                is_first = false;
            }
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    names
}

#[test]
fn paths_are_read_right() {
    assert_eq!(after("use crate::{a::{B, c}, d, Eight as F};\n crate::g::h()", "crate::"), ["a", "d", "Eight", "g"]);
    assert_eq!(after("super::x; super::super::y", "super::"), ["x", "super"]);
    let imports: Imports = [("a", vec!["b"]), ("b", vec!["a", "c"]), ("c", vec![])]
        .into_iter()
        .map(|(name, others)| (name.to_owned(), others.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(mutual_pairs(&imports), BTreeSet::from([("a".to_owned(), "b".to_owned())]));
    assert_eq!(largest_circle(&imports), 2);
}
