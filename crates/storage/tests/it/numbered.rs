//! Numbered transactions, each of which touches every kind of data, and the check that a store holds whole ones only.
//!
//! Transaction `n` makes three nodes of label `Part` with `number = n` and a ring of edges between them, an edge to the
//! transaction before, sets `newest = n` on node 0, labels one node of the transaction before `Old`, and deletes the edge
//! that the transaction before made to the one before that.

use std::path::Path;

use model::platform::Platform;
use model::store::{EdgeIds, Expand, NewEdges, NewNodes, NodeScan};
use model::{
    Column, ColumnData, Constraint, Direction, EdgeBatch, GraphStore, Interrupt, NodeBatch, NodeId, ReadView, Result,
    Value,
};
use storage::NativeStore;
use storage::format::{FileKind, LOCK_NAME, MANIFEST_COPY_NAME, MANIFEST_NAME};
use storage::manifest::Manifest;

/// Commits the transaction of that number; those before were committed.
pub(crate) fn commit_number(store: &NativeStore, number: u64) -> Result<()> {
    let mut transaction = store.write()?;
    let part = transaction.label("Part")?;
    let old = transaction.label("Old")?;
    let ring = transaction.edge_type("RING")?;
    let back = transaction.edge_type("BACK")?;
    let key = transaction.property_key("number")?;
    let newest = transaction.property_key("newest")?;
    let name = transaction.property_key("name")?;
    if number == 1 {
        transaction.create_constraint(Constraint::unique("names", part, name), &model::Interrupt::new())?;
    }
    let numbers = Column::constant(&Value::Int(number as i64), 3);
    let names: Vec<Value> = (0..3).map(|part| Value::string(&format!("{number}/{part}"))).collect();
    let properties = [numbers.clone(), Column::from_values(&names)];
    let new = NewNodes { count: 3, labels: &[part], keys: &[key, name], properties: &properties };
    let nodes = transaction.create_nodes(&new)?;
    let targets = [nodes[1], nodes[2], nodes[0]];
    let new = NewEdges { edge_type: ring, sources: &nodes, targets: &targets, keys: &[key], properties: &[numbers] };
    transaction.create_edges(&new)?;
    let number_column = Column::new(ColumnData::Int(vec![number as i64]));
    transaction.set_node_properties(&[NodeId(0)], newest, &number_column)?;
    if let Some(before) = find(transaction.view(), &format!("{}/0", number - 1))? {
        let new = NewEdges { edge_type: back, sources: &nodes[..1], targets: &[before], keys: &[], properties: &[] };
        transaction.create_edges(&new)?;
        transaction.add_labels(&[before], &[old])?;
        let expand = Expand {
            direction: Direction::Out,
            types: Some(vec![back]),
            edge_ids: EdgeIds::Include,
            ..Expand::default()
        };
        let mut batch = EdgeBatch::default();
        transaction.view().expand(&[before], &expand)?.next(&mut batch)?;
        transaction.delete_edges(&batch.edges)?;
    }
    transaction.commit()
}

fn find(view: &dyn ReadView, name: &str) -> Result<Option<NodeId>> {
    let schema = view.schema();
    let (Some(label), Some(key)) = (schema.label("Part"), schema.property_key("name")) else { return Ok(None) };
    let nodes = view.lookup(label, key, &Column::from_values(&[Value::string(name)]))?;
    Ok(model::store::nodes_of(&nodes)[0])
}

