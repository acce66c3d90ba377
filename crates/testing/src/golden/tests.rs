//! The runner, run with an executor that echoes.

use super::{Step, run_text};

const TEXT: &str = "\
# What the echo gives.
graph:
CREATE (a)

query:
say x
params:
{x: 1}
result:
say x with {x: 1} on CREATE (a)

# An error.
query:
fail
error:
refused: fail

graph:

query:
EXPLAIN it
plan:
EXPLAIN it with  on
";

fn echo() -> impl FnMut(Step<'_>) -> Result<String, String> {
    let mut graph = String::new();
    move |step| match step {
        Step::Graph(text) => {
            graph = text.to_owned();
            Ok(String::new())
        }
        Step::Query { text: "fail", .. } => Err("refused: fail".to_owned()),
        Step::Query { text: "lines", .. } => Ok("b\na\n".to_owned()),
        Step::Query { text, params } => Ok(format!("{text} with {params} on {graph}\n")),
    }
}

#[test]
fn a_true_file_passes_and_is_rewritten_as_it_is() {
    let run = run_text(TEXT, &mut echo()).unwrap();
    assert!(run.differences.is_empty(), "{:?}", run.differences);
    assert_eq!(run.updated, TEXT);
}

#[test]
fn a_false_line_is_reported_and_mended() {
    let wrong = TEXT.replace("refused: fail", "refused: other").replace("plan:\nEXPLAIN it", "result:\nelse");
    let run = run_text(&wrong, &mut echo()).unwrap();
    assert_eq!(run.differences.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [13, 20]);
    let unanswered = "query:\nsay y\n\nquery:\nfail\n";
    let run = run_text(unanswered, &mut echo()).unwrap();
    assert_eq!(run.differences.len(), 2, "a query without an outcome is a difference");
    assert_eq!(run.updated, "query:\nsay y\nresult:\nsay y with  on\n\nquery:\nfail\nerror:\nrefused: fail\n");
}

#[test]
fn rows_in_any_order_are_compared_as_a_set() {
    let text = "query:\nlines\nresult in any order:\na\nb\n";
    let run = run_text(text, &mut echo()).unwrap();
    assert!(run.differences.is_empty());
    assert_eq!(run.updated, text, "an order that is as good as another is kept");
    assert_eq!(run_text(&text.replace(" in any order", ""), &mut echo()).unwrap().differences.len(), 1);
}

#[test]
fn a_misplaced_line_is_named() {
    let message = |text: &str| run_text(text, &mut echo()).err().unwrap();
    assert_eq!(message("\nlost line\n"), "2: this line is in no section: lost line");
    assert_eq!(message("result:\n1\n"), "1: this section follows no query");
}
