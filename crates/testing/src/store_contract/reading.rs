//! Promises of views about scans, expansions and lookups of what is and of what is not there.

use model::batch::EdgeBlock;
use model::store::{AccessHint, EdgeIds, EdgeStream};
use model::{
    Column, Direction, EdgeBatch, EdgeId, EdgeTypeId, Expand, LabelId, NodeBatch, NodeId, NodeScan, PropertyKeyId,
    ReadView, Value,
};

use super::Check;
use super::subject::{Subject, add_edges, add_node, all_named, edge_type, expand, key, label, named, neighbors};
use crate::differential::{Content, scan_nodes};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("an empty store is empty", empty_store),
    ("what is not there has nothing, and asking for it is no error", unknown_ids),
    ("scans find the nodes that carry all labels asked for", scans_by_labels),
    ("scans by range split the nodes where ids are dense", scans_by_range),
    ("large scans come in batches of bounded size", large_scans),
    ("expansions follow either direction and both, a self-loop once", directions),
    ("parallel edges are edges of their own", parallel_edges),
    ("expansions find only the types asked for", types),
    ("expansions answer each input in order, also one named twice", inputs),
    ("nodes with more edges than a batch holds are split", hubs),
    ("columns come in the order of the keys asked for", key_order),
    ("partitions hold every edge once and obey the stream", partitions),
    ("hints change nothing", hints),
];

fn empty_store(subject: &mut Subject<'_>) {
    let view = subject.view();
    let content = Content::of(&*view);
    assert!(content.nodes.is_empty() && content.edges.is_empty());
    if view.capabilities().flexible_schema {
        let names = view.schema().labels.len() + view.schema().edge_types.len() + view.schema().property_keys.len();
        assert_eq!((names, content.constraints.len()), (0, 0), "names and rules of an empty store");
    }
    assert_eq!(view.capabilities(), subject.store().capabilities(), "a view can do what its store can");
    drop(view);
    subject.commit(|_| {});
    assert_eq!(Content::of(&*subject.view()), content, "an empty commit changes nothing");
}

fn unknown_ids(subject: &mut Subject<'_>) {
    subject.commit_edges(3, &[(0, 1), (1, 2)]);
    let view = subject.view();
    let real = named(&*view, 1);
    let nodes = [NodeId(1 << 40), real, NodeId(u64::MAX), NodeId(0x1234_5678_9ABC)];
    let edges = [EdgeId(u64::MAX), EdgeId(1 << 50), EdgeId(u64::MAX >> 1)];
    let (no_label, no_type, no_key) = (LabelId(99), EdgeTypeId(99), PropertyKeyId(99));
    let exist: Vec<bool> = (0..4).map(|row| view.nodes_exist(&nodes).expect("asking for nodes").get(row)).collect();
    assert_eq!(exist, [false, true, false, false], "nodes that exist");
    assert_eq!(view.edges_exist(&edges).expect("asking for edges").count_ones(), 0, "edges that exist");
    let labels = view.node_labels(&nodes).expect("reading labels");
    assert_eq!(labels.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 0, 0], "numbers of labels");
    let names = view.node_properties(&nodes, &[key(&*view, "name"), no_key]).expect("reading properties");
    let values: Vec<Vec<Value>> = names.iter().map(|column| column.values().collect()).collect();
    assert_eq!(values[0], [Value::Null, Value::Int(1), Value::Null, Value::Null]);
    assert_eq!(values[1], vec![Value::Null; 4], "a key that the schema lacks");
    let none = view.edge_properties(&edges, &[key(&*view, "name"), no_key]).expect("reading properties");
    assert!(none.iter().all(|column| column.len() == 3 && column.values().all(|value| value.is_null())));
    assert_eq!(expand(&*view, &nodes, Direction::Both, None).inputs, [1, 1], "only the real node has edges");
    assert_eq!(expand(&*view, &nodes, Direction::Both, Some(vec![no_type])).len(), 0, "edges of no type");
    assert_eq!(view.degrees(&nodes, Direction::Out, None).expect("reading degrees"), [0, 1, 0, 0]);
    assert_eq!(view.has_label(&nodes, no_label).expect("reading a label").count_ones(), 0);
    assert_eq!(view.has_label(&nodes, label(&*view, "N")).expect("reading a label").count_ones(), 1);
    assert!(scan_nodes(&*view, &NodeScan { labels: vec![no_label], ..NodeScan::default() }).is_empty());
    let scan = NodeScan { keys: vec![no_key], ..NodeScan::default() };
    assert_eq!(scan_nodes(&*view, &scan).len(), 3, "a scan that brings a key that the schema lacks");
    let listed = view.all_node_properties(&nodes).expect("listing properties");
    assert_eq!(listed.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 0, 0], "numbers of properties");
    assert!(view.all_edge_properties(&edges).expect("listing properties").iter().all(Vec::is_empty));
}

