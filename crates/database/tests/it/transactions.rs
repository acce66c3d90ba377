//! Tests of visibility between transactions, and of what a failing and a cancelled statement leave.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use database::{Access, Config, Database, Durability, ErrorCode, Interrupt, Parameters, QueryResult, Session, Value};

use crate::engine::answer_of;
use testing::Folder;

fn open(folder: &Folder) -> Database {
    Database::open(&folder.join("store.knot"), Config::default()).expect("a store can be opened")
}

/// Runs statements; each must give the rows that stand beside it, as `a,b; c,d`, or the code of an error.
fn check(session: &mut Session, steps: &[(&str, &str)]) {
    for (text, expected) in steps {
        let found = match answer_of(session, text, &Parameters::default()) {
            Ok(answer) => answer.rows.iter().map(|row| row.join(",")).collect::<Vec<_>>().join("; "),
            Err(error) => error.code().name().to_string(),
        };
        assert_eq!(found, *expected, "{text}");
    }
}

const COUNT: &str = "MATCH (n) RETURN count(n)";

#[test]
fn a_transaction_shows_to_others_when_it_commits() {
    let folder = Folder::new();
    let database = open(&folder);
    let (mut writer, mut reader) = (database.session(), database.session());
    check(&mut writer, &[("CREATE (:A {n: 1})", ""), ("BEGIN", ""), ("CREATE (:A {n: 2})", ""), (COUNT, "2")]);
    check(&mut reader, &[(COUNT, "1")]);
    check(&mut writer, &[("MATCH (a:A {n: 1}) SET a.n = 10", ""), ("MATCH (a:A) RETURN a.n ORDER BY a.n", "2; 10")]);
    check(&mut reader, &[("MATCH (a:A) RETURN a.n", "1")]);
    check(&mut writer, &[("COMMIT", ""), (COUNT, "2")]);
    check(&mut reader, &[("MATCH (a:A) RETURN a.n ORDER BY a.n", "2; 10")]);
    check(&mut writer, &[("BEGIN", ""), ("MATCH (n) DETACH DELETE n", ""), (COUNT, "0")]);
    check(&mut reader, &[(COUNT, "2")]);
    check(&mut writer, &[("ROLLBACK", ""), (COUNT, "2")]);
}

#[test]
fn a_session_says_what_state_it_is_in() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    check(&mut session, &[("COMMIT", "TRANSACTION_STATE"), ("ROLLBACK", "TRANSACTION_STATE"), ("BEGIN", "")]);
    assert!(session.in_transaction());
    check(&mut session, &[("BEGIN", "TRANSACTION_STATE"), ("CREATE (:A)", ""), ("COMMIT", ""), (COUNT, "1")]);
    assert!(!session.in_transaction());
    session.begin().expect("no transaction is open");
    check(&mut session, &[("CREATE (:A)", "")]);
    drop(session);
    check(&mut database.session(), &[(COUNT, "1"), ("CREATE (:A)", ""), (COUNT, "2")]);
}

/// Statements that fail after they have written something.
const FAILING: &[(&str, &str)] = &[
    ("UNWIND [1, 0] AS d CREATE (:B {n: 1 / d})", "ARITHMETIC"),
    ("CREATE (:B {n: 1}) CREATE (:K {id: 1})", "CONSTRAINT"),
    ("MATCH (k:K) SET k.id = 9, k.x = {a: 1}", "TYPE"),
    ("MATCH (k:K) CREATE (k)-[:R]->(:B) DELETE k", "STILL_CONNECTED"),
    ("MERGE (b:B {n: 5}) WITH b RETURN b.n / 0", "ARITHMETIC"),
    ("MATCH (k:K) REMOVE k:K SET k:L WITH k UNWIND ['x'] AS x RETURN x * 2", "TYPE"),
];

