//! The runs of a view against its streams: in both directions, whole and restricted in each way.

use std::ops::Range;

use model::batch::{EdgeBlock, EdgeRuns};
use model::store::{EdgePartitions, EdgeStream, RunScan};
use model::{Bitmap, Column, Direction, EdgeTypeId, PropertyKeyId, ReadView};

use super::content::exact;

/// Type, node, neighbor and properties of an edge.
type Row = (EdgeTypeId, u64, u64, Vec<String>);

/// Checks that runs give exactly the edges that streams give, whatever they are restricted to.
///
/// # Panics
/// If they do not.
pub(super) fn check_runs(view: &dyn ReadView, keys: &[PropertyKeyId]) {
    let bound = view.node_id_bound();
    let Some(partitions) = view.edge_partitions().filter(|_| (1..=1 << 32).contains(&bound)) else { return };
    let edges: Vec<(Range<u64>, Vec<Row>)> = (0..partitions.count())
        .map(|partition| (partitions.interval(partition), streamed(partitions, partition, keys)))
        .collect();
    let third: Bitmap = (0..bound).map(|node| node % 3 == 1).collect();
    // One that ends before the ids do, with long gaps.
    let few: Bitmap = (0..bound * 3 / 4).map(|node| node % 97 == 5).collect();
    let middle = bound / 4..bound / 4 * 3 + 1;
    for direction in [Direction::Out, Direction::In] {
        let all = RunScan { direction, ..RunScan::default() };
        let types = Some(vec![EdgeTypeId(1), EdgeTypeId(0)]);
        let scans = [
            RunScan { keys: keys.to_vec(), ..all.clone() },
            RunScan { nodes: Some(middle.clone()), ..all.clone() },
            RunScan { nodes: Some(bound..u64::MAX), ..all.clone() },
            RunScan { types: types.clone(), ..all.clone() },
            RunScan { types: Some(vec![]), ..all.clone() },
            RunScan { among: Some(&third), keys: keys.to_vec(), ..all.clone() },
            RunScan { among: Some(&few), nodes: Some(middle.clone()), types, ..all.clone() },
            all,
        ];
        for scan in &scans {
            for (partition, (interval, edges)) in edges.iter().enumerate() {
                check_scan(partitions, partition, interval, scan, edges);
            }
        }
    }
    let both = RunScan { direction: Direction::Both, ..RunScan::default() };
    if partitions.count() > 0 {
        assert!(partitions.runs(0, &both).is_err(), "runs have one direction");
    }
}

fn texts(columns: &[Column], row: usize) -> Vec<String> {
    columns.iter().map(|column| exact(&column.value(row))).collect()
}

/// The edges of a partition by source.
fn streamed(partitions: &dyn EdgePartitions, partition: usize, keys: &[PropertyKeyId]) -> Vec<Row> {
    let stream = EdgeStream { keys: keys.to_vec(), ..EdgeStream::default() };
    let mut cursor = partitions.stream(partition, &stream).expect("streaming edges");
    let (mut block, mut rows) = (EdgeBlock::default(), Vec::new());
    while cursor.next(&mut block).expect("streaming on") {
        let ends = block.sources.iter().zip(&block.targets).enumerate();
        rows.extend(ends.map(|(row, (s, t))| (block.edge_type, s.0, t.0, texts(&block.properties, row))));
    }
    rows
}

fn check_scan(
    partitions: &dyn EdgePartitions,
    partition: usize,
    interval: &Range<u64>,
    scan: &RunScan<'_>,
    edges: &[Row],
) {
    let is_in = scan.direction == Direction::In;
    let mut expected: Vec<Row> = edges
        .iter()
        .map(|(edge_type, source, target, texts)| {
            let (node, neighbor) = if is_in { (target, source) } else { (source, target) };
            (*edge_type, *node, *neighbor, if scan.keys.is_empty() { Vec::new() } else { texts.clone() })
        })
        .filter(|(edge_type, node, ..)| {
            scan.types.as_ref().is_none_or(|types| types.contains(edge_type)) && scan.is_wanted(*node)
        })
        .collect();
    let mut cursor = partitions.runs(partition, scan).expect("reading runs");
    let (mut runs, mut found) = (EdgeRuns::default(), Vec::new());
    // The old content of the block must not matter.
    runs.nodes.push(7);
    runs.neighbors.resize(100, 7);
    while cursor.next(&mut runs).expect("reading on") {
        assert!(!runs.is_empty(), "a cursor that returned true has runs");
        assert_eq!(runs.nodes.len(), runs.ends.len(), "an end for each node");
        assert!(runs.nodes.is_sorted_by(|a, b| a < b), "nodes ascend, each once");
        assert_eq!(runs.ends.last().copied(), Some(runs.neighbors.len() as u32), "the last run ends with the block");
        assert_eq!(runs.properties.len(), scan.keys.len(), "a column for each key");
        let mut row = 0;
        for (node, neighbors) in runs.runs() {
            assert!(!neighbors.is_empty(), "nodes without edges are left out");
            assert!(!is_in || interval.contains(&u64::from(node)), "target {node} lies outside of {interval:?}");
            for &neighbor in neighbors {
                found.push((runs.edge_type, u64::from(node), u64::from(neighbor), texts(&runs.properties, row)));
                row += 1;
            }
        }
        assert!(runs.properties.iter().all(|column| column.len() == row), "a row for each edge");
    }
    assert!(runs.is_empty() && runs.neighbors.is_empty(), "the block is empty at the end");
    found.sort_unstable();
    expected.sort_unstable();
    assert!(
        found == expected,
        "{} edges in runs, {} expected, of partition {partition} by {scan:?}",
        found.len(),
        expected.len()
    );
}