fn scans_by_labels(subject: &mut Subject<'_>) {
    let sets: [&[&str]; 5] = [&["A"], &["B"], &["A", "B"], &["B", "A", "C"], &[]];
    // Rows of tables always have the labels of their table.
    let nodes = if subject.store().capabilities().flexible_schema { sets.len() } else { sets.len() - 1 };
    subject.commit(|transaction| {
        for (name, labels) in sets[..nodes].iter().enumerate() {
            add_node(transaction, labels, &[("name", Value::Int(name as i64))]);
        }
    });
    let view = subject.view();
    let check = |labels: &[&str], expected: &[i64]| {
        let scan = NodeScan { labels: labels.iter().map(|name| label(&*view, name)).collect(), ..NodeScan::default() };
        let mut found = scan_nodes(&*view, &scan);
        found.sort_unstable();
        let mut expected: Vec<NodeId> = expected.iter().map(|&name| named(&*view, name)).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "nodes of labels {labels:?}");
    };
    check(&[], &[0, 1, 2, 3, 4][..nodes]);
    check(&["A"], &[0, 2, 3]);
    check(&["A", "B"], &[2, 3]);
    check(&["B", "A"], &[2, 3]);
    check(&["C", "B"], &[3]);
}

fn scans_by_range(subject: &mut Subject<'_>) {
    if !subject.store().capabilities().dense_node_ids {
        return;
    }
    subject.commit_edges(100, &[]);
    let view = subject.view();
    let bound = view.node_id_bound();
    let labels = vec![label(&*view, "N")];
    let cuts = [0, 1, 33, 64, 65, bound.max(100) / 2 + 20, bound + 10];
    let mut found = Vec::new();
    for ends in cuts.windows(2) {
        let range = ends[0]..ends[1].max(ends[0]);
        let scan = NodeScan { labels: labels.clone(), range: Some(range.clone()), ..NodeScan::default() };
        let nodes = scan_nodes(&*view, &scan);
        assert!(nodes.iter().all(|node| range.contains(&node.0)), "nodes of a range lie in it");
        found.extend(nodes);
    }
    let mut all = scan_nodes(&*view, &NodeScan::default());
    found.sort_unstable();
    all.sort_unstable();
    assert_eq!(found, all, "ranges that cover all ids find all nodes once");
}

fn large_scans(subject: &mut Subject<'_>) {
    const NODES: usize = 5_000;
    subject.commit_edges(NODES, &[]);
    let view = subject.view();
    let scan = NodeScan { keys: vec![key(&*view, "name")], ..NodeScan::default() };
    let mut cursor = view.scan(&scan).expect("scanning");
    let mut batch = NodeBatch::default();
    let mut names = Vec::new();
    while cursor.next(&mut batch).expect("scanning on") {
        assert!(batch.nodes.len() <= 2 * model::limits::BATCH_ROWS, "a batch of {} nodes", batch.nodes.len());
        assert_eq!(batch.properties.len(), 1, "one column for each key");
        names.extend(batch.properties[0].values());
    }
    assert!(!cursor.next(&mut batch).expect("scanning at the end"), "a cursor stays at its end");
    names.sort_unstable();
    assert_eq!(names, (0..NODES as i64).map(Value::Int).collect::<Vec<_>>());
}

