//! Estimates of sizes by the planner: rows of scans, degrees of nodes, selectivity of predicates.
//!
//! The store counts nodes by label and edges by type. Its sketches, where it has some, say which labels an edge type
//! joins and how many values a property has. They are applied to the current counts as shares. If the store does not
//! say which labels an edge type joins, the planner takes the geometric mean of two extremes: that the type is spread
//! over all nodes, or over this label only.

use std::sync::Arc;

use model::statistics::{LabelPair, Sketches, ValueSketch, degree_classes};
use model::{Direction, EdgeTypeId, LabelId, Statistics, Value};

use super::length::length_of;
use crate::binder::tree::{EdgeLength, GraphEdge};
use crate::catalog::CompileContext;
use crate::plan::conditions::property_of_slot;
use crate::plan::{BinaryOperator, Expression, ExpressionKind, QuantifierKind, SlotId, SubqueryKind};

/// Sizes that are assumed of a store that is still empty, so that a plan made for it suits the data that comes.
const EMPTY_STORE_NODES: f64 = 1_000.0;
const EMPTY_STORE_LABEL: f64 = 100.0;
const EMPTY_STORE_DEGREE: f64 = 5.0;
/// Share of nodes that an equality with a property leaves, if nothing better is known.
const EQUALITY: f64 = 0.1;
/// Less is not told apart from nothing: what no sample shows may be there all the same.
const LEAST_SHARE: f64 = 1e-6;
/// Number of edges that a path without a limit is assumed to have beyond its least, where paths do not become more with their length or
/// only their ends matter.
const OPEN_PATH_EDGES: u32 = 3;
/// Edges of the longest paths that are told apart.
const PATH_EDGES_MAX: u32 = 24;
/// The labels that are told apart at the ends of paths.
const LABELS_MAX: usize = 64;
/// More paths than this from one node are not told apart.
const PATHS_MAX: f64 = 1e7;

/// True if sketches tell of nodes with a label.
fn is_sketched(sketches: &Sketches, label: LabelId) -> bool {
    let is_of_pair = |&(source, target): &LabelPair| source == Some(label) || target == Some(label);
    sketches.values.keys().any(|&(of, _)| of == label)
        || sketches.edge_types.values().any(|sketch| sketch.pairs.keys().any(is_of_pair))
}

/// The labels that a slot is known to carry; nothing for what is not known to be a node.
pub(super) type LabelsOf<'f, 'l> = &'f dyn Fn(SlotId) -> Option<&'l [Arc<str>]>;

/// Estimates from the counts of one store.
#[derive(Clone, Copy)]
pub(super) struct CostModel<'a> {
    context: &'a CompileContext<'a>,
}

