//! Measurements read back from the form `knotwork-bench/1`: what reports and comparisons are made of.
//!
//! Keys that are not known are passed over, since new ones may be added. What is missing or of another type is told by
//! its place in the file.

use std::path::Path;

use std::collections::BTreeSet;

use model::{Error, ErrorCode, Result};
use serde_json::Value;

use super::SCHEMA;

/// A measurement as a file has it.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// Name in reports: the place of the data, told apart from others by a number; beside other systems that of the system.
    pub name: String,
    /// The system, its version.
    pub system: String,
    /// Facts about subject and machine, as pairs of name and text.
    pub facts: Vec<(String, String)>,
    /// Numbers of nodes and edges.
    pub size: (u64, u64),
    /// Name of the processor and number of threads.
    pub processor: String,
    /// Limits of the machine.
    pub limits: Limits,
    /// Runs of operations.
    pub runs: Vec<StoredRun>,
    /// Working sets in nodes, and nanoseconds of a read.
    pub sweep: Vec<(f64, f64)>,
    /// Operations as the layer below predicts them.
    pub predictions: Vec<StoredPrediction>,
    /// Errors of fitted costs.
    pub judgements: Vec<StoredJudgement>,
    /// Sentences: rule, operation and sentence.
    pub findings: Vec<(String, String, String)>,
    /// Operations of which calls and statements gave different answers.
    pub disagreements: Vec<String>,
    /// Runs that were left out because the time was over.
    pub left_out: u64,
    /// Sentences on runs and passes that the time was too short for.
    pub cut: Vec<String>,
}

/// Limits of a machine, in nanoseconds and bytes.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// A look at the clock.
    pub clock_ns: f64,
    /// Bytes of the working set, and nanoseconds of a load that depends on the one before.
    pub loads: Vec<(f64, f64)>,
    /// Bytes of memory that a thread reads in a second.
    pub memory_bytes_per_second: f64,
    /// A round trip over TCP within the machine.
    pub loopback_ns: Option<f64>,
    /// Bytes a second of sequential reads, nanoseconds of a random read and of a sync, and how they were measured.
    pub disk: Option<(f64, f64, f64, String)>,
}

/// Calls of an operation.
#[derive(Clone, Debug, Default)]
pub struct StoredRun {
    /// Name of the layer.
    pub layer: String,
    /// Name of the operation.
    pub operation: String,
    /// Name of the way.
    pub way: String,
    /// State of the caches.
    pub regime: String,
    /// Choice of the starts.
    pub starts: String,
    /// Number of calls.
    pub calls: u64,
    /// Nanoseconds that half of the calls do not exceed.
    pub p50_ns: f64,
    /// Nanoseconds that 90 % do not exceed.
    pub p90_ns: f64,
    /// Nanoseconds that 99 % do not exceed.
    pub p99_ns: f64,
    /// The mean in nanoseconds.
    pub mean_ns: f64,
    /// Times of some calls in the order in which they were made; none in files of older versions.
    pub samples_ns: Vec<f64>,
    /// Lower bound of a power of two of rows, and the median of its calls.
    pub by_rows: Vec<(f64, f64)>,
    /// Mean rows of a call.
    pub rows: f64,
    /// Mean lists of neighbours that a call asks for.
    pub neighborhoods: f64,
    /// Mean edges that a call follows.
    pub edges: f64,
    /// Reason for which there are no more calls.
    pub error: Option<String>,
}

/// An operation as the layer below predicts it.
#[derive(Clone, Debug, Default)]
pub struct StoredPrediction {
    /// Name of the operation.
    pub operation: String,
    /// Name of the way.
    pub way: String,
    /// State of the caches.
    pub regime: String,
    /// The mean as measured.
    pub measured_ns: f64,
    /// The mean by the model.
    pub model_ns: f64,
    /// The model.
    pub formula: String,
}

/// Errors of fitted costs.
#[derive(Clone, Debug, Default)]
pub struct StoredJudgement {
    /// Name of the operation.
    pub operation: String,
    /// State of the caches.
    pub regime: String,
    /// Relative error that half of the calls do not exceed.
    pub median_error: f64,
    /// Relative error that 90 % do not exceed.
    pub p90_error: f64,
    /// True if it is not to be predicted.
    pub is_out_of_model: bool,
}

