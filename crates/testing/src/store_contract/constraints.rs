//! Promises of stores about uniqueness constraints and lookups by key.

use model::store::{NewNodes, nodes_of};
use model::{Column, Constraint, ErrorCode, LabelId, NodeId, ReadView, Subject as About, Value};

use super::Check;
use super::subject::{
    Subject, add_edges, add_node, assert_code, constrain, edge_type, find, key, label, named, numbered_nodes, set_node,
    try_add_node,
};
use crate::differential::Content;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("a constraint refuses equal values of its label, and nothing else", refuses_equal_values),
    ("a constraint refuses equal values within one call", refuses_within_a_call),
    ("a constraint refuses values that are set and labels that are added", refuses_changes),
    ("a value is free again once its node lets go of it", frees_values),
    ("a call is judged by what it leaves, so that values may be swapped", swaps),
    ("numbers are equal across types", numbers_across_types),
    ("what does not equal itself is never taken and never found", not_a_number),
    ("a constraint is checked against what is there", checks_what_is_there),
    ("constraints have names and rules of their own", names),
    ("a dropped constraint no longer refuses", dropping),
    ("a constraint that is rolled back is gone", rolling_back),
    ("what edges are declared to join is told and not enforced", declared_ends),
    ("lookups find nodes by every type of value", lookups),
    ("lookups of many values, repeated and missing ones too", many_lookups),
    ("lookups see the writes of their transaction", lookups_in_a_transaction),
];

fn person(code: impl Into<Value>) -> [(&'static str, Value); 1] {
    [("code", code.into())]
}

fn refuses_equal_values(subject: &mut Subject<'_>) {
    subject.commit(|transaction| constrain(transaction, "P", "code").expect("making a constraint"));
    subject.commit(|transaction| {
        add_node(transaction, &["P"], &person("a"));
    });
    subject.commit(|transaction| {
        assert_code(try_add_node(transaction, &["P"], &person("a")), ErrorCode::Constraint);
        assert_code(try_add_node(transaction, &["Q", "P"], &person("a")), ErrorCode::Constraint);
        add_node(transaction, &["P"], &person("b"));
        assert_code(try_add_node(transaction, &["P"], &person("b")), ErrorCode::Constraint);
        add_node(transaction, &["Q"], &person("a"));
        add_node(transaction, &[], &person("a"));
        add_node(transaction, &["P"], &[("other", Value::string("a"))]);
        add_node(transaction, &["P"], &person(Value::Null));
        add_node(transaction, &["P"], &person(Value::Null));
    });
    let view = subject.view();
    assert_eq!(Content::of(&*view).nodes.len(), 7, "nodes that were not refused");
}

fn refuses_within_a_call(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        constrain(transaction, "P", "code").expect("making a constraint");
        let label = [transaction.label("P").expect("a label")];
        let key = [transaction.property_key("code").expect("a key")];
        let create = |transaction: &mut dyn model::WriteTransaction, values: &[Value]| {
            let columns = [Column::from_values(values)];
            let new = NewNodes { count: values.len(), labels: &label, keys: &key, properties: &columns };
            transaction.create_nodes(&new)
        };
        let values = [Value::Int(1), Value::Int(2), Value::Int(1)];
        assert_code(create(transaction, &values), ErrorCode::Constraint);
        assert_eq!(create(transaction, &values[..2]).expect("adding nodes of new values").len(), 2);
    });
    assert_eq!(Content::of(&*subject.view()).nodes.len(), 2, "a refused call adds nothing");
}

