//! Golden files: graphs, queries and what they give, as text that people read and tests compare.
//!
//! A file is a list of sections, each started by its name on a line of its own:
//! `graph:` starts again from an empty store and runs the statements that follow, `query:` runs one query, with the
//! `params:` that may follow it, and `result:`, `result in any order:`, `error:` or `plan:` says what it gives.
//! Lines that start with `# ` are comments. `UPDATE_GOLDEN=1` writes what was found into the files.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Step that a golden file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Start again from an empty store, then run these statements, separated by semicolons; there may be none.
    Graph(&'a str),
    /// Run this query with these parameters (a map in Cypher's notation, or empty), on what earlier queries left.
    Query {
        /// The text of the query.
        text: &'a str,
        /// The text of the parameters.
        params: &'a str,
    },
}

/// Does a step. Gives the rendered result or plan, or the rendered error.
pub type Execute<'a> = dyn FnMut(Step<'_>) -> Result<String, String> + 'a;

/// Runs every `*.golden` file in a folder and the folders in it, in order of their names.
///
/// # Panics
/// If a file does not give what it says (unless `UPDATE_GOLDEN=1`), cannot be read, or no file was found.
pub fn check_folder(folder: &Path, execute: &mut Execute<'_>) {
    let mut files = Vec::new();
    find_files(folder, &mut files);
    assert!(!files.is_empty(), "no golden file in {}", folder.display());
    let mut failures = String::new();
    for file in &files {
        failures.push_str(&run_file(file, execute));
    }
    assert!(failures.is_empty(), "golden files differ; UPDATE_GOLDEN=1 rewrites them\n{failures}");
}

/// Runs one golden file.
///
/// # Panics
/// As [`check_folder`].
pub fn check_file(file: &Path, execute: &mut Execute<'_>) {
    let failures = run_file(file, execute);
    assert!(failures.is_empty(), "golden file differs; UPDATE_GOLDEN=1 rewrites it\n{failures}");
}

/// Compares a whole text file with what it should hold; `UPDATE_GOLDEN=1` writes it.
///
/// # Panics
/// If it differs.
pub fn check_text(file: &Path, expected: &str) {
    if is_updating() {
        write(file, expected);
        return;
    }
    let found = std::fs::read_to_string(file).unwrap_or_default();
    let first_difference = found.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let line = first_difference.unwrap_or(found.lines().count().min(expected.lines().count())) + 1;
    assert!(found == expected, "{}:{line} is stale; UPDATE_GOLDEN=1 rewrites it", file.display());
}

fn is_updating() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1")
}

fn write(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap_or_else(|error| panic!("{} cannot be written: {error}", file.display()));
}

fn find_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read on").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            find_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "golden") {
            files.push(path);
        }
    }
}

/// Runs a file; says what differs.
fn run_file(file: &Path, execute: &mut Execute<'_>) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let run = run_text(&text, execute).unwrap_or_else(|problem| panic!("{}:{problem}", file.display()));
    if is_updating() {
        if run.updated != text {
            write(file, &run.updated);
        }
        return String::new();
    }
    let mut failures = String::new();
    for (line, difference) in run.differences {
        let _ = writeln!(failures, "{}:{line}\n{difference}", file.display());
    }
    failures
}

/// Outcome of running a golden text.
struct Run {
    /// Line number and description of each difference.
    differences: Vec<(usize, String)>,
    /// The text as it should be.
    updated: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Comment,
    Graph,
    Query,
    Params,
    Outcome(&'static str),
}

const RESULT: &str = "result:";
const RESULT_IN_ANY_ORDER: &str = "result in any order:";
const ERROR: &str = "error:";
const PLAN: &str = "plan:";

fn section_name(line: &str) -> Option<Name> {
    let outcomes = [RESULT, RESULT_IN_ANY_ORDER, ERROR, PLAN];
    match line {
        "graph:" => Some(Name::Graph),
        "query:" => Some(Name::Query),
        "params:" => Some(Name::Params),
        _ if line.starts_with("# ") || line == "#" => Some(Name::Comment),
        _ => outcomes.into_iter().find(|name| *name == line).map(Name::Outcome),
    }
}

/// A section: its name, the line of its name, and its text without blank lines at either end.
struct Section {
    name: Name,
    line: usize,
    text: String,
}

fn sections(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        match (section_name(line), sections.last_mut()) {
            (Some(Name::Comment), _) => {
                sections.push(Section { name: Name::Comment, line: index + 1, text: line.to_owned() });
            }
            (Some(name), _) => sections.push(Section { name, line: index + 1, text: String::new() }),
            (None, Some(section)) if section.name != Name::Comment => {
                section.text.push_str(line);
                section.text.push('\n');
            }
            (None, _) if line.is_empty() => {}
            (None, _) => return Err(format!("{}: this line is in no section: {line}", index + 1)),
        }
    }
    for section in &mut sections {
        section.text = section.text.trim_matches('\n').to_owned();
    }
    Ok(sections)
}

