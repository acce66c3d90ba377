//! Canonical Cypher of expressions.

use std::fmt::{self, Display, Formatter, Write};

use super::{Variable, join, optional};
use crate::ast::level;
use crate::ast::{
    BinaryOperator, ComparisonOperator, Expression, ExpressionKind, LabelExpressionKind, MapEntry, MapProjectionItem,
    Quantifier, SubqueryKind, UnaryOperator,
};
use crate::token::{self, RESERVED};

/// An expression where only operators that bind at least as tightly may stand without parentheses.
pub(super) struct Operand<'a>(&'a Expression, u8);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.level() < self.1 { write!(f, "({})", self.0) } else { self.0.fmt(f) }
    }
}

impl Expression {
    /// It where a dot or bracket follows.
    pub(super) fn as_base(&self) -> Operand<'_> {
        Operand(self, level::POSTFIX)
    }

    fn level(&self) -> u8 {
        match &self.kind {
            ExpressionKind::Or(_) => level::OR,
            ExpressionKind::Xor(_) => level::XOR,
            ExpressionKind::And(_) => level::AND,
            ExpressionKind::Unary { operator: UnaryOperator::Not, .. } => level::NOT,
            ExpressionKind::Comparison { .. } => level::COMPARISON,
            ExpressionKind::Unary { operator: UnaryOperator::IsNull | UnaryOperator::IsNotNull, .. } => {
                level::PREDICATE
            }
            ExpressionKind::TypeTest { of, .. } if of.contains('|') => level::POSTFIX,
            ExpressionKind::TypeTest { .. } => level::PREDICATE,
            ExpressionKind::Binary { operator, .. } => level::binary(*operator),
            ExpressionKind::Unary { .. } | ExpressionKind::HasLabels { .. } => level::SIGN,
            ExpressionKind::Integer(value) if *value < 0 => level::SIGN,
            ExpressionKind::Float(value) if value.is_sign_negative() => level::SIGN,
            // A minus sign or an arrow head after a pattern would be read as one more edge.
            ExpressionKind::Pattern(pattern) if pattern.shortest.is_none() => level::NOT,
            // A dot after digits would be read as a part of the number.
            ExpressionKind::Integer(_) | ExpressionKind::Float(_) => level::SIGN,
            _ => level::POSTFIX,
        }
    }

    fn is_number(&self) -> bool {
        match self.kind {
            ExpressionKind::Integer(_) => true,
            ExpressionKind::Float(value) => value.is_finite(),
            _ => false,
        }
    }

    fn operands(&self, f: &mut Formatter<'_>, operands: &[Expression], least: u8, word: &str) -> fmt::Result {
        for (position, operand) in operands.iter().enumerate() {
            f.write_str(if position == 0 { "" } else { word })?;
            Operand(operand, least).fmt(f)?;
        }
        Ok(())
    }

    fn fmt_operation(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExpressionKind::Or(operands) => self.operands(f, operands, level::XOR, " OR "),
            ExpressionKind::Xor(operands) => self.operands(f, operands, level::AND, " XOR "),
            ExpressionKind::And(operands) => self.operands(f, operands, level::NOT, " AND "),
            ExpressionKind::Unary { operator, operand } => match operator {
                UnaryOperator::Not => write!(f, "NOT {}", Operand(operand, level::NOT)),
                // Without parentheses the sign would become a part of the number.
                UnaryOperator::Minus if operand.is_number() => write!(f, "-({operand})"),
                UnaryOperator::Minus => write!(f, "-{}", Operand(operand, level::SIGN)),
                UnaryOperator::Plus => write!(f, "+{}", Operand(operand, level::SIGN)),
                UnaryOperator::IsNull => write!(f, "{} IS NULL", Operand(operand, level::PREDICATE)),
                UnaryOperator::IsNotNull => write!(f, "{} IS NOT NULL", Operand(operand, level::PREDICATE)),
            },
            ExpressionKind::TypeTest { operand, negated, of } => {
                let (not, operand) = (if *negated { "NOT " } else { "" }, Operand(operand, level::PREDICATE));
                // Without parentheses the bar of a comprehension could follow.
                if of.contains('|') {
                    write!(f, "({operand} IS {not}:: {of})")
                } else {
                    write!(f, "{operand} IS {not}:: {of}")
                }
            }
            ExpressionKind::Binary { operator, left, right } => {
                let own = level::binary(*operator);
                write!(f, "{} {operator} {}", Operand(left, own), Operand(right, own + 1))
            }
            ExpressionKind::Comparison { first, rest } => {
                Operand(first, level::PREDICATE).fmt(f)?;
                rest.iter().try_for_each(|comparison| {
                    write!(f, " {} {}", comparison.operator, Operand(&comparison.operand, level::PREDICATE))
                })
            }
            ExpressionKind::Property { base, key } => write!(f, "{}.{key}", base.as_base()),
            ExpressionKind::Index { base, index } => write!(f, "{}[{index}]", base.as_base()),
            ExpressionKind::Slice { base, from, to } => {
                write!(f, "{}[", base.as_base())?;
                optional(f, "", from.as_ref())?;
                f.write_str("..")?;
                optional(f, "", to.as_ref())?;
                f.write_str("]")
            }
            ExpressionKind::HasLabels { base, labels } => match labels.kind {
                LabelExpressionKind::Or(_) => write!(f, "{}:({labels})", base.as_base()),
                _ => write!(f, "{}:{}", base.as_base(), labels.colons()),
            },
            _ => self.fmt_bracketed(f),
        }
    }

    fn fmt_bracketed(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExpressionKind::ListComprehension { variable, list, predicate, projection } => {
                write!(f, "[{} IN {list}", variable.variable())?;
                optional(f, " WHERE ", predicate.as_ref())?;
                optional(f, " | ", projection.as_ref())?;
                f.write_str("]")
            }
            ExpressionKind::PatternComprehension { pattern, predicate, projection } => {
                write!(f, "[{pattern}")?;
                optional(f, " WHERE ", predicate.as_ref())?;
                write!(f, " | {projection}]")
            }
            ExpressionKind::Quantifier { quantifier, variable, list, predicate } => {
                write!(f, "{quantifier}({} IN {list}", variable.variable())?;
                optional(f, " WHERE ", predicate.as_ref())?;
                f.write_str(")")
            }
            ExpressionKind::Reduce { accumulator, initial, variable, list, step, predicate } => {
                let (accumulator, variable) = (accumulator.variable(), variable.variable());
                let name = if predicate.is_some() { "allReduce" } else { "reduce" };
                write!(f, "{name}({accumulator} = {initial}, {variable} IN {list} | {step}")?;
                optional(f, ", ", predicate.as_ref())?;
                f.write_str(")")
            }
            ExpressionKind::Case { subject, branches, otherwise } => {
                f.write_str("CASE")?;
                optional(f, " ", subject.as_ref())?;
                for branch in branches {
                    // Before an operator the subject is not written.
                    let conditions = std::iter::once(&branch.condition).chain(&branch.others);
                    let conditions: Vec<String> =
                        conditions.map(|condition| condition.to_string().trim_start().to_string()).collect();
                    write!(f, " WHEN {} THEN {}", conditions.join(", "), branch.value)?;
                }
                optional(f, " ELSE ", otherwise.as_ref())?;
                f.write_str(" END")
            }
            ExpressionKind::Function { name, distinct, arguments } => {
                let (first, rest) = name.split_first().ok_or(fmt::Error)?;
                if is_function_name(&first.text) {
                    first.fmt(f)?
                } else {
                    write!(f, "`{}`", first.text)?
                }
                rest.iter().try_for_each(|part| write!(f, ".{part}"))?;
                f.write_str(if *distinct { "(DISTINCT " } else { "(" })?;
                join(f, arguments, ", ")?;
                f.write_str(")")
            }
            ExpressionKind::MapProjection { variable, items } => {
                write!(f, "{}{{", variable.variable())?;
                join(f, items, ", ")?;
                f.write_str("}")
            }
            ExpressionKind::Subquery { kind, query } => {
                let word = match kind {
                    SubqueryKind::Exists => "EXISTS",
                    SubqueryKind::Count => "COUNT",
                    SubqueryKind::Collect => "COLLECT",
                };
                write!(f, "{word} {{ {query} }}")
            }
            ExpressionKind::Pattern(pattern) => pattern.fmt(f),
            _ => self.fmt_literal(f),
        }
    }

    fn fmt_literal(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExpressionKind::Boolean(value) => write!(f, "{value}"),
            ExpressionKind::Integer(value) => write!(f, "{value}"),
            ExpressionKind::Float(value) if value.is_nan() => f.write_str("NaN"),
            ExpressionKind::Float(value) if value.is_infinite() => {
                f.write_str(if *value > 0.0 { "Inf" } else { "-Inf" })
            }
            ExpressionKind::Float(value) => write!(f, "{value:?}"),
            ExpressionKind::String(value) => quoted(f, value),
            ExpressionKind::Parameter(name) if is_parameter_name(name) => write!(f, "${name}"),
            ExpressionKind::Parameter(name) => write!(f, "$`{}`", name.replace('`', "``")),
            ExpressionKind::Variable(name) => Variable(name).fmt(f),
            ExpressionKind::CountStar => f.write_str("count(*)"),
            ExpressionKind::CaseSubject => Ok(()),
            ExpressionKind::List(items) => match items.as_slice() {
                // Without parentheses it would be a comprehension.
                [only] if only.is_comprehension_head() => write!(f, "[({only})]"),
                items => {
                    f.write_str("[")?;
                    join(f, items, ", ")?;
                    f.write_str("]")
                }
            },
            ExpressionKind::Map(entries) => {
                f.write_str("{")?;
                join(f, entries, ", ")?;
                f.write_str("}")
            }
            _ => f.write_str("null"),
        }
    }

    /// True if its text starts with `variable IN`.
    fn is_comprehension_head(&self) -> bool {
        match &self.kind {
            ExpressionKind::Binary { operator: BinaryOperator::In, left, .. }
                if matches!(left.kind, ExpressionKind::Variable(_)) =>
            {
                true
            }
            ExpressionKind::Binary { left: first, .. }
            | ExpressionKind::Comparison { first, .. }
            | ExpressionKind::TypeTest { operand: first, .. }
            | ExpressionKind::Unary { operator: UnaryOperator::IsNull | UnaryOperator::IsNotNull, operand: first } => {
                first.is_comprehension_head()
            }
            ExpressionKind::And(operands) | ExpressionKind::Or(operands) | ExpressionKind::Xor(operands) => {
                operands.first().is_some_and(Expression::is_comprehension_head)
            }
            _ => false,
        }
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.fmt_operation(f)
    }
}

