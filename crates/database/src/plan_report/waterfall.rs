//! Waterfall of a profile: the time of a statement divided into parts that add up to the whole.
//!
//! All parts lie on one line of time, that of the thread that drives the statement: where several threads worked at once,
//! their operators share the time that passed meanwhile (see `exec::OperatorProfile::wall_ns`).
//!
//! Invariant: the parts add up to the whole exactly, and none is negative; what no part explains is a part of its own.

use exec::OperatorProfile;
use model::meter::{Wait, Waits};
use serde_json::{Value as Json, json};

use super::PlanLine;
use crate::phases::{Phase, Phases};

/// Operators that have a part of their own; the rest share one.
const OPERATORS_MAX: usize = 5;
/// Characters of an operator's details in the name of its part.
const DETAILS_CHARS_MAX: usize = 48;

/// Kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Work in a phase of the statement.
    Phase(Phase),
    /// Work of one operator, by its place among the lines of the plan.
    Operator(usize),
    /// Work of the operators that have no part of their own.
    OtherOperators,
    /// Waiting, in whatever phase or operator.
    Wait(Wait),
    /// The rest.
    Unexplained,
}

/// Part of the time of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Kind of the part.
    pub kind: PartKind,
    /// Its name.
    pub name: String,
    /// Its nanoseconds.
    pub ns: u64,
}

/// The time of a statement, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waterfall {
    /// Nanoseconds in all.
    pub whole_ns: u64,
    /// The parts, in the order of the work.
    pub parts: Vec<Part>,
    /// Time of waiting, in all phases and operators.
    pub waits: Waits,
    /// True if the plan was found in the plan cache.
    pub is_plan_cached: bool,
    /// One sentence that says where the time went and what would change it.
    pub finding: String,
}

impl Waterfall {
    /// The parts of a statement with these phases, whose plan ran so.
    pub(crate) fn of(phases: &Phases, lines: &[PlanLine]) -> Waterfall {
        let actual = |line: &PlanLine| line.actual.unwrap_or_default();
        let whole_ns = phases.whole_ns();
        let mut of_operators = Waits::NOTHING;
        lines.iter().for_each(|line| of_operators.add(&actual(line).storage.waits));
        let mut waits = waits_of(phases, &of_operators);
        lines.iter().for_each(|line| waits.add(&actual(line).wall_waits));
        let phase = |phase: Phase| {
            // Their waits are not told apart.
            let whole = matches!(phase, Phase::Retry | Phase::Deliver);
            let ns = if whole { phases.ns(phase) } else { phases.worked_ns(phase) };
            Part { kind: PartKind::Phase(phase), name: phase_name(phase).to_owned(), ns }
        };
        let wait =
            |wait: Wait| Part { kind: PartKind::Wait(wait), name: wait_name(wait).to_owned(), ns: waits.of(wait) };
        let mut parts: Vec<Part> = [Phase::Parse, Phase::Bind, Phase::Plan, Phase::Prepare].map(phase).into();
        parts.push(wait(Wait::Queue));
        parts.extend(operators(lines));
        parts.extend([Wait::Verify, Wait::Disk, Wait::Source, Wait::Spill, Wait::Lock].map(wait));
        parts.extend([Phase::Records, Phase::Retry, Phase::Commit].map(phase));
        parts.push(wait(Wait::Log));
        parts.push(phase(Phase::Deliver));
        let explained: u64 = parts.iter().map(|part| part.ns).sum();
        debug_assert!(explained <= whole_ns, "parts of {explained} ns explain a statement of {whole_ns} ns: {parts:?}");
        let name = "unexplained".to_owned();
        parts.push(Part { kind: PartKind::Unexplained, name, ns: whole_ns.saturating_sub(explained) });
        Waterfall { whole_ns, parts, waits, is_plan_cached: phases.is_plan_cached, finding: String::new() }
    }

    /// Nanoseconds of the parts of a kind.
    pub fn ns(&self, kind: PartKind) -> u64 {
        self.parts.iter().filter(|part| part.kind == kind).map(|part| part.ns).sum()
    }

    /// The share of the whole that a number of nanoseconds has.
    pub(crate) fn share(&self, ns: u64) -> f64 {
        if self.whole_ns == 0 { 0.0 } else { ns as f64 / self.whole_ns as f64 }
    }

