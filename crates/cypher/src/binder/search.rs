//! Paths that are searched as a whole: repeated parts of several relationships, and paths of which a selector chooses.
//!
//! Such a path is one edge of the query graph, from its first node to its last. What it finds is the list of its edges
//! and how many of them each of its parts has; its variables are read off these.

use model::{Result, Set, Span, error};

use super::pattern::{direction, edge_length};
use super::repeat::{GroupSlots, ListVariable, Stretch, integer, plus, slot_at};
use super::scope::{Scope, VariableKind};
use super::tree::{BoundSearch, EdgeLength, GraphEdge};
use super::{Binder, unsupported};
use crate::ast::{EdgePattern, Name, NodePattern, PathGroup, PathMode, PathPattern, SelectorKind};
use crate::plan::conditions::at;
use crate::plan::conditions::conjunction;
use crate::plan::{
    Expression, ExpressionKind, HopCondition, SearchElement, SearchHop, SearchMode, SearchPattern, SearchSelector,
    SlotId, SlotKind, WalkCondition,
};

/// The parts of a path that is searched as a whole, with the slots of what they hold inside.
pub(super) struct SearchSlots {
    /// Takes the list of edges.
    pub(super) edges: SlotId,
    counts: SlotId,
    parts: Vec<PartSlots>,
    /// Variables of the query, each with what it is.
    variables: Vec<(SlotId, Expression)>,
}

enum PartSlots {
    Edge(SlotId),
    Group(GroupSlots),
}