#[test]
fn a_statement_that_fails_leaves_no_trace() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    check(&mut session, &[("CREATE CONSTRAINT k FOR (k:K) REQUIRE k.id IS UNIQUE", ""), ("CREATE (:K {id: 1})", "")]);
    let untouched = ("MATCH (n) RETURN n", "(:K {id: 1})");
    for step in FAILING {
        check(&mut session, &[*step, untouched]);
    }
    // Within a transaction it is undone alone, and the transaction goes on.
    check(&mut session, &[("BEGIN", ""), ("CREATE (:C {n: 0})", "")]);
    for step in FAILING {
        check(&mut session, &[*step, ("MATCH (n) RETURN n ORDER BY n.id", "(:K {id: 1}); (:C {n: 0})")]);
    }
    check(&mut session, &[("MATCH (c:C) SET c.n = 1", ""), ("COMMIT", ""), ("MATCH (c:C) RETURN c.n", "1")]);
    drop(session);
    drop(database);
    let database = open(&folder);
    check(&mut database.session(), &[("MATCH (n) RETURN n ORDER BY n.id", "(:K {id: 1}); (:C {n: 1})")]);
}

#[test]
fn a_reader_keeps_its_snapshot() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    check(&mut session, &[("UNWIND range(1, 100) AS i CREATE (:A {n: i})", "")]);
    let before = database.store().read().expect("a snapshot can be taken");
    check(&mut session, &[("MATCH (a:A) WHERE a.n > 50 DELETE a", ""), ("MATCH (a:A) SET a.n = -a.n", "")]);
    database.checkpoint().expect("a checkpoint can be made");
    check(&mut session, &[("CREATE (:A {n: 7})", "")]);
    assert_eq!(before.statistics().nodes, 100);
    let mut cursor = before.scan(&model::NodeScan::default()).expect("a snapshot can be read");
    let mut batch = model::NodeBatch::default();
    let mut nodes = Vec::new();
    while cursor.next(&mut batch).expect("a snapshot can be read") {
        nodes.extend_from_slice(&batch.nodes);
    }
    let key = before.schema().property_key("n").expect("it has been used");
    let values = before.node_properties(&nodes, &[key]).expect("a snapshot can be read").remove(0);
    let mut values: Vec<Value> = values.values().collect();
    values.sort();
    assert_eq!(values, (1..=100).map(Value::Int).collect::<Vec<_>>());
    check(&mut session, &[(COUNT, "51")]);
}

/// Every statement of the writer moves ten units from one node to another: no reader may see another sum.
#[test]
fn readers_see_whole_statements_while_a_writer_goes_on() {
    let folder = Folder::new();
    let database = open(&folder);
    check(&mut database.session(), &[("UNWIND range(0, 9) AS i CREATE (:Account {i: i, sum: 100})", "")]);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = database.session();
            for round in 0..60_i64 {
                let parameters = [("a", round % 10), ("b", (round * 7 + 3) % 10)];
                let parameters = parameters.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
                let text = "MATCH (a:Account {i: $a}), (b:Account {i: $b}) SET a.sum = a.sum - 10 \
                            SET b.sum = b.sum + 10 CREATE (a)-[:PAID {sum: 10}]->(b)";
                session.query(text, &parameters).expect("the writer can write");
                if round % 20 == 19 {
                    database.checkpoint().expect("a checkpoint can be made");
                }
            }
            ended.store(true, Ordering::Relaxed);
        });
        let mut session = database.session();
        let mut paid = -1;
        loop {
            let is_last = ended.load(Ordering::Relaxed);
            check(&mut session, &[("MATCH (a:Account) RETURN sum(a.sum), count(a)", "1000,10")]);
            let now = session.query("MATCH ()-[p:PAID]->() RETURN count(p)", &Parameters::default()).unwrap().single();
            let Some(Value::Int(now)) = now else { panic!("a count is an integer") };
            assert!(now >= paid, "time does not run backwards");
            paid = now;
            if is_last {
                break;
            }
        }
        assert_eq!(paid, 60);
    });
}

