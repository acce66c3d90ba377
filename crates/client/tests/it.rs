//! Sessions in another process, against the server that is there for them.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its store fails")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use client::Graph;
use database::{Config, Database, Parameters};
use model::{ErrorCode, Interrupt, Value};
use testing::random::{SeededRandom, seed_or};
use testing::scalars::{random_scalar, scalar_values};

struct Shared {
    /// Let go before the database.
    sharing: Option<server::Sharing>,
    database: Option<Database>,
    store: PathBuf,
    _folder: testing::Folder,
}

impl Shared {
    fn new() -> Shared {
        let folder = testing::Folder::new();
        let store = folder.join("a.knot");
        let database = Database::open(&store, Config::default()).unwrap();
        let sharing = server::share(&database).unwrap();
        Shared { sharing: Some(sharing), database: Some(database), store, _folder: folder }
    }

    fn graph(&self) -> Graph {
        Graph::open(&self.store, Config::default(), &Interrupt::new()).unwrap()
    }

    fn close(&mut self) {
        self.sharing = None;
        self.database = None;
    }
}

fn with(value: Value) -> Parameters {
    std::iter::once((Arc::from("x"), value)).collect()
}

fn same(a: &Value, b: &Value) -> bool {
    // Bits of floats count, and so does the kind.
    format!("{a:?}") == format!("{b:?}")
}

fn random_value(random: &mut SeededRandom, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(random.chance(50)),
        2 => Value::Int((random.next_u64() >> random.below(64)) as i64),
        3 => Value::Float(f64::from_bits(random.next_u64())),
        4 => Value::string(&"aß€𝄞\0".repeat(random.index(20))),
        5 => random_scalar(|| random.next_u64()),
        6 => Value::list((0..random.below(6)).map(|_| random_value(random, depth - 1)).collect()),
        _ => Value::map((0..random.below(6)).map(|at| (Arc::from(format!("k{at}")), random_value(random, depth - 1)))),
    }
}

#[test]
fn every_value_goes_there_and_back() {
    let seed = seed_or(9);
    println!("FUZZ_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let shared = Shared::new();
    let mut session = shared.graph().session();
    let mut values = scalar_values();
    values.extend([i64::MIN, i64::MAX, -17, 127, 128, -129].map(Value::Int));
    values.extend([f64::INFINITY, f64::MIN_POSITIVE, -0.0].map(Value::Float));
    values.push(Value::Bytes(Arc::from(vec![0, 255, 7])));
    values.push(Value::string(&"long".repeat(50_000)));
    values.extend((0..500).map(|_| random_value(&mut random, 3)));
    for value in &values {
        let found = session.query("RETURN $x AS x", &with(value.clone())).unwrap().single().unwrap();
        assert!(same(&found, value), "seed {seed}: {value:?} came back as {found:?}");
    }
    assert!(values.len() > 500);
    let error = session.query("RETURN $x", &with(Value::Node(model::NodeId(1)))).err().unwrap();
    assert_eq!(error.code(), ErrorCode::Type);
}

#[test]
fn nodes_edges_and_paths_are_those_of_the_store() {
    let shared = Shared::new();
    let mut here = shared.database.as_ref().unwrap().session();
    let text = "CREATE (:A:B {i: 1, d: date('2026-01-02')})-[:R {w: [1, 2]}]->(c:C)<-[:S]-(:D)-[:LOOP]->(c)";
    here.query(text, &Parameters::default()).unwrap();
    let mut there = shared.graph().session();
    for query in [
        "MATCH (n) RETURN n, labels(n) AS l ORDER BY id(n)",
        "MATCH (a)-[r]->(b) RETURN r, a, [b, {k: r}] AS both ORDER BY elementId(r)",
        "MATCH p = (a)-[*0..4]-(b) RETURN p, length(p) AS l ORDER BY l, toString(nodes(p)[0].i), id(b)",
        "MATCH (n) RETURN n.nothing AS x LIMIT 0",
    ] {
        let (a, b) = [
            &mut here.query(query, &Parameters::default()).unwrap(),
            &mut there.query(query, &Parameters::default()).unwrap(),
        ]
        .map(|result| {
            let entities = result.entities();
            let rows: Vec<Vec<String>> = result
                .rows()
                .map(|row| {
                    row.iter()
                        .map(|value| format!("{value:?} {}", database::rendering::text(value, &entities)))
                        .collect()
                })
                .collect();
            (result.columns.clone(), rows)
        })
        .into();
        assert_eq!(a, b, "{query}");
    }
}

#[test]
fn a_failure_undoes_its_statement_alone_and_the_transaction_goes_on() {
    let shared = Shared::new();
    let mut session = shared.graph().session();
    let none = Parameters::default();
    session.begin().unwrap();
    session.query("CREATE (:N {i: 1})", &none).unwrap();
    for (query, code) in [
        ("MATCH (n:N) SET n.i = 2 RETURN 1 / 0 AS x", ErrorCode::Arithmetic),
        ("RETRUN 1", ErrorCode::Syntax),
        ("RETURN $y", ErrorCode::Parameter),
        ("COMMIT nothing", ErrorCode::Syntax),
    ] {
        assert_eq!(session.query(query, &none).err().map(|error| error.code()), Some(code), "{query}");
        assert!(session.in_transaction());
    }
    session.set_timeout(Some(Duration::from_millis(50)));
    let endless = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a * b)";
    assert_eq!(session.query(endless, &none).err().map(|error| error.code()), Some(ErrorCode::Timeout));
    session.set_timeout(None);
    let interrupt = session.interrupt();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            interrupt.cancel();
        });
        assert_eq!(session.query(endless, &none).err().map(|error| error.code()), Some(ErrorCode::Cancelled));
    });
    assert_eq!(session.query("MATCH (n:N) RETURN n.i", &none).unwrap().single(), Some(1.into()));
    session.commit().unwrap();
    assert_eq!(session.commit().err().map(|error| error.code()), Some(ErrorCode::TransactionState));
    assert_eq!(session.query("MATCH (n:N) RETURN sum(n.i)", &none).unwrap().single(), Some(1.into()));
    // Errors have their places, remedies and details.
    let mut here = shared.database.as_ref().unwrap().session();
    for query in ["MATCH (n) RETURN m", "RETURN 'ä' + 1 + [] * 2", "MATCH (n:N) RETURN n.i.j.k", "CALL nothing()"] {
        let (a, b) = (here.query(query, &none).err(), session.query(query, &none).err());
        let told = |error: Option<model::Error>| {
            error.map(|error| (format!("{error:?}"), error.render(query), error.detail(), error.phase()))
        };
        assert_eq!(told(a), told(b), "{query}");
    }
}

