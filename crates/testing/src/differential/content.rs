//! All that a view holds, read in every way the waist offers, in a form that does not depend on ids.

use std::collections::BTreeMap;

use model::batch::EdgeBlock;
use model::store::{EdgeIds, EdgeStream};
use model::{
    Column, Direction, EdgeBatch, EdgeId, Expand, Map, NodeBatch, NodeId, NodeScan, PropertyKeyId, ReadView, Set,
    Value, each_vector_pair,
};

use super::choices::check_choices;
use super::identities::check_identities;

/// The content of a view. Nodes are named by their labels and properties; two nodes that agree in both are not told
/// apart, so tests give each node a property of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// One line for each node, sorted: labels and properties.
    pub nodes: Vec<String>,
    /// One line for each edge, sorted: source, type, properties, target.
    pub edges: Vec<String>,
    /// One line for each constraint and each sort key, sorted.
    pub constraints: Vec<String>,
}

/// Nodes asked for by one call: small enough that several calls happen in small graphs.
const CALL_NODES: usize = 300;

impl Content {
    /// Reads everything once: nodes by a scan, edges outwards. For thousands of views of which others are read by `of`.
    ///
    /// # Panics
    /// If the view fails, or lists other properties than it gives by key.
    pub fn once(view: &dyn ReadView) -> Content {
        let names = node_names(view);
        let ids: Vec<NodeId> = names.keys().copied().collect();
        let edges = edges_by_expansion(view, &ids, &names, Direction::Out);
        Content::new(view, names, edges)
    }

    /// Reads everything, and checks that the view agrees with itself whichever way it is read.
    ///
    /// # Panics
    /// If the view contradicts itself or fails.
    pub fn of(view: &dyn ReadView) -> Content {
        let names = node_names(view);
        let ids: Vec<NodeId> = names.keys().copied().collect();
        let edges = edges_by_expansion(view, &ids, &names, Direction::Out);
        assert_equal_lines("edges found outwards and inwards", &edges, &{
            edges_by_expansion(view, &ids, &names, Direction::In)
        });
        check_both_directions(view, &ids, &names, &edges);
        check_degrees(view, &ids);
        check_partitions(view, &names, &edges);
        super::runs::check_runs(view, &all_keys(view));
        check_statistics(view, &ids, edges.len());
        check_lookups(view, &ids);
        super::indexes::check_indexes(view);
        ids.chunks(CALL_NODES).for_each(|from| check_choices(view, from));
        let mut seen = Set::default();
        ids.chunks(CALL_NODES).for_each(|from| check_identities(view, from, &mut seen));
        Content::new(view, names, edges)
    }

    fn new(view: &dyn ReadView, names: BTreeMap<NodeId, String>, edges: Vec<String>) -> Content {
        let mut nodes: Vec<String> = names.into_values().collect();
        nodes.sort_unstable();
        Content { nodes, edges, constraints: constraints(view) }
    }
}

/// Fails, showing the first differing lines, unless two views hold the same up to ids.
///
/// # Panics
/// If they differ, or a view contradicts itself.
#[track_caller]
pub fn assert_same(a: &dyn ReadView, b: &dyn ReadView) {
    let (a, b) = (Content::of(a), Content::of(b));
    assert_same_content(&a, &b);
}

/// Fails, showing the first differing lines, unless two contents are the same.
///
/// # Panics
/// If they differ.
#[track_caller]
pub fn assert_same_content(a: &Content, b: &Content) {
    assert_equal_lines("nodes", &a.nodes, &b.nodes);
    assert_equal_lines("edges", &a.edges, &b.edges);
    assert_equal_lines("constraints", &a.constraints, &b.constraints);
}

/// Fails with the lines that only one of two sorted lists has.
#[track_caller]
fn assert_equal_lines(what: &str, a: &[String], b: &[String]) {
    if a == b {
        return;
    }
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    a.iter().for_each(|line| *counts.entry(line).or_default() += 1);
    b.iter().for_each(|line| *counts.entry(line).or_default() -= 1);
    let only = |sign: i64| {
        let lines = counts.iter().filter(move |(_, count)| **count * sign > 0);
        lines.take(5).map(|(line, count)| format!("\n    {}x {line}", count.abs())).collect::<String>()
    };
    panic!("{what} differ ({} and {})\n  only first:{}\n  only second:{}", a.len(), b.len(), only(1), only(-1));
}

