//! Every awkward thing in one small graph: parallel edges, self-loops, loners, many labels, mixed types in a column.

use std::sync::Arc;

use model::temporal::{Date, LocalDateTime};
use model::{Column, Value};

use super::{EdgeGroup, GraphData, NodeGroup};

/// The zoo: nodes `0..11` and the edges among them.
pub fn zoo() -> GraphData {
    let kinds = [
        Value::Null,
        Value::Bool(true),
        Value::Int(i64::MIN),
        Value::Float(-0.0),
        Value::string(""),
        Value::string("ünïcode 'quoted' \n\u{1F980}"),
        Value::Bytes(Arc::from([0, 255])),
        Value::list(vec![Value::Int(1), Value::Float(1.5), Value::string("x")]),
        Value::Date(Date(-1)),
        Value::LocalDateTime(LocalDateTime::of_micros(1)),
    ];
    let ids: Vec<Value> = (0..kinds.len() as i64).map(Value::Int).collect();
    let mixed = NodeGroup {
        count: kinds.len(),
        labels: vec!["Animal".to_owned(), "Exhibit".to_owned()],
        properties: vec![
            ("id".to_owned(), Column::from_values(&ids)),
            ("kind".to_owned(), Column::from_values(&kinds)),
        ],
    };
    let loner = NodeGroup { count: 1, labels: Vec::new(), properties: Vec::new() };
    let group = |edge_type: &str, edges: &[(u64, u64)], order: Option<&[Value]>| {
        let (sources, targets) = edges.iter().copied().unzip();
        let properties = order.map(|order| ("order".to_owned(), Column::from_values(order)));
        EdgeGroup { edge_type: edge_type.to_owned(), sources, targets, properties: properties.into_iter().collect() }
    };
    let order = [Value::Int(1), Value::Int(1), Value::Null, Value::string("third"), Value::Float(4.0)];
    GraphData {
        nodes: vec![mixed, loner],
        edges: vec![
            group("CHASES", &[(0, 1), (0, 1), (0, 1), (1, 0), (2, 2)], Some(&order)),
            group("CHASES", &[(2, 2), (0, 1)], None),
            group("FEEDS", &[(0, 1), (9, 0), (3, 3), (3, 4), (4, 3)], None),
        ],
    }
}
