//! Tables and sentences for people.

use std::fmt::Write;

use super::Report;
use crate::cost_model::{FEATURES, Judgement, Prediction};
use crate::findings::duration_text;
use crate::machine::MachineLimits;
use crate::measure::{Regime, Run};
use crate::operations::{Layer, Operation, Way};
use crate::subject::Choice;

/// Rows as a table: the first column to the left, others to the right.
pub(crate) fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let cell = |row: &Vec<String>, at: usize| row.get(at).map_or(0, |text| text.chars().count());
    let widths: Vec<usize> =
        (0..head.len()).map(|at| rows.iter().chain([&head]).map(|row| cell(row, at)).max().unwrap_or(0)).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (at, text) in row.iter().enumerate() {
            let blanks = " ".repeat(widths[at] - text.chars().count());
            let is_left = at == 0 || (at + 1 == row.len() && at + 1 == head.len() && head[at] == "model of");
            line += if at > 0 { "  " } else { "" };
            line += &if is_left { format!("{text}{blanks}") } else { format!("{blanks}{text}") };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push('\n');
}

pub(super) fn bytes_text(bytes: f64) -> String {
    match bytes {
        bytes if bytes < 1024.0 => format!("{bytes:.0} B"),
        bytes if bytes < 1024.0 * 1024.0 => format!("{:.0} KiB", bytes / 1024.0),
        bytes if bytes < 1024.0 * 1024.0 * 1024.0 => format!("{:.0} MiB", bytes / 1024.0 / 1024.0),
        bytes => format!("{:.1} GiB", bytes / 1024.0 / 1024.0 / 1024.0),
    }
}