fn refuses_changes(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        constrain(transaction, "P", "code").expect("making a constraint");
        add_node(transaction, &["P"], &[("name", Value::Int(0)), ("code", Value::Int(0))]);
        add_node(transaction, &["P"], &[("name", Value::Int(1)), ("code", Value::Int(1))]);
        add_node(transaction, &["Q"], &[("name", Value::Int(2)), ("code", Value::Int(0))]);
    });
    subject.commit(|transaction| {
        let nodes = [0, 1, 2].map(|name| named(transaction.view(), name));
        let before = Content::of(transaction.view());
        assert_code(set_node(transaction, &nodes[1..2], "code", &[Value::Int(0)]), ErrorCode::Constraint);
        let same = [Value::Int(5), Value::Int(5)];
        assert_code(set_node(transaction, &nodes[..2], "code", &same), ErrorCode::Constraint);
        let p = label(transaction.view(), "P");
        assert_code(transaction.add_labels(&nodes[2..], &[p]), ErrorCode::Constraint);
        assert_eq!(Content::of(transaction.view()), before, "refused calls change nothing");
        set_node(transaction, &nodes[..1], "code", &[Value::Int(0)]).expect("setting the value that is there");
        set_node(transaction, &nodes[2..], "code", &[Value::Int(7)]).expect("setting a free value");
        transaction.add_labels(&nodes[2..], &[p]).expect("adding the label with a free value");
        assert_code(set_node(transaction, &nodes[..1], "code", &[Value::Int(7)]), ErrorCode::Constraint);
    });
}

fn frees_values(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        constrain(transaction, "P", "code").expect("making a constraint");
        for name in 0..4 {
            add_node(transaction, &["P"], &[("name", Value::Int(name)), ("code", Value::Int(name))]);
        }
    });
    subject.commit(|transaction| {
        let nodes = [0, 1, 2, 3].map(|name| named(transaction.view(), name));
        let p = label(transaction.view(), "P");
        transaction.delete_nodes(&nodes[..1]).expect("deleting a node");
        set_node(transaction, &nodes[1..2], "code", &[Value::Null]).expect("removing a property");
        set_node(transaction, &nodes[2..3], "code", &[Value::Int(20)]).expect("setting another value");
        transaction.remove_labels(&nodes[3..], &[p]).expect("removing the label");
        add_node(transaction, &["P"], &person(Value::Int(0)));
    });
    subject.commit(|transaction| {
        for code in 1..4 {
            add_node(transaction, &["P"], &person(Value::Int(code)));
        }
        assert_code(try_add_node(transaction, &["P"], &person(Value::Int(20))), ErrorCode::Constraint);
        assert_code(try_add_node(transaction, &["P"], &person(Value::Int(0))), ErrorCode::Constraint);
    });
    Content::of(&*subject.view());
}

fn swaps(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        constrain(transaction, "N", "name").expect("making a constraint");
        numbered_nodes(transaction, 0..3);
    });
    subject.commit(|transaction| {
        let nodes = [0, 1, 2].map(|name| named(transaction.view(), name));
        let rotated = [Value::Int(1), Value::Int(2), Value::Int(0)];
        set_node(transaction, &nodes, "name", &rotated).expect("passing values around");
        set_node(transaction, &nodes[..1], "mark", &[Value::Bool(true)]).expect("setting a property");
    });
    let view = subject.view();
    let marked = super::subject::node_value(&*view, named(&*view, 1), "mark");
    assert_eq!(marked, Value::Bool(true), "node 0 is now named 1");
    Content::of(&*view);
}

fn numbers_across_types(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        constrain(transaction, "P", "code").expect("making a constraint");
        add_node(transaction, &["P"], &person(Value::Int(1)));
        add_node(transaction, &["P"], &person(Value::Float(2.0)));
    });
    subject.commit(|transaction| {
        assert_code(try_add_node(transaction, &["P"], &person(Value::Float(1.0))), ErrorCode::Constraint);
        assert_code(try_add_node(transaction, &["P"], &person(Value::Int(2))), ErrorCode::Constraint);
        add_node(transaction, &["P"], &person("1"));
        add_node(transaction, &["P"], &person(Value::Float(1.5)));
        add_node(transaction, &["P"], &person(true));
    });
    let view = subject.view();
    let values = Column::from_values(&[Value::Float(1.0), Value::Int(2), Value::Int(3)]);
    let found = nodes_of(&view.lookup(label(&*view, "P"), key(&*view, "code"), &values).expect("looking up"));
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
}

