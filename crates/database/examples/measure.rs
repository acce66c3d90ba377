//! Measures a store through Knotwork's own API: measure STORE QUERIES.json RESULT.json.
//!
//! The work is that of `ladybug_peer.py`: opening, one-hop lists, friends of friends, PageRank.

use std::error::Error;
use std::path::Path;
use std::sync::OnceLock;

use database::{Config, Database, Parameters, Session, Value};
use model::platform::Platform;
use serde_json::{Value as Json, json};

const ONE_HOP: &str = "MATCH (a:V {id: $i})-[:E]->(b:V) RETURN b.id";
const FRIENDS: &str =
    "MATCH (a:V {id: $i})-[:E]->(b:V) WITH b LIMIT 200 MATCH (b)-[:E]->(c:V) RETURN count(DISTINCT c)";
const DEGREE: &str = "MATCH (a:V {id: $i})-[:E]->(b:V) RETURN count(*)";
const TOP: &str = "CALL algo.pagerank({maxIterations: 20, tolerance: 0.0}) YIELD node, score \
                   RETURN node.id AS id, score ORDER BY score DESC, id LIMIT 10";

/// Seconds since some fixed moment.
fn now() -> f64 {
    static PLATFORM: OnceLock<Platform> = OnceLock::new();
    PLATFORM.get_or_init(storage::os::platform).clock.now_ns() as f64 / 1e9
}

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, queries, result] = arguments.as_slice() else {
        return Err("usage: measure STORE QUERIES.json RESULT.json".into());
    };
    let queries: Json = serde_json::from_str(&std::fs::read_to_string(queries)?)?;
    let found = measure(Path::new(store), &queries)?;
    std::fs::write(result, found.to_string())?;
    Ok(())
}

fn measure(store: &Path, queries: &Json) -> Outcome<Json> {
    let start = now();
    let database = Database::open(store, Config::default())?;
    let mut session = database.session();
    let first = single(&mut session, "MATCH (a:V {id: 1}) RETURN a.val", None)?;
    let open_ms = (now() - start) * 1e3;
    let count = single(&mut session, "MATCH (:V)-[e:E]->(:V) RETURN count(e)", None)?;

    let one_hop = integers(&queries["one_hop"]);
    for start in one_hop.iter().rev().take(50) {
        session.query(ONE_HOP, &with(*start))?;
    }
    let (one_hop_us, one_hop_answers) = series(&one_hop, |start| {
        let result = session.query(ONE_HOP, &with(start))?;
        let ids = result.batches.iter().flat_map(|batch| batch.columns[0].values());
        let sum: i64 = ids.map(|id| if let Value::Int(id) = id { id } else { 0 }).sum();
        Ok(json!([result.row_count(), sum]))
    })?;
    let friends = integers(&queries["friends"]);
    let (friends_us, friends_answers) = series(&friends, |start| single(&mut session, FRIENDS, Some(start)))?;
    let degrees =
        friends.iter().map(|start| single(&mut session, DEGREE, Some(*start))).collect::<Outcome<Vec<_>>>()?;

    let mut seconds: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        for (kind, iterations) in [1, 20].into_iter().enumerate() {
            let start = now();
            let call = format!("CALL algo.pagerank({{maxIterations: {iterations}, tolerance: 0.0}}) YIELD score");
            session.query(&format!("{call} RETURN max(score)"), &Parameters::default())?;
            seconds[kind].push(now() - start);
        }
    }
    let [one, twenty] = seconds.map(median);
    let top: Vec<Vec<Value>> = session.query(TOP, &Parameters::default())?.rows().collect();
    let scores: Vec<f64> = top.iter().map(|row| if let Value::Float(score) = row[1] { score } else { 0.0 }).collect();
    let ids: Vec<Json> = top.iter().map(|row| to_json(&row[0])).collect();
    Ok(json!({
        "open_ms": open_ms, "first": first, "count": count,
        "one_hop_us": one_hop_us, "one_hop": one_hop_answers,
        "friends_us": friends_us, "friends": friends_answers, "friends_degree": degrees,
        "pagerank_iteration_seconds": (twenty - one) / 19.0, "pagerank_20_seconds": twenty,
        "pagerank_top": ids, "pagerank_ratio": scores.iter().map(|score| score / scores[0]).collect::<Vec<_>>(),
    }))
}

fn with(start: i64) -> Parameters {
    Parameters::from_iter([("i".into(), Value::Int(start))])
}

fn single(session: &mut Session, query: &str, start: Option<i64>) -> Outcome<Json> {
    let result = session.query(query, &start.map(with).unwrap_or_default())?;
    Ok(to_json(&result.single().ok_or("expected one value")?))
}

/// Latencies in microseconds, and answers.
fn series(starts: &[i64], mut run: impl FnMut(i64) -> Outcome<Json>) -> Outcome<(Vec<f64>, Vec<Json>)> {
    let mut latencies = Vec::with_capacity(starts.len());
    let mut answers = Vec::with_capacity(starts.len());
    for start in starts {
        let before = now();
        let answer = run(*start)?;
        latencies.push((now() - before) * 1e6);
        answers.push(answer);
    }
    Ok((latencies, answers))
}

fn integers(list: &Json) -> Vec<i64> {
    list.as_array().map(|items| items.iter().filter_map(Json::as_i64).collect()).unwrap_or_default()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Int(x) => json!(x),
        Value::Float(x) => json!(x),
        other => json!(other.to_string()),
    }
}