fn directions(subject: &mut Subject<'_>) {
    subject.commit_edges(4, &[(0, 1), (2, 0), (0, 0), (3, 3)]);
    let view = subject.view();
    let nodes = all_named(&*view, 4);
    let check = |node: usize, direction: Direction, expected: &[usize]| {
        let mut expected: Vec<NodeId> = expected.iter().map(|&name| nodes[name]).collect();
        expected.sort_unstable();
        assert_eq!(neighbors(&*view, nodes[node], direction), expected, "neighbors of {node} going {direction:?}");
        let degree = view.degrees(&[nodes[node]], direction, None).expect("reading degrees");
        assert_eq!(degree, [expected.len() as u64], "degree of {node} going {direction:?}");
    };
    check(0, Direction::Out, &[0, 1]);
    check(0, Direction::In, &[0, 2]);
    check(0, Direction::Both, &[0, 1, 2]);
    check(1, Direction::Out, &[]);
    check(1, Direction::In, &[0]);
    check(1, Direction::Both, &[0]);
    check(3, Direction::Both, &[3]);
    let both = expand(&*view, &nodes[..3], Direction::Both, None);
    for row in 0..both.len() {
        let (input, neighbor) = (nodes[both.inputs[row] as usize], both.neighbors[row]);
        let runs = (input, neighbor);
        let edge = if both.reversed[row] { (runs.1, runs.0) } else { runs };
        let expected = [(nodes[0], nodes[1]), (nodes[2], nodes[0]), (nodes[0], nodes[0])];
        assert!(expected.contains(&edge), "`reversed` tells the direction of edge {} -> {}", edge.0.0, edge.1.0);
    }
}

fn parallel_edges(subject: &mut Subject<'_>) {
    subject.commit_edges(2, &[(0, 1), (0, 1), (0, 1), (1, 0), (1, 1), (1, 1)]);
    let view = subject.view();
    let nodes = all_named(&*view, 2);
    let mut out = expand(&*view, &nodes[..1], Direction::Out, None).edges;
    out.sort_unstable();
    out.dedup();
    assert_eq!(out.len(), 3, "ids of parallel edges");
    let mut into = expand(&*view, &nodes[1..], Direction::In, None).edges;
    into.sort_unstable();
    assert_eq!(into.len(), 5);
    assert!(out.iter().all(|edge| into.contains(edge)), "an edge has the same id seen from either end");
    let both = expand(&*view, &nodes[1..], Direction::Both, None);
    assert_eq!(both.len(), 6, "each parallel self-loop once, and all others");
}

fn types(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        let nodes = super::subject::numbered_nodes(transaction, 0..3);
        add_edges(transaction, "X", &[(nodes[0], nodes[1])]);
        add_edges(transaction, "Y", &[(nodes[0], nodes[1]), (nodes[0], nodes[2])]);
        add_edges(transaction, "Z", &[(nodes[1], nodes[0])]);
    });
    let view = subject.view();
    let [x, y, z] = ["X", "Y", "Z"].map(|name| edge_type(&*view, name));
    let from = [named(&*view, 0)];
    let check = |direction: Direction, types: Option<Vec<EdgeTypeId>>, expected: &[EdgeTypeId]| {
        let mut found = expand(&*view, &from, direction, types.clone()).types;
        found.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "types found going {direction:?} for {types:?}");
        let degree = view.degrees(&from, direction, types.as_deref()).expect("reading degrees");
        assert_eq!(degree, [expected.len() as u64], "degree going {direction:?} for {types:?}");
    };
    check(Direction::Out, None, &[x, y, y]);
    check(Direction::Out, Some(vec![x]), &[x]);
    check(Direction::Out, Some(vec![z, y]), &[y, y]);
    check(Direction::Out, Some(vec![]), &[]);
    check(Direction::In, Some(vec![z, x]), &[z]);
    check(Direction::Both, Some(vec![z, x]), &[x, z]);
    check(Direction::Both, None, &[x, y, y, z]);
}

