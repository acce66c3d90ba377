//! Weights and other numbers are read alike by every procedure that takes them; the procedures are found in the list of all.

use analytics::algorithms::yens;
use analytics::{Projection, SearchContext, Sides, Weight, algorithms::dijkstra};
use model::procedure::Procedure;
use model::{Column, ColumnData, GraphStore, Interrupt, Result, Value};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};
use testing::random::{SeededRandom, seed_or};

use crate::call::call;
use crate::generated::{DIRECTIONS, view_of, weighted};

/// Four places without a circle, joined by edges of this weight except for the first one.
fn store(weight: Value, other: Value) -> ReferenceStore {
    let degrees = |start: f64| Column::new(ColumnData::Float((0..4).map(|at| start + f64::from(at) / 10.0).collect()));
    let nodes = NodeGroup {
        count: 4,
        labels: vec!["Place".to_owned()],
        properties: vec![
            ("latitude".to_owned(), degrees(1.0)),
            ("longitude".to_owned(), degrees(2.0)),
            ("community".to_owned(), Column::new(ColumnData::Int(vec![1, 1, 2, 2]))),
        ],
    };
    let weights = [other, weight.clone(), weight.clone(), weight.clone(), weight];
    let edges = EdgeGroup {
        edge_type: "ROAD".to_owned(),
        sources: vec![0, 1, 2, 0, 1],
        targets: vec![1, 2, 3, 2, 3],
        properties: vec![("length".to_owned(), Column::from_values(&weights))],
    };
    let store = ReferenceStore::new();
    GraphData { nodes: vec![nodes], edges: vec![edges] }.load_into(&store).expect("a store in memory takes a graph");
    store
}

/// The procedures that run an algorithm, once each.
fn runs() -> Vec<&'static str> {
    let name = |procedure: &std::sync::Arc<dyn Procedure>| procedure.signature().name;
    let is_run = |name: &&str| !name.ends_with("estimate") && !name.starts_with("algo.ke");
    analytics::procedures().iter().map(name).filter(is_run).collect()
}

/// Calls a procedure with a setting, and with whatever else it needs; `None` if it does not know the setting.
fn call_with(store: &ReferenceStore, name: &str, setting: (&str, Value)) -> Option<Result<Vec<Vec<Value>>>> {
    let mut settings = vec![setting.clone()];
    loop {
        let error = match call(store, name, &settings, 1) {
            Ok(rows) => return Some(Ok(rows)),
            Err(error) => error,
        };
        let message = error.message();
        if message.contains(&format!("has no setting '{}'", setting.0)) {
            return None;
        }
        let needed = [
            ("'sourceNode' is missing", "sourceNode", Value::Int(0)),
            ("'targetNode' is missing", "targetNode", Value::Int(3)),
            ("'communityProperty' is missing", "communityProperty", Value::string("community")),
            ("'writeProperty' is missing", "writeProperty", Value::string("found")),
            ("'writeRelationshipType' is missing", "writeRelationshipType", Value::string("FOUND")),
            ("without 'weightProperty'", "weightProperty", Value::string("length")),
            ("without 'heuristicScale'", "heuristicScale", Value::Int(0)),
        ];
        match needed.into_iter().find(|(said, key, _)| message.contains(said) && settings.iter().all(|s| s.0 != *key)) {
            Some((_, key, value)) => settings.push((key, value)),
            None => return Some(Err(error)),
        }
    }
}

#[test]
fn every_procedure_refuses_the_same_weights() {
    for (weight, found) in [
        (Value::Float(f64::INFINITY), "Infinity"),
        (Value::Float(f64::NEG_INFINITY), "-Infinity"),
        (Value::Float(f64::NAN), "NaN"),
        (Value::Float(1.1e100), "1.1e100"),
        (Value::Float(-1e-300), "-1e-300"),
        (Value::Int(-1), "-1"),
    ] {
        let store = store(Value::Float(1.0), weight);
        let said = format!("has weight {found} in property 'length', expected a number from 0 to 1e100");
        let weight_property = || ("weightProperty", Value::string("length"));
        let mut checked = 0;
        for name in runs() {
            let Some(answer) = call_with(&store, name, weight_property()) else { continue };
            let error = answer.err().unwrap_or_else(|| panic!("{name} takes the weight {found}"));
            let names_it = ["node #0 and node #1 ", "node #1 and node #0 "].map(|ends| error.message().contains(ends));
            assert!(error.message().contains(&said) && names_it.contains(&true), "{name}: {error}");
            checked += 1;
        }
        assert!(checked >= 48, "only {checked} procedures take weights");
    }
}

#[test]
fn no_default_is_out_of_bounds() {
    let store = store(Value::Float(1.0), Value::Float(1.0));
    let mut checked = 0;
    for name in runs() {
        for number in [f64::INFINITY, f64::NAN, 1.1e100, -1.0] {
            let Some(answer) = call_with(&store, name, ("defaultWeight", Value::Float(number))) else { break };
            let error = answer.err().unwrap_or_else(|| panic!("{name} takes {number} for a weight"));
            assert!(error.message().contains("expected a number from 0 to 1e100"), "{name}: {error}");
            checked += 1;
        }
    }
    assert!(checked >= 4 * 48, "only {checked} calls were made");
}

