//! Rewrites: other texts of a statement that give the same rows as long as something holds of the data.
//!
//! The planner itself turns a statement into others that mean the same. These do not always: that each node with a property has a label,
//! that edges of a type lead one way only, that a function leaves each value as it is. A rewrite therefore has a [`Premise`], a statement that
//! counts what speaks against it. Where nothing does, the statement may be written so by somebody who knows that it will stay true.
//!
//! - [`patterns`]: labels, types and directions that a pattern leaves open.
//! - [`conditions`]: conditions that hide a property from an index.

mod conditions;
mod patterns;

use std::sync::Arc;

use cypher::ast::{
    Expression, ExpressionKind, LabelExpression, MatchClause, Name, NodePattern, PathPattern, StatementKind,
};
use cypher::parser;
use cypher::plan::explain::quoted;
use model::{LabelId, Schema, Span, Statistics};

/// Rewrites of one statement at most.
const REWRITES_MAX: usize = 32;

/// A condition on the data, under which a rewrite or a constraint changes no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Premise {
    /// A statement of one row with one number: how many nodes or relationships speak against it.
    pub(crate) counts_against: String,
    /// The premise in words.
    pub(crate) told: String,
}

/// Another text of a part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    /// The part.
    span: Span,
    /// Its other text.
    by: String,
    /// Premise of the rewrite.
    pub(super) premise: Premise,
    /// The label, type or property that an index needs to serve the other text.
    pub(super) name: Arc<str>,
    /// The property that the premise speaks of.
    rests_on: Option<Arc<str>>,
}

impl Rewrite {
    /// The statement with the other text.
    pub(super) fn applied(&self, text: &str) -> String {
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        format!("{}{}{}", &text[..start], self.by, &text[end..])
    }
}

/// The names and counts of a store.
#[derive(Clone, Copy)]
pub(super) struct Known<'g> {
    pub(super) schema: &'g Schema,
    pub(super) statistics: &'g Statistics,
}

impl<'g> Known<'g> {
    fn label(&self, name: &str) -> Option<LabelId> {
        self.schema.label(name)
    }

    /// The labels of which some nodes have a property, as far as sketches tell.
    fn labels_with(&self, key: &str) -> Vec<&'g Arc<str>> {
        let Some(key) = self.schema.property_key(key) else { return Vec::new() };
        let sketched = |label: LabelId| match &self.statistics.sketches {
            Some(sketches) => sketches.values.get(&(label, key)).is_some_and(|values| values.present > 0),
            None => true,
        };
        let labels = self.schema.labels.iter().enumerate();
        labels.filter(|(label, _)| sketched(LabelId(*label as u32))).map(|(_, name)| name).collect()
    }
}

/// The rewrites of a text that the names and counts of a store allow.
pub(super) fn rewrites(text: &str, known: Known<'_>) -> Vec<Rewrite> {
    let Ok(statement) = parser::parse(text) else { return Vec::new() };
    let StatementKind::Query(query) = &statement.kind else { return Vec::new() };
    // A statement must not break the premise of its own rewrite.
    let Some(set) = query.properties_set() else { return Vec::new() };
    let mut found: Vec<Rewrite> = Vec::new();
    query.each_match(&mut |clause| {
        let part = Part { clause, text };
        let mut add = |rewrite: Rewrite| {
            let is_set = rewrite.rests_on.as_deref().is_some_and(|key| set.contains(&key));
            if !is_set && !found.contains(&rewrite) {
                found.push(rewrite);
            }
        };
        patterns::add(&part, known, &mut add);
        conditions::add(&part, &mut add);
    });
    found.truncate(REWRITES_MAX);
    found
}

/// One `MATCH` of a statement.
struct Part<'q> {
    clause: &'q MatchClause,
    text: &'q str,
}

impl<'q> Part<'q> {
    /// The nodes of its patterns, but for those of repeated groups.
    fn nodes(&self) -> impl Iterator<Item = &'q NodePattern> {
        let of_path =
            |path: &'q PathPattern| std::iter::once(&path.start).chain(path.steps.iter().map(|step| &step.node));
        self.clause.patterns.iter().flat_map(of_path)
    }

    /// Conditions that hold of every match.
    fn conjuncts(&self) -> Vec<&'q Expression> {
        let inline = self.nodes().filter_map(|node| node.predicate.as_ref());
        let mut all = Vec::new();
        self.clause.predicate.iter().chain(inline).for_each(|predicate| push_conjuncts(predicate, &mut all));
        all
    }

    /// Labels that a node is said to have.
    fn labels(&self, node: &'q NodePattern) -> Vec<&'q str> {
        let Some(variable) = &node.variable else { return names(node.labels.as_ref()) };
        let same = |other: &&NodePattern| other.variable.as_ref().is_some_and(|name| name.text == variable.text);
        let mut labels: Vec<&str> = self.nodes().filter(same).flat_map(|node| names(node.labels.as_ref())).collect();
        for condition in self.conjuncts() {
            let ExpressionKind::HasLabels { base, labels: held } = &condition.kind else { continue };
            if matches!(&base.kind, ExpressionKind::Variable(name) if *name == variable.text) {
                labels.extend(names(Some(held)));
            }
        }
        labels
    }

    /// The node of a variable.
    fn node(&self, variable: &str) -> Option<&'q NodePattern> {
        self.nodes().find(|node| node.variable.as_ref().is_some_and(|name| name.text == variable))
    }

    /// The text at a place.
    fn at(&self, span: Span) -> &'q str {
        &self.text[span.start as usize..span.end as usize]
    }
}

fn push_conjuncts<'q>(predicate: &'q Expression, all: &mut Vec<&'q Expression>) {
    match &predicate.kind {
        ExpressionKind::And(parts) => parts.iter().for_each(|part| push_conjuncts(part, all)),
        _ => all.push(predicate),
    }
}

fn names(labels: Option<&LabelExpression>) -> Vec<&str> {
    let conjunction = labels.and_then(LabelExpression::conjunction).unwrap_or_default();
    conjunction.into_iter().map(|name: &Name| &*name.text).collect()
}

/// A node pattern for a premise, with a label if one is known.
fn pattern_of(label: Option<&str>) -> String {
    label.map_or_else(|| "(n)".to_owned(), |label| format!("(n:{})", quoted(label)))
}

/// The nodes of a label, in words.
fn nodes_of(label: Option<&str>) -> String {
    label.map_or_else(|| "node".to_owned(), |label| format!(":{} node", quoted(label)))
}

#[cfg(test)]
mod tests;
