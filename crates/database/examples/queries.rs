//! Runs timed queries on a store: queries STORE SPEC.json RESULT.json.
//!
//! SPEC is `{"statements": […], "queries": [{"name", "text", "parameters": [{…}, …], "rounds": [… ], "seconds": …}]}`. A query
//! runs for each of its parameters, in rounds: `first` (what the session has not seen before), `warm` (once more), `hot`
//! (twice in a row, the second counts). A round ends early when its seconds are over. RESULT has for each query its
//! latencies in microseconds by round, its answers, and the most memory that was resident meanwhile in MiB (0 where the
//! system does not tell); or `error`.

use std::error::Error;
use std::path::Path;
use std::sync::OnceLock;

use database::{Config, Database, Durability, Parameters, Session, Value};
use model::platform::Platform;
use serde_json::{Map, Value as Json, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Seconds since some fixed moment.
fn now() -> f64 {
    static PLATFORM: OnceLock<Platform> = OnceLock::new();
    PLATFORM.get_or_init(storage::os::platform).clock.now_ns() as f64 / 1e9
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, spec, result] = arguments.as_slice() else {
        return Err("usage: queries STORE SPEC.json RESULT.json".into());
    };
    let spec: Json = serde_json::from_str(&std::fs::read_to_string(spec)?)?;
    let start = now();
    let durability = if spec["durability"] == "off" { Durability::Off } else { Durability::Full };
    let mut config = Config { durability, ..Config::default() };
    if let Some(threads) = spec["threads"].as_u64() {
        config.threads = threads as usize;
    }
    if let Some(mib) = spec["memory_mib"].as_u64() {
        config.memory_bytes_max = Some((mib as usize) << 20);
    }
    let database = Database::open(Path::new(store), config)?;
    let mut session = database.session();
    let open_ms = (now() - start) * 1e3;
    for statement in list(&spec["statements"]) {
        session.query(text(statement), &Parameters::default())?;
    }
    let mut queries = Map::new();
    for query in list(&spec["queries"]) {
        let found = measure(&mut session, query).unwrap_or_else(|error| json!({"error": error.to_string()}));
        queries.insert(text(&query["name"]).to_owned(), found);
    }
    std::fs::write(result, json!({"open_ms": open_ms, "queries": queries}).to_string())?;
    Ok(())
}

/// The latencies and answers of one query.
fn measure(session: &mut Session, query: &Json) -> Outcome<Json> {
    let seconds = query["seconds"].as_f64().unwrap_or(30.0);
    let parameters: Vec<Parameters> = match list(&query["parameters"]) {
        [] => vec![Parameters::default()],
        sets => sets.iter().map(to_parameters).collect(),
    };
    let (mut rounds, mut answers) = (Map::new(), Vec::new());
    forget_peak();
    for round in list(&query["rounds"]) {
        let (mut latencies, end) = (Vec::with_capacity(parameters.len()), now() + seconds);
        for set in &parameters {
            if round == "hot" {
                session.query(text(&query["text"]), set)?;
            }
            let before = now();
            let result = session.query(text(&query["text"]), set)?;
            latencies.push((now() - before) * 1e6);
            if rounds.is_empty() {
                answers.push(result.rows().map(|row| row.iter().map(to_json).collect()).collect::<Vec<Json>>());
            }
            if now() > end {
                break;
            }
        }
        rounds.insert(text(round).to_owned(), json!(latencies));
    }
    Ok(json!({"rounds": rounds, "answers": answers, "peak_mib": peak_mib()}))
}

/// Begins anew with what is resident now; where the system has no such thing the peak is that of the whole run.
fn forget_peak() {
    drop(std::fs::write("/proc/self/clear_refs", "5"));
}

/// The most memory that was resident.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

fn to_parameters(set: &Json) -> Parameters {
    let pairs = set.as_object().into_iter().flatten();
    pairs.map(|(name, value)| (name.as_str().into(), to_value(value))).collect()
}

fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap_or(f64::NAN)), Value::Int)
        }
        Json::String(value) => Value::string(value),
        Json::Array(items) => Value::list(items.iter().map(to_value).collect()),
        Json::Object(map) => Value::map(map.iter().map(|(key, value)| (key.as_str().into(), to_value(value)))),
    }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::String(value) => json!(&**value),
        other => json!(other.to_string()),
    }
}
