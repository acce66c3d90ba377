//! Random databases with everything that makes a source hard: keys of all kinds, loops, parallel edges, foreign keys that
//! lead nowhere, nulls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::platform::Clock;
use model::store::NodeCursor;
use model::{Column, EdgeBatch, Expand, MemoryBudget, NodeBatch, NodeId, NodeScan, ReadView, Value};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};
use testing::random::SeededRandom;

use super::memory::{MemoryConnector, Rows};
use crate::connector::{Abilities, Facts, KindFacts};
use crate::definition::{EdgeKind, End, EndNode, GraphDefinition, NodeKind, Property};
use crate::store::{Environment, SourceStore};

/// A database, its definition, and the graph that is meant.
pub(super) struct World {
    pub(super) definition: GraphDefinition,
    pub(super) connector: Arc<MemoryConnector>,
    pub(super) clock: Arc<TestClock>,
    pub(super) memory: Arc<MemoryBudget>,
    pub(super) rows: Rows,
}

/// A clock that moves when it is told to.
#[derive(Debug, Default)]
pub(super) struct TestClock(AtomicU64);

impl TestClock {
    pub(super) fn advance(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        self.now_ns() as i64 / 1_000
    }
}

fn rows_of(name: &str) -> crate::definition::Rows {
    crate::definition::Rows::Table { schema: None, name: name.to_owned() }
}

fn node_kind(name: &str, labels: &[&str], key: &[&str], properties: &[&str]) -> NodeKind {
    let property = |name: &&str| Property { name: Arc::from(*name), column: (*name).to_owned(), kind: None };
    NodeKind {
        name: Arc::from(name),
        labels: labels.iter().map(|&label| Arc::from(label)).collect(),
        rows: rows_of(name),
        key: key.iter().map(|&column| column.to_owned()).collect(),
        properties: properties.iter().map(property).collect(),
    }
}

fn edge_kind(name: &str, ends: [usize; 2], key: &[&str], properties: &[&str]) -> EdgeKind {
    let end = |kind: usize| End { node: EndNode::Kind(kind), columns: vec!["end".to_owned()], is_array: false };
    let NodeKind { key, properties, .. } = node_kind(name, &[], key, properties);
    let (source, target) = (end(ends[0]), end(ends[1]));
    let edge_type = Arc::from(name.to_uppercase().trim_end_matches('2'));
    EdgeKind { name: Arc::from(name), edge_type, rows: rows_of(name), source, target, key, properties }
}

/// Persons with integers as keys, cities with strings, seats with two columns; the type LIKES comes from two tables.
fn definition() -> GraphDefinition {
    GraphDefinition {
        nodes: vec![
            node_kind("person", &["Person", "Thing"], &["id"], &["id", "uid", "age", "lat", "lon", "name"]),
            node_kind("city", &["Thing", "City"], &["code"], &["code", "uid", "name", "lat", "lon"]),
            node_kind("seat", &["Seat"], &["row", "number"], &["uid", "row", "number"]),
        ],
        edges: vec![
            edge_kind("knows", [0, 0], &["id"], &["since", "weight"]),
            edge_kind("likes", [0, 1], &[], &["score", "since"]),
            edge_kind("likes2", [1, 2], &[], &[]),
            edge_kind("sits", [0, 2], &["id"], &["since"]),
        ],
        ..GraphDefinition::default()
    }
}

impl World {
    pub(super) fn new(seed: u64, abilities: Abilities, ends_exist: bool) -> World {
        let mut random = SeededRandom::new(seed);
        let definition = definition();
        let nodes = nodes(&mut random);
        let edges = edges(&mut random, &definition, &nodes, ends_exist);
        let rows = Rows { nodes, edges };
        let kind_facts = |rows: &Vec<Vec<Value>>| KindFacts {
            rows: rows.len() as u64,
            ends_exist: (ends_exist, ends_exist),
            ..KindFacts::default()
        };
        let mut facts = Facts {
            nodes: rows.nodes.iter().map(kind_facts).collect(),
            edges: rows.edges.iter().map(kind_facts).collect(),
        };
        facts.nodes[0].unique = vec![0, 1];
        facts.nodes[0].indexed = vec![vec![0], vec![3, 4]];
        facts.nodes[1].indexed = vec![vec![0]];
        let connector = MemoryConnector::new(Arc::new(definition.clone()), rows.clone(), abilities, facts);
        let clock = Arc::new(TestClock::default());
        clock.advance(1_000_000_000_000);
        World { definition, connector: Arc::new(connector), clock, memory: MemoryBudget::new(1 << 30), rows }
    }

