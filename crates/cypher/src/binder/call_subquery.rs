//! `CALL { … }` and `FOREACH`: clauses that run other clauses for each row.

use std::sync::Arc;

use model::{Result, Span, error};

use super::Binder;
use super::projection::Position;
use super::scope::{Scope, Variable, VariableKind};
use super::tree::{BoundClause, BoundQuery, BoundSubquery, BoundUnion};
use crate::ast::{self, ClauseKind, ExpressionKind as Ast, ForeachClause, Imports, Projection, SubqueryClause};
use crate::plan::{Batches, OnError, PlanMode, Retry, SlotId, SlotKind};

/// Variables of the query around a subquery, by name.
type Variables = Vec<(Arc<str>, Variable)>;

impl Binder<'_> {
    pub(super) fn subquery_clause(
        &mut self,
        clause: &SubqueryClause,
        span: Span,
        bound: &mut BoundQuery,
    ) -> Result<()> {
        let outer = self.scope.clone();
        let batches = clause.batches.as_ref().map(|batches| self.batches(batches, bound)).transpose()?;
        let mode = std::mem::replace(&mut self.mode, PlanMode::Read);
        self.depth += 1;
        let query = self.subquery_parts(clause, &outer);
        self.depth -= 1;
        let inner = std::mem::replace(&mut self.scope, outer);
        let (query, imports) = query?;
        let writes = self.mode != PlanMode::Read;
        self.mode = match (mode, writes) {
            _ if batches.is_some() => PlanMode::Batches,
            (PlanMode::Read, true) => PlanMode::Write,
            (mode, _) => mode,
        };
        let is_unit = query.columns.is_empty();
        self.declare_columns(&query, &inner, &clause.query, span)?;
        let status = match (clause.batches.as_deref(), &batches) {
            (Some(ast::Batches { status: Some(name), .. }), Some(_)) => {
                self.check_new(name)?;
                let slot = self.slots.named(&name.text, SlotKind::Any);
                self.scope.declare(&name.text, slot, VariableKind::Value);
                Some(slot)
            }
            _ => None,
        };
        let batches = batches.map(|batches| Batches { status, ..batches });
        let optional = clause.optional;
        bound.clauses.push(BoundClause::Subquery(BoundSubquery { query, imports, optional, writes, is_unit, batches }));
        Ok(())
    }

    /// Binds the parts of a subquery; also the slots around it that stay visible throughout and are used.
    fn subquery_parts(&mut self, clause: &SubqueryClause, outer: &Scope) -> Result<(BoundUnion, Vec<SlotId>)> {
        let listed = match &clause.imports {
            Imports::Leading => None,
            Imports::All(_) => Some(outer.all_visible()),
            Imports::Listed(names) => Some(listed(names, outer)?),
        };
        if let Some(imported) = listed {
            let start = outer.of_subquery(imported);
            let query = self.union(&clause.query, &mut |binder, single| {
                binder.scope = start.clone();
                binder.clauses(&single.clauses, Position::Inner)
            })?;
            let used = start.used_imports();
            outer.note_uses(&used);
            return Ok((query, used));
        }
        let query = self.union(&clause.query, &mut |binder, single| {
            let mut scope = outer.of_subquery(Vec::new());
            let mut rest = single.clauses.as_slice();
            if let [first, after @ ..] = single.clauses.as_slice()
                && let ClauseKind::With(projection) = &first.kind
                && let Some(variables) = importing(projection, outer)?
            {
                outer.note_uses(&variables.iter().map(|(_, variable)| variable.slot).collect::<Vec<_>>());
                scope.adopt(variables);
                rest = after;
            }
            binder.scope = scope;
            binder.clauses(rest, Position::Inner)
        })?;
        Ok((query, Vec::new()))
    }

    /// The columns of a subquery become variables.
    fn declare_columns(&mut self, query: &BoundUnion, inner: &Scope, text: &ast::Query, span: Span) -> Result<()> {
        for (name, slot) in &query.columns {
            if self.scope.find(name).is_some() {
                let place = column_span(text, name).unwrap_or(span);
                return Err(error!(Semantic, "variable `{name}` is already declared outside of the subquery")
                    .at(place)
                    .with_remedy("return it under another name with AS"));
            }
            let kind = match inner.find(name) {
                Some(variable) if query.parts.len() == 1 => variable.kind,
                _ => match self.slots.kind(*slot) {
                    SlotKind::Node => VariableKind::Node,
                    SlotKind::Edge => VariableKind::Edge,
                    SlotKind::EdgeList => VariableKind::EdgeList,
                    SlotKind::Path => VariableKind::Path,
                    SlotKind::Any => VariableKind::Any,
                },
            };
            self.scope.declare(name, *slot, kind);
        }
        Ok(())
    }

    /// Binds the settings after `IN`, except for the status variable, which is declared after the columns.
    fn batches(&mut self, batches: &ast::Batches, bound: &BoundQuery) -> Result<Batches> {
        if self.depth > 0 {
            let error = error!(Semantic, "CALL {{ … }} IN TRANSACTIONS cannot stand in another subquery");
            return Err(error.at(batches.span));
        }
        if self.mode == PlanMode::Write || bound.clauses.iter().any(writes) {
            let error = error!(Semantic, "CALL {{ … }} IN TRANSACTIONS cannot follow a clause that writes");
            let remedy = "put what writes into a query before it, or into the subquery";
            return Err(error.at(batches.span).with_remedy(remedy));
        }
        let on_error = match batches.on_error {
            None | Some(ast::OnError::Fail) => OnError::Fail,
            Some(ast::OnError::Continue) => OnError::Continue,
            Some(ast::OnError::Break) => OnError::Break,
        };
        if let (Some(status), OnError::Fail) = (&batches.status, on_error) {
            let error = error!(Semantic, "REPORT STATUS needs ON ERROR CONTINUE or ON ERROR BREAK").at(status.span);
            return Err(error.with_remedy("a query that fails reports nothing but its error"));
        }
        let rows = batches.rows.as_ref().map(|rows| self.row_count(rows, "OF")).transpose()?;
        let concurrent = match &batches.concurrent {
            None => None,
            Some(None) => Some(None),
            Some(Some(count)) => Some(Some(self.row_count(count, "IN")?)),
        };
        let retry = match &batches.retry {
            None => None,
            Some(ast::Retry { seconds: None }) => Some(Retry { seconds: None }),
            Some(ast::Retry { seconds: Some(seconds) }) => {
                let bound = self.plain_expression(seconds, "ON ERROR RETRY")?;
                if !bound.is_row_independent() {
                    let error = error!(Semantic::NonConstantExpression, "ON ERROR RETRY cannot use a variable");
                    return Err(error.at(seconds.span).with_remedy("use a number or a parameter"));
                }
                Some(Retry { seconds: Some(bound) })
            }
        };
        Ok(Batches { rows, concurrent, on_error, retry, status: None })
    }

    pub(super) fn foreach(&mut self, foreach: &ForeachClause, bound: &mut BoundQuery) -> Result<()> {
        self.require_write();
        let list = self.plain_expression(&foreach.list, "FOREACH")?;
        self.check_new(&foreach.variable)?;
        let before = self.scope.clone();
        let slot = self.slots.named(&foreach.variable.text, SlotKind::Any);
        self.scope.declare(&foreach.variable.text, slot, VariableKind::Any);
        let mut body = BoundQuery::default();
        let result = foreach.body.iter().try_for_each(|clause| {
            debug_assert!(clause.kind.is_updating(), "the parser lets nothing else into FOREACH");
            self.clause(clause, false, &mut body)
        });
        self.scope = before;
        result?;
        bound.clauses.push(BoundClause::Foreach { list, slot, body: body.clauses });
        Ok(())
    }

    /// Notes that the statement writes.
    pub(super) fn require_write(&mut self) {
        if self.mode == PlanMode::Read {
            self.mode = PlanMode::Write;
        }
    }
}

