//! Statements whose estimates are off, with plans that are made anew on the way and without; and others, where the look at the number of
//! rows is all that it costs.
//!
//! Run with `cargo run --release -p knotwork-database --example replanning`. Times are the least of 15 runs.

use std::error::Error;
use std::io::Write;

use database::{Config, Database, Parameters, ReplanRule};

const NODES: [&str; 4] = [
    "UNWIND range(0, 99999) AS i CREATE (:Account {id: i, city: i % 3999})",
    "UNWIND range(0, 19999) AS i CREATE (:Shop {id: i, city: i % 5000, size: i % 7})",
    "MATCH (s:Shop) MATCH (a:Account) WHERE a.id = s.id * 5 CREATE (a)-[:VISITS]->(s)",
    "UNWIND range(0, 99999) AS i CREATE (:Person {id: i, age: i % 90})",
];

/// Conditions that follow from each other: no statistics of values tell that.
const CONDITIONS: &str =
    "a.id % 50 = 0 AND a.id % 25 = 0 AND a.id % 10 = 0 AND a.id % 5 = 0 AND a.id % 2 = 0 AND a.id % 1 = 0";

fn statements() -> Vec<(&'static str, String)> {
    let chosen = format!("MATCH (a:Account) WHERE {CONDITIONS}");
    vec![
        ("many: distinct", format!("{chosen} WITH DISTINCT a.city AS city MATCH (s:Shop) WHERE s.city = city RETURN count(*)")),
        ("many: groups", format!("{chosen} WITH a.city AS city, count(*) AS n MATCH (s:Shop) WHERE s.city = city RETURN sum(n), count(*)")),
        ("many: sorted", format!("{chosen} WITH a ORDER BY a.id MATCH (s:Shop) WHERE s.city = a.city RETURN count(*)")),
        ("known: sorted", "MATCH (a:Account) WHERE a.id < 2000 WITH a ORDER BY a.id MATCH (s:Shop) WHERE s.city = a.city RETURN count(*)".into()),
        ("right: groups", "MATCH (p:Person) WITH p.age AS age, count(*) AS n MATCH (s:Shop) WHERE s.size = age RETURN sum(n)".into()),
        ("right: distinct", "MATCH (a:Account) WITH DISTINCT a MATCH (a)-[:VISITS]->(s) RETURN count(*)".into()),
        ("right: passed on", "MATCH (a:Account) WITH a MATCH (a)-[:VISITS]->(s:Shop) WHERE s.size = 3 RETURN count(*)".into()),
        ("right: few rows", "UNWIND range(1, 20) AS i MATCH (s:Shop) WHERE s.id = i WITH s ORDER BY s.id MATCH (s)<-[:VISITS]-(a) RETURN count(*)".into()),
    ]
}

fn best_ms(database: &Database, text: &str) -> Result<(f64, String), database::Error> {
    let (mut session, clock) = (database.session(), database.clock());
    let (mut best, mut rows) = (f64::MAX, String::new());
    for _ in 0..15 {
        let began = clock.now_ns();
        let result = session.query(text, &Parameters::default())?;
        best = best.min((clock.now_ns() - began) as f64 / 1e6);
        rows = format!("{:?}", result.rows().collect::<Vec<_>>());
    }
    Ok((best, rows))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut answers: Vec<Vec<(f64, String)>> = Vec::new();
    let folder = std::env::temp_dir().join(format!("replanning-{}", std::process::id()));
    for factor in [f64::INFINITY, 100.0] {
        let config = Config { replan: ReplanRule { factor, ..ReplanRule::default() }, ..Config::default() };
        let database = Database::open(&folder.join("graph.knot"), config)?;
        if answers.is_empty() {
            for text in NODES {
                database.session().query(text, &Parameters::default())?;
            }
        }
        answers.push(statements().iter().map(|(_, text)| best_ms(&database, text)).collect::<Result<_, _>>()?);
    }
    // Nothing is lost if it stays.
    let _ = std::fs::remove_dir_all(&folder);
    let mut out = std::io::stdout();
    writeln!(out, "{:<20} {:>12} {:>12}", "statement", "as planned", "re-planned")?;
    for (at, (name, _)) in statements().iter().enumerate() {
        let ((before, expected), (after, found)) = (&answers[0][at], &answers[1][at]);
        assert_eq!(expected, found, "{name}");
        writeln!(out, "{name:<20} {before:>9.2} ms {after:>9.2} ms")?;
    }
    Ok(())
}
