//! The operands of expressions: literals, names, brackets, `CASE`.

use model::{Error, Result, Span, error};

use super::super::Parser;
use crate::ast::{CaseBranch, Expression, ExpressionKind, Name, Quantifier, SubqueryKind};
use crate::lexer::literal;
use crate::token::{self, RESERVED, TokenKind};

/// Meaning of a word at the start of an operand.
enum WordMeaning {
    Constant(ExpressionKind),
    Case,
    Shortest,
    Subquery(SubqueryKind),
    Quantifier(Quantifier),
    Reduce,
    CountStar,
    Call,
    MapProjection,
    Variable,
    Keyword,
}

impl Parser<'_> {
    pub(super) fn atom(&mut self) -> Result<Expression> {
        let token = self.token(0);
        let text = self.slice(token.span);
        let kind = match token.kind {
            TokenKind::Integer => ExpressionKind::Integer(literal::integer(text, false, token.span)?),
            TokenKind::Float => ExpressionKind::Float(literal::float(text, token.span)?),
            TokenKind::String => ExpressionKind::String(literal::string(text, token.span.start as usize)?),
            TokenKind::Parameter => return self.parameter(),
            TokenKind::Word | TokenKind::QuotedName => return self.word_atom(),
            TokenKind::LeftParen if self.is_pattern(0) => return self.pattern_atom(),
            TokenKind::LeftParen => return self.parenthesised(),
            TokenKind::LeftBracket => return self.list(),
            TokenKind::LeftBrace => return self.map_literal(),
            _ => return Err(self.expected("an expression")),
        };
        self.advance();
        Ok(Expression::new(token.span, kind))
    }

    /// `$name`.
    pub(in crate::parser) fn parameter(&mut self) -> Result<Expression> {
        let name = self.parameter_name()?;
        Ok(Expression::new(self.advance().span, ExpressionKind::Parameter(name)))
    }

    /// The name of the parameter here, without its dollar sign and backticks.
    fn parameter_name(&self) -> Result<String> {
        let span = self.here();
        match &self.slice(span)[1..] {
            quoted if quoted.starts_with('`') => literal::quoted_name(quoted, span),
            plain => Ok(plain.to_owned()),
        }
    }

    /// `(expression)`: the same expression, its span widened to hold the parentheses.
    fn parenthesised(&mut self) -> Result<Expression> {
        let start = self.expect(TokenKind::LeftParen)?;
        let mut inner = self.expression()?;
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected("an operator or )"));
        }
        self.advance();
        inner.span = self.since(start);
        Ok(inner)
    }

    /// A pattern as a value.
    fn pattern_atom(&mut self) -> Result<Expression> {
        let start = self.here();
        let pattern = Box::new(self.nested(|parser| parser.path_pattern())?);
        self.made(start, ExpressionKind::Pattern(pattern))
    }

    fn word_atom(&mut self) -> Result<Expression> {
        let start = self.here();
        match self.word_meaning() {
            WordMeaning::Constant(kind) => {
                self.advance();
                Ok(Expression::new(start, kind))
            }
            WordMeaning::Case => self.case(),
            WordMeaning::Shortest => self.pattern_atom(),
            WordMeaning::Subquery(kind) => self.subquery_expression(kind),
            WordMeaning::Quantifier(quantifier) => self.quantifier(quantifier),
            WordMeaning::Reduce => self.reduce(),
            WordMeaning::CountStar => {
                for _ in 0..4 {
                    self.advance();
                }
                Ok(Expression::new(self.since(start), ExpressionKind::CountStar))
            }
            WordMeaning::Call => self.call(),
            WordMeaning::MapProjection => self.map_projection(),
            WordMeaning::Variable => {
                let Name { text, span } = self.name("a variable")?;
                Ok(Expression::new(span, ExpressionKind::Variable(text)))
            }
            WordMeaning::Keyword => Err(self.misplaced_keyword()),
        }
    }

    fn word_meaning(&self) -> WordMeaning {
        let word = self.word(0);
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        let next = self.kind(1);
        if let Some(constant) = constant(word) {
            return WordMeaning::Constant(constant);
        }
        if is("CASE") {
            return WordMeaning::Case;
        }
        if token::is_one_of(word, RESERVED) || self.is_soft_keyword() {
            return WordMeaning::Keyword;
        }
        match next {
            TokenKind::LeftBrace => self.subquery_kind().map_or(WordMeaning::MapProjection, WordMeaning::Subquery),
            TokenKind::LeftParen if is("shortestPath") || is("allShortestPaths") => WordMeaning::Shortest,
            TokenKind::LeftParen
                if (is("reduce") || is("allReduce")) && self.is_name(2) && self.kind(3) == TokenKind::Equal =>
            {
                WordMeaning::Reduce
            }
            TokenKind::LeftParen
                if is("count") && self.kind(2) == TokenKind::Star && self.kind(3) == TokenKind::RightParen =>
            {
                WordMeaning::CountStar
            }
            TokenKind::LeftParen => {
                let over_list = self.is_name(2) && self.is_word(3, "IN");
                quantifier(word).filter(|_| over_list).map_or(WordMeaning::Call, WordMeaning::Quantifier)
            }
            TokenKind::Dot if self.is_namespaced_call() => WordMeaning::Call,
            _ => WordMeaning::Variable,
        }
    }

    /// True if the word starts a clause here rather than being a variable of that name.
    fn is_soft_keyword(&self) -> bool {
        let is_operand_next = match self.kind(1) {
            TokenKind::Integer | TokenKind::Parameter | TokenKind::String | TokenKind::QuotedName => true,
            TokenKind::Word => !self.is_operator_word(1) && !self.is_clause_keyword(1),
            _ => false,
        };
        match self.word(0).to_ascii_uppercase().as_str() {
            "ORDER" => self.is_word(1, "BY"),
            "SKIP" | "OFFSET" | "LIMIT" => is_operand_next,
            "OPTIONAL" => self.is_word(1, "MATCH") || self.is_word(1, "CALL"),
            "DETACH" => self.is_word(1, "DELETE"),
            "CALL" => self.kind(1) == TokenKind::LeftBrace,
            "LET" => self.is_name(1) && self.kind(2) == TokenKind::Equal,
            "FILTER" => self.is_word(1, "WHERE"),
            "WHEN" | "THEN" | "ELSE" | "END" => self.open_cases > 0,
            _ => false,
        }
    }

    fn is_operator_word(&self, ahead: usize) -> bool {
        super::WORD_OPERATORS.iter().any(|(keyword, _)| self.is_word(ahead, keyword))
            || ["AS", "ASC", "DESC", "WHEN", "THEN", "ELSE", "END"].iter().any(|word| self.is_word(ahead, word))
    }

    fn misplaced_keyword(&self) -> Error {
        let word = self.word(0);
        let error = error!(Syntax, "expected an expression, found the keyword {word}").at(self.here());
        match self.previous_kind() {
            Some(TokenKind::Comma) => error.with_remedy("take away the comma before it"),
            _ if self.kind(1) == TokenKind::Dot => {
                error.with_remedy(format!("a variable of that name is written `{word}`, in backticks"))
            }
            _ => error,
        }
    }

    fn previous_kind(&self) -> Option<TokenKind> {
        self.at.checked_sub(1).map(|at| self.tokens[at].kind)
    }

    /// `EXISTS {`, `COUNT {`, `COLLECT {`; with a dot or an entry in the braces it is a map projection.
    fn subquery_kind(&self) -> Option<SubqueryKind> {
        let is_entry = self.is_name(2) && self.kind(3) == TokenKind::Colon;
        if self.kind(2) == TokenKind::Dot || is_entry {
            return None;
        }
        match self.word(0).to_ascii_uppercase().as_str() {
            "EXISTS" => Some(SubqueryKind::Exists),
            "COUNT" => Some(SubqueryKind::Count),
            "COLLECT" => Some(SubqueryKind::Collect),
            _ => None,
        }
    }

    fn subquery_expression(&mut self, kind: SubqueryKind) -> Result<Expression> {
        let start = self.advance().span;
        self.expect(TokenKind::LeftBrace)?;
        let query = Box::new(self.nested(|parser| parser.subquery_body(kind))?);
        self.expect(TokenKind::RightBrace)?;
        self.made(start, ExpressionKind::Subquery { kind, query })
    }

    /// `CASE [subject] WHEN … THEN … [ELSE …] END`.
    fn case(&mut self) -> Result<Expression> {
        let start = self.expect_keyword("CASE")?;
        self.open_cases += 1;
        let subject = if self.at_keyword("WHEN") { None } else { Some(Box::new(self.expression()?)) };
        let mut branches = Vec::new();
        while self.take_keyword("WHEN") {
            let condition = self.when(subject.is_some())?;
            let mut others = Vec::new();
            while subject.is_some() && self.take(TokenKind::Comma) {
                others.push(self.when(true)?);
            }
            self.expect_keyword("THEN")?;
            branches.push(CaseBranch { condition, others, value: self.expression()? });
        }
        if branches.is_empty() {
            return Err(self.expected("WHEN"));
        }
        let otherwise = if self.take_keyword("ELSE") { Some(Box::new(self.expression()?)) } else { None };
        if !self.take_keyword("END") {
            return Err(self.expected(if otherwise.is_some() { "END" } else { "WHEN, ELSE or END" }));
        }
        self.open_cases -= 1;
        self.made(start, ExpressionKind::Case { subject, branches, otherwise })
    }
}

