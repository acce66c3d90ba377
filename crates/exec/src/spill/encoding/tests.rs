//! Tests that what is written comes back, for every kind.

use std::sync::Arc;

use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time, Zone};
use model::{Column, EdgeId, EdgeTypeId, EdgeValue, NodeId, PathValue, Value};

use super::{decode, encode};
use crate::chunk::Chunk;

fn kinds() -> Vec<Value> {
    let edge = EdgeValue { id: EdgeId(7), source: NodeId(1), target: NodeId(u64::MAX), edge_type: EdgeTypeId(3) };
    let path = PathValue { nodes: vec![NodeId(1), NodeId(2)], edges: vec![edge] };
    let list = Value::list(vec![Value::Null, Value::string("ä"), Value::list(vec![])]);
    vec![
        Value::Bool(true),
        Value::Int(i64::MIN),
        Value::Float(-0.0),
        Value::string("text"),
        Value::Bytes(Arc::from([1_u8, 2].as_slice())),
        Value::map([(Arc::from("key"), list.clone())]),
        list,
        Value::Date(Date(-1)),
        Value::LocalDateTime(LocalDateTime::default()),
        Value::Node(NodeId(9)),
        Value::Edge(edge),
        Value::Path(Arc::new(path)),
        Value::LocalTime(LocalTime(5)),
        Value::Time(Time { local: LocalTime(6), offset: -3_600 }),
        Value::DateTime(DateTime { seconds: -1, nanosecond: 7, zone: Zone::of_offset(7_200).expect("an offset") }),
        Value::DateTime(DateTime { seconds: 9, nanosecond: 0, zone: Zone::of_name("Europe/Berlin").expect("a zone") }),
        Value::Duration(Duration { months: 1, days: -2, seconds: 3, nanosecond: 4 }),
    ]
}

fn check(columns: &[Vec<Value>]) {
    let built = columns.iter().map(|values| Arc::new(Column::from_values(values))).collect();
    let chunk = Chunk { rows: columns.first().map_or(5, Vec::len), columns: built };
    let mut bytes = Vec::new();
    encode(&chunk, &mut bytes);
    let back = decode(&bytes).unwrap();
    assert_eq!(back.rows, chunk.rows);
    for (column, (before, values)) in back.columns.iter().zip(chunk.columns.iter().zip(columns)) {
        assert_eq!(std::mem::discriminant(&column.data), std::mem::discriminant(&before.data));
        assert_eq!(format!("{:?}", column.values().collect::<Vec<_>>()), format!("{values:?}"));
    }
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end]).is_err(), "cut to {end} of {} bytes", bytes.len());
    }
}

#[test]
fn every_kind_comes_back() {
    check(&[]);
    check(&[vec![Value::Null; 3]]);
    for value in kinds() {
        check(&[vec![value.clone(), value.clone()], vec![Value::Null, value]]);
    }
    check(&[kinds(), kinds().into_iter().rev().collect()]);
}

#[test]
fn a_shared_list_stands_once() {
    let list = Value::list((0..1_000).map(Value::Int).collect());
    let chunk = Chunk { rows: 500, columns: vec![Arc::new(Column::from_values(&vec![list.clone(); 500]))] };
    let mut bytes = Vec::new();
    encode(&chunk, &mut bytes);
    assert!(bytes.len() < 10_000, "{}", bytes.len());
    let back = decode(&bytes).unwrap();
    assert_eq!(back.columns[0].value(499), list);
}