/// Plans may rest on facts of the store; they are made anew when a fact ceases to hold.
#[test]
fn cached_plans_follow_the_store() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    let labelled = "MATCH (a:A) RETURN count(a)";
    let typed = "MATCH (:A)-[:R]->(x:A) RETURN count(x)";
    check(&mut session, &[("CREATE (:A)-[:R]->(:A)", ""), (labelled, "2"), (typed, "1")]);
    // The label no longer covers all nodes.
    check(&mut session, &[("MATCH (a:A)-[:R]->() CREATE (a)-[:R]->(:B)", ""), (labelled, "2"), (typed, "1")]);
    check(&mut session, &[("MATCH (b:B) SET b:A", ""), (labelled, "3"), (typed, "2")]);
    check(&mut session, &[("MATCH (b:B) REMOVE b:A", ""), (labelled, "2"), (typed, "1")]);
    // Within a transaction, the facts are those of the transaction.
    check(&mut session, &[("MATCH (b:B) DETACH DELETE b", ""), (labelled, "2"), ("BEGIN", ""), ("CREATE (:B)", "")]);
    check(&mut session, &[(labelled, "2"), ("ROLLBACK", ""), (labelled, "2")]);
    // One statement that ends the fact on its way.
    check(&mut session, &[("CREATE (:B) WITH 1 AS one MATCH (a:A) RETURN count(a)", "2"), (labelled, "2")]);
    // An index that is there, and then is not.
    let found = "MATCH (k:K {id: 1}) RETURN count(k)";
    check(&mut session, &[("CREATE (:K {id: 1})", ""), (found, "1")]);
    check(&mut session, &[("CREATE CONSTRAINT k FOR (k:K) REQUIRE k.id IS UNIQUE", ""), (found, "1")]);
    check(&mut session, &[("DROP CONSTRAINT k", ""), ("CREATE (:K {id: 1})", ""), (found, "2")]);
    // Names that come into being.
    let missing = "MATCH (n:New) WHERE n.fresh = 1 RETURN count(n)";
    check(&mut session, &[(missing, "0"), ("CREATE (:New {fresh: 1})", ""), (missing, "1")]);
}

#[test]
fn a_cancelled_statement_leaves_the_session_usable() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    check(&mut session, &[("UNWIND range(1, 200) AS i CREATE (:A {n: i})", "")]);
    let endless = [
        "MATCH (a:A), (b:A), (c:A), (d:A), (e:A) RETURN count(a.n + b.n + c.n + d.n + e.n)",
        "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a * b)",
        "UNWIND range(1, 10000) AS i UNWIND range(1, 10000) AS j UNWIND range(1, 1000) AS k \
         WITH k WHERE k < 0 CREATE (:B {k: k})",
    ];
    for text in endless {
        let interrupt = session.interrupt();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The flag is lowered when a statement starts, so it is raised until the statement has ended.
                while !ended.load(Ordering::Relaxed) {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    interrupt.cancel();
                }
            });
            let outcome = session.query(text, &Parameters::default());
            ended.store(true, Ordering::Relaxed);
            assert_eq!(outcome.err().map(|error| error.code()), Some(ErrorCode::Cancelled), "{text}");
        });
        check(&mut session, &[(COUNT, "200")]);
    }
}

#[test]
fn a_store_can_be_opened_for_reading_only() {
    let folder = Folder::new();
    let path = folder.join("store.knot");
    let config = Config { access: Access::ReadOnly, ..Config::default() };
    assert_eq!(Database::open(&path, config.clone()).err().map(|error| error.code()), Some(ErrorCode::NotAStore));
    let database = open(&folder);
    check(&mut database.session(), &[("CREATE (:A)", "")]);
    assert_eq!(Database::open(&path, Config::default()).err().map(|error| error.code()), Some(ErrorCode::Busy));
    drop(database);
    let database = Database::open(&path, config).expect("a store can be opened for reading");
    check(&mut database.session(), &[(COUNT, "1"), ("CREATE (:A)", "READ_ONLY"), (COUNT, "1")]);
}

#[test]
fn a_transaction_on_a_store_that_is_only_read_stays_at_its_moment() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut writer = database.session();
    check(&mut writer, &[("CREATE (:A)", "")]);
    let config = Config { access: Access::ReadOnly, ..Config::default() };
    let reader = Database::open(&folder.join("store.knot"), config).expect("a store can be read beside its writer");
    let mut session = reader.session();
    check(&mut session, &[("BEGIN", ""), (COUNT, "1"), ("CREATE (:A)", "READ_ONLY"), ("BEGIN", "TRANSACTION_STATE")]);
    check(&mut session, &[("CREATE INDEX FOR (a:A) ON (a.i)", "READ_ONLY")]);
    check(&mut writer, &[("CREATE (:A)", "")]);
    assert!(reader.refresh(&Interrupt::new()).expect("the writer's files can be read"));
    assert!(session.in_transaction());
    check(&mut session, &[(COUNT, "1"), ("COMMIT", ""), (COUNT, "2"), ("COMMIT", "TRANSACTION_STATE")]);
    check(&mut session, &[("BEGIN", ""), (COUNT, "2"), ("ROLLBACK", ""), ("ROLLBACK", "TRANSACTION_STATE")]);
    assert!(!session.in_transaction());
}

