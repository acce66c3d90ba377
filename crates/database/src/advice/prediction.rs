//! Prediction: the time of a plan, from what the operators of another plan of the same statement took.
//!
//! An operator that both plans have takes what it took, less if fewer rows come to it. One that only the new plan has takes the unit costs of
//! its work ([`costs`]), times the factor by which units were off for the present plan; by a rewrite alone, for the operator of that name that
//! it replaces. The rest of the time (compiling, giving rows) stays. `knot advise --verify` says how near
//! that comes.

use std::sync::Arc;

use cypher::plan::{OperatorId, OperatorKind, Plan, explain};
use model::{Direction, Map, ReadView, Schema, Statistics, Subject};

use super::candidate::Candidate;
use super::{PredictedTime, Recommendation, Remedy};
use crate::costs::{self, Rows, SORT_EDGE_NS, Sizes, Unit, WRITE_ENTRY_NS, WRITE_SORTED_NS};
use crate::plan_report::{PlanReport, picked_scans};

/// Bytes of an entry besides its keys; of a number; of a text of unknown length.
const ENTRY_BYTES: u64 = 5;
const NUMBER_BYTES: u64 = 9;
const TEXT_BYTES: u64 = 16;
/// Limits of the factor between unit costs and this machine.
const FACTOR: std::ops::RangeInclusive<f64> = 0.2..=5.0;
/// The same of one operator, whose units may be far off: for a node with many edges, or a condition that few rows meet.
const OPERATOR_FACTOR: std::ops::RangeInclusive<f64> = 0.02..=100.0;

/// An operator of the present plan.
#[derive(Clone, Debug)]
struct Line {
    name: &'static str,
    details: String,
    rows_in: f64,
    rows: f64,
    /// Rows that were expected.
    expected: f64,
    ns: f64,
    /// Nanoseconds by unit costs.
    modelled_ns: f64,
}

impl Line {
    /// Nanoseconds for one of its unit costs.
    fn factor(&self) -> Option<f64> {
        let is_known = self.ns > 0.0 && self.modelled_ns > 0.0;
        is_known.then(|| (self.ns / self.modelled_ns).clamp(*OPERATOR_FACTOR.start(), *OPERATOR_FACTOR.end()))
    }
}

/// The present plan of a statement, and what it takes.
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    plan: Arc<Plan>,
    lines: Vec<Line>,
    /// Nodes, or edges, that conditions on one property were seen to leave, by label or type and property.
    picked: Map<(Arc<str>, Arc<str>), f64>,
    picked_edges: Map<(Arc<str>, Arc<str>), f64>,
    /// Nanoseconds in all.
    pub(crate) total_ns: f64,
    /// Nanoseconds of an operator on this machine for one of its unit cost.
    factor: f64,
}

impl Basis {
    /// A plan that was run: its profile, and the time it took without one.
    pub(crate) fn measured(plan: Arc<Plan>, report: &PlanReport, total_ns: f64, view: &dyn ReadView) -> Basis {
        let rows: Vec<f64> =
            report.lines.iter().map(|line| line.actual.map_or(0.0, |actual| actual.rows as f64)).collect();
        let mut lines = lines(&plan, &rows, view);
        let modelled: f64 = lines.iter().map(|line| line.ns).sum();
        let profiled: f64 =
            report.lines.iter().filter_map(|line| line.actual).map(|actual| actual.wall_ns as f64).sum();
        // Operators have the same share of both times, however busy the machine was in either; and the clock of a profile takes time of
        // its own.
        let scale = total_ns / profiled.max(report.whole_ns() as f64).max(1.0);
        for (line, told) in lines.iter_mut().zip(&report.lines) {
            line.ns = told.actual.map_or(0.0, |actual| actual.wall_ns as f64) * scale;
        }
        let factor = (profiled * scale / modelled.max(1.0)).clamp(*FACTOR.start(), *FACTOR.end());
        let ids: Vec<_> = explain::rows(&plan).iter().map(|row| row.id).collect();
        let mut picked = Map::default();
        for scan in picked_scans(&plan, &ids).into_iter().filter(|scan| scan.is_only_condition) {
            picked.insert((scan.label, scan.key), rows.get(scan.filter).copied().unwrap_or_default());
        }
        let picked_edges = picked_edges(&plan, &ids, &rows);
        Basis { plan, lines, picked, picked_edges, total_ns, factor }
    }

    /// A plan that was not run: what it takes by unit costs.
    pub(crate) fn estimated(plan: Arc<Plan>, view: &dyn ReadView) -> Basis {
        let rows: Vec<f64> = explain::rows(&plan).iter().map(|row| row.estimated_rows).collect();
        let lines = lines(&plan, &rows, view);
        let total_ns = lines.iter().map(|line| line.ns).sum();
        Basis { plan, lines, picked: Map::default(), picked_edges: Map::default(), total_ns, factor: 1.0 }
    }

