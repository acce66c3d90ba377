//! Shortest paths: which predicates take part in the search, and shortest paths as values.

use std::sync::Arc;

use model::{Result, Set, Span, Value, error};

use super::pattern::NewVariables;
use super::tree::{BoundClause, EdgeLength, QueryGraph};
use super::{Binder, unsupported};
use crate::ast::{PathPattern, Shortest};
use crate::plan::conditions::at;
use crate::plan::conditions::{add_filter, edge_filter};
use crate::plan::{Expression, ExpressionKind, PathStep, SlotId, SlotKind, SubqueryKind};

impl Binder<'_> {
    /// Predicates on a shortest path must hold during the search, not after it. Those on each of its edges can; other
    /// ones would give another answer when tested afterwards, so they are refused.
    pub(super) fn filter_shortest_paths(&mut self, graph: &mut QueryGraph) -> Result<()> {
        for index in 0..graph.edges.len() {
            // The result of a selector is tested after the selection.
            if !matches!(graph.edges[index].length, EdgeLength::Shortest { .. }) || graph.edges[index].is_selected {
                continue;
            }
            let edges = graph.edges[index].slot;
            let path = graph.paths.iter().find(|(_, path)| uses_edges(path, edges)).map(|(slot, _)| *slot);
            let predicates = std::mem::take(&mut graph.predicates);
            for predicate in predicates {
                let mut slots = Set::default();
                predicate.free_slots(&mut slots);
                if !slots.contains(&edges) && !path.is_some_and(|path| slots.contains(&path)) {
                    graph.predicates.push(predicate);
                    continue;
                }
                let Some(filter) = edge_filter(&predicate, edges, path) else {
                    let error = unsupported("this predicate on a shortest path", predicate.span);
                    let remedy = "use all(r IN relationships(path) WHERE …), or test the path found after a WITH";
                    return Err(error.with_remedy(remedy));
                };
                add_filter(&mut graph.edges[index].filter, filter);
            }
        }
        Ok(())
    }

    /// `shortestPath(…)` as a value: the path or null; `allShortestPaths(…)`: the list of paths.
    pub(super) fn shortest_expression(&mut self, pattern: &PathPattern, span: Span) -> Result<Expression> {
        let mark = self.scope.len();
        let outer = self.scope.slots();
        let mut graph = self.pattern(std::slice::from_ref(pattern), None, NewVariables::Declared)?;
        self.scope.truncate(mark);
        let (nodes, edges): (Vec<SlotId>, Vec<SlotId>) = graph.edges.iter().map(|edge| (edge.left, edge.slot)).unzip();
        if graph.edges.iter().any(|edge| !outer.contains(&edge.left) || !outer.contains(&edge.right)) {
            let error = error!(Semantic, "both ends of a shortest path that is a value must be bound variables");
            return Err(error.at(span).with_remedy("match the two nodes before"));
        }
        let path = self.slots.unnamed(SlotKind::Path);
        let value = self.path_of(pattern, &nodes, &edges);
        graph.paths.push((path, value));
        let plan = self.subplan(vec![BoundClause::Match { optional: false, graph }], &outer, &[path])?;
        let paths = at(span, ExpressionKind::Subquery { kind: SubqueryKind::Collect(path), plan: Arc::new(plan) });
        if pattern.shortest == Some(Shortest::All) {
            return Ok(paths);
        }
        let index = Box::new(at(span, ExpressionKind::Literal(Value::Int(0))));
        Ok(at(span, ExpressionKind::Subscript { object: Box::new(paths), index }))
    }
}

fn uses_edges(path: &Expression, edges: SlotId) -> bool {
    matches!(&path.kind, ExpressionKind::Path { steps, .. } if steps.contains(&PathStep::Edges(edges)))
}
