//! Aggregation across an edge, where of the nodes that edges lead to nothing is asked but labels and numbers.
//!
//! The labels and properties of these nodes are read once, for all of them, into arrays ([`far`]). Then edges are
//! followed in a loop that adds up, for each node that they start from; only the sums are brought to the groups. No row
//! is made for an edge.
//!
//! Cost: a place in an array for each edge and number. Memory: 8 bytes for each node id and number, an eighth of a byte
//! for labels. If that is refused, or the edges are fewer than the nodes, rows are aggregated as usual.

mod far;

use std::sync::Arc;

use cypher::plan::{
    Aggregate as PlanAggregate, Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId,
};
use model::store::EdgeIds;
use model::{Column, ColumnData, Direction, EdgeBatch, Result};

use super::Aggregate;
use super::spilled::Gathering;
use crate::adjacency::expansion;
use crate::aggregates::{Aggregator, Count, Total, Totals};
use crate::expression::CompiledExpression;
use crate::lowering::{Demand, Lowering, Slots, column_of, liveness};
use crate::memory::Charge;
use crate::operators::expand::choice::Choice;
use crate::parallel;
use crate::profile::At;
use crate::rows::nodes_in;
use crate::runtime::{Flow, Runtime, Scope, Step};
pub(super) use far::Far;

/// See the module.
pub(super) struct ThroughExpand {
    /// Gives the rows with the nodes that edges start from.
    input: Step,
    from: usize,
    direction: Direction,
    types: Vec<Arc<str>>,
    choice: Option<Choice>,
    /// Over rows of the input.
    keys: Vec<CompiledExpression>,
    /// Labels of the nodes that edges lead to.
    labels: Vec<Arc<str>>,
    /// Their properties that are added up.
    properties: Vec<Arc<str>>,
    /// For each function, which of the properties it takes; `None` where it counts edges.
    takes: Vec<Option<usize>>,
    /// The expansion and the filters above it, for profiles.
    expand: OperatorId,
    filters: Vec<OperatorId>,
    edges_expected: f64,
}

/// A plan of the right shape.
struct Shape<'p> {
    expand: &'p Operator,
    filters: Vec<OperatorId>,
    labels: Vec<Arc<str>>,
    properties: Vec<Arc<str>>,
    takes: Vec<Option<usize>>,
}

