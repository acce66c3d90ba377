//! Repeated parts of paths: `((a)-[r]->(b) WHERE …){1,3}` and `-[r WHERE …]->+`.
//!
//! A repeated part is one list of edges, in walking order. Its variables mean one node or edge inside, and outside the
//! list of all of them, which is read off that list of edges: where a part of `k` edges repeats, the edge at place `j` is
//! every `k`-th edge from `j` on.

use std::sync::Arc;

use model::{Result, Span, Value, error};

use super::scope::{Scope, VariableKind};
use super::{Binder, labels, unsupported};
use crate::ast::{self, EdgePattern, Name, NodePattern, PathGroup};
use crate::plan::conditions::add_conjuncts;
use crate::plan::conditions::at;
use crate::plan::{BinaryOperator, Expression, ExpressionKind, PathStep, SlotId, SlotKind};

/// The variables of a group as they are inside of it.
#[derive(Debug)]
pub(super) struct GroupSlots {
    /// One more than edges.
    pub(super) nodes: Vec<SlotId>,
    pub(super) edges: Vec<SlotId>,
    /// Names with what they mean inside.
    names: Vec<(Name, SlotId, VariableKind)>,
    /// Nodes that are the same: a name that comes twice.
    equal: Vec<(SlotId, SlotId, Span)>,
}

/// Conditions of a group on each walk through it, and the types of its edges.
type Asked = (Vec<Expression>, Vec<Vec<Arc<str>>>);

/// List that stands for a variable outside of its group, and where to find it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListVariable {
    pub(super) slot: SlotId,
    /// The node or edge of the group, by its place.
    pub(super) place: usize,
    pub(super) is_node: bool,
}