impl Binder<'_> {
    /// Declares the variables of a path between its first and its last node.
    pub(super) fn declare_search(
        &mut self,
        pattern: &PathPattern,
        start: SlotId,
        seen: &mut Vec<SlotId>,
    ) -> Result<SearchSlots> {
        let edges = self.slots.unnamed(SlotKind::EdgeList);
        let counts = self.slots.unnamed(SlotKind::Any);
        let mut slots = SearchSlots { edges, counts, parts: Vec::new(), variables: Vec::new() };
        let mut offset: Option<Expression> = None;
        for (index, step) in pattern.steps.iter().enumerate() {
            let span = step.edge.span;
            let count = count_of(counts, index, span);
            let mut stretch = Stretch { start, edges, offset: offset.clone(), count: Some(count.clone()), step: 1 };
            match &step.edge.group {
                Some(group) => {
                    let (inside, lists) = self.declare_group(group)?;
                    stretch.step = inside.edges.len();
                    slots.variables.extend(lists.iter().map(|list| (list.slot, stretch.list(*list, span))));
                    slots.parts.push(PartSlots::Group(inside));
                }
                None => {
                    slots.parts.push(PartSlots::Edge(self.slots.unnamed(SlotKind::Edge)));
                    if let Some(name) = &step.edge.variable {
                        let variable = self.declare_searched_edge(name, &step.edge, &stretch, seen)?;
                        slots.variables.push(variable);
                    }
                }
            }
            let is_last = index + 1 == pattern.steps.len();
            if let Some(name) = step.node.variable.as_ref().filter(|_| !is_last) {
                let slot = self.declare_searched(name, VariableKind::Node)?;
                slots.variables.push((slot, stretch.end(span)));
            }
            offset = Some(match offset {
                None => count,
                Some(offset) => plus(offset, count),
            });
        }
        Ok(slots)
    }

    fn declare_searched_edge(
        &mut self,
        name: &Name,
        edge: &EdgePattern,
        stretch: &Stretch,
        seen: &mut Vec<SlotId>,
    ) -> Result<(SlotId, Expression)> {
        let is_list = edge.length.is_some() || edge.repetition.is_some();
        let kind = if is_list { VariableKind::EdgeList } else { VariableKind::Edge };
        let slot = self.declare_searched(name, kind)?;
        seen.push(slot);
        let value = if is_list {
            stretch.list(ListVariable { slot, place: 0, is_node: false }, name.span)
        } else {
            stretch.edge(name.span)
        };
        Ok((slot, value))
    }

    fn declare_searched(&mut self, name: &Name, kind: VariableKind) -> Result<SlotId> {
        if self.scope.find(&name.text).is_some() {
            let error = unsupported("a variable that is already declared inside a path with a selector", name.span);
            return Err(error.with_remedy("choose another name, and compare the two afterwards"));
        }
        let slot = self.slots.named(&name.text, kind.slot_kind());
        self.scope.declare(&name.text, slot, kind);
        Ok(slot)
    }

    /// The variables of a path that is searched, as they are read off what was found.
    pub(super) fn search_variables(&self, slots: &SearchSlots) -> Vec<(SlotId, Expression)> {
        slots.variables.clone()
    }

    /// Binds a path of which a selector chooses.
    pub(super) fn bind_selected(
        &mut self,
        pattern: &PathPattern,
        slots: &SearchSlots,
        paths: &[(SlotId, Expression)],
        base: &Scope,
        edge: &mut GraphEdge,
    ) -> Result<()> {
        let mut conditions = Vec::new();
        let mut elements = Vec::with_capacity(pattern.steps.len());
        for (index, (step, part)) in pattern.steps.iter().zip(&slots.parts).enumerate() {
            let mut element = match (part, &step.edge.group) {
                (PartSlots::Group(inside), Some(group)) => self.group_element(group, inside, base, &mut conditions)?,
                (PartSlots::Edge(slot), _) => self.edge_element(&step.edge, *slot, base, &mut conditions)?,
                (PartSlots::Group(_), None) => unreachable!("a part is a group because its step is one"),
            };
            (element.min, element.max) = bounds(edge_length(&step.edge)?);
            if index + 1 < pattern.steps.len() {
                element.end = self.end_condition(&step.node, base, &mut conditions)?;
            }
            elements.push(element);
        }
        let mode = pattern.mode.map_or(SearchMode::Trail, search_mode);
        if mode == SearchMode::Walk && elements.iter().any(|element| element.max.is_none()) {
            let error = unsupported("WALK without an upper bound under a selector of such a path", pattern.span);
            return Err(error.with_remedy("give it an upper bound as in {1,10}, or leave WALK out"));
        }
        let condition = match &pattern.predicate {
            None => None,
            Some(predicate) => {
                let mut predicate = self.plain_predicate(predicate, "WHERE")?;
                if predicate.has_subquery() {
                    let error = unsupported("a subquery in the WHERE of a path in parentheses", predicate.span);
                    return Err(error.with_remedy("test the path found in the WHERE after the pattern"));
                }
                // The last first: a path variable may stand for parts that were declared before it.
                for (slot, value) in paths.iter().chain(&slots.variables) {
                    substitute(&mut predicate, *slot, value);
                }
                conditions.push(predicate);
                Some(conditions.len() - 1)
            }
        };
        let selector = pattern.selector.and_then(|selector| search_selector(selector.kind));
        edge.is_selected = selector.is_some();
        edge.length = whole_length(&elements);
        let pattern = SearchPattern { elements, mode, selector, condition };
        edge.search = Some(Box::new(BoundSearch { pattern, conditions, counts: slots.counts }));
        Ok(())
    }

    /// Binds a repeated part of several relationships that stands by itself.
    pub(super) fn bind_repeated(
        &mut self,
        group: &PathGroup,
        inside: &GroupSlots,
        base: &Scope,
        edge: &mut GraphEdge,
    ) -> Result<()> {
        let mut conditions = Vec::new();
        let mut element = self.group_element(group, inside, base, &mut conditions)?;
        (element.min, element.max) = bounds(edge.length);
        let mode = if edge.repeats { SearchMode::Walk } else { SearchMode::Trail };
        let elements = vec![element];
        edge.length = whole_length(&elements);
        let counts = self.slots.unnamed(SlotKind::Any);
        let pattern = SearchPattern { elements, mode, selector: None, condition: None };
        edge.search = Some(Box::new(BoundSearch { pattern, conditions, counts }));
        Ok(())
    }

    fn group_element(
        &mut self,
        group: &PathGroup,
        inside: &GroupSlots,
        base: &Scope,
        conditions: &mut Vec<Expression>,
    ) -> Result<SearchElement> {
        let (predicates, types) = self.group_predicates(group, inside, base)?;
        let own: Vec<SlotId> = inside.nodes.iter().chain(&inside.edges).copied().collect();
        let mut by_hop: Vec<Vec<Expression>> = inside.edges.iter().map(|_| Vec::new()).collect();
        let mut rest = Vec::new();
        for predicate in predicates {
            // A condition is asked at the first edge at which it can be.
            let mut used = Set::default();
            predicate.free_slots(&mut used);
            let fits = |place: usize| {
                let shown = [inside.edges[place], inside.nodes[place], inside.nodes[place + 1]];
                own.iter().all(|slot| !used.contains(slot) || shown.contains(slot))
            };
            match (0..inside.edges.len()).find(|&place| fits(place)) {
                Some(place) => by_hop[place].push(predicate),
                None => rest.push(predicate),
            }
        }
        let mut hops = Vec::with_capacity(by_hop.len());
        for (place, (predicates, types)) in by_hop.into_iter().zip(types).enumerate() {
            let (edge, from, to) = (inside.edges[place], inside.nodes[place], inside.nodes[place + 1]);
            let filter = add(predicates, conditions).map(|condition| HopCondition { edge, from, to, condition });
            hops.push(SearchHop { direction: direction(group.steps[place].edge.arrow), types, filter });
        }
        let (nodes, edges) = (inside.nodes.clone(), inside.edges.clone());
        let walk = add(rest, conditions).map(|condition| WalkCondition { nodes, edges, condition });
        Ok(SearchElement { hops, min: 1, max: Some(1), walk, end: None })
    }

    fn edge_element(
        &mut self,
        edge: &EdgePattern,
        slot: SlotId,
        base: &Scope,
        conditions: &mut Vec<Expression>,
    ) -> Result<SearchElement> {
        let names: Vec<_> = edge.variable.iter().map(|name| (name.clone(), slot, VariableKind::Edge)).collect();
        let (predicates, types) = self.inside(base, &names, |binder| {
            let mut predicates = Vec::new();
            let types = binder.edge_predicates(edge, slot, &mut predicates)?;
            super::repeat::refuse_subqueries(&predicates)?;
            Ok((predicates, types))
        })?;
        let (from, to) = (self.slots.unnamed(SlotKind::Node), self.slots.unnamed(SlotKind::Node));
        let filter = add(predicates, conditions).map(|condition| HopCondition { edge: slot, from, to, condition });
        let hops = vec![SearchHop { direction: direction(edge.arrow), types, filter }];
        Ok(SearchElement { hops, min: 1, max: Some(1), walk: None, end: None })
    }

    fn end_condition(
        &mut self,
        node: &NodePattern,
        base: &Scope,
        conditions: &mut Vec<Expression>,
    ) -> Result<Option<(SlotId, usize)>> {
        let slot = self.slots.unnamed(SlotKind::Node);
        let names: Vec<_> = node.variable.iter().map(|name| (name.clone(), slot, VariableKind::Node)).collect();
        let predicates = self.inside(base, &names, |binder| {
            let mut predicates = Vec::new();
            binder.node_predicates(node, slot, &mut predicates)?;
            super::repeat::refuse_subqueries(&predicates)?;
            Ok(predicates)
        })?;
        Ok(add(predicates, conditions).map(|condition| (slot, condition)))
    }
}