/// The whole report as text.
pub fn to_text(report: &Report) -> String {
    let mut out = String::new();
    let of = &report.measurements.description;
    // Not every system tells them.
    let bytes = if of.bytes == 0 { String::new() } else { format!(", {}", bytes_text(of.bytes as f64)) };
    let facts = format!("{} nodes, {} edges{bytes}", of.nodes, of.edges);
    line(&mut out, &format!("{} {}: {} ({facts})", of.system, of.version, of.place));
    let settings: Vec<String> = of.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    line(&mut out, &settings.join(", "));
    line(&mut out, &format!("cold: {}", of.cold_method));
    line(&mut out, "warm: everything was scanned; hot: the same calls once more");
    line(&mut out, &format!("timing takes {}, which is taken off\n", duration_text(report.measurements.timer_ns)));
    machine(&mut out, &report.machine);
    for layer in Layer::ALL {
        times(&mut out, report, layer);
    }
    by_degree(&mut out, report);
    sweep(&mut out, report);
    composed(&mut out, report);
    fitted(&mut out, report);
    findings(&mut out, report);
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn machine(out: &mut String, machine: &MachineLimits) {
    let name = if machine.processor.is_empty() { "unknown processor" } else { &machine.processor };
    let load = if machine.load.is_empty() { "unknown" } else { &machine.load };
    line(out, &format!("LIMITS OF THE MACHINE ({name}, {} threads, load {load})", machine.threads));
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: String, value: String| rows.push(vec![name, value]);
    for (bytes, ns) in &machine.load_ns {
        row(format!("load that depends on the one before, {}", bytes_text(*bytes as f64)), format!("{ns:.1} ns"));
    }
    row("memory read by one thread".to_owned(), format!("{}/s", bytes_text(machine.memory_bytes_per_second)));
    row("look at the clock".to_owned(), format!("{:.1} ns", machine.clock_ns));
    let loopback = machine.loopback_ns.map_or("not possible".to_owned(), duration_text);
    row("round trip over TCP within the machine".to_owned(), loopback);
    match &machine.disk {
        Ok(disk) => {
            let how = match disk.method {
                "direct" => "past the page cache",
                "dropped" => "dropped from the page cache before",
                _ => "FROM the page cache, which could not be avoided",
            };
            row(
                format!("disk, sequential read ({how})"),
                format!("{}/s", bytes_text(disk.sequential_bytes_per_second)),
            );
            row(format!("disk, random read of 4 KiB ({how})"), duration_text(disk.random_read_ns));
            row("disk, write of 4 KiB and sync".to_owned(), duration_text(disk.sync_ns));
        }
        Err(cause) => row("disk".to_owned(), format!("not measured: {cause}")),
    }
    table(out, &["limit", "measured"], &rows);
}

/// The run of an operation, of any regime.
fn run(report: &Report, operation: Operation, way: Way, regime: Regime) -> Option<&Run> {
    report.measurements.run(operation, way, regime)
}

fn times(out: &mut String, report: &Report, layer: Layer) {
    let title = match layer {
        Layer::Micro => "MICRO OPERATIONS",
        Layer::Graph => "GRAPH OPERATIONS",
        Layer::Algorithm => "ALGORITHMS",
        Layer::Statement => "STATEMENTS",
        Layer::Write => "WRITES ON A COPY",
    };
    let is_optional = matches!(layer, Layer::Statement | Layer::Write);
    if is_optional && !report.measurements.runs.iter().any(|run| run.operation.layer() == layer) {
        return;
    }
    line(out, &format!("{title} (p50 of a call; hot also p90, p99, mean; rows are those of the mean call)"));
    let mut rows = Vec::new();
    for operation in report.measurements.operations(layer) {
        for way in [Way::Api, Way::Cypher] {
            let p50 = |regime: Regime| {
                run(report, operation, way, regime)
                    .map_or("-".to_owned(), |run| duration_text(run.times().percentile(50)))
            };
            let Some(hot) = run(report, operation, way, Regime::Hot) else {
                rows.extend(failed(report, operation, way));
                continue;
            };
            let times = hot.times();
            let mean_rows = hot.calls.iter().map(|call| call.rows).sum::<u64>() as f64 / hot.calls.len() as f64;
            let is_different = report.disagreements.iter().any(|(other, _)| *other == operation);
            let note = if is_different { " (ANSWERS DIFFER)" } else { "" };
            rows.push(vec![
                format!("{operation}{note}"),
                way.name().to_owned(),
                p50(Regime::Cold),
                p50(Regime::Warm),
                duration_text(times.percentile(50)),
                duration_text(times.percentile(90)),
                duration_text(times.percentile(99)),
                duration_text(times.mean()),
                format!("{mean_rows:.1}"),
                times.count().to_string(),
            ]);
        }
    }
    table(out, &["operation", "by", "cold", "warm", "hot", "p90", "p99", "mean", "rows", "n"], &rows);
}

/// The row of an operation that failed, if it was tried.
fn failed(report: &Report, operation: Operation, way: Way) -> Option<Vec<String>> {
    let runs = &report.measurements.runs;
    let run = runs.iter().find(|run| (run.operation, run.way) == (operation, way) && run.error.is_some())?;
    let cause = run.error.as_deref().unwrap_or_default();
    Some(vec![format!("{operation}: {cause}"), way.name().to_owned()])
}

fn by_degree(out: &mut String, report: &Report) {
    let mut rows = Vec::new();
    for run in &report.measurements.runs {
        if run.choice == Choice::ByDegree && run.regime == Regime::Hot && !run.calls.is_empty() {
            let times = run.times();
            let mean_rows = run.calls.iter().map(|call| call.rows).sum::<u64>() as f64 / run.calls.len() as f64;
            let cells = [50, 90, 99].map(|percent| duration_text(times.percentile(percent)));
            let mean = duration_text(times.mean());
            rows.push(
                [vec![run.operation.to_string()], cells.to_vec(), vec![mean, format!("{mean_rows:.1}")]].concat(),
            );
        }
    }
    if !rows.is_empty() {
        line(out, "STARTS BY DEGREE (by calls, hot)");
        table(out, &["operation", "p50", "p90", "p99", "mean", "rows"], &rows);
    }
}

fn sweep(out: &mut String, report: &Report) {
    if report.measurements.sweep.is_empty() {
        return;
    }
    line(out, "WORKING SETS (node property, integer, by calls, hot)");
    let row = |point: &crate::measure::SweepPoint| {
        vec![point.nodes.to_string(), duration_text(point.ns), point.calls.to_string()]
    };
    let rows: Vec<Vec<String>> = report.measurements.sweep.iter().map(row).collect();
    table(out, &["nodes", "p50", "n"], &rows);
}

fn composed(out: &mut String, report: &Report) {
    line(out, "FROM THE LAYER BELOW (mean of a call; a factor below 1 is faster than the sum of the parts)");
    predicted(out, &report.predictions);
    if let Some(other) = &report.elsewhere {
        line(out, &format!("{} FROM THE LAYER BELOW OF {}", other.place, report.measurements.description.place));
        predicted(out, &other.predictions);
    }
}

fn predicted(out: &mut String, predictions: &[Prediction]) {
    let mut rows = Vec::new();
    for held in predictions.iter().filter(|held| held.regime != Regime::Warm) {
        rows.push(vec![
            held.operation.to_string(),
            held.way.name().to_owned(),
            held.regime.name().to_owned(),
            duration_text(held.measured_ns),
            duration_text(held.model_ns),
            format!("{:.2}", held.factor()),
            held.formula.to_owned(),
        ]);
    }
    table(out, &["operation", "by", "caches", "measured", "model", "factor", "model of"], &rows);
}

fn fitted(out: &mut String, report: &Report) {
    line(out, "FITTED COSTS (graph operations by calls; half of the starts)");
    let cost = |cost: f64| if cost > 0.0 { format!("{cost:.2} ns") } else { "-".to_owned() };
    let fit = |fit: &crate::cost_model::Fit| {
        let costs = fit.costs.iter().map(|held| cost(*held));
        std::iter::once(fit.regime.name().to_owned()).chain(costs).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = report.fits.iter().map(fit).collect();
    let head: Vec<&str> = std::iter::once("caches").chain(FEATURES).collect();
    table(out, &head, &rows);
    line(out, "ERRORS OF FITTED COSTS (on the other half of the starts)");
    judged(out, &report.judgements);
    if let Some(other) = &report.elsewhere {
        line(out, &format!("ERRORS OF FITTED COSTS (on {}, which they were not fitted to)", other.place));
        judged(out, &other.judgements);
    }
}

fn judged(out: &mut String, judgements: &[Judgement]) {
    let row = |held: &Judgement| {
        let verdict = if held.is_out_of_model() { "out of model" } else { "" };
        vec![
            held.operation.to_string(),
            held.regime.name().to_owned(),
            format!("{:.2}", held.factor),
            format!("{:.0} %", 100.0 * held.median_error),
            format!("{:.0} %", 100.0 * held.p90_error),
            held.calls.to_string(),
            verdict.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = judgements.iter().map(row).collect();
    table(out, &["operation", "caches", "factor", "median", "p90", "n", ""], &rows);
}

fn findings(out: &mut String, report: &Report) {
    line(out, "FINDINGS");
    if report.findings.is_empty() {
        line(out, "none: no rule is past its threshold");
    }
    for finding in &report.findings {
        let _ = writeln!(out, "- {}: {}.", finding.rule.name(), finding.sentence);
    }
    for run in report.measurements.runs.iter().filter(|run| !run.calls.is_empty()) {
        if let Some(cause) = &run.error {
            let (way, regime, calls) = (run.way.name(), run.regime.name(), run.calls.len());
            line(out, &format!("{} ({way}, {regime}) ended after {calls} calls: {cause}", run.operation));
        }
    }
    for sentence in report.measurements.cut.sentences() {
        line(out, &format!("the time was over: {sentence}"));
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes_text, table};

    #[test]
    fn tables_are_aligned() {
        let mut out = String::new();
        table(&mut out, &["name", "µs"], &[vec!["a".to_owned(), "1.5".to_owned()], vec!["long".to_owned()]]);
        assert_eq!(out, "name   µs\na     1.5\nlong\n\n");
    }

    #[test]
    fn bytes_have_units() {
        let texts = [12.0, 16_384.0, 3e6, 5e9].map(bytes_text);
        assert_eq!(texts, ["12 B", "16 KiB", "3 MiB", "4.7 GiB"]);
    }
}
