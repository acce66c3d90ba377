//! Walking plans: the children of operators and expressions, the slots they use and define.
//!
//! Invariant: a slot is defined in one place of a plan, so sets of slots need no scopes.

use model::Set;

use super::{
    Aggregate, Batches, EdgeFilter, Expression, ExpressionKind, IndexRange, IntersectLeg, LookupValue, NewEdge,
    NewNode, Operator, OperatorKind, PathStep, Retry, SetItem, SlotId, SortKey, SubqueryKind,
};

/// Pushes the inputs and subplans of an operator to a list, by reference or by mutable reference.
macro_rules! push_inputs {
    ($kind:expr, $list:ident) => {{
        use OperatorKind as Kind;
        match $kind {
            Kind::Unit | Kind::Argument { .. } | Kind::Held { .. } => {}
            Kind::CreateRule { .. } | Kind::DropRule { .. } | Kind::DeclareEnds { .. } => {}
            Kind::CreateSortKey { .. } | Kind::DropSortKey { .. } => {}
            Kind::NodeScan { input, .. } | Kind::NodeLookup { input, .. } => $list.push(input),
            Kind::IndexSeek { input, .. } => $list.push(input),
            Kind::NodeById { input, .. } | Kind::EdgeById { input, .. } => $list.push(input),
            Kind::Expand { input, .. } => $list.push(input),
            Kind::VariableExpand { input, .. } | Kind::ShortestPath { input, .. } => $list.push(input),
            Kind::PathSearch { input, .. } => $list.push(input),
            Kind::Filter { input, .. } | Kind::Project { input, .. } | Kind::Extend { input, .. } => $list.push(input),
            Kind::CountMatches { input, .. } | Kind::PartialAggregate { input, .. } => $list.push(input),
            Kind::Distinct { input, .. } | Kind::Aggregate { input, .. } => $list.push(input),
            Kind::PushedPattern { input, .. } => $list.push(input),
            Kind::Sort { input, .. } | Kind::Top { input, .. } | Kind::Skip { input, .. } => $list.push(input),
            Kind::Limit { input, .. } | Kind::Unwind { input, .. } | Kind::Call { input, .. } => $list.push(input),
            Kind::Create { input, .. } | Kind::Set { input, .. } | Kind::Delete { input, .. } => $list.push(input),
            Kind::Intersect { input, .. } => $list.push(input),
            Kind::Union { branches, .. } => {
                for (branch, _) in branches {
                    $list.push(branch);
                }
            }
            Kind::Apply { input, subplan } | Kind::Optional { input, subplan, .. } => {
                $list.push(input);
                $list.push(subplan);
            }
            Kind::SemiApply { input, subplan, .. } | Kind::Merge { input, subplan, .. } => {
                $list.push(input);
                $list.push(subplan);
            }
            Kind::Import { input, .. } | Kind::NodeUnionScan { input, .. } => $list.push(input),
            Kind::ForEach { input, subplan, .. } => {
                $list.push(input);
                $list.push(subplan);
            }
            Kind::CrossProduct { left, right } | Kind::HashJoin { left, right, .. } => {
                $list.push(left);
                $list.push(right);
            }
        }
    }};
}

/// Pushes the expressions of assignments.
macro_rules! push_set_items {
    ($items:expr, $list:ident) => {
        for item in $items {
            match item {
                SetItem::Property { object, value, .. }
                | SetItem::Replace { object, value }
                | SetItem::Merge { object, value } => {
                    $list.push(object);
                    $list.push(value);
                }
                SetItem::AddLabels { node, .. } | SetItem::RemoveLabels { node, .. } => $list.push(node),
                SetItem::AddComputedLabels { node, labels } | SetItem::RemoveComputedLabels { node, labels } => {
                    $list.push(node);
                    $list.push(labels);
                }
            }
        }
    };
}

/// Pushes the expressions of nodes and edges to create.
macro_rules! push_new_entities {
    ($nodes:expr, $edges:expr, $list:ident) => {
        for NewNode { properties, .. } in $nodes {
            $list.extend(properties);
        }
        for NewEdge { properties, computed_type, .. } in $edges {
            $list.extend(properties);
            $list.extend(computed_type);
        }
    };
}

