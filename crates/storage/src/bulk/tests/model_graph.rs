//! The model: a graph as two lists, and its comparison with a version.

use std::collections::BTreeMap;
use std::ops::Range;

use model::batch::EdgeBlock;
use model::store::{EdgeIds, EdgeStream};
use model::temporal::{Date, LocalDateTime};
use model::{EdgeId, EdgeTypeId, NodeId, PropertyKeyId, Value};
use testing::random::SeededRandom;

use crate::format::EdgePlace;
use crate::partition::LiveSection;
use crate::version::Version;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelNode {
    pub(crate) is_there: bool,
    pub(crate) labels: Vec<String>,
    pub(crate) properties: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, PartialOrd)]
pub(crate) struct ModelEdge {
    pub(crate) edge_type: String,
    pub(crate) source: u64,
    pub(crate) target: u64,
    pub(crate) properties: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ModelGraph {
    pub(crate) nodes: Vec<ModelNode>,
    pub(crate) edges: Vec<ModelEdge>,
}

fn set(properties: &mut BTreeMap<String, Value>, name: &str, value: Value) {
    if value.is_null() {
        properties.remove(name);
    } else {
        properties.insert(name.to_owned(), value);
    }
}

impl ModelNode {
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        set(&mut self.properties, name, value);
    }
}

impl ModelEdge {
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        set(&mut self.properties, name, value);
    }
}

/// A value whose kind hangs on the name, now and then another or none.
pub(crate) fn random_value(random: &mut SeededRandom, name: &str, kind: usize) -> Value {
    if random.chance(15) {
        return Value::Null;
    }
    match (name, kind) {
        ("p", 1) => Value::string(&format!("mixed {}", random.below(9))),
        ("p", _) => Value::Int(random.next_u64() as i64 >> random.below(63)),
        ("q", 2) => Value::Float(f64::from(random.below(1000) as f32) / 8.0),
        ("q", 3) => Value::list(vec![Value::Int(random.below(5) as i64), Value::string("x")]),
        ("q", _) => Value::Float(random.unit()),
        ("r", 3) => Value::Bytes(vec![1, 2, random.below(9) as u8].into()),
        ("r", _) if random.chance(2) => Value::Bool(random.chance(50)),
        ("r", 1) => Value::Date(Date(random.below(9000) as i64 - 99)),
        ("r", _) => Value::string(&"abcdefghij"[..random.index(10)]),
        // Few, so that blocks keep them in dictionaries, which differ from loader to loader.
        ("s", 0) => Value::string(&format!("few {}", random.below(50))),
        (_, 1) => Value::LocalDateTime(LocalDateTime::of_micros(random.next_u64() as i64 >> 8)),
        _ => Value::string(&format!("text {}", random.next_u64())),
    }
}

/// All edges of a version with their ids, read as streams.
pub(crate) fn edges_of(version: &Version) -> Vec<(EdgeId, ModelEdge)> {
    let schema = &version.manifest().schema;
    let keys: Vec<PropertyKeyId> = (0..schema.property_keys.len() as u32).map(PropertyKeyId).collect();
    let mut edges = Vec::new();
    for partition in 0..version.partitions().len() {
        let stream = EdgeStream { keys: keys.clone(), edge_ids: EdgeIds::Include, ..EdgeStream::default() };
        let mut stream = version.stream(partition, &stream).unwrap();
        let mut block = EdgeBlock::default();
        while stream.next(&mut block).unwrap() {
            for row in 0..block.sources.len() {
                let (source, target) = (block.sources[row].0, block.targets[row].0);
                let edge_type = schema.edge_type_name(block.edge_type).to_owned();
                let mut edge = ModelEdge { edge_type, source, target, ..ModelEdge::default() };
                for (at, &key) in keys.iter().enumerate() {
                    edge.set(schema.property_key_name(key), block.properties[at].value(row));
                }
                edges.push((block.edges[row], edge));
            }
        }
    }
    edges
}

pub(crate) fn assert_same(version: &Version, graph: &ModelGraph, name: &str) {
    assert_nodes(version, graph, name);
    let stored = edges_of(version);
    let mut found: Vec<ModelEdge> = stored.iter().map(|(_, edge)| edge.clone()).collect();
    let mut expected = graph.edges.clone();
    let order = |a: &ModelEdge, b: &ModelEdge| a.partial_cmp(b).unwrap();
    found.sort_by(order);
    expected.sort_by(order);
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(version.manifest().statistics.edges, expected.len() as u64, "{name}");
    assert_ids(version, &stored, name);
    assert_directions(version, graph, name);
}

