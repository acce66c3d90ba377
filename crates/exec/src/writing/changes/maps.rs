//! `object = map` and `object += map`.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Column, ColumnBuilder, EdgeId, NodeId, PropertyKeyId, ReadView, Result, Value};

use super::Objects;
use crate::runtime::Runtime;
use crate::writing::check_storable;

/// One property of several objects.
#[derive(Default)]
struct Entries {
    nodes: Vec<NodeId>,
    node_values: ColumnBuilder,
    edges: Vec<EdgeId>,
    edge_values: ColumnBuilder,
}

/// Changes by key; the last one of an object wins.
type ByKey = BTreeMap<Arc<str>, Entries>;

/// Sets the properties of the objects to the maps in their rows. All objects are different, or there is one row.
pub(super) fn apply(runtime: &Runtime<'_>, objects: &Objects, values: &Column, replaces: bool) -> Result<()> {
    let mut by_key = ByKey::new();
    {
        let view = runtime.view();
        let view = view.view();
        let old_of_nodes = if replaces { view.all_node_properties(&objects.nodes)? } else { Vec::new() };
        let old_of_edges = if replaces { view.all_edge_properties(&objects.edges)? } else { Vec::new() };
        for (index, (&node, &row)) in objects.nodes.iter().zip(&objects.node_rows).enumerate() {
            let map = properties_of(view, &values.value(row as usize), replaces)?;
            let old = old_of_nodes.get(index).map_or(&[][..], |old| old);
            for (key, value) in with_removals(view, map, old) {
                let entries = by_key.entry(key).or_default();
                entries.nodes.push(node);
                entries.node_values.push(&value);
            }
        }
        for (index, (&edge, &row)) in objects.edges.iter().zip(&objects.edge_rows).enumerate() {
            let map = properties_of(view, &values.value(row as usize), replaces)?;
            let old = old_of_edges.get(index).map_or(&[][..], |old| old);
            for (key, value) in with_removals(view, map, old) {
                let entries = by_key.entry(key).or_default();
                entries.edges.push(edge);
                entries.edge_values.push(&value);
            }
        }
    }
    write(runtime, by_key)
}

fn write(runtime: &Runtime<'_>, by_key: ByKey) -> Result<()> {
    if by_key.is_empty() {
        return Ok(());
    }
    runtime.write(|writer| {
        for (key, entries) in by_key {
            let (node_values, edge_values) = (entries.node_values.finish(), entries.edge_values.finish());
            check_storable(&key, &node_values)?;
            check_storable(&key, &edge_values)?;
            let key = writer.transaction.property_key(&key)?;
            if !entries.nodes.is_empty() {
                writer.transaction.set_node_properties(&entries.nodes, key, &node_values)?;
            }
            if !entries.edges.is_empty() {
                writer.transaction.set_edge_properties(&entries.edges, key, &edge_values)?;
            }
            writer.counters.properties_set += (entries.nodes.len() + entries.edges.len()) as u64;
        }
        Ok(())
    })
}

/// The entries of a map, or the properties of a node or edge.
fn properties_of(view: &dyn ReadView, value: &Value, replaces: bool) -> Result<Vec<(Arc<str>, Value)>> {
    let named = |properties: Vec<Vec<(PropertyKeyId, Value)>>| {
        let named = |(key, value): (PropertyKeyId, Value)| (Arc::from(view.schema().property_key_name(key)), value);
        properties.into_iter().flatten().map(named).collect()
    };
    match value {
        Value::Map(map) => Ok(map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()),
        Value::Node(node) => Ok(named(view.all_node_properties(&[*node])?)),
        Value::Edge(edge) => Ok(named(view.all_edge_properties(&[edge.id])?)),
        Value::Null if !replaces => Ok(Vec::new()),
        other => Err(model::error!(
            Type,
            "properties need a map, node or relationship, found {other} ({})",
            other.type_name()
        )),
    }
}

/// The new entries, and null for each old key that is not among them.
fn with_removals(
    view: &dyn ReadView,
    mut map: Vec<(Arc<str>, Value)>,
    old: &[(PropertyKeyId, Value)],
) -> Vec<(Arc<str>, Value)> {
    for (key, _) in old {
        let name = view.schema().property_key_name(*key);
        if !map.iter().any(|(other, _)| &**other == name) {
            map.push((Arc::from(name), Value::Null));
        }
    }
    map
}
