//! Patterns of `MATCH`, `MERGE` and subqueries as graphs of nodes, edges and predicates.
//!
//! All variables of a clause are declared before its property maps and predicates are bound, so these may name
//! any of them.

use crate::plan::conditions::add_conjuncts;
use crate::plan::conditions::conjunction;
use std::sync::Arc;

use model::{Direction, Result, error};

use super::repeat::{self, GroupSlots, ListVariable, Stretch};
use super::scope::{Scope, VariableKind};
use super::search::{self, SearchSlots};
use super::tree::{EdgeLength, GraphEdge, QueryGraph};
use super::{Binder, labels, unsupported};
use crate::ast::{
    self, Arrow, EdgePattern, ExpressionKind as Ast, MatchMode, Name, NodePattern, PathMode, PathPattern,
};
use crate::ast::{PathSelector, SelectorKind};
use crate::plan::conditions::add_filter;
use crate::plan::conditions::at;
use crate::plan::{BinaryOperator, EdgeFilter, Expression, ExpressionKind, PathStep, SlotId, SlotKind};

/// Permission of a pattern to declare variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewVariables {
    Declared,
    Refused,
}

/// The slots of one part of a pattern, in the order written.
struct PartSlots {
    nodes: Vec<SlotId>,
    edges: Vec<SlotId>,
    /// For each step, its group, if it is one.
    groups: Vec<Option<(GroupSlots, Vec<ListVariable>)>>,
    /// If the path is searched as a whole; then nodes are its ends, and edges the list of all of them.
    search: Option<SearchSlots>,
}

/// Properties that all parts of one pattern share.
struct PatternContext {
    /// Relationships with the same number differ.
    clause: u32,
    /// True if edges may come twice.
    repeats: bool,
    /// The variables that were there before, if there are repeated parts, which see no others.
    base: Scope,
}

