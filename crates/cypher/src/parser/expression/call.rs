//! Calls: functions, quantifiers, `reduce`, and map projections.

use model::{Result, error};

use super::super::Parser;
use crate::ast::{Expression, ExpressionKind, MapEntry, MapProjectionItem, Name, Quantifier};
use crate::token::TokenKind;

/// The normal forms of Unicode.
pub(super) const NORMAL_FORMS: [&str; 4] = ["NFC", "NFD", "NFKC", "NFKD"];

impl Parser<'_> {
    /// True if names and dots here end in an opening parenthesis.
    pub(super) fn is_namespaced_call(&self) -> bool {
        let mut ahead = 1;
        while self.kind(ahead) == TokenKind::Dot && self.is_name(ahead + 1) {
            ahead += 2;
        }
        self.kind(ahead) == TokenKind::LeftParen
    }

    /// `name.space.function([DISTINCT] argument, …)`.
    pub(super) fn call(&mut self) -> Result<Expression> {
        let start = self.here();
        if let Some(error) = self.unsupported_call() {
            return Err(error);
        }
        if self.is_trim_of() {
            return self.trim_of();
        }
        let mut name = vec![self.name("a function")?];
        while self.take(TokenKind::Dot) {
            name.push(self.name("a function")?);
        }
        self.expect(TokenKind::LeftParen)?;
        let distinct = self.take_keyword("DISTINCT");
        if distinct && matches!(self.kind(0), TokenKind::RightParen | TokenKind::Star) {
            return Err(self.expected("an expression after DISTINCT"));
        }
        let mut arguments = Vec::new();
        if !self.is(TokenKind::RightParen) {
            let is_normalize = name.len() == 1 && name[0].text.eq_ignore_ascii_case("normalize");
            arguments = self.comma_separated(|parser| {
                let form = NORMAL_FORMS.iter().find(|form| parser.is_word(0, form)).filter(|_| is_normalize);
                match form {
                    Some(form) => {
                        Ok(Expression::new(parser.advance().span, ExpressionKind::String((*form).to_string())))
                    }
                    None => parser.expression(),
                }
            })?;
        }
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected("an operator, a comma or )"));
        }
        self.advance();
        self.made(start, ExpressionKind::Function { name, distinct, arguments })
    }

    /// True if `trim(BOTH …`, or `trim(… FROM`, stands here.
    fn is_trim_of(&self) -> bool {
        let is_place = ["BOTH", "LEADING", "TRAILING"].iter().any(|word| self.is_word(2, word))
            && !matches!(
                self.kind(3),
                TokenKind::RightParen | TokenKind::Comma | TokenKind::Dot | TokenKind::LeftParen
            );
        let is_from = self.kind(2) == TokenKind::String && self.is_word(3, "FROM");
        self.is_word(0, "trim") && self.kind(1) == TokenKind::LeftParen && (is_place || is_from)
    }

    /// `trim([BOTH | LEADING | TRAILING] [characters] FROM text)`: a call of `btrim`, `ltrim` or `rtrim`.
    // Kept out of the frames of what calls it, of which many may lie on the stack.
    #[inline(never)]
    fn trim_of(&mut self) -> Result<Expression> {
        let start = self.advance().span;
        self.expect(TokenKind::LeftParen)?;
        let function = if self.take_keyword("LEADING") {
            "ltrim"
        } else if self.take_keyword("TRAILING") {
            "rtrim"
        } else {
            self.take_keyword("BOTH");
            "btrim"
        };
        let characters = if self.is_word(0, "FROM") { None } else { Some(self.expression()?) };
        self.expect_keyword("FROM")?;
        let arguments = std::iter::once(self.expression()?).chain(characters).collect();
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected("an operator or )"));
        }
        self.advance();
        let name = vec![Name { text: function.to_owned(), span: start }];
        self.made(start, ExpressionKind::Function { name, distinct: false, arguments })
    }

    /// `all(variable IN list [WHERE predicate])` and its kin.
    pub(super) fn quantifier(&mut self, quantifier: Quantifier) -> Result<Expression> {
        let start = self.advance().span;
        self.expect(TokenKind::LeftParen)?;
        let variable = self.variable()?;
        self.expect_keyword("IN")?;
        let list = Box::new(self.expression()?);
        let predicate = if self.take_keyword("WHERE") { Some(Box::new(self.expression()?)) } else { None };
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected(if predicate.is_some() { "an operator or )" } else { "WHERE or )" }));
        }
        self.advance();
        self.made(start, ExpressionKind::Quantifier { quantifier, variable, list, predicate })
    }

    /// `reduce(accumulator = initial, variable IN list | step)`, and `allReduce` with a condition after it.
    pub(super) fn reduce(&mut self) -> Result<Expression> {
        let has_predicate = self.is_word(0, "allReduce");
        let start = self.advance().span;
        self.expect(TokenKind::LeftParen)?;
        let accumulator = self.variable()?;
        self.expect(TokenKind::Equal)?;
        let initial = Box::new(self.expression()?);
        self.expect(TokenKind::Comma)?;
        let variable = self.variable()?;
        self.expect_keyword("IN")?;
        let list = Box::new(self.expression_before_bar()?);
        self.expect(TokenKind::Bar)?;
        let step = Box::new(self.expression()?);
        let predicate = if has_predicate {
            if !self.take(TokenKind::Comma) {
                return Err(self.expected("a comma and a condition"));
            }
            Some(Box::new(self.expression()?))
        } else {
            None
        };
        self.expect(TokenKind::RightParen)?;
        self.made(start, ExpressionKind::Reduce { accumulator, initial, variable, list, step, predicate })
    }

    /// `variable{.key, .*, key: value, other}`.
    pub(super) fn map_projection(&mut self) -> Result<Expression> {
        let variable = self.variable()?;
        self.expect(TokenKind::LeftBrace)?;
        let mut items = Vec::new();
        if !self.is(TokenKind::RightBrace) {
            items = self.comma_separated(Self::map_projection_item)?;
        }
        if !self.is(TokenKind::RightBrace) {
            return Err(self.expected("a comma or }"));
        }
        self.advance();
        let start = variable.span;
        self.made(start, ExpressionKind::MapProjection { variable, items })
    }

    fn map_projection_item(&mut self) -> Result<MapProjectionItem> {
        let start = self.here();
        if self.take(TokenKind::Dot) {
            if self.take(TokenKind::Star) {
                return Ok(MapProjectionItem::All(self.since(start)));
            }
            return Ok(MapProjectionItem::Property(self.name("a property or *")?));
        }
        if self.kind(1) == TokenKind::Colon {
            return self.map_entry().map(MapProjectionItem::Entry);
        }
        if !self.is_name(0) {
            return Err(self.expected("an item of a map projection"));
        }
        self.variable().map(MapProjectionItem::Variable)
    }

    /// `{key: value, …}`.
    pub(in crate::parser) fn map_literal(&mut self) -> Result<Expression> {
        let start = self.expect(TokenKind::LeftBrace)?;
        if self.is_name(0) && self.kind(1) == TokenKind::RightBrace {
            let name = self.slice(self.here());
            return Err(error!(Syntax, "expected a map, found {{{name}}}")
                .at(start.to(self.token(1).span))
                .with_remedy(format!("a parameter is written ${name}")));
        }
        let mut entries = Vec::new();
        if !self.is(TokenKind::RightBrace) {
            entries = self.comma_separated(Self::map_entry)?;
        }
        if !self.is(TokenKind::RightBrace) {
            return Err(self.expected("an operator, a comma or }"));
        }
        self.advance();
        self.made(start, ExpressionKind::Map(entries))
    }

    fn map_entry(&mut self) -> Result<MapEntry> {
        if self.is(TokenKind::String) {
            return Err(self.expected("a key").with_remedy("keys of maps are written without quotes, or in backticks"));
        }
        let key = self.key()?;
        if self.is(TokenKind::Equal) {
            return Err(self.expected(":").with_remedy("a key and its value are joined by a colon"));
        }
        self.expect(TokenKind::Colon)?;
        Ok(MapEntry { key, value: self.expression()? })
    }
}
