//! Communities: their modularity is the one of its definition, they are connected, and well-known graphs fall apart as
//! they should.

use std::sync::Arc;

use analytics::algorithms::{leiden, louvain, modularity};
use analytics::{Graph, Sides};
use model::store::Direction;
use model::{Interrupt, NodeId, Value};
use testing::ReferenceStore;
use testing::graphs::GraphData;

use crate::call::{by_number, call, number, property};
use crate::generated::{on_all_graphs, view_of};
use crate::naive::NaiveGraph;

/// Modularity by its definition, over all pairs of nodes.
fn modularity(graph: &NaiveGraph, communities: &[Value], gamma: f64, is_weighted: bool) -> f64 {
    let count = graph.node_count;
    let mut matrix = vec![0.0; count * count];
    for &(source, target, weight) in &graph.edges {
        let weight = if is_weighted { weight } else { 1.0 };
        matrix[source * count + target] += weight;
        matrix[target * count + source] += weight;
    }
    let strengths: Vec<f64> = (0..count).map(|node| matrix[node * count..(node + 1) * count].iter().sum()).collect();
    let all: f64 = strengths.iter().sum();
    if all == 0.0 {
        return 0.0;
    }
    let pairs = (0..count * count).map(|at| (at / count, at % count));
    let together = pairs.filter(|&(a, b)| communities[a] == communities[b]);
    together.map(|(a, b)| matrix[a * count + b] - gamma * strengths[a] * strengths[b] / all).sum::<f64>() / all
}

fn assert_near(found: f64, expected: f64, name: &str) {
    assert!((found - expected).abs() < 1e-9, "{name}: found {found}, expected {expected}");
}

fn has_weights(store: &ReferenceStore) -> bool {
    use model::GraphStore;
    store.read().expect("a store in memory can be read").schema().property_key("weight").is_some()
}

#[test]
fn modularity_is_that_of_the_definition() {
    on_all_graphs(|name, graph, store, ids, random| {
        let weight = ("weightProperty", Value::string("weight"));
        for (procedure, is_weighted, gamma) in [
            ("algo.louvain", true, 1.0),
            ("algo.louvain", false, 0.5),
            ("algo.leiden", true, 2.0),
            ("algo.leiden", false, 1.0),
        ] {
            if is_weighted && !has_weights(store) {
                continue;
            }
            let mut settings =
                vec![("gamma", Value::Float(gamma)), ("randomSeed", Value::Int(random.below(100) as i64))];
            settings.extend(is_weighted.then(|| weight.clone()));
            let name = format!("{name}, {procedure}, weighted {is_weighted}");
            let found = by_number(&call(store, procedure, &settings, 1).unwrap(), ids);
            assert_eq!(found, by_number(&call(store, procedure, &settings, 2).unwrap(), ids), "{name}");
            let stats = call(store, &format!("{procedure}.stats"), &settings, 2).unwrap();
            assert_near(number(&stats[0][0]), modularity(graph, &found, gamma, is_weighted), &name);
            assert_named_by_smallest(&found, ids, &name);
        }
    });
}

fn assert_named_by_smallest(communities: &[Value], ids: &[NodeId], name: &str) {
    for community in communities {
        let members = communities.iter().zip(ids).filter(|(other, _)| *other == community);
        let smallest = members.map(|(_, id)| id.0).min().expect("the community has a member");
        assert_eq!(*community, Value::Int(smallest.cast_signed()), "{name}");
    }
}

#[test]
fn communities_pass_their_verifiers() {
    on_all_graphs(|name, _, store, ids, random| {
        for is_weighted in [false, has_weights(store)] {
            let view = view_of(store, Direction::Both, is_weighted, Sides::Forward);
            for (max_levels, random_seed) in [(10, 0), (1, 1), (2, 2)] {
                let shared = louvain::Config { max_levels, random_seed, ..louvain::Config::default() };
                let start: Vec<u32> = ids.iter().map(|_| random.below(ids.len().min(3) as u64) as u32).collect();
                for start in [None, Some(start)] {
                    let found = louvain::run(&view, &shared, start.clone(), 2, &Interrupt::new()).unwrap();
                    louvain::verify(&view, &shared, &found).unwrap_or_else(|error| panic!("{name}: {error}"));
                    for theta in [0.0, 0.01, 1.0] {
                        let config = leiden::Config { shared: shared.clone(), theta };
                        let found = leiden::run(&view, &config, start.clone(), 2, &Interrupt::new()).unwrap();
                        leiden::verify(&view, &config, &found).unwrap_or_else(|error| panic!("{name}: {error}"));
                    }
                }
            }
        }
    });
}

#[test]
fn modularity_passes_its_verifier() {
    on_all_graphs(|name, _, store, ids, random| {
        for is_weighted in [false, has_weights(store)] {
            let view = view_of(store, Direction::Both, is_weighted, Sides::Forward);
            let graph = Graph::in_memory(Arc::new(view.clone()));
            for gamma in [0.0, 1.0, 2.5] {
                let count = 1 + random.below(5) as u32;
                let communities: Vec<u32> = (0..ids.len() as u32).map(|node| node % count).collect();
                let parts = modularity::run(&graph, &communities, gamma, &Interrupt::new()).unwrap();
                modularity::verify(&view, &communities, gamma, Some(parts.iter().sum()))
                    .unwrap_or_else(|error| panic!("{name}, {count} communities, gamma {gamma}: {error}"));
            }
        }
    });
}

