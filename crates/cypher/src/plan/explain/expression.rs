//! Bound expressions as Cypher.

use std::fmt::{self, Display, Formatter, Write as _};
use std::sync::Arc;

use crate::plan::{
    BinaryOperator, Expression, ExpressionKind, Operator, PathStep, QuantifierKind, SlotId, SlotInfo, SubqueryKind,
};

/// Form in which slots are written.
#[derive(Clone, Copy)]
pub(crate) enum SlotNames<'a> {
    /// By their names.
    Named(&'a [SlotInfo]),
    /// By their numbers, so that equal text means equal expressions.
    Numbered,
}

/// An expression that can be printed.
pub(crate) struct Printed<'a>(pub(crate) &'a Expression, pub(crate) SlotNames<'a>);

/// A text that is the same for two expressions only if they compute the same.
pub(crate) fn fingerprint(expression: &Expression) -> String {
    Printed(expression, SlotNames::Numbered).to_string()
}

/// A name of the query, in backticks where it needs them.
pub fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '@';
    if !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        name.to_string()
    } else {
        format!("`{}`", name.replace('`', "``"))
    }
}

/// Precedence of an expression; an operand that binds less tightly is put in parentheses.
fn precedence(kind: &ExpressionKind) -> u8 {
    use ExpressionKind as Kind;
    match kind {
        Kind::Or(_) => 1,
        Kind::Xor(..) => 2,
        Kind::And(_) => 3,
        Kind::Not(_) => 4,
        Kind::Binary { operator, .. } => match operator {
            BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Concatenate => 7,
            BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => 8,
            BinaryOperator::Power => 9,
            _ => 5,
        },
        Kind::IsNull(_) | Kind::IsNotNull(_) => 6,
        Kind::Negate(_) => 10,
        _ => 11,
    }
}

impl SlotNames<'_> {
    pub(crate) fn of(self, slot: SlotId) -> String {
        match self {
            SlotNames::Named(slots) => slots.get(slot.0 as usize).map_or_else(String::new, |info| quoted(&info.name)),
            SlotNames::Numbered => format!("#{}", slot.0),
        }
    }

    fn boxed<'b>(self, expression: &'b Expression) -> Printed<'b>
    where
        Self: 'b,
    {
        let names: SlotNames<'b> = self;
        Printed(expression, names)
    }
}

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use ExpressionKind as Kind;
        match &self.0.kind {
            Kind::Literal(value) => write!(f, "{value}"),
            Kind::Parameter(name) => write!(f, "${}", quoted(name)),
            Kind::Slot(slot) => f.write_str(&self.1.of(*slot)),
            Kind::Property { object, key } => {
                self.operand(f, object, 11)?;
                write!(f, ".{}", quoted(key))
            }
            Kind::Subscript { object, index } => {
                self.operand(f, object, 11)?;
                write!(f, "[{}]", self.of(index))
            }
            Kind::Slice { list, from, to } => {
                self.operand(f, list, 11)?;
                f.write_char('[')?;
                from.iter().try_for_each(|from| write!(f, "{}", self.of(from)))?;
                f.write_str("..")?;
                to.iter().try_for_each(|to| write!(f, "{}", self.of(to)))?;
                f.write_char(']')
            }
            Kind::List(items) => {
                f.write_char('[')?;
                self.separated(f, items, ", ", 0)?;
                f.write_char(']')
            }
            Kind::Map(entries) => self.map(f, "", entries),
            Kind::MapProjection { object, all, entries } => {
                self.operand(f, object, 11)?;
                self.map(f, if *all { ".*" } else { "" }, entries)
            }
            Kind::Not(operand) => {
                f.write_str("NOT ")?;
                self.operand(f, operand, 4)
            }
            Kind::And(items) => self.separated(f, items, " AND ", 4),
            Kind::Or(items) => self.separated(f, items, " OR ", 2),
            Kind::Xor(left, right) => self.infix(f, left, "XOR", right, 3),
            Kind::Negate(operand) => {
                f.write_char('-')?;
                self.operand(f, operand, 11)
            }
            Kind::Binary { operator, left, right } => {
                self.infix(f, left, operator.symbol(), right, precedence(&self.0.kind))
            }
            Kind::IsNull(operand) => {
                self.operand(f, operand, 7)?;
                f.write_str(" IS NULL")
            }
            Kind::IsNotNull(operand) => {
                self.operand(f, operand, 7)?;
                f.write_str(" IS NOT NULL")
            }
            Kind::HasLabels { object, labels } => {
                self.operand(f, object, 11)?;
                labels.iter().try_for_each(|label| write!(f, ":{}", quoted(label)))
            }
            Kind::Function { name, arguments } => {
                write!(f, "{name}(")?;
                self.separated(f, arguments, ", ", 0)?;
                f.write_char(')')
            }
            Kind::Case { .. } => self.case(f),
            Kind::ListComprehension { .. } | Kind::Quantifier { .. } | Kind::Reduce { .. } => self.iteration(f),
            Kind::Path { start, steps } => self.path(f, *start, steps),
            Kind::Subquery { kind, plan } => self.subquery(f, *kind, plan),
        }
    }
}