    /// An estimate of the nodes or relationships that the statement writes and that an index or sort key holds.
    pub(super) fn rows_written(&self, candidate: &Candidate) -> f64 {
        let mut written = 0.0;
        self.plan.root.each(&mut |operator| {
            if writes(&operator.kind, candidate) {
                written += operator.estimated_rows.max(1.0);
            }
        });
        written
    }
}

/// True if an operator writes what an index or sort key holds.
fn writes(kind: &OperatorKind, candidate: &Candidate) -> bool {
    match kind {
        OperatorKind::Create { edges, .. } | OperatorKind::Merge { edges, .. } if candidate.is_on_edges() => {
            edges.iter().any(|edge| edge.edge_type == *candidate.subject())
        }
        OperatorKind::Create { nodes, .. } | OperatorKind::Merge { nodes, .. } => {
            nodes.iter().any(|node| node.labels.contains(candidate.subject()))
        }
        OperatorKind::Set { .. } | OperatorKind::Delete { .. } => true,
        _ => false,
    }
}

/// The operators of a plan that gives these rows, each with its unit costs.
fn lines(plan: &Plan, rows: &[f64], view: &dyn ReadView) -> Vec<Line> {
    let told = explain::rows(plan);
    let rows_of = |at: usize| rows.get(at).copied().unwrap_or_default();
    let came: Map<OperatorId, f64> = told.iter().enumerate().map(|(at, row)| (row.id, rows_of(at))).collect();
    let sizes = Sizes { schema: view.schema(), statistics: view.estimates() };
    let mut ns: Map<OperatorId, f64> = Map::default();
    let came = |id| came.get(&id).copied().unwrap_or_default();
    costs::each(plan, Rows::Came(&came), sizes, &mut |id, work| *ns.entry(id).or_default() += work.ns());
    let line = |(at, row): (usize, &explain::PlanRow)| {
        let ns = ns.get(&row.id).copied().unwrap_or_default();
        Line {
            name: row.operator,
            details: row.details.clone(),
            rows_in: inputs(&told, at).map(rows_of).sum(),
            rows: rows_of(at),
            expected: row.estimated_rows,
            ns,
            modelled_ns: ns,
        }
    };
    told.iter().enumerate().map(line).collect()
}

/// Edges that the conditions on one property leave, where all edges of a type were looked at and nothing else was asked.
fn picked_edges(plan: &Plan, ids: &[OperatorId], rows: &[f64]) -> Map<(Arc<str>, Arc<str>), f64> {
    let mut picked = Map::default();
    plan.root.each(&mut |operator| {
        let OperatorKind::Expand { input, types, direction, choice: Some(choice), into: false, .. } = &operator.kind
        else {
            return;
        };
        let is_of_all = matches!(&input.kind, OperatorKind::NodeScan { input, labels, choice: None, .. }
            if labels.is_empty() && matches!(input.kind, OperatorKind::Unit));
        let mut keys = choice.conditions.iter().chain(&choice.tests).map(|condition| &condition.key);
        let (Some(key), [edge_type]) = (keys.next(), &types[..]) else { return };
        let is_only = keys.all(|other| other == key) && choice.first.is_none() && *direction != Direction::Both;
        if let (true, true, Some(at)) = (is_of_all, is_only, ids.iter().position(|&id| id == operator.id)) {
            picked.insert((edge_type.clone(), key.clone()), rows.get(at).copied().unwrap_or_default());
        }
    });
    picked
}

/// Nanoseconds that a statement takes by another plan.
pub(super) fn predict(basis: &Basis, plan: &Plan, candidate: Option<&Candidate>, view: &dyn ReadView) -> f64 {
    let told = explain::rows(plan);
    let mut left: Vec<Option<&Line>> = basis.lines.iter().map(Some).collect();
    let same: Vec<Option<&Line>> = told
        .iter()
        .map(|row| {
            let fits = |line: &Option<&Line>| {
                line.is_some_and(|line| line.name == row.operator && line.details == row.details)
            };
            left.iter().position(fits).and_then(|at| left[at].take())
        })
        .collect();
    let replaced: Vec<Option<&Line>> = told
        .iter()
        .zip(&same)
        .map(|(row, same)| {
            let has_its_name = |line: &Option<&Line>| line.is_some_and(|line| line.name == row.operator);
            let at = if same.is_none() { left.iter().position(has_its_name) } else { None };
            at.and_then(|at| left[at].take())
        })
        .collect();
    // Another text gives the same rows from the same edges, so what was off stays off. An index or a sort key is there to change that.
    let is_rewrite = candidate.is_none();
    let corrected = if is_rewrite { &replaced[..] } else { &[] };
    let rows = rows_of(&told, &same, corrected, candidate.and_then(|candidate| picked(basis, candidate)));
    let new = lines(plan, &rows, view);
    let operators: f64 = new
        .iter()
        .zip(same.iter().zip(&replaced))
        .map(|(line, (same, replaced))| match same {
            Some(before) if before.rows_in > 0.0 => before.ns * (line.rows_in / before.rows_in).min(1.0),
            Some(before) => before.ns,
            None => line.ns * replaced.filter(|_| is_rewrite).and_then(Line::factor).unwrap_or(basis.factor),
        })
        .sum();
    let of_operators: f64 = basis.lines.iter().map(|line| line.ns).sum();
    (basis.total_ns - of_operators).max(0.0) + operators
}

