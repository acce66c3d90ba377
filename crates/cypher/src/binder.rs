//! Syntax tree to bound tree: every name gets a slot, every function and procedure is found, every rule about where
//! things may stand is checked.
//!
//! Invariant: binding never panics and never touches data.

use std::sync::Arc;

use model::{Error, Result, Span, error};

use crate::ast::{self, Clause, ClauseKind};
use crate::catalog::CompileContext;
use crate::optimizer::OptimizerConfig;
use crate::plan::{Aggregate, PlanMode};

mod call;
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
mod shortest;
mod subquery;
pub(crate) mod tree;
mod write;

pub use hint::Hint;
pub(crate) use pattern::{add_conjuncts, conjunction};
use scope::{Scope, Slots};
pub(crate) use shortest::{add_filter, edge_filter};
use tree::{BoundClause, BoundQuery, BoundUnion};

/// Whether an aggregate function may stand here.
#[derive(Debug)]
enum Aggregation {
    /// No; the words say where.
    Forbidden(&'static str),
    /// Yes, and these have been found so far.
    Collecting(Vec<Aggregate>),
    /// No: these are the arguments of one.
    Inside,
}

/// Binds one statement.
pub(crate) struct Binder<'a> {
    text: &'a str,
    context: &'a CompileContext<'a>,
    config: &'a OptimizerConfig,
    pub(crate) slots: Slots,
    scope: Scope,
    aggregation: Aggregation,
    /// The number of the next `MATCH`: edges of one `MATCH` are distinct.
    next_clause: u32,
    /// What has been bound so far needs a transaction that writes.
    pub(crate) mode: PlanMode,
    pub(crate) hints: Vec<Hint>,
}

impl<'a> Binder<'a> {
    /// A binder for a text.
    pub(crate) fn new(text: &'a str, context: &'a CompileContext<'a>, config: &'a OptimizerConfig) -> Binder<'a> {
        Binder {
            text,
            context,
            config,
            slots: Slots::default(),
            scope: Scope::default(),
            aggregation: Aggregation::Forbidden("this place"),
            next_clause: 0,
            mode: PlanMode::Read,
            hints: Vec::new(),
        }
    }

    /// Binds a whole query.
    pub(crate) fn query(&mut self, query: &ast::Query) -> Result<BoundUnion> {
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
            self.scope = Scope::default();
            parts.push(self.single_query(single)?);
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

    fn single_query(&mut self, query: &ast::SingleQuery) -> Result<BoundQuery> {
        let mut bound = BoundQuery::default();
        let alone = query.clauses.len() == 1;
        for clause in &query.clauses {
            self.clause(clause, alone, &mut bound)?;
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
                self.mode = PlanMode::Write;
                let items = self.set_items(items)?;
                bound.clauses.push(BoundClause::Set(items));
            }
            ClauseKind::Remove(items) => {
                self.mode = PlanMode::Write;
                let items = self.remove_items(items)?;
                bound.clauses.push(BoundClause::Set(items));
            }
            ClauseKind::Delete(delete) => self.delete(delete, bound)?,
            ClauseKind::Call(call) => self.call(call, clause.span, alone, bound)?,
            ClauseKind::Foreach(_) => {
                let error = unsupported("FOREACH", self.keyword(clause.span, "FOREACH"));
                return Err(error.with_remedy("write UNWIND list AS variable and the updating clauses after it"));
            }
            ClauseKind::Subquery(_) => {
                let error = unsupported("CALL with a subquery", self.keyword(clause.span, "CALL"));
                return Err(error.with_remedy("write its clauses in the query itself, or use EXISTS or COUNT"));
            }
        }
        Ok(())
    }

    fn unwind(&mut self, unwind: &ast::UnwindClause, bound: &mut BoundQuery) -> Result<()> {
        let list = self.plain_expression(&unwind.list, "UNWIND")?;
        self.check_new(&unwind.variable)?;
        let slot = self.slots.named(&unwind.variable.text, crate::plan::SlotKind::Any);
        self.scope.declare(&unwind.variable.text, slot, scope::VariableKind::Any);
        bound.clauses.push(BoundClause::Unwind { list, slot });
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

/// How a clause takes part in the order of clauses.
fn is_write(kind: &ClauseKind) -> bool {
    matches!(
        kind,
        ClauseKind::Create(_)
            | ClauseKind::Merge(_)
            | ClauseKind::Set(_)
            | ClauseKind::Remove(_)
            | ClauseKind::Delete(_)
            | ClauseKind::Foreach(_)
    )
}

fn clause_name(kind: &ClauseKind) -> &'static str {
    match kind {
        ClauseKind::Match(clause) if clause.optional => "OPTIONAL MATCH",
        ClauseKind::Match(_) => "MATCH",
        ClauseKind::Unwind(_) => "UNWIND",
        ClauseKind::With(_) => "WITH",
        ClauseKind::Return(_) => "RETURN",
        ClauseKind::Create(_) => "CREATE",
        ClauseKind::Merge(_) => "MERGE",
        ClauseKind::Set(_) => "SET",
        ClauseKind::Remove(_) => "REMOVE",
        ClauseKind::Delete(_) => "DELETE",
        ClauseKind::Foreach(_) => "FOREACH",
        ClauseKind::Call(_) | ClauseKind::Subquery(_) => "CALL",
    }
}