fn not_a_number(subject: &mut Subject<'_>) {
    let not_a_number = Value::Float(f64::NAN);
    let list = Value::list(vec![Value::Int(1), not_a_number.clone()]);
    subject.commit(|transaction| constrain(transaction, "P", "code").expect("making a constraint"));
    for _ in 0..2 {
        subject.commit(|transaction| {
            for value in [&not_a_number, &list] {
                add_node(transaction, &["P"], &person(value.clone()));
                let other = add_node(transaction, &["P"], &person(Value::Null));
                set_node(transaction, &[other], "code", std::slice::from_ref(value))
                    .expect("setting what equals nothing");
            }
        });
    }
    let view = subject.view();
    assert_eq!(Content::of(&*view).nodes.len(), 8, "nodes that were not refused");
    assert_eq!(look_up(&*view, &[not_a_number, list]), [None; 2]);
    subject.commit(|transaction| {
        transaction.drop_constraint("P_code").expect("dropping a constraint");
        constrain(transaction, "P", "code").expect("making a constraint over what equals nothing");
    });
}

fn checks_what_is_there(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        for code in [1, 2, 1] {
            add_node(transaction, &["P"], &person(Value::Int(code)));
        }
    });
    subject.commit(|transaction| {
        assert_code(constrain(transaction, "P", "code"), ErrorCode::Constraint);
        assert!(transaction.view().schema().constraints.is_empty(), "a refused constraint is not there");
        add_node(transaction, &["P"], &person(Value::Int(2)));
        constrain(transaction, "P", "other key").expect("making a constraint that nothing breaks");
    });
    assert_eq!(subject.view().schema().constraints.len(), 1);
}

fn names(subject: &mut Subject<'_>) {
    subject.commit(|transaction| constrain(transaction, "P", "code").expect("making a constraint"));
    subject.commit(|transaction| {
        let (label, code) = (label(transaction.view(), "P"), key(transaction.view(), "code"));
        let other = transaction.property_key("other").expect("a key");
        let constraint = |name: &str, key| model::Constraint::unique(name, label, key);
        assert_code(
            transaction.create_constraint(constraint("P_code", other), &model::Interrupt::new()),
            ErrorCode::SchemaRule,
        );
        assert_code(
            transaction.create_constraint(constraint("new name", code), &model::Interrupt::new()),
            ErrorCode::SchemaRule,
        );
        assert_code(transaction.drop_constraint("new name"), ErrorCode::SchemaRule);
        transaction
            .create_constraint(constraint("new name", other), &model::Interrupt::new())
            .expect("making a second constraint");
    });
    let view = subject.view();
    let mut names: Vec<String> = view.schema().constraints.iter().map(|c| c.name.to_string()).collect();
    names.sort_unstable();
    assert_eq!(names, ["P_code", "new name"]);
    assert!(view.schema().unique(label(&*view, "P"), key(&*view, "code")).is_some());
}

fn dropping(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        constrain(transaction, "P", "code").expect("making a constraint");
        add_node(transaction, &["P"], &person(Value::Int(1)));
    });
    subject.commit(|transaction| transaction.drop_constraint("P_code").expect("dropping a constraint"));
    subject.commit(|transaction| {
        assert!(transaction.view().schema().constraints.is_empty());
        add_node(transaction, &["P"], &person(Value::Int(1)));
        assert_code(constrain(transaction, "P", "code"), ErrorCode::Constraint);
        let last = add_node(transaction, &["P"], &person(Value::Int(1)));
        transaction.delete_nodes(&[last]).expect("deleting a node");
    });
    assert_eq!(Content::of(&*subject.view()).nodes.len(), 2);
}

