//! Statements that are stopped at any moment: every operator, function, aggregate and procedure, from their lists, so that a
//! new one is not left out.
//!
//! Time is counted in looks at the clock, and the interrupt looks at the clock whenever it is asked: a limit of `n` stops a
//! statement at its `n`-th check. That there are enough checks is asserted in rows and in the size of what is made.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use database::{Config, Database, Durability, ErrorCode, Parameters, QueryResult, ReplanRule, Result, Session, Value};
use model::Consumer;
use testing::Folder;
use testing::random::{SeededRandom, seed_or};
use testing::simulation::Ticks;

const NODES: i64 = 6_000;
/// Nodes for what is computed over all pairs of them.
const FEW_NODES: i64 = 1_500;

struct Fixture {
    _folder: Folder,
    database: Database,
    session: Session,
    ticks: Arc<Ticks>,
    parameters: Parameters,
    random: SeededRandom,
    seed: u64,
}

impl Fixture {
    fn new(threads: usize) -> Fixture {
        Fixture::of(threads, NODES)
    }

    fn of(threads: usize, nodes: i64) -> Fixture {
        Fixture::replanning(threads, nodes, ReplanRule::default())
    }

    fn replanning(threads: usize, nodes: i64, replan: ReplanRule) -> Fixture {
        let folder = Folder::new();
        let config = Config { durability: Durability::Off, threads, replan, ..Config::default() };
        let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
        let mut session = database.session();
        for text in [
            &format!(
                "UNWIND range(1, {nodes}) AS i CREATE (:N {{id: i, k: i % 10, w: i % 7 + 0.5, s: 's' + toString(i)}})"
            ),
            "CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE",
            "CREATE INDEX FOR (n:N) ON (n.k)",
            "UNWIND [1, 20, 400] AS d MATCH (a:N) MATCH (b:N) WHERE b.id = a.id + d
             CREATE (a)-[:R {w: (a.id + b.id) % 11 + 1.0, k: b.id}]->(b)",
            "CREATE INDEX FOR ()-[r:R]-() ON (r.k)",
            "UNWIND range(1, 500) AS i CREATE (:Far {id: i, w: 1.5})",
            "MATCH (a:Far), (b:Far) WHERE b.id = a.id + 1 CREATE (a)-[:F {w: 1.0}]->(b)",
        ] {
            session.query(text, &Parameters::default()).expect(text);
        }
        let (seed, ticks) = (seed_or(5), Arc::new(Ticks::default()));
        session.time_by(ticks.clone());
        let (parameters, random) = (Parameters::default(), SeededRandom::new(seed));
        Fixture { _folder: folder, database, session, ticks, parameters, random, seed }
    }

    /// Runs a statement that may look at the interrupt so often: what it gives, and how often it has looked.
    fn run(&mut self, text: &str, checks: u64) -> (Result<QueryResult>, u64) {
        self.session.set_timeout(Some(Duration::from_nanos(checks)));
        let before = self.ticks.count();
        let outcome = self.session.query(text, &self.parameters);
        let after = self.ticks.count();
        self.session.set_timeout(None);
        (outcome, after - before)
    }

    /// A summary of the content of the store.
    fn state(&mut self) -> Vec<Vec<Value>> {
        let text = "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(DISTINCT n), count(r), sum(r.w), sum(n.k), sum(n.x), \
                    count(r.x), count(DISTINCT labels(n))";
        let schema = "SHOW INDEXES YIELD name RETURN collect(name)";
        let mut rows = self.session.query(text, &Parameters::default()).expect(text).rows().collect::<Vec<_>>();
        rows.extend(self.session.query(schema, &Parameters::default()).expect(schema).rows());
        rows
    }

