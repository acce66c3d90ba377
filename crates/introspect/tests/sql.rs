//! Relational databases as subjects: the answers of each operation are those of a store with the same graph.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use database::{Access, Config, Database, Session};
use introspect::SystemClock;
use introspect::generate::{GeneratedGraph, GraphKind, GraphOptions, write_store};
use introspect::machine::Effort;
use introspect::measure::{MeasureOptions, measure};
use introspect::operations::{Operation, Way};
use introspect::subject::knotwork::KnotworkStore;
use introspect::subject::sql::{SqlSubject, TableChoice};
use introspect::subject::{Choice, Start, Subject};
use model::{ErrorCode, Interrupt, Value};
use testing::servers::{self, Postgres, PostgresOptions};

/// Time limit of a statement, which no statement here needs.
const LIMIT: Duration = Duration::from_secs(60);
/// Rows of an `INSERT`.
const ROWS: usize = 500;

fn graph(folder: &Path) -> KnotworkStore {
    let graph = GeneratedGraph::new(&GraphOptions::new(GraphKind::Barabasi, 600)).expect("there is such a graph");
    let path = folder.join("graph.knot");
    write_store(&graph, &path, Config::default(), &Interrupt::new()).expect("the store is made");
    // Some edges lead from a node to itself.
    let database = Database::open(&path, Config::default()).expect("the store opens");
    rows(&mut database.session(), "MATCH (n) WHERE n.id % 60 = 7 CREATE (n)-[:LINK {time: n.id}]->(n)");
    drop(database);
    KnotworkStore::open(&path, Config::default(), Arc::new(SystemClock::default()), LIMIT, &Interrupt::new())
        .expect("the store opens")
}

fn rows(session: &mut Session, query: &str) -> Vec<Vec<Value>> {
    session.query(query, &Default::default()).expect("the query runs").rows().collect()
}

/// Names of the tables of a graph, and whether they have keys that say what they are.
struct Named {
    nodes: &'static str,
    edges: &'static str,
    ends: [&'static str; 2],
    has_keys: bool,
}

const PLAIN: Named = Named { nodes: "node", edges: "edge", ends: ["source", "target"], has_keys: false };
const KEYED: Named = Named { nodes: "person", edges: "knows", ends: ["src", "dst"], has_keys: true };

/// The edges with a key, their ends and their property, in the order of a text that names each for good.
const EDGES: &str = "MATCH (a)-[r]->(b) WITH elementId(r) AS name, id(a) AS a, id(b) AS b, r.time AS t ORDER BY name \
                     WITH collect([a, b, t]) AS all UNWIND range(0, size(all) - 1) AS i RETURN i, all[i][0], all[i][1], all[i][2]";
/// Those texts in that order.
const EDGE_NAMES: &str = "MATCH ()-[r]->() RETURN elementId(r) AS name ORDER BY name";

fn session(folder: &Path) -> (Database, Session) {
    let config = Config { access: Access::ReadOnly, ..Config::default() };
    let database = Database::open(&folder.join("graph.knot"), config).expect("the store opens");
    let session = database.session();
    (database, session)
}

/// Statements that make the tables of a store's graph. Nodes have their ids as keys.
fn statements(folder: &Path, named: &Named) -> String {
    let (_database, mut session) = session(folder);
    let Named { nodes, edges, ends: [source, target], has_keys } = named;
    let refers = if *has_keys { format!(" NOT NULL REFERENCES {nodes} (id)") } else { String::new() };
    let mut text = format!(
        "CREATE TABLE {nodes} (id BIGINT PRIMARY KEY, age BIGINT, name VARCHAR(200));\n\
         CREATE TABLE {edges} (id BIGINT PRIMARY KEY, {source} BIGINT{refers}, {target} BIGINT{refers}, time BIGINT);\n\
         CREATE INDEX edge_source ON {edges} ({source}, {target});\nCREATE INDEX edge_target ON {edges} ({target}, {source});\n"
    );
    for (table, query) in [(nodes, "MATCH (n) RETURN id(n), n.age, n.name"), (edges, EDGES)] {
        for piece in rows(&mut session, query).chunks(ROWS) {
            let row = |row: &Vec<Value>| {
                let value = |value: &Value| match value {
                    Value::String(text) => format!("'{}'", text.replace('\'', "''")),
                    other => other.to_string(),
                };
                format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", "))
            };
            let all: Vec<String> = piece.iter().map(row).collect();
            writeln!(text, "INSERT INTO {table} VALUES {};", all.join(", ")).expect("a string can be written");
        }
    }
    text
}

fn sqlite(path: &Path, statements: &str) {
    let database = rusqlite::Connection::open(path).expect("the folder can be written");
    database.execute_batch(&format!("BEGIN; {statements} COMMIT;")).expect("the tables are made");
}

