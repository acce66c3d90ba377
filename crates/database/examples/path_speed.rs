//! Latencies of path queries: path_speed K20-STORE SOC-STORE SOC-QUERIES.json [PAIRS].
//!
//! On the Kronecker graph, shortest paths of at most five edges between random pairs, with and without direction; on the
//! social graph, the distinct persons within three steps of a hundred starts. Answers are summed up so that two runs can
//! be compared.

use std::error::Error;
use std::path::Path;
use std::sync::OnceLock;

use database::{Config, Database, Parameters, Session, Value};
use model::platform::Platform;
use serde_json::{Value as Json, json};

const UNDIRECTED: &str =
    "MATCH (a:V {id: $i}), (b:V {id: $j}) MATCH p = shortestPath((a)-[:E*..5]-(b)) RETURN length(p)";
const DIRECTED: &str =
    "MATCH (a:V {id: $i}), (b:V {id: $j}) MATCH p = shortestPath((a)-[:E*..5]->(b)) RETURN length(p)";
const REACH: &str = "MATCH (a:Person {id: $i})-[:KNOWS*1..3]->(b) RETURN count(DISTINCT b)";
const REACH_LABEL: &str = "MATCH (a:Person {id: $i})-[:KNOWS*1..3]->(b:Person) RETURN count(DISTINCT b.id)";

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Microseconds since some fixed moment.
fn now() -> f64 {
    static PLATFORM: OnceLock<Platform> = OnceLock::new();
    PLATFORM.get_or_init(storage::os::platform).clock.now_ns() as f64 / 1e3
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kronecker, social, queries, rest @ ..] = arguments.as_slice() else {
        return Err("usage: path_speed K20-STORE SOC-STORE SOC-QUERIES.json [PAIRS]".into());
    };
    let pairs: usize = rest.first().map_or(Ok(300), |count| count.parse())?;
    let queries: Json = serde_json::from_str(&std::fs::read_to_string(queries)?)?;
    if Path::new(kronecker).exists() {
        let database = Database::open(Path::new(kronecker), Config::default())?;
        let mut session = database.session();
        let pairs = random_pairs(pairs);
        series(&mut session, "undirected", UNDIRECTED, &pairs)?;
        series(&mut session, "directed", DIRECTED, &pairs)?;
    }
    if Path::new(social).exists() {
        let database = Database::open(Path::new(social), Config::default())?;
        let mut session = database.session();
        let starts = queries["starts100"].as_array().ok_or("starts100 is no list")?;
        let starts: Vec<(i64, i64)> = starts.iter().filter_map(|start| Some((start.as_i64()?, 0))).collect();
        series(&mut session, "reach", REACH, &starts)?;
        series(&mut session, "reach with label", REACH_LABEL, &starts)?;
    }
    Ok(())
}

/// The same pairs in every run, by a generator of its own.
fn random_pairs(count: usize) -> Vec<(i64, i64)> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as i64 % 1_048_576
    };
    (0..count).map(|_| (next(), next())).collect()
}

fn series(session: &mut Session<'_>, name: &str, query: &str, starts: &[(i64, i64)]) -> Outcome<()> {
    let mut latencies = Vec::with_capacity(starts.len());
    let mut sum = 0;
    for &(i, j) in starts.iter().rev().take(10).chain(starts) {
        let parameters = Parameters::from_iter([("i".into(), Value::Int(i)), ("j".into(), Value::Int(j))]);
        let before = now();
        let result = session.query(query, &parameters)?;
        latencies.push(now() - before);
        if let Some(Value::Int(found)) = result.single() {
            sum += found;
        }
    }
    let mut latencies = latencies.split_off(latencies.len() - starts.len());
    latencies.sort_by(f64::total_cmp);
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize].round();
    let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
    let line = json!({"result": name, "count": latencies.len(), "sum": sum, "p50_us": at(0.5), "p90_us": at(0.9),
        "p99_us": at(0.99), "max_us": at(1.0), "mean_us": mean.round()});
    std::io::Write::write_all(&mut std::io::stdout(), format!("{line}\n").as_bytes())?;
    Ok(())
}
