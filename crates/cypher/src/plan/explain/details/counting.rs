//! Counted trees in the words of Cypher.

use std::sync::Arc;

use model::Direction;

use super::{Details, label_list, type_list};
use crate::plan::{CountedBranch, CountedChain, CountedNode, CountedRule, Difference, NestedKind, SlotId};

/// Details of `CountMatches`: the slot, unless rows are only tested; then each edge of the trees as a pattern, then what must hold
/// besides.
pub(super) fn details(writer: &Details<'_>, count: SlotId, trees: &[CountedNode]) -> String {
    let mut parts = Vec::new();
    trees.iter().for_each(|tree| tree_parts(writer, tree, &mut parts));
    let parts = parts.join(", ");
    if trees.iter().all(is_test) { parts } else { format!("{} of {parts}", writer.names.of(count)) }
}

/// True of a tree that every row matches once or not at all.
fn is_test(tree: &CountedNode) -> bool {
    tree.branches.is_empty() && tree.nested.iter().all(|nested| nested.kind != NestedKind::Optional)
}

fn tree_parts(writer: &Details<'_>, tree: &CountedNode, parts: &mut Vec<String>) {
    for branch in &tree.branches {
        let walk = edge(&writer.names.of(tree.slot), branch.direction, &branch.types);
        parts.push(format!("{walk}{}", end(writer, branch)));
        tree_parts(writer, &branch.node, parts);
        if let Some(chain) = branch.chained {
            chain_parts(writer, tree, branch, chain, parts);
        }
    }
    for nested in &tree.nested {
        let mut inner = Vec::new();
        tree_parts(writer, &nested.node, &mut inner);
        let word = match nested.kind {
            NestedKind::Optional => "optional",
            NestedKind::Exists => "exists",
            NestedKind::Absent => "not exists",
        };
        parts.push(format!("{word} {{ {} }}", inner.join(", ")));
    }
    parts.extend(tree.rules.iter().map(|rule| self::rule(writer, tree, rule)));
}

fn chain_parts(
    writer: &Details<'_>,
    tree: &CountedNode,
    branch: &CountedBranch,
    chain: CountedChain,
    parts: &mut Vec<String>,
) {
    let next = |at: usize| &branch.node.branches[at].node;
    let not_back = |at: usize| format!("not to {} over the same edge", writer.names.of(next(at).slot));
    match chain {
        CountedChain::Back(at, Difference::Edges) => parts.push(not_back(at)),
        CountedChain::Back(at, Difference::Nodes) => {
            parts.push(format!("{} <> {}", writer.names.of(tree.slot), writer.names.of(next(at).slot)));
        }
        CountedChain::Row { second, third, first_second } => {
            parts.extend(first_second.then(|| not_back(second)));
            let last = writer.names.of(next(second).branches[third].node.slot);
            parts.push(format!("{} and {last} over different edges", writer.names.of(branch.node.slot)));
        }
    }
}

fn end(writer: &Details<'_>, branch: &CountedBranch) -> String {
    let node = &branch.node;
    let filter = node.predicate.as_ref().map_or_else(String::new, |it| format!(" WHERE {}", writer.expression(it)));
    format!("({}{}{filter})", writer.names.of(node.slot), label_list(&node.labels))
}

fn edge(from: &str, direction: Direction, types: &[Arc<str>]) -> String {
    let (left, right) = match direction {
        Direction::Out => ("-", "->"),
        Direction::In => ("<-", "-"),
        Direction::Both => ("-", "-"),
    };
    format!("({from}){left}[{}]{right}", type_list(types))
}

fn rule(writer: &Details<'_>, node: &CountedNode, rule: &CountedRule) -> String {
    let name = |branch: usize| writer.names.of(node.branches[branch].node.slot);
    match rule {
        CountedRule::Different(a, b, Difference::Edges) => {
            format!("{} and {} over different edges", name(*a), name(*b))
        }
        CountedRule::Different(a, b, Difference::Nodes) => format!("{} <> {}", name(*a), name(*b)),
        CountedRule::Apart { near, over, direction, types, different } => {
            let walk = edge(&name(*over), *direction, types);
            let different = if *different { format!(", {} <> {}", name(*near), name(*over)) } else { String::new() };
            format!("not exists {{ {walk}({}) }}{different}", name(*near))
        }
        CountedRule::DifferentAcross { near, over, far } => {
            let far = writer.names.of(node.branches[*over].node.branches[*far].node.slot);
            format!("{} <> {far}", name(*near))
        }
        CountedRule::EdgesAcross { near, over, far, near_over, over_far } => {
            let last = writer.names.of(node.branches[*over].node.branches[*far].node.slot);
            let pairs = [
                (*near_over, name(*near), name(*over)),
                (*over_far, name(*over), last.clone()),
                (true, name(*near), last),
            ];
            let differ = pairs.into_iter().filter(|(differ, ..)| *differ);
            let differ: Vec<String> = differ.map(|(_, a, b)| format!("{a} and {b} over different edges")).collect();
            differ.join(", ")
        }
    }
}
