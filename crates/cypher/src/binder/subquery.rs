//! Subqueries within expressions: pattern predicates, pattern comprehensions, `EXISTS {}`, `COUNT {}`, `COLLECT {}`.
//!
//! Each is planned as soon as it is bound, since the bound expression holds its plan.

use std::sync::Arc;

use model::procedure::ProcedureMode;
use model::{Result, Set, Span, error};

use super::expression::Wanted;
use super::pattern::NewVariables;
use super::tree::{BoundClause, BoundProjection};
use super::{Binder, projection};
use crate::ast::{self, ClauseKind, PathPattern};
use crate::plan::conditions::at;
use crate::plan::{Expression, ExpressionKind, Operator, SlotId, SlotKind, SubqueryKind};

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

    /// `EXISTS { … }`, `COUNT { … }`, `COLLECT { … }`: a query that sees all variables around it.
    pub(super) fn subquery_expression(
        &mut self,
        kind: ast::SubqueryKind,
        query: &ast::Query,
        span: Span,
    ) -> Result<Expression> {
        let parts = std::iter::once(&query.first).chain(query.unions.iter().map(|union| &union.query));
        parts.flat_map(|part| &part.clauses).try_for_each(|clause| self.check_reads(clause))?;
        let before = self.scope.clone();
        let start = before.of_subquery(before.all_visible());
        self.depth += 1;
        let bound = self.without_aggregation("a subquery", |binder| {
            binder.union(query, &mut |binder, single| {
                binder.scope = start.clone();
                binder.clauses(&single.clauses, projection::Position::Return)
            })
        });
        self.depth -= 1;
        let imports = start.used_imports();
        before.note_uses(&imports);
        let outer = before.slots();
        self.scope = before;
        let mut bound = bound?;
        if let [part] = bound.parts.as_mut_slice()
            && kind != ast::SubqueryKind::Collect
            && let Some(BoundClause::Project(projection)) = part.clauses.last()
            && projection.keeps_rows()
        {
            part.clauses.pop();
            part.columns.clear();
            bound.columns.clear();
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
        let (plan, unmet) = self.subqueries.of_union(&mut self.slots, bound, &outer, &imports, &wanted)?;
        self.hints.extend(unmet);
        Ok(at(span, ExpressionKind::Subquery { kind, plan: Arc::new(plan) }))
    }

    /// Fails if a clause writes, also within a subquery.
    fn check_reads(&self, clause: &ast::Clause) -> Result<()> {
        match &clause.kind {
            kind if kind.is_updating() => {
                let name = kind.keyword();
                let here = self.keyword(clause.span, name);
                Err(error!(Semantic, "{name} cannot stand in a subquery expression").at(here))
            }
            ClauseKind::Subquery(subquery) => {
                if let Some(batches) = &subquery.batches {
                    let error = error!(Semantic, "CALL {{ … }} IN TRANSACTIONS cannot stand in a subquery expression");
                    return Err(error.at(batches.span));
                }
                let unions = subquery.query.unions.iter().map(|union| &union.query);
                let parts = std::iter::once(&subquery.query.first).chain(unions);
                parts.flat_map(|part| &part.clauses).try_for_each(|clause| self.check_reads(clause))
            }
            ClauseKind::Call(call) => {
                let name = call.procedure.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(".");
                match self.context.catalog.procedure(&name) {
                    Some(signature) if signature.mode == ProcedureMode::Write => {
                        let error =
                            error!(Semantic, "procedure {name} writes: it cannot stand in a subquery expression");
                        Err(error.at(clause.span))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Plans clauses for one row of the plan around them, whose slots are `outer`.
    pub(super) fn subplan(
        &mut self,
        clauses: Vec<BoundClause>,
        outer: &Set<SlotId>,
        wanted: &[SlotId],
    ) -> Result<Operator> {
        self.subqueries.of_clauses(&mut self.slots, clauses, outer, wanted)
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
