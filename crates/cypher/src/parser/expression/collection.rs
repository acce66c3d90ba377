//! Expressions in square brackets: lists, list comprehensions, pattern comprehensions.

use model::{Result, Span};

use super::super::{NO_PARTNER, Parser};
use crate::ast::{ComparisonOperator, Expression, ExpressionKind, Name, PathPattern};
use crate::token::{self, RESERVED, TokenKind};

/// First element of a list; the tokens after it show which kind it is.
enum First {
    /// A pattern, with its name.
    Pattern(Box<PathPattern>),
    /// Anything else.
    Element(Expression),
}

impl Parser<'_> {
    /// `[a, b]`, `[x IN list WHERE predicate | projection]`, `[(a)-->(b) WHERE predicate | projection]`.
    pub(super) fn list(&mut self) -> Result<Expression> {
        let start = self.expect(TokenKind::LeftBracket)?;
        if self.take(TokenKind::RightBracket) {
            return Ok(Expression::new(self.since(start), ExpressionKind::List(Vec::new())));
        }
        if self.is_comprehension() {
            let variable = self.variable()?;
            self.expect_keyword("IN")?;
            let list = Box::new(self.expression_before_bar()?);
            return self.list_comprehension(start, variable, list);
        }
        let first = self.expression_before_bar()?;
        let is_filtered = self.at_keyword("WHERE") || self.is(TokenKind::Bar);
        match first_element(first, is_filtered) {
            First::Pattern(pattern) => self.pattern_comprehension(start, pattern),
            First::Element(element) => self.elements(start, element),
        }
    }

    /// True if `variable IN` stands here, and no comma before the bracket or the bar that ends what follows.
    fn is_comprehension(&self) -> bool {
        if !self.is_name(0) || token::is_one_of(self.word(0), RESERVED) || !self.is_word(1, "IN") {
            return false;
        }
        let mut ahead = 2;
        loop {
            match self.kind(ahead) {
                TokenKind::Comma | TokenKind::End => return false,
                TokenKind::RightBracket | TokenKind::Bar => return true,
                TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace => {
                    match self.partners[self.at + ahead] {
                        NO_PARTNER => return false,
                        partner => ahead = partner as usize - self.at,
                    }
                }
                TokenKind::Word if self.is_word(ahead, "WHERE") && self.kind(ahead - 1) != TokenKind::Dot => {
                    return true;
                }
                _ => {}
            }
            ahead += 1;
        }
    }

    fn elements(&mut self, start: Span, first: Expression) -> Result<Expression> {
        let mut elements = vec![first];
        while self.take(TokenKind::Comma) {
            elements.push(self.expression()?);
        }
        if !self.is(TokenKind::RightBracket) {
            return Err(self.expected("an operator, a comma or ]"));
        }
        self.advance();
        self.made(start, ExpressionKind::List(elements))
    }

    fn list_comprehension(&mut self, start: Span, variable: Name, list: Box<Expression>) -> Result<Expression> {
        let predicate = if self.take_keyword("WHERE") { Some(Box::new(self.expression_before_bar()?)) } else { None };
        let projection = if self.take(TokenKind::Bar) { Some(Box::new(self.expression()?)) } else { None };
        if !self.is(TokenKind::RightBracket) {
            return Err(self.expected(if projection.is_some() {
                "an operator or ]"
            } else {
                "an operator, WHERE, | or ]"
            }));
        }
        self.advance();
        self.made(start, ExpressionKind::ListComprehension { variable, list, predicate, projection })
    }

    fn pattern_comprehension(&mut self, start: Span, pattern: Box<PathPattern>) -> Result<Expression> {
        let predicate = if self.take_keyword("WHERE") { Some(Box::new(self.expression_before_bar()?)) } else { None };
        self.expect(TokenKind::Bar)?;
        let projection = Box::new(self.expression()?);
        self.expect(TokenKind::RightBracket)?;
        self.made(start, ExpressionKind::PatternComprehension { pattern, predicate, projection })
    }
}

/// Reads `[p =] (a)-->(b)` as a pattern, where the text allows it.
fn first_element(first: Expression, may_be_pattern_head: bool) -> First {
    let span = first.span;
    match first.kind {
        ExpressionKind::Pattern(pattern) if may_be_pattern_head => First::Pattern(pattern),
        ExpressionKind::Comparison { first: name, mut rest } if may_be_pattern_head && rest.len() == 1 => {
            match (name.kind, rest.pop()) {
                (ExpressionKind::Variable(text), Some(equals))
                    if equals.operator == ComparisonOperator::Equal
                        && matches!(equals.operand.kind, ExpressionKind::Pattern(_)) =>
                {
                    let ExpressionKind::Pattern(mut pattern) = equals.operand.kind else {
                        unreachable!("the guard saw a pattern")
                    };
                    pattern.span = span;
                    pattern.variable = Some(Name { text, span: name.span });
                    First::Pattern(pattern)
                }
                (kind, equals) => {
                    let first = Box::new(Expression::new(name.span, kind));
                    let rest = equals.into_iter().collect();
                    First::Element(Expression::new(span, ExpressionKind::Comparison { first, rest }))
                }
            }
        }
        kind => First::Element(Expression::new(span, kind)),
    }
}