/// Pushes the expressions that stand directly in an operator to a list, by reference or by mutable reference.
macro_rules! push_operator_expressions {
    ($kind:expr, $list:ident) => {{
        use OperatorKind as Kind;
        match $kind {
            Kind::Unit | Kind::Argument { .. } | Kind::Held { .. } => {}
            Kind::NodeScan { .. } | Kind::Expand { .. } => {}
            Kind::Distinct { .. } | Kind::Union { .. } | Kind::Apply { .. } | Kind::Optional { .. } => {}
            Kind::SemiApply { .. } | Kind::CrossProduct { .. } | Kind::PushedPattern { .. } => {}
            Kind::Intersect { .. } => {}
            Kind::CountMatches { .. } | Kind::PartialAggregate { .. } => {}
            Kind::CreateRule { .. } | Kind::DropRule { .. } | Kind::DeclareEnds { .. } => {}
            Kind::CreateSortKey { .. } | Kind::DropSortKey { .. } => {}
            Kind::IndexSeek { equal, range, .. } => {
                $list.extend(equal);
                match range {
                    IndexRange::All => {}
                    IndexRange::Between { lower, upper } => {
                        if let Some((value, _)) = lower {
                            $list.push(value);
                        }
                        if let Some((value, _)) = upper {
                            $list.push(value);
                        }
                    }
                    IndexRange::StartsWith(prefix) => $list.push(prefix),
                }
            }
            Kind::NodeLookup { value, .. } | Kind::NodeById { value, .. } | Kind::EdgeById { value, .. } => match value
            {
                LookupValue::One(value) | LookupValue::Any(value) => $list.push(value),
            },
            Kind::VariableExpand { filter, running, .. } => {
                if let Some(EdgeFilter { predicate, .. }) = filter {
                    $list.push(predicate);
                }
                if let Some(running) = running {
                    $list.push(running);
                }
            }
            Kind::ShortestPath { filter, .. } => {
                if let Some(EdgeFilter { predicate, .. }) = filter {
                    $list.push(predicate);
                }
            }
            Kind::PathSearch { conditions, .. } => $list.extend(conditions),
            Kind::Filter { predicate, .. } => $list.push(predicate),
            Kind::Project { items, .. } | Kind::Extend { items, .. } => {
                for (_, value) in items {
                    $list.push(value);
                }
            }
            Kind::Aggregate { keys, aggregates, .. } => {
                for (_, value) in keys {
                    $list.push(value);
                }
                for Aggregate { arguments, .. } in aggregates {
                    $list.extend(arguments);
                }
            }
            Kind::Sort { keys, .. } => {
                for SortKey { expression, .. } in keys {
                    $list.push(expression);
                }
            }
            Kind::Top { keys, limit, .. } => {
                for SortKey { expression, .. } in keys {
                    $list.push(expression);
                }
                $list.push(limit);
            }
            Kind::Skip { count, .. } | Kind::Limit { count, .. } => $list.push(count),
            Kind::Unwind { list, .. } => $list.push(list),
            Kind::HashJoin { on, .. } => {
                for (left, right) in on {
                    $list.push(left);
                    $list.push(right);
                }
            }
            Kind::Call { arguments, .. } => $list.extend(arguments),
            Kind::Create { nodes, edges, .. } => {
                push_new_entities!(nodes, edges, $list);
            }
            Kind::Merge { nodes, edges, path, on_create, on_match, .. } => {
                push_new_entities!(nodes, edges, $list);
                if let Some((_, value)) = path {
                    $list.push(value);
                }
                push_set_items!(on_create, $list);
                push_set_items!(on_match, $list);
            }
            Kind::Set { items, .. } => {
                push_set_items!(items, $list);
            }
            Kind::Delete { expressions, .. } => $list.extend(expressions),
            Kind::Import { .. } | Kind::NodeUnionScan { .. } => {}
            Kind::ForEach { batches, .. } => {
                if let Some(Batches { rows, concurrent, retry, .. }) = batches {
                    $list.extend(rows);
                    if let Some(Retry { seconds: Some(seconds) }) = retry {
                        $list.push(seconds);
                    }
                    if let Some(Some(count)) = concurrent {
                        $list.push(count);
                    }
                }
            }
        }
    }};
}

