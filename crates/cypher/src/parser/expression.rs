//! Expressions, by precedence climbing.

use model::interrupt::work;
use model::{Result, Span, error};

use super::Parser;
use super::pattern::Colons;
use crate::ast::level;
use crate::ast::{BinaryOperator, Comparison, ComparisonOperator, Expression, ExpressionKind, Name, UnaryOperator};
use crate::lexer::literal;
use crate::token::TokenKind;

mod atom;
mod call;
mod collection;
mod value_type;

/// Operators that can stand after an operand.
#[derive(Clone, Copy)]
enum Operator {
    Or,
    Xor,
    And,
    Comparison(ComparisonOperator),
    Binary(BinaryOperator),
    Is,
}

/// The operators that are words; of those of two words the first.
const WORD_OPERATORS: [(&str, Operator); 8] = [
    ("OR", Operator::Or),
    ("XOR", Operator::Xor),
    ("AND", Operator::And),
    ("IN", Operator::Binary(BinaryOperator::In)),
    ("CONTAINS", Operator::Binary(BinaryOperator::Contains)),
    ("STARTS", Operator::Binary(BinaryOperator::StartsWith)),
    ("ENDS", Operator::Binary(BinaryOperator::EndsWith)),
    ("IS", Operator::Is),
];

impl Operator {
    fn level(self) -> u8 {
        match self {
            Operator::Or => level::OR,
            Operator::Xor => level::XOR,
            Operator::And => level::AND,
            Operator::Comparison(_) => level::COMPARISON,
            Operator::Is => level::PREDICATE,
            Operator::Binary(operator) => level::binary(operator),
        }
    }
}

