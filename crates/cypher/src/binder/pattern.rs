//! Patterns of `MATCH`, `MERGE` and subqueries as graphs of nodes, edges and predicates.
//!
//! All variables of a clause are declared before its property maps and predicates are bound, so these may name
//! any of them.

use std::sync::Arc;

use model::{Direction, Result, Span, error};

use super::expression::at;
use super::scope::VariableKind;
use super::tree::{EdgeLength, GraphEdge, QueryGraph};
use super::{Binder, labels, unsupported};
use crate::ast::{self, Arrow, EdgePattern, ExpressionKind as Ast, Name, NodePattern, PathPattern};
use crate::plan::{BinaryOperator, EdgeFilter, Expression, ExpressionKind, PathStep, SlotId, SlotKind};

/// Whether a pattern may declare variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewVariables {
    Declared,
    Refused,
}

/// The slots of one part of a pattern, in the order written.
struct PartSlots {
    nodes: Vec<SlotId>,
    edges: Vec<SlotId>,
}

impl Binder<'_> {
    pub(super) fn match_clause(&mut self, clause: &ast::MatchClause) -> Result<QueryGraph> {
        self.pattern(&clause.patterns, clause.predicate.as_ref(), NewVariables::Declared)
    }

    /// Binds the parts of one pattern and its `WHERE`.
    pub(super) fn pattern(
        &mut self,
        patterns: &[PathPattern],
        predicate: Option<&ast::Expression>,
        new: NewVariables,
    ) -> Result<QueryGraph> {
        let clause = self.next_clause;
        self.next_clause += 1;
        let mut seen_edges = Vec::new();
        let mut parts = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            parts.push(self.declare_part(pattern, new, &mut seen_edges)?);
        }
        let mut graph = QueryGraph::default();
        for (pattern, slots) in patterns.iter().zip(&parts) {
            self.bind_path_variable(pattern, slots, &mut graph)?;
        }
        for (pattern, slots) in patterns.iter().zip(&parts) {
            self.bind_part(pattern, slots, clause, &mut graph)?;
        }
        if let Some(predicate) = predicate {
            let bound = self.plain_predicate(predicate, "WHERE")?;
            add_conjuncts(bound, &mut graph.predicates);
        }
        move_labels_to_nodes(&mut graph);
        self.filter_shortest_paths(&mut graph)?;
        Ok(graph)
    }

    fn declare_part(
        &mut self,
        pattern: &PathPattern,
        new: NewVariables,
        seen_edges: &mut Vec<SlotId>,
    ) -> Result<PartSlots> {
        let mut slots = PartSlots { nodes: vec![self.declare_node(&pattern.start, new)?], edges: Vec::new() };
        for step in &pattern.steps {
            let is_list = step.edge.length.is_some() || pattern.shortest.is_some();
            slots.edges.push(self.declare_edge(&step.edge, is_list, new, seen_edges)?);
            slots.nodes.push(self.declare_node(&step.node, new)?);
        }
        Ok(slots)
    }

    fn declare_node(&mut self, node: &NodePattern, new: NewVariables) -> Result<SlotId> {
        let Some(name) = &node.variable else { return Ok(self.slots.unnamed(SlotKind::Node)) };
        match self.scope.find(&name.text) {
            Some(variable) if matches!(variable.kind, VariableKind::Node | VariableKind::Any) => Ok(variable.slot),
            Some(variable) => Err(wrong_kind(name, variable.kind, "a node")),
            None if new == NewVariables::Refused => self.scope.get(&name.text, name.span).map(|known| known.slot),
            None => {
                let slot = self.slots.named(&name.text, SlotKind::Node);
                self.scope.declare(&name.text, slot, VariableKind::Node);
                Ok(slot)
            }
        }
    }

    fn declare_edge(
        &mut self,
        edge: &EdgePattern,
        is_list: bool,
        new: NewVariables,
        seen: &mut Vec<SlotId>,
    ) -> Result<SlotId> {
        let kind = if is_list { VariableKind::EdgeList } else { VariableKind::Edge };
        let Some(name) = &edge.variable else { return Ok(self.slots.unnamed(kind.slot_kind())) };
        let slot = match self.scope.find(&name.text) {
            Some(variable) if seen.contains(&variable.slot) => {
                let error = error!(
                    Semantic::RelationshipUniquenessViolation,
                    "relationship variable `{}` is used twice in one pattern", name.text
                );
                return Err(error.at(name.span).with_remedy("a relationship is matched once; use another variable"));
            }
            Some(_) if is_list => {
                let error = unsupported("a variable-length relationship that is already bound", name.span);
                return Err(error.with_remedy("match it under a new name and compare the two"));
            }
            Some(variable) if matches!(variable.kind, VariableKind::Edge | VariableKind::Any) => variable.slot,
            Some(variable) => return Err(wrong_kind(name, variable.kind, "a relationship")),
            None if new == NewVariables::Refused => {
                return self.scope.get(&name.text, name.span).map(|known| known.slot);
            }
            None => {
                let slot = self.slots.named(&name.text, kind.slot_kind());
                self.scope.declare(&name.text, slot, kind);
                slot
            }
        };
        seen.push(slot);
        Ok(slot)
    }

    fn bind_path_variable(&mut self, pattern: &PathPattern, slots: &PartSlots, graph: &mut QueryGraph) -> Result<()> {
        let Some(name) = &pattern.variable else { return Ok(()) };
        self.check_new(name)?;
        let path = self.path_of(pattern, &slots.nodes, &slots.edges);
        let slot = self.slots.named(&name.text, SlotKind::Path);
        self.scope.declare(&name.text, slot, VariableKind::Path);
        graph.paths.push((slot, path));
        Ok(())
    }

    /// The path over the slots of a pattern's part.
    pub(super) fn path_of(&self, pattern: &PathPattern, nodes: &[SlotId], edges: &[SlotId]) -> Expression {
        let step = |(step, &slot): (&ast::PatternStep, &SlotId)| {
            let is_list = step.edge.length.is_some() || pattern.shortest.is_some();
            if is_list { PathStep::Edges(slot) } else { PathStep::Edge(slot) }
        };
        let steps = pattern.steps.iter().zip(edges).map(step).collect();
        at(pattern.span, ExpressionKind::Path { start: nodes[0], steps })
    }

    fn bind_part(
        &mut self,
        pattern: &PathPattern,
        slots: &PartSlots,
        clause: u32,
        graph: &mut QueryGraph,
    ) -> Result<()> {
        self.bind_node(&pattern.start, slots.nodes[0], graph)?;
        for (index, step) in pattern.steps.iter().enumerate() {
            self.bind_node(&step.node, slots.nodes[index + 1], graph)?;
            let mut edge = GraphEdge {
                slot: slots.edges[index],
                left: slots.nodes[index],
                right: slots.nodes[index + 1],
                direction: direction(step.edge.arrow),
                types: Vec::new(),
                length: edge_length(&step.edge)?,
                filter: None,
                clause,
                span: step.edge.span,
            };
            if let Some(shortest) = pattern.shortest {
                edge.length = shortest_length(pattern, shortest, edge.length)?;
            }
            self.bind_edge(&step.edge, &mut edge, graph)?;
            graph.edges.push(edge);
        }
        if pattern.shortest.is_some() && pattern.steps.len() != 1 {
            let error = error!(Semantic, "a shortest path has exactly one relationship, found {}", pattern.steps.len());
            return Err(error.at(pattern.span));
        }
        Ok(())
    }

    fn bind_node(&mut self, node: &NodePattern, slot: SlotId, graph: &mut QueryGraph) -> Result<()> {
        let object = at(node.span, ExpressionKind::Slot(slot));
        let names = node.labels.as_ref().and_then(|labels| labels.conjunction());
        if let Some(names) = &names {
            self.hint_names(names, VariableKind::Node);
        }
        graph.add_node(slot, names.as_ref().map_or_else(Vec::new, |names| labels::texts(names)), node.span);
        if let Some(expression) = &node.labels
            && names.is_none()
        {
            let predicate = self.label_predicate(&object, expression)?;
            add_conjuncts(predicate, &mut graph.predicates);
        }
        if let Some(properties) = &node.properties {
            let mut predicates = self.property_predicates(&object, properties)?;
            graph.predicates.append(&mut predicates);
        }
        if let Some(predicate) = &node.predicate {
            let predicate = self.plain_predicate(predicate, "WHERE")?;
            add_conjuncts(predicate, &mut graph.predicates);
        }
        Ok(())
    }

    fn bind_edge(&mut self, pattern: &EdgePattern, edge: &mut GraphEdge, graph: &mut QueryGraph) -> Result<()> {
        let is_list = edge.length != EdgeLength::One;
        // The predicates of a path of edges are about each edge of it, which gets a slot of its own.
        let element = if is_list { self.slots.unnamed(SlotKind::Edge) } else { edge.slot };
        let object = at(pattern.span, ExpressionKind::Slot(element));
        let mut predicates = Vec::new();
        if let Some(types) = &pattern.types {
            match types.alternatives() {
                Some(names) => {
                    self.hint_names(&names, VariableKind::Edge);
                    edge.types = labels::texts(&names);
                }
                None => predicates.push(self.label_predicate(&object, types)?),
            }
        }
        if let Some(properties) = &pattern.properties {
            predicates.append(&mut self.property_predicates(&object, properties)?);
        }
        if let Some(predicate) = &pattern.predicate {
            if is_list {
                let error = unsupported("WHERE inside a variable-length relationship", predicate.span);
                return Err(error.with_remedy("write WHERE all(r IN relationships WHERE …) after the pattern"));
            }
            let predicate = self.plain_predicate(predicate, "WHERE")?;
            add_conjuncts(predicate, &mut predicates);
        }
        if is_list {
            edge.filter = conjunction(predicates).map(|predicate| EdgeFilter { slot: element, predicate });
        } else {
            graph.predicates.append(&mut predicates);
        }
        Ok(())
    }

    /// A property map of a pattern as equalities.
    fn property_predicates(&mut self, object: &Expression, properties: &ast::Expression) -> Result<Vec<Expression>> {
        let Ast::Map(entries) = &properties.kind else {
            let error = error!(
                Semantic::InvalidParameterUse,
                "expected a map literal: a parameter cannot stand for the properties to match"
            );
            return Err(error.at(properties.span).with_remedy("name the properties, as {key: $parameter.key}"));
        };
        let mut predicates = Vec::with_capacity(entries.len());
        for entry in entries {
            self.hint_property(&entry.key.text, entry.key.span);
            let value = self.plain_expression(&entry.value, "a pattern")?;
            let key: Arc<str> = Arc::from(entry.key.text.as_str());
            let span = entry.key.span.to(entry.value.span);
            let property = at(entry.key.span, ExpressionKind::Property { object: Box::new(object.clone()), key });
            let operator = BinaryOperator::Equal;
            let (left, right) = (Box::new(property), Box::new(value));
            predicates.push(at(span, ExpressionKind::Binary { operator, left, right }));
        }
        Ok(predicates)
    }
}