fn inputs(subject: &mut Subject<'_>) {
    subject.commit_edges(4, &[(0, 1), (0, 2), (2, 3)]);
    let view = subject.view();
    let nodes = all_named(&*view, 4);
    let from = [nodes[2], nodes[3], nodes[0], nodes[2], nodes[0]];
    let found = expand(&*view, &from, Direction::Out, None);
    assert_eq!(found.inputs, [0, 2, 2, 3, 4, 4], "the input of each edge");
    assert_eq!(found.edges[0], found.edges[3], "a node named twice gives the same edges twice");
    assert!(expand(&*view, &[], Direction::Out, None).is_empty(), "no input gives no edges");
    let plain = Expand { direction: Direction::Out, ..Expand::default() };
    let mut batch = EdgeBatch::default();
    let mut cursor = view.expand(&from, &plain).expect("expanding");
    while cursor.next(&mut batch).expect("expanding on") {
        assert!(batch.edges.is_empty() && batch.reversed.is_empty(), "what was not asked for stays empty");
        assert_eq!(batch.types.len(), batch.neighbors.len(), "types are always filled");
    }
}

fn hubs(subject: &mut Subject<'_>) {
    const SPOKES: usize = 5_000;
    let edges: Vec<(usize, usize)> = (1..=SPOKES).map(|leaf| (0, leaf)).chain([(7, 0), (7, 8)]).collect();
    subject.commit_edges(SPOKES + 1, &edges);
    let view = subject.view();
    let nodes = all_named(&*view, SPOKES + 1);
    let from = [nodes[7], nodes[0], nodes[7]];
    let plan = Expand { direction: Direction::Out, edge_ids: EdgeIds::Include, ..Expand::default() };
    let mut cursor = view.expand(&from, &plan).expect("expanding");
    let mut batch = EdgeBatch::default();
    let mut inputs = Vec::new();
    while cursor.next(&mut batch).expect("expanding on") {
        assert!(batch.len() <= 2 * model::limits::BATCH_ROWS, "a batch of {} edges", batch.len());
        inputs.extend_from_slice(&batch.inputs);
    }
    assert!(!cursor.next(&mut batch).expect("expanding at the end"), "a cursor stays at its end");
    let count = |input| inputs.iter().filter(|&&other| other == input).count();
    assert_eq!([count(0), count(1), count(2)], [2, SPOKES, 2]);
    assert!(inputs.is_sorted(), "inputs never decrease");
    let degrees = view.degrees(&from, Direction::Both, None).expect("reading degrees");
    assert_eq!(degrees, [3, SPOKES as u64 + 1, 3]);
}

fn key_order(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        let row = [("a", Value::Int(1)), ("b", Value::string("two")), ("c", Value::Float(3.0))];
        let node = add_node(transaction, &["N"], &row);
        super::subject::add_edge(transaction, "E", node, node, &row);
    });
    let view = subject.view();
    let keys = ["c", "a", "b", "c"].map(|name| key(&*view, name));
    let expected = [Value::Float(3.0), Value::Int(1), Value::string("two"), Value::Float(3.0)];
    let check = |what: &str, columns: &[Column]| {
        let values: Vec<Value> = columns.iter().map(|column| column.value(0)).collect();
        assert_eq!(values, expected, "{what}");
    };
    let nodes = scan_nodes(&*view, &NodeScan::default());
    check("node properties", &view.node_properties(&nodes, &keys).expect("reading properties"));
    let edges = expand(&*view, &nodes, Direction::Out, None).edges;
    check("edge properties", &view.edge_properties(&edges, &keys).expect("reading properties"));
    let scan = NodeScan { keys: keys.to_vec(), ..NodeScan::default() };
    let mut batch = NodeBatch::default();
    assert!(view.scan(&scan).expect("scanning").next(&mut batch).expect("scanning on"));
    check("properties of a scan", &batch.properties);
    let plan = Expand { direction: Direction::In, keys: keys.to_vec(), ..Expand::default() };
    let mut batch = EdgeBatch::default();
    assert!(view.expand(&nodes, &plan).expect("expanding").next(&mut batch).expect("expanding on"));
    check("properties of an expansion", &batch.properties);
    assert!(view.node_properties(&nodes, &[]).expect("reading no properties").is_empty());
    let no_rows = view.node_properties(&[], &keys).expect("reading properties of no nodes");
    assert!(no_rows.len() == 4 && no_rows.iter().all(Column::is_empty), "columns without rows");
}

