//! Times queries: query_times STORE REPEAT [--threads N] [--json PARAMETERS] [--profile] QUERY…
//!
//! Prints for each query the least and the median of its times in milliseconds, and its first row. With `--latency FILE`
//! (JSON: `{"queries": [[text, parameter, [value, …]], …]}`) each value is bound in turn, and the percentiles of single
//! runs in microseconds are printed.

use std::error::Error;
use std::path::Path;
use std::sync::OnceLock;

use database::{Config, Database, Parameters, Session, Value};
use model::platform::Platform;
use serde_json::Value as Json;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Nanoseconds since some fixed moment.
fn now() -> u64 {
    static PLATFORM: OnceLock<Platform> = OnceLock::new();
    PLATFORM.get_or_init(storage::os::platform).clock.now_ns()
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(store), Some(repeat)) = (arguments.next(), arguments.next()) else {
        return Err("usage: query_times STORE REPEAT [--threads N] [--json PARAMETERS] [--latency FILE] QUERY…".into());
    };
    let repeat: usize = repeat.parse()?;
    let mut config = Config::default();
    let mut parameters = Parameters::default();
    let (mut texts, mut latencies) = (Vec::new(), Vec::new());
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or("a value is missing");
        match argument.as_str() {
            "--threads" => config.threads = value()?.parse()?,
            "--json" => parameters = read_parameters(&serde_json::from_str(&value()?)?)?,
            "--latency" => latencies.push(std::fs::read_to_string(value()?)?),
            _ => texts.push(argument),
        }
    }
    let database = Database::open(Path::new(&store), config)?;
    let mut session = database.session();
    for text in &texts {
        time(&mut session, text, &parameters, repeat)?;
    }
    for file in &latencies {
        let file: Json = serde_json::from_str(file)?;
        for query in file["queries"].as_array().ok_or("queries must be a list")? {
            latency(&mut session, query, repeat)?;
        }
    }
    Ok(())
}

/// Runs a query several times.
fn time(session: &mut Session, text: &str, parameters: &Parameters, repeat: usize) -> Outcome<()> {
    let mut times = Vec::new();
    let mut first = String::new();
    for _ in 0..repeat.max(1) {
        let start = now();
        let result = session.query(text, parameters)?;
        times.push(now() - start);
        first = result.rows().next().map(|row| format!("{row:?}")).unwrap_or_default();
    }
    times.sort_unstable();
    let (least, median) = (times[0] as f64 / 1e6, times[times.len() / 2] as f64 / 1e6);
    println!("{least:10.3} {median:10.3} ms  {text}\n      {first}");
    Ok(())
}

/// Runs a prepared text once for each value.
fn latency(session: &mut Session, query: &Json, repeat: usize) -> Outcome<()> {
    let (text, values) = (query[0].as_str().ok_or("a text is missing")?, query[1].as_array().ok_or("no values")?);
    let mut times = Vec::new();
    for round in 0..=repeat {
        for value in values {
            let parameters = read_parameters(value)?;
            let start = now();
            session.query(text, &parameters)?;
            if round > 0 {
                times.push(now() - start);
            }
        }
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    println!("p50 {:8.2}  p90 {:8.2}  p99 {:8.2} µs  {text}", at(0.5), at(0.9), at(0.99));
    Ok(())
}

fn read_parameters(json: &Json) -> Outcome<Parameters> {
    let entries = json.as_object().ok_or("parameters must be an object")?;
    let mut parameters = Parameters::default();
    for (name, value) in entries {
        parameters.insert(name.as_str().into(), read_value(value)?);
    }
    Ok(parameters)
}

fn read_value(json: &Json) -> Outcome<Value> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Int(integer),
            None => Value::Float(number.as_f64().ok_or("not a number")?),
        },
        Json::String(text) => Value::string(text),
        Json::Array(items) => Value::list(items.iter().map(read_value).collect::<Outcome<Vec<Value>>>()?),
        Json::Object(_) => return Err("a parameter cannot be a map here".into()),
    })
}
