//! What kinds of clauses have in common.

use super::ClauseKind;

impl ClauseKind {
    /// Whether the clause changes data by itself.
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
