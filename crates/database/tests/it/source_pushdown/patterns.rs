//! Patterns that attached databases match and group: their answers are those of a copy in the native store.

use database::{Config, Database, Parameters};
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

use super::condition;
use super::flights::{databases, rows};

/// Questions of each test and source.
const ROUNDS: u64 = 150;

/// A pattern, with the properties of its nodes.
struct Shape {
    text: &'static str,
    properties: &'static [&'static str],
    /// Properties whose values are integers.
    integers: &'static [&'static str],
    has_flight: bool,
}

const OF_FLIGHTS: [&str; 8] = ["f.id", "f.month", "f.delay", "f.carrier", "f.speed", "f.day", "f.price", "f.code"];
const SHAPES: &[Shape] = &[
    Shape { text: "(f:Flight)", properties: &OF_FLIGHTS, integers: &["f.id", "f.month", "f.delay"], has_flight: true },
    Shape {
        text: "(f:Flight)-[:FROM]->(o:Airport)",
        properties: &["f.month", "f.carrier", "f.code", "o.faa", "o.name", "f.delay", "f.day", "f.price"],
        integers: &["f.id", "f.delay"],
        has_flight: true,
    },
    Shape {
        text: "(o)<-[:FROM]-(f)",
        properties: &["f.month", "o.faa", "f.unheard", "f.speed"],
        integers: &["f.delay"],
        has_flight: true,
    },
    Shape {
        text: "(o:Airport)<-[:FROM]-(f)<-[:DUTY]-(c:Crew)",
        properties: &["c.name", "c.age", "o.name", "f.month", "f.carrier", "f.day"],
        integers: &["c.age", "f.delay"],
        has_flight: true,
    },
    Shape {
        text: "(c:Crew)-[:DUTY]->(f:Flight)<-[:DUTY]-(d:Crew)",
        properties: &["c.name", "d.name", "d.age", "f.month", "c.id", "d.id"],
        integers: &["c.age", "d.id"],
        has_flight: true,
    },
    Shape {
        text: "(c:Crew)-[:ON]->(f:Flight)<-[:ON]-(d:Crew)",
        properties: &["c.name", "d.age", "f.month"],
        integers: &["c.age"],
        has_flight: true,
    },
    Shape {
        text: "(c:Crew)-[:DUTY]->()<-[:ON]-(d)",
        properties: &["c.name", "d.name", "c.id"],
        integers: &["d.age"],
        has_flight: false,
    },
];

fn tested(random: &mut SeededRandom, shape: &Shape) -> String {
    let mut parts = Vec::new();
    if shape.has_flight && random.chance(70) {
        parts.push(condition(random, 1));
    }
    if shape.has_flight && random.chance(25) {
        parts.push(
            (*random.pick(&[
                "NOT (f)-[:FROM]->()",
                "(f)<-[:DUTY]-()",
                "NOT EXISTS { (f)<-[:ON]-(:Crew {name: 'Ann'}) }",
                "EXISTS { (f)-[:FROM]->(x) WHERE x.faa > 'F' AND NOT x.name CONTAINS 'L' }",
                "COUNT { (f)<-[:DUTY]-() } = 0",
            ]))
            .to_owned(),
        );
    }
    if shape.text.contains("o:Airport") && random.chance(40) {
        let texts = ["o.faa = 'JFK'", "o.name <> 'Airport EWR'", "NOT o.faa IN ['LGA', 'SWF']", "NOT o.faa < 'K'"];
        parts.push((*random.pick(&texts)).to_owned());
    }
    if shape.text.contains("c:Crew") && random.chance(40) {
        let texts = ["c.age > 40", "NOT (c.age > 30 AND c.name = 'Bo')", "c.name STARTS WITH 'C'", "c.id = 3"];
        parts.push((*random.pick(&texts)).to_owned());
    }
    if parts.is_empty() { "true".to_owned() } else { parts.join(" AND ") }
}

