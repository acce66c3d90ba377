//! Traces: what is recorded of sessions, what is not, and that it is read back.

use std::path::Path;
use std::sync::Arc;

use database::trace::{Recording, Trace, TraceEvent, TraceKind};
use database::{Config, Database, Durability, ErrorCode, Parameters, Value};
use testing::Folder;

fn open(folder: &Folder, trace: &Path) -> Database {
    let recording = Some(Arc::new(Recording::open(trace).expect("a trace can be made")));
    let config = Config { durability: Durability::Off, recording, ..Config::default() };
    Database::open(&folder.join("s.knot"), config).expect("the store of a test can be opened")
}

fn events(trace: &Path) -> Vec<TraceEvent> {
    Trace::open(trace).and_then(Iterator::collect).expect("the trace can be read")
}

#[test]
fn statements_are_recorded_with_parameters_transactions_and_a_hash_of_their_rows() {
    let folder = Folder::new();
    let trace = folder.join("trace.jsonl");
    let database = open(&folder, &trace);
    let (mut one, mut other) = (database.session(), database.session());
    let none = Parameters::default();
    one.query("UNWIND range(1, 9) AS i CREATE (:N {i: i})-[:R {w: i}]->(:M {d: date('2024-01-01')})", &none).unwrap();
    let parameters = Parameters::from_iter([("x".into(), Value::Int(3)), ("d".into(), Value::Float(f64::INFINITY))]);
    other.begin().unwrap();
    other.query("MATCH (n:N) WHERE n.i < $x AND n.i < $d RETURN n", &parameters).unwrap();
    other.commit().unwrap();
    one.query("BEGIN", &none).unwrap();
    one.query("ROLLBACK", &none).unwrap();
    for order in ["", "DESC"] {
        one.query(&format!("MATCH p = (:N)-[r:R]->(m) RETURN p, r, m, r.w / 3.0 ORDER BY r.w {order}"), &none).unwrap();
    }
    assert_eq!(one.query("RETURN 1 / 0", &none).err().map(|failure| failure.code()), Some(ErrorCode::Arithmetic));
    assert!(one.query("RETRUN 'secret-one'", &none).is_err());
    assert!(one.query("CREATE USER u SET PASSWORD 'secret-two'", &none).is_err());
    assert!(one.query("ATTACH 'postgresql://u:secret-three@127.0.0.1:1/x' AS x", &none).is_err());
    assert!(one.commit().is_err());
    let text = std::fs::read_to_string(&trace).unwrap();
    assert!(!text.contains("secret"), "{text}");
    let found = events(&trace);
    let kinds: Vec<TraceKind> = found.iter().map(|event| event.kind).collect();
    use TraceKind::{Begin, Commit, Other, Read, Rollback, Write};
    assert_eq!(
        kinds,
        [Write, Begin, Read, Commit, Begin, Rollback, Read, Read, Read, Other, Other, Other, Commit],
        "{text}"
    );
    assert_eq!(found[2].parameters, parameters);
    assert_eq!((found[2].rows, found[6].rows, found[7].rows), (2, 9, 9));
    assert!(found[6].hash == found[7].hash && found[6].hash != found[2].hash && found[2].hash != 0);
    assert!(found[2].session != found[0].session && found[2].session == found[1].session);
    assert_eq!(found[8].error.as_deref(), Some(ErrorCode::Arithmetic.name()));
    assert_eq!(found[12].error.as_deref(), Some(ErrorCode::TransactionState.name()));
    assert!(found.windows(2).all(|pair| pair[0].at_us <= pair[1].at_us));
    // A second recording goes on in the same file.
    drop((one, other, database));
    let database = open(&folder, &trace);
    database.session().query("RETURN 1", &none).unwrap();
    assert_eq!(events(&trace).len(), found.len() + 1);
}

#[test]
fn rows_count_by_what_they_hold_and_not_by_ids_or_order() {
    let folder = Folder::new();
    let trace = folder.join("trace.jsonl");
    let database = open(&folder, &trace);
    let mut session = database.session();
    let mut hash = |text: &str| {
        session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
        events(&trace).last().unwrap().hash
    };
    hash("CREATE (:A {x: 1}), (:A {x: 1}), (:A {x: 2}), (:B {x: 1})");
    let first = hash("MATCH (a:A {x: 1}) RETURN a LIMIT 1");
    assert_eq!(hash("MATCH (a:A {x: 1}) RETURN a ORDER BY id(a) DESC LIMIT 1"), first);
    assert_ne!(hash("MATCH (a:A {x: 2}) RETURN a"), first);
    assert_ne!(hash("MATCH (b:B) RETURN b"), first);
    let pairs = [
        ("UNWIND [1, 2] AS x RETURN x", "UNWIND [2, 1] AS x RETURN x", true),
        ("UNWIND [1, 1] AS x RETURN x", "UNWIND [1] AS x RETURN x", false),
        ("RETURN [1, 2]", "RETURN [2, 1]", false),
        ("RETURN [[1], 2]", "RETURN [1, [2]]", false),
        ("RETURN {a: 1, b: 2}", "RETURN {b: 2, a: 1}", true),
        ("RETURN 1, 2", "RETURN 2, 1", false),
        ("RETURN 0.1 + 0.2", "RETURN 0.3", true),
        ("RETURN 1.0", "RETURN 1", true),
        ("RETURN null", "RETURN 'null'", false),
        ("RETURN '12'", "RETURN 12", false),
        ("RETURN 1e300", "RETURN 1.0000001e300", false),
    ];
    for (one, other, is_same) in pairs {
        assert_eq!(hash(one) == hash(other), is_same, "{one}, {other}");
    }
}

