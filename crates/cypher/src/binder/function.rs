//! Calls of functions, scalar and aggregate.

use std::sync::Arc;

use model::suggestion;
use model::{Error, Result, Span, error};

use super::expression::Wanted;
use super::{Aggregation, Binder};
use crate::ast::{self, ExpressionKind as Ast, Name};
use crate::catalog::{FunctionKind, FunctionSignature};
use crate::plan::conditions::at;
use crate::plan::explain::expression::fingerprint;
use crate::plan::{Aggregate, Expression, ExpressionKind, SlotKind};

impl Binder<'_> {
    pub(super) fn function(
        &mut self,
        name: &[Name],
        distinct: bool,
        arguments: &[ast::Expression],
        span: Span,
    ) -> Result<Expression> {
        let full_name = name.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(".");
        let name_span = name.iter().map(|part| part.span).reduce(Span::to).unwrap_or(span);
        if full_name.eq_ignore_ascii_case("exists") && arguments.len() == 1 {
            return self.exists_function(&arguments[0], span);
        }
        let of_csv = ["linenumber", "file"].iter().position(|known| full_name.eq_ignore_ascii_case(known));
        if let (Some(which), []) = (of_csv, arguments) {
            let Some((line, file)) = self.scope.csv else {
                let error = error!(Semantic, "{full_name}() is known only between LOAD CSV and the WITH after it");
                return Err(error.at(span).with_remedy(format!("pass it on, as WITH {full_name}() AS x")));
            };
            return Ok(at(span, ExpressionKind::Slot(if which == 0 { line } else { file })));
        }
        let catalog = self.context.catalog;
        let signature = *catalog.function(&full_name).ok_or_else(|| self.unknown_function(&full_name, name_span))?;
        check_argument_count(&signature, arguments.len(), name_span)?;
        match signature.kind {
            FunctionKind::Aggregate => self.aggregate(&signature, distinct, arguments, span),
            FunctionKind::Scalar if distinct => {
                let message = format!("DISTINCT has no meaning in {}, which is no aggregate function", signature.name);
                Err(error!(Semantic, "{message}").at(span))
            }
            FunctionKind::Scalar => {
                let arguments = arguments.iter().map(|argument| self.expression(argument)).collect::<Result<_>>()?;
                Ok(at(span, ExpressionKind::Function { name: Arc::from(signature.name), arguments }))
            }
        }
    }

    /// `exists(n.key)` asks whether the property is there, `exists(pattern)` whether the pattern is.
    fn exists_function(&mut self, argument: &ast::Expression, span: Span) -> Result<Expression> {
        match &argument.kind {
            Ast::Pattern(_) => self.bind(argument, Wanted::Predicate),
            Ast::Property { .. } | Ast::Index { .. } => {
                let operand = Box::new(self.expression(argument)?);
                Ok(at(span, ExpressionKind::IsNotNull(operand)))
            }
            _ => {
                let error = error!(Semantic, "exists() takes a property or a pattern").at(argument.span);
                Err(error.with_remedy("use IS NOT NULL to test a value"))
            }
        }
    }

    fn unknown_function(&self, name: &str, span: Span) -> Error {
        let error = error!(UnknownFunction, "unknown function `{name}`").at(span);
        match suggestion::did_you_mean(name, self.context.catalog.function_names()) {
            Some(remedy) => error.with_remedy(remedy),
            None => error,
        }
    }

    pub(super) fn count_star(&mut self, span: Span) -> Result<Expression> {
        let signature = FunctionSignature {
            name: "count",
            kind: FunctionKind::Aggregate,
            arguments_min: 0,
            arguments_max: Some(1),
            takes_weights: true,
        };
        self.aggregate(&signature, false, &[], span)
    }

    fn aggregate(
        &mut self,
        signature: &FunctionSignature,
        distinct: bool,
        arguments: &[ast::Expression],
        span: Span,
    ) -> Result<Expression> {
        let state = std::mem::replace(&mut self.aggregation, Aggregation::Inside);
        let mut aggregates = match state {
            Aggregation::Collecting(aggregates) => aggregates,
            Aggregation::Inside => {
                let message = format!("aggregate function {} stands inside another", signature.name);
                let error = error!(Semantic::NestedAggregation, "{message}").at(span);
                return Err(error.with_remedy("compute the inner one in a WITH before"));
            }
            Aggregation::Forbidden(place) => {
                self.aggregation = Aggregation::Forbidden(place);
                let error = error!(
                    Semantic::InvalidAggregation,
                    "aggregate function {} cannot be used in {place}", signature.name
                );
                return Err(error.at(span).with_remedy("compute it in a WITH before"));
            }
        };
        let bound = arguments.iter().map(|argument| self.expression(argument)).collect::<Result<Vec<_>>>()?;
        if let Some(argument) = bound.iter().find(|argument| calls_random(argument)) {
            let error = error!(Semantic::NonConstantExpression, "the argument of {} is random", signature.name)
                .at(argument.span);
            return Err(error.with_remedy("compute it in a WITH before"));
        }
        let wanted = aggregate_text(signature.name, distinct, &bound);
        let known = aggregates
            .iter()
            .find(|known| aggregate_text(&known.function, known.distinct, &known.arguments) == wanted)
            .map(|known| known.slot);
        let text = self.source(span);
        let slot = known.unwrap_or_else(|| self.slots.named(text, SlotKind::Any));
        if known.is_none() {
            let function = Arc::from(signature.name);
            let is_weighable = signature.takes_weights;
            aggregates.push(Aggregate { slot, function, distinct, arguments: bound, is_weighable, span });
        }
        self.aggregation = Aggregation::Collecting(aggregates);
        Ok(at(span, ExpressionKind::Slot(slot)))
    }
}

/// True if the expression gives another value each time. The number of times that an aggregate function asks for it is
/// not part of its meaning.
fn calls_random(expression: &Expression) -> bool {
    let itself =
        matches!(&expression.kind, ExpressionKind::Function { name, .. } if matches!(&**name, "rand" | "randomUUID"));
    itself || expression.operands().into_iter().any(calls_random)
}

fn aggregate_text(function: &str, distinct: bool, arguments: &[Expression]) -> String {
    let arguments: Vec<String> = arguments.iter().map(fingerprint).collect();
    format!("{function} {distinct} {}", arguments.join(", "))
}

fn check_argument_count(signature: &FunctionSignature, found: usize, span: Span) -> Result<()> {
    let (min, max) = (signature.arguments_min, signature.arguments_max);
    if found >= min && max.is_none_or(|max| found <= max) {
        return Ok(());
    }
    let plural = |count: usize| if count == 1 { "argument" } else { "arguments" };
    let expected = match max {
        Some(max) if max == min => format!("{min} {}", plural(min)),
        Some(max) => format!("{min} to {max} arguments"),
        None => format!("at least {min} {}", plural(min)),
    };
    Err(error!(Semantic::InvalidNumberOfArguments, "function {} takes {expected}, found {found}", signature.name)
        .at(span))
}
