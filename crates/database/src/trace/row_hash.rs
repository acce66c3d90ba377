//! The hash of rows: the same for the same rows in any order, wherever they come from.
//!
//! Nodes and relationships count by their labels, types and properties, not by their ids, which another system has others of. Floats
//! count by their first twelve digits: sums differ in the last ones with the order in which they are taken.

use model::Value;
use model::mix::mix64;

use crate::result::{EdgeRecord, Entities, NodeRecord, ResultBatch};

/// The hash of rows that were seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowHash {
    sum: u64,
}

impl RowHash {
    /// Adds the rows of a batch.
    pub fn add(&mut self, batch: &ResultBatch) {
        for row in 0..batch.rows {
            let values = batch.columns.iter().map(|column| hash(&column.value(row), &batch.entities));
            let row = values.fold(ROW, |hash, value| mix64(hash ^ value));
            self.sum = self.sum.wrapping_add(row);
        }
    }

    /// The hash.
    pub fn value(self) -> u64 {
        self.sum
    }
}

/// Beginnings of the hashes of kinds, so that a list of one element is not its element.
const ROW: u64 = 0x1f83_d9ab_fb41_bd6b;
const NULL: u64 = 1;
const NUMBER: u64 = 2;
const TEXT: u64 = 3;
const LIST: u64 = 4;
const MAP: u64 = 5;
const NODE: u64 = 6;
const EDGE: u64 = 7;
const PATH: u64 = 8;

fn hash(value: &Value, entities: &Entities) -> u64 {
    match value {
        Value::Null => mix64(NULL),
        Value::Int(number) => of_text(NUMBER, &number.to_string()),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            of_text(NUMBER, &(*number as i64).to_string())
        }
        Value::Float(number) => of_text(NUMBER, &format!("{number:.11e}")),
        Value::String(text) => of_text(TEXT, text),
        Value::List(items) => items.iter().fold(LIST, |sum, item| mix64(sum ^ hash(item, entities))),
        Value::Map(map) => {
            map.iter().map(|(key, value)| mix64(of_text(MAP, key) ^ hash(value, entities))).fold(MAP, u64::wrapping_add)
        }
        Value::Node(node) => entities.nodes.get(node).map_or(NODE, of_node),
        Value::Edge(edge) => entities.edges.get(&edge.id).map_or(EDGE, of_edge),
        Value::Path(path) => {
            let nodes = path.nodes.iter().map(|node| entities.nodes.get(node).map_or(NODE, of_node));
            let edges = path.edges.iter().map(|edge| entities.edges.get(&edge.id).map_or(EDGE, of_edge));
            nodes.chain(edges).fold(PATH, |sum, part| mix64(sum ^ part))
        }
        other => of_text(TEXT, &other.to_string()),
    }
}

fn of_text(kind: u64, text: &str) -> u64 {
    let mut hash = kind ^ ((text.len() as u64) << 8);
    for chunk in text.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix64(hash ^ u64::from_le_bytes(word));
    }
    mix64(hash)
}

fn of_node(record: &NodeRecord) -> u64 {
    let labels = record.labels.iter().map(|label| of_text(NODE, label)).fold(0, u64::wrapping_add);
    mix64(NODE ^ labels ^ of_properties(&record.properties))
}

fn of_edge(record: &EdgeRecord) -> u64 {
    mix64(of_text(EDGE, &record.edge_type) ^ of_properties(&record.properties))
}

fn of_properties(properties: &[(std::sync::Arc<str>, Value)]) -> u64 {
    let none = Entities::default();
    properties
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| mix64(of_text(MAP, key) ^ hash(value, &none)))
        .fold(MAP, u64::wrapping_add)
}