/// A question whose answer does not depend on the order of equal rows.
fn question(random: &mut SeededRandom, round: u64) -> String {
    let shape = random.pick(SHAPES);
    let (text, tests) = (shape.text, tested(random, shape));
    let count = 1 + random.below(2) as usize;
    let keys: Vec<&str> = (0..count).map(|_| *random.pick(shape.properties)).collect();
    let items: Vec<String> = keys.iter().enumerate().map(|(at, key)| format!("{key} AS k{at}")).collect();
    let names: Vec<String> = (0..count).map(|at| format!("k{at}{}", random.pick(&["", " DESC"]))).collect();
    let (items, order) = (items.join(", "), names.join(", "));
    let (some, integer) = (*random.pick(shape.properties), *random.pick(shape.integers));
    let node = if text.contains("(c:") { "c" } else { "f" };
    let aggregate = match random.below(8) {
        0 => "count(*)".to_owned(),
        1 => format!("count({some})"),
        2 => format!("count(DISTINCT {some})"),
        3 => format!("min({some})"),
        4 => format!("max({some})"),
        5 => format!("sum({integer})"),
        6 => format!("avg({integer})"),
        _ => format!("count(DISTINCT {node})"),
    };
    let limit = 1 + random.below(9);
    let end = match round % 6 {
        0 => format!("RETURN {items}, {aggregate} AS n, count(*) AS m ORDER BY {order}"),
        1 => format!("RETURN {items}, count(*) AS n ORDER BY n DESC, {order} LIMIT {limit}"),
        2 => format!("RETURN DISTINCT {items} ORDER BY {order}"),
        3 => format!("RETURN {aggregate} AS n, max({integer}) AS m"),
        4 => format!("RETURN {items} ORDER BY {order} SKIP {} LIMIT {limit}", random.below(3)),
        _ => format!("WITH {node}, {aggregate} AS n, count(*) AS m RETURN {node}.id AS k, n, m ORDER BY k"),
    };
    format!("MATCH {text} WHERE {tests} {end}")
}

#[test]
fn answers_are_the_same_whoever_matches_and_groups() {
    let folder = Folder::new();
    let seed = seed_or(43);
    for source in databases("pushdown_patterns", &folder) {
        let (attached, copied) = (source.attached(&folder, "same"), source.copied(&folder));
        let (mut attached, mut copied) = (attached.session(), copied.session());
        let mut random = SeededRandom::new(seed);
        let (mut found, mut pushed) = (0, 0);
        for round in 0..ROUNDS {
            let text = question(&mut random, round);
            let expected = rows(&mut copied, &text);
            found += expected.len();
            assert_eq!(rows(&mut attached, &text), expected, "{}, seed {seed}: {text}", source.name);
            pushed += usize::from(is_pushed(&mut attached, &text));
        }
        assert!(found > 1_000, "{}: the questions ask for {found} rows only", source.name);
        assert!(pushed > ROUNDS as usize / 3, "{}: only {pushed} of {ROUNDS} patterns are pushed", source.name);
    }
}

/// True if the source is asked for the pattern of a query.
fn is_pushed(session: &mut database::Session, text: &str) -> bool {
    let result = session.query(&format!("EXPLAIN {text}"), &Parameters::default());
    let told = result.expect("a plan is told").summary.report.expect("it is asked for").text().to_owned();
    let statements = told.split("\n\n").skip(1);
    statements.into_iter().any(|part| part.starts_with("PushedAggregate") || part.starts_with("PushedJoin"))
}

#[test]
fn a_transaction_sees_what_it_wrote_in_what_its_source_groups() {
    let folder = Folder::new();
    for source in databases("pushdown_written", &folder) {
        let database = source.attached(&folder, "written");
        let mut session = database.session();
        let by_month = "MATCH (f:Flight)-[:FROM]->(o:Airport) RETURN max(f.month), count(DISTINCT o.name)";
        assert_eq!(rows(&mut session, by_month), ["12, 4"], "{}", source.name);
        session.begin().expect("a transaction");
        rows(&mut session, "MATCH (f:Flight)-[:FROM]->() WITH f ORDER BY f.id LIMIT 1 SET f.month = 99");
        rows(&mut session, "MATCH (o:Airport {faa: 'JFK'}) SET o.name = 'Airport LGA'");
        assert_eq!(rows(&mut session, by_month), ["99, 3"], "{}", source.name);
        assert_eq!(rows(&mut database.session(), by_month), ["12, 4"], "{}: another session", source.name);
        session.rollback().expect("a transaction is open");
        assert_eq!(rows(&mut session, by_month), ["12, 4"], "{}", source.name);
    }
}

