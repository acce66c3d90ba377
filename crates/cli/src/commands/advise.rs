//! `knot advise`: the indexes, constraints, sort keys and rewrites by which statements would be faster.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use database::advice::{Advice, Recommendation, Remedy, WorkloadStatement};
use database::advising::{Verification, verify_on_copy};
use database::trace::{TraceKind, shape_of};
use database::{Access, Config, Error, Interrupt};
use indicatif::{HumanBytes, HumanCount};
use introspect::findings::duration_text;
use introspect::replay::on_one_line;
use serde_json::{Value as Json, json};

use super::query;
use crate::arguments::AdviseArguments;
use crate::failure::Outcome;
use crate::{progress, signals, values};

/// Bytes that are not merged, and so not in the statistics, up to which that matters little.
const UNMERGED_MAX: usize = 4 << 20;
/// Characters of a statement that are shown.
const STATEMENT_CHARS: usize = 120;

pub(super) fn run(arguments: &AdviseArguments) -> Outcome<()> {
    let workload = match &arguments.trace {
        Some(trace) => of_trace(trace)?,
        None => of_texts(arguments)?,
    };
    let memory_bytes_max = super::memory_limit(arguments.memory_limit.as_deref())?;
    let config = Config { access: Access::ReadOnly, memory_bytes_max, ..Config::default() };
    let database = super::open_with(&arguments.store, config.clone())?;
    let unmerged = database.info()?.memtable_bytes;
    if unmerged > UNMERGED_MAX {
        let bytes = HumanBytes(unmerged as u64);
        tell!("note: {bytes} are not yet merged, of which little is known: predictions are better after knot compact");
    }
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    let advice = progress::watch_query(&interrupt, || database.advise(&workload, &interrupt))?;
    drop(database);
    let verified = match arguments.verify && !advice.recommendations.is_empty() {
        true => {
            let verify = || verify_on_copy(&arguments.store, config, &advice, &workload, &interrupt);
            Some(progress::watch_query(&interrupt, verify)?)
        }
        false => None,
    };
    let text = match arguments.json {
        true => format!("{:#}\n", to_json(&advice, &workload, verified.as_deref())),
        false => to_text(&advice, &workload, verified.as_deref()),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// The statements of the command line, or of standard input.
fn of_texts(arguments: &AdviseArguments) -> Outcome<Vec<WorkloadStatement>> {
    let text = query::given_text(arguments.query.as_deref())?;
    let parameters = values::parameters(&arguments.parameters)?;
    let statements = database::split_statements(&text).into_iter().map(|text| WorkloadStatement {
        text: text.trim().to_owned(),
        parameters: parameters.clone(),
        calls: 1,
    });
    Ok(statements.collect())
}

/// The statements of a trace: of those that differ in literals only the one whose time is in the middle, as often as all of them ran.
fn of_trace(trace: &Path) -> Result<Vec<WorkloadStatement>, Error> {
    let mut shapes: BTreeMap<String, Vec<(u64, WorkloadStatement)>> = BTreeMap::new();
    for event in super::events_of(trace)? {
        let event = event?;
        if event.error.is_none() && matches!(event.kind, TraceKind::Read | TraceKind::Write) {
            let statement = WorkloadStatement { text: event.text, parameters: event.parameters, calls: 1 };
            shapes.entry(shape_of(&statement.text)).or_default().push((event.ns, statement));
        }
    }
    let middle = |mut runs: Vec<(u64, WorkloadStatement)>| {
        runs.sort_by_key(|(ns, _)| *ns);
        let calls = runs.len() as u64;
        WorkloadStatement { calls, ..runs.swap_remove(runs.len() / 2).1 }
    };
    Ok(shapes.into_values().map(middle).collect())
}

fn to_text(advice: &Advice, workload: &[WorkloadStatement], verified: Option<&[Verification]>) -> String {
    let mut out = String::new();
    for (at, (present, statement)) in advice.present.iter().zip(workload).enumerate() {
        let time = match present.ns {
            Some(ns) if present.is_measured => format!("{} today", duration_text(ns)),
            Some(ns) => format!("about {} today", duration_text(ns)),
            None => "no time".to_owned(),
        };
        let calls = if statement.calls == 1 { String::new() } else { format!(", {} times", statement.calls) };
        let _ =
            writeln!(out, "statement {}: {}\n  {time}{calls}", at + 1, on_one_line(&statement.text, STATEMENT_CHARS));
        if let Some(remark) = &present.remark {
            let _ = writeln!(out, "  {remark}");
        }
    }
    out.push('\n');
    for (at, recommendation) in advice.recommendations.iter().enumerate() {
        let measured = verified.and_then(|verified| verified.get(at));
        push_recommendation(&mut out, at + 1, recommendation, measured);
        if measured.and_then(|measured| measured.helps(workload)) == Some(false) {
            out += "   measured: IT DOES NOT HELP here; leave it\n";
        }
    }
    if advice.recommendations.is_empty() {
        out += "no index, constraint, sort key or rewrite would save a third of the time of a statement\n";
    }
    out
}

fn push_recommendation(
    out: &mut String,
    number: usize,
    recommendation: &Recommendation,
    measured: Option<&Verification>,
) {
    let text = recommendation.remedy.statement();
    let _ = match &recommendation.remedy {
        Remedy::Schema(_) => writeln!(out, "{number}. {text};"),
        Remedy::Rewrite { statement, .. } => writeln!(out, "{number}. write statement {} as {text};", statement + 1),
    };
    if let Some(premise) = &recommendation.premise {
        let _ = writeln!(out, "   {premise}, now: it must stay so");
    }
    push_times(out, recommendation, measured);
    match &recommendation.remedy {
        Remedy::Schema(_) => push_costs(out, recommendation, measured),
        Remedy::Rewrite { .. } if recommendation.times.is_empty() => *out += "   its gain is told with what follows\n",
        Remedy::Rewrite { .. } => {}
    }
    match measured.and_then(|of| of.has_same_rows) {
        Some(true) => *out += "   measured: it gives the same rows\n",
        Some(false) => *out += "   measured: it gives OTHER ROWS, or the statement does not always give the same\n",
        None => {}
    }
}

fn push_times(out: &mut String, recommendation: &Recommendation, measured: Option<&Verification>) {
    for time in &recommendation.times {
        let (before, after) = (duration_text(time.before_ns), duration_text(time.after_ns));
        let _ = write!(out, "   statement {}: from {before} to about {after}", time.statement + 1);
        let found = measured.and_then(|of| of.times.iter().find(|of| of.statement == time.statement));
        if let Some(found) = found {
            let (before, after) = (duration_text(found.before_ns), duration_text(found.after_ns));
            let _ = write!(out, "; measured: from {before} to {after}");
        }
        out.push('\n');
    }
}

fn push_costs(out: &mut String, recommendation: &Recommendation, measured: Option<&Verification>) {
    let is_on_edges = recommendation.remedy.candidate().is_some_and(|candidate| candidate.is_on_edges());
    let kind = if is_on_edges { "relationships" } else { "nodes" };
    let size = match recommendation.bytes {
        0 => "no bytes more".to_owned(),
        bytes => format!("about {}", HumanBytes(bytes)),
    };
    let _ = write!(
        out,
        "   {} {kind}, {size}, made in about {}; each write of one takes about {} longer",
        HumanCount(recommendation.entries),
        duration_text(recommendation.build_ns),
        duration_text(recommendation.write_ns)
    );
    if let Some(of) = measured {
        let bytes = HumanBytes(of.bytes.max(0) as u64);
        let _ = write!(out, "; measured: {bytes}, made in {}", duration_text(of.build_ns));
    }
    out.push('\n');
}

fn to_json(advice: &Advice, workload: &[WorkloadStatement], verified: Option<&[Verification]>) -> Json {
    let statements = advice.present.iter().zip(workload).map(|(present, statement)| {
        json!({
            "statement": statement.text, "calls": statement.calls, "ns": present.ns,
            "isMeasured": present.is_measured, "remark": present.remark,
        })
    });
    let recommendations = advice.recommendations.iter().enumerate().map(|(at, held)| {
        let times = held.times.iter().map(
            |time| json!({ "statement": time.statement + 1, "beforeNs": time.before_ns, "predictedNs": time.after_ns }),
        );
        let measured = verified.and_then(|verified| verified.get(at)).map(|of| {
            let times = of.times.iter().map(
                |time| json!({ "statement": time.statement + 1, "beforeNs": time.before_ns, "afterNs": time.after_ns }),
            );
            json!({
                "times": times.collect::<Vec<_>>(), "bytes": of.bytes, "buildNs": of.build_ns,
                "hasSameRows": of.has_same_rows, "helps": of.helps(workload),
            })
        });
        let of = match &held.remedy {
            Remedy::Rewrite { statement, .. } => Some(statement + 1),
            Remedy::Schema(_) => None,
        };
        json!({
            "kind": held.remedy.kind(), "statement": held.remedy.statement(), "of": of, "premise": held.premise,
            "times": times.collect::<Vec<_>>(), "savedNs": held.saved_ns(workload),
            "entries": held.entries, "bytes": held.bytes, "buildNs": held.build_ns, "writeNs": held.write_ns,
            "measured": measured,
        })
    });
    json!({
        "statements": statements.collect::<Vec<_>>(),
        "recommendations": recommendations.collect::<Vec<_>>(),
    })
}
