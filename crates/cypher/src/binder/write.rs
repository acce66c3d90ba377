//! Clauses that write: `CREATE`, `MERGE`, `SET`, `REMOVE`, `DELETE`.

use std::sync::Arc;

use model::{Result, Set, Span, error};

use super::pattern::{NewVariables, wrong_kind};
use super::scope::VariableKind;
use super::tree::{BoundClause, BoundMerge, BoundQuery};
use super::{Binder, labels, unsupported};
use crate::ast::{
    Arrow, DeleteClause, EdgePattern, ExpressionKind as Ast, LabelExpression, LabelExpressionKind, MergeClause, Name,
    NodePattern, PathPattern, RemoveItem, RemoveItemKind, SetItem as AstSetItem, SetItemKind,
};
use crate::plan::conditions::at;
use crate::plan::{Expression, ExpressionKind, NewEdge, NewNode, SetItem, SlotId, SlotKind};

/// Elements that a clause creates. Properties that need something it creates itself start a new operator.
#[derive(Default)]
struct Creation {
    nodes: Vec<NewNode>,
    edges: Vec<NewEdge>,
    /// Labels that are computed are added to what has been created.
    labels: Vec<SetItem>,
    paths: Vec<(SlotId, Expression)>,
    clauses: Vec<BoundClause>,
}

impl Creation {
    fn flush_if_used(&mut self, properties: &Option<Expression>) {
        let mut used = Set::default();
        properties.iter().for_each(|properties| properties.free_slots(&mut used));
        let is_pending = |slot: &SlotId| {
            let pending_node = self.nodes.iter().any(|node| node.slot == *slot);
            pending_node || self.edges.iter().any(|edge| edge.slot == *slot)
        };
        if used.iter().any(is_pending) || self.paths.iter().any(|(slot, _)| used.contains(slot)) {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let (nodes, edges) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.edges));
        if !nodes.is_empty() || !edges.is_empty() {
            self.clauses.push(BoundClause::Create { nodes, edges });
        }
        let labels = std::mem::take(&mut self.labels);
        if !labels.is_empty() {
            self.clauses.push(BoundClause::Set(labels));
        }
        let paths = std::mem::take(&mut self.paths);
        if !paths.is_empty() {
            self.clauses.push(BoundClause::Extend(paths));
        }
    }
}