fn rolling_back(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        let savepoint = transaction.savepoint();
        constrain(transaction, "P", "code").expect("making a constraint");
        add_node(transaction, &["P"], &person(Value::Int(1)));
        transaction.rollback_to(savepoint).expect("rolling back");
        assert!(transaction.view().schema().constraints.is_empty());
        add_node(transaction, &["P"], &person(Value::Int(1)));
        let second = add_node(transaction, &["P"], &person(Value::Int(1)));
        assert_code(constrain(transaction, "P", "code"), ErrorCode::Constraint);
        transaction.delete_nodes(&[second]).expect("deleting a node");
        constrain(transaction, "P", "code").expect("making the constraint again");
        let savepoint = transaction.savepoint();
        add_node(transaction, &["P"], &person(Value::Int(2)));
        transaction.drop_constraint("P_code").expect("dropping a constraint");
        transaction.rollback_to(savepoint).expect("rolling back");
        add_node(transaction, &["P"], &person(Value::Int(2)));
        assert_code(try_add_node(transaction, &["P"], &person(Value::Int(2))), ErrorCode::Constraint);
    });
    let view = subject.view();
    assert_eq!(Content::of(&*view).nodes.len(), 2);
    assert_eq!(view.schema().constraints.len(), 1);
}

fn declared_ends(subject: &mut Subject<'_>) {
    let ends = |view: &dyn ReadView| -> Vec<(String, String)> {
        let schema = view.schema();
        let names = |(from, to)| (schema.label_name(from).to_owned(), schema.label_name(to).to_owned());
        schema.ends(edge_type(view, "KNOWS")).map(names).collect()
    };
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    subject.commit(|transaction| {
        // Labels are numbered otherwise in parts of a whole, and in transactions that are moved.
        transaction.label("Unused").expect("a label");
        let (p, q) = (transaction.label("P").expect("a label"), transaction.label("Q").expect("a label"));
        let (knows, other) =
            (transaction.edge_type("KNOWS").expect("a type"), transaction.edge_type("E").expect("a type"));
        let mut declare = |name: &str, edge_type, from, to| {
            transaction.create_constraint(Constraint::ends(name, edge_type, from, to), &model::Interrupt::new())
        };
        declare("first", knows, q, p).expect("declaring ends");
        declare("second", knows, p, p).expect("declaring other ends of the same type");
        declare("third", other, q, p).expect("declaring the same ends of another type");
        assert_code(declare("fourth", knows, q, p), ErrorCode::SchemaRule);
        assert_code(declare("first", knows, p, q), ErrorCode::SchemaRule);
        let keys = vec![transaction.property_key("code").expect("a key")];
        let with_keys = Constraint { keys, ..Constraint::ends("wrong", knows, p, q) };
        assert_code(transaction.create_constraint(with_keys, &model::Interrupt::new()), ErrorCode::SchemaRule);
        let of_nodes = Constraint { subject: About::Label(p), ..Constraint::ends("wrong", knows, p, q) };
        assert_code(transaction.create_constraint(of_nodes, &model::Interrupt::new()), ErrorCode::SchemaRule);
    });
    subject.commit(|transaction| {
        let node = add_node(transaction, &["Elsewhere"], &[]);
        add_edges(transaction, "KNOWS", &[(node, node)]);
    });
    assert_eq!(ends(&*subject.view()), [pair("Q", "P"), pair("P", "P")]);
    subject.commit(|transaction| transaction.drop_constraint("first").expect("dropping a declaration"));
    assert_eq!(ends(&*subject.view()), [pair("P", "P")]);
    let view = subject.view();
    assert_eq!(view.schema().ends(edge_type(&*view, "E")).count(), 1);
}

/// The nodes of label `P` by `code`.
fn look_up(view: &dyn ReadView, values: &[Value]) -> Vec<Option<NodeId>> {
    let column = Column::from_values(values);
    let found = view.lookup(label(view, "P"), key(view, "code"), &column).expect("looking up");
    assert_eq!(found.len(), values.len(), "a row for each value");
    nodes_of(&found)
}