pub(super) fn wrong_kind(name: &Name, found: VariableKind, expected: &str) -> model::Error {
    let message = format!("variable `{}` is {}, but {expected} is expected here", name.text, found.describe());
    error!(Semantic::VariableTypeConflict, "{message}").at(name.span).with_remedy("use another variable")
}

fn direction(arrow: Arrow) -> Direction {
    match arrow {
        Arrow::Right => Direction::Out,
        Arrow::Left => Direction::In,
        Arrow::Both => Direction::Both,
    }
}

fn edge_length(edge: &EdgePattern) -> Result<EdgeLength> {
    let Some(length) = edge.length else { return Ok(EdgeLength::One) };
    let bound = |bound: u64| {
        let too_long = || error!(Semantic, "expected a path length below {}, found {bound}", u32::MAX).at(length.span);
        u32::try_from(bound).map_err(|_| too_long())
    };
    let min = length.min.map_or(Ok(1), bound)?;
    let max = length.max.map(bound).transpose()?;
    Ok(EdgeLength::Variable { min, max })
}

fn shortest_length(pattern: &PathPattern, shortest: ast::Shortest, length: EdgeLength) -> Result<EdgeLength> {
    let (min, max) = match length {
        EdgeLength::Variable { min, max } | EdgeLength::Shortest { min, max, .. } => (min, max),
        EdgeLength::One => (1, Some(1)),
    };
    if min > 1 {
        let error = error!(Semantic, "a shortest path has at least 0 or 1 relationships, found at least {min}");
        return Err(error.at(pattern.span).with_remedy("start its length at 0 or 1"));
    }
    Ok(EdgeLength::Shortest { min, max, all: shortest == ast::Shortest::All })
}

