//! Counts the matches of a pattern instead of making them.
//!
//! Before: an aggregation that only asks how many rows there are, or a `Distinct` or an aggregation that asks only which
//! there are, besides what it reads of few slots; its input walks edges. After: the parts of the pattern that nobody reads
//! are trees of `CountMatches`, whose numbers the aggregation adds up; rows without a match are gone. Edges and nodes that
//! must differ are taken off the product of what they could be by themselves.
//!
//! A pattern that starts from the scan of a label that nobody reads may have any of its nodes as root. The root is the
//! node from which the fewest edges are followed, since edges to leaves of which nothing is asked are only counted. A
//! pattern of which one node is read hangs from that node, unless it costs more to look at all of them than to walk from
//! the few where the planner starts.
//!
//! Paths of a fixed length are written out for this, if some of their edges are counted then.
//!
//! Under a limit the first distinct rows may be found soon, while counting looks at all edges of many nodes at once; so a
//! `Distinct` that is read only in part stays.

mod chain;
pub(super) mod optional;
mod pattern;
mod root;
mod rules;
pub(super) mod subplans;
pub(super) mod written;

use std::sync::Arc;

use model::Set;
use model::interrupt::check_this_thread;

use crate::catalog::CompileContext;
use crate::plan::conditions::at;
use crate::plan::{
    Aggregate, BinaryOperator, CountedNode, Expression, ExpressionKind, Operator, OperatorId, OperatorKind, SlotId,
    SlotKind, SubqueryKind,
};
use crate::slots::Slots;
use chain::Chain;
use pattern::{Pattern, Start};
pub(super) use rules::labelled;

/// Rewrites all such operators of a plan; true if there was one.
pub(super) fn rewrite_all(root: &mut Operator, slots: &mut Slots, context: &CompileContext<'_>) -> bool {
    let mut rewritten = false;
    for_each_reader(root, Read::Whole, &mut |operator, read| rewritten |= rewrite(operator, read, slots, context));
    rewritten
}

/// Part of its rows that an operator is asked for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Read {
    Whole,
    /// As many as suffice, perhaps few.
    First,
}

/// Visits every operator with what is read of it, inputs before what stands on them.
pub(super) fn for_each_reader(operator: &mut Operator, read: Read, visit: &mut dyn FnMut(&mut Operator, Read)) {
    let [of_input, of_others] = match &operator.kind {
        OperatorKind::Limit { .. } => [Read::First; 2],
        OperatorKind::SemiApply { .. } => [read, Read::First],
        OperatorKind::Aggregate { .. } | OperatorKind::Sort { .. } | OperatorKind::Top { .. } => [Read::Whole; 2],
        _ => [read; 2],
    };
    for (number, input) in operator.inputs_mut().into_iter().enumerate() {
        for_each_reader(input, if number == 0 { of_input } else { of_others }, visit);
    }
    operator.expressions_mut().into_iter().for_each(|expression| for_each_subplan(expression, visit));
    visit(operator, read);
}

fn for_each_subplan(expression: &mut Expression, visit: &mut dyn FnMut(&mut Operator, Read)) {
    if let ExpressionKind::Subquery { kind, plan } = &mut expression.kind {
        let read = if matches!(kind, SubqueryKind::Exists) { Read::First } else { Read::Whole };
        for_each_reader(Arc::make_mut(plan), read, visit);
    }
    expression.operands_mut().into_iter().for_each(|operand| for_each_subplan(operand, visit));
}

/// An operator that asks of its input's rows only which there are, or how many of each.
pub(super) struct Reader<'o> {
    pub(super) input: &'o mut Box<Operator>,
    /// Slots that it reads.
    pub(super) needed: Set<SlotId>,
    pub(super) aggregates: &'o mut [Aggregate],
}

