//! Number of nodes of a label, or of edges of a type, where the store knows it without giving them out.

use std::sync::Arc;

use cypher::plan::{
    Aggregate as PlanAggregate, CountedNode, ExpressionKind, NodeChoice, Operator, OperatorKind, SlotId,
};
use model::store::EdgeIds;
use model::{Column, ColumnData, Count, Direction, EdgeTypeId, ReadView, Result, error};

use super::Aggregate;
use crate::adjacency::{expansion, label_ids};
use crate::chunk::Chunk;
use crate::edge_ends::{ByType, Led};
use crate::lowering::Lowering;
use crate::operators::node_scan::Choice;
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink};

/// The nodes or edges that are counted, by names.
pub(super) enum Counted {
    /// Nodes that carry all of these labels and meet the conditions.
    Nodes(Vec<Arc<str>>, Option<Box<Choice>>),
    Edges(Edges),
}

/// Edges of one of some types, and the labels of their ends.
pub(super) struct Edges {
    /// One way: going both ways, a self-loop is one row and any other edge two.
    direction: Direction,
    /// None for any.
    types: Vec<Arc<str>>,
    /// Labels of the nodes that the edges are followed from.
    near: Vec<Arc<str>>,
    /// Labels of the nodes that they lead to.
    far: Vec<Arc<str>>,
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

impl Edges {
    /// The edges of an expansion of all nodes with some labels.
    fn of_expansion(plan: &Operator) -> Option<Edges> {
        let OperatorKind::Expand { input, from, direction, types, into: false, distinct_from, choice: None, .. } =
            &plan.kind
        else {
            return None;
        };
        let near = scanned(input).filter(|of| of.slot == *from && of.choice.is_none())?.labels.to_vec();
        let is_one_way = *direction != Direction::Both && distinct_from.is_empty();
        is_one_way.then(|| Edges { direction: *direction, types: types.clone(), near, far: Vec::new() })
    }

    /// The same of a tree of one edge, of which nothing but labels is asked.
    fn of_tree(input: &Operator, trees: &[CountedNode]) -> Option<Edges> {
        let [CountedNode { slot, labels, predicate: None, branches, nested, .. }] = trees else { return None };
        let [branch] = branches.as_slice() else { return None };
        let far = &branch.node;
        let is_leaf = far.predicate.is_none() && far.branches.is_empty() && far.nested.is_empty();
        if !is_leaf || !nested.is_empty() || branch.chained.is_some() || branch.direction == Direction::Both {
            return None;
        }
        let near = scanned(input).filter(|of| of.slot == *slot && of.choice.is_none())?.labels;
        let near = near.iter().chain(labels).cloned().collect();
        Some(Edges { direction: branch.direction, types: branch.types.clone(), near, far: far.labels.clone() })
    }

    /// Their number, if the store knows that of the types, and these always or never join such nodes.
    fn number(&self, runtime: &Runtime<'_>, view: &dyn ReadView) -> Result<Option<u64>> {
        let Some(expand) = expansion(view, self.direction, &self.types, EdgeIds::Omit) else { return Ok(Some(0)) };
        let all = view.count(&Count::Edges(expand.types))?;
        if all.is_none() || self.near.is_empty() && self.far.is_empty() {
            return Ok(all);
        }
        let ends = [(self.direction.reverse(), &self.near), (self.direction, &self.far)];
        let ends = ends.map(|(direction, labels)| Led { direction, types: &self.types, labels });
        let Some(near) = label_ids(view, &self.near) else { return Ok(Some(0)) };
        // To find out must not take longer than to ask each node for its number of edges.
        let statistics = view.statistics();
        let nodes = near.iter().map(|&label| statistics.label(label)).min().unwrap_or(statistics.nodes);
        let is_cheap = ends.iter().map(|led| led.looks(view)).sum::<u64>() <= nodes;
        if runtime.writes() || view.capabilities().is_remote || !is_cheap {
            return Ok(None);
        }
        let [near, far] = &ends;
        let Some(near) = ByType::of(runtime, near)? else { return Ok(None) };
        let Some(far) = ByType::of(runtime, far)? else { return Ok(None) };
        let may_join = |of: &&EdgeTypeId| far.always.contains(of) || far.sometimes.contains(of);
        let is_unsure = |of: &EdgeTypeId| may_join(&of) && !(near.always.contains(of) && far.always.contains(of));
        if near.always.iter().chain(&near.sometimes).any(is_unsure) {
            return Ok(None);
        }
        view.count(&Count::Edges(Some(near.always.iter().filter(may_join).copied().collect())))
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
