//! Sketches for the planner: against what was counted while the graph was made, after flushes, merges and reopening.

use model::statistics::{EdgeSketch, Sketches};
use model::store::{NewEdges, NewNodes};
use model::{Column, ColumnData, GraphStore, Interrupt, LabelId, Map, NodeId, Value};
use storage::NativeStore;
use testing::random::SeededRandom;

use crate::directory::TestDirectory;

/// Data made by the generator.
struct Made {
    nodes: Vec<NodeId>,
    /// Labels by node.
    labels: Vec<usize>,
    edges: Vec<(usize, usize)>,
    /// Values of `few` and `many`.
    values: [Vec<i64>; 2],
}

/// Nodes with one of three labels, the later ones rarer; edges whose sources are skewed.
fn make(store: &NativeStore, random: &mut SeededRandom, nodes: usize, edges: usize) -> Made {
    let mut transaction = store.write().unwrap();
    let labels: Vec<LabelId> = ["A", "B", "C"].iter().map(|name| transaction.label(name).unwrap()).collect();
    let keys = ["few", "many"].map(|name| transaction.property_key(name).unwrap());
    let edge_type = transaction.edge_type("R").unwrap();
    let mut made = Made { nodes: Vec::new(), labels: Vec::new(), edges: Vec::new(), values: [Vec::new(), Vec::new()] };
    for (label, count) in [(0, nodes / 2), (1, nodes / 2 - nodes / 10), (2, nodes / 10)] {
        let few: Vec<i64> = (0..count).map(|_| random.below(20) as i64).collect();
        let many: Vec<i64> = (0..count).map(|_| random.below(nodes as u64) as i64).collect();
        let properties = [few.clone(), many.clone()].map(|values| Column::new(ColumnData::Int(values)));
        let new = NewNodes { count, labels: &[labels[label]], keys: &keys, properties: &properties };
        made.nodes.extend(transaction.create_nodes(&new).unwrap());
        made.labels.extend(std::iter::repeat_n(label, count));
        made.values[0].extend(few);
        made.values[1].extend(many);
    }
    let count = made.nodes.len();
    let edge = |_| {
        let below = random.index(count) + 1;
        (random.index(below), random.index(count))
    };
    made.edges = (0..edges).map(edge).collect();
    let ends = |end: &dyn Fn(&(usize, usize)) -> usize| -> Vec<NodeId> {
        made.edges.iter().map(|edge| made.nodes[end(edge)]).collect()
    };
    let (sources, targets) = (ends(&|edge| edge.0), ends(&|edge| edge.1));
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
    transaction.create_edges(&new).unwrap();
    transaction.commit().unwrap();
    made
}

fn sketches(store: &NativeStore) -> Sketches {
    let view = store.read().unwrap();
    view.statistics().sketches.as_deref().cloned().expect("the store has sketches")
}

fn check_near(what: &str, found: u64, expected: u64, factor: f64) {
    let (found, expected) = ((found.max(1)) as f64, (expected.max(1)) as f64);
    let apart = (found / expected).max(expected / found);
    assert!(apart <= factor, "{what}: {found} instead of {expected}, {apart:.3} times apart");
}

