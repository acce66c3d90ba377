//! Subqueries within expressions: pattern predicates, pattern comprehensions, `EXISTS {}`, `COUNT {}`, `COLLECT {}`.
//!
//! Each is planned as soon as it is bound, since the bound expression holds its plan.

use std::sync::Arc;

use model::{Result, Set, Span, error};

use super::expression::{Wanted, at};
use super::pattern::NewVariables;
use super::tree::{BoundClause, BoundProjection, BoundQuery};
use super::{Binder, projection, unsupported};
use crate::ast::{self, ClauseKind, PathPattern};
use crate::plan::{Expression, ExpressionKind, Operator, SlotId, SlotKind, SubqueryKind};
use crate::planner::Planner;

impl Binder<'_> {
    /// A bare pattern: whether it is found.
    pub(super) fn pattern_predicate(&mut self, pattern: &PathPattern, span: Span) -> Result<Expression> {
        let outer = self.scope.slots();
        let graph = self.without_aggregation("a pattern", |binder| {
            binder.pattern(std::slice::from_ref(pattern), None, NewVariables::Refused)
        })?;
        let plan = self.subplan(vec![BoundClause::Match { optional: false, graph }], &outer, &[])?;
        Ok(at(span, ExpressionKind::Subquery { kind: SubqueryKind::Exists, plan: Arc::new(plan) }))
    }

    /// `[pattern WHERE predicate | projection]`.
    pub(super) fn pattern_comprehension(
        &mut self,
        pattern: &PathPattern,
        predicate: Option<&ast::Expression>,
        projection: &ast::Expression,
        span: Span,
    ) -> Result<Expression> {
        let outer = self.scope.slots();
        let mark = self.scope.len();
        let (graph, value) = self.without_aggregation("a pattern comprehension", |binder| {
            let graph = binder.pattern(std::slice::from_ref(pattern), predicate, NewVariables::Declared)?;
            Ok((graph, binder.bind(projection, Wanted::Value)?))
        })?;
        self.scope.truncate(mark);
        let slot = self.slots.unnamed(SlotKind::Any);
        let clauses = vec![BoundClause::Match { optional: false, graph }, project_one(slot, value)];
        let plan = self.subplan(clauses, &outer, &[slot])?;
        Ok(at(span, ExpressionKind::Subquery { kind: SubqueryKind::Collect(slot), plan: Arc::new(plan) }))
    }

    /// `EXISTS { … }`, `COUNT { … }`, `COLLECT { … }`.
    pub(super) fn subquery_expression(
        &mut self,
        kind: ast::SubqueryKind,
        query: &ast::Query,
        span: Span,
    ) -> Result<Expression> {
        if let Some(union) = query.unions.first() {
            return Err(unsupported("UNION inside a subquery expression", union.span));
        }
        let outer = self.scope.slots();
        let before = self.scope.clone();
        let bound = self.without_aggregation("a subquery", |binder| binder.subquery_clauses(&query.first.clauses));
        self.scope = before;
        let mut bound = bound?;
        if kind != ast::SubqueryKind::Collect
            && let Some(BoundClause::Project(projection)) = bound.clauses.last()
            && projection.keeps_rows()
        {
            bound.clauses.pop();
        }
        let (kind, wanted) = match kind {
            ast::SubqueryKind::Exists => (SubqueryKind::Exists, Vec::new()),
            ast::SubqueryKind::Count => (SubqueryKind::Count, Vec::new()),
            ast::SubqueryKind::Collect => match bound.columns.as_slice() {
                [(_, slot)] => (SubqueryKind::Collect(*slot), vec![*slot]),
                columns => {
                    let found = columns.len();
                    return Err(error!(Semantic, "COLLECT must return exactly one column, found {found}").at(span));
                }
            },
        };
        let plan = self.subplan(bound.clauses, &outer, &wanted)?;
        Ok(at(span, ExpressionKind::Subquery { kind, plan: Arc::new(plan) }))
    }

    fn subquery_clauses(&mut self, clauses: &[ast::Clause]) -> Result<BoundQuery> {
        let mut bound = BoundQuery::default();
        for (index, clause) in clauses.iter().enumerate() {
            match &clause.kind {
                ClauseKind::Match(_) | ClauseKind::Unwind(_) => self.clause(clause, false, &mut bound)?,
                ClauseKind::Return(_) if index + 1 < clauses.len() => {
                    return Err(error!(Semantic, "RETURN must be the last clause").at(clause.span));
                }
                ClauseKind::Return(items) => self.projection(items, projection::Position::Return, &mut bound)?,
                kind => {
                    let name = super::clause_name(kind);
                    let here = self.keyword(clause.span, name);
                    if super::is_write(kind) {
                        return Err(error!(Semantic, "{name} cannot stand in a subquery expression").at(here));
                    }
                    return Err(unsupported(&format!("{name} inside a subquery expression"), here));
                }
            }
        }
        Ok(bound)
    }

    /// Plans clauses for one row of the plan around them, whose slots are `outer`.
    pub(super) fn subplan(
        &mut self,
        clauses: Vec<BoundClause>,
        outer: &Set<SlotId>,
        wanted: &[SlotId],
    ) -> Result<Operator> {
        Planner::new(self.context, self.config, &mut self.slots).subplan(clauses, outer, wanted)
    }
}

/// A projection to one slot.
fn project_one(slot: SlotId, value: Expression) -> BoundClause {
    BoundClause::Project(BoundProjection {
        grouping: None,
        items: vec![(slot, value)],
        distinct: false,
        order: Vec::new(),
        skip: None,
        limit: None,
        predicate: None,
    })
}
