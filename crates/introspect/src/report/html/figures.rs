//! The charts of the page, each with its table.

use serde_json::{Value, json};

use super::Figure;
use crate::findings::duration_text;
use crate::report::text::bytes_text;
use crate::report::{Stored, StoredJudgement, StoredRun};

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Names that something has in any of the measurements, in the order of the first.
pub(super) fn names<'a>(all: &'a [Stored], of: impl Fn(&'a Stored) -> Vec<&'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in all.iter().flat_map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// One column for each measurement after those of the names.
pub(super) fn head(first: &[&str], all: &[Stored]) -> Vec<String> {
    words(first).into_iter().chain(all.iter().map(|stored| stored.name.clone())).collect()
}

/// The limits of the machines.
pub(super) fn machine(all: &[Stored]) -> Vec<Figure> {
    let series: Vec<Value> =
        all.iter().map(|stored| json!({"name": stored.name, "isLine": true, "points": stored.limits.loads})).collect();
    let sizes = &all.iter().map(|stored| &stored.limits.loads).max_by_key(|loads| loads.len());
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: String, cell: &dyn Fn(&Stored) -> Option<String>| {
        let cells = all.iter().map(|stored| cell(stored).unwrap_or_else(|| "-".to_owned()));
        rows.push([name].into_iter().chain(cells).collect());
    };
    for (bytes, _) in sizes.iter().flat_map(|loads| loads.iter()) {
        row(format!("load that depends on the one before, {}", bytes_text(*bytes)), &|stored| {
            stored.limits.loads.iter().find(|(size, _)| size == bytes).map(|(_, ns)| format!("{ns:.1} ns"))
        });
    }
    let rate = |bytes: f64| format!("{}/s", bytes_text(bytes));
    row("memory read by one thread".to_owned(), &|held| Some(rate(held.limits.memory_bytes_per_second)));
    row("look at the clock".to_owned(), &|held| Some(format!("{:.1} ns", held.limits.clock_ns)));
    row("round trip over TCP within the machine".to_owned(), &|held| held.limits.loopback_ns.map(duration_text));
    row("disk, sequential read".to_owned(), &|held| held.limits.disk.as_ref().map(|disk| rate(disk.0)));
    row("disk, random read of 4 KiB".to_owned(), &|held| held.limits.disk.as_ref().map(|disk| duration_text(disk.1)));
    row("disk, write of 4 KiB and sync".to_owned(), &|held| {
        held.limits.disk.as_ref().map(|disk| duration_text(disk.2))
    });
    row("way past the page cache".to_owned(), &|held| held.limits.disk.as_ref().map(|disk| disk.3.clone()));
    vec![Figure {
        id: "loads".to_owned(),
        title: "A load from memory, by size of the working set".to_owned(),
        note: "No store on the machine goes below these. Both axes are logarithmic.".to_owned(),
        chart: Some(json!({
            "kind": "points", "x": {"name": "working set", "unit": "bytes"}, "y": {"name": "load", "unit": "ns"},
            "series": series,
        })),
        head: head(&["limit"], all),
        rows,
    }]
}

/// The median of a run of an operation, if there are calls.
fn p50(stored: &Stored, operation: &str, way: &str, regime: &str) -> Option<f64> {
    stored.run(operation, way, regime).map(|run| run.p50_ns)
}

fn cell(ns: Option<f64>) -> String {
    ns.map_or("-".to_owned(), duration_text)
}

/// The operations of a layer: one subject by way and caches, several beside each other.
pub(super) fn layer(all: &[Stored], layer: &str) -> Vec<Figure> {
    let of_layer = |stored: &'_ Stored| stored.runs.iter().any(|run| run.layer == layer && run.calls > 0);
    if !all.iter().any(of_layer) {
        return Vec::new();
    }
    match all {
        [stored] => vec![layer_of_one(stored, layer)],
        _ => [("api", "calls"), ("cypher", "statements")]
            .into_iter()
            .filter_map(|(way, by)| layer_of_several(all, layer, way, by))
            .collect(),
    }
}

fn operations<'a>(all: &'a [Stored], layer: &str) -> Vec<&'a str> {
    names(all, |stored| {
        let of = stored.runs.iter().filter(|run| run.layer == layer && run.calls > 0);
        of.map(|run| run.operation.as_str()).collect()
    })
}