impl Stored {
    /// Reads a file that `--json` wrote.
    pub fn open(path: &Path) -> Result<Stored> {
        let text = std::fs::read_to_string(path).map_err(|cause| Error::of_file(path, &cause))?;
        let value: Value = serde_json::from_str(&text).map_err(|cause| {
            let message = format!("{} is no JSON: {cause}", path.display());
            Error::new(ErrorCode::Argument, message).with_remedy("give a file that knot introspect --json wrote")
        })?;
        Stored::read(&value).map_err(|failure| failure.within(&path.display().to_string()))
    }

    /// Reads a measurement.
    pub fn read(value: &Value) -> Result<Stored> {
        let top = Place { value, path: String::new() };
        let schema = top.get("schema").and_then(|held| held.text()).unwrap_or_default();
        if schema != SCHEMA {
            let found = if schema.is_empty() { "none".to_owned() } else { format!("'{schema}'") };
            let message = format!("expected the schema '{SCHEMA}', found {found}");
            return Err(Error::new(ErrorCode::Argument, message)
                .with_remedy("give a file that knot introspect --json of this version wrote"));
        }
        let subject = top.get("subject")?;
        let dataset = top.get("dataset")?;
        let machine = top.get("machine")?;
        let size = (dataset.get("nodes")?.number()? as u64, dataset.get("edges")?.number()? as u64);
        let processor = machine.get("processor")?.text()?;
        let mut facts = vec![
            ("system".to_owned(), format!("{} {}", subject.get("system")?.text()?, subject.get("version")?.text()?)),
            ("place".to_owned(), subject.get("place")?.text()?),
            ("nodes".to_owned(), size.0.to_string()),
            ("edges".to_owned(), size.1.to_string()),
        ];
        let bytes = dataset.get("bytes")?.number()?;
        if bytes > 0.0 {
            facts.push(("bytes".to_owned(), bytes.to_string()));
        }
        let settings = subject.get("settings")?;
        for (name, held) in settings.value.as_object().into_iter().flatten() {
            facts.push((name.clone(), held.as_str().unwrap_or_default().to_owned()));
        }
        facts.push(("processor".to_owned(), processor.clone()));
        facts.push(("threads of the machine".to_owned(), machine.get("threads")?.number()?.to_string()));
        facts.push(("load before".to_owned(), machine.get("load")?.text()?));
        facts.push(("cold".to_owned(), subject.get("coldMethod")?.text()?));
        Ok(Stored {
            name: subject.get("place")?.text()?,
            system: subject.get("system")?.text()?,
            facts,
            size,
            processor,
            limits: limits(&machine.get("limits")?)?,
            runs: top.list("runs", run)?,
            sweep: top.list("sweep", |held| Ok((held.get("nodes")?.number()?, held.get("p50Ns")?.number()?)))?,
            predictions: top.list("predictions", prediction)?,
            judgements: top.list("judgements", judgement)?,
            findings: top.list("findings", |held| {
                Ok((held.get("rule")?.text()?, held.get("operation")?.text()?, held.get("sentence")?.text()?))
            })?,
            disagreements: top.list("disagreements", |held| held.get("operation")?.text())?,
            left_out: top.get("leftOut")?.number()? as u64,
            cut: top.list_if_there("cut", Place::text)?,
        })
    }

    /// The run of an operation, from starts that are all alike, that has calls.
    pub fn run(&self, operation: &str, way: &str, regime: &str) -> Option<&StoredRun> {
        let is_it = |run: &&StoredRun| {
            (run.operation.as_str(), run.way.as_str(), run.regime.as_str()) == (operation, way, regime)
        };
        self.runs.iter().filter(is_it).find(|run| run.starts == "uniform" && run.calls > 0)
    }
}

/// Makes the names of measurements different from each other: those of systems, if these differ, else those of places.
pub fn tell_apart(all: &mut [Stored]) {
    let system = |stored: &Stored| stored.system.split(" (").next().unwrap_or_default().to_owned();
    let systems: BTreeSet<String> = all.iter().map(system).collect();
    if all.len() > 1 && systems.len() == all.len() {
        all.iter_mut().for_each(|stored| stored.name = system(stored));
        return;
    }
    let names: Vec<String> = all.iter().map(|stored| stored.name.clone()).collect();
    for (at, stored) in all.iter_mut().enumerate() {
        if names.iter().filter(|name| **name == stored.name).count() > 1 {
            stored.name = format!("{} ({})", stored.name, at + 1);
        }
    }
}

