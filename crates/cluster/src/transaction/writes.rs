//! Nodes and edges that come, change and go.

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, Direction, EdgeBatch, EdgeId, Error, Expand, NodeId, PropertyKeyId, ReadView, Result, Value, error,
};

use super::{Changed, Transaction};
use crate::ids::IdKind;
use crate::rows::{EdgeData, NodeData, Properties, set_property};

fn no_node(node: NodeId) -> Error {
    error!(NotFound, "node {} is not there", node.0)
}

fn check_storable(value: &Value) -> Result<()> {
    if value.is_storable() {
        return value.check_time();
    }
    Err(error!(Type, "a property cannot hold {value} of type {}", value.type_name()))
}

fn check_lengths(rows: usize, keys: usize, columns: &[Column]) {
    assert_eq!(columns.len(), keys, "one column for each property key");
    assert!(columns.iter().all(|column| column.len() == rows), "each column has a row for each node or edge: {rows}");
}

/// The properties of one row, nulls left out.
fn properties_of(keys: &[PropertyKeyId], columns: &[Column], row: usize) -> Result<Properties> {
    let mut properties = Properties::new();
    for (key, column) in keys.iter().zip(columns) {
        let value = column.value(row);
        check_storable(&value)?;
        if !value.is_null() {
            set_property(&mut properties, *key, value);
        }
    }
    Ok(properties)
}

impl Transaction {
    fn new_ids(&self, kind: IdKind, count: usize) -> Result<Vec<u64>> {
        self.shared.blocks.take(kind, count as u64, &self.shared.log, &self.shared.queue)
    }

    pub(super) fn add_nodes(&mut self, new: &NewNodes<'_>, changed: &mut Changed) -> Result<Vec<NodeId>> {
        check_lengths(new.count, new.keys.len(), new.properties);
        let mut labels = new.labels.to_vec();
        labels.sort_unstable();
        labels.dedup();
        let rows: Result<Vec<Properties>> =
            (0..new.count).map(|row| properties_of(new.keys, new.properties, row)).collect();
        let (rows, ids) = (rows?, self.new_ids(IdKind::Node, new.count)?);
        for (properties, &id) in rows.into_iter().zip(&ids) {
            self.view.own.put_node(NodeId(id), None, Some(NodeData { labels: labels.clone(), properties }));
            changed.nodes.push(NodeId(id));
        }
        Ok(ids.into_iter().map(NodeId).collect())
    }

    pub(super) fn add_edges(&mut self, new: &NewEdges<'_>, changed: &mut Changed) -> Result<Vec<EdgeId>> {
        assert_eq!(new.sources.len(), new.targets.len(), "an edge has a source and a target");
        check_lengths(new.sources.len(), new.keys.len(), new.properties);
        let mut ends: Vec<NodeId> = new.sources.iter().chain(new.targets).copied().collect();
        ends.sort_unstable();
        ends.dedup();
        let there = self.view.nodes(&ends)?;
        if let Some((missing, _)) = ends.iter().zip(&there).find(|(_, node)| node.is_none()) {
            return Err(no_node(*missing));
        }
        let rows: Result<Vec<Properties>> =
            (0..new.sources.len()).map(|row| properties_of(new.keys, new.properties, row)).collect();
        let (rows, ids) = (rows?, self.new_ids(IdKind::Edge, new.sources.len())?);
        for (row, (properties, &number)) in rows.into_iter().zip(&ids).enumerate() {
            let (source, target) = (new.sources[row], new.targets[row]);
            let data = EdgeData { edge_type: new.edge_type, source, target, properties };
            self.view.own.put_edge(number, None, Some(data));
            changed.edges.push(number);
        }
        Ok(ids.into_iter().map(EdgeId).collect())
    }

    /// Changes nodes, row by row.
    pub(super) fn change_nodes(
        &mut self,
        nodes: &[NodeId],
        changed: &mut Changed,
        mut change: impl FnMut(&mut NodeData, usize) -> Result<()>,
    ) -> Result<()> {
        let mut base = self.view.base_nodes(nodes)?;
        for (row, &node) in nodes.iter().enumerate() {
            let (old, data) = match self.view.own.nodes.get(&node) {
                Some(touched) => (None, touched.new.clone()),
                None => {
                    let old = base.remove(&node);
                    let data = old.as_ref().map(|version| version.data.clone());
                    (old, data)
                }
            };
            let mut data = NodeData::clone(&*data.ok_or_else(|| no_node(node))?);
            change(&mut data, row)?;
            self.view.own.put_node(node, old, Some(data));
            changed.nodes.push(node);
        }
        Ok(())
    }

    pub(super) fn set_of_nodes(
        &mut self,
        nodes: &[NodeId],
        key: PropertyKeyId,
        values: &Column,
        changed: &mut Changed,
    ) -> Result<()> {
        assert_eq!(values.len(), nodes.len(), "a value for each node");
        self.change_nodes(nodes, changed, |data, row| {
            let value = values.value(row);
            check_storable(&value)?;
            set_property(&mut data.properties, key, value);
            Ok(())
        })
    }

    pub(super) fn set_of_edges(
        &mut self,
        edges: &[EdgeId],
        key: PropertyKeyId,
        values: &Column,
        changed: &mut Changed,
    ) -> Result<()> {
        assert_eq!(values.len(), edges.len(), "a value for each edge");
        let mut base = self.view.base_edges(edges)?;
        for (row, &edge) in edges.iter().enumerate() {
            let (old, data) = match self.view.own.edges.get(&edge.0) {
                Some(touched) => (None, touched.new.clone()),
                None => {
                    let old = base.remove(&edge.0);
                    let data = old.as_ref().map(|version| version.data.clone());
                    (old, data)
                }
            };
            let data = data.ok_or_else(|| error!(NotFound, "edge {} is not there", edge.0))?;
            let (mut data, value) = (EdgeData::clone(&data), values.value(row));
            check_storable(&value)?;
            set_property(&mut data.properties, key, value);
            self.view.own.put_edge(edge.0, old, Some(data));
            changed.edges.push(edge.0);
        }
        Ok(())
    }

    pub(super) fn remove_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        let mut base = self.view.base_edges(edges)?;
        for edge in edges {
            let is_touched = self.view.own.edges.contains_key(&edge.0);
            let old = base.remove(&edge.0);
            if is_touched || old.is_some() {
                self.view.own.put_edge(edge.0, old, None);
            }
        }
        Ok(())
    }

    pub(super) fn remove_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        let there = self.view.nodes(nodes)?;
        let mut going: Vec<NodeId> =
            nodes.iter().zip(&there).filter(|(_, node)| node.is_some()).map(|(id, _)| *id).collect();
        going.sort_unstable();
        going.dedup();
        let expand = Expand { direction: Direction::Both, edge_ids: EdgeIds::Omit, ..Expand::default() };
        let mut batch = EdgeBatch::default();
        if self.view.expand(&going, &expand)?.next(&mut batch)? {
            let node = going[batch.inputs[0] as usize];
            return Err(error!(StillConnected, "node {} still has edges", node.0));
        }
        let mut base = self.view.base_nodes(&going)?;
        for node in going {
            let old = base.remove(&node);
            self.view.own.put_node(node, old, None);
        }
        Ok(())
    }
}
