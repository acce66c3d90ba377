//! The matrix of `docs/testing.md`: what stores data has a full row, and each cell names a test that is there, or says why
//! there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Cells that say `missing:`. May only shrink.
const MISSING_MAX: usize = 0;

/// Columns behind the name of a row.
const COLUMNS: &[&str] = &[
    "differential", "concurrent histories", "power cuts", "kill then power cut", "damage", "read errors", "full disk",
    "memory limit", "cancel",
];

/// Enums and structs whose parts each need a row: the name in the matrix, the file, and the line that begins it.
const PARTS: &[(&str, &str, &str)] = &[
    ("FileKind", "crates/storage/src/format.rs", "pub enum FileKind {"),
    ("Operation", "crates/storage/src/wal/record.rs", "pub(crate) enum Operation<'a> {"),
    ("Rule", "crates/model/src/schema.rs", "pub enum Rule {"),
    ("Schema", "crates/model/src/schema.rs", "pub struct Schema {"),
];

/// The least characters of a reason.
const REASON_CHARACTERS_MIN: usize = 15;

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in the folder of crates");
    crates.parent().expect("the folder of crates lies in the root").to_owned()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The names of the variants or fields of an item: the words at its first level of indentation.
fn parts_of(text: &str, head: &str) -> Vec<String> {
    let (_, body) = text.split_once(head).unwrap_or_else(|| panic!("{head} is gone; mend the list of this test"));
    let body = body.split_once("\n}").expect("an item ends").0;
    let lines = body.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| !line.starts_with(' '));
    let words = lines.map(|line| line.strip_prefix("pub ").unwrap_or(line));
    let name = |line: &str| line.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    words.map(name).filter(|name| !name.is_empty()).collect()
}

/// The rows of the table under the heading: cells without their bars.
fn rows(document: &str) -> Vec<Vec<String>> {
    let (_, section) = document.split_once("## The matrix\n").expect("docs/testing.md has the matrix");
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let lines = section.lines().filter(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// Texts between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The functions of all test files, by the stems of the files.
fn functions() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut folders = vec![root().join("crates"), root().join("python"), root().join("tests")];
    while let Some(folder) = folders.pop() {
        for path in
            std::fs::read_dir(folder).expect("a folder can be read").map(|entry| entry.expect("it is there").path())
        {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let keyword = match path.extension().and_then(|ending| ending.to_str()) {
                Some("rs") => "fn ",
                Some("py") => "def ",
                _ => continue,
            };
            let stem = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a source file is text");
            let names =
                text.lines().filter_map(|line| line.trim_start().strip_prefix(keyword)?.split(['(', '<']).next());
            found.entry(stem).or_default().extend(names.map(str::to_owned));
        }
    }
    found
}

/// Problem of a cell, if there is one.
fn problem_of(cell: &str, functions: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    if let Some(reason) = cell.strip_prefix("missing: ").or_else(|| cell.strip_prefix("none: ")) {
        return (reason.len() < REASON_CHARACTERS_MIN).then(|| format!("{cell}: that is no reason"));
    }
    let mut names = quoted(cell).peekable();
    if names.peek().is_none() {
        return Some(format!("{cell:?} names no test and gives no reason"));
    }
    names.find_map(|name| {
        let (file, test) = name.split_once("::")?;
        let is_there = functions.get(file).is_some_and(|names| names.contains(test));
        (!is_there).then(|| format!("{name}: there is no such test"))
    })
}

#[test]
fn what_stores_data_has_a_full_row_of_tests() {
    let rows = rows(&read("docs/testing.md"));
    let (head, rows) = (&rows[0], &rows[2..]);
    assert_eq!(head[1..], *COLUMNS, "the columns of the matrix");
    let functions = functions();
    let mut problems = Vec::new();
    for row in rows {
        if row.len() != COLUMNS.len() + 1 {
            problems.push(format!("{}: {} cells, expected {}", row[0], row.len(), COLUMNS.len() + 1));
        }
        let wrong = row[1..].iter().filter_map(|cell| problem_of(cell, &functions));
        problems.extend(wrong.map(|problem| format!("{}: {problem}", row[0])));
    }
    let named: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
    for (name, file, head) in PARTS {
        for part in parts_of(&read(file), head) {
            let part = format!("{name}::{part}");
            if !named.contains(&*part) {
                problems.push(format!("{part} has no row"));
            }
        }
    }
    let missing = rows.iter().flat_map(|row| &row[1..]).filter(|cell| cell.starts_with("missing: ")).count();
    if missing > MISSING_MAX {
        problems.push(format!("{missing} cells say missing, allowed are {MISSING_MAX}"));
    }
    assert!(problems.is_empty(), "the matrix of docs/testing.md:\n{}", problems.join("\n"));
}

#[test]
fn a_part_without_a_row_and_a_test_that_is_not_there_are_found() {
    assert_eq!(
        parts_of(
            "x\npub enum Rule {\n    /// A.\n    A,\n    B(u8),\n    C {\n        d: u8,\n    },\n}\n",
            "pub enum Rule {"
        ),
        ["A", "B", "C"]
    );
    let functions = BTreeMap::from([("file".to_owned(), BTreeSet::from(["test".to_owned()]))]);
    assert_eq!(problem_of("`file::test`", &functions), None);
    for wrong in ["", "yes", "`file::other`", "`file::test`, `other::test`", "missing: no"] {
        assert!(problem_of(wrong, &functions).is_some(), "{wrong}");
    }
}