impl Binder<'_> {
    pub(super) fn match_clause(&mut self, clause: &ast::MatchClause) -> Result<QueryGraph> {
        let repeats = clause.mode == Some(MatchMode::Repeatable);
        let mut graph =
            self.pattern_in_mode(&clause.patterns, clause.predicate.as_ref(), NewVariables::Declared, repeats)?;
        for hint in &clause.hints {
            graph.hints.extend(self.planner_hint(hint)?);
        }
        Ok(graph)
    }

    /// Binds the parts of one pattern and its `WHERE`.
    pub(super) fn pattern(
        &mut self,
        patterns: &[PathPattern],
        predicate: Option<&ast::Expression>,
        new: NewVariables,
    ) -> Result<QueryGraph> {
        self.pattern_in_mode(patterns, predicate, new, false)
    }

    fn pattern_in_mode(
        &mut self,
        patterns: &[PathPattern],
        predicate: Option<&ast::Expression>,
        new: NewVariables,
        repeats: bool,
    ) -> Result<QueryGraph> {
        let context = PatternContext { clause: self.next_clause, repeats, base: self.scope.clone() };
        self.next_clause += 1;
        search::check_alone(patterns)?;
        let mut seen_edges = Vec::new();
        let mut parts = Vec::with_capacity(patterns.len());
        for (index, pattern) in patterns.iter().enumerate() {
            check_path_names(&patterns[..index], pattern)?;
            parts.push(self.declare_part(pattern, new, &mut seen_edges)?);
        }
        let mut graph = QueryGraph::default();
        for (pattern, slots) in patterns.iter().zip(&parts) {
            self.bind_path_variable(pattern, slots, &mut graph)?;
        }
        for (pattern, slots) in patterns.iter().zip(&parts) {
            self.bind_part(pattern, slots, &context, &mut graph)?;
        }
        self.bind_known_lists(&mut graph);
        if let Some(predicate) = predicate {
            let bound = self.plain_predicate(predicate, "WHERE")?;
            add_conjuncts(bound, &mut graph.predicates);
        }
        move_labels_to_nodes(&mut graph);
        self.filter_shortest_paths(&mut graph)?;
        Ok(graph)
    }

    /// Paths over relationships that are bound already go over no others, and over these in their order.
    fn bind_known_lists(&mut self, graph: &mut QueryGraph) {
        for (path, list, span) in std::mem::take(&mut self.bound_lists) {
            let slot = |slot| Box::new(at(span, ExpressionKind::Slot(slot)));
            let binary = |operator, left, right| at(span, ExpressionKind::Binary { operator, left, right });
            graph.predicates.push(binary(BinaryOperator::Equal, slot(path), slot(list)));
            let element = self.slots.unnamed(SlotKind::Edge);
            let predicate = binary(BinaryOperator::In, slot(element), slot(list));
            if let Some(edge) = graph.edges.iter_mut().find(|edge| edge.slot == path) {
                add_filter(&mut edge.filter, EdgeFilter { slot: element, from: None, to: None, predicate });
            }
        }
    }

    fn declare_part(
        &mut self,
        pattern: &PathPattern,
        new: NewVariables,
        seen_edges: &mut Vec<SlotId>,
    ) -> Result<PartSlots> {
        let nodes = vec![self.declare_node(&pattern.start, new)?];
        let mut slots = PartSlots { nodes, edges: Vec::new(), groups: Vec::new(), search: None };
        if let (Some(selector), Some(last)) = (pattern.selector, pattern.steps.last())
            && is_selected(pattern)
            && simple_selected_length(pattern, selector)?.is_none()
        {
            if new == NewVariables::Refused {
                let error = unsupported("a path selector in a pattern that is a value", selector.span);
                return Err(error.with_remedy("use EXISTS { MATCH … } or shortestPath"));
            }
            let search = self.declare_search(pattern, slots.nodes[0], seen_edges)?;
            slots.nodes.push(self.declare_node(&last.node, new)?);
            slots.edges.push(search.edges);
            slots.search = Some(search);
            return Ok(slots);
        }
        for step in &pattern.steps {
            let group = match &step.edge.group {
                Some(group) if new == NewVariables::Refused => {
                    let error = unsupported("a repeated path in a pattern that is a value", group.span);
                    return Err(error.with_remedy("use EXISTS { MATCH … }"));
                }
                Some(group) => {
                    slots.edges.push(self.slots.unnamed(SlotKind::EdgeList));
                    Some(self.declare_group(group)?)
                }
                None => {
                    let is_list = is_list(pattern, &step.edge);
                    slots.edges.push(self.declare_edge(&step.edge, is_list, new, seen_edges)?);
                    None
                }
            };
            slots.groups.push(group);
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
            Some(variable) if is_list => {
                let known = self.slots.known_type(variable.slot).map(|known| known.name);
                if !matches!(variable.kind, VariableKind::EdgeList | VariableKind::Value | VariableKind::Any)
                    || known.is_some_and(|known| known != "LIST")
                {
                    return Err(wrong_kind(name, variable.kind, "a list of relationships"));
                }
                let path = self.slots.unnamed(kind.slot_kind());
                self.bound_lists.push((path, variable.slot, name.span));
                path
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
        if let Some(search) = &slots.search {
            graph.paths.extend(self.search_variables(search));
        }
        for (index, (step, group)) in pattern.steps.iter().zip(&slots.groups).enumerate() {
            let Some((group, lists)) = group else { continue };
            let (start, edges) = (slots.nodes[index], slots.edges[index]);
            let stretch = Stretch { start, edges, offset: None, count: None, step: group.edges.len() };
            graph.paths.extend(lists.iter().map(|list| (list.slot, stretch.list(*list, step.edge.span))));
        }
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
        if is_selected(pattern) || pattern.steps.len() > edges.len() {
            let steps = edges.iter().map(|&edges| PathStep::Edges(edges)).collect();
            return at(pattern.span, ExpressionKind::Path { start: nodes[0], steps });
        }
        let step = |(step, &slot): (&ast::PatternStep, &SlotId)| {
            if is_list(pattern, &step.edge) { PathStep::Edges(slot) } else { PathStep::Edge(slot) }
        };
        let steps = pattern.steps.iter().zip(edges).map(step).collect();
        at(pattern.span, ExpressionKind::Path { start: nodes[0], steps })
    }

    fn bind_part(
        &mut self,
        pattern: &PathPattern,
        slots: &PartSlots,
        context: &PatternContext,
        graph: &mut QueryGraph,
    ) -> Result<()> {
        self.bind_node(&pattern.start, slots.nodes[0], graph)?;
        let mode = pattern.mode.filter(|_| !context.repeats);
        if let Some(search) = &slots.search {
            return self.bind_searched(pattern, slots, search, context, graph);
        }
        let simple_length = match pattern.selector {
            Some(selector) => simple_selected_length(pattern, selector)?,
            None => None,
        };
        let repeats = context.repeats || mode == Some(PathMode::Walk);
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
                clause: context.clause,
                repeats,
                search: None,
                is_selected: false,
                span: step.edge.span,
            };
            if let Some(shortest) = pattern.shortest {
                edge.length = shortest_length(pattern, shortest, edge.length)?;
            }
            if repeats && simple_length.is_none() {
                check_bounded(&edge)?;
                // Nothing need differ from it.
                edge.clause = self.next_clause;
                self.next_clause += 1;
            }
            match (&step.edge.group, &slots.groups[index]) {
                (Some(group), Some((group_slots, _))) => self.bind_group(group, group_slots, context, &mut edge)?,
                _ => self.bind_edge(&step.edge, &mut edge, &context.base, graph)?,
            }
            if let Some(length) = simple_length {
                edge.length = length;
                edge.is_selected = true;
            }
            graph.edges.push(edge);
        }
        if pattern.shortest.is_some() && pattern.steps.len() != 1 {
            let error = error!(Semantic, "a shortest path has exactly one relationship, found {}", pattern.steps.len());
            return Err(error.at(pattern.span));
        }
        if let Some(predicate) = &pattern.predicate {
            add_conjuncts(self.plain_predicate(predicate, "WHERE")?, &mut graph.predicates);
        }
        if let Some(name) = mode.and_then(mode_test) {
            let path = self.path_of(pattern, &slots.nodes, &slots.edges);
            graph.predicates.push(repeat::call(name, vec![path], pattern.span));
        }
        Ok(())
    }

    /// A path that is searched as a whole is one edge from its first node to its last.
    fn bind_searched(
        &mut self,
        pattern: &PathPattern,
        slots: &PartSlots,
        search: &SearchSlots,
        context: &PatternContext,
        graph: &mut QueryGraph,
    ) -> Result<()> {
        let Some(last) = pattern.steps.last() else { return Ok(()) };
        self.bind_node(&last.node, slots.nodes[1], graph)?;
        let mut edge = GraphEdge {
            slot: search.edges,
            left: slots.nodes[0],
            right: slots.nodes[1],
            direction: Direction::Both,
            types: Vec::new(),
            length: EdgeLength::One,
            filter: None,
            clause: context.clause,
            repeats: false,
            search: None,
            is_selected: false,
            span: pattern.span,
        };
        let path = self.path_of(pattern, &slots.nodes, &slots.edges);
        let named = graph.paths.iter().filter(|(_, known)| same_path(known, &path)).cloned().collect::<Vec<_>>();
        let repeated;
        let pattern = match context.repeats {
            true => {
                repeated = PathPattern { mode: Some(PathMode::Walk), ..pattern.clone() };
                &repeated
            }
            false => pattern,
        };
        self.bind_selected(pattern, search, &named, &context.base, &mut edge)?;
        graph.edges.push(edge);
        Ok(())
    }

    /// A group of one edge is a path of edges, each of which is tested with the nodes at its ends.
    fn bind_group(
        &mut self,
        group: &ast::PathGroup,
        slots: &GroupSlots,
        context: &PatternContext,
        edge: &mut GraphEdge,
    ) -> Result<()> {
        let ([slot], [from, to]) = (slots.edges.as_slice(), slots.nodes.as_slice()) else {
            return self.bind_repeated(group, slots, &context.base, edge);
        };
        let (predicates, mut types) = self.group_predicates(group, slots, &context.base)?;
        edge.direction = direction(group.steps[0].edge.arrow);
        edge.types = types.swap_remove(0);
        let (slot, from, to) = (*slot, Some(*from), Some(*to));
        edge.filter = conjunction(predicates).map(|predicate| EdgeFilter { slot, from, to, predicate });
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

    fn bind_edge(
        &mut self,
        pattern: &EdgePattern,
        edge: &mut GraphEdge,
        base: &Scope,
        graph: &mut QueryGraph,
    ) -> Result<()> {
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
                None => {
                    let possible = labels::possible_types(types).unwrap_or_default();
                    edge.types = labels::texts(&possible);
                    if !matches!(types.kind, ast::LabelExpressionKind::Any) {
                        predicates.push(self.label_predicate(&object, types)?);
                    }
                }
            }
        }
        if let Some(properties) = &pattern.properties {
            predicates.append(&mut self.property_predicates(&object, properties)?);
        }
        if let Some(predicate) = &pattern.predicate {
            if is_list {
                self.each_edge_predicate(pattern, predicate, element, base, &mut predicates)?;
            } else {
                let predicate = self.plain_predicate(predicate, "WHERE")?;
                add_conjuncts(predicate, &mut predicates);
            }
        }
        if is_list {
            edge.filter =
                conjunction(predicates).map(|predicate| EdgeFilter { slot: element, from: None, to: None, predicate });
        } else {
            graph.predicates.append(&mut predicates);
        }
        Ok(())
    }

    /// A property map of a pattern as equalities.
    pub(super) fn property_predicates(
        &mut self,
        object: &Expression,
        properties: &ast::Expression,
    ) -> Result<Vec<Expression>> {
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

/// Fails if a part of a pattern uses the name of an earlier part's path for something else.
fn check_path_names(before: &[PathPattern], part: &PathPattern) -> Result<()> {
    let is_path =
        |name: &&Name| before.iter().any(|part| part.variable.as_ref().is_some_and(|path| path.text == name.text));
    let nodes = std::iter::once(&part.start).chain(part.steps.iter().map(|step| &step.node));
    if let Some(name) = nodes.filter_map(|node| node.variable.as_ref()).find(is_path) {
        return Err(wrong_kind(name, VariableKind::Path, "a node"));
    }
    match part.steps.iter().filter_map(|step| step.edge.variable.as_ref()).find(is_path) {
        Some(name) => Err(wrong_kind(name, VariableKind::Path, "a relationship")),
        None => Ok(()),
    }
}

pub(super) fn wrong_kind(name: &Name, found: VariableKind, expected: &str) -> model::Error {
    let message = format!("variable `{}` is {}, but {expected} is expected here", name.text, found.describe());
    error!(Semantic::VariableTypeConflict, "{message}").at(name.span).with_remedy("use another variable")
}

pub(super) fn direction(arrow: Arrow) -> Direction {
    match arrow {
        Arrow::Right => Direction::Out,
        Arrow::Left => Direction::In,
        Arrow::Both => Direction::Both,
    }
}

/// True if only some of the paths are asked for.
fn is_selected(pattern: &PathPattern) -> bool {
    pattern.selector.is_some_and(|selector| selector.kind != SelectorKind::All)
}

/// True if an edge of a pattern stands for a list of edges.
fn is_list(pattern: &PathPattern, edge: &EdgePattern) -> bool {
    pattern.shortest.is_some() || (edge.length.is_some() || edge.repetition.is_some()) && !is_once(edge)
}

/// True of `[:R*1]`, which nobody can read as a list: it is the relationship `[:R]`, and is planned as one.
fn is_once(edge: &EdgePattern) -> bool {
    let is_once = match (&edge.length, &edge.repetition) {
        (Some(length), None) => (length.min.unwrap_or(1), length.max) == (1, Some(1)),
        (None, Some(repetition)) => (repetition.min, repetition.max) == (1, Some(1)),
        _ => false,
    };
    is_once && edge.variable.is_none() && edge.group.is_none()
}

/// True if two expressions are the path over the same slots.
fn same_path(one: &Expression, other: &Expression) -> bool {
    let parts = |path: &Expression| match &path.kind {
        ExpressionKind::Path { start, steps } => Some((*start, steps.clone())),
        _ => None,
    };
    parts(one).is_some_and(|known| parts(other) == Some(known))
}

/// The function that is true of the paths of a mode; none for those that need no test.
fn mode_test(mode: PathMode) -> Option<&'static str> {
    match mode {
        PathMode::Walk | PathMode::Trail => None,
        PathMode::Acyclic => Some("isAcyclic"),
        PathMode::Simple => Some("isSimple"),
    }
}

