//! Promises of stores about ordered indexes, and about constraints that are not about one unique property.
//!
//! Results of indexes are compared with a scan by [`Content::of`].

use model::{
    Constraint, EdgeId, ErrorCode, Index, Interrupt, PropertyKind, PropertyType, Result, Rule, Subject as About, Value,
    WriteTransaction,
};

use super::Check;
use super::subject::{Subject, add_edge, add_node, assert_code, numbered_nodes, set_edge, set_node, try_add_node};
use crate::differential::Content;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("an index of nodes follows every change", nodes_change),
    ("an index of edges follows every change, parallel ones too", edges_change),
    ("an index made over what is there", made_late),
    ("names of indexes and constraints are one space", names),
    ("several properties are unique together", unique_together),
    ("unique values of edges", unique_edges),
    ("what must be there is asked when the transaction commits", presence),
    ("types are asked of every value", types),
];

fn about(transaction: &mut dyn WriteTransaction, name: &str, on_edges: bool) -> Result<About> {
    if on_edges { transaction.edge_type(name).map(About::EdgeType) } else { transaction.label(name).map(About::Label) }
}

fn index(transaction: &mut dyn WriteTransaction, name: &str, on_edges: bool, of: &str, keys: &[&str]) -> Result<()> {
    let subject = about(transaction, of, on_edges)?;
    let keys = keys.iter().map(|key| transaction.property_key(key)).collect::<Result<_>>()?;
    transaction.create_index(Index { name: name.into(), subject, keys }, &Interrupt::new())
}

fn rule(
    transaction: &mut dyn WriteTransaction,
    name: &str,
    on_edges: bool,
    of: &str,
    keys: &[&str],
    rule: Rule,
) -> Result<()> {
    let subject = about(transaction, of, on_edges)?;
    let keys = keys.iter().map(|key| transaction.property_key(key)).collect::<Result<_>>()?;
    transaction.create_constraint(Constraint { name: name.into(), subject, keys, rule }, &model::Interrupt::new())
}

/// Values of every kind, at their limits.
fn values() -> Vec<Value> {
    let two_53 = 1i64 << 53;
    let mut values = vec![Value::Null, Value::Bool(false), Value::Bool(true)];
    values.extend([i64::MIN, -1, 0, 1, two_53, two_53 + 1, i64::MAX - 1, i64::MAX].map(Value::Int));
    let floats = [f64::NEG_INFINITY, -0.0, 0.0, 0.5, 1.0, two_53 as f64, 9.3e18, f64::INFINITY, f64::NAN];
    values.extend(floats.map(Value::Float));
    values.extend(["", "\0", "a", "a\0", "ab", &"long ".repeat(2_000), &"long ".repeat(2_001)].map(Value::string));
    values.extend(crate::scalars::scalar_values());
    let lists = [vec![], vec![Value::Int(1)], vec![Value::Int(1), Value::string("x")], vec![Value::Float(f64::NAN)]];
    values.extend(lists.map(Value::list));
    values
}

fn nodes_change(subject: &mut Subject<'_>) {
    let nodes = subject.commit(|transaction| {
        index(transaction, "one", false, "P", &["a"]).expect("making an index");
        index(transaction, "two", false, "P", &["a", "b"]).expect("making a second index");
        let add = |(at, value): (usize, &Value)| {
            let row = [("a", value.clone()), ("b", Value::Int(at as i64 % 3))];
            add_node(transaction, if at % 4 == 0 { &["Q"] } else { &["P"] }, &row)
        };
        values().iter().enumerate().map(add).collect::<Vec<_>>()
    });
    Content::of(&*subject.view());
    subject.commit(|transaction| {
        let turned: Vec<Value> = values().into_iter().rev().collect();
        set_node(transaction, &nodes, "a", &turned).expect("setting values");
        Content::of(transaction.view());
        let label = transaction.label("P").expect("a label");
        transaction.add_labels(&nodes[..8], &[label]).expect("adding labels");
        transaction.remove_labels(&nodes[8..12], &[label]).expect("taking labels");
        transaction.delete_nodes(&nodes[12..16]).expect("deleting nodes");
        set_node(transaction, &nodes[16..20], "b", &[const { Value::Null }; 4]).expect("removing values");
        Content::of(transaction.view());
    });
    Content::of(&*subject.view());
}

fn edges_change(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        index(transaction, "since", true, "E", &["since"]).expect("making an index");
        let nodes = numbered_nodes(transaction, 0..3);
        for (at, value) in values().iter().enumerate() {
            add_edge(transaction, "E", nodes[at % 2], nodes[2], &[("since", value.clone())]);
            add_edge(transaction, "E", nodes[at % 2], nodes[2], &[("since", Value::Int(at as i64 / 5))]);
        }
    });
    Content::of(&*subject.view());
    subject.commit(|transaction| {
        let edges = all_edges(transaction, "E");
        set_edge(transaction, &edges[..9], "since", &[const { Value::Int(3) }; 9]).expect("setting values");
        Content::of(transaction.view());
        transaction.delete_edges(&edges[5..20]).expect("deleting edges");
        Content::of(transaction.view());
    });
    Content::of(&*subject.view());
}

