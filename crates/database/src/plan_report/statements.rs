//! The statements that the operators of a plan send to attached databases.
//!
//! Values that are known only when the plan runs are parameters in them, so what is asked here has values of any kind.

use std::ops::Bound;
use std::sync::Arc;

use cypher::plan::{
    CountedNode, Expression, ExpressionKind, IndexRange, NodeChoice, NodesFirst, Operator, OperatorKind, Plan,
    PushedNode, PushedPattern, SlotId, node_test,
};
use model::{
    Access, Column, Condition, Direction, EdgeTypeId, Expand, FirstNodes, GraphPattern, Index, IndexScan, KeyOrder,
    KeyRange, LabelId, Map, NodeScan, PropertyKeyId, ReadView, Subject, Value,
};

/// The statements of each operator, in the order in which plans are shown.
pub(crate) fn of(plan: &Plan, view: &dyn ReadView) -> Vec<Vec<Arc<str>>> {
    let mut asking = Asking { view, labels: Map::default(), found: Vec::new(), reads: Map::default() };
    asking.note_labels(&plan.root);
    asking.add(&plan.root);
    asking.found
}

struct Asking<'a> {
    view: &'a dyn ReadView,
    /// A label that the node of a slot carries.
    labels: Map<SlotId, LabelId>,
    /// The properties that are read of a slot anywhere.
    reads: Map<SlotId, Vec<PropertyKeyId>>,
    found: Vec<Vec<Arc<str>>>,
}

