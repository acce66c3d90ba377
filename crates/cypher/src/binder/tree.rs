//! The bound tree: clauses with slots instead of names, before the planner gives them an order.

use std::sync::Arc;

use model::{Direction, Span};

use crate::plan::{
    Aggregate, Batches, EdgeFilter, Expression, NewEdge, NewNode, SearchPattern, SetItem, SlotId, SortKey,
};

/// Clauses in the order they act, and the columns that come out.
#[derive(Debug, Default)]
pub(crate) struct BoundQuery {
    pub(crate) clauses: Vec<BoundClause>,
    pub(crate) columns: Vec<(Arc<str>, SlotId)>,
}

/// Queries joined by `UNION`, or one alone.
#[derive(Debug)]
pub(crate) struct BoundUnion {
    pub(crate) parts: Vec<BoundQuery>,
    /// Equal rows are kept.
    pub(crate) all: bool,
    /// The columns of the whole; those of the only part if there is one.
    pub(crate) columns: Vec<(Arc<str>, SlotId)>,
}

/// One clause.
#[derive(Debug)]
pub(crate) enum BoundClause {
    Match { optional: bool, graph: QueryGraph },
    Unwind { list: Expression, slot: SlotId },
    Project(BoundProjection),
    Filter(Expression),
    Extend(Vec<(SlotId, Expression)>),
    Call(BoundCall),
    Create { nodes: Vec<NewNode>, edges: Vec<NewEdge> },
    Merge(BoundMerge),
    Set(Vec<SetItem>),
    Delete { expressions: Vec<Expression>, detach: bool },
    Subquery(BoundSubquery),
    Foreach { list: Expression, slot: SlotId, body: Vec<BoundClause> },
}

/// `CALL { … }`.
#[derive(Debug)]
pub(crate) struct BoundSubquery {
    pub(crate) query: BoundUnion,
    /// The slots of the query around it that it uses and that no `WITH` in it drops.
    pub(crate) imports: Vec<SlotId>,
    /// Rows for which it gives none are kept.
    pub(crate) optional: bool,
    /// It writes.
    pub(crate) writes: bool,
    /// Its rows do not matter: it has no `RETURN`.
    pub(crate) is_unit: bool,
    pub(crate) batches: Option<Batches>,
}

/// `CALL`.
#[derive(Debug)]
pub(crate) struct BoundCall {
    pub(crate) procedure: Arc<str>,
    pub(crate) arguments: Vec<Expression>,
    pub(crate) yields: Vec<(usize, SlotId)>,
    pub(crate) span: Span,
    /// True if it writes to the graph.
    pub(crate) writes: bool,
}

/// `MERGE`.
#[derive(Debug)]
pub(crate) struct BoundMerge {
    pub(crate) graph: QueryGraph,
    pub(crate) nodes: Vec<NewNode>,
    pub(crate) edges: Vec<NewEdge>,
    pub(crate) path: Option<(SlotId, Expression)>,
    pub(crate) on_create: Vec<SetItem>,
    pub(crate) on_match: Vec<SetItem>,
}

/// `WITH` or `RETURN`.
#[derive(Debug)]
pub(crate) struct BoundProjection {
    /// Keys and aggregates of the groups, if anything is aggregated.
    pub(crate) grouping: Option<Grouping>,
    /// The slots that come out, computed from the input, or from the groups.
    pub(crate) items: Vec<(SlotId, Expression)>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<SortKey>,
    pub(crate) skip: Option<Expression>,
    pub(crate) limit: Option<Expression>,
    pub(crate) predicate: Option<Expression>,
}

/// The keys of groups, and what is computed of each group.
#[derive(Debug)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<(SlotId, Expression)>,
    pub(crate) aggregates: Vec<Aggregate>,
}

/// A pattern with its predicates, without an order.
#[derive(Debug, Default)]
pub(crate) struct QueryGraph {
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) edges: Vec<GraphEdge>,
    /// All must be true.
    pub(crate) predicates: Vec<Expression>,
    /// Path variables, computed from slots of nodes and edges.
    pub(crate) paths: Vec<(SlotId, Expression)>,
    /// Hints of the query on how to find some of it.
    pub(crate) hints: Vec<GraphHint>,
}

