//! The effect of each operation on a snapshot's memtable, without asking whether it may be done.
//!
//! A transaction checks and then applies; replay of the log applies what was checked when it was written. Both go through
//! here, in the same order.

use std::sync::Arc;

use model::store::{NewEdges, NewNodes};
use model::{
    Column, Constraint, EdgeId, EdgeTypeId, Interrupt, LabelId, NodeId, PropertyKeyId, Result, SortKey, Value, error,
};

use super::edge_entries::EDGES_AT_ONCE;
use super::made::{Contents, Made};
use super::repeat::Own;
use super::replayed::in_log;
use crate::codec::bytes::Get;
use crate::engine::Overflow;
use crate::memtable::{Properties, UniqueIndex, index_entry_bytes, value_bytes};
use crate::snapshot::Snapshot;
use crate::wal::record::Ends;
use crate::wal::record::{NameKind, Operation, operation};

impl Snapshot {
    /// Applies the operations of a record of the log; what it makes is not built if that was done before. What memory has no
    /// room for goes to files, if there is an `overflow`.
    pub(crate) fn apply_record(
        &mut self,
        payload: &mut Get<'_>,
        made: &Made,
        mut overflow: Option<&mut Overflow<'_>>,
    ) -> Result<()> {
        self.apply_operations(payload, Own::new(self), made, overflow.as_deref_mut())?;
        self.end_record(overflow)
    }

    /// Applies operations of a transaction that made these edges before.
    pub(super) fn apply_operations(
        &mut self,
        payload: &mut Get<'_>,
        mut own: Own,
        made: &Made,
        mut overflow: Option<&mut Overflow<'_>>,
    ) -> Result<()> {
        while payload.left() > 0 {
            let operation = own.renamed(operation(payload)?);
            let checked = self.check_bounds(&operation, own.first());
            let done = checked.and_then(|()| self.repeat(operation, &mut own, made, overflow.as_deref_mut()));
            done.map_err(|error| in_log(payload, error))?;
        }
        Ok(())
    }

    /// Applies one operation of a transaction whose first own edge has that ordinal; the interrupt stops the build of an index.
    pub(super) fn apply(
        &mut self,
        operation: Operation<'_>,
        first_own: u32,
        interrupt: Option<&Interrupt>,
    ) -> Result<()> {
        match operation {
            Operation::Name(kind, name) => {
                self.intern(kind, name);
            }
            Operation::CreateNodes { first, count, labels, keys, properties } => {
                self.create_nodes(first, &NewNodes { count, labels: &labels, keys: &keys, properties: &properties });
            }
            Operation::CreateEdges { first, edge_type, sources, targets, keys, properties } => {
                let (sources, targets) = (&sources, &targets);
                let first = first.unwrap_or(self.memtable.edge_number_bound);
                let new = NewEdges { edge_type, sources, targets, keys: &keys, properties: &properties };
                self.create_edges(first, &new);
            }
            Operation::SetNodeProperties(nodes, key, values) => self.set_node_properties(&nodes, key, &values)?,
            Operation::SetEdgeProperties(edges, key, values) => {
                let edges = self.edges_named(&edges, first_own)?;
                self.set_edge_properties(&edges, key, &values)?;
            }
            Operation::AddLabels(nodes, labels) => self.add_labels(&nodes, &labels)?,
            Operation::RemoveLabels(nodes, labels) => self.remove_labels(&nodes, &labels)?,
            Operation::DeleteEdges(edges) => self.delete_edges(&self.edges_named(&edges, first_own)?)?,
            Operation::DeleteNodes(nodes) => self.delete_nodes(&nodes)?,
            Operation::CreateConstraint(constraint) => {
                let contents = self.contents_of_constraint(&constraint, &interrupt.cloned().unwrap_or_default())?;
                self.create_constraint(constraint, contents);
            }
            Operation::DropConstraint(name) => self.drop_constraint(name)?,
            Operation::SetSortKey(sort_key) => self.set_sort_key(sort_key)?,
            Operation::DropSortKey(edge_type) => self.drop_sort_key(edge_type)?,
            Operation::CreateIndex(index) => {
                let contents = self.contents_of_index(&index, &interrupt.cloned().unwrap_or_default())?;
                self.create_index(index, contents);
            }
            Operation::DropIndex(name) => self.drop_index(name)?,
        }
        Ok(())
    }