impl Parser<'_> {
    /// Reads the condition after `WHEN`. If there is a subject, it may be an operator and its right side.
    fn when(&mut self, has_subject: bool) -> Result<Expression> {
        let start = self.here();
        let is_test = match self.kind(0) {
            TokenKind::Equal | TokenKind::NotEqual | TokenKind::Matches => true,
            TokenKind::Less | TokenKind::LessEqual | TokenKind::Greater | TokenKind::GreaterEqual => true,
            TokenKind::Word => ["IS", "IN", "STARTS", "ENDS", "CONTAINS"].iter().any(|word| self.is_word(0, word)),
            _ => false,
        };
        match self.operator().filter(|_| has_subject && is_test) {
            Some(operator) => {
                self.advance();
                let before = Span { start: start.start, end: start.start };
                let subject = Expression::new(before, ExpressionKind::CaseSubject);
                self.nested(|parser| parser.operation(subject, operator))
            }
            None => self.expression(),
        }
    }
}

fn constant(word: &str) -> Option<ExpressionKind> {
    let kind = match word.to_ascii_uppercase().as_str() {
        "TRUE" => ExpressionKind::Boolean(true),
        "FALSE" => ExpressionKind::Boolean(false),
        "NULL" => ExpressionKind::Null,
        "INF" | "INFINITY" => ExpressionKind::Float(f64::INFINITY),
        "NAN" => ExpressionKind::Float(f64::NAN),
        _ => return None,
    };
    Some(kind)
}

fn quantifier(word: &str) -> Option<Quantifier> {
    match word.to_ascii_uppercase().as_str() {
        "ALL" => Some(Quantifier::All),
        "ANY" => Some(Quantifier::Any),
        "NONE" => Some(Quantifier::None),
        "SINGLE" => Some(Quantifier::Single),
        _ => None,
    }
}
