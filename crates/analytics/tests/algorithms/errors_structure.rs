//! Calls that communities, trees, orders and searches for several paths refuse, and the words of the errors; nothing is
//! written.

use model::{Column, ErrorCode, GraphStore, Interrupt, Value};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};

use crate::call::{call, call_interrupted};

/// Four nodes in a row, one of them of another label; the second edge's weight is as given.
fn store(weight: Value) -> ReferenceStore {
    let group = |label: &str, count| NodeGroup { count, labels: vec![label.to_owned()], properties: Vec::new() };
    let weights = Column::from_values(&[Value::Int(20), weight, Value::Int(1)]);
    let edges = EdgeGroup {
        edge_type: "ROAD".to_owned(),
        sources: vec![0, 1, 2],
        targets: vec![1, 2, 3],
        properties: vec![("length".to_owned(), weights)],
    };
    let store = ReferenceStore::new();
    let graph = GraphData { nodes: vec![group("Place", 3), group("Other", 1)], edges: vec![edges] };
    graph.load_into(&store).expect("a store in memory takes a graph");
    store
}

fn check(store: &ReferenceStore, name: &str, entries: &[(&str, Value)], expected: &str) {
    match call(store, name, entries, 1) {
        Ok(rows) => panic!("{name} gives {rows:?}, expected: {expected}"),
        Err(error) => assert_eq!(error.message(), expected, "{name}"),
    }
}

/// Every algorithm that takes weights, as it writes if it writes.
const WEIGHTED: [&str; 8] = [
    "algo.louvain.write", "algo.leiden.write", "algo.spanningTree.write", "algo.longestPath", "algo.yens",
    "algo.allShortestPaths", "algo.bidirectionalDijkstra", "algo.modularity",
];

/// The settings that an algorithm cannot do without.
fn needed(name: &str) -> Vec<(&'static str, Value)> {
    let mut settings = Vec::new();
    if name.ends_with(".write") {
        settings.push(("writeProperty", Value::string("found")));
    }
    match name {
        "algo.spanningTree.write" => settings.push(("writeRelationshipType", Value::string("FOUND"))),
        "algo.modularity" => settings.push(("communityProperty", Value::string("length"))),
        "algo.yens" | "algo.allShortestPaths" | "algo.bidirectionalDijkstra" => {
            settings.extend([("sourceNode", Value::Int(0)), ("targetNode", Value::Int(3))]);
        }
        _ => {}
    }
    settings
}

#[test]
fn edges_without_a_usable_weight_are_named_and_nothing_is_written() {
    for (weight, expected) in [
        (Value::Int(-3), "has weight -3 in property 'length', expected a number from 0 to 1e100"),
        (Value::Float(f64::NAN), "has weight NaN in property 'length', expected a number from 0 to 1e100"),
        (Value::string("far"), "has STRING in property 'length', expected a number for its weight"),
        (Value::Null, "has no property 'length' to take its weight from"),
    ] {
        let store = store(weight);
        for name in WEIGHTED {
            let settings = [&needed(name)[..], &[("weightProperty", Value::string("length"))]].concat();
            let error = call(&store, name, &settings, 1).expect_err(name);
            let message = error.message();
            let ends = ["node #1 and node #2", "node #2 and node #1"];
            let names_edge = ends.iter().any(|ends| message.contains(&format!("the edge [:ROAD] between {ends}")));
            assert!(names_edge && message.ends_with(expected), "{name}: {message}");
        }
        let view = store.read().unwrap();
        assert!(view.schema().property_key("found").is_none() && view.schema().edge_types.find("FOUND").is_none());
    }
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let store = store(Value::Int(1));
    let text = |name, text| (name, Value::string(text));
    let node = |name, id| (name, Value::Int(id));
    for name in WEIGHTED {
        let settings = [&needed(name)[..], &[text("weightProperty", "lenght")]].concat();
        check(&store, name, &settings, "the graph has no property 'lenght'");
    }
    for name in ["algo.scc", "algo.bridges", "algo.articulationPoints", "algo.topologicalSort", "algo.louvain"] {
        check(&store, name, &[text("labels", "Plaice")], "the graph has no label 'Plaice'");
        check(
            &store,
            name,
            &[text("execution", "windows")],
            &format!(
                "{name}: setting 'execution' is 'windows', expected 'auto' or one of: {}",
                match name {
                    "algo.louvain" => "memory",
                    _ => "memory, streaming",
                }
            ),
        );
    }
    check(
        &store,
        "algo.spanningTree",
        &[text("objective", "best")],
        "algo.spanningTree: setting 'objective' is 'best', expected 'minimum' or 'maximum'",
    );
    check(
        &store,
        "algo.spanningTree",
        &[node("sourceNode", 9)],
        "algo.spanningTree: node #9 of setting 'sourceNode' is not in the graph",
    );
    let other = [node("sourceNode", 3), text("labels", "Place")];
    let expected = "node #3 of setting 'sourceNode' carries none of the labels asked for";
    check(&store, "algo.spanningTree", &other, expected);
    check(
        &store,
        "algo.yens",
        &[node("source", 0), node("target", 3), node("k", 0)],
        "algo.yens: setting 'k' is 0, expected an integer of at least 1",
    );
    check(
        &store,
        "algo.yens",
        &[node("source", 0)],
        "algo.yens: setting 'targetNode' is missing, expected NODE or INTEGER (a node id)",
    );
    check(
        &store,
        "algo.allShortestPaths",
        &[],
        "algo.allShortestPaths: setting 'sourceNode' is missing, expected NODE or INTEGER (a node id)",
    );
    check(&store, "algo.scc", &[text("direction", "OUT")], "algo.scc has no setting 'direction'");
}

