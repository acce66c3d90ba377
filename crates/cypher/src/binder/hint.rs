//! Hints: what is probably not meant, though it is no error.

use std::sync::Arc;

use model::suggestion;
use model::{Result, Set, Span};

use super::Binder;
use super::tree::GraphHint;
use crate::ast::{Name, PlannerHint, PlannerHintKind};

/// Kinds of hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintKind {
    /// A label that the store does not know.
    UnknownLabel,
    /// A relationship type that it does not know.
    UnknownType,
    /// A property that it does not know.
    UnknownProperty,
    /// Parts of a pattern that have nothing in common.
    Product,
    /// A `USING` that is not followed.
    Unfollowed,
    /// Anything else.
    Note,
}

/// Something in a query that is probably not meant: it runs, but likely finds nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// Kind of what was found.
    pub kind: HintKind,
    /// Description of what was found.
    pub message: String,
    /// Place in the query.
    pub span: Span,
}

impl Binder<'_> {
    /// Notes a label that the store does not know.
    pub(super) fn hint_label(&mut self, label: &str, span: Span) {
        let names = &self.context.schema.labels;
        if names.find(label).is_none() && !names.is_empty() {
            let known = suggestion::did_you_mean(label, names.iter().map(|name| &**name));
            self.hint(HintKind::UnknownLabel, format!("no node has the label {label}"), known, span);
        }
    }

    /// Notes an edge type that the store does not know.
    pub(super) fn hint_type(&mut self, edge_type: &str, span: Span) {
        let names = &self.context.schema.edge_types;
        if names.find(edge_type).is_none() && !names.is_empty() {
            let known = suggestion::did_you_mean(edge_type, names.iter().map(|name| &**name));
            self.hint(HintKind::UnknownType, format!("no relationship has the type {edge_type}"), known, span);
        }
    }

    /// Notes a property that the store does not know.
    pub(super) fn hint_property(&mut self, key: &str, span: Span) {
        let names = &self.context.schema.property_keys;
        if names.find(key).is_none() && !names.is_empty() {
            let known = suggestion::did_you_mean(key, names.iter().map(|name| &**name));
            self.hint(HintKind::UnknownProperty, format!("nothing has the property {key}"), known, span);
        }
    }

    /// Binds a hint of the query to the planner; `None` if it cannot be followed.
    pub(super) fn planner_hint(&mut self, hint: &PlannerHint) -> Result<Option<GraphHint>> {
        let text = |name: &Name| Arc::from(name.text.as_str());
        let (variable, subject, keys) = match &hint.kind {
            PlannerHintKind::Join(names) => {
                for name in names {
                    self.scope.get(&name.text, name.span)?;
                }
                let message = "USING JOIN is not followed: where parts of a pattern are joined is chosen by cost";
                let (kind, message) = (HintKind::Unfollowed, message.to_owned());
                self.hints.push(Hint { kind, message, span: hint.span });
                return Ok(None);
            }
            PlannerHintKind::Scan { variable, subject } => (variable, subject, None),
            PlannerHintKind::Index { variable, subject, properties } => {
                (variable, subject, Some(properties.iter().map(text).collect()))
            }
        };
        let slot = self.scope.get(&variable.text, variable.span)?.slot;
        Ok(Some(GraphHint { slot, subject: text(subject), keys, span: hint.span }))
    }

    fn hint(&mut self, kind: HintKind, found: String, suggestion: Option<String>, span: Span) {
        let message = match suggestion {
            Some(suggestion) => format!("{found}; {suggestion}"),
            None => found,
        };
        self.hints.push(Hint { kind, message, span });
    }

    /// The hints, each once. A query that writes makes names, so it has none.
    pub(crate) fn finish_hints(&mut self) -> Vec<Hint> {
        if self.mode != crate::plan::PlanMode::Read {
            return Vec::new();
        }
        let mut seen = Set::default();
        std::mem::take(&mut self.hints).into_iter().filter(|hint| seen.insert(hint.span)).collect()
    }
}