fn made_late(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        for (at, value) in values().iter().enumerate() {
            add_node(transaction, &["P"], &[("a", value.clone()), ("b", Value::Int(at as i64))]);
        }
    });
    subject.commit(|transaction| {
        let start = transaction.savepoint();
        index(transaction, "one", false, "P", &["b", "a"]).expect("making an index");
        Content::of(transaction.view());
        transaction.rollback_to(start).expect("rolling back");
        assert!(transaction.view().schema().indexes.is_empty());
        index(transaction, "one", false, "P", &["a"]).expect("making an index");
        add_node(transaction, &["P"], &[("a", Value::Int(4))]);
    });
    Content::of(&*subject.view());
    subject.commit(|transaction| {
        transaction.drop_index("one").expect("dropping it");
        add_node(transaction, &["P"], &[("a", Value::Int(5))]);
        index(transaction, "again", false, "P", &["a"]).expect("making it again");
    });
    Content::of(&*subject.view());
    subject.commit(|transaction| add_node(transaction, &["P"], &[("a", Value::Int(6))]));
    Content::of(&*subject.view());
}

fn names(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        index(transaction, "one", false, "P", &["a"]).expect("making an index");
        assert_code(index(transaction, "one", false, "P", &["b"]), ErrorCode::SchemaRule);
        assert_code(index(transaction, "other", false, "P", &["a"]), ErrorCode::SchemaRule);
        assert_code(index(transaction, "twice", false, "P", &["a", "a"]), ErrorCode::SchemaRule);
        assert_code(rule(transaction, "one", false, "P", &["b"], Rule::Unique), ErrorCode::SchemaRule);
        rule(transaction, "both", false, "P", &["a", "b"], Rule::Unique).expect("making a constraint");
        assert_code(transaction.drop_index("both"), ErrorCode::SchemaRule);
        assert_code(transaction.drop_constraint("one"), ErrorCode::SchemaRule);
        assert_code(transaction.drop_index("none"), ErrorCode::SchemaRule);
        transaction.drop_constraint("both").expect("dropping it with its index");
    });
    let view = subject.view();
    let names: Vec<&str> = view.schema().indexes.iter().map(|index| &*index.name).collect();
    assert_eq!((names, view.schema().constraints.len()), (vec!["one"], 0));
}

fn unique_together(subject: &mut Subject<'_>) {
    let pair = |a: Value, b: i64| [("a", a), ("b", Value::Int(b))];
    let nodes = subject.commit(|transaction| {
        rule(transaction, "both", false, "P", &["a", "b"], Rule::Unique).expect("making a constraint");
        let mut nodes = vec![add_node(transaction, &["P"], &pair(Value::Int(1), 1))];
        nodes.push(add_node(transaction, &["P"], &pair(Value::Int(1), 2)));
        nodes.push(add_node(transaction, &["Q"], &pair(Value::Int(1), 2)));
        for _ in 0..2 {
            add_node(transaction, &["P"], &[("a", Value::Int(1))]);
            add_node(transaction, &["P"], &pair(Value::Float(f64::NAN), 1));
        }
        nodes
    });
    subject.commit(|transaction| {
        assert_code(try_add_node(transaction, &["P"], &pair(Value::Float(1.0), 2)), ErrorCode::Constraint);
        assert_code(set_node(transaction, &nodes[..1], "b", &[Value::Int(2)]), ErrorCode::Constraint);
        let label = transaction.label("P").expect("a label");
        assert_code(transaction.add_labels(&nodes[2..], &[label]), ErrorCode::Constraint);
        // Both change places in one call.
        set_node(transaction, &nodes[..2], "b", &[Value::Int(2), Value::Int(1)]).expect("changing places");
        transaction.delete_nodes(&nodes[..1]).expect("deleting");
        transaction.add_labels(&nodes[2..], &[label]).expect("the values are free");
        assert_code(rule(transaction, "third", false, "P", &["a", "c"], Rule::Key), ErrorCode::Constraint);
    });
    Content::of(&*subject.view());
}

