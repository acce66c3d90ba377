//! Trees of edges that are counted rather than walked: what `CountMatches` does for each row.
//!
//! A tree stands for all the ways to match it. Their number is worked out from the leaves up: a node's number is the
//! product over its branches of the sum of the numbers of the nodes they lead to, so that no match is ever made.

use std::sync::Arc;

use model::Direction;

use super::{Expression, SlotId};

/// A node of a counted tree, and what hangs from it.
#[derive(Clone, Debug)]
pub struct CountedNode {
    /// Holds the node, for the predicate; of the root, a slot of the row.
    pub slot: SlotId,
    /// It carries all of these.
    pub labels: Vec<Arc<str>>,
    /// Further condition on it; reads no other slot, and can fail for no node.
    pub predicate: Option<Expression>,
    /// Edges to further nodes; all must be matched.
    pub branches: Vec<CountedBranch>,
    /// Trees from the same node whose number is made something else of.
    pub nested: Vec<CountedNested>,
    /// Conditions between branches. A branch stands in one group of such conditions at most.
    pub rules: Vec<CountedRule>,
}

/// An edge from a node of a counted tree to the next.
#[derive(Clone, Debug)]
pub struct CountedBranch {
    /// Direction of the edge.
    pub direction: Direction,
    /// Edge types; none for any.
    pub types: Vec<Arc<str>>,
    /// Node that the edge leads to.
    pub node: CountedNode,
    /// Condition on the walks that go on over `node`.
    pub chained: Option<CountedChain>,
}

/// Condition on an edge and those that follow it. None of the branches that it names stands in a rule, and nothing but what is said
/// here keeps a walk over the last of them from going back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedChain {
    /// This branch of the node that the edge leads to must not go back over the same edge, or not to the node that the edge comes
    /// from. The latter only where the branch has the same types and the reverse direction.
    Back(usize, Difference),
    /// Three edges in a row, of which the first and the third differ: this one, that of branch `second` of the node it leads to, and
    /// that of branch `third` of the next.
    Row {
        /// The branch of the second edge.
        second: usize,
        /// The branch of the third.
        third: usize,
        /// True if the first two must differ too. Whether the last two must is said by the branch of the second.
        first_second: bool,
    },
}

/// In what two edges of a pattern must differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// They are not the same edge.
    Edges,
    /// The nodes they lead to are not the same.
    Nodes,
}

/// Condition between branches of one node, by their places.
#[derive(Clone, Debug)]
pub enum CountedRule {
    /// Two branches differ.
    Different(usize, usize, Difference),
    /// No edge leads from the end of branch `over` to the end of branch `near`.
    Apart {
        /// The one branch.
        near: usize,
        /// The other.
        over: usize,
        /// Direction of such an edge, seen from the end of `over`.
        direction: Direction,
        /// The types of such an edge; none for any.
        types: Vec<Arc<str>>,
        /// True if the ends must be different nodes as well.
        different: bool,
    },
    /// The end of branch `near` is not the end of branch `far` of the node that branch `over` leads to.
    DifferentAcross {
        /// The one branch.
        near: usize,
        /// The branch that leads to the node of the other.
        over: usize,
        /// The other, among the branches of that node.
        far: usize,
    },
    /// The edge of branch `near` is not that of branch `far` of the node that branch `over` leads to. None of these
    /// three branches is chained.
    EdgesAcross {
        /// The one branch.
        near: usize,
        /// The branch that leads to the node of the other.
        over: usize,
        /// The other, among the branches of that node.
        far: usize,
        /// True if the edges of `near` and `over` must differ too.
        near_over: bool,
        /// True if those of `over` and `far` must.
        over_far: bool,
    },
}

/// Value made of the number of matches of a nested tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestedKind {
    /// At least 1: `OPTIONAL MATCH`.
    Optional,
    /// 1 if there is any, else 0: a pattern in `WHERE`.
    Exists,
    /// 0 if there is any, else 1: the same with `NOT`.
    Absent,
}

/// A tree from a node of another tree.
#[derive(Clone, Debug)]
pub struct CountedNested {
    /// Value made of its number of matches.
    pub kind: NestedKind,
    /// The tree; its root is the node it hangs from.
    pub node: CountedNode,
}

impl CountedNode {
    /// A node without anything.
    pub fn bare(slot: SlotId) -> CountedNode {
        let (branches, nested, rules) = (Vec::new(), Vec::new(), Vec::new());
        CountedNode { slot, labels: Vec::new(), predicate: None, branches, nested, rules }
    }

    /// True if every node stands for one match, so that nothing need be asked of it.
    pub fn is_bare(&self) -> bool {
        self.labels.is_empty() && self.predicate.is_none() && self.branches.is_empty() && self.nested.is_empty()
    }
}
