//! Counts the round trips and rows that a search over roads takes.

use std::sync::Arc;

use model::store::AccessHint;
use model::{Column, Course, Direction, EdgeBatch, Expand, Map, NodeId, PropertyKeyId, ReadView, Value};
use testing::random::{SeededRandom, seed_or};

use super::ALL;
use super::world::roads;
use crate::connector::Abilities;
use crate::definition::Prefetch;
use crate::store::SourceView;

/// Expands nodes in order of their distance from the first and to the last, if there is one, in batches, reading the
/// places of those that are met, until `nodes_max` are expanded; returns the number of edges found.
fn search(view: &SourceView, start: NodeId, goal: Option<NodeId>, nodes_max: usize, batch: usize) -> usize {
    let keys: Vec<PropertyKeyId> = ["lat", "lon"].map(|name| view.schema().property_key(name).unwrap()).into();
    let weight = view.schema().property_key("length").unwrap();
    let expand = Expand { direction: Direction::Out, keys: vec![weight], ..Expand::default() };
    let place = |columns: &[Column], row: usize| match (columns[0].value(row), columns[1].value(row)) {
        (Value::Float(lat), Value::Float(lon)) => (lat, lon),
        other => panic!("{other:?} is no place"),
    };
    let from = place(&view.node_properties(&[start], &keys).unwrap(), 0);
    let to = goal.map(|goal| place(&view.node_properties(&[goal], &keys).unwrap(), 0));
    let order = |lat: f64, lon: f64| {
        (lat - from.0).hypot(lon - from.1) + to.map_or(0.0, |to| 0.8 * (lat - to.0).hypot(lon - to.1))
    };
    if let Some(to) = to {
        let properties = [keys[0], keys[1]];
        let (from, to) = ([from.0, from.1], [to.0, to.1]);
        let course = Course { properties, from, to, cost_per_km: 1.0, estimate_per_km: 0.8 };
        view.prefetch(&AccessHint::Course(&course, &expand));
    }
    let mut open: Vec<(f64, NodeId)> = vec![(0.0, start)];
    let (mut met, mut expanded, mut edges) = (Map::default(), 0, 0);
    met.insert(start, ());
    while expanded < nodes_max && !open.is_empty() {
        open.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let chosen: Vec<NodeId> =
            (0..batch.min(1 + expanded / 4)).filter_map(|_| open.pop().map(|(_, node)| node)).collect();
        expanded += chosen.len();
        let mut found = Vec::new();
        let (mut cursor, mut rows) = (view.expand(&chosen, &expand).unwrap(), EdgeBatch::default());
        while cursor.next(&mut rows).unwrap() {
            edges += rows.len();
            found.extend(rows.neighbors.iter().filter(|&&node| met.insert(node, ()).is_none()));
        }
        let places = view.node_properties(&found, &keys).unwrap();
        for (row, &node) in found.iter().enumerate() {
            let (lat, lon) = place(&places, row);
            open.push((order(lat, lon), node));
        }
    }
    edges
}

#[test]
fn near_nodes_are_fetched_in_few_round_trips() {
    let seed = seed_or(9);
    let block = |size| Prefetch::Block { properties: vec![Arc::from("lat"), Arc::from("lon")], size };
    let mut edges = None;
    for (prefetch, trips_max, waste_max) in [
        (Prefetch::None, u64::MAX, 1.01),
        (Prefetch::Lookahead(4), 150, 3.0),
        (block(0.01), 60, 3.0),
        (Prefetch::Adaptive, 40, 3.0),
    ] {
        let mut world = roads(&mut SeededRandom::new(seed), 70, ALL);
        world.definition.prefetch = prefetch.clone();
        let store = world.store();
        let start = crate::keys::node_id(7, 0, 35 * 70 + 35);
        let found = search(&store.view(), start, None, 1_500, 64);
        assert_eq!(*edges.get_or_insert(found), found, "a prefetch changes no answer");
        let stats = store.stats();
        let waste = stats.rows_fetched as f64 / stats.rows_used as f64;
        let text = format!("{prefetch:?}: {stats:?}, {waste:.2} rows for each used");
        assert!(stats.round_trips <= trips_max && waste <= waste_max, "seed {seed}: {text}");
    }
}

#[test]
fn what_lies_on_a_course_is_fetched_in_few_round_trips() {
    let seed = seed_or(10);
    let (boxes, courses) = (Abilities { courses: false, ..ALL }, Abilities { boxes: false, ..ALL });
    let mut edges = None;
    for (name, prefetch, abilities, trips_max, waste_max) in [
        ("none", Prefetch::None, ALL, u64::MAX, 1.01),
        ("cells", Prefetch::Adaptive, boxes, 40, 2.5),
        (
            "cells, the next ones while the search goes on",
            Prefetch::Adaptive,
            Abilities { sends: true, ..boxes },
            40,
            2.5,
        ),
        ("followed by the source", Prefetch::Adaptive, courses, 40, 2.5),
    ] {
        let mut world = roads(&mut SeededRandom::new(seed), 70, abilities);
        world.definition.prefetch = prefetch.clone();
        let store = world.store();
        let [start, goal] = [20 * 70 + 10, 40 * 70 + 60].map(|key| crate::keys::node_id(7, 0, key));
        let found = search(&store.view(), start, Some(goal), 1_500, 64);
        assert_eq!(*edges.get_or_insert(found), found, "{name}: a prefetch changes no answer");
        let stats = store.stats();
        let waste = stats.rows_fetched as f64 / stats.rows_used as f64;
        let text = format!("{name}: {stats:?}, {waste:.2} rows for each used");
        assert!(stats.round_trips <= trips_max && waste <= waste_max, "seed {seed}: {text}");
    }
}