impl Asking<'_> {
    /// Goes through the plan once, for what slots are.
    fn note_labels(&mut self, plan: &Operator) {
        match &plan.kind {
            OperatorKind::NodeScan { slot, labels, .. } => {
                if let Some(label) = labels.first() {
                    self.note(*slot, label);
                }
            }
            OperatorKind::NodeLookup { slot, label, .. } => self.note(*slot, label),
            OperatorKind::IndexSeek { slot, subject, on_edges: false, .. } => self.note(*slot, subject),
            OperatorKind::Filter { predicate, .. } => self.note_tests(predicate),
            _ => {}
        }
        plan.inputs().into_iter().for_each(|input| self.note_labels(input));
        plan.expressions().into_iter().for_each(|expression| self.note_reads(expression));
    }

    fn note(&mut self, slot: SlotId, label: &str) {
        if let Some(label) = self.view.schema().label(label) {
            self.labels.entry(slot).or_insert(label);
        }
    }

    fn note_tests(&mut self, predicate: &Expression) {
        match &predicate.kind {
            ExpressionKind::And(items) => items.iter().for_each(|item| self.note_tests(item)),
            ExpressionKind::HasLabels { object, labels } => {
                if let (ExpressionKind::Slot(slot), Some(label)) = (&object.kind, labels.first()) {
                    self.note(*slot, label);
                }
            }
            _ => {}
        }
    }

    fn note_reads(&mut self, expression: &Expression) {
        if let Some((slot, key)) = self.read_of(expression) {
            let keys = self.reads.entry(slot).or_default();
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        if let ExpressionKind::Subquery { plan, .. } = &expression.kind {
            self.note_labels(plan);
        }
        expression.operands().into_iter().for_each(|operand| self.note_reads(operand));
    }

    /// The slot and the key, if a property of a slot is read.
    fn read_of(&self, expression: &Expression) -> Option<(SlotId, PropertyKeyId)> {
        let ExpressionKind::Property { object, key } = &expression.kind else { return None };
        let ExpressionKind::Slot(slot) = object.kind else { return None };
        Some((slot, self.view.schema().property_key(key)?))
    }

    /// Adds the statements of an operator, its inputs, and the subplans of its expressions.
    fn add(&mut self, operator: &Operator) {
        let mut statements = Vec::new();
        self.add_kind(&operator.kind, &mut statements);
        self.add_reads(operator, &mut statements);
        let mut seen: Vec<Arc<str>> = Vec::new();
        for statement in statements {
            if !seen.contains(&statement) {
                seen.push(statement);
            }
        }
        // Operators that run only if the source does not answer send nothing.
        let is_answered = matches!(operator.kind, OperatorKind::PushedPattern { .. }) && !seen.is_empty();
        self.found.push(seen);
        if is_answered {
            let mut below = 0;
            operator.inputs().into_iter().for_each(|input| input.each(&mut |_| below += 1));
            self.found.resize(self.found.len() + below, Vec::new());
            return;
        }
        operator.inputs().into_iter().for_each(|input| self.add(input));
        let expressions = operator.expressions();
        expressions.into_iter().for_each(|expression| self.add_subqueries(expression));
    }

    fn add_subqueries(&mut self, expression: &Expression) {
        if let ExpressionKind::Subquery { plan, .. } = &expression.kind {
            self.add(plan);
        }
        expression.operands().into_iter().for_each(|operand| self.add_subqueries(operand));
    }

    fn ask(&self, access: &Access<'_>, statements: &mut Vec<Arc<str>>) {
        statements.extend(self.view.statements(access));
    }

    fn add_kind(&self, kind: &OperatorKind, statements: &mut Vec<Arc<str>>) {
        match kind {
            OperatorKind::NodeScan { slot, labels, choice, .. } => {
                let keys = self.reads.get(slot).cloned().unwrap_or_default();
                self.add_scan(labels, keys, choice.as_deref().map(|choice| (*slot, choice)), statements);
            }
            OperatorKind::PushedPattern { pattern, .. } => {
                if let Some(asked) = self.pattern(pattern) {
                    self.ask(&Access::Pattern(&asked), statements);
                }
            }
            OperatorKind::NodeUnionScan { labels, any, .. } => {
                for label in any {
                    let labels: Vec<Arc<str>> = labels.iter().chain([label]).cloned().collect();
                    self.add_scan(&labels, Vec::new(), None, statements);
                }
            }
            OperatorKind::NodeLookup { label, key, .. } => {
                let schema = self.view.schema();
                if let Some((label, key)) = schema.label(label).zip(schema.property_key(key)) {
                    self.ask(&Access::Lookup(label, key), statements);
                }
            }
            OperatorKind::IndexSeek { .. } => {
                if let Some(scan) = self.seek(kind) {
                    self.ask(&Access::Index(&scan), statements);
                }
            }
            OperatorKind::Expand { direction, types, .. }
            | OperatorKind::VariableExpand { direction, types, .. }
            | OperatorKind::ShortestPath { direction, types, .. } => self.add_expand(*direction, types, statements),
            OperatorKind::Intersect { legs, .. } => {
                legs.iter().for_each(|leg| self.add_expand(leg.direction, &leg.types, statements));
            }
            OperatorKind::CountMatches { trees, .. } => {
                trees.iter().for_each(|tree| self.add_tree(tree, statements));
            }
            _ => {}
        }
    }

    fn add_scan(
        &self,
        labels: &[Arc<str>],
        keys: Vec<PropertyKeyId>,
        choice: Option<(SlotId, &NodeChoice)>,
        statements: &mut Vec<Arc<str>>,
    ) {
        let schema = self.view.schema();
        let labels: Option<Vec<LabelId>> = labels.iter().map(|label| schema.label(label)).collect();
        let Some(labels) = labels else { return };
        let mut scan = NodeScan { labels, keys, ..NodeScan::default() };
        if let Some((slot, choice)) = choice {
            scan.filter = self.conditions(slot, &choice.conditions);
            scan.first = choice.first.as_ref().map(|first| self.first(first));
        }
        self.ask(&Access::Scan(&scan), statements);
    }

    /// The conditions on the node of a slot.
    fn conditions(&self, slot: SlotId, conditions: &[Expression]) -> Vec<Condition<PropertyKeyId>> {
        let tests = conditions.iter().filter_map(|condition| node_test(condition, slot));
        let conditions = tests.filter_map(|test| test.condition(&mut |value| Ok(known(value))).ok());
        let conditions = conditions.filter_map(|test| test.known(&|key| self.view.schema().property_key(key)));
        // Conditions that never hold here may hold of the parameters that are given.
        conditions.filter(|condition| !condition.is_never()).collect()
    }

    /// A pattern as a store is asked for it.
    fn pattern(&self, pushed: &PushedPattern) -> Option<GraphPattern> {
        let asked = pushed.asked(pushed.columns.iter().map(|(slot, _)| *slot));
        let mut conditions = |at: usize| {
            let PushedNode { slot, conditions, .. } = &pushed.nodes[at];
            Ok(Some(self.conditions(*slot, conditions)))
        };
        let limit = pushed.first.as_ref().map(|first| limit_of(&first.limit));
        pushed.query(self.view.schema(), &asked, &mut conditions, limit).ok().flatten()
    }

    fn first(&self, first: &NodesFirst) -> FirstNodes {
        let key = |(key, order): &(Arc<str>, KeyOrder)| Some((self.view.schema().property_key(key)?, *order));
        FirstNodes { order: first.order.iter().filter_map(key).collect(), limit: limit_of(&first.limit) }
    }

    fn add_expand(&self, direction: Direction, types: &[Arc<str>], statements: &mut Vec<Arc<str>>) {
        let known: Vec<EdgeTypeId> = types.iter().filter_map(|name| self.view.schema().edge_type(name)).collect();
        if !types.is_empty() && known.is_empty() {
            return;
        }
        let types = (!types.is_empty()).then_some(known);
        self.ask(&Access::Expand(&Expand { direction, types, ..Expand::default() }), statements);
    }

    fn add_tree(&self, node: &CountedNode, statements: &mut Vec<Arc<str>>) {
        for branch in &node.branches {
            self.add_expand(branch.direction, &branch.types, statements);
            self.add_tree(&branch.node, statements);
        }
        node.nested.iter().for_each(|nested| self.add_tree(&nested.node, statements));
    }

    fn seek(&self, kind: &OperatorKind) -> Option<IndexScan> {
        let OperatorKind::IndexSeek { subject, on_edges, keys, equal, range, .. } = kind else { return None };
        let schema = self.view.schema();
        let subject = match on_edges {
            true => Subject::EdgeType(schema.edge_type(subject)?),
            false => Subject::Label(schema.label(subject)?),
        };
        let keys: Option<Vec<PropertyKeyId>> = keys.iter().map(|key| schema.property_key(key)).collect();
        let index = Index { name: "".into(), subject, keys: keys? };
        let equal = equal.iter().map(|value| Column::constant(&known(value), 1)).collect();
        let range = match range {
            IndexRange::All => KeyRange::All,
            IndexRange::StartsWith(prefix) => match known(prefix) {
                Value::String(prefix) => KeyRange::StartsWith(prefix),
                _ => KeyRange::StartsWith("".into()),
            },
            IndexRange::Between { lower, upper } => {
                let bound = |bound: &Option<(Expression, bool)>| match bound {
                    None => Bound::Unbounded,
                    Some((value, true)) => Bound::Included(known(value)),
                    Some((value, false)) => Bound::Excluded(known(value)),
                };
                KeyRange::Between(bound(lower), bound(upper))
            }
        };
        Some(IndexScan { index, equal, rows: 1, range, order: KeyOrder::Ascending })
    }

    /// Properties that an operator reads of nodes that were found without them.
    fn add_reads(&self, operator: &Operator, statements: &mut Vec<Arc<str>>) {
        let mut reads: Vec<(SlotId, Vec<PropertyKeyId>)> = Vec::new();
        for expression in operator.expressions() {
            self.collect_reads(expression, &mut reads);
        }
        for (slot, keys) in reads {
            // A scan brings along the properties that are read of its nodes, unless its result was to be kept and was
            // dropped.
            if !self.is_scanned(operator, slot) && self.is_node(operator, slot) {
                self.ask(&Access::NodeProperties(self.labels.get(&slot).copied(), &keys), statements);
            }
        }
    }

    fn collect_reads(&self, expression: &Expression, reads: &mut Vec<(SlotId, Vec<PropertyKeyId>)>) {
        if let Some((slot, key)) = self.read_of(expression) {
            match reads.iter_mut().find(|(held, _)| *held == slot) {
                Some((_, keys)) if keys.contains(&key) => {}
                Some((_, keys)) => keys.push(key),
                None => reads.push((slot, vec![key])),
            }
        }
        expression.operands().into_iter().for_each(|operand| self.collect_reads(operand, reads));
    }

    fn is_scanned(&self, operator: &Operator, slot: SlotId) -> bool {
        matches!(&operator.kind, OperatorKind::NodeScan { slot: found, .. } if *found == slot)
            || operator.inputs().into_iter().any(|input| self.is_scanned(input, slot))
    }

    /// True if an operator below finds the node of that slot.
    fn is_node(&self, operator: &Operator, slot: SlotId) -> bool {
        use OperatorKind as Kind;
        let finds = match &operator.kind {
            Kind::NodeLookup { slot: found, .. } | Kind::NodeById { slot: found, .. } => *found == slot,
            Kind::NodeUnionScan { slot: found, .. } => *found == slot,
            Kind::IndexSeek { slot: found, on_edges: false, .. } => *found == slot,
            Kind::Expand { to, .. } | Kind::VariableExpand { to, .. } | Kind::ShortestPath { to, .. } => *to == slot,
            Kind::PathSearch { to, .. } | Kind::Intersect { to, .. } => *to == slot,
            _ => false,
        };
        finds || operator.inputs().into_iter().any(|input| self.is_node(input, slot))
    }
}

fn limit_of(limit: &Expression) -> u64 {
    match known(limit) {
        Value::Int(limit) => u64::try_from(limit).unwrap_or_default(),
        _ => 0,
    }
}

/// A literal's value, or any other.
fn known(value: &Expression) -> Value {
    match &value.kind {
        ExpressionKind::Literal(value) if !value.is_null() => value.clone(),
        _ => Value::Int(0),
    }
}