    /// Runs a statement to its end, in a transaction that is undone; then stops it at a few of its checks, of which no trace
    /// is left. Gives what it gave, and how often it looked.
    fn stop(&mut self, text: &str, is_transactional: bool) -> (QueryResult, u64) {
        let before = self.state();
        let begin = |session: &mut Session| if is_transactional { session.begin() } else { Ok(()) };
        begin(&mut self.session).expect("a transaction");
        let (outcome, checks) = self.run(text, u64::MAX / 2);
        let result = outcome.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        if is_transactional {
            self.session.rollback().expect("it is undone");
        }
        let mut moments = vec![0, checks / 3];
        moments.extend((0..3).map(|_| self.random.below(checks / 2 + 1)));
        for moment in moments {
            let place = format!("FUZZ_SEED={}, check {moment} of {checks}: {text}", self.seed);
            begin(&mut self.session).expect("a transaction");
            let error = self.run(text, moment).0.err().unwrap_or_else(|| panic!("{place}: it was not stopped"));
            assert_eq!(error.code(), ErrorCode::Timeout, "{place}: {error:?}");
            if is_transactional {
                assert_eq!(before, self.state(), "{place}");
                self.session.rollback().expect("it is undone");
                assert_eq!(before, self.state(), "{place}");
            }
            assert_eq!(self.database.memory().used_by(Consumer::Query), 0, "{place}");
            assert_eq!(self.database.spill_space().open_files(), 0, "{place}");
        }
        (result, checks)
    }

    /// The first column of a statement's rows, as texts.
    fn names(&mut self, text: &str) -> Vec<String> {
        let result = self.session.query(text, &Parameters::default()).expect(text);
        let name = |row: Vec<Value>| if let Value::String(name) = &row[0] { name.to_string() } else { String::new() };
        result.rows().map(name).collect()
    }
}

/// Rows that an operator may give between two checks.
const ROWS_BETWEEN_CHECKS: u64 = 4_096;