fn assert_nodes(version: &Version, graph: &ModelGraph, name: &str) {
    let schema = &version.manifest().schema;
    let nodes: Vec<NodeId> = (0..graph.nodes.len() as u64 + 3).map(NodeId).collect();
    let there = version.nodes_exist(&nodes).unwrap();
    let labels = version.node_labels(&nodes).unwrap();
    let keys: Vec<PropertyKeyId> = (0..schema.property_keys.len() as u32).map(PropertyKeyId).collect();
    // Backwards, so that a gather sees descending positions.
    let backwards: Vec<NodeId> = nodes.iter().rev().copied().collect();
    let columns = version.node_properties(&backwards, &keys).unwrap();
    let none = ModelNode::default();
    for (id, &node) in nodes.iter().enumerate() {
        let expected = graph.nodes.get(id).unwrap_or(&none);
        assert_eq!(there.get(id), expected.is_there, "{name}: node {id}");
        let mut names: Vec<String> = labels[id].iter().map(|&label| schema.label_name(label).to_owned()).collect();
        names.sort();
        assert_eq!(names, expected.labels, "{name}: node {id}");
        let mut found = ModelNode::default();
        for (at, &key) in keys.iter().enumerate() {
            found.set(schema.property_key_name(key), columns[at].value(nodes.len() - 1 - id));
        }
        assert_eq!(found.properties, expected.properties, "{name}: node {id}");
        if let (Some(label), Some(key)) = (schema.label("A"), schema.property_key("id"))
            && let Some(value) = expected.properties.get("id")
        {
            let column = model::Column::from_values([value]);
            let answer = version.lookup(label, key, &column).unwrap().unwrap();
            let is_labelled = expected.labels.iter().any(|label| label == "A");
            assert_eq!(answer[0], is_labelled.then_some(node), "{name}: lookup of {value}");
        }
    }
    let count = graph.nodes.iter().filter(|node| node.is_there).count() as u64;
    assert_eq!(version.manifest().statistics.nodes, count, "{name}");
}

/// Each edge is found by its id.
fn assert_ids(version: &Version, stored: &[(EdgeId, ModelEdge)], name: &str) {
    let schema = &version.manifest().schema;
    let key = PropertyKeyId(0);
    let ids: Vec<EdgeId> = stored.iter().rev().map(|(id, _)| *id).collect();
    let column = &version.edge_properties(&ids, &[key]).unwrap()[0];
    for (row, (id, edge)) in stored.iter().rev().enumerate() {
        let (source, target, edge_type) = version.edge(*id).unwrap().unwrap();
        assert_eq!((source.0, target.0), (edge.source, edge.target), "{name}");
        assert_eq!(schema.edge_type_name(edge_type), edge.edge_type, "{name}");
        let value = edge.properties.get(schema.property_key_name(key)).cloned().unwrap_or_default();
        assert_eq!(column.value(row), value, "{name}");
    }
}

/// Takes the rows of edges that patches deleted out of what was read of a run.
fn remove_lost<T>(live: LiveSection<'_>, run: &Range<u64>, is_in: bool, rows: &mut Vec<T>) {
    let mut lost = Vec::new();
    if let Some(patches) = live.patches {
        patches.lost(run, is_in, &mut lost).unwrap();
    }
    let first = rows.len() - (run.end - run.start) as usize;
    lost.iter().rev().for_each(|place| drop(rows.remove(first + (place - run.start) as usize)));
}

/// Both directions of every node, and the positions of in-edges.
fn assert_directions(version: &Version, graph: &ModelGraph, name: &str) {
    let mut out: BTreeMap<(u32, u64), Vec<u64>> = BTreeMap::new();
    let mut into: BTreeMap<(u32, u64), Vec<u64>> = BTreeMap::new();
    for edge in &graph.edges {
        let edge_type = version.manifest().schema.edge_type(&edge.edge_type).unwrap().0;
        out.entry((edge_type, edge.source)).or_default().push(edge.target);
        into.entry((edge_type, edge.target)).or_default().push(edge.source);
    }
    for node in 0..graph.nodes.len() as u64 {
        for edge_type in 0..version.manifest().schema.edge_types.len() as u32 {
            let (mut targets, mut sources) = (Vec::new(), Vec::new());
            for &place in version.places_of(EdgeTypeId(edge_type)) {
                let (partition, live) = version.at(place);
                let run = live.section.out_run(NodeId(node)).unwrap();
                live.section.targets(run.clone(), &mut targets).unwrap();
                remove_lost(live, &run, false, &mut targets);
                assert_eq!(
                    live.out_degree(NodeId(node)).unwrap(),
                    run.end - run.start - live.count_lost(&run, false).unwrap()
                );
                let mut here = Vec::new();
                let run = live.section.in_run(NodeId(node)).unwrap();
                live.section.sources(run.clone(), &mut here).unwrap();
                let mut positions = Vec::new();
                let middle = run.start + (run.end - run.start) / 2;
                live.section.in_positions(run.start..middle, &mut positions).unwrap();
                live.section.in_positions(middle..run.end, &mut positions).unwrap();
                let mut distinct = positions.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), here.len(), "{name}: positions of node {node}");
                remove_lost(live, &run, true, &mut here);
                remove_lost(live, &run, true, &mut positions);
                for (position, source) in positions.iter().zip(&here) {
                    let (slot, section) = (partition.slot().into(), place.section as usize);
                    let id = EdgePlace { partition: slot, section, position: *position }.id();
                    let (from, to, _) = version.edge(id).unwrap().unwrap();
                    assert_eq!((from, to), (*source, NodeId(node)), "{name}");
                    let mut parallel = Vec::new();
                    version.edges_between(EdgeTypeId(edge_type), from, to, &mut parallel).unwrap();
                    assert!(parallel.contains(&id), "{name}: an edge is among those between its ends");
                }
                sources.append(&mut here);
            }
            let check = |found: Vec<NodeId>, expected: Option<&Vec<u64>>| {
                let mut found: Vec<u64> = found.into_iter().map(|node| node.0).collect();
                let mut expected = expected.cloned().unwrap_or_default();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{name}: edges of node {node}");
            };
            check(targets, out.get(&(edge_type, node)));
            check(sources, into.get(&(edge_type, node)));
        }
    }
}
