//! Servers as subjects: nodes to start from are drawn by their ids, evenly and by degree, and all ids are read only where they are
//! sparse.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use database::{Config, Database, Parameters, QueryResult, Session};
use introspect::SystemClock;
use introspect::machine::Effort;
use introspect::measure::{MeasureOptions, measure};
use introspect::subject::server::{CypherServer, Statements};
use introspect::subject::{Choice, Subject};
use model::{Interrupt, Result};
use testing::random::seed_or;

/// A session that stands for one of a server, and notes how many rows statements have given.
struct Noted {
    session: Session,
    rows_max: Arc<Mutex<usize>>,
}

impl Statements for Noted {
    fn query(&mut self, text: &str, parameters: &Parameters) -> Result<QueryResult> {
        let result = self.session.query(text, parameters)?;
        let mut most = self.rows_max.lock().expect("nobody panicked");
        *most = (*most).max(result.row_count());
        Ok(result)
    }

    fn set_limit(&mut self, limit: Duration) {
        self.session.set_timeout(Some(limit));
    }
}

struct Server {
    subject: CypherServer<Noted>,
    rows_max: Arc<Mutex<usize>>,
    _database: Database,
    _folder: testing::Folder,
}

/// A server with the graph that statements make.
fn server(statements: &[&str]) -> Server {
    let folder = testing::Folder::new();
    let database = Database::open(&folder.join("s.knot"), Config::default()).expect("the store is made");
    let mut session = database.session();
    for statement in statements {
        session.query(statement, &Parameters::default()).expect(statement);
    }
    let rows_max = Arc::new(Mutex::new(0));
    let noted = Noted { session, rows_max: rows_max.clone() };
    let subject = CypherServer::open(noted, "here".to_owned(), Arc::new(SystemClock::default()), &Interrupt::new());
    Server { subject: subject.expect("it opens"), rows_max, _database: database, _folder: folder }
}

fn starts(server: &mut Server, choice: Choice, count: usize, seed: u64) -> Vec<u64> {
    let chosen = server.subject.choose(choice, count, seed).expect("there are nodes");
    assert_eq!(chosen.len(), count);
    chosen.iter().map(|start| start.node).collect()
}

fn described(server: &Server) -> String {
    let described = server.subject.describe().expect("it is there");
    described.settings.iter().find(|(name, _)| name == "starts").expect("it is told").1.clone()
}

/// Squares of deviations from what is expected, over that.
fn chi_square(counts: impl Iterator<Item = (f64, f64)>) -> f64 {
    counts.map(|(found, expected)| (found - expected).powi(2) / expected).sum()
}

#[test]
fn nodes_are_drawn_evenly_between_ids_with_gaps() {
    let seed = seed_or(11);
    // Three of four are deleted, and all of the ids in the middle.
    let mut server = server(&[
        "UNWIND range(0, 11999) AS i CREATE (:Node {id: i})",
        "MATCH (n:Node) WHERE n.id % 4 <> 1 OR 4000 <= n.id < 8000 DELETE n",
    ]);
    let text = described(&server);
    assert!(text.starts_with("drawn between the ids ") && text.ends_with("of which 17 % are nodes"), "{text}");
    assert_eq!(server.subject.describe().expect("it is there").nodes, 2_000);
    let drawn = starts(&mut server, Choice::Uniform, 20_000, seed);
    assert_eq!(starts(&mut server, Choice::Uniform, 20_000, seed), drawn, "seed {seed}");
    assert_eq!(
        starts(&mut server, Choice::Uniform, 50, seed),
        drawn[..50],
        "seed {seed}: the first do not depend on the number"
    );
    assert_ne!(starts(&mut server, Choice::Uniform, 20_000, seed + 1), drawn, "seed {seed}");
    // Forty groups of fifty nodes each.
    let mut sorted = drawn.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert!(sorted.len() > 1_950 && sorted.len() <= 2_000, "{} of 2000 nodes, seed {seed}", sorted.len());
    let first = sorted[0] - sorted[0] % 4;
    let group = |node: u64| {
        let at = (node - first) / 4;
        (if at < 1_000 { at } else { at - 1_000 }) / 50
    };
    let counts = (0..40).map(|wanted| (drawn.iter().filter(|node| group(**node) == wanted).count() as f64, 500.0));
    let found = chi_square(counts);
    // Of 39 degrees of freedom: 1 of 10,000 seeds is above.
    assert!(found < 80.0, "{found}, seed {seed}");
    assert!(*server.rows_max.lock().expect("nobody panicked") < 5_000, "no statement gives all ids");
    let within = starts(&mut server, Choice::Within(100), 500, seed);
    assert!(within.iter().all(|node| *node < first + 100), "seed {seed}");
}

