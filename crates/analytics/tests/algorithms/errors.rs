//! Calls that the algorithms refuse, and the words of the errors.

use model::{Column, ErrorCode, Interrupt, Value};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};

use crate::call::{call, call_interrupted};

/// Three places in a row; the second road's weight and the last place's longitude are as given.
fn store(weight: Value, longitude: Value) -> ReferenceStore {
    let column = |values: &[Value]| Column::from_values(values);
    let nodes = NodeGroup {
        count: 3,
        labels: vec!["Place".to_owned()],
        properties: vec![
            ("latitude".to_owned(), column(&[Value::Float(1.0), Value::Float(1.1), Value::Float(1.2)])),
            ("longitude".to_owned(), column(&[Value::Int(1), Value::Int(1), longitude])),
        ],
    };
    let edges = EdgeGroup {
        edge_type: "ROAD".to_owned(),
        sources: vec![0, 1],
        targets: vec![1, 2],
        properties: vec![("length".to_owned(), column(&[Value::Int(20), weight]))],
    };
    let store = ReferenceStore::new();
    GraphData { nodes: vec![nodes], edges: vec![edges] }.load_into(&store).expect("a store in memory takes a graph");
    store
}

fn check(store: &ReferenceStore, name: &str, entries: &[(&str, Value)], expected: &str) {
    match call(store, name, entries, 1) {
        Ok(rows) => panic!("{name} gives {rows:?}, expected: {expected}"),
        Err(error) => assert_eq!(error.message(), expected),
    }
}

#[test]
fn names_that_the_graph_does_not_have_are_refused() {
    let store = store(Value::Int(1), Value::Int(1));
    let node = |name, id| (name, Value::Int(id));
    check(&store, "algo.pagerank", &[("labels", Value::string("Plaice"))], "the graph has no label 'Plaice'");
    check(&store, "algo.wcc", &[("types", Value::string("RAOD"))], "the graph has no relationship type 'RAOD'");
    check(&store, "algo.bfs", &[], "algo.bfs: setting 'sourceNode' is missing, expected NODE or INTEGER (a node id)");
    check(&store, "algo.bfs", &[node("source", 9)], "algo.bfs: node #9 of setting 'sourceNode' is not in the graph");
    check(
        &store,
        "algo.bfs.write",
        &[node("source", 1)],
        "algo.bfs.write: setting 'writeProperty' is missing, expected STRING",
    );
    check(
        &store,
        "algo.dijkstra",
        &[node("source", 0), node("target", 2), ("weightProperty", Value::string("lenght"))],
        "the graph has no property 'lenght'",
    );
    check(
        &store,
        "algo.pagerank",
        &[("dampingFactor", Value::Float(1.5))],
        "algo.pagerank: setting 'dampingFactor' is 1.5, expected a number from 0 to 1",
    );
    check(&store, "algo.astar", &[("latitude", Value::Int(1))], "algo.astar has no setting 'latitude'");
}

#[test]
fn edges_without_a_usable_weight_are_named() {
    let ends = [("source", Value::Int(0)), ("target", Value::Int(2)), ("weightProperty", Value::string("length"))];
    let astar = [&ends[..], &[("heuristicScale", Value::Int(0))]].concat();
    let source = [ends[0].clone(), ends[2].clone()];
    for (weight, expected) in [
        (Value::Int(-3), "has weight -3 in property 'length', expected a number from 0 to 1e100"),
        (Value::Float(f64::NAN), "has weight NaN in property 'length', expected a number from 0 to 1e100"),
        (Value::string("far"), "has STRING in property 'length', expected a number for its weight"),
        (Value::Null, "has no property 'length' to take its weight from"),
    ] {
        let store = store(weight, Value::Int(1));
        let expected = format!("the edge [:ROAD] between node #1 and node #2 {expected}");
        check(&store, "algo.dijkstra", &ends, &expected);
        check(&store, "algo.astar", &astar, &expected);
        check(&store, "algo.dijkstra.distances", &source, &expected);
    }
    let store = store(Value::Null, Value::Int(1));
    let with_default = [&ends[..], &[("defaultWeight", Value::Float(0.5))]].concat();
    assert_eq!(call(&store, "algo.dijkstra", &with_default, 1).unwrap()[0][1], Value::Float(20.5));
}

#[test]
fn nodes_without_usable_coordinates_are_named() {
    let ends = [("source", Value::Int(0)), ("target", Value::Int(1))];
    let last = [("source", Value::Int(0)), ("target", Value::Int(2))];
    for (longitude, expected) in [
        (Value::Null, "node #2 has no property 'longitude', which the search needs"),
        (Value::Int(12_245_848), "node #2 has 12245848 in property 'longitude', expected degrees between -360 and 360"),
        (Value::string("east"), "node #2 has 'east' in property 'longitude', expected degrees between -360 and 360"),
    ] {
        let store = store(Value::Int(1), longitude);
        check(&store, "algo.astar", &last, expected);
        assert_eq!(call(&store, "algo.astar", &ends, 1).unwrap().len(), 1, "the last place is not needed");
    }
}

#[test]
fn a_search_gives_up_as_asked() {
    let store = store(Value::Int(1), Value::Int(1));
    let ends = [("source", Value::Int(0)), ("target", Value::Int(2))];
    let limited = [&ends[..], &[("maxExpanded", Value::Int(1))]].concat();
    check(&store, "algo.astar", &limited, "no path was found within 1 expansions, the setting 'maxExpanded'");
    let weighted = [&ends[..], &[("weightProperty", Value::string("length"))]].concat();
    check(
        &store,
        "algo.astar",
        &weighted,
        "algo.astar: 'weightProperty' is given without 'heuristicScale', so that the search cannot estimate costs",
    );
    let interrupt = Interrupt::new();
    interrupt.cancel();
    for (name, count) in
        [("algo.pagerank", 0), ("algo.wcc", 0), ("algo.bfs", 1), ("algo.dijkstra", 2), ("algo.astar", 2)]
    {
        let error = call_interrupted(&store, name, &ends[..count], 1, &interrupt).expect_err("the call was cancelled");
        assert_eq!(error.code(), ErrorCode::Cancelled, "{name}");
    }
}

#[test]
fn what_must_converge_and_does_not_is_an_error() {
    let store = store(Value::Int(1), Value::Int(1));
    let settings =
        [("maxIterations", Value::Int(1)), ("tolerance", Value::Float(1e-12)), ("mustConverge", true.into())];
    for (name, said) in [
        ("algo.pagerank", "algo.pagerank had not converged when it came to 'maxIterations'"),
        ("algo.eigenvector.stats", "algo.eigenvector had not converged when it came to 'maxIterations'"),
    ] {
        check(&store, name, &settings, said);
        assert!(call(&store, name, &settings[..2], 1).is_ok(), "{name} may stop before");
    }
    let number = |x: f64| Value::Float(x);
    for (weights, said) in [
        (vec![number(1.0), number(2.0)], "algo.pagerank: 2 'sourceWeights' for 1 different 'sourceNodes'"),
        (vec![number(0.0)], "algo.pagerank: setting 'sourceWeights' must hold numbers from 0 to 1e100, not all 0"),
    ] {
        let settings = [("sourceNodes", Value::Int(0)), ("sourceWeights", Value::list(weights))];
        check(&store, "algo.pagerank", &settings, said);
    }
    let both = [("sourceNodes", Value::Int(0)), ("samplingSize", Value::Int(1))];
    check(
        &store,
        "algo.betweenness",
        &both,
        "algo.betweenness: both setting 'sourceNodes' and 'samplingSize' are given",
    );
}
