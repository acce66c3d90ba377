//! Ordered indexes as transactions change them: entries that come and go, and values that must differ.

use model::id::{LabelId, NodeId, PropertyKeyId};
use model::store::{NewEdges, NewNodes};
use model::{Column, Constraint, EdgeId, Index, KeyOrder, Map, ReadView, Result, Set, Subject, error};

use super::check::column_of;
use super::made::Contents;
use crate::memtable::Properties;
use crate::ordered_index::encoding::{after_prefix, hold_nan, put_node, put_value, split_edge, split_node};
use crate::ordered_index::entries::ordered_entry_bytes;
use crate::ordered_index::merge::Merged;
use crate::snapshot::Snapshot;
use crate::snapshot::ordered::values_at;

/// An entry of the index at a place of the schema.
pub(super) type Entry = (usize, Vec<u8>);

impl Snapshot {
    // ----- Entries that come and go

    /// True if a change of these labels or of that key of nodes can change an ordered index.
    pub(super) fn orders_nodes(&self, labels: Option<&[LabelId]>, key: Option<PropertyKeyId>) -> bool {
        self.memtable.schema.indexes.iter().any(|index| match index.subject {
            Subject::Label(label) => {
                labels.is_none_or(|labels| labels.contains(&label)) && key.is_none_or(|key| index.keys.contains(&key))
            }
            Subject::EdgeType(_) => false,
        })
    }

    /// The entries of a node as it is now.
    pub(super) fn node_entries(&self, node: NodeId) -> Result<Vec<Entry>> {
        let labels = self.labels_of(node)?;
        let mut entries = Vec::new();
        for (at, index) in self.memtable.schema.indexes.iter().enumerate() {
            let Subject::Label(label) = index.subject else { continue };
            if !labels.contains(&label) {
                continue;
            }
            let mut entry = Vec::new();
            let mut is_whole = true;
            for &key in &index.keys {
                is_whole = is_whole && put_value(&self.node_property(node, key)?, &mut entry);
            }
            if is_whole {
                put_node(node, &mut entry);
                entries.push((at, entry));
            }
        }
        Ok(entries)
    }

    pub(super) fn set_entry(&mut self, (at, entry): Entry, is_removed: bool) {
        self.memtable.bytes += ordered_entry_bytes(&entry);
        if let Some(entries) = self.memtable.ordered.get_mut(at) {
            entries.set(entry, is_removed);
        }
    }

    /// Notes what changed between two moments of the same nodes.
    pub(super) fn replace_node_entries(&mut self, before: Vec<Entry>, after: Vec<Entry>) {
        for entry in &before {
            if !after.contains(entry) {
                self.set_entry(entry.clone(), true);
            }
        }
        for entry in after {
            if !before.contains(&entry) {
                self.set_entry(entry, false);
            }
        }
    }

    /// Notes the entries of a new node.
    pub(super) fn add_node_entries(&mut self, node: NodeId, labels: &[LabelId], properties: &Properties) {
        for at in 0..self.memtable.schema.indexes.len() {
            let index = &self.memtable.schema.indexes[at];
            let Subject::Label(label) = index.subject else { continue };
            if !labels.contains(&label) {
                continue;
            }
            if let Some(mut entry) = values_of(index, properties) {
                put_node(node, &mut entry);
                self.set_entry((at, entry), false);
            }
        }
    }

    // ----- Indexes that come and go

    pub(super) fn create_index(&mut self, index: Index, contents: Contents) {
        self.memtable.bytes += 128 + contents.entries.bytes();
        std::sync::Arc::make_mut(&mut self.memtable.schema).indexes.push(index);
        self.memtable.ordered.push_back(contents.entries);
    }

    pub(super) fn drop_index(&mut self, name: &str) -> Result<()> {
        let at = self.memtable.schema.check_drop_index(name)?;
        self.forget_index(at);
        Ok(())
    }

    /// Drops the index that was made for a constraint, if one was.
    pub(super) fn drop_index_of(&mut self, constraint: &str) {
        if let Some(at) = self.memtable.schema.indexes.iter().position(|index| &*index.name == constraint) {
            self.forget_index(at);
        }
    }

    fn forget_index(&mut self, at: usize) {
        self.memtable.bytes += 1;
        std::sync::Arc::make_mut(&mut self.memtable.schema).indexes.remove(at);
        self.memtable.ordered.remove(at);
    }

    // ----- Values that must differ

    /// The constraints that an ordered index keeps, each with the place of its index.
    pub(super) fn ordered_rules(&self) -> impl Iterator<Item = (usize, &Constraint)> {
        let schema = &self.memtable.schema;
        let place = |rule: &Constraint| schema.indexes.iter().position(|index| index.name == rule.name);
        schema
            .constraints
            .iter()
            .filter(|rule| rule.index().is_some())
            .filter_map(move |rule| Some((place(rule)?, rule)))
    }