impl Printed<'_> {
    fn of<'b>(&'b self, expression: &'b Expression) -> Printed<'b> {
        self.1.boxed(expression)
    }

    fn operand(&self, f: &mut Formatter<'_>, operand: &Expression, least: u8) -> fmt::Result {
        if precedence(&operand.kind) < least {
            write!(f, "({})", self.of(operand))
        } else {
            write!(f, "{}", self.of(operand))
        }
    }

    fn infix(
        &self,
        f: &mut Formatter<'_>,
        left: &Expression,
        symbol: &str,
        right: &Expression,
        level: u8,
    ) -> fmt::Result {
        self.operand(f, left, if level == 5 { 6 } else { level })?;
        write!(f, " {symbol} ")?;
        self.operand(f, right, level + 1)
    }

    fn separated(&self, f: &mut Formatter<'_>, items: &[Expression], separator: &str, least: u8) -> fmt::Result {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                f.write_str(separator)?;
            }
            self.operand(f, item, least)?;
        }
        Ok(())
    }

    fn map(&self, f: &mut Formatter<'_>, first: &str, entries: &[(Arc<str>, Expression)]) -> fmt::Result {
        write!(f, "{{{first}")?;
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 || !first.is_empty() {
                f.write_str(", ")?;
            }
            write!(f, "{}: {}", quoted(key), self.of(value))?;
        }
        f.write_char('}')
    }

    fn case(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ExpressionKind::Case { operand, whens, otherwise } = &self.0.kind else { return Ok(()) };
        f.write_str("CASE")?;
        operand.iter().try_for_each(|operand| write!(f, " {}", self.of(operand)))?;
        for (condition, value) in whens {
            write!(f, " WHEN {} THEN {}", self.of(condition), self.of(value))?;
        }
        otherwise.iter().try_for_each(|otherwise| write!(f, " ELSE {}", self.of(otherwise)))?;
        f.write_str(" END")
    }

    fn iteration(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ExpressionKind::ListComprehension { slot, list, filter, body } => {
                write!(f, "[{} IN {}", self.1.of(*slot), self.of(list))?;
                filter.iter().try_for_each(|filter| write!(f, " WHERE {}", self.of(filter)))?;
                body.iter().try_for_each(|body| write!(f, " | {}", self.of(body)))?;
                f.write_char(']')
            }
            ExpressionKind::Quantifier { kind, slot, list, predicate } => {
                let name = match kind {
                    QuantifierKind::All => "all",
                    QuantifierKind::Any => "any",
                    QuantifierKind::None => "none",
                    QuantifierKind::Single => "single",
                };
                write!(f, "{name}({} IN {} WHERE {})", self.1.of(*slot), self.of(list), self.of(predicate))
            }
            ExpressionKind::Reduce { accumulator, initial, slot, list, body, predicate } => {
                let name = if predicate.is_some() { "allReduce" } else { "reduce" };
                write!(f, "{name}({} = {}, ", self.1.of(*accumulator), self.of(initial))?;
                write!(f, "{} IN {} | {}", self.1.of(*slot), self.of(list), self.of(body))?;
                predicate.iter().try_for_each(|predicate| write!(f, ", {}", self.of(predicate)))?;
                f.write_char(')')
            }
            _ => Ok(()),
        }
    }

    fn path(&self, f: &mut Formatter<'_>, start: SlotId, steps: &[PathStep]) -> fmt::Result {
        write!(f, "path({}", self.1.of(start))?;
        for step in steps {
            match step {
                PathStep::Edge(slot) => write!(f, ", {}", self.1.of(*slot))?,
                PathStep::Edges(slot) => write!(f, ", {}*", self.1.of(*slot))?,
            }
        }
        f.write_char(')')
    }

    fn subquery(&self, f: &mut Formatter<'_>, kind: SubqueryKind, plan: &Arc<Operator>) -> fmt::Result {
        let body = match self.1 {
            SlotNames::Named(_) => "…".to_string(),
            SlotNames::Numbered => format!("{:p}", Arc::as_ptr(plan)),
        };
        match kind {
            SubqueryKind::Exists => write!(f, "EXISTS {{{body}}}"),
            SubqueryKind::Count => write!(f, "COUNT {{{body}}}"),
            SubqueryKind::Collect(slot) => write!(f, "COLLECT {{{body} {}}}", self.1.of(slot)),
        }
    }
}
