//! `ATTACH`, `DETACH` and `PRELOAD`: databases that lie elsewhere as parts of the graph.

use model::Result;

use super::Parser;
use crate::ast::{Attach, CopyOption, Detach, Expression, ExpressionKind, Preload, StatementKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// True if one of these statements stands here. `DETACH DELETE` is a clause.
    pub(super) fn is_source_statement(&self) -> bool {
        let attaches = self.is_word(0, "ATTACH") && matches!(self.kind(1), TokenKind::String | TokenKind::Parameter);
        let names = |word| self.is_word(0, word) && self.is_name(1);
        attaches || names("PRELOAD") || names("DETACH") && !self.is_word(1, "DELETE")
    }

    /// One of them.
    pub(super) fn source_statement(&mut self) -> Result<StatementKind> {
        if self.take_keyword("ATTACH") {
            return self.attach().map(StatementKind::Attach);
        }
        if self.take_keyword("DETACH") {
            let if_exists = self.is_word(0, "IF") && self.is_word(1, "EXISTS");
            if if_exists {
                self.advance();
                self.advance();
            }
            return Ok(StatementKind::Detach(Detach { name: self.name("the name of a source")?, if_exists }));
        }
        self.expect_keyword("PRELOAD")?;
        self.preload().map(StatementKind::Preload)
    }

    fn attach(&mut self) -> Result<Attach> {
        let from = self.source_value("the URL of a database, a file or a parameter")?;
        let name = if self.take_keyword("AS") { Some(self.name("the name of the source")?) } else { None };
        let mut options = Vec::new();
        if self.take(TokenKind::LeftParen) {
            if !self.is(TokenKind::RightParen) {
                options = self.comma_separated(Self::source_option)?;
            }
            self.expect(TokenKind::RightParen)?;
        }
        Ok(Attach { from, name, options })
    }

    /// `name = value` or, as Kùzu has it, `name value`.
    fn source_option(&mut self) -> Result<CopyOption> {
        let name = self.name("the name of an option")?;
        self.take(TokenKind::Equal);
        let value = self.source_value("a text, a number, true, false or a parameter")?;
        Ok(CopyOption { name, value })
    }

    /// A literal, a parameter, or a word that is its own value.
    fn source_value(&mut self, what: &str) -> Result<Expression> {
        let is_truth = self.is_word(0, "true") || self.is_word(0, "false");
        if self.is_name(0) && !is_truth {
            let word = self.name(what)?;
            return Ok(Expression { span: word.span, kind: ExpressionKind::String(word.text) });
        }
        let start = self.here();
        let value = self.expression()?;
        match value.kind {
            ExpressionKind::String(_)
            | ExpressionKind::Boolean(_)
            | ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Parameter(_) => Ok(value),
            _ => Err(model::error!(Syntax, "expected {what}").at(self.since(start))),
        }
    }

    fn preload(&mut self) -> Result<Preload> {
        let name = self.name("the name of a source")?;
        let nodes = if self.take_keyword("NODES") { Some(self.comma_separated(Self::node_pattern)?) } else { None };
        let types = if self.take_keyword("RELATIONSHIPS") {
            Some(self.comma_separated(|parser| parser.name("a relationship type"))?)
        } else {
            None
        };
        Ok(Preload { name, nodes, types })
    }
}
