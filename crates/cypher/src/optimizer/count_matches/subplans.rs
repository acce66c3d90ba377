//! Subplans of rows that only ask how often a pattern matches, or whether it does.
//!
//! Before: a `SemiApply`, or `COUNT { }` or `EXISTS { }` in an expression, over a pattern that hangs from one node of the row. After:
//! a `CountMatches`, which remembers what nodes stand for, in place of matches that are made for each row anew.
//! Needs: the pattern is a tree, or ends in trees, and walking it is expected to make many rows. An existence test is rewritten only if
//! all rows are read and the walks cover a good part of the edges: a walk stops at its first match, counting reads all edges of a
//! node.

use std::sync::Arc;

use model::Set;

use super::chain::{Chain, LinkKind};
use super::pattern::nested_tree;
use super::rules::edge_count;
use super::{Asked, Counted, Read, for_each_reader, rooted_in_rows};
use crate::catalog::CompileContext;
use crate::optimizer::{FIRST_MATCH_ROWS, Use};
use crate::plan::{
    CountedNested, CountedNode, Expression, ExpressionKind, NestedKind, Operator, OperatorId, OperatorKind, SlotKind,
    SubqueryKind,
};
use crate::slots::Slots;

/// Rows that walks make, below which they are left as they are: to remember a node takes several times what a row does.
const WALKED_ROWS_MIN: f64 = 10_000.0;
/// Edges of the types of a pattern for each row that walks are expected to make: hubs may have any of them.
const EDGES_OF_ROW_MAX: f64 = 8.0;

/// Rewrites all such subplans.
pub(in crate::optimizer) fn rewrite_all(
    root: &mut Operator,
    slots: &mut Slots,
    context: &CompileContext<'_>,
    of_rule: Use,
) {
    for_each_reader(root, Read::Whole, &mut |operator, read| {
        let mut rule = Rule { slots, context, of_rule, asks_all: read == Read::Whole };
        rule.test(operator);
        let rows = operator.inputs().first().map_or(1.0, |input| input.estimated_rows);
        operator.expressions_mut().into_iter().for_each(|expression| rule.count(expression, rows));
    });
}

struct Rule<'a, 'c> {
    slots: &'a mut Slots,
    context: &'a CompileContext<'c>,
    of_rule: Use,
    /// All rows are asked for.
    asks_all: bool,
}

impl Rule<'_, '_> {
    /// Counts what a `SemiApply` tests.
    fn test(&mut self, operator: &mut Operator) {
        let OperatorKind::SemiApply { input, subplan, anti } = &operator.kind else { return };
        if !self.pays(subplan, input.estimated_rows) {
            return;
        }
        let Some(node) = nested_tree(subplan, self.context) else { return };
        let kind = if *anti { NestedKind::Absent } else { NestedKind::Exists };
        let root = CountedNode::bare(node.slot);
        let tree = CountedNode { nested: vec![CountedNested { kind, node }], ..root };
        let count = self.slots.unnamed(SlotKind::Any);
        operator.kind = OperatorKind::CountMatches { input: input.clone(), count, trees: vec![tree] };
    }

    /// Counts what subqueries of an expression do, which is asked for that number of rows.
    fn count(&mut self, expression: &mut Expression, rows: f64) {
        if let ExpressionKind::Subquery { kind, plan } = &mut expression.kind {
            let counted = match kind {
                SubqueryKind::Count => {
                    Chain::of(plan).filter(|chain| are_many(chain, rows, self.of_rule)).and_then(|chain| {
                        let asked = Asked { needed: &Set::default(), number: true };
                        rooted_in_rows(&chain, &asked, self.context)
                    })
                }
                SubqueryKind::Exists if self.pays(plan, rows) => nested_tree(plan, self.context).map(|tree| {
                    let kind = OperatorKind::Argument { slots: vec![tree.slot] };
                    Counted { base: Operator { id: OperatorId(0), estimated_rows: 1.0, kind }, trees: vec![tree] }
                }),
                SubqueryKind::Exists | SubqueryKind::Collect(_) => None,
            };
            if let Some(counted) = counted {
                *plan = Arc::new(counted.operator(self.slots.unnamed(SlotKind::Any)));
            }
        }
        expression.operands_mut().into_iter().for_each(|operand| self.count(operand, rows));
    }

    /// True if it costs less to count the matches of a subplan for that number of rows than to look for the first of each.
    fn pays(&self, subplan: &Operator, rows: f64) -> bool {
        if !self.asks_all && self.of_rule != Use::Always {
            return false;
        }
        let Some(chain) = Chain::of(subplan).filter(|chain| are_many(chain, rows, self.of_rule)) else { return false };
        let made = rows * chain.rows_walked();
        let walked = rows * chain.rows_walked().min(FIRST_MATCH_ROWS);
        let edges = edges_of(&chain, self.context);
        let pays = made.min(edges) <= walked && edges <= EDGES_OF_ROW_MAX * walked;
        pays || self.of_rule == Use::Always
    }
}

/// True if walks along a chain from that number of rows make many.
pub(super) fn are_many(chain: &Chain, rows: f64, of_rule: Use) -> bool {
    of_rule == Use::Always || rows * chain.rows_walked() >= WALKED_ROWS_MIN
}

/// The edges that counting follows at most: those of each step of a chain once.
fn edges_of(chain: &Chain, context: &CompileContext<'_>) -> f64 {
    let of_link = |kind: &LinkKind| match kind {
        LinkKind::Expand { types, .. } => edge_count(types, context),
        _ => 0.0,
    };
    chain.links.iter().map(|link| of_link(&link.kind)).sum()
}
