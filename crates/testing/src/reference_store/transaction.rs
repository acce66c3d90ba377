//! Writing: every call changes a copy of the state, and the copy counts only if the call succeeded.

use std::sync::Arc;

use model::store::{NewEdges, NewNodes, Savepoint};
use model::{
    Column, Constraint, EdgeId, EdgeTypeId, Index, Interrupt, LabelId, NodeId, PropertyKeyId, ReadView, Result,
    SortKey, Value, WriteTransaction,
};

use super::state::{EdgeRecord, NodeRecord, Properties, State};
use super::view::ReferenceView;
use super::{Ids, Shared};

/// The one transaction that writes to a reference store.
pub(super) struct ReferenceTransaction {
    store: Arc<Shared>,
    view: ReferenceView,
    savepoints: Vec<Arc<State>>,
}

impl ReferenceTransaction {
    pub(super) fn new(store: Arc<Shared>, view: ReferenceView) -> ReferenceTransaction {
        ReferenceTransaction { store, view, savepoints: Vec::new() }
    }

    /// Runs `write` on the state; if it fails or leaves a constraint broken, the state is as before.
    fn change<T>(&mut self, write: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let before = self.view.state.clone();
        let state = Arc::make_mut(&mut self.view.state);
        state.statistics.take();
        let result = write(state).and_then(|result| state.check_constraints().map(|()| result));
        if result.is_err() {
            self.view.state = before;
        }
        result
    }

    /// The 64-bit id of the `number`th thing created; scattered ids come from a bijection, so they never collide.
    fn id(&self, number: u64) -> u64 {
        match self.view.options.ids {
            Ids::Dense => number,
            Ids::Sparse => (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        }
    }
}

impl Drop for ReferenceTransaction {
    fn drop(&mut self) {
        *self.store.is_writing() = false;
        self.store.write_ended.notify_one();
    }
}

/// The properties of one row, nulls left out.
fn properties_of(keys: &[PropertyKeyId], columns: &[Column], row: usize) -> Result<Properties> {
    let mut properties = Properties::new();
    for (key, column) in keys.iter().zip(columns) {
        let value = column.value(row);
        check_storable(&value)?;
        if !value.is_null() {
            properties.insert(*key, value);
        }
    }
    Ok(properties)
}

fn check_storable(value: &Value) -> Result<()> {
    if value.is_storable() {
        return value.check_time();
    }
    Err(model::error!(Type, "a property cannot hold {value} of type {}", value.type_name()))
}

fn set(properties: &mut Properties, key: PropertyKeyId, value: Value) {
    if value.is_null() {
        properties.remove(&key);
    } else {
        properties.insert(key, value);
    }
}

fn no_node(id: NodeId) -> model::Error {
    model::error!(NotFound, "node {} is not there", id.0)
}

fn no_edge(id: EdgeId) -> model::Error {
    model::error!(NotFound, "edge {} is not there", id.0)
}

fn assert_lengths(rows: usize, keys: usize, columns: &[Column]) {
    assert_eq!(columns.len(), keys, "one column for each property key");
    assert!(columns.iter().all(|column| column.len() == rows), "each column has a row for each node or edge: {rows}");
}

impl WriteTransaction for ReferenceTransaction {
    fn view(&self) -> &dyn ReadView {
        &self.view
    }