/// Cliques in a ring, each joined with the next by one edge.
fn ring_of_cliques(cliques: u64, size: u64) -> GraphData {
    let mut edges = Vec::new();
    for clique in 0..cliques {
        let first = clique * size;
        for a in first..first + size {
            edges.extend((a + 1..first + size).map(|b| (a, b)));
        }
        edges.push((first, (first + size) % (cliques * size)));
    }
    GraphData::plain("Node", (cliques * size) as usize, "LINK", &edges)
}

#[test]
fn cliques_are_communities() {
    for store in [ReferenceStore::new(), ReferenceStore::foreign(3)] {
        let ids = ring_of_cliques(8, 6).load_into(&store).unwrap();
        for procedure in ["gds.louvain", "gds.leiden"] {
            let found = by_number(&call(&store, &format!("{procedure}.stream"), &[], 2).unwrap(), &ids);
            for (node, community) in found.iter().enumerate() {
                assert_eq!(*community, found[node / 6 * 6], "{procedure}: node {node} is with its clique");
                assert!(node < 6 || *community != found[node - 6], "{procedure}: cliques are apart");
            }
            let settings = [
                ("includeIntermediateCommunities", Value::Bool(true)),
                ("consecutiveIds", Value::Bool(true)),
                ("seedProperty", Value::Null),
            ];
            for row in call(&store, &format!("{procedure}.stream"), &settings, 2).unwrap() {
                let Value::List(levels) = &row[2] else { panic!("expected the levels, found {:?}", row[2]) };
                assert_eq!(levels.last(), Some(&row[1]), "the last level is the result");
                assert!(matches!(row[1], Value::Int(0..8)), "found {:?}", row[1]);
            }
            let large = [("minCommunitySize", Value::Int(7))];
            assert!(call(&store, &format!("{procedure}.stream"), &large, 2).unwrap().is_empty());
        }
    }
}

#[test]
fn what_is_written_can_be_measured_and_started_from() {
    let store = ReferenceStore::with_batch_rows(5);
    let ids = ring_of_cliques(5, 5).load_into(&store).unwrap();
    let written = call(&store, "algo.leiden.write", &[("writeProperty", Value::string("group"))], 2).unwrap();
    assert_eq!(written[0][0], Value::Int(25));
    assert!(property(&store, &ids, "group").iter().all(|group| matches!(group, Value::Int(_))));
    for way in ["memory", "streaming"] {
        let settings = [("communityProperty", Value::string("group")), ("execution", Value::string(way))];
        let stats = call(&store, "gds.modularity.stats", &settings, 2).unwrap();
        assert_near(number(&stats[0][0]), number(&written[0][1]), way);
        assert_eq!(stats[0][1..3], [Value::Int(5), Value::Int(25)]);
        let rows = call(&store, "algo.modularity", &settings, 2).unwrap();
        assert_near(rows.iter().map(|row| number(&row[1])).sum(), number(&written[0][1]), way);
    }
    for procedure in ["algo.louvain", "algo.leiden"] {
        let rows = call(&store, procedure, &[("seedProperty", Value::string("group"))], 2).unwrap();
        assert_eq!(by_number(&rows, &ids), property(&store, &ids, "group"), "{procedure} stays where nothing gains");
    }
}

#[test]
fn seeds_and_empty_selections_are_checked() {
    let store = ReferenceStore::new();
    ring_of_cliques(2, 3).load_into(&store).unwrap();
    let refused = |name: &str, entries: &[(&str, Value)], expected: &str| {
        let error = call(&store, name, entries, 1).expect_err(expected);
        assert_eq!(error.message(), expected);
    };
    refused("algo.louvain", &[("seedProperty", Value::string("group"))], "the graph has no property 'group'");
    refused(
        "algo.leiden",
        &[("theta", Value::Int(-1))],
        "algo.leiden: setting 'theta' is -1, expected a finite number of at least 0",
    );
    refused(
        "algo.louvain",
        &[("maxLevels", Value::Int(0))],
        "algo.louvain: setting 'maxLevels' is 0, expected an integer of at least 1",
    );
    refused("algo.modularity", &[], "algo.modularity: setting 'communityProperty' is missing, expected STRING");
    refused(
        "algo.louvain",
        &[("execution", Value::string("streaming"))],
        "algo.louvain: setting 'execution' is 'streaming', expected 'auto' or one of: memory",
    );
}

/// A graph whose nodes state a name where a number is expected keeps its properties.
#[test]
fn a_community_that_is_no_number_is_named() {
    use model::{Column, GraphStore};
    let mut graph = ring_of_cliques(2, 3);
    let names: Vec<Value> = (0..6).map(|node| if node == 4 { Value::string("b") } else { Value::Int(1) }).collect();
    graph.nodes[0].properties.push(("group".to_owned(), Column::from_values(&names)));
    let store = ReferenceStore::new();
    let ids = graph.load_into(&store).unwrap();
    let settings = [("seedProperty", Value::string("group")), ("writeProperty", Value::string("found"))];
    let error = call(&store, "algo.louvain.write", &settings, 1).expect_err("a text is no community");
    let expected = format!("node #{} has STRING in property 'group', expected INTEGER for its community", ids[4].0);
    assert_eq!(error.message(), expected);
    assert!(store.read().unwrap().schema().property_key("found").is_none(), "nothing is written");
}
