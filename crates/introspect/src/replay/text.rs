//! A replay as text: a table of statements, those first that take the most time, and the differences.

use super::{Replay, ReplayedShape};
use crate::findings::duration_text;
use crate::measure::Times;
use crate::report::table;

/// Characters of a statement in the table.
const STATEMENT_CHARS: usize = 60;

/// The replay as text.
pub fn to_text(held: &Replay) -> String {
    let mut shapes: Vec<(&String, &ReplayedShape)> =
        held.shapes.iter().filter(|(_, shape)| !shape.replayed_ns.is_empty()).collect();
    let spent = |shape: &ReplayedShape| shape.replayed_ns.iter().sum::<f64>();
    shapes.sort_by(|one, other| spent(other.1).total_cmp(&spent(one.1)));
    let mut out = String::new();
    let head = ["statement", "calls", "trace p50", "p99", "now p50", "p99", "ratio", "compared", "differ"];
    let row = |(text, shape): &(&String, &ReplayedShape)| {
        let (before, now) = (Times::of(shape.recorded_ns.clone()), Times::of(shape.replayed_ns.clone()));
        let ratio = now.percentile(50) / before.percentile(50).max(1.0);
        let times = [before.percentile(50), before.percentile(99), now.percentile(50), now.percentile(99)];
        let cells =
            [on_one_line(text, STATEMENT_CHARS), now.count().to_string()].into_iter().chain(times.map(duration_text));
        let counts = [format!("{ratio:.2}"), shape.compared.to_string(), shape.differing.to_string()];
        cells.chain(counts).collect()
    };
    table(&mut out, &head, &shapes.iter().map(row).collect::<Vec<_>>());
    for (text, shape) in &held.shapes {
        if let Some(difference) = &shape.difference {
            out += &format!("differs: {}: {difference}\n", on_one_line(text, STATEMENT_CHARS));
        }
    }
    let calls: usize = held.shapes.values().map(|shape| shape.replayed_ns.len()).sum();
    out += &format!(
        "{calls} statements of {} sessions on {} threads: {} in the trace, {} now; {} differ, {} events left out\n",
        held.sessions,
        held.threads,
        duration_text(held.recorded_ns as f64),
        duration_text(held.replayed_ns as f64),
        held.differing(),
        held.left_out
    );
    if held.late_ns > 1_000_000 {
        out +=
            &format!("the slowest start was {} behind its moment in the trace\n", duration_text(held.late_ns as f64));
    }
    out
}

/// A statement on one line, cut behind so many characters.
pub fn on_one_line(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
