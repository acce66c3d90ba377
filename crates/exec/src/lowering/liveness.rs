//! The slots that an expression or subplan takes from the rows around it.

use std::collections::BTreeSet;

use cypher::plan::{Expression, ExpressionKind, NewEdge, NewNode, Operator, OperatorKind, PathStep, SetItem, SlotId};

/// Slots, in order.
pub(crate) type Slots = BTreeSet<SlotId>;

/// Adds the slots that an expression reads, except those it binds itself.
pub(crate) fn add_expression(expression: &Expression, slots: &mut Slots) {
    match &expression.kind {
        ExpressionKind::Literal(_) | ExpressionKind::Parameter(_) => {}
        ExpressionKind::Slot(slot) => {
            slots.insert(*slot);
        }
        ExpressionKind::Path { start, steps } => {
            slots.insert(*start);
            slots.extend(steps.iter().map(|step| match step {
                PathStep::Edge(slot) | PathStep::Edges(slot) => *slot,
            }));
        }
        ExpressionKind::Subquery { plan, .. } => add_arguments(plan, slots),
        ExpressionKind::ListComprehension { slot, .. }
        | ExpressionKind::Quantifier { slot, .. }
        | ExpressionKind::Reduce { slot, .. } => {
            let mut inner = Slots::new();
            children(expression).for_each(|child| add_expression(child, &mut inner));
            inner.remove(slot);
            if let ExpressionKind::Reduce { accumulator, .. } = &expression.kind {
                inner.remove(accumulator);
            }
            slots.append(&mut inner);
        }
        _ => children(expression).for_each(|child| add_expression(child, slots)),
    }
}

/// The expressions right below an expression.
fn children(expression: &Expression) -> impl Iterator<Item = &Expression> {
    let mut list: Vec<&Expression> = Vec::new();
    match &expression.kind {
        ExpressionKind::Literal(_)
        | ExpressionKind::Parameter(_)
        | ExpressionKind::Slot(_)
        | ExpressionKind::Path { .. }
        | ExpressionKind::Subquery { .. } => {}
        ExpressionKind::Property { object: a, .. }
        | ExpressionKind::Not(a)
        | ExpressionKind::Negate(a)
        | ExpressionKind::IsNull(a)
        | ExpressionKind::IsNotNull(a)
        | ExpressionKind::HasLabels { object: a, .. } => list.push(a),
        ExpressionKind::Subscript { object: a, index: b }
        | ExpressionKind::Xor(a, b)
        | ExpressionKind::Binary { left: a, right: b, .. } => list.extend([&**a, &**b]),
        ExpressionKind::Slice { list: a, from, to } => {
            list.push(a);
            list.extend(from.as_deref().into_iter().chain(to.as_deref()));
        }
        ExpressionKind::List(items) | ExpressionKind::And(items) | ExpressionKind::Or(items) => list.extend(items),
        ExpressionKind::Map(entries) => list.extend(entries.iter().map(|(_, value)| value)),
        ExpressionKind::MapProjection { object, entries, .. } => {
            list.push(object);
            list.extend(entries.iter().map(|(_, value)| value));
        }
        ExpressionKind::Function { arguments, .. } => list.extend(arguments),
        ExpressionKind::Case { operand, whens, otherwise } => {
            list.extend(operand.as_deref());
            list.extend(whens.iter().flat_map(|(when, then)| [when, then]));
            list.extend(otherwise.as_deref());
        }
        ExpressionKind::ListComprehension { list: over, filter, body, .. } => {
            list.push(over);
            list.extend(filter.as_deref().into_iter().chain(body.as_deref()));
        }
        ExpressionKind::Quantifier { list: over, predicate, .. } => list.extend([&**over, &**predicate]),
        ExpressionKind::Reduce { initial, list: over, body, predicate, .. } => {
            list.extend([&**initial, &**over, &**body]);
            list.extend(predicate.as_deref());
        }
    }
    list.into_iter()
}

/// Adds the slots that a subplan takes from the rows around it: those of the arguments it starts from.
pub(crate) fn add_arguments(plan: &Operator, slots: &mut Slots) {
    if let OperatorKind::Argument { slots: taken } = &plan.kind {
        slots.extend(taken);
    }
    inputs(plan).into_iter().for_each(|input| add_arguments(input, slots));
}

