//! Graphs of a known shape, whose distances and degrees can be said in advance.

use model::{Column, ColumnData};

use super::random::numbered_nodes;
use super::{EdgeGroup, GraphData, NodeGroup};
use crate::random::SeededRandom;

/// `0 → 1 → … → count - 1`: `Node`s with `id`, joined by `NEXT`.
pub fn path(count: usize) -> GraphData {
    let sources: Vec<u64> = (0..count.saturating_sub(1) as u64).collect();
    let targets = sources.iter().map(|source| source + 1).collect();
    let edges = EdgeGroup { edge_type: "NEXT".to_owned(), sources, targets, properties: Vec::new() };
    GraphData { nodes: vec![numbered_nodes(count)], edges: vec![edges] }
}

/// Node 0 with an edge of type `SPOKE` to each of `leaves` others.
pub fn star(leaves: usize) -> GraphData {
    let edges = EdgeGroup {
        edge_type: "SPOKE".to_owned(),
        sources: vec![0; leaves],
        targets: (1..=leaves as u64).collect(),
        properties: Vec::new(),
    };
    GraphData { nodes: vec![numbered_nodes(leaves + 1)], edges: vec![edges] }
}

/// A grid of streets: `Place`s with `id`, `latitude` and `longitude` a tenth of a degree apart, each joined to its
/// neighbors both ways by `ROAD`s, whose `distance` in kilometres is at least that of the great circle, so that the
/// great circle never overestimates.
pub fn grid(width: usize, height: usize, seed: u64) -> GraphData {
    const STEP_DEGREES: f64 = 0.1;
    let mut random = SeededRandom::new(seed);
    let count = width * height;
    let place = |index: usize| ((index / width) as f64 * STEP_DEGREES, (index % width) as f64 * STEP_DEGREES);
    let (latitude, longitude): (Vec<f64>, Vec<f64>) = (0..count).map(place).unzip();
    let (mut sources, mut targets, mut distance) = (Vec::new(), Vec::new(), Vec::new());
    let mut join = |a: usize, b: usize| {
        let air = great_circle_km(place(a), place(b));
        for (source, target) in [(a, b), (b, a)] {
            sources.push(source as u64);
            targets.push(target as u64);
            distance.push(air * (1.000_001 + random.unit()));
        }
    };
    for index in 0..count {
        if index % width + 1 < width {
            join(index, index + 1);
        }
        if index + width < count {
            join(index, index + width);
        }
    }
    let float = |rows| Column::new(ColumnData::Float(rows));
    let nodes = NodeGroup {
        count,
        labels: vec!["Place".to_owned()],
        properties: vec![
            ("id".to_owned(), Column::new(ColumnData::Int((0..count as i64).collect()))),
            ("latitude".to_owned(), float(latitude)),
            ("longitude".to_owned(), float(longitude)),
        ],
    };
    let properties = vec![("distance".to_owned(), float(distance))];
    GraphData {
        nodes: vec![nodes],
        edges: vec![EdgeGroup { edge_type: "ROAD".to_owned(), sources, targets, properties }],
    }
}

/// The distance on a sphere of 6371 km between two places given as latitude and longitude in degrees.
fn great_circle_km(a: (f64, f64), b: (f64, f64)) -> f64 {
    let (latitude_a, latitude_b) = (a.0.to_radians(), b.0.to_radians());
    let half_chord = ((latitude_b - latitude_a) / 2.0).sin().powi(2)
        + latitude_a.cos() * latitude_b.cos() * ((b.1 - a.1).to_radians() / 2.0).sin().powi(2);
    2.0 * 6371.0 * half_chord.sqrt().asin()
}