#[test]
fn patterns_over_several_parts_are_matched_here() {
    let folder = Folder::new();
    let source = databases("pushdown_parts", &folder).swap_remove(0);
    let database = source.attached(&folder, "parts");
    let mut session = database.session();
    let text = "MATCH (f:Flight)-[:FROM]->(o:Airport) RETURN o.name, count(*) ORDER BY o.name";
    let count = "MATCH (f:Flight) RETURN f.month, count(*) ORDER BY f.month";
    let (before, months) = (rows(&mut session, text), rows(&mut session, count));
    assert!(is_pushed(&mut session, text) && is_pushed(&mut session, count));
    // An operator that does not run is not said to be off its estimate.
    let (_, _, report) = super::flights::fetched(&mut session, text);
    let mut scans = report.lines().filter(|line| line.contains("NodeScan"));
    assert!(scans.all(|line| !line.contains("fewer")) && !report.contains(" 0 came"), "{report}");
    // A node of the native store carries the label too.
    rows(&mut session, "CREATE (:Here:Flight {month: 77})");
    assert!(!is_pushed(&mut session, count));
    assert_eq!(rows(&mut session, text), before);
    assert_eq!(rows(&mut session, count), [months, vec!["77, 1".to_owned()]].concat());
    rows(&mut session, "MATCH (h:Here) DELETE h");
    assert!(is_pushed(&mut session, text));
    // And so does another source.
    let other = source.attached(&folder, "other");
    drop(other);
    let attach = format!(
        "ATTACH 'sqlite:{}' AS g (DEFINITION '{}')",
        folder.join("flights.db").display(),
        folder.join("flights.json").display()
    );
    rows(&mut session, &attach);
    assert!(!is_pushed(&mut session, text));
    let twice = rows(&mut session, count);
    assert_eq!(twice.len(), 12, "{twice:?}");
    rows(&mut session, "DETACH g");
    assert!(is_pushed(&mut session, text));
}

#[test]
fn a_relationship_that_must_not_be_there_says_nothing_of_its_node() {
    let folder = Folder::new();
    for source in databases("pushdown_absent", &folder) {
        let (attached, copied) = (source.attached(&folder, "absent"), source.copied(&folder));
        let (mut attached, mut copied) = (attached.session(), copied.session());
        rows(&mut attached, "CREATE (:Native {month: 13})");
        rows(&mut copied, "CREATE (:Native {month: 13})");
        for text in [
            "MATCH (n) WHERE NOT (n)-[:FROM]->() RETURN count(*), count(n.month), max(n.month)",
            "MATCH (n) WHERE NOT (n)-[:FROM]->() AND NOT (n)<-[:FROM]-() RETURN labels(n)[0] AS l, count(*) ORDER BY l",
            "MATCH (n) WHERE (n)-[:FROM]->() RETURN n.month, count(*) ORDER BY n.month",
            "MATCH (n)-[:FROM]->(m) WHERE NOT (m)-[:FROM]->() RETURN m.faa, count(*) ORDER BY m.faa",
            "MATCH (n)-[:FROM]->(m) WHERE NOT (n)<-[:DUTY]-({name: 'Bo'}) RETURN m.faa, count(*) ORDER BY m.faa",
            "MATCH (n:Crew) WHERE NOT (n)-[:DUTY]->({month: 3}) RETURN n.name, count(*) ORDER BY n.name",
            "MATCH (n:Airport) WHERE NOT (n)-[:FROM]->() RETURN count(*), max(n.faa)",
        ] {
            assert_eq!(rows(&mut attached, text), rows(&mut copied, text), "{}: {text}", source.name);
        }
    }
}