/// A value with its type, to the last bit: `1` and `1.0` differ, as do the two zeros. Of a long one, the start, the
/// length and a hash, since it is repeated in every edge of a node.
pub(super) fn exact(value: &Value) -> String {
    const CHARACTERS_SHOWN: usize = 40;
    let text = format!("{value:?}");
    if text.len() <= 2 * CHARACTERS_SHOWN {
        return text;
    }
    let start: String = text.chars().take(CHARACTERS_SHOWN).collect();
    let hash = text
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    format!("{start}…({} bytes, hash {hash:x})", text.len())
}

/// True if `exact` of both is the same. Most values are compared without their text.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    each_vector_pair!((a, b), Value, Value, {
        (Value::Null, Value::Null) => true,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
    }, (a, b) => a == b, _ => exact(a) == exact(b))
}

#[track_caller]
fn assert_is_same(a: &Value, b: &Value, place: impl Fn() -> String) {
    assert!(is_same(a, b), "{}: {} and {}", place(), exact(a), exact(b));
}

fn property_text(view: &dyn ReadView, properties: &[(PropertyKeyId, Value)]) -> String {
    let mut texts: Vec<String> = properties
        .iter()
        .map(|(key, value)| {
            assert!(!value.is_null(), "a property that is listed is not null");
            format!("{}: {}", view.schema().property_key_name(*key), exact(value))
        })
        .collect();
    texts.sort_unstable();
    texts.join(", ")
}

fn all_keys(view: &dyn ReadView) -> Vec<PropertyKeyId> {
    (0..view.schema().property_keys.len() as u32).map(PropertyKeyId).collect()
}

/// Each node with its labels and properties, the properties read three ways.
fn node_names(view: &dyn ReadView) -> BTreeMap<NodeId, String> {
    let keys = all_keys(view);
    let scan = NodeScan { keys: keys.clone(), ..NodeScan::default() };
    let mut names = BTreeMap::new();
    let mut cursor = view.scan(&scan).expect("scanning all nodes");
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch).expect("scanning on") {
        assert!(!batch.nodes.is_empty(), "a cursor that returned true has rows");
        let asked = view.node_properties(&batch.nodes, &keys).expect("reading node properties");
        assert_columns_agree("node properties of a scan and asked for", &batch.properties, &asked, batch.nodes.len());
        let listed = view.all_node_properties(&batch.nodes).expect("listing node properties");
        let labels = view.node_labels(&batch.nodes).expect("reading labels");
        assert_eq!(view.nodes_exist(&batch.nodes).expect("asking for nodes").count_ones(), batch.nodes.len());
        for (row, &node) in batch.nodes.iter().enumerate() {
            assert!(labels[row].is_sorted(), "labels of node {} come in order of their ids", node.0);
            assert_listed(&listed[row], &keys, &asked, row);
            let mut label_names: Vec<&str> = labels[row].iter().map(|label| view.schema().label_name(*label)).collect();
            label_names.sort_unstable();
            let text = format!("(:{} {{{}}})", label_names.join(":"), property_text(view, &listed[row]));
            assert!(names.insert(node, text).is_none(), "node {} was scanned twice", node.0);
        }
    }
    assert!(batch.nodes.is_empty(), "a cursor at its end leaves the batch empty");
    names
}

fn assert_columns_agree(what: &str, a: &[Column], b: &[Column], rows: usize) {
    assert_eq!(a.len(), b.len(), "{what}: number of columns");
    for (x, y) in a.iter().zip(b) {
        assert_eq!((x.len(), y.len()), (rows, rows), "{what}: number of rows");
        for row in 0..rows {
            assert_is_same(&x.value(row), &y.value(row), || format!("{what}: row {row}"));
        }
    }
}