fn run_text(text: &str, execute: &mut Execute<'_>) -> Result<Run, String> {
    let sections = sections(text)?;
    let mut run = Run { differences: Vec::new(), updated: String::new() };
    let mut has_graph = false;
    let mut rest = &sections[..];
    while let [section, after @ ..] = rest {
        rest = after;
        match section.name {
            Name::Comment => render_comment(&mut run.updated, &section.text),
            Name::Graph => {
                let done = execute(Step::Graph(&section.text));
                done.map_err(|error| format!("{}: the graph cannot be made: {error}", section.line))?;
                has_graph = true;
                render(&mut run.updated, "graph:", &section.text);
            }
            Name::Query => {
                if !has_graph {
                    execute(Step::Graph("")).map_err(|error| format!("{}: no empty store: {error}", section.line))?;
                    has_graph = true;
                }
                rest = run_query(section, rest, execute, &mut run);
            }
            Name::Params | Name::Outcome(_) => return Err(format!("{}: this section follows no query", section.line)),
        }
    }
    Ok(run)
}

/// Runs one query; gives the sections after its parameters and outcome.
fn run_query<'a>(query: &Section, rest: &'a [Section], execute: &mut Execute<'_>, run: &mut Run) -> &'a [Section] {
    let (params, rest) = match rest {
        [section, rest @ ..] if section.name == Name::Params => (section.text.as_str(), rest),
        _ => ("", rest),
    };
    let (expected, rest) = match rest {
        [section, rest @ ..] if matches!(section.name, Name::Outcome(_)) => (Some(section), rest),
        _ => (None, rest),
    };
    let old_name = match expected.map(|section| section.name) {
        Some(Name::Outcome(name)) => Some(name),
        _ => None,
    };
    let outcome = execute(Step::Query { text: &query.text, params });
    let first_word = query.text.split_whitespace().next().unwrap_or("").to_uppercase();
    let name = match (&outcome, old_name) {
        (Err(_), _) => ERROR,
        (Ok(_), Some(name)) if name != ERROR => name,
        (Ok(_), _) if matches!(first_word.as_str(), "EXPLAIN" | "PROFILE") => PLAN,
        (Ok(_), _) => RESULT,
    };
    let found = outcome.unwrap_or_else(|error| error);
    let found = found.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let found = found.trim_matches('\n');
    let old_text = expected.map_or("", |section| section.text.as_str());
    let is_same = old_name == Some(name)
        && if name == RESULT_IN_ANY_ORDER { sorted_lines(found) == sorted_lines(old_text) } else { found == old_text };
    if !is_same {
        let old_name = old_name.unwrap_or("nothing");
        let difference = format!("{}\nexpected {old_name}\n{old_text}\nfound {name}\n{found}\n", query.text);
        run.differences.push((query.line, difference));
    }
    render(&mut run.updated, "query:", &query.text);
    if !params.is_empty() {
        render_close(&mut run.updated, "params:", params);
    }
    render_close(&mut run.updated, name, if is_same { old_text } else { found });
    rest
}

fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Comments stand together, with a blank line before the first.
fn render_comment(out: &mut String, text: &str) {
    let last = out.lines().last().unwrap_or("# ");
    if !last.starts_with('#') {
        out.push('\n');
    }
    out.push_str(text);
    out.push('\n');
}

/// A section that begins something: a blank line before it, unless a comment is there.
fn render(out: &mut String, name: &str, text: &str) {
    if !out.is_empty() && !out.lines().last().is_some_and(|line| line.starts_with('#')) {
        out.push('\n');
    }
    render_close(out, name, text);
}

/// A section right after the one before.
fn render_close(out: &mut String, name: &str, text: &str) {
    out.push_str(name);
    out.push('\n');
    if !text.is_empty() {
        out.push_str(text);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests;
