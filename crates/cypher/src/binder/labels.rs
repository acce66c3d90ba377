//! Label expressions as predicates.

use std::sync::Arc;

use model::{Result, error};

use super::expression::at;
use super::scope::VariableKind;
use super::{Binder, unsupported};
use crate::ast::{LabelExpression, LabelExpressionKind, Name};
use crate::plan::{Expression, ExpressionKind};

impl Binder<'_> {
    /// Whether a node or edge is as a label expression asks.
    pub(super) fn label_predicate(&mut self, object: &Expression, labels: &LabelExpression) -> Result<Expression> {
        let kind = self.scope.kind_of(object);
        if matches!(kind, VariableKind::Value | VariableKind::Path | VariableKind::EdgeList) {
            let error = error!(
                Semantic::InvalidArgumentType,
                "expected a node or relationship before the label, found {}",
                kind.describe()
            );
            return Err(error.at(object.span));
        }
        if let Some(names) = labels.conjunction() {
            self.hint_names(&names, kind);
            let span = object.span.to(labels.span);
            return Ok(at(span, ExpressionKind::HasLabels { object: Box::new(object.clone()), labels: texts(&names) }));
        }
        let kind = match &labels.kind {
            LabelExpressionKind::Name(name) => {
                ExpressionKind::HasLabels { object: Box::new(object.clone()), labels: texts(&[name]) }
            }
            LabelExpressionKind::Any => return Err(unsupported("the label wildcard %", labels.span)),
            LabelExpressionKind::Not(inner) => ExpressionKind::Not(Box::new(self.label_predicate(object, inner)?)),
            LabelExpressionKind::And(parts) => ExpressionKind::And(self.label_predicates(object, parts)?),
            LabelExpressionKind::Or(parts) => ExpressionKind::Or(self.label_predicates(object, parts)?),
        };
        Ok(at(labels.span, kind))
    }

    fn label_predicates(&mut self, object: &Expression, parts: &[LabelExpression]) -> Result<Vec<Expression>> {
        parts.iter().map(|part| self.label_predicate(object, part)).collect()
    }

    pub(super) fn hint_names(&mut self, names: &[&Name], kind: VariableKind) {
        for name in names {
            match kind {
                VariableKind::Node => self.hint_label(&name.text, name.span),
                VariableKind::Edge | VariableKind::EdgeList => self.hint_type(&name.text, name.span),
                _ => {}
            }
        }
    }
}

/// Names as the plan has them, each once.
pub(super) fn texts(names: &[&Name]) -> Vec<Arc<str>> {
    let mut texts: Vec<Arc<str>> = Vec::with_capacity(names.len());
    for name in names {
        if !texts.iter().any(|known| **known == *name.text) {
            texts.push(Arc::from(name.text.as_str()));
        }
    }
    texts
}