fn unique_edges(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        let nodes = numbered_nodes(transaction, 0..3);
        for (at, (source, target)) in [(0, 1), (0, 1), (1, 2)].into_iter().enumerate() {
            add_edge(transaction, "E", nodes[source], nodes[target], &[("w", Value::Int(at as i64))]);
        }
        rule(transaction, "w", true, "E", &["w"], Rule::Unique).expect("making a constraint");
    });
    subject.commit(|transaction| {
        let edges = all_edges(transaction, "E");
        assert_code(set_edge(transaction, &edges, "w", &[const { Value::Int(7) }; 3]), ErrorCode::Constraint);
        set_edge(transaction, &edges[..1], "w", &[Value::Int(7)]).expect("a free value");
        transaction.delete_edges(&edges[1..2]).expect("deleting");
    });
    Content::of(&*subject.view());
}

fn presence(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        rule(transaction, "there", false, "P", &["a"], Rule::Exists).expect("making a constraint");
        rule(transaction, "weighed", true, "E", &["w"], Rule::Exists).expect("making a constraint");
        // Set before the end of the transaction is early enough.
        let node = add_node(transaction, &["P"], &[]);
        set_node(transaction, &[node], "a", &[Value::Int(1)]).expect("setting it");
        add_edge(transaction, "E", node, node, &[("w", Value::Int(1))]);
    });
    type Write = fn(&mut dyn WriteTransaction);
    let breaking: [Write; 5] = [
        |transaction| {
            add_node(transaction, &["P"], &[("b", Value::Int(1))]);
        },
        |transaction| {
            let node = crate::differential::scan_nodes(transaction.view(), &model::NodeScan::default())[0];
            set_node(transaction, &[node], "a", &[Value::Null]).expect("removing it");
        },
        |transaction| {
            let node = add_node(transaction, &["Q"], &[]);
            let label = transaction.label("P").expect("a label");
            transaction.add_labels(&[node], &[label]).expect("adding a label");
        },
        |transaction| {
            let node = add_node(transaction, &["Q"], &[]);
            add_edge(transaction, "E", node, node, &[]);
        },
        |transaction| drop(rule(transaction, "b", false, "P", &["b"], Rule::Exists).expect_err("nodes lack it")),
    ];
    let count = breaking.len();
    for (at, write) in breaking.into_iter().enumerate() {
        let mut transaction = subject.begin();
        write(&mut *transaction);
        if at + 1 < count {
            assert_code(transaction.commit(), ErrorCode::Constraint);
        }
    }
    subject.commit(|transaction| {
        let node = add_node(transaction, &["P"], &[]);
        transaction.delete_nodes(&[node]).expect("what is gone lacks nothing");
    });
    assert_eq!(Content::of(&*subject.view()).nodes.len(), 1, "what was refused is not there");
}

fn types(subject: &mut Subject<'_>) {
    let integer = Rule::Type(PropertyType::One(PropertyKind::Integer));
    let texts = Rule::Type(PropertyType::List(PropertyKind::String));
    subject.commit(|transaction| {
        rule(transaction, "a is whole", false, "P", &["a"], integer).expect("making a constraint");
        rule(transaction, "names", false, "P", &["names"], texts).expect("making a constraint");
        rule(transaction, "w is whole", true, "E", &["w"], integer).expect("making a constraint");
    });
    subject.commit(|transaction| {
        let node = add_node(transaction, &["P"], &[("a", Value::Int(1)), ("names", Value::list(vec![]))]);
        let wrong =
            [("a", Value::Float(1.0)), ("names", Value::string("x")), ("names", Value::list(vec![Value::Int(1)]))];
        for (key, value) in wrong {
            assert_code(try_add_node(transaction, &["P"], &[(key, value.clone())]), ErrorCode::Constraint);
            assert_code(set_node(transaction, &[node], key, &[value]), ErrorCode::Constraint);
        }
        set_node(transaction, &[node], "a", &[Value::Null]).expect("nothing has any type");
        let other = add_node(transaction, &["Q"], &[("a", Value::string("x"))]);
        let label = transaction.label("P").expect("a label");
        assert_code(transaction.add_labels(&[other], &[label]), ErrorCode::Constraint);
        let edge = add_edge(transaction, "E", node, other, &[("w", Value::Int(1))]);
        assert_code(set_edge(transaction, &[edge], "w", &[Value::Bool(true)]), ErrorCode::Constraint);
        let on_text = Rule::Type(PropertyType::One(PropertyKind::String));
        assert_code(rule(transaction, "late", true, "E", &["w"], on_text), ErrorCode::Constraint);
    });
    Content::of(&*subject.view());
}

/// Every edge of a type.
fn all_edges(transaction: &mut dyn WriteTransaction, edge_type: &str) -> Vec<EdgeId> {
    let edge_type = transaction.edge_type(edge_type).expect("a type");
    let mut edges = Vec::new();
    let collect = |batch: &model::store::by_scan::EdgesOfType| {
        edges.extend_from_slice(&batch.edges);
        Ok(())
    };
    model::store::by_scan::each_edge(transaction.view(), edge_type, &[], collect).expect("reading edges");
    edges
}
