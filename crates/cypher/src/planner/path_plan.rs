//! Steps along paths as operators: variable lengths, shortest paths, searches of several parts.

use std::sync::Arc;

use model::Span;

use super::{Planner, Stream};
use crate::binder::tree::{EdgeLength, GraphEdge};
use crate::plan::conditions::at;
use crate::plan::{EdgeFilter, Expression, ExpressionKind, OperatorKind, SlotId, SlotKind};

/// A step along a path, from one end to the other.
#[derive(Clone, Copy)]
pub(super) struct Walk<'w> {
    pub(super) edge: &'w GraphEdge,
    pub(super) from_left: bool,
    pub(super) from: SlotId,
    pub(super) to: SlotId,
    /// True if the other end is bound.
    pub(super) into: bool,
    pub(super) rows: f64,
}

impl Walk<'_> {
    /// The filter on each edge, for the way walked.
    fn filter(&self) -> Option<EdgeFilter> {
        let filter = self.edge.filter.clone();
        if self.from_left { filter } else { filter.map(EdgeFilter::reverse) }
    }
}

impl Planner<'_> {
    /// Walking against the written order gives the edges in reverse, so they get a slot to be turned in.
    fn list_slot(&mut self, walk: Walk<'_>) -> SlotId {
        if walk.from_left { walk.edge.slot } else { self.slots.unnamed(SlotKind::EdgeList) }
    }

    fn turn(stream: &mut Stream, walk: Walk<'_>, edges: SlotId) {
        if edges != walk.edge.slot {
            let items = vec![(walk.edge.slot, reversed(edges, walk.edge.span))];
            stream.push(walk.rows, |input| OperatorKind::Extend { input, items });
        }
    }

    pub(super) fn variable_expand(&mut self, stream: &mut Stream, walk: Walk<'_>, distinct_from: Vec<SlotId>) {
        let EdgeLength::Variable { min, max } = walk.edge.length else { return };
        let edges = self.list_slot(walk);
        let direction = if walk.from_left { walk.edge.direction } else { walk.edge.direction.reverse() };
        let (types, filter, repeats) = (walk.edge.types.clone(), walk.filter(), walk.edge.repeats);
        stream.push(walk.rows, |input| OperatorKind::VariableExpand {
            input,
            from: walk.from,
            direction,
            types,
            min,
            max,
            edges: Some(edges),
            to: walk.to,
            into: walk.into,
            filter,
            distinct_from,
            repeats,
            running: None,
        });
        Self::turn(stream, walk, edges);
    }

    pub(super) fn path_search(&mut self, stream: &mut Stream, walk: Walk<'_>, distinct_from: Vec<SlotId>) {
        let Some(search) = &walk.edge.search else { return };
        stream.bound.insert(search.counts);
        let (pattern, conditions) = (Box::new(search.pattern.clone()), search.conditions.clone());
        stream.push(walk.rows, |input| OperatorKind::PathSearch {
            input,
            from: walk.from,
            to: walk.to,
            into: walk.into,
            pattern,
            conditions,
            edges: walk.edge.slot,
            counts: search.counts,
            distinct_from,
        });
    }

    /// Shortest paths from one bound end to all nodes.
    pub(super) fn shortest_from_one(&mut self, stream: &mut Stream, walk: Walk<'_>) {
        let edges = self.list_slot(walk);
        shortest(stream, Walk { into: false, ..walk }, edges);
        Self::turn(stream, walk, edges);
    }

    /// Shortest paths between two bound nodes.
    pub(super) fn shortest_path(&mut self, stream: &mut Stream, edge: &GraphEdge, rows: f64) {
        stream.bound.insert(edge.slot);
        let walk = Walk { edge, from_left: true, from: edge.left, to: edge.right, into: true, rows };
        shortest(stream, walk, edge.slot);
    }
}

fn shortest(stream: &mut Stream, walk: Walk<'_>, edges: SlotId) {
    let EdgeLength::Shortest { min, max, all } = walk.edge.length else { return };
    let direction = if walk.from_left { walk.edge.direction } else { walk.edge.direction.reverse() };
    let (types, filter) = (walk.edge.types.clone(), walk.filter());
    stream.push(walk.rows, |input| OperatorKind::ShortestPath {
        input,
        from: walk.from,
        to: walk.to,
        into: walk.into,
        direction,
        types,
        min,
        max,
        edges,
        all,
        filter,
    });
}

fn reversed(list: SlotId, span: Span) -> Expression {
    let arguments = vec![at(span, ExpressionKind::Slot(list))];
    at(span, ExpressionKind::Function { name: Arc::from("reverse"), arguments })
}