/// `USING INDEX` or `USING SCAN`.
#[derive(Debug)]
pub(crate) struct GraphHint {
    /// The node or edge.
    pub(crate) slot: SlotId,
    /// Its label or type.
    pub(crate) subject: Arc<str>,
    /// The properties of the index; none of a scan.
    pub(crate) keys: Option<Vec<Arc<str>>>,
    pub(crate) span: Span,
}

/// A node of a pattern.
#[derive(Debug)]
pub(crate) struct GraphNode {
    pub(crate) slot: SlotId,
    /// It carries all of these.
    pub(crate) labels: Vec<Arc<str>>,
    pub(crate) span: Span,
}

/// An edge of a pattern, or a path of edges.
#[derive(Debug)]
pub(crate) struct GraphEdge {
    pub(crate) slot: SlotId,
    /// The node on its left.
    pub(crate) left: SlotId,
    /// The node on its right.
    pub(crate) right: SlotId,
    /// Direction, seen from the left.
    pub(crate) direction: Direction,
    /// Any of these; none for any.
    pub(crate) types: Vec<Arc<str>>,
    pub(crate) length: EdgeLength,
    pub(crate) filter: Option<EdgeFilter>,
    /// Edges of one clause are distinct.
    pub(crate) clause: u32,
    /// An edge may come twice in its path.
    pub(crate) repeats: bool,
    /// Search for it, if it is more than one kind of edge in a row.
    pub(crate) search: Option<Box<BoundSearch>>,
    /// A selector of the query chooses among its paths, before any condition outside of the path is tested.
    pub(crate) is_selected: bool,
    pub(crate) span: Span,
}

/// A path of several parts that is searched as a whole.
#[derive(Debug)]
pub(crate) struct BoundSearch {
    pub(crate) pattern: SearchPattern,
    pub(crate) conditions: Vec<Expression>,
    /// Takes how many edges each part has.
    pub(crate) counts: SlotId,
}

/// Number of edges that an edge pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeLength {
    One,
    Variable { min: u32, max: Option<u32> },
    Shortest { min: u32, max: Option<u32>, all: bool },
}

impl BoundProjection {
    /// True if as many rows come out as go in.
    pub(crate) fn keeps_rows(&self) -> bool {
        let cuts = self.distinct || self.skip.is_some() || self.limit.is_some() || self.predicate.is_some();
        self.grouping.is_none() && !cuts
    }
}

impl QueryGraph {
    /// All slots that it binds or refers to as parts of the pattern.
    pub(crate) fn slots(&self) -> Vec<SlotId> {
        let nodes = self.nodes.iter().map(|node| node.slot);
        let edges = self.edges.iter().map(|edge| edge.slot);
        nodes.chain(edges).chain(self.paths.iter().map(|(slot, _)| *slot)).collect()
    }

    /// Adds another pattern to this one; nodes that both name become one.
    pub(crate) fn absorb(&mut self, other: QueryGraph) {
        for node in other.nodes {
            self.add_node(node.slot, node.labels, node.span);
        }
        self.edges.extend(other.edges);
        self.predicates.extend(other.predicates);
        self.paths.extend(other.paths);
        self.hints.extend(other.hints);
    }

    /// Adds a node, or labels to one that is there.
    pub(crate) fn add_node(&mut self, slot: SlotId, labels: Vec<Arc<str>>, span: Span) {
        let index = match self.nodes.iter().position(|node| node.slot == slot) {
            Some(index) => index,
            None => {
                self.nodes.push(GraphNode { slot, labels: Vec::new(), span });
                self.nodes.len() - 1
            }
        };
        let known = &mut self.nodes[index].labels;
        for label in labels {
            if !known.contains(&label) {
                known.push(label);
            }
        }
    }
}

impl GraphEdge {
    /// True if this and another edge may be the same edge of the store.
    pub(crate) fn may_equal(&self, other: &GraphEdge) -> bool {
        let shortest = |edge: &GraphEdge| edge.is_selected || matches!(edge.length, EdgeLength::Shortest { .. });
        self.clause == other.clause
            && !shortest(self)
            && !shortest(other)
            && (self.types.is_empty()
                || other.types.is_empty()
                || self.types.iter().any(|name| other.types.contains(name)))
    }
}
