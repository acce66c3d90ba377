//! Algorithms that write and fail on the way leave nothing, whichever they are: they are found in the list of procedures.

use std::time::Duration;

use database::{Config, Database, Durability, ErrorCode, Parameters, Session, Value};
use testing::random::{SeededRandom, seed_or};
use testing::{Folder, ReferenceStore};

use crate::engine::{Bare, Engine, Native, run_script};

/// Nodes of the graph: more than one batch.
const NODES: u64 = 3_000;

fn ask(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error}")).rows().collect()
}

/// All that the store holds, as a session sees it.
fn contents(session: &mut Session) -> Vec<Vec<Vec<Value>>> {
    [
        "MATCH (n) RETURN id(n) AS id, labels(n) AS labels, properties(n) AS properties ORDER BY id",
        "MATCH (a)-[r]->(b) RETURN id(a) AS a, id(b) AS b, type(r) AS type, properties(r) AS properties ORDER BY a, b, type",
    ]
    .map(|text| ask(session, text))
    .to_vec()
}

/// The names of the procedures that write what an algorithm finds, with the columns of its rows.
fn writers(session: &mut Session) -> Vec<(String, Vec<String>)> {
    let listed = ask(session, "CALL dbms.procedures() YIELD name, signature RETURN name, signature");
    let rows: Vec<(String, String)> = listed
        .iter()
        .map(|row| match &row[..] {
            [Value::String(name), Value::String(signature)] => (name.to_string(), signature.to_string()),
            other => panic!("expected a name and a signature, found {other:?}"),
        })
        .collect();
    let columns = |base: &str| -> Vec<String> {
        let (_, signature) = rows.iter().find(|(name, _)| name == base).expect("what writes rows also streams them");
        let yields = signature.rsplit_once(") :: (").expect("a signature has columns").1;
        yields.split(", ").filter_map(|part| part.split_once(" :: ")).map(|(name, _)| name.to_owned()).collect()
    };
    let bases =
        rows.iter().filter_map(|(name, _)| name.strip_suffix(".write")).filter(|name| name.starts_with("algo."));
    bases.map(|base| (format!("{base}.write"), columns(base))).collect()
}

/// Calls a procedure with whatever it needs, by what runs statements.
fn call_by<T>(name: &str, mut run: impl FnMut(&str) -> Result<T, database::Error>) -> Result<T, database::Error> {
    let needed = [
        ("'sourceNode' is missing", ", sourceNode: 0"),
        ("'communityProperty' is missing", ", communityProperty: 'part'"),
        ("'writeRelationshipType' is missing", ", writeRelationshipType: 'FOUND'"),
    ];
    // An order is found only where there is no circle.
    let types = if name.contains("topologicalSort") { "D" } else { "R" };
    let mut settings = format!("writeProperty: 'found', types: '{types}'");
    loop {
        let error = match run(&format!("CALL {name}({{{settings}}})")) {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        match needed.iter().find(|(said, given)| error.message().contains(said) && !settings.contains(given)) {
            Some((_, given)) => settings.push_str(given),
            None => return Err(error),
        }
    }
}

/// Calls a procedure; tells how long it took.
fn call(session: &mut Session, name: &str) -> Result<Duration, database::Error> {
    let result = call_by(name, |text| session.query(text, &Parameters::default()))?;
    Ok(Duration::from_nanos(result.summary.time_ns))
}

fn open(folder: &Folder) -> Database {
    let config = Config { durability: Durability::Off, threads: 2, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
    let mut session = database.session();
    // Rings of three, so that values of nodes and pairs are alike, which the first node joins to its own: each algorithm finds
    // something for the first node of each ring.
    ask(&mut session, &format!("UNWIND range(0, {}) AS i CREATE (:N {{i: i, part: i / 3}})", NODES - 1));
    ask(&mut session, "MATCH (a:N), (b:N {i: a.i - a.i % 3 + (a.i + 1) % 3}) CREATE (a)-[:R]->(b)");
    ask(&mut session, "MATCH (a:N {i: 0}), (b:N) WHERE b.i > 0 AND b.i % 3 = 0 CREATE (a)-[:R]->(b), (a)-[:D]->(b)");
    database
}

#[test]
fn a_write_that_a_constraint_refuses_leaves_nothing() {
    let (folder, seed) = (Folder::new(), seed_or(29));
    let database = open(&folder);
    let mut session = database.session();
    let mut random = SeededRandom::new(seed);
    let writers = writers(&mut session);
    assert!(writers.len() >= 20, "only {} procedures write", writers.len());
    // One node somewhere refuses numbers, in the first and in the last property that is written; and relationships that are
    // alike are refused.
    let late = 3 * random.below(NODES / 3);
    ask(&mut session, &format!("MATCH (n:N {{i: {late}}}) SET n:Late"));
    ask(&mut session, "CREATE CONSTRAINT FOR ()-[r:FOUND]-() REQUIRE r.found IS UNIQUE");
    ask(&mut session, "CREATE CONSTRAINT FOR (n:Late) REQUIRE n.found IS :: STRING");
    let mut lasts: Vec<String> =
        writers.iter().map(|(_, columns)| format!("found_{}", columns[columns.len() - 1])).collect();
    lasts.sort();
    lasts.dedup();
    for last in &lasts {
        ask(&mut session, &format!("CREATE CONSTRAINT FOR (n:Late) REQUIRE n.`{last}` IS :: STRING"));
    }
    let before = contents(&mut session);
    for (name, _) in &writers {
        let error = call(&mut session, name).expect_err(name);
        assert_eq!(error.code(), ErrorCode::Constraint, "{name}, FUZZ_SEED={seed}: {error}");
        assert!(contents(&mut session) == before, "{name} left something, FUZZ_SEED={seed}");
        // In a transaction the statement alone is undone, and what came before it stays.
        session.begin().unwrap();
        ask(&mut session, "CREATE (:Mark)");
        call(&mut session, name).expect_err(name);
        assert_eq!(contents(&mut session)[0].len(), before[0].len() + 1, "{name}, FUZZ_SEED={seed}");
        ask(&mut session, "MATCH (m:Mark) DELETE m");
        session.commit().unwrap();
        assert!(contents(&mut session) == before, "{name} left something in a transaction, FUZZ_SEED={seed}");
    }
}

#[test]
fn a_write_that_is_stopped_anywhere_leaves_nothing() {
    let (folder, seed) = (Folder::new(), seed_or(31));
    let database = open(&folder);
    let mut session = database.session();
    let mut random = SeededRandom::new(seed);
    let before = contents(&mut session);
    let mut stopped = 0;
    for (name, _) in writers(&mut session) {
        session.begin().unwrap();
        let whole = call(&mut session, &name).unwrap_or_else(|error| panic!("{name}: {error}"));
        session.rollback().unwrap();
        assert!(contents(&mut session) == before, "{name} left something that was rolled back, FUZZ_SEED={seed}");
        for _ in 0..4 {
            let part = whole.mul_f64(random.below(1000) as f64 / 1000.0).max(Duration::from_micros(1));
            session.begin().unwrap();
            session.set_timeout(Some(part));
            let outcome = call(&mut session, &name);
            session.set_timeout(None);
            match outcome {
                Ok(_) => session.rollback().unwrap(),
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::Timeout, "{name}: {error}");
                    stopped += 1;
                    session.commit().unwrap();
                }
            }
            assert!(contents(&mut session) == before, "{name} stopped after {part:?}, FUZZ_SEED={seed}");
        }
    }
    assert!(stopped >= 20, "only {stopped} calls were stopped");
}

