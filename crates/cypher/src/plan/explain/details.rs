//! Details of what each operator does, in the words of Cypher.

mod counting;

use std::sync::Arc;

use model::{Direction, KeyOrder, Rule};

use super::PlanRow;
use super::expression::{Printed, SlotNames, quoted};
use crate::plan::{
    Aggregate, Batches, EdgeChoice, EdgeCondition, EdgeFirst, Expression, ExpressionKind, ForEachResult, IndexRange,
    IntersectLeg, LookupValue, NewEdge, NewNode, NewRule, NodeChoice, NodesFirst, OnError, Operator, OperatorKind,
    PushedFirst, PushedPattern, Retry, RuleKind, SetItem, SlotId, SlotInfo, SortKey,
};

/// Adds the rows of an operator, its inputs, and the subplans of its expressions.
pub(super) fn push_rows(operator: &Operator, depth: usize, slots: &[SlotInfo], rows: &mut Vec<PlanRow>) {
    let writer = Details { names: SlotNames::Named(slots) };
    rows.push(PlanRow {
        depth,
        id: operator.id,
        operator: name(&operator.kind),
        details: writer.of(&operator.kind),
        estimated_rows: operator.estimated_rows,
    });
    operator.inputs().into_iter().for_each(|input| push_rows(input, depth + 1, slots, rows));
    let expressions = operator.expressions();
    expressions.into_iter().for_each(|expression| push_subqueries(expression, depth + 1, slots, rows));
}

fn push_subqueries(expression: &Expression, depth: usize, slots: &[SlotInfo], rows: &mut Vec<PlanRow>) {
    if let ExpressionKind::Subquery { plan, .. } = &expression.kind {
        push_rows(plan, depth, slots, rows);
    }
    expression.operands().into_iter().for_each(|operand| push_subqueries(operand, depth, slots, rows));
}

/// The depth and name of an operator and of those below it, except in subqueries of expressions.
pub(super) fn each_name(operator: &Operator, depth: usize, each: &mut dyn FnMut(usize, &'static str)) {
    each(depth, name(&operator.kind));
    operator.inputs().into_iter().for_each(|input| each_name(input, depth + 1, each));
}

/// The name of an operator.
fn name(kind: &OperatorKind) -> &'static str {
    use OperatorKind as Kind;
    match kind {
        Kind::Unit => "Unit",
        Kind::Argument { .. } => "Argument",
        Kind::Held { .. } => "Held",
        Kind::NodeScan { .. } => "NodeScan",
        Kind::NodeLookup { .. } => "NodeLookup",
        Kind::IndexSeek { on_edges: false, range: IndexRange::All, .. } => "NodeIndexSeek",
        Kind::IndexSeek { on_edges: false, .. } => "NodeIndexRange",
        Kind::IndexSeek { on_edges: true, range: IndexRange::All, .. } => "EdgeIndexSeek",
        Kind::IndexSeek { on_edges: true, .. } => "EdgeIndexRange",
        Kind::NodeById { .. } => "NodeById",
        Kind::EdgeById { .. } => "EdgeById",
        Kind::Expand { .. } => "Expand",
        Kind::VariableExpand { .. } => "VariableExpand",
        Kind::ShortestPath { .. } => "ShortestPath",
        Kind::PathSearch { .. } => "PathSearch",
        Kind::Intersect { .. } => "Intersect",
        Kind::Filter { .. } => "Filter",
        Kind::Project { .. } => "Project",
        Kind::Extend { .. } => "Extend",
        Kind::Distinct { .. } => "Distinct",
        Kind::PartialAggregate { .. } => "PartialAggregate",
        Kind::Aggregate { .. } => "Aggregate",
        Kind::PushedPattern { pattern, .. } if pattern.is_grouped => "PushedAggregate",
        Kind::PushedPattern { .. } => "PushedJoin",
        Kind::Sort { .. } => "Sort",
        Kind::Top { .. } => "Top",
        Kind::Skip { .. } => "Skip",
        Kind::Limit { .. } => "Limit",
        Kind::Unwind { .. } => "Unwind",
        Kind::Union { .. } => "Union",
        Kind::Apply { .. } => "Apply",
        Kind::Optional { .. } => "Optional",
        Kind::SemiApply { anti: false, .. } => "SemiApply",
        Kind::SemiApply { anti: true, .. } => "AntiSemiApply",
        Kind::CrossProduct { .. } => "CrossProduct",
        Kind::HashJoin { .. } => "HashJoin",
        Kind::CountMatches { .. } => "CountMatches",
        Kind::Call { .. } => "Call",
        Kind::DeclareEnds { .. } => "DeclareEnds",
        Kind::CreateSortKey { .. } => "CreateSortKey",
        Kind::DropSortKey { .. } => "DropSortKey",
        Kind::Create { .. } => "Create",
        Kind::Merge { .. } => "Merge",
        Kind::Set { .. } => "Set",
        Kind::Delete { .. } => "Delete",
        Kind::Import { .. } => "Import",
        Kind::NodeUnionScan { .. } => "NodeUnionScan",
        Kind::ForEach { result: ForEachResult::Ignored | ForEachResult::IgnoredAtOnce, .. } => "ForEach",
        Kind::ForEach { result: ForEachResult::Joined, .. } => "ApplyEach",
        Kind::ForEach { result: ForEachResult::Optional, .. } => "OptionalEach",
        Kind::CreateRule { rule: NewRule { rule: Some(_), .. }, .. } => "CreateConstraint",
        Kind::CreateRule { .. } => "CreateIndex",
        Kind::DropRule { kind: RuleKind::Constraint, .. } => "DropConstraint",
        Kind::DropRule { kind: RuleKind::Index, .. } => "DropIndex",
    }
}

