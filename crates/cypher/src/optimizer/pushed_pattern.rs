//! Lets a store that joins and groups by itself, as an attached database does, match a pattern and group its matches.
//!
//! Before: groups, distinct values or properties of the matches of a pattern, whose nodes are found by labels and conditions
//! that are the same for all matches, and whose edges have one type and one direction each. After: a `PushedPattern` above
//! them, which runs them only where the store does not answer. A `Top` or `Limit` above tells it how many rows are enough,
//! and stays. Not where the pattern begins at a node that is looked up and few rows follow: these the cache of a source may
//! hold; nor for nodes of one label that are not grouped, which a scan gives.

use std::sync::Arc;

use model::pattern_query::{PatternColumn, PatternEdge, PatternTest};
use model::{Direction, Schema, Set, Span};

use super::node_choice::{conditions_of_seek, property_at};
use super::top;
use crate::catalog::CompileContext;
use crate::plan::conditions::{add_conjuncts, at, property_of_slot};
use crate::plan::node_choice::{is_constant, node_test};
use crate::plan::{
    Aggregate, BinaryOperator, Expression, ExpressionKind, IntersectLeg, LookupValue, Operator, OperatorKind,
    PushedFirst, PushedNode, PushedPattern, PushedValue, SlotId, SlotKind,
};
use crate::slots::Slots;

/// Rows that a pattern that begins at a node which is looked up may have without being pushed.
const FEW_ROWS: f64 = 100.0;

/// Puts a `PushedPattern` above the topmost operators of a plan that a store may carry out.
pub(super) fn push_all(operator: &mut Operator, slots: &mut Slots, context: &CompileContext<'_>) {
    project_below_order(operator, slots, context);
    if let Some(pattern) = pattern_of(operator, context) {
        operator.kind = OperatorKind::PushedPattern { input: Box::new(operator.clone()), pattern: Box::new(pattern) };
        return;
    }
    operator.inputs_mut().into_iter().for_each(|input| push_all(input, slots, context));
    push_first(operator);
}

/// Makes the projection of a pattern that is put in order by properties which it drops one below the order, so that all that is
/// read of the matches is known there.
fn project_below_order(operator: &mut Operator, slots: &mut Slots, context: &CompileContext<'_>) {
    let OperatorKind::Project { input, items } = &mut operator.kind else { return };
    let mut wanted = Set::default();
    items.iter().for_each(|(_, item)| item.free_slots(&mut wanted));
    let (OperatorKind::Top { input, keys, .. } | OperatorKind::Sort { input, keys }) = &mut input.kind else { return };
    let (below, computed) = match &input.kind {
        OperatorKind::Extend { input, items } => (&**input, items.as_slice()),
        _ => (&**input, &[][..]),
    };
    let mut wanted: Vec<SlotId> = wanted.into_iter().collect();
    wanted.sort_unstable();
    let value = |slot: SlotId| computed.iter().find(|(held, _)| *held == slot).map(|(_, value)| value.clone());
    let of_slot = |slot: SlotId| at(Span::default(), ExpressionKind::Slot(slot));
    let mut read: Vec<(SlotId, Expression)> =
        wanted.into_iter().map(|slot| (slot, value(slot).unwrap_or_else(|| of_slot(slot)))).collect();
    let mut ordered = Vec::with_capacity(keys.len());
    for key in keys.iter() {
        let slot = match key.expression.kind {
            ExpressionKind::Slot(slot) if read.iter().any(|(held, _)| *held == slot) => slot,
            _ if property_of_slot(&key.expression).is_none() => return,
            _ => {
                let slot = slots.unnamed(SlotKind::Any);
                read.push((slot, key.expression.clone()));
                slot
            }
        };
        ordered.push(slot);
    }
    let (id, estimated_rows) = (below.id, below.estimated_rows);
    let kind = OperatorKind::Project { input: Box::new(below.clone()), items: read };
    let projected = Operator { id, estimated_rows, kind };
    if pattern_of(&projected, context).is_some() {
        **input = projected;
        keys.iter_mut().zip(ordered).for_each(|(key, slot)| key.expression = of_slot(slot));
    }
}

/// Tells a pattern how many rows the operator above it wants.
fn push_first(operator: &mut Operator) {
    let Some((input, keys, limit)) = top::wanted(operator) else { return };
    let OperatorKind::PushedPattern { pattern, .. } = &mut input.kind else { return };
    let place = |slot: SlotId| pattern.columns.iter().position(|(held, _)| *held == slot);
    let order = keys.iter().map(|key| match key.expression.kind {
        ExpressionKind::Slot(slot) => Some((place(slot)?, key.descending)),
        _ => None,
    });
    if let Some(order) = order.collect::<Option<Vec<_>>>() {
        pattern.first = Some(PushedFirst { order, limit });
    }
}

