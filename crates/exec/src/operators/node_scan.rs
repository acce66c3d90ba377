//! `NodeScan`: for each row, all nodes that carry all of the labels.

use crate::adjacency::label_ids;
use std::sync::Arc;

use cypher::plan::{Operator, OperatorId, OperatorKind};
use model::{Column, ColumnData, NodeBatch, Result};

use crate::chunk::Chunk;
use crate::lowering::properties::keys_ahead;
use crate::lowering::{Demand, Lowered, Lowering, keep, misplaced};
use crate::rows::gather_columns;
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};

struct NodeScan {
    id: OperatorId,
    input: Step,
    labels: Vec<Arc<str>>,
    /// Properties of the node that are read later.
    properties: Vec<Arc<str>>,
    keep: Vec<usize>,
    /// True if the node is read.
    gives_node: bool,
}

/// Lowers `NodeScan`.
pub(crate) fn lower(lowering: &mut Lowering, plan: &Operator, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::NodeScan { input, slot, labels } = &plan.kind else { return Err(misplaced(&plan.kind)) };
    let (input, layout) = lowering.lower(input, &demand.clone().without([slot]))?;
    let (keep, mut layout) = keep(&layout, demand);
    let gives_node = demand.slots.contains(slot);
    if gives_node {
        layout.push(*slot);
    }
    let (labels, properties) = (labels.to_vec(), lowering.properties.of_slot(*slot));
    Ok((Box::new(NodeScan { id: plan.id, input, labels, properties, keep, gives_node }), layout))
}

impl NodeScan {
    /// Gives the nodes batch by batch.
    fn scan(&self, runtime: &Runtime<'_>, take: &mut dyn FnMut(NodeBatch) -> Result<Flow>) -> Result<Flow> {
        let view = runtime.view();
        let Some(labels) = label_ids(view.view(), &self.labels) else { return Ok(Flow::Continue) };
        let range = runtime.morsel.as_ref().filter(|(scan, _)| *scan == self.id).map(|(_, range)| range.clone());
        let keys = keys_ahead(view.view(), &self.properties);
        let scan = model::NodeScan { labels, keys, range };
        let mut cursor = view.view().scan(&scan)?;
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
                return self.scan(runtime, &mut |batch| {
                    let rows = batch.nodes.len();
                    let nodes = self.gives_node.then(|| Arc::new(Column::new(ColumnData::Node(batch.nodes))));
                    sink(self.join(&chunk, 0, rows, nodes))
                });
            }
            if kept.is_none() {
                let mut batches = Vec::new();
                self.scan(runtime, &mut |batch| {
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
