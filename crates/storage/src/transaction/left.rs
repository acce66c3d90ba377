//! Items that a commit changed and that serializable transactions may have read (see [`super::reads`]).

use std::path::Path;

use model::{EdgeTypeId, LabelId, Map, NodeId, PropertyKeyId, Result, Schema, Set, Subject, Value};

use crate::codec::bytes::Get;
use crate::snapshot::Snapshot;
use crate::transaction::reads::Read;
use crate::wal::record::{EdgeKey, EdgeName, Operation, operation};

/// Bytes of log beyond which a commit counts as changing everything, since what it changed is found while it has the turn.
const LOG_BYTES_MAX: usize = 1 << 20;

/// The hashes of what a transaction's log changed, given the state that it began with and the one it made; none if that is
/// too much to tell.
pub(crate) fn left_of(log: &[u8], base: &Snapshot, own: &Snapshot) -> Result<Option<Box<[u64]>>> {
    if log.len() > LOG_BYTES_MAX {
        return Ok(None);
    }
    let mut left = Left { base, own, items: Set::default(), nodes: Map::default() };
    let mut get = Get::new(log, Path::new("transaction"), 0);
    while get.left() > 0 {
        left.add_operation(operation(&mut get)?);
    }
    let lookups = lookups(&own.memtable.schema);
    for (node, keys) in std::mem::take(&mut left.nodes) {
        left.add_node(node, &keys, &lookups)?;
    }
    Ok(Some(left.items.iter().map(Read::hash).collect()))
}

/// Values of a label that can be looked up.
struct Lookup {
    label: LabelId,
    key: PropertyKeyId,
    /// Properties that may be asked for besides the value.
    further: Vec<PropertyKeyId>,
}

fn lookups(schema: &Schema) -> Vec<Lookup> {
    let unique = schema.constraints.iter().filter_map(model::Constraint::lookup_key);
    let mut lookups: Vec<Lookup> = unique.map(|(label, key)| Lookup { label, key, further: Vec::new() }).collect();
    for index in &schema.indexes {
        if let (Subject::Label(label), [key, further @ ..]) = (index.subject, index.keys.as_slice()) {
            lookups.push(Lookup { label, key: *key, further: further.to_vec() });
        }
    }
    lookups
}

struct Left<'a> {
    base: &'a Snapshot,
    own: &'a Snapshot,
    items: Set<Read>,
    /// Nodes that were made, changed or deleted, with the properties that were set.
    nodes: Map<NodeId, Vec<PropertyKeyId>>,
}

impl Left<'_> {
    fn add_operation(&mut self, operation: Operation<'_>) {
        match operation {
            Operation::CreateNodes { first, count, .. } => {
                (first.0..first.0 + count as u64).for_each(|node| self.touch(NodeId(node)));
            }
            Operation::AddLabels(nodes, _) | Operation::RemoveLabels(nodes, _) | Operation::DeleteNodes(nodes) => {
                nodes.into_iter().for_each(|node| self.touch(node));
            }
            Operation::SetNodeProperties(nodes, key, _) => {
                for node in nodes {
                    let keys = self.nodes.entry(node).or_default();
                    if !keys.contains(&key) {
                        keys.push(key);
                    }
                }
            }
            Operation::CreateEdges { edge_type, sources, targets, .. } => {
                sources.into_iter().zip(targets).for_each(|(source, target)| self.add_edge(edge_type, source, target));
            }
            Operation::SetEdgeProperties(edges, ..) | Operation::DeleteEdges(edges) => {
                for edge in edges {
                    // An edge made by the transaction itself is new at its ends already.
                    if let EdgeName::Old(EdgeKey { ends, .. }) | EdgeName::Ranked { ends, .. } = edge {
                        self.add_edge(ends.edge_type, ends.source, ends.target);
                    }
                }
            }
            Operation::Name(..)
            | Operation::CreateConstraint(_)
            | Operation::DropConstraint(_)
            | Operation::CreateIndex(_)
            | Operation::DropIndex(_)
            | Operation::SetSortKey(_)
            | Operation::DropSortKey(_) => {
                self.items.insert(Read::Schema);
            }
        }
    }

    fn touch(&mut self, node: NodeId) {
        self.nodes.entry(node).or_default();
    }

    fn add_edge(&mut self, edge_type: EdgeTypeId, source: NodeId, target: NodeId) {
        for edge_type in [None, Some(edge_type)] {
            self.items.extend([
                Read::Edges { node: source, edge_type },
                Read::Edges { node: target, edge_type },
                Read::EdgesOf(edge_type),
            ]);
        }
    }

    /// Compares a node before and after. Nobody else changed it meanwhile, or the transaction could not commit.
    fn add_node(&mut self, node: NodeId, keys: &[PropertyKeyId], lookups: &[Lookup]) -> Result<()> {
        let (was_there, is_there) = (self.base.node_exists(node)?, self.own.node_exists(node)?);
        let (before, after) = (self.base.labels_of(node)?, self.own.labels_of(node)?);
        self.items.insert(Read::Node(node));
        if was_there != is_there {
            self.items.extend([Read::Labels(node), Read::Members(None)]);
        }
        if before != after {
            self.items.insert(Read::Labels(node));
            let gained = after.iter().filter(|label| !before.contains(label));
            let changed = before.iter().filter(|label| !after.contains(label)).chain(gained);
            self.items.extend(changed.map(|&label| Read::Members(Some(label))));
        }
        for &key in keys {
            self.items.insert(Read::Values { label: None, key });
            let labels = before.iter().chain(after.iter());
            self.items.extend(labels.map(|&label| Read::Values { label: Some(label), key }));
        }
        for Lookup { label, key, further } in lookups {
            let value = |state: &Snapshot, labels: &[LabelId]| match labels.contains(label) {
                true => state.node_property(node, *key),
                false => Ok(Value::Null),
            };
            let values = [value(self.base, &before)?, value(self.own, &after)?];
            if values[0] != values[1] || further.iter().any(|key| keys.contains(key)) {
                let values = values.iter().filter(|value| !value.is_null());
                self.items.extend(values.map(|value| Read::entry(*label, *key, value)));
            }
        }
        Ok(())
    }
}