impl Binder<'_> {
    /// Declares the variables of a group: inside, and as lists outside. The lists of a single edge's group are the list
    /// of edges itself, which is given back with them.
    pub(super) fn declare_group(&mut self, group: &PathGroup) -> Result<(GroupSlots, Vec<ListVariable>)> {
        let mut slots = GroupSlots { nodes: Vec::new(), edges: Vec::new(), names: Vec::new(), equal: Vec::new() };
        let mut lists = Vec::new();
        let nodes = std::iter::once(&group.start).chain(group.steps.iter().map(|step| &step.node));
        for (place, node) in nodes.enumerate() {
            let slot = self.slots.unnamed(SlotKind::Node);
            slots.nodes.push(slot);
            let Some(name) = &node.variable else { continue };
            let known = slots.names.iter().find(|(known, ..)| known.text == name.text).map(|(_, slot, _)| *slot);
            match known {
                Some(known) => slots.equal.push((known, slot, name.span)),
                None => {
                    self.check_new_in_group(name)?;
                    slots.names.push((name.clone(), slot, VariableKind::Node));
                    lists.push((name, ListVariable { slot, place, is_node: true }));
                }
            }
        }
        for (place, step) in group.steps.iter().enumerate() {
            let slot = self.slots.unnamed(SlotKind::Edge);
            slots.edges.push(slot);
            let Some(name) = &step.edge.variable else { continue };
            if slots.names.iter().any(|(known, ..)| known.text == name.text) {
                let error = error!(Semantic, "variable `{}` is used twice in one repeated path", name.text);
                return Err(error.at(name.span).with_remedy("use another variable"));
            }
            self.check_new_in_group(name)?;
            slots.names.push((name.clone(), slot, VariableKind::Edge));
            lists.push((name, ListVariable { slot, place, is_node: false }));
        }
        let mut outside = Vec::new();
        for (name, list) in lists {
            let (kind, slot_kind) = match list.is_node {
                true => (VariableKind::Value, SlotKind::Any),
                false => (VariableKind::EdgeList, SlotKind::EdgeList),
            };
            let slot = self.slots.named(&name.text, slot_kind);
            self.scope.declare(&name.text, slot, kind);
            outside.push(ListVariable { slot, ..list });
        }
        Ok((slots, outside))
    }

    fn check_new_in_group(&self, name: &Name) -> Result<()> {
        match self.scope.find(&name.text) {
            Some(_) => Err(error!(Semantic, "variable `{}` of a repeated path is already declared outside", name.text)
                .at(name.span)
                .with_remedy("choose another name: outside it would be a list")),
            None => Ok(()),
        }
    }

    /// Runs `bind` where the variables mean what they mean inside of a repeated path.
    pub(super) fn inside<T>(
        &mut self,
        base: &Scope,
        names: &[(Name, SlotId, VariableKind)],
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let outer = std::mem::replace(&mut self.scope, base.clone());
        for (name, slot, kind) in names {
            self.scope.declare(&name.text, *slot, *kind);
        }
        let bound = bind(self);
        self.scope = outer;
        bound
    }

    /// Returns the conditions of a group on each walk through it, and the types of its edges.
    pub(super) fn group_predicates(&mut self, group: &PathGroup, slots: &GroupSlots, base: &Scope) -> Result<Asked> {
        self.inside(base, &slots.names, |binder| {
            let mut predicates = Vec::new();
            let mut types = Vec::new();
            binder.node_predicates(&group.start, slots.nodes[0], &mut predicates)?;
            for (index, step) in group.steps.iter().enumerate() {
                types.push(binder.edge_predicates(&step.edge, slots.edges[index], &mut predicates)?);
                binder.node_predicates(&step.node, slots.nodes[index + 1], &mut predicates)?;
            }
            for &(first, second, span) in &slots.equal {
                let (left, right) = (slot_at(first, span), slot_at(second, span));
                predicates.push(infix(BinaryOperator::Equal, left, right));
            }
            if let Some(predicate) = &group.predicate {
                add_conjuncts(binder.plain_predicate(predicate, "WHERE")?, &mut predicates);
            }
            refuse_subqueries(&predicates)?;
            Ok((predicates, types))
        })
    }

    /// The `WHERE` in the brackets of an edge that stands for a path: it is asked of each edge.
    pub(super) fn each_edge_predicate(
        &mut self,
        edge: &EdgePattern,
        predicate: &ast::Expression,
        element: SlotId,
        base: &Scope,
        predicates: &mut Vec<Expression>,
    ) -> Result<()> {
        let names: Vec<_> = edge.variable.iter().map(|name| (name.clone(), element, VariableKind::Edge)).collect();
        self.inside(base, &names, |binder| {
            let mut bound = Vec::new();
            add_conjuncts(binder.plain_predicate(predicate, "WHERE")?, &mut bound);
            refuse_subqueries(&bound)?;
            predicates.append(&mut bound);
            Ok(())
        })
    }

    /// Adds the predicates of a node within a search.
    pub(super) fn node_predicates(
        &mut self,
        node: &NodePattern,
        slot: SlotId,
        predicates: &mut Vec<Expression>,
    ) -> Result<()> {
        let object = at(node.span, ExpressionKind::Slot(slot));
        if let Some(labels) = &node.labels {
            if let Some(names) = labels.conjunction() {
                self.hint_names(&names, VariableKind::Node);
            }
            add_conjuncts(self.label_predicate(&object, labels)?, predicates);
        }
        if let Some(properties) = &node.properties {
            predicates.append(&mut self.property_predicates(&object, properties)?);
        }
        if let Some(predicate) = &node.predicate {
            add_conjuncts(self.plain_predicate(predicate, "WHERE")?, predicates);
        }
        Ok(())
    }

    /// Adds the predicates of an edge within a search, and returns its types.
    pub(super) fn edge_predicates(
        &mut self,
        edge: &EdgePattern,
        slot: SlotId,
        predicates: &mut Vec<Expression>,
    ) -> Result<Vec<Arc<str>>> {
        let object = at(edge.span, ExpressionKind::Slot(slot));
        let mut types = Vec::new();
        if let Some(expression) = &edge.types {
            match expression.alternatives() {
                Some(names) => {
                    self.hint_names(&names, VariableKind::Edge);
                    types = labels::texts(&names);
                }
                None => predicates.push(self.label_predicate(&object, expression)?),
            }
        }
        if let Some(properties) = &edge.properties {
            predicates.append(&mut self.property_predicates(&object, properties)?);
        }
        if let Some(predicate) = &edge.predicate {
            add_conjuncts(self.plain_predicate(predicate, "WHERE")?, predicates);
        }
        Ok(types)
    }
}