/// Statements in which all operators do some work. Each runs in a transaction, except those that commit by themselves.
const STATEMENTS: &[&str] = &[
    "UNWIND range(1, 200000) AS i RETURN sum(i)",
    "MATCH (n:N) WHERE n.w > 3 RETURN n.id, n.s",
    "UNWIND range(1, 6000) AS i MATCH (n:N {id: i}) RETURN count(n.s)",
    "UNWIND range(1, 50) AS i MATCH (n:N {k: i % 10}) RETURN count(n.s)",
    "MATCH (n:N) WHERE n.k > 2 AND n.k < 4 RETURN sum(n.w)",
    "UNWIND range(1, 50) AS i MATCH ()-[r:R {k: 1000}]->() RETURN r",
    "MATCH (a)-[r:R]->(b) WHERE r.k > 100 AND r.k < 900 RETURN a.s, r.w",
    "UNWIND range(0, 5999) AS i MATCH (n) WHERE id(n) = i RETURN count(n.s)",
    "MATCH (n:N|Far) RETURN count(n.id)",
    "MATCH ()-[r:R]->() WITH elementId(r) AS e LIMIT 5000 MATCH ()-[s]->() WHERE elementId(s) = e RETURN count(s.w)",
    "MATCH (a:N)-[r:R]->(b) RETURN a.id, r.w, b.id",
    "MATCH (a:N)-[:R*1..3]->(b) RETURN a.id, b.id",
    "MATCH p = (a:N)-[:R]->(b) RETURN p",
    "MATCH (a:N {id: 1}), (b:N {id: 6000}) MATCH p = shortestPath((a)-[:R*]->(b)) RETURN length(p)",
    "MATCH p = SHORTEST 300 (a:N {id: 1})-[:R]->+(b:N {id: 900}) RETURN length(p)",
    "MATCH p = ACYCLIC (a:N {id: 1})-[:R]->{1,9}(b) RETURN count(p)",
    "MATCH (a:N)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN count(a.w + b.w + c.w)",
    "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)",
    "MATCH (n:N) RETURN DISTINCT n.id % 5000",
    "MATCH (n:N) RETURN n.id % 5000 AS x, count(*), collect(n.s)",
    "MATCH (n:N) RETURN n.id ORDER BY n.s",
    "MATCH (n:N) RETURN n.id ORDER BY n.s LIMIT 5500",
    "MATCH (n:N) RETURN n.id SKIP 20 LIMIT 5900",
    "MATCH (n:N) RETURN n.id AS x UNION MATCH (n:N) RETURN n.k AS x UNION MATCH (n:Far) RETURN n.id AS x",
    "MATCH (n:N) CALL (n) { MATCH (n)-[:R]->(m) RETURN sum(m.w) AS s } RETURN n.id, s",
    "MATCH (n:N) OPTIONAL MATCH (n)-[:R]->(m) WHERE m.k = 3 RETURN n.id, m.id",
    "MATCH (n:N) WHERE EXISTS { (n)-[:R]->(m) WHERE m.k = 3 } RETURN n.id",
    "MATCH (n:N) WHERE NOT EXISTS { (n)-[:R]->(m) WHERE m.k = 3 } RETURN n.id",
    "MATCH (a:Far), (b:Far) RETURN count(a.id + b.id)",
    "MATCH (a:N), (b:Far) WHERE a.w = b.id + 0.5 RETURN count(a.k + b.id)",
    "MATCH (a:N)-[:R]->(b)-[:R]->(c) RETURN count(*)",
    "MATCH (a:N)-[:R]->(b)-[:R]->(c) RETURN b.k, c.k, count(*)",
    "MATCH (a:N)-[:R]->(b) MATCH (b)-[:R]->(c) RETURN b.k, c.k, avg(c.w)",
    "MATCH (n:N) CALL (n) { MATCH (n)-[:R]->(m) WITH m.k AS k, count(*) AS c RETURN n.id + k AS x, c } RETURN x, c",
    "MATCH (n:N) CALL (n) { MATCH (n)-[:R]->(m) RETURN count(m) + n.k AS c } RETURN n.id, c",
    "CALL algo.wcc({}) YIELD node, component RETURN count(node)",
    "CREATE REL TABLE Held(FROM N TO N)",
    "CREATE SORT KEY FOR ()-[r:R]-() ON (r.w)",
    "UNWIND range(1, 20000) AS i CREATE (:Made {x: i})-[:TO {x: i}]->(:Made)",
    "UNWIND range(1, 3000) AS i MERGE (:Found {x: i % 700})",
    "MATCH (n:N) SET n.x = n.id, n.y = n.s",
    "MATCH (n:N) SET n:Other REMOVE n.k",
    "MATCH (n:N) SET n.id = 6001 - n.id",
    "MATCH ()-[r:R]->() SET r.x = r.k + 1",
    "MATCH ()-[r:R]->() DELETE r",
    "MATCH (n:N) DETACH DELETE n",
    "FOREACH (i IN range(1, 3000) | MERGE (:Found {x: i % 700}))",
    "MATCH (n:N) CALL (n) { SET n.x = n.id RETURN n.x AS v } RETURN count(v)",
    "MATCH (n:N) OPTIONAL CALL (n) { SET n.x = 1 RETURN n.x AS w } RETURN count(w)",
    "CREATE CONSTRAINT made FOR (n:N) REQUIRE n.s IS NOT NULL",
    "CREATE INDEX made FOR ()-[r:R]-() ON (r.w)",
    "MATCH (n:N) WHERE any(x IN range(1, 300) WHERE x = n.id) RETURN count(n)",
    "MATCH (n:N) WITH collect(n.id) AS l MATCH (n:N) WHERE n.id + 1 IN l AND [n.id] IN l RETURN count(*)",
    "UNWIND range(1, 400) AS i RETURN count('aaaaaaaaaaaaaaa' =~ ('a+' + toString(i) + '?'))",
    "RETURN reduce(s = 0, i IN range(1, 20000) | s + i)",
    "UNWIND range(1, 20000) AS i WITH percentileCont(i, 0.5) AS a, stDev(i) AS b, max(i) AS c RETURN a, b, c",
];

/// Statements of few rows, and those whose work is not counted in rows.
const WITHOUT_ROWS: &[&str] = &["CREATE REL TABLE", "CREATE SORT KEY"];

