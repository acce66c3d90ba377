//! Aggregation across an edge and patterns that are counted, against the same queries in a form that makes every row, and
//! within little memory.

use database::{Config, Database, Durability, Parameters, Session};
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

fn database(folder: &Folder, threads: usize) -> Database {
    let config = Config { durability: Durability::Off, threads, ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened")
}

fn run(session: &mut Session, text: &str) -> String {
    match session.query(text, &Parameters::default()) {
        Ok(result) => format!("{:?}", result.rows().collect::<Vec<_>>()),
        Err(error) => format!("{:?}", error.code()),
    }
}

/// Nodes of two labels with numbers, texts and nothing as properties, and edges that leave some of them out.
const MIXED: &[&str] = &[
    "UNWIND range(0, 199) AS i CREATE (:N {id: i, k: i % 7, whole: i, some: CASE WHEN i % 3 = 0 THEN i END, \
     half: i * 0.5, few: CASE WHEN i % 4 = 1 THEN i * 0.25 END, large: i * 4000000000000000, \
     either: CASE WHEN i % 2 = 0 THEN i ELSE i * 0.5 END, text: CASE WHEN i = 77 THEN 'x' ELSE i END, \
     span: duration({days: i})})",
    "UNWIND range(0, 49) AS i CREATE (:M {id: i, k: i % 3, whole: 1000 + i, half: 'm', text: i, few: 8.5})",
    "MATCH (a:N), (b:N) WHERE (a.id * 31 + b.id * 17) % 23 = 0 AND a.id % 5 > 0 CREATE (a)-[:R {w: (a.id + b.id) % 10}]->(b)",
    "MATCH (a:N), (b:M) WHERE (a.id + b.id) % 19 = 0 CREATE (a)-[:R {w: b.id % 10}]->(b), (b)-[:R]->(a)",
    "MATCH (a:N) WHERE a.id % 50 = 3 CREATE (a)-[:R {w: 4}]->(a)",
];

#[test]
fn across_an_edge_as_row_by_row() {
    for threads in [1, 2] {
        let folder = Folder::new();
        let database = database(&folder, threads);
        let mut session = database.session();
        for text in MIXED {
            session.query(text, &Parameters::default()).expect(text);
        }
        for is_flushed in [false, true] {
            if is_flushed {
                database.checkpoint().expect("a checkpoint can be made");
            }
            for key in ["whole", "some", "half", "few", "large", "either", "text", "span", "nowhere"] {
                for pattern in [
                    "(a:N)-[r:R]->(b:N)",
                    "(a:N)<-[r:R]-(b)",
                    "(a:N)-[r:R]-(b:N)",
                    "(a:N)-[r:R]->(b:M)",
                    "(a:N)-[r:R]->(b:N) WHERE r.w >= 4 AND r.w < 8",
                    "(a)-[r:R]->(b:N) WHERE a.id > 20",
                    "(a:N)-[r:R]->(b:None)",
                ] {
                    for group in ["a.k AS k,", "a.k AS k, a.id % 2 AS o,", ""] {
                        let folded = |value: &str| {
                            format!(
                                "{group} count(*) AS n, count(b) AS nodes, count({value}) AS some, sum({value}) AS sum, \
                                 avg({value}) AS mean"
                            )
                        };
                        let order = match group {
                            "" => "",
                            "a.k AS k," => " ORDER BY k",
                            _ => " ORDER BY k, o",
                        };
                        let across = format!("MATCH {pattern} RETURN {}{order}", folded(&format!("b.{key}")));
                        let rows = format!("MATCH {pattern} UNWIND [b.{key}] AS v RETURN {}{order}", folded("v"));
                        let expected = run(&mut session, &rows);
                        assert_eq!(run(&mut session, &across), expected, "{across}, {threads} threads");
                    }
                }
            }
        }
    }
}

/// Patterns whose matches are counted.
const COUNTED: &[&str] = &[
    "MATCH (a:N)-[:R]->(b:N)-[:R]->(c:N) WHERE b.k > 1 RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:S]->(c) WHERE c.k < 6 RETURN count(*)",
    "MATCH (a)-[:R]-(b)-[:R]-(c) WHERE c.k = 1 RETURN count(*)",
    "MATCH (a:N)-[:R]->(b)-[:R]->(c) WHERE a <> c AND b.k < 5 RETURN count(*)",
    "MATCH (a)-[:R]-(b)-[:R]-(c) WHERE a <> c AND a.k = 3 RETURN count(*)",
    "MATCH (b)<-[:R]-(a)-[:R]->(c) WHERE b.k = 1 AND c.k = 2 RETURN count(*)",
    "MATCH (b)<-[:R]-(a)-[:R]->(c), (a)-[:R]-(d) WHERE b.k = 1 AND c.k < 3 RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:S]->(c) WHERE NOT (a)-[:R]->(c) AND c.k > 2 RETURN count(*)",
    "MATCH (a)-[:R]-(b)-[:R]-(c) WHERE a <> c AND NOT (a)-[:R]-(c) RETURN count(*)",
    "MATCH (a)-[:R]-(b)-[:R]-(c)-[:S]-(d) WHERE a <> c AND b <> d RETURN count(*)",
    "MATCH (a:N)-[:R]->(b) OPTIONAL MATCH (b)-[:S]->(c {k: 1}) RETURN a.k AS k, count(*) AS n ORDER BY k",
    "MATCH (a:N)-[:R]->(b) WHERE EXISTS { (b)-[:S]->(:N {k: 2}) } RETURN a.k AS k, count(*) AS n ORDER BY k",
];

#[test]
fn patterns_are_counted_within_little_memory() {
    let folder = Folder::new();
    let database = database(&folder, 2);
    let mut session = database.session();
    for text in [
        "UNWIND range(1, 1000) AS i CREATE (:N {id: i, k: i % 7})",
        "MATCH (a:N), (b:N) WHERE b.id = a.id + 1 OR b.id = a.id + 2 OR b.id * 2 = a.id CREATE (a)-[:R]->(b)",
        "MATCH (a:N), (b:N) WHERE b.id = a.id * 3 % 1000 + 1 CREATE (a)-[:S]->(b)",
        "MATCH (a:N {id: 1}), (b:N) WHERE b.id % 7 = 0 CREATE (a)-[:R]->(b)",
        "MATCH (a:N) WHERE a.id % 40 = 0 CREATE (a)-[:R]->(a)",
    ] {
        session.query(text, &Parameters::default()).expect(text);
    }
    let mut counted = 0;
    for text in COUNTED {
        session.set_query_memory(None);
        let plan = session.query(&format!("EXPLAIN {text}"), &Parameters::default()).expect(text);
        let report = plan.summary.report.expect("a plan").text().to_string();
        counted += usize::from(report.contains("CountMatches"));
        let expected = run(&mut session, text);
        for memory in [0, 10_000, 20_000, 60_000] {
            session.set_query_memory(Some(memory));
            assert_eq!(run(&mut session, text), expected, "{text}, {memory} bytes");
        }
    }
    assert!(counted >= COUNTED.len() - 2, "only {counted} are counted");
}

/// Conditions that run along paths, and the same ones in a form that no rule knows.
#[test]
fn paths_are_given_up_while_they_grow() {
    let folder = Folder::new();
    let database = database(&folder, 2);
    let mut session = database.session();
    for text in [
        "UNWIND range(0, 60) AS i CREATE (:N {id: i})",
        "MATCH (a:N), (b:N) WHERE b.id = (a.id * 2 + 1) % 61 OR b.id = (a.id + 7) % 61 \
         CREATE (a)-[:R {w: (a.id + b.id) % 5 + 1, t: a.id, bad: CASE WHEN a.id = 13 THEN 'x' ELSE 1 END}]->(b)",
    ] {
        session.query(text, &Parameters::default()).expect(text);
    }
    for (pattern, running) in [
        ("(a:N {id: 0})-[r:R*1..9]->(b)", "allReduce(s = 0, e IN r | s + e.w, s < 12)"),
        ("(a:N {id: 0})-[r:R*0..9]->(b)", "allReduce(s = a.id, e IN r | s + e.w, s <= a.id + 9)"),
        ("(a:N {id: 3})-[r:R]->{2,8}(b)", "allReduce(s = -1, e IN r | CASE WHEN e.t > s THEN e.t ELSE 99 END, s < 99)"),
        ("(a:N {id: 3})-[r:R]-{1,5}(b:N)", "allReduce(s = [], e IN r | s + e.w, size(s) < 4 OR s[0] = 2)"),
        ("(a:N {id: 5})-[r:R*1..6]->(b)", "allReduce(s = null, e IN r | s + e.w, s < 3)"),
        ("(a:N {id: 5})-[r:R*1..6]->(b)", "allReduce(s = 0, e IN r | s + e.bad, s < 4)"),
        ("(a:N {id: 5})-[r:R*1..6]->(b {id: 12})", "allReduce(s = 0, e IN r | s + e.w, s < 20) AND size(r) > 1"),
        ("(a:N)-[r:R*1..4]->(b:N)", "allReduce(s = 0, e IN r | s + e.w, s < b.id)"),
    ] {
        let plain = running.replace("e IN r |", "e IN [x IN r | x] |");
        let text = |condition: &str| {
            format!(
                "MATCH {pattern} WHERE {condition} RETURN a.id AS a, b.id AS b, [e IN r | e.t] AS t ORDER BY a, b, t"
            )
        };
        let expected = run(&mut session, &text(&plain));
        assert_eq!(run(&mut session, &text(running)), expected, "{pattern} {running}");
    }
    let endless =
        "MATCH (:N {id: 0})-[r:R*]->(b) WHERE allReduce(s = 0, e IN r | s + e.w, s < 9) RETURN count(*) > 5 AS many";
    assert_eq!(run(&mut session, endless), "[[Bool(true)]]");
}

/// Statements that change which labels the ends of relationships carry, or which relationships there are.
const CHANGES: &[&str] = &[
    "CREATE (:A)-[:T]->(:B)",
    "CREATE (:A:B)-[:T]->(:B)",
    "CREATE (:A)-[:T]->(:C)",
    "CREATE (:C)-[:U]->(:B)",
    "MATCH (b:B) WITH b LIMIT 1 SET b:C REMOVE b:B",
    "MATCH (c:C) WITH c LIMIT 1 SET c:B REMOVE c:C",
    "MATCH (a:A)-[r:T]->() WITH r LIMIT 1 DELETE r",
    "MATCH (c:C) WITH c LIMIT 1 DETACH DELETE c",
    "MATCH (a:A), (b:B) WITH a, b LIMIT 2 CREATE (a)-[:T]->(b)",
    "MATCH (n) WITH n LIMIT 3 SET n.p = 1",
];

/// Answers that the store keeps of the ends of relationships hold of one state only.
#[test]
fn counts_between_labels_follow_every_write() {
    let seed = seed_or(20_261_130);
    let mut random = SeededRandom::new(seed);
    let folder = Folder::new();
    let database = database(&folder, 2);
    let mut session = database.session();
    let mut is_open = false;
    for round in 0..400 {
        match random.below(12) {
            0 if !is_open => {
                session.begin().expect("a transaction begins");
                is_open = true;
            }
            1 | 2 if is_open => {
                let ended = if random.chance(50) { session.commit() } else { session.rollback() };
                ended.expect("a transaction ends");
                is_open = false;
            }
            3 if !is_open => database.checkpoint().expect("a checkpoint can be made"),
            _ => {
                let text = random.pick(CHANGES);
                session.query(text, &Parameters::default()).expect(text);
            }
        }
        for pattern in [
            "(a:A)-[r:T]->(b:B)", "(a:A)<-[r:T]-(b:B)", "(a:A)-[r:T]->(b)", "(a)-[r:T]->(b:B)", "(a:A)-[r:T|U]->(b:B)",
            "(a:A)-[r]->(b:B)", "(a:C)-[r:U]->(b:A:B)", "(a:A)-[r:T]->(b:None)",
        ] {
            let counted = run(&mut session, &format!("MATCH {pattern} RETURN count(*) AS n"));
            let by_row = run(&mut session, &format!("MATCH {pattern} UNWIND [r] AS row RETURN count(row) AS n"));
            assert_eq!(counted, by_row, "seed {seed}, round {round}, in a transaction: {is_open}, {pattern}");
        }
    }
}
