//! The statements that an access becomes, for those who ask how a query would be answered.

use std::sync::Arc;

use model::schema::Subject;
use model::store::{Access, Count};
use model::{Column, Direction, LabelId, NodeScan, PropertyKeyId, Value};

use super::Shared;
use super::layout::Layout;
use super::patterns::by_kind;
use super::scan::{kind_scans, test_of};
use crate::connector::{Condition, Question, Test, Which};

/// The statements of an access, one for each kind that it reads.
pub(super) fn of(shared: &Shared, access: &Access<'_>) -> Vec<Arc<str>> {
    let layout = &*shared.layout;
    let mut statements: Vec<Arc<str>> = Vec::new();
    let mut add = |question: &Question<'_>| {
        if let Some(statement) = shared.connector.statement(question)
            && !statements.iter().any(|other| **other == *statement)
        {
            statements.push(Arc::from(statement));
        }
    };
    let keys = Column::constant(&Value::Int(0), 1);
    match access {
        Access::Scan(scan) => {
            for asked in kind_scans(shared, scan) {
                // A question for properties that a kind lacks would not be asked.
                if asked.properties.is_empty() == scan.keys.is_empty() {
                    add(&asked.nodes());
                }
            }
        }
        Access::Lookup(label, key) => {
            for kind in layout.kinds_of(&[*label]) {
                let Some(&property) = layout.nodes[kind].properties.get(key) else { continue };
                if layout.nodes[kind].key_property == Some(property) {
                    nodes(layout, kind, Which::Keys(&keys), &[*key], &mut add);
                } else {
                    let conditions = [Condition::is(property, Test::OneOf(vec![Value::Int(0)]))];
                    nodes(layout, kind, Which::Where(&conditions), &[*key], &mut add);
                }
            }
        }
        Access::Index(scan) => {
            let (Subject::Label(label), [key]) = (scan.index.subject, &scan.index.keys[..]) else { return statements };
            let test = if scan.equal.is_empty() { test_of(&scan.range) } else { Test::OneOf(vec![Value::Int(0)]) };
            for kind in layout.kinds_of(&[label]) {
                let Some(&property) = layout.nodes[kind].properties.get(key) else { continue };
                let conditions = [Condition::is(property, test.clone())];
                let properties = [property];
                let order = [(property, scan.order)];
                let order = if scan.equal.is_empty() { &order[..] } else { &[] };
                let which = Which::Where(&conditions);
                add(&Question::Nodes { kind, which, properties: &properties, order, limit: None });
            }
        }
        Access::Expand(expand) => {
            for list in layout.lists(expand.direction, expand.types.as_deref()) {
                let layout = &layout.edges[list.edge];
                let properties: Vec<usize> =
                    expand.keys.iter().filter_map(|key| layout.properties.get(key).copied()).collect();
                let (kind, direction, of) = (list.edge, list.direction(), Which::Keys(&keys));
                add(&Question::Edges { kind, direction, of, properties: &properties });
            }
        }
        Access::NodeProperties(label, wanted) => {
            let labels: Vec<LabelId> = label.iter().copied().collect();
            for kind in layout.kinds_of(&labels) {
                nodes(layout, kind, Which::Keys(&keys), wanted, &mut add);
            }
        }
        Access::Count(counted) => count(shared, counted, &mut add),
        Access::Pattern(asked) => {
            if let Some(asked) = by_kind(layout, asked) {
                add(&Question::Pattern(&asked));
            }
        }
    }
    statements
}

fn count(shared: &Shared, counted: &Count, add: &mut impl FnMut(&Question<'_>)) {
    match counted {
        Count::Nodes(labels) => {
            let kinds = shared.layout.kinds_of(labels).into_iter();
            kinds.for_each(|kind| add(&Question::CountNodes { kind, which: Which::All }));
        }
        Count::Matching(labels, filter) => {
            let scan = NodeScan { labels: labels.clone(), filter: filter.clone(), ..NodeScan::default() };
            kind_scans(shared, &scan).iter().for_each(|asked| add(&asked.count()));
        }
        Count::Edges(types) => {
            let lists = shared.layout.lists(Direction::Out, types.as_deref());
            lists.iter().for_each(|list| add(&Question::CountEdges { kind: list.edge }));
        }
    }
}

fn nodes(layout: &Layout, kind: usize, which: Which<'_>, keys: &[PropertyKeyId], add: &mut impl FnMut(&Question<'_>)) {
    let properties: Vec<usize> =
        keys.iter().filter_map(|key| layout.nodes[kind].properties.get(key).copied()).collect();
    // A question for properties that a kind lacks would not be asked.
    if properties.is_empty() == keys.is_empty() {
        add(&Question::Nodes { kind, which, properties: &properties, order: &[], limit: None });
    }
}
