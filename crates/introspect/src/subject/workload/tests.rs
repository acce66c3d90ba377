//! Statements of files and of traces: names, parameters, and those that are refused.

use database::Parameters;
use database::trace::{TraceEvent, TraceKind};
use model::Value;

use super::{STATEMENTS_MAX, Schema, Statement, built_in, of_text, of_trace};
use crate::subject::Start;

fn refused(text: &str, expected: &str) {
    let failure = of_text(text).expect_err(expected);
    assert!(failure.message().contains(expected) && !failure.remedy().is_empty(), "{failure:?}");
}

#[test]
fn names_stand_in_comments() {
    let text =
        "// a file\n// name: first one\nMATCH (n) RETURN n; RETURN 'a;b' // name: none\n;\n// name: third\nRETURN 3";
    let found = of_text(text).expect("it has statements");
    let names: Vec<&str> = found.iter().map(|statement| statement.name.text()).collect();
    assert_eq!(names, ["first one", "statement 2", "third"]);
    assert_eq!(&*found[1].call(&Start::default()).0, "RETURN 'a;b'");
    let marked = of_text(&format!("\u{feff}{text}")).expect("it has statements");
    assert_eq!(marked.iter().map(|statement| statement.name.text()).collect::<Vec<_>>(), names);
}

#[test]
fn mistakes_in_a_file_are_told() {
    refused("", "there is no statement");
    refused("// name: nothing\n", "there is no statement");
    refused(&"RETURN 1;".repeat(STATEMENTS_MAX + 1), "there are 101 statements");
    refused("// name: a\nRETURN 1;\n// name: a\nRETURN 2", "line 4: the name 'a' is that of another");
    refused("// name: pagerank\nRETURN 1", "the name 'pagerank'");
    refused(&format!("// name: {}\nRETURN 1", "n".repeat(61)), "longer than 60");
}

#[test]
fn statements_that_write_are_refused() {
    for (text, word) in [
        ("CREATE (n)", "CREATE"),
        ("MATCH (n) set n.a = 1", "SET"),
        ("MATCH (n) DETACH DELETE n", "DELETE"),
        ("MATCH (n) CALL (n) { MERGE (m) RETURN m } RETURN m", "MERGE"),
        ("DROP INDEX a", "DROP"),
        ("PROFILE MATCH (n) RETURN n", "PROFILE"),
        ("CHECKPOINT", "CHECKPOINT"),
        ("STRANGE MATCH (n) SET n.a = 1", "SET"),
    ] {
        refused(text, &format!("'statement 1' has the word {word}"));
    }
    for text in [
        "MATCH (n) WHERE n.set = 'CREATE' RETURN n.delete",
        "MATCH (n:Set)-[:CREATE|MERGE]->(m) RETURN `SET` // DELETE",
        "MATCH (n) RETURN n.start AS start",
        "MATCH (n) RETURN {set: n.a, create: 1} AS m",
        "// of another dialect\nMATCH (n) RETURN n STRANGE WORDS",
    ] {
        assert!(of_text(text).is_ok(), "{text}: {:?}", of_text(text));
    }
    let calls = |text: &str| Statement::new("a", text).expect("it reads").calls_procedure();
    assert!(calls("CALL a.b() YIELD c RETURN c"));
    assert!(!calls("MATCH (n) CALL (n) { RETURN 1 AS a } CALL { RETURN 2 AS b } RETURN a, b"));
}

#[test]
fn parameters_are_those_of_the_start() {
    let starts: Vec<Start> = (0..4)
        .map(|turn| Start {
            node: turn,
            key: (turn > 1).then_some(Value::Int(7)),
            turn: turn as usize,
            ..Start::default()
        })
        .collect();
    let of = |text: &str| Statement::new("a", text).expect("it reads");
    let turns = |text: &str, starts: &[Start]| -> Vec<usize> {
        of(text).starts(starts).expect("there are some").iter().map(|start| start.turn).collect()
    };
    assert_eq!(turns("MATCH (n {id: $key}) RETURN n", &starts), [2, 3]);
    assert_eq!(turns("MATCH (n) WHERE id(n) = $node RETURN n", &starts), [0, 1, 2, 3]);
    assert_eq!(turns("RETURN '$key', $keys", &starts), [0]);
    let failure = of("RETURN $key").starts(&starts[..2]).expect_err("none has a key");
    assert!(failure.message().contains("no node that was chosen has a unique key"), "{failure}");
    let (_, parameters) = of("RETURN $key").call(&starts[2]);
    assert_eq!((parameters.get("key"), parameters.get("node")), (Some(&Value::Int(7)), Some(&Value::Int(2))));
}

