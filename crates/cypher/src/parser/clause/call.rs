//! `CALL` of procedures and of subqueries, and the bodies of subquery expressions.

use model::{Result, error};

use super::super::Parser;
use crate::ast::{
    Batches, CallClause, Clause, ClauseKind, Imports, MatchClause, OnError, Query, Retry, SingleQuery, SubqueryClause,
    SubqueryKind, Yield, YieldItem,
};
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn call_clause(&mut self) -> Result<ClauseKind> {
        let optional = self.take_keyword("OPTIONAL");
        self.expect_keyword("CALL")?;
        if matches!(self.kind(0), TokenKind::LeftBrace | TokenKind::LeftParen) {
            return self.subquery_clause(optional).map(ClauseKind::Subquery);
        }
        let mut procedure = vec![self.name("the name of a procedure, or {")?];
        while self.take(TokenKind::Dot) {
            procedure.push(self.name("the name of a procedure")?);
        }
        let arguments = if self.take(TokenKind::LeftParen) {
            let is_empty = self.is(TokenKind::RightParen);
            let arguments = if is_empty { Vec::new() } else { self.comma_separated(Self::expression)? };
            if !self.is(TokenKind::RightParen) {
                return Err(self.expected("an operator, a comma or )"));
            }
            self.advance();
            Some(arguments)
        } else {
            None
        };
        let results = if self.take_keyword("YIELD") { self.results()? } else { Yield::Absent };
        Ok(ClauseKind::Call(CallClause { optional, procedure, arguments, results }))
    }

    /// Reads the columns after `YIELD`.
    pub(in crate::parser) fn results(&mut self) -> Result<Yield> {
        if self.take(TokenKind::Star) {
            return Ok(Yield::All);
        }
        let items = self.comma_separated(|parser| {
            let start = parser.here();
            let column = parser.variable()?;
            let alias = if parser.take_keyword("AS") { Some(parser.name("a variable")?) } else { None };
            Ok(YieldItem { span: parser.since(start), column, alias })
        })?;
        Ok(Yield::Items { items, predicate: self.predicate()? })
    }

    /// `[(a, b)] { … } [IN TRANSACTIONS …]` after `CALL`.
    fn subquery_clause(&mut self, optional: bool) -> Result<SubqueryClause> {
        let imports = self.imports()?;
        self.expect(TokenKind::LeftBrace)?;
        let outer = std::mem::replace(&mut self.needs_result, true);
        let query = self.query()?;
        self.needs_result = outer;
        if !self.is(TokenKind::RightBrace) {
            return Err(self.expected("a clause or }"));
        }
        self.advance();
        let batches = if self.is_word(0, "IN") { Some(Box::new(self.batches()?)) } else { None };
        Ok(SubqueryClause { optional, imports, query, batches })
    }

    /// `(a, b)`, `(*)`, `()` or nothing, before the braces.
    fn imports(&mut self) -> Result<Imports> {
        let start = self.here();
        if !self.take(TokenKind::LeftParen) {
            return Ok(Imports::Leading);
        }
        if self.take(TokenKind::Star) {
            self.expect(TokenKind::RightParen)?;
            return Ok(Imports::All(self.since(start)));
        }
        let is_empty = self.is(TokenKind::RightParen);
        let names = if is_empty { Vec::new() } else { self.comma_separated(Self::variable)? };
        self.expect(TokenKind::RightParen)?;
        Ok(Imports::Listed(names))
    }

    /// `IN [n CONCURRENT] TRANSACTIONS [OF n ROWS] [ON ERROR …] [REPORT STATUS AS name]`.
    fn batches(&mut self) -> Result<Batches> {
        let start = self.expect_keyword("IN")?;
        let concurrent = if self.take_keyword("CONCURRENT") {
            Some(None)
        } else if self.at_keyword("TRANSACTIONS") {
            None
        } else {
            let count = self.nested(|parser| parser.postfix())?;
            self.expect_keyword("CONCURRENT")?;
            Some(Some(count))
        };
        self.expect_keyword("TRANSACTIONS")?;
        let mut batches = Batches { span: start, concurrent, rows: None, on_error: None, retry: None, status: None };
        if self.take_keyword("OF") {
            batches.rows = Some(self.nested(|parser| parser.postfix())?);
            if !self.take_keyword("ROW") {
                self.expect_keyword("ROWS")?;
            }
        }
        // The two may stand in either order.
        for _ in 0..2 {
            if batches.on_error.is_none() && batches.retry.is_none() && self.take_keyword("ON") {
                self.expect_keyword("ERROR")?;
                self.on_error(&mut batches)?;
            }
            if batches.status.is_none() && self.take_keyword("REPORT") {
                self.expect_keyword("STATUS")?;
                self.expect_keyword("AS")?;
                batches.status = Some(self.variable()?);
            }
        }
        batches.span = self.since(start);
        Ok(batches)
    }

    /// `CONTINUE`, `BREAK`, `FAIL`, or `RETRY [FOR] [n SECONDS] [THEN one of them]`.
    fn on_error(&mut self, batches: &mut Batches) -> Result<()> {
        if !self.take_keyword("RETRY") {
            batches.on_error = Some(self.after_error("CONTINUE, BREAK, FAIL or RETRY")?);
            return Ok(());
        }
        let mut seconds = None;
        let is_time = self.take_keyword("FOR")
            || matches!(self.kind(0), TokenKind::Integer | TokenKind::Float | TokenKind::Parameter);
        if is_time {
            seconds = Some(self.nested(|parser| parser.postfix())?);
            if !["SECONDS", "SECOND", "SEC"].into_iter().any(|word| self.take_keyword(word)) {
                return Err(self.expected("SECONDS"));
            }
        }
        batches.retry = Some(Retry { seconds });
        if self.take_keyword("THEN") {
            batches.on_error = Some(self.after_error("CONTINUE, BREAK or FAIL")?);
        }
        Ok(())
    }

    fn after_error(&mut self, expected: &str) -> Result<OnError> {
        for (word, choice) in [("CONTINUE", OnError::Continue), ("BREAK", OnError::Break), ("FAIL", OnError::Fail)] {
            if self.take_keyword(word) {
                return Ok(choice);
            }
        }
        Err(self.expected(expected))
    }

    /// Reads the content of the braces of `EXISTS`, `COUNT` and `COLLECT`: a query, or a bare pattern with a `WHERE`.
    pub(in crate::parser) fn subquery_body(&mut self, kind: SubqueryKind) -> Result<Query> {
        let is_shortest = self.is_word(0, "shortestPath") || self.is_word(0, "allShortestPaths");
        let is_named = self.is_name(0) && self.kind(1) == TokenKind::Equal;
        let is_pattern = self.is(TokenKind::LeftParen) || is_shortest || is_named;
        if !is_pattern || kind == SubqueryKind::Collect {
            let query = self.query_in(kind)?;
            if !self.is(TokenKind::RightBrace) {
                return Err(self.expected("a clause or }"));
            }
            return Ok(query);
        }
        let start = self.here();
        let patterns = self.patterns()?;
        let predicate = self.predicate()?;
        if !self.is(TokenKind::RightBrace) {
            return Err(self.expected(if predicate.is_some() { "an operator or }" } else { "WHERE or }" }));
        }
        let span = self.since(start);
        let kind =
            ClauseKind::Match(MatchClause { optional: false, mode: None, patterns, hints: Vec::new(), predicate });
        self.grow()?;
        let first = SingleQuery { span, clauses: vec![Clause { span, kind }] };
        Ok(Query { span, first, unions: Vec::new() })
    }

    /// A query whose rows are collected needs a column; one whose rows are counted does not.
    fn query_in(&mut self, kind: SubqueryKind) -> Result<Query> {
        let outer = std::mem::replace(&mut self.needs_result, kind == SubqueryKind::Collect);
        let query = self.query()?;
        self.needs_result = outer;
        for single in std::iter::once(&query.first).chain(query.unions.iter().map(|union| &union.query)) {
            if let Some(clause) = single.clauses.iter().find(|clause| clause.kind.is_updating()) {
                let found = clause.kind.keyword();
                return Err(error!(
                    Syntax::InvalidClauseComposition,
                    "expected clauses that only read in a subquery expression, found {found}"
                )
                .at(clause.span)
                .with_remedy("use CALL { … } for what writes"));
            }
        }
        let ends_in_return =
            matches!(query.first.clauses.last().map(|clause| &clause.kind), Some(ClauseKind::Return(_)));
        if kind == SubqueryKind::Collect && !ends_in_return {
            return Err(error!(Syntax, "expected RETURN at the end of COLLECT {{ … }}").at(query.span));
        }
        Ok(query)
    }
}