/// Adds the conjunction of predicates, if there are any, and gives its place.
fn add(predicates: Vec<Expression>, conditions: &mut Vec<Expression>) -> Option<usize> {
    let condition = conjunction(predicates)?;
    conditions.push(condition);
    Some(conditions.len() - 1)
}

/// Expression for the number of edges that a part of a path has.
fn count_of(counts: SlotId, part: usize, span: Span) -> Expression {
    let (object, index) = (Box::new(slot_at(counts, span)), Box::new(integer(part as i64, span)));
    at(span, ExpressionKind::Subscript { object, index })
}

fn bounds(length: EdgeLength) -> (u32, Option<u32>) {
    match length {
        EdgeLength::One => (1, Some(1)),
        EdgeLength::Variable { min, max } | EdgeLength::Shortest { min, max, .. } => (min, max),
    }
}

/// Number of edges that a path of these parts has.
fn whole_length(elements: &[SearchElement]) -> EdgeLength {
    let hops = |element: &SearchElement| element.hops.len() as u32;
    let min = elements.iter().fold(0_u32, |sum, element| sum.saturating_add(element.min.saturating_mul(hops(element))));
    let max = elements
        .iter()
        .try_fold(0_u32, |sum, element| element.max.map(|max| sum.saturating_add(max.saturating_mul(hops(element)))));
    EdgeLength::Variable { min, max }
}

fn search_mode(mode: PathMode) -> SearchMode {
    match mode {
        PathMode::Walk => SearchMode::Walk,
        PathMode::Trail => SearchMode::Trail,
        PathMode::Acyclic => SearchMode::Acyclic,
        PathMode::Simple => SearchMode::Simple,
    }
}

fn search_selector(kind: SelectorKind) -> Option<SearchSelector> {
    match kind {
        SelectorKind::All => None,
        // Any paths will do, so the shortest do.
        SelectorKind::Any(count) | SelectorKind::Shortest(count) => Some(SearchSelector::Shortest(count)),
        SelectorKind::Groups(count) => Some(SearchSelector::Groups(count)),
    }
}

/// Puts a value in the place of a slot.
fn substitute(expression: &mut Expression, slot: SlotId, value: &Expression) {
    match &expression.kind {
        ExpressionKind::Slot(known) if *known == slot => *expression = value.clone(),
        _ => expression.operands_mut().into_iter().for_each(|operand| substitute(operand, slot, value)),
    }
}

/// A path with a selector is the only one of its pattern that has relationships.
pub(super) fn check_alone(patterns: &[PathPattern]) -> Result<()> {
    let is_selected =
        |pattern: &&PathPattern| pattern.selector.is_some_and(|selector| selector.kind != SelectorKind::All);
    let Some(selected) = patterns.iter().find(is_selected) else { return Ok(()) };
    if patterns.iter().filter(|pattern| !pattern.steps.is_empty()).count() < 2 {
        return Ok(());
    }
    let error = error!(Semantic, "a path with a selector cannot stand beside other paths with relationships");
    Err(error.at(selected.span).with_remedy("match them in clauses of their own"))
}
