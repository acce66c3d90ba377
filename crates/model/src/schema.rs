//! The names a store knows, each with its id, and the constraints it holds.

use std::sync::Arc;

use crate::Map;
use crate::error::Result;
use crate::id::{EdgeTypeId, LabelId, PropertyKeyId};

/// Names numbered in order of first use.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<Arc<str>>,
    numbers: Map<Arc<str>, u32>,
}

impl Names {
    /// The number of a name, if it has one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The number of a name, given now if it is new.
    pub fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = self.names.len() as u32;
        let name: Arc<str> = Arc::from(name);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// The name with that number.
    pub fn name(&self, number: u32) -> Option<&Arc<str>> {
        self.names.get(number as usize)
    }

    /// All names, in order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.names.iter()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True without names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A rule about nodes that the store enforces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The name by which it is dropped.
    pub name: Arc<str>,
    /// The label of the nodes it is about.
    pub label: LabelId,
    /// The property it is about. No two nodes of the label have equal values there; nulls do not count.
    /// The store keeps an index of it.
    pub key: PropertyKeyId,
}

/// The order in which a store keeps the edges of a type: those of one node by these properties, one after the other,
/// ascending in the order of `ORDER BY`, nulls last. It changes no answer, only what is fast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The type.
    pub edge_type: EdgeTypeId,
    /// The properties, at least one.
    pub keys: Vec<PropertyKeyId>,
}

/// The names and constraints of one store at one moment.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Node labels.
    pub labels: Names,
    /// Edge types.
    pub edge_types: Names,
    /// Property keys of nodes and edges.
    pub property_keys: Names,
    /// Uniqueness constraints.
    pub constraints: Vec<Constraint>,
    /// Sort keys, at most one for a type.
    pub sort_keys: Vec<SortKey>,
}

impl Schema {
    /// The id of a label.
    pub fn label(&self, name: &str) -> Option<LabelId> {
        self.labels.find(name).map(LabelId)
    }

    /// The id of an edge type.
    pub fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.edge_types.find(name).map(EdgeTypeId)
    }

    /// The id of a property key.
    pub fn property_key(&self, name: &str) -> Option<PropertyKeyId> {
        self.property_keys.find(name).map(PropertyKeyId)
    }

    /// The name of a label; empty if the id is not of this schema.
    pub fn label_name(&self, id: LabelId) -> &str {
        self.labels.name(id.0).map_or("", |name| name)
    }

    /// The name of an edge type; empty if the id is not of this schema.
    pub fn edge_type_name(&self, id: EdgeTypeId) -> &str {
        self.edge_types.name(id.0).map_or("", |name| name)
    }

    /// The name of a property key; empty if the id is not of this schema.
    pub fn property_key_name(&self, id: PropertyKeyId) -> &str {
        self.property_keys.name(id.0).map_or("", |name| name)
    }

    /// The constraint on that label and key, if there is one: then the store can look nodes up by it.
    pub fn unique(&self, label: LabelId, key: PropertyKeyId) -> Option<&Constraint> {
        self.constraints.iter().find(|constraint| constraint.label == label && constraint.key == key)
    }

    /// The properties by which a store keeps the edges of a type in order; empty if it has no sort key.
    pub fn sort_key(&self, edge_type: EdgeTypeId) -> &[PropertyKeyId] {
        self.sort_keys.iter().find(|sort_key| sort_key.edge_type == edge_type).map_or(&[], |sort_key| &sort_key.keys)
    }

    /// Adds a sort key; fails with `SCHEMA` if it names no property, one twice, or a type that has a sort key.
    pub fn add_sort_key(&mut self, sort_key: SortKey) -> Result<()> {
        let edge_type = self.edge_type_name(sort_key.edge_type);
        if sort_key.keys.is_empty() {
            return Err(crate::error!(SchemaRule, "the sort key of :{edge_type} names no property"));
        }
        for (at, key) in sort_key.keys.iter().enumerate() {
            if sort_key.keys[..at].contains(key) {
                let name = self.property_key_name(*key);
                return Err(crate::error!(SchemaRule, "the sort key of :{edge_type} names the property {name} twice"));
            }
        }
        let there = self.sort_key(sort_key.edge_type);
        if !there.is_empty() {
            let names: Vec<&str> = there.iter().map(|&key| self.property_key_name(key)).collect();
            let found = names.join(", ");
            return Err(crate::error!(SchemaRule, "the type {edge_type} already has a sort key, ({found})")
                .with_remedy("drop it first"));
        }
        self.sort_keys.push(sort_key);
        Ok(())
    }

    /// Takes the sort key of a type away; fails with `SCHEMA` if there is none.
    pub fn remove_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        let before = self.sort_keys.len();
        self.sort_keys.retain(|sort_key| sort_key.edge_type != edge_type);
        if self.sort_keys.len() == before {
            let name = self.edge_type_name(edge_type);
            return Err(crate::error!(SchemaRule, "the type {name} has no sort key"));
        }
        Ok(())
    }
}