#[test]
fn whatever_weights_add_up_to_is_finite() {
    for (weight, other) in [(1e100, 1e100), (1e100, 1e-100), (1e-300, 1e-300), (1e100, 0.0), (0.0, 0.0)] {
        for name in runs() {
            let store = store(Value::Float(weight), Value::Float(other));
            let Some(answer) = call_with(&store, name, ("weightProperty", Value::string("length"))) else { continue };
            let rows = match answer {
                Err(error) if error.message().contains("needs weights greater than 0") && weight * other == 0.0 => {
                    continue;
                }
                answer => answer.unwrap_or_else(|error| panic!("{name}, {weight:e}, {other:e}: {error}")),
            };
            rows.iter().flatten().for_each(|value| check_finite(value, &format!("{name}, {weight:e}, {other:e}")));
        }
    }
}

fn check_finite(value: &Value, name: &str) {
    match value {
        Value::Float(number) => assert!(number.is_finite(), "{name} gives {number}"),
        Value::List(items) => items.iter().for_each(|item| check_finite(item, name)),
        Value::Map(map) => map.values().for_each(|item| check_finite(item, name)),
        _ => {}
    }
}

#[test]
fn numbers_are_finite_and_seeds_any_integer() {
    let store = store(Value::Float(1.0), Value::Float(1.0));
    let (mut tolerances, mut seeds) = (0, 0);
    for name in runs() {
        for setting in ["tolerance", "gamma", "theta", "dampingFactor"] {
            for number in [f64::INFINITY, f64::NAN] {
                let Some(answer) = call_with(&store, name, (setting, Value::Float(number))) else { continue };
                let error = answer.err().unwrap_or_else(|| panic!("{name} takes {setting} {number}"));
                assert!(error.message().contains(&format!("setting '{setting}' is ")), "{name}: {error}");
                tolerances += 1;
            }
        }
        for seed in [-1, i64::MIN, i64::MAX] {
            let Some(answer) = call_with(&store, name, ("randomSeed", Value::Int(seed))) else { continue };
            answer.unwrap_or_else(|error| panic!("{name}, randomSeed {seed}: {error}"));
            seeds += 1;
        }
    }
    assert!(tolerances >= 30 && seeds >= 30, "only {tolerances} and {seeds} calls were made");
}

#[test]
fn several_paths_over_parallel_edges_are_the_cheapest() {
    let seed = seed_or(17);
    let mut random = SeededRandom::new(seed);
    let mut given = 0;
    for round in 0..600 {
        let nodes = 2 + random.index(4);
        let edges: Vec<(u64, u64, f64)> = (0..2 + random.index(9))
            .map(|_| (random.index(nodes) as u64, random.index(nodes) as u64, random.index(12) as f64))
            .collect();
        let store = if round % 2 == 0 { ReferenceStore::new() } else { ReferenceStore::with_batch_rows(2) };
        let ids = weighted(nodes, &edges).load_into(&store).expect("a store in memory takes a graph");
        let view = store.read().expect("a store in memory can be read");
        let weight = Weight { key: view.schema().property_key("weight"), name: "weight".into(), default: None };
        for (word, direction) in DIRECTIONS {
            let rows = view_of(&store, direction, true, Sides::Forward);
            for k in [1, 2, 3, 4, 7, 1000] {
                let ends = dijkstra::Config {
                    source: ids[0],
                    target: ids[1],
                    weight: Some(weight.clone()),
                    expanded_max: u64::MAX,
                };
                let config = yens::Config { ends, k };
                let found = yens::run(
                    &*view,
                    &Projection::all(direction),
                    &config,
                    SearchContext::unaccounted(&Interrupt::new()),
                )
                .unwrap_or_else(|error| panic!("round {round}, {word}, k {k}, FUZZ_SEED={seed}: {error}"));
                yens::verify(&rows, &config, &found).unwrap_or_else(|error| {
                    panic!("round {round}, {edges:?}, {word}, k {k}, FUZZ_SEED={seed}: {error}")
                });
                given += found.len();
            }
        }
    }
    assert!(given > 8_000, "only {given} paths were compared");
}

#[test]
fn an_estimate_counts_a_node_with_two_labels_once() {
    let group = |count, labels: &[&str]| NodeGroup {
        count,
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        properties: Vec::new(),
    };
    let nodes = vec![group(2, &["A", "B"]), group(1, &["A"]), group(3, &["C"]), group(1, &["B", "C"])];
    for store in [ReferenceStore::new(), ReferenceStore::foreign(3)] {
        GraphData { nodes: nodes.clone(), edges: Vec::new() }
            .load_into(&store)
            .expect("a store in memory takes a graph");
        for (labels, expected) in [(&["A", "B"][..], 4), (&["A", "C"], 7), (&["A"], 3), (&["A", "B", "C"], 7)] {
            let labels = Value::list(labels.iter().map(|label| Value::string(label)).collect());
            for name in ["algo.wcc.estimate", "algo.pagerank.stats.estimate"] {
                let rows = call(&store, name, &[("labels", labels.clone())], 1).unwrap();
                assert_eq!(rows[0][4], Value::Int(expected), "{name}, {labels}");
            }
        }
    }
}