/// Pushes the expressions directly below an expression to a list, by reference or by mutable reference.
macro_rules! push_operands {
    ($kind:expr, $list:ident) => {{
        use ExpressionKind as Kind;
        match $kind {
            Kind::Literal(_) | Kind::Parameter(_) | Kind::Slot(_) | Kind::Path { .. } | Kind::Subquery { .. } => {}
            Kind::Property { object, .. } | Kind::HasLabels { object, .. } => $list.push(object),
            Kind::Not(operand) | Kind::Negate(operand) => $list.push(operand),
            Kind::IsNull(operand) | Kind::IsNotNull(operand) => $list.push(operand),
            Kind::Subscript { object, index } => {
                $list.push(object);
                $list.push(index);
            }
            Kind::Slice { list, from, to } => {
                $list.push(list);
                if let Some(bound) = from {
                    $list.push(bound);
                }
                if let Some(bound) = to {
                    $list.push(bound);
                }
            }
            Kind::List(items) | Kind::And(items) | Kind::Or(items) => $list.extend(items),
            Kind::Function { arguments, .. } => $list.extend(arguments),
            Kind::Map(entries) => {
                for (_, value) in entries {
                    $list.push(value);
                }
            }
            Kind::MapProjection { object, entries, .. } => {
                $list.push(object);
                for (_, value) in entries {
                    $list.push(value);
                }
            }
            Kind::Xor(left, right) | Kind::Binary { left, right, .. } => {
                $list.push(left);
                $list.push(right);
            }
            Kind::Case { operand, whens, otherwise } => {
                if let Some(operand) = operand {
                    $list.push(operand);
                }
                for (condition, value) in whens {
                    $list.push(condition);
                    $list.push(value);
                }
                if let Some(otherwise) = otherwise {
                    $list.push(otherwise);
                }
            }
            Kind::ListComprehension { list, filter, body, .. } => {
                $list.push(list);
                if let Some(filter) = filter {
                    $list.push(filter);
                }
                if let Some(body) = body {
                    $list.push(body);
                }
            }
            Kind::Quantifier { list, predicate, .. } => {
                $list.push(list);
                $list.push(predicate);
            }
            Kind::Reduce { initial, list, body, predicate, .. } => {
                $list.push(initial);
                $list.push(list);
                $list.push(body);
                if let Some(predicate) = predicate {
                    $list.push(predicate);
                }
            }
        }
    }};
}

impl Operator {
    /// Its inputs and subplans, the main input first. Subplans within expressions are not among them.
    pub fn inputs(&self) -> Vec<&Operator> {
        let mut list: Vec<&Operator> = Vec::new();
        push_inputs!(&self.kind, list);
        list
    }

