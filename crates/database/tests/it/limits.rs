//! The ends of a query other than its own: cancel, timeout, too little memory, bad input. None of them leaks anything, and
//! the session goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use database::{Config, Database, Durability, ErrorCode, Parameters, Value};
use model::Consumer;
use testing::Folder;

/// Statements that would run for hours, each in an operator of its own.
const ENDLESS: &[&str] = &[
    "MATCH (a:N), (b:N), (c:N), (d:N) WHERE a.k + b.k = c.k * d.k RETURN count(*)",
    "MATCH (a:N), (b:N), (c:N), (d:N) RETURN a.k AS x ORDER BY x, b.k, c.k, d.k",
    "MATCH (a:N), (b:N), (c:N), (d:N) RETURN DISTINCT a.id, b.id, c.id, d.id",
    "MATCH (a:N), (b:N), (c:N), (d:N) RETURN a.id, b.id, c.id, count(*)",
    "MATCH (a:N), (b:N), (c:N), (d:N) WHERE a.k = b.k AND b.k = c.k AND c.k = d.k RETURN sum(a.id + d.id)",
    "MATCH (a:N)-[:R*1..40]->(b) RETURN count(*)",
    "MATCH p = (a:N)-[:R*1..40]->(b) RETURN sum(length(p))",
    "MATCH p = SHORTEST 100000000 (a:N {id: 1})-[:R]->+(b:N {id: 1000}) RETURN count(p)",
    "MATCH p = ACYCLIC (a:N {id: 1})-[:R]->+(b) RETURN count(p)",
    "MATCH (a:N) ((x)-[:R]->(y)-[:R]->(z)){1,30} (b) RETURN count(size(x))",
    "MATCH (a:N {k: 1}), (b:N {k: 2}), (c:N) MATCH p = allShortestPaths((a)-[:R*]-(b)) RETURN sum(length(p))",
    "MATCH (a:N), (b:N) MATCH p = ALL SHORTEST (b)-[:R]-+(c) RETURN sum(length(p))",
    "UNWIND range(1, 100000000) AS i UNWIND range(1, 100000000) AS j RETURN sum(i * j)",
    "MATCH (a:N) WHERE COUNT { MATCH (b:N), (c:N), (d:N) WHERE a.k + b.k = c.k * d.k } > 1 RETURN a",
    "MATCH (a:N), (b:N), (c:N), (d:N) SET a.x = b.id + c.id + d.id",
    "MATCH (a:N), (b:N), (c:N), (d:N) CREATE (:M {id: a.id})",
];

struct Fixture {
    folder: Folder,
    database: Database,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = Folder::new();
        let config = Config { durability: Durability::Off, threads: 2, ..Config::default() };
        let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
        let mut session = database.session();
        for text in [
            "UNWIND range(1, 2000) AS i CREATE (:N {id: i, k: i % 10})",
            "MATCH (a:N), (b:N) WHERE b.id = a.id + 1 OR b.id = a.id + 2 OR b.id = a.id + 3 CREATE (a)-[:R]->(b)",
        ] {
            session.query(text, &Parameters::default()).expect(text);
        }
        drop(session);
        Fixture { folder, database }
    }

    fn files(&self) -> Vec<String> {
        let listing = std::fs::read_dir(self.folder.join("store.knot")).expect("the store is a directory");
        let mut names: Vec<String> =
            listing.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Nothing is held, no file is left, and the session can write.
    fn check(&self, session: &mut database::Session, place: &str) {
        assert_eq!(self.database.memory().used_by(Consumer::Query), 0, "{place}");
        assert_eq!(self.database.spill_space().open_files(), 0, "{place}");
        assert!(self.files().iter().all(|name| !name.contains("tmp")), "{place}: {:?}", self.files());
        session.set_timeout(None);
        session.set_query_memory(None);
        let count = session.query("MATCH (n) RETURN count(n)", &Parameters::default()).expect(place);
        assert_eq!(count.single(), Some(Value::Int(2_000)), "{place}");
        session.query("MATCH (n:N {id: 1}) SET n.touched = true", &Parameters::default()).expect(place);
    }
}

#[test]
fn a_timeout_ends_every_operator() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    for text in ENDLESS {
        for memory in [None, Some(50_000)] {
            session.set_query_memory(memory);
            session.set_timeout(Some(Duration::from_millis(40)));
            let error = session.query(text, &Parameters::default()).err().expect(text);
            let expected = [ErrorCode::Timeout, ErrorCode::Limit];
            assert!(expected[..1 + usize::from(memory.is_some())].contains(&error.code()), "{text}: {error:?}");
            fixture.check(&mut session, text);
        }
    }
}