impl Binder<'_> {
    pub(super) fn create(&mut self, patterns: &[PathPattern], bound: &mut BoundQuery) -> Result<()> {
        self.require_write();
        let mut creation = Creation::default();
        for pattern in patterns {
            if pattern.shortest.is_some() {
                return Err(error!(Semantic, "a shortest path cannot be created").at(pattern.span));
            }
            check_writable(pattern, "CREATE")?;
            self.create_part(pattern, &mut creation)?;
        }
        creation.flush();
        bound.clauses.append(&mut creation.clauses);
        Ok(())
    }

    fn create_part(&mut self, pattern: &PathPattern, creation: &mut Creation) -> Result<()> {
        let mut nodes = vec![self.create_node(&pattern.start, pattern.steps.is_empty(), "CREATE", creation)?];
        let mut edges = Vec::new();
        for step in &pattern.steps {
            let from = nodes[nodes.len() - 1];
            let to = self.create_node(&step.node, false, "CREATE", creation)?;
            let direction = step.edge.arrow;
            if direction == Arrow::Both {
                let error =
                    error!(Semantic::RequiresDirectedRelationship, "a relationship to create needs a direction")
                        .at(step.edge.span);
                return Err(error.with_remedy("write -[…]-> or <-[…]-"));
            }
            edges.push(self.create_edge(&step.edge, from, to, "CREATE", creation)?);
            nodes.push(to);
        }
        if let Some(name) = &pattern.variable {
            self.check_new(name)?;
            let path = self.path_of(pattern, &nodes, &edges);
            let slot = self.slots.named(&name.text, SlotKind::Path);
            self.scope.declare(&name.text, slot, VariableKind::Path);
            creation.paths.push((slot, path));
        }
        Ok(())
    }

    /// A node to create, or one that is bound and stands there by its name only.
    fn create_node(
        &mut self,
        node: &NodePattern,
        stands_alone: bool,
        clause: &str,
        creation: &mut Creation,
    ) -> Result<SlotId> {
        if let Some(name) = &node.variable
            && let Some(variable) = self.scope.find(&name.text)
        {
            if !matches!(variable.kind, VariableKind::Node | VariableKind::Any) {
                return Err(wrong_kind(name, variable.kind, "a node"));
            }
            if stands_alone || node.labels.is_some() || node.properties.is_some() {
                let error = error!(Semantic::VariableAlreadyBound, "variable `{}` is already declared", name.text)
                    .at(name.span);
                let remedy = format!("use ({}) alone at the end of a relationship, or SET what to change", name.text);
                return Err(error.with_remedy(if clause == "CREATE" || !stands_alone {
                    remedy
                } else {
                    "a bound node needs no MERGE".to_string()
                }));
            }
            return Ok(variable.slot);
        }
        if let Some(predicate) = &node.predicate {
            return Err(error!(Semantic, "WHERE cannot stand in the pattern of {clause}").at(predicate.span));
        }
        let (labels, computed) = match &node.labels {
            Some(labels) => self.new_labels(labels, clause)?,
            None => Default::default(),
        };
        let properties = self.new_properties(node.properties.as_ref(), clause)?;
        creation.flush_if_used(&properties);
        let slot = match &node.variable {
            Some(name) => {
                let slot = self.slots.named(&name.text, SlotKind::Node);
                self.scope.declare(&name.text, slot, VariableKind::Node);
                slot
            }
            None => self.slots.unnamed(SlotKind::Node),
        };
        creation.nodes.push(NewNode { slot, labels, properties });
        for labels in computed {
            let node = at(labels.span, ExpressionKind::Slot(slot));
            creation.labels.push(SetItem::AddComputedLabels { node, labels });
        }
        Ok(slot)
    }

    fn create_edge(
        &mut self,
        edge: &EdgePattern,
        left: SlotId,
        right: SlotId,
        clause: &str,
        creation: &mut Creation,
    ) -> Result<SlotId> {
        if let Some(length) = edge.length {
            return Err(error!(Semantic::CreatingVarLength, "a variable-length relationship cannot stand in {clause}")
                .at(length.span));
        }
        if let Some(repetition) = edge.repetition {
            return Err(error!(Semantic, "a repeated path cannot stand in {clause}").at(repetition.span));
        }
        if let Some(predicate) = &edge.predicate {
            return Err(error!(Semantic, "WHERE cannot stand in the pattern of {clause}").at(predicate.span));
        }
        if let Some(name) = &edge.variable {
            self.check_new(name)?;
        }
        let (edge_type, computed_type) = self.new_type(edge, clause)?;
        let properties = self.new_properties(edge.properties.as_ref(), clause)?;
        creation.flush_if_used(&properties);
        let slot = match &edge.variable {
            Some(name) => {
                self.check_new(name)?;
                let slot = self.slots.named(&name.text, SlotKind::Edge);
                self.scope.declare(&name.text, slot, VariableKind::Edge);
                slot
            }
            None => self.slots.unnamed(SlotKind::Edge),
        };
        let (source, target) = if edge.arrow == Arrow::Left { (right, left) } else { (left, right) };
        let span = edge.span;
        creation.edges.push(NewEdge { slot, edge_type, computed_type, source, target, properties, span });
        Ok(slot)
    }

    /// The labels of a new node that are written out, and those that are computed.
    fn new_labels(&mut self, labels: &LabelExpression, clause: &str) -> Result<(Vec<Arc<str>>, Vec<Expression>)> {
        let parts = match &labels.kind {
            LabelExpressionKind::And(parts) => parts.as_slice(),
            _ => std::slice::from_ref(labels),
        };
        let mut names = Vec::with_capacity(parts.len());
        let mut computed = Vec::new();
        for part in parts {
            match &part.kind {
                LabelExpressionKind::Name(name) => names.push(name),
                LabelExpressionKind::Computed { names, any: false } => {
                    computed.push(self.plain_expression(names, "a label")?);
                }
                _ => {
                    let error = error!(Semantic, "a node in {clause} takes plain labels, found a label expression");
                    return Err(error.at(labels.span).with_remedy("write :A:B"));
                }
            }
        }
        Ok((labels::texts(&names), computed))
    }

    /// The type of a new relationship; one that is computed has no name yet.
    fn new_type(&mut self, edge: &EdgePattern, clause: &str) -> Result<(Arc<str>, Option<Expression>)> {
        let found = match edge.types.as_ref().map(|types| &types.kind) {
            None => "none".to_string(),
            Some(LabelExpressionKind::Name(name)) => return Ok((Arc::from(name.text.as_str()), None)),
            Some(LabelExpressionKind::Computed { names, any: false }) => {
                return Ok((Arc::from(""), Some(self.plain_expression(names, "a type")?)));
            }
            Some(LabelExpressionKind::Or(parts)) if parts.iter().all(|part| part.name().is_some()) => {
                parts.len().to_string()
            }
            Some(_) => {
                let span = edge.types.as_ref().map_or(edge.span, |types| types.span);
                return Err(unsupported(&format!("a type expression in {clause}"), span));
            }
        };
        let message = format!("a relationship in {clause} needs exactly one type, found {found}");
        let error = error!(Semantic::NoSingleRelationshipType, "{message}");
        let span: Span = edge.types.as_ref().map_or(edge.span, |types| types.span);
        Err(error.at(span).with_remedy("write -[:TYPE]->"))
    }

    fn new_properties(
        &mut self,
        properties: Option<&crate::ast::Expression>,
        clause: &str,
    ) -> Result<Option<Expression>> {
        let Some(properties) = properties else { return Ok(None) };
        if clause == "MERGE" && !matches!(properties.kind, Ast::Map(_)) {
            let error = error!(
                Semantic::InvalidParameterUse,
                "expected a map literal: a parameter cannot stand for the properties to merge"
            );
            return Err(error.at(properties.span).with_remedy("name the properties, as {key: $parameter.key}"));
        }
        self.plain_expression(properties, "a pattern").map(Some)
    }

    pub(super) fn merge(&mut self, merge: &MergeClause, bound: &mut BoundQuery) -> Result<()> {
        self.require_write();
        let pattern = &merge.pattern;
        if pattern.shortest.is_some() {
            return Err(error!(Semantic, "a shortest path cannot be merged").at(pattern.span));
        }
        check_writable(pattern, "MERGE")?;
        let before = self.scope.clone();
        let mut creation = Creation::default();
        let mut nodes = vec![self.create_node(&pattern.start, pattern.steps.is_empty(), "MERGE", &mut creation)?];
        let mut edges = Vec::new();
        for step in &pattern.steps {
            let from = nodes[nodes.len() - 1];
            let to = self.create_node(&step.node, false, "MERGE", &mut creation)?;
            edges.push(self.create_edge(&step.edge, from, to, "MERGE", &mut creation)?);
            nodes.push(to);
        }
        if !creation.clauses.is_empty() {
            let error = error!(Semantic, "the properties of a MERGE pattern cannot use what the same pattern makes");
            return Err(error.at(pattern.span).with_remedy("merge the nodes first, in a MERGE of their own"));
        }
        let path = self.merge_path(pattern, &nodes, &edges)?;
        let graph = self.merge_graph(pattern, &nodes, &edges, &creation, before)?;
        let mut on_create = std::mem::take(&mut creation.labels);
        on_create.append(&mut self.set_items(&merge.on_create)?);
        let on_match = self.set_items(&merge.on_match)?;
        let Creation { nodes, edges, .. } = creation;
        bound.clauses.push(BoundClause::Merge(BoundMerge { graph, nodes, edges, path, on_create, on_match }));
        Ok(())
    }

    fn merge_path(
        &mut self,
        pattern: &PathPattern,
        nodes: &[SlotId],
        edges: &[SlotId],
    ) -> Result<Option<(SlotId, Expression)>> {
        let Some(name) = &pattern.variable else { return Ok(None) };
        self.check_new(name)?;
        let path = self.path_of(pattern, nodes, edges);
        let slot = self.slots.named(&name.text, SlotKind::Path);
        self.scope.declare(&name.text, slot, VariableKind::Path);
        Ok(Some((slot, path)))
    }

    /// The graph that finds what a `MERGE` would create: the same slots, bound as a `MATCH` would bind them.
    fn merge_graph(
        &mut self,
        pattern: &PathPattern,
        nodes: &[SlotId],
        edges: &[SlotId],
        creation: &Creation,
        before: super::scope::Scope,
    ) -> Result<super::tree::QueryGraph> {
        let after = std::mem::replace(&mut self.scope, before);
        let mut unnamed = pattern.clone();
        unnamed.variable = None;
        let matched = self.pattern(std::slice::from_ref(&unnamed), None, NewVariables::Declared);
        self.scope = after;
        let mut graph = matched?;
        // The pattern was bound with slots of its own; they become those of what is created.
        let found: Vec<SlotId> = graph_nodes_in_order(&graph, pattern);
        let mut pairs: Vec<(SlotId, SlotId)> = found.into_iter().zip(nodes.iter().copied()).collect();
        pairs.extend(graph.edges.iter().map(|edge| edge.slot).zip(edges.iter().copied()));
        pairs.retain(|(from, to)| from != to);
        debug_assert!(pairs.len() <= creation.nodes.len() + creation.edges.len() + nodes.len());
        rename(&mut graph, &pairs);
        Ok(graph)
    }

    pub(super) fn set_items(&mut self, items: &[AstSetItem]) -> Result<Vec<SetItem>> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            bound.push(match &item.kind {
                SetItemKind::Property { target, key, value } => SetItem::Property {
                    object: self.set_target(target)?,
                    key: Arc::from(key.text.as_str()),
                    value: self.plain_expression(value, "SET")?,
                },
                SetItemKind::Replace { variable, value } => {
                    SetItem::Replace { object: self.entity(variable)?, value: self.plain_expression(value, "SET")? }
                }
                SetItemKind::Merge { variable, value } => {
                    SetItem::Merge { object: self.entity(variable)?, value: self.plain_expression(value, "SET")? }
                }
                SetItemKind::Labels { variable, labels } => {
                    SetItem::AddLabels { node: self.labelled(variable)?, labels: label_texts(labels) }
                }
                SetItemKind::ComputedLabels { variable, labels } => SetItem::AddComputedLabels {
                    node: self.labelled(variable)?,
                    labels: self.plain_expression(labels, "SET")?,
                },
                SetItemKind::ComputedProperty { target, key, value } => {
                    let object = self.set_target(target)?;
                    let key = self.plain_expression(key, "SET")?;
                    SetItem::Merge { object, value: map_entry(key, self.plain_expression(value, "SET")?) }
                }
            });
        }
        Ok(bound)
    }

    pub(super) fn remove_items(&mut self, items: &[RemoveItem]) -> Result<Vec<SetItem>> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            bound.push(match &item.kind {
                RemoveItemKind::Property { target, key } => SetItem::Property {
                    object: self.set_target(target)?,
                    key: Arc::from(key.text.as_str()),
                    value: at(item.span, ExpressionKind::Literal(model::Value::Null)),
                },
                RemoveItemKind::Labels { variable, labels } => {
                    SetItem::RemoveLabels { node: self.labelled(variable)?, labels: label_texts(labels) }
                }
                RemoveItemKind::ComputedLabels { variable, labels } => SetItem::RemoveComputedLabels {
                    node: self.labelled(variable)?,
                    labels: self.plain_expression(labels, "REMOVE")?,
                },
                RemoveItemKind::ComputedProperty { target, key } => {
                    let object = self.set_target(target)?;
                    let key = self.plain_expression(key, "REMOVE")?;
                    SetItem::Merge {
                        object,
                        value: map_entry(key, at(item.span, ExpressionKind::Literal(model::Value::Null))),
                    }
                }
            });
        }
        Ok(bound)
    }

    fn set_target(&mut self, target: &crate::ast::Expression) -> Result<Expression> {
        let bound = self.plain_expression(target, "SET")?;
        let kind = self.scope.kind_of(&bound);
        if matches!(kind, VariableKind::Value | VariableKind::Path | VariableKind::EdgeList) {
            let error = error!(
                Semantic::InvalidArgumentType,
                "expected a node or relationship to change, found {}",
                kind.describe()
            );
            return Err(error.at(target.span));
        }
        Ok(bound)
    }

    fn entity(&mut self, name: &Name) -> Result<Expression> {
        let variable = self.scope.get(&name.text, name.span)?;
        match variable.kind {
            VariableKind::Value | VariableKind::Path | VariableKind::EdgeList => {
                Err(wrong_kind(name, variable.kind, "a node or relationship"))
            }
            _ => Ok(at(name.span, ExpressionKind::Slot(variable.slot))),
        }
    }

    fn labelled(&mut self, name: &Name) -> Result<Expression> {
        let variable = self.scope.get(&name.text, name.span)?;
        match variable.kind {
            VariableKind::Node | VariableKind::Any => Ok(at(name.span, ExpressionKind::Slot(variable.slot))),
            kind => Err(wrong_kind(name, kind, "a node")),
        }
    }

    pub(super) fn delete(&mut self, delete: &DeleteClause, bound: &mut BoundQuery) -> Result<()> {
        self.require_write();
        let mut expressions = Vec::with_capacity(delete.expressions.len());
        for expression in &delete.expressions {
            if matches!(expression.kind, Ast::HasLabels { .. }) {
                let error =
                    error!(Semantic::InvalidDelete, "DELETE takes nodes, relationships and paths, found a label");
                return Err(error.at(expression.span).with_remedy("use REMOVE to take a label from a node"));
            }
            let value = self.plain_expression(expression, "DELETE")?;
            if self.scope.kind_of(&value) == VariableKind::Value {
                let error = error!(
                    Semantic::InvalidArgumentType,
                    "DELETE takes nodes, relationships and paths, found another value"
                );
                return Err(error.at(expression.span));
            }
            expressions.push(value);
        }
        bound.clauses.push(BoundClause::Delete { expressions, detach: delete.detach });
        Ok(())
    }
}

