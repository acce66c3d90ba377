//! `NodeUnionScan`: for each row, the nodes that carry at least one of several labels, each once.
//!
//! The labels are scanned one after the other; of the nodes of a later one those are left out that carry an earlier one.

use std::sync::Arc;

use cypher::plan::OperatorKind;
use model::{Column, ColumnData, LabelId, NodeBatch, NodeId, ReadView, Result};

use crate::adjacency::label_ids;
use crate::chunk::Chunk;
use crate::lowering::{Demand, Lowered, Lowering, keep, misplaced};
use crate::rows::gather_columns;
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};

struct NodeUnionScan {
    input: Step,
    labels: Vec<Arc<str>>,
    any: Vec<Arc<str>>,
    keep: Vec<usize>,
    /// True if the node is read.
    gives_node: bool,
}

/// Lowers `NodeUnionScan`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::NodeUnionScan { input, slot, labels, any } = kind else { return Err(misplaced(kind)) };
    let (input, layout) = lowering.lower(input, &demand.clone().without([slot]))?;
    let (keep, mut layout) = keep(&layout, demand);
    let gives_node = demand.slots.contains(slot);
    if gives_node {
        layout.push(*slot);
    }
    Ok((Box::new(NodeUnionScan { input, labels: labels.clone(), any: any.clone(), keep, gives_node }), layout))
}

impl NodeUnionScan {
    /// Gives the nodes batch by batch.
    fn scan(&self, runtime: &Runtime<'_>, take: &mut dyn FnMut(Vec<NodeId>) -> Result<Flow>) -> Result<Flow> {
        let view = runtime.view();
        let view = view.view();
        let Some(common) = label_ids(view, &self.labels) else { return Ok(Flow::Continue) };
        let mut before: Vec<LabelId> = Vec::with_capacity(self.any.len());
        for label in self.any.iter().filter_map(|label| view.schema().label(label)) {
            let mut labels = common.clone();
            if !labels.contains(&label) {
                labels.push(label);
            }
            let mut cursor = view.scan(&model::NodeScan { labels, ..model::NodeScan::default() })?;
            let mut batch = NodeBatch::default();
            while cursor.next(&mut batch)? {
                runtime.environment.interrupt.check()?;
                let nodes = without(view, std::mem::take(&mut batch.nodes), &before)?;
                if !nodes.is_empty() && take(nodes)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            before.push(label);
        }
        Ok(Flow::Continue)
    }
}

/// The nodes that carry none of the labels.
fn without(view: &dyn ReadView, mut nodes: Vec<NodeId>, labels: &[LabelId]) -> Result<Vec<NodeId>> {
    for &label in labels {
        if nodes.is_empty() {
            break;
        }
        let carried = view.has_label(&nodes, label)?;
        let mut row = 0;
        nodes.retain(|_| {
            row += 1;
            !carried.get(row - 1)
        });
    }
    Ok(nodes)
}

impl Physical for NodeUnionScan {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        self.input.run(scope, &mut |chunk| {
            for row in 0..chunk.rows as u32 {
                let flow = self.scan(runtime, &mut |nodes| {
                    let rows = nodes.len();
                    let repeated = if self.keep.is_empty() { Vec::new() } else { vec![row; rows] };
                    let mut columns = gather_columns(&chunk, &self.keep, &repeated);
                    if self.gives_node {
                        columns.push(Arc::new(Column::new(ColumnData::Node(nodes))));
                    }
                    sink(Chunk { rows, columns })
                })?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        })
    }
}
