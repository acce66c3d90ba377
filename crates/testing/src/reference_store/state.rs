//! The whole graph at one moment, as plain maps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use model::{
    Constraint, EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId, Result, Rule, Schema, Statistics, Subject, Value,
};

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
    /// Count of the edges created before it.
    pub(super) number: u64,
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
    /// Number of nodes ever created: the next dense id.
    pub(super) nodes_created: u64,
    /// Number of edges ever created: the next dense id.
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

    /// Fails with `CONSTRAINT` if two have the same values under a constraint, or a value has another type than its
    /// constraint demands.
    pub(super) fn check_constraints(&self) -> Result<()> {
        for constraint in &self.schema.constraints {
            let mut owners: BTreeMap<Vec<&Value>, u64> = BTreeMap::new();
            for (id, properties) in self.subjects(constraint.subject) {
                let values: Option<Vec<&Value>> = constraint.keys.iter().map(|key| properties.get(key)).collect();
                let Some(values) = values else { continue };
                if let Rule::Type(of) = constraint.rule
                    && !of.holds(values[0])
                {
                    return Err(self.broken(constraint, &format!("{id} must be {of}, found {}", values[0])));
                }
                // A value that does not equal itself, as NaN, is no conflict.
                if constraint.is_unique()
                    && values.iter().all(|value| value.equals(value) == Some(true))
                    && let Some(owner) = owners.insert(values, id)
                {
                    return Err(self.broken(constraint, &format!("{owner} and {id} have the same")));
                }
            }
        }
        Ok(())
    }

    /// Fails with `CONSTRAINT` if a property is missing that a constraint demands.
    pub(super) fn check_presence(&self) -> Result<()> {
        for constraint in self.schema.constraints.iter().filter(|constraint| constraint.is_mandatory()) {
            for (id, properties) in self.subjects(constraint.subject) {
                if !constraint.keys.iter().all(|key| properties.contains_key(key)) {
                    return Err(self.broken(constraint, &format!("{id} lacks a property")));
                }
            }
        }
        Ok(())
    }

    /// The nodes or edges that a constraint is about.
    fn subjects(&self, subject: Subject) -> Box<dyn Iterator<Item = (u64, &Properties)> + '_> {
        match subject {
            Subject::Label(label) => {
                let nodes = self.nodes.iter().filter(move |(_, node)| node.labels.contains(&label));
                Box::new(nodes.map(|(id, node)| (id.0, &node.properties)))
            }
            Subject::EdgeType(edge_type) => {
                let edges = self.edges.iter().filter(move |(_, edge)| edge.edge_type == edge_type);
                Box::new(edges.map(|(id, edge)| (id.0, &edge.properties)))
            }
        }
    }

    fn broken(&self, constraint: &Constraint, how: &str) -> model::Error {
        let keys: Vec<&str> = constraint.keys.iter().map(|&key| self.schema.property_key_name(key)).collect();
        let (name, subject) = (&constraint.name, self.schema.subject_name(constraint.subject));
        model::error!(Constraint, "constraint {name} on {subject}({}): {how}", keys.join(", "))
    }
}
