//! Additions of GQL to path patterns: quantifiers, groups, selectors and modes.

use model::Span;

use super::{Expression, NodePattern, PatternStep};

/// `+`, `*`, `{2}`, `{1,5}`, `{,3}`, `{2,}`: how often what stands before it is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// From the sign or brace to the end.
    pub span: Span,
    /// The least number.
    pub min: u64,
    /// The greatest number, if there is one.
    pub max: Option<u64>,
}

/// `((a)-[r]->(b) WHERE predicate)`: a path that is walked over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct PathGroup {
    /// With its parentheses.
    pub span: Span,
    /// The first node.
    pub start: NodePattern,
    /// The edges and nodes after it; one or more.
    pub steps: Vec<PatternStep>,
    /// Predicate on each walk.
    pub predicate: Option<Expression>,
}

/// Selector of the paths between two nodes that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSelector {
    /// Its words.
    pub span: Span,
    /// Kind of the selector.
    pub kind: SelectorKind,
}

/// Kinds of selectors of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectorKind {
    /// `ALL`: every path.
    All,
    /// `ANY k`: any `k` paths at most.
    Any(u64),
    /// `SHORTEST k`, `ANY SHORTEST`: the `k` shortest paths.
    Shortest(u64),
    /// `SHORTEST k GROUPS`, `ALL SHORTEST`: all paths of the `k` smallest lengths.
    Groups(u64),
}

/// Elements that may repeat within a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMode {
    /// Anything.
    Walk,
    /// Nodes, but no relationship.
    Trail,
    /// Neither nodes nor relationships.
    Acyclic,
    /// Nothing, but the last node may be the first.
    Simple,
}

impl PathMode {
    /// The word for it.
    pub fn keyword(self) -> &'static str {
        match self {
            PathMode::Walk => "WALK",
            PathMode::Trail => "TRAIL",
            PathMode::Acyclic => "ACYCLIC",
            PathMode::Simple => "SIMPLE",
        }
    }
}

/// Rule of a `MATCH` for edges that come twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMode {
    /// `DIFFERENT RELATIONSHIPS`: they do not.
    Different,
    /// `REPEATABLE ELEMENTS`: they may.
    Repeatable,
}
