//! The form `knotwork-bench/1`, which docs/introspect.schema.json describes.

use serde_json::{Value, json};

use super::Report;
use crate::cost_model::{FEATURES, Judgement, Prediction};
use crate::machine::MachineLimits;
use crate::measure::{Run, Times};

/// Name of the form.
pub const SCHEMA: &str = "knotwork-bench/1";

/// Times of a run that are kept one by one.
const SAMPLES_MAX: usize = 250;

/// The whole report.
pub fn to_json(report: &Report) -> Value {
    let found = &report.measurements;
    let of = &found.description;
    let settings: serde_json::Map<String, Value> =
        of.settings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "schema": SCHEMA,
        "machine": machine(&report.machine),
        "subject": {
            "system": of.system, "version": of.version, "place": of.place, "settings": settings,
            "coldMethod": of.cold_method, "timerNs": rounded(found.timer_ns),
        },
        "dataset": {"nodes": of.nodes, "edges": of.edges, "bytes": of.bytes},
        "runs": found.runs.iter().map(run).collect::<Vec<_>>(),
        "sweep": found.sweep.iter().map(|point| json!({
            "nodes": point.nodes, "p50Ns": rounded(point.ns), "calls": point.calls,
        })).collect::<Vec<_>>(),
        "predictions": report.predictions.iter().map(prediction).collect::<Vec<_>>(),
        "fits": report.fits.iter().map(|fit| json!({
            "regime": fit.regime.name(), "calls": fit.calls,
            "costsNs": FEATURES.iter().zip(fit.costs).map(|(name, cost)| ((*name).to_owned(), json!(cost)))
                .collect::<serde_json::Map<String, Value>>(),
        })).collect::<Vec<_>>(),
        "judgements": report.judgements.iter().map(judgement).collect::<Vec<_>>(),
        "elsewhere": report.elsewhere.as_ref().map(|other| json!({
            "place": other.place, "judgements": other.judgements.iter().map(judgement).collect::<Vec<_>>(),
            "predictions": other.predictions.iter().map(prediction).collect::<Vec<_>>(),
        })),
        "findings": report.findings.iter().map(|finding| json!({
            "rule": finding.rule.name(), "operation": finding.operation.to_string(), "sentence": finding.sentence,
            "figure": rounded(finding.figure), "threshold": finding.threshold,
        })).collect::<Vec<_>>(),
        "disagreements": report.disagreements.iter().map(|(operation, starts)| json!({
            "operation": operation.to_string(), "starts": starts,
        })).collect::<Vec<_>>(),
        "leftOut": found.cut.count(),
        "cut": found.cut.sentences(),
    })
}

fn prediction(held: &Prediction) -> Value {
    json!({
        "operation": held.operation.to_string(), "way": held.way.name(), "regime": held.regime.name(),
        "measuredNs": rounded(held.measured_ns), "modelNs": rounded(held.model_ns),
        "factor": rounded(held.factor()), "formula": held.formula, "calls": held.calls,
    })
}

/// A figure with four decimals: no more are measured.
pub(crate) fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

pub(crate) fn machine(machine: &MachineLimits) -> Value {
    let disk = match &machine.disk {
        Ok(disk) => json!({
            "sequentialBytesPerSecond": rounded(disk.sequential_bytes_per_second),
            "randomReadNs": rounded(disk.random_read_ns), "syncNs": rounded(disk.sync_ns), "method": disk.method,
        }),
        Err(cause) => json!({"error": cause}),
    };
    json!({
        "processor": machine.processor, "threads": machine.threads, "load": machine.load,
        "limits": {
            "clockNs": rounded(machine.clock_ns),
            "loads": machine.load_ns.iter().map(|(bytes, ns)| json!({"bytes": bytes, "ns": rounded(*ns)}))
                .collect::<Vec<_>>(),
            "memoryBytesPerSecond": rounded(machine.memory_bytes_per_second),
            "loopbackNs": machine.loopback_ns.map(rounded),
            "disk": disk,
        },
    })
}

fn run(run: &Run) -> Value {
    let times = run.times();
    let sum = |count: &dyn Fn(&crate::subject::Call) -> u64| run.calls.iter().map(count).sum::<u64>();
    json!({
        "layer": run.operation.layer().name(), "operation": run.operation.to_string(), "way": run.way.name(),
        "regime": run.regime.name(), "starts": run.choice.name(), "calls": times.count(),
        "p50Ns": times.percentile(50), "p90Ns": times.percentile(90), "p99Ns": times.percentile(99),
        "meanNs": rounded(times.mean()),
        "histogram": times.histogram().iter().map(|(ns, count)| json!([ns, count])).collect::<Vec<_>>(),
        "samplesNs": samples(run),
        "byRows": by_rows(run).iter().map(|(rows, times)| json!([rows, times.count(), times.percentile(50)]))
            .collect::<Vec<_>>(),
        "counts": {
            "rows": sum(&|call| call.rows),
            "neighborhoods": sum(&|call| call.counts.neighborhoods),
            "edges": sum(&|call| call.counts.edges),
            "uniqueNodes": sum(&|call| call.counts.unique_nodes),
            "properties": sum(&|call| call.counts.properties),
            "blockUses": sum(&|call| call.counts.block_uses),
            "blockMisses": sum(&|call| call.counts.block_misses),
            "bytesRead": sum(&|call| call.counts.bytes_read),
        },
        "error": run.error,
    })
}

/// Times of some calls, evenly over all, in the order in which they were made: drift of the machine stays visible.
fn samples(run: &Run) -> Vec<u64> {
    run.calls.iter().step_by(run.calls.len().div_ceil(SAMPLES_MAX).max(1)).map(|call| call.ns).collect()
}

/// Times by rows of the call in powers of two, of operations whose calls give different numbers of rows.
fn by_rows(run: &Run) -> Vec<(u64, Times)> {
    let mut buckets = std::collections::BTreeMap::<u64, Vec<f64>>::new();
    for call in run.calls.iter().filter(|call| call.rows > 0) {
        buckets.entry(1 << call.rows.ilog2()).or_default().push(call.ns as f64);
    }
    if buckets.len() < 2 {
        return Vec::new();
    }
    buckets.into_iter().map(|(rows, times)| (rows, Times::of(times))).collect()
}

fn judgement(held: &Judgement) -> Value {
    json!({
        "operation": held.operation.to_string(), "regime": held.regime.name(), "factor": rounded(held.factor),
        "medianError": rounded(held.median_error), "p90Error": rounded(held.p90_error), "calls": held.calls,
        "outOfModel": held.is_out_of_model(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::report::html::tests::measured;

    /// Judges a value by docs/introspect.schema.json.
    fn judge(value: &Value) -> Result<(), String> {
        let schema = include_str!("../../../../docs/introspect.schema.json");
        let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
        let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
        compiler.add_resource("schema.json", schema).expect("the schema has a name");
        let at = compiler.compile("schema.json", &mut schemas).expect("it is a schema");
        schemas.validate(value, at).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_published_schema_describes_what_is_written() {
        assert_eq!(judge(&measured()), Ok(()));
    }

    #[test]
    fn the_published_schema_refuses_what_is_not_written() {
        let changes: [fn(&mut Value); 4] = [
            |value| value["schema"] = json!("other"),
            |value| value["runs"][0]["regime"] = json!("tepid"),
            |value| value["runs"][0]["samplesNs"] = json!(["fast"]),
            |value| drop(value.as_object_mut().expect("an object").remove("findings")),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut value = measured();
            change(&mut value);
            assert!(judge(&value).is_err(), "change {at}");
        }
    }
}