fn partitions(subject: &mut Subject<'_>) {
    subject.commit(|transaction| {
        let nodes = super::subject::numbered_nodes(transaction, 0..60);
        let ring: Vec<_> = (0..60).map(|index| (nodes[index], nodes[(index * 7 + 1) % 60])).collect();
        add_edges(transaction, "X", &ring);
        add_edges(transaction, "Y", &ring[..30]);
    });
    let view = subject.view();
    let Some(partitions) = view.edge_partitions() else { return };
    for partition in 0..partitions.count() {
        let interval = partitions.interval(partition);
        assert!(interval.start <= interval.end && interval.end <= view.node_id_bound(), "interval {interval:?}");
    }
    let (x, y) = (edge_type(&*view, "X"), edge_type(&*view, "Y"));
    assert_eq!(streamed(&*view, Some(vec![x]), None), 60);
    assert_eq!(streamed(&*view, Some(vec![y]), None), 30);
    assert_eq!(streamed(&*view, Some(vec![]), None), 0);
    assert_eq!(streamed(&*view, None, None), 90);
    let middle = view.node_id_bound() / 2;
    let halves = [0..middle, middle..u64::MAX].map(|range| streamed(&*view, None, Some(range)));
    assert_eq!(halves.iter().sum::<usize>(), 90, "ranges of sources that cover all ids stream all edges");
    assert!(halves.iter().all(|&half| half > 0), "sources lie in both halves");
}

/// Number of edges that all partitions stream, with checks of each block's form.
fn streamed(view: &dyn ReadView, types: Option<Vec<EdgeTypeId>>, sources: Option<std::ops::Range<u64>>) -> usize {
    let partitions = view.edge_partitions().expect("it answered before");
    let stream = EdgeStream { types: types.clone(), sources: sources.clone(), ..EdgeStream::default() };
    let mut count = 0;
    for partition in 0..partitions.count() {
        let mut cursor = partitions.stream(partition, &stream).expect("streaming");
        let mut block = EdgeBlock::default();
        let mut in_partition = 0;
        while cursor.next(&mut block).expect("streaming on") {
            in_partition += block.sources.len();
            assert!(!block.sources.is_empty(), "a cursor that returned true has rows");
            assert!(block.edges.is_empty(), "edge ids that were not asked for are left out");
            assert!(types.as_ref().is_none_or(|types| types.contains(&block.edge_type)), "the type was asked for");
            let in_range = |id: &NodeId| sources.as_ref().is_none_or(|range| range.contains(&id.0));
            assert!(block.sources.iter().all(in_range), "sources lie in the range asked for");
            assert_eq!(block.targets.len(), block.sources.len(), "rows of targets");
        }
        if sources.is_none() {
            let counted = partitions.edge_count(partition, types.as_deref());
            assert_eq!(counted, in_partition as u64, "edges counted and streamed");
        }
        count += in_partition;
    }
    count
}

fn hints(subject: &mut Subject<'_>) {
    subject.commit_edges(3, &[(0, 1), (1, 2)]);
    let view = subject.view();
    let before = Content::of(&*view);
    let nodes = [named(&*view, 0), NodeId(u64::MAX)];
    let plan = Expand { direction: Direction::Both, edge_ids: EdgeIds::Include, ..Expand::default() };
    view.prefetch(&AccessHint::Expand(&nodes, &plan));
    view.prefetch(&AccessHint::NodeProperties(&nodes, &[key(&*view, "name"), PropertyKeyId(99)]));
    assert_eq!(Content::of(&*view), before);
}