fn layer_of_one(stored: &Stored, layer: &str) -> Figure {
    let operations = operations(std::slice::from_ref(stored), layer);
    let shown = [("calls, cold", "api", "cold"), ("calls, hot", "api", "hot"), ("statements, hot", "cypher", "hot")];
    let series: Vec<Value> = shown
        .into_iter()
        .map(|(name, way, regime)| {
            let values = operations.iter().map(|operation| p50(stored, operation, way, regime));
            json!({"name": name, "values": values.collect::<Vec<_>>()})
        })
        .collect();
    let row = |operation: &&str| {
        let times = ["api", "cypher"]
            .into_iter()
            .flat_map(|way| ["cold", "warm", "hot"].map(|regime| cell(p50(stored, operation, way, regime))));
        let slowest = ["api", "cypher"].map(|way| cell(stored.run(operation, way, "hot").map(|run| run.p99_ns)));
        let rows = stored.run(operation, "api", "hot").or_else(|| stored.run(operation, "cypher", "hot"));
        let rows = rows.map_or(String::new(), |run| format!("{:.1}", run.rows));
        [(*operation).to_owned()].into_iter().chain(times).chain(slowest).chain([rows]).collect()
    };
    Figure {
        id: layer.to_owned(),
        title: "By calls and by statements, cold and hot".to_owned(),
        note:
            "Medians of a call. Cold: caches were emptied. Warm: everything was scanned. Hot: the same calls once more."
                .to_owned(),
        chart: Some(json!({"kind": "bars", "categories": operations, "series": series})),
        head: words(&[
            "operation", "calls, cold", "calls, warm", "calls, hot", "statements, cold", "statements, warm",
            "statements, hot", "calls, p99", "statements, p99", "rows",
        ]),
        rows: operations.iter().map(row).collect(),
    }
}

fn layer_of_several(all: &[Stored], layer: &str, way: &str, by: &str) -> Option<Figure> {
    let has = |operation: &&str| all.iter().any(|stored| p50(stored, operation, way, "hot").is_some());
    let operations: Vec<&str> = operations(all, layer).into_iter().filter(has).collect();
    if operations.is_empty() {
        return None;
    }
    let series: Vec<Value> = all
        .iter()
        .map(|stored| {
            let values = operations.iter().map(|operation| p50(stored, operation, way, "hot"));
            json!({"name": stored.name, "values": values.collect::<Vec<_>>()})
        })
        .collect();
    let row = |operation: &&str| {
        let times: Vec<Option<f64>> = all.iter().map(|stored| p50(stored, operation, way, "hot")).collect();
        let ratio = |ns: &Option<f64>| match (ns, times[0]) {
            (Some(ns), Some(first)) if first > 0.0 => format!("×{:.2}", ns / first),
            _ => "-".to_owned(),
        };
        let ratios = times[1..].iter().map(ratio);
        [(*operation).to_owned()].into_iter().chain(times.iter().map(|ns| cell(*ns))).chain(ratios).collect()
    };
    let ratios = all[1..].iter().map(|stored| format!("{} / {}", stored.name, all[0].name));
    Some(Figure {
        id: format!("{layer}-{way}"),
        title: format!("By {by}, hot"),
        note: "Medians of a call, side by side; the last columns are ratios to the first subject.".to_owned(),
        chart: Some(json!({"kind": "bars", "categories": operations, "series": series})),
        head: head(&["operation"], all).into_iter().chain(ratios).collect(),
        rows: operations.iter().map(row).collect(),
    })
}

/// The graph layer: its operations, neighbours by their number, and working sets.
pub(super) fn graph(all: &[Stored]) -> Vec<Figure> {
    let mut figures = layer(all, "graph");
    figures.extend(neighbors(all));
    figures.extend(working_sets(all));
    figures
}

/// The time of all neighbours by their number: starts of both choices together show small and large ones.
fn neighbors(all: &[Stored]) -> Option<Figure> {
    let directions: &[&str] = if all.len() > 1 { &["neighbours out"] } else { &["neighbours out", "neighbours in"] };
    let (mut series, mut rows) = (Vec::new(), Vec::new());
    for stored in all {
        for operation in directions {
            let is_it = |run: &&StoredRun| {
                run.operation == *operation && run.way == "api" && run.regime == "hot" && !run.by_rows.is_empty()
            };
            for run in stored.runs.iter().filter(is_it) {
                let name = match all.len() {
                    1 => format!("{operation}, starts {}", run.starts),
                    _ => format!("{}, starts {}", stored.name, run.starts),
                };
                for (number, ns) in &run.by_rows {
                    rows.push(vec![name.clone(), format!("{number} to {}", 2.0 * number - 1.0), duration_text(*ns)]);
                }
                series.push(json!({"name": name, "isLine": true, "points": run.by_rows}));
            }
        }
    }
    (!series.is_empty()).then(|| Figure {
        id: "neighbours".to_owned(),
        title: "All neighbours, by their number".to_owned(),
        note: "By calls, hot: medians for each power of two of neighbours. Both axes are logarithmic.".to_owned(),
        chart: Some(json!({
            "kind": "points", "x": {"name": "neighbours", "unit": "count"}, "y": {"name": "time", "unit": "ns"},
            "series": series,
        })),
        head: words(&["starts", "neighbours", "p50"]),
        rows,
    })
}

