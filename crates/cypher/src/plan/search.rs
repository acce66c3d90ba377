//! Pattern of a `PathSearch`: parts of a path in a row, each a few edges that may repeat.
//!
//! Conditions stand in a list of the operator; here are their places in it.

use std::sync::Arc;

use model::Direction;

use super::SlotId;

/// A path of several parts, what may repeat in it, and which of the paths between two nodes are wanted.
#[derive(Clone, Debug)]
pub struct SearchPattern {
    /// The parts, from the start of the path to its end.
    pub elements: Vec<SearchElement>,
    /// Elements that may come twice.
    pub mode: SearchMode,
    /// Selector of the paths between two nodes to give; all if absent.
    pub selector: Option<SearchSelector>,
    /// Condition on a path before it is selected; may use the end of the path, its edges and counts.
    pub condition: Option<usize>,
}

/// A part of a path: hops that repeat together.
#[derive(Clone, Debug)]
pub struct SearchElement {
    /// One or more.
    pub hops: Vec<SearchHop>,
    /// Fewest walks through the hops.
    pub min: u32,
    /// Most walks; `None` for no limit.
    pub max: Option<u32>,
    /// Condition on each walk.
    pub walk: Option<WalkCondition>,
    /// Condition on the node after the last walk: the slot that holds the node, and the condition.
    pub end: Option<(SlotId, usize)>,
}

/// An edge of a part.
#[derive(Clone, Debug)]
pub struct SearchHop {
    /// Direction of the edge.
    pub direction: Direction,
    /// Edge types; none for any.
    pub types: Vec<Arc<str>>,
    /// Condition on the edge and the nodes at its ends.
    pub filter: Option<HopCondition>,
}

/// A condition on one edge and the nodes at its ends, and the slots that hold them.
#[derive(Clone, Copy, Debug)]
pub struct HopCondition {
    /// Holds the edge.
    pub edge: SlotId,
    /// Holds the node before it.
    pub from: SlotId,
    /// Holds the node after it.
    pub to: SlotId,
    /// The condition.
    pub condition: usize,
}

/// A condition on one walk through the hops of a part, and the slots that hold its nodes and edges.
#[derive(Clone, Debug)]
pub struct WalkCondition {
    /// Hold the nodes, one more than edges.
    pub nodes: Vec<SlotId>,
    /// Hold the edges.
    pub edges: Vec<SlotId>,
    /// The condition.
    pub condition: usize,
}

/// Elements that may come twice in one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// Anything.
    Walk,
    /// Nodes only.
    Trail,
    /// Nothing.
    Acyclic,
    /// Nothing, but the last node may be the first.
    Simple,
}

/// Selector of the paths between two nodes to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchSelector {
    /// The given number of shortest paths.
    Shortest(u64),
    /// All paths of the given number of smallest lengths.
    Groups(u64),
}