fn subject(address: &str, tables: &str) -> model::Result<SqlSubject> {
    let choice = if tables.is_empty() { TableChoice::default() } else { TableChoice::parse(tables)? };
    SqlSubject::open(address, &choice, Arc::new(SystemClock::default()), LIMIT, &Interrupt::new())
}

/// Compares rows and checksums of each operation with those of a store, from the same starts.
fn answers_are_alike(relational: &mut SqlSubject, store: &mut KnotworkStore, folder: &Path) {
    let described = relational.describe().expect("it is there");
    assert_eq!((described.nodes, described.edges), (600, 3_005), "{described:?}");
    let mut starts = store.choose(Choice::Uniform, 40, 3).expect("the store has nodes");
    let itself = store.choose(Choice::Uniform, 500, 3).expect("the store has nodes");
    let itself = itself.into_iter().filter(|start| matches!(start.key, Some(Value::Int(key)) if key % 60 == 7));
    starts.extend(itself.take(3));
    assert_eq!(starts.len(), 43, "some of the starts have an edge to themselves");
    let (_database, mut session) = session(folder);
    let names = rows(&mut session, EDGE_NAMES);
    let key = |name: &str| names.iter().position(|row| row[0] == Value::string(name)).map(|key| key as u64);
    let mut compared = 0;
    for operation in Operation::all() {
        if !relational.can(operation, Way::Api) {
            continue;
        }
        let way = if store.can(operation, Way::Api) { Way::Api } else { Way::Cypher };
        for start in &starts {
            let from = Start { edge: start.edge_name.as_deref().and_then(key), ..start.clone() };
            let found = relational.perform(operation, Way::Api, &from).expect("it is answered");
            let expected = store.perform(operation, way, start).expect("the store answers");
            assert_eq!(found.rows, expected.rows, "{operation} from {start:?}");
            // Of several neighbours any may be the first.
            if !matches!(operation, Operation::FirstNeighbor(..)) {
                assert_eq!(found.checksum, expected.checksum, "{operation} from {start:?}");
            }
        }
        compared += 1;
    }
    assert_eq!(compared, 25, "operations that SQL has");
}

fn starts_are_chosen_by_a_seed(relational: &mut SqlSubject) {
    for choice in [Choice::Uniform, Choice::ByDegree, Choice::Within(16)] {
        let mut choose = |seed: u64| relational.choose(choice, 200, seed).expect("there are nodes");
        let (one, same, other) = (choose(1), choose(1), choose(2));
        assert!(one == same && one != other && one.len() == 200, "{choice:?}");
        assert!(one.iter().all(|start| start.edge.is_some() && start.node < 600));
        assert!(choice != Choice::Within(16) || one.iter().all(|start| start.node < 16));
    }
}

#[test]
fn sqlite_answers_as_a_store_does() {
    let folder = testing::Folder::new();
    let mut store = graph(folder.path());
    for (name, named) in [("plain.sqlite", &PLAIN), ("keyed.db", &KEYED)] {
        let path = folder.path().join(name);
        sqlite(&path, &statements(folder.path(), named));
        let mut relational = subject(&path.to_string_lossy(), "").expect("it opens");
        answers_are_alike(&mut relational, &mut store, folder.path());
        starts_are_chosen_by_a_seed(&mut relational);
        relational.cool().expect("it is opened anew");
        answers_are_alike(&mut relational, &mut store, folder.path());
        let refused = relational.copy().expect_err("it is only read").to_string();
        assert!(refused.contains("only read"), "{refused}");
    }
}

#[test]
fn postgresql_answers_as_a_store_does() {
    let Some(server) = servers::postgres() else { return };
    let folder = testing::Folder::new();
    let mut store = graph(folder.path());
    for (name, named) in [("plain", &PLAIN), ("keyed", &KEYED)] {
        let url = server.database(name);
        server.run(name, &statements(folder.path(), named));
        let mut relational = subject(&url, "").expect("it opens");
        assert!(relational.describe().expect("it is there").bytes > 100_000);
        answers_are_alike(&mut relational, &mut store, folder.path());
        starts_are_chosen_by_a_seed(&mut relational);
    }
    server.run("plain", "CREATE ROLE reader LOGIN; GRANT SELECT ON node TO reader;");
    let url = server.url("plain").replace("postgres@", "reader@");
    let refused = subject(&url, "").err().expect("it may not read edges").to_string();
    assert!(refused.contains("no table is seen to be edges"), "{refused}");
}