/// Runs a statement in many sessions at once, each several times with the numbers from 0 on.
fn race(database: &Database, sessions: usize, numbers: i64, statement: &str) {
    std::thread::scope(|scope| {
        for _ in 0..sessions {
            scope.spawn(|| {
                let mut session = database.session();
                for number in 0..numbers {
                    let parameters = Parameters::from_iter([("i".into(), Value::Int(number))]);
                    session.query(statement, &parameters).expect("statements are tried again after a conflict");
                }
            });
        }
    });
}

#[test]
fn what_many_sessions_merge_is_there_once() {
    let folder = Folder::new();
    let database = open(&folder);
    race(&database, 4, 25, "MERGE (:N {id: $i, kind: 'x'})");
    race(&database, 4, 25, "MATCH (a:N {id: $i}), (b:N {id: ($i + 1) % 25}) MERGE (a)-[:E {since: 1}]->(b)");
    race(&database, 4, 25, "MATCH (a:N {id: $i}) MERGE (a)-[:HAS]->(:M {id: $i})");
    let counts = [
        ("MATCH (n:N) RETURN count(n)", "25"),
        ("MATCH (:N)-[e:E]->(:N) RETURN count(e)", "25"),
        ("MATCH (:N)-[e:HAS]->(:M) RETURN count(e)", "25"),
        ("MATCH (m:M) RETURN count(m)", "25"),
    ];
    check(&mut database.session(), &counts);
}

#[test]
fn counting_up_in_many_sessions_loses_nothing() {
    let folder = Folder::new();
    let database = open(&folder);
    check(&mut database.session(), &[("CREATE (:N {id: 0, count: 0})", "")]);
    race(&database, 4, 50, "MATCH (n:N {id: 0}) SET n.count = n.count + 1");
    check(&mut database.session(), &[("MATCH (n:N) RETURN n.count", "200")]);
}

#[test]
fn a_subquery_in_transactions_commits_by_itself_and_not_within_a_transaction() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    let create = "UNWIND [4, 2, 0, 1] AS x CALL (x) { CREATE (:A {n: 4 / x}) } IN TRANSACTIONS OF 1 ROWS";
    check(&mut session, &[(create, "ARITHMETIC"), ("MATCH (a:A) RETURN a.n ORDER BY a.n", "1; 2")]);
    check(&mut session, &[("BEGIN", ""), (create, "TRANSACTION_STATE"), (COUNT, "2"), ("ROLLBACK", ""), (COUNT, "2")]);
    // Rows are read from the moment the statement began; what follows the subquery sees what it committed.
    let delete = "MATCH (a:A) CALL (a) { CREATE (:A) } IN TRANSACTIONS OF 1 ROWS WITH count(*) AS c \
                  RETURN c, COUNT { MATCH (a:A) } AS after";
    check(&mut session, &[(delete, "2,4"), (COUNT, "4")]);
}

/// A session holds the database open by itself, and may work on any thread.
#[test]
fn a_session_outlives_the_handle_it_came_from() {
    let folder = Folder::new();
    let database = open(&folder);
    let (handle, mut session) = (database.clone(), database.session());
    drop(database);
    let written = std::thread::spawn(move || {
        session.query("CREATE (:N {id: 1})", &Parameters::default()).expect("it can be written");
    });
    written.join().expect("the thread ends well");
    let found = handle.session().query("MATCH (n:N) RETURN n.id", &Parameters::default()).expect("it can be read");
    assert_eq!(found.single(), Some(1.into()));
    let path = folder.join("store.knot");
    assert_eq!(Database::open(&path, Config::default()).err().map(|error| error.code()), Some(ErrorCode::Busy));
    drop(handle);
    assert!(Database::open(&path, Config::default()).is_ok());
}

