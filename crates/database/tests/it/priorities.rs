//! Statements of all priorities at once: each gets its answer, and nobody waits for ever.

use database::{Config, Database, Durability, Parameters, Priority, Value};
use testing::Folder;

const PRIORITIES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

#[test]
fn statements_of_all_priorities_get_on_at_once() {
    let folder = Folder::new();
    let config = Config { durability: Durability::Off, threads: 1, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
    let ask = |session: &mut database::Session, text: &str| -> Vec<Vec<Value>> {
        session.query(text, &Parameters::default()).expect(text).rows().collect()
    };
    let mut session = database.session();
    ask(&mut session, "UNWIND range(1, 3000) AS i CREATE (:N {id: i, k: i % 10})");
    ask(&mut session, "MATCH (a:N), (b:N) WHERE a.id < b.id AND b.id < a.id + 9 CREATE (a)-[:R]->(b)");
    let texts = [
        "CALL algo.pagerank({maxIterations: 60, tolerance: 0}) YIELD score RETURN round(sum(score), 6)",
        "CALL algo.wcc.stats() YIELD componentCount",
        "MATCH (a:N)-[:R*1..3]->(b) RETURN count(*)",
        "MATCH (a:N) WHERE a.k < 3 MATCH (b:N) WHERE a.k + b.k = 11 RETURN count(*)",
        "MATCH (a:N {id: 17}) RETURN a.k",
        "MATCH (a:N {id: 1}) SET a.k = a.k RETURN a.k",
    ];
    let expected: Vec<Vec<Vec<Value>>> = texts.iter().map(|text| ask(&mut session, text)).collect();
    std::thread::scope(|scope| {
        for (worker, priority) in PRIORITIES.into_iter().cycle().take(6).enumerate() {
            let (database, expected) = (&database, &expected);
            scope.spawn(move || {
                let mut session = database.session();
                session.set_priority(priority);
                for round in 0..6 {
                    let at = (worker + round) % texts.len();
                    assert_eq!(ask(&mut session, texts[at]), expected[at], "{}, {}", texts[at], priority.name());
                }
            });
        }
    });
}