/// Very many paths from both ends meet in the nodes between them, and none of them make one path: that was compared to its end.
#[test]
fn a_timeout_is_kept_where_paths_meet_in_vain() {
    let folder = Folder::new();
    let database = Database::open(&folder.join("store.knot"), Config::default()).expect("a store can be opened");
    let mut session = database.session();
    // The way from 0 leads over one edge into a dense part, and there is no other back to 1.
    for text in [
        "UNWIND range(0, 59) AS i CREATE (:N {id: i})",
        "MATCH (a:N), (b:N) WHERE a.id > 1 AND b.id > a.id CREATE (a)-[:R]->(b)",
        "MATCH (a:N {id: 0}), (b:N {id: 1}), (c:N {id: 2}) CREATE (b)-[:R]->(a), (a)-[:R]->(c)",
    ] {
        session.query(text, &Parameters::default()).expect(text);
    }
    let text = "MATCH (a:N {id: 0}), (b:N {id: 1}) WHERE EXISTS { (a)-[:R*2..]-(b) } RETURN count(*)";
    session.set_timeout(Some(Duration::from_millis(200)));
    let clock = storage::os::platform().clock;
    let began = clock.now_ns();
    let error = session.query(text, &Parameters::default()).err().expect(text);
    assert_eq!(error.code(), ErrorCode::Timeout, "{error:?}");
    let taken = Duration::from_nanos(clock.now_ns() - began);
    assert!(taken < Duration::from_secs(3), "{taken:?}");
}

#[test]
fn a_cancel_ends_every_operator() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    for text in ENDLESS {
        session.set_query_memory(Some(200_000_000));
        let (interrupt, done) = (session.interrupt(), Arc::new(AtomicBool::new(false)));
        let canceller = std::thread::spawn({
            let done = done.clone();
            move || {
                // The flag is lowered when the statement begins, so it is raised until it was seen.
                while !done.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(20));
                    interrupt.cancel();
                }
            }
        });
        let error = session.query(text, &Parameters::default()).err().expect(text);
        done.store(true, Ordering::Relaxed);
        canceller.join().expect("the thread that cancels does not panic");
        assert_eq!(error.code(), ErrorCode::Cancelled, "{text}: {error:?}");
        fixture.check(&mut session, text);
    }
}

#[test]
fn too_little_memory_is_an_error_that_names_the_limit() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    for text in [
        "MATCH (a:N), (b:N) RETURN collect(a.id * b.id)",
        "MATCH (a:N), (b:N) RETURN a.k AS k, collect(b.id) AS l ORDER BY k",
        "MATCH (a:N), (b:N) RETURN collect(DISTINCT toString(a.id * b.id))",
        "MATCH (a:N) WHERE a.id = 1 RETURN size(COLLECT { MATCH (b:N), (c:N) RETURN b.id * c.id })",
        "MATCH (a:N), (b:N) SET a.x = b.id RETURN a.x, b.id, toString(a.id)",
    ] {
        session.set_query_memory(Some(100_000));
        let error = session.query(text, &Parameters::default()).err().expect(text);
        assert_eq!(error.code(), ErrorCode::Limit, "{text}: {error:?}");
        assert!(error.message().contains("100000 bytes it may hold"), "{text}: {error:?}");
        assert!(error.remedy().contains("--query-memory"), "{text}: {error:?}");
        fixture.check(&mut session, text);
    }
}

#[test]
fn what_can_spill_finishes_with_little_memory() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    for (text, expected) in [
        ("MATCH (a:N), (b:N) RETURN count(*)", 4_000_000),
        ("MATCH (a:N), (b:N) WITH a.id AS x, b.k AS y ORDER BY y, x RETURN count(*)", 4_000_000),
        ("MATCH (a:N), (b:N) WHERE a.id < 200 WITH DISTINCT a.id AS x, b.id AS y RETURN count(*)", 398_000),
        ("MATCH (a:N), (b:N) WHERE a.id < 200 WITH a.id AS x, b.id AS y, count(*) AS c RETURN sum(c)", 398_000),
        // Far apart, so that bits take more than a table.
        ("MATCH (a:N), (b:N) WHERE a.id <= 200 RETURN count(DISTINCT a.id * 1000003 + b.id * 7919)", 400_000),
        ("MATCH (a:N), (b:N) WHERE a.id <= 200 RETURN count(DISTINCT toString(a.id * 2000 + b.id))", 400_000),
        ("MATCH (a:N), (b:N) WHERE a.id <= 200 RETURN percentileDisc(a.id * 2000 + b.id, 0.5)", 202_000),
        (
            "MATCH (a:N), (b:N) WHERE a.id <= 10 CALL (a, b) { SET a.x = b.id } IN TRANSACTIONS OF 3000 ROWS \
             ON ERROR BREAK REPORT STATUS AS s RETURN count(DISTINCT s.transactionId)",
            7,
        ),
    ] {
        session.set_query_memory(Some(100_000));
        let result = session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(result.single(), Some(Value::Int(expected)), "{text}");
        assert!(result.summary.spilled_bytes > 0 || text.ends_with("(b:N) RETURN count(*)"), "{text} spills nothing");
        fixture.check(&mut session, text);
    }
}

