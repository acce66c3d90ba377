//! Promises of transactions about nodes, edges, labels and properties.

use std::sync::Arc;

use model::temporal::{Date, LocalDateTime};
use model::{Direction, EdgeId, ErrorCode, NodeId, ReadView, Value};

use super::Check;
use super::subject::{
    Subject, add_edge, add_edges, add_node, all_named, assert_code, edge_value, exists, expand, find, key, label,
    named, neighbors, node_value, numbered_nodes, set_edge, set_node, try_add_edges,
};
use crate::scalars::scalar_values;

/// Promises of stores whose schema is flexible.
pub(super) const FLEXIBLE: &[(&str, Check)] = &[
    ("node properties of every type come back as written", node_values),
    ("edge properties of every type come back as written", edge_values),
    ("a later write of a property replaces an earlier one, of whatever type", overwriting),
    ("labels are added and removed, and that twice is once", labels),
    ("a column may hold many types", mixed_columns),
];

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("of two rows for the same node or edge the later wins", later_row_wins),
    ("null removes a property", removing),
    ("properties of older edges can be set again and again", updating_old_edges),
    ("deleted edges are gone from both ends", deleting_edges),
    ("deleted nodes are gone, and only nodes without edges are deleted", deleting_nodes),
    ("edges need both of their ends", missing_ends),
    ("calls without rows do nothing", empty_calls),
    ("large values come back whole", large_values),
    ("many small commits add up", many_commits),
];

fn values() -> Vec<Value> {
    let mut values = vec![
        Value::Bool(false),
        Value::Bool(true),
        Value::Int(0),
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::Float(0.5),
        Value::Float(-0.0),
        Value::Float(f64::NAN),
        Value::Float(f64::NEG_INFINITY),
        Value::Float(3.0),
        Value::string(""),
        Value::string("text with 'quotes', \n lines, \0 and \u{1F980}"),
        Value::Bytes(Arc::from([])),
        Value::Bytes(Arc::from([0, 1, 255])),
        Value::list(vec![]),
        Value::list(vec![Value::Int(1), Value::Float(1.0), Value::string("x"), Value::list(vec![Value::Bool(true)])]),
        Value::Date(Date(-719_162)),
        Value::Date(Date(20_000)),
        Value::LocalDateTime(LocalDateTime::of_micros(-1)),
        Value::LocalDateTime(LocalDateTime::of_micros(1_700_000_000_123_456)),
    ];
    values.extend(scalar_values());
    values
}

/// Equal to the last bit, with type: `1` is not `1.0`, and NaN is NaN.
#[track_caller]
fn assert_exact(found: &Value, expected: &Value) {
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
}

fn node_values(subject: &mut Subject<'_>) {
    for value in &values() {
        let node = subject.commit(|transaction| {
            let node = add_node(transaction, &["N"], &[("value", value.clone()), ("absent", Value::Null)]);
            assert_exact(&node_value(transaction.view(), node, "value"), value);
            set_node(transaction, &[node], "second", std::slice::from_ref(value)).expect("setting a property");
            set_node(transaction, &[node], "name", &[Value::Int(7)]).expect("setting a property");
            node
        });
        let view = subject.view();
        let node = if exists(&*view, node) { node } else { named(&*view, 7) };
        assert_exact(&node_value(&*view, node, "value"), value);
        assert_exact(&node_value(&*view, node, "second"), value);
        assert_exact(&node_value(&*view, node, "absent"), &Value::Null);
        let listed = view.all_node_properties(&[node]).expect("listing properties").swap_remove(0);
        assert_eq!(listed.len(), 3, "properties that are not null");
        drop(view);
        subject.commit(|transaction| transaction.delete_nodes(&[node]).expect("deleting a node"));
    }
}

