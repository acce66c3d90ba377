//! Documents that are made from the code stay true to it: `UPDATE_GOLDEN=1` writes them anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use model::error::{ErrorClass, ErrorCode, ErrorDetail, ErrorKind};
use testing::golden::check_text;

fn document(name: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in the folder of crates");
    crates.parent().expect("the folder of crates lies in the root").join("docs").join(name)
}

const ERRORS_HEAD: &str = "\
# Errors

Every error has a code to react to, a message that names what was found and what was expected, and a remedy; an error
of a query also points at its place with a caret. This page is made from `crates/model/src/error.rs` by
`UPDATE_GOLDEN=1 cargo test -p knotwork-testing --test documents`.

The class says who can do something about it: the *client* (the query, the data or the call is wrong), time
(*transient*: the same call may succeed when repeated), or the operator (*database*: the store, the disk or this program
is at fault). The status is the one that Neo4j's drivers know.

| Code | What happened | What to do | Class | Status |
|---|---|---|---|---|
";

const DETAILS_HEAD: &str = "
## In openCypher's terms

An error of a statement also says its kind, whether it was found at compile time (before any row was read) or at run time,
and what exactly is wrong: `Error::kind`, `Error::phase`, `Error::detail`. These names are those of openCypher's
compatibility kit, which checks them, but for `DatabaseExists`, `DatabaseNotFound`, `Forbidden`, `PermissionDenied` and `TurnOfWritersHeld`, which are ours; they stay the same from version to version, while
messages may be reworded. A type that is
wrong in the text itself is a `SyntaxError`, as it is in Neo4j.

| Kind | What it means |
|---|---|
";

fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Client => "client",
        ErrorClass::Transient => "transient",
        ErrorClass::Database => "database",
    }
}

#[test]
fn the_page_of_errors_is_that_of_the_registry() {
    let mut page = ERRORS_HEAD.to_owned();
    for code in ErrorCode::ALL {
        let class = class_name(code.class());
        let (name, sentence, remedy, status) = (code.name(), code.sentence(), code.remedy(), code.bolt_status());
        writeln!(page, "| `{name}` | {sentence} | {remedy} | {class} | `{status}` |")
            .expect("writing to a string succeeds");
    }
    page.push_str(DETAILS_HEAD);
    ErrorKind::ALL.iter().for_each(|kind| page += &format!("| `{}` | {} |\n", kind.name(), kind.sentence()));
    page.push_str("\n| Detail | What it means |\n|---|---|\n");
    ErrorDetail::ALL.iter().for_each(|detail| page += &format!("| `{}` | {} |\n", detail.name(), detail.sentence()));
    check_text(&document("errors.md"), &page);
}

#[test]
fn the_registry_is_written_in_house_style() {
    for code in ErrorCode::ALL {
        assert!(!code.sentence().is_empty(), "{}: what happened", code.name());
        for text in [code.sentence(), code.remedy()] {
            assert!(!text.ends_with('.'), "{}: a phrase without full stop: {text}", code.name());
            assert!(!text.starts_with(char::is_uppercase), "{}: lower case at the start: {text}", code.name());
        }
        let is_plain = code.name().chars().all(|c| c.is_ascii_uppercase() || c == '_');
        assert!(is_plain, "{}: capitals and underscores", code.name());
    }
}