/// Writes details with the names of one plan's slots.
pub(super) struct Details<'a> {
    pub(super) names: SlotNames<'a>,
}

/// Fields that the three operators that follow edges have in common.
struct EdgeWalk<'a> {
    from: SlotId,
    direction: Direction,
    edge: Option<SlotId>,
    types: &'a [Arc<str>],
    length: String,
    to: SlotId,
}

impl Details<'_> {
    fn of(&self, kind: &OperatorKind) -> String {
        use OperatorKind as Kind;
        match kind {
            Kind::Unit | Kind::Apply { .. } | Kind::SemiApply { .. } | Kind::CrossProduct { .. } => String::new(),
            Kind::Argument { slots } | Kind::Held { slots } | Kind::Distinct { slots, .. } => self.slots(slots),
            Kind::Optional { slots, .. } | Kind::Union { slots, .. } | Kind::Import { slots, .. } => self.slots(slots),
            Kind::ForEach { slots, result, batches, .. } => self.for_each(slots, *result, batches.as_ref()),
            Kind::NodeUnionScan { slot, labels, any, .. } => self.union_scan(*slot, labels, any),
            Kind::NodeScan { slot, labels, choice, .. } => self.node_scan(*slot, labels, choice.as_deref()),
            Kind::NodeLookup { slot, label, key, value, .. } => {
                format!("{}:{}({}) {}", self.names.of(*slot), quoted(label), quoted(key), self.lookup(value))
            }
            Kind::IndexSeek { .. } => self.index_seek(kind),
            Kind::NodeById { slot, value, .. } => format!("id({}) {}", self.names.of(*slot), self.lookup(value)),
            Kind::EdgeById { slot, value, .. } => {
                format!("elementId({}) {}", self.names.of(*slot), self.lookup(value))
            }
            Kind::Expand { .. } | Kind::VariableExpand { .. } | Kind::ShortestPath { .. } => self.walk_details(kind),
            Kind::PathSearch { .. } => self.search_details(kind),
            Kind::Intersect { to, labels, legs, .. } => self.intersection(*to, labels, legs),
            Kind::Filter { predicate, .. } => self.expression(predicate),
            Kind::Project { items, .. } | Kind::Extend { items, .. } => self.items(items),
            Kind::Aggregate { keys, aggregates, .. } => {
                let aggregates: Vec<String> = aggregates.iter().map(|aggregate| self.aggregate(aggregate)).collect();
                let separator = if keys.is_empty() || aggregates.is_empty() { "" } else { "; " };
                format!("{}{separator}{}", self.items(keys), aggregates.join(", "))
            }
            Kind::PartialAggregate { .. } => self.partial_aggregate(kind),
            Kind::PushedPattern { pattern, .. } => self.pushed(pattern),
            Kind::Sort { keys, .. } => self.sort_keys(keys),
            Kind::Top { keys, limit, .. } => format!("{} LIMIT {}", self.sort_keys(keys), self.expression(limit)),
            Kind::Skip { count, .. } | Kind::Limit { count, .. } => self.expression(count),
            Kind::Unwind { list, slot, .. } => format!("{} AS {}", self.expression(list), self.names.of(*slot)),
            Kind::HashJoin { on, .. } => self.pairs(on),
            Kind::Call { procedure, arguments, yields, .. } => {
                let slots: Vec<SlotId> = yields.iter().map(|(_, slot)| *slot).collect();
                let yielded = if slots.is_empty() { String::new() } else { format!(" YIELD {}", self.slots(&slots)) };
                format!("{procedure}({}){yielded}", self.list(arguments))
            }
            Kind::DeclareEnds { edge_type, ends, .. } => {
                let pairs: Vec<String> =
                    ends.iter().map(|ends| format!("FROM {} TO {}", quoted(&ends.from), quoted(&ends.to))).collect();
                format!("OF [:{}] {}", quoted(edge_type), pairs.join(", "))
            }
            Kind::CreateSortKey { edge_type, keys, .. } => {
                let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
                format!("FOR [:{}] ON ({})", quoted(edge_type), keys.join(", "))
            }
            Kind::DropSortKey { edge_type, .. } => format!("FOR [:{}]", quoted(edge_type)),
            Kind::Create { nodes, edges, .. } => self.new_entities(nodes, edges),
            Kind::Merge { nodes, edges, on_create, on_match, .. } => {
                let mut text = self.new_entities(nodes, edges);
                for (title, items) in [(" ON CREATE SET ", on_create), (" ON MATCH SET ", on_match)] {
                    if !items.is_empty() {
                        text.push_str(title);
                        text.push_str(&self.set_items(items));
                    }
                }
                text
            }
            Kind::CountMatches { count, trees, .. } => counting::details(self, *count, trees),
            Kind::Set { items, .. } => self.set_items(items),
            Kind::Delete { expressions, detach, .. } => {
                format!("{}{}", if *detach { "DETACH " } else { "" }, self.list(expressions))
            }
            Kind::CreateRule { rule, .. } => new_rule(rule),
            Kind::DropRule { name, .. } => quoted(name),
        }
    }

    fn partial_aggregate(&self, kind: &OperatorKind) -> String {
        let OperatorKind::PartialAggregate { slots, weight, count, whole_for, .. } = kind else {
            return String::new();
        };
        let mut text = self.slots(slots);
        if let Some(count) = count {
            let number =
                weight.map_or_else(|| "count(*)".to_owned(), |weight| format!("sum({})", self.names.of(weight)));
            text.push_str(&format!("; {number} AS {}", self.names.of(*count)));
        }
        if let Some(node) = whole_for {
            text.push_str(&format!(", whole for each {}", self.names.of(*node)));
        }
        text
    }

    fn intersection(&self, to: SlotId, labels: &[Arc<str>], legs: &[IntersectLeg]) -> String {
        let mut text = format!("({}{})", self.names.of(to), label_list(labels));
        for (index, leg) in legs.iter().enumerate() {
            let IntersectLeg { from, direction, types, edge, distinct_from, .. } = leg;
            let length = String::new();
            let walk = EdgeWalk { from: *from, direction: *direction, edge: *edge, types, length, to };
            text.push_str(if index == 0 { " of " } else { " and " });
            text.push_str(&self.walk(&walk));
            let taken: Vec<SlotId> = distinct_from.iter().map(|bound| bound.edge).collect();
            if !taken.is_empty() {
                text.push_str(&format!(" other than {}", self.slots(&taken)));
            }
        }
        text
    }

    fn union_scan(&self, slot: SlotId, labels: &[Arc<str>], any: &[Arc<str>]) -> String {
        let join =
            |labels: &[Arc<str>], sign: &str| labels.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(sign);
        match labels.is_empty() {
            true => format!("{}:{}", self.names.of(slot), join(any, "|")),
            false => format!("{}:{}&({})", self.names.of(slot), join(labels, "&"), join(any, "|")),
        }
    }

    fn for_each(&self, slots: &[SlotId], result: ForEachResult, batches: Option<&Batches>) -> String {
        let mut parts = Vec::new();
        match result {
            ForEachResult::IgnoredAtOnce => parts.push("at once".to_string()),
            _ if slots.is_empty() => {}
            _ => parts.push(self.slots(slots)),
        }
        if let Some(Batches { rows, concurrent, on_error, retry, status }) = batches {
            let mut text = "in transactions".to_string();
            text.extend(rows.as_ref().map(|rows| format!(" of {} rows", self.expression(rows))));
            text.push_str(if concurrent.is_some() { " concurrent" } else { "" });
            if let Some(Retry { seconds }) = retry {
                text.push_str(" retry");
                text.extend(seconds.as_ref().map(|seconds| format!(" {} seconds", self.expression(seconds))));
            }
            text.push_str(match on_error {
                OnError::Fail => "",
                OnError::Continue => " on error continue",
                OnError::Break => " on error break",
            });
            text.extend(status.map(|slot| format!(" status {}", self.names.of(slot))));
            parts.push(text);
        }
        parts.join("; ")
    }

    /// Describes the edges that are wanted, and how they are found.
    fn choice(&self, choice: &EdgeChoice) -> String {
        let condition = |condition: &EdgeCondition| {
            let EdgeCondition { key, operator, value } = condition;
            format!("{} {} {}", quoted(key), operator.symbol(), self.expression(value))
        };
        let mut text = String::new();
        for (word, conditions) in [("by key", &choice.conditions), ("where", &choice.tests)] {
            let conditions: Vec<String> = conditions.iter().map(condition).collect();
            if !conditions.is_empty() {
                text.push_str(&format!(" {word} {}", conditions.join(" AND ")));
            }
        }
        if let Some(EdgeFirst { keys, descending, limit, .. }) = &choice.first {
            let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
            let direction = if *descending { " DESC" } else { "" };
            text.push_str(&format!(" first {} by {}{direction}", self.expression(limit), keys.join(", ")));
        }
        text
    }

    fn walk_details(&self, kind: &OperatorKind) -> String {
        let (walk, into, distinct_from, filter) = match kind {
            OperatorKind::Expand { from, direction, types, edge, to, into, distinct_from, .. } => {
                let length = String::new();
                let walk = EdgeWalk { from: *from, direction: *direction, edge: *edge, types, length, to: *to };
                (walk, *into, distinct_from.as_slice(), &None)
            }
            OperatorKind::VariableExpand {
                from,
                direction,
                types,
                min,
                max,
                edges,
                to,
                into,
                filter,
                distinct_from,
                ..
            } => {
                let length = length(*min, *max);
                let walk = EdgeWalk { from: *from, direction: *direction, edge: *edges, types, length, to: *to };
                (walk, *into, distinct_from.as_slice(), filter)
            }
            OperatorKind::ShortestPath { from, to, direction, types, min, max, edges, filter, .. } => {
                let length = length(*min, *max);
                let walk = EdgeWalk { from: *from, direction: *direction, edge: Some(*edges), types, length, to: *to };
                (walk, false, [].as_slice(), filter)
            }
            _ => return String::new(),
        };
        let mut text = self.walk(&walk);
        if matches!(kind, OperatorKind::ShortestPath { all: true, .. }) {
            text.insert_str(0, "all ");
        }
        if matches!(kind, OperatorKind::ShortestPath { into: false, .. }) {
            text.push_str(" from one");
        }
        if into {
            text.push_str(" into");
        }
        if let Some(filter) = filter {
            let slot = self.names.of(filter.slot);
            let node = |node: Option<SlotId>| node.map_or_else(String::new, |node| self.names.of(node));
            let each = match (filter.from, filter.to) {
                (None, None) => slot,
                (from, to) => format!("({})-[{slot}]-({})", node(from), node(to)),
            };
            text.push_str(&format!(" each {each} WHERE {}", self.expression(&filter.predicate)));
        }
        if let OperatorKind::VariableExpand { edges: Some(edges), running: Some(running), .. } = kind {
            let mut running = (**running).clone();
            if let ExpressionKind::Reduce { list, .. } = &mut running.kind {
                list.kind = ExpressionKind::Slot(*edges);
            }
            text.push_str(&format!(" while {}", self.expression(&running)));
        }
        if matches!(kind, OperatorKind::VariableExpand { repeats: true, .. }) {
            text.push_str(" repeating");
        }
        if let OperatorKind::Expand { choice: Some(choice), .. } = kind {
            text.push_str(&self.choice(choice));
        }
        if !distinct_from.is_empty() {
            text.push_str(&format!(" other than {}", self.slots(distinct_from)));
        }
        text
    }

    fn walk(&self, walk: &EdgeWalk<'_>) -> String {
        let edge = walk.edge.map_or_else(String::new, |slot| self.names.of(slot));
        let (left, right) = match walk.direction {
            Direction::Out => ("-", "->"),
            Direction::In => ("<-", "-"),
            Direction::Both => ("-", "-"),
        };
        let (from, to) = (self.names.of(walk.from), self.names.of(walk.to));
        format!("({from}){left}[{edge}{}{}]{right}({to})", type_list(walk.types), walk.length)
    }

    pub(super) fn expression(&self, expression: &Expression) -> String {
        Printed(expression, self.names).to_string()
    }

    fn pairs(&self, pairs: &[(Expression, Expression)]) -> String {
        let pair = |(left, right): &(Expression, Expression)| {
            format!("{} = {}", self.expression(left), self.expression(right))
        };
        pairs.iter().map(pair).collect::<Vec<_>>().join(" AND ")
    }

    fn list(&self, expressions: &[Expression]) -> String {
        expressions.iter().map(|expression| self.expression(expression)).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn slots(&self, slots: &[SlotId]) -> String {
        slots.iter().map(|&slot| self.names.of(slot)).collect::<Vec<_>>().join(", ")
    }

    fn items(&self, items: &[(SlotId, Expression)]) -> String {
        let item = |slot: SlotId, value: &Expression| {
            let (value, name) = (self.expression(value), self.names.of(slot));
            if value == name || format!("`{value}`") == name { value } else { format!("{value} AS {name}") }
        };
        items.iter().map(|(slot, value)| item(*slot, value)).collect::<Vec<_>>().join(", ")
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        let distinct = if aggregate.distinct { "DISTINCT " } else { "" };
        let arguments = if aggregate.arguments.is_empty() { "*".to_string() } else { self.list(&aggregate.arguments) };
        let call = format!("{}({distinct}{arguments})", aggregate.function);
        let name = self.names.of(aggregate.slot);
        if format!("`{call}`") == name { call } else { format!("{call} AS {name}") }
    }

    fn pushed(&self, pattern: &PushedPattern) -> String {
        let slots: Vec<SlotId> = pattern.columns.iter().map(|(slot, _)| *slot).collect();
        let mut text = self.slots(&slots);
        let Some(PushedFirst { order, limit }) = &pattern.first else { return text };
        text.push_str(" pushed:");
        let down = |descending: bool| if descending { " DESC" } else { "" };
        let key = |&(at, descending): &(usize, bool)| format!("{}{}", self.names.of(slots[at]), down(descending));
        if !order.is_empty() {
            text.push_str(&format!(" ORDER BY {}", order.iter().map(key).collect::<Vec<_>>().join(", ")));
        }
        text.push_str(&format!(" LIMIT {}", self.expression(limit)));
        text
    }

    fn node_scan(&self, slot: SlotId, labels: &[Arc<str>], choice: Option<&NodeChoice>) -> String {
        let mut text = format!("{}{}", self.names.of(slot), label_list(labels));
        let Some(choice) = choice else { return text };
        let conditions: Vec<String> = choice.conditions.iter().map(|condition| self.expression(condition)).collect();
        text.push_str(" pushed:");
        if !conditions.is_empty() {
            text.push_str(&format!(" {}", conditions.join(" AND ")));
        }
        if let Some(NodesFirst { order, limit }) = &choice.first {
            let node = self.names.of(slot);
            let down = |order: KeyOrder| if order == KeyOrder::Descending { " DESC" } else { "" };
            let keys = order.iter().map(|(key, order)| format!("{node}.{}{}", quoted(key), down(*order)));
            let keys: Vec<String> = keys.collect();
            if !keys.is_empty() {
                text.push_str(&format!(" ORDER BY {}", keys.join(", ")));
            }
            text.push_str(&format!(" LIMIT {}", self.expression(limit)));
        }
        text
    }

    fn sort_keys(&self, keys: &[SortKey]) -> String {
        let key = |key: &SortKey| {
            format!("{}{}", self.expression(&key.expression), if key.descending { " DESC" } else { "" })
        };
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    }

    fn index_seek(&self, kind: &OperatorKind) -> String {
        let OperatorKind::IndexSeek { slot, subject, keys, equal, is_list, range, .. } = kind else {
            return String::new();
        };
        let mut parts: Vec<String> = Vec::new();
        for (at, (key, value)) in keys.iter().zip(equal).enumerate() {
            let operator = if *is_list && at + 1 == equal.len() { "IN" } else { "=" };
            parts.push(format!("{} {operator} {}", quoted(key), self.expression(value)));
        }
        if let Some(key) = keys.get(equal.len()) {
            parts.extend(self.index_range(&quoted(key), range));
        }
        let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
        let index = format!("{}:{}({})", self.names.of(*slot), quoted(subject), keys.join(", "));
        format!("{index} {}", parts.join(" AND "))
    }

    fn index_range(&self, key: &str, range: &IndexRange) -> Vec<String> {
        match range {
            IndexRange::All => Vec::new(),
            IndexRange::StartsWith(prefix) => vec![format!("{key} STARTS WITH {}", self.expression(prefix))],
            IndexRange::Between { lower, upper } => {
                let bound = |bound: &Option<(Expression, bool)>, operator: &str| {
                    let (value, is_included) = bound.as_ref()?;
                    let equal = if *is_included { "=" } else { "" };
                    Some(format!("{key} {operator}{equal} {}", self.expression(value)))
                };
                bound(lower, ">").into_iter().chain(bound(upper, "<")).collect()
            }
        }
    }

    fn lookup(&self, value: &LookupValue) -> String {
        match value {
            LookupValue::One(value) => format!("= {}", self.expression(value)),
            LookupValue::Any(value) => format!("IN {}", self.expression(value)),
        }
    }

    fn new_entities(&self, nodes: &[NewNode], edges: &[NewEdge]) -> String {
        let properties = |properties: &Option<Expression>| {
            properties.as_ref().map_or_else(String::new, |properties| format!(" {}", self.expression(properties)))
        };
        let node = |node: &NewNode| {
            format!("({}{}{})", self.names.of(node.slot), label_list(&node.labels), properties(&node.properties))
        };
        let edge = |edge: &NewEdge| {
            let (source, target) = (self.names.of(edge.source), self.names.of(edge.target));
            let name = self.names.of(edge.slot);
            let properties = properties(&edge.properties);
            let edge_type = match &edge.computed_type {
                Some(computed) => format!("$({})", self.expression(computed)),
                None => quoted(&edge.edge_type),
            };
            format!("({source})-[{name}:{edge_type}{properties}]->({target})")
        };
        nodes.iter().map(node).chain(edges.iter().map(edge)).collect::<Vec<_>>().join(", ")
    }

    fn set_items(&self, items: &[SetItem]) -> String {
        let item = |item: &SetItem| match item {
            SetItem::Property { object, key, value } => {
                format!("{}.{} = {}", self.expression(object), quoted(key), self.expression(value))
            }
            SetItem::Replace { object, value } => format!("{} = {}", self.expression(object), self.expression(value)),
            SetItem::Merge { object, value } => format!("{} += {}", self.expression(object), self.expression(value)),
            SetItem::AddLabels { node, labels } => format!("{}{}", self.expression(node), label_list(labels)),
            SetItem::RemoveLabels { node, labels } => {
                format!("remove {}{}", self.expression(node), label_list(labels))
            }
            SetItem::AddComputedLabels { node, labels } => {
                format!("{}:$({})", self.expression(node), self.expression(labels))
            }
            SetItem::RemoveComputedLabels { node, labels } => {
                format!("remove {}:$({})", self.expression(node), self.expression(labels))
            }
        };
        items.iter().map(item).collect::<Vec<_>>().join(", ")
    }
}