/// A value and its place in the file.
struct Place<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Place<'a> {
    fn get(&self, key: &str) -> Result<Place<'a>> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        match self.value.get(key) {
            Some(value) => Ok(Place { value, path }),
            None => Err(malformed(&format!("{path} is missing"))),
        }
    }

    fn other(&self, expected: &str) -> Error {
        malformed(&format!("{}: expected {expected}, found {}", self.path, kind(self.value)))
    }

    fn text(&self) -> Result<String> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.other("a string"))
    }

    fn number(&self) -> Result<f64> {
        self.value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| self.other("a number"))
    }

    fn items(&self) -> Result<Vec<Place<'a>>> {
        let items = self.value.as_array().ok_or_else(|| self.other("a list"))?;
        let place = |(at, value)| Place { value, path: format!("{}[{at}]", self.path) };
        Ok(items.iter().enumerate().map(place).collect())
    }

    fn list<T>(&self, key: &str, read: impl Fn(&Place<'a>) -> Result<T>) -> Result<Vec<T>> {
        self.get(key)?.items()?.iter().map(read).collect()
    }

    /// The same; nothing where the key is missing.
    fn list_if_there<T>(&self, key: &str, read: impl Fn(&Place<'a>) -> Result<T>) -> Result<Vec<T>> {
        if self.value.get(key).is_some() { self.list(key, read) } else { Ok(Vec::new()) }
    }

    /// Pairs of numbers: the first of each item and another.
    fn pairs(&self, key: &str, second: usize) -> Result<Vec<(f64, f64)>> {
        self.list_if_there(key, |held| match (held.items()?.first(), held.items()?.get(second)) {
            (Some(first), Some(second)) => Ok((first.number()?, second.number()?)),
            _ => Err(held.other("a longer list")),
        })
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn malformed(message: &str) -> Error {
    Error::new(ErrorCode::Argument, message)
        .with_remedy("docs/introspect.schema.json describes the file; measure again")
}

fn limits(held: &Place<'_>) -> Result<Limits> {
    let disk = held.get("disk")?;
    let disk = match disk.value.get("error") {
        Some(_) => None,
        None => Some((
            disk.get("sequentialBytesPerSecond")?.number()?,
            disk.get("randomReadNs")?.number()?,
            disk.get("syncNs")?.number()?,
            disk.get("method")?.text()?,
        )),
    };
    Ok(Limits {
        clock_ns: held.get("clockNs")?.number()?,
        loads: held.list("loads", |load| Ok((load.get("bytes")?.number()?, load.get("ns")?.number()?)))?,
        memory_bytes_per_second: held.get("memoryBytesPerSecond")?.number()?,
        loopback_ns: held.get("loopbackNs")?.value.as_f64(),
        disk,
    })
}

fn run(held: &Place<'_>) -> Result<StoredRun> {
    let counts = held.get("counts")?;
    let calls = held.get("calls")?.number()?;
    let mean = |key: &str| -> Result<f64> { Ok(counts.get(key)?.number()? / calls.max(1.0)) };
    Ok(StoredRun {
        layer: held.get("layer")?.text()?,
        operation: held.get("operation")?.text()?,
        way: held.get("way")?.text()?,
        regime: held.get("regime")?.text()?,
        starts: held.get("starts")?.text()?,
        calls: calls as u64,
        p50_ns: held.get("p50Ns")?.number()?,
        p90_ns: held.get("p90Ns")?.number()?,
        p99_ns: held.get("p99Ns")?.number()?,
        mean_ns: held.get("meanNs")?.number()?,
        samples_ns: held.list_if_there("samplesNs", Place::number)?,
        by_rows: held.pairs("byRows", 2)?,
        rows: mean("rows")?,
        neighborhoods: mean("neighborhoods")?,
        edges: mean("edges")?,
        error: held.get("error")?.value.as_str().map(str::to_owned),
    })
}

fn prediction(held: &Place<'_>) -> Result<StoredPrediction> {
    Ok(StoredPrediction {
        operation: held.get("operation")?.text()?,
        way: held.get("way")?.text()?,
        regime: held.get("regime")?.text()?,
        measured_ns: held.get("measuredNs")?.number()?,
        model_ns: held.get("modelNs")?.number()?,
        formula: held.get("formula")?.text()?,
    })
}

fn judgement(held: &Place<'_>) -> Result<StoredJudgement> {
    let verdict = held.get("outOfModel")?;
    Ok(StoredJudgement {
        operation: held.get("operation")?.text()?,
        regime: held.get("regime")?.text()?,
        median_error: held.get("medianError")?.number()?,
        p90_error: held.get("p90Error")?.number()?,
        is_out_of_model: verdict.value.as_bool().ok_or_else(|| verdict.other("true or false"))?,
    })
}