impl<'a> CostModel<'a> {
    pub(super) fn new(context: &'a CompileContext<'a>) -> CostModel<'a> {
        CostModel { context }
    }

    fn statistics(&self) -> &'a Statistics {
        self.context.statistics
    }

    fn is_empty(&self) -> bool {
        self.statistics().nodes == 0
    }

    /// Nodes in all.
    pub(super) fn nodes(&self) -> f64 {
        if self.is_empty() { EMPTY_STORE_NODES } else { self.statistics().nodes as f64 }
    }

    fn label(&self, label: &str) -> f64 {
        if self.is_empty() {
            return EMPTY_STORE_LABEL;
        }
        self.context.schema.label(label).map_or(0.0, |label| self.statistics().label(label) as f64)
    }

    /// Nodes that carry all of the labels.
    pub(super) fn labelled(&self, labels: &[Arc<str>]) -> f64 {
        let mut counts: Vec<f64> = labels.iter().map(|label| self.label(label)).collect();
        counts.sort_by(f64::total_cmp);
        let Some(least) = counts.first() else { return self.nodes() };
        counts[1..].iter().fold(*least, |rows, count| rows * (count / self.nodes()).clamp(0.0, 1.0)).max(0.0)
    }

    /// The share of nodes that carry all of the labels, when an edge of a known type leads to them or not.
    pub(super) fn label_share(&self, labels: &[Arc<str>], is_typed: bool) -> f64 {
        let share = (self.labelled(labels) / self.nodes()).clamp(0.0, 1.0);
        if is_typed { share.sqrt() } else { share }
    }

    /// Edges of any of the types; all if there are none.
    pub(super) fn edges(&self, types: &[Arc<str>]) -> f64 {
        if self.is_empty() {
            return EMPTY_STORE_NODES * EMPTY_STORE_DEGREE;
        }
        if types.is_empty() {
            return self.statistics().edges as f64;
        }
        let count =
            |name: &Arc<str>| self.context.schema.edge_type(name).map_or(0, |id| self.statistics().edge_type(id));
        types.iter().map(count).sum::<u64>() as f64
    }

    /// The ids of the types, all if there are none, with how many edges there are of each.
    fn edge_types(&self, types: &[Arc<str>]) -> Vec<(EdgeTypeId, f64)> {
        let schema = self.context.schema;
        let listed = types.iter().filter_map(|name| schema.edge_type(name));
        let all = (0..if types.is_empty() { schema.edge_types.len() as u32 } else { 0 }).map(EdgeTypeId);
        let counted = listed.chain(all).map(|id| (id, self.statistics().edge_type(id) as f64));
        counted.filter(|&(_, count)| count > 0.0).collect()
    }

    /// Edges of any of the types that go from nodes with the one labels to nodes with the other, as sketches tell. Of
    /// several labels of a node the one that leaves least decides.
    fn joined(&self, from: &[Arc<str>], direction: Direction, to: &[Arc<str>], types: &[Arc<str>]) -> Option<f64> {
        let sketches = self.statistics().sketches.as_ref()?;
        let (from, to) = (self.label_ids(from)?, self.label_ids(to)?);
        let mut edges = 0.0;
        for (id, count) in self.edge_types(types) {
            let sketch = sketches.edge_types.get(&id)?;
            let share = |is_out: bool| {
                let pairs = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
                let shares = pairs.map(|(from, to)| sketch.share(if is_out { (from, to) } else { (to, from) }));
                shares.fold(1.0, f64::min)
            };
            edges += match direction {
                Direction::Out => count * share(true),
                Direction::In => count * share(false),
                Direction::Both => count * (share(true) + share(false)),
            };
        }
        // Nodes that have got a label since the sketches were drawn may have any edges.
        let mut labels = from.iter().chain(&to).flatten();
        let is_unknown = edges == 0.0 && labels.any(|&label| !is_sketched(sketches, label));
        (!is_unknown).then_some(edges)
    }

    /// `None` alone if there is no label; nothing if the store does not know one.
    fn label_ids(&self, labels: &[Arc<str>]) -> Option<Vec<Option<LabelId>>> {
        if labels.is_empty() {
            return Some(vec![None]);
        }
        labels.iter().map(|label| self.context.schema.label(label).map(Some)).collect()
    }

    /// The share of the edges from nodes with some labels that lead to nodes with others; nothing where no sketch tells.
    pub(super) fn join_share(
        &self,
        from: &[Arc<str>],
        direction: Direction,
        to: &[Arc<str>],
        types: &[Arc<str>],
    ) -> Option<f64> {
        let all = self.joined(from, direction, &[], types)?;
        let wanted = self.joined(from, direction, to, types)?;
        (all > 0.0).then(|| (wanted / all).clamp(LEAST_SHARE, 1.0))
    }

    /// Edges of one node that carries these labels.
    pub(super) fn degree(&self, labels: &[Arc<str>], direction: Direction, types: &[Arc<str>]) -> f64 {
        if !labels.is_empty()
            && !self.is_empty()
            && let Some(edges) = self.joined(labels, direction, &[], types)
        {
            return (edges / self.labelled(labels).max(1.0)).max(LEAST_SHARE);
        }
        let edges = self.edges(types);
        let spread = edges / self.nodes();
        let gathered = if labels.is_empty() { spread } else { edges / self.labelled(labels).max(1.0) };
        let degree = (spread * gathered).sqrt();
        if direction == Direction::Both { 2.0 * degree } else { degree }
    }

    /// Edges that lead on from the node at the end of an edge of any direction, without the one that it was reached by: nodes are met as
    /// often as they have edges, so hubs are met first. Numbers of edges of each type and direction are taken to be independent.
    fn edges_beyond(&self, types: &[Arc<str>]) -> Option<f64> {
        let sketches = self.statistics().sketches.as_ref()?;
        let (mut edges, mut squares, mut squared_sums) = (0.0, 0.0, 0.0);
        for (id, _) in self.edge_types(types) {
            let sketch = sketches.edge_types.get(&id)?;
            for histogram in [&sketch.out_degrees, &sketch.in_degrees] {
                let of_side: f64 = degree_classes(histogram).map(|(nodes, degree)| nodes * degree).sum();
                squares += degree_classes(histogram).map(|(nodes, degree)| nodes * degree * degree).sum::<f64>();
                edges += of_side;
                squared_sums += of_side * of_side;
            }
        }
        let of_pairs = (edges * edges - squared_sums) / self.nodes();
        (edges > 0.0).then(|| ((squares + of_pairs) / edges - 1.0).max(LEAST_SHARE))
    }

    /// Edges that lead on from the node at the end of such an edge.
    fn degree_of_end(&self, direction: Direction, types: &[Arc<str>]) -> f64 {
        if direction == Direction::Both
            && let Some(edges) = self.edges_beyond(types)
        {
            return edges;
        }
        let (mut edges, mut further) = (0.0, 0.0);
        let names = &self.context.schema.labels;
        let names = (0..names.len().min(LABELS_MAX) as u32).filter_map(|number| names.name(number));
        for label in names.map(std::slice::from_ref) {
            let Some(leading) = self.joined(&[], direction, label, types) else {
                return self.degree(&[], direction, types);
            };
            edges += leading;
            further += leading * self.degree(label, direction, types);
        }
        if edges > 0.0 { further / edges } else { self.degree(&[], direction, types) }
    }

    /// Matches of an edge pattern from one node with these labels, walked that way.
    pub(super) fn fan_out(&self, edge: &GraphEdge, direction: Direction, labels: &[Arc<str>], only_ends: bool) -> f64 {
        let degree = self.degree(labels, direction, &edge.types);
        match edge.length {
            EdgeLength::One => degree,
            EdgeLength::Shortest { .. } => 1.0,
            EdgeLength::Variable { min, max } => {
                let further = self.degree_of_end(direction, &edge.types);
                let max = match max {
                    Some(max) => max.min(min.saturating_add(8)),
                    None if further > 1.0 && !only_ends => PATH_EDGES_MAX,
                    None => min.saturating_add(OPEN_PATH_EDGES),
                };
                let max = max.min(PATH_EDGES_MAX);
                let paths = |length: u32| match length {
                    0 => 1.0,
                    length => degree * further.powi(length as i32 - 1),
                };
                (min..=max).map(paths).sum::<f64>().min(PATHS_MAX)
            }
        }
    }

    /// The share of rows for which a predicate is true.
    pub(super) fn selectivity<'l>(&self, predicate: &Expression, labels: LabelsOf<'_, 'l>) -> f64 {
        match &predicate.kind {
            ExpressionKind::And(items) => {
                self.selectivities(&items.iter().collect::<Vec<_>>(), labels).into_iter().product()
            }
            ExpressionKind::Or(items) => {
                1.0 - items.iter().map(|item| 1.0 - self.selectivity(item, labels)).product::<f64>()
            }
            ExpressionKind::Not(inner) => 1.0 - self.selectivity(inner, labels),
            ExpressionKind::Binary { operator, left, right } => match operator {
                BinaryOperator::Equal => self.equality(left, right, labels),
                BinaryOperator::In => (length_of(right) * self.equality(left, right, labels)).min(1.0),
                BinaryOperator::NotEqual => 0.9,
                BinaryOperator::StartsWith | BinaryOperator::EndsWith | BinaryOperator::Contains => 0.1,
                BinaryOperator::Matches => 0.2,
                BinaryOperator::Less
                | BinaryOperator::LessOrEqual
                | BinaryOperator::Greater
                | BinaryOperator::GreaterOrEqual => self.bounded(predicate, labels).unwrap_or(0.3),
                _ => 0.3,
            },
            ExpressionKind::IsNull(_) => 0.1,
            ExpressionKind::IsNotNull(_) => 0.9,
            ExpressionKind::HasLabels { labels, .. } => self.label_share(labels, true),
            ExpressionKind::Literal(Value::Bool(true)) => 1.0,
            ExpressionKind::Literal(_) => 0.0,
            ExpressionKind::Quantifier { kind: QuantifierKind::All | QuantifierKind::None, .. } => 0.3,
            ExpressionKind::Subquery { kind: SubqueryKind::Exists, .. } => 0.5,
            _ => 0.5,
        }
    }

    /// The share of rows that each predicate leaves of those that the ones before it leave. Two bounds of one property are
    /// a range: by themselves they would leave the product of two shares, however close to each other they are.
    pub(super) fn selectivities<'l>(&self, predicates: &[&Expression], labels: LabelsOf<'_, 'l>) -> Vec<f64> {
        let mut shares: Vec<f64> = predicates.iter().map(|predicate| self.selectivity(predicate, labels)).collect();
        let bounds: Vec<Option<Bound<'_>>> = predicates.iter().map(|predicate| Bound::of(predicate)).collect();
        for (second, bound) in bounds.iter().enumerate() {
            let Some(bound) = bound else { continue };
            let mut before =
                bounds[..second].iter().enumerate().filter_map(|(place, bound)| Some((place, bound.as_ref()?)));
            let opposite = before.find(|(_, other)| other.of == bound.of && other.is_lower != bound.is_lower);
            let Some((first, other)) = opposite else { continue };
            let (lower, upper) = if bound.is_lower { (bound, other) } else { (other, bound) };
            let (slot, key) = bound.of;
            let of_label = |label: &Arc<str>| self.range_share(label, key, Some(lower.end), Some(upper.end));
            if let Some(share) = labels(slot).unwrap_or(&[]).iter().filter_map(of_label).reduce(f64::min) {
                shares[second] = (share / shares[first].max(LEAST_SHARE)).min(1.0);
            }
        }
        shares
    }

    fn equality<'l>(&self, left: &Expression, right: &Expression, labels: LabelsOf<'_, 'l>) -> f64 {
        let unique = |side: &Expression| {
            let (slot, key) = property_of_slot(side)?;
            let label = labels(slot)?.iter().find(|label| self.is_unique(label, key))?;
            Some(1.0 / self.label(label).max(1.0))
        };
        let sketched = |side: &Expression, other: &Expression| {
            let (slot, key) = property_of_slot(side)?;
            let share = |label: &str| self.share_of_value(label, key, other);
            match labels(slot)? {
                [] => self.share_of_all(key, share),
                labels => labels.iter().filter_map(|label| share(label)).reduce(f64::min),
            }
        };
        // An index suggests selective values: its distinct values are estimated as the square root of the nodes.
        let indexed = |side: &Expression| {
            let (slot, key) = property_of_slot(side)?;
            let label = labels(slot)?.iter().find(|label| self.is_indexed(label, key))?;
            Some((1.0 / self.label(label).max(1.0).sqrt()).min(EQUALITY))
        };
        let known =
            either(unique(left), unique(right)).or_else(|| either(sketched(left, right), sketched(right, left)));
        known.or_else(|| either(indexed(left), indexed(right))).unwrap_or(EQUALITY)
    }

    fn values(&self, label: &str, key: &str) -> Option<&'a ValueSketch> {
        let schema = self.context.schema;
        let place = (schema.label(label)?, schema.property_key(key)?);
        self.statistics().sketches.as_ref()?.values.get(&place)
    }

    /// The share of a label's nodes that have one certain value, as sketches tell.
    pub(super) fn equal_share(&self, label: &str, key: &str) -> Option<f64> {
        self.values(label, key).map(ValueSketch::equal_share)
    }

    /// The share of a label's nodes whose value is that of an expression; fewer for a number beyond all that were seen.
    fn share_of_value(&self, label: &str, key: &str, value: &Expression) -> Option<f64> {
        let end = Some(End { value, is_inclusive: true });
        let is_number = number(value).is_some();
        let of_range = is_number.then(|| self.range_share(label, key, end, end)).flatten();
        either(self.equal_share(label, key), of_range)
    }

    /// A share of all nodes, from that of the nodes of each label that has a sketch of the property. A node with several labels counts
    /// for each of them.
    fn share_of_all(&self, key: &str, of_label: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let (schema, statistics) = (self.context.schema, self.statistics());
        let property = schema.property_key(key)?;
        let values = &statistics.sketches.as_ref()?.values;
        let labels =
            (0..schema.labels.len() as u32).map(LabelId).filter(|&label| values.contains_key(&(label, property)));
        let of_label = |label| Some(of_label(schema.label_name(label))? * statistics.label(label) as f64);
        let nodes = labels.filter_map(of_label).reduce(|one, other| one + other)?;
        Some((nodes / self.nodes()).clamp(LEAST_SHARE, 1.0))
    }

    /// The share of a label's nodes whose value lies between two ends, as sketches tell of numbers that the query names.
    pub(super) fn range_share(
        &self,
        label: &str,
        key: &str,
        lower: Option<End<'_>>,
        upper: Option<End<'_>>,
    ) -> Option<f64> {
        let sketch = self.values(label, key)?;
        let (least, largest) = sketch.numbers?;
        let below = |end: Option<End<'_>>, all: f64| match end {
            Some(end) => sketch.below_share(number(end.value)?),
            None => Some(all),
        };
        let share = below(upper, 1.0)? - below(lower, 0.0)?;
        let is_beyond = lower.is_some_and(|end| end.leaves_none(largest, f64::gt))
            || upper.is_some_and(|end| end.leaves_none(least, f64::lt));
        if is_beyond {
            let now = self.context.schema.label(label).map_or(0, |label| self.statistics().label(label));
            return Some((sketch.present_share() * sketch.beyond_share(now)).max(LEAST_SHARE));
        }
        Some((share * sketch.present_share()).max(sketch.equal_share()).max(LEAST_SHARE))
    }

    /// The share of rows in which a property is on one side of a number.
    fn bounded<'l>(&self, predicate: &Expression, labels: LabelsOf<'_, 'l>) -> Option<f64> {
        let Bound { of: (slot, key), is_lower, end } = Bound::of(predicate)?;
        let (lower, upper) = if is_lower { (Some(end), None) } else { (None, Some(end)) };
        match labels(slot)? {
            [] => self.share_of_all(key, |label| self.range_share(label, key, lower, upper)),
            labels => labels.iter().filter_map(|label| self.range_share(label, key, lower, upper)).reduce(f64::min),
        }
    }

    fn is_indexed(&self, label: &str, key: &str) -> bool {
        let schema = self.context.schema;
        let (Some(label), Some(key)) = (schema.label(label), schema.property_key(key)) else { return false };
        let mut indexes = schema.indexes.iter().chain(&schema.searchable);
        indexes.any(|index| index.subject == model::Subject::Label(label) && index.keys[0] == key)
    }

    /// Names and rules.
    pub(super) fn schema(&self) -> &'a model::Schema {
        self.context.schema
    }

    /// True if the store can look up nodes of the label by the property.
    pub(super) fn is_unique(&self, label: &str, key: &str) -> bool {
        let schema = self.context.schema;
        match (schema.label(label), schema.property_key(key)) {
            (Some(label), Some(key)) => schema.unique(label, key).is_some(),
            _ => false,
        }
    }

    /// Factor by which it costs more to follow edges in that direction.
    pub(super) fn direction_factor(&self, direction: Direction) -> f64 {
        let is_slow = direction != Direction::Out && !self.context.capabilities.expands_against_direction;
        if is_slow { 100.0 } else { 1.0 }
    }
}