fn assert_listed(listed: &[(PropertyKeyId, Value)], keys: &[PropertyKeyId], columns: &[Column], row: usize) {
    let mut listed: Vec<&(PropertyKeyId, Value)> = listed.iter().collect();
    listed.sort_unstable_by_key(|(key, _)| *key);
    let present: Vec<(PropertyKeyId, &Column)> =
        keys.iter().copied().zip(columns).filter(|(_, column)| !column.is_null(row)).collect();
    assert!(
        listed.iter().map(|(key, _)| key).eq(present.iter().map(|(key, _)| key)),
        "row {row} lists {listed:?}, and has the keys {:?}",
        present.iter().map(|(key, _)| key).collect::<Vec<_>>()
    );
    for ((key, value), (_, column)) in listed.iter().zip(&present) {
        assert_is_same(value, &column.value(row), || format!("row {row}, key {}: listed and asked for by key", key.0));
    }
}

/// One row of an expansion.
struct Found {
    input: usize,
    neighbor: NodeId,
    edge: EdgeId,
    is_reversed: bool,
    /// Type and properties.
    text: String,
}

/// All edges of some nodes, with checks of the form of each batch.
fn expand_all(view: &dyn ReadView, from: &[NodeId], direction: Direction) -> Vec<Found> {
    let keys = all_keys(view);
    let expand = Expand { direction, edge_ids: EdgeIds::Include, keys: keys.clone(), ..Expand::default() };
    let mut found: Vec<Found> = Vec::new();
    let mut cursor = view.expand(from, &expand).expect("expanding");
    let mut batch = EdgeBatch::default();
    while cursor.next(&mut batch).expect("expanding on") {
        let rows = batch.len();
        assert!(rows > 0, "a cursor that returned true has rows");
        let reversed = if direction == Direction::Both { rows } else { 0 };
        let lengths = (batch.inputs.len(), batch.types.len(), batch.edges.len(), batch.reversed.len());
        assert_eq!(lengths, (rows, rows, rows, reversed), "rows of inputs, types, edges, reversed ({direction:?})");
        let asked = view.edge_properties(&batch.edges, &keys).expect("reading edge properties");
        assert_columns_agree("edge properties of an expansion and asked for", &batch.properties, &asked, rows);
        assert_eq!(view.edges_exist(&batch.edges).expect("asking for edges").count_ones(), rows);
        let listed = view.all_edge_properties(&batch.edges).expect("listing edge properties");
        for (row, properties) in listed.iter().enumerate() {
            assert_listed(properties, &keys, &asked, row);
            let edge_type = view.schema().edge_type_name(batch.types[row]);
            let is_reversed = batch.reversed.get(row).copied().unwrap_or(direction == Direction::In);
            found.push(Found {
                input: batch.inputs[row] as usize,
                neighbor: batch.neighbors[row],
                edge: batch.edges[row],
                is_reversed,
                text: format!("[:{edge_type} {{{}}}]", property_text(view, properties)),
            });
        }
    }
    assert!(batch.is_empty(), "a cursor at its end leaves the batch empty");
    assert!(found.is_sorted_by_key(|row| row.input), "inputs of an expansion never decrease");
    found
}

fn edge_line(names: &BTreeMap<NodeId, String>, source: NodeId, text: &str, target: NodeId) -> String {
    let name =
        |node: NodeId| names.get(&node).unwrap_or_else(|| panic!("an edge ends at node {}, not scanned", node.0));
    format!("{}-{text}->{}", name(source), name(target))
}

fn lines(names: &BTreeMap<NodeId, String>, from: &[NodeId], found: &[Found]) -> Vec<String> {
    let line = |row: &Found| {
        let (source, target) =
            if row.is_reversed { (row.neighbor, from[row.input]) } else { (from[row.input], row.neighbor) };
        edge_line(names, source, &row.text, target)
    };
    found.iter().map(line).collect()
}

