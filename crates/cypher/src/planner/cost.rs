//! What the planner believes of sizes: rows of scans, degrees of nodes, shares of rows that pass a predicate.
//!
//! The store counts nodes by label and edges by type. Where it does not say which labels an edge type joins, the
//! planner takes the geometric mean of two extremes: that the type is spread over all nodes, or over this label only.

use std::sync::Arc;

use model::{Direction, Statistics};

use crate::binder::tree::{EdgeLength, GraphEdge};
use crate::catalog::CompileContext;
use crate::plan::{BinaryOperator, Expression, ExpressionKind, QuantifierKind, SlotId, SubqueryKind};

/// What is assumed of a store that is still empty, so that a plan made for it suits what comes.
const EMPTY_STORE_NODES: f64 = 1_000.0;
const EMPTY_STORE_LABEL: f64 = 100.0;
const EMPTY_STORE_DEGREE: f64 = 5.0;
/// Share of nodes that an equality with a property leaves, if nothing better is known.
const EQUALITY: f64 = 0.1;
/// How many edges a path without a limit is assumed to have beyond its least.
const OPEN_PATH_EDGES: u32 = 3;
/// More paths than this from one node are not told apart.
const PATHS_MAX: f64 = 1e7;

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

    /// Edges of one node that carries these labels.
    pub(super) fn degree(&self, labels: &[Arc<str>], direction: Direction, types: &[Arc<str>]) -> f64 {
        let edges = self.edges(types);
        let spread = edges / self.nodes();
        let gathered = if labels.is_empty() { spread } else { edges / self.labelled(labels).max(1.0) };
        let degree = (spread * gathered).sqrt();
        if direction == Direction::Both { 2.0 * degree } else { degree }
    }

    /// Matches of an edge pattern from one node.
    pub(super) fn fan_out(&self, edge: &GraphEdge, labels: &[Arc<str>]) -> f64 {
        let degree = self.degree(labels, edge.direction, &edge.types);
        match edge.length {
            EdgeLength::One => degree,
            EdgeLength::Shortest { .. } => 1.0,
            EdgeLength::Variable { min, max } => {
                let further = self.degree(&[], edge.direction, &edge.types);
                let max = max.unwrap_or(min.saturating_add(OPEN_PATH_EDGES)).min(min.saturating_add(8)).min(24);
                let paths = |length: u32| match length {
                    0 => 1.0,
                    length => degree * further.powi(length as i32 - 1),
                };
                (min..=max).map(paths).sum::<f64>().min(PATHS_MAX)
            }
        }
    }

    /// The share of rows for which a predicate is true.
    pub(super) fn selectivity<'l>(&self, predicate: &Expression, labels: &dyn Fn(SlotId) -> &'l [Arc<str>]) -> f64 {
        match &predicate.kind {
            ExpressionKind::And(items) => items.iter().map(|item| self.selectivity(item, labels)).product(),
            ExpressionKind::Or(items) => {
                1.0 - items.iter().map(|item| 1.0 - self.selectivity(item, labels)).product::<f64>()
            }
            ExpressionKind::Not(inner) => 1.0 - self.selectivity(inner, labels),
            ExpressionKind::Binary { operator, left, right } => match operator {
                BinaryOperator::Equal => self.equality(left, right, labels),
                BinaryOperator::In => {
                    let length = if let ExpressionKind::List(items) = &right.kind { items.len() as f64 } else { 10.0 };
                    (length * self.equality(left, right, labels)).min(1.0)
                }
                BinaryOperator::NotEqual => 0.9,
                BinaryOperator::StartsWith | BinaryOperator::EndsWith | BinaryOperator::Contains => 0.1,
                BinaryOperator::Matches => 0.2,
                _ => 0.3,
            },
            ExpressionKind::IsNull(_) => 0.1,
            ExpressionKind::IsNotNull(_) => 0.9,
            ExpressionKind::HasLabels { labels, .. } => self.label_share(labels, true),
            ExpressionKind::Literal(model::Value::Bool(true)) => 1.0,
            ExpressionKind::Literal(_) => 0.0,
            ExpressionKind::Quantifier { kind: QuantifierKind::All | QuantifierKind::None, .. } => 0.3,
            ExpressionKind::Subquery { kind: SubqueryKind::Exists, .. } => 0.5,
            _ => 0.5,
        }
    }

    fn equality<'l>(&self, left: &Expression, right: &Expression, labels: &dyn Fn(SlotId) -> &'l [Arc<str>]) -> f64 {
        let unique = |side: &Expression| {
            let (slot, key) = property_of_slot(side)?;
            let label = labels(slot).iter().find(|label| self.is_unique(label, key))?;
            Some(1.0 / self.label(label).max(1.0))
        };
        // Whoever made an index expects its values to tell much apart: about the root of what is there.
        let indexed = |side: &Expression| {
            let (slot, key) = property_of_slot(side)?;
            let label = labels(slot).iter().find(|label| self.is_indexed(label, key))?;
            Some((1.0 / self.label(label).max(1.0).sqrt()).min(EQUALITY))
        };
        let known = unique(left).or_else(|| unique(right)).or_else(|| indexed(left)).or_else(|| indexed(right));
        known.unwrap_or(EQUALITY)
    }

    fn is_indexed(&self, label: &str, key: &str) -> bool {
        let schema = self.context.schema;
        let (Some(label), Some(key)) = (schema.label(label), schema.property_key(key)) else { return false };
        schema.indexes.iter().any(|index| index.subject == model::Subject::Label(label) && index.keys[0] == key)
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

    /// How much dearer it is to follow edges that way.
    pub(super) fn direction_factor(&self, direction: Direction) -> f64 {
        let is_slow = direction != Direction::Out && !self.context.capabilities.expands_against_direction;
        if is_slow { 100.0 } else { 1.0 }
    }
}

/// `slot.key`.
pub(super) fn property_of_slot(expression: &Expression) -> Option<(SlotId, &Arc<str>)> {
    match &expression.kind {
        ExpressionKind::Property { object, key } => match object.kind {
            ExpressionKind::Slot(slot) => Some((slot, key)),
            _ => None,
        },
        _ => None,
    }
}
