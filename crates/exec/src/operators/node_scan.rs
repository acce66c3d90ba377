//! `NodeScan`: for each row, all nodes that carry all of the labels.

use std::sync::Arc;

use cypher::plan::{NodeChoice, Operator, OperatorId, OperatorKind, SlotId, node_test};
use model::store::scan_filtered;
use model::{Column, ColumnData, Condition, FirstNodes, KeyOrder, NodeBatch, PropertyKeyId, ReadView, Result, error};

use crate::adjacency::label_ids;
use crate::chunk::Chunk;
use crate::expression::CompiledExpression;
use crate::lowering::properties::keys_ahead;
use crate::lowering::{Demand, Lowered, Lowering, keep, misplaced};
use crate::operators::limit::row_count;
use crate::rows::gather_columns;
use crate::runtime::{Flow, Physical, Scope, Sink, Step};

struct NodeScan {
    id: OperatorId,
    input: Step,
    labels: Vec<Arc<str>>,
    /// Properties of the node that are read later.
    properties: Vec<Arc<str>>,
    choice: Option<Choice>,
    keep: Vec<usize>,
    /// True if the node is read.
    gives_node: bool,
}

/// A [`NodeChoice`], compiled.
pub(crate) struct Choice {
    slot: SlotId,
    choice: NodeChoice,
    /// The values in its conditions, in order.
    values: Vec<CompiledExpression>,
    limit: Option<CompiledExpression>,
}

impl Choice {
    /// Compiles a choice of the nodes of a slot.
    pub(crate) fn compile(lowering: &mut Lowering, slot: SlotId, choice: &NodeChoice) -> Result<Choice> {
        let mut found = Vec::new();
        for condition in &choice.conditions {
            let test = node_test(condition, slot).ok_or_else(not_taken_apart)?;
            test.for_each_value(&mut |value| found.push(value));
        }
        let values =
            found.into_iter().map(|value| lowering.compile(value, &Default::default())).collect::<Result<_>>()?;
        let limit =
            choice.first.as_ref().map(|first| lowering.compile(&first.limit, &Default::default())).transpose()?;
        Ok(Choice { slot, choice: choice.clone(), values, limit })
    }

    /// The conditions of a run; nothing if no node can meet them.
    pub(crate) fn conditions(&self, scope: Scope<'_, '_>) -> Result<Option<Vec<Condition<PropertyKeyId>>>> {
        let view = scope.runtime.view();
        let context = scope.runtime.evaluation(&view);
        let schema = view.view().schema();
        let mut values = self.values.iter();
        let mut conditions = Vec::with_capacity(self.choice.conditions.len());
        for condition in &self.choice.conditions {
            let test = node_test(condition, self.slot).ok_or_else(not_taken_apart)?;
            let condition = test.condition(&mut |_| {
                let value = values.next().ok_or_else(not_taken_apart)?;
                Ok(value.evaluate(&Chunk::unit(), &context)?.value(0))
            })?;
            match condition.known(&|key| schema.property_key(key)) {
                Some(condition) if condition.is_never() => return Ok(None),
                found => conditions.extend(found),
            }
        }
        Ok(Some(conditions))
    }

    fn first(&self, scope: Scope<'_, '_>, view: &dyn ReadView) -> Result<Option<FirstNodes>> {
        let (Some(first), Some(limit)) = (&self.choice.first, &self.limit) else { return Ok(None) };
        let key = |(key, order): &(Arc<str>, KeyOrder)| Some((view.schema().property_key(key)?, *order));
        let order = first.order.iter().filter_map(key).collect();
        Ok(Some(FirstNodes { order, limit: row_count(limit, scope, "LIMIT")? }))
    }
}

fn not_taken_apart() -> model::Error {
    error!(Internal, "a scan was given a condition that it does not know")
}

/// Lowers `NodeScan`.
pub(crate) fn lower(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::NodeScan { input, slot, labels, choice } = &plan.kind else { return Err(misplaced(&plan.kind)) };
    let (input, layout) = lowering.lower(input, &demand.clone().without([slot]))?;
    let (keep, mut layout) = keep(&layout, demand);
    let gives_node = demand.slots.contains(slot);
    if gives_node {
        layout.push(*slot);
    }
    let (labels, properties) = (labels.to_vec(), lowering.properties.of_slot(*slot));
    let choice = choice.as_ref().map(|choice| Choice::compile(lowering, *slot, choice)).transpose()?;
    Ok((Box::new(NodeScan { id: plan.id, input, labels, properties, choice, keep, gives_node }), layout))
}

impl NodeScan {
    /// Gives the nodes batch by batch.
    fn scan(&self, scope: Scope<'_, '_>, take: &mut dyn FnMut(NodeBatch) -> Result<Flow>) -> Result<Flow> {
        let runtime = scope.runtime;
        let (mut filter, mut first) = (Vec::new(), None);
        if let Some(choice) = &self.choice {
            let Some(conditions) = choice.conditions(scope)? else { return Ok(Flow::Continue) };
            filter = conditions;
            first = choice.first(scope, runtime.view().view())?;
        }
        let view = runtime.view();
        let Some(labels) = label_ids(view.view(), &self.labels) else { return Ok(Flow::Continue) };
        let range = runtime.morsel.as_ref().filter(|(scan, _)| *scan == self.id).map(|(_, range)| range.clone());
        let keys = keys_ahead(view.view(), &self.properties);
        let scan = model::NodeScan { labels, keys, range, filter, first };
        let mut cursor = scan_filtered(view.view(), &scan)?;
        let mut batch = NodeBatch::default();
        while cursor.next(&mut batch)? {
            runtime.environment.interrupt.check()?;
            if take(std::mem::take(&mut batch))? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn join(&self, chunk: &Chunk, row: u32, rows: usize, nodes: Option<Arc<Column>>) -> Chunk {
        let repeated = if self.keep.is_empty() { Vec::new() } else { vec![row; rows] };
        let mut columns = gather_columns(chunk, &self.keep, &repeated);
        columns.extend(nodes.filter(|_| self.gives_node));
        Chunk { rows, columns }
    }
}

impl Physical for NodeScan {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        // Scanned once if there are many rows, so that rows come in the order of the input.
        let mut kept: Option<Vec<(usize, Arc<Column>)>> = None;
        let mut first = true;
        self.input.run(scope, &mut |chunk| {
            if std::mem::take(&mut first) && chunk.rows == 1 {
                return self.scan(scope, &mut |batch| {
                    let rows = batch.nodes.len();
                    let nodes = self.gives_node.then(|| Arc::new(Column::new(ColumnData::Node(batch.nodes))));
                    sink(self.join(&chunk, 0, rows, nodes))
                });
            }
            if kept.is_none() {
                let mut batches = Vec::new();
                self.scan(scope, &mut |batch| {
                    batches.push((batch.nodes.len(), Arc::new(Column::new(ColumnData::Node(batch.nodes)))));
                    Ok(Flow::Continue)
                })?;
                kept = Some(batches);
            }
            for row in 0..chunk.rows as u32 {
                for (rows, nodes) in kept.iter().flatten() {
                    runtime.environment.interrupt.check()?;
                    if sink(self.join(&chunk, row, *rows, Some(nodes.clone())))? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
            }
            Ok(Flow::Continue)
        })
    }
}
