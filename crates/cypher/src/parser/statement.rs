//! Statements: what a script is made of.

use model::{Result, error};

use super::Parser;
use super::clause::order;
use crate::ast::{
    ClauseKind, Expression, Maintenance, Query, SingleQuery, Statement, StatementKind, StatementMode, Union,
};
use crate::token::TokenKind;

/// Options of Neo4j's planner and executor, which change no result.
const IGNORED_OPTIONS: [&str; 10] = [
    "runtime", "planner", "updatestrategy", "expressionengine", "operatorengine", "interpretedpipesfallback", "replan",
    "connectcomponentsplanner", "eageranalyzer", "inferschemaparts",
];

impl Parser<'_> {
    /// A statement without its semicolon.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let start = self.here();
        self.language_version()?;
        let mode = if self.take_keyword("EXPLAIN") {
            StatementMode::Explain
        } else if self.take_keyword("PROFILE") {
            StatementMode::Profile
        } else {
            StatementMode::Run
        };
        let kind = self.statement_kind()?;
        Ok(Statement { span: self.since(start), mode, kind })
    }

    /// `CYPHER 5` or `CYPHER 25` before a statement, and settings of Neo4j's planner and executor, such as `runtime=slotted`. Both
    /// versions mean what is there, and the settings mean nothing here.
    fn language_version(&mut self) -> Result<()> {
        if !self.is_word(0, "CYPHER") {
            return Ok(());
        }
        let prefix = self.advance().span;
        let version = self.token(0);
        let is_version = version.kind == TokenKind::Integer && ["5", "25"].contains(&self.slice(version.span));
        if is_version {
            self.advance();
        }
        let mut has_options = false;
        while self.is_name(0) && self.kind(1) == TokenKind::Equal {
            let option = self.slice(self.token(0).span).to_ascii_lowercase();
            if !IGNORED_OPTIONS.contains(&option.as_str()) {
                let remedy = "leave it out; options that are passed over are those of Neo4j, as runtime=slotted";
                return Err(self.unsupported("this option of the CYPHER prefix", self.here(), remedy));
            }
            self.advance();
            self.advance();
            self.name("the value of the option")?;
            has_options = true;
        }
        if !is_version && !has_options {
            return Err(self.unsupported("the CYPHER prefix with anything but 5 or 25", prefix, "leave it out"));
        }
        Ok(())
    }

    /// The semicolons after a statement, or the end of the text.
    pub(super) fn statement_end(&mut self) -> Result<()> {
        if !self.is(TokenKind::Semicolon) && !self.is(TokenKind::End) {
            return Err(self.expected("a semicolon or the end of the query"));
        }
        while self.take(TokenKind::Semicolon) {}
        Ok(())
    }

    fn statement_kind(&mut self) -> Result<StatementKind> {
        for (keyword, kind) in
            [("BEGIN", StatementKind::Begin), ("COMMIT", StatementKind::Commit), ("ROLLBACK", StatementKind::Rollback)]
        {
            if self.take_keyword(keyword) {
                self.take_keyword("TRANSACTION");
                return Ok(kind);
            }
        }
        if self.is_word(0, "START") && self.is_word(1, "TRANSACTION") {
            self.advance();
            self.advance();
            if self.is_word(0, "READ") {
                let remedy = "leave it out: a transaction that does not write is as fast";
                return Err(self.unsupported("the mode of a transaction", self.here(), remedy));
            }
            return Ok(StatementKind::Begin);
        }
        if let Some(work) = self.maintenance()? {
            return Ok(StatementKind::Maintenance(work));
        }
        if self.is_word(0, "ALTER") && self.is_word(1, "TABLE") {
            return self.alter_table();
        }
        if self.is_word(0, "SHOW") {
            return self.show();
        }
        if self.is_word(0, "TERMINATE") {
            return self.terminate();
        }
        if self.is_administration() {
            return self.administration().map(StatementKind::Administration);
        }
        if let Some(error) = self.unsupported_clause() {
            return Err(error);
        }
        if self.is_word(0, "CREATE") && self.is_word(1, "CONSTRAINT") {
            return self.create_constraint().map(StatementKind::CreateConstraint);
        }
        let is_range = self.is_word(1, "RANGE") && self.is_word(2, "INDEX");
        if self.is_word(0, "CREATE") && (self.is_word(1, "INDEX") || is_range) {
            return self.create_index().map(StatementKind::CreateIndex);
        }
        if self.is_word(0, "CREATE") && self.is_sort_key(1) {
            self.advance();
            return self.create_sort_key().map(StatementKind::CreateSortKey);
        }
        if self.is_word(0, "DROP") && self.is_sort_key(1) {
            self.advance();
            return self.drop_sort_key().map(StatementKind::DropSortKey);
        }
        if self.take_keyword("DROP") {
            if self.is_word(0, "TABLE") {
                return Err(self.drop_table());
            }
            return self.drop_rule();
        }
        if self.is_create_table() {
            return self.create_table();
        }
        if self.is_word(0, "COPY") {
            return self.copy();
        }
        if self.is_source_statement() {
            return self.source_statement();
        }
        self.query().map(StatementKind::Query)
    }

    /// A statement that looks after a store, if one begins here.
    fn maintenance(&mut self) -> Result<Option<Maintenance<Expression>>> {
        if self.take_keyword("CHECKPOINT") {
            return Ok(Some(Maintenance::Checkpoint));
        }
        if self.take_keyword("COMPACT") {
            return Ok(Some(Maintenance::Compact));
        }
        if !self.take_keyword("BACKUP") {
            return Ok(None);
        }
        self.expect_keyword("DATABASE")?;
        self.expect_keyword("TO")?;
        let to = self.file_name()?;
        let base = if self.take_keyword("BASE") { Some(self.file_name()?) } else { None };
        Ok(Some(Maintenance::Backup { to, base }))
    }

    /// Queries, each going on with the rows of the one before: `query NEXT query`.
    pub(super) fn query(&mut self) -> Result<Query> {
        let mut query = self.union_query()?;
        if !self.at_keyword("NEXT") {
            return Ok(query);
        }
        while self.at_keyword("NEXT") {
            let next = self.advance().span;
            query = self.followed(query, next)?;
        }
        order::check(&query.first, self.needs_result)?;
        Ok(query)
    }

    /// Single queries joined by `UNION`.
    pub(super) fn union_query(&mut self) -> Result<Query> {
        let start = self.here();
        // Joined parts stand side by side.
        let before = self.steps;
        let first = self.single_query()?;
        let (mut unions, mut most) = (Vec::new(), self.steps);
        while self.at_keyword("UNION") {
            let start = self.advance().span;
            let all = self.take_keyword("ALL");
            if !all {
                self.take_keyword("DISTINCT");
            }
            if unions.first().is_some_and(|first: &Union| first.all != all) {
                let (expected, found) = if all { ("UNION", "UNION ALL") } else { ("UNION ALL", "UNION") };
                return Err(error!(Syntax::InvalidClauseComposition, "expected {expected} as before, found {found}")
                    .at(self.since(start))
                    .with_remedy("use one of the two throughout, or put a part of the query into CALL { … }"));
            }
            self.steps = before;
            unions.push(Union { span: self.since(start), all, query: self.single_query()? });
            most = most.max(self.steps);
        }
        self.steps = most;
        Ok(Query { span: self.since(start), first, unions })
    }

    pub(super) fn single_query(&mut self) -> Result<SingleQuery> {
        if self.is_word(0, "WHEN") {
            return self.conditional_query();
        }
        let start = self.here();
        let mut clauses = vec![self.clause()?];
        while self.starts_clause() {
            self.add_steps(1)?;
            clauses.push(self.clause()?);
        }
        let is_end = matches!(self.kind(0), TokenKind::End | TokenKind::Semicolon | TokenKind::RightBrace)
            || self.paren_ends && self.is(TokenKind::RightParen)
            || self.branch_ends && (self.is_word(0, "WHEN") || self.is_word(0, "ELSE"));
        if !is_end && !self.at_keyword("UNION") && !self.at_keyword("NEXT") {
            return Err(self.expected(match clauses.last().map(|clause| &clause.kind) {
                Some(ClauseKind::Return(_)) => "an operator, AS, a comma or the end of the query",
                _ => "a clause such as RETURN, or the end of the query",
            }));
        }
        let query = SingleQuery { span: self.since(start), clauses };
        order::check(&query, self.needs_result)?;
        Ok(query)
    }
}
