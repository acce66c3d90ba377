//! Kept computations under random changes: what is mended is what a run from scratch gives.

use database::{Config, Database, Durability, Parameters, Session, Value};
use model::Consumer;
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

fn ask(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error}")).rows().collect()
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Float(x) => *x,
        Value::Int(x) => *x as f64,
        other => panic!("{other} is no number"),
    }
}

/// A change of a few edges and nodes.
fn change(session: &mut Session, random: &mut SeededRandom) {
    let mut pick = || random.below(120);
    let (a, b, c) = (pick(), pick(), pick());
    let text = match random.below(9) {
        0..=2 => format!("MATCH (a:N {{id: {a}}}), (b:N {{id: {b}}}) CREATE (a)-[:R]->(b), (a)-[:S]->(b)"),
        3 => format!("MATCH (a:N {{id: {a}}}), (b:N) WHERE b.id % 40 = {} CREATE (a)-[:R]->(b)", b % 40),
        4 => format!("MATCH (a:N {{id: {a}}})-[e:R]-(b:N) DELETE e"),
        5 => format!("MATCH (a:N)-[e]->(b:N) WHERE a.id % 30 = {} DELETE e", a % 30),
        6 => format!("MATCH (a:N {{id: {a}}}) DETACH DELETE a"),
        7 => format!("MATCH (b:N {{id: {b}}}) CREATE (a:N {{id: {a}}})-[:R]->(b), (:M {{id: {c}}})-[:R]->(a)"),
        _ => format!("MATCH (a:N {{id: {a}}}) SET a:M"),
    };
    ask(session, &text);
}

#[test]
fn kept_computations_are_mended_as_the_graph_changes() {
    let seed = seed_or(41);
    let mut mended = 0;
    for round in 0..6 {
        let folder = Folder::new();
        let config = Config { durability: Durability::Off, threads: 2, ..Config::default() };
        let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
        let (mut session, mut random) = (database.session(), SeededRandom::new(seed + round));
        ask(&mut session, "UNWIND range(0, 119) AS i CREATE (:N {id: i})");
        for step in 1..4 {
            ask(
                &mut session,
                &format!("MATCH (a:N), (b:N) WHERE b.id = a.id + {step} AND a.id % 5 > 0 CREATE (a)-[:R]->(b)"),
            );
        }
        let projections = ["", ", types: 'R', direction: 'BOTH'", ", labels: 'N'"];
        let wcc = |projection: &str| projection.replace(", direction: 'BOTH'", "");
        for (at, projection) in projections.iter().enumerate() {
            ask(&mut session, &format!("CALL algo.keep({{name: 'c{at}', algorithm: 'wcc'{}}})", wcc(projection)));
            ask(
                &mut session,
                &format!("CALL algo.keep({{name: 'r{at}', algorithm: 'pagerank', tolerance: 1e-9{projection}}})"),
            );
        }
        for step in 0..25 {
            let place = format!("round {round}, step {step}, FUZZ_SEED={seed}");
            for _ in 0..1 + random.below(4) {
                change(&mut session, &mut random);
            }
            if random.below(6) == 0 {
                database.checkpoint().expect("a store can be flushed");
            }
            for (at, projection) in projections.iter().enumerate() {
                for kind in ["c", "r"] {
                    let text = format!("CALL algo.kept.refresh({{name: '{kind}{at}'}}) YIELD didRunAnew, errorBound");
                    let row = &ask(&mut session, &format!("{text} RETURN didRunAnew, errorBound"))[0];
                    mended += usize::from(row[0] == Value::Bool(false));
                    assert!(number(&row[1]) <= 1e-9, "{place}: the error may be {}", row[1]);
                }
                let kept = |name: &str| format!("CALL algo.kept({{name: '{name}{at}'}}) YIELD node, value");
                let found = ask(&mut session, &format!("{} RETURN id(node), value ORDER BY id(node)", kept("c")));
                let text =
                    format!("CALL algo.wcc({{{}}}) YIELD node, component", wcc(projection).trim_start_matches(", "));
                let expected = ask(&mut session, &format!("{text} RETURN id(node), component ORDER BY id(node)"));
                assert_eq!(found, expected, "{place}{projection}");
                let found = ask(&mut session, &format!("{} RETURN id(node), value ORDER BY id(node)", kept("r")));
                let text = format!(
                    "CALL algo.pagerank({{maxIterations: 400, tolerance: 1e-14{projection}}}) YIELD node, score"
                );
                let expected = ask(&mut session, &format!("{text} RETURN id(node), score ORDER BY id(node)"));
                assert_eq!(found.len(), expected.len(), "{place}{projection}");
                let pairs = found.iter().zip(&expected);
                let error: f64 = pairs.map(|(found, expected)| (number(&found[1]) - number(&expected[1])).abs()).sum();
                assert!(error <= 2e-9, "{place}{projection}: scores are off by {error}");
            }
        }
    }
    assert!(mended > 300, "only {mended} of 900 refreshes mended what was kept");
}