/// Refuses subqueries. Conditions that are tested while a path is walked are tested without running a plan.
pub(super) fn refuse_subqueries(predicates: &[Expression]) -> Result<()> {
    match predicates.iter().find(|predicate| predicate.has_subquery()) {
        Some(predicate) => {
            let error = unsupported("a subquery in a condition on a repeated path", predicate.span);
            Err(error.with_remedy("ask it of the list of nodes or relationships, in the WHERE after the pattern"))
        }
        None => Ok(()),
    }
}

/// Location of the part of a list of edges that a repeated part of a path has walked.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    /// The node at the start of the list of edges.
    pub(super) start: SlotId,
    /// The list of edges.
    pub(super) edges: SlotId,
    /// Number of edges before it; 0 if absent.
    pub(super) offset: Option<Expression>,
    /// Number of its edges; all if absent.
    pub(super) count: Option<Expression>,
    /// Edges of one walk through it.
    pub(super) step: usize,
}

impl Stretch {
    /// The list of what a variable of the part has stood for: as many as the part was walked through, since a slice of
    /// `count` elements has that many that are `step` apart.
    pub(super) fn list(&self, variable: ListVariable, span: Span) -> Expression {
        let edges = slot_at(self.edges, span);
        let list = if variable.is_node { self.nodes(span) } else { edges.clone() };
        let from = self.place(variable.place, span);
        let count = self.count.clone().unwrap_or_else(|| call("size", vec![edges], span));
        let to = plus(from.clone(), count);
        let (from, to) = (Some(Box::new(from)), Some(Box::new(to)));
        let slice = at(span, ExpressionKind::Slice { list: Box::new(list), from, to });
        match self.step {
            1 => slice,
            step => call("every", vec![slice, integer(step as i64, span)], span),
        }
    }

    /// The only edge of it.
    pub(super) fn edge(&self, span: Span) -> Expression {
        let (object, index) = (Box::new(slot_at(self.edges, span)), Box::new(self.place(0, span)));
        at(span, ExpressionKind::Subscript { object, index })
    }

    /// The node at its end.
    pub(super) fn end(&self, span: Span) -> Expression {
        let count = self.count.clone().unwrap_or_else(|| call("size", vec![slot_at(self.edges, span)], span));
        let index = Box::new(plus(self.place(0, span), count));
        at(span, ExpressionKind::Subscript { object: Box::new(self.nodes(span)), index })
    }

    fn place(&self, place: usize, span: Span) -> Expression {
        match &self.offset {
            None => integer(place as i64, span),
            Some(offset) if place == 0 => offset.clone(),
            Some(offset) => plus(offset.clone(), integer(place as i64, span)),
        }
    }

    fn nodes(&self, span: Span) -> Expression {
        let path = ExpressionKind::Path { start: self.start, steps: vec![PathStep::Edges(self.edges)] };
        call("nodes", vec![at(span, path)], span)
    }
}

pub(super) fn slot_at(slot: SlotId, span: Span) -> Expression {
    at(span, ExpressionKind::Slot(slot))
}

pub(super) fn integer(value: i64, span: Span) -> Expression {
    at(span, ExpressionKind::Literal(Value::Int(value)))
}

pub(super) fn call(name: &str, arguments: Vec<Expression>, span: Span) -> Expression {
    at(span, ExpressionKind::Function { name: Arc::from(name), arguments })
}

pub(super) fn plus(left: Expression, right: Expression) -> Expression {
    infix(BinaryOperator::Add, left, right)
}

fn infix(operator: BinaryOperator, left: Expression, right: Expression) -> Expression {
    let span = left.span;
    at(span, ExpressionKind::Binary { operator, left: Box::new(left), right: Box::new(right) })
}