impl<'p> Shape<'p> {
    /// The shape of an aggregation, if all it reads of the end of its last edge are labels and numbers.
    fn of(input: &'p Operator, keys: &[(SlotId, Expression)], wanted: &[&PlanAggregate]) -> Option<Shape<'p>> {
        let (mut expand, mut filters, mut predicates) = (input, Vec::new(), Vec::new());
        while let OperatorKind::Filter { input, predicate } = &expand.kind {
            filters.push(expand.id);
            predicates.push(predicate);
            expand = input;
        }
        let OperatorKind::Expand { edge, to, into: false, distinct_from, choice, input: below, .. } = &expand.kind
        else {
            return None;
        };
        let takes_first = choice.as_ref().is_some_and(|choice| choice.first.is_some());
        if !distinct_from.is_empty() || takes_first || parallel::scan_pipeline(below).is_none() {
            return None;
        }
        let mut labels = Vec::new();
        if !predicates.iter().all(|predicate| add_labels(predicate, *to, &mut labels)) {
            return None;
        }
        let mut read = Slots::new();
        keys.iter().for_each(|(_, key)| liveness::add_expression(key, &mut read));
        if read.contains(to) || edge.is_some_and(|edge| read.contains(&edge)) {
            return None;
        }
        let (mut properties, mut takes) = (Vec::new(), Vec::new());
        for item in wanted {
            takes.push(taken(item, *to, &mut properties)?);
        }
        Some(Shape { expand, filters, labels, properties, takes })
    }
}

/// Adds the labels that a predicate asks of a node; false if it asks for anything else.
fn add_labels(predicate: &Expression, node: SlotId, labels: &mut Vec<Arc<str>>) -> bool {
    match &predicate.kind {
        ExpressionKind::And(items) => items.iter().all(|item| add_labels(item, node, labels)),
        ExpressionKind::HasLabels { object, labels: asked } if is_slot(object, node) => {
            labels.extend(asked.iter().cloned());
            true
        }
        _ => false,
    }
}

fn is_slot(expression: &Expression, slot: SlotId) -> bool {
    matches!(expression.kind, ExpressionKind::Slot(held) if held == slot)
}

/// The property that a function takes, by its place among all; the inner `None` where it takes rows.
fn taken(item: &PlanAggregate, node: SlotId, properties: &mut Vec<Arc<str>>) -> Option<Option<usize>> {
    if item.distinct {
        return None;
    }
    match (&*item.function, item.arguments.as_slice()) {
        ("count", []) => Some(None),
        ("count", [argument]) if is_slot(argument, node) => Some(None),
        ("count" | "sum" | "avg", [argument]) => {
            let ExpressionKind::Property { object, key } = &argument.kind else { return None };
            if !is_slot(object, node) {
                return None;
            }
            let known = properties.iter().position(|property| property == key);
            Some(Some(known.unwrap_or_else(|| {
                properties.push(key.clone());
                properties.len() - 1
            })))
        }
        _ => None,
    }
}

impl ThroughExpand {
    /// Lowers an aggregation of that shape beside the plain way.
    pub(super) fn lower(
        lowering: &mut Lowering,
        input: &Operator,
        keys: &[(SlotId, Expression)],
        wanted: &[&PlanAggregate],
    ) -> Result<Option<ThroughExpand>> {
        let Some(Shape { expand, filters, labels, properties, takes }) = Shape::of(input, keys, wanted) else {
            return Ok(None);
        };
        let OperatorKind::Expand { input, from, direction, types, choice, .. } = &expand.kind else { return Ok(None) };
        let mut slots = Slots::from([*from]);
        keys.iter().for_each(|(_, key)| liveness::add_expression(key, &mut slots));
        let (below, layout) = lowering.lower(input, &Demand::all(slots))?;
        let compiled = keys.iter().map(|(_, key)| lowering.compile(key, &layout));
        Ok(Some(ThroughExpand {
            input: below,
            from: column_of(&layout, *from)?,
            direction: *direction,
            types: types.clone(),
            keys: compiled.collect::<Result<_>>()?,
            choice: choice.as_deref().map(|choice| Choice::compile(lowering, choice)).transpose()?,
            labels,
            properties,
            takes,
            expand: expand.id,
            filters,
            edges_expected: expand.estimated_rows,
        }))
    }

    /// Reads the labels and properties of all nodes that edges may lead to; `None` where it does not pay or is refused.
    pub(super) fn far(&self, runtime: &Runtime<'_>, charge: &mut Charge<'_>) -> Result<Option<Far>> {
        let bound = {
            let view = runtime.view();
            if !view.view().capabilities().dense_node_ids || runtime.writes() || runtime.morsel.is_some() {
                return Ok(None);
            }
            view.view().node_id_bound()
        };
        if self.edges_expected < bound as f64 || charge.try_hold(Far::bytes(bound, self.properties.len())).is_err() {
            return Ok(None);
        }
        Far::of(runtime, &self.labels, &self.properties)
    }