    pub(super) fn check_new_node_values(&self, new: &NewNodes<'_>) -> Result<()> {
        for (at, rule) in self.ordered_rules() {
            let Subject::Label(label) = rule.subject else { continue };
            if !new.labels.contains(&label) {
                continue;
            }
            let columns: Option<Vec<_>> = rule.keys.iter().map(|&key| column_of(key, new)).collect();
            let Some(columns) = columns else { continue };
            let columns: Vec<Column> = columns.into_iter().map(std::borrow::Cow::into_owned).collect();
            self.check_values(at, rule, (0..new.count).filter_map(|row| values_at(&columns, row)))?;
        }
        Ok(())
    }

    pub(super) fn check_new_edge_values(&self, new: &NewEdges<'_>) -> Result<()> {
        for (at, rule) in self.ordered_rules() {
            if rule.subject != Subject::EdgeType(new.edge_type) {
                continue;
            }
            let column =
                |key: &PropertyKeyId| new.keys.iter().position(|of| of == key).map(|at| new.properties[at].clone());
            let Some(columns) = rule.keys.iter().map(column).collect::<Option<Vec<Column>>>() else { continue };
            self.check_values(at, rule, (0..new.sources.len()).filter_map(|row| values_at(&columns, row)))?;
        }
        Ok(())
    }

    /// Nodes that may have the same values as another once `key` has these values.
    pub(super) fn check_set_node_values(
        &self,
        nodes: &[NodeId],
        key: PropertyKeyId,
        values: &Column,
    ) -> Result<Vec<NodeId>> {
        let mut doubtful = Vec::new();
        for (at, rule) in self.ordered_rules().filter(|(_, rule)| rule.keys.contains(&key)) {
            let Subject::Label(label) = rule.subject else { continue };
            let has_label = self.has_label(nodes, label)?;
            let mut columns = self.node_properties(nodes, &rule.keys)?;
            put_column(&mut columns, &rule.keys, key, values);
            // A later row for the same node wins.
            let rows = (0..nodes.len()).filter(|&row| has_label.get(row));
            let after: Map<u64, Option<Vec<u8>>> = rows.map(|row| (nodes[row].0, values_at(&columns, row))).collect();
            self.find_equal_values(at, rule, after, |node| doubtful.push(NodeId(node)))?;
        }
        Ok(doubtful)
    }

    /// Edges that may have the same values as another once `key` has these values.
    pub(super) fn check_set_edge_values(
        &self,
        edges: &[EdgeId],
        key: PropertyKeyId,
        values: &Column,
    ) -> Result<Vec<EdgeId>> {
        let mut doubtful = Vec::new();
        for (at, rule) in self.ordered_rules().filter(|(_, rule)| rule.keys.contains(&key)) {
            let Subject::EdgeType(edge_type) = rule.subject else { continue };
            let mut columns = self.edge_properties(edges, &rule.keys)?;
            put_column(&mut columns, &rule.keys, key, values);
            let mut after: Map<u64, Option<Vec<u8>>> = Map::default();
            for (row, &edge) in edges.iter().enumerate() {
                if self.edge_ends(edge)?.is_some_and(|ends| ends.edge_type == edge_type) {
                    after.insert(edge.0, values_at(&columns, row));
                }
            }
            self.find_equal_values(at, rule, after, |edge| doubtful.push(EdgeId(edge)))?;
        }
        Ok(doubtful)
    }

    /// Nodes that may have the same values as another once they carry the labels.
    pub(super) fn check_values_of_labelled(&self, nodes: &[NodeId], labels: &[LabelId]) -> Result<Vec<NodeId>> {
        let mut doubtful = Vec::new();
        for (at, rule) in self.ordered_rules() {
            let Subject::Label(label) = rule.subject else { continue };
            if !labels.contains(&label) {
                continue;
            }
            let columns = self.node_properties(nodes, &rule.keys)?;
            let rows = nodes.iter().enumerate();
            let after = rows.map(|(row, node)| (node.0, values_at(&columns, row))).collect();
            self.find_equal_values(at, rule, after, |node| doubtful.push(NodeId(node)))?;
        }
        Ok(doubtful)
    }

