//! Counted trees ready to be evaluated.

use std::sync::Arc;

use cypher::plan::{CountedBranch, CountedChain, CountedNode, CountedRule, Difference, NestedKind};
use model::{Direction, Map, Result};

use crate::chunk::Layout;
use crate::expression::CompiledExpression;
use crate::lowering::Lowering;

/// A node of a tree.
pub(super) struct Node {
    pub(super) labels: Vec<Arc<str>>,
    pub(super) predicate: Option<CompiledExpression>,
    pub(super) branches: Vec<Branch>,
    pub(super) nested: Vec<(NestedKind, Node)>,
    pub(super) groups: Vec<Group>,
    /// A branch that stands alone, without which the node's number is wanted too.
    pub(super) aside: Option<usize>,
    /// The edges of that branch from the node to itself are wanted too.
    pub(super) counts_loops: bool,
    /// The number of its table.
    pub(super) table: usize,
    /// Direction and types of the edges that lead to it.
    pub(super) reached: Option<(Direction, Vec<Arc<str>>)>,
}

/// Direction and types of edges that are looked at.
pub(super) type Looked<'b> = (Direction, &'b [Arc<str>]);

/// An edge to the next node.
pub(super) struct Branch {
    pub(super) direction: Direction,
    pub(super) types: Vec<Arc<str>>,
    pub(super) node: Node,
    pub(super) chained: Option<CountedChain>,
}

/// Branches whose numbers depend on each other.
pub(super) enum Group {
    /// One that depends on none.
    Alone(usize),
    /// Branches that differ.
    Different(Different),
    /// See [`CountedRule::Apart`]; with the number of the list of such edges.
    Apart { near: usize, over: usize, direction: Direction, types: Vec<Arc<str>>, different: bool, list: usize },
    /// See [`CountedRule::DifferentAcross`].
    Across { near: usize, over: usize, far: usize },
    /// See [`CountedRule::EdgesAcross`].
    EdgesAcross(EdgesAcross),
}

/// Three edges in a row, by their branches, and which of them must differ besides the first and the last.
pub(super) struct EdgesAcross {
    pub(super) near: usize,
    pub(super) over: usize,
    pub(super) far: usize,
    pub(super) near_over: bool,
    pub(super) over_far: bool,
}

/// Branches that differ, and how their matches are counted: by inclusion and exclusion of those that coincide.
pub(super) struct Different {
    pub(super) members: Vec<usize>,
    pub(super) by: Difference,
    /// Each a factor, and sets of members (as bits) that coincide; each member is in one set.
    pub(super) terms: Vec<(i64, Vec<u8>)>,
}

impl Node {
    /// True if every node stands for one match.
    pub(super) fn is_bare(&self) -> bool {
        self.labels.is_empty() && self.predicate.is_none() && self.branches.is_empty() && self.nested.is_empty()
    }

    /// True if labels are all that is asked of a node.
    pub(super) fn is_only_labelled(&self) -> bool {
        let asks_more = self.predicate.is_some() || !self.branches.is_empty() || !self.nested.is_empty();
        !self.labels.is_empty() && !asks_more
    }

    /// Numbers that are kept of each node: that of its matches, then the others that are wanted.
    pub(super) fn numbers(&self) -> usize {
        1 + usize::from(self.aside.is_some()) + usize::from(self.counts_loops)
    }

    /// The nodes of which something is asked and that its branches and those of its nested trees lead to.
    pub(super) fn below(&self) -> Vec<&Node> {
        let own = self.branches.iter().map(|branch| &branch.node).filter(|node| !node.is_bare());
        own.chain(self.nested.iter().flat_map(|(_, nested)| nested.below())).collect()
    }

    /// True if a node that is not there is matched once.
    pub(super) fn matches_null(&self) -> bool {
        let is_there = |(kind, node): &(NestedKind, Node)| match kind {
            NestedKind::Optional => true,
            NestedKind::Exists => node.matches_null(),
            NestedKind::Absent => !node.matches_null(),
        };
        self.branches.is_empty() && self.nested.iter().all(is_there)
    }
}

impl Branch {
    /// True if the number of edges is all that counts.
    pub(super) fn is_bare(&self) -> bool {
        self.node.is_bare() && self.chained.is_none()
    }

