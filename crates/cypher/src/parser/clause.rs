//! Clauses of queries.

use model::{Error, Result, error};

use super::Parser;
use crate::ast::{
    Clause, ClauseKind, DeleteClause, Expression, ForeachClause, LetItem, MatchClause, MergeClause, PathPattern,
    Projection, ProjectionItem, SortItem, UnwindClause,
};
use crate::token::{self, TokenKind};

mod call;
mod hint;
mod load;
pub(super) mod order;
mod update;

/// The words that start a clause.
#[rustfmt::skip]
const CLAUSES: &[&str] = &[
    "MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN", "CREATE", "MERGE", "SET", "REMOVE", "DELETE", "DETACH",
    "FOREACH", "CALL", "LET", "FILTER", "FINISH", "LOAD", "INSERT", "NODETACH",
];

impl Parser<'_> {
    /// True if the word `ahead` tokens on starts a clause, or a part of one that follows an expression.
    pub(super) fn is_clause_keyword(&self, ahead: usize) -> bool {
        let word = self.word(ahead);
        token::is_one_of(word, CLAUSES)
            || token::is_one_of(word, &["WHERE", "ORDER", "SKIP", "OFFSET", "LIMIT", "UNION"])
    }

    /// True if a clause starts here; a word that does not end the query is taken for a misspelt one.
    pub(super) fn starts_clause(&mut self) -> bool {
        self.try_keywords(CLAUSES);
        token::is_one_of(self.word(0), CLAUSES) || self.is_for() || self.unsupported_clause().is_some()
    }

    /// True if `FOR variable IN` stands here.
    fn is_for(&self) -> bool {
        self.is_word(0, "FOR") && self.is_name(1) && self.is_word(2, "IN")
    }

    pub(super) fn clause(&mut self) -> Result<Clause> {
        let start = self.here();
        if let Some(error) = self.unsupported_clause() {
            return Err(error);
        }
        self.try_keywords(CLAUSES);
        let kind = self.nested(|parser| {
            let kind = parser.clause_kind()?;
            parser.grow()?;
            Ok(kind)
        })?;
        Ok(Clause { span: self.since(start), kind })
    }

    fn clause_kind(&mut self) -> Result<ClauseKind> {
        match self.word(0).to_ascii_uppercase().as_str() {
            "OPTIONAL" if self.is_word(1, "CALL") => self.call_clause(),
            "MATCH" | "OPTIONAL" => self.match_clause().map(ClauseKind::Match),
            "UNWIND" => self.unwind().map(ClauseKind::Unwind),
            "WITH" => self.with().map(ClauseKind::With),
            "RETURN" => self.return_clause().map(ClauseKind::Return),
            "FOR" if self.is_for() => self.for_clause().map(ClauseKind::Unwind),
            "CREATE" | "INSERT" => self.create().map(ClauseKind::Create),
            "MERGE" => self.merge().map(|merge| ClauseKind::Merge(Box::new(merge))),
            "SET" => self.set().map(ClauseKind::Set),
            "REMOVE" => self.remove().map(ClauseKind::Remove),
            "DELETE" | "DETACH" | "NODETACH" => self.delete().map(ClauseKind::Delete),
            "FOREACH" => self.foreach().map(ClauseKind::Foreach),
            "CALL" => self.call_clause(),
            "LET" => self.let_clause().map(ClauseKind::Let),
            "FILTER" => self.filter().map(ClauseKind::Filter),
            "FINISH" => self.expect_keyword("FINISH").map(|_| ClauseKind::Finish),
            "LOAD" if self.is_word(1, "FROM") => self.load_from().map(ClauseKind::Call),
            "LOAD" => self.load_csv().map(ClauseKind::Call),
            _ => Err(self.expected("a clause such as MATCH, CREATE or RETURN")),
        }
    }

    #[inline(never)]
    fn match_clause(&mut self) -> Result<MatchClause> {
        let optional = self.take_keyword("OPTIONAL");
        self.expect_keyword("MATCH")?;
        let mode = self.match_mode();
        let patterns = self.patterns()?;
        self.add_steps(patterns.iter().map(|pattern| 1 + 2 * pattern.steps.len()).sum())?;
        let hints = self.planner_hints()?;
        Ok(MatchClause { optional, mode, patterns, hints, predicate: self.predicate()? })
    }

    /// `[WHERE expression]`.
    pub(super) fn predicate(&mut self) -> Result<Option<Expression>> {
        if self.take_keyword("WHERE") { self.expression().map(Some) } else { Ok(None) }
    }

    fn unwind(&mut self) -> Result<UnwindClause> {
        self.expect_keyword("UNWIND")?;
        let list = self.expression()?;
        self.expect_keyword("AS")?;
        Ok(UnwindClause { list, variable: self.variable()? })
    }

    /// `FOR variable IN list`, GQL's `UNWIND`.
    fn for_clause(&mut self) -> Result<UnwindClause> {
        self.expect_keyword("FOR")?;
        let variable = self.variable()?;
        self.expect_keyword("IN")?;
        Ok(UnwindClause { list: self.expression()?, variable })
    }

    fn with(&mut self) -> Result<Projection> {
        self.expect_keyword("WITH")?;
        let mut projection = self.projection()?;
        projection.predicate = self.predicate()?;
        Ok(projection)
    }

    fn return_clause(&mut self) -> Result<Projection> {
        self.expect_keyword("RETURN")?;
        let projection = self.projection()?;
        if self.is_word(0, "WHERE") {
            return Err(error!(Syntax, "expected the end of the query after RETURN, found WHERE")
                .at(self.here())
                .with_remedy("put WHERE after MATCH, or filter with WITH … WHERE before RETURN"));
        }
        Ok(projection)
    }

    /// Reads the projection after `WITH` and `RETURN`, up to `LIMIT`.
    fn projection(&mut self) -> Result<Projection> {
        let distinct = self.take_keyword("DISTINCT");
        let star = if self.is(TokenKind::Star) { Some(self.advance().span) } else { None };
        let items = match star {
            Some(_) if !self.take(TokenKind::Comma) => Vec::new(),
            _ => self.comma_separated(Self::projection_item)?,
        };
        let mut projection = Projection { distinct, star, items, ..Projection::default() };
        self.ordering(&mut projection)?;
        Ok(projection)
    }

    /// `[ORDER BY …] [SKIP …] [LIMIT …]`.
    pub(super) fn ordering(&mut self, projection: &mut Projection) -> Result<()> {
        if self.take_keyword("ORDER") {
            self.expect_keyword("BY")?;
            projection.order = self.comma_separated(Self::sort_item)?;
        }
        let has_skip = self.take_keyword("SKIP") || self.take_keyword("OFFSET");
        projection.skip = if has_skip { Some(self.expression()?) } else { None };
        projection.limit = if self.take_keyword("LIMIT") { Some(self.expression()?) } else { None };
        if projection.limit.is_some() && !has_skip && self.is_word(0, "SKIP") {
            return Err(self.misplaced("SKIP", "LIMIT"));
        }
        if projection.order.is_empty() && self.is_word(0, "ORDER") && self.is_word(1, "BY") {
            return Err(self.misplaced("ORDER BY", if has_skip { "SKIP" } else { "LIMIT" }));
        }
        Ok(())
    }

    fn misplaced(&self, what: &str, before: &str) -> Error {
        error!(Syntax, "expected {what} before {before}, found it after")
            .at(self.here())
            .with_remedy("the order is ORDER BY, SKIP, LIMIT")
    }

    fn projection_item(&mut self) -> Result<ProjectionItem> {
        let start = self.here();
        let expression = self.expression()?;
        let alias = if self.take_keyword("AS") { Some(self.name("a variable")?) } else { None };
        Ok(ProjectionItem { span: self.since(start), expression, alias })
    }

    fn sort_item(&mut self) -> Result<SortItem> {
        let start = self.here();
        let expression = self.expression()?;
        let descending = self.take_keyword("DESC") || self.take_keyword("DESCENDING");
        if !descending && !self.take_keyword("ASC") {
            self.take_keyword("ASCENDING");
        }
        Ok(SortItem { span: self.since(start), expression, descending })
    }

    /// `LET name = expression, …`.
    fn let_clause(&mut self) -> Result<Vec<LetItem>> {
        self.expect_keyword("LET")?;
        self.comma_separated(|parser| {
            let variable = parser.variable()?;
            parser.expect(TokenKind::Equal)?;
            Ok(LetItem { variable, value: parser.expression()? })
        })
    }

    /// `FILTER [WHERE] predicate`.
    fn filter(&mut self) -> Result<Expression> {
        self.expect_keyword("FILTER")?;
        self.take_keyword("WHERE");
        self.expression()
    }

    fn create(&mut self) -> Result<Vec<PathPattern>> {
        if !self.take_keyword("INSERT") {
            self.expect_keyword("CREATE")?;
            self.try_keywords(&["CONSTRAINT"]);
        }
        self.patterns()
    }

    #[inline(never)]
    fn merge(&mut self) -> Result<MergeClause> {
        self.expect_keyword("MERGE")?;
        let pattern = self.path_pattern()?;
        if self.is(TokenKind::Comma) {
            return Err(error!(Syntax, "expected one pattern after MERGE, found a comma")
                .at(self.here())
                .with_remedy("write one MERGE for each pattern"));
        }
        let (mut on_create, mut on_match) = (Vec::new(), Vec::new());
        while self.take_keyword("ON") {
            let items = if self.take_keyword("CREATE") {
                &mut on_create
            } else if self.take_keyword("MATCH") {
                &mut on_match
            } else {
                return Err(self.expected("CREATE or MATCH"));
            };
            items.extend(self.set()?);
        }
        Ok(MergeClause { pattern, on_create, on_match })
    }

    #[inline(never)]
    fn delete(&mut self) -> Result<DeleteClause> {
        let detach = self.take_keyword("DETACH");
        if !detach {
            self.take_keyword("NODETACH");
        }
        self.expect_keyword("DELETE")?;
        Ok(DeleteClause { detach, expressions: self.comma_separated(Self::expression)? })
    }

    // Kept out of the frames of what calls it, of which many may lie on the stack.
    #[inline(never)]
    fn foreach(&mut self) -> Result<ForeachClause> {
        self.expect_keyword("FOREACH")?;
        self.expect(TokenKind::LeftParen)?;
        let variable = self.variable()?;
        self.expect_keyword("IN")?;
        let list = self.expression_before_bar()?;
        self.expect(TokenKind::Bar)?;
        let mut body = vec![self.updating_clause()?];
        while self.starts_clause() {
            body.push(self.updating_clause()?);
        }
        self.expect(TokenKind::RightParen)?;
        Ok(ForeachClause { variable, list, body })
    }

    /// A clause of the body of `FOREACH`.
    fn updating_clause(&mut self) -> Result<Clause> {
        let clause = self.clause()?;
        if clause.kind.is_updating() {
            return Ok(clause);
        }
        let found = clause.kind.keyword();
        Err(error!(Syntax, "expected an updating clause in FOREACH, found {found}")
            .at(clause.span)
            .with_remedy("use UNWIND for what reads"))
    }
}
