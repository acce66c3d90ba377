//! Expressions.

use crate::plan::conditions::at;
use std::sync::Arc;

use model::interrupt::work;
use model::{Result, Span, Value, error};

use super::case::has_tests;
use super::scope::VariableKind;
use super::{Aggregation, Binder, kinds};
use crate::ast::{self, ComparisonOperator, ExpressionKind as Ast, MapProjectionItem, UnaryOperator};
use crate::plan::{BinaryOperator, Expression, ExpressionKind, QuantifierKind, SlotId, SlotKind};

/// Kind of result that is wanted of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A value; a bare pattern is none.
    Value,
    /// Something true or false; a bare pattern is true if it is found.
    Predicate,
}

impl Binder<'_> {
    /// An expression in which no aggregate function may stand.
    pub(super) fn plain_expression(&mut self, expression: &ast::Expression, place: &'static str) -> Result<Expression> {
        self.without_aggregation(place, |binder| binder.expression(expression))
    }

    /// A condition in which no aggregate function may stand.
    pub(super) fn plain_predicate(&mut self, expression: &ast::Expression, place: &'static str) -> Result<Expression> {
        self.without_aggregation(place, |binder| binder.condition(expression))
    }

    pub(super) fn without_aggregation<T>(
        &mut self,
        place: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.aggregation, Aggregation::Forbidden(place));
        let result = work(self);
        self.aggregation = before;
        result
    }

    /// An expression that is wanted as a value.
    pub(super) fn expression(&mut self, expression: &ast::Expression) -> Result<Expression> {
        self.bind(expression, Wanted::Value)
    }

    fn boxed(&mut self, expression: &ast::Expression) -> Result<Box<Expression>> {
        Ok(Box::new(self.expression(expression)?))
    }

    fn optional(&mut self, expression: &Option<Box<ast::Expression>>) -> Result<Option<Box<Expression>>> {
        expression.as_ref().map(|expression| self.boxed(expression)).transpose()
    }

    fn all(&mut self, expressions: &[ast::Expression], wanted: Wanted) -> Result<Vec<Expression>> {
        expressions.iter().map(|expression| self.bind(expression, wanted)).collect()
    }

    /// An expression that is wanted as a condition.
    pub(super) fn condition(&mut self, expression: &ast::Expression) -> Result<Expression> {
        let bound = self.bind(expression, Wanted::Predicate)?;
        kinds::condition(&self.scope, &self.slots, &bound)?;
        Ok(bound)
    }

    pub(super) fn bind(&mut self, expression: &ast::Expression, wanted: Wanted) -> Result<Expression> {
        work(1)?;
        let bound = self.unchecked(expression, wanted)?;
        kinds::check(&self.scope, &self.slots, &bound)?;
        Ok(bound)
    }

    fn unchecked(&mut self, expression: &ast::Expression, wanted: Wanted) -> Result<Expression> {
        use ExpressionKind as Kind;
        let span = expression.span;
        let kind = match &expression.kind {
            Ast::Null => Kind::Literal(Value::Null),
            Ast::Boolean(value) => Kind::Literal(Value::Bool(*value)),
            Ast::Integer(value) => Kind::Literal(Value::Int(*value)),
            Ast::Float(value) => Kind::Literal(Value::Float(*value)),
            Ast::String(value) => Kind::Literal(Value::string(value)),
            Ast::Parameter(name) => {
                self.note_parameter(name, span);
                Kind::Parameter(Arc::from(name.as_str()))
            }
            Ast::Variable(name) => Kind::Slot(self.scope.get(name, span)?.slot),
            Ast::List(items) => Kind::List(self.all(items, Wanted::Value)?),
            Ast::Map(entries) => Kind::Map(self.map_entries(entries)?),
            Ast::Property { base, key } => {
                self.hint_property_of(base, key);
                Kind::Property { object: self.boxed(base)?, key: Arc::from(key.text.as_str()) }
            }
            Ast::Index { base, index } => Kind::Subscript { object: self.boxed(base)?, index: self.boxed(index)? },
            Ast::Slice { base, from, to } => {
                Kind::Slice { list: self.boxed(base)?, from: self.optional(from)?, to: self.optional(to)? }
            }
            Ast::HasLabels { base, labels } => {
                let object = self.expression(base)?;
                return self.label_predicate(&object, labels);
            }
            Ast::Unary { operator, operand } => return self.unary(*operator, operand, span),
            Ast::Binary { operator, left, right } => {
                Kind::Binary { operator: binary(*operator), left: self.boxed(left)?, right: self.boxed(right)? }
            }
            // Operands of logic must be predicates, at any depth.
            Ast::And(items) => Kind::And(self.all(items, Wanted::Predicate)?),
            Ast::Or(items) => Kind::Or(self.all(items, Wanted::Predicate)?),
            Ast::Xor(items) => return self.xor(items, span),
            Ast::Comparison { first, rest } => return self.comparison(first, rest, span),
            Ast::Case { subject: Some(subject), branches, otherwise } if has_tests(branches) => {
                return self.case_of_tests(subject, branches, otherwise.as_deref(), span);
            }
            Ast::Case { subject, branches, otherwise } => self.case(subject, branches, otherwise)?,
            Ast::CaseSubject => Kind::Slot(self.open_case(span)?),
            Ast::TypeTest { operand, negated, of } => {
                let of = at(span, Kind::Literal(Value::string(of)));
                let arguments = vec![self.expression(operand)?, of];
                let test = Kind::Function { name: Arc::from("isOfType"), arguments };
                if *negated { Kind::Not(Box::new(at(span, test))) } else { test }
            }
            Ast::Function { name, distinct, arguments } => return self.function(name, *distinct, arguments, span),
            Ast::CountStar => return self.count_star(span),
            Ast::ListComprehension { .. } | Ast::Quantifier { .. } | Ast::Reduce { .. } => {
                return self.iteration(expression);
            }
            Ast::PatternComprehension { pattern, predicate, projection } => {
                return self.pattern_comprehension(pattern, predicate.as_deref(), projection, span);
            }
            Ast::MapProjection { variable, items } => self.map_projection(variable, items)?,
            Ast::Pattern(pattern) if pattern.shortest.is_some() => return self.shortest_expression(pattern, span),
            Ast::Pattern(pattern) if wanted == Wanted::Predicate => return self.pattern_predicate(pattern, span),
            Ast::Pattern(_) => {
                let error =
                    error!(Semantic::UnexpectedSyntax, "a pattern is a condition, but a value is expected here");
                return Err(error
                    .at(span)
                    .with_remedy("write EXISTS { pattern }, or a comprehension [pattern | value]"));
            }
            Ast::Subquery { kind, query } => return self.subquery_expression(*kind, query, span),
        };
        Ok(at(span, kind))
    }

    fn hint_property_of(&mut self, base: &ast::Expression, key: &ast::Name) {
        if let Ast::Variable(name) = &base.kind
            && let Some(variable) = self.scope.find(name)
            && matches!(variable.kind, VariableKind::Node | VariableKind::Edge)
        {
            self.hint_property(&key.text, key.span);
        }
    }

    pub(super) fn map_entries(&mut self, entries: &[ast::MapEntry]) -> Result<Vec<(Arc<str>, Expression)>> {
        let bind = |entry: &ast::MapEntry| Ok((Arc::from(entry.key.text.as_str()), self.expression(&entry.value)?));
        entries.iter().map(bind).collect()
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &ast::Expression, span: Span) -> Result<Expression> {
        let wanted = if operator == UnaryOperator::Not { Wanted::Predicate } else { Wanted::Value };
        let operand = Box::new(self.bind(operand, wanted)?);
        let kind = match operator {
            UnaryOperator::Not => ExpressionKind::Not(operand),
            UnaryOperator::Minus => ExpressionKind::Negate(operand),
            UnaryOperator::Plus => return Ok(*operand),
            UnaryOperator::IsNull => ExpressionKind::IsNull(operand),
            UnaryOperator::IsNotNull => ExpressionKind::IsNotNull(operand),
        };
        Ok(at(span, kind))
    }

    fn xor(&mut self, items: &[ast::Expression], span: Span) -> Result<Expression> {
        let mut bound = self.all(items, Wanted::Predicate)?.into_iter();
        let first = bound.next().unwrap_or_else(|| at(span, ExpressionKind::Literal(Value::Bool(false))));
        Ok(bound.fold(first, |left, right| at(span, ExpressionKind::Xor(Box::new(left), Box::new(right)))))
    }

    fn comparison(&mut self, first: &ast::Expression, rest: &[ast::Comparison], span: Span) -> Result<Expression> {
        let mut left = self.expression(first)?;
        let mut pairs = Vec::with_capacity(rest.len());
        for comparison in rest {
            let right = self.expression(&comparison.operand)?;
            let place = left.span.to(right.span);
            let (before, after) = (Box::new(left), Box::new(right.clone()));
            let operator = compared(comparison.operator);
            pairs.push(at(place, ExpressionKind::Binary { operator, left: before, right: after }));
            left = right;
        }
        let kind = if pairs.len() == 1 { pairs.swap_remove(0).kind } else { ExpressionKind::And(pairs) };
        Ok(at(span, kind))
    }

    fn case(
        &mut self,
        subject: &Option<Box<ast::Expression>>,
        branches: &[ast::CaseBranch],
        otherwise: &Option<Box<ast::Expression>>,
    ) -> Result<ExpressionKind> {
        let operand = self.optional(subject)?;
        let mut whens = Vec::with_capacity(branches.len());
        for branch in branches {
            let when = if operand.is_some() {
                self.expression(&branch.condition)?
            } else {
                self.condition(&branch.condition)?
            };
            whens.push((when, self.expression(&branch.value)?));
        }
        Ok(ExpressionKind::Case { operand, whens, otherwise: self.optional(otherwise)? })
    }

    /// Notes that the statement needs a parameter.
    pub(super) fn note_parameter(&mut self, name: &str, span: Span) {
        if !self.parameters.iter().any(|(known, _)| **known == *name) {
            self.parameters.push((Arc::from(name), span));
        }
    }

    fn map_projection(&mut self, variable: &ast::Name, items: &[MapProjectionItem]) -> Result<ExpressionKind> {
        let object = at(variable.span, ExpressionKind::Slot(self.scope.get(&variable.text, variable.span)?.slot));
        let mut all = false;
        let mut entries = Vec::new();
        for item in items {
            match item {
                MapProjectionItem::All(_) => all = true,
                MapProjectionItem::Property(key) => {
                    let name: Arc<str> = Arc::from(key.text.as_str());
                    let object = Box::new(object.clone());
                    entries.push((name.clone(), at(key.span, ExpressionKind::Property { object, key: name })));
                }
                MapProjectionItem::Entry(entry) => {
                    entries.push((Arc::from(entry.key.text.as_str()), self.expression(&entry.value)?));
                }
                MapProjectionItem::Variable(name) => {
                    let slot = self.scope.get(&name.text, name.span)?.slot;
                    entries.push((Arc::from(name.text.as_str()), at(name.span, ExpressionKind::Slot(slot))));
                }
            }
        }
        Ok(ExpressionKind::MapProjection { object: Box::new(object), all, entries })
    }

    /// Expressions that take the elements of a list one by one.
    fn iteration(&mut self, expression: &ast::Expression) -> Result<Expression> {
        let kind = match &expression.kind {
            Ast::ListComprehension { variable, list, predicate, projection } => {
                let list = self.boxed(list)?;
                let slot = self.element_slot(variable, &list);
                let (filter, body) = self.with_local(&[(variable, slot)], "a list comprehension", |binder| {
                    let filter = predicate.as_ref().map(|predicate| binder.condition(predicate));
                    Ok((filter.transpose()?.map(Box::new), binder.optional(projection)?))
                })?;
                ExpressionKind::ListComprehension { slot, list, filter, body }
            }
            Ast::Quantifier { quantifier, variable, list, predicate } => {
                let list = self.boxed(list)?;
                let slot = self.element_slot(variable, &list);
                let predicate = self.with_local(&[(variable, slot)], "a quantifier", |binder| match predicate {
                    Some(predicate) => binder.condition(predicate),
                    None => Ok(at(variable.span, ExpressionKind::Slot(slot))),
                })?;
                let kind = match quantifier {
                    ast::Quantifier::All => QuantifierKind::All,
                    ast::Quantifier::Any => QuantifierKind::Any,
                    ast::Quantifier::None => QuantifierKind::None,
                    ast::Quantifier::Single => QuantifierKind::Single,
                };
                ExpressionKind::Quantifier { kind, slot, list, predicate: Box::new(predicate) }
            }
            Ast::Reduce { accumulator, initial, variable, list, step, predicate } => {
                let initial = self.boxed(initial)?;
                let list = self.boxed(list)?;
                let accumulated = self.slots.named(&accumulator.text, SlotKind::Any);
                let slot = self.slots.named(&variable.text, SlotKind::Any);
                let locals = [(accumulator, accumulated), (variable, slot)];
                let (body, predicate) = self.with_local(&locals, "reduce", |binder| {
                    let body = binder.boxed(step)?;
                    let predicate = predicate.as_ref().map(|predicate| binder.condition(predicate));
                    Ok((body, predicate.transpose()?.map(Box::new)))
                })?;
                ExpressionKind::Reduce { accumulator: accumulated, initial, slot, list, body, predicate }
            }
            _ => return Err(error!(Internal, "expected an iteration").at(expression.span)),
        };
        Ok(at(expression.span, kind))
    }

    /// A slot for the elements of a list.
    pub(super) fn element_slot(&mut self, variable: &ast::Name, list: &Expression) -> SlotId {
        let slot = self.slots.named(&variable.text, SlotKind::Any);
        let known = kinds::known_type(&self.scope, &self.slots, list);
        self.slots.know_element(slot, known);
        slot
    }

    fn with_local<T>(
        &mut self,
        locals: &[(&ast::Name, crate::plan::SlotId)],
        place: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mark = self.scope.len();
        for (name, slot) in locals {
            self.scope.declare(&name.text, *slot, VariableKind::Any);
        }
        let result = self.without_aggregation(place, work);
        self.scope.truncate(mark);
        result
    }
}