#[test]
fn mariadb_answers_as_a_store_does() {
    let Some(server) = servers::mariadb() else { return };
    let folder = testing::Folder::new();
    let mut store = graph(folder.path());
    let url = server.database("graph");
    server.run("graph", &statements(folder.path(), &PLAIN));
    let mut relational = subject(&url, "node=node(id) edge=edge(source,target)").expect("it opens");
    answers_are_alike(&mut relational, &mut store, folder.path());
    starts_are_chosen_by_a_seed(&mut relational);
    assert_eq!(relational.describe().expect("it is there").system, "mariadb");
}

#[test]
fn a_server_that_is_killed_ends_the_measurement() {
    let Some(server) = Postgres::start(&PostgresOptions::default()) else { return };
    let folder = testing::Folder::new();
    graph(folder.path());
    let url = server.database("graph");
    server.run("graph", &statements(folder.path(), &PLAIN));
    let mut relational = subject(&url, "").expect("it opens");
    let start = Start { node: 1, ..Start::default() };
    relational.perform(Operation::NodeById, Way::Api, &start).expect("it is answered");
    server.server().kill();
    let failed = relational.perform(Operation::NodeById, Way::Api, &start).expect_err("it is gone");
    assert_eq!(failed.code(), ErrorCode::Source, "{failed}");
    let options = MeasureOptions::new(Effort::Quick);
    let ended = measure(&mut relational, &options, &SystemClock::default(), &Interrupt::new());
    let ended = ended.expect_err("it is gone").to_string();
    assert!(ended.contains(&url) && ended.contains("connection"), "{ended}");
}

#[test]
fn ctrl_c_ends_a_statement() {
    let folder = testing::Folder::new();
    graph(folder.path());
    let path = folder.path().join("graph.sqlite");
    sqlite(&path, &statements(folder.path(), &PLAIN));
    let interrupt = Interrupt::new();
    let clock = Arc::new(SystemClock::default());
    let address = path.to_string_lossy().into_owned();
    let mut relational =
        SqlSubject::open(&address, &TableChoice::default(), clock, LIMIT, &interrupt).expect("it opens");
    interrupt.cancel();
    let options = MeasureOptions::new(Effort::Quick);
    let ended = measure(&mut relational, &options, &SystemClock::default(), &interrupt).expect_err("it was cancelled");
    assert_eq!(ended.code(), ErrorCode::Cancelled);
}

#[test]
fn databases_without_a_graph_are_told() {
    let folder = testing::Folder::new();
    let fails = |name: &str, statements: &str, tables: &str, expected: &str| {
        let path = folder.path().join(name);
        if !statements.is_empty() {
            sqlite(&path, statements);
        }
        let told = subject(&path.to_string_lossy(), tables).err().expect("it is no graph");
        let text = format!("{told} {}", told.remedy());
        assert!(text.contains(expected) && text.contains(name), "{expected} in {text}");
    };
    fails("none.sqlite", "", "", "a database is never created");
    fails("empty.sqlite", "PRAGMA user_version = 1;", "", "there are no tables");
    fails("one.sqlite", "CREATE TABLE word (text TEXT);", "", "there are word(text)");
    let tables = "CREATE TABLE node (id INTEGER PRIMARY KEY); CREATE TABLE edge (source INTEGER, target INTEGER);";
    fails("bare.sqlite", tables, "", "the table node has no rows to start from");
    let keys = "CREATE TABLE node (id); CREATE TABLE edge (source, target); INSERT INTO node VALUES ('ann'), ('bob');";
    fails("names.sqlite", keys, "", "are no integers: the first");
    fails("bare.sqlite", "", "edge=knows", "there is no table knows");
}

