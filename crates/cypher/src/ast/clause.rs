//! Properties that clauses of all kinds have, and hints to the planner.

use model::Span;

use super::{ClauseKind, Name};

/// `USING …` after a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannerHint {
    /// The whole hint.
    pub span: Span,
    /// Kind and operands of the hint.
    pub kind: PlannerHintKind,
}

/// Kinds of hints to the planner.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannerHintKind {
    /// `INDEX variable:subject(property, …)`: begin there, by that index.
    Index {
        /// The node or edge.
        variable: Name,
        /// Its label or type.
        subject: Name,
        /// The properties of the index.
        properties: Vec<Name>,
    },
    /// `SCAN variable:subject`: find it by its label, not by an index.
    Scan {
        /// The node or edge.
        variable: Name,
        /// Its label or type.
        subject: Name,
    },
    /// `JOIN ON variable, …`.
    Join(Vec<Name>),
}

impl ClauseKind {
    /// True if the clause changes data by itself.
    pub(crate) fn is_updating(&self) -> bool {
        matches!(
            self,
            ClauseKind::Create(_)
                | ClauseKind::Merge(_)
                | ClauseKind::Set(_)
                | ClauseKind::Remove(_)
                | ClauseKind::Delete(_)
                | ClauseKind::Foreach(_)
        )
    }

    /// The words that the clause starts with.
    pub(crate) fn keyword(&self) -> &'static str {
        match self {
            ClauseKind::Match(clause) if clause.optional => "OPTIONAL MATCH",
            ClauseKind::Match(_) => "MATCH",
            ClauseKind::Unwind(_) => "UNWIND",
            ClauseKind::With(_) => "WITH",
            ClauseKind::Return(_) => "RETURN",
            ClauseKind::Create(_) => "CREATE",
            ClauseKind::Merge(_) => "MERGE",
            ClauseKind::Set(_) => "SET",
            ClauseKind::Remove(_) => "REMOVE",
            ClauseKind::Delete(clause) if clause.detach => "DETACH DELETE",
            ClauseKind::Delete(_) => "DELETE",
            ClauseKind::Foreach(_) => "FOREACH",
            ClauseKind::Call(_) => "CALL",
            ClauseKind::Subquery(clause) if clause.optional => "OPTIONAL CALL { … }",
            ClauseKind::Subquery(_) => "CALL { … }",
            ClauseKind::Let(_) => "LET",
            ClauseKind::Filter(_) => "FILTER",
            ClauseKind::Finish => "FINISH",
        }
    }
}