#[test]
fn every_operator_can_be_stopped_at_every_check() {
    // The last two are of attached databases, and no plan shows `Held`: see below.
    let elsewhere = ["DropSortKey", "DropConstraint", "DropIndex", "Held", "PushedAggregate", "PushedJoin"];
    let mut seen = BTreeSet::from(elsewhere.map(str::to_owned));
    for threads in [1, 2] {
        let mut fixture = Fixture::new(threads);
        for text in STATEMENTS {
            if !WITHOUT_ROWS.iter().any(|start| text.starts_with(start)) {
                let (result, checks) = fixture.stop(text, true);
                let rows = result.rows().count() as u64;
                assert!(checks > rows / ROWS_BETWEEN_CHECKS, "{text}: {checks} checks for {rows} rows");
            }
            let plan = fixture.session.query(&format!("EXPLAIN {text}"), &Parameters::default()).expect(text);
            let plan = plan.summary.report.expect("a plan");
            seen.extend(plan.lines.iter().map(|line| line.operator.to_owned()));
            if text.starts_with("CREATE REL") || text.starts_with("CREATE SORT") {
                continue;
            }
            fixture.session.begin().expect("a transaction");
            let (profiled, checks) = fixture.run(&format!("PROFILE {text}"), u64::MAX / 2);
            fixture.session.rollback().expect("it is undone");
            let profiled = profiled.expect(text).summary.report.expect("a profile");
            let rows = profiled.lines.iter().map(|line| line.actual.map_or(0, |actual| actual.rows)).max().unwrap_or(0);
            assert!(checks >= rows / ROWS_BETWEEN_CHECKS, "{text}: {checks} checks for {rows} rows of an operator");
        }
    }
    let source = include_str!("../../../cypher/src/plan/explain/details.rs");
    let names =
        source.lines().filter_map(|line| line.trim().strip_prefix("Kind::")?.split("=> \"").nth(1)?.split('"').next());
    let missing: Vec<&str> = names.filter(|name| !seen.contains(*name)).collect();
    assert!(missing.is_empty(), "no statement here has the operators {missing:?}");
}

