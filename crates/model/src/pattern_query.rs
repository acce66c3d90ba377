//! Patterns that a store may match whole, where its data lies, with what is made of their matches.

use crate::condition::Condition;
use crate::id::{EdgeTypeId, LabelId, PropertyKeyId};

/// The matches of a pattern, or groups of them with aggregates of each. Nodes are described by an `N`, types of edges by an `E`,
/// properties by a `P`.
///
/// A match assigns a node to each node of the pattern and an edge to each edge. The nodes need not differ, nor the edges
/// unless [`PatternQuery::distinct`] says so.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternQuery<N, E, P> {
    /// The nodes of the pattern, and those of tests.
    pub nodes: Vec<PatternNode<N, P>>,
    /// The edges of the pattern.
    pub edges: Vec<PatternEdge<E>>,
    /// Pairs of edges, by their places, that must not be the same edge.
    pub distinct: Vec<(usize, usize)>,
    /// Edges that must, or must not, be there. They do not add matches.
    pub tests: Vec<PatternTest<E>>,
    /// The columns of the rows.
    pub columns: Vec<PatternColumn<P>>,
    /// True if matches that agree in all keys are one row; without a key, there is one row in any case. Otherwise each match is
    /// a row, and all columns are keys.
    pub is_grouped: bool,
    /// Rows that are enough. A store may give others too, and in any order.
    pub first: Option<FirstRows>,
}

/// A pattern query over a graph.
pub type GraphPattern = PatternQuery<Vec<LabelId>, EdgeTypeId, PropertyKeyId>;

/// A node of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternNode<N, P> {
    /// Description of the node.
    pub of: N,
    /// Conditions that must all hold.
    pub conditions: Vec<Condition<P>>,
}

/// An edge of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternEdge<E> {
    /// Type of the edge.
    pub of: E,
    /// Place of the node where it starts.
    pub source: usize,
    /// Place of the node where it ends.
    pub target: usize,
}

/// An edge between a node of the pattern and one that is not of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternTest<E> {
    /// The edge.
    pub edge: PatternEdge<E>,
    /// Place of the end that is no node of the pattern: no other edge has it.
    pub inner: usize,
    /// True if there must be no such edge.
    pub is_absent: bool,
}

/// A column of rows. Nodes are told by their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternColumn<P> {
    /// Key: a node.
    Node(usize),
    /// Key: a property of a node, null where it has none.
    Key(usize, P),
    /// Number of matches.
    Matches,
    /// Number of different nodes.
    DistinctNodes(usize),
    /// Number of matches in which a node has a property.
    Count(usize, P),
    /// Number of different values of a property.
    DistinctCount(usize, P),
    /// Least value of a property, in the order of `ORDER BY`; null if there is none.
    Min(usize, P),
    /// Greatest value of a property that is not null; null if there is none.
    Max(usize, P),
    /// Sum of the integers of a property; 0 if there is none.
    Sum(usize, P),
}

/// The first rows in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRows {
    /// The columns that they are ordered by, and whether descending, the most significant first; none for any rows.
    pub order: Vec<(usize, bool)>,
    /// Number of rows.
    pub limit: u64,
}

impl<P> PatternColumn<P> {
    /// True if it is a key.
    pub fn is_key(&self) -> bool {
        matches!(self, PatternColumn::Node(_) | PatternColumn::Key(..))
    }