/// The map of one entry.
fn map_entry(key: Expression, value: Expression) -> Expression {
    let span = key.span.to(value.span);
    at(span, ExpressionKind::Function { name: Arc::from("mapEntry"), arguments: vec![key, value] })
}

/// A path that is made says all of it: nothing is selected.
fn check_writable(pattern: &PathPattern, clause: &str) -> Result<()> {
    let refuse = |what: &str, span: Span| Err(error!(Semantic, "{what} cannot stand in {clause}").at(span));
    match (&pattern.selector, pattern.mode, &pattern.predicate) {
        (Some(selector), ..) => refuse("a path selector", selector.span),
        (_, Some(_), _) => refuse("a path mode", pattern.span),
        (.., Some(predicate)) => refuse("WHERE", predicate.span),
        _ => Ok(()),
    }
}

fn label_texts(labels: &[Name]) -> Vec<Arc<str>> {
    labels::texts(&labels.iter().collect::<Vec<_>>())
}

/// The slots of a part's nodes in the order written.
fn graph_nodes_in_order(graph: &super::tree::QueryGraph, pattern: &PathPattern) -> Vec<SlotId> {
    if pattern.steps.is_empty() {
        return graph.nodes.iter().map(|node| node.slot).collect();
    }
    let mut slots = vec![graph.edges[0].left];
    slots.extend(graph.edges.iter().map(|edge| edge.right));
    slots
}

/// Puts other slots in the place of those of a graph.
fn rename(graph: &mut super::tree::QueryGraph, pairs: &[(SlotId, SlotId)]) {
    let renamed = |slot: SlotId| pairs.iter().find(|(from, _)| *from == slot).map_or(slot, |(_, to)| *to);
    graph.nodes.iter_mut().for_each(|node| node.slot = renamed(node.slot));
    for edge in &mut graph.edges {
        edge.slot = renamed(edge.slot);
        edge.left = renamed(edge.left);
        edge.right = renamed(edge.right);
    }
    for predicate in &mut graph.predicates {
        pairs.iter().for_each(|(from, to)| crate::plan::conditions::replace_slot(predicate, *from, *to));
    }
}