    /// The parts as a table, and below it the finding.
    pub(crate) fn text(&self) -> String {
        let shown = self.parts.iter().filter(|part| part.ns > 0 || part.kind == PartKind::Unexplained);
        let rows: Vec<(&str, u64)> = shown.map(|part| (part.name.as_str(), part.ns)).collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let line = |(name, ns): (&str, u64)| {
            format!("{name:<width$} | {:>12.3} | {:>5.1}\n", ns as f64 / 1e6, 100.0 * self.share(ns))
        };
        let mut text = format!("\n{:<width$} | {:>12} | {:>5}\n", "part", "time (ms)", "%");
        rows.into_iter().for_each(|row| text.push_str(&line(row)));
        text.push_str(&line(("all", self.whole_ns)));
        if self.is_plan_cached {
            text.push_str("\nthe plan was found in the plan cache\n");
        }
        text.push_str(&format!("\nfinding: {}\n", self.finding));
        text
    }

    /// The parts as JSON.
    pub(crate) fn json(&self) -> Json {
        let parts: Vec<Json> = self.parts.iter().map(part_json).collect();
        json!({ "wholeNs": self.whole_ns, "planCached": self.is_plan_cached, "parts": parts })
    }
}

fn part_json(part: &Part) -> Json {
    let kind = match part.kind {
        PartKind::Phase(_) => "phase",
        PartKind::Operator(_) => "operator",
        PartKind::OtherOperators => "operators",
        PartKind::Wait(_) => "wait",
        PartKind::Unexplained => "rest",
    };
    let mut fields = json!({ "part": part.name, "kind": kind, "ns": part.ns });
    if let (PartKind::Operator(line), Some(fields)) = (part.kind, fields.as_object_mut()) {
        fields.insert("line".into(), line.into());
    }
    fields
}

/// Waits by kind as JSON: nanoseconds of those that there were.
pub(crate) fn waits_json(waits: &Waits) -> Json {
    let kinds = Wait::ALL.iter().filter(|&&wait| waits.of(wait) > 0);
    kinds
        .map(|&wait| (format!("{}Ns", wait.name()), Json::from(waits.of(wait))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Waits of the driving thread outside of operators, whose threads waited so long together. Of the phases that are told as
/// a whole only those in the queue.
fn waits_of(phases: &Phases, of_operators: &Waits) -> Waits {
    let mut all = Waits::NOTHING;
    for phase in Phase::ALL {
        let waits = phases.waits(phase);
        match phase {
            // With several threads that waited this may be too little, and is never too much.
            Phase::Run => {
                let outside = |wait: Wait| waits.of(wait).saturating_sub(of_operators.of(wait));
                Wait::ALL.iter().for_each(|&wait| all.count(wait, outside(wait)));
            }
            Phase::Retry | Phase::Deliver => all.count(Wait::Queue, waits.of(Wait::Queue)),
            _ => all.add(&waits),
        }
    }
    all
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Records => "nodes and relationships of the result",
        Phase::Retry => "attempts in vain",
        _ => phase.name(),
    }
}

fn wait_name(wait: Wait) -> &'static str {
    match wait {
        Wait::Disk => "wait: disk",
        Wait::Verify => "checksums of blocks read",
        Wait::Source => "wait: source",
        Wait::Log => "wait: log",
        Wait::Lock => "wait: other transactions",
        Wait::Queue => "wait: queue",
        Wait::Spill => "temporary files",
    }
}

/// The name of an operator with the start of its details.
pub(crate) fn operator_name(line: &PlanLine) -> String {
    if line.details.is_empty() {
        return line.operator.to_owned();
    }
    let mut details: String = line.details.chars().take(DETAILS_CHARS_MAX).collect();
    if details.len() < line.details.len() {
        details.push('…');
    }
    format!("{} {details}", line.operator)
}

/// Work of the operators that did most, in the order of the plan, and of the rest together.
fn operators(lines: &[PlanLine]) -> Vec<Part> {
    let worked = |line: &PlanLine| line.actual.as_ref().map_or(0, OperatorProfile::wall_cpu_ns);
    let mut order: Vec<usize> = (0..lines.len()).filter(|&at| worked(&lines[at]) > 0).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(worked(&lines[at])), at));
    let rest = order.split_off(order.len().min(OPERATORS_MAX));
    order.sort_unstable();
    let part = |at: usize| {
        let name = operator_name(&lines[at]);
        Part { kind: PartKind::Operator(at), name, ns: worked(&lines[at]) }
    };
    let mut parts: Vec<Part> = order.into_iter().map(part).collect();
    let ns = rest.into_iter().map(|at| worked(&lines[at])).sum();
    parts.push(Part { kind: PartKind::OtherOperators, name: "other operators".to_owned(), ns });
    parts
}