/// True if a call by that name needs no backticks, because the word has no meaning of its own before a parenthesis.
fn is_function_name(name: &str) -> bool {
    const SPECIAL: &[&str] = &[
        "ALL", "ANY", "NONE", "SINGLE", "REDUCE", "allReduce", "shortestPath", "allShortestPaths", "filter", "extract",
        "WHEN", "THEN", "ELSE", "END", "ORDER", "SKIP", "LIMIT", "OPTIONAL", "DETACH",
    ];
    !token::is_one_of(name, RESERVED) && !token::is_one_of(name, SPECIAL)
}

fn is_parameter_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(crate::lexer::scan::continues_word)
}

/// A string in single quotes.
pub(in crate::ast) fn quoted(f: &mut Formatter<'_>, value: &str) -> fmt::Result {
    f.write_str("'")?;
    for letter in value.chars() {
        match letter {
            '\\' => f.write_str("\\\\")?,
            '\'' => f.write_str("\\'")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            control if u32::from(control) < 0x20 => write!(f, "\\u{:04x}", u32::from(control))?,
            letter => f.write_char(letter)?,
        }
    }
    f.write_str("'")
}

impl Display for MapEntry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.value)
    }
}

impl Display for MapProjectionItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MapProjectionItem::Property(key) => write!(f, ".{key}"),
            MapProjectionItem::All(_) => f.write_str(".*"),
            MapProjectionItem::Entry(entry) => entry.fmt(f),
            MapProjectionItem::Variable(name) => name.variable().fmt(f),
        }
    }
}

impl Display for BinaryOperator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Modulo => "%",
            BinaryOperator::Power => "^",
            BinaryOperator::Concatenate => "||",
            BinaryOperator::StartsWith => "STARTS WITH",
            BinaryOperator::EndsWith => "ENDS WITH",
            BinaryOperator::Contains => "CONTAINS",
            BinaryOperator::Matches => "=~",
            BinaryOperator::In => "IN",
        })
    }
}

impl Display for ComparisonOperator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ComparisonOperator::Equal => "=",
            ComparisonOperator::NotEqual => "<>",
            ComparisonOperator::Less => "<",
            ComparisonOperator::LessOrEqual => "<=",
            ComparisonOperator::Greater => ">",
            ComparisonOperator::GreaterOrEqual => ">=",
        })
    }
}

impl Display for Quantifier {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantifier::All => "all",
            Quantifier::Any => "any",
            Quantifier::None => "none",
            Quantifier::Single => "single",
        })
    }
}