/// The operators whose rows start where this operator's rows start. The subplans of `Apply` and its kin are not among
/// them: they start from the rows of the operator.
pub(crate) fn inputs(plan: &Operator) -> Vec<&Operator> {
    match &plan.kind {
        OperatorKind::Unit
        | OperatorKind::Argument { .. }
        | OperatorKind::Held { .. }
        | OperatorKind::CreateRule { .. }
        | OperatorKind::DeclareEnds { .. }
        | OperatorKind::CreateSortKey { .. }
        | OperatorKind::DropSortKey { .. }
        | OperatorKind::DropRule { .. } => Vec::new(),
        OperatorKind::Union { branches, .. } => branches.iter().map(|(branch, _)| branch).collect(),
        OperatorKind::CrossProduct { left, right } | OperatorKind::HashJoin { left, right, .. } => vec![left, right],
        OperatorKind::NodeScan { input, .. }
        | OperatorKind::NodeLookup { input, .. }
        | OperatorKind::IndexSeek { input, .. }
        | OperatorKind::NodeById { input, .. }
        | OperatorKind::EdgeById { input, .. }
        | OperatorKind::Expand { input, .. }
        | OperatorKind::VariableExpand { input, .. }
        | OperatorKind::ShortestPath { input, .. }
        | OperatorKind::PathSearch { input, .. }
        | OperatorKind::Filter { input, .. }
        | OperatorKind::Project { input, .. }
        | OperatorKind::Extend { input, .. }
        | OperatorKind::Distinct { input, .. }
        | OperatorKind::PartialAggregate { input, .. }
        | OperatorKind::Aggregate { input, .. }
        | OperatorKind::PushedPattern { input, .. }
        | OperatorKind::Sort { input, .. }
        | OperatorKind::Top { input, .. }
        | OperatorKind::Skip { input, .. }
        | OperatorKind::Limit { input, .. }
        | OperatorKind::Unwind { input, .. }
        | OperatorKind::Apply { input, .. }
        | OperatorKind::Optional { input, .. }
        | OperatorKind::SemiApply { input, .. }
        | OperatorKind::Call { input, .. }
        | OperatorKind::CountMatches { input, .. }
        | OperatorKind::Create { input, .. }
        | OperatorKind::Merge { input, .. }
        | OperatorKind::Intersect { input, .. }
        | OperatorKind::Set { input, .. }
        | OperatorKind::Delete { input, .. }
        | OperatorKind::Import { input, .. }
        | OperatorKind::NodeUnionScan { input, .. }
        | OperatorKind::ForEach { input, .. } => vec![input],
    }
}

/// Adds the slots that the creation of nodes and edges reads, except those it makes.
pub(crate) fn add_creation(nodes: &[NewNode], edges: &[NewEdge], slots: &mut Slots) {
    let mut read = Slots::new();
    nodes.iter().filter_map(|node| node.properties.as_ref()).for_each(|map| add_expression(map, &mut read));
    edges.iter().filter_map(|edge| edge.properties.as_ref()).for_each(|map| add_expression(map, &mut read));
    edges.iter().filter_map(|edge| edge.computed_type.as_ref()).for_each(|name| add_expression(name, &mut read));
    read.extend(edges.iter().flat_map(|edge| [edge.source, edge.target]));
    nodes.iter().for_each(|node| {
        read.remove(&node.slot);
    });
    edges.iter().for_each(|edge| {
        read.remove(&edge.slot);
    });
    slots.append(&mut read);
}

/// Adds the slots that changes read.
pub(crate) fn add_set_items(items: &[SetItem], slots: &mut Slots) {
    for item in items {
        match item {
            SetItem::Property { object, value, .. }
            | SetItem::Replace { object, value }
            | SetItem::Merge { object, value } => {
                add_expression(object, slots);
                add_expression(value, slots);
            }
            SetItem::AddLabels { node, .. } | SetItem::RemoveLabels { node, .. } => add_expression(node, slots),
            SetItem::AddComputedLabels { node, labels } | SetItem::RemoveComputedLabels { node, labels } => {
                add_expression(node, slots);
                add_expression(labels, slots);
            }
        }
    }
}

/// Calls `look` with an expression and all expressions below it, except those within subplans.
pub(crate) fn visit(expression: &Expression, look: &mut dyn FnMut(&Expression)) {
    look(expression);
    children(expression).for_each(|child| visit(child, look));
}