#[test]
fn kept_computations_are_named() {
    let folder = Folder::new();
    let database = Database::open(&folder.join("store.knot"), Config::default()).expect("a store can be opened");
    let mut session = database.session();
    ask(&mut session, "CREATE (:N)-[:R]->(:N)");
    ask(&mut session, "CALL algo.keep({name: 'ranks', algorithm: 'pagerank'})");
    let listed = ask(&mut session, "CALL algo.kept.list() YIELD name, algorithm, nodeCount RETURN *");
    assert_eq!(listed.len(), 1);
    let mut refuse = |text: &str, expected: &str| {
        let error =
            session.query(text, &Parameters::default()).err().unwrap_or_else(|| panic!("{text} is not refused"));
        assert!(error.message().contains(expected), "{text}: {error}");
    };
    refuse("CALL algo.kept({name: 'rank'})", "no computation is kept under the name 'rank'");
    refuse("CALL algo.keep({name: 'ranks', algorithm: 'wcc'})", "kept under the name 'ranks' already");
    refuse("CALL algo.keep({name: 'x', algorithm: 'louvain'})", "expected 'pagerank' or 'wcc'");
    refuse("CALL algo.keep({name: 'x', algorithm: 'wcc', labels: 'No'})", "the graph has no label 'No'");
    ask(&mut session, "CALL algo.kept.drop({name: 'ranks'})");
    assert!(ask(&mut session, "CALL algo.kept.list() YIELD name RETURN name").is_empty());
}

#[test]
fn what_is_kept_counts_in_the_memory_limit() {
    let held = |database: &Database| database.memory().used_by(Consumer::KeptComputations);
    let folder = Folder::new();
    let config = Config { durability: Durability::Off, memory_bytes_max: Some(64 << 20), ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
    let mut session = database.session();
    ask(&mut session, "UNWIND range(1, 50000) AS i CREATE (:N)-[:R]->(:N)");
    assert_eq!(held(&database), 0);
    ask(&mut session, "CALL algo.keep({name: 'parts', algorithm: 'wcc'})");
    let parts = held(&database);
    assert!((800_000..820_000).contains(&parts), "{parts} bytes for 100,000 classes and parents");
    ask(&mut session, "CALL algo.keep({name: 'ranks', algorithm: 'pagerank'})");
    let ranks = held(&database) - parts;
    assert!((1_600_000..1_620_000).contains(&ranks), "{ranks} bytes for 100,000 values and residuals");
    // Each edge that goes leaves a class more behind.
    ask(&mut session, "MATCH ()-[e:R]->() WITH e LIMIT 1000 DELETE e");
    ask(&mut session, "CALL algo.kept.refresh({name: 'parts'})");
    assert!(held(&database) - ranks >= parts + 4 * 1_000, "{} bytes after {parts}", held(&database) - ranks);
    let free = database.memory().limit() - database.memory().used();
    let taken = database.memory().reserve(Consumer::Query, free - 400_000).expect("the block cache gives way");
    let error = session.query("CALL algo.keep({name: 'more', algorithm: 'pagerank'})", &Parameters::default());
    let error = error.err().expect("there is no room for more").to_string();
    assert!(error.contains("asked for") && error.contains("kept computations"), "{error}");
    drop(taken);
    ask(&mut session, "CALL algo.kept.drop({name: 'parts'})");
    ask(&mut session, "CALL algo.kept.drop({name: 'ranks'})");
    assert_eq!(held(&database), 0);
}