fn edge_values(subject: &mut Subject<'_>) {
    subject.commit_edges(2, &[]);
    for value in &values() {
        subject.commit(|transaction| {
            let nodes = all_named(transaction.view(), 2);
            let row = [("value", value.clone()), ("absent", Value::Null)];
            let edge = add_edge(transaction, "E", nodes[0], nodes[1], &row);
            assert_exact(&edge_value(transaction.view(), edge, "value"), value);
            set_edge(transaction, &[edge], "second", std::slice::from_ref(value)).expect("setting a property");
        });
        let view = subject.view();
        let edge = only_edge(&*view, named(&*view, 0));
        assert_exact(&edge_value(&*view, edge, "value"), value);
        assert_exact(&edge_value(&*view, edge, "second"), value);
        assert_exact(&edge_value(&*view, edge, "absent"), &Value::Null);
        assert_eq!(view.all_edge_properties(&[edge]).expect("listing properties")[0].len(), 2);
        drop(view);
        subject.commit(|transaction| {
            let edge = only_edge(transaction.view(), named(transaction.view(), 0));
            transaction.delete_edges(&[edge]).expect("deleting an edge");
        });
    }
}

fn only_edge(view: &dyn ReadView, node: NodeId) -> EdgeId {
    let edges = expand(view, &[node], Direction::Out, None).edges;
    assert_eq!(edges.len(), 1, "the node has one edge");
    edges[0]
}

fn overwriting(subject: &mut Subject<'_>) {
    subject.commit_edges(2, &[(0, 1)]);
    for value in &values() {
        subject.commit(|transaction| {
            let nodes = all_named(transaction.view(), 2);
            let edge = only_edge(transaction.view(), nodes[0]);
            set_node(transaction, &nodes[..1], "value", std::slice::from_ref(value)).expect("setting a property");
            set_edge(transaction, &[edge], "value", std::slice::from_ref(value)).expect("setting a property");
        });
        let view = subject.view();
        let nodes = all_named(&*view, 2);
        assert_exact(&node_value(&*view, nodes[0], "value"), value);
        assert_exact(&node_value(&*view, nodes[1], "value"), &Value::Null);
        assert_exact(&edge_value(&*view, only_edge(&*view, nodes[0]), "value"), value);
    }
}

fn later_row_wins(subject: &mut Subject<'_>) {
    subject.commit_edges(2, &[(0, 1)]);
    let last = if subject.store().capabilities().flexible_schema { Value::string("last") } else { Value::Int(3) };
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 2);
        let edge = only_edge(transaction.view(), nodes[0]);
        let rows = [Value::Int(1), Value::Int(2), last.clone(), Value::Null];
        set_node(transaction, &[nodes[0], nodes[1], nodes[0], nodes[1]], "value", &rows).expect("setting properties");
        set_edge(transaction, &[edge, edge], "value", &rows[1..3]).expect("setting properties");
    });
    let view = subject.view();
    let nodes = all_named(&*view, 2);
    assert_exact(&node_value(&*view, nodes[0], "value"), &last);
    assert_exact(&node_value(&*view, nodes[1], "value"), &Value::Null);
    assert_exact(&edge_value(&*view, only_edge(&*view, nodes[0]), "value"), &last);
}

fn removing(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        let row = [("a", Value::Int(1)), ("b", Value::string("two"))];
        let node = add_node(transaction, &["N"], &[&[("name", Value::Int(0))], &row[..]].concat());
        add_edge(transaction, "E", node, node, &row);
    });
    let absent = if subject.store().capabilities().flexible_schema { "never there" } else { "age" };
    subject.commit(|transaction| {
        let node = named(transaction.view(), 0);
        let edge = only_edge(transaction.view(), node);
        set_node(transaction, &[node], "a", &[Value::Null]).expect("removing a property");
        set_edge(transaction, &[edge], "a", &[Value::Null]).expect("removing a property");
        set_node(transaction, &[node], absent, &[Value::Null]).expect("removing what is not there");
    });
    let view = subject.view();
    let node = named(&*view, 0);
    let edge = only_edge(&*view, node);
    let keys = |listed: Vec<Vec<(model::PropertyKeyId, Value)>>| {
        let mut keys: Vec<_> = listed[0].iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys
    };
    let mut expected = vec![key(&*view, "name"), key(&*view, "b")];
    expected.sort_unstable();
    assert_eq!(keys(view.all_node_properties(&[node]).expect("listing properties")), expected);
    assert_eq!(keys(view.all_edge_properties(&[edge]).expect("listing properties")), [key(&*view, "b")]);
    assert_exact(&node_value(&*view, node, "a"), &Value::Null);
}

