//! Three traversals of a store of reviews (users, products, a score and a time for each review): what a user prefers, who
//! is similar, what to recommend. The reviews are imported into a store that has a sort key on score and time.

use std::path::{Path, PathBuf};

use database::import::{EdgeFile, ImportPlan, ImportProgress, NodeFile};
use database::{Database, Interrupt, Parameters, Session, Value};
use serde_json::json;

use crate::measuring::{Arguments, Outcome, now, percentiles, print, sizes};

const SCHEMA: [&str; 3] = [
    "CREATE CONSTRAINT users FOR (u:User) REQUIRE u.id IS UNIQUE",
    "CREATE CONSTRAINT products FOR (p:Product) REQUIRE p.id IS UNIQUE",
    "CREATE SORT KEY FOR ()-[r:REVIEWED]-() ON (r.score, r.time)",
];

const QUERIES: [(&str, &str); 4] = [
    (
        "preference",
        "MATCH (u:User {id: $i})-[r:REVIEWED]->(p:Product) WHERE r.score = 5 RETURN p.id ORDER BY r.time DESC LIMIT 10",
    ),
    (
        "similarity",
        "MATCH (u:User {id: $i})-[r:REVIEWED]->(p:Product)<-[s:REVIEWED]-(v:User) WHERE r.score = 5 AND s.score = 5 \
         RETURN count(DISTINCT v)",
    ),
    (
        "recommendation",
        "MATCH (u:User {id: $i})-[r:REVIEWED]->(p:Product)<-[s:REVIEWED]-(v:User) WHERE r.score = 5 AND s.score = 5 \
         WITH DISTINCT u, v LIMIT 200 MATCH (v)-[t:REVIEWED]->(q:Product) \
         WHERE t.score = 5 AND NOT (u)-[:REVIEWED]->(q) RETURN q.id, count(*) AS n ORDER BY n DESC, q.id LIMIT 10",
    ),
    (
        "recommendation, the first users by id",
        "MATCH (u:User {id: $i})-[r:REVIEWED]->(p:Product)<-[s:REVIEWED]-(v:User) WHERE r.score = 5 AND s.score = 5 \
         WITH DISTINCT u, v ORDER BY v.id LIMIT 200 MATCH (v)-[t:REVIEWED]->(q:Product) \
         WHERE t.score = 5 AND NOT (u)-[:REVIEWED]->(q) RETURN q.id, count(*) AS n ORDER BY n DESC, q.id LIMIT 10",
    ),
];

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let data = PathBuf::from(arguments.text("data", ""));
    let database = arguments.open()?;
    if database.info()?.nodes == 0 {
        load(&database, &data, arguments.number("sorted", 1)? == 1)?;
    }
    let text = std::fs::read_to_string(data.join("users.txt"))?;
    let users: Vec<i64> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    let mut session = database.session();
    let only = arguments.text("only", "");
    let hot_runs = arguments.number("hot_runs", 3)?;
    for (name, query) in QUERIES.into_iter().filter(|(name, _)| name.contains(&only)) {
        if arguments.number("plans", 0)? == 1 {
            let plan = session.query(&format!("EXPLAIN {query}"), &with(users[0]))?;
            print(&json!({"result": "plan", "query": name, "plan": plan.summary.plan}))?;
        }
        session.query(query, &with(-1))?;
        let mut answers = Vec::new();
        // The first round finds the files' pages warm at best; the last ones find all at hand.
        for round in ["first", "warm", "hot"] {
            let mut latencies = Vec::with_capacity(users.len());
            let again = if round == "hot" { hot_runs } else { 1 };
            answers.clear();
            for &user in &users {
                let parameters = with(user);
                let mut best = f64::INFINITY;
                for _ in 0..again {
                    let before = now();
                    let result = session.query(query, &parameters)?;
                    best = best.min(now() - before);
                    answers.push(result.rows().map(|row| row.iter().map(Value::to_string).collect()).collect());
                }
                latencies.push(best);
            }
            print(
                &json!({"result": "traversal", "query": name, "round": round, "latency": percentiles(&mut latencies)}),
            )?;
        }
        print(&json!({"result": "answers", "query": name, "checksum": checksum(&answers)}))?;
    }
    Ok(())
}

fn with(user: i64) -> Parameters {
    Parameters::from_iter([("i".into(), Value::Int(user))])
}

fn load(database: &Database, data: &Path, sorted: bool) -> Outcome<()> {
    let mut session: Session<'_> = database.session();
    for statement in &SCHEMA[..if sorted { 3 } else { 2 }] {
        session.query(statement, &Parameters::default())?;
    }
    let node = |label: &str, file: &str| NodeFile {
        path: data.join(file),
        labels: vec![label.to_owned()],
        key: Some("id".to_owned()),
    };
    let reviews = EdgeFile {
        path: data.join("reviewed.parquet"),
        edge_type: Some("REVIEWED".to_owned()),
        source_label: Some("User".to_owned()),
        target_label: Some("Product".to_owned()),
        source: Some("src".to_owned()),
        target: Some("dst".to_owned()),
    };
    let plan = ImportPlan {
        nodes: vec![node("User", "user.parquet"), node("Product", "product.parquet")],
        edges: vec![reviews],
        threads: 2,
        ..ImportPlan::default()
    };
    let start = now();
    let summary = database.import(&plan, &ImportProgress::default(), &Interrupt::default())?;
    let seconds = now() - start;
    let edges = summary.edges_created;
    print(&json!({
        "result": "import", "edges": edges, "seconds": seconds, "edges_per_second": edges as f64 / seconds,
        "store": sizes(database)?,
    }))
}

/// The same for the same answers in the same order.
fn checksum(answers: &[Vec<Vec<String>>]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for byte in answers.iter().flatten().flatten().flat_map(|cell| cell.bytes().chain([0])) {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    sum
}
