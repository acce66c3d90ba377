//! The log of slow statements: a line of JSON each, without what was searched for, whatever happens to the file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use database::{Config, Database, Durability, ErrorCode, Parameters, SlowLog, Value};
use serde_json::Value as Json;
use testing::Folder;

fn open(folder: &Folder, log: &Path, limit: Duration) -> Database {
    let log = SlowLog::open(log, limit).expect("a log can be made");
    let config = Config { durability: Durability::Off, slow_log: Some(Arc::new(log)), ..Config::default() };
    Database::open(&folder.join("s.knot"), config).expect("the store of a test can be opened")
}

fn lines(log: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(log).expect("the log can be read");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

#[test]
fn slow_statements_are_written_without_literals_and_parameters() {
    let folder = Folder::new();
    let log = folder.join("slow.jsonl");
    let database = open(&folder, &log, Duration::ZERO);
    let mut session = database.session();
    let parameters = Parameters::from_iter([("secret".into(), Value::string("hidden-parameter"))]);
    session.query("UNWIND range(1, 5000) AS i CREATE (:Person {id: i, name: 'hidden' + i})", &parameters).unwrap();
    let seek = "MATCH (p:Person) WHERE p.name = 'hidden77' AND p.id < 900 RETURN p.id, $secret";
    assert_eq!(session.query(seek, &parameters).unwrap().rows().count(), 1);
    for column in ["{k: 'hidden'}", "p.name + 'hidden'", "[x IN ['hidden'] WHERE x <> 'a\\'hidden']", "77.0e1"] {
        session.query(&format!("MATCH (p:Person {{id: 1}}) RETURN {column}"), &parameters).unwrap();
    }
    let mut code = |text| session.query(text, &parameters).err().map(|error| error.code());
    assert_eq!(code("RETURN 1 / 0"), Some(ErrorCode::Arithmetic));
    assert_eq!(code("RETRUN 'hidden'"), Some(ErrorCode::Syntax));
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("hidden") && !text.contains("77.0"), "{text}");
    let found = lines(&log);
    let statements: Vec<&Json> = found.iter().map(|line| &line["statement"]).collect();
    assert_eq!(
        statements,
        [
            "UNWIND range(?, ?) AS i CREATE (:Person {id: i, name: ? + i})",
            "MATCH (p:Person) WHERE p.name = ? AND p.id < ? RETURN p.id, $secret",
            "MATCH (p:Person {id: ?}) RETURN {k: ?}",
            "MATCH (p:Person {id: ?}) RETURN p.name + ?",
            "MATCH (p:Person {id: ?}) RETURN [x IN [?] WHERE x <> ?]",
            "MATCH (p:Person {id: ?}) RETURN ?",
            "RETURN ? / ?",
            "RETRUN ?",
        ]
    );
    let line = &found[1];
    assert_eq!((&line["rows"], &line["error"]), (&1.into(), &Json::Null), "{line}");
    let phases: u64 = line["phases"].as_object().unwrap().values().map(|ns| ns.as_u64().unwrap()).sum();
    let whole = line["ms"].as_f64().unwrap() * 1e6;
    assert!(phases as f64 <= whole + 1.0, "{line}");
    assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
    let plan = line["plan"].to_string();
    assert!(plan.contains("NodeScan") && plan.contains("p.name = ?") && plan.contains("estimatedRows"), "{plan}");
    assert_eq!(found[6]["error"], "ARITHMETIC");
    assert_eq!((&found[7]["error"], &found[7]["plan"]), (&"SYNTAX".into(), &Json::Null));
}

#[test]
fn what_is_quick_or_only_tried_is_not_written() {
    let folder = Folder::new();
    let log = folder.join("slow.jsonl");
    let database = open(&folder, &log, Duration::from_secs(3_600));
    database.session().query("RETURN 1", &Parameters::default()).unwrap();
    assert_eq!(lines(&log), Vec::<Json>::new());
    drop(database);
    let database = open(&folder, &log, Duration::ZERO);
    let mut session = database.session();
    let text = "UNWIND range(1, 100000000) AS i RETURN sum(i)";
    let mut rows = database::QueryResult::default();
    let tried = session.run_briefly(text, &Parameters::default(), &mut rows, Duration::from_millis(1)).unwrap();
    assert_eq!((tried.is_none(), lines(&log)), (true, Vec::new()), "it will be run again, and is written then");
}

#[test]
fn lines_of_many_sessions_are_whole() {
    let folder = Folder::new();
    let log = folder.join("slow.jsonl");
    let database = open(&folder, &log, Duration::ZERO);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let mut session = database.session();
            scope.spawn(move || {
                for i in 0..100 {
                    session.query(&format!("RETURN {i} AS t{thread}"), &Parameters::default()).unwrap();
                }
            });
        }
    });
    let found = lines(&log);
    assert_eq!(found.len(), 800);
    for thread in 0..8 {
        let own = format!("RETURN ? AS t{thread}");
        assert_eq!(found.iter().filter(|line| line["statement"] == own.as_str()).count(), 100);
    }
    // A second opening adds to the file.
    drop(database);
    open(&folder, &log, Duration::ZERO).session().query("RETURN 1", &Parameters::default()).unwrap();
    assert_eq!(lines(&log).len(), 801);
    // Behind a line that was cut the next one begins anew.
    let cut = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, &cut[..cut.len() - 20]).unwrap();
    open(&folder, &log, Duration::ZERO).session().query("RETURN 2", &Parameters::default()).unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(serde_json::from_str::<Json>(text.lines().nth(801).unwrap()).is_ok(), "{text}");
}

#[test]
fn a_log_that_cannot_be_opened_is_an_error() {
    let folder = Folder::new();
    for path in [folder.join("missing/slow.jsonl"), folder.path().to_path_buf()] {
        let error = SlowLog::open(&path, Duration::ZERO).unwrap_err();
        assert_eq!(error.code(), ErrorCode::File);
        assert!(error.message().contains(&path.display().to_string()), "{error:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_lines_and_no_statement() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let database = open(&folder, Path::new("/dev/full"), Duration::ZERO);
    let mut session = database.session();
    session.query("CREATE (:N)", &Parameters::default()).unwrap();
    assert_eq!(session.query("MATCH (n:N) RETURN n", &Parameters::default()).unwrap().rows().count(), 1);
    let own = folder.join("own.jsonl");
    SlowLog::open(&own, Duration::ZERO).unwrap();
    assert_eq!(std::fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o600);
}