/// Adds an expression to a list of which all must be true; conjunctions are taken apart.
pub(crate) fn add_conjuncts(expression: Expression, conjuncts: &mut Vec<Expression>) {
    match expression.kind {
        ExpressionKind::And(items) => items.into_iter().for_each(|item| add_conjuncts(item, conjuncts)),
        _ => conjuncts.push(expression),
    }
}

/// The conjunction of expressions, or nothing.
pub(crate) fn conjunction(mut expressions: Vec<Expression>) -> Option<Expression> {
    if expressions.len() < 2 {
        return expressions.pop();
    }
    let span = expressions.iter().map(|expression| expression.span).reduce(Span::to).unwrap_or_default();
    Some(at(span, ExpressionKind::And(expressions)))
}

/// `WHERE n:Label` says the same as a label in the pattern.
fn move_labels_to_nodes(graph: &mut QueryGraph) {
    let predicates = std::mem::take(&mut graph.predicates);
    for predicate in predicates {
        if let ExpressionKind::HasLabels { object, labels } = &predicate.kind
            && let ExpressionKind::Slot(slot) = object.kind
            && graph.nodes.iter().any(|node| node.slot == slot)
        {
            graph.add_node(slot, labels.clone(), predicate.span);
        } else {
            graph.predicates.push(predicate);
        }
    }
}