fn edges_by_expansion(
    view: &dyn ReadView,
    ids: &[NodeId],
    names: &BTreeMap<NodeId, String>,
    direction: Direction,
) -> Vec<String> {
    let mut all = Vec::new();
    let mut seen: Set<EdgeId> = Set::default();
    for from in ids.chunks(CALL_NODES) {
        let found = expand_all(view, from, direction);
        for row in &found {
            assert!(seen.insert(row.edge), "edge {} was found twice going {direction:?}", row.edge.0);
        }
        all.extend(lines(names, from, &found));
    }
    all.sort_unstable();
    all
}

/// Going both ways finds each edge from both of its ends, a self-loop once.
fn check_both_directions(view: &dyn ReadView, ids: &[NodeId], names: &BTreeMap<NodeId, String>, edges: &[String]) {
    let mut twice = Vec::new();
    let mut times: Map<EdgeId, (usize, bool)> = Map::default();
    for from in ids.chunks(CALL_NODES) {
        let found = expand_all(view, from, Direction::Both);
        for row in &found {
            let is_loop = row.neighbor == from[row.input];
            times.entry(row.edge).or_insert((0, is_loop)).0 += 1;
        }
        for (row, line) in found.iter().zip(lines(names, from, &found)) {
            let copies = if row.neighbor == from[row.input] { 2 } else { 1 };
            twice.extend(std::iter::repeat_n(line, copies));
        }
    }
    for (edge, (count, is_loop)) in times {
        assert_eq!(count, if is_loop { 1 } else { 2 }, "times that edge {} comes going both ways", edge.0);
    }
    twice.sort_unstable();
    let mut expected: Vec<String> = edges.iter().chain(edges).cloned().collect();
    expected.sort_unstable();
    assert_equal_lines("edges found both ways and outwards, twice", &twice, &expected);
}

fn check_degrees(view: &dyn ReadView, ids: &[NodeId]) {
    for direction in [Direction::Out, Direction::In, Direction::Both] {
        for from in ids.chunks(CALL_NODES) {
            let mut expected = vec![0; from.len()];
            let expand = Expand { direction, ..Expand::default() };
            let mut cursor = view.expand(from, &expand).expect("expanding");
            let mut batch = EdgeBatch::default();
            while cursor.next(&mut batch).expect("expanding on") {
                assert!(batch.edges.is_empty(), "edge ids that were not asked for are left out");
                batch.inputs.iter().for_each(|&input| expected[input as usize] += 1);
            }
            let degrees = view.degrees(from, direction, None).expect("reading degrees");
            assert_eq!(degrees, expected, "degrees going {direction:?}");
        }
    }
    for from in ids.chunks(CALL_NODES) {
        let mut expected = vec![0; from.len()];
        let expand = Expand::default();
        let mut cursor = view.expand(from, &expand).expect("expanding");
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch).expect("expanding on") {
            for (&input, &neighbor) in batch.inputs.iter().zip(&batch.neighbors) {
                expected[input as usize] += u64::from(from[input as usize] == neighbor);
            }
        }
        // Twice, as a store may remember.
        for _ in 0..2 {
            assert_eq!(view.loops(from, None).expect("counting loops"), expected, "self-loops");
        }
    }
}

fn check_partitions(view: &dyn ReadView, names: &BTreeMap<NodeId, String>, edges: &[String]) {
    let Some(partitions) = view.edge_partitions() else {
        assert!(!view.capabilities().streams_edges, "a store that says it streams edges has partitions");
        return;
    };
    let keys = all_keys(view);
    let stream = EdgeStream { types: None, sources: None, keys: keys.clone(), edge_ids: EdgeIds::Include };
    let mut all = Vec::new();
    for partition in 0..partitions.count() {
        let interval = partitions.interval(partition);
        let mut count = 0;
        let mut cursor = partitions.stream(partition, &stream).expect("streaming edges");
        let mut block = EdgeBlock::default();
        while cursor.next(&mut block).expect("streaming on") {
            let rows = block.sources.len();
            count += rows as u64;
            assert_eq!((block.targets.len(), block.edges.len()), (rows, rows), "rows of targets and edges");
            let asked = view.edge_properties(&block.edges, &keys).expect("reading edge properties");
            assert_columns_agree("edge properties of a stream and asked for", &block.properties, &asked, rows);
            let listed = view.all_edge_properties(&block.edges).expect("listing edge properties");
            for (row, properties) in listed.iter().enumerate() {
                let (source, target) = (block.sources[row], block.targets[row]);
                assert!(interval.contains(&target.0), "target {} lies outside of interval {interval:?}", target.0);
                let edge_type = view.schema().edge_type_name(block.edge_type);
                let text = format!("[:{edge_type} {{{}}}]", property_text(view, properties));
                all.push(edge_line(names, source, &text, target));
            }
        }
        assert_eq!(partitions.edge_count(partition, None), count, "edges counted and streamed of a partition");
    }
    all.sort_unstable();
    assert_equal_lines("edges streamed and expanded", &all, edges);
}