    /// The edges of a node that are compared with each other: of this branch, and of one further on that leads back to the node.
    pub(super) fn compared(&self) -> Vec<Looked<'_>> {
        let back = match self.chained {
            Some(CountedChain::Row { second, .. }) => Some(&self.node.branches[second]),
            _ => None,
        };
        let back = back.map(|back| (back.direction.reverse(), back.types.as_slice()));
        std::iter::once((self.direction, self.types.as_slice())).chain(back).collect()
    }
}

/// Parts of a node that are wanted besides its number.
#[derive(Default)]
struct Aside {
    /// The branch without which it is wanted.
    branch: Option<usize>,
    /// The same of the node that this branch leads to.
    next: Option<usize>,
    counts_loops: bool,
}

/// True if an edge that is followed in the one direction can be followed in the other from the node that it leads to.
fn may_turn(direction: Direction, again: Direction) -> bool {
    direction == Direction::Both || again == Direction::Both || direction != again
}

/// Compiles the trees of one operator, and numbers their tables.
pub(super) struct Compiler<'l> {
    lowering: &'l mut Lowering,
    pub(super) tables: usize,
    pub(super) lists: usize,
}

impl<'l> Compiler<'l> {
    pub(super) fn new(lowering: &'l mut Lowering) -> Compiler<'l> {
        Compiler { lowering, tables: 0, lists: 0 }
    }

    /// Compiles a node and what hangs from it.
    pub(super) fn node(&mut self, node: &CountedNode) -> Result<Node> {
        self.node_with(node, Aside::default())
    }

    fn node_with(&mut self, node: &CountedNode, Aside { branch: aside, next, counts_loops }: Aside) -> Result<Node> {
        let table = self.tables;
        self.tables += 1;
        let layout = Layout::new(vec![node.slot]);
        let predicate = node.predicate.as_ref().map(|it| self.lowering.compile(it, &layout)).transpose()?;
        let mut branches = Vec::with_capacity(node.branches.len());
        for (at, branch) in node.branches.iter().enumerate() {
            let across = node.rules.iter().find_map(|rule| match rule {
                CountedRule::DifferentAcross { over, far, .. } | CountedRule::EdgesAcross { over, far, .. }
                    if *over == at =>
                {
                    Some(*far)
                }
                _ => None,
            });
            let across = across.or(next.filter(|_| aside == Some(at)));
            branches.push(self.branch(branch, across)?);
        }
        let mut nested = Vec::with_capacity(node.nested.len());
        for item in &node.nested {
            nested.push((item.kind, self.node(&item.node)?));
        }
        let mut groups = self.groups(node);
        // Cheap ones first, so that nodes that come to nothing are not followed; the branch aside last.
        let is_bare = |at: usize| branches[at].is_bare();
        groups.sort_by_key(|group| match group {
            Group::Alone(at) if aside == Some(*at) => 3,
            Group::Alone(at) if is_bare(*at) => 0,
            Group::Alone(_) => 1,
            _ => 2,
        });
        Ok(Node {
            labels: node.labels.clone(),
            predicate,
            branches,
            nested,
            groups,
            aside,
            counts_loops,
            table,
            reached: None,
        })
    }

    fn branch(&mut self, branch: &CountedBranch, across: Option<usize>) -> Result<Branch> {
        let aside = match branch.chained {
            None => Aside { branch: across, ..Aside::default() },
            Some(CountedChain::Back(at, _)) => Aside { branch: Some(at), ..Aside::default() },
            Some(CountedChain::Row { second, third, .. }) => {
                let last = branch.node.branches[second].node.branches[third].direction;
                Aside { branch: Some(second), next: Some(third), counts_loops: may_turn(branch.direction, last) }
            }
        };
        let mut node = self.node_with(&branch.node, aside)?;
        node.reached = Some((branch.direction, branch.types.clone()));
        Ok(Branch { direction: branch.direction, types: branch.types.clone(), node, chained: branch.chained })
    }

    fn groups(&mut self, node: &CountedNode) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut is_grouped = vec![false; node.branches.len()];
        for rule in &node.rules {
            match rule {
                CountedRule::Different(a, _, by) => {
                    if !is_grouped[*a] {
                        let different = Different::of(*a, *by, &node.rules);
                        different.members.iter().for_each(|&member| is_grouped[member] = true);
                        groups.push(Group::Different(different));
                    }
                }
                CountedRule::Apart { near, over, direction, types, different } => {
                    let (list, types) = (self.lists, types.clone());
                    self.lists += 1;
                    let (near, over) = (*near, *over);
                    (is_grouped[near], is_grouped[over]) = (true, true);
                    let (direction, different) = (*direction, *different);
                    groups.push(Group::Apart { near, over, direction, types, different, list });
                }
                CountedRule::DifferentAcross { near, over, far } => {
                    let (near, over, far) = (*near, *over, *far);
                    (is_grouped[near], is_grouped[over]) = (true, true);
                    groups.push(Group::Across { near, over, far });
                }
                CountedRule::EdgesAcross { near, over, far, near_over, over_far } => {
                    let (near, over, far, near_over, over_far) = (*near, *over, *far, *near_over, *over_far);
                    (is_grouped[near], is_grouped[over]) = (true, true);
                    groups.push(Group::EdgesAcross(EdgesAcross { near, over, far, near_over, over_far }));
                }
            }
        }
        groups.extend((0..node.branches.len()).filter(|&at| !is_grouped[at]).map(Group::Alone));
        groups
    }
}

