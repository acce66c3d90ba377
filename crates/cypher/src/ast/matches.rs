//! The `MATCH` clauses of a query, those of its subqueries included.

use super::{Clause, ClauseKind, Expression, ExpressionKind, MatchClause, Query};

impl Query {
    /// Calls `look` with each `MATCH`, in the order written: of the query, of `CALL { … }`, and of `EXISTS { … }`, `COUNT { … }` and
    /// `COLLECT { … }` in the conditions of a `MATCH`. What a column without a name is called by is left out.
    pub fn each_match<'q>(&'q self, look: &mut dyn FnMut(&'q MatchClause)) {
        self.clauses().for_each(|clause| of_clause(clause, look));
    }

    /// The clauses of the query and of its unions, without those of subqueries.
    pub(super) fn clauses(&self) -> impl Iterator<Item = &Clause> {
        let unions = self.unions.iter().map(|union| &union.query);
        std::iter::once(&self.first).chain(unions).flat_map(|single| &single.clauses)
    }
}

fn of_clause<'q>(clause: &'q Clause, look: &mut dyn FnMut(&'q MatchClause)) {
    match &clause.kind {
        ClauseKind::Match(found) => {
            look(found);
            found.predicate.iter().for_each(|predicate| of_expression(predicate, look));
        }
        ClauseKind::Subquery(subquery) => subquery.query.each_match(look),
        ClauseKind::Foreach(each) => each.body.iter().for_each(|clause| of_clause(clause, look)),
        ClauseKind::Unwind(_)
        | ClauseKind::With(_)
        | ClauseKind::Return(_)
        | ClauseKind::Create(_)
        | ClauseKind::Merge(_)
        | ClauseKind::Set(_)
        | ClauseKind::Remove(_)
        | ClauseKind::Delete(_)
        | ClauseKind::Call(_)
        | ClauseKind::Let(_)
        | ClauseKind::Filter(_)
        | ClauseKind::Finish => {}
    }
}

fn of_expression<'q>(expression: &'q Expression, look: &mut dyn FnMut(&'q MatchClause)) {
    if let ExpressionKind::Subquery { query, .. } = &expression.kind {
        query.each_match(look);
    }
    expression.for_each_child(&mut |child| of_expression(child, look));
}