/// The variables that a list before the braces names.
fn listed(names: &[ast::Name], outer: &Scope) -> Result<Variables> {
    let mut variables: Variables = Vec::with_capacity(names.len());
    for name in names {
        let variable = outer.get(&name.text, name.span)?;
        if variables.iter().any(|(known, _)| **known == *name.text) {
            return Err(error!(Semantic, "variable `{}` is imported twice", name.text).at(name.span));
        }
        variables.push((Arc::from(name.text.as_str()), variable));
    }
    Ok(variables)
}

/// The variables that a `WITH` at the start of a subquery imports; `None` if it is an ordinary one.
fn importing(projection: &Projection, outer: &Scope) -> Result<Option<Variables>> {
    let is_plain = |item: &ast::ProjectionItem| matches!(&item.expression.kind, Ast::Variable(name) if item.alias.as_ref().is_none_or(|alias| alias.text == *name));
    if !projection.items.iter().all(is_plain) {
        return Ok(None);
    }
    let excess = projection.order.first().map(|item| ("ORDER BY", item.span));
    let excess = excess.or_else(|| projection.skip.as_ref().map(|skip| ("SKIP", skip.span)));
    let excess = excess.or_else(|| projection.limit.as_ref().map(|limit| ("LIMIT", limit.span)));
    let excess = excess.or_else(|| projection.predicate.as_ref().map(|predicate| ("WHERE", predicate.span)));
    let excess = match projection.items.first() {
        Some(item) if projection.distinct => Some(("DISTINCT", item.span)),
        _ => excess,
    };
    if let Some((word, span)) = excess {
        let error = error!(Semantic, "{word} cannot stand in the WITH that imports variables into a subquery").at(span);
        return Err(error.with_remedy("import the variables by CALL (…) { … }, or write a second WITH"));
    }
    let mut variables = if projection.star.is_some() { outer.all_visible() } else { Vec::new() };
    for item in &projection.items {
        if let Ast::Variable(name) = &item.expression.kind {
            let variable = outer.get(name, item.span)?;
            if !variables.iter().any(|(known, _)| **known == **name) {
                variables.push((Arc::from(name.as_str()), variable));
            }
        }
    }
    Ok(Some(variables))
}

/// Span of the column of that name that a query returns.
fn column_span(query: &ast::Query, name: &str) -> Option<Span> {
    let Some(ClauseKind::Return(projection)) = query.first.clauses.last().map(|clause| &clause.kind) else {
        return None;
    };
    let is_named = |item: &&ast::ProjectionItem| match (&item.alias, &item.expression.kind) {
        (Some(alias), _) => alias.text == name,
        (None, Ast::Variable(variable)) => variable == name,
        _ => false,
    };
    projection.items.iter().find(is_named).map(|item| item.span)
}

/// True if a clause writes.
pub(super) fn writes(clause: &BoundClause) -> bool {
    match clause {
        BoundClause::Create { .. } | BoundClause::Merge(_) | BoundClause::Set(_) | BoundClause::Delete { .. } => true,
        BoundClause::Foreach { .. } => true,
        BoundClause::Call(call) => call.writes,
        BoundClause::Subquery(subquery) => subquery.writes,
        _ => false,
    }
}