fn updating_old_edges(subject: &mut Subject<'_>) {
    subject.commit_edges(3, &[(0, 1), (0, 1), (0, 2), (1, 1)]);
    for round in 0..3 {
        subject.commit(|transaction| {
            let nodes = all_named(transaction.view(), 3);
            let found = expand(transaction.view(), &nodes, Direction::In, None);
            let values: Vec<Value> = (0..found.len() as i64).map(|row| Value::Int(row * 10 + round)).collect();
            set_edge(transaction, &found.edges, "round", &values).expect("setting properties");
            let again = expand(transaction.view(), &nodes, Direction::In, None);
            let key = key(transaction.view(), "round");
            let now = transaction.view().edge_properties(&again.edges, &[key]).expect("reading properties");
            let mut now: Vec<Value> = now[0].values().collect();
            now.sort_unstable();
            assert_eq!(now, values, "properties set within the transaction show in it");
        });
        let view = subject.view();
        let nodes = all_named(&*view, 3);
        let edges = expand(&*view, &nodes, Direction::Out, None).edges;
        let column = view.edge_properties(&edges, &[key(&*view, "round")]).expect("reading properties");
        let mut values: Vec<Value> = column[0].values().collect();
        values.sort_unstable();
        assert_eq!(values, (0..4).map(|row| Value::Int(row * 10 + round)).collect::<Vec<_>>());
    }
}

fn labels(subject: &mut Subject<'_>) {
    subject.commit_edges(3, &[]);
    let check = |view: &dyn ReadView, expected: [&[&str]; 3]| {
        let nodes = all_named(view, 3);
        let labels = view.node_labels(&nodes).expect("reading labels");
        for (row, expected) in expected.iter().enumerate() {
            let mut found: Vec<&str> = labels[row].iter().map(|label| view.schema().label_name(*label)).collect();
            found.sort_unstable();
            assert_eq!(found, *expected, "labels of node {row}");
            for name in ["A", "B", "N"] {
                let Some(label) = view.schema().label(name) else { continue };
                let carries = view.has_label(&nodes, label).expect("reading a label").get(row);
                assert_eq!(carries, expected.contains(&name), "has_label of node {row} and {name}");
            }
        }
    };
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 3);
        let (a, b) = (transaction.label("A").expect("a label"), transaction.label("B").expect("a label"));
        transaction.add_labels(&nodes[..2], &[a, b, a]).expect("adding labels");
        transaction.add_labels(&nodes[..1], &[a]).expect("adding a label that is there");
        check(transaction.view(), [&["A", "B", "N"], &["A", "B", "N"], &["N"]]);
    });
    check(&*subject.view(), [&["A", "B", "N"], &["A", "B", "N"], &["N"]]);
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 3);
        let (a, n) = (label(transaction.view(), "A"), label(transaction.view(), "N"));
        transaction.remove_labels(&nodes, &[a]).expect("removing a label, also where it is not");
        transaction.remove_labels(&nodes[2..], &[n]).expect("removing the last label");
    });
    check(&*subject.view(), [&["B", "N"], &["B", "N"], &[]]);
    let view = subject.view();
    assert_eq!(view.statistics().label(label(&*view, "A")), 0, "count of a label that no node carries any more");
}

