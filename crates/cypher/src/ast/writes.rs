//! Writes of a query, as far as its text says.

use super::{Clause, ClauseKind, Query, RemoveItemKind, SetItemKind};

impl Query {
    /// The properties that it sets by their names; `None` if it makes nodes or edges, gives or takes labels, or sets what is not named.
    /// Properties that it removes are left out.
    pub fn properties_set(&self) -> Option<Vec<&str>> {
        let mut keys = Vec::new();
        of_query(self, &mut keys).then_some(keys)
    }
}

fn of_query<'q>(query: &'q Query, keys: &mut Vec<&'q str>) -> bool {
    query.clauses().all(|clause| of_clause(clause, keys))
}

/// Adds what a clause sets; false if that is more than properties by their names.
fn of_clause<'q>(clause: &'q Clause, keys: &mut Vec<&'q str>) -> bool {
    match &clause.kind {
        ClauseKind::Create(_) | ClauseKind::Merge(_) => false,
        ClauseKind::Set(items) => items.iter().all(|item| match &item.kind {
            SetItemKind::Property { key, .. } => {
                keys.push(&key.text);
                true
            }
            _ => false,
        }),
        ClauseKind::Remove(items) => items.iter().all(|item| matches!(item.kind, RemoveItemKind::Property { .. })),
        ClauseKind::Subquery(subquery) => of_query(&subquery.query, keys),
        ClauseKind::Foreach(each) => each.body.iter().all(|clause| of_clause(clause, keys)),
        ClauseKind::Match(_)
        | ClauseKind::Unwind(_)
        | ClauseKind::With(_)
        | ClauseKind::Return(_)
        | ClauseKind::Delete(_)
        | ClauseKind::Call(_)
        | ClauseKind::Let(_)
        | ClauseKind::Filter(_)
        | ClauseKind::Finish => true,
    }
}
