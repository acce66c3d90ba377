//! The parts of patterns: nodes and edges, and what is asked of their labels.

use model::{ErrorDetail, Result, Span, error};

use super::{NO_PARTNER, Parser};
use crate::ast::{
    Arrow, EdgePattern, Expression, LabelExpression, LabelExpressionKind, Name, NodePattern, VariableLength,
};
use crate::lexer::literal;
use crate::token::TokenKind;

/// Meaning of a colon after a label.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Colons {
    /// It joins another label: `:A:B`.
    Join,
    /// It ends the expression: an edge has one type only.
    End,
}

impl Parser<'_> {
    /// `(variable :labels {properties} WHERE predicate)`.
    pub(super) fn node_pattern(&mut self) -> Result<NodePattern> {
        if !self.is(TokenKind::LeftParen) {
            return Err(self.expected("a node in parentheses"));
        }
        let start = self.advance().span;
        let variable = self.element_variable()?;
        let labels = if self.take_label_sign() { Some(self.label_expression(Colons::Join)?) } else { None };
        let properties = self.element_properties()?;
        let predicate = self.element_predicate()?;
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected(match (&predicate, &properties, &labels, &variable) {
                (Some(_), ..) => "an operator or )",
                (_, Some(_), ..) => "WHERE or )",
                (_, _, Some(_), _) => "another label, properties, WHERE or )",
                (.., Some(_)) => "a label, properties, WHERE or )",
                _ => "a variable, a label, properties, WHERE or )",
            }));
        }
        self.advance();
        Ok(NodePattern { span: self.since(start), variable, labels, properties, predicate })
    }

    /// `-[variable :types *length {properties} WHERE predicate]->`.
    pub(super) fn edge_pattern(&mut self) -> Result<EdgePattern> {
        let start = self.here();
        let from_right = self.take(TokenKind::Less);
        self.expect(TokenKind::Minus)?;
        let mut edge = EdgePattern {
            span: start,
            arrow: Arrow::Both,
            variable: None,
            types: None,
            length: None,
            repetition: None,
            group: None,
            properties: None,
            predicate: None,
        };
        if self.take(TokenKind::LeftBracket) {
            self.edge_details(&mut edge)?;
        }
        if !self.is(TokenKind::Minus) {
            let error = self.expected("-, the second half of a relationship");
            return Err(error.with_remedy("relationships are written -->, <--, -- or -[:TYPE]->"));
        }
        self.advance();
        edge.arrow = match (from_right, self.take(TokenKind::Greater)) {
            (true, false) => Arrow::Left,
            (false, true) => Arrow::Right,
            _ => Arrow::Both,
        };
        edge.span = self.since(start);
        edge.repetition = self.repetition()?;
        Ok(edge)
    }

    /// Reads the content of the brackets of an edge, and the closing bracket.
    fn edge_details(&mut self, edge: &mut EdgePattern) -> Result<()> {
        edge.variable = self.element_variable()?;
        if self.take_label_sign() {
            edge.types = Some(self.label_expression(Colons::End)?);
        }
        if self.is(TokenKind::Star) {
            edge.length = Some(self.variable_length()?);
        }
        edge.properties = self.element_properties()?;
        edge.predicate = self.element_predicate()?;
        if !self.is(TokenKind::RightBracket) {
            let error = self.expected(match edge {
                EdgePattern { predicate: Some(_), .. } => "an operator or ]",
                EdgePattern { properties: Some(_), .. } => "WHERE or ]",
                EdgePattern { length: Some(_), .. } => "properties, WHERE or ]",
                EdgePattern { types: Some(_), .. } => "another type, a length, properties, WHERE or ]",
                EdgePattern { variable: Some(_), .. } => "a type, a length, properties, WHERE or ]",
                _ => "a variable, a type, a length, properties, WHERE or ]",
            });
            return Err(error.with_detail(ErrorDetail::InvalidRelationshipPattern));
        }
        self.advance();
        Ok(())
    }

    fn element_variable(&mut self) -> Result<Option<Name>> {
        let is_other = self.is_word(0, "WHERE") || self.is_word(0, "IS");
        if !self.is_name(0) || is_other { Ok(None) } else { self.variable().map(Some) }
    }

    /// The colon before labels, or the word `IS` in its place.
    fn take_label_sign(&mut self) -> bool {
        self.take(TokenKind::Colon) || self.take_keyword("IS")
    }

    fn element_properties(&mut self) -> Result<Option<Expression>> {
        match self.kind(0) {
            TokenKind::LeftBrace => self.nested(|parser| parser.map_literal()).map(Some),
            TokenKind::Parameter => self.nested(|parser| parser.parameter()).map(Some),
            _ => Ok(None),
        }
    }

    fn element_predicate(&mut self) -> Result<Option<Expression>> {
        if self.take_keyword("WHERE") { self.expression().map(Some) } else { Ok(None) }
    }

    /// `*`, `*2`, `*1..3`, `*..4`, `*2..`.
    fn variable_length(&mut self) -> Result<VariableLength> {
        let start = self.expect(TokenKind::Star)?;
        let min = self.length_bound()?;
        let max = if self.take(TokenKind::DotDot) { self.length_bound()? } else { min };
        Ok(VariableLength { span: self.since(start), min, max })
    }

    fn length_bound(&mut self) -> Result<Option<u64>> {
        match self.kind(0) {
            TokenKind::Integer => {
                let span = self.advance().span;
                let bound = literal::integer(self.slice(span), false, span)?;
                Ok(Some(bound.unsigned_abs()))
            }
            TokenKind::Minus | TokenKind::Float | TokenKind::String => {
                let error = self.expected("a length that is a whole number, not negative");
                Err(error.with_detail(ErrorDetail::InvalidRelationshipPattern))
            }
            TokenKind::Parameter if self.is_glued() => {
                Err(self.unsupported("a length that is a parameter", self.here(), "write the number into the query"))
            }
            _ => Ok(None),
        }
    }

    /// True if no blank stands before the token here: `*$n` means a bound, `* $p` a map of properties.
    fn is_glued(&self) -> bool {
        self.previous().end == self.here().start
    }

    /// `A`, `A:B`, `A|B`, `!A&(B|%)`: labels or types after their first colon.
    pub(super) fn label_expression(&mut self, colons: Colons) -> Result<LabelExpression> {
        self.label_alternatives(colons, self.bar_ends)
    }

    fn label_alternatives(&mut self, colons: Colons, bar_ends: bool) -> Result<LabelExpression> {
        let first = self.label_conjunction(colons)?;
        if bar_ends || !self.is(TokenKind::Bar) {
            return Ok(first);
        }
        let start = first.span;
        let mut parts = vec![first];
        let mut is_mixed = self.joined_by_colons(parts[0].span);
        while self.take(TokenKind::Bar) {
            self.take(TokenKind::Colon);
            let part = self.label_conjunction(colons)?;
            is_mixed |= self.joined_by_colons(part.span);
            parts.push(part);
        }
        let span = self.since(start);
        if is_mixed {
            return Err(error!(Syntax, "expected labels joined either by : or by |, found both")
                .at(span)
                .with_remedy("write & for : where labels are also joined by |"));
        }
        self.grow()?;
        Ok(LabelExpression { span, kind: LabelExpressionKind::Or(parts) })
    }

    /// True if a colon stands within the text of a conjunction, outside backticks.
    fn joined_by_colons(&self, span: Span) -> bool {
        self.tokens[..self.at]
            .iter()
            .rev()
            .take_while(|token| token.span.start >= span.start)
            .any(|token| token.kind == TokenKind::Colon && token.span.end <= span.end)
    }

    fn label_conjunction(&mut self, colons: Colons) -> Result<LabelExpression> {
        let first = self.label_factor()?;
        let start = first.span;
        let mut parts = vec![first];
        while self.take(TokenKind::Ampersand) || colons == Colons::Join && self.take(TokenKind::Colon) {
            parts.push(self.label_factor()?);
        }
        if parts.len() == 1
            && let Some(only) = parts.pop()
        {
            return Ok(only);
        }
        self.grow()?;
        Ok(LabelExpression { span: self.since(start), kind: LabelExpressionKind::And(parts) })
    }

    fn label_factor(&mut self) -> Result<LabelExpression> {
        let start = self.here();
        let kind = match self.kind(0) {
            TokenKind::Percent => {
                self.advance();
                LabelExpressionKind::Any
            }
            TokenKind::Bang => {
                self.advance();
                let negated = Box::new(self.nested(|parser| parser.label_factor())?);
                self.grow()?;
                LabelExpressionKind::Not(negated)
            }
            TokenKind::LeftParen => {
                self.advance();
                let mut inner = self.nested(|parser| parser.label_alternatives(Colons::End, false))?;
                self.expect(TokenKind::RightParen)?;
                inner.span = self.since(start);
                return Ok(inner);
            }
            TokenKind::Dollar | TokenKind::Parameter => {
                let (names, any) = self.computed_names()?;
                LabelExpressionKind::Computed { names: Box::new(names), any }
            }
            _ => LabelExpressionKind::Name(self.name("a label or type")?),
        };
        Ok(LabelExpression { span: self.since(start), kind })
    }

    /// `$(names)`, `$all(names)`, `$any(names)`: the names, and whether one of them is enough.
    pub(super) fn computed_names(&mut self) -> Result<(Expression, bool)> {
        let any = match self.slice(self.here()).to_ascii_lowercase().as_str() {
            "$" | "$all" => false,
            "$any" => true,
            parameter => {
                let remedy = format!("a label that a parameter names is written $({parameter})");
                return Err(self.expected("a label or type").with_remedy(remedy));
            }
        };
        self.advance();
        self.expect(TokenKind::LeftParen)?;
        let names = self.expression()?;
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected("an operator or )"));
        }
        self.advance();
        self.grow()?;
        Ok((names, any))
    }

    /// True if the parenthesis `ahead` tokens on opens the first node of a path of at least one edge, rather than an
    /// expression in parentheses. It looks at the node from its start and at the edge behind it, in one step each.
    pub(super) fn is_pattern(&self, ahead: usize) -> bool {
        let Some(close) = self.partner(ahead) else { return false };
        self.is_node_content(ahead + 1, close) && self.is_edge(close + 1)
    }

    /// Number of tokens from here to the bracket that closes the one `ahead` tokens on.
    fn partner(&self, ahead: usize) -> Option<usize> {
        match self.partners.get(self.at + ahead) {
            None | Some(&NO_PARTNER) => None,
            Some(&partner) => Some(partner as usize - self.at),
        }
    }

    fn is_node_content(&self, mut at: usize, close: usize) -> bool {
        if self.is_name(at) && !self.is_word(at, "WHERE") && !self.is_word(at, "IS") {
            at += 1;
        }
        let is_test = ["NULL", "NOT", "TYPED", "LABELED", "NORMALIZED"].iter().any(|word| self.is_word(at + 1, word));
        if self.kind(at) == TokenKind::Colon || self.is_word(at, "IS") && !is_test {
            at = self.after_labels(at + 1);
        }
        match self.kind(at) {
            TokenKind::LeftBrace => match self.partner(at) {
                Some(brace) => at = brace + 1,
                None => return false,
            },
            TokenKind::Parameter => at += 1,
            _ => {}
        }
        at == close || self.is_word(at, "WHERE")
    }

    /// The first token behind a label expression: two names without a sign between them end it.
    fn after_labels(&self, mut at: usize) -> usize {
        let mut expects_name = true;
        loop {
            match self.kind(at) {
                TokenKind::Word | TokenKind::QuotedName | TokenKind::Percent if expects_name => expects_name = false,
                TokenKind::LeftParen if expects_name => match self.partner(at) {
                    Some(close) => {
                        at = close;
                        expects_name = false;
                    }
                    None => return at,
                },
                TokenKind::Bang if expects_name => {}
                TokenKind::Dollar if expects_name => {}
                TokenKind::Parameter if expects_name && self.kind(at + 1) == TokenKind::LeftParen => {}
                TokenKind::Colon | TokenKind::Bar | TokenKind::Ampersand => expects_name = true,
                _ => return at,
            }
            at += 1;
        }
    }

    fn is_edge(&self, mut at: usize) -> bool {
        if self.kind(at) == TokenKind::Less {
            at += 1;
        }
        if self.kind(at) != TokenKind::Minus {
            return false;
        }
        at += 1;
        if self.kind(at) == TokenKind::LeftBracket {
            let starts_details = matches!(
                self.kind(at + 1),
                TokenKind::RightBracket
                    | TokenKind::Word
                    | TokenKind::QuotedName
                    | TokenKind::Colon
                    | TokenKind::Star
                    | TokenKind::LeftBrace
                    | TokenKind::Parameter
            );
            match self.partner(at) {
                Some(close) if starts_details => at = close + 1,
                _ => return false,
            }
        }
        if self.kind(at) != TokenKind::Minus {
            return false;
        }
        at += 1;
        if self.kind(at) == TokenKind::Greater {
            at += 1;
            // Behind `->` nothing but a quantifier can start so.
            match self.kind(at) {
                TokenKind::Plus | TokenKind::Star => at += 1,
                TokenKind::LeftBrace => match self.partner(at) {
                    Some(close) => at = close + 1,
                    None => return false,
                },
                _ => {}
            }
        }
        self.kind(at) == TokenKind::LeftParen
    }
}
