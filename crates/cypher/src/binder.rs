//! Syntax tree to bound tree: every name gets a slot, every function and procedure is found, every rule about where
//! things may stand is checked.
//!
//! Invariant: binding never panics and never touches data.

use std::sync::Arc;

use model::{Error, Result, Set, Span, error};

use crate::ast::{self, Clause, ClauseKind};
use crate::catalog::CompileContext;
use crate::plan::{Aggregate, Operator, PlanMode, SlotId};
use crate::slots::Slots;

mod call;
mod call_subquery;
mod case;
pub(crate) mod expression;
mod function;
mod grouping;
mod hint;
mod kinds;
mod labels;
mod pattern;
mod projection;
mod repeat;
pub(crate) mod scope;
mod search;
mod shortest;
mod subquery;
pub(crate) mod tree;
mod write;

pub use hint::{Hint, HintKind};
use scope::Scope;
use tree::{BoundClause, BoundQuery, BoundUnion};

/// Permission for an aggregate function at this place.
#[derive(Debug)]
enum Aggregation {
    /// No; the words say where.
    Forbidden(&'static str),
    /// Yes, and these have been found so far.
    Collecting(Vec<Aggregate>),
    /// No: these are the arguments of one.
    Inside,
}

/// Plans the subqueries of expressions: a bound expression holds its subplan.
pub(crate) trait SubqueryPlanner {
    /// The plan of a whole subquery, and the hints in it that nothing can follow.
    fn of_union(
        &self,
        slots: &mut Slots,
        union: BoundUnion,
        outer: &Set<SlotId>,
        imports: &[SlotId],
        wanted: &[SlotId],
    ) -> Result<(Operator, Vec<Hint>)>;

    /// The plan of clauses for one row of the plan around them, whose slots are `outer`.
    fn of_clauses(
        &self,
        slots: &mut Slots,
        clauses: Vec<BoundClause>,
        outer: &Set<SlotId>,
        wanted: &[SlotId],
    ) -> Result<Operator>;
}

/// Binds one statement.
pub(crate) struct Binder<'a> {
    text: &'a str,
    context: &'a CompileContext<'a>,
    subqueries: &'a dyn SubqueryPlanner,
    pub(crate) slots: Slots,
    scope: Scope,
    aggregation: Aggregation,
    /// The number of the next `MATCH`: edges of one `MATCH` are distinct.
    next_clause: u32,
    /// Number of open subqueries.
    depth: usize,
    /// Holds the subject of the `CASE` whose `WHEN` is being bound.
    case_subject: Option<SlotId>,
    /// Mode that the part of the query bound so far needs.
    pub(crate) mode: PlanMode,
    pub(crate) hints: Vec<Hint>,
    /// The parameters that are named, each with its first place.
    pub(crate) parameters: Vec<(Arc<str>, Span)>,
    /// Paths that are to go over relationships which are bound already: their slots, and those of the bound lists.
    bound_lists: Vec<(SlotId, SlotId, Span)>,
}