fn deleting_edges(subject: &mut Subject<'_>) {
    subject.commit_edges(3, &[(0, 1), (0, 1), (1, 2), (2, 2)]);
    let gone = subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 3);
        let first = expand(transaction.view(), &nodes[..1], Direction::Out, None).edges[0];
        let last = expand(transaction.view(), &nodes[2..], Direction::Out, None).edges[0];
        let fresh = add_edges(transaction, "E", &[(nodes[0], nodes[2])])[0];
        transaction.delete_edges(&[first, last, fresh, first]).expect("deleting edges, one twice");
        transaction.delete_edges(&[first]).expect("deleting an edge that is gone");
        let exist = transaction.view().edges_exist(&[first, last, fresh]).expect("asking for edges");
        assert_eq!(exist.count_ones(), 0, "deleted edges do not exist in the transaction");
        assert_exact(&edge_value(transaction.view(), first, "name"), &Value::Null);
        nodes.len()
    });
    assert_eq!(gone, 3);
    let view = subject.view();
    let nodes = all_named(&*view, 3);
    assert_eq!(neighbors(&*view, nodes[0], Direction::Both), [nodes[1]]);
    assert_eq!(neighbors(&*view, nodes[1], Direction::In), [nodes[0]]);
    assert_eq!(neighbors(&*view, nodes[2], Direction::Both), [nodes[1]]);
    if view.capabilities().dense_node_ids {
        assert_eq!(view.statistics().edges, 2, "edges counted");
    }
}

fn deleting_nodes(subject: &mut Subject<'_>) {
    subject.commit_edges(5, &[(0, 1), (2, 2)]);
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 5);
        for connected in &nodes[..3] {
            assert_code(transaction.delete_nodes(&[nodes[4], *connected]), ErrorCode::StillConnected);
            assert!(exists(transaction.view(), nodes[4]), "a call that fails deletes nothing");
        }
        transaction.delete_nodes(&[nodes[3], nodes[3]]).expect("deleting a node, named twice");
        transaction.delete_nodes(&[nodes[3]]).expect("deleting a node that is gone");
        let edges = expand(transaction.view(), &nodes[..1], Direction::Out, None).edges;
        transaction.delete_edges(&edges).expect("deleting edges");
        transaction.delete_nodes(&nodes[..1]).expect("deleting a node whose edges were deleted just now");
        let fresh = add_node(transaction, &["N"], &[("name", Value::Int(9))]);
        let edge = add_edges(transaction, "E", &[(fresh, nodes[1])]);
        assert_code(transaction.delete_nodes(&[nodes[1]]), ErrorCode::StillConnected);
        transaction.delete_edges(&edge).expect("deleting an edge");
        transaction.delete_nodes(&[fresh, nodes[1]]).expect("deleting nodes");
        assert!(!exists(transaction.view(), fresh));
    });
    let view = subject.view();
    let left: Vec<bool> = (0..10).map(|name| find(&*view, name).is_some()).collect();
    let expected: Vec<bool> = (0..10).map(|name| name == 2 || name == 4).collect();
    assert_eq!(left, expected, "nodes that are left");
    drop(view);
    let labels: &[&str] = if subject.store().capabilities().flexible_schema { &[] } else { &["N"] };
    subject.commit(|transaction| {
        add_node(transaction, labels, &[("name", Value::Int(11))]);
    });
    let view = subject.view();
    let fresh = named(&*view, 11);
    assert!(neighbors(&*view, fresh, Direction::Both).is_empty(), "a new node has nothing of a deleted one");
    assert_eq!(view.node_labels(&[fresh]).expect("reading labels")[0].len(), labels.len());
    assert_eq!(view.all_node_properties(&[fresh]).expect("listing properties")[0].len(), 1);
}

fn missing_ends(subject: &mut Subject<'_>) {
    subject.commit_edges(3, &[]);
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 3);
        transaction.delete_nodes(&nodes[2..]).expect("deleting a node");
        for pair in [(nodes[0], nodes[2]), (nodes[2], nodes[0]), (nodes[2], nodes[2])] {
            let result = try_add_edges(transaction, "E", &[(nodes[0], nodes[1]), pair]);
            assert_code(result, ErrorCode::NotFound);
        }
        assert!(neighbors(transaction.view(), nodes[0], Direction::Both).is_empty(), "a call that fails adds nothing");
    });
    let view = subject.view();
    assert!(neighbors(&*view, named(&*view, 0), Direction::Both).is_empty());
}

