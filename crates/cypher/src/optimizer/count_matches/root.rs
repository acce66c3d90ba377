//! From which node of a pattern a tree should hang.

use model::Set;

use super::chain::Chain;
use super::pattern::{Pattern, PatternEdge, PatternNode};
use super::rules::{Oriented, edge_count, labelled};
use crate::catalog::CompileContext;
use crate::plan::conditions::conjunction;
use crate::plan::{Operator, OperatorId, OperatorKind, SlotId};

/// Walked rows that take the time of one counted edge. The planner's numbers of rows can be far too low, while the cost of
/// counting has the number of edges as its bound.
const ROWS_OF_EDGE: f64 = 0.5;

/// The nodes from which the tree may hang, best first; `None` if it is better to walk `rows_walked` rows from where the planner
/// starts.
pub(super) fn candidates(
    pattern: &Pattern,
    start: SlotId,
    needed: &Set<SlotId>,
    rows_walked: f64,
    context: &CompileContext<'_>,
) -> Option<Vec<SlotId>> {
    let rows = |slot: SlotId| pattern.nodes.get(&slot).map_or(0.0, |node| labelled(&node.labels, context));
    let edges = |edge: &PatternEdge| edge_count(&edge.types, context);
    let nodes = context.statistics.nodes as f64;
    let cost = |slot| Oriented::of(pattern, slot).cost(nodes, &rows, &edges);
    let read: Vec<SlotId> = needed.iter().copied().collect();
    let pays = |slot: SlotId| cost(slot) * ROWS_OF_EDGE <= rows_walked;
    let starts_at_few = !pattern.nodes.get(&start)?.predicates.is_empty();
    match read.as_slice() {
        [] => {}
        [slot] if *slot == start => return Some(vec![start]),
        [slot] if pattern.nodes.contains_key(slot) => {
            return pays(*slot).then(|| vec![*slot]);
        }
        _ => return None,
    }
    let mut roots: Vec<(f64, SlotId)> = pattern.nodes.keys().map(|&slot| (cost(slot), slot)).collect();
    roots.sort_by(|(a, x), (b, y)| a.total_cmp(b).then_with(|| (*x != start).cmp(&(*y != start))).then(x.cmp(y)));
    if starts_at_few {
        // The planner starts where a condition leaves few nodes. A tree cannot hang there from every pattern.
        roots.retain(|(_, slot)| *slot == start || pays(*slot));
        roots.sort_by_key(|(_, slot)| *slot != start);
    }
    Some(roots.into_iter().map(|(_, slot)| slot).collect())
}

/// The nodes of the root.
pub(super) fn scan(chain: &Chain, root: SlotId, node: &PatternNode, context: &CompileContext<'_>) -> Operator {
    let rows = labelled(&node.labels, context);
    let scan = chain.scan_of(root, node.labels.clone(), rows);
    match conjunction(node.predicates.clone()) {
        None => scan,
        Some(predicate) => {
            let kind = OperatorKind::Filter { input: Box::new(scan), predicate };
            Operator { id: OperatorId(0), estimated_rows: rows * chain.share_left(root), kind }
        }
    }
}