#[test]
fn a_statement_whose_rest_is_made_anew_can_be_stopped() {
    for threads in [1, 2] {
        let mut fixture = Fixture::replanning(threads, NODES, ReplanRule { factor: 1.0, work_min: 0.0 });
        for text in [
            "MATCH (n:N) WITH DISTINCT n.id AS x MATCH (m:N {id: x}) RETURN m.s",
            "MATCH (n:N) WITH n ORDER BY n.s MATCH (n)-[:R]->(m) WITH m, count(*) AS c MATCH (m)-[:R]->(o) RETURN o.id, c",
            "MATCH (n:N) WITH n.k AS k, count(*) AS c MATCH (n:N {k: k}) SET n.x = c RETURN n.id",
        ] {
            let (result, checks) = fixture.stop(text, true);
            let rows = result.rows().count() as u64;
            assert!(checks > rows / ROWS_BETWEEN_CHECKS, "{text}: {checks} checks for {rows} rows");
            fixture.session.begin().expect("a transaction");
            let report = fixture.run(&format!("PROFILE {text}"), u64::MAX / 2).0.expect(text).summary.report;
            fixture.session.rollback().expect("it is undone");
            let report = report.expect("a profile");
            assert!(report.text().contains("planned anew after"), "{}", report.text());
        }
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn what_an_attached_database_matches_can_be_stopped() {
    let mut fixture = Fixture::of(2, 100);
    let file = fixture._folder.join("source.db");
    let connection = rusqlite::Connection::open(&file).expect("the folder of a test can be written");
    let tables = "CREATE TABLE place (id INTEGER PRIMARY KEY, k INTEGER);
        CREATE TABLE visit (id INTEGER PRIMARY KEY, place INTEGER REFERENCES place (id), w INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
        INSERT INTO place SELECT i, i % 9 FROM n WHERE i <= 100;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
        INSERT INTO visit SELECT i, i % 100 + 1, i % 7000 FROM n;";
    connection.execute_batch(tables).expect("the tables can be made");
    let attach = format!("ATTACH 'sqlite:{}' AS s", file.display());
    fixture.session.query(&attach, &Parameters::default()).expect("it is a database");
    for (operator, text) in [
        ("PushedAggregate", "MATCH (v:Visit)-[:HAS_PLACE]->(p:Place) RETURN v.w, p.k, count(*), max(v.id)"),
        ("PushedAggregate", "MATCH (v:Visit) WHERE v.w > 3 RETURN DISTINCT v.w"),
        ("PushedJoin", "MATCH (v:Visit)-[:HAS_PLACE]->(p:Place) WHERE p.k > 2 RETURN v.id, p.k"),
    ] {
        let plan = fixture.session.query(&format!("EXPLAIN {text}"), &Parameters::default()).expect(text);
        let plan = plan.summary.report.expect("a plan");
        assert!(plan.lines.iter().any(|line| line.operator == operator), "{text}: {}", plan.text());
        let (result, checks) = fixture.stop(text, false);
        let rows = result.rows().count() as u64;
        assert!(checks > rows / ROWS_BETWEEN_CHECKS, "{text}: {checks} checks for {rows} rows");
    }
}

#[test]
fn a_statement_that_commits_by_itself_can_be_stopped() {
    let mut fixture = Fixture::new(2);
    let text = "UNWIND range(1, 20000) AS i CALL (i) { CREATE (:Batch {x: i}) } IN TRANSACTIONS OF 500 ROWS";
    fixture.stop(text, false);
    let count = fixture.session.query("MATCH (n:Batch) RETURN count(n)", &Parameters::default()).expect("a count");
    let Some(Value::Int(count)) = count.single() else { panic!("a number") };
    assert!(count >= 20_000 && count % 500 == 0, "whole batches: {count}");
}

/// Units of work between two checks; see [`model::interrupt::work`].
const WORK: usize = model::limits::WORK_BETWEEN_CHECKS;

/// The work of making a value, at most.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / 16,
        Value::List(items) => items.len(),
        _ => 0,
    }
}

#[test]
fn every_function_that_makes_much_can_be_stopped() {
    let mut fixture = Fixture::new(1);
    let text = "Straße ab, Σας\u{301} ".repeat(200_000);
    fixture.parameters.insert("text".into(), Value::from(text));
    fixture.parameters.insert("list".into(), Value::list((0..300_000).map(Value::Int).collect()));
    let map = (0..20_000).map(|i| (Arc::from(format!("k{i}")), Value::Int(i)));
    fixture.parameters.insert("map".into(), Value::map(map));
    let functions = fixture.names("SHOW FUNCTIONS YIELD name, aggregating WHERE NOT aggregating RETURN name");
    let (big, small) = (["$text", "$list", "$map", "1"], ["'a'", "2", "300000", "''"]);
    let (mut answered, mut large) = (0, 0);
    for name in &functions {
        let mut calls: Vec<String> = big.iter().map(|first| format!("{name}({first})")).collect();
        for first in big {
            calls.extend(small.iter().map(|second| format!("{name}({first}, {second})")));
            calls.extend(small.iter().map(|second| format!("{name}({first}, {second}, 'b')")));
        }
        for call in calls {
            let (outcome, checks) = fixture.run(&format!("RETURN {call} AS x"), u64::MAX / 2);
            let Ok(result) = outcome else { continue };
            answered += 1;
            let least = size_of(&result.single().expect("one value")) / WORK / 2;
            assert!(checks as usize >= least, "{call}: {checks} checks, expected {least}");
            if least > 1 {
                large += 1;
                let moment = fixture.random.below(least as u64);
                let error = fixture.run(&format!("RETURN {call} AS x"), moment).0.err();
                let place = format!("FUZZ_SEED={}, check {moment}: {call}", fixture.seed);
                assert_eq!(error.map(|error| error.code()), Some(ErrorCode::Timeout), "{place}");
            }
        }
    }
    assert!(answered > functions.len() && large > 10, "{answered} calls answered, {large} with much");
}

#[test]
fn every_aggregate_can_be_stopped() {
    let mut fixture = Fixture::new(1);
    for name in fixture.names("SHOW FUNCTIONS YIELD name, aggregating WHERE aggregating RETURN name") {
        let second = if name.starts_with("percentile") { ", 0.5" } else { "" };
        for distinct in ["", "DISTINCT "] {
            let call = format!("UNWIND range(1, 100000) AS x RETURN {name}({distinct}x{second}) AS y");
            let checks = fixture.stop(&call, true).1;
            assert!(checks >= 100_000 / ROWS_BETWEEN_CHECKS, "{call}: {checks}");
        }
    }
}

/// Settings that procedures may need, tried in this order.
const SETTINGS: &[&str] = &[
    "",
    "{}",
    "{sourceNode: $a}",
    "{sourceNode: $a, targetNode: $b}",
    "{sourceNode: $a, targetNode: $b, k: 3}",
    "{sourceNode: $a, targetNode: $b, k: 3, weightProperty: 'w'}",
    "{sourceNode: $a, weightProperty: 'w'}",
    "{sourceNode: $a, targetNode: $b, weightProperty: 'w', latitudeProperty: 'w', longitudeProperty: 'w', \
     heuristicScale: 0}",
    "{weightProperty: 'w'}",
    "{k: 3}",
    "{writeProperty: 'x'}",
    "{sourceNode: $a, writeProperty: 'x'}",
    "{writeProperty: 'x', writeRelationshipType: 'X'}",
    "{communityProperty: 'k'}",
];

/// Procedures that read no graph, need what is outside of the store, or keep what outlives a statement (see `kept.rs`).
const WITHOUT_GRAPH: &[&str] = &["db.", "dbms.", "source.", "algo.keep", "algo.kept"];

#[test]
fn every_algorithm_can_be_stopped_at_every_check() {
    let mut fixture = Fixture::of(2, FEW_NODES);
    let mut without: Vec<String> = Vec::new();
    for (name, label, id) in [("a", "N", 1), ("b", "N", 1_200), ("f", "Far", 1), ("g", "Far", 500)] {
        let text = format!("MATCH (n:{label} {{id: {id}}}) RETURN n");
        let node = fixture.session.query(&text, &Parameters::default()).expect("a node").single().expect("a node");
        fixture.parameters.insert(name.into(), node);
    }
    for name in fixture.names("SHOW PROCEDURES YIELD name RETURN name") {
        if WITHOUT_GRAPH.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let call = |settings: &str| format!("CALL {name}({settings})");
        let mut works = None;
        // Between nodes of many neighbors there are more shortest paths than can be listed.
        let along = &["{sourceNode: $f, targetNode: $g}"];
        let settings: &[&str] = if name.starts_with("algo.allShortestPaths") { along } else { SETTINGS };
        for settings in settings {
            fixture.session.begin().expect("a transaction");
            let outcome = fixture.run(&call(settings), u64::MAX / 2).0;
            fixture.session.rollback().expect("it is undone");
            if outcome.is_ok() {
                works = Some(call(settings));
                break;
            }
        }
        let Some(text) = works else {
            without.push(name);
            continue;
        };
        let checks = fixture.stop(&text, true).1;
        assert!(checks > 3 || name.ends_with(".estimate"), "{text}: {checks} checks");
    }
    assert!(without.is_empty(), "no settings here for {without:?}");
}

/// Rounds that no run lives to see the end of.
const ENDLESS: &str = "1152921504606846976";

#[test]
fn rounds_without_end_are_stopped() {
    let mut fixture = Fixture::of(2, FEW_NODES);
    // Labels that are handed to and fro for ever, and paths on which values travel.
    for text in [
        "MATCH (n:Far) DETACH DELETE n",
        "UNWIND range(1, 3) AS i CREATE (:S)-[:SWINGS]->(:T)",
        "MATCH (a:S), (b:T) CREATE (b)-[:SWINGS]->(a)",
    ] {
        fixture.session.query(text, &Parameters::default()).expect(text);
    }
    let mut stopped = 0;
    for name in fixture.names("SHOW PROCEDURES YIELD name WHERE name STARTS WITH 'algo.' RETURN name") {
        for further in [
            "", ", tolerance: 0.0", ", types: ['SWINGS']", ", types: ['SWINGS'], direction: 'OUT'",
            ", types: ['SWINGS'], tolerance: 0.0",
        ] {
            let text = format!("CALL {name}({{maxIterations: {ENDLESS}{further}}})");
            match fixture.run(&text, 3_000).0 {
                Err(error) if error.code() == ErrorCode::Timeout => stopped += 1,
                // It came to an end by itself, or takes no such settings.
                _ => {}
            }
        }
    }
    assert!(stopped > 0, "labels swing for ever");
}

#[test]
fn the_end_of_a_trial_is_never_told_as_a_timeout() {
    let mut fixture = Fixture::new(1);
    let text = "MATCH (a:N)-[:R]->(b) OPTIONAL MATCH (b)-[:R]->(c) RETURN a.k, count(c) UNION MATCH (n:N) RETURN n.k AS `a.k`, 1 AS `count(c)`";
    let Fixture { session, parameters, .. } = &mut fixture;
    session.query(text, parameters).expect(text);
    let (mut ended, mut finished) = (0, 0);
    // From the first look at the text on, planning included.
    for limit in (0..60).chain([1_000_000]) {
        for text in [text.to_owned(), format!("MATCH (n:N) WHERE n.id = {limit} SET n.x = 1 RETURN n.k")] {
            let mut result = QueryResult::default();
            match session.run_briefly(&text, parameters, &mut result, Duration::from_nanos(limit)) {
                Ok(Some(_)) => finished += 1,
                Ok(None) => ended += 1,
                Err(error) => panic!("{text} tried for {limit} checks: {error:?}"),
            }
        }
    }
    assert!(ended > 10 && finished >= 2, "{ended} {finished}");
    // A time limit of the user is told as such.
    session.set_timeout(Some(Duration::from_nanos(3)));
    let mut result = QueryResult::default();
    let error = session.run_briefly(text, parameters, &mut result, Duration::from_nanos(50)).expect_err("it is late");
    assert_eq!(error.code(), ErrorCode::Timeout);
}

/// A flag that is raised while a store is opened is not lost, though nothing looks at it any more.
#[test]
fn an_opening_that_is_cancelled_behind_its_last_look_ends() {
    let folder = Folder::new();
    let path = folder.join("store.knot");
    let interrupt = database::Interrupt::new();
    interrupt.cancel();
    for round in 0..2 {
        let opened = Database::open_until(&path, Config::default(), &interrupt);
        let error = opened.map(drop).expect_err("it was cancelled");
        assert_eq!(error.code(), ErrorCode::Cancelled, "round {round}: {error}");
    }
    interrupt.reset();
    Database::open_until(&path, Config::default(), &interrupt).expect("nobody holds the store");
}

/// Nodes that are not yet in files are looked through for the few that carry a label.
#[test]
fn a_scan_is_stopped_among_nodes_without_its_label() {
    let folder = Folder::new();
    let config = Config { durability: Durability::Off, threads: 1, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
    let mut session = database.session();
    for text in ["CREATE (:First)", "UNWIND range(1, 200000) AS i CREATE (:N)", "CREATE (:Last)"] {
        session.query(text, &Parameters::default()).expect(text);
    }
    let read = database.store().read().expect("a store that is open is read");
    let label = read.schema().label("Last").expect("a node carries it");
    let (interrupt, mut batch) = (database::Interrupt::new(), model::NodeBatch::default());
    let mut scan = || -> Result<bool> {
        let mut cursor = read.scan(&model::NodeScan { labels: vec![label], ..model::NodeScan::default() })?;
        cursor.next(&mut batch)
    };
    let _listening = interrupt.listen();
    assert!(scan().expect("nothing stops it"));
    interrupt.cancel();
    assert_eq!(scan().expect_err("it was cancelled").code(), ErrorCode::Cancelled);
}