#[test]
fn paths_finish_with_little_memory() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    let ends = "MATCH (a:N {id: 1}), (b:N {id: 601})";
    for (text, expected) in [
        (format!("{ends} MATCH p = shortestPath((a)-[:R*]->(b)) RETURN length(p)"), 200),
        (format!("{ends} MATCH p = allShortestPaths((a)-[:R*]->(b)) RETURN count(p)"), 1),
        (format!("{ends} MATCH p = SHORTEST 3 (a)-[:R]->+(b) RETURN sum(length(p))"), 200 + 201 + 201),
        ("MATCH ANY (a:N {id: 1})-[:R]->+(b) RETURN count(b)".to_string(), 1_999),
        ("MATCH (a:N {id: 1})-[:R*]->(b) RETURN count(DISTINCT b)".to_string(), 1_999),
        ("MATCH p = (a:N {id: 1})-[:R*1..8]->(b) RETURN count(p)".to_string(), 9_840),
        ("MATCH (a:N {id: 1}) ((x)-[:R]->(y)-[:R]->(z)){1,3} (b) RETURN count(b)".to_string(), 819),
    ] {
        session.set_query_memory(Some(5_000));
        let result = session.query(&text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(result.single(), Some(Value::Int(expected)), "{text}");
        fixture.check(&mut session, &text);
    }
}

#[test]
fn profiles_tell_of_memory_and_blocks() {
    let fixture = Fixture::new();
    fixture.database.checkpoint().expect("a checkpoint can be made");
    let mut session = fixture.database.session();
    session.set_query_memory(Some(100_000));
    let text = "PROFILE MATCH (a:N), (b:N) WHERE a.id < 50 RETURN a.id AS x, b.id AS y ORDER BY y, x";
    let result = session.query(text, &Parameters::default()).expect(text);
    let report = result.summary.report.expect("a profile has a report");
    let sort = report.lines.iter().find(|line| line.operator == "Sort").expect("the plan sorts");
    let actual = sort.actual.expect("a profile has figures");
    assert_eq!(actual.rows, 98_000);
    assert!(actual.spilled_bytes > 0 && actual.memory_peak > 0 && actual.memory_peak < 200_000, "{actual:?}");
    let asked: u64 = report.lines.iter().filter_map(|line| line.actual).map(|actual| actual.storage.block_uses).sum();
    assert!(asked > 0, "{}", report.text());
    assert!(report.json().starts_with(r#"{"plan":{"operator":""#), "{}", report.json());
    assert!(report.text().contains("spilled (B)"), "{}", report.text());
}

#[test]
fn bad_input_is_an_error_or_an_answer() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("RETURN {}{inner}{} AS x", open.repeat(depth), close.repeat(depth))
    };
    for text in [
        nested("(", "1", ")", 100_000),
        nested("[", "1", "]", 100_000),
        nested("{a: ", "1", "}", 100_000),
        nested("NOT ", "true", "", 100_000),
        nested("-", "1", "", 100_001),
        nested("abs(", "1", ")", 100_000),
        nested("CASE WHEN true THEN ", "1", " END", 100_000),
        nested("EXISTS { MATCH (n) WHERE ", "true", " }", 10_000),
    ] {
        let error = session.query(&text, &Parameters::default()).err().expect("too deep");
        assert!(matches!(error.code(), ErrorCode::Syntax | ErrorCode::Limit), "{:.60}…: {error:?}", text);
        fixture.check(&mut session, "deep nesting");
    }
    let long = format!("RETURN size([{}1])", "1, ".repeat(350_000));
    let result = session.query(&long, &Parameters::default()).expect("a long list is a list");
    assert_eq!(result.single(), Some(Value::Int(350_001)));
    let names: Vec<String> = (0..10_000).map(|number| format!("p{number}")).collect();
    let parameters: Parameters =
        names.iter().enumerate().map(|(number, name)| (Arc::from(name.as_str()), Value::Int(number as i64))).collect();
    let sum = format!(
        "UNWIND [{}] AS p RETURN sum(p)",
        names.iter().map(|name| format!("${name}")).collect::<Vec<_>>().join(", ")
    );
    let result = session.query(&sum, &parameters).expect("ten thousand parameters");
    assert_eq!(result.single(), Some(Value::Int(49_995_000)));
    let error = session.query(&sum, &Parameters::default()).err().expect("they are missing");
    assert_eq!(error.code(), ErrorCode::Parameter);
    fixture.check(&mut session, "bad input");
}