#[test]
fn rows_come_in_portions_and_counters_with_the_end() {
    let shared = Shared::new();
    let mut session = shared.graph().session();
    let none = Parameters::default();
    let result = session.query("UNWIND range(1, 100000) AS i RETURN i, toString(i) AS s", &none).unwrap();
    assert_eq!(result.row_count(), 100_000);
    assert!(result.rows().enumerate().all(|(at, row)| row[0] == Value::Int(at as i64 + 1)));
    let text = "UNWIND range(1, 10) AS i CREATE (a:A {i: i})-[:R]->(:B)";
    let summary = session.query(text, &none).unwrap().summary;
    let counters = summary.counters;
    assert_eq!((counters.nodes_created, counters.edges_created, counters.properties_set), (20, 10, 10));
    assert!(summary.time_ns > 0);
    let summary = session.query("PROFILE MATCH (a:Nowhere) RETURN a", &none).unwrap().summary;
    let report = summary.report.unwrap();
    assert!(report.text().contains("rows") && report.json().contains("\"operator\""));
    assert_eq!(summary.hints.len(), 1);
    let info = session.info().unwrap();
    assert_eq!((info.nodes, info.edges, info.labels.len()), (20, 10, 2));
    assert!(session.names().unwrap().labels_and_types.contains(&"R".to_owned()));
    assert!(session.callable_names().unwrap().iter().any(|name| name == "toUpper"));
}

#[test]
fn sessions_go_on_where_the_store_is_next() {
    let mut shared = Shared::new();
    let graph = shared.graph();
    let (mut one, mut two) = (graph.session(), graph.session());
    let none = Parameters::default();
    one.query("CREATE (:N)", &none).unwrap();
    assert!(graph.database().is_none() && graph.database_to(":info").is_err());
    two.begin().unwrap();
    two.query("CREATE (:N)", &none).unwrap();
    shared.close();
    one.query("CREATE (:N)", &none).unwrap();
    assert!(graph.database().is_some());
    let error = two.query("CREATE (:N)", &none).err().unwrap();
    assert!(error.code() == ErrorCode::Connection && error.message().contains("rolled back"), "{error:?}");
    assert!(!two.in_transaction());
    assert_eq!(two.query("MATCH (n:N) RETURN count(n)", &none).unwrap().single(), Some(2.into()));
}

#[test]
fn a_store_that_is_not_shared_is_busy() {
    let mut shared = Shared::new();
    shared.sharing = None;
    let error = Graph::open(&shared.store, Config::default(), &Interrupt::new()).err().unwrap();
    assert_eq!(error.code(), ErrorCode::Busy);
    assert!(error.remedy().contains("-r"), "{error:?}");
}