/// A database in whose memory a statement of `LARGE` has no room.
fn open_with_little_memory(folder: &Folder) -> Database {
    let config = Config { memory_bytes_max: Some(16 << 20), durability: Durability::Off, ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened")
}

const LARGE: &str = "UNWIND range(1, 30000) AS i CREATE (:N {i: i, text: 'some text that takes some room'})";

#[test]
fn others_are_told_of_a_large_transaction_that_is_left_open() {
    let folder = Folder::new();
    let database = open_with_little_memory(&folder);
    let (mut large, mut other) = (database.session(), database.session());
    check(&mut other, &[("BEGIN", ""), ("CREATE (:M)", "")]);
    check(&mut large, &[("BEGIN", ""), (LARGE, ""), (COUNT, "30000")]);
    let told = |error: database::Error| {
        assert_eq!(error.code(), ErrorCode::Conflict, "{error:?}");
        assert!(error.remedy().starts_with("commit that transaction or roll it back"), "{error:?}");
    };
    std::thread::scope(|scope| {
        // A commit that is tried for a short time only is not given up halfway.
        scope.spawn(|| {
            let (parameters, mut sink) = (Parameters::default(), QueryResult::default());
            let limit = Duration::from_millis(1);
            told(other.run_briefly("COMMIT", &parameters, &mut sink, limit).expect_err("it cannot commit"));
        });
        scope.spawn(|| {
            let mut third = database.session();
            third.set_timeout(Some(Duration::from_millis(100)));
            check(&mut third, &[("CREATE (:M)", "TIMEOUT")]);
            third.set_timeout(None);
            // Told once, not after a hundred attempts.
            told(third.query("CREATE (:M)", &Parameters::default()).err().expect("it cannot commit"));
        });
    });
    check(&mut large, &[("ROLLBACK", "")]);
    check(&mut other, &[(COUNT, "0"), ("CREATE (:M)", ""), (COUNT, "1")]);
}

#[test]
fn a_large_statement_that_fails_lets_others_commit() {
    let folder = Folder::new();
    let database = open_with_little_memory(&folder);
    let (mut large, mut other) = (database.session(), database.session());
    let failing = format!("{LARGE} WITH i CREATE (:N {{n: 1 / (30000 - i)}})");
    check(&mut large, &[("BEGIN", ""), ("CREATE (:M)", ""), (&failing, "ARITHMETIC"), (COUNT, "1")]);
    check(&mut other, &[("CREATE (:M)", ""), (COUNT, "1")]);
    check(&mut large, &[("COMMIT", ""), (COUNT, "2")]);
    check(&mut other, &[(&failing, "ARITHMETIC"), (COUNT, "2")]);
    check(&mut large, &[("CREATE (:M)", ""), (COUNT, "3")]);
}

#[test]
fn a_large_statement_gets_through_beside_others() {
    let folder = Folder::new();
    let database = open_with_little_memory(&folder);
    let is_done = AtomicBool::new(false);
    let committed = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let (mut session, mut committed) = (database.session(), 0);
            while !is_done.load(Ordering::Relaxed) {
                check(&mut session, &[("CREATE (:M)", "")]);
                committed += 1;
            }
            committed
        });
        let mut session = database.session();
        check(&mut session, &[(LARGE, ""), (LARGE, "")]);
        is_done.store(true, Ordering::Relaxed);
        others.join().expect("the others commit")
    });
    let count = format!("{}", 60_000 + committed);
    check(&mut database.session(), &[(COUNT, &count)]);
}

#[test]
fn what_is_deleted_may_be_more_than_memory_has_room_for() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    check(&mut session, &[("UNWIND range(1, 60000) AS i CREATE (:N {i: i})-[:E]->(:M)", "")]);
    session.set_query_memory(Some(256 << 10));
    let mut delete =
        |text: &str| session.query(text, &Parameters::default()).expect("there is room on the disk").summary;
    let edges = delete("MATCH (n:N)-[r]->() WHERE n.i > 1000 DELETE r");
    assert_eq!(edges.counters.edges_deleted, 59_000);
    // Each relationship is found from both of its ends, and counted once.
    let all = delete("MATCH (n) DETACH DELETE n");
    assert_eq!((all.counters.nodes_deleted, all.counters.edges_deleted), (120_000, 1_000));
    assert!(edges.spilled_bytes > 0 && all.spilled_bytes > 0);
    check(&mut session, &[(COUNT, "0")]);
}
