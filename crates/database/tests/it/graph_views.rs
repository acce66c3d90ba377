//! Graphs that algorithms keep in memory from call to call say what the store says, whatever is written between.

use database::{Config, Database, Durability, Parameters, Session, Value};
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

fn open(folder: &Folder) -> Database {
    let config = Config { durability: Durability::Off, threads: 2, ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened")
}

fn ask(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error}")).rows().collect()
}

/// The answers of algorithms that read one side, both and an undirected view, of all types and of one.
fn answers(session: &mut Session, execution: &str) -> Vec<Vec<Vec<Value>>> {
    let calls = [
        "algo.wcc({SETTINGS}) YIELD node, component AS value",
        "algo.cdlp({maxIterations: 3, SETTINGS}) YIELD node, communityId AS value",
        "algo.cdlp({maxIterations: 3, direction: 'BOTH', SETTINGS}) YIELD node, communityId AS value",
        "algo.triangleCount({SETTINGS}) YIELD node, triangleCount AS value",
        "algo.kcore({types: 'R', SETTINGS}) YIELD node, coreValue AS value",
        "algo.lcc({labels: 'M', direction: 'IN', SETTINGS}) YIELD node, localClusteringCoefficient AS value",
        "algo.pagerank({SETTINGS}) YIELD node, score RETURN id(node) AS id, round(score, 6) AS value ORDER BY id",
    ];
    let ask_one = |call: &str| {
        let call = call.replace("SETTINGS", &format!("execution: '{execution}'"));
        let rest = if call.contains("RETURN") { "" } else { " RETURN id(node) AS id, value ORDER BY id" };
        ask(session, &format!("CALL {call}{rest}"))
    };
    calls.into_iter().map(ask_one).collect()
}

#[test]
fn kept_views_follow_what_is_written() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    let mut random = SeededRandom::new(seed_or(17));
    ask(&mut session, "UNWIND range(0, 199) AS i CREATE (n:N {id: i}) SET n:M");
    ask(&mut session, "MATCH (a:N), (b:N) WHERE (a.id * 7 + b.id * 13) % 31 = 0 CREATE (a)-[:R]->(b)");
    ask(&mut session, "MATCH (a:N), (b:N) WHERE (a.id * 5 + b.id * 3) % 61 = 0 CREATE (a)-[:S]->(b)");
    for round in 0..24 {
        let (a, b) = (random.below(200), random.below(200));
        let write = match round % 8 {
            0 => {
                format!("MATCH (a:N {{id: {a}}}), (b:N {{id: {b}}}) CREATE (a)-[:R]->(b), (a)-[:R]->(b), (b)-[:R]->(b)")
            }
            1 => format!("MATCH (:N {{id: {a}}})-[r]->() DELETE r"),
            2 => format!("MATCH (a:N {{id: {a}}}) CREATE (a)-[:S]->(:N:M {{id: {}}})", 1000 + round),
            3 => format!("MATCH (a:N {{id: {a}}}) SET a.id = a.id"),
            4 => format!("MATCH (a:N {{id: {a}}}) REMOVE a:M"),
            5 => format!("MATCH (a:N {{id: {b}}})<-[r:S]-() DELETE r"),
            6 if round > 16 => format!("MATCH (a:N {{id: {a}}}) DETACH DELETE a"),
            _ => format!("MATCH (a:N {{id: {a}}})-[:R]->()-[:R]->(c) WITH a, c LIMIT 3 CREATE (c)-[:S]->(a)"),
        };
        ask(&mut session, &write);
        let expected = answers(&mut session, "streaming");
        for _ in 0..2 {
            assert!(answers(&mut session, "memory") == expected, "round {round}, after: {write}");
        }
    }
    let stats = database.graph_views();
    assert!(stats.hits > 24 * 6 && stats.mended > 20 && stats.misses > 0, "{stats:?}");
    assert!(stats.views > 0 && stats.bytes > 0, "{stats:?}");
    let held = database.memory().used_by(model::Consumer::GraphViews);
    assert_eq!(held, stats.bytes, "what is kept is charged to the budget");
}