    fn label(&mut self, name: &str) -> Result<LabelId> {
        if let Some(id) = self.view.state.schema.label(name) {
            return Ok(id);
        }
        self.change(|state| Ok(LabelId(state.schema.labels.intern(name))))
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId> {
        if let Some(id) = self.view.state.schema.edge_type(name) {
            return Ok(id);
        }
        self.change(|state| Ok(EdgeTypeId(state.schema.edge_types.intern(name))))
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId> {
        if let Some(id) = self.view.state.schema.property_key(name) {
            return Ok(id);
        }
        self.change(|state| Ok(PropertyKeyId(state.schema.property_keys.intern(name))))
    }

    fn create_nodes(&mut self, new: &NewNodes<'_>) -> Result<Vec<NodeId>> {
        assert_lengths(new.count, new.keys.len(), new.properties);
        let first = self.view.state.nodes_created;
        let ids: Vec<NodeId> = (0..new.count as u64).map(|index| NodeId(self.id(first + index))).collect();
        self.change(|state| {
            state.nodes_created += new.count as u64;
            for (row, &id) in ids.iter().enumerate() {
                let node = NodeRecord {
                    labels: new.labels.iter().copied().collect(),
                    properties: properties_of(new.keys, new.properties, row)?,
                    ..NodeRecord::default()
                };
                state.nodes.insert(id, Arc::new(node));
            }
            Ok(())
        })?;
        Ok(ids)
    }

    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        assert_eq!(new.sources.len(), new.targets.len(), "an edge has a source and a target");
        assert_lengths(new.sources.len(), new.keys.len(), new.properties);
        let first = self.view.state.edges_created;
        let ids: Vec<EdgeId> = (0..new.sources.len() as u64).map(|index| EdgeId(self.id(first + index))).collect();
        self.change(|state| {
            state.edges_created += ids.len() as u64;
            for (row, &id) in ids.iter().enumerate() {
                let (source, target) = (new.sources[row], new.targets[row]);
                let properties = properties_of(new.keys, new.properties, row)?;
                state.node_mut(source).ok_or_else(|| no_node(source))?.out_edges.insert(id);
                state.node_mut(target).ok_or_else(|| no_node(target))?.in_edges.insert(id);
                let number = first + row as u64;
                let edge = EdgeRecord { number, edge_type: new.edge_type, source, target, properties };
                state.edges.insert(id, Arc::new(edge));
            }
            Ok(())
        })?;
        Ok(ids)
    }

    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        assert_eq!(values.len(), nodes.len(), "a value for each node");
        self.change(|state| {
            for (row, &id) in nodes.iter().enumerate() {
                let value = values.value(row);
                check_storable(&value)?;
                set(&mut state.node_mut(id).ok_or_else(|| no_node(id))?.properties, key, value);
            }
            Ok(())
        })
    }

    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        assert_eq!(values.len(), edges.len(), "a value for each edge");
        self.change(|state| {
            for (row, &id) in edges.iter().enumerate() {
                let value = values.value(row);
                check_storable(&value)?;
                set(&mut state.edge_mut(id).ok_or_else(|| no_edge(id))?.properties, key, value);
            }
            Ok(())
        })
    }

    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.change(|state| {
            for &id in nodes {
                state.node_mut(id).ok_or_else(|| no_node(id))?.labels.extend(labels);
            }
            Ok(())
        })
    }

    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.change(|state| {
            for &id in nodes {
                state.node_mut(id).ok_or_else(|| no_node(id))?.labels.retain(|label| !labels.contains(label));
            }
            Ok(())
        })
    }

    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        self.change(|state| {
            for id in edges {
                let Some(edge) = state.edges.remove(id) else { continue };
                state.node_mut(edge.source).expect("an edge has its source").out_edges.remove(id);
                state.node_mut(edge.target).expect("an edge has its target").in_edges.remove(id);
            }
            Ok(())
        })
    }

    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        self.change(|state| {
            for id in nodes {
                let Some(node) = state.nodes.remove(id) else { continue };
                if !node.out_edges.is_empty() || !node.in_edges.is_empty() {
                    return Err(model::error!(StillConnected, "node {} still has edges", id.0));
                }
            }
            Ok(())
        })
    }

    fn create_constraint(&mut self, constraint: Constraint, _interrupt: &Interrupt) -> Result<()> {
        self.change(|state| {
            state.schema.check_constraint(&constraint)?;
            state.schema.indexes.extend(constraint.index());
            state.schema.constraints.push(constraint);
            state.check_presence()
        })
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        self.change(|state| {
            let constraints = &mut state.schema.constraints;
            let Some(index) = constraints.iter().position(|constraint| &*constraint.name == name) else {
                return Err(model::error!(SchemaRule, "no constraint is named {name}"));
            };
            constraints.remove(index);
            state.schema.indexes.retain(|index| &*index.name != name);
            Ok(())
        })
    }

    fn create_index(&mut self, index: Index, _interrupt: &Interrupt) -> Result<()> {
        self.change(|state| {
            state.schema.check_index(&index)?;
            state.schema.indexes.push(index);
            Ok(())
        })
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        self.change(|state| {
            let at = state.schema.check_drop_index(name)?;
            state.schema.indexes.remove(at);
            Ok(())
        })
    }

    fn set_sort_key(&mut self, sort_key: SortKey) -> Result<()> {
        self.change(|state| state.schema.add_sort_key(sort_key))
    }

    fn drop_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        self.change(|state| state.schema.remove_sort_key(edge_type))
    }

    fn savepoint(&mut self) -> Savepoint {
        self.savepoints.push(self.view.state.clone());
        Savepoint(self.savepoints.len() as u64 - 1)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let index = savepoint.0 as usize;
        let Some(state) = self.savepoints.get(index) else {
            return Err(model::error!(TransactionState, "savepoint {index} was undone or never made"));
        };
        self.view.state = state.clone();
        self.savepoints.truncate(index + 1);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.view.state.check_presence()?;
        *self.store.current() = self.view.state.clone();
        Ok(())
    }
}