/// Compares all that the sketches say with what was made; `factor` 1 wants it exact.
fn check(store: &NativeStore, made: &Made, factor: f64) {
    let view = store.read().unwrap();
    let (schema, sketches) = (view.schema(), sketches(store));
    let label = |index: usize| schema.label(["A", "B", "C"][index]);
    let sketch = &sketches.edge_types[&schema.edge_type("R").unwrap()];
    for source in 0..3 {
        let from = made.edges.iter().filter(|edge| made.labels[edge.0] == source).count() as u64;
        check_near("edges from a label", sketch.pairs[&(label(source), None)], from, factor);
        for target in 0..3 {
            let is_one = |edge: &&(usize, usize)| (made.labels[edge.0], made.labels[edge.1]) == (source, target);
            let expected = made.edges.iter().filter(is_one).count() as u64;
            check_near("edges of a pair", sketch.pairs[&(label(source), label(target))], expected, factor);
        }
    }
    check_degrees(sketch, made, factor);
    for (key, values) in ["few", "many"].iter().zip(&made.values) {
        for label in 0..3 {
            let of_label = values.iter().zip(&made.labels).filter(|(_, of)| **of == label).map(|(value, _)| *value);
            let different: Map<i64, ()> = of_label.clone().map(|value| (value, ())).collect();
            let place = (schema.label(["A", "B", "C"][label]).unwrap(), schema.property_key(key).unwrap());
            let sketch = &sketches.values[&place];
            check_near("present", sketch.present, of_label.clone().count() as u64, 1.0);
            check_near(key, sketch.distinct, different.len() as u64, factor);
            let (least, largest) = sketch.numbers.unwrap();
            assert!(least >= of_label.clone().min().unwrap() as f64 && largest <= of_label.max().unwrap() as f64);
        }
    }
}

fn check_degrees(sketch: &EdgeSketch, made: &Made, factor: f64) {
    for (found, end) in [(&sketch.out_degrees, 0), (&sketch.in_degrees, 1)] {
        let mut degrees = vec![0u64; made.nodes.len()];
        made.edges.iter().for_each(|edge| degrees[if end == 0 { edge.0 } else { edge.1 }] += 1);
        for (power, &nodes) in found.iter().enumerate() {
            let expected = degrees.iter().filter(|degree| **degree > 0 && degree.ilog2() as usize == power).count();
            // Of a few nodes a sample tells little.
            if factor == 1.0 || expected > 200 {
                check_near("nodes of a degree", nodes, expected as u64, factor);
            }
        }
    }
}

#[test]
fn a_small_graph_is_known_exactly_and_a_large_one_about() {
    for (nodes, edges, factor) in [(300, 2_000, 1.0), (60_000, 400_000, 1.25)] {
        let directory = TestDirectory::new();
        let seed = 77 + nodes as u64;
        println!("seed {seed}");
        let store = directory.open();
        let made = make(&store, &mut SeededRandom::new(seed), nodes, edges);
        store.checkpoint(&Interrupt::new()).unwrap();
        check(&store, &made, factor);
        store.compact(&Interrupt::new()).unwrap();
        check(&store, &made, factor);
        drop(store);
        check(&directory.open(), &made, factor);
    }
}

#[test]
fn sketches_are_drawn_anew_when_the_counts_have_moved() {
    let directory = TestDirectory::new();
    let store = directory.open();
    let mut random = SeededRandom::new(5);
    make(&store, &mut random, 1_000, 5_000);
    assert!(store.read().unwrap().statistics().sketches.is_none(), "nothing is looked through when a commit ends");
    store.checkpoint(&Interrupt::new()).unwrap();
    let first = sketches(&store);
    assert_eq!((first.nodes, first.edges), (1_000, 5_000));
    make(&store, &mut random, 100, 500);
    assert_eq!(sketches(&store), first);
    store.checkpoint(&Interrupt::new()).unwrap();
    assert_eq!(sketches(&store), first, "a tenth more is not worth it");
    make(&store, &mut random, 200, 1_000);
    store.checkpoint(&Interrupt::new()).unwrap();
    store.compact(&Interrupt::new()).unwrap();
    let second = sketches(&store);
    assert_eq!((second.nodes, second.edges), (1_300, 6_500));
    let mut transaction = store.write().unwrap();
    let key = transaction.property_key("few").unwrap();
    transaction.set_node_properties(&[NodeId(0)], key, &Column::constant(&Value::Int(7), 1)).unwrap();
    transaction.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
    assert_eq!(sketches(&store), second);
    drop(store);
    assert_eq!(sketches(&directory.open()), second);
}
