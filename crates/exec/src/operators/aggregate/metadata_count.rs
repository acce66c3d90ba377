//! Number of nodes of a label, or of edges of a type, where the store knows it without giving them out.

use std::sync::Arc;

use cypher::plan::{Aggregate as PlanAggregate, NodeChoice, Operator, OperatorKind, SlotId};
use model::{Column, ColumnData, Count, Direction, Result, error};

use super::Aggregate;
use crate::adjacency::label_ids;
use crate::chunk::Chunk;
use crate::lowering::Lowering;
use crate::operators::node_scan::Choice;
use crate::runtime::{Flow, Physical, Scope, Sink};

/// The nodes or edges that are counted, by names.
pub(super) enum Counted {
    /// Nodes that carry all of these labels and meet the conditions.
    Nodes(Vec<Arc<str>>, Option<Box<Choice>>),
    /// Edges of one of these types; of any if there are none.
    Edges(Vec<Arc<str>>),
}

impl Counted {
    /// The nodes or edges that the rows of an input stand for, if the rows are only counted and a store may be asked
    /// for the count.
    pub(super) fn of(
        lowering: &mut Lowering,
        input: &Operator,
        aggregates: &[&PlanAggregate],
    ) -> Result<Option<Counted>> {
        let counts_rows =
            |item: &&PlanAggregate| item.arguments.is_empty() && !item.distinct && &*item.function == "count";
        if aggregates.is_empty() || !aggregates.iter().all(counts_rows) {
            return Ok(None);
        }
        if let Some(Scanned { slot, labels, choice }) = scanned(input) {
            let choice = choice.map(|choice| Choice::compile(lowering, slot, choice)).transpose()?;
            return Ok(Some(Counted::Nodes(labels.to_vec(), choice.map(Box::new))));
        }
        let OperatorKind::Expand { input, from, direction, types, into: false, distinct_from, choice: None, .. } =
            &input.kind
        else {
            return Ok(None);
        };
        let is_all = scanned(input).is_some_and(|of| of.slot == *from && of.labels.is_empty() && of.choice.is_none());
        // Going both ways, a self-loop is one row and any other edge two.
        let is_one_way = *direction != Direction::Both;
        Ok((is_all && is_one_way && distinct_from.is_empty()).then(|| Counted::Edges(types.clone())))
    }

    fn number(&self, scope: Scope<'_, '_>) -> Result<Option<u64>> {
        let view = scope.runtime.view();
        let view = view.view();
        let count = match self {
            Counted::Nodes(labels, choice) => {
                let Some(labels) = label_ids(view, labels) else { return Ok(Some(0)) };
                match choice {
                    None => Count::Nodes(labels),
                    Some(choice) => match choice.conditions(scope)? {
                        Some(conditions) => Count::Matching(labels, conditions),
                        None => return Ok(Some(0)),
                    },
                }
            }
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

/// A scan that nothing comes before.
struct Scanned<'p> {
    slot: SlotId,
    labels: &'p [Arc<str>],
    choice: Option<&'p NodeChoice>,
}

fn scanned(plan: &Operator) -> Option<Scanned<'_>> {
    match &plan.kind {
        OperatorKind::NodeScan { input, slot, labels, choice } if matches!(input.kind, OperatorKind::Unit) => {
            Some(Scanned { slot: *slot, labels, choice: choice.as_deref() })
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
        let number = self.counted.number(scope)?;
        let Some(number) = number else { return self.otherwise.run(scope, sink) };
        let number = i64::try_from(number).map_err(|_| error!(Arithmetic, "{number} is more than an integer holds"))?;
        let column = Arc::new(Column::new(ColumnData::Int(vec![number])));
        sink(Chunk { rows: 1, columns: vec![column; self.otherwise.functions.len()] })
    }
}
