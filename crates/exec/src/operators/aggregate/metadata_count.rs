//! Number of nodes of a label, or of edges of a type, where the store knows it without giving them out.

use std::sync::Arc;

use cypher::plan::{Aggregate as PlanAggregate, Operator, OperatorKind};
use model::{Column, ColumnData, Count, Direction, ReadView, Result, error};

use super::Aggregate;
use crate::adjacency::label_ids;
use crate::chunk::Chunk;
use crate::runtime::{Flow, Physical, Scope, Sink};

/// The nodes or edges that are counted, by names.
pub(super) enum Counted {
    /// Nodes that carry all of these labels.
    Nodes(Vec<Arc<str>>),
    /// Edges of one of these types; of any if there are none.
    Edges(Vec<Arc<str>>),
}

impl Counted {
    /// The nodes or edges that the rows of an input stand for, if the rows are only counted and a store may be asked
    /// for the count.
    pub(super) fn of(input: &Operator, aggregates: &[&PlanAggregate]) -> Option<Counted> {
        let counts_rows =
            |item: &&PlanAggregate| item.arguments.is_empty() && !item.distinct && &*item.function == "count";
        if aggregates.is_empty() || !aggregates.iter().all(counts_rows) {
            return None;
        }
        if let Some((_, labels)) = scanned(input) {
            return Some(Counted::Nodes(labels.to_vec()));
        }
        let OperatorKind::Expand { input, from, direction, types, into: false, distinct_from, choice: None, .. } =
            &input.kind
        else {
            return None;
        };
        let is_all = scanned(input).is_some_and(|(slot, labels)| slot == *from && labels.is_empty());
        // Going both ways, a self-loop is one row and any other edge two.
        let is_one_way = *direction != Direction::Both;
        (is_all && is_one_way && distinct_from.is_empty()).then(|| Counted::Edges(types.clone()))
    }

    fn number(&self, view: &dyn ReadView) -> Result<Option<u64>> {
        let count = match self {
            Counted::Nodes(labels) => match label_ids(view, labels) {
                Some(labels) => Count::Nodes(labels),
                None => return Ok(Some(0)),
            },
            Counted::Edges(types) if types.is_empty() => Count::Edges(None),
            Counted::Edges(types) => {
                let known: Vec<_> = types.iter().filter_map(|name| view.schema().edge_type(name)).collect();
                if known.is_empty() {
                    return Ok(Some(0));
                }
                Count::Edges(Some(known))
            }
        };
        view.count(&count)
    }
}

/// The slot and the labels of a scan that nothing comes before.
fn scanned(plan: &Operator) -> Option<(cypher::plan::SlotId, &[Arc<str>])> {
    match &plan.kind {
        OperatorKind::NodeScan { input, slot, labels } if matches!(input.kind, OperatorKind::Unit) => {
            Some((*slot, labels))
        }
        _ => None,
    }
}

/// An aggregation of which the store is asked first.
pub(super) struct MetadataCount {
    pub(super) counted: Counted,
    pub(super) otherwise: Aggregate,
}

impl Physical for MetadataCount {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let number = self.counted.number(scope.runtime.view().view())?;
        let Some(number) = number else { return self.otherwise.run(scope, sink) };
        let number = i64::try_from(number).map_err(|_| error!(Arithmetic, "{number} is more than an integer holds"))?;
        let column = Arc::new(Column::new(ColumnData::Int(vec![number])));
        sink(Chunk { rows: 1, columns: vec![column; self.otherwise.functions.len()] })
    }
}