    pub(super) fn store(&self) -> SourceStore {
        let environment = Environment { memory: self.memory.clone(), clock: self.clock.clone() };
        SourceStore::new(Arc::new(self.definition.clone()), self.connector.clone(), 7, environment).unwrap()
    }

    /// A store that holds what the definition makes of the rows.
    pub(super) fn reference(&self) -> ReferenceStore {
        let mut data = GraphData::default();
        let mut numbers: Vec<(usize, Value)> = Vec::new();
        for (number, (kind, rows)) in self.definition.nodes.iter().zip(&self.rows.nodes).enumerate() {
            numbers.extend(rows.iter().map(|row| (number, row[0].clone())));
            let labels = kind.labels.iter().map(|label| label.to_string()).collect();
            let properties = columns(&kind.properties, rows, 1);
            data.nodes.push(NodeGroup { count: rows.len(), labels, properties });
        }
        let number = |kind: usize, key: &Value| {
            numbers.iter().position(|other| *other == (kind, key.clone())).map(|number| number as u64)
        };
        for (kind, rows) in self.definition.edges.iter().zip(&self.rows.edges) {
            let (EndNode::Kind(source), EndNode::Kind(target)) = (&kind.source.node, &kind.target.node) else {
                continue;
            };
            let found = rows.iter().filter_map(|row| {
                let ends = (number(*source, &row[0])?, number(*target, &row[1])?);
                Some((ends, row.clone()))
            });
            let (ends, rows): (Vec<(u64, u64)>, Vec<Vec<Value>>) = found.unzip();
            let (sources, targets) = ends.into_iter().unzip();
            let properties = columns(&kind.properties, &rows, 3);
            data.edges.push(EdgeGroup { edge_type: kind.edge_type.to_string(), sources, targets, properties });
        }
        let store = ReferenceStore::new();
        data.load_into(&store).unwrap();
        store
    }
}

fn columns(properties: &[Property], rows: &[Vec<Value>], first: usize) -> Vec<(String, Column)> {
    let column = |at: usize| Column::from_values(rows.iter().map(|row| &row[first + at]));
    properties.iter().enumerate().map(|(at, property)| (property.name.to_string(), column(at))).collect()
}

fn maybe(random: &mut SeededRandom, percent: u64, value: Value) -> Value {
    if random.chance(percent) { value } else { Value::Null }
}

fn nodes(random: &mut SeededRandom) -> Vec<Vec<Vec<Value>>> {
    let person = |random: &mut SeededRandom, number: u64| {
        let id = match number % 9 {
            7 => -(number as i64),
            8 => i64::MAX - number as i64,
            _ => number as i64,
        };
        let mut place = || Value::Float(random.unit() * 10.0);
        let (lat, lon) = (place(), place());
        let name = Value::string(["ann", "bob", "cy", ""][random.index(4)]);
        vec![
            Value::Int(id),
            Value::Int(id),
            Value::string(&format!("person {number}")),
            Value::Int(random.below(10) as i64),
            maybe(random, 95, lat),
            maybe(random, 95, lon),
            maybe(random, 80, name),
        ]
    };
    let city = |random: &mut SeededRandom, number: u64| {
        let code = Value::string(&format!("c{number}"));
        let mixed = [Value::Int(3), Value::string("x"), Value::Float(3.0), Value::Null][random.index(4)].clone();
        let lat = Value::Float(random.below(5) as f64);
        vec![
            code.clone(),
            code,
            Value::string(&format!("city {number}")),
            mixed,
            lat,
            Value::Int(random.below(5) as i64),
        ]
    };
    let seat = |random: &mut SeededRandom, number: u64| {
        let (row, place) = (Value::Int((number / 5) as i64), Value::string(&format!("{}", number % 5)));
        let key = Value::list(vec![row.clone(), place.clone()]);
        let row = maybe(random, 90, row);
        vec![key, Value::string(&format!("seat {number}")), row, place]
    };
    vec![
        (0..150).map(|number| person(random, number)).collect(),
        (0..20).map(|number| city(random, number)).collect(),
        (0..30).map(|number| seat(random, number)).collect(),
    ]
}