fn working_sets(all: &[Stored]) -> Option<Figure> {
    let measured: Vec<&Stored> = all.iter().filter(|stored| !stored.sweep.is_empty()).collect();
    let series: Vec<Value> =
        measured.iter().map(|stored| json!({"name": stored.name, "isLine": true, "points": stored.sweep})).collect();
    let rows = measured.iter().flat_map(|stored| {
        let row = |(nodes, ns): &(f64, f64)| vec![stored.name.clone(), format!("{nodes}"), duration_text(*ns)];
        stored.sweep.iter().map(row).collect::<Vec<_>>()
    });
    (!measured.is_empty()).then(|| Figure {
        id: "working-sets".to_owned(),
        title: "A property, by size of the working set".to_owned(),
        note:
            "An integer property of a node by calls, hot. A step shows where a cache ends. Both axes are logarithmic."
                .to_owned(),
        chart: Some(json!({
            "kind": "points", "x": {"name": "nodes", "unit": "count"}, "y": {"name": "time", "unit": "ns"},
            "series": series,
        })),
        head: words(&["subject", "nodes", "p50"]),
        rows: rows.collect(),
    })
}

/// The composed and the fitted model against what was measured.
pub(super) fn models(all: &[Stored]) -> Vec<Figure> {
    composed(all).into_iter().chain(fitted(all)).collect()
}

fn composed(all: &[Stored]) -> Option<Figure> {
    let (mut series, mut rows) = (Vec::new(), Vec::new());
    for stored in all {
        for regime in ["cold", "hot"] {
            let held: Vec<_> = stored.predictions.iter().filter(|held| held.regime == regime).collect();
            let name = if all.len() > 1 { format!("{}, {regime}", stored.name) } else { regime.to_owned() };
            let points: Vec<Value> = held
                .iter()
                .map(|held| json!([held.model_ns, held.measured_ns, format!("{}, {}", held.operation, held.way)]))
                .collect();
            if points.is_empty() {
                continue;
            }
            series.push(json!({"name": name, "points": points}));
            rows.extend(held.iter().map(|held| {
                vec![
                    format!("{}, {}", held.operation, held.way),
                    name.clone(),
                    duration_text(held.measured_ns),
                    duration_text(held.model_ns),
                    format!("{:.2}", held.measured_ns / held.model_ns.max(1e-9)),
                    held.formula.clone(),
                ]
            }));
        }
    }
    (!series.is_empty()).then(|| Figure {
        id: "modelled".to_owned(),
        title: "Measured against the layer below".to_owned(),
        note:
            "Each operation as the sum of its parts. On the line both are the same; below it parts are paid once for \
               many; above it the whole costs more than its parts. Both axes are logarithmic."
                .to_owned(),
        chart: Some(json!({
            "kind": "points", "x": {"name": "model", "unit": "ns"}, "y": {"name": "measured", "unit": "ns"},
            "series": series, "hasDiagonal": true,
        })),
        head: words(&["operation", "caches", "measured", "model", "factor", "model of"]),
        rows,
    })
}

fn fitted(all: &[Stored]) -> Option<Figure> {
    fn hot(stored: &Stored) -> impl Iterator<Item = &StoredJudgement> {
        stored.judgements.iter().filter(|held| held.regime == "hot")
    }
    let operations = names(all, |stored| hot(stored).map(|held| held.operation.as_str()).collect());
    let series: Vec<Value> = all
        .iter()
        .map(|stored| {
            let find = |operation: &&str| hot(stored).find(|held| held.operation == **operation);
            let error = |operation: &&str| find(operation).map(|held| 100.0 * held.median_error);
            json!({"name": stored.name, "values": operations.iter().map(error).collect::<Vec<_>>()})
        })
        .collect();
    let rows = all.iter().flat_map(|stored| {
        let row = |held: &StoredJudgement| {
            vec![
                held.operation.clone(),
                stored.name.clone(),
                held.regime.clone(),
                format!("{:.0} %", 100.0 * held.median_error),
                format!("{:.0} %", 100.0 * held.p90_error),
                if held.is_out_of_model { "out of model" } else { "" }.to_owned(),
            ]
        };
        stored.judgements.iter().map(row).collect::<Vec<_>>()
    });
    (!operations.is_empty()).then(|| Figure {
        id: "fitted".to_owned(),
        title: "Errors of the fitted costs, hot".to_owned(),
        note: "Relative errors, half of the calls below, on starts that the costs were not fitted to. From 20 % on an \
               operation is out of model: do not predict it with the costs."
            .to_owned(),
        chart: Some(json!({
            "kind": "bars", "unit": "percent", "categories": operations, "series": series, "limit": 20,
        })),
        head: words(&["operation", "subject", "caches", "median", "nine tenths", "verdict"]),
        rows: rows.collect(),
    })
}