impl<'o> Reader<'o> {
    /// An aggregation, or a `Distinct` that is read as a whole; `None` if it is no such operator, or reads something else of equal rows.
    pub(super) fn of(operator: &'o mut Operator, read: Read) -> Option<Reader<'o>> {
        if operator.expressions().into_iter().any(Expression::is_random) {
            return None;
        }
        let mut needed = Set::default();
        match &mut operator.kind {
            OperatorKind::Aggregate { input, keys, aggregates } => {
                if aggregates.is_empty() || !aggregates.iter().all(|it| it.takes_weights() || it.ignores_repeats()) {
                    return None;
                }
                keys.iter().for_each(|(_, key)| key.free_slots(&mut needed));
                aggregates.iter().flat_map(|it| &it.arguments).for_each(|argument| argument.free_slots(&mut needed));
                Some(Reader { input, needed, aggregates })
            }
            OperatorKind::Distinct { input, slots } if read == Read::Whole => {
                let aggregates = [].as_mut_slice();
                if !matches!(input.kind, OperatorKind::Project { .. }) {
                    needed.extend(slots.iter().copied());
                    return Some(Reader { input, needed, aggregates });
                }
                let OperatorKind::Project { input, items } = &mut input.kind else { return None };
                items.iter().for_each(|(_, value)| value.free_slots(&mut needed));
                Some(Reader { input, needed, aggregates })
            }
            _ => None,
        }
    }

    /// True if it matters how often a row comes.
    pub(super) fn counts(&self) -> bool {
        self.aggregates.iter().any(Aggregate::takes_weights)
    }

    /// Makes it take each row as often as a number in it says.
    pub(super) fn weigh(&mut self, count: SlotId) {
        self.aggregates.iter_mut().for_each(|aggregate| weigh(aggregate, count));
    }
}

/// Rewrites one operator, if it is such an aggregation or `Distinct`; true if it did.
fn rewrite(operator: &mut Operator, read: Read, slots: &mut Slots, context: &CompileContext<'_>) -> bool {
    let Some(mut reader) = Reader::of(operator, read) else { return false };
    let asked = Asked { needed: &reader.needed, number: reader.counts() };
    let input = &mut *reader.input;
    let written = if asked.number { written::written_out(input, slots) } else { None };
    // A path of a fixed length of which nothing can be counted stays one.
    let counted = written
        .and_then(|(plan, nodes)| counted(&plan, &asked, context).filter(|it| !written::walks_to_all(&it.base, &nodes)))
        .or_else(|| counted(input, &asked, context));
    let Some(counted) = counted else { return false };
    let count = slots.unnamed(SlotKind::Any);
    **input = counted.operator(count);
    reader.weigh(count);
    true
}

/// Use that is made of the rows of a chain.
struct Asked<'a> {
    /// Slots that are read.
    needed: &'a Set<SlotId>,
    /// The number of times that a row is there counts, rather than only that it is.
    number: bool,
}

/// Rows and the trees that hang from them.
struct Counted {
    base: Operator,
    trees: Vec<CountedNode>,
}

impl Counted {
    /// The operator that puts the number of matches of each row into a slot.
    fn operator(self, count: SlotId) -> Operator {
        let estimated_rows = self.base.estimated_rows;
        let kind = OperatorKind::CountMatches { input: Box::new(self.base), count, trees: self.trees };
        Operator { id: OperatorId(0), estimated_rows, kind }
    }
}

fn counted(plan: &Operator, asked: &Asked<'_>, context: &CompileContext<'_>) -> Option<Counted> {
    let chain = Chain::of(plan)?;
    rooted_anywhere(&chain, None, asked, context)
        .or_else(|| rooted_in_rows(&chain, asked, context))
        // A tree from another node may count more than one from the node that is looked up.
        .or_else(|| {
            let (chain, looked_up) = chain.with_scan()?;
            rooted_anywhere(&chain, Some(looked_up), asked, context)
        })
}

/// Makes an aggregate take each row as often as its number says.
fn weigh(aggregate: &mut Aggregate, count: SlotId) {
    if !aggregate.takes_weights() {
        return;
    }
    let span = aggregate.span;
    let number = at(span, ExpressionKind::Slot(count));
    if &*aggregate.function != "count" {
        let weight = match aggregate.arguments.len() {
            // It has weights already.
            2 => aggregate.arguments.pop().map(|weight| {
                let (left, right) = (Box::new(weight), Box::new(number.clone()));
                at(span, ExpressionKind::Binary { operator: BinaryOperator::Multiply, left, right })
            }),
            _ => None,
        };
        aggregate.arguments.push(weight.unwrap_or(number));
        return;
    }
    let weighed = match aggregate.arguments.pop() {
        None => number,
        Some(value) => {
            let zero = at(span, ExpressionKind::Literal(model::Value::Int(0)));
            let is_there = at(span, ExpressionKind::IsNotNull(Box::new(value)));
            let (whens, otherwise) = (vec![(is_there, number)], Some(Box::new(zero)));
            at(span, ExpressionKind::Case { operand: None, whens, otherwise })
        }
    };
    aggregate.function = Arc::from("sum");
    aggregate.arguments = vec![weighed];
}