/// Any statement ends, with or without an error, and leaves nothing behind.
fn check_ends(fixture: &Fixture, session: &mut database::Session, text: &str) {
    session.begin().expect("a transaction can be begun");
    session.set_timeout(Some(Duration::from_secs(20)));
    session.set_query_memory(Some(100_000_000));
    if let Err(error) = session.query(text, &Parameters::default()) {
        assert_ne!(error.code(), ErrorCode::Internal, "{text:.60}…: {error:?}");
        assert!(error.message().len() < 10_000, "{text:.60}…: a message of {} bytes", error.message().len());
    }
    session.rollback().expect("it can be rolled back");
    fixture.check(session, &format!("{text:.60}"));
}

#[test]
fn queries_of_a_megabyte_end() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    let chain = |operand: &str, operator: &str| {
        format!("RETURN {} AS x", vec![operand; (1 << 20) / (operand.len() + operator.len())].join(operator))
    };
    for text in [
        chain("1", "+"),
        chain("1", " - "),
        chain("2", "*"),
        chain("2", "^"),
        chain("true", " AND "),
        chain("$missing", " OR "),
        chain("true", " XOR "),
        chain("1", " < "),
        chain("'a'", " + "),
        chain("null", " IS NULL OR "),
        chain("[1]", " + "),
        format!("MATCH (n){} RETURN n", "-->()".repeat(200_000)),
        format!("MATCH {} RETURN 1", vec!["(:N)"; 200_000].join(", ")),
        format!("MATCH (n:{}) RETURN n", vec!["A"; 500_000].join("|")),
        format!("RETURN x{}", ".y".repeat(500_000)),
        format!("WITH 1 AS x {} RETURN x", "WITH x ".repeat(150_000)),
        format!("WITH 1 AS x {} RETURN x", "WHERE x > 0 WITH x ".repeat(55_000)),
        format!("RETURN 1 AS x{}", " UNION ALL RETURN 1 AS x".repeat(5_000)),
        format!("CREATE {}", vec!["(:M)"; 170_000].join(", ")),
        format!("RETURN CASE {} END AS x", "WHEN false THEN 1 ".repeat(58_000)),
        format!("MATCH (n:Nowhere) SET {}", vec!["n.x = 1"; 110_000].join(", ")),
        format!("UNWIND [1] AS a {} RETURN a", "CALL { RETURN 1 AS b } ".repeat(45_000)),
        format!("RETURN '{}' AS x", "a".repeat(1 << 20)),
        format!("RETURN {} AS x", "(".repeat(1 << 20)),
        "`".repeat(1 << 20),
        "é".repeat(1 << 19),
    ] {
        check_ends(&fixture, &mut session, &text);
    }
}

#[test]
fn queries_of_many_steps_run() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    let steps = model::limits::QUERY_STEPS_MAX;
    let numbered =
        |from: &str, count: usize| (0..count).map(|at| from.replace('#', &at.to_string())).collect::<String>();
    for text in [
        format!("WITH 1 AS x {}RETURN x", "WITH x ".repeat(steps - 2)),
        format!("WITH 1 AS x {}RETURN x", "WHERE x > 0 WITH x ".repeat(steps - 2)),
        format!("{}RETURN 1 AS x", numbered("UNWIND [1] AS x# ", steps - 1)),
        format!("{}RETURN 1 AS x", numbered("CREATE (:M) ", steps - 1)),
        format!("MATCH (n:N {{id: 1}}) {}RETURN 1 AS x", numbered("SET n.x = # ", steps - 3)),
        format!("{}RETURN 1 AS x", numbered("OPTIONAL MATCH (x#:Nowhere) ", 500)),
        format!("{}RETURN 1 AS x", numbered("CALL { RETURN 1 AS x# } ", 500)),
        format!("OPTIONAL MATCH (a:Nowhere){} RETURN 1 AS x", "-[:R]->()".repeat(200)),
        format!("OPTIONAL MATCH {} RETURN 1 AS x", vec!["(:Nowhere)"; 300].join(", ")),
    ] {
        session.begin().expect("a transaction can be begun");
        let result =
            session.query(&text, &Parameters::default()).unwrap_or_else(|error| panic!("{text:.60}: {error:?}"));
        assert_eq!(result.single(), Some(Value::Int(1)), "{text:.60}");
        session.query(&format!("EXPLAIN {text}"), &Parameters::default()).expect("it can be explained");
        session.rollback().expect("it can be rolled back");
    }
    let long = format!("WITH 1 AS x {}RETURN x", "WITH x ".repeat(steps));
    let error = session.query(&long, &Parameters::default()).err().expect("it has too many clauses");
    assert_eq!(error.code(), ErrorCode::Limit, "{error:?}");
    assert!(error.message().contains("more than 4000 clauses"), "{error:?}");
}

