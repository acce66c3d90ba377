//! Promises of stores about sort keys, and about expansions by range and of the first few edges.
//!
//! Most of it is checked by [`Content::of`], which compares ranges and top of every type with a sort key with what
//! filtering and sorting finds.

use model::{ErrorCode, NodeId, SortKey, Value, WriteTransaction};

use super::Check;
use super::subject::{Subject, add_edge, all_named, assert_code, edge_type, key, numbered_nodes};
use crate::differential::Content;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("edges are found by range and rank whatever their values", every_kind_of_value),
    ("a sort key is declared once, on properties that come once", declaring),
    ("a sort key declared on edges that are there", declared_late),
    ("changes of sorted edges show in ranges and ranks", changes),
    ("parallel edges of a sorted type stay apart", parallel),
    ("a sort key that is dropped or rolled back is gone", dropping),
    ("a hub of a sorted type", hub),
];

fn sort(transaction: &mut dyn WriteTransaction, name: &str, keys: &[&str]) -> model::Result<()> {
    let edge_type = transaction.edge_type(name)?;
    let keys = keys.iter().map(|key| transaction.property_key(key)).collect::<model::Result<_>>()?;
    transaction.set_sort_key(SortKey { edge_type, keys })
}

/// Values of all kinds that a property can have, some of them equal.
fn values() -> Vec<Value> {
    use model::temporal::{Date, LocalDateTime};
    let texts = ["", "a", "ab", "b", "b"].map(Value::string);
    let numbers = [5, 1, 5, i64::MIN, i64::MAX].map(Value::Int);
    let floats = [0.5, -0.0, 5.0, f64::NAN, f64::INFINITY].map(Value::Float);
    let others = [
        Value::Null,
        Value::Bool(true),
        Value::Bool(false),
        Value::Date(Date(3)),
        Value::Date(Date(-3)),
        Value::LocalDateTime(LocalDateTime::of_micros(3)),
        Value::list(vec![Value::Int(1), Value::string("x")]),
        Value::list(vec![Value::Int(1)]),
        Value::Null,
    ];
    texts.into_iter().chain(numbers).chain(floats).chain(others).chain(crate::scalars::scalar_values()).collect()
}

fn add_rated(transaction: &mut dyn WriteTransaction, nodes: &[NodeId], values: &[Value], second: i64) {
    for (at, value) in values.iter().enumerate() {
        let (source, target) = (nodes[at % 2], nodes[2 + at % (nodes.len() - 2)]);
        let row = [("score", value.clone()), ("time", Value::Int((at as i64 * 7 + second) % 5))];
        add_edge(transaction, "RATED", source, target, &row);
    }
}

fn every_kind_of_value(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        sort(transaction, "RATED", &["score", "time"]).expect("declaring a sort key");
        let nodes = numbered_nodes(transaction, 0..6);
        add_rated(transaction, &nodes, &values(), 0);
    });
    Content::of(&*subject.view());
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 6);
        add_rated(transaction, &nodes, &values(), 1);
        Content::of(transaction.view());
    });
    let ints: Vec<Value> = (0..20).map(Value::Int).collect();
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 6);
        add_rated(transaction, &nodes, &ints, 2);
    });
    Content::of(&*subject.view());
}

fn declaring(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        assert_code(sort(transaction, "RATED", &[]), ErrorCode::SchemaRule);
        assert_code(sort(transaction, "RATED", &["time", "time"]), ErrorCode::SchemaRule);
        sort(transaction, "RATED", &["time"]).expect("declaring a sort key");
        assert_code(sort(transaction, "RATED", &["score"]), ErrorCode::SchemaRule);
        sort(transaction, "KNOWS", &["time"]).expect("declaring a sort key of another type");
    });
    let view = subject.view();
    assert_eq!(view.schema().sort_key(edge_type(&*view, "RATED")), [key(&*view, "time")]);
    assert_eq!(view.schema().sort_keys.len(), 2);
}

fn declared_late(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        let nodes = numbered_nodes(transaction, 0..6);
        add_rated(transaction, &nodes, &values(), 0);
    });
    let before = Content::of(&*subject.view());
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 6);
        sort(transaction, "RATED", &["time", "score"]).expect("declaring a sort key");
        Content::of(transaction.view());
        add_rated(transaction, &nodes, &values()[..3], 0);
    });
    let after = Content::of(&*subject.view());
    assert_eq!(after.edges.len(), before.edges.len() + 3);
}