impl Different {
    /// The branches that must differ from one, directly or by others.
    fn of(first: usize, by: Difference, rules: &[CountedRule]) -> Different {
        let pairs: Vec<(usize, usize)> = rules
            .iter()
            .filter_map(|rule| match rule {
                CountedRule::Different(a, b, _) => Some((*a, *b)),
                _ => None,
            })
            .collect();
        let mut members = vec![first];
        let mut next = 0;
        while let Some(&member) = members.get(next) {
            for &(a, b) in pairs.iter().filter(|(a, b)| *a == member || *b == member) {
                let other = if a == member { b } else { a };
                if !members.contains(&other) {
                    members.push(other);
                }
            }
            next += 1;
        }
        let place = |branch: usize| members.iter().position(|member| *member == branch);
        let pairs: Vec<(usize, usize)> = pairs.iter().filter_map(|&(a, b)| Some((place(a)?, place(b)?))).collect();
        let terms = terms(members.len(), &pairs);
        Different { members, by, terms }
    }
}

/// For every choice of pairs that coincide, the sets that coincide then; an odd number of pairs is taken off, an even
/// number added. Choices that come to the same sets are put together.
fn terms(members: usize, pairs: &[(usize, usize)]) -> Vec<(i64, Vec<u8>)> {
    let mut factors: Map<Vec<u8>, i64> = Map::default();
    for chosen in 0..1_u32 << pairs.len() {
        let mut sets: Vec<u8> = (0..members).map(|member| 1 << member).collect();
        for (number, &(a, b)) in pairs.iter().enumerate() {
            if chosen & (1 << number) != 0 {
                let joined = sets[a] | sets[b];
                sets.iter_mut().filter(|set| **set & joined != 0).for_each(|set| *set = joined);
            }
        }
        sets.sort_unstable();
        sets.dedup();
        *factors.entry(sets).or_default() += if chosen.count_ones().is_multiple_of(2) { 1 } else { -1 };
    }
    let mut terms: Vec<(i64, Vec<u8>)> =
        factors.into_iter().filter(|(_, factor)| *factor != 0).map(|(sets, factor)| (factor, sets)).collect();
    terms.sort_unstable();
    terms
}

#[cfg(test)]
mod tests {
    use super::terms;

    #[test]
    fn terms_of_members_that_differ() {
        assert_eq!(terms(2, &[(0, 1)]), [(-1, vec![3]), (1, vec![1, 2])]);
        let all = [(-1, vec![1, 6]), (-1, vec![2, 5]), (-1, vec![3, 4]), (1, vec![1, 2, 4]), (2, vec![7])];
        assert_eq!(terms(3, &[(0, 1), (0, 2), (1, 2)]), all);
        // A chain of differences: the outer two may be the same.
        let chain = [(-1, vec![1, 6]), (-1, vec![3, 4]), (1, vec![1, 2, 4]), (1, vec![7])];
        assert_eq!(terms(3, &[(0, 1), (1, 2)]), chain);
    }
}
