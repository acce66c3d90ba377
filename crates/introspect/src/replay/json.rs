//! A replay in the form `knotwork-bench/1`: each shape of statements is an operation, so that replays can be compared.

use serde_json::{Value, json};

use super::{Replay, ReplayedShape};
use crate::machine::MachineLimits;
use crate::measure::Times;
use crate::report::{SCHEMA, machine, rounded};
use crate::subject::Description;

/// Times of a shape that are kept one by one.
const SAMPLES_MAX: usize = 2_000;

/// The replay on a system, on this machine.
pub fn to_json(held: &Replay, of: &Description, limits: &MachineLimits) -> Value {
    let shapes = held.shapes.iter().filter(|(_, shape)| !shape.replayed_ns.is_empty());
    json!({
        "schema": SCHEMA,
        "machine": machine(limits),
        "subject": {
            "system": of.system, "version": of.version, "place": of.place, "settings": {},
            "coldMethod": of.cold_method, "timerNs": rounded(limits.clock_ns),
        },
        "dataset": {"nodes": of.nodes, "edges": of.edges, "bytes": of.bytes},
        "runs": shapes.map(|(text, shape)| run(text, shape)).collect::<Vec<_>>(),
        "sweep": [], "predictions": [], "fits": [], "judgements": [], "elsewhere": null, "findings": [],
        "disagreements": held.shapes.iter().filter(|(_, shape)| shape.differing > 0).map(|(text, shape)| json!({
            "operation": text, "starts": shape.differing,
        })).collect::<Vec<_>>(),
        "leftOut": held.left_out,
    })
}

fn run(text: &str, shape: &ReplayedShape) -> Value {
    let times = Times::of(shape.replayed_ns.clone());
    let samples: Vec<f64> =
        shape.replayed_ns.iter().copied().step_by(shape.replayed_ns.len().div_ceil(SAMPLES_MAX).max(1)).collect();
    json!({
        "layer": "statement", "operation": text, "way": "cypher", "regime": "hot", "starts": "trace",
        "calls": times.count(),
        "p50Ns": times.percentile(50), "p90Ns": times.percentile(90), "p99Ns": times.percentile(99),
        "meanNs": rounded(times.mean()),
        "histogram": times.histogram().iter().map(|(ns, count)| json!([ns, count])).collect::<Vec<_>>(),
        "samplesNs": samples, "byRows": [],
        "counts": {
            "rows": shape.rows, "neighborhoods": 0, "edges": 0, "uniqueNodes": 0, "properties": 0,
            "blockUses": 0, "blockMisses": 0, "bytesRead": 0,
        },
        "error": shape.difference,
    })
}