#[test]
fn values_that_must_be_unique_are_exchanged_over_any_number_of_rows() {
    const ROWS: i64 = 30_000;
    let folder = Folder::new();
    let config = Config { durability: Durability::Off, threads: 2, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
    let mut session = database.session();
    let mut run = |text: &str, memory: Option<usize>| {
        session.set_query_memory(memory);
        session.query(text, &Parameters::default())
    };
    for text in [
        "CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE",
        "CREATE CONSTRAINT FOR (n:N) REQUIRE (n.a, n.b) IS UNIQUE",
        "CREATE CONSTRAINT FOR ()-[r:R]-() REQUIRE r.id IS UNIQUE",
        &format!("UNWIND range(1, {ROWS}) AS i CREATE (n:N {{id: i, a: 1, b: i}})-[:R {{id: i}}]->(n)"),
    ] {
        run(text, None).expect(text);
    }
    // With so little memory the rows are worked on in blocks, none of which is unique by itself.
    for memory in [None, Some(300_000)] {
        for (text, of) in [
            ("MATCH (n:N) SET n.id = n.id + 1", "n.id"),
            ("MATCH (n:N) SET n.b = 40000 - n.b", "n.b"),
            ("MATCH (n:N)-[r:R]->() SET r.id = r.id - 1", "r.id"),
        ] {
            run(text, memory).unwrap_or_else(|error| panic!("{memory:?}: {text}: {error}"));
            let count = format!("MATCH (n:N)-[r:R]->() RETURN count(DISTINCT {of})");
            assert_eq!(run(&count, None).expect("a count").single(), Some(Value::Int(ROWS)), "{memory:?}: {text}");
        }
        // In the end two would have the same.
        for text in [
            "MATCH (n:N) SET n.id = CASE WHEN n.id % 20000 = 7 THEN 7 ELSE n.id + 1 END",
            "MATCH (n:N) SET n.b = n.b % 29999",
            "MATCH (n:N)-[r:R]->() SET r.id = r.id % 29990",
        ] {
            let before = run("MATCH (n:N)-[r:R]->() RETURN sum(n.id), sum(n.b), sum(r.id)", None).expect("sums");
            let error = run(text, memory).err().unwrap_or_else(|| panic!("{memory:?}: {text}: two have the same"));
            assert_eq!(error.code(), ErrorCode::Constraint, "{memory:?}: {text}: {error}");
            let after = run("MATCH (n:N)-[r:R]->() RETURN sum(n.id), sum(n.b), sum(r.id)", None).expect("sums");
            assert_eq!(before.rows().collect::<Vec<_>>(), after.rows().collect::<Vec<_>>(), "{memory:?}: {text}");
        }
    }
    let text = "UNWIND [3, 30002] AS id MATCH (n:N {id: id}) RETURN count(n)";
    assert_eq!(run(text, None).expect(text).single(), Some(Value::Int(2)));
}

#[test]
fn what_is_computed_of_rows_that_are_written_takes_memory_for_few_at_a_time() {
    let fixture = Fixture::new();
    let mut session = fixture.database.session();
    for text in [
        "UNWIND range(1, 200000) AS i CREATE (:M {i: i, s: 'a text of some length ' + toString(i)})",
        "UNWIND range(1, 200000) AS i CREATE (:M {s: 'a text of some length ' + toString(i)})-[:S {s: 't' + toString(i)}]->(:X)",
        "UNWIND range(1, 200000) AS i CREATE (m:M) SET m.s = 'a text of some length ' + toString(i)",
    ] {
        session.set_query_memory(Some(6_000_000));
        session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        session.set_query_memory(None);
        let made =
            session.query("MATCH (m:M) WHERE size(m.s) > 22 RETURN count(*)", &Parameters::default()).expect(text);
        assert_eq!(made.single(), Some(Value::Int(200_000)), "{text}");
        session.query("MATCH (m) WHERE m:M OR m:X DETACH DELETE m", &Parameters::default()).expect(text);
        fixture.check(&mut session, text);
    }
}
