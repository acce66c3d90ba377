//! The whole graph at one moment, as plain maps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use model::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId, Result, Schema, Statistics, Value};

pub(super) type Properties = BTreeMap<PropertyKeyId, Value>;

#[derive(Clone, Debug, Default)]
pub(super) struct NodeRecord {
    pub(super) labels: BTreeSet<LabelId>,
    pub(super) properties: Properties,
    /// Edges that start here, a self-loop included.
    pub(super) out_edges: BTreeSet<EdgeId>,
    /// Edges that end here, a self-loop included.
    pub(super) in_edges: BTreeSet<EdgeId>,
}

#[derive(Clone, Debug)]
pub(super) struct EdgeRecord {
    pub(super) edge_type: EdgeTypeId,
    pub(super) source: NodeId,
    pub(super) target: NodeId,
    pub(super) properties: Properties,
}

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) schema: Schema,
    pub(super) nodes: BTreeMap<NodeId, Arc<NodeRecord>>,
    pub(super) edges: BTreeMap<EdgeId, Arc<EdgeRecord>>,
    /// How many nodes were ever created: the next dense id.
    pub(super) nodes_created: u64,
    /// How many edges were ever created: the next dense id.
    pub(super) edges_created: u64,
    /// Counted when first asked for; emptied by every change.
    pub(super) statistics: OnceLock<Statistics>,
}

impl State {
    pub(super) fn statistics(&self) -> &Statistics {
        self.statistics.get_or_init(|| {
            let mut counts =
                Statistics { nodes: self.nodes.len() as u64, edges: self.edges.len() as u64, ..Statistics::default() };
            for label in self.nodes.values().flat_map(|node| &node.labels) {
                *counts.nodes_by_label.entry(*label).or_default() += 1;
            }
            for edge in self.edges.values() {
                *counts.edges_by_type.entry(edge.edge_type).or_default() += 1;
            }
            counts
        })
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> Option<&mut NodeRecord> {
        self.nodes.get_mut(&id).map(Arc::make_mut)
    }

    pub(super) fn edge_mut(&mut self, id: EdgeId) -> Option<&mut EdgeRecord> {
        self.edges.get_mut(&id).map(Arc::make_mut)
    }

    /// Fails with `CONSTRAINT` if two nodes of a constraint's label have equal values.
    pub(super) fn check_constraints(&self) -> Result<()> {
        for constraint in &self.schema.constraints {
            let mut owners: BTreeMap<&Value, NodeId> = BTreeMap::new();
            for (&id, node) in self.nodes.iter().filter(|(_, node)| node.labels.contains(&constraint.label)) {
                let Some(value) = node.properties.get(&constraint.key) else { continue };
                if let Some(owner) = owners.insert(value, id) {
                    return Err(model::error!(
                        Constraint,
                        "constraint {}: nodes {} and {} of label {} have the same {}: {value}",
                        constraint.name,
                        owner.0,
                        id.0,
                        self.schema.label_name(constraint.label),
                        self.schema.property_key_name(constraint.key),
                    ));
                }
            }
        }
        Ok(())
    }
}
