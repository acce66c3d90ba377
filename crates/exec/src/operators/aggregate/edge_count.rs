//! Number of edges of some types between nodes with some labels, without a look at each edge.
//!
//! The store counts the edges of a type, and [`ends_by_type`] those that lead to a label. Where all edges of a type lead to the labels
//! at one end, the number of those that lead to the labels at the other end is the answer. Where some lead elsewhere at both ends,
//! only these are followed, if they are few.

use std::sync::Arc;

use cypher::plan::{CountedNode, NodeChoice, Operator, OperatorKind, SlotId};
use model::store::{EdgeIds, Ends, Leads};
use model::{Count, Direction, EdgeBatch, EdgeTypeId, Expand, LabelId, NodeBatch, NodeScan, ReadView, Result, error};

use crate::adjacency::{expansion, label_ids};
use crate::edge_ends::{Led, each_without, ends_by_type};
use crate::runtime::{Flow, Runtime};

/// Times by which the edges that are followed must be fewer than those that are counted.
const ADVANTAGE: u64 = 4;

/// Edges of one of some types, and the labels of their ends.
pub(super) struct Edges {
    /// Going both ways, a self-loop is one row and any other edge two.
    direction: Direction,
    /// None for any.
    types: Vec<Arc<str>>,
    /// Labels of the nodes that the edges are followed from.
    near: Vec<Arc<str>>,
    /// Labels of the nodes that they lead to.
    far: Vec<Arc<str>>,
}

/// Edges of one type that lead from nodes of one label to nodes of another, some of each kind.
struct Between {
    edge_type: EdgeTypeId,
    /// Number of all edges of the type.
    all: u64,
    /// One way.
    direction: Direction,
    /// The label, and the number of edges from it.
    near: (LabelId, u64),
    /// The label, and the number of edges to it.
    far: (LabelId, u64),
}

impl Edges {
    /// The edges of an expansion of all nodes with some labels.
    pub(super) fn of_expansion(plan: &Operator) -> Option<Edges> {
        let OperatorKind::Expand { input, from, direction, types, into: false, distinct_from, choice: None, .. } =
            &plan.kind
        else {
            return None;
        };
        let near = scanned(input).filter(|of| of.slot == *from && of.choice.is_none())?.labels.to_vec();
        let are_all = distinct_from.is_empty();
        are_all.then(|| Edges { direction: *direction, types: types.clone(), near, far: Vec::new() })
    }

    /// The same of a tree of one edge, of which nothing but labels is asked.
    pub(super) fn of_tree(input: &Operator, trees: &[CountedNode]) -> Option<Edges> {
        let [CountedNode { slot, labels, predicate: None, branches, nested, .. }] = trees else { return None };
        let [branch] = branches.as_slice() else { return None };
        let far = &branch.node;
        let is_leaf = far.predicate.is_none() && far.branches.is_empty() && far.nested.is_empty();
        if !is_leaf || !nested.is_empty() || branch.chained.is_some() {
            return None;
        }
        let near = scanned(input).filter(|of| of.slot == *slot && of.choice.is_none())?.labels;
        let near = near.iter().chain(labels).cloned().collect();
        Some(Edges { direction: branch.direction, types: branch.types.clone(), near, far: far.labels.clone() })
    }

    /// Their number; `None` where the store does not know that of the types, or to find out would take longer than to ask each
    /// node for its number of edges.
    pub(super) fn number(&self, runtime: &Runtime<'_>, view: &dyn ReadView) -> Result<Option<u64>> {
        let Some(expand) = expansion(view, self.direction, &self.types, EdgeIds::Omit) else { return Ok(Some(0)) };
        let all = view.count(&Count::Edges(expand.types.clone()))?;
        let is_labelled = !self.near.is_empty() || !self.far.is_empty();
        if all.is_none() || !is_labelled && self.direction != Direction::Both {
            return Ok(all);
        }
        let Some((near, far)) = label_ids(view, &self.near).zip(label_ids(view, &self.far)) else { return Ok(Some(0)) };
        let nodes = |labels: &[LabelId]| {
            let statistics = view.statistics();
            labels.iter().map(|&label| statistics.label(label)).min().unwrap_or(statistics.nodes)
        };
        let ways = match self.direction {
            Direction::Both => [Direction::Out, Direction::In].as_slice(),
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
        };
        let looks = ways.iter().flat_map(|&way| self.ends(way)).map(|led| led.looks(view)).sum::<u64>();
        let unusable = runtime.writes() || view.capabilities().is_remote || !view.capabilities().dense_node_ids;
        if unusable || looks > nodes(&near) {
            return Ok(None);
        }
        let mut number = 0;
        for &way in ways {
            let Some(found) = self.one_way(runtime, view, way, &near, &far)? else { return Ok(None) };
            number += found;
        }
        if self.direction == Direction::Both {
            let loops = loops(runtime, view, [near, far].concat(), expand.types.as_deref())?;
            let twice = || error!(Internal, "{loops} self-loops are more than the {number} edges counted");
            return number.checked_sub(loops).map(Some).ok_or_else(twice);
        }
        Ok(Some(number))
    }