#[test]
fn groups_that_are_too_many_to_hold_are_computed_here() {
    let folder = Folder::new();
    let file = folder.join("many.db");
    let connection = rusqlite::Connection::open(&file).expect("the folder of a test can be written");
    let tables = "CREATE TABLE thing (id INTEGER PRIMARY KEY, size INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)
        INSERT INTO thing SELECT i, i % 70 FROM n;";
    connection.execute_batch(tables).expect("the tables can be made");
    let database = Database::open(&folder.join("many.knot"), Config::default()).expect("a store can be opened");
    let mut session = database.session();
    rows(&mut session, &format!("ATTACH 'sqlite:{}' AS m", file.display()));
    let many = "MATCH (t:Thing) WITH t.id AS id, max(t.size) AS m RETURN count(*), sum(m), max(id)";
    assert_eq!(rows(&mut session, many), ["70000, 2415000, 70000"]);
    // Without values that must be of one type, groups come as they are made.
    let counted = "MATCH (t:Thing) WITH t.id AS id, count(*) AS m RETURN count(*), sum(m), max(id)";
    assert_eq!(rows(&mut session, counted), ["70000, 70000, 70000"]);
    let (_, fetched, report) = super::flights::fetched(&mut session, many);
    assert!(fetched >= 70_000 && report.contains("PushedAggregate"), "{fetched}: {report}");
}

#[test]
fn sources_that_match_no_patterns_are_not_asked_to() {
    let folder = Folder::new();
    for source in super::flights::sources("pushdown_unmatched", &folder) {
        let database = source.attached(&folder, "unmatched");
        let text = "EXPLAIN MATCH (f:Flight) RETURN f.month, count(*)";
        let result = database.session().query(text, &Parameters::default());
        let told = result.expect("a plan is told").summary.report.expect("it is asked for").text().to_owned();
        let matches = !matches!(source.name, "files" | "Redis");
        assert_eq!(told.contains("PushedAggregate"), matches, "{}: {told}", source.name);
    }
}

#[test]
fn values_of_other_types_than_their_column_are_computed_with_here() {
    let folder = Folder::new();
    let file = folder.join("mixed.db");
    let connection = rusqlite::Connection::open(&file).expect("the folder of a test can be written");
    connection
        .execute_batch(
            "CREATE TABLE thing (id INTEGER PRIMARY KEY, size INTEGER, kind TEXT);
             INSERT INTO thing VALUES (1, 5, 'a'), (2, 7, 'a'), (3, 2, 'b'), (4, 'many', 'b'), (5, 1.5, 'c'), (6, NULL, NULL);",
        )
        .expect("the tables can be made");
    let store = folder.join("mixed.knot");
    let database = Database::open(&store, Config::default()).expect("a store can be opened");
    let mut session = database.session();
    rows(&mut session, &format!("ATTACH 'sqlite:{}' AS m", file.display()));
    let ask = |session: &mut database::Session, text: &str| rows(session, &format!("MATCH (t:Thing) {text}"));
    // A string is less than all numbers in Cypher, and more in SQLite.
    assert_eq!(ask(&mut session, "RETURN min(t.size), max(t.size), count(t.size)"), ["'many', 7, 5"]);
    let by_kind = "RETURN t.kind, min(t.size), max(t.size), count(*) ORDER BY t.kind";
    let expected = ["'a', 5, 7, 2", "'b', 'many', 2, 2", "'c', 1.5, 1.5, 1", "null, null, null, 1"];
    assert_eq!(ask(&mut session, by_kind), expected);
    assert_eq!(ask(&mut session, "WHERE t.id <> 4 RETURN sum(t.size), avg(t.size)"), ["15.5, 3.875"]);
    assert_eq!(ask(&mut session, "WHERE t.id < 4 RETURN sum(t.size), avg(t.size)"), ["14, 4.666666666666667"]);
    assert_eq!(ask(&mut session, "WHERE t.id > 10 RETURN sum(t.size), avg(t.size), max(t.kind)"), ["0, null, null"]);
    let failure = session.query("MATCH (t:Thing) RETURN sum(t.size)", &Parameters::default()).err().expect("a string");
    assert!(failure.to_string().contains("sum"), "{failure}");
}