    /// Takes all rows in, as [`Aggregate::accumulate`] does.
    pub(super) fn accumulate(
        &self,
        aggregate: &Aggregate,
        far: &Far,
        scope: Scope<'_, '_>,
        gathering: &mut Gathering<'_>,
    ) -> Result<()> {
        let runtime = scope.runtime;
        let interrupt = runtime.environment.interrupt;
        let mut batch = EdgeBatch::default();
        let mut sums = Sums::default();
        self.input.run(scope, &mut |chunk| {
            interrupt.check()?;
            let (from, rows) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
            let view = runtime.view();
            let Some(mut expand) = expansion(view.view(), self.direction, &self.types, EdgeIds::Omit) else {
                return Ok(Flow::Continue);
            };
            let context = runtime.evaluation(&view);
            if self.choice.as_ref().is_some_and(|choice| !choice.apply(view.view(), &context, &mut expand)) {
                return Ok(Flow::Continue);
            }
            sums.begin(from.len(), self.properties.len());
            let consumer = runtime.profiler.as_ref().map(|profiler| profiler.switch(At::Operator(self.expand)));
            let mut cursor = view.view().expand(&from, &expand)?;
            let (mut followed, mut kept) = (0, 0);
            while cursor.next(&mut batch)? {
                interrupt.check()?;
                followed += batch.len();
                kept += sums.take(&batch, far);
            }
            if let (Some(profiler), Some(consumer)) = (&runtime.profiler, consumer) {
                profiler.switch(consumer);
                profiler.gave(self.expand, followed);
                self.filters.iter().for_each(|&filter| profiler.gave(filter, kept));
            }
            let met: Vec<u32> = (0..from.len() as u32).filter(|&at| sums.edges[at as usize] > 0).collect();
            if met.is_empty() {
                return Ok(Flow::Continue);
            }
            let row_of = |&at: &u32| rows.as_ref().map_or(at, |rows| rows[at as usize]);
            let starts = chunk.gather(&met.iter().map(row_of).collect::<Vec<u32>>());
            let keys = self.keys.iter().map(|key| key.evaluate(&starts, &context));
            gathering.state.assign(keys.collect::<Result<_>>()?, starts.rows);
            self.bring(aggregate, &sums, &met, gathering)?;
            gathering.account(aggregate, starts.rows, interrupt)?;
            Ok(Flow::Continue)
        })?;
        gathering.look(aggregate, interrupt)
    }

    /// Brings what nodes came to, to their groups.
    fn bring(&self, aggregate: &Aggregate, sums: &Sums, met: &[u32], gathering: &mut Gathering<'_>) -> Result<()> {
        let edges: Vec<i64> = met.iter().map(|&at| sums.edges[at as usize]).collect();
        for (index, (function, take)) in aggregate.functions.iter().zip(&self.takes).enumerate() {
            let of_nodes: Box<dyn Aggregator> = match take {
                None if function.counts_rows() => {
                    let weight = Column::new(ColumnData::Int(edges.clone()));
                    gathering.state.count(index, met.len(), Some(&weight));
                    continue;
                }
                None => Box::new(Count::of_rows(edges.clone())),
                Some(property) => {
                    let totals = met.iter().map(|&at| sums.totals[*property][at as usize]);
                    match &*function.name {
                        "count" => Box::new(Count::of_rows(totals.map(|total| total.count()).collect())),
                        name => Box::new(Totals::of(name, totals.collect())),
                    }
                }
            };
            gathering.state.take_in(index, met.len(), of_nodes).map_err(|error| error.at(function.span))?;
        }
        Ok(())
    }
}

/// Sums over the edges of each node of a batch.
#[derive(Default)]
struct Sums {
    edges: Vec<i64>,
    /// By property.
    totals: Vec<Vec<Total>>,
}

impl Sums {
    /// Starts empty, for `nodes` nodes.
    fn begin(&mut self, nodes: usize, properties: usize) {
        self.edges.clear();
        self.edges.resize(nodes, 0);
        self.totals.resize_with(properties, Vec::new);
        for totals in &mut self.totals {
            totals.clear();
            totals.resize(nodes, Total::default());
        }
    }

    /// Adds edges; gives how many lead to nodes that are wanted.
    fn take(&mut self, batch: &EdgeBatch, far: &Far) -> usize {
        let (inputs, neighbors) = (batch.inputs.as_slice(), batch.neighbors.as_slice());
        let (mut start, mut kept) = (0, 0);
        while let Some(&input) = inputs.get(start) {
            let length = inputs[start..].iter().take_while(|&&it| it == input).count();
            let run = &neighbors[start..start + length];
            let count = far.count(run);
            self.edges[input as usize] += count as i64;
            kept += count;
            for (totals, numbers) in self.totals.iter_mut().zip(&far.numbers) {
                numbers.add(run, count, &mut totals[input as usize]);
            }
            start += length;
        }
        kept
    }
}
