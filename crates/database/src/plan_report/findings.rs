//! Findings of a profile: rules over its figures, each with a threshold. The first that holds says where the time went and
//! what would change it.

use std::sync::Arc;

use cypher::plan::{
    BinaryOperator, Expression, ExpressionKind, NodeTest, Operator, OperatorId, OperatorKind, Plan, SlotId, node_test,
};
use exec::OperatorProfile;
use model::meter::Wait;

use super::PlanLine;
use super::waterfall::{PartKind, Waterfall, operator_name};
use crate::phases::Phase;

/// Figures that rules look at.
pub(crate) struct Evidence<'e> {
    pub(crate) waterfall: &'e Waterfall,
    pub(crate) lines: &'e [PlanLine],
    /// Scans whose nodes a condition picks.
    pub(crate) scans: Vec<PickedScan>,
}

/// A scan of a label whose nodes a filter picks by a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PickedScan {
    /// Places of scan and filter among the lines.
    pub(crate) scan: usize,
    pub(crate) filter: usize,
    pub(crate) variable: Arc<str>,
    pub(crate) label: Arc<str>,
    pub(crate) key: Arc<str>,
    /// True if the filter has no other condition.
    pub(crate) is_only_condition: bool,
}

/// A rule: its finding is told if what it measures is at least `least`.
struct Rule {
    name: &'static str,
    least: f64,
    find: fn(&Evidence<'_>) -> Option<(f64, String)>,
}

/// Rules, in the order in which they are tried. Most measure a share of the whole.
const RULES: &[Rule] = &[
    Rule { name: "queue", least: 0.3, find: queue },
    Rule { name: "lock", least: 0.3, find: lock },
    Rule { name: "retry", least: 0.3, find: retry },
    Rule { name: "log", least: 0.3, find: log },
    Rule { name: "source asked often", least: 0.3, find: source_often },
    Rule { name: "source", least: 0.3, find: source },
    Rule { name: "spill", least: 0.3, find: spill },
    Rule { name: "disk", least: 0.3, find: disk },
    Rule { name: "deliver", least: 0.5, find: deliver },
    Rule { name: "records", least: 0.5, find: records },
    Rule { name: "compile", least: 0.5, find: compile },
    Rule { name: "index", least: 0.3, find: index },
    Rule { name: "estimate", least: 100.0, find: estimate },
    Rule { name: "unexplained", least: 0.5, find: unexplained },
    Rule { name: "largest", least: 0.0, find: largest },
];

/// Round trips from which on their number, not their length, is what costs.
const ROUND_TRIPS_MANY: u64 = 100;
/// Nodes of a scan, and part of them that a filter lets through, for which an index pays.
const SCANNED_MIN: u64 = 1_000;
const PICKED_SHARE_MAX: f64 = 0.1;
/// Factor from which on an estimate is shown to be off.
pub(crate) const FACTOR_SHOWN: f64 = 10.0;

/// The sentence of the first rule that holds.
pub(crate) fn finding(evidence: &Evidence<'_>) -> String {
    let found = RULES.iter().find_map(|rule| told(rule, evidence));
    found.unwrap_or_else(|| "no time has passed".to_owned())
}

fn told(rule: &Rule, evidence: &Evidence<'_>) -> Option<String> {
    let (measure, sentence) = (rule.find)(evidence)?;
    debug_assert!(!rule.name.is_empty() && measure.is_finite(), "{} measures a number", rule.name);
    (measure >= rule.least).then_some(sentence)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

impl Evidence<'_> {
    fn of(&self, kind: PartKind) -> f64 {
        self.waterfall.share(self.waterfall.ns(kind))
    }

    fn wait(&self, wait: Wait) -> f64 {
        self.of(PartKind::Wait(wait))
    }

    /// The operator with the most of something, and how much.
    fn most(&self, measure: fn(&OperatorProfile) -> u64) -> Option<(&PlanLine, u64)> {
        let measured = self.lines.iter().filter_map(|line| Some((line, measure(line.actual.as_ref()?))));
        measured.max_by_key(|(_, measure)| *measure).filter(|(_, measure)| *measure > 0)
    }

    fn sum(&self, measure: fn(&OperatorProfile) -> u64) -> u64 {
        self.lines.iter().filter_map(|line| line.actual.as_ref()).map(measure).sum()
    }
}

fn queue(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.wait(Wait::Queue);
    let remedy = "raise its priority, or run fewer statements at a time";
    Some((share, format!("{} was spent waiting for statements that come first: {remedy}", percent(share))))
}

fn lock(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.wait(Wait::Lock);
    let remedy = "write from fewer sessions at a time, or in smaller transactions";
    Some((share, format!("{} was spent waiting for other transactions: {remedy}", percent(share))))
}

fn retry(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.of(PartKind::Phase(Phase::Retry));
    let remedy = "let statements that run at the same time write different nodes";
    Some((share, format!("{} are attempts that another transaction came before: {remedy}", percent(share))))
}

fn log(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.wait(Wait::Log);
    let remedy = "group writes in one transaction, or open the store with relaxed durability";
    Some((share, format!("{}: the commit waited for the disk: {remedy}", percent(share))))
}

fn source_often(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let trips = evidence.sum(|actual| actual.storage.round_trips);
    let (line, most) = evidence.most(|actual| actual.storage.round_trips)?;
    let share = evidence.wait(Wait::Source);
    let remedy = "PRELOAD what is read again and again, or copy it into the store";
    let sentence = format!(
        "{} is the source, which was asked {trips} times, {most} of them by {}: {remedy}",
        percent(share),
        operator_name(line)
    );
    (trips >= ROUND_TRIPS_MANY).then_some((share, sentence))
}

fn source(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.wait(Wait::Source);
    let (line, _) = evidence.most(|actual| actual.wall_waits.of(Wait::Source))?;
    let trips = evidence.sum(|actual| actual.storage.round_trips);
    let remedy = "see the statements that EXPLAIN shows, and the indexes that serve them there";
    let name = operator_name(line);
    Some((
        share,
        format!("{} is the source's answer to {trips} questions, most of it to {name}: {remedy}", percent(share)),
    ))
}

fn spill(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.wait(Wait::Spill);
    let (line, bytes) = evidence.most(|actual| actual.spilled_bytes)?;
    let remedy = "raise the memory limit of queries (query_memory_max, --query-memory)";
    let name = operator_name(line);
    Some((share, format!("{} is temporary files: {name} wrote {bytes} bytes: {remedy}", percent(share))))
}

fn disk(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.wait(Wait::Disk) + evidence.wait(Wait::Verify);
    let (line, _) = evidence.most(|actual| actual.wall_waits.of(Wait::Disk) + actual.wall_waits.of(Wait::Verify))?;
    let blocks = evidence.sum(|actual| actual.storage.block_misses);
    let remedy = "if it is the same when run again, the working set is larger than the cache: raise memory_limit";
    let name = operator_name(line);
    Some((share, format!("{}: {blocks} blocks came from disk, most of them for {name}; {remedy}", percent(share))))
}

fn deliver(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.of(PartKind::Phase(Phase::Deliver));
    let remedy = "ask for fewer rows or columns, or take them faster";
    Some((share, format!("{} was taken by the consumer of the rows: {remedy}", percent(share))))
}

fn records(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.of(PartKind::Phase(Phase::Records));
    let remedy = "return the properties that are needed instead of whole nodes and relationships";
    Some((share, format!("{} is reading the nodes and relationships of the result: {remedy}", percent(share))))
}

fn compile(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let phases = [Phase::Parse, Phase::Bind, Phase::Plan, Phase::Prepare];
    let share = phases.iter().map(|&phase| evidence.of(PartKind::Phase(phase))).sum();
    let remedy = "give values as parameters ($name), so that the plan is found in the cache the next time";
    Some((share, format!("{} is compiling: {remedy}", percent(share))))
}

fn index(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let figures = |at: usize| evidence.lines[at].actual.unwrap_or_default();
    let pays = |scan: &&PickedScan| {
        let (scanned, picked) = (figures(scan.scan).rows, figures(scan.filter).rows);
        scanned >= SCANNED_MIN && picked as f64 <= PICKED_SHARE_MAX * scanned as f64
    };
    let wall = |scan: &PickedScan| figures(scan.scan).wall_ns + figures(scan.filter).wall_ns;
    let scan = evidence.scans.iter().filter(pays).max_by_key(|scan| wall(scan))?;
    let PickedScan { variable, label, key, .. } = scan;
    let (share, scanned, picked) =
        (evidence.waterfall.share(wall(scan)), figures(scan.scan).rows, figures(scan.filter).rows);
    let sentence = format!(
        "{} is NodeScan :{label} with a condition on {variable}.{key}, which {picked} of {scanned} nodes meet: \
         CREATE INDEX FOR ({variable}:{label}) ON ({variable}.{key}) would seek them",
        percent(share)
    );
    Some((share, sentence))
}

/// Factor by which an estimate is off, and true if more rows came than were expected.
pub(crate) fn estimate_factor(line: &PlanLine) -> Option<(f64, bool)> {
    // One that did not run, as those below a pattern that a store matched, says nothing of its estimate.
    let actual = line.actual.filter(|actual| actual.time_ns > 0 || actual.rows > 0)?;
    let rows = (actual.rows as f64).max(1.0);
    let expected = line.estimated_rows.max(1.0);
    let is_more = rows > expected;
    Some((if is_more { rows / expected } else { expected / rows }, is_more))
}

fn estimate(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let factors = evidence.lines.iter().filter_map(|line| Some((line, estimate_factor(line)?.0)));
    // The lowest operator: those above rest on it.
    let (line, factor) = factors.rev().find(|(_, factor)| *factor >= 100.0)?;
    let (expected, rows) = (line.estimated_rows, line.actual?.rows);
    let sentence = format!(
        "the estimate is off ×{factor:.0} at {}: {expected:.0} rows were expected, {rows} came; if another order is better, \
         USING INDEX or USING SCAN says where to begin",
        operator_name(line)
    );
    Some((factor, sentence))
}

fn unexplained(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let share = evidence.of(PartKind::Unexplained);
    Some((share, format!("{} is in no part: the work around so short a statement", percent(share))))
}

fn largest(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let part = evidence.waterfall.parts.iter().max_by_key(|part| part.ns).filter(|part| part.ns > 0)?;
    let share = evidence.waterfall.share(part.ns);
    Some((share, format!("{} is {}; nothing stands out that would change it", percent(share), part.name)))
}

/// The scans of a plan whose nodes a filter right above picks by a property that an index could seek.
pub(crate) fn picked_scans(plan: &Plan, ids: &[OperatorId]) -> Vec<PickedScan> {
    let place = |operator: &Operator| ids.iter().position(|&id| id == operator.id);
    let (mut found, mut operators) = (Vec::new(), vec![&plan.root]);
    while let Some(operator) = operators.pop() {
        operators.extend(operator.inputs());
        let OperatorKind::Filter { input, predicate } = &operator.kind else { continue };
        let OperatorKind::NodeScan { slot, labels, .. } = &input.kind else { continue };
        let Some(info) = plan.slots.get(slot.0 as usize) else { continue };
        if let (Some(label), Some(key)) = (labels.first().or(info.covered_label.as_ref()), sought_key(predicate, *slot))
            && let (Some(scan), Some(filter)) = (place(input), place(operator))
        {
            let (variable, label) = (info.name.clone(), label.clone());
            let is_only_condition = labels.len() <= 1 && !matches!(predicate.kind, ExpressionKind::And(_));
            found.push(PickedScan { scan, filter, variable, label, key, is_only_condition });
        }
    }
    found
}

/// The property of a node for whose comparison with a value an index serves.
fn sought_key(predicate: &Expression, node: SlotId) -> Option<Arc<str>> {
    if let ExpressionKind::And(conditions) = &predicate.kind {
        return conditions.iter().find_map(|condition| sought_key(condition, node));
    }
    match node_test(predicate, node)? {
        NodeTest::Compare { key, operator, is_negated: false, .. } => {
            let is_scanned =
                matches!(operator, BinaryOperator::NotEqual | BinaryOperator::EndsWith | BinaryOperator::Contains);
            (!is_scanned).then(|| key.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
