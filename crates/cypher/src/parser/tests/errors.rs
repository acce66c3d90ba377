//! Wrong queries and what is said about them.
//!
//! The golden file holds each query after `> `, then its error as people read it. `UPDATE_GOLDEN=1` rewrites the errors.

use super::super::parse;

const GOLDEN: &str = include_str!("errors.golden");

#[test]
fn errors_are_as_in_the_golden_file() {
    let queries = GOLDEN.lines().filter_map(|line| line.strip_prefix("> "));
    let mut actual = String::new();
    for escaped in queries {
        // A line of the file is a query, so its line breaks are escaped.
        let query = escaped.replace("\\n", "\n");
        let error = match parse(&query) {
            Ok(statement) => panic!("{query} should be wrong, but means {statement}"),
            Err(error) => error.render(&query),
        };
        let lines: Vec<&str> = error.lines().map(str::trim_end).collect();
        actual.push_str(&format!("> {escaped}\n{}\n\n", lines.join("\n")));
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/parser/tests/errors.golden");
        std::fs::write(path, &actual).expect("the source tree can be written");
        return;
    }
    for (expected, actual) in GOLDEN.lines().zip(actual.lines()) {
        assert_eq!(actual, expected);
    }
    assert_eq!(actual.len(), GOLDEN.len());
}