fn event(kind: TraceKind, text: &str, ns: u64) -> TraceEvent {
    let (text, parameters) = (text.to_owned(), Parameters::default());
    TraceEvent { at_us: 0, session: 1, kind, text, parameters, ns, rows: 1, hash: 0, error: None }
}

#[test]
fn calls_of_a_trace_are_grouped_and_writes_left_out() {
    let events = [
        event(TraceKind::Read, "MATCH (n {id: 1}) RETURN n", 10),
        event(TraceKind::Read, "RETURN 5", 90),
        event(TraceKind::Write, "CREATE (n)", 10),
        event(TraceKind::Read, "MATCH (n {id: 2}) RETURN n", 10),
        TraceEvent { error: Some("SYNTAX".to_owned()), ..event(TraceKind::Read, "RETRUN", 1) },
    ];
    let (found, left_out) = of_trace(events.into_iter().map(Ok)).expect("there are reads");
    assert_eq!((found.len(), left_out), (2, 2));
    // The statement that took the most time comes first.
    assert_eq!(found[0].name.text(), "RETURN ?");
    let starts = found[1].starts(&[]).expect("there are calls");
    let texts: Vec<_> = starts.iter().map(|start| found[1].call(start).0).collect();
    assert_eq!(
        texts.iter().map(|text| &**text).collect::<Vec<_>>(),
        ["MATCH (n {id: 1}) RETURN n", "MATCH (n {id: 2}) RETURN n"]
    );
    let failure = of_trace([Ok(event(TraceKind::Write, "CREATE (n)", 1))].into_iter()).expect_err("no reads");
    assert!(failure.message().contains("no statement of the trace reads"), "{failure}");
}

#[test]
fn known_graphs_have_their_statements() {
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let schema = |labels: &str, types: &str, key: &str| Schema {
        labels: words(labels),
        types: words(types),
        properties: words("id score time city age"),
        key: Some((key.to_owned(), "id".to_owned())),
    };
    let names = |schema: &Schema| -> Vec<&str> { built_in(schema).iter().map(|held| held.name.text()).collect() };
    let lubm = schema(
        "UndergraduateStudent Department Professor Course",
        "teacherOf takesCourse worksFor memberOf advisor",
        "UndergraduateStudent",
    );
    assert_eq!(names(&lubm), ["LUBM 1", "LUBM 2", "LUBM 3"]);
    assert_eq!(names(&schema("User Product", "RATED", "User")), ["Titan 1", "Titan 2", "Titan 3"]);
    let reviewed = built_in(&schema("User Product", "REVIEWED", "User"));
    assert!(reviewed[0].call(&Start::default()).0.contains("[r:REVIEWED]"));
    assert_eq!(names(&schema("User Product", "RATED", "Product")), Vec::<&str>::new());
    assert_eq!(names(&schema("Person", "KNOWS", "Person")).len(), 3);
    let lsqb = schema(
        "Country City Person Forum Post Comment Message Tag TagClass",
        "IS_PART_OF IS_LOCATED_IN HAS_MEMBER CONTAINER_OF REPLY_OF HAS_TAG HAS_CREATOR KNOWS LIKES HAS_TYPE HAS_INTEREST",
        "Comment",
    );
    assert_eq!(names(&lsqb).len(), 9);
    for held in [lubm, schema("User Product", "RATED", "User"), lsqb, schema("Person", "KNOWS", "Person")] {
        assert!(names(&held).iter().all(|name| super::names().any(|known| known == *name)), "{held:?}");
    }
}
