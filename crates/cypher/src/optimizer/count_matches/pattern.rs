//! Graph that a chain matches: nodes, edges, and what must hold of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Direction, Set};

use super::cannot_fail;
use super::chain::{Chain, Link, LinkKind};
use super::rules::Oriented;
use crate::catalog::CompileContext;
use crate::plan::{
    BinaryOperator, CountedNode, Expression, ExpressionKind, NestedKind, Operator, OperatorKind, SlotId,
};

/// See the module. What it takes from the chain is to be counted; the rest of the chain stays.
#[derive(Default)]
pub(super) struct Pattern {
    pub(super) nodes: BTreeMap<SlotId, PatternNode>,
    pub(super) edges: Vec<PatternEdge>,
    pub(super) nested: Vec<PatternNested>,
    pub(super) constraints: Vec<Constraint>,
    /// The links of the chain that it stands for, by their places.
    pub(super) taken: Set<usize>,
    /// Number of those links that are no edges.
    pub(super) tests: usize,
    /// Slots that only counting knows.
    counted: Set<SlotId>,
    /// Slots that stay.
    kept: Set<SlotId>,
}

/// Start of a chain.
#[derive(Clone, Copy)]
pub(super) enum Start<'c> {
    /// Rows that stay.
    Rows,
    /// A scan of nodes with these labels, which may become part of the pattern.
    Counted(SlotId, &'c [Arc<str>]),
}

/// A node, and what is asked of it alone.
#[derive(Default)]
pub(super) struct PatternNode {
    pub(super) labels: Vec<Arc<str>>,
    pub(super) predicates: Vec<Expression>,
}

pub(super) struct PatternEdge {
    pub(super) left: SlotId,
    pub(super) right: SlotId,
    /// Seen from the left.
    pub(super) direction: Direction,
    pub(super) types: Vec<Arc<str>>,
    slot: Option<SlotId>,
}

/// A tree that hangs from a node, but counts otherwise.
pub(super) struct PatternNested {
    pub(super) at: SlotId,
    pub(super) kind: NestedKind,
    pub(super) node: CountedNode,
}

/// Condition on two parts of the pattern.
#[derive(Clone, PartialEq)]
pub(super) enum Constraint {
    /// Two edges differ, by their places.
    Edges(usize, usize),
    /// Two nodes differ.
    Nodes(SlotId, SlotId),
    /// No such edge leads from one node to another.
    Apart { from: SlotId, to: SlotId, direction: Direction, types: Vec<Arc<str>> },
}

/// Slots that must be kept for a pattern to be counted.
pub(super) type MustKeep = Vec<SlotId>;

impl Pattern {
    /// The part of a chain that binds none of these slots, nor others that what stays needs.
    pub(super) fn of(
        chain: &Chain,
        start: Start<'_>,
        kept: &Set<SlotId>,
        context: &CompileContext<'_>,
    ) -> Result<Pattern, MustKeep> {
        let kept = closure(&chain.links, kept);
        let mut pattern = Pattern::default();
        if let Start::Counted(slot, labels) = start {
            pattern.counted.insert(slot);
            pattern.nodes.entry(slot).or_default().labels.extend(labels.iter().cloned());
        }
        for (at, link) in chain.links.iter().enumerate() {
            let LinkKind::Expand { from, direction, types, edge, to, .. } = &link.kind else { continue };
            if kept.contains(to) || edge.is_some_and(|edge| kept.contains(&edge)) {
                continue;
            }
            pattern.taken.insert(at);
            pattern.counted.insert(*to);
            pattern.counted.extend(*edge);
            pattern.nodes.entry(*to).or_default();
            pattern.nodes.entry(*from).or_default();
            let (left, right, types) = (*from, *to, types.clone());
            pattern.edges.push(PatternEdge { left, right, direction: *direction, types, slot: *edge });
        }
        pattern.kept = kept;
        for (at, link) in chain.links.iter().enumerate() {
            pattern.add(at, link, chain, context)?;
        }
        Ok(pattern)
    }