    /// The two ends, as they are asked for where edges are followed one way.
    fn ends(&self, way: Direction) -> [Led<'_>; 2] {
        let ends = [(way.reverse(), &self.near), (way, &self.far)];
        ends.map(|(direction, labels)| Led { direction, types: &self.types, labels })
    }

    fn one_way(
        &self,
        runtime: &Runtime<'_>,
        view: &dyn ReadView,
        way: Direction,
        near: &[LabelId],
        far: &[LabelId],
    ) -> Result<Option<u64>> {
        let [to_near, to_far] = self.ends(way);
        let (Some(of_near), Some(of_far)) = (ends_by_type(runtime, &to_near)?, ends_by_type(runtime, &to_far)?) else {
            return Ok(None);
        };
        let mut number = 0;
        for ((edge_type, back), (_, forth)) in of_near.into_iter().zip(of_far) {
            let found = match (back.leads, forth.leads) {
                (Leads::Never, _) | (_, Leads::Never) => Some(0),
                (Leads::Always, _) => forth.edges,
                (_, Leads::Always) => back.edges,
                (Leads::Sometimes, Leads::Sometimes) => {
                    match Between::of(view, edge_type, way, (near, back), (far, forth)) {
                        Some(between) => between.number(runtime, view)?,
                        None => None,
                    }
                }
            };
            let Some(found) = found else { return Ok(None) };
            number += found;
        }
        Ok(Some(number))
    }
}

impl Between {
    fn of(
        view: &dyn ReadView,
        edge_type: EdgeTypeId,
        direction: Direction,
        (near, back): (&[LabelId], Ends),
        (far, forth): (&[LabelId], Ends),
    ) -> Option<Between> {
        let ([near], [far]) = (near, far) else { return None };
        let all = view.statistics().edge_type(edge_type);
        Some(Between { edge_type, all, direction, near: (*near, back.edges?), far: (*far, forth.edges?) })
    }

    /// Their number: those that lead to one of the labels, less those of them that come from elsewhere than the other. `None` if these
    /// are not few.
    fn number(&self, runtime: &Runtime<'_>, view: &dyn ReadView) -> Result<Option<u64>> {
        let [from_others, to_others] = [self.near, self.far].map(|(_, edges)| self.all.saturating_sub(edges));
        let few = (self.near.1.min(self.far.1) / ADVANTAGE).saturating_sub(view.statistics().nodes / ADVANTAGE);
        if from_others.min(to_others) > few {
            return Ok(None);
        }
        let (direction, start, end) = if from_others <= to_others {
            (self.direction, self.near, self.far)
        } else {
            (self.direction.reverse(), self.far, self.near)
        };
        let elsewhere = self.followed(runtime, view, direction, start.0, end.0)?;
        Ok(Some(end.1.saturating_sub(elsewhere)))
    }

    /// Number of edges that lead from nodes without one label to nodes with the other.
    fn followed(
        &self,
        runtime: &Runtime<'_>,
        view: &dyn ReadView,
        direction: Direction,
        without: LabelId,
        with: LabelId,
    ) -> Result<u64> {
        let expand =
            Expand { direction, types: Some(vec![self.edge_type]), edge_ids: EdgeIds::Omit, ..Expand::default() };
        let (mut batch, mut number) = (EdgeBatch::default(), 0);
        each_without(runtime, view, without, &mut |others| {
            let mut cursor = view.expand(others, &expand)?;
            while cursor.next(&mut batch)? {
                runtime.environment.interrupt.check()?;
                number += view.has_label(&batch.neighbors, with)?.count_ones() as u64;
            }
            Ok(Flow::Continue)
        })?;
        Ok(number)
    }
}

/// Number of edges of the types that lead from a node with all of the labels to itself.
fn loops(
    runtime: &Runtime<'_>,
    view: &dyn ReadView,
    labels: Vec<LabelId>,
    types: Option<&[EdgeTypeId]>,
) -> Result<u64> {
    let scan = NodeScan { labels, ..NodeScan::default() };
    let (mut batch, mut number) = (NodeBatch::default(), 0);
    let mut cursor = view.scan(&scan)?;
    while cursor.next(&mut batch)? {
        runtime.environment.interrupt.check()?;
        number += view.loops(&batch.nodes, types)?.iter().sum::<u64>();
    }
    Ok(number)
}

/// A scan that nothing comes before.
pub(super) struct Scanned<'p> {
    pub(super) slot: SlotId,
    pub(super) labels: &'p [Arc<str>],
    pub(super) choice: Option<&'p NodeChoice>,
}

pub(super) fn scanned(plan: &Operator) -> Option<Scanned<'_>> {
    match &plan.kind {
        OperatorKind::NodeScan { input, slot, labels, choice } if matches!(input.kind, OperatorKind::Unit) => {
            Some(Scanned { slot: *slot, labels, choice: choice.as_deref() })
        }
        _ => None,
    }
}