impl<'a> Binder<'a> {
    /// A binder for a text.
    pub(crate) fn new(
        text: &'a str,
        context: &'a CompileContext<'a>,
        subqueries: &'a dyn SubqueryPlanner,
    ) -> Binder<'a> {
        Binder {
            text,
            context,
            subqueries,
            slots: Slots::default(),
            scope: Scope::default(),
            aggregation: Aggregation::Forbidden("this place"),
            next_clause: 0,
            depth: 0,
            case_subject: None,
            mode: PlanMode::Read,
            hints: Vec::new(),
            parameters: Vec::new(),
            bound_lists: Vec::new(),
        }
    }

    /// Binds a whole query.
    pub(crate) fn query(&mut self, query: &ast::Query) -> Result<BoundUnion> {
        let bound = self.union(query, &mut |binder, single| {
            binder.scope = Scope::default();
            binder.clauses(&single.clauses, projection::Position::Return)
        })?;
        match query.unions.first() {
            Some(union) if self.mode == PlanMode::Batches => {
                let error = error!(Semantic, "CALL {{ … }} IN TRANSACTIONS cannot stand in a UNION").at(union.span);
                Err(error.with_remedy("write two queries"))
            }
            _ => Ok(bound),
        }
    }

    /// Binds the parts of a query, each as it is told to.
    fn union(
        &mut self,
        query: &ast::Query,
        bind: &mut dyn FnMut(&mut Self, &ast::SingleQuery) -> Result<BoundQuery>,
    ) -> Result<BoundUnion> {
        let mut parts = Vec::new();
        let mut all = None;
        for (union, single) in
            std::iter::once((None, &query.first)).chain(query.unions.iter().map(|union| (Some(union), &union.query)))
        {
            if let Some(union) = union
                && *all.get_or_insert(union.all) != union.all
            {
                return Err(error!(
                    Semantic::InvalidClauseComposition,
                    "UNION and UNION ALL cannot be mixed in one query"
                )
                .at(union.span));
            }
            parts.push(bind(self, single)?);
            if let Some(union) = union {
                check_union_columns(&parts, union)?;
            }
        }
        let mut columns = parts[0].columns.clone();
        if parts.len() > 1 {
            for (index, (name, slot)) in columns.iter_mut().enumerate() {
                let kinds = parts.iter().map(|part| self.slots.kind(part.columns[index].1));
                let kind = kinds.reduce(|a, b| if a == b { a } else { crate::plan::SlotKind::Any });
                *slot = self.slots.named(name, kind.unwrap_or(crate::plan::SlotKind::Any));
            }
        }
        Ok(BoundUnion { parts, all: all.unwrap_or(false), columns })
    }

    /// Binds clauses in the scope as it is; `end` is what their `RETURN` is.
    fn clauses(&mut self, clauses: &[Clause], end: projection::Position) -> Result<BoundQuery> {
        let mut bound = BoundQuery::default();
        let alone = clauses.len() == 1 && self.depth == 0;
        for clause in clauses {
            match &clause.kind {
                ClauseKind::Return(projection) => self.projection(projection, end, &mut bound)?,
                _ => self.clause(clause, alone, &mut bound)?,
            }
            let commits =
                |clause: &BoundClause| matches!(clause, BoundClause::Subquery(part) if part.batches.is_some());
            if self.mode == PlanMode::Batches
                && let Some(last) = bound.clauses.last()
                && call_subquery::writes(last)
                && !commits(last)
            {
                let error = error!(Semantic, "a clause that writes cannot follow CALL {{ … }} IN TRANSACTIONS");
                return Err(error
                    .at(clause.span)
                    .with_remedy("put it into the subquery, or into a query after this one"));
            }
        }
        Ok(bound)
    }

    fn clause(&mut self, clause: &Clause, alone: bool, bound: &mut BoundQuery) -> Result<()> {
        match &clause.kind {
            ClauseKind::Match(matched) => {
                let graph = self.match_clause(matched)?;
                bound.clauses.push(BoundClause::Match { optional: matched.optional, graph });
            }
            ClauseKind::Unwind(unwind) => self.unwind(unwind, bound)?,
            ClauseKind::With(projection) => self.projection(projection, projection::Position::With, bound)?,
            ClauseKind::Return(projection) => self.projection(projection, projection::Position::Return, bound)?,
            ClauseKind::Create(patterns) => self.create(patterns, bound)?,
            ClauseKind::Merge(merge) => self.merge(merge, bound)?,
            ClauseKind::Set(items) => {
                self.require_write();
                let items = self.set_items(items)?;
                bound.clauses.push(BoundClause::Set(items));
            }
            ClauseKind::Remove(items) => {
                self.require_write();
                let items = self.remove_items(items)?;
                bound.clauses.push(BoundClause::Set(items));
            }
            ClauseKind::Delete(delete) => self.delete(delete, bound)?,
            ClauseKind::Call(call) => self.call(call, clause.span, alone, bound)?,
            ClauseKind::Foreach(foreach) => self.foreach(foreach, bound)?,
            ClauseKind::Subquery(subquery) => self.subquery_clause(subquery, clause.span, bound)?,
            ClauseKind::Let(items) => self.let_clause(items, bound)?,
            ClauseKind::Filter(predicate) => {
                let predicate = self.plain_predicate(predicate, "FILTER")?;
                bound.clauses.push(BoundClause::Filter(predicate));
            }
            ClauseKind::Finish => {}
        }
        Ok(())
    }

    fn unwind(&mut self, unwind: &ast::UnwindClause, bound: &mut BoundQuery) -> Result<()> {
        let list = self.plain_expression(&unwind.list, "UNWIND")?;
        self.check_new(&unwind.variable)?;
        let slot = self.element_slot(&unwind.variable, &list);
        self.scope.declare(&unwind.variable.text, slot, scope::VariableKind::Any);
        bound.clauses.push(BoundClause::Unwind { list, slot });
        Ok(())
    }

    /// `LET`: each variable may use those before it.
    fn let_clause(&mut self, items: &[ast::LetItem], bound: &mut BoundQuery) -> Result<()> {
        let mut values = Vec::with_capacity(items.len());
        for ast::LetItem { variable, value } in items {
            let value = self.plain_expression(value, "LET")?;
            self.check_new(variable)?;
            let kind = self.scope.kind_of(&value);
            let slot = self.slots.named(&variable.text, kind.slot_kind());
            self.scope.declare(&variable.text, slot, kind);
            values.push((slot, value));
        }
        bound.clauses.push(BoundClause::Extend(values));
        Ok(())
    }

    /// Fails if the name means something already.
    fn check_new(&self, name: &ast::Name) -> Result<()> {
        match self.scope.find(&name.text) {
            Some(_) => Err(error!(Semantic::VariableAlreadyBound, "variable `{}` is already declared", name.text)
                .at(name.span)
                .with_remedy("choose another name")),
            None => Ok(()),
        }
    }

    /// The span of a keyword at the start of a clause.
    fn keyword(&self, clause: Span, keyword: &str) -> Span {
        Span { start: clause.start, end: clause.end.min(clause.start + keyword.len() as u32) }
    }

    /// The text at a span, as the query has it.
    fn source(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("").trim()
    }
}

/// The error for a construct that is not there yet.
pub(crate) fn unsupported(construct: &str, span: Span) -> Error {
    error!(Unsupported, "{construct} is not supported").at(span)
}

fn check_union_columns(parts: &[BoundQuery], union: &ast::Union) -> Result<()> {
    let names = |part: &BoundQuery| part.columns.iter().map(|(name, _)| name.clone()).collect::<Vec<Arc<str>>>();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(()) };
    let (expected, found) = (names(first), names(last));
    if expected == found {
        return Ok(());
    }
    let list = |names: &[Arc<str>]| {
        if names.is_empty() { "no columns".to_string() } else { format!("columns {}", names.join(", ")) }
    };
    let message = format!(
        "all parts of a UNION must return the same columns: expected {}, found {}",
        list(&expected),
        list(&found)
    );
    Err(error!(Semantic::DifferentColumnsInUnion, "{message}")
        .at(union.span)
        .with_remedy("name the columns alike with AS, in the same order"))
}