fn check_statistics(view: &dyn ReadView, ids: &[NodeId], edges: usize) {
    let capabilities = view.capabilities();
    if !capabilities.dense_node_ids {
        return;
    }
    let statistics = view.statistics();
    assert_eq!((statistics.nodes, statistics.edges), (ids.len() as u64, edges as u64), "counts of nodes and edges");
    if let Some(largest) = ids.last() {
        assert!(largest.0 < view.node_id_bound(), "node {} is not below the bound", largest.0);
    }
    let mut by_label = BTreeMap::new();
    for labels in view.node_labels(ids).expect("reading labels") {
        labels.into_iter().for_each(|label| *by_label.entry(label).or_insert(0) += 1);
    }
    for (number, name) in view.schema().labels.iter().enumerate() {
        let label = model::LabelId(number as u32);
        let expected = by_label.get(&label).copied().unwrap_or(0);
        assert_eq!(statistics.label(label), expected, "count of nodes of label {name}");
        let scan = NodeScan { labels: vec![label], ..NodeScan::default() };
        assert_eq!(super::scan_nodes(view, &scan).len() as u64, expected, "nodes scanned of label {name}");
    }
    for (number, name) in view.schema().edge_types.iter().enumerate() {
        let edge_type = model::EdgeTypeId(number as u32);
        let degrees = view.degrees(ids, Direction::Out, Some(&[edge_type])).expect("reading degrees");
        assert_eq!(statistics.edge_type(edge_type), degrees.iter().sum::<u64>(), "count of edges of type {name}");
    }
}

/// Every node under a constraint is found by its value, and its value is its own.
fn check_lookups(view: &dyn ReadView, ids: &[NodeId]) {
    for constraint in &view.schema().constraints {
        let Some((label, key)) = constraint.lookup_key() else { continue };
        let carries = view.has_label(ids, label).expect("reading a label");
        let nodes: Vec<NodeId> =
            ids.iter().enumerate().filter(|(row, _)| carries.get(*row)).map(|(_, id)| *id).collect();
        let values = view.node_properties(&nodes, &[key]).expect("reading keys").swap_remove(0);
        let found = view.lookup(label, key, &values).expect("looking up");
        let found = model::store::nodes_of(&found);
        for (row, node) in nodes.iter().enumerate() {
            // Null and NaN equal nothing, themselves not either.
            let value = values.value(row);
            let expected = if value.equals(&value) == Some(true) { Some(*node) } else { None };
            assert_eq!(found[row], expected, "constraint {}: lookup of {}", constraint.name, values.value(row));
        }
    }
}

fn constraints(view: &dyn ReadView) -> Vec<String> {
    let schema = view.schema();
    let constraints = schema.constraints.iter().map(|constraint| schema.constraint_statement(constraint));
    let indexes = schema.indexes.iter().map(|index| schema.index_statement(index));
    let mut lines: Vec<String> = constraints.chain(indexes).collect();
    lines.extend(schema.sort_keys.iter().map(|sort_key| {
        let keys: Vec<&str> = sort_key.keys.iter().map(|&key| schema.property_key_name(key)).collect();
        format!("sort key: :{}({})", schema.edge_type_name(sort_key.edge_type), keys.join(", "))
    }));
    lines.sort_unstable();
    lines
}