/// The pattern, and what is made of its matches, if that is all that an operator and those below it do.
fn pattern_of(operator: &Operator, context: &CompileContext<'_>) -> Option<PushedPattern> {
    let schema = context.schema;
    let (input, items) = match &operator.kind {
        OperatorKind::Aggregate { input, .. } => match &input.kind {
            OperatorKind::Project { input, items } => (&**input, items.as_slice()),
            _ => (&**input, &[][..]),
        },
        OperatorKind::Distinct { input, slots } => match &input.kind {
            OperatorKind::Project { input, items } if items.len() == slots.len() => (&**input, items.as_slice()),
            _ => return None,
        },
        OperatorKind::Project { input, items } => (&**input, items.as_slice()),
        _ => return None,
    };
    let mut pattern = Pattern::of(schema);
    pattern.add(input)?;
    let is_small = pattern.is_looked_up && !pattern.intersects && most_rows(input) < FEW_ROWS;
    let is_matched = |label: &Arc<str>| schema.label(label).is_some_and(|label| schema.matched.contains(&label));
    let found = &pattern.found;
    if found.nodes.is_empty() || is_small || !found.nodes.iter().flat_map(|node| &node.labels).all(is_matched) {
        return None;
    }
    let is_grouped = !matches!(operator.kind, OperatorKind::Project { .. });
    let columns = match &operator.kind {
        OperatorKind::Aggregate { keys, aggregates, .. } => pattern.columns(items, keys, aggregates)?,
        _ => pattern.columns(&[], items, &[])?,
    };
    let found = PushedPattern { columns, is_grouped, ..pattern.found };
    // A match may be many times the rows that it is made of.
    let is_worth_it = is_grouped || input.estimated_rows <= rows_read(input, context);
    (is_worth_it && is_connected(&found) && !is_known_otherwise(&found)).then_some(found)
}

/// True if edges lead from each node of a pattern to all others, tests aside.
fn is_connected(pattern: &PushedPattern) -> bool {
    let mut reached = vec![false; pattern.nodes.len()];
    reached[0] = true;
    pattern.tests.iter().for_each(|test| reached[test.inner] = true);
    // As often as there are edges, at most, a further node is reached.
    for _ in &pattern.edges {
        for edge in &pattern.edges {
            let is_met = reached[edge.source] || reached[edge.target];
            (reached[edge.source], reached[edge.target]) = (is_met, is_met);
        }
    }
    reached.into_iter().all(|is_reached| is_reached)
}

/// The rows of nodes and edges that operators are expected to read, each edge once.
fn rows_read(operator: &Operator, context: &CompileContext<'_>) -> f64 {
    let edges_of = |types: &[Arc<str>]| {
        let known = types.iter().filter_map(|name| context.schema.edge_type(name));
        known.map(|of| context.statistics.edge_type(of) as f64).sum::<f64>()
    };
    let own = match &operator.kind {
        OperatorKind::Expand { types, .. } => operator.estimated_rows.min(edges_of(types)),
        OperatorKind::Intersect { legs, .. } => legs.iter().map(|leg| edges_of(&leg.types)).sum(),
        OperatorKind::Filter { .. } | OperatorKind::SemiApply { .. } => 0.0,
        _ => operator.estimated_rows,
    };
    own + operator.inputs().into_iter().map(|input| rows_read(input, context)).sum::<f64>()
}

/// True for what the store is asked for without a pattern: nodes of one scan, plain counts of nodes, and of edges.
fn is_known_otherwise(pattern: &PushedPattern) -> bool {
    let is_one_scan = pattern.nodes.len() == 1 && pattern.edges.is_empty();
    let is_bare = |node: &PushedNode| node.labels.is_empty() && node.conditions.is_empty();
    let is_one_type = pattern.edges.len() == 1 && pattern.tests.is_empty() && pattern.nodes.iter().all(is_bare);
    let counts = pattern.columns.iter().all(|(_, value)| *value == PushedValue::Column(PatternColumn::Matches));
    match pattern.is_grouped {
        true => counts && (is_one_scan || is_one_type),
        false => is_one_scan,
    }
}

/// The most rows that an operator of a pattern is expected to give.
fn most_rows(operator: &Operator) -> f64 {
    operator.inputs().into_iter().map(most_rows).fold(operator.estimated_rows, f64::max)
}

/// A pattern that is read off the operators that match it.
struct Pattern<'a> {
    schema: &'a Schema,
    found: PushedPattern,
    /// The slots of edges that have one, by their places.
    edges: Vec<Option<SlotId>>,
    /// True if a node is found by a unique property.
    is_looked_up: bool,
    /// True if lists of edges are intersected, which are longer than what comes of it.
    intersects: bool,
}

