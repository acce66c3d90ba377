//! Expressions over nodes, edges and paths.

use std::sync::Arc;

use cypher::plan::{Expression, ExpressionKind, PathStep, SlotId};
use model::{Interrupt, Map, Span, Value};

use super::{Fixture, NoSubplans, shown};
use crate::chunk::{Chunk, Layout};
use crate::expression::compile;
use crate::expression::tests::binding::Binder;

/// The three nodes and a null, the two edges twice and a null.
fn columns(fixture: &Fixture) -> Vec<(&'static str, Vec<Value>)> {
    let (nodes, edges) = (&fixture.nodes, &fixture.edges);
    vec![
        ("n", vec![nodes[0].clone(), nodes[1].clone(), Value::Null, nodes[2].clone()]),
        ("r", vec![edges[0].clone(), Value::Null, edges[1].clone(), edges[0].clone()]),
        ("i", vec![Value::Int(1), Value::Int(2), Value::Int(3), Value::Int(4)]),
    ]
}

#[test]
fn nodes_and_edges() {
    let fixture = Fixture::new();
    for (text, expected) in [
        ("n.name", "['Ann', 'Bob', null, 'Rome']"),
        ("n.age", "[30, null, null, 'old']"),
        ("n.missing", "[null, null, null, null]"),
        ("n['name']", "['Ann', 'Bob', null, 'Rome']"),
        ("n[CASE WHEN i = 1 THEN 'age' ELSE 'name' END]", "[30, 'Bob', null, 'Rome']"),
        ("r.since", "[2001, null, null, 2001]"),
        ("n:Person", "[true, true, null, false]"),
        ("n:Person:Admin", "[false, true, null, false]"),
        ("n:Nothing", "[false, false, null, false]"),
        ("r:KNOWS", "[true, null, false, true]"),
        ("labels(n)", "[['Person'], ['Person', 'Admin'], null, ['City']]"),
        ("type(r)", "['KNOWS', null, 'LIVES_IN', 'KNOWS']"),
        ("startNode(r).name", "['Ann', null, 'Ann', 'Ann']"),
        ("endNode(r).name", "['Bob', null, 'Rome', 'Bob']"),
        ("startNode(r) = n", "[true, null, null, false]"),
        ("n = n", "[true, true, null, true]"),
        ("n < n", "[null, null, null, null]"),
        ("id(n) >= 0 AND elementId(n) = toString(id(n))", "[true, true, null, true]"),
        ("id(r) IS NULL", "[false, true, false, false]"),
        ("properties(n)", "[{name: 'Ann', age: 30}, {name: 'Bob'}, null, {name: 'Rome', age: 'old'}]"),
        ("properties(r)", "[{since: 2001}, null, {}, {since: 2001}]"),
        ("keys(n)", "[['age', 'name'], ['name'], null, ['age', 'name']]"),
        ("n{.name}", "[{name: 'Ann'}, {name: 'Bob'}, null, {name: 'Rome'}]"),
        ("n{.*, name: i}", "[{age: 30, name: 1}, {name: 2}, null, {age: 'old', name: 4}]"),
        (
            "[x IN [n, r, null] | x.name]",
            "[['Ann', null, null], ['Bob', null, null], [null, null, null], ['Rome', null, null]]",
        ),
        ("[x IN [i] WHERE n.name <> 'Bob' | n.name + x]", "[['Ann1'], [], [], ['Rome4']]"),
        ("CASE WHEN n:City THEN n.age WHEN n.age > 1 THEN n.name ELSE i END", "['Ann', 2, 3, 'old']"),
        ("n.age IS NOT NULL AND n.name STARTS WITH 'A'", "[true, false, false, false]"),
        ("n IN [startNode(r)]", "[true, null, null, false]"),
        ("exists(n.age)", "[true, false, false, true]"),
        ("valueType(n)", "['NODE NOT NULL', 'NODE NOT NULL', 'NULL', 'NODE NOT NULL']"),
    ] {
        fixture.check(&columns(&fixture), text, expected);
    }
}

#[test]
fn errors_about_the_graph() {
    let fixture = Fixture::new();
    for (text, expected) in [
        ("i:Person", ["TYPE", "i:Person", "INTEGER has no labels"]),
        ("type(n)", ["TYPE", "type(n)", "takes a relationship, found NODE"]),
        ("labels(r)", ["TYPE", "labels(r)", "takes a node, found RELATIONSHIP"]),
        ("n[i]", ["TYPE", "n[i]", "INTEGER of NODE"]),
        ("n + 1", ["TYPE", "n + 1", "NODE + INTEGER"]),
        ("length('abc')", ["TYPE", "length('abc')", "takes a path, found STRING"]),
    ] {
        fixture.check_error(&columns(&fixture), text, expected);
    }
}

#[test]
fn paths_are_walked_from_their_start() {
    let fixture = Fixture::new();
    let (ann, bob) = (fixture.nodes[0].clone(), fixture.nodes[1].clone());
    let (knows, lives) = (fixture.edges[0].clone(), fixture.edges[1].clone());
    let rows: [(Value, Value, Value); 4] = [
        (ann.clone(), knows.clone(), Value::list(vec![])),
        (bob.clone(), knows.clone(), Value::list(vec![lives])),
        (bob, knows, Value::Null),
        (Value::Null, Value::Null, Value::list(vec![])),
    ];
    let column = |of: &dyn Fn(&(Value, Value, Value)) -> Value| {
        Arc::new(model::Column::from_values(&rows.iter().map(of).collect::<Vec<_>>()))
    };
    let chunk = Chunk {
        rows: 4,
        columns: vec![column(&|row| row.0.clone()), column(&|row| row.1.clone()), column(&|row| row.2.clone())],
    };
    let kind =
        ExpressionKind::Path { start: SlotId(0), steps: vec![PathStep::Edge(SlotId(1)), PathStep::Edges(SlotId(2))] };
    let layout = Layout::new((0..3).map(SlotId).collect());
    let compiled = compile(&Expression { kind, span: Span::default() }, &layout, &mut NoSubplans).unwrap();
    let (parameters, interrupt) = (Map::default(), Interrupt::new());
    let paths = compiled.evaluate(&chunk, &fixture.context(&parameters, &interrupt)).unwrap();
    let names = ["p".to_owned()];
    let found = |text: &str| {
        let expression = Binder::slots(&names).bind_text(text);
        let compiled = compile(&expression, &Layout::new(vec![SlotId(0)]), &mut NoSubplans).unwrap();
        let chunk = Chunk { rows: 4, columns: vec![paths.clone()] };
        shown(
            &compiled.evaluate(&chunk, &fixture.context(&parameters, &interrupt)).unwrap().values().collect::<Vec<_>>(),
        )
    };
    assert_eq!(found("[x IN nodes(p) | x.name]"), "[['Ann', 'Bob'], ['Bob', 'Ann', 'Rome'], null, null]");
    assert_eq!(found("[x IN relationships(p) | type(x)]"), "[['KNOWS'], ['KNOWS', 'LIVES_IN'], null, null]");
    assert_eq!(found("length(p)"), "[1, 2, null, null]");
}