    /// The same with another name of the property; `None` if `name` has none for it.
    pub fn renamed<Q>(&self, name: &impl Fn(usize, &P) -> Option<Q>) -> Option<PatternColumn<Q>> {
        let of = |at: &usize, property: &P| Some((*at, name(*at, property)?));
        Some(match self {
            PatternColumn::Node(at) => PatternColumn::Node(*at),
            PatternColumn::Matches => PatternColumn::Matches,
            PatternColumn::DistinctNodes(at) => PatternColumn::DistinctNodes(*at),
            PatternColumn::Key(at, property) => of(at, property).map(|(at, name)| PatternColumn::Key(at, name))?,
            PatternColumn::Count(at, property) => of(at, property).map(|(at, name)| PatternColumn::Count(at, name))?,
            PatternColumn::DistinctCount(at, property) => {
                of(at, property).map(|(at, name)| PatternColumn::DistinctCount(at, name))?
            }
            PatternColumn::Min(at, property) => of(at, property).map(|(at, name)| PatternColumn::Min(at, name))?,
            PatternColumn::Max(at, property) => of(at, property).map(|(at, name)| PatternColumn::Max(at, name))?,
            PatternColumn::Sum(at, property) => of(at, property).map(|(at, name)| PatternColumn::Sum(at, name))?,
        })
    }
}

impl<N, E, P> PatternQuery<N, E, P> {
    /// The same in other names; the functions are given the place of the node, or of the edge, those of tests last. `None` if a
    /// name is missing, except in conditions, where a property without a name is null; and if a condition never holds.
    pub fn renamed<M, F, Q>(
        &self,
        node: &impl Fn(usize, &N) -> Option<M>,
        edge: &impl Fn(usize, &E) -> Option<F>,
        property: &impl Fn(usize, &P) -> Option<Q>,
    ) -> Option<PatternQuery<M, F, Q>> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for (at, held) in self.nodes.iter().enumerate() {
            let mut conditions = Vec::with_capacity(held.conditions.len());
            for condition in &held.conditions {
                match condition.known(&|name| property(at, name)) {
                    Some(condition) if condition.is_never() => return None,
                    known => conditions.extend(known),
                }
            }
            nodes.push(PatternNode { of: node(at, &held.of)?, conditions });
        }
        let renamed = |at: usize, held: &PatternEdge<E>| {
            Some(PatternEdge { of: edge(at, &held.of)?, source: held.source, target: held.target })
        };
        let edges = self.edges.iter().enumerate().map(|(at, held)| renamed(at, held));
        let tests = self.tests.iter().enumerate().map(|(at, held)| {
            let edge = renamed(self.edges.len() + at, &held.edge)?;
            Some(PatternTest { edge, inner: held.inner, is_absent: held.is_absent })
        });
        let columns = self.columns.iter().map(|column| column.renamed(property));
        Some(PatternQuery {
            edges: edges.collect::<Option<_>>()?,
            columns: columns.collect::<Option<_>>()?,
            tests: tests.collect::<Option<_>>()?,
            distinct: self.distinct.clone(),
            is_grouped: self.is_grouped,
            first: self.first.clone(),
            nodes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{PatternColumn, PatternEdge, PatternNode, PatternQuery};
    use crate::condition::{Condition, Test};

    #[test]
    fn names_that_are_missing_are_null_in_conditions_alone() {
        let with = |conditions: Vec<Condition<u8>>, column: PatternColumn<u8>| PatternQuery {
            nodes: vec![PatternNode { of: 'a', conditions }],
            edges: vec![PatternEdge { of: "r", source: 0, target: 0 }],
            distinct: Vec::new(),
            tests: Vec::new(),
            columns: vec![PatternColumn::Matches, column],
            is_grouped: true,
            first: None,
        };
        let known = |held: PatternQuery<char, &str, u8>| {
            let property = |_: usize, name: &u8| (*name < 2).then_some(u32::from(*name));
            held.renamed(&|at, _| Some(at), &|_, of| Some(of.len()), &property)
        };
        let found = known(with(vec![Condition::is(7, Test::Absent)], PatternColumn::Max(0, 1))).expect("all is known");
        assert_eq!(found.nodes, [PatternNode { of: 0, conditions: Vec::new() }]);
        assert_eq!(found.columns, [PatternColumn::Matches, PatternColumn::Max(0, 1)]);
        assert!(known(with(vec![Condition::is(7, Test::Present)], PatternColumn::Node(0))).is_none());
        assert!(known(with(Vec::new(), PatternColumn::Key(0, 7))).is_none());
    }
}