    /// Tells `found` of those that will have the same values as another; of two that both get them, the second.
    fn find_equal_values(
        &self,
        at: usize,
        rule: &Constraint,
        after: Map<u64, Option<Vec<u8>>>,
        mut found: impl FnMut(u64),
    ) -> Result<()> {
        let changing: Set<u64> = after.keys().copied().collect();
        let mut seen: Set<Vec<u8>> = Set::default();
        let mut merged = self.merged(at, KeyOrder::Ascending);
        for (id, values) in after.into_iter().filter_map(|(id, values)| Some((id, values?))) {
            if hold_nan(&values) {
                continue;
            }
            if self.owner_of(rule, &mut merged, &values, &changing)?.is_some() || !seen.insert(values) {
                found(id);
            }
        }
        Ok(())
    }

    /// Fails if one of those with these values is not the only one that has them.
    pub(super) fn check_alone(
        &self,
        at: usize,
        rule: &Constraint,
        rows: impl Iterator<Item = (u64, Vec<u8>)>,
    ) -> Result<()> {
        let mut merged = self.merged(at, KeyOrder::Ascending);
        for (id, values) in rows.filter(|(_, values)| !hold_nan(values)) {
            let own = Set::from_iter([id]);
            self.owner_of(rule, &mut merged, &values, &own)?.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Fails if two new nodes or edges have the same values, or one has those of another.
    fn check_values(&self, at: usize, rule: &Constraint, rows: impl Iterator<Item = Vec<u8>>) -> Result<()> {
        let (mut seen, nobody) = (Set::default(), Set::default());
        let mut merged = self.merged(at, KeyOrder::Ascending);
        for values in rows.filter(|values| !hold_nan(values)) {
            self.owner_of(rule, &mut merged, &values, &nobody)?.map_or(Ok(()), Err)?;
            if !seen.insert(values) {
                return Err(self.is_taken(rule, "two of the same call have the same", &[]));
            }
        }
        Ok(())
    }

    /// The violation by values that a node or edge not among `others` has; `None` if there is none.
    fn owner_of(
        &self,
        rule: &Constraint,
        merged: &mut Merged<'_>,
        values: &[u8],
        others: &Set<u64>,
    ) -> Result<Option<model::Error>> {
        merged.seek(values, &after_prefix(values.to_vec()))?;
        while let Some(entry) = merged.next()? {
            if let Some(error) = self.owner_not_in(rule, entry, others)? {
                return Ok(Some(error));
            }
        }
        Ok(None)
    }

    /// The error for having the values of an entry: nothing if all that it stands for is among `changing`.
    fn owner_not_in(&self, rule: &Constraint, entry: &[u8], changing: &Set<u64>) -> Result<Option<model::Error>> {
        match rule.subject {
            Subject::Label(_) => {
                let owner = split_node(entry).map(|(_, node)| node).filter(|node| !changing.contains(&node.0));
                let Some(node) = owner else { return Ok(None) };
                let columns = self.node_properties(&[node], &rule.keys)?;
                Ok(Some(self.is_taken(rule, &format!("node {} already has", node.0), &columns)))
            }
            Subject::EdgeType(edge_type) => {
                let Some((values, (source, target))) = split_edge(entry) else { return Ok(None) };
                let index = Index { name: rule.name.clone(), subject: rule.subject, keys: rule.keys.clone() };
                let (found, _) = self.edges_of_entries(edge_type, &index, &[(source, target, values)])?;
                let owner = found.into_iter().flatten().find(|edge| !changing.contains(&edge.0));
                let Some(id) = owner else { return Ok(None) };
                let columns = self.edge_properties(&[id], &rule.keys)?;
                let whose = format!("the relationship from node {} to node {} already has", source.0, target.0);
                Ok(Some(self.is_taken(rule, &whose, &columns)))
            }
        }
    }

    fn is_taken(&self, rule: &Constraint, how: &str, values: &[Column]) -> model::Error {
        let schema = &self.memtable.schema;
        let keys: Vec<&str> = rule.keys.iter().map(|&key| schema.property_key_name(key)).collect();
        let (name, subject, keys) = (&rule.name, schema.subject_name(rule.subject), keys.join(", "));
        let values: Vec<String> = values.iter().map(|column| column.value(0).to_string()).collect();
        let values = if values.is_empty() { String::new() } else { format!(" = ({})", values.join(", ")) };
        error!(Constraint, "constraint {name} on {subject}: {how} ({keys}){values}")
    }
}

/// The values of an index's keys; `None` if one is missing.
pub(super) fn values_of(index: &Index, properties: &Properties) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut values = index.keys.iter().map(|&key| properties.get(key));
    values.all(|value| value.is_some_and(|value| put_value(value, &mut bytes))).then_some(bytes)
}

/// Replaces the column of a key.
fn put_column(columns: &mut [Column], keys: &[PropertyKeyId], key: PropertyKeyId, values: &Column) {
    if let Some(at) = keys.iter().position(|of| *of == key) {
        columns[at] = values.clone();
    }
}