#[test]
fn searches_give_up_as_asked_and_stop_when_cancelled() {
    let store = store(Value::Int(1));
    let ends = [("source", Value::Int(0)), ("target", Value::Int(3)), ("maxExpanded", Value::Int(1))];
    let expected = "no path was found within 1 expansions, the setting 'maxExpanded'";
    for name in ["algo.yens", "algo.allShortestPaths", "algo.bidirectionalDijkstra"] {
        check(&store, name, &ends, expected);
    }
    let interrupt = Interrupt::new();
    interrupt.cancel();
    for (name, count) in [
        ("algo.scc", 0),
        ("algo.louvain", 0),
        ("algo.leiden", 0),
        ("algo.bridges", 0),
        ("algo.articulationPoints", 0),
        ("algo.spanningTree", 0),
        ("algo.topologicalSort", 0),
        ("algo.longestPath", 0),
        ("algo.yens", 2),
        ("algo.allShortestPaths", 2),
        ("algo.bidirectionalDijkstra", 2),
    ] {
        for way in ["memory", "streaming"] {
            let way = [("execution", Value::string(way))];
            let is_search = count > 0;
            if !is_search && ["algo.louvain", "algo.leiden"].contains(&name) && way[0].1 == Value::string("streaming") {
                continue;
            }
            let settings = if is_search { &ends[..count] } else { &way[..] };
            let error = call_interrupted(&store, name, settings, 1, &interrupt).expect_err("the call was cancelled");
            assert_eq!(error.code(), ErrorCode::Cancelled, "{name}");
        }
    }
}

/// A label that no node carries any more selects nothing, which every algorithm answers with nothing.
#[test]
fn an_empty_selection_gives_no_rows() {
    let store = store(Value::Int(1));
    let mut transaction = store.write().unwrap();
    transaction.label("Ghost").unwrap();
    transaction.commit().unwrap();
    for name in [
        "algo.scc", "algo.louvain", "algo.leiden", "algo.bridges", "algo.articulationPoints", "algo.spanningTree",
        "algo.topologicalSort", "algo.longestPath",
    ] {
        let rows = call(&store, name, &[("labels", Value::string("Ghost"))], 2).unwrap();
        assert!(rows.is_empty(), "{name} gives {rows:?}");
        call(&store, &format!("{name}.stats"), &[("labels", Value::string("Ghost"))], 2).unwrap();
        call(&store, &format!("{name}.estimate"), &[("labels", Value::string("Ghost"))], 2).unwrap();
    }
}