fn lookups(subject: &mut Subject<'_>) {
    let mut codes = vec![
        Value::Int(5),
        Value::Int(-1),
        Value::Float(0.5),
        Value::string("five"),
        Value::string(""),
        Value::Bool(true),
        Value::Date(model::temporal::Date(5)),
        Value::LocalDateTime(model::temporal::LocalDateTime::of_micros(5)),
        Value::list(vec![Value::Int(1), Value::Int(2)]),
        Value::Bytes(std::sync::Arc::from([1, 2])),
    ];
    let known = codes.clone();
    codes.extend(crate::scalars::scalar_values().into_iter().filter(|value| !known.contains(value)));
    subject.commit(|transaction| {
        constrain(transaction, "P", "code").expect("making a constraint");
        for (name, code) in codes.iter().enumerate() {
            add_node(transaction, &["P"], &[("name", Value::Int(name as i64)), ("code", code.clone())]);
            add_node(transaction, &["Q"], &[("code", code.clone())]);
        }
    });
    let view = subject.view();
    let expected: Vec<_> = (0..codes.len() as i64).map(|name| find(&*view, name)).collect();
    assert_eq!(look_up(&*view, &codes), expected, "lookups of all types in one column");
    for (row, code) in codes.iter().enumerate() {
        assert_eq!(look_up(&*view, std::slice::from_ref(code)), [expected[row]], "lookup of {code}");
    }
    let missing = [Value::Null, Value::Int(6), Value::string("six"), Value::Bool(false), Value::Float(f64::NAN)];
    assert_eq!(look_up(&*view, &missing), [None; 5], "lookups of what is not there");
    assert!(look_up(&*view, &[]).is_empty());
}

fn many_lookups(subject: &mut Subject<'_>) {
    const NODES: i64 = 3_000;
    subject.commit(|transaction| {
        constrain(transaction, "N", "name").expect("making a constraint");
        numbered_nodes(transaction, 0..NODES as usize);
    });
    let view = subject.view();
    let values: Vec<Value> = (0..2 * NODES).map(|index| Value::Int((index * 7) % (2 * NODES))).collect();
    let column = Column::from_values(&values);
    let found = view.lookup(label(&*view, "N"), key(&*view, "name"), &column).expect("looking up");
    let nodes = super::subject::all_named(&*view, NODES as usize);
    for (value, found) in values.iter().zip(nodes_of(&found)) {
        let Value::Int(name) = value else { unreachable!("all values are integers") };
        let expected = if *name < NODES { Some(nodes[*name as usize]) } else { None };
        assert_eq!(found, expected, "lookup of {name}");
    }
    let twice = [Value::Int(1), Value::Int(1), Value::Null, Value::Int(1)];
    let found = view.lookup(label(&*view, "N"), key(&*view, "name"), &Column::from_values(&twice));
    assert_eq!(nodes_of(&found.expect("looking up")), [Some(nodes[1]), Some(nodes[1]), None, Some(nodes[1])]);
}

fn lookups_in_a_transaction(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        constrain(transaction, "P", "code").expect("making a constraint");
        add_node(transaction, &["P"], &[("name", Value::Int(0)), ("code", Value::Int(0))]);
        add_node(transaction, &["P"], &[("name", Value::Int(1)), ("code", Value::Int(1))]);
    });
    let before = subject.view();
    {
        let mut transaction = subject.begin();
        let old = [0, 1].map(|name| named(transaction.view(), name));
        let codes = [Value::Int(0), Value::Int(1), Value::Int(2), Value::Int(3)];
        let fresh = add_node(&mut *transaction, &["P"], &person(Value::Int(2)));
        set_node(&mut *transaction, &old[..1], "code", &[Value::Int(3)]).expect("setting a property");
        let p: LabelId = label(transaction.view(), "P");
        transaction.remove_labels(&old[1..], &[p]).expect("removing a label");
        assert_eq!(look_up(transaction.view(), &codes), [None, None, Some(fresh), Some(old[0])]);
        assert_eq!(look_up(&*before, &codes), [Some(old[0]), Some(old[1]), None, None]);
        transaction.commit().expect("committing");
    }
    let codes = [Value::Int(0), Value::Int(1), Value::Int(2), Value::Int(3)];
    let found: Vec<bool> = look_up(&*subject.view(), &codes).iter().map(Option::is_some).collect();
    assert_eq!(found, [false, false, true, true]);
    assert!(look_up(&*before, &codes)[0].is_some(), "an older snapshot finds what it had");
}