#[test]
fn what_is_no_trace_is_told_by_its_line() {
    let folder = Folder::new();
    let path = folder.join("t.jsonl");
    let form = "{\"form\":\"knotwork-trace/1\"}\n";
    let event = "{\"atUs\":1,\"session\":1,\"kind\":\"read\",\"statement\":\"RETURN 1\",\"ns\":5}\n";
    let cases = [
        (format!("{form}{event}no JSON"), "line 3: no JSON"),
        (event.to_owned(), "line 1: expected a first line"),
        (format!("{form}{{\"session\":1}}"), "line 2: 'ns'"),
        ("{\"form\":\"knotwork-trace/99\"}".to_owned(), "knotwork-trace/99"),
        (String::new(), "is no trace: it is empty"),
        ("{\"form\":\"knotwork-tr".to_owned(), "line 1: no JSON"),
        (format!("{form}{}\n{event}", &event[..40]), "line 2: no JSON"),
        (format!("{form}{}", event.replace("\"ns\"", "\"parameters\":{\"p\":{\"$lost\":\"NODE\"}},\"ns\"")), "NODE"),
    ];
    for (text, expected) in cases {
        std::fs::write(&path, text).unwrap();
        let failure = Trace::open(&path).unwrap().find_map(Result::err).unwrap();
        assert!(failure.to_string().contains(expected), "{failure}");
    }
    assert_eq!(Trace::open(&folder.join("missing")).err().map(|failure| failure.code()), Some(ErrorCode::File));
}

#[test]
fn lines_that_are_cut_off_are_left_out_where_a_writer_was_killed_or_its_disk_full() {
    let folder = Folder::new();
    let path = folder.join("t.jsonl");
    let form = "{\"form\":\"knotwork-trace/1\"}\n";
    let event = "{\"atUs\":1,\"session\":1,\"kind\":\"read\",\"statement\":\"RETURN 'ä'\",\"ns\":5}\n";
    let counting = event.replace("\"ns\"", "\"lostBefore\":7,\"ns\"");
    let within_a_letter = event.find('ä').unwrap() + 1;
    for cut in [1, 20, within_a_letter, event.len() - 2] {
        let torn = &event.as_bytes()[..cut];
        for (after, expected, gaps) in
            [(String::new(), 1, 1), (format!("\n{form}{event}"), 2, 1), (format!("\n{counting}"), 2, 2)]
        {
            std::fs::write(&path, [form.as_bytes(), event.as_bytes(), torn, after.as_bytes()].concat()).unwrap();
            let mut trace = Trace::open(&path).unwrap();
            let found: Vec<TraceEvent> = trace.by_ref().collect::<Result<_, _>>().unwrap();
            let told = trace.gaps();
            assert_eq!((found.len(), told.len()), (expected, gaps), "{cut}: {told:?}");
            assert!(told[0].ends_with("t.jsonl: 1 line is cut off, and left out"), "{told:?}");
            assert!(gaps == 1 || told[1].contains(": 7 statements are missing"), "{told:?}");
        }
        // Recording goes on behind it.
        std::fs::write(&path, [form.as_bytes(), event.as_bytes(), torn].concat()).unwrap();
        open(&folder, &path).session().query("RETURN 1", &Parameters::default()).unwrap();
        assert_eq!(events(&path).len(), 2, "{cut}");
    }
}

#[test]
fn statements_are_recorded_to_traces_alone() {
    let folder = Folder::new();
    let path = folder.join("t.jsonl");
    let form = "{\"form\":\"knotwork-trace/1\"}\n";
    for content in ["{\"schema\":\"knotwork-bench/1\"}\n", "\n", "text", "{\n", "{\"form\":\"knotwork-trace/2\"}\n"] {
        std::fs::write(&path, content).unwrap();
        let failure = Recording::open(&path).expect_err("it is no trace");
        assert_eq!(failure.code(), ErrorCode::Argument, "{content}: {failure}");
        assert!(failure.message().contains("t.jsonl: its first line is not"), "{failure}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    // Also the head may be cut off.
    for content in ["", &form[..1], &form[..form.len() - 1], form, &format!("\u{feff}{form}")] {
        std::fs::write(&path, content).unwrap();
        open(&folder, &path).session().query("RETURN 1", &Parameters::default()).unwrap();
        assert_eq!(events(&path).len(), 1, "{content}");
    }
}