#[test]
fn kept_views_give_way_to_others_and_are_not_seen_before_a_commit() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    ask(&mut session, "UNWIND range(0, 999) AS i CREATE (:N {id: i})");
    ask(&mut session, "MATCH (a:N), (b:N) WHERE a.id + 1 = b.id CREATE (a)-[:R]->(b)");
    let count = "CALL algo.wcc.stats({execution: 'memory'}) YIELD componentCount";
    assert_eq!(ask(&mut session, count), [[Value::Int(1)]]);
    session.begin().unwrap();
    ask(&mut session, "MATCH (:N {id: 10})-[r]->() DELETE r");
    assert_eq!(ask(&mut session, count), [[Value::Int(2)]], "a transaction sees what it deleted");
    assert_eq!(ask(&mut database.session(), count), [[Value::Int(1)]], "others do not");
    session.rollback().unwrap();
    assert_eq!(ask(&mut session, count), [[Value::Int(1)]]);
    assert!(database.graph_views().hits >= 2, "{:?}", database.graph_views());
    assert!(database.graph_views().bytes > 0);
    let all = database.memory().limit() - database.memory().used();
    let taken = database.memory().reserve(model::Consumer::Sort, all + 1).expect("the views give way");
    assert_eq!(database.graph_views().views, 0);
    drop(taken);
    assert_eq!(ask(&mut session, count), [[Value::Int(1)]]);
}

/// Tests that data which a search has read serves the next one, and that nothing that was read before a change does.
#[test]
fn searches_see_what_was_committed_last() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    let mut run = |text: &str| ask(&mut session, text);
    run("UNWIND range(0, 399) AS i CREATE (:Place {id: i, latitude: (i / 20) * 0.01, longitude: (i % 20) * 0.01})");
    run("MATCH (a:Place), (b:Place) WHERE b.id = a.id + 20 OR (b.id = a.id + 1 AND b.id % 20 <> 0) \
         CREATE (a)-[:ROAD {length: 1.2}]->(b), (b)-[:ROAD {length: 1.2}]->(a)");
    let search = |name: &str| {
        format!(
            "MATCH (s:Place {{id: 21}}), (g:Place {{id: 378}}) CALL {name}({{sourceNode: s, targetNode: g, \
             weightProperty: 'length'{}}}) YIELD cost, storeBatches RETURN cost, storeBatches",
            if name == "algo.astar" { ", heuristicScale: 1" } else { "" }
        )
    };
    let changes = [
        "RETURN 0",
        "MATCH (:Place {id: 21})-[road:ROAD]->(:Place {id: 22}) SET road.length = 9.0",
        "MATCH (:Place {id: 378})<-[road:ROAD]-(:Place {id: 377}) DELETE road",
        "MATCH (a:Place {id: 42}), (b:Place {id: 315}) CREATE (a)-[:ROAD {length: 31.0}]->(b)",
        "MATCH (a:Place {id: 100}) SET a.latitude = 0.5, a.longitude = 0.5",
    ];
    for change in changes {
        run(change);
        let expected = run(&search("algo.bidirectionalDijkstra"))[0][0].clone();
        for name in ["algo.astar", "algo.dijkstra"] {
            let (first, second) = (run(&search(name)), run(&search(name)));
            assert!(first[0][1] != Value::Int(0), "{name} reads anew after {change}");
            assert_eq!(second[0][1], Value::Int(0), "{name} reads nothing twice after {change}");
            for rows in [first, second] {
                let (Value::Float(found), Value::Float(expected)) = (&rows[0][0], &expected) else { panic!("no cost") };
                assert!((found - expected).abs() < 1e-9, "{name} after {change}: {found}, expected {expected}");
            }
        }
    }
}
