//! Programs as subjects: one that gives no answer is started anew, and told where it did not.
#![cfg(unix)]

use std::path::Path;
use std::time::Duration;

use introspect::SystemClock;
use introspect::machine::Effort;
use introspect::measure::{MeasureOptions, Regime, measure};
use introspect::operations::{Operation, Way};
use introspect::subject::program::{Limits, Program};
use model::{Direction, Interrupt};

/// A program that answers everything but calls of two operations. It writes a line to a file for each start and each copy.
const LINES: &str = r#"
while read -r line; do
    case "$line" in
    *'"describe"'*)
        echo start >>told
        echo '{"system":"s","version":"1","place":"p","nodes":3,"edges":3,"bytes":1,"coldMethod":"COLD",
            "operations":["node by id","node property, integer","1-hop out","add node","set node property"]}' | tr -d '\n'
        echo
        ;;
    *'"choose"'*) echo '{"starts":[{"node":0,"target":1},{"node":1,"target":2},{"node":2,"target":0}]}' ;;
    *'1-hop out'* | *'set node property'*) while :; do sleep 0.1; done ;;
    *'"copy"'*) echo copy >>told; echo '{}' ;;
    *'"close"'*) exit ;;
    *'"perform"'*) echo '{"ns":700,"rows":1}' ;;
    *) echo '{}' ;;
    esac
done
"#;

fn lines_told(folder: &Path, line: &str) -> usize {
    let told = std::fs::read_to_string(folder.join("told")).expect("it was started");
    told.lines().filter(|told| *told == line).count()
}

fn check(cold_method: &str, cold_comes_first: bool) {
    let folder = testing::Folder::new();
    std::fs::write(folder.join("subject.sh"), LINES.replace("COLD", cold_method)).expect("the folder can be written");
    let command = format!("sh -c 'cd {} && exec sh subject.sh'", folder.path().display());
    let limits = Limits { answer: Duration::from_secs(60), call: Duration::from_millis(300) };
    let interrupt = Interrupt::new();
    let mut program = Program::start(&command, limits, &interrupt).expect("it answers");
    let options =
        MeasureOptions { calls_max: 3, cold_calls_max: 3, writes: true, ..MeasureOptions::new(Effort::Quick) };
    let found = measure(&mut program, &options, &SystemClock::default(), &interrupt).expect("it is measured");
    let of = |operation: Operation, regime: Regime| {
        let mut runs = found.runs.iter().filter(|run| (run.operation, run.regime) == (operation, regime));
        runs.next().map(|run| (run.calls.len(), run.error.clone()))
    };
    for regime in Regime::ALL {
        assert_eq!(of(Operation::NodeById, regime), Some((3, None)));
        let (calls, error) = of(Operation::Hops(Direction::Out, 1), regime).expect("it was tried");
        let told = error.expect("it gives no answer");
        assert!(calls == 0 && told.contains("no answer within 300 ms"), "{calls}, {told}");
    }
    assert!(found.run(Operation::AddNode, Way::Api, Regime::Hot).is_some_and(|run| run.calls.len() == 3));
    let (_, error) = of(Operation::SetProperty, Regime::Hot).expect("it was tried");
    assert!(error.is_some_and(|told| told.contains("no answer within")));
    assert_eq!(found.sweep.len(), 1);
    // Cold calls that come first are tried for themselves. The program that takes the place of one with a copy makes another.
    assert_eq!(
        (lines_told(folder.path(), "start"), lines_told(folder.path(), "copy")),
        (if cold_comes_first { 4 } else { 3 }, 2)
    );
}

#[test]
fn calls_without_an_answer_are_told_and_others_have_figures() {
    check("closed and opened anew", false);
    check("none: a server", true);
}