/// The rows that the operators of a plan give. One that was there gives what it gave; of a seek it may be known what it gives; of the rest
/// the estimate is taken, in proportion to what comes in, and corrected as that of the operator was that it replaces.
fn rows_of(
    told: &[explain::PlanRow],
    same: &[Option<&Line>],
    replaced: &[Option<&Line>],
    known: Option<f64>,
) -> Vec<f64> {
    let mut rows = vec![0.0; told.len()];
    for at in (0..told.len()).rev() {
        let row = &told[at];
        rows[at] = match same[at] {
            Some(line) => line.rows,
            None => {
                let inputs: Vec<usize> = inputs(told, at).collect();
                let come: f64 = inputs.iter().map(|&input| rows[input]).sum();
                let expected: f64 = inputs.iter().map(|&input| told[input].estimated_rows).sum();
                let is_seek = row.operator.starts_with("NodeIndex") || row.operator.starts_with("EdgeIndex");
                let before = replaced.get(at).copied().flatten().filter(|line| line.expected > 0.0);
                let off = before.map_or(1.0, |line| line.rows / line.expected);
                let estimate = row.estimated_rows * if expected > 0.0 { come / expected } else { 1.0 } * off;
                known.filter(|_| is_seek).unwrap_or(estimate)
            }
        };
    }
    rows
}

/// The places of the inputs of an operator.
fn inputs(told: &[explain::PlanRow], at: usize) -> impl Iterator<Item = usize> {
    let depth = told[at].depth;
    let below = (at + 1..told.len()).take_while(move |&other| told[other].depth > depth);
    below.filter(move |&other| told[other].depth == depth + 1)
}

/// Nodes or edges that a seek by the candidate alone finds, where the present plan has shown it.
fn picked(basis: &Basis, candidate: &Candidate) -> Option<f64> {
    match candidate {
        Candidate::Index { on_edges, subject, keys } if keys.len() == 1 => {
            let picked = if *on_edges { &basis.picked_edges } else { &basis.picked };
            picked.get(&(subject.clone(), keys[0].clone())).copied()
        }
        _ => None,
    }
}

/// Nodes or relationships that an index or sort key would hold.
fn entries(candidate: &Candidate, schema: &Schema, statistics: &Statistics) -> u64 {
    match candidate.subject_in(schema) {
        Some(Subject::EdgeType(edge_type)) => statistics.edge_type(edge_type),
        Some(Subject::Label(label)) => {
            let shares = candidate.keys().iter().map(|key| {
                let place = schema.property_key(key).map(|key| (label, key));
                let values = statistics.sketches.as_ref().zip(place).and_then(|(held, place)| held.values.get(&place));
                values.map_or(1.0, |values| values.present_share())
            });
            (statistics.label(label) as f64 * shares.fold(1.0, f64::min)).round() as u64
        }
        None => 0,
    }
}

/// Bytes of the keys of an entry.
fn key_bytes(candidate: &Candidate, schema: &Schema, statistics: &Statistics) -> u64 {
    let of_key = |key: &Arc<str>| {
        let place = match candidate.subject_in(schema) {
            Some(Subject::Label(label)) => schema.property_key(key).map(|key| (label, key)),
            _ => None,
        };
        let values = statistics.sketches.as_ref().zip(place).and_then(|(held, place)| held.values.get(&place));
        if values.is_some_and(|values| values.numbers.is_some()) { NUMBER_BYTES } else { TEXT_BYTES }
    };
    candidate.keys().iter().map(of_key).sum()
}

/// Nanoseconds by which each write of an entry takes longer.
pub(super) fn write_ns(candidate: &Candidate) -> f64 {
    match candidate {
        Candidate::Index { keys, .. } => WRITE_ENTRY_NS * keys.len() as f64,
        Candidate::Unique { .. } => WRITE_ENTRY_NS,
        Candidate::SortKey { .. } => WRITE_SORTED_NS,
    }
}

/// A candidate with what it costs.
pub(super) fn costs(
    candidate: Candidate,
    times: Vec<PredictedTime>,
    schema: &Schema,
    statistics: &Statistics,
) -> Recommendation {
    let entries = entries(&candidate, schema, statistics);
    let (bytes, build) = match &candidate {
        Candidate::Index { .. } | Candidate::Unique { .. } => (
            entries * (ENTRY_BYTES + key_bytes(&candidate, schema, statistics)),
            Unit::IndexEntry.ns() * candidate.keys().len() as f64,
        ),
        Candidate::SortKey { .. } => (0, SORT_EDGE_NS),
    };
    let write_ns = write_ns(&candidate);
    let premise = candidate.premise().map(|premise| premise.told);
    let remedy = Remedy::Schema(candidate);
    Recommendation { remedy, premise, times, entries, bytes, build_ns: entries as f64 * build, write_ns }
}
