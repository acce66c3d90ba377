//! `CASE subject WHEN > 3 THEN …`: the subject is computed once and tested by operators.

use model::{Result, Span, Value, error};

use super::Binder;
use super::expression::Wanted;
use crate::ast::{self, CaseBranch, ExpressionKind as Ast};
use crate::plan::conditions::at;
use crate::plan::{BinaryOperator, Expression, ExpressionKind, SlotId, SlotKind};

/// True if any branch has more than one value to compare with.
pub(super) fn has_tests(branches: &[CaseBranch]) -> bool {
    branches.iter().any(|branch| !branch.others.is_empty() || is_test(&branch.condition))
}

/// True if a condition begins with an operator whose left operand, the subject, is implied.
fn is_test(condition: &ast::Expression) -> bool {
    let first = match &condition.kind {
        Ast::Comparison { first, .. } => first,
        Ast::Unary { operand, .. } | Ast::TypeTest { operand, .. } => operand,
        Ast::Binary { left, .. } => left,
        _ => return false,
    };
    first.kind == Ast::CaseSubject
}

impl Binder<'_> {
    /// Holds the subject of the `CASE` whose `WHEN` is being bound.
    pub(super) fn open_case(&self, span: Span) -> Result<SlotId> {
        self.case_subject
            .ok_or_else(|| error!(Internal, "an operator without a left side stands outside of CASE").at(span))
    }

    /// The subject becomes the only element of a list, so that the tests have a variable for it:
    /// `[subject IN [value] | CASE WHEN subject > 3 …][0]`.
    pub(super) fn case_of_tests(
        &mut self,
        subject: &ast::Expression,
        branches: &[CaseBranch],
        otherwise: Option<&ast::Expression>,
        span: Span,
    ) -> Result<Expression> {
        let subject = self.expression(subject)?;
        let slot = self.slots.unnamed(SlotKind::Any);
        let mut whens = Vec::with_capacity(branches.len());
        for branch in branches {
            let conditions = std::iter::once(&branch.condition).chain(&branch.others);
            let mut tests = conditions.map(|condition| self.test(condition, slot)).collect::<Result<Vec<_>>>()?;
            let test = if tests.len() == 1 {
                tests.swap_remove(0)
            } else {
                at(branch.condition.span, ExpressionKind::Or(tests))
            };
            whens.push((test, self.expression(&branch.value)?));
        }
        let otherwise = otherwise.map(|value| self.expression(value).map(Box::new)).transpose()?;
        let body = Some(Box::new(at(span, ExpressionKind::Case { operand: None, whens, otherwise })));
        let list = Box::new(at(subject.span, ExpressionKind::List(vec![subject])));
        let list = at(span, ExpressionKind::ListComprehension { slot, list, filter: None, body });
        let index = Box::new(at(span, ExpressionKind::Literal(Value::Int(0))));
        Ok(at(span, ExpressionKind::Subscript { object: Box::new(list), index }))
    }

    fn test(&mut self, condition: &ast::Expression, subject: SlotId) -> Result<Expression> {
        if is_test(condition) {
            let outer = self.case_subject.replace(subject);
            let bound = self.bind(condition, Wanted::Predicate);
            self.case_subject = outer;
            return bound;
        }
        let left = Box::new(at(condition.span, ExpressionKind::Slot(subject)));
        let right = Box::new(self.expression(condition)?);
        Ok(at(condition.span, ExpressionKind::Binary { operator: BinaryOperator::Equal, left, right }))
    }
}