/// Starts of a database whose keys have gaps: each one is there, and as likely as the others.
#[test]
fn keys_with_gaps_are_drawn_evenly() {
    let seed = testing::random::seed_or(5);
    let folder = testing::Folder::new();
    let path = folder.path().join("gaps.sqlite");
    let numbers =
        |last: u32| format!("WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < {last})");
    let text = format!(
        "CREATE TABLE node (id INTEGER PRIMARY KEY, age INTEGER);
         INSERT INTO node {} SELECT n, n FROM i WHERE n % 5 = 2 AND n NOT BETWEEN 4000 AND 7999;
         CREATE TABLE edge (id INTEGER PRIMARY KEY, source INTEGER REFERENCES node, target INTEGER REFERENCES node);
         INSERT INTO edge {} SELECT 3 * n, 2 + 5 * (n % 100), CASE WHEN n % 3 > 0 THEN 2 END FROM i;",
        numbers(11_999),
        numbers(2_999)
    );
    sqlite(&path, &text);
    let mut relational = subject(&path.to_string_lossy(), "").expect("it opens");
    let described = relational.describe().expect("it is there");
    let setting = |name: &str| described.settings.iter().find(|(held, _)| held == name).map(|(_, text)| text.clone());
    assert_eq!(setting("keys of nodes").as_deref(), Some("drawn between 2 and 11997, of which 13 % are keys"));
    assert_eq!(setting("keys of edges").as_deref(), Some("drawn between 0 and 8997, of which 33 % are keys"));
    let mut choose =
        |choice: Choice, seed: u64| -> Vec<Start> { relational.choose(choice, 8_000, seed).expect("there are nodes") };
    let (drawn, same) = (choose(Choice::Uniform, seed), choose(Choice::Uniform, seed));
    assert!(drawn == same, "seed {seed}");
    let is_there = |node: u64| node % 5 == 2 && !(4_000..8_000).contains(&node) && node < 12_000;
    assert!(
        drawn.iter().all(|start| is_there(start.node) && start.edge.is_some_and(|edge| edge % 3 == 0)),
        "seed {seed}"
    );
    let group = |node: u64| (if node < 4_000 { node } else { node - 4_000 }) / 200;
    let counts = (0..40).map(|wanted| drawn.iter().filter(|start| group(start.node) == wanted).count() as f64);
    let chi_square: f64 = counts.map(|count| (count - 200.0).powi(2) / 200.0).sum();
    // Of 39 degrees of freedom: 1 of 10,000 seeds is above.
    assert!(chi_square < 80.0, "{chi_square}, seed {seed}");
    // A third of the edges has no end, so that the node 2 is at 2,000 of 5,000 ends, and at 30 more as a source.
    let ends = choose(Choice::ByDegree, seed);
    let share = ends.iter().filter(|start| start.node == 2).count() as f64 / ends.len() as f64;
    assert!((share - 2_030.0 / 5_000.0).abs() < 0.03, "{share}, seed {seed}");
    let within = choose(Choice::Within(10), seed);
    assert!(within.iter().all(|start| start.node < 50 && is_there(start.node)), "seed {seed}");
}

#[test]
fn keys_that_are_sparse_or_not_unique_are_read() {
    let folder = testing::Folder::new();
    let path = folder.path().join("sparse.sqlite");
    let text = "CREATE TABLE node (id INTEGER PRIMARY KEY, age INTEGER);
                INSERT INTO node VALUES (1, 5), (1000, 5), (9223372036854775807, 6), (-9223372036854775808, 9);
                CREATE TABLE edge (source INTEGER, target INTEGER); INSERT INTO edge VALUES (1, 1000);";
    sqlite(&path, text);
    for (tables, expected) in [("", vec![1, 1_000, i64::MAX, i64::MIN]), ("node=node(age)", vec![5, 6, 9])] {
        let mut relational = subject(&path.to_string_lossy(), tables).expect("it opens");
        let described = relational.describe().expect("it is there");
        assert!(described.settings.iter().any(|(_, text)| text == "drawn from 4, which were read"), "{described:?}");
        let drawn = relational.choose(Choice::Uniform, 200, 1).expect("there are nodes");
        let is_there = |wanted: &i64| drawn.iter().any(|start| start.node.cast_signed() == *wanted);
        assert!(
            expected.iter().all(is_there) && drawn.iter().all(|start| expected.contains(&start.node.cast_signed()))
        );
        let edges = relational.choose(Choice::ByDegree, 50, 1).expect("there are edges");
        assert!(edges.iter().all(|start| [1, 1_000].contains(&start.node)));
    }
}

#[test]
fn names_of_sqlite_mean_the_same_in_any_case() {
    let folder = testing::Folder::new();
    let path = folder.path().join("what? 100%.sqlite");
    let text = "CREATE TABLE Person (Id INTEGER PRIMARY KEY, Age INTEGER); INSERT INTO Person VALUES (1, 30), (2, 40);
                CREATE TABLE KNOWS (Src INTEGER, Dst INTEGER, FOREIGN KEY (SRC) REFERENCES PERSON (ID),
                FOREIGN KEY (dst) REFERENCES person (id)); INSERT INTO KNOWS VALUES (1, 2);";
    sqlite(&path, text);
    for tables in ["", "node=person edge=knows", "node=PERSON(ID) edge=Knows(SRC,DST)"] {
        let mut relational = subject(&path.to_string_lossy(), tables).expect("it opens");
        let described = relational.describe().expect("it is there");
        let told = described.settings.iter().find(|(name, _)| name == "tables").map(|(_, text)| text.as_str());
        assert_eq!(told, Some("node=Person(Id) edge=KNOWS(Src,Dst)"));
        assert!(relational.can(Operation::Hops(model::Direction::Both, 2), Way::Api), "both ends are nodes");
        relational.cool().expect("it is opened anew");
        let start = Start { node: 1, ..Start::default() };
        let found = relational.perform(Operation::NodeInteger, Way::Api, &start).expect("it is answered");
        assert_eq!(found.rows, 1);
    }
}
