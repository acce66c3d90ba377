//! The time of a statement from the limits of the machine up: what memory takes at least, what the layer below adds, what is
//! paid once for many, and the language.

use serde_json::json;

use super::Figure;
use crate::findings::duration_text;
use crate::report::{Limits, Stored};

/// Operations that are shown where there is one subject, and where there are several.
const OPERATIONS: [&str; 3] = ["neighbours out", "2-hop out", "3-hop out"];
const OPERATION_OF_SEVERAL: [&str; 1] = ["2-hop out"];
/// Bytes of an edge that a list of neighbours cannot do without.
const EDGE_BYTES: f64 = 8.0;
/// Calls below which means say nothing.
const CALLS_MIN: u64 = 20;

pub(super) fn figures(all: &[Stored]) -> Vec<Figure> {
    let operations: &[&str] = if all.len() > 1 { &OPERATION_OF_SEVERAL } else { &OPERATIONS };
    let mut figures = Vec::new();
    for (at, stored) in all.iter().enumerate() {
        for operation in operations {
            if let Some(steps) = steps(stored, operation) {
                let of = if all.len() > 1 { format!(", {}", stored.name) } else { String::new() };
                let id = format!("waterfall-{at}-{}", super::slug(operation));
                figures.push(figure(id, format!("{operation} by a statement, hot{of}"), &steps));
            }
        }
    }
    figures
}

/// A part of the time, which may be negative.
struct Step {
    name: String,
    ns: f64,
}

/// Nanoseconds of a load from a working set as large as the data.
fn load_ns(limits: &Limits, bytes: f64) -> Option<f64> {
    let fits = limits.loads.iter().find(|(size, _)| *size >= bytes);
    fits.or(limits.loads.last()).map(|(_, ns)| *ns)
}

fn steps(stored: &Stored, operation: &str) -> Option<Vec<Step>> {
    let calls = stored.run(operation, "api", "hot").filter(|run| run.calls >= CALLS_MIN)?;
    let statement = stored.run(operation, "cypher", "hot").filter(|run| run.calls >= CALLS_MIN)?;
    let predicted = |way: &str| {
        stored
            .predictions
            .iter()
            .find(|held| (held.operation.as_str(), held.way.as_str(), held.regime.as_str()) == (operation, way, "hot"))
    };
    let composed = predicted("api")?;
    let whole = predicted("cypher").map_or(statement.mean_ns, |held| held.measured_ns);
    let empty = stored.run("empty statement", "cypher", "hot")?.p50_ns;
    let bytes = stored.facts.iter().find(|(name, _)| name == "bytes").map_or(Ok(0.0), |(_, text)| text.parse()).ok()?;
    let load = load_ns(&stored.limits, bytes)?;
    let lists = calls.neighborhoods.max(1.0);
    let edges = calls.edges.max(calls.rows);
    let stream = edges * EDGE_BYTES * 1e9 / stored.limits.memory_bytes_per_second.max(1.0);
    let memory = lists * load + stream;
    let gain = composed.measured_ns - composed.model_ns;
    let together = if gain < 0.0 { "saved by asking for all at once" } else { "beyond the sum of the parts" };
    let rest = whole - composed.measured_ns - empty;
    let language = if rest < 0.0 { "saved by the plan of the statement" } else { "rest of the statement" };
    let step = |name: String, ns: f64| Step { name, ns };
    Some(vec![
        step(format!("memory: {lists:.1} loads, {edges:.1} edges of 8 B"), memory),
        step(format!("the layer below: {}", composed.formula), composed.model_ns - memory),
        step(together.to_owned(), gain),
        step("an empty statement".to_owned(), empty),
        step(language.to_owned(), rest),
    ])
}

fn figure(id: String, title: String, steps: &[Step]) -> Figure {
    let whole: f64 = steps.iter().map(|step| step.ns).sum();
    let mut rows = Vec::new();
    let mut bars = Vec::new();
    let mut at = 0.0;
    for step in steps {
        let sign = if step.ns < 0.0 { "−" } else { "" };
        let share = 100.0 * step.ns / whole.max(1e-9);
        rows.push(vec![
            step.name.clone(),
            format!("{sign}{}", duration_text(step.ns.abs())),
            format!("{sign}{:.1} %", share.abs()),
            duration_text(at + step.ns),
        ]);
        bars.push(json!({"name": step.name, "from": at, "to": at + step.ns}));
        at += step.ns;
    }
    rows.push(vec!["the statement".to_owned(), duration_text(whole), "100.0 %".to_owned(), duration_text(whole)]);
    bars.push(json!({"name": "the statement", "from": 0.0, "to": whole, "isWhole": true}));
    Figure {
        id,
        title,
        note: "Mean of a call. Memory is the least that the machine allows: a load that depends on the one before for each \
               list of neighbours, and the edges as one stream. The layer below is the composed model without it."
            .to_owned(),
        chart: Some(json!({"kind": "waterfall", "steps": bars})),
        head: ["part", "time", "share", "up to here"].map(str::to_owned).to_vec(),
        rows,
    }
}