    /// The number of a name, given now if it is new.
    pub(super) fn intern(&mut self, kind: NameKind, name: &str) -> u32 {
        self.memtable.bytes += 64 + 2 * name.len();
        let schema = Arc::make_mut(&mut self.memtable.schema);
        match kind {
            NameKind::Label => schema.labels.intern(name),
            NameKind::EdgeType => schema.edge_types.intern(name),
            NameKind::PropertyKey => schema.property_keys.intern(name),
        }
    }

    /// Constraints, by place in the schema, that hold for nodes of these labels.
    fn constraints_of(
        &self,
        labels: &[LabelId],
        is_key: impl Fn(PropertyKeyId) -> bool,
    ) -> Vec<(usize, PropertyKeyId)> {
        let constraints = self.memtable.schema.constraints.iter().enumerate();
        constraints
            .filter_map(|(at, constraint)| constraint.lookup_key().map(|(label, key)| (at, label, key)))
            .filter(|&(_, label, key)| labels.contains(&label) && is_key(key))
            .map(|(at, _, key)| (at, key))
            .collect()
    }

    pub(super) fn create_nodes(&mut self, first: NodeId, new: &NewNodes<'_>) -> Vec<NodeId> {
        let mut labels = new.labels.to_vec();
        labels.sort_unstable();
        labels.dedup();
        let labels: Arc<[LabelId]> = labels.into();
        let constraints = self.constraints_of(&labels, |key| new.keys.contains(&key));
        let is_ordered = self.orders_nodes(Some(&labels), None);
        let mut nodes = Vec::with_capacity(new.count);
        for row in 0..new.count {
            let properties = properties_of(new.keys, new.properties, row);
            let node = NodeId(first.0 + row as u64);
            self.memtable.put_node(node, &labels, properties.clone());
            if is_ordered {
                self.add_node_entries(node, &labels, &properties);
            }
            for &(at, key) in &constraints {
                if let Some(value) = properties.get(key) {
                    self.add_entry(at, value, node);
                }
            }
            nodes.push(node);
        }
        self.memtable.count_nodes(&labels, new.count as i64);
        nodes
    }

    /// Makes edges, the first of which has that number.
    pub(super) fn create_edges(&mut self, first: u64, new: &NewEdges<'_>) -> Vec<EdgeId> {
        let is_ordered = self.orders_edges(None);
        let mut edges = Vec::with_capacity(new.sources.len());
        for (row, (&source, &target)) in new.sources.iter().zip(new.targets).enumerate() {
            let properties = properties_of(new.keys, new.properties, row);
            if is_ordered {
                self.add_edge_entries(Ends { source, target, edge_type: new.edge_type }, &properties);
            }
            let number = first + row as u64;
            edges.push(self.memtable.push_edge(source, target, new.edge_type, number, properties));
        }
        self.memtable.count_edges(new.edge_type, edges.len() as i64);
        edges
    }

    fn add_entry(&mut self, at: usize, value: &Value, node: NodeId) {
        self.memtable.bytes += index_entry_bytes(value);
        if let Some(index) = self.memtable.indexes.get_mut(at) {
            index.insert(value, node);
        }
    }

    fn remove_entry(&mut self, at: usize, value: &Value, node: NodeId) {
        if let Some(index) = self.memtable.indexes.get_mut(at) {
            index.remove(value, node);
        }
    }