fn label_list(labels: &[Arc<str>]) -> String {
    labels.iter().map(|label| format!(":{}", quoted(label))).collect()
}

pub(super) fn type_list(types: &[Arc<str>]) -> String {
    let names: Vec<String> = types.iter().map(|name| quoted(name)).collect();
    if names.is_empty() { String::new() } else { format!(":{}", names.join("|")) }
}

fn length(min: u32, max: Option<u32>) -> String {
    match max {
        Some(max) if max == min => format!("*{min}"),
        Some(max) => format!("*{min}..{max}"),
        None => format!("*{min}.."),
    }
}

fn new_rule(rule: &NewRule) -> String {
    let (name, subject) = (quoted(&rule.name), quoted(&rule.subject));
    let keys = rule.keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(", ");
    let pattern = if rule.on_edges { format!("()-[:{subject}]-()") } else { format!("(:{subject})") };
    let keys = if rule.keys.len() == 1 && rule.rule.is_some() { keys } else { format!("({keys})") };
    match rule.rule {
        None => format!("{name} FOR {pattern} ON {keys}"),
        Some(Rule::Unique) => format!("{name} FOR {pattern} REQUIRE {keys} IS UNIQUE"),
        Some(Rule::Key) => format!("{name} FOR {pattern} REQUIRE {keys} IS KEY"),
        Some(Rule::Exists) => format!("{name} FOR {pattern} REQUIRE {keys} IS NOT NULL"),
        Some(Rule::Type(of)) => format!("{name} FOR {pattern} REQUIRE {keys} IS :: {of}"),
        // Not planned so, but as `DeclareEnds`.
        Some(Rule::Ends { .. }) => format!("{name} FOR {pattern}"),
    }
}