impl Pattern<'_> {
    fn of(schema: &Schema) -> Pattern<'_> {
        let (found, edges) = (PushedPattern::default(), Vec::new());
        Pattern { schema, found, edges, is_looked_up: false, intersects: false }
    }

    /// Adds what an operator and those below it match; `None` if it is more than can be told so.
    fn add(&mut self, operator: &Operator) -> Option<()> {
        match &operator.kind {
            OperatorKind::Unit => {}
            OperatorKind::NodeScan { input, slot, labels, choice: None } => {
                self.add(input)?;
                self.add_labels(*slot, labels);
            }
            OperatorKind::NodeLookup { input, slot, label, key, value } => {
                self.add(input)?;
                let (operator, value) = match value {
                    LookupValue::One(value) => (BinaryOperator::Equal, value),
                    LookupValue::Any(list) => (BinaryOperator::In, list),
                };
                if !is_constant(value) {
                    return None;
                }
                self.is_looked_up = true;
                let left = Box::new(property_at(*slot, key, value.span));
                let kind = ExpressionKind::Binary { operator, left, right: Box::new(value.clone()) };
                self.add_labels(*slot, std::slice::from_ref(label));
                self.add_condition(&at(value.span, kind))?;
            }
            OperatorKind::IndexSeek { input, slot, subject, .. } => {
                let conditions = conditions_of_seek(&operator.kind, self.schema)?;
                self.add(input)?;
                self.add_labels(*slot, std::slice::from_ref(subject));
                conditions.iter().try_for_each(|condition| self.add_condition(condition))?;
            }
            OperatorKind::Filter { input, predicate } => {
                self.add(input)?;
                let mut conjuncts = Vec::new();
                add_conjuncts(predicate.clone(), &mut conjuncts);
                conjuncts.iter().try_for_each(|conjunct| self.add_condition(conjunct))?;
            }
            OperatorKind::Expand { input, from, direction, types, edge, to, into: _, distinct_from, choice: None } => {
                self.add(input)?;
                let differs = distinct_from.iter().map(|slot| self.edges.iter().position(|held| *held == Some(*slot)));
                let differs: Vec<usize> = differs.collect::<Option<_>>()?;
                self.add_edge((*from, *to), *direction, types, *edge, &differs)?;
            }
            OperatorKind::Intersect { input, to, labels, legs } => {
                self.add(input)?;
                self.add_labels(*to, labels);
                self.intersects = true;
                let first = self.edges.len();
                legs.iter().try_for_each(|leg| self.add_leg(leg, *to, first))?;
            }
            OperatorKind::SemiApply { input, subplan, anti } => {
                self.add(input)?;
                self.add_test(subplan, *anti)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds the subplan that looks for an edge of a node, whose far end may have labels and conditions.
    fn add_test(&mut self, subplan: &Operator, is_absent: bool) -> Option<()> {
        let (mut below, mut conjuncts) = (subplan, Vec::new());
        while let OperatorKind::Filter { input, predicate } = &below.kind {
            add_conjuncts(predicate.clone(), &mut conjuncts);
            below = input;
        }
        let OperatorKind::Expand {
            input, from, direction, types, to, into: false, distinct_from, choice: None, ..
        } = &below.kind
        else {
            return None;
        };
        let is_plain = matches!(input.kind, OperatorKind::Argument { .. }) && distinct_from.is_empty();
        let near = self.place(*from).filter(|_| is_plain && self.place(*to).is_none())?;
        let inner = self.node(*to);
        let edge = pattern_edge((near, inner), *direction, types)?;
        self.found.tests.push(PatternTest { edge, inner, is_absent });
        conjuncts.iter().try_for_each(|conjunct| self.add_condition_on(inner, conjunct))
    }

    fn add_leg(&mut self, leg: &IntersectLeg, to: SlotId, first: usize) -> Option<()> {
        // Bound edges may be known by their ends alone.
        if !leg.distinct_from.is_empty() {
            return None;
        }
        let differs: Vec<usize> = leg.distinct_legs.iter().map(|&leg| first + leg).collect();
        self.add_edge((leg.from, to), leg.direction, &leg.types, leg.edge, &differs)
    }

    fn add_edge(
        &mut self,
        (from, to): (SlotId, SlotId),
        direction: Direction,
        types: &[Arc<str>],
        slot: Option<SlotId>,
        differs: &[usize],
    ) -> Option<()> {
        let (from, to) = (self.node(from), self.node(to));
        let edge = pattern_edge((from, to), direction, types)?;
        let place = self.edges.len();
        self.found.edges.push(edge);
        self.edges.push(slot);
        self.found.distinct.extend(differs.iter().map(|&other| (other, place)));
        Some(())
    }

    /// The place of the node of a slot, which is added if it is new.
    fn node(&mut self, slot: SlotId) -> usize {
        self.place(slot).unwrap_or_else(|| {
            self.found.nodes.push(PushedNode { slot, labels: Vec::new(), conditions: Vec::new() });
            self.found.nodes.len() - 1
        })
    }

    fn place(&self, slot: SlotId) -> Option<usize> {
        self.found.nodes.iter().position(|node| node.slot == slot)
    }

    fn add_labels(&mut self, slot: SlotId, labels: &[Arc<str>]) {
        let at = self.node(slot);
        let known = &mut self.found.nodes[at].labels;
        known.extend(labels.iter().filter(|label| !known.contains(label)).cloned().collect::<Vec<_>>());
    }

    /// Adds a condition on one node.
    fn add_condition(&mut self, condition: &Expression) -> Option<()> {
        let at = match &condition.kind {
            ExpressionKind::HasLabels { object, .. } => match object.kind {
                ExpressionKind::Slot(slot) => self.place(slot)?,
                _ => return None,
            },
            _ => self.found.nodes.iter().position(|node| node_test(condition, node.slot).is_some())?,
        };
        self.add_condition_on(at, condition)
    }

    /// Adds a condition on the node at a place.
    fn add_condition_on(&mut self, at: usize, condition: &Expression) -> Option<()> {
        let slot = self.found.nodes[at].slot;
        if let ExpressionKind::HasLabels { object, labels } = &condition.kind {
            let is_own = matches!(object.kind, ExpressionKind::Slot(of) if of == slot);
            return is_own.then(|| self.add_labels(slot, labels));
        }
        let schema = self.schema;
        let is_key = |key| schema.searchable.iter().any(|held| held.keys == [key]);
        let is_known = |key: &str| schema.property_key(key).is_some_and(is_key);
        node_test(condition, slot).filter(|test| test.is_about(&is_known))?;
        self.found.nodes[at].conditions.push(condition.clone());
        Some(())
    }

    /// The columns of rows; `items` are the slots that a projection computes before.
    fn columns(
        &self,
        items: &[(SlotId, Expression)],
        keys: &[(SlotId, Expression)],
        aggregates: &[Aggregate],
    ) -> Option<Vec<(SlotId, PushedValue)>> {
        let value = |expression: &Expression| self.value(items, expression);
        let mut columns = Vec::with_capacity(keys.len() + aggregates.len());
        for (slot, key) in keys {
            let column = match value(key)? {
                (at, Some(property)) => PatternColumn::Key(at, property),
                (at, None) => PatternColumn::Node(at),
            };
            columns.push((*slot, PushedValue::Column(column)));
        }
        for Aggregate { slot, function, distinct, arguments, .. } in aggregates {
            let value = match arguments.as_slice() {
                [] if &**function == "count" && !distinct => PushedValue::Column(PatternColumn::Matches),
                [argument] => aggregated(function, *distinct, value(argument)?)?,
                _ => return None,
            };
            columns.push((*slot, value));
        }
        Some(columns)
    }

    /// The node, or the property of a node, that an expression is.
    fn value(&self, items: &[(SlotId, Expression)], expression: &Expression) -> Option<(usize, Option<Arc<str>>)> {
        if let ExpressionKind::Slot(slot) = expression.kind {
            return match items.iter().find(|(held, _)| *held == slot) {
                // A projection that passes a slot on.
                Some((_, item)) if matches!(item.kind, ExpressionKind::Slot(of) if of == slot) => {
                    Some((self.place(slot)?, None))
                }
                Some((_, item)) => self.value(&[], item),
                None => Some((self.place(slot)?, None)),
            };
        }
        let (slot, key) = property_of_slot(expression)?;
        Some((self.place(slot)?, Some(key.clone())))
    }
}

/// An edge between two nodes, seen from the first.
fn pattern_edge((from, to): (usize, usize), direction: Direction, types: &[Arc<str>]) -> Option<PatternEdge<Arc<str>>> {
    let [of] = types else { return None };
    let (source, target) = match direction {
        Direction::Out => (from, to),
        Direction::In => (to, from),
        Direction::Both => return None,
    };
    Some(PatternEdge { of: of.clone(), source, target })
}

/// The value of an aggregate function of a node, or of its property.
fn aggregated(function: &str, distinct: bool, of: (usize, Option<Arc<str>>)) -> Option<PushedValue> {
    let (at, Some(property)) = of else {
        let counts_nodes = distinct && function == "count";
        return counts_nodes.then_some(PushedValue::Column(PatternColumn::DistinctNodes(of.0)));
    };
    Some(PushedValue::Column(match (function, distinct) {
        ("count", false) => PatternColumn::Count(at, property),
        ("count", true) => PatternColumn::DistinctCount(at, property),
        ("min", _) => PatternColumn::Min(at, property),
        ("max", _) => PatternColumn::Max(at, property),
        ("sum", false) => PatternColumn::Sum(at, property),
        ("avg", false) => return Some(PushedValue::Mean(at, property)),
        _ => return None,
    }))
}