/// Number of transactions that the view holds; all of them are whole.
pub(crate) fn check(view: &dyn ReadView) -> u64 {
    let statistics = view.statistics();
    let count = statistics.nodes / 3;
    if count == 0 {
        assert_eq!((statistics.nodes, statistics.edges), (0, 0));
        return 0;
    }
    let schema = view.schema();
    let key = |name| schema.property_key(name).unwrap();
    let keys = vec![key("number"), key("newest"), key("name")];
    let nodes_of = |label: &str| {
        let label = schema.label(label).unwrap();
        let (mut batch, mut rows) = (NodeBatch::default(), Vec::new());
        let mut cursor =
            view.scan(&NodeScan { labels: vec![label], keys: keys.clone(), ..NodeScan::default() }).unwrap();
        while cursor.next(&mut batch).unwrap() {
            for (row, &node) in batch.nodes.iter().enumerate() {
                rows.push((node, batch.properties.iter().map(|column| column.value(row)).collect::<Vec<_>>()));
            }
        }
        rows
    };
    let parts = nodes_of("Part");
    assert_eq!(parts.len() as u64, 3 * count);
    for (node, values) in &parts {
        assert_eq!(values[0], Value::Int(node.0 as i64 / 3 + 1), "number of node {}", node.0);
        let newest = if node.0 == 0 { Value::Int(count as i64) } else { Value::Null };
        assert_eq!(values[1], newest, "newest of node {}", node.0);
        assert_eq!(values[2], Value::string(&format!("{}/{}", node.0 / 3 + 1, node.0 % 3)));
    }
    assert_eq!(nodes_of("Old").len() as u64, count - 1);
    check_edges(view, count);
    for number in 1..=count {
        assert_eq!(find(view, &format!("{number}/0")).unwrap(), Some(NodeId(3 * (number - 1))));
    }
    count
}

/// A ring in each transaction, and one edge back from the newest.
fn check_edges(view: &dyn ReadView, count: u64) {
    let schema = view.schema();
    let expand = Expand {
        direction: Direction::Out,
        types: None,
        edge_ids: EdgeIds::Include,
        keys: vec![schema.property_key("number").unwrap()],
        ..Expand::default()
    };
    let nodes: Vec<NodeId> = (0..3 * count).map(NodeId).collect();
    let (mut batch, mut edges) = (EdgeBatch::default(), 0);
    let mut cursor = view.expand(&nodes, &expand).unwrap();
    while cursor.next(&mut batch).unwrap() {
        for row in 0..batch.len() {
            let node = nodes[batch.inputs[row] as usize].0;
            edges += 1;
            if schema.edge_type_name(batch.types[row]) == "BACK" {
                assert_eq!(node, 3 * (count - 1));
                assert_eq!(batch.neighbors[row].0, 3 * (count - 2));
            } else {
                assert_eq!(batch.neighbors[row].0, node / 3 * 3 + (node + 1) % 3);
                assert_eq!(batch.properties[0].value(row), Value::Int(node as i64 / 3 + 1));
            }
        }
    }
    let expected = 3 * count + u64::from(count > 1);
    assert_eq!(edges, expected);
    assert_eq!(view.statistics().edges, expected);
}

/// Files of a store that its manifest does not name: nothing removes them before the store is next opened. Logs are not
/// counted, nor is the copy of the manifest, which a full disk may have no room for.
pub(crate) fn leftovers(platform: &Platform, path: &Path) -> Vec<String> {
    let manifest = Manifest::read(&platform.disk, path).unwrap();
    let named: Vec<String> = manifest.files().map(|(kind, file)| kind.file_name(file.number)).collect();
    let is_known = |name: &String| {
        // Ends of logs that a kill cut short are kept beside the store.
        let log = name.strip_suffix(".torn").unwrap_or(name);
        let is_log = matches!(FileKind::parse(log), Some((FileKind::Wal, _)));
        is_log || [MANIFEST_NAME, MANIFEST_COPY_NAME, LOCK_NAME].contains(&name.as_str()) || named.contains(name)
    };
    platform.disk.list(path).unwrap().into_iter().filter(|name| !is_known(name)).collect()
}

/// Runs the check of checksums and cross-references over a closed store.
pub(crate) fn check_files(platform: &Platform, path: &Path) {
    let problems = storage::check::check(platform, path, &Interrupt::new()).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}