    /// Its inputs and subplans, to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut Operator> {
        let mut list: Vec<&mut Operator> = Vec::new();
        push_inputs!(&mut self.kind, list);
        list
    }

    /// The expressions that stand directly in it.
    pub fn expressions(&self) -> Vec<&Expression> {
        let mut list: Vec<&Expression> = Vec::new();
        push_operator_expressions!(&self.kind, list);
        list
    }

    /// The expressions that stand directly in it, to be changed.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expression> {
        let mut list: Vec<&mut Expression> = Vec::new();
        push_operator_expressions!(&mut self.kind, list);
        list
    }

    /// Shows it, all operators below it and those of subqueries in expressions.
    pub fn each<'o>(&'o self, look: &mut dyn FnMut(&'o Operator)) {
        look(self);
        self.inputs().into_iter().for_each(|input| input.each(look));
        self.expressions().into_iter().for_each(|expression| expression.each_operator(look));
    }

    /// The slots that it uses besides those in its expressions.
    pub fn plain_uses(&self) -> Vec<SlotId> {
        use OperatorKind as Kind;
        match &self.kind {
            Kind::Expand { from, to, into, distinct_from, .. }
            | Kind::VariableExpand { from, to, into, distinct_from, .. }
            | Kind::PathSearch { from, to, into, distinct_from, .. } => {
                let mut slots = distinct_from.clone();
                slots.push(*from);
                slots.extend(into.then_some(*to));
                slots
            }
            Kind::ShortestPath { from, to, into, .. } => std::iter::once(*from).chain(into.then_some(*to)).collect(),
            Kind::Intersect { legs, .. } => leg_uses(legs),
            Kind::Distinct { slots, .. } | Kind::Import { slots, .. } => slots.clone(),
            Kind::CountMatches { trees, .. } => trees.iter().map(|tree| tree.slot).collect(),
            Kind::PartialAggregate { slots, weight, whole_for, .. } => {
                slots.iter().chain(weight).chain(whole_for).copied().collect()
            }
            Kind::Union { branches, .. } => branches.iter().flat_map(|(_, slots)| slots.iter().copied()).collect(),
            Kind::Create { edges, .. } | Kind::Merge { edges, .. } => {
                edges.iter().flat_map(|edge| [edge.source, edge.target]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The slots that it adds to its input's, or computes anew.
    pub fn defined_slots(&self) -> Vec<SlotId> {
        use OperatorKind as Kind;
        match &self.kind {
            Kind::NodeScan { slot, .. }
            | Kind::NodeLookup { slot, .. }
            | Kind::NodeById { slot, .. }
            | Kind::EdgeById { slot, .. } => {
                vec![*slot]
            }
            Kind::IndexSeek { slot, .. } | Kind::NodeUnionScan { slot, .. } => vec![*slot],
            Kind::Unwind { slot, .. } | Kind::CountMatches { count: slot, .. } => vec![*slot],
            Kind::PartialAggregate { count, .. } => count.iter().copied().collect(),
            Kind::Expand { edge, to, into, .. } | Kind::VariableExpand { edges: edge, to, into, .. } => {
                edge.iter().copied().chain((!into).then_some(*to)).collect()
            }
            Kind::ShortestPath { edges, to, into, .. } => {
                std::iter::once(*edges).chain((!into).then_some(*to)).collect()
            }
            Kind::PathSearch { edges, counts, to, into, .. } => {
                [*edges, *counts].into_iter().chain((!into).then_some(*to)).collect()
            }
            Kind::Intersect { to, legs, .. } => legs.iter().filter_map(|leg| leg.edge).chain([*to]).collect(),
            Kind::Project { items, .. } | Kind::Extend { items, .. } => items.iter().map(|(slot, _)| *slot).collect(),
            Kind::Aggregate { keys, aggregates, .. } => {
                let aggregates = aggregates.iter().map(|aggregate| aggregate.slot);
                keys.iter().map(|(slot, _)| *slot).chain(aggregates).collect()
            }
            Kind::Union { slots, .. } | Kind::Held { slots } => slots.clone(),
            Kind::Call { yields, .. } => yields.iter().map(|(_, slot)| *slot).collect(),
            Kind::Import { slots, .. } => slots.clone(),
            Kind::ForEach { batches: Some(Batches { status: Some(status), .. }), .. } => vec![*status],
            Kind::Create { nodes, edges, .. } => new_slots(nodes, edges),
            Kind::Merge { nodes, edges, path, .. } => {
                let mut slots = new_slots(nodes, edges);
                slots.extend(path.iter().map(|(slot, _)| *slot));
                slots
            }
            _ => Vec::new(),
        }
    }

    /// Adds every slot that is read anywhere in this plan, in its expressions and in their subplans.
    pub fn used_slots(&self, slots: &mut Set<SlotId>) {
        slots.extend(self.plain_uses());
        self.expressions().into_iter().for_each(|expression| expression.used_slots(slots));
        self.inputs().into_iter().for_each(|input| input.used_slots(slots));
    }

    /// Calls `look` with the slots of each `Argument` from which its rows start. The subplans of `Apply` and its kin
    /// are not looked at: they start from the rows of the operator.
    pub fn arguments(&self, look: &mut dyn FnMut(&[SlotId])) {
        match &self.kind {
            OperatorKind::Argument { slots } => look(slots),
            OperatorKind::Union { branches, .. } => branches.iter().for_each(|(branch, _)| branch.arguments(look)),
            OperatorKind::CrossProduct { left, right } | OperatorKind::HashJoin { left, right, .. } => {
                left.arguments(look);
                right.arguments(look);
            }
            _ => {
                if let Some(input) = self.inputs().first() {
                    input.arguments(look);
                }
            }
        }
    }

    /// True if a subplan takes anything from the row around it.
    pub fn is_correlated(&self) -> bool {
        let mut is_correlated = false;
        self.arguments(&mut |slots| is_correlated |= !slots.is_empty());
        is_correlated
    }

    /// True if a plan gives something else each time it runs.
    pub fn is_random(&self) -> bool {
        self.expressions().into_iter().any(Expression::is_random) || self.inputs().into_iter().any(Operator::is_random)
    }

    /// True if it gives something else each time it runs for the same rows.
    pub fn is_random_step(&self) -> bool {
        self.expressions().into_iter().any(Expression::is_random)
            || self.inputs().into_iter().skip(1).any(Operator::is_random)
    }

    /// The operator at the start of the chain of main inputs.
    pub fn first(&self) -> &Operator {
        self.inputs().first().map_or(self, |input| input.first())
    }

    /// The operator at the start of the chain of main inputs, to be changed.
    pub fn first_mut(&mut self) -> &mut Operator {
        if self.inputs().is_empty() {
            return self;
        }
        self.inputs_mut().swap_remove(0).first_mut()
    }

    /// True if it or anything below it writes.
    pub fn writes(&self) -> bool {
        use OperatorKind as Kind;
        matches!(self.kind, Kind::Create { .. } | Kind::Merge { .. } | Kind::Set { .. } | Kind::Delete { .. })
            || self.inputs().into_iter().any(Operator::writes)
    }
}

/// The nodes that legs start from, the ends of the edges they must differ from, and, if they give edges, those edges.
fn leg_uses(legs: &[IntersectLeg]) -> Vec<SlotId> {
    let gives_edges = legs.iter().any(|leg| leg.edge.is_some());
    let mut slots: Vec<SlotId> = legs.iter().map(|leg| leg.from).collect();
    for bound in legs.iter().flat_map(|leg| &leg.distinct_from) {
        slots.extend([bound.left, bound.right]);
        slots.extend(gives_edges.then_some(bound.edge));
    }
    slots
}

fn new_slots(nodes: &[NewNode], edges: &[NewEdge]) -> Vec<SlotId> {
    nodes.iter().map(|node| node.slot).chain(edges.iter().map(|edge| edge.slot)).collect()
}

impl Expression {
    /// The slot that it is, if it is nothing else.
    pub(crate) fn as_slot(&self) -> Option<SlotId> {
        match self.kind {
            ExpressionKind::Slot(slot) => Some(slot),
            _ => None,
        }
    }

    /// True if it gives something else each time it is evaluated.
    pub fn is_random(&self) -> bool {
        let own = match &self.kind {
            ExpressionKind::Function { name, .. } => name.starts_with("rand"),
            ExpressionKind::Subquery { plan, .. } => plan.is_random(),
            _ => false,
        };
        own || self.operands().into_iter().any(Expression::is_random)
    }

    /// True if it or anything below it runs a plan for the row that it is computed for.
    pub fn has_subquery(&self) -> bool {
        matches!(self.kind, ExpressionKind::Subquery { .. })
            || self.operands().into_iter().any(Expression::has_subquery)
    }

    /// The expressions directly below it. Those within the plan of a subquery are not among them.
    pub fn operands(&self) -> Vec<&Expression> {
        let mut list: Vec<&Expression> = Vec::new();
        push_operands!(&self.kind, list);
        list
    }

    /// The expressions directly below it, to be changed.
    pub fn operands_mut(&mut self) -> Vec<&mut Expression> {
        let mut list: Vec<&mut Expression> = Vec::new();
        push_operands!(&mut self.kind, list);
        list
    }

    /// Adds every slot that is read in it, those that it defines for itself too.
    pub fn used_slots(&self, slots: &mut Set<SlotId>) {
        match &self.kind {
            ExpressionKind::Slot(slot) => {
                slots.insert(*slot);
            }
            ExpressionKind::Path { start, steps } => {
                slots.insert(*start);
                slots.extend(steps.iter().map(|step| match step {
                    PathStep::Edge(slot) | PathStep::Edges(slot) => *slot,
                }));
            }
            ExpressionKind::Subquery { plan, kind } => {
                plan.used_slots(slots);
                if let SubqueryKind::Collect(slot) = kind {
                    slots.insert(*slot);
                }
            }
            _ => self.operands().into_iter().for_each(|operand| operand.used_slots(slots)),
        }
    }

    /// Shows the operators of its subqueries.
    fn each_operator<'o>(&'o self, look: &mut dyn FnMut(&'o Operator)) {
        if let ExpressionKind::Subquery { plan, .. } = &self.kind {
            plan.each(look);
        }
        self.operands().into_iter().for_each(|operand| operand.each_operator(look));
    }

    /// Adds every slot whose value it needs from the row that it is computed for.
    pub fn free_slots(&self, slots: &mut Set<SlotId>) {
        match &self.kind {
            ExpressionKind::Subquery { plan, .. } => {
                plan.arguments(&mut |taken| slots.extend(taken.iter().copied()));
            }
            ExpressionKind::Slot(_) | ExpressionKind::Path { .. } => self.used_slots(slots),
            _ => {
                let mut inner = Set::default();
                self.operands().into_iter().for_each(|operand| operand.free_slots(&mut inner));
                self.local_slots().into_iter().for_each(|local| {
                    inner.remove(&local);
                });
                slots.extend(inner);
            }
        }
    }

    /// The slots that it defines for the expressions directly below it.
    fn local_slots(&self) -> Vec<SlotId> {
        match &self.kind {
            ExpressionKind::ListComprehension { slot, .. } | ExpressionKind::Quantifier { slot, .. } => vec![*slot],
            ExpressionKind::Reduce { accumulator, slot, .. } => vec![*accumulator, *slot],
            _ => Vec::new(),
        }
    }

    /// True if it needs no slot of the row that it is computed for.
    pub fn is_row_independent(&self) -> bool {
        let mut slots = Set::default();
        self.free_slots(&mut slots);
        slots.is_empty()
    }
}