fn empty_calls(subject: &mut Subject<'_>) {
    subject.commit_edges(1, &[]);
    let before = crate::differential::Content::of(&*subject.view());
    subject.commit(|transaction| {
        assert!(numbered_nodes(transaction, 0..0).is_empty());
        assert!(add_edges(transaction, "E", &[]).is_empty());
        set_node(transaction, &[], "name", &[]).expect("setting nothing");
        set_edge(transaction, &[], "name", &[]).expect("setting nothing");
        let label = transaction.label("N").expect("a label");
        let nodes = all_named(transaction.view(), 1);
        transaction.add_labels(&nodes, &[]).expect("adding no labels");
        transaction.add_labels(&[], &[label]).expect("adding labels to nothing");
        transaction.remove_labels(&[], &[label]).expect("removing labels from nothing");
        transaction.delete_edges(&[]).expect("deleting nothing");
        transaction.delete_nodes(&[]).expect("deleting nothing");
    });
    assert_eq!(crate::differential::Content::of(&*subject.view()), before);
}

fn mixed_columns(subject: &mut Subject<'_>) {
    let mut values = values();
    values.push(Value::Null);
    let cycle: Vec<Value> = values.iter().cycle().take(500).cloned().collect();
    subject.commit(|transaction| {
        let nodes = numbered_nodes(transaction, 0..500);
        set_node(transaction, &nodes, "mixed", &cycle).expect("setting properties");
    });
    subject.commit(|transaction| {
        let nodes = all_named(transaction.view(), 500);
        let shifted: Vec<Value> = cycle.iter().skip(1).chain(&cycle[..1]).take(100).cloned().collect();
        set_node(transaction, &nodes[..100], "mixed", &shifted).expect("setting properties");
    });
    let view = subject.view();
    let nodes = all_named(&*view, 500);
    let column = view.node_properties(&nodes, &[key(&*view, "mixed")]).expect("reading properties").swap_remove(0);
    for row in 0..500 {
        let expected = if row < 100 { &cycle[row + 1] } else { &cycle[row] };
        assert_exact(&column.value(row), expected);
    }
}

fn large_values(subject: &mut Subject<'_>) {
    let text = Value::from("0123456789abcdef".repeat(20_000));
    let bytes = Value::Bytes(Arc::from(vec![7_u8; 300_000]));
    let list = Value::list((0..20_000).map(Value::Int).collect());
    let large = [("text", text), ("bytes", bytes), ("list", list)];
    // Tables have no columns of lists.
    let large = if subject.store().capabilities().flexible_schema { &large[..] } else { &large[..2] };
    subject.commit(|transaction| {
        let node = add_node(transaction, &["N"], &[&[("name", Value::Int(0))], large].concat());
        add_edge(transaction, "E", node, node, large);
    });
    let view = subject.view();
    let node = named(&*view, 0);
    let edge = only_edge(&*view, node);
    for (name, value) in large {
        assert!(node_value(&*view, node, name) == *value, "large {name} of a node");
        assert!(edge_value(&*view, edge, name) == *value, "large {name} of an edge");
    }
}

fn many_commits(subject: &mut Subject<'_>) {
    subject.commit_edges(1, &[]);
    for name in 1..40 {
        subject.commit(|transaction| {
            let node = add_node(transaction, &["N"], &[("name", Value::Int(name))]);
            let before = named(transaction.view(), name - 1);
            let root = named(transaction.view(), 0);
            add_edges(transaction, "E", &[(before, node), (node, root)]);
        });
    }
    let view = subject.view();
    let nodes = all_named(&*view, 40);
    for (index, node) in nodes.iter().enumerate().skip(1) {
        let mut expected = if index == 39 { vec![nodes[0]] } else { vec![nodes[0], nodes[index + 1]] };
        expected.sort_unstable();
        assert_eq!(neighbors(&*view, *node, Direction::Out), expected, "neighbors of node {index}");
    }
    assert_eq!(neighbors(&*view, nodes[0], Direction::In).len(), 39);
    crate::differential::Content::of(&*view);
}