fn binary(operator: ast::BinaryOperator) -> BinaryOperator {
    match operator {
        ast::BinaryOperator::Add => BinaryOperator::Add,
        ast::BinaryOperator::Subtract => BinaryOperator::Subtract,
        ast::BinaryOperator::Multiply => BinaryOperator::Multiply,
        ast::BinaryOperator::Divide => BinaryOperator::Divide,
        ast::BinaryOperator::Modulo => BinaryOperator::Modulo,
        ast::BinaryOperator::Power => BinaryOperator::Power,
        ast::BinaryOperator::Concatenate => BinaryOperator::Concatenate,
        ast::BinaryOperator::StartsWith => BinaryOperator::StartsWith,
        ast::BinaryOperator::EndsWith => BinaryOperator::EndsWith,
        ast::BinaryOperator::Contains => BinaryOperator::Contains,
        ast::BinaryOperator::Matches => BinaryOperator::Matches,
        ast::BinaryOperator::In => BinaryOperator::In,
    }
}

fn compared(operator: ComparisonOperator) -> BinaryOperator {
    match operator {
        ComparisonOperator::Equal => BinaryOperator::Equal,
        ComparisonOperator::NotEqual => BinaryOperator::NotEqual,
        ComparisonOperator::Less => BinaryOperator::Less,
        ComparisonOperator::LessOrEqual => BinaryOperator::LessOrEqual,
        ComparisonOperator::Greater => BinaryOperator::Greater,
        ComparisonOperator::GreaterOrEqual => BinaryOperator::GreaterOrEqual,
    }
}