/// The whole pattern as one tree from a scan, of another node than `but`, if that is possible: then nothing of it is matched.
fn rooted_anywhere(
    chain: &Chain,
    but: Option<SlotId>,
    asked: &Asked<'_>,
    context: &CompileContext<'_>,
) -> Option<Counted> {
    let (start, labels) = chain.scanned()?;
    let pattern = Pattern::of(chain, Start::Counted(start, labels), &Set::default(), context).ok()?;
    if !pattern.is_whole(chain) {
        return None;
    }
    let roots = root::candidates(&pattern, start, asked.needed, chain.rows_walked(), context)?;
    // Cancellation is reported by the compilation itself.
    let roots = roots.into_iter().filter(|root| Some(*root) != but).take_while(|_| check_this_thread().is_ok());
    let (root, tree) = roots.into_iter().find_map(|root| Some((root, pattern.tree(root, context).ok()?)))?;
    // One edge is counted by the executor, if it leads away from where the pattern starts.
    if asked.number && root == start && pattern.edges.len() + pattern.nested.len() < 2 {
        return None;
    }
    let node = pattern.nodes.get(&root)?;
    Some(Counted { base: root::scan(chain, root, node, context), trees: vec![tree] })
}

/// Parts of the pattern that nobody reads, as trees from the slots of rows that are still made.
fn rooted_in_rows(chain: &Chain, asked: &Asked<'_>, context: &CompileContext<'_>) -> Option<Counted> {
    let mut kept = asked.needed.clone();
    loop {
        check_this_thread().ok()?;
        let found = Pattern::of(chain, Start::Rows, &kept, context).and_then(|pattern| {
            let roots = pattern.roots();
            let trees: Vec<CountedNode> =
                roots.iter().map(|&root| pattern.tree(root, context)).collect::<Result<_, _>>()?;
            Ok((pattern, trees))
        });
        match found {
            Ok((pattern, trees)) if pays(&pattern, &trees, asked) => {
                return Some(Counted { base: chain.without(&pattern), trees });
            }
            Ok(_) => return None,
            Err(more) => {
                let before = kept.len();
                kept.extend(more);
                if kept.len() == before {
                    return None;
                }
            }
        }
    }
}

/// One edge to a node of which nothing is asked is counted by the executor anyway.
fn pays(pattern: &Pattern, trees: &[CountedNode], asked: &Asked<'_>) -> bool {
    let [tree] = trees else { return !trees.is_empty() };
    let is_single = tree.nested.is_empty() && tree.branches.len() == 1 && tree.branches[0].node.is_bare();
    !is_single || !pattern.taken.contains(&0) || pattern.tests > 0 || !asked.number
}

/// A condition whose value no node of a store can make an error, so that it may be asked of any.
pub(super) fn cannot_fail(expression: &Expression, slot: SlotId) -> bool {
    let is_slot = |object: &Expression| matches!(object.kind, ExpressionKind::Slot(held) if held == slot);
    let is_value = |value: &Expression| match &value.kind {
        ExpressionKind::Literal(_) | ExpressionKind::Parameter(_) => true,
        ExpressionKind::Property { object, .. } => is_slot(object),
        _ => false,
    };
    match &expression.kind {
        ExpressionKind::And(items) | ExpressionKind::Or(items) => items.iter().all(|item| cannot_fail(item, slot)),
        ExpressionKind::Not(operand) => cannot_fail(operand, slot),
        ExpressionKind::HasLabels { object, .. } => is_slot(object),
        ExpressionKind::IsNull(value) | ExpressionKind::IsNotNull(value) => is_value(value) || is_slot(value),
        ExpressionKind::Binary { operator, left, right } => match operator {
            BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual => is_value(left) && is_value(right),
            BinaryOperator::In => {
                let is_list = match &right.kind {
                    ExpressionKind::Literal(model::Value::List(_)) => true,
                    ExpressionKind::List(items) => items.iter().all(is_value),
                    _ => false,
                };
                is_list && is_value(left)
            }
            _ => false,
        },
        _ => false,
    }
}
