//! Label expressions as predicates.

use std::sync::Arc;

use model::{Result, error};

use super::Binder;
use super::scope::VariableKind;
use crate::ast::{LabelExpression, LabelExpressionKind, Name};
use crate::plan::conditions::at;
use crate::plan::{Expression, ExpressionKind};

impl Binder<'_> {
    /// Returns the predicate that is true if a node or edge satisfies a label expression.
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
            LabelExpressionKind::Any => function("hasAnyLabel", vec![object.clone()]),
            LabelExpressionKind::Computed { names, any } => {
                let names = self.plain_expression(names, "a label")?;
                function(if *any { "hasAnyLabel" } else { "hasLabels" }, vec![object.clone(), names])
            }
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

fn function(name: &str, arguments: Vec<Expression>) -> ExpressionKind {
    ExpressionKind::Function { name: Arc::from(name), arguments }
}

/// Of which types an edge must be one, as far as a type expression says; `None` if it may be of any.
pub(super) fn possible_types(types: &LabelExpression) -> Option<Vec<&Name>> {
    match &types.kind {
        LabelExpressionKind::Name(name) => Some(vec![name]),
        LabelExpressionKind::Or(parts) => {
            let parts = parts.iter().map(possible_types).collect::<Option<Vec<_>>>()?;
            Some(parts.concat())
        }
        LabelExpressionKind::And(parts) => parts.iter().filter_map(possible_types).min_by_key(Vec::len),
        LabelExpressionKind::Any | LabelExpressionKind::Not(_) | LabelExpressionKind::Computed { .. } => None,
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
