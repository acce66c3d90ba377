//! Documents agree with the tree: decisions are numbered, modules are listed, paths and links lead somewhere.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{assert_none, read, root, rust_files, tracked_files};

/// Words that open a question; a comment begins with the thing it is about.
const QUESTION_WORDS: &[&str] =
    &["What", "Whatever", "How", "Whether", "Where", "Which", "Who", "Whoever", "Whom", "Whose"];

#[test]
fn decisions_are_numbered_and_have_a_status() {
    let files = tracked_files();
    let names: Vec<&str> = files.iter().filter_map(|file| file.strip_prefix("docs/adr/0")).collect();
    assert!(names.len() > 40, "the decisions were found");
    let mut problems = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let number = format!("{:04}", at + 1);
        if !format!("0{name}").starts_with(&format!("{number}-")) {
            problems.push(format!("0{name}: the next number is {number}"));
        }
        let text = read(&format!("docs/adr/0{name}"));
        let head: Vec<&str> = text.lines().take(6).collect();
        let has = |start: &str| head.iter().any(|line| line.starts_with(start));
        if !has(&format!("# 0{}: ", &name[..3])) || !has("Status: ") || !has("Date: ") {
            problems.push(format!("0{name}: a title `# NNNN: …`, `Status:` and `Date:` come first"));
        }
    }
    assert_none("decision records that are not as docs/adr/README.md says:", &problems);
}

#[test]
fn every_module_is_listed_where_its_crate_begins() {
    let mut problems = Vec::new();
    for (file, text) in
        rust_files().iter().filter(|(file, _)| file.ends_with("/src/lib.rs") || file.ends_with("/src/main.rs"))
    {
        let head: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let module = |line: &str| {
            let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
            Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
        };
        for name in text.lines().filter_map(module) {
            if !head.contains(&format!("`{name}`")) {
                problems.push(format!("{file}: {name}"));
            }
        }
    }
    assert_none("modules that the head of their crate does not list:", &problems);
}

#[test]
fn paths_and_links_in_documents_lead_somewhere() {
    let files: BTreeSet<String> = tracked_files().into_iter().collect();
    let exists = |path: &str| root().join(path).exists();
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.ends_with(".md") && !file.starts_with("docs/adr/")) {
        let text = read(file);
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_local = !link.is_empty() && !link.contains("://") && !link.contains(' ');
            if is_local && !exists(&folder.join(link).to_string_lossy()) {
                problems.push(format!("{file}: link to {link}"));
            }
        }
        // Changes are told as they were when they were made.
        for path in text.split('`').filter(|_| file != "CHANGELOG.md") {
            let is_source = path.contains("/src/") && path.ends_with(".rs") && !path.contains(['<', '*', '{', ' ']);
            if is_source && !exists(path) && !exists(&format!("crates/{path}")) {
                problems.push(format!("{file}: {path}"));
            }
        }
    }
    assert_none("paths and links that lead nowhere:", &problems);
}

#[test]
fn comments_begin_with_what_they_are_about() {
    let mut found = Vec::new();
    for (file, text) in rust_files() {
        let mut before = None;
        for (at, line) in text.lines().map(str::trim).enumerate() {
            let mark = ["///", "//!", "//"].into_iter().find(|mark| line.starts_with(mark));
            let comment = mark.and_then(|mark| line[mark.len()..].strip_prefix(' ')).unwrap_or_default();
            let word = comment.split([' ', ',', ':', '.']).next().unwrap_or_default();
            if mark != before && QUESTION_WORDS.contains(&word) {
                found.push(format!("{file}:{}: {line}", at + 1));
            }
            before = mark;
        }
    }
    assert_none("comments that begin with a question word:", &found);
}

/// A row of CONTRIBUTING.md names an example of a thing that is added, and the number of files that name the example.
#[test]
fn additions_touch_no_more_files_than_contributing_says() {
    let manual = read("CONTRIBUTING.md");
    let rows = manual.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, what, example, files, _] = cells[..] else { return None };
        Some((what, example.strip_prefix('`')?.strip_suffix('`')?, files.parse::<usize>().ok()?))
    });
    let product: Vec<String> = rust_files().into_iter().filter_map(product_code).collect();
    let (mut problems, mut found) = (Vec::new(), 0);
    for (what, example, allowed) in rows {
        found += 1;
        let files = product.iter().filter(|code| code.contains(example)).count();
        if files > allowed || files == 0 {
            problems.push(format!("{what}: {files} files name {example}, CONTRIBUTING.md says {allowed}"));
        } else if files < allowed {
            eprintln!("CONTRIBUTING.md: {example} could be lowered to {files}");
        }
    }
    assert!(found > 6, "the table was found");
    assert_none("additions that touch more files than before:", &problems);
}

/// The code of a file of a product crate, without comments and tests.
fn product_code((file, text): (String, String)) -> Option<String> {
    let is_test = file.contains("/tests") || file.ends_with("tests.rs") || file.starts_with("crates/testing/");
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    (file.contains("/src/") && !is_test).then(|| lines.join("\n"))
}