fn changes(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        sort(transaction, "RATED", &["score"]).expect("declaring a sort key");
        let nodes = numbered_nodes(transaction, 0..6);
        add_rated(transaction, &nodes, &values(), 0);
    });
    for round in 0..3 {
        subject.commit(|transaction| {
            let nodes = all_named(transaction.view(), 6);
            let found = super::subject::expand(transaction.view(), &nodes[..2], model::Direction::Out, None);
            let score = key(transaction.view(), "score");
            let time = key(transaction.view(), "time");
            let some: Vec<_> = found.edges.iter().copied().skip(round).step_by(3).collect();
            let new: Vec<Value> = values().into_iter().rev().cycle().take(some.len()).collect();
            let new = model::Column::from_values(&new);
            transaction.set_edge_properties(&some, score, &new).expect("setting the sort key");
            transaction.set_edge_properties(&some[..2], time, &new.slice(0, 2)).expect("setting another property");
            transaction.delete_edges(&some[1..2]).expect("deleting a moved edge");
            transaction.delete_edges(&found.edges[round + 1..round + 2]).expect("deleting an edge");
            Content::of(transaction.view());
        });
        Content::of(&*subject.view());
    }
}

fn parallel(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        sort(transaction, "RATED", &["time"]).expect("declaring a sort key");
        let nodes = numbered_nodes(transaction, 0..2);
        for time in [3, 1, 2, 1, 3] {
            let row = [("time", Value::Int(time)), ("mark", Value::Int(time * 10))];
            add_edge(transaction, "RATED", nodes[0], nodes[1], &row);
        }
    });
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 2);
        add_edge(transaction, "RATED", nodes[0], nodes[1], &[("time", Value::Int(0)), ("mark", Value::Int(7))]);
        add_edge(transaction, "RATED", nodes[0], nodes[0], &[("time", Value::Int(2)), ("mark", Value::Int(8))]);
    });
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 2);
        let found = super::subject::expand(transaction.view(), &nodes[1..], model::Direction::In, None);
        let time = key(transaction.view(), "time");
        let times = transaction.view().edge_properties(&found.edges, &[time]).expect("reading").swap_remove(0);
        let newest = (0..times.len()).max_by_key(|&row| times.value(row)).expect("there are edges");
        transaction.delete_edges(&found.edges[newest..=newest]).expect("deleting an edge");
        let oldest = (0..times.len()).min_by_key(|&row| times.value(row)).expect("there are edges");
        let value = model::Column::constant(&Value::Int(9), 1);
        transaction.set_edge_properties(&found.edges[oldest..=oldest], time, &value).expect("setting the sort key");
    });
    let content = Content::of(&*subject.view());
    assert_eq!(content.edges.len(), 6);
    assert_eq!(content.edges.iter().filter(|line| line.contains("Int(9)") && line.contains("Int(7)")).count(), 1);
}

fn dropping(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        sort(transaction, "RATED", &["score"]).expect("declaring a sort key");
        let nodes = numbered_nodes(transaction, 0..6);
        add_rated(transaction, &nodes, &values(), 0);
    });
    subject.commit(|transaction| {
        let rated = edge_type(transaction.view(), "RATED");
        let nodes = all_named(transaction.view(), 6);
        transaction.drop_sort_key(rated).expect("dropping a sort key");
        assert_code(transaction.drop_sort_key(rated), ErrorCode::SchemaRule);
        let savepoint = transaction.savepoint();
        sort(transaction, "RATED", &["time"]).expect("declaring another sort key");
        transaction.rollback_to(savepoint).expect("rolling back");
        add_rated(transaction, &nodes, &values()[..4], 0);
    });
    let view = subject.view();
    assert!(view.schema().sort_keys.is_empty());
    Content::of(&*view);
}

fn hub(subject: &mut Subject<'_>) {
    const SPOKES: usize = 3_000;
    subject.commit(|transaction| {
        sort(transaction, "RATED", &["time"]).expect("declaring a sort key");
        let nodes = numbered_nodes(transaction, 0..40);
        let edge_type = transaction.edge_type("RATED").expect("a type");
        let time = [transaction.property_key("time").expect("a key")];
        let (mut sources, mut targets, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..SPOKES {
            sources.push(if at % 10 == 0 { nodes[1 + at % 39] } else { nodes[0] });
            targets.push(if at % 7 == 0 { nodes[0] } else { nodes[1 + at * 31 % 39] });
            times.push(Value::Int((at * 7919 % 1_009) as i64));
        }
        let properties = [model::Column::from_values(&times)];
        let new = model::store::NewEdges {
            edge_type,
            sources: &sources,
            targets: &targets,
            keys: &time,
            properties: &properties,
        };
        transaction.create_edges(&new).expect("adding edges");
    });
    Content::of(&*subject.view());
}