/// A random graph of nodes with a number `i` and a community, edges of the type R with weights, and edges of the type D without
/// circles, as statements.
fn random_graph(random: &mut SeededRandom) -> String {
    const NODES: u64 = 60;
    let mut edges = |edge_type: &str, count: usize| -> String {
        let mut edge = || {
            let (a, b) = (random.below(NODES), random.below(NODES));
            let (low, high) = (a.min(b), a.max(b).max(a.min(b) + 1) % NODES);
            let is_ordered = edge_type == "R" || low < high;
            is_ordered.then(|| format!("[{a}, {b}, {low}, {high}, {}]", 1 + random.below(9)))
        };
        let rows: Vec<String> = (0..count).filter_map(|_| edge()).collect();
        let ends = if edge_type == "R" { "a.i = e[0] AND b.i = e[1]" } else { "a.i = e[2] AND b.i = e[3]" };
        format!(
            "UNWIND [{}] AS e MATCH (a:N), (b:N) WHERE {ends} CREATE (a)-[:{edge_type} {{w: e[4]}}]->(b)",
            rows.join(", ")
        )
    };
    let (r, d) = (edges("R", 150), edges("D", 60));
    format!("UNWIND range(0, {}) AS i CREATE (:N {{i: i, part: i % 7}});\n{r};\n{d}", NODES - 1)
}

/// True if two texts are the same except for the last digits of numbers: sums come in another order.
fn is_about(a: &str, b: &str) -> bool {
    const ERROR_MAX: f64 = 1e-9;
    let is_of_number = |c: char| c.is_ascii_digit() || ".-+eE".contains(c);
    let parts = |text: &str| -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        chars.chunk_by(|&x, &y| is_of_number(x) == is_of_number(y)).map(|part| part.iter().collect()).collect()
    };
    let (a, b) = (parts(a), parts(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) => (x - y).abs() <= ERROR_MAX * x.abs().max(1.0),
            _ => a == b,
        })
}

#[test]
fn what_is_written_is_the_same_on_the_reference_store() {
    let questions = [
        "MATCH (n) RETURN n.i, labels(n), properties(n)",
        "MATCH (a)-[r]->(b) RETURN a.i, b.i, type(r), properties(r)",
    ];
    let none = Parameters::default();
    let mut written = 0;
    for seed in (41..44).map(seed_or) {
        let script = random_graph(&mut SeededRandom::new(seed));
        let names = writers(&mut Native::new(1).database().session());
        assert!(names.len() >= 20, "only {} procedures write", names.len());
        for (name, _) in &names {
            let engines: [Box<dyn Engine>; 2] =
                [Box::new(Bare::new(Box::new(ReferenceStore::new()))), Box::new(Native::reopening(1))];
            let [expected, found] = engines.map(|mut engine| {
                run_script(&mut *engine, &script).expect("the graph can be made");
                engine.settle();
                let before = questions.map(|text| engine.run(text, &none).expect(text).sorted_rows());
                call_by(name, |text| engine.run(text, &none)).unwrap_or_else(|error| panic!("{name}: {error}"));
                // Written values are read from files.
                engine.settle();
                let after = questions.map(|text| engine.run(text, &none).expect(text).sorted_rows());
                written += usize::from(after != before);
                after
            });
            for (expected, found) in expected.iter().flatten().zip(found.iter().flatten()) {
                let same = expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| is_about(a, b));
                assert!(same, "FUZZ_SEED={seed}, {name}: {found:?} was written, expected {expected:?}");
            }
            assert!(expected.iter().map(Vec::len).eq(found.iter().map(Vec::len)), "FUZZ_SEED={seed}, {name}: rows");
        }
    }
    assert!(written >= 3 * 2 * 20, "{written} calls wrote something");
}
