//! The form `knotwork-bench/1`, which docs/introspect.schema.json describes.

use serde_json::{Value, json};

use super::Report;
use crate::cost_model::{FEATURES, Judgement};
use crate::measure::Run;

/// Name of the form.
pub const SCHEMA: &str = "knotwork-bench/1";

/// The whole report.
pub fn to_json(report: &Report) -> Value {
    let found = &report.measurements;
    let of = &found.description;
    let settings: serde_json::Map<String, Value> =
        of.settings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "schema": SCHEMA,
        "machine": machine(report),
        "subject": {
            "system": of.system, "version": of.version, "place": of.place, "settings": settings,
            "coldMethod": of.cold_method, "timerNs": rounded(found.timer_ns),
        },
        "dataset": {"nodes": of.nodes, "edges": of.edges, "bytes": of.bytes},
        "runs": found.runs.iter().map(run).collect::<Vec<_>>(),
        "sweep": found.sweep.iter().map(|point| json!({
            "nodes": point.nodes, "p50Ns": rounded(point.ns), "calls": point.calls,
        })).collect::<Vec<_>>(),
        "predictions": report.predictions.iter().map(|held| json!({
            "operation": held.operation.to_string(), "way": held.way.name(), "regime": held.regime.name(),
            "measuredNs": rounded(held.measured_ns), "modelNs": rounded(held.model_ns),
            "factor": rounded(held.factor()), "formula": held.formula, "calls": held.calls,
        })).collect::<Vec<_>>(),
        "fits": report.fits.iter().map(|fit| json!({
            "regime": fit.regime.name(), "calls": fit.calls,
            "costsNs": FEATURES.iter().zip(fit.costs).map(|(name, cost)| ((*name).to_owned(), json!(cost)))
                .collect::<serde_json::Map<String, Value>>(),
        })).collect::<Vec<_>>(),
        "judgements": report.judgements.iter().map(judgement).collect::<Vec<_>>(),
        "elsewhere": report.elsewhere.as_ref().map(|(place, judgements)| json!({
            "place": place, "judgements": judgements.iter().map(judgement).collect::<Vec<_>>(),
        })),
        "findings": report.findings.iter().map(|finding| json!({
            "rule": finding.rule.name(), "operation": finding.operation.to_string(), "sentence": finding.sentence,
            "figure": rounded(finding.figure), "threshold": finding.threshold,
        })).collect::<Vec<_>>(),
        "disagreements": report.disagreements.iter().map(|(operation, starts)| json!({
            "operation": operation.to_string(), "starts": starts,
        })).collect::<Vec<_>>(),
        "leftOut": found.left_out,
    })
}

/// A figure with four decimals: no more are measured.
fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

fn machine(report: &Report) -> Value {
    let machine = &report.machine;
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

fn judgement(held: &Judgement) -> Value {
    json!({
        "operation": held.operation.to_string(), "regime": held.regime.name(),
        "medianError": rounded(held.median_error), "p90Error": rounded(held.p90_error), "calls": held.calls,
        "outOfModel": held.is_out_of_model(),
    })
}