/// A predicate that bounds a property by a value.
struct Bound<'e> {
    of: (SlotId, &'e Arc<str>),
    is_lower: bool,
    end: End<'e>,
}

/// An end of a range.
#[derive(Clone, Copy)]
pub(super) struct End<'e> {
    pub(super) value: &'e Expression,
    pub(super) is_inclusive: bool,
}

impl End<'_> {
    /// True if no number as far as `extreme` is in the range, the end being beyond it.
    fn leaves_none(self, extreme: f64, is_beyond: fn(&f64, &f64) -> bool) -> bool {
        number(self.value).is_some_and(|it| is_beyond(&it, &extreme) || it == extreme && !self.is_inclusive)
    }
}

impl<'e> Bound<'e> {
    fn of(predicate: &'e Expression) -> Option<Bound<'e>> {
        let ExpressionKind::Binary { operator, left, right } = &predicate.kind else { return None };
        let (left_is_less, is_inclusive) = match operator {
            BinaryOperator::Less => (true, false),
            BinaryOperator::LessOrEqual => (true, true),
            BinaryOperator::Greater => (false, false),
            BinaryOperator::GreaterOrEqual => (false, true),
            _ => return None,
        };
        match (property_of_slot(left), property_of_slot(right)) {
            (Some(of), None) => Some(Bound { of, is_lower: !left_is_less, end: End { value: right, is_inclusive } }),
            (None, Some(of)) => Some(Bound { of, is_lower: left_is_less, end: End { value: left, is_inclusive } }),
            _ => None,
        }
    }
}

/// The lesser of two shares, so far as they are known.
fn either(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

fn number(expression: &Expression) -> Option<f64> {
    match expression.kind {
        ExpressionKind::Literal(Value::Int(number)) => Some(number as f64),
        ExpressionKind::Literal(Value::Float(number)) => Some(number),
        _ => None,
    }
}