impl Parser<'_> {
    /// An expression; a bar in it joins labels.
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.expression_with(false)
    }

    /// An expression that a bar may end.
    pub(super) fn expression_before_bar(&mut self) -> Result<Expression> {
        self.expression_with(true)
    }

    fn expression_with(&mut self, bar_ends: bool) -> Result<Expression> {
        let outer = std::mem::replace(&mut self.bar_ends, bar_ends);
        let expression = self.nested(|parser| parser.operations(level::OR))?;
        self.bar_ends = outer;
        Ok(expression)
    }

    /// The right operand of an operator, whose own operators all bind at least as tightly as `least`.
    fn operand(&mut self, least: u8) -> Result<Expression> {
        self.deeper(1, |parser| parser.operations(least))
    }

    fn operations(&mut self, least: u8) -> Result<Expression> {
        work(1)?;
        let mut left = self.prefix(least)?;
        while let Some(operator) = self.operator() {
            if operator.level() < least {
                break;
            }
            self.advance();
            left = self.operation(left, operator)?;
        }
        Ok(left)
    }

    /// An operand with the operators before it.
    fn prefix(&mut self, least: u8) -> Result<Expression> {
        let start = self.here();
        let (operator, operand_level) = match self.kind(0) {
            TokenKind::Minus if !self.is_unicode_sign() => (UnaryOperator::Minus, level::SIGN),
            TokenKind::Plus => (UnaryOperator::Plus, level::SIGN),
            TokenKind::Word if self.is_word(0, "NOT") => (UnaryOperator::Not, level::NOT),
            _ => return self.postfix(),
        };
        if least > operand_level {
            return Err(error!(Syntax, "expected an operand, found {}", self.found())
                .at(start)
                .with_remedy("put NOT and what it negates in parentheses"));
        }
        if operator == UnaryOperator::Minus
            && let Some(number) = self.negative_number()?
        {
            return Ok(number);
        }
        self.advance();
        let operand = Box::new(self.nested(|parser| parser.operations(operand_level))?);
        self.made(start, ExpressionKind::Unary { operator, operand })
    }

    /// A minus sign with a literal is one literal, so that the least integer can be written.
    fn negative_number(&mut self) -> Result<Option<Expression>> {
        let has_suffix = matches!(self.kind(2), TokenKind::Dot | TokenKind::LeftBracket | TokenKind::Colon);
        let number = self.token(1);
        let span = self.here().to(number.span);
        let kind = match number.kind {
            _ if has_suffix => return Ok(None),
            TokenKind::Integer => ExpressionKind::Integer(literal::integer(self.slice(number.span), true, span)?),
            TokenKind::Float => ExpressionKind::Float(-literal::float(self.slice(number.span), span)?),
            _ => return Ok(None),
        };
        self.advance();
        self.advance();
        Ok(Some(Expression::new(span, kind)))
    }

    /// True if a dash or arrow head beyond ASCII stands here: those draw edges but do not calculate.
    fn is_unicode_sign(&self) -> bool {
        matches!(self.kind(0), TokenKind::Minus | TokenKind::Less | TokenKind::Greater)
            && !self.slice(self.here()).is_ascii()
    }

    /// The operator here.
    fn operator(&mut self) -> Option<Operator> {
        if self.is_unicode_sign() {
            return None;
        }
        let binary = |operator| Some(Operator::Binary(operator));
        let comparison = |operator| Some(Operator::Comparison(operator));
        match self.kind(0) {
            TokenKind::Word => {
                let word = self.word(0);
                let found = WORD_OPERATORS.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(word));
                if found.is_none() {
                    self.try_keywords(&WORD_OPERATORS.map(|(keyword, _)| keyword));
                }
                found.map(|(_, operator)| *operator)
            }
            TokenKind::Plus => binary(BinaryOperator::Add),
            TokenKind::Minus => binary(BinaryOperator::Subtract),
            TokenKind::DoubleBar => binary(BinaryOperator::Concatenate),
            TokenKind::Star => binary(BinaryOperator::Multiply),
            TokenKind::Slash => binary(BinaryOperator::Divide),
            TokenKind::Percent => binary(BinaryOperator::Modulo),
            TokenKind::Caret => binary(BinaryOperator::Power),
            TokenKind::Matches => binary(BinaryOperator::Matches),
            TokenKind::Equal => comparison(ComparisonOperator::Equal),
            TokenKind::NotEqual => comparison(ComparisonOperator::NotEqual),
            TokenKind::Less => comparison(ComparisonOperator::Less),
            TokenKind::LessEqual => comparison(ComparisonOperator::LessOrEqual),
            TokenKind::Greater => comparison(ComparisonOperator::Greater),
            TokenKind::GreaterEqual => comparison(ComparisonOperator::GreaterOrEqual),
            _ => None,
        }
    }

    /// Reads the right side of an operator that is taken already.
    fn operation(&mut self, left: Expression, operator: Operator) -> Result<Expression> {
        let start = left.span;
        let kind = match operator {
            Operator::Or => ExpressionKind::Or(self.chain(left, "OR", level::XOR)?),
            Operator::Xor => ExpressionKind::Xor(self.chain(left, "XOR", level::AND)?),
            Operator::And => ExpressionKind::And(self.chain(left, "AND", level::NOT)?),
            Operator::Comparison(first) => self.comparison(left, first)?,
            Operator::Is => self.null_test(left)?,
            Operator::Binary(operator) => {
                if matches!(operator, BinaryOperator::StartsWith | BinaryOperator::EndsWith) {
                    self.expect_keyword("WITH")?;
                }
                let right = Box::new(self.operand(level::binary(operator) + 1)?);
                ExpressionKind::Binary { operator, left: Box::new(left), right }
            }
        };
        self.made(start, kind)
    }

    /// The operands of a chain of one operator, of which the first operator is taken already.
    fn chain(&mut self, first: Expression, keyword: &'static str, least: u8) -> Result<Vec<Expression>> {
        let mut operands = vec![first, self.operand(least)?];
        while self.take_keyword(keyword) {
            operands.push(self.operand(least)?);
        }
        Ok(operands)
    }

    fn comparison(&mut self, first: Expression, operator: ComparisonOperator) -> Result<ExpressionKind> {
        let mut rest = vec![Comparison { operator, operand: self.operand(level::PREDICATE)? }];
        while let Some(Operator::Comparison(operator)) = self.operator() {
            self.advance();
            rest.push(Comparison { operator, operand: self.operand(level::PREDICATE)? });
        }
        Ok(ExpressionKind::Comparison { first: Box::new(first), rest })
    }

    /// `[NOT] NULL`, `:: type`, `LABELED label` or `[form] NORMALIZED` after `IS`.
    fn null_test(&mut self, mut operand: Expression) -> Result<ExpressionKind> {
        let negated = self.take_keyword("NOT");
        if self.is(TokenKind::DoubleColon) || self.is_word(0, "TYPED") {
            self.advance();
            let of = self.value_type(self.bar_ends)?;
            return Ok(ExpressionKind::TypeTest { operand: Box::new(operand), negated, of });
        }
        if let Some(kind) = self.word_test(&mut operand, negated)? {
            return Ok(kind);
        }
        let operator = if negated { UnaryOperator::IsNotNull } else { UnaryOperator::IsNull };
        if !self.take_keyword("NULL") {
            return Err(self.expected("NULL"));
        }
        Ok(ExpressionKind::Unary { operator, operand: Box::new(operand) })
    }

    /// `LABELED label`, `[form] NORMALIZED` after `IS [NOT]`.
    // Kept out of the frames of what calls it, of which many may lie on the stack.
    #[inline(never)]
    fn word_test(&mut self, operand: &mut Expression, negated: bool) -> Result<Option<ExpressionKind>> {
        let nothing = Expression::new(operand.span, ExpressionKind::Null);
        if self.is_word(0, "LABELED") {
            self.advance();
            let labels = Box::new(self.label_expression(Colons::End)?);
            let base = Box::new(std::mem::replace(operand, nothing));
            return self.negated(negated, ExpressionKind::HasLabels { base, labels }).map(Some);
        }
        let form = call::NORMAL_FORMS.iter().find(|form| self.is_word(0, form) && self.is_word(1, "NORMALIZED"));
        if form.is_none() && !self.is_word(0, "NORMALIZED") {
            return Ok(None);
        }
        let span = self.here();
        let form = Expression::new(span, ExpressionKind::String(form.unwrap_or(&"NFC").to_string()));
        while !self.take_keyword("NORMALIZED") {
            self.advance();
        }
        let name = vec![Name { text: "isNormalized".to_owned(), span }];
        let arguments = vec![std::mem::replace(operand, nothing), form];
        self.negated(negated, ExpressionKind::Function { name, distinct: false, arguments }).map(Some)
    }

    /// A test, or that it does not hold.
    fn negated(&mut self, negated: bool, test: ExpressionKind) -> Result<ExpressionKind> {
        if !negated {
            return Ok(test);
        }
        let operand = Box::new(self.made(self.previous(), test)?);
        Ok(ExpressionKind::Unary { operator: UnaryOperator::Not, operand })
    }

    /// An atom with the properties, indexes and labels after it.
    pub(super) fn postfix(&mut self) -> Result<Expression> {
        let mut base = self.atom()?;
        loop {
            let start = base.span;
            let kind = match self.kind(0) {
                TokenKind::Dot => {
                    self.advance();
                    let key = self.name("a property")?;
                    ExpressionKind::Property { base: Box::new(base), key }
                }
                TokenKind::LeftBracket => self.subscript(base)?,
                TokenKind::Colon => {
                    self.advance();
                    let labels = Box::new(self.label_expression(Colons::Join)?);
                    return self.made(start, ExpressionKind::HasLabels { base: Box::new(base), labels });
                }
                _ => return Ok(base),
            };
            base = self.made(start, kind)?;
        }
    }

    /// `[index]` or `[from..to]` after its base.
    fn subscript(&mut self, base: Expression) -> Result<ExpressionKind> {
        self.expect(TokenKind::LeftBracket)?;
        let base = Box::new(base);
        let from = if self.is(TokenKind::DotDot) { None } else { Some(Box::new(self.expression()?)) };
        if self.take(TokenKind::DotDot) {
            let to = if self.is(TokenKind::RightBracket) { None } else { Some(Box::new(self.expression()?)) };
            self.expect(TokenKind::RightBracket)?;
            return Ok(ExpressionKind::Slice { base, from, to });
        }
        match from {
            Some(index) if self.take(TokenKind::RightBracket) => Ok(ExpressionKind::Index { base, index }),
            _ => Err(self.expected("] or ..")),
        }
    }

    /// A node of the tree above what was parsed last, from `start` to the end of the token before this one.
    pub(super) fn made(&mut self, start: Span, kind: ExpressionKind) -> Result<Expression> {
        self.grow()?;
        Ok(Expression::new(self.since(start), kind))
    }
}