    pub(super) fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        let constraints = &self.memtable.schema.constraints;
        let is_unique = constraints.iter().filter_map(Constraint::lookup_key).any(|(_, of)| of == key);
        if is_unique {
            for &node in nodes {
                self.change_entries(node, key, Snapshot::remove_entry)?;
            }
        }
        let is_ordered = self.orders_nodes(None, Some(key));
        for (row, &node) in nodes.iter().enumerate() {
            let before = if is_ordered { self.node_entries(node)? } else { Vec::new() };
            self.set_node_property(node, key, values.value(row));
            if is_ordered {
                let after = self.node_entries(node)?;
                self.replace_node_entries(before, after);
            }
        }
        if is_unique {
            for &node in nodes {
                self.change_entries(node, key, Snapshot::add_entry)?;
            }
        }
        Ok(())
    }

    /// Adds or removes what the indexes say of a node's present value of a key.
    fn change_entries(
        &mut self,
        node: NodeId,
        key: PropertyKeyId,
        change: fn(&mut Snapshot, usize, &Value, NodeId),
    ) -> Result<()> {
        let constraints = self.constraints_of(&self.labels_of(node)?, |of| of == key);
        if !constraints.is_empty() {
            let value = self.node_property(node, key)?;
            if !value.is_null() {
                constraints.iter().for_each(|&(at, _)| change(self, at, &value, node));
            }
        }
        Ok(())
    }

    fn set_node_property(&mut self, node: NodeId, key: PropertyKeyId, value: Value) {
        let memtable = &mut self.memtable;
        memtable.bytes += value_bytes(&value);
        match memtable.node_mut(node) {
            Some(record) if value.is_null() => record.properties.remove(key),
            Some(record) => record.properties.set(key, value),
            None => memtable.node_change_mut(node).properties.set(key, value),
        }
    }

    pub(super) fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        let mut row = 0;
        self.change_edges(edges, Some(key), |snapshot, edge| {
            snapshot.set_edge_property(edge, key, values.value(row));
            row += 1;
            Ok(())
        })
    }

    fn set_edge_property(&mut self, edge: EdgeId, key: PropertyKeyId, value: Value) {
        let memtable = &mut self.memtable;
        memtable.bytes += value_bytes(&value);
        match memtable.properties_of_edge_mut(edge) {
            Some(properties) if value.is_null() => properties.remove(key),
            Some(properties) => properties.set(key, value),
            None => {
                memtable.edge_change_mut(edge).properties.set(key, value);
                if !memtable.edge_keys_changed.contains(&key) {
                    memtable.edge_keys_changed.push(key);
                }
            }
        }
    }

    /// Changes each of the edges, and keeps the ordered indexes that hold the key (`None`: any key) up to date.
    fn change_edges(
        &mut self,
        edges: &[EdgeId],
        key: Option<PropertyKeyId>,
        mut change: impl FnMut(&mut Snapshot, EdgeId) -> Result<()>,
    ) -> Result<()> {
        if !self.orders_edges(key) {
            return edges.iter().try_for_each(|&edge| change(self, edge));
        }
        for edges in edges.chunks(EDGES_AT_ONCE) {
            let before = self.edge_entries(edges)?;
            edges.iter().try_for_each(|&edge| change(self, edge))?;
            self.replace_edge_entries(edges, before)?;
        }
        Ok(())
    }

    pub(super) fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        for &node in nodes {
            let before = self.labels_of(node)?;
            let mut after = before.to_vec();
            after.extend_from_slice(labels);
            after.sort_unstable();
            after.dedup();
            let added: Vec<LabelId> = after.iter().copied().filter(|label| !before.contains(label)).collect();
            if added.is_empty() {
                continue;
            }
            let is_ordered = self.orders_nodes(Some(&added), None);
            let entries = if is_ordered { self.node_entries(node)? } else { Vec::new() };
            self.set_labels(node, after.into());
            if is_ordered {
                let after = self.node_entries(node)?;
                self.replace_node_entries(entries, after);
            }
            added.iter().for_each(|&label| self.memtable.count_label(label, 1));
            for (at, key) in self.constraints_of(&added, |_| true) {
                let value = self.node_property(node, key)?;
                if !value.is_null() {
                    self.add_entry(at, &value, node);
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        for &node in nodes {
            let before = self.labels_of(node)?;
            let (removed, after): (Vec<LabelId>, Vec<LabelId>) =
                before.iter().copied().partition(|label| labels.contains(label));
            if removed.is_empty() {
                continue;
            }
            let is_ordered = self.orders_nodes(Some(&removed), None);
            let entries = if is_ordered { self.node_entries(node)? } else { Vec::new() };
            for (at, key) in self.constraints_of(&removed, |_| true) {
                let value = self.node_property(node, key)?;
                self.remove_entry(at, &value, node);
            }
            self.set_labels(node, after.into());
            if is_ordered {
                let after = self.node_entries(node)?;
                self.replace_node_entries(entries, after);
            }
            removed.iter().for_each(|&label| self.memtable.count_label(label, -1));
        }
        Ok(())
    }

    fn set_labels(&mut self, node: NodeId, labels: Arc<[LabelId]>) {
        self.memtable.bytes += 16 + labels.len() * size_of::<LabelId>();
        match self.memtable.node_mut(node) {
            Some(record) => record.labels = labels,
            None => self.memtable.node_change_mut(node).labels = Some(labels),
        }
    }

    pub(super) fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        self.change_edges(edges, None, Snapshot::delete_edge)
    }

    fn delete_edge(&mut self, edge: EdgeId) -> Result<()> {
        let deleted = if crate::memtable::ordinal(edge).is_some() {
            self.memtable.delete_edge(edge)
        } else if let Some(ends) = self.edge_ends(edge)? {
            self.memtable.delete_base_edge(edge, ends.source, ends.target, ends.edge_type);
            Some(ends.edge_type)
        } else {
            None
        };
        if let Some(edge_type) = deleted {
            self.memtable.count_edges(edge_type, -1);
        }
        Ok(())
    }

    pub(super) fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        for &node in nodes {
            if !self.node_exists(node)? {
                continue;
            }
            let labels = self.labels_of(node)?;
            for (at, key) in self.constraints_of(&labels, |_| true) {
                let value = self.node_property(node, key)?;
                self.remove_entry(at, &value, node);
            }
            if self.orders_nodes(Some(&labels), None) {
                let entries = self.node_entries(node)?;
                self.replace_node_entries(entries, Vec::new());
            }
            self.memtable.count_nodes(&labels, -1);
            match self.memtable.node_mut(node) {
                Some(record) => {
                    record.is_deleted = true;
                    record.labels = Arc::default();
                    record.properties = Properties::default();
                }
                None => {
                    let change = self.memtable.node_change_mut(node);
                    change.is_deleted = true;
                    change.labels = None;
                    change.properties = Properties::default();
                }
            }
        }
        Ok(())
    }

    /// Adds a constraint with its values, and the ordered index it needs, if it needs one.
    pub(super) fn create_constraint(&mut self, constraint: Constraint, contents: Contents) {
        let Contents { values, entries } = contents;
        if let Some(index) = constraint.index() {
            self.create_index(index, Contents { values: UniqueIndex::default(), entries });
        }
        self.memtable.bytes += 128 + values.bytes();
        Arc::make_mut(&mut self.memtable.schema).constraints.push(constraint);
        self.memtable.indexes.push_back(values);
    }

    pub(super) fn drop_constraint(&mut self, name: &str) -> Result<()> {
        let constraints = &self.memtable.schema.constraints;
        let at = constraints
            .iter()
            .position(|constraint| &*constraint.name == name)
            .ok_or_else(|| error!(SchemaRule, "no constraint is named {name}"))?;
        self.memtable.bytes += 1;
        Arc::make_mut(&mut self.memtable.schema).constraints.remove(at);
        self.memtable.indexes.remove(at);
        self.drop_index_of(name);
        Ok(())
    }

    pub(super) fn set_sort_key(&mut self, sort_key: SortKey) -> Result<()> {
        self.memtable.bytes += 64;
        Arc::make_mut(&mut self.memtable.schema).add_sort_key(sort_key)
    }

    pub(super) fn drop_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        self.memtable.bytes += 1;
        Arc::make_mut(&mut self.memtable.schema).remove_sort_key(edge_type)
    }
}

/// The properties of one row, nulls left out.
fn properties_of(keys: &[PropertyKeyId], columns: &[Column], row: usize) -> Properties {
    if columns.is_empty() {
        return Properties::default();
    }
    let present = keys.iter().zip(columns).filter(|(_, column)| !column.is_null(row));
    Properties::new(present.map(|(&key, column)| (key, column.value(row))).collect())
}