    /// True if nothing of the chain is left.
    pub(super) fn is_whole(&self, chain: &Chain) -> bool {
        self.taken.len() == chain.links.len()
    }

    /// Nodes that are bound already, from which trees hang.
    pub(super) fn roots(&self) -> Vec<SlotId> {
        let ends = self.edges.iter().map(|edge| edge.left).chain(self.nested.iter().map(|nested| nested.at));
        let mut roots: Vec<SlotId> = ends.filter(|slot| !self.counted.contains(slot)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// The tree that hangs from a node.
    pub(super) fn tree(&self, root: SlotId, context: &CompileContext<'_>) -> Result<CountedNode, MustKeep> {
        Oriented::of(self, root).tree(context)
    }

    fn edge_of(&self, slot: SlotId) -> Option<usize> {
        self.edges.iter().position(|edge| edge.slot == Some(slot))
    }

    fn counted_among(&self, slots: impl IntoIterator<Item = SlotId>) -> MustKeep {
        slots.into_iter().filter(|slot| self.counted.contains(slot)).collect()
    }

    fn add(&mut self, at: usize, link: &Link, chain: &Chain, context: &CompileContext<'_>) -> Result<(), MustKeep> {
        match &link.kind {
            LinkKind::Expand { to, distinct_from, edge, .. } => {
                let Some(this) = self.edges.iter().position(|it| it.right == *to).filter(|_| self.taken.contains(&at))
                else {
                    return Ok(());
                };
                for other in distinct_from.iter().filter(|other| Some(**other) != *edge) {
                    let other = self.edge_of(*other).ok_or_else(|| vec![*to])?;
                    self.constraints.push(Constraint::Edges(this, other));
                }
                Ok(())
            }
            LinkKind::Condition(predicate) => self.add_condition(at, predicate),
            LinkKind::Optional { subplan, slots } => {
                let is_used = |other: &Link| slots.iter().any(|slot| other.kind.uses().contains(slot));
                let users = chain.links.iter().enumerate().filter(|(place, _)| *place != at);
                let must_stay =
                    users.map(|(_, other)| other).any(is_used) || slots.iter().any(|slot| self.kept.contains(slot));
                self.add_nested(at, subplan, NestedKind::Optional, must_stay, context)
            }
            LinkKind::Test { subplan, anti } => {
                if let Some(constraint) = self.apart(subplan).filter(|_| *anti) {
                    self.take(at);
                    self.constraints.push(constraint);
                    return Ok(());
                }
                // A test of what is bound already finds out sooner than counting does.
                let is_bound = !link.kind.uses().iter().any(|slot| self.counted.contains(slot));
                let kind = if *anti { NestedKind::Absent } else { NestedKind::Exists };
                self.add_nested(at, subplan, kind, is_bound, context)
            }
            LinkKind::Other(_) => Ok(()),
        }
    }

    fn take(&mut self, at: usize) {
        self.taken.insert(at);
        self.tests += 1;
    }

    fn add_condition(&mut self, at: usize, predicate: &Expression) -> Result<(), MustKeep> {
        let mut slots = Set::default();
        predicate.free_slots(&mut slots);
        let counted = self.counted_among(slots.iter().copied());
        if let Some((a, b)) = different_slots(predicate).filter(|_| !counted.is_empty()) {
            let constraint = match (self.edge_of(a), self.edge_of(b)) {
                (Some(a), Some(b)) => Constraint::Edges(a, b),
                (None, None) if self.nodes.contains_key(&a) && self.nodes.contains_key(&b) => Constraint::Nodes(a, b),
                _ => return Err(counted),
            };
            self.take(at);
            self.constraints.push(constraint);
            return Ok(());
        }
        let only = slots.iter().next().copied().filter(|_| slots.len() == 1);
        let is_scanned_node = |slot: &SlotId| self.nodes.contains_key(slot);
        match only.filter(is_scanned_node) {
            Some(slot) if cannot_fail(predicate, slot) && self.counted.contains(&slot) => {
                self.take(at);
                let node = self.nodes.entry(slot).or_default();
                match &predicate.kind {
                    ExpressionKind::HasLabels { labels, .. } => node.labels.extend(labels.iter().cloned()),
                    _ => node.predicates.push(predicate.clone()),
                }
                Ok(())
            }
            _ if counted.is_empty() => Ok(()),
            _ => Err(counted),
        }
    }

    /// Takes a subplan as a nested tree, unless it must stay; if it can neither, its arguments must be kept.
    fn add_nested(
        &mut self,
        at: usize,
        subplan: &Operator,
        kind: NestedKind,
        must_stay: bool,
        context: &CompileContext<'_>,
    ) -> Result<(), MustKeep> {
        let mut arguments = Set::default();
        subplan.arguments(&mut |taken| arguments.extend(taken.iter().copied()));
        let nested = if must_stay { None } else { nested_tree(subplan, context) };
        match nested {
            Some(node) => {
                self.take(at);
                self.nodes.entry(node.slot).or_default();
                self.nested.push(PatternNested { at: node.slot, kind, node });
                Ok(())
            }
            _ => {
                let counted = self.counted_among(arguments);
                if counted.is_empty() { Ok(()) } else { Err(counted) }
            }
        }
    }

    /// A subplan that is one edge between two nodes of the pattern.
    fn apart(&self, subplan: &Operator) -> Option<Constraint> {
        let OperatorKind::Expand { input, from, direction, types, to, into: true, distinct_from, choice: None, .. } =
            &subplan.kind
        else {
            return None;
        };
        let is_plain = matches!(input.kind, OperatorKind::Argument { .. }) && distinct_from.is_empty() && from != to;
        let is_here = [from, to].into_iter().any(|slot| self.counted.contains(slot))
            && [from, to].into_iter().all(|slot| self.nodes.contains_key(slot));
        let (direction, types) = (*direction, types.clone());
        (is_plain && is_here).then_some(Constraint::Apart { from: *from, to: *to, direction, types })
    }
}

/// A subplan that is wholly a tree which hangs from its only argument.
pub(super) fn nested_tree(subplan: &Operator, context: &CompileContext<'_>) -> Option<CountedNode> {
    let chain = Chain::of(subplan)?;
    let root = chain.argument()?;
    let pattern = Pattern::of(&chain, Start::Rows, &Set::default(), context).ok()?;
    if !pattern.is_whole(&chain) || pattern.roots() != [root] {
        return None;
    }
    pattern.tree(root, context).ok()
}

/// Two slots of which a condition says that they differ.
fn different_slots(predicate: &Expression) -> Option<(SlotId, SlotId)> {
    let (wanted, compared) = match &predicate.kind {
        ExpressionKind::Not(operand) => (BinaryOperator::Equal, &**operand),
        _ => (BinaryOperator::NotEqual, predicate),
    };
    match &compared.kind {
        ExpressionKind::Binary { operator, left, right } if *operator == wanted => match (&left.kind, &right.kind) {
            (ExpressionKind::Slot(a), ExpressionKind::Slot(b)) if a != b => Some((*a, *b)),
            _ => None,
        },
        _ => None,
    }
}

/// These slots, and those that what binds them needs.
fn closure(links: &[Link], kept: &Set<SlotId>) -> Set<SlotId> {
    let mut kept = kept.clone();
    loop {
        let before = kept.len();
        for link in links {
            let stays = match &link.kind {
                LinkKind::Expand { edge, to, .. } => kept.contains(to) || edge.is_some_and(|edge| kept.contains(&edge)),
                LinkKind::Optional { slots, .. } => slots.iter().any(|slot| kept.contains(slot)),
                LinkKind::Condition(_) | LinkKind::Test { .. } => false,
                LinkKind::Other(_) => true,
            };
            if stays {
                kept.extend(link.kind.uses());
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}
