//! Number of nodes of a label, or of edges of a type, where the store knows it without giving them out.

use std::sync::Arc;

use cypher::plan::{Aggregate as PlanAggregate, ExpressionKind, Operator, OperatorKind, SlotId};
use model::{Column, ColumnData, Count, Result, error};

use super::Aggregate;
use super::edge_count::{Edges, Scanned, scanned};
use crate::adjacency::label_ids;
use crate::chunk::Chunk;
use crate::lowering::Lowering;
use crate::operators::node_scan::Choice;
use crate::runtime::{Flow, Physical, Scope, Sink};

/// The nodes or edges that are counted, by names.
pub(super) enum Counted {
    /// Nodes that carry all of these labels and meet the conditions.
    Nodes(Vec<Arc<str>>, Option<Box<Choice>>),
    Edges(Edges),
}

impl Counted {
    /// The nodes or edges that the rows of an input stand for, if the rows are only counted and a store may be asked
    /// for the count.
    pub(super) fn of(
        lowering: &mut Lowering,
        input: &Operator,
        aggregates: &[&PlanAggregate],
    ) -> Result<Option<Counted>> {
        if aggregates.is_empty() {
            return Ok(None);
        }
        if let OperatorKind::CountMatches { input, count, trees } = &input.kind {
            let sums = aggregates.iter().all(|item| is_sum_of(item, *count));
            return Ok(if sums { Edges::of_tree(input, trees).map(Counted::Edges) } else { None });
        }
        let counts_rows =
            |item: &&PlanAggregate| item.arguments.is_empty() && !item.distinct && &*item.function == "count";
        if !aggregates.iter().all(counts_rows) {
            return Ok(None);
        }
        if let Some(Scanned { slot, labels, choice }) = scanned(input) {
            let choice = choice.map(|choice| Choice::compile(lowering, slot, choice)).transpose()?;
            return Ok(Some(Counted::Nodes(labels.to_vec(), choice.map(Box::new))));
        }
        Ok(Edges::of_expansion(input).map(Counted::Edges))
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
            Counted::Edges(edges) => return edges.number(scope.runtime, view),
        };
        view.count(&count)
    }
}

/// True of a sum of the slot alone.
fn is_sum_of(aggregate: &PlanAggregate, slot: SlotId) -> bool {
    let is_slot = |it: &cypher::plan::Expression| matches!(it.kind, ExpressionKind::Slot(held) if held == slot);
    let is_alone = matches!(aggregate.arguments.as_slice(), [argument] if is_slot(argument));
    is_alone && !aggregate.distinct && &*aggregate.function == "sum"
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
