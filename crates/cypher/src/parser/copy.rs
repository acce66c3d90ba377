//! `COPY`: files into the store, or a result into a file, in the form of Kùzu and LadybugDB.

use model::Result;

use super::Parser;
use crate::ast::{Copy, CopyOption, CopyWay, Expression, ExpressionKind, Query, StatementKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `COPY name FROM 'file' [(option = value, …)]`, `COPY name FROM (query) [(…)]` or `COPY (query) TO 'file' [(…)]`.
    pub(super) fn copy(&mut self) -> Result<StatementKind> {
        self.expect_keyword("COPY")?;
        let way = if self.take(TokenKind::LeftParen) {
            let query = self.copied_query()?;
            self.expect_keyword("TO")?;
            CopyWay::To { query: Box::new(query), file: self.file_name()? }
        } else {
            let name = self.name("a label, a relationship type, or a query in parentheses")?;
            self.expect_keyword("FROM")?;
            if self.take(TokenKind::LeftParen) {
                CopyWay::FromQuery { name, query: Box::new(self.copied_query()?) }
            } else if self.take(TokenKind::LeftBracket) {
                let files = self.comma_separated(Self::file_name)?;
                self.expect(TokenKind::RightBracket)?;
                CopyWay::From { name, files }
            } else {
                CopyWay::From { name, files: vec![self.file_name()?] }
            }
        };
        let mut options = Vec::new();
        if self.take(TokenKind::LeftParen) {
            options = self.comma_separated(Self::copy_option)?;
            self.expect(TokenKind::RightParen)?;
        }
        Ok(StatementKind::Copy(Copy { way, options }))
    }

    /// A query and the parenthesis after it.
    fn copied_query(&mut self) -> Result<Query> {
        self.paren_ends = true;
        let query = self.query()?;
        self.paren_ends = false;
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected("a clause or )"));
        }
        self.advance();
        Ok(query)
    }

    pub(super) fn file_name(&mut self) -> Result<Expression> {
        if !matches!(self.kind(0), TokenKind::String | TokenKind::Parameter) {
            return Err(self.expected("the name of a file as text, or a parameter"));
        }
        self.atom_of_copy()
    }

    fn copy_option(&mut self) -> Result<CopyOption> {
        let name = self.name("the name of an option")?;
        // LadybugDB also writes `HEADER true`.
        self.take(TokenKind::Equal);
        let value = self.atom_of_copy()?;
        Ok(CopyOption { name, value })
    }

    /// A literal or a parameter.
    fn atom_of_copy(&mut self) -> Result<Expression> {
        let value = self.expression()?;
        match value.kind {
            ExpressionKind::String(_)
            | ExpressionKind::Boolean(_)
            | ExpressionKind::Integer(_)
            | ExpressionKind::Parameter(_) => Ok(value),
            _ => Err(model::error!(Syntax, "expected a text, a number, true, false or a parameter").at(value.span)),
        }
    }
}