fn edges(
    random: &mut SeededRandom,
    definition: &GraphDefinition,
    nodes: &[Vec<Vec<Value>>],
    ends_exist: bool,
) -> Vec<Vec<Vec<Value>>> {
    let mut tables = Vec::new();
    for (kind, count) in definition.edges.iter().zip([500, 200, 40, 60]) {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for number in 0..count {
            let mut end = |node: &EndNode| match node {
                _ if random.chance(4) => Value::Null,
                EndNode::Kind(0) if !ends_exist && random.chance(10) => Value::Int(5_000 + random.below(9) as i64),
                EndNode::Kind(1) if !ends_exist && random.chance(10) => Value::string("no such city"),
                EndNode::Kind(kind) => random.pick(&nodes[*kind])[0].clone(),
                EndNode::Foreign { .. } => Value::Null,
            };
            let mut row = vec![end(&kind.source.node), end(&kind.target.node)];
            if random.chance(10) && kind.source.node == kind.target.node {
                row[1] = row[0].clone();
            }
            row.push(if kind.key.is_empty() { Value::Null } else { Value::Int(number) });
            for _ in &kind.properties {
                let value = Value::Int(random.below(4) as i64);
                row.push(maybe(random, 85, value));
            }
            rows.push(row);
            if random.chance(20) {
                let mut again = random.pick(&rows).clone();
                if !kind.key.is_empty() {
                    again[2] = Value::Int(10_000 + number);
                }
                rows.push(again);
            }
        }
        tables.push(rows);
    }
    tables
}

/// A grid of crossings with some roads left out, whose places an index finds.
pub(super) fn roads(random: &mut SeededRandom, side: i64, abilities: Abilities) -> World {
    let definition = GraphDefinition {
        nodes: vec![node_kind("crossing", &["Crossing"], &["id"], &["id", "lat", "lon"])],
        edges: vec![edge_kind("road", [0, 0], &[], &["length"])],
        ..GraphDefinition::default()
    };
    let mut rows = Rows { nodes: vec![Vec::new()], edges: vec![Vec::new()] };
    for number in 0..side * side {
        let mut at = |part: i64| Value::Float(40.0 + (part as f64 + random.unit() * 0.8) * 0.001);
        let (lat, lon) = (at(number / side), at(number % side));
        rows.nodes[0].push(vec![Value::Int(number), Value::Int(number), lat, lon]);
        for (step, is_inside) in [(1, number % side + 1 < side), (side, number / side + 1 < side)] {
            if is_inside && !random.chance(15) {
                let length = Value::Float(1.0 + random.unit());
                for (source, target) in [(number, number + step), (number + step, number)] {
                    rows.edges[0].push(vec![Value::Int(source), Value::Int(target), Value::Null, length.clone()]);
                }
            }
        }
    }
    let indexed = vec![vec![0], vec![1, 2]];
    let nodes = vec![KindFacts { rows: rows.nodes[0].len() as u64, indexed, ..KindFacts::default() }];
    let edges = rows.edges[0].len() as u64;
    let edges = vec![KindFacts { rows: edges, ends_exist: (true, true), by_end: (true, true), ..KindFacts::default() }];
    let facts = Facts { nodes, edges };
    let connector = MemoryConnector::new(Arc::new(definition.clone()), rows.clone(), abilities, facts);
    let clock = Arc::new(TestClock::default());
    clock.advance(1_000_000_000_000);
    World { definition, connector: Arc::new(connector), clock, memory: MemoryBudget::new(1 << 30), rows }
}

/// The first nodes that carry a label.
pub(super) fn first_nodes(view: &dyn ReadView, label: &str, count: usize) -> Vec<NodeId> {
    let labels = vec![view.schema().label(label).unwrap()];
    let scan = NodeScan { labels, ..NodeScan::default() };
    let mut cursor: Box<dyn NodeCursor + '_> = view.scan(&scan).unwrap();
    let (mut batch, mut nodes) = (NodeBatch::default(), Vec::new());
    while nodes.len() < count && cursor.next(&mut batch).unwrap() {
        nodes.extend_from_slice(&batch.nodes);
    }
    nodes.truncate(count);
    nodes
}

/// All edges of an expansion.
pub(super) fn batch_of(view: &dyn ReadView, nodes: &[NodeId], expand: &Expand) -> EdgeBatch {
    let mut cursor = view.expand(nodes, expand).unwrap();
    let (mut batch, mut all) = (EdgeBatch::default(), EdgeBatch::default());
    while cursor.next(&mut batch).unwrap() {
        all.append(&batch);
    }
    all
}