#[test]
fn nodes_are_drawn_by_their_degree() {
    let seed = seed_or(12);
    // Node `i` has `i % 10` edges to itself or others, and those that others have to it.
    let mut server = server(&[
        "UNWIND range(0, 499) AS i CREATE (:Node {id: i})",
        "CREATE CONSTRAINT FOR (n:Node) REQUIRE n.id IS UNIQUE",
        "MATCH (n:Node) UNWIND range(1, n.id % 10) AS k MATCH (m:Node {id: (n.id * 7 + k * k) % 500}) CREATE (n)-[:LINK]->(m)",
        "MATCH (n:Node) WHERE n.id < 10 DETACH DELETE n",
    ]);
    let draw = |server: &mut Server| starts(server, Choice::ByDegree, 10_000, seed);
    let drawn = draw(&mut server);
    assert_eq!(draw(&mut server), drawn, "seed {seed}");
    let degrees = "MATCH (n) RETURN id(n), COUNT { (n)--() }";
    let mut session = server._database.session();
    let rows: Vec<_> = session.query(degrees, &Parameters::default()).expect("it runs").rows().collect();
    let number = |value: &model::Value| if let model::Value::Int(number) = value { *number as u64 } else { 0 };
    let all: u64 = rows.iter().map(|row| number(&row[1])).sum();
    // Nodes of one degree together, of which there are enough.
    let mut groups = std::collections::BTreeMap::<u64, (f64, f64)>::new();
    for row in &rows {
        let held = groups.entry(number(&row[1])).or_default();
        held.0 += drawn.iter().filter(|node| **node == number(&row[0])).count() as f64;
        held.1 += drawn.len() as f64 * number(&row[1]) as f64 / all as f64;
    }
    for (degree, (found, expected)) in groups {
        // Candidates are drawn first, so that the share of a degree varies more than that of draws alone.
        assert!((found - expected).abs() <= 0.1 * expected + 30.0, "degree {degree}: {found}, {expected}; seed {seed}");
    }
}

#[test]
fn ids_that_are_sparse_are_read() {
    let mut server =
        server(&["UNWIND range(0, 9999) AS i CREATE (:Node {id: i})", "MATCH (n:Node) WHERE n.id % 100 <> 0 DELETE n"]);
    assert_eq!(described(&server), "drawn from 100 ids, which were read");
    let drawn = starts(&mut server, Choice::Uniform, 500, 1);
    assert_eq!(starts(&mut server, Choice::Uniform, 500, 1), drawn);
    assert!(drawn.iter().all(|node| node % 100 == drawn[0] % 100));
}

#[test]
fn a_server_is_measured_and_one_without_nodes_refused() {
    let mut server = server(&[
        "UNWIND range(0, 199) AS i CREATE (:Node {id: i})",
        "MATCH (n:Node), (m:Node) WHERE m.id = (n.id * 3 + 1) % 200 CREATE (n)-[:LINK {w: n.id}]->(m)",
    ]);
    let options = MeasureOptions { calls_max: 20, cold_calls_max: 5, ..MeasureOptions::new(Effort::Quick) };
    let found = measure(&mut server.subject, &options, &SystemClock::default(), &Interrupt::new()).expect("it runs");
    assert!(found.runs.len() > 80 && found.runs.iter().all(|run| run.error.is_none()), "{:?}", found.cut);
    assert_eq!(found.cut.sentences(), Vec::<String>::new());
    let folder = testing::Folder::new();
    let database = Database::open(&folder.join("s.knot"), Config::default()).expect("the store is made");
    let noted = Noted { session: database.session(), rows_max: Arc::default() };
    let refused = CypherServer::open(noted, "here".to_owned(), Arc::new(SystemClock::default()), &Interrupt::new());
    assert!(refused.err().expect("it is empty").to_string().contains("has no nodes to start from"));
}