/// Checks that a walk has an upper bound. Nothing else ends it where edges may come twice.
fn check_bounded(edge: &GraphEdge) -> Result<()> {
    match edge.length {
        EdgeLength::Variable { max: None, .. } => {
            let error =
                error!(Semantic, "a walk without an upper bound has no end, since relationships may come twice");
            Err(error.at(edge.span).with_remedy("give it a bound as in {1,10}, ask for ANY SHORTEST, or use TRAIL"))
        }
        _ => Ok(()),
    }
}

pub(super) fn edge_length(edge: &EdgePattern) -> Result<EdgeLength> {
    let (span, min, max) = match (edge.length, edge.repetition) {
        (Some(length), Some(repetition)) => {
            let error = error!(Semantic, "a relationship has a length or a repetition behind it, found both");
            return Err(error.at(length.span.to(repetition.span)).with_remedy("leave one of them out"));
        }
        (Some(length), None) => (length.span, length.min.unwrap_or(1), length.max),
        (None, Some(repetition)) => (repetition.span, repetition.min, repetition.max),
        (None, None) => return Ok(EdgeLength::One),
    };
    if is_once(edge) {
        return Ok(EdgeLength::One);
    }
    let bound = |bound: u64| {
        let too_long = || error!(Semantic, "expected a path length below {}, found {bound}", u32::MAX).at(span);
        u32::try_from(bound).map_err(|_| too_long())
    };
    let (min, max) = (bound(min)?, max.map(bound).transpose()?);
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

/// A path of one repeated edge, of which one shortest or all shortest are asked for, has a search of its own, that is
/// right if a shortest walk keeps to the mode.
fn simple_selected_length(pattern: &PathPattern, selector: PathSelector) -> Result<Option<EdgeLength>> {
    let [step] = pattern.steps.as_slice() else { return Ok(None) };
    let all = match selector.kind {
        SelectorKind::Any(1) | SelectorKind::Shortest(1) => false,
        SelectorKind::Groups(1) => true,
        _ => return Ok(None),
    };
    let is_plain = pattern.predicate.is_none()
        && !matches!(pattern.mode, Some(PathMode::Acyclic | PathMode::Simple))
        && step.edge.group.as_ref().is_none_or(|group| group.steps.len() == 1);
    Ok(match edge_length(&step.edge)? {
        EdgeLength::Variable { min: min @ 0..=1, max } if is_plain => Some(EdgeLength::Shortest { min, max, all }),
        _ => None,
    })
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
